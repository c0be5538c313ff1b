#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The policy for security.c, from the kernel's own that allows everything.
#
#	security.sh MDP OUT

set -e
mdp=$1 out=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$mdp" "$dir/everything" "$dir/contexts"
awk '
	/^type base_t;/ {
		print "attribute any;"
		print "type base_t, any;"
		split("nocreate_t noopen_t noqueue_t nosignal_t", types)
		for (i in types)
			print "type " types[i] ", any;"
		next
	}
	/^role base_r types/ {
		print "role base_r types any;"
		next
	}
	/^allow base_t base_t:tun_socket/ {
		print "allow any any:tun_socket ~{ create relabelfrom attach_queue };"
		print "allow { any -nocreate_t } any:tun_socket create;"
		print "allow { any -noopen_t } any:tun_socket relabelfrom;"
		print "allow noopen_t base_t:tun_socket relabelfrom;"
		print "allow { any -noqueue_t } any:tun_socket attach_queue;"
		next
	}
	/^allow base_t base_t:process / {
		print "allow any any:process ~signal;"
		print "allow { any -nosignal_t } any:process signal;"
		next
	}
	/^allow base_t base_t:/ { sub("base_t base_t", "any any") }
	# This checkpolicy may not know all that this kernel does.
	/^policycap/ { next }
	{ print }' "$dir/everything" >"$dir/policy"
checkpolicy -U allow -o "$out" "$dir/policy" >/dev/null

# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What the scripts that run in a guest share. KBUILD names the kernel's build
# folder, TUN_BUILD that of our module.

set -euo pipefail

# 9p cannot use a file that has been unlinked, as iperf3 does.
mountpoint -q /tmp || mount -t tmpfs tmpfs /tmp

# load c|rust: that twin and no other.
load() {
	local module
	case $1 in
	c) module=$KBUILD/drivers/net/tun.ko ;;
	rust) module=$TUN_BUILD/tun.ko ;;
	*) echo "load: no such twin: $1" >&2; return 1 ;;
	esac
	unload
	insmod "$module"
	# udev makes the node; where it is slow, wait for it.
	for _ in $(seq 100); do
		[ -c /dev/net/tun ] && return
		sleep 0.05
	done
	mkdir -p /dev/net
	mknod /dev/net/tun c 10 200
}

unload() {
	if [ -d /sys/module/vhost_net ]; then rmmod vhost_net; fi
	for _ in $(seq 100); do
		[ -d /sys/module/tun ] || return 0
		rmmod tun 2>/dev/null || sleep 0.05
	done
	rmmod tun
}

# The lines of the kernel's log that no run may have.
splats() {
	dmesg | grep -E 'BUG:|WARNING:|INFO: (task|rcu)|KASAN|unreferenced object|possible (recursive|circular)|inconsistent lock state|suspicious RCU|rcu.*stall|refcount_t:|general protection|Oops|Call Trace' || :
}

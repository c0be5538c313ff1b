# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What the scripts that run in a guest share. KBUILD names the kernel's build
# folder, TUN_BUILD that of our module.

set -euo pipefail

# 9p cannot use a file that has been unlinked, as iperf3 does.
mountpoint -q /tmp || mount -t tmpfs tmpfs /tmp

# wait_for COMMAND...: until it succeeds, five seconds at most.
wait_for() {
	for _ in $(seq 100); do
		"$@" 2>/dev/null && return
		sleep 0.05
	done
	echo "wait_for: never came true: $*" >&2
	return 1
}

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
	export TUN_MODULE=$module
	# The kernel makes the node, a thread of its own does it.
	wait_for test -c /dev/net/tun
}

# vhost-net on the twin that is loaded.
load_vhost() {
	local module
	for module in vhost_iotlb vhost vhost_net; do
		[ -d /sys/module/$module ] || insmod "$KBUILD/drivers/vhost/$module.ko"
	done
	wait_for test -c /dev/vhost-net
}

unload() {
	if [ -d /sys/module/vhost_net ]; then rmmod vhost_net; fi
	for _ in $(seq 100); do
		[ -d /sys/module/tun ] || return 0
		rmmod tun 2>/dev/null || sleep 0.05
	done
	rmmod tun
}

# The lines of the kernel's log that no run may have. Where memory was made to fail,
# the kernel shows who asked for it.
splats() {
	dmesg | awk '
		/vmalloc error|page allocation failure/ { asked = 1; next }
		asked && /Call Trace/ { asked = 0; next }
		/BUG:|WARNING:|INFO: (task|rcu)|KASAN|unreferenced object|Call Trace/ ||
		/possible (recursive|circular)|inconsistent lock state|suspicious RCU/ ||
		/rcu.*stall|refcount_t:|general protection|Oops/'
}

# Network namespaces "a" and "b", for what pair and tcp do.
pair_namespaces() {
	local ns
	for ns in a b; do
		ip netns add $ns
		ip -n $ns link set lo up
	done
}

# pair KIND FLAGS: a device in each namespace, and who copies between them, until
# unpair.
pair() {
	/repo/build/bin/tunbench copy "$1" "$2" a b >/tmp/copier.out &
	copier=$!
	wait_for grep -q ready /tmp/copier.out
	ip -n a addr add 10.98.0.1/24 dev bench
	ip -n b addr add 10.98.0.2/24 dev bench
	ip -n a link set bench up
	ip -n b link set bench up
}

unpair() {
	kill "$copier"
	wait "$copier" 2>/dev/null || :
}

# tcp STREAMS SECONDS: "MBIT_S RETRANSMITS" from a to b, on the CPU that does not
# copy.
tcp() {
	rm -f /tmp/iperf.pid
	taskset -c 1 ip netns exec b iperf3 -s -1 -D -I /tmp/iperf.pid --logfile /dev/null -p 5201
	# 5201 is 0x1451.
	wait_for eval 'grep -q ":1451 " "/proc/$(cat /tmp/iperf.pid)/net/tcp6"' || :
	taskset -c 1 timeout $(($2 + 15)) ip netns exec a \
		iperf3 -c 10.98.0.2 -P "$1" -t "$2" -J >/tmp/iperf.json || :
	jq -r '"\(.end.sum_received.bits_per_second // 0 | . / 100000 | round / 10) \(.end.sum_sent.retransmits // 0)"' \
		/tmp/iperf.json 2>/dev/null || echo "0 0"
}

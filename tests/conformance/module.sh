#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The module itself: what its file says, and what it does when it comes and goes.
# Wants to be run with the driver loaded; leaves it loaded.
#
#	module.sh MODULE CONFIG

module=$1 config=$2
cd "$(dirname "$0")" || exit 1
# shellcheck source=/dev/null
. "${KTAP_HELPERS:-../../../kselftest/ktap_helpers.sh}"

ktap_print_header
ktap_set_plan 5

# test NAME CONDITION...
check() {
	local name=$1
	shift
	if "$@"; then ktap_test_pass "u.$name"; else ktap_test_fail "u.$name"; fi
}

field() {
	modinfo -F "$1" "$module" | sort | xargs
}

symbols() {
	grep -qx 'CONFIG_TUN=m' "$config" &&
		grep -qx '# CONFIG_TUN_VNET_CROSS_LE is not set' "$config" &&
		grep -qx 'CONFIG_CRC32=y' "$config" && grep -qx 'CONFIG_INET=y' "$config" &&
		! grep -q '^CONFIG_TAP=' "$config"
}

aliases() {
	[ "$(field alias)" = "char-major-10-200 devname:net/tun" ]
}

facts() {
	[ "$(field license)" = GPL ] &&
		[ "$(field description)" = "Universal TUN/TAP device driver" ] &&
		[ -n "$(field author)" ] &&
		[ -z "$(field version)" ] &&
		# The kernel's helpers for Rust bring another with them.
		field import_ns | grep -qw NETDEV_INTERNAL &&
		dmesg | grep -q 'tun: Universal TUN/TAP device driver, 1.6'
}

exports() {
	[ "$(nm "$module" | sed -n 's/.* __ksymtab_//p' | sort | xargs)" = \
		"tun_get_socket tun_get_tx_ring tun_ptr_free tun_wake_queue" ]
}

# The node, the kind and what hears of devices: all there, or none.
comes_and_goes() {
	rmmod tun || return
	if [ -e /sys/class/misc/tun ] || ip link add u0 type tun 2>/dev/null; then
		insmod "$module"
		return 1
	fi
	insmod "$module" || return
	[ -e /sys/class/misc/tun ] && [ "$(cat /sys/class/misc/tun/dev)" = 10:200 ] || return
	# The kind is known again, and makes no devices so.
	ip link add u0 type tun 2>&1 | grep -q 'creation via rtnetlink is not supported'
}

check MOD_01 symbols
check MOD_05 aliases
check MOD_06 facts
check MOD_09 exports
check MOD_03__NET_08 comes_and_goes
ktap_finished

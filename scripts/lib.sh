# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What the scripts share: where things are, how to stop, how to show progress.

set -euo pipefail

REPO=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
CACHE=${TUN_RUST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tun-rust}
ROOT=$CACHE/root
OUT=$REPO/build

# Stops with one line that says what is wrong and what to do.
die() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

need_root() {
	[ "$(id -u)" = 0 ] || die "must run as root (build root, mounts): use sudo"
}

# step NAME COMMAND...: runs a command, shows how long it took, keeps its
# output in build/log/NAME.log and shows the end of it when it fails, or only what
# it stopped with.
step() {
	local name=$1 start=$SECONDS log status=0 last
	shift
	log=$OUT/log/$(tr -c "a-zA-Z0-9\n" - <<<"$name").log
	mkdir -p "$OUT/log"
	printf '%-28s ' "$name"
	# Not as a condition: in those no error ends a function.
	(set -e; "$@") >"$log" 2>&1 </dev/null 9>&- &
	wait $! || status=$?
	if [ $status = 0 ]; then
		printf 'ok    %4d s\n' $((SECONDS - start))
		return
	fi
	printf 'FAIL  %4d s\n' $((SECONDS - start))
	last=$(tail -n 1 "$log")
	if [[ $last == "${0##*/}: "* ]]; then
		printf '%s\n' "$last" >&2
		exit 1
	fi
	tail -n 30 "$log" >&2
	die "step '$name' failed: the whole output is in ${log#"$REPO"/}"
}

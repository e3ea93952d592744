#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# run_all.sh [-d DIR] [-k] [PROGRAM...]      run the selftests on this machine, as root
#
#   -d DIR    leave a TAP file of each program there (/results, else a new directory below /tmp)
#   -k        keep the modules loaded at the end
#
# Meant for a test machine that may be restarted, and for the guest of selftests/vm/run.sh. Loads uma and uma_emu with
# a paranoid TLB unless they are loaded like that, runs every PROGRAM that lies beside this script (default: all of
# them), as user tester in group render where that exists and root is not needed, unloads the modules and looks for
# what is left: buffers, pinned pages, and leaks where the kernel has kmemleak. Prints TAP: a line a program and a line
# a check. Exit status 0 if all is well.

set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
needs_root=" perms hang crowd recovery lost instances configfs lifecycle reload stress sysfs hwmon power suspend mutate fail_nth soak "
results='' keep=0

while getopts d:k opt; do
	case $opt in
	d) results=$OPTARG ;;
	k) keep=1 ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
[ "$(id -u)" = 0 ] || { echo "Bail out! root is needed to load modules" && exit 1; }
if [ -z "$results" ]; then
	if [ -d /results ]; then results=/results; else results=$(mktemp -d /tmp/uma-selftests.XXXXXX); fi
fi
mkdir -p "$results"

if [ $# = 0 ]; then
	for f in "$here"/*; do
		[ -f "$f" ] && [ -x "$f" ] && [ "${f%.sh}" = "$f" ] && set -- "$@" "${f##*/}"
	done
fi

number=0 failed=0
report() {
	number=$((number + 1))
	if [ "$1" = 0 ]; then
		echo "ok $number - $2"
	else
		failed=$((failed + 1))
		echo "not ok $number - $2"
	fi
}

echo "TAP version 13"

# A TLB that is not compared with the page tables proves nothing.
if [ "$(cat /sys/module/uma_emu/parameters/paranoid 2>/dev/null)" != Y ]; then
	[ ! -d /sys/module/uma_emu ] || rmmod uma_emu
	if ! modprobe uma || ! modprobe uma_emu paranoid=1; then
		echo "Bail out! the modules do not load"
		exit 1
	fi
fi

# Tests watch the kernel log, those of other users than root as well.
echo 0 >/proc/sys/kernel/dmesg_restrict
chmod 644 /dev/kmsg
for ((i = 0; i < 100; i++)); do
	[ -c /dev/accel/accel0 ] && [ "$(stat -c %G /dev/accel/accel0)" != root ] && break
	sleep 0.1
done

as_tester=()
if id tester >/dev/null 2>&1; then
	# The one of util-linux: busybox has another that cannot do this.
	setpriv=/usr/bin/setpriv
	[ -x $setpriv ] || setpriv=setpriv
	as_tester=("$setpriv" "--reuid=tester" "--regid=$(id -g tester)" --init-groups --inh-caps=-all)
fi

for name in "$@"; do
	cmd=("$here/$name")
	case $needs_root in
	*" $name "*) ;;
	*) cmd=("${as_tester[@]}" "${cmd[@]}") ;;
	esac
	started=$SECONDS
	timeout 600 "${cmd[@]}" >"$results/$name.tap" 2>"$results/$name.log" </dev/null
	rc=$?
	# 4: every test of it was skipped.
	[ $rc = 4 ] && rc=0
	report $rc "$name: $(grep -c '^ok' "$results/$name.tap") ok, $(grep -c '^not ok' "$results/$name.tap") not ok, $(
		grep -c '^ok.*# SKIP' "$results/$name.tap") skipped ($((SECONDS - started)) s)"
	[ $rc = 0 ] || grep -B 6 '^not ok' "$results/$name.tap" | sed 's/^/# /'
done

# --- nothing is left --------------------------------------------------------------------------------------------

counter() {
	local f
	for f in /sys/kernel/debug/accel/*/"$1"; do
		[ -f "$f" ] && cat "$f" && return
	done
	echo 0
}

kmemleak() {
	[ -w /sys/kernel/debug/kmemleak ] || return 0
	# What was freed a moment ago is found again once it is a few seconds old.
	sleep 5
	echo scan >/sys/kernel/debug/kmemleak
	echo scan >/sys/kernel/debug/kmemleak
	cat /sys/kernel/debug/kmemleak >"$results/kmemleak.$1"
	sed 's/^/# /' "$results/kmemleak.$1" | head -n 60
	[ ! -s "$results/kmemleak.$1" ]
	report $? "no leak $2"
}

# The last of what a client left is freed a moment after it.
for ((i = 0; i < 100; i++)); do
	[ "$(counter bo_count)" != 0 ] || [ "$(counter pinned_pages)" != 0 ] || break
	sleep 0.1
done
[ "$(counter bo_count)" = 0 ]
report $? "no buffer is left: $(counter bo_count)"
[ "$(counter pinned_pages)" = 0 ]
report $? "no page is pinned: $(counter pinned_pages)"
kmemleak loaded "with the modules loaded"
if [ $keep = 0 ]; then
	rmmod uma_emu
	for ((i = 0; i < 100; i++)); do
		rmmod uma 2>/dev/null && break
		sleep 0.1
	done
	[ ! -d /sys/module/uma ]
	report $? "the modules can be unloaded"
	kmemleak unloaded "after the modules have gone"
fi
echo "1..$number"
[ $failed = 0 ]

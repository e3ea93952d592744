#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# In the test machine: run the steps of /etc/steps ("layer user seconds path" per line) one after the other, each as its
# user, leave its TAP in /results, and see after each that the kernel has nothing to complain about. On the debug
# kernel then run the KUnit modules and look for leaks. Needs KERNEL, PREFIX, KUNIT, ONLY in the environment.

home=$PATH
export CMOCKA_MESSAGE_OUTPUT=TAP

mark() { echo "uma-test: $*" >/dev/kmsg; }

# check NAME WHAT [OUTPUT]: a result of the machine, in a file of its own, that is good if there is no output.
check() {
	local tap=/results/vm-$KERNEL.$PREFIX$1.tap
	echo 1..1 >"$tap"
	if [ -z "${3:-}" ]; then
		echo "ok 1 - $2" >>"$tap"
	else
		echo "not ok 1 - $2" >>"$tap"
		echo "$3" | head -n 100 | sed 's/^/# /' >>"$tap"
		echo "$3" | head -n 40
	fi
}

# log_clean NAME WHAT: since the mark, does the log have a warning in it?
log_clean() {
	check "$1" "the kernel log is clean after $2" \
		"$(dmesg | awk -v m="uma-test: begin $2" 'index($0, m) { on = 1; next } on' | /uma/splats)"
}

# Nothing of a user may be left when a step is over, or it would disturb the next one.
reap() {
	local p
	# shellcheck disable=SC2013 # one word a line
	for p in $(awk '/^Pid:/ { p = $2 } /^Uid:/ && $2 ~ /^(1000|1001|65534)$/ { print p }' /proc/[0-9]*/status \
			2>/dev/null); do
		kill -9 "$p" 2>/dev/null
	done
}

# The results lie on a device that does not survive the system's sleep: it is taken away meanwhile.
results_off() {
	local d
	umount /results || return
	for d in /sys/bus/virtio/drivers/9pnet_virtio/virtio*; do
		[ ! -e "$d/../remove" ] || echo 1 >"$d/../remove"
	done
}

results_on() {
	echo 1 >/sys/bus/pci/rescan
	mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144,access=any,cache=none results /results
}

# What computes on the emulated chip waits for an emulated processor, which may get a fraction of a real one: that a job
# takes long is no fault there. The driver's own tests are about its timeouts, and keep them.
job_timeouts() {
	local f ms=10000
	case $1 in libaccel/*|*.bats) ms=120000 ;; esac
	for f in /sys/class/accel/accel*/device/job_timeout_ms; do
		[ ! -e "$f" ] || echo $ms >"$f"
	done
}

# Seconds of the host's clock, which the emulated one of CMOS shows: those of a machine that counts instructions say nothing
# of what a step costs.
clock() { read -r "$1" </sys/class/rtc/rtc0/since_epoch || printf -v "$1" %s "$SECONDS"; } 2>/dev/null

run_step() {
	local layer=$1 user=$2 seconds=$3 path=$4 rc name tap cmd failed started ended
	clock started
	name=$(echo "${path%.*}" | tr / _)
	tap=/results/$layer.$name.tap
	case $path in
	*.bats) cmd=(bats --tap "/uma/$path") ;;
	*) cmd=("/uma/$path") ;;
	esac
	export HOME=/root USER=$user
	if [ "$user" != root ]; then
		HOME=/home/$user
		cmd=("$SETPRIV" --reuid="$user" --regid="$user" --init-groups --inh-caps=-all "${cmd[@]}")
	fi
	export UMA_STEP_SECONDS=$seconds
	mark "begin $layer $path"
	cd /tmp || exit 125
	job_timeouts "$path"
	case $path in */suspend) results_off ;; esac
	PATH=$home timeout -k 5 "$seconds" "${cmd[@]}" >/tmp/.tap 2>/tmp/.log </dev/null
	rc=$?
	case $path in */suspend) results_on ;; esac
	clock ended
	# timeout is busybox's: 143 when TERM did it.
	if [ $rc = 143 ] || [ $rc = 137 ] || [ $rc = 124 ]; then
		echo "Bail out! not finished after $seconds seconds" >>/tmp/.tap
	fi
	printf '# exit status %s\n# took %s 0\n# date %s\n' $rc $((ended - started)) "$(date +%Y-%m-%d)" >>/tmp/.tap
	cp /tmp/.tap "$tap"
	cp /tmp/.log "${tap%.tap}.log"
	mark "end $layer $path: $rc"
	reap
	log_clean "log-${layer%"-$KERNEL"}-$name" "$layer $path"
	# What cmocka skips it calls "not ok".
	failed=$(grep '^not ok' /tmp/.tap | grep -vc '# SKIP')
	printf '  %-7s %-44s %s ok, %s not ok (%ss)\n' TEST "$layer: $path" "$(grep -c '^ok' /tmp/.tap)" \
		"$failed" "$((ended - started))"
	if [ $rc != 0 ] || [ "$failed" != 0 ]; then
		awk '/^not ok/ && !/# SKIP/ || /^Bail out/ { n = 6 } n > 0 { print "          " $0; n-- }' /tmp/.tap |
			head -n 40
		tail -n 20 /tmp/.log | sed 's/^/          /'
	fi
}

# KUnit runs a module's suites while it is loaded, and keeps what they said in debugfs.
run_kunit() {
	local m suite n dir=/sys/kernel/debug/kunit before
	for m in $KUNIT; do
		mark "begin kunit $m"
		before=" $(echo $dir/*) "
		if ! modprobe "$m"; then
			printf '1..1\nnot ok 1 - modprobe %s\n' "$m" >"/results/kunit.$m.tap"
			continue
		fi
		n=0
		for suite in "$dir"/*; do
			case $before in *" $suite "*) continue ;; esac
			suite=${suite##*/}
			[ -f "$dir/$suite/results" ] || continue
			cat "$dir/$suite/results" >"/results/kunit.$suite.tap"
			n=$((n + 1))
			printf '  %-7s %-44s %s ok, %s not ok\n' TEST "kunit: $suite" \
				"$(grep -c '^ *ok' "/results/kunit.$suite.tap")" \
				"$(grep -c '^ *not ok' "/results/kunit.$suite.tap")"
			grep '^ *not ok' "/results/kunit.$suite.tap"
		done
		[ $n -gt 0 ] || printf '1..1\nnot ok 1 - %s has suites\n' "$m" >"/results/kunit.$m.tap"
		rmmod "$m"
		mark "end kunit $m"
		log_clean "log-kunit-$m" "kunit $m"
	done
}

# Twice: an object is reported once it is older than five seconds and did not change between two scans. What is found
# is a leak; what leaks only once may hide behind a stale pointer in a stack or in the allocator, which is why tests
# also look at the driver's own counters.
leaks() {
	sleep 5
	echo scan >/sys/kernel/debug/kmemleak
	echo scan >/sys/kernel/debug/kmemleak
	check "leaks-$1" "no leak $2" "$(cat /sys/kernel/debug/kmemleak)"
}

while read -r layer user seconds path <&3; do
	run_step "$layer" "$user" "$seconds" "$path"
done 3</etc/steps

if [ "$KERNEL" = debug ]; then
	[ -z "$KUNIT" ] || run_kunit
	[ -n "$ONLY" ] || leaks loaded "while the modules are loaded"
fi

if [ -z "$ONLY" ]; then
	mark "begin unload"
	check unload "the modules unload after all this" "$(rmmod uma_emu 2>&1 && rmmod uma 2>&1 || echo "rmmod failed")"
	log_clean log-unload unload
	[ "$KERNEL" != debug ] || leaks unloaded "after the modules are gone"
fi
exit 0

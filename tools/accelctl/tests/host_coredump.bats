#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# accelctl coredump, with a dump that a program makes up.

load helper

setup() {
	cd "$BATS_TEST_TMPDIR" || exit
	root=$BATS_TEST_TMPDIR/root
	"$UMA_BUILD/libaccel/tests/make_coredump" >dump
}

# A device with the driver, and the dumps of some numbers: the first of them is the good one
lay_out() {
	local dev=$root/sys/devices/platform/uma.0 n

	mkdir -p "$root/sys/class/accel" "$root/sys/bus/platform/drivers/uma" "$dev/accel/accel0" "$root/sys/module/uma"
	ln -s ../../devices/platform/uma.0/accel/accel0 "$root/sys/class/accel/accel0"
	ln -s ../.. "$dev/accel/accel0/device"
	ln -s ../../../bus/platform/drivers/uma "$dev/driver"
	for n in "$@"; do
		mkdir -p "$root/sys/class/devcoredump/devcd$n"
		ln -s "$dev" "$root/sys/class/devcoredump/devcd$n/failing_device"
		echo "none of ours" >"$root/sys/class/devcoredump/devcd$n/data"
	done
	[ $# = 0 ] || cp dump "$root/sys/class/devcoredump/devcd$1/data"
}

@test "usage: a file or --last, not both, not neither" {
	ctl 2 coredump
	ctl 2 coredump dump --last
	ctl 2 coredump dump dump
	ctl 1 coredump missing
	has "$stderr" "missing: cannot be read (ENOENT)"
	ctl 1 coredump .
}

@test "a dump: job, task at fault, walk, registers" {
	ctl 0 coredump dump
	[ -z "$stderr" ]
	has "$output" "Core dump: fault"
	has "$output" "address    0x7f0000123000"
	has "$output" "ENGINE1.STATUS"
	[ "$(grep -c '<== at fault' <<<"$output")" = 1 ]
	lacks "$output" "^error: "
	text=$output
	ctl 0 coredump - <dump
	[ "$output" = "$text" ]
}

@test "a dump as JSON" {
	ctl 0 coredump dump --json
	json '.schema == "accelctl.coredump/1" and .ok and .complete and .file == "dump" and .cause == "fault"' \
		'.device == "uma_emu.0" and .profile == "ultra" and .kernel == "6.12.0-test"' \
		'.driver_version == "1.1" and .hw_version == "1.1" and .boottime_ns == 5000000000 and .timestamp_hz == 24000000' \
		'.job | .engine == "gpu0" and .engine_class == "gpu" and .queue == 2 and .number == 4 and .seqno == 6 and .pid == 1234' \
		'.job | .error == "EFAULT" and .errno == 14 and .reason == "write" and .slot == "d" and .addr == "0x7f0000123000"' \
		'.job | .tasks == 2 and .task == 1 and .tasks_addr == "0x40000" and .comm == "bad\\x1b[2Jname"' \
		'.walk | .addr == "0x7f0000123000" and .end == "invalid" and .entries == ["0x101001", "0x102001", "0x0"] and .writable == false'
}

@test "truncated: what is there, an error, exit status 1" {
	head -c 1000 dump >short
	ctl 1 coredump short
	has "$output" "address    0x7f0000123000"
	has "$output" "error: truncated"
	has "$stderr" "short: is truncated or malformed (EBADMSG)"
	ctl 1 coredump short --json
	json '.complete == false and .ok == false and .job.addr == "0x7f0000123000" and .walk == null'
	head -c 100 dump >short
	ctl 1 coredump short --json
	json '.complete == false and .cause == null and .job == null'
}

@test "no dump at all, of another version, or too large: an error and nothing else" {
	: >empty
	head -c 100000 /dev/zero >zero
	for f in empty zero; do
		ctl 1 coredump $f
		[ -z "$output" ]
		has "$stderr" "$f: is no core dump"
		one_line "$stderr"
		ctl 1 coredump $f --json
		json '.ok == false and .error.exit_status == 1'
	done
	{ head -c 8 dump; printf '\2\0\0\0'; tail -c +13 dump; } >newer
	ctl 8 coredump newer
	[ -z "$output" ]
	ctl 1 coredump /dev/zero
	has "$stderr" "too large"
}

@test "--last: the newest by number, of our devices" {
	lay_out 12 9 2
	mkdir -p other "$root/sys/class/devcoredump/devcd13"
	ln -s "$PWD/other" "$root/sys/class/devcoredump/devcd13/failing_device"
	echo foreign >"$root/sys/class/devcoredump/devcd13/data"
	ctl 0 coredump --last --root root
	has "$output" "address    0x7f0000123000"
	ctl 0 coredump --last --root root -d accel0 --json
	json '.file | endswith("devcd12/data")'
	ctl 5 coredump --last --root root -d accel1
	ctl 0 health --root root --json
	json '.devices[0].last_coredump | endswith("devcd12/data")'
}

@test "--last: none, and no permission" {
	lay_out
	ctl 1 coredump --last --root root
	[ -z "$output" ]
	has "$stderr" "holds no core dump"
	one_line "$stderr"
	ctl 1 coredump --last --root root --json
	json '.error.name == "ENOENT"'
	ctl 9 coredump --last --root nothing
	[ "$(id -u)" != 0 ] || skip "root may read everything"
	rm -r root
	lay_out 1
	chmod 0 root/sys/class/devcoredump/devcd1/data
	ctl 4 coredump --last --root root
	has "$stderr" "cannot be read (EACCES)"
}

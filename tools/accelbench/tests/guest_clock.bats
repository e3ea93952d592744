#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Times on the machine whose clock counts instructions: what else the host does changes none of them.

bats_require_minimum_version 1.5.0

teardown() {
	[ -z "${device:-}" ] || { echo 0 >"$device/enabled" && rmdir "$device"; }
}

# latency DEVICE...: the rows, as an array
latency() {
	run --separate-stderr accelbench latency --json -d "$@"
	echo "# $output" | tr '\n' ' ' >&3
	echo >&3
	echo "$output $stderr"
	[ "$status" = 0 ]
	output=$(jq -s . <<<"$output")
}

# At most 30 is what is promised. A job with a task is several switches between threads; it has been seen at 49.
@test "latency: submitting an empty job and waiting for it is at most 30 null ioctls" {
	latency accel0 --limit 30
	jq -e 'map(.case) == ["null-ioctl", "empty-job", "empty-job-submit", "smallest-job", "rebind"]' <<<"$output"
	jq -e '.[0].ratio == 1 and .[1].ratio > 1 and .[1].impl == "uma"' <<<"$output"
	jq -e '.[2].us < .[1].us and .[1].us < .[3].us and .[3].ratio < 80' <<<"$output"
}

@test "latency in process: to submit is a part of the whole" {
	latency sw
	jq -e '.[1].us < .[0].us and .[0].us < .[2].us' <<<"$output"
}

# gemm DEVICE KERNELS DTYPE ROWS: microseconds on one thread. What reads them starts afterwards: there is one processor.
gemm() {
	ACCEL_SW_KERNELS=$2 accelctl run gemm -d "$1" -m "$4" -n 256 -k 256 --dtype "$3" --threads 1 --repeat 4 --json >"$BATS_TEST_TMPDIR/said"
	jq .time_min_us "$BATS_TEST_TMPDIR/said"
}

# at_most TIMES DTYPE ROWS. The device is one that does not check its TLB against the page table at each access, as it is by
# default and not in this machine.
at_most() {
	local most=$1 node process
	shift
	device=/sys/kernel/config/uma_emu/plain
	mkdir "$device"
	echo 0 >"$device/paranoid"
	echo 1 >"$device/enabled"
	until node=$(ls "/sys/bus/platform/devices/$(<"$device/device")/accel") && [ -e "/dev/accel/$node" ]; do sleep 0.1; done
	node=$(gemm "$node" '' "$@")
	process=$(gemm sw model-avx2 "$@")
	echo "# $1 ${2}x256x256: node $node us, process $process us, ratio $(jq -n "$node / $process")" >&3
	jq -ne "$node <= $most * $process"
}

# The emulator runs the model's kernels in short sections, and reaches memory page by page. That shows where a product
# costs no more than any other instruction: fp32 has been seen at 2.8, bytes at 1.4.
@test "GEMM on the node takes at most three times the instructions of the same kernels in a process" {
	at_most 3 fp32 192
}

@test "GEMM of bytes on the node takes at most twice the instructions of the same kernels in a process" {
	at_most 2 int8 180
}

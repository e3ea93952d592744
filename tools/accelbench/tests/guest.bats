#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Latency and growth on a kernel with the driver and the software device.

bats_require_minimum_version 1.5.0

load gemm

@test "latency: submitting an empty job and waiting for it is at most 30 null ioctls" {
	run --separate-stderr timeout 300 accelbench latency -d accel0 --json --limit 30
	echo "# $output" | tr '\n' ' ' >&3
	echo >&3
	echo "$output $stderr"
	[ "$status" = 0 ]
	jq -se 'map(.case) == ["null-ioctl", "empty-job", "empty-job-submit", "smallest-job", "rebind"]' <<<"$output"
	jq -se '.[0].ratio == 1 and .[1].ratio > 1 and .[1].impl == "uma"' <<<"$output"
}

@test "submissions take no memory: process, kernel, client" {
	local n=4000
	# All of it, for "make proof"
	[ "${ACCEL_TEST_EVERY:-}" != 1 ] || n=20000
	run --separate-stderr timeout 500 accelbench latency -d accel0 --growth $n --json
	echo "# $output" >&3
	echo "$output $stderr"
	[ "$status" = 0 ]
	# A fence or a job that is left behind is at least 64 bytes each time; slabs in use by others move a little
	jq -e ".jobs == $n and .heap_bytes < 4096 and .slab_bytes < $n * 64 and .client_bytes == 0" <<<"$output"
}

# Of numbers emulated arithmetic is nearly all, where clocks are real.
@test "GEMM on the node takes at most twice as long as with the same kernels in a process" {
	at_most_twice fp32 12 4
}

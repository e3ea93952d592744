#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Latency and growth on a kernel with the driver and the software device.

bats_require_minimum_version 1.5.0

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

# gemm DEVICE KERNELS DTYPE ROWS REPEAT: least microseconds of a GEMM, on one thread
gemm() {
	ACCEL_SW_KERNELS=$2 timeout 120 accelctl run gemm -d "$1" -m "$4" -n 256 -k 256 --dtype "$3" --threads 1 --repeat "$5" --json |
		jq .time_min_us
}

# The emulator runs the model's kernels in short sections and reaches memory page by page.
@test "GEMM on the node takes at most twice as long as with the same kernels in a process" {
	local node process i ratio dtype shape
	# The least of what takes turns: other load makes single rounds slower, never faster. Emulated,
	# numbers take a hundred times as long as bytes; either takes long beside waking a thread.
	for dtype in fp32 int8; do
		shape=(960 5)
		[ $dtype = int8 ] || shape=(12 4)
		for i in 1 2 3 4 5; do
			node[i]=$(gemm accel0 '' $dtype "${shape[@]}")
			process[i]=$(gemm sw model-avx2 $dtype "${shape[@]}")
		done
		ratio=$(jq -n "([${node[1]}, ${node[2]}, ${node[3]}, ${node[4]}, ${node[5]}] | min) /
			([${process[1]}, ${process[2]}, ${process[3]}, ${process[4]}, ${process[5]}] | min)")
		echo "# $dtype ${shape[0]}x256x256: node ${node[*]} us, process ${process[*]} us, ratio $ratio" >&3
		jq -ne "$ratio <= 2"
	done
}

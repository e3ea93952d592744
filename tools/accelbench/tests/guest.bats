#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Growth on a kernel with the driver and the software device.

bats_require_minimum_version 1.5.0

@test "submissions take no memory: process, kernel, client" {
	local n=4000
	# All of it, for "make proof"
	[ "${ACCEL_TEST_EVERY:-}" != 1 ] || n=20000
	run --separate-stderr accelbench latency -d accel0 --growth $n --json
	echo "# $output" >&3
	echo "$output $stderr"
	[ "$status" = 0 ]
	# A fence or a job that is left behind is at least 64 bytes each time; slabs in use by others move a little
	jq -e ".jobs == $n and .heap_bytes < 4096 and .slab_bytes < $n * 64 and .client_bytes == 0" <<<"$output"
}

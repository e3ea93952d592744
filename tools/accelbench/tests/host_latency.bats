#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# accelbench without a kernel driver.

bats_require_minimum_version 1.5.0

# bench STATUS ARGUMENT...: run accelbench and want this exit status
bench() {
	local want=$1
	shift
	run --separate-stderr accelbench "$@"
	if [ "$status" != "$want" ]; then
		echo "accelbench $*: exit status $status, not $want: $output $stderr"
		return 1
	fi
}

@test "latency in process: four rows, in JSON, CSV and text" {
	bench 0 latency -d sw --batches 9 --batch-ms 1 --json
	[ "$(wc -l <<<"$output")" = 4 ]
	jq -se 'map(.case) == ["empty-job", "empty-job-submit", "smallest-job", "rebind"]' <<<"$output"
	jq -se 'all(.impl == "sw" and .us > 0 and .spread >= 0 and .ratio == null and .threads >= 1)' <<<"$output"
	jq -se '.[0].dtype == null and .[2].dtype == "fp32"' <<<"$output"
	bench 0 latency -d sw:m1 --threads 1 --batches 9 --batch-ms 1 --csv
	[ "$(head -n 1 <<<"$output")" = case,dtype,threads,impl,us,ratio,spread ]
	[[ $(sed -n 2p <<<"$output") =~ ^empty-job,,1,sw,[0-9.]+,,[0-9.]+$ ]]
	bench 0 latency -d sw --batches 9 --batch-ms 1
	[ "$(wc -l <<<"$output")" = 5 ]
}

@test "10000 submissions take no memory of the process" {
	bench 0 latency -d sw --growth 10000 --json
	jq -e '.case == "growth" and .jobs == 10000 and .heap_bytes < 4096' <<<"$output"
}

@test "usage errors: 2; no such device: 5" {
	bench 2
	bench 2 nonsense
	bench 2 latency extra
	bench 2 latency --batches 8
	bench 2 latency --limit 0
	bench 2 latency --growth x
	bench 2 latency --nonsense
	bench 5 latency -d accel97
	bench 0 --help
	[[ $output == *Usage:* ]]
	bench 0 --version
	run bash -c 'accelbench latency -d sw --batches 9 --batch-ms 1 >/dev/full'
	[ "$status" = 1 ]
}

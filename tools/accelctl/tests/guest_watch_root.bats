#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# What only root may see and do, on a kernel with the driver and the software device.

load helper

device=/sys/class/accel/accel0/device

setup() {
	cd "$BATS_TEST_TMPDIR" || exit
	started=()
}

# What a test that failed has left would be in the way of the next.
teardown() {
	local dir
	[ ${#started[@]} = 0 ] || kill -9 "${started[@]}" 2>/dev/null || true
	wait
	for dir in /sys/kernel/tracing/instances/accelctl-*; do
		[ ! -d "$dir" ] || rmdir "$dir" || return 1
	done
	settle
}

# trace_begin: trace into t.json; goes on once events are let through, as $tracer. A shell starts what is in the
# background with SIGINT ignored.
trace_begin() {
	set -m
	accelctl trace -o t.json 3>&- &
	tracer=$!
	set +m
	started+=("$tracer")
	until [ "$(cat "/sys/kernel/tracing/instances/accelctl-$tracer/events/uma/enable" 2>/dev/null)" = 1 ]; do
		kill -0 "$tracer"
		sleep 0.1
	done
}

# client_begin: a process that has one job after the other done, as $client
client_begin() {
	accelctl run gemm -d accel0 -m "$1" -n "$1" -k "$1" --repeat 1000000 >/dev/null 2>&1 3>&- &
	client=$!
	started+=("$client")
}

@test "trace: a command's jobs, from submission to the engine, as valid JSON" {
	ctl 0 trace -o t.json --json -- accelctl run gemm -d accel0 -m 32 -n 32 -k 32 --repeat 5
	json '.ok and .jobs >= 6 and .failed == 0 and .lost_events == 0 and .malformed_lines == 0 and .command_status == 0'
	# One instance less than before
	[ -z "$(ls /sys/kernel/tracing/instances)" ]
	jq -e '.otherData.complete and .otherData.schema == "accelctl.trace/1"' t.json
	jq -e '[.traceEvents[] | select(.ph == "X" and .cat == "run")] | length >= 6 and all(.dur >= 0)' t.json
	jq -e '[.traceEvents[] | select(.ph == "M" and .name == "process_name") | .args.name] | index("accel0") != null' t.json
	# Every arrow has two ends, the second not before the first
	jq -e '[.traceEvents[] | select(.cat == "job")] | group_by(.id) |
		length >= 6 and all(length == 2 and .[0].ph == "s" and .[1].ph == "f" and .[0].ts <= .[1].ts)' t.json
	# No two slices of a row overlap
	jq -e '[.traceEvents[] | select(.ph == "X")] | group_by([.pid, .tid]) |
		all(sort_by(.ts) | [.[:-1], .[1:]] | transpose | all(.[0].ts + .[0].dur <= .[1].ts + 0.002))' t.json
}

@test "trace: SIGINT and SIGTERM end it as time does; after SIGKILL the file is JSON all the same" {
	for s in INT TERM; do
		trace_begin
		kill -$s "$tracer"
		wait "$tracer"
		jq -e '.otherData.complete' t.json
		[ -z "$(ls /sys/kernel/tracing/instances)" ]
	done
	rm t.json
	trace_begin
	client_begin 32
	# Each event is a line.
	until [ "$(grep -c '"ph"' t.json)" -gt 20 ]; do
		kill -0 "$client"
		sleep 0.1
	done
	kill -9 "$tracer"
	wait "$tracer" || true
	kill "$client"
	wait "$client" || true
	jq -e '.otherData.complete == false and (.traceEvents | length) > 10' t.json
	# What it could not remove
	rmdir "/sys/kernel/tracing/instances/accelctl-$tracer"
}

@test "trace: a command that fails, and one that there is not" {
	ctl 1 trace -o t.json -- sh -c 'exit 3'
	has "$stderr" "sh ended with status 3"
	ctl 1 trace -o t.json -- /nonexistent
	has "$stderr" "/nonexistent: cannot be run"
	ctl 1 trace -o /nonexistent/t.json -t 1
	[ -z "$(ls /sys/kernel/tracing/instances)" ]
}

@test "bo and jobs: the driver's own tables" {
	client_begin 64
	until [ "$(accelctl jobs --json | jq '.devices[0].queues | length')" -ge 1 ]; do
		kill -0 "$client"
		sleep 0.2
	done
	ctl 0 jobs --json
	json ".devices[0].queues[] | select(.pid == $client) | .submitted >= .completed and .in_flight >= 0" \
		'.devices[0].engines | length >= 3'
	ctl 0 bo --json
	json '.buffers | length >= 1 and all(.size_bytes > 0 and .device == "accel0")'
	ctl 0 ps --json
	json ".clients[] | select(.pid == $client) | .queues >= 1"
	ctl 0 jobs
	ctl 0 bo
	kill "$client"
	wait "$client" || true
}

@test "power set and reset do what they say" {
	[ -e $device/power_mode ] && [ -e $device/reset ] || skip "this driver has no such knobs"
	ctl 0 power set --mode low_power --json
	json '.devices[0].power_mode == "low_power"'
	ctl 0 power set --mode balanced
	before=$(cat $device/reset_count)
	ctl 0 reset --json
	json '.ok and .what == "device"'
	[ "$(cat $device/reset_count)" -gt "$before" ]
	ctl 0 run gemm -d accel0 -m 8 -n 8 -k 8 --check
	engine=$(accelctl top -n 1 -i 0.1 --json | jq -r '.devices[0].engines[0].engine')
	ctl 0 reset "$engine"
	has "$output" "accel0: $engine was reset in"
	ctl 1 health --strict
	has "$output" "resets"
}

@test "coredump: a job that faulted, as its dump tells" {
	# One that is there already would hide the next for five minutes
	for f in /sys/class/devcoredump/devcd*/data; do
		[ ! -e "$f" ] || echo 1 >"$f"
	done
	knobs=/sys/kernel/debug/uma_emu/$(basename "$(readlink -f $device)")
	[ -e "$knobs/ecc_error" ] || skip "no emulator to break"
	echo 1 >"$knobs/ecc_error"
	run accelctl run gemm -d accel0 -m 8 -n 8 -k 8
	[ "$status" != 0 ]
	until compgen -G '/sys/class/devcoredump/devcd*/data'; do
		sleep 0.1
	done
	ctl 0 coredump --last
	has "$output" "Core dump: fault"
	has "$output" "<== at fault"
	ctl 0 coredump --last --json
	json '.ok and .complete and .cause == "fault" and .job.reason == "bus" and .job.error == "EFAULT" and .job.comm == "accelctl"'
	ctl 1 health --strict
	has "$output" "devcd"
}

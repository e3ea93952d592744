#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# The commands that look at the driver, on a machine without one: without anything, and over the files of a system that
# are laid out here.

load helper

setup() {
	cd "$BATS_TEST_TMPDIR" || exit
	root=$BATS_TEST_TMPDIR/root
}

# put FILE TEXT...: a file below the root
put() {
	local file=$root/$1
	shift
	[ -d "${file%/*}" ] || mkdir -p "${file%/*}"
	printf '%b\n' "$@" >"$file"
}

# fdinfo PID FD CLIENT MATRIX_NS: a process has the node open
fdinfo() {
	mkdir -p "$root/proc/$1/fd" "$root/proc/$1/fdinfo"
	ln -sfn /dev/accel/accel0 "$root/proc/$1/fd/$2"
	printf 'pos:\t0\ndrm-driver:\tuma\ndrm-client-id:\t%s\ndrm-engine-matrix:\t%s ns\n' "$3" "$4" \
		>new
	printf 'drm-engine-capacity-matrix:\t2\ndrm-total-memory:\t8 KiB\ndrm-resident-memory:\t4 KiB\n' >>new
	# Who reads it sees the one or the other
	mv new "$root/proc/$1/fdinfo/$2"
}

# The files of a system with accel0, two engines, two clients one of which two processes share; made once, and copied
lay_out() {
	cp -aT --remove-destination "$BATS_FILE_TMPDIR/root" "$root"
}

setup_file() {
	local root=$BATS_FILE_TMPDIR/root dev
	dev=$root/sys/devices/platform/uma.0
	cd "$BATS_FILE_TMPDIR" || exit
	mkdir -p "$root/sys/class/accel" "$root/sys/bus/platform/drivers/uma" "$dev/accel/accel0" "$root/sys/module/uma"
	ln -s ../../devices/platform/uma.0/accel/accel0 "$root/sys/class/accel/accel0"
	ln -s ../.. "$dev/accel/accel0/device"
	ln -s ../../../bus/platform/drivers/uma "$dev/driver"
	echo 261:0 >"$dev/accel/accel0/dev"
	for e in matrix0 matrix10 matrix2 gpu0; do
		for f in busy_time_us:1000 jobs:7 faults:1 timeouts:2 resets:3 clock_max_mhz:3500; do
			put "sys/devices/platform/uma.0/engine-$e/${f%:*}" "${f#*:}"
		done
	done
	for f in memory_used_bytes:12288 throttled:0 wedged:0 reset_count:3 fault_count:1 timeout_count:2 missed_count:0 \
		throttle_count:0 power_mode:balanced power/runtime_status:active power/autosuspend_delay_ms:200 \
		hwmon/hwmon3/power1_input:1500000 hwmon/hwmon3/temp1_input:41500 hwmon/hwmon3/temp1_max:95000 \
		hwmon/hwmon3/freq1_input:600000000 'hwmon/hwmon3/power1_label:package (modelled)' \
		hwmon/hwmon3/energy1_input:123456 devfreq/uma.0/max_freq:3500000000 devfreq/uma.0/min_freq:600000000 \
		devfreq/uma.0/governor:simple_ondemand; do
		put "sys/devices/platform/uma.0/${f%%:*}" "${f#*:}"
	done
	put proc/10/comm 'be\033[31mnch"'
	put proc/11/comm child
	put proc/12/comm other
	put proc/13/comm unrelated
	fdinfo 10 3 1 5000000
	fdinfo 10 7 1 5000000
	fdinfo 11 3 1 5000000
	fdinfo 12 4 2 7000
	mkdir -p "$root/proc/13/fd"
	ln -s /dev/null "$root/proc/13/fd/0"
	put sys/kernel/debug/accel/uma.0/gems 'refs mappings size resident flags label' '1 1 8192 4096 0x1 "weights \"a\""'
	put sys/kernel/debug/accel/uma.0/queues 'pid queue engines prio status submitted completed' \
		'10 1 0x3 1 ok 9 7' '10 2 0x3 1 ok 4 4' '12 1 0x1 1 banned 1 1'
	put sys/kernel/debug/accel/uma.0/engines 'engine status head tail' 'matrix0 1 7 9'
}

all='top ps bo jobs health reset'

@test "without a driver: 9, and the way to get it" {
	mkdir -p empty
	for c in $all 'power get' 'power set --mode balanced'; do
		# shellcheck disable=SC2086 # words
		ctl 9 $c --root empty
		[ -z "$output" ]
		one_line "$stderr"
		has "$stderr" "modprobe uma"
		# shellcheck disable=SC2086
		ctl 9 $c --root empty --json
		json '.ok == false and .error.exit_status == 9 and .error.name == "ENODEV"'
	done
	mkdir -p empty/sys/module/uma
	for c in $all 'power get'; do
		# shellcheck disable=SC2086
		ctl 5 $c --root empty
		has "$stderr" "no such device"
	done
}

@test "the in-process device has no driver to ask: 3" {
	for c in $all 'power get'; do
		# shellcheck disable=SC2086
		ctl 3 $c -d sw
		has "$stderr" "nodes like accel0"
	done
	ctl 3 trace -o x.json -d sw
	[ ! -e x.json ]
}

@test "-d names one device, and one that there is" {
	lay_out
	for d in accel0 /dev/accel/accel0; do
		ctl 0 ps --root root -d $d
		has "$output" accel0
	done
	ctl 5 ps --root root -d accel1
	has "$stderr" "accel1: no such device"
	ctl 5 top --root root -d /dev/null
	# A device of another driver is none of ours
	ln -sfn ../../../bus/platform/drivers/other "$root/sys/devices/platform/uma.0/driver"
	ctl 5 ps --root root
}

@test "ps: each client once, however many processes and descriptors" {
	lay_out
	ctl 0 ps --root root --json
	json '.schema == "accelctl.ps/1" and (.clients | length) == 2' \
		'.clients[0] | .pid == 10 and .processes == 2 and .client_id == 1 and .queues == 2 and .device == "accel0"' \
		'.clients[0].engines.matrix | .total_ns == 5000000 and .capacity == 2' \
		'.clients[0] | .memory_total_bytes == 8192 and .memory_resident_bytes == 4096' \
		'.clients[1] | .pid == 12 and .processes == 1 and .queues == 1'
	# What a process calls itself does not reach the terminal as it is
	json '.clients[0].comm == "be?[31mnch\""'
	ctl 0 ps --root root
	[[ $output != *$'\033'* ]]
	[ "$(wc -l <<<"$output")" = 3 ]
}

@test "top: devices, engines in their order, clients; text and JSON Lines" {
	lay_out
	ctl 0 top --root root -n 1 -i 0.05
	has "$output" "accel0: clock 600 MHz (at most 3500), 41.5 C, 1.50 W (modelled), memory 12 KiB, mode balanced"
	has "$output" "gpu0 0.0%  matrix0 0.0%  matrix2 0.0%  matrix10 0.0%"
	has "$output" "2 clients"
	ctl 0 top --root root -n 3 -i 0.05 --json
	[ "$(wc -l <<<"$output")" = 3 ]
	jq -se 'length == 3 and all(.schema == "accelctl.top/1") and ([.[].sample] == [1, 2, 3])' <<<"$output"
	jq -se 'all(.interval_ns > 40000000)' <<<"$output"
	output=$(head -n 1 <<<"$output")
	json '.devices[0] | .power_mw == 1500 and .modelled and .temperature_c == 41.5 and .clock_mhz == 600 and .throttled == false' \
		'[.devices[0].engines[].engine] == ["gpu0", "matrix0", "matrix2", "matrix10"]' \
		'.devices[0].engines[0] | .busy_us == 1000 and .jobs == 7 and .busy_percent == 0'
}

# written PID: wait until the process has written its first sample to the file out
written() {
	until [ -s out ]; do
		kill -0 "$1"
		sleep 0.1
	done
}

@test "top: shares are what the counters moved by" {
	lay_out
	accelctl top --root root -i 0.2 --json >out 3>&- &
	local top=$!
	written $top
	for f in 10:3 10:7 11:3; do fdinfo "${f%:*}" "${f#*:}" 1 405000000; done
	until jq -se 'any(.clients[0].engines.matrix.busy_ns > 0)' out >/dev/null 2>&1; do
		kill -0 $top
		sleep 0.1
	done
	kill $top
	wait $top || true
	jq -se '[.[].clients[] | select(.pid == 10) | .engines.matrix.busy_ns] | add == 400000000' out
	jq -se '[.[].clients[] | select(.pid == 12) | .engines.matrix.busy_ns] | add == 0' out
	# Two engines of that kind
	jq -se 'all(.[].clients[] | select(.interval_ns > 0); .engines.matrix.busy_percent - .engines.matrix.busy_ns / .interval_ns / 2 * 100 | fabs < 0.01)' out
}

@test "top: sorted by what is asked for" {
	lay_out
	ctl 0 top --root root -n 1 -i 0.05 --sort pid --json
	json '[.clients[].pid] == [10, 12]'
	ctl 0 top --root root -n 1 -i 0.05 --sort pid -r --json
	json '[.clients[].pid] == [12, 10]'
	ctl 0 top --root root -n 1 -i 0.05 --sort comm -r --json
	json '[.clients[].pid] == [12, 10]'
	ctl 2 top --root root --sort colour
	ctl 2 top --root root -n 0
	ctl 2 top --root root -n 1 -i 0
	has "$stderr" "0.01 to 86400"
}

@test "top: a device that goes away ends it: 6; SIGINT ends it: 0" {
	lay_out
	accelctl top --root root -i 0.2 >out 2>err 3>&- &
	written $!
	rm "$root/sys/class/accel/accel0"
	rm -r "$root/sys/devices/platform/uma.0"
	status=0
	wait $! || status=$?
	[ "$status" = 6 ]
	has "$(<err)" "the device is gone"
	rm out
	lay_out 2>/dev/null || true
	# A shell starts what is in the background with SIGINT ignored
	env --default-signal=INT accelctl top --root root -i 0.1 >out 3>&- &
	written $!
	kill -INT $!
	wait $!
	grep -q clients out
}

# on_terminal TERM ROWS COLUMNS [TEXT KEYS]...: top on a terminal, to which KEYS are typed once it shows TEXT, behind what was
# waited for before
on_terminal() {
	run env --default-signal=INT -u LINES -u COLUMNS TERM="$1" python3 - "${@:2}" <<-'END'
		import os, pty, sys, termios
		pid, fd = pty.fork()
		if not pid:
		    termios.tcsetwinsize(0, (int(sys.argv[1]), int(sys.argv[2])))
		    os.execvp("accelctl", ["accelctl", "top", "--root", "root", "-i", "0.2"])
		keys, shown, at = sys.argv[3:], b"", 0
		while True:
		    while keys and (found := shown.find(keys[0].encode(), at)) >= 0:
		        at = found + len(keys[0])
		        os.write(fd, keys[1].encode())
		        keys = keys[2:]
		    try:
		        shown += os.read(fd, 65536)
		    except OSError:
		        break
		sys.stdout.buffer.write(shown)
		sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
	END
	[ "$status" = 0 ]
}

@test "top on a terminal draws, takes keys and leaves the terminal as it was" {
	lay_out
	on_terminal xterm 30 100 matrix10 h "this help, and back" h matrix10 s "memory   h: help" q
	has "$output" "accelctl top"
	has "$output" "by share"
	# What stays the same is not drawn again
	has "$output" "memory   h: help"
	has "$output" "this help, and back"
	has "$output" matrix10
	has "$output" "(modelled)"
	# The other screen is left again
	has "$output" $'\033[?1049l'
}

@test "top on a terminal of any size: a message below 20 columns; one that is not known: as text" {
	lay_out
	local size
	# shellcheck disable=SC2086 # two words
	for size in "1 20" "24 20" "3 33" "24 32000" "65535 65535"; do
		on_terminal vt100 $size "" q
		has "$output" "accelctl top"
	done
	# shellcheck disable=SC2086 # two words
	for size in "24 19" "9 3" "1 1"; do
		on_terminal vt100 $size "" q
		[[ $output != *accelctl* ]]
	done
	on_terminal vt100 24 19 "" q
	has "$output" "top needs"
	on_terminal no-such-terminal 24 80 clients $'\003'
	lacks "$output" "accelctl:"
}

@test "bo: the driver's table; without it the sums of the clients" {
	lay_out
	ctl 0 bo --root root --json
	json '.schema == "accelctl.bo/1" and (.buffers | length) == 1' \
		'.buffers[0] | .device == "accel0" and .size_bytes == 8192 and .resident_bytes == 4096 and .mappings == 1 and .flags == 1 and .label == "weights \"a\""'
	ctl 0 bo --root root
	has "$output" 'weights "a"'
	has "$output" "8 KiB"
	rm "$root/sys/kernel/debug/accel/uma.0/gems"
	ctl 0 bo --root root --json
	json '.buffers == null and (.clients | length) == 2 and .clients[0].memory_total_bytes == 8192'
	has "$stderr" "for root"
}

@test "jobs: queues, rings if the driver shows them, what is in flight" {
	lay_out
	ctl 0 jobs --root root --json
	json '.devices[0] | .device == "accel0" and .in_flight == 2 and (.queues | length) == 3 and .rings == null' \
		'.devices[0].queues[0] | .pid == 10 and .queue == 1 and .submitted == 9 and .in_flight == 2'
	has "$stderr" "no table of rings"
	put sys/kernel/debug/accel/uma.0/rings 'engine index seqno pid' 'matrix0 7 9 10'
	ctl 0 jobs --root root
	has "$output" "accel0: rings"
	[ -z "$stderr" ]
	rm "$root/sys/kernel/debug/accel/uma.0/queues"
	ctl 3 jobs --root root
	has "$stderr" "queues"
}

@test "tables that make no sense: 8, with file and line" {
	lay_out
	put sys/kernel/debug/accel/uma.0/queues 'pid queue' '1 2 3 4'
	ctl 0 jobs --root root
	put sys/kernel/debug/accel/uma.0/queues 'pid queue label' '1 2 "open'
	ctl 8 jobs --root root
	has "$stderr" "uma.0/queues: line 2: the quotes are not closed"
	put sys/kernel/debug/accel/uma.0/gems ''
	ctl 8 bo --root root --json
	json '.error.exit_status == 8'
}

@test "fdinfo that makes no sense is left out, and that is said" {
	lay_out
	sed -i 's/ ns/ furlongs/' "$root/proc/12/fdinfo/4"
	ctl 0 ps --root root --json
	json '(.clients | length) == 1'
	has "$stderr" "1 client left out: process 12: line 4: drm-engine-matrix cannot be '7000 furlongs'"
	printf '\0\0\0' >"$root/proc/12/fdinfo/4"
	ctl 0 top --root root -n 1 -i 0.05 --json
	json '(.clients | length) == 1'
}

@test "health: ok 0, degraded 1, lost 6, and why" {
	lay_out
	dev=$root/sys/devices/platform/uma.0
	ctl 0 health --root root --json
	json '.ok and .state == "ok" and .exit_status == 0' \
		'.devices[0] | .resets == 3 and .faults == 1 and .timeouts == 2 and .missed_interrupts == 0 and .wedged == false and .last_coredump == null' \
		'.devices[0].engines | length == 4 and all(.resets == 3 and .faults == 1 and .timeouts == 2)'
	ctl 1 health --root root --strict
	has "$output" "degraded: 3 resets; 2 jobs ran into their timeout; 1 jobs faulted"
	echo 1 >"$dev/throttled"
	ctl 1 health --root root
	has "$output" "throttled: it is too hot"
	echo 0 >"$dev/throttled"
	echo 4 >"$dev/missed_count"
	ctl 1 health --root root --json
	json '.state == "degraded" and .ok == false and (.devices[0].reasons[0] | contains("4 interrupts"))'
	echo 1 >"$dev/wedged"
	ctl 6 health --root root
	has "$output" "accel0: lost"
	mkdir -p "$root/sys/class/devcoredump/devcd2"
	ln -s "$dev" "$root/sys/class/devcoredump/devcd2/failing_device"
	: >"$root/sys/class/devcoredump/devcd2/data"
	ctl 6 health --root root --json
	json '.devices[0].last_coredump | endswith("devcd2/data")'
	rm "$dev"/*_count "$dev"/throttled "$dev"/wedged
	ctl 0 health --root root --json
	json '.devices[0].resets == null and .devices[0].wedged == null'
	has "$stderr" "no counters"
}

@test "power: shown and set" {
	lay_out
	dev=$root/sys/devices/platform/uma.0
	ctl 0 power get --root root --json
	json '.schema == "accelctl.power/1" and .op == "get"' \
		'.devices[0] | .power_mode == "balanced" and .modelled and .power_mw == 1500 and .temperature_max_c == 95 and .clock_max_mhz == 3500 and .clock_min_mhz == 600 and .governor == "simple_ondemand" and .runtime_status == "active" and .autosuspend_ms == 200 and .energy_uj == 123456'
	ctl 0 power get --root root
	has "$output" "modelled"
	ctl 0 power set --root root --mode low_power --max-clock 1200 --min-clock 700 --governor performance --autosuspend 50 --json
	json '.op == "set" and (.devices[0] | .power_mode == "low_power" and .clock_max_mhz == 1200 and .clock_min_mhz == 700 and .governor == "performance" and .autosuspend_ms == 50)'
	[ "$(cat "$dev/devfreq/uma.0/max_freq")" = 1200000000 ]
	ctl 2 power set --root root
	has "$stderr" "nothing to set"
	ctl 2 power set --root root --mode turbo
	ctl 2 power set --root root --min-clock 900 --max-clock 800
	rm -r "$dev/devfreq"
	ctl 3 power set --root root --max-clock 800
	has "$stderr" "no such knob"
	ctl 2 power
	has "$stderr" "it takes get, set"
}

@test "reset: what is written, and what is no engine" {
	lay_out
	dev=$root/sys/devices/platform/uma.0
	ctl 3 reset --root root
	has "$stderr" "cannot be asked"
	: >"$dev/reset"
	ctl 0 reset --root root
	[ "$(cat "$dev/reset")" = device ]
	has "$output" "accel0: device was reset in"
	: >"$dev/reset"
	ctl 0 reset --root root matrix10 --json
	[ "$(cat "$dev/reset")" = matrix10 ]
	json '.ok and .what == "matrix10" and .resets == 3 and .time_us >= 0'
	ctl 2 reset --root root matrix1
	has "$stderr" "matrix1: is neither 'device' nor an engine of accel0"
}

@test "trace -d sw: jobs and operations of a command, without a driver" {
	ctl 0 trace -d sw -o t.json --json -- accelctl run gemm -d sw -m 64 -n 64 -k 64 --repeat 3
	json '.ok and .jobs >= 4 and .ops == .jobs and .failed == 0 and .unfinished == 0' \
		'.lost_events == 0 and .malformed_lines == 0 and .command_status == 0'
	# Each operation has its kernel and is within its job
	jq -e '[.traceEvents[] | select(.cat == "op") | .name == "gemm" and (.args.kernel | length > 0)] | length >= 4 and all' t.json
	jq -e '(.traceEvents | map(select(.cat == "run")) | map({(.args.number | tostring): .}) | add) as $runs |
		[.traceEvents[] | select(.cat == "op") | $runs[.args.number | tostring] as $r |
		 .ts >= $r.ts and .ts + .dur <= $r.ts + $r.dur + 0.01] | all' t.json
	# Rows do not overlap
	jq -e '[.traceEvents[] | select(.ph == "X")] | group_by([.pid, .tid]) |
		map(sort_by(.ts) | . as $r | [range(1; length) | $r[.].ts >= $r[. - 1].ts + $r[. - 1].dur - 0.01]) | flatten | all' t.json
	# An environment without it, and a command that does not use the library
	ctl 0 trace -d sw -o t.json --json -- true
	json '.jobs == 0 and .events == 0'
	ctl 1 trace -d sw -o t.json -- sh -c 'exit 3'
	[ -z "$(find "${TMPDIR:-/tmp}" -maxdepth 1 -name 'accelctl-??????' -newer t.json)" ]
}

@test "trace -d sw: a program with a new line in its name, a place with too long a one" {
	ln -s "$(command -v accelctl)" $'two\nlines'
	ctl 0 trace -d sw -o t.json --json -- ./$'two\nlines' run gemm -d sw -m 64 -n 64 -k 64
	jq -e '[.traceEvents[] | select(.cat == "op")] | length >= 1' t.json
	TMPDIR=$(printf 'x%.0s' {1..5000}) ctl 1 trace -d sw -o t.json -- true
	[[ $output$stderr == *ENAMETOOLONG* ]]
}

@test "trace: usage" {
	ctl 2 trace
	has "$stderr" "-o: has to name a file"
	ctl 2 trace -o x.json -t 1 -- true
	ctl 2 trace -o x.json -t -1
	ctl 2 trace -o x.json --buffer 1
	[ ! -e x.json ]
}

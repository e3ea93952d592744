#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# top, ps and what else an ordinary user may look at, on a kernel with the driver and the software device.

load helper

setup() {
	cd "$BATS_TEST_TMPDIR" || exit
	clients=()
}

teardown() {
	[ ${#clients[@]} = 0 ] || kill "${clients[@]}" 2>/dev/null || true
	wait
	settle
}

# busy ENGINE: a client that keeps an engine busy; its process is the last of $clients
busy() {
	accelctl run gemm -d accel0 -m 128 -n 128 -k 128 --engine "$1" --repeat 1000000 >/dev/null 2>&1 3>&- &
	clients+=($!)
}

# engine_ns PID CLASS: engine time of a process as the kernel has it now
engine_ns() {
	sed -n "s/^drm-engine-$2:[[:blank:]]*\([0-9]*\) ns$/\1/p" "/proc/$1"/fdinfo/* 2>/dev/null | sort -n | tail -n 1
}

# Both have had their first job done
both_run() {
	until [ "$(engine_ns "${clients[0]}" matrix)" -gt 0 ] 2>/dev/null &&
		[ "$(engine_ns "${clients[1]}" gpu)" -gt 0 ] 2>/dev/null; do
		kill -0 "${clients[@]}"
		sleep 0.1
	done
}

# The tolerance: both read the counters of two busy clients a moment apart, and time appears when a job ends. A job
# takes some tens of milliseconds here, so what lies between two readings of one interval may differ by that at
# either end; over five seconds ten points of a hundred are far more.
@test "top shows two busy clients, with the shares that fdinfo grew by, within 10 points" {
	local before=() after=() start end
	busy matrix
	busy gpu
	both_run
	before=("$(engine_ns "${clients[0]}" matrix)" "$(engine_ns "${clients[1]}" gpu)")
	start=$(cut -d' ' -f1 /proc/uptime)
	ctl 0 top -n 1 -i 5 --json
	end=$(cut -d' ' -f1 /proc/uptime)
	after=("$(engine_ns "${clients[0]}" matrix)" "$(engine_ns "${clients[1]}" gpu)")
	json '.schema == "accelctl.top/1" and (.clients | length) == 2' \
		"[.clients[].pid] | sort == ([${clients[0]}, ${clients[1]}] | sort)"
	local i classes=(matrix gpu)
	for i in 0 1; do
		got=$(jq ".clients[] | select(.pid == ${clients[i]}) | .engines.${classes[i]}.busy_percent" <<<"$output")
		capacity=$(jq ".clients[] | select(.pid == ${clients[i]}) | .engines.${classes[i]}.capacity" <<<"$output")
		want=$(awk -v a="${before[i]}" -v b="${after[i]}" -v from="$start" -v to="$end" -v c="$capacity" \
			'BEGIN { printf "%.2f", (b - a) / 1e7 / (to - from) / c }')
		echo "# ${classes[i]}: top says $got %, fdinfo $want %" >&3
		awk -v g="$got" -v w="$want" 'BEGIN { exit !(g > 1 && g - w < 10 && w - g < 10) }'
		# Inside of one document it is exact
		json ".clients[] | select(.pid == ${clients[i]}) | .interval_ns as \$t | .engines.${classes[i]} |
			.busy_percent - .busy_ns * 100 / \$t / .capacity | fabs < 0.001"
		# Nothing on the engines of the other
		json ".clients[] | select(.pid == ${clients[i]}) | .engines.${classes[1 - i]}.busy_ns == 0"
	done
}

@test "top as text: both clients, and each once" {
	busy matrix
	busy gpu
	both_run
	ctl 0 top -n 2 -i 1
	echo "# ${output//$'\n'/$'\n'# }" >&3
	for p in "${clients[@]}"; do
		[ "$(grep -cE "^ *$p +tester +accel0 " <<<"$output")" = 2 ]
	done
	[ "$(grep -c '2 clients' <<<"$output")" = 2 ]
}

@test "ps: what a client did, and nobody else's process" {
	busy matrix
	busy gpu
	both_run
	ctl 0 ps --json
	json '(.clients | length) == 2 and all(.clients[]; .user == "tester" and .comm == "accelctl" and .device == "accel0")' \
		".clients[] | select(.pid == ${clients[0]}) | .engines.matrix.total_ns > 0 and .engines.gpu.total_ns == 0 and .memory_total_bytes > 0" \
		'.hidden_processes > 0'
}

# Where debugfs is closed, as it is by default; the test machine has it open
@test "bo: the buffers, or the sums of one's own clients" {
	busy matrix
	busy gpu
	both_run
	ctl 0 bo --json
	json '(.buffers | length) >= 6 or (.buffers == null and (.clients | length) == 2 and all(.clients[]; .memory_total_bytes >= 3 * 65536))'
}

@test "what is for root: 4, and nothing happens" {
	ctl 4 trace -o t.json -t 1
	[ ! -e t.json ]
	[ -w /sys/class/accel/accel0/device/reset ] && return 1
	[ ! -e /sys/class/accel/accel0/device/reset ] || ctl 4 reset
	[ ! -e /sys/class/accel/accel0/device/power_mode ] || ctl 4 power set --mode low_power
}

@test "health and power get are for everybody" {
	ctl 0 power get --json
	json '.devices[0].device == "accel0"'
	run --separate-stderr accelctl health --json
	[ "$status" -le 1 ]
	json '.devices[0].device == "accel0" and (.state == "ok" or .state == "degraded")'
}

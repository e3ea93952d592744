#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# On a kernel with the driver and the software device, as an ordinary user in group render: what the node gives is
# what the in-process device gives.

load helper

setup() {
	cd "$BATS_TEST_TMPDIR" || exit
}

setup_file() {
	[ "$(id -u)" != 0 ]
	# The in-process device with what the chip of the node can do
	SW=sw:$(accelctl info --json accel0 | jq -r .device.chip)
	export SW
}

# both TYPE ARGUMENT...: run on either device, checked on the node; leaves sw.npy and node.npy
both() {
	local type=$1
	shift
	ctl 0 run gemm -d "$SW" --dtype "$type" --repeat 1 --out sw.npy "$@"
	ctl 0 run gemm -d accel0 --dtype "$type" --repeat 1 --check --out node.npy --compare sw.npy --json "$@"
	json '.ok and .checked and .device == "accel0" and .max_rel_error <= .bound and .compare.error_to_bound <= 1'
}

@test "list has the node, and it may be opened" {
	ctl 0 list
	grep -qE '^accel0 +/dev/accel/accel0 +uma +[a-z0-9]+ +emulated +ok$' <<<"$output"
	ctl 0 list --json
	json '.devices[] | select(.name == "accel0") | .path == "/dev/accel/accel0" and .access == "ok" and .emulated' \
		'[.devices[].name] | index("accel0") < index("sw")'
}

@test "info of the node: by name, by path, and the same capabilities as in process" {
	ctl 0 info --json accel0
	json '.device.path == "/dev/accel/accel0" and (.versions.uapi | test("^[0-9]+[.][0-9]+$")) and (.versions.hardware | type) == "string"' \
		'.limits.priorities | index("normal") != null'
	node=$(jq -cS .support <<<"$output")
	ctl 0 info --json /dev/accel/accel0
	[ "$(jq -cS .support <<<"$output")" = "$node" ]
	ctl 0 info --json "$SW"
	[ "$(jq -cS .support <<<"$output")" = "$node" ]
	ctl 0 info accel0
	has "$output" /dev/accel/accel0
}

@test "doctor is content" {
	ctl 0 doctor --json
	json '.ok and .failures == 0'
	for check in kernel subsystem module device permission group; do
		json "[.checks[] | select(.check == \"$check\") | .status == \"ok\"] | length >= 1 and all"
	done
	json '[.checks[] | select(.check == "open") | .status == "ok"] | length >= 2 and all'
	ctl 0 doctor -d accel0
	has "$output" accel0
}

@test "int8: the node and the in-process device agree bit for bit" {
	for shape in '1 1 1' '67 129 255' '3 200 17'; do
		read -r m n k <<<"$shape"
		both int8 -m "$m" -n "$n" -k "$k"
		cmp sw.npy node.npy
	done
	both int8 -m 17 -n 19 -k 40 --trans-a --trans-b --batch 3 --beta 1 --bias --act relu
	cmp sw.npy node.npy
}

@test "int8 bit for bit on every engine" {
	for e in matrix gpu neural; do
		both int8 -m 33 -n 35 -k 70 --engine $e
		json ".engine == \"$e\""
		cmp sw.npy node.npy
	done
}

@test "other data, other result: the comparison can fail" {
	both int8 -m 9 -n 9 -k 9
	ctl 8 run gemm -d accel0 --dtype int8 -m 9 -n 9 -k 9 --seed 2 --repeat 1 --compare sw.npy
	has "$stderr" "the result is wrong"
}

@test "fp32, fp16, bf16 and int4 agree within the bound" {
	for t in fp32 fp16 bf16 int4; do
		both $t -m 67 -n 129 -k 255
		both $t -m 9 -n 10 -k 40 --trans-a --batch 2 --alpha 0.5 --beta -0.25 --bias --act gelu
	done
}

@test "files in, files out" {
	ctl 0 run gemm -d sw -m 20 -n 30 -k 5 --repeat 1 --out A.npy
	ctl 0 run gemm -d sw -m 30 -n 7 -k 5 --repeat 1 --out B.npy
	both fp32 --a A.npy --b B.npy
	json '.m == 20 and .n == 7 and .k == 30'
}

@test "packed weights" {
	both fp16 -m 20 -n 30 -k 40 --pack
}

@test "explain says the same on both" {
	for t in fp32 bf16; do
		for e in auto neural; do
			run --separate-stderr accelctl explain gemm -d "$SW" --dtype $t --engine $e -m 64 -n 64 -k 64 --json
			want=$status$(jq -cS '[.candidates[] | {engine, verdict, field, instances}]' <<<"$output")
			run --separate-stderr accelctl explain gemm -d accel0 --dtype $t --engine $e -m 64 -n 64 -k 64 --json
			got=$status$(jq -cS '[.candidates[] | {engine, verdict, field, instances}]' <<<"$output")
			[ "$got" = "$want" ]
			json '.device == "accel0" and (.candidates | length) >= 3'
		done
	done
}

@test "nodes that are not there: 5" {
	ctl 5 info accel97
	ctl 5 run gemm -d /dev/accel/accel97 -m 1 -n 1 -k 1
	ctl 5 doctor -d accel97
}

@test "a node of another driver is not taken for ours" {
	for other in /dev/dri/card0 /dev/null; do
		[ -e "$other" ] || continue
		run --separate-stderr accelctl info "$other"
		[ "$status" = 5 ] || [ "$status" = 4 ]
	done
}

#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# run attention, explain attention and explain conv on the in-process device.

load helper

setup() {
	cd "$BATS_TEST_TMPDIR" || exit
}

# attention ARGUMENT...: a checked run that has to be right
attention() {
	ctl 0 run attention -d sw --check --repeat 1 --json "$@"
	json '.ok and .checked and .error_to_bound <= 1'
}

# small ARGUMENT...: what comes out for one head of two elements, a query of zeros and three keys
small() {
	npy q.npy '<f4' '(1, 2)' False 0 0
	npy k.npy '<f4' '(3, 2)' False 1 2 3 4 5 6
	npy v.npy '<f4' '(3, 2)' False 3 30 6 60 9 90
	attention --q q.npy --k k.npy --v v.npy --out d.npy "$@"
	values d.npy
}

@test "all types: checked, with the keys that are promised" {
	for t in fp32 fp16 bf16; do
		for kv in fp32 fp16 bf16 int8; do
			attention --dtype $t --kv-dtype $kv --queries 9 --dim 24 --causal
			[ -z "$stderr" ]
			json ".dtype == \"$t\" and .kv_dtype == \"$kv\""
		done
	done
	json '.schema == "accelctl.run/1" and .op == "attention" and .device == "sw"' \
		'.batch == 1 and .queries == 9 and .keys == 9 and .heads == 4 and .kv_heads == 4 and .dim == 24' \
		'[.time_us, .time_min_us, .estimate_us, .gflops, .max_abs_error, .seed, .repeats, .differing] | all(type == "number")' \
		'.causal and .window == null and .page_size == null and .pieces == null and .mask == null'
	ctl 0 run attention -d sw --repeat 1 --json
	json '.checked == false and has("max_abs_error") == false'
	ctl 0 run attention -d sw --repeat 1 --check
	has "$output" "check     ok"
}

@test "heads, windows, slopes, sinks, pages, pieces: alone and together" {
	attention --heads 6 --kv-heads 2 --queries 5 --keys 70 --dim 33
	attention --causal --window 7 --keep 2 --queries 40
	json '.window == 7 and .keep == 2'
	attention --window 0 --queries 20
	attention --alibi --sinks --softcap 3 --scale 0.2 --queries 20
	json '.scale == 0.2 and .softcap == 3 and .alibi and .sinks'
	attention --page-size 7 --keys 30 --queries 3 --batch 3
	attention --pieces 5 --queries 1 --keys 300
	attention --batch 2 --heads 8 --kv-heads 2 --queries 1 --keys 100 --kv-dtype int8 --dtype fp16 --page-size 16 --pieces 2 --causal --window 60 --keep 3 --alibi --sinks --softcap 9
	# More queries than keys: the first see none
	attention --causal --queries 9 --keys 3
	attention --queries 1 --keys 1 --heads 1 --dim 1
}

@test "pages hold what there would be without them, in another order" {
	for kv in fp32 int8; do
		args="--batch 2 --queries 4 --keys 21 --heads 4 --kv-heads 2 --dim 16 --causal --kv-dtype $kv"
		# shellcheck disable=SC2086 # words
		{
			attention $args --out plain.npy
			for size in 1 4 5 21 64; do
				attention $args --page-size $size --out pages.npy
				cmp plain.npy pages.npy
			done
			attention $args --seed 2 --out other.npy
		}
		run ! cmp -s plain.npy other.npy
	done
}

@test "arrays in and out, with results known by heart" {
	# Scores are all 0: the mean of the values that are seen
	[ "$(small)" = "<f4 (1, 1, 1, 2) 6 60" ]
	[ "$(small --window 0)" = "<f4 (1, 1, 1, 2) 9 90" ]
	[ "$(small --window 1)" = "<f4 (1, 1, 1, 2) 7.5 75" ]
	[ "$(small --window 0 --keep 1)" = "<f4 (1, 1, 1, 2) 6 60" ]
	[ "$(small --page-size 2)" = "<f4 (1, 1, 1, 2) 6 60" ]
	[ "$(small --dtype fp16)" = "<f2 (1, 1, 1, 2) 6 60" ]
	[ "$(small --dtype bf16)" = "<V2 (1, 1, 1, 2) 6 60" ]
	npy m.npy '|b1' '(1, 3)' False 1 0 0
	[ "$(small --mask m.npy)" = "<f4 (1, 1, 1, 2) 3 30" ]
	[ "$(small --mask m.npy --page-size 2)" = "<f4 (1, 1, 1, 2) 3 30" ]
	npy m.npy '<f4' '(3,)' False -inf 0 -inf
	[ "$(small --mask m.npy)" = "<f4 (1, 1, 1, 2) 6 60" ]
	npy m.npy '|u1' '(1, 1)' False 0
	[ "$(small --mask m.npy)" = "<f4 (1, 1, 1, 2) 0 0" ]
	# One element a head, so that a row of int8 is what it was
	npy v.npy '<f4' '(2, 2, 1)' False 127 1 127 3
	npy q.npy '<f4' '(1, 2, 1)' False 0 0
	npy k.npy '<f4' '(2, 2, 1)' False 1 1 1 1
	attention --q q.npy --k k.npy --v v.npy --kv-dtype int8 --out d.npy
	[ "$(values d.npy)" = "<f4 (1, 1, 2, 1) 127 2" ]
	# Values have a dimension of their own
	npy v.npy '<f4' '(1, 1, 1, 3)' False 1 2 3
	attention --v v.npy --queries 1 --heads 1 --dim 5 --out d.npy
	[ "$(values d.npy)" = "<f4 (1, 1, 1, 3) 1 2 3" ]
	json '.dim == 5 and .v_dim == 3'
}

@test "what does not go together is refused" {
	npy q.npy '<f4' '(2, 3, 4)' False $(seq 24)
	ctl 2 run attention -d sw --q q.npy --heads 2
	has "$stderr" --q
	ctl 2 run attention -d sw --q q.npy --k q.npy --dim 5
	ctl 2 run attention -d sw --q q.npy --k q.npy --keys 3
	ctl 2 run attention -d sw --q q.npy --kv-heads 2
	has "$stderr" --kv-heads
	ctl 2 run attention -d sw --q q.npy --batch 2
	ctl 2 run attention -d sw --keep 3
	has "$stderr" --keep
	ctl 2 run attention -d sw --softcap -1
	ctl 2 run attention -d sw --mask q.npy
	has "$stderr" --mask
	npy m.npy '<i4' '(1,)' False 1
	ctl 2 run attention -d sw --mask m.npy
	has "$stderr" "i4"
	npy m.npy '<f4' '(1, 1, 1, 1, 1)' False 1
	ctl 2 run attention -d sw --mask m.npy
	ctl 1 run attention -d sw --k none.npy
	has "$stderr" none.npy
	ctl 1 run attention -d sw --queries 1 --keys 1 --out none/d.npy
	ctl 2 run attention -d sw --dtype int8
	ctl 2 run attention -d sw --batch 65536 --heads 65536 --queries 16777216 --dim 1024
	has "$stderr" "too large"
	ctl 2 run attention -d sw --batch 65536 --keys 16777216 --page-size 1
	has "$stderr" --page-size
}

@test "SIGINT ends a long check: 130, and nothing on stdout" {
	interrupt accelctl run attention -d sw --queries 16 --keys 50000 --heads 8 --check --repeat 1
	[ "$status" = 130 ]
	[ -z "$output" ]
	has "$stderr" interrupted
}

@test "on every chip and engine that takes it" {
	for d in sw:m1 sw:m3 sw:ultra; do
		for e in gpu neural; do
			ctl 0 run attention -d $d --engine $e --dtype fp16 --queries 9 --causal --check --repeat 1 --json
			json ".ok and .engine == \"$e\""
		done
	done
	ctl 3 run attention -d sw:m1 --engine matrix
	has "$stderr" matrix
	ctl 3 run attention -d sw:m1 --engine neural --dtype fp16 --page-size 4
}

@test "explain attention lists every engine with a verdict and runs nothing" {
	ctl 0 explain attention -d sw:m1 --dtype fp16 --kv-dtype int8 --page-size 16
	[[ ${output%%$'\n'*} =~ ^ENGINE\ +VERDICT\ +ESTIMATE\ +BYTES\ +ALGORITHM\ +KERNEL\ +REASON$ ]]
	grep -qE '^matrix +refused' <<<"$output"
	grep -qE '^gpu +chosen' <<<"$output"
	ctl 0 explain attention -d sw:m1 --dtype fp16 --kv-dtype int8 --page-size 16 --json
	json '.schema == "accelctl.explain/1" and .op == "attention" and .ok and .chosen == "gpu"' \
		'[.candidates[].engine] | unique == ["gpu", "matrix", "neural"]' \
		'.kv_dtype == "int8" and .page_size == 16 and .queries == 64' \
		'[.candidates[] | select(.verdict == "refused") | (.field | startswith("attention."))] | all'
	ctl 3 explain attention -d sw:m1 --dtype fp16 --page-size 16 --engine neural --json
	json '.ok == false and .chosen == null and .error.exit_status == 3 and (.error.text | contains("gpu"))'
	# No memory is taken
	ctl 0 explain attention -d sw --batch 1000 --queries 1000000 --kv-heads 1 --heads 64 --json
	json '.ok'
}

@test "explain conv lists every way of every engine" {
	ctl 0 explain conv -d sw:m1 --channels 16 --filters 8
	[[ ${output%%$'\n'*} =~ ^ENGINE\ +VERDICT\ +ESTIMATE\ +BYTES\ +ALGORITHM\ +KERNEL\ +REASON$ ]]
	[ "$(grep -cE ' chosen ' <<<"$output")" = 1 ]
	ctl 0 explain conv -d sw:m1 --channels 16 --filters 8 --json
	json '.schema == "accelctl.explain/1" and .op == "conv" and .ok' \
		'.a == [1, 16, 32, 32] and .b == [8, 16, 3, 3] and .d == [1, 8, 30, 30]' \
		'[.candidates[].algorithm] | contains(["direct", "implicit GEMM"])'
	chosen=$(jq -r .chosen <<<"$output")
	ctl 0 run conv -d sw:m1 --channels 16 --filters 8 --repeat 1 --json
	json ".engine == \"$chosen\""
	ctl 3 explain conv -d sw:m1 --engine neural --dtype fp32 --json
	json '.ok == false and .error.exit_status == 3'
	ctl 2 explain conv -d sw --size 40
	has "$stderr" --size
}

#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# ops: which engine takes which types. That it is true is for test_ops.

load helper

@test "every operation, engine and chip is in the list" {
	ctl 0 ops --json
	[ -z "$stderr" ]
	json '.schema == "accelctl.ops/1"' \
		'[.cells[].profile] | unique == ["full", "m1", "m2", "m3", "ultra"]' \
		'[.cells[].engine] | unique == ["gpu", "matrix", "neural"]' \
		'["copy", "fill", "unary", "binary", "gemm", "conv", "attention", "rotary", "norm", "softmax", "reduce", "pool", "resize", "gather", "scatter", "topk", "scan", "select", "concat", "split", "pad"] - [.cells[].op] == []' \
		'[.cells[] | .types | length] | all(. > 0)'
}

@test "chips differ where they should" {
	ctl 0 ops --json
	# bf16 on the matrix unit and 4-bit weights on the neural engine from the third generation
	json '[.cells[] | select(.op == "gemm" and .engine == "matrix" and any(.types[]; .a == "bf16" and .b == "bf16")).profile] | unique == ["full", "m3"]' \
		'[.cells[] | select(.op == "gemm" and .engine == "neural" and any(.types[]; .b == "int4")).profile] | unique == ["full", "m3"]' \
		'[.cells[] | select(.op == "pool" and .engine == "matrix").profile] | unique == ["full"]' \
		'.cells[] | select(.profile == "m1" and .op == "pool" and .engine == "neural") | .functions == ["max", "average"]'
}

@test "one device, as a table" {
	ctl 0 ops -d sw:m2
	has "$output" "CHIP"
	has "$output" "gather"
	[[ $output != *ultra* ]]
	ctl 2 ops -d sw:m9
}

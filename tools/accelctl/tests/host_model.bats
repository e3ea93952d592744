#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# model: networks from ONNX files. Whole architectures are in host_zoo.bats.

load helper

digits=$BATS_TEST_DIRNAME/../../../examples/digits

@test "info tells what is in a file" {
	ctl 0 model info "$digits/digits.onnx"
	has "$output" "operators of version 17"
	ctl 0 model info "$digits/digits.onnx" --json
	json '.ok and .opset == 17 and .inputs == 1 and .outputs == 1 and .input_values == [{"name": "image", "type": "fp32", "shape": "n,1,16,16"}] and
		.output_values[0].name == "logits" and .operators.Conv == 9 and .operators.Gemm == 1'
}

@test "digits are what they should be, at every level, with each pass off" {
	for level in 0 1 2 3; do
		ctl 0 model run "$digits/digits.onnx" -d sw --golden "$digits/digits.golden.npz" --level "$level" --json
		json '.ok and .outputs[0].name == "logits" and .outputs[0].dims == [96, 10] and .outputs[0].max_rel_error < 1e-5'
	done
	for pass in cse epilogue pack winograd; do
		ctl 0 model run "$digits/digits.onnx" -d sw --golden "$digits/digits.golden.npz" --off "$pass" --json
		json '.ok'
	done
	ctl 8 model run "$digits/digits.onnx" -d sw --golden "$digits/digits.golden.npz" --tolerance 1e-12
}

@test "as many numbers in another shape are not the same" {
	command -v zip unzip >/dev/null || skip "zip and unzip are not here"
	cd "$BATS_TEST_TMPDIR"
	unzip -q "$digits/digits.golden.npz"
	LC_ALL=C sed -i "s/'shape': (96, 10)/'shape': (10, 96)/" out.logits.npy
	zip -q -0 turned.npz in.image.npy out.logits.npy
	ctl 8 model run "$digits/digits.onnx" -d sw --golden turned.npz
	has "$output" "another shape"
}

@test "symbols stand for what is said" {
	ctl 0 model run "$digits/digits.onnx" -d sw --dim n=3 --json
	json '.outputs[0].dims == [3, 10]'
	ctl 2 model run "$digits/digits.onnx" -d sw --dim n=three
	ctl 2 model run "$digits/digits.onnx" -d sw --off everything
}

@test "explain and profile name every node" {
	ctl 0 model explain "$digits/digits.onnx" -d sw --json
	json '.schema == "accel.graph/1" and (.nodes | length) > 10 and .arena_bytes >= .arena_bound' \
		'.code.tuned.macs == .macs and .code.tuned.estimate_ns > 0 and .code.host == {nodes: 0, macs: 0, estimate_ns: 0}' \
		'(.code.tuned.estimate_ns + .code.reference.estimate_ns) == ([.nodes[].estimate_ns] | add)'
	ctl 0 model explain "$digits/digits.onnx" -d sw --format dot
	has "$output" "digraph"
	ctl 0 model profile "$digits/digits.onnx" -d sw --json
	json '.ok and .repeats == 5 and ([.nodes[] | select(.ns > 0)] | length) == (.nodes | length)'
	ctl 0 model profile "$digits/digits.onnx" -d sw --repeat 2 --json
	json '.ok and .repeats == 2'
}

@test "what is no model is refused" {
	# A folder that is cut is told as who opens it would be told.
	mkdir "$BATS_TEST_TMPDIR/cut"
	cp "$BATS_TEST_DIRNAME/../../../examples/austen/config.json" "$BATS_TEST_TMPDIR/cut"
	head -c 100000 "$BATS_TEST_DIRNAME/../../../examples/austen/model.safetensors" >"$BATS_TEST_TMPDIR/cut/model.safetensors"
	ctl 1 model check "$BATS_TEST_TMPDIR/cut"
	has "$stderr" "the file ends before its data"
	ctl 1 model info "$digits/digits.golden.npz"
	has "$stderr" "digits.golden.npz: not an ONNX model, it is a ZIP archive"
	head -c 100000 "$digits/digits.onnx" >"$BATS_TEST_TMPDIR/cut.onnx"
	ctl 1 model info "$BATS_TEST_TMPDIR/cut.onnx"
	[[ $stderr =~ "cut.onnx: ends within its field graph, at byte 100000 of 31"[0-9]* ]]
	ctl 2 model info
	ctl 1 model run "$digits/digits.onnx" -d sw --golden "$digits/digits.onnx"
	has "$stderr" "not an array of .npy, .npz"
}

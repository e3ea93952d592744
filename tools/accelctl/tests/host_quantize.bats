#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# model quantize, model compare: what is lost, and where.

load helper

digits=$BATS_TEST_DIRNAME/../../../examples/digits
onnx=$BATS_TEST_DIRNAME/onnx.py

setup() {
	T=$BATS_TEST_TMPDIR
}

# right MODEL: how many of the 360 digits of the test set it reads as they are
right() {
	ctl "$2" model run "$1" -d sw --golden "$digits/test.npz" --tolerance 0.1 --top 1
	paste -d ' ' <(sed -n 's/^  [0-9]*: \([0-9]\) .*/\1/p' <<<"$output") <(grep -v '^#' "$digits/labels") |
		awk '{ all++; good += $1 == $2 } END { if (all == 360) print good }'
}

# quantize ARGUMENT...: what is written to $T/q.onnx
quantize() {
	ctl 0 model quantize "$digits/digits.onnx" -d sw -o "$T/q.onnx" --calibrate "$digits/digits.golden.npz" --json "$@"
	json '.ok and .outputs[0].rms_rel_error <= .threshold and .outputs[0].rows == 96 and ([.layers[] | .own_error > 0 or .precision == "float"] | all)'
}

@test "digits in bytes lose at most 0.6 points, however ranges are found" {
	local float int8
	float=$(right "$digits/digits.onnx" 0)
	# 99.4 %
	[ "$float" -ge 358 ]
	for method in minmax percentile entropy; do
		quantize --scheme static --method "$method"
		json '[.layers[] | select(.precision == "8 bits")] | length == 14'
		[ "$(stat -c %s "$T/q.onnx")" -lt 100000 ]
		int8=$(right "$T/q.onnx" 0)
		echo "$method: $int8 of 360, $float in fp32"
		[ $((1000 * (float - int8))) -le $((6 * 360)) ]
		# They are computed in bytes, not made real before.
		ctl 0 model explain "$T/q.onnx" -d sw --json
		json '[.nodes[] | select(.op == "conv" and .inputs[0].type == "uint8" and .inputs[1].type == "int8")] | length == 9'
	done
}

@test "digits in 16 bits, and with products in bytes" {
	ctl 0 model explain "$digits/digits.onnx" -d sw --dtype bf16 --json
	json '[.nodes[] | select(.op == "conv" and .inputs[0].type == "bf16" and .inputs[1].type == "bf16")] | length == 9'
	# What only convolutions read is not written in fp32.
	json '[.nodes[] | select(.op == "conv" and .results[0].type == "bf16")] | length > 2'
	for dtype in bf16 fp16 int8; do
		ctl 0 model run "$digits/digits.onnx" -d sw --dtype "$dtype" --golden "$digits/test.npz" --tolerance 0.1 --top 1
		good=$(paste -d ' ' <(sed -n 's/^  [0-9]*: \([0-9]\) .*/\1/p' <<<"$output") <(grep -v '^#' "$digits/labels") |
			awk '{ all++; good += $1 == $2 } END { if (all == 360) print good }')
		echo "$dtype: $good of 360"
		[ "$good" -ge 358 ]
	done
	ctl 8 model compare "$digits/digits.onnx" -d sw --golden "$digits/digits.golden.npz" --with-dtype bf16 --tolerance 1e-4 --json
	json '.outputs[0].rms_rel_error > 1e-4 and .outputs[0].rms_rel_error < 0.02'
	ctl 0 model bench "$digits/digits.onnx" -d sw --dtype bf16 --threads 1 --repeat 3
}

@test "ranges follow from inputs" {
	quantize --scheme static --keep logits
	cp "$T/q.onnx" "$T/whole.onnx"
	mkdir "$T/some"
	cp "$digits/digits.golden.npz" "$T/some/a.npz"
	cp "$digits/test.npz" "$T/some/b.npz"
	ctl 0 model quantize "$digits/digits.onnx" -d sw -o "$T/q.onnx" --scheme static --keep logits --calibrate "$T/some" --json
	json '.samples == 2 and .layers[-1].precision == "float" and .layers[-1].own_error == 0'
	run ! cmp -s "$T/q.onnx" "$T/whole.onnx"
}

@test "products have their ranges found each time, or weights of 4 bits" {
	quantize --scheme dynamic
	json '[.layers[] | select(.op == "Gemm" and .precision == "8 bits")] | length == 1'
	ctl 0 model info "$T/q.onnx" --json
	json '.operators.MatMulInteger == 1 and .operators.DynamicQuantizeLinear == 1 and .operators.Conv == 9'
	[ "$(right "$T/q.onnx" 0)" -ge 356 ]
	quantize --scheme 4bit
	json '.threshold == 0.25 and .layers[0].own_error > 0.01'
	ctl 0 model info "$T/q.onnx" --json
	json '.operators["com.microsoft.MatMulNBits"] == 1'
	[ "$(right "$T/q.onnx" 0)" -ge 356 ]
}

@test "weights by a table of their own numbers, and two of each four" {
	local entry scheme bytes least differ
	for entry in palette256:100000:358:0 palette16:66000:356:8; do
		IFS=: read -r scheme bytes least differ <<<"$entry"
		quantize --scheme "$scheme"
		json '[.layers[] | select(.precision != "float" and .weights >= 1024)] | length == 7'
		[ "$(stat -c %s "$T/q.onnx")" -lt "$bytes" ]
		# Its numbers are further off than they may be, its digits are not.
		[ "$(right "$T/q.onnx" "$differ")" -ge "$least" ]
		# They are looked up once.
		ctl 0 model explain "$T/q.onnx" -d sw --json
		json '([.nodes[] | select(.op == "conv")] | length == 9) and (.nodes | length == 11)'
	done
	# Sixteen numbers lose more, and by themselves already.
	quantize --scheme palette256
	least=$(jq '[.layers[].own_error] | max' <<<"$output")
	quantize --scheme palette16
	json ".threshold == 0.25 and ([.layers[].own_error] | min > 5 * $least)"
	quantize --scheme prune24
	json '.threshold == 0.4 and ([.layers[] | select(.precision == "2 of 4")] | length | . > 1 and . < 9)'
	[ "$(right "$T/q.onnx" 8)" -ge 354 ]
	quantize --scheme prune24 --threshold 1
	json '[.layers[] | select(.precision == "2 of 4" and .error > 0.1)] | length == 9'
}

@test "layers that hurt stay as they are, as few as have to" {
	quantize --scheme static
	local all
	all=$(jq '.outputs[0].rms_rel_error' <<<"$output")
	quantize --scheme static --threshold "$(jq -n "$all * 0.7")"
	json '[.layers[] | select(.precision == "float")] | length | . > 0 and . < 14'
	# Those that stay lose more by themselves than all others.
	json '([.layers[] | select(.precision == "float").own_error] | min) >= ([.layers[] | select(.precision != "float").own_error] | max)'
	quantize --scheme static --threshold 1e-9
	json '[.layers[] | select(.precision == "float")] | length == 14'
	ctl 0 model run "$T/q.onnx" -d sw --golden "$digits/digits.golden.npz" --tolerance 1e-5
}

@test "weights outside of the file, of nodes and of whole transformers" {
	tar -C "$T" -xJf "$BATS_TEST_DIRNAME/../../../examples/zoo/onnx.tar.xz" --wildcards '*/t5-3l.*'
	"$UMA_BUILD/examples/zoo/fill" "$T/onnx/t5-3l.fill.json" "$T/onnx"
	for scheme in dynamic 4bit; do
		ctl 0 model quantize "$T/onnx/t5-3l.onnx" -d sw --golden "$T/onnx/t5-3l.golden.npz" -o "$T/t5.onnx" --scheme "$scheme" --json
		json '[.layers[] | select(.precision != "float" and .error < 0.3 and .own_error < 0.1)] | length == 49' \
			'.file_bytes < 0.45 * .file_bytes_before'
	done
	# It is whole without what the other needs.
	rm "$T/onnx/t5-3l.bin"
	ctl 8 model run "$T/t5.onnx" -d sw --golden "$T/onnx/t5-3l.golden.npz"
	ctl 0 model run "$T/t5.onnx" -d sw --golden "$T/onnx/t5-3l.golden.npz" --tolerance 0.3
}

@test "what cannot be is refused, and what was there stays" {
	local option
	echo before >"$T/q.onnx"
	# A file of somebody else, whatever it is called.
	echo other >"$T/q.onnx.part"
	ctl 2 model quantize "$digits/digits.onnx" -d sw -o "$T/q.onnx" --scheme static
	has "$stderr" "--calibrate"
	ctl 2 model quantize "$digits/digits.onnx" -d sw
	ctl 2 model quantize
	ctl 1 model quantize "$digits/test.npz" -d sw -o "$T/q.onnx"
	ctl 1 model quantize "$digits/digits.onnx" -d sw -o "$T/q.onnx" --scheme static --calibrate "$T/nowhere"
	"$onnx" model "$T/none.onnx" x:f32:2,3 Relu
	ctl 3 model quantize "$T/none.onnx" -d sw -o "$T/q.onnx"
	ctl 1 model quantize "$digits/digits.onnx" -d sw -o /nowhere/q.onnx
	ctl 2 model quantize "$digits/digits.onnx" -d sw -o "$T/q.onnx" --keep /8/Gem
	has "$stderr" "--keep: no layer that this scheme quantises is called /8/Gem"
	# What would not be looked at.
	for option in --imatrix --imatrix-from --imatrix-out --text --tokenizer; do
		ctl 2 model quantize "$digits/digits.onnx" -d sw -o "$T/q.onnx" "$option" "$T/none.onnx"
		has "$stderr" "$option: is for folders and GGUF files, which take --type"
	done
	for option in --calibrate --keep --input --golden; do
		ctl 2 model quantize "$T" -d sw -o "$T/q.onnx" --type q8_0 "$option" "$T/none.onnx"
		has "$stderr" "$option: is for ONNX files"
	done
	[ "$(cat "$T/q.onnx")" = before ]
	[ "$(cat "$T/q.onnx.part")" = other ]
	LC_ALL=C sed $'s/logits/\xffogits/g' "$digits/digits.onnx" >"$T/odd.onnx"
	ctl 0 model quantize "$T/odd.onnx" -d sw -o "$T/q.onnx" --scheme dynamic --json
	json '.outputs[0].name == "?ogits" and .layers[-1].name == "?ogits"'
	ctl 0 model quantize "$T/odd.onnx" -d sw -o "$T/q.onnx" --scheme dynamic
	has "$output" "output ?ogits:"
	[ "$(cat "$T/q.onnx.part")" = other ]
	[ "$(find "$T" -name "*q.onnx*" | wc -l)" = 2 ]
}

@test "compare shows where two models part" {
	quantize --scheme static --keep /0/Conv
	ctl 8 model compare "$digits/digits.onnx" "$T/q.onnx" -d sw --golden "$digits/digits.golden.npz" --json
	json '.ok == false and (.layers | length) == 22 and .layers[0].rms_rel_error < 1e-6 and .layers[2].rms_rel_error > 0.001 and .part_at == .layers[2].name'
	ctl 0 model compare "$digits/digits.onnx" "$T/q.onnx" -d sw --golden "$digits/digits.golden.npz" --tolerance 0.1
	has "$output" "do not part"
	ctl 8 model compare "$digits/digits.onnx" "$T/q.onnx" -d sw --golden "$digits/digits.golden.npz"
	has "$output" "they part at /3/c1/Conv_output_0 (Conv)"
}

@test "compare takes two levels and two devices" {
	# A name that a terminal would follow
	LC_ALL=C sed $'s/logits/\x1bogits/g' "$digits/digits.onnx" >"$T/odd.onnx"
	ctl 0 model compare "$T/odd.onnx" -d sw --with-level 0 --all
	[ "$(grep -c Conv_output <<<"$output")" = 9 ]
	lacks "$output" $'\033'
	ctl 0 model compare "$T/odd.onnx" -d sw:m1 --with-device sw:full --tolerance 0.01 --json
	json '.ok and .outputs[0].name == "?ogits" and .layers[-1].name == "?ogits"'
	ctl 2 model compare "$T/odd.onnx" -d sw
	ctl 2 model compare
	ctl 2 model compare a b c
	"$onnx" model "$T/other.onnx" image:f32:1,1,16,16 Relu
	ctl 0 model compare "$T/other.onnx" "$T/other.onnx" -d sw
	ctl 8 model compare "$T/odd.onnx" "$T/other.onnx" -d sw
	has "$output" "output ?ogits: the other has another shape"
	has "$output" "they have no result in common"
}

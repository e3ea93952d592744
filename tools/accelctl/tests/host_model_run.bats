#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# model run: what goes in and what comes out. Models and files are written by onnx.py, which shares nothing with
# what is tested; most give back what they get.

load helper

setup() {
	T=$BATS_TEST_TMPDIR
	digits=$BATS_TEST_DIRNAME/../../../examples/digits
	py onnx.py model "$T/same.onnx" x:f32:2,3 Identity
}

# gives MODEL ARGUMENT...: the values of the model's output
gives() {
	ctl 0 model run "$1" -d sw --out "$T/out.npz" "${@:2}"
	py npy.py show "$T/out.npz"
}

@test "inputs come from .npy, .npz, .pb and .safetensors" {
	py npy.py make "$T/x.npy" '<f4' '(2, 3)' False 1 2 3 4 5 -6.5
	want="<f4 (2, 3) 1 2 3 4 5 -6.5"
	mkdir "$T/in" && cp "$T/x.npy" "$T/in/" && mv "$T/x.npy" "$T/in.npy"
	(cd "$T/in" && python3 -m zipfile -c ../in.npz x.npy)
	py onnx.py tensor "$T/in.pb" f32 2,3 1 2 3 4 5 -6.5
	py onnx.py tensor-fields "$T/fields.pb" f32 2,3 1 2 3 4 5 -6.5
	python3 - "$T/in.safetensors" <<-'END'
	import struct, sys
	head = b'{"__metadata__":{},"x":{"dtype":"F32","shape":[2,3],"data_offsets":[4,28]}}'
	open(sys.argv[1], "wb").write(struct.pack("<Q", len(head)) + head + b"abcd" + struct.pack("<6f", 1, 2, 3, 4, 5, -6.5))
	END
	for file in in.npy in.npz in.pb fields.pb in.safetensors; do
		[ "$(gives "$T/same.onnx" --input "$T/$file")" = "$want" ]
		[ "$(gives "$T/same.onnx" --input "x=$T/$file")" = "$want" ]
	done
	# Fortran's order, another type
	py npy.py make "$T/f.npy" '>i2' '(2, 3)' True 1 4 2 5 3 -6
	[ "$(gives "$T/same.onnx" --input "$T/f.npy")" = "<f4 (2, 3) 1 2 3 4 5 -6" ]
}

@test "a dimension that no input has is named" {
	ctl 2 model run "$digits/digits.onnx" -d sw --dim m=3
	has "$stderr" "no dimension is called m"
	ctl 2 model run "$digits/digits.onnx" -d sw --dim n=-3
	has "$stderr" "--dim: -3 is no number of elements"
	ctl 0 model run "$digits/digits.onnx" -d sw --dim n=3 --json
	json '.outputs[0].dims == [3, 10]'
}

@test "values of a sequence are inputs, and outputs" {
	py onnx.py model "$T/list.onnx" x:f32:[] Identity
	py npy.py make "$T/a.npy" '<f4' '(2,)' False 1 2
	py npy.py make "$T/b.npy" '<f4' '(3,)' False 3 4 5
	[ "$(gives "$T/list.onnx" --input "x[1]=$T/b.npy" --input "x[0]=$T/a.npy")" = \
		"<f4 (2,) 1 2"$'\n'"<f4 (3,) 3 4 5" ]
	ctl 3 model run "$T/list.onnx" -d sw
	has "$stderr" "input x is a sequence: the values that it has must be said"
	ctl 2 model run "$T/same.onnx" -d sw --input "x[0]=$T/a.npy"
	has "$stderr" "no input is called x[0]"
}

@test "whole numbers of 64 bits are exact" {
	py onnx.py model "$T/long.onnx" x:s64:n Identity
	py onnx.py tensor "$T/in.pb" s64 2 9007199254740993 -9223372036854775807
	ctl 0 model run "$T/long.onnx" -d sw --input "$T/in.pb" --out "$T/out.npz"
	[ "$(python3 -c 'import sys, zipfile; print(*memoryview(zipfile.ZipFile(sys.argv[1]).read("y0.npy"))[-16:].cast("q"))' \
		"$T/out.npz")" = "9007199254740993 -9223372036854775807" ]
	py onnx.py tensor-fields "$T/in.pb" s64 3 1 -2 3
	[ "$(gives "$T/long.onnx" --input "$T/in.pb")" = "<i8 (3,) 1 -2 3" ]
}

@test "files that are broken are refused" {
	py onnx.py tensor "$T/in.pb" f32 2,3 1 2 3 4 5
	ctl 1 model run "$T/same.onnx" -d sw --input "$T/in.pb"
	has "$stderr" "20 bytes, its dimensions say 24"
	py onnx.py tensor-fields "$T/in.pb" f32 2,3 1 2 3 4 5 6 7
	ctl 1 model run "$T/same.onnx" -d sw --input "$T/in.pb"
	py npy.py make "$T/in.npy" '<f4' '(3, 2)' False 1 2 3 4 5 6
	ctl 2 model run "$T/same.onnx" -d sw --input "$T/in.npy"
	py npy.py make "$T/in.npy" '<f4' '(6,)' False 1 2 3 4 5 6
	ctl 2 model run "$T/same.onnx" -d sw --input "$T/in.npy"
	has "$stderr" "1 dimensions, not 2"
	ctl 2 model run "$T/same.onnx" -d sw --input "z=$T/in.npy"
	has "$stderr" "no input is called z"
	ctl 1 model run "$T/same.onnx" -d sw --input "$T/none.npy"
	for offsets in 4,27 -4,20 24,48 28,4; do
		python3 - "$T/in.safetensors" $offsets <<-'END'
		import struct, sys
		head = b'{"x":{"dtype":"F32","shape":[2,3],"data_offsets":[%s]}}' % sys.argv[2].encode()
		open(sys.argv[1], "wb").write(struct.pack("<Q", len(head)) + head + bytes(28))
		END
		ctl 1 model run "$T/same.onnx" -d sw --input "$T/in.safetensors"
		has "$stderr" "not where they should be"
	done
}

@test "random inputs follow the seed" {
	first=$(gives "$T/same.onnx" --seed 7)
	[ "$first" = "$(gives "$T/same.onnx" --seed 7)" ]
	[ "$first" != "$(gives "$T/same.onnx" --seed 8)" ]
	py onnx.py model "$T/long.onnx" x:s64:64 Identity
	[[ $(gives "$T/long.onnx" --below 5) =~ ^'<i8 (64,)'(\ [0-4])+$ ]]
	[[ $(gives "$T/long.onnx" --below 5) =~ \ 4 ]]
	[[ $(gives "$T/long.onnx") =~ ^'<i8 (64,)'(\ 0)+$ ]]
}

@test "pictures become what the network wants" {
	py onnx.py model "$T/rgb.onnx" x:f32:1,3,2,2 Identity
	py onnx.py model "$T/last.onnx" x:f32:1,2,2,3 Identity
	py onnx.py model "$T/grey.onnx" x:f32:1,1,h,w Identity
	py onnx.py model "$T/byte.onnx" x:u8:1,3,2,2 Identity
	py onnx.py png "$T/p.png" 2 2 3 255 0 10 255 0 20 255 0 30 255 0 40
	[ "$(gives "$T/rgb.onnx" -i "$T/p.png" --pixels raw)" = "<f4 (1, 3, 2, 2) 255 255 255 255 0 0 0 0 10 20 30 40" ]
	[ "$(gives "$T/rgb.onnx" -i "$T/p.png" --pixels raw --bgr)" = "<f4 (1, 3, 2, 2) 10 20 30 40 0 0 0 0 255 255 255 255" ]
	[ "$(gives "$T/last.onnx" -i "$T/p.png" --pixels raw)" = "<f4 (1, 2, 2, 3) 255 0 10 255 0 20 255 0 30 255 0 40" ]
	[ "$(gives "$T/byte.onnx" -i "$T/p.png")" = "|u1 (1, 3, 2, 2) 255 255 255 255 0 0 0 0 10 20 30 40" ]
	[ "$(gives "$T/rgb.onnx" -i "$T/p.png" --pixels raw --mean 5,1,10 --std 2,1,10 --scale 1)" = \
		"<f4 (1, 3, 2, 2) 125 125 125 125 -1 -1 -1 -1 0 1 2 3" ]
	# (1 - 0.485) / 0.229, (0 - 0.456) / 0.224
	[[ $(gives "$T/rgb.onnx" -i "$T/p.png") == *" 2.24891 2.24891 2.24891 2.24891 -2.03571 "* ]]
	[[ $(gives "$T/rgb.onnx" -i "$T/p.png" --pixels signed) == *" 1 1 1 1 -1 -1 -1 -1 "* ]]
	py onnx.py png "$T/g.png" 3 1 1 0 51 255
	[ "$(gives "$T/grey.onnx" -i "$T/g.png")" = "<f4 (1, 1, 1, 3) 0 0.2 1" ]
	ctl 2 model run "$T/rgb.onnx" -d sw -i "$T/p.png" --mean 1,2
	ctl 2 model run "$T/rgb.onnx" -d sw -i "$T/p.png" --std 1,0,1
	ctl 2 model run "$T/same.onnx" -d sw -i "$T/p.png"
	head -c 60 "$T/p.png" >"$T/cut.png"
	ctl 1 model run "$T/rgb.onnx" -d sw -i "$T/cut.png"
}

@test "pictures are brought to size" {
	py onnx.py model "$T/m.onnx" x:f32:1,1,2,2 Identity
	# Four by two: half of it stretched, or the middle
	py onnx.py png "$T/p.png" 4 2 1 10 20 30 40 10 20 30 40
	[ "$(gives "$T/m.onnx" -i "$T/p.png" --pixels raw --resize 2)" = "<f4 (1, 1, 2, 2) 20 30 20 30" ]
	# A triangle over two pixels to each side: (3 * 10 + 3 * 20 + 30) / 7
	[ "$(gives "$T/m.onnx" -i "$T/p.png" --pixels raw --fit stretch)" = "<f4 (1, 1, 2, 2) 17.1429 32.8571 17.1429 32.8571" ]
	ctl 2 model run "$T/m.onnx" -d sw -i "$T/p.png" --resize 1
	has "$stderr" "smaller than 2 x 2"
}

@test "pictures come from JPEG" {
	base64 -d >"$T/p.jpg" <<-'END'
	/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAIBAQEBAQIBAQECAgICAgQDAgICAgUEBAMEBgUGBgYFBgYGBwkIBgcJBwYGCAsICQoKCgoKBggLDA
	sKDAkKCgr/2wBDAQICAgICAgUDAwUKBwYHCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgr/wAARCAAI
	AAgDASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAX/xAAUEAEAAAAAAAAAAAAAAAAAAAAA/8QAFAEBAAAAAAAAAAAAAAAAAAAACP/EAB
	QRAQAAAAAAAAAAAAAAAAAAAAD/2gAMAwEAAhEDEQA/AJ4Armw//9k=
	END
	py onnx.py model "$T/m.onnx" x:f32:1,3,1,1 Identity
	got=$(gives "$T/m.onnx" -i "$T/p.jpg" --pixels raw --fit stretch)
	# shellcheck disable=SC2086 # a list of numbers
	set -- ${got#*) }
	python3 -c 'import sys; [exit(1) for g, w in zip(map(float, sys.argv[1:]), (200, 100, 50)) if not abs(g - w) <= 2]' "$@"
	head -c 200 "$T/p.jpg" >"$T/cut.jpg"
	ctl 1 model run "$T/m.onnx" -d sw -i "$T/cut.jpg"
}

@test "the largest are shown with their names" {
	py onnx.py model "$T/m.onnx" x:f32:2,4 Identity
	py onnx.py tensor "$T/in.pb" f32 2,4 1 3 2 -1 0.5 0 -4 9
	printf 'ant\nbee\ncat\n' >"$T/labels"
	ctl 0 model run "$T/m.onnx" -d sw -i "$T/in.pb" --top 2 --labels "$T/labels"
	has "$output" "  0: 1 bee 3"
	has "$output" "  1: 3 9"
	ctl 0 model run "$T/m.onnx" -d sw -i "$T/in.pb" --top 2 --labels "$T/labels" --json
	json '[.outputs[0].top[][].index] == [1, 2, 3, 0] and [.outputs[0].top[][].label] == ["bee", "cat", null, "ant"]'
	ctl 1 model run "$T/m.onnx" -d sw -i "$T/in.pb" --labels "$T/missing" --json
	[ "$stderr" = "accelctl: --labels: $T/missing: No such file or directory (ENOENT)" ]
	json '(.ok | not) and .error.field == "--labels"'
	ctl 1 model run "$T/m.onnx" -d sw -i "$T/in.pb" --labels "$T"
	has "$stderr" "--labels: $T: Is a directory"
	# A name may hold anything.
	printf '\xff\n\033\n' >"$T/labels"
	ctl 0 model run "$T/m.onnx" -d sw -i "$T/in.pb" --labels "$T/labels"
	has "$output" "  0: 1 ? 3"
}

# make_golden SHAPE Y [X]: a file with the input x, [2, 3], and what should come of it
make_golden() {
	python3 - "$T/golden.safetensors" "$@" 1,2,3,4,5,-8 <<-'END'
	import json, struct, sys
	y, x = (list(map(float, a.split(","))) for a in sys.argv[3:5])
	head = json.dumps({"in.x": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
	                   "out.y0": {"dtype": "F32", "shape": json.loads(sys.argv[2]), "data_offsets": [24, 24 + 4 * len(y)]}}).encode()
	open(sys.argv[1], "wb").write(struct.pack("<Q", len(head)) + head + struct.pack("<%df" % (6 + len(y)), *x, *y))
	END
}

@test "golden files may be safetensors; dimensions count" {
	make_golden '[2,3]' 1,2,3,4,5,-8
	ctl 0 model run "$T/same.onnx" -d sw --golden "$T/golden.safetensors" --json
	json '.ok and .outputs[0].max_abs_error == 0'
	make_golden '[2,3]' 1,2,3,4.5,5,-8
	ctl 8 model run "$T/same.onnx" -d sw --golden "$T/golden.safetensors" --json
	json '(.ok | not) and .outputs[0].max_abs_error == 0.5 and .outputs[0].max_rel_error == 0.0625'
	ctl 0 model run "$T/same.onnx" -d sw --golden "$T/golden.safetensors" --tolerance 0.1
	make_golden '[3,2]' 1,2,3,4,5,-8
	ctl 8 model run "$T/same.onnx" -d sw --golden "$T/golden.safetensors"
	has "$output" "another shape than the golden one"
}

@test "what is no number is the same as nothing else; an infinity hides no difference" {
	make_golden '[2,3]' 1,nan,inf,4,5,-8 1,nan,inf,4,5,-8
	ctl 0 model run "$T/same.onnx" -d sw --golden "$T/golden.safetensors" --json
	json '.ok and .outputs[0].max_abs_error == 0'
	make_golden '[2,3]' 1,2,3,4,5,-8 1,2,nan,4,5,-8
	ctl 8 model run "$T/same.onnx" -d sw --golden "$T/golden.safetensors"
	make_golden '[2,3]' nan,2,3,4,5,-8
	ctl 8 model run "$T/same.onnx" -d sw --golden "$T/golden.safetensors"
	make_golden '[2,3]' 1,2,3,4,inf,-8 1,2,3,4,-inf,-8
	ctl 8 model run "$T/same.onnx" -d sw --golden "$T/golden.safetensors"
	make_golden '[2,3]' 1,2,inf,4,5,-8 1,2,inf,4,6,-8
	ctl 8 model run "$T/same.onnx" -d sw --golden "$T/golden.safetensors" --json
	json '.outputs[0].max_abs_error == 1 and .outputs[0].max_rel_error == 0.125'
	# Nor does it hide a larger one that follows
	make_golden '[2,3]' 1,nan,3,4,5,-8 1,nan,3,4,5,-8
	ctl 0 model run "$T/same.onnx" -d sw --golden "$T/golden.safetensors" --top 3 --json
	json '[.outputs[0].top[][].index] == [1, 2, 0, 1, 0, 2]'
}

@test "memory, times and a bench are told" {
	ctl 0 model run "$digits/digits.onnx" -d sw --repeat 5 --json
	json '.median_s > 0 and .p99_s >= .median_s and .runs_per_s > 0 and .peak_bytes > .file_bytes and .file_bytes == 312915 and .bound_bytes > 100000 and .peak_bytes > .bound_bytes'
	ctl 0 model bench "$digits/digits.onnx" -d sw --batch 1,3 --repeat 3 --json
	json '.ok and [.runs[] | [.threads, .batch]] == [[1,1],[1,3],[2,1],[2,3]] and all(.runs[]; .min_s <= .median_s and .items_per_s > 0)'
	ctl 0 model bench "$digits/digits.onnx" -d sw --threads 1 --repeat 3
	has "$output" "ITEMS/S"
	py onnx.py model "$T/m.onnx" x:f32:2,3 Identity
	ctl 2 model bench "$T/m.onnx" -d sw --batch 4
}

@test "a trace has every node" {
	ctl 0 model profile "$digits/digits.onnx" -d sw --chrome "$T/trace.json" --json
	nodes=$(jq '.nodes | length' <<<"$output")
	output=$(cat "$T/trace.json")
	json "[.traceEvents[] | select(.ph == \"X\" and .dur > 0 and .args.operation)] | length == $nodes" \
		'[.traceEvents[] | select(.ph == "X").ts] | . == sort'
	ctl 0 model explain "$digits/digits.onnx" -d sw --dot
	has "$output" "digraph"
	ctl 1 model profile "$digits/digits.onnx" -d sw --chrome /nowhere/trace.json
}

@test "what takes long has a bar on a terminal" {
	local script
	script -qec "echo \$\$ >$T/pid; exec env --default-signal=INT accelctl model run $digits/digits.onnx -d sw --repeat 1000000" \
		/dev/null </dev/null >"$T/typescript" 3>&- &
	script=$!
	until grep -q 'running \[=* *\] [0-9]* %' "$T/typescript"; do
		kill -0 "$script"
		sleep 0.1
	done
	kill -INT "$(<"$T/pid")"
	wait "$script" || true
	ctl 0 model run "$digits/digits.onnx" -d sw --repeat 3
	lacks "$stderr" running
}

@test "names of a model that a terminal would follow, or that are no text" {
	py onnx.py model "$T/odd.onnx" x:f32:2,3 Relu
	# Of the node, and of its result
	LC_ALL=C sed -i $'s/n0/\x1b0/; s/y0/\xff0/g' "$T/odd.onnx"
	ctl 0 model info "$T/odd.onnx"
	has "$output" "output ?0: "
	ctl 0 model info "$T/odd.onnx" --json
	json '.output_values[0].name == "?0"'
	ctl 0 model explain "$T/odd.onnx" -d sw
	has "$output" "relu  ?0"
	ctl 0 model explain "$T/odd.onnx" -d sw --dot
	lacks "$output" $'\033'
	ctl 0 model profile "$T/odd.onnx" -d sw
	lacks "$output" $'\033'
	ctl 0 model run "$T/odd.onnx" -d sw
	has "$output" "?0: fp32[2,3]"
	ctl 0 model run "$T/odd.onnx" -d sw --json
	json '.outputs[0].name == "?0"'
	py onnx.py model "$T/bad.onnx" x:f32:2,3 LeakyRelu,alpha=nan
	LC_ALL=C sed -i $'s/n0/\x1b0/' "$T/bad.onnx"
	ctl 2 model run "$T/bad.onnx" -d sw
	has "$stderr" "?0: node ?0 (LeakyRelu): unary"
	lacks "$stderr" $'\033'
	LC_ALL=C sed -i $'s/\x1b0/\xff0/' "$T/odd.onnx"
	ctl 0 model explain "$T/odd.onnx" -d sw --json
	json '.nodes[0].name == "?0"'
	ctl 0 model profile "$T/odd.onnx" -d sw --json
	json '.nodes[0].name == "?0"'
}

@test "check says what would run and what would not" {
	ctl 0 model check "$digits/digits.onnx" -d sw --json
	json '.ok and .opsets["ai.onnx"] == 17 and .inputs[0].type == "fp32" and (.unknown | length) == 0 and .nodes > 5 and .macs > 0'
	py onnx.py model "$T/bad.onnx" x:f32:2,n Relu Bogus com.microsoft.Fancy Bogus Relu:1@weights.bin
	ctl 3 model check "$T/bad.onnx" -d sw --json
	json '(.ok | not) and [.unknown[].name] == ["Bogus", "Fancy"] and .unknown[0].nodes == 2 and .unknown[0].first == "n1" and .unknown[1].domain == "com.microsoft"' \
		'.external[0].location == "weights.bin" and .external[0].wrong == "missing" and .inputs[0].shape == "2,n"'
	ctl 3 model check "$T/bad.onnx" -d sw
	has "$output" "UNKNOWN operator com.microsoft.Fancy, 1 nodes, the first is n2"
	# Known operators that do not fit
	py onnx.py model "$T/bad.onnx" x:f32:2,3 Transpose:1 MatMul:2
	ctl 1 model check "$T/bad.onnx" -d sw || ctl 2 model check "$T/bad.onnx" -d sw
	ctl 1 model check "$BATS_TEST_DIRNAME/onnx.py" -d sw
	has "$stderr" "not an ONNX model"
	ctl 2 model check
}

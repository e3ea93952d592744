#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# run conv on the in-process device: shapes, files, pictures.

load helper

setup() {
	cd "$BATS_TEST_TMPDIR" || exit
	pictures=$BATS_TEST_DIRNAME/../../../Documentation/pictures
}

# conv ARGUMENT...: a checked run that has to be right
conv() {
	ctl 0 run conv -d sw --check --repeat 1 --json "$@"
	json '.ok and .checked and .error_to_bound <= 1'
}

@test "all types: checked, with the keys that are promised" {
	for t in fp32 fp16 bf16 int8; do
		conv --dtype $t
		[ -z "$stderr" ]
		json '.schema == "accelctl.run/1" and .op == "conv"' \
			'.a == [1, 3, 32, 32] and .b == [8, 3, 3, 3] and .d == [1, 8, 30, 30]' \
			'[.time_us, .gflops, .max_abs_error, .seed, .groups, .stride, .repeats] | all(type == "number")'
	done
	json '.out_dtype == "int32" and .max_abs_error == 0 and .differing == 0'
}

@test "strides, dilation, padding, groups" {
	conv --size 5 --stride 2 --pad 2
	json '.d == [1, 8, 16, 16]'
	conv --channels 6 --filters 12 --groups 3 --dilation 2 --dtype int8
	json '.d == [1, 12, 28, 28] and .max_abs_error == 0'
	conv --channels 1 --filters 1 --size 1 --height 1 --width 1 --batch 3
	json '.d == [3, 1, 1, 1]'
	conv --channels 16 --filters 32 --groups 16 --pad 1 --dtype fp16
	ctl 2 run conv -d sw --channels 6 --filters 8 --groups 4
	has "$stderr" --groups
	ctl 2 run conv -d sw --size 40
	has "$stderr" --size
}

@test "arrays in and out" {
	npy a.npy '<f4' '(1, 1, 3, 3)' False 1 2 3 4 5 6 7 8 9
	npy b.npy '<f4' '(1, 1, 2, 2)' False 1 0 0 -1
	conv --a a.npy --b b.npy --out d.npy
	has "$(values d.npy)" "-4"
	ctl 0 run conv -d sw --a a.npy --b b.npy --out d.npy --repeat 1
	# What is no number comes from one, and infinities from one, or from large numbers
	npy a.npy '<f4' '(1, 1, 2, 2)' False nan inf 300 1
	npy b.npy '<f4' '(1, 1, 1, 1)' False 300
	conv --a a.npy --b b.npy --out d.npy
	[ "$(values d.npy)" = "<f4 (1, 1, 2, 2) nan inf 90000 300" ]
	conv --a a.npy --b b.npy --dtype fp16
	json '.differing == 0'
	# 65520.02 is infinite in fp16 and 65504 within the bound
	npy a.npy '<f2' '(1, 8, 1, 1)' False 65504 15.9921875 0.00390625 0.005 0.005 0.005 0.005 0.005
	npy b.npy '<f2' '(1, 8, 1, 1)' False 1 1 1 1 1 1 1 1
	conv --a a.npy --b b.npy --dtype fp16
	ctl 2 run conv -d sw --a a.npy --dtype int8
	has "$stderr" "whole numbers"
	ctl 1 run conv -d sw --a none.npy
	has "$stderr" none.npy
}

@test "a picture is blurred, sharpened and edge-filtered, in floats and in bytes" {
	"$pictures/picture.py" make original.png
	for f in blur sharpen edge; do
		for t in fp32 int8; do
			conv --a original.png --filter $f --dtype $t --out $f-$t.png
			json ".filter == \"$f\" and .d == [1, 3, 80, 120] and .differing == 0 or \"$t\" == \"fp32\""
			# Those of the manual, pixel by pixel
			[ "$("$pictures/picture.py" show $f-$t.png)" = "$("$pictures/picture.py" show "$pictures/$f-$t.png")" ]
		done
		cmp <("$pictures/picture.py" show $f-fp32.png) <("$pictures/picture.py" show $f-int8.png)
		run ! cmp -s <("$pictures/picture.py" show $f-int8.png) <("$pictures/picture.py" show original.png)
	done
	[ "$("$pictures/picture.py" show original.png)" = "$("$pictures/picture.py" show "$pictures/original.png")" ]
}

@test "on every chip and engine that takes it" {
	"$pictures/picture.py" make original.png
	for d in sw:m1 sw:m3 sw:ultra; do
		for e in matrix gpu neural; do
			ctl 0 run conv -d $d --engine $e --a original.png --filter blur --dtype int8 --check --repeat 1 --out $e.png
			cmp <("$pictures/picture.py" show $e.png) <("$pictures/picture.py" show "$pictures/blur-int8.png")
		done
	done
	ctl 3 run conv -d sw:m1 --engine neural --dtype fp32
}

@test "what is no picture is refused" {
	echo nonsense >bad.png
	ctl 1 run conv -d sw --a bad.png --filter blur
	has "$stderr" bad.png
	head -c 300 "$pictures/original.png" >short.png
	ctl 1 run conv -d sw --a short.png --filter blur
	ctl 2 run conv -d sw --filters 5 --out five.png --repeat 1
	has "$stderr" --out
}

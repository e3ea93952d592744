#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# model compile: programs in files, and what the other commands do with them.

load helper

setup() {
	T=$BATS_TEST_TMPDIR
	digits=$BATS_TEST_DIRNAME/../../../examples/digits
	onnx=$BATS_TEST_DIRNAME/onnx.py
}

@test "a compiled program gives what the model gives" {
	ctl 0 model compile "$digits/digits.onnx" -d sw --dim n=96 -o "$T/digits.prog" --json
	json '.ok and .nodes > 5 and .packed_bytes > 100000 and .file_bytes > .packed_bytes'
	ctl 0 model run "$digits/digits.onnx" -d sw --golden "$digits/digits.golden.npz" --out "$T/a.npz" --json
	ctl 0 model run "$T/digits.prog" -d sw --golden "$digits/digits.golden.npz" --out "$T/b.npz" --json
	json '.ok and .outputs[0].name == "logits" and .outputs[0].dims == [96, 10] and .outputs[0].max_rel_error < 1e-5'
	cmp "$T/a.npz" "$T/b.npz"
}

# Files of packed weights. What is known of files is written again when they are old enough to be known by their times.
forms() {
	find "$kept" -type f ! -name known -printf '%i %p\n' | sort -k 2
}

@test "packed weights are kept for the next start" {
	export XDG_CACHE_HOME=$T/cache
	local kept=$T/cache/accel/weights file
	ctl 0 model run "$digits/digits.onnx" -d sw --no-cache --golden "$digits/digits.golden.npz" --out "$T/a.npz"
	[ ! -e "$kept" ]
	ctl 0 model run "$digits/digits.onnx" -d sw --golden "$digits/digits.golden.npz" --out "$T/b.npz"
	cmp "$T/a.npz" "$T/b.npz"
	forms >"$T/before"
	[ -s "$T/before" ]
	[ -z "$(find "$kept" -type f -perm /077)" ]
	ctl 0 model run "$digits/digits.onnx" -d sw --golden "$digits/digits.golden.npz" --out "$T/b.npz"
	cmp "$T/a.npz" "$T/b.npz"
	# Nothing was written again.
	forms | cmp - "$T/before"
	for file in "$kept"/*; do
		printf 'xxxx' | dd of="$file" bs=1 seek=8000 conv=notrunc status=none
	done
	ctl 0 model run "$digits/digits.onnx" -d sw --golden "$digits/digits.golden.npz" --out "$T/b.npz"
	cmp "$T/a.npz" "$T/b.npz"
	forms >"$T/after"
	[ "$(wc -l <"$T/after")" = "$(wc -l <"$T/before")" ]
	if cmp -s "$T/after" "$T/before"; then false; fi
}

@test "info, explain, profile and bench take a compiled program" {
	ctl 0 model compile "$digits/digits.onnx" -d sw -o "$T/digits.prog"
	has "$output" "nodes on engines"
	ctl 0 model info "$T/digits.prog" -d sw
	has "$output" "input image: fp32 [n,1,16,16]"
	ctl 0 model info "$T/digits.prog" -d sw --json
	json '.ok and .compiled and .inputs[0].name == "image" and .inputs[0].dims == "n,1,16,16" and .file_bytes > 300000'
	ctl 0 model explain "$T/digits.prog" -d sw --json
	json '.schema == "accel.graph/1" and (.nodes | length) > 5'
	ctl 0 model profile "$T/digits.prog" -d sw --json
	json '.ok and (.nodes | length) > 5'
	ctl 0 model bench "$T/digits.prog" -d sw --batch 1,3 --repeat 2 --json
	json '.ok and [.runs[] | [.threads, .batch]] == [[1,1],[1,3],[2,1],[2,3]]'
}

@test "a compiled program is no model" {
	ctl 0 model compile "$digits/digits.onnx" -d sw -o "$T/digits.prog"
	local what=(check "compare --with-level 0" "compare $digits/digits.onnx" "quantize -o $T/q.onnx") command
	for command in "${what[@]}"; do
		# shellcheck disable=SC2086 # words of it
		set -- $command
		ctl 3 model "$1" "$T/digits.prog" -d sw "${@:2}"
		has "$stderr" "digits.prog: is a compiled program"
	done
	[ ! -e "$T/q.onnx" ]
}

@test "a program knows whether it rounds activations, and how far off it may be" {
	local entry scheme tolerance code file
	for entry in dynamic:0.1:0 4bit:0.001:8; do
		IFS=: read -r scheme tolerance code <<<"$entry"
		ctl 0 model quantize "$digits/digits.onnx" -d sw -o "$T/q.onnx" --golden "$digits/digits.golden.npz" --scheme "$scheme"
		ctl 0 model compile "$T/q.onnx" -d sw --dim n=96 -o "$T/q.prog"
		for file in q.onnx q.prog; do
			ctl "$code" model run "$T/$file" -d sw --golden "$digits/digits.golden.npz" --json
			json ".tolerance == $tolerance"
			ctl "$code" model run "$T/$file" -d sw --golden "$digits/digits.golden.npz" --level 3
			grep -c "^activations are rounded to bytes" <<<"$output" | grep -qx $((code == 0))
		done
	done
}

@test "other numbers need the graph" {
	ctl 0 model compile "$digits/digits.onnx" -d sw --dim n=2 --seen -o "$T/two.prog"
	ctl 0 model compile "$digits/digits.onnx" -d sw --dim n=2 -o "$T/all.prog"
	[ "$(stat -c %s "$T/two.prog")" -lt "$(stat -c %s "$T/all.prog")" ]
	ctl 0 model run "$T/two.prog" -d sw --dim n=2 --json
	ctl 1 model run "$T/two.prog" -d sw --dim n=3
	has "$stderr" "other numbers than n = 3"
	ctl 0 model run "$T/all.prog" -d sw --dim n=3 --json
	json '.outputs[0].dims == [3, 10]'
}

@test "what does not fit is refused by name" {
	ctl 0 model compile "$digits/digits.onnx" -d sw --level 2 -o "$T/digits.prog"
	ctl 8 model run "$T/digits.prog" -d sw --level 1
	has "$stderr" "compiled with 2, not 1"
	ctl 8 model run "$T/digits.prog" -d sw --reproducible
	has "$stderr" "reproducible"
	ctl 8 model run "$T/digits.prog" -d sw:m1
	has "$stderr" "made for"
	ctl 2 model compile "$digits/digits.onnx" -d sw
	has "$stderr" "which file"
	ctl 1 model compile "$digits/digits.onnx" -d sw -o /nowhere/digits.prog
	head -c 200000 "$T/digits.prog" >"$T/cut.prog"
	ctl 1 model run "$T/cut.prog" -d sw
	has "$stderr" "the file is cut"
	printf x | dd of="$T/digits.prog" bs=1 seek=300 conv=notrunc status=none
	ctl 1 model run "$T/digits.prog" -d sw
	has "$stderr" "checksum"
}

@test "shapes that depend on data are found again" {
	"$onnx" model "$T/find.onnx" x:f32:2,3 NonZero
	ctl 0 model compile "$T/find.onnx" -d sw -o "$T/find.prog"
	ctl 0 model run "$T/find.prog" -d sw --json
	json '.outputs[0].dims == [2, 6]'
	ctl 2 model compile "$T/find.onnx" -d sw --seen -o "$T/find.prog"
}

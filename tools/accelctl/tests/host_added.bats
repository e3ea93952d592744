#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# model ... --op: operators of a shared object. It is the example of the manual, as it is printed there.

load helper

setup_file() {
	export LIB=$BATS_FILE_TMPDIR/scale.so
	root=$BATS_TEST_DIRNAME/../../..
	sed -n '/^\.\. code-block:: c$/,/^[^ ]/s/^    //p' "$root/Documentation/models.rst" >"$BATS_FILE_TMPDIR/scale.c"
	[ "$(grep -c . "$BATS_FILE_TMPDIR/scale.c")" -gt 25 ]
	"${CC:-cc}" -std=c11 -Wall -Wextra -Werror -shared -fPIC -I"$root/libaccel/include" -o "$LIB" "$BATS_FILE_TMPDIR/scale.c"
}

setup() {
	T=$BATS_TEST_TMPDIR
	py onnx.py model "$T/own.onnx" x:f32:n,2 Relu my.ops.Scale,by=3 my.ops.Scale Neg
	py npy.py make "$T/x.npy" '<f4' '(2, 2)' False 1 -2 3 4
	want="<f4 (2, 2) -6 0 -18 -24"
}

@test "a model runs with the manual's operator, at every level" {
	for level in 0 3; do
		ctl 0 model run "$T/own.onnx" -d sw --op "$LIB" --level $level --input "$T/x.npy" --dim n=2 --out "$T/y.npz"
		[ "$(py npy.py show "$T/y.npz" | sed 's/ -0/ 0/g')" = "$want" ]
	done
	# A name alone is a file of this folder, not a library of the system.
	cd "$(dirname "$LIB")"
	ctl 0 model run "$T/own.onnx" -d sw --op scale.so --input "$T/x.npy"
	ctl 0 model check "$T/own.onnx" -d sw --op "$LIB"
	has "$output" "3 of 3 operators are known"
	ctl 0 model info "$T/own.onnx" --op "$LIB"
	has "$output" "2 my.ops.Scale"
}

@test "explain and profile show it by its name" {
	ctl 0 model explain "$T/own.onnx" -d sw --op "$LIB" --json
	json '[.nodes[] | select(.op == "my.ops.Scale" and .engine == "cpu") | .name] == ["n1", "n2"]' \
		'.code.host.nodes == 2 and .code.host.estimate_ns == null and .code.tuned.estimate_ns > 0'
	ctl 0 model profile "$T/own.onnx" -d sw --op "$LIB" --json
	json '[.nodes[] | select(.op == "my.ops.Scale" and .code == "host")] | length == 2'
}

@test "without it a model is refused, and so is a compiled program" {
	ctl 3 model check "$T/own.onnx" -d sw
	has "$output" "UNKNOWN operator my.ops.Scale, 2 nodes"
	ctl 3 model run "$T/own.onnx" -d sw
	has "$stderr" "operators that are not known: my.ops.Scale"
	ctl 0 model compile "$T/own.onnx" -d sw --op "$LIB" --dim n=2 -o "$T/own.prog"
	ctl 3 model run "$T/own.prog" -d sw
	has "$stderr" "operators that were not added: my.ops.Scale"
	ctl 0 model run "$T/own.prog" -d sw --op "$LIB" --dim n=2 --input "$T/x.npy" --out "$T/y.npz"
	[ "$(py npy.py show "$T/y.npz" | sed 's/ -0/ 0/g')" = "$want" ]
}

@test "what the operator says is told, and objects that have none" {
	py onnx.py model "$T/long.onnx" x:s64:2 my.ops.Scale
	run --separate-stderr accelctl model run "$T/long.onnx" -d sw --op "$LIB"
	[ "$status" -ne 0 ]
	has "$stderr" "(my.ops.Scale): it scales int64"
	ctl 1 model run "$T/own.onnx" -d sw --op "$T/nowhere.so"
	has "$stderr" "nowhere.so"
	echo 'int nothing;' >"$T/none.c"
	"${CC:-cc}" -shared -fPIC -o "$T/none.so" "$T/none.c"
	ctl 1 model run "$T/own.onnx" -d sw --op "$T/none.so"
	has "$stderr" "has no function accel_operators_init"
	ctl 1 model run "$T/own.onnx" -d sw --op "$LIB" --op "$LIB"
	has "$stderr" "my.ops.Scale of version 1 is there already"
}

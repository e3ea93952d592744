#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# run gemm, explain gemm on the in-process device.

load helper

setup() {
	cd "$BATS_TEST_TMPDIR" || exit
}

# gemm ARGUMENT...: a checked run that has to be right
gemm() {
	ctl 0 run gemm -d sw --check --repeat 1 --json "$@"
	json '.ok and .checked and (.bound | type) == "number" and .max_rel_error <= .bound'
}

@test "all types: checked, with the keys that are promised" {
	for t in fp32 fp16 bf16 int8 int4; do
		ctl 0 run gemm -d sw --dtype $t -m 67 -n 129 -k 255 --check --json
		[ -z "$stderr" ]
		json '.schema == "accelctl.run/1" and .op == "gemm" and .ok == true' \
			'[.gflops, .max_abs_error, .max_rel_error, .bound, .time_us, .time_min_us, .m, .n, .k, .batch, .seed, .repeats, .alpha, .beta, .error_to_bound, .differing] | all(type == "number")' \
			'[.device, .chip, .engine, .dtype, .a_dtype, .b_dtype, .out_dtype, .act, .algorithm] | all(type == "string")' \
			'[.trans_a, .trans_b, .bias, .pack, .checked] | all(type == "boolean")' \
			".dtype == \"$t\" and .m == 67 and .n == 129 and .k == 255 and .batch == 1 and .device == \"sw\"" \
			'.gflops > 0 and .max_rel_error <= .bound and .error_to_bound <= 1 and .time_min_us <= .time_us'
	done
}

@test "int8 is exact, and the rest is not simply zero" {
	gemm --dtype int8 -m 67 -n 129 -k 255
	json '.max_abs_error == 0 and .bound == 0 and .differing == 0 and .out_dtype == "int32"'
	for t in fp32 fp16 bf16 int4; do
		gemm --dtype $t -m 67 -n 129 -k 255
		json '.max_abs_error > 0 and .bound < 0.01'
	done
}

@test "int4 is fp16 with 4-bit weights" {
	gemm --dtype int4 -m 5 -n 7 -k 33
	json '.a_dtype == "fp16" and .b_dtype == "int4" and .out_dtype == "fp16" and .group == 32'
	gemm --dtype int4 -m 5 -n 7 -k 200 --group 64
	json '.group == 64'
	ctl 2 run gemm -d sw --dtype int4 -m 5 -n 7 -k 200 --group 48
	has "$stderr" group
}

@test "shapes at the edges" {
	for t in fp32 fp16 bf16 int8 int4; do
		for shape in '1 1 1' '1 33 17' '31 1 65' '3 5 1' '2 127 129'; do
			read -r m n k <<<"$shape"
			gemm --dtype $t -m "$m" -n "$n" -k "$k"
		done
	done
}

@test "transposition, batches, alpha, beta, bias" {
	for t in fp32 fp16 bf16 int4; do
		gemm --dtype $t -m 17 -n 19 -k 40 --trans-a
		gemm --dtype $t -m 17 -n 19 -k 40 --trans-b
		gemm --dtype $t -m 17 -n 19 -k 40 --trans-a --trans-b --batch 3 --alpha -0.75 --beta 0.5 --bias
		json '.trans_a and .trans_b and .batch == 3 and .alpha == -0.75 and .beta == 0.5 and .bias'
	done
	gemm --dtype int8 -m 17 -n 19 -k 40 --trans-a --trans-b --batch 3 --beta 1 --bias --act relu
}

@test "every activation" {
	for act in none relu clamp leaky_relu sigmoid tanh gelu gelu_tanh silu hard_sigmoid hard_swish \
			elu celu selu softplus softsign mish; do
		gemm -m 17 -n 19 -k 40 --act $act
		json ".act == \"$act\""
		gemm --dtype fp16 -m 17 -n 19 -k 40 --act $act
	done
	gemm -m 17 -n 19 -k 40 --act clamp --p0 -0.5 --p1 0.25
	gemm -m 17 -n 19 -k 40 --act leaky_relu --p0 0.3
}

@test "types of the result" {
	for o in fp16 bf16; do
		gemm -m 9 -n 10 -k 11 --out-dtype $o
		json ".out_dtype == \"$o\""
	done
	gemm --dtype fp16 -m 9 -n 10 -k 11 --out-dtype fp32
	gemm --dtype int8 -m 9 -n 10 -k 11 --out-dtype fp32
	json '.out_dtype == "fp32" and .max_rel_error < 1e-5'
}

@test "packed weights" {
	for t in fp32 fp16 bf16 int8 int4; do
		gemm --dtype $t -m 17 -n 40 -k 70 --pack
		json '.pack'
		gemm --dtype $t -m 17 -n 40 -k 70 --pack --trans-b --batch 2
	done
}

@test "the data depend on the seed alone" {
	gemm --dtype int8 -m 8 -n 9 -k 10 --out one.npy
	gemm --dtype int8 -m 8 -n 9 -k 10 --out two.npy --threads 1 --engine gpu
	cmp one.npy two.npy
	gemm --dtype int8 -m 8 -n 9 -k 10 --out three.npy --seed 2
	run cmp -s one.npy three.npy
	[ "$status" = 1 ]
}

@test "engines and chips give the same integers" {
	gemm --dtype int8 -m 37 -n 41 -k 130 --out want.npy
	for e in matrix gpu neural; do
		gemm --dtype int8 -m 37 -n 41 -k 130 --engine $e --out got.npy
		json ".engine == \"$e\""
		cmp want.npy got.npy
	done
	ctl 0 run gemm -d sw:m1 --dtype int8 -m 37 -n 41 -k 130 --compare want.npy --json
	json '.ok and .compare.differing == 0 and .chip == "m1"'
}

@test "text for people" {
	ctl 0 run gemm -d sw -m 8 -n 9 -k 10 --check
	has "$output" "gemm 8x9x10"
	has "$output" "GFLOP/s"
	has "$output" "check     ok"
	ctl 0 run gemm -d sw -m 8 -n 9 -k 10
	[[ $output != *check* ]]
	ctl 0 run gemm -d sw -m 8 -n 9 -k 10 --json
	json '.checked == false and .max_abs_error == null and .max_rel_error == null and .ok'
	ctl 0 run gemm -d sw -m 8 -n 9 -k 10 --check --brief
	[[ $output != *$'\n'* ]]
	[[ $output == 8x9x10*fp32*' ok' ]]
}

@test "-v says what was chosen, on stderr only" {
	ctl 0 -v run gemm -d sw -m 8 -n 9 -k 10 --json
	has "$stderr" "info:"
	json .ok
	ctl 0 -q run gemm -d sw -m 8 -n 9 -k 10
	[ -z "$stderr" ]
}

@test "the default device does it too" {
	ctl 0 run gemm -m 8 -n 9 -k 10 --check --json
	json '.ok and (.device | type) == "string"'
}

# --- files --------------------------------------------------------------------------------------------------------

@test "two arrays make the product that anybody can compute" {
	npy A.npy '<f4' '(2, 3)' False 1 2 3 4 5 6
	npy B.npy '<f4' '(3, 2)' False 1 -1 0.5 2 -3 4
	gemm --a A.npy --b B.npy --out C.npy
	json '.m == 2 and .n == 2 and .k == 3 and .dtype == "fp32" and .out == "C.npy"'
	[ "$(values C.npy)" = "<f4 (2, 2) -7 15 -11.5 30" ]
}

@test "each element type of a file gives the type of the product" {
	npy A.npy '<f2' '(1, 2)' False 1.5 2
	npy B.npy '<f2' '(2, 1)' False 4 -0.5
	gemm --a A.npy --b B.npy --out C.npy
	json '.dtype == "fp16"'
	[ "$(values C.npy)" = "<f2 (1, 1) 5" ]
	npy A.npy '<V2' '(1, 2)' False 0x3fc0 0x4000
	npy B.npy '<V2' '(2, 1)' False 0x4080 0xbf00
	gemm --a A.npy --b B.npy --out C.npy
	json '.dtype == "bf16"'
	[ "$(values C.npy)" = "<V2 (1, 1) 5" ]
	npy A.npy '<u2' '(1, 2)' False 0x3fc0 0x4000
	npy B.npy '<u2' '(2, 1)' False 0x4080 0xbf00
	gemm --dtype bf16 --a A.npy --b B.npy --out C.npy
	[ "$(values C.npy)" = "<V2 (1, 1) 5" ]
	npy A.npy '|u1' '(1, 2)' False 200 255
	npy B.npy '|i1' '(2, 1)' False -128 127
	gemm --a A.npy --b B.npy --out C.npy
	json '.dtype == "int8" and .a_dtype == "uint8" and .b_dtype == "int8"'
	[ "$(values C.npy)" = "<i4 (1, 1) 6785" ]
	npy A.npy '<i8' '(1, 2)' False -128 127
	gemm --dtype int8 --a A.npy --b B.npy --out C.npy
	[ "$(values C.npy)" = "<i4 (1, 1) 32513" ]
	npy A.npy '<f8' '(1, 2)' False 1.5 2
	npy B.npy '>f4' '(2, 1)' False 4 -0.5
	gemm --a A.npy --b B.npy --out C.npy
	json '.dtype == "fp32"'
	[ "$(values C.npy)" = "<f4 (1, 1) 5" ]
}

@test "Fortran order and transposition are told apart" {
	npy A.npy '<f4' '(2, 3)' True 1 4 2 5 3 6
	npy B.npy '<f4' '(2, 3)' False 1 0.5 -3 -1 2 4
	gemm --a A.npy --b B.npy --trans-b --out C.npy
	[ "$(values C.npy)" = "<f4 (2, 2) -7 15 -11.5 30" ]
	npy A.npy '<f4' '(3, 2)' False 1 4 2 5 3 6
	gemm --a A.npy --b B.npy --trans-a --trans-b --out C.npy
	[ "$(values C.npy)" = "<f4 (2, 2) -7 15 -11.5 30" ]
}

@test "batches of files, and one matrix for all of them" {
	npy A.npy '<f4' '(2, 1, 2)' False 1 2 3 4
	npy B.npy '<f4' '(2, 2)' False 1 0 0 10
	gemm --a A.npy --b B.npy --out C.npy
	json '.batch == 2'
	[ "$(values C.npy)" = "<f4 (2, 1, 2) 1 20 3 40" ]
	npy B.npy '<f4' '(2, 2, 2)' False 1 0 0 10 2 0 0 20
	gemm --a A.npy --b B.npy --out C.npy
	[ "$(values C.npy)" = "<f4 (2, 1, 2) 1 20 6 80" ]
	npy A.npy '<f4' '(1, 1, 2)' False 1 2
	gemm --a A.npy --b B.npy --out C.npy
	[ "$(values C.npy)" = "<f4 (2, 1, 2) 1 20 2 40" ]
	npy A.npy '<f4' '(3, 1, 2)' False 1 2 3 4 5 6
	ctl 2 run gemm -d sw --a A.npy --b B.npy
	has "$stderr" "--batch: is 3, but B.npy has batches 2"
}

@test "4-bit weights: numbers with scales, or floating point that is quantised" {
	# shellcheck disable=SC2046 # words
	npy A.npy '<f2' '(1, 32)' False $(printf '1 %.0s' {1..32})
	# shellcheck disable=SC2046 # words
	npy B.npy '|i1' '(32, 1)' False $(printf '%s 7 -8 ' {1..7} 0 0 0) 1 1
	gemm --dtype int4 --a A.npy --b B.npy --out C.npy
	[ "$(values C.npy)" = "<f2 (1, 1) 20" ]
	npy S.npy '<f4' '(1, 1)' False 0.5
	gemm --dtype int4 --a A.npy --b B.npy --scales S.npy --out C.npy
	[ "$(values C.npy)" = "<f2 (1, 1) 10" ]
	# shellcheck disable=SC2046 # words
	npy F.npy '<f4' '(32, 1)' False $(printf '%s ' 7 {1..31} | sed 's/[89]\|[123][0-9]/3/g')
	gemm --dtype int4 --a A.npy --b F.npy --out C.npy
	[ "$(values C.npy)" = "<f2 (1, 1) 107" ]
	npy S2.npy '<f4' '(2, 1)' False 1 1
	ctl 2 run gemm -d sw --dtype int4 --a A.npy --b B.npy --scales S2.npy
	has "$stderr" "not 1 x 1"
	# shellcheck disable=SC2046 # words
	npy B8.npy '|i1' '(32, 1)' False $(printf '8 %.0s' {1..32})
	ctl 1 run gemm -d sw --dtype int4 --a A.npy --b B8.npy
	has "$stderr" "element 0 is 8, not from -8 to 7"
	# shellcheck disable=SC2046 # words
	npy N.npy '<f4' '(32, 1)' False $(printf 'nan %.0s' {1..32})
	ctl 1 run gemm -d sw --dtype int4 --a A.npy --b N.npy
	has "$stderr" "not finite"
	ctl 2 run gemm -d sw -m 1 -n 1 -k 1 --scales S.npy
	has "$stderr" "--scales: goes with --dtype int4"
}

@test "NaN and infinity go the way they have to" {
	npy A.npy '<f4' '(3, 2)' False nan 1 inf 1 1 1
	npy B.npy '<f4' '(2, 2)' False 1 2 3 4
	gemm --a A.npy --b B.npy --out C.npy
	[ "$(values C.npy)" = "<f4 (3, 2) nan nan inf inf 4 6" ]
}

@test "sizes that do not go together name file and option" {
	npy A.npy '<f4' '(2, 3)' False 1 2 3 4 5 6
	npy B.npy '<f4' '(2, 2)' False 1 2 3 4
	ctl 2 run gemm -d sw --a A.npy --b B.npy
	has "$stderr" "-k: is 3, but B.npy has rows 2"
	ctl 2 run gemm -d sw --a A.npy -n 4 -m 5
	has "$stderr" "-m: is 5, but A.npy has rows 2"
	ctl 2 run gemm -d sw --a A.npy
	has "$stderr" "-n: is needed"
	gemm --a A.npy -n 4
}

@test "bad files: what is wrong, in one line, with the name of the file" {
	npy f.npy '<f4' '(2, 2)' False 1 2 3 4
	printf 'not an array at all' >text.npy
	: >empty.npy
	head -c 20 f.npy >short.npy
	head -c 135 f.npy >cut.npy
	mkdir dir.npy
	npy large.npy '<f4' '(2000000, 2000000)' False 1
	npy huge.npy '<f4' '(2000000000, 2000000000)' False 1
	npy huger.npy '<f4' '(99999999999999999999, 1)' False 1
	npy zero.npy '<f4' '(0, 4)' False
	npy flat.npy '<f4' '(4,)' False 1 2 3 4
	npy four.npy '<f4' '(1, 1, 2, 2)' False 1 2 3 4
	sed 's/<f4/<c8/' f.npy >complex.npy
	sed "s/'<f4', /[('a', '<f4')], /" f.npy >record.npy
	sed 's/False/Maybe/' f.npy >order.npy
	sed 's/NUMPY\x01/NUMPY\x09/' f.npy >version.npy
	for case in 'text:not a .npy file' 'empty:file ends' 'short:file ends' 'cut:16 bytes are promised' 'dir:is a directory' \
			'nowhere:cannot open' 'large:16000000000000 bytes are promised, 4 there' \
			'huge:too many elements' 'huger:too large' 'zero:dimension 0 is 0' 'flat:1 dimensions' \
			'four:4 dimensions' 'complex:<c8' 'record:records' 'order:fortran_order' 'version:version 9'; do
		for option in --a --b; do
			ctl 1 run gemm -d sw $option "${case%%:*}.npy" -m 2 -n 2 -k 2 --json
			has "$stderr" "$option: ${case%%:*}.npy: "
			has "$stderr" "${case#*:}"
			one_line "$stderr"
			json ".ok == false and .error.field == \"$option\" and .error.exit_status == 1"
		done
	done
	ctl 1 run gemm -d sw --a /dev/zero -m 2 -n 2 -k 2
	has "$stderr" "not a .npy file"
}

@test "types that do not go together" {
	npy F.npy '<f4' '(2, 2)' False 1 2 3 4
	npy I.npy '<i4' '(2, 2)' False 1 2 3 400
	ctl 2 run gemm -d sw --dtype int8 --a F.npy -n 2
	has "$stderr" "--dtype int8 takes integers"
	ctl 1 run gemm -d sw --dtype int8 --a I.npy -n 2
	has "$stderr" "element 3 is 400, not from -128 to 127"
	ctl 2 run gemm -d sw --a I.npy -n 2
	has "$stderr" "--dtype: is needed"
	gemm --dtype fp32 --a I.npy -n 2
}

@test "--out: shapes and types, replaced as a whole, errors" {
	for t in fp32:f4 fp16:f2 bf16:V2 int8:i4 int4:f2; do
		gemm --dtype "${t%:*}" -m 2 -n 3 -k 4 --out C.npy
		[[ $(values C.npy) == "<${t#*:} (2, 3) "* ]]
	done
	gemm --batch 1 -m 2 -n 3 -k 4 --out C.npy
	[[ $(values C.npy) == "<f4 (1, 2, 3) "* ]]
	[ "$(find . -name 'C.npy*' | wc -l)" = 1 ]
	ctl 1 run gemm -d sw -m 2 -n 3 -k 4 --out nowhere/C.npy --json
	has "$stderr" "--out: nowhere/C.npy: cannot write (ENOENT)"
	json '.error.name == "ENOENT"'
	ctl 1 run gemm -d sw -m 2 -n 3 -k 4 --out /dev/full
	has "$stderr" ENOSPC
}

@test "numpy reads and writes the same arrays" {
	python3 -c 'import numpy' 2>/dev/null || skip "numpy is not here"
	python3 - <<-'END'
		import numpy as np
		r = np.random.default_rng(1)
		np.save('A.npy', r.standard_normal((4, 31, 65)).astype(np.float32))
		np.save('B.npy', np.asfortranarray(r.standard_normal((65, 33))).astype(np.float64, order='K'))
	END
	gemm --a A.npy --b B.npy --out C.npy
	python3 - <<-'END'
		import numpy as np
		a, b, c = (np.load(f + '.npy') for f in 'ABC')
		assert c.shape == (4, 31, 33) and c.dtype == np.float32
		assert np.allclose(c, a.astype(np.float64) @ b.astype(np.float32).astype(np.float64), atol=1e-4)
	END
}

# --- comparing ----------------------------------------------------------------------------------------------------

@test "--compare: equal, within the bound, wrong" {
	gemm -m 20 -n 30 -k 40 --out C.npy
	ctl 0 run gemm -d sw -m 20 -n 30 -k 40 --engine gpu --compare C.npy --json
	json '.compare | .error_to_bound <= 1 and (.max_abs_error | type) == "number"'
	ctl 8 run gemm -d sw -m 20 -n 30 -k 40 --seed 2 --compare C.npy --json
	json '.ok == false and .compare.error_to_bound > 1' \
		'[.compare.worst | .row, .column, .got, .want] | all(type == "number")'
	has "$stderr" "the result is wrong"
	ctl 8 run gemm -d sw -m 20 -n 30 -k 40 --seed 2 --compare C.npy
	has "$output" "WRONG"
	ctl 8 run gemm -d sw -m 20 -n 30 -k 40 --seed 2 --compare C.npy --brief
	has "$output" "WRONG"
	ctl 2 run gemm -d sw -m 20 -n 31 -k 40 --compare C.npy
	has "$stderr" "dimensions"
	ctl 2 run gemm -d sw --dtype int8 -m 20 -n 30 -k 40 --compare C.npy
	ctl 1 run gemm -d sw -m 20 -n 30 -k 40 --compare nowhere.npy
}

@test "--compare: what is no number is no infinity" {
	npy A.npy '<f2' '(1, 1)' False 300
	npy C.npy '<f2' '(1, 1)' False inf
	npy N.npy '<f2' '(1, 1)' False nan
	ctl 0 run gemm -d sw --dtype fp16 --a A.npy --b A.npy --check --compare C.npy
	ctl 8 run gemm -d sw --dtype fp16 --a A.npy --b A.npy --check --compare N.npy
}

@test "--compare finds one bit in an integer" {
	gemm --dtype int8 -m 20 -n 30 -k 40 --out C.npy
	ctl 0 run gemm -d sw --dtype int8 -m 20 -n 30 -k 40 --compare C.npy
	py npy.py flip C.npy
	ctl 8 run gemm -d sw --dtype int8 -m 20 -n 30 -k 40 --compare C.npy --json
	json '.compare | .differing == 1 and .max_abs_error == 1 and .worst.row == 19 and .worst.column == 29'
}

# --- refusals -----------------------------------------------------------------------------------------------------

@test "bf16 on m1's matrix engine is refused, and the message names the engine that takes it" {
	ctl 3 run gemm -d sw:m1 --dtype bf16 --engine matrix -m 64 -n 64 -k 64 --json
	has "$stderr" matrix
	has "$stderr" gpu
	json '.ok == false and .error.name == "EOPNOTSUPP" and (.error.field | startswith("gemm.")) and .error.exit_status == 3'
	ctl 0 run gemm -d sw:m1 --dtype bf16 -m 64 -n 64 -k 64 --check --json
	json '.engine == "gpu"'
}

@test "explain lists every engine with a verdict" {
	ctl 0 explain gemm -d sw:m1 --dtype bf16 -m 64 -n 64 -k 64
	[[ ${output%%$'\n'*} =~ ^ENGINE\ +VERDICT\ +ESTIMATE\ +BYTES\ +ALGORITHM\ +KERNEL\ +REASON$ ]]
	grep -qE '^matrix +refused' <<<"$output"
	grep -qE '^gpu +chosen' <<<"$output"
	ctl 0 explain gemm -d sw:m1 --dtype bf16 -m 64 -n 64 -k 64 --json
	json '.schema == "accelctl.explain/1" and .op == "gemm" and .ok and .chosen == "gpu"' \
		'[.candidates[].engine] | unique == ["gpu", "matrix", "neural"]' \
		'[.candidates[] | .verdict | IN("chosen", "possible", "refused")] | all' \
		'[.candidates[] | select(.verdict == "chosen")] | length == 1' \
		'[.candidates[] | select(.verdict == "refused") | (.field | type) == "string" and .estimate_ns == 0] | all' \
		'[.candidates[] | select(.verdict != "refused") | .estimate_ns > 0 and .bytes > 0 and (.instances | length) > 0] | all' \
		'[.candidates[].text | length > 0] | all'
}

@test "explain with an engine that does not take it" {
	ctl 3 explain gemm -d sw:m1 --dtype bf16 -m 64 -n 64 -k 64 --engine matrix
	grep -qE '^matrix +refused' <<<"$output"
	has "$stderr" "gpu"
	ctl 3 explain gemm -d sw:m1 --dtype bf16 -m 64 -n 64 -k 64 --engine matrix --json
	json '.ok == false and .chosen == null and .error.exit_status == 3 and (.error.text | contains("gpu"))' \
		'.candidates | length >= 3'
}

@test "explain allocates nothing, however large" {
	ctl 0 explain gemm -d sw -m 1000000 -n 1000000 -k 4096 --json
	json '.ok'
	ctl 2 explain gemm -d sw -m 2147483647 -n 2147483647 -k 2147483647 --batch 2147483647
	has "$stderr" "too large"
}

@test "what no engine does is refused with the field" {
	ctl 2 run gemm -d sw --dtype fp16 -m 8 -n 8 -k 8 --out-dtype int32
	has "$stderr" "gemm.d.dtype"
	ctl 3 run gemm -d sw:m1 --engine neural -m 8 -n 8 -k 8
	has "$stderr" "neural"
	ctl 2 run gemm -d sw --dtype int8 -m 8 -n 8 -k 8 --alpha 0.5
	has "$stderr" "alpha"
}

@test "a timeout longer than the device takes is a usage error" {
	ctl 2 run gemm -d sw -m 8 -n 8 -k 8 --timeout 4294967295
	has "$stderr" "--timeout"
}

@test "a job that takes too long: 7" {
	ctl 7 run gemm -d sw --threads 1 -m 3000 -n 3000 -k 3000 --timeout 1 --json
	json '.ok == false and .error.exit_status == 7 and .error.name == "ETIME"'
}

@test "SIGINT: 130, and nothing on stdout" {
	interrupt accelctl run gemm -d sw -m 2500 -n 2500 -k 2500 --repeat 100000
	[ "$status" = 130 ]
	[ -z "$output" ]
	has "$stderr" interrupted
}

#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# run op and explain op on the in-process device: every operation by its name.

load helper

setup() {
	cd "$BATS_TEST_TMPDIR" || exit
}

# op NAME ARGUMENT...: a checked run that has to be right
op() {
	ctl 0 run op -d sw --check --repeat 1 --json "$@"
	json '.ok and .checked and .error_to_bound <= 1'
}

# wrong FIELD ARGUMENT...: a run that is refused because of a field
wrong() {
	local field=$1
	shift
	ctl 2 run op -d sw --json "$@"
	json ".ok == false and .error.field == \"$field\""
}

# A line for each operation: what makes it run
arguments() {
	cat <<-END
		select --in 4x1 --in 5 --in 4x5
		copy --in 3x4x5 --out-dtype int8
		transpose --in 3x4x5 --perm 1,2,0 --out-dtype fp16
		fill --size 3,4 --value 2.5
		softmax --in 3x7 --axis 0
		log-softmax --in 3x7
		layer-norm --in 2x4x3 --in 3 --in 3 --eps 0.001
		rms-norm --in 2x4x3 --in 4x3 --axis 1,2
		group-norm --in 2x4x3 --in 4 --in 4 --groups 2
		instance-norm --in 2x4x3
		batch-norm --in 2x4x3 --in 4 --in 4 --in 4 --in 4
		arg-max --in 4x5 --axis 0 --last-index
		arg-min --in 4x5
		scan --in 4x5 --axis 0 --exclusive --reverse
		topk --in 4x9 --k 3 --smallest
		dynquant --in 4x5 --axis 1 --asymmetric --out-dtype uint8
		max-pool --in 1x2x7x7 --kernel 3,2 --stride 2 --pad 1,0,1,0 --ceil
		average-pool --in 1x2x7 --kernel 3 --pad 1 --count-pad
		lp-pool --in 1x2x7x7x3 --norm 3
		resize --in 1x2x4x4 --size 7,9 --mode linear --coord align-corners
		gather --in 10x4 --in 3x2 --axis -1
		gather-elements --in 10x4 --in 3x4
		gather-nd --in 10x4x5 --in 10x1 --batch 1
		scatter-elements --in 10x4 --in 3x4 --in 3x4 --mode add
		scatter-nd --in 10x4 --in 3x1 --in 3x4 --mode max
		rotary --in 1x2x2x8 --in 16x4 --in 16x4 --in 1x2 --interleaved
		concat --in 4x5 --in 4x1 --in 4x2 --axis 1
		split --in 4x5 --axis 1 --size 2,3
		pad --in 4x5 --pad 1,0,2,3 --mode reflect
	END
}

@test "every operation that the shell offers runs and is right" {
	local name args names
	names=$(accelctl help --completion | grep -o "words='abs[^']*" | head -n 1)
	[ "$(wc -w <<<"$names")" -gt 90 ]
	for name in ${names#words=\'}; do
		args=$(arguments | sed -n "s/^$name //p")
		if [ -z "$args" ]; then
			case $name in
			bit-not) args='--in 4x5 -t int8' ;;
			bit-* | shl | shr) args='--in 4x5 --in 5 -t int32' ;;
			reduce-*) args='--in 4x5x6 --axis 1,-1' ;;
			*)
				# Of one input, or else of two
				args='--in 4x5'
				accelctl explain op -q -d sw "$name" --in 4 >/dev/null 2>&1 || args='--in 4x5 --in 5'
				;;
			esac
		fi
		# shellcheck disable=SC2086 # a list of arguments
		op "$name" $args
		json ".name == \"$name\""
	done
}

@test "the keys that are promised" {
	op softmax --in 3x4
	[ -z "$stderr" ]
	json '.schema == "accelctl.run/1" and .op == "op" and .name == "softmax"' \
		'.dtype == "fp32" and .out_dtype == "fp32" and .inputs == [{"dtype": "fp32", "dims": [3, 4]}]' \
		'[.time_us, .estimate_us, .max_abs_error, .differing, .seed, .repeats] | all(type == "number")' \
		'[.device, .chip, .engine, .algorithm] | all(type == "string")'
	op topk --in 3x4 -k 2 --out v.npy --out i.npy
	json '.results == [{"dtype": "fp32", "dims": [3, 2]}, {"dtype": "int32", "dims": [3, 2]}]' \
		'.out == ["v.npy", "i.npy"]'
	# Names may be spelled as the library has them
	op leaky_relu --in 3 --p0 0.5
	json '.name == "leaky-relu"'
}

@test "arrays in and out" {
	npy a.npy '<f4' '(2, 3)' False 1 5 3 9 2 4
	npy i.npy '<i8' '(2,)' False 1 -2
	op arg-max --in a.npy --out d.npy
	[ "$(values d.npy)" = "<i4 (2, 1) 1 0" ]
	op topk --in a.npy --k 2 --out v.npy --out p.npy
	[ "$(values v.npy)" = "<f4 (2, 2) 5 3 9 4" ]
	[ "$(values p.npy)" = "<i4 (2, 2) 1 2 0 2" ]
	op gather --in a.npy --in i.npy --axis 1 --out d.npy
	[ "$(values d.npy)" = "<f4 (2, 2) 5 5 2 2" ]
	op transpose --in a.npy --out-dtype uint8 --out d.npy
	[ "$(values d.npy)" = "|u1 (3, 2) 1 9 5 2 3 4" ]
	op split --in a.npy --axis 1 --size 1,2 --out l.npy --out r.npy
	[ "$(values l.npy) $(values r.npy)" = "<f4 (2, 1) 1 9 <f4 (2, 2) 5 3 2 4" ]
	op concat --in r.npy --in l.npy --axis 1 --out d.npy
	[ "$(values d.npy)" = "<f4 (2, 3) 5 3 1 2 4 9" ]
	op pad --in a.npy --pad 0,1 --value 7 --out-dtype fp16 --out d.npy
	[ "$(values d.npy)" = "<f2 (2, 5) 7 1 5 3 7 7 9 2 4 7" ]
	npy b.npy '|i1' '(3,)' False 100 -100 3
	op add --in b.npy --in b.npy --out d.npy
	[ "$(values d.npy)" = "|i1 (3,) 127 -128 6" ]
	op reduce-sum --in b.npy --out d.npy
	[ "$(values d.npy)" = "<i4 (1,) 3" ]
	# The same bytes as numbers of half that size
	op square --in b.npy --scale 0.5 --out-dtype fp32 --out d.npy
	[ "$(values d.npy)" = "<f4 (3,) 2500 2500 2.25" ]
}

@test "all types, and tensors without elements" {
	for t in fp32 fp16 bf16 int32 int8 uint8; do
		op max --in 3x5 --in 5 -t $t
		json ".dtype == \"$t\" and .out_dtype == \"$t\" and .max_abs_error == 0"
		op scan --in 3x5 -t $t
		op gather --in 3x5 --in 4 -t $t
	done
	op relu --in 0x4
	json '.results[0].dims == [0, 4]'
	# The same seed, the same numbers
	op relu --in 9 --seed 5 --out a.npy
	op relu --in 9 --seed 5 --out b.npy
	cmp a.npy b.npy
	op relu --in 9 --seed 6 --out b.npy
	run ! cmp -s a.npy b.npy
}

@test "what is wrong names the field" {
	wrong NAME
	wrong nonsense nonsense
	wrong --in softmax
	wrong --in softmax --in 3 --in 3
	wrong --in add --in 3 --in 4
	wrong --in softmax --in 1x1x1x1x1x1
	wrong --in softmax --in 9999999999
	wrong --in max-pool --in 3x3 --kernel 2
	wrong --axis softmax --in 3x4 --axis 2
	wrong --axis softmax --in 3x4 --axis 0,1
	wrong --axis reduce-sum --in 3x4 --axis 1,-1
	wrong --axis softmax --in 3x4 --axis 0,
	wrong --kernel softmax --in 3x4 --kernel 2
	wrong --smallest softmax --in 3x4 --smallest
	wrong --kernel max-pool --in 1x1x3x3 --kernel 5
	wrong --kernel max-pool --in 1x1x3x3 --kernel 1,2,3
	wrong --perm transpose --in 3x4 --perm 0,0
	wrong --mode pad --in 3x4 --pad 1 --mode cubic
	wrong --p1 leaky-relu --in 3 --p1 2
	wrong --size split --in 3x4
	wrong --scale relu --in 3 -t int8 --scale -1
	wrong --out softmax --in 3 --out a --out b
	wrong -k topk --in 3
	wrong topk.d.dims[0] topk --in 3 -k 4
	wrong norm.groups group-norm --in 2x4x3 --groups 3
	npy f.npy '<f4' '(1,)' False 1.5
	npy i.npy '<i4' '(1,)' False 300
	wrong --in relu --in f.npy -t int8
	ctl 1 run op -d sw relu --in i.npy -t int8
	has "$stderr" "does not fit"
	ctl 1 run op -d sw relu --in none.npy
	has "$stderr" none.npy
	# An index that is not there: the job fails
	ctl 1 run op -d sw gather --in 3x4 --in i.npy
	ctl 3 run op -d sw:m1 --engine matrix exp --in 4
	one_line "$stderr"
}

@test "explained, on every chip" {
	for d in sw:m1 sw:m3 sw:ultra sw:full; do
		ctl 0 explain op -d $d softmax --in 4x8 --json
		json '.schema == "accelctl.explain/1" and .ok and .name == "softmax" and (.candidates | length >= 2)' \
			'.inputs[0].dims == [4, 8] and (.chosen | type == "string")'
		ctl 0 run op -d $d softmax --in 4x8 --engine "$(jq -r .chosen <<<"$output")" --check
	done
	ctl 0 explain op -d sw max-pool --in 1x2x4x4 --kernel 2
	has "$output" windows
	ctl 2 explain op -d sw max-pool --in 4
}

@test "as text" {
	ctl 0 run op -d sw exp --in 4x5 --check
	has "$output" "of the bound"
	has "$output" "exp fp32 4x5 -> fp32 4x5"
	ctl 0 run op -d sw exp --in 4x5
	lacks "$output" bound
}

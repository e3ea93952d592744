#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# accelbench's measurements, of few and small cases: what comes out, not how fast it is.

bats_require_minimum_version 1.5.0

quick=(--batches 9 --batch-ms 1)

# bench STATUS ARGUMENT...: run accelbench and want this exit status
bench() {
	local want=$1
	shift
	run --separate-stderr accelbench "$@"
	if [ "$status" != "$want" ]; then
		echo "accelbench $*: exit status $status, not $want: $output $stderr"
		return 1
	fi
}

# rows FILTER: the JSON lines, as an array, satisfy it
rows() {
	jq -se "$1" <<<"$output" >/dev/null || { echo "not so: $1"; echo "$output"; return 1; }
}

keys='(keys - ["intensity", "workspace", "packed", "allowed", "growth"]) ==
	["case", "dtype", "error", "gflops", "impl", "limit", "share", "spread", "threads", "us"]'

@test "gemm: one object a line, with all keys; integers are exact, floats nearly" {
	bench 0 gemm "${quick[@]}" --threads 1 --no-peers --json --only 'gemm/64x64x64/*'
	rows "all($keys)"
	rows 'length == 16 and all(.impl == "ours" and .threads == 1 and .us > 0 and .gflops > 0 and .limit > 0)'
	rows 'map(.dtype) | unique == ["bf16", "fp32", "s8", "u8"]'
	rows 'map(.case) | unique == ["gemm/64x64x64/packed", "gemm/64x64x64/packed/call", "gemm/64x64x64/unpacked",
		"gemm/64x64x64/unpacked/call"]'
	rows 'all((.dtype | test("8")) == (.error == 0)) and all(.error < 1e-5)'
	# What was measured, put together: 2 * 64^3 operations
	rows 'all((.gflops * .us * 1e3 / 524288 - 1 | fabs) < 0.01) and all((.share * .limit / .gflops - 1 | fabs) < 0.01)'
}

@test "gemm on one thread and on all" {
	[ "$(nproc)" -gt 1 ] || skip "one processor"
	bench 0 gemm "${quick[@]}" --no-peers --json --only 'gemm/32x32x32/packed/fp32'
	rows "map(.threads) == [1, $(nproc)]"
}

@test "other libraries are named, right, and not needed" {
	bench 0 gemm "${quick[@]}" --threads 1 --json --only 'gemm/32x32x32/packed/*'
	rows 'all(.impl == "ours" or .impl == "openblas" or .impl == "onednn" or .impl == "libxsmm" or
		  (.impl == "onednn-s8" and .error == null and (.dtype | test("[*]"))))'
	# Of two types is what has scales, and these are not exact. Without instructions for four products of bytes, oneDNN
	# saturates sums of two.
	exact=true
	grep -qE 'avx(512)?_vnni' /proc/cpuinfo || exact='.impl != "onednn" or (.dtype | test("^[su]8$") | not)'
	rows "map(select($exact))"' | all((.dtype | test("^[su]8$")) == (.error == 0)) and all(.error < 1e-5)'
	[ ! -e /usr/include/dnnl.h ] || rows 'any(.impl == "onednn" and .dtype == "s8")'
	bench 0 gemm "${quick[@]}" --threads 1 --json --no-peers --only 'gemm/32x32x32/packed/*'
	rows 'all(.impl == "ours")'
	# Text says on stderr which there are
	bench 0 gemm "${quick[@]}" --threads 1 --only 'gemm/32x32x32/packed/fp32'
	[[ $stderr == *OpenBLAS* && $stderr == *oneDNN* && $stderr == *libxsmm* ]]
}

@test "conv: three types, Winograd's beside the direct one, small errors" {

	bench 0 conv "${quick[@]}" --threads 1 --json --only 'conv/dw3x3-1024@7'
	rows "all($keys)"
	rows 'map(select(.impl == "ours").dtype) == ["fp32", "bf16", "u8"]'
	# A step of bf16 is 2^-8, one of bytes 1/255
	rows 'all(.error < (if .dtype == "fp32" then 1e-5 else 0.004 end))'
	bench 0 conv "${quick[@]}" --threads 1 --json --only 'conv/3x3-512@7/fp32'
	rows 'any(.impl == "ours") and any(.impl == "ours-direct") and all(.error < 1e-4)'
}

@test "attention: prompts against multiply-adds, decoding against reads" {
	bench 0 attention "${quick[@]}" --threads 1 --json --only 'attention/*@128'
	rows "all($keys)"
	rows 'map(.dtype) == ["fp32", "bf16", "bf16*s8"] and all(.error < 0.01)'
	bench 0 attention "${quick[@]}" --threads 1 --json --only 'attention/decode-*@512/fp32'
	# 2 * 512 * 12 * 64 numbers of four bytes are read, two operations each
	rows 'length == 1 and .[0].intensity < 0.51 and .[0].limit > 1 and .[0].error < 1e-5'
}

@test "latency in process, limits, memory" {
	bench 0 latency "${quick[@]}" --threads 1 --json --no-peers
	if [ ! -e /dev/accel/accel0 ]; then
		rows "all($keys)"
		rows 'map(.case) == ["latency/empty", "latency/inline", "latency/worker", "latency/gemm/32x32x32/packed/call",
			"latency/gemm/32x32x32/packed"]'
		rows '.[0].gflops == null and .[0].limit == null and .[0].share == null and .[0].error == null'
		rows '.[2].us > .[1].us'
	fi
	bench 0 limits "${quick[@]}" --threads 1 --json
	rows 'length == 10 and all(.impl == "limit" and .gflops > 1)'
	bench 0 memory "${quick[@]}" --threads 1 --json --only 'memory/gemm/256x*'
	rows 'length == 8 and all(.workspace >= 0 and .growth >= 0 and .allowed >= 2097152 and .impl == "ours")'
	rows 'map(select(.case | endswith("/packed"))) | all(.packed >= 65536)'
	rows 'map(select(.case | endswith("/unpacked"))) | all(.packed == 0)'
}

@test "CSV and text" {
	bench 0 gemm "${quick[@]}" --threads 1 --no-peers --csv --only 'gemm/32x32x32/packed/s8'
	[ "$(head -n 1 <<<"$output")" = case,dtype,threads,impl,gflops,us,limit,share,spread,error ]
	[[ $(sed -n 2p <<<"$output") =~ ^gemm/32x32x32/packed,s8,1,ours(,[0-9.e+-]+){6}$ ]]
	bench 0 gemm "${quick[@]}" --threads 1 --no-peers --best --only 'gemm/32x32x32/packed/s8'
	[ "$(wc -l <<<"$output")" = 2 ]
	[[ $output == CASE* ]]
}

@test "--compare flags what has become slower, in time and in share, and nothing else" {
	cd "$BATS_TEST_TMPDIR"
	only=(--threads 1 --no-peers --only 'gemm/64x64x64/unpacked/s8')
	# The best of many: the limit beside it shall not be what a busy machine leaves of it.
	bench 0 gemm "${quick[@]}" "${only[@]}" --batches 19 --best --json
	# As if it had taken a thousandth, a thousand times, of the time: a spread of several times the median, which
	# a busy machine gives, is forgiven by the comparison and has been seen.
	jq -c '.us /= 1000 | .gflops *= 1000 | .share *= 1000' <<<"$output" >fast.json
	jq -c '.us *= 1000 | .gflops /= 1000 | .share /= 1000' <<<"$output" >slow.json
	bench 1 gemm "${quick[@]}" "${only[@]}" --compare fast.json
	[[ $stderr == *"slower: gemm/64x64x64/unpacked/s8 on 1"* && $stderr == *"1 of 1 results"* ]]
	bench 0 gemm "${quick[@]}" "${only[@]}" --compare slow.json
	[[ $stderr == *"0 of 1 results"* ]]
	# A machine with limits that were a million times higher: slower in time, but not in share, whatever else runs
	jq -c '.limit *= 1000000 | .share /= 1000000' fast.json >machine.json
	bench 0 gemm "${quick[@]}" "${only[@]}" --batches 19 --best --compare machine.json
	echo '{"case"' >broken.json
	bench 1 gemm "${quick[@]}" "${only[@]}" --compare broken.json
	bench 5 gemm "${quick[@]}" "${only[@]}" --compare not-there.json
}

@test "--plot writes data and scripts, and pictures where gnuplot is" {
	cd "$BATS_TEST_TMPDIR"
	bench 0 gemm "${quick[@]}" --threads 1 --no-peers --json --only 'gemm/*64x64x64/*packed/fp32' --plot plots
	grep -q '"gemm/64x64x64/packed"' plots/roofline-fp32-1.dat
	grep -q "roofline-fp32-1.dat' index 0 using 1:2 title 'ours'" plots/roofline-fp32-1.gp
	if command -v gnuplot; then
		grep -q '<svg' plots/roofline-fp32-1.svg
	fi
	bench 5 gemm "${quick[@]}" --threads 1 --no-peers --only 'gemm/32x32x32/packed/fp32' --plot not/there
}

@test "bars: what passes, what misses, what was not measured" {
	cd "$BATS_TEST_TMPDIR"
	row='{"case":"gemm/512x512x512/packed","dtype":"fp32","threads":1,"impl":"%s","gflops":%s,"us":1,"limit":250,"share":1}\n'
	# shellcheck disable=SC2059 # the format is above
	{ printf "$row" ours 240; printf "$row" onednn 245; printf "$row" openblas 230; } >good.json
	# shellcheck disable=SC2059
	{ printf "$row" ours 230; printf "$row" onednn 245; } >bad.json
	bench 0 bars good.json
	grep -qE '^1 .*fp32 +1 pass +1 of +1 .* gemm/512x512x512/packed/fp32$' <<<"$output"
	grep -qE '^6 .*not measured$' <<<"$output"
	bench 1 bars bad.json
	grep -qE '^1 .*fp32 +1 MISS +0 of +1 ' <<<"$output"
	grep -qE 'MISS gemm/512x512x512/packed .*0.939, at least 0.97 \(230 GFLOP/s, onednn 245\)' <<<"$output"
	# Several files are one set of results; a node's have a ratio
	echo '{"case":"empty-job","dtype":null,"threads":1,"impl":"uma","us":9,"ratio":31,"spread":0.1}' >node.json
	bench 1 bars good.json node.json
	grep -qE '^6 .* MISS +0 of +1 +31 <= 30 ' <<<"$output"
	bench 0 bars --all good.json
	grep -qE '^ +ok +gemm/512x512x512/packed' <<<"$output"
	bench 1 bars /dev/stdin <<<'no result'
}

@test "bars: what models need, compared with other cases of the same run" {
	cd "$BATS_TEST_TMPDIR"
	row='{"case":"%s","dtype":"%s","threads":1,"impl":"ours","gflops":%s,"us":%s,"limit":1000,"share":1}\n'
	# shellcheck disable=SC2059 # the format is above
	{
		printf "$row" lines/add/512x3072 fp32 50 1
		printf "$row" lines/layer-norm/512x3072 fp32 41 1
		printf "$row" lines/convert/512x3072 fp32-s8 31 1
		printf "$row" lines/transpose/1024x1024 bf16 16 1
		printf "$row" lines/softmax/1x50257 fp32 20 24
		printf "$row" gemm/512x512x512/packed bf16 400 1
		printf "$row" gemm/512x512x512/packed/gelu bf16 364 1
		printf "$row" conv/1x1-64-256@56 u8 500 1
		printf "$row" conv/1x1-64-256@56/residual u8 440 1
		printf "$row" gemv/8x4096x4096 'fp32*s4' 1 100
		printf "$row" gemv/8x4096x4096 'fp32*s4^T' 1 102
		printf "$row" gemm/512x512x512/packed 'bf16*s4' 400 1
		printf "$row" gemm/512x512x512/unpacked 'bf16*s4' 370 1
		printf "$row" pack/4096x4096 s4 11 1
	} >good.json
	bench 0 bars good.json
	[ "$(grep -cE '^9 .* pass +1 of +1 ' <<<"$output")" = 9 ]
	grep -qE '^9 +norms .* 0.82 >= 0.8 +lines/layer-norm/512x3072/fp32$' <<<"$output"
	grep -qE '^9 +residual .* 0.88 >= 0.87 ' <<<"$output"
	grep -qE '^9 +weights .* 1.02 <= 1.03 ' <<<"$output"
	sed 's/:41,/:39,/; s/:364,/:350,/; s/:440,/:400,/; s/:102,/:104,/; s/:11,/:9,/' good.json >bad.json
	bench 1 bars bad.json
	[ "$(grep -cE '^9 .* MISS +0 of +1 ' <<<"$output")" = 5 ]
}

@test "bars: whole models by their times, the others' mean, and memory" {
	cd "$BATS_TEST_TMPDIR"
	row='{"case":"model/%s","dtype":null,"threads":%s,"impl":"%s","us":%s,"ratio":null,"over":%s,"spread":0}
'
	# shellcheck disable=SC2059 # the format is above
	for other in resnet50/8:131 bert-base/1:121 resnet50/warm:400 t5-3l/1:101 whisper-tiny/1:180; do
		printf "$row" "${other%:*}" 1 ours 100 60
		printf "$row" "${other%:*}" 1 onnxruntime "${other#*:}" 100
		printf "$row" "${other%:*}" 2 ours 54 60
	done >good.json
	bench 0 bars good.json
	[ "$(grep -cE '^10 .* pass ' <<<"$output")" = 7 ]
	grep -qE '^10 +ResNet-50 .* 1 of +1 +1.31 >= 1.3 +model/resnet50/8' <<<"$output"
	grep -qE '^10 +other models .* 2 of +2 +1.01 >= 1 +model/t5-3l/1' <<<"$output"
	grep -qE '^10 +their geometric mean .* 1 of +1 +1.35 >= 1.3 ' <<<"$output"
	grep -qE '^10 +file to first answer .* 0.25 <= 0.3 ' <<<"$output"
	grep -qE '^10 +memory over weights .* 0.6 <= 0.7 ' <<<"$output"
	grep -qE '^10 +two threads .* 4 of +4 +1.85 >= 1.85 ' <<<"$output"
	sed 's/:131,/:129,/; s/:180,/:160,/; s/:400,/:300,/; s/"over":60/"over":71/; s/"us":54/"us":55/' good.json >bad.json
	bench 1 bars bad.json
	[ "$(grep -cE '^10 .* MISS ' <<<"$output")" = 5 ]
}

@test "usage errors: 2" {
	bench 2 gemm extra
	bench 2 gemm --batches 8
	bench 2 gemm --threads 0
	bench 2 gemm --seed none
	bench 2 gemm --nonsense
	bench 2 bars
	bench 5 bars not-there.json
	bench 0 gemm "${quick[@]}" --threads 1 --no-peers --json --only 'gemm/@(32|16)x32x32/packed/@(u8|s4)'
	rows 'map(.dtype) == ["u8"]'
	# Nothing that fits the pattern is no error, and nothing
	bench 0 gemm --only nothing --json --no-peers
	[ -z "$output" ]
}

@test "a whole model, from a compiled file to the first answer" {
	local folder=$BATS_TEST_TMPDIR/model
	mkdir "$folder"
	cp "$BATS_TEST_DIRNAME/../../../examples/digits/digits.onnx" "$folder"
	bench 0 model "$folder/digits.onnx" --load --threads 1 --no-peers --json
	rows 'map(.case) == ["model/digits/warm", "model/digits/cold"]'
	rows 'all(.impl == "ours" and .threads == 1 and .us > 0 and .ratio == null and .over > 100000)'
	bench 0 model "$folder/digits.onnx" --load --cpu --threads 1 --no-peers --json
	rows 'map(.case) == ["model/digits/warm", "model/digits/cold"] and all(.us > 0)'
	# What was compiled is gone.
	[ "$(ls "$folder")" = digits.onnx ]
}

#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# model: real architectures with made weights, against the answers of another runtime (examples/zoo). With
# UMA_ALL=1, as in "make proof", each runs at all levels, and at the highest with each level of kernels that this processor has.

load zoo

# near NAME BOUND LEVEL...: the model is as near as that on each level
near() {
	local name=$1 bound=$2 level kernels
	shift 2
	"$UMA_BUILD/examples/zoo/fill" "$ZOO/$name.fill.json" "$ZOO"
	[ -z "${UMA_ALL:-}" ] || set -- 0 1 2 3
	for level in "$@"; do
		agrees "$ZOO/$name" "$bound" "$level"
	done
	for kernels in ${UMA_ALL:+amx avx512-bf16 avx512-vnni avx512 avx2 neon-dotprod neon}; do
		export ACCEL_SW_KERNELS=$kernels
		! accelctl info -d sw >/dev/null 2>&1 || agrees "$ZOO/$name" "$bound" 3
		unset ACCEL_SW_KERNELS
	done
	# Products are kernels' for this processor, and so are 99 % of the time. EfficientNet has three convolutions of
	# 2112 multiply-adds in all for which there are none. The median of three: what runs for the first time, or beside
	# something else, takes long.
	ctl 0 model profile "$ZOO/$name.onnx" -d sw --golden "$ZOO/$name.golden.npz" --json --repeat 3
	json '.code.reference.macs + .code.host.macs <= 1e-5 * .code.tuned.macs and .code.tuned.ns >= 0.99 * .ns'
}

# right NAME LEVEL...: the model is right on each level
right() {
	local name=$1
	shift
	near "$name" 0.001 "$@"
}

@test "weights are those of the recipe" {
	"$UMA_BUILD/examples/zoo/fill" "$ZOO/squeezenet1_1.fill.json" "$ZOO"
	[ "$(stat -c %s "$ZOO/squeezenet1_1.bin")" = "$(jq .bytes "$ZOO/squeezenet1_1.fill.json")" ]
	run "$UMA_BUILD/examples/zoo/fill" "$ZOO/squeezenet1_1.onnx" "$ZOO"
	[ "$status" = 1 ]
}

# plain NAME: the loops in C that its speed is compared with have the products of the model that was just profiled
plain() {
	json ".code.tuned.macs / $("$UMA_BUILD/examples/zoo/naive" "$1" --count | cut -d ' ' -f 1) | . >= 1 and . < 1.001"
}

@test "ResNet-50" { right resnet50 3 && plain resnet50; }
@test "BERT-base" { right bert-base 3 && plain bert-base; }
@test "BERT-base by another exporter" { right bert-base-dynamo 3; }
@test "GPT-2, 6 layers" { right gpt2-6l 3; }
@test "LLaMA, 4 layers" { right llama-4l 0 3; }
# A step of the result; what steps that fall otherwise come to in twelve layers, as between levels; activations that the
# other runtime had in bytes
@test "ResNet-50 in bytes" {
	near resnet50-qdq 0.008 0 3
	# Its largest class is one of those that the other runtime has as the largest; several are at the end of the range.
	ctl 0 model run "$ZOO/resnet50-qdq.onnx" -d sw --golden "$ZOO/resnet50-qdq.golden.npz" --tolerance 0.008 --top 1 --json
	python3 "$BATS_TEST_DIRNAME/npy.py" show "$ZOO/resnet50-qdq.golden.npz" | sed -n 's/^<f4 (1, 1000) //p' |
		awk -v at="$(jq '.outputs[0].top[0][0].index' <<<"$output")" \
			'{ for (i = 1; i <= NF; i++) if ($i > $(at + 1)) exit 1; ok = NF == 1000 } END { exit !ok }'
}
@test "BERT-base in bytes, dynamic" { near bert-base-dynq 0.08 0 3; }
@test "LLaMA in 4 bits, 4 layers" {
	near llama-4l-nbits 0.02 0 3
	# Nobody has to know a bound: activations are bytes.
	ctl 0 model run "$ZOO/llama-4l-nbits.onnx" -d sw --golden "$ZOO/llama-4l-nbits.golden.npz" --json
	json '.tolerance == 0.1 and .outputs[0].ok'
}
@test "T5, 3 layers" { right t5-3l 0 1 2 3; }
@test "Whisper tiny" { right whisper-tiny 3; }
@test "ViT-B/16" { right vit_b_16 3; }
@test "DenseNet-121" { right densenet121 3; }
@test "EfficientNet-B0" { right efficientnet_b0 3; }
@test "FCN-ResNet-50" { right fcn_resnet50 3; }
@test "MobileNet v2" { right mobilenet_v2 0 3; }
@test "SqueezeNet 1.1" { right squeezenet1_1 0 1 2 3; }

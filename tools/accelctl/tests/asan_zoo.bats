#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# model: the small ones of examples/zoo, one of each family, with sanitizers, unfused and with all passes (of
# DenseNet, which takes long, the latter). host_zoo.bats has all of the models, and why these are the bounds.

load zoo

# near PATH BOUND LEVEL...: the model is as near as that on each level
near() {
	local level
	for level in "${@:3}"; do agrees "$1" "$2" "$level"; done
}

# small NAME BOUND LEVEL...
small() {
	"$UMA_BUILD/examples/zoo/fill" "$ZOO/$1.fill.json" "$ZOO"
	near "$ZOO/$1" "${@:2}"
}

@test "digits" { near "$BATS_TEST_DIRNAME/../../../examples/digits/digits" 0.001 0 3; }
@test "SqueezeNet 1.1" { small squeezenet1_1 0.001 0 3; }
@test "MobileNet v2" { small mobilenet_v2 0.001 0 3; }
@test "EfficientNet-B0" { small efficientnet_b0 0.001 0 3; }
@test "DenseNet-121" { small densenet121 0.001 3; }
@test "ResNet-50 in bytes" { small resnet50-qdq 0.008 0 3; }
@test "T5, 3 layers" { small t5-3l 0.001 0 3; }
@test "LLaMA in 4 bits, 4 layers" { small llama-4l-nbits 0.02 0 3; }

#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# model: architectures as a current exporter writes them (examples/zoo/export.py), against the answers of another runtime, and
# whether what it takes apart is found again.

load helper

setup_file() {
	export EXPORTED=$BATS_FILE_TMPDIR
	tar -C "$EXPORTED" -xJf "$BATS_TEST_DIRNAME/../../../examples/zoo/exported.tar.xz"
}

# right NAME ATTENTIONS SOFTMAXES: without passes and with all of them it is right, and so much is left in the end
right() {
	local model=$EXPORTED/$1.onnx golden=$EXPORTED/$1.npz level
	for level in 0 3; do
		ctl 0 model run "$model" -d sw --golden "$golden" --level "$level" --tolerance 1e-5 --json
		json '.ok and ([.outputs[] | select(.ok and .max_rel_error < 1e-5)] | length) == 1'
	done
	ctl 0 model explain "$model" -d sw --golden "$golden" --json
	json '[.nodes[] | select(.kernel == "model" and ([.op] | inside(["norm", "softmax", "gemm", "attention"])))] == []'
	json "[.nodes[] | .op] | (map(select(. == \"attention\")) | length) == $2 and (map(select(. == \"softmax\")) | length) == $3"
}

@test "GPT-2" { right gpt2 2 0; }
@test "LLaMA" { right llama 2 0; }
@test "Gemma 2" { right gemma2 2 0; }
@test "Qwen 3" { right qwen3 2 0; }
@test "Phi-3" { right phi3 2 0; }
@test "GPT-Neo: scores are hidden by a number" { right gptneo 2 0; }
@test "Falcon" { right falcon 2 0; }
@test "MPT: scores are shifted, and hidden by a number" { right mpt 2 0; }
@test "Mamba" { right mamba 0 0; }
@test "BERT" { right bert 2 0; }
@test "ModernBERT" { right modernbert 2 0; }
@test "MPNet: two masks" { right mpnet 2 0; }
@test "BART" { right bart 3 0; }
@test "ViT" { right vit 2 0; }
@test "ConvNeXt 2" { right convnextv2 0 0; }
@test "FocalNet" { right focalnet 0 0; }
@test "SegFormer" { right segformer 4 0; }
@test "Whisper" { right whisper 3 0; }
@test "wav2vec 2" { right wav2vec2 2 0; }
@test "a transformer of PyTorch" { right transformer 2 0; }
@test "LSTM" { right lstm 0 0; }
@test "GRU" { right gru 0 0; }
@test "what networks for pictures have beside convolutions" { right pictures 0 0; }
@test "BLOOM: batch and heads are one dimension" { right bloom 2 0; }
@test "DeBERTa: positions in the scores" { right deberta 2 0; }
# Not found: a factor for each head
@test "Swin 2" { right swinv2 0 2; }

#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# model: families of two layers on the node, against answers that were computed in binary64.

load helper

setup_file() {
	tar -C "$BATS_FILE_TMPDIR" -xJf "$BATS_TEST_DIRNAME/../../../examples/zoo/hf.tar.xz"
}

# right FOLDER
right() {
	ctl 0 model run "$BATS_FILE_TMPDIR/hf/$1" -d accel0 --golden "$BATS_FILE_TMPDIR/hf/$1/golden.safetensors" --tolerance 2e-4 --json
	json ".ok and ([.outputs[] | select(.ok and .max_rel_error < 2e-4)] | length) > 0"
}

@test "LLaMA, and the text that it goes on with" { right llama && json .greedy.ok; }
@test "Qwen2" { right qwen2; }
@test "BERT" { right bert; }
@test "T5" { right t5; }

@test "what an answer took, but for the energy, which only root is told" {
	ctl 0 generate -m "$BATS_FILE_TMPDIR/hf/llama" -d accel0 --input-ids 1,2,3 -n 4 --greedy --ignore-eos --json
	json '.tokens == 4 and .energy_j == null and .read_share == null'
}

@test "weights that may not be locked are copied: the same tokens" {
	local llama=$BATS_FILE_TMPDIR/hf/llama want
	local opts=(--no-repack --input-ids '1,2,3' -n 4 --greedy --ignore-eos)
	ctl 0 generate -m "$llama" -d sw "${opts[@]}"
	want=$output
	# KiB: not even one matrix of those that are used in place, of 64 KiB or more
	ulimit -l 60
	[ "$(stat -c %s "$llama/model.safetensors")" -gt $(($(ulimit -l) * 1024)) ]
	ctl 0 generate -m "$llama" -d accel0 "${opts[@]}"
	[ "$output" = "$want" ]
}

#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# model: families of models as folders of transformers, small and of random weights, against answers that were computed in
# binary64 (examples/zoo).

load helper

setup_file() {
	tar -C "$BATS_FILE_TMPDIR" -xJf "$BATS_TEST_DIRNAME/../../../examples/zoo/hf.tar.xz"
	export HF=$BATS_FILE_TMPDIR
	# The answer of the one with narrow layers is not finite: a smaller one is computed.
	mkdir "$HF/made"
	python3 "$BATS_TEST_DIRNAME/resnet.py" "$HF/hf/resnet50-thin" "$HF/made"
}

# right FOLDER: its outputs are right with every node as it is, and with all passes, and so is the text that it goes on with
right() {
	local level greedy=true
	! grep -q out.greedy "$HF/$1/golden.safetensors" || greedy=".greedy.ok and .greedy.tokens >= 20"
	for level in 0 3; do
		ctl 0 model run "$HF/$1" -d sw --golden "$HF/$1/golden.safetensors" --level "$level" --tolerance 2e-4 --json
		json ".ok and ([.outputs[] | select(.ok and .max_rel_error < 2e-4)] | length) > 0 and ($greedy)"
	done
}

@test "GPT-2" { right hf/gpt2; }
@test "GPT-NeoX" { right hf-c/gpt-neox; }
@test "LLaMA" { right hf/llama; }
@test "LLaMA, positions of LLaMA 3" { right hf/llama3-rope; }
@test "LLaMA, linear positions" { right hf-c/llama-linear; }
@test "LLaMA, YaRN" { right hf-c/llama-yarn; }
@test "Mistral, a window" { right hf/mistral-window; }
@test "Mixtral" { right hf-c/mixtral; }
@test "Qwen2" { right hf/qwen2; }
@test "Qwen3" { right hf-c/qwen3; }
@test "Gemma 2" { right hf-c/gemma2; }
@test "Phi-3" { right hf-c/phi3; }
@test "BERT" { right hf/bert; }
@test "BERT, masked tokens" { right hf/bert-mlm; }
@test "RoBERTa" { right hf-c/roberta; }
@test "DistilBERT" { right hf-c/distilbert; }
@test "ViT" { right hf/vit; }
@test "CLIP's vision" { right hf-c/clip-vision; }
@test "T5" { right hf/t5; }
@test "T5 with gates" { right hf-c/t5-gated; }
@test "Whisper" { right hf/whisper; }
@test "ResNet of basic layers" { right hf-c/resnet-basic; }

# The best level is the one that all tests above have.
@test "each level of kernels gives the same" {
	local level folder count=0 levels
	mapfile -t levels < <("$UMA_BUILD/libaccel/tests/levels" portable avx2 avx512 avx512-vnni avx512-bf16 amx neon neon-dotprod)
	[ "${#levels[@]}" -gt 1 ] || skip "one level of kernels"
	for level in "${levels[@]::${#levels[@]}-1}"; do
		for folder in "$HF"/hf/[!r]* "$HF"/hf-c/* "$HF/made"; do
			ACCEL_SW_KERNELS=$level ctl 0 model run "$folder" -d sw --golden "$folder/golden.safetensors" --tolerance 2e-4 --no-cache --json
			json '.ok and .greedy.ok != false'
			count=$((count + 1))
		done
	done
	echo "$count runs"
	[ "$count" -ge 23 ]
}

# The bounds are those of the manual. Of narrow layers the answer is the one that resnet.py makes.
@test "in 16 bits" {
	local folder at rows=0 pattern='s/^\x60\x60\(hf[-/a-z0-9]*\)\x60\x60 *\([0-9.]*\) *\([0-9.]*\)$/\1 \2 \3/p'
	local -A bound
	while read -r folder 'bound[bf16]' 'bound[fp16]'; do
		at=$HF/${folder/#hf\/resnet50-thin/made}
		# Another token than the most likely one is an exit status, and no error here.
		for type in bf16 fp16; do
			run --separate-stderr accelctl model run "$at" -d sw --golden "$at/golden.safetensors" --dtype $type --tolerance 1 --json
			[ "$status" = 0 ] || [ "$status" = 8 ]
			json "[.outputs[].max_rel_error] | length > 0 and max < ${bound[$type]} and max > 2e-5"
		done
		json '.greedy == null or .greedy.ok'
		rows=$((rows + 1))
	done < <(sed -n "$pattern" "$BATS_TEST_DIRNAME/../../../Documentation/families.rst")
	[ "$rows" = 23 ]
}

@test "convolutions that fp16 has no numbers for fall back" {
	local golden=$HF/hf-c/resnet-basic/golden.safetensors
	ctl 0 model run "$HF/hf-c/resnet-basic" -d sw --golden "$golden" --dtype fp16 --tolerance 0.0025 --json
	json '.ok and .fallbacks == 8'
	ctl 0 model run "$HF/hf-c/resnet-basic" -d sw --golden "$golden" --dtype fp16 --tolerance 0.0025
	has "$output" "8 products in fp32"
	ctl 0 model run "$HF/hf-c/resnet-basic" -d sw --golden "$golden" --json
	json '.ok and .fallbacks == 0'
	ctl 0 model explain "$HF/hf-c/resnet-basic" -d sw --golden "$golden" --dtype fp16 --format json
	json '[.nodes[] | select(.fallback)] | length == 8'
}

# Rows of the unit matrix as classes give each token's first hidden states; its weights are those of BERT.
@test "BERT, a class for each token" {
	mkdir -p "$HF/tokens"
	python3 - "$HF/hf/bert" "$HF/tokens" <<-'PY'
		import json, struct, sys
		raw = open(sys.argv[1] + "/model.safetensors", "rb").read()
		n = struct.unpack("<Q", raw[:8])[0]
		head, data = json.loads(raw[8:8 + n]), raw[8 + n:]
		more = struct.pack("<192f", *[float(i // 64 == i % 64) for i in range(192)]) + bytes(12)
		at = len(data)
		head["classifier.weight"] = {"dtype": "F32", "shape": [3, 64], "data_offsets": [at, at + 768]}
		head["classifier.bias"] = {"dtype": "F32", "shape": [3], "data_offsets": [at + 768, at + 780]}
		text = json.dumps(head).encode()
		text += b" " * (-len(text) % 8)
		open(sys.argv[2] + "/model.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + data + more)
		config = json.load(open(sys.argv[1] + "/config.json"))
		config["architectures"] = ["BertForTokenClassification"]
		json.dump(config, open(sys.argv[2] + "/config.json", "w"))
	PY
	for model in hf/bert tokens; do
		ctl 0 model run "$HF/$model" -d sw --dim sequence=7 --seed 3 --out "$BATS_TEST_TMPDIR/${model#hf/}.npz" --json
	done
	json '[.outputs[] | [.name, .dims]] == [["logits", [1, 7, 3]]]'
	python3 - "$BATS_TEST_TMPDIR" <<-'PY'
		import struct, sys, zipfile
		read = lambda path, name: zipfile.ZipFile(path).read(name + ".npy")
		floats = lambda raw: [x for x, in struct.iter_unpack("<f", raw[10 + struct.unpack("<H", raw[8:10])[0]:])]
		want = floats(read(sys.argv[1] + "/bert.npz", "last_hidden_state"))
		got = floats(read(sys.argv[1] + "/tokens.npz", "logits"))
		assert len(got) == 21 and len(want) == 448
		assert all(abs(got[3 * i + k] - want[64 * i + k]) < 1e-5 for i in range(7) for k in range(3))
	PY
}

@test "ResNet of narrow layers" { right made; }

# as_gguf FOLDER FILE TYPE [plain]
as_gguf() {
	py to_gguf.py "$HF/$1" "$BATS_TEST_TMPDIR/$2" "${@:3}"
}

# gguf FOLDER: the same as GGUF is right
gguf() {
	as_gguf "$1" right.gguf f32
	ctl 0 model run "$BATS_TEST_TMPDIR/right.gguf" -d sw --golden "$HF/$1/golden.safetensors" --tolerance 2e-4 --json
	json .ok
}

@test "GGUF: GPT-2" { gguf hf/gpt2; }
@test "GGUF: LLaMA" { gguf hf/llama; }
@test "GGUF: LLaMA, linear positions and YaRN" { gguf hf-c/llama-linear && gguf hf-c/llama-yarn; }
@test "GGUF: Qwen2 and Qwen3" { gguf hf/qwen2 && gguf hf-c/qwen3; }
@test "GGUF: Phi-3" { gguf hf-c/phi3; }
@test "GGUF: BERT" { gguf hf/bert; }

# turning NAME TRAINED ROPE: Phi-3 with other positions, as $BATS_TEST_TMPDIR/NAME
turning() {
	cp -r "$HF/hf-c/phi3" "$BATS_TEST_TMPDIR/$1"
	jq ".rope_parameters = ({partial_rotary_factor: 1, rope_theta: 10000} + $3) | .original_max_position_embeddings = $2" \
		"$HF/hf-c/phi3/config.json" >"$BATS_TEST_TMPDIR/$1/config.json"
}

# turns_like NAME OTHER: both give the same for texts of 24 tokens
turns_like() {
	ctl 0 model compare "$BATS_TEST_TMPDIR/$1" "$BATS_TEST_TMPDIR/$2" -d sw --golden "$HF/hf-c/phi3/golden.safetensors" --tolerance 1e-5
}

# What is known of others than longrope: where all pairs have one divisor it is linear, and YaRN without divisors is plain.
@test "longrope: texts as long as those of the training, longer ones, and their amplitude" {
	local factors='short_factor: [2, 2, 2, 2, 2, 2], long_factor: [4, 4, 4, 4, 4, 4]' ones='[1, 1, 1, 1, 1, 1]' ids=1,5,9,200,33,7
	turning two 16 '{rope_type: "linear", factor: 2}'
	turning four 16 '{rope_type: "linear", factor: 4}'
	turning short 24 "{rope_type: \"longrope\", $factors, attention_factor: 1}"
	turning long 23 "{rope_type: \"longrope\", $factors, attention_factor: 1}"
	turns_like short two
	turns_like long four
	# A cache is for texts of one kind, by what it has room for.
	ctl 0 generate -m "$BATS_TEST_TMPDIR/two" -d sw --input-ids $ids --greedy --ignore-eos -n 10 --json
	two=$(jq -c .ids <<<"$output")
	ctl 0 generate -m "$BATS_TEST_TMPDIR/long" -d sw --input-ids $ids --greedy --ignore-eos -n 10 -c 16 --json
	json ".ids == $two"
	ctl 0 generate -m "$BATS_TEST_TMPDIR/four" -d sw --input-ids $ids --greedy --ignore-eos -n 10 --json
	json ".ids != $two"
	two=$(jq -c .ids <<<"$output")
	ctl 0 generate -m "$BATS_TEST_TMPDIR/long" -d sw --input-ids $ids --greedy --ignore-eos -n 10 -c 32 --json
	json ".ids == $two"
	# 128 positions of 16: the root of 1 + ln 8 / ln 16
	turning yarn 16 '{rope_type: "yarn", factor: 1, attention_factor: 1.3228756555322954, beta_fast: 32, beta_slow: 1}'
	turning own 16 "{rope_type: \"longrope\", short_factor: $ones, long_factor: $ones}"
	turns_like own yarn
	# As GGUF has it, by tensors
	for name in short long; do
		py to_gguf.py "$BATS_TEST_TMPDIR/$name" "$BATS_TEST_TMPDIR/$name.gguf" f32
		turns_like "$name.gguf" "$name"
	done
	# What is missing is named.
	turning none 16 '{rope_type: "longrope", short_factor: [1, 2], long_factor: [1, 2]}'
	ctl 1 model run "$BATS_TEST_TMPDIR/none" -d sw
	has "$stderr" "the short factor 2 of 6 is nan, or none"
}

# It has the cap of scores, which folders have where transformers attends eagerly.
@test "GGUF: Gemma 2" {
	local golden=$HF/hf-c/gemma2/golden.safetensors eager=$BATS_TEST_TMPDIR/eager
	cp -r "$HF/hf-c/gemma2" "$eager"
	sed -i 's/"query_pre_attn_scalar": 12/"query_pre_attn_scalar": 16/' "$eager/config.json"
	as_gguf hf-c/gemma2 capped.gguf f32
	ctl 8 model compare "$BATS_TEST_TMPDIR/capped.gguf" "$eager" -d sw --golden "$golden" --tolerance 0.0001
	sed -i 's/"model_type"/"_attn_implementation": "eager", "model_type"/' "$eager/config.json"
	ctl 0 model compare "$BATS_TEST_TMPDIR/capped.gguf" "$eager" -d sw --golden "$golden" --tolerance 0.00001
}

# What is left is that rows are rounded to bytes where they meet blocks, which numbers at random make much of.
@test "GGUF: blocks are what they stand for" {
	local type
	for type in q8_0 q4_0 q4_1 q5_0; do
		as_gguf hf-c/phi3 blocks.gguf "$type"
		as_gguf hf-c/phi3 plain.gguf "$type" plain
		ctl 0 model compare "$BATS_TEST_TMPDIR/blocks.gguf" "$BATS_TEST_TMPDIR/plain.gguf" -d sw --golden "$HF/hf-c/phi3/golden.safetensors" --tolerance 0.03
		ctl 0 model compare "$BATS_TEST_TMPDIR/blocks.gguf" "$BATS_TEST_TMPDIR/plain.gguf" -d sw -O0 --golden "$HF/hf-c/phi3/golden.safetensors" --tolerance 0.03
	done
}

@test "folders and GGUF files are looked at" {
	as_gguf hf/llama some.gguf f16
	ctl 0 model info "$HF/hf/llama"
	has "$output" "transformers 5.17.0 (llama)"
	has "$output" "1 inputs, 1 outputs, 21 constants"
	ctl 0 model info "$BATS_TEST_TMPDIR/some.gguf" --json
	json ".inputs == 1 and .constants == 21 and .file_bytes > 200000"
	ctl 0 model check "$HF/hf/llama" -d sw
	has "$output" "family llama, 21 tensors"
	has "$output" "runs: "
	ctl 0 model check "$BATS_TEST_TMPDIR/some.gguf" -d sw --json
	json '.ok and .family == "llama" and .family_known'
	ctl 0 model explain "$HF/hf/llama" -d sw
	has "$output" "model.layers.1.mlp.down_proj"
	ctl 0 model profile "$HF/hf/llama" -d sw
	has "$output" "model.layers.0.attention"
	mkdir "$BATS_TEST_TMPDIR/other"
	cp "$HF/hf/llama/model.safetensors" "$BATS_TEST_TMPDIR/other"
	sed 's/"llama"/"grandmother"/' "$HF/hf/llama/config.json" >"$BATS_TEST_TMPDIR/other/config.json"
	ctl 3 model check "$BATS_TEST_TMPDIR/other" -d sw
	has "$output" "UNKNOWN family grandmother"
	ctl 3 model run "$BATS_TEST_TMPDIR/other" -d sw
	has "$stderr" "grandmother is no family that is known"
	: >"$BATS_TEST_TMPDIR/other/model.safetensors"
	ctl 1 model check "$BATS_TEST_TMPDIR/other" -d sw
}

# Nothing is known, or told in the manual, without an answer.
@test "each family has an answer, and a row in the manual" {
	local top=$BATS_TEST_DIRNAME/../../.. known answered told
	known=$(sed -n '/families\[\] = {/,/^};/s/^\t{ "\([a-z0-9_]*\)".*/\1/p' "$top/libaccel/models/families/family.c" | sort)
	answered=$(jq -r .model_type "$HF"/*/*/config.json | sort -u)
	told=$(sed -n '/^``model_type``/,$s/^``\([a-z0-9_]*\)``  .*/\1/p' "$top/Documentation/families.rst" | grep -vx model_type | sort)
	[ -n "$known" ]
	diff <(echo "$known") <(echo "$answered")
	diff <(echo "$known") <(echo "$told")
}

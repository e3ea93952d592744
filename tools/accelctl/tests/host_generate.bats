#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# generate, perplexity: small models of random weights, whose most likely tokens were computed in binary64 (examples/zoo), and
# one that was trained (examples/austen).

load helper

setup_file() {
	tar -C "$BATS_FILE_TMPDIR" -xJf "$BATS_TEST_DIRNAME/../../../examples/zoo/hf.tar.xz"
	export HF=$BATS_FILE_TMPDIR
}

# goes_on FOLDER: the answer is the right one, whatever the pieces, and with guesses
goes_on() {
	local in all count how
	in=$(row "$1" in.input_ids)
	all=$(row "$1" out.greedy)
	count=$(($(tr ',' '\n' <<<"$all" | wc -l) - $(tr ',' '\n' <<<"$in" | wc -l)))
	for how in "--chunk 256" "--chunk 5" "--lookup 4" "--draft $HF/$1"; do
		# shellcheck disable=SC2086 # words
		ctl 0 generate -m "$HF/$1" -d sw --input-ids "$in" -n "$count" --greedy --ignore-eos --json $how
		json ".ids == [${all#"$in,"}] and .tokens == $count and .end == \"length\""
	done
}

@test "GPT-2" { goes_on hf/gpt2; }
@test "GPT-NeoX" { goes_on hf-c/gpt-neox; }
@test "LLaMA" { goes_on hf/llama; }
@test "LLaMA, positions of LLaMA 3" { goes_on hf/llama3-rope; }
@test "LLaMA, linear positions" { goes_on hf-c/llama-linear; }
@test "LLaMA, YaRN" { goes_on hf-c/llama-yarn; }
@test "Mistral, a window" { goes_on hf/mistral-window; }
@test "Mixtral" { goes_on hf-c/mixtral; }
@test "Qwen2" { goes_on hf/qwen2; }
@test "Qwen3" { goes_on hf-c/qwen3; }
@test "Gemma 2" { goes_on hf-c/gemma2; }
@test "Phi-3" { goes_on hf-c/phi3; }

# The weights of a folder in 16 bits are packed in 32, so that more is read than the files have.
@test "how fast it was, and what share of the machine's speed that is" {
	local austen=$BATS_TEST_DIRNAME/../../../examples/austen
	ctl 0 generate -m "$austen" -d sw -p 'It was a truth' -n 30 --greedy --ignore-eos --json
	json '.first_token_s > 0 and .prompt_tokens_per_s > 0 and .tokens_per_s > 0' \
		".weight_bytes == $(stat -c %s "$austen/model.safetensors")"
	# More than a disk, less than registers; by the first token's time and the rest of it
	json '.energy_j == null and (has("energy_modelled") | not)' \
		'.read_bytes_per_s > 5e7 and .read_bytes_per_s < 1e13' \
		'.read_share > 0 and .read_share < 1.5 and (.read_share * .read_bytes_per_s / (.weight_bytes * .tokens_per_s) - 1 | fabs) < 1e-6'
	# With guesses there are fewer runs than tokens.
	ctl 0 generate -m "$austen" -d sw -p 'It was a truth' -n 30 --greedy --ignore-eos --json --draft "$austen"
	json '.read_share * .read_bytes_per_s < 0.9 * .weight_bytes * .tokens_per_s'
	ctl 0 generate -m "$austen" -d sw -p 'It was a truth' -n 1 --greedy --json
	json '.tokens == 1 and .read_share == null and .read_bytes_per_s == null'
}

@test "beams: one is greedy, several find what is likelier" {
	local in all first
	in=$(row hf/llama in.input_ids)
	all=$(row hf/llama out.greedy)
	ctl 0 generate -m "$HF/hf/llama" -d sw --input-ids "$in" -n 24 --beams 1 --ignore-eos --json
	json ".ids == [${all#"$in,"}] and .end == \"length\""
	first=$(jq .score <<<"$output")
	ctl 0 generate -m "$HF/hf/llama" -d sw --input-ids "$in" -n 24 --beams 6 --ignore-eos --json --early-stopping never
	json ".ids != [${all#"$in,"}] and .tokens == 24 and .score > $first"
	ctl 0 generate -m "$HF/hf/llama" -d sw --input-ids "$in" -n 24 --beams 6 --ignore-eos --json --length-penalty 0
	json ".score < 24 * $first / 2"
	ctl 0 generate -q -m "$BATS_TEST_DIRNAME/../../../examples/austen" -d sw -p 'It was a truth' -n 12 --beams 3
	[ -n "$output" ]
	ctl 2 generate -m "$HF/hf/llama" -d sw --input-ids "$in" --beams 2 --lookup 3
	has "$stderr" "--lookup"
	ctl 2 generate -m "$HF/hf/llama" -d sw --input-ids "$in" --beams 2 --length-penalty 99
	has "$stderr" "length-penalty"
	ctl 2 generate -m "$HF/hf/llama" -d sw --input-ids "$in" --beams 65
	ctl 1 generate -m "$HF/hf/llama" -d sw --input-ids "$(seq -s , 1 299),$(seq -s , 1 299)" --beams 2
	has "$stderr" "context"
}

@test "numbers that cannot be, and what would not be looked at, have their names" {
	local option
	for option in "--top-p 5" "--min-p -1" "--temperature -1" "--repeat-penalty 0" \
		"--presence-penalty 1e7" "--frequency-penalty -1e7" \
		"--length-penalty 2" "--early-stopping never" --logprobs; do
		# shellcheck disable=SC2086 # an option and its number
		ctl 2 generate -m "$HF/hf/llama" -d sw --input-ids 1,2 -n 1 $option
		has "$stderr" "accelctl: ${option% *}: "
	done
}

# sees FOLDER: the answer of a model with an encoder
sees() {
	local in all first
	in=$(row "$1" in.input_ids)
	all=$(row "$1" out.greedy)
	ctl 0 generate -m "$HF/$1" -d sw --input-ids "$in" -n 20 --greedy --ignore-eos --json
	json ".ids == [${all#*,}] and .tokens == 20"
	first=$(jq .score <<<"$output")
	ctl 0 generate -m "$HF/$1" -d sw --input-ids "$in" -n 20 --beams 8 --ignore-eos --json
	json ".tokens == 20 and .score >= $first - 0.00001"
}

@test "T5" {
	sees hf/t5
	ctl 2 generate -m "$HF/hf/t5" -d sw --input-ids 1,2,3
	has "$stderr" "--greedy"
	ctl 2 generate -m "$HF/hf/t5" -d sw --input-ids 1,2,3 --greedy --lookup 2
	ctl 2 perplexity -m "$HF/hf/t5" -d sw --input-ids 1,2,3
	has "$stderr" "encoder"
}
@test "T5, gated" { sees hf-c/t5-gated; }

@test "what is drawn depends on the seed, and on nothing else" {
	local in first
	in=$(row hf/llama in.input_ids)
	ctl 0 generate -m "$HF/hf/llama" -d sw --input-ids "$in" -n 12 --temperature 2 --seed 7 --ignore-eos --json --reproducible
	first=$(jq -c .ids <<<"$output")
	ctl 0 generate -m "$HF/hf/llama" -d sw --input-ids "$in" -n 12 --temperature 2 --seed 7 --ignore-eos --json --reproducible \
		--chunk 3 --lookup 3
	json ".ids == $first"
	ctl 0 generate -m "$HF/hf/llama" -d sw --input-ids "$in" -n 12 --temperature 2 --seed 8 --ignore-eos --json --reproducible
	json ".ids != $first"
}

@test "without --json tokens are text, or numbers if there is no tokenizer" {
	ctl 0 generate -m "$HF/hf/llama" -d sw --input-ids 1,2,3 -n 3 --greedy --ignore-eos
	[[ $output =~ ^[0-9]+,[0-9]+,[0-9]+$ ]]
	has "$stderr" "answer: 3 tokens"
}

@test "perplexity is the same in any pieces, and near that of chance" {
	local first
	ctl 0 perplexity -m "$HF/hf/llama" -d sw --input-ids "$(row hf/llama in.input_ids)" --json --reproducible
	json ".tokens == 23 and .nll > 4 and .nll < 9"
	first=$(jq .nll <<<"$output")
	ctl 0 perplexity -m "$HF/hf/llama" -d sw --input-ids "$(row hf/llama in.input_ids)" --json --reproducible --chunk 5
	json ".nll == $first"
}

@test "keys and values in fewer bits: the same text, and as likely" {
	local austen=$BATS_TEST_DIRNAME/../../../examples/austen type nll
	nll=$(jq .eval_nll_first_256 "$austen/golden.json")
	for type in fp16 bf16 int8; do
		ctl 0 generate -m "$austen" -d sw -p "$(jq -r .prompt "$austen/golden.json")" --greedy -n 40 --json --kv-type $type
		json ".text == \"$(jq -r '.text[(.prompt | length):]' "$austen/golden.json")\""
		ctl 0 perplexity -m "$austen" -d sw --input-ids "$(jq -r '.eval_first_257_ids | join(",")' "$austen/golden.json")" --json \
			--kv-type $type
		json ".nll != $nll and (.nll - $nll | fabs) < 0.002"
	done
	ctl 0 generate -m "$HF/hf/t5" -d sw --input-ids "$(row hf/t5 in.input_ids)" -n 8 --beams 3 --kv-type int8 --json
	ctl 2 generate -m "$austen" -d sw -p x --kv-type int4
	has "$stderr" "kv-type"
}

@test "products in 16 bits: the same text, and as likely" {
	local austen=$BATS_TEST_DIRNAME/../../../examples/austen type nll
	nll=$(jq .eval_nll_first_256 "$austen/golden.json")
	for type in fp16 bf16; do
		ctl 0 generate -m "$austen" -d sw -p "$(jq -r .prompt "$austen/golden.json")" --greedy -n 40 --json --dtype $type
		json ".text == \"$(jq -r '.text[(.prompt | length):]' "$austen/golden.json")\""
		ctl 0 perplexity -m "$austen" -d sw --input-ids "$(jq -r '.eval_first_257_ids | join(",")' "$austen/golden.json")" --json \
			--dtype $type
		json ".nll != $nll and (.nll - $nll | fabs) < 0.002"
	done
	ctl 2 perplexity -m "$austen" -d sw -p x --dtype int8
	has "$stderr" "--dtype: 'int8' is none of fp32, bf16, fp16"
}

@test "weights in 16 bits take less memory, while they are packed too" {
	local wide=$BATS_TEST_TMPDIR/wide packed peak
	ctl 0 model convert --type f32 "$BATS_TEST_DIRNAME/../../../examples/austen" "$wide"
	ctl 0 model run "$wide" -d sw --threads 1 --no-cache --json
	packed=$(jq .packed_bytes <<<"$output")
	peak=$(jq .peak_bytes <<<"$output")
	ctl 0 model run "$wide" -d sw --threads 1 --no-cache --json --dtype fp16
	# A second copy of either kind would be 14 MB more; what else is resident goes up and down by 2.
	json ".packed_bytes * 2 <= $packed + 65536 and .peak_bytes < $peak + 4194304"
	# The file has them in 16 bits, so nothing makes them wider.
	ctl 0 model run "$BATS_TEST_DIRNAME/../../../examples/austen" -d sw --threads 1 --no-cache --json
	json ".packed_bytes * 2 <= $packed + 65536"
}

@test "biases and penalties change what is likely" {
	set -- generate -m "$HF/hf/llama" -d sw --input-ids 1,2,3 -n 5 --greedy --ignore-eos --json
	ctl 0 "$@" --logit-bias 5=100000 --logit-bias 6=99950
	json ".ids == [5, 5, 5, 5, 5]"
	ctl 0 "$@" --logit-bias 5=100000 --logit-bias 6=99950 --presence-penalty 200
	json ".ids == [5, 6, 5, 5, 5]"
	ctl 0 "$@" --logit-bias 5=100000 --logit-bias 6=99950 --frequency-penalty 200
	json ".ids == [5, 6, 5, 6, 5]"
	ctl 0 "$@" --logit-bias 5=100000 --logit-bias 5=-inf --logit-bias 6=50000
	json ".ids == [6, 6, 6, 6, 6]"
	for bias in 5 5= =1 x=1 5=x 5=1x -5=1 5=nan 5=inf; do
		ctl 2 "$@" --logit-bias $bias
		has "$stderr" "--logit-bias: a token's number"
	done
	ctl 2 "$@" --logit-bias 99999=1
	has "$stderr" "--logit-bias: 99999=1: the model has"
	ctl 2 "$@" --logit-bias 5=1 --beams 2
	has "$stderr" "--logit-bias"
}

@test "an answer is JSON of a schema" {
	local austen=$BATS_TEST_DIRNAME/../../../examples/austen
	echo '{"type": "object", "properties": {"who": {"enum": ["Emma", "Anne"]}, "true": {"type": "boolean"}},
		"required": ["who", "true"]}' >"$BATS_TEST_TMPDIR/schema"
	ctl 0 generate -m "$austen" -d sw -p 'It was a truth' -n 200 --json --json-schema "$BATS_TEST_TMPDIR/schema"
	json '.text | fromjson | (.who == "Emma" or .who == "Anne") and (.true | type) == "boolean" and length == 2'
	echo '{"type": "object"' >"$BATS_TEST_TMPDIR/cut"
	ctl 1 generate -m "$austen" -d sw -p x --json-schema "$BATS_TEST_TMPDIR/cut"
	has "$stderr" "cut"
	ctl 1 generate -m "$austen" -d sw -p x --json-schema "$BATS_TEST_TMPDIR/none"
	has "$stderr" "none"
	ctl 2 generate -m "$HF/hf/llama" -d sw --input-ids 1,2 --json-schema "$BATS_TEST_TMPDIR/schema"
	has "$stderr" "--json-schema: there is no tokenizer"
}

@test "weights as they lie: the same text, and as likely" {
	local austen=$BATS_TEST_DIRNAME/../../../examples/austen gguf=$BATS_TEST_TMPDIR/austen.gguf nll model
	ctl 0 model convert --type f16 "$austen" "$gguf"
	for model in "$austen" "$gguf"; do
		ctl 0 generate -m "$model" -d sw -p "$(jq -r .prompt "$austen/golden.json")" --greedy -n 40 --json --no-repack
		json ".text == \"$(jq -r '.text[(.prompt | length):]' "$austen/golden.json")\""
	done
	ctl 0 model run "$gguf" -d sw --no-cache --json --off pack --off join
	json ".packed_bytes == 0"
	nll=$(jq .eval_nll_first_256 "$austen/golden.json")
	ctl 0 perplexity -m "$austen" -d sw --input-ids "$(jq -r '.eval_first_257_ids | join(",")' "$austen/golden.json")" --json \
		--no-repack
	json "(.nll - $nll | fabs) < 0.001"
	ctl 0 embed -m "$austen" -d sw -p 'A truth' --json --no-repack
	json ".width == 256"
}

# lora FOLDER NAME: an adapter of the queries of hf/llama's first layer, A [2, 64] and B [64, 2]
lora() {
	mkdir -p "$1"
	echo '{"peft_type": "LORA", "r": 2, "lora_alpha": 4, "target_modules": ["q_proj"]}' >"$1/adapter_config.json"
	python3 - "$1/adapter_model.safetensors" "$2" <<-'END'
		import json, struct, sys
		numbers = [[((i * 37) % 19 - 9) / 4 for i in range(128)] for _ in 'AB']
		header = {'base_model.model.%s.lora_%s.weight' % (sys.argv[2], w): {
			'dtype': 'F32', 'shape': [2, 64] if w == 'A' else [64, 2],
			'data_offsets': [512 * (w == 'B'), 512 + 512 * (w == 'B')]} for w in 'AB'}
		text = json.dumps(header).encode()
		data = b''.join(struct.pack('<128f', *n) for n in numbers)
		open(sys.argv[1], 'wb').write(struct.pack('<Q', len(text)) + text + data)
	END
}

@test "LoRA: an adapter, its scale, and one that is wrong" {
	local in all d=$BATS_TEST_TMPDIR bare
	in=$(row hf/llama in.input_ids)
	all=$(row hf/llama out.greedy)
	lora "$d/a:2" model.layers.0.self_attn.q_proj
	lora "$d/b" model.layers.0.self_attn.x_proj
	sed -i 's/q_proj/x_proj/' "$d/b/adapter_config.json"
	set -- generate -m "$HF/hf/llama" -d sw --input-ids "$in" -n 24 --greedy --ignore-eos --json
	ctl 0 "$@" --lora "$d/a:2"
	json ".ids != [${all#"$in,"}] and .tokens == 24"
	ctl 0 "$@" --lora "$d/a:2:0"
	json ".ids == [${all#"$in,"}]"
	ctl 0 "$@" --lora "$d/a:2:-1.5" --lora "$d/a:2:1.5" --draft "$HF/hf/llama"
	json ".ids == [${all#"$in,"}]"
	ctl 0 perplexity -m "$HF/hf/llama" -d sw --input-ids "$in" --json
	bare=$(jq .nll <<<"$output")
	ctl 0 perplexity -m "$HF/hf/llama" -d sw --input-ids "$in" --json --lora "$d/a:2"
	json ".nll - $bare | fabs > 0.001"
	ctl 0 embed -m "$HF/hf/llama" -d sw --input-ids "$in" --json
	bare=$(jq -c .texts[0].vector <<<"$output")
	ctl 0 embed -m "$HF/hf/llama" -d sw --input-ids "$in" --json --lora "$d/a:2"
	json ".texts[0].vector != $bare"
	ctl 1 "$@" --lora "$d/b"
	has "$stderr" "x_proj.lora_A.weight: there is no such weight"
	ctl 1 "$@" --lora "$d/none"
	has "$stderr" "adapter_config.json"
	ctl 2 "$@" --lora "$d/none:x"
	has "$stderr" "--lora"
	ctl 3 embed -m "$HF/hf/bert" -d sw --input-ids 1 --lora "$d/a:2"
	has "$stderr" "decoders"
}

@test "mistakes" {
	ctl 2 generate -d sw
	ctl 2 generate -m "$HF/hf/llama" -d sw
	ctl 2 generate -m "$HF/hf/llama" -d sw --input-ids 1,x
	ctl 2 generate -m "$HF/hf/llama" -d sw --input-ids 1,99999
	has "$stderr" "--input-ids: token 99999: the model has 300 tokens"
	ctl 2 perplexity -m "$HF/hf/llama" -d sw --input-ids 1,300
	has "$stderr" "--input-ids: token 300: the model has 300 tokens"
	ctl 3 generate -m "$HF/hf/bert" -d sw --input-ids 1
	ctl 1 generate -m "$HF/hf/llama" -d sw --input-ids "$(seq -s, 17)" -c 2
	ctl 2 perplexity -m "$HF/hf/llama" -d sw --input-ids 1
	# Numbers that are none, and a schema that no token begins
	local bad=$BATS_TEST_TMPDIR/bad command
	mkdir "$bad"
	cp "$HF/hf/llama/config.json" "$bad"
	python3 - "$HF/hf/llama/model.safetensors" "$bad/model.safetensors" <<-'END'
		import json, struct, sys
		data = bytearray(open(sys.argv[1], 'rb').read())
		size = struct.unpack('<Q', data[:8])[0]
		struct.pack_into('<f', data, 8 + size + json.loads(data[8:8 + size])['model.norm.weight']['data_offsets'][0], float('nan'))
		open(sys.argv[2], 'wb').write(data)
	END
	for command in generate perplexity embed; do
		ctl 1 $command -m "$bad" -d sw --input-ids 1,2
		has "$stderr" "what the model computes is NaN or infinite"
	done
	echo '{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}}' >"$bad/tokenizer.json"
	echo '{"type": "array"}' >"$bad/schema"
	ctl 1 generate -m "$HF/hf/llama" --tokenizer "$bad" -d sw -p a --json-schema "$bad/schema"
	has "$stderr" "no token can follow: by the schema"
	# Downloads that are not whole
	local austen=$BATS_TEST_DIRNAME/../../../examples/austen part=$BATS_TEST_TMPDIR/part
	mkdir "$part"
	cp "$austen/config.json" "$part"
	head -c 1000000 "$austen/model.safetensors" >"$part/model.safetensors"
	ctl 1 generate -m "$part" -d sw -p x
	has "$stderr" "part: neither tokenizer.json nor vocab.txt"
	ctl 1 generate -m "$part" -d sw --input-ids 1
	has "$stderr" "weight: the file ends before its data"
	echo '{' >"$part/generation_config.json"
	ctl 1 generate -m "$part" -d sw --input-ids 1
	has "$stderr" "generation_config.json: not a JSON object"
	ctl 0 model convert "$austen" "$part/whole.gguf"
	head -c 1000000 "$part/whole.gguf" >"$part/cut.gguf"
	ctl 1 generate -m "$part/cut.gguf" -d sw --input-ids 1
	has "$stderr" "weight: the file ends before its data"
}

@test "look-up guesses in a text that repeats itself, and hardly in one that does not" {
	local austen=$BATS_TEST_DIRNAME/../../../examples/austen
	set -- generate -m "$austen" -d sw -p "It is a truth" --ignore-eos --lookup 4 --json
	ctl 0 "$@" -n 200 --greedy
	json ".accepted > 80 and .accepted > .guessed * 3 / 4"
	ctl 0 "$@" -n 300 --temperature 0.8 --seed 3
	json ".guessed <= 10"
}

@test "a model that was trained: its text, and how likely it finds one" {
	local austen=$BATS_TEST_DIRNAME/../../../examples/austen how
	for how in "" "--chunk 1" "--chunk 3 --lookup 4" "--reproducible --threads 2"; do
		# shellcheck disable=SC2086 # words
		ctl 0 generate -m "$austen" -d sw -p "$(jq -r .prompt "$austen/golden.json")" --greedy -n 40 --json $how
		json ".text == \"$(jq -r '.text[(.prompt | length):]' "$austen/golden.json")\" and .end == \"stop\""
	done
	ctl 0 perplexity -m "$austen" -d sw --input-ids "$(jq -r '.eval_first_257_ids | join(",")' "$austen/golden.json")" --json
	json ".tokens == 256 and (.nll - $(jq .eval_nll_first_256 "$austen/golden.json") | fabs) < 0.001"
}

# wide FOLDER: LLaMA of 4 layers with 68 MB of weights, all zero, which take no room
wide() {
	mkdir "$1"
	python3 - "$HF/hf/llama/config.json" "$1" <<-'END'
		import json, struct, sys
		with open(sys.argv[1]) as file:
		    config = json.load(file)
		del config['head_dim']
		config |= dict(hidden_size=512, intermediate_size=2048, num_hidden_layers=4, num_attention_heads=8, num_key_value_heads=8)
		with open(sys.argv[2] + '/config.json', 'w') as file:
		    json.dump(config, file)
		shapes = {'model.embed_tokens': (300, 512), 'lm_head': (300, 512), 'model.norm': (512,)}
		for layer in range(4):
		    shapes |= {'model.layers.%d.%s' % (layer, name): shape for names, shape in (
		        ('self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj', (512, 512)),
		        ('mlp.gate_proj mlp.up_proj', (2048, 512)), ('mlp.down_proj', (512, 2048)),
		        ('input_layernorm post_attention_layernorm', (512,))) for name in names.split()}
		tensors, at = {}, 0
		for name, shape in shapes.items():
		    end = at + 4 * shape[0] * (shape[1] if len(shape) > 1 else 1)
		    tensors[name + '.weight'] = dict(dtype='F32', shape=shape, data_offsets=(at, end))
		    at = end
		header = json.dumps(tensors).encode()
		with open(sys.argv[2] + '/model.safetensors', 'wb') as file:
		    file.write(struct.pack('<Q', len(header)) + header)
		    file.truncate(8 + len(header) + at)
	END
}

# Time passes a hundred times as fast, so that a bar is there without waiting for it. With STOP in the environment SIGINT comes
# before anything has begun.
@test "weights that are repacked have a bar on a terminal, and Ctrl-C ends that" {
	local fast=$BATS_TEST_TMPDIR/fast.so wide=$BATS_TEST_TMPDIR/wide what
	"${CC:-cc}" -shared -fPIC -o "$fast" -xc - <<-'END'
		#include <signal.h>
		#include <stdlib.h>
		#include <sys/syscall.h>
		#include <time.h>
		#include <unistd.h>

		int clock_gettime(clockid_t clock, struct timespec *t)
		{
			int ret = syscall(SYS_clock_gettime, clock, t);
			unsigned long long ns = (t->tv_sec * 1000000000ull + t->tv_nsec) * 100;

			if (clock != CLOCK_MONOTONIC)
				return ret;
			if (getenv("STOP"))
				raise(SIGINT);
			t->tv_sec = ns / 1000000000;
			t->tv_nsec = ns % 1000000000;
			return ret;
		}
	END
	wide "$wide"
	what="generate -m $wide -d sw --input-ids 1,2 -n 1 --greedy --ignore-eos --no-cache"
	script -qec "LD_PRELOAD=$fast accelctl $what" /dev/null </dev/null >"$BATS_TEST_TMPDIR/typescript" 3>&-
	grep -q 'repacking weights \[=* *\] [0-9]* %' "$BATS_TEST_TMPDIR/typescript"
	# shellcheck disable=SC2086 # words
	run --separate-stderr env LD_PRELOAD="$fast" accelctl $what
	[ "$status" = 0 ]
	lacks "$stderr" repacking
	for what in "$what --json" "model run $wide -d sw --no-cache"; do
		# shellcheck disable=SC2086 # words
		run --separate-stderr env --default-signal=INT STOP=1 LD_PRELOAD="$fast" accelctl $what
		[ "$status" = 130 ]
		[ -z "$output$stderr" ]
	done
}

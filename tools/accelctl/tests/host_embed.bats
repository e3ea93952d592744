#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# embed: small encoders and decoders of random weights, whose hidden states were computed in binary64 (examples/zoo), and the
# model of examples/austen.

load helper

setup_file() {
	tar -C "$BATS_FILE_TMPDIR" -xJf "$BATS_TEST_DIRNAME/../../../examples/zoo/hf.tar.xz"
	export HF=$BATS_FILE_TMPDIR
	export AUSTEN=$BATS_TEST_DIRNAME/../../../examples/austen
}

setup() {
	T=$BATS_TEST_TMPDIR
}

# vector FOLDER HOW: tokens of the first row, and "cls", "mean", ... of its hidden states, as JSON
vector() {
	python3 - "$HF/$1/golden.safetensors" "$2" <<-'END'
		import json, struct, sys
		data = open(sys.argv[1], 'rb').read()
		size = struct.unpack('<Q', data[:8])[0]
		head = json.loads(data[8:8 + size])
		def array(name, letter):
		    e = head[name]
		    first, last = e['data_offsets']
		    return e['shape'], struct.unpack('<%d%s' % ((last - first) // struct.calcsize(letter), letter), data[8 + size + first:8 + size + last])
		(batch, rows), ids = array('in.input_ids', 'q')
		shape, hidden = array('out.last_hidden_state', 'f')
		width = shape[2]
		columns = [[hidden[r * width + i] for r in range(rows)] for i in range(width)]
		how = {'cls': lambda c: c[0], 'last': lambda c: c[-1], 'mean': lambda c: sum(c) / rows, 'max': max}[sys.argv[2]]
		print(json.dumps({'ids': ','.join(map(str, ids[:rows])), 'vector': [how(c) for c in columns]}))
	END
}

@test "vectors are those of the hidden states that the models should have" {
	local m how want
	for m in hf/bert hf-c/roberta hf-c/distilbert; do
		for how in cls last mean max; do
			want=$(vector "$m" "$how")
			ctl 0 embed -m "$HF/$m" -d sw --input-ids "$(jq -r .ids <<<"$want")" --pooling "$how" --json
			json ".pooling == \"$how\" and (.normalized | not) and .width == (.texts[0].vector | length) and .texts[0].tokens == 20" \
				"[.texts[0].vector, $(jq -c .vector <<<"$want")] | transpose | all((.[0] - .[1] | fabs) < 0.0005)"
		done
	done
}

@test "texts come from options, files and pipes, and vectors go to lines, JSON and .npy" {
	local one
	printf 'It was a truth\nShe said\r\nAnd then he had been there' >"$T/texts"
	ctl 0 embed -m "$AUSTEN" -d sw -f "$T/texts" --reproducible
	[ "$(wc -l <<<"$output")" = 3 ]
	[ "$(head -n 1 <<<"$output" | wc -w)" = 256 ]
	one=$output
	run --separate-stderr accelctl embed -m "$AUSTEN" -d sw --reproducible - <"$T/texts"
	[ "$output" = "$one" ]
	ctl 0 embed -m "$AUSTEN" -d sw --reproducible -p 'It was a truth' -p 'She said' -p 'And then he had been there'
	[ "$output" = "$one" ]
	# Alone they are the same, to the bit.
	ctl 0 embed -m "$AUSTEN" -d sw --reproducible -p 'She said'
	[ "$output" = "$(sed -n 2p <<<"$one")" ]
	ctl 0 embed -m "$AUSTEN" -d sw --reproducible -f "$T/texts" -o "$T/out.npy"
	[ -z "$output" ]
	python3 - "$T/out.npy" <<-END
		import struct, sys
		data = open(sys.argv[1], 'rb').read()
		assert b"'<f4'" in data and b'(3, 256)' in data
		got = struct.unpack('<768f', data[-3072:])
		want = [float(x) for x in """$one""".split()]
		assert all(abs(a - b) <= 1e-8 * abs(b) + 1e-30 for a, b in zip(got, (struct.unpack('<f', struct.pack('<f', w))[0] for w in want)))
	END
}

@test "--dtype: vectors of products in 16 bits are near those in 32" {
	local want dtype
	ctl 0 embed -m "$AUSTEN" -d sw -p 'It was a truth' --normalize --json
	want=$(jq -c '.texts[0].vector' <<<"$output")
	for dtype in bf16 fp16; do
		ctl 0 embed -m "$AUSTEN" -d sw -p 'It was a truth' --normalize --json --dtype $dtype
		json ".texts[0].vector as \$v | \$v != $want and ([\$v, $want] | transpose | map(.[0] * .[1]) | add) > 0.999"
	done
	ctl 2 embed -m "$AUSTEN" -d sw -p x --dtype fp8
	has "$stderr" "--dtype"
}

@test "--normalize, --similarity" {
	ctl 0 embed -m "$AUSTEN" -d sw -p 'It was a truth' -p 'Her sister was not there' --normalize --json
	json '.normalized and (.texts | all((.vector | map(. * .) | add - 1 | fabs) < 0.00001))'
	ctl 0 embed -m "$AUSTEN" -d sw -p 'It was a truth' -p 'It was a truth' -p 'Her sister was not there' --similarity --json
	json '.similarity | length == 3 and (.[0][1] - 1 | fabs) < 0.00001 and .[0][2] < 0.99 and (.[0][2] - .[2][0] | fabs) < 0.00001' \
		'.texts | all(has("vector") | not)'
	ctl 0 embed -m "$AUSTEN" -d sw -p 'It was a truth' -p 'It was a truth' --similarity
	[ "$(wc -l <<<"$output")" = 2 ]
	has "$output" "1.000000 1.000000"
}

@test "what is too long is cut, and told; the model's own pooling" {
	ctl 0 embed -m "$AUSTEN" -d sw -c 3 -p 'It was a truth universally acknowledged' -p 'It was' --json
	json '.most_tokens == 3 and .texts[0].truncated and .texts[0].used == 3 and .texts[0].tokens > 3 and (.texts[1].truncated | not)'
	has "$stderr" "text 1:"
	json '.pooling == "last"'
	cp -r "$HF/hf/bert" "$T/bert"
	mkdir "$T/bert/1_Pooling"
	echo '{"pooling_mode_cls_token": true}' >"$T/bert/1_Pooling/config.json"
	ctl 0 embed -m "$HF/hf/bert" -d sw --input-ids 1,2,3 --json
	json '.pooling == "mean" and .most_tokens == 64'
	ctl 0 embed -m "$T/bert" -d sw --input-ids 1,2,3 --json
	json '.pooling == "cls"'
	echo '{"pooling_mode_weightedmean_tokens": true}' >"$T/bert/1_Pooling/config.json"
	ctl 3 embed -m "$T/bert" -d sw --input-ids 1,2,3
	has "$stderr" "1_Pooling/config.json"
	ctl 0 embed -m "$T/bert" -d sw --input-ids 1,2,3 --pooling mean
}

# says POOLING MODEL...: the same vector as of the folder by the pooling that the model's files say
says() {
	local how=$1 want model
	ctl 0 embed -m "$HF/hf/bert" -d sw --input-ids 7,250,3,19,28 --pooling "$how" --json
	want=$(jq -c '.texts[0].vector' <<<"$output")
	for model in "${@:2}"; do
		ctl 0 embed -m "$model" -d sw --input-ids 7,250,3,19,28 --json
		json ".pooling == \"$how\" and .most_tokens == 64 and ([.texts[0].vector, $want] | transpose | all((.[0] - .[1] | fabs) < 0.00001))"
	done
}

@test "BERT of GGUF files: vectors, pooling, and tokens" {
	local mode text
	cp -r "$HF/hf/bert" "$T/bert"
	ctl 0 model convert "$T/bert" "$T/none.gguf"
	says mean "$T/none.gguf"
	mkdir "$T/bert/1_Pooling"
	for mode in cls_token:cls mean_tokens:mean lasttoken:last; do
		echo "{\"pooling_mode_${mode%:*}\": true}" >"$T/bert/1_Pooling/config.json"
		rm -rf "$T/folder" "$T/copy"
		ctl 0 model convert "$T/bert" "$T/it.gguf"
		ctl 0 model convert "$T/it.gguf" "$T/folder"
		ctl 0 model convert "$T/bert" "$T/copy"
		says "${mode#*:}" "$T/it.gguf" "$T/folder" "$T/copy"
	done
	echo '{"pooling_mode_max_tokens": true}' >"$T/bert/1_Pooling/config.json"
	ctl 3 model convert "$T/bert" "$T/no.gguf"
	has "$stderr" "the largest has no name in GGUF"
	rm -r "$T/bert/1_Pooling"
	jq '.architectures = ["BertForTokenClassification"]' "$HF/hf/bert/config.json" >"$T/bert/config.json"
	ctl 3 model convert "$T/bert" "$T/no.gguf"
	has "$stderr" "architectures: BertForTokenClassification has no name in GGUF"
	cp "$HF/hf/bert/config.json" "$T/bert"
	# 300 pieces of words: specials, letters, what goes on, words
	python3 - "$T/bert/vocab.txt" <<-'END'
		import string, sys
		words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *string.ascii_lowercase, *("##" + c for c in string.ascii_lowercase),
		         ".", ",", "!", "the", "##ing", "##ed", "walk", "cafe", "\u4e2d", "\u2581", "##\u00df"]
		words += ["word%d" % i for i in range(300 - len(words))]
		open(sys.argv[1], "w", encoding="utf-8").write("".join(w + "\n" for w in words))
	END
	ctl 0 model convert "$T/bert" "$T/it.gguf"
	text=$'The walking, walked CAFÉ!\t \u4e2d\u6587 x7 [MASK] stra\u00dfe word12\n'
	ctl 0 tokenize -m "$T/bert" -p "$text" --json
	mode=$(jq -c '[.tokens[] | [.id, .start, .end]]' <<<"$output")
	[ "$(jq length <<<"$mode")" -gt 20 ]
	ctl 0 tokenize -m "$T/it.gguf" -p "$text" --json
	[ "$(jq -c '[.tokens[] | [.id, .start, .end]]' <<<"$output")" = "$mode" ]
	ctl 0 embed -m "$T/bert" -d sw -p "$text" --json
	text=$(jq -c '.texts[0].vector' <<<"$output")
	ctl 0 embed -m "$T/it.gguf" -d sw -p $'The walking, walked CAFÉ!\t \u4e2d\u6587 x7 [MASK] stra\u00dfe word12\n' --json
	json "[.texts[0].vector, $text] | transpose | all((.[0] - .[1] | fabs) < 0.00001)"
	# One that keeps capitals is not what GGUF has.
	echo '{"do_lower_case": false}' >"$T/bert/tokenizer_config.json"
	ctl 3 model convert "$T/bert" "$T/no.gguf"
	has "$stderr" "GGUF has no words for the steps"
	[ ! -e "$T/no.gguf" ]
}

# patch KEY TYPE VALUE [NAME]: $T/it.gguf is $T/good.gguf with another entry of metadata, of as many bytes
patch() {
	python3 - "$T" "$@" <<-'END'
		import struct, sys
		folder, key, kind, value = sys.argv[1:5]
		data = bytearray(open(folder + "/good.gguf", "rb").read())
		at = data.index(struct.pack("<Q", len(key)) + key.encode()) + 8
		if len(sys.argv) > 5:
		    data[at:at + len(key)] = sys.argv[5].encode()
		at += len(key)
		fmt, make = {"0": ("B", int), "4": ("I", int), "6": ("f", float), "7": ("B", int)}[kind]
		struct.pack_into("<I" + fmt, data, at, int(kind), make(value))
		open(folder + "/it.gguf", "wb").write(data)
	END
}

@test "BERT of GGUF files: metadata that are something else, or contradict tensors" {
	local wrong
	cp -r "$HF/hf/bert" "$T/bert"
	mkdir "$T/bert/1_Pooling"
	echo '{"pooling_mode_cls_token": true}' >"$T/bert/1_Pooling/config.json"
	printf '%s\n' '[PAD]' '[UNK]' '[CLS]' '[SEP]' '[MASK]' {a..z} '##'{a..z} word{1..243} >"$T/bert/vocab.txt"
	[ "$(wc -l <"$T/bert/vocab.txt")" = 300 ]
	ctl 0 model convert "$T/bert" "$T/good.gguf"
	ctl 0 embed -m "$T/good.gguf" -d sw -p 'a word1'
	for wrong in "bert.pooling_type 6 1 is no whole number" "bert.attention.causal 0 0 is neither true nor false" \
		"bert.attention.layer_norm_epsilon 4 0 is no real number" "bert.attention.layer_norm_epsilon 6 nan is no real number" \
		"bert.block_count 4 1 is 1, but there is blk.1." "bert.block_count 6 2 is no whole number" \
		"bert.embedding_length 4 32 is 32, token_embd.weight has 64" "bert.vocab_size 4 299 is 299, token_embd.weight has 300" \
		"bert.context_length 4 63 is 63, position_embd.weight has 64" "bert.feed_forward_length 4 7 is 7, blk.0.ffn_up.weight has " \
		"tokenizer.ggml.token_type_count 4 9 is 9, token_types.weight has 2" "bert.attention.head_count 6 4 is no whole number" \
		"tokenizer.ggml.cls_token_id 4 300 is 300, of 300 tokens" "tokenizer.ggml.mask_token_id 6 4 is no whole number"; do
		# shellcheck disable=SC2046
		patch $(cut -d ' ' -f 1-3 <<<"$wrong")
		ctl 1 embed -m "$T/it.gguf" -d sw -p 'a word1'
		has "$stderr" "${wrong%% *} $(cut -d ' ' -f 4- <<<"$wrong")"
	done
	patch bert.attention.causal 7 1
	ctl 3 embed -m "$T/it.gguf" -d sw -p 'a word1'
	has "$stderr" bert.attention.causal
	ctl 3 model convert "$T/it.gguf" "$T/folder"
	[ ! -e "$T/folder" ]
	# None of a kind, as some say it
	patch tokenizer.ggml.mask_token_id 4 4294967295
	ctl 0 embed -m "$T/it.gguf" -d sw -p 'a word1'
	patch tokenizer.ggml.unknown_token_id 4 1 tokenizer.ggml.unknown_token_xx
	ctl 1 embed -m "$T/it.gguf" -d sw -p 'a word1'
	has "$stderr" "tokenizer.ggml.unknown_token_id is missing"
}

@test "mistakes" {
	ctl 2 embed -d sw -p a
	has "$stderr" "--model"
	ctl 2 embed -m "$AUSTEN" -d sw
	ctl 2 embed -m "$AUSTEN" -d sw -p a --input-ids 1
	ctl 2 embed -m "$AUSTEN" -d sw texts
	ctl 1 embed -m "$AUSTEN" -d sw -f "$T/none"
	: >"$T/empty"
	ctl 2 embed -m "$AUSTEN" -d sw -f "$T/empty"
	has "$stderr" "has no line"
	printf 'a\n\nb\n' >"$T/gap"
	ctl 2 embed -m "$AUSTEN" -d sw -f "$T/gap"
	has "$stderr" "text 2 has no token"
	ctl 2 embed -m "$HF/hf/bert" -d sw --input-ids 1,300
	has "$stderr" "--input-ids: text 1"
	ctl 2 embed -m "$AUSTEN" -d sw -p a --pooling sum
	ctl 3 embed -m "$HF/hf/t5" -d sw --input-ids 1
	ctl 1 embed -m "$HF/hf/bert" -d sw -p a
	ctl 1 embed -m "$AUSTEN" -d sw -p a -o /nowhere/a.npy
	has "$stderr" "/nowhere/a.npy"
}

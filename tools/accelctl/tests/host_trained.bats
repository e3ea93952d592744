#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Small models that were trained, and what they have to be able to do: which of six novels a passage is from, and to guess
# what another one says.

load helper

setup_file() {
	tar -C "$BATS_FILE_TMPDIR" -xJf "$BATS_TEST_DIRNAME/../../../examples/zoo/trained.tar.xz"
	export TRAINED=$BATS_FILE_TMPDIR
}

setup() {
	T=$BATS_TEST_TMPDIR
	austen=$BATS_TEST_DIRNAME/../../../examples/austen
}

# passages: $T/0.safetensors, ...: 100 passages each as tokens with their mask, and the logits that they should have
passages() {
	jq -r '.passages[].text' "$TRAINED/book-bert/golden.json" >"$T/text"
	[ "$(wc -l <"$T/text")" = 600 ]
	ctl 0 tokenize -m "$BATS_TEST_DIRNAME/../../../libaccel/tests/text/testdata/vocab.txt" -f "$T/text" --plain --json
	python3 - "$T" "$TRAINED/book-bert/golden.json" 3<<<"$output" <<-'END'
		import json, os, struct, sys
		golden = json.load(open(sys.argv[2]))
		ends, text = [], 0
		for line in open(sys.argv[1] + "/text", "rb"):
		    text += len(line)
		    ends.append(text)
		rows = [[]]
		for token in json.load(os.fdopen(3))["tokens"]:
		    while token["start"] >= ends[len(rows) - 1]:
		        rows.append([])
		    rows[-1].append(token["id"])
		assert len(rows) == 600
		rows = [row[:128] for row in rows]
		assert rows[0] + [0] * (128 - len(rows[0])) == golden["input_ids_0"]
		for part in range(6):
		    some = rows[100 * part:100 * part + 100]
		    ids = [v for row in some for v in row + [0] * (128 - len(row))]
		    mask = [v for row in some for v in [1] * len(row) + [0] * (128 - len(row))]
		    logits = [v for row in golden["logits"][100 * part:100 * part + 100] for v in row]
		    head, data = {}, b""
		    for name, dtype, shape, values, code in (("in.input_ids", "I64", [100, 128], ids, "q"), ("in.attention_mask", "I64", [100, 128], mask, "q"),
		                                             ("out.logits", "F32", [100, 6], logits, "f")):
		        more = struct.pack("<%d%s" % (len(values), code), *values)
		        head[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(more)]}
		        data += more
		    text = json.dumps(head).encode()
		    with open("%s/%u.safetensors" % (sys.argv[1], part), "wb") as out:
		        out.write(struct.pack("<Q", len(text)) + text + data)
	END
}

# right MODEL TOLERANCE PART...: how many of the passages it finds the novel of, in $right, and how many the answers, in $wanted
right() {
	local part
	right=0
	wanted=$(jq --args '[$ARGS.positional[] | tonumber * 100 | . + range(100)] as $all | .logits as $logits | .passages as $passages |
		[$all[] | select(($logits[.] | index(max)) == $passages[.].label)] | length' "${@:3}" <"$TRAINED/book-bert/golden.json")
	for part in "${@:3}"; do
		ctl 0 model run "$1" -d sw --golden "$T/$part.safetensors" --tolerance "$2" --top 1 --json
		right=$((right + $(jq -n --argjson got "$output" --argjson part "$part" --slurpfile golden "$TRAINED/book-bert/golden.json" \
			'[range(100) | select($got.outputs[0].top[.][0].index == $golden[0].passages[100 * $part + .].label)] | length')))
	done
	echo "$right of $(($# - 2)) hundred"
}

@test "which novel: as many in fp32 as it was trained to, in bytes 0.8 points less at most" {
	local right wanted all='0 1 2 3 4 5'
	passages
	# Whose logits are those of the answer finds as many as it.
	# shellcheck disable=SC2086 # numbers
	right "$TRAINED/book-bert" 0.001 ${UMA_ALL:+1 2 3 4 5} 0
	[ "$right" = "$wanted" ]
	ctl 0 model convert "$TRAINED/book-bert" "$T/it.gguf" --type q8_0
	# shellcheck disable=SC2086 # numbers
	right "$T/it.gguf" 1 $all
	[ "$wanted" = 556 ]
	# 92.67 - 0.8 = 91.87 % are 551.2
	[ "$right" -ge 552 ]
}

@test "a draft by itself: its text, and how likely it finds one" {
	local golden=$TRAINED/austen-draft/golden.json
	ctl 0 generate -m "$TRAINED/austen-draft" --tokenizer "$austen" -d sw -p "$(jq -r .prompt "$golden")" --greedy -n 64 --ignore-eos --json
	json ".ids == $(jq -c '.greedy_ids[(.prompt_ids | length):]' "$golden")"
	ctl 0 perplexity -m "$TRAINED/austen-draft" -d sw --input-ids "$(jq -r '.eval_first_257_ids | join(",")' "$golden")" --json
	json ".tokens == 256 and (.nll - $(jq .eval_nll_first_256 "$golden") | fabs) < 0.001"
}

# How much faster it is depends on the machine, but not what it is the sum of: tokens that come with a step.
@test "a draft that guesses: the same tokens, most likely ones and drawn ones, and many guesses are right" {
	local how want
	for how in "--greedy" "--temperature 0.6 --seed 3"; do
		# shellcheck disable=SC2086 # words
		set -- generate -m "$austen" -d sw -p "It was a truth" -n 120 --ignore-eos --json --reproducible $how
		ctl 0 "$@"
		want=$(jq -c .ids <<<"$output")
		json '.guessed == 0'
		ctl 0 "$@" --draft "$TRAINED/austen-draft"
		json ".ids == $want and .guessed >= 30"
		echo "$how: $(jq -c '[.guessed, .accepted]' <<<"$output")"
		[ "$how" != "--greedy" ] || json '.accepted >= 0.4 * .guessed'
	done
}

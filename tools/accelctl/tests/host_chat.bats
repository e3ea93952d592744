#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# generate -i, a conversation, and generate --json-events: with the small model that was trained (examples/austen). It has no
# template of its own.

load helper

setup_file() {
	export AUSTEN=$BATS_TEST_DIRNAME/../../../examples/austen
}

setup() {
	T=$BATS_TEST_TMPDIR
	printf '{%% for m in messages %%}{{ m.content }} {%% endfor %%}' >"$T/plain"
}

# chat STATUS LINES ARGUMENT...: a conversation through a pipe, LINES as printf has them
chat() {
	local want=$1 lines=$2
	shift 2
	# shellcheck disable=SC2059 # that is the format
	printf "$lines" >"$T/lines"
	run --separate-stderr accelctl generate -m "$AUSTEN" -d sw -i --chat-template "$T/plain" --greedy -n 24 \
		"$@" <"$T/lines"
	if [ "$status" != "$want" ]; then
		echo "exit status $status, not $want; stdout: $output; stderr: $stderr"
		return 1
	fi
}

# event NUMBER FILTER: the filter is true of a line of the output, from 0 on
event() {
	local all=$output
	output=$(jq -c -s ".[$1]" <<<"$all")
	json "$2"
	output=$all
}

@test "each line is answered, with all that was said before, of which only what is new is computed" {
	local first second third
	chat 0 'It was a truth\n\nShe said\nAnd then he' --json --reproducible
	[ "$(wc -l <<<"$output")" = 3 ]
	first=$(jq -s -r '.[0].text' <<<"$output")
	second=$(jq -s -r '.[1].text' <<<"$output")
	third=$(jq -s -c '.[2].ids' <<<"$output")
	event 0 '.event == "end" and .shared_tokens == 0'
	event 2 '.shared_tokens >= 16 and .prompt_tokens > .shared_tokens and .prompt_tokens - .shared_tokens < 40'
	# The same text as a whole has the same answer.
	ctl 0 generate -m "$AUSTEN" -d sw --greedy -n 24 --json --reproducible -p "It was a truth $first She said $second And then he "
	json ".ids == $third and .shared_tokens == 0"
}

@test "without --json there is a line for each answer, and nothing else" {
	chat 0 'It was a truth\nShe said\n'
	[ "$(wc -l <<<"$output")" = 2 ]
	[ -z "$stderr" ]
	lacks "$output" '^> '
}

@test "/reset forgets, /stats counts, /quit ends" {
	chat 0 'It was a truth\n/stats\n/reset\n/stats\nIt was a truth\n/quit\nShe said\n' --json
	[ "$(wc -l <<<"$output")" = 4 ]
	event 1 '.event == "stats" and .messages == 2 and .tokens > 5 and .context == 512 and .prompt_tokens > 3 and .new_tokens > 0'
	event 2 '.event == "stats" and .messages == 0 and .tokens == 0'
	json '.' >/dev/null
	[ "$(jq -s '.[0].ids == .[3].ids' <<<"$output")" = true ]
	chat 0 'It was a truth\n/stats\n'
	has "$stderr" "2 messages"
}

@test "a conversation is saved, and goes on where it was" {
	local want
	chat 0 "It was a truth\nShe said that it was not\n/save $T/talk\nAnd then he\n" --json --reproducible
	want=$(jq -s -c '.[2].ids' <<<"$output")
	jq -e '.schema == "accelctl.conversation/1" and [.messages[].role] == ["user", "assistant", "user", "assistant"]' "$T/talk"
	[ -s "$T/talk.kv" ] && [ -s "$T/talk.kv.tokens" ]
	chat 0 "/load $T/talk\nAnd then he\n" --json --reproducible
	event 0 ".ids == $want and .shared_tokens >= 16"
	# Also if it is saved as it was loaded.
	chat 0 "/load $T/talk\n/save $T/again\n" --json --reproducible
	chat 0 "/load $T/again\nAnd then he\n" --json --reproducible
	event 0 ".ids == $want and .shared_tokens >= 16"
	# Keys and values that cannot be used are computed again.
	printf x | dd of="$T/talk.kv.tokens" bs=1 seek=90 conv=notrunc 2>/dev/null
	chat 0 "/load $T/talk\nAnd then he\n" --json --reproducible
	event 0 ".ids == $want and .shared_tokens == 0"
	has "$stderr" "talk.kv cannot be used"
	rm "$T/talk.kv" "$T/talk.kv.tokens"
	chat 0 "/load $T/talk\nAnd then he\n" --json --reproducible
	event 0 ".ids == $want and .shared_tokens == 0"
	# Of what is too short for a page none is left behind by another.
	chat 0 "/save $T/again\n" --json
	[ -s "$T/again" ] && [ ! -e "$T/again.kv" ] && [ ! -e "$T/again.kv.tokens" ]
}

@test "what is wrong with a line is told, and the conversation goes on" {
	echo '{"schema": "accelctl.conversation/1", "messages": [{"role": "user", "content": 1}]}' >"$T/bad"
	chat 1 "/load $T/bad\n/load $T/none\n/save /nowhere/talk\nIt was a truth\n"
	has "$stderr" "is no conversation of /save"
	has "$stderr" "none: No such file"
	has "$stderr" "/nowhere/talk: cannot be written"
	[ "$(wc -l <<<"$output")" = 1 ]
	chat 2 '/bogus\n/save\n/reset now\n /tmp is\nIt was a truth\n' --json
	has "$stderr" "/bogus: is none of /save"
	has "$stderr" "which file?"
	[ "$(jq -s 'map(select(.event == "end")) | length' <<<"$output")" = 2 ]
	[ "$(jq -s 'map(select(.ok == false)) | length' <<<"$output")" = 3 ]
	head -c 1100000 /dev/zero | tr '\0' a >"$T/long"
	run --separate-stderr accelctl generate -m "$AUSTEN" -d sw -i --chat-template "$T/plain" <"$T/long"
	[ "$status" = 2 ]
	has "$stderr" "a line has more than"
	# What the context has no room for was not asked.
	chat 1 "$(printf 'word %.0s' {1..40})\nIt was a truth\n/stats\n" -c 32 --json
	has "$stderr" "more than the context has room for"
	event 2 '.event == "stats" and .messages == 2'
}

@test "templates: roles, the system, what ends an answer, what they refuse" {
	printf '{%% for m in messages %%}[{{ m.role }}] {{ m.content }} {%% endfor %%}{%% if add_generation_prompt %%}[assistant]{%% endif %%}' >"$T/plain"
	chat 0 'It was a truth\n' --system 'You are Jane.' --json
	first=$(jq -c .ids <<<"$output")
	ctl 0 generate -m "$AUSTEN" -d sw --greedy -n 24 --json -p '[system] You are Jane. [user] It was a truth [assistant]'
	json ".ids == $first"
	# The first token behind an answer that is no text ends one: here it is made of a comma.
	jq '.added_tokens += [{"id": 12, "content": ",", "special": true, "single_word": false, "lstrip": false, "rstrip": false,
		"normalized": false}]' "$AUSTEN/tokenizer.json" >"$T/tokenizer.json"
	printf '{%% for m in messages %%}{{ m.content }}{%% endfor %%}' >"$T/plain"
	chat 0 'It was a truth\n' --tokenizer "$T/tokenizer.json" --json
	json '.ids[0] == 12'
	printf '{%% for m in messages %%}{{ m.content }}{{ "," if m.role == "assistant" }}{%% endfor %%}' >"$T/plain"
	chat 0 'It was a truth\n' --tokenizer "$T/tokenizer.json" --json
	json '.ids == [] and .end == "stop"'
	printf '{{ raise_exception("no system here") }}' >"$T/plain"
	chat 8 'It was a truth\n'
	has "$stderr" "no system here"
	[ -z "$output" ]
	printf '{%% if %%}' >"$T/plain"
	chat 1 'It was a truth\n'
	has "$stderr" "$T/plain"
}

# comes COUNT PATTERN: wait until so many lines of what $pid writes have the pattern
comes() {
	until [ "$(grep -c "$2" "$T/out")" -ge "$1" ]; do
		kill -0 "$pid"
		sleep 0.02
	done
}

@test "SIGINT ends the answer and not the program; one more, where nothing is answered, does" {
	local pid
	mkfifo "$T/in"
	env --default-signal=INT accelctl generate -m "$AUSTEN" -d sw -i --chat-template "$T/plain" --greedy --ignore-eos \
		--json-events <"$T/in" >"$T/out" 2>"$T/err" 3>&- &
	pid=$!
	exec 9>"$T/in"
	echo 'It was a truth' >&9
	comes 3 '"event":"token"'
	kill -INT "$pid"
	comes 1 '"event":"end"'
	output=$(grep '"event":"end"' "$T/out")
	json '.end == "cancelled" and .tokens >= 3 and .tokens < 400'
	# What was said is part of the conversation.
	echo /stats >&9
	comes 1 '"event":"stats"'
	output=$(grep '"event":"stats"' "$T/out")
	json '.messages == 2'
	kill -INT "$pid"
	status=0
	wait "$pid" || status=$?
	exec 9>&-
	[ "$status" = 130 ]
}

@test "on a terminal there is a prompt; Ctrl-C and the end of the input end it" {
	run python3 - "$AUSTEN" "$T/plain" <<-'END'
		import os, pty, sys
		def talk(last):
		    pid, fd = pty.fork()
		    if not pid:
		        os.execvp("env", ["env", "--default-signal=INT", "accelctl", "generate", "-m", sys.argv[1], "-d", "sw", "-i",
		                          "--chat-template", sys.argv[2], "--greedy", "-n", "4"])
		    seen = b""
		    def until(count):
		        nonlocal seen
		        while seen.count(b"> ") < count:
		            seen += os.read(fd, 4096)
		    until(1)
		    os.write(fd, b"It was a truth\n")
		    until(2)
		    os.write(fd, last)
		    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
		assert talk(b"\x03") == 130
		assert talk(b"\x04") == 0
		assert talk(b"/quit\n") == 0
		assert talk(b"/bogus\n\x04") == 0
	END
	echo "$output"
	[ "$status" = 0 ]
}

@test "--json-events: a line for each token, then all of it; --json has the same at once" {
	local all
	ctl 0 generate -m "$AUSTEN" -d sw -p 'It was a truth' --greedy -n 20 --json --logprobs --reproducible
	all=$(jq -c '[.ids, .text, .logprobs]' <<<"$output")
	ctl 0 generate -m "$AUSTEN" -d sw -p 'It was a truth' --greedy -n 20 --json-events --logprobs --reproducible
	[ "$(jq -s -c "[map(select(.event == \"token\").id), (map(select(.event != \"end\").text) | join(\"\")),
		map(select(.event == \"token\").logprob)]" <<<"$output")" = "$all" ]
	[ "$(jq -s -c '.[-1] | [.ids, .text, .logprobs]' <<<"$output")" = "$all" ]
	[ "$(jq -s '.[-1].event == "end" and .[-1].schema == "accelctl.generate/1" and (map(.event) | index("end")) == length - 1' <<<"$output")" = true ]
	[ "$(jq -s 'map(select(.event == "token")) | [.[].index] == [range(length)] and ([.[].time_s] | . == sort) and .[0].time_s > 0' \
		<<<"$output")" = true ]
	# Logarithms come where they are asked for, text where there is a tokenizer; errors are lines, too.
	ctl 0 generate -m "$AUSTEN" -d sw -p 'It was a truth' --greedy -n 3 --json-events
	event 0 '(has("logprob") | not) and has("text")'
	ctl 1 generate -m "$AUSTEN" -d sw --input-ids "$(seq -s, 17)" -c 2 --json-events
	[ "$(wc -l <<<"$output")" = 1 ]
	json '.ok == false'
}

@test "mistakes" {
	ctl 2 generate -m "$AUSTEN" -d sw -i
	has "$stderr" "--chat-template: the model has no template"
	ctl 2 generate -m "$AUSTEN" -d sw -i -p 'It was'
	has "$stderr" "--interactive: not with --prompt"
	ctl 2 generate -m "$AUSTEN" -d sw -p 'It was' --system 'You are Jane.'
	has "$stderr" "--system: only with --interactive"
	ctl 1 generate -m "$AUSTEN" -d sw -i --chat-template "$T/none"
	has "$stderr" "$T/none"
}

# So hot that bytes come that are no text: greedy is what chat() says, so not by it.
@test "an answer that is no text does not end the conversation, nor is what is saved no JSON" {
	printf 'It was\nShe said\nAnd he\n/save %s\n' "$T/it.json" >"$T/lines"
	run --separate-stderr accelctl generate -m "$AUSTEN" -d sw -i --chat-template "$T/plain" --top-k 0 --top-p 1 \
		--min-p 0 --temperature 1000 --seed 5 -n 60 --json <"$T/lines"
	[ "$status" = 0 ]
	[ "$(wc -l <<<"$output")" = 3 ]
	# A byte of the model is not all of a character.
	has "$output" $'\xef\xbf\xbd'
	python3 -c 'import json, sys; sys.exit(len(json.load(open(sys.argv[1], encoding="utf-8"))["messages"]) != 6)' "$T/it.json"
	# With bytes that are no text it is none of /save.
	sed -i "s/It was/It w\xff/" "$T/it.json"
	chat 1 "/load $T/it.json\n"
	has "$stderr" "is no conversation"
}

@test "what is no file is not saved over" {
	mkfifo "$T/pipe"
	chat 1 "It was\n/save $T/pipe\n"
	[ -p "$T/pipe" ]
	has "$stderr" "is no file"
}

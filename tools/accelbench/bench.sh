#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# bench.sh OBJDIR OUTDIR: measure everything and hold it against the bars (accelbench bars). OUTDIR/host.json,
# node.json, models.json and text.json have the results, machine.txt the machine. "make bench" calls this.
#
# What it is at is said on stderr; it takes minutes.
#
# Environment: BENCH_ARGS  more options for accelbench ("--best" on a machine that does something else, too)
#              BENCH_VM=0  without the kernel device in the virtual machine
#              BENCH_VM_SECONDS  most time for that (300)
#              BENCH_TEXT=0  without language models
#              BENCH_MODELS  ONNX files to time as a whole, next to ONNX Runtime if it is here; the first from its start, too

set -uo pipefail

obj=$1 out=$2
bench=$obj/tools/accelbench/accelbench
say() { printf '  %-7s %s\n' BENCH "$*" >&2; }
mkdir -p "$out"
rm -f "$out"/*.json "$out"/text-machine.txt
: >"$out/node.json"
: >"$out/text.json"

{
	lscpu | sed -nE 's/^(Model name|CPU\(s\)|L1d cache|L2 cache|L3 cache): */\1: /p'
	echo "Instruction sets: $(grep -m 1 '^flags' /proc/cpuinfo |
		grep -oE ' (avx2|fma|avx512f|avx512_vnni|avx512_bf16|avx512_fp16|amx_int8|amx_bf16)\b' | tr -d '\n' | sed 's/^ //')"
	echo "Memory: $(awk '/^MemTotal/ { printf "%.0f GiB", $2 / 1048576 }' /proc/meminfo)"
	echo "Compiler: $(${CC:-gcc} --version | head -n 1)"
	echo "Kernel: $(uname -r | cut -d - -f 1)"
} >"$out/machine.txt"

# The node first: what the machine runs then is over when the rest is timed.
if [ "${BENCH_VM:-1}" != 0 ]; then
	say "the kernel device, in the virtual machine: at most ${BENCH_VM_SECONDS:-300} seconds (BENCH_VM=0 does without)"
	timeout "${BENCH_VM_SECONDS:-300}" make vm-stock T=accelbench/tests/guest R="$out/vm" 2>&1 | tee "$out/vm.log" >&2 ||
		echo "bench.sh: the virtual machine has not done everything: $out/vm.log" >&2
	cat "$out"/vm/bats-stock.*.tap 2>/dev/null | grep -o '{"case":[^}]*"ratio"[^}]*}' >"$out/node.json"
fi

if [ -n "${BENCH_MODELS:-}" ]; then
	say "whole models"
	# shellcheck disable=SC2086 # several files
	for args in "$BENCH_MODELS" "--load ${BENCH_MODELS%% *}"; do
		"$bench" model --json $args
	done 2>"$out/models.log" | tee "$out/models.json" | awk -F '"' '{ printf "  BENCH   %s\n", $4; fflush() }' >&2
	[ -s "$out/models.json" ] || cat "$out/models.log" >&2
fi

if [ "${BENCH_TEXT:-1}" != 0 ]; then
	say "language models: ten minutes or more (BENCH_TEXT=0 does without)"
	"$bench" text --json 2>"$out/text.log" | tee "$out/text.json" |
		awk -F '"' '$4 != last { last = $4; printf "  BENCH   %s\n", $4; fflush() }' >&2
	cat "$out/text.log" >&2
fi

say "this machine, case by case: three minutes or more"
# shellcheck disable=SC2086 # several options
"$bench" all --json ${BENCH_ARGS:-} 2>"$out/host.log" | tee "$out/host.json" |
	awk -F '"' '$4 != last { last = $4; printf "  BENCH   %s\n", $4; fflush() }' >&2 || cat "$out/host.log" >&2
"$bench" bars "$out/host.json" "$out/node.json" "$out/text.json" | tee "$out/bars.txt"
rc=${PIPESTATUS[0]}
# Not a bar of these: the kernel device's GEMM next to the same kernels in a process, in the same machine
cat "$out"/vm/bats-stock.*.tap 2>/dev/null | sed -n 's/^# \(.*us, ratio.*\)/node: \1/p'
exit "$rc"

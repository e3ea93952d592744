#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# bench.sh OBJDIR OUTDIR: measure everything and hold it against the bars (accelbench bars). OUTDIR/host.json and
# node.json have the results, machine.txt the machine. "make bench" calls this.
#
# Environment: BENCH_ARGS  more options for accelbench ("--best" on a machine that does something else, too)
#              BENCH_VM=0  without the kernel device in the virtual machine
#              BENCH_VM_SECONDS  most time for that (300)

set -uo pipefail

obj=$1 out=$2
bench=$obj/tools/accelbench/accelbench
mkdir -p "$out"
rm -f "$out"/*.json

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
	timeout "${BENCH_VM_SECONDS:-300}" make vm-stock T=accelbench/tests/guest R="$out/vm" >"$out/vm.log" 2>&1 ||
		echo "bench.sh: the virtual machine has not done everything: $out/vm.log" >&2
	cat "$out"/vm/bats-stock.*.tap 2>/dev/null | grep -o '{"case":[^}]*"ratio"[^}]*}' >"$out/node.json"
	[ -s "$out/node.json" ] || rm -f "$out/node.json"
fi

# shellcheck disable=SC2086 # several options
"$bench" all --json ${BENCH_ARGS:-} >"$out/host.json" 2>"$out/host.log" || cat "$out/host.log" >&2
"$bench" bars "$out"/*.json | tee "$out/bars.txt"
rc=${PIPESTATUS[0]}
# Not a bar of these: the kernel device's GEMM next to the same kernels in a process, in the same machine
cat "$out"/vm/bats-stock.*.tap 2>/dev/null | sed -n 's/^# \(.*median ratio.*\)/node: \1/p'
exit "$rc"

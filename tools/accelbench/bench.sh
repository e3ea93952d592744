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
#              BENCH_HOST=0  without the cases of this machine
#              BENCH_MODELS=0  without whole models; or names of those of examples/zoo ("resnet50 bert-base"; all)
#              ACCELBENCH_ONNXRUNTIME  its library; without one npm fetches it, once

set -uo pipefail

obj=$1 out=$2
bench=$obj/tools/accelbench/accelbench
cache=${UMA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/uma}
say() { printf '  %-7s %s\n' BENCH "$*" >&2; }

# rows FILE: results from stdin to the end of FILE; says the name of each new case, and that it goes on
rows() {
	local line name last='' rc
	while IFS= read -rt 15 line; rc=$?; [ "$rc" = 0 ] || [ "$rc" -gt 128 ]; do
		[ "$rc" = 0 ] || { say "... $SECONDS s"; continue; }
		printf '%s\n' "$line" >>"$1"
		name=${line#'{"case":"'}
		name=${name%%'"'*}
		[ "$name" = "$last" ] || say "$name"
		last=$name
	done
}

# runtime: where ONNX Runtime is in ACCELBENCH_ONNXRUNTIME; npm fetches it into the cache once
runtime() {
	local name=onnxruntime-node version=1.30.0 arch work to
	[ -z "${ACCELBENCH_ONNXRUNTIME:-}" ] || return 0
	to=$cache/npm/$name-$version
	if [ ! -d "$to" ]; then
		command -v npm >/dev/null || { say "without ONNX Runtime: npm is missing"; return 0; }
		say "npm fetches $name $version"
		mkdir -p "$cache/npm"
		work=$(mktemp -d "$to.XXXXXX")
		# Of the libraries for several systems this one's is kept.
		arch=$(uname -m | sed 's/x86_64/x64/; s/aarch64/arm64/')
		if timeout 300 npm pack --silent --no-update-notifier --fetch-retries=0 --pack-destination "$work" "$name@$version" \
			>"$work/said" 2>&1 && tar -C "$work" -xzf "$work"/*.tgz --wildcards "package/bin/*/linux/$arch/*"; then
			mv -T "$work/package" "$to"
		else
			say "without ONNX Runtime: npm pack $name@$version failed: $(tail -n 1 "$work/said")"
		fi
		rm -rf "$work"
	fi
	for work in "$to"/bin/*/linux/*/libonnxruntime.so.1; do
		[ ! -e "$work" ] || export ACCELBENCH_ONNXRUNTIME=$work
	done
}
mkdir -p "$out"
rm -f "$out"/*.json "$out"/*-machine.txt
for part in host node models text; do
	: >"$out/$part.json"
done

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

if [ "${BENCH_MODELS:-}" != 0 ]; then
	say "whole models: ten minutes or more (BENCH_MODELS=0 does without)"
	runtime
	zoo=$(mktemp -d "$out/zoo.XXXXXX")
	trap 'rm -rf "$zoo"' EXIT
	tar -C "$zoo" --strip-components=1 -xJf examples/zoo/onnx.tar.xz
	[ -n "${BENCH_MODELS:-}" ] || BENCH_MODELS=$(cd "$zoo" && printf '%s\n' *.fill.json | sed 's/\.fill\.json$//')
	# Weights are made and removed one model after the other: all are gigabytes.
	for model in $BENCH_MODELS; do
		say "model/$model"
		"$obj/examples/zoo/fill" "$zoo/$model.fill.json" "$zoo" || continue
		# shellcheck disable=SC2086 # several options
		"$bench" model --json "$zoo/$model.onnx" ${BENCH_ARGS:-}
		[ "$model" != resnet50 ] || "$bench" model --json --load "$zoo/$model.onnx"
		rm -f "$zoo"/*.bin
	done 2> >(tee "$out/models.log" >&2) | rows "$out/models.json"
fi

if [ "${BENCH_TEXT:-1}" != 0 ]; then
	say "language models: ten minutes or more (BENCH_TEXT=0 does without)"
	"$bench" text --json 2>"$out/text.log" | rows "$out/text.json"
	cat "$out/text.log" >&2
fi

if [ "${BENCH_HOST:-1}" != 0 ]; then
	say "this machine, case by case: fifteen minutes or more (BENCH_HOST=0 does without)"
	# shellcheck disable=SC2086 # several options
	"$bench" all --json ${BENCH_ARGS:-} 2>"$out/host.log" | rows "$out/host.json" || cat "$out/host.log" >&2
fi
"$bench" bars "$out/host.json" "$out/node.json" "$out/models.json" "$out/text.json" | tee "$out/bars.txt"
rc=${PIPESTATUS[0]}
# Not a bar of these: the kernel device's GEMM next to the same kernels in a process, in the same machine
cat "$out"/vm/bats-stock.*.tap 2>/dev/null | sed -n 's/^# \(.*us, ratio.*\)/node: \1/p'
exit "$rc"

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# table.sh DIR [models|language]: what bench.sh has left in DIR as a page of the manual, on stdout; or of that the section
# of whole models, or of language models, alone. "make bench-docs" calls this.

set -euo pipefail

dir=$1

# about PART: results of another machine bring its description with them.
about() {
	[ ! -s "$dir/$1-machine.txt" ] || { sed 's/^/- /' "$dir/$1-machine.txt"; echo; }
}

# Of each model what is measured, on so many threads: ours, llama.cpp's, and the ratio
language() {
	[ -s "$dir/text.json" ] || return 0
	printf '\n%s\n%s\n\n' "Language models" "==============="
	about text
	jq -rs '
		def round3: if . == null then "" else (. * 1000 | round) / 1000 | tostring end;
		def short: if . == null then "" elif . < 100 then (. * 10 | round) / 10 | tostring else round | tostring end;
		def value: if . == null then "" elif .peak and (.case | endswith("/memory")) then "\(.peak / 1e6 | short) MB"
			elif .tokens_per_s then "\(.tokens_per_s | short) tok/s" else "\(.us / 1000 | short) ms" end;
		def times: if .case | endswith("/memory") then "peak" else "us" end;
		. as $rows | (map(.threads) | unique) as $threads
		| [".. csv-table::", "   :header-rows: 1", "", "   " + (["\"model/case\"", "\"types\""]
			+ ($threads | map("\"ours, \(.)\"", "\"share\"", "\"llama.cpp\"", "\"ratio\"")) | join(","))]
		+ (map([.case, .dtype]) | reduce .[] as $k ([]; if index([$k]) then . else . + [$k] end)
		| map(. as [$case, $dtype] | ["\"\($case | ltrimstr("text/"))\(if $case | contains("/lookup") then ", beside none" else "" end)\"",
			   "\"\($dtype)\""]
			+ ($threads | map(. as $t
				| ($rows | map(select(.case == $case and .threads == $t))) as $now
				| ($now | map(select(.impl == "ours")) | last) as $ours
				| ($now | map(select(.impl != "ours")) | last) as $peer
				| ($ours | value), (if $ours.share then "\($ours.share * 100 | round) %" else "" end), ($peer | value),
				  (if $ours and $peer then $peer[$ours | times] / $ours[$ours | times] | round3 else "" end)
				| "\"\(.)\""))
		| "   " + join(","))) | .[]' "$dir/text.json"
}

# For each model and number of threads how long it takes, another library's time, and this to ours
models() {
	[ -s "$dir/models.json" ] || return 0
	printf '\n%s\n%s\n\n' "Whole models" "============"
	about models
	jq -rs '
		def ms: if . == null then "" else (. / 10 | round) / 100 | tostring end;
		def ratio: if . == null then "" else (. * 1000 | round) / 1000 | tostring end;
		(map(.threads) | unique) as $threads
		| [".. csv-table::", "   :header-rows: 1", "", "   " + (["\"model/batch\"", "\"two over one\""]
			+ ($threads | map("\"ms, \(.)\"", "\"ONNX Runtime\"", "\"ratio\"", "\"MB over weights\"", "\"ONNX Runtime\""))
			| join(","))]
		+ (group_by(.case) | map(. as $rows
		| (map(select(.impl == "ours")) | [1, 2] - map(.threads) == [] and (map(.threads) | length) > 1) as $both
		| ["\"\($rows[0].case | ltrimstr("model/"))\"", "\"\(if $both then
			(map(select(.impl == "ours")) | (map(select(.threads == 1)) | last.us) / (map(select(.threads == 2)) | last.us)) | ratio
			else "" end)\""]
			+ ($threads | map(. as $t
				| ($rows | map(select(.threads == $t))) as $now
				| ($now | map(select(.impl == "ours")) | last) as $ours
				| ($now | map(select(.impl == "onnxruntime")) | last) as $peer
				| ($ours.us | ms), ($peer.us | ms), ($ours.ratio | ratio),
				  ($ours, $peer | .over | if . then . / 1000000 | ratio else "" end)
				| "\"\(.)\""))
		| "   " + join(","))) | .[]' "$dir/models.json"
}

case ${2:-} in models|language) "$2"; exit ;; esac

cat <<'END'
.. SPDX-License-Identifier: MIT

========================
Performance, as measured
========================

Made by ``make bench-docs`` from the last ``make bench``; what the columns mean: :doc:`performance`.

The machine
===========

END
sed 's/^/- /' "$dir/machine.txt"
printf '\n%s\n%s\n\n' "The bars" "========"
[ ! -s "$dir/text-machine.txt" ] && [ ! -s "$dir/models-machine.txt" ] ||
	printf '%s\n\n' "Those of language models (8) and whole models (10) are of the machines described there."
printf '%s\n\n' ".. code-block:: none"
# What misses is in the tables below, too.
sed -n '/^$/q;p' "$dir/bars.txt" | sed '/not measured *$/d; s/^/  /; s/ *$//'

# section TITLE PREFIX: cases as rows; for each number of threads operations a second, share, and the best other one
section() {
	grep -q "^{\"case\":\"$2" "$dir/host.json" || return 0
	printf '\n%s\n%s\n\n' "$1" "${1//?/=}"
	jq -rs --arg prefix "$2" '
		def round3: if . == null then "" else (. * 1000 | round) / 1000 | tostring end;
		def rate: if . == null then "" elif . < 100 then (. * 10 | round) / 10 | tostring else round | tostring end;
		map(select(.case | startswith($prefix))) as $rows
		| ($rows | map(.threads) | unique) as $threads
		| [".. csv-table::", "   :header-rows: 1", "", "   " + (["\"case\"", "\"types\""]
			+ ($threads | map("\"GFLOP/s, \(.)\"", "\"share\"", "\"best other\"", "\"ratio\""))
			+ ["\"error\"", "\"other'"'"'s\""] | join(","))] + ($rows | map([.case, .dtype])
		| reduce .[] as $k ([]; if index([$k]) then . else . + [$k] end)
		| map(. as [$case, $dtype]
			| ($rows | map(select(.case == $case and .dtype == $dtype))) as $these
			| ($these | map(select(.impl == "ours")) | last) as $any
			| ["\"\($case | ltrimstr($prefix))\"", "\"\($dtype)\""]
			+ ($threads | map(. as $t
				| ($these | map(select(.threads == $t))) as $now
				| ($now | map(select(.impl == "ours")) | last) as $ours
				| ($now | map(select(.impl | startswith("ours") | not)) | max_by(.gflops)) as $peer
				| ($ours.gflops | rate), "\(if $ours.share then $ours.share * 100 | round | tostring + " %" else "" end)",
				  (if $peer then "\($peer.gflops | rate) \($peer.impl)" else "" end),
				  (if $peer and $ours.gflops then $ours.gflops / $peer.gflops | round3 else "" end) | "\"\(.)\""))
			+ [($any.error // "" | tostring), ($these | map(select((.impl | startswith("ours") | not)))
				| max_by(.gflops) | .error // "" | tostring)]
			| "   " + join(","))) | .[]' "$dir/host.json"
}

section "Products" gemm/
section "Products of one job, in order" job/
section "Products with few rows" gemv/
section "Convolutions" conv/
section "Attention" attention/
section "Lines: bytes read and written instead of operations" lines/
section "Packing: bytes read and written" pack/

models
language

printf '\n%s\n%s\n\n' "Calls" "====="
jq -rs '
	def us: (. * 1000 | round) / 1000 | tostring;
	[".. csv-table::", "   :header-rows: 1", "", "   \"case\",\"by\",\"threads\",\"microseconds\",\"spread\""]
	+ (map(select((.case | startswith("latency/")) or .ratio))
	| map("   \"\(.case)\",\"\(.impl)\",\(.threads),\(.us | us),\(.spread)")) | .[]' "$dir/host.json" "$dir/node.json"

# Of a run of some commands alone there are none
grep -q '^{"case":"limit/' "$dir/host.json" || exit 0
printf '\n%s\n%s\n\n' "Limits" "======"
jq -rs '
	[".. csv-table::", "   :header-rows: 1", "", "   \"limit\",\"types\",\"threads\",\"10^9 a second\",\"spread\""]
	+ (map(select(.case | startswith("limit/")))
	| map("   \"\(.case)\",\"\(.dtype)\",\(.threads),\(.gflops),\(.spread)")) | .[]' "$dir/host.json"

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# against.sh OLD NEW COMMAND [OPTION...]: has anything become slower? OLD and NEW are the accelbench programs of two build
# directories, each with its own library; they run "COMMAND OPTION..." alternately, five times (ROUNDS) each, and the medians
# are compared. For each case: old time over new time, and the range of each in parts of its median. The exit status is 1 if
# any ratio is below 0.97 (LEAST).

set -euo pipefail

[ $# -ge 3 ] || { echo "usage: against.sh OLD NEW COMMAND [OPTION...]" >&2; exit 2; }
declare -A program=([old]=$1 [new]=$2)
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for ((i = 1; i <= ${ROUNDS:-5}; i++)); do
	echo "round $i of ${ROUNDS:-5}, ${SECONDS} s" >&2
	# Each is the first one in turn.
	order=(old new)
	((i % 2)) || order=(new old)
	for which in "${order[@]}"; do
		"${program[$which]}" "$@" --json --no-peers >>"$work/$which.json"
	done
done

jq -rn --argjson least "${LEAST:-0.97}" --slurpfile old "$work/old.json" --slurpfile new "$work/new.json" '
	def median: sort | if length % 2 == 1 then .[length / 2 | floor] else (.[length / 2 - 1] + .[length / 2]) / 2 end;
	def round3: . * 1000 | round / 1000;
	def cases: map(select(.impl == "ours" and .us > 0)) | group_by([.case, .dtype, .threads])
		| map({ key: (.[0] | "\(.case) \(.dtype // "-") \(.threads)"),
			value: (map(.us) | median as $m | { us: $m, range: ((max - min) / $m) }) }) | from_entries;
	($old | cases) as $before
	| ($new | cases | to_entries | map(select($before[.key]) | { name: .key, now: .value, was: $before[.key] }
		| .ratio = .was.us / .now.us) | sort_by(.ratio)) as $all
	| ($all | map(select(.ratio < $least))) as $slower
	| ($all[] | "\(.ratio | round3)\t\(.name)\t\(.was.us) us +-\(.was.range | round3)\t\(.now.us) us +-\(.now.range | round3)"
		+ (if .ratio < $least then "\tSLOWER" else "" end)),
	  "\($slower | length) of \($all | length) below \($least)",
	  if $all == [] or $slower != [] then ("" | halt_error(1)) else empty end' || exit 1

# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # status, output and stderr come from bats
#
# What the bats files share. accelctl is found in PATH, on the host and in the VM.

bats_require_minimum_version 1.5.0

# What accelctl keeps goes with the file's tests; what npm has fetched stays.
export UMA_CACHE=${UMA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/uma}
export XDG_CACHE_HOME=$BATS_FILE_TMPDIR/cache

# capture COMMAND...: run --separate-stderr without its six processes: $status, $output, $stderr
capture() {
	status=0
	"$@" >"$BATS_TEST_TMPDIR/stdout" 2>"$BATS_TEST_TMPDIR/stderr" || status=$?
	output=$(<"$BATS_TEST_TMPDIR/stdout")
	stderr=$(<"$BATS_TEST_TMPDIR/stderr")
}

# ctl STATUS ARGUMENT...: run accelctl and want this exit status; $output is stdout, $stderr is stderr
ctl() {
	local want=$1
	shift
	capture accelctl "$@"
	if [ "$status" != "$want" ]; then
		echo "accelctl $*: exit status $status, not $want"
		echo "stdout: $output"
		echo "stderr: $stderr"
		return 1
	fi
}

# interrupt COMMAND...: SIGINT once a command is at it, having used the processor for half a second, however long that
# takes beside others; then as run does
interrupt() {
	local pid stat
	env --default-signal=INT "$@" >"$BATS_TEST_TMPDIR/stdout" 2>"$BATS_TEST_TMPDIR/stderr" 3>&- &
	pid=$!
	until read -ra stat <"/proc/$pid/stat" && [ "${stat[2]}" = Z ] || [ $((stat[13] + stat[14])) -ge 50 ]; do
		sleep 0.05
	done
	kill -INT "$pid"
	status=0
	wait "$pid" || status=$?
	output=$(<"$BATS_TEST_TMPDIR/stdout")
	stderr=$(<"$BATS_TEST_TMPDIR/stderr")
}

# json FILTER...: the output is JSON, one document or more, and each filter is true of each of them. This is looked at when
# the test ends, for all its outputs by one jq, since that takes longer to start than to answer.
json() {
	printf '%s\n"end of output"\n' "$output" >>"$BATS_TEST_TMPDIR/.outputs"
	printf '%s\0' "${BASH_LINENO[0]}" $# "$@" >>"$BATS_TEST_TMPDIR/.filters"
}

# settle: what json was asked in this test is so; a teardown of one's own has to call this
settle() {
	local asked program='' wrong i at=0 of=0
	[ -e "$BATS_TEST_TMPDIR/.filters" ] || return 0
	mapfile -d '' asked <"$BATS_TEST_TMPDIR/.filters"
	while [ $at -lt ${#asked[@]} ]; do
		for ((i = 1; i <= (asked[at + 1] ? asked[at + 1] : 1); i++)); do
			program+=", (\$of[$of] | wants($at; $((at + 1 + i)); ${asked[at + 1 + i]:-true}))"
		done
		at=$((at + 2 + asked[at + 1])) of=$((of + 1))
	done
	wrong=$(jq -nr --args 'def wants($line; $text; filter):
			if try (length > 0 and all(.[]; [last(filter)] | length == 1 and all)) catch false then empty
			else "line \($ARGS.positional[$line]): not true: \($ARGS.positional[$text] // "that it is JSON")", "of: \(.[])" end;
		(reduce inputs as $one ([[]]; if $one == "end of output" then . + [[]] else .[-1] += [$one] end)) as $of | empty'"$program" \
		"${asked[@]}" <"$BATS_TEST_TMPDIR/.outputs" 2>&1) || wrong+=$'\n'"of: $(<"$BATS_TEST_TMPDIR/.outputs")"
	rm "$BATS_TEST_TMPDIR/.filters" "$BATS_TEST_TMPDIR/.outputs"
	echo "$wrong"
	[ -z "$wrong" ]
}

teardown() {
	settle
}

# Nothing is asked in vain.
teardown_file() {
	[ -z "$(find "$BATS_RUN_TMPDIR/test" -name .filters)" ]
}

# py SCRIPT ARGUMENT...: what a script of this folder does, in one interpreter for all of a test, as that takes long to start
py() {
	local answer code
	if [ -z "${py_in:-}" ]; then
		coproc PY { exec python3 "$BATS_TEST_DIRNAME/serve.py" 3>&-; }
		exec {py_in}>&"${PY[1]}" {py_out}<&"${PY[0]}"
	fi
	printf '%s\0' "$PWD" $# "$BATS_TEST_DIRNAME/$1" "${@:2}" >&"$py_in"
	IFS= read -r -d '' -u "$py_out" answer
	IFS= read -r -d '' -u "$py_out" code
	printf '%s' "$answer"
	return "$code"
}

# npy FILE DESCR SHAPE ORDER VALUE...: an array, values in the order of the file
npy() {
	py npy.py make "$@"
}

# values FILE: type, shape and elements of an array, by another reader than ours
values() {
	py npy.py show "$1"
}

# has TEXT WORD: TEXT contains WORD
has() {
	if [[ $1 != *"$2"* ]]; then
		echo "no '$2' in: $1"
		return 1
	fi
}

# one_line TEXT: a message is one line, or one and the advice to read the help
one_line() {
	[ "$(grep -c . <<<"$1")" -le 2 ]
}

# lacks TEXT REGEX: no line of TEXT matches ("! grep" does not fail a test)
lacks() {
	if grep -E -- "$2" <<<"$1"; then
		echo "'$2' should not match"
		return 1
	fi
}

# row FOLDER NAME: of $HF/FOLDER's golden.safetensors the numbers of the first row of an int64 array, with commas
row() {
	python3 - "$HF/$1/golden.safetensors" "$2" <<-'END'
		import json, struct, sys
		data = open(sys.argv[1], 'rb').read()
		size = struct.unpack('<Q', data[:8])[0]
		entry = json.loads(data[8:8 + size])[sys.argv[2]]
		first, count = 8 + size + entry['data_offsets'][0], entry['shape'][-1]
		print(*struct.unpack('<%dq' % count, data[first:first + 8 * count]), sep=',')
	END
}

# npm_fetch NAME VERSION: its files are where "npm_package NAME" says, or why not is in the file "missing"
npm_fetch() {
	local to=$UMA_CACHE/npm/${1//\//+}-$2 work why=$BATS_FILE_TMPDIR/${1//\//+}
	if [ ! -d "$to" ]; then
		command -v npm >/dev/null || { echo "npm is missing" >"$why.missing"; return 0; }
		mkdir -p "${to%/*}"
		work=$(mktemp -d "$to.XXXXXX")
		if timeout 120 npm pack --silent --no-update-notifier --fetch-retries=0 --pack-destination "$work" "$1@$2" >"$work/said" 2>&1 &&
			tar -C "$work" -xzf "$work"/*.tgz package; then
			# Another run may have been faster.
			mv -T "$work/package" "$to" 2>/dev/null || true
		else
			echo "npm pack $1@$2 failed: $(tail -n 1 "$work/said")" >"$why.missing"
		fi
		rm -rf "$work"
	fi
	echo "$to" >"$why"
}

# npm_package NAME: its folder in $dir, or the test is skipped
npm_package() {
	local why=$BATS_FILE_TMPDIR/${1//\//+}
	[ ! -e "$why.missing" ] || skip "$(cat "$why.missing")"
	dir=$(cat "$why")
}

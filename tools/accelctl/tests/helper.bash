# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # status, output and stderr come from bats
#
# What the bats files share. accelctl is found in PATH, on the host and in the VM.

bats_require_minimum_version 1.5.0

# ctl STATUS ARGUMENT...: run accelctl and want this exit status; $output is stdout, $stderr is stderr
ctl() {
	local want=$1
	shift
	run --separate-stderr timeout 120 accelctl "$@"
	if [ "$status" != "$want" ]; then
		echo "accelctl $*: exit status $status, not $want"
		echo "stdout: $output"
		echo "stderr: $stderr"
		return 1
	fi
}

# json FILTER: the output is JSON, and the filter is true of it
json() {
	if ! jq -e "$1" >/dev/null <<<"$output"; then
		echo "not true: $1"
		echo "of: $output"
		return 1
	fi
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

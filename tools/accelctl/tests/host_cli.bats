#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# The command line as such: help, options, errors, manual page, completion.

load helper

setup() {
	cd "$BATS_TEST_TMPDIR" || exit
}

commands='list info doctor top ps bo jobs health coredump power reset trace run explain tune help version'
forms='list|info|doctor|top|ps|bo|jobs|health|coredump|power get|power set|reset|trace|run gemm|run conv|run attention|explain gemm|explain conv|explain attention|tune list|tune run gemm|tune run conv|tune run attention|tune export|tune prune|tune verify|help|version'

@test "json: one wrong output of several is found, as is none, half a one, and an answer that is none" {
	local wrong
	for wrong in '' '[' '[false]' '[[]]' '[false] [true]'; do
		for output in '[true]' "$wrong" '[true]'; do
			json '.[0] | if type == "array" then .[] else . end' 'type == "array"'
		done
		run settle
		[ "$status" = 1 ]
		[ -n "$output" ]
	done
}

@test "without a command it shows help on stderr and fails" {
	ctl 2
	[ -z "$output" ]
	has "$stderr" "Usage: accelctl"
}

@test "--help and help show the commands on stdout" {
	for args in --help -h help; do
		ctl 0 $args
		[ -z "$stderr" ]
		for c in $commands; do has "$output" "  $c"; done
	done
}

@test "every command has help, by help COMMAND and by --help" {
	for c in $commands; do
		ctl 0 help "$c"
		has "$output" "Usage: accelctl $c"
		has "$output" "--json"
		by_help=$output
		case $c in
		run|explain)
			# One after the other
			for sub in gemm conv attention op; do
				ctl 0 "$c" $sub --help
				has "$by_help" "$output"
			done
			continue
			;;
		tune)
			for sub in list 'run gemm' 'run conv' 'run attention' 'run op' export prune verify; do
				# shellcheck disable=SC2086 # words
				ctl 0 tune $sub --help
				has "$by_help" "$output"
				# shellcheck disable=SC2086 # words
				ctl 0 help tune $sub
				[ "$output" = "$by_help" ]
			done
			ctl 0 help tune run
			continue
			;;
		power) ctl 0 "$c" --help ;;
		*) ctl 0 "$c" --help ;;
		esac
		[ "$output" = "$by_help" ]
	done
	ctl 0 help run gemm
	has "$output" "--dtype fp32|fp16|bf16|int8|int4"
	ctl 0 run --help
	has "$output" "Usage: accelctl run gemm"
	ctl 2 help nonsense
	has "$stderr" "nonsense: no such command"
}

@test "no line of help is longer than a terminal is wide" {
	for c in $commands; do
		ctl 0 help "$c"
		[[ ! $output =~ [^$'\n']{101} ]]
	done
}

@test "version" {
	ctl 0 version
	[[ $output =~ ^accelctl\ [0-9.]+,\ libaccel\ [0-9]+\.[0-9]+$ ]]
	text=$output
	ctl 0 --version
	[ "$output" = "$text" ]
	ctl 0 version --json
	json '.schema == "accelctl.version/1" and (.accelctl | type == "string") and (.library | test("^[0-9]+[.][0-9]+$"))'
}

@test "unknown commands, options and operands are usage errors that name the word" {
	ctl 2 nonsense
	has "$stderr" "nonsense: no such command"
	ctl 2 run
	has "$stderr" "it takes gemm"
	ctl 2 run nonsense
	has "$stderr" "cannot do 'nonsense'; it takes gemm"
	ctl 2 explain
	has "$stderr" "it takes gemm"
	ctl 2 list --nonsense
	has "$stderr" "--nonsense: no such option"
	ctl 2 --nonsense list
	has "$stderr" "--nonsense: no such option"
	ctl 2 list -Z
	has "$stderr" "-Z: no such option"
	ctl 2 list -qZ
	has "$stderr" "-Z: no such option"
	ctl 2 list --json=yes
	has "$stderr" "takes no value"
	ctl 2 info -d
	has "$stderr" "-d: needs a value"
	ctl 2 run gemm --dtype
	has "$stderr" "--dtype: needs a value"
	ctl 2 list extra
	has "$stderr" "extra: is not expected"
	ctl 2 info one two
	has "$stderr" "two: is not expected"
	ctl 2 info -d sw sw:m1
	has "$stderr" "another device"
}

@test "a usage error leaves stdout empty and points to the help" {
	ctl 2 run gemm --dtype fp8
	[ -z "$output" ]
	one_line "$stderr"
	has "$stderr" "'fp8' is none of fp32, fp16, bf16, int8, int4"
	has "$stderr" "accelctl help run gemm"
}

@test "numbers are checked: sign, unit, fraction, range, emptiness" {
	for bad in 0 -1 +1 1.5 1k 0x10 '' ' 1' 2147483648 99999999999999999999999; do
		ctl 2 run gemm -d sw -m "$bad" -n 1 -k 1
		has "$stderr" "-m: '$bad' is no whole number from 1 to 2147483647"
	done
	for bad in nan inf 1e999 x '' 1x; do
		ctl 2 run gemm -d sw -m 1 -n 1 -k 1 --alpha "$bad"
		has "$stderr" "--alpha: '$bad' is no finite number"
	done
	ctl 2 run gemm -d sw -m 1 -n 1 -k 1 --out ''
	has "$stderr" "--out: is empty"
}

@test "with --json an error is a document, wherever --json stands" {
	for args in '--json run gemm -m 0' 'run gemm -m 0 --json' 'run gemm --json -m 0'; do
		# shellcheck disable=SC2086 # words
		ctl 2 $args
		json '.schema == "accelctl.run/1" and .ok == false' \
			'.error | .exit_status == 2 and .field == "-m" and (.text | type == "string") and .name == null'
	done
	ctl 2 nonsense --json
	json '.schema == "accelctl.error/1" and .ok == false and .error.field == "nonsense"'
	ctl 5 info --json -d /dev/null
	json '.schema == "accelctl.info/1" and .error.exit_status == 5 and .error.name == "ENODEV" and .error.errno == 19'
}

@test "global options may stand before the command" {
	ctl 0 -d sw:m1 --json info
	json '.device.chip == "m1"'
	ctl 0 --device sw:m1 info --json
	json '.device.chip == "m1"'
	ctl 0 info --json --device=sw:m1
	json '.device.chip == "m1"'
}

@test "output that cannot be written is an error" {
	run bash -c 'accelctl list >/dev/full'
	[ "$status" = 1 ]
	has "$output" "cannot write to stdout"
}

@test "no colour in a pipe" {
	ctl 0 list
	[[ $output != *$'\033'* ]]
}

# script(1) makes a terminal
@test "colour on a terminal, none with NO_COLOR or TERM=dumb" {
	command -v script >/dev/null
	run env -u NO_COLOR TERM=xterm script -qec 'accelctl list' /dev/null
	has "$output" $'\033[1m'
	run env NO_COLOR='' TERM=xterm script -qec 'accelctl list' /dev/null
	has "$output" $'\033[1m'
	run env NO_COLOR=1 TERM=xterm script -qec 'accelctl list' /dev/null
	[[ $output != *$'\033'* ]]
	run env -u NO_COLOR TERM=dumb script -qec 'accelctl list' /dev/null
	[[ $output != *$'\033'* ]]
}

# --- the manual page ----------------------------------------------------------------------------------------------

@test "the manual page renders without a warning" {
	accelctl help --man >accelctl.1
	if command -v mandoc >/dev/null; then
		run mandoc -T lint -W warning accelctl.1
		echo "$output"
		[ -z "$output" ]
	elif command -v man >/dev/null; then
		warnings=$(LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z accelctl.1 2>&1 >/dev/null)
		echo "$warnings"
		[ -z "$warnings" ]
	else
		skip "neither mandoc nor man here"
	fi
}

@test "the manual page has every command, option and exit status" {
	accelctl help --man | sed 's/\\-/-/g; s/\\f[BIR]//g' >page
	IFS='|' read -ra all <<<"$forms"
	text=$'\n'$(<page)
	for c in "${all[@]}"; do has "$text" $'\n.SS accelctl '"$c"; done
	page=" $(grep -oE -- '(^|, )--[a-z0-9-]+( |$)' page | tr ',\n' ' ') "
	for c in $commands; do
		for o in $(accelctl help "$c" | grep -oE '^ +(-., )?--[a-z0-9-]+' | grep -oE -- '--[a-z0-9-]+'); do
			[[ $page == *" $o "* ]] || { echo "$o of $c is missing"; return 1; }
		done
	done
	text=${text#*$'\n.SH EXIT STATUS\n'} text=${text%%$'\n.SH ENV'*}
	for s in 0 1 2 3 4 5 6 7 8 9 130; do has "$text" $'\n.B '"$s"$'\n'; done
}

# --- completion ---------------------------------------------------------------------------------------------------

# complete_line LINE: what the shell offers at the end of LINE, one a line
complete_line() {
	[ -e completion.bash ] || accelctl help --completion >completion.bash
	bash --norc -c '
		. ./completion.bash
		complete -p accelctl >/dev/null || exit 1
		COMP_LINE=$1 COMP_POINT=${#1}
		# As readline splits words: at blanks, and at colons, which are words too.
		read -ra COMP_WORDS <<<"${1//:/ : }"
		[[ $1 != *" " ]] || COMP_WORDS+=("")
		[[ $1 != *: ]] || COMP_WORDS+=("")
		COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
		_accelctl
		printf "%s\n" "${COMPREPLY[@]}"' bash "$1"
}

# offers LINE WORD...: the words are among what the shell offers, which is $got
offers() {
	local line=$1 word
	shift
	got=$(complete_line "$line")
	for word; do
		[[ $'\n'$got$'\n' == *$'\n'"$word"$'\n'* ]] || { echo "'$line' offers no '$word', but: $got"; return 1; }
	done
}

@test "the completion is a clean shell script" {
	accelctl help --completion >completion.bash
	bash -n completion.bash
	if command -v shellcheck >/dev/null; then
		shellcheck -s bash -e SC2207 completion.bash
	fi
}

@test "it completes commands, options, values, devices and files" {
	# shellcheck disable=SC2086 # words
	offers 'accelctl ' $commands --json -d
	offers 'accelctl in' info
	offers 'accelctl power ' get set
	offers 'accelctl power set --mode ' balanced low_power high_performance
	offers 'accelctl top --sort ' share memory
	[ "$(complete_line 'accelctl in')" = info ]
	offers 'accelctl run ' gemm conv attention
	offers 'accelctl explain ' gemm conv attention
	offers 'accelctl tune ' list run export prune verify
	[ "$(complete_line 'accelctl tune r')" = run ]
	offers 'accelctl tune run ' gemm conv attention op
	offers 'accelctl tune run gemm --' --dtype --budget-ms --dir
	offers 'accelctl tune run conv --' --winograd --algorithm
	offers 'accelctl tune run op ' softmax
	offers 'accelctl tune prune --' --older --all
	offers 'accelctl run attention --kv-dtype ' fp32 fp16 bf16 int8
	offers 'accelctl run gemm --d' --dtype --device
	offers 'accelctl run gemm --dtype ' fp32 fp16 bf16 int8 int4
	[ "$(complete_line 'accelctl run gemm --dtype int' | sort | paste -sd,)" = int4,int8 ]
	offers 'accelctl -d sw run gemm --engine ' auto matrix gpu neural
	offers 'accelctl run gemm --act g' gelu gelu_tanh
	offers 'accelctl help ' list run version
	offers 'accelctl info ' sw sw:m1 sw:ultra
	offers 'accelctl -d s' sw sw:m1
	# Behind a colon readline wants the rest only
	offers 'accelctl -d sw:' m1 m2 m3 ultra full
	[ "$(complete_line 'accelctl info -d sw:u')" = ultra ]
	[ "$(complete_line 'accelctl run gemm -d sw:f')" = full ]
	touch matrix.npy 'with blank.npy'
	offers 'accelctl run gemm --a mat' matrix.npy
	offers 'accelctl run gemm --out w' 'with blank.npy'
	mkdir place
	[ "$(complete_line 'accelctl doctor --root p')" = place ]
	[ -z "$(complete_line 'accelctl run gemm -m ')" ]
}

# Options that do not exist, and values that cannot be, are found before --help is done.
@test "everything that completion offers is taken" {
	local all c o v given
	IFS='|' read -ra all <<<"$forms"
	for c in "${all[@]}"; do
		offers "accelctl $c -" --json
		given=()
		for o in $got; do
			case $o in
			-[gmnki]|-r|--batch|--samples|--interval|--time|--buffer|--max-clock|--min-clock|--autosuspend|--group|--seed|--repeat|--threads|--timeout|--p0|--p1|--alpha|--beta) v=16 ;;
			--channels|--height|--width|--filters|--size|--stride|--dilation|--pad|--groups) v=16 ;;
			--queries|--keys|--heads|--kv-heads|--dim|--window|--keep|--scale|--softcap|--page-size|--pieces) v=16 ;;
			--budget-ms|--sample|--older) v=16 ;;
			--kv-dtype) v=int8 ;;
			-f|--filter) v=blur ;;
			--algorithm) v=direct ;;
			-t|--dtype) v=fp32 ;;
			--out-dtype) v=fp16 ;;
			-e|--engine) v=auto ;;
			--act) v=none ;;
			-d|--device|-o|-c|--a|--b|--q|--k|--v|--mask|--scales|--out|--compare|--record|--root|--dir) v=x ;;
			*) v= ;;
			esac
			[ "$o" != -c ] || v=
			case $c:$o in
			top:-r) v= ;;
			top:-s|top:--sort) v=pid ;;
			trace:-t) v=1 ;;
			run\ *:-s) v=1 ;;
			*:--mode) v=balanced ;;
			*:--governor) v=x ;;
			esac
			given+=("$o" ${v:+"$v"})
		done
		# shellcheck disable=SC2086 # words
		ctl 0 $c "${given[@]}" --help
	done
}

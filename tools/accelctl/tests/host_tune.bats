#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# tune: measuring on the in-process device, and the file of what was measured.

load helper

setup() {
	cd "$BATS_TEST_TMPDIR" || exit
	export XDG_CACHE_HOME=$PWD/cache
	file=$XDG_CACHE_HOME/accel/tune/entries.v1
}

# A small convolution with several ways to do it
conv=(conv -d sw --threads 1 --channels 16 --filters 16 --height 14 --width 14 --pad 1 --winograd)

tune_conv() {
	ctl 0 tune run "${conv[@]}" --budget-ms 4000 "$@"
}

@test "nothing is written unless something was measured" {
	ctl 0 tune list -d sw
	[ -z "$output" ]
	has "$stderr" "nothing was measured yet"
	ctl 0 tune list -d sw --json
	json '.schema == "accelctl.tune/1" and .op == "list" and .ok and .entries == []'
	ctl 0 tune export -d sw
	json '.entries == []'
	ctl 0 tune prune -d sw --all
	ctl 0 tune verify -d sw
	tune_conv --dry-run
	[ ! -e cache ]
}

@test "run conv measures the ways, and the file has them" {
	tune_conv --json
	json '.ok and .op == "run conv" and (.entries | length) == 1' \
		'.entries[0] | .state == "valid" and .op == "conv" and .threads == 1 and (.cached | not)' \
		'.entries[0].candidates | length > 2 and ([.[] | select(.winner)] | length) == 1 and ([.[] | select(.default)] | length) == 1' \
		'.entries[0] | .gain >= 1 and .best_ns > 0 and .spent_ns < 4.5e9' \
		".path == \"$file\""
	[ -f "$file" ]
	[ "$(stat -c %a "$file")" = 600 ]
	# Known now, and in words
	tune_conv --json
	json '.entries[0].cached'
	tune_conv
	has "$output" "conv, a fp32 1x16x14x14"
	has "$output" ": known,"
	has "$output" "fastest"
	tune_conv --again --json
	json '.entries[0].cached | not'
	[ "$(wc -l <"$file")" = 1 ]
	ctl 0 tune list -d sw --threads 1
	has "$output" "valid"
	has "$output" "GAIN"
	ctl 0 tune list -d sw --threads 1 --json
	json '.entries | length == 1 and .[0].line == 1'
}

@test "run attention measures fewer pieces" {
	ctl 0 tune run attention -d sw --threads 1 --queries 1 --keys 512 --heads 2 --dim 32 --pieces 4 \
		--budget-ms 4000 --json
	json '[.entries[0].candidates[].hint] | index("1 piece") != null and index("2 pieces") != null'
}

@test "run gemm and run op" {
	ctl 0 tune run gemm -d sw --threads 1 -m 32 -n 32 -k 32 --pack --budget-ms 2000 --json
	json '.ok and (.entries | length) <= 1'
	# A copy is done in one way
	ctl 0 tune run op copy -d sw --in 8x8 --json
	json '.ok and .entries == []'
	ctl 0 tune run op copy -d sw --in 8x8
	has "$output" "one way"
}

@test "a budget that is too short is told" {
	ctl 7 tune run conv -d sw --threads 1 --batch 8 --channels 256 --filters 256 --height 56 --width 56 --pad 1 \
		--budget-ms 1 --json
	json '.ok == false and .error.field == "opts.tune_budget_ms" and .error.name == "ETIME"'
	[ ! -e "$file" ]
}

@test "export writes everything" {
	tune_conv
	ctl 0 tune export -d sw --threads 1
	json '.ok and .op == "export" and (.entries | length) == 1' \
		'.entries[0] | .state == "valid" and (.desc | test("^0:[0-9a-f]{16}")) and (.candidates | length) > 2'
}

@test "entries of other machines, versions and devices are told apart, and pruned" {
	tune_conv
	ctl 0 tune list -d sw:m1 --threads 1 --json
	json '.entries[0].state == "other device"'
	ctl 0 tune list -d sw --threads 2 --json
	json '.entries[0].state == "other device"'
	run env ACCEL_SW_KERNELS=portable accelctl tune list -d sw --threads 1 --json
	json '.entries[0].state | . == "other CPU" or . == "valid"'
	ctl 0 tune prune -d sw:m1 --threads 1 --json
	json '.removed == 0'
	ctl 0 tune prune -d sw --threads 1 --older 1 --json
	json '.removed == 0'
	ctl 0 tune prune -d sw:m1 --threads 1 --devices --json
	json '.removed == 1'
	ctl 0 tune list -d sw --threads 1 --json
	json '.entries == []'
	tune_conv
	ctl 0 tune prune -d sw --all
	has "$output" "1 removed"
}

@test "a corrupt entry is not used, verify says so, prune removes it" {
	tune_conv
	cp "$file" whole
	sed -i 's/"words":"conv/"words":"konv/' "$file"
	ctl 0 tune list -d sw --threads 1
	has "$output" "corrupt"
	ctl 8 tune verify -d sw --threads 1 --json
	json '.ok == false and .corrupt == 1 and .valid == 0 and .measured == 0'
	has "$stderr" "corrupt"
	ctl 0 tune prune -d sw --threads 1
	has "$output" "1 removed"
	ctl 0 tune verify -d sw --threads 1
	# Cut short
	head -c -10 whole >"$file"
	ctl 8 tune verify -d sw --threads 1 --sample 0
	# Measured anew, it is whole
	tune_conv --json
	json '.entries[0].cached | not'
	ctl 0 tune verify -d sw --threads 1 --sample 0 --json
	json '.ok and .valid == 1 and .corrupt == 0'
}

@test "verify measures again, and writes nothing" {
	tune_conv
	sum=$(sha256sum <"$file")
	run --separate-stderr accelctl tune verify -d sw --threads 1 --budget-ms 4000 --json
	# On a machine that is busy with something else it may not hold
	[ "$status" = 0 ] || [ "$status" = 8 ]
	json '.measured == 1 and .entries[0].now_ns > 0 and .entries[0].best_ns > 0' \
		'.entries[0].verdict == (if .lost == 0 then "holds" else "no longer holds" end)'
	[ "$(sha256sum <"$file")" = "$sum" ]
	# An entry whose way is not the fastest by far
	ctl 0 tune verify -d sw --threads 1 --sample 0
	has "$output" "0 measured again"
}

@test "a directory that cannot be written is an error that names it" {
	: >file
	ctl 1 tune run "${conv[@]}" --dir file/below
	has "$stderr" "file/below"
	ctl 0 tune run "${conv[@]}" --dir file/below --dry-run
	ctl 0 tune run "${conv[@]}" --dir own/place
	[ -f own/place/entries.v1 ]
	[ ! -e cache ]
}

#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# On a kernel with the driver and the software device, as root: what goes wrong, seen by those who may do less.

load helper

inject=/sys/kernel/debug/uma_emu

setup_file() {
	tar -C "$BATS_FILE_TMPDIR" -xJf "$BATS_TEST_DIRNAME/../../../examples/zoo/hf.tar.xz"
}

setup() {
	cd "$BATS_TEST_TMPDIR" || exit
}

teardown() {
	rm -rf /results/larger
	[ ! -d /sys/fs/cgroup/larger ] || rmdir /sys/fs/cgroup/larger
	load_modules && settle
}

# The node may be used as soon as its group is set
load_modules() {
	modprobe uma
	modprobe uma_emu
	until [ "$(stat -c %a /dev/accel/accel0 2>/dev/null)" = 660 ]; do
		sleep 0.1
	done
}

# as USER STATUS ARGUMENT...: like ctl, as somebody else
as() {
	local user=$1 want=$2 setpriv
	shift 2
	# busybox has one that cannot do this
	for setpriv in $(type -aP setpriv); do
		if "$setpriv" --help 2>&1 | grep -q -- --reuid; then break; fi
	done
	run --separate-stderr "$setpriv" --reuid="$user" --regid="$(id -g "$user")" --init-groups accelctl "$@"
	if [ "$status" != "$want" ]; then
		echo "as $user: accelctl $*: exit status $status, not $want"
		echo "stdout: $output"
		echo "stderr: $stderr"
		return 1
	fi
}

@test "somebody without the group may not open the node: 4, and is told what to do" {
	as nobody 4 info accel0
	has "$stderr" EACCES
	as nobody 4 run gemm -d accel0 -m 4 -n 4 -k 4 --json
	json '.ok == false and .error.exit_status == 4 and .error.name == "EACCES"'
	as nobody 4 doctor --json
	json '.exit_status == 4' \
		'.checks[] | select(.check == "permission") | .status == "failed" and (.remedy | contains("usermod -aG"))' \
		'.checks[] | select(.check == "group") | .status == "warning" and (.remedy | contains("render"))'
	as nobody 0 list
	grep -qE '^accel0 .* EACCES$' <<<"$output"
	# The in-process device needs nobody's leave, and is what is left to take
	as nobody 0 run gemm -d sw -m 4 -n 4 -k 4 --check
	as nobody 0 run gemm -m 4 -n 4 -k 4 --check
	as tester 0 info accel0
}

@test "what an answer took of energy, by the device's model" {
	ctl 0 generate -m "$BATS_FILE_TMPDIR/hf/llama" -d accel0 --input-ids 1,2,3 -n 4 --greedy --ignore-eos --json
	json '.tokens == 4 and .energy_modelled and .energy_j > 0 and .energy_j < 1000 and .read_share == null'
}

# wider FOLDER OUT N: the model of FOLDER with N times the width of its feed-forward networks
wider() {
	local in=$1/model.safetensors length header begin size times
	read -r length < <(od -A n -t u4 -N 4 "$in")
	mkdir -p "$2"
	jq ".intermediate_size *= $3" "$1/config.json" >"$2/config.json"
	tail -c +9 "$in" | head -c "$length" | jq -r --argjson data $((8 + length)) --argjson n "$3" '
		del(.__metadata__) | to_entries | sort_by(.value.data_offsets) |
		map(.times = if .key | test("mlp") then $n else 1 end | .size = (.value.data_offsets | .[1] - .[0])) |
		(reduce .[] as $t ({at: 0}; .at as $at | ($at + $t.size * $t.times) as $next |
			.all[$t.key] = ($t.value | .data_offsets = [$at, $next] | .shape[if $t.key | test("down") then 1 else 0 end] *= $t.times) |
			.at = $next) | .all | tojson),
		(.[] | "\(.value.data_offsets[0] + $data) \(.size) \(.times)")' >"$2/parts"
	{
		read -r header
		printf '\xf8\x1f\0\0\0\0\0\0%-8184s' "$header"
		while read -r begin size times; do
			tail -c +$((begin + 1)) "$in" | head -c "$size" >"$2/part"
			yes "$2/part" | head -n "$times" | xargs cat
		done
	} <"$2/parts" >"$2/model.safetensors"
}

@test "a model larger than the memory that there is for it: the same tokens" {
	local group=/sys/fs/cgroup/larger limit=$((12 << 20)) limited ahead
	local generate=(generate -m larger -d sw --no-repack --input-ids '1,2,3' -n 2 --greedy --ignore-eos)
	# Pages of a file in the root, which is in memory, cannot be dropped and read again; those of /results can, and not one
	# at a time.
	for ahead in /sys/class/bdi/9p-*/read_ahead_kb; do echo 128 >"$ahead"; done
	mkdir /results/larger
	ln -s /results/larger larger
	wider "$BATS_FILE_TMPDIR/hf/llama" larger 72
	[ "$(stat -c %s larger/model.safetensors)" -gt $((limit * 3 / 2)) ]
	echo +memory >/sys/fs/cgroup/cgroup.subtree_control
	mkdir $group
	echo $limit >$group/memory.max
	# First, as pages that others have read are not charged to it.
	run --separate-stderr bash -c 'echo $$ >'$group'/cgroup.procs; exec accelctl "$@"' - "${generate[@]}"
	limited=$output
	echo "status $status: $stderr"
	[ "$status" = 0 ]
	[ "$(awk '$1 == "max" { print $2 }' $group/memory.events)" -gt 0 ]
	[ "$(awk '$1 == "workingset_refault_file" { print $2 }' $group/memory.stat)" -gt 0 ]
	ctl 0 "${generate[@]}"
	[ "$output" = "$limited" ]
}

@test "what a device has used of energy only root is told" {
	ctl 0 power get -d accel0 --json
	json '.devices[0].energy_uj >= 0'
	as tester 0 power get -d accel0 --json
	json '.devices[0] | .energy_uj == null and .power_mw >= 0 and .temperature_c > 0'
	has "$stderr" "only root may read the energy"
}

@test "files that may not be read or written: 4" {
	ctl 0 run gemm -d sw -m 4 -n 4 -k 4 --out A.npy
	chmod 700 .
	chmod 600 A.npy
	cp A.npy /tmp/closed.npy
	chmod 600 /tmp/closed.npy
	as nobody 4 run gemm -d sw --a /tmp/closed.npy -n 4
	has "$stderr" "/tmp/closed.npy"
	as nobody 4 run gemm -d sw -m 4 -n 4 -k 4 --out /etc/C.npy
	has "$stderr" "/etc/C.npy"
	rm /tmp/closed.npy
}

@test "a job that hangs: 7, and the next one is well" {
	dir=$(echo "$inject"/*)
	[ -w "$dir/hang_next" ]
	engines=$(accelctl info --json accel0 | jq '.engines | length')
	echo $(((1 << engines) - 1)) >"$dir/hang_next"
	as tester 7 run gemm -d accel0 -m 8 -n 8 -k 8 --timeout 200 --json
	echo 0 >"$dir/hang_next"
	json '.ok == false and .error.name == "ETIME" and .error.exit_status == 7'
	as tester 0 run gemm -d accel0 -m 8 -n 8 -k 8 --check
}

@test "the device goes away: 5 while the driver is there, 9 when it is not" {
	rmmod uma_emu
	as tester 5 info accel0
	as tester 5 run gemm -d accel0 -m 4 -n 4 -k 4
	as tester 5 doctor --json
	json '.checks[] | select(.check == "device") | .status == "failed" and (.remedy | contains("modprobe uma_emu"))'
	rmmod uma
	as tester 9 info accel0
	has "$stderr" "modprobe uma"
	as tester 9 run gemm -d /dev/accel/accel0 -m 4 -n 4 -k 4 --json
	json '.error.exit_status == 9'
	as tester 9 doctor --json
	json '.checks[] | select(.check == "module") | .status == "failed" and .exit_status == 9 and (.remedy | contains("modprobe uma"))'
	as tester 0 list
	lacks "$output" '^accel'
	as tester 0 run gemm -m 4 -n 4 -k 4 --check --json
	json '.device == "sw"'
	load_modules
	as tester 0 doctor
	as tester 0 run gemm -d accel0 -m 4 -n 4 -k 4 --check
}

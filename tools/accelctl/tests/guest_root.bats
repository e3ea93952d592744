#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# On a kernel with the driver and the software device, as root: what goes wrong, seen by those who may do less.

load helper

inject=/sys/kernel/debug/uma_emu

setup() {
	cd "$BATS_TEST_TMPDIR" || exit
}

teardown() {
	load_modules
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
	json '.exit_status == 4'
	json '.checks[] | select(.check == "permission") | .status == "failed" and (.remedy | contains("usermod -aG"))'
	json '.checks[] | select(.check == "group") | .status == "warning" and (.remedy | contains("render"))'
	as nobody 0 list
	grep -qE '^accel0 .* EACCES$' <<<"$output"
	# The in-process device needs nobody's leave, and is what is left to take
	as nobody 0 run gemm -d sw -m 4 -n 4 -k 4 --check
	as nobody 0 run gemm -m 4 -n 4 -k 4 --check
	as tester 0 info accel0
}

@test "what an answer took of energy, by the device's model" {
	tar -xJf "$BATS_TEST_DIRNAME/../../../examples/zoo/hf.tar.xz"
	ctl 0 generate -m hf/llama -d accel0 --input-ids 1,2,3 -n 4 --greedy --ignore-eos --json
	json '.tokens == 4 and .energy_modelled and .energy_j > 0 and .energy_j < 1000 and .read_share == null'
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

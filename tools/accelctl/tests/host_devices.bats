#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# list, info, doctor.

load helper

setup() {
	cd "$BATS_TEST_TMPDIR" || exit
}

@test "list has a head and the in-process device" {
	ctl 0 list
	[ -z "$stderr" ]
	[[ ${output%%$'\n'*} =~ ^NAME\ +PATH\ +DRIVER\ +CHIP\ +KIND\ +ACCESS$ ]]
	grep -qE '^sw +- +sw +full +emulated +ok$' <<<"$output"
	lacks "$output" ' $'
}

@test "list -q is names only" {
	ctl 0 list -q
	grep -qx sw <<<"$output"
	lacks "$output" ' '
}

@test "list --json" {
	ctl 0 list --json
	json '.schema == "accelctl.list/1"' \
		'.devices | length >= 1' \
		'[.devices[] | .name, .driver, .access] | all(type == "string")' \
		'[.devices[] | (.emulated | type) == "boolean" and (.access_errno | type) == "number"] | all' \
		'.devices[] | select(.name == "sw") | .path == null and .access == "ok" and .access_errno == 0 and .emulated'
}

@test "info shows versions, limits, memory, engines and operations" {
	ctl 0 info sw:m1
	for word in 'chip m1' versions limits Memory Engines Operations matrix gpu neural gemm fp32 bf16 uint4; do
		has "$output" "$word"
	done
	lacks "$output" ' $'
}

@test "info --json: schema and types" {
	for chip in m1 m2 m3 ultra full; do
		ctl 0 info --json "sw:$chip"
		json '.schema == "accelctl.info/1"' \
			".device.chip == \"$chip\" and .device.emulated and .device.path == null" \
			'.versions | (.library | type) == "string" and (.task | type) == "number" and .uapi == null' \
			'[.limits | .page_bytes, .max_buffer_bytes, .max_job_tasks, .max_timeout_ms, .default_timeout_ms, .timestamp_hz] | all(type == "number" and . > 0)' \
			'.limits.priorities | index("normal") != null' \
			'.memory | length >= 1 and all(.bytes > 0 and (.bandwidth_bytes_per_s | type) == "number")' \
			'.engines | length >= 3' \
			'[.engines[] | .clock_max_mhz, .max_job_tasks, .instance, .node, .index] | all(type == "number")' \
			'[.engines[].engine] | unique == ["gpu", "matrix", "neural"]' \
			'[.engines[].capabilities[] | (.op | type) == "string" and (.a_dtypes | type) == "array" and (.align_bytes | type) == "number" and (.packed | type) == "boolean"] | all' \
			'[.engines[].capabilities[].op | . != null] | all' \
			'.support.matrix.gemm.a_dtypes | index("fp32") != null' \
			'[.support[][] | .a_dtypes, .d_dtypes] | all(type == "array")'
	done
}

@test "m1 and ultra differ as the chips do" {
	ctl 0 info --json sw:m1
	m1=$output
	ctl 0 info --json sw:ultra
	ultra=$output
	[ "$(jq '.memory | length' <<<"$m1")" = 1 ]
	[ "$(jq '.memory | length' <<<"$ultra")" = 2 ]
	[ "$(jq '.engines | length' <<<"$ultra")" -gt "$(jq '.engines | length' <<<"$m1")" ]
	[ "$(jq '[.engines[].node] | unique | length' <<<"$ultra")" = 2 ]
	[ "$(jq -c '.support' <<<"$m1")" != "" ]
}

@test "bf16 on the matrix engine comes with m3" {
	ctl 0 info --json sw:m1
	json '.support.matrix.gemm.a_dtypes | index("bf16") == null'
	ctl 0 info --json sw:m3
	json '.support.matrix.gemm.a_dtypes | index("bf16") != null'
}

@test "devices that are not there, and names that are none" {
	ctl 5 info /dev/null
	has "$stderr" "/dev/null"
	ctl 5 info /dev/there-is-no-such
	ctl 2 info sw:m99
	has "$stderr" "m99"
	one_line "$stderr"
	ctl 2 info -d ''
	has "$stderr" "-d" || has "$stderr" "--device"
}

@test "a node that is not there: 9 without the driver, 5 with it" {
	if [ -d /sys/module/uma ]; then want=5; else want=9; fi
	ctl $want info accel97
	has "$stderr" accel97
	ctl $want info /dev/accel/accel97
	ctl $want run gemm -d accel97 -m 1 -n 1 -k 1
	ctl $want info rec:accel97 --record calls
	if [ "$want" = 9 ]; then has "$stderr" "modprobe uma"; fi
}

@test "rec: records the calls" {
	ctl 0 run gemm -d rec:sw --record calls.json -m 3 -n 4 -k 5 --check
	[ -s calls.json ]
	jq -es 'length > 3 and all(type == "object")' calls.json
}

# --- doctor -------------------------------------------------------------------------------------------------------

@test "doctor of the in-process device is content" {
	ctl 0 doctor -d sw
	has "$output" "0 failures"
	ctl 0 doctor -d sw --json
	json '.schema == "accelctl.doctor/1" and .ok and .failures == 0 and .exit_status == 0' \
		'.checks | length >= 2 and all(.status == "ok")'
}

@test "doctor: each problem is a line, and each has a remedy" {
	run --separate-stderr accelctl doctor --json
	rc=$status
	json '.schema == "accelctl.doctor/1"' \
		".exit_status == $rc" \
		'[.checks[] | (.check | type) == "string" and (.text | type) == "string" and (.text | contains("\n") | not)] | all' \
		'[.checks[] | select(.status == "failed" or .status == "warning") | .remedy | type == "string"] | all' \
		'[.checks[] | select(.status == "ok") | .remedy == null] | all' \
		'(.failures > 0) == (.ok | not)'
	checks=$(jq '.checks | length' <<<"$output")
	remedies=$(jq '[.checks[] | select(.remedy != null)] | length' <<<"$output")
	run --separate-stderr accelctl doctor
	[ "$status" = "$rc" ]
	[ "$(grep -c -- '-> ' <<<"$output")" = "$remedies" ]
	[ "${#lines[@]}" = $((checks + remedies + 1)) ]
}

# A system in a directory, as it should be; $1 is where
make_system() {
	mkdir -p "$1"/proc/sys/kernel "$1"/sys/class/accel/accel0/device "$1"/sys/bus/platform/drivers/uma \
		"$1"/sys/module/uma "$1"/dev/accel "$1"/usr/lib/udev/rules.d "$1"/run/udev "$1"/boot
	echo 6.12.30-test >"$1/proc/sys/kernel/osrelease"
	echo 1.2 >"$1/sys/module/uma/version"
	ln -s ../../../../bus/platform/drivers/uma "$1/sys/class/accel/accel0/device/driver"
	: >"$1/dev/accel/accel0"
	: >"$1/run/udev/control"
	echo 'SUBSYSTEM=="accel", GROUP="render", MODE="0660"' >"$1/usr/lib/udev/rules.d/50-test.rules"
}

# of CHECK STATUS EXIT_STATUS: that check has that outcome
of() {
	json ".checks[] | select(.check == \"$1\") | .status == \"$2\" and .exit_status == $3"
}

@test "doctor --root: a system as it should be" {
	make_system good
	ctl 0 doctor --root good --json
	json '.failures == 0 and .warnings == 0' \
		'[.checks[].check] | contains(["kernel", "subsystem", "module", "device", "permission", "udev"])' \
		'.checks[] | select(.check == "module") | .text | contains("1.2")'
}

@test "doctor --root: what is wrong is found, and the exit status says it" {
	make_system old
	echo 6.1.0-13-amd64 >old/proc/sys/kernel/osrelease
	ctl 8 doctor --root old --json
	of kernel failed 8

	make_system bare
	rm -r bare/sys bare/dev/accel
	ctl 9 doctor --root bare --json
	of module failed 9
	of device failed 5
	of subsystem warning 0
	json '.checks[] | select(.check == "module") | .remedy | contains("make modules")'
	mkdir -p bare/lib/modules/6.12.30-test
	echo 'updates/uma.ko:' >bare/lib/modules/6.12.30-test/modules.dep
	ctl 9 doctor --root bare --json
	json '.checks[] | select(.check == "module") | .remedy == "modprobe uma"'
	echo '# CONFIG_DRM_ACCEL is not set' >bare/boot/config-6.12.30-test
	ctl 3 doctor --root bare --json
	of subsystem failed 3
	echo 'CONFIG_DRM_ACCEL=y' >bare/boot/config-6.12.30-test
	ctl 9 doctor --root bare --json
	of subsystem warning 0

	make_system other
	rm other/sys/class/accel/accel0/device/driver
	mkdir other/sys/bus/platform/drivers/ivpu
	ln -s ../../../../bus/platform/drivers/ivpu other/sys/class/accel/accel0/device/driver
	ctl 5 doctor --root other --json
	of device failed 5
	json '.checks[] | select(.check == "device") | .text | contains("only of others")'

	make_system nonode
	rm nonode/dev/accel/accel0
	ctl 5 doctor --root nonode --json
	of device ok 0
	of permission failed 5

	make_system norule
	echo '# SUBSYSTEM=="accel"' >norule/usr/lib/udev/rules.d/50-test.rules
	ctl 0 doctor --root norule --json
	of udev warning 0
	json '.warnings == 1 and .ok'
}

@test "doctor -d NODE looks at that node only" {
	make_system two
	mkdir -p two/sys/class/accel/accel1/device
	ln -s ../../../../bus/platform/drivers/uma two/sys/class/accel/accel1/device/driver
	: >two/dev/accel/accel1
	ctl 0 doctor --root two --json
	json '[.checks[] | select(.check == "permission")] | length == 2'
	ctl 0 doctor --root two -d accel1 --json
	json '[.checks[] | select(.check == "permission")] | length == 1'
	ctl 0 doctor --root two -d /dev/accel/accel1 --json
	ctl 5 doctor --root two -d accel7 --json
}

@test "doctor --root of nothing" {
	ctl 1 doctor --root nowhere
	has "$stderr" nowhere
}

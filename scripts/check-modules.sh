#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# TAP: the modules build for both test kernels, with W=1, and with sparse where the kernel's makefile takes the one that is
# installed, without a warning; and they stay on their sides of the wall: the driver and the device it drives meet in
# registers and memory, not in symbols.

set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
PATH=$PATH:/usr/sbin:/sbin

n=0
result() {
	n=$((n + 1))
	if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; fi
}

echo 1..10
for kernel in stock debug; do
	out=$(scripts/build-modules.sh $kernel)
	result $? "modules build for the $kernel kernel without a warning"
	rc=0
	if [ -z "$out" ] || [ ! -f "$out/uma.ko" ] || [ ! -f "$out/uma_emu.ko" ]; then
		rc=1
		echo "# no uma.ko or uma_emu.ko in $out"
	fi
	# The build has only a line in its log for that, and goes on.
	no=
	command -v sparse >/dev/null || no="there is none here"
	why=$(grep -o 'C=1 specified, but .*' "${out%/ko}/build.log" 2>/dev/null) && no="$why, says the kernel's makefile"
	result $rc "sparse finds nothing for the $kernel kernel${no:+ # SKIP $no}"
	result $rc "there is a uma.ko and a uma_emu.ko for the $kernel kernel"
	rc=0
	if [ -n "$out" ]; then
		for m in uma:uma_emu uma_emu:uma; do
			modinfo -F depends "$out/${m%%:*}.ko" | tr , '\n' | grep -qx "${m##*:}" &&
				{ echo "# ${m%%:*}.ko uses symbols of ${m##*:}.ko"; rc=1; }
		done
	else
		rc=1
	fi
	result $rc "neither module uses the other's symbols ($kernel)"
done

# Into a system's root, where they are found by their names; into a package, where they lie.
dir=$(mktemp -d)
out=$(make -s modules_install DESTDIR="$dir/destdir" 2>&1) && (cd "$dir"/destdir/lib/modules/*/updates && [ "$(echo *)" = "uma.ko uma_emu.ko" ])
rc=$?
[ $rc = 0 ] || printf '# %s\n' "$out"
result $rc "modules_install puts both modules below DESTDIR"
rel=$(ls "$dir/destdir/lib/modules")
mkdir -p "$dir/root/lib/modules/$rel" && touch "$dir/root/lib/modules/$rel"/modules.{order,builtin,builtin.modinfo}
out=$(make -s modules_install INSTALL_MOD_PATH="$dir/root" 2>&1) && modprobe -d "$dir/root" -S "$rel" -n uma_emu &&
	[ ! -e "$dir/destdir/lib/modules/$rel/modules.dep" ]
rc=$?
[ $rc = 0 ] || printf '# %s\n' "$out"
result $rc "modprobe finds them below INSTALL_MOD_PATH; depmod is not run in DESTDIR"
rm -rf "$dir"
exit 0

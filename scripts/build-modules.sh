#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# build-modules.sh stock|debug           build the modules for a kernel of scripts/kernels.sh; warnings are errors
# build-modules.sh own                   ... for the kernel of the build tree or headers $KDIR; warnings are the user's
#                                        business
# build-modules.sh [--cached] auto       ... for own if KDIR is set, else for the running kernel if its headers are here
#                                        and it will do, else for stock; with --cached, only if that needs no download
#
# The modules end up in build/<kernel>/ko, where <kernel> is stock-6.12..., debug-7... or own-<release>; the name of
# that directory is the last line of stdout. The sources are seen by kbuild through links in build/<kernel>/src, so
# that the tree stays clean and kernels do not disturb each other, on any kernel (MO= came only with 6.13).
#
# Environment: V, JOBS, SPARSE=0 (leave sparse out: build/loose-<kernel>). KCFLAGS is passed on.

set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$top"

die() { printf 'build-modules.sh: %s\n' "$*" >&2; exit 1; }

cached=0
[ "${1:-}" = --cached ] && { cached=1; shift; }
what=${1:-}
strict=1

if [ "$what" = auto ]; then
	running=/lib/modules/$(uname -r)/build
	if [ -n "${KDIR:-}" ]; then
		what=own
	elif KDIR=$running scripts/kernels.sh own kdir >/dev/null 2>&1; then
		export KDIR=$running
		what=own
	elif [ "$cached" = 1 ] && [ ! -f "${XDG_CACHE_HOME:-$HOME/.cache}/uma/stock/.complete" ]; then
		printf '  %-7s %s\n' SKIP "modules: no kernel headers here (make kernels fetches some)" >&2
		exit 0
	else
		what=stock
	fi
fi

case $what in
stock|debug|own)
	[ "$what" != own ] || strict=0
	kdir=$(scripts/kernels.sh "$what" kdir)
	key=$(scripts/kernels.sh "$what" key)
	;;
*) die "which kernel? stock, debug, own or auto" ;;
esac
[ -f driver/uma/Kbuild ] || die "no driver/uma/Kbuild in this tree"

# Make's own options and variables are for our makefile, not for the kernel's, but for its job slots.
jobs=${JOBS:-$(nproc)}
verbose=${V:-0}
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES V O W C M MO VARIANT KDIR KIMAGE KMODULES CFLAGS CC

# What was built without sparse would not be looked at again.
[ "${SPARSE:-1}" = 1 ] || key=loose-$key
out=$top/build/$key
mkdir -p "$out/src" "$out/ko"
exec 9>"$out/.lock"
flock 9

# Mirror: directories are real, files are links; what has left the tree leaves the mirror too.
find "$out/src" -xtype l -delete
list() { echo Kbuild; find driver uapi -type f ! -name '*.mk' ! -name '.*' ! -name '*.o' ! -name '*.rst'; }
while IFS= read -r f; do
	[ -L "$out/src/$f" ] || { mkdir -p "$out/src/$(dirname "$f")" && ln -sfn "$top/$f" "$out/src/$f"; }
done < <(list)

# The same bits wherever the tree lies.
map="-ffile-prefix-map=$out/src/="
args=()
if [ "$strict" = 1 ]; then
	# Information for debuggers takes the compiler long, and no test reads it.
	args+=(W=1 "KCFLAGS=-Werror -g0 $map ${KCFLAGS:-}")
	if [ "${SPARSE:-1}" = 1 ] && command -v sparse >/dev/null; then
		args+=(C=1 "CF=-Wsparse-error")
	fi
else
	args+=("KCFLAGS=$map ${KCFLAGS:-}")
fi
# The kernel's own compiler, if it is here: another one is allowed, but modpost and objtool prefer it.
if [ "$what" != own ] && command -v gcc-12 >/dev/null; then
	[ "$what" = stock ] || args+=(CC=gcc-12 HOSTCC=gcc-12)
fi

log=$out/build.log
rc=0
if [ "$verbose" = 1 ]; then
	make -C "$kdir" M="$out/src" "${args[@]}" -j"$jobs" V=1 modules 2>&1 | tee "$log" >&2 || rc=$?
else
	make -C "$kdir" M="$out/src" "${args[@]}" -j"$jobs" modules >"$log" 2>&1 || rc=$?
	grep -E -A 4 '^  [A-Z]+ .*\.(o|ko)$|warning:|error:|ERROR|WARNING|undefined' "$log" |
		sed "s|$out/src/||" | grep -vE '^  (CHECK|MODPOST)|\.mod\.o$|^make|^--$' >&2 || true
fi
if [ "$rc" != 0 ]; then
	grep -qE 'error|ERROR|undefined' "$log" || tail -n 40 "$log" >&2
	die "the modules do not build for $key (log: $log)"
fi
if [ "$strict" = 1 ] && grep -nEi 'warning' "$log" >&2; then
	# They must not vanish by building again.
	find "$out/src" -name '*.o' -delete
	die "warnings in the build for $key (log: $log)"
fi
# One by one and never half: somebody may be starting a machine with them.
for ko in "$out/ko"/*.ko; do
	[ -n "$(find "$out/src" -name "${ko##*/}")" ] || rm -f "$ko"
done
find "$out/src" -name '*.ko' | while IFS= read -r ko; do
	cp -p "$ko" "$out/ko/.${ko##*/}.new"
	mv "$out/ko/.${ko##*/}.new" "$out/ko/${ko##*/}"
done
echo "$out/ko"

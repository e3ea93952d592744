#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# deps.sh GROUP...: install the Debian packages of the groups that are not here yet, or, without the right to, name them.
# Which target of the makefile needs which groups stands there. Groups:
#
#   build    library and tools          test     programs of the tests, what runs them   lint  the linters
#   modules  modules and their kernel   kernel   building a kernel, too                  vm    the virtual machine
#   docs     the manual                 bench    libraries to compare with               musl   another C library

set -euo pipefail

declare -A packages
packages[build]="gcc libc6-dev make pkg-config linux-libc-dev libdrm-dev libudev-dev libjson-c-dev libpcre2-dev libutf8proc-dev libsndfile1-dev libsoxr-dev libkissfft-dev libncurses-dev libpng-dev libjpeg62-turbo-dev zlib1g-dev xz-utils"
packages[test]="ccache libcmocka-dev libopenblas-dev libdnnl-dev libonnx-dev libonnx-testdata libprotobuf-c-dev
	protobuf-c-compiler bats jq python3 python3-pil fonts-dejavu-core xz-utils clang libclang-rt-dev binutils"
packages[lint]="git mandoc python3 perl g++ clang clang-tidy shellcheck codespell abigail-tools binutils"
# Sources of kernels, which have checkpatch and kernel-doc, come as packages with them.
packages[source]="debian-archive-keyring xz-utils"
packages[modules]="gcc gcc-12 make kmod sparse libelf-dev ${packages[source]}"
packages[kernel]="bc bison flex libssl-dev cpio zstd python3 perl ${packages[modules]}"
packages[vm]="cpio kmod xz-utils zstd util-linux qemu-system-x86 busybox-static bash bats jq python3 libcmocka-dev"
packages[bench]="libopenblas0-pthread libdnnl-dev libxsmm-dev gnuplot-nox jq util-linux"
packages[musl]="musl-tools"
packages[docs]="python3-sphinx python3-sphinx-rtd-theme python3 perl ${packages[source]}"

[ $# -gt 0 ] || { echo "usage: deps.sh GROUP...; groups are ${!packages[*]}" >&2; exit 2; }
want=
for group in "$@"; do
	[ -n "${packages[$group]:-}" ] || { echo "deps.sh: no group $group" >&2; exit 2; }
	want+=" ${packages[$group]}"
done
# shellcheck disable=SC2086 # a list of words
want=$(printf '%s\n' $want | sort -u | paste -sd ' ')

# Another distribution has its own names; then it is the user who knows what to install, and is told so once.
if ! command -v dpkg-query >/dev/null; then
	[ -d build ] || echo "deps.sh: not a Debian system; needed are the counterparts of: $want" >&2
	exit 0
fi

# shellcheck disable=SC2086 # a list of words
have=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' $want 2>/dev/null | sed -n 's/^installed //p' || true)
missing=
for p in $want; do
	grep -qxF "$p" <<<"$have" || missing+=" $p"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" != 0 ]; then
	echo "deps.sh: packages are missing, please run: sudo apt-get install --no-install-recommends$missing" >&2
	exit 1
fi
printf '  %-7s%s\n' APT "$missing" >&2
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# A terminal is told every 20 seconds how far it is.
if [ -t 2 ]; then
	while sleep 20; do
		printf '  %-7s %d minutes: %s\n' APT $((SECONDS / 60)) "$(tail -n 1 "$log" | cut -c 1-100)" >&2
	done 1>&2 &
	trap 'kill $! 2>/dev/null || :; rm -f "$log"' EXIT
fi
install() {
	# shellcheck disable=SC2086
	apt-get install -y -q --no-install-recommends -o DPkg::Lock::Timeout=300 $missing >"$log" 2>&1
}
# The lists may be old or, on a new machine, not there.
install || { apt-get update -q >>"$log" 2>&1 && install; } || {
	tail -n 20 "$log" >&2
	echo "deps.sh: apt-get could not install$missing" >&2
	exit 1
}

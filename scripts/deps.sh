#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# deps.sh GROUP...: install the Debian packages of the groups that are not here yet. Groups: build (library and
# tools), test (unit tests, linters), kernel (modules, kernels, virtual machine), docs, bench (libraries to compare with).

set -euo pipefail

declare -A packages
packages[build]="gcc libc6-dev make pkg-config linux-libc-dev libdrm-dev libudev-dev libjson-c-dev libncurses-dev libpng-dev"
packages[test]="ccache libcmocka-dev libopenblas-dev libdnnl-dev libonnx-dev libonnx-testdata libprotobuf-c-dev
	protobuf-c-compiler bats jq mandoc python3 perl g++ clang clang-tidy libclang-rt-dev shellcheck codespell abigail-tools
	binutils"
packages[kernel]="gcc-12 make bc bison flex libelf-dev libssl-dev kmod cpio xz-utils zstd sparse python3 util-linux
	debian-archive-keyring qemu-system-x86 busybox-static bash"
packages[bench]="libopenblas0-pthread libdnnl-dev libxsmm-dev gnuplot-nox jq util-linux"
packages[docs]="python3-sphinx python3-sphinx-rtd-theme python3"

[ $# -gt 0 ] || { echo "usage: deps.sh build|test|kernel|docs|bench..." >&2; exit 2; }
want=
for group in "$@"; do
	case $group in
	build|test|kernel|docs|bench) want+=" ${packages[$group]}" ;;
	*) echo "deps.sh: no group $group" >&2; exit 2 ;;
	esac
done

# Another distribution has its own names; then it is the user who knows what to install.
if ! command -v dpkg-query >/dev/null; then
	echo "deps.sh: not a Debian system; needed are the counterparts of:$(tr -s ' \t\n' ' ' <<<"$want")" >&2
	exit 0
fi

# shellcheck disable=SC2086 # a list of words
have=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' $want 2>/dev/null | sed -n 's/^installed //p' || true)
missing=
# shellcheck disable=SC2086
for p in $(printf '%s\n' $want | sort -u); do
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

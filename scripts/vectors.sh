#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# vectors.sh [--update]   make sure that the newest operator vectors of ONNX that Debian has are in the cache, beside those of
#                         the installed package; print their directory. With --update the archive is asked for newer ones.

set -euo pipefail
umask 022

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
lists='apt-vectors'
# shellcheck source=scripts/archive.sh
. "$top/scripts/archive.sh"
package=libonnx-testdata

fetch_newest() {
	local name ver dir

	command -v apt-get >/dev/null || die "no apt here"
	mkdir -p "$cache/log"
	lock vectors
	if [ "${1:-}" = --update ] || ! complete "$cache/vectors"; then
		# All suites get what is newer from this one.
		apt_setup sid
		read -r name ver < <(versions "^$package\$" | newest) || die "the archive has no $package"
		dir=$cache/vectors-$(plain "$ver")
		if ! complete "$dir"; then
			rm -rf "$dir"
			fetch "$dir" "$name=$ver"
			echo "$ver" >"$dir/version"
			touch "$dir/.complete"
		fi
		apt_done
		point vectors "$dir"
	fi
	unlock
}

if [ "${1:-}" = --update ] || ! complete "$cache/vectors"; then
	fetch_newest "$@"
fi
echo "$cache/vectors/usr/share/$package/data"

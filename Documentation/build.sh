#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# build.sh DIR HEADER...    the manual as DIR/html, with the kernel-doc of each HEADER as DIR/src/api/<name>.rst
#
# kernel-doc is the kernel's own, from the cached source tree.

set -euo pipefail

dir=$1
shift
kdoc=$(scripts/kernels.sh source source)/scripts/kernel-doc

rm -rf "$dir/src"
mkdir -p "$dir/src/api" "$dir/log"
cp -r Documentation/*.rst Documentation/conf.py Documentation/pictures "$dir/src/"
for h in "$@"; do
	out=$dir/src/api/$(basename "$h" .h).rst
	python3 -B "$kdoc" -rst -Werror "$h" >"$out" 2>"$dir/log/kernel-doc" || {
		cat "$dir/log/kernel-doc" >&2
		exit 1
	}
done
"${SPHINXBUILD:-sphinx-build}" -q -W --keep-going -b html -d "$dir/doctrees" "$dir/src" "$dir/html"

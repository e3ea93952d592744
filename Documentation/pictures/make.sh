#!/bin/sh
# SPDX-License-Identifier: MIT
#
# make.sh [DIRECTORY]: the pictures of the manual, made anew by the accelctl that is in PATH.

set -eu
here=$(dirname "$0")
out=${1:-$here}
"$here/picture.py" make "$out/original.png"
for filter in blur sharpen edge; do
	for type in fp32 int8; do
		accelctl run conv -d sw --a "$out/original.png" --filter $filter --dtype $type --check --repeat 1 \
			--out "$out/$filter-$type.png"
	done
done

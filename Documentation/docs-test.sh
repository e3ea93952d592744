#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# TAP: the manual builds without warnings, and says something about every exported function.

set -uo pipefail
n=0

ok() {
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; fi
}

echo "TAP version 13"
make -s docs >build/docs.log 2>&1
r=$?
[ $r -eq 0 ] || sed 's/^/# /' build/docs.log
ok $r "sphinx builds the manual without a warning"

missing=$(grep -o 'accel_[a-z0-9_]*(' libaccel/include/accel/accel.h | tr -d '(' | sort -u | while read -r f; do
	if grep -q "ACCEL_API.*\b$f(" libaccel/include/accel/accel.h &&
		! grep -q "$f" build/docs/html/libaccel-api.html; then
		echo "$f"
	fi
done)
[ -z "$missing" ] || echo "# undocumented: $missing"
[ -z "$missing" ]
ok $? "every exported function is in the manual"
echo "1..$n"

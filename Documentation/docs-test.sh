#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# TAP: the manual builds without warnings, and says something about every exported function and public header.

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

missing=$(cat libaccel/include/accel/*.h | grep 'ACCEL_API' | grep -o 'accel_[a-z0-9_]*(' | tr -d '(' | sort -u |
	while read -r f; do
		grep -q "$f" build/docs/html/libaccel-api.html || echo "$f"
	done)
[ -z "$missing" ] || echo "# undocumented: $missing"
[ -z "$missing" ]
ok $? "every exported function is in the manual"

# Those of libaccel-models are not in accel.h.
order=$(diff <(grep -o '#include <accel/[a-z_]*' libaccel/include/accel/accel.h | sed 's,.*/,,') \
	<(grep -o 'api/[a-z_]*\.rst' Documentation/libaccel-api.rst | sed 's,api/,,; s,\.rst,,' | grep -vE '^(accel|model|generate|embed|tokenizer|chat|speech)$'))
[ -z "$order" ] || echo "# accel.h < > manual: $(tr '\n' ' ' <<<"$order")"
[ -z "$order" ]
ok $? "the manual has the public headers in the order of accel.h"
echo "1..$n"

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# vm-test.sh stock|debug RESULTS STEPS FILE[:DEST]...
# vm-test.sh stock|debug --shell USER FILE[:DEST]...
#
# One boot of the test machine that runs all the steps listed in STEPS ("layer user seconds kernels path" per line) and,
# on the debug kernel, the KUnit modules (those named *_test) and a search for leaks. What they print comes back as
# RESULTS/<layer>-<kernel>.<name>.tap. Or a shell in that machine. Called by scripts/test.mk.

set -euo pipefail
cd "$(dirname "$0")/.."

kernel=$1 results=$2 steps=$3
shift 3
add=()
for f in "$@"; do add+=(--add "$f"); done

# A user's own kernel takes the place of the stock one.
machine=$kernel
[ "$kernel" != stock ] || [ -z "${KDIR:-}${KIMAGE:-}" ] || machine=own
ko=$(scripts/build-modules.sh "$machine")

if [ "$results" = --shell ]; then
	exec selftests/vm/run.sh --kernel "$machine" --name shell --modules "$ko" --user "$steps" --bin bats --bin jq \
		--env "PROGS=${PROGS:-}" "${add[@]}" --shell
fi
mkdir -p "$results"
from=build/vm/$kernel-test.results
rm -rf "$from"

kunit=
if [ "$kernel" = debug ] && [ "${ONLY:-}" != kselftest ]; then
	kunit=$(for m in "$ko"/*_test.ko; do [ -f "$m" ] && basename "$m" .ko; done | tr '\n' ' ')
fi

list=$(mktemp)
trap 'rm -f "$list"' EXIT
total=300
while read -r layer user seconds kernels path; do
	[ -n "$layer" ] || continue
	case ,$kernels, in *,"$kernel",*) ;; *) continue ;; esac
	echo "$layer-$kernel $user $seconds $path"
	total=$((total + seconds))
done <"$steps" >"$list"
# Every step has a limit of its own; this one is for the machine as a whole.
[ "$total" -lt 4200 ] || total=4200

rc=0
selftests/vm/run.sh --kernel "$machine" --name "$kernel-test" --results "$from" --modules "$ko" --timeout "$total" \
	--bin bats --bin jq --add "$list:/etc/steps" --add selftests/vm/steps.sh:/uma/steps.sh \
	--add selftests/vm/splats:/uma/splats "${add[@]}" \
	--env "KUNIT=$kunit" --env "PROGS=${PROGS:-}" --env "KERNEL=$kernel" --env "ONLY=${ONLY:-}" \
	-- bash /uma/steps.sh || rc=$?

n=0
for f in "$from"/*.tap; do
	[ -f "$f" ] || continue
	cp "$f" "$results/"
	[ ! -f "${f%.tap}.log" ] || cp "${f%.tap}.log" "$results/"
	n=$((n + 1))
done

{
	echo 1..3
	[ $rc != 0 ] && [ $rc != 122 ] && printf 'not '
	echo "ok 1 - the $kernel machine ran all steps (status $rc)"
	[ $rc = 122 ] && printf 'not '
	echo "ok 2 - the kernel log of the $kernel machine is clean (build/vm/$kernel-test.log)"
	[ $n = 0 ] && printf 'not '
	echo "ok 3 - the $kernel machine brought results back"
} >"$results/vm-$kernel.machine.tap"
grep -q '^not ok' "$results/vm-$kernel.machine.tap" && grep '^not ok' "$results/vm-$kernel.machine.tap" >&2
exit 0

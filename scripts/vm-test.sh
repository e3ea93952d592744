#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# vm-test.sh [--again] stock|clock|library|debug RESULTS STEPS FILE[:DEST]...
# vm-test.sh stock|debug --shell USER FILE[:DEST]...
#
# The machine "clock" is "stock" on one processor, with a clock that counts instructions: waiting takes no time there, and
# how busy the host is changes nothing. "library" is "stock" again, for what the library and the command line do.
#
# One boot of the test machine that runs all the steps listed in STEPS ("layer user seconds kernels path inputs..." per
# line) and, on the debug kernel, the KUnit modules (those named *_test) and a search for leaks. What they print comes
# back as RESULTS/<layer>-<kernel>.<name>.tap. Or a shell in that machine. Called by scripts/test.mk.
#
# A step whose pass is kept (scripts/tap-kept) is left out; the machine is not started if nothing is left of it. What
# decides a step is the machine (kernel, modules, what prepares it), its program, and its inputs. A step that failed, in
# a machine that lived on with a clean log, leaves in RESULTS/again how it is run alone (--again: it and no more).

set -euo pipefail
cd "$(dirname "$0")/.."

again=
[ "$1" != --again ] || { again=1; shift; }
boot=$1 results=$2 steps=$3
shift 3
kernel=$boot prefix='' clock=real
case $boot in
clock) kernel=stock prefix=clock- clock=instructions ;;
library) kernel=stock prefix=library- ;;
esac
add=()
for f in "$@"; do add+=(--add "$f"); done

# A user's own kernel takes the place of the stock one.
machine=$kernel
[ "$kernel" != stock ] || [ -z "${KDIR:-}${KIMAGE:-}" ] || machine=own

if [ "$results" = --shell ]; then
	ko=$(scripts/build-modules.sh "$machine")
	exec selftests/vm/run.sh --kernel "$machine" --name shell --modules "$ko" --user "$steps" --bin bats --bin jq \
		--env "PROGS=${PROGS:-}" "${add[@]}" --shell
fi
mkdir -p "$results"
from=build/vm/$boot-test.results
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# --- what is to run -------------------------------------------------------------------------------------------------

# The modules are made of these; how they are compiled does not depend on where.
of_machine="Kbuild driver uapi scripts/build-modules.sh scripts/kernels.sh selftests/vm $(scripts/kernels.sh "$machine" image)"

# kept NAME WORDS INPUTS: is there a pass? Its key is noted for when there is one. Of the library there may be all.
kept() {
	local rc=0 all=
	[[ -z ${ALL:-} || ($2 != *libaccel/* && $2 != *.bats) ]] || all='all '
	scripts/tap-kept get "$results" --words "$boot $all$2" --inputs "$3 $of_machine" >"$work/$1.key" || rc=$?
	return $rc
}
label() { local name=${1%.*}; echo "${name//\//_}"; }

kunit=
[ "$kernel" != debug ] || [ "${ONLY:-}" = kselftest ] || [ -n "$again" ] || kunit=1

total=300 all='' all_inputs=''
: >"$work/steps"
while read -r layer user seconds kernels path inputs; do
	[ -n "$layer" ] || continue
	case ,$kernels, in *,"$boot",*) ;; *) continue ;; esac
	all+=" $path" all_inputs+=" $inputs"
	if [ -z "$again" ] && kept "$layer-$(label "$path")" "$layer-$kernel $user $seconds $path" "$inputs"; then
		printf '  %-7s %-44s %s # cached\n' TEST "$layer-$kernel: $path" \
			"$(scripts/tap-summary --brief "$results/$layer-$kernel.$(label "$path").tap")"
		continue
	fi
	echo "$layer-$kernel $user $seconds $path" >>"$work/steps"
	total=$((total + seconds))
done <"$steps"
# Every step has a limit of its own; this one is for the machine as a whole.
[ "$total" -lt 4200 ] || total=4200

[ -n "$all$kunit" ] || [ -z "${T:-}" ] || exit 0

# What is asked of the machine after all steps: no leak, modules that unload; and the KUnit modules.
if [ -z "$again" ] && kept machine "machine ${ONLY:-}$all" "$all_inputs" && [ ! -s "$work/steps" ]; then
	printf '  %-7s %-44s %s\n' TEST "vm-$kernel: ${prefix}machine" '# cached'
	exit 0
fi

# --- the machine ----------------------------------------------------------------------------------------------------

ko=$(scripts/build-modules.sh "$machine")
if [ -n "$kunit" ]; then
	kunit=$(for m in "$ko"/*_test.ko; do [ -f "$m" ] && basename "$m" .ko; done | tr '\n' ' ')
fi
rm -rf "$from"
rc=0
selftests/vm/run.sh --kernel "$machine" --name "$boot-test" --clock "$clock" --results "$from" --modules "$ko" --timeout "$total" \
	--bin bats --bin jq --add "$work/steps:/etc/steps" --add selftests/vm/steps.sh:/uma/steps.sh \
	--add selftests/vm/splats:/uma/splats "${add[@]}" \
	--env "KUNIT=$kunit" --env "PROGS=${PROGS:-}" --env "KERNEL=$kernel" --env "PREFIX=$prefix" ${ALL:+--env ACCEL_TEST_EVERY=1} --env "ONLY=${ONLY:-}${again:+again}" \
	-- bash /uma/steps.sh || rc=$?

n=0
for f in "$from"/*.tap; do
	[ -f "$f" ] || continue
	cp "$f" "$results/"
	[ ! -f "${f%.tap}.log" ] || cp "${f%.tap}.log" "$results/"
	n=$((n + 1))
done

own=$results/vm-$kernel.${prefix}machine.tap
{
	echo 1..3
	[ $rc != 0 ] && [ $rc != 122 ] && printf 'not '
	echo "ok 1 - the $boot machine ran all steps (status $rc)"
	[ $rc = 122 ] && printf 'not '
	echo "ok 2 - the kernel log of the $boot machine is clean (build/vm/$boot-test.log)"
	[ $n = 0 ] && printf 'not '
	echo "ok 3 - the $boot machine brought results back"
} >"$work/machine.tap"
# Of a machine for one step the first has to be as good as it was.
if [ -z "$again" ] || grep -q '^not ok' "$work/machine.tap"; then
	cp "$work/machine.tap" "$own"
fi
grep '^not ok' "$work/machine.tap" >&2 || :

# --- what is kept, and what is run again ----------------------------------------------------------------------------

good() { [ -f "$1" ] && scripts/tap-summary --brief "$1" >/dev/null; }

# A leak, or a module that stays, may be any step's: then nothing is known of any.
ours=("$own")
for f in "$results/vm-$kernel.$prefix"{unload,log-unload,leaks-loaded,leaks-unloaded}.tap \
		${kunit:+"$results/vm-$kernel".log-kunit-*.tap "$results"/kunit.*.tap}; do
	[ ! -f "$f" ] || ours+=("$f")
done
sound=1
for f in "${ours[@]}"; do
	good "$f" || sound=
done

keep() { [ -n "$again" ] || [ -z "$sound" ] || scripts/tap-kept put "$(cat "$work/$1.key")" "${@:2}"; }
forget() { [ -n "$again" ] || scripts/tap-kept drop "$(cat "$work/$1.key")"; }

while read -r layer user seconds path; do
	name=$(label "$path")
	step=${layer%"-$kernel"}-$name
	tap=$results/$layer.$name.tap
	log=$results/vm-$kernel.${prefix}log-$step.tap
	if good "$tap" && good "$log"; then
		keep "$step" "$tap" "${tap%.tap}.log" "$log"
		continue
	fi
	forget "$step"
	all=failed
	if [ -n "$again" ] || [ ! -f "$tap" ] || ! good "$log"; then
		continue
	fi
	mkdir -p "$results/again"
	while read -r line; do
		[ "$(cut -d ' ' -f 5 <<<"$line")" != "$path" ] || echo "$line" >"$results/again/$layer.$name.step"
	done <"$steps"
	{
		printf 'export KDIR=%q KIMAGE=%q KMODULES=%q PROGS=%q ALL=%q\n' \
			"${KDIR:-}" "${KIMAGE:-}" "${KMODULES:-}" "${PROGS:-}" "${ALL:-}"
		printf 'exec'
		printf ' %q' scripts/vm-test.sh --again "$boot" "$results" "$results/again/$layer.$name.step" "$@"
		echo
	} >"$results/again/$layer.$name.sh"
done <"$work/steps"

if [ -z "$sound" ]; then
	forget machine
elif [ "$all" != failed ]; then
	keep machine "${ours[@]}"
fi
exit 0

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# TAP: the tools that judge the other tests see what they should see. A judge that never says no is the worst defect
# that a test run can have.

set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
n=0

ok() {
	n=$((n + 1))
	if [ "$1" = "$2" ]; then echo "ok $n - $3"; else printf 'not ok %s - %s\n# %s, not %s\n' $n "$3" "$1" "$2"; fi
}

# summary TEXT: what tap-summary makes of a file with that text.
summary() {
	printf '%b' "$1" >"$dir/x.tap"
	scripts/tap-summary --brief "$dir/x.tap"
	echo "$?"
}
tap() { ok "$(summary "$1" | tr '\n' ' ' | sed 's/ $//')" "$2" "$3"; }

tap '1..2\nok 1 a\nok 2 - b\n' '2 ok 0' 'tap-summary: all passed'
tap '1..2\nok 1 a\nnot ok 2 b\n' '1 ok, 1 FAILED 1' 'tap-summary: a failure'
tap '1..3\nok 1 a\nok 2 b\n' '2 ok, 1 FAILED, 3 tests were planned, 2 have a result 1' 'tap-summary: a test is missing'
tap '1..1\nok 1 a\nok 2 b\n' '2 ok, 1 FAILED, 1 tests were planned, 2 have a result 1' 'tap-summary: one too many'
tap 'ok 1 a\n' '1 ok, 1 FAILED, 1 results without a plan 1' 'tap-summary: no plan'
tap 'hello\n' '0 ok, 1 FAILED, no test was run 1' 'tap-summary: no TAP at all'
tap '' '0 ok, 1 FAILED, no test was run 1' 'tap-summary: nothing'
tap '1..0\n' '0 ok, 1 FAILED, an empty plan 1' 'tap-summary: an empty plan'
tap '1..0 # SKIP no device\n' '0 ok, 1 skipped 0' 'tap-summary: a skipped file'
tap '1..2\nok 1 # SKIP a\nnot ok 2 # SKIP b\n' '0 ok, 2 skipped 0' 'tap-summary: skipped tests, two dialects'
tap '1..1\nok 1 a\n# exit status 139\n' '1 ok, 1 FAILED, ended with status 139 although no test failed 1' \
	'tap-summary: a crash after the last test'
tap '1..1\nok 1 a\nBail out! late\n' '1 ok, 1 FAILED, Bail out! late 1' 'tap-summary: bail out'
tap '1..1\nok 1 a\n1..2\nok 1 b\nok 2 c\n' '3 ok 0' 'tap-summary: two groups of one program'
tap '1..2\nok 1 a\n1..2\nok 1 b\nok 2 c\n' '3 ok, 1 FAILED, 2 tests were planned, 1 have a result 1' \
	'tap-summary: the first of two groups broke off'
tap 'KTAP version 1\n1..1\n    1..2\n    ok 1 a\n    ok 2 b\nok 1 s\n' '2 ok 0' 'tap-summary: nested'
tap 'KTAP version 1\n1..1\n    1..2\n    ok 1 a\n    not ok 2 b\nnot ok 1 s\n' '1 ok, 1 FAILED 1' 'tap-summary: nested failure'
tap 'KTAP version 1\n1..1\n    1..1\n    ok 1 a\nnot ok 1 s\n' '1 ok, 1 FAILED 1' 'tap-summary: only the suite failed'
tap 'KTAP version 1\n1..1\n    1..2\n    ok 1 a\nok 1 s\n' '1 ok, 1 FAILED, 2 tests were planned, 1 have a result 1' \
	'tap-summary: a nested test is missing'

mkdir "$dir/r"
printf '1..2\nok 1 a\nok 2 b\n' >"$dir/r/one.x.tap"
out=$(scripts/tap-summary --expect one "$dir/r")
ok "$?:$(tail -n 1 <<<"$out")" "0:2 passed, 0 failed" "tap-summary: closing line"
out=$(scripts/tap-summary --expect 'one two' "$dir/r")
ok "$?:$(tail -n 1 <<<"$out")" "1:2 passed, 1 failed" "tap-summary: a layer without a result"
scripts/tap-run --dir "$dir/r" --timeout 1 two slow sh -c 'echo 1..1; echo ok 1; sleep 20' >/dev/null
out=$(scripts/tap-summary --brief "$dir/r/two.slow.tap")
ok "$?" 1 "tap-run: a program that does not end"
scripts/tap-run --dir "$dir/r" two dead sh -c 'echo 1..1; echo ok 1; kill -SEGV $$' >/dev/null 2>&1
out=$(scripts/tap-summary --brief "$dir/r/two.dead.tap")
ok "$?" 1 "tap-run: a program that crashes"

# A pass is kept until something that decides it changes: a change is planted in each kind, and the program runs again.
kept=$dir/kept
mkdir -p "$kept/data/sub"
echo 'int f(void); int f(void) { return 1; }' >"$kept/lib.c"
printf '#include <stdio.h>\nint f(void);\nint main(void) { printf("1..1\\nok 1 - %%d\\n", f()); fprintf(stderr, "ran\\n"); return 0; }\n' >"$kept/prog.c"
build_kept() {
	gcc -shared -fPIC -o "$kept/libkept.so" "$kept/lib.c" &&
		gcc -o "$kept/prog" "$kept/prog.c" -L"$kept" -lkept -Wl,-rpath,"$kept"
}
build_kept
for f in data/sub/file data/old argument; do echo 1 >"$kept/$f"; done
# run_kept [VARIABLE=VALUE]... -- [ARG...]: does the program run, or is its pass taken?
run_kept() {
	local vars=()
	while [ "$1" != -- ]; do vars+=("$1"); shift; done
	shift
	env XDG_CACHE_HOME="$kept/cache" FRESH= "${vars[@]}" scripts/tap-run --dir "$kept/results" --inputs "$kept/data $kept/later" \
		"${layer:-kept}" test "$kept/prog" "$@" | grep -q '# cached$' && echo cached || echo ran
}
# changed WHAT COMMAND: it runs after COMMAND, once
changed() {
	eval "$2"
	ok "$(run_kept -- "$kept/argument") $(run_kept -- "$kept/argument")" "ran cached" "kept results: $1 counts"
}
ok "$(run_kept -- "$kept/argument") $(run_kept -- "$kept/argument")" "ran cached" "kept results: a pass is taken"
ok "$(scripts/tap-summary --brief "$kept/results/kept.test.tap")" "1 ok" "kept results: what was passed is counted"
# shellcheck disable=SC2016 # for eval
{
	changed "the content of a file" 'echo 2 >"$kept/data/sub/file"'
	changed "a file that has come" 'echo 1 >"$kept/data/new"'
	changed "a file that has gone" 'rm "$kept/data/old"'
	changed "a file's name" 'mv "$kept/data/sub/file" "$kept/data/sub/other"'
	changed "the right to execute" 'chmod +x "$kept/data/sub/other"'
	changed "what was named and not there" 'echo 1 >"$kept/later"'
	changed "the content of an argument" 'echo 2 >"$kept/argument"'
	changed "the program" 'echo "/* */ int g(void); int g(void) { return 2; }" >>"$kept/prog.c"; build_kept'
	changed "a library" 'sed -i "s/return 1/return 2/" "$kept/lib.c"; build_kept'
}
ok "$(run_kept -- other) $(run_kept -- other)" "ran cached" "kept results: arguments count"
ok "$(run_kept ACCEL_X=1 -- other) $(run_kept ACCEL_X=1 -- other) $(run_kept ACCEL_X=2 -- other)" "ran cached ran" \
	"kept results: variables count"
ok "$(layer=else run_kept -- other)" ran "kept results: the layer counts"
ok "$(run_kept FRESH=1 -- other) $(run_kept -- other)" "ran cached" "kept results: FRESH=1 runs everything"
sed -i 's/return 0; }/return f() == 3; }/' "$kept/prog.c"
build_kept
sed -i 's/return 2/return 3/' "$kept/lib.c"
build_kept
ok "$(run_kept -- other) $(run_kept -- other)" "ran ran" "kept results: no failure is kept"
ok "$(test -f "$kept/results/again/kept.test.sh" && echo again)" again "tap-run: a failure can be run again"
# Another clone finds what this one kept: the key of the same bits is the same, before and behind the system's paths.
keys=
for place in "$dir/clone" /dev/shm/"uma-clone.$$"; do
	mkdir -p "$place/scripts" "$place/data"
	cp scripts/tap-run scripts/tap-kept scripts/tap-summary "$place/scripts"
	cp "$kept/argument" "$place/data/file"
	keys+=" $(cd "$place" && scripts/tap-kept key --words x --inputs data -- bash data/file "$place/data/file")"
	[ "$place" = "$dir/clone" ] || rm -rf "$place"
done
# shellcheck disable=SC2086 # two words
ok "$(printf '%s\n' $keys | sort | uniq -c | tr -s ' ' | cut -d ' ' -f 2)" 2 "kept results: another clone finds them"
# Sources without findings are known again by the files that they are made of, until one of these, or how it is read, changes.
tidy=$dir/tidy
mkdir -p "$tidy/kept"
echo '#include "a.h"' >"$tidy/a.c"
: >"$tidy/a.h"
line="$tidy/a.c -DA"
# tidy_todo [KNOWN [LINE]]: how many sources are to be looked at?
tidy_todo() { TIDY_KNOWN=${1:-x} scripts/tidy-kept todo "$tidy/kept" <<<"${2:-$line}" | grep -c .; }
tidy_seen() {
	gcc -E -MD -MF "$tidy/a.d" "$tidy/a.c" >/dev/null
	printf '%s\t%s\n' "$tidy/a.d" "$line" | TIDY_KNOWN=x scripts/tidy-kept seen "$tidy/kept" "$1"
}
tidy_seen 0
ok "$(tidy_todo)" 1 "clang-tidy: what changes meanwhile is not kept"
tidy_seen "$(($(date +%s) + 2))"
ok "$(tidy_todo) $(tidy_todo y) $(tidy_todo x "$line -DB")" "0 1 1" "clang-tidy: a clean source is known, with the same flags and settings"
echo '/* */' >"$tidy/a.h"
ok "$(tidy_todo)" 1 "clang-tidy: the content of a header counts"
: >"$tidy/a.h"
echo '/* */' >>"$tidy/a.c"
ok "$(tidy_todo)" 1 "clang-tidy: the content of a source counts"

# What passes then is unsteady, and says so; what does not has failed; a sanitizer's report is final.
sed -i 's/return 3/return 2/' "$kept/lib.c"
build_kept
XDG_CACHE_HOME="$kept/cache" scripts/tap-again "$kept/results" >/dev/null
out=$(scripts/tap-summary "$kept/results")
ok "$?:$(grep -c '^unsteady: kept: test ' <<<"$out")" 0:1 "tap-again: what passes alone is unsteady"
ok "$(run_kept -- other)" ran "tap-again: the pass of an unsteady program is not kept"
sed -i 's/return 2/return 3/' "$kept/lib.c"
build_kept
ok "$(run_kept -- other)" ran "kept results: it fails anew"
XDG_CACHE_HOME="$kept/cache" scripts/tap-again "$kept/results" >/dev/null
scripts/tap-summary "$kept/results" >/dev/null
ok "$?" 1 "tap-again: what fails alone has failed"
sed -i 's/return 3/return 2/' "$kept/lib.c"
build_kept
echo 'x.c:1: runtime error: shift' >>"$kept/results/kept.test.log"
ok "$(scripts/tap-again "$kept/results" | grep -c "not after a sanitizer's report")" 1 "tap-again: a sanitizer's report is final"

# The kernel's ways to complain, and what is none.
splat() {
	printf '[    1.0] %s\n' "$1" | selftests/vm/splats >/dev/null
	ok "$?" "$2" "splats: $1"
}
for line in 'WARNING: CPU: 0 PID: 1 at kernel/x.c:1 f+0x1/0x2' 'BUG: KASAN: slab-use-after-free in f+0x1' \
	'WARNING: possible circular locking dependency detected' 'UBSAN: shift-out-of-bounds in x.c:1' \
	'INFO: task x:1 blocked for more than 120 seconds.' 'rcu: INFO: rcu_preempt self-detected stall on CPU' \
	'watchdog: BUG: soft lockup - CPU#0 stuck' 'refcount_t: underflow; use-after-free.' 'Oops: 0000 [#1] SMP' \
	'kmemleak: 3 new suspected memory leaks (see /sys/kernel/debug/kmemleak)' 'list_add corruption. next->prev' \
	'ODEBUG: free active (active state 0) object' 'DMA-API: x: device driver frees DMA memory with wrong function' \
	'Kernel panic - not syncing: x' 'WARNING: suspicious RCU usage' 'x: Unknown symbol uma_y (err -2)' \
	'BUG: sleeping function called from invalid context at x.c:1' 'general protection fault, probably for'; do
	splat "$line" 1
done
for line in 'kmemleak: Kernel memory leak detector initialized' 'DMA-API: debugging enabled by kernel config' \
	'uma: loading out-of-tree module taints kernel.' 'rcu: RCU callback double-/use-after-free debug is enabled.' \
	'kasan: KernelAddressSanitizer initialized' 'uma uma.0: [drm] gpu0: job 3 of trainer[811] hung' \
	'uma uma.0: [drm] matrix0: job 12 of trainer[811] faulted: reason 2 at 0x10003000' \
	'uma uma.0: [drm] gpu0 was reset' 'uma uma.0: [drm] too hot, the clock is lowered'; do
	splat "$line" 0
done
printf '[ 1.0] WARNING: meant\n' | selftests/vm/splats 'WARNING: meant' >/dev/null
ok $? 0 "splats: an expected message"

# Every target names what it lacks to who may not install it, in one line, before it begins.
mkdir "$dir/bin"
printf '#!/bin/sh\n' >"$dir/bin/dpkg-query"
printf '#!/bin/sh\necho 1000\n' >"$dir/bin/id"
chmod +x "$dir/bin"/*
lacks() { env -u MAKELEVEL -u MAKEFLAGS PATH="$dir/bin:$PATH" make "$@" 2>&1; }
while read -r goal package; do
	out=$(lacks "$goal")
	ok "$?:$(grep -c . <<<"$out"):$(grep -c "^deps.sh: .* $package\( \|\$\)" <<<"$out")" 2:2:1 "make $goal names $package"
done <<-END
	all gcc
	demo libdrm-dev
	install libpng-dev
	unit libcmocka-dev
	bench libxsmm-dev
	docs python3-sphinx
	lint shellcheck
	modules gcc-12
	modules_install kmod
	vm-stock qemu-system-x86
	vm-debug libelf-dev
	test python3-sphinx
END
out=$(lacks help)
ok $? 0 "make help needs no package"
ok "$(lacks unit -n | grep -c deps.sh)" 0 "make -n asks for none"
ok "$(lacks install DEPS=0 prefix=here | grep -oE 'deps.sh|absolute')" absolute "DEPS=0 asks for none"

# A library to compare with that has come since is compiled in.
object=$dir/b/default/tools/accelbench/peers.o
make_object() { env -u MAKELEVEL -u MAKEFLAGS make DEPS=0 CCACHE= B="$dir/b" "$object" accelbench-peers="$1" 2>&1; }
make_object '' >/dev/null
ok "$(make_object ' ' | grep -c 'up to date')" 1 "make finds nothing to do for accelbench"
ok "$(make_object dnnl | grep -c 'CC .*peers.c')" 1 "make compiles accelbench anew for a library that has come"

# A kernel of the user's: headers are enough, their modules are found, and one that will not do is refused at once.
kdir=$dir/sys/usr/src/linux-headers-6.12.1
mkdir -p "$kdir/include/config" "$dir/sys/lib/modules/6.12.1/kernel"
echo 6.12.1 >"$kdir/include/config/kernel.release"
printf 'CONFIG_%s=y\n' DRM_SCHED DRM_EXEC DRM_GPUVM DRM_GEM_SHMEM_HELPER CONFIGFS_FS >"$kdir/include/config/auto.conf"
ok "$(lacks vm-stock DEPS=0 KDIR="$kdir" | grep -oE '^kernels.sh: KDIR=.*CONFIG_DRM_ACCEL|not for this kernel' | wc -l)" 2 \
	"make refuses a kernel without CONFIG_DRM_ACCEL, and says which option"
echo CONFIG_DRM_ACCEL=y >>"$kdir/include/config/auto.conf"
ok "$(KDIR=$kdir scripts/kernels.sh own modules 2>&1)" "$dir/sys" "the modules beside a kernel's headers are found"
ok "$(KDIR=$kdir KMODULES=$dir scripts/kernels.sh own modules 2>&1 | grep -c 'KMODULES= has to name')" 1 \
	"modules that are not there are asked for"
head -c 2048 /dev/zero >"$dir/image"
printf '\0\2' | dd of="$dir/image" bs=1 seek=526 conv=notrunc status=none
printf '6.13.5 (somebody)\0' | dd of="$dir/image" bs=1 seek=1024 conv=notrunc status=none
ok "$(KDIR=$kdir KIMAGE=$dir/image scripts/kernels.sh own image 2>&1 | grep -o "KIMAGE=.* of '6.13.5'" | wc -l)" 1 \
	"an image of another kernel than the headers is refused"

echo "1..$n"

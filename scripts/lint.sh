#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# lint.sh RESULTS OBJDIR [CHECK...]: static checks, each a TAP file RESULTS/lint.<check>.tap; all checks by default.
# lint.sh --run CHECK OBJDIR:        one check, TAP on stdout
#
# A check is a function check_NAME below; the comment above it says what it is for. One that finds nothing to look at
# fails, for it would otherwise be green for ever. (The W=1 and sparse builds of the modules are the "modules" layer.)

set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

checks="walls rt spdx paths length shellcheck codespell checkpatch kernel_doc uapi cplusplus symbols abi install tools clang_tidy"
jobs=$(nproc)
# Sources that clang-tidy (as the preprocessor leaves them) and checkpatch had nothing to say about
tidy_cache=${XDG_CACHE_HOME:-$HOME/.cache}/uma/tidy
patch_cache=${XDG_CACHE_HOME:-$HOME/.cache}/uma/checkpatch
cc=${CC:-gcc}

n=0
failures=0
# result STATUS DESCRIPTION [OUTPUT]: one line of TAP and, if it failed, why.
result() {
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n - $2"
	else
		echo "not ok $n - $2"
		failures=$((failures + 1))
		[ -z "${3:-}" ] || head -n 60 <<<"$3" | sed 's/^/# /'
	fi
}

# none DESCRIPTION OUTPUT: passes if OUTPUT is empty.
none() {
	[ -z "$2" ]
	result $? "$1" "$2"
}

# Everything that is in the tree: committed, or about to be.
files() { git ls-files --cached --others --exclude-standard -- "$@" | while IFS= read -r f; do [ -f "$f" ] && echo "$f"; done; }
c_files() { files '*.c' '*.h'; }
# scripts_of INTERPRETER SUFFIX PATH...: those of its language, by suffix or first line, as an extended regular expression
scripts_of() {
	local first f
	files "${@:3}" | while IFS= read -r f; do
		case $f in
		*.bats) ;;
		*."$2") echo "$f" ;;
		*)
			IFS= read -r -n 2 first <"$f" && [ "$first" = '#!' ] && read -r first <"$f" &&
				[[ $first =~ [/\ ]($1)(\ |$) ]] && echo "$f"
			;;
		esac
	done
}

some() { [ -n "$1" ] || { result 1 "there is something for this check to look at"; return 1; }; }

# The include walls between the parts, and that their checker finds a breach in each.
check_walls() {
	exec scripts/check-walls --test
}

# Where a kernel's spinlocks sleep (PREEMPT_RT), none can be taken with interrupts or preemption off by other means: the
# driver leaves both to its locks.
check_rt() {
	local out list
	list=$(files 'driver/*.c')
	some "$list" || return
	out=$(xargs -d '\n' grep -nE '\b(local_irq_(save|disable)|preempt_disable|get_cpu)\b' <<<"$list")
	none "the driver turns off interrupts and preemption by its locks only" "$out"
}

# A licence in the first lines of every file, and the licence that its place asks for.
check_spdx() {
	local f lines line bad='' odd='' tag
	while IFS= read -r f; do
		case $f in
		LICENSES/*|*.tar.xz|*.npy|*.npz|*.onnx|*.safetensors|examples/austen/*.json|examples/speech/*.json|*.wav|examples/austen/eval.txt|*.bin|*.png|.gitattributes|*/testdata/*|*/corpus/*) continue ;;
		esac
		mapfile -t -n 5 lines <"$f"
		tag=''
		for line in "${lines[@]}"; do
			case $line in *SPDX-License-Identifier:*) tag=${line##*SPDX-License-Identifier:}; break ;; esac
		done
		tag=${tag%\*/}
		read -r tag <<<"${tag%-->}"
		if [ -z "$tag" ]; then
			bad+="$f"$'\n'
			continue
		fi
		case $f:$tag in
		*.mk:MIT) ;;
		driver/*:"GPL-2.0 OR MIT"|selftests/*:"GPL-2.0 OR MIT") ;;
		driver/*|selftests/*) odd+="$f: $tag"$'\n' ;;
		uapi/*:MIT|libaccel/*:MIT|tools/*:MIT) ;;
		# What a kernel header that user space includes says of itself.
		uapi/*:*WITH\ Linux-syscall-note*) odd+="$f: $tag"$'\n' ;;
		uapi/*|libaccel/*|tools/*) odd+="$f: $tag"$'\n' ;;
		esac
	done < <(files)
	none "every file says its licence in its first lines" "$bad"
	none "the licence is the one of its part" "$odd"
	[ -f LICENSES/MIT ] && [ -f LICENSES/GPL-2.0 ]
	result $? "the texts of the licences are there"
}

# Paths of one machine have no place in the tree.
check_paths() {
	local out pattern
	# In pieces, so that this file does not find itself.
	pattern="(^|[^A-Za-z0-9_.\$}/-])/(wo""rk|ho""me/[a-z]|ro""ot/|Us""ers/)"
	out=$(files | grep -v '^LICENSES/' | xargs -d '\n' grep -nIE "$pattern" 2>/dev/null |
		grep -vE 'selftests/vm/(init|run\.sh|steps\.sh):')
	none "no path of somebody's machine" "$out"
	out=$(git rev-parse --show-toplevel 2>/dev/null)
	out=$(files | xargs -d '\n' grep -nIF -- "$out/" 2>/dev/null)
	none "no path of this checkout" "$out"
}

# A file that grows too long is two files; one that has to be long says why in its first lines.
check_length() {
	local f lines out=''
	while read -r lines f; do
		[ "$lines" -le 700 ] || [ "$f" = total ] || head -n 30 "$f" | grep -qiE 'one (header|file|table)\b' ||
			out+="$f: $lines lines"$'\n'
	done < <(files '*.c' '*.h' '*.sh' '*.py' '*.mk' 'scripts/*' Makefile | xargs -d '\n' wc -l)
	none "no file above 700 lines without a reason in its first lines" "$out"
	out=$(files libaccel | sed 's,/[^/]*$,,' | sort | uniq -c | awk '$1 > 45 { print $2 ": " $1 " files" }')
	none "no folder of the library above 45 files" "$out"
	echo "# the longest files:"
	files '*.c' '*.h' | xargs -d '\n' wc -l 2>/dev/null | grep -v ' total$' | sort -rn | head -n 8 | sed 's/^/# /'
}

check_shellcheck() {
	local list out bats
	list=$(scripts_of '(ba|da)?sh' sh)
	some "$list" || return
	out=$(xargs -d '\n' shellcheck -x -e SC1091 <<<"$list" 2>&1)
	none "shellcheck has nothing to say" "$out"
	bats=$(files '*.bats')
	if [ -n "$bats" ]; then
		# SC2030, SC2031: a bats test is a subshell; SC2154: status and output come from bats, which also
		# stops at the first command that fails (SC2164).
		out=$(xargs -d '\n' shellcheck -s bats -x -e SC1091,SC2030,SC2031,SC2154,SC2164 <<<"$bats" 2>&1)
		none "shellcheck has nothing to say about the bats files" "$out"
	fi
	list=$(scripts_of 'python3?' py scripts '*.py')
	some "$list" || return
	out=$(xargs -d '\n' python3 -W error -c 'import ast, pathlib, sys
for path in sys.argv[1:]:
    ast.parse(pathlib.Path(path).read_text(), path)' <<<"$list" 2>&1)
	none "python files parse without a warning" "$out"
}

check_codespell() {
	local out
	# Words that are right here: abbreviations and identifiers.
	out=$(files | grep -vE '^LICENSES/|/testdata/|^examples/(austen|speech)/.*\.(json|txt)$|\.(onnx|npz|safetensors|wav)$' | xargs -d '\n' codespell -q 3 \
		-L 'ans,ba,bu,crate,fo,hist,inout,mis,nd,ot,parm,ro,sie,te,ue,wth,ois,numer,stdio,als,ser,ned,asend,iff,ths,tread,filp' 2>&1)
	none "codespell finds no mistake" "$out"
}

# Kernel style, by the kernel's own checker, for all C: .checkpatch.conf says what is left out and why.
check_checkpatch() {
	local src list out='' tool sum file
	src=$(scripts/kernels.sh source) || { result 1 "there is a kernel source to take checkpatch from"; return; }
	list=$(c_files)
	some "$list" || return
	tool=$(cat .checkpatch.conf "$src"/scripts/{checkpatch.pl,spelling.txt,const_structs.checkpatch} | sha256sum | cut -c1-16)
	mkdir -p "$patch_cache/$tool" && find "$patch_cache" -type f -mtime +30 -delete
	# The path takes part: what is a header, or under tests, is judged by it.
	list=$(xargs -d '\n' sha256sum <<<"$list" | while read -r sum file; do
		[ -f "$patch_cache/$tool/$sum-${file//\//-}" ] || echo "$file"
	done)
	[ -z "$list" ] || out=$(xargs -d '\n' -n 8 -P "$jobs" "$src/scripts/checkpatch.pl" --terse --show-types \
		--no-summary -f <<<"$list" 2>&1 | grep -vE '^(total:|$)' | sort)
	none "checkpatch --strict has nothing to say" "$out"
	[ -n "$list" ] || return
	# A line that names no file is about the tool itself: then nothing counts as seen.
	grep -qvE '^[^: ]+:[0-9]+: ' <<<"$out" && [ -n "$out" ] && return
	xargs -d '\n' sha256sum <<<"$list" | while read -r sum file; do
		grep -qF "$file:" <<<"$out" || : >"$patch_cache/$tool/$sum-${file//\//-}"
	done
}

# Kernel-doc of everything that has some; -Wall is about what is missing inside a comment that is there.
check_kernel_doc() {
	local src list out
	src=$(scripts/kernels.sh source) || { result 1 "there is a kernel source to take kernel-doc from"; return; }
	list=$(files 'uapi/*.h' 'libaccel/include/*.h' 'driver/*.[ch]')
	some "$list" || return
	out=$(xargs -d '\n' "$src/scripts/kernel-doc" -none -Werror <<<"$list" 2>&1 | sort -u)
	none "kernel-doc has no warning" "$out"
}

# The user-space ABI in every mode that a caller may compile it in, with the assertions of selftests/uapi/*.c.
check_uapi() {
	local h mode out list asserts sys
	list=$(files 'uapi/*.h')
	some "$list" || return
	asserts=$(files 'selftests/uapi/*.c')
	some "$asserts" || return
	# The kernel's headers serve 32 bits as well; the C library's are not needed.
	sys=$("$cc" -print-multiarch 2>/dev/null)
	for mode in "gcc -m64 -std=c90 -pedantic" "gcc -m32 -std=c90 -pedantic" "gcc -m64 -std=c11" "g++ -m64 -std=c++11" \
			"g++ -m32 -std=c++17" "clang -m64 -std=c90 -pedantic" "clang -m32 -std=c11" "clang++ -m64 -std=c++17"; do
		out=''
		while IFS= read -r h; do
			# __u64 is long long, which C90 does not have: the kernel's types.h is marked as an extension.
			out+=$(echo "#include \"${h##*/}\"" | uapi_compile "$mode" - 2>&1)
		done <<<"$list"
		none "the headers compile by themselves: $mode" "$out"
	done
	for mode in "gcc -m64 -std=c11" "gcc -m32 -std=c11" "clang -m64 -std=c11" "clang -m32 -std=c11" \
			"g++ -m64 -std=c++11" "g++ -m32 -std=c++11"; do
		out=''
		while IFS= read -r h; do
			out+=$(uapi_compile "$mode" "$h" 2>&1)
		done <<<"$asserts"
		none "sizes and offsets are those of the ABI: $mode" "$out"
	done
	# An assertion that is not compiled proves nothing: break one.
	out=$(head -n 1 <<<"$asserts" | xargs sed '0,/==/s//!=/' | uapi_compile "gcc -m64 -std=c11" - 2>&1)
	[ -n "$out" ]
	result $? "a wrong size would be noticed"
}

uapi_compile() {
	local mode=$1 lang=c
	case $mode in *++*) lang=c++ ;; esac
	# shellcheck disable=SC2086 # a compiler and its options
	$mode -x $lang -fsyntax-only -Wall -Wextra -Werror -Wno-long-long -Iuapi/drm -Iselftests/uapi \
		-idirafter /usr/include/libdrm -idirafter "/usr/include/$sys" "$2"
}

# Every _INIT of a public header in every standard of C++, by both compilers, with all warnings: it compiles, the bytes are
# those of C, and what the library exports can be called.
check_cplusplus() {
	local lib=$1/libaccel/libaccel.so dir out list macro type mode first='' differ=''
	out=$(make --no-print-directory "$lib" 2>&1) || { result 1 "the library builds" "$out"; return; }
	dir=$(mktemp -d)
	# ACCEL_THIS_INIT is of struct accel_this, but for the name of a function.
	list=$(sed -nE 's/^#define (ACCEL_([A-Z0-9_]+)_INIT(\([a-z, ]+\))?)[ \t].*/\1\t\L\2/p' libaccel/include/accel/*.h |
		grep -v '^ACCEL_OPERATORS_INIT' | sed -E 's/\(type, op\)/(struct accel_desc, 1)/; s/\(path\)/(NULL)/; s/\([a-z]+\)/(1)/')
	some "$list" || return
	{
		# Headers of the library of models are not in accel.h.
		(cd libaccel/include && printf '#include <%s>\n' accel/*.h)
		printf '#include <stdio.h>\n#include <string.h>\n'
		printf 'static void show(const char *name, const void *p, size_t size)\n{\n\tsize_t i;\n\n'
		printf '\tprintf("%%s:", name);\n\tfor (i = 0; i < size; i++)\n'
		printf '\t\tprintf(" %%02x", ((const unsigned char *)p)[i]);\n\tprintf("\\n");\n}\n'
		printf 'int main(void)\n{\n\tstruct accel_error e = ACCEL_ERROR_INIT;\n\n'
		while IFS=$'\t' read -r macro type; do
			printf '\t{ static struct accel_%s v; struct accel_%s w = %s; memcpy(&v, &w, sizeof(v)); show("%s", &v, sizeof(v)); }\n' \
				"$type" "$type" "$macro" "$type"
		done <<<"$list"
		printf '\treturn accel_infer(NULL, &e) + e.code == 0;\n}\n'
	} >"$dir/init.c"
	for mode in "gcc -x c -std=c11" {g++,clang++}" -x c++ -std=c++"{11,14,17,20,2b}; do
		# shellcheck disable=SC2086 # a compiler, a language and its standard
		out=$($mode -O1 -pedantic-errors -Wall -Wextra -Werror -Ilibaccel/include -o "$dir/init" "$dir/init.c" \
			-Wl,-rpath,"$PWD/$(dirname "$lib")" -x none "$lib" 2>&1 && "$dir/init" >"$dir/out")
		result $? "a program with every _INIT compiles and runs: $mode" "$out"
		[ -n "$first" ] || cp "$dir/out" "$dir/${first:=first}"
		differ+=$(cmp "$dir/first" "$dir/out" 2>&1)
	done
	none "$(wc -l <<<"$list") of them are the same in C and C++" "$differ"
	rm -rf "$dir"
}

# What a library exports is what its map file and the public headers say, no more and no less.
check_symbols() {
	symbols_of "$1" libaccel
	symbols_of "$1" libaccel-models
}

symbols_of() {
	local lib=$1/libaccel/$2.so map=libaccel/$2.map out want have bad
	[ -f "$map" ] || { result 1 "there is a $map"; return; }
	out=$(make --no-print-directory "$lib" 2>&1) || { result 1 "$2 builds" "$out"; return; }
	want=$(sed 's,/\*.*\*/,,; s/#.*//' "$map" | sed 's/[;{}]/\n/g' | sed 's/^[ \t]*\(global:\|local:\)\?[ \t]*//; s/[ \t]*$//' |
		grep -E '^[a-z][A-Za-z0-9_]*$' | sort -u)
	have=$(nm -D --defined-only "$lib" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort -u)
	some "$want" || return
	out=$(diff <(echo "$want") <(echo "$have"))
	none "exported symbols of $2 are those of the map file" "$out"
	bad=$(grep -vE '^accel_' <<<"$have")
	none "every exported symbol of $2 starts with accel_" "$bad"
	out=$(nm -D --undefined-only "$lib" | grep -wE 'strerror(_[lr])?')
	none "$2 does not ask the locale what an errno means" "$out"
	out=$(cat libaccel/include/accel/*.h | tr '\n' ' ' | grep -oE '\baccel_[a-z0-9_]+[ ]*\(' | tr -d ' (' | sort -u)
	out=$(comm -23 <(echo "$have") <(echo "$out"))
	none "every exported symbol of $2 is declared in a public header" "$out"
	out=$(make --no-print-directory "${lib%.so}.a" 2>&1) || { result 1 "the archive builds" "$out"; return; }
	out=$(diff <(echo "$want") <(nm -g --defined-only "${lib%.so}.a" 2>/dev/null | awk 'NF == 3 { print $3 }' | sort -u))
	none "the archive of $2 has no other global names than the library" "$out"
	out=$(readelf -d "$lib" | grep -c "SONAME.*$2\.so\.[0-9]")
	[ "$out" = 1 ]
	result $? "$2 has a versioned soname"
	# A library that needs another of ours finds it beside itself, and looks nowhere else.
	# shellcheck disable=SC2016 # the loader's word
	out=$(readelf -d "$lib" | grep -E 'TEXTREL|RPATH|RUNPATH' | grep -vF 'runpath: [$ORIGIN]')
	none "$2 has neither text relocations nor a run path but its own folder" "$out"
}

# The types and functions of a library are those of the last release, as its .abi file has them. A change that is meant
# goes into that file in the same commit: make abi-update.
check_abi() {
	abi_of "$1" libaccel accel_run
	abi_of "$1" libaccel-models accel_model_open
}

abi_of() {
	local lib=$1/libaccel/$2.so base=libaccel/$2.abi out rc
	[ -f "$base" ] || { result 1 "there is a $base"; return; }
	out=$(make --no-print-directory "$lib" 2>&1) || { result 1 "$2 builds" "$out"; return; }
	out=$(abidiff --no-show-locs --headers-dir2 libaccel/include "$base" "$lib" 2>&1)
	rc=$?
	result $rc "the ABI of the library is that of $base" "$out"
	# The same comparison has to notice a function that went: 4 a change, 8 an incompatible one.
	sed "s/'$3'/'accel_gone'/g" "$base" >"$1/older.abi"
	abidiff --headers-dir2 libaccel/include "$1/older.abi" "$lib" >/dev/null 2>&1
	[ $? = 12 ]
	result $? "the comparison notices a function of $2 that is gone"
}

# What is installed works where it lies, belongs to who installed it, is enough to build programs with, and goes again.
check_install() {
	local dir p so owner out list
	dir=$(mktemp -d)
	p=$dir/usr/local so=$(readlink -f "$1/libaccel/libaccel.so")
	make --no-print-directory programs >/dev/null 2>&1
	# Root installs what somebody else has built.
	owner=$(stat -c %u "$so")
	[ "$(id -u)" != 0 ] || chown nobody "$so"
	out=$(make --no-print-directory install prefix="$p" 2>&1)
	result $? "make install" "$out"
	grep -q "LD_LIBRARY_PATH=$p/lib" <<<"$out"
	result $? "make install says how programs find a library that the system does not know" "$out"
	out=$(make --no-print-directory install DESTDIR="$dir/destdir" prefix=/usr 2>&1)
	result $? "make install into a DESTDIR" "$out"
	[ "$(id -u)" != 0 ] || chown "$owner" "$so"
	none "nothing in DESTDIR is said about this system's libraries" "$(grep -F LD_LIBRARY_PATH <<<"$out")"
	list=$(cd "$p" && find . ! -type d | sort)
	out=$(diff <(echo "$list") <(cd "$dir/destdir/usr" && find . ! -type d | sort))
	[ -z "$out" ] && [ "$(grep -c . <<<"$list")" -ge 20 ]
	result $? "both have the same files" "$out"
	none "everything belongs to who installed it" "$(find "$dir" ! -user "$(id -un)")"
	none "nobody else may write to it" "$(find "$dir" ! -type l -perm /022)"
	out=$(for f in "$p"/bin/* "$p"/lib/*.so.*.*; do readelf -S "$f" | grep -q '\.symtab' && echo "$f"; done)
	none "programs and the library have been stripped" "$out"
	# shellcheck disable=SC2016 # the loader's word
	out=$(for f in "$p"/bin/* "$dir"/destdir/usr/bin/*; do readelf -d "$f" | grep -E 'RPATH|RUNPATH' |
		grep -vF '[$ORIGIN/../lib]'; done)
	none "programs look for the library beside themselves only" "$out"
	out=$(env -u LD_LIBRARY_PATH "$p/bin/accelctl" list 2>&1)
	result $? "the installed accelctl runs" "$out"
	out=$(env -u LD_LIBRARY_PATH "$p/bin/accelbench" --help 2>&1)
	result $? "the installed accelbench runs" "$out"
	awk '/^```/ { on = $0 == "```c"; next } on' README.md >"$dir/x.c"
	# shellcheck disable=SC2046 # options
	out=$(cd "$dir" && cc -o x x.c $(PKG_CONFIG_PATH=$p/lib/pkgconfig pkg-config --cflags --libs libaccel) 2>&1 &&
		LD_LIBRARY_PATH=$p/lib ./x 2>&1)
	[ "$out" = $'4 5\n10 11' ]
	result $? "the example of README.md builds with pkg-config, and runs" "$out"
	printf '#include <accel/accel.h>\n#include <accel/model.h>\nint main(void)\n{\n\treturn !accel_model_has_op(NULL, "Conv");\n}\n' \
		>"$dir/m.c"
	# shellcheck disable=SC2046
	out=$(cd "$dir" && cc -o m m.c $(PKG_CONFIG_PATH=$p/lib/pkgconfig pkg-config --cflags --libs libaccel-models) 2>&1 &&
		LD_LIBRARY_PATH=$p/lib ./m 2>&1)
	result $? "so does a program that asks the library of models" "$out"
	# shellcheck disable=SC2046
	out=$(cd "$dir" && cc -o y x.c -I"$p/include" "$p/lib/libaccel.a" \
		$(PKG_CONFIG_PATH=$p/lib/pkgconfig pkg-config --static --libs libaccel | sed 's/-laccel//') 2>&1 && ./y 2>&1)
	[ "$out" = $'4 5\n10 11' ] && ! readelf -d "$dir/y" | grep -q libaccel
	result $? "it builds with the archive" "$out"
	out=$(for h in "$p"/include/accel/*.h; do
		for lang in "c -std=c99" "c++ -std=c++11"; do
			# shellcheck disable=SC2086 # a language and its standard
			cc -x $lang -pedantic -Wall -Wextra -Werror -fsyntax-only -I"$p/include" "$h" 2>&1
		done
	done)
	none "each public header compiles by itself, in C and in C++" "$out"
	# shellcheck disable=SC2046
	out=$(for flags in "-I$p/include" "$(PKG_CONFIG_PATH=$p/lib/pkgconfig pkg-config --cflags libaccel)"; do
		for h in "$p"/include/drm/*.h; do
			# shellcheck disable=SC2086 # a list of options
			cc -fsyntax-only -Wall -Werror -x c $flags - <<<"#include <drm/${h##*/}>" 2>&1
		done
	done)
	none "the headers of the ABI find drm.h, with pkg-config and without" "$out"
	out=$(make --no-print-directory uninstall prefix="$p" 2>&1 &&
		make --no-print-directory uninstall DESTDIR="$dir/destdir" prefix=/usr 2>&1; find "$p" "$dir/destdir" ! -type d)
	none "make uninstall leaves nothing" "$out"
	make --no-print-directory install DESTDIR="$dir/destdir" prefix=/usr STRIP= >/dev/null 2>&1
	out=$(readelf -S "$dir/destdir/usr/bin/accelctl")
	grep -q '\.symtab' <<<"$out"
	result $? "STRIP= keeps symbols" "$out"
	rm -rf "$dir"
}

# Do the tools that judge the tests fail when they should?
check_tools() {
	exec scripts/lint-tools.sh
}

# compile_commands.txt, written by make, has a line for every object: its source, then its flags.
check_clang_tidy() {
	local out count
	count=$(grep -c . "$1/compile_commands.txt" 2>/dev/null)
	[ "${count:-0}" -gt 0 ] || { result 1 "there are sources to look at"; return; }
	mkdir -p "$tidy_cache" && find "$tidy_cache" -type f -mtime +30 -delete
	# In the tree, where the settings are found, and never kept: it is not clean.
	cat >"$1/planted.c" <<-'EOF'
		#include <stdlib.h>
		int null(int *p) { return p ? 0 : *p; }
		int leak(int n) { char *p = malloc(8); if (p) p[0] = 1; return n; }
		int dead(int n) { int x = n + 1; x = n; return x; }
		static void maybe(int *p, int n) { if (n > 4) *p = n; }
		int unset(int n) { int x; maybe(&x, n); return x; }
		int same(int n) { n = n; return n; }
	EOF
	out=$(scripts/lint.sh --tidy "$1/planted.c -std=gnu11 -Wall" 2>&1 | grep -oE \
		'clang-analyzer-(core.NullDereference|core.uninitialized|unix|deadcode)|clang-diagnostic-self' | sort -u | tr '\n' ' ')
	[ "$(wc -w <<<"$out")" = 5 ]
	result $? "clang-tidy finds a null pointer, a leak, a dead store, what a call leaves unset, and what clang warns of" "$out"
	# The same for all. A process takes as long to start as a short source does to analyse: several of the same flags in one.
	TIDY_KEY=$(tidy_key)
	TIDY_KNOWN=$(tidy_known "$1")
	export TIDY_KEY TIDY_KNOWN
	out=$(sort -k 2 "$1/compile_commands.txt" | scripts/tidy-kept todo "$tidy_cache" |
		xargs -r -d '\n' -P "$jobs" -n 16 scripts/lint.sh --tidy 2>&1)
	none "clang-tidy has nothing to say about $count sources" "$out"
}

# What decides all results, beside the sources: comments in headers that clang-tidy reads, too, and headers in which another
# compiler sees something else.
tidy_key() {
	cat .clang-tidy
	clang-tidy --version
	files '*.h' | xargs -d '\n' grep -hE 'NOLINT|/\* *[A-Za-z0-9_]+ *= *\*/'
	files '*.h' | xargs -d '\n' grep -lE '\b(__clang|__has_)' | xargs -d '\n' cat
}

# What decides, beside the files that a source is made of, which files these are: the names of all headers, too, of which a
# new one may come before another; those of the system are the packages'.
tidy_known() {
	{
		echo "$TIDY_KEY $tidy_nodes ${CPATH:-} ${C_INCLUDE_PATH:-}"
		"$cc" --version
		files '*.h'
		find "$1" -name '*.h' | sort
		dpkg-query -W 2>/dev/null || ls -lR --full-time /usr/include
	} | sha256sum
}

# Sources, each with its flags. A good result is kept under the hash of all that it depends on, and (tidy-kept) of the files.
tidy() {
	local line src key options begin=${EPOCHREALTIME/,/.} deps
	local -a args=()
	local -A keys=() same=() lines=()
	mkdir -p "$tidy_cache"
	deps=$(mktemp -d)
	for line; do
		src=${line%% *}
		[ "${options:-}" = "${line#* }" ] || tidy_args "${line#* }"
		options=${line#* }
		# The source as it is, and all else without comments and the numbers of lines that these move. clang would take
		# twice as long to say it.
		key=$({ echo "${TIDY_KEY:-$(tidy_key)} $line $tidy_nodes"
			cat "$src"
			"$cc" "${args[@]}" -E -MD -MF "$deps/${src//\//-}" "$src" 2>/dev/null |
				sed -E '/^ *$/d; /^# [0-9]+ "[^"]*"$/d; s/^# [0-9]+ /# /'; } | sha256sum)
		keys[$src]=${key:0:40} lines[$src]=$line
		[ ! -f "$tidy_cache/${keys[$src]}" ] || continue
		same[$options]+=" $src"
	done
	for options in "${!same[@]}"; do
		tidy_args "$options"
		# One that is not clean must not have the others analysed again each time.
		# shellcheck disable=SC2086 # names
		tidy_some ${same[$options]} >/dev/null && continue
		for src in ${same[$options]}; do
			tidy_some "$src"
		done
	done
	[ -z "${TIDY_KNOWN:-}" ] || for src in "${!keys[@]}"; do
		[ ! -f "$tidy_cache/${keys[$src]}" ] || printf '%s\t%s\n' "$deps/${src//\//-}" "${lines[$src]}"
	done | scripts/tidy-kept seen "$tidy_cache" "$begin"
	rm -rf "$deps"
}

# Flags as the shell would see them: -D'X="1"' and the like. Warnings, too: .clang-tidy asks for those of clang.
tidy_args() { mapfile -t args < <(xargs printf '%s\n' <<<"$1"); }

# Most of the time of the analyser went into the last paths of a few long functions: of the 225000 steps that it would follow
# by itself it follows so many, more in "make proof".
tidy_nodes=${TIDY_NODES:-20000}

# Sources of the same flags: what is found, or they are kept as clean.
tidy_some() {
	local src out
	if out=$(clang-tidy --quiet "$@" -- "${args[@]}" -Wno-unknown-warning-option \
			-Xclang -analyzer-config -Xclang "max-nodes=$tidy_nodes" 2>&1); then
		for src; do : >"$tidy_cache/${keys[$src]}"; done
		return 0
	fi
	# A line for each finding, so that none hides behind the length of another's notes.
	grep -E '(warning|error): ' <<<"$out" || tail -n 5 <<<"$out"
	return 1
}

case ${1:-} in
--run)
	declare -F "check_$2" >/dev/null || { echo "lint.sh: no check $2" >&2; exit 2; }
	"check_$2" "$3"
	echo "1..$n"
	exit 0
	;;
--tidy) shift; tidy "$@"; exit 0 ;;
esac

results=${1:-build/results} objdir=${2:-build/default}
shift $(($# < 2 ? $# : 2))
# shellcheck disable=SC2048 # words, from the command line or from the list
for check in ${*:-$checks}; do
	scripts/tap-run --dir "$results" --timeout 1800 --inputs tree lint "$check" scripts/lint.sh --run "${check//-/_}" "$objdir"
done

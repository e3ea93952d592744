#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# kernels.sh NAME [FIELD]   make sure that a kernel is in the cache; print a FIELD of it
# kernels.sh --update NAME  the same, after asking the Debian archive for a newer version
# kernels.sh --prune        remove cached kernels that no NAME refers to any more
#
# NAME   stock   Debian's 6.12 kernel for bookworm, as packaged: image, modules, headers
#        source  the newest linux-source package of trixie-backports, unpacked
#        debug   that source, built with selftests/vm/debug.config
#        all     stock and debug
#        own     nothing of the cache: the kernel whose build tree, or headers as a distribution has them, is $KDIR;
#                its image is $KIMAGE, or beside $KDIR or in /boot; its modules are those of the tree, or in lib/modules
#                below $KMODULES, below where $KDIR is, or in this system
# FIELD  kdir (for module builds), image, modules (a tree with lib/modules in it), release, key (a short name for
#        directories), source (the source tree). Without one, all are printed as "field=value".
#
# Nothing is installed: everything lives in the cache (scripts/archive.sh).
#
# Environment: CC (default gcc-12 where there is one, else gcc), JOBS (default: all processors), VERBOSE.

set -euo pipefail
umask 022
# Where depmod is, for who is not root, too
PATH=$PATH:/usr/sbin:/sbin

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
lists=apt
# shellcheck source=scripts/archive.sh
. "$top/scripts/archive.sh"
config=$top/selftests/vm/debug.config
jobs=${JOBS:-$(nproc)}
recipe=3	# raised when the way a kernel is built changes, so that cached ones are rebuilt

if [ -z "${CC:-}" ]; then
	if command -v gcc-12 >/dev/null; then CC=gcc-12; else CC=gcc; fi
fi

own_kdir=${KDIR:-} own_image=${KIMAGE:-} own_modules=${KMODULES:-}
# Make hands its flags and variables (V, O, W, M, ...) down to us; a kernel's makefile would act on them.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES V O W C M MO VARIANT KDIR KIMAGE KMODULES

kernel_archive() {
	command -v apt-get >/dev/null || die "no apt here: give your own kernel (KDIR=... and KIMAGE=...)"
	[ "$(dpkg --print-architecture)" = amd64 ] || die "the packaged kernels are for amd64: give KDIR= and KIMAGE="
	apt_setup bookworm bookworm-backports trixie-backports bookworm-security
}

make_stock() {
	local name ver rel tmp dir f

	if ! $update && complete "$cache/stock"; then
		return
	fi
	lock stock
	if ! $update && complete "$cache/stock"; then
		unlock
		return
	fi
	kernel_archive
	read -r name ver < <(versions '^linux-headers-6\.12\.[0-9]+\+deb12-amd64$' | newest) ||
		die "the archive has no 6.12 kernel for bookworm"
	rel=${name#linux-headers-}
	dir=$cache/stock-$(plain "$rel-${ver#6.12.*-}")
	if ! complete "$dir"; then
		rm -rf "$cache"/tmp.stock*
		tmp=$cache/tmp.stock
		fetch "$tmp" "linux-headers-$rel=$ver" "linux-headers-${rel%-amd64}-common=$ver" \
			"linux-kbuild-${rel%-amd64}=$ver" "$(stock_image "$rel")"
		# The packages expect to live in /usr/src.
		for f in "$tmp"/usr/src/linux-headers-*/Makefile; do
			sed -i "s|^include /usr/src/|include $dir/usr/src/|" "$f"
		done
		ln -sfn "$dir/usr/src/linux-headers-$rel" "$tmp/lib/modules/$rel/build"
		ln -sfn "$dir/usr/src/linux-headers-${rel%-amd64}-common" "$tmp/lib/modules/$rel/source"
		ln -sfn "boot/vmlinuz-$rel" "$tmp/image"
		ln -sfn "usr/src/linux-headers-$rel" "$tmp/kdir"
		echo "$rel" >"$tmp/release"
		# With a vmlinux there kbuild wants pahole, to write type information that no test reads.
		rm -rf "$tmp/usr/share/doc" "$tmp"/usr/src/linux-headers-*/vmlinux "$dir"
		depmod -b "$tmp" "$rel"
		mv -T "$tmp" "$dir"
		touch "$dir/.complete"
	fi
	apt_done
	point stock "$dir"
	say KERNEL "stock: $rel"
	unlock
}

# The image comes signed in one suite and unsigned in another, with versions of their own: take the newest there is.
stock_image() {
	versions "^linux-image-${1//[+.]/[+.]}(-unsigned)?\$" | newest | tr ' ' =
}

make_source() {
	local name ver tmp dir

	if ! $update && complete "$cache/source"; then
		return
	fi
	lock source
	if ! $update && complete "$cache/source"; then
		unlock
		return
	fi
	kernel_archive
	read -r name ver < <(versions '^linux-source-[0-9]+\.[0-9]+$' | newest) || die "the archive has no linux-source"
	dir=$cache/source-$(plain "$ver")
	if ! complete "$dir"; then
		rm -rf "$cache"/tmp.source*
		tmp=$cache/tmp.source
		fetch "$tmp" "$name=$ver"
		say UNPACK "$name $ver"
		mkdir "$tmp/tree"
		tar -C "$tmp/tree" --strip-components=1 -I 'xz -T0' -xf "$tmp/usr/src/$name.tar.xz"
		rm -rf "$dir"
		mv -T "$tmp/tree" "$dir"
		rm -rf "$tmp"
		touch "$dir/.complete"
	fi
	apt_done
	point source "$dir"
	say KERNEL "source: $ver"
	unlock
}

# Every line of the fragment has to have taken effect: an option that silently went away is a checker that is off.
config_took() {
	local line ok=0
	while read -r line; do
		case $line in
		CONFIG_*=n) grep -q "^${line%=n}=" "$1" && { echo "debug.config: ${line%=n} is set" >&2; ok=1; } ;;
		CONFIG_*=*) grep -qxF "$line" "$1" || { echo "debug.config: $line did not take effect" >&2; ok=1; } ;;
		esac
	done <"$config"
	return "$ok"
}

# What drivers select and nobody is asked for, and what only large drivers select
kconfig_more='
config UMA_SELECTS
	def_tristate m
	depends on DRM
	select DRM_EXEC
	select DRM_GPUVM
'

# Of the kernel itself KASAN checks what handles a driver's memory, and UBSAN nothing, which shortens its build;
# modules that are built for it have both. Left out is what KASAN may not check (arch, kernel/entry, mm/kasan), too: this
# takes the place of what the kernel's own makefiles say of their directories. Expanded where an object is compiled.
checked_rooms="kernel kernel/% mm lib lib/% fs/configfs fs/kernfs fs/sysfs $(printf 'drivers/%s drivers/%s/%% ' \
	base base devfreq devfreq dma-buf dma-buf gpu gpu hwmon hwmon remoteproc remoteproc thermal thermal)"
# shellcheck disable=SC2016 # make expands it
unchecked='$(if $(filter-out kernel/bpf kernel/entry kernel/events kernel/trace,$(filter '$checked_rooms',$(obj))),,n)'

# Make for the kernel from source $1 in directory $2, with a Kconfig that has these as well
make_kernel() {
	local src=$1 dir=$2
	shift 2
	make -C "$src" O="$dir" CC="$CC" HOSTCC="$CC" KBUILD_KCONFIG="$dir/Kconfig.uma" "$@"
}

make_debug() {
	local src key dir log

	make_source
	src=$(readlink -f "$cache/source")
	key=$({ echo "$recipe $kconfig_more $unchecked"; basename "$src"; "$CC" --version | head -n 1; cat "$config"; } |
		sha256sum | cut -c1-12)
	dir=$cache/debug-$key
	debug_dir=$dir
	complete "$dir" && return
	lock debug
	if ! complete "$dir"; then
		# Kbuild writes this directory's name into what it generates, so it is built where it will stay; the
		# .complete file, written last, is what makes it count.
		rm -rf "$dir"
		mkdir -p "$dir"
		log=$cache/log/debug-$key.log
		: >"$log"
		say BUILD "debug kernel from $(basename "$src") with $CC: five to ten minutes (log: $log)"
		{ cat "$src/Kconfig"; echo "$kconfig_more"; } >"$dir/Kconfig.uma"
		quietly "$log" make_kernel "$src" "$dir" KCONFIG_ALLCONFIG="$config" allnoconfig
		config_took "$dir/.config" || die "the fragment and this kernel disagree"
		quietly "$log" make_kernel "$src" "$dir" -j"$jobs" KASAN_SANITIZE="$unchecked" UBSAN_SANITIZE=n \
			KBUILD_BUILD_USER=uma KBUILD_BUILD_HOST=uma bzImage modules
		quietly "$log" make_kernel "$src" "$dir" INSTALL_MOD_PATH="$dir/root" modules_install
		make_kernel "$src" "$dir" -s kernelrelease >"$dir/release"
		ln -sfn arch/x86/boot/bzImage "$dir/image"
		ln -sfn . "$dir/kdir"
		# A tree for building modules needs its tools and headers, not the objects of the kernel.
		find "$dir" \( -path "$dir/scripts" -o -path "$dir/tools" -o -path "$dir/root" \) -prune -o \
			-type f \( -name '*.o' -o -name '*.a' -o -name '.*.cmd' -o -name vmlinux.unstripped \) \
			-exec rm -f {} +
		touch "$dir/.complete"
	fi
	point debug "$dir"
	say KERNEL "debug: $(cat "$dir/release")"
	unlock
}

# --- a kernel of the user's ---------------------------------------------------------------------------------------

# What the modules need that not every kernel has
own_check() {
	local o rel conf=$own_kdir/include/config/auto.conf
	[ -n "$own_kdir" ] || die "KDIR= has to name the build tree, or the headers, of the kernel KIMAGE="
	[ -f "$conf" ] || die "KDIR=$own_kdir: neither a configured kernel build tree nor the headers of a kernel"
	rel=$(own_release)
	[ "$(printf '6.12\n%s\n' "$rel" | sort -V | head -n 1)" = 6.12 ] || die "KDIR=$own_kdir: $rel is older than 6.12"
	for o in DRM_ACCEL DRM_SCHED DRM_EXEC DRM_GPUVM DRM_GEM_SHMEM_HELPER CONFIGFS_FS; do
		grep -q "^CONFIG_$o=" "$conf" || die "KDIR=$own_kdir: $rel was built without CONFIG_$o, which uma needs"
	done
}

# The release that an image for x86 says it is of
image_release() {
	local at
	at=$(od -An -t u2 -j 526 -N 2 "$1")
	tail -c +$((at + 513)) "$1" | head -c 200 | tr '\0' ' ' | cut -d ' ' -f 1
}

own_kdir() { readlink -f "$own_kdir"; }
own_release() { cat "$own_kdir/include/config/kernel.release"; }
own_key() { plain "own-$(own_release)"; }

own_image() {
	local f rel list
	rel=$(own_release)
	list=("$own_kdir/arch/x86/boot/bzImage" "/boot/vmlinuz-$rel")
	[ -z "$own_image" ] || list=("$own_image")
	for f in "${list[@]}"; do
		[ -f "$f" ] || continue
		[ "$(image_release "$f")" = "$rel" ] || die "KIMAGE=$f is not of KDIR's $rel but of '$(image_release "$f")'"
		readlink -f "$f"
		return
	done
	die "${own_image:+KIMAGE=$own_image: no such file; }KIMAGE= has to name the image of $rel"
}

own_modules() {
	local d rel list root=$top/build/own-modules
	rel=$(own_release)
	if [ -z "$own_modules" ] && [ -f "$own_kdir/modules.order" ]; then
		rm -rf "$root"
		mkdir -p "$root"
		quietly "$cache/log/own.log" make -C "$own_kdir" INSTALL_MOD_PATH="$root" INSTALL_MOD_STRIP=1 modules_install
		echo "$root"
		return
	fi
	list=("${own_kdir%/lib/modules/*}" "$(own_kdir | sed 's,/usr/src/[^/]*$,,')" "")
	[ -z "$own_modules" ] || list=("$own_modules")
	for d in "${list[@]}"; do
		[ -d "$d/lib/modules/$rel/kernel" ] || continue
		echo "${d:-/}"
		return
	done
	die "${own_modules:+KMODULES=$own_modules: no modules there; }KMODULES= has to name a directory with lib/modules/$rel in it"
}

prune() {
	local d keep=" "
	for d in stock source debug; do
		keep+="$(readlink "$cache/$d" || true) "
	done
	for d in "$cache"/stock-* "$cache"/source-* "$cache"/debug-* "$cache"/tmp.*; do
		[ -d "$d" ] || continue
		case $keep in
		*" $(basename "$d") "*) ;;
		*) say PRUNE "$d"; rm -rf "$d" ;;
		esac
	done
}

# --- fields -----------------------------------------------------------------------------------------------------

field() {
	local dir=$1 what=$2
	if [ "$name" = own ]; then
		declare -F "own_$what" >/dev/null || die "no field $what of your own kernel"
		"own_$what"
		return
	fi
	case $what in
	kdir) readlink -f "$dir/kdir" ;;
	image) readlink -f "$dir/image" ;;
	modules) if [ -d "$dir/root" ]; then echo "$dir/root"; else echo "$dir"; fi ;;
	release) cat "$dir/release" ;;
	key) plain "$name-$(cat "$dir/release")" ;;
	source) readlink -f "$cache/source" ;;
	*) die "no field $what" ;;
	esac
}

update=false
case ${1:-} in
--update) update=true; shift ;;
--prune) prune; exit ;;
esac
if [ $# -lt 1 ] || [ $# -gt 2 ]; then
	die "usage: kernels.sh [--update] stock|debug|source|all|own [FIELD] | --prune"
fi
name=$1
mkdir -p "$cache/log"
case $name in
stock) make_stock; dir=$(readlink -f "$cache/stock") ;;
debug) make_debug; dir=$debug_dir ;;
source) make_source; readlink -f "$cache/source"; exit ;;
own) own_check; dir= ;;
all)
	make_stock
	make_debug
	exit
	;;
*) die "no kernel $name" ;;
esac

if [ $# = 2 ]; then
	field "$dir" "$2"
else
	for f in kdir image modules release key source; do
		[ "$f" = source ] && [ "$name" != debug ] && continue
		value=$(field "$dir" "$f")
		echo "$f=$value"
	done
fi

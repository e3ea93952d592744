#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# run.sh [options] -- COMMAND [ARG...]     run COMMAND in a virtual machine and exit with its status
# run.sh [options] --shell                 a shell there, on this terminal; its end is the machine's
#
#   --kernel NAME     stock (Debian's 6.12), debug (newest, with checkers) or own (KDIR=, KIMAGE=, KMODULES= in the
#                     environment: scripts/kernels.sh); the default is stock
#   --modules DIR     take the *.ko files of DIR along; uma and uma_emu are loaded before COMMAND
#   --no-load         leave that loading to COMMAND (modprobe finds them)
#   --kmod NAME       take a module of the kernel along, with what it needs (vgem is always there)
#   --add FILE[:DEST] take a file or directory along, with the libraries it needs; DEST is absolute, or ends in / for a
#                     directory to put it in; the default is /uma/FILE for a relative FILE, /uma/<its name> otherwise
#   --bin NAME        take a program of this system along, under the path it has here
#   --user NAME       run COMMAND as root (default), tester or other (both in group render) or nobody
#   --env NAME=VALUE  set a variable for COMMAND
#   --smp N           processors (2)          --mem M       MiB of memory (1024, debug kernel 2048)
#   --timeout S       seconds until a run counts as hung (300; a shell has no limit)
#   --name NAME       name of the console log, build/vm/NAME.log
#   --results DIR     where what COMMAND leaves in /results is copied to (build/vm/NAME.results)
#   --allow REGEX     a kernel message that is expected and no failure
#   --clock WHAT      real (default), or instructions: the guest's clock counts what it executes, and waiting takes no
#                     time; on one processor, and with tcg only. A busy host changes nothing for the guest then.
#   --accel tcg|kvm   how QEMU runs it (tcg; or $UMA_ACCEL)
#   --append ARGS     more for the kernel command line
#   --quiet           do not repeat COMMAND's output here
#
# COMMAND's output appears on stdout as it comes. The exit status is COMMAND's, or 125 when the machine could not be
# made, 124 when it hung, 123 when it died, 122 when COMMAND succeeded but the kernel log has a warning, an oops, a
# sanitizer's or lockdep's report in it. Any number of runs may go on at the same time. A shell's status is 0.

set -euo pipefail
umask 022

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)

kernel=stock modules='' load=1 user=root smp=2 mem='' limit='' shell=0 name='' results='' append=''
accel=${UMA_ACCEL:-tcg} quiet=0 clock=real own=''
adds=() bins=() envs=() allows=() kmods=(vgem 9p 9pnet_virtio configfs governor_simpleondemand)

die() { printf 'run.sh: %s\n' "$*" >&2; exit 125; }
usage() { sed -n '3,/^$/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }

while [ $# -gt 0 ]; do
	case $1 in
	--kernel) kernel=$2; shift 2 ;;
	--modules) modules=$2; shift 2 ;;
	--no-load) load=0; shift ;;
	--kmod) kmods+=("$2"); shift 2 ;;
	--add) adds+=("$2"); shift 2 ;;
	--bin) bins+=("$2"); shift 2 ;;
	--user) user=$2; shift 2 ;;
	--env) envs+=("$2"); shift 2 ;;
	--smp) smp=$2; shift 2 ;;
	--clock) clock=$2; shift 2 ;;
	--mem) mem=$2; shift 2 ;;
	--timeout) limit=$2; shift 2 ;;
	--name) name=$2; shift 2 ;;
	--results) results=$2; shift 2 ;;
	--allow) allows+=("$2"); shift 2 ;;
	--accel) accel=$2; shift 2 ;;
	--append) append=$2; shift 2 ;;
	--quiet) quiet=1; shift ;;
	--shell) shell=1; shift ;;
	--help|-h) usage; exit 0 ;;
	--) shift; break ;;
	*) die "unknown option $1 (--help lists them)" ;;
	esac
done
[ $shell = 0 ] || set -- bash --rcfile /etc/shellrc -i
[ $# -gt 0 ] || die "no command given after --"
case $user in root|tester|other|nobody) ;; *) die "no user $user in the machine" ;; esac
for n in "$smp" "${limit:-1}" "${mem:-1}"; do
	[[ $n =~ ^[1-9][0-9]*$ ]] || die "not a number: $n"
done
for tool in qemu-system-x86_64 busybox cpio depmod modinfo; do
	command -v "$tool" >/dev/null || PATH=$PATH:/sbin:/usr/sbin command -v "$tool" >/dev/null ||
		die "no $tool here: run scripts/deps.sh vm"
done
export PATH=$PATH:/usr/sbin:/sbin

# Not through a pipe: a failure has to stop us.
fields=$("$top/scripts/kernels.sh" "$kernel") || exit 125
image=$(sed -n 's/^image=//p' <<<"$fields")
kmodules=$(sed -n 's/^modules=//p' <<<"$fields")
rel=$(sed -n 's/^release=//p' <<<"$fields")
[ -n "$mem" ] || { [ "$kernel" = stock ] && mem=1024 || mem=2048; }

mkdir -p "$top/build/vm"
work=$(mktemp -d "$top/build/vm/run.XXXXXX")
[ -n "$name" ] || name=$kernel-${work##*.}
[ -n "$limit" ] || limit=$((shell ? 0 : 300))
log=$top/build/vm/$name.log
[ -n "$results" ] || results=$top/build/vm/$name.results
share=$work/share
root=$work/root
qemu=
# shellcheck disable=SC2317 # called by the trap
cleanup() {
	[ -z "$qemu" ] || kill "$qemu" 2>/dev/null || true
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# --- the guest's root -------------------------------------------------------------------------------------------

mkdir -p "$root"/{bin,sbin,usr/bin,usr/sbin,usr/lib,lib,lib64,dev,proc,sys,tmp,etc,root,home,results,uma,run,var/tmp}
mkdir -p "$root/home/tester" "$root/home/other" "$share"
chmod 1777 "$root/tmp" "$root/var/tmp"
cp "$(command -v busybox)" "$root/bin/busybox"
ln -s busybox "$root/bin/sh"
ln -s ../bin/busybox "$root/sbin/modprobe"

# What is to be copied is collected, and then copied a directory at a time: a process or more for each file took longer
# than the machine's start. init makes the links to busybox. Paths that are links on a merged /usr are real directories
# here; a file goes where its name says.
declare -A into
programs=()

copy_one() {
	local src=$1 dest=$2 link
	if [ -d "$src" ]; then
		mkdir -p "$root$dest"
		cp -aL "$src/." "$root$dest/"
		mapfile -O "${#programs[@]}" -t programs < <(find -L "$src" -type f -perm /111)
		return
	fi
	[ -d "$root${dest%/*}" ] || mkdir -p "$root${dest%/*}"
	# The names of a library are one file.
	if [ -L "$src" ] && link=$(readlink "$src") && [[ " ${adds[*]} " == *" ${src%/*}/$link:"* ]]; then
		ln -sf "$link" "$root$dest"
		return
	fi
	programs+=("$src")
	if [ "${src##*/}" = "${dest##*/}" ]; then
		into[${dest%/*}]+=$src$'\n'
	else
		cp -pL "$src" "$root$dest"
	fi
}

# What is only for debuggers stays here: it was most of what the machine unpacks.
copy_all() {
	local dir
	for dir in "${!into[@]}"; do
		printf %s "${into[$dir]}" | sort -u | xargs -d '\n' cp -pL -t "$root$dir"
	done
	# One of those that need the same stands for all of them.
	mapfile -t libs < <(readelf -d "${programs[@]}" 2>/dev/null |
		awk 'function one() { if (needs && !seen[needs]++) print file }
			/^File: / { one(); file = substr($0, 7); needs = "" } /NEEDED/ { needs = needs $NF } END { one() }' |
		xargs -d '\n' ldd 2>/dev/null |
		awk -v top="$top/" '$2 == "=>" { $1 = $3 } $1 ~ /^\/[^:]*$/ && index($1, top) != 1 { print $1 }' | sort -u)
	cp -L --parents -t "$root" "${libs[@]}"
	find "$root/uma" -type f -perm /111 -exec strip --strip-debug -p {} + 2>/dev/null || true
}

copy_bin() {
	local path
	path=$(command -v "$1") || die "no program $1 on this system"
	copy_one "$path" "$path"
}

copy_bin bash
ln -sf "$(command -v bash)" "$root/bin/bash" 2>/dev/null || true
[ "$(command -v bash)" != /bin/bash ] || cp -pL /bin/bash "$root/bin/bash"
copy_bin setpriv
ln -sf ../../bin/busybox "$root/usr/bin/env"
for b in "${bins[@]}"; do
	copy_bin "$b"
	if [ "$b" = bats ]; then
		for d in /usr/lib/bats-core /usr/libexec/bats-core /usr/lib/bats /usr/libexec/bats; do
			[ ! -d "$d" ] || copy_one "$d" "$d"
		done
	fi
done
for a in "${adds[@]}"; do
	src=${a%%:*}
	[ -e "$src" ] || die "--add $a: no such file"
	case $a in
	*:*/) dest=${a#*:}$(basename "$src") ;;
	*:*) dest=${a#*:} ;;
	/*) dest=/uma/$(basename "$src") ;;
	*) dest=/uma/$src ;;
	esac
	[ "${dest#/}" != "$dest" ] || die "--add $a: the destination is not absolute"
	copy_one "$src" "$dest"
done
# A shell has the terminal of its user, and what programs need to know about it.
if [ $shell = 1 ]; then
	envs+=("TERM=dumb")
	for d in /etc/terminfo /lib/terminfo /usr/share/terminfo; do
		[ -f "$d/${TERM:0:1}/${TERM:-}" ] || continue
		copy_one "$d/${TERM:0:1}/$TERM" "/lib/terminfo/${TERM:0:1}/$TERM"
		envs+=("TERM=$TERM")
		break
	done
	{
		echo "PS1='\u@\h:\w\\$ '; cd"
		echo "echo 'exit, or poweroff, ends the machine; so does Ctrl-A X, at once. The kernel'"
		echo "echo 'log is in build/vm/$name.log; what you leave in /results, in ${results#"$top"/}.'"
	} >"$root/etc/shellrc"
fi
copy_all
# The dynamic loader caches nothing here: list the directories that libraries came from.
libpath=$(printf '%s\n' "${libs[@]%/*}" | sort -u | paste -sd:)

# --- modules ----------------------------------------------------------------------------------------------------

kroot=$kmodules/lib/modules/$rel
kdest=$root/lib/modules/$rel
mkdir -p "$kdest/kernel" "$kdest/extra"
for f in modules.builtin modules.builtin.modinfo modules.order; do
	[ ! -f "$kroot/$f" ] || cp "$kroot/$f" "$kdest/"
done

want=("${kmods[@]}")
if [ -n "$modules" ]; then
	ours=("$modules"/*.ko)
	[ -f "${ours[0]}" ] || die "--modules $modules: no *.ko there"
	[ "$(modinfo -F vermagic "${ours[@]}" | cut -d ' ' -f 1 | sort -u)" = "$rel" ] ||
		die "$modules is for $(modinfo -F vermagic "${ours[@]}" | cut -d ' ' -f 1 | sort -u), not $rel"
	cp "${ours[@]}" "$kdest/extra/"
	ours=("${ours[@]##*/}")
	own=" ${ours[*]%.ko} "
	for m in $(modinfo -F depends "$modules"/*.ko | tr , ' '); do
		[[ $own == *" $m "* ]] || want+=("$m")
	done
fi
# Built in, or not there at all: what needs it will say so.
{ modprobe -d "$kmodules" -S "$rel" -a --show-depends "${want[@]}" 2>/dev/null || true; } |
	awk '$1 == "insmod" { print $2 }' | sort -u >"$work/kmods"
while IFS= read -r ko; do
	file=${ko##*/}
	case $ko in
	*.ko.xz) xz -dc "$ko" >"$kdest/kernel/${file%.xz}" ;;
	*.ko.zst) zstd -qdc "$ko" >"$kdest/kernel/${file%.zst}" ;;
	*) cp "$ko" "$kdest/kernel/" ;;
	esac
done <"$work/kmods"
# Ours are loaded again and again, and most of them is for debuggers. Of the kernel's own the signatures go, too, each of which
# takes the machine as long to verify as half of a test.
strip --strip-debug -p "$kdest"/*/*.ko
depmod -b "$root" "$rel" 2>"$work/depmod" || die "depmod: $(cat "$work/depmod")"

# --- what it does there -----------------------------------------------------------------------------------------

install -m 755 "$here/init" "$root/init"
{
	echo "LOAD=$load OWN=$(printf '%q' "$own") RUNAS=$user LIMIT=$limit INTERACTIVE=$shell"
	[ $shell = 0 ] || echo "TTYSIZE=$(printf '%q' "$(stty size 2>/dev/null || echo 24 80)")"
	echo "export SETPRIV=$(command -v setpriv)"
	echo "export LD_LIBRARY_PATH=$libpath"
	for e in "${envs[@]}"; do
		[[ $e =~ ^[A-Za-z_][A-Za-z0-9_]*= ]] || die "--env $e: not NAME=VALUE"
		printf 'export %s=%q\n' "${e%%=*}" "${e#*=}"
	done
} >"$root/etc/run.conf"
{
	printf 'exec'
	printf ' %q' "$@"
	echo
} >"$root/etc/command"
(cd "$root" && find . -print0 | cpio --quiet --null -o -H newc -R 0:0) >"$work/initrd" || die "cpio failed"
rm -rf "$root"

# shellcheck disable=SC2054 # the comma is QEMU's
case $accel in
# Five-level page tables, emulated, once in a while make KASAN stumble over its own shadow at boot.
tcg) machine=(-accel tcg,thread=multi -cpu max,la57=off) ;;
kvm) [ -w /dev/kvm ] || die "--accel kvm: /dev/kvm is not usable here"
     machine=(-accel kvm -cpu host) ;;
*) die "--accel $accel: tcg or kvm" ;;
esac
case $clock in
real) ;;
instructions)
	[ "$accel" = tcg ] || die "--clock instructions: only with --accel tcg"
	machine=(-accel "tcg,thread=single" -icount "shift=3,sleep=off,align=off" -cpu "max,la57=off")
	smp=1 ;;
*) die "--clock $clock: real or instructions" ;;
esac

# What stalls the HPET's emulation is taken for a fault of the TSC; what follows changes code that the other processor
# runs, and QEMU's translations have been seen to stop at the breakpoint that stands there meanwhile: tsc=nowatchdog. So
# does tracing, which would watch the scheduler to record the names of processes: trace_options=norecord-cmd.
# A busy host makes the guest misjudge its clock: tell it the frequency (tsc.c says more).
if [ "$accel" = tcg ] && [ "$(uname -m)" = x86_64 ] && command -v gcc >/dev/null &&
		gcc -O1 -o "$work/tsc" "$here/tsc.c" 2>/dev/null; then
	khz=$("$work/tsc") && append="tsc_early_khz=$khz $append"
fi

# A busy host may also miss the ticks that the guest counts to see whether its timer works: it does.
# The first serial port is the console, the second is COMMAND's output, results come through a shared directory.
: >"$log"
: >"$work/out"
chardev="file,id=out,path=$work/out"
[ $shell = 0 ] || chardev="stdio,id=out,mux=on,signal=off"
run_qemu() {
	exec qemu-system-x86_64 "${machine[@]}" -smp "$smp" -m "$mem" -nodefaults -display none -no-reboot \
		-kernel "$image" -initrd "$work/initrd" -chardev "file,id=con,path=$log" -serial chardev:con \
		-chardev "$chardev" -serial chardev:out \
		-fsdev "local,id=res,path=$share,security_model=none" -device virtio-9p-pci,fsdev=res,mount_tag=results \
		-append "console=ttyS0 loglevel=7 panic=-1 oops=panic rdinit=/init random.trust_cpu=on tsc=nowatchdog \
trace_options=norecord-cmd log_buf_len=4M page_poison=1 kunit.enable=1 kunit.autorun=1 no_timer_check $append" 2>"$work/qemu"
}

hung=0
if [ $shell = 1 ]; then
	(run_qemu) || { cat "$work/qemu" >&2; exit 125; }
else
	run_qemu </dev/null >/dev/null &
	qemu=$!

	tail_pid=
	if [ "$quiet" = 0 ]; then
		tail -n +1 -s 0.2 -f --pid="$qemu" "$work/out" 2>/dev/null | sed -u 's/\r$//' &
		tail_pid=$!
	fi

	# The guest gives up by itself after LIMIT seconds and says where it hangs; leave it the time to do so.
	for ((i = 0; i < (limit + 40) * 5; i++)); do
		kill -0 "$qemu" 2>/dev/null || break
		sleep 0.2
	done
	if kill -0 "$qemu" 2>/dev/null; then
		hung=1
		kill "$qemu"
	fi
	wait "$qemu" 2>/dev/null || true
	qemu=
	[ -z "$tail_pid" ] || wait "$tail_pid" || true
fi

mkdir -p "$results"
status=
[ ! -f "$share/.status" ] || status=$(cat "$share/.status")
rm -f "$share/.status"
sed 's/\r$//' "$work/out" >"$results/output.txt"
cp -a "$share/." "$results/" 2>/dev/null || cp -r "$share/." "$results/"

# --- the verdict ------------------------------------------------------------------------------------------------

last_lines() {
	echo "--- the last 60 lines of the console ($log)"
	tail -n 60 "$log" | sed 's/\r$//'
}

if [ "$hung" = 1 ] || [ "$status" = hung ]; then
	{ last_lines; echo "run.sh: hung: not finished after $limit seconds"; } >&2
	exit 124
fi

splats=$("$here/splats" "${allows[@]}" <"$log" || true)
[ $shell = 0 ] || status=0
if [ -z "$status" ]; then
	{ cat "$work/qemu"; last_lines; echo "run.sh: the machine died without a result"; } >&2
	exit 123
fi
if [ -n "$splats" ]; then
	{ echo "--- the kernel log is not clean ($log):"; echo "$splats" | head -n 80; } >&2
	[ "$status$shell" != 00 ] || exit 122
fi
exit "$status"

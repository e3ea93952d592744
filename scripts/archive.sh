# SPDX-License-Identifier: GPL-2.0 OR MIT
# shellcheck shell=bash
#
# archive.sh: packages of Debian's archive, of other suites than this system's, unpacked into the cache; for scripts that
# include it and set "lists", the name of the directory that has their package lists.
#
# Nothing is installed: everything lives in ${XDG_CACHE_HOME:-$HOME/.cache}/uma, one directory per version, and only
# directories with a .complete file count. One that was left half-made is thrown away and made anew; a lock per
# directory keeps concurrent callers apart. Packages come through apt with a private list directory, verified with
# Debian's archive keys; the mirror is the one this system's apt uses, or $UMA_DEBIAN_MIRROR.

cache=${XDG_CACHE_HOME:-$HOME/.cache}/uma
apt=$cache/${lists:?}

die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }
say() { printf '  %-7s %s\n' "$1" "$2" >&2; }

quietly() {
	local log=$1
	shift
	if [ -n "${VERBOSE:-}" ]; then
		"$@" >&2
	elif ! "$@" >>"$log" 2>&1; then
		tail -n 40 "$log" >&2
		die "failed: $* (log: $log)"
	fi
}

# --- the archive ------------------------------------------------------------------------------------------------

apt_ready=

# The address of the archive $1 with release $2 (regular expressions) that this system's apt has been told of; a new
# machine has no package lists yet.
archive_uri() {
	apt-get update --print-uris 2>/dev/null | sed -nE "s,^'([^']*/$1)/dists/$2/InRelease'.*,\1,p" | tail -n 1
}

apt_private() {
	local tool=$1
	shift
	"$tool" "${apt_options[@]}" "$@"
}

apt_options=(-q -o Dir::Etc::sourcelist="$apt/sources.list" -o Dir::Etc::sourceparts=/dev/null \
		-o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts=/dev/null \
		-o Dir::State="$apt/state" -o Dir::State::status=/dev/null -o Dir::Cache="$apt/cache" \
		-o Dir::Cache::archives="$apt/cache/archives" -o APT::Sandbox::User=root \
		-o Acquire::Languages=none -o Acquire::Retries=3 -o APT::Architecture=amd64)

apt_update() {
	quietly "$cache/log/apt.log" apt_private apt-get -o APT::Update::Error-Mode=any update
}

# The archive's keys: bookworm's first keyring did not know trixie's, its updates do. Where this system has the old
# one, fetch the new one from bookworm, whose keys we do have, and keep it for ourselves.
archive_keyring() {
	local main=$1 sys=/usr/share/keyrings/debian-archive-keyring.gpg
	local own=$apt/keyring/usr/share/keyrings/debian-archive-keyring.gpg

	[ -f "$sys" ] || die "no $sys: apt-get install debian-archive-keyring"
	if [ -f "${sys%keyring.gpg}trixie-automatic.gpg" ]; then
		echo "$sys"
		return
	fi
	if [ ! -f "$own" ]; then
		echo "deb [signed-by=$sys] $main bookworm main" >"$apt/sources.list"
		apt_update
		rm -rf "$apt/keyring"
		mkdir -p "$apt/keyring.new"
		(cd "$apt/keyring.new" && quietly "$cache/log/apt.log" \
			apt_private apt-get download debian-archive-keyring && dpkg-deb -x ./*.deb . && rm -f ./*.deb)
		mv "$apt/keyring.new" "$apt/keyring"
	fi
	echo "$own"
}

# apt_setup SUITE... : from here to apt_done packages come from these
apt_setup() {
	local main uri key suite

	[ -z "$apt_ready" ] || return 0
	mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial"
	exec 8>"$cache/lock.apt"
	flock 8
	# Every archive of Debian's has all releases; where there is none, the one that all know.
	main=${UMA_DEBIAN_MIRROR:-$(archive_uri '[^/]*' bookworm)}
	main=${main:-$(archive_uri debian '[a-z]+')}
	main=${main:-http://deb.debian.org/debian}
	key=$(archive_keyring "$main")
	for suite; do
		uri=$main
		[ "${suite%-security}" = "$suite" ] || uri=$(archive_uri '[^/]*' "$suite")
		[ -z "$uri" ] || echo "deb [signed-by=$key] $uri $suite main"
	done >"$apt/sources.list"
	say APT "package lists"
	apt_update
	apt_ready=1
}

apt_done() {
	[ -z "$apt_ready" ] || exec 8>&-
	apt_ready=
}

# fetch DIR PACKAGE=VERSION... : download and unpack packages below DIR; apt checks them against the signed lists.
fetch() {
	local dir=$1 deb
	shift
	mkdir -p "$dir.deb"
	say FETCH "$*"
	(cd "$dir.deb" && quietly "$cache/log/apt.log" apt_private apt-get download "$@")
	mkdir -p "$dir"
	for deb in "$dir.deb"/*.deb; do
		dpkg-deb -x "$deb" "$dir"
	done
	rm -rf "$dir.deb"
}

# "PACKAGE VERSION" lines of everything whose name matches the extended regular expression $1.
versions() {
	apt_private apt-cache pkgnames | { grep -E "$1" || true; } | xargs -r apt-cache "${apt_options[@]}" madison |
		awk '$NF != "Sources" { print $1, $3 }'
}

# The line of stdin with the newest version in its second field.
newest() {
	local name ver best='' bestver=''
	while read -r name ver; do
		if [ -z "$best" ] || dpkg --compare-versions "$ver" gt "$bestver"; then
			best=$name bestver=$ver
		fi
	done
	[ -z "$best" ] || echo "$best $bestver"
}

# --- the cache --------------------------------------------------------------------------------------------------

# Directory names become make variables and shell words in other people's makefiles.
plain() { printf '%s' "$1" | tr -c 'A-Za-z0-9.+_\n-' '_'; }

complete() { [ -e "$1" ] && [ -f "$1/.complete" ]; }

# point NAME DIR: make $cache/NAME a link to DIR in one step.
point() {
	ln -sfn "$(basename "$2")" "$cache/.$1.$$"
	mv -T "$cache/.$1.$$" "$cache/$1"
}

lock() {
	exec 9>"$cache/lock.$1"
	if ! flock -n 9; then
		say WAIT "another process is making $1"
		flock 9
	fi
}

unlock() { exec 9>&-; }

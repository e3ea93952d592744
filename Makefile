# SPDX-License-Identifier: MIT
#
# make            library, tools, test programs; kernel modules too where a kernel to build against is at hand
# make help       all targets
#
# Options: V=1 shows commands; VARIANT=asan|tsan builds user space with sanitizers; CC=clang; KDIR=<kernel build tree, or
# headers> builds modules for that kernel, and tests in it (KIMAGE=, KMODULES=: Documentation/testing.rst); DEPS=0 leaves
# it to you to have the packages that a target needs; STRIP= installs with symbols.
#
# --- How a part plugs in ------------------------------------------------------------------------------------------
#
# Each part has one fragment (see "include" below) that appends to these variables. All names are paths relative to
# the top of the tree, without a suffix; what is built appears under $(O) = build/<variant> at the same path.
#
#   LIBS            shared libraries: LIBS += libaccel/libaccel  makes $(O)/libaccel/libaccel.so (with its soname
#                   links) and $(O)/libaccel/libaccel.a, one object in which what is hidden is local
#   PROGS           programs that are installed
#   FUZZERS         fuzzers F, from F.c and F-fuzz-objs with libFuzzer, F-fuzz-plain without, F-fuzz-pkgs: $(O)/F.fuzzer
#   TEST_PROGS      programs that tests need but that are no tests themselves (a fuzzer, a helper)
#   UNIT_TESTS      programs that print TAP on stdout; run on the host in every variant (layers unit, unit-asan, -tsan)
#   MODEL_TESTS     programs that print TAP on stdout; run on the host (layer model) in the default variant
#   LEVEL_TESTS     tests of operations with each level of kernels that the processor has (layers levels, levels-asan)
#   LAYER_TESTS     programs that print TAP on stdout, each a layer P-layer of its own; run on the host, default variant
#   SELFTEST_PROGS  programs that print TAP on stdout; run in the VM (layer kselftest) on both kernels
#   BATS_TESTS      *.bats files run on the host (layer bats); paths with their suffix
#   ASAN_BATS_TESTS those run with sanitizers (layer bats-asan), which need ASAN_BATS_PROGS only, of PROGS and TEST_PROGS
#   GUEST_BATS_TESTS *.bats files run in the VM (layer bats) on both kernels, after the kselftests
#   CLOCK_STEPS     those that run, on Debian's kernel, where the clock counts instructions, on one processor
#   DEBUG_STEPS     those of these that "make test" runs on the kernel with the checkers, too; the rest is for "make proof"
#   VM_STEPS        executable scripts that print TAP; run in the VM (layer vm) as root, last, in the order given
#   (KUnit suites   need no variable: a module whose name ends in _test is loaded on the debug kernel, layer kunit)
#   INSTALL_FILES   extra files to install: source:destination, absolute or below $(prefix):
#                   INSTALL_FILES += tools/accelctl/accelctl.1:share/man/man1/accelctl.1
#   DOCS_TESTS      executable scripts that print TAP; run on the host (layer docs)
#   LINT_TESTS      executable scripts that print TAP; run on the host (layer lint), after the built-in checks
#   GENERATED       files below $(O) that must exist before any compilation (rules for them in the fragment); remade
#                   when the prefix changes
#
# Per target (P is the path that was appended above):
#
#   P-objs          its objects (default: P.o):  libaccel/libaccel-objs := libaccel/device.o driver/model/decode.o
#   P-libs          libraries of this tree to link with:  tools/accelctl/accelctl-libs := libaccel/libaccel
#   P-pkgs          pkg-config names:  P-pkgs := json-c libudev   (for linking; compiling is CFLAGS-<directory>, below)
#   P-ldlibs        more linker input, as it is:  P-ldlibs := -lm -lpthread
#   P-map           the version script of a library (default P.map if it exists)
#   P-soversion     the number behind .so. (default 0);  P-version the full one (default P-soversion)
#   P-needs         LAYER_TESTS: a file of the system without which "make" leaves it out
#   P-show          LAYER_TESTS: show the comments of its TAP
#   P-args          arguments of a host test
#   P-inputs        files and directories that decide its result, beside its program and what all tests may read
#   P-env           environment of a host test:  P-env := OMP_NUM_THREADS=1
#   P-timeout       seconds a test may take in the VM (default 600); on the host there is one limit for all
#   P-user          who runs it in the VM: tester (default for programs and bats; in group render) or root
#   P-kernels       on which kernels it runs (default: stock debug)
#   P-add           more files it needs in the VM, FILE[:DEST] relative to the top of the tree
#
# Per object or directory, cumulative from the top directory down (D ends in a slash):
#
#   CFLAGS-D, CFLAGS-D/file.o      a/b/avx2.o needs -mavx2:  CFLAGS-a/b/avx2.o := -mavx2
#   CFLAGS-asan-D/, CFLAGS-asan-D/file.o    the same in a variant, behind the flags of the variant
#   CFLAGS-driver/model/ := -ffreestanding
#   CFLAGS-tools/accelctl/ := $(call pkg-cflags,json-c)
#
# In the VM: programs are found under their paths below /uma (so /uma/tools/accelctl/accelctl), installed programs
# also in PATH; libraries in the library path; the working directory is /tmp. Modules uma and uma_emu are loaded.
# A bats file can tell where it runs by UMA_GUEST=1 and finds programs in PATH in both places; UMA_BUILD is $(O) on the
# host and /uma in the VM.
#
# Include paths are -Iuapi/drm ("uma_accel.h", "drm.h" is the system's) and -Ilibaccel/include (<accel/accel.h>), -I. and
# -I$(O); CFLAGS-D adds more. The wall checker looks at every #include, whatever the paths allow.
# Everything is compiled with -std=gnu11 -Wall -Wextra -Werror -fPIC -fvisibility=hidden.
# ------------------------------------------------------------------------------------------------------------------

SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c
.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += -rR --no-print-directory

.DEFAULT_GOAL := all

ifneq ($(realpath $(CURDIR)),$(realpath $(dir $(firstword $(MAKEFILE_LIST)))))
  $(error run make in the top directory of the tree)
endif

# Use all processors unless told otherwise: only the first make decides, the others share its job slots.
ifeq ($(MAKELEVEL),0)
  ifeq ($(filter -j%,$(MAKEFLAGS)),)
    MAKEFLAGS += -j$(shell nproc)
  endif
endif

ifeq ($(V),1)
  Q :=
  say =
else
  Q := @
  say = @printf '  %-7s %s\n' $(1) $(2);
endif
export V

# Tests start Python thousands of times, and results are kept by the versions of Debian's packages: the python3 of a version
# manager, which may take longer to start than a small test takes, does not come before the system's.
ifneq ($(wildcard /usr/bin/python3),)
  system-path := $(CURDIR)/build/path
  $(if $(wildcard $(system-path)/python3),,$(shell mkdir -p $(system-path) && ln -sfn /usr/bin/python3 $(system-path)))
  ifneq ($(firstword $(subst :, ,$(PATH))),$(system-path))
    export PATH := $(system-path):$(PATH)
  endif
endif

VERSION := 0.1.0
VARIANT ?= default
B := build
O := $(B)/$(VARIANT)
R := $(B)/results

prefix ?= /usr/local
bindir ?= $(prefix)/bin
libdir ?= $(prefix)/lib
includedir ?= $(prefix)/include
DESTDIR ?=
STRIP ?= strip

ifneq ($(filter default undefined,$(origin CC)),)
  CC := gcc
endif
ifneq ($(filter default undefined,$(origin AR)),)
  AR := ar
endif
OBJCOPY ?= objcopy
PKG_CONFIG ?= pkg-config
# What was compiled before, here or in another clone, is not compiled again; CCACHE= does without.
CCACHE ?= $(shell command -v ccache)
export CCACHE_DIR ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/uma/ccache
export CCACHE_BASEDIR ?= $(CURDIR)
export CCACHE_MAXSIZE ?= 1G
# Quiet: "make demo" reads this before it installs what is missing; a compiler that misses a header says so.
pkg-cflags = $(if $(strip $(1)),$(shell $(PKG_CONFIG) --cflags $(1) 2>/dev/null))
# Hundreds of programs need the same: each list is asked for once.
pkg-libs = $(if $(strip $(1)),$(call libs-once,libs-of-$(subst $() $(),-,$(strip $(1))),$(1)))
libs-once = $(if $(filter undefined,$(origin $(1))),$(eval $(1) := $(shell $(PKG_CONFIG) --libs $(2))))$($(1))

# --- what has to be here ------------------------------------------------------------------------------------------

# The groups of scripts/deps.sh that each goal needs. They are installed, or named, before anything below looks for what
# is in them; a make within a make relies on the first. Not for -n, nor for -q, with which shells complete goals.
for-goals = $(if $(filter $(1),$(or $(MAKECMDGOALS),all)),$(2))
groups := $(call for-goals,all programs install demo,build $(if $(KDIR),modules)) \
	$(call for-goals,userspace unit% model% levels% neon vectors operators-update dnnl bats bats-asan run-% fuzz% proof,build test) \
	$(call for-goals,lint abi-update,build test lint source) \
	$(call for-goals,modules modules_install modules-stock,modules) \
	$(call for-goals,modules-all modules-debug modcheck kernels,kernel) \
	$(call for-goals,vm-stock vm-shell mutate,build modules vm $(if $(filter debug,$(K)),kernel)) \
	$(call for-goals,vm-debug kselftest kunit fail-nth soak proof,build kernel vm) \
	$(call for-goals,builds musl proof,build test musl) \
	$(call for-goals,docs doctests,docs) $(call for-goals,bench,build modules vm bench) \
	$(call for-goals,test deps,build test lint kernel vm docs)
first := $(if $(strip $(filter-out 0,$(MAKELEVEL)) $(foreach f,n q,$(findstring $(f),$(firstword -$(MAKEFLAGS))))),,y)
ifneq ($(and $(first),$(strip $(groups)),$(if $(filter 0,$(DEPS)),,y)),)
  $(shell scripts/deps.sh $(groups))
  ifneq ($(.SHELLSTATUS),0)
    $(error not without these packages (DEPS=0 tries all the same))
  endif
endif

# A kernel of the user's (scripts/kernels.sh, "own") is refused before anything is built for it.
export KDIR KIMAGE KMODULES
ifneq ($(and $(first),$(strip $(groups)),$(KDIR)$(KIMAGE)),)
  $(shell export KDIR='$(KDIR)' KIMAGE='$(KIMAGE)'; for field in kdir $(call for-goals,vm-stock vm-shell kselftest test,image); do \
	scripts/kernels.sh own $$field >/dev/null || exit; done)
  ifneq ($(.SHELLSTATUS),0)
    $(error not for this kernel)
  endif
endif

CFLAGS ?= -O2 -g
LDFLAGS ?=
base-cflags := -std=gnu11 -Wall -Wextra -Werror -Wstrict-prototypes -Wmissing-prototypes -Wshadow -Wvla \
	-Wno-missing-field-initializers -fno-strict-aliasing -fno-common -fPIC -fvisibility=hidden \
	-ffp-contract=off -D_GNU_SOURCE -DUMA_VERSION='"$(VERSION)"' -I. -I$(O) -Iuapi/drm -Ilibaccel/include -idirafter /usr/include/libdrm
variant-default :=
# Line numbers are all that a report needs, and large functions call the checks: they compile in half the time.
variant-asan := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -O1 -g1 \
	--param asan-instrumentation-with-call-threshold=200
variant-clang :=
variant-tsan := -fsanitize=thread -fno-omit-frame-pointer -O1 -g1
variant-neon := -static
variant-musl = -static -idirafter $(O)/foreign
variant-note := $(if $(filter-out default,$(VARIANT)), [$(VARIANT)])
variant-flags := $(variant-$(VARIANT))
ifeq ($(filter $(VARIANT),default asan tsan clang neon musl),)
  $(error VARIANT is one of default, asan, tsan, clang, neon, musl)
endif
ifeq ($(VARIANT),clang)
  override CC := clang
endif
# What a sanitizer adds to kernels takes minutes to compile: only where this processor, with the flag FLAG, can run them.
# if-cpu FLAG,OPTIONS
cpu-flags := $(if $(filter asan tsan,$(VARIANT)),$(shell sed -n '/^flags/ { s/.*: //p; q }' /proc/cpuinfo))
if-cpu = $(if $(filter $(1),$(cpu-flags)),$(2),-fno-sanitize=all)
# Only what needs no library; the layer "neon" runs some of it in an emulator.
ifeq ($(VARIANT),neon)
  override CC := aarch64-linux-gnu-gcc
endif
# Debian has the kernel's and libraries' headers among those of glibc, of which none may be found here.
ifeq ($(VARIANT),musl)
  override CC := musl-gcc
  $(shell mkdir -p $(O)/foreign && ln -sfn $(addprefix /usr/include/,linux asm-generic $(shell gcc -print-multiarch)/asm \
	libudev.h xf86drm.h json-c) $(O)/foreign)
endif

# libFuzzer comes with clang alone. Tests run fuzzers for some seconds where it is there, in one variant; "make fuzz" goes on.
FUZZ_CC ?= clang
FUZZ_SECONDS ?= 60
fuzz-limit = -max_total_time=$(FUZZ_SECONDS)
fuzz-with := -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all
has-fuzzer := $(if $(filter default,$(VARIANT)),$(wildcard $(shell $(FUZZ_CC) -print-resource-dir 2>/dev/null)/lib/linux/libclang_rt.fuzzer-*.a))

fragments := driver/model/model.mk libaccel/libaccel.mk tools/accelctl/accelctl.mk tools/accelbench/accelbench.mk \
	selftests/selftests.mk examples/examples.mk Documentation/docs.mk
-include $(fragments)

# --- compile and link ---------------------------------------------------------------------------------------------

comma := ,
all-progs := $(PROGS) $(TEST_PROGS) $(UNIT_TESTS) $(MODEL_TESTS) $(LAYER_TESTS) $(SELFTEST_PROGS)
objs-of = $(addprefix $(O)/,$(if $($(1)-objs),$($(1)-objs),$(1).o))
# CFLAGS of every directory above an object, from the top down, then its own.
above = $(if $(filter-out ./ /,$(dir $(1))),$(call above,$(patsubst %/,%,$(dir $(1)))) $(dir $(1)))
cflags-of = $(foreach d,$(call above,$(1)) $(1).o,$(CFLAGS-$(2)$(d)))
solib = $(O)/$(1).so
lib-args = $(foreach l,$($(1)-libs),-L$(O)/$(patsubst %/,%,$(dir $(l))) -l$(patsubst lib%,%,$(notdir $(l))))
# A program finds its libraries from where it lies, in the build tree or installed.
rpath-args = $(if $($(1)-libs),-Wl$(comma)-rpath$(comma)'$$ORIGIN/$(if $(filter $(O)/install/%,$(2)),$(bin-to-lib),$(build-to-lib))')
build-to-lib = $(call uproot,$(1))$(patsubst %/,%,$(dir $(firstword $($(1)-libs))))
bin-to-lib := $(shell realpath -m --relative-to='$(bindir)' '$(libdir)')
uproot = $(subst $() $(),,$(foreach w,$(wordlist 2,99,$(subst /, ,$(1))),../))

# What is generated may name the directories of the installation, which a later make may be told differently.
directories := $(prefix) $(bindir) $(libdir) $(includedir) $(VERSION)
ifneq ($(file <$(O)/.directories),$(directories))
  $(shell mkdir -p $(O))
  $(file >$(O)/.directories,$(directories))
endif
$(GENERATED) $(PROGS:%=$(O)/install/%): $(O)/.directories

$(O)/%.o: %.c | $(GENERATED)
	$(call say,CC,'$<$(variant-note)')mkdir -p $(@D) && \
	$(CCACHE) $(CC) $(base-cflags) $(call cflags-of,$*) $(CFLAGS) $(variant-flags) \
	$(call cflags-of,$*,$(VARIANT)-) -ffile-prefix-map='$(CURDIR)'=. \
	-MMD -MP -MF $(@:.o=.d) -c -o $@ $<

define prog-rules
$(O)/$(1) $(O)/install/$(1): $(call objs-of,$(1)) $(foreach l,$($(1)-libs),$(O)/$(l).so)
	$$(call say,LD,'$$(@:$(O)/%=%)$(variant-note)')mkdir -p $$(@D) && $$(CC) $$(LDFLAGS) $$(variant-flags) -o $$@ $$(filter %.o %.a,$$^) \
	$$(call lib-args,$(1)) $$(call rpath-args,$(1),$$@) $$(call pkg-libs,$$($(1)-pkgs)) $$($(1)-ldlibs)
endef

# A fuzzer: objects with libFuzzer's instrumentation, and F-fuzz-plain as they are in the build.
$(O)/%.fuzz.o: %.c | $(GENERATED)
	$(call say,CC,'$< [fuzz]')mkdir -p $(@D) && \
	$(CCACHE) $(FUZZ_CC) $(filter-out -Werror,$(base-cflags)) $(call cflags-of,$*) -DLIBFUZZER -gline-tables-only -O1 $(fuzz-with) \
	-ffile-prefix-map='$(CURDIR)'=. -MMD -MP -MF $(@:.o=.d) -c -o $@ $<

define fuzzer-rules
$(O)/$(1).fuzzer: $(patsubst %.o,$(O)/%.fuzz.o,$(1).o $($(1)-fuzz-objs)) $(addprefix $(O)/,$($(1)-fuzz-plain))
	$$(call say,LD,'$(1).fuzzer')$$(FUZZ_CC) $$(fuzz-with) -o $$@ $$^ $$(call pkg-libs,$($(1)-fuzz-pkgs)) -lpthread -lm
endef

# fuzz FUZZER NAME OPTIONS: what it finds interesting stays beside the seeds in build/fuzz/NAME.
fuzz = $(O)/$(1).fuzzer $(fuzz-limit) -print_final_stats=1 $(3) -artifact_prefix=$(B)/fuzz/$(2)- $(B)/fuzz/$(2)

# A library: versioned file, soname link, development link, archive. It finds those that it needs beside itself. The
# archive has code, whatever its objects are made of.
map-of = $(or $($(1)-map),$(wildcard $(1).map))
soversion-of = $(or $($(1)-soversion),0)
version-of = $(or $($(1)-version),$(call soversion-of,$(1)))
define lib-rules
$(O)/$(1).so: $(call objs-of,$(1)) $(call map-of,$(1)) $(foreach l,$($(1)-libs),$(O)/$(l).so)
	$$(call say,LD,'$(1).so$(variant-note)')mkdir -p $$(@D) && \
	$$(CC) -shared $$(LDFLAGS) $$(variant-flags) -Wl,-soname,$(notdir $(1)).so.$(call soversion-of,$(1)) \
	$$(if $(filter default clang,$(VARIANT)),-Wl$$(comma)-z$$(comma)defs) -Wl,-z,relro,-z,now \
	$(if $(call map-of,$(1)),-Wl$$(comma)--version-script=$(call map-of,$(1))) \
	-o $$@.$(call version-of,$(1)) $$(filter %.o,$$^) \
	$(if $($(1)-libs),-Wl$$(comma)-rpath$$(comma)'$$$$ORIGIN') $$(call lib-args,$(1)) $$(call pkg-libs,$$($(1)-pkgs)) $$($(1)-ldlibs) && \
	{ [ $(call version-of,$(1)) = $(call soversion-of,$(1)) ] || \
	  ln -sf $(notdir $(1)).so.$(call version-of,$(1)) $$@.$(call soversion-of,$(1)); } && \
	ln -sf $(notdir $(1)).so.$(call soversion-of,$(1)) $$@ && touch -h $$@
$(O)/$(1).so.$(call version-of,$(1)): $(O)/$(1).so ;
$(O)/$(1).a: $(call objs-of,$(1))
	$$(call say,AR,'$(1).a$(variant-note)')rm -f $$@ && $$(CC) -r $(if $(findstring -flto,$(CFLAGS)),-flinker-output=nolto-rel) -o $$@.o $$^ && \
	$$(OBJCOPY) --localize-hidden $$@.o && $$(AR) rcs $$@ $$@.o && rm $$@.o
endef

$(foreach p,$(sort $(all-progs)),$(eval $(call prog-rules,$(p))))
$(foreach l,$(sort $(LIBS)),$(eval $(call lib-rules,$(l))))
$(foreach f,$(FUZZERS),$(eval $(call fuzzer-rules,$(f))))

all-objs := $(sort $(foreach p,$(all-progs) $(LIBS),$(call objs-of,$(p))))
-include $(wildcard $(all-objs:.o=.d) $(foreach f,$(FUZZERS),$(patsubst %.o,$(O)/%.fuzz.d,$(f).o $($(f)-fuzz-objs))))

libs := $(foreach l,$(LIBS),$(O)/$(l).so $(O)/$(l).a)

# SOURCE:DESTINATION of all that is installed, but for links to libraries. The headers of the ABI say "drm.h", as in
# the kernel; where no option leads to libdrm, only its directory's name does.
installed = $(foreach p,$(PROGS),$(O)/install/$(p):$(bindir)/$(notdir $(p))) \
	$(foreach l,$(LIBS),$(foreach f,$(l).so.$(call version-of,$(l)) $(l).a,$(O)/$(f):$(libdir)/$(notdir $(f)))) \
	$(foreach h,$(wildcard uapi/drm/*.h),$(O)/install/$(h):$(includedir)/drm/$(notdir $(h))) \
	$(foreach h,$(wildcard libaccel/include/accel/*.h),$(h):$(includedir)/accel/$(notdir $(h))) \
	$(foreach f,$(INSTALL_FILES),$(if $(findstring :/,$(f)),$(f),$(subst :,:$(prefix)/,$(f))))
installed-links = $(foreach l,$(LIBS),$(libdir)/$(notdir $(l)).so $(libdir)/$(notdir $(l)).so.$(call soversion-of,$(l)))

$(O)/install/uapi/drm/%.h: uapi/drm/%.h
	$(Q)mkdir -p $(@D) && sed 's|^#include "drm.h"|#include <libdrm/drm.h>|' $< >$@

lacking := $(foreach t,$(LAYER_TESTS),$(if $($(t)-needs),$(if $(wildcard $($(t)-needs)),,$(t))))
progs := $(addprefix $(O)/,$(filter-out $(lacking),$(all-progs)))

# Without the packages of the group "test" there are still the library, the tools and the modules.
PHONY += all programs userspace
all: programs modules-if-possible $(if $(shell $(PKG_CONFIG) --exists cmocka 2>/dev/null && echo y),userspace)
programs: $(libs) $(addprefix $(O)/,$(PROGS)) $(filter $(O)/%,$(foreach f,$(installed),$(firstword $(subst :, ,$(f)))))
userspace: programs $(progs)

include scripts/test.mk scripts/proof.mk

# --- kernel modules -----------------------------------------------------------------------------------------------

PHONY += modules modules-all modules-stock modules-debug modules-if-possible modules_install kernels
kernels:
	$(Q)JOBS=$$(nproc) scripts/kernels.sh $(if $(UPDATE),--update) all

# Against KDIR if it is given, else the running kernel's headers if they are new enough, else the cached stock kernel.
modules:
	$(Q)scripts/build-modules.sh auto

modules-if-possible:
	$(Q)scripts/build-modules.sh --cached auto

modules-stock modules-debug: modules-%:
	$(Q)scripts/build-modules.sh $*

modules-all: modules-stock modules-debug

# Into the system, or the root INSTALL_MOD_PATH of another one; below DESTDIR for a package, which runs depmod itself.
modules_install:
	$(Q)set -e; PATH=$$PATH:/usr/sbin:/sbin; \
	ko=$$(scripts/build-modules.sh auto | tail -n 1); \
	rel=$$(modinfo -F vermagic "$$ko/uma.ko" | cut -d ' ' -f 1); \
	root='$(DESTDIR)$(INSTALL_MOD_PATH)'; to=$$root/lib/modules/$$rel; \
	[ -n "$$root" ] || [ -d "$$to" ] || \
		{ echo "there is no kernel $$rel in this system: KDIR= names another, INSTALL_MOD_PATH= another root" >&2; exit 1; }; \
	install -d "$$to/updates"; install -m 644 "$$ko/uma.ko" "$$ko/uma_emu.ko" "$$to/updates"; \
	$(if $(STRIP),$(STRIP) --strip-debug "$$to/updates/uma.ko" "$$to/updates/uma_emu.ko";) \
	[ -n '$(DESTDIR)' ] || [ ! -f "$$to/modules.builtin" ] || depmod -b "$${root:-/}" "$$rel"; \
	printf '  %-7s %s\n' INSTALL "$$to/updates"

# --- the rest -----------------------------------------------------------------------------------------------------

PHONY += deps demo docs install uninstall abi-update clean help
deps: ;

demo: programs $(O)/examples/zoo/fill
	$(Q)scripts/demo.sh $(O)

# Documentation/docs.mk says how.
docs: $(DOCS)

abi-update: $(O)/libaccel/libaccel.so $(O)/libaccel/libaccel-models.so
	$(call say,ABI,$(^:$(O)/%.so=%.abi))for l in $(^:$(O)/%.so=%); do \
	abidw --no-comp-dir-path --no-corpus-path --no-show-locs --drop-private-types --headers-dir libaccel/include \
	$(O)/$$l.so | sed "1a <!-- SPDX-License-Identifier: MIT -->" >$$l.abi || exit; done

install: programs
	$(if $(filter-out /%,$(prefix) $(bindir) $(libdir) $(includedir)),$(error prefix= and what is below it have to be absolute))
	$(Q)set -e; d='$(DESTDIR)'; \
	for f in $(installed); do \
		to=$$d$${f#*:}; mode=644; case $$to in "$$d$(bindir)"/*) mode=755 ;; esac; \
		install -D -m $$mode "$${f%%:*}" "$$to"; \
		$(if $(STRIP),case $$mode:$$to in (755:*|*.a|*.so.*) $(STRIP) --strip-unneeded "$$to" ;; esac;) \
	done; \
	$(foreach l,$(LIBS),ln -sf $(notdir $(l)).so.$(call version-of,$(l)) "$$d$(libdir)/$(notdir $(l)).so.$(call soversion-of,$(l))"; \
		ln -sf $(notdir $(l)).so.$(call soversion-of,$(l)) "$$d$(libdir)/$(notdir $(l)).so";)
	$(call say,INSTALL,$(DESTDIR)$(prefix)):
	$(if $(DESTDIR),,$(Q)PATH=$$PATH:/usr/sbin:/sbin; [ "$$(id -u)" != 0 ] || ldconfig; \
	for so in $$(ldconfig -p | awk '$$1 == "libaccel.so" { print $$NF }'); do [ ! $$so -ef $(libdir)/libaccel.so ] || exit 0; done; \
	printf '  %-7s %s\n' HINT '$(bindir)/accelctl runs as it is; to build programs with the library, and run them:' '' \
		'export PKG_CONFIG_PATH=$(libdir)/pkgconfig LD_LIBRARY_PATH=$(libdir)')

uninstall:
	$(Q)rm -f $(foreach f,$(foreach f,$(installed),$(lastword $(subst :, ,$(f)))) $(installed-links),'$(DESTDIR)$(f)')
	$(Q)rmdir '$(DESTDIR)$(includedir)'/{accel,drm} 2>/dev/null || :

clean:
	$(Q)rm -rf $(B)

help:
	@sed -n 's/^#: //p' $(firstword $(MAKEFILE_LIST)) scripts/test.mk scripts/proof.mk

#: all           library, tools, test programs; modules where a kernel is at hand
#: programs      library and tools only;  userspace: with the test programs
#: demo          build and show GEMMs of all data types and whole models, checked, on the in-process device
#: modules       uma.ko and uma_emu.ko for KDIR, the running kernel, or the cached Debian kernel
#: modules-all   modules for both test kernels, warnings are errors
#: kernels       fetch and build the test kernels into ~/.cache/uma (UPDATE=1: look for newer ones)
#: bench         all measurements, next to other libraries and the machine's limits; the table of the bars, what misses
#: bench-docs    Documentation/performance-results.rst from the last bench
#: docs          the manual (HTML) under build/docs
#: install       into DESTDIR and prefix (default /usr/local), stripped (STRIP= keeps symbols);  uninstall: the opposite
#: modules_install  the modules into /lib/modules, or that below INSTALL_MOD_PATH (another root) or DESTDIR (a package)
#: abi-update    note the ABI of both libraries as it is now, in libaccel/*.abi
#: deps          install the Debian packages that building and testing need, all at once; every target sees to its own
#: clean         remove build/

.PHONY: $(PHONY)

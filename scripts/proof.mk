# SPDX-License-Identifier: MIT
#
# What takes longer than a test may: the same programs as in "make test", told to go on. Every one ends in figures.

#: mutate        in the VM, N mutated ioctls (2000000) and TASKS mutated task lists (113664), panic_on_warn
#: fail-nth      in the debug VM, every allocation of every call fails once, those of making devices too
#: soak          in the VM (K=debug unless told otherwise), eight clients and broken hardware for SECONDS (300)

#: musl          libaccel.so compiled for another C library, and what needs no further one run with it
#: builds        all programs with -O3, with clang, optimised when they are linked, for musl: no warning
#: fuzz          libFuzzer on task lists, files, core dumps, models, sound and texts, RUNS (10000000) inputs each, with clang
#: proof         "make test", the kernel with the checkers with all tests, and all of these; goes on where it stopped

# K=stock|debug, SEED=, FROM=: see selftests/mutate.c.
K ?= stock
N ?= 2000000
TASKS ?= 113664
SEED ?= 1
FROM ?= 0

# guest KERNEL NAME SECONDS PROGRAM OPTIONS COMMAND
guest = $(Q)ko=$$(scripts/build-modules.sh $(1) 2>/dev/null | tail -n 1) && \
	selftests/vm/run.sh --kernel $(1) --name $(2)-$(1) --timeout $(3) --modules "$$ko" \
		--add $(O)/selftests/$(4):/uma/$(4) $(5) -- bash -c '$(6)'

SECONDS ?= 300

PHONY += mutate fail-nth soak musl builds fuzz proof
mutate: $(O)/selftests/mutate
	$(call guest,$(K),$@,14000,$@,--append panic_on_warn=1 --env MUTATE_SEED=$(SEED) --env MUTATE_FROM=$(FROM),\
		MUTATE_N=$(N) /uma/mutate -t ioctls; a=$$?; MUTATE_N=$(TASKS) /uma/mutate -t tasks; exit $$((a | $$?)))

fail-nth: $(O)/selftests/fail_nth
	$(call guest,debug,$@,3000,fail_nth,--env FAIL_NTH_STEP=1,/uma/fail_nth)

# With a search for leaks, where the kernel has one.
soak: $(O)/selftests/soak
	$(call guest,$(if $(filter command,$(origin K)),$(K),debug),$@,$(shell echo $$(($(SECONDS) * 2 + 600))),$@,\
		--append panic_on_warn=1 --env SOAK_SECONDS=$(SECONDS) --env SOAK_SEED=$(SEED),/uma/soak; rc=$$?; k=/sys/kernel/debug/kmemleak; \
		if test -e $$k; then sleep 6; echo scan >$$k; echo scan >$$k; cat $$k; test -z "$$(cat $$k)" || rc=1; fi; exit $$rc)

# Debian has none of the libraries for musl. What libaccel-models needs of them is much, and is not compiled.
musl:
	$(call begin,$@)
	$(Q)$(MAKE) VARIANT=musl run-musl
	$(call finish,$@)

# As others may: each in a folder of its own, a warning is an error. Tests are many programs, and nobody links them twice.
builds:
	$(Q)$(MAKE) O=$(B)/O3 CFLAGS='-O3 -g' userspace
	$(Q)$(MAKE) VARIANT=clang userspace
	$(Q)$(MAKE) O=$(B)/lto CFLAGS='-O2 -g -flto=auto' LDFLAGS='-flto=auto -Werror' programs
	$(Q)$(MAKE) musl

# One after the other; a fuzzer ends with a status when it found something, and leaves it in build/fuzz.
RUNS ?= 10000000
fuzz:
	$(Q)for t in model npy coredump onnx store sound text; do $(MAKE) fuzz-limit=-runs=$(RUNS) fuzz-$$t || exit; done

# Passes are kept as those of "make test" are: what stopped half-way begins with what has none. The table says of which day
# the oldest result of a layer is.
proof-step = $(tap-run) --timeout 80000 --inputs 'tree $(kernel-images)' proof $(1) scripts/tap-one "make $(1)" $(MAKE) $(1)
proof: compile-commands
	$(Q)$(MAKE) test || :
	$(Q)$(MAKE) IN_TEST=1 ALL=1 vm-stock vm-debug $(host-groups)
	$(Q)TIDY_NODES=50000 $(tap-run) --timeout 80000 --inputs tree proof clang_tidy scripts/lint.sh --run clang_tidy $(O)
	$(Q)$(foreach t,builds mutate fail-nth soak fuzz,printf '  %-7s %s\n' PROOF '$(t)' && $(call proof-step,$(t)) &&) :
	$(Q)if [ -d $(R)/unsteady ]; then \
		printf '1..1\nnot ok 1 - no test is unsteady: see unsteady/\n' >$(R)/proof.steady.tap; fi
	$(Q)scripts/tap-summary --expect '$(layers) bats-debug proof' $(R)

# SPDX-License-Identifier: MIT
#
# The test layers. Each target runs one, shows its table and fails if it failed; "make test" runs all of them, the
# later ones even if an earlier one failed. Results are TAP files build/results/<layer>.<test>.tap.

#: test          everything below but for demo, on both kernels; ends in "N passed, N failed"; what passed before, bit for
#:               bit the same, is not run again (FRESH=1: it is)
#:               T=<pattern>: only programs whose path has it, in all layers
#: lint          checkpatch, walls, shellcheck, clang-tidy, headers, ... (scripts/lint.sh lists them)
#: unit          unit tests of the library;  unit-asan, unit-tsan: the same with sanitizers
#: levels        operations with each level of kernels that this processor has;  levels-asan: the same with sanitizers
#: neon          inner kernels and fast operations for aarch64, in an emulator, where a compiler and QEMU are at hand
#: model         what tasks mean, against a slow reference;  model-asan: the same with sanitizers
#: vectors       ONNX's operator vectors, with a table by operator in build/results
#: dnnl          convolutions, pools, norms against another library
#: bats          the command line, on this machine;  bats-asan: small models with it and sanitizers
#: modcheck      modules for both test kernels, W=1, and sparse for those that it knows: no warning
#: vm-stock      in the VM, Debian's 6.12 kernel: kselftests, command line, lifecycle
#: vm-debug      in the VM, newest kernel with checkers: what finds most there, KUnit, a search for leaks; ALL=1: as vm-stock
#:               (both: T=<pattern> only tests whose path has it; ONLY=kselftest only the kselftests)
#: vm-shell      a shell in the VM, tools and modules loaded: K=stock|debug, WHO=tester|root; "exit" ends it
#: kselftest     vm-stock and vm-debug, but only the kselftests (T=<pattern>: only tests whose path matches)
#: kunit         vm-debug, but only the KUnit modules

tap-run = scripts/tap-run --dir $(R)
# What decides the result of a test beside its program, the libraries that this loads and its arguments (scripts/tap-kept).
# Every test on the host may read the first of these, those of the command line the second, too; P-inputs has what else
# test P does.
test-data := examples $(wildcard libaccel/tests/*/testdata)
bats-data := README.md uapi libaccel/include tools/accelctl/tests tools/accelbench/tests
inputs-of = --inputs '$(test-data) $($(1)-inputs)'
# With sanitizers some of these tests, and what they need, is enough.
bats-here := $(if $(filter asan,$(VARIANT)),$(ASAN_BATS_TESTS),$(BATS_TESTS))
bats-progs := $(addprefix $(O)/,$(if $(filter asan,$(VARIANT)),$(ASAN_BATS_PROGS),$(PROGS) $(TEST_PROGS))) $(foreach l,$(LIBS),$(O)/$(l).so)
bats-inputs = --inputs '$(test-data) $(bats-data) $(bats-progs) $($(1)-inputs)'
kernel-images = $(foreach k,stock debug,$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/uma/$(k)/image)
# Seconds that no test on the host takes, however busy it is; a hang ends there.
host-limit := $(if $(ALL),7200,1200)
tmp-path := $(subst $() $(),:,$(abspath $(sort $(dir $(addprefix $(O)/,$(PROGS))))))
host-env = UMA_BUILD=$(abspath $(O)) UMA_GUEST=0 PATH=$(tmp-path):$$PATH

# Inside "make test" the sum comes at the end; a target of its own shows its own.
ifeq ($(IN_TEST),)
  begin = $(Q)rm -f $(foreach l,$(1),$(R)/$(l).*)
  finish = $(Q)scripts/tap-summary --expect '$(1)' $(foreach l,$(1),--only $(l)) $(R)
else
  begin = @:
  finish = @:
endif

# wanted PATHS: those that T= asks for
wanted = $(if $(T),$(strip $(foreach t,$(1),$(if $(findstring $(T),$(t)),$(t)))),$(1))

# run-test LAYER PROGRAM: each test on the host is a target, so that make runs as many of them, and of compilers, beside
# each other as it has job slots.
run-test = $(Q)$(host-env) $($(2)-env) $(tap-run) --timeout $(host-limit) $(call inputs-of,$(2)) $(1) $(2) $(O)/$(2) $($(2)-args)

PHONY += test lint unit unit-asan unit-tsan model-test model model-asan bats modcheck kselftest kunit vm-stock vm-debug vm-shell
PHONY += levels levels-asan bats-asan neon run-unit run-model run-bats compile-commands doctests host host-default host-asan host-tsan

own-layers := $(foreach t,$(LAYER_TESTS),$($(t)-layer))
layers := lint unit model levels neon $(own-layers) bats unit-asan model-asan levels-asan $(if $(ASAN_BATS_TESTS),bats-asan) unit-tsan docs modules kselftest-stock kselftest-debug kunit
layers += $(if $(GUEST_BATS_TESTS),bats-stock) vm-stock vm-debug
layers := $(if $(BATS_TESTS),$(layers),$(filter-out bats,$(layers)))
layers := $(if $(DOCS_TESTS)$(DOCS),$(layers),$(filter-out docs,$(layers)))

# What cannot even be built is a failure of its own, not the end of the run. Modules and programs come first, as all else
# needs them. Then the machines, two at a time, those first that take longest, and beside them the tests on the host, in as
# many job slots as there are processors, so that none is idle at the end. The machines go first where there is not enough
# for all: they are emulated, and their clocks go on meanwhile. One make for each variant, as two would compile the same
# objects. Last the linters, of which the last, clang-tidy, has work for all processors.
# The whole is kept, too: where nothing has changed nothing is built; but not if something changed meanwhile.
test-key = --words 'make test: $(layers)' --inputs 'tree $(kernel-images)'
host-groups := host-default host-asan host-tsan
host: $(host-groups) doctests neon lint
host-default:
	$(Q)$(MAKE) -k run-unit run-model run-levels $(foreach t,$(call wanted,$(LAYER_TESTS)),$($(t)-layer)) run-bats || scripts/tap-broken $(R) $@ build
host-asan host-tsan: host-%:
	$(Q)$(MAKE) -k VARIANT=$* LAYER=-$* run-unit $(if $(filter asan,$*),run-model run-levels run-bats) || scripts/tap-broken $(R) $@ build

# "make -n" runs what recurses.
recurses := $(if $(findstring n,$(firstword -$(MAKEFLAGS))),,+)
ifeq ($(T),)
parts = part() { $(MAKE) -k IN_TEST=1 "$$@" || scripts/tap-broken $(R) $$1 build; }; \
	machines() { part vm-debug & part vm-stock MACHINES=clock & wait -n; part vm-stock MACHINES=library & wait -n; \
		part vm-stock MACHINES=stock & wait; };
test:
	$(Q)rm -rf $(R) && mkdir -p $(R)
	$(Q)scripts/kernels.sh all || scripts/tap-broken $(R) vm-stock kernels
	$(recurses)$(Q)if scripts/tap-kept get $(R) $(test-key) >$(R)/key; then exec scripts/tap-summary --expect '$(layers)' $(R); fi; \
	scripts/tap-progress $(R) & \
	$(parts) \
	part userspace modcheck; \
	machines & chains=$$!; \
	{ renice -n 4 $$BASHPID >/dev/null; part host; } & chains+=" $$!"; \
	wait $$chains; \
	scripts/tap-again $(R); \
	rm -rf $(R)/running; \
	scripts/tap-summary --expect '$(layers)' $(R) && \
	{ [ -d $(R)/unsteady ] || [ "$$(scripts/tap-kept key $(test-key))" != "$$(<$(R)/key)" ] || \
		scripts/tap-kept put "$$(<$(R)/key)" $(R)/*.tap; }
else
test:
	$(Q)rm -rf $(R) && mkdir -p $(R)
	$(Q)$(MAKE) -k IN_TEST=1 $(host-groups) || :
	$(if $(call wanted,$(SELFTEST_PROGS) $(GUEST_BATS_TESTS)),$(Q)$(MAKE) -k IN_TEST=1 -j1 vm-stock vm-debug || scripts/tap-broken $(R) vm build)
	$(Q)scripts/tap-summary $(R)
endif

run-unit: $(addprefix run/unit/,$(call wanted,$(filter-out $(sanitized-only),$(UNIT_TESTS))))
run-model: $(addprefix run/model/,$(call wanted,$(MODEL_TESTS)))
run-bats: $(addprefix run/bats/,$(call wanted,$(bats-here)))
run-levels: $(addprefix run/levels/,$(call wanted,$(LEVEL_TESTS)))
host run-unit run-model run-bats run-levels run-neon:
	@:
PHONY += run-levels $(addprefix run/levels/,$(LEVEL_TESTS))
PHONY += $(addprefix run/unit/,$(UNIT_TESTS)) $(addprefix run/model/,$(MODEL_TESTS)) $(addprefix run/bats/,$(bats-here))
$(addprefix run/unit/,$(UNIT_TESTS)): run/unit/%: $(O)/%
	$(call run-test,unit$(LAYER),$*)
$(addprefix run/model/,$(MODEL_TESTS)): run/model/%: $(O)/%
	$(call run-test,model$(LAYER),$*)
$(addprefix run/bats/,$(bats-here)): run/bats/%: $(bats-progs)
	$(Q)$(host-env) $($*-env) $(tap-run) --timeout $(host-limit) $(call bats-inputs,$*) bats$(LAYER) $(basename $*) bats --tap $*

unit model levels bats:
	$(call begin,$@)
	$(Q)$(MAKE) run-$@
	$(call finish,$@)
neon:
	$(call begin,$@)
	$(Q)if command -v aarch64-linux-gnu-gcc >/dev/null && command -v qemu-aarch64 >/dev/null; then $(MAKE) VARIANT=neon run-neon; \
		else $(tap-run) neon cross printf '1..0 # SKIP no aarch64-linux-gnu-gcc or no qemu-aarch64\n'; fi
	$(call finish,$@)
unit-asan unit-tsan model-asan levels-asan bats-asan:
	$(call begin,$@)
	$(Q)$(MAKE) VARIANT=$(lastword $(subst -, ,$@)) LAYER=-$(lastword $(subst -, ,$@)) run-$(firstword $(subst -, ,$@))
	$(call finish,$@)
model-test: model

define layer-rules
PHONY += $($(1)-layer)
$($(1)-layer): $(O)/$(1)
	$$(call begin,$($(1)-layer))
	$$(call run-test,$($(1)-layer),$(1))
	$(if $($(1)-show),$$(Q)sed -n 's/^#/         /p' $(R)/$($(1)-layer).$(subst /,_,$(1)).tap)
	$$(call finish,$($(1)-layer))
endef
$(foreach t,$(LAYER_TESTS),$(eval $(call layer-rules,$(t))))

lint: compile-commands
	$(call begin,$@)
	+$(Q)CC=$(CC) scripts/lint.sh $(R) $(O) $(CHECK)
	$(Q)$(foreach t,$(LINT_TESTS),$(tap-run) --inputs tree lint $(t) $(t) &&) :
	$(call finish,$@)

# What clang-tidy has to know: how every object is compiled. Objects that the programs and libraries are made of.
source-of = $(patsubst $(O)/%.o,%.c,$(1))
compile-commands: | $(O)
	$(file >$(O)/compile_commands.txt)
	$(foreach o,$(all-objs),$(file >>$(O)/compile_commands.txt,$(call source-of,$(o)) $(base-cflags) \
		$(call cflags-of,$(patsubst $(O)/%.o,%,$(o)))))

$(O) $(B):
	$(Q)mkdir -p $@

doctests:
	$(call begin,docs)
	+$(Q)$(if $(DOCS),$(tap-run) --timeout 600 --inputs tree docs build scripts/tap-one "the manual builds without a warning" \
		$(MAKE) docs,:)
	$(Q)$(foreach t,$(DOCS_TESTS),$(host-env) $(tap-run) --inputs tree docs $(t) $(t) &&) :
	$(call finish,docs)

modcheck:
	$(call begin,modules)
	$(Q)$(tap-run) --timeout 1800 --inputs 'Makefile Kbuild driver uapi scripts $(kernel-images)' modules build scripts/check-modules.sh
	$(call finish,modules)

# --- in the virtual machine ---------------------------------------------------------------------------------------

# One line per step: layer, user, seconds, kernels, path in the VM, what decides it. The order is that in which they run.
guest-name = /uma/$(1)
step-line = $(1) $(or $($(2)-user),$(3)) $(or $($(2)-timeout),600) $(subst $() $(),$(comma),$(strip $(call kernels-of,$(2)))) $(2) $(call step-inputs,$(2))
# Within "make test" the kernel with the checkers has what finds most there in the least time; asked for by name, or by
# "make proof" (ALL=1), every test runs on each kernel that it is meant for.
# On Debian's kernel, what is about time runs on a machine whose clock counts instructions, and what the library and the
# command line do on one of its own: three that need not wait for each other (MACHINES: some of them).
machines-stock := clock library stock
machines-debug := debug
debug-here = $(if $(ALL)$(T)$(ONLY)$(filter $(1),$(DEBUG_STEPS)),debug)
stock-machine = $(if $(filter $(1),$(CLOCK_STEPS)),clock,$(if $(filter libaccel/% %.bats,$(1)),library,stock))
machine-of = $(if $(filter stock,$(1)),$(call stock-machine,$(2))) $(if $(filter debug,$(1)),$(call debug-here,$(2)))
kernels-of = $(or $(strip $(call machine-of,$(or $($(1)-kernels),stock debug),$(1))),none)
step-inputs = $(if $(filter $(SELFTEST_PROGS),$(1)),$(O)/$(1),$(1) \
	$(addprefix $(O)/,$(PROGS) $(TEST_PROGS)) $(foreach l,$(LIBS),$(O)/$(l).so)) $(foreach f,$($(1)-add),$(firstword $(subst :, ,$(f))))
define vm-steps
$(foreach t,$(call wanted,$(SELFTEST_PROGS)),$(call step-line,kselftest,$(t),tester)
)$(if $(ONLY),,$(foreach t,$(call wanted,$(GUEST_BATS_TESTS)),$(call step-line,bats,$(t),tester)
)$(foreach t,$(call wanted,$(VM_STEPS)),$(call step-line,vm,$(t),root)
))
endef

vm-progs := $(addprefix $(O)/,$(SELFTEST_PROGS) $(TEST_PROGS) $(PROGS)) $(foreach l,$(LIBS),$(O)/$(l).so)
vm-files = $(foreach p,$(SELFTEST_PROGS) $(TEST_PROGS) $(PROGS),$(O)/$(p):/uma/$(p)) \
	$(foreach l,$(LIBS),$(foreach s,$(shell ls $(O)/$(l).so*),$(s):/uma/$(dir $(l)))) \
	$(GUEST_BATS_TESTS) $(VM_STEPS) \
	$(sort $(foreach t,$(SELFTEST_PROGS) $(GUEST_BATS_TESTS) $(VM_STEPS),$($(t)-add)))

# The shell is that of the machine, as all makefiles (dependencies are none) and scripts make it.
shell-inputs = $(filter-out %.d,$(MAKEFILE_LIST)) Kbuild driver uapi scripts selftests/vm $(kernel-images) \
	$(foreach f,$(vm-files),$(firstword $(subst :, ,$(f))))
vm-stock vm-debug: vm-%: $(vm-progs) | $(B)
	$(call begin,kselftest-$* bats-$* vm-$* $(if $(filter debug,$*),kunit))
	$(file >$(B)/vm-steps.$*$(MACHINES),$(vm-steps))
	$(Q)for machine in $(or $(MACHINES),$(machines-$*)); do ALL='$(ALL)' ONLY='$(ONLY)' T='$(T)' PROGS='$(PROGS)' \
		scripts/vm-test.sh $$machine $(R) $(B)/vm-steps.$*$(MACHINES) $(vm-files) || exit; done
	$(if $(filter stock stockstock,$*$(ONLY)$(T)$(MACHINES)),$(Q)$(tap-run) --timeout 900 --inputs '$(shell-inputs)' vm-stock shell selftests/vm/shell_test.py tester make vm-shell)
	$(call finish,$(if $(call wanted,$(SELFTEST_PROGS)),kselftest-$*) \
		vm-$* $(if $(ONLY),,$(if $(filter stock,$*)$(ALL)$(T),$(if $(call wanted,$(GUEST_BATS_TESTS)),bats-$*))) \
		$(if $(filter debug,$*),$(if $(filter kselftest,$(ONLY)),,kunit)))

WHO ?= tester
vm-shell: $(vm-progs) | $(B)
	$(Q)PROGS='$(PROGS)' scripts/vm-test.sh $(K) --shell $(WHO) $(vm-files)

kselftest:
	$(Q)rc=0; for k in stock debug; do $(MAKE) ONLY=kselftest vm-$$k || rc=1; done; exit $$rc
kunit:
	$(Q)$(MAKE) ONLY=kunit T=no-other-test vm-debug

# SPDX-License-Identifier: MIT
# accelbench: program, tests. What the variables mean: head of the top makefile.

accelbench := tools/accelbench

PROGS += $(accelbench)/accelbench
accelbench-parts := main latency growth stats perf team limits data ours report compare plot bars gemm conv attention lines \
	calls memory model load apart ort text talk made llama peers peer_blas peer_none
$(accelbench)/accelbench-libs := libaccel/libaccel-models libaccel/libaccel
$(accelbench)/accelbench-pkgs := json-c
$(accelbench)/accelbench-ldlibs := -lm -lpthread -ldl
CFLAGS-$(accelbench)/ := -Ilibaccel/include $(call pkg-cflags,json-c)

# Other libraries to compare with. OpenBLAS and oneDNN are looked for when it runs; of oneDNN the headers are needed.
accelbench-peers := $(if $(wildcard /usr/include/dnnl.h),dnnl) \
	$(if $(filter default clang,$(VARIANT)),$(if $(wildcard /usr/include/libxsmm.h),xsmm))
ifneq ($(filter dnnl,$(accelbench-peers)),)
  accelbench-parts += peer_dnnl peer_dnnl_ops
  CFLAGS-$(accelbench)/ += -DHAVE_DNNL
endif
ifneq ($(filter xsmm,$(accelbench-peers)),)
  accelbench-parts += peer_xsmm
  CFLAGS-$(accelbench)/ += -DHAVE_XSMM
  $(accelbench)/accelbench-ldlibs := -lxsmm -lxsmmnoblas $($(accelbench)/accelbench-ldlibs)
endif
$(accelbench)/accelbench-objs := $(foreach o,$(accelbench-parts),$(accelbench)/$(o).o)
# One that has come since, or gone, changes what is compiled.
ifneq ($(file <$(O)/$(accelbench)/.peers),peers: $(strip $(accelbench-peers)))
  $(shell mkdir -p $(O)/$(accelbench))
  $(file >$(O)/$(accelbench)/.peers,peers: $(strip $(accelbench-peers)))
endif
$(addprefix $(O)/,$($(accelbench)/accelbench-objs)): $(O)/$(accelbench)/.peers
# What blocks mean
$(accelbench)/accelbench-objs += $(addprefix libaccel/tests/oracle/,oracle.o oracle_formats.o)

# --- the bars ------------------------------------------------------------------------------------------------------

PHONY += bench bench-docs
bench: programs
	$(Q)tools/accelbench/bench.sh $(O) $(B)/bench

bench-docs:
	$(call say,BENCH,Documentation/performance-results.rst)tools/accelbench/table.sh $(B)/bench >$(B)/bench/results.rst && \
	cp $(B)/bench/results.rst Documentation/performance-results.rst

# --- tests --------------------------------------------------------------------------------------------------------

accelbench-tests := $(accelbench)/tests
UNIT_TESTS += $(accelbench-tests)/test_stats
CFLAGS-$(accelbench-tests)/ := -I$(accelbench)
$(accelbench-tests)/test_stats-objs := $(accelbench-tests)/test_stats.o $(accelbench)/stats.o $(accelbench)/data.o \
	$(addprefix libaccel/tests/oracle/,oracle.o oracle_formats.o)
$(accelbench-tests)/test_stats-libs := libaccel/libaccel
$(accelbench-tests)/test_stats-pkgs := cmocka
$(accelbench-tests)/test_stats-ldlibs := -lm

BATS_TESTS += $(sort $(wildcard $(accelbench-tests)/host_*.bats))
accelbench-guest-tests := $(addprefix $(accelbench-tests)/,guest.bats guest_clock.bats)
GUEST_BATS_TESTS += $(accelbench-guest-tests)
CLOCK_STEPS += $(accelbench-tests)/guest_clock.bats
$(accelbench-tests)/guest_clock.bats-user := root
# Times and sizes of the kernel with the checkers say nothing.
$(foreach t,$(accelbench-guest-tests),$(eval $(t)-kernels := stock))

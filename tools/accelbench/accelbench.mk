# SPDX-License-Identifier: MIT
# accelbench: program, tests. What the variables mean: head of the top makefile.

accelbench := tools/accelbench

PROGS += $(accelbench)/accelbench
$(accelbench)/accelbench-objs := $(foreach o,main latency growth stats,$(accelbench)/$(o).o)
$(accelbench)/accelbench-libs := libaccel/libaccel
$(accelbench)/accelbench-ldlibs := -lm -lpthread
CFLAGS-$(accelbench)/ := -Ilibaccel/include

# --- tests --------------------------------------------------------------------------------------------------------

accelbench-tests := $(accelbench)/tests
UNIT_TESTS += $(accelbench-tests)/test_stats
CFLAGS-$(accelbench-tests)/ := -I$(accelbench)
$(accelbench-tests)/test_stats-objs := $(accelbench-tests)/test_stats.o $(accelbench)/stats.o
$(accelbench-tests)/test_stats-pkgs := cmocka
$(accelbench-tests)/test_stats-ldlibs := -lm

BATS_TESTS += $(sort $(wildcard $(accelbench-tests)/host_*.bats))
GUEST_BATS_TESTS += $(accelbench-tests)/guest.bats
# Times and sizes of the kernel with the checkers say nothing.
$(accelbench-tests)/guest.bats-kernels := stock

# SPDX-License-Identifier: MIT
# The planner and its tests; included by libaccel.mk after it has set libaccel/libaccel-objs.

libaccel/libaccel-objs += $(addprefix libaccel/src/,names.o tensor.o validate.o lower_gemm.o lower_elementwise.o \
	convert.o variant.o cost.o place.o emit.o alias.o plan.o explain.o pack.o run.o)

op-tests := $(addprefix libaccel/tests/test_,gemm)
$(foreach t,$(op-tests),$(eval $(t)-objs := $(t).o $(addprefix libaccel/tests/,optest.o oracle.o oracle_ops.o)))
$(foreach t,$(op-tests),$(eval $(t)-timeout := 900))

# SPDX-License-Identifier: MIT
# The planner and its tests; included by libaccel.mk after it has set libaccel/libaccel-objs.

libaccel/libaccel-objs += $(addprefix libaccel/src/,\
	names.o \
	ops.o \
	tensor.o \
	validate.o \
	lower_lines.o \
	lower_norm.o \
	lower_epilogue.o \
	lower_gemm.o \
	lower_conv.o \
	conv_ways.o \
	winograd.o \
	fold.o \
	lower_elementwise.o \
	lower_gather.o \
	lower_vision.o \
	lower_rotary.o \
	rotary_table.o \
	lower_attention.o \
	lower_move.o \
	lower_ffn.o \
	convert.o \
	variant.o \
	cost.o \
	place.o \
	emit.o \
	alias.o \
	plan.o \
	parts.o \
	view.o \
	explain.o \
	pack.o \
	run.o \
	kv.o \
	kv_plan.o \
	kv_job.o \
	kv_file.o \
	reader.o \
	calib.o \
	calib_range.o \
	quant.o \
	sparse.o \
	lower_dynquant.o \
	tune.o \
	tune_api.o \
	tune_measure.o \
	tune_scratch.o \
	tune_desc.o \
	tune_entry.o \
	tune_file.o \
	tune_cpu.o \
	)

op-tests := $(addprefix libaccel/tests/test_,\
	gemm \
	copy \
	softmax \
	norm \
	reduce \
	scan \
	topk \
	dynquant \
	elementwise \
	gather \
	vision \
	rotary \
	kv \
	blocks \
	attention \
	conv \
	move \
	ffn \
	)
# What the operations mean, in binary64: for the tests, and for accelctl's --check.
oracle-objs := $(addprefix libaccel/tests/,\
	optest_say.o \
	oracle.o \
	oracle_num.o \
	oracle_softmax.o \
	oracle_norm.o \
	oracle_reduce.o \
	oracle_dynquant.o \
	oracle_table.o \
	oracle_elementwise.o \
	oracle_attention.o \
	oracle_gemm.o \
	oracle_gather.o \
	oracle_vision.o \
	oracle_rotary.o \
	oracle_conv.o \
	oracle_move.o \
	oracle_ffn.o \
	)
op-test-objs := libaccel/tests/optest.o $(oracle-objs)
$(foreach t,$(op-tests),$(eval $(t)-objs := $(t).o $(op-test-objs)))
libaccel/tests/test_kv-objs += libaccel/tests/kv_bench.o
libaccel/tests/test_blocks-objs += $(addprefix libaccel/tests/,net.o net_oracle.o)
$(foreach t,$(op-tests),$(eval $(t)-timeout := 900))

# In the virtual machine they use the node, see guest.h.
SELFTEST_PROGS += $(op-tests) libaccel/tests/test_conv_ways libaccel/tests/test_desc libaccel/tests/test_plan libaccel/tests/test_calib \
	libaccel/tests/test_quant libaccel/tests/test_sparse libaccel/tests/test_misuse
# Thousands of buffers and queues: an hour on a kernel with checkers, where the others do.
$(foreach t,$(op-tests),$(eval $(t)-kernels := stock))

# libaccel.mk sets these for all tests; this one is linked with a library of its own.
override libaccel/tests/test_blas-pkgs := cmocka openblas
libaccel/tests/test_blas-env := OPENBLAS_NUM_THREADS=1
CFLAGS-libaccel/tests/test_blas.o := $(call pkg-cflags,openblas)

libaccel/tests/test_view-objs := libaccel/tests/test_view.o libaccel/tests/oracle.o

# Looks inside: linked with the objects, which the shared library hides.
libaccel/tests/test_lower-objs = libaccel/tests/test_lower.o libaccel/tests/oracle.o $(libaccel/libaccel-objs)
override libaccel/tests/test_lower-libs :=
override libaccel/tests/test_lower-pkgs := cmocka libdrm libudev json-c

$(foreach t,tune tune_file tune_hints,$(eval libaccel/tests/test_$(t)-objs = libaccel/tests/test_$(t).o $$(libaccel/libaccel-objs)) \
	$(eval override libaccel/tests/test_$(t)-libs :=) \
	$(eval override libaccel/tests/test_$(t)-pkgs := cmocka libdrm libudev json-c))

# Wrong descriptors, a table for each operation.
libaccel/tests/test_misuse-objs := $(addprefix libaccel/tests/,test_misuse.o misuse_lines.o misuse_moves.o \
	misuse_networks.o)

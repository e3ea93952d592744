# SPDX-License-Identifier: MIT
# The tests of operations, and of what looks inside; included by libaccel.mk after it has set libaccel/libaccel-objs.

op-tests := $(addprefix libaccel/tests/ops/test_,\
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
oracle-objs := $(addprefix libaccel/tests/oracle/,\
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
op-test-objs := libaccel/tests/ops/optest.o $(oracle-objs)
$(foreach t,$(op-tests),$(eval $(t)-objs := $(t).o $(op-test-objs)))
libaccel/tests/ops/test_kv-objs += libaccel/tests/ops/kv_bench.o
libaccel/tests/ops/test_blocks-objs += $(addprefix libaccel/tests/ops/,net.o net_oracle.o)
$(foreach t,$(op-tests),$(eval $(t)-timeout := 900))

# In the virtual machine they use the node, see guest.h.
SELFTEST_PROGS += $(op-tests) libaccel/tests/test_conv_ways libaccel/tests/test_desc libaccel/tests/test_plan libaccel/tests/test_calib \
	libaccel/tests/test_quant libaccel/tests/test_sparse libaccel/tests/ops/test_misuse
# Thousands of buffers and queues: an hour on a kernel with checkers, where the others do.
$(foreach t,$(op-tests),$(eval $(t)-kernels := stock))

# libaccel.mk sets these for all tests; this one is linked with a library of its own.
override libaccel/tests/test_blas-pkgs := cmocka openblas
libaccel/tests/test_blas-env := OPENBLAS_NUM_THREADS=1
CFLAGS-libaccel/tests/test_blas.o := $(call pkg-cflags,openblas)

libaccel/tests/test_view-objs := libaccel/tests/test_view.o libaccel/tests/oracle/oracle.o

# Looks inside: linked with the objects, which the shared library hides.
libaccel/tests/test_lower-objs = libaccel/tests/test_lower.o libaccel/tests/oracle/oracle.o $(libaccel/libaccel-objs)
override libaccel/tests/test_lower-libs :=
override libaccel/tests/test_lower-pkgs := cmocka libdrm libudev json-c

$(foreach t,tune tune_file tune_hints,$(eval libaccel/tests/test_$(t)-objs = libaccel/tests/test_$(t).o $$(libaccel/libaccel-objs)) \
	$(eval override libaccel/tests/test_$(t)-libs :=) \
	$(eval override libaccel/tests/test_$(t)-pkgs := cmocka libdrm libudev json-c))

# Wrong descriptors, a table for each operation.
libaccel/tests/ops/test_misuse-objs := $(addprefix libaccel/tests/ops/,test_misuse.o misuse_lines.o misuse_moves.o \
	misuse_networks.o)

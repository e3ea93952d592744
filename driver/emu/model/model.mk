# SPDX-License-Identifier: MIT
# The model. MODEL_OBJS are its objects for user space: whoever runs tasks in
# process links them.

model-dir := driver/emu/model

# Without floating point but for the kernels; the kernel builds it the same way.
MODEL_OBJS := $(addprefix $(model-dir)/,tensor.o decode.o match.o check.o profile.o mem.o row.o packed.o pack.o \
	gemm_load.o gemm_tile.o gemm.o elementwise.o run.o kernels_portable.o)

CFLAGS-$(model-dir)/ := -Iuapi/drm -ffreestanding -fno-math-errno -Wno-psabi

ifneq ($(filter x86_64-%,$(shell $(CC) -dumpmachine)),)
MODEL_OBJS += $(model-dir)/kernels_avx2.o $(model-dir)/kernels_avx512.o
CFLAGS-$(model-dir)/kernels_avx2.o := -mavx2 -mfma -mf16c
CFLAGS-$(model-dir)/kernels_avx512.o := -mavx512f -mavx512bw -mavx512vl -mavx512dq -mfma -mf16c
endif

# --- tests --------------------------------------------------------------------------------------------------------

model-tests := test_kernels test_exec test_malformed test_pack
MODEL_TESTS += $(addprefix $(model-dir)/tests/,$(model-tests))
model-test-objs := $(addprefix $(model-dir)/tests/,mt.o ref.o gen.o) $(MODEL_OBJS)

define model-test
$(model-dir)/tests/$(1)-objs := $(model-dir)/tests/$(1).o $$(model-test-objs)
$(model-dir)/tests/$(1)-ldlibs := -lm
endef
$(foreach t,$(model-tests),$(eval $(call model-test,$(t))))

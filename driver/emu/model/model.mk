# SPDX-License-Identifier: MIT
# The model. MODEL_OBJS are its objects for user space: whoever runs tasks in
# process links them.

M := driver/emu/model

# Without floating point but for the kernels; the kernel builds it the same way.
MODEL_OBJS := $(addprefix $(M)/,tensor.o decode.o match.o check.o profile.o mem.o row.o packed.o pack.o gemm_load.o \
	gemm.o elementwise.o run.o kernels_portable.o)

CFLAGS-$(M)/ := -Iuapi/drm -ffreestanding -fno-math-errno -Wno-psabi

ifneq ($(filter x86_64-%,$(shell $(CC) -dumpmachine)),)
MODEL_OBJS += $(M)/kernels_avx2.o $(M)/kernels_avx512.o
CFLAGS-$(M)/kernels_avx2.o := -mavx2 -mfma -mf16c
CFLAGS-$(M)/kernels_avx512.o := -mavx512f -mavx512bw -mavx512vl -mavx512dq -mfma -mf16c
endif

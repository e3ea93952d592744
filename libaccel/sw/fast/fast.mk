# SPDX-License-Identifier: MIT
# Tuned kernels of the in-process device; included by libaccel.mk. A file is compiled for one level of instructions.

fast-dir := libaccel/sw/fast

libaccel-fast-objs := $(addprefix $(fast-dir)/,\
	fast.o \
	)

# Their headers are the compiler's; nothing is contracted that is not written so.
fast-avx2 := -mavx2 -mfma -mf16c
fast-avx512 := $(fast-avx2) -mavx512f -mavx512bw -mavx512dq -mavx512vl
fast-vnni := $(fast-avx512) -mavx512vnni
fast-bf16 := $(fast-vnni) -mavx512bf16
fast-avxvnni := $(fast-avx2) -mavxvnni
fast-amx := $(fast-bf16) -mamx-tile -mamx-int8 -mamx-bf16
fast-fp16 := $(fast-bf16) -mavx512fp16

CFLAGS-$(fast-dir)/ := -fno-math-errno -Wno-psabi

ifneq ($(filter x86_64-%,$(shell $(CC) -dumpmachine 2>/dev/null)),)
# libaccel-fast-objs += $(fast-dir)/x_avx512.o
# CFLAGS-$(fast-dir)/x_avx512.o := $(fast-avx512)
endif

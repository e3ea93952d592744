# SPDX-License-Identifier: MIT
# Tuned kernels of the in-process device; included by libaccel.mk. A file is compiled for one level of instructions.

fast-dir := libaccel/sw/fast

libaccel-fast-objs := $(addprefix $(fast-dir)/,\
	attn.o \
	attn_rows.o \
	attn_seq.o \
	attn_stream.o \
	fast.o \
	epilogue.o \
	gemm.o \
	gemm_cut.o \
	gemm_load.o \
	gemm_kernel.o \
	conv.o \
	conv_finish.o \
	conv_patch.o \
	conv_tile.o \
	conv_weights.o \
	depthwise.o \
	wino.o \
	dynquant.o \
	few.o \
	gemv.o \
	gemv_bring.o \
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
# fast-for LEVEL, FILES: objects that are compiled for a level
define fast-for
libaccel-fast-objs += $(addprefix $(fast-dir)/,$(2))
$(foreach f,$(2),$(eval CFLAGS-$(fast-dir)/$(f) := $(fast-$(strip $(1)))))
endef

$(eval $(call fast-for,avx2,gemm_f32_avx2.o gemm_s16_avx2.o))
$(eval $(call fast-for,avx512,epilogue_avx512.o gemm_f32_avx512.o gemm_s16_avx512.o gemm_pack_avx512.o gemm_unpack_avx512.o))
$(eval $(call fast-for,vnni,gemm_i8s_avx512.o gemm_i8u_avx512.o))
$(eval $(call fast-for,bf16,gemm_bf16_avx512.o))
$(eval $(call fast-for,amx,gemm_amx.o conv_amx.o))

$(eval $(call fast-for,avx2,dynquant_avx2.o few_avx2.o gemv_avx2.o))
$(eval $(call fast-for,avx512,dynquant_avx512.o few_avx512.o gemv_avx512.o))
$(eval $(call fast-for,vnni,gemv_vnni.o))
$(eval $(call fast-for,bf16,gemv_bf16.o))

$(eval $(call fast-for,avx2,attn_avx2.o))
$(eval $(call fast-for,avx512,attn_avx512.o))
$(eval $(call fast-for,vnni,attn_bytes.o))
$(eval $(call fast-for,bf16,attn_bf16.o))

$(eval $(call fast-for,avx2,conv_f32_avx2.o wino_avx2.o))
$(eval $(call fast-for,avx512,conv_f32_avx512.o conv_quotient_avx512.o conv_turn_avx512.o depthwise_avx512.o wino_avx512.o))
$(eval $(call fast-for,vnni,depthwise_vnni.o conv_u8s8_avx512.o conv_s8s8_avx512.o conv_u8u8_avx512.o conv_s8u8_avx512.o))
$(eval $(call fast-for,bf16,conv_bf16_avx512.o depthwise_bf16.o))
endif

ifneq ($(filter aarch64-%,$(shell $(CC) -dumpmachine 2>/dev/null)),)
# Not all classes; classes_none.c has the others' names.
libaccel-fast-objs := $(addprefix $(fast-dir)/,fast.o classes_none.o epilogue.o gemm.o gemm_cut.o gemm_load.o gemm_kernel.o \
	gemm_neon.o gemm_dotprod.o)
# Loads that are moved up before registers are given out cost two registers too many.
CFLAGS-$(fast-dir)/gemm_neon.o := -fno-schedule-insns
CFLAGS-$(fast-dir)/gemm_dotprod.o := -fno-schedule-insns -march=armv8.2-a+dotprod
endif

# SPDX-License-Identifier: MIT
# Tuned kernels of the in-process device; included by libaccel.mk. A file is compiled for one level of instructions.

fast-dir := libaccel/sw/kernels

libaccel-fast-objs := $(addprefix $(fast-dir)/,\
	attention/attn.o \
	attention/attn_rows.o \
	attention/attn_seq.o \
	attention/attn_stream.o \
	fast.o \
	ends/epilogue.o \
	gemm/experts.o \
	gemm/gemm.o \
	gemm/gemm_cut.o \
	gemm/gemm_load.o \
	gemm/gemm_kernel.o \
	gemm/grouped.o \
	gemm/grouped_load.o \
	gemm/pack.o \
	conv/conv.o \
	conv/conv_finish.o \
	conv/conv_patch.o \
	conv/conv_tile.o \
	conv/conv_weights.o \
	conv/depthwise.o \
	conv/taps.o \
	conv/wino.o \
	lines/dynquant.o \
	lines/best.o \
	lines/kv_write.o \
	lines/map.o \
	lines/move.o \
	lines/nest.o \
	lines/norm.o \
	lines/rotary.o \
	lines/rows.o \
	lines/sample.o \
	lines/window.o \
	rows/few.o \
	rows/gemv.o \
	rows/gemv_bring.o \
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
# A debugger does not know where variables are at each instruction: to find out took a third of the time.
CFLAGS-$(fast-dir)/ += -fno-var-tracking

# Address arithmetic unrolled a thousand times: checked for what it reaches, not at each step.
fast-asan := -fno-sanitize=alignment,null,pointer-overflow,object-size,shift,signed-integer-overflow

# Whole models run mostly in these: checks inline take half the time of a call for each vector. Others take minutes to
# compile then.
fast-inline := conv/conv_f32_% gemm/gemm_f32_% lines/lines_avx2.o attention/attn_avx2.o
fast-inline-asan = $(if $(filter $(fast-inline),$(1)),--param asan-instrumentation-with-call-threshold=7000)

ifneq ($(filter x86_64-%,$(shell $(CC) -dumpmachine 2>/dev/null)),)
cpu-avx2 := avx2
cpu-avx512 := avx512bw
cpu-vnni := avx512_vnni
cpu-bf16 := avx512_bf16
cpu-amx := amx_tile

# fast-for LEVEL, FILES: objects that are compiled for a level
define fast-for
libaccel-fast-objs += $(addprefix $(fast-dir)/,$(2))
$(foreach f,$(2),$(eval CFLAGS-$(fast-dir)/$(f) := $(fast-$(1))) \
	$(eval CFLAGS-asan-$(fast-dir)/$(f) := $(call if-cpu,$(cpu-$(1)),$(fast-asan) $(call fast-inline-asan,$(f)))) \
	$(eval CFLAGS-tsan-$(fast-dir)/$(f) := $(call if-cpu,$(cpu-$(1)))))
endef

$(eval $(call fast-for,avx2,ends/epilogue_avx2.o gemm/gemm_f32_avx2.o gemm/gemm_i8_avx2.o gemm/gemm_unpack_avx2.o gemm/grouped_avx2.o gemm/pack_avx2.o))
$(eval $(call fast-for,avx512,ends/epilogue_avx512.o gemm/gemm_f32_avx512.o gemm/gemm_s16_avx512.o gemm/gemm_pack_avx512.o gemm/gemm_unpack_avx512.o))
$(eval $(call fast-for,vnni,gemm/gemm_i8s_avx512.o gemm/gemm_i8u_avx512.o gemm/grouped_vnni.o))
$(eval $(call fast-for,bf16,gemm/gemm_bf16_avx512.o gemm/grouped_bf16.o))
$(eval $(call fast-for,amx,gemm/gemm_amx.o gemm/grouped_amx.o conv/conv_amx.o))

$(eval $(call fast-for,avx2,lines/dynquant_avx2.o lines/lines_avx2.o rows/few_avx2.o rows/gemv_avx2.o))
$(eval $(call fast-for,avx512,lines/dynquant_avx512.o lines/lines_avx512.o rows/few_avx512.o rows/gemv_avx512.o))
$(eval $(call fast-for,vnni,rows/gemv_vnni.o))
$(eval $(call fast-for,bf16,rows/gemv_bf16.o))

$(eval $(call fast-for,avx2,attention/attn_avx2.o))
$(eval $(call fast-for,avx512,attention/attn_avx512.o))
$(eval $(call fast-for,vnni,attention/attn_bytes.o))
$(eval $(call fast-for,bf16,attention/attn_bf16.o))
$(eval $(call fast-for,amx,attention/attn_amx.o))

$(eval $(call fast-for,avx2,conv/conv_bytes_avx2.o conv/conv_f32_avx2.o conv/taps_avx2.o conv/wino_avx2.o))
$(eval $(call fast-for,avx512,conv/conv_f32_avx512.o vec/quotient_avx512.o conv/conv_turn_avx512.o conv/depthwise_avx512.o conv/taps_avx512.o conv/wino_avx512.o))
$(eval $(call fast-for,vnni,conv/depthwise_vnni.o conv/taps_vnni.o conv/conv_u8s8_avx512.o conv/conv_s8s8_avx512.o conv/conv_u8u8_avx512.o conv/conv_s8u8_avx512.o))
$(eval $(call fast-for,bf16,conv/conv_bf16_avx512.o conv/depthwise_bf16.o))
endif

ifneq ($(filter aarch64-%,$(shell $(CC) -dumpmachine 2>/dev/null)),)
# Not all classes; classes_none.c has the others' names.
libaccel-fast-objs := $(addprefix $(fast-dir)/,fast.o classes_none.o ends/epilogue.o gemm/gemm.o gemm/gemm_cut.o gemm/gemm_load.o gemm/gemm_kernel.o \
	gemm/gemm_neon.o gemm/gemm_dotprod.o)
# Loads that are moved up before registers are given out cost two registers too many.
CFLAGS-$(fast-dir)/gemm/gemm_neon.o := -fno-schedule-insns
CFLAGS-$(fast-dir)/gemm/gemm_dotprod.o := -fno-schedule-insns -march=armv8.2-a+dotprod
endif

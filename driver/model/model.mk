# SPDX-License-Identifier: MIT
# The model. MODEL_OBJS are its objects for user space: whoever runs tasks in
# process links them.

model-dir := driver/model

# Without floating point but for the kernels; the kernel builds it the same way.
MODEL_OBJS := $(addprefix $(model-dir)/,\
	tensor.o \
	ops.o \
	decode.o \
	match.o \
	check.o \
	profile.o \
	mem.o \
	row.o \
	lines.o \
	softmax.o \
	norm.o \
	reduce.o \
	scan.o \
	topk.o \
	dynquant.o \
	kv_write.o \
	packed.o \
	packed24.o \
	pack.o \
	gemm_load.o \
	gemm_experts.o \
	gemm.o \
	elementwise.o \
	walk.o \
	gather.o \
	scatter.o \
	pool.o \
	resize.o \
	rotary.o \
	integer.o \
	attention.o \
	attention_keys.o \
	attention_tile.o \
	epilogue.o \
	conv.o \
	conv_load.o \
	conv_gemm.o \
	conv_rows.o \
	conv_wino.o \
	run.o \
	kernels_portable.o \
	)

CFLAGS-$(model-dir)/ := -Iuapi/drm -ffreestanding -fno-math-errno -Wno-psabi

ifneq ($(filter x86_64-%,$(shell $(CC) -dumpmachine 2>/dev/null)),)
MODEL_OBJS += $(model-dir)/kernels_avx2.o $(model-dir)/kernels_avx512.o
CFLAGS-$(model-dir)/kernels_avx2.o := -mavx2 -mfma -mf16c
CFLAGS-$(model-dir)/kernels_avx512.o := -mavx512f -mavx512bw -mavx512vl -mavx512dq -mfma -mf16c
$(foreach v,asan tsan,$(eval CFLAGS-$(v)-$(model-dir)/kernels_avx512.o := $(call if-cpu,avx512bw)))
endif

# --- tests --------------------------------------------------------------------------------------------------------

model-tests := \
	test_kernels \
	test_vision \
	test_exec \
	test_resume \
	test_conv \
	test_malformed \
	test_malformed_conv \
	test_malformed_attention \
	test_malformed_lines \
	test_pack \
	test_lines \
	test_sparse test_dynquant \
	test_kv_write \
	test_attention \
	test_fuzz \

MODEL_TESTS += $(addprefix $(model-dir)/tests/,$(model-tests))
model-test-objs := $(addprefix $(model-dir)/tests/,\
	tap.o \
	mt.o \
	ref.o \
	ref_func.o \
	gen.o \
	gen_conv.o \
	gen_lines.o \
	gen_vision.o \
	gen_attention.o \
	) $(MODEL_OBJS)

define model-test
$(model-dir)/tests/$(1)-objs := $(model-dir)/tests/$(1).o $$(model-test-objs)
$(model-dir)/tests/$(1)-ldlibs := -lm
endef
$(foreach t,$(model-tests),$(eval $(call model-test,$(t))))

$(foreach t,$(filter test_malformed%,$(model-tests)),$(eval $(model-dir)/tests/$(t)-objs += $(model-dir)/tests/malformed.o))
# What a sanitizer sees of them it sees of one of four; the rest are for "make proof" (ALL=1).
$(model-dir)/tests/test_exec-args := $(if $(ALL),,$(if $(filter asan,$(VARIANT)),0 1 4))
$(model-dir)/tests/test_fuzz-objs += $(model-dir)/tests/fuzz_task.o

model-fuzz := $(model-dir)/tests/fuzz_task
FUZZERS += $(model-fuzz)
$(model-fuzz)-fuzz-objs := $(model-test-objs)
ifneq ($(has-fuzzer),)
$(O)/$(model-dir)/tests/test_fuzz: $(O)/$(model-fuzz).fuzzer
$(model-dir)/tests/test_fuzz-inputs := $(O)/$(model-fuzz).fuzzer
endif

# The seeds are valid tasks and lists of them, made by the program that also mutates them.
PHONY += fuzz-model
fuzz-model: $(O)/$(model-dir)/tests/test_fuzz
	$(Q)mkdir -p $(B)/fuzz/model && $< --seeds $(B)/fuzz/model && $(call fuzz,$(model-fuzz),model,-max_len=8193)

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
	kv_write \
	elementwise \
	odd \
	formats \
	gather \
	vision \
	rotary \
	kv \
	kv_file \
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
	oracle_formats.o \
	oracle_num.o \
	oracle_softmax.o \
	oracle_norm.o \
	oracle_reduce.o \
	oracle_dynquant.o \
	oracle_kv_write.o \
	oracle_table.o \
	oracle_elementwise.o \
	oracle_attention.o \
	oracle_gemm.o \
	oracle_gather.o \
	oracle_vision.o \
	oracle_rotary.o \
	oracle_conv.o \
	oracle_winograd.o \
	oracle_move.o \
	oracle_ffn.o \
	)
# To optimise what sanitizers add takes most of a compiler's time, and tests compute little by themselves.
# What fits into a buffer only the optimiser knows, as it does in the default variant.
CFLAGS-asan-libaccel/tests/ := -O0 -Wno-format-truncation
# It only reads what tests have made, an element at a time: checked, it would take most of the time under sanitizers.
CFLAGS-asan-libaccel/tests/oracle/ := -fno-sanitize=all -O2
op-test-objs := $(addprefix libaccel/tests/ops/,optest.o optest_case.o) $(oracle-objs)
$(foreach t,$(op-tests),$(eval $(t)-objs := $(t).o $(op-test-objs)))
$(foreach t,kv kv_file kv_write,$(eval libaccel/tests/ops/test_$(t)-objs += libaccel/tests/ops/kv_bench.o))
$(foreach t,blocks odd,$(eval libaccel/tests/ops/test_$(t)-objs += $(addprefix libaccel/tests/ops/,net.o net_oracle.o)))
$(foreach t,$(op-tests),$(eval $(t)-timeout := 900))

# The oracle held against what is known without it.
libaccel/tests/ops/test_oracle-objs := libaccel/tests/ops/test_oracle.o $(op-test-objs)

# In the virtual machine they use the node, see guest.h.
SELFTEST_PROGS += $(op-tests) libaccel/tests/test_conv_ways libaccel/tests/test_desc libaccel/tests/test_infer libaccel/tests/test_args libaccel/tests/test_null libaccel/tests/test_plan libaccel/tests/test_calib \
	libaccel/tests/test_quant libaccel/tests/test_sparse libaccel/tests/ops/test_misuse
# Thousands of buffers and queues, or much arithmetic: an hour on a kernel with checkers, where the others do, and faults
# and mutate.
$(foreach t,$(op-tests) $(addprefix libaccel/tests/,ops/test_misuse test_sparse test_conv_ways test_quant test_calib),\
	$(eval $(t)-kernels := stock))

#: fuzz-sound    libFuzzer on files with sound for FUZZ_SECONDS (60), with clang
PHONY += fuzz-sound
FUZZERS += libaccel/tests/fuzz_sound
libaccel/tests/fuzz_sound-fuzz-objs = $(addprefix libaccel/models/speech/,audio.o features.o) $(store-srcs:.c=.o)
libaccel/tests/fuzz_sound-fuzz-plain := $(libaccel/libaccel-objs)
# What the libraries of models need is not known yet here.
libaccel/tests/fuzz_sound-fuzz-pkgs = libdrm libudev $(libaccel/libaccel-models-pkgs)
fuzz-sound: $(O)/libaccel/tests/fuzz_sound.fuzzer
	$(Q)mkdir -p $(B)/fuzz/sound && head -c 1000 examples/speech/clip10.wav >$(B)/fuzz/sound/seed && \
	$(call fuzz,libaccel/tests/fuzz_sound,sound,-max_len=4096)

# libaccel.mk sets these for all tests; this one is linked with a library of its own.
override libaccel/tests/test_blas-pkgs := cmocka openblas
libaccel/tests/test_blas-env := OPENBLAS_NUM_THREADS=1
CFLAGS-libaccel/tests/test_blas.o := $(call pkg-cflags,openblas)

$(foreach t,view conv_ways,$(eval libaccel/tests/test_$(t)-objs := $(addprefix libaccel/tests/,test_$(t).o oracle/oracle.o \
	oracle/oracle_formats.o)))

# Looks inside: linked with the objects, which the shared library hides.
libaccel/tests/test_lower-objs = libaccel/tests/test_lower.o libaccel/tests/oracle/oracle.o libaccel/tests/oracle/oracle_formats.o $(libaccel/libaccel-objs)
override libaccel/tests/test_lower-libs :=
override libaccel/tests/test_lower-pkgs := cmocka libdrm libudev json-c

# Looks at tiles as they run.
libaccel/tests/test_flags-objs = libaccel/tests/test_flags.o libaccel/tests/ops/samples.o libaccel/tests/oracle/oracle.o libaccel/tests/oracle/oracle_formats.o \
	$(libaccel/libaccel-objs)
override libaccel/tests/test_flags-libs :=
override libaccel/tests/test_flags-pkgs := cmocka libdrm libudev json-c
override libaccel/tests/test_flags-ldlibs := -Wl,--wrap=fast_prepare,--wrap=uma_run_step -lpthread -lm

libaccel/tests/ops/test_models-objs = libaccel/tests/ops/test_models.o $(libaccel/libaccel-objs)
override libaccel/tests/ops/test_models-libs :=
override libaccel/tests/ops/test_models-pkgs := cmocka libdrm libudev json-c
override libaccel/tests/ops/test_models-ldlibs := -Wl,--wrap=fast_quotient -lpthread -lm

$(foreach t,tune tune_file tune_hints,$(eval libaccel/tests/test_$(t)-objs = libaccel/tests/test_$(t).o $$(libaccel/libaccel-objs)) \
	$(eval override libaccel/tests/test_$(t)-libs :=) \
	$(eval override libaccel/tests/test_$(t)-pkgs := cmocka libdrm libudev json-c))

$(foreach t,infer args,$(eval libaccel/tests/test_$(t)-objs := $(addprefix libaccel/tests/,test_$(t).o ops/samples.o)))
libaccel/tests/runtime/test_rebind-objs := $(addprefix libaccel/tests/,runtime/test_rebind.o ops/samples.o)

# Wrong descriptors, a table for each operation.
libaccel/tests/ops/test_misuse-objs := $(addprefix libaccel/tests/ops/,test_misuse.o misuse_lines.o misuse_moves.o \
	misuse_networks.o)
$(foreach t,onnx onnx_fuzz onnx_ops onnx_quant onnx_ms onnx_attention onnx_host onnx_doubles onnx_window onnx_regions \
	onnx_flow onnx_added onnx_random onnx_sequence onnx_sizes onnx_limits cache generate \
	onnx_stages constants fallback families embed adapter models_null beam qdq,$(eval override libaccel/tests/graph/test_$(t)-libs := libaccel/libaccel-models libaccel/libaccel))
override libaccel/tests/test_weights-libs := libaccel/libaccel-models libaccel/libaccel

# Look inside, for digests of files that were changed, and what is known of them.
$(foreach t,graph/test_program_file runtime/test_known,\
	$(eval libaccel/tests/$(t)-objs = libaccel/tests/$(t).o $$(libaccel/libaccel-objs)) \
	$(eval override libaccel/tests/$(t)-libs :=) \
	$(eval override libaccel/tests/$(t)-pkgs := cmocka libdrm libudev json-c))

# Looks inside, for the blocks of a file.
libaccel/tests/graph/test_imatrix-objs = libaccel/tests/graph/test_imatrix.o $(libaccel/libaccel-models-objs)
override libaccel/tests/graph/test_imatrix-pkgs = cmocka $(libaccel/libaccel-models-pkgs)

# Looks inside, as to which tokens may come next.
libaccel/tests/graph/test_speech-objs = libaccel/tests/graph/test_speech.o $(libaccel/libaccel-models-objs)
override libaccel/tests/graph/test_speech-pkgs = cmocka $(libaccel/libaccel-models-pkgs)
# The harnesses of libFuzzer, with inputs of its own.
libaccel/tests/graph/test_mutations-objs = libaccel/tests/graph/test_mutations.o $(libaccel/libaccel-models-objs)
override libaccel/tests/graph/test_mutations-pkgs = cmocka $(libaccel/libaccel-models-pkgs)

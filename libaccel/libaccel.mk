# SPDX-License-Identifier: MIT
# The C library. Its tests are programs named test_*.c, each on its own.

# Its folders are rooms; Documentation/architecture.rst says what is in each, scripts/check-walls which opens into which.
libaccel-rooms := core backend/drm backend/rec ops plan tune kv quant debug sw
libaccel-srcs := $(sort $(wildcard $(addsuffix /*.c,$(addprefix libaccel/,$(libaccel-rooms)))))
include libaccel/sw/kernels/fast.mk
# What model.mk calls the model's objects, or all of them.
libaccel-model-objs := $(or $(MODEL_OBJS),$(patsubst %.c,%.o,$(sort $(wildcard driver/emu/model/*.c))))

LIBS += libaccel/libaccel
libaccel/libaccel-objs := $(patsubst %.c,%.o,$(libaccel-srcs)) $(libaccel-fast-objs) \
	$(libaccel-model-objs)
include libaccel/tests/tests.mk
libaccel/libaccel-pkgs := libdrm libudev json-c
libaccel/libaccel-ldlibs := -lpthread -lm
libaccel/libaccel-map := libaccel/libaccel.map
libaccel/libaccel-soversion := 0
libaccel/libaccel-version := $(VERSION)

CFLAGS-libaccel/ := -Ilibaccel/include -Iuapi/drm $(call pkg-cflags,libdrm libudev json-c)
# The public headers of the tree come before installed ones; drm.h is libdrm's.

libaccel-tests := $(patsubst %.c,%,$(sort $(wildcard libaccel/tests/test_*.c libaccel/tests/ops/test_*.c)))
# What races is the threads and the queues. Of the operations, a few go through them under the thread sanitizer; the
# others would only compute, slowly, or map memory where that sanitizer has its own.
sole-tests := $(addprefix libaccel/tests/,test_strips test_fast ops/test_gemm_large)
UNIT_TESTS += $(if $(filter tsan,$(VARIANT)),\
	$(filter-out $(sole-tests) $(filter-out $(addprefix libaccel/tests/ops/test_,gemm softmax kv),$(op-tests)),\
		$(libaccel-tests)),\
	$(libaccel-tests))
$(foreach t,$(libaccel-tests),$(eval $(t)-libs := libaccel/libaccel))
$(foreach t,$(libaccel-tests),$(eval $(t)-pkgs := cmocka json-c))
$(foreach t,$(libaccel-tests),$(eval $(t)-ldlibs := -lpthread -lm))
$(foreach t,$(libaccel-tests),$(eval $(t)-env := CMOCKA_MESSAGE_OUTPUT=TAP))
# Under sanitizers operations run on the device that takes all of them, with the best kernels; levels-asan has the others.
$(foreach t,$(op-tests),$(eval $(t)-env += $(if $(filter asan,$(VARIANT)),ACCEL_TEST_DEVICE=sw:full)))
# Whole blocks of networks, and all convolutions, take minutes under sanitizers.
$(foreach t,blocks conv,$(eval libaccel/tests/ops/test_$(t)-env += $(if $(filter asan,$(VARIANT)),ACCEL_TEST_SMALL=1)))

# The operations that have kernels of their own, with each level of them that this processor has: a few random cases
# beside the tables. Under sanitizers too, where what reads or writes beyond an operand shows.
TEST_PROGS += libaccel/tests/levels
libaccel/tests/levels-libs := libaccel/libaccel
level-names := portable avx2 avx512 avx512-vnni avx512-bf16 amx neon neon-dotprod
# Large products once are enough there.
level-tests := libaccel/tests/test_quant $(addprefix libaccel/tests/ops/test_,gemm \
	$(if $(filter asan,$(VARIANT)),,gemm_large) conv attention dynquant norm softmax elementwise copy move vision reduce topk rotary misuse)
level-env = $(host-env) ACCEL_TEST_DEVICE=sw:full ACCEL_TEST_CASES=$(if $(filter asan,$(VARIANT)),4 ACCEL_TEST_SMALL=1,12)
PHONY += run-levels
run-levels: $(addprefix $(O)/,libaccel/tests/levels $(level-tests))
	$(Q)for l in $$($< $(level-names)); do $(foreach t,$(level-tests),$(level-env) ACCEL_SW_KERNELS=$$l \
		$(tap-run) --timeout $(call host-limit,$(t)) levels$(LAYER) $(notdir $(t))-$$l $(O)/$(t) &&) :; done

# Of the inside, without the library: these two are built for other processors too.
inside-objs := libaccel/sw/kernels.o $(libaccel-fast-objs) $(libaccel-model-objs)
libaccel/tests/test_strips-objs := libaccel/tests/test_strips.o driver/emu/model/tests/tap.o $(inside-objs) \
	$(if $(filter x86_64-%,$(shell $(CC) -dumpmachine 2>/dev/null)),libaccel/tests/strips_soft.o)
libaccel/tests/test_fast-objs := $(addprefix driver/emu/model/tests/,tap.o mt.o gen.o gen_conv.o ref.o ref_func.o) \
	libaccel/tests/test_fast.o $(inside-objs)
$(foreach t,strips fast,$(eval override libaccel/tests/test_$(t)-libs :=))
$(foreach t,strips fast,$(eval override libaccel/tests/test_$(t)-pkgs :=))
CFLAGS-libaccel/tests/strips_soft.o := $(fast-avx512)
neon-tests := driver/emu/model/tests/test_kernels $(addprefix libaccel/tests/,test_strips test_fast)
PHONY += run-neon
run-neon: $(addprefix $(O)/,$(neon-tests))
	$(Q)$(foreach t,$(neon-tests),$(tap-run) --timeout 900 neon $(notdir $(t)) qemu-aarch64 -cpu max $(O)/$(t) &&) :

INSTALL_FILES += $(O)/libaccel/libaccel.pc:$(libdir)/pkgconfig/libaccel.pc
GENERATED += $(O)/libaccel/libaccel.pc
$(O)/libaccel/libaccel.pc: libaccel/libaccel.pc.in
	$(Q)mkdir -p $(@D) && sed -e 's|@prefix@|$(prefix)|; s|@libdir@|$(libdir)|; s|@includedir@|$(includedir)|' \
		-e 's|@version@|$(VERSION)|' $< > $@

include libaccel/tests/onnx/onnx.mk

# Against another library, whose threads are nobody's business here.
peer := libaccel/tests/against_dnnl
LAYER_TESTS += $(peer)
$(peer)-layer := dnnl
$(peer)-needs := /usr/include/dnnl.h
$(peer)-libs := libaccel/libaccel
$(peer)-pkgs := cmocka
$(peer)-ldlibs := -ldnnl -lm
$(peer)-env := OMP_NUM_THREADS=1

# The same tests of the runtime against a node; see tests/rt.h.
libaccel-node-tests := bo ctx fence job pool queue rec threads
SELFTEST_PROGS += $(addprefix libaccel/tests/node_,$(libaccel-node-tests))
$(foreach t,$(libaccel-node-tests),$(eval libaccel/tests/node_$(t)-objs := libaccel/tests/test_$(t).o))
$(foreach t,$(libaccel-node-tests),$(eval libaccel/tests/node_$(t)-libs := libaccel/libaccel))
$(foreach t,$(libaccel-node-tests),$(eval libaccel/tests/node_$(t)-pkgs := cmocka json-c))
$(foreach t,$(libaccel-node-tests),$(eval libaccel/tests/node_$(t)-ldlibs := -lpthread -lm))

# Core dumps are made up by the tests; a program writes one for the tests of accelctl, and as the fuzzer's seed.
libaccel/tests/test_coredump-objs := libaccel/tests/test_coredump.o libaccel/tests/dump_make.o
TEST_PROGS += libaccel/tests/make_coredump
libaccel/tests/make_coredump-objs := libaccel/tests/make_coredump.o libaccel/tests/dump_make.o

#: fuzz-coredump libFuzzer on the reader of core dumps for FUZZ_SECONDS (60), with clang
PHONY += fuzz-coredump
coredump-fuzz-srcs := libaccel/tests/fuzz_coredump.c $(wildcard libaccel/debug/*.c) \
	$(addprefix libaccel/,backend/rec/rec_task.c core/names.c core/error.c core/log.c)
fuzz-coredump: $(O)/libaccel/tests/make_coredump
	$(Q)mkdir -p $(B)/fuzz/coredump && $< >$(B)/fuzz/coredump/seed && \
	clang -g -O1 $(filter-out -Werror,$(base-cflags)) $(CFLAGS-libaccel/) -fsanitize=fuzzer,address,undefined \
	-fno-sanitize-recover=all -o $(B)/fuzz/fuzz_coredump $(coredump-fuzz-srcs) $(call pkg-libs,json-c) && \
	$(B)/fuzz/fuzz_coredump $(fuzz-limit) -print_final_stats=1 -max_len=8192 \
	-artifact_prefix=$(B)/fuzz/coredump- $(B)/fuzz/coredump

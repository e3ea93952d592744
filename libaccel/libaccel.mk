# SPDX-License-Identifier: MIT
# The C library. Its tests are programs named test_*.c, each on its own.

# Its folders are rooms; Documentation/architecture.rst says what is in each, scripts/check-walls which opens into which.
libaccel-rooms := core backend/drm backend/rec ops plan tune kv quant debug sw graph host
libaccel-srcs := $(sort $(wildcard $(addsuffix /*.c,$(addprefix libaccel/,$(libaccel-rooms)))))
include libaccel/sw/kernels/fast.mk
# What model.mk calls the model's objects, or all of them.
libaccel-model-objs := $(or $(MODEL_OBJS),$(patsubst %.c,%.o,$(sort $(wildcard driver/model/*.c))))

LIBS += libaccel/libaccel
libaccel/libaccel-objs := $(patsubst %.c,%.o,$(libaccel-srcs)) $(libaccel-fast-objs) \
	$(libaccel-model-objs)
include libaccel/tests/tests.mk
libaccel/libaccel-pkgs := libdrm libudev json-c
libaccel/libaccel-ldlibs := -lpthread -lm
libaccel/libaccel-map := libaccel/libaccel.map
libaccel/libaccel-soversion := 0
libaccel/libaccel-version := $(VERSION)

# Models, by the public headers alone.
LIBS += libaccel/libaccel-models
libaccel/libaccel-models-objs := $(patsubst %.c,%.o,$(sort $(wildcard libaccel/models/*.c libaccel/models/*/*.c libaccel/models/*/*/*.c)))
libaccel/libaccel-models-libs := libaccel/libaccel
libaccel/libaccel-models-pkgs := json-c libpcre2-8 libutf8proc sndfile soxr kissfft-float zlib
libaccel/libaccel-models-ldlibs := -lpthread -lm
libaccel/libaccel-models-version := $(VERSION)

CFLAGS-libaccel/ := -Ilibaccel/include -Iuapi/drm $(call pkg-cflags,libdrm libudev json-c)
CFLAGS-libaccel/models/ := $(call pkg-cflags,libpcre2-8 libutf8proc sndfile soxr kissfft-float zlib)
# The public headers of the tree come before installed ones; drm.h is libdrm's.

libaccel-tests := $(patsubst %.c,%,$(sort $(wildcard libaccel/tests/test_*.c libaccel/tests/ops/test_*.c libaccel/tests/graph/test_*.c libaccel/tests/runtime/test_*.c libaccel/tests/text/test_*.c)))
# What races is the threads and the queues: the thread sanitizer sees the runtime, what shares plans, weights, programs and
# requests between threads, and of the operations a few that go through them. The others would only compute, slowly, or map
# memory where that sanitizer has its own; the graphs of "edges", which go through one thread, are for "make proof" (ALL=1).
tsan-tests := $(filter libaccel/tests/runtime/%,$(libaccel-tests)) $(addprefix libaccel/tests/,\
	$(addprefix test_,args blas infer plan tune_file tune_hints) $(addprefix ops/test_,gemm kv softmax) \
	$(addprefix graph/test_,cache $(if $(ALL),edges) generate graph mapped onnx_added onnx_stages program_file store) text/test_tokenizer)
# One takes the place of sysconf(), which sanitizers ask for themselves.
UNIT_TESTS += $(filter-out $(if $(filter asan tsan,$(VARIANT)),libaccel/tests/runtime/test_pages),\
	$(if $(filter tsan,$(VARIANT)),$(tsan-tests),$(libaccel-tests)))
$(foreach t,$(libaccel-tests),$(eval $(t)-libs := libaccel/libaccel))
$(foreach t,$(libaccel-tests),$(eval $(t)-pkgs := cmocka json-c))
$(foreach t,$(libaccel-tests),$(eval $(t)-ldlibs := -lpthread -lm))
$(foreach t,$(libaccel-tests),$(eval $(t)-env := CMOCKA_MESSAGE_OUTPUT=TAP))
# Under sanitizers operations run on the device that takes all of them, with the best kernels; levels-asan has the others. Of
# cases one of four is run there, one of eight under the thread sanitizer, also of what else asks guest.h. Without sanitizers what goes over all levels of kernels and
# all chips runs each case with every other level, on neighbours the other cases, and on one of the chips. All of them for "make proof" (ALL=1).
sanitized-env := $(if $(ALL),,$(if $(filter asan,$(VARIANT)),ACCEL_TEST_EVERY=4)$(if $(filter tsan,$(VARIANT)),ACCEL_TEST_EVERY=8))
level-by-level := $(op-tests) libaccel/tests/test_fast libaccel/tests/ops/test_rows
$(foreach t,$(libaccel-tests),$(eval $(t)-env += $(sanitized-env)))
$(if $(filter default,$(VARIANT)),$(if $(ALL),,$(foreach t,$(level-by-level),$(eval $(t)-env += ACCEL_TEST_EVERY=2))))
$(foreach t,$(op-tests),$(eval $(t)-env += $(if $(filter asan,$(VARIANT)),ACCEL_TEST_DEVICE=sw:full)))
# Whole blocks of networks and all convolutions take minutes under sanitizers; of products the thread sanitizer sees some of
# each kind, and of caches of keys and values fewer steps on one chip.
$(foreach t,blocks conv,$(eval libaccel/tests/ops/test_$(t)-env += $(if $(filter asan,$(VARIANT)),ACCEL_TEST_SMALL=1)))
libaccel/tests/ops/test_gemm-env += $(if $(filter tsan,$(VARIANT)),ACCEL_TEST_DEVICE=sw:full ACCEL_TEST_SMALL=1 ACCEL_TEST_CASES=5)
libaccel/tests/ops/test_kv-env += $(if $(ALL),,$(if $(filter tsan,$(VARIANT)),ACCEL_TEST_DEVICE=sw:full ACCEL_TEST_SMALL=1))

# "make test" runs a test with sanitizers only, but for those that go over levels and chips, those of which sanitizers
# run a part, those that count allocations or bytes, and those with libFuzzer. "make unit", ALL=1 and T= run all of them without, too.
plain-too := $(level-by-level) $(addprefix libaccel/tests/,runtime/test_pages text/test_tokenizer \
	$(addprefix test_,flags tune_hints) \
	$(addprefix graph/test_,beam fallback generate graph mapped onnx_added onnx_flow onnx_fuzz speech store))
sanitized-only := $(if $(IN_TEST),$(if $(ALL)$(T),,$(if $(filter default,$(VARIANT)),$(filter-out $(plain-too),$(libaccel-tests)))))

# With each level of kernels that this processor has: tests of operations go through all of them by themselves, where each
# case is computed once for all. Under sanitizers, where what reads or writes beyond an operand shows, a few random cases
# beside the tables.
TEST_PROGS += libaccel/tests/levels
libaccel/tests/levels-libs := libaccel/libaccel
level-names := portable avx2 avx512 avx512-vnni avx512-bf16 amx neon neon-dotprod
# Large products once are enough there, and what odd numbers become is not about memory.
level-tests := libaccel/tests/test_quant $(addprefix libaccel/tests/ops/test_,\
	$(if $(filter asan,$(VARIANT)),,gemm_large) misuse)
level-ops := $(if $(filter asan,$(VARIANT)),$(filter-out $(addprefix %_,kv blocks ffn $(if $(ALL),,odd)),$(op-tests)))
level-env = $(host-env) ACCEL_TEST_DEVICE=sw:full $(if $(filter asan,$(VARIANT)),ACCEL_TEST_CASES=4 ACCEL_TEST_SMALL=1 $(sanitized-env))
LEVEL_TESTS += $(level-tests) $(level-ops)
# level-test TEST LEVEL NAME
level-test = $(level-env) ACCEL_SW_KERNELS=$(2) $(tap-run) --timeout $(host-limit) $(call inputs-of,$(1)) levels$(LAYER) $(3) $(O)/$(1)
$(addprefix run/levels/,$(level-tests)): run/levels/%: $(O)/% $(O)/libaccel/tests/levels
	$(Q)for l in $$($(O)/libaccel/tests/levels $(level-names)); do $(call level-test,$*,$$l,$(notdir $*)-$$l) || exit; done
$(addprefix run/levels/,$(level-ops)): run/levels/%: $(O)/%
	$(Q)$(call level-test,$*,all,$(notdir $*))

# Of the inside, without the library: these are built for other processors too.
inside-objs := libaccel/sw/kernels.o $(libaccel-fast-objs) $(libaccel-model-objs)
soft-objs := $(if $(filter x86_64-%,$(shell $(CC) -dumpmachine 2>/dev/null)),libaccel/tests/strips_soft.o)
libaccel/tests/test_strips-objs := libaccel/tests/test_strips.o driver/model/tests/tap.o $(inside-objs) $(soft-objs)
libaccel/tests/test_fast-objs := $(addprefix driver/model/tests/,tap.o mt.o gen.o gen_conv.o gen_lines.o ref.o ref_func.o) \
	libaccel/tests/test_fast.o $(inside-objs) $(soft-objs)
override libaccel/tests/test_fast-ldlibs := -Wl,--wrap=fast_gemm_bf16_amx -lm
libaccel/tests/test_fpmode-objs := libaccel/tests/test_fpmode.o driver/model/tests/tap.o
$(foreach t,strips fast fpmode,$(eval override libaccel/tests/test_$(t)-libs :=))
$(foreach t,strips fast fpmode,$(eval override libaccel/tests/test_$(t)-pkgs :=))
CFLAGS-libaccel/tests/strips_soft.o := $(fast-avx512)
neon-tests := driver/model/tests/test_kernels $(addprefix libaccel/tests/,test_strips test_fast test_fpmode)
PHONY += run-neon $(addprefix run/neon/,$(neon-tests))
run-neon: $(addprefix run/neon/,$(neon-tests))
$(addprefix run/neon/,$(neon-tests)): run/neon/%: $(O)/%
	$(Q)$(tap-run) --timeout $(host-limit) $(call inputs-of,$*) neon $(notdir $*) qemu-aarch64 -cpu max $(O)/$*
# The same with another C library, for which all of libaccel.so compiles; libaccel-models is not compiled for it.
musl-tests := $(neon-tests) $(filter-out $(neon-tests),$(MODEL_TESTS))
PHONY += run-musl $(addprefix run/musl/,$(musl-tests))
run-musl: $(addprefix $(O)/,$(libaccel/libaccel-objs)) $(addprefix run/musl/,$(musl-tests))
$(addprefix run/musl/,$(musl-tests)): run/musl/%: $(O)/%
	$(call run-test,musl,$*)

libaccel-pcs := $(addprefix libaccel/,libaccel.pc libaccel-models.pc)
INSTALL_FILES += $(foreach p,$(libaccel-pcs),$(O)/$p:$(libdir)/pkgconfig/$(notdir $p))
GENERATED += $(addprefix $(O)/,$(libaccel-pcs))
$(addprefix $(O)/,$(libaccel-pcs)): $(O)/%.pc: %.pc.in
	$(Q)mkdir -p $(@D) && sed -e 's|@prefix@|$(prefix)|; s|@libdir@|$(libdir)|; s|@includedir@|$(includedir)|' \
		-e 's|@version@|$(VERSION)|; s|@private@|$($*-pkgs)|' $< > $@

include libaccel/tests/onnx/onnx.mk
include libaccel/tests/text/text.mk

# Against another library, whose threads are nobody's business here.
peer := libaccel/tests/against_dnnl
LAYER_TESTS += $(peer)
$(peer)-layer := dnnl
$(peer)-needs := /usr/include/dnnl.h
$(peer)-libs := libaccel/libaccel
$(peer)-pkgs := cmocka
$(peer)-ldlibs := -ldnnl -lm
$(peer)-env := OMP_NUM_THREADS=1

# The same tests of the runtime against a node; see tests/runtime/rt.h.
libaccel-node-tests := bo ctx fence job layout length pool queue rebind rec threads weights
SELFTEST_PROGS += $(addprefix libaccel/tests/node_,$(libaccel-node-tests))
# Mostly arithmetic, which the kernel with checkers does at a tenth of the speed.
$(foreach t,layout length rebind weights,$(eval libaccel/tests/node_$(t)-kernels := stock))
$(foreach t,$(libaccel-node-tests),$(eval libaccel/tests/node_$(t)-objs := libaccel/tests/runtime/test_$(t).o))
$(eval libaccel/tests/node_rebind-objs += libaccel/tests/ops/samples.o)
$(foreach t,$(libaccel-node-tests),$(eval libaccel/tests/node_$(t)-libs := libaccel/libaccel))
$(foreach t,$(libaccel-node-tests),$(eval libaccel/tests/node_$(t)-pkgs := cmocka json-c))
$(foreach t,$(libaccel-node-tests),$(eval libaccel/tests/node_$(t)-ldlibs := -lpthread -lm))

# Core dumps are made up by the tests; a program writes one for the tests of accelctl, and as the fuzzer's seed.
libaccel/tests/test_coredump-inputs := driver/uma_regs.h
libaccel/tests/test_readme-inputs := README.md libaccel/include
libaccel/tests/test_coredump-objs := libaccel/tests/test_coredump.o libaccel/tests/dump_make.o
TEST_PROGS += libaccel/tests/make_coredump
libaccel/tests/make_coredump-objs := libaccel/tests/make_coredump.o libaccel/tests/dump_make.o

#: fuzz-coredump libFuzzer on the reader of core dumps for FUZZ_SECONDS (60), with clang
PHONY += fuzz-coredump
coredump-fuzz := libaccel/tests/fuzz_coredump
FUZZERS += $(coredump-fuzz)
$(coredump-fuzz)-fuzz-objs := $(patsubst %.c,%.o,$(wildcard libaccel/debug/*.c)) \
	$(addprefix libaccel/,backend/rec/rec_task.o core/names.o core/error.o core/log.o)
$(coredump-fuzz)-fuzz-pkgs := json-c
fuzz-coredump: $(O)/libaccel/tests/make_coredump $(O)/$(coredump-fuzz).fuzzer
	$(Q)mkdir -p $(B)/fuzz/coredump && $< >$(B)/fuzz/coredump/seed && $(call fuzz,$(coredump-fuzz),coredump,-max_len=8192)

# Tensors of files: what reads them.
store-srcs := $(wildcard libaccel/models/*.c libaccel/models/safetensors/*.c) libaccel/models/gguf/gguf.c

# Models of ONNX: what reads them and makes programs of them is built for the fuzzer, the rest is the libraries'.
onnx-fuzz := libaccel/tests/fuzz_onnx
onnx-fuzz-rooms := $(addsuffix /%,$(addprefix libaccel/,graph host models/onnx ops plan))
FUZZERS += $(onnx-fuzz)
onnx-fuzz-all := $(libaccel/libaccel-objs) $(libaccel/libaccel-models-objs)
$(onnx-fuzz)-fuzz-objs := $(filter $(onnx-fuzz-rooms) $(store-srcs:.c=.o),$(onnx-fuzz-all))
$(onnx-fuzz)-fuzz-plain := $(filter-out $($(onnx-fuzz)-fuzz-objs),$(onnx-fuzz-all))
$(onnx-fuzz)-fuzz-pkgs := libdrm libudev $(libaccel/libaccel-models-pkgs)
ifneq ($(has-fuzzer),)
$(O)/libaccel/tests/graph/test_onnx_fuzz: $(O)/$(onnx-fuzz).fuzzer
libaccel/tests/graph/test_onnx_fuzz-inputs := $(O)/$(onnx-fuzz).fuzzer
endif

#: fuzz-onnx     libFuzzer on models for FUZZ_SECONDS (60), with clang
PHONY += fuzz-onnx
fuzz-onnx: $(O)/libaccel/tests/graph/test_onnx_fuzz
	$(Q)mkdir -p $(B)/fuzz/onnx && $< --seeds $(B)/fuzz/onnx && $(call fuzz,$(onnx-fuzz),onnx,-max_len=2048)

# Tensors of files: what reads them is built for the fuzzer, without what runs graphs.
store-fuzz := libaccel/tests/fuzz_store
FUZZERS += $(store-fuzz)
$(store-fuzz)-fuzz-objs := $(store-srcs:.c=.o)
$(store-fuzz)-fuzz-plain := $(libaccel/libaccel-objs)
$(store-fuzz)-fuzz-pkgs := libdrm libudev json-c
libaccel/tests/graph/test_store-objs := libaccel/tests/graph/test_store.o $(store-srcs:.c=.o)
ifneq ($(has-fuzzer),)
$(O)/libaccel/tests/graph/test_store: $(O)/$(store-fuzz).fuzzer
libaccel/tests/graph/test_store-inputs := $(O)/$(store-fuzz).fuzzer
endif

#: fuzz-store    libFuzzer on safetensors and GGUF files for FUZZ_SECONDS (60), with clang
PHONY += fuzz-store
fuzz-store: $(O)/libaccel/tests/graph/test_store
	$(Q)mkdir -p $(B)/fuzz/store && $< --seeds $(B)/fuzz/store && $(call fuzz,$(store-fuzz),store,-max_len=2048)

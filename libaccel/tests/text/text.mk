# SPDX-License-Identifier: MIT
# Text: tokenizers, templates of conversations, which token comes next; included by libaccel.mk.

text-tests := $(patsubst %.c,%,$(sort $(wildcard libaccel/tests/text/test_*.c)))
$(foreach t,$(text-tests),$(eval override $(t)-libs := libaccel/libaccel-models libaccel/libaccel))
$(foreach t,$(text-tests),$(eval $(t)-env += $(if $(filter default,$(VARIANT)),,ACCEL_TEST_SMALL=1)))

# On the CPU alone, so without the libraries.
$(foreach t,sampler constraint,$(eval libaccel/tests/text/test_$(t)-objs := \
	$(addprefix libaccel/,tests/text/test_$(t).o models/generate/$(t).o)) \
	$(eval override libaccel/tests/text/test_$(t)-libs :=))
libaccel/tests/text/test_constraint-objs += libaccel/models/generate/schema.o

#: fuzz-text     libFuzzer on tokenizers and templates for FUZZ_SECONDS (60), with clang
PHONY += fuzz-text
FUZZERS += libaccel/tests/text/fuzz_text
libaccel/tests/text/fuzz_text-fuzz-objs := $(patsubst %.c,%.o,$(wildcard libaccel/models/*.c libaccel/models/*/*.c))
libaccel/tests/text/fuzz_text-fuzz-plain := $(libaccel/libaccel-objs)
libaccel/tests/text/fuzz_text-fuzz-pkgs := libdrm libudev $(libaccel/libaccel-models-pkgs)
fuzz-text: $(O)/libaccel/tests/text/fuzz_text.fuzzer
	$(Q)mkdir -p $(B)/fuzz/text && $(call fuzz,libaccel/tests/text/fuzz_text,text,-max_len=4096)

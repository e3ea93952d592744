# SPDX-License-Identifier: MIT
# Text: tokenizers and templates of conversations; included by libaccel.mk.

text-tests := $(patsubst %.c,%,$(sort $(wildcard libaccel/tests/text/test_*.c)))
$(foreach t,$(text-tests),$(eval override $(t)-libs := libaccel/libaccel-models libaccel/libaccel))
CFLAGS-libaccel/tests/text/ := -DTEXT_DATA='"$(CURDIR)/libaccel/tests/text/testdata"'
$(foreach t,$(text-tests),$(eval $(t)-env += $(if $(filter default,$(VARIANT)),,ACCEL_TEST_SMALL=1)))

#: fuzz-text     libFuzzer on tokenizers and templates for FUZZ_SECONDS (60), with clang
PHONY += fuzz-text
fuzz-text: $(O)/libaccel/libaccel.so
	$(Q)mkdir -p $(B)/fuzz/text && clang -g -O1 $(filter-out -Werror,$(base-cflags)) $(CFLAGS-libaccel/) $(CFLAGS-libaccel/models/) \
	-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -o $(B)/fuzz/fuzz_text libaccel/tests/text/fuzz_text.c \
	$(wildcard libaccel/models/*.c libaccel/models/*/*.c) -L$(O)/libaccel -laccel -Wl,-rpath,'$(CURDIR)/$(O)/libaccel' \
	$(call pkg-libs,$(libaccel/libaccel-models-pkgs)) -lpthread -lm && \
	$(B)/fuzz/fuzz_text $(fuzz-limit) -print_final_stats=1 -max_len=4096 -rss_limit_mb=2048 \
	-artifact_prefix=$(B)/fuzz/text- $(B)/fuzz/text

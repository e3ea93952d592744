# SPDX-License-Identifier: MIT
# ONNX's operator vectors, as models that a user opens: the layer "vectors". Those of the installed package, and of the
# newest one that Debian has, in the cache. The code that reads their tensors is generated from the description that the
# package with ONNX's headers brings.

ONNX_PROTO ?= /usr/include/onnx/onnx.proto
ONNX_DATA ?= /usr/share/libonnx-testdata/data
onnx-cache := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/uma/vectors
onnx-newer := $(onnx-cache)/usr/share/libonnx-testdata/data
# The version whose vectors all pass; of a later one those that fail are skipped.
onnx-held := 1.20.
onnx-later = $(if $(filter $(onnx-held)%,$(shell cat $(onnx-cache)/version 2>/dev/null)),,--later)

onnx := libaccel/tests/onnx
onnx-gen := $(O)/onnx
onnx-models := $(onnx)/run_models
onnx-model-objs := $(addprefix $(onnx)/,models.o read.o table.o)
CFLAGS-$(onnx)/ := -I$(onnx-gen) -DONNX_DATA='"$(ONNX_DATA)"' $(call pkg-cflags,libprotobuf-c)

LAYER_TESTS += $(onnx-models)
$(onnx-models)-layer := vectors
$(onnx-models)-show := y
$(onnx-models)-needs := $(ONNX_PROTO)
$(onnx-models)-objs := $(onnx-model-objs) libaccel/tests/oracle/oracle.o libaccel/tests/oracle/oracle_formats.o
$(onnx-models)-libs := libaccel/libaccel libaccel/libaccel-models
$(onnx-models)-pkgs := libprotobuf-c
$(onnx-models)-ldlibs := -lm
$(onnx-models)-args = --vectors 1027 --newer $(onnx-newer) $(onnx-later) --table Documentation/onnx-operators.rst
$(onnx-models)-inputs = $(wildcard $(onnx-cache)/version)
# Without a network, or without Debian's apt, that part is skipped.
PHONY += onnx-newer
onnx-newer:
	$(Q)scripts/vectors.sh >/dev/null || :
vectors: onnx-newer

#: operators-update  write the manual's table of ONNX operators from what passes
PHONY += operators-update
operators-update: $(O)/$(onnx-models) onnx-newer
	$(Q)$< --newer $(onnx-newer) --write Documentation/onnx-operators.rst | grep -v '^ok'

# Generated code is compiled as it comes, and is nobody's to lint.
$(O)/$(onnx-models): $(onnx-gen)/onnx.pb-c.o
$(addprefix $(O)/,$(onnx-model-objs)): | $(onnx-gen)/onnx.pb-c.h
$(onnx-gen)/onnx.pb-c.h: $(ONNX_PROTO)
	$(call say,GEN,$@)mkdir -p $(@D) && protoc-c --proto_path=$(<D) --c_out=$(@D) $<
$(onnx-gen)/onnx.pb-c.c: $(onnx-gen)/onnx.pb-c.h
$(onnx-gen)/onnx.pb-c.o: $(onnx-gen)/onnx.pb-c.c
	$(call say,CC,$@)$(CC) -std=gnu11 -O2 -g -fPIC $(variant-flags) -c -o $@ $<
# clang-tidy compiles without make.
compile-commands: $(if $(wildcard $(ONNX_PROTO)),$(onnx-gen)/onnx.pb-c.h)

# SPDX-License-Identifier: MIT
# ONNX's operator vectors, run by a program of its own: the layer "onnx". The code that reads them is generated from the
# description that the package with ONNX's headers brings.

ONNX_PROTO ?= /usr/include/onnx/onnx.proto
ONNX_DATA ?= /usr/share/libonnx-testdata/data

onnx := libaccel/tests/onnx
onnx-run := $(onnx)/run_onnx
onnx-gen := $(O)/onnx
onnx-objs := $(patsubst %.c,%.o,$(sort $(wildcard $(onnx)/*.c)))

LAYER_TESTS += $(onnx-run)
$(onnx-run)-layer := onnx
$(onnx-run)-show := y
$(onnx-run)-needs := $(ONNX_PROTO)
$(onnx-run)-objs := $(onnx-objs) libaccel/tests/oracle/oracle.o
$(onnx-run)-libs := libaccel/libaccel
$(onnx-run)-pkgs := libprotobuf-c
$(onnx-run)-ldlibs := -lm
$(onnx-run)-timeout := 900
$(onnx-run)-args := --operators 147 --vectors 937
CFLAGS-$(onnx)/ := -I$(onnx-gen) -DONNX_DATA='"$(ONNX_DATA)"' $(call pkg-cflags,libprotobuf-c)

# Generated code is compiled as it comes, and is nobody's to lint.
$(O)/$(onnx-run): $(onnx-gen)/onnx.pb-c.o
$(addprefix $(O)/,$(onnx-objs)): | $(onnx-gen)/onnx.pb-c.h
$(onnx-gen)/onnx.pb-c.h: $(ONNX_PROTO)
	$(call say,GEN,$@)mkdir -p $(@D) && protoc-c --proto_path=$(<D) --c_out=$(@D) $<
$(onnx-gen)/onnx.pb-c.c: $(onnx-gen)/onnx.pb-c.h
$(onnx-gen)/onnx.pb-c.o: $(onnx-gen)/onnx.pb-c.c
	$(call say,CC,$@)$(CC) -std=gnu11 -O2 -g -fPIC $(variant-flags) -c -o $@ $<
# clang-tidy compiles without make.
compile-commands: $(if $(wildcard $(ONNX_PROTO)),$(onnx-gen)/onnx.pb-c.h)

# SPDX-License-Identifier: MIT
# Examples: the weights of examples/zoo are made by a program; two that run models of others, whose test fetches them.

TEST_PROGS += examples/zoo/fill examples/zoo/naive
examples/zoo/fill-pkgs := json-c
examples/zoo/naive-ldlibs := -lm
CFLAGS-examples/ := $(call pkg-cflags,json-c)

TEST_PROGS += examples/vad/vad examples/ocr/ocr
examples/vad/vad-libs := libaccel/libaccel-models libaccel/libaccel
examples/ocr/ocr-libs := libaccel/libaccel-models libaccel/libaccel
examples/ocr/ocr-pkgs := libpng
examples/ocr/ocr-ldlibs := -lm
CFLAGS-examples/ocr/ := $(call pkg-cflags,libpng)
BATS_TESTS += examples/examples.bats

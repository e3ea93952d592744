/* SPDX-License-Identifier: MIT */
/* The classes in the lists of fast.c. */
#ifndef LIBACCEL_SW_FAST_CLASSES_H
#define LIBACCEL_SW_FAST_CLASSES_H

#include "fast.h"

extern const struct fast_class fast_attention;
extern const struct fast_class fast_conv;
extern const struct fast_class fast_depthwise;
extern const struct fast_class fast_dynquant;
extern const struct fast_class fast_experts;
extern const struct fast_class fast_few;
extern const struct fast_class fast_gemm;
extern const struct fast_class fast_kv_write;
extern const struct fast_class fast_grouped;
extern const struct fast_class fast_grouped_bf16;
extern const struct fast_class fast_map;
extern const struct fast_class fast_move;
extern const struct fast_class fast_norm;
extern const struct fast_class fast_pack;
extern const struct fast_class fast_pointwise;
extern const struct fast_class fast_reduce;
extern const struct fast_class fast_rotary;
extern const struct fast_class fast_rows;
extern const struct fast_class fast_sample;
extern const struct fast_class fast_scan;
extern const struct fast_class fast_softmax;
extern const struct fast_class fast_taps;
extern const struct fast_class fast_topk;
extern const struct fast_class fast_window;
extern const struct fast_class fast_wino;
extern const struct fast_class fast_gemv;

#endif /* LIBACCEL_SW_FAST_CLASSES_H */

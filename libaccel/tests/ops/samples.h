/* SPDX-License-Identifier: MIT */
/*
 * A right descriptor of every operation, without buffers, and where its tensors are.
 */
#ifndef LIBACCEL_TESTS_OPS_SAMPLES_H
#define LIBACCEL_TESTS_OPS_SAMPLES_H

#include <stddef.h>
#include <stdint.h>
#include <accel/accel.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define MAX_TENSORS	12

union desc {
	struct accel_desc hdr;
	struct accel_gemm_desc gemm;
	struct accel_conv_desc conv;
	struct accel_copy_desc copy;
	struct accel_fill_desc fill;
	struct accel_unary_desc unary;
	struct accel_binary_desc binary;
	struct accel_select_desc select;
	struct accel_attention_desc attention;
	struct accel_rotary_desc rotary;
	struct accel_norm_desc norm;
	struct accel_softmax_desc softmax;
	struct accel_reduce_desc reduce;
	struct accel_topk_desc topk;
	struct accel_dynquant_desc dynquant;
	struct accel_kv_write_desc kv_write;
	struct accel_scan_desc scan;
	struct accel_pool_desc pool;
	struct accel_resize_desc resize;
	struct accel_gather_desc gather;
	struct accel_scatter_desc scatter;
	struct accel_concat_desc concat;
	struct accel_split_desc split;
	struct accel_pad_desc pad;
	struct accel_ffn_desc ffn;
};

/**
 * struct sample - a descriptor, and where its tensors are
 * @name: for messages
 * @make: fills it in
 * @results: number of results, which come first in @at
 * @at: offsets of the tensors, 0: there are no more
 * @given: results, the last of them, that are there only if the descriptor says so
 */
struct sample {
	const char *name;
	void (*make)(union desc *d);
	uint32_t results;
	uint32_t at[MAX_TENSORS];
	uint32_t given;
};

extern const struct sample samples[];
extern const uint32_t sample_count;

void sample_make(const struct sample *s, union desc *d);

static inline struct accel_tensor *sample_tensor(union desc *d, uint32_t at)
{
	return (struct accel_tensor *)((char *)d + at);
}

#endif /* LIBACCEL_TESTS_OPS_SAMPLES_H */

/* SPDX-License-Identifier: MIT */
/*
 * Attention in the importer: one description for all operators that are some.
 */
#ifndef LIBACCEL_MODELS_ONNX_ATTEND_H
#define LIBACCEL_MODELS_ONNX_ATTEND_H

#include "onnx.h"

/* What ONNX's attention gives as the scores */
enum { SCORES_PLAIN, SCORES_MASKED, SCORES_CAPPED, SCORES_SOFTMAX };

/**
 * struct heads - an attention
 * @q: [B, S, N, H]
 * @k: [B, T, heads, H]
 * @v: [B, T, heads, size]
 * @groups: queries' heads for each of the keys'; 1: as many
 * @bias: added to the scores, broadcast to [B, N, S, T], or NO_VALUE
 * @seen: BOOL likewise: false hides a key; NO_VALUE: all are seen
 * @past: where the first query is, S64 [] or [B, 1, 1, 1], or NO_VALUE: at the first key
 * @causal: keys behind a query are hidden
 * @window: keys that a query sees at most, 0: all
 * @scale: 0: 1 / sqrt(H)
 * @softcap: 0: none
 * @sinks: a score for each head of what has no value, or NO_VALUE
 * @scores: output for scores, UINT32_MAX: none
 * @mode: SCORES_*
 */
struct heads {
	uint32_t q;
	uint32_t k;
	uint32_t v;
	int64_t groups;
	uint32_t bias;
	uint32_t seen;
	uint32_t past;
	bool causal;
	int64_t window;
	float scale;
	float softcap;
	uint32_t sinks;
	uint32_t scores;
	uint32_t mode;
};

extern const struct heads no_heads;
/* [batch, heads, rows, size] of [batch, rows, heads, size], and back */
extern const uint32_t heads_turned[];

uint32_t attend(struct import *im, struct heads *h);
uint32_t attend_whole(struct import *im, struct heads *h);
uint32_t both_seen(struct import *im, uint32_t a, uint32_t b);
uint32_t length_of(struct import *im, uint32_t a, uint32_t axis);
uint32_t count_up(struct import *im, uint32_t n, bool down);
uint32_t of_batches(struct import *im, uint32_t a);
bool is_fixed(const struct import *im, uint32_t value, uint32_t axis);
uint32_t split_heads(struct import *im, uint32_t a, int64_t heads);
uint32_t join_heads(struct import *im, uint32_t a);
uint32_t with_past(struct import *im, uint32_t past, uint32_t a, uint32_t out);
uint32_t rotate(struct import *im, uint32_t a, uint32_t cosines, uint32_t sines, uint32_t at,
		bool interleaved);
uint32_t places_from(struct import *im, uint32_t a, uint32_t first);

#endif /* LIBACCEL_MODELS_ONNX_ATTEND_H */

/* SPDX-License-Identifier: MIT */
/*
 * Transforms of Winograd's algorithms, several channels at once.
 */
#ifndef LIBACCEL_SW_FAST_WINO_H
#define LIBACCEL_SW_FAST_WINO_H

#include <stdint.h>

/** WINO_POINTS: maximum points of a tile */
#define WINO_POINTS	64u

/**
 * struct wino_in - transform of a tile of the input
 * @px: first channel of each input, in rows
 * @v: first channel of the first point; room for a multiple of 16 channels
 * @v_ps: bytes from point to point
 * @channels: number of channels
 * @bf16: inputs are bf16, not binary32
 */
struct wino_in {
	const uint8_t *px[WINO_POINTS];
	uint8_t *v;
	int64_t v_ps;
	uint32_t channels;
	uint32_t bf16;
};

/**
 * struct wino_out - transform of sums into a tile of the output
 * @m: first channel of the first point
 * @m_ps: bytes from point to point
 * @out: first channel of the first output
 * @out_ms: bytes from output to output, which are in rows
 * @channels: number of channels, a multiple of 16
 */
struct wino_out {
	const uint8_t *m;
	int64_t m_ps;
	uint8_t *out;
	int64_t out_ms;
	uint32_t channels;
};

/**
 * struct wino_kernels - transforms for an instruction set, by edge / 2 - 1
 * @in: of the input
 * @out: of the output
 */
struct wino_kernels {
	void (*in[3])(const struct wino_in *w);
	void (*out[3])(const struct wino_out *w);
};

extern const struct wino_kernels wino_avx512;
extern const struct wino_kernels wino_avx2;

#endif /* LIBACCEL_SW_FAST_WINO_H */

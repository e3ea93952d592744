/* SPDX-License-Identifier: MIT */
/*
 * The transforms of wino.h for a width of registers; the points are those of the
 * model's conv_wino.c. The file that includes this says
 *
 *	W_VEC, W_LANES		a register of binary32
 *	W_SET(x)		a number in all lanes
 *	W_LOAD(p, n), W_LOAD_BF16(p, n)	@n channels, zeros behind
 *	W_FMA(a, b, c)		a * b + c
 *	W_TABLE			the table
 *
 * Along a dimension 12 to 14 operations for the 6 points of F(4x4), 10 for its
 * outputs, 32 and 24 for F(6x6), all on sums and differences that two points share.
 */
#include "wino.h"

#define ALWAYS static inline __attribute__((always_inline))

/* --- along a dimension: input ------------------------------------------------- */

ALWAYS void wino_bt2(const W_VEC *d, W_VEC *o)
{
	o[0] = d[0] - d[2];
	o[1] = d[1] + d[2];
	o[2] = d[2] - d[1];
	o[3] = d[1] - d[3];
}

ALWAYS void wino_bt4(const W_VEC *d, W_VEC *o)
{
	const W_VEC four = W_SET(4.0f), five = W_SET(-5.0f), two = W_SET(2.0f);
	W_VEC a = W_FMA(W_SET(-4.0f), d[2], d[4]), b = W_FMA(W_SET(-4.0f), d[1], d[3]);
	W_VEC c = d[4] - d[2], e = d[3] - d[1];

	o[0] = W_FMA(four, d[0], W_FMA(five, d[2], d[4]));
	o[1] = a + b;
	o[2] = a - b;
	o[3] = W_FMA(two, e, c);
	o[4] = W_FMA(W_SET(-2.0f), e, c);
	o[5] = W_FMA(four, d[1], W_FMA(five, d[3], d[5]));
}

ALWAYS void wino_bt6(const W_VEC *d, W_VEC *o)
{
	const W_VEC q17 = W_SET(-4.25f), q21 = W_SET(5.25f), q10 = W_SET(-2.5f);
	const W_VEC q5 = W_SET(-1.25f), quarter = W_SET(0.25f), half = W_SET(0.5f);
	const W_VEC two = W_SET(2.0f), four = W_SET(4.0f), five = W_SET(-5.0f);
	W_VEC a, b;

	o[0] = W_FMA(q21, d[4] - d[2], d[0] - d[6]);
	o[7] = W_FMA(q21, d[3] - d[5], d[7] - d[1]);
	a = W_FMA(q17, d[4], d[2] + d[6]);
	b = W_FMA(q17, d[3], d[1] + d[5]);
	o[1] = a + b;
	o[2] = a - b;
	a = W_FMA(quarter, d[2], W_FMA(q5, d[4], d[6]));
	b = W_FMA(half, d[1], W_FMA(q10, d[3], two * d[5]));
	o[3] = a + b;
	o[4] = a - b;
	a = W_FMA(four, d[2], W_FMA(five, d[4], d[6]));
	b = W_FMA(two, d[1], W_FMA(q10, d[3], half * d[5]));
	o[5] = a + b;
	o[6] = a - b;
}

/* --- along a dimension: output ------------------------------------------------ */

ALWAYS void wino_at2(const W_VEC *m, W_VEC *o)
{
	o[0] = m[0] + m[1] + m[2];
	o[1] = m[1] - m[2] - m[3];
}

ALWAYS void wino_at4(const W_VEC *m, W_VEC *o)
{
	W_VEC a = m[1] + m[2], b = m[1] - m[2], c = m[3] + m[4], d = m[3] - m[4];

	o[0] = m[0] + a + c;
	o[1] = W_FMA(W_SET(2.0f), d, b);
	o[2] = W_FMA(W_SET(4.0f), c, a);
	o[3] = W_FMA(W_SET(8.0f), d, b) + m[5];
}

ALWAYS void wino_at6(const W_VEC *m, W_VEC *o)
{
	W_VEC a = m[1] + m[2], b = m[1] - m[2], c = m[3] + m[4], d = m[3] - m[4];
	W_VEC e = m[5] + m[6], f = m[5] - m[6];

	o[0] = m[0] + a + (c + e);
	o[1] = W_FMA(W_SET(0.5f), f, W_FMA(W_SET(2.0f), d, b));
	o[2] = W_FMA(W_SET(0.25f), e, W_FMA(W_SET(4.0f), c, a));
	o[3] = W_FMA(W_SET(0.125f), f, W_FMA(W_SET(8.0f), d, b));
	o[4] = W_FMA(W_SET(0.0625f), e, W_FMA(W_SET(16.0f), c, a));
	o[5] = W_FMA(W_SET(0.03125f), f, W_FMA(W_SET(32.0f), d, b)) + m[7];
}

/* --- tiles ------------------------------------------------------------------ */

typedef void (*wino_line_fn)(const W_VEC *d, W_VEC *o);

ALWAYS void wino_in_do(const struct wino_in *w, const uint32_t e, const uint32_t bf16,
		       const wino_line_fn line)
{
	const uint32_t size = bf16 ? 2 : 4;
	W_VEC mid[8][8], d[8], o[8];
	uint32_t c, y, x;

	for (c = 0; c < w->channels; c += W_LANES) {
		const uint32_t n = w->channels - c < W_LANES ? w->channels - c : W_LANES;

#pragma GCC unroll 8
		for (y = 0; y < e; y++) {
#pragma GCC unroll 8
			for (x = 0; x < e; x++) {
				const uint8_t *p = w->px[y * e + x] + (uint64_t)size * c;

				d[x] = bf16 ? W_LOAD_BF16(p, n) : W_LOAD(p, n);
			}
			line(d, mid[y]);
		}
#pragma GCC unroll 8
		for (x = 0; x < e; x++) {
#pragma GCC unroll 8
			for (y = 0; y < e; y++)
				d[y] = mid[y][x];
			line(d, o);
#pragma GCC unroll 8
			for (y = 0; y < e; y++)
				*(W_VEC *)(w->v + (y * e + x) * w->v_ps + 4ul * c) = o[y];
		}
	}
}

ALWAYS void wino_out_do(const struct wino_out *w, const uint32_t e, const wino_line_fn line)
{
	W_VEC mid[8][8], d[8], o[8];
	uint32_t c, y, x;

	for (c = 0; c < w->channels; c += W_LANES) {
#pragma GCC unroll 8
		for (x = 0; x < e; x++) {
#pragma GCC unroll 8
			for (y = 0; y < e; y++)
				d[y] = *(const W_VEC *)(w->m + (y * e + x) * w->m_ps + 4ul * c);
			line(d, o);
#pragma GCC unroll 8
			for (y = 0; y < e - 2; y++)
				mid[y][x] = o[y];
		}
#pragma GCC unroll 8
		for (y = 0; y < e - 2; y++) {
			line(mid[y], o);
#pragma GCC unroll 8
			for (x = 0; x < e - 2; x++)
				*(W_VEC *)(w->out + (y * (e - 2) + x) * w->out_ms + 4ul * c) =
					o[x];
		}
	}
}

#define WINO_FNS(edge)								\
	static void wino_in_##edge(const struct wino_in *w)			\
	{									\
		if (w->bf16)							\
			wino_in_do(w, edge + 2, 1, wino_bt##edge);		\
		else								\
			wino_in_do(w, edge + 2, 0, wino_bt##edge);		\
	}									\
	static void wino_out_##edge(const struct wino_out *w)			\
	{									\
		wino_out_do(w, edge + 2, wino_at##edge);			\
	}

WINO_FNS(2)
WINO_FNS(4)
WINO_FNS(6)

const struct wino_kernels W_TABLE = {
	.in = { wino_in_2, wino_in_4, wino_in_6 },
	.out = { wino_out_2, wino_out_4, wino_out_6 },
};

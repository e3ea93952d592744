// SPDX-License-Identifier: MIT
/*
 * Block products of convolutions, binary32, AVX-512.
 */
#include <immintrin.h>
#include "conv_end_float.h"
#include "conv_fast.h"
#include "libaccel/sw/kernels/vec/vec512.h"
#include "libaccel/sw/kernels/vec/math.h"

/*
 * The activation of a block, four vectors at a time. They are reloaded after the store: there
 * are not enough registers for the activation and the sums.
 */
static __attribute__((noinline)) void activate(const struct conv_block *g, uint8_t *to,
					       uint32_t mr, uint32_t nv)
{
	const vf p0 = v_set(g->end->p[0]), p1 = v_set(g->end->p[1]);
	uint32_t left = mr * nv, n = 0, i;
	__mmask16 mask[4];
	uint8_t *at[4];
	vf x[4];

	/* Whole vectors, of which there are two or four side by side, need no masks. */
	if (g->last == 0xffff && nv == 4) {
		for (i = 0; i < mr; i++, to += g->dst_ms) {
			for (n = 0; n < 4; n++)
				x[n] = _mm512_loadu_ps(to + 64 * n);
			math_act(x, g->end->act, p0, p1);
			for (n = 0; n < 4; n++)
				_mm512_storeu_ps(to + 64 * n, x[n]);
		}
		return;
	}
	if (g->last == 0xffff && nv == 2 && !(mr & 1)) {
		for (i = 0; i < mr; i += 2, to += 2 * g->dst_ms) {
			x[0] = _mm512_loadu_ps(to);
			x[1] = _mm512_loadu_ps(to + 64);
			x[2] = _mm512_loadu_ps(to + g->dst_ms);
			x[3] = _mm512_loadu_ps(to + g->dst_ms + 64);
			math_act(x, g->end->act, p0, p1);
			_mm512_storeu_ps(to, x[0]);
			_mm512_storeu_ps(to + 64, x[1]);
			_mm512_storeu_ps(to + g->dst_ms, x[2]);
			_mm512_storeu_ps(to + g->dst_ms + 64, x[3]);
		}
		return;
	}
	for (; left; left -= UMA_MIN(left, 4u)) {
		for (i = 0; i < 4; i++) {
			at[i] = to + 64 * n;
			mask[i] = i >= left ? 0 : n + 1 < nv ? 0xffff : (__mmask16)g->last;
			if (++n == nv && i + 1 < left) {
				to += g->dst_ms;
				n = 0;
			}
			x[i] = _mm512_maskz_loadu_ps(mask[i], at[i]);
		}
		math_act(x, g->end->act, p0, p1);
		for (i = 0; i < 4; i++)
			_mm512_mask_storeu_ps(at[i], mask[i], x[i]);
	}
}

static bool has_act(uint32_t act)
{
	return math_has_act(act);
}

static inline __attribute__((always_inline)) bool
conv_end(const struct conv_block *g, uint8_t *to, const uint8_t *res, conv_row_sums *acc,
	 const uint32_t mr, const uint32_t nv)
{
	conv_end_f32(g, to, res, acc, mr, nv);
	if (g->end->act)
		activate(g, to, mr, nv);
	return true;
}

#define CONV_BCAST(p)		_mm512_set1_ps(*(const conv_float *)(p))
#define CONV_LOAD(p)		_mm512_loadu_ps(p)
#define CONV_LOAD_MASK(m, p)	_mm512_maskz_loadu_ps(m, p)
#define CONV_STEP(acc, a, b)	_mm512_fmadd_ps(a, b, acc)
#define CONV_END(g, to, res, acc, mr, nv)	conv_end(g, to, res, acc, mr, nv)
#define CONV_HAS_ACT		has_act
#define CONV_ENDS		(1u << CONV_END_F32)
#define CONV_TABLE		conv_f32_avx512

#include "conv_kernel_impl.h"

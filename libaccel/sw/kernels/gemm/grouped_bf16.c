// SPDX-License-Identifier: MIT
/* Products in groups: bf16 by integers minus their zero points, which are exact in bf16. */
#include "libaccel/sw/kernels/vec/vec512.h"

#define MR		6
#define WORD		2
#define IS_FLOAT	1

V_INLINE void vi_store(void *p, vi x)		{ _mm512_storeu_si512(p, x); }

V_INLINE vi step(vi acc, vi b, vi a)
{
	return vi_of(_mm512_dpbf16_ps(v_of(acc), (__m512bh)b, (__m512bh)a));
}

/* Element @i of a word, signed: unsigned ones have been converted, with their zero points. */
V_INLINE vi element(vi q, const uint32_t bits, const uint32_t i, vi zero)
{
	const uint32_t at = bits == 8 ? 8 * i : 8 * (i % 4) + 4 * (i / 4);
	const vi x = _mm512_srai_epi32(_mm512_slli_epi32(q, 32 - bits - at), 32 - bits);

	return vi_of(v_of_ints(vi_sub(x, zero)));
}

V_INLINE vi expand_word(vi q, uint32_t bits, uint32_t w, vi zero)
{
	return vi_or(vi_shr(element(q, bits, 2 * w, zero), 16), element(q, bits, 2 * w + 1, zero));
}

#include "grouped_kernel.h"

GROUPED(1) GROUPED(2) GROUPED(3) GROUPED(4) GROUPED(5) GROUPED(6)

const struct grouped_kernels grouped_bf16 = {
	.vl = VL, .mr = MR, .word = WORD,
	.fn = {
		GROUPED_FNS(1), GROUPED_FNS(2), GROUPED_FNS(3),
		GROUPED_FNS(4), GROUPED_FNS(5), GROUPED_FNS(6),
	},
	.expand = expand,
	.scales = scales,
};

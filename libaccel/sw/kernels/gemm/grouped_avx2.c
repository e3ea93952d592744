// SPDX-License-Identifier: MIT
/* Products in groups: bytes as pairs of s16, elements 0 and 2, 1 and 3 of each four. */
#include "libaccel/sw/kernels/vec/vec256.h"

#define MR		3
#define WORD		2
#define IS_FLOAT	0

V_INLINE void vi_store(void *p, vi x)		{ _mm256_storeu_si256(p, x); }
V_INLINE vi step(vi acc, vi b, vi a)		{ return vi_add(acc, vi_madd(b, a)); }

V_INLINE vi expand_word(vi q, uint32_t bits, uint32_t w, vi zero)
{
	(void)zero;
	if (bits == 8)
		return w ? vi_high_bytes(q) : vi_low_bytes(q);
	q = w & 2 ? vi_shr(q, 4) : q;
	return vi_and(w & 1 ? vi_shr(q, 8) : q, vi_bits(0x000f000f));
}

#include "grouped_kernel.h"

GROUPED(1) GROUPED(2) GROUPED(3)

const struct grouped_kernels grouped_avx2 = {
	.vl = VL, .mr = MR, .word = WORD,
	.fn = { GROUPED_FNS(1), GROUPED_FNS(2), GROUPED_FNS(3) },
	.expand = expand,
	.scales = scales,
	.blocks = blocks,
	.columns = columns,
	.turn_scales = turn_scales,
	.tables = block_tables,
	.few = FEW_ALL,
};

/* SPDX-License-Identifier: MIT */
/*
 * Small integers of packed words as numbers; included behind vec256.h or vec512.h.
 */
#ifndef LIBACCEL_SW_FAST_MAGIC_H
#define LIBACCEL_SW_FAST_MAGIC_H

/*
 * A number q in a field of bits of a word becomes q as binary32 where its lowest
 * bit is worth 1: the exponent is set above it, which adds 2^(23 - place), and
 * that is taken off, with the zero point. Both are exact.
 */
struct magic {
	vi mask[4], expo[4];
	vf less[4];
};

V_INLINE struct magic magic_of(int bits, int count, bool is_signed, float zero)
{
	const uint32_t sign = is_signed ? 1u << (bits - 1) : 0;
	struct magic m;

#pragma GCC unroll 4
	for (int p = 0; p < count; p++) {
		const uint32_t place = (uint32_t)(bits * p);

		m.mask[p] = vi_bits(((1u << bits) - 1) << place);
		m.expo[p] = vi_bits((150 - place) << 23 | sign << place);
		m.less[p] = v_set((float)(1u << (23 - place)) + (float)sign + zero);
	}
	return m;
}

V_INLINE vf number(const struct magic *m, vi word, int place, vf less)
{
	return v_sub(v_of(vi_field(word, m->mask[place], m->expo[place])), less);
}

#endif /* LIBACCEL_SW_FAST_MAGIC_H */

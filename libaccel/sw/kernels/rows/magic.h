/* SPDX-License-Identifier: MIT */
/*
 * Conversion of small integers in packed words to floating point; included after vec256.h or
 * vec512.h.
 */
#ifndef LIBACCEL_SW_FAST_MAGIC_H
#define LIBACCEL_SW_FAST_MAGIC_H

/*
 * A number q in a bit field of a word is converted to binary32 by setting the exponent bits
 * above it such that the field's lowest bit is worth 1; this adds 2^(23 - place), which is
 * subtracted again together with the zero point. Both steps are exact.
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

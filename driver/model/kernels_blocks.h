/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Part of kernels_impl.h: values of the types of blocks in &enum uma_dtype. Products of a
 * binary16 scale and the integers are exact in binary32, so that only sums are rounded.
 */

UMA_INLINE float half_at(const __u8 *p)
{
	float d;

	f16_to_f32(&d, p, 1);
	return d;
}

/* x[i] = scale * q[i] + add, for 32 bytes */
UMA_INLINE void block_row(float *x, const __u8 *q, float scale, float add)
{
	__u32 i;

	for (i = 0; i < 32; i++)
		x[i] = scale * (float)q[i] + add;
}

static void q8_0_to_f32(float *dst, const void *src, __u32 n)
{
	const __u8 *p = src;
	__u32 i, j;

	for (i = 0; i < n; i += 32, p += 34) {
		float d = half_at(p);

		for (j = 0; j < 32; j++)
			dst[i + j] = d * (float)(__s8)p[2 + j];
	}
}

/* Unpack 16 bytes: first all low nibbles, then all high ones. */
UMA_INLINE void split(__u8 *q, const __u8 *p)
{
	__u32 j;

	for (j = 0; j < 16; j++) {
		q[j] = p[j] & 15;
		q[j + 16] = p[j] >> 4;
	}
}

static void q4_0_to_f32(float *dst, const void *src, __u32 n)
{
	const __u8 *p = src;
	__u8 q[32];
	__u32 i, j;

	for (i = 0; i < n; i += 32, p += 18) {
		float d = half_at(p);

		split(q, p + 2);
		for (j = 0; j < 32; j++)
			dst[i + j] = d * (float)((__s32)q[j] - 8);
	}
}

static void q4_1_to_f32(float *dst, const void *src, __u32 n)
{
	const __u8 *p = src;
	__u8 q[32];
	__u32 i;

	for (i = 0; i < n; i += 32, p += 20) {
		split(q, p + 4);
		block_row(dst + i, q, half_at(p), half_at(p + 2));
	}
}

/* Scale and minimum of group @j of a block of Q4_K */
UMA_INLINE void q4_k_pair(const __u8 *s, __u32 j, __u32 *scale, __u32 *min)
{
	if (j < 4) {
		*scale = s[j] & 63;
		*min = s[j + 4] & 63;
	} else {
		*scale = (s[j + 4] & 15) | (s[j - 4] >> 6) << 4;
		*min = s[j + 4] >> 4 | (s[j] >> 6) << 4;
	}
}

static void q4_k_to_f32(float *dst, const void *src, __u32 n)
{
	const __u8 *p = src;
	__u32 i, j, l, scale, min;
	__u8 q[32];

	for (i = 0; i < n; i += 256, p += 144) {
		float d = half_at(p), e = half_at(p + 2);

		for (j = 0; j < 8; j++) {
			const __u8 *from = p + 16 + j / 2 * 32;

			for (l = 0; l < 32; l++)
				q[l] = j % 2 ? from[l] >> 4 : from[l] & 15;
			q4_k_pair(p + 4, j, &scale, &min);
			block_row(dst + i + 32 * j, q, d * (float)scale, -(e * (float)min));
		}
	}
}

static void q6_k_to_f32(float *dst, const void *src, __u32 n)
{
	const __u8 *p = src;
	__u32 i, j;

	for (i = 0; i < n; i += 256, p += 210) {
		float d = half_at(p + 208);

		for (j = 0; j < 256; j++) {
			__u32 half = j / 128, l = j % 32, quarter = j % 128 / 32;
			__u32 lo = p[64 * half + 32 * (quarter & 1) + l] >> 4 * (quarter >> 1) & 15;
			__u32 hi = p[128 + 32 * half + l] >> 2 * quarter & 3;

			dst[i + j] = d * (float)(__s8)p[192 + j / 16] *
				     (float)((__s32)(lo | hi << 4) - 32);
		}
	}
}

/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Part of kernels_impl.h: the running softmax.
 */

/* Number of partial sums, independent of the vector length */
#define SOFT_PARTS	16

/* Load up to SOFT_PARTS scores from @x, padded with minus infinity. */
UMA_INLINE void soft_load(const float *x, __u32 n, vf *part)
{
	__u32 v;

	for (v = 0; v < SOFT_PARTS / UMA_VL; v++) {
		part[v] = vf_all(-__builtin_inff());
		if (v * UMA_VL < n)
			__builtin_memcpy(&part[v], x + v * UMA_VL,
					 4 * (n - v * UMA_VL < UMA_VL ? n - v * UMA_VL : UMA_VL));
	}
}

UMA_INLINE void soft_store(float *x, __u32 n, const vf *part)
{
	__u32 v;

	for (v = 0; v < SOFT_PARTS / UMA_VL; v++)
		if (v * UMA_VL < n)
			__builtin_memcpy(x + v * UMA_VL, &part[v],
					 4 * (n - v * UMA_VL < UMA_VL ? n - v * UMA_VL : UMA_VL));
}

/* The maximum; NaN if one of the two is NaN */
UMA_INLINE float soft_max(float a, float b)
{
	return a > b || a != a ? a : b;
}

static float soft_top(float top, const float *x, __u32 n)
{
	vf part[SOFT_PARTS / UMA_VL], most = vf_all(top);
	float lanes[UMA_VL];
	__u32 i, v;

	for (i = 0; i < n; i += SOFT_PARTS) {
		soft_load(x + i, n - i, part);
		for (v = 0; v < SOFT_PARTS / UMA_VL; v++)
			most = vsel((part[v] > most) | (part[v] != part[v]), part[v], most);
	}
	VSTORE(lanes, most);
	for (i = 0; i < UMA_VL; i++)
		top = soft_max(top, lanes[i]);
	return top;
}

static void soft_row(struct uma_soft_state *state, float *x, __u32 n)
{
	vf part[SOFT_PARTS / UMA_VL], sums[SOFT_PARTS / UMA_VL], r;
	float old = bits_f32(state->max), total = bits_f32(state->sum);
	float lanes[SOFT_PARTS], top = soft_top(old, x, n), shift, rescale;
	__u32 i, v, w;

	/* -infinity - -infinity would be NaN. */
	shift = top == -__builtin_inff() ? 0.0f : top;
	for (v = 0; v < SOFT_PARTS / UMA_VL; v++)
		sums[v] = vf_all(0.0f);
	for (i = 0; i < n; i += SOFT_PARTS) {
		soft_load(x + i, n - i, part);
		for (v = 0; v < SOFT_PARTS / UMA_VL; v++) {
			part[v] = vexp(part[v] - shift);
			sums[v] = sums[v] + part[v];
		}
		soft_store(x + i, n - i, part);
	}
	for (v = 0; v < SOFT_PARTS / UMA_VL; v++)
		VSTORE(lanes + v * UMA_VL, sums[v]);
	for (w = SOFT_PARTS / 2; w; w /= 2)
		for (i = 0; i < w; i++)
			lanes[i] = lanes[i] + lanes[i + w];
	r = vexp(vf_all(old - shift));
	rescale = r[0];
	total = total * rescale;
	total = total + lanes[0];
	__builtin_memcpy(&state->max, &top, 4);
	__builtin_memcpy(&state->sum, &total, 4);
	__builtin_memcpy(&state->rescale, &rescale, 4);
}

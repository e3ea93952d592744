/* SPDX-License-Identifier: MIT */
/*
 * All kernels of a kind. The vectors of columns beside one are as many as there is
 * room for: mr x nv sums, nv vectors of B and what is made of them.
 */
#ifndef LIBACCEL_SW_FAST_GEMV_ALL_H
#define LIBACCEL_SW_FAST_GEMV_ALL_H

#define BOTH(kind, mr, nv)	KERNEL(kind, mr, 1) KERNEL(kind, mr, nv)
#define PAIR(kind, mr, nv)	{ fn_##kind##_##mr##_1, fn_##kind##_##mr##_##nv }

#define KERNELS_8(kind, w1, w2, w3, w4, w5, w6, w7, w8)				\
BOTH(kind, 1, w1) BOTH(kind, 2, w2) BOTH(kind, 3, w3) BOTH(kind, 4, w4)		\
BOTH(kind, 5, w5) BOTH(kind, 6, w6) BOTH(kind, 7, w7) BOTH(kind, 8, w8)

#define FIELDS_8(kind, w1, w2, w3, w4, w5, w6, w7, w8)				\
	.vl = VL, .mr = 8, .wide = { w1, w2, w3, w4, w5, w6, w7, w8 },		\
	.fn = {									\
		PAIR(kind, 1, w1), PAIR(kind, 2, w2), PAIR(kind, 3, w3),	\
		PAIR(kind, 4, w4), PAIR(kind, 5, w5), PAIR(kind, 6, w6),	\
		PAIR(kind, 7, w7), PAIR(kind, 8, w8),				\
	}

#define SET_8(kind, ...)							\
KERNELS_8(kind, __VA_ARGS__)							\
static const struct gemv_set set_##kind = { FIELDS_8(kind, __VA_ARGS__) }

/* Seven and eight rows by two vectors too. */
#define SET_8_PANEL(kind, ...)							\
KERNELS_8(kind, __VA_ARGS__)							\
KERNEL(kind, 7, 2) KERNEL(kind, 8, 2)						\
static const struct gemv_set set_##kind = {					\
	FIELDS_8(kind, __VA_ARGS__),						\
	.panel = { [6] = fn_##kind##_7_2, [7] = fn_##kind##_8_2 },		\
}

#define SET_6(kind, w1, w2, w3, w4, w5, w6)					\
BOTH(kind, 1, w1) BOTH(kind, 2, w2) BOTH(kind, 3, w3)				\
BOTH(kind, 4, w4) BOTH(kind, 5, w5) BOTH(kind, 6, w6)				\
static const struct gemv_set set_##kind = {					\
	.vl = VL, .mr = 6, .wide = { w1, w2, w3, w4, w5, w6 },			\
	.fn = {									\
		PAIR(kind, 1, w1), PAIR(kind, 2, w2), PAIR(kind, 3, w3),	\
		PAIR(kind, 4, w4), PAIR(kind, 5, w5), PAIR(kind, 6, w6),	\
	},									\
}

#define SET_4(kind, w1, w2, w3, w4)						\
BOTH(kind, 1, w1) BOTH(kind, 2, w2) BOTH(kind, 3, w3) BOTH(kind, 4, w4)		\
static const struct gemv_set set_##kind = {					\
	.vl = VL, .mr = 4, .wide = { w1, w2, w3, w4 },				\
	.fn = {									\
		PAIR(kind, 1, w1), PAIR(kind, 2, w2), PAIR(kind, 3, w3),	\
		PAIR(kind, 4, w4),						\
	},									\
}

#endif /* LIBACCEL_SW_FAST_GEMV_ALL_H */

// SPDX-License-Identifier: MIT
/*
 * Windows of signals: cosines of angles from indices.
 */
#include "run.h"

#define PI	3.14159265358979323846

/* 0, 1, ... along dimension @axis of @rank */
static struct value *iota(struct run *r, uint32_t type, int64_t n, uint32_t rank, uint32_t axis)
{
	int64_t dims[MAX_RANK], i;
	struct value *v;
	uint32_t k;

	for (k = 0; k < rank; k++)
		dims[k] = k == axis ? n : 1;
	v = new_value(r, type, rank, dims);
	for (i = 0; v && i < n; i++)
		put(v, (uint64_t)i, (double)i);
	return v;
}

/* a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N) */
static int do_window(struct run *r, const struct op_map *m)
{
	static const double weights[][3] = {
		{ 0.5, 0.5, 0 }, { 25.0 / 46, 21.0 / 46, 0 }, { 0.42, 0.5, 0.08 },
	};
	const double *w = weights[m->arg];
	struct value *x, *v;
	int64_t n = 0;

	get_ints(r, r->in[0], &n, 1);
	if (r->ret || n < 2 || n > 1 << 20)
		return unsupported(r, "a window of %ld", (long)n);
	if (attr_int(r, "output_datatype", T_FLOAT) != T_FLOAT)
		return unsupported(r, "another type");
	x = iota(r, T_FLOAT, n, 1, 0);
	if (!attr_int(r, "periodic", 1))
		n--;
	v = lib_unary(r, ACCEL_UNARY_COS, lib_times(r, x, 2 * PI / (double)n));
	v = lib_plus(r, lib_times(r, v, -w[1]), w[0]);
	if (w[2] != 0) {
		x = lib_unary(r, ACCEL_UNARY_COS, lib_times(r, x, 4 * PI / (double)n));
		v = lib_binary(r, ACCEL_BINARY_ADD, v, lib_times(r, x, w[2]));
	}
	return give(r, 0, v);
}

const struct op_map ops_signal[] = {
	{ "HannWindow", do_window, BY_LIBRARY, 0, 0 },
	{ "HammingWindow", do_window, BY_LIBRARY, 1, 0 },
	{ "BlackmanWindow", do_window, BY_LIBRARY, 2, 0 },
	{ NULL, NULL, BY_LIBRARY, 0, 0 }
};

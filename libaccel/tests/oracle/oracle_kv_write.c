// SPDX-License-Identifier: MIT
/*
 * Rows into slots of a cache: known to the last bit. What is not written is what it was
 * before, so this is asked before the operation runs.
 */
#include "oracle_lines.h"

static const struct accel_tensor *result(const struct accel_desc *desc, uint32_t index)
{
	const struct accel_kv_write_desc *w = (const void *)desc;

	return index == 0 ? &w->d : index == 1 ? &w->scales : index == 2 ? &w->zeros : NULL;
}

/* The row that is in each slot in the end, -1: none. */
static int64_t *rows_of(const struct accel_kv_write_desc *w)
{
	const int64_t slots = w->d.dims[0] * w->d.dims[1];
	int64_t *rows = malloc(((size_t)slots + 1) * sizeof(*rows));
	int64_t row, slot;

	for (slot = 0; rows && slot < slots; slot++)
		rows[slot] = -1;
	for (row = 0; rows && row < w->a.dims[0]; row++) {
		slot = oracle_load_int(&w->slots, &row);
		if (slot >= 0 && slot < slots)
			rows[slot] = row;
	}
	return rows;
}

static void put(struct oracle_result *r, uint64_t n, double v)
{
	if (r->exact)
		r->exact[n] = (int64_t)v;
	else
		r->num[n] = (struct oracle_num){ v, 0 };
}

static int compute(const struct accel_desc *desc, uint32_t index, struct oracle_result *r)
{
	const struct accel_kv_write_desc *w = (const void *)desc;
	const struct accel_tensor *t = result(desc, index);
	const bool bytes = w->scales.rank, asym = w->flags & ACCEL_KV_WRITE_ASYMMETRIC;
	int64_t at[ACCEL_MAX_RANK] = { 0 };
	struct line_scale s = { 0, 0 };
	int64_t *rows = rows_of(w);
	uint64_t n;
	double v;

	if (!rows || oracle_begin(r, t, t->dtype > ACCEL_BF16)) {
		free(rows);
		return -1;
	}
	for (n = 0; n < r->count; n++) {
		int64_t from[ACCEL_MAX_RANK] = { 0 };

		oracle_index(t, n, at);
		from[0] = rows[at[0] * w->d.dims[1] + at[1]];
		from[1] = at[2];
		from[2] = at[3];
		if (from[0] < 0) {
			put(r, n, r->exact ? (double)oracle_load_int(t, at) : oracle_load(t, at));
			continue;
		}
		v = oracle_load(&w->a, from);
		if (bytes)
			s = line_scale_of(&w->a, 1u << 2, from, w->d.dtype, w->scales.dtype, asym);
		if (index)
			v = index == 1 ? (double)s.scale : (double)s.zero;
		else if (bytes)
			v = (double)line_stored(s, v, w->d.dtype);
		put(r, n, v);
	}
	free(rows);
	return 0;
}

static void say(const struct accel_desc *desc, char *buf, size_t size)
{
	const struct accel_kv_write_desc *w = (const void *)desc;

	op_say_text(buf, size, " flags %u", w->flags);
	op_say_tensor("a", &w->a, buf, size);
	op_say_tensor("slots", &w->slots, buf, size);
	op_say_tensor("d", &w->d, buf, size);
	op_say_tensor("scales", &w->scales, buf, size);
	op_say_tensor("zeros", &w->zeros, buf, size);
}

const struct oracle_op oracle_kv_write = {
	.result = result, .compute = compute, .say = say,
};

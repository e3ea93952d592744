// SPDX-License-Identifier: MIT
/*
 * Concatenation, splitting and padding: where an element comes from.
 */
#include <math.h>
#include <string.h>

#include "oracle.h"
#include "libaccel/tests/ops/optest.h"

static bool plain_int(const struct accel_tensor *t)
{
	return t->dtype > ACCEL_BF16 && !t->quant.scheme;
}

static void put(struct oracle_result *r, uint64_t n, const struct accel_tensor *d,
		const struct accel_tensor *a, const int64_t *at)
{
	if (!r->exact)
		r->num[n].v = oracle_load(a, at);
	else if (plain_int(a))
		r->exact[n] = oracle_saturate(oracle_load_int(a, at), d->dtype);
	else
		r->exact[n] = oracle_whole(oracle_load(a, at), d->dtype);
}

static int concat(const struct accel_concat_desc *c, struct oracle_result *r)
{
	int64_t idx[ACCEL_MAX_RANK];
	uint64_t n;
	uint32_t i;

	if (oracle_begin(r, &c->d, plain_int(&c->d)))
		return -1;
	for (n = 0; n < r->count; n++) {
		oracle_index(&c->d, n, idx);
		for (i = 0; idx[c->axis] >= c->a[i].dims[c->axis]; i++)
			idx[c->axis] -= c->a[i].dims[c->axis];
		put(r, n, &c->d, &c->a[i], idx);
	}
	return 0;
}

static int split(const struct accel_split_desc *s, uint32_t index, struct oracle_result *r)
{
	const struct accel_tensor *d = &s->d[index];
	int64_t idx[ACCEL_MAX_RANK], start = 0;
	uint64_t n;
	uint32_t i;

	for (i = 0; i < index; i++)
		start += s->d[i].dims[s->axis];
	if (oracle_begin(r, d, plain_int(d)))
		return -1;
	for (n = 0; n < r->count; n++) {
		oracle_index(d, n, idx);
		idx[s->axis] += start;
		put(r, n, d, &s->a, idx);
	}
	return 0;
}

/* The index of A for a distance from its first; -1: there is none. */
static int64_t source(uint32_t mode, int64_t i, int64_t n)
{
	if (i >= 0 && i < n)
		return i;
	switch (mode) {
	case ACCEL_PAD_CONSTANT:
		return -1;
	case ACCEL_PAD_EDGE:
		return i < 0 ? 0 : n - 1;
	case ACCEL_PAD_REFLECT:
		return i < 0 ? -i : 2 * (n - 1) - i;
	default:
		return i < 0 ? i + n : i - n;
	}
}

static int pad(const struct accel_pad_desc *p, struct oracle_result *r)
{
	int64_t idx[ACCEL_MAX_RANK];
	bool outside;
	uint64_t n;
	uint32_t i;

	if (oracle_begin(r, &p->d, plain_int(&p->d)))
		return -1;
	for (n = 0; n < r->count; n++) {
		oracle_index(&p->d, n, idx);
		for (i = 0, outside = false; i < p->d.rank; i++) {
			idx[i] = source(p->mode, idx[i] - p->before[i], p->a.dims[i]);
			outside |= idx[i] < 0;
		}
		if (!outside)
			put(r, n, &p->d, &p->a, idx);
		else if (r->exact)
			r->exact[n] = oracle_whole(p->value, p->d.dtype);
		else
			r->num[n] = (struct oracle_num){ p->value, 0 };
	}
	return 0;
}

static const struct accel_tensor *result(const struct accel_desc *desc, uint32_t index)
{
	const struct accel_split_desc *s = (const void *)desc;

	if (desc->op == ACCEL_OP_SPLIT)
		return index < s->count ? &s->d[index] : NULL;
	if (index)
		return NULL;
	return desc->op == ACCEL_OP_CONCAT ? &((const struct accel_concat_desc *)desc)->d :
					     &((const struct accel_pad_desc *)desc)->d;
}

static int compute(const struct accel_desc *desc, uint32_t index, struct oracle_result *r)
{
	switch (desc->op) {
	case ACCEL_OP_CONCAT:
		return concat((const struct accel_concat_desc *)desc, r);
	case ACCEL_OP_SPLIT:
		return split((const struct accel_split_desc *)desc, index, r);
	default:
		return pad((const struct accel_pad_desc *)desc, r);
	}
}

static void say(const struct accel_desc *desc, char *buf, size_t size)
{
	const struct accel_concat_desc *c = (const void *)desc;
	const struct accel_split_desc *s = (const void *)desc;
	const struct accel_pad_desc *p = (const void *)desc;
	uint32_t i;

	switch (desc->op) {
	case ACCEL_OP_CONCAT:
		op_say_text(buf, size, " axis %u", c->axis);
		for (i = 0; i < c->count; i++)
			op_say_tensor("a", &c->a[i], buf, size);
		op_say_tensor("d", &c->d, buf, size);
		break;
	case ACCEL_OP_SPLIT:
		op_say_text(buf, size, " axis %u", s->axis);
		op_say_tensor("a", &s->a, buf, size);
		for (i = 0; i < s->count; i++)
			op_say_tensor("d", &s->d[i], buf, size);
		break;
	default:
		op_say_text(buf, size, " mode %u value %g", p->mode, p->value);
		for (i = 0; i < p->d.rank; i++)
			op_say_text(buf, size, " %lld|%lld", (long long)p->before[i],
				    (long long)p->after[i]);
		op_say_tensor("a", &p->a, buf, size);
		op_say_tensor("d", &p->d, buf, size);
		break;
	}
}

const struct oracle_op oracle_move = {
	.result = result, .compute = compute, .say = say,
};

// SPDX-License-Identifier: MIT
/*
 * Rotary position embedding, an element at a time.
 */
#include <math.h>
#include <stdlib.h>

#include "oracle.h"
#include "libaccel/tests/ops/optest.h"

static const struct accel_tensor *result(const struct accel_desc *desc, uint32_t index)
{
	return index ? NULL : &((const struct accel_rotary_desc *)desc)->d;
}

static int64_t position(const struct accel_rotary_desc *r, const int64_t *idx)
{
	const struct accel_tensor *t = &r->positions;
	int64_t at[2];
	uint32_t i;

	if (!t->rank)
		return r->start + idx[1];
	for (i = 0; i < t->rank; i++)
		at[i] = t->dims[i] == 1 ? 0 : idx[i + 2 - t->rank];
	return oracle_load_int(t, at);
}

static struct oracle_num element(const struct accel_rotary_desc *r, const int64_t *idx)
{
	int64_t pairs = r->cosines.dims[1], i = idx[3], other, table[2];
	int64_t at[4] = { idx[0], idx[1], idx[2], idx[3] };
	double own, across;
	bool first;

	if (i >= 2 * pairs)
		return (struct oracle_num){ oracle_load(&r->a, idx), 0 };
	if (r->flags & ACCEL_ROTARY_INTERLEAVED) {
		first = i % 2 == 0;
		other = first ? i + 1 : i - 1;
		table[1] = i / 2;
	} else {
		first = i < pairs;
		other = first ? i + pairs : i - pairs;
		table[1] = i % pairs;
	}
	table[0] = position(r, idx);
	at[3] = other;
	own = oracle_load(&r->a, idx) * oracle_load(&r->cosines, table);
	across = oracle_load(&r->a, at) * oracle_load(&r->sines, table);
	/* Two products are rounded, and what they add up to; either may overflow. */
	own = isinf(oracle_round(own, ACCEL_F32)) ? copysign(INFINITY, own) : own;
	across = isinf(oracle_round(across, ACCEL_F32)) ? copysign(INFINITY, across) : across;
	return oracle_step((struct oracle_num){
		first ? own - across : own + across,
		(fabs(own) + fabs(across)) * ORACLE_U + 2 * ORACLE_TINY
	});
}

static int compute(const struct accel_desc *desc, uint32_t index, struct oracle_result *r)
{
	const struct accel_tensor *d = result(desc, index);
	int64_t idx[ACCEL_MAX_RANK] = { 0 };
	uint64_t n;

	if (oracle_begin(r, d, false))
		return -1;
	for (n = 0; n < r->count; n++, oracle_next(d, idx)) {
		r->num[n] = element((const void *)desc, idx);
		/* Infinite times or less infinite: known to the bit. */
		if (!isfinite(r->num[n].v))
			r->num[n].e = 0;
	}
	return 0;
}

static void say(const struct accel_desc *desc, char *buf, size_t size)
{
	const struct accel_rotary_desc *r = (const void *)desc;

	op_say_text(buf, size, " flags %u start %u", r->flags, r->start);
	op_say_tensor("a", &r->a, buf, size);
	op_say_tensor("cosines", &r->cosines, buf, size);
	op_say_tensor("positions", &r->positions, buf, size);
	op_say_tensor("d", &r->d, buf, size);
}

const struct oracle_op oracle_rotary = {
	.result = result, .compute = compute, .say = say,
};

/* SPDX-License-Identifier: MIT */
/*
 * Operators of the domain "own" for the fuzzer and its seeds: they read all that they are given,
 * and write all that they have said.
 */
#ifndef LIBACCEL_TESTS_ADDEDOPS_H
#define LIBACCEL_TESTS_ADDEDOPS_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <accel/model.h>

static inline uint64_t added_bytes(const struct accel_call_value *v)
{
	return v->count * accel_type_bits(v->type) / 8;
}

/* The sum of all bytes, so that all are read */
static inline uint8_t added_sum(const struct accel_call_value *v)
{
	const uint8_t *p = v ? v->data : NULL;
	uint8_t sum = 0;
	uint64_t i;

	for (i = 0; p && i < added_bytes(v); i++)
		sum = (uint8_t)(sum + p[i]);
	return sum;
}

static inline uint8_t added_attrs(struct accel_call *call)
{
	const struct accel_call_value *t = NULL;
	const float *floats = NULL;
	const int64_t *ints = NULL;
	uint64_t count = 0, i;
	const char *text = "";
	uint8_t sum = 0;

	accel_call_string(call, "s", &text, NULL);
	sum = (uint8_t)(sum + strlen(text));
	accel_call_ints(call, "i", &ints, &count);
	for (i = 0; ints && i < count; i++)
		sum = (uint8_t)(sum + (uint64_t)ints[i]);
	accel_call_floats(call, "f", &floats, &count);
	for (i = 0; floats && i < count; i++)
		sum = (uint8_t)(sum + (floats[i] > 0));
	return !accel_call_tensor(call, "t", &t) ? (uint8_t)(sum + added_sum(t)) : sum;
}

/* As its first input; of a second one its elements are known, and their number is a dimension. */
static inline int added_infer(void *user, struct accel_call *call)
{
	const struct accel_call_value *x = accel_call_input(call, 0);
	const struct accel_call_value *n = accel_call_input(call, 1);
	int64_t count = n ? (int64_t)n->count : 3;
	uint32_t i;
	int ret = 0;

	(void)user;
	if (n && !n->data)
		abort();
	added_attrs(call);
	for (i = 0; i < accel_call_outputs(call) && !ret; i++)
		ret = i ? accel_call_give(call, i, ACCEL_HOST_S64, 1, &count) :
		      accel_call_give(call, 0, x->type, x->rank, x->dims);
	return ret;
}

static inline int added_compute(void *user, struct accel_call *call)
{
	uint8_t sum = added_attrs(call);
	uint32_t i;

	(void)user;
	for (i = 0; i < accel_call_inputs(call); i++)
		sum = (uint8_t)(sum + added_sum(accel_call_input(call, i)));
	for (i = 0; i < accel_call_outputs(call); i++)
		memset(accel_call_output(call, i)->data, sum,
		       added_bytes(accel_call_output(call, i)));
	return 0;
}

/* NULL: no memory */
static inline struct accel_operators *added_ops(void)
{
	struct accel_operator o = ACCEL_OPERATOR_INIT;
	struct accel_operators *set = NULL;

	o.domain = "own";
	o.name = "Sum";
	o.min_inputs = 1;
	o.max_inputs = 3;
	o.max_outputs = 2;
	o.known_inputs = 2;
	o.infer = added_infer;
	o.compute = added_compute;
	if (!accel_operators_create(&set) && accel_model_register_op(set, &o, NULL))
		abort();
	return set;
}

#endif /* LIBACCEL_TESTS_ADDEDOPS_H */

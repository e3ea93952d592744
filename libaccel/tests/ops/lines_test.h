/* SPDX-License-Identifier: MIT */
/*
 * Shapes and operands for the tests of operations along dimensions. Include
 * after cmocka.h.
 */
#ifndef LIBACCEL_TESTS_LINES_TEST_H
#define LIBACCEL_TESTS_LINES_TEST_H

#include "optest.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

static inline bool is_float(uint32_t dtype)
{
	return dtype <= ACCEL_BF16;
}

/* An input may be of any type, a result not of 4 bits. */
static inline uint32_t lines_dtype(struct op_case *c, bool result)
{
	if (op_below(c, 2))
		return 1 + op_below(c, 3);
	return 1 + op_below(c, result ? ACCEL_U8 : ACCEL_U4);
}

static inline void lines_quant(struct op_case *c, struct accel_tensor *t, double scale)
{
	uint32_t scheme = op_below(c, ACCEL_QUANT_GROUP_MIN), axis = op_below(c, t->rank);

	if (!is_float(t->dtype) && op_below(c, 2))
		op_quantise(c, t, scheme, axis, 16u << op_below(c, 3),
			    scale * (t->dtype >= ACCEL_S4 ? 16 : 1),
			    t->dtype != ACCEL_S32 && op_below(c, 2));
}

/*
 * Dimensions into @dims, one of them longer than a chunk now and then; some are
 * empty. Returns the rank.
 */
static inline uint32_t lines_dims(struct op_case *c, int64_t *dims)
{
	uint32_t rank = 1 + op_below(c, c->small ? 3 : 5), i;
	bool is_long = !op_below(c, 8);

	for (i = 0; i < rank; i++) {
		dims[i] = rank > 2 || is_long ? 1 + op_below(c, 7) : op_dim(c);
		if (!op_below(c, 60))
			dims[i] = 0;
	}
	if (is_long && rank < 4)
		dims[op_below(c, rank)] = c->small ? 1100 + op_below(c, 2000) :
						     1000 + op_below(c, 9000);
	return rank;
}

static inline void lines_input(struct op_case *c, struct accel_tensor *t, uint32_t dtype,
			       uint32_t rank, const int64_t *dims)
{
	op_tensor(c, t, dtype, rank, dims, op_below(c, 2) ? OP_DENSE :
		  (enum op_style)op_below(c, OP_STYLES));
	lines_quant(c, t, 0.02);
}

static inline void lines_result(struct op_case *c, struct accel_tensor *t, uint32_t dtype,
				uint32_t rank, const int64_t *dims, double scale)
{
	op_tensor(c, t, dtype, rank, dims, op_below(c, 2) ? OP_DENSE :
		  (enum op_style)op_below(c, OP_REPEATED));
	lines_quant(c, t, scale);
}

/* D where A is, with another meaning now and then. Returns whether it is. */
static inline bool lines_in_place(struct op_case *c, struct accel_tensor *d,
				  const struct accel_tensor *a)
{
	uint32_t i;

	if (op_below(c, 3) || a->dtype >= ACCEL_S4)
		return false;
	for (i = 0; i < a->rank; i++)
		if ((a->flags & ACCEL_TENSOR_STRIDES) && a->dims[i] > 1 && !a->strides[i])
			return false;
	*d = *a;
	if (op_below(c, 2))
		d->quant = (struct accel_quant){ 0 };
	return true;
}

static inline uint32_t lines_engine(struct op_case *c)
{
	return op_below(c, 2) ? op_below(c, ACCEL_ENGINE_COUNT) : 0;
}

#endif /* LIBACCEL_TESTS_LINES_TEST_H */

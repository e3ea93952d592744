// SPDX-License-Identifier: MIT
/*
 * Views: that they name the elements that they say, that scales go with them,
 * and that what is no view is refused.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "libaccel/tests/oracle/oracle.h"

static struct accel_tensor dense(uint32_t dtype, uint32_t rank, int64_t d0, int64_t d1,
				 int64_t d2, int64_t d3)
{
	const int64_t dims[] = { d0, d1, d2, d3 };

	return accel_tensor_dense(NULL, dtype, rank, dims);
}

/* Byte of an element from the start of the buffer. */
static int64_t byte_of(const struct accel_tensor *t, const int64_t *idx)
{
	return (int64_t)t->offset +
	       oracle_offset(t, idx) * (accel_dtype_bits(t->dtype) / 8);
}

static uint32_t below(uint64_t *rng, uint32_t n)
{
	*rng = *rng * 6364136223846793005ull + 1442695040888963407ull;
	return n ? (uint32_t)(*rng >> 33) % n : 0;
}

/* A random view of a view of ..., and for each index where it should be. */
static void test_chains(void **state)
{
	uint64_t rng = 1, n, checked = 0;
	uint32_t round, depth, i;

	(void)state;
	for (round = 0; round < 3000; round++) {
		int64_t idx[ACCEL_MAX_RANK], from[ACCEL_MAX_RANK], dims[ACCEL_MAX_RANK] = { 0 };
		struct accel_tensor t, v;
		uint32_t order[ACCEL_MAX_RANK];

		t = dense(ACCEL_F16, 1 + below(&rng, 4), 1 + below(&rng, 5),
			  1 + below(&rng, 5), 1 + below(&rng, 5), 1 + below(&rng, 5));
		memset(t.dims + t.rank, 0, sizeof(t.dims[0]) * (ACCEL_MAX_RANK - t.rank));
		t.offset = 4096;
		for (depth = 0; depth < 4; depth++) {
			uint32_t axis = below(&rng, t.rank), other = below(&rng, t.rank);
			int64_t start = below(&rng, (uint32_t)t.dims[axis]), count, step;

			switch (below(&rng, 3)) {
			case 0:
				for (i = 0; i < t.rank; i++)
					order[i] = i;
				order[axis] = other;
				order[other] = axis;
				assert_int_equal(accel_tensor_transpose(&t, order, &v), 0);
				for (n = 0; n < oracle_count(&v); n++) {
					oracle_index(&v, n, idx);
					for (i = 0; i < t.rank; i++)
						from[order[i]] = idx[i];
					assert_int_equal(byte_of(&v, idx), byte_of(&t, from));
				}
				break;
			case 1:
				step = below(&rng, 2) ? 1 + below(&rng, 2) :
				       -1 - (int64_t)below(&rng, 2);
				count = step > 0 ? (t.dims[axis] - 1 - start) / step + 1 :
					start / -step + 1;
				assert_int_equal(accel_tensor_slice(&t, axis, start, count,
								    step, &v), 0);
				assert_int_equal(accel_tensor_slice(&t, axis, start,
								    count + 1, step, &v),
						 -EINVAL);
				assert_int_equal(accel_tensor_slice(&t, axis, start, count,
								    step, &v), 0);
				for (n = 0; n < oracle_count(&v); n++) {
					oracle_index(&v, n, idx);
					memcpy(from, idx, sizeof(from));
					from[axis] = start + idx[axis] * step;
					assert_int_equal(byte_of(&v, idx), byte_of(&t, from));
				}
				break;
			default:
				/* Split off the factors that there are, or all in one. */
				n = oracle_count(&t);
				dims[0] = n % 3 == 0 ? 3 : n % 2 == 0 ? 2 : 1;
				dims[1] = (int64_t)n / dims[0];
				if (accel_tensor_reshape(&t, 2, dims, &v)) {
					v = t;
					break;
				}
				for (n = 0; n < oracle_count(&v); n++) {
					oracle_index(&v, n, idx);
					oracle_index(&t, n, from);
					assert_int_equal(byte_of(&v, idx), byte_of(&t, from));
				}
				checked++;
				break;
			}
			t = v;
		}
	}
	assert_true(checked > 1000);
}

static void test_reshape(void **state)
{
	struct accel_tensor t = dense(ACCEL_F32, 3, 4, 6, 5, 0), v;
	static const uint32_t swap[] = { 0, 2, 1 };

	(void)state;
	assert_int_equal(accel_tensor_reshape(&t, 2, (int64_t[]){ 24, 5 }, &v), 0);
	assert_int_equal(v.rank, 2);
	assert_int_equal(v.strides[0], 5);
	assert_int_equal(v.dims[2], 0);
	assert_int_equal(accel_tensor_reshape(&t, 4, (int64_t[]){ 1, 2, 2, 30 }, &v), 0);
	assert_int_equal(v.strides[1], 60);
	assert_int_equal(accel_tensor_reshape(&t, 2, (int64_t[]){ 24, 6 }, &v), -EINVAL);
	assert_int_equal(accel_tensor_reshape(&t, 0, (int64_t[]){ 1 }, &v), -EINVAL);
	assert_int_equal(accel_tensor_reshape(&t, 6, (int64_t[]){ 1 }, &v), -EINVAL);
	assert_int_equal(accel_tensor_reshape(&t, 2, (int64_t[]){ -24, -5 }, &v), -EINVAL);
	/* What a transposition has torn apart, a view cannot join. */
	assert_int_equal(accel_tensor_transpose(&t, swap, &v), 0);
	assert_int_equal(accel_tensor_reshape(&v, 2, (int64_t[]){ 4, 30 }, &v), -EOPNOTSUPP);
	assert_int_equal(accel_tensor_reshape(&v, 4, (int64_t[]){ 2, 2, 5, 6 }, &v), 0);
	/* Nothing has any dimensions. */
	t.dims[1] = 0;
	assert_int_equal(accel_tensor_reshape(&t, 2, (int64_t[]){ 0, 7 }, &v), 0);
	assert_int_equal(accel_tensor_reshape(&t, 2, (int64_t[]){ 1, 7 }, &v), -EINVAL);
	/* A malformed tensor. */
	t.dims[4] = 1;
	assert_int_equal(accel_tensor_reshape(&t, 2, (int64_t[]){ 0, 7 }, &v), -EINVAL);
}

static void test_expand(void **state)
{
	struct accel_tensor t = dense(ACCEL_F32, 2, 1, 6, 0, 0), v;

	(void)state;
	assert_int_equal(accel_tensor_expand(&t, 3, (int64_t[]){ 7, 4, 6 }, &v), 0);
	assert_int_equal(v.strides[0], 0);
	assert_int_equal(v.strides[1], 0);
	assert_int_equal(v.strides[2], 1);
	assert_int_equal(accel_tensor_expand(&t, 2, (int64_t[]){ 4, 5 }, &v), -EINVAL);
	assert_int_equal(accel_tensor_expand(&t, 1, (int64_t[]){ 6 }, &v), -EINVAL);
	assert_int_equal(accel_tensor_expand(&t, 2, (int64_t[]){ 4, 6 }, &t), 0);
	assert_int_equal(t.dims[0], 4);
}

/* Scales go along, or the view is refused. */
static void test_scales(void **state)
{
	struct accel_tensor t = dense(ACCEL_S8, 2, 4, 64, 0, 0), v;
	static const uint32_t swap[] = { 1, 0 }, twice[] = { 0, 0 };

	(void)state;
	t.quant.scheme = ACCEL_QUANT_CHANNEL;
	t.quant.axis = 1;
	t.quant.scale_dtype = ACCEL_F16;
	assert_int_equal(accel_tensor_transpose(&t, twice, &v), -EINVAL);
	assert_int_equal(accel_tensor_transpose(&t, swap, &v), 0);
	assert_int_equal(v.quant.axis, 0);
	assert_int_equal(accel_tensor_slice(&t, 1, 8, 16, 1, &v), 0);
	assert_int_equal(v.offset, 8);
	assert_int_equal(v.quant.scales_offset, 16);
	assert_int_equal(accel_tensor_slice(&t, 1, 8, 16, 2, &v), -EOPNOTSUPP);
	assert_int_equal(accel_tensor_slice(&t, 1, 63, 64, -1, &v), -EOPNOTSUPP);
	assert_int_equal(accel_tensor_slice(&t, 0, 3, 4, -1, &v), 0);
	assert_int_equal(accel_tensor_reshape(&t, 3, (int64_t[]){ 2, 2, 64 }, &v), 0);
	assert_int_equal(v.quant.axis, 2);
	assert_int_equal(accel_tensor_reshape(&t, 2, (int64_t[]){ 8, 32 }, &v), -EOPNOTSUPP);
	t.quant.scheme = ACCEL_QUANT_GROUP;
	t.quant.group = 16;
	assert_int_equal(accel_tensor_transpose(&t, swap, &v), -EOPNOTSUPP);
	/* Four groups a row, scales of two bytes */
	assert_int_equal(accel_tensor_slice(&t, 0, 2, 2, 1, &v), 0);
	assert_int_equal(v.quant.scales_offset, 16);
	assert_int_equal(accel_tensor_slice(&t, 1, 16, 16, 1, &v), -EOPNOTSUPP);
	t.dims[0] = 1;
	assert_int_equal(accel_tensor_slice(&t, 1, 16, 32, 1, &v), 0);
	assert_int_equal(v.quant.scales_offset, 2);
	assert_int_equal(accel_tensor_slice(&t, 1, 17, 16, 1, &v), -EOPNOTSUPP);
	assert_int_equal(accel_tensor_expand(&t, 2, (int64_t[]){ 3, 64 }, &v), -EOPNOTSUPP);
	assert_int_equal(accel_tensor_expand(&t, 3, (int64_t[]){ 1, 1, 64 }, &v), 0);
	assert_int_equal(v.quant.axis, 2);
}

static void test_nibbles(void **state)
{
	struct accel_tensor t = dense(ACCEL_S4, 2, 4, 8, 0, 0), v;

	(void)state;
	assert_int_equal(accel_tensor_slice(&t, 1, 2, 6, 1, &v), 0);
	assert_int_equal(v.offset, 1);
	assert_int_equal(accel_tensor_slice(&t, 1, 1, 6, 1, &v), -EOPNOTSUPP);
	assert_int_equal(accel_tensor_slice(&t, 1, 6, 6, -1, &v), -EOPNOTSUPP);
	assert_int_equal(accel_tensor_slice(&t, 0, 3, 4, -1, &v), 0);
	assert_int_equal(v.offset, 12);
	assert_int_equal(accel_tensor_slice(&t, 1, 0, 4, 2, &v), 0);
}

static void test_arguments(void **state)
{
	struct accel_tensor t = dense(ACCEL_F32, 2, 4, 8, 0, 0), v;

	(void)state;
	assert_int_equal(accel_tensor_slice(&t, 2, 0, 1, 1, &v), -EINVAL);
	assert_int_equal(accel_tensor_slice(&t, 0, -1, 1, 1, &v), -EINVAL);
	assert_int_equal(accel_tensor_slice(&t, 0, 0, -1, 1, &v), -EINVAL);
	assert_int_equal(accel_tensor_slice(&t, 0, 0, 1, 0, &v), -EINVAL);
	assert_int_equal(accel_tensor_slice(&t, 0, 5, 0, 1, &v), -EINVAL);
	assert_int_equal(accel_tensor_slice(&t, 0, 4, 0, 1, &v), 0);
	assert_int_equal(accel_tensor_slice(&t, 0, 0, INT64_MAX, INT64_MAX, &v), -EINVAL);
	assert_int_equal(accel_tensor_slice(&t, 0, 3, 1, INT64_MIN, &v), 0);
	t.rank = 0;
	assert_int_equal(accel_tensor_slice(&t, 0, 0, 1, 1, &v), -EINVAL);
	/* A stride beyond any memory: of an empty tensor it does not matter. */
	t = dense(ACCEL_F32, 2, 4, 8, 0, 0);
	t.flags |= ACCEL_TENSOR_STRIDES;
	t.strides[0] = INT64_MAX / 2;
	t.strides[1] = 1;
	assert_int_equal(accel_tensor_slice(&t, 0, 3, 1, 1, &v), -EINVAL);
	assert_int_equal(accel_tensor_slice(&t, 0, 1, 1, 1, &v), -EINVAL);
	t.dims[1] = 0;
	assert_int_equal(accel_tensor_slice(&t, 0, 3, 1, 1, &v), 0);
	assert_int_equal(v.offset, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chains), cmocka_unit_test(test_reshape),
		cmocka_unit_test(test_expand), cmocka_unit_test(test_scales),
		cmocka_unit_test(test_nibbles), cmocka_unit_test(test_arguments),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("views", tests, NULL, NULL);
}

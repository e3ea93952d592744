// SPDX-License-Identifier: MIT
/*
 * Constants: of types of blocks, which products and tables read where they lie; how long those are
 * there that were computed.
 */
#include <math.h>
#include "onnxrun.h"

/* Four rows of 64 in blocks of Q8_0: numbers whose products are exact */
static uint8_t *make_blocks(float *values)
{
	static const uint8_t scales[][2] = { { 0, 0x3c }, { 0, 0x38 } };
	uint8_t *blocks = malloc((size_t)8 * 34);
	uint32_t i, k;

	assert_non_null(blocks);
	for (i = 0; i < 8; i++) {
		memcpy(blocks + i * 34, scales[i % 2], 2);
		for (k = 0; k < 32; k++) {
			int8_t q = (int8_t)((i * 7 + k * 3) % 11) - 5;

			blocks[i * 34 + 2 + k] = (uint8_t)q;
			values[i * 32 + k] = i % 2 ? 0.5f * q : q;
		}
	}
	return blocks;
}

static void test_blocks(void **state)
{
	struct accel_gather_desc gather = ACCEL_GATHER_DESC_INIT;
	struct accel_gemm_desc gemm = ACCEL_GEMM_DESC_INIT;
	struct accel_value v = value_of("blocks", ACCEL_Q8_0, 2, DIMS(4, 64)), out;
	float want[4 * 64], a[3 * 64], sums[3 * 4] = { 0 };
	static const int32_t rows[] = { 2, 1 };
	struct bed *bed = *state;
	uint32_t w, x, index, i, k, n, both[2];
	uint8_t *blocks = make_blocks(want), *again;
	const float *both_sums;
	struct accel_program *p;
	struct accel_state *s;

	MUST_GRAPH(accel_graph_constant(bed->graph, &v, blocks, free, blocks, &w));
	index = add_const(bed, ACCEL_S32, 1, DIMS(2), rows);
	x = add_input(bed, "x", ACCEL_F32, 2, DIMS(3, 64));
	gemm.flags = ACCEL_GEMM_TRANS_B;
	gemm.d.dtype = ACCEL_F32;
	gather.d.dtype = ACCEL_F32;
	add_output(bed, "y", add_node(bed, "y", &gemm.hdr, 2, (uint32_t[]) { x, w }));
	/* Two products of one value, which might become one */
	for (i = 0; i < 2; i++) {
		again = make_blocks(want);
		MUST_GRAPH(accel_graph_constant(bed->graph, &v, again, free, again, &w));
		both[i] = add_node(bed, "both", &gemm.hdr, 2, (uint32_t[]) { x, w });
	}
	for (i = 0; i < 2; i++)
		both[i] = add_unary(bed, "sin", ACCEL_UNARY_SIN, both[i]);
	add_output(bed, "sum", add_binary(bed, "sum", ACCEL_BINARY_ADD, both[0], both[1]));
	add_output(bed, "r", add_node(bed, "r", &gather.hdr, 2, (uint32_t[]) { w, index }));
	for (i = 0; i < 3 * 64; i++)
		a[i] = (float)((i * 5) % 7) - 3;
	for (i = 0; i < 3; i++)
		for (k = 0; k < 4; k++)
			for (n = 0; n < 64; n++)
				sums[i * 4 + k] += a[i * 64 + n] * want[k * 64 + n];
	for (i = 0; i <= 3; i += 3) {
		p = compile(bed, i, 0);
		s = new_state(bed, p);
		fill_input(s, 0, a, sizeof(a));
		MUST(accel_state_run(s));
		assert_memory_equal(output(bed, s, 0, &out), sums, sizeof(sums));
		both_sums = output(bed, s, 1, &out);
		for (k = 0; k < 3 * 4; k++)
			assert_float_equal(both_sums[k], 2 * sinf(sums[k]), 0.00001f);
		assert_memory_equal(output(bed, s, 2, &out), want + 128, 64 * sizeof(float));
		accel_state_destroy(s);
		accel_program_unref(p);
	}
}

/* They are constants', whole ones in each row, and no work for the CPU. */
static void test_blocks_misused(void **state)
{
	struct accel_shape_desc slice = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_SLICE);
	struct accel_value v = value_of("blocks", ACCEL_Q8_0, 2, DIMS(4, 48)), out;
	struct bed *bed = *state;
	static float values[256];
	uint8_t *blocks = make_blocks(values);
	uint32_t w, d;

	assert_int_equal(accel_graph_constant(bed->graph, &v, blocks, NULL, NULL, &w), -EINVAL);
	v.dims[1] = 64;
	assert_int_equal(accel_graph_input(bed->graph, &v, &w), -EINVAL);
	v.rank = 0;
	assert_int_equal(accel_graph_constant(bed->graph, &v, blocks, NULL, NULL, &w), -EINVAL);
	v.rank = 2;
	MUST_GRAPH(accel_graph_constant(bed->graph, &v, blocks, free, blocks, &w));
	d = add_node(bed, "half", &slice.hdr, 3, (uint32_t[]) { w, LIST(0, 1), LIST(1, 33) });
	assert_int_not_equal(accel_graph_get_value(bed->graph, d, &out), 0);
}

/* Weights that were computed, and packed or narrowed for a product, are there for a branch. */
static void test_read_later(void **arg)
{
	enum { K = 64, N = 16 };
	const struct bytes yes = lone("Add", "w w", "p"), no = lone("Sub", "w w", "q");
	struct accel_compile_opts opts = ACCEL_COMPILE_OPTS_INIT;
	static float half[K * N], y[N], z[2][K * N];
	struct bed *bed = *arg;
	struct accel_error e;
	struct tested *t;
	uint32_t i;

	for (i = 0; i < K * N; i++) {
		half[i] = (float)(1 + i % 3);
		/* The first of them are the row that is multiplied. */
		y[i % N] += 2 * (float)(1 + i / N % 3) * half[i];
		z[1][i] = 4 * half[i];
	}
	t = BEGIN(bed, IO("c", BOOL, NULL, 1), IO("x", F32, NULL, 1, K),
		  CONST("half", F32, half, K, N));
	ONE(t, NULL, "Add", "half half", "w");
	ONE(t, NULL, "MatMul", "x w", "y");
	add_if(&t->g, "c", "z", &yes, &no);
	put_name(&t->g, 12, "y");
	put_name(&t->g, 12, "z");
	for (i = 0; i < 16; i++) {
		struct runner r = { .bed = bed };

		opts.level = i / 4;
		opts.precision = i & 2 ? ACCEL_PRECISION_BF16 : 0;
		assert_int_equal(open_tested(t, &e, &r.model), 0);
		MUST(accel_graph_compile(bed->ctx, accel_model_graph(r.model), &opts, &r.program));
		accel_model_close(r.model);
		r.state = new_state(bed, r.program);
		set(&r, 0, 1, DIMS(1), &(const uint8_t){ i & 1 }, 1);
		set(&r, 1, 2, DIMS(1, K), half, K * sizeof(float));
		run(&r);
		has(&r, 0, 2, N, y);
		has(&r, 1, 2, K * N, z[i & 1]);
		stop(&r);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, bed_setup, bed_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_blocks), TEST(test_blocks_misused), TEST(test_read_later),
	};

	return cmocka_run_group_tests_name("constants", tests, NULL, NULL);
}

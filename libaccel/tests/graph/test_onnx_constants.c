// SPDX-License-Identifier: MIT
/*
 * Constants that were computed: how long they are there.
 */
#include "onnxrun.h"

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
		TEST(test_read_later),
	};

	return cmocka_run_group_tests_name("onnx_constants", tests, NULL, NULL);
}

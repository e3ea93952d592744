// SPDX-License-Identifier: MIT
/*
 * What "accelctl ops" lists: each operation with each combination of types that
 * is listed for an engine of a chip runs there, each that is not is refused, and
 * both are what the capability rows of the device say.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "libaccel/tests/guest.h"
#include "opcell.h"

#define TYPES	ACCEL_DTYPE_COUNT

/* Rows of an engine; more than any device has */
#define MAX_ROWS	64

struct chip {
	struct accel_device *dev;
	struct accel_ctx *ctx;
	struct accel_bo *bo;
	struct accel_cap caps[ACCEL_ENGINE_COUNT][MAX_ROWS];
	uint32_t cap_count[ACCEL_ENGINE_COUNT];
};

static void open_chip(struct chip *c, const char *name)
{
	struct accel_device_info info = { .size = sizeof(info) };
	uint32_t i, j;

	memset(c, 0, sizeof(*c));
	assert_int_equal(accel_device_open(name, NULL, &c->dev), 0);
	assert_int_equal(accel_device_get_info(c->dev, &info), 0);
	assert_int_equal(accel_ctx_create(c->dev, NULL, &c->ctx), 0);
	assert_int_equal(accel_bo_create(c->ctx, OPCELL_BYTES, NULL, &c->bo), 0);
	for (i = 0; i < info.engine_count; i++) {
		struct accel_engine_info e = { .size = sizeof(e) };

		assert_int_equal(accel_device_get_engine(c->dev, i, &e), 0);
		assert_true(e.cap_count <= MAX_ROWS);
		c->cap_count[e.engine] = e.cap_count;
		for (j = 0; j < e.cap_count; j++) {
			c->caps[e.engine][j].size = sizeof(struct accel_cap);
			assert_int_equal(accel_device_get_cap(c->dev, i, j, &c->caps[e.engine][j]),
					 0);
		}
	}
}

static void close_chip(struct chip *c)
{
	accel_bo_unref(c->bo);
	accel_ctx_destroy(c->ctx);
	accel_device_unref(c->dev);
}

/* Bits that the funcs of a row must have */
static uint32_t func_bits(const struct opcell *cell)
{
	switch (cell->op) {
	case ACCEL_OP_SCATTER:
		return 1u << cell->func / ACCEL_SCATTER_REDUCE_COUNT |
		       1u << (8 + cell->func % ACCEL_SCATTER_REDUCE_COUNT);
	case ACCEL_OP_NORM:
		/* Over lines, by their squares, by given statistics */
		if (cell->func == ACCEL_NORM_RMS)
			return 1u << 1;
		return 1u << (cell->func == ACCEL_NORM_BATCH ? 2 : 0);
	case ACCEL_OP_UNARY:
	case ACCEL_OP_BINARY:
	case ACCEL_OP_SOFTMAX:
	case ACCEL_OP_REDUCE:
	case ACCEL_OP_POOL:
	case ACCEL_OP_RESIZE:
	case ACCEL_OP_GATHER:
		return 1u << cell->func;
	default:
		return 0;
	}
}

/* Does a row of an engine allow the types? What is put together is copied. */
static bool in_rows(const struct chip *c, const struct opcell *cell, uint32_t engine)
{
	uint32_t op = cell->op >= ACCEL_OP_CONCAT ? (uint32_t)ACCEL_OP_COPY : cell->op;
	uint32_t i, bits = func_bits(cell);

	for (i = 0; i < c->cap_count[engine]; i++) {
		const struct accel_cap *cap = &c->caps[engine][i];

		if (cap->op == op && (!cell->a || cap->a_dtypes >> cell->a & 1) &&
		    (!cell->b || cap->b_dtypes >> cell->b & 1) &&
		    (cap->d_dtypes >> cell->d & 1) && (cap->funcs & bits) == bits)
			return true;
	}
	return false;
}

static void say(const struct opcell *cell, uint32_t engine, char buf[128])
{
	snprintf(buf, 128, "%s %u on %s: %s %s %s", accel_op_name(cell->op), cell->func,
		 accel_engine_name(engine), accel_dtype_name(cell->a), accel_dtype_name(cell->b),
		 accel_dtype_name(cell->d));
}

/* It is refused, with a reason and before anything is submitted */
static void check_refused(struct chip *c, const struct opcell *cell, uint32_t engine)
{
	union opcell_desc desc;
	int quantised, ret;
	char what[128];

	for (quantised = 0; quantised < 2; quantised++) {
		struct accel_error e = ACCEL_ERROR_INIT;
		struct accel_plan *plan = NULL;

		opcell_desc(cell, quantised, c->bo, &desc);
		desc.hdr.engine = engine;
		ret = accel_plan_create(c->ctx, &desc.hdr, &plan);
		say(cell, engine, what);
		if (ret != -EOPNOTSUPP && ret != -EINVAL)
			fail_msg("%s is not listed, and planning it gives %d", what, ret);
		accel_ctx_get_error(c->ctx, &e);
		if (!e.field[0] || !e.text[0])
			fail_msg("%s is refused without a reason", what);
	}
}

/* It runs, at least one way */
static void check_runs(struct chip *c, const struct opcell *cell, uint32_t engine)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	int quantised, ret, ran = 0;
	union opcell_desc desc;
	char what[128];

	say(cell, engine, what);
	for (quantised = 0; quantised < 2; quantised++) {
		opcell_desc(cell, quantised, c->bo, &desc);
		desc.hdr.engine = engine;
		/* Indices are among it */
		memset(accel_bo_ptr(c->bo), 0, OPCELL_BYTES / 8);
		ret = accel_run(c->ctx, &desc.hdr);
		if (ret && ret != -EOPNOTSUPP && ret != -EINVAL) {
			accel_ctx_get_error(c->ctx, &e);
			fail_msg("%s gives %d: %s: %s", what, ret, e.field, e.text);
		}
		ran += !ret;
	}
	if (!ran) {
		accel_ctx_get_error(c->ctx, &e);
		fail_msg("%s is listed and does not run: %s: %s", what, e.field, e.text);
	}
}

struct counts {
	uint64_t listed;
	uint64_t refused;
	uint64_t ran;
};

/*
 * All functions of a combination of types on an engine. One of those that are
 * listed runs, another for each combination: @turn.
 */
static void check_types(struct chip *c, struct chip *full, struct opcell cell, uint32_t turn,
			struct counts *n)
{
	uint32_t funcs = opcell_funcs(cell.op), engine, first, listed, anywhere;
	char what[128];

	for (engine = 1; engine < ACCEL_ENGINE_COUNT; engine++) {
		bool ran = false;

		for (first = 0; first < funcs; first++) {
			cell.func = (first + turn) % funcs;
			assert_int_equal(opcell_engines(c->ctx, &cell, &listed), 0);
			assert_int_equal(opcell_engines(full->ctx, &cell, &anywhere), 0);
			say(&cell, engine, what);
			if (!(listed >> engine & 1)) {
				/* A row would allow it, then it makes no sense anywhere. */
				if (in_rows(c, &cell, engine) && anywhere)
					fail_msg("%s is not listed, but in the rows", what);
				check_refused(c, &cell, engine);
				n->refused++;
				continue;
			}
			n->listed++;
			if (!in_rows(c, &cell, engine))
				fail_msg("%s is listed, but in no row", what);
			if (ran)
				continue;
			check_runs(c, &cell, engine);
			ran = true;
			n->ran++;
		}
	}
}

static void check_chip(const char *name, uint32_t number)
{
	struct opcell cell = { 0 };
	struct counts n = { 0 };
	struct chip c, full;
	uint32_t turn = 0;

	open_chip(&c, name);
	open_chip(&full, "sw:full");
	for (cell.op = 0; cell.op < ACCEL_OP_COUNT; cell.op++) {
		if (!opcell_funcs(cell.op))
			continue;
		for (cell.a = opcell_has_a(cell.op); cell.a < (opcell_has_a(cell.op) ? TYPES : 1u);
		     cell.a++)
			for (cell.b = opcell_has_b(cell.op);
			     cell.b < (opcell_has_b(cell.op) ? TYPES : 1u); cell.b++)
				for (cell.d = 1; cell.d < TYPES; cell.d++, turn++)
					if (!test_left_out(turn, number))
						check_types(&c, &full, cell, turn, &n);
	}
	printf("# %s: %llu listed with their functions, %llu combinations of types run, %llu refused\n",
	       name, (unsigned long long)n.listed, (unsigned long long)n.ran,
	       (unsigned long long)n.refused);
	assert_true(n.ran > 1000 / test_every() && n.refused > 1000 / test_every());
	close_chip(&full);
	close_chip(&c);
}

static void test_m1(void **state)
{
	(void)state;
	check_chip("sw:m1", 0);
}

static void test_m2(void **state)
{
	(void)state;
	check_chip("sw:m2", 1);
}

static void test_m3(void **state)
{
	(void)state;
	check_chip("sw:m3", 2);
}

static void test_ultra(void **state)
{
	(void)state;
	check_chip("sw:ultra", 3);
}

static void test_full(void **state)
{
	(void)state;
	check_chip("sw:full", 4);
}

/* Every operation of the library but those that only put others together is known. */
static void test_complete(void **state)
{
	uint32_t op;

	(void)state;
	for (op = ACCEL_OP_COPY; op < ACCEL_OP_FFN; op++)
		if (!opcell_funcs(op))
			fail_msg("%s is not listed", accel_op_name(op));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_complete),
		cmocka_unit_test(test_m1),
		cmocka_unit_test(test_m2),
		cmocka_unit_test(test_m3),
		cmocka_unit_test(test_ultra),
		cmocka_unit_test(test_full),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

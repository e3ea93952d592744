// SPDX-License-Identifier: MIT
/*
 * Misuse: each wrong descriptor gives its error and names its field, whichever
 * way it comes in; nothing reaches the device; the next right one works. The
 * device is recorded, and what was submitted is counted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "libaccel/tests/guest.h"
#include "misuse.h"

/* Room for the largest tensor of a base, many times over */
#define BUFFER		16384
#define BUFFERS		7

static struct accel_device *dev;
static struct accel_ctx *ctx;
static struct accel_bo *buffers[BUFFERS];
static char path[32];
/* Operations that were right, and that ran */
static uint32_t right;

struct accel_tensor misuse_tensor(uint32_t i, uint32_t dtype, uint32_t rank,
				  const int64_t *dims)
{
	return accel_tensor_dense(buffers[i], dtype, rank, dims);
}

static int ignore(void *user, const struct accel_candidate *c)
{
	(void)user;
	(void)c;
	return 0;
}

static void poke(union desc *d, const struct row *row)
{
	uint32_t i;

	/* Little-endian: the low bytes of the value. */
	for (i = 0; i < ARRAY_SIZE(row->pokes) && row->pokes[i].size; i++)
		memcpy((char *)d + row->pokes[i].offset, &row->pokes[i].value,
		       row->pokes[i].size);
}

static uint32_t bo_count(void)
{
	struct accel_memory_stats stats = { .size = sizeof(stats) };

	assert_int_equal(accel_ctx_get_memory(ctx, &stats), 0);
	return stats.bo_count;
}

/* Returns whether it went as it should. */
static int check(const char *name, const struct row *row, const char *way, int ret)
{
	struct accel_error e = ACCEL_ERROR_INIT;

	accel_ctx_get_error(ctx, &e);
	if (ret == row->code && e.code == ret && !strcmp(e.field, row->field) && e.text[0])
		return 1;
	printf("# %s, line %d: %s gives %d (%d) at \"%s\" (%s), wanted %d at \"%s\"\n", name,
	       row->line, way, ret, e.code, e.field, e.text, row->code, row->field);
	return 0;
}

static uint32_t check_row(const struct table *t, const struct row *row)
{
	struct accel_plan *plan = NULL;
	union desc d, before;
	uint32_t bos = bo_count();
	int good;

	memset(&d, 0, sizeof(d));
	t->base(&d);
	poke(&d, row);
	before = d;
	good = check(t->name, row, "plan", accel_plan_create(ctx, &d.hdr, &plan));
	good &= check(t->name, row, "run", accel_run(ctx, &d.hdr));
	/* What no engine takes is explained, other errors are not. */
	if (row->code == -EINVAL)
		good &= check(t->name, row, "explain",
			      accel_explain(ctx, &d.hdr, ignore, NULL));
	if (plan || memcmp(&d, &before, sizeof(d)) != 0 || bo_count() != bos) {
		printf("# %s, line %d: something was changed\n", t->name, row->line);
		good = 0;
	}
	accel_plan_unref(plan);
	return good ? 0 : 1;
}

static void run_right(const struct table *t)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	union desc d;

	memset(&d, 0, sizeof(d));
	t->base(&d);
	if (accel_run(ctx, &d.hdr)) {
		accel_ctx_get_error(ctx, &e);
		fail_msg("%s: %s: %s", t->name, e.field, e.text);
	}
	right++;
}

/* Where a job takes long its turn comes after some of the errors, which the device has not seen. */
static void check_tables(const struct table *tables, uint32_t count)
{
	uint32_t i, j, wrong = 0;

	for (i = 0; i < count; i++) {
		run_right(&tables[i]);
		for (j = 0; j < tables[i].count; j++) {
			wrong += check_row(&tables[i], &tables[i].rows[j]);
			if (j % (test_in_guest() ? test_every() : 1) == 0)
				run_right(&tables[i]);
		}
		printf("# %s: %u descriptors\n", tables[i].name, tables[i].count);
	}
	assert_int_equal(wrong, 0);
}

static void test_lines(void **state)
{
	(void)state;
	check_tables(misuse_lines, misuse_lines_count);
}

static void test_moves(void **state)
{
	(void)state;
	check_tables(misuse_moves, misuse_moves_count);
}

static void test_networks(void **state)
{
	(void)state;
	check_tables(misuse_networks, misuse_networks_count);
}

/* One job for each operation that was right, and no other. */
static void test_submitted(void **state)
{
	static char line[1 << 20];
	uint32_t submitted = 0;
	FILE *f;

	(void)state;
	f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		submitted += !!strstr(line, "\"call\":\"submit\"");
	fclose(f);
	assert_true(right > (test_in_guest() ? 50 : 500));
	assert_int_equal(submitted, right);
}

static int setup(void **state)
{
	struct accel_device_opts opts = ACCEL_DEVICE_OPTS_INIT;
	char name[64];
	uint32_t i;
	int fd;

	(void)state;
	snprintf(path, sizeof(path), "/tmp/accel-misuse-XXXXXX");
	fd = mkstemp(path);
	if (fd < 0)
		return -1;
	close(fd);
	snprintf(name, sizeof(name), "rec:%s", test_device("sw"));
	opts.record_path = path;
	if (accel_device_open(name, &opts, &dev) || accel_ctx_create(dev, NULL, &ctx))
		return -1;
	for (i = 0; i < BUFFERS; i++)
		if (accel_bo_create(ctx, BUFFER, NULL, &buffers[i]))
			return -1;
	return 0;
}

static int teardown(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < BUFFERS; i++)
		accel_bo_unref(buffers[i]);
	accel_ctx_destroy(ctx);
	accel_device_unref(dev);
	unlink(path);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_moves),
		cmocka_unit_test(test_networks),
		cmocka_unit_test(test_submitted),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("misuse", tests, setup, teardown);
}

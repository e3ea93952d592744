/* SPDX-License-Identifier: MIT */
/*
 * What the tests of tuning share: a device with a directory, and a convolution
 * that can be done in several ways.
 */
#ifndef LIBACCEL_TESTS_TUNE_BED_H
#define LIBACCEL_TESTS_TUNE_BED_H

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "libaccel/core/objects.h"
#include "libaccel/tune/tune.h"

#define MAX_SEEN	256

/**
 * struct bed - a device, a context and a directory for its file
 */
struct bed {
	char dir[64];
	char path[128];
	struct accel_device *dev;
	struct accel_ctx *ctx;
	uint32_t warnings;
};

static inline void count_warnings(void *user, int level, const char *text)
{
	struct bed *b = user;

	b->warnings += level == ACCEL_LOG_WARN && strstr(text, "cannot be kept");
}

static inline void open_in(struct bed *b, const char *dir, uint32_t threads)
{
	struct accel_device_opts opts = ACCEL_DEVICE_OPTS_INIT;
	struct accel_ctx_opts ctx = ACCEL_CTX_OPTS_INIT;

	opts.threads = threads;
	opts.log = count_warnings;
	opts.log_user = b;
	opts.log_level = ACCEL_LOG_WARN;
	ctx.tune_dir = dir;
	assert_int_equal(accel_device_open("sw", &opts, &b->dev), 0);
	assert_int_equal(accel_ctx_create(b->dev, &ctx, &b->ctx), 0);
}

static inline int setup(void **state)
{
	struct bed *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	/* Thousands of files are written: in memory, if there is a place for that. */
	snprintf(b->dir, sizeof(b->dir), "%s/tune.XXXXXX", access("/dev/shm", W_OK) ? "/tmp" :
		 "/dev/shm");
	assert_non_null(mkdtemp(b->dir));
	snprintf(b->path, sizeof(b->path), "%s/a/b/" TUNE_FILE, b->dir);
	*state = b;
	return 0;
}

static inline void begin(struct bed *b)
{
	char dir[96];

	snprintf(dir, sizeof(dir), "%s/a/b", b->dir);
	open_in(b, dir, 1);
}

static inline int teardown(void **state)
{
	struct bed *b = *state;
	char command[160];

	accel_ctx_destroy(b->ctx);
	accel_device_unref(b->dev);
	snprintf(command, sizeof(command), "rm -r '%s'", b->dir);
	assert_int_equal(system(command), 0);
	free(b);
	return 0;
}

/* --- a convolution with several ways ------------------------------------------------- */

#define C	16
#define EDGE	14

static inline void base(struct accel_conv_desc *d)
{
	const int64_t a[] = { 1, C, EDGE, EDGE }, b[] = { C, C, 3, 3 };

	*d = (struct accel_conv_desc)ACCEL_CONV_DESC_INIT;
	d->flags = ACCEL_CONV_WINOGRAD | ACCEL_CONV_PACK_B;
	d->a = accel_tensor_dense(NULL, ACCEL_F32, 4, a);
	d->b = accel_tensor_dense(NULL, ACCEL_F32, 4, b);
	d->d = accel_tensor_dense(NULL, ACCEL_F32, 4, a);
	d->pad_before[0] = d->pad_before[1] = 1;
	d->pad_after[0] = d->pad_after[1] = 1;
}

static inline struct accel_bo *numbers(struct bed *bed, uint32_t count, uint32_t seed)
{
	struct accel_bo *bo;
	uint32_t i;
	float *p;

	assert_int_equal(accel_bo_create(bed->ctx, count * sizeof(*p), NULL, &bo), 0);
	p = accel_bo_ptr(bo);
	for (i = 0; i < count; i++) {
		seed = seed * 1664525 + 1013904223;
		p[i] = (float)(int32_t)seed / 2147483648.0f;
	}
	return bo;
}

struct told {
	uint32_t chosen;
	uint32_t measured;
	char algorithm[64];
	char text[256];
};

static inline int note(void *user, const struct accel_candidate *c)
{
	struct told *t = user;

	t->measured += c->measured_ns > 0;
	if (c->verdict != ACCEL_CHOSEN)
		return 0;
	t->chosen++;
	snprintf(t->algorithm, sizeof(t->algorithm), "%s", c->algorithm);
	snprintf(t->text, sizeof(t->text), "%s", c->text);
	return 0;
}

/* Plan it, run it, and give back the result. */
static inline struct accel_bo *run(struct bed *bed, uint32_t flags, uint32_t ms, struct told *told)
{
	struct accel_plan_opts opts = ACCEL_PLAN_OPTS_INIT;
	struct accel_binding bind[2] = { { .arg = ACCEL_ARG_A }, { .arg = ACCEL_ARG_D } };
	const struct job_bindings bound = { bind, 2, NULL };
	struct accel_bo *w = numbers(bed, 9 * C * C, 1);
	struct accel_conv_desc d;
	struct accel_plan *plan;

	base(&d);
	d.b.bo = w;
	opts.flags = flags;
	opts.tune_budget_ms = ms;
	memset(told, 0, sizeof(*told));
	assert_int_equal(accel_plan_create_opts(bed->ctx, &d.hdr, &opts, &plan), 0);
	assert_int_equal(accel_plan_explain(plan, note, told), 0);
	assert_int_equal(told->chosen, 1);
	bind[0].bo = numbers(bed, C * EDGE * EDGE, 2);
	bind[1].bo = numbers(bed, C * EDGE * EDGE, 3);
	assert_int_equal(plan_run(plan, &bound), 0);
	accel_plan_unref(plan);
	accel_bo_unref(bind[0].bo);
	accel_bo_unref(w);
	return bind[1].bo;
}

static inline void assert_close(struct accel_bo *x, struct accel_bo *y)
{
	const float *a = accel_bo_ptr(x), *b = accel_bo_ptr(y);
	uint32_t i;

	/* 144 products up to 1; F(4x4) multiplies by up to 8 twice on the way. */
	for (i = 0; i < C * EDGE * EDGE; i++)
		assert_true(fabsf(a[i] - b[i]) < 0.0002f);
	accel_bo_unref(x);
	accel_bo_unref(y);
}

/**
 * struct seen - what accel_tune_list() has told
 */
struct seen {
	uint32_t count;
	uint32_t state[MAX_SEEN];
	uint32_t by_state[ACCEL_TUNE_STATE_COUNT];
	uint32_t with_desc;
};

static inline int see(void *user, const struct accel_tune_entry *e)
{
	struct seen *s = user;

	assert_true(s->count < MAX_SEEN);
	assert_true(e->state < ACCEL_TUNE_STATE_COUNT);
	s->state[s->count++] = e->state;
	s->by_state[e->state]++;
	s->with_desc += !!e->desc;
	assert_non_null(e->words);
	assert_non_null(e->json);
	return 0;
}

static inline struct seen list(struct bed *b)
{
	struct seen s = { 0 };

	assert_int_equal(accel_tune_list(b->ctx, see, &s), 0);
	return s;
}

static inline bool exists(const char *path)
{
	return !access(path, F_OK);
}

#define TEST(name)	cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif /* LIBACCEL_TESTS_TUNE_BED_H */

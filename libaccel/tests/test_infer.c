// SPDX-License-Identifier: MIT
/*
 * Results that follow from inputs, for every operation: what accel_infer() fills in
 * is what plans accept, what plans refuse it refuses with the same field, and inputs
 * that are no tensors are named.
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
#include <accel/accel.h>
#include "guest.h"
#include "ops/samples.h"

static struct accel_device *dev;
static struct accel_ctx *ctx;

/* The sample of a name. */
static void named(const char *name, union desc *d)
{
	uint32_t i;

	for (i = 0; i < sample_count && strcmp(samples[i].name, name) != 0; i++)
		;
	assert_true(i < sample_count);
	sample_make(&samples[i], d);
}

/* Leave a result out: its dimensions, and its type if @type. */
static void forget(struct accel_tensor *t, bool type)
{
	t->rank = 0;
	memset(t->dims, 0, sizeof(t->dims));
	if (type) {
		t->dtype = ACCEL_NONE;
		memset(&t->quant, 0, sizeof(t->quant));
	}
}

/* What a plan says: 0 also where no engine of the device takes what is right. */
static int plan(union desc *d, struct accel_error *e)
{
	struct accel_plan *p = NULL;
	int ret = accel_plan_create(ctx, &d->hdr, &p);

	accel_plan_unref(p);
	*e = (struct accel_error)ACCEL_ERROR_INIT;
	if (ret)
		accel_ctx_get_error(ctx, e);
	return ret == -EOPNOTSUPP ? 0 : ret;
}

static void same(const struct sample *s, const union desc *d, const union desc *want, int line)
{
	const struct accel_tensor *t, *w;
	uint32_t i;

	if (!memcmp(d, want, sizeof(*d)))
		return;
	for (i = 0; i < s->results; i++) {
		t = (const struct accel_tensor *)((const char *)d + s->at[i]);
		w = (const struct accel_tensor *)((const char *)want + s->at[i]);
		printf("# result %u: %u, rank %u [%lld, %lld, %lld, %lld], not %u, %u [%lld, %lld, %lld, %lld]\n",
		       i, t->dtype, t->rank, (long long)t->dims[0], (long long)t->dims[1],
		       (long long)t->dims[2], (long long)t->dims[3], w->dtype, w->rank,
		       (long long)w->dims[0], (long long)w->dims[1], (long long)w->dims[2],
		       (long long)w->dims[3]);
	}
	fail_msg("%s, line %d: something else follows", s->name, line);
}

static void infers(const struct sample *s, union desc *d, const union desc *want, int line)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	int ret = accel_infer(&d->hdr, &e);

	if (ret)
		fail_msg("%s, line %d: %d: %s: %s", s->name, line, ret, e.field, e.text);
	assert_int_equal(e.code, 0);
	same(s, d, want, line);
}

/* Every operation but FILL is among the samples. */
static void test_all(void **state)
{
	uint32_t seen = 1u << ACCEL_OP_NONE | 1u << ACCEL_OP_FILL, i;
	union desc d;

	(void)state;
	for (i = 0; i < sample_count; i++) {
		sample_make(&samples[i], &d);
		seen |= 1u << d.hdr.op;
	}
	assert_int_equal(seen, (1u << ACCEL_OP_COUNT) - 1);
}

/* What is complete stays and is accepted; what is left out comes back. */
static void test_results(void **state)
{
	struct accel_error e;
	union desc d, want;
	uint32_t i, r, n;

	(void)state;
	for (i = 0; i < sample_count; i++) {
		const struct sample *s = &samples[i];

		sample_make(s, &want);
		d = want;
		infers(s, &d, &want, __LINE__);
		if (plan(&d, &e))
			fail_msg("%s: %s: %s", s->name, e.field, e.text);
		/* Of top-k one result says how many. */
		for (r = 0; r < s->results - s->given; r++)
			if (want.hdr.op != ACCEL_OP_TOPK || !r)
				forget(sample_tensor(&d, s->at[r]), true);
		infers(s, &d, &want, __LINE__);
		for (r = 0; r < s->results - s->given; r++) {
			forget(sample_tensor(&d, s->at[r]), false);
			infers(s, &d, &want, __LINE__);
			for (n = 0; n < sample_tensor(&d, s->at[r])->rank; n++) {
				sample_tensor(&d, s->at[r])->dims[n] = ACCEL_DIM_INFER;
				infers(s, &d, &want, __LINE__);
			}
		}
	}
}

/* Both refuse, with the same code and field; what is left out then changes nothing. */
static void refuse_alike(const struct sample *s, union desc *d, int line)
{
	struct accel_error e = ACCEL_ERROR_INIT, p;
	union desc before = *d;
	int ret = accel_infer(&d->hdr, &e), planned;

	if (memcmp(d, &before, sizeof(before)) != 0)
		fail_msg("%s, line %d: something was changed", s->name, line);
	planned = plan(d, &p);
	assert_int_equal(e.code, ret);
	if (ret != planned && ret != -EOPNOTSUPP)
		fail_msg("%s, line %d: %d (%s: %s), but a plan gives %d (%s: %s)", s->name, line,
			 ret, e.field, e.text, planned, p.field, p.text);
	if (ret && strcmp(e.field, p.field) != 0)
		fail_msg("%s, line %d: %s, but a plan names %s", s->name, line, e.field, p.field);
}

/* Results of other sizes are refused. */
static void test_wrong_results(void **state)
{
	struct accel_error e;
	union desc d, want;
	uint32_t i, r, n;

	(void)state;
	for (i = 0; i < sample_count; i++) {
		const struct sample *s = &samples[i];

		sample_make(s, &want);
		for (r = 0; r < s->results; r++) {
			for (n = 0; n < sample_tensor(&want, s->at[r])->rank; n++) {
				d = want;
				sample_tensor(&d, s->at[r])->dims[n]++;
				refuse_alike(s, &d, __LINE__);
				/* Inputs of 1 broadcast, and output padding is free. */
				if (accel_infer(&d.hdr, NULL) == 0 && plan(&d, &e))
					fail_msg("%s: %s", s->name, e.text);
			}
			d = want;
			sample_tensor(&d, s->at[r])->rank = ACCEL_MAX_RANK + 1;
			refuse_alike(s, &d, __LINE__);
			assert_int_equal(accel_infer(&d.hdr, NULL), -EINVAL);
			d = want;
			sample_tensor(&d, s->at[r])->dtype = ACCEL_DTYPE_COUNT;
			refuse_alike(s, &d, __LINE__);
			assert_int_equal(accel_infer(&d.hdr, NULL), -EINVAL);
		}
	}
}

/*
 * Inputs of other sizes and types, with the results left out: what follows is
 * accepted, or there is no result, and a field of the operation is named.
 */
static void try_inputs(const struct sample *s, union desc *d, uint32_t *good, uint32_t *wrong,
		       int line)
{
	struct accel_error e = ACCEL_ERROR_INIT, p;
	const char *op = accel_op_name(d->hdr.op);
	union desc blank = *d, before;
	uint32_t r;
	int ret;

	refuse_alike(s, d, line);
	for (r = 0; r < s->results - s->given; r++)
		if (d->hdr.op != ACCEL_OP_TOPK || !r)
			forget(sample_tensor(&blank, s->at[r]), false);
	before = blank;
	ret = accel_infer(&blank.hdr, &e);
	if (ret) {
		++*wrong;
		if (memcmp(&blank, &before, sizeof(blank)) != 0 || ret != e.code || !e.text[0] ||
		    strncmp(e.field, op, strlen(op)) != 0)
			fail_msg("%s, line %d: %d, %d: %s: %s", s->name, line, ret, e.code, e.field,
				 e.text);
		return;
	}
	++*good;
	if (plan(&blank, &p))
		fail_msg("%s, line %d: it follows, but %s: %s", s->name, line, p.field, p.text);
}

static void test_inputs(void **state)
{
	static const int64_t sizes[] = { -2, 0, 1, 2, 17, INT64_MAX };
	uint32_t i, r, n, k, good = 0, wrong = 0;
	union desc d, want;

	(void)state;
	for (i = 0; i < sample_count; i++) {
		const struct sample *s = &samples[i];

		sample_make(s, &want);
		for (r = s->results; r < MAX_TENSORS && s->at[r]; r++) {
			for (k = 0; k < ARRAY_SIZE(sizes); k++) {
				for (n = 0; n < sample_tensor(&want, s->at[r])->rank; n++) {
					d = want;
					sample_tensor(&d, s->at[r])->dims[n] = sizes[k];
					try_inputs(s, &d, &good, &wrong, __LINE__);
				}
			}
			for (k = 0; k <= ACCEL_DTYPE_COUNT; k++) {
				d = want;
				sample_tensor(&d, s->at[r])->dtype = k;
				memset(&sample_tensor(&d, s->at[r])->quant, 0,
				       sizeof(struct accel_quant));
				try_inputs(s, &d, &good, &wrong, __LINE__);
			}
			for (k = 0; k <= ACCEL_MAX_RANK + 1; k++) {
				d = want;
				sample_tensor(&d, s->at[r])->rank = k;
				for (n = 0; n < ACCEL_MAX_RANK; n++)
					sample_tensor(&d, s->at[r])->dims[n] = n < k ? 2 : 0;
				try_inputs(s, &d, &good, &wrong, __LINE__);
			}
		}
	}
	printf("# %u right, %u wrong\n", good, wrong);
	assert_true(good > 300 && wrong > 300);
}

/* What follows from nothing. */
static void test_unknown(void **state)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	union desc d;

	(void)state;
	d.fill = (struct accel_fill_desc)ACCEL_FILL_DESC_INIT;
	d.fill.d = accel_tensor_2d(NULL, ACCEL_F32, 2, 3);
	assert_int_equal(accel_infer(&d.hdr, &e), 0);
	forget(&d.fill.d, false);
	assert_int_equal(accel_infer(&d.hdr, &e), -EINVAL);
	assert_string_equal(e.field, "fill.d.rank");

	named("topk", &d);
	forget(&d.topk.d, true);
	forget(&d.topk.indices, true);
	assert_int_equal(accel_infer(&d.hdr, &e), -EINVAL);
	assert_string_equal(e.field, "topk.d.dims[1]");
	d.topk.d.rank = 2;
	d.topk.d.dims[0] = ACCEL_DIM_INFER;
	d.topk.d.dims[1] = 7;
	assert_int_equal(accel_infer(&d.hdr, &e), 0);
	assert_int_equal(d.topk.d.dims[0], 2);
	assert_int_equal(d.topk.d.dtype, ACCEL_F16);
	assert_int_equal(d.topk.indices.dims[1], 7);

	named("split", &d);
	forget(&d.split.d[1], false);
	forget(&d.split.d[2], false);
	d.split.d[0].dims[1] = 6;
	assert_int_equal(accel_infer(&d.hdr, &e), 0);
	assert_int_equal(d.split.d[1].dims[1], 3);
	forget(&d.split.d[1], false);
	forget(&d.split.d[2], false);
	d.split.d[0].dims[1] = 5;
	assert_int_equal(accel_infer(&d.hdr, &e), -EINVAL);
	assert_string_equal(e.field, "split.a.dims[1]");

	named("gather, rows", &d);
	d.gather.b = accel_tensor_dense(NULL, ACCEL_S32, 5,
					(const int64_t[]) { 1, 1, 1, 2, 3 });
	forget(&d.gather.d, false);
	assert_int_equal(accel_infer(&d.hdr, &e), -EINVAL);
	assert_string_equal(e.field, "gather.d.rank");
	named("gather, rows", &d);
	d.gather.axis = UINT32_MAX;
	forget(&d.gather.d, false);
	assert_int_equal(accel_infer(&d.hdr, &e), -EINVAL);
	assert_string_equal(e.field, "gather.axis");
}

/* Records of other sizes, and none. */
static void test_record(void **state)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	union desc d;

	(void)state;
	assert_int_equal(accel_infer(NULL, &e), -EINVAL);
	assert_string_equal(e.field, "desc");
	assert_int_equal(accel_infer(NULL, NULL), -EINVAL);
	sample_make(&samples[0], &d);
	e.size = 8;
	assert_int_equal(accel_infer(&d.hdr, &e), -EINVAL);
	d.hdr.pad = 1;
	assert_int_equal(accel_infer(&d.hdr, NULL), -EINVAL);
	/* A descriptor of a newer library, of which nothing is used, keeps its size. */
	sample_make(&samples[0], &d);
	d.hdr.size = sizeof(d);
	forget(&d.gemm.d, true);
	assert_int_equal(accel_infer(&d.hdr, NULL), 0);
	assert_int_equal(d.hdr.size, sizeof(d));
	assert_int_equal(d.gemm.d.dims[2], 5);
	/* Strides of a result are the caller's. */
	sample_make(&samples[0], &d);
	d.gemm.d.flags = ACCEL_TENSOR_STRIDES;
	d.gemm.d.strides[0] = 64;
	d.gemm.d.strides[1] = 8;
	d.gemm.d.strides[2] = 1;
	forget(&d.gemm.d, true);
	assert_int_equal(accel_infer(&d.hdr, NULL), 0);
	assert_int_equal(d.gemm.d.strides[1], 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_results),
		cmocka_unit_test(test_wrong_results),
		cmocka_unit_test(test_inputs),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_record),
	};
	struct accel_device_opts opts = ACCEL_DEVICE_OPTS_INIT;
	int ret;

	opts.threads = 1;
	if (accel_device_open(test_device("sw:full"), &opts, &dev) ||
	    accel_ctx_create(dev, NULL, &ctx)) {
		printf("Bail out! no device\n");
		return 1;
	}
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	accel_ctx_destroy(ctx);
	accel_device_unref(dev);
	return ret;
}

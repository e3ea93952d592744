// SPDX-License-Identifier: MIT
/*
 * Wrong descriptors of operations along dimensions: one field of a descriptor
 * that is right is changed; planning must fail and name the field.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <accel/accel.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

#define NAN32		0x7fc00000u
#define INF32		0x7f800000u
#define MINUS32		0xbf800000u
#define NEG(x)		((uint64_t)-(int64_t)(x))

union desc {
	struct accel_desc hdr;
	struct accel_softmax_desc softmax;
	struct accel_norm_desc norm;
	struct accel_reduce_desc reduce;
	struct accel_topk_desc topk;
	struct accel_scan_desc scan;
};

enum base {
	SOFTMAX, LAYER, GROUP, INSTANCE, BATCH, REDUCE, ARG, TOPK, SCAN, BASES
};

static struct accel_device *dev;
static struct accel_ctx *ctx;

static struct accel_tensor tensor(uint32_t dtype, uint32_t rank, int64_t a, int64_t b,
				  int64_t c, int64_t d)
{
	const int64_t dims[] = { a, b, c, d };

	return accel_tensor_dense(NULL, dtype, rank, dims);
}

static void make_norm(struct accel_norm_desc *n, enum base base)
{
	static const uint32_t funcs[] = {
		[LAYER] = ACCEL_NORM_LAYER, [GROUP] = ACCEL_NORM_GROUP,
		[INSTANCE] = ACCEL_NORM_INSTANCE, [BATCH] = ACCEL_NORM_BATCH,
	};

	*n = (struct accel_norm_desc)ACCEL_NORM_DESC_INIT;
	n->func = funcs[base];
	n->groups = base == GROUP ? 2 : 0;
	n->a = tensor(ACCEL_F32, 4, 2, 6, 5, 4);
	n->d = n->a;
	n->scale = tensor(ACCEL_F32, 1, base == LAYER ? 4 : 6, 0, 0, 0);
	n->bias = n->scale;
	if (base == BATCH) {
		n->mean = n->scale;
		n->variance = n->scale;
	}
}

static void make(union desc *u, enum base base)
{
	memset(u, 0, sizeof(*u));
	switch (base) {
	case SOFTMAX:
		u->softmax = (struct accel_softmax_desc)ACCEL_SOFTMAX_DESC_INIT;
		u->softmax.a = tensor(ACCEL_F32, 2, 3, 8, 0, 0);
		u->softmax.d = u->softmax.a;
		break;
	case REDUCE:
	case ARG:
		u->reduce = (struct accel_reduce_desc)ACCEL_REDUCE_DESC_INIT;
		u->reduce.func = base == ARG ? ACCEL_REDUCE_ARG_MAX : ACCEL_REDUCE_SUM;
		u->reduce.axes = ACCEL_AXIS(1);
		u->reduce.a = tensor(ACCEL_F32, 3, 3, 8, 2, 0);
		u->reduce.d = tensor(base == ARG ? ACCEL_S32 : ACCEL_F32, 3, 3, 1, 2, 0);
		break;
	case TOPK:
		u->topk = (struct accel_topk_desc)ACCEL_TOPK_DESC_INIT;
		u->topk.a = tensor(ACCEL_F32, 2, 3, 8, 0, 0);
		u->topk.d = tensor(ACCEL_F32, 2, 3, 4, 0, 0);
		u->topk.indices = tensor(ACCEL_S32, 2, 3, 4, 0, 0);
		break;
	case SCAN:
		u->scan = (struct accel_scan_desc)ACCEL_SCAN_DESC_INIT;
		u->scan.a = tensor(ACCEL_F32, 2, 3, 8, 0, 0);
		u->scan.d = u->scan.a;
		break;
	default:
		make_norm(&u->norm, base);
		break;
	}
}

struct row {
	int line;
	enum base base;
	int code;
	const char *field;
	uint32_t offset;
	uint32_t size;
	uint64_t value;
};

#define BAD(base, type, path, f, v) \
	{ __LINE__, base, -EINVAL, path, offsetof(struct accel_##type##_desc, f), \
	  sizeof(((struct accel_##type##_desc *)0)->f), (uint64_t)(v) }
#define REFUSED(base, type, path, f, v) \
	{ __LINE__, base, -EOPNOTSUPP, path, offsetof(struct accel_##type##_desc, f), \
	  sizeof(((struct accel_##type##_desc *)0)->f), (uint64_t)(v) }

static const struct row rows[] = {
	BAD(SOFTMAX, softmax, "softmax.func", func, ACCEL_SOFTMAX_COUNT),
	BAD(SOFTMAX, softmax, "softmax.axis", axis, 2),
	BAD(SOFTMAX, softmax, "softmax.axis", axis, NEG(3)),
	BAD(SOFTMAX, softmax, "softmax.axis", axis, 0x80000000u),
	BAD(SOFTMAX, softmax, "softmax.d.dtype", d.dtype, ACCEL_S4),
	BAD(SOFTMAX, softmax, "softmax.d.dtype", d.dtype, 0),
	BAD(SOFTMAX, softmax, "softmax.d.rank", d.rank, 0),
	BAD(SOFTMAX, softmax, "softmax.a.rank", a.rank, 0),
	BAD(SOFTMAX, softmax, "softmax.a.dims[1]", a.dims[1], 7),
	BAD(SOFTMAX, softmax, "softmax.a.dynamic", a.dynamic, 32),
	REFUSED(SOFTMAX, softmax, "softmax.d.dtype", d.dtype, ACCEL_S32),
	BAD(LAYER, norm, "norm.func", func, ACCEL_NORM_COUNT),
	BAD(LAYER, norm, "norm.axes", axes, 16),
	BAD(LAYER, norm, "norm.groups", groups, 2),
	BAD(LAYER, norm, "norm.eps", eps, MINUS32),
	BAD(LAYER, norm, "norm.eps", eps, NAN32),
	BAD(LAYER, norm, "norm.eps", eps, INF32),
	BAD(LAYER, norm, "norm.flags", flags, 8),
	BAD(LAYER, norm, "norm.a.dims[2]", a.dims[2], 4),
	BAD(LAYER, norm, "norm.scale.dims[0]", scale.dims[0], 3),
	BAD(LAYER, norm, "norm.bias.dtype", bias.dtype, ACCEL_DTYPE_COUNT),
	BAD(LAYER, norm, "norm.mean.rank", mean.dtype, ACCEL_F32),
	BAD(LAYER, norm, "norm.epilogue.act", epilogue.act, ACCEL_ACT_COUNT),
	BAD(LAYER, norm, "norm.epilogue.p0", epilogue.p0, MINUS32),
	BAD(LAYER, norm, "norm.epilogue.scale.rank", epilogue.scale.rank, 1),
	BAD(LAYER, norm, "norm.epilogue.bias.rank", epilogue.bias.rank, 1),
	BAD(LAYER, norm, "norm.d.dtype", d.dtype, ACCEL_U4),
	BAD(GROUP, norm, "norm.axes", axes, 2),
	BAD(GROUP, norm, "norm.groups", groups, 0),
	BAD(GROUP, norm, "norm.groups", groups, 4),
	BAD(GROUP, norm, "norm.channel", channel, 4),
	BAD(GROUP, norm, "norm.channel", channel, NEG(5)),
	BAD(GROUP, norm, "norm.scale.dims[0]", scale.dims[0], 2),
	BAD(INSTANCE, norm, "norm.groups", groups, 6),
	BAD(INSTANCE, norm, "norm.bias.dims[0]", bias.dims[0], 5),
	BAD(INSTANCE, norm, "norm.variance.rank", variance.offset, 4),
	BAD(BATCH, norm, "norm.mean.dims[0]", mean.dims[0], 5),
	BAD(BATCH, norm, "norm.variance.dims[0]", variance.dims[0], 7),
	BAD(BATCH, norm, "norm.mean.dtype", mean.dtype, 0),
	BAD(REDUCE, reduce, "reduce.func", func, ACCEL_REDUCE_COUNT),
	BAD(REDUCE, reduce, "reduce.flags", flags, ACCEL_REDUCE_LAST_INDEX),
	BAD(REDUCE, reduce, "reduce.pad", pad, 1),
	BAD(REDUCE, reduce, "reduce.axes", axes, 8),
	BAD(REDUCE, reduce, "reduce.d.dims[2]", axes, 6),
	BAD(REDUCE, reduce, "reduce.d.dims[1]", d.dims[1], 8),
	BAD(REDUCE, reduce, "reduce.d.dims[0]", a.dims[0], 4),
	BAD(ARG, reduce, "reduce.flags", flags, 2),
	BAD(ARG, reduce, "reduce.d.dims[0]", axes, 3),
	BAD(ARG, reduce, "reduce.d.dtype", d.dtype, ACCEL_F32),
	BAD(ARG, reduce, "reduce.a.dims[1]", a.dims[1], 0),
	BAD(TOPK, topk, "topk.flags", flags, 2),
	BAD(TOPK, topk, "topk.axis", axis, 2),
	BAD(TOPK, topk, "topk.d.dims[1]", a.dims[1], 3),
	BAD(TOPK, topk, "topk.d.dims[0]", a.dims[0], 4),
	BAD(TOPK, topk, "topk.indices.dims[1]", indices.dims[1], 3),
	BAD(TOPK, topk, "topk.indices.dtype", indices.dtype, ACCEL_F32),
	BAD(TOPK, topk, "topk.indices.rank", indices.rank, 0),
	BAD(TOPK, topk, "topk.d.dtype", d.dtype, ACCEL_S4),
	BAD(SCAN, scan, "scan.flags", flags, 4),
	BAD(SCAN, scan, "scan.axis", axis, NEG(3)),
	BAD(SCAN, scan, "scan.d.dtype", d.dtype, ACCEL_U4),
	BAD(SCAN, scan, "scan.a.dims[0]", a.dims[0], 2),
	REFUSED(SCAN, scan, "scan.hdr.op", hdr.engine, ACCEL_ENGINE_NEURAL),
	REFUSED(REDUCE, reduce, "reduce.a.dtype", hdr.engine, ACCEL_ENGINE_NEURAL),
	REFUSED(SOFTMAX, softmax, "softmax.hdr.op", hdr.engine, ACCEL_ENGINE_MATRIX),
	REFUSED(TOPK, topk, "topk.hdr.op", hdr.engine, ACCEL_ENGINE_NEURAL),
};

static void test_rows(void **state)
{
	struct accel_plan *plan;
	struct accel_error e;
	union desc u;
	uint32_t i;
	int ret;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		make(&u, rows[i].base);
		memcpy((char *)&u + rows[i].offset, &rows[i].value, rows[i].size);
		plan = NULL;
		e = (struct accel_error)ACCEL_ERROR_INIT;
		ret = accel_plan_create(ctx, &u.hdr, &plan);
		accel_ctx_get_error(ctx, &e);
		if (ret != rows[i].code || plan || strcmp(e.field, rows[i].field) != 0 ||
		    !e.text[0])
			fail_msg("line %d: %d, %s: %s", rows[i].line, ret, e.field, e.text);
	}
	printf("# %zu rows\n", ARRAY_SIZE(rows));
}

static void test_right(void **state)
{
	struct accel_plan *plan;
	union desc u;
	uint32_t i;

	(void)state;
	for (i = 0; i < BASES; i++) {
		make(&u, (enum base)i);
		plan = NULL;
		assert_int_equal(accel_plan_create(ctx, &u.hdr, &plan), 0);
		assert_non_null(plan);
		accel_plan_unref(plan);
	}
}

static int setup(void **state)
{
	(void)state;
	return accel_device_open("sw:m3", NULL, &dev) || accel_ctx_create(dev, NULL, &ctx);
}

static int teardown(void **state)
{
	(void)state;
	accel_ctx_destroy(ctx);
	accel_device_unref(dev);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_right),
		cmocka_unit_test(test_rows),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("descriptors along dimensions", tests, setup,
					   teardown);
}

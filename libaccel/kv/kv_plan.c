// SPDX-License-Identifier: MIT
/*
 * Plans of the operations on the pages of a key-value cache. Those of the last
 * lengths of rows are kept.
 */
#include <errno.h>
#include <string.h>

#include "kv.h"

void kv_plans_free(struct accel_kv *kv)
{
	uint32_t i;

	for (i = 0; i < KV_PLANS; i++)
		accel_plan_unref(kv->plans[i].plan);
}

static struct accel_tensor rows_tensor(const struct accel_kv *kv, uint32_t dtype,
				       uint32_t rows, uint32_t width)
{
	const int64_t dims[3] = { rows, kv->o.kv_heads, width };

	return accel_tensor_dense(NULL, dtype, 3, dims);
}

static int plan_copy(struct accel_kv *kv, const struct kv_plan_key *key,
		     struct accel_plan **plan)
{
	struct accel_copy_desc c = ACCEL_COPY_DESC_INIT;
	uint32_t dtype = key->part >= KV_K_SCALES ? kv->o.scale_dtype : kv->o.dtype;
	uint64_t bytes = kv->row_bytes[key->part], es = accel_dtype_bits(dtype) / 8;
	const int64_t dims[3] = { kv->o.layers, key->rows, (int64_t)(bytes / es) };

	c.hdr.engine = kv->o.engine;
	c.a = accel_tensor_dense(NULL, dtype, 3, dims);
	c.a.flags = ACCEL_TENSOR_STRIDES;
	c.a.strides[2] = 1;
	c.a.strides[1] = dims[2];
	c.a.strides[0] = (int64_t)kv->o.pages * kv->o.page_size * dims[2];
	c.d = c.a;
	return accel_plan_create(kv->ctx, &c.hdr, plan);
}

static int plan_write(struct accel_kv *kv, const struct kv_plan_key *key,
		      struct accel_plan **plan)
{
	struct accel_copy_desc c = ACCEL_COPY_DESC_INIT;
	struct accel_tensor pool, v;

	c.hdr.engine = kv->o.engine;
	c.a = rows_tensor(kv, key->dtype, key->rows, kv_dim(kv, key->part));
	c.a.flags = ACCEL_TENSOR_STRIDES;
	memcpy(c.a.strides, key->strides, sizeof(key->strides));
	accel_kv_tensors(kv, 0, &pool, &v);
	if (key->part == KV_V)
		pool = v;
	c.d = rows_tensor(kv, kv->o.dtype, key->rows, kv_dim(kv, key->part));
	c.d.quant.scheme = pool.quant.scheme;
	c.d.quant.group = pool.quant.group;
	c.d.quant.scale_dtype = pool.quant.scale_dtype;
	c.d.quant.axis = pool.quant.scheme ? 2 : 0;
	return accel_plan_create(kv->ctx, &c.hdr, plan);
}

static int plan_abs(struct accel_kv *kv, const struct kv_plan_key *key,
		    struct accel_plan **plan)
{
	struct accel_unary_desc u = ACCEL_UNARY_DESC_INIT;

	u.hdr.engine = kv->o.engine;
	u.func = ACCEL_UNARY_ABS;
	u.a = rows_tensor(kv, key->dtype, key->rows, kv_dim(kv, key->part));
	u.a.flags = ACCEL_TENSOR_STRIDES;
	memcpy(u.a.strides, key->strides, sizeof(key->strides));
	u.d = rows_tensor(kv, ACCEL_F32, key->rows, kv_dim(kv, key->part));
	return accel_plan_create(kv->ctx, &u.hdr, plan);
}

static int plan_max(struct accel_kv *kv, const struct kv_plan_key *key,
		    struct accel_plan **plan)
{
	struct accel_reduce_desc r = ACCEL_REDUCE_DESC_INIT;

	r.hdr.engine = kv->o.engine;
	r.func = ACCEL_REDUCE_MAX;
	r.axes = ACCEL_AXIS(2);
	r.a = rows_tensor(kv, ACCEL_F32, key->rows, kv_dim(kv, key->part));
	r.d = rows_tensor(kv, ACCEL_F32, key->rows, 1);
	return accel_plan_create(kv->ctx, &r.hdr, plan);
}

static int plan_scale(struct accel_kv *kv, const struct kv_plan_key *key,
		      struct accel_plan **plan)
{
	struct accel_binary_desc b = ACCEL_BINARY_DESC_INIT;
	const int64_t one = 1;

	b.hdr.engine = kv->o.engine;
	b.func = ACCEL_BINARY_DIV;
	b.a = rows_tensor(kv, ACCEL_F32, key->rows, 1);
	b.b = accel_tensor_dense(NULL, ACCEL_F32, 1, &one);
	b.d = rows_tensor(kv, kv->o.scale_dtype, key->rows, 1);
	return accel_plan_create(kv->ctx, &b.hdr, plan);
}

static int make_plan(struct accel_kv *kv, const struct kv_plan_key *key,
		     struct accel_plan **plan)
{
	switch (key->kind) {
	case KV_PLAN_COPY:
		return plan_copy(kv, key, plan);
	case KV_PLAN_WRITE:
		return plan_write(kv, key, plan);
	case KV_PLAN_ABS:
		return plan_abs(kv, key, plan);
	case KV_PLAN_MAX:
		return plan_max(kv, key, plan);
	default:
		return plan_scale(kv, key, plan);
	}
}

/* A plan that was made before, or now in the place of the one not used longest. */
int kv_plan(struct accel_kv *kv, const struct kv_plan_key *key, struct accel_plan **plan)
{
	struct kv_plan *p = kv->plans;
	uint32_t i;
	int ret;

	for (i = 0; i < KV_PLANS; i++) {
		if (kv->plans[i].plan && !memcmp(&kv->plans[i].key, key, sizeof(*key))) {
			p = &kv->plans[i];
			break;
		}
		if (kv->plans[i].used < p->used)
			p = &kv->plans[i];
	}
	if (i == KV_PLANS) {
		ret = make_plan(kv, key, plan);
		if (ret)
			return ret;
		accel_plan_unref(p->plan);
		p->plan = *plan;
		p->key = *key;
	}
	p->used = ++kv->plan_clock;
	*plan = p->plan;
	return 0;
}

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
	struct accel_kv_write_desc w = ACCEL_KV_WRITE_DESC_INIT;
	const int64_t rows = key->rows, table[4] = {
		kv->o.pages, kv->o.page_size, kv->o.kv_heads, 1
	};
	struct accel_tensor k, v;

	w.hdr.engine = kv->o.engine;
	w.a = rows_tensor(kv, key->dtype, key->rows, kv_dim(kv, key->part));
	w.a.flags = ACCEL_TENSOR_STRIDES;
	memcpy(w.a.strides, key->strides, sizeof(key->strides));
	w.slots = accel_tensor_dense(NULL, ACCEL_S32, 1, &rows);
	accel_kv_tensors(kv, 0, &k, &v);
	w.d = key->part == KV_K ? k : v;
	w.d.bo = NULL;
	w.d.offset = 0;
	memset(&w.d.quant, 0, sizeof(w.d.quant));
	if (kv_quantised(kv))
		w.scales = accel_tensor_dense(NULL, kv->o.scale_dtype, 4, table);
	return accel_plan_create(kv->ctx, &w.hdr, plan);
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
		ret = key->kind == KV_PLAN_COPY ? plan_copy(kv, key, plan) :
						  plan_write(kv, key, plan);
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

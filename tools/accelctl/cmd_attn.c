// SPDX-License-Identifier: MIT
/*
 * run attention, explain attention
 */
#include <errno.h>
#include <json-c/json.h>
#include <math.h>

#include "attn.h"
#include "explain.h"
#include "runjob.h"

struct run {
	struct ctl *ctl;
	struct attn a;
	struct runjob job;
	struct attn_verdict check;
};

static int save(struct run *r)
{
	static const char *const descr[ACCEL_DTYPE_COUNT] = {
		[ACCEL_F32] = "<f4", [ACCEL_F16] = "<f2", [ACCEL_BF16] = "<V2",
	};
	const struct attn_tensor *d = &r->a.t[ATTN_D];
	uint64_t dims[4];
	uint32_t i;
	int ret;

	for (i = 0; i < 4; i++)
		dims[i] = (uint64_t)d->dims[i];
	ret = npy_save(r->a.opts->out, descr[d->dtype], accel_dtype_bits(d->dtype) / 8, 4, dims,
		       accel_bo_ptr(d->bo));
	if (ret)
		return ctl_fail(r->ctl, ret == -EACCES ? CTL_PERMISSION : CTL_FAILED, ret, "--out",
				"%s: cannot write", r->a.opts->out);
	return CTL_OK;
}

/* Counts all keys for every query, also masked ones */
static double gflops(const struct run *r)
{
	const struct attn *a = &r->a;
	double flops = 2.0 * (double)a->batch * (double)a->heads * (double)a->queries *
		       (double)a->keys * (double)(a->dim + a->v_dim);

	return r->job.median_s > 0 ? flops / r->job.median_s / 1e9 : 0;
}

/* A number that was not given is null */
static void json_given(struct json_object *doc, const char *key, bool given, uint64_t value)
{
	if (given)
		ctl_json_uint(doc, key, value);
	else
		ctl_json_str(doc, key, NULL);
}

/* Describes the attention, for run and explain */
static void json_attn(struct json_object *doc, const void *data)
{
	const struct attn *a = data;
	const struct attn_opts *o = a->opts;
	bool window = o->window != ATTN_NO_WINDOW;

	ctl_json_str(doc, "dtype", attn_dtype_names[o->dtype]);
	ctl_json_str(doc, "kv_dtype",
		     attn_kv_names[o->kv_dtype == ATTN_UNSET ? o->dtype : o->kv_dtype]);
	ctl_json_str(doc, "out_dtype", accel_dtype_name(a->t[ATTN_D].dtype));
	ctl_json_int(doc, "batch", a->batch);
	ctl_json_int(doc, "queries", a->queries);
	ctl_json_int(doc, "keys", a->keys);
	ctl_json_int(doc, "heads", a->heads);
	ctl_json_int(doc, "kv_heads", a->kv_heads);
	ctl_json_int(doc, "dim", a->dim);
	ctl_json_int(doc, "v_dim", a->v_dim);
	ctl_json_bool(doc, "causal", o->causal);
	json_given(doc, "window", window, o->window);
	json_given(doc, "keep", window, o->keep);
	ctl_json_real(doc, "scale", isnan(o->scale) ? 1 / sqrt((double)a->dim) : o->scale);
	ctl_json_real(doc, "softcap", o->softcap);
	ctl_json_bool(doc, "alibi", o->alibi);
	ctl_json_bool(doc, "sinks", o->sinks);
	ctl_json_str(doc, "mask", o->mask);
	json_given(doc, "page_size", a->pages, o->page_size);
	json_given(doc, "pieces", o->pieces, o->pieces);
}

static void show_json(struct run *r)
{
	const struct attn_opts *o = r->a.opts;
	struct json_object *doc = ctl_schema(r->ctl);

	ctl_json_bool(doc, "ok", r->check.ratio <= 1);
	runjob_json(&r->job, doc);
	json_attn(doc, &r->a);
	ctl_json_uint(doc, "seed", o->seed);
	ctl_json_real(doc, "gflops", gflops(r));
	ctl_json_bool(doc, "checked", o->check);
	if (o->check) {
		ctl_json_real(doc, "max_abs_error", r->check.max_abs);
		ctl_json_real(doc, "error_to_bound", r->check.ratio);
		ctl_json_uint(doc, "differing", r->check.differing);
	}
	ctl_json_str(doc, "out", o->out);
	ctl_json_print(r->ctl, doc);
}

static void show_text(struct run *r)
{
	const struct attn *a = &r->a;
	const struct attn_opts *o = a->opts;
	bool ok = r->check.ratio <= 1;
	char time[16], best[16];

	printf("%sattention, batch %lld, %lld queries, %lld keys, heads %lld and %lld of %lld%s, %s, keys and values %s, on %s (%s), engine %s, %s\n",
	       ctl_tone(r->ctl, CTL_HEAD), (long long)a->batch, (long long)a->queries,
	       (long long)a->keys, (long long)a->heads, (long long)a->kv_heads, (long long)a->dim,
	       ctl_tone(r->ctl, CTL_PLAIN), attn_dtype_names[o->dtype],
	       attn_kv_names[o->kv_dtype == ATTN_UNSET ? o->dtype : o->kv_dtype],
	       r->job.device.name, r->job.device.profile, accel_engine_name(r->job.info.engine),
	       r->job.algorithm);
	printf("  %-10s%s (median of %llu, best %s)\n", "time", ctl_time(time, r->job.median_s),
	       (unsigned long long)r->job.repeats, ctl_time(best, r->job.min_s));
	printf("  %-10s%.2f GFLOP/s\n", "rate", gflops(r));
	if (o->check)
		printf("  %-10s%s%s%s: absolute error to %.3g, %.3g of the bound\n", "check",
		       ctl_tone(r->ctl, ok ? CTL_GOOD : CTL_BAD), ok ? "ok" : "WRONG",
		       ctl_tone(r->ctl, CTL_PLAIN), r->check.max_abs, r->check.ratio);
}

/* Buffers with their contents, handed over to the device */
static int allocate(struct run *r)
{
	int ret, i;

	for (i = 0; i < ATTN_PARTS; i++) {
		struct attn_tensor *t = &r->a.t[i];

		if (!t->dtype)
			continue;
		ret = runjob_buffer(&r->job, attn_label((enum attn_part)i), t->bytes, &t->bo);
		if (ret)
			return ret;
	}
	attn_fill(&r->a);
	for (i = 0; i < ATTN_PARTS; i++) {
		struct attn_tensor *t = &r->a.t[i];

		ret = t->dtype ? accel_bo_cpu_end(t->bo, 0, t->bytes, ACCEL_CPU_WRITE) : 0;
		if (ret)
			return ctl_fail(r->ctl, ctl_status(ret), ret, NULL,
					"cannot hand a buffer over");
	}
	attn_describe(&r->a);
	return CTL_OK;
}

int cmd_run_attention(struct ctl *ctl, void *data, const char *operand)
{
	const struct attn_opts *o = data;
	struct run r = { .ctl = ctl };
	struct accel_binding bindings[ATTN_PARTS];
	struct attn_tensor *d = &r.a.t[ATTN_D];
	uint32_t count;
	int ret;

	(void)operand;
	ret = attn_init(ctl, o, &r.a);
	if (!ret)
		ret = runjob_open(ctl, (uint32_t)o->threads, &r.job);
	if (!ret)
		ret = allocate(&r);
	if (ret)
		goto out;
	count = attn_bind(&r.a, bindings);
	ret = runjob_measure(&r.job, &r.a.desc.hdr, bindings, count, o->repeat,
			     (uint32_t)o->timeout_ms);
	if (!ret)
		ret = runjob_read(&r.job, d->bo, d->bytes);
	if (ret)
		goto out;
	if (o->out)
		ret = save(&r);
	if (!ret && o->check) {
		ret = attn_check(&r.a, &r.check);
		if (ret == -EINTR)
			ret = ctl_fail(ctl, CTL_INTERRUPTED, ret, NULL, "interrupted");
		else if (ret)
			ret = ctl_fail(ctl, ctl_status(ret), ret, "--check",
				       "cannot compute the reference");
	}
	accel_bo_cpu_end(d->bo, 0, d->bytes, ACCEL_CPU_READ);
	if (ret)
		goto out;
	if (ctl->json)
		show_json(&r);
	else
		show_text(&r);
	if (r.check.ratio > 1)
		ret = runjob_wrong(&r.job, r.check.got, r.check.want);
out:
	attn_fini(&r.a);
	runjob_close(&r.job);
	return ret;
}

int cmd_explain_attention(struct ctl *ctl, void *data, const char *operand)
{
	const struct attn_opts *o = data;
	struct run r = { .ctl = ctl };
	int ret;

	(void)operand;
	ret = attn_init(ctl, o, &r.a);
	if (!ret)
		ret = runjob_open(ctl, 0, &r.job);
	if (!ret)
		ret = explain_show(ctl, &(struct explain){
			.ctx = r.job.ctx, .device = &r.job.device, .desc = &r.a.desc.hdr,
			.plan = &r.a.desc.hdr, .describe = json_attn, .data = &r.a,
		});
	attn_fini(&r.a);
	runjob_close(&r.job);
	return ret;
}

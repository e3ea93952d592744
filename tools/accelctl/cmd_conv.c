// SPDX-License-Identifier: MIT
/*
 * run conv, explain conv
 */
#include <errno.h>
#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "conv.h"
#include "explain.h"
#include "gemm.h"
#include "runjob.h"

struct run {
	struct ctl *ctl;
	struct conv c;
	struct runjob job;
	struct conv_verdict check;
};

static bool is_png(const char *path)
{
	size_t len = strlen(path);

	return len > 4 && !strcmp(path + len - 4, ".png");
}

/* Bytes of a picture from the result, rounded and saturated */
static int save_picture(struct run *r)
{
	const struct conv_tensor *d = &r->c.d;
	struct picture p = {
		.width = (uint32_t)d->dims[3],
		.height = (uint32_t)d->dims[2],
		.channels = (uint32_t)d->dims[1],
	};
	char error[NPY_ERROR];
	int64_t c, y, x;
	double v;
	int ret;

	if (d->dims[0] != 1 || (p.channels != 1 && p.channels != 3))
		return ctl_fail(r->ctl, CTL_USAGE, 0, "--out",
				"a picture has 1 or 3 channels, the result has %lld",
				(long long)d->dims[1]);
	p.data = ctl_alloc((size_t)p.width * p.height, p.channels);
	for (y = 0; y < d->dims[2]; y++)
		for (x = 0; x < d->dims[3]; x++)
			for (c = 0; c < d->dims[1]; c++) {
				v = value_get(d->dtype, accel_bo_ptr(d->bo),
					      conv_at(d, 0, c, y, x));
				p.data[((uint64_t)y * p.width + (uint64_t)x) * p.channels +
				       (uint64_t)c] = (unsigned char)value_round(ACCEL_U8, v);
			}
	ret = picture_save(r->c.opts->out, &p, error, sizeof(error));
	picture_free(&p);
	if (ret)
		return ctl_fail(r->ctl, CTL_FAILED, ret, "--out", "%s: %s", r->c.opts->out, error);
	return CTL_OK;
}

/* An array in the order of the memory: of a picture the channels are last */
static int save(struct run *r)
{
	static const char *const descr[ACCEL_DTYPE_COUNT] = {
		[ACCEL_F32] = "<f4", [ACCEL_F16] = "<f2", [ACCEL_BF16] = "<V2",
		[ACCEL_S32] = "<i4", [ACCEL_U8] = "|u1",
	};
	const struct conv_tensor *d = &r->c.d;
	const uint64_t nchw[] = {
		(uint64_t)d->dims[0], (uint64_t)d->dims[1], (uint64_t)d->dims[2],
		(uint64_t)d->dims[3]
	};
	const uint64_t nhwc[] = { nchw[0], nchw[2], nchw[3], nchw[1] };
	int ret;

	if (is_png(r->c.opts->out))
		return save_picture(r);
	ret = npy_save(r->c.opts->out, descr[d->dtype], accel_dtype_bits(d->dtype) / 8, 4,
		       d->last ? nhwc : nchw, accel_bo_ptr(d->bo));
	if (ret)
		return ctl_fail(r->ctl, ret == -EACCES ? CTL_PERMISSION : CTL_FAILED, ret, "--out",
				"%s: cannot write", r->c.opts->out);
	return CTL_OK;
}

static double gflops(const struct run *r)
{
	const int64_t *d = r->c.d.dims, *b = r->c.b.dims;
	double flops = 2.0 * (double)(d[0] * d[1] * d[2] * d[3]) * (double)(b[1] * b[2] * b[3]);

	return r->job.median_s > 0 ? flops / r->job.median_s / 1e9 : 0;
}

static void json_dims(struct json_object *doc, const char *key, const int64_t *dims)
{
	struct json_object *list = ctl_json_arr(doc, key);
	int i;

	for (i = 0; i < 4; i++)
		ctl_json_int(list, NULL, dims[i]);
}

/* Describes the convolution, for run and explain */
static void json_conv(struct json_object *doc, const void *data)
{
	const struct conv *c = data;
	const struct conv_opts *o = c->opts;

	ctl_json_str(doc, "dtype", conv_kind_names[o->dtype]);
	ctl_json_str(doc, "a_dtype", accel_dtype_name(c->a.dtype));
	ctl_json_str(doc, "b_dtype", accel_dtype_name(c->b.dtype));
	ctl_json_str(doc, "out_dtype", accel_dtype_name(c->d.dtype));
	json_dims(doc, "a", c->a.dims);
	json_dims(doc, "b", c->b.dims);
	json_dims(doc, "d", c->d.dims);
	ctl_json_uint(doc, "groups", c->desc.groups);
	ctl_json_uint(doc, "stride", o->stride);
	ctl_json_uint(doc, "dilation", o->dilation);
	ctl_json_uint(doc, "pad", o->pad);
	ctl_json_str(doc, "filter", o->filter ? conv_filter_names[o->filter] : NULL);
}

static void show_json(struct run *r)
{
	const struct conv_opts *o = r->c.opts;
	struct json_object *doc = ctl_schema(r->ctl);

	ctl_json_bool(doc, "ok", r->check.ratio <= 1);
	runjob_json(&r->job, doc);
	json_conv(doc, &r->c);
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
	const int64_t *a = r->c.a.dims, *b = r->c.b.dims, *d = r->c.d.dims;
	bool ok = r->check.ratio <= 1;
	char time[16], best[16];

	printf("%sconv %lldx%lldx%lldx%lld * %lldx%lldx%lldx%lld -> %lldx%lldx%lldx%lld%s, %s -> %s, on %s (%s), engine %s, %s\n",
	       ctl_tone(r->ctl, CTL_HEAD), (long long)a[0], (long long)a[1], (long long)a[2],
	       (long long)a[3], (long long)b[0], (long long)b[1], (long long)b[2], (long long)b[3],
	       (long long)d[0], (long long)d[1], (long long)d[2], (long long)d[3],
	       ctl_tone(r->ctl, CTL_PLAIN), conv_kind_names[r->c.opts->dtype],
	       accel_dtype_name(r->c.d.dtype), r->job.device.name, r->job.device.profile,
	       accel_engine_name(r->job.info.engine), r->job.algorithm);
	printf("  %-10s%s (median of %llu, best %s)\n", "time", ctl_time(time, r->job.median_s),
	       (unsigned long long)r->job.repeats, ctl_time(best, r->job.min_s));
	printf("  %-10s%.2f GFLOP/s\n", "rate", gflops(r));
	if (r->c.opts->check)
		printf("  %-10s%s%s%s: absolute error to %.3g, %.3g of the bound\n", "check",
		       ctl_tone(r->ctl, ok ? CTL_GOOD : CTL_BAD), ok ? "ok" : "WRONG",
		       ctl_tone(r->ctl, CTL_PLAIN), r->check.max_abs, r->check.ratio);
}

/* Buffers with their contents, handed over to the device */
static int allocate(struct run *r)
{
	struct conv_tensor *const t[] = { &r->c.a, &r->c.b, &r->c.d };
	static const char *const labels[] = { "A", "B", "D" };
	int i, ret;

	for (i = 0; i < 3; i++) {
		ret = runjob_buffer(&r->job, labels[i], t[i]->bytes, &t[i]->bo);
		if (ret)
			return ret;
	}
	conv_fill(&r->c);
	for (i = 0; i < 3; i++) {
		ret = accel_bo_cpu_end(t[i]->bo, 0, t[i]->bytes, ACCEL_CPU_WRITE);
		if (ret)
			return ctl_fail(r->ctl, ctl_status(ret), ret, NULL,
					"cannot hand a buffer over");
	}
	conv_describe(&r->c);
	return CTL_OK;
}

int cmd_run_conv(struct ctl *ctl, void *data, const char *operand)
{
	const struct conv_opts *o = data;
	struct run r = { .ctl = ctl };
	struct accel_binding bindings[3];
	int ret;

	(void)operand;
	ret = conv_init(ctl, o, &r.c);
	if (!ret)
		ret = runjob_open(ctl, (uint32_t)o->threads, &r.job);
	if (!ret)
		ret = allocate(&r);
	if (ret)
		goto out;
	bindings[0] = (struct accel_binding){ ACCEL_ARG_D, 0, r.c.d.bo, 0 };
	bindings[1] = (struct accel_binding){ ACCEL_ARG_A, 0, r.c.a.bo, 0 };
	bindings[2] = (struct accel_binding){ ACCEL_ARG_B, 0, r.c.b.bo, 0 };
	ret = runjob_measure(&r.job, &r.c.desc.hdr, bindings, 3, o->repeat,
			     (uint32_t)o->timeout_ms);
	if (!ret)
		ret = runjob_read(&r.job, r.c.d.bo, r.c.d.bytes);
	if (ret)
		goto out;
	if (o->out)
		ret = save(&r);
	if (!ret && o->check && conv_check(&r.c, &r.check))
		ret = ctl_fail(ctl, CTL_INTERRUPTED, -EINTR, NULL, "interrupted");
	accel_bo_cpu_end(r.c.d.bo, 0, r.c.d.bytes, ACCEL_CPU_READ);
	if (ret)
		goto out;
	if (ctl->json)
		show_json(&r);
	else
		show_text(&r);
	if (r.check.ratio > 1)
		ret = runjob_wrong(&r.job, r.check.got, r.check.want);
out:
	conv_fini(&r.c);
	runjob_close(&r.job);
	return ret;
}

int cmd_explain_conv(struct ctl *ctl, void *data, const char *operand)
{
	const struct conv_opts *o = data;
	struct run r = { .ctl = ctl };
	int ret;

	(void)operand;
	ret = conv_init(ctl, o, &r.c);
	if (!ret)
		ret = runjob_open(ctl, 0, &r.job);
	if (!ret) {
		conv_describe(&r.c);
		ret = explain_show(ctl, &(struct explain){
			.ctx = r.job.ctx, .device = &r.job.device, .desc = &r.c.desc.hdr,
			.plan = &r.c.desc.hdr, .describe = json_conv, .data = &r.c,
		});
	}
	conv_fini(&r.c);
	runjob_close(&r.job);
	return ret;
}

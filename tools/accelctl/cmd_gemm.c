// SPDX-License-Identifier: MIT
/*
 * run gemm, explain gemm
 */
#include <errno.h>
#include <json-c/json.h>

#include "explain.h"
#include "gemm.h"
#include "runjob.h"

struct run {
	struct ctl *ctl;
	struct gemm g;
	struct runjob job;
	struct gemm_verdict check;
	struct gemm_verdict compare;
};

static uint32_t bind_buffers(const struct gemm *g, struct accel_binding *bindings)
{
	uint32_t count = 0;

	bindings[count++] = (struct accel_binding){ ACCEL_ARG_D, 0, g->d.bo, 0 };
	bindings[count++] = (struct accel_binding){ ACCEL_ARG_A, 0, g->a.bo, 0 };
	/* Packed weights are in the plan, and so are their scales */
	if (!g->opts->pack)
		bindings[count++] = (struct accel_binding){ ACCEL_ARG_B, 0, g->b.bo, 0 };
	if (!g->opts->pack && g->scales.dtype)
		bindings[count++] = (struct accel_binding){ ACCEL_ARG_B | ACCEL_ARG_SCALES, 0,
							    g->scales.bo, 0 };
	if (g->c.dtype)
		bindings[count++] = (struct accel_binding){ ACCEL_ARG_C, 0, g->c.bo, 0 };
	if (g->bias.dtype)
		bindings[count++] = (struct accel_binding){ ACCEL_ARG_BIAS, 0, g->bias.bo, 0 };
	return count;
}

/* --- the result --- */

static int save(struct run *r)
{
	static const char *const descr[ACCEL_DTYPE_COUNT] = {
		[ACCEL_F32] = "<f4",
		[ACCEL_F16] = "<f2",
		[ACCEL_BF16] = "<V2",
		[ACCEL_S32] = "<i4",
	};
	const struct gemm *g = &r->g;
	const uint64_t dims[3] = { (uint64_t)g->batch, (uint64_t)g->m, (uint64_t)g->n };
	int ret;

	ret = npy_save(g->opts->out, descr[g->d.dtype], accel_dtype_bits(g->d.dtype) / 8, g->rank,
		       dims + 3 - g->rank, g->d.ptr);
	if (ret)
		return ctl_fail(r->ctl, ret == -EACCES ? CTL_PERMISSION : CTL_FAILED, ret, "--out",
				"%s: cannot write", g->opts->out);
	return CTL_OK;
}

static int compare(struct run *r)
{
	const struct gemm *g = &r->g;
	const char *path = g->opts->compare;
	char error[NPY_ERROR], type[8];
	struct npy other;
	int ret;

	ret = npy_load(path, &other, error);
	if (ret)
		return ctl_fail(r->ctl, ret == -EACCES ? CTL_PERMISSION : CTL_FAILED, ret,
				"--compare", "%s: %s", path, error);
	if (other.rank != g->rank || other.dims[g->rank - 1] != (uint64_t)g->n ||
	    other.dims[g->rank - 2] != (uint64_t)g->m ||
	    (g->rank == 3 && other.dims[0] != (uint64_t)g->batch))
		ret = ctl_fail(r->ctl, CTL_USAGE, 0, "--compare",
			       "%s: its dimensions are not those of the result", path);
	else if ((g->d.dtype == ACCEL_S32) != (other.kind == 'i'))
		ret = ctl_fail(r->ctl, CTL_USAGE, 0, "--compare", "%s: type %s, the result is %s",
			       path, npy_type(&other, type), accel_dtype_name(g->d.dtype));
	else
		ret = gemm_compare(g, &other, &r->compare);
	npy_free(&other);
	if (ret < 0)
		ret = ctl_fail(r->ctl, ctl_status(ret), ret, "--compare", "cannot compare");
	return ret;
}

/* Checks that were not made have nothing against it */
static bool is_right(const struct run *r)
{
	return r->check.ratio <= 1 && r->compare.ratio <= 1;
}

static double gflops(const struct run *r)
{
	const struct gemm *g = &r->g;
	double flops = 2.0 * (double)g->batch * (double)g->m * (double)g->n * (double)g->k;

	return r->job.median_s > 0 ? flops / r->job.median_s / 1e9 : 0;
}

static void json_verdict(struct json_object *doc, const struct gemm_verdict *v)
{
	struct json_object *worst;

	ctl_json_real(doc, "max_abs_error", v->max_abs);
	ctl_json_real(doc, "max_rel_error", v->max_rel);
	ctl_json_real(doc, "bound", v->bound);
	ctl_json_real(doc, "error_to_bound", v->ratio);
	ctl_json_uint(doc, "differing", v->differing);
	if (v->ratio > 0) {
		worst = ctl_json_obj(doc, "worst");
		ctl_json_int(worst, "batch", v->batch);
		ctl_json_int(worst, "row", v->row);
		ctl_json_int(worst, "column", v->col);
		ctl_json_real(worst, "got", v->got);
		ctl_json_real(worst, "want", v->want);
	}
}

static void json_gemm(struct json_object *doc, const struct gemm *g)
{
	const struct gemm_opts *o = g->opts;

	ctl_json_str(doc, "dtype", gemm_kind_names[g->kind]);
	ctl_json_str(doc, "a_dtype", accel_dtype_name(g->a.dtype));
	ctl_json_str(doc, "b_dtype", accel_dtype_name(g->b.dtype));
	ctl_json_str(doc, "out_dtype", accel_dtype_name(g->d.dtype));
	ctl_json_int(doc, "m", g->m);
	ctl_json_int(doc, "n", g->n);
	ctl_json_int(doc, "k", g->k);
	ctl_json_int(doc, "batch", g->batch);
	ctl_json_bool(doc, "trans_a", o->trans_a);
	ctl_json_bool(doc, "trans_b", o->trans_b);
	ctl_json_real(doc, "alpha", g->alpha);
	ctl_json_real(doc, "beta", g->beta);
	ctl_json_bool(doc, "bias", o->bias);
	ctl_json_str(doc, "act", ctl_act_names[o->act]);
	if (g->group)
		ctl_json_uint(doc, "group", g->group);
	ctl_json_bool(doc, "pack", o->pack);
}

static void show_json(struct run *r)
{
	const struct gemm_opts *o = r->g.opts;
	struct json_object *doc = ctl_schema(r->ctl);

	ctl_json_bool(doc, "ok", is_right(r));
	json_gemm(doc, &r->g);
	ctl_json_uint(doc, "seed", o->seed);
	runjob_json(&r->job, doc);
	ctl_json_real(doc, "gflops", gflops(r));
	ctl_json_bool(doc, "checked", o->check);
	if (o->check) {
		json_verdict(doc, &r->check);
	} else {
		ctl_json_str(doc, "max_abs_error", NULL);
		ctl_json_str(doc, "max_rel_error", NULL);
		ctl_json_str(doc, "bound", NULL);
	}
	if (o->compare)
		json_verdict(ctl_json_obj(doc, "compare"), &r->compare);
	ctl_json_str(doc, "out", o->out);
	ctl_json_print(r->ctl, doc);
}

static void text_verdict(const struct run *r, const char *what, const struct gemm_verdict *v)
{
	bool ok = v->ratio <= 1;

	printf("  %-10s%s%s%s: relative error to %.3g, bound %.3g; absolute to %.3g", what,
	       ctl_tone(r->ctl, ok ? CTL_GOOD : CTL_BAD), ok ? "ok" : "WRONG",
	       ctl_tone(r->ctl, CTL_PLAIN), v->max_rel, v->bound, v->max_abs);
	if (!ok)
		printf("\n            worst at [%lld, %lld, %lld]: %.9g, should be %.9g",
		       (long long)v->batch, (long long)v->row, (long long)v->col, v->got, v->want);
	putchar('\n');
}

static void show_shape(const struct gemm *g, char *buf, size_t size)
{
	size_t len = 0;

	if (g->rank == 3)
		len = (size_t)snprintf(buf, size, "%lldx ", (long long)g->batch);
	snprintf(buf + len, size - len, "%lldx%lldx%lld", (long long)g->m, (long long)g->n,
		 (long long)g->k);
}

static void show_text(struct run *r)
{
	const struct gemm *g = &r->g;
	char shape[96], time[16], best[16];

	show_shape(g, shape, sizeof(shape));
	if (g->opts->brief) {
		ctl_time(time, r->job.median_s);
		printf("%-20s %-5s %-7s %9s %9.2f", shape, gemm_kind_names[g->kind],
		       accel_engine_name(r->job.info.engine), time, gflops(r));
		if (g->opts->check)
			printf(" %10.2e %10.2e %s\n", r->check.max_rel, r->check.bound,
			       is_right(r) ? "ok" : "WRONG");
		else
			printf(" %10s %10s %s\n", "-", "-", is_right(r) ? "-" : "WRONG");
		return;
	}
	printf("%sgemm %s%s, %s -> %s, on %s (%s), engine %s, %s\n", ctl_tone(r->ctl, CTL_HEAD),
	       shape, ctl_tone(r->ctl, CTL_PLAIN), gemm_kind_names[g->kind],
	       accel_dtype_name(g->d.dtype), r->job.device.name, r->job.device.profile,
	       accel_engine_name(r->job.info.engine), r->job.algorithm);
	printf("  %-10s%s (median of %llu, best %s)\n", "time", ctl_time(time, r->job.median_s),
	       (unsigned long long)r->job.repeats, ctl_time(best, r->job.min_s));
	printf("  %-10s%.2f GFLOP/s\n", "rate", gflops(r));
	if (g->opts->check)
		text_verdict(r, "check", &r->check);
	if (g->opts->compare)
		text_verdict(r, "compare", &r->compare);
}

int cmd_run_gemm(struct ctl *ctl, void *data, const char *operand)
{
	const struct gemm_opts *o = data;
	struct accel_binding bindings[6];
	struct run r = { .ctl = ctl };
	int ret;

	(void)operand;
	ret = gemm_init(ctl, o, &r.g);
	if (!ret)
		ret = runjob_open(ctl, (uint32_t)o->threads, &r.job);
	if (!ret)
		ret = gemm_fill(ctl, r.job.ctx, &r.g);
	if (!ret)
		ret = runjob_measure(&r.job, &r.g.desc.hdr, bindings, bind_buffers(&r.g, bindings),
				     o->repeat, (uint32_t)o->timeout_ms);
	if (!ret)
		ret = runjob_read(&r.job, r.g.d.bo, r.g.d.bytes);
	if (ret)
		goto out;
	if (o->out)
		ret = save(&r);
	if (!ret && o->check) {
		ret = gemm_check(&r.g, &r.check);
		if (ret)
			ret = ctl_fail(ctl, ctl_status(ret), ret, "--check",
				       "cannot compute the reference");
	}
	if (!ret && o->compare)
		ret = compare(&r);
	accel_bo_cpu_end(r.g.d.bo, 0, r.g.d.bytes, ACCEL_CPU_READ);
	if (ret)
		goto out;
	if (ctl->json)
		show_json(&r);
	else
		show_text(&r);
	if (!is_right(&r))
		ret = ctl_fail(ctl, CTL_MISMATCH, 0, r.check.ratio > 1 ? "--check" : "--compare",
			       "the result is wrong: error %.3g times the bound",
			       r.check.ratio > 1 ? r.check.ratio : r.compare.ratio);
out:
	gemm_fini(&r.g);
	runjob_close(&r.job);
	return ret;
}

/* --- explaining --- */

static void describe(struct json_object *doc, const void *data)
{
	json_gemm(doc, data);
}

int cmd_explain_gemm(struct ctl *ctl, void *data, const char *operand)
{
	const struct gemm_opts *o = data;
	struct run r = { .ctl = ctl };
	struct accel_gemm_desc plan;
	int ret;

	(void)operand;
	ret = gemm_init(ctl, o, &r.g);
	if (!ret)
		ret = runjob_open(ctl, 0, &r.job);
	if (!ret) {
		/* Packing needs weights, which are not available here */
		plan = r.g.desc;
		plan.flags &= ~ACCEL_GEMM_PACK_B;
		ret = explain_show(ctl, &(struct explain){
			.ctx = r.job.ctx, .device = &r.job.device, .desc = &r.g.desc.hdr,
			.plan = &plan.hdr, .describe = describe, .data = &r.g,
		});
	}
	gemm_fini(&r.g);
	runjob_close(&r.job);
	return ret;
}

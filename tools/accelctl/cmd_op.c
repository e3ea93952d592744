// SPDX-License-Identifier: MIT
/*
 * run op, explain op
 */
#include <errno.h>
#include <json-c/json.h>
#include <string.h>

#include "explain.h"
#include "interrupt.h"
#include "op_check.h"
#include "runjob.h"

struct run {
	struct ctl *ctl;
	struct op op;
	struct runjob job;
	struct op_verdict check;
};

static bool is_right(const struct run *r)
{
	return r->check.ratio <= 1;
}

/* --- results --- */

static int save(struct run *r, const struct op_tensor *t, const char *path)
{
	static const char *const descr[ACCEL_DTYPE_COUNT] = {
		[ACCEL_F32] = "<f4", [ACCEL_F16] = "<f2", [ACCEL_BF16] = "<V2",
		[ACCEL_S32] = "<i4", [ACCEL_S8] = "|i1", [ACCEL_U8] = "|u1",
	};
	uint64_t dims[ACCEL_MAX_RANK];
	uint32_t i;
	int ret;

	for (i = 0; i < t->t->rank; i++)
		dims[i] = (uint64_t)t->t->dims[i];
	ret = npy_save(path, descr[t->t->dtype], accel_dtype_bits(t->t->dtype) / 8, t->t->rank,
		       dims, accel_bo_ptr(t->bo));
	if (ret)
		return ctl_fail(r->ctl, ret == -EACCES ? CTL_PERMISSION : CTL_FAILED, ret, "--out",
				"%s: cannot write", path);
	return CTL_OK;
}

static int save_all(struct run *r)
{
	uint32_t i, n = 0;
	int ret = CTL_OK;

	for (i = 0; i < r->op.count && !ret; i++)
		if (!r->op.tensors[i].input && n < r->op.opts->out.count)
			ret = save(r, &r->op.tensors[i], r->op.opts->out.v[n++]);
	return ret;
}

static int check(struct run *r)
{
	const struct accel_desc *desc = &r->op.desc.hdr;
	const struct accel_tensor *d;
	struct oracle_result ref;
	uint32_t i;
	uint64_t n;

	for (i = 0; i < r->op.results; i++) {
		d = oracle_op(desc->op)->result(desc, i);
		memset(&ref, 0, sizeof(ref));
		if (oracle_compute(desc, i, &ref)) {
			oracle_free(&ref);
			return ctl_fail(r->ctl, CTL_FAILED, -ENOMEM, "--check",
					"cannot compute the reference");
		}
		for (n = 0; n < ref.count && !ctl_interrupted(); n++)
			op_judge(d, &ref, n, &r->check);
		oracle_free(&ref);
	}
	return ctl_interrupted() ? ctl_fail(r->ctl, CTL_INTERRUPTED, -EINTR, NULL, "interrupted") :
				   CTL_OK;
}

/* --- output --- */

static void json_tensors(struct json_object *doc, const char *key, const struct op *op,
			 bool results)
{
	struct json_object *list = ctl_json_arr(doc, key), *one, *dims;
	uint32_t i, j;

	for (i = 0; i < op->count; i++) {
		const struct accel_tensor *t = op->tensors[i].t;
		const struct op_input *in = op->tensors[i].input;

		if (!in != results)
			continue;
		one = ctl_json_obj(list, NULL);
		ctl_json_str(one, "dtype", accel_dtype_name(t->dtype));
		dims = ctl_json_arr(one, "dims");
		/* An input as it is stored, before transpose changes it */
		for (j = 0; j < t->rank; j++)
			ctl_json_int(dims, NULL, in ? in->dims[j] : t->dims[j]);
	}
}

static void json_op(struct json_object *doc, const void *data)
{
	const struct op *op = data;
	uint32_t i;

	ctl_json_str(doc, "name", op->name);
	ctl_json_str(doc, "dtype", accel_dtype_name(op->dtype));
	for (i = 0; op->tensors[i].input; i++)
		;
	ctl_json_str(doc, "out_dtype", accel_dtype_name(op->tensors[i].t->dtype));
	json_tensors(doc, "inputs", op, false);
	json_tensors(doc, "results", op, true);
}

static void show_json(struct run *r)
{
	const struct op_opts *o = r->op.opts;
	struct json_object *doc = ctl_schema(r->ctl), *out;
	uint32_t i;

	ctl_json_bool(doc, "ok", is_right(r));
	runjob_json(&r->job, doc);
	json_op(doc, &r->op);
	ctl_json_uint(doc, "seed", o->seed);
	ctl_json_bool(doc, "checked", o->check);
	if (o->check) {
		ctl_json_real(doc, "max_abs_error", r->check.max_abs);
		ctl_json_real(doc, "error_to_bound", r->check.ratio);
		ctl_json_uint(doc, "differing", r->check.differing);
	}
	out = ctl_json_arr(doc, "out");
	for (i = 0; i < o->out.count; i++)
		ctl_json_str(out, NULL, o->out.v[i]);
	ctl_json_print(r->ctl, doc);
}

static void text_tensors(const struct op *op, bool results)
{
	const char *between = "";
	uint32_t i, j;

	for (i = 0; i < op->count; i++) {
		const struct accel_tensor *t = op->tensors[i].t;
		const struct op_input *in = op->tensors[i].input;

		if (!in != results)
			continue;
		printf("%s%s ", between, accel_dtype_name(t->dtype));
		for (j = 0; j < t->rank; j++)
			printf("%s%lld", j ? "x" : "",
			       (long long)(in ? in->dims[j] : t->dims[j]));
		between = ", ";
	}
}

static void show_text(struct run *r)
{
	char time[16], best[16];

	printf("%s%s ", ctl_tone(r->ctl, CTL_HEAD), r->op.name);
	text_tensors(&r->op, false);
	printf("%s", r->op.inputs ? " -> " : "");
	text_tensors(&r->op, true);
	printf("%s, on %s (%s), engine %s, %s\n", ctl_tone(r->ctl, CTL_PLAIN), r->job.device.name,
	       r->job.device.profile, accel_engine_name(r->job.info.engine), r->job.algorithm);
	printf("  %-10s%s (median of %llu, best %s)\n", "time", ctl_time(time, r->job.median_s),
	       (unsigned long long)r->job.repeats, ctl_time(best, r->job.min_s));
	if (r->op.opts->check)
		printf("  %-10s%s%s%s: absolute error to %.3g, %.3g of the bound\n", "check",
		       ctl_tone(r->ctl, is_right(r) ? CTL_GOOD : CTL_BAD),
		       is_right(r) ? "ok" : "WRONG", ctl_tone(r->ctl, CTL_PLAIN),
		       r->check.max_abs, r->check.ratio);
}

/* --- commands --- */

/* Buffers with their contents, handed over to the device */
static int allocate(struct run *r, struct accel_binding *bindings)
{
	struct op *op = &r->op;
	uint32_t i;
	int ret;

	for (i = 0; i < op->count; i++) {
		struct op_tensor *t = &op->tensors[i];

		ret = runjob_buffer(&r->job, t->input ? "an input" : "a result", t->bytes, &t->bo);
		if (ret)
			return ret;
		t->t->bo = t->bo;
		bindings[i] = (struct accel_binding){ t->arg, 0, t->bo, 0 };
	}
	op_fill(op);
	for (i = 0; i < op->count; i++) {
		ret = accel_bo_cpu_end(op->tensors[i].bo, 0, op->tensors[i].bytes,
				       ACCEL_CPU_WRITE);
		if (ret)
			return ctl_fail(r->ctl, ctl_status(ret), ret, NULL,
					"cannot hand a buffer over");
	}
	return CTL_OK;
}

/* With the buffers back in the hands of the CPU */
static int look(struct run *r)
{
	struct op_tensor *t = r->op.tensors;
	uint32_t held, i;
	int ret = 0;

	for (held = 0; held < r->op.count && !ret; held++)
		ret = accel_bo_cpu_begin(t[held].bo, 0, t[held].bytes, ACCEL_CPU_READ);
	if (ret) {
		held--;
		ret = ctl_fail(r->ctl, ctl_status(ret), ret, NULL, "cannot read a buffer");
	} else {
		ret = save_all(r);
		if (!ret && r->op.opts->check)
			ret = check(r);
	}
	for (i = 0; i < held; i++)
		accel_bo_cpu_end(t[i].bo, 0, t[i].bytes, ACCEL_CPU_READ);
	return ret;
}

int cmd_run_op(struct ctl *ctl, void *data, const char *operand)
{
	struct accel_binding bindings[OP_MAX_TENSORS];
	const struct op_opts *o = data;
	struct run r = { .ctl = ctl };
	int ret;

	ret = op_init(ctl, operand, o, &r.op);
	if (!ret)
		ret = runjob_open(ctl, (uint32_t)o->threads, &r.job);
	if (!ret)
		ret = allocate(&r, bindings);
	if (!ret)
		ret = runjob_measure(&r.job, &r.op.desc.hdr, bindings, r.op.count, o->repeat,
				     (uint32_t)o->timeout_ms);
	if (!ret)
		ret = look(&r);
	if (ret)
		goto out;
	if (ctl->json)
		show_json(&r);
	else
		show_text(&r);
	if (!is_right(&r))
		ret = runjob_wrong(&r.job, r.check.worst.got, r.check.worst.expect);
out:
	op_fini(&r.op);
	runjob_close(&r.job);
	return ret;
}

int cmd_explain_op(struct ctl *ctl, void *data, const char *operand)
{
	const struct op_opts *o = data;
	struct runjob job = { 0 };
	struct op op;
	int ret;

	ret = op_init(ctl, operand, o, &op);
	if (!ret)
		ret = runjob_open(ctl, 0, &job);
	if (!ret) {
		ret = explain_show(ctl, &(struct explain){
			.ctx = job.ctx, .device = &job.device, .desc = &op.desc.hdr,
			.plan = &op.desc.hdr, .describe = json_op, .data = &op,
		});
	}
	op_fini(&op);
	runjob_close(&job);
	return ret;
}

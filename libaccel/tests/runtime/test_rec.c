// SPDX-License-Identifier: MIT
/* The recorder: what is called is written, line by line. */
#include <fcntl.h>
#include <json-c/json.h>
#include "rt.h"

struct record {
	char path[64];
	struct rt rt;
	int count;
	struct json_object *lines[4096];
};

static void record_open(struct record *r)
{
	struct accel_device_opts opts = ACCEL_DEVICE_OPTS_INIT;
	char name[32];
	int fd;

	memset(r, 0, sizeof(*r));
	snprintf(r->path, sizeof(r->path), "/tmp/accel-record-XXXXXX");
	fd = mkstemp(r->path);
	assert_true(fd >= 0);
	close(fd);
	snprintf(name, sizeof(name), "rec:%s", rt_name());
	opts.record_path = r->path;
	assert_int_equal(accel_device_open(name, &opts, &r->rt.dev), 0);
	assert_int_equal(accel_ctx_create(r->rt.dev, NULL, &r->rt.ctx), 0);
	assert_int_equal(accel_queue_create(r->rt.ctx, NULL, &r->rt.queue), 0);
}

static void record_read(struct record *r)
{
	static char line[1 << 20];
	FILE *f;

	rt_close(&r->rt);
	f = fopen(r->path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		assert_true(r->count < 4096);
		r->lines[r->count] = json_tokener_parse(line);
		assert_non_null(r->lines[r->count]);
		assert_true(json_object_is_type(r->lines[r->count],
						json_type_object));
		r->count++;
	}
	fclose(f);
	unlink(r->path);
}

static void record_free(struct record *r)
{
	while (r->count)
		json_object_put(r->lines[--r->count]);
}

/* Follow keys from an object; a number is an index. */
static json_object *at(json_object *o, const char *path)
{
	char copy[128], *key, *save;

	snprintf(copy, sizeof(copy), "%s", path);
	for (key = strtok_r(copy, ".", &save); key;
	     key = strtok_r(NULL, ".", &save)) {
		assert_non_null(o);
		if (json_object_is_type(o, json_type_array))
			o = json_object_array_get_idx(o, atoi(key));
		else if (!json_object_object_get_ex(o, key, &o))
			return NULL;
	}
	return o;
}

static const char *text(json_object *o, const char *path)
{
	o = at(o, path);
	return o ? json_object_get_string(o) : "";
}

static int64_t number(json_object *o, const char *path)
{
	o = at(o, path);
	assert_non_null(o);
	return json_object_get_int64(o);
}

/* The n-th call of a name. */
static json_object *call(struct record *r, const char *name, int n)
{
	int i;

	for (i = 1; i < r->count; i++)
		if (!strcmp(text(r->lines[i], "call"), name) && !n--)
			return r->lines[i];
	return NULL;
}

static void test_record(void **state)
{
	static struct record r;
	struct accel_fence *fence;
	struct accel_bo *a, *d;
	struct accel_job *job;
	json_object *o, *t;
	uint64_t a_id, d_id, d_addr;
	int i;

	(void)state;
	record_open(&r);
	a = rt_bo(r.rt.ctx, 1000);
	d = rt_bo(r.rt.ctx, 2000);
	a_id = a->id;
	d_id = d->id;
	d_addr = d->addr;
	job = rt_job(r.rt.ctx, 0);
	rt_add_fill(job, a, 0, 16, 1.5, NULL, 0);
	rt_add_copy(job, d, 128, a, 0, 16, NULL, 0);
	fence = rt_submit(r.rt.queue, job, NULL);
	assert_int_equal(accel_fence_wait(fence, -1), 0);
	/* What is recorded is done, too. */
	assert_true(rt_floats(d)[32 + 15] == 1.5f);
	accel_fence_unref(fence);
	rt_run(r.rt.queue, job);
	accel_job_destroy(job);
	accel_bo_unref(a);
	accel_bo_unref(d);
	record_read(&r);

	assert_string_equal(text(r.lines[0], "schema"), "accel.record/1");
	assert_string_equal(text(r.lines[0], "driver"), rt_is_sw() ? "sw" : "uma");
	assert_int_equal(number(r.lines[0], "task_version"), UMA_TASK_VERSION);
	for (i = 1; i < r.count; i++) {
		assert_true(text(r.lines[i], "call")[0]);
		assert_non_null(at(r.lines[i], "args"));
		assert_true(number(r.lines[i], "begin_ns") >= 0);
		assert_true(number(r.lines[i], "duration_ns") >= 0);
		assert_int_equal(number(r.lines[i], "result"), 0);
	}
	o = call(&r, "bo_create", 1);
	assert_non_null(o);
	assert_int_equal(number(o, "args.size"), 2000);
	assert_int_equal(number(o, "args.bo"), d_id);
	assert_true(strtoull(text(o, "out.va"), NULL, 16) == d_addr);

	o = call(&r, "job_prepare", 0);
	assert_non_null(o);
	assert_null(call(&r, "job_prepare", 1));
	assert_string_equal(text(o, "args.ops.0.op"), "fill");
	assert_string_equal(text(o, "args.ops.0.engine"), "gpu");
	t = at(o, "args.ops.0.tasks.0");
	assert_string_equal(text(t, "opcode"), "fill");
	assert_string_equal(text(t, "params.value"), "0x3fc00000");
	assert_string_equal(text(t, "operands.d.dtype"), "fp32");
	assert_int_equal(number(t, "operands.d.dims.0"), 16);
	assert_int_equal(number(t, "operands.d.strides.0"), 1);
	assert_int_equal(number(t, "operands.d.addr.bo"), a_id);
	t = at(o, "args.ops.1.tasks.0");
	assert_string_equal(text(t, "opcode"), "copy");
	assert_int_equal(number(t, "operands.d.addr.bo"), d_id);
	assert_int_equal(number(t, "operands.d.addr.offset"), 128);
	assert_int_equal(number(t, "operands.a.addr.bo"), a_id);

	assert_non_null(call(&r, "submit", 1));
	assert_null(call(&r, "submit", 2));
	assert_int_equal(number(call(&r, "submit", 0), "out.fence"),
			 number(call(&r, "fence_wait", 0), "args.fence"));
	assert_string_equal(text(r.lines[r.count - 1], "call"), "close");
	record_free(&r);
}

static void test_failures(void **state)
{
	static struct record r;
	struct accel_job *job;
	struct accel_fence *fence;
	struct accel_bo *bo, *src;
	json_object *o;
	void *mem;

	(void)state;
	record_open(&r);
	bo = rt_bo(r.rt.ctx, 16384);
	src = rt_lonely_bo(r.rt.ctx, &mem);
	job = rt_faulty_job(r.rt.ctx, bo, src);
	fence = rt_submit(r.rt.queue, job, NULL);
	rt_poll(fence);
	assert_int_equal(accel_queue_submit(r.rt.queue, job, NULL, NULL),
			 -ECANCELED);
	assert_int_equal(accel_fence_wait(fence, -1), -EFAULT);
	accel_fence_unref(fence);
	accel_job_destroy(job);
	accel_bo_unref(bo);
	accel_bo_unref(src);
	free(mem);
	record_read(&r);

	o = call(&r, "fence_info", 0);
	assert_non_null(o);
	assert_int_equal(number(o, "out.status"), -EFAULT);
	assert_int_equal(number(o, "out.op_index"), 1);
	assert_string_equal(text(o, "out.reason"), "read");
	o = call(&r, "submit", 1);
	assert_int_equal(number(o, "result"), -ECANCELED);
	assert_string_equal(text(o, "error"), "ECANCELED");
	record_free(&r);
}

/* A plan of the library, with quantised operands. */
static void test_gemm(void **state)
{
	struct accel_gemm_desc desc = ACCEL_GEMM_DESC_INIT;
	static struct record r;
	json_object *o, *t;
	struct accel_bo *bo;

	(void)state;
	record_open(&r);
	bo = rt_bo(r.rt.ctx, 3 * 4096);
	desc.hdr.engine = ACCEL_ENGINE_GPU;
	desc.a = accel_tensor_2d(bo, ACCEL_S8, 8, 16);
	desc.a.quant.scheme = ACCEL_QUANT_TENSOR;
	desc.a.quant.scale = 0.5f;
	desc.a.quant.zero = -3;
	desc.b = desc.a;
	desc.b.dims[0] = 16;
	desc.b.dims[1] = 4;
	desc.b.offset = 4096;
	desc.d = accel_tensor_2d(bo, ACCEL_F32, 8, 4);
	desc.d.offset = 8192;
	desc.epilogue.act = ACCEL_ACT_RELU;
	assert_int_equal(accel_run(r.rt.ctx, &desc.hdr), 0);
	accel_bo_unref(bo);
	record_read(&r);
	o = call(&r, "job_prepare", 0);
	assert_non_null(o);
	t = at(o, "args.ops.0.tasks.0");
	assert_string_equal(text(t, "opcode"), "gemm");
	assert_true(json_object_get_double(at(t, "params.alpha")) == 1);
	assert_string_equal(text(t, "epilogue.act"), "relu");
	assert_string_equal(text(t, "operands.a.quant"), "tensor");
	assert_true(json_object_get_double(at(t, "operands.a.scale")) == 0.5);
	assert_int_equal(number(t, "operands.a.zero"), -3);
	assert_string_equal(text(t, "operands.b.dtype"), "int8");
	record_free(&r);
}

/* A permission that changes bits with the number of rows is not given by all contexts. */
static void test_permission(void **state)
{
	static const uint32_t flags[2] = { 0, ACCEL_CTX_REPRODUCIBLE };
	struct accel_gemm_desc desc = ACCEL_GEMM_DESC_INIT;
	struct accel_ctx_opts opts = ACCEL_CTX_OPTS_INIT;
	static struct record r;
	struct accel_bo *bo;
	json_object *o;
	uint32_t i;

	(void)state;
	record_open(&r);
	desc.flags = ACCEL_GEMM_TRANS_B | ACCEL_GEMM_BF16;
	desc.a_group = 32;
	for (i = 0; i < 2; i++) {
		accel_queue_destroy(r.rt.queue);
		accel_ctx_destroy(r.rt.ctx);
		opts.flags = flags[i];
		assert_int_equal(accel_ctx_create(r.rt.dev, &opts, &r.rt.ctx), 0);
		assert_int_equal(accel_queue_create(r.rt.ctx, NULL, &r.rt.queue), 0);
		bo = rt_bo(r.rt.ctx, 3 * 4096);
		desc.a = accel_tensor_2d(bo, ACCEL_F32, 8, 32);
		desc.b = accel_tensor_2d(bo, ACCEL_Q8_0, 4, 32);
		desc.b.offset = 4096;
		desc.d = accel_tensor_2d(bo, ACCEL_F32, 8, 4);
		desc.d.offset = 8192;
		assert_int_equal(accel_run(r.rt.ctx, &desc.hdr), 0);
		accel_bo_unref(bo);
	}
	record_read(&r);
	for (i = 0; i < 2; i++) {
		o = call(&r, "job_prepare", i);
		assert_non_null(o);
		assert_string_equal(text(at(o, "args.ops.0.tasks.0"), "params.flags"),
				    i ? "0x0" : "0x2");
	}
	record_free(&r);
}

static void test_path(void **state)
{
	struct accel_device_opts opts = ACCEL_DEVICE_OPTS_INIT;
	struct accel_error error = ACCEL_ERROR_INIT;
	struct accel_device *dev;

	(void)state;
	opts.error = &error;
	opts.record_path = "/nowhere/at/all";
	assert_int_equal(accel_device_open("rec:sw", &opts, &dev), -ENOENT);
	assert_string_equal(error.field, "opts.record_path");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_record),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_gemm),
		cmocka_unit_test(test_permission),
		cmocka_unit_test(test_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

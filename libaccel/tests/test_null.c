// SPDX-License-Identifier: MIT
/*
 * Every function that the library exports, called with nothing at all, and with an
 * object and nothing else: no crash, and -EINVAL where something has to be. The
 * functions come from the library's own table of symbols, so that none is forgotten.
 */
#include <dlfcn.h>
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
#include "symbols.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

enum object {
	DEVICE, CONTEXT, BUFFER, POOL, PLAN, JOB, QUEUE, FENCE, KV, CALIB, GRAPH, PROGRAM, STATE,
	WEIGHTS, OPERATORS,
	OBJECTS
};

static void *objects[OBJECTS];

/**
 * struct entry - a function that returns an error
 * @name: without "accel_"
 * @object: &enum object that comes first, OBJECTS: none
 * @code: what it gives with that and nothing else
 */
static const struct entry {
	const char *name;
	enum object object;
	int code;
} entries[] = {
	{ "bo_create", CONTEXT, -EINVAL },
	{ "bo_import_ptr", CONTEXT, -EINVAL },
	{ "bo_import_dmabuf", CONTEXT, -EINVAL },
	{ "bo_export_dmabuf", BUFFER, -EINVAL },
	{ "bo_cpu_begin", BUFFER, -EINVAL },
	{ "bo_cpu_end", BUFFER, -EINVAL },
	{ "pool_create", CONTEXT, -EINVAL },
	{ "pool_alloc", POOL, -EINVAL },
	{ "ctx_create", DEVICE, -EINVAL },
	{ "ctx_get_error", CONTEXT, -EINVAL },
	{ "ctx_get_memory", CONTEXT, -EINVAL },
	{ "coredump_format", OBJECTS, -EINVAL },
	{ "coredump_get_info", OBJECTS, -EINVAL },
	{ "blocks_convert", OBJECTS, -EINVAL },
	{ "blocks_read", OBJECTS, -EINVAL },
	{ "blocks_write", OBJECTS, -EINVAL },
	{ "gemm", CONTEXT, -EINVAL },
	{ "conv", CONTEXT, -EINVAL },
	{ "attention", CONTEXT, -EINVAL },
	{ "norm", CONTEXT, -EINVAL },
	{ "softmax", CONTEXT, -EINVAL },
	{ "copy", CONTEXT, -EINVAL },
	{ "unary", CONTEXT, -EINVAL },
	{ "binary", CONTEXT, -EINVAL },
	{ "infer", OBJECTS, -EINVAL },
	{ "device_list", OBJECTS, -EINVAL },
	{ "device_open", OBJECTS, -EINVAL },
	{ "device_get_info", DEVICE, -EINVAL },
	{ "device_get_engine", DEVICE, -EINVAL },
	{ "device_get_cap", DEVICE, -EINVAL },
	{ "device_get_memory", DEVICE, -EINVAL },
	{ "device_timestamp", DEVICE, -EINVAL },
	{ "job_create", CONTEXT, -EINVAL },
	{ "job_add", JOB, -EINVAL },
	{ "job_add_desc", JOB, -EINVAL },
	{ "job_rebind", JOB, 0 },
	{ "kv_create", CONTEXT, -EINVAL },
	{ "kv_seq_create", KV, -EINVAL },
	{ "kv_seq_destroy", KV, -ENOENT },
	{ "kv_seq_fork", KV, -EINVAL },
	{ "kv_seq_truncate", KV, -ENOENT },
	{ "kv_seq_evict", KV, -ENOENT },
	{ "kv_seq_get_info", KV, -EINVAL },
	{ "kv_reserve", KV, -EINVAL },
	{ "kv_append", KV, -EINVAL },
	{ "kv_slots", KV, -EINVAL },
	{ "kv_tensors", KV, -EINVAL },
	{ "kv_table", KV, -EINVAL },
	{ "kv_save", KV, -EINVAL },
	{ "kv_load", KV, -EINVAL },
	{ "kv_get_stats", KV, -EINVAL },
	{ "graph_create", OBJECTS, -EINVAL },
	{ "graph_get_error", GRAPH, -EINVAL },
	{ "graph_dynamic", GRAPH, -EINVAL },
	{ "graph_get_value", GRAPH, -EINVAL },
	{ "graph_varies", GRAPH, -EINVAL },
	{ "graph_set_source", GRAPH, 0 },
	{ "graph_symbol", GRAPH, -EINVAL },
	{ "graph_input", GRAPH, -EINVAL },
	{ "graph_constant", GRAPH, -EINVAL },
	{ "graph_constant_file", GRAPH, -EINVAL },
	{ "graph_add", GRAPH, -EINVAL },
	{ "graph_output", GRAPH, -EINVAL },
	{ "graph_operator", GRAPH, -EINVAL },
	{ "operators_create", OBJECTS, -EINVAL },
	{ "operators_add", OPERATORS, -EINVAL },
	{ "call_give", OBJECTS, -EINVAL },
	{ "call_fail", OBJECTS, -EINVAL },
	{ "call_int", OBJECTS, -EINVAL },
	{ "call_float", OBJECTS, -EINVAL },
	{ "call_string", OBJECTS, -EINVAL },
	{ "call_ints", OBJECTS, -EINVAL },
	{ "call_floats", OBJECTS, -EINVAL },
	{ "call_tensor", OBJECTS, -EINVAL },
	{ "graph_compile", CONTEXT, -EINVAL },
	{ "program_get_input", PROGRAM, -EINVAL },
	{ "program_load", CONTEXT, -EINVAL },
	{ "program_load_operators", CONTEXT, -EINVAL },
	{ "program_save", PROGRAM, -EINVAL },
	{ "state_create", PROGRAM, -EINVAL },
	{ "state_set_input", STATE, -EINVAL },
	{ "state_run", STATE, 0 },
	{ "state_get_output", STATE, -EINVAL },
	{ "state_explain", STATE, -EINVAL },
	{ "state_profile", STATE, -EINVAL },
	{ "state_get_info", STATE, -EINVAL },
	{ "file_stamp_read", OBJECTS, -EINVAL },
	{ "rotary_table", OBJECTS, -EINVAL },
	{ "fold_batch_norm", OBJECTS, -EINVAL },
	{ "plan_create", CONTEXT, -EINVAL },
	{ "plan_create_opts", CONTEXT, -EINVAL },
	{ "plan_get_info", PLAN, -EINVAL },
	{ "plan_get_arg", PLAN, -EINVAL },
	{ "plan_explain", PLAN, -EINVAL },
	{ "explain", CONTEXT, -EINVAL },
	{ "cost", CONTEXT, -EINVAL },
	{ "calib_create", CONTEXT, -EINVAL },
	{ "calib_observe", CALIB, -EINVAL },
	{ "calib_get_info", CALIB, -EINVAL },
	{ "calib_get_range", CALIB, -EINVAL },
	{ "calib_get_quant", CALIB, -EINVAL },
	{ "quantise", CONTEXT, -EINVAL },
	{ "prune24", CONTEXT, -EINVAL },
	{ "quant_report", CONTEXT, -EINVAL },
	{ "queue_create", CONTEXT, -EINVAL },
	{ "queue_submit", QUEUE, -EINVAL },
	{ "fence_wait", FENCE, 0 },
	{ "fence_get_info", FENCE, -EINVAL },
	{ "fence_export_fd", FENCE, -EINVAL },
	{ "fence_import_fd", CONTEXT, -EINVAL },
	{ "run", CONTEXT, -EINVAL },
	{ "tensor_bytes", OBJECTS, -EINVAL },
	{ "tensor_transpose", OBJECTS, -EINVAL },
	{ "tensor_slice", OBJECTS, -EINVAL },
	{ "tensor_reshape", OBJECTS, -EINVAL },
	{ "tensor_expand", OBJECTS, -EINVAL },
	{ "tune", CONTEXT, -EINVAL },
	{ "tune_list", CONTEXT, -EINVAL },
	{ "tune_prune", CONTEXT, 0 },
	{ "weights_create", CONTEXT, -EINVAL },
	{ "weights_get_info", WEIGHTS, -EINVAL },
	{ "weights_save", WEIGHTS, -EINVAL },
	{ "weights_load", WEIGHTS, -EINVAL },
};

/* Of these, what is returned is 0, NULL, or a name of the value 0. */
static const char * const others[] = {
	"binary_name", "bo_ptr", "bo_ref", "bo_size", "bo_unref", "calib_destroy",
	"call_input", "call_inputs", "call_output", "call_outputs",
	"conv_algorithm_name", "ctx_destroy", "ctx_device", "device_ref", "device_unref",
	"dtype_bits", "dtype_block", "dtype_name", "engine_name", "fence_ref", "fence_unref",
	"graph_destroy", "job_destroy",
	"kv_destroy", "op_name", "operators_find", "operators_unref", "pass_name", "plan_ref",
	"plan_unref", "pool_destroy",
	"program_get_symbol", "program_ref", "program_unref", "quant_release",
	"queue_destroy", "state_destroy", "state_get_input", "tune_path", "type_bits",
	"type_name", "unary_name", "version",
	"weights_ref", "weights_unref",
};

static int call(const char *name, void *first)
{
	char symbol[64];
	fn_t *fn;

	snprintf(symbol, sizeof(symbol), "accel_%s", name);
	fn = (fn_t *)(uintptr_t)dlsym(RTLD_DEFAULT, symbol);
	if (!fn) {
		fail_msg("there is no %s", symbol);
		return 0;
	}
	return (int)fn((uintptr_t)first, 0, 0, 0, 0, 0, 0, 0);
}

/* Nothing at all. */
static void test_null(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(entries); i++) {
		int ret = call(entries[i].name, NULL);

		if (ret != -EINVAL)
			fail_msg("accel_%s(NULL, ...) gives %d", entries[i].name, ret);
	}
	for (i = 0; i < ARRAY_SIZE(others); i++)
		call(others[i], NULL);
}

/* An object and nothing else. */
static void test_alone(void **state)
{
	uint32_t i, wrong = 0;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(entries); i++) {
		int ret;

		if (entries[i].object == OBJECTS)
			continue;
		ret = call(entries[i].name, objects[entries[i].object]);
		if (ret != entries[i].code) {
			printf("# accel_%s() gives %d\n", entries[i].name, ret);
			wrong++;
		}
	}
	assert_int_equal(wrong, 0);
}

static void known(const char *name, fn_t *fn)
{
	uint32_t i;

	(void)fn;
	for (i = 0; i < ARRAY_SIZE(entries); i++)
		if (!strcmp(entries[i].name, name + 6))
			return;
	for (i = 0; i < ARRAY_SIZE(others); i++)
		if (!strcmp(others[i], name + 6))
			return;
	fail_msg("%s is not tested", name);
}

/* Every symbol of the library is in one of the tables. */
static void test_all(void **state)
{
	(void)state;
	assert_int_equal(each_symbol((void *)(uintptr_t)accel_version, known),
			 ARRAY_SIZE(entries) + ARRAY_SIZE(others));
}

/* A graph that squares a number, and one that can still grow. */
static int make_graph(struct accel_ctx *ctx)
{
	struct accel_unary_desc square = ACCEL_UNARY_DESC_INIT;
	struct accel_value value = ACCEL_VALUE_INIT;
	struct accel_graph_arg args[2] = { { ACCEL_ARG_A, 0 }, { ACCEL_ARG_D, ACCEL_VALUE_NEW } };
	struct accel_program *program;
	struct accel_graph *graph;
	struct accel_state *state;

	value.type = ACCEL_F32;
	value.rank = 1;
	value.dims[0] = 4;
	square.func = ACCEL_UNARY_SQUARE;
	if (accel_graph_create(&graph) || accel_graph_input(graph, &value, &args[0].value) ||
	    accel_graph_add(graph, NULL, &square.hdr, args, 2) ||
	    accel_graph_output(graph, NULL, args[1].value) ||
	    accel_graph_compile(ctx, graph, NULL, &program) ||
	    accel_state_create(program, &state))
		return -1;
	accel_graph_destroy(graph);
	objects[PROGRAM] = program;
	objects[STATE] = state;
	if (accel_operators_create((struct accel_operators **)&objects[OPERATORS]))
		return -1;
	return accel_graph_create((struct accel_graph **)&objects[GRAPH]);
}

static int make_objects(void)
{
	struct accel_kv_opts kv = ACCEL_KV_OPTS_INIT;
	struct accel_calib_opts calib = ACCEL_CALIB_OPTS_INIT;
	struct accel_fill_desc fill = ACCEL_FILL_DESC_INIT;
	struct accel_device *dev;
	struct accel_queue *queue;
	struct accel_fence *fence;
	struct accel_calib *c;
	struct accel_pool *pool;
	struct accel_plan *plan;
	struct accel_ctx *ctx;
	struct accel_job *job;
	struct accel_bo *bo;
	struct accel_kv *k;

	fill.d = accel_tensor_2d(NULL, ACCEL_F32, 4, 4);
	kv.layers = 1;
	kv.kv_heads = 1;
	kv.head_dim = 16;
	kv.v_dim = 16;
	kv.page_size = 16;
	kv.pages = 4;
	kv.dtype = ACCEL_F16;
	calib.dtype = ACCEL_S8;
	if (accel_device_open(test_device("sw:full"), NULL, &dev) ||
	    accel_ctx_create(dev, NULL, &ctx) || accel_bo_create(ctx, 64, NULL, &bo) ||
	    accel_pool_create(ctx, 4096, NULL, &pool) ||
	    accel_plan_create(ctx, &fill.hdr, &plan) || accel_job_create(ctx, NULL, &job) ||
	    accel_queue_create(ctx, NULL, &queue) ||
	    accel_queue_submit(queue, job, NULL, &fence) || accel_fence_wait(fence, -1))
		return -1;
	accel_job_destroy(job);
	if (accel_job_create(ctx, NULL, &job) || accel_kv_create(ctx, &kv, &k) ||
	    accel_calib_create(ctx, &calib, &c) ||
	    accel_weights_create(ctx, NULL, (struct accel_weights **)&objects[WEIGHTS]))
		return -1;
	objects[DEVICE] = dev;
	objects[CONTEXT] = ctx;
	objects[BUFFER] = bo;
	objects[POOL] = pool;
	objects[PLAN] = plan;
	objects[JOB] = job;
	objects[QUEUE] = queue;
	objects[FENCE] = fence;
	objects[KV] = k;
	objects[CALIB] = c;
	return make_graph(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_null),
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_all),
	};
	int ret;

	if (make_objects()) {
		printf("Bail out! no objects\n");
		return 1;
	}
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	accel_state_destroy(objects[STATE]);
	accel_program_unref(objects[PROGRAM]);
	accel_graph_destroy(objects[GRAPH]);
	accel_calib_destroy(objects[CALIB]);
	accel_weights_unref(objects[WEIGHTS]);
	accel_kv_destroy(objects[KV]);
	accel_fence_unref(objects[FENCE]);
	accel_queue_destroy(objects[QUEUE]);
	accel_job_destroy(objects[JOB]);
	accel_plan_unref(objects[PLAN]);
	accel_pool_destroy(objects[POOL]);
	accel_bo_unref(objects[BUFFER]);
	accel_ctx_destroy(objects[CONTEXT]);
	accel_device_unref(objects[DEVICE]);
	return ret;
}

// SPDX-License-Identifier: MIT
/* Opening devices, and what they tell about themselves. */
#include "rt.h"

/* The device is refused; @text: part of the reason. */
static int fails_saying(const char *name, struct accel_device_opts *opts, int code,
			const char *field, const char *text)
{
	struct accel_error error = ACCEL_ERROR_INIT;
	struct accel_device_opts o = ACCEL_DEVICE_OPTS_INIT;
	struct accel_device *dev = NULL;
	int ret;

	if (!opts)
		opts = &o;
	opts->error = &error;
	ret = accel_device_open(name, opts, &dev);
	assert_int_equal(ret, code);
	assert_null(dev);
	assert_int_equal(error.code, code);
	assert_string_equal(error.field, field);
	assert_true(error.text[0]);
	if (!strstr(error.text, text))
		fail_msg("\"%s\" instead of \"%s\"", error.text, text);
	return 0;
}

static int fails(const char *name, struct accel_device_opts *opts, int code, const char *field)
{
	return fails_saying(name, opts, code, field, "");
}

/* A path that is none, or more than there is room for, is not a device that is missing. */
static void test_paths(void **state)
{
	char path[65];

	(void)state;
	fails_saying("nonsense", NULL, -ENODEV, "name", "there is no device");
	fails_saying("dev/accel/accel0", NULL, -ENODEV, "name", "begins with");
	fails_saying("./accel0", NULL, -ENODEV, "name", "begins with");
	fails_saying("accel/0", NULL, -ENODEV, "name", "begins with");
	memset(path, 'a', sizeof(path));
	path[0] = '/';
	path[64] = 0;
	fails_saying(path, NULL, -ENODEV, "name", "less than 64 characters");
	path[63] = 0;
	fails_saying(path, NULL, -ENODEV, "name", "No such device");
	memcpy(path, "accel", 5);
	fails_saying(path, NULL, -ENODEV, "name", "less than 64 characters");
}

static void test_names(void **state)
{
	struct accel_device *dev;

	(void)state;
	assert_int_equal(accel_device_open("sw", NULL, &dev), 0);
	accel_device_unref(dev);
	assert_int_equal(accel_device_open("sw:m1", NULL, &dev), 0);
	accel_device_unref(dev);
	fails("", NULL, -EINVAL, "name");
	fails("sw:m9", NULL, -EINVAL, "name");
	fails("sw:", NULL, -EINVAL, "name");
	fails("nonsense", NULL, -ENODEV, "name");
	fails("accel987", NULL, -ENODEV, "name");
	fails("accel0/../null", NULL, -ENODEV, "name");
	fails("/dev/null", NULL, -ENODEV, "name");
	fails("/nowhere", NULL, -ENODEV, "name");
	fails("rec:sw", NULL, -EINVAL, "opts.record_path");
	fails("rec:rec:sw", NULL, -EINVAL, "name");
	fails("rec:sw:m9", NULL, -EINVAL, "name");
}

static void test_opts(void **state)
{
	struct accel_device_opts opts = ACCEL_DEVICE_OPTS_INIT;
	struct {
		struct accel_device_opts opts;
		uint64_t tail;
	} newer = { ACCEL_DEVICE_OPTS_INIT, 0 };
	struct accel_device *dev;

	(void)state;
	opts.pad = 1;
	fails("sw", &opts, -EINVAL, "opts.pad");
	opts.pad = 0;
	opts.log_level = 9;
	fails("sw", &opts, -EINVAL, "opts.log_level");
	opts.log_level = 0;
	opts.threads = 100000;
	fails("sw", &opts, -EINVAL, "opts.threads");
	opts.threads = 0;
	opts.size = 4;
	assert_int_equal(accel_device_open("sw", &opts, &dev), -EINVAL);

	newer.opts.size = sizeof(newer);
	assert_int_equal(accel_device_open("sw", &newer.opts, &dev), 0);
	accel_device_unref(dev);
	newer.tail = 1;
	fails("sw", &newer.opts, -E2BIG, "opts.size");
}

static void test_info(void **state)
{
	struct accel_device_opts opts = ACCEL_DEVICE_OPTS_INIT;
	struct accel_device_info info = { sizeof(info) };
	struct accel_device *dev;
	struct {
		struct accel_device_info info;
		uint64_t tail;
	} longer;

	(void)state;
	opts.threads = 3;
	assert_int_equal(accel_device_open("sw:m1", &opts, &dev), 0);
	assert_int_equal(accel_device_get_info(dev, &info), 0);
	assert_string_equal(info.name, "sw:m1");
	assert_string_equal(info.driver, "sw");
	assert_string_equal(info.profile, "m1");
	assert_string_equal(info.path, "");
	assert_int_equal(info.threads, 3);
	assert_int_equal(info.flags, ACCEL_DEVICE_EMULATED | ACCEL_DEVICE_COHERENT);
	assert_int_equal(info.uapi_version, 0);
	assert_int_equal(info.task_version, UMA_TASK_VERSION);
	assert_int_equal(info.page_size, sysconf(_SC_PAGESIZE));
	assert_int_equal(info.priorities, 0xf);
	assert_true(info.engine_count >= 3);
	assert_true(info.kernels[0]);

	memset(&longer, 0xff, sizeof(longer));
	longer.info.size = sizeof(longer);
	assert_int_equal(accel_device_get_info(dev, &longer.info), 0);
	assert_int_equal(longer.tail, 0);
	info.size = 8;
	assert_int_equal(accel_device_get_info(dev, &info), -EINVAL);
	accel_device_unref(dev);
}

static void test_engines(void **state)
{
	struct accel_engine_info engine = { sizeof(engine) };
	struct accel_device_info info = { sizeof(info) };
	struct accel_cap cap = { sizeof(cap) };
	uint32_t i, row, kinds = 0, gemm_kinds = 0;
	struct accel_device *dev;

	(void)state;
	assert_int_equal(accel_device_open("sw:ultra", NULL, &dev), 0);
	assert_int_equal(accel_device_get_info(dev, &info), 0);
	for (i = 0; i < info.engine_count; i++) {
		assert_int_equal(accel_device_get_engine(dev, i, &engine), 0);
		assert_in_range(engine.engine, ACCEL_ENGINE_MATRIX,
				ACCEL_ENGINE_NEURAL);
		assert_true(engine.node < info.node_count);
		assert_true(engine.cap_count > 0);
		kinds |= 1u << engine.engine;
		for (row = 0; row < engine.cap_count; row++) {
			assert_int_equal(accel_device_get_cap(dev, i, row, &cap), 0);
			assert_true(cap.op < ACCEL_OP_COUNT);
			assert_in_range(cap.rank_max, 0, ACCEL_MAX_RANK);
			if (cap.op == ACCEL_OP_GEMM)
				gemm_kinds |= 1u << engine.engine;
		}
		assert_int_equal(accel_device_get_cap(dev, i, row, &cap), -ENOENT);
	}
	assert_int_equal(kinds, 1u << ACCEL_ENGINE_MATRIX |
				1u << ACCEL_ENGINE_GPU | 1u << ACCEL_ENGINE_NEURAL);
	assert_int_equal(gemm_kinds, kinds);
	assert_int_equal(accel_device_get_engine(dev, i, &engine), -ENOENT);
	assert_int_equal(accel_device_get_cap(dev, i, 0, &cap), -ENOENT);
	cap.size = 4;
	assert_int_equal(accel_device_get_cap(dev, 0, 0, &cap), -EINVAL);
	accel_device_unref(dev);
}

static void test_memory(void **state)
{
	struct accel_memory_info node = { sizeof(node) };
	struct accel_device *dev;

	(void)state;
	assert_int_equal(accel_device_open("sw:ultra", NULL, &dev), 0);
	assert_int_equal(accel_device_get_memory(dev, 0, &node), 0);
	assert_true(node.bytes > 0);
	assert_true(node.bandwidth > 0);
	assert_int_equal(accel_device_get_memory(dev, 1, &node), 0);
	assert_int_equal(node.node, 1);
	assert_int_equal(accel_device_get_memory(dev, 2, &node), -ENOENT);
	accel_device_unref(dev);
}

static void test_timestamp(void **state)
{
	uint64_t d0, c0, d1, c1;
	struct accel_device *dev;

	(void)state;
	assert_int_equal(accel_device_open("sw", NULL, &dev), 0);
	assert_int_equal(accel_device_timestamp(dev, &d0, &c0), 0);
	assert_int_equal(accel_device_timestamp(dev, &d1, &c1), 0);
	assert_true(d1 >= d0);
	assert_true(c1 >= c0);
	accel_device_unref(dev);
}

static int list_one(void *user, const struct accel_device_desc *desc)
{
	int *found = user;

	assert_int_equal(desc->size, sizeof(*desc));
	/* The in-process device comes last, and once. */
	assert_int_equal(*found, 0);
	if (!strcmp(desc->name, "sw")) {
		assert_int_equal(desc->emulated, 1);
		assert_int_equal(desc->access, 0);
		assert_string_equal(desc->path, "");
		*found = 1;
	}
	return 0;
}

static int stop(void *user, const struct accel_device_desc *desc)
{
	(void)user;
	(void)desc;
	return 42;
}

static void test_list(void **state)
{
	int found = 0;

	(void)state;
	assert_int_equal(accel_device_list(list_one, &found), 0);
	assert_int_equal(found, 1);
	assert_int_equal(accel_device_list(stop, NULL), 42);
}

/* The environment chooses inner kernels when a device is opened. */
static void test_kernels(void **state)
{
	static const char *const names[] = {
		"portable", "avx2", "avx512", "avx512-vnni", "avx512-bf16", "amx", "neon",
		"neon-dotprod"
	};
	struct accel_device_info info = { sizeof(info) };
	struct accel_device *dev;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		setenv("ACCEL_SW_KERNELS", names[i], 1);
		if (accel_device_open("sw", NULL, &dev)) {
			/* Not on this processor; but the first one is on any. */
			assert_true(i);
			fails("sw", NULL, -EINVAL, "ACCEL_SW_KERNELS");
			continue;
		}
		assert_int_equal(accel_device_get_info(dev, &info), 0);
		assert_string_equal(info.kernels, names[i]);
		accel_device_unref(dev);
	}
	setenv("ACCEL_SW_KERNELS", "abacus", 1);
	fails("sw", NULL, -EINVAL, "ACCEL_SW_KERNELS");
	unsetenv("ACCEL_SW_KERNELS");
}

static void test_refs(void **state)
{
	struct accel_device *dev;
	struct accel_ctx *ctx;

	(void)state;
	assert_int_equal(accel_device_open("sw", NULL, &dev), 0);
	assert_ptr_equal(accel_device_ref(dev), dev);
	accel_device_unref(dev);
	assert_int_equal(accel_ctx_create(dev, NULL, &ctx), 0);
	accel_device_unref(dev);
	/* The context keeps the device. */
	assert_ptr_equal(accel_ctx_device(ctx), dev);
	accel_ctx_destroy(ctx);
	accel_device_unref(NULL);
}

struct lines {
	int count[4];
};

static void log_line(void *user, int level, const char *text)
{
	struct lines *lines = user;

	assert_in_range(level, 0, 3);
	assert_non_null(text);
	assert_null(strchr(text, '\n'));
	lines->count[level]++;
}

static void test_log(void **state)
{
	struct accel_device_opts opts = ACCEL_DEVICE_OPTS_INIT;
	struct lines lines = { { 0 } };
	struct accel_device *dev;
	struct accel_ctx *ctx;
	struct accel_bo *bo;

	(void)state;
	opts.log = log_line;
	opts.log_user = &lines;
	assert_int_equal(accel_device_open("sw", &opts, &dev), 0);
	assert_int_equal(accel_ctx_create(dev, NULL, &ctx), 0);
	assert_int_equal(accel_bo_create(ctx, 0, NULL, &bo), -EINVAL);
	assert_int_equal(lines.count[ACCEL_LOG_ERROR], 1);
	assert_int_equal(lines.count[ACCEL_LOG_INFO], 0);
	accel_ctx_destroy(ctx);
	accel_device_unref(dev);

	opts.log_level = ACCEL_LOG_DEBUG;
	assert_int_equal(accel_device_open("sw", &opts, &dev), 0);
	assert_int_equal(accel_ctx_create(dev, NULL, &ctx), 0);
	bo = rt_bo(ctx, 1);
	accel_bo_unref(bo);
	assert_true(lines.count[ACCEL_LOG_INFO] > 0);
	assert_true(lines.count[ACCEL_LOG_DEBUG] >= 2);
	accel_ctx_destroy(ctx);
	accel_device_unref(dev);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_opts),
		cmocka_unit_test(test_info),
		cmocka_unit_test(test_engines),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_timestamp),
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_kernels),
		cmocka_unit_test(test_refs),
		cmocka_unit_test(test_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

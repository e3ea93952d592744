// SPDX-License-Identifier: MIT
/*
 * Weights that a file's mapping has: how much of them is in memory; those of 16 bits. With a
 * path, the most that is resident with a program of that file.
 */
#include <malloc.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "graphtest.h"
#include "libaccel/tests/guest.h"

/* KiB of the process's memory that the mapping at @p has, or with NULL all that is no file's */
static uint64_t resident(const void *p)
{
	FILE *f = fopen(p ? "/proc/self/smaps" : "/proc/self/status", "r");
	unsigned long long kib = 0, start, end;
	bool here = false;
	char line[256];

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (p && sscanf(line, "%llx-%llx ", &start, &end) == 2)
			here = (uintptr_t)p >= start && (uintptr_t)p < end;
		if ((here && sscanf(line, "Rss: %llu kB", &kib) == 1) ||
		    (!p && sscanf(line, "RssAnon: %llu kB", &kib) == 1))
			break;
	}
	fclose(f);
	return kib;
}

/* What a file has, as its mapping: pages that are given up come back. */
static const void *mapped(const void *data, size_t bytes)
{
	FILE *f = tmpfile();
	const void *map;

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, bytes, f), bytes);
	assert_int_equal(fflush(f), 0);
	map = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fileno(f), 0);
	assert_true(map != MAP_FAILED);
	fclose(f);
	return map;
}

#define WIDE	2048

/* Weights of a file are read while they are packed, and packed once for all symbols. */
static void test_mapped(void **arg)
{
	struct accel_value v = value_of("w", ACCEL_F32, 2, DIMS(WIDE, WIDE));
	struct bed *bed = *arg;
	struct accel_program *program;
	struct accel_state *s;
	float *w = noise_floats(9, (uint64_t)WIDE * WIDE), *a = noise_floats(10, 3 * WIDE);
	const float *map, *got;
	uint64_t before, after;
	int64_t batch, i;
	double want;
	uint32_t x;

	map = mapped(w, WIDE * WIDE * sizeof(float));
	MUST_GRAPH(accel_graph_symbol(bed->graph, "batch", 1, 64, &batch));
	x = add_input(bed, "x", ACCEL_F32, 2, DIMS(batch, WIDE));
	v.flags = ACCEL_VALUE_MAPPED << 1;
	assert_int_equal(accel_graph_constant(bed->graph, &v, map, NULL, NULL, &x), -EINVAL);
	v.flags = ACCEL_VALUE_MAPPED;
	x = add_input(bed, "z", ACCEL_F32, 2, DIMS(batch, WIDE));
	MUST_GRAPH(accel_graph_constant(bed->graph, &v, map, NULL, NULL, &x));
	add_output(bed, "y", add_gemm(bed, "product", x - 1, x));
	program = compile(bed, 3, 0);
	s = new_state(bed, program);
	MUST(accel_state_set_input(s, 0, 2, DIMS(3, WIDE), NULL, 0));
	MUST(accel_state_set_input(s, 1, 2, DIMS(3, WIDE), NULL, 0));
	fill_input(s, 1, a, 3 * WIDE * sizeof(float));
	MUST(accel_state_run(s));
	assert_in_range(resident(map), 0, 1024);
	before = resident(NULL);
	for (i = 32; i <= 64; i += 32) {
		MUST(accel_state_set_input(s, 0, 2, DIMS(i, WIDE), NULL, 0));
		MUST(accel_state_set_input(s, 1, 2, DIMS(i, WIDE), NULL, 0));
		memcpy(accel_state_get_input(s, 1, NULL), a, 3 * WIDE * sizeof(float));
		MUST(accel_state_run(s));
	}
	after = resident(NULL);
	/* Not a copy of the weights, of 16 MiB */
	assert_in_range(after > before ? after - before : 0, 0, 12288);
	assert_in_range(resident(map), 0, 1024);
	got = output(bed, s, 0, &v);
	for (i = 0, want = 0; i < WIDE; i++)
		want += (double)a[i] * (double)w[i * WIDE + 5];
	assert_true(fabs((double)got[5] - want) < 0.001);
	accel_state_destroy(s);
	accel_program_unref(program);
	accel_graph_destroy(bed->graph);
	assert_int_equal(accel_graph_create(&bed->graph), 0);
	munmap((void *)(uintptr_t)map, WIDE * WIDE * sizeof(float));
	free(w);
	free(a);
}

/* Weights that are to lie as they do, in 16 bits all the same: what converts them reads them. */
static void test_no_repack_narrow(void **arg)
{
	struct accel_compile_opts opts = ACCEL_COMPILE_OPTS_INIT;
	struct accel_value v = value_of("w", ACCEL_F32, 2, DIMS(256, 256));
	float *w = noise_floats(11, 65536), *a = noise_floats(12, 256);
	struct accel_program *program;
	struct bed *bed = *arg;
	struct accel_state *s;
	const float *map = mapped(w, 65536 * sizeof(*w)), *got;
	double want = 0;
	uint32_t x, i;

	v.flags = ACCEL_VALUE_MAPPED;
	x = add_input(bed, "x", ACCEL_F32, 2, DIMS(1, 256));
	MUST_GRAPH(accel_graph_constant(bed->graph, &v, map, NULL, NULL, &i));
	add_output(bed, "y", add_gemm(bed, "product", x, i));
	opts.level = 3;
	opts.off = ACCEL_COMPILE_NO_REPACK;
	opts.precision = ACCEL_PRECISION_BF16;
	MUST(accel_graph_compile(bed->ctx, bed->graph, &opts, &program));
	s = new_state(bed, program);
	fill_input(s, 0, a, 256 * sizeof(*a));
	MUST(accel_state_run(s));
	got = output(bed, s, 0, &v);
	for (i = 0; i < 256; i++)
		want += (double)a[i] * (double)w[i * 256 + 7];
	assert_true(fabs((double)got[7] - want) < 0.1);
	accel_state_destroy(s);
	accel_program_unref(program);
	munmap((void *)(uintptr_t)map, 65536 * sizeof(*w));
	free(w);
	free(a);
}

static float number_of(uint16_t h, uint32_t type)
{
	uint32_t bits = (uint32_t)h << 16;
	int e = h >> 10 & 31, m = h & 1023;
	float f;

	if (type == ACCEL_BF16)
		memcpy(&f, &bits, sizeof(f));
	else if (e == 31)
		f = m ? NAN : INFINITY;
	else
		f = e ? ldexpf((float)(m + 1024), e - 25) : ldexpf((float)m, -24);
	return type == ACCEL_F16 && h >> 15 ? -f : f;
}

/* A product by weights of 16 bits as they are: fp32 of them is nowhere, and its sums are right. */
static void check_half(struct bed *bed, uint32_t type, uint32_t off, uint32_t precision)
{
	const uint32_t bits = type == ACCEL_F16 ? 0x3000 : 0x3d00;
	struct accel_compile_opts opts = ACCEL_COMPILE_OPTS_INIT;
	struct accel_program_info info = { .size = sizeof(info) };
	struct accel_value v = value_of("w", type, 2, DIMS(256, 256));
	float *a = noise_floats(14, 512);
	struct accel_program *program;
	struct accel_state *s;
	uint32_t x, i, k, value;
	uint16_t w[65536];
	const void *map;
	const float *got;

	for (i = 0; i < 65536; i++)
		w[i] = (uint16_t)(bits + i * 40503u % 0x300 + (i % 3 ? 0 : 0x8000));
	map = mapped(w, sizeof(w));
	v.flags = ACCEL_VALUE_MAPPED;
	x = add_input(bed, "x", ACCEL_F32, 2, DIMS(2, 256));
	MUST_GRAPH(accel_graph_constant(bed->graph, &v, map, NULL, NULL, &value));
	add_output(bed, "d", add_gemm(bed, "product", x, value));
	opts.level = 3;
	opts.off = off;
	opts.precision = precision;
	MUST(accel_graph_compile(bed->ctx, bed->graph, &opts, &program));
	s = new_state(bed, program);
	MUST(accel_state_set_input(s, 0, 2, DIMS(2, 256), NULL, 0));
	fill_input(s, 0, a, 512 * sizeof(*a));
	MUST(accel_state_run(s));
	MUST(accel_state_get_info(s, &info));
	got = output(bed, s, 0, &v);
	for (i = 0; i < 512; i++) {
		double want = 0, mag = 0;

		for (k = 0; k < 256; k++) {
			const double p = (double)a[i / 256 * 256 + k] *
					 (double)number_of(w[k * 256 + i % 256], type);

			want += p;
			mag += fabs(p);
		}
		/* What is added up has 24 bits, or 8 at least of each factor. */
		if (!(fabs((double)got[i] - want) <= mag * (precision ? 0.012 : 0.00001)))
			fail_msg("type %u, 0x%x off, precision %u, %u: %g, not %g", type, off,
				 precision, i, (double)got[i], want);
	}
	if (off)
		assert_int_equal(info.packed_bytes, 0);
	else
		assert_in_range(info.packed_bytes, sizeof(w), sizeof(w) + 4096);
	/* Weights that lie in the other type of 16 bits are brought to this one in work. */
	assert_in_range(info.arena_bytes, 0, sizeof(w) + 65536);
	accel_state_destroy(s);
	accel_program_unref(program);
	accel_graph_destroy(bed->graph);
	assert_int_equal(accel_graph_create(&bed->graph), 0);
	munmap((void *)(uintptr_t)map, sizeof(w));
	free(a);
}

static void test_half(void **arg)
{
	static const uint32_t types[] = { ACCEL_F16, ACCEL_BF16 };
	static const uint32_t precisions[] = {
		ACCEL_PRECISION_KEEP, ACCEL_PRECISION_F16, ACCEL_PRECISION_BF16
	};
	uint32_t i;

	for (i = 0; i < 12; i++)
		check_half(*arg, types[i % 2], i / 2 % 2 ? ACCEL_COMPILE_NO_REPACK : 0,
			   precisions[i / 4]);
}

/* An engine that lacks products of fp32 by 16 bits, as one of an older driver does */
static void open_lacking(struct bed *bed)
{
	accel_ctx_destroy(bed->ctx);
	accel_device_unref(bed->dev);
	assert_int_equal(accel_device_open("sw:m1", NULL, &bed->dev), 0);
	assert_int_equal(accel_ctx_create(bed->dev, NULL, &bed->ctx), 0);
}

/* Such an engine has the weights in fp32. */
static void test_widened(void **arg)
{
	struct accel_compile_opts opts = ACCEL_COMPILE_OPTS_INIT;
	struct accel_value v = value_of("w", ACCEL_F16, 2, DIMS(64, 64));
	struct accel_program *program;
	struct bed *bed = *arg;
	struct accel_state *s;
	uint16_t w[4096];
	const float *got;
	float a[64];
	uint32_t x, i, k, value;

	open_lacking(bed);
	for (i = 0; i < 4096; i++)
		w[i] = i * 40503u >> 7 & 1 ? 0x3c00 : 0xc000;
	for (i = 0; i < 64; i++)
		a[i] = (float)i;
	x = add_input(bed, "x", ACCEL_F32, 2, DIMS(1, 64));
	MUST_GRAPH(accel_graph_constant(bed->graph, &v, w, NULL, NULL, &value));
	add_output(bed, "d", add_gemm(bed, "product", x, value));
	opts.engine = ACCEL_ENGINE_MATRIX;
	for (opts.level = 0; opts.level <= 3; opts.level += 3) {
		MUST(accel_graph_compile(bed->ctx, bed->graph, &opts, &program));
		s = new_state(bed, program);
		fill_input(s, 0, a, sizeof(a));
		MUST(accel_state_run(s));
		got = output(bed, s, 0, &v);
		for (i = 0; i < 64; i++) {
			float want = 0;

			for (k = 0; k < 64; k++)
				want += w[k * 64 + i] == 0x3c00 ? a[k] : -2 * a[k];
			assert_true(got[i] == want);
		}
		accel_state_destroy(s);
		accel_program_unref(program);
	}
}

/* Where no engine quantises A, a product that permits it is that of A itself. */
static void test_not_rounded(void **arg)
{
	struct accel_compile_opts opts = ACCEL_COMPILE_OPTS_INIT;
	struct accel_value v = value_of("w", ACCEL_S8, 2, DIMS(64, 4));
	struct accel_gemm_desc d = ACCEL_GEMM_DESC_INIT;
	struct accel_graph_arg args[3] = { { ACCEL_ARG_D, ACCEL_VALUE_NEW } };
	struct accel_program *program;
	struct bed *bed = *arg;
	struct accel_state *s;
	const float *got;
	int8_t w[256];
	float a[64];
	uint32_t i;

	open_lacking(bed);
	for (i = 0; i < 256; i++)
		w[i] = i % 4 == i / 4 % 4;
	for (i = 0; i < 64; i++)
		a[i] = (float)(i < 4 ? 1000 + i : 0);
	args[1] = (struct accel_graph_arg) {
		ACCEL_ARG_A, add_input(bed, "x", ACCEL_F32, 2, DIMS(1, 64))
	};
	args[2].arg = ACCEL_ARG_B;
	MUST_GRAPH(accel_graph_constant(bed->graph, &v, w, NULL, NULL, &args[2].value));
	d.a_group = 32;
	d.b.quant.scheme = ACCEL_QUANT_TENSOR;
	d.b.quant.scale = 2;
	d.d.dtype = ACCEL_F32;
	MUST_GRAPH(accel_graph_add(bed->graph, "product", &d.hdr, args, 3));
	add_output(bed, "d", args[0].value);
	for (i = 0; i < 2; i++) {
		opts.engine = i ? ACCEL_ENGINE_MATRIX : ACCEL_ENGINE_GPU;
		MUST(accel_graph_compile(bed->ctx, bed->graph, &opts, &program));
		s = new_state(bed, program);
		fill_input(s, 0, a, sizeof(a));
		MUST(accel_state_run(s));
		got = output(bed, s, 0, &v);
		assert_true((got[1] == 2002) == i);
		assert_true(fabsf(got[1] - 2002) <= 2 * 1003 / 254.f);
		accel_state_destroy(s);
		accel_program_unref(program);
	}
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED	true
#else
#define SANITIZED	false
#endif

/* Weights that many products share are in fp32 once. */
static void test_widened_once(void **arg)
{
	enum { PRODUCTS = 16, SIDE = 256, FLOATS = SIDE * SIDE * 4 };
	struct accel_compile_opts opts = ACCEL_COMPILE_OPTS_INIT;
	struct accel_value v = value_of("w", ACCEL_F16, 2, DIMS(SIDE, SIDE));
	struct accel_program *program;
	struct bed *bed = *arg;
	struct accel_state *s;
	uint16_t w[SIDE * SIDE];
	float a[SIDE];
	const float *got;
	uint32_t x, i, value;
	uint64_t before;
	char name[16];

	open_lacking(bed);
	for (i = 0; i < SIDE * SIDE; i++)
		w[i] = i % (SIDE + 1) ? 0 : 0x3800;
	for (i = 0; i < SIDE; i++)
		a[i] = (float)(1 << PRODUCTS) * (float)(i + 1);
	x = add_input(bed, "x", ACCEL_F32, 2, DIMS(1, SIDE));
	MUST_GRAPH(accel_graph_constant(bed->graph, &v, w, NULL, NULL, &value));
	for (i = 0; i < PRODUCTS; i++) {
		snprintf(name, sizeof(name), "product%u", i);
		x = add_gemm(bed, name, x, value);
	}
	add_output(bed, "d", x);
	opts.engine = ACCEL_ENGINE_MATRIX;
	opts.level = 0;
	malloc_trim(0);
	before = resident(NULL);
	MUST(accel_graph_compile(bed->ctx, bed->graph, &opts, &program));
	if (!SANITIZED)
		assert_in_range((resident(NULL) - before) << 10, FLOATS, 4 * FLOATS);
	s = new_state(bed, program);
	fill_input(s, 0, a, sizeof(a));
	MUST(accel_state_run(s));
	got = output(bed, s, 0, &v);
	for (i = 0; i < SIDE; i++)
		assert_true(got[i] == (float)(i + 1));
	accel_state_destroy(s);
	accel_program_unref(program);
}

/* --- a program's file -------------------------------------------------------------- */

enum { BLOCKS = 3, CHANNELS = 256, EDGE = 14, THREADS = 1 };

/* Blocks of ResNet-50 */
static void blocks(struct bed *bed, const float *w)
{
	const int64_t c = CHANNELS, wide = 4 * c;
	struct accel_conv_desc d = ACCEL_CONV_DESC_INIT;
	uint32_t x, y, i, k;

	x = add_input(bed, "x", ACCEL_F32, 4, DIMS(1, wide, EDGE, EDGE));
	x = add_act(bed, "relu", ACCEL_ACT_RELU, x);
	for (i = 0; i < BLOCKS; i++, w += 16) {
		const uint32_t in[3] = {
			add_const(bed, ACCEL_F32, 4, DIMS(c, wide, 1, 1), w),
			add_const(bed, ACCEL_F32, 4, DIMS(c, c, 3, 3), w + 4),
			add_const(bed, ACCEL_F32, 4, DIMS(wide, c, 1, 1), w + 8),
		};

		for (k = 0, y = x; k < 3; k++) {
			d.pad_before[0] = d.pad_before[1] = k == 1;
			d.pad_after[0] = d.pad_after[1] = k == 1;
			y = add_node(bed, "conv", &d.hdr, 2, (uint32_t[]) { y, in[k] });
			if (k < 2)
				y = add_act(bed, "relu", ACCEL_ACT_RELU, y);
		}
		x = add_act(bed, "relu", ACCEL_ACT_RELU,
			    add_binary(bed, "sum", ACCEL_BINARY_ADD, x, y));
	}
	/* A result has the order of its input: nothing wide does. */
	memset(d.pad_before, 0, sizeof(d.pad_before));
	memset(d.pad_after, 0, sizeof(d.pad_after));
	y = add_const(bed, ACCEL_F32, 4, DIMS(c, wide, 1, 1), w);
	add_output(bed, "y", add_node(bed, "last", &d.hdr, 2, (uint32_t[]) { x, y }));
}

/* The most that was resident, in KiB */
static uint64_t most(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	unsigned long long kib = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmHWM: %llu kB", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib;
}

/* In a process of its own. Return: 0: no more is resident than follows from what is told. */
static int run_loaded(const char *path)
{
	struct accel_program_info info = { .size = sizeof(info) };
	struct accel_device_opts opts = ACCEL_DEVICE_OPTS_INIT;
	const uint64_t in = 4ull * 4 * CHANNELS * EDGE * EDGE;
	struct accel_program *program = NULL;
	struct accel_device *dev = NULL;
	struct accel_state *s = NULL;
	struct accel_ctx *ctx = NULL;
	uint64_t before, more, bound;
	int ret;

	opts.threads = THREADS;
	ret = accel_device_open("sw", &opts, &dev);
	if (!ret)
		ret = accel_ctx_create(dev, NULL, &ctx);
	before = most();
	if (!ret)
		ret = accel_program_load(ctx, path, NULL, &program);
	if (!ret)
		ret = accel_state_create(program, &s);
	if (!ret)
		ret = accel_state_set_input(s, 0, 4, DIMS(1, 4 * CHANNELS, EDGE, EDGE), NULL, 0);
	if (!ret)
		ret = accel_state_run(s);
	if (!ret)
		ret = accel_state_get_info(s, &info);
	more = most() - before;
	accel_state_destroy(s);
	accel_program_unref(program);
	accel_ctx_destroy(ctx);
	accel_device_unref(dev);
	if (ret)
		return 2;
	/* Scratch memory of each thread, and 2 MiB for code, plans and the rest of the file */
	bound = info.packed_bytes + info.arena_bytes + in + (THREADS << 21) + (2 << 20);
	printf("%llu KiB of %llu\n", (unsigned long long)more, (unsigned long long)bound / 1024);
	fflush(stdout);
	/* Sanitizers have memory of their own. */
	return more * 1024 > bound && !SANITIZED;
}

/* Packed weights of a file are used where they lie: there is nothing beside them. */
static void test_loaded(void **arg)
{
	const uint64_t plain = ((2ull * 4 + 9) * BLOCKS + 4) * CHANNELS * CHANNELS * sizeof(float);
	struct accel_program_info info = { .size = sizeof(info) };
	char path[] = "/tmp/accel-mapped.XXXXXX";
	struct accel_program *program;
	struct bed *bed = *arg;
	struct accel_state *s;
	int fd, status = -1;
	pid_t pid;
	float *w;

	/* Of one thread, and of memory that sanitizers take more of */
	if (test_races_only())
		skip();
	w = noise_floats(13, 9ull * CHANNELS * CHANNELS + 64);
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	blocks(bed, w);
	program = compile(bed, 3, 0);
	s = new_state(bed, program);
	MUST(accel_state_set_input(s, 0, 4, DIMS(1, 4 * CHANNELS, EDGE, EDGE), NULL, 0));
	MUST(accel_state_run(s));
	MUST(accel_state_get_info(s, &info));
	/* Forms of Winograd's algorithm are 16 for 9, and nothing is there in two. */
	assert_in_range(info.packed_bytes, plain, plain * 25 / 17);
	/* Two that are narrow, and one that is wide: a block's result takes its place. */
	assert_in_range(info.arena_bytes, 1, (1 + 1 + 4) * 4ull * CHANNELS * EDGE * EDGE);
	accel_state_destroy(s);
	MUST(accel_program_save(program, path, ACCEL_PROGRAM_SEEN));
	accel_program_unref(program);
	pid = fork();
	if (!pid) {
		execl("/proc/self/exe", "test_mapped", path, NULL);
		_exit(3);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	unlink(path);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	accel_graph_destroy(bed->graph);
	assert_int_equal(accel_graph_create(&bed->graph), 0);
	free(w);
}

static uint32_t add_copy(struct bed *bed, const void *data, uint32_t type, uint32_t rank,
			 const int64_t *dims)
{
	struct accel_copy_desc copy = ACCEL_COPY_DESC_INIT;
	struct accel_value v = value_of("w", type, rank, dims);
	uint32_t value = 0;

	v.flags = ACCEL_VALUE_MAPPED;
	MUST_GRAPH(accel_graph_constant(bed->graph, &v, data, NULL, NULL, &value));
	copy.d.dtype = ACCEL_F32;
	return add_node(bed, "wide", &copy.hdr, 1, &value);
}

/* All numbers of 16 bits are what they should be when they are folded, and where they are not. */
static void check_numbers(struct bed *bed, uint32_t type, uint32_t off)
{
	uint16_t numbers[65536];
	struct accel_program *program;
	struct accel_value v;
	struct accel_state *s;
	const void *map;
	const float *got;
	float want;
	uint32_t i;

	for (i = 0; i < 65536; i++)
		numbers[i] = (uint16_t)i;
	map = mapped(numbers, sizeof(numbers));
	add_output(bed, "d", add_copy(bed, map, type, 1, DIMS(65536)));
	program = compile(bed, 3, off);
	s = new_state(bed, program);
	MUST(accel_state_run(s));
	got = output(bed, s, 0, &v);
	for (i = 0; i < 65536; i++) {
		want = number_of(numbers[i], type);
		if (isnan(want) ? !isnan(got[i]) : memcmp(&want, &got[i], sizeof(want)))
			fail_msg("%x of type %u, 0x%x off: %g, not %g", i, type, off,
				 (double)got[i], (double)want);
	}
	accel_state_destroy(s);
	accel_program_unref(program);
	accel_graph_destroy(bed->graph);
	assert_int_equal(accel_graph_create(&bed->graph), 0);
	munmap((void *)(uintptr_t)map, sizeof(numbers));
}

static void test_numbers(void **arg)
{
	check_numbers(*arg, ACCEL_F16, 0);
	check_numbers(*arg, ACCEL_BF16, 0);
	check_numbers(*arg, ACCEL_F16, ACCEL_COMPILE_NO_REPACK);
	check_numbers(*arg, ACCEL_BF16, ACCEL_COMPILE_NO_REPACK);
}

/* Two products of the same by weights of 16 bits: what plans have of these, and the results */
static void products(struct bed *bed, const uint16_t *w, const float *a, uint32_t off,
		     struct accel_program_info *info, float *d)
{
	uint32_t x = add_input(bed, "x", ACCEL_F32, 2, DIMS(2, 256)), i;
	struct accel_program *program;
	struct accel_value v;
	struct accel_state *s;

	for (i = 0; i < 2; i++)
		add_output(bed, i ? "d" : "c",
			   add_gemm(bed, "product", x,
				    add_copy(bed, w + i * 65536, ACCEL_F16, 2, DIMS(256, 256))));
	program = compile(bed, 3, off);
	s = new_state(bed, program);
	MUST(accel_state_set_input(s, 0, 2, DIMS(2, 256), NULL, 0));
	fill_input(s, 0, a, 512 * sizeof(*a));
	MUST(accel_state_run(s));
	info->size = sizeof(*info);
	MUST(accel_state_get_info(s, info));
	for (i = 0; i < 2; i++)
		memcpy(d + i * 512, output(bed, s, i, &v), 512 * sizeof(*d));
	accel_state_destroy(s);
	accel_program_unref(program);
	accel_graph_destroy(bed->graph);
	assert_int_equal(accel_graph_create(&bed->graph), 0);
}

/* Without packing there is no copy of weights but that of the product in work. */
static void test_no_repack(void **arg)
{
	uint16_t w[131072];
	const uint16_t *map;
	struct accel_program_info packed, lying;
	float *a = noise_floats(3, 512), d[2][1024], most = 0;
	uint32_t i;

	for (i = 0; i < 131072; i++)
		w[i] = (uint16_t)(0x3000 + i * 40503u % 0x800 + (i % 3 ? 0 : 0x8000));
	map = mapped(w, sizeof(w));
	products(*arg, map, a, 0, &packed, d[0]);
	products(*arg, map, a, ACCEL_COMPILE_NO_REPACK, &lying, d[1]);
	for (i = 0; i < 1024; i++)
		most = fmaxf(most, fabsf(d[0][i]));
	for (i = 0; i < 1024; i++)
		assert_true(fabsf(d[0][i] - d[1][i]) <= 0.00001f * most);
	assert_true(packed.packed_bytes + packed.constant_bytes >= 131072 * sizeof(float));
	assert_int_equal(lying.packed_bytes, 0);
	assert_in_range(lying.constant_bytes, sizeof(w), sizeof(w) + 4096);
	assert_in_range(lying.arena_bytes, 65536 * sizeof(float), 65536 * sizeof(float) + 16384);
	munmap((void *)(uintptr_t)map, sizeof(w));
	free(a);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_numbers, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_no_repack, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_half, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_widened, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_widened_once, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_not_rounded, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_mapped, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_no_repack_narrow, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_loaded, bed_setup, bed_teardown),
	};

	if (argc == 2)
		return run_loaded(argv[1]);

	return cmocka_run_group_tests(tests, NULL, NULL);
}

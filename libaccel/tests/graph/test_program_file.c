// SPDX-License-Identifier: MIT
/*
 * Programs in files: what comes back is the same, to the bit; what does not fit is refused,
 * and says why; what is damaged is never believed. They are in one file, as they share what is
 * saved and how it is compared.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <accel/operator.h>
#include "libaccel/graph/file.h"
#include "graphtest.h"
#include "libaccel/tests/guest.h"

enum { DEEP = 96, WIDE = 80 };

static char path[64];

static int make_path(void **state)
{
	int fd;

	(void)state;
	snprintf(path, sizeof(path), "/tmp/accel-program.XXXXXX");
	fd = mkstemp(path);
	if (fd < 0)
		return -1;
	close(fd);
	return 0;
}

static int drop_path(void **state)
{
	(void)state;
	return unlink(path);
}

/* Numbers that many constants share; those of graphs are used where they are. */
static const float *numbers(void)
{
	static float list[DEEP * WIDE * 9];
	uint32_t i;

	for (i = 0; !list[0] && i < DEEP * WIDE * 9; i++)
		list[DEEP * WIDE * 9 - 1 - i] = noise(7, i) / 8;
	return list;
}

/*
 * Of an image [rows, 8, 12, 12] a convolution with residual, whose shape a constant says; two
 * products and a gather, whose indices are of 64 bits; and the same on the CPU, in binary64.
 */
static void build(struct bed *bed, int64_t rows)
{
	struct accel_shape_desc flat = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_FLATTEN);
	struct accel_shape_desc turn = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_TRANSPOSE);
	struct accel_gather_desc gather = ACCEL_GATHER_DESC_INIT;
	struct accel_conv_desc conv = ACCEL_CONV_DESC_INIT;
	struct accel_copy_desc wide = ACCEL_COPY_DESC_INIT;
	uint32_t x, y, z, i;

	if (rows < 0)
		MUST_GRAPH(accel_graph_symbol(bed->graph, "rows", 1, 64, &rows));
	x = add_input(bed, "image", ACCEL_F32, 4, DIMS(rows, 8, 12, 12));
	for (i = 0; i < 2; i++)
		conv.pad_before[i] = conv.pad_after[i] = 1;
	y = add_node(bed, "conv", &conv.hdr, 2, (uint32_t[]) {
		x, add_const(bed, ACCEL_F32, 4, DIMS(8, 8, 3, 3), numbers())
	});
	y = add_act(bed, "relu", ACCEL_ACT_RELU, add_binary(bed, "sum", ACCEL_BINARY_ADD, x, y));
	flat.axis = 1;
	y = add_node(bed, "flat", &flat.hdr, 1, &y);
	y = add_gemm(bed, "up", y, add_const(bed, ACCEL_F32, 2, DIMS(8 * 12 * 12, 7), numbers()));
	y = add_act(bed, "gelu", ACCEL_ACT_GELU, y);
	z = add_gemm(bed, "down", y, add_const(bed, ACCEL_F32, 2, DIMS(7, WIDE), numbers() + 5));
	gather.axis = 1;
	z = add_node(bed, "pick", &gather.hdr, 2, (uint32_t[]) { z, LIST(0, 3, 79, -1) });
	turn.order[0] = 1;
	add_output(bed, "picked", add_node(bed, "turned", &turn.hdr, 1, &z));
	wide.d.dtype = ACCEL_HOST_F64;
	z = add_node(bed, "wide", &wide.hdr, 1, &y);
	add_output(bed, "wide", add_binary(bed, "twice", ACCEL_BINARY_ADD, z, z));
}

/* The bits of all results, one behind the other */
static uint8_t *results(struct bed *bed, struct accel_program *program, int64_t rows,
			uint64_t *bytes)
{
	struct accel_state *state = new_state(bed, program);
	uint64_t n, size = (uint64_t)rows * 8 * 12 * 12 * sizeof(float);
	float *x = noise_floats(3, (uint64_t)rows * 8 * 12 * 12);
	struct accel_value v;
	uint8_t *all = NULL;
	const void *data;
	uint32_t i;

	*bytes = 0;
	MUST(accel_state_set_input(state, 0, 4, DIMS(rows, 8, 12, 12), NULL, 0));
	fill_input(state, 0, x, size);
	MUST(accel_state_run(state));
	for (i = 0; i < 2; i++) {
		data = output(bed, state, i, &v);
		n = elements(&v) * accel_type_bits(v.type) / 8;
		all = realloc(all, *bytes + n);
		assert_non_null(all);
		memcpy(all + *bytes, data, n);
		*bytes += n;
	}
	accel_state_destroy(state);
	free(x);
	return all;
}

static void assert_same(struct bed *bed, struct accel_program *a, struct accel_program *b,
			int64_t rows)
{
	uint64_t n = 0, m = 0;
	uint8_t *x = results(bed, a, rows, &n), *y = results(bed, b, rows, &m);

	assert_int_equal(n, m);
	assert_memory_equal(x, y, n);
	free(x);
	free(y);
}

static struct accel_program *load(struct bed *bed)
{
	struct accel_program *program = NULL;

	MUST(accel_program_load(bed->ctx, path, NULL, &program));
	return program;
}

static struct accel_program *saved(struct bed *bed, int64_t rows, uint32_t level, uint32_t flags)
{
	struct accel_program *program;
	uint64_t n;

	build(bed, rows);
	program = compile(bed, level, 0);
	free(results(bed, program, rows < 0 ? 3 : rows, &n));
	MUST(accel_program_save(program, path, flags));
	return program;
}

static void refuses(struct bed *bed, const struct accel_compile_opts *opts, int code,
		    const char *field)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_program *program = NULL;

	assert_int_equal(accel_program_load(bed->ctx, path, opts, &program), code);
	accel_ctx_get_error(bed->ctx, &e);
	assert_int_equal(e.code, code);
	assert_string_equal(e.field, field);
	assert_true(e.text[0]);
	assert_null(program);
}

/* --- what comes back --------------------------------------------------------------- */

static void round_trip(struct bed *bed, int64_t rows, uint32_t level, uint32_t flags)
{
	struct accel_program *program = saved(bed, rows, level, flags), *again = load(bed), *third;

	assert_same(bed, program, again, rows < 0 ? 3 : rows);
	/* What was loaded can be written, too. */
	MUST(accel_program_save(again, path, flags));
	third = load(bed);
	accel_program_unref(again);
	assert_same(bed, program, third, rows < 0 ? 3 : rows);
	accel_program_unref(third);
	accel_program_unref(program);
}

static void test_numbers(void **state)
{
	round_trip(*state, 2, 3, 0);
}

static void test_numbers_seen(void **state)
{
	round_trip(*state, 2, 3, ACCEL_PROGRAM_SEEN);
}

static void test_reference(void **state)
{
	round_trip(*state, 2, 0, 0);
}

static void test_symbols(void **state)
{
	round_trip(*state, -1, 3, 0);
}

static void test_symbols_seen(void **state)
{
	round_trip(*state, -1, 3, ACCEL_PROGRAM_SEEN);
}

/* Other numbers need the graph, which the file has, or not. */
static void test_other_numbers(void **arg)
{
	struct bed *bed = *arg;
	struct accel_program *program = saved(bed, -1, 3, 0), *again = load(bed);
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_program_info info = { .size = sizeof(info) };
	struct accel_state *state;

	assert_same(bed, program, again, 5);
	accel_program_unref(again);
	MUST(accel_program_save(program, path, ACCEL_PROGRAM_SEEN));
	again = load(bed);
	assert_same(bed, program, again, 3);
	assert_same(bed, program, again, 5);
	state = new_state(bed, again);
	MUST(accel_state_set_input(state, 0, 4, DIMS(6, 8, 12, 12), NULL, 0));
	assert_int_equal(accel_state_get_info(state, &info), -ENOENT);
	accel_ctx_get_error(bed->ctx, &e);
	assert_non_null(strstr(e.text, "rows = 6"));
	accel_state_destroy(state);
	accel_program_unref(again);
	accel_program_unref(program);
}

/* What is packed stays where the file has it. */
static void test_nothing_is_packed(void **arg)
{
	struct accel_memory_stats stats = { .size = sizeof(stats) };
	struct accel_program_info info = { .size = sizeof(info) };
	struct bed *bed = *arg;
	struct accel_program *program = saved(bed, 1, 3, 0);
	struct accel_state *state;
	uint64_t before;

	accel_program_unref(program);
	assert_int_equal(accel_ctx_get_memory(bed->ctx, &stats), 0);
	before = stats.bo_bytes;
	program = load(bed);
	assert_int_equal(accel_ctx_get_memory(bed->ctx, &stats), 0);
	state = new_state(bed, program);
	MUST(accel_state_get_info(state, &info));
	assert_true(info.packed_bytes > 30000);
	assert_true(stats.bo_bytes - before < 4096);
	accel_state_destroy(state);
	accel_program_unref(program);
}

/* A graph of its own, a result of unknown size, and a symbol */
static void test_dynamic(void **arg)
{
	static const float want[2][4] = { { -2, 0, 4, 6 }, { 0, 0, 2, 3 } };
	struct accel_dynamic_desc when = ACCEL_DYNAMIC_DESC_INIT(ACCEL_DYNAMIC_IF);
	struct accel_dynamic_desc find = ACCEL_DYNAMIC_DESC_INIT(ACCEL_DYNAMIC_NONZERO);
	struct bed *bed = *arg;
	struct accel_graph *outer = bed->graph;
	struct accel_program *program, *again;
	uint32_t yes, x, in[3], out = 0, where = 0, i, k;
	struct accel_value v = { 0 };
	struct accel_state *state;
	const float *y;
	int64_t n;

	for (i = 0; i < 2; i++) {
		assert_int_equal(accel_graph_create(&bed->graph), 0);
		x = add_input(bed, "x", ACCEL_F32, 1, DIMS(4));
		add_output(bed, "y", i ? add_act(bed, "relu", ACCEL_ACT_RELU, x) :
			   add_binary(bed, "twice", ACCEL_BINARY_ADD, x, x));
		*(i ? &when.other : &when.body) = bed->graph;
	}
	bed->graph = outer;
	MUST_GRAPH(accel_graph_symbol(outer, "n", 1, 9, &n));
	yes = add_input(bed, "yes", ACCEL_HOST_BOOL, 1, DIMS(1));
	x = add_input(bed, "x", ACCEL_F32, 1, DIMS(4));
	in[0] = yes;
	in[1] = in[2] = x;
	MUST_GRAPH(accel_graph_dynamic(outer, "if", &when, in, 3, &out, 1));
	MUST_GRAPH(accel_graph_dynamic(outer, "where", &find, &out, 1, &where, 1));
	add_output(bed, "y", out);
	add_output(bed, "where", where);
	program = compile(bed, 3, 0);
	MUST(accel_program_save(program, path, 0));
	assert_int_equal(accel_program_save(program, path, ACCEL_PROGRAM_SEEN), -EINVAL);
	again = load(bed);
	accel_program_unref(program);
	state = new_state(bed, again);
	for (i = 0; i < 2; i++) {
		fill_input(state, 0, &(uint8_t) { !i }, 1);
		fill_input(state, 1, (float[]) { -1, 0, 2, 3 }, 16);
		MUST(accel_state_run(state));
		y = output(bed, state, 0, &v);
		for (k = 0; k < 4; k++)
			assert_true(y[k] == want[i][k]);
		output(bed, state, 1, &v);
		assert_int_equal(v.dims[1], i ? 2 : 3);
	}
	accel_state_destroy(state);
	accel_program_unref(again);
}

/* Who has mapped a file keeps it when there is a new one. */
static void test_replaced(void **arg)
{
	struct bed *bed = *arg;
	struct accel_program *program = saved(bed, 2, 3, 0), *again = load(bed), *other;

	accel_graph_destroy(bed->graph);
	assert_int_equal(accel_graph_create(&bed->graph), 0);
	other = saved(bed, 1, 3, 0);
	assert_same(bed, program, again, 2);
	accel_program_unref(program);
	accel_program_unref(again);
	accel_program_unref(other);
}

/* --- what does not fit ------------------------------------------------------------- */

static void test_options(void **arg)
{
	struct accel_compile_opts opts = ACCEL_COMPILE_OPTS_INIT;
	struct bed *bed = *arg;
	struct accel_program *program = saved(bed, 2, 2, 0), *again = NULL;

	refuses(bed, &opts, -ESTALE, "opts.level");
	opts.level = 2;
	opts.off = 1u << ACCEL_PASS_JOIN;
	refuses(bed, &opts, -ESTALE, "opts.off");
	opts.off = 0;
	opts.engine = ACCEL_ENGINE_GPU;
	refuses(bed, &opts, -ESTALE, "opts.engine");
	opts.engine = 0;
	opts.precision = ACCEL_PRECISION_BF16;
	refuses(bed, &opts, -ESTALE, "opts.precision");
	opts.precision = 0;
	opts.cache = 3;
	MUST(accel_program_load(bed->ctx, path, &opts, &again));
	accel_program_unref(again);
	assert_int_equal(accel_program_save(program, path, 2), -EINVAL);
	assert_int_equal(accel_program_save(program, "/no/such/folder/file", 0), -ENOENT);
	assert_int_equal(accel_program_load(bed->ctx, "/no/such/file", NULL, &again), -ENOENT);
	assert_int_equal(accel_program_load(bed->ctx, "/tmp", NULL, &again), -EBADMSG);
	/* A pipe that nobody writes to is not waited for. */
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(accel_program_load(bed->ctx, path, NULL, &again), -EBADMSG);
	/* Nor is it replaced. */
	assert_int_equal(accel_program_save(program, path, 0), -EEXIST);
	assert_int_equal(unlink(path), 0);
	accel_program_unref(program);
}

static void test_context(void **arg)
{
	struct accel_ctx_opts opts = ACCEL_CTX_OPTS_INIT;
	struct bed *bed = *arg;

	accel_program_unref(saved(bed, 2, 3, 0));
	accel_ctx_destroy(bed->ctx);
	opts.flags = ACCEL_CTX_REPRODUCIBLE;
	assert_int_equal(accel_ctx_create(bed->dev, &opts, &bed->ctx), 0);
	refuses(bed, NULL, -ESTALE, "reproducible");
}

static void open_other(struct bed *bed, const char *device)
{
	accel_ctx_destroy(bed->ctx);
	accel_device_unref(bed->dev);
	assert_int_equal(accel_device_open(device, NULL, &bed->dev), 0);
	assert_int_equal(accel_ctx_create(bed->dev, NULL, &bed->ctx), 0);
}

static void test_other_device(void **arg)
{
	const char *was = getenv("ACCEL_SW_KERNELS");
	struct accel_device_info info = { .size = sizeof(info) };
	struct bed *bed = *arg;
	bool portable;

	accel_program_unref(saved(bed, 2, 3, 0));
	assert_int_equal(accel_device_get_info(bed->dev, &info), 0);
	portable = !strcmp(info.kernels, "portable");
	open_other(bed, "sw:m1");
	refuses(bed, NULL, -ESTALE, "profile");
	if (was || portable)
		return;
	setenv("ACCEL_SW_KERNELS", "portable", 1);
	open_other(bed, "sw");
	unsetenv("ACCEL_SW_KERNELS");
	refuses(bed, NULL, -ESTALE, "kernels");
}

/* --- what is damaged --------------------------------------------------------------- */

static uint8_t *read_file(uint64_t *bytes)
{
	struct stat st = { 0 };
	uint8_t *data;
	int fd;

	/* What is damaged is read by one thread. */
	if (test_races_only())
		skip();
	fd = open(path, O_RDONLY);
	assert_true(fd >= 0 && !fstat(fd, &st));
	*bytes = (uint64_t)st.st_size;
	data = malloc(*bytes);
	assert_non_null(data);
	assert_int_equal(read(fd, data, *bytes), *bytes);
	close(fd);
	return data;
}

static void write_file(const uint8_t *data, uint64_t bytes)
{
	int fd = open(path, O_WRONLY | O_TRUNC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, bytes), bytes);
	close(fd);
}

/* It is refused, or gives what it gave: nothing looks at what lies between parts. */
static bool survives(struct bed *bed, struct accel_program *program)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_program *again = NULL;
	int ret = accel_program_load(bed->ctx, path, NULL, &again);

	if (ret) {
		assert_true(ret == -EBADMSG || ret == -ESTALE || ret == -ENODATA);
		accel_ctx_get_error(bed->ctx, &e);
		assert_true(e.code == ret && e.text[0]);
		return false;
	}
	assert_same(bed, program, again, 1);
	accel_program_unref(again);
	return true;
}

static void test_cut(void **arg)
{
	struct bed *bed = *arg;
	struct accel_program *program = saved(bed, 1, 3, 0);
	uint64_t bytes = 0, n;
	uint8_t *data = read_file(&bytes);

	for (n = 0; n < bytes; n += n < 4096 ? 37 : 977) {
		write_file(data, n);
		assert_false(survives(bed, program));
	}
	write_file(data, bytes);
	assert_true(survives(bed, program));
	free(data);
	accel_program_unref(program);
}

static void test_flipped(void **arg)
{
	struct bed *bed = *arg;
	struct accel_program *program = saved(bed, 1, 3, 0);
	uint64_t bytes = 0, at, refused = 0, all = 0;
	uint8_t *data = read_file(&bytes);

	for (at = 0; at < bytes; at += at < 6000 ? 11 : 211) {
		data[at] ^= (uint8_t)(1u << at % 8);
		write_file(data, bytes);
		refused += !survives(bed, program);
		all++;
		data[at] ^= (uint8_t)(1u << at % 8);
	}
	print_message("%llu of %llu refused\n", (unsigned long long)refused,
		      (unsigned long long)all);
	assert_true(refused > all / 4);
	free(data);
	accel_program_unref(program);
}

/* As who writes a file can have it: with digests that are right again */
static void sum_up(uint8_t *data)
{
	const struct store_digest zero = { { 0 } };
	struct program_header h;

	memcpy(&h, data, sizeof(h));
	h.meta = store_sum(zero, data + sizeof(h), h.meta_bytes);
	memset(&h.sum, 0, sizeof(h.sum));
	h.sum = store_sum(zero, &h, sizeof(h));
	memcpy(data, &h, sizeof(h));
}

/* No number of a node counts before it was looked at: a bit of each byte, in turn. */
static void test_hostile(void **arg)
{
	struct accel_operator_desc d = ACCEL_OPERATOR_DESC_INIT;
	const int64_t dims[] = { 3, 5 };
	const struct accel_attr attr = { "dims", ACCEL_ATTR_INTS, 0, 2, dims, NULL };
	struct bed *bed = *arg;
	struct accel_program *program;
	struct program_header h;
	uint64_t bytes = 0, at, end, all;
	uint32_t x, drawn = 0, loaded = 0;
	uint8_t *data;

	d.domain = ACCEL_RANDOM_DOMAIN;
	d.name = ACCEL_RANDOM;
	d.attrs = &attr;
	d.attr_count = 1;
	/* It reads nothing. */
	MUST_GRAPH(accel_graph_operator(bed->graph, "drawn", NULL, &d, NULL, 0, &drawn, 1));
	x = add_input(bed, "x", ACCEL_F32, 2, dims);
	add_output(bed, "y", add_binary(bed, "sum", ACCEL_BINARY_ADD, x, drawn));
	program = compile(bed, 3, 0);
	MUST(accel_program_save(program, path, 0));
	accel_program_unref(program);
	data = read_file(&bytes);
	memcpy(&h, data, sizeof(h));
	for (end = sizeof(h) + h.meta_bytes; memcmp(data + end, "sum", 4); end--)
		;
	for (at = end; memcmp(data + at, "drawn", 6); at--)
		;
	for (all = end - at; at < end; at++) {
		data[at] ^= 0x80;
		sum_up(data);
		write_file(data, bytes);
		program = NULL;
		if (!accel_program_load(bed->ctx, path, NULL, &program))
			loaded++;
		accel_program_unref(program);
		data[at] ^= 0x80;
	}
	/* Rules say nothing that would be wrong. */
	assert_true(loaded >= 8 && loaded < all);
	free(data);
}

/* A run of what may not be believed; the nodes that have something to do, 0: it does not run */
static uint32_t try_run(struct bed *bed, struct accel_program *program)
{
	struct accel_program_info info = { .size = sizeof(info) };
	struct accel_state *state = new_state(bed, program);

	if (!accel_state_run(state))
		MUST(accel_state_get_info(state, &info));
	accel_state_destroy(state);
	return info.node_count;
}

/*
 * What is written where it is put together comes back so, and nothing else is believed to be a
 * part of something: a bit of each byte, in turn.
 */
static void test_parts(void **arg)
{
	struct accel_concat_desc d = ACCEL_CONCAT_DESC_INIT;
	struct accel_program *program, *again = NULL;
	uint64_t bytes = 0, at, idle = 0;
	struct program_header h;
	struct bed *bed = *arg;
	uint32_t x, y;
	uint8_t *data;

	x = add_input(bed, "image", ACCEL_F32, 4, DIMS(1, 8, 12, 12));
	d.axis = d.count = 2;
	y = add_unary(bed, "sin", ACCEL_UNARY_SIN, x);
	y = add_node(bed, "two", &d.hdr, 2,
		     (uint32_t[]) { y, add_unary(bed, "cos", ACCEL_UNARY_COS, x) });
	add_output(bed, "y", add_unary(bed, "sin", ACCEL_UNARY_SIN, y));
	add_output(bed, "z", add_node(bed, "three", &d.hdr, 2, (uint32_t[]) {
		y, add_unary(bed, "exp", ACCEL_UNARY_EXP, x)
	}));
	program = compile(bed, 3, 0);
	assert_int_equal(try_run(bed, program), 4);
	MUST(accel_program_save(program, path, ACCEL_PROGRAM_SEEN));
	again = load(bed);
	assert_int_equal(try_run(bed, again), 4);
	assert_same(bed, program, again, 1);
	accel_program_unref(again);
	accel_program_unref(program);
	data = read_file(&bytes);
	memcpy(&h, data, sizeof(h));
	for (at = sizeof(h); at < sizeof(h) + h.meta_bytes; at++, again = NULL) {
		data[at] ^= (uint8_t)(1u << at % 8);
		sum_up(data);
		write_file(data, bytes);
		if (!accel_program_load(bed->ctx, path, NULL, &again))
			idle += try_run(bed, again) == 4;
		accel_program_unref(again);
		data[at] ^= (uint8_t)(1u << at % 8);
	}
	assert_true(idle && idle < h.meta_bytes);
	free(data);
}

/* A constant that only other numbers need is looked at when these come. */
static void test_source_damaged(void **arg)
{
	struct bed *bed = *arg;
	struct accel_program *program = saved(bed, -1, 3, 0), *again;
	struct accel_program_info info = { .size = sizeof(info) };
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_state *state;
	uint64_t bytes = 0, at;
	uint8_t *data = read_file(&bytes), *found;

	found = memmem(data, bytes, numbers(), 8 * 12 * 12 * 7 * sizeof(float));
	assert_non_null(found);
	at = (uint64_t)(found - data);
	data[at + 12] ^= 1;
	write_file(data, bytes);
	again = load(bed);
	assert_same(bed, program, again, 3);
	state = new_state(bed, again);
	MUST(accel_state_set_input(state, 0, 4, DIMS(6, 8, 12, 12), NULL, 0));
	assert_int_equal(accel_state_get_info(state, &info), -EBADMSG);
	accel_ctx_get_error(bed->ctx, &e);
	assert_non_null(strstr(e.text, "checksum"));
	accel_state_destroy(state);
	/* Written again it would have a checksum that fits. */
	assert_int_equal(accel_program_save(again, path, 0), -EBADMSG);
	accel_ctx_get_error(bed->ctx, &e);
	assert_non_null(strstr(e.text, "checksum"));
	accel_program_unref(again);
	accel_program_unref(program);
	free(data);
}

/*
 * What a node was made for is said by those who made it, and by those who have their file alone:
 * also without a name, with one that another has, and without the graph.
 */
static void test_source(void **arg)
{
	static const struct {
		const char *name, *source, *text;
	} nodes[] = {
		{ "taken", "Take", "node taken (Take): index 4 is not within 4 elements" },
		{ NULL, "Pick", "node without a name (Pick): index 4 is not within 4 elements" },
		{ "taken", "Find", "node taken (Find): index 4 is not within 4 elements" },
		{ "other", NULL, "node other (gather): index 4 is not within 4 elements" },
	};
	static const uint32_t flags[] = { 0, 0, ACCEL_PROGRAM_SEEN };
	struct accel_gather_desc d = ACCEL_GATHER_DESC_INIT;
	const int32_t wrong[] = { 1, 4 }, right[] = { 1, 2 };
	const uint32_t count = ARRAY_SIZE(nodes);
	struct accel_error e = ACCEL_ERROR_INIT;
	const float rows[4] = { 0 };
	struct bed *bed = *arg;
	struct accel_program *program;
	struct accel_state *state;
	uint32_t x, i, k, again;

	x = add_input(bed, "x", ACCEL_F32, 2, DIMS(4, 1));
	for (i = 0; i < count; i++) {
		k = add_input(bed, NULL, ACCEL_S32, 1, DIMS(2));
		MUST_GRAPH(accel_graph_set_source(bed->graph, nodes[i].source));
		k = add_node(bed, nodes[i].name, &d.hdr, 2, (uint32_t[]) { x, k });
		add_output(bed, NULL, k);
	}
	program = compile(bed, 3, 0);
	for (again = 0; again < ARRAY_SIZE(flags); again++) {
		if (again) {
			MUST(accel_program_save(program, path, flags[again]));
			accel_program_unref(program);
			program = load(bed);
		}
		for (i = 0; i < count; i++) {
			state = new_state(bed, program);
			fill_input(state, 0, rows, sizeof(rows));
			for (k = 0; k < count; k++)
				fill_input(state, 1 + k, k == i ? wrong : right, sizeof(wrong));
			assert_int_equal(accel_state_run(state), -EFAULT);
			MUST(accel_ctx_get_error(bed->ctx, &e));
			assert_string_equal(e.text, nodes[i].text);
			accel_state_destroy(state);
		}
	}
	accel_program_unref(program);
}

#define TEST(name)	cmocka_unit_test_setup_teardown(name, bed_setup, bed_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_numbers),
		TEST(test_numbers_seen),
		TEST(test_reference),
		TEST(test_symbols),
		TEST(test_symbols_seen),
		TEST(test_other_numbers),
		TEST(test_nothing_is_packed),
		TEST(test_dynamic),
		TEST(test_replaced),
		TEST(test_options),
		TEST(test_context),
		TEST(test_other_device),
		TEST(test_cut),
		TEST(test_flipped),
		TEST(test_hostile),
		TEST(test_parts),
		TEST(test_source_damaged),
		TEST(test_source),
	};

	return cmocka_run_group_tests_name("program_file", tests, make_path, drop_path);
}

// SPDX-License-Identifier: MIT
/*
 * run_models [-v] [--vectors N] [--data DIR] [--newer DIR [--later]] [--level N]
 *	      [--table FILE] [--write FILE] [PATTERN]
 *
 * Opens the models of ONNX's vectors whose names contain PATTERN, as a user does, and
 * holds the results against those that the vectors bring. TAP: a line for each vector, one
 * that is not supported is skipped and says why; then the operators that passed, and, with
 * --vectors, whether there are as many as there should be; with --table, whether the manual's
 * table, which --write writes, has these operators and no others. --newer names vectors of a newer
 * version, which are counted separately; with --later it is later than what this tree was held
 * against, and those that fail are skipped. Environment: ACCEL_TEST_DEVICE.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <accel/model.h>
#include "libaccel/tests/oracle/oracle.h"
#include "../guest.h"
#include "read.h"
#include "table.h"

#ifndef ONNX_DATA
#define ONNX_DATA "/usr/share/libonnx-testdata/data"
#endif

/* What ONNX's own runner allows. */
#define RTOL	0.001
#define ATOL	0.0000001

static const char *const categories[] = {
	"node", "simple", "pytorch-converted", "pytorch-operator"
};

/**
 * struct defect - a vector that contradicts its own model or the text of its operator, or whose
 * values have no fixed rank; skipped also where it passes, as ten random bits do once in a
 * thousand runs
 * @name: how its name begins
 * @why: how
 * @newer: of the newer set alone
 */
static const struct defect {
	const char *name;
	const char *why;
	bool newer;
} defects[] = {
	{ "test_bernoulli", "its numbers are from no seed that it says" },
	{ "test_adam_multiple", "its numbers are those of an epsilon that its model lacks" },
	{ "test_cast_FLOAT_to_BFLOAT16", "its numbers are cut off, not rounded" },
	{ "test_castlike_BFLOAT16_to_FLOAT", "an input has not the dimensions of the model" },
	{ "test_castlike_FLOAT_to_BFLOAT16", "an input has not the dimensions of the model" },
	{ "test_affine_grid_2d_align_corners_expanded", "numbers of an input decide on ranks" },
	{ "test_affine_grid_2d_expanded", "numbers of an input decide on ranks" },
	{ "test_affine_grid_3d_align_corners_expanded", "numbers of an input decide on ranks" },
	{ "test_affine_grid_3d_expanded", "numbers of an input decide on ranks" },
	{ "test_l2normalization_axis_0", "it divides by a norm of 0, where the result is 0" },
	{ "test_dft_inverse", "its zeros are errors of rounding", true },
	{ "test_qlinearmatmul_2D_int8_float", "its numbers wrap around, where they are saturated" },
	{ "test_qlinearmatmul_3D_int8_float", "its numbers wrap around, where they are saturated" },
};

/**
 * struct vector - a vector being run
 * @proto: the file, as another reader has it
 * @model: model
 * @state: state of its program
 * @ret: 0, -EOPNOTSUPP: it asks for what there is not, any other: failed
 * @why: one sentence
 */
struct vector {
	Onnx__ModelProto *proto;
	struct accel_model *model;
	struct accel_state *state;
	int ret;
	char why[300];
};

static struct accel_ctx *ctx;
static struct accel_compile_opts compile_opts = ACCEL_COMPILE_OPTS_INIT;
static uint32_t tests, failures, passed[SET_COUNT], skipped;
static bool verbose, later;

static void tap(bool ok, const char *name, const char *note)
{
	tests++;
	failures += ok ? 0 : 1;
	printf("%s %u - %s%s\n", ok ? "ok" : "not ok", tests, name, note);
}

static int __attribute__((format(printf, 3, 4)))
fail(struct vector *v, int code, const char *fmt, ...)
{
	va_list ap;

	if (v->ret)
		return v->ret;
	v->ret = code;
	va_start(ap, fmt);
	vsnprintf(v->why, sizeof(v->why), fmt, ap);
	va_end(ap);
	return code;
}

static int fail_ctx(struct vector *v, int code)
{
	struct accel_error e = ACCEL_ERROR_INIT;

	accel_ctx_get_error(ctx, &e);
	return fail(v, code, "%.63s: %.200s", e.field, e.text);
}

/* --- numbers ------------------------------------------------------------------------- */

/* Type of the library for a type of files, 0: it has none. */
static uint32_t library_type(uint32_t type)
{
	static const uint32_t types[] = {
		[T_FLOAT] = ACCEL_F32, [T_UINT8] = ACCEL_U8, [T_INT8] = ACCEL_S8,
		[T_UINT16] = ACCEL_HOST_U16, [T_INT16] = ACCEL_HOST_S16, [T_INT32] = ACCEL_S32,
		[T_INT64] = ACCEL_HOST_S64, [T_BOOL] = ACCEL_HOST_BOOL, [T_FLOAT16] = ACCEL_F16,
		[T_DOUBLE] = ACCEL_HOST_F64, [T_UINT32] = ACCEL_HOST_U32,
		[T_UINT64] = ACCEL_HOST_U64, [T_BFLOAT16] = ACCEL_BF16,
		[T_UINT4] = ACCEL_U4, [T_INT4] = ACCEL_S4
	};

	return type < ARRAY_SIZE(types) ? types[type] : 0;
}

static bool is_real(uint32_t type)
{
	return type == ACCEL_F32 || type == ACCEL_F16 || type == ACCEL_BF16 ||
	       type == ACCEL_HOST_F64;
}

static void put(uint32_t type, void *data, uint64_t n, const struct raw *raw)
{
	double real = is_real(type) ? raw->f[n] : 0;
	uint64_t bits = is_real(type) ? 0 : (uint64_t)raw->i[n];
	float f = (float)real;
	size_t size = accel_type_bits(type) / 8;
	uint8_t *p;

	switch (type) {
	case ACCEL_F32:
		memcpy(&bits, &f, sizeof(f));
		break;
	case ACCEL_F16:
		bits = oracle_f16_bits(real);
		break;
	case ACCEL_BF16:
		memcpy(&bits, &f, sizeof(f));
		bits >>= 16;
		break;
	case ACCEL_HOST_F64:
		memcpy(&bits, &real, sizeof(real));
		break;
	case ACCEL_S4:
	case ACCEL_U4:
		/* They come in order, so that what the upper half had does not matter. */
		bits = (bits & 15) << n % 2 * 4;
		p = (uint8_t *)data + n / 2;
		*p = (uint8_t)(n % 2 ? *p | bits : bits);
		return;
	}
	memcpy((char *)data + n * size, &bits, size);
}

/* As a number, or, of an integer, sign-extended bits. */
static double get(uint32_t type, const void *data, uint64_t n, int64_t *integer)
{
	size_t size = accel_type_bits(type) / 8;
	uint64_t bits = 0;
	uint32_t wide;
	double d;
	float f;

	memcpy(&bits, (const char *)data + n * size, size);
	*integer = (int64_t)bits;
	switch (type) {
	case ACCEL_S4:
	case ACCEL_U4:
		*integer = half_at(type == ACCEL_S4 ? T_INT4 : T_UINT4, data, n);
		break;
	case ACCEL_F32:
		memcpy(&f, &bits, sizeof(f));
		return (double)f;
	case ACCEL_F16:
		return oracle_f16_value((uint16_t)bits);
	case ACCEL_BF16:
		wide = (uint32_t)bits << 16;
		memcpy(&f, &wide, sizeof(f));
		return (double)f;
	case ACCEL_HOST_F64:
		memcpy(&d, &bits, sizeof(d));
		return d;
	case ACCEL_S8:
		*integer = (int8_t)bits;
		break;
	case ACCEL_HOST_S16:
		*integer = (int16_t)bits;
		break;
	case ACCEL_S32:
		*integer = (int32_t)bits;
		break;
	}
	return 0;
}

static bool close_enough(double got, double want)
{
	if (isnan(want) || isnan(got))
		return isnan(want) && isnan(got);
	if (isinf(want) || isinf(got))
		return want == got;
	return fabs(got - want) <= ATOL + RTOL * fabs(want);
}

/* Is it what the vector says: type, shape, every element? */
static bool compare(const struct accel_value *got, const void *data, const struct raw *want,
		    char *why, size_t size)
{
	uint32_t type = library_type(want->type), i;
	int64_t integer;
	double real;
	uint64_t n;

	if (got->type != type) {
		snprintf(why, size, "the type is %s, should be %s", accel_type_name(got->type),
			 type_name(want->type));
		return false;
	}
	if (got->rank != want->rank) {
		snprintf(why, size, "%u dimensions, should be %u", got->rank, want->rank);
		return false;
	}
	for (i = 0; i < got->rank; i++)
		if (got->dims[i] != want->dims[i]) {
			snprintf(why, size, "dimension %u is %" PRId64 ", should be %" PRId64, i,
				 got->dims[i], want->dims[i]);
			return false;
		}
	for (n = 0; n < want->count; n++) {
		real = get(type, data, n, &integer);
		if (is_real(type) ? close_enough(real, want->f[n]) : integer == want->i[n])
			continue;
		snprintf(why, size, "element %" PRIu64 " is %.9g, should be %.9g", n,
			 is_real(type) ? real : (double)integer,
			 is_real(type) ? want->f[n] : (double)want->i[n]);
		return false;
	}
	return true;
}

/* --- a vector -------------------------------------------------------------------------- */

static bool is_list(const Onnx__ValueInfoProto *info)
{
	return info->type && info->type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
}

/* The tensors of a file: one, or those of a sequence or an optional value */
static int read_tensors(struct vector *v, const char *dir, const char *kind, uint32_t n,
			bool many, struct tensors *list)
{
	char path[4096];
	size_t size;
	void *buf;
	bool ok;

	snprintf(path, sizeof(path), "%s/%s_%u.pb", dir, kind, n);
	buf = read_file(path, &size);
	ok = buf && list->count < MAX_TENSORS;
	if (ok && many) {
		ok = tensors_from(buf, size, list);
	} else if (ok) {
		list->v[list->count] = onnx__tensor_proto__unpack(NULL, size, buf);
		ok = list->v[list->count];
		list->count += ok;
	}
	free(buf);
	return ok ? 0 : fail(v, -EBADMSG, "%s_%u.pb cannot be read", kind, n);
}

static bool is_constant(const Onnx__GraphProto *graph, const char *name)
{
	size_t i;

	for (i = 0; i < graph->n_initializer; i++)
		if (graph->initializer[i]->name && !strcmp(graph->initializer[i]->name, name))
			return true;
	return false;
}

/* All tensors of the inputs, or the outputs, in the order of the file */
static int read_all(struct vector *v, const char *dir, bool outputs, struct tensors *list)
{
	const Onnx__GraphProto *graph = v->proto->graph;
	Onnx__ValueInfoProto **info = outputs ? graph->output : graph->input;
	const size_t count = outputs ? graph->n_output : graph->n_input;
	uint32_t n = 0;
	size_t i;

	for (i = 0; i < count && !v->ret; i++)
		if (outputs || !is_constant(graph, info[i]->name))
			read_tensors(v, dir, outputs ? "output" : "input", n++,
				     is_list(info[i]), list);
	return v->ret;
}

static int read_numbers(struct vector *v, const struct tensors *list, uint32_t n, const char *kind,
			uint32_t declared, struct raw *raw)
{
	int ret;

	if (n >= list->count)
		return fail(v, -EBADMSG, "there are %u %ss", list->count, kind);
	ret = raw_from_proto(list->v[n], declared, raw);
	return ret ? fail(v, ret, "%s %u is not of numbers", kind, n) : 0;
}

static void set_inputs(struct vector *v, struct accel_program *program,
		       const struct tensors *list)
{
	struct accel_value in = ACCEL_VALUE_INIT;
	struct raw raw = { 0 };
	uint32_t i, type;
	uint64_t n;
	void *data;
	int ret;

	for (i = 0; !v->ret && !accel_program_get_input(program, i, &in); i++) {
		if (read_numbers(v, list, i, "input", in.type == ACCEL_BF16 ? T_BFLOAT16 : 0,
				 &raw))
			return;
		type = library_type(raw.type);
		if (type != in.type)
			fail(v, -EBADMSG, "input %u is %s in the model", i,
			     accel_type_name(in.type));
		ret = v->ret ? 0 :
		      accel_state_set_input(v->state, i, raw.rank, raw.dims, NULL, 0);
		if (ret)
			fail_ctx(v, ret);
		/* What a file gives no number for is one element at least. */
		if (!v->ret && raw.rank && !raw.count && in.dims[0] < 0)
			fail(v, -EOPNOTSUPP, "input %u has no elements, where a symbol has", i);
		data = v->ret ? NULL : accel_state_get_input(v->state, i, NULL);
		for (n = 0; data && n < raw.count; n++)
			put(type, data, n, &raw);
		raw_free(&raw);
	}
}

static void load_inputs(struct vector *v, struct accel_program *program, const char *dir)
{
	struct tensors list = { 0 };

	if (!read_all(v, dir, false, &list))
		set_inputs(v, program, &list);
	tensors_free(&list);
}

static void check_outputs(struct vector *v, const char *dir)
{
	struct accel_value out = ACCEL_VALUE_INIT;
	struct tensors list = { 0 };
	const void *data;
	struct raw raw;
	char why[200];
	uint32_t i;

	read_all(v, dir, true, &list);
	for (i = 0; !v->ret && !accel_state_get_output(v->state, i, &out, &data); i++) {
		if (read_numbers(v, &list, i, "output", out.type == ACCEL_BF16 ? T_BFLOAT16 : 0,
				 &raw))
			break;
		if (!compare(&out, data, &raw, why, sizeof(why)))
			fail(v, -EBADMSG, "output %u: %s", i, why);
		raw_free(&raw);
	}
	if (!v->ret && (!i || i != list.count))
		fail(v, -EBADMSG, "it has %u outputs, should have %u", i, list.count);
	tensors_free(&list);
}

/* What a user says of sequences and optional values, which the first data set has */
static int say_inputs(struct vector *v, const char *dir, struct accel_model_opts *opts,
		      struct tensors *list)
{
	static struct accel_model_input said[MAX_TENSORS];
	static struct accel_value values[MAX_TENSORS];
	const Onnx__GraphProto *graph = v->proto->graph;
	uint32_t n = 0, first, k;
	size_t i, d;

	opts->inputs = said;
	for (i = 0; i < graph->n_input && n < MAX_TENSORS && !v->ret; i++) {
		if (is_constant(graph, graph->input[i]->name))
			continue;
		first = list->count;
		read_tensors(v, dir, "input", n++, is_list(graph->input[i]), list);
		if (!is_list(graph->input[i]))
			continue;
		for (k = first; k < list->count; k++) {
			values[k] = (struct accel_value) { .size = sizeof(values[k]) };
			values[k].rank = (uint32_t)list->v[k]->n_dims;
			for (d = 0; d < list->v[k]->n_dims && d < ACCEL_GRAPH_MAX_RANK; d++)
				values[k].dims[d] = list->v[k]->dims[d];
		}
		said[opts->input_count++] = (struct accel_model_input) {
			.size = sizeof(said[0]), .name = graph->input[i]->name,
			.count = list->count - first, .values = values + first,
			.flags = graph->input[i]->type->value_case ==
				 ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE && first == list->count ?
				 ACCEL_MODEL_ABSENT : 0,
		};
	}
	return v->ret;
}

static void open_vector(struct vector *v, const char *dir, const char *name)
{
	struct accel_model_opts opts = ACCEL_MODEL_OPTS_INIT;
	struct accel_error e = ACCEL_ERROR_INIT;
	struct tensors list = { 0 };
	char path[2048];
	size_t size;
	void *buf;
	int ret;

	snprintf(path, sizeof(path), "%s/%s/model.onnx", dir, name);
	buf = read_file(path, &size);
	v->proto = buf ? onnx__model_proto__unpack(NULL, size, buf) : NULL;
	free(buf);
	if (!v->proto || !v->proto->graph) {
		fail(v, -EBADMSG, "model.onnx cannot be read");
		return;
	}
	snprintf(path, sizeof(path), "%s/%s/test_data_set_0", dir, name);
	if (!say_inputs(v, path, &opts, &list)) {
		snprintf(path, sizeof(path), "%s/%s/model.onnx", dir, name);
		ret = accel_model_open_opts(path, &opts, &e, &v->model);
		if (ret)
			fail(v, ret, "%.250s", e.text);
	}
	tensors_free(&list);
}

static void run_data_sets(struct vector *v, const char *dir, const char *name)
{
	struct accel_program *program = NULL;
	char path[2048];
	struct stat st;
	uint32_t set;
	int ret;

	ret = accel_graph_compile(ctx, accel_model_graph(v->model), &compile_opts, &program);
	if (!ret)
		ret = accel_state_create(program, &v->state);
	if (ret)
		fail_ctx(v, ret);
	for (set = 0; !v->ret; set++) {
		snprintf(path, sizeof(path), "%s/%s/test_data_set_%u", dir, name, set);
		if (stat(path, &st))
			break;
		load_inputs(v, program, path);
		if (v->ret)
			break;
		ret = accel_state_run(v->state);
		if (ret)
			fail_ctx(v, ret);
		check_outputs(v, path);
	}
	if (!set)
		fail(v, -EBADMSG, "no data");
	accel_state_destroy(v->state);
	accel_program_unref(program);
}

static void run_vector(const char *category, const char *dir, const char *name, enum set set)
{
	struct vector v = { 0 };
	char path[2048], note[400] = "", title[300];
	struct stat st;
	uint32_t i;

	snprintf(path, sizeof(path), "%s/%s/model.onnx", dir, name);
	if (stat(path, &st))
		return;
	open_vector(&v, dir, name);
	if (!v.ret)
		run_data_sets(&v, dir, name);
	for (i = 0; i < ARRAY_SIZE(defects); i++)
		if (!strncmp(name, defects[i].name, strlen(defects[i].name)) &&
		    (set == SET_NEWER || !defects[i].newer)) {
			v.ret = -EOPNOTSUPP;
			snprintf(v.why, sizeof(v.why), "%s", defects[i].why);
		}
	if (v.ret && v.ret != -EOPNOTSUPP && later && set) {
		printf("# %d: %s\n", v.ret, v.why);
		v.ret = -EOPNOTSUPP;
		snprintf(v.why, sizeof(v.why), "later than what this tree was held against");
	}
	snprintf(title, sizeof(title), "%s%s %s", set ? "newer " : "", category, name);
	if (v.ret == -EOPNOTSUPP)
		snprintf(note, sizeof(note), " # SKIP %s", v.why);
	tap(!v.ret || v.ret == -EOPNOTSUPP, title, note);
	if (v.ret && v.ret != -EOPNOTSUPP)
		printf("# %d: %s\n", v.ret, v.why);
	passed[set] += !v.ret;
	skipped += v.ret == -EOPNOTSUPP;
	table_count(v.model, set, !v.ret);
	accel_model_close(v.model);
	if (v.proto)
		onnx__model_proto__free_unpacked(v.proto, NULL);
}

static int is_vector(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

static void run_category(const char *data, const char *category, const char *pattern, enum set set)
{
	struct dirent **list;
	char dir[1024];
	int n, i;

	snprintf(dir, sizeof(dir), "%s/%s", data, category);
	n = scandir(dir, &list, is_vector, alphasort);
	if (n < 0) {
		tap(later && set, category, later && set ? " # SKIP a later version has no such" :
		    " # there are no vectors: is libonnx-testdata installed?");
		return;
	}
	for (i = 0; i < n; i++) {
		if (!pattern || strstr(list[i]->d_name, pattern)) {
			if (verbose)
				fprintf(stderr, "%s\n", list[i]->d_name);
			run_vector(category, dir, list[i]->d_name, set);
			fflush(stdout);
		}
		free(list[i]);
	}
	free(list);
}

/* A judge that never says no would be worth nothing. */
static void judge_the_judge(void)
{
	struct accel_value v = { sizeof(v), ACCEL_F32, 2, 0, { 1, 2 }, NULL };
	float data[2] = { 1.0009f, -3 };
	double numbers[2] = { 1, -3 };
	struct raw want = {
		.type = T_FLOAT, .rank = 2, .dims = { 1, 2 }, .count = 2, .f = numbers
	};
	char why[200];
	bool ok;

	ok = compare(&v, data, &want, why, sizeof(why));
	data[0] = 1.002f;
	ok = ok && !compare(&v, data, &want, why, sizeof(why));
	data[0] = NAN;
	ok = ok && !compare(&v, data, &want, why, sizeof(why));
	data[0] = 1;
	want.type = T_DOUBLE;
	ok = ok && !compare(&v, data, &want, why, sizeof(why));
	want.type = T_FLOAT;
	want.dims[0] = 2;
	ok = ok && !compare(&v, data, &want, why, sizeof(why));
	want.rank = 1;
	ok = ok && !compare(&v, data, &want, why, sizeof(why));
	tap(ok, "wrong values, types and shapes are found", "");
}

int main(int argc, char **argv)
{
	const char *data[SET_COUNT] = { ONNX_DATA }, *pattern = NULL, *table = NULL, *to = NULL;
	struct accel_device *dev;
	char title[120];
	long vectors = 0;
	enum set set;
	struct stat st;
	uint32_t i;
	bool ok;
	int k;

	for (k = 1; k < argc; k++) {
		if (!strcmp(argv[k], "-v"))
			verbose = true;
		else if (!strcmp(argv[k], "--vectors") && k + 1 < argc)
			vectors = strtol(argv[++k], NULL, 10);
		else if (!strcmp(argv[k], "--level") && k + 1 < argc)
			compile_opts.level = (uint32_t)strtoul(argv[++k], NULL, 10);
		else if (!strcmp(argv[k], "--data") && k + 1 < argc)
			data[SET_INSTALLED] = argv[++k];
		else if (!strcmp(argv[k], "--newer") && k + 1 < argc)
			data[SET_NEWER] = argv[++k];
		else if (!strcmp(argv[k], "--later"))
			later = true;
		else if (!strcmp(argv[k], "--table") && k + 1 < argc)
			table = argv[++k];
		else if (!strcmp(argv[k], "--write") && k + 1 < argc)
			to = argv[++k];
		else
			pattern = argv[k];
	}
	if (accel_device_open(test_device("sw:full"), NULL, &dev) ||
	    accel_ctx_create(dev, NULL, &ctx)) {
		printf("1..0\nBail out! no device\n");
		return 1;
	}
	judge_the_judge();
	if (data[SET_NEWER] && stat(data[SET_NEWER], &st)) {
		tap(true, "newer vectors", " # SKIP scripts/vectors.sh could not fetch them");
		data[SET_NEWER] = NULL;
	}
	for (set = 0; set < SET_COUNT; set++)
		for (i = 0; data[set] && i < ARRAY_SIZE(categories); i++)
			run_category(data[set], categories[i], pattern, set);
	table_print();
	printf("# vectors: %u passed, newer ones: %u, not supported: %u\n", passed[SET_INSTALLED],
	       passed[SET_NEWER], skipped);
	if (to)
		tap(table_write(to), "the table is written", "");
	ok = !table || table_check(table, data[SET_NEWER], later);
	if (table)
		tap(ok, "the manual has the operators that passed, and no others",
		    ok ? "" : " # make operators-update, and look at what went");
	table_free();
	if (vectors) {
		snprintf(title, sizeof(title), "at least %ld vectors pass, %u do", vectors,
			 passed[SET_INSTALLED]);
		tap(passed[SET_INSTALLED] >= vectors, title, "");
	}
	printf("1..%u\n", tests);
	accel_ctx_destroy(ctx);
	accel_device_unref(dev);
	return failures ? 1 : 0;
}

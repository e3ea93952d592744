/* SPDX-License-Identifier: MIT */
/*
 * Operators by themselves: a file with a node or a few, its inputs, and what should come out.
 */
#ifndef LIBACCEL_TESTS_ONNXOP_H
#define LIBACCEL_TESTS_ONNXOP_H

#include <accel/model.h>
#include <unistd.h>
#include "onnxwrite.h"

#define MS "com.microsoft"
#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))

/* ONNX's types */
enum {
	F32 = 1,
	U8 = 2,
	S8 = 3,
	U16 = 4,
	S16 = 5,
	S32 = 6,
	S64 = 7,
	BOOL = 9,
	F16 = 10,
	F64 = 11,
	U32 = 12,
	U64 = 13,
	BF16 = 16,
	U4 = 21,
	S4 = 22
};

/**
 * struct io - an input or a result
 * @name: its name
 * @type: ONNX's
 * @rank: dimensions
 * @dims: their sizes; negative: a symbol of that number
 * @given: sizes of an input with symbols
 * @data: its elements: of an input, or what should come out
 * @constant: it is in the file
 */
struct io {
	const char *name;
	int type;
	uint32_t rank;
	int64_t dims[8];
	const void *data;
	bool constant;
	const int64_t *given;
};

#define IO(name, type, data, ...) \
	{ \
		name, type, RANK(__VA_ARGS__), { __VA_ARGS__ }, data, false, NULL \
	}
#define CONST(name, type, data, ...) \
	{ \
		name, type, RANK(__VA_ARGS__), { __VA_ARGS__ }, data, true, NULL \
	}
#define SCALAR(name, type, data) \
	{ \
		name, type, 0, { 0 }, data, true, NULL \
	}

/**
 * struct tested - a graph in work
 * @bed: bed
 * @g: its message
 * @in: inputs that are not constants
 * @in_count: their number
 * @bound: how far off results may be; of integers too
 * @opset: version
 * @functions: what the model has behind its graph
 * @operators: that were added, or NULL
 * @scheme: the file is written anew with this &enum accel_model_scheme, 0: it is not
 */
struct tested {
	struct bed *bed;
	struct bytes g;
	struct io in[16];
	uint32_t in_count;
	double bound;
	int64_t opset;
	struct bytes functions;
	struct accel_operators *operators;
	uint32_t scheme;
};

static inline size_t type_size(int type)
{
	static const uint8_t sizes[] = { 0, 4, 1, 1, 2, 2, 4, 8, 0, 1, 2, 8, 4, 8, 0, 0, 2 };

	return sizes[type];
}

static inline uint64_t io_count(const struct io *io)
{
	const int64_t *dims = io->given ? io->given : io->dims;
	uint64_t n = 1;
	uint32_t i;

	for (i = 0; i < io->rank; i++)
		n *= (uint64_t)dims[i];
	return n;
}

static inline size_t io_bytes(const struct io *io)
{
	const bool half = io->type == U4 || io->type == S4;

	return half ? (io_count(io) + 1) / 2 : io_count(io) * type_size(io->type);
}

static inline void put_io(struct bytes *g, uint32_t id, const struct io *io)
{
	struct bytes v = { .n = 0 }, t = { .n = 0 }, tt = { .n = 0 }, s = { .n = 0 }, d;
	char symbol[16];
	uint32_t i;

	for (i = 0; i < io->rank; i++) {
		d.n = 0;
		snprintf(symbol, sizeof(symbol), "s%d", (int)-io->dims[i]);
		if (io->dims[i] < 0)
			put_text(&d, 2, symbol);
		else
			put_int(&d, 1, io->dims[i]);
		put_message(&s, 1, &d);
	}
	put_int(&tt, 1, io->type);
	put_message(&tt, 2, &s);
	put_message(&t, 1, &tt);
	put_text(&v, 1, io->name);
	put_message(&v, 2, &t);
	put_message(g, id, &v);
}

static inline struct tested *begin(struct bed *bed, const struct io *in, uint32_t count)
{
	static struct tested t;
	struct bytes c;
	uint32_t i;

	t = (struct tested){ .bed = bed, .opset = 21 };
	for (i = 0; i < count; i++) {
		if (!in[i].constant) {
			t.in[t.in_count++] = in[i];
			put_io(&t.g, 11, &in[i]);
			continue;
		}
		c = tensor(in[i].name, in[i].type, in[i].rank, in[i].dims, in[i].data,
			   io_bytes(&in[i]));
		put_message(&t.g, 5, &c);
	}
	return &t;
}

#define BEGIN(bed, ...) \
	begin(bed, (const struct io[]){ __VA_ARGS__ }, \
	      sizeof((const struct io[]){ __VA_ARGS__ }) / sizeof(struct io))

/* Attributes, to be added to a node */
static inline void attr_int(struct bytes *n, const char *name, int64_t x)
{
	struct bytes a = { .n = 0 };

	put_text(&a, 1, name);
	put_int(&a, 3, x);
	put_int(&a, 20, 2);
	put_message(n, 5, &a);
}

static inline void attr_float(struct bytes *n, const char *name, float x)
{
	struct bytes a = { .n = 0 };

	put_text(&a, 1, name);
	put_varint(&a, 2 << 3 | 5);
	memcpy(a.p + a.n, &x, sizeof(x));
	a.n += sizeof(x);
	put_int(&a, 20, 1);
	put_message(n, 5, &a);
}

static inline void attr_text(struct bytes *n, const char *name, const char *text)
{
	struct bytes a = { .n = 0 };

	put_text(&a, 1, name);
	put_text(&a, 4, text);
	put_int(&a, 20, 3);
	put_message(n, 5, &a);
}

static inline void attr_ints(struct bytes *n, const char *name, uint32_t count, const int64_t *list)
{
	struct bytes a = { .n = 0 };
	uint32_t i;

	put_text(&a, 1, name);
	for (i = 0; i < count; i++)
		put_int(&a, 8, list[i]);
	put_int(&a, 20, 7);
	put_message(n, 5, &a);
}

/* A node: names of inputs and of results in lists with blanks between; "-": none */
static inline struct bytes op(const char *domain, const char *type, const char *in, const char *out)
{
	struct bytes n = { .n = 0 };
	char word[64];
	int used, k;

	for (k = 1; k <= 2; k++) {
		const char *list = k == 1 ? in : out;

		for (; sscanf(list, "%63s%n", word, &used) == 1; list += used)
			put_text(&n, (uint32_t)k, strcmp(word, "-") ? word : "");
	}
	put_text(&n, 4, type);
	if (domain)
		put_text(&n, 7, domain);
	return n;
}

static inline void add_op(struct tested *t, const struct bytes *n)
{
	put_message(&t->g, 1, n);
}

static inline double io_number(int type, const void *p, uint64_t i)
{
	switch (type) {
	case F32:
		return (double)((const float *)p)[i];
	case F64:
		return ((const double *)p)[i];
	case U8:
	case BOOL:
		return ((const uint8_t *)p)[i];
	case S8:
		return ((const int8_t *)p)[i];
	case U16:
		return ((const uint16_t *)p)[i];
	case S16:
		return ((const int16_t *)p)[i];
	case S32:
		return ((const int32_t *)p)[i];
	case U32:
		return ((const uint32_t *)p)[i];
	case U64:
		return (double)((const uint64_t *)p)[i];
	default:
		return (double)((const int64_t *)p)[i];
	}
}

static inline void check_output(struct tested *t, struct accel_state *s, uint32_t index,
				const struct io *want, uint32_t level)
{
	struct accel_value v;
	const void *got = output(t->bed, s, index, &v);
	uint64_t i, n = io_count(want);
	double a, b;

	if (v.rank != want->rank || memcmp(v.dims, want->dims, v.rank * sizeof(int64_t)))
		fail_msg("%s at level %u: %u dimensions %lld, %lld, ...", want->name, level, v.rank,
			 (long long)v.dims[0], (long long)v.dims[1]);
	assert_int_equal(accel_type_bits(v.type), 8 * type_size(want->type));
	if (!t->bound && memcmp(got, want->data, n * type_size(want->type)) == 0)
		return;
	for (i = 0; i < n; i++) {
		a = io_number(want->type, got, i);
		b = io_number(want->type, want->data, i);
		/* Integers of 64 bits may be no doubles. */
		if (!t->bound && (want->type == S64 || want->type == U64) &&
		    ((const int64_t *)got)[i] != ((const int64_t *)want->data)[i])
			fail_msg("%s at level %u: element %llu is 0x%llx, should be 0x%llx",
				 want->name, level, (unsigned long long)i,
				 (unsigned long long)((const int64_t *)got)[i],
				 (unsigned long long)((const int64_t *)want->data)[i]);
		if (!(a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= t->bound))
			fail_msg("%s at level %u: element %llu is %.9g, should be %.9g", want->name,
				 level, (unsigned long long)i, a, b);
	}
}

/* The file of a graph, opened; the error that it gives. */
static inline int open_tested(struct tested *t, struct accel_error *e, struct accel_model **m)
{
	struct bytes b = model(&t->g, t->opset), o = { .n = 0 };
	struct accel_model_opts opts = ACCEL_MODEL_OPTS_INIT;
	char path[] = "/tmp/test_onnx_op.XXXXXX";
	int fd = mkstemp(path), ret;

	put_text(&o, 1, MS);
	put_int(&o, 2, 1);
	put_message(&b, 8, &o);
	assert_true(b.n + t->functions.n < sizeof(b.p));
	memcpy(b.p + b.n, t->functions.p, t->functions.n);
	b.n += t->functions.n;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, b.p, b.n), (ssize_t)b.n);
	close(fd);
	*e = (struct accel_error)ACCEL_ERROR_INIT;
	opts.operators = t->operators;
	if (t->scheme) {
		const struct accel_model_quantize_opts q =
			ACCEL_MODEL_QUANTIZE_OPTS_INIT(t->scheme);

		assert_int_equal(accel_model_quantize(path, &q, path, e), 0);
	}
	ret = accel_model_open_opts(path, &opts, e, m);
	unlink(path);
	return ret;
}

/* A file that is refused with @code, 0: -EBADMSG or -EOPNOTSUPP, and these words */
static inline void must_refuse(struct tested *t, int code, const char *words)
{
	struct accel_error e;
	struct accel_model *m;
	int ret = open_tested(t, &e, &m);

	if (!ret)
		fail_msg("not refused: %s", words);
	if (!(code ? ret == code : ret == -EBADMSG || ret == -EOPNOTSUPP) || !strstr(e.text, words))
		fail_msg("%d: %s; should be %d: %s", ret, e.text, code, words);
}

/* What comes out at all levels */
static inline void gives(struct tested *t, const struct io *want, uint32_t count)
{
	struct accel_compile_opts opts = ACCEL_COMPILE_OPTS_INIT;
	struct bed *bed = t->bed;
	struct accel_program *program;
	struct accel_model *m;
	struct accel_state *s;
	struct accel_error e;
	uint32_t i;

	for (i = 0; i < count; i++)
		put_io(&t->g, 12, &want[i]);
	for (opts.level = 0; opts.level <= 3; opts.level++) {
		if (open_tested(t, &e, &m))
			fail_msg("%s: %s", e.field, e.text);
		MUST(accel_graph_compile(bed->ctx, accel_model_graph(m), &opts, &program));
		accel_model_close(m);
		s = new_state(bed, program);
		for (i = 0; i < t->in_count; i++) {
			const struct io *in = &t->in[i];

			MUST(accel_state_set_input(s, i, in->rank, in->given ? in->given : in->dims,
						   NULL, 0));
			fill_input(s, i, in->data, io_bytes(in));
		}
		MUST(accel_state_run(s));
		for (i = 0; i < count; i++)
			check_output(t, s, i, &want[i], opts.level);
		accel_state_destroy(s);
		accel_program_unref(program);
	}
}

/* A run that fails with @code and these words; the result is called y. */
static inline void must_fail(struct tested *t, int code, const char *words)
{
	struct accel_compile_opts opts = ACCEL_COMPILE_OPTS_INIT;
	const struct io *in;
	struct bed *bed = t->bed;
	struct accel_program *program;
	struct bytes y = { .n = 0 };
	struct accel_error e;
	struct accel_model *m;
	struct accel_state *s;
	int ret;

	put_text(&y, 1, "y");
	put_message(&t->g, 12, &y);
	for (opts.level = 0; opts.level <= 3; opts.level += 3) {
		if (open_tested(t, &e, &m))
			fail_msg("%s: %s", e.field, e.text);
		MUST(accel_graph_compile(bed->ctx, accel_model_graph(m), &opts, &program));
		accel_model_close(m);
		s = new_state(bed, program);
		for (in = t->in; in < t->in + t->in_count; in++) {
			MUST(accel_state_set_input(s, (uint32_t)(in - t->in), in->rank,
						   in->given ? in->given : in->dims, NULL, 0));
			if (accel_state_get_input(s, (uint32_t)(in - t->in), NULL))
				fill_input(s, (uint32_t)(in - t->in), in->data, io_bytes(in));
		}
		ret = accel_state_run(s);
		accel_ctx_get_error(bed->ctx, &e);
		if (ret != code || !strstr(e.text, words))
			fail_msg("%d: %s; should be %d: %s", ret, e.text, code, words);
		accel_state_destroy(s);
		accel_program_unref(program);
	}
}

#define GIVES(t, ...) \
	gives(t, (const struct io[]){ __VA_ARGS__ }, \
	      sizeof((const struct io[]){ __VA_ARGS__ }) / sizeof(struct io))

/* One node, whose inputs are given by name in order */
#define ONE(t, domain, type, in, out) \
	do { \
		const struct bytes one_op = op(domain, type, in, out); \
		add_op(t, &one_op); \
	} while (0)

#endif /* LIBACCEL_TESTS_ONNXOP_H */

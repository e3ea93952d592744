// SPDX-License-Identifier: MIT
/*
 * Constants: of types of blocks, which products and tables read where they lie; how long those are
 * there that were computed; those of which a file has few elements; how far packing them is.
 */
#include <math.h>
#include "onnxrun.h"

static size_t held(void)
{
	const struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

/* Weights that became something else, which is read by nobody, are not computed for each size. */
static void test_unread(void **arg)
{
	static const float w[256 * 256];
	struct bed *bed = *arg;
	struct accel_program *p;
	struct accel_state *s;
	uint32_t x, i;
	size_t before;
	int64_t n;

	MUST_GRAPH(accel_graph_symbol(bed->graph, "n", 1, 16, &n));
	x = add_input(bed, "x", ACCEL_F32, 2, DIMS(n, 4));
	for (i = 0; i < 8; i++)
		add_unary(bed, "unread", ACCEL_UNARY_SIN,
			  add_unary(bed, "unread", ACCEL_UNARY_SIN,
				    add_const(bed, ACCEL_F32, 2, DIMS(256, 256), w)));
	add_output(bed, "y", add_unary(bed, "y", ACCEL_UNARY_SIN, x));
	p = compile(bed, 3, 0);
	s = new_state(bed, p);
	MUST(accel_state_set_input(s, 0, 2, DIMS(1, 4), NULL, 0));
	MUST(accel_state_run(s));
	before = held();
	MUST(accel_state_set_input(s, 0, 2, DIMS(2, 4), NULL, 0));
	MUST(accel_state_run(s));
	/* A node that is there has some; sixteen constants would have 4 MiB. */
	assert_true(held() < before + 256 * 1024);
	accel_state_destroy(s);
	accel_program_unref(p);
}

/* Four rows of 64 in blocks of Q8_0: numbers whose products are exact */
static uint8_t *make_blocks(float *values)
{
	static const uint8_t scales[][2] = { { 0, 0x3c }, { 0, 0x38 } };
	uint8_t *blocks = malloc((size_t)8 * 34);
	uint32_t i, k;

	assert_non_null(blocks);
	for (i = 0; i < 8; i++) {
		memcpy(blocks + i * 34, scales[i % 2], 2);
		for (k = 0; k < 32; k++) {
			int8_t q = (int8_t)((i * 7 + k * 3) % 11) - 5;

			blocks[i * 34 + 2 + k] = (uint8_t)q;
			values[i * 32 + k] = i % 2 ? 0.5f * q : q;
		}
	}
	return blocks;
}

static void test_blocks(void **state)
{
	struct accel_gather_desc gather = ACCEL_GATHER_DESC_INIT;
	struct accel_gemm_desc gemm = ACCEL_GEMM_DESC_INIT;
	struct accel_value v = value_of("blocks", ACCEL_Q8_0, 2, DIMS(4, 64)), out;
	float want[4 * 64], a[3 * 64], sums[3 * 4] = { 0 };
	static const int32_t rows[] = { 2, 1 };
	struct bed *bed = *state;
	uint32_t w, x, index, i, k, n, both[2];
	uint8_t *blocks = make_blocks(want), *again;
	const float *both_sums;
	struct accel_program *p;
	struct accel_state *s;

	MUST_GRAPH(accel_graph_constant(bed->graph, &v, blocks, free, blocks, &w));
	index = add_const(bed, ACCEL_S32, 1, DIMS(2), rows);
	x = add_input(bed, "x", ACCEL_F32, 2, DIMS(3, 64));
	gemm.flags = ACCEL_GEMM_TRANS_B;
	gemm.d.dtype = ACCEL_F32;
	gather.d.dtype = ACCEL_F32;
	add_output(bed, "y", add_node(bed, "y", &gemm.hdr, 2, (uint32_t[]) { x, w }));
	/* Two products of one value, which might become one */
	for (i = 0; i < 2; i++) {
		again = make_blocks(want);
		MUST_GRAPH(accel_graph_constant(bed->graph, &v, again, free, again, &w));
		both[i] = add_node(bed, "both", &gemm.hdr, 2, (uint32_t[]) { x, w });
	}
	for (i = 0; i < 2; i++)
		both[i] = add_unary(bed, "sin", ACCEL_UNARY_SIN, both[i]);
	add_output(bed, "sum", add_binary(bed, "sum", ACCEL_BINARY_ADD, both[0], both[1]));
	add_output(bed, "r", add_node(bed, "r", &gather.hdr, 2, (uint32_t[]) { w, index }));
	for (i = 0; i < 3 * 64; i++)
		a[i] = (float)((i * 5) % 7) - 3;
	for (i = 0; i < 3; i++)
		for (k = 0; k < 4; k++)
			for (n = 0; n < 64; n++)
				sums[i * 4 + k] += a[i * 64 + n] * want[k * 64 + n];
	for (i = 0; i <= 3; i += 3) {
		p = compile(bed, i, 0);
		s = new_state(bed, p);
		fill_input(s, 0, a, sizeof(a));
		MUST(accel_state_run(s));
		assert_memory_equal(output(bed, s, 0, &out), sums, sizeof(sums));
		both_sums = output(bed, s, 1, &out);
		for (k = 0; k < 3 * 4; k++)
			assert_float_equal(both_sums[k], 2 * sinf(sums[k]), 0.00001f);
		assert_memory_equal(output(bed, s, 2, &out), want + 128, 64 * sizeof(float));
		accel_state_destroy(s);
		accel_program_unref(p);
	}
}

/* They are constants', whole ones in each row, and no work for the CPU. */
static void test_blocks_misused(void **state)
{
	struct accel_shape_desc slice = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_SLICE);
	struct accel_value v = value_of("blocks", ACCEL_Q8_0, 2, DIMS(4, 48)), out;
	struct bed *bed = *state;
	static float values[256];
	uint8_t *blocks = make_blocks(values);
	uint32_t w, d;

	assert_int_equal(accel_graph_constant(bed->graph, &v, blocks, NULL, NULL, &w), -EINVAL);
	v.dims[1] = 64;
	assert_int_equal(accel_graph_input(bed->graph, &v, &w), -EINVAL);
	v.rank = 0;
	assert_int_equal(accel_graph_constant(bed->graph, &v, blocks, NULL, NULL, &w), -EINVAL);
	v.rank = 2;
	MUST_GRAPH(accel_graph_constant(bed->graph, &v, blocks, free, blocks, &w));
	d = add_node(bed, "half", &slice.hdr, 3, (uint32_t[]) { w, LIST(0, 1), LIST(1, 33) });
	assert_int_not_equal(accel_graph_get_value(bed->graph, d, &out), 0);
}

/* Weights that were computed, and packed or narrowed for a product, are there for a branch. */
static void test_read_later(void **arg)
{
	enum { K = 64, N = 16 };
	const struct bytes yes = lone("Add", "w w", "p"), no = lone("Sub", "w w", "q");
	struct accel_compile_opts opts = ACCEL_COMPILE_OPTS_INIT;
	static float half[K * N], y[N], z[2][K * N];
	struct bed *bed = *arg;
	struct accel_error e;
	struct tested *t;
	uint32_t i;

	for (i = 0; i < K * N; i++) {
		half[i] = (float)(1 + i % 3);
		/* The first of them are the row that is multiplied. */
		y[i % N] += 2 * (float)(1 + i / N % 3) * half[i];
		z[1][i] = 4 * half[i];
	}
	t = BEGIN(bed, IO("c", BOOL, NULL, 1), IO("x", F32, NULL, 1, K),
		  CONST("half", F32, half, K, N));
	ONE(t, NULL, "Add", "half half", "w");
	ONE(t, NULL, "MatMul", "x w", "y");
	add_if(&t->g, "c", "z", &yes, &no);
	put_name(&t->g, 12, "y");
	put_name(&t->g, 12, "z");
	for (i = 0; i < 16; i++) {
		struct runner r = { .bed = bed };

		opts.level = i / 4;
		opts.precision = i & 2 ? ACCEL_PRECISION_BF16 : 0;
		assert_int_equal(open_tested(t, &e, &r.model), 0);
		MUST(accel_graph_compile(bed->ctx, accel_model_graph(r.model), &opts, &r.program));
		accel_model_close(r.model);
		r.state = new_state(bed, r.program);
		set(&r, 0, 1, DIMS(1), &(const uint8_t){ i & 1 }, 1);
		set(&r, 1, 2, DIMS(1, K), half, K * sizeof(float));
		run(&r);
		has(&r, 0, 2, N, y);
		has(&r, 1, 2, K * N, z[i & 1]);
		stop(&r);
	}
}

/* A sparse tensor: @width indices for each of @count values, which lie in a list if it is 0 */
static struct bytes sparse(const char *name, int type, int64_t count, const void *values,
			   uint32_t width, const int64_t *indices, uint32_t rank,
			   const int64_t *dims)
{
	const int64_t sizes[] = { count, width };
	struct bytes s = { .n = 0 }, t;
	uint32_t i;

	t = tensor(name, type, 1, sizes, values, (size_t)count * type_size(type));
	put_message(&s, 1, &t);
	t = tensor(NULL, S64, width ? 2 : 1, sizes, indices,
		   (size_t)count * (width ? width : 1) * sizeof(int64_t));
	put_message(&s, 2, &t);
	for (i = 0; i < rank; i++)
		put_int(&s, 3, dims[i]);
	return s;
}

static void add_sparse_node(struct tested *t, const struct bytes *tensor)
{
	struct bytes n = op(NULL, "Constant", "", "k"), a = { .n = 0 };

	put_text(&a, 1, "sparse_value");
	put_message(&a, 22, tensor);
	put_int(&a, 20, 11);
	put_message(&n, 5, &a);
	add_op(t, &n);
}

/* Elements and their places in a file: of the graph, of one of a node, and of a node itself */
static void test_sparse(void **arg)
{
	static const int64_t places[] = { 0, 1, 1, 0, 2, 3 }, linear[] = { 1, 4, 11 };
	static const float values[] = { 2, -3, 5 }, x[] = { 1, 10, 100, 0, 1, 0 };
	static const float want[] = { -30, 2, 0, 500, -3, 0, 0, 0 }, twice[] = { 4, -6, 10 };
	static const float dense[] = { 0, 2, 0, 0, -3, 0, 0, 0, 0, 0, 0, 5 };
	static const int64_t wide = INT64_MAX - 1, one = 7;
	static const int64_t longs[] = { 0, 0, 0, 0, 0, 0, 0, INT64_MAX - 1 }, empty[8];
	struct bytes s, yes, no;
	struct runner r;
	struct tested *t;
	uint32_t way;

	for (way = 0; way < 4; way++) {
		t = BEGIN(*arg, { "x", F32, 2, { -1, 3 }, x, false, DIMS(2, 3) });
		s = way % 2 ? sparse("k", F32, 3, values, 0, linear, 2, DIMS(3, 4)) :
		    sparse("k", F32, 3, values, 2, places, 2, DIMS(3, 4));
		if (way < 2)
			put_message(&t->g, 15, &s);
		else
			add_sparse_node(t, &s);
		/* Written anew with weights in bytes, of which nothing is lost here but rounding */
		t->scheme = way == 1 ? ACCEL_MODEL_PALETTE256 : 0;
		ONE(t, NULL, "MatMul", "x k", "y");
		ONE(t, NULL, "Identity", "k", "z");
		GIVES(t, IO("y", F32, want, 2, 4), IO("z", F32, dense, 3, 4));
	}
	/* One dimension in either layout, none, and no values */
	t = BEGIN(*arg, SCALAR("zero", S64, &(const int64_t){ 0 }));
	s = sparse("a", S64, 1, &wide, 1, &one, 1, DIMS(8));
	put_message(&t->g, 15, &s);
	s = sparse("b", S64, 1, &wide, 0, &one, 1, DIMS(8));
	put_message(&t->g, 15, &s);
	s = sparse("c", S64, 1, &wide, 0, longs, 0, NULL);
	put_message(&t->g, 15, &s);
	s = sparse("d", S64, 0, &wide, 2, &one, 2, DIMS(2, 4));
	put_message(&t->g, 15, &s);
	ONE(t, NULL, "Add", "a zero", "y0");
	ONE(t, NULL, "Add", "b zero", "y1");
	ONE(t, NULL, "Add", "c zero", "y2");
	ONE(t, NULL, "Add", "d zero", "y3");
	GIVES(t, IO("y0", S64, longs, 8), IO("y1", S64, longs, 8),
	      { "y2", S64, 0, { 0 }, &wide, false, NULL }, IO("y3", S64, empty, 2, 4));
	/* Of branches, which are graphs of their own */
	yes = lone("Add", "k k", "p");
	s = sparse("k", F32, 3, values, 0, (int64_t[]){ 0, 1, 2 }, 1, DIMS(3));
	put_message(&yes, 15, &s);
	no = lone("Neg", "x", "q");
	t = BEGIN(*arg, IO("c", BOOL, NULL, 1), CONST("x", F32, values, 3));
	add_if(&t->g, "c", "y", &yes, &no);
	put_name(&t->g, 12, "y");
	r = start(t, 3);
	set(&r, 0, 1, DIMS(1), &(const uint8_t){ 1 }, 1);
	run(&r);
	has(&r, 0, 1, 3, twice);
	stop(&r);
}

/* @b as a part of messages, the innermost of which is the last of @count */
static void wrap(struct bytes *b, const uint32_t *ids, uint32_t count)
{
	struct bytes inner;

	while (count--) {
		inner = *b;
		b->n = 0;
		put_message(b, ids[count], &inner);
	}
}

/* The fields of @b behind those that are there */
static void append(struct bytes *to, const struct bytes *b)
{
	assert_true(to->n + b->n < sizeof(to->p));
	memcpy(to->p + to->n, b->p, b->n);
	to->n += b->n;
}

static int no_item(void *user, const struct accel_model_item *item)
{
	(void)user;
	(void)item;
	fail();
	return 0;
}

/* A message that is no element of a list, in two pieces: how it is reached from the model on */
static void test_pieces(void **arg)
{
	static const struct {
		uint32_t ids[8];
		const char *name;
	} cases[] = {
		{ { 20, 1 }, "TrainingInfoProto.initialization" },
		{ { 20, 2 }, "TrainingInfoProto.algorithm" },
		{ { 7, 1, 5, 5 }, "AttributeProto.t" },
		{ { 7, 1, 5, 6 }, "AttributeProto.g" },
		{ { 7, 1, 5, 14 }, "AttributeProto.tp" },
		{ { 7, 1, 5, 22 }, "AttributeProto.sparse_tensor" },
		{ { 7, 15, 1 }, "SparseTensorProto.values" },
		{ { 7, 15, 2 }, "SparseTensorProto.indices" },
		{ { 7, 11, 2 }, "ValueInfoProto.type" },
		{ { 7, 12, 2 }, "ValueInfoProto.type" },
		{ { 7, 13, 2 }, "ValueInfoProto.type" },
		{ { 7, 11, 2, 1 }, "TypeProto.tensor_type" },
		{ { 7, 11, 2, 4 }, "TypeProto.sequence_type" },
		{ { 7, 11, 2, 9 }, "TypeProto.optional_type" },
		{ { 7, 11, 2, 4, 1 }, "TypeProto.elem_type" },
		{ { 7, 11, 2, 9, 1 }, "TypeProto.elem_type" },
		{ { 7, 11, 2, 1, 2 }, "TypeProto.Tensor.shape" },
		{ { 25, 7, 5, 6 }, "AttributeProto.g" },
		{ { 25, 11, 6 }, "AttributeProto.g" },
		{ { 25, 12, 2 }, "ValueInfoProto.type" },
		{ { 7, 1, 5, 6, 1, 5, 5 }, "AttributeProto.t" },
		{ { 7, 1, 5, 11, 12, 2 }, "ValueInfoProto.type" },
		{ { 7, 1, 5, 15, 1 }, "TypeProto.tensor_type" },
		{ { 7, 1, 5, 22, 1 }, "SparseTensorProto.values" },
		{ { 7, 1, 5, 23, 2 }, "SparseTensorProto.indices" },
	};
	static const float x[4];
	char words[128], path[] = "/tmp/test_pieces.XXXXXX";
	const struct accel_model_quantize_opts q =
		ACCEL_MODEL_QUANTIZE_OPTS_INIT(ACCEL_MODEL_DYNAMIC);
	struct accel_error e = ACCEL_ERROR_INIT;
	struct bytes b;
	struct tested *t;
	uint32_t i, n;
	int fd;

	for (i = 0; i < COUNT(cases); i++) {
		t = BEGIN(*arg, IO("x", F32, x, 4));
		for (n = 0; cases[i].ids[n]; n++)
			;
		b.n = 0;
		put_text(&b, cases[i].ids[n - 1], "");
		put_text(&b, cases[i].ids[n - 1], "");
		wrap(&b, cases[i].ids + 1, n - 2);
		if (cases[i].ids[0] == 7)
			append(&t->g, &b);
		else
			put_message(&t->functions, cases[i].ids[0], &b);
		snprintf(words, sizeof(words), ": %s comes in several pieces", cases[i].name);
		must_refuse(t, -EOPNOTSUPP, words);
	}
	/* The nodes lie in one piece of the graph, what they read and give in the other. */
	t = BEGIN(*arg, IO("x", F32, x, 4));
	put_name(&t->g, 12, "y");
	b = model(&t->g, 21);
	t->g.n = 0;
	ONE(t, NULL, "Abs", "x", "y");
	put_message(&b, 7, &t->g);
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, b.p, b.n), (ssize_t)b.n);
	close(fd);
	assert_int_equal(accel_model_scan(path, no_item, NULL), -EOPNOTSUPP);
	assert_int_equal(accel_model_quantize(path, &q, path, &e), -EOPNOTSUPP);
	assert_non_null(strstr(e.text, "ModelProto.graph comes in several pieces"));
	e.text[0] = 0;
	assert_int_equal(accel_model_convert(path, NULL, "none.safetensors", &e), -EOPNOTSUPP);
	assert_non_null(strstr(e.text, "ModelProto.graph comes in several pieces"));
	unlink(path);
}

/* Sparse tensors with a wrong part; the words tell which */
static void test_sparse_refused(void **arg)
{
	static const struct {
		int64_t count;
		uint32_t width;
		int64_t at[4];
		uint32_t rank;
		int64_t dims[3];
		const char *words;
	} cases[] = {
		{ 2, 0, { 1, 6 }, 2, { 2, 3 }, "sparse k: index 6 of value 1 is not below 6" },
		{ 2, 0, { -1, 2 }, 2, { 2, 3 }, "sparse k: index -1 of value 0 is not below 6" },
		{ 1, 2, { 0, 3 }, 2, { 2, 3 }, "sparse k: index 3 of value 0 is not below 3" },
		{ 1, 2, { INT64_MAX, 0 }, 2, { 2, 3 }, "index 9223372036854775807 of value 0" },
		{ 1, 2, { INT64_MIN, 0 }, 2, { 2, 3 }, "index -9223372036854775808 of value 0" },
		{ 2, 0, { 3, 3 }, 2, { 2, 3 }, "the index of value 1 is not behind that before" },
		{ 2, 2, { 1, 0, 0, 2 }, 2, { 2, 3 }, "the index of value 1 is not behind that" },
		{ 1, 3, { 0, 0, 0 }, 2, { 2, 3 }, "not int64 [1] or [1, 2]" },
		{ 1, 1, { 0 }, 2, { 2, 3 }, "not int64 [1] or [1, 2]" },
		{ 1, 0, { 0 }, 2, { 0, 3 }, "sparse k: index 0 of value 0 is not below 0" },
		{ 1, 0, { 1 }, 0, { 0 }, "sparse k: index 1 of value 0 is not below 1" },
		{ 1, 0, { 0 }, 2, { 2, -3 }, "sparse k: dimension 1 is -3" },
		{ 1, 0, { 0 }, 3, { 1LL << 32, 1LL << 31, 8 }, "k: dimension 1 is 2147483648" },
		{ 1, 0, { 0 }, 2, { 1 << 15, 1LL << 62 }, "sparse k: dimension 1 is" },
		{ 1, 0, { 0 }, 2, { 1 << 15, 1 << 15 }, "k: tensors become more than 268" },
	};
	static const float values[4] = { 1, 2, 3, 4 };
	struct bytes s, part;
	struct tested *t;
	uint32_t i;

	for (i = 0; i < 2 * COUNT(cases); i++) {
		s = sparse("k", F32, cases[i / 2].count, values, cases[i / 2].width,
			   cases[i / 2].at, cases[i / 2].rank, cases[i / 2].dims);
		t = BEGIN(*arg, IO("x", F32, values, 4));
		if (i % 2)
			add_sparse_node(t, &s);
		else
			put_message(&t->g, 15, &s);
		must_refuse(t, 0, cases[i / 2].words);
		if (i % 2)
			must_refuse(t, 0, "node k (Constant): ");
	}
	/* The bound is one for all of them, and grows with the file. */
	t = BEGIN(*arg, IO("x", F32, values, 4));
	for (i = 0; i < 5; i++) {
		s = sparse((char[]){ (char)('a' + i), 0 }, F32, 1, values, 0, (int64_t[]){ 0 }, 1,
			   DIMS((60 << 20) / 4));
		put_message(&t->g, 15, &s);
	}
	must_refuse(t, -EOPNOTSUPP, "e: tensors become more than 268");
	t = BEGIN(*arg, IO("x", F32, values, 4));
	s = (struct bytes){ .n = 0 };
	put_int(&s, 3, 4);
	put_message(&t->g, 15, &s);
	must_refuse(t, -EBADMSG, "a sparse tensor without values");
	part = tensor("k", F32, 1, DIMS(1), values, 4);
	s = (struct bytes){ .n = 0 };
	put_message(&s, 1, &part);
	put_int(&s, 3, 4);
	t = BEGIN(*arg, IO("x", F32, values, 4));
	put_message(&t->g, 15, &s);
	must_refuse(t, -EBADMSG, "sparse k: it has no indices");
	part = tensor(NULL, S32, 1, DIMS(1), values, 4);
	put_message(&s, 2, &part);
	t = BEGIN(*arg, IO("x", F32, values, 4));
	put_message(&t->g, 15, &s);
	must_refuse(t, -EBADMSG, "sparse k: its indices are not int64 [1] or [1, 1]");
	part = tensor("k", F32, 2, DIMS(2, 2), values, 16);
	s = (struct bytes){ .n = 0 };
	put_message(&s, 1, &part);
	t = BEGIN(*arg, IO("x", F32, values, 4));
	put_message(&t->g, 15, &s);
	must_refuse(t, -EBADMSG, "sparse k: values of 2 dimensions");
}

/* Lists of an attribute that are long, in one piece or number by number */
static void test_long_lists(void **arg)
{
	static int64_t ints[200];
	static float floats[200];
	struct bytes n, a, packed;
	struct tested *t;
	uint32_t i, way;

	for (i = 0; i < 200; i++) {
		ints[i] = (int64_t)i * (i % 2 ? -1 : 1 << 20);
		floats[i] = (float)i / 8;
	}
	for (way = 0; way < 2; way++) {
		t = BEGIN(*arg, IO("x", F32, floats, 1));
		n = op(NULL, "Constant", "", "i");
		packed.n = 0;
		for (i = 0; i < 200; i++)
			put_varint(&packed, (uint64_t)ints[i]);
		a = (struct bytes){ .n = 0 };
		put_text(&a, 1, "value_ints");
		if (way)
			put_message(&a, 8, &packed);
		for (i = 0; i < 200 && !way; i++)
			put_int(&a, 8, ints[i]);
		put_int(&a, 20, 7);
		put_message(&n, 5, &a);
		add_op(t, &n);
		n = op(NULL, "Constant", "", "f");
		a.n = 0;
		put_text(&a, 1, "value_floats");
		if (way)
			put_bytes(&a, 7, floats, sizeof(floats));
		for (i = 0; i < 200 && !way; i++) {
			put_varint(&a, 7 << 3 | 5);
			memcpy(a.p + a.n, &floats[i], 4);
			a.n += 4;
		}
		put_int(&a, 20, 6);
		put_message(&n, 5, &a);
		add_op(t, &n);
		ONE(t, NULL, "Abs", "f", "y");
		ONE(t, NULL, "Neg", "i", "p");
		ONE(t, NULL, "Neg", "p", "z");
		GIVES(t, IO("y", F32, floats, 200), IO("z", S64, ints, 200));
	}
	t = BEGIN(*arg, IO("x", F32, floats, 4));
	n = op(NULL, "Transpose", "x", "y");
	attr_ints(&n, "perm", 65, ints);
	add_op(t, &n);
	must_refuse(t, -EOPNOTSUPP, "node y (Transpose): attribute perm has more than 64 numbers");
}

/* Lists that end within a number, behind those that every node looks at */
static void test_cut_lists(void **arg)
{
	static const float one = 1, floats[100];
	struct tested *t;
	uint32_t way, i;

	for (way = 0; way < 2; way++) {
		struct bytes n = op(NULL, "Constant", "", "y"), a = { .n = 0 }, packed = { .n = 0 };

		t = BEGIN(*arg, IO("x", F32, &one, 1));
		for (i = 0; i < 100; i++)
			put_varint(&packed, 1);
		packed.p[packed.n - 1] |= 0x80;
		put_text(&a, 1, way ? "value_floats" : "value_ints");
		if (way)
			put_bytes(&a, 7, floats, sizeof(floats) - 1);
		else
			put_message(&a, 8, &packed);
		put_int(&a, 20, way ? 6 : 7);
		put_message(&n, 5, &a);
		add_op(t, &n);
		must_refuse(t, -EBADMSG, way ? "attribute value_floats cannot be read" :
			    "attribute value_ints cannot be read");
	}
}

#define SIDE	64
#define LAYERS	3

/* What a callback was told, and when it is to end what calls it: at call @stop, from 1 on */
struct told {
	uint64_t done[8];
	uint64_t all;
	uint32_t count;
	uint32_t stop;
};

static int tell(void *user, uint64_t done, uint64_t all)
{
	struct told *t = user;

	assert_in_range(t->count, 0, 7);
	assert_true(!t->count || t->all == all);
	assert_true(!t->count || done > t->done[t->count - 1]);
	t->all = all;
	t->done[t->count++] = done;
	return t->count == t->stop;
}

/* Products one behind the other, each by a matrix that doubles */
static void add_layers(struct bed *bed, const float *w, int64_t rows)
{
	uint32_t x = add_input(bed, "x", ACCEL_F32, 2, DIMS(rows, SIDE)), i;
	char name[16];

	for (i = 0; i < LAYERS; i++) {
		snprintf(name, sizeof(name), "layer%u", i);
		x = add_gemm(bed, name, x, add_const(bed, ACCEL_F32, 2, DIMS(SIDE, SIDE),
						     w + (size_t)i * SIDE * SIDE));
	}
	add_output(bed, "y", x);
}

static void check_layers(struct bed *bed, struct accel_state *s, struct told *t)
{
	struct accel_value v;
	const float *y;

	MUST(accel_state_run(s));
	y = output(bed, s, 0, &v);
	assert_true(y[0] == 1 << LAYERS && y[1] == 0 && y[2] == 3 << LAYERS);
	assert_int_equal(t->all, LAYERS * SIDE * SIDE * sizeof(float));
	assert_int_equal(t->count, LAYERS + 1);
	assert_int_equal(t->done[0], 0);
	assert_int_equal(t->done[LAYERS], t->all);
}

/* Packing says how far it is, and ends when it is told to; the next one finds all of it there. */
static void test_progress(void **state)
{
	struct accel_compile_opts opts = ACCEL_COMPILE_OPTS_INIT;
	struct accel_error e = ACCEL_ERROR_INIT;
	float w[LAYERS * SIDE * SIDE] = { 0 }, a[SIDE] = { 1, 0, 3 };
	struct told t = { .stop = 0 };
	struct bed *bed = *state;
	struct accel_program *p;
	struct accel_state *s;
	int64_t rows;
	uint32_t i;

	for (i = 0; i < LAYERS * SIDE; i++)
		w[(size_t)i * SIDE + i % SIDE] = 2;
	opts.progress = tell;
	opts.user = &t;
	add_layers(bed, w, 1);
	for (t.stop = 1; t.stop <= LAYERS + 1; t.stop++, t.count = 0) {
		assert_int_equal(accel_graph_compile(bed->ctx, bed->graph, &opts, &p), -ECANCELED);
		assert_int_equal(t.count, t.stop);
		assert_int_equal(accel_ctx_get_error(bed->ctx, &e), 0);
		assert_int_equal(e.code, -ECANCELED);
		if (t.stop <= LAYERS)
			assert_int_equal(e.field[strlen("layer")], '0' + t.stop - 1);
	}
	t.stop = 0;
	MUST(accel_graph_compile(bed->ctx, bed->graph, &opts, &p));
	s = new_state(bed, p);
	fill_input(s, 0, a, sizeof(a));
	check_layers(bed, s, &t);
	accel_state_destroy(s);
	accel_program_unref(p);
	/* Options of before there was one; nothing is packed */
	opts.size = offsetof(struct accel_compile_opts, progress);
	MUST(accel_graph_compile(bed->ctx, bed->graph, &opts, &p));
	accel_program_unref(p);
	opts.size--;
	assert_int_equal(accel_graph_compile(bed->ctx, bed->graph, &opts, &p), -EINVAL);
	opts.size = sizeof(opts);
	opts.off = ACCEL_COMPILE_NO_REPACK;
	MUST(accel_graph_compile(bed->ctx, bed->graph, &opts, &p));
	accel_program_unref(p);
	assert_int_equal(t.count, LAYERS + 1);
	opts.off = 0;
	/* With symbols it is the run. */
	accel_graph_destroy(bed->graph);
	assert_int_equal(accel_graph_create(&bed->graph), 0);
	MUST_GRAPH(accel_graph_symbol(bed->graph, "rows", 1, 8, &rows));
	add_layers(bed, w, rows);
	t = (struct told) { .stop = 2 };
	MUST(accel_graph_compile(bed->ctx, bed->graph, &opts, &p));
	assert_int_equal(t.count, 0);
	s = new_state(bed, p);
	MUST(accel_state_set_input(s, 0, 2, DIMS(1, SIDE), NULL, 0));
	memcpy(accel_state_get_input(s, 0, NULL), a, sizeof(a));
	assert_int_equal(accel_state_run(s), -ECANCELED);
	t = (struct told) { .stop = 0 };
	check_layers(bed, s, &t);
	accel_state_destroy(s);
	accel_program_unref(p);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, bed_setup, bed_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_unread), TEST(test_blocks), TEST(test_blocks_misused),
		TEST(test_read_later),
		TEST(test_sparse), TEST(test_pieces), TEST(test_sparse_refused),
		TEST(test_long_lists), TEST(test_cut_lists), TEST(test_progress),
	};

	return cmocka_run_group_tests_name("constants", tests, NULL, NULL);
}

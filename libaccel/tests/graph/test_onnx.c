// SPDX-License-Identifier: MIT
/*
 * ONNX files as graphs: models written here, field by field, right ones and wrong ones.
 */
#include <accel/model.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "graphtest.h"
#include "onnxwrite.h"

/* --- files ----------------------------------------------------------------------------------- */

static char folder[64];
static char path[128];

static void write_file(const char *name, const void *p, size_t n)
{
	char full[128];
	FILE *f;

	snprintf(full, sizeof(full), "%s/%s", folder, name);
	f = fopen(full, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(p, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

static int open_bytes(const struct bytes *m, struct accel_error *e, struct accel_model **out)
{
	write_file("m.onnx", m->p, m->n);
	*e = (struct accel_error)ACCEL_ERROR_INIT;
	return accel_model_open(path, e, out);
}

static int open_graph(const struct bytes *g, struct accel_error *e, struct accel_model **out)
{
	const struct bytes m = model(g, 17);

	return open_bytes(&m, e, out);
}

/* It is refused, and these words are in what is said. */
static void refused(const struct bytes *g, int code, const char *words)
{
	struct accel_error e;
	struct accel_model *m;
	int ret = open_graph(g, &e, &m);

	if (!ret)
		fail_msg("not refused: %s", words);
	if (ret != code || !strstr(e.text, words))
		fail_msg("%d: %s; should be %d: %s", ret, e.text, code, words);
}

/* --- right ones -------------------------------------------------------------------- */

static const float weights[6] = { 1, 2, 3, 4, 5, 6 }, bias[3] = { -100, 1, 2 };

/* relu(x [rows, 2] by weights [2, 3] + bias), flattened by its shape */
static void put_right(struct bytes *g, bool external)
{
	static const int64_t end = -1;
	struct bytes t;

	put_node(g, "Gemm", "product", "x", "w", "b");
	put_node(g, "Relu", "positive", "product", NULL, NULL);
	put_node(g, "Shape", "shape", "x", NULL, NULL);
	put_node(g, "Gather", "rows", "shape", "zero", NULL);
	put_node(g, "Unsqueeze", "list", "rows", "first", NULL);
	t = node("Concat", "target", "list", "end", NULL);
	/* axis = 0 */
	{
		struct bytes a = { .n = 0 };

		put_text(&a, 1, "axis");
		put_int(&a, 3, 0);
		put_int(&a, 20, 2);
		put_message(&t, 5, &a);
	}
	put_message(g, 1, &t);
	put_node(g, "Reshape", "y", "positive", "target", NULL);
	t = tensor("w", 1, 2, DIMS(2, 3), external ? NULL : weights, sizeof(weights));
	if (external)
		put_external(&t, "sub/./data.bin", "8");
	put_message(g, 5, &t);
	/* Numbers in a field of their own, packed */
	t = tensor("b", 1, 1, DIMS(3), NULL, 0);
	put_bytes(&t, 4, bias, sizeof(bias));
	put_message(g, 5, &t);
	t = tensor("zero", 7, 0, NULL, NULL, 0);
	put_int(&t, 7, 0);
	put_message(g, 5, &t);
	t = tensor("first", 7, 1, DIMS(1), DIMS(0), 8);
	put_message(g, 5, &t);
	t = tensor("end", 7, 1, DIMS(1), &end, 8);
	put_message(g, 5, &t);
	put_value(g, 11, "x", 1, -1, 2);
	put_value(g, 12, "y", 1, -1, 3);
}

static void run_right(struct bed *bed, const struct bytes *g)
{
	static const float in[4] = { 1, 1, 10, 20 }, want[6] = { 0, 8, 11, 0, 121, 152 };
	struct accel_model_info info = { .size = sizeof(info) };
	struct accel_program *program;
	struct accel_error e;
	struct accel_model *m;
	struct accel_state *s;
	struct accel_value v;
	uint32_t count;

	if (open_graph(g, &e, &m))
		fail_msg("%s: %s", e.field, e.text);
	assert_int_equal(accel_model_get_info(m, &info), 0);
	assert_int_equal(info.opset, 17);
	assert_int_equal(info.node_count, 7);
	assert_int_equal(info.input_count, 1);
	assert_string_equal(info.producer, "test");
	assert_string_equal(accel_model_get_op(m, 0, &count), "Gemm");
	assert_int_equal(count, 1);
	MUST(accel_graph_compile(bed->ctx, accel_model_graph(m), NULL, &program));
	/* The program keeps what it needs of the file. */
	accel_model_close(m);
	s = new_state(bed, program);
	MUST(accel_state_set_input(s, 0, 2, DIMS(2, 2), NULL, 0));
	fill_input(s, 0, in, sizeof(in));
	MUST(accel_state_run(s));
	assert_close(output(bed, s, 0, &v), want, 3, 0);
	assert_dims(&v, 2, DIMS(2, 3));
	accel_state_destroy(s);
	accel_program_unref(program);
}

static void test_right(void **arg)
{
	struct bytes g = { .n = 0 };
	char data[8 + sizeof(weights)] = { 0 };

	put_right(&g, false);
	run_right(*arg, &g);
	memcpy(data + 8, weights, sizeof(weights));
	write_file("sub/data.bin", data, sizeof(data));
	g.n = 0;
	put_right(&g, true);
	run_right(*arg, &g);
}

/* --- wrong ones -------------------------------------------------------------------- */

/* Whatever is missing at the end, it is refused or a model, and nothing is read beyond. */
static void test_truncated(void **arg)
{
	/* Bytes behind the graph: the version of the operators */
	enum { OPSET = 4 };
	struct bytes g = { .n = 0 }, m, cut;
	struct accel_model *model_out;
	struct accel_error e;
	char said[100];

	(void)arg;
	put_right(&g, false);
	m = model(&g, 17);
	for (cut.n = 0; cut.n < m.n; cut.n++) {
		memcpy(cut.p, m.p, cut.n);
		if (!open_bytes(&cut, &e, &model_out))
			fail_msg("%zu bytes are a model", cut.n);
		assert_int_not_equal(e.code, 0);
	}
	/* The graph's length is there, and a part of the graph. */
	for (cut.n = m.n - OPSET - g.n; cut.n < m.n - OPSET; cut.n++) {
		open_bytes(&cut, &e, &model_out);
		snprintf(said, sizeof(said), ": ends within its field graph, at byte %zu of %zu",
			 cut.n, m.n - OPSET);
		if (!strstr(e.text, said))
			fail_msg("%s; should be %s", e.text, said);
	}
	/* And whatever byte is another */
	for (cut = m; cut.n;) {
		uint8_t old;

		cut.n--;
		old = cut.p[cut.n];
		cut.p[cut.n] ^= 0x55;
		m = cut;
		m.n = model(&g, 17).n;
		if (!open_bytes(&m, &e, &model_out))
			accel_model_close(model_out);
		cut.p[cut.n] = old;
	}
}

static struct bytes with_weights(const struct bytes *t)
{
	struct bytes g = { .n = 0 };

	put_node(&g, "MatMul", "y", "x", "w", NULL);
	put_message(&g, 5, t);
	put_value(&g, 11, "x", 1, 3, 2);
	put_value(&g, 12, "y", 1, 3, 3);
	return g;
}

static void external(const char *location, const char *offset, int code, const char *words)
{
	struct bytes t = tensor("w", 1, 2, DIMS(2, 3), NULL, 0), g;

	put_external(&t, location, offset);
	g = with_weights(&t);
	refused(&g, code, words);
}

static void test_external(void **arg)
{
	char link[128];

	(void)arg;
	write_file("sub/data.bin", weights, sizeof(weights));
	snprintf(link, sizeof(link), "%s/link.bin", folder);
	assert_int_equal(symlink("/etc/passwd", link), 0);
	external("../data.bin", "0", -EPERM, "not in the folder");
	external("sub/../../data.bin", "0", -EPERM, "not in the folder");
	external("/etc/passwd", "0", -EPERM, "not in the folder");
	external("", "0", -EPERM, "not in the folder");
	external("link.bin", "0", -EPERM, "not in the folder");
	external("sub", "0", -EBADMSG, "not a file");
	external("none.bin", "0", -ENOENT, "cannot be opened");
	external("sub/data.bin", "4", -EBADMSG, "behind the file");
	external("sub/data.bin", "18446744073709551615", -EBADMSG, "behind the file");
	external("sub/data.bin", "18446744073709551616", -EBADMSG, "cannot be read");
	external("sub/data.bin", "-1", -EBADMSG, "cannot be read");
	unlink(link);
}

static void test_tensors(void **arg)
{
	struct bytes t, g;

	(void)arg;
	t = tensor("w", 1, 2, DIMS(2, -3), weights, sizeof(weights));
	g = with_weights(&t);
	refused(&g, -EBADMSG, "w: dimension 1 is -3");
	t = tensor("w", 1, 3, DIMS(INT64_MAX, INT64_MAX, 4), weights, sizeof(weights));
	g = with_weights(&t);
	refused(&g, -EBADMSG, "w: dimension");
	t = tensor("w", 1, 2, DIMS(2, 4), weights, sizeof(weights));
	g = with_weights(&t);
	refused(&g, -EBADMSG, "24 bytes, its dimensions say 32");
	t = tensor("w", 1, 2, DIMS(1 << 30, 4), NULL, 0);
	g = with_weights(&t);
	refused(&g, -EBADMSG, "numbers are missing");
	t = tensor("w", 8, 2, DIMS(2, 3), weights, sizeof(weights));
	g = with_weights(&t);
	refused(&g, -EOPNOTSUPP, "w: type STRING is not supported");
	t = tensor("w", 17, 2, DIMS(2, 3), weights, sizeof(weights));
	g = with_weights(&t);
	refused(&g, -EOPNOTSUPP, "w: type FLOAT8E4M3FN is not supported");
	t = tensor("w", 99, 2, DIMS(2, 3), weights, sizeof(weights));
	g = with_weights(&t);
	refused(&g, -EOPNOTSUPP, "w: type 99 is not supported");
	t = tensor("w", 1, 2, DIMS(3, 2), weights, sizeof(weights));
	g = with_weights(&t);
	refused(&g, -EINVAL, "node y (MatMul): gemm.");
}

static void test_graphs(void **arg)
{
	struct bytes g = { .n = 0 }, m;
	struct accel_model *model_out;
	struct accel_error e;

	(void)arg;
	/* Each needs the other. */
	put_node(&g, "Add", "p", "x", "q", NULL);
	put_node(&g, "Add", "q", "x", "p", NULL);
	put_value(&g, 11, "x", 1, 2, 2);
	put_value(&g, 12, "q", 1, 2, 2);
	refused(&g, -EBADMSG, "node p (Add): its input q is not there");
	g.n = 0;
	put_value(&g, 11, "x", 23, 2, 2);
	refused(&g, -EOPNOTSUPP, "input x: type FLOAT4E2M1 is not supported");
	g.n = 0;
	put_node(&g, "Relu", "y", "x", NULL, NULL);
	put_node(&g, "Relu", "y", "x", NULL, NULL);
	put_value(&g, 11, "x", 1, 2, 2);
	refused(&g, -EBADMSG, "the name y is given twice");
	g.n = 0;
	put_node(&g, "Blur", "a", "x", NULL, NULL);
	put_node(&g, "Sharpen", "y", "a", NULL, NULL);
	put_value(&g, 11, "x", 1, 2, 2);
	refused(&g, -EOPNOTSUPP, "Blur, Sharpen");
	g.n = 0;
	put_node(&g, "Add", "y", "x", NULL, NULL);
	put_value(&g, 11, "x", 1, 2, 2);
	refused(&g, -EBADMSG, "node y (Add): input 1 is missing");
	g.n = 0;
	put_value(&g, 11, "x", 1, 2, 2);
	put_value(&g, 12, "y", 1, 2, 2);
	refused(&g, -EBADMSG, "there is no output y");
	m = model(&g, 0);
	assert_int_equal(open_bytes(&m, &e, &model_out), -EOPNOTSUPP);
	m = model(&g, 99);
	assert_int_equal(open_bytes(&m, &e, &model_out), -EOPNOTSUPP);
	memcpy(m.p, "PK\3\4", 4);
	assert_int_equal(open_bytes(&m, &e, &model_out), -EBADMSG);
	assert_int_equal(accel_model_open("/nowhere/at.all", &e, &model_out), -ENOENT);
	/* A folder without a configuration */
	assert_int_equal(accel_model_open("/", &e, &model_out), -ENOENT);
	assert_non_null(strstr(e.text, "config.json"));
}

/**
 * struct seen - what a scan told
 * @text: one line an item
 * @stop: leave at an item of this kind
 */
struct seen {
	char text[512];
	uint32_t stop;
};

static int see(void *user, const struct accel_model_item *item)
{
	struct seen *s = user;
	size_t n = strlen(s->text);

	if (item->kind == s->stop)
		return 77;
	snprintf(s->text + n, sizeof(s->text) - n, "%u %s.%s %s %s %llu\n", item->kind,
		 item->domain, item->name, item->text, item->type,
		 (unsigned long long)item->count);
	return 0;
}

/* What a file says is told, whether it runs or not. */
static void test_scan(void **state)
{
	struct bytes g = { .n = 0 }, t = tensor("w", 1, 1, (int64_t[]) { 2 }, NULL, 0), m;
	struct bytes property = { .n = 0 }, node = { .n = 0 }, attr = { .n = 0 };
	struct seen s = { .stop = 0 };

	(void)state;
	put_external(&t, "w.bin", "8");
	put_entry(&t, "length", "8");
	put_message(&g, 5, &t);
	put_node(&g, "Blur", "b", "x", "w", NULL);
	put_node(&g, "Blur", "c", "b", "w", NULL);
	/* A number by its type, with what is no graph where one would be */
	put_text(&attr, 6, "reverse");
	put_int(&attr, 20, 2);
	put_message(&node, 5, &attr);
	put_text(&node, 4, "Blur");
	put_message(&g, 1, &node);
	put_value(&g, 11, "x", 1, -1, 2);
	put_value(&g, 11, "w", 1, 1, 2);
	put_value(&g, 12, "c", 7, -1, 2);
	m = model(&g, 17);
	put_text(&property, 1, "image_mean");
	put_text(&property, 2, "[0.5]");
	put_message(&m, 14, &property);
	write_file("m.onnx", m.p, m.n);
	assert_int_equal(accel_model_scan(path, see, &s), 0);
	assert_string_equal(s.text, "1 .  ? 17\n2 .x rows,2 fp32 0\n3 .c rows,2 s64 0\n"
			    "4 .w.bin  ? 16\n5 .Blur b ? 3\n7 .image_mean [0.5] ? 5\n");
	s.stop = ACCEL_MODEL_FILE;
	assert_int_equal(accel_model_scan(path, see, &s), 77);
	assert_int_equal(accel_model_scan(NULL, see, &s), -EINVAL);
	assert_int_equal(accel_model_scan(path, NULL, &s), -EINVAL);
	assert_int_equal(accel_model_scan("/nowhere/at.all", see, &s), -ENOENT);
	write_file("m.onnx", m.p, m.n - 1);
	assert_int_equal(accel_model_scan(path, see, &s), -EBADMSG);
}

/* An attribute that is a tensor with data outside */
static struct bytes outside(uint32_t id, const char *location)
{
	struct bytes t = tensor("t", 1, 1, (int64_t[]) { 1 }, NULL, 0), a = { .n = 0 };

	put_external(&t, location, "4");
	put_entry(&t, "length", "4");
	put_text(&a, 1, "value");
	put_message(&a, id, &t);
	return a;
}

static struct bytes constant(const struct bytes *attr)
{
	struct bytes n = { .n = 0 };

	put_text(&n, 2, "k");
	put_text(&n, 4, "Constant");
	put_message(&n, 5, attr);
	return n;
}

/* Data outside is found wherever tensors may be: attributes, graphs in them, functions. */
static void test_scan_outside(void **state)
{
	struct bytes g = { .n = 0 }, inner = { .n = 0 }, f = { .n = 0 }, graph = { .n = 0 };
	struct bytes a, n, m, t = tensor("w", 1, 1, (int64_t[]) { 1 }, NULL, 0);
	struct bytes places = t, sparse = { .n = 0 };
	struct seen s = { .stop = ACCEL_MODEL_OPERATOR };

	(void)state;
	a = outside(5, "one.bin");
	n = constant(&a);
	put_message(&g, 1, &n);
	a = outside(10, "list.bin");
	n = constant(&a);
	put_message(&g, 1, &n);
	put_external(&t, "initializer.bin", "8");
	put_message(&inner, 5, &t);
	a = outside(5, "inner.bin");
	n = constant(&a);
	put_message(&inner, 1, &n);
	put_text(&graph, 1, "body");
	put_message(&graph, 6, &inner);
	n = constant(&graph);
	put_message(&g, 1, &n);
	put_message(&sparse, 1, &t);
	put_external(&places, "places.bin", "8");
	put_message(&sparse, 2, &places);
	put_message(&g, 15, &sparse);
	put_value(&g, 11, "w", 1, 1, 2);
	m = model(&g, 17);
	put_text(&f, 1, "Own");
	a = outside(5, "function.bin");
	n = constant(&a);
	put_message(&f, 7, &n);
	a = outside(5, "default.bin");
	put_message(&f, 11, &a);
	put_message(&m, 25, &f);
	write_file("m.onnx", m.p, m.n);
	assert_int_equal(accel_model_scan(path, see, &s), 77);
	assert_string_equal(s.text, "1 .  ? 17\n4 .function.bin  ? 8\n4 .default.bin  ? 8\n"
			    "4 .one.bin  ? 8\n4 .list.bin  ? 8\n4 .inner.bin  ? 8\n"
			    "4 .initializer.bin  ? 8\n4 .places.bin  ? 8\n");
}

/* Many inputs and many constants, none of which is one of these: that takes no time. */
static void test_scan_many(void **state)
{
	static struct bytes part;
	struct bytes v = { .n = 0 }, head = { .n = 0 };
	const size_t inputs = 20000, constants = 200000;
	uint8_t *g = malloc(16 * inputs + 2 * constants), *p = g;
	clock_t took = clock();
	struct seen s = { 0 };
	char name[16];
	size_t i;
	FILE *f;

	(void)state;
	assert_non_null(g);
	for (i = 0; i < inputs; i++) {
		v.n = part.n = 0;
		snprintf(name, sizeof(name), "a%zu", i);
		put_text(&v, 1, name);
		put_message(&part, 11, &v);
		memcpy(p, part.p, part.n);
		p += part.n;
	}
	for (i = 0; i < constants; i++) {
		*p++ = 5 << 3 | 2;
		*p++ = 0;
	}
	put_varint(&head, 7 << 3 | 2);
	put_varint(&head, (uint64_t)(p - g));
	f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(head.p, 1, head.n, f), head.n);
	assert_int_equal(fwrite(g, 1, (size_t)(p - g), f), (size_t)(p - g));
	fclose(f);
	free(g);
	s.stop = ACCEL_MODEL_INPUT;
	assert_int_equal(accel_model_scan(path, see, &s), 77);
	assert_true(clock() - took < 2 * CLOCKS_PER_SEC);
}

/* A file that is one tensor */
static void test_tensor(void **state)
{
	struct bytes t = tensor("w", 1, 2, (int64_t[]) { 1, 2 }, bias, 8);
	struct accel_value v = ACCEL_VALUE_INIT;
	struct accel_error e = ACCEL_ERROR_INIT;
	void *data;

	(void)state;
	write_file("m.onnx", t.p, t.n);
	assert_int_equal(accel_model_tensor(path, &e, &v, &data), 0);
	assert_int_equal(v.type, ACCEL_F32);
	assert_true(v.rank == 2 && v.dims[0] == 1 && v.dims[1] == 2);
	assert_memory_equal(data, bias, 8);
	assert_string_equal(v.name, "w");
	free(data);
	t = tensor("w", 1, 2, (int64_t[]) { 1, 3 }, bias, 8);
	write_file("m.onnx", t.p, t.n);
	assert_int_equal(accel_model_tensor(path, &e, &v, &data), -EBADMSG);
	assert_non_null(strstr(e.text, "w: 8 bytes, its dimensions say 12"));
	write_file("m.onnx", t.p, 0);
	assert_int_equal(accel_model_tensor(path, &e, &v, &data), -EBADMSG);
	t = tensor("w", 8, 1, (int64_t[]) { 1 }, bias, 8);
	write_file("m.onnx", t.p, t.n);
	assert_int_equal(accel_model_tensor(path, &e, &v, &data), -EOPNOTSUPP);
	assert_int_equal(accel_model_tensor("/nowhere/at.all", &e, &v, &data), -ENOENT);
	assert_int_equal(accel_model_tensor(NULL, &e, &v, &data), -EINVAL);
	assert_int_equal(accel_model_tensor(path, &e, NULL, &data), -EINVAL);
	assert_int_equal(accel_model_tensor(path, NULL, &v, NULL), -EINVAL);
	v.size = 1;
	assert_int_equal(accel_model_tensor(path, NULL, &v, &data), -EINVAL);
}

static void put_attr_float(struct bytes *n, const char *name, float x)
{
	struct bytes a = { .n = 0 };

	put_text(&a, 1, name);
	put_varint(&a, 2 << 3 | 5);
	memcpy(a.p + a.n, &x, sizeof(x));
	a.n += sizeof(x);
	put_int(&a, 20, 1);
	put_message(n, 5, &a);
}

/* A node "Constant" with one attribute, which is of a type that its name does not say */
static void test_constants(void **arg)
{
	struct bytes n = { .n = 0 }, a = { .n = 0 }, g = { .n = 0 };

	(void)arg;
	put_text(&n, 2, "y");
	put_text(&n, 4, "Constant");
	put_text(&a, 1, "value_float");
	put_int(&a, 3, 1);
	put_int(&a, 20, 2);
	put_message(&n, 5, &a);
	put_message(&g, 1, &n);
	refused(&g, -EOPNOTSUPP, "node y (Constant): its attribute value_float");
	/* Nothing has a name yet, and its one output has none. */
	n.n = g.n = 0;
	put_text(&n, 2, "");
	put_text(&n, 2, "y");
	put_text(&n, 4, "Constant");
	put_attr_float(&n, "value_float", 1);
	put_message(&g, 1, &n);
	refused(&g, -EOPNOTSUPP, "output 1 is not supported");
	n.n = g.n = 0;
	put_text(&n, 4, "Constant");
	put_attr_float(&n, "value_float", 1);
	put_message(&g, 1, &n);
	refused(&g, -EBADMSG, "it has no output");
	g.n = n.n = 0;
	put_bytes(&n, 2, "y\0z", 3);
	put_text(&n, 4, "Constant");
	put_attr_float(&n, "value_float", 1);
	put_message(&g, 1, &n);
	refused(&g, -EBADMSG, "has a zero in it");
	g.n = 0;
	put_value(&g, 11, "", 1, 2, 2);
	refused(&g, -EBADMSG, "an input without a name");
}

static void put_attr_ints(struct bytes *n, const char *name, uint32_t count, const int64_t *list)
{
	struct bytes a = { .n = 0 };
	uint32_t i;

	put_text(&a, 1, name);
	for (i = 0; i < count; i++)
		put_int(&a, 8, list[i]);
	put_int(&a, 20, 7);
	put_message(n, 5, &a);
}

/* What a graph of opset 7 makes of x [1, 4] */
static void run_old(struct bed *bed, const struct bytes *n, const float *in, const float *want)
{
	struct accel_program *program;
	struct bytes g = { .n = 0 }, b;
	struct accel_error e;
	struct accel_model *m;
	struct accel_state *s;
	struct accel_value v;

	put_message(&g, 1, n);
	put_value(&g, 11, "x", 1, 1, 4);
	put_value(&g, 12, "y", 1, 1, 4);
	b = model(&g, 7);
	if (open_bytes(&b, &e, &m))
		fail_msg("%s: %s", e.field, e.text);
	MUST(accel_graph_compile(bed->ctx, accel_model_graph(m), NULL, &program));
	accel_model_close(m);
	s = new_state(bed, program);
	fill_input(s, 0, in, 4 * sizeof(*in));
	MUST(accel_state_run(s));
	assert_close(output(bed, s, 0, &v), want, 4, 0);
	accel_state_destroy(s);
	accel_program_unref(program);
}

/* Bounds that are not finite are bounds too; a permutation has each dimension once. */
static void test_attributes(void **arg)
{
	static const float in[4] = { -2, -1, 3, 9 }, positive[4] = { 0, 0, 3, 9 };
	static const float small[4] = { -2, -1, 3, 4 };
	struct bytes n = node("Clip", "y", "x", NULL, NULL), g = { .n = 0 };

	put_attr_float(&n, "min", 0);
	put_attr_float(&n, "max", INFINITY);
	run_old(*arg, &n, in, positive);
	n = node("Clip", "y", "x", NULL, NULL);
	put_attr_float(&n, "min", -INFINITY);
	put_attr_float(&n, "max", 4);
	run_old(*arg, &n, in, small);
	n = node("Transpose", "y", "x", NULL, NULL);
	put_attr_ints(&n, "perm", 2, DIMS(0, 0));
	put_message(&g, 1, &n);
	put_value(&g, 11, "x", 1, 1, 4);
	put_value(&g, 12, "y", 1, 1, 4);
	refused(&g, -EBADMSG, "its permutation has 0");
	/* What is read as another type would count for nothing. */
	n = node("Softmax", "y", "x", NULL, NULL);
	put_attr_float(&n, "axis", 0);
	g.n = 0;
	put_message(&g, 1, &n);
	put_value(&g, 11, "x", 1, 1, 4);
	put_value(&g, 12, "y", 1, 1, 4);
	refused(&g, -EBADMSG, "node y (Softmax): attribute axis is of type FLOAT");
	n = node("LeakyRelu", "y", "x", NULL, NULL);
	put_attr_ints(&n, "alpha", 2, DIMS(0, 0));
	g.n = 0;
	put_message(&g, 1, &n);
	put_value(&g, 11, "x", 1, 1, 4);
	put_value(&g, 12, "y", 1, 1, 4);
	refused(&g, -EBADMSG, "node y (LeakyRelu): attribute alpha is of type INTS");
}

static int make_folder(void **state)
{
	char sub[80];

	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/test_onnx.XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/m.onnx", folder);
	snprintf(sub, sizeof(sub), "%s/sub", folder);
	return mkdir(sub, 0700);
}

static int drop_folder(void **state)
{
	static const char *const names[] = { "m.onnx", "sub/data.bin", "sub", "." };
	char full[128];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(full, sizeof(full), "%s/%s", folder, names[i]);
		remove(i == 3 ? folder : full);
	}
	return 0;
}

#define TEST(name)	cmocka_unit_test_setup_teardown(name, bed_setup, bed_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_right),
		TEST(test_truncated),
		TEST(test_external),
		TEST(test_tensors),
		TEST(test_graphs),
		TEST(test_constants),
		TEST(test_attributes),
		TEST(test_scan),
		TEST(test_scan_outside),
		TEST(test_scan_many),
		TEST(test_tensor),
	};

	return cmocka_run_group_tests_name("onnx", tests, make_folder, drop_folder);
}

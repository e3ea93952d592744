// SPDX-License-Identifier: MIT
/*
 * Weights of ONNX files as safetensors and back into a model: all places that numbers may be in,
 * and files that are wrong.
 */
#include <dirent.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "graph/onnxrun.h"

static char folder[32];

static const char *path_of(const char *name)
{
	static char paths[4][128];
	static uint32_t next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}

static void write_file(const char *name, const void *p, size_t n)
{
	FILE *f = fopen(path_of(name), "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(p, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

static size_t read_file(const char *name, uint8_t *p, size_t room)
{
	FILE *f = fopen(path_of(name), "rb");
	size_t n;

	if (!f)
		fail_msg("%s is not there", name);
	n = fread(p, 1, room, f);
	fclose(f);
	assert_true(n < room);
	return n;
}

static uint32_t files(void)
{
	DIR *d = opendir(folder);
	uint32_t n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* --- a model ---------------------------------------------------------------------------------- */

static const float w[] = { 1, 2, 3, 4, 5, 6 }, b[] = { 10, 20, 30 }, scale[] = { 2, 2, 2 };
static const uint16_t half[] = { 0x3c00, 0xc000 }, brain[] = { 0x3f80, 0x7fc0, 0xbf80 };
static const double real[] = { 0.1, -1e300 };
static const int64_t whole = -5;
static const uint8_t flags[] = { 1, 0 };
static const int8_t bytes[] = { -128, 127, 3 };
static const uint64_t large = UINT64_MAX;

static void put_tensor(struct bytes *g, const struct bytes *t)
{
	put_message(g, 5, t);
}

/* y = (x w + b) scale, where b and scale lie outside, and constants of all kinds */
static struct bytes graph(void)
{
	struct bytes g = { .n = 0 }, t, a = { .n = 0 }, n = { .n = 0 }, v = { .n = 0 };
	uint32_t i;

	put_value(&g, 11, "x", 1, -1, 2);
	put_node(&g, "MatMul", "p", "x", "w", NULL);
	put_node(&g, "Add", "s", "p", "b", NULL);
	t = tensor(NULL, 1, 1, DIMS(3), NULL, 0);
	put_external(&t, "all.bin", "64");
	put_text(&a, 1, "value");
	put_message(&a, 5, &t);
	put_int(&a, 20, 4);
	put_text(&n, 2, "scale");
	put_text(&n, 4, "Constant");
	put_message(&n, 5, &a);
	put_message(&g, 1, &n);
	put_node(&g, "Mul", "y", "s", "scale", NULL);
	put_value(&g, 12, "y", 1, -1, 3);
	t = tensor("w", 1, 2, DIMS(2, 3), w, sizeof(w));
	put_tensor(&g, &t);
	t = tensor("b", 1, 1, DIMS(3), NULL, 0);
	put_external(&t, "all.bin", "8");
	put_tensor(&g, &t);
	/* In fields of their own: packed, and one by one */
	t = tensor("half", 10, 1, DIMS(2), NULL, 0);
	for (i = 0; i < 2; i++)
		put_int(&t, 5, half[i]);
	put_tensor(&g, &t);
	t = tensor("brain", 16, 1, DIMS(3), brain, sizeof(brain));
	put_tensor(&g, &t);
	t = tensor("real", 11, 1, DIMS(2), NULL, 0);
	put_bytes(&t, 10, real, sizeof(real));
	put_tensor(&g, &t);
	t = tensor("whole", 7, 0, NULL, NULL, 0);
	put_int(&t, 7, whole);
	put_tensor(&g, &t);
	t = tensor("flags", 9, 1, DIMS(2), flags, sizeof(flags));
	put_tensor(&g, &t);
	t = tensor("bytes", 3, 1, DIMS(3), NULL, 0);
	for (i = 0; i < 3; i++)
		put_varint(&v, (uint64_t)(int64_t)bytes[i]);
	put_message(&t, 5, &v);
	put_tensor(&g, &t);
	t = tensor("large", 13, 1, DIMS(1), NULL, 0);
	put_int(&t, 11, (int64_t)large);
	put_tensor(&g, &t);
	t = tensor("none", 1, 2, DIMS(0, 4), "", 0);
	put_tensor(&g, &t);
	return g;
}

/* A model that has nothing outside */
static struct bytes lone_weight(void)
{
	struct bytes g = { .n = 0 }, t = tensor("w", 1, 2, DIMS(2, 3), w, sizeof(w));

	put_tensor(&g, &t);
	return g;
}

static void write_model(const char *name, const struct bytes *g)
{
	const struct bytes m = model(g, 17);
	uint8_t out[128] = { 0 };

	memcpy(out + 8, b, sizeof(b));
	memcpy(out + 64, scale, sizeof(scale));
	write_file("all.bin", out, sizeof(out));
	write_file(name, m.p, m.n);
}

/* --- safetensors ------------------------------------------------------------------------------ */

#define ENTRY(name, type, shape, from, to) \
	"\"" name "\":{\"dtype\":\"" type "\",\"shape\":[" shape \
	"],\"data_offsets\":[" #from "," #to "]}"
#define SAFE(name, type, shape, n)	"{" ENTRY(name, type, shape, 0, n) "}"

static size_t put_safe(uint8_t *p, const char *header, const void *data, size_t n)
{
	const uint64_t length = strlen(header);

	memcpy(p, &length, 8);
	memcpy(p + 8, header, length + 1);
	memcpy(p + 8 + length, data, n);
	return 8 + length + n;
}

static void write_safe(const char *name, const char *header, const void *data, size_t n)
{
	uint8_t p[1024];

	assert_true(n + strlen(header) < sizeof(p) - 8);
	write_file(name, p, put_safe(p, header, data, n));
}

/* A tensor of a file has this type, these dimensions and these bytes. */
static void in_file(const char *file, const char *name, const char *type, const char *dims,
		    const void *data, size_t n)
{
	static uint8_t p[8192];
	const size_t size = read_file(file, p, sizeof(p));
	struct json_object *doc, *o, *x;
	char text[4096];
	uint64_t length, from;

	memcpy(&length, p, 8);
	assert_true(length < sizeof(text) && length < size);
	memcpy(text, p + 8, length);
	text[length] = 0;
	doc = json_tokener_parse(text);
	if (!json_object_object_get_ex(doc, name, &o))
		fail_msg("%s: no %s in %s", file, name, text);
	assert_true(json_object_object_get_ex(o, "dtype", &x));
	assert_string_equal(json_object_get_string(x), type);
	assert_true(json_object_object_get_ex(o, "shape", &x));
	assert_string_equal(json_object_to_json_string_ext(x, 0), dims);
	assert_true(json_object_object_get_ex(o, "data_offsets", &x));
	from = json_object_get_uint64(json_object_array_get_idx(x, 0));
	assert_int_equal(json_object_get_uint64(json_object_array_get_idx(x, 1)) - from, n);
	assert_true(8 + length + from + n <= size);
	if (n)
		assert_memory_equal(p + 8 + length + from, data, n);
	json_object_put(doc);
}

/* Of the last conversion */
static uint64_t sizes[2];

static int convert(const char *from, const char *onto, const char *to, struct accel_error *e)
{
	struct accel_model_convert_opts o = ACCEL_MODEL_CONVERT_OPTS_INIT;

	*e = (struct accel_error)ACCEL_ERROR_INIT;
	o.onto = onto ? path_of(onto) : NULL;
	o.bytes = sizes;
	return accel_model_convert(path_of(from), &o, path_of(to), e);
}

static void good(const char *from, const char *onto, const char *to)
{
	struct accel_error e;

	if (convert(from, onto, to, &e))
		fail_msg("%s: %s", from, e.text);
}

/* The error says this, and nothing is left. */
static void bad(const char *from, const char *onto, const char *to, int code, const char *words)
{
	struct accel_error e;
	const uint32_t before = files();
	const int ret = convert(from, onto, to, &e);

	if (ret != code || !strstr(e.text, words))
		fail_msg("%d: %s; should be %d: %s", ret, e.text, code, words);
	assert_int_equal(files(), before);
}

/* --- tests ------------------------------------------------------------------------------------ */

static void has_all(const char *file)
{
	in_file(file, "w", "F32", "[2,3]", w, sizeof(w));
	in_file(file, "b", "F32", "[3]", b, sizeof(b));
	in_file(file, "half", "F16", "[2]", half, sizeof(half));
	in_file(file, "brain", "BF16", "[3]", brain, sizeof(brain));
	in_file(file, "real", "F64", "[2]", real, sizeof(real));
	in_file(file, "whole", "I64", "[]", &whole, sizeof(whole));
	in_file(file, "flags", "BOOL", "[2]", flags, sizeof(flags));
	in_file(file, "bytes", "I8", "[3]", bytes, sizeof(bytes));
	in_file(file, "large", "U64", "[1]", &large, sizeof(large));
	in_file(file, "none", "F32", "[0,4]", NULL, 0);
}

/* x = [1, 1] */
static void answers(void **arg, const char *file, const float *want)
{
	struct accel_compile_opts opts = ACCEL_COMPILE_OPTS_INIT;
	const float ones[] = { 1, 1 };
	struct runner r = { .bed = *arg };
	struct bed *bed = *arg;
	struct accel_error e = ACCEL_ERROR_INIT;

	if (accel_model_open(path_of(file), &e, &r.model))
		fail_msg("%s: %s", file, e.text);
	MUST(accel_graph_compile(bed->ctx, accel_model_graph(r.model), &opts, &r.program));
	accel_model_close(r.model);
	r.state = new_state(bed, r.program);
	set(&r, 0, 2, DIMS(1, 2), ones, sizeof(ones));
	run(&r);
	has(&r, 0, 2, 3, want);
	stop(&r);
}

/* Sizes are told of all files, of a model that cannot run, too. */
static void test_sizes(void **arg)
{
	struct bytes g = graph();
	uint8_t p[8192];

	(void)arg;
	put_node(&g, "Unheard", "z", "y", NULL, NULL);
	write_model("odd.onnx", &g);
	good("odd.onnx", NULL, "odd.safetensors");
	assert_int_equal(sizes[0], read_file("odd.onnx", p, sizeof(p)) + 128);
	assert_int_equal(sizes[1], read_file("odd.safetensors", p, sizeof(p)));
	good("odd.safetensors", "odd.onnx", "out.onnx");
	assert_int_equal(sizes[0], read_file("odd.safetensors", p, sizeof(p)));
	assert_int_equal(sizes[1], read_file("out.onnx", p, sizeof(p)) + 4096);
}

/* There and back: the same weights, the same answer, and data that were outside stay there. */
static void test_round_trip(void **arg)
{
	const struct bytes g = graph();
	const float want[] = { 30, 54, 78 };
	uint8_t p[8192];

	write_model("all.onnx", &g);
	answers(arg, "all.onnx", want);
	good("all.onnx", NULL, "all.safetensors");
	has_all("all.safetensors");
	good("all.safetensors", "all.onnx", "new.onnx");
	assert_int_equal(read_file("new.onnx.data", p, sizeof(p)), 4096);
	assert_memory_equal(p, b, sizeof(b));
	assert_int_equal(unlink(path_of("all.bin")), 0);
	answers(arg, "new.onnx", want);
	good("new.onnx", NULL, "new.safetensors");
	has_all("new.safetensors");
}

/* Some weights of another model, and the rest as it was */
static void test_replaced(void **arg)
{
	static const float other[] = { 0.5f, 0, -1, 0.25f, 1, 1, 100, 200, 300 };
	static const char header[] = "{" ENTRY("w", "F32", "2,3", 0, 24) ","
				     ENTRY("b", "F32", "3", 24, 36) "}";
	const float want[] = { 201.5f, 402, 600 };
	const struct bytes g = graph();

	write_model("all.onnx", &g);
	write_safe("tuned.safetensors", header, other, sizeof(other));
	good("tuned.safetensors", "all.onnx", "new.onnx");
	answers(arg, "new.onnx", want);
	good("new.onnx", NULL, "new.safetensors");
	in_file("new.safetensors", "w", "F32", "[2,3]", other, 24);
	in_file("new.safetensors", "b", "F32", "[3]", other + 6, 12);
	in_file("new.safetensors", "half", "F16", "[2]", half, sizeof(half));
	in_file("new.safetensors", "whole", "I64", "[]", &whole, sizeof(whole));
	/* The same name: what was mapped is read to its end. */
	good("tuned.safetensors", "new.onnx", "new.onnx");
	answers(arg, "new.onnx", want);
}

static void test_not_onto(void **arg)
{
	const struct bytes g = graph();
	struct accel_model_convert_opts o = ACCEL_MODEL_CONVERT_OPTS_INIT;
	struct accel_error e = ACCEL_ERROR_INIT;

	(void)arg;
	write_model("all.onnx", &g);
	write_safe("x", SAFE("q", "F32", "2,3", 24), w, 24);
	bad("x", "all.onnx", "no.onnx", -EINVAL, "q is no initializer");
	bad("x", NULL, "no.onnx", -EINVAL, "which ONNX model");
	write_safe("x", SAFE("w", "F32", "3,2", 24), w, 24);
	bad("x", "all.onnx", "no.onnx", -EINVAL, "w is F32 [3, 2], the model has F32 [2, 3]");
	write_safe("x", SAFE("w", "F16", "2,3", 12), w, 12);
	bad("x", "all.onnx", "no.onnx", -EINVAL, "w is F16 [2, 3], the model has F32 [2, 3]");
	/* Constant nodes are no initializers. */
	write_safe("x", SAFE("scale", "F32", "3", 12), w, 12);
	bad("x", "all.onnx", "no.onnx", -EINVAL, "scale is no initializer");
	write_safe("x", SAFE("w", "F32", "2,3", 24), w, 23);
	bad("x", "all.onnx", "no.onnx", -EBADMSG, "w: the file ends before its data");
	write_safe("x", SAFE("w", "F32", "2,3", 24), w, 24);
	bad("x", "nothing", "no.onnx", -ENOENT, "nothing");
	bad("x", "x", "no.onnx", -EBADMSG, "not an ONNX model");
	bad("x", "all.onnx", "no.gguf", -EINVAL, "no.gguf: an ONNX file is written");
	bad("x", "all.onnx", "no.safetensors", -EINVAL, "no.safetensors: an ONNX file is written");
	assert_int_equal(unlink(path_of("all.bin")), 0);
	bad("x", "all.onnx", "no.onnx", -ENOENT, "all.bin");
	o.onto = path_of("all.onnx");
	o.type = ACCEL_F16;
	assert_int_equal(accel_model_convert(path_of("x"), &o, path_of("no.onnx"), &e), -EINVAL);
	o.size = offsetof(struct accel_model_convert_opts, onto);
	assert_int_equal(accel_model_convert(path_of("all.onnx"), &o, path_of("no.safetensors"),
					     &e), -EINVAL);
}

/* A model with this initializer alone */
static void lone_is_bad(const struct bytes *t, uint32_t id, int code, const char *words)
{
	struct bytes g = { .n = 0 };

	put_message(&g, id, t);
	write_model("bad.onnx", &g);
	bad("bad.onnx", NULL, "no.safetensors", code, words);
}

static void test_bad_tensors(void **arg)
{
	struct bytes g = graph(), t;
	char name[301] = { 0 };

	(void)arg;
	write_model("all.onnx", &g);
	bad("all.onnx", NULL, "no.gguf", -EOPNOTSUPP, "are written to safetensors");
	bad("all.onnx", NULL, "folder", -EOPNOTSUPP, "are written to safetensors");
	t = tensor("q", 22, 1, DIMS(2), "x", 1);
	lone_is_bad(&t, 5, -EOPNOTSUPP, "q: safetensors has no 4-bit");
	t = tensor("q", 8, 1, DIMS(2), NULL, 0);
	lone_is_bad(&t, 5, -EOPNOTSUPP, "q: type STRING is not supported");
	lone_is_bad(&t, 15, -EOPNOTSUPP, "sparse");
	t = tensor(NULL, 1, 1, DIMS(1), w, 4);
	lone_is_bad(&t, 5, -EBADMSG, "name is missing");
	t = tensor("\xff", 1, 1, DIMS(1), w, 4);
	lone_is_bad(&t, 5, -EBADMSG, "not UTF-8");
	t = tensor("__metadata__", 1, 1, DIMS(1), w, 4);
	lone_is_bad(&t, 5, -EOPNOTSUPP, "__metadata__");
	t = tensor("q", 1, 1, DIMS(7), w, sizeof(w));
	lone_is_bad(&t, 5, -EBADMSG, "q: 24 bytes, its dimensions say 28");
	/* A long name is cut, the reason is not. */
	memset(name, 'n', sizeof(name) - 1);
	t = tensor(name, 1, 1, DIMS(7), w, sizeof(w));
	lone_is_bad(&t, 5, -EBADMSG, "n: 24 bytes, its dimensions say 28");
	/* Nothing is allocated for numbers that are not there. */
	t = tensor("q", 1, 2, DIMS(1 << 19, 1 << 20), NULL, 0);
	lone_is_bad(&t, 5, -EBADMSG, "q: numbers are missing");
	t = tensor("q", 1, 2, DIMS(INT64_MAX, 3), NULL, 0);
	lone_is_bad(&t, 5, -EBADMSG, "q: dimension");
	t = tensor("q", 1, 1, DIMS(-1), w, 4);
	lone_is_bad(&t, 5, -EBADMSG, "q: dimension 0 is -1");
	t = tensor("q", 1, 1, DIMS(31), NULL, 0);
	put_external(&t, "all.bin", "8");
	lone_is_bad(&t, 5, -EBADMSG, "q: its data ends behind the file");
	t = tensor("q", 1, 1, DIMS(3), NULL, 0);
	put_external(&t, "../all.bin", "8");
	lone_is_bad(&t, 5, -EPERM, "../all.bin");
	t = tensor("w", 1, 1, DIMS(1), w, 4);
	put_tensor(&g, &t);
	write_model("bad.onnx", &g);
	bad("bad.onnx", NULL, "no.safetensors", -EBADMSG, "w is there twice");
	g = lone_weight();
	t = tensor("w", 1, 2, DIMS(2, 3), w, sizeof(w));
	put_tensor(&g, &t);
	write_model("bad.onnx", &g);
	write_safe("x", SAFE("w", "F32", "2,3", 24), w, 24);
	bad("x", "bad.onnx", "no.onnx", -EBADMSG, "bad.onnx: the initializer w is there twice");
	g.n = 0;
	put_node(&g, "MatMul", "p", "x", "w", NULL);
	write_model("bad.onnx", &g);
	bad("bad.onnx", NULL, "no.safetensors", -EOPNOTSUPP, "no initializers");
}

/* Graphs of nodes within each other: the first ends before the stack does. */
static void test_deep(void **arg)
{
	static struct bytes g, outer, n;
	uint32_t i;

	(void)arg;
	g = lone("Relu", "x", "y");
	for (i = 0; i < 1000; i++) {
		n = op(NULL, "If", "c", "y");
		attr_graph(&n, "then_branch", &g);
		outer.n = 0;
		put_message(&outer, 1, &n);
		g = outer;
	}
	n = tensor("w", 1, 2, DIMS(2, 3), w, sizeof(w));
	put_tensor(&g, &n);
	write_model("bad.onnx", &g);
	write_safe("x", SAFE("w", "F32", "2,3", 24), w, 24);
	bad("x", "bad.onnx", "no.onnx", -EOPNOTSUPP, "deeper than 16");
	good("bad.onnx", NULL, "w.safetensors");
	in_file("w.safetensors", "w", "F32", "[2,3]", w, sizeof(w));
}

/* What is read, by this name or another, is not written over. */
static void test_places(void **arg)
{
	const struct bytes g = graph(), inside = lone_weight();

	(void)arg;
	write_model("all.onnx", &g);
	write_safe("x", SAFE("w", "F32", "2,3", 24), w, 24);
	unlink(path_of("new.onnx.data"));
	assert_int_equal(link(path_of("all.bin"), path_of("new.onnx.data")), 0);
	assert_int_equal(link(path_of("all.bin"), path_of("data.safetensors")), 0);
	assert_int_equal(link(path_of("all.bin"), path_of("data.onnx")), 0);
	bad("x", "all.onnx", "new.onnx", -EINVAL, "new.onnx.data: is read");
	bad("x", "all.onnx", "data.onnx", -EINVAL, "data.onnx: is read");
	bad("x", "all.onnx", "x", -EINVAL, "x: is read");
	bad("all.onnx", NULL, "data.safetensors", -EINVAL, "data.safetensors: is read");
	assert_int_equal(unlink(path_of("new.onnx.data")), 0);
	assert_int_equal(unlink(path_of("data.safetensors")), 0);
	assert_int_equal(unlink(path_of("data.onnx")), 0);
	write_model("out.onnx.data", &g);
	bad("x", "out.onnx.data", "out.onnx", -EINVAL, "out.onnx.data: is read");
	/* Without data outside nothing is written there. */
	write_safe("out.onnx.data", SAFE("w", "F32", "2,3", 24), w, 24);
	bad("out.onnx.data", "all.onnx", "out.onnx", -EINVAL, "out.onnx.data: is read");
	write_model("inside.onnx", &inside);
	good("out.onnx.data", "inside.onnx", "out.onnx");
	good("x", "all.onnx", "all.onnx");
}

/* Names of data outside are texts of the model: what it cannot have is refused before. */
static void test_names(void **arg)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	const struct bytes g = graph(), inside = lone_weight();

	(void)arg;
	write_model("all.onnx", &g);
	write_model("inside.onnx", &inside);
	write_safe("x", SAFE("w", "F32", "2,3", 24), w, 24);
	bad("x", "all.onnx", "\xff.onnx", -EINVAL, "UTF-8");
	bad("x", "all.onnx", "a\\b.onnx", -EINVAL, "UTF-8");
	good("x", "inside.onnx", "\xff.onnx");
	good("x", "all.onnx", "\xc3\xa9.onnx");
	assert_int_equal(accel_model_convert(path_of("all.onnx"), NULL, "", &e), -EINVAL);
	assert_string_equal(e.text, "the output has no name");
}

/* The error names the file that it is about, before what is wrong with it. */
static void is_about(const char *from, const char *onto, int code, const char *file,
		     const char *words)
{
	char text[160];

	snprintf(text, sizeof(text), "%s: %s", path_of(file), words);
	bad(from, onto, "no.onnx", code, text);
}

static void test_messages(void **arg)
{
	struct bytes g = { .n = 0 }, t = tensor("w", 1, 2, DIMS(2, 3), w, 20);
	static const char index[] = "{\"weight_map\":{\"w\":\"two\"}}";

	(void)arg;
	write_safe("x", SAFE("w", "F32", "2,3", 24), w, 24);
	put_tensor(&g, &t);
	write_model("bad.onnx", &g);
	is_about("x", "bad.onnx", -EBADMSG, "bad.onnx", "w: 20 bytes");
	g = graph();
	write_model("all.onnx", &g);
	write_safe("q", SAFE("w", "F32", "2,3", 24), w, 23);
	is_about("q", "all.onnx", -EBADMSG, "q", "w: the file");
	write_safe("q", SAFE("w", "F32", "3,2", 24), w, 24);
	is_about("q", "all.onnx", -EINVAL, "q", "w is F32 [3, 2]");
	write_safe("q", SAFE("other", "F32", "3,2", 24), w, 24);
	is_about("q", "all.onnx", -EINVAL, "q", "other is no initializer");
	assert_int_equal(mkdir(path_of("no.onnx.data"), 0700), 0);
	is_about("x", "all.onnx", -EEXIST, "no.onnx.data", "cannot be written");
	assert_int_equal(unlink(path_of("all.bin")), 0);
	is_about("x", "all.onnx", -ENOENT, "all.onnx", "all.bin: cannot be opened");
	write_file("q", index, strlen(index));
	write_file("two", "{", 1);
	is_about("q", "all.onnx", -EBADMSG, "q", "two: not a safetensors file");
}

/* --- ended in between ------------------------------------------------------------------------- */

/* Changes of names until this process ends instead, and new names until there is none */
static uint32_t until = UINT32_MAX, unnamed = UINT32_MAX;

__attribute__((visibility("default"))) int rename(const char *from, const char *to)
{
	if (!until--)
		_exit(1);
	if (!unnamed--)
		to = "/dev/null/none";
	return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

__attribute__((visibility("default"))) int unlink(const char *path)
{
	if (!until--)
		_exit(1);
	return unlinkat(AT_FDCWD, path, 0);
}

/* @steps: changes of names; false: it ended before */
static bool converts(const char *from, const char *file, uint32_t steps)
{
	const pid_t pid = fork();
	struct accel_error e;
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		until = steps;
		_exit(convert(from, file, file, &e) ? 2 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
	return !WEXITSTATUS(status);
}

/* Wherever it ends there is a model that works: the old one, or the new one. */
static void test_ended(void **arg)
{
	const float was[] = { 30, 54, 78 }, is[] = { 20, 26, 32 }, other[] = { 5, 6, 7 };
	const struct bytes g = graph();
	uint32_t steps, round, before;
	uint8_t p[8192], q[8192];
	bool done = false, old;
	size_t n;

	write_safe("b", SAFE("b", "F32", "3", 12), other, 12);
	write_safe("x", SAFE("w", "F32", "2,3", 24), w, 24);
	write_model("all.onnx", &g);
	for (steps = 0; !done; steps++) {
		good("x", "all.onnx", "end.onnx");
		n = read_file("end.onnx", p, sizeof(p));
		done = converts("b", "end.onnx", steps);
		old = !done && read_file("end.onnx", q, sizeof(q)) == n && !memcmp(p, q, n);
		answers(arg, "end.onnx", old ? was : is);
	}
	assert_true(steps > 2);
	/* Again and again, and where a model gets no name: no more files than once */
	before = files();
	for (round = 0; round < 3; round++)
		good("b", "end.onnx", "end.onnx");
	unnamed = 1;
	bad("x", "all.onnx", "none.onnx", -ENOTDIR, "none.onnx");
	assert_int_equal(files(), before);
}

/* Damage in what is copied, and data outside of functions */
static void test_copied(void **arg)
{
	struct bytes g = graph(), m, n = { .p = { 0x2a, 0x7f }, .n = 2 }, f = { .n = 0 }, t;
	uint8_t p[4096];

	(void)arg;
	write_safe("x", SAFE("w", "F32", "2,3", 24), w, 24);
	put_message(&g, 1, &n);
	write_model("bad.onnx", &g);
	bad("x", "bad.onnx", "no.onnx", -EBADMSG, "damaged");
	g = graph();
	m = model(&g, 17);
	put_message(&m, 7, &g);
	write_file("bad.onnx", m.p, m.n);
	bad("x", "bad.onnx", "no.onnx", -EOPNOTSUPP, "ModelProto.graph comes in several pieces");
	write_model("all.onnx", &g);
	m = model(&g, 17);
	t = tensor("c", 1, 1, DIMS(2), NULL, 0);
	put_external(&t, "all.bin", "8");
	n.n = 0;
	put_message(&n, 5, &t);
	t.n = 0;
	put_message(&t, 5, &n);
	put_message(&f, 7, &t);
	put_message(&m, 25, &f);
	write_file("fun.onnx", m.p, m.n);
	good("x", "fun.onnx", "new.onnx");
	m.n = (uint32_t)read_file("new.onnx", p, sizeof(p));
	assert_true(m.n > 0 && m.n < sizeof(p));
	assert_null(memmem(p, m.n, "all.bin", 7));
}

/* Each beginning of a model, and models with a byte changed: an error or a done file */
static void test_broken(void **arg)
{
	const struct bytes g = graph();
	const struct bytes m = model(&g, 17);
	struct accel_error e;
	uint8_t p[4096];
	uint32_t i, wrong = 0;
	uint64_t seed = 1;
	size_t n;

	(void)arg;
	assert_true(m.n < sizeof(p));
	write_model("all.onnx", &g);
	good("all.onnx", NULL, "all.safetensors");
	for (n = 0; n < m.n; n++) {
		write_file("bad.onnx", m.p, n);
		wrong += !!convert("bad.onnx", NULL, "w.safetensors", &e);
		wrong += !!convert("all.safetensors", "bad.onnx", "new.onnx", &e);
	}
	assert_true(wrong > m.n);
	for (i = 0; i < 100; i++) {
		memcpy(p, m.p, m.n);
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		p[(seed >> 32) % m.n] ^= (uint8_t)(1u << (seed >> 61));
		write_file("bad.onnx", p, m.n);
		convert(convert("bad.onnx", NULL, "w.safetensors", &e) ? "all.safetensors" :
			"w.safetensors", "bad.onnx", "new.onnx", &e);
	}
}

static int setup(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/test_weights.XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int teardown(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, bed_setup, bed_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_round_trip), TEST(test_replaced), TEST(test_not_onto),
		TEST(test_bad_tensors), TEST(test_deep), TEST(test_places),
		TEST(test_sizes), TEST(test_names), TEST(test_messages), TEST(test_ended),
		TEST(test_copied), TEST(test_broken),
	};

	return cmocka_run_group_tests_name("weights", tests, setup, teardown);
}

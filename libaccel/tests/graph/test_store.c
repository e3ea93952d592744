// SPDX-License-Identifier: MIT
/*
 * Tensors of safetensors and GGUF files: right ones are found and used where they lie, wrong ones
 * are refused, and libFuzzer goes on from them, where it is there.
 *
 * "test_store --seeds DIRECTORY" writes some.
 */
#include <accel/quant.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "graphtest.h"
#include "libaccel/models/stored.h"

struct out {
	uint8_t p[16384];
	size_t n;
};

static void put(struct out *o, const void *p, size_t n)
{
	assert_true(o->n + n < sizeof(o->p));
	memcpy(o->p + o->n, p, n);
	o->n += n;
}

static void put_u32(struct out *o, uint32_t x)
{
	put(o, &x, 4);
}

static void put_u64(struct out *o, uint64_t x)
{
	put(o, &x, 8);
}

static void put_string(struct out *o, const char *text)
{
	put_u64(o, strlen(text));
	put(o, text, strlen(text));
}

static char folder[32];
static const char *program;

static const char *path_of(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void write_file(const char *name, const struct out *o)
{
	FILE *f = fopen(path_of(name), "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(o->p, 1, o->n, f), o->n);
	assert_int_equal(fclose(f), 0);
}

/* --- safetensors ------------------------------------------------------------------------- */

static struct out safe(const char *header, size_t bytes)
{
	struct out o = { .n = 0 };
	uint8_t byte;
	size_t i;

	put_u64(&o, strlen(header));
	put(&o, header, strlen(header));
	for (i = 0; i < bytes; i++) {
		byte = (uint8_t)i;
		put(&o, &byte, 1);
	}
	return o;
}

#define T(name, type, shape, from, to) \
	"\"" name "\":{\"dtype\":\"" type "\",\"shape\":[" shape \
	"],\"data_offsets\":[" #from "," #to "]}"

static const char two[] = "{\"__metadata__\":{\"format\":\"pt\"},"
			  T("b", "F32", "2,3", 0, 24) "," T("a", "BF16", "2", 24, 28) "}   ";

static int open_out(const struct out *o, struct store *s, struct accel_error *e)
{
	write_file("file", o);
	return stored_open(path_of("file"), s, e);
}

static void test_safetensors(void **arg)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_graph *graph;
	struct accel_value v = ACCEL_VALUE_INIT;
	struct out o = safe(two, 28);
	const struct stored *b;
	struct store s;
	uint32_t value;

	(void)arg;
	assert_int_equal(open_out(&o, &s, &e), 0);
	assert_int_equal(s.count, 2);
	assert_int_equal(s.file_bytes, o.n);
	b = stored_find(&s, "b");
	assert_non_null(b);
	assert_int_equal(b->type, ACCEL_F32);
	assert_int_equal(b->rank, 2);
	assert_int_equal(b->dims[1], 3);
	assert_int_equal(b->bytes, 24);
	assert_memory_equal(b->data, o.p + o.n - 28, 24);
	assert_int_equal(stored_find(&s, "a")->type, ACCEL_BF16);
	assert_null(stored_find(&s, "c"));
	/* The graph keeps the mapping. */
	assert_int_equal(accel_graph_create(&graph), 0);
	assert_int_equal(stored_constant(b, graph, &value, &e), 0);
	stored_close(&s);
	assert_int_equal(accel_graph_get_value(graph, value, &v), 0);
	assert_int_equal(v.type, ACCEL_F32);
	assert_int_equal(v.dims[0], 2);
	accel_graph_destroy(graph);
}

static void test_safetensors_types(void **arg)
{
	static const struct {
		const char *name;
		uint32_t bits;
		uint32_t type;
	} types[] = {
		{ "F64", 64, ACCEL_HOST_F64 }, { "F16", 16, ACCEL_F16 },
		{ "I64", 64, ACCEL_HOST_S64 },
		{ "I32", 32, ACCEL_S32 }, { "I16", 16, ACCEL_HOST_S16 }, { "I8", 8, ACCEL_S8 },
		{ "U64", 64, ACCEL_HOST_U64 }, { "U32", 32, ACCEL_HOST_U32 },
		{ "U16", 16, ACCEL_HOST_U16 }, { "U8", 8, ACCEL_U8 },
		{ "BOOL", 8, ACCEL_HOST_BOOL }, { "F8_E4M3", 8, 0 }, { "F4", 4, 0 },
	};
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_graph *graph;
	char header[256];
	struct store s;
	uint32_t value;
	struct out o;
	size_t i;

	(void)arg;
	assert_int_equal(accel_graph_create(&graph), 0);
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		snprintf(header, sizeof(header),
			 "{\"x\":{\"dtype\":\"%s\",\"shape\":[2,2],\"data_offsets\":[0,%u]}}",
			 types[i].name, types[i].bits / 2);
		o = safe(header, types[i].bits / 2);
		assert_int_equal(open_out(&o, &s, &e), 0);
		assert_int_equal(s.list[0].type, types[i].type);
		assert_int_equal(s.list[0].bytes, types[i].bits / 2);
		assert_int_equal(stored_constant(&s.list[0], graph, &value, &e),
				 types[i].type ? 0 : -EOPNOTSUPP);
		stored_close(&s);
	}
	accel_graph_destroy(graph);
}

static void test_safetensors_wrong(void **arg)
{
	static const struct {
		const char *header;
		int ret;
	} wrong[] = {
		{ "{" T("a", "F32", "2", 0, 8), -EBADMSG },
		{ "{" T("a", "F32", "2", 0, 8) "} {", -EBADMSG },
		{ "[1]", -EBADMSG },
		{ "{\"a\":1}", -EBADMSG },
		{ "{" T("a", "F32", "2", 0, 9) "}", -EBADMSG },
		{ "{" T("a", "F32", "2", 8, 0) "}", -EBADMSG },
		{ "{" T("a", "F32", "2", 4, 12) "}", -EBADMSG },
		{ "{" T("a", "F32", "3", 0, 12) "}", -EBADMSG },
		{ "{" T("a", "F32", "-2", 0, 8) "}", -EBADMSG },
		{ "{" T("a", "F32", "4611686018427387904,4,2", 0, 8) "}", -EBADMSG },
		{ "{" T("a", "F32", "9223372036854775807", 0, 8) "}", -EBADMSG },
		{ "{" T("a", "F32", "99999999999999999999999", 0, 8) "}", -EBADMSG },
		{ "{" T("a", "F32", "2.5", 0, 8) "}", -EBADMSG },
		{ "{" T("a", "F32", "1,1,1,1,1,1,1,1,2", 0, 8) "}", -EOPNOTSUPP },
		{ "{" T("a", "F33", "2", 0, 8) "}", -EOPNOTSUPP },
		/* A name twice, tensors over each other, a hole: the data are eight bytes. */
		{ "{" T("a", "F32", "1", 0, 4) "," T("a", "F32", "1", 4, 8) "}", -EBADMSG },
		{ "{" T("a", "F32", "2", 0, 8) "," T("b", "F32", "1", 4, 8) "}", -EBADMSG },
		{ "{" T("a", "U8", "3", 0, 3) "," T("b", "F32", "1", 4, 8) "}", -EBADMSG },
	};
	struct accel_error e = ACCEL_ERROR_INIT;
	struct out o, cut;
	struct store s;
	size_t i;

	(void)arg;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		o = safe(wrong[i].header, 8);
		if (open_out(&o, &s, &e) != wrong[i].ret)
			fail_msg("%s: not %d: %s", wrong[i].header, wrong[i].ret, e.text);
		assert_true(e.text[0]);
	}
	o = safe(two, 28);
	for (i = 0; i < o.n; i++) {
		cut = o;
		cut.n = i;
		assert_int_equal(open_out(&cut, &s, &e), -EBADMSG);
	}
}

static void write_text(const char *name, const char *text)
{
	struct out o = { .n = 0 };

	put(&o, text, strlen(text));
	write_file(name, &o);
}

#define IN(name, file)	"\"" name "\":\"" file ".safetensors\""
#define MAP(in)		"{\"metadata\":{},\"weight_map\":{" in "}}"

static void test_index(void **arg)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct out o = safe(two, 28), p = safe("{" T("c", "F32", "2", 0, 8) "}", 8), q;
	struct store s;

	(void)arg;
	write_file("one.safetensors", &o);
	write_file("two.safetensors", &p);
	write_text("index.json", MAP(IN("a", "one") "," IN("b", "one") "," IN("c", "two")));
	assert_int_equal(stored_open(path_of("index.json"), &s, &e), 0);
	assert_int_equal(s.count, 3);
	assert_int_equal(stored_find(&s, "c")->bytes, 8);
	assert_memory_equal(stored_find(&s, "c")->data, p.p + p.n - 8, 8);
	stored_close(&s);
	/* What the index does not have, in one file or two, is not there. */
	write_text("index.json", MAP(IN("b", "one") "," IN("c", "two")));
	assert_int_equal(stored_open(path_of("index.json"), &s, &e), 0);
	assert_int_equal(s.count, 2);
	assert_non_null(stored_find(&s, "b"));
	stored_close(&s);
	q = safe("{" T("a", "F32", "2", 0, 8) "," T("c", "F32", "2", 8, 16) "}", 16);
	write_file("two.safetensors", &q);
	assert_int_equal(stored_open(path_of("index.json"), &s, &e), 0);
	assert_int_equal(s.count, 2);
	stored_close(&s);
	write_text("index.json", "{\"weight_map\":{\"d\":\"one.safetensors\"}}");
	assert_int_equal(stored_open(path_of("index.json"), &s, &e), -EBADMSG);
	write_text("index.json", "{\"weight_map\":{\"a\":\"../one.safetensors\"}}");
	assert_int_equal(stored_open(path_of("index.json"), &s, &e), -EPERM);
	write_text("index.json", "{\"weight_map\":{\"a\":\"none.safetensors\"}}");
	assert_int_equal(stored_open(path_of("index.json"), &s, &e), -ENOENT);
	write_text("index.json", MAP("\"a\":\"one.safetensors\\u0000x\""));
	assert_int_equal(stored_open(path_of("index.json"), &s, &e), -EBADMSG);
	/* A tensor that two files have */
	write_file("two.safetensors", &o);
	write_text("index.json", MAP(IN("a", "one") "," IN("b", "two")));
	assert_int_equal(stored_open(path_of("index.json"), &s, &e), -EBADMSG);
	/* Each tensor is there, but not where the index says. */
	write_file("two.safetensors", &p);
	write_text("index.json", MAP(IN("a", "one") "," IN("b", "two") "," IN("c", "one")));
	assert_int_equal(stored_open(path_of("index.json"), &s, &e), -EBADMSG);
	write_text("index.json", "{\"weight_map\":7}");
	assert_int_equal(stored_open(path_of("index.json"), &s, &e), -EBADMSG);
}

/* --- GGUF ------------------------------------------------------------------------------- */

/* What is different in a file: see make_gguf() */
struct odd {
	uint32_t version;
	uint64_t tensors;
	uint64_t entries;
	uint32_t align;
	uint32_t rank;
	uint64_t dim;
	uint32_t type;
	uint64_t offset;
	uint64_t strings;
};

static const struct odd usual = { 3, 2, 6, 64, 2, 32, 8, 0, 3 };

/* "q", two rows of blocks of Q8_0, and "f", two numbers; metadata of six kinds */
static struct out make_gguf(const struct odd *odd)
{
	static const char *const words[] = { "the", "", "zo\xc3\xb6" };
	const float numbers[] = { 1.5f, -2 };
	struct out o = { .n = 0 };
	const double real = 0.25;
	const int16_t small = -7;
	uint32_t i, align = odd->align;
	uint8_t byte;
	size_t begin;

	put(&o, "GGUF", 4);
	put_u32(&o, odd->version);
	put_u64(&o, odd->tensors);
	put_u64(&o, odd->entries);
	put_string(&o, "general.alignment");
	put_u32(&o, GGUF_U32);
	put_u32(&o, align);
	put_string(&o, "general.architecture");
	put_u32(&o, GGUF_STRING);
	put_string(&o, "test");
	put_string(&o, "words");
	put_u32(&o, GGUF_ARRAY);
	put_u32(&o, GGUF_STRING);
	put_u64(&o, odd->strings);
	for (i = 0; i < 3; i++)
		put_string(&o, words[i]);
	put_string(&o, "real");
	put_u32(&o, GGUF_F64);
	put(&o, &real, 8);
	put_string(&o, "small");
	put_u32(&o, GGUF_ARRAY);
	put_u32(&o, GGUF_S16);
	put_u64(&o, 1);
	put(&o, &small, 2);
	put_string(&o, "large");
	put_u32(&o, GGUF_U64);
	put_u64(&o, UINT64_MAX);
	put_string(&o, "q");
	put_u32(&o, odd->rank);
	put_u64(&o, odd->dim);
	put_u64(&o, 2);
	put_u32(&o, odd->type);
	put_u64(&o, odd->offset);
	put_string(&o, "f");
	put_u32(&o, 1);
	put_u64(&o, 2);
	put_u32(&o, 0);
	put_u64(&o, 128);
	while (o.n % 64)
		put(&o, "", 1);
	begin = o.n;
	for (i = 0; i < 68; i++) {
		byte = (uint8_t)(i % 34 == 1 ? 0x3c : i % 34 ? i : 0);
		put(&o, &byte, 1);
	}
	while (o.n - begin < 128)
		put(&o, "", 1);
	put(&o, numbers, 8);
	return o;
}

static void test_gguf(void **arg)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct out o = make_gguf(&usual);
	const uint8_t *at;
	const char *text;
	const struct meta *m;
	struct store s;
	uint64_t n;
	int64_t whole;
	double real;

	(void)arg;
	assert_int_equal(open_out(&o, &s, &e), 0);
	assert_int_equal(s.count, 2);
	assert_int_equal(stored_find(&s, "q")->type, ACCEL_Q8_0);
	assert_int_equal(stored_find(&s, "q")->dims[0], 2);
	assert_int_equal(stored_find(&s, "q")->dims[1], 32);
	assert_int_equal(stored_find(&s, "q")->bytes, 68);
	assert_memory_equal(stored_find(&s, "q")->data, o.p + o.n - 136, 68);
	assert_memory_equal(stored_find(&s, "f")->data, o.p + o.n - 8, 8);
	assert_true(meta_number(meta_find(&s, "real"), 0, &real) && real == 0.25);
	assert_false(meta_number(meta_find(&s, "real"), 1, &real));
	assert_false(meta_whole(meta_find(&s, "real"), 0, &whole));
	assert_true(meta_whole(meta_find(&s, "small"), 0, &whole) && whole == -7);
	assert_false(meta_whole(meta_find(&s, "small"), 1, &whole));
	/* It is no negative number. */
	assert_false(meta_whole(meta_find(&s, "large"), 0, &whole));
	assert_true(meta_number(meta_find(&s, "large"), 0, &real) && real == 0x1p64);
	assert_true(meta_whole(meta_find(&s, "general.alignment"), 0, &whole) && whole == 64);
	assert_true(meta_string(meta_find(&s, "general.architecture"), NULL, &text, &n));
	assert_int_equal(n, 4);
	assert_memory_equal(text, "test", 4);
	m = meta_find(&s, "words");
	assert_int_equal(m->count, 3);
	at = m->data;
	assert_true(meta_string(m, &at, &text, &n) && n == 3 && !memcmp(text, "the", 3));
	assert_true(meta_string(m, &at, &text, &n) && n == 0);
	assert_true(meta_string(m, &at, &text, &n) && n == 4 && !memcmp(text, "zo\xc3\xb6", 4));
	assert_null(meta_find(&s, "none"));
	assert_false(meta_whole(NULL, 0, &whole));
	stored_close(&s);
}

/* Blocks that are no element type become some, by the library's conversion. */
static void test_gguf_blocks(void **arg)
{
	static const struct {
		uint32_t format;
		uint32_t elements;
		uint32_t bytes;
		uint32_t type;
	} kinds[] = {
		{ ACCEL_GGUF_Q5_0, 32, 22, ACCEL_Q8_0 }, { ACCEL_GGUF_Q5_1, 32, 24, ACCEL_F32 },
		{ ACCEL_GGUF_Q2_K, 256, 84, ACCEL_F32 }, { ACCEL_GGUF_Q3_K, 256, 110, ACCEL_Q6_K },
		{ ACCEL_GGUF_Q5_K, 256, 176, ACCEL_F32 },
	};
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_value v = ACCEL_VALUE_INIT;
	struct accel_graph *graph;
	struct store s;
	uint32_t value, i, k;
	struct out o;

	(void)arg;
	assert_int_equal(accel_graph_create(&graph), 0);
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		o.n = 0;
		put(&o, "GGUF", 4);
		put_u32(&o, 2);
		put_u64(&o, 1);
		put_u64(&o, 0);
		put_string(&o, "x");
		put_u32(&o, 2);
		put_u64(&o, kinds[i].elements);
		put_u64(&o, 3);
		put_u32(&o, kinds[i].format);
		put_u64(&o, 0);
		while (o.n % 32)
			put(&o, "", 1);
		for (k = 0; k < 3 * kinds[i].bytes; k++)
			put(&o, "\x11", 1);
		assert_int_equal(open_out(&o, &s, &e), 0);
		assert_int_equal(s.list[0].type, 0);
		assert_int_equal(s.list[0].format, kinds[i].format);
		assert_int_equal(stored_constant(&s.list[0], graph, &value, &e), 0);
		assert_int_equal(accel_graph_get_value(graph, value, &v), 0);
		assert_int_equal(v.type, kinds[i].type);
		assert_int_equal(v.dims[1], kinds[i].elements);
		stored_close(&s);
		/* A byte less than the blocks have */
		o.n--;
		assert_int_equal(open_out(&o, &s, &e), -EBADMSG);
	}
	accel_graph_destroy(graph);
}

static void test_gguf_wrong(void **arg)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct odd odd[18];
	struct out o, cut;
	struct store s;
	size_t i, n = 0;
	int want;

	(void)arg;
	for (i = 0; i < 18; i++)
		odd[i] = usual;
	odd[n++].version = 1;
	odd[n++].version = 0x03000000;
	odd[n++].type = 99;
	odd[n++].tensors = UINT64_MAX;
	odd[n++].tensors = 1ull << 60;
	odd[n++].entries = UINT64_MAX;
	odd[n++].entries = 7;
	odd[n++].align = 0;
	odd[n++].align = 33;
	odd[n++].align = 1;
	odd[n++].rank = 5;
	odd[n++].rank = UINT32_MAX;
	odd[n++].dim = 31;
	odd[n++].dim = 1ull << 63;
	odd[n++].dim = UINT64_MAX / 2 + 33;
	odd[n++].offset = 1ull << 62;
	odd[n++].offset = 32;
	odd[n++].strings = 1ull << 61;
	for (i = 0; i < n; i++) {
		o = make_gguf(&odd[i]);
		want = i < 3 ? -EOPNOTSUPP : -EBADMSG;
		if (open_out(&o, &s, &e) != want)
			fail_msg("%zu: not %d: %s", i, want, e.text);
		assert_true(e.text[0]);
	}
	o = make_gguf(&usual);
	for (i = 0; i < o.n; i++) {
		cut = o;
		cut.n = i;
		assert_int_equal(open_out(&cut, &s, &e), -EBADMSG);
	}
}

/* --- the fuzzer ---------------------------------------------------------------------------- */

static int write_seeds(const char *where)
{
	static const uint32_t types[] = { 8, 0, 6, 7, 2, 30, 24, 28 };
	struct odd odd = usual;
	uint32_t i;

	snprintf(folder, sizeof(folder), "%s", where);
	for (i = 0; i < 8; i++) {
		struct out o;
		char name[16];

		odd.type = types[i];
		o = i < 7 ? make_gguf(&odd) : safe(two, 28);
		snprintf(name, sizeof(name), "seed-%u", i);
		write_file(name, &o);
	}
	return 0;
}

/* libFuzzer, from a program beside the folder of this one */
static void test_fuzzer(void **arg)
{
	const char *slash = strrchr(program, '/');
	char path[4096], cmd[8192], *full;
	int r;

	(void)arg;
	snprintf(path, sizeof(path), "%.*s../fuzz_store.fuzzer",
		 slash ? (int)(slash - program) + 1 : 0, program);
	full = realpath(path, NULL);
	if (!full)
		skip();
	snprintf(path, sizeof(path), "%s", folder);
	write_seeds(path);
	snprintf(cmd, sizeof(cmd), "cd %s && exec '%s' -seed=1 %s %s . >log 2>&1", folder, full,
		 "-max_total_time=20 -max_len=2048 -timeout=20 -rss_limit_mb=2048",
		 "-artifact_prefix=/tmp/store-");
	free(full);
	r = system(cmd);
	if (r) {
		snprintf(cmd, sizeof(cmd), "tail -n 30 %s/log | sed 's/^/# /'", folder);
		if (system(cmd))
			printf("# no log\n");
	}
	assert_true(WIFEXITED(r) && !WEXITSTATUS(r));
}

static int make_folder(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/test_store.XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int drop_folder(void **state)
{
	char cmd[128];

	(void)state;
	snprintf(cmd, sizeof(cmd), "rm -rf %s", folder);
	return system(cmd);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_safetensors),
		cmocka_unit_test(test_safetensors_types),
		cmocka_unit_test(test_safetensors_wrong),
		cmocka_unit_test(test_index),
		cmocka_unit_test(test_gguf),
		cmocka_unit_test(test_gguf_blocks),
		cmocka_unit_test(test_gguf_wrong),
		cmocka_unit_test(test_fuzzer),
	};

	program = argv[0];
	if (argc == 3 && !strcmp(argv[1], "--seeds"))
		return write_seeds(argv[2]);
	return cmocka_run_group_tests_name("store", tests, make_folder, drop_folder);
}

// SPDX-License-Identifier: MIT
/*
 * The file of what was measured: written by many, read by whoever, and not
 * believed where somebody has been in it.
 */
#include "tune_bed.h"

/* --- the file --------------------------------------------------------------------------- */

/* An entry that this context would use, of a convolution. */
static void make_entry(struct bed *b, uint32_t width, struct tune_entry *e)
{
	struct accel_error err = ACCEL_ERROR_INIT;
	union any_desc copy, desc;
	struct accel_conv_desc d;
	struct choices *all;
	struct request req;

	base(&d);
	d.a.dims[3] += width;
	d.d.dims[3] += width;
	memset(e, 0, sizeof(*e));
	assert_int_equal(request_create(&d.hdr, &copy, &req, &err), 0);
	assert_int_equal(ask_engines(b->dev, &req, false, &all), 0);
	assert_int_equal(tune_desc_make(&req, all->c[all->chosen].engine->info.engine, &desc), 0);
	assert_int_equal(tune_desc_encode(&desc, e->desc, sizeof(e->desc)), 0);
	free(all);
	tune_desc_words(&req, e->words, sizeof(e->words));
	tune_key(b->ctx, e);
	e->op = req.op;
	e->time = 1000;
	e->count = 2;
	snprintf(e->c[0].algorithm, sizeof(e->c[0].algorithm), "implicit GEMM");
	e->c[0].flags = ACCEL_TUNE_DEFAULT;
	e->c[0].ns = 2000;
	e->c[0].samples = 15;
	snprintf(e->c[1].algorithm, sizeof(e->c[1].algorithm), "direct");
	e->c[1].flags = ACCEL_TUNE_WINNER;
	e->c[1].ns = 1000;
	e->c[1].samples = 15;
	e->c[1].hint = (struct fast_hint){ .variant = 3, .mt = 8, .nt = 32, .kt = 5, .threads = 1 };
	request_release(&req);
}

static char *slurp(const char *path, size_t *size)
{
	char *text;

	assert_int_equal(tune_file_read(path, &text, size), 0);
	assert_non_null(text);
	return text;
}

static void spill(const char *path, const char *text, size_t size)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
}

/* What is found is as it was stored, or nothing is found. */
static bool found_right(struct bed *b, const struct tune_entry *e)
{
	struct tune_entry *key = calloc(1, sizeof(*key));
	bool found;

	assert_non_null(key);
	memcpy(key, e, sizeof(*key));
	key->count = 0;
	memset(key->c, 0, sizeof(key->c));
	found = !tune_file_find(b->path, key);
	if (found) {
		assert_int_equal(key->count, e->count);
		assert_memory_equal(key->c, e->c, sizeof(e->c));
		assert_string_equal(key->words, e->words);
		assert_int_equal(key->time, e->time);
		assert_true(key->cached);
	}
	free(key);
	return found;
}

static struct tune_entry *store_three(struct bed *b)
{
	struct tune_entry *e = calloc(3, sizeof(*e));
	uint32_t i;

	assert_non_null(e);
	for (i = 0; i < 3; i++) {
		make_entry(b, 2 * i, &e[i]);
		assert_int_equal(tune_file_store(b->path, &e[i]), 0);
	}
	for (i = 0; i < 3; i++)
		assert_true(found_right(b, &e[i]));
	assert_int_equal(list(b).by_state[ACCEL_TUNE_VALID], 3);
	return e;
}

static void test_corruption(void **state)
{
	static const unsigned char flips[] = { 0x01, 0x20, 0x80, 0xff };
	struct bed *b = *state;
	struct tune_entry *e;
	uint32_t k, found;
	size_t size, i;
	struct seen s;
	char *text;

	begin(b);
	e = store_three(b);
	text = slurp(b->path, &size);
	for (i = 0; i < size; i++) {
		char saved = text[i];
		unsigned char flip = flips[i % sizeof(flips)];

		text[i] = (char)((unsigned char)saved ^ flip);
		spill(b->path, text, size);
		found = 0;
		for (k = 0; k < 3; k++)
			found += found_right(b, &e[k]);
		/* A newline is of two lines, and one may come to be. */
		assert_true(found == 2 || (saved == '\n' && found >= 1 && found < 3));
		s = list(b);
		assert_int_equal(s.by_state[ACCEL_TUNE_VALID], found);
		assert_true(s.by_state[ACCEL_TUNE_CORRUPT] >= 1);
		assert_int_equal(s.with_desc, found);
		text[i] = saved;
	}
	/* The next entry that is stored makes it whole again. */
	text[40] ^= 1;
	spill(b->path, text, size);
	assert_int_equal(tune_file_store(b->path, &e[0]), 0);
	s = list(b);
	assert_int_equal(s.count, 3);
	assert_int_equal(s.by_state[ACCEL_TUNE_VALID], 3);
	free(text);
	free(e);
}

static void test_truncation(void **state)
{
	uint32_t k, found, whole;
	struct bed *b = *state;
	struct tune_entry *e;
	size_t size, i, j;
	char *text;

	begin(b);
	e = store_three(b);
	text = slurp(b->path, &size);
	for (i = size; i-- > 0; ) {
		spill(b->path, text, i);
		for (whole = 0, j = 0; j < i; j++)
			whole += text[j] == '\n';
		for (found = 0, k = 0; k < 3; k++)
			found += found_right(b, &e[k]);
		assert_int_equal(found, whole);
		assert_int_equal(list(b).by_state[ACCEL_TUNE_VALID], whole);
	}
	free(text);
	free(e);
}

/* No file, but something that is in its place. */
static void test_not_a_file(void **state)
{
	struct bed *b = *state;
	struct tune_entry *e = calloc(1, sizeof(*e));
	struct seen s = { 0 };
	struct told t;
	char junk[4096];
	uint32_t i;

	begin(b);
	assert_non_null(e);
	make_entry(b, 0, e);
	assert_int_equal(tune_file_store(b->path, e), 0);
	for (i = 0; i < sizeof(junk); i++)
		junk[i] = (char)(i * 2654435761u >> 24);
	spill(b->path, junk, sizeof(junk));
	assert_false(found_right(b, e));
	assert_int_equal(list(b).by_state[ACCEL_TUNE_VALID], 0);
	/* A directory, which is neither read nor replaced. */
	assert_int_equal(unlink(b->path), 0);
	assert_int_equal(mkdir(b->path, 0700), 0);
	accel_bo_unref(run(b, ACCEL_PLAN_TUNE, 4000, &t));
	assert_int_equal(b->warnings, 1);
	assert_true(accel_tune_list(b->ctx, see, &s) < 0);
	assert_int_equal(rmdir(b->path), 0);
	/* A FIFO does not block. */
	assert_int_equal(mkfifo(b->path, 0600), 0);
	accel_bo_unref(run(b, ACCEL_PLAN_TUNE_CACHED, 0, &t));
	assert_int_equal(t.measured, 0);
	free(e);
}

static void test_foreign(void **state)
{
	struct bed *b = *state;
	struct tune_entry *e = calloc(2, sizeof(*e)), *key = e + 1;
	uint64_t removed;
	struct told t;
	struct seen s;

	begin(b);
	assert_non_null(e);
	make_entry(b, 0, key);
	*e = *key;
	strcat(e->cpu, "x");
	assert_int_equal(tune_file_store(b->path, e), 0);
	*e = *key;
	strcat(e->version, "0");
	assert_int_equal(tune_file_store(b->path, e), 0);
	*e = *key;
	strcat(e->device, "x");
	assert_int_equal(tune_file_store(b->path, e), 0);
	*e = *key;
	e->threads++;
	assert_int_equal(tune_file_store(b->path, e), 0);
	s = list(b);
	assert_int_equal(s.count, 4);
	assert_int_equal(s.state[0], ACCEL_TUNE_OTHER_CPU);
	assert_int_equal(s.state[1], ACCEL_TUNE_OTHER_VERSION);
	assert_int_equal(s.state[2], ACCEL_TUNE_OTHER_DEVICE);
	assert_int_equal(s.state[3], ACCEL_TUNE_OTHER_DEVICE);
	assert_false(found_right(b, key));
	accel_bo_unref(run(b, ACCEL_PLAN_TUNE_CACHED, 0, &t));
	assert_int_equal(t.measured, 0);
	/* They stay beside one's own. */
	assert_int_equal(tune_file_store(b->path, key), 0);
	assert_int_equal(list(b).count, 5);
	assert_true(found_right(b, key));
	assert_int_equal(accel_tune_prune(b->ctx, 1u << ACCEL_TUNE_OTHER_CPU |
					  1u << ACCEL_TUNE_OTHER_VERSION, 0, &removed), 0);
	assert_int_equal(removed, 2);
	s = list(b);
	assert_int_equal(s.count, 3);
	assert_int_equal(s.by_state[ACCEL_TUNE_OTHER_DEVICE], 2);
	/* All of them are of 1970. */
	assert_int_equal(accel_tune_prune(b->ctx, 0, 3600, &removed), 0);
	assert_int_equal(removed, 3);
	assert_int_equal(list(b).count, 0);
	free(e);
}

/* A hint from the file changes the time at most; a way that there is not, nothing. */
static void test_wrong_winner(void **state)
{
	static const struct fast_hint hints[] = {
		{ .variant = UINT16_MAX, .mt = UINT16_MAX, .nt = UINT16_MAX, .kt = UINT16_MAX,
		  .threads = UINT16_MAX },
		{ .mt = 1, .nt = 1, .kt = 1 }, { .mt = 3, .nt = 7, .kt = 13, .threads = 200 },
		{ .variant = 1 }, { .variant = 77, .nt = 16 }, { .kt = UINT16_MAX },
	};
	static const char * const ways[] = {
		"implicit GEMM", "direct", "Winograd F(2x2, 3x3)", "Winograd F(4x4, 3x3)",
	};
	struct bed *b = *state;
	struct tune_entry *e = calloc(1, sizeof(*e));
	struct told t, plain;
	uint32_t i, w;

	begin(b);
	assert_non_null(e);
	make_entry(b, 0, e);
	for (w = 0; w < sizeof(ways) / sizeof(ways[0]); w++)
		for (i = 0; i < sizeof(hints) / sizeof(hints[0]); i++) {
			snprintf(e->c[1].algorithm, sizeof(e->c[1].algorithm), "%s", ways[w]);
			e->c[1].hint = hints[i];
			assert_int_equal(tune_file_store(b->path, e), 0);
			assert_close(run(b, 0, 0, &plain),
				     run(b, ACCEL_PLAN_TUNE_CACHED, 0, &t));
			assert_string_equal(t.algorithm, ways[w]);
		}
	/* Nobody asked for that, and that does not exist. */
	snprintf(e->c[1].algorithm, sizeof(e->c[1].algorithm), "Winograd F(6x6, 3x3)");
	assert_int_equal(tune_file_store(b->path, e), 0);
	assert_close(run(b, 0, 0, &plain), run(b, ACCEL_PLAN_TUNE_CACHED, 0, &t));
	assert_string_equal(t.algorithm, plain.algorithm);
	snprintf(e->c[1].algorithm, sizeof(e->c[1].algorithm), "magic");
	e->c[1].pieces = 3;
	assert_int_equal(tune_file_store(b->path, e), 0);
	assert_close(run(b, 0, 0, &plain), run(b, ACCEL_PLAN_TUNE_CACHED, 0, &t));
	assert_int_equal(t.measured, 0);
	free(e);
}

#define WRITERS	6
#define EACH	15

static void test_writers(void **state)
{
	struct bed *b = *state;
	struct tune_entry *e = calloc(1, sizeof(*e));
	pid_t pid[WRITERS];
	uint32_t i, k;
	struct seen s;
	int status;

	begin(b);
	assert_non_null(e);
	make_entry(b, 0, e);
	for (i = 0; i < WRITERS; i++) {
		pid[i] = fork();
		assert_true(pid[i] >= 0);
		if (pid[i])
			continue;
		for (k = 0; k < EACH; k++) {
			snprintf(e->device, sizeof(e->device), "device %u %u", i, k);
			if (tune_file_store(b->path, e))
				_exit(1);
		}
		_exit(0);
	}
	for (i = 0; i < WRITERS; i++) {
		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		assert_int_equal(status, 0);
	}
	s = list(b);
	assert_int_equal(s.count, WRITERS * EACH);
	assert_int_equal(s.by_state[ACCEL_TUNE_OTHER_DEVICE], WRITERS * EACH);
	free(e);
}

/* Words of a descriptor that anybody could have written. */
static void test_descriptors(void **state)
{
	static const char alphabet[] = "0123456789abcdef:,xZ ";
	struct bed *b = *state;
	struct tune_entry *e = calloc(1, sizeof(*e));
	union any_desc desc, same;
	char text[sizeof(e->desc)];
	uint32_t seed = 1, i, taken = 0;
	size_t len;

	begin(b);
	assert_non_null(e);
	make_entry(b, 0, e);
	assert_int_equal(tune_desc_decode(e->desc, &desc), 0);
	assert_int_equal(tune_desc_encode(&desc, text, sizeof(text)), 0);
	assert_string_equal(text, e->desc);
	assert_int_equal(tune_desc_encode(&desc, text, strlen(e->desc)), -ENOSPC);
	len = strlen(e->desc);
	for (i = 0; i < 20000; i++) {
		memcpy(text, e->desc, len + 1);
		seed = seed * 1664525 + 1013904223;
		text[seed % len] = alphabet[(seed >> 20) % (sizeof(alphabet) - 1)];
		if (i & 1)
			text[(seed >> 8) % len] = 0;
		if (tune_desc_decode(text, &same))
			continue;
		taken++;
		assert_null(same.conv.a.bo);
		assert_null(same.conv.b.quant.scales);
	}
	assert_true(taken > 0);
	assert_int_equal(tune_desc_decode("", &same), -EBADMSG);
	assert_int_equal(tune_desc_decode("99999999999:0000000000000001", &same), -EBADMSG);
	free(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_corruption),
		TEST(test_truncation),
		TEST(test_not_a_file),
		TEST(test_foreign),
		TEST(test_wrong_winner),
		TEST(test_writers),
		TEST(test_descriptors),
	};

	return cmocka_run_group_tests_name("tune file", tests, NULL, NULL);
}

// SPDX-License-Identifier: MIT
/*
 * Sequences of a key-value cache in files, and the positions of tokens behind
 * those that were evicted, which files keep, too.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "kv_bench.h"

static void refuse_shape(struct bench *b, const struct accel_kv_opts *o, const char *path,
			 const char *field)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_kv *other;
	uint32_t seq;

	assert_int_equal(accel_kv_create(b->env->ctx, o, &other), 0);
	assert_int_equal(accel_kv_load(other, path, &seq), field ? -EINVAL : 0);
	accel_ctx_get_error(b->env->ctx, &e);
	if (field)
		assert_string_equal(e.field, field);
	accel_kv_destroy(other);
}

static void test_shapes(struct bench *b, const char *path)
{
	struct accel_kv_opts o = b->o;

	o.layers++;
	refuse_shape(b, &o, path, "kv.layers");
	o = b->o;
	o.kv_heads++;
	refuse_shape(b, &o, path, "kv.kv_heads");
	o = b->o;
	o.head_dim++;
	refuse_shape(b, &o, path, "kv.head_dim");
	o = b->o;
	o.v_dim++;
	refuse_shape(b, &o, path, "kv.v_dim");
	o = b->o;
	o.dtype = ACCEL_F32;
	o.scale_dtype = 0;
	refuse_shape(b, &o, path, "kv.dtype");
	o = b->o;
	o.scale_dtype = ACCEL_F16;
	refuse_shape(b, &o, path, "kv.scale_dtype");
	/* Pages are nobody's business but the cache's. */
	o = b->o;
	o.page_size = 7;
	o.pages = 3;
	refuse_shape(b, &o, path, NULL);
}

static void test_files(struct op_env *env)
{
	struct accel_kv_opts o = bench_small(ACCEL_S8, 4);
	struct accel_kv_stats s = { .size = sizeof(s) }, t = { .size = sizeof(t) };
	uint32_t which = 0, tokens = 9, seq, step = env->small ? 37 : 1;
	static unsigned char good[4096], bad[4097];
	char path[256];
	size_t size, i;
	struct bench b;
	int ret;

	o.v_dim = 3;
	bench_open(&b, env, &o, ACCEL_F32, 8);
	b.list[0].used = true;
	assert_int_equal(accel_kv_seq_create(b.kv, &b.list[0].seq), 0);
	assert_int_equal(bench_append(&b, &which, &tokens, 1), 0);
	bench_path(path, sizeof(path));
	assert_int_equal(accel_kv_save(b.kv, b.list[0].seq, path), 0);
	size = bench_read(path, good, sizeof(good));
	/* 9 tokens, 2 layers, 2 heads, a key of 6 and a value of 3 and two scales */
	assert_int_equal(size, 128 + 9 * 2 * 2 * (6 + 3 + 8));
	test_shapes(&b, path);
	accel_kv_get_stats(b.kv, &s);
	for (i = 0; i < size; i += step) {
		memcpy(bad, good, size);
		bad[i] ^= (unsigned char)(1 << i % 8);
		bench_write(path, bad, size);
		ret = accel_kv_load(b.kv, path, &seq);
		assert_int_equal(ret, i >= 8 && i < 12 ? -EPROTO : -EBADMSG);
		bench_write(path, good, i);
		assert_int_equal(accel_kv_load(b.kv, path, &seq), -EBADMSG);
		env->cases += 2;
	}
	memcpy(bad, good, size);
	bad[size] = 0;
	bench_write(path, bad, size + 1);
	assert_int_equal(accel_kv_load(b.kv, path, &seq), -EBADMSG);
	accel_kv_get_stats(b.kv, &t);
	t.used_pages_peak = s.used_pages_peak;
	assert_memory_equal(&s, &t, sizeof(s));
	bench_write(path, good, size);
	assert_int_equal(accel_kv_load(b.kv, path, &seq), 0);
	b.list[1] = b.list[0];
	b.list[1].seq = seq;
	bench_check(&b);
	/* What was saved again is the same file. */
	assert_int_equal(accel_kv_save(b.kv, seq, path), 0);
	assert_int_equal(bench_read(path, bad, sizeof(bad)), size);
	assert_memory_equal(good, bad, size);
	unlink(path);
	assert_int_equal(accel_kv_load(b.kv, path, &seq), -ENOENT);
	assert_int_equal(accel_kv_load(b.kv, "/", &seq), -EBADMSG);
	assert_int_equal(accel_kv_load(b.kv, NULL, &seq), -EINVAL);
	assert_int_equal(accel_kv_save(b.kv, b.list[0].seq, "/nowhere/file"), -ENOENT);
	assert_int_equal(accel_kv_save(b.kv, 77, path), -ENOENT);
	bench_close(&b);
}

/* --- positions behind evicted tokens ---------------------------------------------------------- */

static uint64_t next_position(struct accel_kv *kv, uint32_t seq)
{
	struct accel_kv_seq_info info = { .size = sizeof(info) };

	assert_int_equal(accel_kv_seq_get_info(kv, seq, &info), 0);
	return info.length + info.evicted;
}

static void expect_next(struct bench *b, struct accel_kv *kv, uint32_t seq, uint64_t length,
			uint64_t next)
{
	uint32_t child;

	assert_int_equal(accel_kv_seq_fork(kv, seq, length, &child), 0);
	assert_int_equal(next_position(kv, child), next);
	assert_int_equal(accel_kv_seq_destroy(kv, child), 0);
	b->env->cases++;
}

/* A bit of where the tokens are missing is wrong, or the file ends there. */
static void refuse_gaps(struct bench *b, const char *path)
{
	static unsigned char good[4096], bad[4096];
	const size_t size = bench_read(path, good, sizeof(good));
	uint32_t seq, i;

	assert_in_range(size, 128 + 32, sizeof(good) - 1);
	for (i = 128; i < 128 + 32; i++) {
		memcpy(bad, good, size);
		bad[i] ^= (unsigned char)(1 << i % 8);
		bench_write(path, bad, size);
		assert_int_equal(accel_kv_load(b->kv, path, &seq), -EBADMSG);
		bench_write(path, good, i);
		assert_int_equal(accel_kv_load(b->kv, path, &seq), -EBADMSG);
	}
	bench_write(path, good, size);
}

static void test_positions(struct op_env *env)
{
	struct accel_kv_opts o = bench_small(ACCEL_S8, 4);
	uint32_t which = 0, tokens = 40, seq, again;
	struct accel_kv *other;
	struct bench b;
	char path[256];

	bench_open(&b, env, &o, ACCEL_F32, 13);
	b.list[0].used = true;
	assert_int_equal(accel_kv_seq_create(b.kv, &seq), 0);
	b.list[0].seq = seq;
	assert_int_equal(bench_append(&b, &which, &tokens, 1), 0);
	assert_int_equal(accel_kv_seq_evict(b.kv, seq, 4, 8), 0);
	/* 0 to 3, 32 to 39 */
	expect_next(&b, b.kv, seq, 12, 40);
	expect_next(&b, b.kv, seq, 5, 33);
	expect_next(&b, b.kv, seq, 4, 4);
	expect_next(&b, b.kv, seq, 3, 3);
	expect_next(&b, b.kv, seq, 0, 0);
	/* 0 to 3, 36 to 39; then nothing behind 3, though 40 comes next */
	assert_int_equal(accel_kv_seq_evict(b.kv, seq, 4, 4), 0);
	expect_next(&b, b.kv, seq, 5, 37);
	expect_next(&b, b.kv, seq, 4, 4);
	assert_int_equal(accel_kv_seq_evict(b.kv, seq, 4, 0), 0);
	assert_int_equal(next_position(b.kv, seq), 40);
	expect_next(&b, b.kv, seq, 4, 40);
	expect_next(&b, b.kv, seq, 2, 2);
	/* 0 to 3, 40 to 50; without the first ones, too: 40 to 50 */
	b.list[0].length = 4;
	tokens = 11;
	assert_int_equal(bench_append(&b, &which, &tokens, 1), 0);
	assert_int_equal(next_position(b.kv, seq), 51);
	assert_int_equal(accel_kv_seq_fork(b.kv, seq, 15, &again), 0);
	assert_int_equal(accel_kv_seq_evict(b.kv, again, 0, 11), 0);
	expect_next(&b, b.kv, again, 11, 51);
	expect_next(&b, b.kv, again, 1, 41);
	expect_next(&b, b.kv, again, 0, 0);
	assert_int_equal(accel_kv_seq_destroy(b.kv, again), 0);
	/* 0 to 3, 40 to 43, 48 to 50: in a file, and where pages end elsewhere */
	assert_int_equal(accel_kv_seq_evict(b.kv, seq, 8, 1), 0);
	assert_int_equal(accel_kv_seq_truncate(b.kv, seq, 11), 0);
	bench_path(path, sizeof(path));
	assert_int_equal(accel_kv_save(b.kv, seq, path), 0);
	refuse_gaps(&b, path);
	o.page_size = 3;
	assert_int_equal(accel_kv_create(env->ctx, &o, &other), 0);
	assert_int_equal(accel_kv_load(other, path, &again), 0);
	expect_next(&b, other, again, 11, 51);
	expect_next(&b, other, again, 9, 49);
	expect_next(&b, other, again, 8, 44);
	expect_next(&b, other, again, 5, 41);
	expect_next(&b, other, again, 4, 4);
	/* Without the second page, 3, 40 and 41 */
	assert_int_equal(accel_kv_seq_evict(other, again, 1, 3), 0);
	expect_next(&b, other, again, 8, 51);
	expect_next(&b, other, again, 6, 49);
	expect_next(&b, other, again, 5, 44);
	expect_next(&b, other, again, 4, 43);
	expect_next(&b, other, again, 3, 3);
	accel_kv_destroy(other);
	unlink(path);
	bench_close(&b);
}

int main(void)
{
	static const struct op_test tests[] = {
		{ "kv files", test_files },
		{ "kv positions", test_positions },
	};

	return op_main(tests, ARRAY_SIZE(tests));
}

/* SPDX-License-Identifier: MIT */
/*
 * A key-value cache, and a model of it that is nothing but lists of tokens. What
 * a token's rows are follows from its number.
 */
#ifndef LIBACCEL_TESTS_KV_BENCH_H
#define LIBACCEL_TESTS_KV_BENCH_H

#include "optest.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

#define SEQS		12
#define TOKENS		400

/**
 * struct list - a sequence as it should be
 * @used: it is there
 * @seq: its number in the cache
 * @length: tokens
 * @next: position of the next token
 * @token: their numbers
 * @position: and positions
 */
struct list {
	bool used;
	uint32_t seq;
	uint32_t length;
	uint64_t next;
	uint32_t token[TOKENS];
	uint64_t position[TOKENS];
};

/**
 * struct bench - a cache and what it should be
 * @env: device
 * @kv: cache
 * @o: its shape
 * @queue: for its jobs
 * @c: random numbers
 * @src: type of the rows that are appended
 * @next: next token
 * @list: sequences
 */
struct bench {
	struct op_env *env;
	struct accel_kv *kv;
	struct accel_kv_opts o;
	struct accel_queue *queue;
	struct op_case c;
	uint32_t src;
	uint32_t next;
	struct list list[SEQS];
};

void bench_open(struct bench *b, struct op_env *env, const struct accel_kv_opts *o,
		uint32_t src, uint64_t seed);
void bench_close(struct bench *b);
struct accel_tensor bench_rows(struct bench *b, const uint32_t *tokens, uint32_t count,
			       uint32_t layer, uint32_t part);
void bench_run(struct bench *b, struct accel_job *job);
int bench_append(struct bench *b, const uint32_t *which, const uint32_t *tokens, uint32_t n);
void bench_check(struct bench *b);
void list_add(struct list *l, uint32_t token);
void list_cut(struct list *l, uint32_t length);
void bench_path(char *path, size_t size);
void bench_write(const char *path, const void *data, size_t size);
size_t bench_read(const char *path, unsigned char *data, size_t size);
struct accel_kv_opts bench_small(uint32_t dtype, uint32_t page_size);

#endif /* LIBACCEL_TESTS_KV_BENCH_H */

/* SPDX-License-Identifier: MIT */
/*
 * Forms of constant weights that plans share.
 */
#ifndef LIBACCEL_STORE_H
#define LIBACCEL_STORE_H

#include <pthread.h>
#include <stdatomic.h>
#include "libaccel/core/objects.h"

/* Forms, and buffers whose contents are known, at most */
#define STORE_MAX	65536u

/**
 * struct store_key - what a form is found by; without padding
 * @content: of the source and its tables
 * @lo: where element (0, 0, ...) is in the source
 * @dims: of the operand as it is held
 * @strides: of the source
 * @bytes: of the form
 * @rank: number of @dims
 * @dtype: &enum accel_dtype
 * @form: &enum weights_form
 * @layout: &enum uma_layout
 * @block_k: of the packing row, or 0
 * @block_n: likewise
 * @engine: &enum accel_engine
 * @winograd: edge, or 0
 * @scheme: of its quantisation
 * @axis: likewise
 * @group: likewise
 * @quant_flags: likewise
 * @scale_dtype: likewise
 * @zeros: there are zero points
 * @sparse: 1 + dimension along which two of four are zero, or 0
 * @order: 1 + order of the dimensions of a dense form, or zeros
 */
struct store_key {
	struct store_digest content;
	int64_t lo;
	int64_t dims[ACCEL_MAX_RANK];
	int64_t strides[ACCEL_MAX_RANK];
	uint64_t bytes;
	uint32_t rank;
	uint32_t dtype;
	uint32_t form;
	uint32_t layout;
	uint32_t block_k;
	uint32_t block_n;
	uint32_t engine;
	uint32_t winograd;
	uint32_t scheme;
	uint32_t axis;
	uint32_t group;
	uint32_t quant_flags;
	uint32_t scale_dtype;
	uint32_t zeros;
	uint32_t sparse;
	uint32_t pad;
	uint8_t order[8];
};

/* Data of a file whose digest is known */
struct file_sum {
	struct accel_file_stamp file;
	uint64_t offset;
	uint64_t bytes;
	struct store_digest digest;
};

/* A form: in a file, or in contexts, or both. */
struct store_form {
	struct store_key key;
	/* the same memory in each context that has it */
	uint32_t bo_count;
	struct accel_bo **bos;
	/* in a mapped file, or NULL */
	const void *mapped;
	struct file_place place;
	struct store_digest digest;
	bool checked;
	/* when it was last used, of all uses */
	uint64_t used;
};

/* Contents that are known: buffers' numbers are given once. */
struct store_known {
	uint64_t bo;
	uint64_t offset;
	uint64_t bytes;
	struct store_digest digest;
	/* from the directory's table of files, not computed in this process */
	bool recalled;
};

struct store_map {
	void *addr;
	size_t size;
};

struct accel_weights {
	atomic_uint refs;
	struct accel_ctx *ctx;
	uint64_t max_bytes;
	/* protects what follows */
	pthread_mutex_t lock;
	struct accel_weights_info info;
	uint64_t uses;
	struct store_form *forms;
	uint32_t form_cap;
	uint32_t known_count;
	uint32_t known_cap;
	struct store_known *known;
	uint32_t map_count;
	struct store_map *maps;
	/* directory of the context's, -1: not looked for yet, -2: none */
	int dir;
	/* bytes that were found or written there */
	uint64_t dir_bytes;
	/* what is known of files: first what the directory had, once that was read */
	struct file_sum *sums;
	uint32_t sum_count;
	uint32_t sum_cap;
	uint32_t sum_old;
	bool sums_read;
	/*
	 * A digest since this was cleared came from the table of files; digests are computed again
	 */
	bool recalled;
	bool doubted;
};

/* store.c; with the lock */
int store_content(struct accel_weights *w, struct accel_bo *bo, uint64_t offset, uint64_t bytes,
		  struct store_digest *sum);
struct accel_bo *store_find(struct accel_weights *w, struct accel_ctx *ctx,
			    const struct store_key *key);
void store_keep(struct accel_weights *w, const struct store_key *key, struct accel_bo *bo);
void store_trim(struct accel_weights *w, const struct store_key *stays);
bool store_whole(struct accel_weights *w, struct store_form *f);
struct store_form *store_add(struct accel_weights *w, const struct store_key *key);

/* store_file.c, a file with one form; with the lock */
#define STORE_NAME	36

void store_form_name(const struct accel_weights *w, const struct store_key *key,
		     char name[STORE_NAME]);
int store_form_write(struct accel_weights *w, const struct store_form *f, int fd);
struct store_form *store_form_map(struct accel_weights *w, int fd, uint64_t size,
				  const struct store_key *key);

/* store_known.c; with the lock */
struct store_digest store_read(struct accel_weights *w, const struct file_place *at,
			       const void *data, uint64_t bytes);
void store_known_save(struct accel_weights *w);

/* store_dir.c; with the lock */
#define STORE_KNOWN	"known"

bool store_dir_is(struct accel_weights *w);
int store_dir_read(const struct accel_weights *w, const char *name);
int store_dir_write(struct accel_weights *w, const char *name, int (*fill)(void *user, int fd),
		    void *user);
struct store_form *store_dir_find(struct accel_weights *w, const struct store_key *key);
void store_dir_keep(struct accel_weights *w, const struct store_form *f);
void store_dir_close(struct accel_weights *w);

#endif /* LIBACCEL_STORE_H */

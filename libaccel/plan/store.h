/* SPDX-License-Identifier: MIT */
/* Forms of constant weights that plans share. */
#ifndef LIBACCEL_STORE_H
#define LIBACCEL_STORE_H

#include <pthread.h>
#include <stdatomic.h>
#include "libaccel/core/objects.h"

/* Maximum number of forms, and of buffers with known contents */
#define STORE_MAX	65536u

/**
 * struct store_key - key of a form; without padding, because it is compared and hashed as bytes
 * @content: digest of the source and its tables
 * @lo: position of element (0, 0, ...) in the source
 * @dims: dimensions of the form
 * @strides: of the source
 * @bytes: size of the form
 * @rank: number of @dims
 * @dtype: &enum accel_dtype
 * @form: &enum weights_form
 * @layout: &enum uma_layout
 * @block_k: of the packing row, or 0
 * @block_n: of the packing row, or 0
 * @engine: &enum accel_engine
 * @winograd: edge, or 0
 * @scheme: of its quantisation
 * @axis: of its quantisation
 * @group: of its quantisation
 * @quant_flags: of its quantisation
 * @scale_dtype: of its quantisation
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

/* Data of a file with a known digest */
struct file_sum {
	struct accel_file_stamp file;
	uint64_t offset;
	uint64_t bytes;
	struct store_digest digest;
};

/* A form, in a file, in contexts, or in both. */
struct store_form {
	struct store_key key;
	/* the same memory in each context that uses it */
	uint32_t bo_count;
	struct accel_bo **bos;
	/* in a mapped file, or NULL */
	const void *mapped;
	struct file_place place;
	struct store_digest digest;
	bool checked;
	/* value of the use counter at its last use */
	uint64_t used;
};

/* Digests of the contents of a buffer, by the number of the buffer, which is never reused. */
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
	/* protects the following members */
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
	/* directory of the context; -1: not opened yet, -2: none */
	int dir;
	/* bytes that were found or written there */
	uint64_t dir_bytes;
	/* known data of files, starting with those of the directory once these are read */
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

/* store.c; called with the lock held */
int store_content(struct accel_weights *w, struct accel_bo *bo, uint64_t offset, uint64_t bytes,
		  struct store_digest *sum);
struct accel_bo *store_find(struct accel_weights *w, struct accel_ctx *ctx,
			    const struct store_key *key);
void store_keep(struct accel_weights *w, const struct store_key *key, struct accel_bo *bo);
void store_trim(struct accel_weights *w, const struct store_key *stays);
bool store_whole(struct accel_weights *w, struct store_form *f);
struct store_form *store_add(struct accel_weights *w, const struct store_key *key);

/* store_file.c, files with one form; called with the lock held */
#define STORE_NAME	36

void store_form_name(const struct accel_weights *w, const struct store_key *key,
		     char name[STORE_NAME]);
int store_form_write(struct accel_weights *w, const struct store_form *f, int fd);
struct store_form *store_form_map(struct accel_weights *w, int fd, uint64_t size,
				  const struct store_key *key);

/* store_known.c; called with the lock held */
struct store_digest store_read(struct accel_weights *w, const struct file_place *at,
			       const void *data, uint64_t bytes);
void store_known_save(struct accel_weights *w);

/* store_dir.c; called with the lock held */
#define STORE_KNOWN	"known"

bool store_dir_is(struct accel_weights *w);
int store_dir_read(const struct accel_weights *w, const char *name);
int store_dir_write(struct accel_weights *w, const char *name, int (*fill)(void *user, int fd),
		    void *user);
struct store_form *store_dir_find(struct accel_weights *w, const struct store_key *key);
void store_dir_keep(struct accel_weights *w, const struct store_form *f);
void store_dir_close(struct accel_weights *w);

#endif /* LIBACCEL_STORE_H */

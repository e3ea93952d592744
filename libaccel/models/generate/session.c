// SPDX-License-Identifier: MIT
/*
 * Sessions: sequences that are kept, in files. One has the keys and values, as the cache writes
 * them; the other one, whose name ends in ".tokens", says of which tokens they are.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libaccel/core/fpmode.h"
#include "generate.h"

/* Logits by which models are told apart, and how far they may be off, of the largest */
#define PROBES		32
#define PROBE_ERROR	0.001f

/**
 * struct session_head - the first bytes of a file of tokens, as this machine has numbers
 * @magic: "ACCLTOK2"
 * @vocabulary: of the model
 * @count: tokens, which follow
 * @salt: of the request
 * @hash: of the tokens
 * @probe: what the model says of a few tokens
 */
struct session_head {
	char magic[8];
	uint32_t vocabulary;
	uint32_t count;
	uint64_t salt;
	uint64_t hash;
	float probe[PROBES];
};

static const char magic[8] = "ACCLTOK2";

static char *name_of(const char *path, const char *end)
{
	char *name;

	return asprintf(&name, "%s%s", path, end) < 0 ? NULL : name;
}

/* Written beside it first, so that there is a whole file at any time */
static int write_tokens(const char *path, const struct session_head *head, const int32_t *tokens)
{
	char *name = name_of(path, ".tokens"), *new = name_of(path, ".tokens.new");
	FILE *f = name && new ? fopen(new, "we") : NULL;
	int ret = f ? 0 : name && new ? -errno : -ENOMEM;

	if (f) {
		if (fwrite(head, sizeof(*head), 1, f) != 1 ||
		    fwrite(tokens, sizeof(*tokens), head->count, f) != head->count)
			ret = -EIO;
		if (fclose(f) && !ret)
			ret = -errno;
		if (!ret && rename(new, name))
			ret = -errno;
		if (ret)
			unlink(new);
	}
	free(name);
	free(new);
	return ret;
}

static int read_tokens(const struct accel_generator *g, const char *path,
		       struct session_head *head, int32_t **tokens)
{
	const struct engine *e = &g->engine;
	char *name = name_of(path, ".tokens");
	int fd = name ? open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
	FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;
	int ret = f ? 0 : name ? -errno : -ENOMEM;
	uint32_t i;

	free(name);
	if (fd >= 0 && !f)
		close(fd);
	if (ret)
		return ret;
	*tokens = NULL;
	if (fread(head, sizeof(*head), 1, f) != 1 || memcmp(head->magic, magic, sizeof(magic)))
		ret = -EBADMSG;
	else if (head->vocabulary != e->vocabulary || head->count > e->context)
		ret = -EINVAL;
	else if (!head->count || head->count % e->page_size)
		ret = -EINVAL;
	if (!ret) {
		*tokens = malloc(head->count * sizeof(**tokens));
		if (!*tokens)
			ret = -ENOMEM;
		else if (fread(*tokens, sizeof(**tokens), head->count, f) != head->count)
			ret = -EBADMSG;
	}
	fclose(f);
	for (i = 0; !ret && i < head->count; i++)
		if ((*tokens)[i] < 0 || (uint32_t)(*tokens)[i] >= e->vocabulary)
			ret = -EBADMSG;
	if (!ret && kept_hash(head->salt, *tokens, head->count) != head->hash)
		ret = -EBADMSG;
	if (ret)
		free(*tokens);
	return ret;
}

/* Hashes of the pages of tokens, NULL: no memory */
static uint64_t *hashes(const struct engine *e, uint64_t salt, const int32_t *tokens,
			uint32_t pages)
{
	uint64_t *hash = malloc((pages + 1ull) * sizeof(*hash)), h = salt;
	uint32_t i;

	for (i = 0; hash && i < pages; i++) {
		h = kept_hash(h, tokens + (uint64_t)i * e->page_size, e->page_size);
		hash[i] = h;
	}
	return hash;
}

/* What the model says of three tokens: other weights say something else, other kernels do not. */
static int probe(struct accel_generator *g, float *out)
{
	struct engine *e = &g->engine;
	const int32_t tokens[3] = { 0, (int32_t)e->vocabulary / 2, (int32_t)e->vocabulary - 1 };
	struct engine_seq seq;
	const struct piece piece = {
		&seq, tokens, g->opts.tokens < 3 ? g->opts.tokens : 3, 1
	};
	uint32_t i;
	int ret = engine_seq_create(e, &seq);

	if (ret)
		return ret;
	pthread_mutex_unlock(&g->lock);
	ret = engine_run(e, &piece, 1);
	pthread_mutex_lock(&g->lock);
	for (i = 0; i < PROBES && !ret; i++)
		out[i] = e->logits[(uint64_t)i * e->vocabulary / PROBES];
	engine_seq_drop(e, &seq);
	return ret;
}

static bool same_model(const float *a, const float *b)
{
	float most = 0, error = 0;
	uint32_t i;

	for (i = 0; i < PROBES; i++) {
		if (!isfinite(a[i]) || !isfinite(b[i]))
			return false;
		most = fmaxf(most, fabsf(a[i]));
		error = fmaxf(error, fabsf(a[i] - b[i]));
	}
	return error <= PROBE_ERROR * most;
}

static int save(struct accel_generator *g, const struct beginning *b, uint32_t pages,
		const char *path)
{
	struct engine *e = &g->engine;
	struct session_head head = {
		.vocabulary = e->vocabulary, .count = pages * e->page_size, .salt = b->salt
	};
	uint32_t seq;
	int ret;

	memcpy(head.magic, magic, sizeof(magic));
	head.hash = kept_hash(b->salt, b->tokens, head.count);
	ret = probe(g, head.probe);
	if (!ret)
		ret = write_tokens(path, &head, b->tokens);
	if (!ret)
		ret = accel_kv_seq_fork(e->kv, b->seq.seq, head.count, &seq);
	if (ret)
		return ret;
	ret = accel_kv_save(e->kv, seq, path);
	accel_kv_seq_destroy(e->kv, seq);
	return ret;
}

int accel_generator_save(struct accel_generator *generator, const int32_t *tokens, uint32_t count,
			 uint64_t salt, const char *path)
{
	FP_MODE_SCOPE();
	struct beginning *b = NULL;
	uint32_t pages, found = 0;
	uint64_t *hash;
	int ret;

	if (!generator || !tokens || !path || !count || count > generator->engine.context)
		return -EINVAL;
	pages = count / generator->engine.page_size;
	hash = hashes(&generator->engine, salt, tokens, pages);
	if (!hash)
		return -ENOMEM;
	pthread_mutex_lock(&generator->lock);
	ret = generator_begin(generator);
	if (!ret) {
		b = kept_find(&generator->kept, hash, pages, tokens, generator->engine.page_size,
			      &found);
		ret = b ? save(generator, b, found, path) : -ENOENT;
		generator_finish(generator);
	}
	pthread_mutex_unlock(&generator->lock);
	free(hash);
	return ret;
}

/* It is kept from now on, or nothing has changed. */
static int load(struct accel_generator *g, const char *path, const struct session_head *head,
		struct beginning *b)
{
	struct accel_kv_seq_info info = { .size = sizeof(info) };
	struct engine *e = &g->engine;
	float own[PROBES];
	uint32_t seq;
	int ret;

	do
		ret = probe(g, own);
	while (ret == -ENOSPC && kept_evict(&g->kept, e));
	if (!ret && !same_model(own, head->probe))
		ret = -ESTALE;
	if (ret)
		return ret;
	do
		ret = accel_kv_load(e->kv, path, &seq);
	while (ret == -ENOSPC && kept_evict(&g->kept, e));
	if (ret)
		return ret;
	ret = accel_kv_seq_get_info(e->kv, seq, &info);
	if (!ret && info.length != head->count)
		ret = -EBADMSG;
	if (ret)
		accel_kv_seq_destroy(e->kv, seq);
	else
		ret = engine_seq_adopt(e, seq, head->count, &b->seq);
	if (!ret)
		kept_add(&g->kept, e, b);
	return ret;
}

int accel_generator_load(struct accel_generator *generator, const char *path)
{
	FP_MODE_SCOPE();
	struct beginning b = { 0 };
	struct session_head head;
	int ret;

	if (!generator || !path)
		return -EINVAL;
	if (!generator->kept.max)
		return -EOPNOTSUPP;
	ret = read_tokens(generator, path, &head, &b.tokens);
	if (ret)
		return ret;
	b.count = head.count;
	b.salt = head.salt;
	b.hash = hashes(&generator->engine, head.salt, b.tokens,
			head.count / generator->engine.page_size);
	if (b.hash) {
		pthread_mutex_lock(&generator->lock);
		ret = generator_begin(generator);
		if (!ret) {
			ret = load(generator, path, &head, &b);
			generator_finish(generator);
		}
		pthread_mutex_unlock(&generator->lock);
	} else {
		ret = -ENOMEM;
	}
	if (ret) {
		free(b.tokens);
		free(b.hash);
	}
	return ret;
}

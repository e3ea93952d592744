// SPDX-License-Identifier: MIT
/*
 * Texts as vectors, many at once. Texts are sorted by their lengths, so that those that run
 * together have little to be filled up with; lengths and numbers of texts are rounded up, so that
 * shapes are seen again.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <accel/embed.h>

#include "libaccel/core/errno_text.h"
#include "libaccel/core/fpmode.h"
#include "../families/families.h"

#define TEXTS_MAX	(1u << 20)
#define BATCH		32
#define BATCH_MAX	4096
/* Rows of a run, unless one text has more: what lies between layers has a size. */
#define ROWS_MAX	8192

/**
 * struct accel_embedder - what makes vectors of texts
 * @program: graph
 * @state: of it
 * @tokenizer: or NULL
 * @masked: it has a mask as its second input
 * @flags: ACCEL_EMBED_*
 * @batch: most texts of a run
 * @sum: of the rows of a text
 * @info: what it is, and what was counted
 */
struct accel_embedder {
	struct accel_program *program;
	struct accel_state *state;
	const struct accel_tokenizer *tokenizer;
	bool masked;
	uint32_t flags;
	uint32_t batch;
	double *sum;
	struct accel_embedder_info info;
};

/* --- what the model's files say ------------------------------------------------------------ */

static bool is_decoder(const struct family_model *m)
{
	return m->family->build == decoder_build;
}

static int choose_pooling(const struct family_model *m, uint32_t *pooling,
			  struct accel_error *error)
{
	uint32_t found = ACCEL_POOL_DEFAULT, more = *pooling & ACCEL_POOL_NORMALISE;
	int ret;

	if (*pooling != (ACCEL_POOL_DEFAULT | more))
		return 0;
	ret = family_pooling(m, &found, error);
	if (found == ACCEL_POOL_DEFAULT)
		found = is_decoder(m) ? ACCEL_POOL_LAST : ACCEL_POOL_MEAN;
	*pooling = found | more;
	return ret;
}

/* --- an embedder ---------------------------------------------------------------------------- */

static int take_opts(const struct accel_embedder_opts *opts, struct accel_embedder_opts *o)
{
	uint32_t pooling;

	*o = (struct accel_embedder_opts)ACCEL_EMBEDDER_OPTS_INIT;
	if (opts && opts->size < sizeof(*o))
		return -EINVAL;
	if (opts && opts->size > sizeof(*o))
		return -E2BIG;
	if (opts)
		*o = *opts;
	pooling = o->pooling & ~ACCEL_POOL_NORMALISE;
	if ((pooling > ACCEL_POOL_LARGEST && pooling != ACCEL_POOL_DEFAULT) ||
	    o->flags & ~ACCEL_EMBED_UNPADDED || o->batch > BATCH_MAX)
		return -EINVAL;
	if (!o->batch)
		o->batch = BATCH;
	return 0;
}

static int compile(struct accel_embedder *e, struct accel_ctx *ctx,
		   const struct family_model *m, const struct accel_embedder_opts *o,
		   struct accel_error *error)
{
	const struct family_form form = { .positions = e->info.tokens, .hidden = true };
	struct accel_graph *graph;
	int ret = family_graph(m, &form, NULL, error, &graph);

	if (ret)
		return ret;
	ret = accel_graph_compile(ctx, graph, o->compile, &e->program);
	if (ret)
		accel_ctx_get_error(ctx, error);
	accel_graph_destroy(graph);
	if (!ret)
		ret = accel_state_create(e->program, &e->state);
	return ret;
}

static int create(struct accel_embedder *e, struct accel_ctx *ctx, const struct family_model *m,
		  struct accel_embedder_opts *o, struct accel_error *error)
{
	struct family_shape shape = { 0 };
	int ret = 0;

	if (is_decoder(m))
		shape = m->shape;
	else if (m->family->build == encoder_build)
		ret = encoder_shape(m, &shape, error);
	else
		ret = stored_fail(error, -EOPNOTSUPP, "%s is no encoder or decoder of text",
				  m->config.type);
	if (!ret)
		ret = choose_pooling(m, &o->pooling, error);
	if (ret)
		return ret;
	e->masked = !is_decoder(m);
	e->flags = o->flags;
	e->batch = o->batch;
	e->tokenizer = o->tokenizer;
	e->info.size = sizeof(e->info);
	e->info.width = (uint32_t)shape.hidden;
	e->info.pooling = o->pooling;
	e->info.vocabulary = shape.vocab > UINT32_MAX ? UINT32_MAX : (uint32_t)shape.vocab;
	e->info.tokens = (uint32_t)shape.positions;
	if (o->tokens && o->tokens < e->info.tokens)
		e->info.tokens = o->tokens;
	e->sum = malloc(e->info.width * sizeof(*e->sum));
	return e->sum ? compile(e, ctx, m, o, error) : -ENOMEM;
}

int accel_embedder_create(struct accel_ctx *ctx, struct accel_model *model,
			  const struct accel_embedder_opts *opts, struct accel_error *error,
			  struct accel_embedder **embedder)
{
	FP_MODE_SCOPE();
	struct accel_error own = ACCEL_ERROR_INIT;
	struct accel_embedder_opts o;
	struct accel_embedder *e = NULL;
	int ret;

	if (!ctx || !model || !embedder)
		return -EINVAL;
	ret = take_opts(opts, &o);
	if (ret) {
		stored_fail(&own, ret, "options of an embedder");
	} else if (!model->family) {
		ret = stored_fail(&own, -EOPNOTSUPP, "no model of a folder or a GGUF file");
	} else {
		e = calloc(1, sizeof(*e));
		ret = e ? create(e, ctx, model->family, &o, &own) : -ENOMEM;
	}
	if (!ret) {
		*embedder = e;
		return 0;
	}
	accel_embedder_destroy(e);
	if (own.code != ret)
		stored_fail(&own, ret, "%s", errno_text(-ret));
	if (error && error->size >= sizeof(own))
		*error = own;
	return ret;
}

void accel_embedder_destroy(struct accel_embedder *embedder)
{
	if (!embedder)
		return;
	accel_state_destroy(embedder->state);
	accel_program_unref(embedder->program);
	free(embedder->sum);
	free(embedder);
}

int accel_embedder_get_info(struct accel_embedder *embedder, struct accel_embedder_info *info)
{
	if (!embedder || !info || info->size < sizeof(*info))
		return -EINVAL;
	*info = embedder->info;
	return 0;
}

/* --- tokens --------------------------------------------------------------------------------- */

/**
 * struct item - a text in work
 * @tokens: that are used
 * @own: the same, if they are to be given up
 * @count: how many
 * @index: of the text
 */
struct item {
	const int32_t *tokens;
	int32_t *own;
	uint32_t count;
	uint32_t index;
};

/* Those that end texts stay, behind as many of the others as there is room for. */
static uint32_t cut(struct accel_token *list, uint32_t count, uint32_t most)
{
	uint32_t ends = 0;

	if (count <= most)
		return count;
	while (ends < count && list[count - 1 - ends].flags & ACCEL_TOKEN_SPECIAL &&
	       !list[count - 1 - ends].end)
		ends++;
	ends = ends < most ? ends : most;
	memmove(list + most - ends, list + count - ends, ends * sizeof(*list));
	return most;
}

static int encode(struct accel_embedder *e, struct accel_embed_text *t, struct item *item)
{
	struct accel_encode_args args = ACCEL_ENCODE_ARGS_INIT;
	struct accel_token *list = NULL;
	size_t n = 0;
	uint32_t i;
	int ret;

	if (!e->tokenizer)
		return -EINVAL;
	args.flags = ACCEL_ENCODE_ADD_SPECIAL | ACCEL_ENCODE_WHOLE;
	args.text = t->text;
	args.bytes = t->bytes;
	ret = accel_tokenizer_encode(e->tokenizer, &args, &list, &n);
	if (!ret && (!n || n > INT32_MAX))
		ret = n ? -E2BIG : -EINVAL;
	if (ret) {
		free(list);
		return ret;
	}
	t->count = (uint32_t)n;
	item->count = cut(list, t->count, e->info.tokens);
	item->own = malloc(item->count * sizeof(*item->own));
	for (i = 0; item->own && i < item->count; i++)
		item->own[i] = (int32_t)list[i].id;
	item->tokens = item->own;
	free(list);
	return item->own ? 0 : -ENOMEM;
}

static int take(struct accel_embedder *e, struct accel_embed_text *t, struct item *item)
{
	uint32_t i;
	int ret = 0;

	if (t->text) {
		ret = encode(e, t, item);
	} else if (!t->tokens || !t->count) {
		ret = -EINVAL;
	} else {
		item->tokens = t->tokens;
		item->count = t->count < e->info.tokens ? t->count : e->info.tokens;
	}
	for (i = 0; !ret && i < item->count; i++)
		if (item->tokens[i] < 0 || (uint32_t)item->tokens[i] >= e->info.vocabulary)
			ret = -EINVAL;
	t->used = ret ? 0 : item->count;
	return ret;
}

static int by_count(const void *a, const void *b)
{
	const struct item *p = a, *q = b;

	if (p->count != q->count)
		return p->count < q->count ? 1 : -1;
	return p->index < q->index ? -1 : p->index > q->index;
}

/* --- runs ----------------------------------------------------------------------------------- */

/* 1, 2, 3, 4, 6, 8, 12, ..., but no more than @most */
static uint32_t rounded(uint32_t n, uint32_t most)
{
	uint32_t two = 1;

	while (two < n)
		two *= 2;
	if (two > 2 && two / 4 * 3 >= n)
		two = two / 4 * 3;
	return two < most ? two : most;
}

/* An input of [batch, rows], all 0 */
static int64_t *input(struct accel_embedder *e, uint32_t index, const int64_t dims[2])
{
	int64_t *p = NULL;

	if (!accel_state_set_input(e->state, index, 2, dims, NULL, 0))
		p = accel_state_get_input(e->state, index, NULL);
	if (p)
		memset(p, 0, (size_t)dims[0] * (size_t)dims[1] * sizeof(*p));
	return p;
}

static int write_inputs(struct accel_embedder *e, const struct item *items, uint32_t count,
			const int64_t dims[2])
{
	int64_t *ids = input(e, 0, dims), *mask = e->masked ? input(e, 1, dims) : NULL;
	uint32_t i, k;
	uint64_t at;

	if (!ids || (e->masked && !mask))
		return -ENOMEM;
	for (i = 0; i < (uint64_t)dims[0]; i++) {
		at = i * (uint64_t)dims[1];
		/* A row that fills up sees itself: what sees nothing has no softmax. */
		if (mask)
			mask[at] = 1;
		for (k = 0; i < count && k < items[i].count; k++) {
			ids[at + k] = items[i].tokens[k];
			if (mask)
				mask[at + k] = 1;
		}
	}
	return 0;
}

/* One vector of the rows of a text */
static int pool(struct accel_embedder *e, const float *rows, uint32_t count, float *vector)
{
	const uint32_t width = e->info.width, how = e->info.pooling & ~ACCEL_POOL_NORMALISE;
	uint32_t i, k, from = how == ACCEL_POOL_LAST ? count - 1 : 0;
	uint32_t to = how == ACCEL_POOL_FIRST ? 1 : count;
	double length = 0;

	for (i = 0; i < width; i++)
		e->sum[i] = how == ACCEL_POOL_LARGEST ? (double)-INFINITY : 0;
	for (k = from; k < to; k++)
		for (i = 0; i < width; i++) {
			double x = (double)rows[(uint64_t)k * width + i];

			if (!isfinite(x))
				return -EDOM;
			e->sum[i] = how == ACCEL_POOL_LARGEST ? fmax(e->sum[i], x) : e->sum[i] + x;
		}
	for (i = 0; i < width; i++) {
		e->sum[i] /= how == ACCEL_POOL_MEAN ? count : 1;
		length += e->sum[i] * e->sum[i];
	}
	length = e->info.pooling & ACCEL_POOL_NORMALISE && length > 0 ? sqrt(length) : 1;
	for (i = 0; i < width; i++)
		vector[i] = (float)(e->sum[i] / length);
	return 0;
}

static int run(struct accel_embedder *e, const struct item *items, uint32_t count, float *vectors)
{
	const bool exact = e->flags & ACCEL_EMBED_UNPADDED;
	/* The first one is the longest. */
	const uint32_t longest = exact ? items->count : rounded(items->count, e->info.tokens);
	const int64_t dims[2] = { exact ? count : rounded(count, e->batch), longest };
	struct accel_value v = ACCEL_VALUE_INIT;
	const float *hidden = NULL;
	const void *data = NULL;
	uint32_t i;
	int ret = write_inputs(e, items, count, dims);

	if (!ret)
		ret = accel_state_run(e->state);
	if (!ret)
		ret = accel_state_get_output(e->state, 0, &v, &data);
	if (!ret && (v.type != ACCEL_F32 || v.rank != 3 || v.dims[0] != dims[0] ||
		     v.dims[1] != dims[1] || v.dims[2] != e->info.width))
		ret = -EPROTO;
	hidden = data;
	e->info.runs += !ret;
	e->info.fill += ret ? 0 : (uint64_t)dims[0] * longest;
	for (i = 0; i < count && !ret; i++) {
		ret = pool(e, hidden + (uint64_t)i * longest * e->info.width, items[i].count,
			   vectors + (uint64_t)items[i].index * e->info.width);
		e->info.rows += items[i].count;
		e->info.fill -= items[i].count;
	}
	return ret;
}

/* How many of the next texts run together */
static uint32_t together(const struct accel_embedder *e, const struct item *items, uint32_t left)
{
	const bool exact = e->flags & ACCEL_EMBED_UNPADDED;
	uint32_t n, most = ROWS_MAX / rounded(items->count, UINT32_MAX);

	most = most < 1 ? 1 : most;
	most = most < e->batch ? most : e->batch;
	for (n = 1; n < left && n < most; n++)
		if (exact ? items[n].count != items->count : items[n].count < items->count / 2)
			break;
	return n;
}

int accel_embedder_run(struct accel_embedder *embedder, struct accel_embed_text *texts,
		       uint32_t count, float *vectors)
{
	FP_MODE_SCOPE();
	struct item *items;
	uint32_t i, n;
	int ret = 0;

	if (!embedder || !texts || !vectors)
		return -EINVAL;
	if (count > TEXTS_MAX)
		return -E2BIG;
	items = calloc((size_t)count + 1, sizeof(*items));
	if (!items)
		return -ENOMEM;
	for (i = 0; i < count && !ret; i++) {
		items[i].index = i;
		ret = take(embedder, &texts[i], &items[i]);
	}
	if (!ret)
		qsort(items, count, sizeof(*items), by_count);
	for (i = 0; i < count && !ret; i += n) {
		n = together(embedder, items + i, count - i);
		ret = run(embedder, items + i, n, vectors);
	}
	for (i = 0; i < count; i++)
		free(items[i].own);
	free(items);
	return ret;
}

// SPDX-License-Identifier: MIT
/*
 * What decoders' graphs have in common: inputs, and attention over a cache of pages.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <accel/accel.h>
#include <accel/generate.h>

#include "libaccel/core/fpmode.h"
#include "generate.h"

/* Tokens, sequences and rows of a run, pages of a pool: more are no symbol's. */
#define MAX_TOKENS	(1 << 20)
#define MAX_PAGES	INT32_MAX
#define GROUP_MIN	16

static int symbol(struct accel_graph *graph, const char *name, int64_t max, int64_t *dim)
{
	return accel_graph_symbol(graph, name, 1, max, dim);
}

static int input(struct accel_graph *graph, const char *name, uint32_t type, uint32_t rank,
		 const int64_t *dims, uint32_t *value)
{
	struct accel_value v = ACCEL_VALUE_INIT;

	v.type = type;
	v.rank = rank;
	v.name = name;
	memcpy(v.dims, dims, rank * sizeof(*dims));
	return accel_graph_input(graph, &v, value);
}

#define INPUT(graph, name, type, value, ...) \
	input(graph, name, type, sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t), \
	      (const int64_t[]){ __VA_ARGS__ }, value)

static bool is_type(uint32_t dtype)
{
	return dtype == ACCEL_F32 || dtype == ACCEL_F16 || dtype == ACCEL_BF16 ||
	       dtype == ACCEL_S8;
}

static int take_opts(struct accel_decoder_opts *o, const struct accel_decoder_opts *opts)
{
	if (!opts || opts->size < sizeof(*o))
		return -EINVAL;
	if (opts->size > sizeof(*o))
		return -E2BIG;
	*o = *opts;
	o->v_dim = o->v_dim ? o->v_dim : o->head_dim;
	o->dtype = o->dtype ? o->dtype : ACCEL_F32;
	o->page_size = o->page_size ? o->page_size : 16;
	if (o->dtype == ACCEL_S8 && !o->scale_dtype)
		o->scale_dtype = ACCEL_F32;
	if (!o->layers || o->layers > 4096 || !o->kv_heads || !o->head_dim || !o->context ||
	    o->context > INT32_MAX || o->page_size > 4096 || o->pad || !is_type(o->dtype) ||
	    (o->dtype == ACCEL_S8 ? o->scale_dtype != ACCEL_F32 && o->scale_dtype != ACCEL_F16 :
	     o->scale_dtype != 0))
		return -EINVAL;
	/* A sequence ends with a page, so positions are as many as pages have tokens. */
	o->context = ((o->context - 1) / o->page_size + 1) * o->page_size;
	return 0;
}

static int cache_inputs(struct accel_graph *graph, struct accel_decoder *dec)
{
	const struct accel_decoder_opts *o = &dec->opts;
	int64_t pages;
	int ret = symbol(graph, "cache.pages", MAX_PAGES / o->page_size, &pages);

	if (!ret)
		ret = INPUT(graph, "cache.k", o->dtype, &dec->k, o->layers, pages, o->page_size,
			    o->kv_heads, o->head_dim);
	if (!ret)
		ret = INPUT(graph, "cache.v", o->dtype, &dec->v, o->layers, pages, o->page_size,
			    o->kv_heads, o->v_dim);
	if (ret || o->dtype != ACCEL_S8)
		return ret;
	ret = INPUT(graph, "cache.k_scales", o->scale_dtype, &dec->k_scales, o->layers, pages,
		    o->page_size, o->kv_heads, 1);
	return ret ? ret : INPUT(graph, "cache.v_scales", o->scale_dtype, &dec->v_scales,
				 o->layers, pages, o->page_size, o->kv_heads, 1);
}

int accel_decoder_inputs(struct accel_graph *graph, const struct accel_decoder_opts *opts,
			 struct accel_decoder *decoder)
{
	FP_MODE_SCOPE();
	struct accel_decoder dec = { .size = sizeof(dec) };
	int64_t tokens, sequences, columns, rows;
	int ret;

	if (!graph || !decoder)
		return -EINVAL;
	ret = take_opts(&dec.opts, opts);
	if (!ret)
		ret = symbol(graph, "tokens", MAX_TOKENS, &tokens);
	if (!ret)
		ret = symbol(graph, "sequences", MAX_TOKENS, &sequences);
	if (!ret)
		ret = symbol(graph, "columns", dec.opts.context / dec.opts.page_size, &columns);
	if (!ret)
		ret = symbol(graph, "rows", MAX_TOKENS, &rows);
	if (!ret)
		ret = INPUT(graph, "tokens", ACCEL_S32, &dec.tokens, 1, tokens);
	if (!ret)
		ret = INPUT(graph, "positions", ACCEL_S32, &dec.positions, 1, tokens);
	if (!ret)
		ret = INPUT(graph, "slots", ACCEL_S32, &dec.slots, tokens);
	if (!ret)
		ret = INPUT(graph, "pages", ACCEL_S32, &dec.pages, sequences, columns);
	if (!ret)
		ret = INPUT(graph, "lengths", ACCEL_S32, &dec.lengths, sequences, 3);
	if (!ret)
		ret = INPUT(graph, "rows", ACCEL_S32, &dec.rows, rows);
	if (!ret)
		ret = cache_inputs(graph, &dec);
	if (!ret)
		*decoder = dec;
	return ret;
}

/* --- attention --------------------------------------------------------------------- */

static int list(struct accel_graph *graph, int64_t number, uint32_t *value)
{
	struct accel_value v = ACCEL_VALUE_INIT;
	int64_t *data = malloc(sizeof(*data));
	int ret;

	if (!data)
		return -ENOMEM;
	*data = number;
	v.type = ACCEL_HOST_S64;
	v.rank = 1;
	v.dims[0] = 1;
	ret = accel_graph_constant(graph, &v, data, free, data, value);
	if (ret)
		free(data);
	return ret;
}

/* Less its first dimension, which is 1 */
static int squeeze(struct accel_graph *graph, uint32_t value, uint32_t *d)
{
	struct accel_shape_desc desc = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_SQUEEZE);
	struct accel_graph_arg args[] = {
		{ ACCEL_ARG_D, ACCEL_VALUE_NEW }, { ACCEL_ARG_A, value }, { ACCEL_ARG_B, 0 }
	};
	int ret = list(graph, 0, &args[2].value);

	if (!ret)
		ret = accel_graph_add(graph, NULL, &desc.hdr, args, 3);
	*d = args[0].value;
	return ret;
}

/* What a cache has of a layer */
static int layer_of(struct accel_graph *graph, uint32_t value, uint32_t layer, uint32_t *d)
{
	struct accel_shape_desc desc = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_SLICE);
	struct accel_graph_arg args[] = {
		{ ACCEL_ARG_D, ACCEL_VALUE_NEW }, { ACCEL_ARG_A, value }, { ACCEL_ARG_B, 0 },
		{ ACCEL_ARG_C, 0 }, { ACCEL_ARG_AUX0, 0 }
	};
	int ret = list(graph, layer, &args[2].value);

	if (!ret)
		ret = list(graph, layer + 1, &args[3].value);
	if (!ret)
		ret = list(graph, 0, &args[4].value);
	if (!ret)
		ret = accel_graph_add(graph, NULL, &desc.hdr, args, 5);
	return ret ? ret : squeeze(graph, args[0].value, d);
}

/**
 * struct part - keys or values of a layer
 * @name: for people
 * @rows: [1, tokens, kv_heads, dim]
 * @pool: of all layers
 * @scales: likewise, of an int8 cache
 * @dim: elements of a head
 */
struct part {
	const char *name;
	uint32_t rows;
	uint32_t pool;
	uint32_t scales;
	uint32_t dim;
};

/* Rows into the cache; @pool and @scales become what attention reads. */
static int write_rows(struct accel_graph *graph, const struct accel_decoder *dec, uint32_t layer,
		      struct part *part)
{
	bool bytes = dec->opts.dtype == ACCEL_S8;
	struct accel_kv_write_desc desc = ACCEL_KV_WRITE_DESC_INIT;
	struct accel_graph_arg args[] = {
		{ ACCEL_ARG_D, ACCEL_VALUE_NEW }, { ACCEL_ARG_A, 0 },
		{ ACCEL_ARG_AUX2, dec->slots }, { ACCEL_ARG_B, 0 },
		{ ACCEL_ARG_AUX0, ACCEL_VALUE_NEW }, { ACCEL_ARG_C, 0 }
	};
	char name[48];
	int ret;

	snprintf(name, sizeof(name), "cache.%s.%u", part->name, layer);
	ret = squeeze(graph, part->rows, &args[1].value);
	if (!ret)
		ret = layer_of(graph, part->pool, layer, &args[3].value);
	if (!ret && bytes)
		ret = layer_of(graph, part->scales, layer, &args[5].value);
	if (!ret)
		ret = accel_graph_add(graph, name, &desc.hdr, args, bytes ? 6 : 4);
	part->pool = args[0].value;
	part->scales = args[4].value;
	return ret;
}

/* A scale for each row and head */
static void set_quant(const struct accel_decoder *dec, uint32_t dim, struct accel_tensor *t)
{
	t->quant.scheme = ACCEL_QUANT_GROUP;
	t->quant.axis = 3;
	t->quant.scale_dtype = dec->opts.scale_dtype;
	for (t->quant.group = GROUP_MIN; t->quant.group < dim;)
		t->quant.group *= 2;
}

int decoder_attend(struct accel_graph *graph, const struct accel_decoder *decoder, uint32_t layer,
		   const struct accel_attention_desc *desc, const uint32_t *mask, uint32_t q,
		   uint32_t k, uint32_t v, uint32_t *d)
{
	struct accel_attention_desc a = ACCEL_ATTENTION_DESC_INIT;
	struct part parts[2];
	struct accel_graph_arg args[9] = { { ACCEL_ARG_D, ACCEL_VALUE_NEW }, { ACCEL_ARG_A, q } };
	uint32_t i, count = 2;
	char name[32];
	int ret = 0;

	if (!graph || !decoder || decoder->size < sizeof(*decoder) || !d ||
	    layer >= decoder->opts.layers)
		return -EINVAL;
	if (desc && desc->hdr.size > sizeof(a))
		return -E2BIG;
	if (desc)
		memcpy(&a, desc, desc->hdr.size);
	a.hdr.size = sizeof(a);
	a.flags |= ACCEL_ATTENTION_CAUSAL | ACCEL_ATTENTION_RAGGED;
	a.q_max = 0;
	parts[0] = (struct part) {
		"k", k, decoder->k, decoder->k_scales, decoder->opts.head_dim
	};
	parts[1] = (struct part) {
		"v", v, decoder->v, decoder->v_scales, decoder->opts.v_dim
	};
	for (i = 0; i < 2 && !ret; i++) {
		ret = write_rows(graph, decoder, layer, &parts[i]);
		args[count++] = (struct accel_graph_arg) { ACCEL_ARG_B + i, parts[i].pool };
		if (decoder->opts.dtype != ACCEL_S8)
			continue;
		set_quant(decoder, parts[i].dim, i ? &a.v : &a.k);
		args[count++] = (struct accel_graph_arg) {
			(ACCEL_ARG_B + i) | ACCEL_ARG_SCALES, parts[i].scales
		};
	}
	if (mask)
		args[count++] = (struct accel_graph_arg) { ACCEL_ARG_AUX0, *mask };
	args[count++] = (struct accel_graph_arg) { ACCEL_ARG_AUX1, decoder->pages };
	args[count++] = (struct accel_graph_arg) { ACCEL_ARG_AUX2, decoder->lengths };
	snprintf(name, sizeof(name), "attention.%u", layer);
	if (!ret)
		ret = accel_graph_add(graph, name, &a.hdr, args, count);
	if (!ret)
		*d = args[0].value;
	return ret;
}

int accel_decoder_attend(struct accel_graph *graph, const struct accel_decoder *decoder,
			 uint32_t layer, const struct accel_attention_desc *desc, uint32_t q,
			 uint32_t k, uint32_t v, uint32_t *d)
{
	FP_MODE_SCOPE();

	return decoder_attend(graph, decoder, layer, desc, NULL, q, k, v, d);
}

int accel_decoder_rows(struct accel_graph *graph, const struct accel_decoder *decoder,
		       uint32_t value, uint32_t *d)
{
	struct accel_gather_desc desc = ACCEL_GATHER_DESC_INIT;
	struct accel_graph_arg args[] = {
		{ ACCEL_ARG_D, ACCEL_VALUE_NEW }, { ACCEL_ARG_A, value }, { ACCEL_ARG_B, 0 }
	};
	int ret;

	if (!graph || !decoder || decoder->size < sizeof(*decoder) || !d)
		return -EINVAL;
	desc.axis = 1;
	args[2].value = decoder->rows;
	ret = accel_graph_add(graph, "rows", &desc.hdr, args, 3);
	if (!ret)
		*d = args[0].value;
	return ret;
}

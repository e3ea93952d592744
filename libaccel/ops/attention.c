// SPDX-License-Identifier: MIT
/*
 * Attention: which tensors there are, and what they have in common.
 */
#include <endian.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "ops.h"

#define FLAGS		(ACCEL_ATTENTION_CAUSAL | ACCEL_ATTENTION_WINDOW | \
			 ACCEL_ATTENTION_OFFSET | ACCEL_ATTENTION_SCALE | \
			 ACCEL_ATTENTION_RAGGED)

/**
 * struct sizes - of an attention
 * @batch: sequences
 * @queries: most of a sequence
 * @keys: that a sequence has room for
 * @ragged: sequences lie one after the other
 * @kv_ragged: keys too
 */
struct sizes {
	int64_t batch;
	int64_t queries;
	int64_t keys;
	bool ragged;
	bool kv_ragged;
};

/* Fields that @bit of UMA_ATTN_* comes from. */
const char *attention_func_name(uint32_t bit)
{
	static const char * const names[] = {
		"flags", "window_left", "q_offset", "softcap", "mask", "pages",
		"lengths", "slopes", "sinks", "q_max", "partials"
	};

	return names[bit];
}

static int check_scalars(const struct accel_attention_desc *d, struct accel_error *e)
{
	static const char text[] = "is set, but the flags do not ask for it";

	if (d->flags & ~FLAGS)
		return bad(e, -EINVAL, "attention", "flags", "unknown flags 0x%x",
			   d->flags & ~FLAGS);
	if (!(d->flags & ACCEL_ATTENTION_SCALE) && d->scale != 0)
		return bad(e, -EINVAL, "attention", "scale", "%s", text);
	if (!isfinite(d->scale))
		return bad(e, -EINVAL, "attention", "scale", "is not finite");
	if (!isfinite(d->softcap) || d->softcap < 0)
		return bad(e, -EINVAL, "attention", "softcap",
			   "%g is neither 0 nor a finite bound", (double)d->softcap);
	if (!(d->flags & ACCEL_ATTENTION_WINDOW)) {
		if (d->window_left)
			return bad(e, -EINVAL, "attention", "window_left", "%s", text);
		if (d->window_right)
			return bad(e, -EINVAL, "attention", "window_right", "%s", text);
		if (d->keep)
			return bad(e, -EINVAL, "attention", "keep", "%s", text);
	}
	if (!(d->flags & ACCEL_ATTENTION_OFFSET) && d->q_offset)
		return bad(e, -EINVAL, "attention", "q_offset", "%s", text);
	if (!(d->flags & ACCEL_ATTENTION_RAGGED) && d->q_max)
		return bad(e, -EINVAL, "attention", "q_max", "%s", text);
	if (d->q_max > INT32_MAX)
		return bad(e, -EINVAL, "attention", "q_max", "%u is above %d", d->q_max,
			   INT32_MAX);
	return 0;
}

static int check_rank(const struct operand *t, uint32_t least, uint32_t most,
		      struct accel_error *e)
{
	if (t->rank >= least && t->rank <= most)
		return 0;
	if (least == most)
		return bad(e, -EINVAL, t->name, "rank", "rank %u is not %u", t->rank, most);
	return bad(e, -EINVAL, t->name, "rank", "rank %u is neither %u nor %u", t->rank,
		   least, most);
}

static int check_dim(const struct operand *t, uint32_t dim, int64_t want,
		     const char *what, struct accel_error *e)
{
	if (t->dims[dim] == want)
		return 0;
	return bad_at(e, -EINVAL, t->name, "dims", dim, "%lld, but there are %lld %s",
		      (long long)t->dims[dim], (long long)want, what);
}

static int check_plain(const struct operand *t, struct accel_error *e)
{
	if (t->quant.scheme)
		return bad(e, -EINVAL, t->name, "quant.scheme",
			   "queries, keys, values and results alone are quantised");
	return 0;
}

/* Q, D: floating-point numbers, or bytes with one scale. */
static int check_rows(const struct operand *t, struct accel_error *e)
{
	if (!uma_is_float(t->dtype) && !uma_is_int8(t->dtype))
		return bad(e, -EINVAL, t->name, "dtype",
			   "%s: is fp32, fp16, bf16, int8 or uint8", accel_dtype_name(t->dtype));
	if (uma_is_int8(t->dtype) && t->quant.scheme != ACCEL_QUANT_TENSOR)
		return bad(e, -EINVAL, t->name, "quant.scheme",
			   "bytes of queries and results have one scale");
	return 0;
}

static int check_kv(const struct operand *t, struct accel_error *e)
{
	if (t->dtype == ACCEL_S32)
		return bad(e, -EINVAL, t->name, "dtype",
			   "int32: keys and values are floating-point or have 8 or 4 bits");
	if (!uma_is_float(t->dtype) && !t->quant.scheme)
		return bad(e, -EINVAL, t->name, "quant.scheme",
			   "integers need a quantisation");
	if (t->quant.scheme == ACCEL_QUANT_GROUP && t->quant.axis != 3)
		return bad(e, -EINVAL, t->name, "quant.axis",
			   "groups of keys and values run along the last dimension");
	return 0;
}

/* The tensors that there always are. */
static int lower_operands(const struct accel_attention_desc *d, struct request *req,
			  struct accel_error *e)
{
	const struct {
		uint32_t slot, arg;
		const struct accel_tensor *t;
		const char *name;
		int (*check)(const struct operand *t, struct accel_error *e);
	} part[] = {
		{ UMA_SLOT_A, ACCEL_ARG_A, &d->q, "attention.q", check_rows },
		{ UMA_SLOT_B, ACCEL_ARG_B, &d->k, "attention.k", check_kv },
		{ UMA_SLOT_C, ACCEL_ARG_C, &d->v, "attention.v", check_kv },
		{ UMA_SLOT_DST, ACCEL_ARG_D, &d->d, "attention.d", check_rows },
	};
	uint32_t i;
	int ret;

	for (i = 0; i < sizeof(part) / sizeof(part[0]); i++) {
		struct operand *t = &req->t[part[i].slot];

		ret = operand_init(t, part[i].t, part[i].arg, part[i].name, e);
		if (!ret)
			ret = check_rank(t, 4, 4, e);
		if (!ret)
			ret = part[i].check(t, e);
		if (ret)
			return ret;
		req->slots |= 1u << part[i].slot;
	}
	return operand_check_output(&req->t[UMA_SLOT_DST], e);
}

/* A tensor that may be missing: its type, its rank, and the feature that it is. */
static int lower_optional(const struct accel_tensor *from, uint32_t slot, uint32_t arg,
			  const char *name, uint32_t func, struct request *req,
			  struct accel_error *e)
{
	struct operand *t = &req->t[slot];
	uint32_t least = 1, most = 2;
	int ret;

	if (!from->rank)
		return tensor_absent(from, name, e);
	ret = operand_init(t, from, arg, name, e);
	if (!ret)
		ret = check_plain(t, e);
	if (ret)
		return ret;
	switch (slot) {
	case UMA_SLOT_AUX0:
		if (!uma_is_float(t->dtype) && t->dtype != ACCEL_U8)
			return bad(e, -EINVAL, name, "dtype",
				   "%s: a mask is fp32, fp16 or bf16, or uint8 of 0 and 1",
				   accel_dtype_name(t->dtype));
		most = 4;
		break;
	case UMA_SLOT_AUX1:
	case UMA_SLOT_AUX2:
		if (t->dtype != ACCEL_S32)
			return bad(e, -EINVAL, name, "dtype", "%s: is int32",
				   accel_dtype_name(t->dtype));
		least = slot == UMA_SLOT_AUX1 ? 2 : 1;
		break;
	case UMA_SLOT_AUX4:
		if (!uma_is_float(t->dtype))
			return bad(e, -EINVAL, name, "dtype", "%s: is fp32, fp16 or bf16",
				   accel_dtype_name(t->dtype));
		most = 1;
		break;
	default:
		if (t->dtype != ACCEL_F32)
			return bad(e, -EINVAL, name, "dtype", "%s: is fp32",
				   accel_dtype_name(t->dtype));
		if (slot == UMA_SLOT_RESIDUAL)
			least = most = 5;
		break;
	}
	req->slots |= 1u << slot;
	req->funcs |= func;
	return t->rank > most ? bad(e, -EINVAL, name, "rank", "rank %u is above %u",
				    t->rank, most) :
	       t->rank < least ? bad(e, -EINVAL, name, "rank", "rank %u is below %u",
				     t->rank, least) : 0;
}

static int lower_optionals(const struct accel_attention_desc *d, struct request *req,
			   struct accel_error *e)
{
	const struct {
		const struct accel_tensor *t;
		uint32_t slot, arg;
		const char *name;
		uint32_t func;
	} part[] = {
		{ &d->mask, UMA_SLOT_AUX0, ACCEL_ARG_AUX0, "attention.mask", UMA_ATTN_MASK },
		{ &d->pages, UMA_SLOT_AUX1, ACCEL_ARG_AUX1, "attention.pages",
		  UMA_ATTN_PAGED },
		{ &d->lengths, UMA_SLOT_AUX2, ACCEL_ARG_AUX2, "attention.lengths",
		  UMA_ATTN_LENGTHS },
		{ &d->slopes, UMA_SLOT_AUX3, ACCEL_ARG_AUX3, "attention.slopes",
		  UMA_ATTN_ALIBI },
		{ &d->sinks, UMA_SLOT_AUX4, ACCEL_ARG_AUX4, "attention.sinks",
		  UMA_ATTN_SINKS },
		{ &d->partials, UMA_SLOT_RESIDUAL, ACCEL_ARG_RESIDUAL, "attention.partials",
		  UMA_ATTN_SPLIT },
	};
	uint32_t i;
	int ret;

	for (i = 0; i < sizeof(part) / sizeof(part[0]); i++) {
		ret = lower_optional(part[i].t, part[i].slot, part[i].arg, part[i].name,
				     part[i].func, req, e);
		if (ret)
			return ret;
	}
	return 0;
}

static int check_lengths(const struct request *req, struct sizes *s, struct accel_error *e)
{
	const struct operand *t = &req->t[UMA_SLOT_AUX2];
	bool paged = req->funcs & UMA_ATTN_PAGED;
	int64_t columns, least = s->ragged ? 3 : 1, most = s->ragged ? 4 : 2;

	if (!(req->funcs & UMA_ATTN_LENGTHS))
		return s->ragged ? bad(e, -EINVAL, "attention.lengths", "rank",
				       "sequences one after the other need lengths") : 0;
	columns = t->rank > 1 ? t->dims[1] : 1;
	if (s->ragged && t->rank < 2)
		return bad(e, -EINVAL, t->name, "rank",
			   "of sequences one after the other, there are 3 or 4 columns");
	if (paged && s->ragged)
		most = 3;
	if (columns < least || columns > most)
		return bad_at(e, -EINVAL, t->name, "dims", 1,
			      "%lld columns: at least %lld, at most %lld",
			      (long long)columns, (long long)least, (long long)most);
	s->kv_ragged = columns > UMA_ATTN_LEN_KV_START;
	return 0;
}

static int check_keys(const struct request *req, struct sizes *s, struct accel_error *e)
{
	const struct operand *q = &req->t[UMA_SLOT_A], *k = &req->t[UMA_SLOT_B];
	const struct operand *v = &req->t[UMA_SLOT_C], *pages = &req->t[UMA_SLOT_AUX1];
	int64_t heads = q->dims[2], kv_heads = k->dims[2];
	int ret;

	if (kv_heads ? heads % kv_heads != 0 : heads != 0)
		return bad_at(e, -EINVAL, k->name, "dims", 2,
			      "%lld heads do not divide the %lld of the queries",
			      (long long)kv_heads, (long long)heads);
	ret = check_dim(k, 3, q->dims[3], "elements in a head of the queries", e);
	if (!ret)
		ret = check_dim(v, 0, k->dims[0], "in the keys", e);
	if (!ret)
		ret = check_dim(v, 1, k->dims[1], "in the keys", e);
	if (!ret)
		ret = check_dim(v, 2, kv_heads, "heads of keys", e);
	if (!ret)
		ret = check_dim(&req->t[UMA_SLOT_DST], 3, v->dims[3],
				"elements in a head of the values", e);
	if (ret)
		return ret;
	s->keys = k->dims[1];
	if (req->funcs & UMA_ATTN_PAGED) {
		ret = check_dim(pages, 0, s->batch, "sequences", e);
		if (__builtin_mul_overflow(s->keys, pages->dims[1], &s->keys) ||
		    s->keys > UMA_ATTN_KEYS_MAX)
			return bad_at(e, -EINVAL, pages->name, "dims", 1,
				      "pages for more than %d keys of a sequence",
				      UMA_ATTN_KEYS_MAX);
	} else {
		ret = check_dim(k, 0, s->kv_ragged ? 1 : s->batch, "sequences", e);
	}
	if (!ret && s->keys > UMA_ATTN_KEYS_MAX)
		return bad_at(e, -EINVAL, k->name, "dims", 1, "%lld keys are more than %d",
			      (long long)s->keys, UMA_ATTN_KEYS_MAX);
	return ret;
}

static int check_dims(const struct accel_attention_desc *desc, struct request *req,
		      struct sizes *s, struct accel_error *e)
{
	const struct operand *q = &req->t[UMA_SLOT_A], *d = &req->t[UMA_SLOT_DST];
	uint32_t i;
	int ret;

	for (i = 0; i < 3; i++)
		if (d->dims[i] != q->dims[i])
			return bad_at(e, -EINVAL, d->name, "dims", i,
				      "%lld, but %s.dims[%u] is %lld",
				      (long long)d->dims[i], q->name, i,
				      (long long)q->dims[i]);
	s->ragged = desc->flags & ACCEL_ATTENTION_RAGGED;
	ret = check_lengths(req, s, e);
	if (ret)
		return ret;
	if (s->ragged && q->dims[0] != 1)
		return bad_at(e, -EINVAL, q->name, "dims", 0,
			      "%lld: sequences one after the other are one",
			      (long long)q->dims[0]);
	s->batch = s->ragged ? req->t[UMA_SLOT_AUX2].dims[0] : q->dims[0];
	s->queries = s->ragged ? (int64_t)desc->q_max : q->dims[1];
	if (req->funcs & UMA_ATTN_LENGTHS)
		ret = check_dim(&req->t[UMA_SLOT_AUX2], 0, s->batch, "sequences", e);
	if (!ret && s->queries > UMA_ATTN_KEYS_MAX)
		return bad_at(e, -EINVAL, q->name, "dims", 1, "%lld queries are more than %d",
			      (long long)s->queries, UMA_ATTN_KEYS_MAX);
	if (!ret)
		ret = check_keys(req, s, e);
	for (i = 0; !ret && i < 2; i++) {
		const struct operand *t = i ? d : q;

		if (t->dims[3] > UMA_ATTN_DIM_MAX)
			ret = bad_at(e, -EINVAL, t->name, "dims", 3,
				     "a head has at most %d elements", UMA_ATTN_DIM_MAX);
	}
	return ret;
}

/* The operands that there may be, against the sizes. */
static int check_optionals(struct request *req, const struct sizes *s,
			   struct accel_error *e)
{
	const struct operand *d = &req->t[UMA_SLOT_DST];
	const struct operand *slopes = &req->t[UMA_SLOT_AUX3];
	const struct operand *partials = &req->t[UMA_SLOT_RESIDUAL];
	struct operand scores = {
		.name = "the scores", .rank = 4,
		.dims = { s->batch, d->dims[2], s->queries, s->keys }
	};
	uint32_t i;
	int ret = 0;

	if (req->funcs & UMA_ATTN_MASK)
		ret = broadcast(&req->t[UMA_SLOT_AUX0], &scores, 0, e);
	if (!ret && (req->funcs & UMA_ATTN_ALIBI))
		ret = check_dim(slopes, slopes->rank - 1, d->dims[2], "heads", e);
	if (!ret && (req->funcs & UMA_ATTN_ALIBI) && slopes->rank > 1)
		ret = check_dim(slopes, 0, s->batch, "sequences", e);
	if (!ret && (req->funcs & UMA_ATTN_SINKS))
		ret = check_dim(&req->t[UMA_SLOT_AUX4], 0, d->dims[2], "heads", e);
	if (ret || !(req->funcs & UMA_ATTN_SPLIT))
		return ret;
	if (partials->dims[0] < 1 || partials->dims[0] > UMA_ATTN_PIECES_MAX)
		return bad_at(e, -EINVAL, partials->name, "dims", 0,
			      "%lld pieces: at least 1, at most %d",
			      (long long)partials->dims[0], UMA_ATTN_PIECES_MAX);
	for (i = 0; i < 3; i++)
		if (partials->dims[i + 1] != d->dims[i])
			return bad_at(e, -EINVAL, partials->name, "dims", i + 1,
				      "%lld, but %s.dims[%u] is %lld",
				      (long long)partials->dims[i + 1], d->name, i,
				      (long long)d->dims[i]);
	ret = check_dim(partials, 4, d->dims[3] + 2, "elements in a partial result", e);
	return ret ? ret : operand_check_output(partials, e);
}

static __le32 float_bits(float f)
{
	uint32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	return htole32(bits);
}

static void lower_params(const struct accel_attention_desc *d, struct request *req)
{
	const struct operand *q = &req->t[UMA_SLOT_A];
	float scale = d->scale;
	struct uma_attention_params p = {
		.softcap = float_bits(d->softcap > 0 ? d->softcap : 0),
		.window_left = htole32(d->window_left),
		.window_right = htole32(d->window_right),
		.keep = htole32(d->keep),
		.q_offset = htole32((uint32_t)d->q_offset),
		.q_max = htole32(d->q_max),
	};

	if (d->flags & ACCEL_ATTENTION_CAUSAL)
		req->funcs |= UMA_ATTN_CAUSAL;
	if (d->flags & ACCEL_ATTENTION_WINDOW)
		req->funcs |= UMA_ATTN_WINDOW;
	if (d->flags & ACCEL_ATTENTION_OFFSET)
		req->funcs |= UMA_ATTN_OFFSET;
	if (d->flags & ACCEL_ATTENTION_RAGGED)
		req->funcs |= UMA_ATTN_RAGGED;
	if (d->softcap > 0)
		req->funcs |= UMA_ATTN_SOFTCAP;
	if (!(d->flags & ACCEL_ATTENTION_SCALE))
		scale = q->dims[3] ? 1 / sqrtf((float)q->dims[3]) : 1;
	p.flags = htole32(req->funcs);
	p.scale = float_bits(scale);
	memcpy(req->params, &p, sizeof(p));
}

/* Products of Q and K and of weights and V, saturated: it is for the estimate. */
static uint64_t count_macs(const struct request *req, const struct sizes *s)
{
	const struct operand *q = &req->t[UMA_SLOT_A], *d = &req->t[UMA_SLOT_DST];
	const uint64_t sides[] = {
		(uint64_t)s->queries, (uint64_t)s->keys, (uint64_t)d->dims[2],
		(uint64_t)(q->dims[3] + d->dims[3])
	};
	uint64_t n = (uint64_t)s->batch;
	uint32_t i;

	if (operand_empty(d))
		return 0;
	for (i = 0; i < sizeof(sides) / sizeof(sides[0]); i++)
		if (__builtin_mul_overflow(n, sides[i], &n))
			return UINT64_MAX;
	return n;
}

int lower_attention(const union any_desc *any, struct request *req, struct accel_error *e)
{
	const struct accel_attention_desc *desc = &any->attention;
	const struct operand *q = &req->t[UMA_SLOT_A], *d = &req->t[UMA_SLOT_DST];
	struct sizes s = { 0 };
	int ret;

	ret = check_scalars(desc, e);
	if (!ret)
		ret = lower_operands(desc, req, e);
	if (!ret)
		ret = lower_optionals(desc, req, e);
	if (!ret)
		ret = check_dims(desc, req, &s, e);
	if (!ret)
		ret = check_optionals(req, &s, e);
	if (ret)
		return ret;
	lower_params(desc, req);
	req->k = q->dims[3] > d->dims[3] ? q->dims[3] : d->dims[3];
	req->k_field = q->dims[3] > d->dims[3] ? "attention.q.dims[3]" : "attention.d.dims[3]";
	req->macs = count_macs(req, &s);
	return 0;
}

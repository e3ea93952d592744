// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * ATTENTION: DST = softmax(scale * Q x K^T + ...) x V, without storing the matrix of
 * scores to memory.
 *
 * A tile is a block of rows of one sequence and one head of K. It keeps its rows of Q
 * and the weighted sums of V in scratch memory and iterates over the keys. If the keys
 * are divided into pieces, the first phase does this for each piece and stores the
 * sums, the largest score and the sum of the weights; the second phase merges the
 * pieces.
 */
#include "attention.h"

/* Cost of loading an element, of a score, and of a row, in multiply-adds */
#define ELEMENT_COST	16u
#define SCORE_COST	64u
#define ROW_COST	512u

_Static_assert(sizeof(struct uma_attention_params) == 128, "params");
/*
 * Room for one row and for as many keys as the kernels with the widest vectors process
 * at once
 */
_Static_assert(UMA_ATTN_DATA >= 3 * (UMA_ATTN_DIM_MAX + 64) + UMA_ATTN_DIM_MAX * 32, "scratch");

/* --- parameters ------------------------------------------------------------------ */

static int is_finite(__u32 bits)
{
	return (bits & 0x7f800000u) != 0x7f800000u;
}

static int bad(struct uma_fault_info *fault, __u32 reason, const char *field)
{
	return uma_set_fault(fault, reason, UMA_FAULT_NO_SLOT, field);
}

static int attention_decode(const void *params, struct uma_op *op, __u32 *used,
			    struct uma_fault_info *fault)
{
	const struct uma_attention_params *p = params;
	struct uma_attention *a = &op->u.attention;

	a->flags = uma_le32(p->flags);
	a->scale = uma_le32(p->scale);
	a->softcap = uma_le32(p->softcap);
	a->window_left = uma_le32(p->window_left);
	a->window_right = uma_le32(p->window_right);
	a->keep = uma_le32(p->keep);
	a->q_offset = (__s32)uma_le32(p->q_offset);
	a->q_max = uma_le32(p->q_max);
	*used = __builtin_offsetof(struct uma_attention_params, pad);

	if (a->flags & ~UMA_ATTN_FLAGS_MASK)
		return bad(fault, UMA_FAULT_FLAGS, "params.flags");
	if ((a->flags & UMA_ATTN_RAGGED) && !(a->flags & UMA_ATTN_LENGTHS))
		return bad(fault, UMA_FAULT_PARAMS, "params.flags");
	if (!is_finite(a->scale))
		return bad(fault, UMA_FAULT_PARAMS, "params.scale");
	if (!(a->flags & UMA_ATTN_SOFTCAP)) {
		if (a->softcap)
			return bad(fault, UMA_FAULT_PAD, "params.softcap");
	} else if (!is_finite(a->softcap) || !a->softcap || (a->softcap & UMA_F32_SIGN)) {
		return bad(fault, UMA_FAULT_PARAMS, "params.softcap");
	}
	if (!(a->flags & UMA_ATTN_WINDOW)) {
		if (a->window_left)
			return bad(fault, UMA_FAULT_PAD, "params.window_left");
		if (a->window_right)
			return bad(fault, UMA_FAULT_PAD, "params.window_right");
		if (a->keep)
			return bad(fault, UMA_FAULT_PAD, "params.keep");
	}
	if (!(a->flags & UMA_ATTN_OFFSET) && a->q_offset)
		return bad(fault, UMA_FAULT_PAD, "params.q_offset");
	if (!(a->flags & UMA_ATTN_RAGGED)) {
		if (a->q_max)
			return bad(fault, UMA_FAULT_PAD, "params.q_max");
	} else if (a->q_max > UMA_ATTN_KEYS_MAX) {
		return bad(fault, UMA_FAULT_PARAMS, "params.q_max");
	}
	return 0;
}

static __u32 attention_slots(const struct uma_op *op)
{
	static const struct {
		__u32 flag, slot;
	} part[] = {
		{ UMA_ATTN_MASK, UMA_SLOT_BIT(AUX0) },
		{ UMA_ATTN_PAGED, UMA_SLOT_BIT(AUX1) },
		{ UMA_ATTN_LENGTHS, UMA_SLOT_BIT(AUX2) },
		{ UMA_ATTN_ALIBI, UMA_SLOT_BIT(AUX3) },
		{ UMA_ATTN_SINKS, UMA_SLOT_BIT(AUX4) },
		{ UMA_ATTN_SPLIT, UMA_SLOT_BIT(RESIDUAL) },
	};
	__u32 slots = 0, i;

	for (i = 0; i < UMA_ARRAY_SIZE(part); i++)
		if (op->u.attention.flags & part[i].flag)
			slots |= part[i].slot;
	return slots;
}

static __u32 attention_funcs(const struct uma_op *op)
{
	return op->u.attention.flags;
}

/* Length of the longest dot product: the head dimension */
static __u64 attention_k(const struct uma_op *op)
{
	return UMA_MAX(op->t[UMA_SLOT_A].dims[3], op->t[UMA_SLOT_DST].dims[3]);
}

/* --- operands ---------------------------------------------------------------------- */

static int is_weight(__u32 dtype)
{
	return uma_is_int8(dtype) || uma_is_int4(dtype);
}

static int match_ranks(const struct uma_op *op, struct uma_fault_info *fault)
{
	/* Smallest and largest rank of each slot */
	static const __u8 ranks[UMA_TASK_SLOTS][2] = {
		[UMA_SLOT_DST] = { 4, 4 }, [UMA_SLOT_A] = { 4, 4 },
		[UMA_SLOT_B] = { 4, 4 }, [UMA_SLOT_C] = { 4, 4 },
		[UMA_SLOT_RESIDUAL] = { 5, 5 }, [UMA_SLOT_AUX0] = { 4, 4 },
		[UMA_SLOT_AUX1] = { 2, 2 }, [UMA_SLOT_AUX2] = { 1, 2 },
		[UMA_SLOT_AUX3] = { 1, 2 }, [UMA_SLOT_AUX4] = { 1, 1 },
	};
	__u32 s;

	for (s = 0; s < UMA_TASK_SLOTS; s++)
		if (uma_has(op, s) && (op->t[s].rank < ranks[s][0] ||
				       op->t[s].rank > ranks[s][1]))
			return uma_set_fault(fault, UMA_FAULT_RANK, s, "rank");
	return 0;
}

/* Q and DST: floating point, or 8-bit integers with one scale */
static int match_rows(const struct uma_op *op, __u32 slot, struct uma_fault_info *fault)
{
	const struct uma_tensor_view *t = &op->t[slot];

	if (!uma_is_float(t->dtype) && !uma_is_int8(t->dtype))
		return uma_set_fault(fault, UMA_FAULT_DTYPE, slot, "dtype");
	if (t->quant != (uma_is_float(t->dtype) ? UMA_QUANT_NONE : UMA_QUANT_TENSOR))
		return uma_set_fault(fault, UMA_FAULT_QUANT, slot, "quant");
	return 0;
}

static int match_types(const struct uma_op *op, struct uma_fault_info *fault)
{
	__u32 s;

	if (match_rows(op, UMA_SLOT_A, fault) || match_rows(op, UMA_SLOT_DST, fault))
		return -1;
	for (s = UMA_SLOT_B; s <= UMA_SLOT_C; s++) {
		const struct uma_tensor_view *t = &op->t[s];

		if (!uma_is_float(t->dtype) && !is_weight(t->dtype))
			return uma_set_fault(fault, UMA_FAULT_DTYPE, s, "dtype");
		if (is_weight(t->dtype) && !t->quant)
			return uma_set_fault(fault, UMA_FAULT_QUANT, s, "quant");
		if (t->quant == UMA_QUANT_GROUP && t->quant_axis != 3)
			return uma_set_fault(fault, UMA_FAULT_QUANT, s, "quant_axis");
	}
	for (s = UMA_SLOT_RESIDUAL; s <= UMA_SLOT_AUX4; s++) {
		__u32 dtype = op->t[s].dtype;
		int ok;

		if (!uma_has(op, s))
			continue;
		switch (s) {
		case UMA_SLOT_AUX0:
			ok = uma_is_float(dtype) || dtype == UMA_DTYPE_U8;
			break;
		case UMA_SLOT_AUX1:
		case UMA_SLOT_AUX2:
			ok = dtype == UMA_DTYPE_S32;
			break;
		case UMA_SLOT_AUX4:
			ok = uma_is_float(dtype);
			break;
		default:
			ok = dtype == UMA_DTYPE_F32;
			break;
		}
		if (!ok)
			return uma_set_fault(fault, UMA_FAULT_DTYPE, s, "dtype");
		if (op->t[s].quant)
			return uma_set_fault(fault, UMA_FAULT_QUANT, s, "quant");
	}
	return 0;
}

static int dims_are(const struct uma_op *op, __u32 slot, const __u32 *want,
		    struct uma_fault_info *fault)
{
	const struct uma_tensor_view *t = &op->t[slot];
	__u32 d;

	for (d = 0; d < t->rank; d++)
		if (t->dims[d] != want[d])
			return uma_set_fault(fault, UMA_FAULT_DIMS, slot, "dims");
	return 0;
}

/* Number of sequences, and the largest number of queries and keys of each */
static void sizes(const struct uma_op *op, struct uma_attn_plan *p)
{
	__u32 flags = op->u.attention.flags;
	const struct uma_tensor_view *q = &op->t[UMA_SLOT_A], *k = &op->t[UMA_SLOT_B];

	p->ragged = !!(flags & UMA_ATTN_RAGGED);
	p->kv_ragged = p->ragged && op->t[UMA_SLOT_AUX2].rank > 1 &&
		       op->t[UMA_SLOT_AUX2].dims[1] > UMA_ATTN_LEN_KV_START;
	p->batch = p->ragged ? op->t[UMA_SLOT_AUX2].dims[0] : q->dims[0];
	p->queries = p->ragged ? op->u.attention.q_max : q->dims[1];
	p->kv_heads = k->dims[2];
	p->group = p->kv_heads ? q->dims[2] / p->kv_heads : 0;
	p->d = q->dims[3];
	p->dv = op->t[UMA_SLOT_DST].dims[3];
	p->keys = k->dims[1];
	if (flags & UMA_ATTN_PAGED)
		p->keys *= op->t[UMA_SLOT_AUX1].dims[1];
	p->pieces = flags & UMA_ATTN_SPLIT ? op->t[UMA_SLOT_RESIDUAL].dims[0] : 1;
}

static int match_keys(const struct uma_op *op, const struct uma_attn_plan *p,
		      struct uma_fault_info *fault)
{
	const struct uma_tensor_view *q = &op->t[UMA_SLOT_A], *k = &op->t[UMA_SLOT_B];
	const __u32 values[4] = { k->dims[0], k->dims[1], k->dims[2], p->dv };
	int paged = uma_has(op, UMA_SLOT_AUX1);

	if (k->dims[3] != p->d)
		return uma_set_fault(fault, UMA_FAULT_DIMS, UMA_SLOT_B, "dims");
	if (q->dims[2] != (__u64)p->kv_heads * p->group)
		return uma_set_fault(fault, UMA_FAULT_DIMS, UMA_SLOT_B, "dims");
	if (!paged && k->dims[0] != (p->kv_ragged ? 1 : p->batch))
		return uma_set_fault(fault, UMA_FAULT_DIMS, UMA_SLOT_B, "dims");
	if (paged && op->t[UMA_SLOT_AUX1].dims[0] != p->batch)
		return uma_set_fault(fault, UMA_FAULT_DIMS, UMA_SLOT_AUX1, "dims");
	if (p->keys > UMA_ATTN_KEYS_MAX)
		return uma_set_fault(fault, UMA_FAULT_DIMS, paged ? UMA_SLOT_AUX1 :
				     UMA_SLOT_B, "dims");
	return dims_are(op, UMA_SLOT_C, values, fault);
}

static int match_lengths(const struct uma_op *op, const struct uma_attn_plan *p,
			 struct uma_fault_info *fault)
{
	const struct uma_tensor_view *t = &op->t[UMA_SLOT_AUX2];
	__u32 columns = t->rank > 1 ? t->dims[1] : 1;
	__u32 least = p->ragged ? 3 : 1, most = p->ragged ? 4 : 2;

	if (!uma_has(op, UMA_SLOT_AUX2))
		return 0;
	if (uma_has(op, UMA_SLOT_AUX1) && p->ragged)
		most = 3;
	if (t->dims[0] != p->batch || columns < least || columns > most)
		return uma_set_fault(fault, UMA_FAULT_DIMS, UMA_SLOT_AUX2, "dims");
	return 0;
}

/* Per element of DST: a sum over the keys, whose scores are sums over the head dimension */
static __u64 attention_work(const struct uma_op *op)
{
	struct uma_attn_plan p;
	__u64 work;

	sizes(op, &p);
	return __builtin_mul_overflow(attention_k(op), (__u64)p.keys, &work) ? ~0ULL : work;
}

static int attention_match(const struct uma_op *op, struct uma_fault_info *fault)
{
	const struct uma_tensor_view *dst = &op->t[UMA_SLOT_DST], *q = &op->t[UMA_SLOT_A];
	struct uma_attn_plan p;
	__u32 want[UMA_MAX_RANK] = { 0 };

	if (match_ranks(op, fault) || match_types(op, fault))
		return -1;
	sizes(op, &p);
	if (uma_match_dims(op, UMA_SLOT_A, 3, fault))
		return -1;
	if (p.d > UMA_ATTN_DIM_MAX)
		return uma_set_fault(fault, UMA_FAULT_DIMS, UMA_SLOT_A, "dims");
	if (p.dv > UMA_ATTN_DIM_MAX)
		return uma_set_fault(fault, UMA_FAULT_DIMS, UMA_SLOT_DST, "dims");
	if (p.queries > UMA_ATTN_KEYS_MAX || (p.ragged && q->dims[0] != 1))
		return uma_set_fault(fault, UMA_FAULT_DIMS, UMA_SLOT_A, "dims");
	if (match_lengths(op, &p, fault) || match_keys(op, &p, fault))
		return -1;

	want[0] = p.batch;
	want[1] = q->dims[2];
	want[2] = p.queries;
	want[3] = (__u32)p.keys;
	if (uma_has(op, UMA_SLOT_AUX0) && dims_are(op, UMA_SLOT_AUX0, want, fault))
		return -1;
	if (uma_has(op, UMA_SLOT_AUX3) &&
	    dims_are(op, UMA_SLOT_AUX3, want + 2 - op->t[UMA_SLOT_AUX3].rank, fault))
		return -1;
	if (uma_has(op, UMA_SLOT_AUX4) && dims_are(op, UMA_SLOT_AUX4, want + 1, fault))
		return -1;
	if (!uma_has(op, UMA_SLOT_RESIDUAL))
		return 0;
	if (!p.pieces || p.pieces > UMA_ATTN_PIECES_MAX)
		return uma_set_fault(fault, UMA_FAULT_DIMS, UMA_SLOT_RESIDUAL, "dims");
	want[0] = p.pieces;
	want[1] = dst->dims[0];
	want[2] = dst->dims[1];
	want[3] = dst->dims[2];
	want[4] = p.dv + 2;
	return dims_are(op, UMA_SLOT_RESIDUAL, want, fault);
}

/* --- division into tiles -------------------------------------------------- */

/* Assign the arrays their offsets in scratch memory; returns their total size in words. */
static __u32 lay_out(struct uma_attn_plan *p, __u32 nr)
{
	p->ldk = (__u32)uma_roundup(p->nt, nr);
	p->ldv = (__u32)uma_roundup(p->dv, nr);
	p->at_q = 0;
	p->at_kv = p->mt * p->d;
	p->at_qk = p->at_kv + UMA_MAX(p->d * p->ldk, p->nt * p->ldv);
	p->at_s = p->at_qk + p->mt * p->ldk;
	p->at_o = p->at_s + p->mt * UMA_ATTN_BLOCK;
	return p->at_o + p->mt * p->ldv;
}

/* Cost of the scores or of the values of @nt keys, for @mt rows */
static __u32 keys_cost(const struct uma_attn_plan *p, __u32 nt)
{
	return nt * (UMA_MAX(p->d, p->dv) * (p->mt + ELEMENT_COST) + ROW_COST) +
	       p->mt * (nt * SCORE_COST + ROW_COST);
}

static void plan_tile(const struct uma_program *prog, struct uma_attn_plan *p)
{
	__u32 nr = prog->kernels->nr, budget = prog->step_work;

	p->unbounded = budget == UMA_STEP_WORK_UNBOUND;
	p->mt = (__u32)UMA_MIN(p->rows, p->unbounded ? UMA_ATTN_ROWS : UMA_ATTN_ROWS / 2);
	p->nt = UMA_ATTN_BLOCK;
	/* Terminates: one row and the smallest number of keys always fit. */
	while (lay_out(p, nr) > UMA_ATTN_DATA) {
		if (p->nt > nr && p->nt > p->mt)
			p->nt /= 2;
		else
			p->mt = UMA_MAX(p->mt / 2, 1u);
	}
	p->load_rows = p->mt;
	p->store_rows = p->mt;
	p->merge_rows = p->mt * p->pieces;
	if (p->unbounded)
		return;
	/* The softmax of a block of scores is one step, so @mt is bounded first, then @nt. */
	while (p->mt > 1 && p->mt * (UMA_ATTN_BLOCK * SCORE_COST + p->ldv) > budget)
		p->mt /= 2;
	while (p->nt > 1 && keys_cost(p, p->nt) > budget)
		p->nt /= 2;
	lay_out(p, nr);
	p->load_rows = UMA_MAX(budget / (p->d * ELEMENT_COST + ROW_COST), 1u);
	p->store_rows = UMA_MAX(budget / (p->dv * SCORE_COST + 2 * ROW_COST), 1u);
	p->merge_rows = UMA_MAX(budget / (p->dv * ELEMENT_COST + 2 * ROW_COST), 1u);
}

static int attention_prepare(struct uma_run *run, struct uma_program *prog)
{
	const struct uma_op *op = &prog->op;
	struct uma_attn_plan *p = (struct uma_attn_plan *)prog->priv;
	__u64 tiles, macs;

	if (uma_tensor_empty(&op->t[UMA_SLOT_DST]))
		return 0;
	*p = (struct uma_attn_plan){ 0 };
	sizes(op, p);
	/* Both factors are below 2^32. */
	p->rows = (__u64)p->queries * p->group;
	if (!p->rows || !p->batch)
		return 0;
	plan_tile(prog, p);
	tiles = uma_divup(p->rows, UMA_MAX(p->mt, 1u));
	if (tiles > 0xffffffffu)
		return uma_set_fault(run->fault, UMA_FAULT_UNSUPPORTED, UMA_SLOT_DST, "dims");
	p->rtiles = (__u32)tiles;
	if (__builtin_mul_overflow(tiles, (__u64)p->batch * p->kv_heads, &tiles) ||
	    tiles > 0xffffffffu / p->pieces)
		return uma_set_fault(run->fault, UMA_FAULT_UNSUPPORTED, UMA_SLOT_DST, "dims");
	prog->phase_count = p->pieces > 1 ? 2 : 1;
	prog->tiles[0] = (__u32)tiles * p->pieces;
	prog->tiles[1] = (__u32)tiles;
	if (__builtin_mul_overflow(p->rows * p->kv_heads, (__u64)p->batch * (p->d + p->dv),
				   &macs) ||
	    __builtin_mul_overflow(macs, p->keys, &macs))
		macs = ~0ULL;
	prog->macs = macs;
	return 0;
}

const struct uma_op_class uma_op_attention = {
	.slots = UMA_SLOT_BIT(DST) | UMA_SLOT_BIT(A) | UMA_SLOT_BIT(B) | UMA_SLOT_BIT(C),
	.outputs = UMA_SLOT_BIT(DST) | UMA_SLOT_BIT(RESIDUAL),
	.in_place = UMA_SLOT_BIT(A),
	.like_b = UMA_SLOT_BIT(C),
	.fixed = UMA_SLOT_BIT(RESIDUAL) | UMA_SLOT_BIT(AUX0) | UMA_SLOT_BIT(AUX1) |
		 UMA_SLOT_BIT(AUX2) | UMA_SLOT_BIT(AUX3) | UMA_SLOT_BIT(AUX4),
	.decode = attention_decode,
	.extra_slots = attention_slots,
	.match = attention_match,
	.funcs = attention_funcs,
	.k = attention_k,
	.work = attention_work,
	.prepare = attention_prepare,
	.step = uma_attn_step,
};

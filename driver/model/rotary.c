// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * ROTARY: rotates the pairs of elements of each head by the angle of the row's position.
 *
 * A row of a head is divided into units: first those of pairs, then those of the elements
 * that are not rotated. Tiles and steps are runs of units.
 */
#include "uma_internal.h"

/* Pairs of a unit, whose elements, if interleaved, are one row */
#define PAIRS		(UMA_ROW_MAX / 2)
/* Cost of a unit and of a pair, in the same units as in elementwise.c */
#define UNIT_COST	4096u
#define PAIR_COST	192u
/* Number of pairs of a tile */
#define TILE_PAIRS	32768u

struct rotary_plan {
	/* Number of elements of a head, and of pairs that are rotated */
	__u32 head;
	__u32 half;
	/* Number of units of a row: of pairs, and in total */
	__u32 turned;
	__u32 cuts;
	/* Number of units: in total, of a tile, of a step */
	__u64 units;
	__u32 tile_units;
	__u32 step_units;
};

struct rotary_scratch {
	__u32 row[UMA_ROW_MAX];
	__u32 cosine[PAIRS];
	__u32 sine[PAIRS];
	__u32 x0[PAIRS];
	__u32 x1[PAIRS];
	__u32 product[PAIRS];
	__u32 y0[PAIRS];
	__u32 y1[PAIRS];
	struct uma_rowbuf buf;
};

_Static_assert(sizeof(struct rotary_plan) <= sizeof(((struct uma_program *)0)->priv),
	       "priv");
_Static_assert(sizeof(struct rotary_scratch) <= UMA_SCRATCH_SIZE, "scratch");

static int rotary_prepare(struct uma_run *run, struct uma_program *prog)
{
	const struct uma_tensor_view *d = &prog->op.t[UMA_SLOT_DST];
	struct rotary_plan *p = (struct rotary_plan *)prog->priv;
	__u32 pairs, cost;
	__u64 tile;

	(void)run;
	if (uma_tensor_empty(d))
		return 0;
	p->head = d->dims[3];
	p->half = prog->op.t[UMA_SLOT_B].dims[1];
	p->turned = (__u32)uma_divup(p->half, PAIRS);
	p->cuts = p->turned + (__u32)uma_divup(p->head - 2 * p->half, UMA_ROW_MAX);
	/* Does not overflow: there are at most as many units as elements of DST. */
	p->units = (__u64)d->dims[0] * d->dims[1] * d->dims[2] * p->cuts;

	pairs = UMA_MIN(p->head / 2 + 1, PAIRS);
	cost = UNIT_COST + pairs * PAIR_COST;
	tile = UMA_MAX(TILE_PAIRS / pairs, uma_divup(p->units, 0xffffffffu));
	p->tile_units = (__u32)tile;
	p->step_units = prog->step_work == UMA_STEP_WORK_UNBOUND ? p->tile_units :
		UMA_MIN(UMA_MAX(prog->step_work / cost, 1u), p->tile_units);
	prog->phase_count = 1;
	prog->tiles[0] = (__u32)uma_divup(p->units, tile);
	prog->macs = uma_tensor_elements(d);
	return 0;
}

/* A run of @n elements of a head, from element @at on */
static struct uma_row head_row(struct uma_run *run, __u32 slot, const __u32 *idx, __u32 at,
			       __u32 n)
{
	const struct uma_tensor_view *t = &run->prog->op.t[slot];

	return (struct uma_row){
		.slot = slot,
		.off = uma_tensor_offset(t, idx) + (__s64)at * t->strides[3],
		.stride = t->strides[3],
		.n = n,
	};
}

/* A run of the table of cosines or sines, in the row of a position */
static struct uma_row table_row(struct uma_run *run, __u32 slot, __u32 position, __u32 at,
				__u32 n)
{
	const struct uma_tensor_view *t = &run->prog->op.t[slot];

	return (struct uma_row){
		.slot = slot,
		.off = (__s64)position * t->strides[0] + (__s64)at * t->strides[1],
		.stride = t->strides[1],
		.n = n,
	};
}

static int load(struct uma_run *run, const struct uma_row *row, __u32 *out)
{
	struct rotary_scratch *s = (struct rotary_scratch *)run->scratch;
	const float *x = uma_row_f32(run, row, &s->buf, (float *)out);

	if (!x)
		return -1;
	if ((const void *)x != out)
		__builtin_memcpy(out, x, 4ul * row->n);
	return 0;
}

/* Read the position of a row, checked to be inside of the tables. */
static int position_of(struct uma_run *run, const __u32 *idx, __u32 *position)
{
	const struct uma_op *op = &run->prog->op;
	const struct uma_tensor_view *t = &op->t[UMA_SLOT_AUX0];
	struct rotary_scratch *s = (struct rotary_scratch *)run->scratch;
	const void *p;
	__s64 off;

	if (!uma_has(op, UMA_SLOT_AUX0)) {
		*position = op->u.rotary.start + idx[1];
		return 0;
	}
	off = uma_tensor_offset(t, idx);
	p = uma_gather(run, UMA_SLOT_AUX0, t, off, 1, 1, s->row);
	if (!p)
		return -1;
	/* Check a copy, since others may write to that memory. */
	__builtin_memcpy(position, p, 4);
	if (*position < op->t[UMA_SLOT_B].dims[0])
		return 0;
	uma_set_fault(run->fault, UMA_FAULT_RANGE, UMA_SLOT_AUX0, "index");
	run->fault->addr = t->addr + (__u64)(off * 4);
	return -1;
}

/* y0 = x0 cos - x1 sin, y1 = x1 cos + x0 sin, each operation rounded */
static void turn(struct uma_run *run, __u32 n)
{
	struct rotary_scratch *s = (struct rotary_scratch *)run->scratch;
	const struct uma_kernels *k = run->k;
	float *x0 = (float *)s->x0, *x1 = (float *)s->x1, *product = (float *)s->product;
	float *y0 = (float *)s->y0, *y1 = (float *)s->y1;
	const float *c = (const float *)s->cosine, *i = (const float *)s->sine;

	k->binary[UMA_BINARY_MUL](y0, x0, c, n);
	k->binary[UMA_BINARY_MUL](product, x1, i, n);
	k->binary[UMA_BINARY_SUB](y0, y0, product, n);
	k->binary[UMA_BINARY_MUL](y1, x1, c, n);
	k->binary[UMA_BINARY_MUL](product, x0, i, n);
	k->binary[UMA_BINARY_ADD](y1, y1, product, n);
}

static int turn_interleaved(struct uma_run *run, const __u32 *idx, __u32 pair, __u32 n)
{
	struct uma_row from = head_row(run, UMA_SLOT_A, idx, 2 * pair, 2 * n);
	struct uma_row to = head_row(run, UMA_SLOT_DST, idx, 2 * pair, 2 * n);
	struct rotary_scratch *s = (struct rotary_scratch *)run->scratch;
	__u32 i;

	if (load(run, &from, s->row))
		return -1;
	for (i = 0; i < n; i++) {
		s->x0[i] = s->row[2 * i];
		s->x1[i] = s->row[2 * i + 1];
	}
	turn(run, n);
	for (i = 0; i < n; i++) {
		s->row[2 * i] = s->y0[i];
		s->row[2 * i + 1] = s->y1[i];
	}
	return uma_row_store_f32(run, &to, &s->buf, (const float *)s->row);
}

static int turn_halves(struct uma_run *run, const __u32 *idx, __u32 pair, __u32 n)
{
	const struct rotary_plan *p = (const void *)run->prog->priv;
	struct rotary_scratch *s = (struct rotary_scratch *)run->scratch;
	struct uma_row row = head_row(run, UMA_SLOT_A, idx, pair, n);

	if (load(run, &row, s->x0))
		return -1;
	row = head_row(run, UMA_SLOT_A, idx, p->half + pair, n);
	if (load(run, &row, s->x1))
		return -1;
	turn(run, n);
	row = head_row(run, UMA_SLOT_DST, idx, pair, n);
	if (uma_row_store_f32(run, &row, &s->buf, (const float *)s->y0))
		return -1;
	row = head_row(run, UMA_SLOT_DST, idx, p->half + pair, n);
	return uma_row_store_f32(run, &row, &s->buf, (const float *)s->y1);
}

static int keep(struct uma_run *run, const __u32 *idx, __u32 at, __u32 n)
{
	struct uma_row from = head_row(run, UMA_SLOT_A, idx, at, n);
	struct uma_row to = head_row(run, UMA_SLOT_DST, idx, at, n);
	struct rotary_scratch *s = (struct rotary_scratch *)run->scratch;

	if (load(run, &from, s->row))
		return -1;
	return uma_row_store_f32(run, &to, &s->buf, (const float *)s->row);
}

static int run_unit(struct uma_run *run, __u64 unit)
{
	const struct rotary_plan *p = (const void *)run->prog->priv;
	const struct uma_op *op = &run->prog->op;
	const struct uma_tensor_view *d = &op->t[UMA_SLOT_DST];
	struct rotary_scratch *s = (struct rotary_scratch *)run->scratch;
	__u32 idx[UMA_MAX_RANK] = { 0 };
	__u32 cut = (__u32)(unit % p->cuts);
	__u32 position, at, n;
	struct uma_row row;

	unit /= p->cuts;
	idx[2] = (__u32)(unit % d->dims[2]);
	unit /= d->dims[2];
	idx[1] = (__u32)(unit % d->dims[1]);
	idx[0] = (__u32)(unit / d->dims[1]);
	/*
	 * Checked for elements that are not rotated, too, so that a bad position is
	 * always a fault.
	 */
	if (position_of(run, idx, &position))
		return -1;
	if (cut >= p->turned) {
		at = 2 * p->half + (cut - p->turned) * UMA_ROW_MAX;
		return keep(run, idx, at, UMA_MIN(p->head - at, UMA_ROW_MAX));
	}
	at = cut * PAIRS;
	n = UMA_MIN(p->half - at, PAIRS);
	row = table_row(run, UMA_SLOT_B, position, at, n);
	if (load(run, &row, s->cosine))
		return -1;
	row = table_row(run, UMA_SLOT_C, position, at, n);
	if (load(run, &row, s->sine))
		return -1;
	return op->u.rotary.flags & UMA_ROTARY_INTERLEAVED ?
		turn_interleaved(run, idx, at, n) : turn_halves(run, idx, at, n);
}

static int rotary_step(struct uma_run *run, __u32 phase, __u32 tile, __u32 *step)
{
	const struct rotary_plan *p = (const void *)run->prog->priv;
	__u64 first = (__u64)tile * p->tile_units;
	__u64 end = UMA_MIN(first + p->tile_units, p->units);
	__u64 unit = first + (__u64)*step * p->step_units;
	__u64 stop = UMA_MIN(unit + p->step_units, end);

	(void)phase;
	(*step)++;
	for (; unit < stop; unit++)
		if (run_unit(run, unit))
			return -1;
	return stop < end;
}

/* --- the operation ---------------------------------------------------------- */

static int rotary_decode(const void *params, struct uma_op *op, __u32 *used,
			 struct uma_fault_info *fault)
{
	const struct uma_rotary_params *p = params;

	op->u.rotary.flags = uma_le32(p->flags);
	op->u.rotary.start = uma_le32(p->start);
	*used = 8;
	if (op->u.rotary.flags & ~UMA_ROTARY_MASK)
		return uma_set_fault(fault, UMA_FAULT_PARAMS, UMA_FAULT_NO_SLOT,
				     "params.flags");
	if ((op->u.rotary.flags & UMA_ROTARY_POSITIONS) && op->u.rotary.start)
		return uma_set_fault(fault, UMA_FAULT_PARAMS, UMA_FAULT_NO_SLOT,
				     "params.start");
	return 0;
}

static __u32 rotary_slots(const struct uma_op *op)
{
	return op->u.rotary.flags & UMA_ROTARY_POSITIONS ? UMA_SLOT_BIT(AUX0) : 0;
}

static int rotary_match(const struct uma_op *op, struct uma_fault_info *fault)
{
	const struct uma_tensor_view *d = &op->t[UMA_SLOT_DST];
	const struct uma_tensor_view *b = &op->t[UMA_SLOT_B];
	const struct uma_tensor_view *c = &op->t[UMA_SLOT_C];
	const struct uma_tensor_view *aux = &op->t[UMA_SLOT_AUX0];
	__u32 s;

	if (d->rank != 4)
		return uma_set_fault(fault, UMA_FAULT_RANK, UMA_SLOT_DST, "rank");
	if (op->t[UMA_SLOT_A].rank != 4)
		return uma_set_fault(fault, UMA_FAULT_RANK, UMA_SLOT_A, "rank");
	if (b->rank != 2)
		return uma_set_fault(fault, UMA_FAULT_RANK, UMA_SLOT_B, "rank");
	if (c->rank != 2)
		return uma_set_fault(fault, UMA_FAULT_RANK, UMA_SLOT_C, "rank");
	for (s = UMA_SLOT_DST; s <= UMA_SLOT_C; s++)
		if (op->t[s].quant > UMA_QUANT_TENSOR)
			return uma_set_fault(fault, UMA_FAULT_QUANT, s, "quant");
	if (uma_match_dims(op, UMA_SLOT_A, 4, fault))
		return -1;
	if (b->dims[1] > d->dims[3] / 2)
		return uma_set_fault(fault, UMA_FAULT_DIMS, UMA_SLOT_B, "dims");
	if (c->dims[0] != b->dims[0] || c->dims[1] != b->dims[1])
		return uma_set_fault(fault, UMA_FAULT_DIMS, UMA_SLOT_C, "dims");
	if (!uma_has(op, UMA_SLOT_AUX0)) {
		if (!uma_tensor_empty(d) &&
		    (__u64)op->u.rotary.start + d->dims[1] > b->dims[0])
			return uma_set_fault(fault, UMA_FAULT_PARAMS, UMA_FAULT_NO_SLOT,
					     "params.start");
		return 0;
	}
	if (aux->rank != 2)
		return uma_set_fault(fault, UMA_FAULT_RANK, UMA_SLOT_AUX0, "rank");
	if (aux->dtype != UMA_DTYPE_S32)
		return uma_set_fault(fault, UMA_FAULT_DTYPE, UMA_SLOT_AUX0, "dtype");
	if (aux->quant)
		return uma_set_fault(fault, UMA_FAULT_QUANT, UMA_SLOT_AUX0, "quant");
	return uma_match_dims(op, UMA_SLOT_AUX0, 2, fault);
}

static __u32 rotary_funcs(const struct uma_op *op)
{
	return op->u.rotary.flags;
}

const struct uma_op_class uma_op_rotary = {
	.slots = UMA_SLOT_BIT(DST) | UMA_SLOT_BIT(A) | UMA_SLOT_BIT(B) | UMA_SLOT_BIT(C),
	.outputs = UMA_SLOT_BIT(DST),
	.in_place = UMA_SLOT_BIT(A),
	.like_b = UMA_SLOT_BIT(C),
	.fixed = UMA_SLOT_BIT(AUX0),
	.decode = rotary_decode,
	.extra_slots = rotary_slots,
	.match = rotary_match,
	.funcs = rotary_funcs,
	.prepare = rotary_prepare,
	.step = rotary_step,
};

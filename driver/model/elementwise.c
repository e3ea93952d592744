// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * COPY, FILL, UNARY, BINARY and SELECT: loops over the elements of DST.
 *
 * The dimensions become nested loops, with DST's smallest stride innermost; adjacent
 * loops are merged if the strides of all operands allow it. The innermost loop is
 * divided into rows. Tiles and steps are runs of rows.
 */
#include "uma_internal.h"

/* Cost of a row, of an element with stride 0 or 1, of an element with another stride */
#define ROW_COST	512u
#define NEAR_COST	16u
#define FAR_COST	64u
/* Number of elements of a tile */
#define TILE_ELEMENTS	65536u

#define OPERANDS	4	/* DST, A, B, C: the first slots */

struct loop {
	__u64 size;
	__s64 stride[OPERANDS];
};

struct ew_plan {
	/* From the outermost to the innermost */
	struct loop loop[UMA_MAX_RANK];
	/* Dimension of each loop; valid if an operand has tables */
	__u8 axis[UMA_MAX_RANK];
	__u8 loops;
	__u8 tables;
	/* Elements of a row; the last one of the innermost loop may have fewer */
	__u32 row;
	/* Number of rows of the innermost loop */
	__u64 cuts;
	/* Total number of rows */
	__u64 rows;
	__u32 tile_rows;
	__u32 step_rows;
};

struct ew_scratch {
	__u32 x[UMA_ROW_MAX];
	__u32 y[UMA_ROW_MAX];
	__u32 z[UMA_ROW_MAX];
	__s64 wide[UMA_ROW_MAX];
	struct uma_rowbuf buf;
	struct uma_rowbuf buf2;
	struct uma_rowbuf buf3;
};

_Static_assert(sizeof(struct ew_plan) <= sizeof(((struct uma_program *)0)->priv),
	       "priv");
_Static_assert(sizeof(struct ew_scratch) <= UMA_SCRATCH_SIZE, "scratch");

static __u64 magnitude(__s64 v)
{
	return v < 0 ? -(__u64)v : (__u64)v;
}

/* One loop for each dimension, in descending order of DST's strides */
static void make_loops(const struct uma_op *op, struct ew_plan *p)
{
	const struct uma_tensor_view *d = &op->t[UMA_SLOT_DST];
	__u32 dim, s, i;

	p->loops = 0;
	for (dim = 0; dim < d->rank; dim++) {
		if (d->dims[dim] < 2)
			continue;
		for (i = p->loops; i > 0; i--) {
			if (magnitude(p->loop[i - 1].stride[0]) >=
			    magnitude(d->strides[dim]))
				break;
			p->loop[i] = p->loop[i - 1];
			p->axis[i] = p->axis[i - 1];
		}
		p->loop[i].size = d->dims[dim];
		for (s = 0; s < OPERANDS; s++)
			p->loop[i].stride[s] = uma_has(op, s) ?
				op->t[s].strides[dim] : 0;
		p->axis[i] = (__u8)dim;
		p->loops++;
	}
	if (!p->loops) {
		p->loop[0] = (struct loop){ .size = 1 };
		p->axis[0] = (__u8)(d->rank - 1);
		p->loops = 1;
	}
}

/* Are the strides of loops @i and @i + 1 those of a single loop, for all operands? */
static int mergeable(const struct ew_plan *p, __u32 i)
{
	const struct loop *outer = &p->loop[i], *inner = &p->loop[i + 1];
	__u32 s;

	for (s = 0; s < OPERANDS; s++)
		if (outer->stride[s] != inner->stride[s] * (__s64)inner->size)
			return 0;
	return 1;
}

static void merge_loops(struct ew_plan *p)
{
	__u32 i, j;

	for (i = p->loops - 1; i-- > 0;) {
		if (!mergeable(p, i))
			continue;
		p->loop[i + 1].size *= p->loop[i].size;
		for (j = i; j + 1 < p->loops; j++)
			p->loop[j] = p->loop[j + 1];
		p->loops--;
	}
}

static int has_tables(const struct uma_op *op)
{
	__u32 s;

	for (s = 0; s < OPERANDS; s++)
		if (uma_has(op, s) && op->t[s].quant >= UMA_QUANT_CHANNEL)
			return 1;
	return 0;
}

static int ew_prepare(struct uma_run *run, struct uma_program *prog)
{
	const struct uma_op *op = &prog->op;
	struct ew_plan *p = (struct ew_plan *)prog->priv;
	const struct loop *inner;
	__u32 cost = NEAR_COST;
	__u64 tile_rows;
	__u32 s, i;

	(void)run;
	if (uma_tensor_empty(&op->t[UMA_SLOT_DST]))
		return 0;
	make_loops(op, p);
	p->tables = (__u8)has_tables(op);
	if (!p->tables)
		merge_loops(p);
	inner = &p->loop[p->loops - 1];
	for (s = 0; s < OPERANDS; s++)
		if (inner->stride[s] != 0 && inner->stride[s] != 1)
			cost = FAR_COST;
	/* UMA_ROW_MAX is even: no two rows share a byte of 4-bit elements. */
	p->row = (__u32)UMA_MIN(inner->size, UMA_ROW_MAX);
	p->cuts = uma_divup(inner->size, p->row);
	p->rows = p->cuts;
	for (i = 0; i + 1 < p->loops; i++)
		p->rows *= p->loop[i].size;

	tile_rows = UMA_MAX(TILE_ELEMENTS / p->row, uma_divup(p->rows, 0xffffffffu));
	if (!tile_rows)
		tile_rows = 1;
	p->tile_rows = (__u32)tile_rows;
	p->step_rows = prog->step_work == UMA_STEP_WORK_UNBOUND ? p->tile_rows :
		UMA_MIN(UMA_MAX(prog->step_work / (ROW_COST + p->row * cost), 1u),
			p->tile_rows);
	prog->phase_count = 1;
	prog->tiles[0] = (__u32)uma_divup(p->rows, tile_rows);
	prog->macs = uma_tensor_elements(&op->t[UMA_SLOT_DST]);
	return 0;
}

struct ew_ctx {
	struct uma_run *run;
	const struct ew_plan *p;
	struct ew_scratch *s;
	/* Indices of the loops except the innermost one */
	__u64 at[UMA_MAX_RANK];
	/* Index of the row in the innermost loop */
	__u64 cut;
	__u32 idx[UMA_MAX_RANK];
	__u32 n;
};

static struct uma_row row_of(const struct ew_ctx *c, __u32 slot)
{
	const struct ew_plan *p = c->p;
	__u32 last = p->loops - 1u;
	__s64 off = (__s64)(c->cut * p->row) * p->loop[last].stride[slot];
	__u32 i;

	for (i = 0; i < last; i++)
		off += (__s64)c->at[i] * p->loop[i].stride[slot];
	return (struct uma_row){
		.slot = slot,
		.off = off,
		.stride = p->loop[last].stride[slot],
		.n = c->n,
		.idx = p->tables ? c->idx : 0,
		.axis = p->axis[last],
	};
}

static int copy_row(struct ew_ctx *c)
{
	const struct uma_op *op = &c->run->prog->op;
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A];
	const struct uma_tensor_view *d = &op->t[UMA_SLOT_DST];
	struct uma_row from = row_of(c, UMA_SLOT_A), to = row_of(c, UMA_SLOT_DST);
	const void *raw;
	const float *x;

	if (a->dtype == d->dtype && !a->quant && !d->quant) {
		raw = uma_gather(c->run, UMA_SLOT_A, a, from.off, from.stride,
				 c->n, c->s->buf.raw);
		return raw ? uma_scatter(c->run, UMA_SLOT_DST, d, to.off,
					 to.stride, c->n, raw) : -1;
	}
	x = uma_row_f32(c->run, &from, &c->s->buf, (float *)c->s->x);
	return x ? uma_row_store_f32(c->run, &to, &c->s->buf, x) : -1;
}

static int fill_row(struct ew_ctx *c)
{
	const struct uma_op *op = &c->run->prog->op;
	const struct uma_tensor_view *d = &op->t[UMA_SLOT_DST];
	struct uma_row to = row_of(c, UMA_SLOT_DST);
	__u32 es = uma_wide_size(d->dtype);
	__u8 *raw = (__u8 *)c->s->buf.raw;
	__u32 i;

	for (i = 0; i < c->n; i++)
		__builtin_memcpy(raw + (__u64)i * es, &op->value, es);
	return uma_scatter(c->run, UMA_SLOT_DST, d, to.off, to.stride, c->n, raw);
}

static int unary_row(struct ew_ctx *c)
{
	const struct uma_op *op = &c->run->prog->op;
	const struct uma_kernels *k = c->run->k;
	struct uma_row from = row_of(c, UMA_SLOT_A), to = row_of(c, UMA_SLOT_DST);
	float *x = (float *)c->s->x;
	const float *v;

	v = uma_row_f32(c->run, &from, &c->s->buf, x);
	if (!v)
		return -1;
	if (v != x)
		__builtin_memcpy(x, v, 4ul * c->n);
	if (op->func != UMA_UNARY_ACT)
		k->unary[op->func](x, c->n);
	if (op->act)
		k->act[op->act](x, op->p0, op->p1, c->n);
	return uma_row_store_f32(c->run, &to, &c->s->buf, x);
}

static int exact_row(struct ew_ctx *c)
{
	const struct uma_op *op = &c->run->prog->op;
	struct uma_row ra = row_of(c, UMA_SLOT_A), rb = row_of(c, UMA_SLOT_B);
	struct uma_row to = row_of(c, UMA_SLOT_DST);
	__u32 dtype = op->t[UMA_SLOT_DST].dtype;
	const __s32 *a, *b;
	__u32 i;

	a = uma_row_s32(c->run, &ra, &c->s->buf);
	if (!a)
		return -1;
	if (op->opcode == UMA_OP_UNARY) {
		uma_integer_unary(op->func, dtype, c->s->wide, a, c->n);
	} else {
		b = uma_row_s32(c->run, &rb, &c->s->buf2);
		if (!b)
			return -1;
		uma_integer_binary(op->func, dtype, c->s->wide, a, b, c->n);
	}
	if (op->act == UMA_ACT_RELU)
		for (i = 0; i < c->n; i++)
			c->s->wide[i] = UMA_MAX(c->s->wide[i], 0);
	return uma_row_store_s64(c->run, &to, &c->s->buf, c->s->wide);
}

static int plain_integer(const struct uma_tensor_view *t)
{
	return !uma_is_float(t->dtype) && !t->quant;
}

/* Comparisons and logic on integers do not go through binary32, which would round s32. */
static int compares_integers(const struct uma_op *op)
{
	return op->func >= UMA_BINARY_EQ && op->func <= UMA_BINARY_XOR &&
	       plain_integer(&op->t[UMA_SLOT_A]) && plain_integer(&op->t[UMA_SLOT_B]);
}

static int compare_row(struct ew_ctx *c, float *x)
{
	const struct uma_op *op = &c->run->prog->op;
	struct uma_row ra = row_of(c, UMA_SLOT_A), rb = row_of(c, UMA_SLOT_B);
	const __s32 *a, *b;

	a = uma_row_s32(c->run, &ra, &c->s->buf);
	if (!a)
		return -1;
	b = uma_row_s32(c->run, &rb, &c->s->buf2);
	if (!b)
		return -1;
	uma_integer_binary(op->func, UMA_DTYPE_S32, c->s->wide, a, b, c->n);
	c->run->k->s64_to_f32(x, c->s->wide, c->n);
	return 0;
}

static int float_row(struct ew_ctx *c, float *x)
{
	const struct uma_op *op = &c->run->prog->op;
	struct uma_row ra = row_of(c, UMA_SLOT_A), rb = row_of(c, UMA_SLOT_B);
	const float *a, *b;

	a = uma_row_f32(c->run, &ra, &c->s->buf, x);
	if (!a)
		return -1;
	b = uma_row_f32(c->run, &rb, &c->s->buf, (float *)c->s->y);
	if (!b)
		return -1;
	c->run->k->binary[op->func](x, a, b, c->n);
	return 0;
}

static int binary_row(struct ew_ctx *c)
{
	const struct uma_op *op = &c->run->prog->op;
	struct uma_row to = row_of(c, UMA_SLOT_DST);
	float *x = (float *)c->s->x;

	if (compares_integers(op) ? compare_row(c, x) : float_row(c, x))
		return -1;
	if (op->act)
		c->run->k->act[op->act](x, op->p0, op->p1, c->n);
	return uma_row_store_f32(c->run, &to, &c->s->buf, x);
}

/* Are B, C and DST of one unquantised type, so that elements are copied unchanged? */
static int moves_bits(const struct uma_op *op)
{
	const struct uma_tensor_view *d = &op->t[UMA_SLOT_DST];
	__u32 s;

	for (s = UMA_SLOT_B; s <= UMA_SLOT_C; s++)
		if (op->t[s].dtype != d->dtype || op->t[s].quant)
			return 0;
	return !d->quant;
}

static int select_row(struct ew_ctx *c)
{
	const struct uma_op *op = &c->run->prog->op;
	const struct uma_tensor_view *d = &op->t[UMA_SLOT_DST];
	struct uma_row ra = row_of(c, UMA_SLOT_A), rb = row_of(c, UMA_SLOT_B);
	struct uma_row rc = row_of(c, UMA_SLOT_C), to = row_of(c, UMA_SLOT_DST);
	int move = moves_bits(op);
	__u32 es = move ? uma_wide_size(d->dtype) : 4, i;
	__u8 *out = (__u8 *)c->s->wide;
	const __u8 *yes, *no;
	const __u32 *cond;

	cond = (const __u32 *)uma_row_f32(c->run, &ra, &c->s->buf, (float *)c->s->x);
	if (!cond)
		return -1;
	if (move) {
		yes = uma_gather(c->run, UMA_SLOT_B, &op->t[UMA_SLOT_B], rb.off,
				 rb.stride, c->n, c->s->buf2.raw);
		no = yes ? uma_gather(c->run, UMA_SLOT_C, &op->t[UMA_SLOT_C], rc.off,
				      rc.stride, c->n, c->s->buf3.raw) : 0;
	} else {
		yes = (const __u8 *)uma_row_f32(c->run, &rb, &c->s->buf2,
						(float *)c->s->y);
		no = yes ? (const __u8 *)uma_row_f32(c->run, &rc, &c->s->buf3,
						     (float *)c->s->z) : 0;
	}
	if (!no)
		return -1;
	/* Zero of either sign is false; all else, NaN included, is true. */
	for (i = 0; i < c->n; i++)
		__builtin_memcpy(out + (__u64)i * es,
				 (cond[i] << 1 ? yes : no) + (__u64)i * es, es);
	return move ? uma_scatter(c->run, UMA_SLOT_DST, d, to.off, to.stride, c->n, out) :
		      uma_row_store_f32(c->run, &to, &c->s->buf, (const float *)out);
}

static int run_row(struct ew_ctx *c)
{
	const struct uma_op *op = &c->run->prog->op;

	switch (op->opcode) {
	case UMA_OP_COPY:
		return copy_row(c);
	case UMA_OP_FILL:
		return fill_row(c);
	case UMA_OP_UNARY:
		return uma_op_exact(op) ? exact_row(c) : unary_row(c);
	case UMA_OP_SELECT:
		return select_row(c);
	default:
		return uma_op_exact(op) ? exact_row(c) : binary_row(c);
	}
}

static void seek(struct ew_ctx *c, __u64 row)
{
	__u32 i;

	c->cut = row % c->p->cuts;
	row /= c->p->cuts;
	for (i = c->p->loops - 1u; i-- > 0;) {
		c->at[i] = row % c->p->loop[i].size;
		row /= c->p->loop[i].size;
	}
}

static void next(struct ew_ctx *c)
{
	__u32 i;

	if (++c->cut < c->p->cuts)
		return;
	c->cut = 0;
	for (i = c->p->loops - 1u; i-- > 0;) {
		if (++c->at[i] < c->p->loop[i].size)
			return;
		c->at[i] = 0;
	}
}

static int ew_step(struct uma_run *run, __u32 phase, __u32 tile, __u32 *step)
{
	const struct ew_plan *p = (const void *)run->prog->priv;
	__u64 first = (__u64)tile * p->tile_rows;
	__u64 end = UMA_MIN(first + p->tile_rows, p->rows);
	__u64 row = first + (__u64)*step * p->step_rows;
	__u64 stop = UMA_MIN(row + p->step_rows, end);
	__u32 last = p->loops - 1u;
	struct ew_ctx c = {
		.run = run,
		.p = p,
		.s = (struct ew_scratch *)run->scratch,
	};
	__u32 i;

	(void)phase;
	(*step)++;
	for (seek(&c, row); row < stop; row++, next(&c)) {
		__u64 at = c.cut * p->row;

		c.n = (__u32)UMA_MIN(p->row, p->loop[last].size - at);
		if (p->tables) {
			for (i = 0; i < last; i++)
				c.idx[p->axis[i]] = (__u32)c.at[i];
			c.idx[p->axis[last]] = (__u32)at;
		}
		if (run_row(&c))
			return -1;
	}
	return stop < end;
}

/* --- the classes ---------------------------------------------------------- */

static int fill_decode(const void *params, struct uma_op *op, __u32 *used,
		       struct uma_fault_info *fault)
{
	const struct uma_fill_params *p = params;

	(void)fault;
	op->value = uma_le32(p->value);
	*used = 4;
	return 0;
}

static int func_decode(const void *params, struct uma_op *op, __u32 *used, __u32 count,
		       struct uma_fault_info *fault)
{
	const struct uma_elementwise_params *p = params;

	op->func = uma_le32(p->func);
	*used = 4;
	if (op->func >= count)
		return uma_set_fault(fault, UMA_FAULT_PARAMS, UMA_FAULT_NO_SLOT,
				     "params.func");
	return 0;
}

static int unary_decode(const void *params, struct uma_op *op, __u32 *used,
			struct uma_fault_info *fault)
{
	return func_decode(params, op, used, UMA_UNARY_COUNT, fault);
}

static int binary_decode(const void *params, struct uma_op *op, __u32 *used,
			 struct uma_fault_info *fault)
{
	return func_decode(params, op, used, UMA_BINARY_COUNT, fault);
}

static int select_decode(const void *params, struct uma_op *op, __u32 *used,
			 struct uma_fault_info *fault)
{
	const struct uma_select_params *p = params;

	(void)op;
	*used = 4;
	if (p->flags)
		return uma_set_fault(fault, UMA_FAULT_FLAGS, UMA_FAULT_NO_SLOT,
				     "params.flags");
	return 0;
}

static __u32 ew_funcs(const struct uma_op *op)
{
	return 1u << op->func;
}

const struct uma_op_class uma_op_copy = {
	.slots = UMA_SLOT_BIT(DST) | UMA_SLOT_BIT(A),
	.outputs = UMA_SLOT_BIT(DST),
	.in_place = UMA_SLOT_BIT(A),
	.blocks = UMA_SLOT_BIT(A),
	.flags = UMA_CLASS_SAME_RANK,
	.match = uma_elementwise_match,
	.prepare = ew_prepare,
	.step = ew_step,
};

const struct uma_op_class uma_op_fill = {
	.slots = UMA_SLOT_BIT(DST),
	.outputs = UMA_SLOT_BIT(DST),
	.flags = UMA_CLASS_SAME_RANK,
	.decode = fill_decode,
	.match = uma_fill_match,
	.prepare = ew_prepare,
	.step = ew_step,
};

const struct uma_op_class uma_op_unary = {
	.slots = UMA_SLOT_BIT(DST) | UMA_SLOT_BIT(A),
	.outputs = UMA_SLOT_BIT(DST),
	.in_place = UMA_SLOT_BIT(A),
	.flags = UMA_CLASS_ACT | UMA_CLASS_SAME_RANK,
	.decode = unary_decode,
	.match = uma_elementwise_match,
	.funcs = ew_funcs,
	.prepare = ew_prepare,
	.step = ew_step,
};

const struct uma_op_class uma_op_binary = {
	.slots = UMA_SLOT_BIT(DST) | UMA_SLOT_BIT(A) | UMA_SLOT_BIT(B),
	.outputs = UMA_SLOT_BIT(DST),
	.in_place = UMA_SLOT_BIT(A) | UMA_SLOT_BIT(B),
	.flags = UMA_CLASS_ACT | UMA_CLASS_SAME_RANK,
	.decode = binary_decode,
	.match = uma_elementwise_match,
	.funcs = ew_funcs,
	.prepare = ew_prepare,
	.step = ew_step,
};

const struct uma_op_class uma_op_select = {
	.slots = UMA_SLOT_BIT(DST) | UMA_SLOT_BIT(A) | UMA_SLOT_BIT(B) | UMA_SLOT_BIT(C),
	.outputs = UMA_SLOT_BIT(DST),
	.in_place = UMA_SLOT_BIT(A) | UMA_SLOT_BIT(B) | UMA_SLOT_BIT(C),
	.like_b = UMA_SLOT_BIT(C),
	.flags = UMA_CLASS_SAME_RANK,
	.decode = select_decode,
	.match = uma_elementwise_match,
	.prepare = ew_prepare,
	.step = ew_step,
};

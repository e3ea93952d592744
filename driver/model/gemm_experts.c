// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * GEMM with UMA_GEMM_EXPERTS: the number of rows that each matrix of B is multiplied with
 * is read when the task runs. The product with each matrix is a separate GEMM, on parts
 * of the operands.
 */
#include "uma_internal.h"

/* Number of table entries that are read at a time */
#define COUNTS		256u

_Static_assert(COUNTS <= UMA_ROW_MAX, "counts are read into the memory of a row");

/*
 * Clamp the number of rows of a matrix to those that are left, so that any content of the
 * table is safe.
 */
__u32 uma_expert_rows(__s32 count, __u32 left)
{
	return count < 0 ? 0 : UMA_MIN((__u32)count, left);
}

/* Unsigned, as it may wrap: the strides of an operand without elements are not checked. */
static void move_operand(struct uma_tensor_view *t, __u32 dim, __u32 index)
{
	struct uma_dtype_block least = uma_dtype_block(t->dtype);
	__s64 elements = (__s64)(index * (__u64)t->strides[dim]);

	t->addr += (__u64)(elements >> least.shift) * least.bytes;
}

static void move_tables(struct uma_tensor_view *t, __u64 entries)
{
	__u64 bytes = entries * (uma_dtype_bits(t->scale_dtype) / 8);

	t->scale_addr += bytes;
	if (t->zero_addr)
		t->zero_addr += entries * 4;
	if (t->min_addr)
		t->min_addr += bytes;
}

/* Move the tables along with the rows of A, if rows have entries of their own. */
static void move_a(struct uma_tensor_view *a, __u32 first)
{
	if (a->quant == UMA_QUANT_CHANNEL)
		move_tables(a, first);
	else if (a->quant == UMA_QUANT_GROUP && uma_table_dim(a, 1) > 1)
		move_tables(a, first * uma_table_dim(a, 2));
}

static void move_b(struct uma_tensor_view *b, const struct uma_op_cap *cap, __u32 expert)
{
	__u64 entries = b->quant == UMA_QUANT_GROUP && uma_table_dim(b, 0) > 1 ?
			uma_table_dim(b, 1) * uma_table_dim(b, 2) : 0;

	move_tables(b, expert * entries);
	b->dims[0] = 1;
	if (b->layout == UMA_LAYOUT_STRIDED)
		move_operand(b, 0, expert);
	else
		b->addr += expert * (uma_packed_size(b, b->layout, uma_le16(cap->block_k),
						     uma_le16(cap->block_n)) -
				     sizeof(struct uma_packed_header));
}

/**
 * uma_expert_op - reduce an operation to the GEMM with one matrix of B
 * @op: operation on all matrices, checked; replaced by the result
 * @cap: capability row
 * @expert: index of the matrix
 * @first: first row of A that belongs to the matrix
 * @rows: number of these rows
 *
 * A packed B loses its header, which has been checked and belongs to all matrices.
 */
void uma_expert_op(struct uma_op *op, const struct uma_op_cap *cap, __u32 expert, __u32 first,
		   __u32 rows)
{
	__u32 s;

	op->experts = 0;
	op->headless = 1;
	op->slots &= ~UMA_SLOT_BIT(AUX0);
	for (s = 0; s <= UMA_SLOT_RESIDUAL; s++) {
		struct uma_tensor_view *t = &op->t[s];

		if (!uma_has(op, s) || s == UMA_SLOT_B)
			continue;
		if (s == UMA_SLOT_A)
			move_a(t, first);
		/* Bias and scale exist for each matrix, or for each row. */
		if (t->dims[0] > 1)
			move_operand(t, 0, expert);
		else
			move_operand(t, 1, first);
		t->dims[0] = 1;
		t->dims[1] = rows;
	}
	move_b(&op->t[UMA_SLOT_B], cap, expert);
}

/* Check the table, and B, bias and scale against DST. */
int uma_experts_match(const struct uma_op *op, struct uma_fault_info *fault)
{
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A], *b = &op->t[UMA_SLOT_B];
	const struct uma_tensor_view *d = &op->t[UMA_SLOT_DST], *rows = &op->t[UMA_SLOT_AUX0];
	__u32 s, i;

	if (d->rank != 3)
		return uma_set_fault(fault, UMA_FAULT_RANK, UMA_SLOT_DST, "rank");
	if (d->dims[0] != 1)
		return uma_set_fault(fault, UMA_FAULT_DIMS, UMA_SLOT_DST, "dims");
	if (b->dims[0] > UMA_GEMM_EXPERTS_MAX)
		return uma_set_fault(fault, UMA_FAULT_DIMS, UMA_SLOT_B, "dims");
	/* Matrices must begin on whole bytes and blocks. */
	if (b->dims[0] > 1 &&
	    ((__u64)b->strides[0] & ((1u << uma_dtype_block(b->dtype).shift) - 1)))
		return uma_set_fault(fault, UMA_FAULT_STRIDES, UMA_SLOT_B, "strides");
	if (a->quant == UMA_QUANT_GROUP && (a->quant_flags & UMA_QUANT_SWAPPED))
		return uma_set_fault(fault, UMA_FAULT_QUANT, UMA_SLOT_A, "quant_flags");
	for (s = UMA_SLOT_BIAS; s <= UMA_SLOT_SCALE; s++) {
		const struct uma_tensor_view *t = &op->t[s];

		if (!uma_has(op, s))
			continue;
		for (i = 0; i < 3; i++)
			if (t->dims[i] != d->dims[i] && (i || t->dims[0] != b->dims[0]))
				return uma_set_fault(fault, UMA_FAULT_DIMS, s, "dims");
	}
	if (rows->dtype != UMA_DTYPE_S32)
		return uma_set_fault(fault, UMA_FAULT_DTYPE, UMA_SLOT_AUX0, "dtype");
	if (rows->quant)
		return uma_set_fault(fault, UMA_FAULT_QUANT, UMA_SLOT_AUX0, "quant");
	if (rows->rank != 1)
		return uma_set_fault(fault, UMA_FAULT_RANK, UMA_SLOT_AUX0, "rank");
	if (rows->dims[0] != b->dims[0])
		return uma_set_fault(fault, UMA_FAULT_DIMS, UMA_SLOT_AUX0, "dims");
	return 0;
}

/* Upper bound of the blocks of rows: each matrix may have an incomplete last one. */
__u32 uma_experts_blocks(const struct uma_op *op, __u32 mtiles)
{
	return mtiles + UMA_MIN(op->t[UMA_SLOT_B].dims[0], op->t[UMA_SLOT_DST].dims[1]);
}

/*
 * Prepare the program of the matrix that block @block of rows belongs to, counted over
 * all matrices. It stays in scratch memory for all steps of the tile.
 *
 * Return: 1, 0 if there is no such block, -1 with the fault set.
 */
int uma_experts_open(struct uma_run *run, __u32 block, __u32 col)
{
	const struct uma_program *all = run->prog;
	const struct uma_gemm_plan *plan = (const void *)all->priv;
	const struct uma_tensor_view *table = &all->op.t[UMA_SLOT_AUX0];
	struct uma_gemm_scratch *s = (void *)run->scratch;
	__u32 e, first = 0, rows, blocks, left = plan->m;
	const __s32 *counts = 0;

	for (e = 0; e < table->dims[0] && left; e++) {
		if (e % COUNTS == 0)
			counts = uma_gather(run, UMA_SLOT_AUX0, table, e * table->strides[0],
					    table->strides[0],
					    UMA_MIN(COUNTS, table->dims[0] - e), s->buf.raw);
		if (!counts)
			return -1;
		/* Read once, since others may write to the table. */
		rows = uma_expert_rows(__atomic_load_n(&counts[e % COUNTS], __ATOMIC_RELAXED),
				       left);
		blocks = (__u32)uma_divup(rows, plan->mt);
		if (block >= blocks) {
			block -= blocks;
			first += rows;
			left -= rows;
			continue;
		}
		s->prog = *all;
		uma_expert_op(&s->prog.op, &all->engine->caps[all->row], e, first, rows);
		((struct uma_gemm_plan *)s->prog.priv)->m = rows;
		s->tile = block * plan->ntiles + col;
		return 1;
	}
	return 0;
}

// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * TOPK: the k largest or smallest elements of each line, in order, and their positions.
 *
 * A line is read in rounds of up to ROUND results. Each round keeps the best elements
 * after the last result of the previous round in a heap whose root is the worst of them,
 * and then removes them from the heap, the worst first, one chunk of results in each unit
 * of work. Entries of the heap are ranks: the order of the element in the upper bits, the
 * position in the lower, so that all are different and earlier positions are better.
 */
#include "uma_lines.h"

/* Cost of an element in multiply-adds, if its stride is 0 or 1; for sifting in the heap */
#define COST		80u
/* Largest number of results of a round, a multiple of UMA_ROW_MAX */
#define ROUND		16384u

struct topk_scratch {
	__u64 heap[ROUND];
	/* Number of results of this round, and of elements in the heap */
	__u32 want;
	__u32 count;
	/* Elements with a higher rank are results of previous rounds. */
	__u64 limit;
	float x[UMA_ROW_MAX];
	__s64 at[UMA_ROW_MAX];
	__s64 wide[UMA_ROW_MAX];
	float one[2];
	struct uma_rowbuf buf;
};

_Static_assert(sizeof(struct topk_scratch) <= UMA_SCRATCH_SIZE, "scratch");

/* --- ranks ---------------------------------------------------------------- */

/* A higher rank is better. NaN is above all numbers, zeros are equal. */
static __u64 rank_of(__s32 key, __u64 at, int smallest)
{
	__u32 order = (__u32)key ^ UMA_F32_SIGN;

	return (__u64)(smallest ? ~order : order) << 32 | (__u32)~at;
}

static __u64 rank_at(__u64 rank)
{
	return (__u32)~rank;
}

static __s32 key_f32(const float *x)
{
	__u32 bits;

	__builtin_memcpy(&bits, x, 4);
	if (uma_f32_is_nan(bits))
		return 0x7fffffff;
	return bits == UMA_F32_SIGN ? 0 : uma_f32_key(bits);
}

/* --- the heap: no parent is larger than its children --------------------------- */

static void sift_up(__u64 *heap, __u32 i)
{
	__u64 v = heap[i];

	while (i && heap[(i - 1) / 2] > v) {
		heap[i] = heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	heap[i] = v;
}

static void sift_down(__u64 *heap, __u32 count, __u64 v)
{
	__u32 i = 0, child;

	while ((child = 2 * i + 1) < count) {
		if (child + 1 < count && heap[child + 1] < heap[child])
			child++;
		if (heap[child] >= v)
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = v;
}

static void offer(struct topk_scratch *s, __u64 rank)
{
	if (rank > s->limit)
		return;
	if (s->count < s->want) {
		s->heap[s->count] = rank;
		sift_up(s->heap, s->count++);
	} else if (rank > s->heap[0]) {
		sift_down(s->heap, s->count, rank);
	}
}

/* Remove the worst element from the heap. */
static __u64 take(struct topk_scratch *s)
{
	__u64 worst = s->heap[0];

	/* The elements changed between two rounds: return any. */
	if (!s->count)
		return (__u32)~0u;
	s->count--;
	if (s->count)
		sift_down(s->heap, s->count, s->heap[s->count]);
	return worst;
}

/* --- units of work -------------------------------------------------------------- */

static int is_smallest(const struct uma_op *op)
{
	return !!(op->u.lines.flags & UMA_TOPK_SMALLEST);
}

static int topk_read(struct uma_line *l, struct topk_scratch *s)
{
	const struct uma_op *op = &l->run->prog->op;
	int smallest = is_smallest(op);
	const __s32 *v;
	__u32 i;

	if (uma_line_plain(op, UMA_SLOT_A)) {
		v = uma_line_ints(l, UMA_SLOT_A, &s->buf);
		if (!v)
			return -1;
		for (i = 0; i < l->n; i++)
			offer(s, rank_of(v[i], l->at + i, smallest));
		return 0;
	}
	if (uma_line_load(l, UMA_SLOT_A, &s->buf, s->x))
		return -1;
	for (i = 0; i < l->n; i++)
		offer(s, rank_of(key_f32(s->x + i), l->at + i, smallest));
	return 0;
}

/* Load the elements at s->at again, one by one: values to s->x, or integers to s->wide. */
static int topk_values(struct uma_line *l, struct topk_scratch *s, __u32 n, int ints)
{
	__u32 axis = l->lines->inner;
	const __s32 *v;
	__u32 i;

	l->n = 1;
	for (i = 0; i < n; i++) {
		l->idx[axis] = (__u32)s->at[i];
		if (ints) {
			v = uma_line_ints(l, UMA_SLOT_A, &s->buf);
			if (!v)
				return -1;
			s->wide[i] = v[0];
			continue;
		}
		if (uma_line_load(l, UMA_SLOT_A, &s->buf, s->one))
			return -1;
		__builtin_memcpy(s->x + i, s->one, 4);
	}
	return 0;
}

/* Store the @n worst elements of the heap as results @first to @first + @n of the line. */
static int topk_write(struct uma_line *l, struct topk_scratch *s, __u32 first, __u32 n)
{
	const struct uma_op *op = &l->run->prog->op;
	int ints = uma_line_plain(op, UMA_SLOT_A) && uma_line_plain(op, UMA_SLOT_DST);
	struct uma_row row;
	__u32 i;

	for (i = n; i-- > 0;)
		s->at[i] = (__s64)rank_at(take(s));
	if (topk_values(l, s, n, ints))
		return -1;
	l->n = n;
	l->idx[l->lines->inner] = first;
	row = uma_line_row(l, UMA_SLOT_DST);
	if (ints ? uma_row_store_s64(l->run, &row, &s->buf, s->wide) :
		   uma_row_store_f32(l->run, &row, &s->buf, s->x))
		return -1;
	row = uma_line_row(l, UMA_SLOT_AUX0);
	return uma_row_store_s64(l->run, &row, &s->buf, s->at);
}

static __u32 topk_k(const struct uma_op *op, const struct uma_lines *lines)
{
	return op->t[UMA_SLOT_DST].dims[lines->inner];
}

/* Number of units of a round: chunks of the line, then chunks of the results */
static __u64 round_units(const struct uma_lines *lines, __u32 k)
{
	return lines->chunks + uma_divup(UMA_MIN(k, ROUND), UMA_ROW_MAX);
}

static int topk_unit(struct uma_line *l)
{
	struct topk_scratch *s = (struct topk_scratch *)l->run->scratch;
	__u32 k = topk_k(&l->run->prog->op, l->lines);
	__u64 units = round_units(l->lines, k);
	__u64 round = l->unit / units, at = l->unit % units;
	__u32 done = (__u32)(round * ROUND);
	__u32 first;

	if (!at) {
		if (!round)
			s->limit = ~0ULL;
		s->want = UMA_MIN(k - done, ROUND);
		s->count = 0;
	}
	if (at < l->lines->chunks) {
		uma_line_chunk(l, at);
		if (topk_read(l, s))
			return -1;
		/* The next round continues after the worst result of this one. */
		if (at + 1 == l->lines->chunks)
			s->limit = s->count ? s->heap[0] - 1 : 0;
		return 0;
	}
	at = units - 1 - at;
	first = (__u32)at * UMA_ROW_MAX;
	/* The last round may have fewer results than ROUND. */
	if (first >= s->want)
		return 0;
	return topk_write(l, s, done + first, UMA_MIN(s->want - first, UMA_ROW_MAX));
}

static int topk_step(struct uma_run *run, __u32 phase, __u32 tile, __u32 *step)
{
	(void)phase;
	return uma_lines_step(run, tile, step, topk_unit);
}

static int topk_prepare(struct uma_run *run, struct uma_program *prog)
{
	const struct uma_lines *l = (const void *)prog->priv;
	__u32 k;

	(void)run;
	uma_lines_prepare(prog, 0, COST);
	if (!prog->phase_count)
		return 0;
	k = topk_k(&prog->op, l);
	uma_lines_units(prog, uma_divup(k, ROUND) * round_units(l, k));
	return 0;
}

static int topk_decode(const void *params, struct uma_op *op, __u32 *used,
		       struct uma_fault_info *fault)
{
	const struct uma_topk_params *p = params;

	op->u.lines.flags = uma_le32(p->flags);
	*used = 8;
	if (op->u.lines.flags & ~UMA_TOPK_FLAGS_MASK)
		return uma_set_fault(fault, UMA_FAULT_FLAGS, UMA_FAULT_NO_SLOT,
				     "params.flags");
	return uma_line_decode_axis(uma_le32(p->axis), op, fault);
}

static int topk_match(const struct uma_op *op, struct uma_fault_info *fault)
{
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A], *dst = &op->t[UMA_SLOT_DST];
	const struct uma_tensor_view *at = &op->t[UMA_SLOT_AUX0];
	__u32 d;

	if (uma_line_match(op, "params.axis", fault) ||
	    uma_match_dims(op, UMA_SLOT_AUX0, dst->rank, fault))
		return -1;
	for (d = 0; d < dst->rank; d++)
		if (op->u.lines.axes >> d & 1 ? dst->dims[d] > a->dims[d] :
						dst->dims[d] != a->dims[d])
			return uma_set_fault(fault, UMA_FAULT_DIMS, UMA_SLOT_DST, "dims");
	if (at->dtype != UMA_DTYPE_S32)
		return uma_set_fault(fault, UMA_FAULT_DTYPE, UMA_SLOT_AUX0, "dtype");
	if (at->quant)
		return uma_set_fault(fault, UMA_FAULT_QUANT, UMA_SLOT_AUX0, "quant");
	return 0;
}

const struct uma_op_class uma_op_topk = {
	.slots = UMA_SLOT_BIT(DST) | UMA_SLOT_BIT(A) | UMA_SLOT_BIT(AUX0),
	.outputs = UMA_SLOT_BIT(DST) | UMA_SLOT_BIT(AUX0),
	.fixed = UMA_SLOT_BIT(AUX0),
	.flags = UMA_CLASS_SAME_RANK,
	.decode = topk_decode,
	.match = topk_match,
	.k = uma_line_k,
	.prepare = topk_prepare,
	.step = topk_step,
};

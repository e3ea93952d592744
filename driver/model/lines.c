// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Lines: division of a task into lines, the loop over their units of work, and code for
 * chunks that the operations share.
 */
#include "uma_lines.h"

/* Cost of a chunk, and of an element with a stride other than 0 or 1 */
#define CHUNK_COST	768u
#define FAR_COST	48u
/* Number of elements of a tile, at least a line */
#define TILE_ELEMENTS	65536u

static struct uma_lines *lines_of(struct uma_program *prog)
{
	return (struct uma_lines *)prog->priv;
}

/* Length of a line, limited by &struct uma_op_cap.k_max; saturates */
__u64 uma_line_k(const struct uma_op *op)
{
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A];
	__u64 k = 1;
	__u32 d;

	for (d = 0; d < a->rank; d++)
		if ((op->u.lines.axes >> d & 1) &&
		    __builtin_mul_overflow(k, (__u64)a->dims[d], &k))
			return ~0ULL;
	return k;
}

/* Store the index of a dimension as a mask with that dimension. */
int uma_line_decode_axis(__u32 axis, struct uma_op *op, struct uma_fault_info *fault)
{
	if (axis >= UMA_MAX_RANK)
		return uma_set_fault(fault, UMA_FAULT_PARAMS, UMA_FAULT_NO_SLOT,
				     "params.axis");
	op->u.lines.axes = 1u << axis;
	return 0;
}

/*
 * Checks for all operations: the mask must not be empty nor name dimensions that do not
 * exist, and lines of DST must not share bytes.
 */
int uma_line_match(const struct uma_op *op, const char *field, struct uma_fault_info *fault)
{
	if (!op->u.lines.axes || op->u.lines.axes >> op->t[UMA_SLOT_DST].rank)
		return uma_set_fault(fault, UMA_FAULT_PARAMS, UMA_FAULT_NO_SLOT, field);
	if (uma_is_int4(op->t[UMA_SLOT_DST].dtype))
		return uma_set_fault(fault, UMA_FAULT_DTYPE, UMA_SLOT_DST, "dtype");
	return 0;
}

/* Is the operand of integers that are not quantised? */
int uma_line_plain(const struct uma_op *op, __u32 slot)
{
	return !uma_is_float(op->t[slot].dtype) && !op->t[slot].quant;
}

static int has_tables(const struct uma_op *op)
{
	__u32 s;

	for (s = 0; s < UMA_TASK_SLOTS; s++)
		if (uma_has(op, s) && op->t[s].quant >= UMA_QUANT_CHANNEL)
			return 1;
	return 0;
}

/* Are the strides of @outer and @inner those of a single dimension, for all @slots? */
static int nests(const struct uma_op *op, __u32 slots, __u32 outer, __u32 inner,
		 __u32 size)
{
	__s64 step;
	__u32 s;

	for (s = 0; s < UMA_TASK_SLOTS; s++) {
		if (!uma_has(op, s) || !(slots >> s & 1))
			continue;
		if (__builtin_mul_overflow(op->t[s].strides[inner], (__s64)size, &step) ||
		    step != op->t[s].strides[outer])
			return 0;
	}
	return 1;
}

/* Merge dimensions of a line into its innermost one, as long as their strides nest. */
static void merge(const struct uma_op *op, struct uma_lines *l, __u32 slots)
{
	__u32 d;

	for (d = l->inner; d-- > 0;) {
		if (!(l->along >> d & 1) || l->size[d] == 1)
			continue;
		if (!nests(op, slots, d, l->inner, l->size[l->inner]))
			return;
		/* Does not overflow: a factor of the length of the line, which k_max limits. */
		l->size[l->inner] *= l->size[d];
		l->size[d] = 1;
	}
}

static int is_far(const struct uma_op *op, __u32 slot, __u32 dim)
{
	__s64 stride = op->t[slot].strides[dim];

	return stride != 0 && stride != 1;
}

/*
 * uma_lines_units - set the number of units of work of a line
 * @prog: program
 * @units: number of units of a line, each with the work of a chunk
 */
void uma_lines_units(struct uma_program *prog, __u64 units)
{
	struct uma_lines *l = lines_of(prog);
	__u64 step = prog->step_work / (CHUNK_COST + l->chunk * l->cost);

	l->units = units;
	l->step_units = prog->step_work == UMA_STEP_WORK_UNBOUND ? ~0ULL : UMA_MAX(step, 1);
}

/*
 * uma_lines_prepare - divide a task into lines
 * @prog: program; the mask of dimensions is in its operation
 * @slots: mask of operands that are accessed along the line
 * @cost: cost of an element, in multiply-adds
 *
 * A line has a unit for each chunk, unless uma_lines_units() changes that.
 */
void uma_lines_prepare(struct uma_program *prog, __u32 slots, __u32 cost)
{
	const struct uma_op *op = &prog->op;
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A];
	struct uma_lines *l = lines_of(prog);
	__u32 d, s;

	*l = (struct uma_lines){
		.along = op->u.lines.axes, .cost = cost, .count = 1, .n = 1
	};
	if (uma_tensor_empty(&op->t[UMA_SLOT_DST]))
		return;
	for (d = 0; d < a->rank; d++) {
		l->size[d] = a->dims[d];
		if (!(l->along >> d & 1)) {
			/* Does not overflow: there are no more lines than elements of DST. */
			l->count *= a->dims[d];
			continue;
		}
		l->n *= a->dims[d];
		if (a->dims[d] != 1 || !(l->along >> l->inner & 1) || l->size[l->inner] == 1)
			l->inner = d;
	}
	if (l->n && !has_tables(op))
		merge(op, l, slots);
	l->chunk = UMA_MAX(UMA_MIN(l->size[l->inner], UMA_ROW_MAX), 1);
	l->chunks = 1;
	l->cuts = 1;
	if (l->n) {
		l->cuts = uma_divup(l->size[l->inner], l->chunk);
		l->chunks = l->n / UMA_MAX(l->size[l->inner], 1) * l->cuts;
	}
	for (s = 0; s < UMA_TASK_SLOTS; s++)
		if (uma_has(op, s) && is_far(op, s, l->inner))
			l->cost += FAR_COST;
	l->tile_lines = UMA_MAX(TILE_ELEMENTS / UMA_MAX(l->n, 1),
				uma_divup(l->count, 0xffffffffu));
	l->tile_lines = UMA_MAX(l->tile_lines, 1);
	uma_lines_units(prog, l->chunks);
	prog->phase_count = 1;
	prog->tiles[0] = (__u32)uma_divup(l->count, l->tile_lines);
	prog->macs = uma_tensor_elements(a);
}

/* Set the logical index to the first element of a line. */
static void seek(struct uma_line *l, __u64 line)
{
	const struct uma_lines *p = l->lines;
	__u32 d;

	for (d = UMA_MAX_RANK; d-- > 0;) {
		l->idx[d] = 0;
		if (!p->size[d] || (p->along >> d & 1))
			continue;
		l->idx[d] = (__u32)(line % p->size[d]);
		line /= p->size[d];
	}
}

/* Go to a chunk of the current line. */
void uma_line_chunk(struct uma_line *l, __u64 chunk)
{
	const struct uma_lines *p = l->lines;
	__u64 cut = chunk % p->cuts, rest = chunk / p->cuts;
	__u32 d;

	l->n = 0;
	l->at = 0;
	if (!p->n)
		return;
	l->at = rest * p->size[p->inner] + cut * p->chunk;
	l->n = (__u32)UMA_MIN(p->chunk, p->size[p->inner] - cut * p->chunk);
	for (d = p->inner; d-- > 0;) {
		if (!(p->along >> d & 1) || !p->size[d])
			continue;
		l->idx[d] = (__u32)(rest % p->size[d]);
		rest /= p->size[d];
	}
	l->idx[p->inner] = (__u32)(cut * p->chunk);
}

int uma_lines_step(struct uma_run *run, __u32 tile, __u32 *step, uma_line_fn *fn)
{
	const struct uma_lines *p = (const void *)run->prog->priv;
	__u64 first = tile * p->tile_lines;
	__u64 all = UMA_MIN(p->tile_lines, p->count - first) * p->units;
	__u64 unit = p->step_units == ~0ULL ? 0 : *step * p->step_units;
	__u64 stop = UMA_MIN(all - unit, p->step_units) + unit;
	__u64 line = first + unit / p->units;
	struct uma_line l = {
		.run = run,
		.lines = p,
		.unit = unit % p->units,
	};

	(*step)++;
	for (; unit < stop; unit++) {
		seek(&l, line);
		if (fn(&l))
			return -1;
		if (++l.unit == p->units) {
			l.unit = 0;
			line++;
		}
	}
	return stop < all;
}

struct uma_row uma_line_row(const struct uma_line *l, __u32 slot)
{
	const struct uma_tensor_view *t = &l->run->prog->op.t[slot];

	return (struct uma_row){
		.slot = slot,
		.off = uma_tensor_offset(t, l->idx),
		.stride = t->strides[l->lines->inner],
		.n = l->n,
		.idx = l->idx,
		.axis = l->lines->inner,
	};
}

/* Load the values of a chunk to @x, never in place. */
int uma_line_load(struct uma_line *l, __u32 slot, struct uma_rowbuf *buf, float *x)
{
	struct uma_row row = uma_line_row(l, slot);
	const float *v;

	if (!l->n)
		return 0;
	v = uma_row_f32(l->run, &row, buf, x);
	if (!v)
		return -1;
	if (v != x)
		__builtin_memcpy(x, v, 4ul * l->n);
	return 0;
}

/* Load the integers of a chunk, which is not empty; valid until the next use of @buf. */
const __s32 *uma_line_ints(struct uma_line *l, __u32 slot, struct uma_rowbuf *buf)
{
	struct uma_row row = uma_line_row(l, slot);

	return uma_row_s32(l->run, &row, buf);
}

/* x[i] = f(x[i], operand[i]) for a chunk */
int uma_line_combine(struct uma_line *l, __u32 slot, __u32 func, struct uma_rowbuf *buf,
		     float *x, float *tmp)
{
	struct uma_row row = uma_line_row(l, slot);
	const float *v = uma_row_f32(l->run, &row, buf, tmp);

	if (!v)
		return -1;
	l->run->k->binary[func](x, x, v, l->n);
	return 0;
}

/* Apply the epilogue to a chunk, except for the store. */
int uma_line_finish(struct uma_line *l, struct uma_rowbuf *buf, float *x, float *tmp)
{
	const struct uma_op *op = &l->run->prog->op;

	if ((op->epi_flags & UMA_EPI_SCALE) &&
	    uma_line_combine(l, UMA_SLOT_SCALE, UMA_BINARY_MUL, buf, x, tmp))
		return -1;
	if ((op->epi_flags & UMA_EPI_BIAS) &&
	    uma_line_combine(l, UMA_SLOT_BIAS, UMA_BINARY_ADD, buf, x, tmp))
		return -1;
	if ((op->epi_flags & UMA_EPI_RESIDUAL) &&
	    uma_line_combine(l, UMA_SLOT_RESIDUAL, UMA_BINARY_ADD, buf, x, tmp))
		return -1;
	if (op->act)
		l->run->k->act[op->act](x, op->p0, op->p1, l->n);
	if (op->epi_flags & UMA_EPI_RESIDUAL_POST)
		return uma_line_combine(l, UMA_SLOT_RESIDUAL, UMA_BINARY_ADD, buf, x, tmp);
	return 0;
}

/* Apply the epilogue to a chunk and store it. */
int uma_line_epilogue(struct uma_line *l, struct uma_rowbuf *buf, float *x, float *tmp)
{
	struct uma_row row = uma_line_row(l, UMA_SLOT_DST);

	if (uma_line_finish(l, buf, x, tmp))
		return -1;
	return uma_row_store_f32(l->run, &row, buf, x);
}

/* --- order ---------------------------------------------------------------- */

void uma_best_open(struct uma_best *b, int smallest)
{
	b->key = uma_f32_key(smallest ? UMA_F32_INF : UMA_F32_INF | UMA_F32_SIGN);
	b->nan = 0;
}

void uma_best_row(struct uma_best *b, const float *x, __u32 n, int smallest)
{
	__s32 key = b->key, v;
	__u32 nan = 0, bits, i;

	for (i = 0; i < n; i++) {
		__builtin_memcpy(&bits, x + i, 4);
		nan |= (__u32)uma_f32_is_nan(bits);
		v = uma_f32_key(bits);
		key = (smallest ? v < key : v > key) ? v : key;
	}
	b->key = key;
	b->nan |= nan;
}

/* The largest number as binary32 bits; NaN if there was one */
__u32 uma_best_bits(const struct uma_best *b)
{
	return b->nan ? UMA_F32_NAN : (__u32)uma_f32_key((__u32)b->key);
}

// SPDX-License-Identifier: MIT
/* Lines: division of an operation into lines, and the forms of operands. */
#include "lines.h"
#include "libaccel/sw/kernels/vec/quotient.h"

/* Bytes saturate at this distance from any zero point, in units of the scale */
#define SATURATED	600.0f

const struct line_kernels *line_kernels_of(const struct fast_cpu *cpu)
{
#if defined(__x86_64__)
	if (cpu->isa & FAST_AVX512)
		return &line_avx512;
	if (cpu->isa & FAST_AVX2)
		return &line_avx2;
#endif
	(void)cpu;
	return NULL;
}

/* The form of an operand's elements; false: not supported. */
bool line_form_init(struct line_form *f, const struct uma_tensor_view *t, bool sink,
		    const struct fast_cpu *cpu)
{
	*f = (struct line_form){ .dtype = t->dtype, .scale = 1 };
	if (uma_is_float(t->dtype))
		return true;
	if (!uma_is_int8(t->dtype) || t->quant > UMA_QUANT_TENSOR)
		return false;
	if (t->quant) {
		f->scale = line_float(t->scale);
		f->zero = t->zero;
	}
	if (!sink)
		return true;
	if (f->scale == 1)
		f->times = 1;
	else if (!(cpu->isa & FAST_AVX512) || f->scale < 1 / 0x1p60f || f->scale > 0x1p60f ||
		 !fast_quotient(f->scale, &f->times, &f->rest))
		f->times = 0;
	f->most = f->times != 0 ? SATURATED * f->scale : SATURATED;
	return true;
}

/* Also 32-bit integers */
bool line_form_any(struct line_form *f, const struct uma_tensor_view *t, bool sink,
		   const struct fast_cpu *cpu)
{
	if (t->dtype != UMA_DTYPE_S32 || t->quant)
		return line_form_init(f, t, sink, cpu);
	*f = (struct line_form){ .dtype = t->dtype, .scale = 1 };
	return true;
}

/*
 * Can elements of @a be copied to @d bit by bit? This includes bytes with the same scale: the
 * error of dequantising and quantising again is far less than half a unit.
 */
bool line_same_bits(const struct uma_tensor_view *a, const struct uma_tensor_view *d)
{
	const float scale = line_float(a->scale);

	if (uma_same_format(a, d))
		return true;
	return a->dtype == d->dtype && uma_is_int8(a->dtype) && a->quant == UMA_QUANT_TENSOR &&
	       d->quant == UMA_QUANT_TENSOR && a->scale == d->scale && a->zero == d->zero &&
	       scale > 1 / 0x1p100f && scale < 0x1p100f;
}

/* --- nests ------------------------------------------------------------------------- */

static uint64_t magnitude(int64_t v)
{
	return v < 0 ? -(uint64_t)v : (uint64_t)v;
}

/* Can the loops @outer and @inner be merged for all operands? */
static bool merges(const struct line_nest *nest, uint32_t outer, const int64_t *stride,
		   uint64_t size)
{
	uint32_t o;

	for (o = 0; o < nest->count; o++)
		if (nest->stride[outer][o] != stride[o] * (int64_t)size)
			return false;
	return nest->size[outer] * size <= UINT32_MAX;
}

/* Remove a loop. */
void line_nest_drop(struct line_nest *nest, uint32_t at)
{
	uint32_t i;

	for (i = at; i + 1 < nest->loops; i++) {
		nest->size[i] = nest->size[i + 1];
		memcpy(nest->stride[i], nest->stride[i + 1], sizeof(nest->stride[i]));
	}
	nest->loops--;
}

/* Add a loop for dimension @dim, outside of those with smaller strides of the first operand. */
static void add_loop(struct line_nest *nest, const struct uma_op *op, uint32_t dim)
{
	const struct uma_tensor_view *first = &op->t[nest->slot[0]];
	const uint64_t far = magnitude(first->strides[dim]);
	uint32_t i, o;

	for (i = nest->loops++; i > 0; i--) {
		if (magnitude(nest->stride[i - 1][0]) >= far)
			break;
		nest->size[i] = nest->size[i - 1];
		memcpy(nest->stride[i], nest->stride[i - 1], sizeof(nest->stride[i]));
	}
	nest->size[i] = first->dims[dim];
	for (o = 0; o < nest->count; o++) {
		const struct uma_tensor_view *t = &op->t[nest->slot[o]];

		nest->stride[i][o] = t->dims[dim] == 1 ? 0 : t->strides[dim];
	}
}

/* Use the innermost of @from's loops, and those that merge with it, as the line. */
static bool take_line(struct line_nest *nest, struct line_nest *from)
{
	int64_t stride[LINE_NEST_OPERANDS];
	uint32_t o;

	nest->n = 1;
	nest->one = 0;
	if (!from->loops)
		return true;
	nest->n = from->size[from->loops - 1];
	memcpy(stride, from->stride[from->loops - 1], sizeof(stride));
	from->loops--;
	while (from->loops && merges(from, from->loops - 1, stride, nest->n))
		nest->n *= from->size[--from->loops];
	for (o = 0; o < nest->count; o++) {
		if (stride[o] == 0 && o)
			nest->one |= 1u << o;
		else if (stride[o] != 1)
			return false;
	}
	return true;
}

/* Merge loops; then convert strides to bytes. */
static void finish(struct line_nest *nest, const struct uma_op *op)
{
	uint32_t i, o;

	for (i = nest->loops; i-- > 1;)
		if (merges(nest, i - 1, nest->stride[i], nest->size[i])) {
			nest->size[i] *= nest->size[i - 1];
			line_nest_drop(nest, i - 1);
		}
	nest->lines = 1;
	for (i = 0; i < nest->loops; i++) {
		nest->lines *= nest->size[i];
		for (o = 0; o < nest->count; o++)
			nest->stride[i][o] = fast_bytes(op->t[nest->slot[o]].dtype,
							nest->stride[i][o]);
	}
}

/* Add all dimensions as loops, without a line. */
void line_nest_loops(struct line_nest *nest, const struct uma_op *op)
{
	const struct uma_tensor_view *first = &op->t[nest->slot[0]];
	uint32_t i;

	nest->loops = nest->inner = 0;
	for (i = 0; i < first->rank; i++)
		if (first->dims[i] > 1)
			add_loop(nest, op, i);
	finish(nest, op);
}

/**
 * line_nest_stretches - find the lines of an operation, which may have loops within a line
 * @nest: count and slot are set; the first operand has all dimensions, in others they may be 1
 * @op: operation
 * @along: mask of the dimensions of a line; 0: choose the best
 *
 * Return: false: no elements of a line are contiguous.
 */
bool line_nest_stretches(struct line_nest *nest, const struct uma_op *op, uint32_t along)
{
	const struct uma_tensor_view *d = &op->t[nest->slot[0]];
	struct line_nest line = *nest;
	uint32_t i;

	nest->loops = nest->inner = line.loops = 0;
	for (i = 0; i < d->rank; i++)
		if (d->dims[i] > 1)
			add_loop(!along || along >> i & 1 ? &line : nest, op, i);
	if (!take_line(nest, &line))
		return false;
	if (!along) {
		nest->loops = line.loops;
		memcpy(nest->size, line.size, sizeof(nest->size));
		memcpy(nest->stride, line.stride, sizeof(nest->stride));
		line.loops = 0;
	}
	finish(nest, op);
	finish(&line, op);
	nest->inner = line.loops;
	for (i = 0; i < line.loops; i++) {
		nest->size[nest->loops + i] = line.size[i];
		memcpy(nest->stride[nest->loops + i], line.stride[i], sizeof(line.stride[i]));
	}
	nest->cut = nest->n;
	nest->cuts = 1;
	return true;
}

/* The same for lines whose elements must all be contiguous. */
bool line_nest_init(struct line_nest *nest, const struct uma_op *op, uint32_t along)
{
	return line_nest_stretches(nest, op, along) && !nest->inner;
}

/* Divide into tiles of about @tile elements, and also divide lines if that is allowed. */
bool line_nest_tiles(struct line_nest *nest, struct fast_prog *f, uint32_t tile)
{
	uint64_t tiles;

	nest->tile = nest->inner ? UMA_MAX(tile / line_elements(nest), 1u) :
				   UMA_MAX(tile / nest->cut, 1u);
	tiles = uma_divup(nest->lines * nest->cuts, nest->tile);
	if (tiles > UINT32_MAX)
		return false;
	f->phase_count = 1;
	f->tiles[0] = (uint32_t)tiles;
	f->max_threads = (uint32_t)UMA_MIN(tiles, 1024);
	return true;
}

/* Compute the operands' addresses from the iterations and the piece. */
static void find(const struct line_nest *nest, const struct uma_op *op, struct line_at *at)
{
	uint32_t o, i;

	for (o = 0; o < nest->count; o++) {
		const struct uma_tensor_view *t = &op->t[nest->slot[o]];
		int64_t off = nest->one >> o & 1 ? 0 :
			      fast_bytes(t->dtype, (int64_t)at->piece * nest->cut);

		for (i = 0; i < nest->loops; i++)
			off += at->round[i] * nest->stride[i][o];
		at->at[o] = (uint8_t *)fast_ptr(t) + off;
	}
	at->n = UMA_MIN(nest->cut, nest->n - at->piece * nest->cut);
}

/* Go to the first piece of a tile. Returns its number of pieces. */
uint64_t line_nest_seek(const struct line_nest *nest, const struct uma_op *op, uint32_t tile,
			struct line_at *at)
{
	const uint64_t first = tile * nest->tile, all = nest->lines * nest->cuts;
	uint64_t line = first / nest->cuts;
	uint32_t i;

	at->piece = (uint32_t)(first % nest->cuts);
	for (i = nest->loops; i-- > 0; line /= nest->size[i])
		at->round[i] = (uint32_t)(line % nest->size[i]);
	for (i = 0; i < nest->inner; i++)
		at->round[nest->loops + i] = 0;
	find(nest, op, at);
	return UMA_MIN(nest->tile, all - first);
}

/* Advance the loops from @first to before @end. Returns false if they start again. */
static bool step(const struct line_nest *nest, struct line_at *at, uint32_t first, uint32_t end)
{
	uint32_t i, o;

	for (i = end; i-- > first;) {
		for (o = 0; o < nest->count; o++)
			at->at[o] += nest->stride[i][o];
		if (++at->round[i] < nest->size[i])
			return true;
		at->round[i] = 0;
		for (o = 0; o < nest->count; o++)
			at->at[o] -= nest->stride[i][o] * (int64_t)nest->size[i];
	}
	return false;
}

/* The next piece of a nest without loops within lines. */
void line_nest_next(const struct line_nest *nest, struct line_at *at)
{
	step(nest, at, 0, nest->loops);
}

/* The next stretch of the line. Returns false if there is none; @at is at the first again then. */
bool line_nest_stretch(const struct line_nest *nest, struct line_at *at)
{
	return step(nest, at, nest->loops, (uint32_t)nest->loops + nest->inner);
}

/* --- epilogues --------------------------------------------------------------------- */

static bool add_step(struct line_map *m, uint32_t func, uint32_t operand)
{
	if (m->count == LINE_STEPS)
		return false;
	m->step[m->count++] = (struct line_step){ .func = func, .operand = operand };
	return true;
}

/**
 * line_step_operand - add a step with a second operand
 * @m: steps so far
 * @nest: receives the operand
 * @f: operation
 * @func: LINE_BINARY()
 * @slot: operand
 *
 * Return: false: not supported.
 */
bool line_step_operand(struct line_map *m, struct line_nest *nest, const struct fast_prog *f,
		       uint32_t func, uint32_t slot)
{
	if (nest->count == LINE_OPERANDS ||
	    !line_form_init(&m->form[nest->count], &f->op->t[slot], false, f->cpu) ||
	    !add_step(m, func, nest->count))
		return false;
	nest->slot[nest->count++] = (uint8_t)slot;
	return true;
}

/* Add a step without an operand, with the operation's parameters. */
bool line_step_alone(struct line_map *m, const struct fast_prog *f, uint32_t func)
{
	if (!line_kernels_of(f->cpu)->has_step(func) || !add_step(m, func, 0))
		return false;
	m->step[m->count - 1].p[0] = line_float(f->op->p0);
	m->step[m->count - 1].p[1] = line_float(f->op->p1);
	return true;
}

/* Add the steps of an operation's epilogue. */
bool line_epilogue(struct line_map *m, struct line_nest *nest, const struct fast_prog *f)
{
	const struct uma_op *op = f->op;

	return (!(op->epi_flags & UMA_EPI_SCALE) ||
		line_step_operand(m, nest, f, LINE_BINARY(UMA_BINARY_MUL), UMA_SLOT_SCALE)) &&
	       (!(op->epi_flags & UMA_EPI_BIAS) ||
		line_step_operand(m, nest, f, LINE_BINARY(UMA_BINARY_ADD), UMA_SLOT_BIAS)) &&
	       (!(op->epi_flags & UMA_EPI_RESIDUAL) ||
		line_step_operand(m, nest, f, LINE_BINARY(UMA_BINARY_ADD), UMA_SLOT_RESIDUAL)) &&
	       (!op->act || line_step_alone(m, f, LINE_ACT(op->act))) &&
	       (!(op->epi_flags & UMA_EPI_RESIDUAL_POST) ||
		line_step_operand(m, nest, f, LINE_BINARY(UMA_BINARY_ADD), UMA_SLOT_RESIDUAL));
}

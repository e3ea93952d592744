// SPDX-License-Identifier: MIT
/*
 * COPY between types, UNARY, BINARY, SELECT: an element of the result is computed from those of
 * the inputs at the same position. Elements that are not contiguous along a line are gathered,
 * a piece of the line at a time.
 */
#include "libaccel/sw/kernels/classes.h"
#include "lines.h"

/* Elements of a tile: all its operands fit in the second-level cache */
#define TILE	16384u
/* Elements of a piece that are gathered */
#define PIECE	1024u
/* Shorter lines of the result are not used if there are longer ones */
#define SHORT	32u
/* Maximum elements of a piece of several merged lines, and of a line in it */
#define ROWS	4096u
#define ROW	1024u

/**
 * struct map_plan - a prepared operation
 * @k: kernels
 * @nest: lines
 * @out: form of the result, which is expensive to compute
 * @row: elements of a line, if several lines are merged for all operands except for those that
 *	are the same for each line; or 0
 * @same: mask of these
 * @apart: some operands are not contiguous
 * @step: bytes from an element of a line to the next, in this case
 */
struct map_plan {
	const struct line_kernels *k;
	struct line_nest nest;
	struct line_form out;
	uint16_t row;
	uint8_t same;
	bool apart;
	int64_t step[LINE_OPERANDS];
};

_Static_assert(sizeof(struct map_plan) <= sizeof(((struct fast_prog *)0)->priv), "priv");

static bool is_plain(const struct uma_tensor_view *t)
{
	return !uma_is_float(t->dtype) && !t->quant;
}

/* Is it between integers that binary32 would round? */
static bool between_integers(const struct uma_op *op)
{
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A], *b = &op->t[UMA_SLOT_B];

	if (op->opcode != UMA_OP_UNARY && op->opcode != UMA_OP_BINARY)
		return false;
	if (uma_op_exact(op))
		return true;
	return op->opcode == UMA_OP_BINARY && op->func >= UMA_BINARY_EQ &&
	       op->func <= UMA_BINARY_XOR && !op->act && is_plain(a) && is_plain(b) &&
	       (a->dtype == UMA_DTYPE_S32 || b->dtype == UMA_DTYPE_S32);
}

/* Are elements of B and C copied unchanged? */
static bool moves(const struct uma_op *op)
{
	return op->opcode == UMA_OP_SELECT &&
	       uma_same_format(&op->t[UMA_SLOT_B], &op->t[UMA_SLOT_DST]) &&
	       uma_same_format(&op->t[UMA_SLOT_C], &op->t[UMA_SLOT_DST]);
}

/* 32-bit integers that are only copied are treated as binary32 bits. */
static bool form_of(struct line_form *form, const struct fast_prog *f, uint32_t slot)
{
	if (!line_form_any(form, &f->op->t[slot], slot == UMA_SLOT_DST, f->cpu))
		return false;
	if (form->dtype == UMA_DTYPE_S32 && slot != UMA_SLOT_A && moves(f->op))
		form->dtype = UMA_DTYPE_F32;
	return true;
}

static bool add_operand(struct line_map *m, struct line_nest *nest, const struct fast_prog *f,
			uint32_t slot)
{
	if (!form_of(&m->form[nest->count], f, slot))
		return false;
	nest->slot[nest->count++] = (uint8_t)slot;
	return true;
}

static void add_step(struct line_map *m, const struct fast_prog *f, uint32_t func, uint32_t operand)
{
	m->step[m->count++] = (struct line_step){
		.func = func, .operand = operand,
		.p = { line_float(f->op->p0), line_float(f->op->p1) },
	};
}

/* Create the steps of the operation; operands are added to the nest. */
static bool make_steps(struct line_map *m, struct line_nest *nest, const struct fast_prog *f)
{
	const struct line_kernels *k = line_kernels_of(f->cpu);
	const struct uma_op *op = f->op;
	const uint32_t func = op->opcode == UMA_OP_BINARY ? LINE_BINARY(op->func) :
							    LINE_UNARY(op->func);
	bool (*has)(uint32_t func);

	m->count = 0;
	m->integers = between_integers(op);
	has = m->integers ? k->has_integer : k->has_step;
	*nest = (struct line_nest){ .count = 1, .slot = { UMA_SLOT_DST } };
	if (!add_operand(m, nest, f, UMA_SLOT_A))
		return false;
	if (op->opcode == UMA_OP_SELECT) {
		/* 16-bit numbers that are only copied keep the payload of a NaN. */
		if (moves(op) && uma_dtype_bits(op->t[UMA_SLOT_DST].dtype) == 16)
			return false;
		add_step(m, f, LINE_SELECT, nest->count);
		return add_operand(m, nest, f, UMA_SLOT_B) && add_operand(m, nest, f, UMA_SLOT_C);
	}
	if (op->opcode == UMA_OP_BINARY ||
	    (op->opcode == UMA_OP_UNARY && op->func != UMA_UNARY_ACT)) {
		if (!has(func))
			return false;
		add_step(m, f, func, op->opcode == UMA_OP_BINARY ? nest->count : 0);
		if (op->opcode == UMA_OP_BINARY && !add_operand(m, nest, f, UMA_SLOT_B))
			return false;
	}
	if (!op->act)
		return true;
	if (!has(LINE_ACT(op->act)))
		return false;
	add_step(m, f, LINE_ACT(op->act), 0);
	return true;
}

/* Approximate picoseconds per element */
static uint64_t cost_of(const struct map_plan *p, const struct uma_op *op)
{
	return (op->act > UMA_ACT_LEAKY_RELU ? 200 : 100) + (p->apart ? 1000 : 0);
}

static uint32_t gcd(uint32_t a, uint32_t b)
{
	return b ? gcd(b, a % b) : a;
}

/*
 * A factor for each channel, with few channels: consecutive lines are merged to one, and the
 * operands that are the same for each line are repeated as often as a piece has lines. Returns
 * a number whose multiples the line may be divided into.
 */
static uint32_t rows_together(struct map_plan *p, const struct uma_op *op)
{
	struct line_nest *nest = &p->nest;
	const uint32_t at = nest->loops - 1u, n = nest->n;
	const uint32_t blocks = LINE_BLOCK_MAX / gcd(LINE_BLOCK_MAX, n);
	uint32_t same = 0, o;

	if (!nest->loops || n > ROW || blocks > TILE / n ||
	    (uint64_t)n * nest->size[at] > UINT32_MAX)
		return 1;
	for (o = 0; o < nest->count; o++) {
		const int64_t stride = nest->stride[at][o];

		if (o && !stride)
			same |= nest->one >> o & 1 ? 0 : 1u << o;
		else if (nest->one >> o & 1 ||
			 stride != fast_bytes(op->t[nest->slot[o]].dtype, n))
			return 1;
	}
	if (!same)
		return 1;
	p->row = (uint16_t)n;
	p->same = (uint8_t)same;
	/* It does not advance with pieces of the line. */
	nest->one |= same;
	nest->n = n * nest->size[at];
	nest->lines /= nest->size[at];
	line_nest_drop(nest, at);
	return n * blocks;
}

static bool lines_together(struct map_plan *p, struct fast_prog *f)
{
	struct line_nest *nest = &p->nest;
	uint32_t unit;

	if (!line_nest_init(nest, f->op, 0) || nest->one & 2)
		return false;
	unit = rows_together(p, f->op);
	nest->cut = UMA_MIN(nest->n, TILE / unit * unit);
	nest->cuts = (uint32_t)uma_divup(nest->n, nest->cut);
	return true;
}

/* Lines of the result or, if these are short, those along which A's elements are contiguous. */
static bool lines_apart(struct map_plan *p, struct fast_prog *f)
{
	struct line_nest *nest = &p->nest;
	uint32_t i, o, at;

	line_nest_loops(nest, f->op);
	if (!nest->loops)
		return false;
	at = nest->loops - 1u;
	for (i = 0; i < nest->loops && nest->size[at] < SHORT; i++)
		if (nest->stride[i][1] == fast_bytes(f->op->t[UMA_SLOT_A].dtype, 1) &&
		    nest->size[i] > nest->size[at])
			at = i;
	p->apart = true;
	nest->n = nest->size[at];
	nest->one = 0;
	for (o = 0; o < nest->count; o++) {
		p->step[o] = nest->stride[at][o];
		if (o > 1 && !p->step[o])
			nest->one |= 1u << o;
	}
	nest->lines /= nest->n;
	nest->cut = nest->n;
	nest->cuts = 1;
	line_nest_drop(nest, at);
	return true;
}

static int map_prepare(struct fast_prog *f)
{
	const struct uma_op *op = f->op;
	const struct uma_tensor_view *d = &op->t[UMA_SLOT_DST];
	struct map_plan *p = (struct map_plan *)f->priv;
	struct line_nest *nest = &p->nest;
	struct line_map m;

	p->k = line_kernels_of(f->cpu);
	if (!p->k || uma_tensor_empty(d) ||
	    (op->opcode == UMA_OP_COPY && line_same_bits(&op->t[UMA_SLOT_A], d)))
		return 0;
	if (!form_of(&p->out, f, UMA_SLOT_DST) || !make_steps(&m, nest, f))
		return fast_leave(f, FAST_NO_FORM);
	if (!lines_together(p, f) && !lines_apart(p, f))
		return fast_leave(f, FAST_NOT_NEAR);
	if (!line_nest_tiles(nest, f, TILE))
		return 0;
	f->ns = uma_tensor_elements(d) * cost_of(p, op) / 1000 + 1;
	return 1;
}

#define SPREAD(type)							\
	for (i = 0; i < n; i++)						\
		*(type *)(to + i * to_step) = *(const type *)(from + i * from_step)

/* Copy @n elements of 1, 2 or 4 bytes with strides */
void line_spread(uint8_t *to, int64_t to_step, const uint8_t *from, int64_t from_step,
		 int64_t bytes, uint32_t n)
{
	uint32_t i;

	if (bytes == 4)
		SPREAD(uint32_t);
	else if (bytes == 2)
		SPREAD(uint16_t);
	else
		SPREAD(uint8_t);
}

/* A line with operands that are not contiguous, which are gathered in scratch memory. */
static void line_apart(const struct fast_run *r, const struct line_nest *nest,
		       const struct line_map *m, const struct line_at *line)
{
	const struct map_plan *p = (const void *)r->prog->priv;
	uint8_t *at[LINE_OPERANDS];
	int64_t size[LINE_OPERANDS] = { 0 };
	uint32_t i, o, n;

	for (o = 0; o < nest->count; o++)
		size[o] = fast_bytes(r->prog->op->t[nest->slot[o]].dtype, 1);
	for (i = 0; i < line->n; i += n) {
		n = UMA_MIN(PIECE, line->n - i);
		for (o = 0; o < nest->count; o++) {
			at[o] = line->at[o] + i * p->step[o];
			if (p->step[o] == size[o] || m->one >> o & 1)
				continue;
			at[o] = (uint8_t *)r->scratch + o * PIECE * 4;
			if (o)
				line_spread(at[o], size[o], line->at[o] + i * p->step[o],
					    p->step[o], size[o], n);
		}
		p->k->map(m, at, n);
		if (p->step[0] != size[0])
			line_spread(line->at[0] + i * p->step[0], p->step[0], at[0], size[0],
				    size[0], n);
	}
}

/*
 * Merged lines: operands that are the same for each line are repeated, unless they are at
 * @have.
 */
static void line_rows(const struct fast_run *r, const struct line_nest *nest,
		      const struct line_map *m, const struct line_at *line, const uint8_t **have)
{
	const struct map_plan *p = (const void *)r->prog->priv;
	const uint32_t most = UMA_MIN(ROWS / p->row * p->row, p->nest.cut);
	uint8_t *at[LINE_OPERANDS];
	uint32_t i, j, o, n;

	for (i = 0; i < line->n; i += n) {
		n = UMA_MIN(most, line->n - i);
		for (o = 0; o < nest->count; o++) {
			const int64_t size = fast_bytes(r->prog->op->t[nest->slot[o]].dtype, 1);

			at[o] = line->at[o] + (m->one >> o & 1 ? 0 : i * size);
			if (!(p->same >> o & 1))
				continue;
			at[o] = (uint8_t *)r->scratch + o * ROWS * 4;
			for (j = 0; have[o] != line->at[o] && j < most; j += p->row)
				memcpy(at[o] + j * size, line->at[o], (size_t)(p->row * size));
			have[o] = line->at[o];
		}
		p->k->map(m, at, n);
	}
}

static int map_tile(const struct fast_run *r, uint32_t phase, uint32_t tile)
{
	const struct map_plan *p = (const void *)r->prog->priv;
	const struct uma_op *op = r->prog->op;
	struct line_nest nest;
	struct line_map m;
	const uint8_t *have[LINE_OPERANDS] = { NULL };
	struct line_at at;
	uint64_t count;

	(void)phase;
	if (!make_steps(&m, &nest, r->prog))
		return -1;
	m.form[0] = p->out;
	m.one = p->nest.one & ~p->same;
	for (count = line_nest_seek(&p->nest, op, tile, &at);; line_nest_next(&p->nest, &at)) {
		if (p->apart)
			line_apart(r, &nest, &m, &at);
		else if (p->row)
			line_rows(r, &nest, &m, &at, have);
		else
			p->k->map(&m, at.at, at.n);
		if (!--count)
			return 0;
	}
}

const struct fast_class fast_map = {
	.name = "map",
	.prepare = map_prepare,
	.tile = map_tile,
};

// SPDX-License-Identifier: MIT
/*
 * GEMM with UMA_GEMM_EXPERTS: a product for each matrix that has rows, with the class that
 * takes it.
 *
 * The numbers of rows are in memory, so the product of a matrix is planned in each of its
 * tiles: this takes a microsecond, and a matrix has few tiles. Only matrices with rows have
 * tiles. Rows of A that a class copies to work memory are placed there by their number.
 */
#include "driver/model/uma_op.h"
#include "libaccel/sw/kernels/classes.h"

/* Tiles of a matrix for each thread */
#define PARTS		4u
/* Two phases: A is converted, and multiplied. */
#define PHASES		2u
/* The numbers of rows that are probed are 1 to this, and the largest */
#define PROBED		64u

/**
 * struct experts_plan - a prepared product of experts, in the program
 * @m: rows of A
 * @parts: tiles of a matrix
 * @row_bytes: work memory for each row of A
 */
struct experts_plan {
	uint32_t m;
	uint32_t parts;
	uint64_t row_bytes;
};

_Static_assert(sizeof(struct experts_plan) <= sizeof(((struct fast_prog *)0)->priv), "priv");

/**
 * struct expert - the product of one matrix
 * @program: the model's program
 * @fast: the program of a class
 */
struct expert {
	struct uma_program program;
	struct fast_prog fast;
};

/* The product of rows @first to @first + @rows by matrix @e; false: no class takes it. */
static bool open_expert(struct expert *x, const struct fast_prog *f, uint32_t e, uint32_t first,
			uint32_t rows, uint64_t row_bytes)
{
	memcpy(&x->program, f->program, offsetof(struct uma_program, priv));
	uma_expert_op(&x->program.op, f->cap, e, first, rows);
	return fast_prepare_part(&x->fast, &x->program, f, PHASES, row_bytes * rows);
}

/*
 * Determine the work memory per row of A of the classes that convert A, and whether a class
 * takes every number of rows. The class, and whether it converts A, varies for few rows; for
 * many rows a class may need room for one more. Using the model for some numbers of rows would
 * give other bits.
 */
static int experts_prepare(struct fast_prog *f)
{
	struct experts_plan *p = (struct experts_plan *)f->priv;
	const uint32_t experts = f->op->t[UMA_SLOT_B].dims[0];
	struct expert x;
	uint64_t m;
	uint32_t i;

	p->m = f->op->t[UMA_SLOT_DST].dims[1];
	if (uma_tensor_empty(&f->op->t[UMA_SLOT_DST]) || !experts)
		return 0;
	for (m = 1; m <= p->m; m = m < PROBED || m == p->m ? m + 1 : p->m) {
		if (!open_expert(&x, f, 0, 0, (uint32_t)m, UINT32_MAX))
			return fast_leave(f, "no kernel takes the rows of a single matrix");
		p->row_bytes = UMA_MAX(p->row_bytes,
				       uma_roundup(uma_divup(x.fast.work_bytes, m), 64));
	}
	if (p->m > PROBED)
		p->row_bytes += uma_roundup(uma_divup(p->row_bytes, PROBED), 64);
	p->parts = PARTS * f->cpu->threads;
	f->work_bytes = p->row_bytes * p->m;
	f->phase_count = f->work_bytes ? PHASES : 1;
	for (i = 0; i < f->phase_count; i++)
		f->tiles[i] = UMA_MIN(experts, p->m) * p->parts;
	return 1;
}

/* Find matrix number @index of those with rows; false: there are fewer. */
static bool find_expert(const struct fast_prog *f, uint32_t index, uint32_t *expert,
			uint32_t *first, uint32_t *rows)
{
	const struct uma_tensor_view *table = &f->op->t[UMA_SLOT_AUX0];
	const int32_t *counts = fast_ptr(table);
	uint32_t left = ((const struct experts_plan *)f->priv)->m;

	*first = 0;
	for (*expert = 0; *expert < table->dims[0] && left; ++*expert) {
		/* Memory may change, so the number is read only once. */
		*rows = uma_expert_rows(__atomic_load_n(&counts[*expert * table->strides[0]],
							__ATOMIC_RELAXED), left);
		if (*rows && !index--)
			return true;
		*first += *rows;
		left -= *rows;
	}
	return false;
}

/* No class takes this number of rows: the model runs all of them. */
static int by_model(const struct fast_run *r, struct expert *x, uint32_t phase, uint32_t part)
{
	const struct uma_op_class *class = uma_op_class(UMA_OP_GEMM);
	struct uma_run run = fast_model_run(r);
	uint32_t tile;
	__u32 step;
	int ret;

	if (part || phase + 1 < r->prog->phase_count)
		return 0;
	run.prog = &x->program;
	x->program.phase_count = 0;
	x->program.step_work = UMA_STEP_WORK_UNBOUND;
	if (class->prepare(&run, &x->program))
		return -1;
	for (tile = 0; x->program.phase_count && tile < x->program.tiles[0]; tile++) {
		step = 0;
		do {
			ret = class->step(&run, 0, tile, &step);
		} while (ret > 0);
		if (ret)
			return ret;
	}
	return 0;
}

static int experts_tile(const struct fast_run *r, uint32_t phase, uint32_t tile)
{
	const struct experts_plan *p = (const void *)r->prog->priv;
	const uint32_t part = tile % p->parts;
	uint32_t e, first, rows, own, from, to;
	struct fast_run one = *r;
	struct expert x;
	int ret = 0;

	if (!find_expert(r->prog, tile / p->parts, &e, &first, &rows))
		return 0;
	if (!open_expert(&x, r->prog, e, first, rows, p->row_bytes))
		return by_model(r, &x, phase, part);
	/* A product without conversion only has the last phase. */
	if (phase + x.fast.phase_count < r->prog->phase_count)
		return 0;
	own = phase + x.fast.phase_count - r->prog->phase_count;
	one.prog = &x.fast;
	one.work = (uint8_t *)r->work + first * p->row_bytes;
	from = (uint32_t)((uint64_t)x.fast.tiles[own] * part / p->parts);
	to = (uint32_t)((uint64_t)x.fast.tiles[own] * (part + 1) / p->parts);
	for (; from < to && !ret; from++)
		ret = x.fast.class->tile(&one, own, from);
	return ret;
}

const struct fast_class fast_experts = {
	.name = "experts",
	.prepare = experts_prepare,
	.tile = experts_tile,
};

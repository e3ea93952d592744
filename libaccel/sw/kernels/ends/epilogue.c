// SPDX-License-Identifier: MIT
/*
 * Description of an operation's epilogue, and its general form: one row at a time with the
 * model's functions.
 */
#include <string.h>
#include "epilogue.h"

#define F32_ONE		0x3f800000u

static uint32_t steps_of(const struct uma_op *op)
{
	uint32_t steps = 0;

	/* Only a GEMM has these parameters. */
	if (op->opcode == UMA_OP_GEMM && op->alpha != F32_ONE)
		steps |= EPI_ALPHA;
	if (op->opcode == UMA_OP_GEMM && uma_has(op, UMA_SLOT_C))
		steps |= EPI_C;
	if (op->epi_flags & UMA_EPI_SCALE)
		steps |= EPI_SCALE;
	if (op->epi_flags & UMA_EPI_BIAS)
		steps |= EPI_BIAS;
	if (op->epi_flags & UMA_EPI_RESIDUAL)
		steps |= EPI_RESIDUAL;
	if (op->act)
		steps |= op->act == UMA_ACT_RELU ? EPI_RELU : EPI_ACT;
	if (op->epi_flags & UMA_EPI_RESIDUAL_POST)
		steps |= EPI_POST;
	return steps;
}

/* Does a step read the slot? */
static bool reads(uint32_t steps, uint32_t slot)
{
	switch (slot) {
	case UMA_SLOT_C:
		return steps & EPI_C;
	case UMA_SLOT_SCALE:
		return steps & EPI_SCALE;
	case UMA_SLOT_BIAS:
		return steps & EPI_BIAS;
	case UMA_SLOT_RESIDUAL:
		return steps & (EPI_RESIDUAL | EPI_POST);
	default:
		return false;
	}
}

/* Contiguous columns or one element for all; for integers the difference must be exact. */
static bool has_vector_operand(const struct fast_epi *e, const struct uma_tensor_view *t,
			       const struct fast_epi_operand *o)
{
	if (o->ns != 0 && o->ns != 1)
		return false;
	if (e->exact)
		return t->dtype == UMA_DTYPE_S32 && !t->quant;
	if (t->quant > UMA_QUANT_TENSOR || uma_is_int4(t->dtype))
		return false;
	return t->dtype == UMA_DTYPE_S32 ? !t->zero || !t->quant :
					   t->zero >= -65536 && t->zero <= 65536;
}

static bool has_vector_dst(const struct fast_epi *e, const struct uma_tensor_view *d)
{
	if (e->t[UMA_SLOT_DST].ns != 1)
		return false;
	if (e->exact || uma_is_float(d->dtype))
		return true;
	return uma_is_int8(d->dtype) && d->quant <= UMA_QUANT_TENSOR && d->zero >= -256 &&
	       d->zero <= 256;
}

/* Scales whose reciprocal is accurate to half a unit, and whose products cannot underflow. */
static bool needs_division(const struct uma_tensor_view *d)
{
	const uint32_t exponent = d->scale >> 23;

	return d->quant && (exponent < 64 || exponent > 190);
}

void fast_epi_init(struct fast_epi *e, const struct fast_prog *p, uint32_t row, uint32_t col,
		   bool integer)
{
	const struct uma_op *op = p->op;
	const struct uma_tensor_view *d = &op->t[UMA_SLOT_DST];
	uint32_t s;

	*e = (struct fast_epi){
		.row = row, .col = col, .integer = integer,
		.exact = uma_op_exact(op), .steps = steps_of(op),
		.divide = needs_division(d),
	};
	if (integer && fast_epi_rows(op))
		e->steps |= EPI_ROWS;
	for (s = 0; s <= UMA_SLOT_RESIDUAL; s++) {
		e->t[s].ms = op->t[s].strides[row];
		e->t[s].ns = op->t[s].strides[col];
	}
	e->vector = (p->cpu->isa & (FAST_AVX512 | FAST_AVX2)) && has_vector_dst(e, d);
	for (s = 0; s <= UMA_SLOT_RESIDUAL; s++)
		if (reads(e->steps, s) && !has_vector_operand(e, &op->t[s], &e->t[s]))
			e->vector = false;
	e->direct = !e->steps && e->t[UMA_SLOT_DST].ns == 1 &&
		    (integer ? e->exact : d->dtype == UMA_DTYPE_F32);
}

void fast_epi_scales(const struct fast_prog *p, uint32_t first, uint32_t count, float *out)
{
	const struct uma_tensor_view *a = &p->op->t[UMA_SLOT_A], *b = &p->op->t[UMA_SLOT_B];

	if (b->quant == UMA_QUANT_CHANNEL)
		p->rows->to_f32[b->scale_dtype](out, (const char *)(uintptr_t)b->scale_addr +
						fast_bytes(b->scale_dtype, first), count);
	else
		p->rows->fill(out, b->quant ? b->scale : F32_ONE, count);
	if (a->quant == UMA_QUANT_TENSOR)
		p->rows->scale(out, a->scale, count);
}

/* --- one row at a time -------------------------------------------------------- */

/**
 * struct rows - memory for a row
 * @buf: for the model's functions
 * @x: the row
 * @y: another row
 * @wide: the row as integers
 */
struct rows {
	struct uma_rowbuf buf;
	float x[UMA_ROW_MAX];
	float y[UMA_ROW_MAX];
	__s64 wide[UMA_ROW_MAX];
};

_Static_assert(sizeof(struct rows) <= UMA_SCRATCH_SIZE, "rows");

static void wide_row(const struct fast_epi_block *b, uint32_t i, __s64 *wide)
{
	const uint32_t *acc = (const uint32_t *)b->acc + i * b->ld;
	uint32_t j;

	for (j = 0; j < b->n; j++)
		wide[j] = (int32_t)(acc[j] + (b->row_add ? (uint32_t)b->row_add[i] : 0) +
				    (b->col_add ? (uint32_t)b->col_add[j] : 0) -
				    (b->col_zero ? (uint32_t)b->col_zero[j] *
						   (uint32_t)b->row_sum[i] : 0));
}

static struct uma_row row_of(const struct fast_run *r, const struct uma_epi_row *e, uint32_t slot)
{
	const struct uma_tensor_view *t = &r->prog->op->t[slot];

	return (struct uma_row){
		.slot = slot, .off = uma_tensor_offset(t, e->idx), .stride = t->strides[e->axis],
		.n = e->n, .idx = e->idx, .axis = e->axis,
	};
}

static int exact_row(const struct fast_run *r, const struct fast_epi *e, struct uma_epi_row *row,
		     __s64 *wide)
{
	struct uma_row c;
	const __s32 *v;
	uint32_t j;

	/* An absent operand has no valid dimensions. */
	if (e->steps & EPI_C) {
		c = row_of(r, row, UMA_SLOT_C);
		v = uma_row_s32(row->run, &c, row->buf);
		if (!v)
			return -1;
		for (j = 0; j < row->n; j++)
			wide[j] += v[j];
	}
	return uma_epilogue_exact(row, wide);
}

static int float_row(const struct fast_run *r, const struct fast_epi *e, struct uma_epi_row *row,
		     float *x)
{
	const struct uma_kernels *k = r->prog->rows;
	struct uma_row c;
	const float *v;

	if (e->steps & EPI_ALPHA)
		k->scale(x, r->prog->op->alpha, row->n);
	if (e->steps & EPI_C) {
		c = row_of(r, row, UMA_SLOT_C);
		v = uma_row_f32(row->run, &c, row->buf, row->tmp);
		if (!v)
			return -1;
		k->axpy(x, r->prog->op->beta, v, row->n);
	}
	return uma_epilogue_f32(row, x);
}

/* The scale of the row of A from which a row of DST is computed. */
static uint32_t row_scale(const struct fast_run *r, const struct uma_epi_row *row,
			  const struct fast_epi *e)
{
	const struct uma_tensor_view *a = &r->prog->op->t[UMA_SLOT_A];
	uint32_t bits;
	float scale;

	r->prog->rows->to_f32[a->scale_dtype](&scale, (const char *)(uintptr_t)a->scale_addr +
					      fast_bytes(a->scale_dtype, row->idx[e->row]), 1);
	memcpy(&bits, &scale, sizeof(bits));
	return bits;
}

static int general_row(const struct fast_run *r, const struct fast_epi *e,
		       const struct fast_epi_block *b, uint32_t i, struct uma_epi_row *row)
{
	const struct uma_kernels *k = r->prog->rows;
	struct rows *m = r->rows_scratch;
	const float *scale;

	if (!e->integer)
		return float_row(r, e, row, (float *)b->acc + i * b->ld);
	wide_row(b, i, m->wide);
	if (e->exact)
		return exact_row(r, e, row, m->wide);
	k->s64_to_f32(m->x, m->wide, b->n);
	scale = b->scale + (uint64_t)i * b->scale_ms;
	if (b->scale_ns) {
		k->binary[UMA_BINARY_MUL](m->x, m->x, scale, b->n);
	} else {
		uint32_t bits;

		memcpy(&bits, scale, sizeof(bits));
		k->scale(m->x, bits, b->n);
	}
	if (e->steps & EPI_ROWS)
		k->scale(m->x, row_scale(r, row, e), b->n);
	return float_row(r, e, row, m->x);
}

int fast_epi_block(const struct fast_run *r, const struct fast_epi *e,
		   const struct fast_epi_block *b)
{
	struct uma_run run = fast_model_run(r);
	struct rows *m = r->rows_scratch;
	uint32_t idx[UMA_MAX_RANK], i;
	struct uma_epi_row row = {
		.run = &run, .buf = &m->buf, .tmp = m->y, .idx = idx, .axis = e->col, .n = b->n,
	};

#if defined(__x86_64__)
	if (e->vector) {
		if (r->prog->cpu->isa & FAST_AVX512)
			fast_epi_vector_avx512(r->prog, e, b);
		else
			fast_epi_vector_avx2(r->prog, e, b);
		return 0;
	}
#endif
	memcpy(idx, b->idx, sizeof(idx));
	for (i = 0; i < b->m; i++, idx[e->row]++)
		if (general_row(r, e, b, i, &row))
			return -1;
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * The vector form of the epilogue: VL columns at a time, for all rows, so that the operands of
 * columns are loaded once. A vector takes three to ten instructions in addition to loading the
 * accumulators and storing the result. Activations other than ReLU are computed for four rows
 * at a time, which share tables.
 *
 * A file for a level of instructions defines, for some of the lanes of a vector (e_lanes, all:
 * ALL, the first: e_first()), loads of which the others are 0 and stores:
 *	e_words(), e_halves(), e_bytes()	words; unsigned halves; bytes, as words
 *	e_f16()					binary16 as binary32
 *	e_put_words(), e_put_f16(), e_put_bf16(), e_put_bytes()
 *	e_put_native()				bf16 by an instruction that has all numbers, NATIVE
 *	e_exact()				additions of integers for s32, saturated
 */
#include "epilogue.h"
#include "libaccel/sw/kernels/vec/math.h"
#include "libaccel/sw/kernels/vec/special.h"

/* bf16 converted by e_put_native() */
#define NATIVE	0xfeu

/**
 * struct operand - an operand of a block
 * @p: its element for (0, 0)
 * @ms: bytes from row to row
 * @dtype: &enum uma_dtype
 * @shift: log2 of the size of an element
 * @spread: one element for all columns
 * @quant: multiply by @scale
 * @scale: of a quantised operand
 * @zero: of a quantised operand
 */
struct operand {
	const char *p;
	int64_t ms;
	uint32_t dtype;
	uint32_t shift;
	bool spread;
	bool quant;
	float scale;
	int32_t zero;
};

/**
 * struct block - the block that is processed
 * @p: operation
 * @e: epilogue
 * @b: block
 * @c: addend
 * @scale: factor
 * @rows: scales of A's rows
 * @bias: addend
 * @residual: addend, before or after the activation
 * @dst: result; may be written
 * @alpha: factor of the accumulators
 * @beta: factor of the addend
 * @lo: smallest integer of the result
 * @hi: largest integer of the result
 */
struct block {
	const struct fast_prog *p;
	const struct fast_epi *e;
	const struct fast_epi_block *b;
	struct operand c;
	struct operand scale;
	struct operand rows;
	struct operand bias;
	struct operand residual;
	struct operand dst;
	float alpha;
	float beta;
	int32_t lo;
	int32_t hi;
};

V_INLINE float float_of(uint32_t bits)
{
	float f;

	__builtin_memcpy(&f, &bits, sizeof(f));
	return f;
}

static void operand_at(const struct fast_prog *p, const struct fast_epi *e,
		       const struct fast_epi_block *b, uint32_t slot, struct operand *o)
{
	const struct uma_tensor_view *t = &p->op->t[slot];
	const uint32_t bytes = uma_dtype_bits(t->dtype) / 8;
	int64_t off = (int64_t)b->idx[e->row] * e->t[slot].ms +
		      (int64_t)b->idx[e->col] * e->t[slot].ns;
	uint32_t d;

	for (d = 0; d < t->rank; d++)
		if (d != e->row && d != e->col)
			off += (int64_t)b->idx[d] * t->strides[d];
	o->p = (const char *)fast_ptr(t) + off * bytes;
	o->ms = e->t[slot].ms * bytes;
	o->dtype = t->dtype;
	o->shift = bytes / 2;
	o->spread = !e->t[slot].ns;
	o->quant = t->quant != UMA_QUANT_NONE;
	o->scale = o->quant ? float_of(t->scale) : 1.0f;
	o->zero = o->quant ? t->zero : 0;
}

/* The scales of A's rows: one for all columns. */
static void rows_at(const struct fast_prog *p, const struct fast_epi *e,
		    const struct fast_epi_block *b, struct operand *o)
{
	const struct uma_tensor_view *a = &p->op->t[UMA_SLOT_A];
	const uint32_t bytes = uma_dtype_bits(a->scale_dtype) / 8;

	*o = (struct operand){
		.p = (const char *)(uintptr_t)a->scale_addr + (uint64_t)b->idx[e->row] * bytes,
		.ms = bytes, .dtype = a->scale_dtype, .spread = true,
	};
}

/* An element as a number */
V_INLINE float one_f32(const struct operand *o, const char *p)
{
	uint16_t half;
	int32_t v;
	float x;

	switch (o->dtype) {
	case UMA_DTYPE_F32:
		memcpy(&x, p, sizeof(x));
		return x;
	case UMA_DTYPE_F16:
		memcpy(&half, p, sizeof(half));
		return _cvtsh_ss(half);
	case UMA_DTYPE_BF16:
		memcpy(&half, p, sizeof(half));
		return float_of((uint32_t)half << 16);
	case UMA_DTYPE_S8:
		v = *(const int8_t *)p;
		break;
	case UMA_DTYPE_U8:
		v = *(const uint8_t *)p;
		break;
	default:
		memcpy(&v, p, sizeof(v));
		break;
	}
	x = (float)(v - o->zero);
	return o->quant ? o->scale * x : x;
}

V_INLINE vf load_f32(const struct operand *o, const char *p, e_lanes lanes)
{
	vi v;
	vf x;

	if (o->spread)
		return v_set(one_f32(o, p));
	switch (o->dtype) {
	case UMA_DTYPE_F32:
		return v_of(e_words(p, lanes));
	case UMA_DTYPE_F16:
		return e_f16(p, lanes);
	case UMA_DTYPE_BF16:
		return v_of(vi_shl(e_halves(p, lanes), 16));
	case UMA_DTYPE_S8:
		v = e_bytes(p, lanes, true);
		break;
	case UMA_DTYPE_U8:
		v = e_bytes(p, lanes, false);
		break;
	default:
		v = e_words(p, lanes);
		break;
	}
	x = v_of_ints(vi_sub(v, vi_set(o->zero)));
	return o->quant ? v_mul(v_set(o->scale), x) : x;
}

V_INLINE const char *at(const struct operand *o, uint32_t i, uint32_t j)
{
	return o->p + i * o->ms + (o->spread ? 0 : (uint64_t)j << o->shift);
}

/*
 * rne(x / scale) + zero, saturated. The product with the reciprocal has a relative error of at
 * most 2^-22; it only rounds differently next to a tie, and beyond 1024 all values saturate.
 * Saturating before rounding gives the same result.
 */
V_INLINE vi quantise(const struct block *k, vf x, float reciprocal)
{
	const vf lo = v_set((float)(k->lo - k->dst.zero)), hi = v_set((float)(k->hi - k->dst.zero));
	vf q = v_mul(x, v_set(reciprocal));
	const vf d = math_abs(v_sub(q, v_rint(q)));

	/* Also for NaN. */
	if (k->e->divide || vm_any(v_not_less(d, v_set(0.4995f)))) {
		q = v_div(x, v_set(k->dst.scale));
		q = v_where(v_unordered(q, q), v_set(0), q);
	}
	q = v_min(v_max(q, lo), hi);
	return vi_add(vi_nearest(q), vi_set(k->dst.zero));
}

V_INLINE void store(const struct block *k, char *p, e_lanes lanes, vf x, float reciprocal,
		    const uint32_t dtype)
{
	switch (dtype) {
	case UMA_DTYPE_F32:
		e_put_words(p, lanes, vi_of(x));
		break;
	case UMA_DTYPE_F16:
		e_put_f16(p, lanes, x);
		break;
	case UMA_DTYPE_BF16:
		e_put_bf16(p, lanes, x);
		break;
	case NATIVE:
		e_put_native(p, lanes, x);
		break;
	default:
		e_put_bytes(p, lanes, quantise(k, x, reciprocal));
		break;
	}
}

/* 32-bit numbers of the columns, or zeros if there are none. */
V_INLINE vi of_columns(const int32_t *p, uint32_t j, e_lanes lanes)
{
	return p ? e_words(p + j, lanes) : vi_set(0);
}

/* Sums of integers with zero points applied. */
V_INLINE vi sums(const struct fast_epi_block *b, const char *acc, uint32_t i, e_lanes lanes,
		 vi col_add, vi col_zero)
{
	vi v = vi_add(e_words(acc, lanes), col_add);

	if (b->col_zero)
		v = vi_sub(v, vi_mul(vi_set(b->row_sum[i]), col_zero));
	return b->row_add ? vi_add(v, vi_set(b->row_add[i])) : v;
}

/**
 * struct columns - operands that are loaded once for VL columns, unless each row has its own
 * @j: first column
 * @lanes: valid columns
 * @c: addend
 * @factor: factor
 * @bias: addend
 * @residual: addend
 * @scale: of integers
 * @add: of integers
 * @zero: zero points of integers
 */
struct columns {
	uint32_t j;
	e_lanes lanes;
	vf c;
	vf factor;
	vf bias;
	vf residual;
	vf scale;
	vi add;
	vi zero;
};

V_INLINE struct columns open_columns(const struct block *k, uint32_t j, e_lanes lanes,
				     uint32_t steps, const bool integer)
{
	const struct fast_epi_block *b = k->b;
	const vf none = v_set(0);
	struct columns o = {
		.j = j, .lanes = lanes, .c = none, .factor = none, .bias = none, .residual = none,
		.scale = none, .add = vi_set(0), .zero = vi_set(0),
	};

	if (integer) {
		o.add = of_columns(b->col_add, j, lanes);
		o.zero = of_columns(b->col_zero, j, lanes);
	}
	if (integer && !b->scale_ms)
		o.scale = b->scale_ns ? v_of(e_words(b->scale + j, lanes)) :
					v_set(b->scale[0]);
	if ((steps & EPI_C) && !k->c.ms)
		o.c = load_f32(&k->c, at(&k->c, 0, j), lanes);
	if ((steps & EPI_SCALE) && !k->scale.ms)
		o.factor = load_f32(&k->scale, at(&k->scale, 0, j), lanes);
	if ((steps & EPI_BIAS) && !k->bias.ms)
		o.bias = load_f32(&k->bias, at(&k->bias, 0, j), lanes);
	if ((steps & (EPI_RESIDUAL | EPI_POST)) && !k->residual.ms)
		o.residual = load_f32(&k->residual, at(&k->residual, 0, j), lanes);
	return o;
}

/* The operand for row @i: the columns' @v, or that of the row. */
V_INLINE vf row_of(const struct operand *o, const struct columns *c, vf v, uint32_t i)
{
	return o->ms ? load_f32(o, at(o, i, c->j), c->lanes) : v;
}

/* Steps of row @i before the activation; its accumulators or integers are at @acc. */
V_INLINE vf first_steps(const struct block *k, const struct columns *o, uint32_t i,
			  const char *acc, uint32_t steps, const bool integer)
{
	const struct fast_epi_block *b = k->b;
	vf x = v_of(e_words(acc, o->lanes));

	if (integer) {
		x = v_of_ints(sums(b, acc, i, o->lanes, o->add, o->zero));
		x = v_mul(x, b->scale_ms ? v_set(b->scale[i]) : o->scale);
		if (steps & EPI_ROWS)
			x = v_mul(x, load_f32(&k->rows, at(&k->rows, i, 0), ALL));
	}
	if (steps & EPI_ALPHA)
		x = v_mul(x, v_set(k->alpha));
	if (steps & EPI_C)
		x = v_add(x, v_mul(v_set(k->beta), row_of(&k->c, o, o->c, i)));
	if (steps & EPI_SCALE)
		x = v_mul(x, row_of(&k->scale, o, o->factor, i));
	if (steps & EPI_BIAS)
		x = v_add(x, row_of(&k->bias, o, o->bias, i));
	if (steps & EPI_RESIDUAL)
		x = v_add(x, row_of(&k->residual, o, o->residual, i));
	if (steps & EPI_RELU)
		x = v_where(v_least(x, v_set(0)), v_set(0), x);
	return x;
}

V_INLINE void last_steps(const struct block *k, const struct columns *o, uint32_t i, char *dst,
			 vf x, uint32_t steps, float reciprocal, const uint32_t dtype)
{
	if (steps & EPI_POST)
		x = v_add(x, row_of(&k->residual, o, o->residual, i));
	store(k, dst, o->lanes, x, reciprocal, dtype);
}

/* Activations that math_act() does not have, with the model's functions. */
static __attribute__((noinline)) void activate(const struct fast_prog *p, vf x[4])
{
	const struct uma_op *op = p->op;
	float values[4 * VL];
	uint32_t i;

	if (math_has_act(op->act)) {
		math_act(x, op->act, v_set(float_of(op->p0)), v_set(float_of(op->p1)));
		return;
	}
	for (i = 0; i < 4; i++)
		v_store(values + VL * i, x[i]);
	p->rows->act[op->act](values, op->p0, op->p1, 4 * VL);
	for (i = 0; i < 4; i++)
		x[i] = v_load(values + VL * i);
}

/**
 * float_columns - run the steps of up to VL columns
 * @k: block
 * @j: first column
 * @lanes: valid columns
 * @steps: EPI_*
 * @integer: start from integer accumulators, else from floating-point values
 * @act: @steps has EPI_ACT
 * @dtype: type of the result
 */
V_INLINE void float_columns(const struct block *k, uint32_t j, e_lanes lanes, uint32_t steps,
			    const bool integer, const bool act, const uint32_t dtype)
{
	const struct columns o = open_columns(k, j, lanes, steps, integer);
	const int64_t ld = k->b->ld * 4, dst_ms = k->dst.ms;
	const char *acc = (const char *)((const float *)k->b->acc + j);
	char *dst = (char *)at(&k->dst, 0, j);
	const float reciprocal = 1.0f / k->dst.scale;
	const uint32_t m = k->b->m;
	uint32_t i, n, r;

	if (!act) {
		for (i = 0; i < m; i++, acc += ld, dst += dst_ms)
			last_steps(k, &o, i, dst, first_steps(k, &o, i, acc, steps, integer), steps,
				   reciprocal, dtype);
		return;
	}
	for (i = 0; i < m; i += n) {
		const vf none = v_set(0);
		vf x[4] = { none, none, none, none };

		n = UMA_MIN(4u, m - i);
		for (r = 0; r < n; r++, acc += ld)
			x[r] = first_steps(k, &o, i + r, acc, steps, integer);
		activate(k->p, x);
		for (r = 0; r < n; r++, dst += dst_ms)
			last_steps(k, &o, i + r, dst, x[r], steps, reciprocal, dtype);
	}
}

/* Copies the operands: otherwise the compiler must assume that stores change them. */
SPECIAL void float_block(const struct block *from, uint32_t steps, const bool integer,
			 const bool act, const uint32_t dtype)
{
	const struct fast_epi_block b = *from->b;
	const struct fast_epi e = *from->e;
	struct block k = *from;
	uint32_t j;

	k.b = &b;
	k.e = &e;
	for (j = 0; j + VL <= b.n; j += VL)
		float_columns(&k, j, ALL, steps, integer, act, dtype);
	if (j < b.n)
		float_columns(&k, j, e_first(b.n - j), steps, integer, act, dtype);
}

#define BLOCK(name, integer, dtype)					\
static void name(const struct block *k, uint32_t steps)			\
{									\
	if (steps & EPI_ACT)						\
		float_block(k, steps, integer, true, dtype);		\
	else if (steps)							\
		float_block(k, steps, integer, false, dtype);		\
	else								\
		float_block(k, 0, integer, false, dtype);		\
}

BLOCK(floats_f32, false, UMA_DTYPE_F32)
BLOCK(floats_f16, false, UMA_DTYPE_F16)
BLOCK(floats_bf16, false, UMA_DTYPE_BF16)
BLOCK(floats_native, false, NATIVE)
BLOCK(floats_bytes, false, UMA_DTYPE_S8)
BLOCK(sums_f32, true, UMA_DTYPE_F32)
BLOCK(sums_f16, true, UMA_DTYPE_F16)
BLOCK(sums_bf16, true, UMA_DTYPE_BF16)
BLOCK(sums_native, true, NATIVE)
BLOCK(sums_bytes, true, UMA_DTYPE_S8)

/* All steps from sums or values to DST. */
static void all_steps(const struct block *k, uint32_t dtype)
{
	const bool integer = k->e->integer;
	const uint32_t steps = k->e->steps;

	switch (dtype) {
	case UMA_DTYPE_F32:
		integer ? sums_f32(k, steps) : floats_f32(k, steps);
		break;
	case UMA_DTYPE_F16:
		integer ? sums_f16(k, steps) : floats_f16(k, steps);
		break;
	case UMA_DTYPE_BF16:
		integer ? sums_bf16(k, steps) : floats_bf16(k, steps);
		break;
	case NATIVE:
		integer ? sums_native(k, steps) : floats_native(k, steps);
		break;
	default:
		integer ? sums_bytes(k, steps) : floats_bytes(k, steps);
		break;
	}
}

/* --- integers into s32 ---------------------------------------------------------- */

/* An addend of integers */
V_INLINE vi words_of(const struct operand *o, uint32_t i, uint32_t j, e_lanes lanes)
{
	const char *p = at(o, i, j);

	return o->spread ? vi_word(p) : e_words(p, lanes);
}

V_INLINE vi exact_steps(const struct block *k, uint32_t i, uint32_t j, e_lanes lanes, vi v)
{
	const uint32_t steps = k->e->steps;
	struct e_exact x = e_exact(v);

	if (steps & EPI_C)
		e_exact_add(&x, words_of(&k->c, i, j, lanes));
	if (steps & EPI_BIAS)
		e_exact_add(&x, words_of(&k->bias, i, j, lanes));
	if (steps & EPI_RESIDUAL)
		e_exact_add(&x, words_of(&k->residual, i, j, lanes));
	if (steps & EPI_RELU)
		e_exact_relu(&x);
	if (steps & EPI_POST)
		e_exact_add(&x, words_of(&k->residual, i, j, lanes));
	return e_exact_end(&x);
}

static void exact_block(const struct block *k)
{
	const struct fast_epi_block *b = k->b;
	uint32_t i, j;

	for (j = 0; j < b->n; j += VL) {
		const e_lanes lanes = b->n - j < VL ? e_first(b->n - j) : ALL;
		const vi add = of_columns(b->col_add, j, lanes);
		const vi zero = of_columns(b->col_zero, j, lanes);
		const char *acc = (const char *)((const int32_t *)b->acc + j);

		for (i = 0; i < b->m; i++, acc += b->ld * 4) {
			vi v = sums(b, acc, i, lanes, add, zero);

			if (k->e->steps)
				v = exact_steps(k, i, j, lanes, v);
			e_put_words((char *)at(&k->dst, i, j), lanes, v);
		}
	}
}

void EPILOGUE(const struct fast_prog *p, const struct fast_epi *e, const struct fast_epi_block *b)
{
	struct block k = {
		.p = p, .e = e, .b = b,
		.alpha = float_of(p->op->alpha), .beta = float_of(p->op->beta),
	};
	uint32_t dtype;

	operand_at(p, e, b, UMA_SLOT_DST, &k.dst);
	if (e->steps & EPI_C)
		operand_at(p, e, b, UMA_SLOT_C, &k.c);
	if (e->steps & EPI_SCALE)
		operand_at(p, e, b, UMA_SLOT_SCALE, &k.scale);
	if (e->steps & EPI_ROWS)
		rows_at(p, e, b, &k.rows);
	if (e->steps & EPI_BIAS)
		operand_at(p, e, b, UMA_SLOT_BIAS, &k.bias);
	if (e->steps & (EPI_RESIDUAL | EPI_POST))
		operand_at(p, e, b, UMA_SLOT_RESIDUAL, &k.residual);
	if (e->exact) {
		exact_block(&k);
		return;
	}
	dtype = k.dst.dtype == UMA_DTYPE_BF16 && (p->cpu->isa & FAST_BF16) ? NATIVE : k.dst.dtype;
	k.lo = k.dst.dtype == UMA_DTYPE_S8 ? -128 : 0;
	k.hi = k.dst.dtype == UMA_DTYPE_S8 ? 127 : 255;
	all_steps(&k, dtype);
}

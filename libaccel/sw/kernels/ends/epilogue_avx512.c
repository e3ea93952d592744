// SPDX-License-Identifier: MIT
/*
 * The vector form of the epilogue for AVX-512: 16 columns at a time, for all rows, so that the
 * operands of columns are loaded once. 16 elements take three to ten instructions in addition
 * to loading the accumulators and storing the result. Activations other than ReLU are computed
 * for four rows at a time, which share tables.
 */
#include <immintrin.h>
#include "epilogue.h"
#include "libaccel/sw/kernels/vec/vec512.h"
#include "libaccel/sw/kernels/vec/math.h"
#include "libaccel/sw/kernels/vec/special.h"

#define INLINE	static inline __attribute__((always_inline))
#define ALL	((__mmask16)0xffff)
/* bf16 converted with AVX512_BF16 */
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

INLINE float float_of(uint32_t bits)
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

/* 4-byte elements; masked ones are 0. */
INLINE __m512i load_words(const struct operand *o, const char *p, __mmask16 mask)
{
	if (o->spread)
		return _mm512_set1_epi32(*(const int32_t *)p);
	return _mm512_maskz_loadu_epi32(mask, p);
}

INLINE __m512 load_f32(const struct operand *o, const char *p, __mmask16 mask)
{
	const __mmask16 m = o->spread ? 1 : mask;
	__m512i v;
	__m512 x;

	switch (o->dtype) {
	case UMA_DTYPE_F32:
		return _mm512_castsi512_ps(load_words(o, p, mask));
	case UMA_DTYPE_F16:
		x = _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(m, p));
		return o->spread ? _mm512_broadcastss_ps(_mm512_castps512_ps128(x)) : x;
	case UMA_DTYPE_BF16:
		v = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(m, p));
		x = _mm512_castsi512_ps(_mm512_slli_epi32(v, 16));
		return o->spread ? _mm512_broadcastss_ps(_mm512_castps512_ps128(x)) : x;
	case UMA_DTYPE_S8:
		v = _mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(m, p));
		break;
	case UMA_DTYPE_U8:
		v = _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(m, p));
		break;
	default:
		v = _mm512_maskz_loadu_epi32(m, p);
		break;
	}
	x = _mm512_cvtepi32_ps(_mm512_sub_epi32(v, _mm512_set1_epi32(o->zero)));
	if (o->quant)
		x = _mm512_mul_ps(_mm512_set1_ps(o->scale), x);
	return o->spread ? _mm512_broadcastss_ps(_mm512_castps512_ps128(x)) : x;
}

INLINE const char *at(const struct operand *o, uint32_t i, uint32_t j)
{
	return o->p + i * o->ms + (o->spread ? 0 : (uint64_t)j << o->shift);
}

/* Round to nearest even; a NaN becomes quiet. vcvtneps2bf16 would flush subnormal numbers. */
INLINE __m256i to_bf16(__m512 x)
{
	const __m512i bits = _mm512_castps_si512(x);
	const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
	const __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
	__m512i r = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));

	r = _mm512_mask_or_epi32(r, nan, bits, _mm512_set1_epi32(0x400000));
	return _mm512_cvtepi32_epi16(_mm512_srli_epi32(r, 16));
}

/* With AVX512_BF16: vcvtneps2bf16, unless there are subnormal numbers. */
INLINE __m256i to_bf16_native(__m512 x)
{
	__m256i r;

	if (_mm512_fpclass_ps_mask(x, 0x20))
		return to_bf16(x);
	__asm__("vcvtneps2bf16 %1, %0" : "=v"(r) : "v"(x));
	return r;
}

/*
 * rne(x / scale) + zero, saturated. The product with the reciprocal has a relative error of at
 * most 2^-22; it only rounds differently next to a tie, and beyond 1024 all values saturate.
 * Saturating before rounding gives the same result.
 */
INLINE __m512i quantise(const struct block *k, __m512 x, float reciprocal)
{
	const __m512 lo = _mm512_set1_ps((float)(k->lo - k->dst.zero));
	const __m512 hi = _mm512_set1_ps((float)(k->hi - k->dst.zero));
	__m512 q = _mm512_mul_ps(x, _mm512_set1_ps(reciprocal)), d;

	d = _mm512_sub_ps(q, _mm512_roundscale_ps(q, _MM_FROUND_TO_NEAREST_INT |
						  _MM_FROUND_NO_EXC));
	/* Also for NaN. */
	if (k->e->divide ||
	    _mm512_cmp_ps_mask(_mm512_abs_ps(d), _mm512_set1_ps(0.4995f), _CMP_NLT_UQ)) {
		q = _mm512_div_ps(x, _mm512_set1_ps(k->dst.scale));
		q = _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(q, q, _CMP_ORD_Q), q);
	}
	q = _mm512_min_ps(_mm512_max_ps(q, lo), hi);
	return _mm512_add_epi32(_mm512_cvtps_epi32(q), _mm512_set1_epi32(k->dst.zero));
}

/* A masked store is slower than a full one. */
INLINE void store_16(char *p, __mmask16 mask, __m256i v)
{
	if (mask == ALL)
		_mm256_storeu_si256((__m256i *)p, v);
	else
		_mm256_mask_storeu_epi16(p, mask, v);
}

INLINE void store_8(char *p, __mmask16 mask, __m128i v)
{
	if (mask == ALL)
		_mm_storeu_si128((__m128i *)p, v);
	else
		_mm_mask_storeu_epi8(p, mask, v);
}

INLINE void store(const struct block *k, char *p, __mmask16 mask, __m512 x, float reciprocal,
		  const uint32_t dtype)
{
	switch (dtype) {
	case UMA_DTYPE_F32:
		_mm512_mask_storeu_ps(p, mask, x);
		break;
	case UMA_DTYPE_F16:
		store_16(p, mask, _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT |
						  _MM_FROUND_NO_EXC));
		break;
	case UMA_DTYPE_BF16:
		store_16(p, mask, to_bf16(x));
		break;
	case NATIVE:
		store_16(p, mask, to_bf16_native(x));
		break;
	default:
		store_8(p, mask, _mm512_cvtepi32_epi8(quantise(k, x, reciprocal)));
		break;
	}
}

/* 32-bit numbers of the columns, or zeros if there are none. */
INLINE __m512i of_columns(const int32_t *p, uint32_t j, __mmask16 mask)
{
	return p ? _mm512_maskz_loadu_epi32(mask, p + j) : _mm512_setzero_si512();
}

/* Sums of integers with zero points applied. */
INLINE __m512i sums(const struct fast_epi_block *b, const char *acc, uint32_t i, __mmask16 mask,
		    __m512i col_add, __m512i col_zero)
{
	__m512i v = _mm512_maskz_loadu_epi32(mask, acc);

	v = _mm512_add_epi32(v, col_add);
	if (b->col_zero)
		v = _mm512_sub_epi32(v, _mm512_mullo_epi32(_mm512_set1_epi32(b->row_sum[i]),
							   col_zero));
	return b->row_add ? _mm512_add_epi32(v, _mm512_set1_epi32(b->row_add[i])) : v;
}

/**
 * struct columns - operands that are loaded once for 16 columns, unless each row has its own
 * @j: first column
 * @mask: valid columns
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
	__mmask16 mask;
	__m512 c;
	__m512 factor;
	__m512 bias;
	__m512 residual;
	__m512 scale;
	__m512i add;
	__m512i zero;
};

INLINE struct columns open_columns(const struct block *k, uint32_t j, __mmask16 mask,
				   uint32_t steps, const bool integer)
{
	const struct fast_epi_block *b = k->b;
	const __m512 none = _mm512_setzero_ps();
	struct columns o = {
		.j = j, .mask = mask, .c = none, .factor = none, .bias = none, .residual = none,
		.scale = none, .add = _mm512_setzero_si512(), .zero = _mm512_setzero_si512(),
	};

	if (integer) {
		o.add = of_columns(b->col_add, j, mask);
		o.zero = of_columns(b->col_zero, j, mask);
	}
	if (integer && !b->scale_ms)
		o.scale = b->scale_ns ? _mm512_maskz_loadu_ps(mask, b->scale + j) :
					_mm512_set1_ps(b->scale[0]);
	if ((steps & EPI_C) && !k->c.ms)
		o.c = load_f32(&k->c, at(&k->c, 0, j), mask);
	if ((steps & EPI_SCALE) && !k->scale.ms)
		o.factor = load_f32(&k->scale, at(&k->scale, 0, j), mask);
	if ((steps & EPI_BIAS) && !k->bias.ms)
		o.bias = load_f32(&k->bias, at(&k->bias, 0, j), mask);
	if ((steps & (EPI_RESIDUAL | EPI_POST)) && !k->residual.ms)
		o.residual = load_f32(&k->residual, at(&k->residual, 0, j), mask);
	return o;
}

/* The operand for row @i: the columns' @v, or that of the row. */
INLINE __m512 row_of(const struct operand *o, const struct columns *c, __m512 v, uint32_t i)
{
	return o->ms ? load_f32(o, at(o, i, c->j), c->mask) : v;
}

/* Steps of row @i before the activation; its accumulators or integers are at @acc. */
INLINE __m512 first_steps(const struct block *k, const struct columns *o, uint32_t i,
			  const char *acc, uint32_t steps, const bool integer)
{
	const struct fast_epi_block *b = k->b;
	__m512 x = _mm512_maskz_loadu_ps(o->mask, acc);

	if (integer) {
		x = _mm512_cvtepi32_ps(sums(b, acc, i, o->mask, o->add, o->zero));
		x = _mm512_mul_ps(x, b->scale_ms ? _mm512_set1_ps(b->scale[i]) : o->scale);
		if (steps & EPI_ROWS)
			x = _mm512_mul_ps(x, load_f32(&k->rows, at(&k->rows, i, 0), 1));
	}
	if (steps & EPI_ALPHA)
		x = _mm512_mul_ps(x, _mm512_set1_ps(k->alpha));
	if (steps & EPI_C)
		x = _mm512_add_ps(x, _mm512_mul_ps(_mm512_set1_ps(k->beta),
						   row_of(&k->c, o, o->c, i)));
	if (steps & EPI_SCALE)
		x = _mm512_mul_ps(x, row_of(&k->scale, o, o->factor, i));
	if (steps & EPI_BIAS)
		x = _mm512_add_ps(x, row_of(&k->bias, o, o->bias, i));
	if (steps & EPI_RESIDUAL)
		x = _mm512_add_ps(x, row_of(&k->residual, o, o->residual, i));
	if (steps & EPI_RELU)
		x = _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_NLE_UQ),
					x);
	return x;
}

INLINE void last_steps(const struct block *k, const struct columns *o, uint32_t i, char *dst,
		       __m512 x, uint32_t steps, float reciprocal, const uint32_t dtype)
{
	if (steps & EPI_POST)
		x = _mm512_add_ps(x, row_of(&k->residual, o, o->residual, i));
	store(k, dst, o->mask, x, reciprocal, dtype);
}

/* Activations that math_act() does not have, with the model's functions. */
static __attribute__((noinline)) void activate(const struct fast_prog *p, __m512 x[4])
{
	const struct uma_op *op = p->op;
	float values[64] __attribute__((aligned(64)));
	uint32_t i;

	if (math_has_act(op->act)) {
		math_act(x, op->act, v_set(float_of(op->p0)), v_set(float_of(op->p1)));
		return;
	}
	for (i = 0; i < 4; i++)
		_mm512_store_ps(values + 16 * i, x[i]);
	p->rows->act[op->act](values, op->p0, op->p1, 64);
	for (i = 0; i < 4; i++)
		x[i] = _mm512_load_ps(values + 16 * i);
}

/**
 * float_columns - run the steps of up to 16 columns
 * @k: block
 * @j: first column
 * @mask: valid columns
 * @steps: EPI_*
 * @integer: start from integer accumulators, else from floating-point values
 * @act: @steps has EPI_ACT
 * @dtype: type of the result
 */
INLINE void float_columns(const struct block *k, uint32_t j, __mmask16 mask, uint32_t steps,
			  const bool integer, const bool act, const uint32_t dtype)
{
	const struct columns o = open_columns(k, j, mask, steps, integer);
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
		const __m512 none = _mm512_setzero_ps();
		__m512 x[4] = { none, none, none, none };

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
	for (j = 0; j + 16 <= b.n; j += 16)
		float_columns(&k, j, ALL, steps, integer, act, dtype);
	if (j < b.n)
		float_columns(&k, j, (__mmask16)((1u << (b.n - j)) - 1), steps, integer, act,
			      dtype);
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

INLINE void add_wide(const struct operand *o, uint32_t i, uint32_t j, __mmask16 mask, __m512i *lo,
		     __m512i *hi)
{
	const __m512i v = load_words(o, at(o, i, j), mask);

	*lo = _mm512_add_epi64(*lo, _mm512_cvtepi32_epi64(_mm512_castsi512_si256(v)));
	*hi = _mm512_add_epi64(*hi, _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(v, 1)));
}

INLINE __m512i exact_steps(const struct block *k, uint32_t i, uint32_t j, __mmask16 mask, __m512i v)
{
	const uint32_t steps = k->e->steps;
	__m512i lo = _mm512_cvtepi32_epi64(_mm512_castsi512_si256(v));
	__m512i hi = _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(v, 1));

	if (steps & EPI_C)
		add_wide(&k->c, i, j, mask, &lo, &hi);
	if (steps & EPI_BIAS)
		add_wide(&k->bias, i, j, mask, &lo, &hi);
	if (steps & EPI_RESIDUAL)
		add_wide(&k->residual, i, j, mask, &lo, &hi);
	if (steps & EPI_RELU) {
		lo = _mm512_max_epi64(lo, _mm512_setzero_si512());
		hi = _mm512_max_epi64(hi, _mm512_setzero_si512());
	}
	if (steps & EPI_POST)
		add_wide(&k->residual, i, j, mask, &lo, &hi);
	return _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtsepi64_epi32(lo)),
				  _mm512_cvtsepi64_epi32(hi), 1);
}

static void exact_block(const struct block *k)
{
	const struct fast_epi_block *b = k->b;
	uint32_t i, j;

	for (j = 0; j < b->n; j += 16) {
		const __mmask16 mask = b->n - j < 16 ? (__mmask16)((1u << (b->n - j)) - 1) : ALL;
		const __m512i add = of_columns(b->col_add, j, mask);
		const __m512i zero = of_columns(b->col_zero, j, mask);
		const char *acc = (const char *)((const int32_t *)b->acc + j);

		for (i = 0; i < b->m; i++, acc += b->ld * 4) {
			__m512i v = sums(b, acc, i, mask, add, zero);

			if (k->e->steps)
				v = exact_steps(k, i, j, mask, v);
			_mm512_mask_storeu_epi32((char *)at(&k->dst, i, j), mask, v);
		}
	}
}

void fast_epi_vector_avx512(const struct fast_prog *p, const struct fast_epi *e,
			    const struct fast_epi_block *b)
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

// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The reference: what a task means, element by element, in binary64 and 64-bit
 * integers, straight from the descriptor. It shares no code with the model.
 *
 * Beside each value goes a bound on the error that the documented order of
 * operations in binary32 may have made so far. All operations are in one file, so that
 * they share how values are read and written and nothing else does.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "mt.h"

struct val {
	double v;
	double e;
};

/* --- reading -------------------------------------------------------------- */

double ref_element(int dtype, const uint8_t *p, int nibble)
{
	uint32_t w = 0;
	int e, m;

	switch (dtype) {
	case UMA_DTYPE_F32: {
		float f;

		memcpy(&f, p, 4);
		return f;
	}
	case UMA_DTYPE_BF16: {
		float f;

		memcpy((uint8_t *)&w + 2, p, 2);
		memcpy(&f, &w, 4);
		return f;
	}
	case UMA_DTYPE_F16: {
		double r;

		memcpy(&w, p, 2);
		e = w >> 10 & 31;
		m = w & 1023;
		if (e == 31)
			r = m ? (double)NAN : (double)INFINITY;
		else
			r = (double)(e ? 1024 + m : m) * (1u << (e ? e : 1)) / (1u << 25);
		return w & 0x8000 ? -r : r;
	}
	case UMA_DTYPE_S32: {
		int32_t i;

		memcpy(&i, p, 4);
		return i;
	}
	case UMA_DTYPE_S8:
		return (int8_t)*p;
	case UMA_DTYPE_U8:
		return *p;
	case UMA_DTYPE_S4:
		m = nibble ? *p >> 4 : *p & 15;
		return m < 8 ? m : m - 16;
	default:
		return nibble ? *p >> 4 : *p & 15;
	}
}

static int bytes_of(int dtype)
{
	static const int bytes[UMA_DTYPE_COUNT] = { 0, 4, 2, 2, 4, 1, 1 };

	return bytes[dtype];
}

static const uint8_t *locate(const uint8_t *image, const struct uma_operand *o,
			     const uint32_t *idx, int *nibble)
{
	int64_t off = 0;
	int d;

	for (d = 0; d < o->rank; d++)
		off += (int64_t)idx[d] * (int64_t)o->strides[d];
	*nibble = (int)(off & 1);
	if (!bytes_of(o->dtype))
		return image + (int64_t)(o->addr - MT_BASE) + (off >> 1);
	return image + (int64_t)(o->addr - MT_BASE) + off * bytes_of(o->dtype);
}

/* The block that an element is in, and which of it the element is. */
static const uint8_t *locate_block(const uint8_t *image, const struct uma_operand *o,
				   const uint32_t *idx, int *at)
{
	int size = mt_block_size(o->dtype), d;
	int64_t off = 0;

	for (d = 0; d < o->rank; d++)
		off += (int64_t)idx[d] * (int64_t)o->strides[d];
	*at = (int)(off & (size - 1));
	return image + (int64_t)(o->addr - MT_BASE) +
	       (off - *at) / size * mt_block_bytes(o->dtype);
}

double ref_load(const uint8_t *image, const struct uma_operand *o,
		const uint32_t *idx)
{
	const uint8_t *p;
	int nibble;

	if (mt_block_size(o->dtype)) {
		p = locate_block(image, o, idx, &nibble);
		return mt_block_element(o->dtype, p, nibble);
	}
	p = locate(image, o, idx, &nibble);
	return ref_element(o->dtype, p, nibble);
}

/* Entry of the tables that an element has. */
static uint64_t table_at(const struct uma_operand *o, const uint32_t *idx)
{
	uint32_t order[UMA_MAX_RANK] = { 0 }, d, i;
	uint64_t at = 0;

	for (d = 0; d < o->rank; d++)
		order[d] = d;
	if (o->rank > 1 && (o->quant_flags & UMA_QUANT_SWAPPED)) {
		order[o->rank - 2] = o->rank - 1;
		order[o->rank - 1] = o->rank - 2;
	}
	if (o->quant == UMA_QUANT_CHANNEL)
		at = idx[o->quant_axis];
	else
		for (i = 0; i < o->rank; i++) {
			uint32_t n, at_d;

			d = order[i];
			n = o->dims[d];
			at_d = idx[d];
			if (d == o->quant_axis) {
				n = (n + o->quant_group - 1) / o->quant_group;
				at_d /= o->quant_group;
			}
			if (o->quant_flags & 1u << d) {
				n = 1;
				at_d = 0;
			}
			at = at * n + at_d;
		}
	return at;
}

/* Scale and zero point of an element. */
static void quant_of(const uint8_t *image, const struct uma_operand *o,
		     const uint32_t *idx, double *scale, double *zero)
{
	uint64_t at;

	*scale = 1;
	*zero = 0;
	if (o->quant == UMA_QUANT_NONE)
		return;
	if (o->quant == UMA_QUANT_TENSOR) {
		*scale = mt_float(o->scale);
		*zero = (int32_t)o->zero;
		return;
	}
	at = table_at(o, idx);
	*scale = ref_element(o->scale_dtype, image + (o->scale_addr - MT_BASE) +
			     at * (uint64_t)bytes_of(o->scale_dtype), 0);
	if (o->zero_addr && o->quant != UMA_QUANT_GROUP_MIN)
		*zero = ref_element(UMA_DTYPE_S32,
				    image + (o->zero_addr - MT_BASE) + at * 4, 0);
}

/* What is added to the product of an element and its scale. */
static double min_of(const uint8_t *image, const struct uma_operand *o, const uint32_t *idx)
{
	if (o->quant != UMA_QUANT_GROUP_MIN)
		return 0;
	return ref_element(o->scale_dtype, image + (o->zero_addr - MT_BASE) +
			   table_at(o, idx) * (uint64_t)bytes_of(o->scale_dtype), 0);
}

/* One rounding to binary32. */
static struct val rounded(double v, double e)
{
	struct val r = { v, e + REF_U * (fabs(v) + e) + REF_TINY };

	/* Beyond the range of binary32 it may have become infinite. */
	if (isfinite(v) && fabs(v) + r.e >= 0x1fffffep103)
		r.e = INFINITY;
	return r;
}

static struct val load(const uint8_t *image, const struct uma_operand *o,
		       const uint32_t *idx)
{
	double x = ref_load(image, o, idx), scale, zero;
	struct val r = { x, 0 };

	if (o->quant) {
		quant_of(image, o, idx, &scale, &zero);
		r = rounded(x - zero, 0);
		r = rounded(r.v * scale, r.e * scale);
		return o->quant == UMA_QUANT_GROUP_MIN ?
			rounded(r.v + min_of(image, o, idx), r.e) : r;
	}
	/* Of blocks only the sum of two products is rounded. */
	if (o->dtype == UMA_DTYPE_S32 || o->dtype == UMA_DTYPE_Q4_1 || o->dtype == UMA_DTYPE_Q4_K)
		return rounded(x, 0);
	return r;
}

static double clamp(double x, double lo, double hi)
{
	return x < lo ? lo : x > hi ? hi : x;
}

static struct val apply(const struct ref_func *f, struct val x, double p0, double p1)
{
	double y = f->f(x.v, p0, p1);
	double up = fabs(f->f(x.v + x.e, p0, p1) - y);
	double down = fabs(f->f(x.v - x.e, p0, p1) - y);
	double e = 0;

	if (isinf(x.e))
		return (struct val){ y, INFINITY };
	if (x.e > 0) {
		e = fmax(up, down);
		if (isnan(e))
			e = INFINITY;
	}
	e += ref_extra(f, x.v, p0, p1);
	e += f->rel * (fabs(y) + e) + f->abs;
	/* What follows sees an infinity beyond the range of binary32. */
	if (isfinite(y) && fabs(y) - e > 0x1ffffffp103)
		return (struct val){ copysign(INFINITY, y), 0 };
	if (isfinite(y) && fabs(y) + e >= 0x1fffffep103)
		e = INFINITY;
	return (struct val){ y, e };
}

/* --- expectations --------------------------------------------------------- */

static float param(const struct uma_task *t, int word)
{
	uint32_t b;

	memcpy(&b, t->params + 4 * word, 4);
	return mt_float(b);
}

static struct val add(struct val x, struct val y)
{
	return rounded(x.v + y.v, x.e + y.e);
}

static struct val mul(struct val x, struct val y)
{
	return rounded(x.v * y.v, fabs(x.v) * y.e + fabs(y.v) * x.e + x.e * y.e);
}

/*
 * The matrix of B that a row of DST belongs to, and which of its rows that is; -1: none.
 * Always 0 and the row itself without UMA_GEMM_EXPERTS.
 */
static int expert_of(const struct uma_task *t, const uint8_t *image, uint32_t row, uint32_t *own)
{
	const struct uma_operand *table = &t->op[UMA_SLOT_AUX0];
	int64_t left = t->op[UMA_SLOT_DST].dims[1], count;
	uint32_t e, flags;

	*own = row;
	memcpy(&flags, t->params + 12, 4);
	if (t->opcode != UMA_OP_GEMM || !(flags & UMA_GEMM_EXPERTS))
		return 0;
	for (e = 0; e < table->dims[0]; e++) {
		count = (int64_t)ref_load(image, table, &e);
		count = count < 0 ? 0 : count > left ? left : count;
		if (*own < count)
			return (int)e;
		*own -= (uint32_t)count;
		left -= count;
	}
	return -1;
}

/* Where B, and where a bias or scale of the matrix, has what an element of DST meets. */
static void expert_index(const struct uma_task *t, const uint8_t *image, int slot,
			 const uint32_t *idx, uint32_t *at)
{
	uint32_t own;
	int e;

	memcpy(at, idx, UMA_MAX_RANK * sizeof(*at));
	if (!(t->slots >> UMA_SLOT_AUX0 & 1) || t->opcode != UMA_OP_GEMM)
		return;
	e = expert_of(t, image, idx[1], &own);
	if (slot != UMA_SLOT_B && t->op[slot].dims[0] < 2)
		return;
	at[0] = (uint32_t)e;
	at[1] = own;
}

/* Bytes, or bytes with zero points: exact. */
static int64_t int_sum(const struct uma_task *t, const uint8_t *image,
		       const uint32_t *idx)
{
	const struct uma_operand *a = &t->op[UMA_SLOT_A], *b = &t->op[UMA_SLOT_B];
	uint32_t ia[UMA_MAX_RANK], ib[UMA_MAX_RANK], k;
	int r = a->rank;
	int64_t sum = 0;

	memcpy(ia, idx, sizeof(ia));
	expert_index(t, image, UMA_SLOT_B, idx, ib);
	for (k = 0; k < a->dims[r - 1]; k++) {
		double sa, za, sb, zb;

		ia[r - 1] = k;
		ib[r - 2] = k;
		quant_of(image, a, ia, &sa, &za);
		quant_of(image, b, ib, &sb, &zb);
		sum += ((int64_t)ref_load(image, a, ia) - (int64_t)za) *
		       ((int64_t)ref_load(image, b, ib) - (int64_t)zb);
	}
	return sum;
}

/* What bytes may be multiplied with apart from the rest of the element: a block's minimum. */
static double addend(const uint8_t *image, const struct uma_operand *a,
		     const struct uma_operand *b, const uint32_t *idx, uint32_t group)
{
	const uint8_t *p;
	int at;

	if ((bytes_of(a->dtype) != 1 && !group) || !mt_block_size(b->dtype))
		return 0;
	p = locate_block(image, b, idx, &at);
	return fabs(mt_block_min(b->dtype, p, at));
}

/*
 * An element of A as the byte that it becomes among those that are rounded with it. With the
 * first of those @scale becomes what they share.
 */
static struct val in_bytes(const uint8_t *image, const struct uma_operand *a,
			   const uint32_t *idx, uint32_t group, float *scale)
{
	const int k = a->rank - 1;
	uint32_t at[UMA_MAX_RANK], i;
	float x, q;

	if (!(idx[k] % group)) {
		memcpy(at, idx, sizeof(at));
		*scale = 0;
		for (i = idx[k]; i < a->dims[k] && i - idx[k] < group; i++) {
			at[k] = i;
			x = fabsf((float)ref_load(image, a, at));
			*scale = x > *scale || isnan(x) ? x : *scale;
		}
		*scale /= 127;
		if (*scale == 0)
			*scale = 1;
	}
	q = rintf((float)ref_load(image, a, idx) / *scale);
	if (!isfinite(*scale) || isnan(q))
		q = 0;
	q = q > 127 ? 127 : q < -128 ? -128 : q;
	return rounded((double)q * *scale, 0);
}

bool ref_bf16;

static double nearest_bf16(double x)
{
	float f = (float)x;
	uint32_t bits;

	if (isnan(f))
		return (double)f;
	memcpy(&bits, &f, sizeof(bits));
	bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
	memcpy(&f, &bits, sizeof(f));
	return (double)f;
}

/* A number that is rounded to bf16: within its error there may be the middle of two. */
static struct val in_bf16(struct val x)
{
	const double lo = nearest_bf16(x.v - x.e), hi = nearest_bf16(x.v + x.e);

	return (struct val){ (lo + hi) / 2, isinf(lo) ? 0 : (hi - lo) / 2 };
}

static struct val gemm_sum(const struct uma_task *t, const uint8_t *image,
			   const uint32_t *idx, bool bf16)
{
	const struct uma_operand *a = &t->op[UMA_SLOT_A], *b = &t->op[UMA_SLOT_B];
	uint32_t ia[UMA_MAX_RANK], ib[UMA_MAX_RANK], k;
	int r = a->rank;
	uint32_t depth = a->dims[r - 1], group;
	double sum = 0, mag = 0, in = 0;
	float scale = 1;

	memcpy(&group, t->params + 8, 4);
	memcpy(ia, idx, sizeof(ia));
	expert_index(t, image, UMA_SLOT_B, idx, ib);
	if (bytes_of(a->dtype) == 1 && a->quant <= UMA_QUANT_TENSOR &&
	    b->quant < UMA_QUANT_GROUP && !mt_block_size(b->dtype)) {
		double sa = 1, sb = 1, z;
		double s = (double)int_sum(t, image, idx);

		ia[r - 1] = 0;
		ib[r - 2] = 0;
		quant_of(image, a, ia, &sa, &z);
		if (b->quant != UMA_QUANT_NONE)
			quant_of(image, b, ib, &sb, &z);
		return mul(rounded(s, 0), mul((struct val){ sa, 0 }, (struct val){ sb, 0 }));
	}
	for (k = 0; k < depth; k++) {
		struct val x, y;

		ia[r - 1] = k;
		ib[r - 2] = k;
		x = group && !bf16 ? in_bytes(image, a, ia, group, &scale) : load(image, a, ia);
		y = load(image, b, ib);
		if (bf16) {
			x = in_bf16(x);
			y = in_bf16(y);
			/* Subnormal factors, products and sums may count as zero. */
			in += (2 + fabs(x.v) + fabs(y.v)) * (double)__FLT_MIN__;
		}
		sum += x.v * y.v;
		mag += fabs(x.v) * (fabs(y.v) + 2 * addend(image, a, b, ib, group));
		in += fabs(x.v) * y.e + fabs(y.v) * x.e;
	}
	/* gamma(K): a product and a sum a step, one after the other. */
	in += (mag + in) * (depth * REF_U) / (1 - depth * REF_U) + depth * REF_TINY;
	if (mag > 3e38)
		in = INFINITY;
	return (struct val){ sum, in };
}

static struct val expect_gemm(const struct uma_task *t, const uint8_t *image,
			      const uint32_t *idx, bool bf16)
{
	const struct uma_epilogue *e = &t->epilogue;
	float alpha = param(t, 0), beta = param(t, 1);
	uint32_t bias[UMA_MAX_RANK], scale[UMA_MAX_RANK];
	struct val x = gemm_sum(t, image, idx, bf16);

	expert_index(t, image, UMA_SLOT_BIAS, idx, bias);
	expert_index(t, image, UMA_SLOT_SCALE, idx, scale);
	if (alpha != 1)
		x = mul(x, (struct val){ alpha, 0 });
	if (beta != 0)
		x = add(x, mul(load(image, &t->op[UMA_SLOT_C], idx),
			       (struct val){ beta, 0 }));
	if (e->flags & UMA_EPI_SCALE)
		x = mul(x, load(image, &t->op[UMA_SLOT_SCALE], scale));
	if (e->flags & UMA_EPI_BIAS)
		x = add(x, load(image, &t->op[UMA_SLOT_BIAS], bias));
	if (e->flags & UMA_EPI_RESIDUAL)
		x = add(x, load(image, &t->op[UMA_SLOT_RESIDUAL], idx));
	x = apply(&ref_acts[e->act], x, mt_float(e->p0), mt_float(e->p1));
	if (e->flags & UMA_EPI_RESIDUAL_POST)
		x = add(x, load(image, &t->op[UMA_SLOT_RESIDUAL], idx));
	return x;
}

/*
 * The value in binary32, with the roundings of its definition: for functions
 * that jump, of which a bound of the argument says nothing.
 */
static double load_f32(const uint8_t *image, const struct uma_operand *o,
		       const uint32_t *idx)
{
	double x = ref_load(image, o, idx), scale, zero;
	float f;

	if (!o->quant)
		return (float)x;
	quant_of(image, o, idx, &scale, &zero);
	f = (float)(x - zero);
	return (float)((float)(f * (float)scale) + (float)min_of(image, o, idx));
}

static int plain_int(const struct uma_operand *o)
{
	return o->dtype >= UMA_DTYPE_S32 && !o->quant;
}

static struct val expect_more(const struct uma_task *t, const uint8_t *image,
			      const uint32_t *idx, uint32_t func)
{
	const struct uma_operand *oa = &t->op[UMA_SLOT_A], *ob = &t->op[UMA_SLOT_B];
	int ints = plain_int(oa) && plain_int(ob) && func >= UMA_BINARY_EQ &&
		   func <= UMA_BINARY_XOR;
	double a = ints ? ref_load(image, oa, idx) : load_f32(image, oa, idx);
	double b = ints ? ref_load(image, ob, idx) : load_f32(image, ob, idx);
	double y;

	if (func != UMA_BINARY_POW)
		return (struct val){ ref_jump(func, a, b), 0 };
	y = pow(a, b);
	if (fabs(y) > 0x1fffffefp99)
		return (struct val){ copysign(INFINITY, y), 0 };
	return (struct val){ y, fabs(y) * 1.0001 * REF_U + REF_TINY };
}

static struct val expect_binary(const struct uma_task *t, const uint8_t *image,
				const uint32_t *idx)
{
	struct val a = load(image, &t->op[UMA_SLOT_A], idx);
	struct val b = load(image, &t->op[UMA_SLOT_B], idx);
	uint32_t func;

	memcpy(&func, t->params, 4);
	if (func > UMA_BINARY_MIN)
		return expect_more(t, image, idx, func);
	switch (func) {
	case UMA_BINARY_ADD:
		return add(a, b);
	case UMA_BINARY_SUB:
		return rounded(a.v - b.v, a.e + b.e);
	case UMA_BINARY_MUL:
		return mul(a, b);
	case UMA_BINARY_DIV: {
		double q = a.v / b.v;
		double room = fabs(b.v) - b.e;
		double e = (a.e + fabs(q) * b.e) / (room > 0 ? room : 0);

		return rounded(q, a.e == 0 && b.e == 0 ? 0 : e);
	}
	case UMA_BINARY_MAX:
		return isnan(a.v) || isnan(b.v) ? (struct val){ NAN, 0 } :
			(struct val){ fmax(a.v, b.v), fmax(a.e, b.e) };
	default:
		return isnan(a.v) || isnan(b.v) ? (struct val){ NAN, 0 } :
			(struct val){ fmin(a.v, b.v), fmax(a.e, b.e) };
	}
}

/* Which of B and C a selection takes. */
static int chosen(const struct uma_task *t, const uint8_t *image, const uint32_t *idx)
{
	/* NaN is not zero. */
	return load_f32(image, &t->op[UMA_SLOT_A], idx) == 0 ? UMA_SLOT_C : UMA_SLOT_B;
}

static struct val expect(const struct uma_task *t, const uint8_t *image,
			 const uint32_t *idx, bool bf16)
{
	const struct uma_epilogue *e = &t->epilogue;
	uint32_t func;
	struct val x;

	memcpy(&func, t->params, 4);
	switch (t->opcode) {
	case UMA_OP_GEMM:
		return expect_gemm(t, image, idx, bf16);
	case UMA_OP_BINARY:
		x = expect_binary(t, image, idx);
		break;
	case UMA_OP_UNARY:
		x = load(image, &t->op[UMA_SLOT_A], idx);
		if (func > UMA_UNARY_ROUND)
			x = (struct val){ load_f32(image, &t->op[UMA_SLOT_A], idx), 0 };
		x = apply(&ref_unaries[func], x, 0, 0);
		break;
	case UMA_OP_SELECT:
		return load(image, &t->op[chosen(t, image, idx)], idx);
	default:
		return load(image, &t->op[UMA_SLOT_A], idx);
	}
	return apply(&ref_acts[e->act], x, mt_float(e->p0), mt_float(e->p1));
}

static int64_t saturate(int64_t v)
{
	return v < INT32_MIN ? INT32_MIN : v > INT32_MAX ? INT32_MAX : v;
}

static int64_t stored_int(const uint8_t *image, const struct uma_task *t, int slot,
			  const uint32_t *idx)
{
	return (int64_t)ref_load(image, &t->op[slot], idx);
}

static int64_t expect_exact(const struct uma_task *t, const uint8_t *image,
			    const uint32_t *idx)
{
	const struct uma_epilogue *e = &t->epilogue;
	uint32_t func, at[UMA_MAX_RANK];
	int64_t x, a, b;

	if (t->opcode == UMA_OP_UNARY || t->opcode == UMA_OP_BINARY) {
		memcpy(&func, t->params, 4);
		a = stored_int(image, t, UMA_SLOT_A, idx);
		b = t->opcode == UMA_OP_BINARY ? stored_int(image, t, UMA_SLOT_B, idx) : 0;
		x = t->opcode == UMA_OP_BINARY ? ref_int_binary(func, a, b, t->op[0].dtype) :
						 ref_int_unary(func, a, t->op[0].dtype);
		if (e->act == UMA_ACT_RELU && x < 0)
			x = 0;
		return saturate(x);
	}
	x = int_sum(t, image, idx);
	if (t->slots & 1u << UMA_SLOT_C)
		x += stored_int(image, t, UMA_SLOT_C, idx);
	expert_index(t, image, UMA_SLOT_BIAS, idx, at);
	if (e->flags & UMA_EPI_BIAS)
		x += stored_int(image, t, UMA_SLOT_BIAS, at);
	if (e->flags & UMA_EPI_RESIDUAL)
		x += stored_int(image, t, UMA_SLOT_RESIDUAL, idx);
	if (e->act == UMA_ACT_RELU && x < 0)
		x = 0;
	if (e->flags & UMA_EPI_RESIDUAL_POST)
		x += stored_int(image, t, UMA_SLOT_RESIDUAL, idx);
	return saturate(x);
}

static int is_exact(const struct uma_task *t)
{
	const struct uma_operand *d = &t->op[0], *a = &t->op[1], *b = &t->op[2];
	uint32_t func;

	memcpy(&func, t->params, 4);
	if (t->opcode == UMA_OP_BINARY && func >= UMA_BINARY_BIT_AND &&
	    func <= UMA_BINARY_SHR)
		return 1;
	if (t->opcode == UMA_OP_UNARY && func == UMA_UNARY_BIT_NOT)
		return 1;
	if (d->dtype != UMA_DTYPE_S32 || d->quant)
		return 0;
	if (t->opcode == UMA_OP_GEMM)
		return bytes_of(a->dtype) == 1;
	if (t->opcode == UMA_OP_UNARY)
		return a->dtype == UMA_DTYPE_S32 && !a->quant &&
		       t->epilogue.act <= UMA_ACT_RELU &&
		       (func == UMA_UNARY_ABS || func == UMA_UNARY_NEG ||
			func == UMA_UNARY_SQUARE || func == UMA_UNARY_SIGN ||
			func == UMA_UNARY_NOT);
	return t->opcode == UMA_OP_BINARY && a->dtype == UMA_DTYPE_S32 &&
	       b->dtype == UMA_DTYPE_S32 && !a->quant && !b->quant;
}

/* Is @got what @want may become in this type? */
static int float_fits(int dtype, double got, struct val want)
{
	double max = dtype == UMA_DTYPE_F16 ? 65504 :
		     dtype == UMA_DTYPE_BF16 ? 0x1fep119 : 0x1fffffep103;
	double unit = dtype == UMA_DTYPE_F16 ? 1.0 / 2048 :
		      dtype == UMA_DTYPE_BF16 ? 1.0 / 256 : 0;
	/* Half of the smallest number. */
	double least = dtype == UMA_DTYPE_F16 ? 1.0 / (1 << 25) :
		       dtype == UMA_DTYPE_BF16 ? REF_TINY * (1 << 15) : 0;
	double tol;

	if (isnan(want.v))
		return isnan(got);
	if (isinf(want.v))
		return got == want.v;
	/* Nothing is known, as where a function has a pole within the error. */
	if (isinf(want.e))
		return 1;
	tol = want.e + unit * (fabs(want.v) + want.e) + least;
	if (isinf(got))
		return fabs(want.v) + tol > max;
	return fabs(got - want.v) <= tol;
}

static int int_fits(int dtype, double got, struct val want, double scale, double zero)
{
	static const double lo[] = { 0, 0, 0, 0, INT32_MIN, -128, 0, -8, 0 };
	static const double hi[] = { 0, 0, 0, 0, INT32_MAX, 127, 255, 7, 15 };
	double q, e;

	if (isnan(want.v))
		return got == clamp(zero, lo[dtype], hi[dtype]);
	if (isinf(want.v))
		return got == (want.v < 0 ? lo : hi)[dtype];
	if (isinf(want.e))
		return 1;
	q = want.v / scale;
	e = want.e / scale;
	e += REF_U * (fabs(q) + e);
	return got >= clamp(nearbyint(q - e) + zero, lo[dtype], hi[dtype]) &&
	       got <= clamp(nearbyint(q + e) + zero, lo[dtype], hi[dtype]);
}

/* Does a selection move elements as they are? */
static int moves(const struct uma_task *t)
{
	const struct uma_operand *d = &t->op[0], *b = &t->op[2], *c = &t->op[3];

	return !d->quant && !b->quant && !c->quant && d->dtype == b->dtype &&
	       d->dtype == c->dtype;
}

static bool may_be_bf16(const struct uma_task *t)
{
	uint32_t flags;

	memcpy(&flags, t->params + 12, 4);
	return ref_bf16 && t->opcode == UMA_OP_GEMM && flags & UMA_GEMM_BF16;
}

static int check_element(const struct uma_task *t, const uint8_t *before,
			 const uint8_t *after, const uint32_t *idx, char *why,
			 size_t size)
{
	const struct uma_operand *d = &t->op[0], *a = &t->op[1];
	int sel = t->opcode == UMA_OP_SELECT;
	double got = ref_load(after, d, idx), scale, zero;
	struct val want;
	int ok, n1, n2;

	if (sel)
		a = &t->op[chosen(t, before, idx)];
	if (t->opcode == UMA_OP_FILL) {
		const uint8_t *p = locate(after, d, idx, &n1);
		uint32_t v, stored = 0;

		memcpy(&v, t->params, 4);
		if (!bytes_of(d->dtype))
			stored = n1 ? *p >> 4 : *p & 15;
		else
			memcpy(&stored, p, (size_t)bytes_of(d->dtype));
		ok = stored == v;
		want.v = v;
		want.e = 0;
	} else if ((sel ? moves(t) : t->opcode == UMA_OP_COPY && a->dtype == d->dtype &&
		    !a->quant && !d->quant) && bytes_of(d->dtype)) {
		ok = !memcmp(locate(after, d, idx, &n1), locate(before, a, idx, &n2),
			     (size_t)bytes_of(d->dtype));
		want.v = ref_load(before, a, idx);
		want.e = 0;
	} else if (is_exact(t)) {
		want.v = (double)expect_exact(t, before, idx);
		want.e = 0;
		ok = got == want.v;
	} else {
		quant_of(before, d, idx, &scale, &zero);
		for (n1 = ok = 0; !ok && n1 <= (int)may_be_bf16(t); n1++) {
			want = expect(t, before, idx, n1);
			ok = d->dtype <= UMA_DTYPE_BF16 ? float_fits(d->dtype, got, want) :
				int_fits(d->dtype, got, want, scale, zero);
		}
	}
	if (!ok)
		snprintf(why, size, "at [%u %u %u %u %u]: got %.9g, want %.9g +- %.3g",
			 idx[0], idx[1], idx[2], idx[3], idx[4], got, want.v, want.e);
	return ok ? 0 : -1;
}

int ref_check(const struct uma_task *task, const uint8_t *before, const uint8_t *after,
	      uint32_t bytes, char *why, size_t size)
{
	static uint8_t written[MT_SIZE];
	const struct uma_operand *d = &task->op[0];
	uint32_t idx[UMA_MAX_RANK] = { 0 }, own;
	uint64_t was, is, mask;
	int i, nibble, empty = 0;
	size_t at;

	memset(written, 0, bytes);
	for (i = 0; i < d->rank; i++)
		empty |= !d->dims[i];
	while (!empty) {
		const uint8_t *p = locate(after, d, idx, &nibble);

		/* Rows that no matrix has stay what they were. */
		if (expert_of(task, before, idx[1], &own) < 0)
			goto next;
		if (bytes_of(d->dtype))
			memset(written + (p - after), 0xff, (size_t)bytes_of(d->dtype));
		else
			written[p - after] |= nibble ? 0xf0 : 0x0f;
		if (check_element(task, before, after, idx, why, size))
			return -1;
next:
		for (i = d->rank - 1; i >= 0; i--) {
			if (++idx[i] < d->dims[i])
				break;
			idx[i] = 0;
		}
		if (i < 0)
			break;
	}
	for (at = 0; at < bytes; at += sizeof(was)) {
		memcpy(&was, before + at, sizeof(was));
		memcpy(&is, after + at, sizeof(is));
		memcpy(&mask, written + at, sizeof(mask));
		if ((was ^ is) & ~mask) {
			snprintf(why, size, "one of 8 bytes from offset %zu on was written", at);
			return -1;
		}
	}
	return 0;
}

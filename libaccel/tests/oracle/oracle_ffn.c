// SPDX-License-Identifier: MIT
/*
 * Feed-forward networks: two or three products, a row at a time.
 */
#include <math.h>
#include <stdlib.h>

#include "oracle.h"
#include "libaccel/tests/ops/optest.h"

#define U	ORACLE_U
#define TINY	ORACLE_TINY

/* Element of weights or rows for a batch of D; what is missing or 1 repeats. */
static double at(const struct accel_tensor *t, const struct accel_tensor *d,
		 const int64_t *idx, int64_t row, int64_t col)
{
	int64_t i[ACCEL_MAX_RANK] = { 0 };
	uint32_t b;

	for (b = 0; b + 2 < t->rank; b++)
		i[b] = t->dims[b] == 1 ? 0 : idx[d->rank - t->rank + b];
	i[t->rank - 2] = row;
	i[t->rank - 1] = col;
	return oracle_load(t, i);
}

static double weight(const struct accel_ffn_desc *f, const struct accel_tensor *w,
		     const int64_t *idx, int64_t k, int64_t n)
{
	return f->flags & ACCEL_FFN_TRANS ? at(w, &f->d, idx, n, k) : at(w, &f->d, idx, k, n);
}

/*
 * The bound of a product: a rounding for each product and sum, and some for the
 * scales, which sums of integers have once and what is dequantised has always.
 */
static struct oracle_num product(double sum, double mag, double in, int64_t k, double less)
{
	if (!isfinite(sum))
		return (struct oracle_num){ sum, isinf(in) ? INFINITY : 0 };
	/* A sum of numbers of either sign may overflow on its way, in one order or another. */
	if (mag * 1.001 > (double)__FLT_MAX__ && !(fabs(sum) >= mag * 0.999))
		in = INFINITY;
	return (struct oracle_num){
		sum, in + (mag + in) * (double)(k + 7) * U * 1.001 + (double)(k + 1) * TINY + less
	};
}

/* What pairs of bf16 may lose of a product: elements, products and sums that are subnormal. */
static double lost(uint32_t dtype, double x, double w)
{
	if (dtype != ACCEL_BF16)
		return 0;
	return (fabs(x) + fabs(w) + 2 * fmax(fabs(w), 1)) * (double)__FLT_MIN__;
}

static double quantised(double v, const struct accel_tensor *t)
{
	double q = nearbyint((double)((float)v / t->quant.scale));

	/* No number counts as 0. */
	q = (isnan(q) ? 0 : q) + t->quant.zero;
	q = (double)oracle_saturate((int64_t)fmin(fmax(q, -1e9), 1e9), t->dtype);
	return (double)(t->quant.scale * (float)(q - t->quant.zero));
}

/* A number after it was stored: of those that it may be, the middle. */
static struct oracle_num stored(struct oracle_num x, const struct accel_tensor *t)
{
	double lo, hi;

	if (isnan(x.v) && !t->quant.scheme)
		return (struct oracle_num){ NAN, x.e };
	if (t->dtype == ACCEL_F32 || isinf(x.e))
		return oracle_seen(x);
	if (t->quant.scheme) {
		lo = quantised(x.v - x.e, t);
		hi = quantised(x.v + x.e, t);
	} else {
		lo = oracle_round(x.v - x.e, t->dtype);
		hi = oracle_round(x.v + x.e, t->dtype);
	}
	if (isinf(lo) || isinf(hi))
		return (struct oracle_num){ hi, lo == hi ? 0 : INFINITY };
	return (struct oracle_num){ (lo + hi) / 2, (hi - lo) / 2 + fabs(hi) / 1e15 };
}

static struct oracle_num times(struct oracle_num x, struct oracle_num y)
{
	x = oracle_seen(x);
	y = oracle_seen(y);
	if (isinf(x.e) || isinf(y.e))
		return (struct oracle_num){ x.v * y.v, INFINITY };
	/* What is infinite makes all infinite but what may be 0, or of either sign. */
	if (isinf(x.v) && isfinite(y.v))
		return oracle_mul(y, x.v);
	if (isinf(y.v) || isnan(x.v) || isnan(y.v))
		return oracle_mul(x, y.v);
	return oracle_step((struct oracle_num){
		x.v * y.v, fabs(x.v) * y.e + fabs(y.v) * x.e + x.e * y.e
	});
}

/* Row @idx of A times a column of weights. */
static struct oracle_num first(const struct accel_ffn_desc *f, const struct accel_tensor *w,
			       const struct accel_tensor *bias, const struct accel_tensor *h,
			       const int64_t *idx)
{
	int64_t k = f->a.dims[f->a.rank - 1], row = idx[f->d.rank - 2];
	int64_t col = idx[f->d.rank - 1], i;
	double sum = 0, mag = 0, less = 0, v, b;
	struct oracle_num x;

	for (i = 0; i < k; i++) {
		v = at(&f->a, &f->d, idx, row, i);
		b = weight(f, w, idx, i, col);
		sum += v * b;
		mag += fabs(v * b);
		less += lost(f->a.dtype, v, b);
	}
	x = product(sum, mag, 0, k, less);
	return bias->rank ? oracle_add(x, oracle_load_broadcast(bias, h, idx)) : x;
}

/* Element @idx of H, whose rank and batches are those of D. */
static struct oracle_num hidden(const struct accel_ffn_desc *f, const struct accel_tensor *h,
				const struct accel_tensor *loose, const int64_t *idx)
{
	const struct accel_epilogue act = { .act = f->act, .p0 = f->p0, .p1 = f->p1 };
	struct oracle_num u = first(f, &f->up, &f->up_bias, h, idx), g;

	if (!f->gate.rank)
		return stored(oracle_activation(u, &act), h);
	g = stored(oracle_activation(first(f, &f->gate, &f->gate_bias, h, idx), &act), loose);
	/* Without a bias the product is not stored before it is multiplied. */
	if (f->up_bias.rank)
		u = stored(u, loose);
	return stored(times(u, g), h);
}

static void result_row(const struct accel_ffn_desc *f, const struct oracle_num *row,
		       int64_t width, int64_t *idx, struct oracle_num *out)
{
	const struct accel_tensor *d = &f->d;
	int64_t n, i;

	for (n = 0; n < d->dims[d->rank - 1]; n++) {
		double sum = 0, mag = 0, in = 0, less = 0, w;

		idx[d->rank - 1] = n;
		for (i = 0; i < width; i++) {
			w = weight(f, &f->down, idx, i, n);
			sum += row[i].v * w;
			mag += fabs(row[i].v * w);
			in += isinf(row[i].e) ? INFINITY : row[i].e * fabs(w);
			less += lost(f->down.dtype, row[i].v, w);
		}
		out[n] = product(sum, mag, in, width, less);
		if (f->down_bias.rank)
			out[n] = oracle_add(out[n], oracle_load_broadcast(&f->down_bias, d, idx));
		if (f->residual.rank)
			out[n] = oracle_add(out[n], oracle_load_broadcast(&f->residual, d, idx));
	}
}

static int compute(const struct accel_desc *desc, uint32_t index, struct oracle_result *r)
{
	const struct accel_ffn_desc *f = (const void *)desc;
	const struct accel_tensor *d = &f->d;
	int64_t width = f->up.dims[f->up.rank - (f->flags & ACCEL_FFN_TRANS ? 2 : 1)];
	uint32_t loose_dtype = f->a.dtype <= ACCEL_BF16 ? f->a.dtype : (uint32_t)ACCEL_F16;
	uint32_t dtype = f->hidden_dtype ? f->hidden_dtype : loose_dtype;
	struct accel_tensor h, loose;
	int64_t idx[ACCEL_MAX_RANK], i;
	struct oracle_num *row;
	uint64_t n;

	(void)index;
	h = accel_tensor_dense(NULL, dtype, d->rank, d->dims);
	h.dims[d->rank - 1] = width;
	loose = h;
	if (dtype > ACCEL_BF16) {
		loose.dtype = loose_dtype;
		h.quant.scheme = ACCEL_QUANT_TENSOR;
		h.quant.scale = f->hidden_scale;
		h.quant.zero = f->hidden_zero;
	}
	row = calloc((size_t)width + 1, sizeof(*row));
	if (!row || oracle_begin(r, d, false)) {
		free(row);
		return -1;
	}
	for (n = 0; n < r->count; n += (uint64_t)d->dims[d->rank - 1]) {
		oracle_index(d, n, idx);
		for (i = 0; i < width; i++) {
			idx[d->rank - 1] = i;
			row[i] = hidden(f, &h, &loose, idx);
		}
		result_row(f, row, width, idx, r->num + n);
	}
	free(row);
	return 0;
}

static const struct accel_tensor *result(const struct accel_desc *desc, uint32_t index)
{
	return index ? NULL : &((const struct accel_ffn_desc *)desc)->d;
}

static void say(const struct accel_desc *desc, char *buf, size_t size)
{
	const struct accel_ffn_desc *f = (const void *)desc;

	op_say_text(buf, size, " flags %u act %u hidden %u scale %g zero %d", f->flags, f->act,
		    f->hidden_dtype, (double)f->hidden_scale, f->hidden_zero);
	op_say_tensor("a", &f->a, buf, size);
	op_say_tensor("up", &f->up, buf, size);
	op_say_tensor("gate", &f->gate, buf, size);
	op_say_tensor("down", &f->down, buf, size);
	op_say_tensor("up_bias", &f->up_bias, buf, size);
	op_say_tensor("gate_bias", &f->gate_bias, buf, size);
	op_say_tensor("down_bias", &f->down_bias, buf, size);
	op_say_tensor("residual", &f->residual, buf, size);
	op_say_tensor("d", &f->d, buf, size);
}

const struct oracle_op oracle_ffn = {
	.result = result, .compute = compute, .say = say,
};

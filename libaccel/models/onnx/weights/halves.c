// SPDX-License-Identifier: MIT
/*
 * Constants of 4 bits that DequantizeLinear makes real: a product multiplies by them as they lie
 * in the file, and a run of a program makes no numbers of four bytes of them.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../onnx.h"

/* More are made real before they are multiplied. */
#define MAX_HALVES	4096u

/**
 * halves_note - what a matrix of real numbers was made of
 * @im: import
 * @x: constant of 4 bits; anything else is not noted
 * @s: its scales and zero points
 * @value: the real numbers
 *
 * Return: 0, or the error that @im has.
 */
int halves_note(struct import *im, const struct ref *x, const struct scaled *s, uint32_t value)
{
	struct half_matrix *more;

	if (!x->data || (x->type != ACCEL_S4 && x->type != ACCEL_U4) || x->rank != 2 ||
	    !s->scale.data || (s->scale.type != ACCEL_F32 && s->scale.type != ACCEL_F16) ||
	    (s->zero.here && (!s->zero.data || s->zero.type != x->type)) ||
	    im->halves_count == MAX_HALVES)
		return 0;
	/* A power of two is full. */
	if (!(im->halves_count & (im->halves_count - 1))) {
		more = reallocarray(im->halves, 2 * im->halves_count + 1, sizeof(*more));
		if (!more)
			return im_fail(im, -ENOMEM, "out of memory");
		im->halves = more;
	}
	im->halves[im->halves_count++] = (struct half_matrix) { value, *x, *s, false };
	return 0;
}

static const struct half_matrix *find(const struct import *im, uint32_t value)
{
	uint32_t i;

	for (i = im->halves_count; i-- > 0;)
		if (im->halves[i].value == value)
			return &im->halves[i];
	return NULL;
}

/* @value is @from with rows and columns exchanged. */
int halves_turned(struct import *im, uint32_t from, uint32_t value)
{
	const struct half_matrix *found = find(im, from);
	struct half_matrix h;
	int ret;

	if (!found)
		return 0;
	h = *found;
	ret = halves_note(im, &h.x, &h.s, value);
	h.value = value;
	h.turned = !h.turned;
	if (!ret && find(im, value))
		im->halves[im->halves_count - 1] = h;
	return ret;
}

static int half_at(const struct ref *ref, uint64_t i)
{
	const int half = ((const uint8_t *)ref->data)[i / 2] >> i % 2 * 4 & 15;

	/* As signed ones, which are all that engines have */
	return ref->type == ACCEL_U4 ? half - 8 : half > 7 ? half - 16 : half;
}

/* How an engine has the scales, of which there are @n; false: it has not */
static bool find_scheme(const struct half_matrix *h, uint32_t along, struct accel_quant *q,
			uint64_t *n)
{
	const struct ref *x = &h->x, *scale = &h->s.scale, *zero = &h->s.zero;
	const int64_t axis = h->s.axis < 0 ? h->s.axis + 2 : h->s.axis, block = h->s.block;

	/* Rows end with a byte. */
	if (!x->dims[0] || !x->dims[1] || x->dims[1] % 2)
		return false;
	if (zero->here && (zero->rank != scale->rank ||
			   memcmp(zero->dims, scale->dims, scale->rank * sizeof(scale->dims[0]))))
		return false;
	if (!block && (!scale->rank || (scale->rank == 1 && scale->dims[0] == 1))) {
		if (scale->type != ACCEL_F32)
			return false;
		memcpy(&q->scale, scale->data, sizeof(q->scale));
		q->scheme = ACCEL_QUANT_TENSOR;
		*n = 1;
		return isfinite(q->scale) && q->scale > 0;
	}
	q->scale_dtype = scale->type;
	q->axis = (uint32_t)axis;
	if (!block) {
		q->scheme = ACCEL_QUANT_CHANNEL;
		*n = (uint64_t)x->dims[!along];
		return axis == !along && scale->rank == 1 && scale->dims[0] == x->dims[!along];
	}
	q->scheme = ACCEL_QUANT_GROUP;
	q->group = (uint32_t)block;
	*n = (uint64_t)(x->dims[!along] * ((x->dims[along] + block - 1) / block));
	return axis == along && block >= 16 && block <= 4096 && !(block & (block - 1)) &&
	       scale->rank == 2 && scale->dims[!along] == x->dims[!along] &&
	       scale->dims[along] == (x->dims[along] + block - 1) / block;
}

/* Zero points, less the middle of the type where numbers are without a sign */
static int table_of_zeros(struct import *im, const struct half_matrix *h, struct accel_quant *q,
			  uint64_t n, uint32_t *value)
{
	const struct ref *zero = &h->s.zero, *scale = &h->s.scale;
	/* Of no rows, but of a type; scales and zero points may lie at one place of a file. */
	struct made made = { zero->here ? zero->data : scale->data, zero->here ? 4 : 32,
			     UINT64_MAX - h->x.type, ACCEL_S32, scale->rank,
			     { scale->dims[0], scale->dims[1] }, NO_VALUE };
	const int none = h->x.type == ACCEL_U4 ? -8 : 0;
	int32_t *to;
	uint64_t i;

	*value = NO_VALUE;
	if (q->scheme == ACCEL_QUANT_TENSOR)
		q->zero = zero->here ? half_at(zero, 0) : none;
	if (q->scheme == ACCEL_QUANT_TENSOR || (!zero->here && !none) ||
	    tensor_made(im, &made, value))
		return 0;
	to = malloc(n * sizeof(*to));
	for (i = 0; to && i < n; i++)
		to[i] = zero->here ? half_at(zero, i) : none;
	return tensor_make(im, &made, to, value);
}

/* The same with a sign, packed as before */
static int signed_halves(struct import *im, const struct ref *x, uint32_t *value)
{
	struct made made = { x->data, 4, (uint64_t)x->dims[1] / 2, ACCEL_S4, 2,
			     { x->dims[0], x->dims[1] }, NO_VALUE };
	const size_t n = (size_t)(x->dims[0] * x->dims[1] / 2);
	const uint8_t *from = x->data;
	uint8_t *to;
	size_t i;

	*value = x->value;
	if (x->type == ACCEL_S4 || tensor_made(im, &made, value))
		return 0;
	to = malloc(n);
	for (i = 0; to && i < n; i++)
		to[i] = from[i] ^ 0x88;
	return tensor_make(im, &made, to, value);
}

/**
 * halves_product - B of a product, if it was made of constants of 4 bits
 * @im: import
 * @b: value that is B
 * @d: descriptor; its flags are there
 * @args: arguments; those of B are added
 * @count: their number
 *
 * Return: 1; 0: it is another one; or the error that @im has.
 */
int halves_product(struct import *im, uint32_t b, struct accel_gemm_desc *d,
		   struct accel_graph_arg *args, uint32_t *count)
{
	const struct half_matrix *h = find(im, b);
	struct accel_quant q = ACCEL_QUANT_INIT;
	uint32_t value, zeros;
	bool across;
	uint64_t n;
	int ret;

	if (!h || h->x.rank != 2)
		return 0;
	/* Rows of @x are columns of B. */
	across = h->turned != !!(d->flags & ACCEL_GEMM_TRANS_B);
	if (!find_scheme(h, across, &q, &n))
		return 0;
	ret = signed_halves(im, &h->x, &value);
	if (!ret)
		ret = table_of_zeros(im, h, &q, n, &zeros);
	if (ret)
		return ret;
	d->flags = (d->flags & ~ACCEL_GEMM_TRANS_B) | (across ? ACCEL_GEMM_TRANS_B : 0);
	d->b.quant = q;
	args[(*count)++] = (struct accel_graph_arg) { ACCEL_ARG_B, value };
	if (q.scheme != ACCEL_QUANT_TENSOR)
		args[(*count)++] = (struct accel_graph_arg) { ACCEL_ARG_B | ACCEL_ARG_SCALES,
							       h->s.scale.value };
	if (zeros != NO_VALUE)
		args[(*count)++] = (struct accel_graph_arg) { ACCEL_ARG_B | ACCEL_ARG_ZEROS,
							       zeros };
	return 1;
}

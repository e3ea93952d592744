// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Convolution with few output channels per group, typically depthwise: computes a segment
 * of a row of one output channel at a time, one tap and input channel after the other.
 * Padding is omitted.
 *
 * The order of summation is that of the block products: taps outside, channels inside.
 */
#include "conv.h"

/* Number of outputs of a segment */
#define SEGMENT		512u
/* Approximate number of outputs of a tile */
#define TILE_OUTPUTS	8192u
/* Cost of a tap, of an element of a tap, of an element in the epilogue; in multiply-adds */
#define TAP_COST	256u
#define ELEMENT_COST	8u
#define EPILOGUE_COST	64u

struct rows_scratch {
	/* Sums: binary32 or 64-bit integers */
	__s64 acc[SEGMENT];
	__u32 in[SEGMENT];
	__u32 spread[SEGMENT];
	__u32 row[SEGMENT];
	struct uma_rowbuf buf;
};

_Static_assert(sizeof(struct rows_scratch) <= UMA_SCRATCH_SIZE, "scratch");

/* A segment, with its position in the output */
struct unit {
	struct uma_run *run;
	const struct conv_plan *p;
	struct rows_scratch *s;
	__u32 image;
	__u32 group;
	__u32 m;
	__u32 y;
	__u32 x;
	__u32 n;
};

void conv_rows_tiles(struct uma_program *prog, struct conv_plan *p)
{
	__u64 units, cost, taps;

	p->nt = UMA_MIN(p->out[1], SEGMENT);
	p->ntiles = 1;
	p->mt = UMA_MAX(TILE_OUTPUTS / p->nt, 1u);
	units = (__u64)p->m * p->out[0] * uma_divup(p->out[1], p->nt);
	p->mtiles = uma_divup(units, p->mt);
	cost = TAP_COST + p->nt * ELEMENT_COST;
	if (p->unbounded) {
		p->kc = p->k;
		p->ksteps = 1;
		p->erows = p->mt;
		return;
	}
	/* A step handles several segments with all their taps, or some taps of one segment. */
	taps = UMA_MAX(prog->step_work / cost, 1);
	p->kc = (__u32)UMA_MIN(taps, UMA_MAX(p->k, 1u));
	p->ksteps = (__u32)UMA_MAX(uma_divup(p->k, p->kc), 1);
	p->erows = 1;
	if (p->ksteps == 1)
		p->erows = (__u32)UMA_MIN(UMA_MAX(prog->step_work /
			(cost * p->k + EPILOGUE_COST * p->nt), 1), p->mt);
}

static void open_unit(struct unit *u, struct uma_run *run, __u32 tile, __u32 index)
{
	const struct conv_plan *p = conv_plan_of(run);
	__u32 cuts = (__u32)uma_divup(p->out[1], p->nt);
	__u64 rest = tile / p->mtiles;
	__u64 unit = tile % p->mtiles * p->mt + index;

	u->run = run;
	u->p = p;
	u->s = (struct rows_scratch *)run->scratch;
	u->group = (__u32)(rest % p->groups);
	u->image = (__u32)(rest / p->groups);
	u->x = (__u32)(unit % cuts) * p->nt;
	unit /= cuts;
	u->y = (__u32)(unit % p->out[0]);
	u->m = (__u32)(unit / p->out[0]);
	u->n = UMA_MIN(p->nt, p->out[1] - u->x);
}

/* Number of segments of a tile; the last one may have fewer */
static __u32 units_of(const struct conv_plan *p, __u32 tile)
{
	__u64 units = (__u64)p->m * p->out[0] * uma_divup(p->out[1], p->nt);

	return (__u32)UMA_MIN(units - tile % p->mtiles * p->mt, p->mt);
}

/* The weight of a tap and input channel, as a run of one element */
static struct uma_row weight(const struct unit *u, __u32 c, __u32 ky, __u32 kx,
			     __u32 *idx)
{
	const struct conv_plan *p = u->p;
	const struct uma_tensor_view *b = &u->run->prog->op.t[UMA_SLOT_B];

	__builtin_memset(idx, 0, UMA_MAX_RANK * sizeof(*idx));
	idx[p->transposed] = u->m;
	idx[!p->transposed] = c;
	idx[0] += u->group * (p->transposed ? p->c : p->m);
	return (struct uma_row){
		.slot = UMA_SLOT_B,
		.off = (__s64)u->group * p->b_group +
		       (__s64)u->m * p->b_stride[CONV_N] +
		       (__s64)c * p->b_stride[CONV_C] +
		       (__s64)ky * p->b_stride[CONV_Y] + (__s64)kx * p->b_stride[CONV_X],
		.n = 1,
		.idx = b->quant == UMA_QUANT_CHANNEL ? idx : 0,
		.axis = p->transposed,
	};
}

/* Inputs of a tap. */
static struct uma_row inputs(const struct unit *u, __u32 c, const struct conv_span *y,
			     const struct conv_span *x)
{
	const struct conv_plan *p = u->p;

	return (struct uma_row){
		.slot = UMA_SLOT_A,
		.off = (__s64)u->image * p->a_stride[CONV_N] +
		       ((__s64)u->group * p->c + c) * p->a_stride[CONV_C] +
		       (__s64)y->in * p->a_stride[CONV_Y] +
		       (__s64)x->in * p->a_stride[CONV_X],
		.stride = (__s64)x->in_step * p->a_stride[CONV_X],
		.n = x->count,
	};
}

static int add_f32(struct unit *u, __u32 c, __u32 ky, __u32 kx,
		   const struct conv_span *y, const struct conv_span *x)
{
	float *acc = (float *)u->s->acc + x->first;
	__u32 idx[UMA_MAX_RANK];
	struct uma_row row = weight(u, c, ky, kx, idx);
	__u32 tmp, w, j;
	const float *v;

	v = uma_row_f32(u->run, &row, &u->s->buf, (float *)&tmp);
	if (!v)
		return -1;
	__builtin_memcpy(&w, v, sizeof(w));
	row = inputs(u, c, y, x);
	v = uma_row_f32(u->run, &row, &u->s->buf, (float *)u->s->in);
	if (!v)
		return -1;
	if (x->step == 1) {
		u->run->k->axpy(acc, w, v, x->count);
		return 0;
	}
	/* Gather the sums that this tap contributes to, for a dense axpy(). */
	for (j = 0; j < x->count; j++)
		u->s->spread[j] = ((const __u32 *)acc)[j * x->step];
	u->run->k->axpy((float *)u->s->spread, w, v, x->count);
	for (j = 0; j < x->count; j++)
		((__u32 *)acc)[j * x->step] = u->s->spread[j];
	return 0;
}

/* No overflow: at most 65536 products, of factors below 2^9 and 2^33. */
static int add_s64(struct unit *u, __u32 c, __u32 ky, __u32 kx,
		   const struct conv_span *y, const struct conv_span *x)
{
	const struct uma_tensor_view *a = &u->run->prog->op.t[UMA_SLOT_A];
	const struct uma_tensor_view *b = &u->run->prog->op.t[UMA_SLOT_B];
	__s64 *acc = u->s->acc + x->first;
	__u32 idx[UMA_MAX_RANK];
	struct uma_row row = weight(u, c, ky, kx, idx);
	__s64 w, zero = b->zero;
	const __s32 *v;
	__u32 j;

	if (row.idx) {
		if (uma_table_row(u->run, &row, &u->s->buf))
			return -1;
		zero = u->s->buf.zero[0];
	}
	v = uma_row_s32(u->run, &row, &u->s->buf);
	if (!v)
		return -1;
	w = *v - zero;
	row = inputs(u, c, y, x);
	v = uma_row_s32(u->run, &row, &u->s->buf);
	if (!v)
		return -1;
	for (j = 0; j < x->count; j++)
		acc[j * x->step] += w * ((__s64)v[j] - a->zero);
	return 0;
}

/* Add the terms k0 .. k0 + kc of the sums. */
static int k_step(struct unit *u, __u32 k0, __u32 kc)
{
	const struct conv_plan *p = u->p;
	__u32 k;

	for (k = k0; k < k0 + kc && k < p->k; k++) {
		__u32 tap = k / p->c, c = k % p->c;
		__u32 ky = tap / p->kernel[1], kx = tap % p->kernel[1];
		struct conv_span y = conv_span_of(p, 0, u->y, 1, ky);
		struct conv_span x = conv_span_of(p, 1, u->x, u->n, kx);

		if (!y.count || !x.count)
			continue;
		if (p->integer ? add_s64(u, c, ky, kx, &y, &x) :
				 add_f32(u, c, ky, kx, &y, &x))
			return -1;
	}
	return 0;
}

/* The product of the scales, rounded as in conv_gemm.c */
static int scale_of(struct unit *u, __u32 *scale)
{
	const struct uma_tensor_view *a = &u->run->prog->op.t[UMA_SLOT_A];
	const struct uma_tensor_view *b = &u->run->prog->op.t[UMA_SLOT_B];
	__u32 idx[UMA_MAX_RANK];
	struct uma_row row = weight(u, 0, 0, 0, idx);

	*scale = b->quant ? b->scale : 0x3f800000u;
	if (row.idx) {
		if (uma_table_row(u->run, &row, &u->s->buf))
			return -1;
		*scale = u->s->buf.scale[0];
	}
	if (a->quant)
		u->run->k->scale((float *)scale, a->scale, 1);
	return 0;
}

static int epilogue(struct unit *u)
{
	const struct conv_plan *p = u->p;
	float *x = (float *)u->s->acc;
	__u32 idx[UMA_MAX_RANK];
	struct uma_epi_row e = {
		.run = u->run,
		.buf = &u->s->buf,
		.tmp = (float *)u->s->row,
		.idx = idx,
		.axis = u->run->prog->op.t[UMA_SLOT_DST].rank - 1u,
		.n = u->n,
	};
	__u32 scale;

	conv_index(u->run, u->image, u->group * p->m + u->m, u->y, u->x, idx);
	if (p->exact)
		return uma_epilogue_exact(&e, u->s->acc);
	if (p->integer) {
		if (scale_of(u, &scale))
			return -1;
		x = (float *)u->s->in;
		u->run->k->s64_to_f32(x, u->s->acc, u->n);
		u->run->k->scale(x, scale, u->n);
	}
	return uma_epilogue_f32(&e, x);
}

int conv_rows_step(struct uma_run *run, __u32 tile, __u32 *step)
{
	const struct conv_plan *p = conv_plan_of(run);
	__u32 units = units_of(p, tile), s = *step;
	__u32 first = s / p->ksteps * p->erows, part = s % p->ksteps;
	__u32 i, end = UMA_MIN(first + p->erows, units);
	struct unit u;

	*step = s + 1;
	for (i = first; i < end; i++) {
		open_unit(&u, run, tile, i);
		if (!part)
			__builtin_memset(u.s->acc, 0, 8ul * u.n);
		if (k_step(&u, part * p->kc, p->kc))
			return -1;
		if (part + 1 == p->ksteps && epilogue(&u))
			return -1;
	}
	return part + 1 < p->ksteps || end < units;
}

// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Winograd's minimal filtering F(m x m, 3 x 3): S. Winograd, "Arithmetic Complexity of
 * Computations", 1980; A. Lavin and S. Gray, "Fast Algorithms for Convolutional Neural
 * Networks", 2016. The interpolation points are 0, 1, -1, infinity, for m = 4 also
 * 2 and -2, for m = 6 also 1/2 and -1/2.
 *
 *	Y = A' [U * (B' d B)] A,  U = G g G'
 *
 * A tile of d has m + 2 rows and columns. U is read from memory, as
 * [m + 2, m + 2, C, M]. For each of the (m + 2)^2 points there is a block product over
 * the channels.
 */
#include "conv.h"

#define POINTS		8u
/* Elements of a transformed block of A and of the sums; columns and rows of a block of U */
#define BLOCK_MAX	12288u
#define SUMS_MAX	16384u
#define CHANNELS	64u
#define KC		48u
#define LDB		(CHANNELS + 16)

/* Cost of an element of the input transform, and of an element in the epilogue */
#define ELEMENT_COST	40u
#define EPILOGUE_COST	64u

struct wino_scratch {
	/* Sums, indexed by point, tile, output channel */
	__u32 acc[SUMS_MAX] __attribute__((aligned(64)));
	/* Indexed by point, tile, input channel, like @mid and @v */
	__u32 in[BLOCK_MAX];
	__u32 mid[BLOCK_MAX];
	__u32 v[BLOCK_MAX];
	__u32 b[KC * LDB] __attribute__((aligned(64)));
	__u32 row[CHANNELS];
	__u32 row2[CHANNELS];
	struct uma_rowbuf buf;
};

_Static_assert(sizeof(struct wino_scratch) <= UMA_SCRATCH_SIZE, "scratch");

/* Fixed point with 5 fractional bits: all constants are exact in it and in binary32. */
#define Q(x)	((__s16)((x) * 32 / 4))		/* quarters */
#define I(x)	((__s16)((x) * 32))

static const __s16 bt2[] = {
	I(1), 0, I(-1), 0,
	0, I(1), I(1), 0,
	0, I(-1), I(1), 0,
	0, I(1), 0, I(-1),
};

static const __s16 at2[] = {
	I(1), I(1), I(1), 0,
	0, I(1), I(-1), I(-1),
};

static const __s16 bt4[] = {
	I(4), 0, I(-5), 0, I(1), 0,
	0, I(-4), I(-4), I(1), I(1), 0,
	0, I(4), I(-4), I(-1), I(1), 0,
	0, I(-2), I(-1), I(2), I(1), 0,
	0, I(2), I(-1), I(-2), I(1), 0,
	0, I(4), 0, I(-5), 0, I(1),
};

static const __s16 at4[] = {
	I(1), I(1), I(1), I(1), I(1), 0,
	0, I(1), I(-1), I(2), I(-2), 0,
	0, I(1), I(1), I(4), I(4), 0,
	0, I(1), I(-1), I(8), I(-8), I(1),
};

static const __s16 bt6[] = {
	I(1), 0, Q(-21), 0, Q(21), 0, I(-1), 0,
	0, I(1), I(1), Q(-17), Q(-17), I(1), I(1), 0,
	0, I(-1), I(1), Q(17), Q(-17), I(-1), I(1), 0,
	0, Q(2), Q(1), Q(-10), Q(-5), I(2), I(1), 0,
	0, Q(-2), Q(1), Q(10), Q(-5), I(-2), I(1), 0,
	0, I(2), I(4), Q(-10), I(-5), Q(2), I(1), 0,
	0, I(-2), I(4), Q(10), I(-5), Q(-2), I(1), 0,
	0, I(-1), 0, Q(21), 0, Q(-21), 0, I(1),
};

static const __s16 at6[] = {
	I(1), I(1), I(1), I(1), I(1), I(1), I(1), 0,
	0, I(1), I(-1), I(2), I(-2), 16, -16, 0,
	0, I(1), I(1), I(4), I(4), 8, 8, 0,
	0, I(1), I(-1), I(8), I(-8), 4, -4, 0,
	0, I(1), I(1), I(16), I(16), 2, 2, 0,
	0, I(1), I(-1), I(32), I(-32), 1, -1, I(1),
};

static const __s16 *matrix_bt(__u32 edge)
{
	return edge == 2 ? bt2 : edge == 4 ? bt4 : bt6;
}

static const __s16 *matrix_at(__u32 edge)
{
	return edge == 2 ? at2 : edge == 4 ? at4 : at6;
}

/* v / 32 as binary32 bits, in integer arithmetic: floating point is left to the kernels. */
static __u32 bits_of(__s16 v)
{
	__u32 mag = v < 0 ? (__u32)-v : (__u32)v, top;

	if (!v)
		return 0;
	top = 31 - (__u32)__builtin_clz(mag);
	return (v < 0 ? 0x80000000u : 0) | (top + 127 - 5) << 23 |
	       ((mag << (23 - top)) & 0x7fffff);
}

/**
 * struct wino_tile - the current tile
 * @run: the current step
 * @p: division of the task into tiles
 * @s: the worker's scratch memory
 * @image: index of the image
 * @p0: first tile of the output
 * @n0: first output channel
 * @m: number of tiles of the output
 * @n: number of output channels
 * @points: number of points of a tile along a dimension
 */
struct wino_tile {
	struct uma_run *run;
	const struct conv_plan *p;
	struct wino_scratch *s;
	__u32 image;
	__u64 p0;
	__u32 n0;
	__u32 m;
	__u32 n;
	__u32 points;
};

void conv_wino_tiles(struct uma_program *prog, struct conv_plan *p)
{
	__u32 points = p->edge + 2u, all = points * points, kc;

	p->tiles[0] = uma_wino_tiles(p->out[0], p->dilation[0], p->edge);
	p->tiles[1] = uma_wino_tiles(p->out[1], p->dilation[1], p->edge);
	p->positions = (__u64)p->tiles[0] * p->tiles[1];
	p->nt = UMA_MIN(p->m, CHANNELS);
	p->mt = UMA_MIN(SUMS_MAX / CHANNELS / all, BLOCK_MAX / KC / all);
	p->kc = KC;
	if (!p->unbounded && prog->step_work < 1u << 20) {
		p->nt = UMA_MIN(p->m, CHANNELS / 2);
		p->mt = UMA_MIN(p->mt, 4u);
	}
	p->mt = (__u32)UMA_MIN(p->mt, p->positions);
	if (!p->unbounded) {
		kc = prog->step_work / (all * (p->mt * (p->nt + ELEMENT_COST) +
					       p->nt * 8));
		p->kc = UMA_MIN(UMA_MAX(kc, 1u), KC);
		/* uma_packed_rows() reads from multiples of UMA_PACKED_K on. */
		if (p->packed)
			p->kc = (__u32)UMA_MAX(p->kc / UMA_PACKED_K * UMA_PACKED_K, UMA_PACKED_K);
	}
	p->erows = 1;
	p->mtiles = uma_divup(p->positions, p->mt);
	p->ntiles = (__u32)uma_divup(p->m, p->nt);
	p->ksteps = (__u32)uma_divup(p->c, p->kc);
}

static void open_tile(struct wino_tile *t, struct uma_run *run, __u32 tile)
{
	const struct conv_plan *p = conv_plan_of(run);
	__u64 rest = tile;

	t->run = run;
	t->p = p;
	t->s = (struct wino_scratch *)run->scratch;
	t->points = p->edge + 2u;
	t->n0 = (__u32)(rest % p->ntiles) * p->nt;
	rest /= p->ntiles;
	t->p0 = rest % p->mtiles * p->mt;
	t->image = (__u32)(rest / p->mtiles);
	t->m = (__u32)UMA_MIN(p->mt, p->positions - t->p0);
	t->n = UMA_MIN(p->nt, p->m - t->n0);
}

/*
 * Multiply a matrix with rows of @n numbers: dst[i] = sum over k of matrix[i][k] src[k],
 * for i < @rows and k < @cols. Rows of src are @ss apart, those of dst @ds.
 */
static void transform(const struct wino_tile *t, const __s16 *matrix, __u32 rows,
		      __u32 cols, const __u32 *src, __u32 ss, __u32 *dst, __u32 ds,
		      __u32 n)
{
	__u32 i, k;

	for (i = 0; i < rows; i++, dst += ds, matrix += cols) {
		__builtin_memset(dst, 0, 4ul * n);
		for (k = 0; k < cols; k++)
			if (matrix[k])
				t->run->k->axpy((float *)dst, bits_of(matrix[k]),
						(const float *)(src + k * ss), n);
	}
}

/* --- input ---------------------------------------------------------------- */

/* Index of input @i of a tile along a dimension, or -1 for padding */
static __s64 input_of(const struct conv_plan *p, __u32 axis, __u32 tile, __u32 i)
{
	__s64 at = (__s64)conv_wino_first(p, axis, tile) + (__s64)i * p->dilation[axis] -
		   p->pad[axis];

	return at < 0 || at >= p->in[axis] ? -1 : at;
}

/* Load channels c0 .. c0 + kc of all points of the tiles. */
static int load_input(struct wino_tile *t, __u32 c0, __u32 kc)
{
	const struct conv_plan *p = t->p;
	__u32 n = t->m * kc, i, y, x;
	struct uma_row row = {
		.slot = UMA_SLOT_A,
		.stride = p->a_stride[CONV_C],
		.n = kc,
	};

	for (i = 0; i < t->m; i++) {
		__u32 ty = (__u32)((t->p0 + i) / p->tiles[1]);
		__u32 tx = (__u32)((t->p0 + i) % p->tiles[1]);

		for (y = 0; y < t->points; y++) {
			__s64 iy = input_of(p, 0, ty, y);

			for (x = 0; x < t->points; x++) {
				__u32 *dst = t->s->in + (y * t->points + x) * n + i * kc;
				__s64 ix = input_of(p, 1, tx, x);
				const float *v;

				if (iy < 0 || ix < 0) {
					__builtin_memset(dst, 0, 4ul * kc);
					continue;
				}
				row.off = (__s64)t->image * p->a_stride[CONV_N] +
					  (__s64)c0 * p->a_stride[CONV_C] +
					  iy * p->a_stride[CONV_Y] +
					  ix * p->a_stride[CONV_X];
				v = uma_row_f32(t->run, &row, &t->s->buf, (float *)dst);
				if (!v)
					return -1;
				if ((const void *)v != dst)
					__builtin_memcpy(dst, v, 4ul * kc);
			}
		}
	}
	return 0;
}

static void transform_input(struct wino_tile *t, __u32 kc)
{
	const __s16 *bt = matrix_bt(t->p->edge);
	__u32 a = t->points, n = t->m * kc, i;

	/* All points of a row are transformed at once along the columns. */
	transform(t, bt, a, a, t->s->in, a * n, t->s->mid, a * n, a * n);
	for (i = 0; i < a; i++)
		transform(t, bt, a, a, t->s->mid + i * a * n, n, t->s->v + i * a * n, n, n);
}

/* --- weights and sums ------------------------------------------------------- */

/* U of a point, in place if possible, else copied and padded with zeros */
static int load_weights(struct wino_tile *t, __u32 point, __u32 c0, __u32 kc,
			struct uma_gemm_block *g)
{
	const struct uma_tensor_view *b = &t->run->prog->op.t[UMA_SLOT_B];
	struct uma_row row = {
		.slot = UMA_SLOT_B,
		.off = (__s64)(point / t->points) * b->strides[0] +
		       (__s64)(point % t->points) * b->strides[1] +
		       (__s64)c0 * b->strides[2] + (__s64)t->n0 * b->strides[3],
		.stride = b->strides[3],
		.n = t->n,
	};
	const struct uma_op_cap *cap = &t->run->prog->engine->caps[t->run->prog->row];
	__u32 i;

	g->n = (__u32)uma_roundup(t->n, t->run->k->nr);
	g->b = t->s->b;
	g->b_ks = LDB;
	for (i = 0; t->p->packed && i < kc; i += UMA_PACKED_K) {
		__u32 *dst = t->s->b + i * LDB, rows = UMA_MIN(UMA_PACKED_K, kc - i), j;

		if (uma_packed_rows(t->run, UMA_SLOT_B, cap, point, c0 + i, rows, t->n0, t->n,
				    dst, LDB))
			return -1;
		for (j = 0; j < rows; j++)
			__builtin_memset(dst + j * LDB + t->n, 0, 4ul * (g->n - t->n));
	}
	if (t->p->packed)
		return 0;
	if (row.stride == 1 && g->n == t->n) {
		g->b = uma_block_in_place(t->run, b, row.off, kc, b->strides[2], t->n, 1);
		g->b_ks = b->strides[2];
		if (g->b)
			return 0;
	}
	for (i = 0; i < kc; i++, row.off += b->strides[2]) {
		__u32 *dst = t->s->b + i * LDB;
		const float *v = uma_row_f32(t->run, &row, &t->s->buf, (float *)dst);

		if (!v)
			return -1;
		if ((const void *)v != dst)
			__builtin_memcpy(dst, v, 4ul * t->n);
		__builtin_memset(dst + t->n, 0, 4ul * (g->n - t->n));
	}
	g->b = t->s->b;
	g->b_ks = LDB;
	return 0;
}

static int k_step(struct wino_tile *t, __u32 c0, __u32 kc)
{
	__u32 n = t->m * kc, point;

	if (load_input(t, c0, kc))
		return -1;
	transform_input(t, kc);
	for (point = 0; point < t->points * t->points; point++) {
		struct uma_gemm_block g = {
			.m = t->m,
			.k = kc,
			.a = t->s->v + point * n,
			.a_ms = kc,
			.a_ks = 1,
			.c = t->s->acc + point * t->p->mt * CHANNELS,
			.c_ms = CHANNELS,
			.accumulate = 1,
		};

		if (load_weights(t, point, c0, kc, &g))
			return -1;
		t->run->k->gemm_f32(&g);
	}
	return 0;
}

/* --- output ----------------------------------------------------------------- */

static int store_output(struct wino_tile *t, __u32 i, __u32 oy, __u32 ox, float *x)
{
	__u32 idx[UMA_MAX_RANK];
	const struct uma_epi_row e = {
		.run = t->run,
		.buf = &t->s->buf,
		.tmp = (float *)t->s->row2,
		.idx = idx,
		.axis = 1,
		.n = t->n,
	};
	__u64 y = conv_wino_first(t->p, 0, (__u32)((t->p0 + i) / t->p->tiles[1])) +
		  (__u64)oy * t->p->dilation[0];
	__u64 c = conv_wino_first(t->p, 1, (__u32)((t->p0 + i) % t->p->tiles[1])) +
		  (__u64)ox * t->p->dilation[1];

	if (y >= t->p->out[0] || c >= t->p->out[1])
		return 0;
	conv_index(t->run, t->image, t->n0, (__u32)y, (__u32)c, idx);
	return uma_epilogue_f32(&e, x);
}

/* Transform the sums of tile @i of the output and store its results. */
static int output(struct wino_tile *t, __u32 i)
{
	__u32 edge = t->p->edge, a = t->points, point = t->p->mt * CHANNELS, x, y;
	const __s16 *at = matrix_at(edge);
	__u32 *mid = t->s->mid;

	for (x = 0; x < a; x++)
		transform(t, at, edge, a, t->s->acc + x * point + i * CHANNELS, a * point,
			  mid + x * CHANNELS, a * CHANNELS, t->n);
	for (y = 0; y < edge; y++)
		for (x = 0; x < edge; x++) {
			transform(t, at + x * a, 1, a, mid + y * a * CHANNELS, CHANNELS,
				  t->s->row, 0, t->n);
			if (store_output(t, i, y, x, (float *)t->s->row))
				return -1;
		}
	return 0;
}

int conv_wino_step(struct uma_run *run, __u32 tile, __u32 *step)
{
	const struct conv_plan *p = conv_plan_of(run);
	struct wino_tile t;
	__u32 s, i;

	open_tile(&t, run, tile);
	if (!*step)
		__builtin_memset(t.s->acc, 0, sizeof(t.s->acc));
	if (p->unbounded) {
		for (s = 0; s < p->ksteps; s++)
			if (k_step(&t, s * p->kc, UMA_MIN(p->kc, p->c - s * p->kc)))
				return -1;
		for (i = 0; i < t.m; i++)
			if (output(&t, i))
				return -1;
		return 0;
	}
	s = (*step)++;
	if (s < p->ksteps)
		return k_step(&t, s * p->kc, UMA_MIN(p->kc, p->c - s * p->kc)) ? -1 : 1;
	i = s - p->ksteps;
	if (output(&t, i))
		return -1;
	return i + 1 < t.m;
}

// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Convolution by block products: rows are the outputs of an image, columns the output
 * channels of a group, and K runs over the taps and the input channels.
 *
 * CONV_BLOCKS gathers blocks of A, with zeros (for integers the zero point) for padding.
 * CONV_TAPS processes one tap at a time and omits padding; A is used in place if it is
 * contiguous binary32.
 */
#include "conv.h"

/* Cost of loading or storing an element, in multiply-adds */
#define ELEMENT_COST	24u
/* Cost of an element in the epilogue */
#define EPILOGUE_COST	64u

void conv_gemm_tiles(struct uma_program *prog, struct conv_plan *p)
{
	int small = !p->unbounded && prog->step_work < 1u << 20;
	__u32 cost, kc;

	p->mt = (__u32)UMA_MIN(p->positions, small ? UMA_GEMM_MT / 2 : UMA_GEMM_MT);
	p->nt = UMA_MIN(p->m, small ? UMA_GEMM_NT / 2 : UMA_GEMM_NT);
	p->kc = UMA_GEMM_KC;
	p->erows = UMA_GEMM_MT;
	if (!p->unbounded) {
		cost = p->mt * p->nt + ELEMENT_COST * (p->mt + p->nt);
		kc = prog->step_work / cost / 2 * 2;
		p->kc = UMA_MIN(UMA_MAX(kc, 2u), UMA_GEMM_KC);
		p->erows = UMA_MIN(UMA_MAX(prog->step_work / (p->nt * EPILOGUE_COST), 1u),
				   UMA_GEMM_MT);
	}
	p->mtiles = uma_divup(p->positions, p->mt);
	p->ntiles = (__u32)uma_divup(p->m, p->nt);
	/* No overflow: K is below 2^32, and no tap takes more steps than it has channels. */
	p->ksteps = !p->k ? 0 : p->path == CONV_TAPS ?
		p->kernel[0] * p->kernel[1] * (__u32)uma_divup(p->c, p->kc) :
		(__u32)uma_divup(p->k, p->kc);
}

static void open_tile(struct conv_tile *t, struct uma_run *run, __u32 tile)
{
	const struct conv_plan *p = conv_plan_of(run);
	__u64 rest = tile;

	t->run = run;
	t->p = p;
	t->s = (struct uma_gemm_scratch *)run->scratch;
	t->n0 = (__u32)(rest % p->ntiles) * p->nt;
	rest /= p->ntiles;
	t->p0 = rest % p->mtiles * p->mt;
	rest /= p->mtiles;
	t->group = (__u32)(rest % p->groups);
	t->image = (__u32)(rest / p->groups);
	t->m = (__u32)UMA_MIN(p->mt, p->positions - t->p0);
	t->n = UMA_MIN(p->nt, p->m - t->n0);
}

/* --- the sums ------------------------------------------------------------- */

static void clear_sums(struct conv_tile *t)
{
	__u32 i, padded = (__u32)uma_roundup(t->n, t->run->k->nr);

	for (i = 0; i < t->m; i++)
		__builtin_memset(t->s->acc + i * UMA_GEMM_NT, 0, 4ul * padded);
	__builtin_memset(t->s->row_sum, 0, sizeof(t->s->row_sum));
	__builtin_memset(t->s->col_sum, 0, sizeof(t->s->col_sum));
}

static int block_step(struct conv_tile *t, __u32 k0, __u32 kc)
{
	const struct uma_kernels *k = t->run->k;
	struct uma_gemm_block g = {
		.m = t->m,
		.k = t->p->integer ? (kc + 1) / 2 : kc,
		.c = t->s->acc,
		.c_ms = UMA_GEMM_NT,
		.accumulate = 1,
	};

	if (conv_load_a(t, k0, kc, &g) || conv_load_b(t, k0, kc, &g))
		return -1;
	t->p->integer ? k->gemm_s16(&g) : k->gemm_f32(&g);
	return 0;
}

/* Multiply one tap, for each row of the output those outputs that have an input for it. */
static int tap_step(struct conv_tile *t, __u32 k0, __u32 kc)
{
	const struct uma_tensor_view *v = &t->run->prog->op.t[UMA_SLOT_A];
	const struct conv_plan *p = t->p;
	struct conv_piece q = conv_piece_at(p, k0, kc);
	int along_c = conv_along_channels(p);
	struct uma_gemm_block g = { .k = kc, .accumulate = 1 };
	struct conv_segment s = { 0 };

	if (conv_load_b(t, k0, kc, &g))
		return -1;
	while (conv_next_segment(t, &s)) {
		struct conv_span y = conv_span_of(p, 0, s.y, 1, q.y);
		struct conv_span x = conv_span_of(p, 1, s.x, s.n, q.x);

		if (!y.count || !x.count)
			continue;
		g.m = x.count;
		g.c = t->s->acc + (s.at + x.first) * UMA_GEMM_NT;
		g.c_ms = UMA_GEMM_NT * (__s64)x.step;
		g.a_ms = (__s64)x.in_step * p->a_stride[CONV_X];
		g.a_ks = p->a_stride[CONV_C];
		g.a = 0;
		if (v->dtype == UMA_DTYPE_F32)
			g.a = uma_block_in_place(t->run, v, conv_a_offset(t, &y, &x, q.c),
						 x.count, g.a_ms, kc, g.a_ks);
		if (!g.a) {
			if (conv_load_f32(t, &q, &y, &x, 0, 1, along_c))
				return -1;
			g.a = t->s->a;
			g.a_ms = along_c ? UMA_GEMM_LDA_K : 1;
			g.a_ks = along_c ? 1 : UMA_GEMM_LDA_M;
		}
		t->run->k->gemm_f32(&g);
	}
	return 0;
}

static int k_step(struct conv_tile *t, __u32 s)
{
	const struct conv_plan *p = t->p;
	__u32 pieces, tap, c;

	if (p->path == CONV_BLOCKS)
		return block_step(t, s * p->kc, UMA_MIN(p->kc, p->k - s * p->kc));
	pieces = (__u32)uma_divup(p->c, p->kc);
	tap = s / pieces;
	c = s % pieces * p->kc;
	return tap_step(t, tap * p->c + c, UMA_MIN(p->kc, p->c - c));
}

/* --- epilogue ------------------------------------------------------------- */

/* sum (a - za) (b - zb) = sum a b - za sum b - zb sum a + k za zb */
static void wide_sums(struct conv_tile *t, __u32 m)
{
	const struct uma_tensor_view *a = &t->run->prog->op.t[UMA_SLOT_A];
	const struct uma_tensor_view *b = &t->run->prog->op.t[UMA_SLOT_B];
	const __u32 *acc = t->s->acc + m * UMA_GEMM_NT;
	/* As unsigned, 65536 products of two u8 fit in 32 bits. */
	int is_unsigned = a->dtype == UMA_DTYPE_U8 && b->dtype == UMA_DTYPE_U8;
	__s64 za = a->zero, k = t->p->k;
	__u32 j;

	for (j = 0; j < t->n; j++) {
		__s64 sum = is_unsigned ? (__s64)acc[j] : (__s64)(__s32)acc[j];
		__s64 zb = b->quant == UMA_QUANT_CHANNEL ? t->s->zero[j] : b->zero;

		if (t->p->col_sums)
			sum -= za * t->s->col_sum[j];
		if (t->p->row_sums)
			sum -= zb * (t->s->row_sum[m] - k * za);
		t->s->wide[j] = sum;
	}
}

/* Load for each channel the product of the scales of A and B, and the zero point of B. */
static int sum_scales(struct conv_tile *t)
{
	const struct uma_tensor_view *a = &t->run->prog->op.t[UMA_SLOT_A];
	const struct uma_tensor_view *b = &t->run->prog->op.t[UMA_SLOT_B];
	const struct uma_kernels *k = t->run->k;
	struct conv_piece q = { .n = 1 };
	__u32 idx[UMA_MAX_RANK];
	struct uma_row row = conv_b_row(t, &q, 0, 0, 1, idx);
	static const __u32 one = 0x3f800000u;

	if (b->quant == UMA_QUANT_CHANNEL) {
		if (uma_table_row(t->run, &row, &t->s->buf))
			return -1;
		__builtin_memcpy(t->s->scale, t->s->buf.scale, 4ul * t->n);
		__builtin_memcpy(t->s->zero, t->s->buf.zero, 4ul * t->n);
	} else {
		k->fill((float *)t->s->scale, b->quant ? b->scale : one, t->n);
	}
	if (a->quant)
		k->scale((float *)t->s->scale, a->scale, t->n);
	return 0;
}

static int epilogue(struct conv_tile *t, __u32 from, __u32 count)
{
	const struct conv_plan *p = t->p;
	__u32 idx[UMA_MAX_RANK];
	struct uma_epi_row e = {
		.run = t->run,
		.buf = &t->s->buf,
		.tmp = (float *)t->s->row2,
		.idx = idx,
		.axis = 1,
		.n = t->n,
	};
	__u32 m;

	if (p->integer && sum_scales(t))
		return -1;
	for (m = from; m < from + count && m < t->m; m++) {
		__u64 pos = t->p0 + m;
		float *x = (float *)(t->s->acc + m * UMA_GEMM_NT);

		conv_index(t->run, t->image, t->group * p->m + t->n0,
			   (__u32)(pos / p->out[1]), (__u32)(pos % p->out[1]), idx);
		if (p->integer)
			wide_sums(t, m);
		if (p->integer && !p->exact) {
			x = (float *)t->s->row;
			t->run->k->s64_to_f32(x, t->s->wide, t->n);
			t->run->k->binary[UMA_BINARY_MUL](x, x, (float *)t->s->scale,
							  t->n);
		}
		if (p->exact ? uma_epilogue_exact(&e, t->s->wide) :
			       uma_epilogue_f32(&e, x))
			return -1;
	}
	return 0;
}

int conv_gemm_step(struct uma_run *run, __u32 tile, __u32 *step)
{
	const struct conv_plan *p = conv_plan_of(run);
	__u32 s, from;
	struct conv_tile t;

	open_tile(&t, run, tile);
	if (!*step)
		clear_sums(&t);
	if (p->unbounded) {
		for (s = 0; s < p->ksteps; s++)
			if (k_step(&t, s))
				return -1;
		return epilogue(&t, 0, t.m);
	}
	s = (*step)++;
	if (s < p->ksteps)
		return k_step(&t, s) ? -1 : 1;
	from = (s - p->ksteps) * p->erows;
	if (epilogue(&t, from, p->erows))
		return -1;
	return from + p->erows < t.m;
}

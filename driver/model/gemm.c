// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * GEMM: DST = epilogue(alpha * A x B + beta * C).
 *
 * A tile is a block of DST of one matrix. Its first steps go along K, with the
 * accumulators in scratch memory, the following steps along its rows for the epilogue.
 * If steps are unbounded, the whole tile is one step.
 */
#include "uma_internal.h"

#define F32_ONE		0x3f800000u
#define F32_SIGN	0x80000000u

/* Vectorised loops do at least this many multiply-adds in the time of a single one. */
#define MACS_AT_ONCE	4u
/* Cost of loading or storing an element, in single multiply-adds */
#define ELEMENT_COST	16u
/* Cost of an element in the epilogue */
#define EPILOGUE_COST	64u

static struct uma_gemm_plan *plan_of(struct uma_program *prog)
{
	return (struct uma_gemm_plan *)prog->priv;
}

static int is_plain(const struct uma_op *op)
{
	const struct uma_tensor_view *d = &op->t[UMA_SLOT_DST];

	return d->dtype == UMA_DTYPE_F32 && d->strides[d->rank - 1] == 1 &&
	       !uma_has(op, UMA_SLOT_C) && op->alpha == F32_ONE &&
	       !op->epi_flags && !op->act;
}

static void plan_tiles(struct uma_program *prog, struct uma_gemm_plan *p)
{
	__u32 cost, kc;

	p->mt = UMA_GEMM_MT;
	p->nt = UMA_GEMM_NT;
	p->kc = UMA_GEMM_KC;
	p->erows = UMA_GEMM_MT;
	p->unbounded = prog->step_work == UMA_STEP_WORK_UNBOUND;
	p->mt = UMA_MIN(p->mt, p->m);
	p->nt = UMA_MIN(p->nt, p->n);
	/*
	 * Shorter steps divide K instead of the tile: with smaller tiles operands are loaded more
	 * often.
	 */
	if (!p->unbounded) {
		cost = p->mt * p->nt / MACS_AT_ONCE + ELEMENT_COST * (p->mt + p->nt);
		kc = prog->step_work / cost / UMA_PACKED_K * UMA_PACKED_K;
		p->kc = UMA_MIN(UMA_MAX(kc, UMA_PACKED_K), UMA_GEMM_KC);
		p->erows = UMA_MIN(UMA_MAX(prog->step_work / (p->nt * EPILOGUE_COST), 1u),
				   UMA_GEMM_MT);
	}
	/* A step has whole groups, as each group is rounded as a whole. */
	if (prog->op.a_group)
		p->kc = UMA_MAX(p->kc / prog->op.a_group, 1u) * prog->op.a_group;
	p->mtiles = (__u32)uma_divup(p->m, p->mt);
	p->ntiles = (__u32)uma_divup(p->n, p->nt);
	p->ksteps = (__u32)uma_divup(p->k, p->kc);
}

static int gemm_prepare(struct uma_run *run, struct uma_program *prog)
{
	const struct uma_op *op = &prog->op;
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A];
	const struct uma_tensor_view *b = &op->t[UMA_SLOT_B];
	const struct uma_tensor_view *d = &op->t[UMA_SLOT_DST];
	struct uma_gemm_plan *p = plan_of(prog);
	__u32 i, blocks;
	__u64 tiles;

	if (b->layout != UMA_LAYOUT_STRIDED && !op->headless &&
	    uma_packed_header_check(run, UMA_SLOT_B, &prog->engine->caps[prog->row]))
		return -1;
	if (uma_tensor_empty(d))
		return 0;
	*p = (struct uma_gemm_plan){
		.m = d->dims[d->rank - 2],
		.n = d->dims[d->rank - 1],
		.k = a->dims[a->rank - 1],
		.batches = 1,
		.integer = (__u8)uma_gemm_integer(op),
		.exact = (__u8)uma_op_exact(op),
	};
	for (i = 0; i + 2 < d->rank; i++)
		p->batches *= d->dims[i];
	p->row_sums = p->integer && (b->zero || b->zero_addr);
	p->col_sums = p->integer && a->zero;
	p->plain = !p->integer && is_plain(op);
	plan_tiles(prog, p);

	blocks = op->experts ? uma_experts_blocks(op, p->mtiles) : p->mtiles;
	/* Fewer than 2^50 elements, because DST does not overlap itself; tiles have 32 bits. */
	if (__builtin_mul_overflow(p->batches, (__u64)blocks * p->ntiles, &tiles) ||
	    tiles > 0xffffffffu)
		return uma_set_fault(run->fault, UMA_FAULT_UNSUPPORTED, UMA_SLOT_DST,
				     "dims");
	if (__builtin_mul_overflow(p->batches * p->m * p->n, (__u64)p->k, &prog->macs))
		prog->macs = ~0ULL;
	prog->phase_count = 1;
	prog->tiles[0] = (__u32)tiles;
	return 0;
}

static void open_tile(struct uma_gemm_ctx *c, struct uma_run *run, __u32 tile)
{
	const struct uma_program *prog = run->prog;
	const struct uma_gemm_plan *p = (const void *)prog->priv;
	const struct uma_tensor_view *d = &prog->op.t[UMA_SLOT_DST];
	__u64 batch = tile / ((__u64)p->mtiles * p->ntiles);
	__u32 in_matrix = (__u32)(tile - batch * p->mtiles * p->ntiles);
	__u32 i;

	c->run = run;
	c->plan = p;
	c->s = (struct uma_gemm_scratch *)run->scratch;
	c->cap = &prog->engine->caps[prog->row];
	c->batch = batch;
	c->part_count = 0;
	__builtin_memset(c->idx, 0, sizeof(c->idx));
	for (i = d->rank - 2; i-- > 0;) {
		c->idx[i] = (__u32)(batch % d->dims[i]);
		batch /= d->dims[i];
	}
	c->m0 = in_matrix / p->ntiles * p->mt;
	c->n0 = in_matrix % p->ntiles * p->nt;
	c->m = UMA_MIN(p->mt, p->m - c->m0);
	c->n = UMA_MIN(p->nt, p->n - c->n0);
}

/* --- sums ----------------------------------------------------------------- */

/*
 * Compute the products of indices k0 .. k0 + kc of K into @acc, added to it unless @k0 is 0.
 * Columns beyond the last whole register tile go to @tail instead, which has room for the
 * padding of that tile.
 */
static int k_step(struct uma_gemm_ctx *c, __u32 k0, __u32 kc, __u32 *acc,
		  __s64 acc_ms, __u32 *tail)
{
	const struct uma_kernels *k = c->run->k;
	struct uma_gemm_block g = {
		.m = c->m,
		.k = c->plan->integer ? (kc + 1) / 2 : kc,
		.accumulate = k0 != 0,
	};
	__u32 i;

	if (uma_gemm_load_a(c, k0, kc, &g) || uma_gemm_load_b(c, k0, kc))
		return -1;
	for (i = 0; i < c->part_count; i++) {
		const struct uma_gemm_part *part = &c->parts[i];
		__u32 n = part->n;

		g.b_ks = part->b_ks;
		if (tail != acc && part->col + n > c->n)
			n = (c->n - part->col) / k->nr * k->nr;
		if (n) {
			g.b = part->b;
			g.n = n;
			g.c = acc + part->col;
			g.c_ms = acc_ms;
			c->plan->integer ? k->gemm_s16(&g) : k->gemm_f32(&g);
		}
		if (n < part->n) {
			g.b = (const __u32 *)part->b + n;
			g.n = part->n - n;
			g.c = tail + part->col + n;
			g.c_ms = UMA_GEMM_NT;
			c->plan->integer ? k->gemm_s16(&g) : k->gemm_f32(&g);
		}
	}
	return 0;
}

static void clear_sums(struct uma_gemm_ctx *c)
{
	__u32 i;

	if (!c->plan->k)
		for (i = 0; i < c->m; i++)
			__builtin_memset(c->s->acc + (__u64)i * UMA_GEMM_NT, 0, 4ul * c->n);
	if (c->plan->row_sums)
		__builtin_memset(c->s->row_sum, 0, sizeof(c->s->row_sum));
	if (c->plan->col_sums)
		__builtin_memset(c->s->col_sum, 0, sizeof(c->s->col_sum));
}

/* --- epilogue ------------------------------------------------------------- */

static struct uma_row row_at(const struct uma_gemm_ctx *c, __u32 slot, __u32 m)
{
	const struct uma_tensor_view *t = uma_gemm_view(c, slot);

	return (struct uma_row){
		.slot = slot,
		.off = uma_gemm_offset(c, slot, c->m0 + m, c->n0),
		.stride = t->strides[t->rank - 1],
		.n = c->n,
	};
}

/*
 * Compute the sums of a row without the zero points: sum (a - za) (b - zb) =
 * sum a b - za sum b - zb sum a + k za zb.
 */
static void wide_sums(struct uma_gemm_ctx *c, __u32 m)
{
	const struct uma_tensor_view *a = uma_gemm_view(c, UMA_SLOT_A);
	const struct uma_tensor_view *b = uma_gemm_view(c, UMA_SLOT_B);
	const __u32 *acc = c->s->acc + (__u64)m * UMA_GEMM_NT;
	/* As unsigned, 65536 products of two u8 fit in 32 bits. */
	int is_unsigned = a->dtype == UMA_DTYPE_U8 && b->dtype == UMA_DTYPE_U8;
	__s64 *wide = c->s->wide;
	__s64 za = a->zero, k = c->plan->k;
	__u32 j;

	for (j = 0; j < c->n; j++) {
		__s64 sum = is_unsigned ? (__s64)acc[j] : (__s64)(__s32)acc[j];
		__s64 zb = b->quant == UMA_QUANT_CHANNEL ? c->s->zero[j] : b->zero;

		if (c->plan->col_sums)
			sum -= za * c->s->col_sum[j];
		if (c->plan->row_sums)
			sum -= zb * (c->s->row_sum[m] - k * za);
		wide[j] = sum;
	}
}

static int exact_add(struct uma_gemm_ctx *c, __u32 slot, __u32 m)
{
	struct uma_row row = row_at(c, slot, m);
	const __s32 *v = uma_row_s32(c->run, &row, &c->s->buf);
	__u32 j;

	if (!v)
		return -1;
	for (j = 0; j < c->n; j++)
		c->s->wide[j] += v[j];
	return 0;
}

/* Row @m of the tile, for the epilogue; stores its index in DST to @idx. */
static struct uma_epi_row epi_row(struct uma_gemm_ctx *c, __u32 m, __u32 *idx)
{
	const struct uma_tensor_view *d = uma_gemm_view(c, UMA_SLOT_DST);

	__builtin_memcpy(idx, c->idx, sizeof(c->idx));
	idx[d->rank - 2] = c->m0 + m;
	idx[d->rank - 1] = c->n0;
	return (struct uma_epi_row){
		.run = c->run,
		.buf = &c->s->buf,
		.tmp = (float *)c->s->row2,
		.idx = idx,
		.axis = d->rank - 1u,
		.n = c->n,
	};
}

static int exact_row(struct uma_gemm_ctx *c, __u32 m)
{
	__u32 idx[UMA_MAX_RANK];
	struct uma_epi_row e = epi_row(c, m, idx);

	wide_sums(c, m);
	if (uma_has(&c->run->prog->op, UMA_SLOT_C) && exact_add(c, UMA_SLOT_C, m))
		return -1;
	return uma_epilogue_exact(&e, c->s->wide);
}

/* Load for each column the product of the scales of A and B, and the zero point of B. */
static int sum_scales(struct uma_gemm_ctx *c)
{
	const struct uma_tensor_view *a = uma_gemm_view(c, UMA_SLOT_A);
	const struct uma_tensor_view *b = uma_gemm_view(c, UMA_SLOT_B);
	const struct uma_kernels *k = c->run->k;
	float *scale = (float *)c->s->scale;
	__u32 idx[UMA_MAX_RANK] = { 0 };
	struct uma_row row = {
		.slot = UMA_SLOT_B,
		.n = c->n,
		.idx = idx,
		.axis = b->rank - 1,
	};

	if (b->quant == UMA_QUANT_CHANNEL) {
		idx[b->rank - 1] = c->n0;
		if (uma_table_row(c->run, &row, &c->s->buf))
			return -1;
		__builtin_memcpy(scale, c->s->buf.scale, 4ul * c->n);
		__builtin_memcpy(c->s->zero, c->s->buf.zero, 4ul * c->n);
	} else {
		k->fill(scale, b->quant ? b->scale : F32_ONE, c->n);
	}
	if (a->quant)
		k->scale(scale, a->scale, c->n);
	return 0;
}

static int float_row(struct uma_gemm_ctx *c, __u32 m)
{
	const struct uma_op *op = &c->run->prog->op;
	const struct uma_kernels *k = c->run->k;
	float *x = (float *)(c->s->acc + (__u64)m * UMA_GEMM_NT);
	__u32 idx[UMA_MAX_RANK];
	struct uma_epi_row e = epi_row(c, m, idx);

	if (c->plan->integer) {
		wide_sums(c, m);
		x = (float *)c->s->row;
		k->s64_to_f32(x, c->s->wide, c->n);
		k->binary[UMA_BINARY_MUL](x, x, (float *)c->s->scale, c->n);
	}
	if (op->alpha != F32_ONE)
		k->scale(x, op->alpha, c->n);
	if (uma_has(op, UMA_SLOT_C)) {
		struct uma_row addend = row_at(c, UMA_SLOT_C, m);
		const float *v = uma_row_f32(c->run, &addend, &c->s->buf,
					     (float *)c->s->row2);

		if (!v)
			return -1;
		k->axpy(x, op->beta, v, c->n);
	}
	return uma_epilogue_f32(&e, x);
}

static int epilogue(struct uma_gemm_ctx *c, __u32 from, __u32 count)
{
	__u32 m;

	if (c->plan->integer && sum_scales(c))
		return -1;
	for (m = from; m < from + count && m < c->m; m++)
		if (c->plan->exact ? exact_row(c, m) : float_row(c, m))
			return -1;
	return 0;
}

/* --- whole tiles ---------------------------------------------------------- */

/*
 * Compute a plain binary32 product in place, if DST is mapped contiguously. Returns 1 if
 * it did, 0 if that is not possible, -1 with the fault set.
 */
static int run_plain(struct uma_gemm_ctx *c)
{
	const struct uma_tensor_view *d = uma_gemm_view(c, UMA_SLOT_DST);
	__s64 ms = d->strides[d->rank - 2];
	__s64 reach = ms * (__s64)(c->m - 1);
	__u32 whole = c->n - c->n % c->run->k->nr;
	__u32 i, k0;
	__u32 *dst;
	__s64 off;

	if (!c->plan->k || reach < 0)
		return 0;
	off = uma_gemm_offset(c, UMA_SLOT_DST, c->m0, c->n0);
	dst = uma_map_span(c->run, d->addr + (__u64)off * 4,
			   ((__u64)reach + c->n) * 4, UMA_ACCESS_WRITE);
	if (!dst)
		return 0;
	for (k0 = 0; k0 < c->plan->k; k0 += c->plan->kc)
		if (k_step(c, k0, UMA_MIN(c->plan->kc, c->plan->k - k0), dst, ms,
			   c->s->acc))
			return -1;
	for (i = 0; whole < c->n && i < c->m; i++)
		__builtin_memcpy(dst + i * ms + whole,
				 c->s->acc + (__u64)i * UMA_GEMM_NT + whole,
				 4ul * (c->n - whole));
	return 1;
}

static int run_block(struct uma_gemm_ctx *c)
{
	__u32 k0;
	int r;

	if (c->plan->plain) {
		r = run_plain(c);
		if (r)
			return r < 0 ? -1 : 0;
	}
	clear_sums(c);
	for (k0 = 0; k0 < c->plan->k; k0 += c->plan->kc)
		if (k_step(c, k0, UMA_MIN(c->plan->kc, c->plan->k - k0), c->s->acc,
			   UMA_GEMM_NT, c->s->acc))
			return -1;
	return epilogue(c, 0, c->m);
}

static int gemm_step(struct uma_run *run, __u32 phase, __u32 tile, __u32 *step)
{
	const struct uma_gemm_plan *p = (const void *)run->prog->priv;
	const struct uma_gemm_scratch *scratch = (const void *)run->scratch;
	struct uma_run one = *run;
	__u32 s = *step, from;
	struct uma_gemm_ctx c;
	int r;

	(void)phase;
	if (run->prog->op.experts) {
		r = s ? 1 : uma_experts_open(run, tile / p->ntiles, tile % p->ntiles);
		if (r <= 0)
			return r;
		one.prog = &scratch->prog;
		tile = scratch->tile;
	}
	open_tile(&c, &one, tile);
	if (p->unbounded)
		return run_block(&c);
	if (!s)
		clear_sums(&c);
	*step = s + 1;
	if (s < p->ksteps) {
		__u32 k0 = s * p->kc;

		if (k_step(&c, k0, UMA_MIN(p->kc, p->k - k0), c.s->acc,
			   UMA_GEMM_NT, c.s->acc))
			return -1;
		return 1;
	}
	from = (s - p->ksteps) * p->erows;
	if (epilogue(&c, from, p->erows))
		return -1;
	return from + p->erows < c.m;
}

/* --- the operation ---------------------------------------------------------- */

static int gemm_decode(const void *params, struct uma_op *op, __u32 *used,
		       struct uma_fault_info *fault)
{
	const struct uma_gemm_params *p = params;

	op->alpha = uma_le32(p->alpha);
	op->beta = uma_le32(p->beta);
	op->a_group = uma_le32(p->a_group);
	*used = 16;
	if (uma_le32(p->flags) & ~UMA_GEMM_FLAGS_MASK)
		return uma_set_fault(fault, UMA_FAULT_FLAGS, UMA_FAULT_NO_SLOT, "params.flags");
	op->experts = uma_le32(p->flags) & UMA_GEMM_EXPERTS;
	op->bf16 = uma_le32(p->flags) & UMA_GEMM_BF16;
	return 0;
}

/* C is not read if beta is 0 or -0. */
static __u32 gemm_extra_slots(const struct uma_op *op)
{
	return (op->beta & 0x7fffffffu ? UMA_SLOT_BIT(C) : 0) |
	       (op->experts ? UMA_SLOT_BIT(AUX0) : 0);
}

static __u32 gemm_funcs(const struct uma_op *op)
{
	return (op->a_group ? UMA_GEMM_CAP_A_GROUP : 0) |
	       (op->experts ? UMA_GEMM_CAP_EXPERTS : 0) |
	       (op->bf16 ? UMA_GEMM_CAP_BF16 : 0);
}

static __u64 gemm_k(const struct uma_op *op)
{
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A];

	return a->dims[a->rank - 1];
}

const struct uma_op_class uma_op_gemm = {
	.slots = UMA_SLOT_BIT(DST) | UMA_SLOT_BIT(A) | UMA_SLOT_BIT(B),
	.outputs = UMA_SLOT_BIT(DST),
	.in_place = UMA_SLOT_BIT(C) | UMA_SLOT_BIT(RESIDUAL),
	.fixed = UMA_SLOT_BIT(AUX0),
	.packable = UMA_SLOT_BIT(B),
	.blocks = UMA_SLOT_BIT(B),
	.epilogue = UMA_EPI_MASK,
	.flags = UMA_CLASS_ACT,
	.decode = gemm_decode,
	.extra_slots = gemm_extra_slots,
	.funcs = gemm_funcs,
	.func_field = "params.a_group",
	.match = uma_gemm_match,
	.k = gemm_k,
	.prepare = gemm_prepare,
	.step = gemm_step,
};

// SPDX-License-Identifier: MIT
/*
 * gemm, gemv and pack: products. Many small ones are run in a job that is recorded once; and
 * single ones, for the cost of a call.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peers.h"

/*
 * Approximate work of a job of small products in 10^6 operations, and the maximum number of
 * these
 */
#define JOB_MFLOP	16
#define JOB_OPS		64
/* K of the groups of 4-bit weights that share a scale */
#define GROUP		32
/* A half-precision number between 1/128 and 1/64 from random bits, and its value */
#define HALF(bits)	((uint16_t)(0x2000 | ((bits) & 0x3ff)))
#define HALF_VALUE(x)	(ldexp(1024 + ((x) & 0x3ff), -17))

/**
 * struct kind - element types of a product
 * @name: what they are called
 * @a: A
 * @b: B
 * @d: D
 * @bound: what bounds a large one
 * @group: elements of K that share a scale of B, 0: columns have one, or nothing has
 * @rows: B lies in rows of K, as files have it
 * @a_quant: which scales A has
 * @a_group: elements of K of A that are rounded to bytes together
 * @flags: ACCEL_GEMM_BF16, or nothing
 */
struct kind {
	const char *name;
	uint32_t a, b, d;
	enum perf_bound bound;
	uint32_t group;
	bool rows;
	uint32_t a_quant;
	uint32_t a_group;
	uint32_t flags;
};

static const struct kind kinds[] = {
	{ "fp32", ACCEL_F32, ACCEL_F32, ACCEL_F32, PERF_FP32 },
	{ "bf16", ACCEL_BF16, ACCEL_BF16, ACCEL_F32, PERF_BF16 },
	{ "s8", ACCEL_S8, ACCEL_S8, ACCEL_S32, PERF_INT8 },
	{ "u8", ACCEL_U8, ACCEL_S8, ACCEL_S32, PERF_INT8 },
	/* Bytes times 4-bit weights with a scale for each column, as after a DYNQUANT */
	{ "s8*s4", ACCEL_S8, ACCEL_S4, ACCEL_F32, PERF_INT8 },
	/* Weights are compressed, activations are not; 4 bits: a scale for each group of K */
	{ "fp32*s8", ACCEL_F32, ACCEL_S8, ACCEL_F32, PERF_FP32 },
	{ "fp32*s4", ACCEL_F32, ACCEL_S4, ACCEL_F32, PERF_FP32, GROUP },
	/* Weights in groups, activations with a scale for each row, or for each row and group */
	{ "s8/r*s4", ACCEL_S8, ACCEL_S4, ACCEL_F32, PERF_INT8, GROUP, false, ACCEL_QUANT_CHANNEL },
	{ "s8/g*s4", ACCEL_S8, ACCEL_S4, ACCEL_F32, PERF_INT8, GROUP, false, ACCEL_QUANT_GROUP },
	{ "s8/g*s4^T", ACCEL_S8, ACCEL_S4, ACCEL_F32, PERF_INT8, GROUP, true, ACCEL_QUANT_GROUP },
	{ "bf16*s8", ACCEL_BF16, ACCEL_S8, ACCEL_F32, PERF_BF16 },
	{ "bf16*s4", ACCEL_BF16, ACCEL_S4, ACCEL_F32, PERF_BF16, GROUP },
	{ "fp32*s4^T", ACCEL_F32, ACCEL_S4, ACCEL_F32, PERF_FP32, GROUP, true },
	/* Blocks as files have them, never packed */
	{ "fp32*q8_0", ACCEL_F32, ACCEL_Q8_0, ACCEL_F32, PERF_FP32, 0, true },
	{ "fp32*q4_0", ACCEL_F32, ACCEL_Q4_0, ACCEL_F32, PERF_FP32, 0, true },
	{ "fp32*q4_1", ACCEL_F32, ACCEL_Q4_1, ACCEL_F32, PERF_FP32, 0, true },
	{ "fp32*q4_k", ACCEL_F32, ACCEL_Q4_K, ACCEL_F32, PERF_FP32, 0, true },
	{ "fp32*q6_k", ACCEL_F32, ACCEL_Q6_K, ACCEL_F32, PERF_FP32, 0, true },
	/* The same with A rounded, to bytes, or to bf16 where this is faster */
	{ "fp32/g*q4_0", ACCEL_F32, ACCEL_Q4_0, ACCEL_F32, PERF_INT8, 0, true, 0, GROUP },
	{ "fp32/b*q8_0", ACCEL_F32, ACCEL_Q8_0, ACCEL_F32, PERF_BF16, 0, true, 0, GROUP,
	  ACCEL_GEMM_BF16 },
	{ "fp32/b*q4_0", ACCEL_F32, ACCEL_Q4_0, ACCEL_F32, PERF_BF16, 0, true, 0, GROUP,
	  ACCEL_GEMM_BF16 },
	{ "fp32/b*q4_k", ACCEL_F32, ACCEL_Q4_K, ACCEL_F32, PERF_BF16, 0, true, 0, GROUP,
	  ACCEL_GEMM_BF16 },
	{ "s8/g*q8_0", ACCEL_S8, ACCEL_Q8_0, ACCEL_F32, PERF_INT8, 0, true, ACCEL_QUANT_GROUP },
	{ "s8/g*q4_0", ACCEL_S8, ACCEL_Q4_0, ACCEL_F32, PERF_INT8, 0, true, ACCEL_QUANT_GROUP },
	{ "s8/g*q4_1", ACCEL_S8, ACCEL_Q4_1, ACCEL_F32, PERF_INT8, 0, true, ACCEL_QUANT_GROUP },
	{ "s8/g*q4_k", ACCEL_S8, ACCEL_Q4_K, ACCEL_F32, PERF_INT8, 0, true, ACCEL_QUANT_GROUP },
	{ "s8/g*q6_k", ACCEL_S8, ACCEL_Q6_K, ACCEL_F32, PERF_INT8, 0, true, ACCEL_QUANT_GROUP },
};

/**
 * struct gemm - a product that is measured
 * @perf: state
 * @kind: element types
 * @m: rows of D
 * @n: columns of D
 * @k: terms of a sum
 * @packed: weights are packed into the plan
 * @in_order: products run one after the other, and without an order for comparison
 * @act: activation of the epilogue
 * @ops: products of a job
 * @sets: matrices B that they take in turn
 * @a: A
 * @b: matrices B
 * @scales: scales of B, NULL: none
 * @a_scales: scales of A, likewise
 * @d: D of each product
 * @plans: for each B
 */
struct gemm {
	struct perf *perf;
	const struct kind *kind;
	int64_t m, n, k;
	bool packed;
	bool in_order;
	uint32_t act;
	uint32_t ops, sets;
	struct accel_bo *a, *b, *scales, *a_scales, *d[JOB_OPS];
	struct accel_plan *plans[JOB_OPS];
};

static bool of_blocks(const struct kind *kind)
{
	return kind->b > ACCEL_U4;
}

/* --- float64 ---------------------------------------------------------------------- */

static uint64_t place_of_b(const struct gemm *g, int64_t k, int64_t n)
{
	return (uint64_t)(g->kind->rows ? n * g->k + k : k * g->n + n);
}

static double scale_of(const struct gemm *g, int64_t k, int64_t n)
{
	const void *scales = g->scales ? accel_bo_ptr(g->scales) : NULL;

	if (!scales)
		return 1;
	if (g->kind->group)
		return HALF_VALUE(((const uint16_t *)scales)[g->kind->rows ?
				  n * (g->k / GROUP) + k / GROUP : k / GROUP * g->n + n]);
	return ((const float *)scales)[n];
}

static double scale_of_a(const struct gemm *g, int64_t m, int64_t k)
{
	const float *scales = g->a_scales ? accel_bo_ptr(g->a_scales) : NULL;

	if (!scales)
		return 1;
	return scales[g->kind->a_quant == ACCEL_QUANT_GROUP ? m * (g->k / GROUP) + k / GROUP : m];
}

/* Of the first product; all of a small one, some of a large one */
static double error_of(const void *d, void *arg)
{
	const struct gemm *g = arg;
	const void *a = accel_bo_ptr(g->a), *b = accel_bo_ptr(g->b);
	bool all = g->m * g->n * g->k <= 1 << 18;
	struct data_errors e = { 0 };
	int64_t count = all ? g->m * g->n : PERF_SAMPLES, i, k;

	for (i = 0; i < count; i++) {
		/* A prime stride selects elements of all rows and columns */
		int64_t at = all ? i : i * 1000003 % (g->m * g->n), m = at / g->n, n = at % g->n;
		double sum = 0;

		for (k = 0; k < g->k; k++)
			sum += data_get(g->kind->a, a, (uint64_t)(m * g->k + k)) *
			       data_get(g->kind->b, b, place_of_b(g, k, n)) *
			       scale_of(g, k, n) * scale_of_a(g, m, k);
		data_compare(&e, data_get(g->kind->d, d, (uint64_t)at), sum);
	}
	return data_error(&e);
}

/* --- ours ------------------------------------------------------------------------- */

static int make_scales(struct gemm *g)
{
	bool half = g->kind->group;
	uint64_t count = (uint64_t)(half ? g->k / GROUP * g->n : g->n), i;
	void *scales;
	int ret;

	if (g->kind->d == ACCEL_S32 || g->kind->b == ACCEL_F32 || g->kind->b == ACCEL_BF16 ||
	    of_blocks(g->kind))
		return 0;
	ret = ours_random(g->perf, half ? ACCEL_U4 : ACCEL_F32, half ? 4 * count : count,
			  &g->scales);
	if (ret)
		return ret;
	scales = accel_bo_ptr(g->scales);
	for (i = 0; i < count; i++)
		if (half)
			((uint16_t *)scales)[i] = HALF(((uint16_t *)scales)[i]);
		else
			((float *)scales)[i] = 0.01f + 0.005f * ((float *)scales)[i];
	return 0;
}

static int make_scales_of_a(struct gemm *g)
{
	const int64_t groups = g->kind->a_quant == ACCEL_QUANT_GROUP ? g->k / GROUP : 1;
	const uint64_t count = (uint64_t)(g->m * groups);
	float *scales;
	uint64_t i;
	int ret;

	if (!g->kind->a_quant)
		return 0;
	ret = ours_random(g->perf, ACCEL_F32, count, &g->a_scales);
	if (ret)
		return ret;
	scales = accel_bo_ptr(g->a_scales);
	for (i = 0; i < count; i++)
		scales[i] = 0.01f + 0.005f * scales[i];
	return 0;
}

static void quantise_a(const struct gemm *g, struct accel_tensor *a)
{
	if (!g->kind->a_quant)
		return;
	a->quant.scheme = g->kind->a_quant;
	a->quant.axis = a->quant.scheme == ACCEL_QUANT_GROUP;
	a->quant.group = a->quant.axis ? GROUP : 0;
	a->quant.scales = g->a_scales;
}

static void quantise(const struct gemm *g, struct accel_tensor *b)
{
	if (!g->scales)
		return;
	b->quant.scheme = g->kind->group ? ACCEL_QUANT_GROUP : ACCEL_QUANT_CHANNEL;
	b->quant.axis = g->kind->group ? g->kind->rows : 1;
	b->quant.group = g->kind->group;
	b->quant.scale_dtype = g->kind->group ? ACCEL_F16 : ACCEL_F32;
	b->quant.scales = g->scales;
}

static int make_plan(struct gemm *g, uint32_t set, struct accel_plan **plan)
{
	struct accel_gemm_desc desc = ACCEL_GEMM_DESC_INIT;

	desc.flags = g->kind->flags | (g->packed ? ACCEL_GEMM_PACK_B : 0);
	desc.a_group = g->kind->a_group;
	desc.a = accel_tensor_2d(NULL, g->kind->a, g->m, g->k);
	quantise_a(g, &desc.a);
	desc.b = accel_tensor_2d(g->packed ? g->b : NULL, g->kind->b, g->k, g->n);
	if (g->kind->rows) {
		desc.flags |= ACCEL_GEMM_TRANS_B;
		desc.b = accel_tensor_2d(desc.b.bo, g->kind->b, g->n, g->k);
	}
	if (g->packed)
		desc.b.offset = set * data_bytes(g->kind->b, (uint64_t)(g->k * g->n));
	quantise(g, &desc.b);
	desc.d = accel_tensor_2d(NULL, g->kind->d, g->m, g->n);
	desc.epilogue.act = g->act;
	/* Sums about as large as those of a model */
	if (g->act) {
		desc.flags |= ACCEL_GEMM_ALPHA;
		desc.alpha = (float)(2 / sqrt((double)g->k));
	}
	return accel_plan_create(g->perf->ctx, &desc.hdr, plan);
}

static int make(struct gemm *g)
{
	uint64_t b_count = (uint64_t)(g->k * g->n);
	uint32_t i;
	int ret;

	ret = ours_random(g->perf, g->kind->a, (uint64_t)(g->m * g->k), &g->a);
	if (!ret)
		ret = ours_random(g->perf, g->kind->b, b_count * g->sets, &g->b);
	if (!ret)
		ret = make_scales(g);
	if (!ret)
		ret = make_scales_of_a(g);
	for (i = 0; i < g->ops && !ret; i++)
		ret = ours_result(g->perf, data_bytes(g->kind->d, (uint64_t)(g->m * g->n)),
				  &g->d[i]);
	/* Where B is bound to a job, one plan is enough. */
	for (i = 0; i < (g->packed ? g->sets : 1) && !ret; i++)
		ret = make_plan(g, i, &g->plans[i]);
	return ret;
}

static int make_ours(struct gemm *g, uint32_t flags, struct perf_impl *impl)
{
	uint64_t b_bytes = data_bytes(g->kind->b, (uint64_t)(g->k * g->n));
	struct ours_op ops[JOB_OPS] = { 0 };
	uint32_t i;
	int ret;

	for (i = 0; i < g->ops; i++) {
		struct ours_op *op = &ops[i];

		op->plan = g->plans[g->packed ? i % g->sets : 0];
		ours_bind(op, ACCEL_ARG_D, g->d[i]);
		ours_bind(op, ACCEL_ARG_A, g->a);
		ours_bind(op, ACCEL_ARG_A | ACCEL_ARG_SCALES, g->a_scales);
		if (g->packed)
			continue;
		ours_bind(op, ACCEL_ARG_B, g->b);
		op->bind[op->count - 1].offset = i % g->sets * b_bytes;
		ours_bind(op, ACCEL_ARG_B | ACCEL_ARG_SCALES, g->scales);
	}
	ret = ours_impl(g->perf, ops, g->ops, flags, impl);
	if (!ret) {
		/* Activations have tests of their own. */
		impl->error = g->act ? NULL : error_of;
		impl->error_arg = g;
		impl->d = accel_bo_ptr(g->d[0]);
	}
	return ret;
}

static void unmake(struct gemm *g)
{
	uint32_t i;

	for (i = 0; i < JOB_OPS; i++) {
		accel_plan_unref(g->plans[i]);
		accel_bo_unref(g->d[i]);
	}
	accel_bo_unref(g->a_scales);
	accel_bo_unref(g->scales);
	accel_bo_unref(g->b);
	accel_bo_unref(g->a);
}

/* --- all of them ------------------------------------------------------------------ */

static void add_peers(struct gemm *g, struct perf_impl *impls, uint32_t *count)
{
	static int (*const peers[])(const struct peer_gemm *g, struct perf_impl *impl) = {
		openblas_gemm, onednn_gemm, xsmm_gemm
	};
	struct peer_gemm p = {
		.m = g->m, .n = g->n, .k = g->k, .packed = g->packed, .ops = g->ops,
		.sets = g->sets, .a_dtype = g->kind->a, .b_dtype = g->kind->b,
		.d_dtype = g->kind->d, .a = accel_bo_ptr(g->a), .b = accel_bo_ptr(g->b),
		.error = error_of, .error_arg = g,
	};
	size_t i;

	if (of_blocks(g->kind))
		return;
	/* Other libraries have no 4-bit weights, and no floats times bytes: compare with bytes. */
	if (g->scales) {
		p.a_dtype = ACCEL_S8;
		p.b_dtype = ACCEL_S8;
		p.d_dtype = ACCEL_S32;
		p.error = NULL;
		p.b = NULL;
	}
	for (i = 0; i < sizeof(peers) / sizeof(peers[0]) && perf_peers(g->perf); i++)
		if (!peers[i](&p, &impls[*count])) {
			if (g->scales)
				impls[*count].name = "onednn-s8";
			*count += 1;
		}
}

static void measure(struct gemm *g, struct perf_case *c)
{
	struct perf_impl impls[PERF_IMPLS];
	uint32_t count = 1;
	int ret;

	c->dtype = g->kind->name;
	c->flops = 2.0 * (double)g->m * (double)g->n * (double)g->k;
	c->bytes = (double)data_bytes(g->kind->a, (uint64_t)(g->m * g->k)) +
		   (double)data_bytes(g->kind->b, (uint64_t)(g->k * g->n)) +
		   (double)data_bytes(g->kind->d, (uint64_t)(g->m * g->n));
	ret = make(g);
	if (!ret)
		ret = make_ours(g, g->in_order ? 0 : ACCEL_JOB_UNORDERED, &impls[0]);
	if (!ret && g->in_order) {
		ret = make_ours(g, ACCEL_JOB_UNORDERED, &impls[1]);
		if (ret)
			impls[0].release(impls[0].state);
		impls[1].name = "ours-unordered";
		count = 2;
	}
	if (ret) {
		ours_fail(g->perf, c->name, ret);
	} else {
		if (!g->act && !g->in_order)
			add_peers(g, impls, &count);
		perf_measure(g->perf, c, impls, count);
	}
	unmake(g);
}

static void product(struct perf *perf, const char *group, const struct kind *kind,
		    const int64_t *mnk, bool packed, bool call)
{
	double mflop = 2 * (double)mnk[0] * (double)mnk[1] * (double)mnk[2] / 1e6;
	double ops = floor(JOB_MFLOP / mflop);
	struct perf_case c = { .bound = kind->bound };
	struct gemm g = {
		.perf = perf, .kind = kind, .m = mnk[0], .n = mnk[1], .k = mnk[2],
		.packed = packed, .sets = 1,
	};
	uint32_t block = 1;

	/* Blocks are contiguous along K, and are not packed. */
	accel_dtype_block(kind->b, &block);
	if (of_blocks(kind) && (packed || mnk[2] % block))
		return;
	g.ops = call || ops < 1 ? 1 : ops > JOB_OPS ? JOB_OPS : (uint32_t)ops;
	snprintf(c.name, sizeof(c.name), "%s/%lldx%lldx%lld/%s%s", group,
		 (long long)g.m, (long long)g.n, (long long)g.k, packed ? "packed" : "unpacked",
		 call ? "/call" : "");
	if (perf_wanted(perf, c.name, kind->name))
		measure(&g, &c);
}

/* Weights of fewer bits than activations, or of 4: prompts. */
static void weight_cases(struct perf *perf)
{
	static const int64_t sizes[][3] = {
		{ 32, 32, 32 }, { 128, 128, 128 }, { 512, 512, 512 }, { 1024, 1024, 1024 },
		{ 128, 4096, 4096 },
	};
	size_t i, j;
	int packed;

	for (j = 4; j < sizeof(kinds) / sizeof(kinds[0]); j++)
		for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
			for (packed = 1; packed >= 0; packed--)
				product(perf, "gemm", &kinds[j], sizes[i], packed, false);
}

/* The cost of an activation in the epilogue. */
static void act_cases(struct perf *perf)
{
	static const struct {
		const char *name;
		uint32_t act;
	} acts[] = {
		{ "gelu", ACCEL_ACT_GELU }, { "gelu-tanh", ACCEL_ACT_GELU_TANH },
		{ "silu", ACCEL_ACT_SILU },
	};
	size_t i, j;

	for (j = 0; j < 2; j++)
		for (i = 0; i < sizeof(acts) / sizeof(acts[0]); i++) {
			struct perf_case c = { .bound = kinds[j].bound };
			struct gemm g = {
				.perf = perf, .kind = &kinds[j], .m = 512, .n = 512, .k = 512,
				.packed = true, .act = acts[i].act, .ops = 1, .sets = 1,
			};

			snprintf(c.name, sizeof(c.name), "gemm/512x512x512/packed/%s",
				 acts[i].name);
			if (perf_wanted(perf, c.name, kinds[j].name))
				measure(&g, &c);
		}
}

void gemm_cases(struct perf *perf)
{
	static const int64_t sizes[][3] = {
		{ 32, 32, 32 }, { 64, 64, 64 }, { 128, 128, 128 }, { 256, 256, 256 },
		{ 512, 512, 512 }, { 1024, 1024, 1024 }, { 2048, 2048, 2048 },
		{ 128, 768, 768 }, { 128, 3072, 768 }, { 128, 768, 3072 },
	};
	size_t i, j;
	int packed;

	for (j = 0; j < 4; j++)
		for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
			for (packed = 1; packed >= 0; packed--) {
				product(perf, "gemm", &kinds[j], sizes[i], packed, false);
				if (sizes[i][1] <= 128 && !perf->memory)
					product(perf, "gemm", &kinds[j], sizes[i], packed, true);
			}
	act_cases(perf);
	weight_cases(perf);
}

/*
 * Jobs like those of models: many dependent operations, and a caller that waits for the last.
 * For comparison, the same without dependencies.
 */
void job_cases(struct perf *perf)
{
	static const int64_t sizes[][3] = {
		{ 128, 768, 768 }, { 512, 512, 512 }, { 1024, 1024, 1024 },
	};
	size_t i, j;

	for (j = 0; j < 4; j++)
		for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			struct perf_case c = { .bound = kinds[j].bound };
			struct gemm g = {
				.perf = perf, .kind = &kinds[j], .m = sizes[i][0], .n = sizes[i][1],
				.k = sizes[i][2], .packed = true, .in_order = true,
				.ops = JOB_OPS, .sets = 1,
			};

			snprintf(c.name, sizeof(c.name), "job/%dx%lldx%lldx%lld", JOB_OPS,
				 (long long)g.m, (long long)g.n, (long long)g.k);
			if (perf_wanted(perf, c.name, kinds[j].name))
				measure(&g, &c);
		}
}

void gemm_calls(struct perf *perf)
{
	static const int64_t mnk[3] = { 32, 32, 32 };

	product(perf, "latency/gemm", &kinds[0], mnk, true, true);
	product(perf, "latency/gemm", &kinds[0], mnk, true, false);
}

/* Weights that exceed all caches: several matrices are used in turn. */
static void skinny(struct perf *perf, const struct kind *kind, int64_t m, bool packed)
{
	struct perf_case c = { .bound = m == 1 ? PERF_READ : kind->bound };
	struct gemm g = {
		.perf = perf, .kind = kind, .m = m, .n = 4096, .k = 4096,
		.packed = packed,
	};
	uint64_t bytes = data_bytes(kind->b, 4096ull * 4096);

	g.sets = (uint32_t)((PERF_COLD + bytes - 1) / bytes);
	g.ops = g.sets;
	if (kind->group)
		bytes += 2ull * 4096 * 4096 / GROUP;
	c.read_bytes = (double)bytes;
	c.read_set = PERF_COLD;
	snprintf(c.name, sizeof(c.name), "gemv/%lldx4096x4096%s", (long long)m,
		 packed || of_blocks(kind) ? "" : "/unpacked");
	if (perf_wanted(perf, c.name, kind->name))
		measure(&g, &c);
}

void gemv_cases(struct perf *perf)
{
	static const int64_t rows[] = { 1, 8, 32 };
	size_t i, j;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (j = 0; j < sizeof(kinds) / sizeof(kinds[0]); j++) {
			if (kinds[j].a != ACCEL_U8)
				skinny(perf, &kinds[j], rows[i], !of_blocks(&kinds[j]));
			/* As files have them, where a plan may not hold a copy */
			if (kinds[j].rows && kinds[j].group)
				skinny(perf, &kinds[j], rows[i], false);
		}
}

/* Packing of weights: a plan is created and destroyed. */
static int pack_plan(void *state)
{
	struct accel_plan *plan;
	int ret = make_plan(state, 0, &plan);

	if (!ret)
		accel_plan_unref(plan);
	return ret;
}

static void keep(void *state)
{
	(void)state;
}

static void pack(struct perf *perf, const struct kind *kind)
{
	struct gemm g = {
		.perf = perf, .kind = kind, .m = 1, .n = 4096, .k = 4096, .packed = true, .sets = 1,
	};
	struct perf_case c = { .bound = PERF_READ, .dtype = kind->name, .read_set = PERF_COLD };
	struct perf_impl impl = {
		.name = "ours", .run = pack_plan, .release = keep, .state = &g, .ops = 1,
	};
	int ret;

	snprintf(c.name, sizeof(c.name), "pack/4096x4096");
	if (!perf_wanted(perf, c.name, kind->name))
		return;
	c.bytes = c.flops = c.read_bytes = 2 * (double)data_bytes(kind->b, 4096ull * 4096);
	ret = make(&g);
	if (ret)
		ours_fail(perf, c.name, ret);
	else
		perf_measure(perf, &c, &impl, 1);
	unmake(&g);
}

void pack_cases(struct perf *perf)
{
	static const struct kind weights[] = {
		{ "fp32", ACCEL_F32, ACCEL_F32, ACCEL_F32, PERF_READ },
		{ "fp32^T", ACCEL_F32, ACCEL_F32, ACCEL_F32, PERF_READ, 0, true },
		{ "bf16^T", ACCEL_BF16, ACCEL_BF16, ACCEL_F32, PERF_READ, 0, true },
		{ "s8", ACCEL_S8, ACCEL_S8, ACCEL_S32, PERF_READ },
		{ "s8^T", ACCEL_S8, ACCEL_S8, ACCEL_S32, PERF_READ, 0, true },
		{ "s4", ACCEL_F32, ACCEL_S4, ACCEL_F32, PERF_READ, GROUP },
		{ "s4^T", ACCEL_F32, ACCEL_S4, ACCEL_F32, PERF_READ, GROUP, true },
	};
	size_t i;

	for (i = 0; i < sizeof(weights) / sizeof(weights[0]); i++)
		pack(perf, &weights[i]);
}

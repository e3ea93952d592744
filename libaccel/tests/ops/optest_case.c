// SPDX-License-Identifier: MIT
/*
 * What cases are made of, see optest.h: random numbers, buffers and tensors full of them.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "optest.h"
#include "libaccel/tests/oracle/oracle.h"

/* --- random ------------------------------------------------------------------ */

/* splitmix64 */
uint64_t op_random(struct op_case *c)
{
	uint64_t z = c->rng += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

uint32_t op_below(struct op_case *c, uint32_t n)
{
	return n ? (uint32_t)(op_random(c) >> 33) % n : 0;
}

double op_uniform(struct op_case *c, double lo, double hi)
{
	return lo + (hi - lo) * (double)(op_random(c) >> 11) / (1ull << 53);
}

/* Ones, primes, block sizes, and one more or less than those. */
int64_t op_dim(struct op_case *c)
{
	static const uint16_t dims[] = {
		1, 2, 3, 5, 7, 8, 13, 16, 17, 1, 4, 31, 32, 33, 63, 64, 65, 97,
		128, 129, 191
	};

	return dims[op_below(c, c->small ? 10 : sizeof(dims) / sizeof(dims[0]))];
}

/* --- memory ------------------------------------------------------------------- */

/*
 * For one case at a time. To unmap memory interrupts all processors on which threads of the
 * process run, which took a third of the time of these tests.
 */
#define PAGE	4096u
static _Alignas(PAGE) unsigned char memory[16u << 20];

/* Zeroed, in whole pages, as if it were created; between two lies a page of none. */
static struct accel_bo *import_bo(struct op_case *c, uint64_t bytes)
{
	const uint64_t size = (bytes + PAGE - 1) / PAGE * PAGE;
	void *mem = memory + c->used;
	struct accel_bo *bo;

	if (!c->import || size + PAGE > sizeof(memory) - c->used)
		return NULL;
	memset(mem, 0, size);
	c->used += size + PAGE;
	assert_int_equal(accel_bo_import_ptr(c->ctx, mem, size, NULL, &bo), 0);
	return bo;
}

struct accel_bo *op_bo(struct op_case *c, uint64_t bytes)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_bo *bo = import_bo(c, bytes ? bytes : 1);

	if (!bo && accel_bo_create(c->ctx, bytes ? bytes : 1, NULL, &bo)) {
		accel_ctx_get_error(c->ctx, &e);
		fail_msg("a buffer of %llu bytes: %s", (unsigned long long)bytes,
			 e.text);
	}
	return bo;
}

static struct accel_bo *new_bo(struct op_case *c, uint64_t bytes)
{
	assert_true(c->bo_count < OP_MAX_BOS);
	return c->bos[c->bo_count++] = op_bo(c, bytes);
}

static float random_float(struct op_case *c)
{
	static const float round[] = { 0, 1, -1, 0.5f, -2, 2.5f, 0.000001f };
	/* The smallest and the largest of each type, ties, and subnormals */
	static const float special[] = {
		INFINITY, -INFINITY, NAN, __FLT_DENORM_MIN__, __FLT_MIN__ * 0.75f,
		__FLT_MAX__, 65504, 65520, -65519, 1.0f / (1 << 24),
		1.0f / (1 << 25), 1.5f / (1 << 25), -0.0f,
		0x1.fep127f, 0x1.ffp127f, 89, -104, 0.00000001f
	};
	double range = c->range ? c->range : 2;
	float f;

	if (c->special && !op_below(c, 4))
		f = special[op_below(c, sizeof(special) / sizeof(special[0]))];
	else if (!op_below(c, 16))
		f = round[op_below(c, sizeof(round) / sizeof(round[0]))];
	else
		f = (float)op_uniform(c, -range, range);
	return f;
}

/* Small numbers, or of any size where that is asked for. */
static int32_t random_s32(struct op_case *c)
{
	int32_t v = c->special ? (int32_t)(uint32_t)op_random(c) :
				 (int32_t)op_below(c, 200001) - 100000;

	if (c->special && op_below(c, 2))
		v >>= op_below(c, 32);
	return v;
}

static void fill_random(struct op_case *c, void *mem, uint64_t bytes,
			uint32_t dtype)
{
	uint64_t i;

	switch (dtype) {
	case ACCEL_F32:
		for (i = 0; i < bytes / 4; i++)
			((float *)mem)[i] = random_float(c);
		break;
	case ACCEL_F16:
		for (i = 0; i < bytes / 2; i++)
			((uint16_t *)mem)[i] = oracle_f16_bits((double)random_float(c));
		break;
	case ACCEL_BF16:
		for (i = 0; i < bytes / 2; i++) {
			float f = random_float(c);
			uint32_t bits;

			memcpy(&bits, &f, 4);
			((uint16_t *)mem)[i] = (uint16_t)(bits >> 16);
		}
		break;
	case ACCEL_S32:
		for (i = 0; i < bytes / 4; i++)
			((int32_t *)mem)[i] = random_s32(c);
		break;
	default:
		for (i = 0; i < bytes; i++)
			((uint8_t *)mem)[i] = (uint8_t)op_random(c);
		break;
	}
}

/* Blocks of random bits, but for numbers that are binary16, which are small. */
static void fill_blocks(struct op_case *c, unsigned char *p, uint64_t room, uint32_t dtype)
{
	static const uint8_t halves[ACCEL_DTYPE_COUNT][2] = {
		[ACCEL_Q4_1] = { 0, 2 }, [ACCEL_Q4_K] = { 0, 2 }, [ACCEL_Q6_K] = { 208, 208 },
	};
	uint32_t size, bytes = accel_dtype_block(dtype, &size), i;
	uint16_t v;

	for (; room >= bytes; p += bytes, room -= bytes) {
		for (i = 0; i < bytes; i++)
			p[i] = (uint8_t)op_random(c);
		for (i = 0; i < 2; i++) {
			v = oracle_f16_bits((double)random_float(c) / 64);
			memcpy(p + halves[dtype][i], &v, sizeof(v));
		}
	}
}

/*
 * A case is made anew for each device and each number of threads, and the same state of the
 * generator gives the same numbers: long runs of them are made once.
 */

#define RUN_BUCKETS	4096u
/* Shorter ones are made faster than found. */
#define RUN_MIN		256u
/* Bytes that are kept */
#define RUNS_MAX	(128ull << 20)

/**
 * struct run - what was made from a state
 * @next: in the same bucket
 * @from: the generator before; of what was pruned, a digest
 * @to: and behind
 * @range: of the case
 * @bytes: how many
 * @dtype: of what; none: pruned
 * @special: of the case
 * @mem: they
 */
struct run {
	struct run *next;
	uint64_t from;
	uint64_t to;
	double range;
	uint64_t bytes;
	uint32_t dtype;
	bool special;
	unsigned char mem[];
};

static struct {
	struct run *buckets[RUN_BUCKETS];
	uint64_t bytes;
} runs;

static void keep_run(const struct op_case *c, const struct run *like, const void *mem)
{
	struct run **bucket = &runs.buckets[like->from % RUN_BUCKETS], *run;

	if (like->bytes < RUN_MIN || runs.bytes + like->bytes > RUNS_MAX)
		return;
	run = malloc(sizeof(*run) + like->bytes);
	assert_non_null(run);
	*run = *like;
	run->next = *bucket;
	run->to = c->rng;
	memcpy(run->mem, mem, like->bytes);
	*bucket = run;
	runs.bytes += like->bytes;
}

static const struct run *find_run(const struct run *like)
{
	const struct run *run = runs.buckets[like->from % RUN_BUCKETS];

	while (run && (run->from != like->from || run->bytes != like->bytes ||
		       run->dtype != like->dtype || run->range != like->range ||
		       run->special != like->special))
		run = run->next;
	return run;
}

static void fill(struct op_case *c, void *mem, uint64_t bytes, uint32_t dtype)
{
	const struct run like = {
		.from = c->rng, .range = c->range, .bytes = bytes, .dtype = dtype,
		.special = c->special,
	};
	const struct run *run = find_run(&like);

	if (run) {
		memcpy(mem, run->mem, bytes);
		c->rng = run->to;
		return;
	}
	if (dtype > ACCEL_U4)
		fill_blocks(c, mem, bytes, dtype);
	else
		fill_random(c, mem, bytes, dtype);
	keep_run(c, &like, mem);
}

/* The cases that were made do not come again. */
void op_cases_forget(void)
{
	struct run *run;
	uint32_t i;

	for (i = 0; runs.bytes && i < RUN_BUCKETS; i++)
		while ((run = runs.buckets[i])) {
			runs.buckets[i] = run->next;
			free(run);
		}
	runs.bytes = 0;
}

/* --- tensors ------------------------------------------------------------------- */

static int64_t even(int64_t v, uint32_t dtype)
{
	return dtype >= ACCEL_S4 ? v + (v & 1) : v;
}

/* Lay dimensions out one around the other, in the order given. */
static int64_t lay_out(struct op_case *c, struct accel_tensor *t,
		       const uint32_t *order, bool gaps)
{
	int64_t step = 1;
	uint32_t i;

	for (i = 0; i < t->rank; i++) {
		uint32_t d = order[i];

		t->strides[d] = step;
		if (t->dims[d])
			step *= t->dims[d];
		if (gaps)
			step += op_below(c, 9);
		step = even(step, t->dtype);
	}
	return step;
}

/**
 * op_tensor - a tensor full of random numbers, with bytes around it
 * @c: case
 * @t: out
 * @dtype: type
 * @rank: rank
 * @dims: dimensions
 * @style: layout
 */
void op_tensor(struct op_case *c, struct accel_tensor *t, uint32_t dtype,
	       uint32_t rank, const int64_t *dims, enum op_style style)
{
	uint32_t bits = accel_dtype_bits(dtype), order[ACCEL_MAX_RANK] = { 0 }, i, j, d;
	int64_t elements, start = 0;
	uint64_t bytes;

	*t = accel_tensor_dense(NULL, dtype, rank, dims);
	for (i = 0; i < rank; i++)
		order[i] = rank - 1 - i;
	if (style == OP_PERMUTED)
		for (i = rank; i-- > 1; ) {
			j = op_below(c, i + 1);
			d = order[i];
			order[i] = order[j];
			order[j] = d;
		}
	elements = lay_out(c, t, order, style == OP_PADDED);
	d = op_below(c, rank);
	if (style == OP_REVERSED && t->dims[d] &&
	    !(dtype >= ACCEL_S4 && (t->strides[d] & 1))) {
		start = (t->dims[d] - 1) * t->strides[d];
		t->strides[d] = -t->strides[d];
	} else if (style == OP_REPEATED) {
		t->strides[d] = 0;
	}
	/* What the strides of a dense tensor would be anyway is not said. */
	t->flags = ACCEL_TENSOR_STRIDES;
	if (style == OP_DENSE && (dtype < ACCEL_S4 || !(dims[rank - 1] & 1))) {
		t->flags = 0;
		memset(t->strides, 0, sizeof(t->strides));
	}
	/* 64 bytes before and behind: an engine may want that alignment. */
	bytes = ((uint64_t)elements * bits + 7) / 8;
	t->offset = 64 + (uint64_t)start * bits / 8;
	if (style == OP_PADDED)
		t->offset += 64 * op_below(c, 3);
	bytes += t->offset + 64;
	bytes = (bytes + 7) & ~7ull;
	t->bo = new_bo(c, bytes);
	fill(c, accel_bo_ptr(t->bo), bytes, dtype);
}

/**
 * op_blocks - a tensor of blocks, with bytes around it
 * @c: case
 * @t: out
 * @dtype: type
 * @rank: rank
 * @dims: dimensions
 * @along: the one that blocks lie along
 * @style: layout
 */
void op_blocks(struct op_case *c, struct accel_tensor *t, uint32_t dtype, uint32_t rank,
	       const int64_t *dims, uint32_t along, enum op_style style)
{
	uint32_t size, bytes = accel_dtype_block(dtype, &size), i;
	int64_t step = dims[along] / size, start = 0;

	*t = accel_tensor_dense(NULL, dtype, rank, dims);
	t->flags = ACCEL_TENSOR_STRIDES;
	t->strides[along] = 1;
	for (i = rank; i-- > 0; ) {
		if (i == along)
			continue;
		if (style == OP_PADDED)
			step += op_below(c, 3);
		t->strides[i] = step * size;
		if (style == OP_REPEATED && op_below(c, 2)) {
			t->strides[i] = 0;
			continue;
		}
		if (style == OP_REVERSED && dims[i] && op_below(c, 2)) {
			t->strides[i] = -t->strides[i];
			start += (dims[i] - 1) * step;
		}
		step *= dims[i] ? dims[i] : 1;
	}
	/* A file says no strides. */
	if (style == OP_DENSE && along == rank - 1) {
		t->flags = 0;
		memset(t->strides, 0, sizeof(t->strides));
	}
	t->offset = 64 + (uint64_t)start * bytes;
	t->bo = new_bo(c, 128 + (uint64_t)step * bytes);
	memset(accel_bo_ptr(t->bo), 0xff, 128 + (uint64_t)step * bytes);
	fill(c, (unsigned char *)accel_bo_ptr(t->bo) + 64, (uint64_t)step * bytes, dtype);
}

static int32_t random_zero(struct op_case *c, uint32_t dtype)
{
	switch (dtype) {
	case ACCEL_S8:
		return (int32_t)op_below(c, 256) - 128;
	case ACCEL_U8:
		return (int32_t)op_below(c, 256);
	case ACCEL_S4:
		return (int32_t)op_below(c, 16) - 8;
	default:
		return (int32_t)op_below(c, 16);
	}
}

/**
 * op_quantise - give a tensor scales
 * @c: case
 * @t: tensor
 * @scheme: &enum accel_quant_scheme
 * @axis: dimension of the tables
 * @group: group size
 * @scale: about this large
 * @zeros: zero points too; minima there are where the scheme has them
 */
void op_quantise(struct op_case *c, struct accel_tensor *t, uint32_t scheme,
		 uint32_t axis, uint32_t group, double scale, bool zeros)
{
	struct accel_quant *q = &t->quant;
	uint64_t n = 1, i;
	char *p;

	q->scheme = scheme;
	if (scheme == ACCEL_QUANT_NONE)
		return;
	if (scheme == ACCEL_QUANT_TENSOR) {
		q->scale = (float)(scale * op_uniform(c, 0.5, 1.5));
		q->zero = zeros ? random_zero(c, t->dtype) : 0;
		return;
	}
	q->axis = axis;
	q->group = scheme >= ACCEL_QUANT_GROUP ? group : 0;
	for (i = 0; i < t->rank; i++) {
		uint64_t dim = (uint64_t)t->dims[i];

		if (i == axis && q->group)
			dim = (dim + q->group - 1) / q->group;
		if (i == axis || scheme >= ACCEL_QUANT_GROUP)
			n *= dim;
	}
	q->scale_dtype = op_below(c, 2) ? ACCEL_F16 : op_below(c, 2) ? ACCEL_F32 : 0;
	q->scales = new_bo(c, 16 + n * 4);
	q->scales_offset = 4 * op_below(c, 3);
	p = (char *)accel_bo_ptr(q->scales) + q->scales_offset;
	for (i = 0; i < n; i++) {
		double s = scale * op_uniform(c, 0.5, 1.5);

		if (q->scale_dtype == ACCEL_F16)
			((uint16_t *)p)[i] = oracle_f16_bits(s);
		else
			((float *)p)[i] = (float)s;
	}
	if (!zeros && scheme != ACCEL_QUANT_GROUP_MIN)
		return;
	q->zeros = new_bo(c, 16 + n * 4);
	q->zeros_offset = 4 * op_below(c, 3);
	p = (char *)accel_bo_ptr(q->zeros) + q->zeros_offset;
	for (i = 0; i < n; i++) {
		const double min = scale * op_uniform(c, -12, 4);

		if (scheme != ACCEL_QUANT_GROUP_MIN)
			((int32_t *)p)[i] = random_zero(c, t->dtype);
		else if (q->scale_dtype == ACCEL_F16)
			((uint16_t *)p)[i] = oracle_f16_bits(min);
		else
			((float *)p)[i] = (float)min;
	}
}

static uint64_t digest(uint64_t key, const void *mem, uint64_t size)
{
	uint64_t word, i;

	for (i = 0; i < size; i += sizeof(word)) {
		word = 0;
		memcpy(&word, (const char *)mem + i,
		       size - i < sizeof(word) ? size - i : sizeof(word));
		key = (key ^ word) * 0x9e3779b97f4a7c15ull;
		key ^= key >> 32;
	}
	return key;
}

int op_prune24(struct op_case *c, const struct accel_tensor *t, uint32_t axis)
{
	const uint32_t as[] = { t->dtype, t->rank, t->flags, axis };
	struct run like = { .bytes = accel_bo_size(t->bo), .dtype = ACCEL_DTYPE_COUNT };
	void *mem = accel_bo_ptr(t->bo);
	const struct run *run;
	int ret;

	like.from = digest(t->offset, as, sizeof(as));
	like.from = digest(like.from, t->dims, sizeof(t->dims));
	like.from = digest(like.from, t->strides, sizeof(t->strides));
	like.from = digest(like.from, mem, like.bytes);
	run = find_run(&like);
	if (run) {
		memcpy(mem, run->mem, like.bytes);
		return 0;
	}
	ret = accel_prune24(c->ctx, t, axis);
	if (!ret)
		keep_run(c, &like, mem);
	return ret;
}

void op_activation(struct op_case *c, struct accel_epilogue *epi, bool exact)
{
	epi->act = op_below(c, exact ? 2 : ACCEL_ACT_COUNT);
	switch (epi->act) {
	case ACCEL_ACT_CLAMP:
		epi->p0 = (float)op_uniform(c, -2, 0);
		epi->p1 = (float)op_uniform(c, 0, 6);
		break;
	case ACCEL_ACT_LEAKY_RELU:
		epi->p0 = (float)op_uniform(c, 0, 0.3);
		break;
	case ACCEL_ACT_HARD_SIGMOID:
		epi->p0 = (float)op_uniform(c, 0.1, 0.3);
		epi->p1 = (float)op_uniform(c, 0.4, 0.6);
		break;
	case ACCEL_ACT_ELU:
	case ACCEL_ACT_CELU:
		epi->p0 = (float)op_uniform(c, 0.3, 2);
		break;
	case ACCEL_ACT_SELU:
		epi->p0 = (float)op_uniform(c, 0.5, 2);
		epi->p1 = (float)op_uniform(c, 0.5, 2);
		break;
	default:
		break;
	}
}

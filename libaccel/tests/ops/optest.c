// SPDX-License-Identifier: MIT
/*
 * See optest.h.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "libaccel/tests/guest.h"
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

static struct accel_bo *new_bo(struct op_case *c, uint64_t bytes)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_bo *bo = NULL;

	assert_true(c->bo_count < OP_MAX_BOS);
	if (accel_bo_create(c->ctx, bytes ? bytes : 1, NULL, &bo)) {
		accel_ctx_get_error(c->ctx, &e);
		fail_msg("a buffer of %llu bytes: %s", (unsigned long long)bytes,
			 e.text);
	}
	c->bos[c->bo_count++] = bo;
	return bo;
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
	fill_random(c, accel_bo_ptr(t->bo), bytes, dtype);
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
 * @zeros: zero points too
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
	q->group = scheme == ACCEL_QUANT_GROUP ? group : 0;
	for (i = 0; i < t->rank; i++) {
		uint64_t dim = (uint64_t)t->dims[i];

		if (i == axis && q->group)
			dim = (dim + q->group - 1) / q->group;
		if (i == axis || scheme == ACCEL_QUANT_GROUP)
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
	if (!zeros)
		return;
	q->zeros = new_bo(c, 16 + n * 4);
	q->zeros_offset = 4 * op_below(c, 3);
	p = (char *)accel_bo_ptr(q->zeros) + q->zeros_offset;
	for (i = 0; i < n; i++)
		((int32_t *)p)[i] = random_zero(c, t->dtype);
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

/* --- running ------------------------------------------------------------------- */

/* Mark the bytes of a tensor's elements. */
static void mark(const struct accel_tensor *t, unsigned char *marks)
{
	uint32_t bits = accel_dtype_bits(t->dtype), i;
	int64_t idx[ACCEL_MAX_RANK], off;
	uint64_t n;

	for (n = 0; n < oracle_count(t); n++) {
		oracle_index(t, n, idx);
		off = oracle_offset(t, idx);
		if (bits < 8)
			marks[(int64_t)t->offset + (off >> 1)] = 1;
		else
			for (i = 0; i < bits / 8; i++)
				marks[(int64_t)t->offset + off * (bits / 8) + i] = 1;
	}
}

/* Bytes that do not belong to the result must be as they were. */
static void check_around(const struct accel_tensor *t, const unsigned char *before,
			 const char *where)
{
	const unsigned char *now = accel_bo_ptr(t->bo);
	uint64_t size = accel_bo_size(t->bo), i;
	unsigned char *marks = calloc(1, size);

	assert_non_null(marks);
	mark(t, marks);
	for (i = 0; i < size; i++)
		if (!marks[i] && now[i] != before[i])
			break;
	free(marks);
	if (i < size)
		fail_msg("%s: byte %llu of the result's buffer is no element and was written",
			 where, (unsigned long long)i);
}

static void describe_case(const struct op_env *env, uint64_t seed, const char *what,
			  char *buf, size_t size)
{
	snprintf(buf, size,
		 "ACCEL_TEST_DEVICE=%s ACCEL_SW_KERNELS=%s%s ACCEL_TEST_SEED=0x%llx (%s)",
		 env->name, env->kernels, env->small ? " ACCEL_TEST_SMALL=1" : "",
		 (unsigned long long)seed, what);
}

static int count_possible(void *user, const struct accel_candidate *c)
{
	*(uint32_t *)user += c->verdict != ACCEL_REFUSED;
	assert_true(c->verdict != ACCEL_REFUSED || (c->field[0] && c->text[0]));
	return 0;
}

/* A refusal is right if accel_explain() tells the same. */
static void check_refusal(struct accel_ctx *ctx,
			  const struct accel_desc *desc, const char *where)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	uint32_t possible = 0;

	accel_ctx_get_error(ctx, &e);
	/* Every chip has a GPU, which does everything. */
	if (!desc->engine)
		fail_msg("%s: refused: %s: %s", where, e.field, e.text);
	if (!e.field[0] || !e.text[0])
		fail_msg("%s: refused without field or reason", where);
	/* A descriptor that no engine could do is no case. */
	if (accel_explain(ctx, desc, count_possible, &possible))
		fail_msg("%s: refused: %s: %s", where, e.field, e.text);
	assert_true(possible);
}

/* A result before the operation, what it should be, and integers for another device. */
struct outcome {
	const struct accel_tensor *d;
	struct oracle_result want;
	unsigned char *bytes;
	uint64_t size;
};

static uint32_t outcomes_begin(const struct accel_desc *desc, struct outcome *o)
{
	uint32_t n;

	for (n = 0; n < OP_MAX_RESULTS; n++, o++) {
		o->d = oracle_tensor(desc, n);
		if (!o->d)
			break;
		if (!o->d->rank)
			continue;
		o->size = accel_bo_size(o->d->bo);
		o->bytes = malloc(o->size);
		assert_non_null(o->bytes);
		memcpy(o->bytes, accel_bo_ptr(o->d->bo), o->size);
		assert_int_equal(oracle_compute(desc, n, &o->want), 0);
	}
	return n;
}

static void check_outcome(const struct outcome *o, const struct accel_desc *desc,
			  const char *where)
{
	char why[200] = "", line[700];
	uint64_t wrong;

	wrong = oracle_compare(o->d, &o->want, why, sizeof(why));
	if (wrong) {
		op_say(desc, line, sizeof(line));
		fail_msg("%s: %llu of %llu elements are wrong, first %s; %s",
			 where, (unsigned long long)wrong,
			 (unsigned long long)o->want.count, why, line);
	}
	check_around(o->d, o->bytes, where);
}

/* Keep what other devices must give to the bit: integers. */
static void keep_integers(struct outcome *o, bool ran)
{
	if (ran && o->bytes && (o->d->dtype > ACCEL_BF16 || o->want.exact)) {
		memcpy(o->bytes, accel_bo_ptr(o->d->bo), o->size);
	} else {
		free(o->bytes);
		o->bytes = NULL;
	}
	oracle_free(&o->want);
	o->d = NULL;
}

/* One context: build, compute, run, compare. Returns 0, or -EOPNOTSUPP. */
static int run_on(struct op_env *env, struct accel_ctx *ctx, op_build_fn *build,
		  const void *arg, uint64_t seed, const char *where,
		  struct outcome *o)
{
	struct op_case c = { .ctx = ctx, .rng = seed, .seed = seed, .small = env->small };
	struct accel_error e = ACCEL_ERROR_INIT;
	const struct accel_desc *desc = build(&c, arg);
	uint32_t count = outcomes_begin(desc, o), i;
	int ret;

	ret = accel_run(ctx, desc);
	if (ret == -EOPNOTSUPP) {
		check_refusal(ctx, desc, where);
	} else if (ret) {
		accel_ctx_get_error(ctx, &e);
		fail_msg("%s: %s: %s: %s", where, strerror(-ret), e.field, e.text);
	} else {
		for (i = 0; i < count; i++)
			if (o[i].d->rank)
				check_outcome(&o[i], desc, where);
	}
	for (i = 0; i < count; i++)
		keep_integers(&o[i], !ret);
	while (c.bo_count)
		accel_bo_unref(c.bos[--c.bo_count]);
	free((void *)desc);
	return ret;
}

/**
 * op_run - run a case
 * @env: device
 * @build: makes the operation: malloc'ed
 * @arg: passed on
 * @seed: of its random numbers
 * @what: for messages
 *
 * Fails the test if it goes wrong.
 *
 * Return: 0, -EOPNOTSUPP.
 */
int op_run(struct op_env *env, op_build_fn *build, const void *arg, uint64_t seed,
	   const char *what)
{
	struct outcome out[OP_MAX_RESULTS] = { 0 }, ref[OP_MAX_RESULTS] = { 0 };
	const char *only = getenv("ACCEL_TEST_SEED");
	char where[400];
	int ret, ref_ret;
	uint32_t i;

	if (only && strtoull(only, NULL, 0) != seed)
		return 0;
	describe_case(env, seed, what, where, sizeof(where));
	if (getenv("ACCEL_TEST_TRACE"))
		fprintf(stderr, "# %s\n", where);
	ret = run_on(env, env->ctx, build, arg, seed, where, out);
	if (env->ref) {
		ref_ret = run_on(env, env->ref, build, arg, seed, where, ref);
		if (ret != ref_ret)
			fail_msg("%s: %d here and %d in process", where, ret, ref_ret);
	}
	for (i = 0; i < OP_MAX_RESULTS; i++) {
		if (env->ref && out[i].bytes &&
		    (out[i].size != ref[i].size ||
		     memcmp(out[i].bytes, ref[i].bytes, out[i].size) != 0))
			fail_msg("%s: integers differ from those in process", where);
		free(out[i].bytes);
		free(ref[i].bytes);
	}
	env->cases += !ret;
	env->refused += ret == -EOPNOTSUPP;
	return ret;
}

/* Random cases from a seed on, or the one that the environment names. */
void op_random_cases(struct op_env *env, op_build_fn *build, const void *arg,
		     uint32_t count, uint64_t seed)
{
	const char *only = getenv("ACCEL_TEST_SEED");
	const char *cases = getenv("ACCEL_TEST_CASES");
	struct op_case c = { .rng = seed };
	uint32_t i;

	if (only) {
		op_run(env, build, arg, strtoull(only, NULL, 0), "random");
		return;
	}
	if (cases)
		count = (uint32_t)strtoul(cases, NULL, 0);
	else if (env->small)
		count = count / 10 + 1;
	for (i = 0; i < count; i++)
		op_run(env, build, arg, op_random(&c), "random");
}

void op_report(struct op_env *env, const char *what)
{
	printf("# %s: %s%s%s: %llu cases, %llu refused by the chip\n", what,
	       env->name, *env->kernels ? ", " : "", env->kernels,
	       (unsigned long long)env->cases, (unsigned long long)env->refused);
	env->cases = 0;
	env->refused = 0;
}

/* --- programs --------------------------------------------------------------------- */

/**
 * struct bound_test - a test and the device that it runs on
 * @test: test
 * @env: device
 */
struct bound_test {
	const struct op_test *test;
	struct op_env *env;
};

static void run_bound(void **state)
{
	const struct bound_test *b = *state;

	b->test->fn(b->env);
	op_report(b->env, b->test->name);
}

static int open_env(struct op_env *env, const char *name, const char *kernels)
{
	struct accel_device_info info = { .size = sizeof(info) };
	char ref[48];

	memset(env, 0, sizeof(*env));
	snprintf(env->name, sizeof(env->name), "%s", name);
	snprintf(env->kernels, sizeof(env->kernels), "%s", kernels);
	env->small = test_small();
	if (*kernels)
		setenv("ACCEL_SW_KERNELS", kernels, 1);
	else
		unsetenv("ACCEL_SW_KERNELS");
	if (accel_device_open(name, NULL, &env->dev))
		return -1;
	if (accel_ctx_create(env->dev, NULL, &env->ctx))
		return -1;
	if (accel_device_get_info(env->dev, &info))
		return -1;
	snprintf(env->chip, sizeof(env->chip), "%s", info.profile);
	if (!(getenv("ACCEL_TEST_COMPARE") || test_in_guest()) || !strncmp(name, "sw", 2))
		return 0;
	snprintf(ref, sizeof(ref), "sw:%s", env->chip);
	return accel_device_open(ref, NULL, &env->ref_dev) ||
	       accel_ctx_create(env->ref_dev, NULL, &env->ref) ? -1 : 0;
}

static void close_env(struct op_env *env)
{
	accel_ctx_destroy(env->ref);
	accel_device_unref(env->ref_dev);
	accel_ctx_destroy(env->ctx);
	accel_device_unref(env->dev);
}

/* The tests, each on each of the devices. */
static int run_all(struct op_env *envs, uint32_t env_count,
		   const struct op_test *tests, uint32_t count)
{
	struct CMUnitTest *list = calloc(env_count * count, sizeof(*list));
	struct bound_test *bound = calloc(env_count * count, sizeof(*bound));
	uint32_t i, j, n = 0;
	char name[256];
	int ret = 1;

	if (!list || !bound)
		goto out;
	for (i = 0; i < env_count; i++)
		for (j = 0; j < count; j++, n++) {
			bound[n] = (struct bound_test){ &tests[j], &envs[i] };
			snprintf(name, sizeof(name), "%.60s on %.60s%s%.15s",
				 tests[j].name, envs[i].name,
				 *envs[i].kernels ? " with " : "",
				 envs[i].kernels);
			list[n] = (struct CMUnitTest) {
				.name = strdup(name), .test_func = run_bound,
				.initial_state = &bound[n],
			};
		}
	cmocka_set_message_output(CM_OUTPUT_TAP);
	ret = _cmocka_run_group_tests("operations", list, n, NULL, NULL);
	for (i = 0; i < n; i++)
		free((void *)list[i].name);
out:
	free(list);
	free(bound);
	return ret;
}

/**
 * op_main - run tests on the devices that the environment says
 * @tests: tests
 * @count: their number
 *
 * By default the in-process device as every chip, and the largest one with
 * every set of kernels that this processor has.
 *
 * Return: exit status.
 */
int op_main(const struct op_test *tests, uint32_t count)
{
	static const struct {
		const char *name, *kernels;
	} all[] = {
#if defined(__SANITIZE_THREAD__)
		/* Other kernels and chips have no other threads. */
		{ "sw:full", "" }, { "sw:m1", "" },
#else
		{ "sw:full", "" }, { "sw:full", "portable" },
		{ "sw:full", "avx2" }, { "sw:full", "avx512" },
		{ "sw:m1", "" }, { "sw:m2", "" }, { "sw:m3", "" }, { "sw:ultra", "" },
#endif
	};
	const char *only = test_device(NULL);
	const char *kernels = getenv("ACCEL_SW_KERNELS");
	static struct op_env envs[8];
	char wanted[16];
	uint32_t i, n = 0;
	int ret;

	/* Tests set the variable that this came from. */
	snprintf(wanted, sizeof(wanted), "%s", kernels ? kernels : "");
	if (only && open_env(&envs[n++], only, wanted)) {
		printf("1..0\nBail out! %s cannot be opened\n", only);
		return 1;
	}
	for (i = 0; !only && i < sizeof(all) / sizeof(all[0]); i++) {
		if (!open_env(&envs[n], all[i].name, all[i].kernels)) {
			n++;
			continue;
		}
		if (!*all[i].kernels || !strcmp(all[i].kernels, "portable")) {
			printf("1..0\nBail out! %s cannot be opened\n", all[i].name);
			return 1;
		}
		printf("# %s: not on this processor\n", all[i].kernels);
	}
	ret = run_all(envs, n, tests, count);
	for (i = 0; i < n; i++)
		close_env(&envs[i]);
	return ret ? 1 : 0;
}

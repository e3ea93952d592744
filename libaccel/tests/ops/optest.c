// SPDX-License-Identifier: MIT
/*
 * Running cases, see optest.h.
 */
#include <errno.h>
#include <malloc.h>
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

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* --- running ------------------------------------------------------------------- */

/* Mark the bytes of a tensor's elements. */
static void mark(const struct accel_tensor *t, unsigned char *marks)
{
	uint32_t bits = accel_dtype_bits(t->dtype);
	int64_t idx[ACCEL_MAX_RANK] = { 0 }, off;
	uint64_t n, count = oracle_count(t);

	for (n = 0; n < count; n++, oracle_next(t, idx)) {
		off = oracle_offset(t, idx);
		if (bits < 8)
			marks[(int64_t)t->offset + (off >> 1)] = 1;
		else
			memset(marks + (int64_t)t->offset + off * (bits / 8), 1, bits / 8);
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

/* --- answers ------------------------------------------------------------------- */

/*
 * What the oracle says does not depend on who computes, and the oracle is what takes
 * long: a case that comes again, on the next device or with other kernels, is known by
 * its descriptor and what is in its buffers. So are the bytes that were found right.
 */

#define ANSWER_BUCKETS	4096u
/* Bytes of answers that are kept; what comes then is computed each time. */
#define ANSWERS_MAX	(256ull << 20)

/**
 * struct answer - what a result should be
 * @next: in the same bucket
 * @key: of the case
 * @result: of the oracle
 * @kept: it is in a bucket
 * @right: bytes of the result's buffer that were found right, or NULL
 */
struct answer {
	struct answer *next;
	uint64_t key[2];
	struct oracle_result result;
	bool kept;
	unsigned char *right;
};

static struct {
	struct answer *buckets[ANSWER_BUCKETS];
	uint64_t bytes;
	/* A case runs more than once */
	bool wanted;
	/* It comes again on another device */
	bool across;
} answers;

/* Two halves of a product folded, with other constants: keys of 128 bits */
static void digest(uint64_t key[2], uint64_t word)
{
	key[0] = (key[0] ^ word) * 0x9e3779b97f4a7c15ull;
	key[0] ^= key[0] >> 32;
	key[1] = (key[1] + word) * 0xd6e8feb86659fd93ull;
	key[1] ^= key[1] >> 29;
}

static void digest_bytes(uint64_t key[2], const void *mem, uint64_t size)
{
	uint64_t word, i;

	digest(key, size);
	for (i = 0; i < size; i += sizeof(word)) {
		word = 0;
		memcpy(&word, (const char *)mem + i,
		       size - i < sizeof(word) ? size - i : sizeof(word));
		digest(key, word);
	}
}

/* A descriptor with buffers by their place in the case; any engine gives the same. */
static void digest_case(uint64_t key[2], const struct op_case *c, const struct accel_desc *desc)
{
	struct accel_desc *copy = malloc(desc->size);
	uint64_t i, bo;
	uint32_t k;

	assert_non_null(copy);
	memcpy(copy, desc, desc->size);
	copy->engine = 0;
	for (i = 0; i + sizeof(bo) <= desc->size; i += sizeof(bo)) {
		memcpy(&bo, (char *)copy + i, sizeof(bo));
		for (k = 0; k < c->bo_count; k++)
			if (bo == (uintptr_t)c->bos[k])
				bo = k;
		memcpy((char *)copy + i, &bo, sizeof(bo));
	}
	digest_bytes(key, copy, desc->size);
	free(copy);
	for (k = 0; k < c->bo_count; k++)
		digest_bytes(key, accel_bo_ptr(c->bos[k]), accel_bo_size(c->bos[k]));
}

static struct answer *answer_find(const uint64_t key[2])
{
	struct answer *a = answers.buckets[key[0] % ANSWER_BUCKETS];

	while (a && memcmp(a->key, key, sizeof(a->key)) != 0)
		a = a->next;
	return a;
}

static struct answer *answer_make(const struct accel_desc *desc, uint32_t index,
				  const uint64_t key[2])
{
	struct answer *a = calloc(1, sizeof(*a)), **bucket;
	uint64_t bytes;

	assert_non_null(a);
	assert_int_equal(oracle_compute(desc, index, &a->result), 0);
	memcpy(a->key, key, sizeof(a->key));
	bytes = a->result.count * (a->result.exact ? sizeof(int64_t) : sizeof(struct oracle_num));
	if (!answers.wanted || answers.bytes + bytes > ANSWERS_MAX)
		return a;
	bucket = &answers.buckets[key[0] % ANSWER_BUCKETS];
	a->kept = true;
	a->next = *bucket;
	*bucket = a;
	answers.bytes += bytes;
	return a;
}

static void answer_free(struct answer *a)
{
	if (!a)
		return;
	oracle_free(&a->result);
	free(a->right);
	free(a);
}

static void answers_forget(void)
{
	struct answer *a;
	uint32_t i;

	for (i = 0; i < ANSWER_BUCKETS; i++)
		while ((a = answers.buckets[i])) {
			answers.buckets[i] = a->next;
			answer_free(a);
		}
	answers.bytes = 0;
	op_cases_forget();
}

/* --- one case -------------------------------------------------------------------- */

/* A result before the operation, what it should be, and integers for another device. */
struct outcome {
	const struct accel_tensor *d;
	struct answer *want;
	/* The bytes of attention are rounded from sums whose order is left open. */
	bool rounded;
	unsigned char *bytes;
	uint64_t size;
};

static uint32_t outcomes_begin(const struct op_case *c, const struct accel_desc *desc,
			       struct outcome *o)
{
	uint64_t key[2] = { c->seed, 0 }, own[2];
	uint32_t n;

	digest_case(key, c, desc);

	for (n = 0; n < OP_MAX_RESULTS; n++, o++) {
		o->d = oracle_tensor(desc, n);
		if (!o->d)
			break;
		if (!o->d->rank)
			continue;
		o->rounded = desc->op == ACCEL_OP_ATTENTION;
		o->size = accel_bo_size(o->d->bo);
		o->bytes = malloc(o->size);
		assert_non_null(o->bytes);
		memcpy(o->bytes, accel_bo_ptr(o->d->bo), o->size);
		memcpy(own, key, sizeof(own));
		digest(own, n);
		o->want = answer_find(own);
		if (!o->want)
			o->want = answer_make(desc, n, own);
	}
	return n;
}

/* The next device that gives the same bytes is as right: they are looked at once. */
static void remember(struct answer *a, const struct outcome *o)
{
	if (!a->kept || answers.bytes + o->size > ANSWERS_MAX)
		return;
	a->right = malloc(o->size);
	assert_non_null(a->right);
	memcpy(a->right, accel_bo_ptr(o->d->bo), o->size);
	answers.bytes += o->size;
}

static void check_outcome(const struct outcome *o, const struct accel_desc *desc,
			  const char *where)
{
	char why[200] = "", line[700];
	uint64_t wrong;

	if (o->want->right && !memcmp(o->want->right, accel_bo_ptr(o->d->bo), o->size))
		return;
	wrong = oracle_compare(o->d, &o->want->result, why, sizeof(why));
	if (wrong) {
		op_say(desc, line, sizeof(line));
		fail_msg("%s: %llu of %llu elements are wrong, first %s; %s",
			 where, (unsigned long long)wrong,
			 (unsigned long long)o->want->result.count, why, line);
	}
	check_around(o->d, o->bytes, where);
	if (!o->want->right)
		remember(o->want, o);
}

/* Keep what others must give to the bit: integers, or @all. */
static void keep_bits(struct outcome *o, bool ran, bool all)
{
	const bool whole = o->d && o->d->dtype > ACCEL_BF16 && !o->rounded;

	if (ran && o->d && o->bytes && (all || whole || o->want->result.exact)) {
		memcpy(o->bytes, accel_bo_ptr(o->d->bo), o->size);
	} else {
		free(o->bytes);
		o->bytes = NULL;
	}
	if (o->want && !o->want->kept)
		answer_free(o->want);
	o->want = NULL;
	o->d = NULL;
}

/*
 * The first device creates its buffers, where others follow that import theirs those of one case
 * of eight: to unmap memory takes as long as a small operation.
 */
static struct op_case begin_case(const struct op_env *env, struct accel_ctx *ctx, uint64_t seed)
{
	return (struct op_case){
		.ctx = ctx, .rng = seed, .seed = seed, .small = env->small,
		.import = env->turn || (answers.across && (seed ^ seed >> 3 ^ seed >> 6) % 8),
	};
}

/* One context: build, compute, run, compare. Returns 0, or -EOPNOTSUPP. */
static int run_on(struct op_env *env, struct accel_ctx *ctx, op_build_fn *build,
		  const void *arg, uint64_t seed, const char *where,
		  struct outcome *o)
{
	struct op_case c = begin_case(env, ctx, seed);
	struct accel_error e = ACCEL_ERROR_INIT;
	const struct accel_desc *desc = build(&c, arg);
	uint32_t count = outcomes_begin(&c, desc, o), i;
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
		keep_bits(&o[i], !ret, env->team[0]);
	while (c.bo_count)
		accel_bo_unref(c.bos[--c.bo_count]);
	free((void *)desc);
	return ret;
}

/*
 * The case with one of the other numbers of threads: the same bits. What they should be
 * is known by now, so no oracle is asked.
 */
static void run_team(struct op_env *env, op_build_fn *build, const void *arg, uint64_t seed,
		     const char *where, const struct outcome *want)
{
	struct accel_ctx *ctx = env->team[(seed >> 7) % OP_TEAMS];
	struct op_case c = begin_case(env, ctx, seed);
	const struct accel_desc *desc = build(&c, arg);
	uint32_t i;

	if (accel_run(ctx, desc))
		fail_msg("%s: failed with another number of threads", where);
	for (i = 0; i < OP_MAX_RESULTS; i++) {
		const struct accel_tensor *d = oracle_tensor(desc, i);

		if (!d)
			break;
		if (d->rank && want[i].bytes &&
		    memcmp(accel_bo_ptr(d->bo), want[i].bytes, want[i].size) != 0)
			fail_msg("%s: another number of threads gives other bits", where);
	}
	while (c.bo_count)
		accel_bo_unref(c.bos[--c.bo_count]);
	free((void *)desc);
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

	if (only ? strtoull(only, NULL, 0) != seed :
		   !env->counted && test_not_of(env->every, env->seen++, env->turn))
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
	if (!ret && env->team[0])
		run_team(env, build, arg, seed, where, out);
	for (i = 0; i < OP_MAX_RESULTS; i++) {
		if (env->ref && out[i].bytes &&
		    (out[i].size != ref[i].size || !ref[i].bytes ||
		     memcmp(out[i].bytes, ref[i].bytes, out[i].size) != 0))
			fail_msg("%s: integers differ from those in process", where);
		free(out[i].bytes);
		free(ref[i].bytes);
	}
	if (!answers.across)
		answers_forget();
	env->cases += !ret;
	env->refused += ret == -EOPNOTSUPP;
	return ret;
}

/*
 * Random cases from a seed on, or the one that the environment names. If it says how many, these
 * are not thinned out, and each device has the next so many.
 */
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
	for (i = 0; cases && i < env->turn * count; i++)
		op_random(&c);
	env->counted = cases;
	for (i = 0; i < count; i++)
		op_run(env, build, arg, op_random(&c), "random");
	env->counted = false;
}

void op_report(struct op_env *env, const char *what)
{
	printf("# %s: %s%s%s: %llu cases, %llu refused by the chip\n", what,
	       env->name, *env->kernels ? ", " : "", env->kernels,
	       (unsigned long long)env->cases, (unsigned long long)env->refused);
	env->cases = 0;
	env->refused = 0;
	env->seen = 0;
}

/* --- programs --------------------------------------------------------------------- */

/**
 * struct bound_test - a test and the device that it runs on
 * @test: test
 * @env: device
 * @last: no device comes after it
 */
struct bound_test {
	const struct op_test *test;
	struct op_env *env;
	bool last;
};

static void run_bound(void **state)
{
	const struct bound_test *b = *state;

	b->test->fn(b->env);
	op_report(b->env, b->test->name);
	if (b->last)
		answers_forget();
}

/* The device under test and others of its kind: 2 threads, and 1, 3 and 4. */
static int open_team(struct op_env *env)
{
	struct accel_device_opts opts = ACCEL_DEVICE_OPTS_INIT;
	uint32_t i;

	for (i = 0; i < OP_TEAMS; i++) {
		opts.threads = i ? i + 2 : 1;
		if (accel_device_open(env->name, &opts, &env->team_dev[i]) ||
		    accel_ctx_create(env->team_dev[i], NULL, &env->team[i]))
			return -1;
	}
	return 0;
}

static int open_env(struct op_env *env, const char *name, const char *kernels)
{
	struct accel_device_opts opts = ACCEL_DEVICE_OPTS_INIT;
	struct accel_device_info info = { .size = sizeof(info) };
	char ref[48];

	memset(env, 0, sizeof(*env));
	snprintf(env->name, sizeof(env->name), "%s", name);
	snprintf(env->kernels, sizeof(env->kernels), "%s", kernels);
	env->small = test_small();
	env->every = test_every();
	if (*kernels)
		setenv("ACCEL_SW_KERNELS", kernels, 1);
	else
		unsetenv("ACCEL_SW_KERNELS");
	opts.threads = strncmp(name, "sw", 2) ? 0 : 2;
	if (accel_device_open(name, &opts, &env->dev))
		return -1;
	if (accel_ctx_create(env->dev, NULL, &env->ctx))
		return -1;
	if (accel_device_get_info(env->dev, &info))
		return -1;
	snprintf(env->chip, sizeof(env->chip), "%s", info.profile);
	/* One chip is enough: kernels differ by level. */
	if (!strcmp(name, "sw:full") && open_team(env))
		return -1;
	if (!(getenv("ACCEL_TEST_COMPARE") || test_in_guest()) || !strncmp(name, "sw", 2))
		return 0;
	snprintf(ref, sizeof(ref), "sw:%s", env->chip);
	return accel_device_open(ref, NULL, &env->ref_dev) ||
	       accel_ctx_create(env->ref_dev, NULL, &env->ref) ? -1 : 0;
}

static void close_env(struct op_env *env)
{
	uint32_t i;

	for (i = 0; i < OP_TEAMS; i++) {
		accel_ctx_destroy(env->team[i]);
		accel_device_unref(env->team_dev[i]);
	}
	accel_ctx_destroy(env->ref);
	accel_device_unref(env->ref_dev);
	accel_ctx_destroy(env->ctx);
	accel_device_unref(env->dev);
}

/* The tests, each on each of the devices, one after the other: they share its answers. */
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
	answers.across = env_count > 1;
	answers.wanted = answers.across || envs[0].ref;
	envs[0].first = true;
	for (i = 0; i < env_count; i++)
		envs[i].turn = i;
	for (j = 0; j < count; j++)
		for (i = 0; i < env_count; i++, n++) {
			bound[n] = (struct bound_test){ &tests[j], &envs[i], i + 1 == env_count };
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

#if !defined(__SANITIZE_THREAD__)
/* The device with every set of kernels that this processor has; the best comes by itself. */
static uint32_t open_levels(struct op_env *envs)
{
	static const char *const levels[] = {
		"amx", "avx512-bf16", "avx512-vnni", "avx512", "avx2", "neon-dotprod", "neon", "portable"
	};
	uint32_t i, n = 0;
	bool best = true;

	if (open_env(&envs[n], "sw:full", ""))
		return 0;
	n++;
	for (i = 0; i < ARRAY_SIZE(levels); i++) {
		if (open_env(&envs[n], "sw:full", levels[i])) {
			printf("# %s: not on this processor\n", levels[i]);
			continue;
		}
		if (best)
			close_env(&envs[n]);
		else
			n++;
		best = false;
	}
	return n;
}
#endif

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
	static const char *const chips[] = {
#if defined(__SANITIZE_THREAD__)
		/* Other kernels and chips have no other threads. */
		"sw:full", "sw:m1",
#else
		"sw:m1", "sw:m2", "sw:m3", "sw:ultra",
#endif
	};
	const char *only = test_device(NULL);
	const char *kernels = getenv("ACCEL_SW_KERNELS");
	static struct op_env envs[16];
	uint32_t i, n = 0;
	char wanted[16];
	int ret = 1;

	/* Memory is not unmapped when it is freed, see optest_case.c. */
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	/* Tests set the variable that this came from. */
	snprintf(wanted, sizeof(wanted), "%s", kernels ? kernels : "");
#if !defined(__SANITIZE_THREAD__)
	if (!only || !strcmp(wanted, "all"))
		n = open_levels(envs);
#endif
	if (only && !n && open_env(&envs[n++], only, wanted)) {
		printf("1..0\nBail out! %s cannot be opened\n", only);
		goto out;
	}
	for (i = 0; !only && i < ARRAY_SIZE(chips); i++, n++) {
		if (open_env(&envs[n], chips[i], "")) {
			printf("1..0\nBail out! %s cannot be opened\n", chips[i]);
			n++;
			goto out;
		}
		/* They have the same kernels: each case on one, unless all are wanted. */
		if (envs[n].every > 1 && envs[n].every < ARRAY_SIZE(chips))
			envs[n].every = ARRAY_SIZE(chips);
	}
	ret = run_all(envs, n, tests, count);
out:
	for (i = 0; i < n; i++)
		close_env(&envs[i]);
	return ret ? 1 : 0;
}

// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Valid ioctl arguments and valid tasks with words changed: every 32-bit word of
 * them, each bit of it, all ones, zero, one more, one less, and something
 * random; and when all of these have had their turn, several words of a call at
 * a time. A call succeeds or fails as it is documented to, a job runs or faults,
 * and every now and then another client looks whether its jobs are still right.
 *
 * Each mutation is a function of seed and number alone. From the environment:
 *
 *	MUTATE_SEED=n		(1)
 *	MUTATE_SECONDS=n	(20) for each of the two tests
 *	MUTATE_N=n		that many mutations instead, however long it takes
 *	MUTATE_FROM=n		(0) number of the first
 *	MUTATE_WORKERS=n	(one a processor) processes that share the work
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "mutate.h"
#include "task.h"
#include "watch.h"

#define KINDS		37	/* mutations of a word */
#define ROUND		256	/* calls between two looks at the innocent */
#define TASK_ROUND	32
#define MAX_CALLS	64
#define MAX_ERRNO	134
#define LIMIT_S		14400

struct stats {
	__u64 next;		/* number of the next round, taken by whoever is free */
	__u64 calls[MAX_CALLS];
	__u64 good[MAX_CALLS];
	__u64 errors[MAX_ERRNO];
	__u64 innocent;
	__u64 faults;
	__u64 timeouts;
};

struct plan {
	__u64 seed;
	__u64 from;
	__u64 count;		/* 0: until the time is over */
	uint64_t until;
	unsigned int workers;
	struct stats *stats;
};

static __u64 number(const char *name, __u64 otherwise)
{
	const char *s = getenv(name);

	return s && *s ? strtoull(s, NULL, 0) : otherwise;
}

static void plan_make(struct plan *p)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	p->seed = number("MUTATE_SEED", 1);
	p->from = number("MUTATE_FROM", 0);
	p->count = number("MUTATE_N", 0);
	p->until = now_ns() + number("MUTATE_SECONDS", 20) * 1000000000ull;
	p->workers = (unsigned int)number("MUTATE_WORKERS", cpus > 0 ? (__u64)cpus : 1);
	p->stats = mmap(NULL, sizeof(*p->stats), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	ASSERT_TRUE(p->stats != MAP_FAILED);
	harness_diag("MUTATE_SEED=%llu MUTATE_FROM=%llu", p->seed, p->from);
}

static __u64 mix(__u64 *state)
{
	__u64 z = (*state += 0x9e3779b97f4a7c15ull);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static __u32 below(__u64 *state, __u32 n)
{
	return (__u32)((mix(state) >> 32) * n >> 32);
}

static __u32 changed(__u32 word, unsigned int kind, __u64 *state)
{
	switch (kind) {
	case 32:
		return 0xffffffffu;
	case 33:
		return 0;
	case 34:
		return word + 1;
	case 35:
		return word - 1;
	case 36:
		return (__u32)mix(state);
	default:
		return word ^ 1u << kind;
	}
}

static void change(void *p, __u32 word, unsigned int kind, __u64 *state)
{
	__u32 v;

	/* Texts need not be aligned. */
	memcpy(&v, (char *)p + 4 * word, 4);
	v = changed(v, kind, state);
	memcpy((char *)p + 4 * word, &v, 4);
}

/* --- the innocent ------------------------------------------------------------ */

struct innocent {
	struct client c;
	__u32 queues[MAX_ENGINES];
	unsigned int count;
	struct buf tasks;
	struct buf a;
	struct buf b;
	__u32 round;
};

static void innocent_open(struct innocent *in)
{
	struct drm_uma_query_engine engines[MAX_ENGINES];
	unsigned int n, i;

	memset(in, 0, sizeof(*in));
	client_open(&in->c);
	n = query_engines(in->c.fd, engines);
	for (i = 0; i < n; i++) {
		if (engine_can(in->c.fd, i, UMA_OP_FILL, 0, 0, UMA_DTYPE_S32) &&
		    engine_can(in->c.fd, i, UMA_OP_COPY, UMA_DTYPE_S32, 0, UMA_DTYPE_S32))
			in->queues[in->count++] = queue_create(in->c.fd, in->c.vm, i);
	}
	ASSERT_GT(in->count, 0);
	client_buf(&in->c, &in->tasks, PAGE);
	client_buf(&in->c, &in->a, PAGE);
	client_buf(&in->c, &in->b, PAGE);
}

/* A job on each engine, and the results of it. */
static bool innocent_run(struct innocent *in)
{
	unsigned int i, k;
	int ret;

	for (i = 0; i < in->count; i++) {
		__u32 value = ++in->round * 2654435761u;

		task_fill(&in->tasks.task[0], UMA_DTYPE_S32, in->a.va, 64, value);
		task_copy(&in->tasks.task[1], UMA_DTYPE_S32, in->b.va + 512, in->a.va, 64);
		ret = client_run(&in->c, in->queues[i], in->tasks.va, 2);
		if (ret) {
			harness_fail(__FILE__, __LINE__, "an innocent job failed: %d", ret);
			return false;
		}
		for (k = 0; k < 64; k++) {
			if (in->b.u32[128 + k] == value)
				continue;
			harness_fail(__FILE__, __LINE__, "word %u of an innocent job is %#x, not %#x",
				     k, in->b.u32[128 + k], value);
			return false;
		}
	}
	return true;
}

/* --- ioctls ------------------------------------------------------------------ */

/* Where the turn of one word after the other begins for each call; the last is their number. */
static __u32 first_word[MAX_CALLS + 1];

static void build(struct world *w, const struct call *call)
{
	w->chunk_count = 0;
	call->build(w);
}

static __u32 words(const struct world *w)
{
	__u32 n = 0;
	unsigned int i;

	for (i = 0; i < w->chunk_count; i++)
		n += w->chunks[i].size / 4;
	return n;
}

static void count_words(struct world *w)
{
	unsigned int i;
	int ret;

	ASSERT_LE(mutate_call_count, MAX_CALLS);
	for (i = 0; i < mutate_call_count; i++) {
		const struct call *call = &mutate_calls[i];

		build(w, call);
		first_word[i + 1] = first_word[i] + words(w);
		/* A mutation of a call that never succeeds proves little. */
		ret = do_ioctl(w->c.fd, call->request, w->chunks[0].p);
		if (ret)
			harness_fail(__FILE__, __LINE__, "%s is not valid: %d", call->name, ret);
		call->undo(w, w->chunks[0].p, ret);
		if (w->failures || w->dirty)
			harness_fail(__FILE__, __LINE__, "%s cannot be undone", call->name);
		w->failures = 0;
	}
}

static void change_word(struct world *w, __u32 word, unsigned int kind, __u64 *state)
{
	unsigned int i;

	for (i = 0; i < w->chunk_count; i++) {
		if (word < w->chunks[i].size / 4) {
			change(w->chunks[i].p, word, kind, state);
			return;
		}
		word -= w->chunks[i].size / 4;
	}
}

static bool documented(const struct call *call, int error)
{
	unsigned int i;

	if (error == EINVAL)
		return true;
	for (i = 0; i < MAX_ERRNOS && call->errnos[i]; i++) {
		if (call->errnos[i] == error)
			return true;
	}
	return false;
}

/* Mutation @index of a call: which, and what becomes of its argument. */
static unsigned int mutate(struct world *w, __u64 index, __u64 *state, unsigned long *request)
{
	__u32 total = first_word[mutate_call_count], word, n;
	unsigned int i;

	if (index < (__u64)total * KINDS) {
		word = (__u32)(index / KINDS);
		for (i = 0; word >= first_word[i + 1]; i++)
			;
		build(w, &mutate_calls[i]);
		*request = mutate_calls[i].request;
		change_word(w, word - first_word[i], (unsigned int)(index % KINDS), state);
		return i;
	}
	/* By their words, so that the long ones get more of it. */
	word = below(state, total);
	for (i = 0; word >= first_word[i + 1]; i++)
		;
	build(w, &mutate_calls[i]);
	*request = mutate_calls[i].request;
	for (n = 1 + below(state, 3); n; n--)
		change_word(w, below(state, words(w)), below(state, KINDS), state);
	/* Size and direction are in the number of the ioctl. */
	if (!below(state, 16))
		*request ^= 1ul << (16 + below(state, 16));
	return i;
}

/* Descriptors that nobody knows of go too: a later number must not meet them. */
static void reopen(struct world *w, int after)
{
	world_close(w);
	ASSERT_EQ(0, close_range((unsigned int)after + 1, ~0u, 0));
	world_open(w);
}

static void mutate_one(const struct plan *p, struct world *w, const struct innocent *in,
		       __u64 index)
{
	__u64 state = p->seed * 0x100000001b3ull ^ index;
	struct stats *s = p->stats;
	const struct call *call;
	unsigned long request;
	unsigned int i;
	int ret, error;

	i = mutate(w, index, &state, &request);
	call = &mutate_calls[i];
	ret = ioctl(w->c.fd, (unsigned int)request, w->chunks[0].p);
	error = ret < 0 ? errno : 0;
	__atomic_fetch_add(&s->calls[i], 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(error ? &s->errors[error < MAX_ERRNO ? error : 0] : &s->good[i], 1,
			   __ATOMIC_RELAXED);
	if (ret > 0)
		harness_fail(__FILE__, __LINE__, "%s returned %d", call->name, ret);
	if (request != call->request) {
		/* Nobody says what came back. */
		if (error)
			call->undo(w, w->chunks[0].p, -1);
		else
			w->dirty = true;
		if (error && error != EFAULT && error != ENOTTY && !documented(call, error))
			w->failures++;
	} else {
		if (error && !documented(call, error))
			w->failures++;
		call->undo(w, w->chunks[0].p, ret);
	}
	if (w->failures) {
		harness_fail(__FILE__, __LINE__,
			     "%s: %s; again: MUTATE_SEED=%llu MUTATE_FROM=%llu MUTATE_N=1 mutate -t ioctls",
			     call->name, strerror(error), p->seed, index);
		w->failures = 0;
		w->dirty = true;
	}
	if (w->dirty)
		reopen(w, in->c.fd);
}

/* The next numbers to work on; false if there are none, or no time. */
static bool take(const struct plan *p, __u64 size, __u64 *from, __u64 *to)
{
	__u64 n = __atomic_fetch_add(&p->stats->next, 1, __ATOMIC_RELAXED) * size;

	if (p->count ? n >= p->count : now_ns() > p->until)
		return false;
	*from = p->from + n;
	*to = p->count && n + size > p->count ? p->from + p->count : *from + size;
	return true;
}

static void ioctl_worker(const struct plan *p)
{
	struct innocent in;
	struct world w;
	__u64 from, to;
	uint64_t said = now_ns();

	innocent_open(&in);
	world_open(&w);
	while (take(p, ROUND, &from, &to)) {
		/* For whoever finds a machine that has died. */
		if (now_ns() - said > 5000000000ull) {
			said = now_ns();
			harness_diag("at MUTATE_SEED=%llu MUTATE_FROM=%llu", p->seed, from);
		}
		for (; from < to; from++)
			mutate_one(p, &w, &in, from);
		if (!innocent_run(&in)) {
			harness_diag("after MUTATE_SEED=%llu MUTATE_FROM=%llu MUTATE_N=%u", p->seed,
				     to - ROUND, ROUND);
			break;
		}
		__atomic_fetch_add(&p->stats->innocent, in.count, __ATOMIC_RELAXED);
	}
	world_close(&w);
	client_close(&in.c);
}

static void run_workers(const struct plan *p, void (*worker)(const struct plan *p))
{
	pid_t pids[64];
	unsigned int i;

	ASSERT_LE(p->workers, 64);
	for (i = 0; i < p->workers; i++) {
		pids[i] = harness_fork();
		if (!pids[i]) {
			worker(p);
			_exit(0);
		}
	}
	for (i = 0; i < p->workers; i++)
		harness_join(pids[i]);
}

static void say_errors(const struct stats *s)
{
	char line[512] = "";
	size_t len = 0;
	int i;

	for (i = 0; i < MAX_ERRNO && len < sizeof(line) - 64; i++) {
		if (s->errors[i])
			len += (size_t)snprintf(line + len, sizeof(line) - len, " %llu %s,",
						s->errors[i], strerrorname_np(i));
	}
	harness_diag("errors:%s", line);
}

TEST_TIMEOUT(ioctls, LIMIT_S)
{
	uint64_t begin = now_ns(), ns;
	struct stats *s;
	struct world w;
	struct plan p;
	unsigned int i;
	__u64 n = 0;

	/* A word of a submit may send the device anywhere in the client's own memory. */
	expect_faults(-1);
	plan_make(&p);
	s = p.stats;
	world_arena();
	world_open(&w);
	count_words(&w);
	world_close(&w);
	harness_diag("%u words of %u calls: %u mutations of one word each",
		     first_word[mutate_call_count], mutate_call_count,
		     first_word[mutate_call_count] * KINDS);
	run_workers(&p, ioctl_worker);
	ns = now_ns() - begin;
	for (i = 0; i < mutate_call_count; i++) {
		harness_diag("%-16s %9llu mutated, %9llu taken", mutate_calls[i].name, s->calls[i],
			     s->good[i]);
		n += s->calls[i];
	}
	say_errors(s);
	harness_diag("%llu mutated ioctls, %llu innocent jobs, %llu a second", n, s->innocent,
		     n * 1000000000ull / (ns ? ns : 1));
	EXPECT_GT(n, 0);
	if (p.count)
		EXPECT_EQ(p.count, n);
}

/* --- tasks ------------------------------------------------------------------- */

#define TASKS		6
#define TASK_WORDS	(TASKS * UMA_TASK_SIZE / 4)
#define OPERAND		1024	/* bytes of room for each */

struct tasks {
	struct client c;
	unsigned int engine;
	__u32 queue;
	struct buf list;
	struct buf data;
	struct uma_task valid[TASKS];
};

static void task_elementwise(struct uma_task *t, unsigned int opcode, __u32 func, __u64 dst,
			     __u64 a, __u64 b)
{
	struct uma_elementwise_params p = { .func = htole32(func) };

	task_init(t, opcode, 1u << UMA_SLOT_DST | 1u << UMA_SLOT_A);
	memcpy(t->params, &p, sizeof(p));
	task_matrix(t, UMA_SLOT_DST, UMA_DTYPE_F32, dst, 4, 16);
	task_matrix(t, UMA_SLOT_A, UMA_DTYPE_F32, a, 4, 16);
	if (!b)
		return;
	t->slots = htole32(le32toh(t->slots) | 1u << UMA_SLOT_B);
	task_matrix(t, UMA_SLOT_B, UMA_DTYPE_F32, b, 4, 16);
}

/* One of each kind, each with a place of its own. */
static void tasks_build(struct tasks *t)
{
	__u64 va = t->data.va;
	struct uma_task *v = t->valid;

	task_fill(&v[0], UMA_DTYPE_S32, va, 64, 7);
	task_copy(&v[1], UMA_DTYPE_S32, va + OPERAND, va, 64);
	task_gemm_f32(&v[2], va + 2 * OPERAND, va + 3 * OPERAND, va + 4 * OPERAND, 8, 8, 8);
	v[2].epilogue.flags = htole32(UMA_EPI_BIAS);
	v[2].epilogue.act = htole32(UMA_ACT_RELU);
	v[2].slots = htole32(le32toh(v[2].slots) | 1u << UMA_SLOT_BIAS);
	task_matrix(&v[2], UMA_SLOT_BIAS, UMA_DTYPE_F32, va + 5 * OPERAND, 8, 8);
	v[2].op[UMA_SLOT_BIAS].strides[0] = 0;
	task_gemm_s8(&v[3], va + 6 * OPERAND, va + 7 * OPERAND, va + 8 * OPERAND, 8, 8, 16);
	task_elementwise(&v[4], UMA_OP_UNARY, UMA_UNARY_EXP, va + 9 * OPERAND,
			 va + 10 * OPERAND, 0);
	task_elementwise(&v[5], UMA_OP_BINARY, UMA_BINARY_ADD, va + 11 * OPERAND,
			 va + 12 * OPERAND, va + 13 * OPERAND);
	memset(t->data.map, 0, t->data.size);
}

static void tasks_queue(struct tasks *t)
{
	struct drm_uma_query_engine engines[MAX_ENGINES];
	struct drm_uma_queue_create args = {
		.vm_id = t->c.vm, .priority = DRM_UMA_PRIORITY_NORMAL, .timeout_ms = 2000,
	};

	query_engines(t->c.fd, engines);
	args.engine_class = engines[t->engine].engine_class;
	args.instances = 1u << engines[t->engine].instance;
	ASSERT_EQ(0, queue_create_try(t->c.fd, &args, &t->queue));
}

/* The first that takes all of them. */
static int tasks_engine(int fd)
{
	struct drm_uma_query_engine engines[MAX_ENGINES];
	unsigned int n = query_engines(fd, engines), i;
	const unsigned int f = UMA_DTYPE_F32, s = UMA_DTYPE_S8;

	for (i = 0; i < n; i++) {
		if (engine_can(fd, i, UMA_OP_FILL, 0, 0, UMA_DTYPE_S32) &&
		    engine_can(fd, i, UMA_OP_COPY, UMA_DTYPE_S32, 0, UMA_DTYPE_S32) &&
		    engine_can(fd, i, UMA_OP_GEMM, f, f, f) &&
		    engine_can(fd, i, UMA_OP_GEMM, s, s, UMA_DTYPE_S32) &&
		    engine_can(fd, i, UMA_OP_UNARY, f, 0, f) &&
		    engine_can(fd, i, UMA_OP_BINARY, f, f, f))
			return (int)i;
	}
	return -1;
}

static void tasks_open(struct tasks *t)
{
	struct drm_uma_queue_state q;
	int engine, ret;

	memset(t, 0, sizeof(*t));
	client_open(&t->c);
	engine = tasks_engine(t->c.fd);
	ASSERT_GE(engine, 0);
	t->engine = (unsigned int)engine;
	client_buf(&t->c, &t->list, TASKS * UMA_TASK_SIZE);
	client_buf(&t->c, &t->data, 4 * PAGE);
	tasks_build(t);
	tasks_queue(t);
	memcpy(t->list.map, t->valid, sizeof(t->valid));
	ret = client_run(&t->c, t->queue, t->list.va, TASKS);
	if (ret) {
		queue_state(t->c.fd, t->queue, &q);
		harness_fail(__FILE__, __LINE__, "task %u of the valid ones: %d, reason %u, slot %u",
			     q.task_index, ret, q.reason, q.slot);
		harness_end();
	}
}

static void mutate_tasks(const struct plan *p, struct tasks *t, __u64 index)
{
	__u64 state = p->seed * 0x100000001b3ull ^ index;
	struct drm_uma_queue_state q;
	__u32 word, n;
	int ret;

	memcpy(t->list.map, t->valid, sizeof(t->valid));
	if (index < (__u64)TASK_WORDS * KINDS) {
		/* Not one after the other, so that a short run sees all parts of a task. */
		__u64 at = index * 7919 % ((__u64)TASK_WORDS * KINDS);

		change(t->list.map, (__u32)(at / KINDS), (unsigned int)(at % KINDS), &state);
	} else {
		for (n = 1 + below(&state, 3); n; n--) {
			word = below(&state, TASK_WORDS);
			/* Most of a task is room to grow: prefer words that are in use. */
			if (!t->list.u32[word])
				word = below(&state, TASK_WORDS);
			change(t->list.map, word, below(&state, KINDS), &state);
		}
	}
	ret = client_run(&t->c, t->queue, t->list.va, TASKS);
	__atomic_fetch_add(&p->stats->calls[0], 1, __ATOMIC_RELAXED);
	if (!ret) {
		__atomic_fetch_add(&p->stats->good[0], 1, __ATOMIC_RELAXED);
		return;
	}
	queue_state(t->c.fd, t->queue, &q);
	if (ret == -EFAULT && q.status == DRM_UMA_QUEUE_BANNED && q.reason > UMA_FAULT_NONE &&
	    q.reason < UMA_FAULT_STALE && q.task_index < TASKS && q.error == EFAULT)
		__atomic_fetch_add(&p->stats->faults, 1, __ATOMIC_RELAXED);
	else if (ret == -ETIME && q.status == DRM_UMA_QUEUE_BANNED && q.error == ETIME)
		__atomic_fetch_add(&p->stats->timeouts, 1, __ATOMIC_RELAXED);
	else
		harness_fail(__FILE__, __LINE__,
			     "%d, reason %u, task %u; again: MUTATE_SEED=%llu MUTATE_FROM=%llu MUTATE_N=1 mutate -t tasks",
			     ret, q.reason, q.task_index, p->seed, index);
	ASSERT_EQ(0, queue_destroy_try(t->c.fd, t->queue));
	tasks_queue(t);
}

static void task_worker(const struct plan *p)
{
	struct innocent in;
	struct tasks t;
	__u64 from, to;

	tasks_open(&t);
	innocent_open(&in);
	while (take(p, TASK_ROUND, &from, &to)) {
		for (; from < to; from++)
			mutate_tasks(p, &t, from);
		if (!innocent_run(&in)) {
			harness_diag("after MUTATE_SEED=%llu MUTATE_FROM=%llu MUTATE_N=%u", p->seed,
				     to - TASK_ROUND, TASK_ROUND);
			break;
		}
		__atomic_fetch_add(&p->stats->innocent, in.count, __ATOMIC_RELAXED);
	}
	client_close(&t.c);
	client_close(&in.c);
}

TEST_TIMEOUT(tasks, LIMIT_S)
{
	uint64_t begin = now_ns(), ns;
	struct stats *s;
	struct plan p;

	expect_faults(-1);
	plan_make(&p);
	s = p.stats;
	run_workers(&p, task_worker);
	ns = now_ns() - begin;
	harness_diag("%llu mutated task lists of %u tasks: %llu ran, %llu faulted, %llu ran too long; %llu innocent jobs, %llu lists a second",
		     s->calls[0], TASKS, s->good[0], s->faults, s->timeouts, s->innocent,
		     s->calls[0] * 1000000000ull / (ns ? ns : 1));
	EXPECT_GT(s->calls[0], 0);
	EXPECT_GT(s->good[0], 0);
	EXPECT_GT(s->faults, 0);
}

HARNESS_MAIN

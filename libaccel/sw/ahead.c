// SPDX-License-Identifier: MIT
/*
 * Reading weights ahead. Those of a mapped file that lie where they are used (ACCEL_BO_LAZY) are
 * read when a kernel first accesses them, which then waits. The system's own read-ahead, 128 KiB by
 * default, is too small for that, in particular as several threads read at several places. So when
 * an operation begins, the pages of the weights of those behind it are asked for, without waiting.
 *
 * Where the system itself reads far ahead, asking costs more than it saves, since pages that are
 * asked for come one by one, and not as large ones. So a run asks only when it has had to wait for
 * many, or the run before has asked. And a job looks whether it waits in its first run, and then
 * only if the process has waited since its last one: a run whose weights are in memory costs
 * nothing.
 */
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include "sw.h"

/*
 * Bytes that are asked for at most before they are used, and their share of the memory: what is
 * read too early could be dropped before it is used
 */
#define AHEAD_BYTES	(64ull << 20)
#define AHEAD_SHARE	16
/* Weights that a run reads before it may ask, and the most for each page that it waits for */
#define LOOK_BYTES	(4u << 20)
#define WAIT_BYTES	(512u << 10)
/* Bytes of a request: of more, the system only reads as many as its own read-ahead has */
#define PIECE_BYTES	(128u << 10)
#define PAGE_MIN	4096

/* A product reads all of its weights, unless dimensions in memory choose from them. */
static bool reads_all(const struct sw_job *job, uint32_t op)
{
	const struct sw_task *task = &job->tasks[job->base.ops[op].first_task];
	const struct uma_op *first = &task->prog.op;

	return job->base.ops[op].plan->task_count && task->state != SW_TASK_FAULTY &&
	       (first->opcode == UMA_OP_GEMM || first->opcode == UMA_OP_CONV) &&
	       !(first->flags & UMA_TASK_DYNAMIC);
}

static bool is_lazy(const struct accel_bo *bo)
{
	const uint32_t flags = ACCEL_BO_LAZY | ACCEL_BO_READONLY;

	return bo && bo->kind == BO_USER && (bo->flags & flags) == flags;
}

/* Bytes of the weights of an operation that are read when they are accessed */
static uint64_t lazy_bytes(const struct sw_job *job, uint32_t op)
{
	const struct job_op *o = &job->base.ops[op];
	uint64_t sum = 0;
	uint32_t i;

	if (!reads_all(job, op))
		return 0;
	for (i = 0; i < o->plan->arg_count; i++)
		if (is_lazy(o->bound.bos[i]))
			sum += o->bound.bos[i]->map_size;
	return sum;
}

/*
 * Ask for the pages of a range; false: none is absent. Of a file that the user does not own and may
 * not write to, mincore() says so in any case, so it only tells whether the next run should ask.
 */
static bool ask_for(uint64_t addr, uint64_t bytes)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	unsigned char there[PIECE_BYTES / PAGE_MIN];
	uint64_t at, i, n;
	bool asked = false;
	void *piece;

	for (at = 0; at < bytes; at += n) {
		n = bytes - at < PIECE_BYTES ? bytes - at : PIECE_BYTES;
		piece = (void *)(uintptr_t)(addr + at);
		if (mincore(piece, n, there))
			break;
		for (i = 0; i * page < n && there[i] & 1; i++)
			;
		if (!madvise(piece, n, MADV_WILLNEED) && i * page < n)
			asked = true;
	}
	return asked;
}

/* Ask for the weights of an operation, @most bytes of them. */
static bool ask_op(const struct job_op *op, uint64_t most)
{
	bool asked = false;
	uint64_t bytes;
	uint32_t i;

	for (i = 0; i < op->plan->arg_count && most; i++) {
		const struct accel_bo *bo = op->bound.bos[i];

		if (!is_lazy(bo))
			continue;
		bytes = bo->map_size < most ? bo->map_size : most;
		asked |= ask_for(bo->map_addr, bytes);
		most -= bytes;
	}
	return asked;
}

static uint64_t most_ahead(void)
{
	const uint64_t share = (uint64_t)sysconf(_SC_PHYS_PAGES) *
			       (uint64_t)sysconf(_SC_PAGESIZE) / AHEAD_SHARE;

	return UMA_MIN(share, AHEAD_BYTES);
}

/* Pages that the process has waited for */
static int64_t waits(void)
{
	struct rusage usage = { 0 };

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_majflt;
}

static void begin_run(struct sw_job *job, struct sw_ahead *a)
{
	int64_t last;

	if (!job->lazy)
		return;
	a->waits = waits();
	last = atomic_exchange_explicit(&job->waits, a->waits, memory_order_relaxed);
	a->asks = last == SW_AHEAD_ASKED;
	a->looks = last != a->waits;
}

/* Has the run waited for so many pages that it is better to ask? */
static bool begins_asking(const struct sw_ahead *a)
{
	return a->read >= LOOK_BYTES &&
	       (uint64_t)(waits() - a->waits) > a->read / WAIT_BYTES;
}

void sw_ahead_prepare(struct sw_job *job)
{
	uint32_t i;

	atomic_init(&job->waits, SW_AHEAD_NEW);
	for (i = 0; i < job->base.op_count; i++)
		job->lazy |= lazy_bytes(job, i) > 0;
}

void sw_ahead(struct sw_exec *exec)
{
	struct sw_job *job = exec->run->job;
	struct sw_ahead *a = &exec->ahead;
	uint64_t bytes, most;

	if (!exec->op)
		begin_run(job, a);
	if (!a->looks)
		return;
	for (; a->begin < exec->op; a->begin++) {
		bytes = lazy_bytes(job, a->begin);
		a->read += bytes;
		if (a->begin < a->end)
			a->bytes -= bytes;
	}
	if (a->end < exec->op)
		a->end = exec->op;
	if (!a->asks && !begins_asking(a))
		return;
	a->asks = true;
	for (most = most_ahead(); a->end < exec->op_end; a->end++) {
		bytes = lazy_bytes(job, a->end);
		/* One that is larger than all is asked for in part when it is the next one. */
		if (a->bytes && a->bytes + bytes > most)
			return;
		if (bytes && ask_op(&job->base.ops[a->end], most))
			atomic_store_explicit(&job->waits, SW_AHEAD_ASKED, memory_order_relaxed);
		a->bytes += bytes;
	}
}

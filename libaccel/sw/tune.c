// SPDX-License-Identifier: MIT
/*
 * Candidates for tuning: the hints of an operation's class, and fewer threads than would share
 * it.
 */
#include "sw.h"

/* Half as many threads, and so on: sharing may cost more than it gains. */
static uint32_t fewer_threads(const struct sw_device *dev, const struct sw_task *task,
			      struct fast_hint *hints, uint32_t max)
{
	const struct fast_prog *fast = &task->fast;
	uint32_t n = 0, threads = dev->cpu.threads;

	if (UMA_MAX(task->work, fast->bytes) < 2 * SW_SHARE_WORK)
		return 0;
	if (fast->max_threads)
		threads = UMA_MIN(threads, fast->max_threads);
	for (threads /= 2; threads && n < max; threads /= 2)
		if (threads <= UINT16_MAX)
			hints[n++] = (struct fast_hint){ .threads = (uint16_t)threads };
	return n;
}

/**
 * sw_job_hints - hints for the first operation of a job
 * @base: job that was submitted
 * @hints: out
 * @max: size of @hints
 *
 * Return: number of hints.
 */
uint32_t sw_job_hints(struct accel_job *base, struct fast_hint *hints, uint32_t max)
{
	const struct sw_job *job = (const struct sw_job *)base;
	const struct sw_task *task;
	const struct fast_class *class;
	uint32_t n;

	if (!atomic_load_explicit(&base->prepared, memory_order_acquire) || !base->op_count ||
	    base->ops[0].plan->task_count != 1)
		return 0;
	task = &job->tasks[base->ops[0].first_task];
	class = task->fast.class;
	if (!class)
		return 0;
	n = fewer_threads(to_sw_device(base->ctx->dev), task, hints, max);
	if (class->candidates)
		n += class->candidates(&task->fast, hints + n, max - n);
	return UMA_MIN(n, max);
}

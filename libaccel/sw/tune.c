// SPDX-License-Identifier: MIT
/*
 * What it pays to measure: the hints that the class of an operation offers.
 */
#include "sw.h"

/**
 * sw_job_hints - hints for the first operation of a job
 * @base: job that was submitted
 * @hints: out
 * @max: room in @hints
 *
 * Return: number of hints.
 */
uint32_t sw_job_hints(struct accel_job *base, struct fast_hint *hints, uint32_t max)
{
	const struct sw_job *job = (const struct sw_job *)base;
	const struct fast_prog *fast;
	uint32_t n;

	if (!atomic_load_explicit(&base->prepared, memory_order_acquire) || !base->op_count ||
	    base->ops[0].plan->task_count != 1)
		return 0;
	fast = &job->tasks[base->ops[0].first_task].fast;
	if (!fast->class || !fast->class->candidates)
		return 0;
	n = fast->class->candidates(fast, hints, max);
	return n < max ? n : max;
}

// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Fuzzing of everything behind a task list. The input is a descriptor, then one
 * byte that picks profile, engine, kernels and pages; what is left of it becomes
 * the contents of memory. In there, at FUZZ_LIST, the list goes on for up to
 * FUZZ_MORE tasks, as many as have a version that is right: a task may write the
 * tables, the packed operands and the descriptors of those behind it. A task
 * faults, which ends the list, or runs, each step within a bound of memory
 * accesses; it must not touch anything else, which the address sanitizer watches.
 *
 * With libFuzzer: make fuzz. By itself, test_fuzz.c drives it.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz_task.h"
#include "mt.h"

/* Memory is small, so that ranges often end inside it. */
#define REGION		(64u << 10)
/* Accesses of a step, by far. */
#define STEP_MAPS	100000
#define STEPS		24
/* Multiply-adds of a step: as many inputs as can be matter more than long ones. */
#define STEP_WORK	(UMA_STEP_WORK_KERNEL / 8)

static void check(int ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "fuzz: %s\n", what);
		abort();
	}
}

static void check_fault(const struct uma_fault_info *f)
{
	check(f->reason > UMA_FAULT_NONE && f->reason < UMA_FAULT_COUNT, "fault without a reason");
	check(f->slot < UMA_TASK_SLOTS || f->slot == UMA_FAULT_NO_SLOT, "fault in no slot");
	check(!!f->field, "fault without a field");
}

static int run_steps(struct uma_program *prog, struct mt_home *home, void *scratch,
		     struct uma_fault_info *f)
{
	uint32_t phase, tile, step, budget = STEPS;
	int r = 0;

	for (phase = 0; phase < prog->phase_count; phase++) {
		for (tile = 0; budget && tile < prog->tiles[phase]; tile++) {
			step = 0;
			do {
				home->maps = 0;
				r = uma_run_step(prog, phase, tile, &step, &home->mem, scratch, f);
				check(home->maps < STEP_MAPS, "too much work in a step");
			} while (r > 0 && --budget);
			if (r < 0)
				return -1;
		}
	}
	return 0;
}

/* What stays the same for all tasks of a list. */
struct where {
	const struct uma_engine_desc *engine;
	const struct uma_kernels *kernels;
	uint32_t work;
};

/* What can be said of a task without memory; 0 or -1. */
static int decode_task(const struct where *w, const void *bytes, size_t size, struct uma_op *op)
{
	struct uma_fault_info f = { 0 };
	struct uma_task *task;
	int r;

	/* Of its own, so that a byte too many is seen. */
	task = calloc(1, sizeof(*task));
	memcpy(task, bytes, size < sizeof(*task) ? size : sizeof(*task));
	r = uma_task_decode(task, op, &f);
	free(task);
	if (!r && uma_op_check(op, w->engine, &f) >= 0)
		return 0;
	check_fault(&f);
	return -1;
}

/* Returns 0 if it ran to its end, -1 if it faulted. */
static int run_task(const struct where *w, const struct uma_op *op, struct mt_home *home)
{
	static struct uma_program prog;
	static void *scratch;
	struct uma_fault_info f = { 0 };
	int r;

	if (!scratch)
		scratch = aligned_alloc(64, UMA_SCRATCH_SIZE);
	r = uma_prepare(&prog, op, w->engine, w->kernels, w->work, &home->mem, &f);
	if (!r)
		r = run_steps(&prog, home, scratch, &f);
	if (!r)
		return 0;
	check_fault(&f);
	return -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t image[REGION];
	static struct uma_op op;
	const struct uma_kernels *const *kernels = mt_kernels();
	const struct uma_profile *profile;
	struct mt_home home;
	struct mt_rng rng = { .s = 1 };
	struct uma_task next;
	struct where w;
	uint8_t choice = 0;
	uint32_t i, at;
	size_t room;

	if (size > sizeof(struct uma_task))
		choice = data[sizeof(struct uma_task)];
	room = size > sizeof(struct uma_task) + 1 ? size - sizeof(struct uma_task) - 1 : 0;

	profile = uma_profile_get(choice % 5);
	w.engine = &profile->engines[(choice >> 3) % profile->engine_count];
	if ((choice >> 5 & 3) && kernels[1])
		kernels++;
	w.kernels = *kernels;
	w.work = choice & 1 ? 3000 : STEP_WORK;
	if (decode_task(&w, data, size, &op))
		return 0;

	memset(image, 0x3c, REGION);
	memcpy(image, data + size - room, room < REGION ? room : REGION);
	mt_home_open_part(&home, image, REGION, choice & 0x80 ? 0 : 4096, &rng);
	for (i = 0; !run_task(&w, &op, &home) && i < FUZZ_MORE; i++) {
		/* Through memory as it is now; on a page, so in one piece. */
		__u64 len = sizeof(next);

		at = FUZZ_LIST + i * UMA_TASK_SIZE;
		memcpy(&next, home.mem.ops->map(&home.mem, MT_BASE + at, &len, UMA_ACCESS_READ),
		       sizeof(next));
		if (next.version != UMA_TASK_VERSION ||
		    decode_task(&w, &next, sizeof(next), &op))
			break;
	}
	mt_home_close(&home, image);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Fuzzing of everything behind a descriptor. The input is a descriptor, then
 * one byte that picks profile, engine, kernels and pages; what is left of it
 * becomes the contents of memory. A task may fault or run, each step within a
 * bound of memory accesses; it must not touch anything else, which the address
 * sanitizer watches.
 *
 * With libFuzzer: make fuzz-model. By itself, test_fuzz.c drives it.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz_task.h"
#include "mt.h"

/* Memory is small, so that ranges often end inside it. */
#define REGION		(64u << 10)
/* Accesses of a step, by far. */
#define STEP_MAPS	100000
#define STEPS		60

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t image[MT_SIZE];
	static struct uma_program prog;
	static struct uma_op op;
	static void *scratch;
	const struct uma_kernels *const *kernels = mt_kernels();
	const struct uma_engine_desc *engine;
	const struct uma_profile *profile;
	struct uma_fault_info f = { 0 };
	struct uma_task *task;
	struct mt_home home;
	struct mt_rng rng = { .s = 1 };
	uint8_t choice = 0;
	size_t room;
	int r;

	if (!scratch)
		scratch = aligned_alloc(64, UMA_SCRATCH_SIZE);
	task = calloc(1, sizeof(*task));
	memcpy(task, data, size < sizeof(*task) ? size : sizeof(*task));
	if (size > sizeof(*task))
		choice = data[sizeof(*task)];
	room = size > sizeof(*task) + 1 ? size - sizeof(*task) - 1 : 0;
	memset(image, 0x3c, REGION);
	memcpy(image, data + size - room, room < REGION ? room : REGION);

	profile = uma_profile_get(choice % 5);
	engine = &profile->engines[(choice >> 3) % profile->engine_count];
	if ((choice >> 5 & 3) && kernels[1])
		kernels++;
	if (uma_task_decode(task, &op, &f)) {
		check_fault(&f);
		free(task);
		return 0;
	}
	free(task);
	if (uma_op_check(&op, engine, &f) < 0) {
		check_fault(&f);
		return 0;
	}
	mt_home_open(&home, image, choice & 0x80 ? 0 : 4096, &rng);
	home.hi = MT_BASE + REGION;
	r = uma_prepare(&prog, &op, engine, *kernels, choice & 1 ? 3000 : UMA_STEP_WORK_KERNEL,
			&home.mem, &f);
	if (!r)
		r = run_steps(&prog, &home, scratch, &f);
	if (r < 0)
		check_fault(&f);
	mt_home_close(&home, image);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What the tests of hostile descriptors share: the fault, the slot and the field
 * that are reported; every single bit flipped, with memory that refuses whatever
 * does not belong to the task.
 */
#include "malformed.h"

uint8_t mf_image[MT_SIZE], mf_work[MT_SIZE];

void mf_set(struct mt_task *t, int word, uint32_t v)
{
	memcpy(t->task.params + 4 * word, &v, 4);
}

void mf_store(struct mt_task *t, int slot, const void *data, size_t size)
{
	memcpy(mf_image + (t->task.op[slot].addr - MT_BASE), data, size);
}

static uint32_t first_byte(uint32_t base, uint32_t count)
{
	return base * (MT_SIZE / count) & ~4095u;
}

static void show(const struct uma_fault_info *f)
{
	printf("# fault %s slot %u field %s\n", uma_fault_name(f->reason), f->slot, f->field);
}

static int decode_and_check(const struct uma_task *t, struct uma_op *op,
			    struct uma_fault_info *f)
{
	if (uma_task_decode(t, op, f))
		return -1;
	return uma_op_check(op, mt_engine("full", UMA_ENGINE_MATRIX), f) < 0 ? -1 : 0;
}

void mf_make(struct mf_base *bases, uint32_t count)
{
	static struct uma_op op;
	uint32_t i;
	int r;

	for (i = 0; i < count; i++) {
		struct uma_fault_info f = { 0 };
		struct mf_base *b = &bases[i];

		mt_task_init(&b->t, mf_image, i + 1, (int)b->opcode);
		b->t.used = first_byte(i, count);
		if (b->make)
			b->make(&b->t);
		r = decode_and_check(&b->t.task, &op, &f);
		tap_ok(!r, "%s is valid", b->name);
		if (r)
			show(&f);
	}
}

/* --- one field at a time -------------------------------------------------- */

static int try_mutation(const struct mf_base *base, const struct mf_mutation *m)
{
	struct uma_task task = base->t.task;
	struct uma_fault_info f = { 0 };
	static struct uma_op op;

	memcpy((uint8_t *)&task + m->offset, &m->value, m->size);
	if (!uma_task_decode(&task, &op, &f)) {
		printf("# accepted\n");
		return 0;
	}
	if (f.reason == m->reason && f.slot == m->slot && !strcmp(f.field, m->field))
		return 1;
	show(&f);
	return 0;
}

void mf_mutate(const struct mf_base *bases, const struct mf_mutation *m, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++, m++)
		tap_ok(try_mutation(&bases[m->base], m), "%s: byte %u becomes %llx: %s %u %s",
		       bases[m->base].name, m->offset, (unsigned long long)m->value,
		       uma_fault_name(m->reason), m->slot, m->field);
}

void mf_expect(const char *what, const struct uma_task *t, uint32_t reason, uint32_t slot,
	       const char *field)
{
	struct uma_fault_info f = { 0 };
	static struct uma_op op;
	int r = decode_and_check(t, &op, &f), ok;

	if (reason == UMA_FAULT_NONE) {
		ok = !r;
		tap_ok(ok, "%s is accepted", what);
	} else {
		ok = r && f.reason == reason && f.slot == slot && !strcmp(f.field, field);
		tap_ok(ok, "%s: %s", what, uma_fault_name(reason));
	}
	if (!ok && r)
		show(&f);
}

/* --- single bits ---------------------------------------------------------- */

/* Decode, check and run what is left of a task; memory ends where it ends. */
static int attempt(const struct uma_task *task, uint64_t lo, uint64_t hi, uint32_t page,
		   const char **why)
{
	static struct uma_program prog;
	static struct uma_op op;
	static uint8_t scratch[UMA_SCRATCH_SIZE] __attribute__((aligned(64)));
	const struct uma_engine_desc *e = mt_engine("full", UMA_ENGINE_MATRIX);
	struct uma_fault_info f = { 0 };
	struct mt_rng rng = { .s = 7 };
	uint32_t phase, tile, step, budget = 300;
	struct mt_home home;
	int r;

	*why = NULL;
	if (uma_task_decode(task, &op, &f))
		goto fault;
	if (uma_op_check(&op, e, &f) < 0)
		goto fault;
	mt_home_open(&home, mf_work, page, &rng);
	home.lo = lo;
	home.hi = hi;
	r = uma_prepare(&prog, &op, e, uma_kernels_portable(), 20000, &home.mem, &f);
	for (phase = 0; !r && phase < prog.phase_count; phase++) {
		for (tile = 0; !r && budget && tile < prog.tiles[phase]; tile++) {
			step = 0;
			do {
				r = uma_run_step(&prog, phase, tile, &step, &home.mem,
						 scratch, &f);
			} while (r > 0 && --budget);
			r = r > 0 ? 0 : r;
		}
	}
	/* A step's memory accesses are bounded. */
	if (home.maps > 300 * 20000)
		*why = "too much work in a step";
	mt_home_close(&home, mf_work);
	if (r < 0)
		goto fault;
	return 0;
fault:
	if (f.reason == UMA_FAULT_NONE || f.reason >= UMA_FAULT_COUNT || !f.field ||
	    (f.slot >= UMA_TASK_SLOTS && f.slot != UMA_FAULT_NO_SLOT))
		*why = "fault without reason, slot or field";
	return -1;
}

static void flip_bits(const struct mf_base *base, uint32_t first)
{
	uint64_t lo = MT_BASE + first, hi = MT_BASE + base->t.used;
	uint32_t word, bit, v, accepted = 0, bad = 0;
	struct uma_task t = base->t.task;
	const char *why;

	memcpy(mf_work, mf_image, MT_SIZE);
	for (word = 0; word < UMA_TASK_SIZE / 4; word++) {
		for (bit = 0; bit < 32; bit++) {
			memcpy(&v, (uint8_t *)&t + 4 * word, 4);
			v ^= 1u << bit;
			memcpy((uint8_t *)&t + 4 * word, &v, 4);
			accepted += !attempt(&t, lo, hi, bit & 1 ? 0 : 4096, &why);
			if (why && !bad++)
				printf("# word %u bit %u: %s\n", word, bit, why);
			v ^= 1u << bit;
			memcpy((uint8_t *)&t + 4 * word, &v, 4);
		}
	}
	tap_ok(!bad, "%s with every bit flipped: faults or runs (%u ran)", base->name, accepted);
}

void mf_flip(const struct mf_base *bases, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		flip_bits(&bases[i], first_byte(i, count));
}

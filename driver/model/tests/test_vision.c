// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * GATHER, SCATTER, POOL and RESIZE: the same bits whatever the step, the pages
 * and the kernels; a bounded number of accesses in a step; every field with a
 * value that it must not have; indices that point nowhere. What the results
 * are is for the library's tests.
 */
#include <string.h>

#include "gen.h"
#include "tap.h"

static uint8_t image[MT_SIZE], first[MT_SIZE], result[MT_SIZE];

static const uint32_t opcodes[] = { UMA_OP_GATHER, UMA_OP_SCATTER, UMA_OP_POOL, UMA_OP_RESIZE };
static const char *const names[] = { "gather", "scatter", "pool", "resize" };

static void make(struct mt_task *t, uint32_t opcode, uint64_t seed)
{
	memset(image, 0x5a, sizeof(image));
	mt_task_init(t, image, seed, (int)opcode);
	gen_vision(t);
}

/* --- steps, pages, kernels ---------------------------------------------------- */

static int run_case(const struct mt_task *t, uint64_t seed)
{
	static const uint32_t steps[] = { 1, 3000, UMA_STEP_WORK_KERNEL, 1u << 21 };
	static const uint32_t pages[] = { 0, 64, 4096 };
	const struct uma_engine_desc *engine = mt_engine("full", (uint32_t)(seed % 3));
	const struct uma_kernels *const *k;
	struct uma_fault_info fault;
	uint32_t s, p;

	for (k = mt_kernels(); *k; k++)
		for (s = 0; s < 5; s++) {
			struct mt_variant v = { .kernels = *k, .size = mt_size(t) };

			p = (uint32_t)(seed + s) % 3;
			v.step_work = s ? steps[s - 1] : UMA_STEP_WORK_UNBOUND;
			v.page = s ? pages[p] : 0;
			memcpy(result, image, v.size);
			if (mt_run(&t->task, engine, &v, result, &fault)) {
				printf("# fault %s slot %u field %s\n",
				       uma_fault_name(fault.reason), fault.slot, fault.field);
				return -1;
			}
			if (*k == mt_kernels()[0] && !s)
				memcpy(first, result, v.size);
			if (memcmp(first, result, v.size) != 0) {
				printf("# seed %llu: %s with steps of %u and pages of %u: other bits\n",
				       (unsigned long long)seed, (*k)->name, v.step_work, v.page);
				return -1;
			}
		}
	return 0;
}

static void test_steps(uint32_t which)
{
	static struct mt_task t;
	int bad = 0;
	uint64_t i;

	for (i = 0; i < 150; i++) {
		make(&t, opcodes[which], 1000 * which + i);
		bad += run_case(&t, i) != 0;
	}
	tap_ok(!bad, "%s: the same bits with all steps, pages and kernels", names[which]);
}

/* A step ends: as many accesses as a step may have, on one small page after the other. */
static void test_bounded(uint32_t which)
{
	static void *scratch;
	static struct uma_program prog;
	static struct uma_op op;
	static struct mt_task t;
	struct uma_fault_info f = { 0 };
	struct mt_rng rng = { .s = 3 };
	struct mt_home home;
	uint64_t i, most = 0;
	int bad = 0, more;

	if (!scratch)
		scratch = aligned_alloc(64, UMA_SCRATCH_SIZE);
	for (i = 0; i < 60; i++) {
		uint32_t phase, tile, step;

		make(&t, opcodes[which], 5000 + i);
		bad += uma_task_decode(&t.task, &op, &f) != 0;
		mt_home_open(&home, image, 4096, &rng);
		bad += uma_prepare(&prog, &op, mt_engine("full", 1), uma_kernels_portable(), 3000,
				   &home.mem, &f) != 0;
		for (phase = 0; !bad && phase < prog.phase_count; phase++)
			for (tile = 0; tile < prog.tiles[phase]; tile++) {
				step = 0;
				do {
					home.maps = 0;
					more = uma_run_step(&prog, phase, tile, &step, &home.mem,
							    scratch, &f);
					most = home.maps > most ? home.maps : most;
				} while (more > 0);
				bad += more < 0;
			}
		mt_home_close(&home, result);
	}
	/* A row of 1024 elements, each fetched alone, and 64 neighbours. */
	tap_ok(!bad && most <= 70000, "%s: at most %llu accesses in a step", names[which],
	       (unsigned long long)most);
}

/* --- fields ---------------------------------------------------------------------- */

struct mutation {
	uint32_t base;
	uint32_t offset;
	uint32_t size;
	uint64_t value;
	uint32_t reason;
	uint32_t slot;
	const char *field;
};

enum base { AXIS, ELEMENTS, ND, PUT, PUT_ND, MAX, AVERAGE, LP, NEAREST, LINEAR, CUBIC, BASES };

static struct mt_task bases[BASES];

static void set(struct mt_task *t, int word, uint32_t v)
{
	memcpy(t->task.params + 4 * word, &v, 4);
}

static void operand(struct mt_task *t, int slot, int dtype, int rank, uint32_t d0, uint32_t d1,
		    uint32_t d2, uint32_t d3)
{
	const uint32_t dims[] = { d0, d1, d2, d3 };

	mt_operand(t, slot, dtype, rank, dims, MT_PLAIN);
}

static void make_bases(void)
{
	static const uint32_t base_opcode[BASES] = {
		UMA_OP_GATHER, UMA_OP_GATHER, UMA_OP_GATHER, UMA_OP_SCATTER, UMA_OP_SCATTER,
		UMA_OP_POOL, UMA_OP_POOL, UMA_OP_POOL, UMA_OP_RESIZE, UMA_OP_RESIZE, UMA_OP_RESIZE,
	};
	struct mt_task *t;
	uint32_t i, j;

	for (i = 0; i < BASES; i++) {
		t = &bases[i];
		mt_task_init(t, image, i + 1, (int)base_opcode[i]);
		t->used = i * (MT_SIZE / BASES) & ~4095u;
		if (base_opcode[i] == UMA_OP_POOL) {
			operand(t, 1, F32, 4, 2, 3, 9, 8);
			operand(t, 0, F32, 4, 2, 3, 5, 8);
			set(t, 0, i - MAX);
			set(t, 2, i == LP ? 2 : 0);
			set(t, 3, 2);
			for (j = 4; j < 8; j += 3)
				set(t, (int)j, 3);
			/* 3 x 3, stride 2 and 1, a position of padding on all sides. */
			set(t, 4, 3);
			set(t, 5, 3);
			set(t, 7, 2);
			set(t, 8, 1);
			set(t, 10, 1);
			set(t, 11, 1);
			set(t, 13, 1);
			set(t, 14, 1);
			set(t, 16, 1);
			set(t, 17, 1);
		} else if (base_opcode[i] == UMA_OP_RESIZE) {
			operand(t, 1, F32, 2, 3, 5, 0, 0);
			operand(t, 0, F32, 2, 3, 10, 0, 0);
			set(t, 0, i - NEAREST);
			set(t, 3, i == CUBIC ? mt_bits(-0.5f) : 0);
			set(t, 4, 1);
			set(t, 9, 1);
			set(t, 5, 10);
			set(t, 10, 20);
			set(t, 16, (uint32_t)-5);
			set(t, 17, 0xffffffff);
		}
	}
	operand(&bases[AXIS], 1, F32, 3, 4, 5, 6, 0);
	operand(&bases[AXIS], 2, S32, 1, 3, 0, 0, 0);
	operand(&bases[AXIS], 0, F32, 3, 4, 3, 6, 0);
	set(&bases[AXIS], 1, 1);
	operand(&bases[ELEMENTS], 1, F32, 3, 4, 5, 6, 0);
	operand(&bases[ELEMENTS], 2, S32, 3, 4, 7, 6, 0);
	operand(&bases[ELEMENTS], 0, F32, 3, 4, 7, 6, 0);
	set(&bases[ELEMENTS], 0, UMA_GATHER_ELEMENTS);
	set(&bases[ELEMENTS], 1, 1);
	operand(&bases[ND], 1, F32, 3, 4, 5, 6, 0);
	operand(&bases[ND], 2, S32, 3, 4, 2, 1, 0);
	operand(&bases[ND], 0, F32, 3, 4, 2, 6, 0);
	set(&bases[ND], 0, UMA_GATHER_ND);
	set(&bases[ND], 2, 1);
	operand(&bases[PUT], 0, F32, 3, 4, 5, 6, 0);
	operand(&bases[PUT], 1, F32, 3, 4, 5, 6, 0);
	operand(&bases[PUT], 2, S32, 3, 4, 7, 6, 0);
	operand(&bases[PUT], 3, F32, 3, 4, 7, 6, 0);
	set(&bases[PUT], 1, 1);
	operand(&bases[PUT_ND], 0, F32, 3, 4, 5, 6, 0);
	operand(&bases[PUT_ND], 1, F32, 3, 4, 5, 6, 0);
	operand(&bases[PUT_ND], 2, S32, 2, 9, 2, 0, 0);
	operand(&bases[PUT_ND], 3, F32, 2, 9, 6, 0, 0);
	set(&bases[PUT_ND], 0, UMA_SCATTER_ND);
}

#define NONE		UMA_FAULT_NO_SLOT
#define OP(s, member)	offsetof(struct uma_task, op[s].member), \
			sizeof(((struct uma_task *)0)->op[s].member)
#define PAR(word)	offsetof(struct uma_task, params) + 4 * (word), 4

static const struct mutation mutations[] = {
	{ AXIS, PAR(0), 3, UMA_FAULT_PARAMS, NONE, "params.func" },
	{ AXIS, PAR(1), 3, UMA_FAULT_PARAMS, NONE, "params.axis" },
	{ AXIS, PAR(1), 0xffffffff, UMA_FAULT_PARAMS, NONE, "params.axis" },
	{ AXIS, PAR(2), 1, UMA_FAULT_PAD, NONE, "params.batch" },
	{ AXIS, PAR(3), 1, UMA_FAULT_PAD, NONE, "params.pad" },
	{ AXIS, PAR(63), 1, UMA_FAULT_PAD, NONE, "params.pad" },
	{ AXIS, OP(2, dtype), UMA_DTYPE_F32, UMA_FAULT_DTYPE, 2, "dtype" },
	{ AXIS, OP(0, dtype), UMA_DTYPE_S4, UMA_FAULT_DTYPE, 0, "dtype" },
	{ AXIS, OP(0, rank), 2, UMA_FAULT_PAD, 0, "dims" },
	{ AXIS, OP(0, rank), 4, UMA_FAULT_RANK, 0, "rank" },
	{ AXIS, OP(0, dims[0]), 3, UMA_FAULT_DIMS, 0, "dims" },
	{ AXIS, OP(0, dims[1]), 2, UMA_FAULT_DIMS, 0, "dims" },
	{ AXIS, OP(0, dims[2]), 5, UMA_FAULT_DIMS, 0, "dims" },
	{ AXIS, OP(1, layout), 1, UMA_FAULT_STRIDES, 1, "strides" },
	{ ELEMENTS, PAR(1), 3, UMA_FAULT_PARAMS, NONE, "params.axis" },
	{ ELEMENTS, PAR(1), 0, UMA_FAULT_DIMS, 2, "dims" },
	{ ELEMENTS, OP(2, dims[0]), 5, UMA_FAULT_DIMS, 2, "dims" },
	{ ELEMENTS, OP(0, dims[1]), 6, UMA_FAULT_DIMS, 0, "dims" },
	{ ND, PAR(1), 1, UMA_FAULT_PAD, NONE, "params.axis" },
	{ ND, PAR(2), 3, UMA_FAULT_PARAMS, NONE, "params.batch" },
	{ ND, PAR(2), 2, UMA_FAULT_DIMS, 2, "dims" },
	{ ND, PAR(2), 0xffffffff, UMA_FAULT_PARAMS, NONE, "params.batch" },
	{ ND, OP(2, dims[2]), 0, UMA_FAULT_DIMS, 2, "dims" },
	{ ND, OP(2, dims[2]), 3, UMA_FAULT_DIMS, 2, "dims" },
	{ ND, OP(2, dims[2]), 2, UMA_FAULT_RANK, 0, "rank" },
	{ ND, OP(2, dims[0]), 3, UMA_FAULT_DIMS, 2, "dims" },
	{ ND, OP(0, dims[2]), 5, UMA_FAULT_DIMS, 0, "dims" },
	{ PUT, PAR(0), 2, UMA_FAULT_PARAMS, NONE, "params.func" },
	{ PUT, PAR(1), 3, UMA_FAULT_PARAMS, NONE, "params.axis" },
	{ PUT, PAR(2), 5, UMA_FAULT_PARAMS, NONE, "params.reduce" },
	{ PUT, PAR(3), 1, UMA_FAULT_PAD, NONE, "params.pad" },
	{ PUT, OP(2, dtype), UMA_DTYPE_S8, UMA_FAULT_DTYPE, 2, "dtype" },
	{ PUT, OP(0, dtype), UMA_DTYPE_U4, UMA_FAULT_DTYPE, 0, "dtype" },
	{ PUT, OP(0, dims[0]), 3, UMA_FAULT_DIMS, 1, "dims" },
	{ PUT, OP(2, dims[2]), 7, UMA_FAULT_DIMS, 2, "dims" },
	{ PUT, OP(3, dims[1]), 6, UMA_FAULT_DIMS, 3, "dims" },
	{ PUT_ND, PAR(1), 1, UMA_FAULT_PAD, NONE, "params.axis" },
	{ PUT_ND, OP(2, dims[1]), 0, UMA_FAULT_DIMS, 2, "dims" },
	{ PUT_ND, OP(2, dims[1]), 4, UMA_FAULT_DIMS, 2, "dims" },
	{ PUT_ND, OP(2, dims[1]), 3, UMA_FAULT_RANK, 3, "rank" },
	{ PUT_ND, OP(3, dims[0]), 8, UMA_FAULT_DIMS, 3, "dims" },
	{ PUT_ND, OP(3, dims[1]), 5, UMA_FAULT_DIMS, 3, "dims" },
	{ MAX, PAR(0), 3, UMA_FAULT_PARAMS, NONE, "params.func" },
	{ MAX, PAR(1), 4, UMA_FAULT_FLAGS, NONE, "params.flags" },
	{ MAX, PAR(1), 2, UMA_FAULT_FLAGS, NONE, "params.flags" },
	{ MAX, PAR(2), 1, UMA_FAULT_PARAMS, NONE, "params.norm" },
	{ LP, PAR(2), 0, UMA_FAULT_PARAMS, NONE, "params.norm" },
	{ LP, PAR(2), 17, UMA_FAULT_PARAMS, NONE, "params.norm" },
	{ MAX, PAR(3), 0, UMA_FAULT_PARAMS, NONE, "params.spatial" },
	{ MAX, PAR(3), 4, UMA_FAULT_PARAMS, NONE, "params.spatial" },
	{ MAX, PAR(3), 1, UMA_FAULT_PAD, NONE, "params.kernel" },
	{ MAX, PAR(6), 1, UMA_FAULT_PAD, NONE, "params.kernel" },
	{ MAX, PAR(18), 1, UMA_FAULT_PAD, NONE, "params.kernel" },
	{ MAX, PAR(19), 1, UMA_FAULT_PAD, NONE, "params.pad" },
	{ MAX, PAR(4), 0, UMA_FAULT_PARAMS, NONE, "params.kernel" },
	{ MAX, PAR(4), 0xffffffff, UMA_FAULT_PARAMS, NONE, "params.kernel" },
	{ MAX, PAR(5), 1u << 24, UMA_FAULT_DIMS, 0, "dims" },
	{ AVERAGE, PAR(7), 0, UMA_FAULT_PARAMS, NONE, "params.stride" },
	{ AVERAGE, PAR(8), (1u << 24) + 1, UMA_FAULT_PARAMS, NONE, "params.stride" },
	{ AVERAGE, PAR(10), 0, UMA_FAULT_PARAMS, NONE, "params.dilation" },
	{ AVERAGE, PAR(11), 0xffffffff, UMA_FAULT_PARAMS, NONE, "params.dilation" },
	{ AVERAGE, PAR(13), 0x80000000, UMA_FAULT_PARAMS, NONE, "params.pad_begin" },
	{ AVERAGE, PAR(17), 0xffffffff, UMA_FAULT_PARAMS, NONE, "params.pad_end" },
	{ AVERAGE, PAR(17), 2, UMA_FAULT_DIMS, 0, "dims" },
	{ MAX, OP(0, dtype), UMA_DTYPE_S32, UMA_FAULT_DTYPE, 0, "dtype" },
	{ MAX, OP(1, dtype), UMA_DTYPE_S4, UMA_FAULT_DTYPE, 1, "dtype" },
	{ MAX, OP(1, dims[1]), 2, UMA_FAULT_DIMS, 1, "dims" },
	{ MAX, OP(1, dims[2]), 7, UMA_FAULT_DIMS, 0, "dims" },
	{ MAX, OP(1, dims[3]), 0, UMA_FAULT_DIMS, 0, "dims" },
	{ NEAREST, PAR(0), 3, UMA_FAULT_PARAMS, NONE, "params.func" },
	{ NEAREST, PAR(1), 1, UMA_FAULT_FLAGS, NONE, "params.flags" },
	{ CUBIC, PAR(1), 2, UMA_FAULT_FLAGS, NONE, "params.flags" },
	{ NEAREST, PAR(2), 4, UMA_FAULT_PARAMS, NONE, "params.nearest" },
	{ LINEAR, PAR(2), 1, UMA_FAULT_PARAMS, NONE, "params.nearest" },
	{ LINEAR, PAR(3), 1, UMA_FAULT_PARAMS, NONE, "params.cubic" },
	{ CUBIC, PAR(3), 0x7fc00000, UMA_FAULT_PARAMS, NONE, "params.cubic" },
	{ CUBIC, PAR(3), 0xff800000, UMA_FAULT_PARAMS, NONE, "params.cubic" },
	{ NEAREST, PAR(5), (1u << 30) + 1, UMA_FAULT_PARAMS, NONE, "params.num" },
	{ NEAREST, PAR(10), 0, UMA_FAULT_PARAMS, NONE, "params.den" },
	{ NEAREST, PAR(10), 0xffffffff, UMA_FAULT_PARAMS, NONE, "params.den" },
	{ NEAREST, PAR(17), 0x7fffffff, UMA_FAULT_PARAMS, NONE, "params.off" },
	{ NEAREST, PAR(17), 0x80000000, UMA_FAULT_PARAMS, NONE, "params.off" },
	{ NEAREST, PAR(6), 1, UMA_FAULT_PAD, NONE, "params.num" },
	{ NEAREST, PAR(24), 1, UMA_FAULT_PAD, NONE, "params.pad" },
	{ NEAREST, OP(0, dims[0]), 2, UMA_FAULT_DIMS, 1, "dims" },
	{ NEAREST, OP(1, dims[1]), 0, UMA_FAULT_DIMS, 1, "dims" },
	{ LINEAR, OP(0, dtype), UMA_DTYPE_U4, UMA_FAULT_DTYPE, 0, "dtype" },
};

static void test_fields(void)
{
	struct uma_fault_info f;
	static struct uma_op op;
	uint32_t i, wrong = 0;

	for (i = 0; i < BASES; i++) {
		memset(&f, 0, sizeof(f));
		if (uma_task_decode(&bases[i].task, &op, &f) ||
		    uma_op_check(&op, mt_engine("full", 1), &f) < 0) {
			printf("# base %u: %s slot %u %s\n", i, uma_fault_name(f.reason), f.slot,
			       f.field);
			wrong++;
		}
	}
	tap_ok(!wrong, "the tasks that are changed below are valid");
	for (i = 0; i < sizeof(mutations) / sizeof(mutations[0]); i++) {
		const struct mutation *m = &mutations[i];
		struct uma_task task = bases[m->base].task;
		int r;

		memset(&f, 0, sizeof(f));
		memcpy((uint8_t *)&task + m->offset, &m->value, m->size);
		r = uma_task_decode(&task, &op, &f);
		if (!tap_ok(r && f.reason == m->reason && f.slot == m->slot &&
			    !strcmp(f.field, m->field), "base %u, offset %u, value %llx: %s",
			    m->base, m->offset, (unsigned long long)m->value,
			    uma_fault_name(m->reason)))
			printf("# %s slot %u field %s\n", r ? uma_fault_name(f.reason) : "accepted",
			       f.slot, r ? f.field : "");
	}
}

/* Values of memory, which nobody checks before. */
static void test_indices(void)
{
	static const int32_t bad[] = { 5, -6, INT32_MAX, INT32_MIN };
	static const uint32_t with[] = { AXIS, ELEMENTS, ND, PUT, PUT_ND };
	struct mt_variant v = { uma_kernels_portable(), 3000, 4096 };
	uint32_t i, j, wrong = 0;
	struct uma_fault_info f;

	for (i = 0; i < 5; i++) {
		uint64_t addr = bases[with[i]].task.op[UMA_SLOT_B].addr;
		/* Of tuples the second index is for a dimension of 5. */
		uint32_t at = with[i] == PUT_ND ? 3 : 1;

		for (j = 0; j < 4; j++) {
			memcpy(result, image, MT_SIZE);
			memset(result + (addr - MT_BASE), 0, 4 * 168);
			memcpy(result + (addr - MT_BASE) + 4 * at, &bad[j], 4);
			wrong += !(mt_run(&bases[with[i]].task, mt_engine("full", 1), &v, result,
					  &f) < 0 && f.reason == UMA_FAULT_RANGE &&
				   f.slot == UMA_SLOT_B && f.addr == addr + 4 * at &&
				   !strcmp(f.field, "index"));
		}
	}
	tap_ok(!wrong, "indices outside of their dimension fault where they are");
}

int main(void)
{
	uint32_t i;

	for (i = 0; i < 4; i++) {
		test_steps(i);
		test_bounded(i);
	}
	memset(image, 0, sizeof(image));
	make_bases();
	test_fields();
	test_indices();
	return tap_done();
}

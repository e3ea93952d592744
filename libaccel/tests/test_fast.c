// SPDX-License-Identifier: MIT
/*
 * Operations as a whole, by the classes that a level of kernels has, against the
 * reference of the model's tests: random products and functions of elements of all
 * types. Integers bit for bit, other numbers within the documented bounds, bytes around
 * them untouched.
 *
 * No device and no library of others: it is built for other processors as well.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "driver/model/tests/gen.h"
#include "driver/model/tests/tap.h"
#include "libaccel/sw/kernels/fast.h"
#include "libaccel/sw/kernels/gemm/gemm_isa.h"
#include "libaccel/sw/sw.h"
#include "libaccel/tests/guest.h"

#define CASES	6

static const char *const type_name[] = {
	"none", "f32", "f16", "bf16", "s32", "s8", "u8", "s4", "u4",
};

static uint8_t image[MT_SIZE];
/* Device addresses are pointers here: the memory is where the tasks have it. */
static uint8_t *memory;

static void *map(struct uma_mem *mem, __u64 addr, __u64 *len, enum uma_access access)
{
	if (addr >= MT_BASE && addr < MT_BASE + MT_SIZE && *len <= MT_BASE + MT_SIZE - addr)
		return memory + (addr - MT_BASE);
	mem->fault.reason = access == UMA_ACCESS_WRITE ? UMA_FAULT_WRITE : UMA_FAULT_READ;
	mem->fault.addr = addr;
	return NULL;
}

static const struct uma_mem_ops mem_ops = { .map = map };

/* The image of a task in memory; who looks behind what the task has of it meets nothing. */
static uint32_t give(const struct mt_task *t)
{
	const uint32_t page = (uint32_t)sysconf(_SC_PAGESIZE);
	const uint32_t size = (mt_size(t) + page - 1) / page * page;

	if (mprotect(memory, size, PROT_READ | PROT_WRITE) ||
	    (size < MT_SIZE && mprotect(memory + size, MT_SIZE - size, PROT_NONE))) {
		printf("Bail out! memory cannot be protected\n");
		exit(1);
	}
	memcpy(memory, image, size);
	return size;
}

/**
 * struct level - what a run may use
 * @name: level
 * @turn: its number
 * @rows: the model's kernels
 * @cpu: for the classes
 * @taken: operations that a class took
 */
struct level {
	const char *name;
	uint32_t turn;
	const struct uma_kernels *rows;
	struct fast_cpu cpu;
	uint32_t taken;
};

/* The tiles of a phase in reverse: their order must not matter. */
static int run_tiles(const struct fast_run *r)
{
	uint32_t phase, tile;

	for (phase = 0; phase < r->prog->phase_count; phase++)
		for (tile = r->prog->tiles[phase]; tile-- > 0;)
			if (r->prog->class->tile(r, phase, tile))
				return -1;
	return 0;
}

/* 1: done; 0: no class takes it. */
static int run_fast(struct level *l, const struct uma_task *task)
{
	static uint8_t scratch[FAST_SCRATCH] __attribute__((aligned(64)));
	static uint8_t rows_scratch[UMA_SCRATCH_SIZE] __attribute__((aligned(64)));
	struct uma_mem mem = { .ops = &mem_ops };
	struct uma_fault_info fault = { 0 };
	static struct uma_program program;
	static struct fast_prog prog;
	static struct uma_op op;
	struct fast_run r = {
		.prog = &prog, .scratch = scratch, .rows_scratch = rows_scratch, .mem = &mem,
		.fault = &fault,
	};
	int ret;

	/* Nothing may depend on what was there before. */
	memset(scratch, 0xff, sizeof(scratch));
	if (uma_task_decode(task, &op, &fault) ||
	    uma_prepare(&program, &op, mt_engine("full", 0), l->rows, UMA_STEP_WORK_UNBOUND, &mem,
			&fault))
		return -1;
	fast_prepare(&prog, &program, &l->cpu, NULL);
	if (!prog.class || !program.phase_count)
		return 0;
	if (!fast_bound(&prog, &mem) || !fast_packed(&prog))
		return -1;
	r.work = aligned_alloc(64, (prog.work_bytes + 127) / 64 * 64);
	if (!r.work)
		return -1;
	ret = run_tiles(&r);
	free(r.work);
	return ret ? -1 : 1;
}

/* Does a class that takes a task do what the reference makes of @like, which has the same image? */
static bool as_reference(struct level *l, const struct uma_task *task, const struct uma_task *like,
			 uint32_t size, uint64_t seed)
{
	char why[200] = "the run failed";
	const int ret = run_fast(l, task);

	if (!ret)
		return true;
	l->taken++;
	if (ret > 0 && !ref_check(like, image, memory, size, why, sizeof(why)))
		return true;
	printf("# %s, seed %llx: %s\n", l->name, (unsigned long long)seed, why);
	return false;
}

static bool one(struct level *l, uint32_t opcode, uint32_t func, const struct gen_types *c,
		uint64_t seed)
{
	static struct mt_task t;

	/* There is a class for each function: until it took one none is left out. */
	if (l->taken && test_left_out(seed, l->turn))
		return true;
	memset(image, 0x5a, sizeof(image));
	mt_task_init(&t, image, seed * 7919, opcode);
	if (opcode == UMA_OP_GEMM)
		gen_gemm(&t, c);
	else
		gen_elementwise(&t, c, func);
	return as_reference(l, &t.task, &t.task, give(&t), seed);
}

static void products(struct level *l)
{
	static const int as[] = { F32, F16, BF16, S8, U8 };
	static const int ds[] = { F32, F16, BF16, S8, U8, S32 };
	uint64_t seed = 0x5eed0000;
	uint32_t i, j, n;
	int b, bad;

	for (i = 0; i < 5; i++) {
		for (b = F32, bad = 0; b <= Q6_K; b++) {
			const bool bytes = as[i] >= S8;

			/* Numbers of 16 bits are numbers of binary32. */
			if (b < S8 ? b != as[i] && (as[i] != F32 || b > BF16) : b == S32)
				continue;
			for (j = 0; j < (bytes && b < Q8_0 ? 6 : 5); j++)
				for (n = 0; n < CASES; n++) {
					const struct gen_types c = { as[i], b, ds[j] };

					bad += !one(l, UMA_OP_GEMM, 0, &c, ++seed);
				}
		}
		tap_ok(!bad, "%s: GEMM of %s by all", l->name, type_name[as[i]]);
	}
	/* Or all of this was about nothing. */
	tap_ok(l->taken >= 50 / test_every(), "%s: %u of them were done by a class", l->name,
	       l->taken);
}

/* Functions of elements, which go along lines: all types, and all mixtures of them. */
static void functions(struct level *l)
{
	static const struct {
		uint32_t opcode, func;
		const char *name;
	} of[] = {
		{ UMA_OP_COPY, 0, "copies" },
		{ UMA_OP_FILL, 0, "fills" },
		{ UMA_OP_UNARY, UMA_UNARY_ACT, "activations" },
		{ UMA_OP_UNARY, UMA_UNARY_EXP, "exp" },
		{ UMA_OP_BINARY, UMA_BINARY_ADD, "sums" },
		{ UMA_OP_BINARY, UMA_BINARY_MUL, "products" },
		{ UMA_OP_BINARY, UMA_BINARY_MAX, "maxima" },
		{ UMA_OP_SELECT, 0, "selections" },
		{ UMA_OP_BINARY, UMA_BINARY_EQ, "what is equal" },
		{ UMA_OP_BINARY, UMA_BINARY_LE, "what is not above" },
		{ UMA_OP_BINARY, UMA_BINARY_XOR, "one of two" },
		{ UMA_OP_UNARY, UMA_UNARY_ROUND, "integers" },
		{ UMA_OP_UNARY, UMA_UNARY_NOT, "zeros" },
	};
	static const int types[] = { F32, F16, BF16, S8, U8, S32 };
	const uint32_t count = sizeof(types) / sizeof(types[0]);
	uint64_t seed = 0x11e50000;
	uint32_t i, j, n;

	if (!(l->cpu.isa & FAST_AVX2))
		return;
	for (i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		int bad = 0;

		l->taken = 0;
		for (j = 0; j < count * count; j++)
			for (n = 0; n < CASES; n++) {
				const struct gen_types c = { types[j / count], types[j % count],
							     types[(j + n) % count] };

				bad += !one(l, of[i].opcode, of[i].func, &c, ++seed);
			}
		tap_ok(!bad && l->taken >= 20 / test_every(),
		       "%s: %s, %u of them done by a class", l->name, of[i].name, l->taken);
	}
}

/* Functions of integers: bit by bit the model's. */
static void integers(struct level *l)
{
	static const uint8_t two[] = {
		UMA_BINARY_ADD, UMA_BINARY_SUB, UMA_BINARY_MUL, UMA_BINARY_MAX, UMA_BINARY_MIN,
		UMA_BINARY_EQ, UMA_BINARY_NE, UMA_BINARY_LT, UMA_BINARY_LE, UMA_BINARY_GT,
		UMA_BINARY_GE, UMA_BINARY_AND, UMA_BINARY_OR, UMA_BINARY_XOR, UMA_BINARY_BIT_AND,
		UMA_BINARY_BIT_OR, UMA_BINARY_BIT_XOR, UMA_BINARY_SHL, UMA_BINARY_SHR,
	};
	static const uint8_t one_of[] = {
		UMA_UNARY_ABS, UMA_UNARY_NEG, UMA_UNARY_SQUARE, UMA_UNARY_SIGN, UMA_UNARY_NOT,
		UMA_UNARY_BIT_NOT,
	};
	static const int types[] = { S32, S8, U8 };
	uint32_t i, j, n, took = 0, bad = 0;
	uint64_t seed = 0x1e700000;

	if (!(l->cpu.isa & FAST_AVX2))
		return;
	for (i = 0; i < sizeof(two) + sizeof(one_of); i++) {
		const bool is_two = i < sizeof(two);
		const uint32_t opcode = is_two ? UMA_OP_BINARY : UMA_OP_UNARY;
		const uint32_t func = is_two ? two[i] : one_of[i - sizeof(two)];

		l->taken = 0;
		for (j = 0; j < 3; j++)
			for (n = 0; n < 2 * CASES; n++) {
				const struct gen_types c = { types[j], types[j], types[j] };

				bad += !one(l, opcode, func, &c, ++seed);
			}
		took += l->taken > 0;
	}
	tap_ok(!bad && took == i, "%s: %u of %u functions of integers by a class", l->name, took,
	       i);
}

/* Is memory what the model makes of the task? */
static bool as_model(const struct level *l, const struct mt_task *t, uint32_t size)
{
	const struct mt_variant v = { l->rows, UMA_STEP_WORK_UNBOUND, 0, size };
	struct uma_fault_info fault;

	return !mt_run(&t->task, mt_engine("full", 0), &v, image, &fault) &&
	       !memcmp(memory, image, size);
}

/* Reductions of integers to integers, likewise. */
static void reductions(struct level *l)
{
	static const int types[] = { S32, S8, U8 };
	uint64_t seed = 0x2ed00000;
	uint32_t j, bad = 0;

	if (!(l->cpu.isa & FAST_AVX2))
		return;
	l->taken = 0;
	for (j = 0; j < 100 * CASES; j++) {
		const struct gen_types c = { types[j % 3], S32, types[j / 3 % 3] };
		static struct mt_task t;
		uint32_t size;
		int ret;

		memset(image, 0x5a, sizeof(image));
		mt_task_init(&t, image, ++seed * 7919, UMA_OP_REDUCE);
		gen_lines(&t, &c);
		if (t.task.op[UMA_SLOT_DST].quant || t.task.op[UMA_SLOT_A].quant)
			continue;
		size = give(&t);
		ret = run_fast(l, &t.task);
		if (!ret)
			continue;
		l->taken++;
		if (ret > 0 && as_model(l, &t, size))
			continue;
		bad++;
		printf("# %s, seed %llx, function %u: another result\n", l->name,
		       (unsigned long long)seed, t.task.params[0]);
	}
	tap_ok(!bad && l->taken >= 20, "%s: %u reductions of integers by a class", l->name,
	       l->taken);
}

/* A task that packs B of a product, behind all else in memory; 0: too large. */
static uint64_t make_pack(struct mt_task *t, const struct gen_types *c, uint64_t seed)
{
	const struct uma_op_cap *cap = mt_engine("full", 0)->caps;
	struct uma_operand *a = &t->task.op[UMA_SLOT_A], *d = &t->task.op[UMA_SLOT_DST];
	struct uma_tensor_view v = { .layout = UMA_LAYOUT_GEMM_B, .dtype = (uint16_t)c->b };
	uint64_t size;
	uint32_t i;

	mt_task_init(t, image, seed, UMA_OP_GEMM);
	gen_gemm(t, c);
	while (cap->opcode != UMA_OP_PACK || !(cap->a_dtypes >> c->b & 1))
		cap++;
	*a = t->task.op[UMA_SLOT_B];
	memset(&a->quant, 0, sizeof(*a) - offsetof(struct uma_operand, quant));
	*d = *a;
	d->layout = UMA_LAYOUT_GEMM_B;
	memset(d->strides, 0, sizeof(d->strides));
	v.rank = d->rank;
	for (i = 0; i < v.rank; i++)
		v.dims[i] = d->dims[i];
	size = uma_packed_size(&v, v.layout, uma_le16(cap->block_k), uma_le16(cap->block_n));
	if (t->used + size + 64 > MT_SIZE)
		return 0;
	d->addr = mt_alloc(t, size, 64);
	memset(&t->task.op[UMA_SLOT_B], 0, sizeof(*a));
	memset(t->task.params, 0, sizeof(t->task.params));
	memset(&t->task.epilogue, 0, sizeof(t->task.epilogue));
	for (i = UMA_SLOT_B; i < UMA_TASK_SLOTS; i++)
		memset(&t->task.op[i], 0, sizeof(*a));
	t->task.opcode = UMA_OP_PACK;
	t->task.slots = 1u << UMA_SLOT_DST | 1u << UMA_SLOT_A;
	return size;
}

/* Blocks, byte by byte those of the model. */
static void packs(struct level *l)
{
	static const int types[] = { F32, BF16, S8, U8, S4, U4 };
	uint64_t seed = 0xb10c0000;
	uint32_t i, n;

	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		const struct gen_types c = { types[i] < S8 ? types[i] : F32, types[i], F32 };
		int bad = 0;

		l->taken = 0;
		for (n = 0; n < 12 * CASES; n++) {
			static struct mt_task t;
			uint32_t size;
			int ret;

			memset(image, 0x5a, sizeof(image));
			if (!make_pack(&t, &c, ++seed * 7919))
				continue;
			size = give(&t);
			ret = run_fast(l, &t.task);
			if (!ret)
				continue;
			l->taken++;
			if (ret > 0 && as_model(l, &t, size))
				continue;
			bad++;
			printf("# %s, seed %llx: other blocks\n", l->name,
			       (unsigned long long)seed);
		}
		/* Neon leaves it to the model. */
		tap_ok(!bad && (l->taken >= 20 || !(l->cpu.isa & FAST_AVX2)), "%s: %s into blocks, %u of them",
		       l->name, type_name[types[i]], l->taken);
	}
}

#if defined(__x86_64__)
/* Strips of AMX with instructions of any processor, see strips_soft.c */
static bool soft;
static uint32_t strips;
void soft_gemm_bf16(const struct fast_gemm_strip *s);
void __real_fast_gemm_bf16_amx(const struct fast_gemm_strip *s);
void __wrap_fast_gemm_bf16_amx(const struct fast_gemm_strip *s);

void __wrap_fast_gemm_bf16_amx(const struct fast_gemm_strip *s)
{
	strips++;
	(soft ? soft_gemm_bf16 : __real_fast_gemm_bf16_amx)(s);
}

/* Many rows that may be rounded to bf16, by small weights and blocks of all types */
static void rounded_products(struct level *l)
{
	static const int as[] = { F32, F16, BF16 };
	uint64_t seed = 0xbf160000;
	uint32_t n, took = 0, before;
	int b, bad = 0;

	soft = true;
	l->cpu.isa |= FAST_AMX_BF16;
	for (b = S8; b <= Q6_K; b++)
		for (n = 0; n < 8 * CASES; n++) {
			const struct gen_types c = { as[n % 3], b, n % 2 ? as[n % 3] : F32 };
			const uint32_t group = 16u << n % 4;
			static struct mt_task t;
			uint32_t flags;

			if (b == S32)
				continue;
			memset(image, 0x5a, sizeof(image));
			mt_task_init(&t, image, ++seed * 7919, UMA_OP_GEMM);
			gen_gemm(&t, &c);
			/* Fewer rows are not. */
			if (t.task.op[0].dims[t.task.op[0].rank - 2] < 32)
				continue;
			memcpy(&flags, t.task.params + 12, 4);
			flags |= UMA_GEMM_BF16;
			memcpy(t.task.params + 8, &group, 4);
			memcpy(t.task.params + 12, &flags, 4);
			before = strips;
			bad += !as_reference(l, &t.task, &t.task, give(&t), seed);
			took += strips != before;
		}
	tap_ok(!bad && took >= 20, "%s, tiles in C: %u products of bf16 that may be of bytes",
	       l->name, took);
	soft = false;
	l->cpu.isa &= ~FAST_AMX_BF16;
}
#else
static void rounded_products(struct level *l)
{
	(void)l;
}
#endif

/* A product whose B has been packed before; the reference takes it as it was. */
static bool packed_product(struct level *l, const struct gen_types *c, uint64_t seed)
{
	const struct mt_variant v = { l->rows, UMA_STEP_WORK_UNBOUND, 0 };
	static struct mt_task pack, t;
	struct uma_fault_info fault;
	struct uma_task task;

	/* As above */
	if (l->taken && test_left_out(seed, l->turn))
		return true;
	memset(image, 0x5a, sizeof(image));
	if (!make_pack(&pack, c, seed))
		return true;
	if (mt_run(&pack.task, mt_engine("full", 0), &v, image, &fault))
		return false;
	/* The operands again, which are where they were. */
	mt_task_init(&t, image, seed, UMA_OP_GEMM);
	gen_gemm(&t, c);
	task = t.task;
	task.op[UMA_SLOT_B] = pack.task.op[UMA_SLOT_DST];
	return as_reference(l, &task, &t.task, give(&pack), seed);
}

/* Packed numbers of 16 bits: every level has kernels for them, whatever they meet. */
static void packed_products(struct level *l)
{
	static const struct gen_types all[] = {
		{ F32, F16, F32 }, { F32, BF16, F32 }, { F16, F16, F32 }, { BF16, BF16, F32 },
	};
	uint64_t seed = 0x9acc0000;
	uint32_t i, n;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		int bad = 0;

		l->taken = 0;
		for (n = 0; n < 3 * CASES; n++)
			bad += !packed_product(l, &all[i], ++seed * 7919);
		tap_ok(!bad && l->taken >= (test_every() > 1 ? 1 : 10),
		       "%s: %s by packed %s, %u of them done by a class",
		       l->name, type_name[all[i].a], type_name[all[i].b], l->taken);
	}
}

/* Winograd's copy of an image that is repeated would be 68 MB, of 131 KB. */
static void repeated_image(struct level *l)
{
	const uint32_t da[] = { 1, 2048, 4, 4 }, db[] = { 4, 4, 2048, 1 }, dd[] = { 520, 1, 4, 4 };
	const struct uma_conv_params p = {
		.func = UMA_CONV_WINOGRAD_2, .groups = 1,
		.stride = { 1, 1 }, .dilation = { 1, 1 }, .pad = { 1, 1 },
	};
	static struct mt_task t;
	struct uma_operand *a = &t.task.op[UMA_SLOT_A];
	int once;

	memset(image, 0, sizeof(image));
	mt_task_init(&t, image, 1, UMA_OP_CONV);
	mt_operand(&t, UMA_SLOT_DST, F32, 4, dd, MT_PLAIN);
	mt_operand(&t, UMA_SLOT_A, F32, 4, da, MT_PLAIN);
	mt_operand(&t, UMA_SLOT_B, F32, 4, db, MT_PLAIN);
	memcpy(t.task.params, &p, sizeof(p));
	give(&t);
	t.task.op[UMA_SLOT_DST].dims[0] = 1;
	once = run_fast(l, &t.task);
	t.task.op[UMA_SLOT_DST].dims[0] = a->dims[0] = 520;
	a->strides[0] = 0;
	tap_ok(once == !!(l->cpu.isa & FAST_AVX2) && run_fast(l, &t.task) == 0,
	       "%s: Winograd does not copy an image 520 times", l->name);
}

int main(void)
{
	static const char *const names[] = {
		"avx2", "avx512", "avx512-vnni", "avx512-bf16", "amx", "neon", "neon-dotprod"
	};
	uint32_t i, isa;

	/* Tuned kernels have 0 for the sigmoid of numbers below -87. */
	ref_saturated = 1.5 * (double)__FLT_MIN__;
	memory = mmap((void *)MT_BASE, MT_SIZE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (memory != (uint8_t *)MT_BASE) {
		printf("Bail out! no memory at %llx\n", MT_BASE);
		return 1;
	}
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct level l = { .turn = i };

		l.rows = sw_kernels(names[i], &l.name, &isa);
		if (!l.rows) {
			printf("# %s: not on this processor\n", names[i]);
			continue;
		}
		fast_cpu_init(&l.cpu, isa, 2);
		ref_bf16 = isa & FAST_BF16;
		products(&l);
		functions(&l);
		integers(&l);
		reductions(&l);
		packs(&l);
		packed_products(&l);
		if (isa & FAST_BF16 && !(isa & FAST_AMX_BF16))
			rounded_products(&l);
		repeated_image(&l);
	}
	if (!tap_count)
		tap_ok(1, "operations # SKIP a processor without any of these levels");
	return tap_done();
}

// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A task that is left between two of its tiles and gone on with, decoded and prepared anew and
 * with nothing in scratch memory, gives the bytes of one that is run at once: left at each of its
 * tiles, and at all of them; every operation, and each of them in tasks of several tiles.
 */
#include <string.h>

#include "gen.h"
#include "tap.h"

/* Tiles at each of which a task is left by itself; of more, at some. */
#define EACH	12u
/* Of a whole task that is not left. */
#define END	(~0ull)

static uint8_t image[MT_SIZE], whole[MT_SIZE], result[MT_SIZE];

/* Tiles of the task at hand, and those at which one of an operation has been left. */
static uint64_t total, stops[UMA_OP_COUNT];

static uint64_t tiles_of(const struct uma_program *prog)
{
	uint64_t n = 0;
	uint32_t i;

	for (i = 0; i < prog->phase_count; i++)
		n += prog->tiles[i];
	return n;
}

static int run_tile(const struct uma_program *prog, uint32_t phase, uint32_t tile,
		    struct uma_mem *mem, void *scratch, struct uma_fault_info *f)
{
	uint32_t step = 0;
	int more;

	do
		more = uma_run_step(prog, phase, tile, &step, mem, scratch, f);
	while (more > 0);
	return more;
}

/*
 * As a device does it: everything anew from the descriptor, from tile @from on, to @to or the end.
 * Returns 0, or -1 with the fault.
 */
static int run_part(const struct uma_task *task, const struct uma_engine_desc *engine,
		    const struct mt_variant *v, uint8_t *mem, uint64_t from, uint64_t to,
		    struct uma_fault_info *f)
{
	static struct uma_program prog;
	static struct uma_op op;
	static void *scratch;
	struct mt_rng rng = { .s = from };
	uint32_t phase, tile;
	struct mt_home home;
	int r;

	if (!scratch)
		scratch = aligned_alloc(64, UMA_SCRATCH_SIZE);
	memset(scratch, 0xff, UMA_SCRATCH_SIZE);
	memset(&prog, 0xa5, sizeof(prog));
	memset(&op, 0xa5, sizeof(op));
	memset(f, 0, sizeof(*f));
	if (uma_task_decode(task, &op, f))
		return -1;
	mt_home_open_part(&home, mem, v->size, v->page, &rng);
	r = uma_prepare(&prog, &op, engine, v->kernels, v->step_work, &home.mem, f);
	if (!r) {
		total = tiles_of(&prog);
		r = uma_program_seek(&prog, from, &phase, &tile);
	}
	for (; !r && phase < prog.phase_count; phase++, tile = 0)
		for (; !r && tile < prog.tiles[phase] && from < to; tile++, from++)
			r = run_tile(&prog, phase, tile, &home.mem, scratch, f);
	mt_home_close(&home, mem);
	return r;
}

static int differs(const char *how, uint64_t at, const struct mt_variant *v,
		   const struct uma_fault_info *f, int r)
{
	if (!r && !memcmp(whole, result, v->size))
		return 0;
	printf("# left at %s %llu of %llu with %s, steps of %u and pages of %u: %s\n", how,
	       (unsigned long long)at, (unsigned long long)total, v->kernels->name, v->step_work,
	       v->page, r ? uma_fault_name(f->reason) : "other bytes");
	return 1;
}

static int check_variant(const struct uma_task *t, const struct uma_engine_desc *engine,
			 const struct mt_variant *v, struct mt_rng *rng)
{
	struct uma_fault_info f;
	uint64_t i, at, n;
	int r;

	memcpy(whole, image, v->size);
	if (run_part(t, engine, v, whole, 0, END, &f)) {
		printf("# fault %s slot %u field %s\n", uma_fault_name(f.reason), f.slot, f.field);
		return 1;
	}
	n = total;
	if (n > 1)
		stops[t->opcode] += n - 1;
	memcpy(result, image, v->size);
	for (i = 0, r = 0; !r && i < n; i++)
		r = run_part(t, engine, v, result, i, i + 1, &f);
	if (differs("each of", n, v, &f, r))
		return 1;
	for (i = 1; i < n && i < EACH; i++) {
		at = n <= EACH ? i : 1 + mt_below(rng, (uint32_t)n - 1);
		memcpy(result, image, v->size);
		r = run_part(t, engine, v, result, 0, at, &f) ||
		    run_part(t, engine, v, result, at, END, &f);
		if (differs("tile", at, v, &f, r))
			return 1;
	}
	/* There is nothing behind the last one. */
	memcpy(result, whole, v->size);
	if (n && !run_part(t, engine, v, result, n, END, &f)) {
		printf("# goes on behind the last of %llu tiles\n", (unsigned long long)n);
		return 1;
	}
	return 0;
}

static int check(const struct mt_task *t, uint64_t seed)
{
	static const uint32_t steps[] = { UMA_STEP_WORK_UNBOUND, 1, UMA_STEP_WORK_KERNEL };
	static const uint32_t pages[] = { 0, 4096 };
	const struct uma_engine_desc *engine = mt_engine("full", (uint32_t)(seed % 3));
	const struct uma_kernels *const *k = mt_kernels();
	struct mt_rng rng = { .s = seed };
	int i, n = 0;

	while (k[n])
		n++;
	for (i = 0; i < 2; i++) {
		const struct mt_variant v = {
			.kernels = k[mt_below(&rng, (uint32_t)n)],
			.step_work = steps[mt_below(&rng, 3)],
			.page = pages[mt_below(&rng, 2)],
			.size = mt_size(t),
		};

		if (check_variant(&t->task, engine, &v, &rng)) {
			printf("# opcode %u seed %llu\n", t->task.opcode, (unsigned long long)seed);
			return 1;
		}
	}
	return 0;
}

/* --- tasks of the generators -------------------------------------------------- */

static void generate(struct mt_task *t, uint32_t op)
{
	static const int floats[] = { F32, F16, BF16 };
	struct gen_types c = {
		F32 + (int)mt_below(&t->rng, 8), F32 + (int)mt_below(&t->rng, 8),
		F32 + (int)mt_below(&t->rng, 8),
	};

	switch (op) {
	case UMA_OP_GEMM:
	case UMA_OP_CONV:
		c.a = mt_one_in(&t->rng, 3) ? S8 : floats[mt_below(&t->rng, 3)];
		c.b = c.a == S8 ? U8 : mt_one_in(&t->rng, 2) ? c.a : S4;
		c.d = c.a == S8 ? S32 : F32;
		if (op == UMA_OP_CONV)
			gen_conv(t, &c);
		else
			gen_gemm(t, &c);
		break;
	case UMA_OP_ATTENTION:
		gen_attention(t, mt_rand(&t->rng) & UMA_ATTN_FLAGS_MASK);
		break;
	case UMA_OP_KV_WRITE:
		gen_kv_write(t, mt_rand(&t->rng) & UMA_KV_WRITE_FLAGS_MASK);
		break;
	case UMA_OP_POOL:
	case UMA_OP_RESIZE:
	case UMA_OP_GATHER:
	case UMA_OP_SCATTER:
		gen_vision(t);
		break;
	default:
		gen_lines(t, &c);
		break;
	}
}

static void generated(uint32_t op, const char *name, uint32_t count)
{
	static struct mt_task t;
	uint32_t i;
	int bad = 0;

	for (i = 0; i < count; i++) {
		uint64_t seed = op * 1000ull + i;

		memset(image, 0x5a, sizeof(image));
		mt_task_init(&t, image, seed * 7919, (int)op);
		generate(&t, op);
		bad += check(&t, seed);
	}
	tap_ok(!bad, "%s, %u of them", name, count);
}

/* --- tasks of several tiles where a tile has 65536 elements ------------------- */

#define LINES	300u
#define LENGTH	448u

static const uint32_t large[] = { LINES, LENGTH };

static void set(struct mt_task *t, int word, uint32_t v)
{
	memcpy(t->task.params + 4 * word, &v, 4);
}

static void operand(struct mt_task *t, int slot, int dtype)
{
	mt_operand(t, slot, dtype, 2, large, MT_PLAIN);
}

/* One element for all. */
static void broadcast(struct mt_task *t, int slot, int dtype)
{
	const uint32_t one[] = { 1, 1 };

	mt_operand(t, slot, dtype, 2, one, MT_PLAIN);
	memcpy(t->task.op[slot].dims, large, sizeof(large));
	memset(t->task.op[slot].strides, 0, sizeof(t->task.op[slot].strides));
}

static void in_place(struct mt_task *t, int slot)
{
	t->task.op[slot] = t->task.op[UMA_SLOT_DST];
	t->task.slots |= 1u << slot;
}

static void large_elements(struct mt_task *t, uint32_t op)
{
	operand(t, UMA_SLOT_DST, S8);
	switch (op) {
	case UMA_OP_FILL:
		set(t, 0, 0x77);
		return;
	case UMA_OP_COPY:
		operand(t, UMA_SLOT_A, U8);
		return;
	case UMA_OP_UNARY:
		set(t, 0, UMA_UNARY_NEG);
		in_place(t, UMA_SLOT_A);
		return;
	case UMA_OP_BINARY:
		set(t, 0, UMA_BINARY_ADD);
		in_place(t, UMA_SLOT_A);
		broadcast(t, UMA_SLOT_B, S8);
		return;
	default:
		operand(t, UMA_SLOT_A, S8);
		in_place(t, UMA_SLOT_B);
		broadcast(t, UMA_SLOT_C, S8);
		return;
	}
}

static void large_lines(struct mt_task *t, uint32_t op)
{
	const uint32_t one[] = { LINES, 1 }, few[] = { LINES, 5 };

	switch (op) {
	case UMA_OP_REDUCE:
		set(t, 0, UMA_REDUCE_SUM);
		set(t, 1, 2);
		mt_operand(t, UMA_SLOT_DST, F32, 2, one, MT_PLAIN);
		operand(t, UMA_SLOT_A, S8);
		return;
	case UMA_OP_TOPK:
		set(t, 1, 1);
		mt_operand(t, UMA_SLOT_DST, S8, 2, few, MT_PLAIN);
		mt_operand(t, UMA_SLOT_AUX0, S32, 2, few, MT_PLAIN);
		operand(t, UMA_SLOT_A, S8);
		return;
	case UMA_OP_DYNQUANT:
		set(t, 0, 2);
		operand(t, UMA_SLOT_DST, S8);
		operand(t, UMA_SLOT_A, F16);
		mt_operand(t, UMA_SLOT_AUX0, F32, 2, one, MT_PLAIN);
		return;
	case UMA_OP_NORM:
		set(t, 0, UMA_NORM_LAYER);
		set(t, 1, 2);
		set(t, 2, mt_bits(0.001f));
		operand(t, UMA_SLOT_DST, F16);
		in_place(t, UMA_SLOT_A);
		return;
	case UMA_OP_SOFTMAX:
		set(t, 1, 1);
		operand(t, UMA_SLOT_DST, F16);
		in_place(t, UMA_SLOT_A);
		return;
	default:
		/* SCAN, along either dimension. */
		set(t, 1, mt_below(&t->rng, 2));
		operand(t, UMA_SLOT_DST, F16);
		in_place(t, UMA_SLOT_A);
		return;
	}
}

static void index_of(struct mt_task *t, int slot, uint32_t i, int32_t v)
{
	memcpy(t->image + (t->task.op[slot].addr - MT_BASE) + 4 * i, &v, 4);
}

static void large_moves(struct mt_task *t, uint32_t op)
{
	const uint32_t table[] = { 40, LENGTH }, rows[] = { LINES }, updates[] = { 7, LENGTH };
	const uint32_t heads[] = { 1, LINES, 4, 112 }, angles[] = { LINES, 50 };
	const uint32_t pool[] = { 5, 64, 8, 56 }, scales[] = { 5, 64, 8, 1 };
	const uint32_t keys[] = { LINES, 8, 56 }, some[] = { 7, 1 };
	uint32_t i;

	switch (op) {
	case UMA_OP_GATHER:
		set(t, 0, UMA_GATHER_AXIS);
		operand(t, UMA_SLOT_DST, S8);
		mt_operand(t, UMA_SLOT_A, S8, 2, table, MT_PLAIN);
		mt_operand(t, UMA_SLOT_B, S32, 1, rows, MT_PLAIN);
		for (i = 0; i < LINES; i++)
			index_of(t, UMA_SLOT_B, i, (int32_t)mt_below(&t->rng, 40));
		return;
	case UMA_OP_SCATTER:
		/* Several tiles of copies, then sums, some of them into one row. */
		set(t, 0, UMA_SCATTER_ND);
		set(t, 2, UMA_SCATTER_ADD);
		operand(t, UMA_SLOT_DST, S8);
		operand(t, UMA_SLOT_A, S8);
		mt_operand(t, UMA_SLOT_B, S32, 2, some, MT_PLAIN);
		mt_operand(t, UMA_SLOT_C, S8, 2, updates, MT_PLAIN);
		for (i = 0; i < 7; i++)
			index_of(t, UMA_SLOT_B, i, (int32_t)(i / 2));
		return;
	case UMA_OP_ROTARY:
		mt_operand(t, UMA_SLOT_DST, F16, 4, heads, MT_PLAIN);
		in_place(t, UMA_SLOT_A);
		mt_operand(t, UMA_SLOT_B, F32, 2, angles, MT_PLAIN);
		mt_operand(t, UMA_SLOT_C, F32, 2, angles, MT_PLAIN);
		return;
	case UMA_OP_RESIZE:
		/* Halves, each of them twice. */
		operand(t, UMA_SLOT_DST, S8);
		for (i = 0; i < 2; i++) {
			const int64_t off = -(int64_t)(large[i] / 2);

			set(t, 4 + (int)i, large[i]);
			set(t, 9 + (int)i, 2 * large[i]);
			memcpy(t->task.params + 4 * (14 + 2 * i), &off, 8);
		}
		mt_operand(t, UMA_SLOT_A, S8, 2, (const uint32_t[]){ LINES / 2, LENGTH / 2 },
			   MT_PLAIN);
		return;
	default:
		set(t, 0, UMA_KV_WRITE_QUANTISED);
		mt_operand(t, UMA_SLOT_DST, S8, 4, pool, MT_PLAIN);
		mt_operand(t, UMA_SLOT_A, F16, 3, keys, MT_PLAIN);
		mt_operand(t, UMA_SLOT_AUX0, F32, 4, scales, MT_PLAIN);
		mt_operand(t, UMA_SLOT_AUX2, S32, 1, rows, MT_PLAIN);
		for (i = 0; i < LINES; i++)
			index_of(t, UMA_SLOT_AUX2, i, (int32_t)mt_below(&t->rng, 5 * 64));
		return;
	}
}

static void pack(struct mt_task *t, uint64_t seed)
{
	const struct uma_engine_desc *engine = mt_engine("full", (uint32_t)(seed % 3));
	const uint32_t dims[] = { 3, 70, 100 };
	struct uma_tensor_view view = { .dtype = F32, .rank = 3, .dims = { 3, 70, 100 } };
	struct uma_operand *d = &t->task.op[UMA_SLOT_DST];
	const struct uma_op_cap *cap = engine->caps;

	mt_operand(t, UMA_SLOT_A, F32, 3, dims, MT_STRIDED);
	mt_operand(t, UMA_SLOT_DST, F32, 3, dims, MT_PLAIN);
	while (cap->opcode != UMA_OP_PACK || !(cap->a_dtypes >> F32 & 1))
		cap++;
	t->used = (uint32_t)(d->addr - MT_BASE);
	mt_packed(t, UMA_SLOT_DST,
		  uma_packed_size(&view, UMA_LAYOUT_GEMM_B, cap->block_k, cap->block_n));
}

static void made(uint32_t op, const char *name, void (*make)(struct mt_task *t, uint32_t op))
{
	static struct mt_task t;
	uint64_t seed;
	int bad = 0;

	for (seed = op; seed < op + 3; seed++) {
		memset(image, 0x5a, sizeof(image));
		mt_task_init(&t, image, seed * 7919, (int)op);
		if (make)
			make(&t, op);
		else
			pack(&t, seed);
		bad += check(&t, seed);
	}
	tap_ok(!bad, "%s of several tiles", name);
}

/* --- where a program goes on --------------------------------------------------- */

static int leads(const struct uma_program *prog, uint64_t index, int r, uint32_t phase,
		 uint32_t tile)
{
	uint32_t p = ~0u, t = ~0u;

	return uma_program_seek(prog, index, &p, &t) == r && (r || (p == phase && t == tile));
}

static void seeks(void)
{
	static struct uma_program prog = { .phase_count = 3, .tiles = { 0, 2, 0xffffffff } };
	static const struct uma_program none;

	tap_ok(leads(&prog, 0, 0, 1, 0) && leads(&prog, 1, 0, 1, 1) && leads(&prog, 2, 0, 2, 0) &&
	       leads(&prog, 1ull << 32, 0, 2, 0xfffffffe), "each tile of each phase");
	tap_ok(leads(&prog, (1ull << 32) + 1, -1, 0, 0) && leads(&prog, END, -1, 0, 0),
	       "none behind the last");
	tap_ok(leads(&none, 0, 0, 0, 0) && leads(&none, 1, -1, 0, 0), "no tiles");
}

static const char *const names[UMA_OP_COUNT] = {
	[UMA_OP_COPY] = "COPY", [UMA_OP_FILL] = "FILL", [UMA_OP_UNARY] = "UNARY",
	[UMA_OP_BINARY] = "BINARY", [UMA_OP_GEMM] = "GEMM", [UMA_OP_PACK] = "PACK",
	[UMA_OP_CONV] = "CONV", [UMA_OP_ATTENTION] = "ATTENTION", [UMA_OP_ROTARY] = "ROTARY",
	[UMA_OP_NORM] = "NORM", [UMA_OP_SOFTMAX] = "SOFTMAX", [UMA_OP_REDUCE] = "REDUCE",
	[UMA_OP_POOL] = "POOL", [UMA_OP_RESIZE] = "RESIZE", [UMA_OP_GATHER] = "GATHER",
	[UMA_OP_SCATTER] = "SCATTER", [UMA_OP_TOPK] = "TOPK", [UMA_OP_SCAN] = "SCAN",
	[UMA_OP_SELECT] = "SELECT", [UMA_OP_DYNQUANT] = "DYNQUANT",
	[UMA_OP_KV_WRITE] = "KV_WRITE",
};

int main(void)
{
	static const uint8_t of_generators[] = {
		UMA_OP_GEMM, UMA_OP_CONV, UMA_OP_ATTENTION, UMA_OP_POOL, UMA_OP_SCATTER,
		UMA_OP_KV_WRITE, UMA_OP_NORM, UMA_OP_SOFTMAX, UMA_OP_REDUCE, UMA_OP_TOPK,
		UMA_OP_SCAN, UMA_OP_RESIZE, UMA_OP_GATHER,
	};
	static const uint8_t elements[] = {
		UMA_OP_COPY, UMA_OP_FILL, UMA_OP_UNARY, UMA_OP_BINARY, UMA_OP_SELECT,
	};
	static const uint8_t lines[] = {
		UMA_OP_REDUCE, UMA_OP_TOPK, UMA_OP_DYNQUANT, UMA_OP_NORM, UMA_OP_SOFTMAX,
		UMA_OP_SCAN,
	};
	static const uint8_t moves[] = {
		UMA_OP_GATHER, UMA_OP_SCATTER, UMA_OP_ROTARY, UMA_OP_RESIZE, UMA_OP_KV_WRITE,
	};
	uint32_t i;

	seeks();
	for (i = 0; i < sizeof(of_generators); i++)
		generated(of_generators[i], names[of_generators[i]], i < 5 ? 120 : 40);
	for (i = 0; i < sizeof(elements); i++)
		made(elements[i], names[elements[i]], large_elements);
	for (i = 0; i < sizeof(lines); i++)
		made(lines[i], names[lines[i]], large_lines);
	for (i = 0; i < sizeof(moves); i++)
		made(moves[i], names[moves[i]], large_moves);
	made(UMA_OP_PACK, names[UMA_OP_PACK], NULL);
	/* Also one that comes later. */
	for (i = UMA_OP_NOP + 1; i < UMA_OP_COUNT; i++)
		tap_ok(stops[i] > 0, "%s was left %llu times", names[i] ? names[i] : "a new one",
		       (unsigned long long)stops[i]);
	return tap_done();
}

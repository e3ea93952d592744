// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Packed operands: the bytes are where packed.c says, a GEMM gives the same
 * bits from a packed and from a strided operand, a header that does not fit is
 * a fault. And what else needs more than one task or a certain size: dynamic
 * dimensions, the largest sums of bytes, whole-tile kernels.
 */
#include <string.h>

#include "gen.h"
#include "tap.h"

static uint8_t image[MT_SIZE], packed[MT_SIZE], strided[MT_SIZE];

static const uint32_t classes[] = { UMA_ENGINE_MATRIX, UMA_ENGINE_GPU, UMA_ENGINE_NEURAL };

static int bits_of(int d)
{
	return d == F32 || d == S32 ? 32 : d == F16 || d == BF16 ? 16 : d <= U8 ? 8 : 4;
}

/* Blocks as the capability row says; from the query a client would do. */
static const struct uma_op_cap *pack_row(const struct uma_engine_desc *e, int dtype)
{
	uint32_t i;

	for (i = 0; i < e->cap_count; i++)
		if (e->caps[i].opcode == UMA_OP_PACK && e->caps[i].a_dtypes >> dtype & 1)
			return &e->caps[i];
	abort();
}

static uint64_t size_of(const struct uma_operand *o, const struct uma_op_cap *cap)
{
	struct uma_tensor_view v = { .dtype = o->dtype, .rank = o->rank };

	memcpy(v.dims, o->dims, sizeof(v.dims));
	return uma_packed_size(&v, UMA_LAYOUT_GEMM_B, cap->block_k, cap->block_n);
}

/* Every element of the payload, by the layout's definition. */
static int payload_fits(const struct uma_task *t, const struct uma_op_cap *cap,
			const uint8_t *after)
{
	const struct uma_operand *d = &t->op[0], *a = &t->op[1];
	uint32_t bk = cap->block_k, bn = cap->block_n, r = d->rank, idx[UMA_MAX_RANK] = { 0 };
	uint64_t kp = (d->dims[r - 2] + bk - 1) / bk * bk;
	uint64_t np = (d->dims[r - 1] + bn - 1) / bn * bn;
	const uint8_t *p = after + (d->addr - MT_BASE) + 64;
	uint64_t batches = 1, b, k, n, rest;
	uint32_t i;

	for (i = 0; i + 2 < r; i++)
		batches *= d->dims[i];
	for (b = 0; b < batches; b++, p += kp * np * (uint64_t)bits_of(d->dtype) / 8) {
		for (rest = b, i = r - 2; i-- > 0; rest /= d->dims[i])
			idx[i] = (uint32_t)(rest % d->dims[i]);
		for (k = 0; k < kp; k++) {
			for (n = 0; n < np; n++) {
				uint64_t block = n / bn * (kp / bk) + k / bk;
				uint64_t at = block * bk * bn + n % bn * bk + k % bk;
				const uint8_t *e = p + at * (uint64_t)bits_of(d->dtype) / 8;
				int nibble = 0;
				double got, want = 0;

				if (bits_of(d->dtype) == 4) {
					at = (block * bn + n % bn) * (bk / 2) + k % (bk / 2);
					e = p + at;
					nibble = k % bk >= bk / 2;
				}
				got = ref_element(d->dtype, e, nibble);
				idx[r - 2] = (uint32_t)k;
				idx[r - 1] = (uint32_t)n;
				if (k < d->dims[r - 2] && n < d->dims[r - 1])
					want = ref_load(after, a, idx);
				if (got != want)
					return 0;
			}
		}
	}
	return 1;
}

static int pack(const struct mt_task *gemm, const struct uma_engine_desc *e,
		const struct mt_variant *v, uint64_t addr, uint8_t *mem,
		struct uma_fault_info *fault, struct uma_task *t)
{
	memset(t, 0, sizeof(*t));
	t->version = UMA_TASK_VERSION;
	t->opcode = UMA_OP_PACK;
	t->slots = 3;
	t->op[1] = gemm->task.op[UMA_SLOT_B];
	memset(&t->op[1].quant, 0, sizeof(t->op[1]) - offsetof(struct uma_operand, quant));
	t->op[0] = t->op[1];
	t->op[0].layout = UMA_LAYOUT_GEMM_B;
	memset(t->op[0].strides, 0, sizeof(t->op[0].strides));
	t->op[0].addr = addr;
	return mt_run(t, e, v, mem, fault);
}

static void print_fault(const char *what, const struct uma_fault_info *f)
{
	printf("# %s: %s slot %u %s\n", what, uma_fault_name(f->reason), f->slot, f->field);
}

static void pack_and_use(int a, int b, int d)
{
	static const uint32_t steps[] = { UMA_STEP_WORK_UNBOUND, 1, UMA_STEP_WORK_KERNEL };
	static const uint32_t pages[] = { 0, 64, 4096 };
	struct gen_types c = { a, b, d };
	static struct mt_task t;
	struct uma_task p;
	int i, bad = 0, layout_bad = 0;

	for (i = 0; i < 24; i++) {
		const struct uma_engine_desc *e = mt_engine("full", classes[i % 3]);
		const struct uma_kernels *const *k = mt_kernels();
		const struct uma_op_cap *cap = pack_row(e, b);
		struct mt_variant v = { .step_work = steps[i / 3 % 3], .page = pages[i / 9] };
		struct uma_fault_info f;
		uint64_t size, addr;

		memset(image, 0x77, sizeof(image));
		mt_task_init(&t, image, 1000ull * a + 100ull * b + 10ull * d + 7001ull * i,
			     UMA_OP_GEMM);
		gen_gemm(&t, &c);
		size = size_of(&t.task.op[UMA_SLOT_B], cap);
		addr = mt_alloc(&t, size, 64);
		for (; *k; k++) {
			v.kernels = *k;
			memcpy(packed, image, MT_SIZE);
			if (pack(&t, e, &v, addr, packed, &f, &p)) {
				print_fault("pack", &f);
				bad++;
				break;
			}
			layout_bad += !payload_fits(&p, cap, packed);
			memcpy(strided, packed, MT_SIZE);
			bad += mt_run(&t.task, e, &v, strided, &f) != 0;
			p = t.task;
			p.op[UMA_SLOT_B].layout = UMA_LAYOUT_GEMM_B;
			p.op[UMA_SLOT_B].addr = addr;
			memset(p.op[UMA_SLOT_B].strides, 0, 40);
			if (mt_run(&p, e, &v, packed, &f)) {
				print_fault("gemm", &f);
				bad++;
			} else if (memcmp(packed, strided, MT_SIZE)) {
				printf("# case %d: other bits\n", i);
				bad++;
			}
		}
	}
	tap_ok(!bad && !layout_bad, "types %d x %d -> %d: packed like strided", a, b, d);
}

static void test_header(void)
{
	static const struct {
		uint32_t offset;
		const char *field;
	} fields[] = {
		{ 0, "packed.magic" }, { 4, "packed.version" }, { 6, "packed.layout" },
		{ 8, "packed.engine_class" }, { 10, "packed.dtype" }, { 12, "packed.block_k" },
		{ 14, "packed.block_n" }, { 16, "packed.dims" }, { 20, "packed.dims" },
		{ 32, "packed.dims" }, { 36, "packed.rank" }, { 40, "packed.pad" },
		{ 63, "packed.pad" },
	};
	const struct uma_engine_desc *e = mt_engine("full", UMA_ENGINE_MATRIX);
	struct mt_variant v = { uma_kernels_portable(), UMA_STEP_WORK_UNBOUND, 0 };
	static const uint32_t da[] = { 5, 9 }, db[] = { 9, 7 }, dd[] = { 5, 7 };
	struct uma_fault_info f;
	static struct mt_task t;
	struct uma_task p;
	uint64_t addr;
	float one = 1;
	uint32_t i;

	mt_task_init(&t, image, 5, UMA_OP_GEMM);
	mt_operand(&t, 0, F32, 2, dd, MT_PLAIN);
	mt_operand(&t, 1, F32, 2, da, MT_PLAIN);
	mt_operand(&t, 2, F32, 2, db, MT_PLAIN);
	memcpy(t.task.params, &one, 4);
	addr = mt_alloc(&t, 4096, 64);
	pack(&t, e, &v, addr, image, &f, &p);
	p = t.task;
	mt_packed(&t, 2, 4096);
	p.op[2] = t.task.op[2];
	p.op[2].addr = addr;
	tap_ok(!mt_run(&p, e, &v, image, &f), "a packed operand is taken");
	for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		uint8_t *byte = image + (addr - MT_BASE) + fields[i].offset;
		int r;

		*byte ^= 1;
		r = mt_run(&p, e, &v, image, &f);
		*byte ^= 1;
		tap_ok(r && f.reason == UMA_FAULT_LAYOUT && f.slot == 2 && f.addr == addr &&
		       !strcmp(f.field, fields[i].field), "header byte %u changed: %s",
		       fields[i].offset, fields[i].field);
	}
	tap_ok(mt_run(&p, mt_engine("full", UMA_ENGINE_GPU), &v, image, &f) &&
	       f.reason == UMA_FAULT_LAYOUT && f.slot == 2, "made for another engine: layout");
	p.op[0].dims[1] = p.op[2].dims[1] = 6;
	tap_ok(mt_run(&p, e, &v, image, &f) && f.reason == UMA_FAULT_LAYOUT,
	       "made for another shape: layout");
}

/* --- dynamic dimensions --------------------------------------------------- */

static void test_dynamic(void)
{
	const struct uma_engine_desc *e = mt_engine("full", UMA_ENGINE_MATRIX);
	static const uint32_t da[] = { 2, 20, 30 }, db[] = { 2, 30, 40 }, dd[] = { 2, 20, 40 };
	static const uint32_t small[3][5] = { { 2, 7, 33 }, { 2, 7, 11 }, { 2, 11, 33 } };
	struct mt_variant v = { uma_kernels_portable(), 5000, 64 };
	struct uma_fault_info f;
	static struct mt_task t;
	struct uma_task s;
	uint8_t *shape;
	float one = 1;
	char why[200];
	int r, i;

	memset(image, 0, sizeof(image));
	mt_task_init(&t, image, 9, UMA_OP_GEMM);
	mt_operand(&t, 0, F32, 3, dd, MT_PLAIN);
	mt_operand(&t, 1, F32, 3, da, MT_PLAIN);
	mt_operand(&t, 2, F32, 3, db, MT_PLAIN);
	memcpy(t.task.params, &one, 4);
	t.task.flags = UMA_TASK_DYNAMIC;
	t.task.shape_addr = mt_alloc(&t, 240, 4);
	shape = image + (t.task.shape_addr - MT_BASE);
	memset(shape, 0xee, 240);
	memcpy(shape, small, sizeof(small));
	s = t.task;
	for (i = 0; i < 3; i++)
		memcpy(s.op[i].dims, small[i], 12);
	memcpy(packed, image, MT_SIZE);
	r = mt_run(&t.task, e, &v, packed, &f);
	tap_ok(!r && !ref_check(&s, image, packed, MT_SIZE, why, sizeof(why)),
	       "smaller dimensions from memory");
	shape[0] = 3;
	memcpy(packed, image, MT_SIZE);
	tap_ok(mt_run(&t.task, e, &v, packed, &f) && f.reason == UMA_FAULT_DIMS && f.slot == 0 &&
	       f.addr == t.task.shape_addr && !strcmp(f.field, "shape") &&
	       !memcmp(packed, image, MT_SIZE), "larger than the descriptor's: dims");
	shape[0] = 1;
	memcpy(packed, image, MT_SIZE);
	tap_ok(mt_run(&t.task, e, &v, packed, &f) && f.reason == UMA_FAULT_DIMS && f.slot == 1,
	       "dimensions in memory that do not match: dims");
	shape[0] = 2;
	t.task.shape_addr = MT_BASE + MT_SIZE - 236;
	tap_ok(mt_run(&t.task, e, &v, packed, &f) && f.reason == UMA_FAULT_READ &&
	       f.slot == UMA_FAULT_NO_SLOT && f.addr == MT_BASE + MT_SIZE,
	       "dimensions that are not mapped: read");
}

/* One number for the rows: below the descriptor's, none, too many, not mapped. */
static void test_length(void)
{
	const struct uma_engine_desc *e = mt_engine("full", UMA_ENGINE_MATRIX);
	static const uint32_t da[] = { 20, 30 }, db[] = { 30, 40 }, dd[] = { 20, 40 };
	static const uint32_t lengths[] = { 20, 19, 7, 1, 0 };
	static const uint32_t hostile[] = { 21, 0x7fffffff, 0x80000000, 0xffffffff };
	struct mt_variant v = { uma_kernels_portable(), 5000, 64 };
	struct uma_fault_info f;
	static struct mt_task t;
	struct uma_task s;
	uint8_t *length;
	float one = 1;
	char why[200];
	unsigned int i;
	int r;

	memset(image, 0, sizeof(image));
	mt_task_init(&t, image, 9, UMA_OP_GEMM);
	mt_operand(&t, 0, F32, 2, dd, MT_PLAIN);
	mt_operand(&t, 1, F32, 2, da, MT_PLAIN);
	mt_operand(&t, 2, F32, 2, db, MT_PLAIN);
	memcpy(t.task.params, &one, 4);
	t.task.flags = UMA_TASK_DYNAMIC | UMA_TASK_LENGTH;
	t.task.length_dims[0] = 1;
	t.task.length_dims[1] = 1;
	t.task.shape_addr = mt_alloc(&t, 4, 4);
	length = image + (t.task.shape_addr - MT_BASE);
	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		memcpy(length, &lengths[i], 4);
		s = t.task;
		s.op[0].dims[0] = lengths[i];
		s.op[1].dims[0] = lengths[i];
		memcpy(packed, image, MT_SIZE);
		r = mt_run(&t.task, e, &v, packed, &f);
		tap_ok(!r && !ref_check(&s, image, packed, MT_SIZE, why, sizeof(why)),
		       "a length of %u from memory", lengths[i]);
	}
	for (i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
		memcpy(length, &hostile[i], 4);
		memcpy(packed, image, MT_SIZE);
		tap_ok(mt_run(&t.task, e, &v, packed, &f) && f.reason == UMA_FAULT_DIMS &&
		       f.slot == 0 && f.addr == t.task.shape_addr && !strcmp(f.field, "shape") &&
		       !memcmp(packed, image, MT_SIZE), "a length of %u: dims", hostile[i]);
	}
	/* K of A alone does not go with that of B. */
	t.task.length_dims[0] = 0;
	t.task.length_dims[1] = 2;
	memcpy(length, &lengths[2], 4);
	tap_ok(mt_run(&t.task, e, &v, packed, &f) && f.reason == UMA_FAULT_DIMS,
	       "a length that does not match: dims");
	t.task.shape_addr = MT_BASE + MT_SIZE;
	tap_ok(mt_run(&t.task, e, &v, packed, &f) && f.reason == UMA_FAULT_READ &&
	       f.slot == UMA_FAULT_NO_SLOT && f.addr == MT_BASE + MT_SIZE,
	       "a length that is not mapped: read");
}

/* Of operands without elements strides may be anything: they are not for counting on. */
static void test_experts_of_nothing(void)
{
	const struct uma_engine_desc *e = mt_engine("full", UMA_ENGINE_MATRIX);
	const uint32_t m = 9000, experts = 3, flags = UMA_GEMM_EXPERTS;
	const uint32_t da[] = { 1, m, 0 }, db[] = { experts, 0, 1 }, dd[] = { 1, m, 1 };
	const int32_t rows[] = { 8000, 999, 1 };
	struct mt_variant v = { uma_kernels_portable(), 5000, 64 };
	struct uma_fault_info f;
	static struct mt_task t;
	float one = 1;
	char why[200];
	int r;

	memset(image, 0, sizeof(image));
	mt_task_init(&t, image, 9, UMA_OP_GEMM);
	mt_operand(&t, UMA_SLOT_DST, F32, 3, dd, MT_PLAIN);
	mt_operand(&t, UMA_SLOT_A, F32, 3, da, MT_PLAIN);
	mt_operand(&t, UMA_SLOT_B, F32, 3, db, MT_PLAIN);
	mt_operand(&t, UMA_SLOT_AUX0, S32, 1, &experts, MT_PLAIN);
	memcpy(image + (t.task.op[UMA_SLOT_AUX0].addr - MT_BASE), rows, sizeof(rows));
	t.task.op[UMA_SLOT_A].strides[1] = 1LL << 50;
	t.task.op[UMA_SLOT_B].strides[0] = -(1LL << 50);
	memcpy(t.task.params, &one, 4);
	memcpy(t.task.params + 12, &flags, 4);
	memcpy(packed, image, MT_SIZE);
	r = mt_run(&t.task, e, &v, packed, &f);
	tap_ok(!r && !ref_check(&t.task, image, packed, MT_SIZE, why, sizeof(why)),
	       "experts of nothing, a world apart");
}

/* --- faults of memory ----------------------------------------------------- */

static void test_unmapped(void)
{
	const struct uma_engine_desc *e = mt_engine("full", UMA_ENGINE_MATRIX);
	static const uint32_t da[] = { 20, 30 }, db[] = { 30, 40 }, dd[] = { 20, 40 };
	struct uma_fault_info f;
	static struct mt_task t;
	float one = 1;
	int s, i;

	for (i = 0; i < 2; i++) {
		struct mt_variant v = { uma_kernels_portable(),
					i ? 5000 : UMA_STEP_WORK_UNBOUND, i ? 64 : 0 };

		for (s = 0; s < 3; s++) {
			mt_task_init(&t, image, 11, UMA_OP_GEMM);
			mt_operand(&t, 0, F32, 2, dd, MT_PLAIN);
			mt_operand(&t, 1, F32, 2, da, MT_PLAIN);
			mt_operand(&t, 2, F32, 2, db, MT_PLAIN);
			memcpy(t.task.params, &one, 4);
			t.task.op[s].addr = MT_BASE + MT_SIZE - 64;
			tap_ok(mt_run(&t.task, e, &v, image, &f) && f.slot == (uint32_t)s &&
			       f.reason == (s ? UMA_FAULT_READ : UMA_FAULT_WRITE) &&
			       f.addr >= MT_BASE + MT_SIZE && !strcmp(f.field, "addr"),
			       "slot %d runs out of memory: %s", s, s ? "read" : "write");
		}
	}
}

/* --- sums of bytes at their limits ---------------------------------------- */

static void test_large_sums(int a, int b, uint8_t va, uint8_t vb, int za, int zb, int d)
{
	const struct uma_engine_desc *e = mt_engine("full", UMA_ENGINE_MATRIX);
	const uint32_t da[] = { 3, 65536 }, db[] = { 65536, 2 }, dd[] = { 3, 2 };
	const struct uma_kernels *const *k;
	struct uma_fault_info f;
	static struct mt_task t;
	float one = 1;
	char why[200] = "";
	int bad = 0;

	for (k = mt_kernels(); *k; k++) {
		struct mt_variant v = { *k, UMA_STEP_WORK_UNBOUND, 0 };

		mt_task_init(&t, image, 3, UMA_OP_GEMM);
		mt_operand(&t, 0, d, 2, dd, MT_PLAIN);
		mt_operand(&t, 1, a, 2, da, MT_PLAIN);
		mt_operand(&t, 2, b, 2, db, MT_PLAIN);
		memset(image + (t.task.op[1].addr - MT_BASE), va, 3 * 65536);
		memset(image + (t.task.op[2].addr - MT_BASE), vb, 2 * 65536);
		memcpy(t.task.params, &one, 4);
		if (za || zb) {
			t.task.op[1].quant = t.task.op[2].quant = UMA_QUANT_TENSOR;
			t.task.op[1].scale = t.task.op[2].scale = mt_bits(1);
			t.task.op[1].zero = (uint32_t)za;
			t.task.op[2].zero = (uint32_t)zb;
		}
		memcpy(packed, image, MT_SIZE);
		bad += mt_run(&t.task, e, &v, packed, &f) ||
			ref_check(&t.task, image, packed, MT_SIZE, why, sizeof(why));
	}
	tap_ok(!bad, "K of 65536: types %d x %d -> %d, %u by %u, zeros %d %d %s", a, b, d, va,
	       vb, za, zb, why);
}

int main(void)
{
	static const int floats[] = { F32, F16, BF16 };
	int i, j;

	for (i = 0; i < 3; i++) {
		pack_and_use(floats[i], floats[i], F32);
		for (j = S8; j <= U4; j++)
			pack_and_use(floats[i], j, floats[i]);
	}
	for (i = S8; i <= U8; i++)
		for (j = S8; j <= U8; j++) {
			pack_and_use(i, j, S32);
			pack_and_use(i, j, F16);
		}
	test_header();
	test_dynamic();
	test_length();
	test_experts_of_nothing();
	test_unmapped();
	test_large_sums(U8, U8, 255, 255, 0, 0, S32);
	test_large_sums(U8, U8, 255, 255, 0, 0, F32);
	test_large_sums(U8, U8, 255, 255, 255, 0, S32);
	test_large_sums(U8, U8, 255, 0, 0, 255, S32);
	test_large_sums(S8, S8, 0x80, 0x80, 127, 127, S32);
	test_large_sums(S8, S8, 0x80, 0x7f, 127, -128, F32);
	test_large_sums(U8, S8, 255, 0x80, 0, 127, S32);
	return tap_done();
}

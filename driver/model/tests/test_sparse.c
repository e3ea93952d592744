// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Right matrices with two of four: PACK keeps what the layout's definition says,
 * a GEMM gives the same bits as with the whole matrix that has zeros in place of
 * the rest, and no contents of the operand lead anywhere else.
 */
#include <string.h>

#include "gen.h"
#include "tap.h"

static uint8_t image[MT_SIZE], sparse[MT_SIZE], dense[MT_SIZE];

static const uint32_t classes[] = { UMA_ENGINE_MATRIX, UMA_ENGINE_GPU, UMA_ENGINE_NEURAL };

static int bits_of(int d)
{
	return d == F32 ? 32 : d == F16 || d == BF16 ? 16 : d <= U8 ? 8 : 4;
}

static const struct uma_op_cap *pack_row(const struct uma_engine_desc *e, int dtype)
{
	uint32_t i;

	for (i = 0; i < e->cap_count; i++)
		if (e->caps[i].opcode == UMA_OP_PACK && e->caps[i].a_dtypes >> dtype & 1)
			return &e->caps[i];
	abort();
}

/* --- elements as bits ------------------------------------------------------- */

/* An element of a strided operand: its place and, of nibbles, which. */
static uint8_t *place(uint8_t *mem, const struct uma_operand *o, const uint32_t *idx, int *high)
{
	int64_t off = 0;
	int d;

	for (d = 0; d < o->rank; d++)
		off += (int64_t)idx[d] * (int64_t)o->strides[d];
	*high = (int)(off & 1);
	return mem + (o->addr - MT_BASE) +
	       (bits_of(o->dtype) == 4 ? off >> 1 : off * (bits_of(o->dtype) / 8));
}

static uint32_t get(const uint8_t *p, int bits, int high)
{
	uint32_t v = 0;

	if (bits == 4)
		return high ? *p >> 4 : *p & 15;
	memcpy(&v, p, (size_t)bits / 8);
	return v;
}

static void clear(uint8_t *p, int bits, int high)
{
	if (bits == 4)
		*p &= high ? 15 : 0xf0;
	else
		memset(p, 0, (size_t)bits / 8);
}

/* Order of magnitudes; NaN is the largest. */
static uint32_t magnitude(int dtype, uint32_t v)
{
	switch (dtype) {
	case S8:
		return (uint32_t)abs((int8_t)v);
	case S4:
		return v < 8 ? v : 16 - v;
	case F32:
		return v & 0x7fffffff;
	case F16:
	case BF16:
		return v & 0x7fff;
	default:
		return v;
	}
}

/* The two that stay of four, in order: once for each, the largest that is left. */
static void chosen(int dtype, const uint32_t *v, int *first, int *second)
{
	int taken[4] = { 0 }, round, i, best;

	for (round = 0; round < 2; round++) {
		for (best = -1, i = 0; i < 4; i++)
			if (!taken[i] && (best < 0 || magnitude(dtype, v[i]) >
					  magnitude(dtype, v[best])))
				best = i;
		taken[best] = 1;
	}
	for (*first = 0; !taken[*first]; ++*first)
		;
	for (*second = *first + 1; !taken[*second]; ++*second)
		;
}

/* --- the definition ------------------------------------------------------------ */

struct layout {
	uint32_t bk, bn, groups;
	uint64_t panel, blocks;
};

static void layout_of(const struct uma_operand *b, const struct uma_op_cap *cap, struct layout *l)
{
	uint32_t k = b->dims[b->rank - 2];

	l->bk = cap->block_k;
	l->bn = cap->block_n;
	l->groups = (k + 3) / 4;
	l->blocks = (2 * l->groups + l->bk - 1) / l->bk * l->bk * (uint64_t)l->bn *
		    (uint64_t)bits_of(b->dtype) / 8;
	l->panel = l->blocks + (l->groups * l->bn / 2 + 63) / 64 * 64;
}

/*
 * Hold the packed operand against @b column by column, and put zeros into @b
 * where elements are left out. Returns how many places are wrong.
 */
static int check_column(const struct layout *l, const uint8_t *panel, uint8_t *mem,
			const struct uma_operand *b, uint32_t *idx, uint32_t col)
{
	int bits = bits_of(b->dtype), bad = 0, high, keep[2], i;
	uint32_t r = b->rank, g;
	uint8_t *at;

	for (g = 0; g < l->groups; g++) {
		const uint8_t *byte = panel + l->blocks + (g * l->bn + col) / 2;
		uint32_t nibble = col & 1 ? *byte >> 4 : *byte & 15, v[4] = { 0 };

		for (i = 0; i < 4; i++) {
			idx[r - 2] = 4 * g + (uint32_t)i;
			if (idx[r - 2] >= b->dims[r - 2] || idx[r - 1] >= b->dims[r - 1])
				continue;
			at = place(mem, b, idx, &high);
			v[i] = get(at, bits, high);
		}
		chosen(b->dtype, v, &keep[0], &keep[1]);
		bad += nibble != (uint32_t)(keep[0] | keep[1] << 2);
		for (i = 0; i < 2; i++) {
			uint32_t k = 2 * g + (uint32_t)i, in = k % l->bk, half = l->bk / 2;
			uint64_t e = (uint64_t)(k / l->bk) * l->bk * l->bn + col * l->bk;
			const uint8_t *p = panel + (e + in) * (uint64_t)bits / 8;

			if (bits == 4)
				p = panel + e / 2 + in % half;
			bad += get(p, bits, bits == 4 && in >= half) != v[keep[i]];
		}
		for (i = 0; i < 4; i++) {
			idx[r - 2] = 4 * g + (uint32_t)i;
			if (i == keep[0] || i == keep[1] || idx[r - 2] >= b->dims[r - 2] ||
			    idx[r - 1] >= b->dims[r - 1])
				continue;
			at = place(mem, b, idx, &high);
			clear(at, bits, high);
		}
	}
	return bad;
}

static int check_layout(const struct uma_operand *b, const struct uma_op_cap *cap,
			uint64_t addr, uint8_t *mem)
{
	uint32_t idx[UMA_MAX_RANK], r = b->rank, panels, n, i;
	const uint8_t *p = mem + (addr - MT_BASE) + 64;
	uint64_t batches = 1, batch, rest;
	struct layout l;
	int bad = 0;

	layout_of(b, cap, &l);
	panels = (b->dims[r - 1] + l.bn - 1) / l.bn;
	for (i = 0; i + 2 < r; i++)
		batches *= b->dims[i];
	for (batch = 0; batch < batches; batch++) {
		for (rest = batch, i = r - 2; i-- > 0; rest /= b->dims[i])
			idx[i] = (uint32_t)(rest % b->dims[i]);
		for (n = 0; n < panels * l.bn; n++) {
			idx[r - 1] = n;
			bad += check_column(&l, p + (batch * panels + n / l.bn) * l.panel, mem,
					    b, idx, n % l.bn);
		}
	}
	return bad;
}

/* --- products --------------------------------------------------------------------- */

/* B in a place of its own, without zero points and minima. */
static void settle(struct mt_task *t)
{
	struct uma_operand *b = &t->task.op[UMA_SLOT_B], old = *b;
	uint32_t dims[UMA_MAX_RANK];

	memcpy(dims, old.dims, sizeof(dims));
	mt_operand(t, UMA_SLOT_B, old.dtype, old.rank, dims, MT_PLAIN);
	memcpy(&b->quant, &old.quant, sizeof(*b) - offsetof(struct uma_operand, quant));
	b->zero = 0;
	b->zero_addr = 0;
	if (b->quant == UMA_QUANT_GROUP_MIN)
		b->quant = UMA_QUANT_GROUP;
}

static uint64_t size_of(const struct uma_operand *o, const struct uma_op_cap *cap)
{
	struct uma_tensor_view v = { .dtype = o->dtype, .rank = o->rank };

	memcpy(v.dims, o->dims, sizeof(v.dims));
	return uma_packed_size(&v, UMA_LAYOUT_GEMM_B24, cap->block_k, cap->block_n);
}

static void make_pack(const struct mt_task *gemm, uint64_t addr, struct uma_task *t)
{
	memset(t, 0, sizeof(*t));
	t->version = UMA_TASK_VERSION;
	t->opcode = UMA_OP_PACK;
	t->slots = 3;
	t->op[1] = gemm->task.op[UMA_SLOT_B];
	memset(&t->op[1].quant, 0, sizeof(t->op[1]) - offsetof(struct uma_operand, quant));
	t->op[0] = t->op[1];
	t->op[0].layout = UMA_LAYOUT_GEMM_B24;
	memset(t->op[0].strides, 0, sizeof(t->op[0].strides));
	t->op[0].addr = addr;
}

static int said(const char *what, const struct uma_fault_info *f)
{
	printf("# %s: %s slot %u %s\n", what, uma_fault_name(f->reason), f->slot, f->field);
	return 1;
}

static int one_case(struct mt_task *t, const struct gen_types *c, int i,
		    const struct uma_kernels *k)
{
	static const uint32_t steps[] = { UMA_STEP_WORK_UNBOUND, 1, UMA_STEP_WORK_KERNEL };
	static const uint32_t pages[] = { 0, 64, 4096 };
	const struct uma_engine_desc *e = mt_engine("full", classes[i % 3]);
	const struct uma_op_cap *cap = pack_row(e, c->b);
	struct mt_variant v = { k, steps[i / 3 % 3], pages[i / 9 % 3] };
	struct uma_fault_info f;
	struct uma_task p;
	uint64_t addr;
	int bad;

	memset(image, 0x77, sizeof(image));
	mt_task_init(t, image, 9000ull * (uint64_t)c->a + 700ull * (uint64_t)c->b +
		     10ull * (uint64_t)c->d + 7001ull * (uint64_t)i, UMA_OP_GEMM);
	gen_gemm(t, c);
	settle(t);
	if (i % 4 == 3)
		mt_contents(t, UMA_SLOT_B, 1);
	addr = mt_alloc(t, size_of(&t->task.op[UMA_SLOT_B], cap), 64);
	make_pack(t, addr, &p);
	if (mt_run(&p, e, &v, image, &f))
		return said("pack", &f);
	memcpy(sparse, image, MT_SIZE);
	/* From here on B has zeros. */
	bad = check_layout(&t->task.op[UMA_SLOT_B], cap, addr, image);
	if (bad)
		printf("# case %d: %d places are wrong\n", i, bad);
	memcpy(dense, image, MT_SIZE);
	if (mt_run(&t->task, e, &v, dense, &f))
		return said("dense", &f);
	p = t->task;
	p.op[UMA_SLOT_B].layout = UMA_LAYOUT_GEMM_B24;
	p.op[UMA_SLOT_B].addr = addr;
	memset(p.op[UMA_SLOT_B].strides, 0, 40);
	memcpy(sparse, image, MT_SIZE);
	if (mt_run(&p, e, &v, sparse, &f))
		return said("sparse", &f);
	if (memcmp(sparse, dense, MT_SIZE)) {
		printf("# case %d: other bits\n", i);
		bad++;
	}
	/* Whatever the payload holds, it runs, and writes nothing but the result. */
	mt_contents(t, UMA_SLOT_B, 0);
	for (addr += 64; addr < MT_BASE + t->used; addr++)
		sparse[addr - MT_BASE] = (uint8_t)mt_rand(&t->rng);
	if (mt_run(&p, e, &v, sparse, &f))
		return said("hostile", &f);
	return bad;
}

static void products(int a, int b, int d)
{
	struct gen_types c = { a, b, d };
	const struct uma_kernels *const *k;
	static struct mt_task t;
	int i, bad = 0;

	for (k = mt_kernels(); *k; k++)
		for (i = 0; i < 28; i++)
			bad += one_case(&t, &c, i, *k) != 0;
	tap_ok(!bad, "types %d x %d -> %d: two of four like the whole", a, b, d);
}

/* --- refusals ------------------------------------------------------------------------ */

static void refused(const char *what, const struct uma_task *t, const char *profile,
		    uint32_t reason, uint32_t slot, const char *field)
{
	struct mt_variant v = { uma_kernels_portable(), UMA_STEP_WORK_UNBOUND, 0 };
	struct uma_fault_info f = { 0 };
	int r;

	memcpy(sparse, image, MT_SIZE);
	r = mt_run(t, mt_engine(profile, UMA_ENGINE_MATRIX), &v, sparse, &f);
	tap_ok(r && f.reason == reason && f.slot == slot && !strcmp(f.field, field) &&
	       !memcmp(sparse, image, MT_SIZE), "%s: %s", what, field);
}

static void test_refused(void)
{
	static const uint32_t da[] = { 5, 9 }, db[] = { 9, 6 }, dd[] = { 5, 6 };
	static struct mt_task t;
	struct mt_variant v = { uma_kernels_portable(), UMA_STEP_WORK_UNBOUND, 0 };
	struct uma_fault_info f;
	struct uma_task p, g;
	uint64_t addr;
	float one = 1;

	mt_task_init(&t, image, 5, UMA_OP_GEMM);
	mt_operand(&t, 0, F32, 2, dd, MT_PLAIN);
	mt_operand(&t, 1, S8, 2, da, MT_PLAIN);
	mt_operand(&t, 2, S8, 2, db, MT_PLAIN);
	mt_quant(&t, 2, UMA_QUANT_TENSOR, 0, 0, 0);
	memcpy(t.task.params, &one, 4);
	addr = mt_alloc(&t, 4096, 64);
	make_pack(&t, addr, &p);
	g = t.task;
	g.op[2].layout = UMA_LAYOUT_GEMM_B24;
	g.op[2].addr = addr;
	memset(g.op[2].strides, 0, 40);
	refused("nothing was packed", &g, "full", UMA_FAULT_LAYOUT, 2, "packed.magic");
	refused("an engine that has it not, PACK", &p, "m1", UMA_FAULT_UNSUPPORTED, 0, "layout");
	refused("an engine that has it not", &g, "m1", UMA_FAULT_UNSUPPORTED, 2, "layout");
	mt_run(&p, mt_engine("full", UMA_ENGINE_MATRIX), &v, image, &f);
	g.op[2].layout = UMA_LAYOUT_GEMM_B;
	refused("two of four taken for the whole", &g, "full", UMA_FAULT_LAYOUT, 2,
		"packed.layout");
	g.op[2].layout = UMA_LAYOUT_GEMM_B24;
	g.op[2].zero = 1;
	refused("a zero point", &g, "full", UMA_FAULT_QUANT, 2, "zero");
	g.op[2].zero = 0;
	g.op[2].scale = 0;
	g.op[2].quant = UMA_QUANT_CHANNEL;
	g.op[2].quant_axis = 1;
	g.op[2].scale_dtype = F32;
	g.op[2].scale_addr = addr + 1024;
	g.op[2].zero_addr = addr + 2048;
	refused("zero points", &g, "full", UMA_FAULT_QUANT, 2, "zero_addr");
	g.op[2].quant = UMA_QUANT_GROUP_MIN;
	g.op[2].quant_axis = 0;
	g.op[2].quant_group = 16;
	refused("minima", &g, "full", UMA_FAULT_QUANT, 2, "zero_addr");
	p.op[0].layout = UMA_LAYOUT_COUNT;
	refused("no layout", &p, "full", UMA_FAULT_LAYOUT, 0, "layout");
}

int main(void)
{
	static const int floats[] = { F32, F16, BF16 };
	int i, b;

	for (i = 0; i < 3; i++) {
		products(floats[i], floats[i], F32);
		for (b = S8; b <= U4; b++)
			products(floats[i], b, F32);
	}
	for (b = S8; b <= U4; b++) {
		products(S8, b, S32);
		products(U8, b, F32);
	}
	test_refused();
	return tap_done();
}

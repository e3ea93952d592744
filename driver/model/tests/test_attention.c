// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Attention: the same bits whatever the steps and the pages of memory, nothing
 * written but the results, and tables whose contents lie. What the numbers are
 * is held against the oracle of libaccel's test_attention.
 *
 * Cases are drawn from a seed: "test_attention CASE" repeats one.
 */
#include <stdlib.h>
#include <string.h>

#include "gen.h"
#include "tap.h"

static uint8_t image[MT_SIZE], first[MT_SIZE], result[MT_SIZE], written[MT_SIZE];

static void mark(const struct uma_operand *o, uint32_t dim, int64_t off)
{
	static const uint8_t bytes[] = { 0, 4, 2, 2, 0, 1, 1 };
	uint32_t i;

	if (dim == o->rank || dim == UMA_MAX_RANK) {
		memset(written + (o->addr - MT_BASE) + off * bytes[o->dtype], 1,
		       bytes[o->dtype]);
		return;
	}
	for (i = 0; i < o->dims[dim]; i++)
		mark(o, dim + 1, off + (int64_t)o->strides[dim] * i);
}

/* Bytes that are neither DST nor a partial result. */
static int check_around(const struct uma_task *t, uint32_t size)
{
	uint32_t i;

	memset(written, 0, size);
	mark(&t->op[UMA_SLOT_DST], 0, 0);
	if (t->slots >> UMA_SLOT_RESIDUAL & 1)
		mark(&t->op[UMA_SLOT_RESIDUAL], 0, 0);
	for (i = 0; i < size; i++)
		if (!written[i] && image[i] != first[i]) {
			printf("# byte at offset %u was written\n", i);
			return -1;
		}
	return 0;
}

static int run_case(const struct mt_task *t, uint32_t number)
{
	static const uint32_t steps[] = { 1, 3000, 40000, UMA_STEP_WORK_KERNEL, 1u << 21 };
	static const uint32_t pages[] = { 0, 64, 4096 };
	const struct uma_engine_desc *engine = mt_engine("full", number % 3);
	const struct uma_kernels *const *k;
	struct mt_rng rng = { .s = number };
	const uint32_t size = mt_size(t);
	struct uma_fault_info f;
	int i;

	for (k = mt_kernels(); *k; k++) {
		struct mt_variant v = {
			.kernels = *k, .step_work = UMA_STEP_WORK_UNBOUND, .size = size,
		};

		memcpy(first, image, size);
		if (mt_run(&t->task, engine, &v, first, &f)) {
			printf("# fault %s slot %u field %s\n", uma_fault_name(f.reason), f.slot,
			       f.field);
			return 1;
		}
		if (check_around(&t->task, size))
			return 1;
		for (i = 0; i < 3; i++) {
			v.step_work = steps[mt_below(&rng, 5)];
			v.page = pages[mt_below(&rng, 3)];
			memcpy(result, image, size);
			if (mt_run(&t->task, engine, &v, result, &f) ||
			    memcmp(first, result, size)) {
				printf("# %s: other bits with steps of %u and pages of %u\n",
				       (*k)->name, v.step_work, v.page);
				return 1;
			}
		}
	}
	return 0;
}

static uint32_t only, counter;

static int cases(uint32_t flags, uint32_t also, uint32_t count)
{
	static struct mt_task t;
	uint32_t i, has;
	int bad = 0;

	for (i = 0; i < count; i++) {
		counter++;
		if (only && counter != only)
			continue;
		memset(image, 0x5a, sizeof(image));
		mt_task_init(&t, image, 0xa77e0000ULL + counter * 7919ULL, UMA_OP_ATTENTION);
		has = flags | (mt_rand(&t.rng) & mt_rand(&t.rng) & also);
		gen_attention(&t, has);
		if (run_case(&t, counter)) {
			printf("# reproduce: test_attention %u (features %x)\n", counter, has);
			bad++;
		}
	}
	return bad;
}

/* --- tables that lie ----------------------------------------------------------- */

static void poke(const struct uma_task *t, int slot, uint32_t i, uint32_t j, int32_t v)
{
	const struct uma_operand *o = &t->op[slot];
	int64_t off = (int64_t)o->strides[0] * i + (int64_t)o->strides[1] * j;

	memcpy(result + (o->addr - MT_BASE) + off * 4, &v, 4);
}

static void expect(const char *what, const struct uma_task *t, int slot, const char *field)
{
	struct mt_variant v = {
		.kernels = uma_kernels_portable(), .step_work = UMA_STEP_WORK_KERNEL
	};
	struct uma_fault_info f = { 0 };
	int r = mt_run(t, mt_engine("full", UMA_ENGINE_GPU), &v, result, &f);
	int ok = slot < 0 ? !r : r < 0 && f.reason == UMA_FAULT_RANGE &&
		 f.slot == (uint32_t)slot && !strcmp(f.field, field) &&
		 f.addr >= t->op[slot].addr;

	tap_ok(ok, "%s", what);
	if (!ok)
		printf("# %d: fault %s slot %u field %s\n", r, uma_fault_name(f.reason), f.slot,
		       f.field ? f.field : "");
	memcpy(result, image, MT_SIZE);
}

/* Two sequences of up to 12 keys in pages of 4, three queries. */
static void make_paged(struct mt_task *t, uint32_t columns)
{
	const uint32_t q[] = { columns > 2 ? 1 : 2, columns > 2 ? 6 : 3, 2, 8 };
	const uint32_t kv[] = { 5, 4, 1, 8 }, table[] = { 2, 3 }, len[] = { 2, columns };
	uint32_t flags = UMA_ATTN_PAGED | UMA_ATTN_LENGTHS | UMA_ATTN_CAUSAL;
	uint32_t i, j;

	memset(image, 0, sizeof(image));
	mt_task_init(t, image, 3, UMA_OP_ATTENTION);
	mt_operand(t, UMA_SLOT_DST, F32, 4, q, MT_PLAIN);
	mt_operand(t, UMA_SLOT_A, F32, 4, q, MT_PLAIN);
	mt_operand(t, UMA_SLOT_B, F32, 4, kv, MT_PLAIN);
	mt_operand(t, UMA_SLOT_C, F32, 4, kv, MT_PLAIN);
	mt_operand(t, UMA_SLOT_AUX1, S32, 2, table, MT_PLAIN);
	mt_operand(t, UMA_SLOT_AUX2, S32, 2, len, MT_PLAIN);
	if (columns > 2) {
		flags |= UMA_ATTN_RAGGED;
		memcpy(t->task.params + 28, &(uint32_t){ 3 }, 4);
	}
	memcpy(t->task.params, &flags, 4);
	memcpy(t->task.params + 4, &(float){ 0.5f }, 4);
	memcpy(result, image, MT_SIZE);
	for (i = 0; i < 2; i++) {
		const int32_t row[] = { 12, 3, 3 * (int32_t)i };

		for (j = 0; j < 3; j++)
			poke(&t->task, UMA_SLOT_AUX1, i, j, (int32_t)(i + j));
		for (j = 0; j < columns; j++)
			poke(&t->task, UMA_SLOT_AUX2, i, j, row[j]);
	}
	memcpy(image, result, MT_SIZE);
}

static void test_lies(void)
{
	static struct mt_task t;
	struct uma_task window;
	uint32_t flags, left = 2;

	make_paged(&t, 2);
	expect("as it should be", &t.task, -1, "");
	poke(&t.task, UMA_SLOT_AUX1, 1, 2, 5);
	expect("a page behind the last", &t.task, UMA_SLOT_AUX1, "pages");
	poke(&t.task, UMA_SLOT_AUX1, 0, 0, -1);
	expect("a page before the first", &t.task, UMA_SLOT_AUX1, "pages");
	poke(&t.task, UMA_SLOT_AUX1, 0, 1, INT32_MIN);
	expect("the least page", &t.task, UMA_SLOT_AUX1, "pages");
	poke(&t.task, UMA_SLOT_AUX1, 1, 2, -1);
	poke(&t.task, UMA_SLOT_AUX2, 1, 0, 8);
	expect("a page behind the keys is not looked at", &t.task, -1, "");
	poke(&t.task, UMA_SLOT_AUX1, 1, 2, -1);
	poke(&t.task, UMA_SLOT_AUX2, 1, 0, 9);
	expect("that of the last key is", &t.task, UMA_SLOT_AUX1, "pages");

	window = t.task;
	memcpy(&flags, window.params, 4);
	flags |= UMA_ATTN_WINDOW;
	memcpy(window.params, &flags, 4);
	memcpy(window.params + 12, &left, 4);
	/* Queries at 9 to 11 see keys from 7 on. */
	poke(&window, UMA_SLOT_AUX1, 0, 0, -1);
	expect("a page before the window is not looked at", &window, -1, "");
	poke(&window, UMA_SLOT_AUX1, 0, 1, -1);
	expect("that of the window's first key is", &window, UMA_SLOT_AUX1, "pages");
	memcpy(window.params + 20, &(uint32_t){ 1 }, 4);
	poke(&window, UMA_SLOT_AUX1, 0, 0, -1);
	expect("that of a key that is kept is", &window, UMA_SLOT_AUX1, "pages");

	poke(&t.task, UMA_SLOT_AUX2, 0, 0, 13);
	expect("more keys than pages", &t.task, UMA_SLOT_AUX2, "lengths");
	poke(&t.task, UMA_SLOT_AUX2, 0, 0, -1);
	expect("less than no keys", &t.task, UMA_SLOT_AUX2, "lengths");
	poke(&t.task, UMA_SLOT_AUX2, 1, 1, 4);
	expect("more queries than there are", &t.task, UMA_SLOT_AUX2, "lengths");
	poke(&t.task, UMA_SLOT_AUX2, 1, 1, INT32_MIN);
	expect("less than no queries", &t.task, UMA_SLOT_AUX2, "lengths");

	make_paged(&t, 3);
	expect("ragged, as it should be", &t.task, -1, "");
	poke(&t.task, UMA_SLOT_AUX2, 1, 2, 2);
	expect("a sequence that starts in the one before", &t.task, UMA_SLOT_AUX2, "lengths");
	poke(&t.task, UMA_SLOT_AUX2, 1, 2, 4);
	expect("a sequence that ends behind the last row", &t.task, UMA_SLOT_AUX2, "lengths");
	poke(&t.task, UMA_SLOT_AUX2, 0, 2, -1);
	expect("a sequence that starts before the first", &t.task, UMA_SLOT_AUX2, "lengths");
	poke(&t.task, UMA_SLOT_AUX2, 0, 2, INT32_MAX);
	expect("a sequence that starts far behind the last", &t.task, UMA_SLOT_AUX2, "lengths");
}

/* --- the running softmax, of every set of kernels --------------------------------- */

static int soft_same(const struct uma_kernels *k, uint32_t n, struct mt_rng *rng)
{
	struct uma_soft_state want = { mt_bits(-1), mt_bits(1), 0 }, got = want;
	float a[130], b[130];
	uint32_t i;

	for (i = 0; i < n; i++)
		a[i] = b[i] = mt_one_in(rng, 5) ? mt_float(0xff800000) :
			      ((float)mt_below(rng, 2001) - 1000) / 100;
	uma_kernels_portable()->soft_row(&want, a, n);
	k->soft_row(&got, b, n);
	return !memcmp(&want, &got, sizeof(want)) && !memcmp(a, b, 4 * n);
}

static void test_soft_row(void)
{
	const struct uma_kernels *const *k;
	struct uma_soft_state state = { mt_bits(-__builtin_inff()), 0, 0 };
	struct mt_rng rng = { .s = 9 };
	float x[20];
	uint32_t n;
	int ok;

	for (k = mt_kernels(); *k; k++) {
		for (n = 0, ok = 1; n <= 130 && ok; n++)
			ok = soft_same(*k, n, &rng);
		tap_ok(ok, "%s: the same bits as portable", (*k)->name);
		for (n = 0; n < 20; n++)
			x[n] = -__builtin_inff();
		(*k)->soft_row(&state, x, 20);
		ok = !state.sum && state.max == mt_bits(-__builtin_inff());
		for (n = 0; n < 20; n++)
			ok &= !mt_bits(x[n]);
		tap_ok(ok, "%s: nothing but minus infinity weighs nothing", (*k)->name);
	}
}

int main(int argc, char **argv)
{
	uint32_t f;

	if (argc > 1)
		only = (uint32_t)atoi(argv[1]);
	for (f = 1; f <= UMA_ATTN_SPLIT; f *= 2) {
		/* Sequences one after the other have lengths. */
		uint32_t with = f == UMA_ATTN_RAGGED ? UMA_ATTN_LENGTHS : 0;

		tap_ok(!cases(f | with, 0, 30), "feature %x", f);
	}
	tap_ok(!cases(0, UMA_ATTN_FLAGS_MASK, 400), "features at random");
	if (!only) {
		test_lies();
		test_soft_row();
	}
	return tap_done();
}

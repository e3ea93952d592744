// SPDX-License-Identifier: MIT
/*
 * Products of blocks by AMX tiles, with the tile instructions in C: shapes with
 * all kinds of edges, both widths of panels, against plain sums. Operands end
 * where they end, so the address sanitizer sees what is read beyond them.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

/* Of binary32, with what is of second order */
#define ROUNDOFF	(1.001 / (1 << 24))

#include "amx_soft.h"
#include "libaccel/sw/fast/amx_block.h"

static uint64_t rng = 1;

static uint32_t below(uint32_t n)
{
	rng = rng * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(rng >> 33) % n;
}

/**
 * struct amx_case - a product and its operands
 * @g: what is asked
 * @type: &enum amx_type
 * @bn: columns of a panel as stored: 16, or 32 for two at once
 * @n: whole panels, columns
 * @a: A
 * @b: B, row by row of VNNI
 * @c: result
 * @c0: what was there before
 */
struct amx_case {
	struct amx_product g;
	int type;
	uint32_t bn;
	uint32_t n;
	uint8_t *a;
	uint8_t *b;
	uint8_t *c;
	uint8_t *c0;
};

static float half_at(const uint8_t *p)
{
	return soft_bf16(p);
}

static void put_half(uint8_t *p)
{
	float f = (float)((int32_t)below(4001) - 2000) / 1000.0f;
	uint32_t bits;

	memcpy(&bits, &f, 4);
	p[0] = (uint8_t)(bits >> 16);
	p[1] = (uint8_t)(bits >> 24);
}

static void fill(uint8_t *p, uint64_t bytes, int type)
{
	uint64_t i;

	if (type == AMX_BF16)
		for (i = 0; i + 1 < bytes; i += 2)
			put_half(p + i);
	else
		for (i = 0; i < bytes; i++)
			p[i] = (uint8_t)below(256);
}

static uint8_t *filled(uint64_t bytes, int type)
{
	uint8_t *p = malloc(bytes);

	assert_non_null(p);
	fill(p, bytes, type);
	return p;
}

/* The 4 bytes of column @j of B that belong to bytes 4 @r on of K. */
static uint8_t *of_b(const struct amx_case *t, uint32_t r, uint32_t j)
{
	return t->b + (j / 32) * t->g.b_ns + (j % 32 / 16) * t->g.b_odd + r * t->g.b_ks +
	       j % 16 * 4;
}

static void make_b(struct amx_case *t)
{
	const uint32_t rows = (t->g.k + 3) / 4;
	const uint64_t panel = (uint64_t)rows * t->bn * 4;
	uint32_t r, j, d;

	if (t->bn == 32) {
		t->g.b_ks = 128;
		t->g.b_odd = 64;
		t->g.b_ns = (int64_t)panel;
	} else {
		t->g.b_ks = 64;
		t->g.b_odd = (int64_t)panel;
		t->g.b_ns = 2 * (int64_t)panel;
	}
	t->b = filled((t->n + t->bn - 1) / t->bn * panel, t->type);
	t->g.b = t->b;
	/* Elements beyond the matrix are zero. */
	for (j = 0; j < t->n; j++)
		for (r = 0; r < rows; r++)
			for (d = 0; d < 4; d++)
				if (4 * r + d >= t->g.k)
					of_b(t, r, j)[d] = 0;
}

static void make(struct amx_case *t)
{
	static const uint16_t ks[] = { 1, 2, 3, 4, 31, 60, 63, 64, 65, 127, 128, 192, 200, 320 };
	const uint32_t pad = below(2) ? 2 * below(5) : 0;

	t->g.m = 1 + below(70);
	t->g.panels = 1 + below(5);
	t->g.k = ks[below(sizeof(ks) / sizeof(ks[0]))];
	if (t->type == AMX_BF16)
		t->g.k = (t->g.k + 1) & ~1u;
	t->g.kc = 64 * (1 + below(3));
	t->g.accumulate = below(2);
	t->bn = below(2) ? 16 : 32;
	t->n = 16 * t->g.panels;
	t->g.a_ms = t->g.k + (t->type == AMX_BF16 ? pad : pad / 2);
	t->a = filled((uint64_t)t->g.a_ms * (t->g.m - 1) + t->g.k, t->type);
	t->g.a = t->a;
	make_b(t);
	t->g.c_ms = 4 * t->n + 64 * below(2);
	t->c = calloc(t->g.m, (size_t)t->g.c_ms);
	assert_non_null(t->c);
	if (t->type != AMX_BF16)
		fill(t->c, (uint64_t)t->g.c_ms * t->g.m, t->type);
	t->c0 = malloc((size_t)t->g.c_ms * t->g.m);
	assert_non_null(t->c0);
	memcpy(t->c0, t->c, (size_t)t->g.c_ms * t->g.m);
	t->g.c = t->c;
}

static void check_bytes(const struct amx_case *t, uint32_t i, uint32_t j)
{
	const int as = t->type == AMX_SS || t->type == AMX_SU;
	const int bs = t->type == AMX_SS || t->type == AMX_US;
	const uint64_t at = (uint64_t)i * t->g.c_ms + j * 4;
	uint32_t want = 0, got, k;

	if (t->g.accumulate)
		memcpy(&want, t->c0 + at, 4);
	memcpy(&got, t->c + at, 4);
	for (k = 0; k < t->g.k; k++)
		want += (uint32_t)(soft_byte(t->a[i * t->g.a_ms + k], as) *
				   soft_byte(of_b(t, k / 4, j)[k % 4], bs));
	if (got != want)
		fail_msg("type %d, %u x %u x %u by %u: (%u, %u) is %u and not %u", t->type, t->g.m,
			 t->n, t->g.k, t->g.kc, i, j, got, want);
}

static void check_halves(const struct amx_case *t, uint32_t i, uint32_t j)
{
	double want = 0, size = 0, term;
	uint32_t k;
	float got;

	memcpy(&got, t->c + (uint64_t)i * t->g.c_ms + j * 4, 4);
	for (k = 0; k < t->g.k; k += 2) {
		term = (double)half_at(t->a + i * t->g.a_ms + k) *
		       (double)half_at(of_b(t, k / 4, j) + k % 4);
		want += term;
		size += fabs(term);
	}
	if (!(fabs((double)got - want) <= t->g.k / 2 * ROUNDOFF * size))
		fail_msg("%u x %u x %u by %u: (%u, %u) is %a and not %a", t->g.m, t->n, t->g.k,
			 t->g.kc, i, j, (double)got, want);
}

static void check(const struct amx_case *t)
{
	uint32_t i, j;

	for (i = 0; i < t->g.m; i++) {
		for (j = 0; j < t->n; j++) {
			if (t->type == AMX_BF16)
				check_halves(t, i, j);
			else
				check_bytes(t, i, j);
		}
		/* What lies between rows stays. */
		if (memcmp(t->c + i * t->g.c_ms + 4 * t->n, t->c0 + i * t->g.c_ms + 4 * t->n,
			   (size_t)t->g.c_ms - 4 * t->n) != 0)
			fail_msg("bytes behind row %u were written", i);
	}
}

static void run(struct amx_case *t)
{
	switch (t->type) {
	case AMX_SS:
		amx_product_of(&t->g, AMX_SS);
		break;
	case AMX_SU:
		amx_product_of(&t->g, AMX_SU);
		break;
	case AMX_US:
		amx_product_of(&t->g, AMX_US);
		break;
	case AMX_UU:
		amx_product_of(&t->g, AMX_UU);
		break;
	default:
		amx_product_of(&t->g, AMX_BF16);
		break;
	}
	_tile_release();
}

static void cases(int type)
{
	uint32_t i;

	for (i = 0; i < 150; i++) {
		struct amx_case t = { .type = type };

		make(&t);
		run(&t);
		check(&t);
		free(t.a);
		free(t.b);
		free(t.c);
		free(t.c0);
	}
}

static void test_bytes(void **state)
{
	int type;

	(void)state;
	for (type = AMX_SS; type <= AMX_UU; type++)
		cases(type);
}

static void test_halves(void **state)
{
	(void)state;
	cases(AMX_BF16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_halves),
	};

	return cmocka_run_group_tests_name("AMX", tests, NULL, NULL);
}

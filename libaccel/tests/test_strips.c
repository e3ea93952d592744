// SPDX-License-Identifier: MIT
/*
 * The inner products of blocks that tuned operations are made of, each kind on
 * each level of kernels that this processor has, against plain sums. Operands end
 * where they end, for the address sanitizer.
 *
 * No device and no library of others: it is built for other processors as well.
 */
#include <math.h>
#include <string.h>

#include "driver/model/tests/tap.h"
#include "libaccel/sw/kernels/gemm/gemm_isa.h"
#include "libaccel/sw/sw.h"

#define CASES	150
/* Of binary32, with what is of second order */
#define ROUNDOFF	(1.001 / (1 << 24))

static uint64_t rng = 1;

static uint32_t below(uint32_t n)
{
	rng = rng * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(rng >> 33) % n;
}

static const char *const kind_name[FAST_GEMM_KINDS] = {
	[FAST_GEMM_F32] = "f32", [FAST_GEMM_BF16] = "bf16", [FAST_GEMM_I8S] = "s8 by bytes",
	[FAST_GEMM_I8U] = "u8 by bytes", [FAST_GEMM_S16] = "s16",
	[FAST_GEMM_I8SS] = "s8 by s8", [FAST_GEMM_I8UU] = "u8 by u8",
};

/**
 * struct strip_case - a strip and its operands
 * @s: what is asked
 * @kind: &enum fast_gemm_kind
 * @size: bytes of an element of A and B
 * @group: elements of K in a group
 * @a: memory of A
 * @b: memory of B
 * @c: result
 * @c0: what was there before
 * @c_bytes: their size
 * @init: start of the sums
 * @kept: where B is packed on the way, NULL: it is not
 * @raw: B as rows, if it is packed from these
 */
struct strip_case {
	struct fast_gemm_strip s;
	enum fast_gemm_kind kind;
	uint32_t isa;
	uint32_t size;
	uint32_t group;
	uint8_t *a;
	uint8_t *b;
	uint8_t *c;
	uint8_t *c0;
	uint64_t c_bytes;
	int32_t init[64];
	uint8_t *kept;
	uint8_t *raw;
};

static bool is_float(enum fast_gemm_kind kind)
{
	return kind == FAST_GEMM_F32 || kind == FAST_GEMM_BF16;
}

static void put(enum fast_gemm_kind kind, uint8_t *p)
{
	float f = (float)((int32_t)below(4001) - 2000) / 1000.0f;
	uint32_t bits, i;

	memcpy(&bits, &f, 4);
	switch (kind) {
	case FAST_GEMM_F32:
		memcpy(p, &bits, 4);
		break;
	case FAST_GEMM_BF16:
		p[0] = (uint8_t)(bits >> 16);
		p[1] = (uint8_t)(bits >> 24);
		break;
	default:
		for (i = 0; i < (kind == FAST_GEMM_S16 ? 2 : 1); i++)
			p[i] = (uint8_t)below(256);
		break;
	}
}

static uint8_t *a_at(const struct strip_case *t, uint32_t i, uint32_t k)
{
	return t->a + i * t->s.a_ms + k / t->group * t->s.a_ks + k % t->group * t->size;
}

static uint8_t *b_at(const struct strip_case *t, uint32_t k, uint32_t j)
{
	const uint8_t *v = t->s.b[j / 16];

	return t->b + (v - t->b) + k / t->group * t->s.b_ks + j % 16 * 4 + k % t->group * t->size;
}

static double value_of(const struct strip_case *t, const uint8_t *p, bool sign)
{
	uint32_t bits = 0;
	float x;

	memcpy(&bits, p, t->size);
	if (is_float(t->kind)) {
		bits <<= 32 - 8 * t->size;
		memcpy(&x, &bits, 4);
		return (double)x;
	}
	if (t->kind == FAST_GEMM_S16)
		return (int16_t)bits;
	return sign ? (int8_t)bits : (uint8_t)bits;
}

static void make_a(struct strip_case *t)
{
	const uint32_t groups = (t->s.k + t->group - 1) / t->group;
	const uint32_t rest = t->s.k % t->group ? t->s.k % t->group : t->group;
	const uint32_t step = t->group * t->size;
	uint64_t row, bytes, i;
	uint32_t k;

	t->s.a_ks = below(3) ? step : step * below(4);
	row = groups ? (groups - 1) * (uint64_t)t->s.a_ks + rest * t->size : 0;
	/* One group for all of K */
	if (!t->s.a_ks && groups > 1)
		row = step;
	t->s.a_ms = (int64_t)(row + t->size * below(9));
	bytes = (t->s.m - 1) * (uint64_t)t->s.a_ms + row;
	t->a = malloc(bytes ? bytes : 1);
	if (!t->a)
		exit(1);
	for (i = 0; i < bytes; i++)
		t->a[i] = (uint8_t)below(256);
	for (i = 0; i < t->s.m; i++)
		for (k = 0; k < t->s.k; k++)
			put(t->kind, a_at(t, (uint32_t)i, k));
	t->s.a = t->a;
}

static void make_b(struct strip_case *t)
{
	const uint32_t groups = (t->s.k + t->group - 1) / t->group;
	const uint32_t vectors = t->s.n > 16 ? 2 : 1;
	const bool apart = vectors == 1 || below(2);
	uint64_t bytes = (uint64_t)groups * 64 * vectors;
	uint32_t j, k;

	/* With a masked one, which needs masks, memory ends with the last column. */
	t->s.b_masked = t->kind == FAST_GEMM_F32 && t->isa != FAST_AVX2 && below(2);
	t->s.b_ks = apart ? 64 : 128;
	if (t->s.b_masked && groups)
		bytes -= (16 * vectors - t->s.n) * 4;
	t->b = calloc(bytes ? bytes : 1, 1);
	if (!t->b)
		exit(1);
	t->s.b[0] = t->b;
	t->s.b[1] = t->b + (apart ? groups * 64ul : 64);
	for (k = 0; k < t->s.k; k++)
		for (j = 0; j < t->s.n; j++)
			put(t->kind, b_at(t, k, j));
}

/* Does the kernel pack B on the way? */
static bool keeps(const struct strip_case *t, fast_gemm_fn fn)
{
	return fn == fast_gemm_kernel(t->kind, t->isa) && fast_gemm_keeps(t->kind, t->isa);
}

/* Of rows that end with the strip, or of packed bytes. */
static void make_kept(struct strip_case *t)
{
	const uint64_t vector = fast_gemm_pack_bytes(t->kind, t->s.k);
	uint32_t j, k;

	t->kept = aligned_alloc(64, 2 * vector + 64);
	if (!t->kept)
		exit(1);
	t->s.keep[0] = t->kept;
	t->s.keep[1] = t->kept + vector;
	if (!is_float(t->kind) && below(2))
		return;
	t->s.raw_ks = (FAST_GEMM_N + below(40)) * t->size;
	t->raw = malloc(t->s.k ? (t->s.k - 1) * t->s.raw_ks + FAST_GEMM_N * t->size : 1);
	if (!t->raw)
		exit(1);
	t->s.raw = t->raw;
	for (k = 0; k < t->s.k; k++)
		for (j = 0; j < t->s.n; j++)
			memcpy(t->raw + k * t->s.raw_ks + j * t->size, b_at(t, k, j), t->size);
}

/* Is what was left for other rows B? */
static bool check_kept(const struct strip_case *t)
{
	uint32_t j, k;
	uint8_t b[4];

	for (k = 0; t->kept && k < t->s.k; k++)
		for (j = 0; j < t->s.n; j++) {
			memcpy(b, b_at(t, k, j), t->size);
			b[0] ^= t->s.flip;
			if (memcmp(b, (uint8_t *)t->s.keep[j / 16] + k / t->group * 64ul +
				   j % 16 * 4 + k % t->group * t->size, t->size))
				return false;
		}
	return true;
}

static void make(struct strip_case *t, bool keep)
{
	static const uint16_t ks[] = { 0, 1, 2, 3, 4, 5, 7, 31, 63, 64, 65, 100, 128, 130, 320 };
	uint32_t i;

	t->group = fast_gemm_group(t->kind);
	t->size = 4 / t->group;
	t->s.m = 1 + below(40);
	t->s.n = 1 + below(FAST_GEMM_N);
	t->s.rows = below(2) ? (uint8_t)(1 + below(14)) : 0;
	if (keep) {
		t->s.m = FAST_GEMM_FIRST + below(40);
		t->s.n = FAST_GEMM_N;
		t->s.raw_far = below(2);
	}
	t->s.k = below(3) ? ks[below(sizeof(ks) / sizeof(ks[0]))] : 1 + below(200);
	if (!below(8))
		t->s.k = 1000 + below(1500);
	t->s.accumulate = below(2);
	if (t->kind == FAST_GEMM_I8S || t->kind == FAST_GEMM_I8U)
		t->s.flip = below(2) ? 0x80 : 0;
	make_a(t);
	make_b(t);
	if (keep)
		make_kept(t);
	t->s.c_ms = 4 * (t->s.n + below(20));
	t->c_bytes = (t->s.m - 1) * (uint64_t)t->s.c_ms + 4 * t->s.n;
	t->c = malloc(t->c_bytes);
	t->c0 = malloc(t->c_bytes);
	if (!t->c || !t->c0)
		exit(1);
	for (i = 0; i < t->c_bytes; i += 4)
		put(is_float(t->kind) ? FAST_GEMM_F32 : FAST_GEMM_I8UU, t->c + i);
	memcpy(t->c0, t->c, t->c_bytes);
	t->s.c = t->c;
	for (i = 0; i < 64; i++)
		t->init[i] = (int32_t)below(1u << 31) - (1 << 30);
	if (!is_float(t->kind) && !t->s.accumulate && below(2))
		t->s.init = t->init;
}

/* What the kernel takes: K numbers for each row of A, or each column of B. */
static double *numbers(const struct strip_case *t, bool of_b)
{
	const bool sign = t->kind == FAST_GEMM_I8SS ||
			  t->kind == (of_b ? FAST_GEMM_I8U : FAST_GEMM_I8S);
	const uint32_t lines = of_b ? t->s.n : t->s.m;
	double *v = calloc((size_t)lines * t->s.k + 1, sizeof(*v)), *next = v;
	uint8_t raw[4];
	uint32_t i, k;

	if (!v)
		exit(1);
	for (i = 0; i < lines; i++)
		for (k = 0; k < t->s.k; k++) {
			memcpy(raw, of_b ? b_at(t, k, i) : a_at(t, i, k), t->size);
			raw[0] ^= of_b ? t->s.flip : 0;
			*next++ = value_of(t, raw, sign);
		}
	return v;
}

/* Sums of integers are exact in binary64, too: 2500 products of 16 bits. */
static bool right(const struct strip_case *t, uint32_t i, uint32_t j, const double *x,
		  const double *y)
{
	const uint64_t at = i * (uint64_t)t->s.c_ms + 4 * j;
	double sum = 0, size, product;
	uint32_t k, old, got;
	float f;

	memcpy(&old, t->c0 + at, 4);
	memcpy(&got, t->c + at, 4);
	memcpy(&f, t->c0 + at, 4);
	if (t->s.accumulate)
		sum = is_float(t->kind) ? (double)f : old;
	else if (t->s.init)
		sum = t->init[i];
	size = fabs(sum);
	for (k = 0; k < t->s.k; k++) {
		product = x[k] * y[k];
		sum += product;
		size += fabs(product);
	}
	if (!is_float(t->kind))
		return got == (uint32_t)(int64_t)sum;
	memcpy(&f, t->c + at, 4);
	return fabs((double)f - sum) <= (t->s.k + t->s.accumulate) * ROUNDOFF * size;
}

static bool check(const struct strip_case *t)
{
	double *a = numbers(t, false), *b = numbers(t, true);
	uint64_t i, row = (uint64_t)t->s.c_ms;
	bool good = true;
	uint32_t j;

	for (i = 0; good && i < t->c_bytes; i++)
		good = i % row < 4 * t->s.n || t->c[i] == t->c0[i];
	for (i = 0; good && i < t->s.m; i++)
		for (j = 0; good && j < t->s.n; j++) {
			good = right(t, (uint32_t)i, j, a + i * t->s.k, b + (size_t)j * t->s.k);
			if (!good)
				printf("# (%u, %u) is wrong\n", (uint32_t)i, j);
		}
	free(a);
	free(b);
	return good;
}

static bool one(enum fast_gemm_kind kind, uint32_t isa, fast_gemm_fn fn)
{
	struct strip_case t = { .kind = kind, .isa = isa };
	bool good;

	make(&t, keeps(&t, fn) && below(2));
	fn(&t.s);
	good = check(&t) && check_kept(&t);
	if (!good)
		printf("# %u x %u x %u, rows of A %lld groups %lld, groups of B %lld, %s%sflip %x%s%s\n",
		       t.s.m, t.s.n, t.s.k, (long long)t.s.a_ms, (long long)t.s.a_ks,
		       (long long)t.s.b_ks, t.s.accumulate ? "accumulate, " : "",
		       t.s.init ? "start, " : "", t.s.flip, t.s.b_masked ? ", masked" : "",
		       !t.kept ? "" : t.raw ? ", kept from rows" : ", kept");
	free(t.kept);
	free(t.raw);
	free(t.a);
	free(t.b);
	free(t.c);
	free(t.c0);
	return good;
}

static void run(const char *name, enum fast_gemm_kind kind, uint32_t isa, fast_gemm_fn fn)
{
	uint32_t n, bad = 0;

	/* What everything has. */
#if defined(__x86_64__)
	const bool everywhere = kind <= FAST_GEMM_I8U && kind != FAST_GEMM_BF16;
#else
	const bool everywhere = kind == FAST_GEMM_F32;
#endif

	if (!fn && !everywhere) {
		printf("# %s: nothing for %s\n", name, kind_name[kind]);
		return;
	}
	for (n = 0; fn && n < CASES && bad < 3; n++)
		bad += !one(kind, isa, fn);
	tap_ok(fn && !bad, "%s: strips of %s", name, kind_name[kind]);
}

/* Packed numbers of 16 bits without vectors: all rows that there are, and no more. */
static void run_unpack(void)
{
	static const uint32_t types[] = { UMA_DTYPE_F16, UMA_DTYPE_BF16 };
	const struct uma_kernels *rows = uma_kernels_portable();
	uint32_t type, step, k, i, j, bad = 0;
	float out[18 * 16], want;
	uint16_t blocks[9 * 64];

	for (i = 0; i < sizeof(blocks) / 2; i++)
		blocks[i] = (uint16_t)below(1u << 16);
	for (k = 1; k <= 17; k++) {
		type = types[k % 2];
		step = below(2) ? 64 : 128;
		memset(out, 0x5a, sizeof(out));
		fast_gemm_unpack_portable(type, blocks, step, k, NULL, NULL, NULL, out);
		for (i = 0; i < 18; i++)
			for (j = 0; j < 16; j++) {
				memset(&want, 0x5a, sizeof(want));
				if (i < k)
					rows->to_f32[type](&want, blocks + i / 2 * step / 2 +
							   2 * j + i % 2, 1);
				bad += !!memcmp(&want, out + 16 * i + j, sizeof(want));
			}
	}
	tap_ok(!bad, "portable: rows of packed numbers of 16 bits");
}

#if defined(__x86_64__)
void soft_gemm_bf16(const struct fast_gemm_strip *s);
void soft_gemm_i8s(const struct fast_gemm_strip *s);
void soft_gemm_i8u(const struct fast_gemm_strip *s);
void soft_gemm_i8ss(const struct fast_gemm_strip *s);
void soft_gemm_i8uu(const struct fast_gemm_strip *s);

/* Tiles that need no processor; what they leave to others does. */
static void run_soft(void)
{
	const char *name;
	uint32_t isa;

	if (!sw_kernels("avx512-bf16", &name, &isa))
		return;
	run("tiles in C", FAST_GEMM_BF16, isa, soft_gemm_bf16);
	run("tiles in C", FAST_GEMM_I8S, isa, soft_gemm_i8s);
	run("tiles in C", FAST_GEMM_I8U, isa, soft_gemm_i8u);
	run("tiles in C", FAST_GEMM_I8SS, isa, soft_gemm_i8ss);
	run("tiles in C", FAST_GEMM_I8UU, isa, soft_gemm_i8uu);
}
#else
static void run_soft(void)
{
}
#endif

int main(void)
{
	static const char *const levels[] = {
		"avx2", "avx512", "avx512-vnni", "avx512-bf16", "amx", "neon", "neon-dotprod"
	};
	uint32_t i, isa, kind;
	const char *name;

	for (i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		if (!sw_kernels(levels[i], &name, &isa)) {
			printf("# %s: not on this processor\n", levels[i]);
			continue;
		}
		for (kind = 0; kind < FAST_GEMM_KINDS; kind++)
			run(name, kind, isa, fast_gemm_kernel(kind, isa));
	}
	run_soft();
	run_unpack();
	return tap_done();
}

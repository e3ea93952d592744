// SPDX-License-Identifier: MIT
/*
 * Limits of the machine: loops of multiply-adds in registers, with enough chains to hide the
 * latency, loops of loads, and loops of loads with a multiply-add for each number.
 */
#include <string.h>

#include "perf.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* A loop of the widest multiply-adds: operations that it has done */
typedef double flops_fn(uint64_t loops);
typedef void read_fn(const char *data, size_t bytes);

/* A loop without intrinsics, compiled for any processor */
static double plain_fp32(uint64_t loops)
{
	typedef float vec __attribute__((vector_size(16)));
	vec acc[16], b = { 1, 1, 1, 1 }, c = { 0.5f, 0.5f, 0.5f, 0.5f };
	uint64_t i;
	int j;

	memset(acc, 0, sizeof(acc));
	for (i = 0; i < loops; i++)
#pragma GCC unroll 16
		for (j = 0; j < 16; j++) {
			acc[j] = b * c + acc[j];
			__asm__ volatile("" : "+m"(acc[j]));
		}
	return (double)loops * 16 * 8;
}

static void plain_read(const char *data, size_t bytes)
{
	typedef uint64_t vec __attribute__((vector_size(16)));
	const vec *v = (const vec *)data;
	vec sum[4] = { 0 };
	size_t i;

	for (i = 0; i < bytes / sizeof(vec); i += 4) {
		sum[0] |= v[i];
		sum[1] |= v[i + 1];
		sum[2] |= v[i + 2];
		sum[3] |= v[i + 3];
	}
	sum[0] |= sum[1] | sum[2] | sum[3];
	__asm__ volatile("" : : "m"(sum[0]));
}

static void plain_dot(const char *data, size_t bytes)
{
	typedef float vec __attribute__((vector_size(16)));
	const vec *v = (const vec *)data;
	vec sum[8], b = { 0.5f, 0.5f, 0.5f, 0.5f };
	size_t i;
	int j;

	memset(sum, 0, sizeof(sum));
	for (i = 0; i < bytes / sizeof(vec); i += 8)
#pragma GCC unroll 8
		for (j = 0; j < 8; j++)
			sum[j] += v[i + (size_t)j] * b;
	for (j = 0; j < 8; j++)
		__asm__ volatile("" : : "m"(sum[j]));
}

#if defined(__x86_64__)
/*
 * Sixteen chains: two units with a latency of up to six cycles are kept busy. The
 * empty statement keeps the compiler from doing anything clever with a chain.
 */
#define CHAINS	16
#define FLOPS_LOOP(name, features, type, zero, one, step, ops)			\
__attribute__((target(features)))						\
static double name(uint64_t loops)						\
{										\
	type acc[CHAINS], x = one, y = one;					\
	uint64_t i;								\
	int j;									\
										\
	_Pragma("GCC unroll 16")						\
	for (j = 0; j < CHAINS; j++)						\
		acc[j] = zero;							\
	for (i = 0; i < loops; i++) {						\
		_Pragma("GCC unroll 16")					\
		for (j = 0; j < CHAINS; j++) {					\
			acc[j] = step(acc[j], x, y);				\
			__asm__ volatile("" : "+v"(acc[j]));			\
		}								\
	}									\
	return (double)loops * CHAINS * (ops);					\
}

#define FMA256(a, x, y)		_mm256_fmadd_ps(x, y, a)
#define FMA512(a, x, y)		_mm512_fmadd_ps(x, y, a)
#define BF16(a, x, y)		_mm512_dpbf16_ps(a, (__m512bh)(x), (__m512bh)(y))
#define MADD256(a, x, y) \
	_mm256_add_epi32(a, _mm256_madd_epi16(_mm256_maddubs_epi16(x, y), x))

FLOPS_LOOP(fp32_256, "avx2,fma", __m256, _mm256_setzero_ps(), _mm256_set1_ps(0.5f), FMA256, 16)
FLOPS_LOOP(int8_256, "avx2", __m256i, _mm256_setzero_si256(), _mm256_set1_epi8(1), MADD256, 64)
FLOPS_LOOP(fp32_512, "avx512f", __m512, _mm512_setzero_ps(), _mm512_set1_ps(0.5f), FMA512, 32)
FLOPS_LOOP(bf16_512, "avx512f,avx512bf16", __m512, _mm512_setzero_ps(), _mm512_set1_ps(0.5f),
	   BF16, 64)
FLOPS_LOOP(int8_512, "avx512f,avx512vnni", __m512i, _mm512_setzero_si512(), _mm512_set1_epi8(1),
	   _mm512_dpbusd_epi32, 128)

#define READ_LOOP(name, features, type, zero, or)				\
__attribute__((target(features)))						\
static void name(const char *data, size_t bytes)				\
{										\
	const type *v = (const type *)data;					\
	type sum[8];								\
	size_t i;								\
	int j;									\
										\
	_Pragma("GCC unroll 8")							\
	for (j = 0; j < 8; j++)							\
		sum[j] = zero;							\
	for (i = 0; i < bytes / sizeof(type); i += 8) {				\
		_Pragma("GCC unroll 8")						\
		for (j = 0; j < 8; j++) {					\
			sum[j] = or(sum[j], v[i + j]);				\
			__asm__ volatile("" : "+v"(sum[j]));			\
		}								\
	}									\
}

/* @w is the factor of each vector of numbers. */
#define DOT_LOOP(name, features, type, sums, zero, one, step)			\
__attribute__((target(features)))						\
static void name(const char *data, size_t bytes)				\
{										\
	const type *v = (const type *)data;					\
	const type w = one;							\
	sums sum[8];								\
	size_t i;								\
	int j;									\
										\
	_Pragma("GCC unroll 8")							\
	for (j = 0; j < 8; j++)							\
		sum[j] = zero;							\
	for (i = 0; i < bytes / sizeof(type); i += 8) {				\
		_Pragma("GCC unroll 8")						\
		for (j = 0; j < 8; j++) {					\
			sum[j] = step(sum[j], v[i + (size_t)j], w);		\
			__asm__ volatile("" : "+v"(sum[j]));			\
		}								\
	}									\
}

/* Pairs of bfloat16 without a unit of their own: the upper and the lower ones */
#define PAIRS512(a, x, y) \
	_mm512_fmadd_ps(_mm512_castsi512_ps(_mm512_slli_epi32(x, 16)), _mm512_castsi512_ps(y), \
			_mm512_fmadd_ps(_mm512_castsi512_ps(x), _mm512_castsi512_ps(y), a))
#define PAIRS256(a, x, y) \
	_mm256_fmadd_ps(_mm256_castsi256_ps(_mm256_slli_epi32(x, 16)), _mm256_castsi256_ps(y), \
			_mm256_fmadd_ps(_mm256_castsi256_ps(x), _mm256_castsi256_ps(y), a))

DOT_LOOP(dot_fp32_256, "avx2,fma", __m256, __m256, _mm256_setzero_ps(), _mm256_set1_ps(0.5f),
	 FMA256)
DOT_LOOP(dot_bf16_256, "avx2,fma", __m256i, __m256, _mm256_setzero_ps(),
	 _mm256_castps_si256(_mm256_set1_ps(0.5f)), PAIRS256)
DOT_LOOP(dot_int8_256, "avx2", __m256i, __m256i, _mm256_setzero_si256(), _mm256_set1_epi8(1),
	 MADD256)
DOT_LOOP(dot_fp32_512, "avx512f", __m512, __m512, _mm512_setzero_ps(), _mm512_set1_ps(0.5f),
	 FMA512)
DOT_LOOP(dot_pairs_512, "avx512f", __m512i, __m512, _mm512_setzero_ps(),
	 _mm512_castps_si512(_mm512_set1_ps(0.5f)), PAIRS512)
DOT_LOOP(dot_bf16_512, "avx512f,avx512bf16", __m512i, __m512, _mm512_setzero_ps(),
	 _mm512_set1_epi16(0x3f00), BF16)
DOT_LOOP(dot_int8_512, "avx512f,avx512vnni", __m512i, __m512i, _mm512_setzero_si512(),
	 _mm512_set1_epi8(1), _mm512_dpbusd_epi32)

READ_LOOP(read_256, "avx2", __m256i, _mm256_setzero_si256(), _mm256_or_si256)
READ_LOOP(read_512, "avx512f", __m512i, _mm512_setzero_si512(), _mm512_or_si512)
#endif

struct way {
	enum perf_bound bound;
	bool (*there)(void);
	flops_fn *flops;
	read_fn *read;
	const char *name;
};

#if defined(__x86_64__)
static bool has_avx2(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool has_avx512(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
}

static bool has_bf16(void)
{
	return has_avx512() && __builtin_cpu_supports("avx512bf16");
}

static bool has_vnni(void)
{
	return has_avx512() && __builtin_cpu_supports("avx512vnni");
}
#endif

static bool always(void)
{
	return true;
}

/* The widest first; types without an instruction are computed in fp32 */
static const struct way ways[] = {
#if defined(__x86_64__)
	{ PERF_FP32, has_avx512, fp32_512, NULL, "vfmadd, 512 bits" },
	{ PERF_FP32, has_avx2, fp32_256, NULL, "vfmadd, 256 bits" },
	{ PERF_BF16, has_bf16, bf16_512, NULL, "vdpbf16ps, 512 bits" },
	{ PERF_BF16, has_avx512, fp32_512, NULL, "vfmadd, 512 bits" },
	{ PERF_BF16, has_avx2, fp32_256, NULL, "vfmadd, 256 bits" },
	{ PERF_INT8, has_vnni, int8_512, NULL, "vpdpbusd, 512 bits" },
	{ PERF_INT8, has_avx2, int8_256, NULL, "vpmaddubsw, 256 bits" },
	{ PERF_READ, has_avx512, NULL, read_512, "loads of 64 bytes" },
	{ PERF_READ, has_avx2, NULL, read_256, "loads of 32 bytes" },
	{ PERF_DOT_FP32, has_avx512, NULL, dot_fp32_512, "loads and vfmadd, 512 bits" },
	{ PERF_DOT_FP32, has_avx2, NULL, dot_fp32_256, "loads and vfmadd, 256 bits" },
	{ PERF_DOT_BF16, has_bf16, NULL, dot_bf16_512, "loads and vdpbf16ps, 512 bits" },
	{ PERF_DOT_BF16, has_avx512, NULL, dot_pairs_512, "loads and vfmadd, 512 bits" },
	{ PERF_DOT_BF16, has_avx2, NULL, dot_bf16_256, "loads and vfmadd, 256 bits" },
	{ PERF_DOT_INT8, has_vnni, NULL, dot_int8_512, "loads and vpdpbusd, 512 bits" },
	{ PERF_DOT_INT8, has_avx2, NULL, dot_int8_256, "loads and vpmaddubsw, 256 bits" },
#endif
	{ PERF_DOT_FP32, always, NULL, plain_dot, "loads and multiply-adds, 128 bits" },
	{ PERF_DOT_BF16, always, NULL, plain_dot, "loads and multiply-adds, 128 bits" },
	{ PERF_DOT_INT8, always, NULL, plain_dot, "loads and multiply-adds, 128 bits" },
	{ PERF_FP32, always, plain_fp32, NULL, "multiply-adds, 128 bits" },
	{ PERF_BF16, always, plain_fp32, NULL, "multiply-adds, 128 bits" },
	{ PERF_INT8, always, plain_fp32, NULL, "multiply-adds, 128 bits" },
	{ PERF_READ, always, NULL, plain_read, "loads of 16 bytes" },
};

static const struct way *way_of(enum perf_bound bound)
{
	size_t i;

	for (i = 0; i < sizeof(ways) / sizeof(ways[0]) - 1; i++)
		if (ways[i].bound == bound && ways[i].there())
			break;
	return &ways[i];
}

const char *limit_name(enum perf_bound bound)
{
	return way_of(bound)->name;
}

struct flops_work {
	flops_fn *fn;
	uint64_t loops;
	double *done;
};

static void flops_part(uint32_t thread, void *arg)
{
	struct flops_work *w = arg;
	double done = w->fn(w->loops);

	if (!thread)
		*w->done = done;
}

double limit_flops(enum perf_bound bound, uint32_t threads, uint64_t loops)
{
	double done = 0;
	struct flops_work w = { way_of(bound)->flops, loops, &done };

	team_run(threads, flops_part, &w);
	return done * threads;
}

struct read_work {
	read_fn *fn;
	const char *data;
	size_t bytes;
	uint32_t threads;
	uint64_t loops;
};

static void read_part(uint32_t thread, void *arg)
{
	struct read_work *w = arg;
	size_t part = w->bytes / w->threads & ~(size_t)4095;
	const char *from = w->data + thread * part;
	uint64_t i;

	if (thread == w->threads - 1)
		part = w->bytes - thread * part;
	for (i = 0; i < w->loops; i++)
		w->fn(from, part);
}

void limit_read(enum perf_bound bound, const void *data, size_t bytes, uint32_t threads,
		uint64_t loops)
{
	struct read_work w = { way_of(bound)->read, data, bytes, threads, loops };

	team_run(threads, read_part, &w);
}

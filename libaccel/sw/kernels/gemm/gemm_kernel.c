// SPDX-License-Identifier: MIT
/* Selects strip kernels and packing functions for a CPU; packing in portable C. */
#include <string.h>
#include "gemm_isa.h"
#include "pack.h"

#if defined(__x86_64__)

/* Rows of 16 bits that are packed as words at a time */
#define HALF_ROWS	64u

fast_gemm_fn fast_gemm_kernel(enum fast_gemm_kind kind, uint32_t isa)
{
	const bool wide = isa & FAST_AVX512, tiles = isa & FAST_AMX_INT8;
	const bool narrow = isa & FAST_AVX2;

	switch (kind) {
	case FAST_GEMM_F32:
		return wide ? fast_gemm_f32_avx512 : narrow ? fast_gemm_f32_avx2 : NULL;
	case FAST_GEMM_S16:
		return wide ? fast_gemm_s16_avx512 : NULL;
	case FAST_GEMM_BF16:
		if (isa & FAST_AMX_BF16)
			return fast_gemm_bf16_amx;
		return wide && isa & FAST_BF16 ? fast_gemm_bf16_avx512 : NULL;
	case FAST_GEMM_I8S:
		if (tiles)
			return fast_gemm_i8s_amx;
		return wide && isa & FAST_VNNI ? fast_gemm_i8s_avx512 :
		       narrow ? fast_gemm_i8s_avx2 : NULL;
	case FAST_GEMM_I8U:
		if (tiles)
			return fast_gemm_i8u_amx;
		return wide && isa & FAST_VNNI ? fast_gemm_i8u_avx512 :
		       narrow ? fast_gemm_i8u_avx2 : NULL;
	case FAST_GEMM_I8SS:
		return tiles ? fast_gemm_i8ss_amx :
		       narrow && !(isa & FAST_VNNI) ? fast_gemm_i8ss_avx2 : NULL;
	case FAST_GEMM_I8UU:
		return tiles ? fast_gemm_i8uu_amx :
		       narrow && !(isa & FAST_VNNI) ? fast_gemm_i8uu_avx2 : NULL;
	default:
		return NULL;
	}
}

/*
 * The words of packed operands are those of strips. 16-bit numbers that are converted to
 * binary32 are first packed as words of two rows.
 */
static void pack_words(enum fast_gemm_kind kind, const struct fast_gemm_source *from, uint32_t k,
		       uint32_t n, char *out, uint64_t vector)
{
	const struct fast_pack_source matrix = {
		.p = from->p, .ks = from->ks, .ns = from->ns, .k = k, .n = n,
		.bits = uma_dtype_bits(from->dtype),
	};
	const uint32_t group = 32 / matrix.bits;
	uint8_t words[HALF_ROWS / 2 * 64];
	uint32_t i, j, some;

	if (group == fast_gemm_group(kind)) {
		fast_pack_words_avx2(&matrix, 0, (k + group - 1) / group, 0, (n + 15) / 16,
				     (uint8_t *)out, 64, vector);
		return;
	}
	for (j = 0; j < n; j += 16, out += vector)
		for (i = 0; i < k; i += some) {
			some = UMA_MIN(HALF_ROWS, k - i);
			fast_pack_words_avx2(&matrix, i, (some + 1) / 2, j, 1, words, 64, 0);
			fast_gemm_unpack_avx2(from->dtype, words, 64, some, NULL, NULL, NULL,
					      (float *)out + i * 16);
		}
}

static bool pack_fast(uint32_t isa, enum fast_gemm_kind kind, const struct fast_gemm_source *from,
		      uint32_t k, uint32_t n, void *out, uint64_t vector)
{
	if (isa & FAST_AVX512 && fast_gemm_pack_avx512(kind, from, k, n, out, vector))
		return true;
	/* These kinds widen bytes to 16 bits. */
	if (!(isa & FAST_AVX2) || kind == FAST_GEMM_S16)
		return false;
	pack_words(kind, from, k, n, out, vector);
	return true;
}

#else

fast_gemm_fn fast_gemm_kernel(enum fast_gemm_kind kind, uint32_t isa)
{
#if defined(__aarch64__)
	switch (kind) {
	case FAST_GEMM_F32:
		return isa & FAST_NEON ? fast_gemm_f32_neon : NULL;
	case FAST_GEMM_S16:
		return isa & FAST_NEON ? fast_gemm_s16_neon : NULL;
	case FAST_GEMM_I8SS:
		return isa & FAST_DOTPROD ? fast_gemm_i8ss_dotprod : NULL;
	case FAST_GEMM_I8UU:
		return isa & FAST_DOTPROD ? fast_gemm_i8uu_dotprod : NULL;
	default:
		break;
	}
#endif
	(void)kind;
	(void)isa;
	return NULL;
}

static bool pack_fast(uint32_t isa, enum fast_gemm_kind kind, const struct fast_gemm_source *from,
		      uint32_t k, uint32_t n, void *out, uint64_t vector)
{
	(void)isa;
	(void)kind;
	(void)from;
	(void)k;
	(void)n;
	(void)out;
	(void)vector;
	return false;
}

#endif

static const char *element(const struct fast_gemm_source *from, uint32_t k, uint32_t n,
			   uint32_t bytes)
{
	return (const char *)from->p + (k * from->ks + n * from->ns) * bytes;
}

/* One vector of columns, element by element. */
static void pack_elements(enum fast_gemm_kind kind, const struct fast_gemm_source *from, uint32_t k,
			  uint32_t n, char *out)
{
	const uint32_t bytes = uma_dtype_bits(from->dtype) / 8, group = fast_gemm_group(kind);
	const uint32_t size = 4 / group;
	uint32_t i, j;

	memset(out, 0, fast_gemm_pack_bytes(kind, k));
	for (i = 0; i < k; i++) {
		char *to = out + i / group * 64 + i % group * size;

		for (j = 0; j < n; j++, to += 4) {
			const char *p = element(from, i, j, bytes);
			int16_t wide;

			if (kind != FAST_GEMM_S16) {
				memcpy(to, p, size);
				continue;
			}
			wide = from->dtype == UMA_DTYPE_S8 ? *(const int8_t *)p :
							     *(const uint8_t *)p;
			memcpy(to, &wide, sizeof(wide));
		}
	}
}

/* Convert 16-bit numbers to binary32: one row or one column at a time. */
static void pack_halves(const struct uma_kernels *rows, const struct fast_gemm_source *from,
			uint32_t k, uint32_t n, char *out)
{
	uint16_t raw[16];
	uint32_t i, j;

	for (i = 0; i < k; i++, out += 64) {
		memset(raw, 0, sizeof(raw));
		for (j = 0; j < n; j++)
			memcpy(raw + j, element(from, i, j, 2), 2);
		rows->to_f32[from->dtype]((float *)out, raw, 16);
	}
}

void fast_gemm_pack_b(uint32_t isa, enum fast_gemm_kind kind, const struct fast_gemm_source *from,
		      uint32_t k, uint32_t n, void *out, uint64_t vector)
{
	struct fast_gemm_source part = *from;
	char *to = out;
	uint32_t j;

	if (pack_fast(isa, kind, from, k, n, out, vector))
		return;
	for (j = 0; j < n; j += 16, to += vector) {
		const uint32_t count = UMA_MIN(16u, n - j);

		part.p = element(from, 0, j, uma_dtype_bits(from->dtype) / 8);
		if (kind == FAST_GEMM_F32 && from->dtype != UMA_DTYPE_F32)
			pack_halves(uma_kernels_portable(), &part, k, count, to);
		else
			pack_elements(kind, &part, k, count, to);
	}
}

void fast_gemm_unpack_portable(uint32_t dtype, const void *blocks, int64_t step, uint32_t k,
			       const float *scale, const int32_t *zero, const float *min,
			       float *out)
{
	const struct uma_kernels *rows = uma_kernels_portable();
	const char *p = blocks;
	float pairs[32];
	uint32_t i, j;

	(void)scale;
	(void)zero;
	(void)min;
	/* Rows k and k + 1 of a column are adjacent. */
	for (i = 0; i < k; i++, out += 16) {
		if (i % 2 == 0)
			rows->to_f32[dtype](pairs, p + i / 2 * step, 32);
		for (j = 0; j < 16; j++)
			out[j] = pairs[2 * j + i % 2];
	}
}

void fast_gemm_row_sums(uint32_t isa, const void *a, int64_t a_ms, uint32_t m, uint32_t k,
			bool is_signed, int32_t factor, int32_t plus, int32_t *sums)
{
	uint32_t i, j;

#if defined(__x86_64__)
	if (isa & FAST_AVX512) {
		fast_gemm_row_sums_avx512(a, a_ms, m, k, is_signed, factor, plus, sums);
		return;
	}
#endif
	(void)isa;
	for (i = 0; i < m; i++) {
		const char *row = (const char *)a + i * a_ms;
		int32_t sum = 0;

		if (is_signed)
			for (j = 0; j < k; j++)
				sum += ((const int8_t *)row)[j];
		else
			for (j = 0; j < k; j++)
				sum += ((const uint8_t *)row)[j];
		sums[i] = (int32_t)((uint32_t)sum * (uint32_t)factor + (uint32_t)plus);
	}
}

/* SPDX-License-Identifier: MIT */
/*
 * Inner block products, for all classes that can provide operands in this form.
 *
 * A strip is any number of rows of A times up to 32 columns of B, for all or a part of K. A is
 * not copied: rows have any stride; elements of K are contiguous in groups of 1 (4-byte types),
 * 2 (16 bits) or 4 (bytes), and groups have any stride. B has vectors of 16 columns with the
 * groups of the columns contiguous: 64 bytes for a vector and group, which is the format of
 * packed operands (UMA_LAYOUT_GEMM_B) and of fast_gemm_pack_b(). Nothing outside of rows,
 * columns and K is read or written, except for B: whole vectors, unless @b_masked, and whole
 * groups (with zeros after the end of K).
 */
#ifndef LIBACCEL_SW_FAST_GEMM_KERNEL_H
#define LIBACCEL_SW_FAST_GEMM_KERNEL_H

#include "libaccel/sw/kernels/fast.h"

/** FAST_GEMM_N: columns of a strip */
#define FAST_GEMM_N		32u
/** FAST_GEMM_AHEAD: see &struct fast_gemm_strip.next */
#define FAST_GEMM_AHEAD		4u
/** FAST_GEMM_FIRST: minimum rows of a strip with &struct fast_gemm_strip.keep */
#define FAST_GEMM_FIRST		8u
/** FAST_GEMM_NEAR: prefetch distance in groups of K with &struct fast_gemm_strip.raw_far */
#define FAST_GEMM_NEAR		32

/**
 * enum fast_gemm_kind - types of an inner product
 * @FAST_GEMM_F32: f32 by f32 into f32, one fused accumulator for each element, k ascending
 * @FAST_GEMM_BF16: bf16 by bf16 into f32, pairs of k, the odd one of a pair first; subnormal
 *	numbers are treated as zero
 * @FAST_GEMM_I8S: A of s8, B of bytes, into s32 modulo 2^32; see &struct fast_gemm_strip.flip
 * @FAST_GEMM_I8U: the same, A of u8
 * @FAST_GEMM_S16: s16 by s16 in pairs, into s32 modulo 2^32
 * @FAST_GEMM_I8SS: s8 by s8 into s32 modulo 2^32, for instructions that support equal
 *	signedness
 * @FAST_GEMM_I8UU: u8 by u8, the same
 * @FAST_GEMM_KINDS: their number
 */
enum fast_gemm_kind {
	FAST_GEMM_F32,
	FAST_GEMM_BF16,
	FAST_GEMM_I8S,
	FAST_GEMM_I8U,
	FAST_GEMM_S16,
	FAST_GEMM_I8SS,
	FAST_GEMM_I8UU,
	FAST_GEMM_KINDS
};

/**
 * struct fast_gemm_strip - a strip: C = [C +] A x B
 * @a: element (0, 0) of A
 * @a_ms: bytes from row to row
 * @a_ks: bytes from group to group along K
 * @b: the two vectors of columns; the second is not used with 16 columns or less
 * @b_ks: bytes from group to group along K
 * @c: accumulator (0, 0): f32 or s32
 * @c_ms: bytes from row to row; columns are contiguous
 * @init: integers: initial values of the sums of each row, or NULL; not with @accumulate
 * @m: rows
 * @n: columns, 1 to FAST_GEMM_N
 * @k: elements of K; 0 clears
 * @flip: I8S, I8U: exclusive or of the bytes of B. The instruction takes one operand unsigned,
 *	the other signed: for s8 by s8 and u8 by u8 it is 0x80 and the sums are off by 128 x the
 *	sum of the row of A, upwards for s8 (fast_gemm_row_sums()); for the mixed ones it is 0
 * @next: data to prefetch: while the i-th rows are multiplied, lines from next[i] on, one for
 *	each group of K, are prefetched to the second-level cache; NULL: none
 * @next_ks: bytes from line to line
 * @raw: unpacked rows of B with contiguous columns, which are packed by the products; with
 *	@keep
 * @raw_ks: bytes from row to row (element of K)
 * @keep: NULL, or memory for the two vectors of columns in the form of a strip, with @flip
 *	applied, 64 bytes for a group: they are packed from @raw, or, for bytes, copied from @b;
 *	for strips of FAST_GEMM_N columns and at least FAST_GEMM_FIRST rows; see
 *	fast_gemm_keeps()
 * @rows: maximum number of rows that are read together; 0: the kernel's choice
 * @accumulate: add to C
 * @far: C is not in the first-level cache
 * @raw_far: @raw is not in the second-level cache
 * @b_masked: F32: nothing after column @n of B may be read
 */
struct fast_gemm_strip {
	const void *a;
	int64_t a_ms;
	int64_t a_ks;
	const void *b[FAST_GEMM_N / 16];
	int64_t b_ks;
	void *c;
	int64_t c_ms;
	const int32_t *init;
	const void *next[FAST_GEMM_AHEAD];
	int64_t next_ks;
	const void *raw;
	int64_t raw_ks;
	void *keep[FAST_GEMM_N / 16];
	uint32_t m;
	uint32_t n;
	uint32_t k;
	uint8_t flip;
	uint8_t rows;
	bool accumulate;
	bool far;
	bool raw_far;
	bool b_masked;
};

/* Use the contents of @keep as B from now on. */
static inline void fast_gemm_kept(struct fast_gemm_strip *s)
{
	uint32_t i;

	for (i = 0; i < FAST_GEMM_N / 16; i++) {
		s->b[i] = s->keep[i];
		s->keep[i] = NULL;
	}
	s->b_ks = 64;
	s->raw = NULL;
	s->flip = 0;
}

typedef void (*fast_gemm_fn)(const struct fast_gemm_strip *s);

/**
 * fast_gemm_kernel - the inner product for a CPU
 * @kind: types
 * @isa: FAST_*
 *
 * Return: NULL if it has none. F32, I8S and I8U exist for every CPU that has AVX2.
 */
fast_gemm_fn fast_gemm_kernel(enum fast_gemm_kind kind, uint32_t isa);

/*
 * Does the kernel support @keep? The 512-bit kernels do, except for S16; for bytes they need
 * VNNI. With AMX nothing is packed by products.
 */
static inline bool fast_gemm_keeps(enum fast_gemm_kind kind, uint32_t isa)
{
	if (!(isa & FAST_AVX512) || isa & (FAST_AMX_INT8 | FAST_AMX_BF16))
		return false;
	return kind == FAST_GEMM_F32 || kind == FAST_GEMM_BF16 ||
	       (kind != FAST_GEMM_S16 && isa & FAST_VNNI);
}

/**
 * struct fast_gemm_source - a matrix that is packed into vectors of columns
 * @p: element (0, 0)
 * @ks: elements from row to row (along K)
 * @ns: elements from column to column
 * @dtype: &enum uma_dtype, not of 4 bits
 */
struct fast_gemm_source {
	const void *p;
	int64_t ks;
	int64_t ns;
	uint32_t dtype;
};

/**
 * fast_gemm_pack_b - pack columns of B for strips
 * @isa: FAST_*
 * @kind: F32: from f32, f16 or bf16; BF16: from bf16; I8S, I8U: bytes; S16: from bytes
 * @from: first row and column
 * @k: rows
 * @n: columns; the rest of the last vector and of the last group becomes zero
 * @out: vectors of columns, 64-byte aligned, fast_gemm_pack_bytes() of each
 * @vector: bytes from vector to vector, a multiple of 64
 */
void fast_gemm_pack_b(uint32_t isa, enum fast_gemm_kind kind,
		      const struct fast_gemm_source *from, uint32_t k, uint32_t n,
		      void *out, uint64_t vector);

/* Elements of K in a group. */
static inline uint32_t fast_gemm_group(enum fast_gemm_kind kind)
{
	return kind == FAST_GEMM_F32 ? 1 : kind == FAST_GEMM_BF16 || kind == FAST_GEMM_S16 ? 2 : 4;
}

/* Bytes of a packed vector of 16 columns. */
static inline uint64_t fast_gemm_pack_bytes(enum fast_gemm_kind kind, uint32_t k)
{
	const uint32_t group = fast_gemm_group(kind);

	return ((uint64_t)k + group - 1) / group * 64;
}

/**
 * fast_gemm_row_sums - sums of rows of bytes, for initial values
 * @isa: FAST_*
 * @a: element (0, 0), rows are contiguous
 * @a_ms: bytes from row to row
 * @m: rows
 * @k: columns
 * @is_signed: s8, else u8
 * @factor: factor of the sums
 * @plus: added to that
 * @sums: out, modulo 2^32
 */
void fast_gemm_row_sums(uint32_t isa, const void *a, int64_t a_ms, uint32_t m, uint32_t k,
			bool is_signed, int32_t factor, int32_t plus, int32_t *sums);

#endif /* LIBACCEL_SW_FAST_GEMM_KERNEL_H */

// SPDX-License-Identifier: MIT
/*
 * Products with few rows: A in the form in which it is multiplied, and B's scales.
 */
#include <string.h>
#include "libaccel/sw/kernels/gemm/gemm_kernel.h"
#include "gemv.h"

/* Elements of a row of A at a time */
#define CHUNK		512u

/**
 * struct prepare_scratch - while A is brought in
 */
struct prepare_scratch {
	struct uma_rowbuf buf;
	float x[CHUNK];
	uint8_t form[4 * CHUNK];
};

_Static_assert(sizeof(struct prepare_scratch) <= UMA_SCRATCH_SIZE, "scratch");

/* --- A ------------------------------------------------------------------------ */

/* Rows of block @block, which starts at row *@first. */
uint32_t gemv_block_rows(const struct gemv_plan *p, uint32_t block, uint32_t *first)
{
	const uint32_t least = p->rows / p->blocks, more = p->rows % p->blocks;

	*first = block * least + (block < more ? block : more);
	return least + (block < more);
}

/* Pieces of @bytes, neighbours @step apart in the end. */
static void spread(uint8_t *to, const uint8_t *from, uint32_t count, uint32_t bytes, size_t step)
{
	uint32_t i;

	if (step == bytes) {
		memcpy(to, from, (size_t)count * bytes);
		return;
	}
	switch (bytes) {
	case 4:
		for (i = 0; i < count; i++)
			memcpy(to + i * step, from + 4ul * i, 4);
		break;
	case 8:
		for (i = 0; i < count; i++)
			memcpy(to + i * step, from + 8ul * i, 8);
		break;
	case 16:
		for (i = 0; i < count; i++)
			memcpy(to + i * step, from + 16ul * i, 16);
		break;
	default:
		for (i = 0; i < count; i++)
			memcpy(to + i * step, from + 32ul * i, 32);
		break;
	}
}

/* Bytes as s16, of each four those with even places first. */
static void pair_up(int16_t *to, const uint8_t *raw, bool is_signed, uint32_t n)
{
	static const uint8_t place[4] = { 0, 2, 1, 3 };
	uint32_t i;

	for (i = 0; i < n; i++)
		to[(i & ~3u) + place[i & 3]] = is_signed ? (int8_t)raw[i] : raw[i];
}

/* The sum of @n bytes of A. */
int32_t gemv_sum_of(const struct fast_run *r, const uint8_t *raw, uint32_t n)
{
	const bool is_signed = gemv_view(r, UMA_SLOT_A)->dtype == UMA_DTYPE_S8;
	int32_t sum;

	fast_gemm_row_sums(r->prog->cpu->isa, raw, 0, 1, n, is_signed, 1, 0, &sum);
	return sum;
}

/* @n elements of a row of A from @k on, in the form that is multiplied, zeros behind. */
static const uint8_t *form_of(const struct fast_run *r, const uint32_t *idx, uint32_t k,
			      uint32_t n, struct prepare_scratch *s, int32_t *sum)
{
	const struct gemv_plan *p = gemv_plan_of(r);
	const struct uma_tensor_view *a = gemv_view(r, UMA_SLOT_A);
	const bool is_signed = a->dtype == UMA_DTYPE_S8;
	struct uma_run run = fast_model_run(r);
	const struct uma_row row = {
		.slot = UMA_SLOT_A,
		.off = uma_tensor_offset(a, idx) + (int64_t)k * a->strides[a->rank - 1],
		.stride = a->strides[a->rank - 1],
		.n = n,
	};
	const uint32_t padded = (uint32_t)uma_roundup(n, p->bk);
	const void *raw;

	if (p->kind < GEMV_I8 && p->kind != GEMV_BF16_DOT) {
		raw = uma_row_f32(&run, &row, &s->buf, s->x);
		if (!raw || n == padded)
			return raw;
		memmove(s->form, raw, 4ul * n);
		memset(s->form + 4ul * n, 0, 4ul * (padded - n));
		return s->form;
	}
	raw = uma_gather(&run, UMA_SLOT_A, a, row.off, row.stride, n, s->buf.raw);
	if (!raw)
		return NULL;
	if (p->kind == GEMV_BF16_DOT) {
		memset(s->form + 2ul * n, 0, 2ul * (padded - n));
		memcpy(s->form, raw, 2ul * n);
		return s->form;
	}
	*sum += gemv_sum_of(r, raw, n);
	if (p->kind == GEMV_I8_MADD || p->kind == GEMV_I4_MADD) {
		memset(s->form, 0, 2ul * padded);
		pair_up((int16_t *)s->form, raw, is_signed, n);
	} else {
		memset(s->form + n, 0, padded - n);
		memcpy(s->form, raw, n);
	}
	return s->form;
}

/* The row of ones. */
static const uint8_t *ones(const struct gemv_plan *p, uint32_t n, struct prepare_scratch *s)
{
	uint8_t raw[CHUNK];

	memset(s->form, 0, sizeof(s->form));
	memset(raw, 1, n);
	if (p->kind == GEMV_I8_MADD || p->kind == GEMV_I4_MADD)
		pair_up((int16_t *)s->form, raw, false, n);
	else
		memcpy(s->form, raw, n);
	return s->form;
}

/* Index of a matrix of the batch. */
void gemv_matrix_index(const struct fast_run *r, uint32_t batch, uint32_t *idx)
{
	const struct uma_tensor_view *d = gemv_view(r, UMA_SLOT_DST);
	uint32_t i;

	memset(idx, 0, UMA_MAX_RANK * sizeof(*idx));
	for (i = d->rank - 2u; i-- > 0;) {
		idx[i] = batch % d->dims[i];
		batch /= d->dims[i];
	}
}

/* A block of rows of a matrix, and the sums of its rows. */
int gemv_bring_a(const struct fast_run *r, uint32_t batch, uint32_t block, uint8_t *to)
{
	const struct gemv_plan *p = gemv_plan_of(r);
	int32_t *sums = gemv_sums(p, to);
	const uint32_t unit = gemv_a_bytes(p->kind, p->bk);
	struct prepare_scratch *s = r->rows_scratch;
	uint32_t idx[UMA_MAX_RANK], rank = gemv_view(r, UMA_SLOT_A)->rank;
	uint32_t first, rows, i, k, n;

	rows = gemv_block_rows(p, block, &first);
	gemv_matrix_index(r, batch, idx);
	to += (size_t)first * p->steps * unit;
	for (i = 0; i < rows; i++) {
		int32_t sum = 0;

		for (k = 0; k < p->k; k += n) {
			const uint8_t *form;

			n = UMA_MIN(CHUNK, p->k - k);
			idx[rank - 2] = first + i;
			form = first + i < p->m ? form_of(r, idx, k, n, s, &sum) :
						  ones(p, n, s);
			if (!form)
				return -1;
			spread(to + ((size_t)(k / p->bk) * rows + i) * unit, form,
			       (uint32_t)uma_divup(n, p->bk), unit, (size_t)rows * unit);
		}
		sums[first + i] = sum;
	}
	return 0;
}

/* --- tables -------------------------------------------------------------------- */

/* Entries @n to @all of a row are not there. */
static void put_row(void *to, const void *from, uint32_t n, uint32_t all)
{
	memcpy(to, from, 4ul * n);
	memset((uint8_t *)to + 4ul * n, 0, 4ul * (all - n));
}

/*
 * Scales and zero points, or minima, of B for @n columns from @n0 on, group after group; those
 * of columns that are not there are 0.
 */
int gemv_bring_tables(const struct fast_run *r, uint32_t batch, uint32_t n0, uint32_t n)
{
	const struct gemv_plan *p = gemv_plan_of(r);
	const struct uma_tensor_view *b = gemv_view(r, UMA_SLOT_B);
	struct uma_run run = fast_model_run(r);
	struct uma_rowbuf *buf = r->rows_scratch;
	float *scale = (float *)((uint8_t *)r->scratch + p->scales_at);
	int32_t *zero = (int32_t *)((uint8_t *)r->scratch + p->zeros_at);
	uint32_t idx[UMA_MAX_RANK], g, i;
	struct uma_row row = {
		.slot = UMA_SLOT_B,
		.n = n,
		.idx = idx,
		.axis = b->rank - 1u,
	};
	float one = 1;

	if (b->quant == UMA_QUANT_TENSOR)
		memcpy(&one, &b->scale, sizeof(one));
	gemv_matrix_index(r, batch, idx);
	idx[b->rank - 1] = n0;
	for (g = 0; g < p->groups; g++, scale += p->tile, zero += p->tile) {
		if (b->quant <= UMA_QUANT_TENSOR) {
			for (i = 0; i < p->tile; i++)
				scale[i] = one;
			continue;
		}
		idx[b->rank - 2] = g * b->quant_group;
		if (uma_table_row(&run, &row, buf))
			return -1;
		put_row(scale, buf->scale, n, p->tile);
		if (p->has_zeros || p->has_mins)
			put_row(zero, buf->zero, n, p->tile);
	}
	return 0;
}

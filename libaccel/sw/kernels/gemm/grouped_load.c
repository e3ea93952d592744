// SPDX-License-Identifier: MIT
/*
 * Operands of the grouped kernels: rows of A and columns of B; and single elements, for zero
 * points out of the kernels' range.
 */
#include <math.h>
#include <string.h>
#include "libaccel/sw/kernels/lines/dynquant.h"
#include "gemm.h"
#include "grouped_plan.h"
#include "pack.h"

/* Elements of A that are read at a time to be rounded */
#define ROUNDED		512u
/* Zero point of bf16 up to which all sums fit */
#define ZERO_BF16	128

static bool is_bf16(const struct grouped_plan *p)
{
	return p->k == &grouped_bf16;
}

/* --- tables ------------------------------------------------------------------------ */

/* Entry @at of the table of scales, or minima, at @addr. */
static float table_at(const struct fast_run *r, const struct uma_tensor_view *t, uint64_t addr,
		      uint64_t at)
{
	const char *table = (const char *)(uintptr_t)addr;
	float x;

	if (t->scale_dtype == UMA_DTYPE_F16)
		r->prog->rows->to_f32[UMA_DTYPE_F16](&x, table + 2 * at, 1);
	else
		memcpy(&x, table + 4 * at, 4);
	return x;
}

static int32_t zero_of(const struct uma_tensor_view *t, const uint32_t *idx)
{
	if (t->quant <= UMA_QUANT_TENSOR)
		return t->quant ? t->zero : 0;
	if (!t->zero_addr)
		return 0;
	return ((const int32_t *)(uintptr_t)t->zero_addr)[uma_table_index(t, idx)];
}

/* --- rows of A --------------------------------------------------------------------- */

/* Position of element @k: of each eight, the ones with even numbers may come first. */
static uint32_t place_of(const struct grouped_plan *p, uint32_t k)
{
	return p->even_odd ? (k & ~7u) + (k & 7) / 2 + 4 * (k & 1) : k;
}

/* Its position in words of two elements */
static uint32_t wide_place_of(const struct grouped_plan *p, uint32_t k)
{
	static const uint8_t place[4] = { 0, 2, 1, 3 };
	const uint32_t at = place_of(p, k);

	return (at & ~3u) + place[at & 3];
}

/* Store @n bytes from element @k on, as words. */
static void put_bytes(const struct grouped_plan *p, const uint8_t *raw, bool is_signed, uint32_t k,
		      uint32_t n, uint8_t *row)
{
	int16_t *wide = (int16_t *)row;
	uint32_t i;

	if (p->k->word == 2) {
		for (i = 0; i < n; i++)
			wide[wide_place_of(p, k + i)] = is_signed ? (int8_t)raw[i] : raw[i];
		return;
	}
	if (p->even_odd) {
		for (i = 0; i < n; i++)
			row[place_of(p, k + i)] = (uint8_t)(raw[i] ^ (p->a_shift ? 0x80 : 0));
		return;
	}
	if (!p->a_shift) {
		memcpy(row + k, raw, n);
		return;
	}
	for (i = 0; i < n; i++)
		row[k + i] = raw[i] ^ 0x80;
}

/* Sums of the groups of a row, minus their zero points. */
static void put_sums(const struct fast_run *r, uint8_t *row, uint32_t *idx)
{
	const struct grouped_plan *p = plan_of(r);
	const struct uma_tensor_view *a = view(r, UMA_SLOT_A), *b = view(r, UMA_SLOT_B);
	int32_t *sum = meta(p, row, SUM), *raw = meta(p, row, RAW), *zero = meta(p, row, ZERO);
	const int32_t zb = p->zeros ? 0 : zero_of(b, idx) + p->b_shift;
	const uint32_t whole = p->depth / p->group;
	uint32_t g, i;

	if (p->k->word == 4 && whole)
		fast_gemm_row_sums(r->prog->cpu->isa, row, p->group, whole, p->group, true, 1, 0,
				   raw);
	for (g = 0; g < p->groups; g++) {
		const uint32_t len = group_len(p, g);
		int32_t s = g < whole ? raw[g] : 0;

		idx[a->rank - 1] = g * p->group;
		zero[g] = (int32_t)((uint32_t)zero_of(a, idx) + (uint32_t)p->a_shift);
		if (p->k->word == 2)
			for (i = 0, s = 0; i < uma_roundup(len, 4); i++)
				s += ((const int16_t *)row)[g * p->group + i];
		else if (g >= whole)
			fast_gemm_row_sums(r->prog->cpu->isa, row + g * p->group, 0, 1, len, true,
					   1, 0, &s);
		raw[g] = (int32_t)((uint32_t)s - len * (uint32_t)zero[g]);
		sum[g] = (int32_t)(0u - (uint32_t)zb * (uint32_t)raw[g]);
	}
}

/* The sum of a group of bf16. */
static float sum_of_group(const struct grouped_plan *p, const uint8_t *row, uint32_t g)
{
	const uint16_t *x = (const uint16_t *)row + g * p->group;
	const uint32_t len = group_len(p, g);
	float sum = 0, v;
	uint32_t i, bits;

	for (i = 0; i < len; i++) {
		bits = (uint32_t)x[i] << 16;
		memcpy(&v, &bits, sizeof(v));
		sum += v;
	}
	return sum;
}

/* Factors of the minima of columns; the scale of a row is applied at the end. */
static void put_mins(const struct grouped_plan *p, uint8_t *row)
{
	const int32_t *raw = meta(p, row, RAW);
	const float *scale = meta(p, row, SCALE);
	float *min = meta(p, row, MIN);
	uint32_t g;

	for (g = 0; is_bf16(p) && g < p->groups; g++)
		min[g] = sum_of_group(p, row, g);
	for (g = 0; !is_bf16(p) && g < p->groups; g++)
		min[g] = p->group_scales ? (float)raw[g] * scale[g] : (float)raw[g];
}

/* Round numbers from element @k on to bytes with scales. */
static void put_rounded(const struct fast_run *r, const float *x, uint32_t k, uint32_t n,
			uint8_t *row)
{
	const struct grouped_plan *p = plan_of(r);
	const struct dynquant_kernels *q = dynquant_kernels_of(r->prog->cpu);
	float *scale = meta(p, row, SCALE), s;
	struct dynquant_range range;
	uint8_t raw[UMA_GEMM_A_GROUP_MAX];
	uint32_t i, g, len;

	for (i = 0; i < n; i += len) {
		len = UMA_MIN(n - i, p->a_group);
		q->range(&range, x + i, UMA_DTYPE_F32, len);
		s = range.nan ? NAN : (range.max > -range.min ? range.max : -range.min) / 127;
		s = s == 0 ? 1 : s;
		q->store(raw, true, x + i, UMA_DTYPE_F32, s, 0, len);
		put_bytes(p, raw, true, k + i, len, row);
		for (g = 0; g < len; g += p->group)
			scale[(k + i + g) / p->group] = s;
	}
}

/* The same to bf16, without scales. */
static void put_bf16(const struct fast_run *r, const float *x, uint32_t k, uint32_t n, uint8_t *row)
{
	const struct grouped_plan *p = plan_of(r);
	uint16_t *to = (uint16_t *)row, some[ROUNDED];
	uint32_t i;

	if (!p->even_odd) {
		r->prog->rows->from_f32[UMA_DTYPE_BF16](to + k, x, n);
		return;
	}
	r->prog->rows->from_f32[UMA_DTYPE_BF16](some, x, n);
	for (i = 0; i < n; i++)
		to[place_of(p, k + i)] = some[i];
}

/* Convert the elements of a row; if they are rounded to bytes, compute their scales. */
static int put_row(const struct fast_run *r, const uint32_t *idx, uint8_t *row)
{
	const struct grouped_plan *p = plan_of(r);
	const struct uma_tensor_view *a = view(r, UMA_SLOT_A);
	struct uma_rowbuf *buf = r->rows_scratch;
	struct uma_run run = fast_model_run(r);
	struct uma_row part = { .slot = UMA_SLOT_A, .stride = a->strides[a->rank - 1] };
	float some[ROUNDED];
	uint32_t k;

	part.off = uma_tensor_offset(a, idx);
	for (k = 0; k < p->depth; k += part.n, part.off += (int64_t)part.n * part.stride) {
		const void *raw;

		part.n = UMA_MIN(p->depth - k, r->prog->op->a_group ? ROUNDED : UMA_ROW_MAX);
		raw = r->prog->op->a_group ? (const void *)uma_row_f32(&run, &part, buf, some) :
		      uma_gather(&run, UMA_SLOT_A, a, part.off, part.stride, part.n, buf->raw);
		if (!raw)
			return -1;
		if (p->bf16)
			put_bf16(r, raw, k, part.n, row);
		else if (r->prog->op->a_group)
			put_rounded(r, raw, k, part.n, row);
		else if (is_bf16(p))
			memcpy(row + 2ul * k, raw, 2ul * part.n);
		else
			put_bytes(p, raw, a->dtype == UMA_DTYPE_S8, k, part.n, row);
	}
	return 0;
}

static int bring_row(const struct fast_run *r, uint64_t batch, uint32_t m, uint8_t *row)
{
	const struct grouped_plan *p = plan_of(r);
	const struct uma_tensor_view *a = view(r, UMA_SLOT_A);
	float *scale = meta(p, row, SCALE);
	uint32_t idx[UMA_MAX_RANK], g;
	uint64_t at, step;

	batch_index(r, batch, idx);
	idx[a->rank - 2] = m;
	if (p->bf16)
		return put_row(r, idx, row);
	memset(row + (uma_roundup(p->depth, 8) - 8) * 4 / p->k->word, 0, 32 / p->k->word);
	if (put_row(r, idx, row))
		return -1;
	if (!is_bf16(p))
		put_sums(r, row, idx);
	if (a->quant > UMA_QUANT_TENSOR) {
		idx[a->rank - 1] = 0;
		at = uma_table_index(a, idx);
		step = p->group_scales ? (uint64_t)uma_table_stride(a, a->rank - 1u) : 0;
		for (g = 0; g < p->groups; g++)
			scale[g] = table_at(r, a, a->scale_addr,
					    step ? at + g * p->group / p->a_group * step : at);
	}
	if (p->mins)
		put_mins(p, row);
	return 0;
}

/* A row of ones, for the sums of columns. */
static void ones(const struct grouped_plan *p, uint8_t *row)
{
	uint8_t raw[64];
	uint32_t k;

	memset(raw, 1, sizeof(raw));
	memset(row, 0, p->row);
	for (k = 0; k < p->depth; k += 64)
		put_bytes(p, raw, true, k, UMA_MIN(p->depth - k, 64u), row);
	for (k = 0; k < p->depth && p->a_shift && p->k->word == 4; k++)
		row[k] = 1;
}

int grouped_load_rows(const struct fast_run *r, uint32_t tile)
{
	const struct grouped_plan *p = plan_of(r);
	const uint64_t all = p->rows;
	uint64_t i = (uint64_t)tile * GROUPED_ROWS, end = UMA_MIN(i + GROUPED_ROWS, all);

	for (; i < end; i++)
		if (bring_row(r, i / p->m, (uint32_t)(i % p->m), row_at(r, i)))
			return -1;
	if (end == all && p->zeros)
		ones(p, row_at(r, all));
	return 0;
}

/* --- columns of B ------------------------------------------------------------------ */

/* Scales, or minima, of the columns of a group, from address @addr. */
static int scales_of_group(const struct fast_run *r, struct grouped_strip *s, uint64_t addr,
			   float *scale)
{
	const struct grouped_plan *p = plan_of(r);
	const struct uma_tensor_view *b = view(r, UMA_SLOT_B);
	const bool half = b->scale_dtype == UMA_DTYPE_F16;
	const float factor = tensor_scale(view(r, UMA_SLOT_A));
	struct uma_run run = fast_model_run(r);
	struct uma_rowbuf *buf = r->rows_scratch;
	const uint32_t nb = 2 * p->k->vl;
	const struct uma_row row = {
		.slot = UMA_SLOT_B, .n = s->n, .idx = s->idx, .axis = b->rank - 1u,
	};
	const char *table = (const char *)(uintptr_t)addr;

	if (s->n == nb && (b->quant == UMA_QUANT_CHANNEL ||
			   uma_table_stride(b, b->rank - 1u) == 1)) {
		table += uma_table_index(b, s->idx) * (half ? 2 : 4);
		p->k->scales(table, half, factor, scale);
		p->k->scales(table + p->k->vl * (half ? 2 : 4), half, factor, scale + p->k->vl);
		return 0;
	}
	if (uma_table_row(&run, &row, buf))
		return -1;
	memset(scale, 0, 4ul * nb);
	memcpy(scale, addr == b->scale_addr ? (void *)buf->scale : buf->zero, 4ul * s->n);
	p->k->scales(scale, false, factor, scale);
	p->k->scales(scale + p->k->vl, false, factor, scale + p->k->vl);
	return 0;
}

/* Zero points of a group. */
static void zeros_of_group(const struct fast_run *r, struct grouped_strip *s, int32_t *zero)
{
	const struct grouped_plan *p = plan_of(r);
	const struct uma_tensor_view *b = view(r, UMA_SLOT_B);
	const int32_t reach = is_bf16(p) ? ZERO_BF16 : GROUPED_ZERO;
	uint32_t i;

	for (i = 0; i < 2 * p->k->vl; i++) {
		/* Columns beyond the last use any valid one. */
		s->idx[b->rank - 1] = s->n0 + UMA_MIN(i, s->n - 1);
		zero[i] = zero_of(b, s->idx);
		s->wild |= b->zero_addr && (zero[i] < -reach || zero[i] > reach);
		zero[i] = (int32_t)((uint32_t)zero[i] + (uint32_t)p->b_shift);
		s->wild |= is_bf16(p) && (zero[i] < -reach || zero[i] > reach);
	}
	s->idx[b->rank - 1] = s->n0;
}

/*
 * Scales, or minima, of @count consecutive groups in the table at @addr, which has a row for
 * each column.
 */
static void scales_of_columns(const struct fast_run *r, struct grouped_strip *s, uint64_t addr,
			      uint32_t count, float *scale)
{
	const struct grouped_plan *p = plan_of(r);
	const struct uma_tensor_view *b = view(r, UMA_SLOT_B);
	const bool half = b->scale_dtype == UMA_DTYPE_F16;
	const float factor = tensor_scale(view(r, UMA_SLOT_A));
	const uint32_t nb = 2 * p->k->vl, at_once = half ? 8 : 4;
	const size_t size = half ? 2 : 4;
	const uint8_t *col[GROUPED_STRIP], *in[GROUPED_STRIP];
	uint8_t end[GROUPED_STRIP][16];
	uint32_t i, g, v, n;

	for (i = 0; i < nb; i++) {
		s->idx[b->rank - 1] = s->n0 + UMA_MIN(i, s->n - 1);
		col[i] = (const uint8_t *)(uintptr_t)addr +
			 uma_table_index(b, s->idx) * size;
	}
	s->idx[b->rank - 1] = s->n0;
	for (g = 0; g < count; g += n) {
		n = UMA_MIN(count - g, at_once);
		/* Nothing after the table may be read. */
		for (i = 0; i < nb && n < at_once; i++) {
			memset(end[i], 0, sizeof(end[i]));
			in[i] = memcpy(end[i], col[i] + g * size, n * size);
		}
		for (v = 0; v < nb; v += p->k->vl)
			p->k->turn_scales((n < at_once ? in : col) + v, n < at_once ? 0 : g * size,
					  half, n, factor, scale + (size_t)g * nb + v, nb);
	}
}

/* Scales, minima, and zero points if requested, of @count groups. */
static int load_tables(const struct fast_run *r, struct grouped_strip *s, uint32_t g0,
		       uint32_t count, float *scale, float *min, int32_t *zero)
{
	const struct grouped_plan *p = plan_of(r);
	const struct uma_tensor_view *b = view(r, UMA_SLOT_B);
	const float same = tensor_scale(b) * tensor_scale(view(r, UMA_SLOT_A));
	const bool groups = b->quant == UMA_QUANT_GROUP;
	const bool along = groups && p->k->turn_scales && p->group == b->quant_group &&
			   uma_table_stride(b, b->rank - 2u) == 1;
	const uint32_t nb = 2 * p->k->vl;
	uint32_t i, g;

	s->idx[b->rank - 1] = s->n0;
	s->idx[b->rank - 2] = g0 * p->group;
	if (along)
		scales_of_columns(r, s, b->scale_addr, count, scale);
	if (along && p->mins)
		scales_of_columns(r, s, b->min_addr, count, min);
	for (g = 0; g < count; g++) {
		const uint32_t k = (g0 + g) * p->group;
		const bool again = g && (!groups || k / b->quant_group ==
						    (k - p->group) / b->quant_group);

		s->idx[b->rank - 2] = k;
		if (again && !along)
			memcpy(scale + g * nb, scale + (g - 1) * nb, 4ul * nb);
		else if (!along && b->quant > UMA_QUANT_TENSOR &&
			 scales_of_group(r, s, b->scale_addr, scale + g * nb))
			return -1;
		if (again && !along && p->mins)
			memcpy(min + g * nb, min + (g - 1) * nb, 4ul * nb);
		else if (!along && p->mins && scales_of_group(r, s, b->min_addr, min + g * nb))
			return -1;
		for (i = 0; !again && b->quant <= UMA_QUANT_TENSOR && i < nb; i++)
			scale[g * nb + i] = same;
		if (!p->zeros && !p->bf16 && !is_bf16(p))
			continue;
		if (again)
			memcpy(zero + g * nb, zero + (g - 1) * nb, 4ul * nb);
		else
			zeros_of_group(r, s, zero + g * nb);
	}
	return 0;
}

int64_t grouped_columns_of(const struct fast_run *r, struct grouped_strip *s, const uint8_t **col)
{
	const struct grouped_plan *p = plan_of(r);
	const struct uma_tensor_view *b = view(r, UMA_SLOT_B);
	const struct uma_dtype_block block = uma_dtype_block(b->dtype);
	const uint32_t nb = 2 * p->k->vl;
	uint32_t i;

	s->idx[b->rank - 2] = 0;
	for (i = 0; i < nb; i++) {
		s->idx[b->rank - 1] = s->n0 + UMA_MIN(i, s->n - 1);
		col[i] = (const uint8_t *)fast_ptr(b) +
			 (uma_tensor_offset(b, s->idx) >> block.shift) * (int64_t)block.bytes;
	}
	s->idx[b->rank - 1] = s->n0;
	return (b->strides[b->rank - 1] * (int64_t)nb >> block.shift) * (int64_t)block.bytes;
}

/* Bytes of @k elements, whole blocks, of columns that are contiguous along K. */
static int64_t column_bytes(const struct fast_run *r, int64_t k)
{
	const struct grouped_plan *p = plan_of(r);
	const struct uma_dtype_block block = uma_dtype_block(view(r, UMA_SLOT_B)->dtype);

	return p->size ? (k >> block.shift) * (int64_t)block.bytes : k * p->bits / 8;
}

struct grouped_ahead grouped_ahead_of(const struct fast_run *r, struct grouped_strip *s,
				      uint32_t g0)
{
	const struct grouped_plan *p = plan_of(r);
	const struct uma_tensor_view *b = view(r, UMA_SLOT_B);
	const bool more = g0 < p->groups;
	const uint32_t first = more ? g0 : 0, count = UMA_MIN(p->block, p->groups - first);
	struct grouped_ahead a = { .columns = 2 * p->k->vl };

	if (!p->size && !p->along)
		return a;
	s->idx[b->rank - 1] = s->n0;
	s->idx[b->rank - 2] = 0;
	a.step = column_bytes(r, b->strides[b->rank - 1]);
	a.p = (const uint8_t *)fast_ptr(b) + column_bytes(r, uma_tensor_offset(b, s->idx)) +
	      column_bytes(r, (int64_t)first * p->group) + (more ? 0 : a.columns * a.step);
	a.lines = (uint32_t)(column_bytes(r, (int64_t)count * p->group) / 64 + 1);
	return a;
}

/* @k elements from @k0 on of columns of integers that are contiguous along K. */
static void load_rows(const struct fast_run *r, struct grouped_strip *s, uint32_t k0, uint32_t k,
		      uint8_t *out)
{
	const struct grouped_plan *p = plan_of(r);
	const uint8_t *col[GROUPED_STRIP];
	uint32_t v;

	grouped_columns_of(r, s, col);
	for (v = 0; v < 2 * p->k->vl; v += p->k->vl)
		p->k->columns(col + v, p->bits, (size_t)column_bytes(r, k0),
			      (size_t)column_bytes(r, k), p->flip, out + 4ul * v);
}

/* @k elements from @k0 on of both vectors, as words. */
static void load_words(const struct fast_run *r, struct grouped_strip *s, uint32_t k0,
		       uint32_t k, const int32_t *zero, uint8_t *out)
{
	const struct grouped_plan *p = plan_of(r);
	const struct uma_tensor_view *b = view(r, UMA_SLOT_B);
	const uint32_t steps = (uint32_t)uma_divup(k, 32 / p->bits);
	uint8_t *blocks = (uint8_t *)r->scratch + p->blocks_at;
	struct fast_pack_source from;
	uint32_t v, n, packed = UINT32_MAX, idx[UMA_MAX_RANK];

	if (p->along) {
		load_rows(r, s, k0, k, out);
		return;
	}
	for (v = 0; v < 2; v++) {
		/* Columns beyond the last may be any valid ones. */
		n = v * p->k->vl < s->n ? s->n0 + v * p->k->vl : s->n0;
		if (b->layout != UMA_LAYOUT_STRIDED) {
			const uint64_t at = uma_packed_addr(b, r->prog->cap, s->batch, k0, n);

			p->k->expand((const uint8_t *)(uintptr_t)at + n % p->bn * 4, 4ul * p->bn,
				     steps, p->bits, p->flip,
				     is_bf16(p) ? zero + v * p->k->vl : NULL,
				     out + v * 4ul * p->k->vl);
			continue;
		}
		if (packed != n / 16) {
			batch_index(r, s->batch, idx);
			from = (struct fast_pack_source){
				.p = (const uint8_t *)fast_ptr(b) +
				     uma_tensor_offset(b, idx) * (int64_t)p->bits / 8,
				.ks = b->strides[b->rank - 2], .ns = b->strides[b->rank - 1],
				.k = p->depth, .n = p->n, .bits = p->bits,
			};
			packed = n / 16;
			fast_pack_words_avx2(&from, k0, steps, 16 * packed, 1, blocks, 64, 0);
		}
		p->k->expand(blocks + n % 16 * 4, 64, steps, p->bits, p->flip,
			     is_bf16(p) ? zero + v * p->k->vl : NULL, out + v * 4ul * p->k->vl);
	}
}

/* Sums of the columns of a group, with the row of ones. */
static void column_sums(const struct fast_run *r, const uint8_t *words, uint32_t g, int32_t *sum)
{
	const struct grouped_plan *p = plan_of(r);
	const uint8_t *row = row_at(r, p->rows);
	float one[GROUPED_STRIP], out[GROUPED_STRIP];
	const struct grouped_call c = {
		.a = row + 4ul * g * words_of(p, p->group), .b = words, .groups = 1,
		.last = words_of(p, (uint32_t)uma_roundup(group_len(p, g), 4)), .b_scale = one,
		.a_sum = row + p->meta, .c = out, .c_row = GROUPED_STRIP,
	};
	uint32_t i;

	for (i = 0; i < GROUPED_STRIP; i++)
		one[i] = 1;
	p->k->fn[0][GROUPED_PLAIN](&c);
	for (i = 0; i < 2 * p->k->vl; i++)
		sum[i] = (int32_t)out[i];
}

/* Repeat the rows of tables if a scale applies to several groups of sums. */
static void repeat_rows(float *table, uint32_t rows, uint32_t times, uint32_t nb)
{
	uint32_t i;

	for (i = rows * times; times > 1 && i-- > 0;)
		memmove(table + i * nb, table + i / times * nb, 4ul * nb);
}

/* The same for blocks. */
static void load_blocks(const struct fast_run *r, struct grouped_strip *s, uint32_t g0,
			uint32_t count)
{
	const struct grouped_plan *p = plan_of(r);
	const struct uma_tensor_view *b = view(r, UMA_SLOT_B);
	const struct uma_dtype_block block = uma_dtype_block(b->dtype);
	const uint32_t nb = 2 * p->k->vl, k = count * p->group, rows = k / p->own;
	const size_t at = (size_t)(g0 * p->group >> block.shift) * block.bytes;
	const float factor = tensor_scale(view(r, UMA_SLOT_A));
	uint8_t *scratch = r->scratch, *words = scratch + p->words_at;
	float *scale = (float *)(scratch + p->scale_at), *min = (float *)(scratch + p->min_at);
	int32_t *zero = (int32_t *)(scratch + p->zero_at), *sum = (int32_t *)(scratch + p->sum_at);
	uint32_t i;

	if (!s->found)
		grouped_columns_of(r, s, s->col);
	s->found = true;
	for (i = 0; i < nb; i += p->k->vl) {
		p->k->blocks(s->col + i, b->dtype, at, k >> block.shift, p->flip, words + 4ul * i);
		p->k->tables(s->col + i, b->dtype, at, k >> block.shift, scale + i, min + i, nb);
	}
	repeat_rows(scale, rows, p->own / p->group, nb);
	if (p->mins)
		repeat_rows(min, rows, p->own / p->group, nb);
	for (i = 0; factor != 1 && i < count * nb; i++) {
		scale[i] *= factor;
		if (p->mins)
			min[i] *= factor;
	}
	for (i = 0; (p->zeros || p->bf16) && i < count * nb; i++)
		zero[i] = p->b_shift;
	for (i = 0; p->zeros && i < count; i++)
		column_sums(r, words + 4ul * nb * i * words_of(p, p->group), g0 + i, sum + i * nb);
}

int grouped_load_columns(const struct fast_run *r, struct grouped_strip *s, uint32_t g0,
			 uint32_t count)
{
	const struct grouped_plan *p = plan_of(r);
	uint8_t *scratch = r->scratch, *words = scratch + p->words_at;
	float *scale = (float *)(scratch + p->scale_at), *min = (float *)(scratch + p->min_at);
	int32_t *zero = (int32_t *)(scratch + p->zero_at), *sum = (int32_t *)(scratch + p->sum_at);
	const uint32_t nb = 2 * p->k->vl, k0 = g0 * p->group;
	const size_t each = 4ul * nb * words_of(p, p->group);
	uint32_t i;

	if (p->size) {
		load_blocks(r, s, g0, count);
		return 0;
	}
	if (load_tables(r, s, g0, count, scale, min, zero))
		return -1;
	/* Zero points are subtracted from bf16, and each group has its own. */
	for (i = 0; is_bf16(p) && i < count; i++)
		load_words(r, s, (g0 + i) * p->group, group_len(p, g0 + i), zero + i * nb,
			   words + i * each);
	if (!is_bf16(p))
		load_words(r, s, k0, UMA_MIN(count * p->group, p->depth - k0), NULL, words);
	for (i = 0; p->zeros && i < count; i++)
		column_sums(r, words + i * each, g0 + i, sum + i * nb);
	return 0;
}

/* --- elements ---------------------------------------------------------------------- */

static float value(const struct fast_run *r, uint32_t slot, const uint32_t *idx)
{
	const struct uma_tensor_view *t = view(r, slot);
	struct uma_run run = fast_model_run(r);
	const struct uma_row row = {
		.slot = slot, .off = uma_tensor_offset(t, idx), .stride = 1, .n = 1, .idx = idx,
		.axis = t->rank - 1u,
	};
	const float *x;
	float tmp = 0;

	x = uma_row_f32(&run, &row, r->rows_scratch, &tmp);
	return x ? *x : 0;
}

/* An element of packed B. */
static float packed_value(const struct fast_run *r, uint64_t batch, const uint32_t *idx)
{
	const struct grouped_plan *p = plan_of(r);
	const struct uma_tensor_view *b = view(r, UMA_SLOT_B);
	const uint32_t k = idx[b->rank - 2], n = idx[b->rank - 1], in = k % (32 / p->bits);
	const uint64_t at = uma_packed_addr(b, r->prog->cap, batch, k, n) + n % p->bn * 4 + in % 4;
	int32_t raw = *(const uint8_t *)(uintptr_t)at >> 4 * (in / 4) & ((1 << p->bits) - 1);

	if (uma_wide_dtype(b->dtype) == UMA_DTYPE_S8 && raw >> (p->bits - 1))
		raw -= 1 << p->bits;
	return (float)((int64_t)raw - zero_of(b, idx)) *
	       (b->quant > UMA_QUANT_TENSOR ?
		table_at(r, b, b->scale_addr, uma_table_index(b, idx)) : tensor_scale(b)) +
	       (b->min_addr ? table_at(r, b, b->min_addr, uma_table_index(b, idx)) : 0);
}

/* An element of A that was rounded. */
static float rounded_value(const struct fast_run *r, uint64_t batch, const uint32_t *idx)
{
	const struct grouped_plan *p = plan_of(r);
	const uint32_t rank = view(r, UMA_SLOT_A)->rank, k = idx[rank - 1];
	uint8_t *row = row_at(r, batch * p->m + idx[rank - 2]);
	const float *scale = meta(p, row, SCALE);
	const int32_t q = p->k->word == 2 ? ((const int16_t *)row)[wide_place_of(p, k)] :
					    (int8_t)row[place_of(p, k)];
	float x;

	if (p->bf16) {
		r->prog->rows->to_f32[UMA_DTYPE_BF16](&x, row + 2ul * place_of(p, k), 1);
		return x;
	}
	return (float)q * scale[k / p->group];
}

float grouped_load_element(const struct fast_run *r, uint32_t slot, uint64_t batch,
			   const uint32_t *idx)
{
	if (slot == UMA_SLOT_A && r->prog->op->a_group)
		return rounded_value(r, batch, idx);
	if (slot == UMA_SLOT_B && view(r, slot)->layout != UMA_LAYOUT_STRIDED)
		return packed_value(r, batch, idx);
	return value(r, slot, idx);
}

// SPDX-License-Identifier: MIT
/*
 * Sums of convolutions over their taps with AMX.
 *
 * 32 outputs by 32 channels stay in four tiles for all taps: 64 bytes of the inputs of 16
 * outputs are a tile of A, one row for each output, with any stride between their inputs, and
 * the packed weights for 64 bytes of a tap are a tile of B. Four tile loads for four products,
 * as in amx_block.h for GEMM; the rest of a tap, less than 64 bytes, is copied and padded with
 * zeros.
 *
 * Measured on one core of an Emerald Rapids, compared with the 512-bit kernels: 3x3 with 256
 * channels at 14x14 1230 GFLOP/s for bf16 and 85, 2060 GOP/s for bytes and 530; 64 channels at
 * 56x56, where a tap is one step of bytes, 1100 GOP/s and 440.
 */
#include "libaccel/sw/kernels/vec/amx_block.h"
#include "conv_fast.h"

/* All taps of @rows outputs from @m0 on. */
static inline __attribute__((always_inline))
void sum_taps(const struct conv_block *g, uint32_t m0, uint32_t rows, struct amx_tails *t,
	      int type, int bottom, int right)
{
	/* Merged taps of a row: half a word of the last step belongs to the next output. */
	const uint32_t bytes = 4 * g->k - (g->tail ? 2 : 0);
	const uint32_t steps = bytes / AMX_STEP, rest = bytes % AMX_STEP;
	const struct amx_panels tail = {
		t->a[0], t->a[AMX_ROWS], t->b[0][0], t->b[1][0], AMX_STEP, AMX_STEP
	};
	uint8_t *c = g->acc + m0 * g->acc_ms;
	uint32_t y, x, i;

	amx_sums_in(c, g->acc_ms, 1, bottom, right);
	for (y = 0; y < g->rows; y++)
		for (x = 0; x < g->cols; x++) {
			const uint8_t *a = g->a + m0 * g->a_ms + y * g->a_y + x * g->a_x;
			const uint8_t *b = g->b + y * g->b_y + x * g->b_x;
			const struct amx_product ends = { .a = a, .a_ms = g->a_ms };
			struct amx_panels p = {
				a, a + AMX_ROWS * g->a_ms, b, b + g->b_ns, g->a_ms, g->b_ks
			};

			for (i = 0; i < steps; i++) {
				amx_step(&p, type, bottom, right);
				p.a0 += AMX_STEP;
				p.a1 += AMX_STEP;
				p.b0 += AMX_ROWS * p.b_ks;
				p.b1 += AMX_ROWS * p.b_ks;
			}
			if (!rest)
				continue;
			amx_tail_a(&ends, 0, rows, steps * AMX_STEP, rest, t);
			amx_tail_b(p.b0, g->b_ks, rest, t->b[0]);
			if (right)
				amx_tail_b(p.b1, g->b_ks, rest, t->b[1]);
			amx_settle(t);
			amx_step(&tail, type, bottom, right);
		}
	amx_sums_out(c, g->acc_ms, bottom, right);
}

static inline __attribute__((always_inline))
void sum_type(const struct conv_block *g, uint32_t outputs, int type)
{
	const int right = g->acc_ms > AMX_STEP;
	uint32_t m0, rows, set = 0;
	struct amx_tails t;

	for (m0 = 0; m0 < outputs; m0 += 2 * AMX_ROWS) {
		rows = UMA_MIN(outputs - m0, 2 * AMX_ROWS);
		if (rows != set)
			amx_configure(UMA_MIN(rows, AMX_ROWS),
				      rows < AMX_ROWS ? 0 : rows - AMX_ROWS);
		set = rows;
		if (rows > AMX_ROWS && right)
			sum_taps(g, m0, rows, &t, type, 1, 1);
		else if (rows > AMX_ROWS)
			sum_taps(g, m0, rows, &t, type, 1, 0);
		else if (right)
			sum_taps(g, m0, rows, &t, type, 0, 1);
		else
			sum_taps(g, m0, rows, &t, type, 0, 0);
	}
	_tile_release();
}

void conv_taps_s8s8_amx(const struct conv_block *g, uint32_t outputs)
{
	sum_type(g, outputs, AMX_SS);
}

void conv_taps_s8u8_amx(const struct conv_block *g, uint32_t outputs)
{
	sum_type(g, outputs, AMX_SU);
}

void conv_taps_u8s8_amx(const struct conv_block *g, uint32_t outputs)
{
	sum_type(g, outputs, AMX_US);
}

void conv_taps_u8u8_amx(const struct conv_block *g, uint32_t outputs)
{
	sum_type(g, outputs, AMX_UU);
}

void conv_taps_bf16_amx(const struct conv_block *g, uint32_t outputs)
{
	sum_type(g, outputs, AMX_BF16);
}

/* SPDX-License-Identifier: MIT */
/*
 * Products of blocks with AMX.
 *
 * Four tiles of sums, 32 rows by 32 columns, two of A, two of B: a step of 64 bytes along K has
 * four tile loads for four products, 32 cycles of loads in parallel with 64 of products. A is
 * read directly, as rows of contiguous elements; B is panels of 16 columns with 4 bytes of K
 * contiguous for each, which is the format of a tile of B and of packed weights. The rest of K,
 * less than 64 bytes, is copied and padded with zeros, so nothing after a row is read.
 *
 * Included once by each user, which defines the tile instructions as macros: the kernels, with
 * those of the compiler, and a test, with some written in C.
 *
 * Measured on one core of an Emerald Rapids, whose AMX reaches 4698 GOP/s for bytes and 2349
 * GFLOP/s for bf16 on registers alone, with K = N = 512, strips of 32 columns and 256 rows:
 * 2960 (63 %) and 1370 (58 %); 1024: 2680 and 1190; 2048: 2500 and 1070. Contiguous rows of A
 * gain 8 %, prefetching them loses 10 to 20 %. Configuring takes 71 ns, as much as 160 bytes of
 * K for 32 rows and columns.
 */
#ifndef FAST_AMX_BLOCK_H
#define FAST_AMX_BLOCK_H

#include <stdint.h>
#include <string.h>
#include <immintrin.h>

/** AMX_STEP: bytes of K in a tile */
#define AMX_STEP		64u
/** AMX_ROWS: rows of a tile */
#define AMX_ROWS		16u

/** enum amx_type - types: A by B, signed or unsigned bytes, or bf16 */
enum amx_type {
	AMX_SS,
	AMX_SU,
	AMX_US,
	AMX_UU,
	AMX_BF16
};

/**
 * struct amx_product - a product of blocks
 * @a: rows of A
 * @a_ms: stride of the rows in bytes
 * @b: panels of B, aligned like their elements
 * @b_ks: bytes from 4 bytes of K to the next
 * @b_ns: bytes from a pair of panels to the next
 * @b_odd: bytes from the first panel of a pair to the second
 * @c: sums, row-major, room for whole panels
 * @c_ms: stride of the rows in bytes
 * @m: rows
 * @panels: panels of 16 columns
 * @k: bytes of K
 * @kc: bytes of K at once, a multiple of 64, for which 32 rows of A stay in L1
 * @accumulate: add to @c
 */
struct amx_product {
	const uint8_t *a;
	int64_t a_ms;
	const uint8_t *b;
	int64_t b_ks;
	int64_t b_ns;
	int64_t b_odd;
	uint8_t *c;
	int64_t c_ms;
	uint32_t m;
	uint32_t panels;
	uint32_t k;
	uint32_t kc;
	uint32_t accumulate;
};

/* Operand of LDTILECFG. */
struct amx_config {
	uint8_t palette;
	uint8_t start_row;
	uint8_t reserved[14];
	uint16_t colsb[16];
	uint8_t rows[16];
} __attribute__((aligned(64)));

/* The ends of rows along K, padded with zeros. */
struct amx_tails {
	uint8_t a[2 * AMX_ROWS][AMX_STEP];
	uint8_t b[2][AMX_ROWS][AMX_STEP];
} __attribute__((aligned(64)));

/* The compiler does not know what tile loads read: force stores to be complete. */
static inline void amx_settle(const void *p)
{
	__asm__ volatile ("" :: "r"(p) : "memory");
}

/* Tiles 0 to 3: sums, 4 and 5: A, 6 and 7: B; the second of two rows of tiles may be missing. */
static inline void amx_configure(uint32_t top, uint32_t bottom)
{
	static const uint8_t below[8] = { 0, 0, 1, 1, 0, 1, 2, 2 };
	const uint32_t rows[3] = { top, bottom, AMX_ROWS };
	struct amx_config c = { .palette = 1 };
	uint32_t i;

	for (i = 0; i < 8; i++) {
		c.rows[i] = (uint8_t)rows[below[i]];
		c.colsb[i] = c.rows[i] ? AMX_STEP : 0;
	}
	amx_settle(&c);
	_tile_loadconfig(&c);
}

/* The type is a constant in all uses. */
#define AMX_DOT(type, c, a, b) do {			\
	switch (type) {					\
	case AMX_SS:					\
		_tile_dpbssd(c, a, b);			\
		break;					\
	case AMX_SU:					\
		_tile_dpbsud(c, a, b);			\
		break;					\
	case AMX_US:					\
		_tile_dpbusd(c, a, b);			\
		break;					\
	case AMX_UU:					\
		_tile_dpbuud(c, a, b);			\
		break;					\
	default:					\
		_tile_dpbf16ps(c, a, b);		\
		break;					\
	}						\
} while (0)

/** struct amx_panels - operands of a step, and the strides between steps */
struct amx_panels {
	const uint8_t *a0;
	const uint8_t *a1;
	const uint8_t *b0;
	const uint8_t *b1;
	int64_t a_ms;
	int64_t b_ks;
};

/*
 * All loads first: where other work runs on the same core, each load between two products delays
 * the second one.
 */
static inline __attribute__((always_inline))
void amx_step(const struct amx_panels *p, int type, int bottom, int right)
{
	_tile_loadd(6, p->b0, p->b_ks);
	_tile_loadd(4, p->a0, p->a_ms);
	if (right)
		_tile_loadd(7, p->b1, p->b_ks);
	if (bottom)
		_tile_loadd(5, p->a1, p->a_ms);
	AMX_DOT(type, 0, 4, 6);
	if (right)
		AMX_DOT(type, 1, 4, 7);
	if (bottom)
		AMX_DOT(type, 2, 5, 6);
	if (bottom && right)
		AMX_DOT(type, 3, 5, 7);
}

static inline __attribute__((always_inline))
void amx_sums_in(uint8_t *c, int64_t c_ms, int load, int bottom, int right)
{
	if (load) {
		_tile_loadd(0, c, c_ms);
		if (right)
			_tile_loadd(1, c + AMX_STEP, c_ms);
		if (bottom)
			_tile_loadd(2, c + AMX_ROWS * c_ms, c_ms);
		if (bottom && right)
			_tile_loadd(3, c + AMX_ROWS * c_ms + AMX_STEP, c_ms);
		return;
	}
	_tile_zero(0);
	if (right)
		_tile_zero(1);
	if (bottom)
		_tile_zero(2);
	if (bottom && right)
		_tile_zero(3);
}

static inline __attribute__((always_inline))
void amx_sums_out(uint8_t *c, int64_t c_ms, int bottom, int right)
{
	_tile_stored(0, c, c_ms);
	if (right)
		_tile_stored(1, c + AMX_STEP, c_ms);
	if (bottom)
		_tile_stored(2, c + AMX_ROWS * c_ms, c_ms);
	if (bottom && right)
		_tile_stored(3, c + AMX_ROWS * c_ms + AMX_STEP, c_ms);
}

/* Up to 32 x 32 sums over @steps steps, and @tail if there is one. */
static inline __attribute__((always_inline))
void amx_block(struct amx_panels p, uint32_t steps, const struct amx_panels *tail,
	       uint8_t *c, int64_t c_ms, int load, int type, int bottom, int right)
{
	amx_sums_in(c, c_ms, load, bottom, right);
	while (steps--) {
		amx_step(&p, type, bottom, right);
		p.a0 += AMX_STEP;
		p.a1 += AMX_STEP;
		p.b0 += AMX_ROWS * p.b_ks;
		p.b1 += AMX_ROWS * p.b_ks;
	}
	if (tail)
		amx_step(tail, type, bottom, right);
	amx_sums_out(c, c_ms, bottom, right);
}

static inline void amx_tail_a(const struct amx_product *g, uint32_t m0, uint32_t rows,
			      uint32_t k0, uint32_t bytes, struct amx_tails *t)
{
	uint32_t i;

	const uint64_t mask = ((uint64_t)1 << bytes) - 1;

	for (i = 0; i < rows; i++) {
		const uint8_t *row = (const uint8_t *)g->a + (m0 + i) * g->a_ms + k0;

		_mm512_store_si512(t->a[i], _mm512_maskz_loadu_epi8(mask, row));
	}
}

static inline void amx_tail_b(const uint8_t *b, int64_t b_ks, uint32_t bytes,
			      uint8_t (*t)[AMX_STEP])
{
	uint32_t rows = (bytes + 3) / 4, i;

	for (i = 0; i < AMX_ROWS; i++)
		_mm512_store_si512(t[i], i < rows ? _mm512_loadu_si512(b + i * b_ks) :
						    _mm512_setzero_si512());
}

/* Rows m0 .. m0 + rows over bytes k0 .. k0 + kc of K, all panels. */
static inline __attribute__((always_inline))
void amx_rows(const struct amx_product *g, uint32_t m0, uint32_t rows, uint32_t k0, uint32_t kc,
	      struct amx_tails *t, int load, int type)
{
	const uint32_t steps = kc / AMX_STEP, rest = kc % AMX_STEP;
	const struct amx_panels tail = {
		t->a[0], t->a[AMX_ROWS], t->b[0][0], t->b[1][0], AMX_STEP, AMX_STEP
	};
	const struct amx_panels *const end = rest ? &tail : NULL;
	const uint8_t *a = g->a + m0 * g->a_ms + k0;
	uint32_t j;

	if (rest)
		amx_tail_a(g, m0, rows, k0 + steps * AMX_STEP, rest, t);
	for (j = 0; j < g->panels; j += 2) {
		const uint8_t *b = g->b + j / 2 * g->b_ns + (int64_t)(k0 / 4) * g->b_ks;
		const struct amx_panels p = {
			a, a + AMX_ROWS * g->a_ms, b, b + g->b_odd, g->a_ms, g->b_ks
		};
		uint8_t *c = g->c + m0 * g->c_ms + (uint64_t)j * AMX_STEP;
		const int right = j + 1 < g->panels, bottom = rows > AMX_ROWS;

		if (rest) {
			const int64_t at = steps * AMX_ROWS * g->b_ks;

			amx_tail_b(p.b0 + at, g->b_ks, rest, t->b[0]);
			if (right)
				amx_tail_b(p.b1 + at, g->b_ks, rest, t->b[1]);
		}
		amx_settle(t);
		if (bottom && right)
			amx_block(p, steps, end, c, g->c_ms, load, type, 1, 1);
		else if (bottom)
			amx_block(p, steps, end, c, g->c_ms, load, type, 1, 0);
		else if (right)
			amx_block(p, steps, end, c, g->c_ms, load, type, 0, 1);
		else
			amx_block(p, steps, end, c, g->c_ms, load, type, 0, 0);
	}
}

/*
 * A whole product. The tiles are configured here, because the thread may have run other code
 * before; the caller releases them.
 */
static inline __attribute__((always_inline))
void amx_product_of(const struct amx_product *g, int type)
{
	uint32_t set = 0, k0, m0;
	struct amx_tails t;

	for (k0 = 0; k0 < g->k; k0 += g->kc) {
		uint32_t kc = g->k - k0 < g->kc ? g->k - k0 : g->kc;

		for (m0 = 0; m0 < g->m; m0 += 2 * AMX_ROWS) {
			uint32_t rows = g->m - m0 < 2 * AMX_ROWS ? g->m - m0 : 2 * AMX_ROWS;

			if (rows != set)
				amx_configure(rows < AMX_ROWS ? rows : AMX_ROWS,
					      rows < AMX_ROWS ? 0 : rows - AMX_ROWS);
			set = rows;
			amx_rows(g, m0, rows, k0, kc, &t, k0 || g->accumulate, type);
		}
	}
}

#endif /* FAST_AMX_BLOCK_H */

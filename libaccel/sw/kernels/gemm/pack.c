// SPDX-License-Identifier: MIT
/*
 * PACK: a matrix into the blocks of an engine; tiles are panels of a cache line of its rows.
 * The header is written when all of the payload is complete, as in the model.
 */
#include <string.h>
#include "libaccel/sw/kernels/classes.h"
#include "pack.h"

/* Bytes of a row in a tile, and approximate size of a tile */
#define LINE		64u
#define TILE_BYTES	(256u * 1024u)

/**
 * struct pack_plan - a prepared operation
 * @from: a matrix, without its address
 * @steps: words of a column
 * @panels: groups of 16 columns, whole panels of the engine
 * @wide: number of these in a tile
 * @deep: steps of a tile
 * @across: tiles along N
 * @down: tiles along K
 * @step: bytes from a column's word to its next
 */
struct pack_plan {
	struct fast_pack_source from;
	uint32_t steps;
	uint32_t panels;
	uint32_t wide;
	uint32_t deep;
	uint32_t across;
	uint32_t down;
	uint32_t step;
};

_Static_assert(sizeof(struct pack_plan) <= sizeof(((struct fast_prog *)0)->priv), "priv");

static int pack_prepare(struct fast_prog *f)
{
	const struct uma_tensor_view *d = &f->op->t[UMA_SLOT_DST], *a = &f->op->t[UMA_SLOT_A];
	struct pack_plan *p = (struct pack_plan *)f->priv;
	const uint32_t bits = uma_dtype_bits(d->dtype), bn = uma_le16(f->cap->block_n);
	uint64_t tiles = 1;
	uint32_t i;

	if (!(f->cpu->isa & FAST_AVX2) || d->layout != UMA_LAYOUT_GEMM_B || uma_tensor_empty(d) ||
	    uma_le16(f->cap->block_k) * bits != 32 || bn % 16)
		return 0;
	p->from = (struct fast_pack_source){
		.ks = a->strides[a->rank - 2], .ns = a->strides[a->rank - 1],
		.k = d->dims[d->rank - 2], .n = d->dims[d->rank - 1], .bits = bits,
	};
	p->steps = (uint32_t)uma_divup(p->from.k, 32 / bits);
	p->panels = (uint32_t)uma_divup(p->from.n, bn) * (bn / 16);
	p->step = 4 * bn;
	/* Panels of the engine are not divided. */
	p->wide = (uint32_t)uma_roundup(UMA_MAX(LINE * 8 / bits / 16, 1u), bn / 16);
	p->deep = UMA_MAX(TILE_BYTES / (64 * p->wide) / 16 * 16, 16u);
	p->across = (uint32_t)uma_divup(p->panels, p->wide);
	p->down = (uint32_t)uma_divup(p->steps, p->deep);
	for (i = 0; i + 2 < d->rank; i++)
		tiles *= d->dims[i];
	if (__builtin_mul_overflow(tiles, (uint64_t)p->across * p->down, &tiles) ||
	    tiles > UINT32_MAX)
		return 0;
	f->phase_count = 2;
	f->tiles[0] = (uint32_t)tiles;
	f->tiles[1] = 1;
	return 1;
}

static int pack_tile(const struct fast_run *r, uint32_t phase, uint32_t tile)
{
	const struct uma_tensor_view *d = &r->prog->op->t[UMA_SLOT_DST];
	const struct uma_tensor_view *a = &r->prog->op->t[UMA_SLOT_A];
	const struct pack_plan *p = (const void *)r->prog->priv;
	const uint32_t bn = p->step / 4, first = tile / p->down % p->across * p->wide;
	const uint32_t s = tile % p->down * p->deep, batch = tile / (p->across * p->down);
	const uint32_t last = UMA_MIN(first + p->wide, p->panels);
	const uint64_t panel = (uint64_t)p->steps * p->step;
	struct fast_pack_source from = p->from;
	struct uma_packed_header header;
	uint32_t i, rest = batch;
	int64_t off = 0;
	uint8_t *out;

	if (phase) {
		uma_packed_header_make(d, r->prog->program->engine, r->prog->cap, &header);
		memcpy(fast_ptr(d), &header, sizeof(header));
		return 0;
	}
	for (i = d->rank - 2u; i-- > 0; rest /= d->dims[i])
		off += (int64_t)(rest % d->dims[i]) * a->strides[i];
	from.odd = from.bits == 4 && (off & 1);
	from.p = (const uint8_t *)fast_ptr(a) + ((off * (int64_t)from.bits) >> 3);
	out = (uint8_t *)fast_ptr(d) + sizeof(header) + batch * (p->panels / (bn / 16)) * panel;
	/* Panels of 16 columns are consecutive, vectors of wider ones interleaved. */
	for (i = first; i < last; i += bn > 16 ? bn / 16 : last - first)
		fast_pack_words_avx2(&from, s * (32 / from.bits), UMA_MIN(p->deep, p->steps - s),
				     16 * i, bn > 16 ? bn / 16 : last - first,
				     out + i / (bn / 16) * panel + (uint64_t)s * p->step, p->step,
				     bn > 16 ? 64 : panel);
	return 0;
}

const struct fast_class fast_pack = {
	.name = "pack",
	.prepare = pack_prepare,
	.tile = pack_tile,
};

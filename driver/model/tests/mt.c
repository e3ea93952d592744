// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Memory, tasks and runs for the model's tests. */
#include <stdlib.h>
#include <string.h>

#include "mt.h"

/* The same in the words of two compilers. */
#ifdef __SANITIZE_ADDRESS__
#define MT_ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MT_ASAN
#endif
#endif

uint32_t mt_rand(struct mt_rng *r)
{
	/* splitmix64 */
	uint64_t z = (r->s += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return (uint32_t)((z ^ (z >> 31)) >> 16);
}

uint32_t mt_below(struct mt_rng *r, uint32_t n)
{
	return (uint32_t)(((uint64_t)mt_rand(r) * n) >> 32);
}

int mt_one_in(struct mt_rng *r, uint32_t n)
{
	return mt_below(r, n) == 0;
}

uint32_t mt_bits(float f)
{
	uint32_t b;

	memcpy(&b, &f, 4);
	return b;
}

float mt_float(uint32_t bits)
{
	float f;

	memcpy(&f, &bits, 4);
	return f;
}

/* --- memory --------------------------------------------------------------- */

static uint8_t *frame_of(const struct mt_home *h, uint32_t i)
{
#ifdef MT_ASAN
	return h->own[i];
#else
	return h->bytes + (size_t)h->frame[i] * h->page;
#endif
}

static void *mt_map(struct uma_mem *mem, __u64 addr, __u64 *len,
		    enum uma_access access)
{
	struct mt_home *h = (struct mt_home *)((char *)mem - offsetof(struct mt_home, mem));
	uint64_t off, room;

	h->maps++;
	if (addr < h->lo || addr >= h->hi) {
		mem->fault.reason = access == UMA_ACCESS_WRITE ?
			UMA_FAULT_WRITE : UMA_FAULT_READ;
		mem->fault.addr = addr;
		return NULL;
	}
	if (*len > h->hi - addr)
		*len = h->hi - addr;
	off = addr - MT_BASE;
	if (!h->page)
		return h->bytes + off;
	room = h->page - off % h->page;
	if (*len > room)
		*len = room;
	return frame_of(h, (uint32_t)(off / h->page)) + off % h->page;
}

static const struct uma_mem_ops mt_ops = { .map = mt_map };

void mt_home_open_part(struct mt_home *h, const uint8_t *image, uint32_t size, uint32_t page,
		       struct mt_rng *rng)
{
	uint32_t i, n;

	memset(h, 0, sizeof(*h));
	h->mem.ops = &mt_ops;
	h->page = page;
	h->size = size;
	h->lo = MT_BASE;
	h->hi = MT_BASE + size;
	h->bytes = malloc(size);
	if (!page) {
		memcpy(h->bytes, image, size);
		return;
	}
	n = size / page;
#ifdef MT_ASAN
	/* Every page by itself: running over its end is seen at once. */
	(void)rng;
	h->own = malloc(n * sizeof(*h->own));
	for (i = 0; i < n; i++)
		h->own[i] = malloc(page);
#else
	h->frame = malloc(n * sizeof(*h->frame));
	for (i = 0; i < n; i++) {
		uint32_t j = mt_below(rng, i + 1);

		h->frame[i] = h->frame[j];
		h->frame[j] = i;
	}
#endif
	for (i = 0; i < n; i++)
		memcpy(frame_of(h, i), image + (size_t)i * page, page);
}

void mt_home_open(struct mt_home *h, const uint8_t *image, uint32_t page,
		  struct mt_rng *rng)
{
	mt_home_open_part(h, image, MT_SIZE, page, rng);
}

void mt_home_close(struct mt_home *h, uint8_t *image)
{
	uint32_t i;

	if (!h->page)
		memcpy(image, h->bytes, h->size);
	else
		for (i = 0; i < h->size / h->page; i++)
			memcpy(image + (size_t)i * h->page, frame_of(h, i), h->page);
#ifdef MT_ASAN
	for (i = 0; h->page && i < h->size / h->page; i++)
		free(h->own[i]);
	free(h->own);
#endif
	free(h->frame);
	free(h->bytes);
}

/* --- tasks ---------------------------------------------------------------- */

void mt_task_init(struct mt_task *t, uint8_t *image, uint64_t seed, int opcode)
{
	memset(&t->task, 0, sizeof(t->task));
	t->task.version = UMA_TASK_VERSION;
	t->task.opcode = (uint16_t)opcode;
	t->image = image;
	t->used = 0;
	t->rng.s = seed;
}

uint64_t mt_alloc(struct mt_task *t, uint64_t bytes, uint32_t align)
{
	uint64_t at = (t->used + align - 1) / align * align;

	if (at + bytes > MT_SIZE)
		abort();
	/* A gap, so that neighbours that are not to be touched exist. */
	t->used = (uint32_t)(at + bytes + 1 + mt_below(&t->rng, 40));
	return MT_BASE + at;
}

uint32_t mt_size(const struct mt_task *t)
{
	const uint32_t size = (t->used + 4095) / 4096 * 4096;

	return size < MT_SIZE ? size : MT_SIZE;
}

static int bits_of(int dtype)
{
	static const int bits[UMA_DTYPE_COUNT] = { 0, 32, 16, 16, 32, 8, 8, 4, 4 };

	return bits[dtype];
}

static uint32_t random_float(struct mt_rng *r, int dtype, int special)
{
	float f = ((int)mt_below(r, 4001) - 2000) / 1000.0f;
	uint32_t b;

	if (special && mt_one_in(r, 6)) {
		static const uint32_t odd[] = {
			0x7f800000, 0xff800000, 0x7fc00000, 0x80000000, 0x00000001,
			0x807fffff, 0x7f7fffff, 0x00800000, 0x477fe000, 0x33000000,
		};

		b = odd[mt_below(r, sizeof(odd) / sizeof(odd[0]))];
		return dtype == UMA_DTYPE_F32 ? b : dtype == UMA_DTYPE_BF16 ? b >> 16 :
			(b >> 16 & 0x8000) | (mt_rand(r) & 0x7fff);
	}
	b = mt_bits(f);
	if (dtype == UMA_DTYPE_F32)
		return b;
	if (dtype == UMA_DTYPE_BF16)
		return b >> 16;
	/* |f| is 0 or between 2^-10 and 2: a normal binary16. */
	if (!(b << 1))
		return 0;
	return (b >> 16 & 0x8000) | (((b & 0x7fffffff) - (112u << 23)) >> 13);
}

void mt_contents(struct mt_task *t, int slot, int special)
{
	struct uma_operand *o = &t->task.op[slot];
	int bits = bits_of(o->dtype);
	int64_t lo = 0, hi = 0, i;

	for (i = 0; i < o->rank; i++) {
		int64_t reach = (int64_t)o->strides[i] * ((int64_t)o->dims[i] - 1);

		if (!o->dims[i])
			return;
		if (reach < 0)
			lo += reach;
		else
			hi += reach;
	}
	for (i = lo; i <= hi; i++) {
		uint8_t *p = t->image + (o->addr - MT_BASE) +
			(bits == 4 ? i >> 1 : i * (bits / 8));
		uint32_t v = mt_rand(&t->rng);

		if (o->dtype == UMA_DTYPE_S32 && !special)
			v = (uint32_t)((int)(v % 20001) - 10000);
		if (o->dtype >= UMA_DTYPE_F32 && o->dtype <= UMA_DTYPE_BF16)
			v = random_float(&t->rng, o->dtype, special);
		memcpy(p, &v, bits == 4 ? 1 : (size_t)bits / 8);
	}
}

void mt_operand(struct mt_task *t, int slot, int dtype, int rank,
		const uint32_t *dims, int style)
{
	struct uma_operand *o = &t->task.op[slot];
	int bits = bits_of(dtype), nibbles = bits == 4;
	int order[UMA_MAX_RANK], i, j;
	int64_t step = 1, lo = 0, hi = 0;
	uint64_t bytes;

	t->task.slots |= 1u << slot;
	o->dtype = (uint16_t)dtype;
	o->rank = (uint16_t)rank;
	for (i = 0; i < rank; i++) {
		o->dims[i] = dims[i];
		order[i] = rank - 1 - i;
	}
	if (style != MT_PLAIN)
		for (i = rank - 1; i > 0; i--) {
			int tmp = order[i];

			j = (int)mt_below(&t->rng, (uint32_t)i + 1);
			order[i] = order[j];
			order[j] = tmp;
		}
	for (i = 0; i < rank; i++) {
		int d = order[i], first = i == 0;
		int64_t stride;

		if (style != MT_PLAIN && mt_one_in(&t->rng, 4))
			step += first ? mt_below(&t->rng, 3) : mt_below(&t->rng, 9);
		if (nibbles && (step & 1) && !(first && step == 1))
			step++;
		stride = step;
		if (style != MT_PLAIN && mt_one_in(&t->rng, 5) && !(nibbles && stride & 1))
			stride = -stride;
		if (style == MT_BROADCAST && mt_one_in(&t->rng, 3))
			stride = 0;
		o->strides[d] = (uint64_t)stride;
		if (stride < 0)
			lo += stride * ((int64_t)dims[d] - 1);
		else
			hi += stride * ((int64_t)dims[d] - 1);
		if (dims[d])
			step = step * dims[d];
		if (nibbles && (step & 1))
			step++;
	}
	if (!dims[0])
		lo = hi = 0;
	for (i = 0; i < rank; i++)
		if (!dims[i])
			lo = hi = 0;
	bytes = nibbles ? (uint64_t)((hi >> 1) - (lo >> 1) + 1) :
			  (uint64_t)(hi - lo + 1) * (bits / 8);
	o->addr = mt_alloc(t, bytes, nibbles ? 1 : bits / 8) +
		(uint64_t)(nibbles ? -(lo >> 1) : -lo * (bits / 8));
	mt_contents(t, slot, 0);
}

/* --- blocks: what the formats say, once more ------------------------------- */

static const struct {
	int size, bytes, halves[2];
} formats[UMA_DTYPE_COUNT] = {
	[UMA_DTYPE_Q8_0] = { 32, 2 + 32, { 0, 0 } },
	[UMA_DTYPE_Q4_0] = { 32, 2 + 16, { 0, 0 } },
	[UMA_DTYPE_Q4_1] = { 32, 2 + 2 + 16, { 0, 2 } },
	[UMA_DTYPE_Q4_K] = { 256, 2 + 2 + 12 + 128, { 0, 2 } },
	[UMA_DTYPE_Q6_K] = { 256, 128 + 64 + 16 + 2, { 208, 208 } },
};

int mt_block_size(int dtype)
{
	return formats[dtype].size;
}

int mt_block_bytes(int dtype)
{
	return formats[dtype].bytes;
}

static double half(const uint8_t *p)
{
	return ref_element(UMA_DTYPE_F16, p, 0);
}

/* Number @bits bits wide at bit @at. */
static int field(const uint8_t *p, int at, int bits)
{
	return (p[at / 8] | p[(at + bits - 1) / 8] << 8 * (at / 8 != (at + bits - 1) / 8)) >>
	       at % 8 & ((1 << bits) - 1);
}

/* The scale and the minimum of run @g of 32 elements of a Q4_K, as integers. */
static void q4_k_pair(const uint8_t *p, int g, int *s, int *m)
{
	if (g < 4) {
		*s = field(p + 4, 8 * g, 6);
		*m = field(p + 8, 8 * g, 6);
		return;
	}
	*s = field(p + 12, 8 * (g - 4), 4) + 16 * field(p + 4, 8 * (g - 4) + 6, 2);
	*m = field(p + 12, 8 * (g - 4) + 4, 4) + 16 * field(p + 8, 8 * (g - 4) + 6, 2);
}

double mt_block_min(int dtype, const uint8_t *p, int i)
{
	int s, m;

	if (dtype == UMA_DTYPE_Q4_1)
		return half(p + 2);
	if (dtype != UMA_DTYPE_Q4_K)
		return 0;
	q4_k_pair(p, i / 32, &s, &m);
	return -half(p + 2) * m;
}

double mt_block_element(int dtype, const uint8_t *p, int i)
{
	int g = i / 32, low, high, s, m;

	switch (dtype) {
	case UMA_DTYPE_Q8_0:
		return half(p) * (int8_t)p[2 + i];
	case UMA_DTYPE_Q4_0:
		return half(p) * (field(p, 16 + i % 16 * 8 + i / 16 * 4, 4) - 8);
	case UMA_DTYPE_Q4_1:
		return half(p) * field(p, 32 + i % 16 * 8 + i / 16 * 4, 4) + half(p + 2);
	case UMA_DTYPE_Q4_K:
		q4_k_pair(p, g, &s, &m);
		low = field(p + 16, (i / 64 * 32 + i % 32) * 8 + i / 32 % 2 * 4, 4);
		return half(p) * s * low - half(p + 2) * m;
	default:
		low = field(p, (i / 128 * 64 + i % 64) * 8 + i / 64 % 2 * 4, 4);
		high = field(p + 128, (i / 128 * 32 + i % 32) * 8 + g % 4 * 2, 2);
		return half(p + 208) * (int8_t)p[192 + i / 16] * (low + 16 * high - 32);
	}
}

void mt_blocks(struct mt_task *t, int slot, int dtype, int rank,
	       const uint32_t *dims, int along, int style)
{
	struct uma_operand *o = &t->task.op[slot];
	int64_t size = formats[dtype].size, bytes = formats[dtype].bytes, step, lo = 0, hi = 0;
	int d, i, empty = !dims[along];
	uint8_t *p;

	t->task.slots |= 1u << slot;
	o->dtype = (uint16_t)dtype;
	o->rank = (uint16_t)rank;
	step = dims[along] / size;
	o->dims[along] = dims[along];
	o->strides[along] = 1;
	for (d = rank - 1; d >= 0; d--) {
		o->dims[d] = dims[d];
		empty |= !dims[d];
		if (d == along)
			continue;
		if (style != MT_PLAIN && mt_one_in(&t->rng, 3))
			step += mt_below(&t->rng, 3);
		o->strides[d] = (uint64_t)(step * size);
		if (style == MT_BROADCAST && mt_one_in(&t->rng, 3))
			o->strides[d] = 0;
		else if (style != MT_PLAIN && mt_one_in(&t->rng, 4))
			o->strides[d] = (uint64_t)(-step * size);
		if ((int64_t)o->strides[d] < 0)
			lo -= step * ((int64_t)dims[d] - 1);
		else if (o->strides[d])
			hi += step * ((int64_t)dims[d] - 1);
		step *= dims[d] ? dims[d] : 1;
	}
	if (empty)
		lo = hi = 0;
	hi += dims[along] / size;
	o->addr = mt_alloc(t, (uint64_t)((hi - lo) * bytes), 2);
	p = t->image + (o->addr - MT_BASE);
	o->addr += (uint64_t)(-lo * bytes);
	for (; lo < hi; lo++, p += bytes) {
		for (i = 0; i < bytes; i++)
			p[i] = (uint8_t)mt_rand(&t->rng);
		for (i = 0; i < 2; i++) {
			uint32_t v = random_float(&t->rng, UMA_DTYPE_F16, 0);

			memcpy(p + formats[dtype].halves[i], &v, 2);
		}
	}
}

void mt_quant(struct mt_task *t, int slot, int quant, int axis, uint32_t group,
	      int zeros)
{
	static const int lo[] = { 0, 0, 0, 0, -1000, -128, 0, -8, 0 };
	static const int hi[] = { 0, 0, 0, 0, 1000, 127, 255, 7, 15 };
	struct uma_operand *o = &t->task.op[slot];
	uint32_t span = (uint32_t)(hi[o->dtype] - lo[o->dtype] + 1);
	uint64_t entries = 1, i;
	int d;

	o->quant = (uint16_t)quant;
	if (quant == UMA_QUANT_TENSOR) {
		o->scale = mt_bits((1 + mt_below(&t->rng, 100)) / 64.0f);
		if (zeros)
			o->zero = (uint32_t)(lo[o->dtype] + (int)mt_below(&t->rng, span));
		return;
	}
	if (quant == UMA_QUANT_NONE)
		return;
	o->quant_axis = (uint16_t)axis;
	o->scale_dtype = mt_one_in(&t->rng, 2) ? UMA_DTYPE_F16 : UMA_DTYPE_F32;
	if (quant == UMA_QUANT_GROUP || quant == UMA_QUANT_GROUP_MIN) {
		o->quant_group = group;
		if (o->rank > 1 && mt_one_in(&t->rng, 2))
			o->quant_flags |= UMA_QUANT_SWAPPED;
		if (mt_one_in(&t->rng, 2))
			o->quant_flags |= mt_below(&t->rng, 1u << o->rank);
		for (d = 0; d < o->rank; d++)
			entries *= d == axis ? (o->dims[d] + group - 1) / group : o->dims[d];
	} else {
		entries = o->dims[axis];
	}
	o->scale_addr = mt_alloc(t, entries * 4, 4);
	if (zeros || quant == UMA_QUANT_GROUP_MIN)
		o->zero_addr = mt_alloc(t, entries * 4, 4);
	for (i = 0; i < entries; i++) {
		int32_t z = lo[o->dtype] + (int)mt_below(&t->rng, span);

		if (o->scale_dtype == UMA_DTYPE_F32) {
			float f = (1 + mt_below(&t->rng, 1000)) / 640.0f;

			memcpy(t->image + (o->scale_addr - MT_BASE) + 4 * i, &f, 4);
		} else {
			uint16_t h = (uint16_t)(0x2800 + mt_below(&t->rng, 0x1400));

			memcpy(t->image + (o->scale_addr - MT_BASE) + 2 * i, &h, 2);
		}
		if (quant == UMA_QUANT_GROUP_MIN && o->scale_dtype == UMA_DTYPE_F16) {
			uint16_t h = (uint16_t)(0xa800 + mt_below(&t->rng, 0x1800));

			memcpy(t->image + (o->zero_addr - MT_BASE) + 2 * i, &h, 2);
		} else if (quant == UMA_QUANT_GROUP_MIN) {
			float f = ((int)mt_below(&t->rng, 2000) - 1500) / 64.0f;

			memcpy(t->image + (o->zero_addr - MT_BASE) + 4 * i, &f, 4);
		} else if (zeros) {
			memcpy(t->image + (o->zero_addr - MT_BASE) + 4 * i, &z, 4);
		}
	}
}

void mt_packed(struct mt_task *t, int slot, uint64_t bytes)
{
	struct uma_operand *o = &t->task.op[slot];

	o->layout = UMA_LAYOUT_GEMM_B;
	memset(o->strides, 0, sizeof(o->strides));
	o->addr = mt_alloc(t, bytes, 64);
}

/* --- running -------------------------------------------------------------- */

const struct uma_kernels *const *mt_kernels(void)
{
	static const struct uma_kernels *list[4];
	int n = 0;

	list[n++] = uma_kernels_portable();
#if defined(__x86_64__)
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		list[n++] = uma_kernels_avx2();
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	    __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
		list[n++] = uma_kernels_avx512();
#endif
	list[n] = NULL;
	return list;
}

const struct uma_engine_desc *mt_engine(const char *profile, uint32_t class)
{
	const struct uma_profile *p = uma_profile_find(profile);
	uint32_t i;

	for (i = 0; p && i < p->engine_count; i++)
		if (p->engines[i].engine_class == class)
			return &p->engines[i];
	abort();
}

int mt_run(const struct uma_task *task, const struct uma_engine_desc *engine,
	   const struct mt_variant *v, uint8_t *image,
	   struct uma_fault_info *fault)
{
	static struct uma_program prog;
	static struct uma_op op;
	static void *scratch;
	struct mt_rng rng = { .s = v->page };
	struct mt_home home;
	int r;

	if (!scratch)
		scratch = aligned_alloc(64, UMA_SCRATCH_SIZE);
	/* Nothing may depend on what a tile before has left. */
	memset(scratch, 0xff, UMA_SCRATCH_SIZE);
	memset(&prog, 0xa5, sizeof(prog));
	memset(&op, 0xa5, sizeof(op));
	memset(fault, 0, sizeof(*fault));
	if (uma_task_decode(task, &op, fault))
		return -1;
	mt_home_open_part(&home, image, v->size ? v->size : MT_SIZE, v->page, &rng);
	r = uma_prepare(&prog, &op, engine, v->kernels, v->step_work, &home.mem,
			fault);
	if (!r)
		r = uma_run(&prog, &home.mem, scratch, fault);
	mt_home_close(&home, image);
	return r;
}

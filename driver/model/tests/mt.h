/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What the model's tests share: a device memory with several ways of being
 * mapped, task construction, and the reference.
 */
#ifndef _MODEL_MT_H_
#define _MODEL_MT_H_

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

#include "driver/model/uma_model.h"
#include "driver/model/uma_kernels.h"

/* Device addresses of the test memory. */
#define MT_BASE		0x123400000000ULL
#define MT_SIZE		(1u << 19)

struct mt_rng {
	uint64_t s;
};

uint32_t mt_rand(struct mt_rng *r);
/* 0 .. n - 1 */
uint32_t mt_below(struct mt_rng *r, uint32_t n);
/* True once in n. */
int mt_one_in(struct mt_rng *r, uint32_t n);

/*
 * Memory. The bytes are kept in a linear image; a paged home keeps its own copy
 * in pages in random order, so that a pointer that runs over the end of a page
 * meets something else.
 */
struct mt_home {
	struct uma_mem mem;
	/* Image for a direct home, shuffled pages for a paged one. */
	uint8_t *bytes;
	/* 0: direct. */
	uint32_t page;
	uint32_t size;
	uint32_t *frame;
	/* With the address sanitizer each page is an allocation. */
	uint8_t **own;
	/* Accesses outside are refused. */
	uint64_t lo, hi;
	uint64_t maps;
};

void mt_home_open(struct mt_home *h, const uint8_t *image, uint32_t page,
		  struct mt_rng *rng);
/* The same with only the first @size bytes of memory. */
void mt_home_open_part(struct mt_home *h, const uint8_t *image, uint32_t size, uint32_t page,
		       struct mt_rng *rng);
/* Write the contents back to a linear image. */
void mt_home_close(struct mt_home *h, uint8_t *image);

/* --- tasks ---------------------------------------------------------------- */

struct mt_task {
	struct uma_task task;
	uint8_t *image;
	uint32_t used;
	struct mt_rng rng;
};

void mt_task_init(struct mt_task *t, uint8_t *image, uint64_t seed, int opcode);
/* Room for bytes at an alignment; returns the device address. */
uint64_t mt_alloc(struct mt_task *t, uint64_t bytes, uint32_t align);
/*
 * What a task has of the memory, in whole pages. A run that is given no more is done sooner, and
 * faults where it looks behind.
 */
uint32_t mt_size(const struct mt_task *t);

#define MT_PLAIN	0	/* dense, row-major */
#define MT_STRIDED	1	/* permuted, padded, reversed */
#define MT_BROADCAST	2	/* the same, and some dimensions with stride 0 */

/* Fill in a slot: memory, strides, random contents. */
void mt_operand(struct mt_task *t, int slot, int dtype, int rank,
		const uint32_t *dims, int style);
void mt_contents(struct mt_task *t, int slot, int special);
void mt_quant(struct mt_task *t, int slot, int quant, int axis, uint32_t group,
	      int zeros);
/* A slot of a type of blocks, which lie along @along. */
void mt_blocks(struct mt_task *t, int slot, int dtype, int rank,
	       const uint32_t *dims, int along, int style);
void mt_packed(struct mt_task *t, int slot, uint64_t bytes);

uint32_t mt_bits(float f);
float mt_float(uint32_t bits);

/* --- running -------------------------------------------------------------- */

struct mt_variant {
	const struct uma_kernels *kernels;
	uint32_t step_work;
	uint32_t page;
	/* Bytes of memory from the first on; 0: all. */
	uint32_t size;
};

/* The sets of kernels that this processor runs, NULL at the end. */
const struct uma_kernels *const *mt_kernels(void);
const struct uma_engine_desc *mt_engine(const char *profile, uint32_t class);

/*
 * Decode, check, prepare and run a task on an image. Returns 0, or -1 with the
 * fault.
 */
int mt_run(const struct uma_task *task, const struct uma_engine_desc *engine,
	   const struct mt_variant *v, uint8_t *image,
	   struct uma_fault_info *fault);

/* --- the reference -------------------------------------------------------- */

/* Elements and bytes of a block; 0 for other types. */
int mt_block_size(int dtype);
int mt_block_bytes(int dtype);
/* Element @i of one, and what of that is added to a product. */
double mt_block_element(int dtype, const uint8_t *p, int i);
double mt_block_min(int dtype, const uint8_t *p, int i);
/* Numbers as the reference sees them. */
double ref_load(const uint8_t *image, const struct uma_operand *o,
		const uint32_t *idx);
double ref_element(int dtype, const uint8_t *p, int nibble);

/*
 * Compare what a task has stored in @after with what it should have, computed
 * from @before, of which there are @bytes. Returns 0, or -1 with a message in @why.
 */
int ref_check(const struct uma_task *task, const uint8_t *before, const uint8_t *after,
	      uint32_t bytes, char *why, size_t size);

/*
 * Bounds on the functions of rows: the error is at most rel * |f(x)| + abs +
 * ref_extra() for every x, as Documentation/numerics.rst says.
 */
struct ref_func {
	const char *name;
	double (*f)(double x, double p0, double p1);
	double rel;
	double abs;
};

double ref_extra(const struct ref_func *f, double x, double p0, double p1);

extern const struct ref_func ref_acts[UMA_ACT_COUNT];
/* What a sigmoid far below 0 may be off by; 0 unless a test says otherwise */
extern double ref_saturated;

/* Who may round the operands of a product to bf16 (UMA_GEMM_BF16) may do so */
extern bool ref_bf16;
extern const struct ref_func ref_unaries[UMA_UNARY_COUNT];

/* Functions of two values that compare or jump; those of integers, exact. */
double ref_jump(uint32_t func, double a, double b);
int64_t ref_int_binary(uint32_t func, int64_t a, int64_t b, int dtype);
int64_t ref_int_unary(uint32_t func, int64_t a, int dtype);

#define REF_U		(1.0 / (1 << 24))
#define REF_TINY	(1.0 / (1ULL << 60) / (1ULL << 60) / (1 << 29))

#endif /* _MODEL_MT_H_ */

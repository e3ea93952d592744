/* SPDX-License-Identifier: MIT */
/*
 * Operations on lines: elements side by side, all lines alike, their distances any.
 * A source reads a line of a type as numbers of binary32, steps compute with them
 * in registers, a sink stores them as a type. An operation is a few of these, so all
 * types and all mixtures of them come out of one loop; classes say which. Operations
 * between integers that binary32 would round have registers of integers.
 */
#ifndef LIBACCEL_SW_LINES_H
#define LIBACCEL_SW_LINES_H

#include "libaccel/sw/kernels/fast.h"

/** LINE_OPERANDS: most operands: the result, the first input, one for each step */
#define LINE_OPERANDS	6
/** LINE_NEST_OPERANDS: of an operation: those, an addend, a second result, two tables */
#define LINE_NEST_OPERANDS	9
/** LINE_STEPS: most steps */
#define LINE_STEPS	6
/** LINE_BLOCK_MAX: most elements that are in registers at once */
#define LINE_BLOCK_MAX	64

/* Functions of steps: those of a second number, of one, activations, and our own. */
#define LINE_BINARY(f)	(f)
#define LINE_UNARY(f)	(64 + (f))
#define LINE_ACT(f)	(128 + (f))
/** LINE_AFFINE: (x - p[0]) p[1] + p[2], product and sum rounded once */
#define LINE_AFFINE	192
/** LINE_SELECT: its operand where x is not 0, else the operand behind that */
#define LINE_SELECT	193

/**
 * struct line_form - how numbers stand in memory
 * @dtype: &enum uma_dtype: floating point or bytes; s32, without scale, where
 *	line_form_any() is asked
 * @zero: bytes: what stands for 0
 * @scale: bytes: what 1 stands for
 * @times: sink: 1 / @scale rounded, 0: divide
 * @rest: what 1 / @scale has on top
 * @most: sink: beyond it, in units of @scale where that divides, all is saturated
 */
struct line_form {
	uint32_t dtype;
	int32_t zero;
	float scale;
	float times;
	float rest;
	float most;
};

/**
 * struct line_step - what is done with numbers
 * @func: LINE_*
 * @operand: the second number; 0: there is none
 * @p: parameters
 */
struct line_step {
	uint32_t func;
	uint32_t operand;
	float p[3];
};

/**
 * struct line_map - DST = steps of A
 * @form: of the operands; the result is the first, A the second
 * @one: mask of operands of which there is one element for the whole line
 * @integers: operands are integers without scales, and steps are exact
 * @count: steps
 * @step: steps
 */
struct line_map {
	struct line_form form[LINE_OPERANDS];
	uint32_t one;
	bool integers;
	uint32_t count;
	struct line_step step[LINE_STEPS];
};

/** LINE_FIND_FIRST: the first element of a value, zeros being alike */
#define LINE_FIND_FIRST	0
/** LINE_FIND_LAST: the last one */
#define LINE_FIND_LAST	1
/** LINE_FIND_BITS: the first with the same sign of zero, too */
#define LINE_FIND_BITS	2

/**
 * struct line_rotary - a head of a rotary embedding
 * @a: type of the input
 * @d: of the result
 * @cosine: of the cosines
 * @sine: of the sines
 * @half: pairs
 * @head: elements
 * @interleaved: those of a pair are neighbours, else @half apart
 */
struct line_rotary {
	uint32_t a;
	uint32_t d;
	uint32_t cosine;
	uint32_t sine;
	uint32_t half;
	uint32_t head;
	bool interleaved;
};

/**
 * struct line_kernels - kernels of a level; a line has @n elements
 */
struct line_kernels {
	/** @map: run the steps; @at: the operands' first elements. D may lie where inputs do */
	void (*map)(const struct line_map *m, uint8_t *const *at, uint32_t n);
	/** @sums: sums[0] = sum of x, sums[1] = sum of x^2, in binary64 */
	void (*sums)(const struct line_form *f, const void *x, uint32_t n, double *sums);
	/**
	 * @columns: to[i] = sum of element i of @rows lines, @step bytes apart, in binary64;
	 * of integers of 32 bits too
	 */
	void (*columns)(const struct line_form *f, const uint8_t *from, int64_t step,
			uint32_t rows, uint32_t n, double *to);
	/** @squares: sum of (x - from)^2 in binary64 */
	double (*squares)(const struct line_form *f, const void *x, uint32_t n, double from);
	/** @top: the largest number, or the smallest; NaN if there is one */
	float (*top)(const struct line_form *f, const void *x, uint32_t n, bool smallest);
	/** @exps: to[i] = e^(x[i] - top), x[i] at most top; returns their sum in binary64 */
	double (*exps)(const struct line_form *f, const void *x, uint32_t n, float top, float *to);
	/**
	 * @window: to = of elements in the same place of @count lines, taken in their order,
	 * the maximum, or if @divisor is not 0 the sum divided by it
	 */
	void (*window)(const struct line_form *out, uint8_t *to, const struct line_form *in,
		       const uint8_t *const *taps, uint32_t count, uint32_t n, float divisor);
	/** @most: the maximum of bytes, likewise */
	void (*most)(uint8_t *to, const uint8_t *const *taps, uint32_t count, uint32_t n,
		     bool is_signed);
	/**
	 * @blend: to[i] = x[i] (w[i] by), each product rounded, added to what is there if
	 * there was something @before; @w NULL: all are 1
	 */
	void (*blend)(float *to, const float *x, const float *w, float by, uint32_t before,
		      uint32_t n);
	/** @find: the place of an element that is there, LINE_FIND_*; @n: it is not */
	uint32_t (*find)(const struct line_form *f, const void *x, uint32_t n, float value,
			 uint32_t how);
	/**
	 * @above: the next elements from @from on, with one above @limit or a NaN among them,
	 * or with @all whatever they are: into @out, their place into @from, returns how many
	 */
	uint32_t (*above)(const struct line_form *f, const void *line, uint32_t n, float limit,
			  bool all, uint32_t *from, float *out);
	/** @turn: element c of line r = element r of line c of @from, of 1, 2 or 4 bytes */
	void (*turn)(uint8_t *to, int64_t to_step, const uint8_t *from, int64_t from_step,
		     uint32_t rows, uint32_t n, uint32_t bytes);
	/** @rotary: turn the pairs of a head, convert the rest of it */
	void (*rotary)(const struct line_rotary *t, uint8_t *d, const uint8_t *a,
		       const uint8_t *cosine, const uint8_t *sine);
	/** @total: the sum of integers of 32 bits, at most 2^21 of them */
	int64_t (*total)(const void *x, uint32_t n);
	/** @bound: the largest of them, or the smallest */
	int32_t (*bound)(const void *x, uint32_t n, bool smallest);
	/** @has_step: is the function of a step there? */
	bool (*has_step)(uint32_t func);
	/** @has_integer: is it there between integers? */
	bool (*has_integer)(uint32_t func);
};

extern const struct line_kernels line_avx2;
extern const struct line_kernels line_avx512;

/**
 * struct line_nest - the lines of an operation
 * @count: operands
 * @slot: their slots
 * @one: as &struct line_map.one
 * @n: elements of a line
 * @loops: loops around it, the innermost last
 * @inner: loops behind those, within a line whose elements are not all side by side: then
 *	@n are of a stretch; 0: they are
 * @size: rounds of each
 * @stride: bytes that an operand moves by with each round
 * @lines: lines in all
 * @cut: elements of a piece of a line; a multiple of LINE_BLOCK_MAX unless it is all of it
 * @cuts: pieces of a line
 * @tile: pieces of a tile
 */
struct line_nest {
	uint8_t count;
	uint8_t slot[LINE_NEST_OPERANDS];
	uint8_t loops;
	uint8_t inner;
	uint32_t one;
	uint32_t n;
	uint32_t size[UMA_MAX_RANK];
	int64_t stride[UMA_MAX_RANK][LINE_NEST_OPERANDS];
	uint64_t lines;
	uint32_t cut;
	uint32_t cuts;
	uint64_t tile;
};

/**
 * struct line_at - a place in a nest
 * @at: the operands' elements there
 * @n: elements of the piece
 * @round: of the loops, those within a line too
 * @piece: of the line
 */
struct line_at {
	uint8_t *at[LINE_NEST_OPERANDS];
	uint32_t n;
	uint32_t round[UMA_MAX_RANK];
	uint32_t piece;
};

const struct line_kernels *line_kernels_of(const struct fast_cpu *cpu);
bool line_form_init(struct line_form *f, const struct uma_tensor_view *t, bool sink,
		    const struct fast_cpu *cpu);
bool line_form_any(struct line_form *f, const struct uma_tensor_view *t, bool sink,
		   const struct fast_cpu *cpu);
bool line_same_bits(const struct uma_tensor_view *a, const struct uma_tensor_view *d);
bool line_nest_init(struct line_nest *nest, const struct uma_op *op, uint32_t along);
bool line_nest_stretches(struct line_nest *nest, const struct uma_op *op, uint32_t along);
void line_nest_loops(struct line_nest *nest, const struct uma_op *op);
void line_nest_drop(struct line_nest *nest, uint32_t at);
bool line_nest_tiles(struct line_nest *nest, struct fast_prog *f, uint32_t tile);
uint64_t line_nest_seek(const struct line_nest *nest, const struct uma_op *op, uint32_t tile,
			struct line_at *at);
void line_nest_next(const struct line_nest *nest, struct line_at *at);
bool line_nest_stretch(const struct line_nest *nest, struct line_at *at);
bool line_step_operand(struct line_map *m, struct line_nest *nest, const struct fast_prog *f,
		       uint32_t func, uint32_t slot);
bool line_step_alone(struct line_map *m, const struct fast_prog *f, uint32_t func);
bool line_epilogue(struct line_map *m, struct line_nest *nest, const struct fast_prog *f);
void line_spread(uint8_t *to, int64_t to_step, const uint8_t *from, int64_t from_step,
		 int64_t bytes, uint32_t n);

/* Elements of a line */
static inline uint64_t line_elements(const struct line_nest *nest)
{
	uint64_t n = nest->n;
	uint32_t i;

	for (i = nest->loops; i < (uint32_t)nest->loops + nest->inner; i++)
		n *= nest->size[i];
	return n;
}

static inline float line_float(uint32_t bits)
{
	float f;

	memcpy(&f, &bits, sizeof(f));
	return f;
}

#endif /* LIBACCEL_SW_LINES_H */

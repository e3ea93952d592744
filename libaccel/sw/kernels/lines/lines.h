/* SPDX-License-Identifier: MIT */
/*
 * Operations on lines: contiguous elements, the same number in each line, with any strides
 * between lines. A source reads a line of any type as binary32, steps compute with these
 * numbers in registers, and a sink stores them as any type. An operation consists of some of
 * these, so one loop handles all combinations of types. Operations between integers that
 * binary32 would round use integer registers.
 */
#ifndef LIBACCEL_SW_LINES_H
#define LIBACCEL_SW_LINES_H

#include "libaccel/sw/kernels/fast.h"

/** LINE_OPERANDS: maximum number of operands: the result, the first input, one for each step */
#define LINE_OPERANDS	6
/** LINE_NEST_OPERANDS: of an operation: those, an addend, a second result, two tables */
#define LINE_NEST_OPERANDS	9
/** LINE_STEPS: maximum number of steps */
#define LINE_STEPS	6
/** LINE_BLOCK_MAX: maximum number of elements in registers */
#define LINE_BLOCK_MAX	64

/* Functions of steps: binary ones, unary ones, activations, and those below. */
#define LINE_BINARY(f)	(f)
#define LINE_UNARY(f)	(64 + (f))
#define LINE_ACT(f)	(128 + (f))
/** LINE_AFFINE: (x - p[0]) p[1] + p[2], product and sum rounded once */
#define LINE_AFFINE	192
/** LINE_SELECT: its operand where x is not 0, else the following operand */
#define LINE_SELECT	193

/**
 * struct line_form - representation of numbers in memory
 * @dtype: &enum uma_dtype: floating point or bytes; s32, without scale, only with
 *	line_form_any()
 * @zero: bytes: zero point
 * @scale: bytes: scale
 * @times: sink: 1 / @scale rounded, 0: divide
 * @rest: remainder of 1 / @scale
 * @most: sink: beyond this, in units of @scale if it divides, all values saturate
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
 * struct line_step - one step
 * @func: LINE_*
 * @operand: the second operand; 0: none
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
 * @one: mask of operands that have one element for the whole line
 * @integers: operands are integers without scales, and steps are exact
 * @count: number of steps
 * @step: steps
 */
struct line_map {
	struct line_form form[LINE_OPERANDS];
	uint32_t one;
	bool integers;
	uint32_t count;
	struct line_step step[LINE_STEPS];
};

/** LINE_FIND_FIRST: the first element with a value; zeros of both signs are equal */
#define LINE_FIND_FIRST	0
/** LINE_FIND_LAST: the last one */
#define LINE_FIND_LAST	1
/** LINE_FIND_BITS: the first one, with the same sign of zero */
#define LINE_FIND_BITS	2

/**
 * struct line_rotary - a head of a rotary embedding
 * @a: type of the input
 * @d: type of the result
 * @cosine: type of the cosines
 * @sine: type of the sines
 * @half: number of pairs
 * @head: number of elements
 * @interleaved: elements of a pair are adjacent, else @half apart
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

/** struct line_kernels - kernels of a level; a line has @n elements */
struct line_kernels {
	/**
	 * @map: run the steps; @at: the operands' first elements. D may be the same memory as
	 *	inputs
	 */
	void (*map)(const struct line_map *m, uint8_t *const *at, uint32_t n);
	/** @sums: sums[0] = sum of x, sums[1] = sum of x^2, in binary64 */
	void (*sums)(const struct line_form *f, const void *x, uint32_t n, double *sums);
	/**
	 * @columns: to[i] = sum of element i of @rows lines, @step bytes apart, in binary64;
	 *	also of 32-bit integers
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
	 * @window: to = for elements at the same position of @count lines, in their order, the
	 *	maximum or, if @divisor is not 0, the sum divided by it
	 */
	void (*window)(const struct line_form *out, uint8_t *to, const struct line_form *in,
		       const uint8_t *const *taps, uint32_t count, uint32_t n, float divisor);
	/** @most: the maximum of bytes, likewise */
	void (*most)(uint8_t *to, const uint8_t *const *taps, uint32_t count, uint32_t n,
		     bool is_signed);
	/**
	 * @blend: to[i] = x[i] (w[i] by), each product rounded, added to the contents if there
	 *	were previous ones (@before); @w NULL: all are 1
	 */
	void (*blend)(float *to, const float *x, const float *w, float by, uint32_t before,
		      uint32_t n);
	/** @find: position of an existing element, LINE_FIND_*; @n: there is none */
	uint32_t (*find)(const struct line_form *f, const void *x, uint32_t n, float value,
			 uint32_t how);
	/**
	 * @above: the next elements from @from on that include one above @limit or a NaN, or,
	 *	with @all, any: copied to @out; their position to @from; returns their number
	 */
	uint32_t (*above)(const struct line_form *f, const void *line, uint32_t n, float limit,
			  bool all, uint32_t *from, float *out);
	/**
	 * @turn: transpose: element c of line r = element r of line c of @from, of 1, 2 or 4
	 *	bytes
	 */
	void (*turn)(uint8_t *to, int64_t to_step, const uint8_t *from, int64_t from_step,
		     uint32_t rows, uint32_t n, uint32_t bytes);
	/** @rotary: rotate the pairs of a head, convert the rest of it */
	void (*rotary)(const struct line_rotary *t, uint8_t *d, const uint8_t *a,
		       const uint8_t *cosine, const uint8_t *sine);
	/** @total: the sum of 32-bit integers, at most 2^21 of them */
	int64_t (*total)(const void *x, uint32_t n);
	/** @bound: the largest of them, or the smallest */
	int32_t (*bound)(const void *x, uint32_t n, bool smallest);
	/** @has_step: is the function supported as a step? */
	bool (*has_step)(uint32_t func);
	/** @has_integer: is it supported between integers? */
	bool (*has_integer)(uint32_t func);
};

extern const struct line_kernels line_avx2;
extern const struct line_kernels line_avx512;

/**
 * struct line_nest - the lines of an operation
 * @count: number of operands
 * @slot: their slots
 * @one: as &struct line_map.one
 * @n: elements of a line
 * @loops: number of loops around the line, the innermost last
 * @inner: number of additional loops within a line whose elements are not all contiguous: then
 *	@n are those of a stretch; 0: they are contiguous
 * @size: iterations of each loop
 * @stride: bytes that an operand advances in each iteration
 * @lines: total number of lines
 * @cut: elements of a piece of a line; a multiple of LINE_BLOCK_MAX unless it is the whole line
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
 * struct line_at - a position in a nest
 * @at: the operands' elements there
 * @n: elements of the piece
 * @round: iterations of the loops, including those within a line
 * @piece: piece of the line
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

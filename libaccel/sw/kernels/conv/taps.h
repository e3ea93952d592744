/* SPDX-License-Identifier: MIT */
/* Depthwise convolutions with any window: strips of sums over taps. */
#ifndef LIBACCEL_SW_FAST_TAPS_H
#define LIBACCEL_SW_FAST_TAPS_H

#include <stdbool.h>
#include <stdint.h>

/** TAPS_LANES: channels that are converted together; a multiple of the vector of any level */
#define TAPS_LANES	16u
/** TAPS_SLACK: words after inputs and sums that the last vector may access */
#define TAPS_SLACK	16u

/**
 * struct taps_strip - consecutive vectors of sums
 * @in: words of the first vector at the first tap
 * @off: offset in bytes of each tap
 * @w: a vector of weights for each tap; @spread: a word
 * @start: bytes: initial values of the sums
 * @bias: binary32: a vector that is added to sums, or NULL
 * @out: first sums
 * @step: bytes from the words of a vector to those of the next
 * @out_step: bytes from its sums to the next ones
 * @taps: number of taps
 * @n: number of vectors
 * @spread: weights and initial values are one word for all lanes
 * @relu: binary32: negative sums become 0
 */
struct taps_strip {
	const uint8_t *in;
	const int32_t *off;
	const uint8_t *w;
	const uint8_t *start;
	const uint8_t *bias;
	uint8_t *out;
	int64_t step;
	int64_t out_step;
	uint32_t taps;
	uint32_t n;
	bool spread;
	bool relu;
};

/**
 * struct taps_lines - lines that are copied
 * @from: first line
 * @to: its destination
 * @step: bytes to the next line
 * @to_step: bytes to the next destination
 * @lines: number of lines
 * @n: elements of a line
 * @flip: bytes: exclusive or
 */
struct taps_lines {
	const uint8_t *from;
	uint8_t *to;
	int64_t step;
	int64_t to_step;
	uint32_t lines;
	uint32_t n;
	uint8_t flip;
};

/**
 * struct taps_join - lines of words made of interleaved bytes
 * @from: bytes of the first tap
 * @tap: bytes to the next tap's
 * @step: bytes to the next line
 * @to: words
 * @to_step: words to the next line
 * @lines: number of lines
 * @n: words of a line
 * @za: words of two: zero point
 */
struct taps_join {
	const uint8_t *from;
	int64_t tap;
	int64_t step;
	uint32_t *to;
	uint32_t to_step;
	uint32_t lines;
	uint32_t n;
	int32_t za;
};

/**
 * struct taps_kernels - kernels of a level
 * @floats: sums of binary32
 * @bytes: sums of words of bytes
 * @total: sums of the bytes in each lane of @taps vectors of words
 * @words: copy lines of words
 * @bf16: convert lines of bf16 to binary32
 * @copy: copy lines of bytes
 * @join: make words of bytes
 * @part: separate @n words at even and odd positions
 * @lanes: words of a vector
 * @group: bytes of a row of taps in a word: four as u8 by s8, or two as s16 by s16
 */
struct taps_kernels {
	void (*floats)(const struct taps_strip *s);
	void (*bytes)(const struct taps_strip *s);
	void (*total)(const uint8_t *w, uint32_t taps, uint8_t *to);
	void (*bf16)(const struct taps_lines *l);
	void (*words)(const struct taps_lines *l);
	void (*copy)(const struct taps_lines *l);
	void (*join)(const struct taps_join *j);
	void (*part)(const float *from, uint32_t n, float *even, float *odd);
	uint32_t lanes;
	uint32_t group;
};

extern const struct taps_kernels taps_avx2;
extern const struct taps_kernels taps_avx512;
extern const struct taps_kernels taps_vnni;

#endif /* LIBACCEL_SW_FAST_TAPS_H */

// SPDX-License-Identifier: MIT
/*
 * naive resnet50|bert-base [--count]
 *
 * The arithmetic of ResNet-50 at 224 x 224, or of BERT-base with 128 tokens, in the loops of a
 * textbook: scalar, one thread, each result summed by itself, no library. Prints the multiply-adds
 * of one inference and its time; with --count only the former. It is what speed "over plain C" is
 * measured against; weights and inputs are made up, as the time does not depend on them.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TOKENS	128
#define HIDDEN	768
#define INNER	3072
#define HEADS	12
#define HEAD	(HIDDEN / HEADS)
#define LAYERS	12
#define EPSILON	(1 / 1e12f)
/* Larger than any matrix of either; each product begins where the one before ended. */
#define WEIGHTS	(1u << 25)

static float *weights;
static size_t used;
static uint64_t macs;
static bool counting;

static float *made(size_t count)
{
	float *p = calloc(count, sizeof(*p));

	if (!p) {
		fprintf(stderr, "naive: out of memory\n");
		exit(1);
	}
	return p;
}

static const float *next_weights(size_t count)
{
	const float *p;

	if (used + count > WEIGHTS)
		used = 0;
	p = weights + used;
	used += count;
	return p;
}

/* --- ResNet-50 ----------------------------------------------------------------------- */

struct image {
	int c, h, w;
	float *v;
};

static float window_sum(const struct image *in, const float *w, int size, int top, int left)
{
	const float *plane = in->v;
	float sum = 0;
	int c, y, x;

	for (c = 0; c < in->c; c++, plane += in->h * in->w)
		for (y = top; y < top + size; y++)
			for (x = left; x < left + size; x++, w++)
				if (y >= 0 && y < in->h && x >= 0 && x < in->w)
					sum += plane[y * in->w + x] * *w;
	return sum;
}

/* With the sum of @more, if there is one, and ReLU unless @linear */
static struct image conv(const struct image *in, int channels, int size, int stride,
			 const struct image *more, bool linear)
{
	const int pad = size / 2;
	struct image out = {
		channels, (in->h + stride - 1) / stride, (in->w + stride - 1) / stride, NULL
	};
	const size_t taps = (size_t)in->c * size * size;
	const float *w = next_weights(taps * channels);
	float sum;
	int k, y, x;
	size_t at = 0;

	macs += (uint64_t)taps * channels * out.h * out.w;
	out.v = made((size_t)channels * out.h * out.w);
	for (k = 0; k < channels && !counting; k++)
		for (y = 0; y < out.h; y++)
			for (x = 0; x < out.w; x++, at++) {
				sum = window_sum(in, w + k * taps, size, y * stride - pad,
						 x * stride - pad);
				sum += more ? more->v[at] : 0;
				out.v[at] = linear || sum > 0 ? sum : 0;
			}
	return out;
}

static struct image max_pool(const struct image *in)
{
	struct image out = { in->c, in->h / 2, in->w / 2, made((size_t)in->c * in->h * in->w / 4) };
	int c, y, x, i, j;
	const float *row = in->v;
	float best, v;

	for (c = 0; c < out.c; c++)
		for (y = 0; y < out.h; y++, row += 2 * in->w)
			for (x = 0; x < out.w; x++) {
				best = 0;
				for (i = y ? -1 : 0; i < 2; i++)
					for (j = x ? -1 : 0; j < 2; j++) {
						v = row[i * in->w + 2 * x + j];
						best = v > best ? v : best;
					}
				out.v[((size_t)c * out.h + y) * out.w + x] = best;
			}
	return out;
}

static struct image bottleneck(struct image in, int channels, int stride)
{
	struct image a = conv(&in, channels, 1, 1, NULL, false);
	struct image b = conv(&a, channels, 3, stride, NULL, false);
	struct image skip = in.c == 4 * channels ? in :
			    conv(&in, 4 * channels, 1, stride, NULL, true);
	struct image out = conv(&b, 4 * channels, 1, 1, &skip, false);

	free(a.v);
	free(b.v);
	if (skip.v != in.v)
		free(skip.v);
	free(in.v);
	return out;
}

static void product(const float *a, const float *b, float *d, int m, int n, int k, int a_row,
		    int b_row, int b_col)
{
	float sum;
	int i, j, l;

	macs += (uint64_t)m * n * k;
	for (i = 0; i < m && !counting; i++)
		for (j = 0; j < n; j++) {
			sum = 0;
			for (l = 0; l < k; l++)
				sum += a[i * a_row + l] * b[l * b_row + j * b_col];
			d[(size_t)i * n + j] = sum;
		}
}

static float resnet50(void)
{
	static const int blocks[] = { 3, 4, 6, 3 };
	struct image picture = { 3, 224, 224, made(3 * 224 * 224) }, x, y;
	float mean[2048], classes[1000];
	int stage, i, c;

	for (i = 0; i < 3 * 224 * 224; i++)
		picture.v[i] = weights[i] * 16;
	y = conv(&picture, 64, 7, 2, NULL, false);
	x = max_pool(&y);
	free(picture.v);
	free(y.v);
	for (stage = 0; stage < 4; stage++)
		for (i = 0; i < blocks[stage]; i++)
			x = bottleneck(x, 64 << stage, stage && !i ? 2 : 1);
	for (c = 0; c < x.c; c++) {
		mean[c] = 0;
		for (i = 0; i < x.h * x.w; i++)
			mean[c] += x.v[c * x.h * x.w + i] / (float)(x.h * x.w);
	}
	free(x.v);
	product(mean, next_weights((size_t)2048 * 1000), classes, 1, 1000, 2048, 2048, 1000, 1);
	return classes[0];
}

/* --- BERT-base ------------------------------------------------------------------------- */

static void norm(float *x, const float *more)
{
	float mean, square;
	int i, j;

	for (i = 0; i < TOKENS; i++, x += HIDDEN, more += HIDDEN) {
		mean = square = 0;
		for (j = 0; j < HIDDEN; j++) {
			x[j] += more[j];
			mean += x[j] / HIDDEN;
		}
		for (j = 0; j < HIDDEN; j++)
			square += (x[j] - mean) * (x[j] - mean) / HIDDEN;
		for (j = 0; j < HIDDEN; j++)
			x[j] = (x[j] - mean) / sqrtf(square + EPSILON);
	}
}

static void softmax(float *row)
{
	float most = row[0], sum = 0;
	int i;

	for (i = 1; i < TOKENS; i++)
		most = row[i] > most ? row[i] : most;
	for (i = 0; i < TOKENS; i++)
		sum += row[i] = expf((row[i] - most) * 0.125f);
	for (i = 0; i < TOKENS; i++)
		row[i] /= sum;
}

static void dense(const float *x, float *y, int n, int k)
{
	product(x, next_weights((size_t)n * k), y, TOKENS, n, k, k, n, 1);
}

static void attend(const float *q, const float *k, const float *v, float *y)
{
	static float scores[TOKENS * TOKENS], head[TOKENS * HEAD];
	int h, i;

	for (h = 0; h < HEADS; h++) {
		product(q + h * HEAD, k + h * HEAD, scores, TOKENS, TOKENS, HEAD, HIDDEN, 1,
			HIDDEN);
		for (i = 0; i < TOKENS && !counting; i++)
			softmax(scores + i * TOKENS);
		product(scores, v + h * HEAD, head, TOKENS, HEAD, TOKENS, TOKENS, HIDDEN, 1);
		for (i = 0; i < TOKENS; i++)
			memcpy(y + i * HIDDEN + h * HEAD, head + i * HEAD, sizeof(float[HEAD]));
	}
}

static float bert_base(void)
{
	float *x = made(TOKENS * HIDDEN), *q = made(TOKENS * HIDDEN), *k = made(TOKENS * HIDDEN);
	float *v = made(TOKENS * HIDDEN), *y = made(TOKENS * HIDDEN);
	float *inner = made(TOKENS * INNER), last;
	int layer, i;

	memcpy(x, weights, sizeof(float[TOKENS * HIDDEN]));
	for (layer = 0; layer < LAYERS; layer++) {
		dense(x, q, HIDDEN, HIDDEN);
		dense(x, k, HIDDEN, HIDDEN);
		dense(x, v, HIDDEN, HIDDEN);
		attend(q, k, v, y);
		dense(y, q, HIDDEN, HIDDEN);
		norm(x, q);
		dense(x, inner, INNER, HIDDEN);
		for (i = 0; i < TOKENS * INNER && !counting; i++)
			inner[i] = 0.5f * inner[i] * (1 + erff(inner[i] * 0.70710678f));
		dense(inner, y, HIDDEN, INNER);
		norm(x, y);
	}
	product(x, next_weights((size_t)HIDDEN * HIDDEN), q, 1, HIDDEN, HIDDEN, HIDDEN, HIDDEN, 1);
	last = tanhf(q[0]);
	free(x);
	free(q);
	free(k);
	free(v);
	free(y);
	free(inner);
	return last;
}

int main(int argc, char **argv)
{
	const bool bert = argc > 1 && !strcmp(argv[1], "bert-base");
	struct timespec from, to;
	float result;
	size_t i;

	counting = argc == 3 && !strcmp(argv[2], "--count");
	if (argc < 2 || argc > 2 + counting || (!bert && strcmp(argv[1], "resnet50"))) {
		fprintf(stderr, "usage: naive resnet50|bert-base [--count]\n");
		return 2;
	}
	weights = made(WEIGHTS);
	for (i = 0; i < WEIGHTS; i++)
		weights[i] = (float)((int32_t)((uint32_t)i * 2654435761u) >> 16) / (1 << 20);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	result = bert ? bert_base() : resnet50();
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	printf("%llu multiply-adds", (unsigned long long)macs);
	if (!counting)
		printf(", %.1f ms of processor time (%g)", (double)(to.tv_sec - from.tv_sec) * 1e3 +
		       (double)(to.tv_nsec - from.tv_nsec) / 1e6, (double)result);
	printf("\n");
	free(weights);
	return 0;
}

// SPDX-License-Identifier: MIT
/*
 * Two layers of a BERT and of a LLaMA, random weights, each one job; and greedy
 * decoding with a cache, which gives what decoding without one gives.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "libaccel/tests/guest.h"
#include "net.h"

#define LAYERS		2
#define HIDDEN		32
#define HEADS		4
#define KV_HEADS	2
#define DIM		8
#define INNER		48
#define WORDS		61

static struct accel_queue *new_queue(struct op_env *env)
{
	struct accel_queue *queue;

	assert_int_equal(accel_queue_create(env->ctx, NULL, &queue), 0);
	return queue;
}

static void report(struct op_env *env, struct net *n, const char *what)
{
	double bound, worst = net_check(n, &bound);

	printf("# %s on %s: bound up to %.3g, error up to %.3g of it\n", what, env->name, bound,
	       worst);
	env->cases++;
}

/* --- BERT ------------------------------------------------------------------------------- */

/* J. Devlin et al., 2018, arXiv:1810.04805: norms follow what they are of. */
static int bert_layer(struct net *n, int x)
{
	int q, k, v, a;

	q = net_gemm(n, x, net_weight(n, HIDDEN, HIDDEN), net_input(n, 1, HIDDEN, 0, 0.3), 0, -1);
	k = net_gemm(n, x, net_weight(n, HIDDEN, HIDDEN), net_input(n, 1, HIDDEN, 0, 0.3), 0, -1);
	v = net_gemm(n, x, net_weight(n, HIDDEN, HIDDEN), net_input(n, 1, HIDDEN, 0, 0.3), 0, -1);
	a = net_attention(n, q, k, v, DIM);
	a = net_gemm(n, a, net_weight(n, HIDDEN, HIDDEN), net_input(n, 1, HIDDEN, 0, 0.3), 0, x);
	x = net_norm(n, ACCEL_NORM_LAYER, a, net_input(n, 1, HIDDEN, 1, 0.2),
		     net_input(n, 1, HIDDEN, 0, 0.2));
	a = net_gemm(n, x, net_weight(n, HIDDEN, INNER), net_input(n, 1, INNER, 0, 0.3),
		     ACCEL_ACT_GELU, -1);
	a = net_gemm(n, a, net_weight(n, INNER, HIDDEN), net_input(n, 1, HIDDEN, 0, 0.3), 0, x);
	return net_norm(n, ACCEL_NORM_LAYER, a, net_input(n, 1, HIDDEN, 1, 0.2),
			net_input(n, 1, HIDDEN, 0, 0.2));
}

static void test_bert(struct op_env *env)
{
	const uint32_t seqs = 2, length = env->small ? 3 : 5;
	const int64_t dims[4] = { seqs, 1, 1, length };
	struct accel_queue *queue = new_queue(env);
	static struct net n;
	uint32_t layer, i;
	uint8_t *mask;
	int x;

	net_open(&n, env, 11, seqs);
	/* The second sequence is shorter: its last words are padding. */
	n.mask = accel_tensor_dense(NULL, ACCEL_U8, 4, dims);
	assert_int_equal(accel_bo_create(env->ctx, (uint64_t)seqs * length, NULL, &n.mask.bo), 0);
	mask = accel_bo_ptr(n.mask.bo);
	for (i = 0; i < seqs * length; i++)
		mask[i] = i < seqs * length - 2;
	x = net_input(&n, seqs * length, HIDDEN, 0, 2);
	for (layer = 0; layer < LAYERS; layer++)
		x = bert_layer(&n, x);
	n.node[x].check = true;
	net_run(&n, queue);
	report(env, &n, "BERT");
	net_close(&n);
	accel_queue_destroy(queue);
}

/* --- LLaMA ------------------------------------------------------------------------------ */

/**
 * struct weights - of a model, made once
 * @table: of words
 * @layer: norm, query, key, value, output, norm, gate, up, down of each
 * @norm: of what comes out
 * @words: to the words
 * @cosines: of positions
 * @sines: likewise
 */
struct weights {
	float table[WORDS * HIDDEN];
	float layer[LAYERS][9][HIDDEN * INNER];
	float norm[HIDDEN];
	float words[HIDDEN * WORDS];
	float cosines[128 * DIM / 2];
	float sines[128 * DIM / 2];
};

static const uint32_t shape[9][2] = {
	{ 1, HIDDEN }, { HIDDEN, HEADS * DIM }, { HIDDEN, KV_HEADS * DIM },
	{ HIDDEN, KV_HEADS * DIM }, { HEADS * DIM, HIDDEN }, { 1, HIDDEN },
	{ HIDDEN, INNER }, { HIDDEN, INNER }, { INNER, HIDDEN },
};

static void fill(struct op_case *c, float *p, uint32_t rows, uint32_t cols)
{
	double range = rows > 1 ? sqrt(3.0 / rows) : 0.2;
	uint32_t i;

	for (i = 0; i < rows * cols; i++)
		p[i] = (float)(op_uniform(c, -range, range) + (rows > 1 ? 0 : 1));
}

static void make_weights(struct weights *w, uint64_t seed)
{
	struct accel_rotary_opts o = ACCEL_ROTARY_OPTS_INIT;
	struct op_case c = { .rng = seed };
	uint32_t i, j;

	fill(&c, w->table, WORDS, HIDDEN);
	for (i = 0; i < WORDS * HIDDEN; i++)
		w->table[i] *= 4;
	for (i = 0; i < LAYERS; i++)
		for (j = 0; j < 9; j++)
			fill(&c, w->layer[i][j], shape[j][0], shape[j][1]);
	fill(&c, w->norm, 1, HIDDEN);
	fill(&c, w->words, HIDDEN, WORDS);
	o.rot_dim = DIM;
	o.scaling = ACCEL_ROTARY_LLAMA3;
	o.factor = 8;
	o.trained = 64;
	assert_int_equal(accel_rotary_table(&o, 0, 128, w->cosines, w->sines), 0);
}

/* H. Touvron et al., 2023, arXiv:2302.13971, with grouped keys and values. */
static int llama_layer(struct net *n, const struct weights *w, uint32_t layer, int x, int cosines,
		       int sines, uint32_t start)
{
	int in[9], y, q, k, v, i;

	for (i = 0; i < 9; i++)
		in[i] = net_data(n, shape[i][0], shape[i][1], w->layer[layer][i]);
	y = net_norm(n, ACCEL_NORM_RMS, x, in[0], -1);
	q = net_rotary(n, net_gemm(n, y, in[1], -1, 0, -1), cosines, sines, DIM, start);
	k = net_rotary(n, net_gemm(n, y, in[2], -1, 0, -1), cosines, sines, DIM, start);
	v = net_gemm(n, y, in[3], -1, 0, -1);
	y = n->kv ? net_cached(n, q, k, v, DIM, layer) : net_attention(n, q, k, v, DIM);
	x = net_gemm(n, y, in[4], -1, 0, x);
	y = net_norm(n, ACCEL_NORM_RMS, x, in[5], -1);
	y = net_mul(n, net_gemm(n, y, in[6], -1, ACCEL_ACT_SILU, -1),
		    net_gemm(n, y, in[7], -1, 0, -1));
	return net_gemm(n, y, in[8], -1, 0, x);
}

/* Words of all sequences, one after the other; returns the node of the scores. */
static int llama(struct net *n, const struct weights *w, const int32_t *words, uint32_t count,
		 uint32_t start)
{
	int cosines = net_data(n, 128, DIM / 2, w->cosines);
	int sines = net_data(n, 128, DIM / 2, w->sines);
	int x = net_gather(n, net_data(n, WORDS, HIDDEN, w->table), words, count);
	uint32_t layer;

	for (layer = 0; layer < LAYERS; layer++)
		x = llama_layer(n, w, layer, x, cosines, sines, start);
	x = net_norm(n, ACCEL_NORM_RMS, x, net_data(n, 1, HIDDEN, w->norm), -1);
	return net_gemm(n, x, net_data(n, HIDDEN, WORDS, w->words), -1, 0, -1);
}

static struct accel_kv *new_cache(struct op_env *env, uint32_t dtype)
{
	struct accel_kv_opts o = ACCEL_KV_OPTS_INIT;
	struct accel_kv *kv;

	o.layers = LAYERS;
	o.kv_heads = KV_HEADS;
	o.head_dim = DIM;
	o.dtype = dtype;
	o.page_size = 4;
	o.pages = 64;
	assert_int_equal(accel_kv_create(env->ctx, &o, &kv), 0);
	return kv;
}

/* A prompt, and a second one of the same length that goes on where another ended. */
static void test_llama(struct op_env *env)
{
	static const int32_t words[] = { 3, 14, 15, 9, 26, 5, 35, 8, 9, 7 };
	const uint32_t seqs = 2, length = env->small ? 3 : 5;
	struct accel_queue *queue = new_queue(env);
	static struct weights w;
	struct accel_kv *kv;
	static struct net n;
	uint32_t seq[2], i;
	int x;

	make_weights(&w, 21);
	kv = new_cache(env, ACCEL_S8);
	for (i = 0; i < seqs; i++)
		assert_int_equal(accel_kv_seq_create(kv, &seq[i]), 0);
	for (i = 0; i < 2; i++) {
		/* First everything; then as much again, with what is in the cache. */
		net_open(&n, env, 22, seqs);
		n.kv = kv;
		memcpy(n.seq, seq, sizeof(seq));
		x = llama(&n, &w, words, seqs * length, i * length);
		n.node[x].check = true;
		net_run(&n, queue);
		report(env, &n, i ? "LLaMA, second chunk" : "LLaMA");
		net_close(&n);
	}
	accel_kv_destroy(kv);
	accel_queue_destroy(queue);
}

/* --- decoding ----------------------------------------------------------------------------- */

/**
 * struct decoder - a model that says one word after the other
 * @env: device
 * @queue: its jobs
 * @w: weights
 * @cached: types of a cache that all goes through, 0: none
 * @keep: the cache is kept from word to word; else everything is done again
 * @kv: cache
 * @seq: its sequence
 * @known: words that are in it
 * @margin: by how much a word was ahead of the next, at least
 */
struct decoder {
	struct op_env *env;
	struct accel_queue *queue;
	const struct weights *w;
	uint32_t cached;
	bool keep;
	struct accel_kv *kv;
	uint32_t seq;
	uint32_t known;
	double margin;
};

static int32_t best_of(struct decoder *d, const float *score)
{
	float first = -INFINITY, second = -INFINITY;
	int32_t best = 0, i;

	for (i = 0; i < WORDS; i++) {
		assert_true(isfinite(score[i]));
		if (score[i] > first) {
			second = first;
			first = score[i];
			best = i;
		} else if (score[i] > second) {
			second = score[i];
		}
	}
	d->margin = fmin(d->margin, (double)(first - second));
	return best;
}

/* The word that follows. */
static int32_t next_word(struct decoder *d, const int32_t *words, uint32_t count, float *score)
{
	uint32_t from = d->keep ? d->known : 0;
	static struct net n;
	const float *p;
	int x;

	if (d->cached && !d->keep)
		assert_int_equal(accel_kv_seq_truncate(d->kv, d->seq, 0), 0);
	net_open(&n, d->env, 1, 1);
	n.kv = d->kv;
	n.seq[0] = d->seq;
	x = llama(&n, d->w, words + from, count - from, from);
	net_run(&n, d->queue);
	p = (const float *)accel_bo_ptr(n.node[x].t.bo) + (count - from - 1) * WORDS;
	memcpy(score, p, WORDS * sizeof(*score));
	net_close(&n);
	d->known = count;
	return best_of(d, score);
}

static void open_decoder(struct decoder *d, struct op_env *env, const struct weights *w,
			 uint32_t cached, bool keep)
{
	*d = (struct decoder){
		.env = env, .queue = new_queue(env), .w = w, .cached = cached, .keep = keep,
		.margin = INFINITY,
	};
	if (!cached)
		return;
	d->kv = new_cache(env, cached);
	assert_int_equal(accel_kv_seq_create(d->kv, &d->seq), 0);
}

static void close_decoder(struct decoder *d)
{
	accel_kv_destroy(d->kv);
	accel_queue_destroy(d->queue);
}

/* The same words, from scores that are the same but for the order of sums. */
static void decode(struct op_env *env, const struct weights *w, uint32_t with, uint32_t without,
		   uint32_t total, const char *what)
{
	static const int32_t prompt[] = { 1, 2, 3, 5, 8 };
	const uint32_t given = sizeof(prompt) / sizeof(prompt[0]);
	int32_t a[80], b[80], seen[WORDS] = { 0 };
	float score_a[WORDS], score_b[WORDS];
	double apart = 0;
	struct decoder fast, slow;
	uint32_t i, j, kinds = 0;

	memcpy(a, prompt, sizeof(prompt));
	memcpy(b, prompt, sizeof(prompt));
	open_decoder(&fast, env, w, with, true);
	open_decoder(&slow, env, w, without, false);
	for (i = given; i < given + total; i++) {
		a[i] = next_word(&fast, a, i, score_a);
		b[i] = next_word(&slow, b, i, score_b);
		if (a[i] != b[i])
			fail_msg("%s: word %u is %d with the cache and %d without", what,
				 i - given, a[i], b[i]);
		for (j = 0; j < WORDS; j++)
			apart = fmax(apart, fabs((double)(score_a[j] - score_b[j])));
		kinds += !seen[a[i]]++;
	}
	printf("# %s on %s: %u words, %u different ones; scores differ by at most %.3g, the best word is ahead by at least %.3g\n",
	       what, env->name, total, kinds, apart, fmin(fast.margin, slow.margin));
	/* Or it would say nothing. */
	assert_true(kinds > 2);
	env->cases++;
	close_decoder(&fast);
	close_decoder(&slow);
}

static void test_decode(struct op_env *env)
{
	/* Many pages of the cache, once; on other devices and with other kernels some. */
	const uint32_t words = test_every() > 4 ? 5 : test_every() > 2 ? 12 :
			       test_every() > 1 && !env->first ? 16 : 64;
	static struct weights w;

	make_weights(&w, 31);
	decode(env, &w, ACCEL_F32, 0, words, "decoding, fp32 cache or none");
	/* Quantised, everything goes through a cache: kept, or made anew for each word. */
	decode(env, &w, ACCEL_S8, ACCEL_S8, words, "decoding, int8 cache kept or made anew");
}

int main(void)
{
	static const struct op_test tests[] = {
		{ "BERT, two layers", test_bert },
		{ "LLaMA, two layers", test_llama },
		{ "greedy decoding", test_decode },
	};

	return op_main(tests, sizeof(tests) / sizeof(tests[0]));
}

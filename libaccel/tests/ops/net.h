/* SPDX-License-Identifier: MIT */
/*
 * Small networks: each node is an operation of one job on the device, and the
 * same in binary64.
 *
 * How far the device may be off is derived, to first order: each element of each
 * node may be off by the rounding of its own operation (the bounds of
 * Documentation/numerics.rst), and what that does to the elements that are
 * checked is found by moving it a little and computing the rows that follow again.
 *
 * Keys and values that go through a quantised cache are checked against it to
 * half a step; what follows is computed from what the cache has.
 */
#ifndef LIBACCEL_TESTS_NET_H
#define LIBACCEL_TESTS_NET_H

#include "optest.h"

#define NET_NODES	96
#define NET_SEQS	4

/**
 * enum net_kind - operations
 * @NET_INPUT: numbers
 * @NET_GEMM: in[0] x in[1], plus in[2] in each row, activation, plus in[3]
 * @NET_NORM: of the rows of in[0], times in[1], plus in[2] if there is one
 * @NET_ROTARY: of in[0], heads of @dim, by in[1] (cosines) and in[2] (sines)
 * @NET_MUL: in[0] times in[1]
 * @NET_GATHER: rows of in[0]
 * @NET_ATTENTION: of in[0]; keys in[1], values in[2], heads of @dim
 * @NET_CACHED: of in[0]; in[1] and in[2] are appended to the cache first
 */
enum net_kind {
	NET_INPUT,
	NET_GEMM,
	NET_NORM,
	NET_ROTARY,
	NET_MUL,
	NET_GATHER,
	NET_ATTENTION,
	NET_CACHED
};

/**
 * struct net_node - an operation and its result, [rows, cols]
 * @kind: &enum net_kind
 * @in: nodes, -1: none
 * @rows: rows
 * @cols: columns
 * @arg: GEMM: &enum accel_act; NORM: &enum accel_norm; CACHED: layer; ROTARY:
 *	position of the first row of a sequence
 * @dim: elements of a head
 * @pack: GEMM: weights are packed into the plan
 * @check: the result is compared
 * @t: dense tensor
 * @v: values in binary64
 * @w: the same while something is moved
 * @r: rounding of this operation
 * @b: bound of the error
 * @moved: rows of which w is not v
 * @ids: GATHER: rows
 */
struct net_node {
	enum net_kind kind;
	int in[4];
	uint32_t rows, cols;
	uint32_t arg;
	uint32_t dim;
	bool pack;
	bool check;
	struct accel_tensor t;
	double *v, *w, *r, *b;
	bool *moved;
	const int32_t *ids;
};

/**
 * struct net - a network
 * @env: device
 * @c: random numbers
 * @job: all of it
 * @count: nodes
 * @node: they
 * @seqs: sequences; rows of a sequence are neighbours
 * @kv: cache of CACHED, NULL: none
 * @seq: sequences in it, as long as they were before
 * @mask: ATTENTION: U8 [seqs, 1, 1, keys]: 0 hides the key; rank 0: causal
 * @cached: keys and values of a layer as the cache has them, [seqs, keys, heads, dim]
 * @keys: CACHED: tokens of each sequence
 */
struct net {
	struct op_env *env;
	struct op_case c;
	struct accel_job *job;
	int count;
	struct net_node node[NET_NODES];
	uint32_t seqs;
	struct accel_kv *kv;
	uint32_t seq[NET_SEQS];
	struct accel_tensor mask;
	double *cached[8][2];
	uint32_t keys;
};

void net_open(struct net *n, struct op_env *env, uint64_t seed, uint32_t seqs);
void net_close(struct net *n);

/* Numbers, uniform within @range around @middle. */
int net_input(struct net *n, uint32_t rows, uint32_t cols, double middle, double range);
/* Numbers of the caller. */
int net_data(struct net *n, uint32_t rows, uint32_t cols, const float *data);
/* A matrix whose products are about as large as what it is multiplied with. */
int net_weight(struct net *n, uint32_t rows, uint32_t cols);
int net_gemm(struct net *n, int a, int w, int bias, uint32_t act, int residual);
int net_norm(struct net *n, uint32_t func, int a, int scale, int bias);
int net_rotary(struct net *n, int a, int cosines, int sines, uint32_t dim, uint32_t start);
int net_mul(struct net *n, int a, int b);
int net_gather(struct net *n, int table, const int32_t *ids, uint32_t count);
int net_attention(struct net *n, int q, int k, int v, uint32_t dim);
int net_cached(struct net *n, int q, int k, int v, uint32_t dim, uint32_t layer);

/* Submit the job, once, and wait for it. */
void net_run(struct net *n, struct accel_queue *queue);
/* Compare: returns the largest error in units of its bound. */
double net_check(struct net *n, double *bound);

#endif /* LIBACCEL_TESTS_NET_H */

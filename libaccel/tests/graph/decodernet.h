/* SPDX-License-Identifier: MIT */
/*
 * A decoder of two layers of the LLaMA kind, with weights of noise: for tests of caches and
 * of what generates.
 */
#ifndef LIBACCEL_TESTS_DECODERNET_H
#define LIBACCEL_TESTS_DECODERNET_H

#include <accel/generate.h>
#include "graphtest.h"

enum {
	NET_LAYERS = 2,
	NET_HIDDEN = 64,
	NET_HEADS = 4,
	NET_KV_HEADS = 2,
	NET_DIM = 16,
	NET_FFN = 96,
	NET_VOCAB = 61,
	NET_CONTEXT = 256,
	NET_PAGE = 4
};

/**
 * struct net_decoder - a graph in the making
 * @bed: its graph
 * @dec: inputs
 * @cached: keys and values are in a cache; else all are there in each run
 * @seed: of the next weights
 * @cosines: of rotary embeddings
 * @sines: likewise
 */
struct net_decoder {
	struct bed *bed;
	struct accel_decoder dec;
	bool cached;
	uint64_t seed;
	uint32_t cosines;
	uint32_t sines;
};

static inline uint32_t net_weight(struct net_decoder *net, int64_t rows, int64_t columns)
{
	struct accel_value v = value_of(NULL, ACCEL_F32, 2, DIMS(rows, columns));
	float *w = noise_floats(net->seed++, (uint64_t)(rows * columns));
	struct bed *bed = net->bed;
	uint32_t value = 0;
	int64_t i;

	for (i = 0; i < rows * columns; i++)
		w[i] *= 2.0f / sqrtf((float)rows);
	MUST_GRAPH(accel_graph_constant(bed->graph, &v, w, free, w, &value));
	return value;
}

static inline uint32_t net_reshape(struct bed *bed, uint32_t value, int64_t heads, int64_t dim)
{
	struct accel_shape_desc d = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_RESHAPE);
	uint32_t in[] = { value, 0 };

	in[1] = heads ? LIST(1, -1, heads, dim) : LIST(1, -1, dim);
	return add_node(bed, NULL, &d.hdr, 2, in);
}

static inline uint32_t net_norm(struct bed *bed, uint32_t value)
{
	struct accel_norm_desc d = ACCEL_NORM_DESC_INIT;

	d.func = ACCEL_NORM_RMS;
	return add_node(bed, NULL, &d.hdr, 1, &value);
}

static inline uint32_t net_rotate(struct net_decoder *net, uint32_t value)
{
	struct accel_rotary_desc d = ACCEL_ROTARY_DESC_INIT;
	struct accel_graph_arg args[] = {
		{ ACCEL_ARG_D, ACCEL_VALUE_NEW }, { ACCEL_ARG_A, value },
		{ ACCEL_ARG_B, net->cosines }, { ACCEL_ARG_C, net->sines },
		{ ACCEL_ARG_AUX0, net->dec.positions }
	};
	struct bed *bed = net->bed;

	MUST_GRAPH(accel_graph_add(bed->graph, NULL, &d.hdr, args, 5));
	return args[0].value;
}

static inline void net_tables(struct net_decoder *net)
{
	struct accel_rotary_opts opts = ACCEL_ROTARY_OPTS_INIT;
	struct accel_value v = value_of(NULL, ACCEL_F32, 2, DIMS(NET_CONTEXT, NET_DIM / 2));
	float *c = malloc(NET_CONTEXT * NET_DIM / 2 * sizeof(*c));
	float *s = malloc(NET_CONTEXT * NET_DIM / 2 * sizeof(*s));
	struct bed *bed = net->bed;

	opts.rot_dim = NET_DIM;
	assert_int_equal(accel_rotary_table(&opts, 0, NET_CONTEXT, c, s), 0);
	MUST_GRAPH(accel_graph_constant(bed->graph, &v, c, free, c, &net->cosines));
	MUST_GRAPH(accel_graph_constant(bed->graph, &v, s, free, s, &net->sines));
}

static inline uint32_t net_attend(struct net_decoder *net, uint32_t layer, uint32_t q, uint32_t k,
				  uint32_t v)
{
	struct accel_attention_desc d = ACCEL_ATTENTION_DESC_INIT;
	struct bed *bed = net->bed;
	uint32_t out = 0;

	if (net->cached) {
		MUST_GRAPH(accel_decoder_attend(bed->graph, &net->dec, layer, NULL, q, k, v,
						&out));
		return out;
	}
	d.flags = ACCEL_ATTENTION_CAUSAL;
	return add_node(bed, NULL, &d.hdr, 3, (uint32_t[]) { q, k, v });
}

static inline uint32_t net_layer(struct net_decoder *net, uint32_t layer, uint32_t x)
{
	struct bed *bed = net->bed;
	uint32_t h = net_norm(bed, x), q, k, v, gate, up;

	q = add_gemm(bed, "q", h, net_weight(net, NET_HIDDEN, NET_HEADS * NET_DIM));
	k = add_gemm(bed, "k", h, net_weight(net, NET_HIDDEN, NET_KV_HEADS * NET_DIM));
	v = add_gemm(bed, "v", h, net_weight(net, NET_HIDDEN, NET_KV_HEADS * NET_DIM));
	q = net_rotate(net, net_reshape(bed, q, NET_HEADS, NET_DIM));
	k = net_rotate(net, net_reshape(bed, k, NET_KV_HEADS, NET_DIM));
	v = net_reshape(bed, v, NET_KV_HEADS, NET_DIM);
	h = net_reshape(bed, net_attend(net, layer, q, k, v), 0, NET_HEADS * NET_DIM);
	h = add_gemm(bed, "o", h, net_weight(net, NET_HEADS * NET_DIM, NET_HIDDEN));
	x = add_binary(bed, NULL, ACCEL_BINARY_ADD, x, h);
	h = net_norm(bed, x);
	gate = add_gemm(bed, "gate", h, net_weight(net, NET_HIDDEN, NET_FFN));
	up = add_gemm(bed, "up", h, net_weight(net, NET_HIDDEN, NET_FFN));
	h = add_binary(bed, NULL, ACCEL_BINARY_MUL, add_act(bed, NULL, ACCEL_ACT_SILU, gate), up);
	h = add_gemm(bed, "down", h, net_weight(net, NET_FFN, NET_HIDDEN));
	return add_binary(bed, NULL, ACCEL_BINARY_ADD, x, h);
}

/* The graph of @bed, which knows @vocabulary tokens; results are "logits" and "hidden". */
static inline void net_decoder_small(struct bed *bed, bool cached, uint32_t dtype, uint64_t seed,
				     int64_t vocabulary)
{
	struct accel_decoder_opts opts = ACCEL_DECODER_OPTS_INIT;
	struct accel_gather_desc embed = ACCEL_GATHER_DESC_INIT;
	struct net_decoder net = { .bed = bed, .cached = cached, .seed = seed };
	uint32_t i, x;
	int64_t dim;

	opts.layers = NET_LAYERS;
	opts.kv_heads = NET_KV_HEADS;
	opts.head_dim = NET_DIM;
	opts.dtype = dtype;
	opts.page_size = NET_PAGE;
	opts.context = NET_CONTEXT;
	if (cached) {
		MUST_GRAPH(accel_decoder_inputs(bed->graph, &opts, &net.dec));
	} else {
		MUST_GRAPH(accel_graph_symbol(bed->graph, "tokens", 1, NET_CONTEXT, &dim));
		net.dec.tokens = add_input(bed, "tokens", ACCEL_S32, 2, DIMS(1, dim));
		net.dec.positions = add_input(bed, "positions", ACCEL_S32, 2, DIMS(1, dim));
	}
	net_tables(&net);
	x = net_weight(&net, vocabulary, NET_HIDDEN);
	x = add_node(bed, "embed", &embed.hdr, 2, (uint32_t[]) { x, net.dec.tokens });
	for (i = 0; i < NET_LAYERS; i++)
		x = net_layer(&net, i, x);
	if (cached)
		MUST_GRAPH(accel_decoder_rows(bed->graph, &net.dec, x, &x));
	x = net_norm(bed, x);
	add_output(bed, "logits", add_gemm(bed, "head", x, net_weight(&net, NET_HIDDEN,
								      vocabulary)));
	add_output(bed, "hidden", x);
}

static inline void net_decoder_build(struct bed *bed, bool cached, uint32_t dtype, uint64_t seed)
{
	net_decoder_small(bed, cached, dtype, seed, NET_VOCAB);
}

#endif /* LIBACCEL_TESTS_DECODERNET_H */

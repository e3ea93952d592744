/* SPDX-License-Identifier: MIT */
/*
 * What decoders are made of, for those who build them and for those who write them.
 */
#ifndef LIBACCEL_MODELS_DECODER_H
#define LIBACCEL_MODELS_DECODER_H

#include "families.h"

/**
 * struct names - what the parts are called, without ".weight"; NULL: there is none
 * @embed: table of tokens
 * @places: table of positions
 * @layers: what layers' names begin with; those below are of a layer but for the last two
 * @before: norms before attention and before the network
 * @behind: norms behind them, before they are added
 * @qkv: all three, or
 * @q: each of them
 * @norms: of each head of queries and of keys
 * @o: out of attention
 * @gate_up: both, or
 * @gate: if there is one
 * @up: into the network
 * @down: out of it
 * @experts: router, and gate, up and down of experts
 * @last: norm behind all layers
 * @head: into logits, if it is not the table of tokens
 */
struct names {
	const char *embed;
	const char *places;
	const char *layers;
	const char *before[2];
	const char *behind[2];
	const char *qkv;
	const char *q;
	const char *k;
	const char *v;
	const char *norms[2];
	const char *o;
	const char *gate_up;
	const char *gate;
	const char *up;
	const char *down;
	const char *experts[4];
	const char *last;
	const char *head;
};

/**
 * struct decoder_traits - a family
 * @names: in safetensors
 * @act: activation, unless the configuration says
 * @layer: layer norms, else RMS norms
 * @columns: safetensors: weights are [in, out]
 * @by_heads: safetensors: queries, keys and values of a head lie together
 * @more: safetensors: added to factors of norms
 * @rotary: positions turn heads
 * @pairs: GGUF: neighbours are pairs
 * @parallel: attention and network see the same
 * @every: layers of which the first have a window; 0: all or none
 * @embed_scale: tokens' rows are multiplied by the root of their size
 */
struct decoder_traits {
	struct names names;
	const char *act;
	bool layer;
	bool columns;
	bool by_heads;
	bool rotary;
	bool pairs;
	bool parallel;
	bool embed_scale;
	uint32_t every;
	double more;
};

/* GGUF's names, one set for all */
extern const struct names gguf_names;

#endif /* LIBACCEL_MODELS_DECODER_H */

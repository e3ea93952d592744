/* SPDX-License-Identifier: MIT */
/*
 * What encoders are made of, for those who build them and for those who write them.
 */
#ifndef LIBACCEL_MODELS_ENCODER_H
#define LIBACCEL_MODELS_ENCODER_H

#include "families.h"

/**
 * struct encoder_traits - a family; names are those of tensors, without ".weight"
 * @embed: table of tokens, NULL: pictures
 * @places: table of positions
 * @types: table of segments, of which all rows are in the first
 * @first: norm behind these
 * @cls: pictures: the row before them
 * @patch: pictures: convolution into rows
 * @layers: what layers' names begin with; those below are of a layer
 * @q: queries
 * @k: keys
 * @v: values
 * @o: out of attention
 * @norms: of attention, of the network
 * @up: into the network
 * @down: out of it
 * @last: norm behind all layers, of all rows
 * @pooled: norm of the first row alone
 * @pooler: product of the first row
 * @classifier: logits of the first row, or of what the pooler makes of it
 * @before: norms are before
 * @beyond: positions begin behind the number of the token that fills
 * @eps: of norms, unless the configuration says
 *
 * Names come first: those of two sets lie in the same places.
 */
struct encoder_traits {
	const char *embed;
	const char *places;
	const char *types;
	const char *first;
	const char *cls;
	const char *patch;
	const char *layers;
	const char *q;
	const char *k;
	const char *v;
	const char *o;
	const char *norms[2];
	const char *up;
	const char *down;
	const char *last;
	const char *pooled;
	const char *pooler;
	const char *classifier;
	bool before;
	bool beyond;
	double eps;
};

/* GGUF's names for BERT */
extern const struct encoder_traits encoder_bert_gguf;

#endif /* LIBACCEL_MODELS_ENCODER_H */

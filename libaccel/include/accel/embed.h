/* SPDX-License-Identifier: MIT */
/*
 * Texts as vectors. In libaccel-models.
 */
#ifndef ACCEL_EMBED_H
#define ACCEL_EMBED_H

#include <stddef.h>
#include <stdint.h>
#include <accel/context.h>
#include <accel/error.h>
#include <accel/generate.h>
#include <accel/model.h>
#include <accel/tokenizer.h>

#if defined(__cplusplus)
extern "C" {
#endif

/**
 * DOC: Embedders
 *
 * An embedder makes a vector of each text: the hidden states of its tokens behind the last layer
 * and norm, brought together to one. It takes encoders (BERT, RoBERTa, DistilBERT) and decoders of
 * folders and GGUF files, and many texts at once: those of like lengths run together, filled up
 * to the longest of them. What fills is masked, or behind all that can see it, and no part of the
 * vector. Texts that are longer than the embedder takes are cut, and what was cut is told.
 *
 * Threads: one at a time has an embedder.
 */

struct accel_embedder;

/** ACCEL_POOL_DEFAULT: what the model's files say, see &struct accel_embedder_opts */
#define ACCEL_POOL_DEFAULT	0xffu

/**
 * ACCEL_EMBED_UNPADDED: only texts of as many tokens run together, so that nothing is filled up. In
 * a context that is ACCEL_CTX_REPRODUCIBLE a vector is then the one that its text has alone, to
 * the bit
 */
#define ACCEL_EMBED_UNPADDED	(1u << 0)

/**
 * struct accel_embedder_opts - options of accel_embedder_create()
 */
struct accel_embedder_opts {
	/** @size: sizeof(struct accel_embedder_opts) */
	uint32_t size;
	/**
	 * @pooling: &enum accel_pooling, or ACCEL_POOL_DEFAULT: that of 1_Pooling/config.json of
	 * sentence-transformers or of pooling_type of a GGUF file; where they do not say it the
	 * mean of an encoder, the last row of a decoder. Perhaps with ACCEL_POOL_NORMALISE
	 */
	uint32_t pooling;
	/** @flags: ACCEL_EMBED_* */
	uint32_t flags;
	/** @batch: most texts of a run, 0: 32; at most 4096 */
	uint32_t batch;
	/** @tokens: most tokens of a text; 0, or more than these: what the model was made for */
	uint32_t tokens;
	/** @pad: 0 */
	uint32_t pad;
	/** @compile: options of accel_graph_compile(), NULL: default */
	const struct accel_compile_opts *compile;
	/** @tokenizer: what makes tokens of texts, which has to stay; NULL: texts come as tokens */
	const struct accel_tokenizer *tokenizer;
};

/** ACCEL_EMBEDDER_OPTS_INIT: default options */
#define ACCEL_EMBEDDER_OPTS_INIT \
	{ sizeof(struct accel_embedder_opts), ACCEL_POOL_DEFAULT, 0, 0, 0, 0, NULL, NULL }

/**
 * accel_embedder_create - something that makes vectors of texts
 * @ctx: context
 * @model: encoder or decoder of a folder or a GGUF file; it may be closed behind this
 * @opts: options, or NULL
 * @error: filled if it fails, may be NULL
 * @embedder: out
 *
 * Return: 0; -EINVAL, -E2BIG options; -EOPNOTSUPP no such model, or a pooling that its files name
 * and that is none of these; -EBADMSG files that contradict themselves; errors of
 * accel_graph_compile(); -ENOMEM.
 */
ACCEL_API int accel_embedder_create(struct accel_ctx *ctx, struct accel_model *model,
				    const struct accel_embedder_opts *opts,
				    struct accel_error *error, struct accel_embedder **embedder);

/**
 * accel_embedder_destroy - give it up
 * @embedder: embedder, or NULL
 */
ACCEL_API void accel_embedder_destroy(struct accel_embedder *embedder);

/**
 * struct accel_embedder_info - an embedder
 */
struct accel_embedder_info {
	/** @size: sizeof(struct accel_embedder_info) */
	uint32_t size;
	/** @width: elements of a vector */
	uint32_t width;
	/** @pooling: &enum accel_pooling, perhaps with ACCEL_POOL_NORMALISE */
	uint32_t pooling;
	/** @tokens: most tokens of a text */
	uint32_t tokens;
	/** @vocabulary: tokens are below it */
	uint32_t vocabulary;
	/** @pad: 0 */
	uint32_t pad;
	/** @runs: runs of the graph */
	uint64_t runs;
	/** @rows: tokens of texts that were computed */
	uint64_t rows;
	/** @fill: what was computed beside them to fill up */
	uint64_t fill;
};

/**
 * accel_embedder_get_info - describe an embedder
 * @embedder: embedder
 * @info: out
 *
 * Return: 0; -EINVAL size.
 */
ACCEL_API int accel_embedder_get_info(struct accel_embedder *embedder,
				      struct accel_embedder_info *info);

/**
 * struct accel_embed_text - a text, and what became of it
 */
struct accel_embed_text {
	/** @text: text, need not be terminated; NULL: @tokens has it */
	const char *text;
	/** @bytes: of @text */
	size_t bytes;
	/** @tokens: with those that begin and end texts of this model, if @text is NULL */
	const int32_t *tokens;
	/** @count: number of @tokens, at least 1; out: of @text */
	uint32_t count;
	/**
	 * @used: out: how many the vector is of. Where that is less than @count the first ones
	 * are, and the tokens that end texts behind them if the tokenizer added some
	 */
	uint32_t used;
};

/**
 * accel_embedder_run - vectors of texts
 * @embedder: embedder
 * @texts: texts
 * @count: how many, at most 2^20
 * @vectors: out: F32 [count, width], in the order of @texts
 *
 * Return: 0; -EINVAL NULL, a text without tokens, a token that the vocabulary does not have, a
 * text and no tokenizer; -E2BIG; -EDOM the model gave NaN or INFINITY; errors of
 * accel_tokenizer_encode() and accel_state_run(); -ENOMEM. Vectors are not defined then.
 */
ACCEL_API int accel_embedder_run(struct accel_embedder *embedder, struct accel_embed_text *texts,
				 uint32_t count, float *vectors);

#if defined(__cplusplus)
}
#endif

#endif /* ACCEL_EMBED_H */

/* SPDX-License-Identifier: MIT */
/*
 * Embeddings of texts. Part of libaccel-models.
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
 * An embedder computes a vector for each text: the hidden states of its tokens after the last
 * layer and norm, pooled to one. It supports encoders (BERT, RoBERTa, DistilBERT) and
 * decoders of folders and GGUF files, and many texts at once: those of similar lengths run
 * together, padded to the longest of them. Padding is masked, or follows everything that
 * could attend to it, and is not part of the vector. Texts that are too long are truncated,
 * which is reported.
 *
 * Threads: one thread at a time may use an embedder.
 */

struct accel_embedder;

/** ACCEL_POOL_DEFAULT: the pooling of the model's files, see &struct accel_embedder_opts */
#define ACCEL_POOL_DEFAULT	0xffu

/**
 * ACCEL_EMBED_UNPADDED: only texts with the same number of tokens run together, without
 * padding. In a context that is ACCEL_CTX_REPRODUCIBLE a vector is then bit for bit the same
 * as for the text alone
 */
#define ACCEL_EMBED_UNPADDED	(1u << 0)

/**
 * struct accel_embedder_opts - options of accel_embedder_create()
 */
struct accel_embedder_opts {
	/** @size: sizeof(struct accel_embedder_opts) */
	uint32_t size;
	/**
	 * @pooling: &enum accel_pooling, or ACCEL_POOL_DEFAULT: that of 1_Pooling/config.json
	 * of sentence-transformers or of pooling_type of a GGUF file; if there is none, the
	 * mean for an encoder, the last row for a decoder. Optionally with
	 * ACCEL_POOL_NORMALISE
	 */
	uint32_t pooling;
	/** @flags: ACCEL_EMBED_* */
	uint32_t flags;
	/** @batch: largest number of texts of a run, 0: 32; at most 4096 */
	uint32_t batch;
	/**
	 * @tokens: largest number of tokens of a text; 0, or above the model's limit: that
	 * limit
	 */
	uint32_t tokens;
	/** @pad: 0 */
	uint32_t pad;
	/** @compile: options of accel_graph_compile(), NULL: default */
	const struct accel_compile_opts *compile;
	/**
	 * @tokenizer: tokenizer, which must exist as long as the embedder; NULL: texts are
	 * passed as tokens
	 */
	const struct accel_tokenizer *tokenizer;
};

/** ACCEL_EMBEDDER_OPTS_INIT: default options */
#define ACCEL_EMBEDDER_OPTS_INIT \
	{ sizeof(struct accel_embedder_opts), ACCEL_POOL_DEFAULT, 0, 0, 0, 0, NULL, NULL }

/**
 * accel_embedder_create - create an embedder
 * @ctx: context
 * @model: encoder or decoder of a folder or a GGUF file; may be closed afterwards
 * @opts: options, or NULL
 * @error: filled if it fails, may be NULL
 * @embedder: out
 *
 * Return: 0; -EINVAL, -E2BIG options; -EOPNOTSUPP another kind of model, or its files have
 * another kind of pooling; -EBADMSG inconsistent files; errors of accel_graph_compile();
 * -ENOMEM.
 */
ACCEL_API int accel_embedder_create(struct accel_ctx *ctx, struct accel_model *model,
				    const struct accel_embedder_opts *opts,
				    struct accel_error *error, struct accel_embedder **embedder);

/**
 * accel_embedder_destroy - release an embedder
 * @embedder: embedder, or NULL
 */
ACCEL_API void accel_embedder_destroy(struct accel_embedder *embedder);

/**
 * struct accel_embedder_info - description of an embedder
 */
struct accel_embedder_info {
	/** @size: sizeof(struct accel_embedder_info) */
	uint32_t size;
	/** @width: number of elements of a vector */
	uint32_t width;
	/** @pooling: &enum accel_pooling, optionally with ACCEL_POOL_NORMALISE */
	uint32_t pooling;
	/** @tokens: largest number of tokens of a text */
	uint32_t tokens;
	/** @vocabulary: size of the vocabulary */
	uint32_t vocabulary;
	/** @pad: 0 */
	uint32_t pad;
	/** @runs: number of runs of the graph */
	uint64_t runs;
	/** @rows: number of tokens of texts that were computed */
	uint64_t rows;
	/** @fill: number of padding tokens that were computed */
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
 * struct accel_embed_text - a text
 */
struct accel_embed_text {
	/** @text: text, need not be terminated; NULL: use @tokens */
	const char *text;
	/** @bytes: length of @text */
	size_t bytes;
	/**
	 * @tokens: if @text is NULL: tokens, including those that begin and end texts of this
	 * model
	 */
	const int32_t *tokens;
	/** @count: number of @tokens, at least 1; out: number of tokens of @text */
	uint32_t count;
	/**
	 * @used: out: number of tokens that were used. If it is less than @count, these are
	 * the first ones, and the tokens that end texts if the tokenizer added some
	 */
	uint32_t used;
};

/**
 * accel_embedder_run - compute the embeddings of texts
 * @embedder: embedder
 * @texts: texts
 * @count: how many, at most 2^20
 * @vectors: out: F32 [count, width], in the order of @texts
 *
 * Return: 0; -EINVAL NULL, a text without tokens, a token that the vocabulary does not have,
 * a text without a tokenizer; -E2BIG; -EDOM results are NaN or INFINITY; errors of
 * accel_tokenizer_encode() and accel_state_run(); -ENOMEM. On failure the vectors are
 * undefined.
 */
ACCEL_API int accel_embedder_run(struct accel_embedder *embedder, struct accel_embed_text *texts,
				 uint32_t count, float *vectors);

#if defined(__cplusplus)
}
#endif

#endif /* ACCEL_EMBED_H */

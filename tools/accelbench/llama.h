/* SPDX-License-Identifier: MIT */
/*
 * llama.cpp, if it is here.
 */
#ifndef LLAMA_PEER_H
#define LLAMA_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct llama - a model there, with the memory of some sequences
 * @model: model
 * @context: memory of the sequences
 * @pool: threads
 * @vocabulary: number of logits
 * @shared: @model and @pool are another's
 * @kept: prompts that are in @context, NULL: none are
 */
struct llama {
	void *model;
	void *context;
	void *pool;
	uint32_t vocabulary;
	bool shared;
	const int32_t *kept;
};

/* Is the library available? Searched once; an invalid name is reported. */
bool llama_here(void);

/**
 * llama_open - a model, and room for sequences
 * @l: zeros
 * @path: file
 * @other: one that has the same file and as many threads open, or NULL
 * @threads: that work
 * @sequences: most sequences
 * @tokens: most tokens of each
 *
 * Return: whether it worked, else it was told; llama_close() in any case.
 */
bool llama_open(struct llama *l, const char *path, const struct llama *other, uint32_t threads,
		uint32_t sequences, uint32_t tokens);
void llama_close(struct llama *l);

/* Of a sequence, all from a place on is forgotten. */
void llama_back(struct llama *l, uint32_t sequence, uint32_t place);

/**
 * llama_prompt - process tokens of one sequence
 * @l: model
 * @sequence: sequence
 * @place: position of the first token
 * @tokens: tokens
 * @count: number of tokens, at most LLAMA_BATCH
 * @all: compute logits for all of them, not only for the last
 *
 * Return: true on success; errors are reported.
 */
bool llama_prompt(struct llama *l, uint32_t sequence, uint32_t place, const int32_t *tokens,
		  uint32_t count, bool all);

/* The same with a token each of the first @count sequences, all at the same place */
bool llama_step(struct llama *l, uint32_t place, const int32_t *tokens, uint32_t count);

/** LLAMA_BATCH: most tokens of a call */
#define LLAMA_BATCH	512u

/* Logits of token @index of the last call; and the likeliest token there */
const float *llama_logits(struct llama *l, uint32_t index);
int32_t llama_best(struct llama *l, uint32_t index);

#endif /* LLAMA_PEER_H */

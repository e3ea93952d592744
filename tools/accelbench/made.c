// SPDX-License-Identifier: MIT
/*
 * Models of known sizes with random weights, as GGUF files. The library writes a supply of
 * random blocks; each row is a part of it at a different offset. So no rows are equal, and
 * writing is as fast as the disk.
 */
#include <accel/quant.h>
#include <endian.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perf.h"
#include "text.h"

/* Elements of a supply; a model needs few supplies */
#define SUPPLY		(1u << 21)
#define SUPPLIES	8
#define ALIGN		32u

static const struct made {
	const char *name;
	uint32_t type;
	bool llama;
	uint32_t layers, hidden, heads, kv_heads, inner, vocabulary, context;
} models[] = {
	{ "llama-1.1b-q4_0", ACCEL_Q4_0, true, 22, 2048, 32, 4, 5632, 32000, 2048 },
	{ "gpt2-124m-q4_0", ACCEL_Q4_0, false, 12, 768, 12, 12, 3072, 50257, 1024 },
	{ "gpt2-124m-q8_0", ACCEL_Q8_0, false, 12, 768, 12, 12, 3072, 50257, 1024 },
	{ "gpt2-124m-f16", ACCEL_F16, false, 12, 768, 12, 12, 3072, 50257, 1024 },
};

const char *made_name(uint32_t index)
{
	return index < sizeof(models) / sizeof(models[0]) ? models[index].name : NULL;
}

/**
 * enum pass - tensors are gone through three times
 * @COUNT: how many
 * @INFO: names, shapes, places
 * @DATA: elements
 */
enum pass {
	COUNT, INFO, DATA
};

/**
 * struct supply - random elements
 * @type: their type
 * @scale: their standard deviation
 * @blocks: blocks
 */
struct supply {
	uint32_t type;
	double scale;
	uint8_t *blocks;
};

/**
 * struct writer - a file that is written
 * @m: model
 * @file: file
 * @pass: &enum pass
 * @count: tensors
 * @offset: of the next one
 * @entries: of metadata
 * @rng: state of random numbers
 * @supplies: as far as they were needed
 * @error: negative errno
 */
struct writer {
	const struct made *m;
	FILE *file;
	enum pass pass;
	uint64_t count, offset, entries;
	uint64_t rng;
	struct supply supplies[SUPPLIES];
	int error;
};

static void put(struct writer *w, const void *p, size_t bytes)
{
	errno = EIO;
	if (!w->error && bytes && fwrite(p, 1, bytes, w->file) != bytes)
		w->error = -errno;
}

static void put_u32(struct writer *w, uint32_t x)
{
	x = htole32(x);
	put(w, &x, sizeof(x));
}

static void put_u64(struct writer *w, uint64_t x)
{
	x = htole64(x);
	put(w, &x, sizeof(x));
}

static void put_text(struct writer *w, const char *text)
{
	put_u64(w, strlen(text));
	put(w, text, strlen(text));
}

/* --- tensors ------------------------------------------------------------------------ */

/* Types' numbers in the file */
static uint32_t number_of(uint32_t type)
{
	switch (type) {
	case ACCEL_F16:
		return 1;
	case ACCEL_Q4_0:
		return 2;
	case ACCEL_Q8_0:
		return 8;
	case ACCEL_Q6_K:
		return 14;
	default:
		return 0;
	}
}

static int fill_supply(struct writer *w, struct supply *s, uint32_t type, double scale)
{
	float *numbers = malloc(SUPPLY * sizeof(*numbers));
	/* Even numbers from -a to a */
	const float a = (float)(scale * sqrt(3));
	uint32_t i;
	int ret = -ENOMEM;

	/* No type has more bytes an element than a float. */
	s->blocks = malloc(SUPPLY * 4ul);
	if (numbers && s->blocks) {
		data_fill(&w->rng, ACCEL_F32, numbers, SUPPLY);
		for (i = 0; i < SUPPLY; i++)
			numbers[i] *= a;
		ret = accel_blocks_write(type, numbers, SUPPLY / 1024, 1024, NULL, s->blocks);
	}
	free(numbers);
	s->type = type;
	s->scale = scale;
	return ret;
}

static const uint8_t *supply(struct writer *w, uint32_t type, double scale)
{
	struct supply *s = w->supplies;

	while (s->blocks && (s->type != type || s->scale != scale))
		s++;
	if (!s->blocks && !w->error)
		w->error = fill_supply(w, s, type, scale);
	return s->blocks;
}

static void put_rows(struct writer *w, uint32_t type, uint64_t rows, uint64_t columns,
		     double scale)
{
	uint32_t each = 1;
	const uint64_t size = accel_dtype_block(type, &each), blocks = columns / each;
	const uint8_t *from = supply(w, type, scale);
	const uint64_t places = SUPPLY / each - blocks;
	uint64_t i;

	for (i = 0; i < rows && !w->error; i++) {
		/* A linear congruential generator, D. Knuth's numbers: the upper bits are good. */
		w->rng = w->rng * 6364136223846793005u + 1442695040888963407u;
		put(w, from + (w->rng >> 33) % places * size, blocks * size);
	}
}

static void put_ones(struct writer *w, uint64_t count)
{
	const float one = 1;

	while (count--)
		put(w, &one, sizeof(one));
}

/* @rows: 0: it is a vector; @scale: standard deviation, 0: all elements are 1 */
static void tensor(struct writer *w, const char *name, uint32_t type, uint64_t rows,
		   uint64_t columns, double scale)
{
	static const char zeros[ALIGN];
	uint32_t each = 1;
	const uint64_t size = accel_dtype_block(type, &each);
	const uint64_t bytes = (rows ? rows : 1) * columns / each * size;
	const uint64_t pad = (ALIGN - bytes % ALIGN) % ALIGN;

	if (w->pass == INFO) {
		put_text(w, name);
		put_u32(w, rows ? 2 : 1);
		put_u64(w, columns);
		if (rows)
			put_u64(w, rows);
		put_u32(w, number_of(type));
		put_u64(w, w->offset);
	} else if (w->pass == DATA) {
		if (scale > 0)
			put_rows(w, type, rows ? rows : 1, columns, scale);
		else
			put_ones(w, columns);
		put(w, zeros, pad);
	}
	w->offset += bytes + pad;
	w->count++;
}

/* A matrix of a layer: its results have about the magnitude of its inputs. */
static void matrix(struct writer *w, uint32_t layer, const char *name, uint64_t rows,
		   uint64_t columns)
{
	char full[64];

	snprintf(full, sizeof(full), "blk.%u.%s.weight", layer, name);
	tensor(w, full, w->m->type, rows, columns, 1 / sqrt((double)columns));
	snprintf(full, sizeof(full), "blk.%u.%s.bias", layer, name);
	if (!w->m->llama)
		tensor(w, full, ACCEL_F32, 0, rows, 0.1);
}

static void norm(struct writer *w, const char *name)
{
	char full[64];

	snprintf(full, sizeof(full), "%s.weight", name);
	tensor(w, full, ACCEL_F32, 0, w->m->hidden, 0);
	snprintf(full, sizeof(full), "%s.bias", name);
	if (!w->m->llama)
		tensor(w, full, ACCEL_F32, 0, w->m->hidden, 0.1);
}

static void layer(struct writer *w, uint32_t i)
{
	const struct made *m = w->m;
	const uint32_t hidden = m->hidden, kv = hidden / m->heads * m->kv_heads;
	char name[32];

	snprintf(name, sizeof(name), "blk.%u.attn_norm", i);
	norm(w, name);
	if (m->llama) {
		matrix(w, i, "attn_q", hidden, hidden);
		matrix(w, i, "attn_k", kv, hidden);
		matrix(w, i, "attn_v", kv, hidden);
	} else {
		matrix(w, i, "attn_qkv", 3 * hidden, hidden);
	}
	matrix(w, i, "attn_output", hidden, hidden);
	snprintf(name, sizeof(name), "blk.%u.ffn_norm", i);
	norm(w, name);
	if (m->llama)
		matrix(w, i, "ffn_gate", m->inner, hidden);
	matrix(w, i, "ffn_up", m->inner, hidden);
	matrix(w, i, "ffn_down", hidden, m->inner);
}

/* Tables to tokens keep 6 bits, as files of Q4_0 have it; logits differ by about 2. */
static void tensors(struct writer *w, enum pass pass)
{
	const struct made *m = w->m;
	const uint32_t table = m->type == ACCEL_Q4_0 ? ACCEL_Q6_K : m->type;
	const double scale = 2 / sqrt(m->hidden);
	uint32_t i;

	w->pass = pass;
	w->count = 0;
	w->offset = 0;
	tensor(w, "token_embd.weight", m->llama ? m->type : table, m->vocabulary, m->hidden, scale);
	if (!m->llama)
		tensor(w, "position_embd.weight", ACCEL_F32, m->context, m->hidden, scale / 2);
	for (i = 0; i < m->layers; i++)
		layer(w, i);
	norm(w, "output_norm");
	if (m->llama)
		tensor(w, "output.weight", table, m->vocabulary, m->hidden, scale);
}

/* --- metadata ------------------------------------------------------------------------ */

static void meta_u32(struct writer *w, const char *key, uint32_t value)
{
	char full[96];

	snprintf(full, sizeof(full), "%s.%s", w->m->llama ? "llama" : "gpt2", key);
	put_text(w, full);
	put_u32(w, 4);
	put_u32(w, value);
	w->entries++;
}

static void meta_text(struct writer *w, const char *key, const char *value)
{
	put_text(w, key);
	put_u32(w, 8);
	put_text(w, value);
	w->entries++;
}

static void metadata(struct writer *w)
{
	const struct made *m = w->m;
	const float small = 0.00001f;
	uint32_t bits;

	meta_text(w, "general.architecture", m->llama ? "llama" : "gpt2");
	meta_text(w, "general.name", m->name);
	meta_text(w, "tokenizer.ggml.model", "none");
	meta_u32(w, "vocab_size", m->vocabulary);
	meta_u32(w, "context_length", m->context);
	meta_u32(w, "embedding_length", m->hidden);
	meta_u32(w, "block_count", m->layers);
	meta_u32(w, "feed_forward_length", m->inner);
	meta_u32(w, "attention.head_count", m->heads);
	meta_u32(w, "attention.head_count_kv", m->kv_heads);
	if (m->llama)
		meta_u32(w, "rope.dimension_count", m->hidden / m->heads);
	put_text(w, m->llama ? "llama.attention.layer_norm_rms_epsilon" :
		 "gpt2.attention.layer_norm_epsilon");
	put_u32(w, 6);
	memcpy(&bits, &small, sizeof(bits));
	put_u32(w, bits);
	w->entries++;
}

static void write_file(struct writer *w)
{
	static const char zeros[ALIGN];
	long at;

	/* Numbers of entries are known when they are there. */
	put(w, "GGUF", 4);
	put_u32(w, 3);
	tensors(w, COUNT);
	put_u64(w, w->count);
	put_u64(w, 0);
	metadata(w);
	tensors(w, INFO);
	at = ftell(w->file);
	put(w, zeros, (size_t)((ALIGN - at % ALIGN) % ALIGN));
	tensors(w, DATA);
	if (at < 0 || fseek(w->file, 16, SEEK_SET))
		w->error = w->error ? w->error : -errno;
	put_u64(w, w->entries);
}

int made_write(uint32_t index, uint64_t seed, const char *path)
{
	struct writer w = { .m = &models[index], .rng = seed | 1 };
	uint32_t i;

	w.file = fopen(path, "wbe");
	if (w.file)
		write_file(&w);
	else
		w.error = -errno;
	if (w.file && fclose(w.file) && !w.error)
		w.error = -errno;
	for (i = 0; i < SUPPLIES; i++)
		free(w.supplies[i].blocks);
	return w.error ? bench_fail(w.error, "cannot write %s", path) : 0;
}

// SPDX-License-Identifier: MIT
/*
 * A decoder with its cache: runs pieces of sequences. Numbers of tokens, sequences and rows are
 * rounded up to a few, so that steps are run again as they are; what is too much has no slot, no
 * sequence, and nobody looks at it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "generate.h"

static const char *const names[ENGINE_INPUTS] = {
	"tokens", "positions", "slots", "pages", "lengths", "rows", "cache.k", "cache.v",
	"cache.k_scales", "cache.v_scales"
};

/* 1, 2, 3, 4, 6, 8, 12, 16, 24, ...: at most half as many more */
static uint32_t rounded(uint32_t n)
{
	uint32_t p = 1;

	while (p < n)
		p *= 2;
	return p >= 4 && p / 4 * 3 >= n ? p / 4 * 3 : p;
}

/* --- making one -------------------------------------------------------------------- */

static int find_inputs(struct engine *e, bool more, struct accel_value *k, struct accel_value *v,
		       struct accel_value *ks)
{
	struct accel_value value = ACCEL_VALUE_INIT;
	uint32_t i, n, found = 0;
	int64_t columns = 0;
	bool bytes;

	for (n = 0; !accel_program_get_input(e->program, n, &value); n++) {
		for (i = 0; i < ENGINE_INPUTS; i++)
			if (value.name && !strcmp(value.name, names[i]))
				break;
		if (i == ENGINE_INPUTS && !more)
			return -EINVAL;
		if (i == ENGINE_INPUTS)
			continue;
		e->at[i] = n;
		found |= 1u << i;
		if (i == ENGINE_PAGES && value.rank == 2)
			accel_program_get_symbol(e->program, value.dims[1], NULL, &columns);
		if (i == ENGINE_K)
			*k = value;
		if (i == ENGINE_V)
			*v = value;
		if (i == ENGINE_K_SCALES)
			*ks = value;
	}
	bytes = k->type == ACCEL_S8;
	if ((found | 3u << ENGINE_K_SCALES) != (1u << ENGINE_INPUTS) - 1 || k->rank != 5 ||
	    v->rank != 5 || bytes != (found >> ENGINE_K_SCALES & 1) ||
	    columns < 1 || columns * k->dims[2] > INT32_MAX)
		return -EINVAL;
	e->columns = (uint32_t)columns;
	e->page_size = (uint32_t)k->dims[2];
	e->context = e->columns * e->page_size;
	return 0;
}

static int bind_pool(struct engine *e, uint32_t input, const struct accel_value *like,
		     const struct accel_tensor *t)
{
	const bool scales = input >= ENGINE_K_SCALES;
	const int64_t dims[5] = {
		like->dims[0], e->pages, e->page_size, like->dims[3], scales ? 1 : like->dims[4]
	};

	return accel_state_set_input(e->state, e->at[input], 5, dims,
				     scales ? t->quant.scales : t->bo,
				     scales ? t->quant.scales_offset : t->offset);
}

static int make_cache(struct engine *e, const struct accel_value *k, const struct accel_value *v,
		      const struct accel_value *ks)
{
	struct accel_kv_opts opts = ACCEL_KV_OPTS_INIT;
	struct accel_tensor kt, vt;
	int ret;

	opts.layers = (uint32_t)k->dims[0];
	opts.kv_heads = (uint32_t)k->dims[3];
	opts.head_dim = (uint32_t)k->dims[4];
	opts.v_dim = (uint32_t)v->dims[4];
	opts.dtype = k->type;
	opts.scale_dtype = k->type == ACCEL_S8 ? ks->type : 0;
	opts.page_size = e->page_size;
	opts.pages = e->pages;
	opts.label = "keys and values";
	ret = accel_kv_create(e->ctx, &opts, &e->kv);
	if (!ret)
		ret = accel_kv_tensors(e->kv, 0, &kt, &vt);
	if (!ret)
		ret = bind_pool(e, ENGINE_K, k, &kt);
	if (!ret)
		ret = bind_pool(e, ENGINE_V, v, &vt);
	if (!ret && k->type == ACCEL_S8)
		ret = bind_pool(e, ENGINE_K_SCALES, k, &kt);
	if (!ret && k->type == ACCEL_S8)
		ret = bind_pool(e, ENGINE_V_SCALES, v, &vt);
	return ret;
}

/* Memory of the inputs, one behind the other */
static int make_step(struct engine *e)
{
	const struct accel_bo_opts opts = { sizeof(opts), 0, "step" };
	const uint64_t sizes[ENGINE_K] = {
		e->max_tokens, e->max_tokens, e->max_tokens,
		(uint64_t)e->max_sequences * e->columns, e->max_sequences * 3ull, e->max_tokens
	};
	uint64_t bytes = 0;
	uint32_t i;

	for (i = 0; i < ENGINE_K; i++) {
		e->offset[i] = bytes;
		bytes += (sizes[i] * sizeof(int32_t) + 63) / 64 * 64;
	}
	e->reserve = malloc(e->max_sequences * sizeof(*e->reserve));
	return e->reserve ? accel_bo_create(e->ctx, bytes, &opts, &e->step) : -ENOMEM;
}

static int32_t *step_at(const struct engine *e, enum engine_input input)
{
	return (int32_t *)((char *)accel_bo_ptr(e->step) + e->offset[input]);
}

static int set_input(struct engine *e, enum engine_input input, uint32_t rank, int64_t d0,
		     int64_t d1)
{
	const int64_t dims[2] = { d0, d1 };

	return accel_state_set_input(e->state, e->at[input], rank, dims, e->step,
				     e->offset[input]);
}

static int set_inputs(struct engine *e, uint32_t tokens, uint32_t sequences, uint32_t rows)
{
	int ret = set_input(e, ENGINE_TOKENS, 2, 1, tokens);

	if (!ret)
		ret = set_input(e, ENGINE_POSITIONS, 2, 1, tokens);
	if (!ret)
		ret = set_input(e, ENGINE_SLOTS, 1, tokens, 0);
	if (!ret)
		ret = set_input(e, ENGINE_PAGES, 2, sequences, e->columns);
	if (!ret)
		ret = set_input(e, ENGINE_LENGTHS, 2, sequences, 3);
	return ret ? ret : set_input(e, ENGINE_ROWS, 1, rows, 0);
}

/* A result of @rows rows: a graph may have others than were wanted, or longer ones than before. */
static int get_result(struct engine *e, uint32_t which, int64_t rows, const float **data,
		      uint32_t *width)
{
	struct accel_value v = ACCEL_VALUE_INIT;
	int64_t n = 1;
	const void *p;
	uint32_t i;
	int ret = accel_state_get_output(e->state, e->results[which], &v, &p);

	if (ret)
		return ret;
	if (v.type != ACCEL_F32 || !v.rank)
		return -EOPNOTSUPP;
	for (i = 0; i + 1 < v.rank; i++)
		n *= v.dims[i];
	if (n != rows || v.dims[i] < 1 || v.dims[i] > INT32_MAX || (*width && v.dims[i] != *width))
		return -EINVAL;
	*data = p;
	/* The first step is run before there are requests, which read the width without a lock. */
	if (!*width)
		*width = (uint32_t)v.dims[i];
	return 0;
}

/* Inputs that only this graph has */
static int clear_more(struct engine *e)
{
	struct accel_value v = ACCEL_VALUE_INIT;
	uint64_t bytes;
	uint32_t i, n;
	void *p;
	int ret;

	for (n = 0; !accel_program_get_input(e->program, n, &v); n++) {
		for (i = 0; i < ENGINE_INPUTS; i++)
			if (v.name && !strcmp(v.name, names[i]))
				break;
		if (i < ENGINE_INPUTS)
			continue;
		for (i = 0; i < v.rank; i++)
			v.dims[i] = v.dims[i] < 0 ? 1 : v.dims[i];
		ret = accel_state_set_input(e->state, n, v.rank, v.dims, NULL, 0);
		if (ret)
			return ret;
		p = accel_state_get_input(e->state, n, &bytes);
		if (!p)
			return -ENOMEM;
		memset(p, 0, bytes);
	}
	return 0;
}

int engine_hear(struct engine *e, struct accel_state *from)
{
	struct accel_value v = ACCEL_VALUE_INIT, to = ACCEL_VALUE_INIT;
	uint64_t bytes;
	const void *data;
	uint32_t i, n;
	void *p;
	int ret;

	for (i = 0; !accel_state_get_output(from, i, &v, &data); i++) {
		for (n = 0; !accel_program_get_input(e->program, n, &to); n++)
			if (v.name && to.name && !strcmp(v.name, to.name))
				break;
		if (accel_program_get_input(e->program, n, &to) || v.type != to.type)
			return -EINVAL;
		ret = accel_state_set_input(e->state, n, v.rank, v.dims, NULL, 0);
		if (ret)
			return ret;
		p = accel_state_get_input(e->state, n, &bytes);
		if (!p)
			return -ENOMEM;
		memcpy(p, data, bytes);
	}
	return 0;
}

/* A token that goes nowhere tells what results there are. */
static int first_run(struct engine *e)
{
	struct accel_value v = ACCEL_VALUE_INIT;
	const void *p;
	uint32_t i;
	int ret = set_inputs(e, 1, 1, 1);

	if (!ret)
		ret = clear_more(e);
	if (!ret)
		ret = accel_bo_cpu_begin(e->step, 0, accel_bo_size(e->step), ACCEL_CPU_WRITE);
	if (ret)
		return ret;
	for (i = 0; i < ENGINE_K; i++)
		*step_at(e, (enum engine_input)i) = 0;
	*step_at(e, ENGINE_SLOTS) = ACCEL_KV_WRITE_SKIP;
	memset(step_at(e, ENGINE_LENGTHS), 0, 3 * sizeof(int32_t));
	ret = accel_bo_cpu_end(e->step, 0, accel_bo_size(e->step), ACCEL_CPU_WRITE);
	if (!ret)
		ret = accel_state_run(e->state);
	if (ret)
		return ret;
	e->results[0] = UINT32_MAX;
	e->results[1] = UINT32_MAX;
	for (i = 0; !accel_state_get_output(e->state, i, &v, &p); i++) {
		if (v.name && !strcmp(v.name, "logits"))
			e->results[0] = i;
		if (v.name && !strcmp(v.name, "hidden"))
			e->results[1] = i;
		v = (struct accel_value)ACCEL_VALUE_INIT;
	}
	if (e->results[0] == UINT32_MAX)
		return -EINVAL;
	ret = get_result(e, 0, 1, &e->logits, &e->vocabulary);
	if (!ret && e->results[1] != UINT32_MAX)
		ret = get_result(e, 1, 1, &e->hidden, &e->width);
	return ret;
}

int engine_create(struct engine *e, struct accel_ctx *ctx, struct accel_graph *graph,
		  const struct engine_opts *opts)
{
	struct accel_compile_opts compile = ACCEL_COMPILE_OPTS_INIT;
	struct accel_value k = { 0 }, v = { 0 }, ks = { 0 };
	int ret;

	*e = (struct engine) {
		.ctx = ctx, .max_tokens = rounded(opts->tokens),
		.max_sequences = rounded(opts->sequences)
	};
	if (opts->compile && opts->compile->size > sizeof(compile))
		return -E2BIG;
	/* It may be of an older version, which accel_graph_compile() completes, or refuses. */
	if (opts->compile) {
		memcpy(&compile, opts->compile, opts->compile->size);
		compile.size = opts->compile->size;
	}
	/* Pieces of prompts, and what is decoded beside them */
	if (!compile.cache)
		compile.cache = 64;
	ret = accel_graph_compile(ctx, graph, &compile, &e->program);
	if (!ret)
		ret = find_inputs(e, opts->more, &k, &v, &ks);
	if (ret)
		goto out;
	e->pages = opts->pages ? opts->pages : (opts->sequences > 1 ? 2 : 1) * e->columns;
	if (e->pages > INT32_MAX / e->page_size)
		ret = -EINVAL;
	if (!ret)
		ret = accel_state_create(e->program, &e->state);
	if (!ret)
		ret = accel_job_create(ctx, NULL, &e->job);
	if (!ret)
		ret = make_cache(e, &k, &v, &ks);
	if (!ret)
		ret = make_step(e);
	if (!ret)
		ret = first_run(e);
out:
	if (ret)
		engine_destroy(e);
	return ret;
}

void engine_destroy(struct engine *e)
{
	accel_state_destroy(e->state);
	accel_program_unref(e->program);
	accel_job_destroy(e->job);
	accel_queue_destroy(e->queue);
	accel_kv_destroy(e->kv);
	accel_bo_unref(e->step);
	free(e->reserve);
	*e = (struct engine) { 0 };
}

/* --- sequences --------------------------------------------------------------------- */

uint32_t engine_free_pages(struct engine *e)
{
	struct accel_kv_stats stats = { .size = sizeof(stats) };

	accel_kv_get_stats(e->kv, &stats);
	return stats.pages - stats.used_pages;
}

static int make_table(struct engine *e, struct engine_seq *seq)
{
	seq->table = malloc(e->columns * sizeof(*seq->table));
	return seq->table ? 0 : -ENOMEM;
}

int engine_seq_create(struct engine *e, struct engine_seq *seq)
{
	int ret;

	*seq = (struct engine_seq) { 0 };
	ret = make_table(e, seq);
	if (!ret)
		ret = accel_kv_seq_create(e->kv, &seq->seq);
	seq->live = !ret;
	if (ret)
		engine_seq_drop(e, seq);
	return ret;
}

/* A sequence that the cache has, with @length tokens, is known here from now on, or given up. */
int engine_seq_adopt(struct engine *e, uint32_t number, uint32_t length, struct engine_seq *seq)
{
	struct accel_tensor pages, lengths;
	int ret;

	*seq = (struct engine_seq) { .live = true, .seq = number, .done = length };
	ret = make_table(e, seq);
	if (!ret)
		ret = accel_kv_table(e->kv, &number, 1, e->columns, &pages, &lengths);
	if (ret) {
		engine_seq_drop(e, seq);
		return ret;
	}
	memcpy(seq->table, (char *)accel_bo_ptr(pages.bo) + pages.offset,
	       e->columns * sizeof(*seq->table));
	accel_bo_unref(pages.bo);
	return 0;
}

int engine_seq_fork(struct engine *e, const struct engine_seq *from, uint32_t length,
		    struct engine_seq *seq)
{
	int ret;

	*seq = (struct engine_seq) { 0 };
	ret = make_table(e, seq);
	if (!ret)
		ret = accel_kv_seq_fork(e->kv, from->seq, length, &seq->seq);
	if (ret) {
		engine_seq_drop(e, seq);
		return ret;
	}
	seq->live = true;
	seq->done = length;
	/* Its pages are those of the one that it came from, which are known. */
	memcpy(seq->table, from->table,
	       (length + e->page_size - 1ull) / e->page_size * sizeof(*seq->table));
	return 0;
}

void engine_seq_drop(struct engine *e, struct engine_seq *seq)
{
	if (seq->live)
		accel_kv_seq_destroy(e->kv, seq->seq);
	free(seq->table);
	*seq = (struct engine_seq) { 0 };
}

int engine_seq_truncate(struct engine *e, struct engine_seq *seq, uint32_t length)
{
	int ret;

	if (seq->done <= length)
		return 0;
	ret = accel_kv_seq_truncate(e->kv, seq->seq, length);
	if (!ret)
		seq->done = length;
	return ret;
}

/* --- running ----------------------------------------------------------------------- */

/* Pages that are shared and were to grow were copied: that is done before the step. */
static int copy_pages(struct engine *e)
{
	struct accel_fence *fence;
	int ret = e->queue ? 0 : accel_queue_create(e->ctx, NULL, &e->queue);

	if (!ret)
		ret = accel_queue_submit(e->queue, e->job, NULL, &fence);
	if (!ret) {
		ret = accel_fence_wait(fence, -1);
		accel_fence_unref(fence);
	}
	accel_job_destroy(e->job);
	e->job = NULL;
	if (!ret)
		ret = accel_job_create(e->ctx, NULL, &e->job);
	return ret;
}

static int write_slots(struct engine *e, uint32_t count, uint32_t tokens)
{
	const int64_t dim = tokens;
	struct accel_tensor t = accel_tensor_dense(e->step, ACCEL_S32, 1, &dim);

	t.offset = e->offset[ENGINE_SLOTS];
	return accel_kv_slots(e->kv, e->reserve, count, &t);
}

/* What the run reads; slots are there. */
static void write_step(struct engine *e, const struct piece *pieces, uint32_t count,
		       const uint32_t *used, const uint32_t *all)
{
	int32_t *tokens = step_at(e, ENGINE_TOKENS), *positions = step_at(e, ENGINE_POSITIONS);
	int32_t *slots = step_at(e, ENGINE_SLOTS), *lengths = step_at(e, ENGINE_LENGTHS);
	int32_t *rows = step_at(e, ENGINE_ROWS), *table = step_at(e, ENGINE_PAGES);
	uint32_t i, k, n = 0, row = 0;

	for (i = 0; i < count; i++) {
		struct engine_seq *seq = pieces[i].seq;

		lengths[3 * i] = (int32_t)(seq->done + pieces[i].count);
		lengths[3 * i + 1] = (int32_t)pieces[i].count;
		lengths[3 * i + 2] = (int32_t)n;
		for (k = 0; k < pieces[i].count; k++, n++) {
			uint32_t at = seq->done + k;

			tokens[n] = pieces[i].tokens[k];
			positions[n] = (int32_t)at;
			seq->table[at / e->page_size] = slots[n] / (int32_t)e->page_size;
			if (k + pieces[i].rows >= pieces[i].count)
				rows[row++] = (int32_t)n;
		}
		memcpy(table + (uint64_t)i * e->columns, seq->table,
		       ((seq->done + pieces[i].count - 1) / e->page_size + 1) * sizeof(*table));
	}
	for (; n < all[0]; n++) {
		tokens[n] = 0;
		positions[n] = 0;
		slots[n] = ACCEL_KV_WRITE_SKIP;
	}
	for (; i < all[1]; i++) {
		lengths[3 * i] = 0;
		lengths[3 * i + 1] = 0;
		lengths[3 * i + 2] = (int32_t)used[0];
		table[(uint64_t)i * e->columns] = 0;
	}
	for (; row < all[2]; row++)
		rows[row] = 0;
}

static int run_step(struct engine *e, const struct piece *pieces, uint32_t count,
		    const uint32_t *used)
{
	const uint32_t all[3] = {
		rounded(used[0]), rounded(count), used[2] ? rounded(used[2]) : 1
	};
	uint64_t bytes = accel_bo_size(e->step);
	int ret = write_slots(e, count, used[0]);

	if (!ret)
		ret = set_inputs(e, all[0], all[1], all[2]);
	if (!ret)
		ret = accel_bo_cpu_begin(e->step, 0, bytes, ACCEL_CPU_WRITE);
	if (ret)
		return ret;
	write_step(e, pieces, count, used, all);
	ret = accel_bo_cpu_end(e->step, 0, bytes, ACCEL_CPU_WRITE);
	if (!ret)
		ret = accel_state_run(e->state);
	if (!ret)
		ret = get_result(e, 0, all[2], &e->logits, &e->vocabulary);
	if (!ret && e->width)
		ret = get_result(e, 1, all[2], &e->hidden, &e->width);
	return ret;
}

/**
 * engine_run - run pieces of sequences
 * @e: engine
 * @pieces: pieces, no sequence twice
 * @count: their number
 *
 * Return: 0; -ENOSPC there are too few pages: nothing has changed; other errors: the
 * sequences are as they were, unless pages could not be copied, of which each later run has the
 * error.
 */
int engine_run(struct engine *e, const struct piece *pieces, uint32_t count)
{
	uint32_t i, used[3] = { 0, count, 0 }, index = UINT32_MAX;
	int ret;

	if (e->broken)
		return e->broken;
	for (i = 0; i < count; i++) {
		e->reserve[i] = (struct accel_kv_rows) { pieces[i].seq->seq, pieces[i].count };
		used[0] += pieces[i].count;
		used[2] += pieces[i].rows;
	}
	ret = accel_kv_reserve(e->kv, e->job, e->reserve, count, NULL, 0, &index);
	if (ret)
		return ret;
	/* Sequences have pages then that nothing was copied to: nothing is computed with them. */
	if (index != UINT32_MAX) {
		ret = copy_pages(e);
		e->broken = ret;
	}
	if (!ret)
		ret = run_step(e, pieces, count, used);
	for (i = 0; i < count; i++)
		if (ret)
			accel_kv_seq_truncate(e->kv, pieces[i].seq->seq, pieces[i].seq->done);
		else
			pieces[i].seq->done += pieces[i].count;
	return ret;
}

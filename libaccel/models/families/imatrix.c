// SPDX-License-Identifier: MIT
/*
 * Importance matrices: how large, in the mean of squares, what each column of a model's matrices
 * is multiplied by is over a text. The graph itself adds the squares up. Names and files are those
 * of llama.cpp: GGUF with NAME.in_sum2, sums, and NAME.counts, rows, for each matrix NAME.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "libaccel/core/errno_text.h"
#include "libaccel/core/fpmode.h"
#include "../onnx/attend.h"
#include "convert.h"

/* Tokens of a window, unless the model has fewer positions: as llama.cpp has them */
#define WINDOW		512u
#define SUMS		".in_sum2"
#define COUNTS		".counts"
#define ALIGN		32u

/**
 * struct entry - what a tensor is multiplied by
 * @name: of the tensor, as GGUF has it
 * @matrices: of a tensor with experts these, else 1
 * @columns: of each
 * @sums: [matrices, columns], of squares
 * @counts: [matrices], rows that were added
 * @probe: of the graph, while there is one
 */
struct entry {
	char *name;
	uint32_t matrices;
	uint32_t columns;
	double *sums;
	double *counts;
	uint32_t probe;
};

/**
 * struct accel_imatrix - an importance matrix
 * @list: entries
 * @info: what was seen
 * @program: graph that adds up, or NULL: of a file
 * @state: of it
 * @probes: of it
 * @vocabulary: tokens
 */
struct accel_imatrix {
	struct entry *list;
	struct accel_imatrix_info info;
	struct accel_program *program;
	struct accel_state *state;
	struct probes probes;
	int64_t vocabulary;
};

/* --- in the graph ---------------------------------------------------------------------------- */

static int put_output(struct family_build *b, const char *what, uint32_t index, uint32_t value)
{
	char name[32];

	if (b->im->error.code)
		return b->im->error.code;
	snprintf(name, sizeof(name), "%s.%u", what, index);
	return part_output(b, name, value);
}

/* Squares of rows that lie in the order of experts: a product by which rows are whose */
static uint32_t sums_of_experts(struct family_build *b, uint32_t x, uint32_t counts)
{
	static const int64_t second = 1;
	struct import *im = b->im;
	struct accel_scan_desc d = ACCEL_SCAN_DESC_INIT;
	uint32_t first = NO_VALUE, place, mine;

	d.flags = ACCEL_SCAN_EXCLUSIVE;
	if (im->error.code || im_one(im, &d.hdr, counts, &first))
		return NO_VALUE;
	first = v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, first, 1, &second);
	counts = v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, counts, 1, &second);
	place = v_cast(im, v_iota(im, length_of(im, x, 0)), ACCEL_S32);
	place = v_binary(im, ACCEL_BINARY_SUB, place, first);
	mine = v_binary(im, ACCEL_BINARY_MUL,
			v_cast(im, v_with(im, ACCEL_BINARY_GE, place, 0), ACCEL_F32),
			v_cast(im, v_binary(im, ACCEL_BINARY_LT, place, counts), ACCEL_F32));
	return v_product(im, 0, 0, mine, v_binary(im, ACCEL_BINARY_MUL, x, x), NO_VALUE, NO_VALUE);
}

void part_probe(struct family_build *b, const struct stored *s, uint32_t x, uint32_t counts,
		uint32_t matrices)
{
	struct probes *p = b->form->probes;
	uint32_t rank, i, output = UINT32_MAX, sums;
	struct probe *more;

	if (!p || b->im->error.code || x == NO_VALUE)
		return;
	for (i = 0; i < p->count; i++)
		output = p->list[i].x == x && p->list[i].matrices == matrices ?
			 p->list[i].output : output;
	more = reallocarray(p->list, p->count + 1, sizeof(*more));
	if (!more) {
		im_fail(b->im, -ENOMEM, "out of memory");
		return;
	}
	p->list = more;
	if (output == UINT32_MAX) {
		output = p->outputs;
		rank = v_rank(b->im, x);
		if (matrices)
			sums = sums_of_experts(b, x, counts);
		else
			sums = v_reduce(b->im, ACCEL_REDUCE_SUM_SQUARE, 0,
					ACCEL_AXIS(rank - 1) - 1, x);
		if (put_output(b, "sums", p->count, sums))
			return;
		p->outputs++;
		if (matrices && put_output(b, "counts", p->count, counts))
			return;
		p->outputs += matrices > 0;
	}
	p->list[p->count++] = (struct probe) { s, x, matrices, output };
}

/* --- entries --------------------------------------------------------------------------------- */

static struct entry *add_entry(struct accel_imatrix *m, const char *name, size_t length,
			       uint32_t matrices, uint32_t columns)
{
	struct entry *list = reallocarray(m->list, m->info.entries + 1, sizeof(*list)), *e;

	if (!list)
		return NULL;
	m->list = list;
	e = &list[m->info.entries];
	*e = (struct entry) { .name = strndup(name, length), .matrices = matrices,
			      .columns = columns };
	e->sums = calloc((size_t)matrices * columns, sizeof(*e->sums));
	e->counts = calloc(matrices, sizeof(*e->counts));
	m->info.entries++;
	return e->name && e->sums && e->counts ? e : NULL;
}

static int add_probed(struct accel_imatrix *m, const char *name, uint32_t probe)
{
	const struct probe *p = &m->probes.list[probe];
	struct entry *e = add_entry(m, name, strlen(name), p->matrices ? p->matrices : 1,
				    p->columns);

	if (!e)
		return -ENOMEM;
	e->probe = probe;
	return 0;
}

/* Those that a folder's matrices become */
static int add_renamed(struct accel_imatrix *m, const struct family_model *model,
		       struct accel_error *error)
{
	struct targets t = { 0 };
	const struct stored *from;
	uint32_t i, k;
	int ret = rename_tensors(model, &t, error);

	for (i = 0; i < t.count && !ret; i++) {
		from = t.list[i].stack ? t.list[i].parts[0] : t.list[i].from;
		for (k = 0; k < m->probes.count && !ret; k++)
			if (from && m->probes.list[k].from == from) {
				ret = add_probed(m, t.list[i].name, k);
				break;
			}
	}
	targets_free(&t);
	return ret;
}

static int add_entries(struct accel_imatrix *m, const struct family_model *model,
		       struct accel_error *error)
{
	uint32_t k;
	int ret = 0;

	if (!model->config.gguf)
		return add_renamed(m, model, error);
	for (k = 0; k < m->probes.count && !ret; k++)
		ret = add_probed(m, m->probes.list[k].from->name, k);
	return ret;
}

/* --- texts ----------------------------------------------------------------------------------- */

static int build(struct accel_imatrix *m, struct accel_ctx *ctx, const struct family_model *model,
		 struct accel_error *error)
{
	const struct family_form form = { .positions = m->info.window, .probes = &m->probes };
	struct accel_value v = ACCEL_VALUE_INIT;
	struct accel_graph *graph;
	uint32_t i;
	int ret = family_graph(model, &form, NULL, error, &graph);

	if (ret)
		return ret;
	for (i = 0; i < m->probes.count && !ret; i++) {
		ret = accel_graph_get_value(graph, m->probes.list[i].x, &v);
		m->probes.list[i].columns = (uint32_t)v.dims[v.rank - 1];
	}
	if (!ret) {
		ret = accel_graph_compile(ctx, graph, NULL, &m->program);
		if (ret)
			accel_ctx_get_error(ctx, error);
	}
	accel_graph_destroy(graph);
	return ret ? ret : accel_state_create(m->program, &m->state);
}

int accel_imatrix_create(struct accel_ctx *ctx, struct accel_model *model,
			 struct accel_error *error, struct accel_imatrix **matrix)
{
	FP_MODE_SCOPE();
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_imatrix *m;
	int ret = 0;

	if (!ctx || !model || !matrix)
		return -EINVAL;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->info.size = sizeof(m->info);
	if (!model->family || model->family->family->build != decoder_build) {
		ret = stored_fail(&e, -EOPNOTSUPP, "not a decoder of a folder or a GGUF file");
	} else {
		m->vocabulary = model->family->shape.vocab;
		m->info.window = model->family->shape.positions < WINDOW ?
				 (uint32_t)model->family->shape.positions : WINDOW;
		ret = build(m, ctx, model->family, &e);
		if (!ret)
			ret = add_entries(m, model->family, &e);
	}
	if (!ret) {
		*matrix = m;
		return 0;
	}
	accel_imatrix_destroy(m);
	if (e.code != ret)
		stored_fail(&e, ret, "%s", errno_text(-ret));
	if (error && error->size >= sizeof(e))
		*error = e;
	return ret;
}

/* What a run gave of an entry; rows are all of the text's, but those of experts. */
static int take(struct accel_imatrix *m, struct entry *e, uint32_t rows)
{
	const struct probe *p = &m->probes.list[e->probe];
	const uint64_t all = (uint64_t)e->matrices * e->columns;
	struct accel_value v = ACCEL_VALUE_INIT;
	const void *sums, *counts = NULL;
	uint64_t i;
	int ret = accel_state_get_output(m->state, p->output, &v, &sums);

	if (!ret && p->matrices)
		ret = accel_state_get_output(m->state, p->output + 1, &v, &counts);
	for (i = 0; i < all && !ret; i++) {
		if (!isfinite(((const float *)sums)[i]))
			return -EDOM;
		e->sums[i] += (double)((const float *)sums)[i];
	}
	for (i = 0; i < e->matrices && !ret; i++)
		e->counts[i] += counts ? ((const int32_t *)counts)[i] : (int32_t)rows;
	return ret;
}

int accel_imatrix_observe(struct accel_imatrix *matrix, const int32_t *tokens, uint32_t count)
{
	FP_MODE_SCOPE();
	int64_t *ids;
	uint32_t i;
	int ret;

	if (!matrix || !matrix->state || !tokens || !count || count > matrix->info.window)
		return -EINVAL;
	for (i = 0; i < count; i++)
		if (tokens[i] < 0 || tokens[i] >= matrix->vocabulary)
			return -EINVAL;
	ret = accel_state_set_input(matrix->state, 0, 2, (const int64_t []) { 1, count }, NULL, 0);
	ids = ret ? NULL : accel_state_get_input(matrix->state, 0, NULL);
	if (!ret && !ids)
		ret = -ENOMEM;
	for (i = 0; i < count && !ret; i++)
		ids[i] = tokens[i];
	if (!ret)
		ret = accel_state_run(matrix->state);
	for (i = 0; i < matrix->info.entries && !ret; i++)
		ret = take(matrix, &matrix->list[i], count);
	if (!ret) {
		matrix->info.windows++;
		matrix->info.tokens += count;
	}
	return ret;
}

/* --- what it is ------------------------------------------------------------------------------ */

void accel_imatrix_destroy(struct accel_imatrix *matrix)
{
	uint32_t i;

	if (!matrix)
		return;
	for (i = 0; i < matrix->info.entries; i++) {
		free(matrix->list[i].name);
		free(matrix->list[i].sums);
		free(matrix->list[i].counts);
	}
	free(matrix->list);
	free(matrix->probes.list);
	accel_state_destroy(matrix->state);
	accel_program_unref(matrix->program);
	free(matrix);
}

int accel_imatrix_get_info(struct accel_imatrix *matrix, struct accel_imatrix_info *info)
{
	if (!matrix || !info || info->size < sizeof(*info))
		return -EINVAL;
	*info = matrix->info;
	return 0;
}

int accel_imatrix_get_entry(struct accel_imatrix *matrix, uint32_t index,
			    struct accel_imatrix_entry *entry)
{
	FP_MODE_SCOPE();
	const struct entry *e;

	if (!matrix || !entry || entry->size < sizeof(*entry))
		return -EINVAL;
	if (index >= matrix->info.entries)
		return -ENOENT;
	e = &matrix->list[index];
	*entry = (struct accel_imatrix_entry) {
		sizeof(*entry), e->matrices, e->columns, 0, e->name, e->sums, e->counts
	};
	return 0;
}

int imatrix_weights(const struct accel_imatrix *m, const char *name, uint32_t matrices,
		    int64_t columns, float **weights, struct accel_error *error)
{
	const struct entry *e = NULL;
	uint32_t i, k;

	*weights = NULL;
	for (i = 0; i < m->info.entries && !e; i++)
		e = strcmp(m->list[i].name, name) ? NULL : &m->list[i];
	if (!e)
		return 0;
	if (e->columns != columns || e->matrices != matrices)
		return stored_fail(error, -EINVAL,
				   "%.100s: %lld columns, %u matrices; the importance matrix has %u and %u",
				   name, (long long)columns, matrices, e->columns, e->matrices);
	*weights = calloc((size_t)matrices * e->columns, sizeof(**weights));
	if (!*weights)
		return stored_fail(error, -ENOMEM, "out of memory");
	/*
	 * In the precision of files, so that one that was saved gives the same blocks. An expert
	 * that no row met has no opinion: all columns count the same.
	 */
	for (i = 0; i < matrices; i++)
		for (k = 0; k < e->columns; k++)
			(*weights)[(uint64_t)i * e->columns + k] = e->counts[i] > 0 ?
				(float)e->sums[(uint64_t)i * e->columns + k] /
				(float)e->counts[i] : 1;
	return 0;
}

/* --- files ----------------------------------------------------------------------------------- */

static void put_info(struct message *m, const struct entry *e, const char *kind, uint32_t columns,
		     uint64_t *offset)
{
	const uint64_t dims[] = { htole64(columns), htole64(e->matrices) }, at = htole64(*offset);
	const uint32_t rank = htole32(2), type = htole32(gguf_number(ACCEL_F32, 0));
	char name[400];

	snprintf(name, sizeof(name), "%.300s%s", e->name, kind);
	gguf_put_string(m, name, strlen(name));
	gguf_put(m, &rank, sizeof(rank));
	gguf_put(m, dims, sizeof(dims));
	gguf_put(m, &type, sizeof(type));
	gguf_put(m, &at, sizeof(at));
	*offset += ((uint64_t)columns * e->matrices * sizeof(float) + ALIGN - 1) / ALIGN * ALIGN;
}

static void put_numbers(struct newfile *file, const double *x, uint64_t count)
{
	uint64_t i;
	float f;

	for (i = 0; i < count; i++) {
		f = (float)x[i];
		newfile_write(file, &f, sizeof(f));
	}
	newfile_align(file, ALIGN);
}

int accel_imatrix_save(struct accel_imatrix *matrix, const char *path, const char *dataset,
		       struct accel_error *error)
{
	FP_MODE_SCOPE();
	struct accel_error e = ACCEL_ERROR_INIT;
	uint64_t entries = 0, offset = 0, head[2];
	const uint32_t version = htole32(3);
	struct message meta = { 0 };
	struct newfile file;
	uint32_t i;
	int ret;

	if (!matrix || !path || !*path)
		return -EINVAL;
	gguf_put_text(&meta, &entries, "general.type", "imatrix");
	gguf_put_texts(&meta, &entries, "imatrix.datasets", dataset ? &dataset : NULL, !!dataset);
	gguf_put_u32(&meta, &entries, "imatrix.chunk_count", matrix->info.windows);
	gguf_put_u32(&meta, &entries, "imatrix.chunk_size", matrix->info.window);
	for (i = 0; i < matrix->info.entries; i++) {
		put_info(&meta, &matrix->list[i], SUMS, matrix->list[i].columns, &offset);
		put_info(&meta, &matrix->list[i], COUNTS, 1, &offset);
	}
	ret = meta.failed ? -ENOMEM : newfile_open(&file, path);
	if (!ret) {
		head[0] = htole64(2 * (uint64_t)matrix->info.entries);
		head[1] = htole64(entries);
		newfile_write(&file, "GGUF", 4);
		newfile_write(&file, &version, sizeof(version));
		newfile_write(&file, head, sizeof(head));
		newfile_write(&file, meta.p, meta.n);
		newfile_align(&file, ALIGN);
		for (i = 0; i < matrix->info.entries; i++) {
			const struct entry *x = &matrix->list[i];

			put_numbers(&file, x->sums, (uint64_t)x->matrices * x->columns);
			put_numbers(&file, x->counts, x->matrices);
		}
		ret = newfile_close(&file, file.error);
	}
	free(meta.p);
	if (ret)
		stored_fail(&e, ret, "%.200s: cannot be written: %s", path, errno_text(-ret));
	if (ret && error && error->size >= sizeof(e))
		*error = e;
	return ret;
}

static bool is_numbers(const struct stored *s)
{
	return s && s->type == ACCEL_F32 && s->rank >= 1 && s->rank <= 2 && s->count &&
	       s->count <= INT32_MAX;
}

/* What comes from anywhere is a sum of squares, or it is refused. */
static bool read_numbers(const struct stored *s, double *to)
{
	uint64_t i;
	float f;

	for (i = 0; i < s->count; i++) {
		memcpy(&f, s->data + i * sizeof(f), sizeof(f));
		if (!isfinite(f) || f < 0)
			return false;
		to[i] = (double)f;
	}
	return true;
}

static int read_entry(struct accel_imatrix *m, const struct store *store, const struct stored *s,
		      struct accel_error *error)
{
	const size_t length = strlen(s->name) - strlen(SUMS);
	const struct stored *counts;
	struct entry *e;
	char name[400];

	snprintf(name, sizeof(name), "%.*s" COUNTS, (int)(length < 300 ? length : 300), s->name);
	counts = stored_find(store, name);
	if (!is_numbers(s) || !is_numbers(counts) || s->count % counts->count ||
	    s->dims[s->rank - 1] != (int64_t)(s->count / counts->count))
		return stored_fail(error, -EBADMSG,
				   "%.100s: not sums of F32 [matrices, columns] with their " COUNTS,
				   s->name);
	e = add_entry(m, s->name, length, (uint32_t)counts->count,
		      (uint32_t)(s->count / counts->count));
	if (!e)
		return stored_fail(error, -ENOMEM, "out of memory");
	if (!read_numbers(s, e->sums) || !read_numbers(counts, e->counts))
		return stored_fail(error, -EBADMSG, "%.100s: numbers that are no sums of squares",
				   e->name);
	return 0;
}

static int read_file(struct accel_imatrix *m, const char *path, const struct store *store,
		     struct accel_error *error)
{
	const struct meta *type = meta_find(store, "general.type");
	const char *text;
	uint64_t length = 0;
	int64_t n;
	uint32_t i;
	size_t k;
	int ret = 0;

	if (!type || !meta_string(type, NULL, &text, &length) || length != 7 ||
	    memcmp(text, "imatrix", 7))
		return stored_fail(error, -EBADMSG, "%.200s: no importance matrix", path);
	if (meta_whole(meta_find(store, "imatrix.chunk_count"), 0, &n) && n >= 0 && n <= UINT32_MAX)
		m->info.windows = (uint32_t)n;
	if (meta_whole(meta_find(store, "imatrix.chunk_size"), 0, &n) && n >= 0 && n <= UINT32_MAX)
		m->info.window = (uint32_t)n;
	m->info.tokens = (uint64_t)m->info.windows * m->info.window;
	for (i = 0; i < store->count && !ret; i++) {
		k = strlen(store->list[i].name);
		if (k > strlen(SUMS) && !strcmp(store->list[i].name + k - strlen(SUMS), SUMS))
			ret = read_entry(m, store, &store->list[i], error);
	}
	if (!ret && !m->info.entries)
		ret = stored_fail(error, -EBADMSG, "%.200s: nothing is in it", path);
	return ret;
}

int accel_imatrix_load(const char *path, struct accel_error *error, struct accel_imatrix **matrix)
{
	FP_MODE_SCOPE();
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_imatrix *m;
	struct store store;
	int ret;

	if (!path || !matrix)
		return -EINVAL;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->info.size = sizeof(m->info);
	ret = stored_open(path, &store, &e);
	if (!ret) {
		ret = read_file(m, path, &store, &e);
		stored_close(&store);
	}
	if (!ret) {
		*matrix = m;
		return 0;
	}
	accel_imatrix_destroy(m);
	if (error && error->size >= sizeof(e))
		*error = e;
	return ret;
}

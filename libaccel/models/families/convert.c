// SPDX-License-Identifier: MIT
/*
 * Models are written: a folder as GGUF and the other way round, or the same kind with fewer bits.
 * Rows are converted one after the other; but for a matrix that is turned, no tensor is in memory
 * as a whole.
 */
#include <accel/embed.h>
#include <accel/quant.h>
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "libaccel/core/errno_text.h"
#include "libaccel/core/fpmode.h"
#include "convert.h"

/* From here on numbers round to the infinity of binary16. */
#define HALF_LIMIT	65520.0f

#define ALIGN	32u

/* --- which tensors, and in which types -------------------------------------------------------- */

/* The same names: of the same kind of file */
static int same_tensors(struct job *j)
{
	const struct store *store = &j->m->store;
	struct target *t;
	uint32_t i;

	for (i = 0; i < store->count; i++) {
		const char *name = store->list[i].name;

		t = targets_add(&j->t, name, &store->list[i], j->error);
		if (!t)
			return -ENOMEM;
		t->small = !ends(name, ".weight") || strstr(name, "norm") || strstr(name, "ln_") ||
			   strstr(name, "position_embd") || strstr(name, "token_types") ||
			   strstr(name, "ffn_gate_inp");
		t->table = !strcmp(name, "token_embd.weight") || !strcmp(name, "output.weight");
	}
	return 0;
}

static bool is_float(uint32_t type)
{
	return type == ACCEL_F32 || type == ACCEL_F16 || type == ACCEL_BF16;
}

/* Tables lose more than other weights: with 4 bits they keep more. */
static uint32_t table_type(const struct job *j)
{
	uint32_t type = j->opts->type;

	if (j->opts->table || !type)
		return j->opts->table;
	return type >= ACCEL_Q4_0 && type <= ACCEL_Q4_K ? ACCEL_Q6_K : type;
}

static void set_type(const struct job *j, struct target *t)
{
	const struct stored *s = t->from;
	const int64_t columns = t->rank ? t->dims[t->rank - 1] : 1;
	uint32_t want = 0, count;

	t->type = s ? s->type : ACCEL_F32;
	t->format = s ? s->format : 0;
	if (!s || (t->type && t->type < ACCEL_Q8_0 && !is_float(t->type)) ||
	    t->type >= ACCEL_DTYPE_COUNT)
		return;
	if (t->rank >= 2 && !t->small)
		want = t->table ? table_type(j) : j->opts->type;
	else if (j->to_gguf && !j->m->config.gguf)
		want = ACCEL_F32;
	if (!want && !j->to_gguf && !is_float(t->type))
		want = ACCEL_F32;
	/* Blocks are along rows, and whole. */
	if (want >= ACCEL_Q8_0 && accel_dtype_block(want, &count) && columns % count)
		want = count == 256 && columns % 32 == 0 ? ACCEL_Q8_0 : ACCEL_F16;
	/* What is turned, or added to, has no blocks before it is written. */
	if (!want && t->type != ACCEL_F32 && !is_float(t->type) &&
	    (t->form == FORM_TURNED || t->add != 0))
		want = ACCEL_F32;
	if (want) {
		t->type = want;
		t->format = 0;
	}
}

static int size_tensor(struct job *j, struct target *t)
{
	uint64_t elements = 1, bytes;
	uint32_t i, count = 1;

	set_type(j, t);
	for (i = 0; i < t->rank; i++)
		elements *= (uint64_t)t->dims[i];
	if (t->type && t->type < ACCEL_DTYPE_COUNT) {
		bytes = accel_dtype_block(t->type, &count);
		if (__builtin_mul_overflow(elements / count, bytes, &t->bytes))
			return stored_fail(j->error, -EFBIG, "%.100s: too large", t->name);
	} else {
		/* As it lies */
		t->bytes = t->from->bytes;
	}
	/* Types that only safetensors has are neither a type nor a format. */
	if ((!t->type && !t->format) ||
	    (j->to_gguf ? gguf_number(t->type, t->format) == GGUF_NO_TYPE || t->rank > 4 :
	     !safetensors_type(t->type)))
		return stored_fail(j->error, -EOPNOTSUPP, "%.100s: its type is not one of %s",
				   t->name, j->to_gguf ? "GGUF" : "safetensors");
	return 0;
}

/* --- elements -------------------------------------------------------------------------------- */

/**
 * struct rows - how a tensor is taken apart
 * @count: rows that are written
 * @columns: elements of each
 * @bytes: of one of @from
 */
struct rows {
	int64_t count;
	int64_t columns;
	uint64_t bytes;
};

int64_t target_row(const struct target *t, int64_t rows, int64_t row)
{
	int64_t size, head, at;

	switch (t->form) {
	case FORM_PAIRS:
		size = rows / t->heads;
		head = row / size;
		at = row % size;
		return head * size + at % 2 * (size / 2) + at / 2;
	case FORM_HALVES:
		size = rows / t->heads;
		head = row / size;
		at = row % size;
		return head * size + at % (size / 2) * 2 + at / (size / 2);
	case FORM_APART:
		size = rows / t->heads / 3;
		head = row / size % t->heads;
		return head * 3 * size + row / size / t->heads * size + row % size;
	case FORM_TOGETHER:
		size = rows / t->heads / 3;
		head = row / size / 3;
		return row / size % 3 * t->heads * size + head * size + row % size;
	default:
		return row;
	}
}

static int read_row(const struct stored *s, const uint8_t *p, int64_t columns, float *to)
{
	return s->type ? accel_blocks_read(s->type, p, (uint64_t)columns, to) :
	       accel_blocks_convert(s->format, p, (uint64_t)columns, ACCEL_F32, to);
}

/* Rows as elements or blocks of the target; what was finite stays finite. */
static int write_row(struct job *j, const struct target *t, const float *row, int64_t columns,
		     const float *weights, uint8_t *out, uint64_t bytes)
{
	int ret = accel_blocks_write(t->type, row, 1, (uint64_t)columns, weights, out);
	int64_t i;

	for (i = 0; t->type == ACCEL_F16 && i < columns && !ret; i++)
		if (isfinite(row[i]) && fabsf(row[i]) >= HALF_LIMIT)
			ret = -ERANGE;
	if (!ret)
		newfile_write(&j->file, out, bytes);
	return ret;
}

/* Matrices that importance matrices tell apart: those of experts */
static int64_t matrices_of(const struct target *t)
{
	return t->rank == 3 && t->dims[0] ? t->dims[0] : 1;
}

static bool is_weighed(const struct job *j, const struct target *t)
{
	return j->opts->imatrix && t->type >= ACCEL_Q8_0 && t->type < ACCEL_DTYPE_COUNT;
}

/* Columns become rows: by a copy in memory */
static int write_turned(struct job *j, const struct target *t, const float *weights)
{
	const int64_t rows = t->dims[0], columns = t->dims[1];
	float *all = reallocarray(NULL, (size_t)rows, (size_t)columns * sizeof(*all));
	float *row = calloc((size_t)columns + 1, sizeof(*row));
	uint8_t *out = malloc(t->bytes / (uint64_t)(rows ? rows : 1) + 1);
	int64_t i, k;
	int ret = all && row && out ? 0 : -ENOMEM;

	if (!ret)
		ret = read_row(t->from, t->from->data, rows * columns, all);
	for (i = 0; i < rows && !ret; i++) {
		for (k = 0; k < columns; k++)
			row[k] = all[k * rows + i];
		ret = write_row(j, t, row, columns, weights, out,
				t->bytes / (uint64_t)rows);
	}
	free(all);
	free(row);
	free(out);
	return ret;
}

static const uint8_t *row_at(const struct target *t, const struct rows *r, int64_t row)
{
	const int64_t each = t->stack ? r->count / t->stack : r->count;
	const struct stored *s = t->stack ? t->parts[row / each] : t->from;

	row = t->stack ? row % each : t->first + target_row(t, r->count, row);
	return s->data + (uint64_t)row * r->bytes;
}

static int write_rows(struct job *j, const struct target *t, const struct rows *r,
		      const float *weights)
{
	const int64_t each = r->count / matrices_of(t);
	const bool same = t->type == t->from->type && t->format == t->from->format && t->add == 0;
	const uint64_t bytes = same ? r->bytes : t->bytes / (uint64_t)r->count;
	float *row = calloc((size_t)r->columns + 1, sizeof(*row));
	uint8_t *out = malloc(bytes + 1);
	int64_t i, k;
	int ret = row && out ? 0 : -ENOMEM;

	for (i = 0; i < r->count && !ret; i++) {
		const uint8_t *from = row_at(t, r, i);

		if (same) {
			newfile_write(&j->file, from, bytes);
			continue;
		}
		ret = read_row(t->from, from, r->columns, row);
		for (k = 0; k < r->columns && t->add != 0; k++)
			row[k] += t->add;
		if (!ret)
			ret = write_row(j, t, row, r->columns, weights ?
					weights + i / each * r->columns : NULL, out, bytes);
	}
	free(row);
	free(out);
	return ret;
}

static int write_tensor(struct job *j, const struct target *t)
{
	struct rows r = { 1, 1, 0 };
	float *weights = NULL;
	uint64_t source;
	uint32_t i;
	int ret;

	if (j->write)
		return j->write(j, t);
	if (t->own) {
		newfile_write(&j->file, t->own, t->bytes);
		return 0;
	}
	for (i = 0; i < t->rank; i++) {
		/* The elements of a bias are rows where they are put in order. */
		if (i + 1 < t->rank || (t->rank == 1 && t->form != FORM_SAME))
			r.count *= t->dims[i];
		else
			r.columns = t->dims[i];
	}
	if (!t->bytes)
		return 0;
	source = t->from->count / (uint64_t)r.columns;
	r.bytes = t->from->bytes / (source ? source : 1);
	if (is_weighed(j, t)) {
		ret = imatrix_weights(j->opts->imatrix, t->name, (uint32_t)matrices_of(t),
				      r.columns, &weights, j->error);
		if (ret)
			return ret;
	}
	ret = t->form == FORM_TURNED ? write_turned(j, t, weights) : write_rows(j, t, &r, weights);
	free(weights);
	return ret ? stored_fail(j->error, ret, ret == -ERANGE ?
				 "%.100s: numbers that are not finite, or too large for its type" :
				 "%.100s: cannot be converted", t->name) : j->file.error;
}

int job_tensors(struct job *j)
{
	uint64_t done = 0, all = 0;
	uint32_t i;
	int ret = 0;

	for (i = 0; i < j->t.count; i++)
		all += j->t.list[i].bytes;
	for (i = 0; i < j->t.count && !ret; i++) {
		if (j->opts->progress)
			ret = j->opts->progress(j->opts->user, done, all);
		if (!ret)
			ret = write_tensor(j, &j->t.list[i]);
		newfile_align(&j->file, j->align);
		done += j->t.list[i].bytes;
	}
	j->written = j->file.bytes;
	return ret;
}

/* Before anything is written: is the importance matrix one of this model? */
static int check_imatrix(struct job *j)
{
	uint32_t i, known = 0;
	float *weights;
	int ret = 0;

	for (i = 0; i < j->t.count && !ret; i++) {
		const struct target *t = &j->t.list[i];

		if (!is_weighed(j, t))
			continue;
		ret = imatrix_weights(j->opts->imatrix, t->name, (uint32_t)matrices_of(t),
				      t->dims[t->rank - 1], &weights, j->error);
		known += !ret && weights;
		free(weights);
	}
	if (!ret && !known && j->opts->imatrix)
		ret = stored_fail(j->error, -EINVAL,
				  "the importance matrix knows none of the tensors that become blocks");
	return ret;
}

int job_begin(struct job *j, const char *path)
{
	int ret = newfile_open(&j->file, path);

	return ret ? stored_fail(j->error, ret, "%.200s: cannot be written: %s", path,
				 errno_text(-ret)) : 0;
}

int job_end(struct job *j, const char *path, int ret)
{
	const int written = j->file.error;

	if (ret && ret != written)
		return newfile_close(&j->file, ret);
	ret = newfile_close(&j->file, written);
	return ret ? stored_fail(j->error, ret, "%.200s: cannot be written: %s", path,
				 errno_text(-ret)) : 0;
}

/* --- GGUF ------------------------------------------------------------------------------------- */

/* What llama.cpp calls files whose weights are mostly of a type */
static uint32_t file_type(const struct job *j)
{
	static const uint8_t numbers[] = {
		[ACCEL_F32] = 0, [ACCEL_F16] = 1, [ACCEL_Q4_0] = 2, [ACCEL_Q4_1] = 3,
		[ACCEL_Q8_0] = 7, [ACCEL_Q4_K] = 14, [ACCEL_Q6_K] = 18, [ACCEL_BF16] = 32
	};
	uint64_t bytes[ACCEL_DTYPE_COUNT] = { 0 };
	uint32_t i, best = ACCEL_F32;

	for (i = 0; i < j->t.count; i++)
		if (j->t.list[i].type < ACCEL_DTYPE_COUNT && j->t.list[i].rank >= 2)
			bytes[j->t.list[i].type] += j->t.list[i].table ? 0 : j->t.list[i].bytes;
	for (i = ACCEL_F32; i < ARRAY_SIZE(numbers); i++)
		best = bytes[i] > bytes[best] ? i : best;
	return numbers[best];
}

/* The tokenizer of the folder, or the one that is given; without one the file has none. */
static int put_tokenizer(struct job *j, struct message *meta, uint64_t *entries)
{
	const char *path = j->opts->tokenizer ? j->opts->tokenizer : j->m->path;
	const struct config *c = &j->m->config;
	struct accel_tokenizer *t = NULL;
	struct accel_error e = ACCEL_ERROR_INIT;
	struct tok_arrays a;
	int64_t id;
	int ret = accel_tokenizer_open(path, &e, &t);

	if (ret == -ENOENT && !j->opts->tokenizer) {
		gguf_put_tokenizer(meta, entries, NULL, 0);
		return 0;
	}
	if (!ret) {
		ret = tok_to_arrays(t, &a, &e);
		if (!ret) {
			id = config_whole(c, "bos_token_id", -1);
			if (a.bos == TOK_NONE && id >= 0 && id < a.count)
				a.bos = (uint32_t)id;
			id = config_whole(c, "eos_token_id", -1);
			if (id < 0)
				id = config_number(c, "eos_token_id", 0, -1);
			if (a.eos == TOK_NONE && id >= 0 && id < a.count)
				a.eos = (uint32_t)id;
			gguf_put_tokenizer(meta, entries, &a, (uint32_t)j->m->shape.vocab);
			tok_arrays_free(&a);
		}
		accel_tokenizer_close(t);
	}
	if (ret)
		*j->error = e;
	return ret;
}

/* How rows become vectors, if the folder says it */
static int put_pooling(struct job *j, struct message *meta, uint64_t *entries)
{
	const char *arch = j->m->family->gguf ? j->m->family->gguf : "llama";
	uint32_t pooling = ACCEL_POOL_DEFAULT;
	int ret = family_pooling(j->m, &pooling, j->error);
	char key[96];

	if (ret || pooling == ACCEL_POOL_DEFAULT)
		return ret;
	if (!family_pooling_gguf(pooling))
		return stored_fail(j->error, -EOPNOTSUPP,
				   "1_Pooling/config.json: the largest has no name in GGUF");
	snprintf(key, sizeof(key), "%s.pooling_type", arch);
	gguf_put_u32(meta, entries, key, family_pooling_gguf(pooling));
	return 0;
}

/* The metadata that there are, with the type of the file put right */
static int copy_meta(struct job *j, struct message *meta, uint64_t *entries)
{
	const struct store *store = &j->m->store;
	const uint8_t *p = store->maps->data + GGUF_HEAD;
	const struct meta *type = meta_find(store, "general.file_type");
	const struct meta *align = meta_find(store, "general.alignment");
	uint32_t number = htole32(file_type(j));
	int64_t n;

	*entries = store->meta_count;
	gguf_put(meta, p, store->meta_bytes);
	if (type && type->type == GGUF_U32 && !meta->failed && (j->opts->type || j->opts->table))
		memcpy(meta->p + (type->data - p), &number, sizeof(number));
	if (align && meta_whole(align, 0, &n))
		j->align = (uint64_t)n;
	return 0;
}

static void put_infos(struct job *j, struct message *m)
{
	uint64_t offset = 0, x;
	uint32_t i, k, y;

	for (i = 0; i < j->t.count; i++) {
		const struct target *t = &j->t.list[i];

		gguf_put_string(m, t->name, strlen(t->name));
		y = htole32(t->rank);
		gguf_put(m, &y, sizeof(y));
		for (k = t->rank; k-- > 0;) {
			x = htole64((uint64_t)t->dims[k]);
			gguf_put(m, &x, sizeof(x));
		}
		y = htole32(gguf_number(t->type, t->format));
		gguf_put(m, &y, sizeof(y));
		x = htole64(offset);
		gguf_put(m, &x, sizeof(x));
		offset += (t->bytes + j->align - 1) / j->align * j->align;
	}
}

static int write_gguf(struct job *j)
{
	struct message meta = { 0 };
	uint64_t entries = 0, head[2];
	const uint32_t version = htole32(3);
	int ret;

	j->align = ALIGN;
	if (j->m->config.gguf) {
		ret = copy_meta(j, &meta, &entries);
	} else {
		ret = describe_gguf(j->m, &meta, &entries, j->error);
		if (!ret)
			ret = put_pooling(j, &meta, &entries);
		gguf_put_u32(&meta, &entries, "general.file_type", file_type(j));
		gguf_put_u32(&meta, &entries, "general.quantization_version", 2);
		if (!ret)
			ret = put_tokenizer(j, &meta, &entries);
	}
	put_infos(j, &meta);
	if (!ret && meta.failed)
		ret = stored_fail(j->error, -ENOMEM, "out of memory");
	if (!ret)
		ret = job_begin(j, j->out);
	if (!ret) {
		head[0] = htole64(j->t.count);
		head[1] = htole64(entries);
		newfile_write(&j->file, "GGUF", 4);
		newfile_write(&j->file, &version, sizeof(version));
		newfile_write(&j->file, head, sizeof(head));
		newfile_write(&j->file, meta.p, meta.n);
		newfile_align(&j->file, j->align);
		ret = job_end(j, j->out, job_tensors(j));
	}
	free(meta.p);
	return ret;
}

/* --- all of it ------------------------------------------------------------------------------- */

static bool good_type(uint32_t type)
{
	return !type || is_float(type) || (type >= ACCEL_Q8_0 && type <= ACCEL_Q6_K);
}

static int check(const struct job *j)
{
	const struct accel_model_convert_opts *o = j->opts;

	if (!good_type(o->type) || !good_type(o->table) || o->flags)
		return stored_fail(j->error, -EINVAL, "a type that weights are not written in");
	if (!j->to_gguf && (o->type >= ACCEL_Q8_0 || o->table >= ACCEL_Q8_0))
		return stored_fail(j->error, -EINVAL,
				   "blocks are in files of GGUF, whose names end in .gguf");
	if (ends(j->out, ".onnx") || ends(j->out, ".safetensors"))
		return stored_fail(j->error, -EINVAL,
				   "a folder is written, or a file whose name ends in .gguf: %.100s is neither",
				   j->out);
	if (j->to_gguf && !j->m->config.gguf && j->m->family->build != decoder_build &&
	    !j->m->family->gguf)
		return stored_fail(j->error, -EOPNOTSUPP,
				   "%.60s: GGUF files are of decoders and of BERT",
				   j->m->config.type);
	/* Decoders have it. */
	return j->to_gguf != !!j->m->config.gguf && j->m->family->build == encoder_build ?
	       encoder_shape(j->m, &j->m->shape, j->error) : 0;
}

/* What is missing would be missing in the other kind of file, too. */
static int check_complete(struct job *j)
{
	const struct family_form form = { .positions = 16 };
	struct accel_graph *graph;
	int ret;

	if (j->to_gguf == !!j->m->config.gguf)
		return 0;
	ret = family_graph(j->m, &form, NULL, j->error, &graph);
	if (!ret)
		accel_graph_destroy(graph);
	return ret;
}

int accel_model_convert(const char *path, const struct accel_model_convert_opts *opts,
			const char *out, struct accel_error *error)
{
	FP_MODE_SCOPE();
	struct accel_model_convert_opts o = ACCEL_MODEL_CONVERT_OPTS_INIT;
	struct accel_error e = ACCEL_ERROR_INIT;
	struct job j = { .opts = &o, .out = out, .error = &e };
	uint32_t i;
	int ret;

	/* Those who know of no model to write onto have a smaller structure. */
	if (!path || !out || !*out ||
	    (opts && opts->size < offsetof(struct accel_model_convert_opts, onto))) {
		ret = stored_fail(&e, -EINVAL, out && !*out ? "the output has no name" :
				  "path, out or opts.size is missing");
		goto tell;
	}
	if (opts)
		memcpy(&o, opts, opts->size < sizeof(o) ? opts->size : sizeof(o));
	if (o.onto)
		return weights_onto(path, &o, out, error);
	if (!family_is(path))
		return weights_save(path, &o, out, error);
	j.to_gguf = ends(out, ".gguf");
	ret = family_open(path, &j.m, &e);
	if (!ret)
		ret = check(&j);
	if (!ret)
		ret = j.to_gguf == !!j.m->config.gguf ? same_tensors(&j) :
		      rename_tensors(j.m, &j.t, &e);
	for (i = 0; i < j.t.count && !ret; i++)
		ret = size_tensor(&j, &j.t.list[i]);
	if (!ret)
		ret = check_imatrix(&j);
	if (!ret)
		ret = check_complete(&j);
	if (!ret)
		ret = j.to_gguf ? write_gguf(&j) : job_folder(&j);
	if (!ret && o.bytes) {
		o.bytes[0] = j.m->store.file_bytes;
		o.bytes[1] = j.written;
	}
	targets_free(&j.t);
	family_close(j.m);
tell:
	if (ret && error && error->size >= sizeof(e))
		*error = e;
	return ret;
}

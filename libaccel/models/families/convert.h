/* SPDX-License-Identifier: MIT */
/*
 * Models are written as they are, or as the other of the two kinds of files has them.
 */
#ifndef LIBACCEL_MODELS_CONVERT_H
#define LIBACCEL_MODELS_CONVERT_H

#include "../newfile.h"
#include "../onnx/wire.h"
#include "../tokenizers/tokenizers.h"
#include "decoder.h"

/**
 * enum target_form - where the rows of a tensor come from
 * @FORM_SAME: they are those of the other
 * @FORM_PAIRS: within a head, from halves one behind the other to pairs beside each other
 * @FORM_HALVES: the other way round
 * @FORM_APART: from [heads, 3, size] to [3, heads, size]
 * @FORM_TOGETHER: the other way round
 * @FORM_TURNED: its columns are
 */
enum target_form {
	FORM_SAME, FORM_PAIRS, FORM_HALVES, FORM_APART, FORM_TOGETHER, FORM_TURNED
};

/**
 * struct target - a tensor that is written
 * @name: name
 * @from: what it is made of
 * @stack: of so many, one behind the other, in @parts; 0: of @from alone
 * @parts: these
 * @first: row of @from that it begins with
 * @form: &enum target_form
 * @heads: of forms that have them
 * @add: is added to all elements
 * @own: its elements, made here, instead of @from
 * @rank: dimensions
 * @dims: their sizes
 * @type: &enum accel_dtype, or as of &struct stored
 * @format: as of &struct stored
 * @table: of tokens, or to them
 * @small: what is never in blocks
 * @bytes: of all elements
 */
struct target {
	char *name;
	const struct stored *from;
	const struct stored **parts;
	uint32_t stack;
	int64_t first;
	enum target_form form;
	int64_t heads;
	float add;
	float *own;
	uint32_t rank;
	int64_t dims[ACCEL_GRAPH_MAX_RANK];
	uint32_t type;
	uint32_t format;
	bool table;
	bool small;
	uint64_t bytes;
};

/**
 * struct targets - all of them
 * @list: tensors
 * @count: their number
 * @room: of @list
 */
struct targets {
	struct target *list;
	uint32_t count;
	uint32_t room;
};

/* Another, with the dimensions of @from if it is not NULL; NULL: no memory, which is told */
struct target *targets_add(struct targets *t, const char *name, const struct stored *from,
			   struct accel_error *error);

/**
 * struct job - a model that is written
 * @m: model
 * @opts: how
 * @out: where
 * @to_gguf: as a file of GGUF, else as a folder
 * @t: its tensors
 * @align: of tensors in the file
 * @file: that is written
 * @written: bytes of the file with the tensors
 * @write: writes the elements of a tensor, NULL: they are made of its @from
 * @source: of @write
 * @error: what is wrong
 */
struct job {
	struct family_model *m;
	const struct accel_model_convert_opts *opts;
	const char *out;
	bool to_gguf;
	struct targets t;
	uint64_t align;
	struct newfile file;
	uint64_t written;
	int (*write)(struct job *j, const struct target *t);
	void *source;
	struct accel_error *error;
};

static inline bool ends(const char *name, const char *with)
{
	const size_t n = strlen(name), k = strlen(with);

	return n >= k && !strcmp(name + n - k, with);
}

/* --- convert.c, convert_folder.c ------------------------------------------------------------ */

/* A file is begun, and gets its name at the end if all of it was written; what is wrong is told. */
int job_begin(struct job *j, const char *path);
int job_end(struct job *j, const char *path, int ret);

/* The elements of all tensors, into the file */
int job_tensors(struct job *j);

/* A file of all tensors, with metadata, which go */
int job_safetensors(struct job *j, const char *path, struct json_object *meta);

/* All of a folder, or nothing */
int job_folder(struct job *j);

/* --- rename.c ------------------------------------------------------------------------------- */

/**
 * rename_tensors - the tensors of a model as the other kind of file has them
 * @m: decoder of a folder, for GGUF, or the other way round
 * @t: out
 * @error: out: what is wrong, when it fails
 *
 * Return: 0; -EOPNOTSUPP a tensor that has no name there; -EBADMSG; -ENOMEM.
 */
int rename_tensors(const struct family_model *m, struct targets *t, struct accel_error *error);

/**
 * rename_weight - what a folder calls a weight of a GGUF file, and what GGUF makes of its rows
 * @m: decoder of a GGUF file
 * @name: of the weight, without ".weight"
 * @s: its shape
 * @to: out: name, without ".weight"
 * @size: of @to
 * @t: out: form and heads, for target_row()
 *
 * Return: true; false: it has no name in a folder.
 */
bool rename_weight(const struct family_model *m, const char *name, const struct stored *s, char *to,
		   size_t size, struct target *t);

/** target_row - of @rows rows the one of the source that becomes row @row of a target */
int64_t target_row(const struct target *t, int64_t rows, int64_t row);

void targets_free(struct targets *t);

/* --- imatrix.c ------------------------------------------------------------------------------ */

/**
 * imatrix_weights - how much the columns of a tensor count
 * @m: importance matrix
 * @name: tensor, as GGUF has it
 * @matrices: 1, or those of experts
 * @columns: of each
 * @weights: out: [matrices, columns], to be given to free(); NULL: nothing is known of the tensor
 * @error: out: what is wrong, when it fails
 *
 * Return: 0; -EINVAL it has other columns; -ENOMEM.
 */
int imatrix_weights(const struct accel_imatrix *m, const char *name, uint32_t matrices,
		    int64_t columns, float **weights, struct accel_error *error);

/* --- describe.c ----------------------------------------------------------------------------- */

/* What LLaMA 3 divides the angle of a pair by */
double describe_divisor(double base, int64_t pair, int64_t turn, double factor, double low,
			double high, double trained);

/**
 * describe_gguf - what config.json says as metadata
 * @m: decoder of a folder
 * @meta: entries are written behind what is there
 * @entries: their number is added
 * @error: out: what is wrong, when it fails
 *
 * Return: 0; -EOPNOTSUPP something that GGUF has no words for.
 */
int describe_gguf(const struct family_model *m, struct message *meta, uint64_t *entries,
		  struct accel_error *error);

/**
 * describe_json - what metadata say as config.json
 * @m: decoder of a GGUF file
 * @doc: out: to be given to json_object_put()
 * @error: out: what is wrong, when it fails
 *
 * Return: 0; -EOPNOTSUPP; -ENOMEM.
 */
int describe_json(const struct family_model *m, struct json_object **doc,
		  struct accel_error *error);

/* --- ../onnx/weights.c ---------------------------------------------------------------------- */

/**
 * weights_save - write the initializers of an ONNX file as safetensors
 * @path: file
 * @o: options, checked
 * @out: where
 * @error: out: what is wrong, when it fails, or NULL
 *
 * Return: as accel_model_convert().
 */
int weights_save(const char *path, const struct accel_model_convert_opts *o, const char *out,
		 struct accel_error *error);

/* weights_onto - the same for tensors of @path that replace initializers of @o->onto */
int weights_onto(const char *path, const struct accel_model_convert_opts *o, const char *out,
		 struct accel_error *error);

/* --- ../gguf/write.c ------------------------------------------------------------------------ */

void gguf_put(struct message *m, const void *p, size_t n);
void gguf_put_string(struct message *m, const char *text, size_t n);
void gguf_put_text(struct message *m, uint64_t *entries, const char *key, const char *value);
/* An array of strings */
void gguf_put_texts(struct message *m, uint64_t *entries, const char *key, const char *const *list,
		    uint64_t count);
void gguf_put_u32(struct message *m, uint64_t *entries, const char *key, uint32_t value);
void gguf_put_f32(struct message *m, uint64_t *entries, const char *key, float value);
void gguf_put_bool(struct message *m, uint64_t *entries, const char *key, bool value);

/* A tokenizer, filled up to @rows tokens; NULL: there is none, which is said */
void gguf_put_tokenizer(struct message *m, uint64_t *entries, const struct tok_arrays *a,
			uint32_t rows);

#endif /* LIBACCEL_MODELS_CONVERT_H */

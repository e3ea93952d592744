/* SPDX-License-Identifier: MIT */
/*
 * Families of models: graphs of weights that were trained elsewhere, from a folder with a
 * config.json or from a GGUF file.
 *
 *	config.c	what the model says of itself, by one name for each thing
 *	build.c		parts that all have: products, norms, embeddings, rotary tables, attention
 *	family.c	the table of families; models of folders and GGUF files
 *	decoder.c	GPT-2, GPT-NeoX, LLaMA and those like it
 *	adapter.c	what adapters add to products
 *	experts.c	a feed-forward network that is many, of which tokens choose some
 *	encoder.c	BERT and those like it, ViT, CLIP's vision
 *	pooling.c	how rows become one vector
 *	t5.c resnet.c whisper.c	these
 *	convert.c	models are written: rename.c which tensors, describe.c what is said of them,
 *			convert_folder.c as folders
 *	imatrix.c	which columns of matrices count
 *
 * A family is built by a function that adds nodes to the import's graph; parts are those of
 * ../onnx. After the first error, which the import keeps, they do nothing.
 */
#ifndef LIBACCEL_MODELS_FAMILIES_H
#define LIBACCEL_MODELS_FAMILIES_H

#include <json-c/json.h>
#include <stdio.h>
#include <accel/generate.h>
#include "../onnx/onnx.h"
#include "../stored.h"

/**
 * struct config - what a model says of itself
 * @json: config.json, or NULL
 * @gguf: a file with metadata, or NULL
 * @type: model_type, or general.architecture
 */
struct config {
	struct json_object *json;
	const struct store *gguf;
	char type[64];
};

/**
 * struct probe - what a matrix is multiplied by
 * @from: matrix
 * @x: value
 * @matrices: of experts their number, whose rows lie one behind the other; 0: of none
 * @output: of the graph: sums of the squares of @x, [columns] or [matrices, columns]; of experts
 *	the one behind it their numbers of rows
 * @columns: of @x
 */
struct probe {
	const struct stored *from;
	uint32_t x;
	uint32_t matrices;
	uint32_t output;
	uint32_t columns;
};

/**
 * struct probes - those of a graph
 * @list: probes, to be given to free()
 * @count: their number
 * @outputs: that they have
 */
struct probes {
	struct probe *list;
	uint32_t count;
	uint32_t outputs;
};

/**
 * struct family_form - the graph that is wanted
 * @positions: most positions that rotary tables have, 0: as many as the model has, at most 131072
 * @decoder: inputs of the graph: a decoder over a cache of pages; NULL: it gets inputs of its
 *	own, and attends to all rows of a run
 * @encoder: of a model with an encoder that alone; it gives the keys and values of its rows for
 *	each layer of the decoder, "cross.k.0" and so on, which the decoder over a cache takes
 * @hidden: of a model of text the hidden states of all rows, "hidden", and nothing else
 * @probes: of a decoder what its matrices are multiplied by, and nothing else; NULL: nothing
 */
struct family_form {
	uint32_t positions;
	const struct accel_decoder *decoder;
	bool encoder;
	bool hidden;
	struct probes *probes;
};

#define FAMILY_FORM_INIT	{ 0, NULL, false, false, NULL }

/**
 * struct family_shape - the numbers of a decoder, or of an encoder
 * @hidden: elements of a row
 * @layers: layers
 * @heads: heads of queries
 * @kv_heads: heads of keys and values
 * @head_dim: elements of a head
 * @inner: elements of a row within the feed-forward network
 * @vocab: tokens
 * @positions: positions that it was made for
 */
struct family_shape {
	int64_t hidden;
	int64_t layers;
	int64_t heads;
	int64_t kv_heads;
	int64_t head_dim;
	int64_t inner;
	int64_t vocab;
	int64_t positions;
};

/**
 * struct adapter - a folder with matrices of low rank for weights of a model
 * @path: of it
 * @store: its matrices
 * @scale: what they add is multiplied by it
 * @rank: of all of them
 */
struct adapter {
	char *path;
	struct store store;
	double scale;
	int64_t rank;
};

/**
 * struct family_model - a folder or a GGUF file that was opened
 * @path: of it
 * @family: what it is
 * @config: what it says of itself
 * @store: its weights
 * @shape: of its decoder, if it is one or has one that runs over a cache
 * @adapters: that it is opened with
 * @adapter_count: how many
 * @bytes: matrices of products become bytes, with a scale for each 32 of a row
 */
struct family_model {
	char *path;
	const struct family *family;
	struct config config;
	struct store store;
	struct family_shape shape;
	struct adapter *adapters;
	uint32_t adapter_count;
	bool bytes;
};

/**
 * struct family_build - a graph in work
 * @im: import, with the graph
 * @model: what it is made of
 * @form: what is wanted
 * @values: for each stored tensor its constant, or NO_VALUE
 * @adapted: for each tensor of all adapters, one after the other: it is in the graph
 */
struct family_build {
	struct import *im;
	const struct family_model *model;
	const struct family_form *form;
	uint32_t *values;
	bool *adapted;
};

/**
 * struct family - a row of the table
 * @type: model_type of config.json
 * @gguf: general.architecture, or NULL
 * @traits: of what @build is for
 * @build: adds inputs, nodes and outputs
 */
struct family {
	const char *type;
	const char *gguf;
	const void *traits;
	int (*build)(struct family_build *b);
};

/* --- family.c ------------------------------------------------------------------------------ */

/**
 * family_open - open a folder or a GGUF file
 * @path: folder with config.json, and model.safetensors or an index of several; or a file
 * @model: out; family_close() it
 * @error: out: what is wrong, when it fails
 *
 * Return: 0; -EOPNOTSUPP a family that is not known; as stored_open().
 */
int family_open(const char *path, struct family_model **model, struct accel_error *error);
void family_close(struct family_model *model);

/** family_is - is it for family_open(): a folder, or a file of GGUF? */
bool family_is(const char *path);

/** family_scan - accel_model_scan() of a folder or a GGUF file */
int family_scan(const char *path, int (*fn)(void *user, const struct accel_model_item *item),
		void *user);

/**
 * family_build - add a model to a graph
 * @im: import whose model has a graph
 * @model: model; the graph keeps what it needs of it
 * @form: what is wanted
 *
 * Return: 0, or the error that @im has.
 */
int family_build(struct import *im, const struct family_model *model,
		 const struct family_form *form);

/**
 * family_page_size - tokens of a page: 16, or 8 to 15 if only those make up all positions
 * @s: shape of a decoder
 */
uint32_t family_page_size(const struct family_shape *s);

/**
 * family_graph - another graph than the one of accel_model_graph()
 * @family: model
 * @form: what is wanted; NULL: the decoder over a cache
 * @opts: of the cache, or NULL, as accel_model_decoder() has them
 * @error: filled if it fails, may be NULL
 * @graph: out
 *
 * Return: as accel_model_decoder().
 */
int family_graph(const struct family_model *family, const struct family_form *form,
		 const struct accel_decoder_opts *opts, struct accel_error *error,
		 struct accel_graph **graph);

/* --- config.c ------------------------------------------------------------------------------ */

/** config_open - read a file of a folder, "config.json" and those like it */
int config_open(struct config *c, const char *folder, const char *name, struct accel_error *error);
void config_close(struct config *c);

/**
 * struct config_alias - a name
 * @name: by which it is asked for
 * @others: what else config.json may call it
 * @gguf: key behind the architecture's name, or NULL
 */
struct config_alias {
	const char *name;
	const char *others[4];
	const char *gguf;
};

const struct config_alias *config_alias(const char *name);
const struct config_alias *config_aliases(uint32_t *count);

/** config_whole - a whole number by its name in config.json, or as GGUF has it */
int64_t config_whole(const struct config *c, const char *name, int64_t otherwise);
double config_real(const struct config *c, const char *name, double otherwise);
bool config_bool(const struct config *c, const char *name, bool otherwise);

/** config_text - a string, cut to @size; "" if there is none */
const char *config_text(const struct config *c, const char *name, char *text, size_t size);

/** config_has - whether something is said by a name, of any type */
bool config_has(const struct config *c, const char *name);

/** config_item - a string of a list, NULL: there is none */
const char *config_item(const struct config *c, const char *name, uint32_t index);

/** config_fraction - a number of a list, NAN: there is none */
double config_fraction(const struct config *c, const char *name, uint32_t index);

/** config_number - a whole number of a list */
int64_t config_number(const struct config *c, const char *name, uint32_t index, int64_t otherwise);

/* --- build.c -------------------------------------------------------------------------------- */

/* A number that has to be there, and be from 1 to @max; 0: it is not, which the import has */
int64_t part_size(struct family_build *b, const char *name, int64_t otherwise, int64_t max);

/* The activation that a name stands for; those that are none of &enum accel_act: PART_QUICK_GELU */
#define PART_QUICK_GELU	100u
uint32_t part_act(struct family_build *b, const char *name);
uint32_t part_activate(struct family_build *b, uint32_t act, uint32_t a);

/**
 * part_name - name of a tensor, and of the node that is next
 * @b: build
 * @layers: of what is in a layer; NULL: in none
 * @layer: its number
 * @name: of the tensor, without ".weight" or ".bias"
 *
 * Return: the full name, until the next call.
 */
const char *part_name(struct family_build *b, const char *layers, uint32_t layer,
		      const char *name);

/* The tensor NAME.KIND, where a leading "model." or the like may be missing; NULL: none */
const struct stored *part_find(struct family_build *b, const char *name, const char *kind);

/* The same as a value in F32; has to be there, or else NO_VALUE if it may be missing */
uint32_t part_tensor(struct family_build *b, const char *name, const char *kind);
uint32_t part_maybe(struct family_build *b, const char *name, const char *kind);
/* as it lies */
uint32_t part_raw(struct family_build *b, const struct stored *s);

/* act(x NAME.weight + NAME.bias + residual); @columns: the weight is [in, out] */
uint32_t part_linear(struct family_build *b, const char *name, uint32_t x, uint32_t act,
		     uint32_t residual, bool columns);
uint32_t part_product(struct family_build *b, uint32_t x, uint32_t weight, uint32_t bias,
		      uint32_t act, uint32_t residual, bool columns);

/* Norms along the last dimension; @more: is added to the factors */
uint32_t part_norm(struct family_build *b, const char *name, uint32_t x, bool layer, float eps,
		   double more);

/* Rows of a table, F32, by indices in S32 */
uint32_t part_rows(struct family_build *b, const char *name, uint32_t indices);

uint32_t part_input(struct family_build *b, const char *name, uint32_t type, uint32_t rank,
		    const int64_t *dims);
int64_t part_symbol(struct family_build *b, const char *name, int64_t max);
int part_output(struct family_build *b, const char *name, uint32_t value);
uint32_t part_s32(struct family_build *b, uint32_t value);
/* A constant of numbers, which are copied */
uint32_t part_constant(struct family_build *b, uint32_t type, uint32_t rank, const int64_t *dims,
		       const void *data);

/**
 * struct rotary - tables of a model, or nothing
 * @cosines: [positions, dim / 2]; NO_VALUE: there is no rotary embedding
 * @sines: the same
 * @interleaved: pairs are neighbours
 * @shorter: rows before those of texts that are longer than this, which are for the others; 0: all
 *	texts have the same
 */
struct rotary {
	uint32_t cosines;
	uint32_t sines;
	bool interleaved;
	int64_t shorter;
};

void part_rotary(struct family_build *b, int64_t head_dim, int64_t positions, struct rotary *r);
uint32_t part_rotate(struct family_build *b, const struct rotary *r, uint32_t a);

/* Attention between rows of the graph; @mask: as the operation has it, or NO_VALUE */
uint32_t part_attend(struct family_build *b, const struct accel_attention_desc *desc, uint32_t q,
		     uint32_t k, uint32_t v, uint32_t mask);

/* 1 where [batch, rows] of S64 is not 0, U8 [batch, 1, 1, rows] */
uint32_t part_mask(struct family_build *b, uint32_t mask);

/* --- adapter.c ------------------------------------------------------------------------------- */

/**
 * adapters_open - open the adapters of a model
 * @m: decoder, which keeps them
 * @loras: what was asked for, checked
 * @count: how many
 * @error: out: what is wrong, when it fails
 *
 * Return: 0; -EOPNOTSUPP no decoder, or a kind that is not known; -EBADMSG; as stored_open().
 */
int adapters_open(struct family_model *m, const struct accel_lora *loras, uint32_t count,
		  struct accel_error *error);
void adapters_close(struct family_model *m);

/** adapters_count - tensors of all adapters */
uint32_t adapters_count(const struct family_model *m);

/** adapters_check - is all in the graph that adapters have? If not, the import has the error. */
int adapters_check(struct family_build *b);

/**
 * part_adapt - what adapters add to a product
 * @b: build
 * @name: of its weight, without ".weight"
 * @s: shape of the weight
 * @columns: the weight is [in, out]
 * @x: what it is multiplied by
 * @residual: what else is added, or NO_VALUE
 *
 * Return: @residual and what adapters add; @residual if they have nothing for it.
 */
uint32_t part_adapt(struct family_build *b, const char *name, const struct stored *s, bool columns,
		    uint32_t x, uint32_t residual);

/**
 * part_adapt_experts - what adapters add to products of experts
 * @b: build
 * @name: of their weights, without ".weight"; "%u" is the expert, where they lie apart
 * @s: shape of one, or of all together
 * @x: rows, in the order of experts
 * @counts: rows of each, S32
 * @count: experts
 * @y: their products
 *
 * Return: @y and what adapters add; experts that they have nothing for get nothing.
 */
uint32_t part_adapt_experts(struct family_build *b, const char *name, const struct stored *s,
			    uint32_t x, uint32_t counts, int64_t count, uint32_t y);

/* --- imatrix.c ------------------------------------------------------------------------------ */

/* If the form asks for it: x, of experts with the rows of each, S32 [matrices] */
void part_probe(struct family_build *b, const struct stored *s, uint32_t x, uint32_t counts,
		uint32_t matrices);

/* --- pooling.c ------------------------------------------------------------------------------ */

/**
 * family_pooling - how the rows of a text become one vector, by the model's files
 * @m: model
 * @pooling: out: &enum accel_pooling; it stays as it is where they do not say it
 * @error: out: what is wrong, when it fails
 *
 * Return: 0; -EOPNOTSUPP in a way that is not known, or in several; -EBADMSG.
 */
int family_pooling(const struct family_model *m, uint32_t *pooling, struct accel_error *error);

/** family_pooling_gguf - the same as GGUF's number for it, 0: it has none */
uint32_t family_pooling_gguf(uint32_t pooling);

/** family_pooling_json - the same as a folder's 1_Pooling/config.json; NULL: no memory */
struct json_object *family_pooling_json(uint32_t pooling, int64_t width);

/* --- the families --------------------------------------------------------------------------- */

int decoder_build(struct family_build *b);
int decoder_shape(const struct family_model *model, struct family_shape *shape,
		  struct accel_error *error);
int encoder_build(struct family_build *b);
/* Do the metadata of a GGUF file fit its tensors? */
int encoder_check(const struct family_model *model, struct accel_error *error);
/* Of an encoder of text, as far as its rows are concerned; -EOPNOTSUPP: of pictures */
int encoder_shape(const struct family_model *model, struct family_shape *shape,
		  struct accel_error *error);
int t5_build(struct family_build *b);
int t5_shape(const struct family_model *model, struct family_shape *shape,
	     struct accel_error *error);
int resnet_build(struct family_build *b);
int whisper_build(struct family_build *b);
int whisper_shape(const struct family_model *model, struct family_shape *shape,
		  struct accel_error *error);
extern const struct decoder_traits decoder_gpt2, decoder_neox, decoder_llama, decoder_like_llama,
	decoder_gemma2;
extern const struct encoder_traits encoder_bert, encoder_roberta, encoder_distilbert,
	encoder_vit, encoder_clip;

/* Rows in the order of experts, by @w, [experts, out, in]; @counts: rows of each */
uint32_t part_grouped(struct family_build *b, uint32_t x, uint32_t w, uint32_t counts);

/* The network of experts of a layer, from [batch, rows, hidden] */
uint32_t experts_of(struct family_build *b, const char *layers, uint32_t layer,
		    const char *const names[4], uint32_t act, uint32_t x);

#endif /* LIBACCEL_MODELS_FAMILIES_H */

/* SPDX-License-Identifier: MIT */
/*
 * Models: graphs from files. In a library of its own, libaccel-models.
 */
#ifndef ACCEL_MODEL_H
#define ACCEL_MODEL_H

#include <stdint.h>
#include <accel/graph.h>
#include <accel/operator.h>

#if defined(__cplusplus)
extern "C" {
#endif

struct accel_model;

/**
 * accel_model_open - read a model
 * @path: ONNX file, GGUF file, or a folder with config.json and safetensors: model.safetensors,
 *	or those that model.safetensors.index.json names; data outside of a file is looked for
 *	beside it
 * @error: filled if it fails, may be NULL
 * @model: out
 *
 * The file is mapped, and constants are used where they lie in it: it must not change
 * while the model, or a program of it, is there.
 *
 * Return: 0; -EBADMSG not a model, or one that contradicts itself; -EOPNOTSUPP operators, families,
 * types or versions that are not known: all operators that are not are named at once;
 * -EPERM data outside of the model's folder; errors of open(); -ENOMEM.
 */
ACCEL_API int accel_model_open(const char *path, struct accel_error *error,
			       struct accel_model **model);

/** ACCEL_LORAS_MAX: most adapters of a model */
#define ACCEL_LORAS_MAX	16

/**
 * struct accel_lora - an adapter: to what a weight gives, one of low rank adds
 *
 * Of a weight W that it has matrices A and B for, y = W x becomes
 * y = W x + scale * (lora_alpha / r) * B (A x) (E. Hu and others, arXiv:2106.09685), or
 * lora_alpha / sqrt(r) where its configuration says use_rslora. W is neither changed nor copied.
 */
struct accel_lora {
	/** @size: sizeof(struct accel_lora) */
	uint32_t size;
	/** @scale: what it adds is multiplied by it, beside what its files say; finite */
	float scale;
	/** @path: folder with adapter_config.json and adapter_model.safetensors, as PEFT has it */
	const char *path;
};

/** ACCEL_LORA_INIT: an adapter as it is, of a folder */
#define ACCEL_LORA_INIT(path)	{ sizeof(struct accel_lora), 1, path }

/** ACCEL_MODEL_ABSENT: an optional value is not there */
#define ACCEL_MODEL_ABSENT	(1u << 0)

/**
 * struct accel_model_input - what a file leaves open of an input
 *
 * A sequence, or an optional one, is an input of the graph for each of its values, called
 * "NAME[0]", "NAME[1]" and so on; an optional tensor is one that is called NAME, or none. Results
 * that are sequences are outputs of the graph with such names.
 */
struct accel_model_input {
	/** @size: sizeof(struct accel_model_input) */
	uint32_t size;
	/** @flags: ACCEL_MODEL_ABSENT or 0 */
	uint32_t flags;
	/** @name: of the input */
	const char *name;
	/** @count: values of a sequence, at most 512; of others 1, or 0 for one that is absent */
	uint32_t count;
	/** @pad: 0 */
	uint32_t pad;
	/**
	 * @values: rank and dims, numbers, of each of the @count values, whatever the file says
	 * of them; NULL: as it says, without dimensions where it says nothing
	 */
	const struct accel_value *values;
};

/**
 * struct accel_model_opts - how a model is to be read
 */
struct accel_model_opts {
	/** @size: sizeof(struct accel_model_opts) */
	uint32_t size;
	/** @flags: 0 */
	uint32_t flags;
	/**
	 * @operators: that the caller added, for nodes of ONNX files; NULL: none. The model keeps
	 * those that it has nodes of
	 */
	struct accel_operators *operators;
	/**
	 * @loras: adapters of a decoder of a folder or a GGUF file, whose effects add up. They
	 * are in all graphs of the model; their files are mapped as the model's are
	 */
	const struct accel_lora *loras;
	/** @lora_count: entries of @loras, at most ACCEL_LORAS_MAX */
	uint32_t lora_count;
	/** @input_count: entries of @inputs */
	uint32_t input_count;
	/** @inputs: what an ONNX file leaves open: sequences and optional values need it */
	const struct accel_model_input *inputs;
};

/** ACCEL_MODEL_OPTS_INIT: default options */
#define ACCEL_MODEL_OPTS_INIT	{ sizeof(struct accel_model_opts), 0, NULL, NULL, 0, 0, NULL }

/**
 * accel_model_open_opts - read a model with options
 * @path: as of accel_model_open()
 * @opts: how, NULL: default
 * @error: filled if it fails, may be NULL
 * @model: out
 *
 * Options of a program that was built before there were adapters have none.
 *
 * Return: as accel_model_open(); -EINVAL also options, and inputs that the file does not have;
 * -E2BIG options that are not known, too many adapters; -EOPNOTSUPP also adapters of what is no
 * decoder, and those that are not like &struct accel_lora;
 * -EBADMSG also an adapter that contradicts itself, or has matrices for weights
 * that the model does not have, or of other sizes.
 */
ACCEL_API int accel_model_open_opts(const char *path, const struct accel_model_opts *opts,
				    struct accel_error *error, struct accel_model **model);

/**
 * accel_model_register_op - add an operator for nodes of models
 * @operators: set of accel_operators_create(), which no other thread uses now
 * @op: operator: domain, name and the version since which it is meant are those of ONNX
 * @error: filled if it fails, may be NULL
 *
 * An added operator goes before a function of the file of its name, which is how the file itself
 * would compute it. One that the importer has built in stays, unless @op has
 * ACCEL_OPERATOR_REPLACE: then models of a version from @since on get the added one. Each node is
 * held against the version that the model, or the function that it is in, has of the domain; of
 * a domain whose version no one says the newest is meant.
 *
 * Attributes that are numbers, text, lists of at most 64 numbers and tensors come to its
 * functions; with other ones a node is refused.
 *
 * Return: 0; -EEXIST also an operator that is built in, without ACCEL_OPERATOR_REPLACE; otherwise
 * as accel_operators_add().
 */
ACCEL_API int accel_model_register_op(struct accel_operators *operators,
				      const struct accel_operator *op, struct accel_error *error);

/** ACCEL_OPERATORS_INIT: name of the function of a shared object that has operators */
#define ACCEL_OPERATORS_INIT	"accel_operators_init"

/**
 * typedef accel_operators_init_fn - adds the operators that a shared object has
 * @operators: set that they are to be added to
 * @error: to be filled if it fails, as accel_model_register_op() does
 *
 * accelctl model run --op LIB.so calls it, by its name; the object stays loaded.
 *
 * Return: 0 or a negative errno.
 */
typedef int accel_operators_init_fn(struct accel_operators *operators, struct accel_error *error);

struct accel_decoder_opts;

/**
 * accel_model_decoder - a model that goes on with text, over a cache of pages
 * @model: of a folder or a GGUF file
 * @opts: its cache; layers, heads and their elements are the model's, and may be 0; so may the
 *	context, for as many tokens as the model was made for, which are the most. NULL: all default
 * @error: filled if it fails, may be NULL
 * @graph: out: with the inputs and results of accel/generate.h
 *
 * Return: 0; -EOPNOTSUPP it is none; -EINVAL options; errors of accel_graph_add(); -ENOMEM.
 */
ACCEL_API int accel_model_decoder(struct accel_model *model, const struct accel_decoder_opts *opts,
				  struct accel_error *error, struct accel_graph **graph);

/**
 * accel_model_encoder - what the decoder of a model with both sees of a text
 * @model: T5, of a folder
 * @error: filled if it fails, may be NULL
 * @graph: out: of "input_ids" S64 [1, sequence], for &struct accel_generator_opts; its results are
 *	keys and values for each layer of the graph of accel_model_decoder()
 *
 * Such a decoder takes one token of a sequence at a time: what it adds for places to scores is
 * that of the last one.
 *
 * Return: 0; -EOPNOTSUPP it is none; -EINVAL NULL; errors of accel_graph_add(); -ENOMEM.
 */
ACCEL_API int accel_model_encoder(struct accel_model *model, struct accel_error *error,
				  struct accel_graph **graph);

/**
 * accel_model_close - give up a model
 * @model: model, or NULL
 */
ACCEL_API void accel_model_close(struct accel_model *model);

/**
 * accel_model_graph - the graph of a model
 * @model: model
 *
 * Return: borrowed graph, to be compiled; more may be added before that.
 */
ACCEL_API struct accel_graph *accel_model_graph(struct accel_model *model);

/**
 * struct accel_model_info - a model
 */
struct accel_model_info {
	/** @size: sizeof(struct accel_model_info) */
	uint32_t size;
	/** @opset: version of the default operators */
	uint32_t opset;
	/** @node_count: nodes in the file */
	uint32_t node_count;
	/** @input_count: inputs */
	uint32_t input_count;
	/** @output_count: outputs */
	uint32_t output_count;
	/** @constant_count: constants in the file */
	uint32_t constant_count;
	/** @constant_bytes: their bytes */
	uint64_t constant_bytes;
	/** @file_bytes: the file and the data outside of it */
	uint64_t file_bytes;
	/** @producer: who wrote it, or "" */
	char producer[64];
};

/**
 * accel_model_get_info - describe a model
 * @model: model
 * @info: out
 *
 * Return: 0; -EINVAL size.
 */
ACCEL_API int accel_model_get_info(struct accel_model *model, struct accel_model_info *info);

/**
 * accel_model_get_op - how often an operator occurs
 * @model: model
 * @index: from 0 on, in the order in which they occur
 * @count: out: number of nodes
 *
 * Return: name, with its domain if that is not the default one; NULL: there are no more.
 */
ACCEL_API const char *accel_model_get_op(struct accel_model *model, uint32_t index,
					 uint32_t *count);

/**
 * accel_model_has_op - is an operator known?
 * @domain: domain, or NULL for the default one
 * @name: operator
 *
 * Models may still be refused for how they use it.
 *
 * Return: 1 if it is, else 0.
 */
ACCEL_API int accel_model_has_op(const char *domain, const char *name);

/**
 * enum accel_model_item_kind - what a file has
 */
enum accel_model_item_kind {
	/** @ACCEL_MODEL_OPSET: operators of a domain, and their version */
	ACCEL_MODEL_OPSET = 1,
	/** @ACCEL_MODEL_INPUT: an input that is no constant */
	ACCEL_MODEL_INPUT = 2,
	/** @ACCEL_MODEL_OUTPUT: an output */
	ACCEL_MODEL_OUTPUT = 3,
	/** @ACCEL_MODEL_FILE: data outside of the file */
	ACCEL_MODEL_FILE = 4,
	/** @ACCEL_MODEL_OPERATOR: an operator, those of inner graphs too */
	ACCEL_MODEL_OPERATOR = 5,
	/** @ACCEL_MODEL_FAMILY: what a folder or a GGUF file has instead of operators */
	ACCEL_MODEL_FAMILY = 6,
	/** @ACCEL_MODEL_PROPERTY: an entry of an ONNX file's metadata */
	ACCEL_MODEL_PROPERTY = 7
};

/**
 * struct accel_model_item - something that a file has; text longer than 127 bytes is cut
 */
struct accel_model_item {
	/** @size: sizeof(struct accel_model_item) */
	uint32_t size;
	/** @kind: &enum accel_model_item_kind */
	uint32_t kind;
	/** @domain: of operators, "" for the default one */
	const char *domain;
	/** @name: name of an input, output, operator or property; location of a file */
	const char *name;
	/**
	 * @text: shape of an input or output, "2,n,?"; name of an operator's first node; value of
	 * a property; of a family "" if it is not known
	 */
	const char *text;
	/** @type: type of the elements of an input or output */
	const char *type;
	/**
	 * @count: version; nodes; bytes that tensors say a file has; tensors of a family; bytes of
	 * a property's value before it was cut
	 */
	uint64_t count;
};

/**
 * accel_model_scan - what a file says of itself, also one that cannot run
 * @path: as of accel_model_open()
 * @fn: called for each item, by kind and in the file's order; what it points to is there for
 *	that call. Another number than 0 ends the scan
 * @user: for @fn
 *
 * Return: 0, or what @fn returned; -EBADMSG not a model; -EINVAL NULL; errors of open();
 * -ENOMEM, also if there are more than 65536 items; -E2BIG graphs within graphs without end.
 */
ACCEL_API int accel_model_scan(const char *path,
			       int (*fn)(void *user, const struct accel_model_item *item),
			       void *user);

/**
 * accel_model_tensor - read a file that is one tensor of ONNX
 * @path: file, as the vectors of operators have them in .pb
 * @error: filled if it fails, may be NULL
 * @value: out: type, dimensions, name
 * @data: out: elements, one after the other, to be given to free(); the name lies behind them
 *
 * Return: 0; -EBADMSG not a tensor, or one that contradicts itself; -EOPNOTSUPP types that
 * graphs do not have; -EPERM data outside of the file's folder; -EINVAL NULL, or the size of
 * @value; errors of open(); -ENOMEM.
 */
ACCEL_API int accel_model_tensor(const char *path, struct accel_error *error,
				 struct accel_value *value, void **data);

/**
 * struct accel_model_result - a value that a node of a model gives
 */
struct accel_model_result {
	/** @size: sizeof(struct accel_model_result) */
	uint32_t size;
	/** @value: value of the model's graph, for accel_graph_output() */
	uint32_t value;
	/** @name: name of the value in the file */
	const char *name;
	/** @node: name of its node, or that of the node's first result */
	const char *node;
	/** @op: operator */
	const char *op;
};

/**
 * accel_model_get_result - the values that nodes give
 * @model: model
 * @index: from 0 on, in the file's order; graphs within the graph are left out
 * @result: out: text is there as long as the model
 *
 * Return: 0; -ENOENT there are no more; -EINVAL NULL, or the size of @result.
 */
ACCEL_API int accel_model_get_result(struct accel_model *model, uint32_t index,
				     struct accel_model_result *result);

/**
 * enum accel_model_scheme - ways to store weights, and to compute with them
 * @ACCEL_MODEL_DYNAMIC: weights of products in 8 bits, one scale a column; what they are
 *	multiplied by is brought to 8 bits by its own range each time (MatMulInteger)
 * @ACCEL_MODEL_STATIC: products, convolutions and what lies between them in 8 bits by ranges
 *	that are given (QuantizeLinear and DequantizeLinear)
 * @ACCEL_MODEL_BITS4: weights of products in 4 bits, a scale and a zero point for each 32
 *	(com.microsoft.MatMulNBits)
 * @ACCEL_MODEL_PRUNE24: weights of products and convolutions stay in fp32; of each four along
 *	what is summed, for convolutions input channels, the two smallest become 0
 * @ACCEL_MODEL_PALETTE256: each matrix, or filters, as bytes that are places in a table of
 *	256 numbers of its own (Cast, Gather)
 * @ACCEL_MODEL_PALETTE16: the same with 16 numbers, two places in a byte
 */
enum accel_model_scheme {
	ACCEL_MODEL_DYNAMIC = 1,
	ACCEL_MODEL_STATIC = 2,
	ACCEL_MODEL_BITS4 = 3,
	ACCEL_MODEL_PRUNE24 = 4,
	ACCEL_MODEL_PALETTE256 = 5,
	ACCEL_MODEL_PALETTE16 = 6
};

/**
 * struct accel_model_range - the numbers that a value has
 */
struct accel_model_range {
	/** @name: name of the value in the file */
	const char *name;
	/** @min: least, 0 if it is more */
	float min;
	/** @max: largest, 0 if it is less */
	float max;
};

/**
 * struct accel_model_layer - a node that can be quantised
 */
struct accel_model_layer {
	/** @size: sizeof(struct accel_model_layer) */
	uint32_t size;
	/** @input_count: entries of @inputs */
	uint32_t input_count;
	/** @name: name of its result, which names the layer */
	const char *name;
	/** @node: name of the node, or "" */
	const char *node;
	/** @op: operator */
	const char *op;
	/** @inputs: names of the values that need a range, for ACCEL_MODEL_STATIC */
	const char *const *inputs;
	/** @weights: elements of its constant, 0: it has none */
	uint64_t weights;
};

/**
 * typedef accel_model_layer_fn - receives a layer that could be quantised
 * @user: pointer given with it
 * @layer: what it points to is there during the call
 *
 * Return: 0 to go on, anything else to stop.
 */
typedef int accel_model_layer_fn(void *user, const struct accel_model_layer *layer);

/**
 * ACCEL_MODEL_BESIDE: the layers stay as they are; beside each is the quantised one, which
 * reads what it reads and gives a result that nobody reads, with ACCEL_MODEL_BESIDE_NAME
 * behind its name
 */
#define ACCEL_MODEL_BESIDE	(1u << 0)

/** ACCEL_MODEL_BESIDE_NAME: what the name of such a result ends in */
#define ACCEL_MODEL_BESIDE_NAME	".quantised"

/**
 * struct accel_model_quantize_opts - how a model is to be quantised
 */
struct accel_model_quantize_opts {
	/** @size: sizeof(struct accel_model_quantize_opts) */
	uint32_t size;
	/** @scheme: &enum accel_model_scheme */
	uint32_t scheme;
	/** @flags: ACCEL_MODEL_BESIDE */
	uint32_t flags;
	/** @keep_count: entries of @keep */
	uint32_t keep_count;
	/** @keep: names of layers that stay as they are */
	const char *const *keep;
	/** @ranges: of all inputs that layers have, for ACCEL_MODEL_STATIC */
	const struct accel_model_range *ranges;
	/** @range_count: entries of @ranges */
	uint32_t range_count;
	/** @pad: 0 */
	uint32_t pad;
	/** @layer: called for each layer that could be quantised, or NULL */
	accel_model_layer_fn *layer;
	/** @user: for @layer */
	void *user;
};

/** ACCEL_MODEL_QUANTIZE_OPTS_INIT: default options, for a scheme */
#define ACCEL_MODEL_QUANTIZE_OPTS_INIT(scheme) \
	{ sizeof(struct accel_model_quantize_opts), scheme, 0, 0, NULL, NULL, 0, 0, NULL, NULL }

/**
 * accel_model_quantize - write a model with fewer bits
 * @path: ONNX file
 * @opts: how
 * @out: file to be written, which has all constants in it; NULL: layers are told, no more
 * @error: filled if it fails, may be NULL
 *
 * Layers are products by a constant matrix (Gemm, MatMul), but for ACCEL_MODEL_DYNAMIC and
 * ACCEL_MODEL_BITS4 convolutions too, and with ACCEL_MODEL_STATIC sums, pools and concatenations
 * of what these give. With ACCEL_MODEL_PRUNE24 those are none that sum fewer than three, with
 * palettes those of fewer than 1024 weights, which would gain nothing. Everything else is copied.
 *
 * Return: 0, or what @opts->layer returned; -EINVAL NULL, options, a range that is missing;
 * -EOPNOTSUPP operators of a version that has none that are needed; as accel_model_open();
 * errors of writing; -EFBIG more than 2 GiB.
 */
ACCEL_API int accel_model_quantize(const char *path, const struct accel_model_quantize_opts *opts,
				   const char *out, struct accel_error *error);

struct accel_imatrix;

/**
 * accel_imatrix_create - begin to watch what a model's matrices are multiplied by
 * @ctx: context
 * @model: decoder of a folder or a GGUF file; may be closed afterwards
 * @error: filled if it fails, may be NULL
 * @matrix: out: of fp32 products, with nothing seen yet
 *
 * Return: 0; -EOPNOTSUPP no decoder, or one with a tensor that GGUF has no name for; -EINVAL NULL;
 * as accel_graph_compile(); -ENOMEM.
 */
ACCEL_API int accel_imatrix_create(struct accel_ctx *ctx, struct accel_model *model,
				   struct accel_error *error, struct accel_imatrix **matrix);

/**
 * accel_imatrix_observe - run a window of a text, and add up the squares
 * @matrix: of accel_imatrix_create(); one thread at a time
 * @tokens: tokens, which know nothing of those of other windows
 * @count: from 1 to the window of accel_imatrix_get_info()
 *
 * Return: 0; -EINVAL NULL, a matrix of a file, too many tokens, one that the model does not have;
 * -EDOM squares that are not finite; as accel_state_run(); -ENOMEM. When it fails, what was seen
 * is of no use any more.
 */
ACCEL_API int accel_imatrix_observe(struct accel_imatrix *matrix, const int32_t *tokens,
				    uint32_t count);

/**
 * struct accel_imatrix_info - what an importance matrix has seen
 */
struct accel_imatrix_info {
	/** @size: sizeof(struct accel_imatrix_info) */
	uint32_t size;
	/** @entries: tensors */
	uint32_t entries;
	/** @window: most tokens of a window */
	uint32_t window;
	/** @windows: that were seen */
	uint32_t windows;
	/** @tokens: of all of them; of a file, as if all were whole */
	uint64_t tokens;
};

/**
 * accel_imatrix_get_info - describe an importance matrix
 * @matrix: importance matrix
 * @info: out
 *
 * Return: 0; -EINVAL size, NULL.
 */
ACCEL_API int accel_imatrix_get_info(struct accel_imatrix *matrix,
				     struct accel_imatrix_info *info);

/**
 * struct accel_imatrix_entry - what a tensor was multiplied by
 */
struct accel_imatrix_entry {
	/** @size: sizeof(struct accel_imatrix_entry) */
	uint32_t size;
	/** @matrices: of a tensor with experts these, else 1 */
	uint32_t matrices;
	/** @columns: of each matrix: elements that a row of products has */
	uint32_t columns;
	/** @pad: 0 */
	uint32_t pad;
	/** @name: of the tensor, as GGUF has it */
	const char *name;
	/** @sums: [matrices, columns]: of the squares; there until the next window */
	const double *sums;
	/** @counts: [matrices]: rows that were added up */
	const double *counts;
};

/**
 * accel_imatrix_get_entry - what a tensor was multiplied by
 * @matrix: importance matrix
 * @index: from 0 on
 * @entry: out: valid as long as @matrix
 *
 * Return: 0; -ENOENT there are no more; -EINVAL size, NULL.
 */
ACCEL_API int accel_imatrix_get_entry(struct accel_imatrix *matrix, uint32_t index,
				      struct accel_imatrix_entry *entry);

/**
 * accel_imatrix_save - write an importance matrix
 * @matrix: importance matrix
 * @path: file of GGUF as llama.cpp has them; what was there stays until all is written
 * @dataset: what the text is called, or NULL
 * @error: filled if it fails, may be NULL
 *
 * Return: 0; -EINVAL NULL; errors of writing; -ENOMEM.
 */
ACCEL_API int accel_imatrix_save(struct accel_imatrix *matrix, const char *path,
				 const char *dataset, struct accel_error *error);

/**
 * accel_imatrix_load - read an importance matrix
 * @path: file of GGUF, of accel_imatrix_save() or of llama.cpp
 * @error: filled if it fails, may be NULL
 * @matrix: out: it watches nothing
 *
 * Return: 0; -EBADMSG none, or one that contradicts itself; -EINVAL NULL; errors of open();
 * -ENOMEM.
 */
ACCEL_API int accel_imatrix_load(const char *path, struct accel_error *error,
				 struct accel_imatrix **matrix);

/**
 * accel_imatrix_destroy - give up an importance matrix
 * @matrix: importance matrix, or NULL
 */
ACCEL_API void accel_imatrix_destroy(struct accel_imatrix *matrix);

/**
 * struct accel_model_convert_opts - how a model is to be written
 */
struct accel_model_convert_opts {
	/** @size: sizeof(struct accel_model_convert_opts) */
	uint32_t size;
	/** @flags: 0 */
	uint32_t flags;
	/**
	 * @type: of matrices: F32, F16, BF16, and in GGUF Q8_0, Q4_0, Q4_1, Q4_K, Q6_K; 0: as they
	 * are, or F32 where the file has no such type. Rows that are not whole blocks become Q8_0
	 * if they are of its blocks, else F16
	 */
	uint32_t type;
	/** @table: of the tables of tokens, and to tokens; 0: as @type, but Q6_K for 4 bits */
	uint32_t table;
	/** @tokenizer: for GGUF: as of accel_tokenizer_open(); NULL: the folder's, if it has one */
	const char *tokenizer;
	/**
	 * @progress: called before each tensor with bytes that are written and that will be, or
	 * NULL; another number than 0 ends it
	 */
	int (*progress)(void *user, uint64_t done, uint64_t all);
	/** @user: for @progress */
	void *user;
	/** @imatrix: how much columns count of what becomes blocks; NULL: all the same */
	struct accel_imatrix *imatrix;
};

/** ACCEL_MODEL_CONVERT_OPTS_INIT: default options */
#define ACCEL_MODEL_CONVERT_OPTS_INIT \
	{ sizeof(struct accel_model_convert_opts), 0, 0, 0, NULL, NULL, NULL, NULL }

/**
 * accel_model_convert - write a model as GGUF or as a folder, or with fewer bits
 * @path: folder or GGUF file, as of accel_model_open()
 * @opts: how, NULL: default
 * @out: what is written: a file of GGUF if its name ends in ".gguf", else a folder with config.json
 *	and model.safetensors, which must not be there, or be empty
 * @error: filled if it fails, may be NULL
 *
 * Between a folder and GGUF, decoders and BERT are converted, with their tokenizer if that is BPE
 * of bytes or with bytes for what is unknown, or BERT's in lower case; to a folder, without it.
 * Otherwise everything beside the weights is copied. Norms, biases and tables of positions are
 * never in blocks, and are F32 in GGUF. What was there under the name stays until all is written,
 * and when it fails.
 *
 * Threads: any.
 *
 * Return: 0, or what @opts->progress returned; -EINVAL NULL, options; -EOPNOTSUPP a family, a
 * tensor, a tokenizer or a setting that the other kind has no words for, which is named; -ERANGE
 * numbers that blocks do not have; -EEXIST a folder that is not empty; as accel_model_open();
 * errors of writing; -ENOMEM.
 */
ACCEL_API int accel_model_convert(const char *path, const struct accel_model_convert_opts *opts,
				  const char *out, struct accel_error *error);

#if defined(__cplusplus)
}
#endif

#endif /* ACCEL_MODEL_H */

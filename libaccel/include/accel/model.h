/* SPDX-License-Identifier: MIT */
/*
 * Models: graphs from files. Part of a separate library, libaccel-models.
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
 * @path: ONNX file, GGUF file, or a folder with config.json and safetensors:
 *	model.safetensors, or those that model.safetensors.index.json names; external data
 *	must be in the same folder
 * @error: filled if it fails, may be NULL
 * @model: out
 *
 * The file is mapped, and constants are used in place: it must not change while the model, or
 * a program of it, exists.
 *
 * Return: 0; -EBADMSG not a model, or an inconsistent one; -EOPNOTSUPP operators, families,
 * types or versions that are not supported: the error names all of these operators; -EPERM
 * data outside of the model's folder; errors of open(); -ENOMEM.
 */
ACCEL_API int accel_model_open(const char *path, struct accel_error *error,
			       struct accel_model **model);

/** ACCEL_LORAS_MAX: largest number of adapters of a model */
#define ACCEL_LORAS_MAX	16

/**
 * struct accel_lora - an adapter (LoRA), which adds a low-rank product to products with
 * weights
 *
 * For a weight W for which the adapter has matrices A and B, y = W x becomes y = W x + scale
 * * (lora_alpha / r) * B (A x) (E. Hu and others, arXiv:2106.09685), or lora_alpha / sqrt(r)
 * if its configuration has use_rslora. W is neither changed nor copied.
 */
struct accel_lora {
	/** @size: sizeof(struct accel_lora) */
	uint32_t size;
	/** @scale: additional factor of what the adapter adds; finite */
	float scale;
	/**
	 * @path: folder with adapter_config.json and adapter_model.safetensors, in the format
	 * of PEFT
	 */
	const char *path;
};

/** ACCEL_LORA_INIT: an adapter of a folder, with a scale of 1 */
#define ACCEL_LORA_INIT(path)	{ sizeof(struct accel_lora), 1, path }

/** ACCEL_MODEL_ABSENT: an optional value is absent */
#define ACCEL_MODEL_ABSENT	(1u << 0)

/**
 * struct accel_model_input - properties of an input that a file does not determine
 *
 * For a sequence, or an optional sequence, the graph has an input for each of its values,
 * called "NAME[0]", "NAME[1]" and so on; for an optional tensor one called NAME, or none.
 * Results that are sequences are outputs of the graph with such names.
 */
struct accel_model_input {
	/** @size: sizeof(struct accel_model_input) */
	uint32_t size;
	/** @flags: ACCEL_MODEL_ABSENT or 0 */
	uint32_t flags;
	/** @name: name of the input */
	const char *name;
	/** @count: number of values of a sequence, at most 512; for others 1, or 0 if absent */
	uint32_t count;
	/** @pad: 0 */
	uint32_t pad;
	/**
	 * @values: rank and dims, as numbers, of each of the @count values, overriding the
	 * file; NULL: those of the file, or no dimensions if it has none
	 */
	const struct accel_value *values;
};

/**
 * struct accel_model_opts - options of accel_model_open_opts()
 */
struct accel_model_opts {
	/** @size: sizeof(struct accel_model_opts) */
	uint32_t size;
	/** @flags: 0 */
	uint32_t flags;
	/**
	 * @operators: user-defined operators for nodes of ONNX files; NULL: none. The model
	 * keeps those that it uses
	 */
	struct accel_operators *operators;
	/**
	 * @loras: adapters for a decoder of a folder or a GGUF file, whose effects add up.
	 * They are part of all graphs of the model; their files are mapped like those of the
	 * model
	 */
	const struct accel_lora *loras;
	/** @lora_count: number of @loras, at most ACCEL_LORAS_MAX */
	uint32_t lora_count;
	/** @input_count: number of @inputs */
	uint32_t input_count;
	/**
	 * @inputs: inputs that an ONNX file does not determine; required for sequences and
	 * optional values
	 */
	const struct accel_model_input *inputs;
};

/** ACCEL_MODEL_OPTS_INIT: default options */
#define ACCEL_MODEL_OPTS_INIT	{ sizeof(struct accel_model_opts), 0, NULL, NULL, 0, 0, NULL }

/**
 * accel_model_open_opts - read a model with options
 * @path: as for accel_model_open()
 * @opts: how, NULL: default
 * @error: filled if it fails, may be NULL
 * @model: out
 *
 * The struct may have the size that it had before it had adapters.
 *
 * Return: as accel_model_open(); -EINVAL also options, and inputs that the file does not
 * have; -E2BIG unknown options, too many adapters; -EOPNOTSUPP also adapters for a model that
 * is not a decoder, and of other kinds than &struct accel_lora; -EBADMSG also an inconsistent
 * adapter, or one with matrices for weights that the model does not have, or of other sizes.
 */
ACCEL_API int accel_model_open_opts(const char *path, const struct accel_model_opts *opts,
				    struct accel_error *error, struct accel_model **model);

/**
 * accel_model_register_op - add a user-defined operator for nodes of models
 * @operators: set of accel_operators_create(), not in use by another thread
 * @op: operator, with domain, name and first version as in ONNX
 * @error: filled if it fails, may be NULL
 *
 * The operator takes precedence over a function of the same name in a file. A built-in
 * operator takes precedence over it unless @op has ACCEL_OPERATOR_REPLACE: then it is used
 * for models with versions from @since on. The version for a node is that of the domain in
 * the model, or in the function that has the node; if there is none, the newest.
 *
 * Attributes may be numbers, text, lists of at most 64 numbers, and tensors; nodes with other
 * attributes are rejected.
 *
 * Return: 0; -EEXIST also an operator that is built in, without ACCEL_OPERATOR_REPLACE; otherwise
 * as accel_operators_add().
 */
ACCEL_API int accel_model_register_op(struct accel_operators *operators,
				      const struct accel_operator *op, struct accel_error *error);

/** ACCEL_OPERATORS_INIT: name of the function of a shared object that adds its operators */
#define ACCEL_OPERATORS_INIT	"accel_operators_init"

/**
 * typedef accel_operators_init_fn - adds the operators of a shared object
 * @operators: set to add them to
 * @error: to be filled if it fails, as by accel_model_register_op()
 *
 * accelctl model run --op LIB.so calls it by its name; the object remains loaded.
 *
 * Return: 0 or a negative errno.
 */
typedef int accel_operators_init_fn(struct accel_operators *operators, struct accel_error *error);

struct accel_decoder_opts;

/**
 * accel_model_decoder - create the graph of a decoder, which uses a paged cache
 * @model: model of a folder or a GGUF file
 * @opts: options of its cache. Layers, heads and their elements are those of the model, or 0;
 *	the context is at most the largest one of the model, or 0 for that. NULL: defaults
 * @error: filled if it fails, may be NULL
 * @graph: out: graph with the inputs and results of accel/generate.h
 *
 * Return: 0; -EOPNOTSUPP not a decoder; -EINVAL options; errors of accel_graph_add();
 * -ENOMEM.
 */
ACCEL_API int accel_model_decoder(struct accel_model *model, const struct accel_decoder_opts *opts,
				  struct accel_error *error, struct accel_graph **graph);

/**
 * accel_model_encoder - create the graph of the encoder of an encoder-decoder model
 * @model: T5 model of a folder
 * @error: filled if it fails, may be NULL
 * @graph: out: graph with the input "input_ids" S64 [1, sequence], for &struct
 *	accel_generator_opts; its results are keys and values for each layer of the graph
 *	of accel_model_decoder()
 *
 * The decoder of such a model runs one token of a sequence at a time, because its position
 * bias is that of the last token.
 *
 * Return: 0; -EOPNOTSUPP there is no encoder; -EINVAL NULL; errors of accel_graph_add();
 * -ENOMEM.
 */
ACCEL_API int accel_model_encoder(struct accel_model *model, struct accel_error *error,
				  struct accel_graph **graph);

/**
 * accel_model_close - release a model
 * @model: model, or NULL
 */
ACCEL_API void accel_model_close(struct accel_model *model);

/**
 * accel_model_graph - get the graph of a model
 * @model: model
 *
 * Return: borrowed graph, to be compiled; nodes may be added before that.
 */
ACCEL_API struct accel_graph *accel_model_graph(struct accel_model *model);

/**
 * struct accel_model_info - description of a model
 */
struct accel_model_info {
	/** @size: sizeof(struct accel_model_info) */
	uint32_t size;
	/** @opset: version of the default domain of operators */
	uint32_t opset;
	/** @node_count: number of nodes in the file */
	uint32_t node_count;
	/** @input_count: number of inputs */
	uint32_t input_count;
	/** @output_count: number of outputs */
	uint32_t output_count;
	/** @constant_count: number of constants in the file */
	uint32_t constant_count;
	/** @constant_bytes: their size in bytes */
	uint64_t constant_bytes;
	/** @file_bytes: size of the file and its external data */
	uint64_t file_bytes;
	/** @producer: program that wrote it, or "" */
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
 * accel_model_get_op - get an operator of a model and its number of nodes
 * @model: model
 * @index: from 0 on, in the order in which they occur
 * @count: out: number of nodes
 *
 * Return: name, with its domain if that is not the default one; NULL: no such operator.
 */
ACCEL_API const char *accel_model_get_op(struct accel_model *model, uint32_t index,
					 uint32_t *count);

/**
 * accel_model_has_op - is an operator supported?
 * @domain: domain, or NULL for the default one
 * @name: operator
 *
 * Some uses of a supported operator may still be rejected.
 *
 * Return: 1 if it is, else 0.
 */
ACCEL_API int accel_model_has_op(const char *domain, const char *name);

/**
 * enum accel_model_item_kind - kinds of items of a file
 */
enum accel_model_item_kind {
	/** @ACCEL_MODEL_OPSET: operators of a domain, and their version */
	ACCEL_MODEL_OPSET = 1,
	/** @ACCEL_MODEL_INPUT: an input that is not a constant */
	ACCEL_MODEL_INPUT = 2,
	/** @ACCEL_MODEL_OUTPUT: an output */
	ACCEL_MODEL_OUTPUT = 3,
	/** @ACCEL_MODEL_FILE: a file with external data */
	ACCEL_MODEL_FILE = 4,
	/** @ACCEL_MODEL_OPERATOR: an operator, including those of nested graphs */
	ACCEL_MODEL_OPERATOR = 5,
	/** @ACCEL_MODEL_FAMILY: model family of a folder or a GGUF file, which have no operators */
	ACCEL_MODEL_FAMILY = 6,
	/** @ACCEL_MODEL_PROPERTY: an entry of an ONNX file's metadata */
	ACCEL_MODEL_PROPERTY = 7
};

/**
 * struct accel_model_item - an item of a file; text is truncated to 127 bytes
 */
struct accel_model_item {
	/** @size: sizeof(struct accel_model_item) */
	uint32_t size;
	/** @kind: &enum accel_model_item_kind */
	uint32_t kind;
	/** @domain: domain of operators, "" for the default one */
	const char *domain;
	/** @name: name of an input, output, operator or property; location of a file */
	const char *name;
	/**
	 * @text: shape of an input or output, "2,n,?"; name of an operator's first node;
	 * value of a property; for a family "" if it is not supported
	 */
	const char *text;
	/** @type: element type of an input or output */
	const char *type;
	/**
	 * @count: version; number of nodes; size of a file according to its tensors; number
	 * of tensors of a family; size of a property's value before truncation
	 */
	uint64_t count;
};

/**
 * accel_model_scan - list the items of a file, even if it cannot run
 * @path: as for accel_model_open()
 * @fn: called for each item, ordered by kind and as in the file; the item is valid during the
 *	call. Another result than 0 ends the scan
 * @user: argument of @fn
 *
 * Return: 0, or what @fn returned; -EBADMSG not a model; -EOPNOTSUPP a message that is not an
 * element of a list comes in several pieces; -EINVAL NULL; errors of open(); -ENOMEM, also if
 * there are more than 65536 items; -E2BIG graphs are nested too deep.
 */
ACCEL_API int accel_model_scan(const char *path,
			       int (*fn)(void *user, const struct accel_model_item *item),
			       void *user);

/**
 * accel_model_tensor - read a file that is one tensor of ONNX
 * @path: file, such as the .pb files of test vectors of operators
 * @error: filled if it fails, may be NULL
 * @value: out: type, dimensions, name
 * @data: out: elements, dense, to be freed with free(); the name is in the same memory
 *
 * Return: 0; -EBADMSG not a tensor, or an inconsistent one; -EOPNOTSUPP types that graphs do
 * not have; -EPERM data outside of the file's folder; -EINVAL NULL, or the size of @value;
 * errors of open(); -ENOMEM.
 */
ACCEL_API int accel_model_tensor(const char *path, struct accel_error *error,
				 struct accel_value *value, void **data);

/**
 * struct accel_model_result - a result of a node of a model
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
 * accel_model_get_result - get a result of a node
 * @model: model
 * @index: from 0 on, in the order of the file, without nested graphs
 * @result: out: its strings are valid as long as the model
 *
 * Return: 0; -ENOENT no such result; -EINVAL NULL, or the size of @result.
 */
ACCEL_API int accel_model_get_result(struct accel_model *model, uint32_t index,
				     struct accel_model_result *result);

/**
 * enum accel_model_scheme - schemes of quantised models
 * @ACCEL_MODEL_DYNAMIC: weights of products in 8 bits, with a scale for each column; the
 *	other operands are quantised to 8 bits by their range in each run (MatMulInteger)
 * @ACCEL_MODEL_STATIC: products, convolutions and operations between them in 8 bits, with
 *	calibrated ranges (QuantizeLinear and DequantizeLinear)
 * @ACCEL_MODEL_BITS4: weights of products in 4 bits, a scale and a zero point for each 32
 *	(com.microsoft.MatMulNBits)
 * @ACCEL_MODEL_PRUNE24: weights of products and convolutions remain fp32; of each four along
 *	the dimension that is summed, for convolutions the input channels, the two smallest
 *	become 0
 * @ACCEL_MODEL_PALETTE256: weights as bytes, which index a table of 256 numbers for each
 *	matrix or set of filters (Cast, Gather)
 * @ACCEL_MODEL_PALETTE16: the same with 16 numbers and two indices in a byte
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
 * struct accel_model_range - range of the elements of a value
 */
struct accel_model_range {
	/** @name: name of the value in the file */
	const char *name;
	/** @min: smallest element, at most 0 */
	float min;
	/** @max: largest element, at least 0 */
	float max;
};

/**
 * struct accel_model_layer - a node that can be quantised
 */
struct accel_model_layer {
	/** @size: sizeof(struct accel_model_layer) */
	uint32_t size;
	/** @input_count: number of @inputs */
	uint32_t input_count;
	/** @name: name of its result, which is also the name of the layer */
	const char *name;
	/** @node: name of the node, or "" */
	const char *node;
	/** @op: operator */
	const char *op;
	/** @inputs: names of the values that need a range, for ACCEL_MODEL_STATIC */
	const char *const *inputs;
	/** @weights: number of elements of its constant, 0: none */
	uint64_t weights;
};

/**
 * typedef accel_model_layer_fn - receives a layer that can be quantised
 * @user: pointer given with it
 * @layer: valid during the call
 *
 * Return: 0 to go on, anything else to stop.
 */
typedef int accel_model_layer_fn(void *user, const struct accel_model_layer *layer);

/**
 * ACCEL_MODEL_BESIDE: layers are not replaced; for each one a quantised layer is added, which
 * has the same inputs and a result that is not used, whose name has ACCEL_MODEL_BESIDE_NAME
 * appended
 */
#define ACCEL_MODEL_BESIDE	(1u << 0)

/** ACCEL_MODEL_BESIDE_NAME: suffix of the name of such a result */
#define ACCEL_MODEL_BESIDE_NAME	".quantised"

/**
 * struct accel_model_quantize_opts - options of accel_model_quantize()
 */
struct accel_model_quantize_opts {
	/** @size: sizeof(struct accel_model_quantize_opts) */
	uint32_t size;
	/** @scheme: &enum accel_model_scheme */
	uint32_t scheme;
	/** @flags: ACCEL_MODEL_BESIDE */
	uint32_t flags;
	/** @keep_count: number of @keep */
	uint32_t keep_count;
	/** @keep: names of layers that are not quantised */
	const char *const *keep;
	/** @ranges: ranges of all inputs of layers, for ACCEL_MODEL_STATIC */
	const struct accel_model_range *ranges;
	/** @range_count: number of @ranges */
	uint32_t range_count;
	/** @pad: 0 */
	uint32_t pad;
	/** @layer: called for each layer that can be quantised, or NULL */
	accel_model_layer_fn *layer;
	/** @user: argument of @layer */
	void *user;
};

/** ACCEL_MODEL_QUANTIZE_OPTS_INIT: default options, for a scheme */
#define ACCEL_MODEL_QUANTIZE_OPTS_INIT(scheme) \
	{ sizeof(struct accel_model_quantize_opts), scheme, 0, 0, NULL, NULL, 0, 0, NULL, NULL }

/**
 * accel_model_quantize - write a quantised model
 * @path: ONNX file
 * @opts: how
 * @out: file to write, with all constants; NULL: only report layers
 * @error: filled if it fails, may be NULL
 *
 * Layers are products with a constant matrix (Gemm, MatMul); except with ACCEL_MODEL_DYNAMIC
 * and ACCEL_MODEL_BITS4 also convolutions; and with ACCEL_MODEL_STATIC also sums, pools and
 * concatenations of their results. Not layers that sum fewer than three products with
 * ACCEL_MODEL_PRUNE24, or have fewer than 1024 weights with palettes, which would gain
 * nothing. Everything else is copied.
 *
 * Return: 0, or what @opts->layer returned; -EINVAL NULL, options, a missing range;
 * -EOPNOTSUPP the model's version of the operators lacks one that is needed; as
 * accel_model_open(); errors of writing; -EFBIG more than 2 GiB.
 */
ACCEL_API int accel_model_quantize(const char *path, const struct accel_model_quantize_opts *opts,
				   const char *out, struct accel_error *error);

struct accel_imatrix;

/**
 * accel_imatrix_create - create an importance matrix, which observes the inputs of a model's
 * weights
 * @ctx: context
 * @model: decoder of a folder or a GGUF file; may be closed afterwards
 * @error: filled if it fails, may be NULL
 * @matrix: out: empty importance matrix, for products in fp32
 *
 * Return: 0; -EOPNOTSUPP not a decoder, or a tensor that GGUF has no name for; -EINVAL NULL;
 * as accel_graph_compile(); -ENOMEM.
 */
ACCEL_API int accel_imatrix_create(struct accel_ctx *ctx, struct accel_model *model,
				   struct accel_error *error, struct accel_imatrix **matrix);

/**
 * accel_imatrix_observe - run a window of a text, and add the squares of the inputs
 * @matrix: from accel_imatrix_create(); one thread at a time
 * @tokens: tokens; windows are independent of each other
 * @count: number of tokens, from 1 to the window of accel_imatrix_get_info()
 *
 * Return: 0; -EINVAL NULL, a matrix of a file, too many tokens, a token that the model does
 * not have; -EDOM squares that are not finite; as accel_state_run(); -ENOMEM. After a failure
 * the importance matrix must not be used any more.
 */
ACCEL_API int accel_imatrix_observe(struct accel_imatrix *matrix, const int32_t *tokens,
				    uint32_t count);

/**
 * struct accel_imatrix_info - description of an importance matrix
 */
struct accel_imatrix_info {
	/** @size: sizeof(struct accel_imatrix_info) */
	uint32_t size;
	/** @entries: number of tensors */
	uint32_t entries;
	/** @window: largest number of tokens of a window */
	uint32_t window;
	/** @windows: number of observed windows */
	uint32_t windows;
	/** @tokens: number of their tokens; for a file, assuming complete windows */
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
 * struct accel_imatrix_entry - importance of the columns of a tensor
 */
struct accel_imatrix_entry {
	/** @size: sizeof(struct accel_imatrix_entry) */
	uint32_t size;
	/** @matrices: number of experts of a tensor, else 1 */
	uint32_t matrices;
	/** @columns: number of columns of each matrix, the size of its input */
	uint32_t columns;
	/** @pad: 0 */
	uint32_t pad;
	/** @name: name of the tensor in GGUF */
	const char *name;
	/** @sums: [matrices, columns]: sums of the squares; valid until the next window */
	const double *sums;
	/** @counts: [matrices]: number of rows that were added */
	const double *counts;
};

/**
 * accel_imatrix_get_entry - get the importance of the columns of a tensor
 * @matrix: importance matrix
 * @index: from 0 on
 * @entry: out: valid as long as @matrix
 *
 * Return: 0; -ENOENT no such entry; -EINVAL size, NULL.
 */
ACCEL_API int accel_imatrix_get_entry(struct accel_imatrix *matrix, uint32_t index,
				      struct accel_imatrix_entry *entry);

/**
 * accel_imatrix_save - write an importance matrix
 * @matrix: importance matrix
 * @path: GGUF file in the format of llama.cpp; replaced when everything is written
 * @dataset: name of the text, or NULL
 * @error: filled if it fails, may be NULL
 *
 * Return: 0; -EINVAL NULL; errors of writing; -ENOMEM.
 */
ACCEL_API int accel_imatrix_save(struct accel_imatrix *matrix, const char *path,
				 const char *dataset, struct accel_error *error);

/**
 * accel_imatrix_load - read an importance matrix
 * @path: GGUF file of accel_imatrix_save() or of llama.cpp
 * @error: filled if it fails, may be NULL
 * @matrix: out: importance matrix that cannot observe further windows
 *
 * Return: 0; -EBADMSG not an importance matrix, or an inconsistent one; -EINVAL NULL; errors
 * of open(); -ENOMEM.
 */
ACCEL_API int accel_imatrix_load(const char *path, struct accel_error *error,
				 struct accel_imatrix **matrix);

/**
 * accel_imatrix_destroy - release an importance matrix
 * @matrix: importance matrix, or NULL
 */
ACCEL_API void accel_imatrix_destroy(struct accel_imatrix *matrix);

/**
 * struct accel_model_convert_opts - options of accel_model_convert()
 */
struct accel_model_convert_opts {
	/** @size: sizeof(struct accel_model_convert_opts) */
	uint32_t size;
	/** @flags: 0 */
	uint32_t flags;
	/**
	 * @type: type of matrices: F32, F16, BF16, and in GGUF Q8_0, Q4_0, Q4_1, Q4_K, Q6_K;
	 * 0: unchanged, or F32 if the format does not have the type. Rows that are not
	 * multiples of a block become Q8_0 if they are multiples of its block, else F16
	 */
	uint32_t type;
	/**
	 * @table: type of the token embedding and of the output matrix; 0: @type, but Q6_K
	 * for 4 bits
	 */
	uint32_t table;
	/**
	 * @tokenizer: for GGUF: path as for accel_tokenizer_open(); NULL: that of the folder,
	 * if it has one
	 */
	const char *tokenizer;
	/**
	 * @progress: called before each tensor with the bytes that are written and the total,
	 * or NULL; another result than 0 ends the conversion
	 */
	int (*progress)(void *user, uint64_t done, uint64_t all);
	/** @user: argument of @progress */
	void *user;
	/** @imatrix: importance of columns for types of blocks; NULL: all are equal */
	struct accel_imatrix *imatrix;
	/** @onto: ONNX file whose initializers are replaced, or NULL */
	const char *onto;
	/** @bytes: NULL, or out: bytes of the files with the weights, and of those written */
	uint64_t *bytes;
};

/** ACCEL_MODEL_CONVERT_OPTS_INIT: default options */
#define ACCEL_MODEL_CONVERT_OPTS_INIT \
	{ sizeof(struct accel_model_convert_opts), 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL }

/**
 * accel_model_convert - convert a model to GGUF, to a folder, or to another type, or weights
 * @path: folder or GGUF file, as of accel_model_open(); ONNX file; with @opts->onto a
 *	safetensors file or an index of several
 * @opts: how, NULL: default
 * @out: output: a GGUF file if its name ends in ".gguf", else a folder with config.json and
 *	model.safetensors, which must not exist or must be empty; of an ONNX file a safetensors
 *	file, whose name ends in ".safetensors"; with @opts->onto an ONNX file
 * @error: filled if it fails, may be NULL
 *
 * Decoders and BERT can be converted between a folder and GGUF; to GGUF with their tokenizer,
 * if that is byte-level BPE, BPE with byte fallback, or lower-case BERT; to a folder without
 * it. Otherwise everything but the weights is copied. Norms, biases and tables of positions
 * are never quantised, and are F32 in GGUF. An existing file is replaced when everything is
 * written.
 *
 * Of an ONNX file the initializers of its graph are written, with their names, types and
 * dimensions; those of graphs of nodes and tensors of Constant nodes are not. With @opts->onto
 * the tensors of @path replace the initializers of the same names, which must have their types
 * and dimensions; the rest of the model is copied. Initializers whose data are outside of that
 * file have them in a file that is called as @out with ".data" appended, or ".1.data" if the file
 * at @out, which is replaced, reads that one.
 *
 * Threads: any.
 *
 * Return: 0, or what @opts->progress returned; -EINVAL NULL, options, tensors that are not
 * initializers of @opts->onto or differ from them in type or dimensions; -EOPNOTSUPP a family, a
 * tensor, a tokenizer or a setting that the other format cannot represent, which is named;
 * -ERANGE values that blocks cannot represent; -EEXIST a folder that is not empty; as
 * accel_model_open(); errors of writing; -ENOMEM.
 */
ACCEL_API int accel_model_convert(const char *path, const struct accel_model_convert_opts *opts,
				  const char *out, struct accel_error *error);

#if defined(__cplusplus)
}
#endif

#endif /* ACCEL_MODEL_H */

/* SPDX-License-Identifier: MIT */
/*
 * Graphs of operations, compiled and run as a whole. This is one header, like the page of the
 * manual.
 */
#ifndef ACCEL_GRAPH_H
#define ACCEL_GRAPH_H

#include <stdint.h>
#include <accel/context.h>
#include <accel/desc.h>
#include <accel/error.h>
#include <accel/types.h>
#include <accel/weights.h>

#if defined(__cplusplus)
extern "C" {
#endif

/**
 * DOC: Graphs
 *
 *	graph -> program (immutable, shared) -> state (one for each caller) -> run
 *
 * A graph has values and nodes. A value has a type, dimensions that are numbers or symbols,
 * and optionally constant data. A node is the descriptor of an operation, with values instead
 * of tensors. A graph does not depend on a device; it is compiled for a context to a program,
 * and a state of the program holds the memory of one run.
 *
 * Threads: a graph is built by one thread at a time and must not be changed after it was
 * compiled. Programs may be shared by all threads; a state may be used by one thread at a
 * time.
 */

struct accel_graph;
struct accel_program;
struct accel_state;

/** ACCEL_GRAPH_MAX_RANK: largest number of dimensions of a value */
#define ACCEL_GRAPH_MAX_RANK	8

/** ACCEL_VALUE_NEW: a value that is to be created by the call */
#define ACCEL_VALUE_NEW		UINT32_MAX

/**
 * enum accel_host_type - types that engines do not support, in addition to &enum accel_dtype
 * @ACCEL_HOST_S64: signed, 64 bit
 * @ACCEL_HOST_U64: unsigned, 64 bit
 * @ACCEL_HOST_U32: unsigned, 32 bit
 * @ACCEL_HOST_S16: signed, 16 bit
 * @ACCEL_HOST_U16: unsigned, 16 bit
 * @ACCEL_HOST_F64: IEEE 754 binary64
 * @ACCEL_HOST_BOOL: a byte, 0 or 1; the same as ACCEL_U8 for engines
 * @ACCEL_HOST_TYPE_END: one past the last
 *
 * Operations on them, and operations that compute shapes, are executed by the CPU.
 */
enum accel_host_type {
	ACCEL_HOST_S64 = 32,
	ACCEL_HOST_U64 = 33,
	ACCEL_HOST_U32 = 34,
	ACCEL_HOST_S16 = 35,
	ACCEL_HOST_U16 = 36,
	ACCEL_HOST_F64 = 37,
	ACCEL_HOST_BOOL = 38,
	ACCEL_HOST_TYPE_END = 39
};

/**
 * accel_type_name - name of a type of &enum accel_dtype or &enum accel_host_type
 * @type: type
 *
 * Return: static string, NULL for a value out of range.
 */
ACCEL_API const char *accel_type_name(uint32_t type);

/**
 * accel_type_bits - bits of an element of a type
 * @type: type
 *
 * Return: bits, 0 for a value out of range.
 */
ACCEL_API uint32_t accel_type_bits(uint32_t type);

/**
 * accel_graph_create - create an empty graph
 * @graph: out
 *
 * Return: 0; -ENOMEM.
 */
ACCEL_API int accel_graph_create(struct accel_graph **graph);

/**
 * accel_graph_destroy - release a graph
 * @graph: graph, or NULL
 *
 * Programs that were compiled from it remain valid.
 */
ACCEL_API void accel_graph_destroy(struct accel_graph *graph);

/**
 * accel_graph_get_error - get the error of the last failed call on this graph
 * @graph: graph
 * @error: out
 *
 * Return: 0; -EINVAL size.
 */
ACCEL_API int accel_graph_get_error(struct accel_graph *graph, struct accel_error *error);

/**
 * accel_graph_symbol - create a dimension with a name
 * @graph: graph
 * @name: name; dimensions of the same name are equal
 * @min: smallest value
 * @max: largest value
 * @dim: out: a negative number, to be used as a dimension of inputs
 *
 * Return: 0, also if the name exists, whose bounds are narrowed then; -EINVAL bounds;
 * -ENOMEM.
 */
ACCEL_API int accel_graph_symbol(struct accel_graph *graph, const char *name, int64_t min,
				 int64_t max, int64_t *dim);

/**
 * ACCEL_VALUE_MAPPED: for constants: the data is an unmodified private mapping of a file, so
 * that pages that are not needed any more may be dropped
 */
#define ACCEL_VALUE_MAPPED	(1u << 0)

/**
 * struct accel_value - type and dimensions of a value
 */
struct accel_value {
	/** @size: sizeof(struct accel_value) */
	uint32_t size;
	/** @type: &enum accel_dtype or &enum accel_host_type */
	uint32_t type;
	/** @rank: number of dimensions, 0 for a scalar */
	uint32_t rank;
	/** @flags: ACCEL_VALUE_*, for accel_graph_constant() */
	uint32_t flags;
	/** @dims: sizes, outermost first; negative: accel_graph_symbol() */
	int64_t dims[ACCEL_GRAPH_MAX_RANK];
	/** @name: name, or NULL; as a result: valid as long as the object that returned it */
	const char *name;
};

/** ACCEL_VALUE_INIT: a value to be filled in */
#define ACCEL_VALUE_INIT	{ sizeof(struct accel_value), 0, 0, 0, { 0 }, NULL }

/**
 * accel_graph_input - add an input, which is set when the graph runs
 * @graph: graph
 * @desc: its type and dimensions
 * @value: out: its number
 *
 * Return: 0; -EINVAL type, rank, a dimension; -EOVERFLOW; -ENOMEM.
 */
ACCEL_API int accel_graph_input(struct accel_graph *graph, const struct accel_value *desc,
				uint32_t *value);

/**
 * accel_graph_constant - add a constant
 * @graph: graph
 * @desc: type and dimensions, without symbols
 * @data: dense, little-endian, any alignment; for types of blocks whole blocks, along the
 *	last dimension; used in place, until @release is called
 * @release: called with @user when the data is not needed any more, or NULL
 * @user: passed on
 * @value: out: its number
 *
 * Return: 0; -EINVAL type, rank, a dimension; -EOVERFLOW; -ENOMEM. On failure @release is not
 * called.
 */
ACCEL_API int accel_graph_constant(struct accel_graph *graph, const struct accel_value *desc,
				   const void *data, void (*release)(void *user), void *user,
				   uint32_t *value);

/**
 * accel_graph_constant_file - tell in which file the data of a constant lies
 * @graph: graph
 * @value: number of a constant with ACCEL_VALUE_MAPPED
 * @stamp: accel_file_stamp_read() of the file, taken after it was mapped
 * @offset: first byte of the data in the file
 *
 * Packed weights are looked up by a digest of their source. If the context has a weights_dir,
 * that digest is kept there under @stamp until the next boot: later starts do not read the data
 * to compute it, as long as the file does not change.
 *
 * Return: 0; -EINVAL @value is no such constant, @stamp is NULL.
 */
ACCEL_API int accel_graph_constant_file(struct accel_graph *graph, uint32_t value,
					const struct accel_file_stamp *stamp, uint64_t offset);

/**
 * accel_graph_get_value - get type and dimensions of a value
 * @graph: graph
 * @value: value
 * @out: out: type, rank and dimensions. Symbols are replaced by numbers within their bounds,
 *	at least 64 if these allow it: so dimensions may be examples, type and rank are not
 *
 * Return: 0; -EINVAL no such value, size; the error of an invalid node, which is named in the
 * graph's error record; -ENOMEM.
 */
ACCEL_API int accel_graph_get_value(struct accel_graph *graph, uint32_t value,
				    struct accel_value *out);

/**
 * accel_graph_varies - does a dimension depend on the values of symbols?
 * @graph: graph
 * @value: value
 * @dim: dimension, from 0
 *
 * Determined by trying other numbers for all symbols; if no others are valid, the result is
 * 1.
 *
 * Return: 1 if it does, 0 if not; errors of accel_graph_get_value().
 */
ACCEL_API int accel_graph_varies(struct accel_graph *graph, uint32_t value, uint32_t dim);

/**
 * struct accel_graph_arg - a value used as a tensor of an operation
 */
struct accel_graph_arg {
	/** @arg: &enum accel_arg; with ACCEL_ARG_SCALES, ACCEL_ARG_ZEROS its tables */
	uint32_t arg;
	/** @value: value; for a result ACCEL_VALUE_NEW, which the call replaces by its number */
	uint32_t value;
};

/**
 * accel_graph_set_source - set the origin of the next nodes
 * @graph: graph
 * @text: for instance the operator of a file; NULL: none
 *
 * Applies to nodes that are added afterwards; @text is copied. Errors of a node, when a graph
 * is compiled or run, name the origin instead of the operation, which users of a file do not
 * know. Programs in files keep it.
 *
 * Return: 0, or the error of an earlier call on the graph.
 */
ACCEL_API int accel_graph_set_source(struct accel_graph *graph, const char *text);

/**
 * accel_graph_add - add a node
 * @graph: graph
 * @name: name for people, or NULL
 * @desc: the first field of a descriptor. Its tensors are zero, except that results may have
 *	a type, if the operation allows several, and tensors may have a quantisation, whose
 *	tables are values; tables of zero points must be constants
 * @args: a value for each tensor in use, including results
 * @count: number of @args
 *
 * Dimensions of results are inferred when the graph is compiled. Some numbers of descriptors
 * may be values, too, whose contents must be known then (lists are S64)::
 *
 *	PAD	B: elements before, then after those of A, for each dimension in AUX0, or for all;
 *		those below 0 are cut off. C: the constant
 *	RESIZE	B: dimensions of D, C: scales (F32), or both, of the dimensions in AUX0, or all
 *	TOPK	B: how many
 *	REDUCE	B: dimensions
 *	SCAN	B: the dimension
 *
 * With a q_max of 0, attention of ragged sequences allows any number of queries.
 *
 * KV_WRITE modifies an input in place, for the next runs of the state. The input, or the
 * result of another KV_WRITE to it, is an additional argument::
 *
 *	KV_WRITE	B: what D is written over; C: what AUX0 is; AUX3: what AUX1 is
 *
 * These are dense views, such as a slice for each layer, and no two nodes may write to the
 * same elements. Nodes that read a result see the written rows; nodes that read the input
 * itself may or may not see them. The node runs even if its results are not used. The slots,
 * AUX2, are a value that each run reads, like page tables and lengths: if all of these are
 * inputs, a decoder's step can be run again unchanged.
 *
 * Return: 0; -EINVAL not a descriptor of an operation, an argument that is missing, repeated
 * or unknown; a value that does not exist, a result that does; -E2BIG as for plans; -ENOMEM.
 */
ACCEL_API int accel_graph_add(struct accel_graph *graph, const char *name,
			      const struct accel_desc *desc, struct accel_graph_arg *args,
			      uint32_t count);

/**
 * enum accel_shape_op - operations of graphs only: they change or compute shapes
 * @ACCEL_SHAPE_RESHAPE: D = A with the dimensions in B (S64): -1 for one that is inferred, 0
 *	for that of A unless ACCEL_SHAPE_ZERO
 * @ACCEL_SHAPE_FLATTEN: D = A as a matrix, whose columns are the dimensions from @axis on
 * @ACCEL_SHAPE_TRANSPOSE: D = A with its dimensions permuted to @order
 * @ACCEL_SHAPE_SQUEEZE: D = A without dimensions of 1: those in B, or all
 * @ACCEL_SHAPE_UNSQUEEZE: D = A with dimensions of 1 at the places in B
 * @ACCEL_SHAPE_EXPAND: D = A broadcast with the dimensions in B, in both directions
 * @ACCEL_SHAPE_SLICE: D = A from B to C, along dimensions AUX0 (default: the first ones),
 *	with steps AUX1 (default: 1); negative numbers count from the end
 * @ACCEL_SHAPE_PIECE: D = piece @index of @count equal pieces of A along @axis, the last one
 *	may be smaller; with B: pieces with the sizes in B, whose sum is that of A
 * @ACCEL_SHAPE_OF: D (S64) = dimensions @start to @end of A, negative from the end
 * @ACCEL_SHAPE_RANGE: D = A, A + C, A + 2 C, ... up to B, without it
 * @ACCEL_SHAPE_FILL: D = @value with the dimensions in A; its type is that of D
 * @ACCEL_SHAPE_TILE: D = A repeated along each dimension, with the numbers in B
 * @ACCEL_SHAPE_END: one past the last
 */
enum accel_shape_op {
	ACCEL_SHAPE_RESHAPE = 256,
	ACCEL_SHAPE_FLATTEN = 257,
	ACCEL_SHAPE_TRANSPOSE = 258,
	ACCEL_SHAPE_SQUEEZE = 259,
	ACCEL_SHAPE_UNSQUEEZE = 260,
	ACCEL_SHAPE_EXPAND = 261,
	ACCEL_SHAPE_SLICE = 262,
	ACCEL_SHAPE_PIECE = 263,
	ACCEL_SHAPE_OF = 264,
	ACCEL_SHAPE_RANGE = 265,
	ACCEL_SHAPE_FILL = 266,
	ACCEL_SHAPE_TILE = 267,
	ACCEL_SHAPE_END = 268
};

/** ACCEL_SHAPE_ZERO: RESHAPE: a dimension of 0 is empty */
#define ACCEL_SHAPE_ZERO	(1u << 0)

/**
 * struct accel_shape_desc - descriptor of &enum accel_shape_op
 */
struct accel_shape_desc {
	/** @hdr: size, &enum accel_shape_op, ACCEL_ENGINE_AUTO */
	struct accel_desc hdr;
	/** @flags: ACCEL_SHAPE_ZERO */
	uint32_t flags;
	/** @type: RANGE, FILL: type of D, 0: that of A, or F32 */
	uint32_t type;
	/** @axis: FLATTEN, PIECE; negative: from the end */
	int32_t axis;
	/** @index: PIECE */
	uint32_t index;
	/** @count: PIECE */
	uint32_t count;
	/** @pad: 0 */
	uint32_t pad;
	/** @start: OF */
	int64_t start;
	/** @end: OF: INT64_MAX for all */
	int64_t end;
	/** @order: TRANSPOSE: all 0: the reverse order */
	uint32_t order[ACCEL_GRAPH_MAX_RANK];
	/** @value: FILL */
	double value;
};

/** ACCEL_SHAPE_DESC_INIT: default descriptor */
#define ACCEL_SHAPE_DESC_INIT(op) \
	{ ACCEL_DESC_INIT(struct accel_shape_desc, op), 0, 0, 0, 0, 0, 0, 0, INT64_MAX, { 0 }, 0 }

/**
 * enum accel_dynamic_op - operations whose results have dimensions that depend on data
 * @ACCEL_DYNAMIC_IF: input 0 (bool) selects @body or @other; the next inputs are theirs
 * @ACCEL_DYNAMIC_LOOP: @body runs while input 1 (bool) is true, at most input 0 (S64) times.
 *	The next @carried inputs are initial values of carried values, further inputs are
 *	constant. Inputs of @body: the iteration (S64), the condition, carried values,
 *	further inputs. Its results: the next condition, carried values, and elements of
 *	lists, which are concatenated to a new first dimension of results
 * @ACCEL_DYNAMIC_NONZERO: S64 [rank of input 0, elements that are not 0]: their indices
 * @ACCEL_DYNAMIC_UNIQUE: unique slices of input 0 along @axis, or unique elements; then S64:
 *	the first index of each, for each slice of the input its index among them, their
 *	counts
 * @ACCEL_DYNAMIC_NMS: non-maximum suppression: S64 [boxes, 3]: batch, class and index of the
 *	selected boxes of input 0 [batch, n, 4] with scores in input 1 [batch, classes, n].
 *	Inputs 2 to 4: largest number of boxes of a class (S64), threshold of the overlap,
 *	lowest score
 */
enum accel_dynamic_op {
	ACCEL_DYNAMIC_IF = 512,
	ACCEL_DYNAMIC_LOOP = 513,
	ACCEL_DYNAMIC_NONZERO = 514,
	ACCEL_DYNAMIC_UNIQUE = 515,
	ACCEL_DYNAMIC_NMS = 516
};

/** ACCEL_DYNAMIC_SORTED: UNIQUE: in ascending order */
#define ACCEL_DYNAMIC_SORTED	(1u << 0)
/** ACCEL_DYNAMIC_AXIS: UNIQUE: along @axis */
#define ACCEL_DYNAMIC_AXIS	(1u << 1)
/** ACCEL_DYNAMIC_CENTRE: NMS: boxes are given by centre and size, not by two corners */
#define ACCEL_DYNAMIC_CENTRE	(1u << 2)

/**
 * struct accel_dynamic_desc - descriptor of &enum accel_dynamic_op
 */
struct accel_dynamic_desc {
	/** @size: sizeof(struct accel_dynamic_desc) */
	uint32_t size;
	/** @op: &enum accel_dynamic_op */
	uint32_t op;
	/** @body: IF, LOOP: graph; owned by the outer graph afterwards, even if the call fails */
	struct accel_graph *body;
	/** @other: IF: graph for the other case, the same */
	struct accel_graph *other;
	/** @carried: LOOP: number of carried values */
	uint32_t carried;
	/** @flags: ACCEL_DYNAMIC_* */
	uint32_t flags;
	/** @axis: UNIQUE: dimension */
	int32_t axis;
	/** @pad: 0 */
	uint32_t pad;
};

/** ACCEL_DYNAMIC_DESC_INIT: default descriptor */
#define ACCEL_DYNAMIC_DESC_INIT(op) \
	{ sizeof(struct accel_dynamic_desc), op, NULL, NULL, 0, 0, 0, 0 }

/**
 * accel_graph_dynamic - add a node whose results have dimensions that depend on data
 * @graph: graph
 * @name: name for people, or NULL
 * @desc: description of the node
 * @in: input values
 * @in_count: their number
 * @out: out: its results
 * @out_count: their number
 *
 * Nodes that depend on it are planned after it has run, once for the same dimensions.
 *
 * Return: 0; -EINVAL operation, values, or graphs with wrong numbers of inputs and results;
 * the error of an invalid graph; -ENOMEM.
 */
ACCEL_API int accel_graph_dynamic(struct accel_graph *graph, const char *name,
				  const struct accel_dynamic_desc *desc, const uint32_t *in,
				  uint32_t in_count, uint32_t *out, uint32_t out_count);

/**
 * accel_graph_output - make a value a result of the graph
 * @graph: graph
 * @name: name, or NULL for the name of the value
 * @value: value
 *
 * Return: 0; -EINVAL no such value; -ENOMEM.
 */
ACCEL_API int accel_graph_output(struct accel_graph *graph, const char *name, uint32_t value);

/**
 * enum accel_pass - transformations of a graph when it is compiled
 * @ACCEL_PASS_CSE: common subexpressions become one node
 * @ACCEL_PASS_PACK: constant weights are packed
 * @ACCEL_PASS_WINOGRAD: convolutions may use Winograd's algorithms
 * @ACCEL_PASS_EPILOGUE: bias, residual and activation are fused into the preceding product
 * @ACCEL_PASS_LAYOUT: convolutions and operations between them use channels-last layout
 * @ACCEL_PASS_IDIOM: activations and norms that consist of several nodes become one
 * @ACCEL_PASS_ATTENTION: two products with a softmax in between become an attention
 * @ACCEL_PASS_BATCHNORM: batch norms are folded into convolutions, or become products and
 *	sums
 * @ACCEL_PASS_COPY: results are written directly to the destination of a copy
 * @ACCEL_PASS_QDQ: operations between dequantising and quantising copies use the quantised
 *	tensors
 * @ACCEL_PASS_JOIN: products of one left matrix with several constants become one
 * @ACCEL_PASS_CONCAT: inputs of a concatenation are written directly into its result
 * @ACCEL_PASS_TRANSPOSED: transposed convolutions become ordinary ones, for which there are
 *	kernels
 * @ACCEL_PASS_COUNT: number of values
 *
 * Shapes are always computed, constants folded, and unused nodes removed. Without
 * ACCEL_PASS_PACK weights of files (ACCEL_VALUE_MAPPED, 64 KiB and more) also keep their
 * type: if another one is needed, they are converted in each run.
 */
enum accel_pass {
	ACCEL_PASS_CSE = 0,
	ACCEL_PASS_PACK = 1,
	ACCEL_PASS_WINOGRAD = 2,
	ACCEL_PASS_EPILOGUE = 3,
	ACCEL_PASS_LAYOUT = 4,
	ACCEL_PASS_IDIOM = 5,
	ACCEL_PASS_ATTENTION = 6,
	ACCEL_PASS_BATCHNORM = 7,
	ACCEL_PASS_COPY = 8,
	ACCEL_PASS_QDQ = 9,
	ACCEL_PASS_JOIN = 10,
	ACCEL_PASS_CONCAT = 11,
	ACCEL_PASS_TRANSPOSED = 12,
	ACCEL_PASS_COUNT = 13
};

/**
 * ACCEL_COMPILE_NO_REPACK: for &accel_compile_opts.off: weights are used in place, without
 * packed copies, to save memory
 */
#define ACCEL_COMPILE_NO_REPACK	(1u << ACCEL_PASS_PACK | 1u << ACCEL_PASS_JOIN)

/**
 * accel_pass_name - name of a pass: "cse", "pack"
 * @pass: &enum accel_pass
 *
 * Return: static string, NULL for a value out of range.
 */
ACCEL_API const char *accel_pass_name(uint32_t pass);

/**
 * enum accel_precision - precision of products and convolutions of fp32 tensors
 * @ACCEL_PRECISION_KEEP: fp32
 * @ACCEL_PRECISION_BF16: operands in bf16, sums in fp32; values used by such operations only
 *	are bf16, too
 * @ACCEL_PRECISION_F16: the same with fp16; products with operands beyond 65504, or that are
 *	not finite, are repeated in fp32, and remain fp32 in this program. Not in programs
 *	loaded from a file: there such numbers become infinite
 * @ACCEL_PRECISION_COUNT: number of values
 *
 * Operations for which no engine supports this do not change.
 */
enum accel_precision {
	ACCEL_PRECISION_KEEP = 0,
	ACCEL_PRECISION_BF16 = 1,
	ACCEL_PRECISION_F16 = 2,
	ACCEL_PRECISION_COUNT = 3
};

/**
 * struct accel_compile_opts - options of accel_graph_compile()
 */
struct accel_compile_opts {
	/** @size: sizeof(struct accel_compile_opts) */
	uint32_t size;
	/** @level: 0: nodes are not changed, the reference; 1: lossless passes; 2, 3: all passes */
	uint32_t level;
	/** @off: mask of 1 << &enum accel_pass to disable */
	uint32_t off;
	/** @engine: &enum accel_engine for all operations; AUTO: each plan chooses */
	uint32_t engine;
	/** @cache: number of specialisations for values of symbols that are kept, 0: 8 */
	uint32_t cache;
	/** @precision: &enum accel_precision of products and convolutions */
	uint32_t precision;
	/**
	 * @progress: called before weights of a node are packed, and at the end, with the bytes
	 * that are done and the total, also in runs that plan for new values of symbols; or NULL.
	 * It must not use the program; another result than 0 ends the call with -ECANCELED
	 */
	int (*progress)(void *user, uint64_t done, uint64_t all);
	/** @user: argument of @progress */
	void *user;
};

/** ACCEL_COMPILE_OPTS_INIT: default options: all passes */
#define ACCEL_COMPILE_OPTS_INIT	{ sizeof(struct accel_compile_opts), 3, 0, 0, 0, 0, NULL, NULL }

/**
 * accel_graph_compile - compile a graph to a program
 * @ctx: context
 * @graph: graph
 * @opts: options, or NULL
 * @program: out
 *
 * Without symbols everything is planned here. With symbols it is planned when a run first
 * uses their values, and kept.
 *
 * Return: 0; -EINVAL, -E2BIG options, or an invalid operation; -EOPNOTSUPP; -ENOMEM; -ECANCELED;
 * errors of plans. The context's error record names the node.
 */
ACCEL_API int accel_graph_compile(struct accel_ctx *ctx, struct accel_graph *graph,
				  const struct accel_compile_opts *opts,
				  struct accel_program **program);

/**
 * accel_program_ref - take another reference
 * @program: program
 *
 * Return: @program.
 */
ACCEL_API struct accel_program *accel_program_ref(struct accel_program *program);

/**
 * accel_program_unref - drop a reference
 * @program: program, or NULL
 */
ACCEL_API void accel_program_unref(struct accel_program *program);

/** ACCEL_PROGRAM_MAGIC: the first eight bytes of files of accel_program_save() */
#define ACCEL_PROGRAM_MAGIC	"\xa5LGPGRAM"

/** ACCEL_PROGRAM_SEEN: only for values of symbols that were used, without the graph */
#define ACCEL_PROGRAM_SEEN	(1u << 0)

/**
 * accel_program_save - write a program to a file
 * @program: program
 * @path: file; replaced atomically, so that mappings of the old file remain valid
 * @flags: ACCEL_PROGRAM_*
 *
 * The file has the plans for the values of symbols that were used, packed weights, and all
 * constants that are still needed; without ACCEL_PROGRAM_SEEN also the graph and all of its
 * constants, for other values. It is self-contained.
 *
 * Return: 0; -EINVAL; -E2BIG; -EBADMSG constants of a file that the program was loaded from
 * are damaged; -EEXIST @path exists and is not a regular file; errors of writing; -ENOMEM.
 */
ACCEL_API int accel_program_save(struct accel_program *program, const char *path,
				 uint32_t flags);

/**
 * accel_program_load - load a program from a file
 * @ctx: context
 * @path: file of accel_program_save(); must not be changed in place as long as the program
 *	exists
 * @opts: options that it must have been compiled with, or NULL: any; @cache applies to the
 *	loaded program, @progress has no effect
 * @program: out
 *
 * The file is mapped: constants and packed weights are used in place, shared with other
 * processes, and the checksums of those in use are verified. No pass runs and nothing is
 * packed, but plans are created.
 *
 * Return: 0; errors of opening; -ESTALE created by another version of the library, on another
 * chip, for another instruction set or with other options, with the field that differs in the
 * error record; -EBADMSG not such a file, truncated or damaged; -ENOMEM; errors of plans.
 */
ACCEL_API int accel_program_load(struct accel_ctx *ctx, const char *path,
				 const struct accel_compile_opts *opts,
				 struct accel_program **program);

/**
 * accel_program_get_input - describe an input of a program
 * @program: program
 * @index: from 0 on, in the order of accel_graph_input()
 * @value: out; dimensions may be symbols
 *
 * Return: 0; -ENOENT no such input; -EINVAL size.
 */
ACCEL_API int accel_program_get_input(struct accel_program *program, uint32_t index,
				      struct accel_value *value);

/**
 * accel_program_get_symbol - name and bounds of a symbol
 * @program: program
 * @dim: negative dimension
 * @min: out, may be NULL
 * @max: out, may be NULL
 *
 * Return: name, NULL if there is none.
 */
ACCEL_API const char *accel_program_get_symbol(struct accel_program *program, int64_t dim,
					       int64_t *min, int64_t *max);

/**
 * accel_state_create - create a state, the memory for runs of a program
 * @program: program
 * @state: out
 *
 * Return: 0; -ENOMEM; -ENODEV.
 */
ACCEL_API int accel_state_create(struct accel_program *program, struct accel_state **state);

/**
 * accel_state_destroy - release a state
 * @state: state, or NULL
 */
ACCEL_API void accel_state_destroy(struct accel_state *state);

/**
 * accel_state_set_input - set dimensions and buffer of an input
 * @state: state
 * @index: input
 * @rank: number of dimensions
 * @dims: sizes
 * @bo: buffer of the program's context; NULL: one of the state's own, see
 *	accel_state_get_input()
 * @offset: bytes to element (0, 0, ...)
 *
 * Applies to all following runs until it is changed. Dimensions must match those that are
 * numbers in the graph.
 *
 * Return: 0; -ENOENT no such input; -EINVAL dimensions, offset; -ENOMEM.
 */
ACCEL_API int accel_state_set_input(struct accel_state *state, uint32_t index, uint32_t rank,
				    const int64_t *dims, struct accel_bo *bo, uint64_t offset);

/**
 * accel_state_get_input - get the address at which the CPU writes an input
 * @state: state
 * @index: input
 * @bytes: out: its size in bytes, may be NULL
 *
 * An input whose dimensions are all numbers need not be set before.
 *
 * Return: address; NULL: no such input, not set, no memory, or not accessible to the CPU.
 */
ACCEL_API void *accel_state_get_input(struct accel_state *state, uint32_t index,
				      uint64_t *bytes);

/**
 * accel_state_run - run and wait
 * @state: state whose inputs are set
 *
 * The second run for the same dimensions and buffers plans nothing and allocates the fences of
 * its jobs alone.
 *
 * Return: 0; -EINVAL an input is not set, or a symbol has two values or one out of bounds;
 * errors of compiling and of fences.
 */
ACCEL_API int accel_state_run(struct accel_state *state);

/**
 * accel_state_get_output - get a result of the last run
 * @state: state
 * @index: from 0 on, in the order of accel_graph_output()
 * @value: out: its type and dimensions
 * @data: out: its elements, dense; valid until the state is released or runs again
 *
 * Return: 0; -ENOENT no such output; -EAGAIN the state has not run; -EINVAL size.
 */
ACCEL_API int accel_state_get_output(struct accel_state *state, uint32_t index,
				     struct accel_value *value, const void **data);

/**
 * enum accel_text_format - formats of accel_state_explain()
 * @ACCEL_TEXT_PLAIN: for people
 * @ACCEL_TEXT_JSON: a JSON document
 * @ACCEL_TEXT_DOT: a graph for Graphviz
 */
enum accel_text_format {
	ACCEL_TEXT_PLAIN = 0,
	ACCEL_TEXT_JSON = 1,
	ACCEL_TEXT_DOT = 2
};

/**
 * typedef accel_text_fn - receives text in pieces
 * @user: pointer given with it
 * @text: text, valid during the call
 * @bytes: its length
 *
 * Return: 0 to go on, anything else to stop.
 */
typedef int accel_text_fn(void *user, const char *text, uint64_t bytes);

/**
 * accel_state_explain - explain how the graph is run for the dimensions of the inputs
 * @state: state whose inputs are set
 * @format: &enum accel_text_format
 * @fn: receives the text
 * @user: passed on
 *
 * For each node: its origin and the passes that created it, engine, algorithm, values,
 * multiply-adds, bytes, modelled time; in JSON numbers of nodes and multiply-adds of each
 * &enum accel_code; memory of the state and its lower bound.
 *
 * Return: 0, what @fn returned, or as accel_state_run().
 */
ACCEL_API int accel_state_explain(struct accel_state *state, uint32_t format,
				  accel_text_fn *fn, void *user);

/**
 * struct accel_program_info - description of a program for the dimensions of a state
 */
struct accel_program_info {
	/** @size: sizeof(struct accel_program_info) */
	uint32_t size;
	/** @node_count: number of operations on engines */
	uint32_t node_count;
	/** @host_count: number of operations on the CPU */
	uint32_t host_count;
	/**
	 * @fallback_count: number of products that remain fp32 because of values that fp16
	 * does not have
	 */
	uint32_t fallback_count;
	/** @macs: multiply-adds */
	uint64_t macs;
	/** @arena_bytes: memory for intermediate values, of each state */
	uint64_t arena_bytes;
	/** @arena_bound: lower bound of @arena_bytes */
	uint64_t arena_bound;
	/** @constant_bytes: constants that plans read in place */
	uint64_t constant_bytes;
	/** @packed_bytes: packed constants */
	uint64_t packed_bytes;
	/** @workspace_bytes: the largest workspace of an operation */
	uint64_t workspace_bytes;
};

/**
 * accel_state_get_info - describe the program for the dimensions of the inputs
 * @state: state whose inputs are set
 * @info: out
 *
 * Return: 0; -EINVAL size; or as accel_state_run().
 */
ACCEL_API int accel_state_get_info(struct accel_state *state, struct accel_program_info *info);

/**
 * enum accel_code - code that runs a node
 * @ACCEL_CODE_TUNED: an engine; in process, kernels for this processor
 * @ACCEL_CODE_REFERENCE: in process, the reference code, at least in part
 * @ACCEL_CODE_HOST: the CPU, as no engine supports it
 * @ACCEL_CODE_COUNT: number of values
 */
enum accel_code {
	ACCEL_CODE_TUNED = 0,
	ACCEL_CODE_REFERENCE = 1,
	ACCEL_CODE_HOST = 2,
	ACCEL_CODE_COUNT = 3
};

/**
 * struct accel_node_profile - time of a node
 */
struct accel_node_profile {
	/** @size: sizeof(struct accel_node_profile) */
	uint32_t size;
	/** @index: index of the node in the order of execution */
	uint32_t index;
	/** @op: &enum accel_op, &enum accel_shape_op, &enum accel_dynamic_op, ACCEL_OP_ADDED */
	uint32_t op;
	/** @engine: &enum accel_engine; ACCEL_ENGINE_AUTO: the CPU */
	uint32_t engine;
	/** @name: name in the graph */
	const char *name;
	/** @ns: median time, from submission to the end */
	uint64_t ns;
	/** @macs: multiply-adds, or elements */
	uint64_t macs;
	/** @bytes: bytes read and written */
	uint64_t bytes;
	/** @code: &enum accel_code */
	uint32_t code;
	/** @pad: 0 */
	uint32_t pad;
	/** @operation: name of the operation; for user-defined operators with the domain */
	const char *operation;
};

/**
 * typedef accel_node_profile_fn - receives the times of nodes
 * @user: pointer given with it
 * @node: valid during the call
 *
 * Return: 0 to go on, anything else to stop.
 */
typedef int accel_node_profile_fn(void *user, const struct accel_node_profile *node);

/**
 * accel_state_profile - run node by node and measure times
 * @state: state whose inputs are set
 * @repeat: number of runs of each node, 0: 1
 * @fn: called for each node that has something to do
 * @user: passed on
 *
 * Results are the same as of accel_state_run().
 *
 * Return: 0, what @fn returned, or as accel_state_run().
 */
ACCEL_API int accel_state_profile(struct accel_state *state, uint32_t repeat,
				  accel_node_profile_fn *fn, void *user);

#if defined(__cplusplus)
}
#endif

#endif /* ACCEL_GRAPH_H */

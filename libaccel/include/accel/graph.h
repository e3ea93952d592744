/* SPDX-License-Identifier: MIT */
/*
 * Graphs: operations that feed each other, compiled and run as a whole. It is one header, as
 * it is one page of the manual.
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
 * A graph has values and nodes. A value has a type, dimensions that are numbers or
 * symbols, and perhaps constant data. A node is an operation's descriptor, with
 * values in the places of its tensors. A graph knows no device; compiled for a
 * context it becomes a program, and a state of that holds the memory of one run.
 *
 * Threads: a graph is built by one thread at a time and is not changed once it was
 * compiled. Programs may be shared by all threads, a state is one thread's at a time.
 */

struct accel_graph;
struct accel_program;
struct accel_state;

/** ACCEL_GRAPH_MAX_RANK: largest number of dimensions of a value */
#define ACCEL_GRAPH_MAX_RANK	8

/** ACCEL_VALUE_NEW: in the place of a value: the call makes it */
#define ACCEL_VALUE_NEW		UINT32_MAX

/**
 * enum accel_host_type - types that no engine has, beside those of &enum accel_dtype
 * @ACCEL_HOST_S64: signed, 64 bit
 * @ACCEL_HOST_U64: unsigned, 64 bit
 * @ACCEL_HOST_U32: unsigned, 32 bit
 * @ACCEL_HOST_S16: signed, 16 bit
 * @ACCEL_HOST_U16: unsigned, 16 bit
 * @ACCEL_HOST_F64: IEEE 754 binary64
 * @ACCEL_HOST_BOOL: a byte, 0 or 1; engines take it for ACCEL_U8
 * @ACCEL_HOST_TYPE_END: one past the last
 *
 * Operations on them are done by the CPU; so are those that make shapes.
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
 * accel_type_bits - bits of an element of such a type
 * @type: type
 *
 * Return: bits, 0 for a value out of range.
 */
ACCEL_API uint32_t accel_type_bits(uint32_t type);

/**
 * accel_graph_create - an empty graph
 * @graph: out
 *
 * Return: 0; -ENOMEM.
 */
ACCEL_API int accel_graph_create(struct accel_graph **graph);

/**
 * accel_graph_destroy - give up a graph
 * @graph: graph, or NULL
 *
 * Its programs keep what they need of it.
 */
ACCEL_API void accel_graph_destroy(struct accel_graph *graph);

/**
 * accel_graph_get_error - what the last failed call on this graph found
 * @graph: graph
 * @error: out
 *
 * Return: 0; -EINVAL size.
 */
ACCEL_API int accel_graph_get_error(struct accel_graph *graph, struct accel_error *error);

/**
 * accel_graph_symbol - a dimension that has a name
 * @graph: graph
 * @name: name; two dimensions of the same name are equal
 * @min: smallest number that it stands for
 * @max: largest
 * @dim: out: a negative number, to be used as a dimension of inputs
 *
 * Return: 0, also for a name that is known, whose bounds become the narrower
 * ones; -EINVAL bounds; -ENOMEM.
 */
ACCEL_API int accel_graph_symbol(struct accel_graph *graph, const char *name, int64_t min,
				 int64_t max, int64_t *dim);

/**
 * ACCEL_VALUE_MAPPED: of a constant: its data is a private mapping of a file, in which
 * nothing was changed: pages that were read and are not needed go back to the system
 */
#define ACCEL_VALUE_MAPPED	(1u << 0)

/**
 * struct accel_value - what a value is
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
	/** @dims: elements, outermost first; negative: accel_graph_symbol() */
	int64_t dims[ACCEL_GRAPH_MAX_RANK];
	/** @name: name, or NULL; of an answer: valid as long as what was asked */
	const char *name;
};

/** ACCEL_VALUE_INIT: a value to be filled in */
#define ACCEL_VALUE_INIT	{ sizeof(struct accel_value), 0, 0, 0, { 0 }, NULL }

/**
 * accel_graph_input - a value that is given when the graph runs
 * @graph: graph
 * @desc: what it is
 * @value: out: its number
 *
 * Return: 0; -EINVAL type, rank, a dimension; -EOVERFLOW; -ENOMEM.
 */
ACCEL_API int accel_graph_input(struct accel_graph *graph, const struct accel_value *desc,
				uint32_t *value);

/**
 * accel_graph_constant - a value that never changes
 * @graph: graph
 * @desc: what it is; no symbols
 * @data: dense, little-endian, any alignment; of types of blocks whole blocks, along the last
 *	dimension; it is used where it lies, until @release is called
 * @release: called with @user when nobody needs it any more, or NULL
 * @user: passed on
 * @value: out: its number
 *
 * Return: 0; -EINVAL type, rank, a dimension; -EOVERFLOW; -ENOMEM. @release is
 * not called when this fails.
 */
ACCEL_API int accel_graph_constant(struct accel_graph *graph, const struct accel_value *desc,
				   const void *data, void (*release)(void *user), void *user,
				   uint32_t *value);

/**
 * accel_graph_constant_file - in which file a constant's data lies
 * @graph: graph
 * @value: number of a constant with ACCEL_VALUE_MAPPED
 * @stamp: accel_file_stamp() of the file, after it was mapped
 * @offset: first byte of the data in the file
 *
 * Packed weights are found by what they were made of. Where the context has a weights_dir, the
 * digest of the data is remembered there by @stamp: until the system is booted again, later
 * starts do not read the data for it while the file does not change.
 *
 * Return: 0; -EINVAL @value is no such constant, @stamp is NULL.
 */
ACCEL_API int accel_graph_constant_file(struct accel_graph *graph, uint32_t value,
					const struct accel_file_stamp *stamp, uint64_t offset);

/**
 * accel_graph_get_value - what a value is
 * @graph: graph
 * @value: value
 * @out: out: type, rank and dimensions. Symbols stand for numbers within their bounds,
 *	64 or more where these allow it: a dimension is an example, type and rank are not
 *
 * Return: 0; -EINVAL no such value, size; the error of the node that does not fit, which
 * the graph's record names; -ENOMEM.
 */
ACCEL_API int accel_graph_get_value(struct accel_graph *graph, uint32_t value,
				    struct accel_value *out);

/**
 * accel_graph_varies - does a dimension depend on what symbols stand for?
 * @graph: graph
 * @value: value
 * @dim: dimension, from 0
 *
 * It is found by trying other numbers for all symbols; where no others fit, the answer is
 * that it does.
 *
 * Return: 1 if it does, 0 if not; otherwise as accel_graph_get_value().
 */
ACCEL_API int accel_graph_varies(struct accel_graph *graph, uint32_t value, uint32_t dim);

/**
 * struct accel_graph_arg - a value in the place of a tensor
 */
struct accel_graph_arg {
	/** @arg: &enum accel_arg; with ACCEL_ARG_SCALES, ACCEL_ARG_ZEROS its tables */
	uint32_t arg;
	/** @value: value; of a result ACCEL_VALUE_NEW, which becomes its number */
	uint32_t value;
};

/**
 * accel_graph_set_source - say what nodes are made for
 * @graph: graph
 * @text: such as the operator of a file, or NULL: nothing
 *
 * Nodes that are added from now on have it, with a name or without; @text is copied. Errors of a
 * node, while a graph is compiled and when it runs, say it in the place of the operation's name,
 * which nobody knows who has the file alone. Programs in files keep it.
 *
 * Return: 0, or an error that the graph has.
 */
ACCEL_API int accel_graph_set_source(struct accel_graph *graph, const char *text);

/**
 * accel_graph_add - a node
 * @graph: graph
 * @name: name for people, or NULL
 * @desc: the first field of a descriptor. Its tensors are all zero, but those of
 *	results may have a type, where the operation allows more than one, and any may
 *	have a quantisation, whose tables are values: zero points constant ones
 * @args: a value for each tensor that there is, results included
 * @count: number of @args
 *
 * Dimensions of results follow when the graph is compiled. Numbers of some descriptors
 * may be values too, whose contents have to be known then (lists are S64)::
 *
 *	PAD	B: elements before, then behind, for each dimension in AUX0, or for all;
 *		those below 0 are cut off. C: the constant
 *	RESIZE	B: dimensions of D, C: scales (F32), or both, of the dimensions in AUX0, or all
 *	TOPK	B: how many
 *	REDUCE	B: dimensions
 *	SCAN	B: the dimension
 *
 * An attention of ragged sequences whose q_max is 0 takes any queries that Q has.
 *
 * KV_WRITE changes what an input has, so that it is there when the state runs again. The
 * input, or what another KV_WRITE made of it, is a value beside the descriptor's::
 *
 *	KV_WRITE	B: what D is written over; C: what AUX0 is; AUX3: what AUX1 is
 *
 * These are dense views, such as a slice for each layer, and no two nodes write over the same
 * elements. Who reads a result finds the rows that were written; who reads the input itself
 * finds them or not. The node runs also if nobody reads its results. Where rows go is in AUX2,
 * like page tables and lengths a value that each run reads: with slots, tables and lengths as
 * inputs a decoder's step is run again as it is.
 *
 * Return: 0; -EINVAL a descriptor of no operation, an argument that it does not
 * have, twice or unknown; a value that does not exist, a result that does; -E2BIG
 * as for plans; -ENOMEM.
 */
ACCEL_API int accel_graph_add(struct accel_graph *graph, const char *name,
			      const struct accel_desc *desc, struct accel_graph_arg *args,
			      uint32_t count);

/**
 * enum accel_shape_op - operations that only graphs have: they move no element, or
 * make shapes
 * @ACCEL_SHAPE_RESHAPE: D = A with the dimensions in B (S64): -1 for one that follows,
 *	0 for that of A unless ACCEL_SHAPE_ZERO
 * @ACCEL_SHAPE_FLATTEN: D = A as a matrix, whose columns are dimensions from @axis on
 * @ACCEL_SHAPE_TRANSPOSE: D = A, its dimensions in the order of @order
 * @ACCEL_SHAPE_SQUEEZE: D = A without dimensions of 1: those in B, or all
 * @ACCEL_SHAPE_UNSQUEEZE: D = A with dimensions of 1 at the places in B
 * @ACCEL_SHAPE_EXPAND: D = A repeated to the dimensions in B, broadcast both ways
 * @ACCEL_SHAPE_SLICE: D = A from B to C, of dimensions AUX0 (else the first), with
 *	steps AUX1 (else 1); negative numbers count from the end
 * @ACCEL_SHAPE_PIECE: D = piece @index of @count equal pieces of dimension @axis of
 *	A, the last one smaller; with B: whose sizes are there, which are A's together
 * @ACCEL_SHAPE_OF: D (S64) = dimensions @start to @end of A, negative from the end
 * @ACCEL_SHAPE_RANGE: D = A, A + C, A + 2 C, ... up to B, without it
 * @ACCEL_SHAPE_FILL: D = @value with the dimensions in A; its type is that of D
 * @ACCEL_SHAPE_TILE: D = A one after the other, as often as B says along each dimension
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

/** ACCEL_SHAPE_ZERO: RESHAPE: a dimension of 0 is one of no elements */
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
 * enum accel_dynamic_op - what has results whose dimensions only running tells
 * @ACCEL_DYNAMIC_IF: input 0 (bool) chooses @body, or @other, whose inputs follow it
 * @ACCEL_DYNAMIC_LOOP: @body runs while input 1 (bool) holds, at most input 0 (S64) times.
 *	@carried inputs are what it begins with, the rest stay. @body takes the iteration
 *	(S64), the condition, what is carried and the rest; it gives the next condition, what
 *	is carried, and elements of lists, which become a new first dimension of results
 * @ACCEL_DYNAMIC_NONZERO: S64 [dimensions of input 0, elements that are not 0]: where these are
 * @ACCEL_DYNAMIC_UNIQUE: slices of input 0 along @axis, or its elements, once each; then S64:
 *	where each is first, which of them each was, how often it occurs
 * @ACCEL_DYNAMIC_NMS: S64 [boxes, 3]: of boxes in input 0 [batch, n, 4] with scores in
 *	input 1 [batch, classes, n], those that no better one covers: batch, class, box.
 *	Inputs 2 to 4: most of a class (S64), share that counts as covered, lowest score
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
/** ACCEL_DYNAMIC_CENTRE: NMS: boxes are centre and size, not two corners */
#define ACCEL_DYNAMIC_CENTRE	(1u << 2)

/**
 * struct accel_dynamic_desc - a node of that kind
 */
struct accel_dynamic_desc {
	/** @size: sizeof(struct accel_dynamic_desc) */
	uint32_t size;
	/** @op: &enum accel_dynamic_op */
	uint32_t op;
	/** @body: IF, LOOP: graph; it is this graph's from then on, also when the call fails */
	struct accel_graph *body;
	/** @other: IF: likewise */
	struct accel_graph *other;
	/** @carried: LOOP: values that go from one iteration to the next */
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
 * accel_graph_dynamic - a node whose results have dimensions that only running tells
 * @graph: graph
 * @name: name for people, or NULL
 * @desc: what it is
 * @in: values that it reads
 * @in_count: their number
 * @out: out: its results
 * @out_count: their number
 *
 * What comes behind it is planned when it has run, once for the same dimensions.
 *
 * Return: 0; -EINVAL operation, values, or graphs whose inputs and results are not as many;
 * the error of a graph that does not fit; -ENOMEM.
 */
ACCEL_API int accel_graph_dynamic(struct accel_graph *graph, const char *name,
				  const struct accel_dynamic_desc *desc, const uint32_t *in,
				  uint32_t in_count, uint32_t *out, uint32_t out_count);

/**
 * accel_graph_output - make a value a result of the graph
 * @graph: graph
 * @name: name, or NULL for the value's own
 * @value: value
 *
 * Return: 0; -EINVAL no such value; -ENOMEM.
 */
ACCEL_API int accel_graph_output(struct accel_graph *graph, const char *name, uint32_t value);

/**
 * enum accel_pass - what is done to a graph when it is compiled
 * @ACCEL_PASS_CSE: nodes that compute the same become one
 * @ACCEL_PASS_PACK: constant weights are rearranged once
 * @ACCEL_PASS_WINOGRAD: convolutions may take Winograd's algorithms
 * @ACCEL_PASS_EPILOGUE: bias, residual and activation become part of the product before
 * @ACCEL_PASS_LAYOUT: convolutions and what lies between them write channels last
 * @ACCEL_PASS_IDIOM: activations and norms that were taken apart become one node
 * @ACCEL_PASS_ATTENTION: two products with a softmax between them become attention
 * @ACCEL_PASS_BATCHNORM: batch norms become part of convolutions, or products and sums
 * @ACCEL_PASS_COPY: results are written where a copy would put them
 * @ACCEL_PASS_QDQ: operations between copies that read and write bytes take the bytes
 * @ACCEL_PASS_JOIN: products of one left matrix by several constants become one
 * @ACCEL_PASS_COUNT: number of values
 *
 * Shapes are always computed, constants folded and nodes that nobody needs dropped. Without
 * ACCEL_PASS_PACK weights of files (ACCEL_VALUE_MAPPED, 64 KiB and more) keep their type, too: what
 * has to have another one is copied each time.
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
	ACCEL_PASS_COUNT = 11
};

/**
 * ACCEL_COMPILE_NO_REPACK: for &accel_compile_opts.off: no copies of weights for speed, which are
 * used as they lie. Where weights of several threads, programs or files have to fit in memory
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
 * enum accel_precision - what products and convolutions of fp32 numbers are computed in
 * @ACCEL_PRECISION_KEEP: fp32
 * @ACCEL_PRECISION_BF16: operands in bf16, sums in fp32; what nobody else reads is bf16 too
 * @ACCEL_PRECISION_F16: operands in fp16, likewise; products with operands beyond 65504, or that
 *	are not finite, are done again in fp32, and stay so in this program. Those of a file that
 *	was loaded do not: there such numbers become infinite
 * @ACCEL_PRECISION_COUNT: number of values
 *
 * Where no engine does that, they stay as they are.
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
	/** @level: 0: each node as it is, the reference; 1: without loss; 2, 3: all passes */
	uint32_t level;
	/** @off: mask of 1 << &enum accel_pass that are not to be done */
	uint32_t off;
	/** @engine: &enum accel_engine for all operations; AUTO: each plan chooses */
	uint32_t engine;
	/** @cache: forms for different symbols that are kept, 0: 8 */
	uint32_t cache;
	/** @precision: &enum accel_precision of products and convolutions */
	uint32_t precision;
};

/** ACCEL_COMPILE_OPTS_INIT: default options: all passes */
#define ACCEL_COMPILE_OPTS_INIT	{ sizeof(struct accel_compile_opts), 3, 0, 0, 0, 0 }

/**
 * accel_graph_compile - make a program of a graph
 * @ctx: context
 * @graph: graph
 * @opts: options, or NULL
 * @program: out
 *
 * Without symbols everything is decided here. With them it is decided for the
 * numbers that they stand for when these are first seen, and kept.
 *
 * Return: 0; -EINVAL, -E2BIG options, or an operation that cannot be; -EOPNOTSUPP;
 * -ENOMEM; what plans return. The context's record names the node.
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

/** ACCEL_PROGRAM_SEEN: only for numbers of symbols that were seen, without the graph */
#define ACCEL_PROGRAM_SEEN	(1u << 0)

/**
 * accel_program_save - write a program to a file
 * @program: program
 * @path: file; it is replaced as a whole, so that who has mapped the old one keeps that
 * @flags: ACCEL_PROGRAM_*
 *
 * The file has what was decided for the numbers that symbols have stood for, packed weights
 * and all constants that are still needed; without ACCEL_PROGRAM_SEEN also the graph and
 * all of its constants, for other numbers. Nothing outside of it is needed.
 *
 * Return: 0; -EINVAL; -E2BIG; -EBADMSG constants of a file that the program was loaded from
 * are damaged; -EEXIST what is there is no file; errors of writing; -ENOMEM.
 */
ACCEL_API int accel_program_save(struct accel_program *program, const char *path,
				 uint32_t flags);

/**
 * accel_program_load - a program of a file
 * @ctx: context
 * @path: file of accel_program_save(); it must not be changed in place as long as the
 *	program is there
 * @opts: options that it has to have been compiled with, or NULL: any; of these @cache
 *	counts for the program
 * @program: out
 *
 * The file is mapped: constants and packed weights are used where they lie, shared by the
 * processes that have it, and checksums of what is used are computed. No pass runs and
 * nothing is packed; plans are made.
 *
 * Return: 0; errors of opening; -ESTALE made by another version of the library, on another
 * chip, for another level of kernels or with other options: the error record's field names
 * what differs; -EBADMSG not such a file, cut or damaged; -ENOMEM; what plans return.
 */
ACCEL_API int accel_program_load(struct accel_ctx *ctx, const char *path,
				 const struct accel_compile_opts *opts,
				 struct accel_program **program);

/**
 * accel_program_get_input - what an input of a program is
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
 * accel_state_create - memory for runs of a program
 * @program: program
 * @state: out
 *
 * Return: 0; -ENOMEM; -ENODEV.
 */
ACCEL_API int accel_state_create(struct accel_program *program, struct accel_state **state);

/**
 * accel_state_destroy - give it up
 * @state: state, or NULL
 */
ACCEL_API void accel_state_destroy(struct accel_state *state);

/**
 * accel_state_set_input - dimensions of an input, and where it is
 * @state: state
 * @index: input
 * @rank: number of dimensions
 * @dims: numbers
 * @bo: buffer of the program's context; NULL: one of the state's own, see
 *	accel_state_get_input()
 * @offset: bytes to element (0, 0, ...)
 *
 * Stays until it is said again. Dimensions that are numbers in the graph must be
 * these.
 *
 * Return: 0; -ENOENT no such input; -EINVAL dimensions, offset; -ENOMEM.
 */
ACCEL_API int accel_state_set_input(struct accel_state *state, uint32_t index, uint32_t rank,
				    const int64_t *dims, struct accel_bo *bo, uint64_t offset);

/**
 * accel_state_get_input - where the CPU may write an input
 * @state: state
 * @index: input
 * @bytes: out: its size, may be NULL
 *
 * An input whose dimensions are numbers need not be set before.
 *
 * Return: address; NULL: no such input, not set, no memory, or not the CPU's.
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
 * Return: 0; -EINVAL an input is not set, or a symbol stands for two numbers or one
 * out of bounds; errors of compiling and of fences.
 */
ACCEL_API int accel_state_run(struct accel_state *state);

/**
 * accel_state_get_output - a result of the last run
 * @state: state
 * @index: from 0 on, in the order of accel_graph_output()
 * @value: out: what it is
 * @data: out: where it is, dense, until the state is given up or runs again
 *
 * Return: 0; -ENOENT no such output; -EAGAIN nothing was run; -EINVAL size.
 */
ACCEL_API int accel_state_get_output(struct accel_state *state, uint32_t index,
				     struct accel_value *value, const void **data);

/**
 * enum accel_text_format - ways to tell
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
 * accel_state_explain - how the graph is run for the dimensions of the inputs
 * @state: state whose inputs are set
 * @format: &enum accel_text_format
 * @fn: receives the text
 * @user: passed on
 *
 * Each node: what it was made of and by which pass, engine, algorithm, values,
 * multiply-adds, bytes, modelled time; in JSON how many nodes and multiply-adds are of each
 * &enum accel_code; memory of the state beside the least that
 * there could be.
 *
 * Return: 0, what @fn returned, or as accel_state_run().
 */
ACCEL_API int accel_state_explain(struct accel_state *state, uint32_t format,
				  accel_text_fn *fn, void *user);

/**
 * struct accel_program_info - what a state's dimensions came to
 */
struct accel_program_info {
	/** @size: sizeof(struct accel_program_info) */
	uint32_t size;
	/** @node_count: operations on engines */
	uint32_t node_count;
	/** @host_count: operations on the CPU */
	uint32_t host_count;
	/** @fallback_count: products that stay in fp32, for they have numbers that fp16 has not */
	uint32_t fallback_count;
	/** @macs: multiply-adds */
	uint64_t macs;
	/** @arena_bytes: memory for values in between, of each state */
	uint64_t arena_bytes;
	/** @arena_bound: the least that it could be */
	uint64_t arena_bound;
	/** @constant_bytes: constants that plans read where they lie */
	uint64_t constant_bytes;
	/** @packed_bytes: constants that plans hold rearranged */
	uint64_t packed_bytes;
	/** @workspace_bytes: the largest workspace of an operation */
	uint64_t workspace_bytes;
};

/**
 * accel_state_get_info - what the dimensions of the inputs came to
 * @state: state whose inputs are set
 * @info: out
 *
 * Return: 0; -EINVAL size; or as accel_state_run().
 */
ACCEL_API int accel_state_get_info(struct accel_state *state, struct accel_program_info *info);

/**
 * enum accel_code - what runs a node
 * @ACCEL_CODE_TUNED: an engine, in process by kernels for this processor
 * @ACCEL_CODE_REFERENCE: in process, the task model's reference code, at least in part
 * @ACCEL_CODE_HOST: the CPU, where no engine does it
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
	/** @index: of the node, in the order in which they run */
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
	/** @bytes: read and written */
	uint64_t bytes;
	/** @code: &enum accel_code */
	uint32_t code;
	/** @pad: 0 */
	uint32_t pad;
	/** @operation: its name; of an operator that a user added that with its domain */
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
 * accel_state_profile - run node by node and measure
 * @state: state whose inputs are set
 * @repeat: times each node runs, 0: 1
 * @fn: called for each node
 * @user: passed on
 *
 * Results of the run are those of accel_state_run().
 *
 * Return: 0, what @fn returned, or as accel_state_run().
 */
ACCEL_API int accel_state_profile(struct accel_state *state, uint32_t repeat,
				  accel_node_profile_fn *fn, void *user);

#if defined(__cplusplus)
}
#endif

#endif /* ACCEL_GRAPH_H */

/* SPDX-License-Identifier: MIT */
/*
 * ONNX files as graphs.
 *
 *	wire.c		fields of the format
 *	tensor.c	constants: in the file, beside it, or in numbers of their own
 *	sparse.c	constants of which a file has few elements
 *	file.c		mappings, and the folder that data outside must lie in
 *	model.c		models as callers have them
 *	import.c	names, nodes one after the other
 *	functions.c	functions that a file has
 *	added.c		operators that users add
 *	scan.c		what a file says of itself, also one that cannot run
 *	node.c		attributes, inputs and results of a node
 *	quantize.c	a file with fewer bits: which of its nodes
 *	rewrite.c	what becomes of them
 *	copy.c		the rest of it, as it was
 *	weights.c	its weights to and from safetensors
 *	bits.c		weights in fewer bits
 *	compose.c	operations that operators are made of
 *	antialias.c	resampling by matrices
 *	fold.c		fewer dimensions, where there are more than engines have
 *	ops_*.c		a function for each operator, which adds nodes to the graph
 */
#ifndef LIBACCEL_MODELS_ONNX_H
#define LIBACCEL_MODELS_ONNX_H

#include <accel/accel.h>
#include <accel/model.h>
#include "../mapping.h"
#include "wire.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
/* Inputs, outputs and attributes of a node, numbers in a list */
#define MAX_IO		512
#define MAX_ATTRS	32
#define MAX_INTS	64
#define MAX_STRINGS	8
/* Domains whose versions are known */
#define MAX_DOMAINS	64

/* Types of elements in files */
enum onnx_type {
	ONNX_FLOAT = 1, ONNX_UINT8 = 2, ONNX_INT8 = 3, ONNX_UINT16 = 4, ONNX_INT16 = 5,
	ONNX_INT32 = 6, ONNX_INT64 = 7, ONNX_STRING = 8, ONNX_BOOL = 9, ONNX_FLOAT16 = 10,
	ONNX_DOUBLE = 11, ONNX_UINT32 = 12, ONNX_UINT64 = 13, ONNX_BFLOAT16 = 16,
	ONNX_UINT4 = 21, ONNX_INT4 = 22
};

/* Types of attributes */
enum onnx_attr {
	ATTR_FLOAT = 1, ATTR_INT = 2, ATTR_STRING = 3, ATTR_TENSOR = 4, ATTR_GRAPH = 5,
	ATTR_FLOATS = 6, ATTR_INTS = 7, ATTR_STRINGS = 8, ATTR_SPARSE = 11
};

/**
 * struct tensor - a tensor of a file
 * @name: name
 * @type: &enum accel_dtype or &enum accel_host_type
 * @rank: dimensions
 * @dims: their sizes
 * @count: elements
 * @bytes: of the elements, dense
 * @data: first byte: in a mapping, or @own
 * @own: memory of its own, or NULL
 * @mapping: mapping that @data is in, or NULL
 */
struct tensor {
	struct slice name;
	uint32_t type;
	uint32_t rank;
	int64_t dims[ACCEL_GRAPH_MAX_RANK];
	uint64_t count;
	uint64_t bytes;
	const void *data;
	void *own;
	struct mapping *mapping;
};

/**
 * struct attr - an attribute of a node
 * @name: name
 * @ref: attribute of the function around that is meant, if it has a length
 * @raw: message, with all numbers of a list
 * @type: &enum onnx_attr
 * @i: number
 * @f: number
 * @s: text, or a message
 * @ints: the first numbers of a list
 * @int_count: entries of @ints
 * @floats: the first numbers of a list
 * @float_count: entries of @floats
 * @strings: texts
 * @string_count: entries of @strings
 * @more: the list goes on
 */
struct attr {
	struct slice name;
	struct slice ref;
	struct slice raw;
	uint32_t type;
	int64_t i;
	float f;
	struct slice s;
	int64_t ints[MAX_INTS];
	uint32_t int_count;
	float floats[MAX_INTS];
	uint32_t float_count;
	struct slice strings[MAX_STRINGS];
	uint32_t string_count;
	bool more;
};

/**
 * struct name - what a name stands for
 * @text: name
 * @value: value of the graph
 * @data: constant data that does not depend on symbols, or NULL
 * @marks: of who goes through the names
 * @sequence: it is one, and no value; or NULL
 * @input: it is an input of the file
 */
struct name {
	char *text;
	uint32_t value;
	uint32_t marks;
	const void *data;
	const struct sequence *sequence;
	bool input;
};

/**
 * struct ref - an input of the node in work
 * @here: it is there
 * @value: value of the graph
 * @type: its type
 * @rank: its dimensions
 * @dims: example of their sizes
 * @data: constant data, or NULL
 * @sequence: it is one, and no value; or NULL
 */
struct ref {
	bool here;
	uint32_t value;
	uint32_t type;
	uint32_t rank;
	int64_t dims[ACCEL_GRAPH_MAX_RANK];
	const void *data;
	const struct sequence *sequence;
};

/**
 * struct function - a function of the file
 * @raw: message
 * @name: name
 * @domain: domain
 * @overload: which of those of that name
 * @fields: in @raw
 */
struct function {
	struct slice raw;
	struct slice name;
	struct slice domain;
	struct slice overload;
	uint32_t fields;
};

/**
 * struct domain - operators that a file says it has
 * @name: of the domain
 * @version: of them
 */
struct domain {
	struct slice name;
	int64_t version;
};

/**
 * struct made - a constant that was made of another one, for all nodes that read it
 * @from: the other's data
 * @bits: of numbers in it
 * @row: bytes from one of its rows to the next, 0: no byte ends a row
 * @type: of this one
 * @rank: dimensions
 * @dims: their sizes
 * @value: value of the graph
 */
struct made {
	const void *from;
	uint32_t bits;
	uint64_t row;
	uint32_t type;
	uint32_t rank;
	int64_t dims[ACCEL_GRAPH_MAX_RANK];
	uint32_t value;
};

/**
 * struct scaled - how numbers are to be read, or written
 * @scale: scale
 * @zero: zero point, or not there
 * @axis: dimension of scales
 * @block: elements along it that share one, 0: the scales are a vector, or one
 */
struct scaled {
	struct ref scale;
	struct ref zero;
	int64_t axis;
	int64_t block;
};

/**
 * struct half_matrix - a matrix of real numbers that was made of a constant of 4 bits
 * @value: the real numbers
 * @x: the constant
 * @s: its scales and zero points
 * @turned: rows and columns were exchanged
 */
struct half_matrix {
	uint32_t value;
	struct ref x;
	struct scaled s;
	bool turned;
};

struct call;

struct op_count {
	char *name;
	uint32_t count;
	bool known;
};

struct result {
	uint32_t value;
	char *name;
	char *node;
	char *op;
};

struct accel_model {
	struct accel_graph *graph;
	struct accel_model_info info;
	struct op_count *ops;
	uint32_t op_count;
	struct result *results;
	uint32_t result_count;
	uint32_t result_room;
	struct family_model *family;
};

/* What an input is that a graph of a node declares */
enum formal_kind {
	FORMAL_VALUE, FORMAL_ITERATION, FORMAL_CONDITION, FORMAL_SLICE
};

/**
 * struct formal - such an input
 * @kind: &enum formal_kind
 * @outer: value of the graph around that it begins with, or is a slice of
 * @axis: slices: along this dimension
 * @reverse: slices: from the last on
 */
struct formal {
	enum formal_kind kind;
	uint32_t outer;
	uint32_t axis;
	bool reverse;
};

/**
 * struct import - a file being read
 * @model: model
 * @path: of the file
 * @maps: mappings
 * @error: what went wrong
 * @names: open hash table
 * @name_size: of it, a power of two
 * @name_count: names in it
 * @opset: version of the default operators
 * @others: there are others
 * @op: operator of the node in work
 * @name: name of the node in work
 * @attrs: its attributes
 * @attr_count: their number
 * @mistyped: one that its operator reads as another type, NULL: none
 * @in: its inputs
 * @in_count: their number
 * @out: names of its outputs
 * @out_count: their number
 * @capture: where the first output of an operator goes that is part of another
 * @parent: import of the graph around, NULL: there is none
 * @depth: how many there are around it
 * @formals: inputs that the node gives
 * @formal_count: their number
 * @formal_at: those that the graph has declared
 * @captures: values of the graph around that became inputs
 * @capture_count: their number
 * @iteration: scans: number of the iteration
 * @steps: steps of time that recurrent layers were made of
 * @sequences: all that there are
 * @pieces: values that sequences were made of
 * @grown: bytes that tensors became which have fewer in the file
 * @made: constants that were made of others
 * @made_count: their number
 * @halves: matrices that were made of constants of 4 bits
 * @halves_count: their number
 * @functions: functions of the file
 * @function_count: their number
 * @call: function that the nodes in work are of, NULL: none
 * @calls: functions that call each other now
 * @called: nodes that calls came to
 * @looked: fields of functions that they looked at
 * @closed: @names are those of the function alone
 * @scope: the nodes in work are of a graph of a node, but in the same graph; what is around them,
 *	or NULL
 * @inputs: what callers say of inputs
 * @input_count: entries of @inputs
 * @operators: that users added, or NULL
 * @domains: domains of the file but for the default one, the first of them
 * @domain_count: their number
 */
struct import {
	struct accel_model *model;
	const char *path;
	struct mapping *maps;
	struct accel_error error;
	struct name *names;
	uint32_t name_size;
	uint32_t name_count;
	int64_t opset;
	bool others;
	char op[64];
	char name[256];
	struct attr attrs[MAX_ATTRS];
	uint32_t attr_count;
	const struct attr *mistyped;
	struct ref in[MAX_IO];
	uint32_t in_count;
	struct slice out[MAX_IO];
	uint32_t out_count;
	uint32_t *capture;
	struct import *parent;
	uint32_t depth;
	const struct formal *formals;
	uint32_t formal_count;
	uint32_t formal_at;
	uint32_t *captures;
	uint32_t capture_count;
	uint32_t iteration;
	uint64_t steps;
	struct sequence *sequences;
	uint64_t pieces;
	uint64_t grown;
	struct made *made;
	uint32_t made_count;
	struct half_matrix *halves;
	uint32_t halves_count;
	struct function *functions;
	uint32_t function_count;
	const struct call *call;
	uint32_t calls;
	uint32_t called;
	uint64_t looked;
	bool closed;
	const struct import *scope;
	const struct accel_model_input *inputs;
	uint32_t input_count;
	struct accel_operators *operators;
	struct domain domains[MAX_DOMAINS];
	uint32_t domain_count;
};

/**
 * struct op - an operator
 * @name: name in the default domain
 * @fn: adds it to the graph; 0 or an error
 * @arg: for @fn
 */
struct op {
	const char *name;
	int (*fn)(struct import *im, uint32_t arg);
	uint32_t arg;
};

extern const struct op onnx_math[], onnx_shape[], onnx_flow[], onnx_nn[], onnx_conv[],
	onnx_index[], onnx_image[], onnx_resize[], onnx_loss[], onnx_rnn[], onnx_random[],
	onnx_region[], onnx_sample[], onnx_sequence[], onnx_signal[], onnx_train[], onnx_window[],
	onnx_einsum[], onnx_quant[], onnx_attention[], onnx_ms_quant[], onnx_ms[],
	onnx_ms_attention[];

/* --- file.c, tensor.c, sparse.c --------------------------------------------------- */

int map_file(struct import *im, const char *name, struct mapping **out);
int no_model(struct import *im, struct slice file);
int find_graph(struct import *im, struct slice model, struct slice *graph);
uint32_t type_of(int64_t onnx);
int no_type(struct import *im, int64_t onnx, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int tensor_read(struct import *im, struct slice s, struct tensor *t);
int tensor_add(struct import *im, struct tensor *t, uint32_t *value);
int tensor_grows(struct import *im, struct slice name, uint64_t bytes);
bool tensor_made(const struct import *im, const struct made *like, uint32_t *value);
int tensor_make(struct import *im, struct made *made, void *data, uint32_t *value);
int tensor_bytes(struct import *im, const struct ref *ref, uint32_t *value);
int sparse_read(struct import *im, struct slice s, struct tensor *t);

/* --- model.c ------------------------------------------------------------------------ */

struct import *import_create(const char *path);
int import_end(struct import *im, int ret, struct accel_error *error);

/* --- bits.c ------------------------------------------------------------------------- */

/**
 * struct matrix - a constant matrix, or filters
 * @data: elements, binary32, any alignment
 * @rows: those that have a scale each: columns of the product, or filters
 * @cols: elements of a row
 * @row_step: from a row to the next
 * @col_step: from an element of a row to the next
 */
struct matrix {
	const uint8_t *data;
	uint64_t rows;
	uint64_t cols;
	uint64_t row_step;
	uint64_t col_step;
};

void bits_scales(const struct matrix *w, bool one, float *scales);
void bits_bytes(const struct matrix *w, const float *scales, bool one, bool across,
		int8_t *out);
void bits_halves(const struct matrix *w, uint32_t block, uint8_t *out, float *scales,
		 uint8_t *zeros);
void bits_prune(const struct matrix *w, uint64_t step, float *out);
int bits_palette(const uint8_t *data, uint64_t n, uint32_t count, uint8_t *out, float *palette);

/* --- ops_flow.c ---------------------------------------------------------------------- */

int im_capture(struct import *im, const struct name *outer, uint32_t *value);
int im_formal(struct import *im, const char *name, const struct accel_value *declared,
	      uint32_t *value);
struct import *im_inner(struct import *im, const struct formal *formals, uint32_t count);
uint32_t v_outer(struct import *im, uint32_t outer, const int64_t *dims);
bool im_bool(const struct ref *ref, bool *what);
int give_refs(struct import *im, const struct ref *out, uint32_t count);
int im_repeat(struct import *im, struct import *inner, uint32_t times, const uint32_t *results,
	      uint32_t count, uint32_t *out);

/* --- ops_sequence.c ------------------------------------------------------------------ */

bool takes_sequences(const struct op *op);
int sequence_bind(struct import *im, struct slice name, const struct accel_model_input *said,
		  uint32_t type, const uint32_t *values);
int sequence_output(struct import *im, const struct name *n);
int give_ref(struct import *im, uint32_t index, const struct ref *ref);
int bind_ref(struct import *im, struct slice name, const struct ref *ref);
int loop_unrolled(struct import *im);
void free_sequences(struct import *im);

/* --- functions.c -------------------------------------------------------------------- */

const struct function *find_function(const struct import *im, struct slice name,
				     struct slice domain, struct slice overload);
int read_functions(struct import *im, struct slice model);
int call_attr(struct import *im, struct attr *a);
bool call_lacks(struct import *im, struct slice name);
int call_function(struct import *im, const struct function *f);
int im_inline(struct import *im, struct slice graph, const struct ref *in, uint32_t in_count,
	      struct ref *out, uint32_t *count);

int call_version(struct import *im, struct slice domain, int64_t *version);

/* --- added.c ------------------------------------------------------------------------ */

bool is_default(struct slice domain);
void note_domain(struct import *im, struct slice name, int64_t version);
int find_added(struct import *im, struct slice name, struct slice domain, uint32_t *version);
int add_added(struct import *im, struct slice name, struct slice domain, uint32_t version);

/* --- import.c ----------------------------------------------------------------------- */

int read_model(struct import *im, struct slice s);
int read_graph(struct import *im, struct slice graph);
struct name *im_name(const struct import *im, struct slice s);
bool has_name(const struct import *im, struct slice s);
int bind_name(struct import *im, struct slice s, uint32_t value, const void *data);
void free_names(struct import *im);
int known_attrs(struct import *im, struct slice type, struct slice domain);
const struct name *im_look_up(struct import *im, struct slice s);
int im_add_initializer(struct import *im, struct slice s);
int im_add_sparse(struct import *im, struct slice s);
int im_read_attr(struct import *im, struct slice s, struct attr *a);
int im_read_opset(struct import *im, struct slice s);
int im_add_node(struct import *im, struct slice node);
int im_symbol(struct import *im, const char *name, uint32_t place, int64_t *dim);
const struct op *find_op(struct slice name, struct slice domain);
int im_fail(struct import *im, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int im_take_error(struct import *im, int ret, const struct accel_error *e);
int im_graph(struct import *im, int ret);
const struct attr *im_attr(struct import *im, const char *name, uint32_t type);
int im_well_typed(struct import *im, int ret);
int64_t im_int(struct import *im, const char *name, int64_t otherwise);
float im_float(struct import *im, const char *name, float otherwise);
bool im_string(struct import *im, const char *name, const char *text);
int im_need(struct import *im, uint32_t count);
const struct ref *im_input(const struct import *im, uint32_t index);
int im_ref(struct import *im, uint32_t value, struct ref *ref);
int im_give(struct import *im, uint32_t index, uint32_t value);
int im_give_data(struct import *im, uint32_t index, uint32_t value, const void *data);
/* Results from the first on */
int im_give_all(struct import *im, const uint32_t *out, uint32_t count);
/* A node whose results are as large as what it finds */
int im_dynamic(struct import *im, struct accel_dynamic_desc *d, const uint32_t *in,
	       uint32_t in_count, uint32_t *out, uint32_t out_count);
int im_source(struct import *im);
int im_node(struct import *im, const struct accel_desc *desc, struct accel_graph_arg *args,
	    uint32_t count, uint32_t *out);
int im_one(struct import *im, const struct accel_desc *desc, uint32_t a, uint32_t *out);
int im_give_one(struct import *im, const struct accel_desc *desc);
int im_two(struct import *im, const struct accel_desc *desc, uint32_t a, uint32_t b,
	   uint32_t *out);
int im_binary(struct import *im, uint32_t func, uint32_t a, uint32_t b, uint32_t *out);
int im_list(struct import *im, uint32_t count, const int64_t *list, uint32_t *out);
int im_known(struct import *im, uint32_t type, int64_t number, struct ref *ref);
int im_scalar(struct import *im, uint32_t type, double number, uint32_t *out);
int im_axis(struct import *im, int64_t axis, uint32_t rank, uint32_t *out);
int im_cast(struct import *im, uint32_t value, uint32_t type, uint32_t *out);
bool im_is_symbol(const struct import *im, uint32_t index, uint32_t axis);
bool im_numbers(const struct ref *ref, int64_t *list, uint32_t *count, uint32_t max);
bool im_real(const struct ref *ref, double *number);
void im_less(struct accel_tensor *t, int32_t zero);
bool type_is_real(uint32_t type);

/* --- compose.c ------------------------------------------------------------------------ */

#define NO_VALUE	UINT32_MAX

uint32_t v_in(struct import *im, uint32_t index);
uint32_t v_type(struct import *im, uint32_t value);
uint32_t v_rank(struct import *im, uint32_t value);
uint32_t v_ints(struct import *im, uint32_t count, const int64_t *list);
uint32_t v_number(struct import *im, uint32_t type, double number);
uint32_t v_cast(struct import *im, uint32_t a, uint32_t type);
uint32_t v_unary(struct import *im, uint32_t func, uint32_t a);
uint32_t v_act(struct import *im, uint32_t act, float p0, float p1, uint32_t a);
uint32_t v_binary(struct import *im, uint32_t func, uint32_t a, uint32_t b);
uint32_t v_with(struct import *im, uint32_t func, uint32_t a, double number);
uint32_t v_select(struct import *im, uint32_t condition, uint32_t a, uint32_t b);
uint32_t v_reduce(struct import *im, uint32_t func, uint32_t flags, uint32_t axes, uint32_t a);
uint32_t v_softmax(struct import *im, uint32_t func, uint32_t axis, uint32_t a);
uint32_t v_shape_of(struct import *im, uint32_t a, int64_t start, int64_t end);
uint32_t v_elements(struct import *im, uint32_t a, uint32_t from);
uint32_t v_shaped(struct import *im, uint32_t op, uint32_t a, uint32_t list);
uint32_t v_shaped_to(struct import *im, uint32_t op, uint32_t a, uint32_t count,
		     const int64_t *list);
uint32_t v_reshape(struct import *im, uint32_t a, uint32_t count, const uint32_t *lists);
uint32_t v_transpose(struct import *im, uint32_t a, const uint32_t *order);
uint32_t v_channels(struct import *im, uint32_t a, bool last);
uint32_t v_slice(struct import *im, uint32_t a, int64_t axis, int64_t start, int64_t end,
		 int64_t step);
uint32_t v_iota(struct import *im, uint32_t count);
uint32_t v_iota_along(struct import *im, uint32_t a, uint32_t axis);
uint32_t v_fill(struct import *im, uint32_t type, uint32_t shape, double number);
uint32_t v_concat(struct import *im, uint32_t axis, uint32_t count, const uint32_t *list);
uint32_t v_gather(struct import *im, uint32_t func, uint32_t axis, uint32_t a, uint32_t indices);
uint32_t v_scatter(struct import *im, const struct accel_scatter_desc *d, uint32_t a,
		   uint32_t indices, uint32_t updates);
uint32_t v_product(struct import *im, uint32_t flags, uint32_t act, uint32_t a, uint32_t b,
		   uint32_t bias, uint32_t residual);
uint32_t v_size_of(struct import *im, uint32_t a, uint32_t axis, uint32_t type);
uint32_t v_bounded(struct import *im, uint32_t a, double low, uint32_t high);
uint32_t v_is_finite(struct import *im, uint32_t a);
uint32_t v_rows(struct import *im, uint32_t a);
int v_give(struct import *im, uint32_t index, uint32_t value);

/* --- antialias.c ---------------------------------------------------------------------- */

int im_antialias(struct import *im, const struct accel_resize_desc *d, uint32_t scales,
		 uint32_t sizes);

/* --- ops_resize.c --------------------------------------------------------------------- */

/* What is known of the size of a dimension that is resized */
enum keeps { KEEPS_NOT, KEEPS, KEEPS_PERHAPS };

int resize_axes(struct import *im, bool sizes, int64_t *list, uint32_t *count);
enum keeps resize_keeps(const struct import *im, uint32_t scales, uint32_t sizes, uint32_t k,
			uint32_t axis);
uint32_t v_scale_of(struct import *im, uint32_t scales, uint32_t sizes, uint32_t k, uint32_t last);
uint32_t v_unless_kept(struct import *im, uint32_t x, uint32_t resized, uint32_t axis,
		       uint32_t last, uint32_t scale);
uint32_t v_number_of(struct import *im, uint32_t list, int64_t k);
uint32_t v_cubic(struct import *im, double a, bool outer, uint32_t t);
uint32_t v_places_along(struct import *im, uint32_t coord, uint32_t k, uint32_t n,
			uint32_t scales, uint32_t sizes, uint32_t last);

/* --- fold.c --------------------------------------------------------------------------- */

int fold_op(struct import *im, const struct op *op);

/* --- ops_index.c ---------------------------------------------------------------------- */

uint32_t v_nonzero(struct import *im, uint32_t a);

/* --- ops_math.c ----------------------------------------------------------------------- */

int swish(struct import *im, uint32_t ms);

/* --- ops_nn.c ------------------------------------------------------------------------- */

/**
 * struct window - the window of a convolution or a pooling
 * @n: spatial dimensions
 * @kernel: size
 * @stride: distance from the next
 * @dilation: distance of its elements
 * @before: padding before the first
 * @after: padding behind the last
 * @late: padding is what v_same_padded() puts around: sizes that are symbols decide on it
 */
struct window {
	uint32_t n;
	uint32_t kernel[3];
	uint32_t stride[3];
	uint32_t dilation[3];
	uint32_t before[3];
	uint32_t after[3];
	bool late;
};

uint32_t v_same_padded(struct import *im, const struct window *w, uint32_t a, double fill);
int read_window(struct import *im, struct window *w, bool whole);
int give_moments(struct import *im, uint32_t a, uint32_t axes, uint32_t func, double eps);
uint32_t v_norm(struct import *im, uint32_t func, uint32_t axes, float eps, uint32_t a,
		uint32_t scale, uint32_t bias);
uint32_t v_of_channels(struct import *im, uint32_t a, uint32_t v);

/* --- ops_quant.c ----------------------------------------------------------------------- */

int dequantize(struct import *im, const struct ref *x, const struct scaled *s, uint32_t *out);

/* --- weights/ ------------------------------------------------------------------------- */

int halves_note(struct import *im, const struct ref *x, const struct scaled *s, uint32_t value);
int halves_turned(struct import *im, uint32_t from, uint32_t value);
int halves_product(struct import *im, uint32_t b, struct accel_gemm_desc *d,
		   struct accel_graph_arg *args, uint32_t *count);
int matmul_bnb4(struct import *im, uint32_t arg);

/* --- ops_ms.c ------------------------------------------------------------------------- */

bool has_elements(const struct ref *ref, int64_t count);

/* --- ops_window.c --------------------------------------------------------------------- */

uint32_t v_max_index(struct import *im, const struct window *w, uint32_t a, uint32_t pooled,
		     bool columns);

/* Nodes with a result D, and inputs by argument */
#define ARGS(...) \
	((struct accel_graph_arg[]) { { ACCEL_ARG_D, ACCEL_VALUE_NEW }, __VA_ARGS__ })

#endif /* LIBACCEL_MODELS_ONNX_H */

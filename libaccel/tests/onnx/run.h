/* SPDX-License-Identifier: MIT */
/*
 * ONNX's own vectors on libaccel: a model is read, its nodes are done one after
 * the other by operations of the library, and the results are held against
 * those that the vector brings.
 *
 * What the runner itself does: it reads files, makes constants and shapes,
 * relabels dense memory (Reshape and the like), chooses strides, and stores
 * numbers in another type where that changes none of them: int64, uint64,
 * uint32, int16 and uint16 that fit as int32, fp64 that is fp32 already, bool
 * as uint8. Every other number is made by the library.
 */
#ifndef LIBACCEL_TESTS_ONNX_RUN_H
#define LIBACCEL_TESTS_ONNX_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <accel/accel.h>
#include <onnx.pb-c.h>

/* Dimensions of a value; operations of the library have fewer. */
#define MAX_RANK	8
/* Inputs and outputs of a node */
#define MAX_ARGS	32

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* enum Onnx__TensorProto__DataType is long to write. */
enum onnx_type {
	T_NONE = 0, T_FLOAT = 1, T_UINT8 = 2, T_INT8 = 3, T_UINT16 = 4, T_INT16 = 5,
	T_INT32 = 6, T_INT64 = 7, T_STRING = 8, T_BOOL = 9, T_FLOAT16 = 10, T_DOUBLE = 11,
	T_UINT32 = 12, T_UINT64 = 13, T_COMPLEX64 = 14, T_COMPLEX128 = 15, T_BFLOAT16 = 16
};

/**
 * struct raw - numbers of a file
 * @type: ONNX's type
 * @rank: dimensions
 * @dims: their sizes
 * @count: elements
 * @f: numbers of floating-point types
 * @i: numbers of integer types, uint64 by its bits
 */
struct raw {
	uint32_t type;
	uint32_t rank;
	int64_t dims[MAX_RANK];
	uint64_t count;
	double *f;
	int64_t *i;
};

/**
 * struct value - a tensor of the graph, dense
 * @next: of the run, to be freed in the end
 * @type: ONNX's type
 * @dtype: how it is stored, ACCEL_NONE: it has no exact counterpart
 * @rank: dimensions, 0 for a scalar
 * @dims: their sizes
 * @count: elements
 * @bo: memory
 * @data: the same, for the CPU
 */
struct value {
	struct value *next;
	uint32_t type;
	uint32_t dtype;
	uint32_t rank;
	int64_t dims[MAX_RANK];
	uint64_t count;
	struct accel_bo *bo;
	void *data;
};

/**
 * struct view - a tensor by its strides
 * @v: where the elements are
 * @offset: element (0, 0, ...)
 * @rank: dimensions
 * @dims: their sizes
 * @strides: elements
 */
struct view {
	struct value *v;
	int64_t offset;
	uint32_t rank;
	int64_t dims[MAX_RANK];
	int64_t strides[MAX_RANK];
};

/**
 * struct binding - a name in a graph
 * @next: another
 * @name: name
 * @v: what it stands for
 */
struct binding {
	struct binding *next;
	const char *name;
	struct value *v;
};

/**
 * struct run - a vector being run
 * @ctx: context
 * @values: all values
 * @names: names of the graph, innermost first
 * @opset: version of the operators
 * @node: node in work
 * @in: its inputs, NULL: left out
 * @n_in: their number, those at the end that are left out not counted
 * @out: its outputs
 * @n_out: number of outputs that it names
 * @ret: 0, -EOPNOTSUPP: unsupported, any other: failed
 * @culprit: operator that @ret comes from
 * @why: one sentence
 */
struct run {
	struct accel_ctx *ctx;
	struct value *values;
	struct binding *names;
	int64_t opset;
	const Onnx__NodeProto *node;
	struct value *in[MAX_ARGS];
	uint32_t n_in;
	struct value *out[MAX_ARGS];
	uint32_t n_out;
	int ret;
	char culprit[64];
	char why[256];
};

/**
 * enum how - who does an operator
 * @BY_LIBRARY: numbers are made or moved by the library
 * @BY_SHAPE: the runner: nothing is moved but shapes and constants
 */
enum how {
	BY_LIBRARY,
	BY_SHAPE
};

/**
 * struct op_map - an operator
 * @name: ONNX's name
 * @fn: does the node in work; 0 or @run's ret
 * @how: who does it
 * @arg: for @fn
 * @since: oldest version of the operators that @fn is written for, 0: all
 */
struct op_map {
	const char *name;
	int (*fn)(struct run *r, const struct op_map *m);
	enum how how;
	uint32_t arg;
	uint32_t since;
};

/* The tables, each ended by an empty row. */
extern const struct op_map ops_math[], ops_shape[], ops_move[], ops_gemm[], ops_cast[], ops_logic[],
	ops_reduce[], ops_norm[], ops_conv[], ops_index[], ops_pool[], ops_loss[], ops_rnn[],
	ops_train[], ops_flow[], ops_signal[];

/* --- graph.c ------------------------------------------------------------------- */

const struct op_map *find_op(const char *domain, const char *name);
int run_graph(struct run *r, const Onnx__GraphProto *g);
void bind_name(struct run *r, const char *name, struct value *v);
struct value *find_name(struct run *r, const char *name);
int unsupported(struct run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int broken(struct run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

const Onnx__AttributeProto *attr(struct run *r, const char *name);
int64_t attr_int(struct run *r, const char *name, int64_t otherwise);
float attr_float(struct run *r, const char *name, float otherwise);
bool attr_is(struct run *r, const char *name, const char *text, bool otherwise);
uint32_t attr_ints(struct run *r, const char *name, int64_t *list, uint32_t max);

/* --- read.c -------------------------------------------------------------------- */

void *read_file(const char *path, size_t *size);
int raw_from_proto(const Onnx__TensorProto *t, uint32_t declared, struct raw *raw);
void raw_free(struct raw *raw);
const char *type_name(uint32_t type);

/* --- value.c ------------------------------------------------------------------- */

uint32_t type_dtype(uint32_t type);
bool type_is_float(uint32_t type);
struct value *new_value(struct run *r, uint32_t type, uint32_t rank, const int64_t *dims);
struct value *new_like(struct run *r, const struct value *v);
struct value *value_from_raw(struct run *r, const struct raw *raw);
struct value *value_from_proto(struct run *r, const Onnx__TensorProto *t);
struct value *relabel(struct run *r, struct value *v, uint32_t type, uint32_t rank,
		      const int64_t *dims);
struct value *constant(struct run *r, uint32_t type, double number);
struct value *constants(struct run *r, uint32_t type, uint32_t n, const int64_t *numbers);
double get(const struct value *v, uint64_t n);
void put(struct value *v, uint64_t n, double number);
uint32_t get_ints(struct run *r, struct value *v, int64_t *list, uint32_t max);
bool compare(const struct value *got, const struct raw *want, char *why, size_t size);
void free_values(struct run *r);

/* --- lib.c --------------------------------------------------------------------- */
/* Those that return a value take NULL and return NULL once something failed. */
bool has_dtype(struct run *r, const struct value *v);

/* Is there a value, with numbers that the library has? */
static inline bool usable(struct run *r, const struct value *v)
{
	return v && !r->ret && has_dtype(r, v);
}

int lib_run(struct run *r, struct accel_desc *desc);
int give(struct run *r, uint32_t n, struct value *v);
struct view view_of(struct value *v);
bool fill_tensor(struct run *r, struct accel_tensor *t, const struct view *w);
bool tensor_of(struct run *r, struct accel_tensor *t, struct value *v);
bool stretch(struct run *r, struct view *w, uint32_t rank, const int64_t *dims);
bool squash(struct run *r, struct view *w, uint32_t n);
bool broadcast(struct run *r, const struct value *a, const struct value *b, uint32_t *rank,
	       int64_t *dims);
struct value *lib_copy(struct run *r, const struct view *from, uint32_t type);
int lib_copy_into(struct run *r, const struct view *from, const struct view *to);
struct value *lib_unary(struct run *r, uint32_t func, struct value *a);
struct value *lib_act(struct run *r, uint32_t act, float p0, float p1, struct value *a);
struct value *lib_binary(struct run *r, uint32_t func, struct value *a, struct value *b);
struct value *lib_binary_as(struct run *r, uint32_t func, struct value *a, struct value *b,
			    uint32_t type);
struct value *lib_fill(struct run *r, uint32_t type, uint32_t rank, const int64_t *dims,
		       double number);
struct value *lib_convert(struct run *r, struct value *a, uint32_t type);
struct value *lib_transpose(struct run *r, struct value *a, const int64_t *perm);
struct value *lib_expand(struct run *r, struct value *a, uint32_t rank, const int64_t *dims);
struct value *lib_times(struct run *r, struct value *a, double factor);
struct value *lib_plus(struct run *r, struct value *a, double addend);
struct value *lib_wrap(struct run *r, struct value *a, uint32_t type);

/* --- window.c ------------------------------------------------------------------ */

/* Spatial dimensions */
#define MAX_SPATIAL	3

/**
 * struct window - the window of a convolution or a pool
 * @n: spatial dimensions
 * @kernel: its size
 * @stride: distance from the next one
 * @dilation: distance of its elements
 * @before: padding before the first
 * @after: padding behind the last
 * @same: the padding is to give in / stride results
 * @same_upper: the odd one of it lies behind
 */
struct window {
	uint32_t n;
	int64_t kernel[2 * MAX_SPATIAL];
	int64_t stride[2 * MAX_SPATIAL];
	int64_t dilation[2 * MAX_SPATIAL];
	int64_t before[MAX_SPATIAL];
	int64_t after[MAX_SPATIAL];
	bool same;
	bool same_upper;
};

bool window_of(struct run *r, struct window *w, const struct value *a, const struct value *b);
int64_t window_count(const struct window *w, uint32_t i, int64_t in, bool ceil);

/* --- ops_*.c ------------------------------------------------------------------- */

bool quantise(struct run *r, struct accel_tensor *t, struct value *scale, struct value *zero,
	      int64_t axis);
struct value *lib_matmul(struct run *r, struct value *a, struct value *b);
struct value *lib_select(struct run *r, struct value *a, struct value *b, struct value *c);
struct value *lib_reduce(struct run *r, uint32_t func, uint32_t flags, struct value *a,
			 uint32_t mask, uint32_t type);
struct value *lib_softmax(struct run *r, uint32_t func, struct value *a, int64_t axis);
struct value *lib_gather(struct run *r, uint32_t func, struct value *a, struct value *b,
			 uint32_t axis, uint32_t batch);
struct value *lib_scatter(struct run *r, uint32_t func, uint32_t reduce, struct value *a,
			  struct value *b, struct value *c, uint32_t axis);
int64_t axes_of(struct run *r, uint32_t rank);
struct value *lib_slice(struct run *r, struct value *a, uint32_t axis, int64_t start,
			int64_t count);
uint32_t axis_of(struct run *r, int64_t axis, uint32_t rank);

#endif /* LIBACCEL_TESTS_ONNX_RUN_H */

/* SPDX-License-Identifier: MIT */
/*
 * Operations by name, for run op and explain op: inputs, parameters, descriptor.
 */
#ifndef ACCELCTL_OP_H
#define ACCELCTL_OP_H

#include "accelctl.h"
#include "npy.h"

/** OP_MAX_TENSORS: most tensors of an operation */
#define OP_MAX_TENSORS	12

/**
 * enum op_param - options that some operations have, in the order of op_params
 * @OP_AXIS: to @OP_ASYMMETRIC: as the options are called
 * @OP_PARAMS: number of values
 */
enum op_param {
	OP_AXIS,
	OP_PERM,
	OP_SIZE,
	OP_K,
	OP_KERNEL,
	OP_STRIDE,
	OP_DILATION,
	OP_PAD,
	OP_MODE,
	OP_COORD,
	OP_NEAREST,
	OP_CUBIC,
	OP_EPS,
	OP_VALUE,
	OP_GROUPS,
	OP_BATCH,
	OP_NORM,
	OP_START,
	OP_P0,
	OP_P1,
	OP_SMALLEST,
	OP_EXCLUSIVE,
	OP_REVERSE,
	OP_LAST_INDEX,
	OP_CEIL,
	OP_COUNT_PAD,
	OP_INTERLEAVED,
	OP_ASYMMETRIC,
	OP_PARAMS
};

/** op_params - their table, which ends with a NULL name */
extern const struct ctl_opt op_params[OP_PARAMS + 1];
/** op_opts_table - options of every operation */
extern const struct ctl_opt op_opts_table[];
/** op_run_table - options of run op */
extern const struct ctl_opt op_run_table[];

/**
 * struct op_opts - options of run op and explain op
 *
 * Parameters that were not given are what op_opts_init() makes them.
 */
struct op_opts {
	struct ctl_ints axis, perm, size, kernel, stride, dilation, pad;
	uint64_t k, groups, batch, norm, start;
	double cubic, eps, value, p0, p1, scale;
	uint32_t mode, coord, nearest;
	uint32_t smallest, exclusive, reverse, last_index, ceil, count_pad, interleaved;
	uint32_t asymmetric;
	struct ctl_strings in, out;
	uint32_t dtype, out_dtype, engine, check;
	uint64_t seed, repeat, threads, timeout_ms;
};

/** op_opts_init - defaults */
void op_opts_init(void *data);

/**
 * enum op_mode - values of --mode: of resize, pad and scatter, in the order of the
 * library's enumerations
 */
enum op_mode {
	OP_MODE_RESIZE = 0,
	OP_MODE_PAD = 3,
	OP_MODE_SCATTER = 7,
	OP_MODES = 12
};

/**
 * enum op_role - meaning of an input
 * @OP_DATA: elements of --dtype
 * @OP_INDEX: int32, random ones below the sizes that they index
 * @OP_CONDITION: of the type of its file, or uint8; random ones 0 or 1
 * @OP_FLOAT: fp32
 * @OP_POSITIVE: fp32, random ones from 0 to 1
 */
enum op_role {
	OP_DATA = 0,
	OP_INDEX,
	OP_CONDITION,
	OP_FLOAT,
	OP_POSITIVE
};

/**
 * struct op_input - a value of --in
 * @text: as it was given
 * @file: array, if it was a file
 * @role: &enum op_role
 * @dtype: &enum accel_dtype
 * @rank: number of dimensions
 * @dims: elements
 * @limits: indices: element i is below limits[i % limit_count]
 * @limit_count: number of those
 */
struct op_input {
	const char *text;
	struct npy file;
	uint32_t role;
	uint32_t dtype;
	uint32_t rank;
	int64_t dims[ACCEL_MAX_RANK];
	int64_t limits[ACCEL_MAX_RANK];
	uint32_t limit_count;
};

/**
 * struct op_tensor - a tensor of the descriptor
 * @arg: &enum accel_arg
 * @input: its input, NULL for a result
 * @t: in the descriptor
 * @bytes: size
 * @bo: buffer
 */
struct op_tensor {
	uint32_t arg;
	const struct op_input *input;
	struct accel_tensor *t;
	uint64_t bytes;
	struct accel_bo *bo;
};

struct op;

/**
 * struct op_kind - an operation
 * @name: name, NULL for a family of functions
 * @func: its function, for @build; of a family, which: unary, binary, activations
 * @inputs: fewest inputs
 * @more: most of them
 * @params: mask of 1 << &enum op_param
 * @roles: of its inputs
 * @build: from inputs and options to a descriptor; an exit status
 */
struct op_kind {
	const char *name;
	uint32_t func;
	uint32_t inputs;
	uint32_t more;
	uint32_t params;
	uint8_t roles[ACCEL_CONCAT_MAX];
	int (*build)(struct op *op);
};

/** op_kinds - operations with names of their own; the last has no @build */
extern const struct op_kind op_kinds[];

/**
 * struct op - an operation of run op
 * @ctl: invocation
 * @opts: options
 * @kind: kind of the operation
 * @func: function of a family, else that of @kind
 * @name: its name, with hyphens
 * @dtype: element type of data
 * @out_dtype: that of results, ACCEL_NONE: follows from @dtype
 * @in: inputs
 * @inputs: number of them
 * @tensors: of the descriptor; results in their order
 * @count: number of them
 * @results: number of results
 * @desc: descriptor
 */
struct op {
	struct ctl *ctl;
	const struct op_opts *opts;
	const struct op_kind *kind;
	uint32_t func;
	char name[32];
	uint32_t dtype;
	uint32_t out_dtype;
	struct op_input in[ACCEL_CONCAT_MAX];
	uint32_t inputs;
	struct op_tensor tensors[OP_MAX_TENSORS];
	uint32_t count;
	uint32_t results;
	union {
		struct accel_desc hdr;
		struct accel_copy_desc copy;
		struct accel_fill_desc fill;
		struct accel_unary_desc unary;
		struct accel_binary_desc binary;
		struct accel_select_desc select;
		struct accel_softmax_desc softmax;
		struct accel_norm_desc norm;
		struct accel_reduce_desc reduce;
		struct accel_dynquant_desc dynquant;
		struct accel_topk_desc topk;
		struct accel_scan_desc scan;
		struct accel_pool_desc pool;
		struct accel_resize_desc resize;
		struct accel_gather_desc gather;
		struct accel_scatter_desc scatter;
		struct accel_rotary_desc rotary;
		struct accel_concat_desc concat;
		struct accel_split_desc split;
		struct accel_pad_desc pad;
	} desc;
};

/**
 * op_name - names of operations, one by one
 * @index: from 0
 * @buf: room for it
 *
 * Return: @buf, NULL past the last.
 */
const char *op_name(uint32_t index, char buf[32]);

/**
 * op_init - find the operation, read its inputs, build its descriptor
 * @ctl: invocation
 * @name: operation, or NULL
 * @opts: options
 * @op: out; op_fini() it also after a failure
 *
 * Return: an exit status.
 */
int op_init(struct ctl *ctl, const char *name, const struct op_opts *opts, struct op *op);

/**
 * op_fill - write the inputs into their buffers
 * @op: with buffers
 */
void op_fill(const struct op *op);

/** op_fini - give everything up */
void op_fini(struct op *op);

int cmd_run_op(struct ctl *ctl, void *data, const char *operand);
int cmd_explain_op(struct ctl *ctl, void *data, const char *operand);

#endif /* ACCELCTL_OP_H */

// SPDX-License-Identifier: MIT
/*
 * Options of run op and explain op, for the command table.
 */
#include <math.h>

#include "op.h"
#include "run_opts.h"

#define OP(member)	offsetof(struct op_opts, member)
/* A dimension, from the end if it is negative */
#define AXES		(uint64_t)-ACCEL_MAX_RANK, ACCEL_MAX_RANK - 1

static const char *const dtype_names[] = {
	"auto", "fp32", "fp16", "bf16", "int32", "int8", "uint8", NULL
};

static const char *const mode_names[] = {
	[OP_MODE_RESIZE] = "nearest", "linear", "cubic",
	[OP_MODE_PAD] = "constant", "edge", "reflect", "wrap",
	[OP_MODE_SCATTER] = "put", "add", "mul", "max", "min",
	[OP_MODES] = NULL
};

static const char *const coord_names[] = {
	"half-pixel", "asymmetric", "align-corners", "pytorch-half-pixel",
	"half-pixel-symmetric", NULL
};

static const char *const nearest_names[] = { "half-down", "half-up", "floor", "ceil", NULL };

const struct ctl_opt op_params[OP_PARAMS + 1] = {
	[OP_AXIS] = { "axis", 'a', CTL_INTS, 0, OP(axis), AXES, .arg = "LIST",
	  .help = "dimension, or dimensions for reductions, norms and dynquant; negative ones count from the end; the default is the last, the first for gather, scatter, concat and split, all for reductions and dynquant, and the channels (1) for group-, instance- and batch-norm",
	},
	[OP_PERM] = { "perm", 0, CTL_INTS, 0, OP(perm), 0, ACCEL_MAX_RANK - 1, .arg = "LIST",
	  .help = "copy, transpose: order of the dimensions; transpose reverses it by default" },
	[OP_SIZE] = { "size", 0, CTL_INTS, 0, OP(size), 0, INT32_MAX, .arg = "LIST",
	  .help = "fill: dimensions; resize: the last dimensions of the result; split: sizes of the pieces",
	},
	[OP_K] = { "k", 'k', CTL_UINT, 0, OP(k), 0, INT32_MAX, .arg = "K",
	  .help = "topk: how many" },
	[OP_KERNEL] = { "kernel", 0, CTL_INTS, 0, OP(kernel), 1, 65536, .arg = "LIST",
	  .help = "pools: size of the window; the default is the whole input" },
	[OP_STRIDE] = { "stride", 0, CTL_INTS, 0, OP(stride), 1, 65536, .arg = "LIST",
	  .help = "pools: stride of the windows (1)" },
	[OP_DILATION] = { "dilation", 0, CTL_INTS, 0, OP(dilation), 1, 65536, .arg = "LIST",
	  .help = "pools: dilation of the windows (1)" },
	[OP_PAD] = { "pad", 0, CTL_INTS, 0, OP(pad), 0, 1048576, .arg = "LIST",
	  .help = "pools, pad: elements on all sides, or for each dimension, or those before each and then those after each (0)",
	},
	[OP_MODE] = { "mode", 0, CTL_CHOICE, 0, OP(mode), .choices = mode_names, .arg = "NAME",
	  .help = "resize: nearest, linear, cubic; pad: constant, edge, reflect, wrap; scatter: put, add, mul, max, min; the first is the default",
	},
	[OP_COORD] = { "coord", 0, CTL_CHOICE, 0, OP(coord), .choices = coord_names,
	  .help = "resize: coordinates of the elements (half-pixel)" },
	[OP_NEAREST] = { "nearest", 0, CTL_CHOICE, 0, OP(nearest), .choices = nearest_names,
	  .help = "resize: which element is the nearest (half-down)" },
	[OP_CUBIC] = { "cubic", 0, CTL_REAL, 0, OP(cubic), .arg = "X",
	  .help = "resize: parameter of the cubic kernel (-0.75)" },
	[OP_EPS] = { "eps", 0, CTL_REAL, 0, OP(eps), .arg = "X",
	  .help = "norms: added to the variance (0.00001)" },
	[OP_VALUE] = { "value", 0, CTL_REAL, 0, OP(value), .arg = "X",
	  .help = "fill, pad: the constant (0)" },
	[OP_GROUPS] = { "groups", 'g', CTL_UINT, 0, OP(groups), 1, INT32_MAX, .arg = "COUNT",
	  .help = "group-norm: number of groups of channels; required" },
	[OP_BATCH] = { "batch", 0, CTL_UINT, 0, OP(batch), 0, ACCEL_MAX_RANK - 1, .arg = "COUNT",
	  .help = "gather-nd: leading dimensions that data and indices share (0)" },
	[OP_NORM] = { "norm", 0, CTL_UINT, 0, OP(norm), 1, 16, .arg = "P",
	  .help = "lp-pool: exponent (2)" },
	[OP_START] = { "start", 0, CTL_UINT, 0, OP(start), 0, INT32_MAX, .arg = "POSITION",
	  .help = "rotary: position of the first row (0)" },
	[OP_P0] = { "p0", 0, CTL_REAL, 0, OP(p0), .arg = "X",
	  .help = "first parameter of an activation, as of run gemm" },
	[OP_P1] = { "p1", 0, CTL_REAL, 0, OP(p1), .arg = "X", .help = "second parameter" },
	[OP_SMALLEST] = { "smallest", 0, CTL_FLAG, 0, OP(smallest),
	  .help = "topk: the smallest, not the largest" },
	[OP_EXCLUSIVE] = { "exclusive", 0, CTL_FLAG, 0, OP(exclusive),
	  .help = "scan: exclude the element itself from its sum" },
	[OP_REVERSE] = { "reverse", 0, CTL_FLAG, 0, OP(reverse),
	  .help = "scan: start at the last element" },
	[OP_LAST_INDEX] = { "last-index", 0, CTL_FLAG, 0, OP(last_index),
	  .help = "arg-max, arg-min: use the last of equal elements" },
	[OP_CEIL] = { "ceil", 0, CTL_FLAG, 0, OP(ceil),
	  .help = "pools: include an incomplete last window" },
	[OP_COUNT_PAD] = { "count-pad", 0, CTL_FLAG, 0, OP(count_pad),
	  .help = "average-pool: include padding, as zeros" },
	[OP_INTERLEAVED] = { "interleaved", 0, CTL_FLAG, 0, OP(interleaved),
	  .help = "rotary: pairs are consecutive elements" },
	[OP_ASYMMETRIC] = { "asymmetric", 0, CTL_FLAG, 0, OP(asymmetric),
	  .help = "dynquant: with zero points" },
	[OP_PARAMS] = { NULL }
};

const struct ctl_opt op_opts_table[] = {
	{ "in", 'i', CTL_STRINGS, CTL_COMPLETE_FILE, OP(in), .arg = "FILE|SHAPE",
	  .help = "input, once for each: a .npy file, or dimensions such as 4x16 for random numbers",
	},
	{ "dtype", 't', CTL_CHOICE, 0, OP(dtype), .choices = dtype_names,
	  .help = "element type of the inputs; the default is that of the first file, else fp32" },
	{ "out-dtype", 0, CTL_CHOICE, 0, OP(out_dtype), .choices = dtype_names,
	  .help = "element type of the results; the default is that of the inputs, int32 for sums of bytes and for indices, int8 for dynquant",
	},
	{ "scale", 0, CTL_REAL, 0, OP(scale), .arg = "X",
	  .help = "int8 and uint8 are multiples of X, in inputs and results; the default is integers",
	},
	OPT_ENGINE(OP),
	{ NULL }
};

const struct ctl_opt op_run_table[] = {
	{ "out", 'o', CTL_STRINGS, CTL_COMPLETE_FILE, OP(out), .arg = "FILE",
	  .help = "write the result to a .npy file; once for each of several results" },
	OPT_CHECK(OP),
	OPTS_MEASURE(OP),
	{ NULL }
};

void op_opts_init(void *data)
{
	struct op_opts *o = data;

	o->k = o->groups = o->batch = o->norm = o->start = UINT64_MAX;
	o->cubic = o->eps = o->value = o->p0 = o->p1 = o->scale = NAN;
	o->mode = o->coord = o->nearest = UINT32_MAX;
	o->seed = 1;
}

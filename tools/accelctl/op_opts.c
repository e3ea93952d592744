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
	  .help = "dimension, or dimensions of reductions, norms and dynquant, negative from the end; without it the last, the first of gather, scatter, concat and split, all of reductions and dynquant, the channels of group-, instance- and batch-norm (1)",
	},
	[OP_PERM] = { "perm", 0, CTL_INTS, 0, OP(perm), 0, ACCEL_MAX_RANK - 1, .arg = "LIST",
	  .help = "copy, transpose: order of the dimensions; transpose alone turns it around" },
	[OP_SIZE] = { "size", 0, CTL_INTS, 0, OP(size), 0, INT32_MAX, .arg = "LIST",
	  .help = "fill: dimensions; resize: the last dimensions of the result; split: sizes of the pieces",
	},
	[OP_K] = { "k", 'k', CTL_UINT, 0, OP(k), 0, INT32_MAX, .arg = "K",
	  .help = "topk: how many" },
	[OP_KERNEL] = { "kernel", 0, CTL_INTS, 0, OP(kernel), 1, 65536, .arg = "LIST",
	  .help = "pools: size of the window; without it all of the input" },
	[OP_STRIDE] = { "stride", 0, CTL_INTS, 0, OP(stride), 1, 65536, .arg = "LIST",
	  .help = "pools: distance of windows (1)" },
	[OP_DILATION] = { "dilation", 0, CTL_INTS, 0, OP(dilation), 1, 65536, .arg = "LIST",
	  .help = "pools: distance of the elements of a window (1)" },
	[OP_PAD] = { "pad", 0, CTL_INTS, 0, OP(pad), 0, 1048576, .arg = "LIST",
	  .help = "pools, pad: elements on all sides, or for each dimension, or before each and then after each (0)",
	},
	[OP_MODE] = { "mode", 0, CTL_CHOICE, 0, OP(mode), .choices = mode_names, .arg = "NAME",
	  .help = "resize: nearest, linear, cubic; pad: constant, edge, reflect, wrap; scatter: put, add, mul, max, min; the first is the default",
	},
	[OP_COORD] = { "coord", 0, CTL_CHOICE, 0, OP(coord), .choices = coord_names,
	  .help = "resize: where elements lie (half-pixel)" },
	[OP_NEAREST] = { "nearest", 0, CTL_CHOICE, 0, OP(nearest), .choices = nearest_names,
	  .help = "resize: which element is the nearest (half-down)" },
	[OP_CUBIC] = { "cubic", 0, CTL_REAL, 0, OP(cubic), .arg = "X",
	  .help = "resize: parameter of the cubic kernel (-0.75)" },
	[OP_EPS] = { "eps", 0, CTL_REAL, 0, OP(eps), .arg = "X",
	  .help = "norms: added to the variance (0.00001)" },
	[OP_VALUE] = { "value", 0, CTL_REAL, 0, OP(value), .arg = "X",
	  .help = "fill, pad: the constant (0)" },
	[OP_GROUPS] = { "groups", 'g', CTL_UINT, 0, OP(groups), 1, INT32_MAX, .arg = "COUNT",
	  .help = "group-norm: groups of channels; is needed" },
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
	  .help = "scan: sums without the element itself" },
	[OP_REVERSE] = { "reverse", 0, CTL_FLAG, 0, OP(reverse),
	  .help = "scan: from the last element on" },
	[OP_LAST_INDEX] = { "last-index", 0, CTL_FLAG, 0, OP(last_index),
	  .help = "arg-max, arg-min: the last of equal elements" },
	[OP_CEIL] = { "ceil", 0, CTL_FLAG, 0, OP(ceil),
	  .help = "pools: a last window that is not whole counts" },
	[OP_COUNT_PAD] = { "count-pad", 0, CTL_FLAG, 0, OP(count_pad),
	  .help = "average-pool: padding counts, as zeros" },
	[OP_INTERLEAVED] = { "interleaved", 0, CTL_FLAG, 0, OP(interleaved),
	  .help = "rotary: pairs are neighbours" },
	[OP_ASYMMETRIC] = { "asymmetric", 0, CTL_FLAG, 0, OP(asymmetric),
	  .help = "dynquant: with zero points" },
	[OP_PARAMS] = { NULL }
};

const struct ctl_opt op_opts_table[] = {
	{ "in", 'i', CTL_STRINGS, CTL_COMPLETE_FILE, OP(in), .arg = "FILE|SHAPE",
	  .help = "an input, once for each: a .npy file, or dimensions such as 4x16 for random numbers",
	},
	{ "dtype", 't', CTL_CHOICE, 0, OP(dtype), .choices = dtype_names,
	  .help = "element type of the inputs; without it the first file decides, else fp32" },
	{ "out-dtype", 0, CTL_CHOICE, 0, OP(out_dtype), .choices = dtype_names,
	  .help = "element type of the results; without it that of the inputs, int32 for sums of bytes and for indices, int8 for dynquant",
	},
	{ "scale", 0, CTL_REAL, 0, OP(scale), .arg = "X",
	  .help = "int8 and uint8 are numbers times X, in inputs and results; without it they are whole numbers",
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

// SPDX-License-Identifier: MIT
/*
 * Options of run gemm and explain gemm, for the command table.
 */
#include <math.h>

#include "gemm.h"
#include "run_opts.h"

#define GEMM(member)	offsetof(struct gemm_opts, member)

const struct ctl_opt gemm_table[] = {
	{ "m", 'm', CTL_UINT, 0, GEMM(m), 1, INT32_MAX, .arg = "M",
	  .help = "rows of A and of the result" },
	{ "n", 'n', CTL_UINT, 0, GEMM(n), 1, INT32_MAX, .arg = "N",
	  .help = "columns of B and of the result" },
	{ "k", 'k', CTL_UINT, 0, GEMM(k), 1, INT32_MAX, .arg = "K",
	  .help = "columns of A, rows of B" },
	{ "batch", 0, CTL_UINT, 0, GEMM(batch), 1, INT32_MAX, .arg = "COUNT",
	  .help = "number of products" },
	{ "dtype", 't', CTL_CHOICE, 0, GEMM(dtype), .choices = gemm_kind_names,
	  .help = "element type; int8 is summed in int32, int4 means 4-bit weights with group scales and fp16 for the rest; the default is that of the files, else fp32",
	},
	{ "out-dtype", 0, CTL_CHOICE, 0, GEMM(out_dtype), .choices = gemm_out_names,
	  .help = "element type of the result; the default is that of A, int32 for int8" },
	{ "trans-a", 0, CTL_FLAG, 0, GEMM(trans_a), .help = "A is stored K x M" },
	{ "trans-b", 0, CTL_FLAG, 0, GEMM(trans_b), .help = "B is stored N x K" },
	{ "alpha", 0, CTL_REAL, 0, GEMM(alpha), .arg = "X", .help = "factor of the product (1)" },
	{ "beta", 0, CTL_REAL, 0, GEMM(beta), .arg = "X",
	  .help = "factor of an addend C (0: no addend)" },
	{ "bias", 0, CTL_FLAG, 0, GEMM(bias), .help = "add a row of N numbers to each row" },
	{ "act", 0, CTL_CHOICE, 0, GEMM(act), .choices = ctl_act_names, .arg = "NAME",
	  .help = "activation at the end: relu, clamp, leaky_relu, sigmoid, tanh, gelu, gelu_tanh, silu, hard_sigmoid, hard_swish, elu, celu, selu, softplus, softsign, mish",
	},
	{ "p0", 0, CTL_REAL, 0, GEMM(p0), .arg = "X",
	  .help = "first parameter of the activation: lower limit (0), slope (0.01, hard_sigmoid 1/6), alpha of elu, celu (1) and selu (1.6733)",
	},
	{ "p1", 0, CTL_REAL, 0, GEMM(p1), .arg = "X",
	  .help = "second parameter: upper limit (6), hard_sigmoid 0.5, selu 1.0507" },
	{ "group", 0, CTL_UINT, 0, GEMM(group), 16, 4096, .arg = "COUNT",
	  .help = "int4: number of weights along K that share a scale, a power of two (32)" },
	OPT_ENGINE(GEMM),
	{ "pack", 0, CTL_FLAG, 0, GEMM(pack),
	  .help = "B is constant: pack it for the engine beforehand" },
	{ "a", 0, CTL_STRING, CTL_COMPLETE_FILE, GEMM(a), .arg = "FILE",
	  .help = "take A and its sizes from a .npy file" },
	{ "b", 0, CTL_STRING, CTL_COMPLETE_FILE, GEMM(b), .arg = "FILE",
	  .help = "take B from a .npy file; for int4 either numbers from -8 to 7 or floating point, which is quantised",
	},
	{ "scales", 0, CTL_STRING, CTL_COMPLETE_FILE, GEMM(scales), .arg = "FILE",
	  .help = "int4: scales of --b, one for each group along K; the default is 1" },
	{ NULL }
};

const struct ctl_opt gemm_run_table[] = {
	{ "out", 'o', CTL_STRING, CTL_COMPLETE_FILE, GEMM(out), .arg = "FILE",
	  .help = "write the result to a .npy file" },
	OPT_CHECK(GEMM),
	{ "compare", 0, CTL_STRING, CTL_COMPLETE_FILE, GEMM(compare), .arg = "FILE",
	  .help = "compare with a result in a .npy file, for instance of another device: differences of at most twice the bound are allowed, integers must be equal",
	},
	OPTS_MEASURE(GEMM),
	{ "brief", 0, CTL_FLAG, 0, GEMM(brief),
	  .help = "print one line: shape, type, engine, time, GFLOP/s, error, bound, verdict" },
	{ NULL }
};

void gemm_opts_init(void *data)
{
	struct gemm_opts *o = data;

	o->dtype = GEMM_UNSET;
	o->out_dtype = GEMM_UNSET;
	o->alpha = 1;
	o->group = 32;
	o->seed = 1;
	o->p0 = NAN;
	o->p1 = NAN;
}

// SPDX-License-Identifier: MIT
/*
 * Options of run attention and explain attention, for the command table.
 */
#include <math.h>

#include "attn.h"
#include "run_opts.h"

#define ATTN(member)	offsetof(struct attn_opts, member)

const char *const attn_dtype_names[] = { "fp32", "fp16", "bf16", NULL };
const char *const attn_kv_names[] = { "fp32", "fp16", "bf16", "int8", NULL };

const struct ctl_opt attn_table[] = {
	{ "batch", 0, CTL_UINT, 0, ATTN(batch), 1, 65536, .arg = "COUNT",
	  .help = "number of sequences (1)" },
	{ "queries", 0, CTL_UINT, 0, ATTN(queries), 1, 16777216, .arg = "COUNT",
	  .help = "number of queries of each sequence (64); the last is at the last key" },
	{ "keys", 0, CTL_UINT, 0, ATTN(keys), 1, 16777216, .arg = "COUNT",
	  .help = "number of keys and values of each sequence; the default is --queries" },
	{ "heads", 0, CTL_UINT, 0, ATTN(heads), 1, 65536, .arg = "COUNT",
	  .help = "number of heads of the queries (4)" },
	{ "kv-heads", 0, CTL_UINT, 0, ATTN(kv_heads), 1, 65536, .arg = "COUNT",
	  .help = "number of heads of keys and values, each shared by the same number of heads of queries; the default is --heads",
	},
	{ "dim", 0, CTL_UINT, 0, ATTN(dim), 1, 1024, .arg = "COUNT",
	  .help = "size of a head (64)" },
	{ "dtype", 't', CTL_CHOICE, 0, ATTN(dtype), .choices = attn_dtype_names,
	  .help = "element type of queries and result (fp32)" },
	{ "kv-dtype", 0, CTL_CHOICE, 0, ATTN(kv_dtype), .choices = attn_kv_names,
	  .help = "element type of keys and values; int8 has a scale for each row and head; the default is --dtype",
	},
	{ "causal", 0, CTL_FLAG, 0, ATTN(causal),
	  .help = "a query does not see the keys after it" },
	{ "window", 0, CTL_UINT, 0, ATTN(window), 0, UINT32_MAX - 1, .arg = "COUNT",
	  .help = "a query sees keys at a distance of at most this" },
	{ "keep", 0, CTL_UINT, 0, ATTN(keep), 0, INT32_MAX, .arg = "COUNT",
	  .help = "first keys that --window does not hide (0)" },
	{ "scale", 0, CTL_REAL, 0, ATTN(scale), .arg = "X",
	  .help = "factor of the scores; the default is 1 / sqrt(dim)" },
	{ "softcap", 0, CTL_REAL, 0, ATTN(softcap), .arg = "X",
	  .help = "replace scores s by X tanh(s / X) (0: do not)" },
	{ "alibi", 0, CTL_FLAG, 0, ATTN(alibi),
	  .help = "subtract from scores the distance of query and key times 2^(-8 i / heads), for head i from 1",
	},
	{ "sinks", 0, CTL_FLAG, 0, ATTN(sinks),
	  .help = "add a random score without a value for each head" },
	{ "mask", 0, CTL_STRING, CTL_COMPLETE_FILE, ATTN(mask), .arg = "FILE",
	  .help = "mask in a .npy file, [batch, heads, queries, keys]; leading dimensions may be missing and any may be 1: floating point is added to the scores, b1 and u1 hide keys with 0",
	},
	{ "page-size", 0, CTL_UINT, 0, ATTN(page_size), 1, 16777216, .arg = "COUNT",
	  .help = "store keys and values in pages of this number, in an order that depends on --seed",
	},
	{ "pieces", 0, CTL_UINT, 0, ATTN(pieces), 1, 256, .arg = "COUNT",
	  .help = "divide the keys into this number of pieces, computed in parallel: for few queries and many keys",
	},
	{ "q", 0, CTL_STRING, CTL_COMPLETE_FILE, ATTN(q), .arg = "FILE",
	  .help = "take the queries from a .npy file, [batch, queries, heads, dim]" },
	{ "k", 0, CTL_STRING, CTL_COMPLETE_FILE, ATTN(k), .arg = "FILE",
	  .help = "take the keys from a .npy file, [batch, keys, kv-heads, dim]" },
	{ "v", 0, CTL_STRING, CTL_COMPLETE_FILE, ATTN(v), .arg = "FILE",
	  .help = "take the values from a .npy file, [batch, keys, kv-heads, any dim]" },
	OPT_ENGINE(ATTN),
	{ NULL }
};

const struct ctl_opt attn_run_table[] = {
	{ "out", 'o', CTL_STRING, CTL_COMPLETE_FILE, ATTN(out), .arg = "FILE",
	  .help = "write the result to a .npy file" },
	OPT_CHECK(ATTN),
	OPTS_MEASURE(ATTN),
	{ NULL }
};

void attn_opts_init(void *data)
{
	struct attn_opts *o = data;

	o->kv_dtype = ATTN_UNSET;
	o->window = ATTN_NO_WINDOW;
	o->scale = NAN;
	o->seed = 1;
}

// SPDX-License-Identifier: MIT
/*
 * Options of the model commands, for the command table.
 */
#include "model.h"

#define OPT(member)	offsetof(struct model_opts, member)

static const char *const formats[] = { "text", "json", "dot", NULL };
static const char *const pixel_names[] = {
	[PIXELS_AUTO] = "auto", [PIXELS_IMAGENET] = "imagenet", [PIXELS_UNIT] = "unit",
	[PIXELS_SIGNED] = "signed", [PIXELS_RAW] = "raw", NULL
};

static const char *const fit_names[] = {
	[FIT_AUTO] = "auto", [FIT_CROP] = "crop", [FIT_STRETCH] = "stretch", NULL
};

static const char *const dtypes[] = {
	[MODEL_F32] = "fp32", [MODEL_BF16] = "bf16", [MODEL_F16] = "fp16", [MODEL_INT8] = "int8",
	NULL
};

const struct ctl_opt model_table[] = {
	{ "op", 0, CTL_STRINGS, CTL_COMPLETE_FILE, OPT(ops), .arg = "LIB",
	  .help = "a shared object with operators that are not built in, whose code is run; may be given again",
	},
	{ NULL }
};

const struct ctl_opt model_input_table[] = {
	{ "level", 'O', CTL_UINT, 0, OPT(level), 0, 3, .arg = "LEVEL",
	  .help = "0: every node as it is, to 3: all passes (3)" },
	{ "off", 0, CTL_STRINGS, 0, OPT(off), .arg = "PASS",
	  .help = "leave a pass out: cse, pack, winograd, ...; may be given again" },
	{ "engine", 0, CTL_CHOICE, 0, OPT(engine), .choices = ctl_engine_names,
	  .help = "engine for all operations" },
	{ "dtype", 't', CTL_CHOICE, 0, OPT(dtype), .choices = dtypes,
	  .help = "what products and convolutions of fp32 are computed in; int8: products by constant matrices, as model quantize does it by itself (fp32)",
	},
	{ "threads", 0, CTL_UINT, 0, OPT(threads), 1, 4096, .arg = "COUNT",
	  .help = "in-process device: threads; the default is one a core" },
	{ "reproducible", 0, CTL_FLAG, 0, OPT(reproducible),
	  .help = "what is computed for one of a batch is the same in any batch, to the bit" },
	{ "no-cache", 0, CTL_FLAG, 0, OPT(no_cache),
	  .help = "packed weights are neither looked for in accel/weights of XDG_CACHE_HOME nor left there",
	},
	{ "dim", 0, CTL_STRINGS, 0, OPT(dims), .arg = "NAME=NUMBER",
	  .help = "what a symbol among the dimensions stands for (1); may be given again" },
	{ "input", 'i', CTL_STRINGS, CTL_COMPLETE_FILE, OPT(inputs), .arg = "[NAME=]FILE",
	  .help = "an input from a file: .npy, .npz, .safetensors, a tensor in .pb, a picture in .png or .jpg; may be given again",
	},
	{ "golden", 0, CTL_STRING, CTL_COMPLETE_FILE, OPT(golden), .arg = "FILE",
	  .help = "inputs from in.NAME of a file of arrays; run: outputs are compared with its out.NAME",
	},
	{ "seed", 0, CTL_UINT, 0, OPT(seed), 0, UINT32_MAX, .arg = "NUMBER",
	  .help = "of inputs that come from no file and are random, from -1 to 1 (1)" },
	{ "below", 0, CTL_UINT, 0, OPT(below), 1, INT32_MAX, .arg = "NUMBER",
	  .help = "random inputs that are whole are from 0 to below this (1: all 0)" },
	{ "pixels", 0, CTL_CHOICE, 0, OPT(pixels), .choices = pixel_names,
	  .help = "bytes of pictures: imagenet: from 0 to 1, less its mean, by its deviation; unit: from 0 to 1; signed: from -1 to 1; raw: as they are (auto: as the model says in its metadata, or preprocessor_config.json beside it; else colour imagenet, grey unit, bytes raw)",
	},
	{ "fit", 0, CTL_CHOICE, 0, OPT(fit), .choices = fit_names,
	  .help = "pictures: their middle, or all of them, stretched (auto: as the model says, else crop)",
	},
	{ "resize", 0, CTL_UINT, 0, OPT(resize), 1, 16384, .arg = "PIXELS",
	  .help = "shorter side of a picture before its middle is taken (as the model says, else 8/7 of it: 256 for 224)",
	},
	{ "scale", 0, CTL_REAL, 0, OPT(scale), .arg = "NUMBER",
	  .help = "a byte of a picture is multiplied by it, for what --pixels says" },
	{ "mean", 0, CTL_STRING, 0, OPT(mean), .arg = "A[,B,C]",
	  .help = "then this is subtracted, for each channel" },
	{ "std", 0, CTL_STRING, 0, OPT(std), .arg = "A[,B,C]",
	  .help = "then it is divided by this" },
	{ "bgr", 0, CTL_FLAG, 0, OPT(bgr), .help = "the first channel of a picture is blue" },
	{ NULL }
};

const struct ctl_opt model_run_table[] = {
	{ "tolerance", 0, CTL_REAL, 0, OPT(tolerance), .arg = "ERROR",
	  .help = "largest error, as a share of the largest number of an output (0.001)" },
	{ "repeat", 'r', CTL_UINT, 0, OPT(repeat), 1, 1000000, .arg = "COUNT",
	  .help = "measured runs, after one that is not (1)" },
	{ "out", 'o', CTL_STRING, CTL_COMPLETE_FILE, OPT(out), .arg = "FILE",
	  .help = "write the outputs to an .npz" },
	{ "top", 0, CTL_UINT, 0, OPT(top), 1, 1000, .arg = "COUNT",
	  .help = "show the largest elements of each row of an output" },
	{ "labels", 0, CTL_STRING, CTL_COMPLETE_FILE, OPT(labels), .arg = "FILE",
	  .help = "their names, one a line, from the first on; shows the largest 5 without --top" },
	{ NULL }
};

const struct ctl_opt model_compile_table[] = {
	{ "out", 'o', CTL_STRING, CTL_COMPLETE_FILE, OPT(out), .arg = "FILE",
	  .help = "the compiled program that is written" },
	{ "seen", 0, CTL_FLAG, 0, OPT(seen),
	  .help = "only for the numbers of --dim: without the graph and what was packed, a smaller file",
	},
	{ NULL }
};

const struct ctl_opt model_explain_table[] = {
	{ "format", 0, CTL_CHOICE, 0, OPT(format), .choices = formats,
	  .help = "text, a JSON document, or a graph for Graphviz" },
	{ "dot", 0, CTL_FLAG, 0, OPT(dot), .help = "the same as --format dot" },
	{ NULL }
};

const struct ctl_opt model_profile_table[] = {
	{ "repeat", 'r', CTL_UINT, 0, OPT(repeat), 1, 10000, .arg = "COUNT",
	  .help = "times that each node runs, after a run of all of them; the median is told (5)" },
	{ "chrome", 0, CTL_STRING, CTL_COMPLETE_FILE, OPT(chrome), .arg = "FILE",
	  .help = "write the nodes in the Chrome trace format too, for a trace viewer" },
	{ NULL }
};

const struct ctl_opt model_bench_table[] = {
	{ "repeat", 'r', CTL_UINT, 0, OPT(repeat), 1, 1000000, .arg = "COUNT",
	  .help = "measured runs of each, after one that is not (10)" },
	{ "batch", 'b', CTL_INTS, 0, OPT(batches), 1, 65536, .arg = "LIST",
	  .help = "numbers for the first dimension of the first input, if it is a symbol (1)" },
	{ NULL }
};

static const char *const schemes[] = { "dynamic", "static", "4bit", "prune24", "palette256",
					"palette16", NULL };
static const char *const methods[] = {
	[METHOD_MINMAX] = "minmax", [METHOD_PERCENTILE] = "percentile",
	[METHOD_ENTROPY] = "entropy", NULL
};

const struct ctl_opt model_quantize_table[] = {
	{ "out", 'o', CTL_STRING, CTL_COMPLETE_FILE, OPT(out), .arg = "FILE",
	  .help = "the model that is written" },
	{ "scheme", 0, CTL_CHOICE, 0, OPT(scheme), .choices = schemes,
	  .help = "dynamic: products in 8 bits, ranges are found each time; static: convolutions too, by ranges of --calibrate; 4bit: weights of products, in blocks of 32; prune24: of each four weights along what is summed two become 0; palette256, palette16: weights are places in a table of so many numbers (dynamic)",
	},
	{ "calibrate", 0, CTL_STRINGS, CTL_COMPLETE_FILE, OPT(samples), .arg = "PATH",
	  .help = "a file of inputs as for --input, or a folder of such; may be given again" },
	{ "method", 0, CTL_CHOICE, 0, OPT(method), .choices = methods,
	  .help = "static: ranges of all numbers, of most, or those that lose least information (minmax)",
	},
	{ "percentile", 0, CTL_REAL, 0, OPT(percentile), .arg = "PERCENT",
	  .help = "numbers that a range of --method percentile has (99.99)" },
	{ "threshold", 0, CTL_REAL, 0, OPT(threshold), .arg = "ERROR",
	  .help = "largest error of an output, root mean square, as a share of the output: layers stay in floating point, those that lose most first, until it holds (0.1; 4bit, palette16 0.25; prune24 0.4)",
	},
	{ "keep", 0, CTL_STRINGS, 0, OPT(keep), .arg = "NAME",
	  .help = "a layer that stays in floating point, by the name of its result or node; may be given again",
	},
	{ NULL }
};

const struct ctl_opt model_convert_table[] = {
	{ "type", 0, CTL_CHOICE, 0, OPT(type), .choices = model_weight_types,
	  .help = "folders and GGUF files: what matrices are written in; blocks (q...) are in GGUF",
	},
	{ "table-type", 0, CTL_CHOICE, 0, OPT(table_type), .choices = model_weight_types,
	  .help = "the tables of tokens, and to tokens; the default is --type, but q6_k for 4 bits",
	},
	{ "tokenizer", 0, CTL_STRING, CTL_COMPLETE_FILE, OPT(tokenizer), .arg = "FILE|FOLDER",
	  .help = "tokenizer for a GGUF file; the default is the folder's" },
	{ "text", 0, CTL_STRING, CTL_COMPLETE_FILE, OPT(text), .arg = "FILE",
	  .help = "measure the perplexity of a text, before and after" },
	{ "limit", 0, CTL_UINT, 0, OPT(limit), 2, INT32_MAX, .arg = "TOKENS",
	  .help = "the first tokens of the text alone" },
	{ NULL }
};

const struct ctl_opt model_imatrix_table[] = {
	{ "imatrix-from", 0, CTL_STRING, CTL_COMPLETE_FILE, OPT(imatrix_from), .arg = "FILE",
	  .help = "a text: columns of matrices that are multiplied by large numbers there count more when scales of blocks are chosen; the perplexity is that of this text, without --text",
	},
	{ "imatrix-out", 0, CTL_STRING, CTL_COMPLETE_FILE, OPT(imatrix_out), .arg = "FILE",
	  .help = "keep how much they count, as llama.cpp does" },
	{ "imatrix", 0, CTL_STRING, CTL_COMPLETE_FILE, OPT(imatrix), .arg = "FILE",
	  .help = "the same from such a file, of any program" },
	{ NULL }
};

const struct ctl_opt model_compare_table[] = {
	{ "with-device", 0, CTL_STRING, CTL_COMPLETE_DEVICE, OPT(with_device), .arg = "DEVICE",
	  .help = "device of the second model, if not that of the first" },
	{ "with-dtype", 0, CTL_CHOICE, 0, OPT(with_dtype), .choices = dtypes,
	  .help = "what it is computed in, if not what the first is" },
	{ "with-level", 0, CTL_UINT, 0, OPT(with_level), 0, 3, .arg = "LEVEL",
	  .help = "its level, if not that of the first" },
	{ "tolerance", 0, CTL_REAL, 0, OPT(tolerance), .arg = "ERROR",
	  .help = "largest error, root mean square, as a share of what it should be (0.001)" },
	{ "all", 0, CTL_FLAG, 0, OPT(all),
	  .help = "show every layer, not only those that are further off than all before" },
	{ NULL }
};

void model_init(void *data)
{
	struct model_opts *o = data;

	o->level = 3;
	o->tolerance = 0.001;
	o->repeat = 1;
	o->seed = 1;
	o->below = 1;
	o->percentile = 99.99;
	o->with_level = 4;
	o->with_dtype = MODEL_SAME;
}

/* What is packed of models that are tried is of no use later. */
void model_quantize_init(void *data)
{
	struct model_opts *o = data;

	model_init(o);
	o->no_cache = 1;
}

void model_profile_init(void *data)
{
	struct model_opts *o = data;

	model_init(o);
	o->repeat = 5;
}

void model_bench_init(void *data)
{
	struct model_opts *o = data;

	model_init(o);
	o->repeat = 10;
}

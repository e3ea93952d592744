// SPDX-License-Identifier: MIT
/*
 * Options of the model commands, for the command table.
 */
#include <math.h>
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
	  .help = "shared object with custom operators, whose code is executed; can be repeated",
	},
	{ NULL }
};

const struct ctl_opt model_input_table[] = {
	{ "level", 'O', CTL_UINT, 0, OPT(level), 0, 3, .arg = "LEVEL",
	  .help = "optimisation level, from 0: no passes, to 3: all passes (3)" },
	{ "off", 0, CTL_STRINGS, 0, OPT(off), .arg = "PASS",
	  .help = "disable a pass: cse, pack, winograd, ...; can be repeated" },
	{ "engine", 0, CTL_CHOICE, 0, OPT(engine), .choices = ctl_engine_names,
	  .help = "engine for all operations" },
	{ "dtype", 't', CTL_CHOICE, 0, OPT(dtype), .choices = dtypes,
	  .help = "type in which fp32 products and convolutions are computed; int8: products by constant matrices, as with model quantize's default (fp32)",
	},
	{ "threads", 0, CTL_UINT, 0, OPT(threads), 1, 4096, .arg = "COUNT",
	  .help = "in-process device: number of threads; the default is one per core" },
	{ "reproducible", 0, CTL_FLAG, 0, OPT(reproducible),
	  .help = "the result for an item is identical in batches of any size" },
	{ "no-cache", 0, CTL_FLAG, 0, OPT(no_cache),
	  .help = "do not use the cache of packed weights, accel/weights in XDG_CACHE_HOME",
	},
	{ "dim", 0, CTL_STRINGS, 0, OPT(dims), .arg = "NAME=NUMBER",
	  .help = "value of a symbolic dimension (1); can be repeated" },
	{ "input", 'i', CTL_STRINGS, CTL_COMPLETE_FILE, OPT(inputs), .arg = "[NAME=]FILE",
	  .help = "input from a file: .npy, .npz, .safetensors, a tensor in .pb, a picture in .png or .jpg; can be repeated",
	},
	{ "golden", 0, CTL_STRING, CTL_COMPLETE_FILE, OPT(golden), .arg = "FILE",
	  .help = "take inputs from in.NAME of a file of arrays; run: compare outputs with its out.NAME",
	},
	{ "seed", 0, CTL_UINT, 0, OPT(seed), 0, UINT32_MAX, .arg = "NUMBER",
	  .help = "seed of random inputs, which are from -1 to 1 (1)" },
	{ "below", 0, CTL_UINT, 0, OPT(below), 1, INT32_MAX, .arg = "NUMBER",
	  .help = "random integer inputs are from 0 to NUMBER - 1 (1: all 0)" },
	{ "pixels", 0, CTL_CHOICE, 0, OPT(pixels), .choices = pixel_names,
	  .help = "conversion of pixels: imagenet: from 0 to 1, minus the mean, divided by the deviation; unit: from 0 to 1; signed: from -1 to 1; raw: unchanged (auto: from the model's metadata or its preprocessor_config.json, else imagenet for colour, unit for grey, raw for bytes)",
	},
	{ "fit", 0, CTL_CHOICE, 0, OPT(fit), .choices = fit_names,
	  .help = "pictures: crop the centre, or resize the whole picture (auto: as the model says, else crop)",
	},
	{ "resize", 0, CTL_UINT, 0, OPT(resize), 1, 16384, .arg = "PIXELS",
	  .help = "shorter side of a picture before it is cropped (as the model says, else 8/7 of the crop: 256 for 224)",
	},
	{ "scale", 0, CTL_REAL, 0, OPT(scale), .arg = "NUMBER",
	  .help = "factor for the pixels, instead of that of --pixels" },
	{ "mean", 0, CTL_STRING, 0, OPT(mean), .arg = "A[,B,C]",
	  .help = "value that is then subtracted, for each channel" },
	{ "std", 0, CTL_STRING, 0, OPT(std), .arg = "A[,B,C]",
	  .help = "value that it is then divided by" },
	{ "bgr", 0, CTL_FLAG, 0, OPT(bgr),
	  .help = "channels of pictures in the order blue, green, red",
	},
	{ NULL }
};

const struct ctl_opt model_run_table[] = {
	{ "tolerance", 0, CTL_REAL, 0, OPT(tolerance), .arg = "ERROR",
	  .help = "largest error, relative to the largest number of an output (0.001; 0.1 if activations are rounded to bytes)",
	},
	{ "repeat", 'r', CTL_UINT, 0, OPT(repeat), 1, 1000000, .arg = "COUNT",
	  .help = "number of measured runs, after a warm-up run (1)" },
	{ "out", 'o', CTL_STRING, CTL_COMPLETE_FILE, OPT(out), .arg = "FILE",
	  .help = "write the outputs to an .npz file" },
	{ "top", 0, CTL_UINT, 0, OPT(top), 1, 1000, .arg = "COUNT",
	  .help = "show the largest elements of each row of an output" },
	{ "labels", 0, CTL_STRING, CTL_COMPLETE_FILE, OPT(labels), .arg = "FILE",
	  .help = "file with the names of the elements, one per line; the default of --top is 5 then",
	},
	{ NULL }
};

const struct ctl_opt model_compile_table[] = {
	{ "out", 'o', CTL_STRING, CTL_COMPLETE_FILE, OPT(out), .arg = "FILE",
	  .help = "file name of the compiled program" },
	{ "seen", 0, CTL_FLAG, 0, OPT(seen),
	  .help = "only for the values of --dim: the file is smaller, without the graph and the original weights",
	},
	{ NULL }
};

const struct ctl_opt model_explain_table[] = {
	{ "format", 0, CTL_CHOICE, 0, OPT(format), .choices = formats,
	  .help = "output format: text, a JSON document, or a graph for Graphviz" },
	{ "dot", 0, CTL_FLAG, 0, OPT(dot), .help = "the same as --format dot" },
	{ NULL }
};

const struct ctl_opt model_profile_table[] = {
	{ "repeat", 'r', CTL_UINT, 0, OPT(repeat), 1, 10000, .arg = "COUNT",
	  .help = "number of runs of each node, after a warm-up run; the median is shown (5)" },
	{ "chrome", 0, CTL_STRING, CTL_COMPLETE_FILE, OPT(chrome), .arg = "FILE",
	  .help = "also write the nodes in the Chrome trace format, for a trace viewer" },
	{ NULL }
};

const struct ctl_opt model_bench_table[] = {
	{ "repeat", 'r', CTL_UINT, 0, OPT(repeat), 1, 1000000, .arg = "COUNT",
	  .help = "number of measured runs of each, after a warm-up run (10)" },
	{ "batch", 'b', CTL_INTS, 0, OPT(batches), 1, 65536, .arg = "LIST",
	  .help = "batch sizes: values of the first dimension of the first input, if it is symbolic (1)",
	},
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
	  .help = "file name of the new model" },
	{ "scheme", 0, CTL_CHOICE, 0, OPT(scheme), .choices = schemes,
	  .help = "dynamic: 8-bit products, with ranges found in each run; static: also convolutions, with ranges from --calibrate; 4bit: weights of products, in blocks of 32; prune24: two of each four consecutive weights along the summed dimension become 0; palette256, palette16: weights are indices into a table of 256 or 16 numbers (dynamic)",
	},
	{ "calibrate", 0, CTL_STRINGS, CTL_COMPLETE_FILE, OPT(samples), .arg = "PATH",
	  .help = "file with inputs as for --input, or a directory of such files; can be repeated",
	},
	{ "method", 0, CTL_CHOICE, 0, OPT(method), .choices = methods,
	  .help = "static: ranges that include all numbers, most of them, or lose the least information (minmax)",
	},
	{ "percentile", 0, CTL_REAL, 0, OPT(percentile), .arg = "PERCENT",
	  .help = "percentage of numbers in a range, for --method percentile (99.99)" },
	{ "threshold", 0, CTL_REAL, 0, OPT(threshold), .arg = "ERROR",
	  .help = "largest relative error of an output, root mean square: layers are kept in floating point, those with the largest errors first, until all outputs are below it (0.1; 4bit, palette16 0.25; prune24 0.4)",
	},
	{ "keep", 0, CTL_STRINGS, 0, OPT(keep), .arg = "NAME",
	  .help = "layer to keep in floating point, by the name of its result or node; can be repeated",
	},
	{ NULL }
};

const struct ctl_opt model_convert_table[] = {
	{ "type", 0, CTL_CHOICE, 0, OPT(type), .choices = model_weight_types,
	  .help = "model directories and GGUF files: type of the matrices; blocks (q...) need GGUF",
	},
	{ "table-type", 0, CTL_CHOICE, 0, OPT(table_type), .choices = model_weight_types,
	  .help = "type of the token embeddings and of the matrix for logits; the default is --type, or q6_k for 4 bits",
	},
	{ "tokenizer", 0, CTL_STRING, CTL_COMPLETE_FILE, OPT(tokenizer), .arg = "FILE|FOLDER",
	  .help = "tokenizer for a GGUF file; the default is the one in the model directory" },
	{ "text", 0, CTL_STRING, CTL_COMPLETE_FILE, OPT(text), .arg = "FILE",
	  .help = "compute the perplexity of a text before and after" },
	{ "limit", 0, CTL_UINT, 0, OPT(limit), 2, INT32_MAX, .arg = "TOKENS",
	  .help = "use only the first tokens of the text" },
	{ NULL }
};

const struct ctl_opt model_onto_table[] = {
	{ "onto", 0, CTL_STRING, CTL_COMPLETE_FILE, OPT(onto), .arg = "MODEL.onnx",
	  .help = "write this ONNX model as OUT, with the tensors of the safetensors file FILE instead of its initializers of the same names",
	},
	{ NULL }
};

const struct ctl_opt model_imatrix_table[] = {
	{ "imatrix-from", 0, CTL_STRING, CTL_COMPLETE_FILE, OPT(imatrix_from), .arg = "FILE",
	  .help = "weight the columns of matrices by the activations for this text when scales of blocks are chosen; without --text, also compute the perplexity of this text",
	},
	{ "imatrix-out", 0, CTL_STRING, CTL_COMPLETE_FILE, OPT(imatrix_out), .arg = "FILE",
	  .help = "write the weights of the columns to a file, as llama.cpp does" },
	{ "imatrix", 0, CTL_STRING, CTL_COMPLETE_FILE, OPT(imatrix), .arg = "FILE",
	  .help = "read the weights of the columns from such a file, of any program" },
	{ NULL }
};

const struct ctl_opt model_compare_table[] = {
	{ "with-device", 0, CTL_STRING, CTL_COMPLETE_DEVICE, OPT(with_device), .arg = "DEVICE",
	  .help = "device of the second model; the default is that of the first" },
	{ "with-dtype", 0, CTL_CHOICE, 0, OPT(with_dtype), .choices = dtypes,
	  .help = "type of its products; the default is that of the first" },
	{ "with-level", 0, CTL_UINT, 0, OPT(with_level), 0, 3, .arg = "LEVEL",
	  .help = "its optimisation level; the default is that of the first" },
	{ "tolerance", 0, CTL_REAL, 0, OPT(tolerance), .arg = "ERROR",
	  .help = "largest relative error, root mean square (0.001)" },
	{ "all", 0, CTL_FLAG, 0, OPT(all),
	  .help = "show every layer, not only those with larger errors than all before" },
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

void model_run_init(void *data)
{
	struct model_opts *o = data;

	model_init(o);
	o->tolerance = NAN;
}

/* Packed forms of models that are only tried are not used again. */
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

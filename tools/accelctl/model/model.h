/* SPDX-License-Identifier: MIT */
/*
 * model: networks from files.
 *
 *	arrays.c element.c	arrays of files, elements of all types
 *	image.c recipe.c	pictures as inputs, and what models say of these
 *	options.c		the tables of options
 *	session.c input.c	a model on a device, and what goes into it
 *	golden.c		what comes out of it, beside what should
 *	greedy.c		text that it goes on with, beside what should
 *	probe.c			values within two models, side by side
 *	calibrate.c		the ranges of values
 *	imatrix.c		how much columns of matrices count
 *	cmd_*.c			the commands; a FILE may be a compiled program too
 */
#ifndef ACCELCTL_MODEL_H
#define ACCELCTL_MODEL_H

#include <accel/model.h>

#include "accelctl.h"
#include "arrays.h"

/**
 * struct model_opts - options of the model commands
 * @level: what is done to the graph, 0 to 3
 * @engine: engine of all operations
 * @ops: shared objects that have operators
 * @threads: of the in-process device, 0: one a core
 * @reproducible: in a context that is ACCEL_CTX_REPRODUCIBLE
 * @no_cache: packed weights are not kept
 * @repeat: measured runs
 * @off: passes that are not to be done, by name
 * @dims: numbers for symbols, "name=number"
 * @inputs: files, "name=file"
 * @seed: of random inputs
 * @below: whole random numbers are from 0 to below it
 * @pixels: what bytes of pictures become, &enum model_pixels
 * @resize: pixels of the shorter side before the middle is taken
 * @fit: how pictures are brought to size, &enum model_fit
 * @scale: of a byte, 0: as @pixels has it
 * @mean: "a,b,c", or NULL
 * @std: the same
 * @bgr: blue first
 * @pictures: model whose words on pictures count; NULL: the one that is run
 * @golden: file of inputs and right outputs
 * @tolerance: largest error, as a share of the largest output; run: NAN, as the program says
 * @out: file for the outputs
 * @top: largest elements that are shown
 * @labels: file of their names
 * @format: of explain
 * @dot: explain: for Graphviz
 * @chrome: profile: file for a trace
 * @batches: bench: numbers for the first dimension
 * @scheme: quantize: &enum accel_model_scheme - 1
 * @samples: files, or folders of files, of inputs
 * @method: how ranges are found, &enum model_method
 * @percentile: share of numbers that a range has, in percent
 * @threshold: largest error of an output, 0: by the scheme
 * @keep: layers that stay as they are
 * @dtype: what products are computed in, &enum model_dtype
 * @with_dtype: compare: that of the second model; MODEL_SAME: that of the first
 * @with_device: compare: device of the second model
 * @with_level: its level, 4: that of the first
 * @all: all layers
 * @seen: compile: only for the numbers of dims
 * @type: convert: of matrices, index of model_weight_types
 * @table_type: of the tables of tokens, likewise
 * @tokenizer: for the file that is written
 * @onto: ONNX model that gets the weights
 * @text: file of a text, before and after
 * @limit: most tokens of it
 * @imatrix: file of an importance matrix
 * @imatrix_from: file of a text that gives one
 * @imatrix_out: file for that
 */
struct model_opts {
	uint64_t level;
	uint32_t engine;
	uint64_t threads;
	uint64_t repeat;
	struct ctl_strings ops;
	struct ctl_strings off;
	struct ctl_strings dims;
	struct ctl_strings inputs;
	uint64_t seed;
	uint64_t below;
	uint32_t pixels;
	uint64_t resize;
	uint32_t fit;
	double scale;
	const char *mean;
	const char *std;
	uint32_t bgr;
	const char *pictures;
	uint32_t reproducible;
	uint32_t no_cache;
	const char *golden;
	double tolerance;
	const char *out;
	uint64_t top;
	const char *labels;
	uint32_t format;
	uint32_t dot;
	const char *chrome;
	struct ctl_ints batches;
	uint32_t scheme;
	struct ctl_strings samples;
	uint32_t method;
	double percentile;
	double threshold;
	struct ctl_strings keep;
	uint32_t dtype;
	uint32_t with_dtype;
	const char *with_device;
	uint64_t with_level;
	uint32_t all;
	uint32_t seen;
	uint32_t type;
	uint32_t table_type;
	const char *tokenizer;
	const char *onto;
	const char *text;
	uint64_t limit;
	const char *imatrix;
	const char *imatrix_from;
	const char *imatrix_out;
};

/* What a byte of a picture becomes */
enum model_pixels {
	PIXELS_AUTO, PIXELS_IMAGENET, PIXELS_UNIT, PIXELS_SIGNED, PIXELS_RAW
};

/* How a picture comes to size: as the model says, its middle, or all of it, stretched */
enum model_fit {
	FIT_AUTO, FIT_CROP, FIT_STRETCH
};

/* How ranges of values are found: all numbers; most of them; what tells most of them apart */
enum model_method {
	METHOD_MINMAX, METHOD_PERCENTILE, METHOD_ENTROPY
};

/* What products and convolutions are computed in */
enum model_dtype {
	MODEL_F32, MODEL_BF16, MODEL_F16, MODEL_INT8, MODEL_SAME
};

extern const struct ctl_opt model_imatrix_table[];
extern const struct ctl_opt model_table[];
extern const struct ctl_opt model_input_table[];
extern const struct ctl_opt model_run_table[];
extern const struct ctl_opt model_explain_table[];
extern const struct ctl_opt model_profile_table[];
extern const struct ctl_opt model_bench_table[];
extern const struct ctl_opt model_quantize_table[];
extern const struct ctl_opt model_compile_table[];
extern const struct ctl_opt model_compare_table[];
extern const struct ctl_opt model_convert_table[];
extern const struct ctl_opt model_onto_table[];
extern const char *const model_weight_types[];

void model_init(void *data);
void model_run_init(void *data);
void model_profile_init(void *data);
void model_bench_init(void *data);
void model_quantize_init(void *data);

/**
 * struct session - a model on a device
 * @ctl: invocation
 * @opts: options
 * @path: of the model
 * @operators: of shared objects, or NULL
 * @model: model, NULL: the file is a compiled program
 * @dev: device
 * @ctx: context
 * @program: program
 * @state: state
 * @golden: inputs and outputs, or nothing
 * @files: arrays of the files of --input, in their order
 */
struct session {
	struct ctl *ctl;
	const struct model_opts *opts;
	const char *path;
	struct accel_operators *operators;
	struct accel_model *model;
	struct accel_device *dev;
	struct accel_ctx *ctx;
	struct accel_program *program;
	struct accel_state *state;
	struct npz golden;
	struct npz files[CTL_LIST_MAX];
};

/* --- session.c --- */

/** session_operators - the operators of --op; NULL without it. An exit status */
int session_operators(struct ctl *ctl, const struct model_opts *opts,
		      struct accel_operators **operators);

/** session_model - read a model; what is wrong is told. An exit status */
int session_model(struct ctl *ctl, const struct model_opts *opts, const char *path,
		  struct accel_model **model);

/**
 * session_open - bring a model to the device of the options, with its inputs
 * @s: out; session_close() it, also when this fails
 * @ctl: invocation
 * @opts: options
 * @device: device, or NULL
 * @path: model
 *
 * Return: an exit status.
 */
int session_open(struct session *s, struct ctl *ctl, const struct model_opts *opts,
		 const char *device, const char *path);
/** session_load - the same without its program: outputs may be added; then session_compile() */
int session_load(struct session *s, struct ctl *ctl, const struct model_opts *opts,
		 const char *device, const char *path);

/** session_compile - the program of a model, and a state without inputs; an exit status */
int session_compile(struct session *s);
void session_close(struct session *s);

/** model_text - a text of a file as a terminal and JSON may have it; the caller frees it */
char *model_text(const char *text);
/** model_json - the same as a field of JSON */
void model_json(struct json_object *o, const char *key, const char *text);
/** session_compiled - is a file a compiled program? */
bool session_compiled(const char *path);
/** session_no_program - refuse a compiled program: it is no model any more; 0 or an exit status */
int session_no_program(struct ctl *ctl, const char *path);

/** session_file_bytes - bytes of the model and what it has outside of its file */
uint64_t session_file_bytes(const struct session *s);

/** session_fail - tell the error that the context has; its exit status */
int session_fail(struct session *s, int ret);

/** session_measure - run once, then @count times; their times in ns, sorted. An exit status */
int session_measure(struct session *s, uint64_t count, uint64_t *times);

/** session_now - a clock, in ns */
uint64_t session_now(void);

/* --- input.c --- */

/**
 * struct inputs_said - what --input says of inputs that a file leaves open
 * @count: inputs
 * @names: their names
 * @inputs: for the importer
 * @values: rank and dimensions of the arrays that are given for each
 */
struct inputs_said {
	uint32_t count;
	char names[CTL_LIST_MAX][256];
	struct accel_model_input inputs[CTL_LIST_MAX];
	struct accel_value values[CTL_LIST_MAX][CTL_LIST_MAX];
};

/** inputs_load - the files of the options; an exit status */
int inputs_load(struct session *s);

/** inputs_say - what they say */
void inputs_say(struct session *s, struct inputs_said *said);

/** dims_check - that there are the dimensions which --dim names; an exit status */
int dims_check(struct session *s);

/** inputs_set - give the state all of its inputs; an exit status */
int inputs_set(struct session *s);

/* --- golden.c --- */

/**
 * struct verdict - an output beside what it should be
 * @max_abs: largest error
 * @max_rel: the same, as a share of the largest number
 * @most: what that may be
 * @wrong: why they cannot be compared, or NULL
 */
struct verdict {
	double max_abs;
	double max_rel;
	double most;
	const char *wrong;
};

/** golden_compare - hold an output against an array; it may be every 97th element */
void golden_compare(const struct accel_value *v, const void *data, const struct npy *want,
		    struct verdict *r);

/** verdict_of - errors between two rows of elements */
void verdict_of(uint32_t type, const void *data, uint64_t step, const struct npy *want,
		struct verdict *r);

/** outputs_tell - tell all outputs, and how far off they are; @good: they may be so. Exit status */
int outputs_tell(struct session *s, struct json_object *doc, bool *good);

/**
 * greedy_tell - tell how many tokens of out.greedy come out, one after the other
 * @s: session that has run
 * @doc: document, or NULL: text
 * @good: becomes false if they are not all
 *
 * Return: an exit status.
 */
int greedy_tell(struct session *s, struct json_object *doc, bool *good);

/** outputs_save - write them to a file; an exit status */
int outputs_save(struct session *s);

int cmd_model_info(struct ctl *ctl, void *data, const char *operand);
int cmd_model_compile(struct ctl *ctl, void *data, const char *operand);
int cmd_model_run(struct ctl *ctl, void *data, const char *operand);
int cmd_model_check(struct ctl *ctl, void *data, const char *operand);
int cmd_model_bench(struct ctl *ctl, void *data, const char *operand);
int cmd_model_explain(struct ctl *ctl, void *data, const char *operand);
int cmd_model_quantize(struct ctl *ctl, void *data, const char *operand);
int cmd_model_convert(struct ctl *ctl, void *data, const char *operand);
int cmd_model_compare(struct ctl *ctl, void *data, const char *operand);
int cmd_model_profile(struct ctl *ctl, void *data, const char *operand);

/* --- imatrix.c --- */

/**
 * imatrix_get - the importance matrix that the options ask for
 * @ctl: invocation
 * @opts: options
 * @path: model
 * @matrix: out: to be given to accel_imatrix_destroy(), also if this fails; NULL: none
 *
 * Return: an exit status.
 */
int imatrix_get(struct ctl *ctl, const struct model_opts *opts, const char *path,
		struct accel_imatrix **matrix);

#endif /* ACCELCTL_MODEL_H */

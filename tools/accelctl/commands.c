// SPDX-License-Identifier: MIT
/*
 * The command table: options, help, the manual page and the shell's completion are all
 * generated from it.
 */
#include <assert.h>
#include <string.h>

#include "accelctl.h"
#include "attn.h"
#include "conv.h"
#include "gemm.h"
#include "model/model.h"
#include "op.h"
#include "text/text.h"
#include "top.h"
#include "tuning.h"
#include "watchers.h"

#define GLOBAL(field)	offsetof(struct ctl, field)

const char *const ctl_act_names[] = {
	[ACCEL_ACT_NONE] = "none",
	[ACCEL_ACT_RELU] = "relu",
	[ACCEL_ACT_CLAMP] = "clamp",
	[ACCEL_ACT_LEAKY_RELU] = "leaky_relu",
	[ACCEL_ACT_SIGMOID] = "sigmoid",
	[ACCEL_ACT_TANH] = "tanh",
	[ACCEL_ACT_GELU] = "gelu",
	[ACCEL_ACT_GELU_TANH] = "gelu_tanh",
	[ACCEL_ACT_SILU] = "silu",
	[ACCEL_ACT_HARD_SIGMOID] = "hard_sigmoid",
	[ACCEL_ACT_HARD_SWISH] = "hard_swish",
	[ACCEL_ACT_ELU] = "elu",
	[ACCEL_ACT_CELU] = "celu",
	[ACCEL_ACT_SELU] = "selu",
	[ACCEL_ACT_SOFTPLUS] = "softplus",
	[ACCEL_ACT_SOFTSIGN] = "softsign",
	[ACCEL_ACT_MISH] = "mish",
	[ACCEL_ACT_COUNT] = NULL
};

const char *const ctl_engine_names[] = {
	[ACCEL_ENGINE_AUTO] = "auto",
	[ACCEL_ENGINE_MATRIX] = "matrix",
	[ACCEL_ENGINE_GPU] = "gpu",
	[ACCEL_ENGINE_NEURAL] = "neural",
	[ACCEL_ENGINE_COUNT] = NULL
};

const char *const ctl_device_names[] = {
	"sw", "sw:m1", "sw:m2", "sw:m3", "sw:ultra", "sw:full", NULL
};

const struct ctl_opt ctl_global_opts[] = {
	{ "device", 'd', CTL_STRING, CTL_COMPLETE_DEVICE, GLOBAL(device), .arg = "DEVICE",
	  .help = "device to use: sw, sw:m1, accel0, a path, rec:NAME; the default is the first real device, or else sw",
	},
	{ "json", 'j', CTL_FLAG, 0, GLOBAL(json),
	  .help = "print one JSON document instead of text" },
	{ "verbose", 'v', CTL_FLAG, 0, GLOBAL(verbose),
	  .help = "print the library's decisions to stderr; twice: also every call" },
	{ "quiet", 'q', CTL_FLAG, 0, GLOBAL(quiet),
	  .help = "print only errors to stderr; list: print only names" },
	{ "record", 0, CTL_STRING, CTL_COMPLETE_FILE, GLOBAL(record), .arg = "FILE",
	  .help = "with a rec: device: write its calls to FILE, one JSON object per line" },
	{ "help", 'h', CTL_FLAG, 0, GLOBAL(help), .help = "show help for the command" },
	{ "version", 'V', CTL_FLAG, 0, GLOBAL(version), .help = "show the version" },
	{ NULL }
};

static const struct ctl_opt help_opts[] = {
	{ "man", 0, CTL_FLAG, 0, offsetof(struct help_opts, man),
	  .help = "print the manual page, in roff" },
	{ "completion", 0, CTL_FLAG, 0, offsetof(struct help_opts, completion),
	  .help = "print the completion for bash" },
	{ NULL }
};

static const struct ctl_opt doctor_opts[] = {
	{ "root", 0, CTL_STRING, CTL_COMPLETE_DIR, offsetof(struct doctor_opts, root),
	  .arg = "DIR",
	  .help = "check the files of the system below DIR; opens no device" },
	{ NULL }
};

static const struct ctl_opt sys_root_opts[] = {
	{ "root", 0, CTL_STRING, CTL_COMPLETE_DIR, offsetof(struct sys_opts, root),
	  .arg = "DIR",
	  .help = "read the files of the system below DIR, such as the host seen from a container",
	},
	{ NULL }
};

static const struct ctl_opt top_table[] = {
	{ "samples", 'n', CTL_UINT, 0, offsetof(struct top_opts, count), 1, UINT32_MAX,
	  .arg = "COUNT", .help = "print COUNT samples as text and exit" },
	{ "interval", 'i', CTL_REAL, 0, offsetof(struct top_opts, interval), .arg = "SECONDS",
	  .help = "time between two samples (1)" },
	{ "sort", 's', CTL_CHOICE, 0, offsetof(struct top_opts, sort),
	  .choices = top_sort_names, .help = "sort the clients by this column (share)" },
	{ "reverse", 'r', CTL_FLAG, 0, offsetof(struct top_opts, reverse),
	  .help = "sort in reverse order" },
	{ "batch", 'b', CTL_FLAG, 0, offsetof(struct top_opts, batch),
	  .help = "print samples as text even on a terminal" },
	{ NULL }
};

static const struct ctl_opt health_table[] = {
	{ "strict", 0, CTL_FLAG, 0, offsetof(struct health_opts, strict),
	  .help = "a device is also degraded by resets, faults, timeouts and throttling since the driver was loaded",
	},
	{ NULL }
};

static const struct ctl_opt power_table[] = {
	{ "mode", 0, CTL_CHOICE, 0, offsetof(struct power_opts, mode),
	  .choices = power_mode_names, .help = "power mode" },
	{ "max-clock", 0, CTL_UINT, 0, offsetof(struct power_opts, max_mhz), 1, 1000000,
	  .arg = "MHZ", .help = "highest clock" },
	{ "min-clock", 0, CTL_UINT, 0, offsetof(struct power_opts, min_mhz), 0, 1000000,
	  .arg = "MHZ", .help = "lowest clock" },
	{ "governor", 0, CTL_STRING, 0, offsetof(struct power_opts, governor), .arg = "NAME",
	  .help = "devfreq governor, which selects a clock between the two" },
	{ "autosuspend", 0, CTL_UINT, 0, offsetof(struct power_opts, autosuspend_ms), 0, INT32_MAX,
	  .arg = "MS", .help = "idle time before the device is suspended" },
	{ NULL }
};

static const struct ctl_opt trace_table[] = {
	{ "out", 'o', CTL_STRING, CTL_COMPLETE_FILE, offsetof(struct trace_opts, out),
	  .arg = "FILE", .help = "file to write, in the Chrome trace format" },
	{ "time", 't', CTL_REAL, 0, offsetof(struct trace_opts, seconds), .arg = "SECONDS",
	  .help = "duration; the default is until the command ends or, without one, until SIGINT" },
	{ "buffer", 0, CTL_UINT, 0, offsetof(struct trace_opts, buffer_kib), 4, 1048576,
	  .arg = "KIB", .help = "size of the kernel's buffer for each processor (4096)" },
	{ NULL }
};

static const struct ctl_opt coredump_table[] = {
	{ "last", 'l', CTL_FLAG, 0, offsetof(struct coredump_opts, last),
	  .help = "show the newest core dump that the kernel still has; only for root" },
	{ NULL }
};

static const struct ctl_opt *const gemm_tables[] = { gemm_table, gemm_run_table, NULL };
static const struct ctl_opt *const conv_tables[] = { conv_table, conv_run_table, NULL };
static const struct ctl_opt *const attn_tables[] = { attn_table, attn_run_table, NULL };
static const struct ctl_opt *const op_tables[] = { op_opts_table, op_params, op_run_table, NULL };
static const struct ctl_opt *const explain_op_tables[] = { op_opts_table, op_params, NULL };
static const struct ctl_opt *const explain_gemm_tables[] = { gemm_table, NULL };
static const struct ctl_opt *const explain_conv_tables[] = { conv_table, NULL };
static const struct ctl_opt *const explain_attn_tables[] = { attn_table, NULL };
static const struct ctl_opt *const tune_gemm_tables[] = { gemm_table, tune_run_table, NULL };
static const struct ctl_opt *const tune_conv_tables[] = { conv_table, tune_conv_table, NULL };
static const struct ctl_opt *const tune_attn_tables[] = { attn_table, tune_run_table, NULL };
static const struct ctl_opt *const tune_op[] = { op_opts_table, op_params, tune_run_table, NULL };
static const struct ctl_opt *const tune_list_tables[] = { tune_dir_table, NULL };
static const struct ctl_opt *const tune_prune_tables[] = { tune_prune_table, tune_dir_table, NULL };
static const struct ctl_opt *const tune_verify[] = { tune_verify_table, tune_dir_table, NULL };
static const struct ctl_opt *const generate_tables[] = { text_table, generate_table, NULL };
static const struct ctl_opt *const perplexity_tables[] = { text_table, perplexity_table, NULL };
static const struct ctl_opt *const tokenize_tables[] = { tokenize_table, NULL };
static const struct ctl_opt *const embed_tables[] = { embed_table, NULL };
static const struct ctl_opt *const transcribe_tables[] = { transcribe_table, NULL };
static const struct ctl_opt *const model_tables[] = { model_table, NULL };
#define MODEL_TABLES(name) \
	static const struct ctl_opt *const name##_tables[] = { \
		model_table, model_input_table, name##_table, NULL \
	}
static const struct ctl_opt *const model_check_tables[] = { model_table, model_input_table, NULL };
MODEL_TABLES(model_run);
MODEL_TABLES(model_compile);
MODEL_TABLES(model_explain);
MODEL_TABLES(model_profile);
MODEL_TABLES(model_bench);
MODEL_TABLES(model_compare);
static const struct ctl_opt *const model_quantize_tables[] = {
	model_input_table, model_quantize_table, model_convert_table, model_imatrix_table, NULL
};

static const struct ctl_opt *const model_convert_tables[] = {
	model_convert_table, model_onto_table, NULL
};

static const struct ctl_opt *const help_tables[] = { help_opts, NULL };
static const struct ctl_opt *const doctor_tables[] = { doctor_opts, NULL };

static const struct ctl_opt *const sys_tables[] = { sys_root_opts, NULL };
static const struct ctl_opt *const top_tables[] = { top_table, sys_root_opts, NULL };
static const struct ctl_opt *const health_tables[] = { health_table, sys_root_opts, NULL };
static const struct ctl_opt *const power_tables[] = { power_table, sys_root_opts, NULL };
static const struct ctl_opt *const coredump_tables[] = { coredump_table, sys_root_opts, NULL };
static const struct ctl_opt *const trace_tables[] = { trace_table, NULL };

/* The options of files of the kernel are the first member of all of these */
static_assert(!offsetof(struct top_opts, sys) && !offsetof(struct health_opts, sys) &&
	      !offsetof(struct power_opts, sys) && !offsetof(struct coredump_opts, sys),
	      "sys_root_opts");
/* And those of an operation that of these */
static_assert(!offsetof(struct tune_opts, op), "gemm_table, conv_table, attn_table, op_opts_table");

/* Option tables, the struct that they fill, and the function that sets its defaults */
#define OPTIONS(tables, type, defaults) \
	.opts = (tables), .data_size = sizeof(struct type), .init = (defaults)

const struct ctl_command ctl_commands[] = {
	{
		.name = "list",
		.summary = "list the devices",
		.text = "Lists the accelerators of this system that the uma driver serves, and the in-process device. A node that cannot be opened is listed with the reason.",
		.run = cmd_list,
	},
	{
		.name = "info",
		.operand = "DEVICE",
		.complete = CTL_COMPLETE_DEVICE,
		.summary = "show the capabilities of a device",
		.text = "Shows versions, limits, memory and engines of a device, and for each kind of engine the element types of each operation: A and B for the inputs, D for the result.",
		.run = cmd_info,
	},
	{
		.name = "ops",
		.summary = "list operations by type, engine and chip",
		.text = "Lists which engine supports which operation, with which functions and element types: for the device given with -d, or else for every chip that the in-process device emulates. A and B are the inputs, D is the result. With --json each combination of types is listed: functions of an operation that support the same types on an engine are one entry. Small integers may be quantised.",
		.run = cmd_ops,
	},
	{
		.name = "doctor",
		.summary = "find out why an accelerator cannot be used",
		.text = "Checks kernel, driver, device nodes, permissions, limits and versions. Each check is a line; if there is a problem, the next line says how to fix it. After a warning the device can be used, but slower or with restrictions; after a failure it cannot be used. The exit status is that of the first failure, because later failures are often consequences of it.\n\n"
			"With -d only that device is checked: -d sw checks what the in-process device needs.",
		OPTIONS(doctor_tables, doctor_opts, NULL),
		.run = cmd_doctor,
	},
	{
		.name = "top",
		.summary = "watch engines and clients",
		.text = "Shows the load of every engine, clock, temperature, power and memory of each device, and for each client its share of the engines of each kind since the previous sample: 100 means that all engines of a kind were always busy for it. Power and temperature that are computed by a model are marked. On a terminal of at least 20 columns the screen is updated until q is pressed, and h shows the other keys. Otherwise, on a terminal of unknown type, or with -n or --batch, each sample is printed as text; with --json each is one JSON object on its own line.\n\n"
			"Only root sees the clients of other users, and the number of queues. A client that several processes share is one client.",
		OPTIONS(top_tables, top_opts, top_opts_init),
		.run = cmd_top,
	},
	{
		.name = "ps",
		.summary = "list the clients",
		.text = "Lists the clients of the devices: process, owner, total time on the engines of each kind, resident memory, queues. Only root sees those of other users.",
		OPTIONS(sys_tables, sys_opts, sys_opts_init),
		.run = cmd_ps,
	},
	{
		.name = "bo",
		.summary = "list the buffers",
		.text = "Lists the buffers of the devices with their sizes, flags, mappings and labels, from the driver's table in debugfs, which only root can read. For other users it shows how much memory their own clients have.",
		OPTIONS(sys_tables, sys_opts, sys_opts_init),
		.run = cmd_bo,
	},
	{
		.name = "jobs",
		.summary = "show queues, rings and jobs in flight",
		.text = "Shows the queues of all clients with the jobs submitted and completed, and the rings of the engines, from the driver's tables in debugfs, which only root can read.",
		OPTIONS(sys_tables, sys_opts, sys_opts_init),
		.run = cmd_jobs,
	},
	{
		.name = "health",
		.summary = "show the state of a device and its error counters",
		.text = "Shows resets, faults, timeouts, missed interrupts, throttling and the last core dump of each device. A device is ok; degraded: it is throttled, or has missed interrupts; or lost: it is gone, or wedged, which means that no reset succeeded. The exit status is 0, 1 or 6, that of the worst device. Jobs that faulted or hung are the fault of their clients, and the device has recovered: they count only with --strict.",
		OPTIONS(health_tables, health_opts, sys_opts_init),
		.run = cmd_health,
	},
	{
		.name = "coredump",
		.operand = "FILE",
		.complete = CTL_COMPLETE_FILE,
		.summary = "show the contents of a core dump of a device",
		.text = "Shows a core dump that the driver created when a job faulted or hung, or a reset of a device failed: the job, its tasks, the page-table walk, rings, registers, and earlier events. FILE may be a copy; - is the standard input. With --last it is the newest dump that the kernel still has, of any device or the one given with -d; the kernel deletes a dump after some minutes, or when its file is written to. With --json the output has the header, the job and the walk.\n\n"
			"If a dump is truncated or inconsistent, the parts that can be read are shown, and the exit status is 1. It is also 1 if there is no dump.",
		OPTIONS(coredump_tables, coredump_opts, sys_opts_init),
		.run = cmd_coredump,
	},
	{
		.name = "power",
		.sub = "get",
		.summary = "show power mode, clocks, temperature and power",
		.text = "Shows the power mode, clock and limits of the clock, temperature and its limit, power, energy, and whether the device is suspended. Values that are computed by a model are marked.",
		OPTIONS(sys_tables, sys_opts, sys_opts_init),
		.run = cmd_power_get,
	},
	{
		.name = "power",
		.sub = "set",
		.summary = "set power mode and clocks",
		.text = "Applies the options one after the other and shows the result like power get. Only for root. With several devices -d is required.",
		OPTIONS(power_tables, power_opts, power_opts_init),
		.run = cmd_power_set,
	},
	{
		.name = "reset",
		.operand = "ENGINE",
		.summary = "reset a device or an engine",
		.text = "Resets an engine, such as matrix0, or with 'device' or no argument the whole device, without asking for confirmation, and shows how long it took. Jobs that run there fail; the others continue. Only for root. With several devices -d is required.",
		OPTIONS(sys_tables, sys_opts, sys_opts_init),
		.run = cmd_reset,
	},
	{
		.name = "trace",
		.operand = "COMMAND...",
		.rest = true,
		.summary = "record jobs, faults and resets for a trace viewer",
		.text = "Records events of the driver while COMMAND runs, for a given time, or until SIGINT, in the Chrome trace format, which Perfetto and chrome://tracing show: a row for each engine with the jobs that ran, a row for each queue with the jobs that waited, arrows from submission to execution, and marks for faults, resets and power. Put -- before a command that has options. Only for root; other users of tracefs are not disturbed.\n\n"
			"The operations of COMMAND's in-process devices are also recorded, each with the kernel that ran it; with -d sw only these are recorded, which needs neither a driver nor root.\n\n"
			"The file is valid JSON at all times. Events that were lost because the kernel's buffer was full are counted, in the file and at the end. The exit status is 1 if COMMAND failed.",
		OPTIONS(trace_tables, trace_opts, trace_opts_init),
		.run = cmd_trace,
	},
	{
		.name = "run",
		.sub = "gemm",
		.summary = "run a matrix product",
		.text = "Computes D = act(alpha A x B + beta C + bias) on a device, measures it and, with --check, compares it with a reference. Matrices without a file are filled with pseudo-random numbers from --seed: the full range for integers, from -1 to 1 otherwise. The time is the median of the measured runs, from submission to completion.\n\n"
			"Arrays in files have two dimensions, or three with batches; a single matrix is used for all products. Element types of files: f2, f4, f8, i1 to i8, u1 to u8, and bfloat16 as V2 or, with --dtype bf16, u2. They are converted if only precision is lost.\n\n"
			"The error that --check allows for an element is L (K + 8) 2^-24 T + v |reference|, where T is the sum of the magnitudes of its terms, L the largest slope of the activation, and v the unit roundoff of a result type narrower than fp32: 2^-11 for fp16, 2^-8 for bf16. Activations other than relu add 16 x 2^-24 times the larger magnitude of their argument and result. Results in int32 must be exact.",
		OPTIONS(gemm_tables, gemm_opts, gemm_opts_init),
		.run = cmd_run_gemm,
	},
	{
		.name = "run",
		.sub = "conv",
		.summary = "run a convolution, also of a picture",
		.text = "Convolves an input with weights on a device, measures it and, with --check, compares it with a reference. Tensors without a file are filled from --seed, as by run gemm. Each channel of a picture is filtered separately with --filter or a --b of two dimensions; its values are those of the file, 0 to 255, and results are rounded and saturated when a picture is written. With --dtype int8 pixels are bytes, weights are bytes with a scale, and the device converts the sums to bytes.\n\n"
			"The error that --check allows for an element is (K + 8) 2^-24 T + v |reference|, with K products and T the sum of their magnitudes, and v as for run gemm; a byte of a picture may differ by another half. Results in int32 must be exact.",
		OPTIONS(conv_tables, conv_opts, conv_opts_init),
		.run = cmd_run_conv,
	},
	{
		.name = "run",
		.sub = "attention",
		.summary = "run an attention, also over a paged cache",
		.text = "Computes softmax(scale Q x K^T + ...) x V on a device, measures it and, with --check, compares it with a reference. Tensors without a file are filled from --seed, as by run gemm; pages are in a random order. int8 keys and values are scaled so that the largest magnitude of each row becomes 127.\n\n"
			"Arrays in files have four dimensions; with three the batch is 1, and with two there is also only one head. Sizes come from the files, or from the options. GFLOP/s count all keys for every query, also masked ones.\n\n"
			"The reference computes all scores of a row, all weights, and the sum in float64, and propagates the error that each step may have in binary32: this is the error that --check allows for an element.",
		OPTIONS(attn_tables, attn_opts, attn_opts_init),
		.run = cmd_run_attention,
	},
	{
		.name = "run",
		.sub = "op",
		.operand = "NAME",
		.complete = CTL_COMPLETE_OP,
		.summary = "run an operation by its name",
		.text = "Runs an operation on a device, measures it and, with --check, compares it with a reference. Each input has its own --in, in order: a .npy file, or dimensions for random numbers from --seed. NAME is one of\n\n"
			"of one input: abs neg sqrt rsqrt recip exp log erf square floor ceil round sin cos tan asin acos atan sinh cosh asinh acosh atanh sign trunc is-nan is-inf not bit-not, and the activations relu clamp leaky-relu sigmoid tanh gelu gelu-tanh silu hard-sigmoid hard-swish elu celu selu softplus softsign mish;\n\n"
			"of two, which broadcast: add sub mul div max min mod rem quot pow eq ne lt le gt ge and or xor bit-and bit-or bit-xor shl shr prelu; of three: select (condition, if not zero, else);\n\n"
			"along dimensions: softmax log-softmax, scan (running sums), topk (values and indices), reduce-sum reduce-mean reduce-max reduce-min reduce-prod reduce-l1 reduce-l2 reduce-sum-square reduce-log-sum reduce-log-sum-exp, arg-max arg-min, dynquant (bytes, scales and, if asymmetric, zero points), layer-norm rms-norm group-norm instance-norm (data; scale; bias), batch-norm (data, scale, bias, mean, variance);\n\n"
			"of [N, C, space]: max-pool average-pool lp-pool; resize; by index: gather gather-elements gather-nd (data, indices), scatter-elements scatter-nd (data, indices, updates); rotary (data [batch, seq, heads, size], cosines, sines; positions);\n\n"
			"moves: copy, transpose, fill, concat (up to 8), split, pad.\n\n"
			"Parameters are options; one that does not apply to the operation is rejected. Random numbers are from -1 to 1, those of bytes cover the whole range, those of int32 are from -32768 to 32767, and indices are valid. Indices are int32; scales, biases, means, variances and tables of cosines are fp32.\n\n"
			"--check allows the error bounds of the manual's chapter about numerics; exact operations must give equal results.",
		OPTIONS(op_tables, op_opts, op_opts_init),
		.run = cmd_run_op,
	},
	{
		.name = "explain",
		.sub = "gemm",
		.summary = "show which engine runs a matrix product, and why",
		.text = "Lists the engines with a verdict: chosen, possible or refused, the time and the bytes that the cost model of the chip estimates, and the reason. Nothing is run. The exit status is 3 if no engine, or not the requested one, supports the operation.",
		OPTIONS(explain_gemm_tables, gemm_opts, gemm_opts_init),
		.run = cmd_explain_gemm,
	},
	{
		.name = "explain",
		.sub = "conv",
		.summary = "show which engine runs a convolution, how, and why",
		.text = "As explain gemm, for a convolution, with a line for each algorithm.",
		OPTIONS(explain_conv_tables, conv_opts, conv_opts_init),
		.run = cmd_explain_conv,
	},
	{
		.name = "explain",
		.sub = "attention",
		.summary = "show which engine runs an attention, and why",
		.text = "As explain gemm, for an attention.",
		OPTIONS(explain_attn_tables, attn_opts, attn_opts_init),
		.run = cmd_explain_attention,
	},
	{
		.name = "explain",
		.sub = "op",
		.operand = "NAME",
		.complete = CTL_COMPLETE_OP,
		.summary = "show which engine runs an operation, and why",
		.text = "As explain gemm, for an operation of run op.",
		OPTIONS(explain_op_tables, op_opts, op_opts_init),
		.run = cmd_explain_op,
	},
	{
		.name = "tune",
		.sub = "list",
		.summary = "list the tuning results",
		.text = "Lists the tuned operations: the fastest candidate with the hint for its kernel, its time, the time of an untuned plan, and the quotient of the two. Entries of other devices, CPUs or versions are not used; corrupt ones are ignored. Plans use the entries if they are created with ACCEL_PLAN_TUNE or ACCEL_PLAN_TUNE_CACHED.",
		OPTIONS(tune_list_tables, tune_opts, tune_init),
		.run = cmd_tune_list,
	},
	{
		.name = "tune",
		.sub = "run gemm",
		.summary = "find the fastest way to compute a matrix product",
		.text = "Measures the candidates (algorithms, kernel variants, tile sizes) for the product that run gemm would run, on buffers with random numbers, within a time limit, and saves the fastest in a file for the plans of all programs of the user. Clearly slower candidates are dropped early. An existing entry is shown, and not measured again.",
		OPTIONS(tune_gemm_tables, tune_opts, tune_gemm_init),
		.run = cmd_tune_gemm,
	},
	{
		.name = "tune",
		.sub = "run conv",
		.summary = "find the fastest way to compute a convolution",
		.text = "As tune run gemm, for a convolution, including its algorithms.",
		OPTIONS(tune_conv_tables, tune_opts, tune_conv_init),
		.run = cmd_tune_conv,
	},
	{
		.name = "tune",
		.sub = "run attention",
		.summary = "find the fastest way to compute an attention",
		.text = "As tune run gemm, for an attention; with --pieces smaller numbers of pieces are measured, too.",
		OPTIONS(tune_attn_tables, tune_opts, tune_attn_init),
		.run = cmd_tune_attention,
	},
	{
		.name = "tune",
		.sub = "run op",
		.operand = "NAME",
		.complete = CTL_COMPLETE_OP,
		.summary = "find the fastest way to compute an operation",
		.text = "As tune run gemm, for an operation of run op.",
		OPTIONS(tune_op, tune_opts, tune_op_init),
		.run = cmd_tune_op,
	},
	{
		.name = "tune",
		.sub = "export",
		.summary = "print all tuning results as JSON",
		.text = "Prints all entries as one JSON document, with the operation in the format of the file and every candidate, with or without --json.",
		OPTIONS(tune_list_tables, tune_opts, tune_init),
		.run = cmd_tune_export,
	},
	{
		.name = "tune",
		.sub = "prune",
		.summary = "remove entries that are no longer used",
		.text = "Removes the entries of other CPUs, or other instruction sets of this one, of other versions of the library, and corrupt ones.",
		OPTIONS(tune_prune_tables, tune_opts, tune_init),
		.run = cmd_tune_prune,
	},
	{
		.name = "tune",
		.sub = "verify",
		.summary = "check the file, and measure a sample again",
		.text = "Checks the checksum of each entry and measures a sample of the entries for this device again, without writing anything: an entry holds if its winner is at most a tenth slower than today's fastest candidate. On a loaded machine this fails for some entries. The exit status is 8 if an entry is corrupt or no longer holds.",
		OPTIONS(tune_verify, tune_opts, tune_init),
		.run = cmd_tune_verify,
	},
	{
		.name = "generate",
		.summary = "continue a text, or chat",
		.text = "Continues a text or a list of tokens, and prints each token when it is generated. Ctrl-C ends the answer. At the end of an answer its rates are printed: tokens of the prompt per second, until the first token of the answer, and tokens of the answer per second, after that.\n\n"
			"Draft tokens (--lookup, --draft) make it faster if they are right; the answer is the same.\n\n"
			"--json also reports the rate at which weights were read after the first token, relative to the rate at which the processors can read as many bytes (read_share); that rate is measured after the answer, which takes some hundredths of a second, and some tenths with large models.\n\n"
			"With --beams several continuations are computed at once, and when all have ended the one with the best score is printed: the sum of the logarithms of its tokens' probabilities divided by a power of their number. One beam is --greedy. A model with an encoder, such as T5, encodes the text, and generates the answer with a beam search or --greedy.\n\n"
			"With -i it is a chat: each line of the standard input is a message, which is formatted with the model's chat template, or that of --chat-template, and answered, until the input ends; a model without a template is rejected. Keys and values of earlier messages are reused. Ctrl-C stops an answer, and the part that was generated is kept; between answers it exits with 130. Lines that begin with / are commands: /save FILE writes the conversation, and its keys and values to FILE.kv and FILE.kv.tokens if they fill at least a page; /load FILE continues a saved conversation; /reset removes all messages except for --system; /stats shows the numbers of tokens; /quit exits. A space before the / makes the line a message. If the input is a pipe no prompt is printed, and the exit status is that of the last line that failed. With --json each answer is a line.\n\n"
			"--json-events prints a line of JSON for each token, with event (token), index, id, text, logprob with --logprobs, and time_s since the request; text after the last token has the event text. The last line has the event end and the keys of --json, or is an error.",
		OPTIONS(generate_tables, text_opts, generate_init),
		.run = cmd_generate,
	},
	{
		.name = "perplexity",
		.summary = "compute the perplexity of a text",
		.text = "Shows the exponential of the mean negative log likelihood of a text's tokens, except for the first, with its standard error. A text longer than the context is divided into windows, each of which begins with the last token of the previous one.",
		OPTIONS(perplexity_tables, text_opts, perplexity_init),
		.run = cmd_perplexity,
	},
	{
		.name = "embed",
		.operand = "-",
		.summary = "compute embedding vectors of texts",
		.text = "Computes a vector for each text: the hidden states of its tokens after the last layer and norm, combined as --pooling says: their mean, the first one (cls), the last one, or the maximum of each element. The default is what 1_Pooling/config.json of sentence-transformers or pooling_type of a GGUF file says, else the mean for an encoder and the last for a decoder. Texts are those of --prompt, or the lines of --file or, as -, of the standard input. A text with more tokens than the model supports is truncated, which is reported on stderr and as truncated in JSON. Without --json or --out each line is a vector.",
		OPTIONS(embed_tables, text_opts, NULL),
		.run = cmd_embed,
	},
	{
		.name = "tokenize",
		.summary = "show the tokens of a text, or the text of tokens",
		.text = "Shows the tokens of a text, each with its number, its bytes in the text, and the token as stored in the file. With --decode it converts tokens to text. Special tokens in the text are treated as ordinary text unless --special is given.",
		OPTIONS(tokenize_tables, text_opts, NULL),
		.run = cmd_tokenize,
	},
	{
		.name = "transcribe",
		.operand = "FILE",
		.complete = CTL_COMPLETE_FILE,
		.summary = "transcribe speech",
		.text = "Transcribes speech in a WAV file, or any other file that libsndfile reads, and prints each window when it is decoded; - is the standard input, which may be a pipe of WAV. Any sample rate and number of channels is supported. At the end it shows the time and the length of the audio; the real-time factor in JSON is the time for one second of audio.\n\n"
			"A window whose text is repetitive or improbable is decoded again at higher temperatures, as in the reference implementation, and each window has the previous text as its prompt, if the model was trained for that.",
		OPTIONS(transcribe_tables, text_opts, transcribe_init),
		.run = cmd_transcribe,
	},
	{
		.name = "model",
		.sub = "info",
		.operand = "FILE",
		.complete = CTL_COMPLETE_FILE,
		.summary = "show the contents of an ONNX file or a program",
		.text = "Shows the producer of a model, its constants, and how often each operator occurs. A model with unknown operators is rejected, and all of these are listed. For a compiled program it shows the inputs, if the program is for this device.",
		OPTIONS(model_tables, model_opts, model_init),
		.run = cmd_model_info,
	},
	{
		.name = "model",
		.sub = "run",
		.operand = "FILE",
		.complete = CTL_COMPLETE_FILE,
		.summary = "run an ONNX file",
		.text = "Compiles a model for the device and runs it once, and then --repeat times with timing. Inputs come from files: arrays, or pictures, which are resized to the input's size; inputs without a file are random. With --golden each output is compared with out.NAME, including its dimensions; for outputs of at least 200000 elements the file may have every 97th. out.greedy is a continuation of the first row by the most probable tokens. Custom operators come from the shared objects of --op, which have a function accel_operators_init. The exit status is 8 if the error of an output exceeds --tolerance.",
		OPTIONS(model_run_tables, model_opts, model_run_init),
		.run = cmd_model_run,
	},
	{
		.name = "model",
		.sub = "compile",
		.operand = "FILE",
		.complete = CTL_COMPLETE_FILE,
		.summary = "write an ONNX file as a compiled program",
		.text = "Compiles a model for the device, with --dim for symbolic dimensions, and writes the compiled program with packed weights to --out. The program is for that chip, kernel level and version of the library. The other model commands except for check, quantize and compare accept such a file, too: it is loaded without compilation, and rejected with exit status 8 if it does not match. Other values of symbolic dimensions are compiled when they are used, unless --seen left the graph out.",
		OPTIONS(model_compile_tables, model_opts, model_init),
		.run = cmd_model_compile,
	},
	{
		.name = "model",
		.sub = "explain",
		.operand = "FILE",
		.complete = CTL_COMPLETE_FILE,
		.summary = "show how each node of an ONNX file is run, and why",
		.text = "Shows the operations of the compiled program, the nodes and the pass that they come from, engine, algorithm and shapes, and the memory compared with its lower bound.",
		OPTIONS(model_explain_tables, model_opts, model_init),
		.run = cmd_model_explain,
	},
	{
		.name = "model",
		.sub = "profile",
		.operand = "FILE",
		.complete = CTL_COMPLETE_FILE,
		.summary = "measure the nodes of an ONNX file",
		.text = "Runs a model node by node and shows the median time of each, from submission to completion, with multiply-adds and bytes per second.",
		OPTIONS(model_profile_tables, model_opts, model_profile_init),
		.run = cmd_model_profile,
	},
	{
		.name = "model",
		.sub = "check",
		.operand = "FILE",
		.complete = CTL_COMPLETE_FILE,
		.summary = "show which parts of an ONNX file are not supported",
		.text = "Shows versions, inputs and outputs with their shapes, external data and whether the files exist, and all unknown operators, including those of subgraphs; then the model is compiled for the device, with --dim for symbolic dimensions, but not run. The exit status is 3 if something is not supported.",
		OPTIONS(model_check_tables, model_opts, model_init),
		.run = cmd_model_check,
	},
	{
		.name = "model",
		.sub = "bench",
		.operand = "FILE",
		.complete = CTL_COMPLETE_FILE,
		.summary = "measure an ONNX file with several threads and batches",
		.text = "Runs a model with one and with two threads of the in-process device, or with --threads, for each given batch size, and shows the minimum, median and 99th percentile of the latency, items per second, and operations per second.",
		OPTIONS(model_bench_tables, model_opts, model_bench_init),
		.run = cmd_model_bench,
	},
	{
		.name = "model",
		.sub = "quantize",
		.operand = "FILE [OUT]",
		.complete = CTL_COMPLETE_FILE,
		.summary = "write a model with fewer bits",
		.text = "Writes the model with 8-bit weights and activations, with 4-bit weights, with 2:4 sparse weights, or with weights from a palette of 256 or 16 numbers, and shows the resulting errors: of each layer alone, of each layer in the quantised model, and of the outputs. Inputs are those of --calibrate, else one set as for model run. Layers are kept in floating point, those with the largest errors of their own first, until the error of no output exceeds --threshold.\n\n"
			"With --type a model directory or a GGUF file is written as GGUF, with matrices in blocks of that type. Norms and biases remain fp32. With --imatrix-from, scales of blocks favour the columns that are multiplied by large numbers for that text.",
		.rest = true,
		OPTIONS(model_quantize_tables, model_opts, model_quantize_init),
		.run = cmd_model_quantize,
	},
	{
		.name = "model",
		.sub = "convert",
		.operand = "FILE OUT",
		.complete = CTL_COMPLETE_FILE,
		.summary = "convert a model directory to GGUF or back, or ONNX weights to safetensors or back",
		.text = "Writes the model in a directory or a GGUF file as OUT: GGUF if the name ends in .gguf, else a directory with config.json and model.safetensors. Decoders and BERT are converted, including names, the order of heads, and, to GGUF only, the tokenizer; other families are copied in their own format. An existing OUT is only replaced when all is written.\n\n"
			"The initializers of an ONNX file are written as OUT.safetensors, with their names and types. With --onto, the tensors of a safetensors file replace the initializers of these names in a copy of an ONNX model; all names must exist there, with the same types and dimensions.",
		.rest = true,
		OPTIONS(model_convert_tables, model_opts, model_init),
		.run = cmd_model_convert,
	},
	{
		.name = "model",
		.sub = "compare",
		.operand = "FILE [FILE]",
		.complete = CTL_COMPLETE_FILE,
		.summary = "find the layer where two models or devices diverge",
		.text = "Runs two models, or one on two devices or at two optimisation levels, with the same inputs, and shows the errors of the results that have the same name in both, in the order of the first, and the first one whose error exceeds --tolerance. All these results are kept as outputs, so passes do not fuse the operations that compute them. The exit status is 8 if the error of an output exceeds --tolerance.",
		.rest = true,
		OPTIONS(model_compare_tables, model_opts, model_init),
		.run = cmd_model_compare,
	},
	{
		.name = "help",
		.operand = "COMMAND",
		.complete = CTL_COMPLETE_COMMAND,
		.summary = "show help",
		.text = "Shows the commands, or the options of one.",
		OPTIONS(help_tables, help_opts, NULL),
		.run = cmd_help,
	},
	{
		.name = "version",
		.summary = "show the versions of program and library",
		.text = "Shows the version of this program and that of the library that it runs with.",
		.run = cmd_version,
	},
	{ NULL }
};

const struct ctl_topic ctl_statuses[] = {
	{ "0", "Success." },
	{ "1", "The operation failed: the job failed, a file cannot be read or written or is malformed, out of memory, there is no core dump; health: the device is degraded.",
	},
	{ "2", "Unknown option, bad value, or options and files that cannot be combined." },
	{ "3", "The request is valid, but not supported by this device or engine." },
	{ "4", "No permission." },
	{ "5", "No such device." },
	{ "6", "The device was lost or hangs." },
	{ "7", "The job exceeded its timeout." },
	{ "8", "The result is wrong, or versions do not match; tune verify: an entry is corrupt or no longer holds.",
	},
	{ "9", "The driver is not loaded." },
	{ "130", "Stopped by SIGINT." },
	{ NULL }
};

const struct ctl_topic ctl_devices[] = {
	{ "sw", "The in-process device: software, no driver needed, the most capable chip." },
	{ "sw:CHIP", "The same with the capabilities of a certain chip: m1, m2, m3, ultra, full." },
	{ "accel0", "The node /dev/accel/accel0." },
	{ "/dev/...", "A node by its path." },
	{ "rec:NAME", "The device NAME, with every call written to the file of --record." },
	{ NULL }
};

const struct ctl_topic ctl_environment[] = {
	{ "NO_COLOR", "If set and not empty, the output is not coloured. It is only coloured on a terminal.",
	},
	{ "XDG_CACHE_HOME", "Parent of the directories accel/tune, with tuning results, and accel/weights, with packed weights; the default is ~/.cache.",
	},
	{ NULL }
};

const struct ctl_topic ctl_examples[] = {
	{ "accelctl run gemm -d sw --dtype fp16 -m 67 -n 129 -k 255 --check",
	  "Run a small product in process and compare it with the reference." },
	{ "accelctl run gemm -d accel0 --a A.npy --b B.npy --out C.npy",
	  "Multiply two arrays from files on the first accelerator." },
	{ "accelctl run conv -d sw --a photo.png --filter sharpen --dtype int8 --check --out sharp.png",
	  "Sharpen a picture in 8-bit arithmetic." },
	{ "accelctl run attention -d sw --queries 1 --keys 1000 --heads 8 --kv-heads 2 --kv-dtype int8 --page-size 16 --check",
	  "Run a decoding step with a paged int8 cache." },
	{ "accelctl run op softmax -d sw --in scores.npy --axis -1 --check --out p.npy",
	  "Compute the softmax of an array from a file." },
	{ "accelctl tune run conv -d sw --channels 64 --filters 64 --height 56 --width 56 --pad 1 --winograd",
	  "Find the fastest way to compute a convolution, and save it." },
	{ "accelctl explain gemm -d sw:m1 --dtype bf16 --engine matrix -m 64 -n 64 -k 64",
	  "Show why an engine does not support a product, and which engine does." },
	{ "accelctl top -n 1 -i 5",
	  "Show which clients use the engines in the next five seconds." },
	{ "accelctl trace -o gemm.json -- accelctl run gemm -d accel0 -m 512 -n 512 -k 512",
	  "Record the execution of a product for a trace viewer." },
	{ "accelctl coredump --last",
	  "Show which job faulted last, its process, and the address." },
	{ "accelctl info --json accel0 | jq .support",
	  "Print the capabilities of every engine as JSON." },
	{ NULL }
};

const struct ctl_command *ctl_find(const char *name, const char *sub)
{
	const struct ctl_command *cmd;

	for (cmd = ctl_commands; cmd->name; cmd++)
		if (!strcmp(cmd->name, name) &&
		    (!cmd->sub || (sub && !strcmp(cmd->sub, sub))))
			return cmd;
	return NULL;
}

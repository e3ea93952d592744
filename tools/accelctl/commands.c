// SPDX-License-Identifier: MIT
/*
 * The command table. What the program takes, its help, its manual page and
 * the shell's completion all come from here.
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
	  .help = "device to use: sw, sw:m1, accel0, a path, rec:NAME; without it real hardware if there is any, else sw",
	},
	{ "json", 'j', CTL_FLAG, 0, GLOBAL(json),
	  .help = "print one JSON document instead of text" },
	{ "verbose", 'v', CTL_FLAG, 0, GLOBAL(verbose),
	  .help = "say on stderr what the library chooses; twice: every call" },
	{ "quiet", 'q', CTL_FLAG, 0, GLOBAL(quiet),
	  .help = "nothing on stderr but errors; list: names only" },
	{ "record", 0, CTL_STRING, CTL_COMPLETE_FILE, GLOBAL(record), .arg = "FILE",
	  .help = "with a rec: device: write its calls to FILE, one JSON object a line" },
	{ "help", 'h', CTL_FLAG, 0, GLOBAL(help), .help = "show help for the command" },
	{ "version", 'V', CTL_FLAG, 0, GLOBAL(version), .help = "show the version" },
	{ NULL }
};

static const struct ctl_opt help_opts[] = {
	{ "man", 0, CTL_FLAG, 0, offsetof(struct help_opts, man),
	  .help = "write the manual page, in roff" },
	{ "completion", 0, CTL_FLAG, 0, offsetof(struct help_opts, completion),
	  .help = "write the completion for bash" },
	{ NULL }
};

static const struct ctl_opt doctor_opts[] = {
	{ "root", 0, CTL_STRING, CTL_COMPLETE_DIR, offsetof(struct doctor_opts, root),
	  .arg = "DIR",
	  .help = "look at the files of the system below DIR; opens no device" },
	{ NULL }
};

static const struct ctl_opt sys_root_opts[] = {
	{ "root", 0, CTL_STRING, CTL_COMPLETE_DIR, offsetof(struct sys_opts, root),
	  .arg = "DIR",
	  .help = "look at the files of the system below DIR, such as the host seen from a container",
	},
	{ NULL }
};

static const struct ctl_opt top_table[] = {
	{ "samples", 'n', CTL_UINT, 0, offsetof(struct top_opts, count), 1, UINT32_MAX,
	  .arg = "COUNT", .help = "print so many samples as text, and end" },
	{ "interval", 'i', CTL_REAL, 0, offsetof(struct top_opts, interval), .arg = "SECONDS",
	  .help = "time between two samples (1)" },
	{ "sort", 's', CTL_CHOICE, 0, offsetof(struct top_opts, sort),
	  .choices = top_sort_names, .help = "what the clients are sorted by (share)" },
	{ "reverse", 'r', CTL_FLAG, 0, offsetof(struct top_opts, reverse),
	  .help = "sort the other way round" },
	{ "batch", 'b', CTL_FLAG, 0, offsetof(struct top_opts, batch),
	  .help = "print text even on a terminal" },
	{ NULL }
};

static const struct ctl_opt health_table[] = {
	{ "strict", 0, CTL_FLAG, 0, offsetof(struct health_opts, strict),
	  .help = "resets, faults, timeouts and throttling since the driver was loaded make a device degraded too",
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
	  .help = "who chooses the clock between the two, of those that the kernel has" },
	{ "autosuspend", 0, CTL_UINT, 0, offsetof(struct power_opts, autosuspend_ms), 0, INT32_MAX,
	  .arg = "MS", .help = "time without a job before power goes off" },
	{ NULL }
};

static const struct ctl_opt trace_table[] = {
	{ "out", 'o', CTL_STRING, CTL_COMPLETE_FILE, offsetof(struct trace_opts, out),
	  .arg = "FILE", .help = "file to write, in the Chrome trace format" },
	{ "time", 't', CTL_REAL, 0, offsetof(struct trace_opts, seconds), .arg = "SECONDS",
	  .help = "how long; without it until the command ends or, without one, until SIGINT" },
	{ "buffer", 0, CTL_UINT, 0, offsetof(struct trace_opts, buffer_kib), 4, 1048576,
	  .arg = "KIB", .help = "size of the kernel's buffer for each processor (4096)" },
	{ NULL }
};

static const struct ctl_opt coredump_table[] = {
	{ "last", 'l', CTL_FLAG, 0, offsetof(struct coredump_opts, last),
	  .help = "show the newest core dump that the kernel holds; for root" },
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

static const struct ctl_opt *const model_convert_tables[] = { model_convert_table, NULL };

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

/* Tables, the struct that they fill, and what sets its defaults */
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
		.summary = "show what a device can do",
		.text = "Shows versions, limits, memory and engines of a device, and for each kind of engine which operation takes which element type: A and B for the inputs, D for the result.",
		.run = cmd_info,
	},
	{
		.name = "ops",
		.summary = "list operations by type, engine and chip",
		.text = "Lists which engine takes which operation, with which functions and element types: of the device that -d names, or else of every chip that the in-process device can be. A and B are the inputs, D is the result. With --json each combination of types is listed: functions of an operation that go with the same types on an engine are one entry. Small integers may be quantised.",
		.run = cmd_ops,
	},
	{
		.name = "doctor",
		.summary = "find out why an accelerator cannot be used",
		.text = "Checks kernel, driver, device nodes, permissions, limits and versions. Each check is a line; where something is wrong, the next line says what to do about it. A warning costs speed or comfort, a failure keeps the device from being used. The exit status is that of the first failure, because the others tend to follow from it.\n\n"
			"With -d only that device is looked at: -d sw checks what the in-process device needs.",
		OPTIONS(doctor_tables, doctor_opts, NULL),
		.run = cmd_doctor,
	},
	{
		.name = "top",
		.summary = "watch engines and clients",
		.text = "Shows the load of every engine, clock, temperature, power and memory of each device, and for each client the share that it had of the engines of each kind since the sample before: all engines of a kind busy for it all the time is 100. Power and temperature of a model are marked. On a terminal of at least 20 columns the picture is renewed until q is pressed, and h shows the other keys. Elsewhere, on a terminal that is not known, or with -n or --batch, each sample is printed as text; with --json each is one JSON object on a line of its own.\n\n"
			"Only root sees the clients of others, and the number of queues. A client that several processes share is one client.",
		OPTIONS(top_tables, top_opts, top_opts_init),
		.run = cmd_top,
	},
	{
		.name = "ps",
		.summary = "list the clients",
		.text = "Lists the clients of the devices: process, owner, time on the engines of each kind so far, resident memory, queues. Only root sees those of others.",
		OPTIONS(sys_tables, sys_opts, sys_opts_init),
		.run = cmd_ps,
	},
	{
		.name = "bo",
		.summary = "list the buffers",
		.text = "Lists the buffers of the devices with their sizes, flags, mappings and labels, as the driver's table in debugfs has them, which is for root. For others it shows how much memory their own clients have.",
		OPTIONS(sys_tables, sys_opts, sys_opts_init),
		.run = cmd_bo,
	},
	{
		.name = "jobs",
		.summary = "show queues and rings, and what is in flight",
		.text = "Shows the queues of all clients with the jobs submitted and completed, and the rings of the engines, as the driver's tables in debugfs have them, which is for root.",
		OPTIONS(sys_tables, sys_opts, sys_opts_init),
		.run = cmd_jobs,
	},
	{
		.name = "health",
		.summary = "tell whether a device is well, and what has happened to it",
		.text = "Shows resets, faults, timeouts, missed interrupts, throttling and the last core dump of each device. A device is ok; degraded: it is throttled, or interrupts were missed; or lost: it is gone, or wedged, which means that no reset brought it back. The exit status is 0, 1 or 6, that of the worst device. Jobs that faulted or hung are the fault of who sent them, and the device has recovered: they count only with --strict.",
		OPTIONS(health_tables, health_opts, sys_opts_init),
		.run = cmd_health,
	},
	{
		.name = "coredump",
		.operand = "FILE",
		.complete = CTL_COMPLETE_FILE,
		.summary = "show what a core dump of a device says",
		.text = "Shows a core dump that the driver made when a job faulted or hung, or a device did not come back from a reset: the job, its tasks, the walk of the page table, rings, registers, and what happened before. FILE may be a copy; - is the standard input. With --last it is the newest dump that the kernel still holds, of any device or the one that -d names; the kernel throws dumps away after some minutes, or when its file is written to. With --json there are the header, the job and the walk.\n\n"
			"Of a dump that is truncated or contradicts itself what can be read is shown, and the exit status is 1. It is also 1 if there is no dump.",
		OPTIONS(coredump_tables, coredump_opts, sys_opts_init),
		.run = cmd_coredump,
	},
	{
		.name = "power",
		.sub = "get",
		.summary = "show power mode, clocks, temperature and power",
		.text = "Shows the power mode, clock and limits of the clock, temperature and its limit, power, energy, and whether the device sleeps. What a model made up is marked.",
		OPTIONS(sys_tables, sys_opts, sys_opts_init),
		.run = cmd_power_get,
	},
	{
		.name = "power",
		.sub = "set",
		.summary = "set power mode and clocks",
		.text = "Sets what the options say, one after the other, and shows the result like power get. For root. With several devices -d has to name one.",
		OPTIONS(power_tables, power_opts, power_opts_init),
		.run = cmd_power_set,
	},
	{
		.name = "reset",
		.operand = "ENGINE",
		.summary = "reset a device or an engine",
		.text = "Resets an engine, such as matrix0, or with 'device' or nothing the whole device, and says how long it took. Nothing is asked. Jobs that run there are lost to their queues; the others go on. For root. With several devices -d has to name one.",
		OPTIONS(sys_tables, sys_opts, sys_opts_init),
		.run = cmd_reset,
	},
	{
		.name = "trace",
		.operand = "COMMAND...",
		.rest = true,
		.summary = "record jobs, faults and resets for a trace viewer",
		.text = "Records what the driver does, for as long as COMMAND runs, for a time, or until SIGINT, in the Chrome trace format, which Perfetto and chrome://tracing show: a row for each engine with the jobs that ran, a row for each queue with what waited, arrows from submission to run, and marks for faults, resets and power. Put -- before a command that has options. For root; nobody else's tracing is disturbed.\n\n"
			"Of COMMAND's in-process devices the operations are there, too, each with the kernel that ran it; with -d sw they alone are recorded, which needs neither a driver nor root.\n\n"
			"The file is valid JSON at all times. Events that were lost because the kernel's buffer was full are counted, in the file and at the end. The exit status is 1 if COMMAND failed.",
		OPTIONS(trace_tables, trace_opts, trace_opts_init),
		.run = cmd_trace,
	},
	{
		.name = "run",
		.sub = "gemm",
		.summary = "run a matrix product",
		.text = "Computes D = act(alpha A x B + beta C + bias) on a device, measures it and, with --check, compares it with a reference. Matrices that no file gives are filled from --seed: whole numbers of the full range for integers, numbers from -1 to 1 otherwise. The time is the median of the measured runs, from submission to completion.\n\n"
			"Arrays in files have two dimensions, or three with batches; a single matrix is repeated for all products. Element types of files: f2, f4, f8, i1 to i8, u1 to u8, and bfloat16 as V2 or, with --dtype bf16, u2. They are converted where that loses nothing but precision.\n\n"
			"The error that --check allows for an element is L (K + 8) 2^-24 T + v |reference|, where T is the sum of the magnitudes of its terms, L the largest slope of the activation, and v the rounding of a narrow result: 2^-11 for fp16, 2^-8 for bf16. Activations that are not piecewise linear may add 16 x 2^-24. Results in int32 have to be exact.",
		OPTIONS(gemm_tables, gemm_opts, gemm_opts_init),
		.run = cmd_run_gemm,
	},
	{
		.name = "run",
		.sub = "conv",
		.summary = "run a convolution, also of a picture",
		.text = "Convolves an input with weights on a device, measures it and, with --check, compares it with a reference. What no file gives is filled from --seed, as by run gemm. Of a picture each channel is filtered by itself with --filter or a --b of two dimensions; its values are those of the file, 0 to 255, and results are rounded and saturated when a picture is written. With --dtype int8 pixels are bytes, weights are bytes with a scale, and the device makes bytes of the sums.\n\n"
			"The error that --check allows for an element is (K + 8) 2^-24 T + v |reference|, with K products and T the sum of their magnitudes, and v as for run gemm; a byte of a picture may be off by half in addition. Results in int32 have to be exact.",
		OPTIONS(conv_tables, conv_opts, conv_opts_init),
		.run = cmd_run_conv,
	},
	{
		.name = "run",
		.sub = "attention",
		.summary = "run an attention, also over a paged cache",
		.text = "Computes softmax(scale Q x K^T + ...) x V on a device, measures it and, with --check, compares it with a reference. What no file gives is filled from --seed, as by run gemm; pages are in a random order. Of keys and values in int8 the largest magnitude of each row becomes 127.\n\n"
			"Arrays in files have four dimensions; of three the batch is 1, and of two also the heads. Sizes come from the files, or from the options. GFLOP/s are counted as if every query saw every key.\n\n"
			"The reference computes all scores of a row, all weights, and the sum in float64, and carries along what binary32 may lose in each step: the error that --check allows for an element.",
		OPTIONS(attn_tables, attn_opts, attn_opts_init),
		.run = cmd_run_attention,
	},
	{
		.name = "run",
		.sub = "op",
		.operand = "NAME",
		.complete = CTL_COMPLETE_OP,
		.summary = "run an operation by its name",
		.text = "Runs an operation on a device, measures it and, with --check, compares it with a reference. Inputs are given in their order, each with an --in of its own: a .npy file or, for random numbers from --seed, dimensions. NAME is one of\n\n"
			"of one input: abs neg sqrt rsqrt recip exp log erf square floor ceil round sin cos tan asin acos atan sinh cosh asinh acosh atanh sign trunc is-nan is-inf not bit-not, and the activations relu clamp leaky-relu sigmoid tanh gelu gelu-tanh silu hard-sigmoid hard-swish elu celu selu softplus softsign mish;\n\n"
			"of two, which broadcast: add sub mul div max min mod rem quot pow eq ne lt le gt ge and or xor bit-and bit-or bit-xor shl shr prelu; of three: select (condition, if not zero, else);\n\n"
			"along dimensions: softmax log-softmax, scan (running sums), topk (values and indices), reduce-sum reduce-mean reduce-max reduce-min reduce-prod reduce-l1 reduce-l2 reduce-sum-square reduce-log-sum reduce-log-sum-exp, arg-max arg-min, dynquant (bytes, scales and, if asymmetric, zero points), layer-norm rms-norm group-norm instance-norm (data; scale; bias), batch-norm (data, scale, bias, mean, variance);\n\n"
			"of [N, C, space]: max-pool average-pool lp-pool; resize; by index: gather gather-elements gather-nd (data, indices), scatter-elements scatter-nd (data, indices, updates); rotary (data [batch, seq, heads, size], cosines, sines; positions);\n\n"
			"moves: copy, transpose, fill, concat (up to 8), split, pad.\n\n"
			"Parameters are options; one that the operation does not have is refused. Random numbers are those from -1 to 1, whole numbers all of a byte and from -32768 to 32767 of int32, and indices that fit. Indices are int32; scales, biases, means, variances and tables of cosines are fp32.\n\n"
			"What --check allows is what the manual says of the operation's numerics; what is exact has to be so.",
		OPTIONS(op_tables, op_opts, op_opts_init),
		.run = cmd_run_op,
	},
	{
		.name = "explain",
		.sub = "gemm",
		.summary = "show which engine takes a matrix product, and why",
		.text = "Lists the engines with a verdict: chosen, possible or refused, the time and the bytes that the model of the chip expects, and the reason. Nothing is run. The exit status is 3 if no engine, or not the one asked for, takes it.",
		OPTIONS(explain_gemm_tables, gemm_opts, gemm_opts_init),
		.run = cmd_explain_gemm,
	},
	{
		.name = "explain",
		.sub = "conv",
		.summary = "show which engine takes a convolution, how, and why",
		.text = "The same of a convolution, with the ways to do it: each is a line of its own.",
		OPTIONS(explain_conv_tables, conv_opts, conv_opts_init),
		.run = cmd_explain_conv,
	},
	{
		.name = "explain",
		.sub = "attention",
		.summary = "show which engine takes an attention, and why",
		.text = "The same of an attention.",
		OPTIONS(explain_attn_tables, attn_opts, attn_opts_init),
		.run = cmd_explain_attention,
	},
	{
		.name = "explain",
		.sub = "op",
		.operand = "NAME",
		.complete = CTL_COMPLETE_OP,
		.summary = "show which engine takes an operation, and why",
		.text = "As explain gemm, of what run op would run.",
		OPTIONS(explain_op_tables, op_opts, op_opts_init),
		.run = cmd_explain_op,
	},
	{
		.name = "tune",
		.sub = "list",
		.summary = "list what was measured",
		.text = "Lists the operations of which the ways to do them were measured: the fastest way with what its kernel was told, its time, the time of what a plan takes that is not tuned, and how many times as fast it is. Entries of other devices, CPUs or versions are not used; corrupt ones are ignored. Plans use what is listed when they are made with ACCEL_PLAN_TUNE or ACCEL_PLAN_TUNE_CACHED.",
		OPTIONS(tune_list_tables, tune_opts, tune_init),
		.run = cmd_tune_list,
	},
	{
		.name = "tune",
		.sub = "run gemm",
		.summary = "measure the ways to do a matrix product",
		.text = "Measures the ways to do the product that run gemm would run, on buffers with random numbers, within a time, and keeps the fastest in a file for the plans of all programs of the user. What is clearly slower is dropped early. What is known already is shown, not measured.",
		OPTIONS(tune_gemm_tables, tune_opts, tune_gemm_init),
		.run = cmd_tune_gemm,
	},
	{
		.name = "tune",
		.sub = "run conv",
		.summary = "measure the ways to do a convolution",
		.text = "The same of a convolution, whose algorithms are measured too.",
		OPTIONS(tune_conv_tables, tune_opts, tune_conv_init),
		.run = cmd_tune_conv,
	},
	{
		.name = "tune",
		.sub = "run attention",
		.summary = "measure the ways to do an attention",
		.text = "The same of an attention; with --pieces also fewer pieces are measured.",
		OPTIONS(tune_attn_tables, tune_opts, tune_attn_init),
		.run = cmd_tune_attention,
	},
	{
		.name = "tune",
		.sub = "run op",
		.operand = "NAME",
		.complete = CTL_COMPLETE_OP,
		.summary = "measure the ways to do an operation",
		.text = "The same of an operation by its name, as run op has it.",
		OPTIONS(tune_op, tune_opts, tune_op_init),
		.run = cmd_tune_op,
	},
	{
		.name = "tune",
		.sub = "export",
		.summary = "write everything that was measured as JSON",
		.text = "Writes all entries as one JSON document, with the operation as the file has it and every candidate; with or without --json.",
		OPTIONS(tune_list_tables, tune_opts, tune_init),
		.run = cmd_tune_export,
	},
	{
		.name = "tune",
		.sub = "prune",
		.summary = "remove what is of no use any more",
		.text = "Removes the entries of other CPUs, or other instruction sets of this one, of other versions of the library, and corrupt ones.",
		OPTIONS(tune_prune_tables, tune_opts, tune_init),
		.run = cmd_tune_prune,
	},
	{
		.name = "tune",
		.sub = "verify",
		.summary = "check the file, and measure a sample again",
		.text = "Checks the checksum of each entry and measures some of those that this device uses again, without writing anything: an entry holds if its way is at most a tenth slower than the fastest of today. On a machine that is busy with something else some will not. The exit status is 8 if an entry is corrupt or no longer holds.",
		OPTIONS(tune_verify, tune_opts, tune_init),
		.run = cmd_tune_verify,
	},
	{
		.name = "generate",
		.summary = "go on with a text, or talk",
		.text = "Goes on with a text, or with tokens, token by token as they come. Ctrl-C ends the answer, whose rate is then told, as at its end: tokens of the prompt a second, up to the first token of the answer, and tokens of the answer a second, behind that.\n\n"
			"Guessed tokens (--lookup, --draft) make it faster where they are right; the answer is the same.\n\n"
			"--json tells as well what share of the speed at which the processors read as many bytes as the model's files have the weights were read with behind the first token (read_share); that speed is measured when the answer is there, which takes some tenths of a second.\n\n"
			"With --beams several continuations are followed at once, and the one with the best score is written when all have ended: the sum of the logarithms of its tokens' probabilities over a power of their number. One beam is --greedy. Of a model with an encoder, as T5, the text is the encoder's, and the answer is found so or with --greedy.\n\n"
			"With -i it is a conversation: each line of the standard input is asked and answered, as the model's template of conversations has it, or that of --chat-template, until the input ends; a model with neither is refused. What was computed for the lines before is used again. Ctrl-C stops the answer, of which what was said stays; where nothing is answered it ends the program, with 130. Lines that begin with / are commands: /save FILE writes what was said, and to FILE.kv and FILE.kv.tokens the keys and values of it, where there is a page of them; /load FILE goes on from there; /reset forgets all but --system; /stats tells how many tokens there are and were computed; /quit ends. A blank before the / makes it text. From a pipe there is no prompt, and the exit status is that of the last line that failed. With --json each answer is a line.\n\n"
			"--json-events writes a line of JSON for each token, with event (token), index, id, text, logprob with --logprobs, and time_s since the answer was asked for; text that comes behind the last token has the event text. The last line has the event end and the keys of --json, or is an error.",
		OPTIONS(generate_tables, text_opts, generate_init),
		.run = cmd_generate,
	},
	{
		.name = "perplexity",
		.summary = "measure how likely a model finds a text",
		.text = "Shows the exponential of the mean negative log likelihood of a text's tokens, but for the first, with its standard error. A text longer than the context is taken in windows, of which each begins with the last token of the one before.",
		OPTIONS(perplexity_tables, text_opts, perplexity_init),
		.run = cmd_perplexity,
	},
	{
		.name = "embed",
		.operand = "-",
		.summary = "make vectors of texts",
		.text = "Makes a vector of each text: the hidden states of its tokens behind the last layer and norm, brought together by --pooling: their mean, the first one (cls), the last one, or of each element the largest. What the model's files say is 1_Pooling/config.json of sentence-transformers, or pooling_type of a GGUF file; where they say nothing it is the mean of an encoder and the last of a decoder. Texts are those of --prompt, or the lines of --file or, as -, of the standard input. A text with more tokens than the model takes is cut, which is told on stderr and by truncated in JSON. Without --json or --out each line is a vector.",
		OPTIONS(embed_tables, text_opts, NULL),
		.run = cmd_embed,
	},
	{
		.name = "tokenize",
		.summary = "show the tokens of a text, or the text of tokens",
		.text = "Shows the tokens of a text, each with its number, the bytes of the text that it stands for, and the token as the file has it. With --decode it is the other way round. What is written in the text is text, also where it looks like a special token, unless --special is given.",
		OPTIONS(tokenize_tables, text_opts, NULL),
		.run = cmd_tokenize,
	},
	{
		.name = "transcribe",
		.operand = "FILE",
		.complete = CTL_COMPLETE_FILE,
		.summary = "write down what is said",
		.text = "Writes down what is said in a WAV file, or what else libsndfile reads, window by window as they are heard; - is the standard input, which may be a pipe of WAV. Any rate and number of channels will do. At the end it tells how long that took, beside the length of the sound: in JSON the real-time factor is the time that a second of sound takes.\n\n"
			"A window whose text repeats itself or is not likely is heard again at higher temperatures, as the model's authors do it, and the text before goes before each window as a prompt, if the model has learnt that.",
		OPTIONS(transcribe_tables, text_opts, transcribe_init),
		.run = cmd_transcribe,
	},
	{
		.name = "model",
		.sub = "info",
		.operand = "FILE",
		.complete = CTL_COMPLETE_FILE,
		.summary = "show what is in an ONNX file, or a compiled program",
		.text = "Shows who wrote a model, its constants, and how often each operator occurs. A model with operators that are not known is refused, and all of these are named. Of a compiled program it shows the inputs, if the device may use it.",
		OPTIONS(model_tables, model_opts, model_init),
		.run = cmd_model_info,
	},
	{
		.name = "model",
		.sub = "run",
		.operand = "FILE",
		.complete = CTL_COMPLETE_FILE,
		.summary = "run an ONNX file whole",
		.text = "Compiles a model for the device and runs it, once and then --repeat times measured. Inputs come from files: arrays, or pictures, which are brought to the input's size; those that come from none are random. With --golden each output is compared with out.NAME, dimensions too; of one of 200000 elements and more the file may have every 97th. out.greedy is text that goes on from the first row, likeliest token by token. Operators that are not built in come from the shared objects of --op, which have a function accel_operators_init. The exit status is 8 if an output is further off than --tolerance.",
		OPTIONS(model_run_tables, model_opts, model_init),
		.run = cmd_model_run,
	},
	{
		.name = "model",
		.sub = "compile",
		.operand = "FILE",
		.complete = CTL_COMPLETE_FILE,
		.summary = "write an ONNX file as a compiled program",
		.text = "Compiles a model for the device, with --dim for symbols, and writes to --out what was decided, with packed weights, for that chip, level of kernels and version of the library. The other model commands but check, quantize and compare take such a file too: it is there without being compiled, and is refused, with exit status 8, where it does not fit. Other numbers for symbols are compiled when they come, unless --seen left the graph out.",
		OPTIONS(model_compile_tables, model_opts, model_init),
		.run = cmd_model_compile,
	},
	{
		.name = "model",
		.sub = "explain",
		.operand = "FILE",
		.complete = CTL_COMPLETE_FILE,
		.summary = "show what became of each node of an ONNX file, and why",
		.text = "Shows the operations that run, what they were made of and by which pass, engine, algorithm, shapes, and memory beside the least that there could be.",
		OPTIONS(model_explain_tables, model_opts, model_init),
		.run = cmd_model_explain,
	},
	{
		.name = "model",
		.sub = "profile",
		.operand = "FILE",
		.complete = CTL_COMPLETE_FILE,
		.summary = "measure the nodes of an ONNX file",
		.text = "Runs a model node by node and shows the median time of each, from submission to the end, with multiply-adds and bytes a second.",
		OPTIONS(model_profile_tables, model_opts, model_profile_init),
		.run = cmd_model_profile,
	},
	{
		.name = "model",
		.sub = "check",
		.operand = "FILE",
		.complete = CTL_COMPLETE_FILE,
		.summary = "say what of an ONNX file would run, and what would not",
		.text = "Shows versions, inputs and outputs with their shapes, external data and whether it is there, and all operators that are not known, those of inner graphs too; then the model is compiled for the device, with --dim for symbols, without being run. The exit status is 3 if something is not supported.",
		OPTIONS(model_check_tables, model_opts, model_init),
		.run = cmd_model_check,
	},
	{
		.name = "model",
		.sub = "bench",
		.operand = "FILE",
		.complete = CTL_COMPLETE_FILE,
		.summary = "measure an ONNX file with several threads and batches",
		.text = "Runs a model with one thread and with two of the in-process device, or with --threads, for each number of its first dimension, and shows the least and the median latency and that of which 99 of 100 are shorter, items a second, and operations a second.",
		OPTIONS(model_bench_tables, model_opts, model_bench_init),
		.run = cmd_model_bench,
	},
	{
		.name = "model",
		.sub = "quantize",
		.operand = "FILE [OUT]",
		.complete = CTL_COMPLETE_FILE,
		.summary = "write a model with fewer bits",
		.text = "Writes the model with weights in 8 bits, and what is computed with them too, or with weights in 4 bits, with two of each four weights, or with weights that are looked up in a table of 256 or 16 numbers, and shows how far it is off: each layer by itself, each where it stands, the outputs. Inputs are those of --calibrate, else one set as for model run. Layers stay in floating point, those that lose most by themselves first, until no output is further off than --threshold.\n\n"
			"With --type a folder or a GGUF file is written as GGUF, whose matrices are blocks of that type. Norms and biases stay in fp32. Scales of blocks fit those columns best that meet large numbers in the text of --imatrix-from.",
		.rest = true,
		OPTIONS(model_quantize_tables, model_opts, model_quantize_init),
		.run = cmd_model_quantize,
	},
	{
		.name = "model",
		.sub = "convert",
		.operand = "FILE OUT",
		.complete = CTL_COMPLETE_FILE,
		.summary = "write a folder as GGUF, or GGUF as a folder",
		.text = "Writes a model of a folder, or of a GGUF file, as OUT: GGUF if the name ends in .gguf, else a folder with config.json and model.safetensors. Decoders are converted, names, the order of heads and the tokenizer too, which a folder made of a GGUF file does not get; other families are copied as the kind that they are. What was there stays until all is written.",
		.rest = true,
		OPTIONS(model_convert_tables, model_opts, model_init),
		.run = cmd_model_convert,
	},
	{
		.name = "model",
		.sub = "compare",
		.operand = "FILE [FILE]",
		.complete = CTL_COMPLETE_FILE,
		.summary = "show where two models, devices or levels part",
		.text = "Runs two models, or one on two devices or at two levels, with the same inputs, and shows the error of the results that both have by the same name, in the order of the first, and which is the first that is further off than --tolerance. All these results are kept, so that passes do not make one operation of several. The exit status is 8 if an output is further off than --tolerance.",
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
	{ "0", "All is well." },
	{ "1", "The operation failed: the job failed, a file cannot be read or written or is malformed, there is no memory, there is no core dump; health: the device is degraded.",
	},
	{ "2", "Unknown option, bad value, or options and files that do not go together." },
	{ "3", "The request is valid, but this device or engine cannot do it." },
	{ "4", "No permission." },
	{ "5", "No such device." },
	{ "6", "The device was lost or hangs." },
	{ "7", "The job ran into its timeout." },
	{ "8", "The result is wrong, or versions do not fit; tune verify: an entry is corrupt or no longer holds.",
	},
	{ "9", "The driver is not loaded." },
	{ "130", "Stopped by SIGINT." },
	{ NULL }
};

const struct ctl_topic ctl_devices[] = {
	{ "sw", "The in-process device: software, no driver needed, the most capable chip." },
	{ "sw:CHIP", "The same with what a certain chip can do: m1, m2, m3, ultra, full." },
	{ "accel0", "The node /dev/accel/accel0." },
	{ "/dev/...", "A node by its path." },
	{ "rec:NAME", "The device NAME, with every call written to the file of --record." },
	{ NULL }
};

const struct ctl_topic ctl_environment[] = {
	{ "NO_COLOR", "If set and not empty, text is not coloured. It is coloured only on a terminal anyway.",
	},
	{ "XDG_CACHE_HOME", "Where accel/tune is, the directory of what was measured, and accel/weights, that of packed weights; without it ~/.cache.",
	},
	{ NULL }
};

const struct ctl_topic ctl_examples[] = {
	{ "accelctl run gemm -d sw --dtype fp16 -m 67 -n 129 -k 255 --check",
	  "Run a small product in process and compare it with the reference." },
	{ "accelctl run gemm -d accel0 --a A.npy --b B.npy --out C.npy",
	  "Multiply two arrays of files on the first accelerator." },
	{ "accelctl run conv -d sw --a photo.png --filter sharpen --dtype int8 --check --out sharp.png",
	  "Sharpen a picture in bytes." },
	{ "accelctl run attention -d sw --queries 1 --keys 1000 --heads 8 --kv-heads 2 --kv-dtype int8 --page-size 16 --check",
	  "A step of decoding over a paged cache in bytes." },
	{ "accelctl run op softmax -d sw --in scores.npy --axis -1 --check --out p.npy",
	  "Softmax of an array of a file." },
	{ "accelctl tune run conv -d sw --channels 64 --filters 64 --height 56 --width 56 --pad 1 --winograd",
	  "Find the fastest way to do a convolution, and remember it." },
	{ "accelctl explain gemm -d sw:m1 --dtype bf16 --engine matrix -m 64 -n 64 -k 64",
	  "Ask why an engine does not take a product, and which would." },
	{ "accelctl top -n 1 -i 5",
	  "Who used the engines in the next five seconds?" },
	{ "accelctl trace -o gemm.json -- accelctl run gemm -d accel0 -m 512 -n 512 -k 512",
	  "Record what a product did, for a trace viewer." },
	{ "accelctl coredump --last",
	  "Which job of whom faulted just now, and where?" },
	{ "accelctl info --json accel0 | jq .support",
	  "What every engine can do, for a program." },
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

// SPDX-License-Identifier: MIT
/*
 * The command table. What the program takes, its help, its manual page and
 * the shell's completion all come from here.
 */
#include <string.h>

#include "accelctl.h"
#include "gemm.h"

#define GLOBAL(field)	offsetof(struct ctl, field)
#define GEMM(field)	offsetof(struct gemm_opts, field)

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
	[ACCEL_ACT_COUNT] = NULL
};

static const char *const engine_names[] = {
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

static const struct ctl_opt gemm_opts[] = {
	{ "m", 'm', CTL_UINT, 0, GEMM(m), 1, INT32_MAX, .arg = "M",
	  .help = "rows of A and of the result" },
	{ "n", 'n', CTL_UINT, 0, GEMM(n), 1, INT32_MAX, .arg = "N",
	  .help = "columns of B and of the result" },
	{ "k", 'k', CTL_UINT, 0, GEMM(k), 1, INT32_MAX, .arg = "K",
	  .help = "columns of A, rows of B" },
	{ "batch", 0, CTL_UINT, 0, GEMM(batch), 1, INT32_MAX, .arg = "COUNT",
	  .help = "number of products" },
	{ "dtype", 't', CTL_CHOICE, 0, GEMM(dtype), .choices = gemm_kind_names,
	  .help = "element type; int8 is summed in int32, int4 means 4-bit weights with group scales and fp16 for the rest; without it the files decide, else fp32",
	},
	{ "out-dtype", 0, CTL_CHOICE, 0, GEMM(out_dtype), .choices = gemm_out_names,
	  .help = "element type of the result; the default is that of A, int32 for int8" },
	{ "trans-a", 0, CTL_FLAG, 0, GEMM(trans_a), .help = "A is stored K x M" },
	{ "trans-b", 0, CTL_FLAG, 0, GEMM(trans_b), .help = "B is stored N x K" },
	{ "alpha", 0, CTL_REAL, 0, GEMM(alpha), .arg = "X", .help = "factor of the product (1)" },
	{ "beta", 0, CTL_REAL, 0, GEMM(beta), .arg = "X",
	  .help = "factor of an addend C (0: there is none)" },
	{ "bias", 0, CTL_FLAG, 0, GEMM(bias), .help = "add a row of N numbers to each row" },
	{ "act", 0, CTL_CHOICE, 0, GEMM(act), .choices = ctl_act_names,
	  .help = "activation at the end" },
	{ "p0", 0, CTL_REAL, 0, GEMM(p0), .arg = "X",
	  .help = "first parameter of the activation: lower limit (0), slope (0.01, hard_sigmoid 1/6)",
	},
	{ "p1", 0, CTL_REAL, 0, GEMM(p1), .arg = "X",
	  .help = "second parameter: upper limit (6), offset of hard_sigmoid (0.5)" },
	{ "group", 0, CTL_UINT, 0, GEMM(group), 16, 4096, .arg = "COUNT",
	  .help = "int4: weights along K that share a scale, a power of two (32)" },
	{ "engine", 'e', CTL_CHOICE, 0, GEMM(engine), .choices = engine_names,
	  .help = "engine that has to do it; auto is the fastest that can" },
	{ "pack", 0, CTL_FLAG, 0, GEMM(pack),
	  .help = "B is constant: rearrange it for the engine beforehand" },
	{ "a", 0, CTL_STRING, CTL_COMPLETE_FILE, GEMM(a), .arg = "FILE",
	  .help = "take A from a .npy file; sizes come from it too" },
	{ "b", 0, CTL_STRING, CTL_COMPLETE_FILE, GEMM(b), .arg = "FILE",
	  .help = "take B from a .npy file; for int4 either numbers from -8 to 7 or floating point, which is quantised",
	},
	{ "scales", 0, CTL_STRING, CTL_COMPLETE_FILE, GEMM(scales), .arg = "FILE",
	  .help = "int4: scales of --b, one for each group along K; without it 1" },
	{ NULL }
};

static const struct ctl_opt gemm_run_opts[] = {
	{ "out", 'o', CTL_STRING, CTL_COMPLETE_FILE, GEMM(out), .arg = "FILE",
	  .help = "write the result to a .npy file" },
	{ "check", 'c', CTL_FLAG, 0, GEMM(check),
	  .help = "compare with a float64 reference computed here" },
	{ "compare", 0, CTL_STRING, CTL_COMPLETE_FILE, GEMM(compare), .arg = "FILE",
	  .help = "compare with a result in a .npy file, of another device for instance: no further apart than twice the bound, integers equal",
	},
	{ "seed", 's', CTL_UINT, 0, GEMM(seed), 0, UINT64_MAX, .arg = "NUMBER",
	  .help = "start of the random data; the same seed gives the same data everywhere (1)" },
	{ "repeat", 'r', CTL_UINT, 0, GEMM(repeat), 1, 1000000, .arg = "COUNT",
	  .help = "measured runs after one to warm up; the default is as many as fit into 0.1 s, from 3 to 100",
	},
	{ "threads", 0, CTL_UINT, 0, GEMM(threads), 1, 4096, .arg = "COUNT",
	  .help = "in-process device: threads; the default is one a core" },
	{ "timeout", 0, CTL_UINT, 0, GEMM(timeout_ms), 1, UINT32_MAX, .arg = "MS",
	  .help = "longest run of the job in milliseconds; the default is the device's" },
	{ "brief", 0, CTL_FLAG, 0, GEMM(brief),
	  .help = "one line: shape, type, engine, time, GFLOP/s, error, bound, verdict" },
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

static const struct ctl_opt *const run_tables[] = { gemm_opts, gemm_run_opts, NULL };
static const struct ctl_opt *const explain_tables[] = { gemm_opts, NULL };
static const struct ctl_opt *const help_tables[] = { help_opts, NULL };
static const struct ctl_opt *const doctor_tables[] = { doctor_opts, NULL };

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
		.name = "doctor",
		.summary = "find out why an accelerator cannot be used",
		.text = "Checks kernel, driver, device nodes, permissions, limits and versions. Each check is a line; where something is wrong, the next line says what to do about it. A warning costs speed or comfort, a failure keeps the device from being used. The exit status is that of the first failure, because the others tend to follow from it.\n\n"
			"With -d only that device is looked at: -d sw checks what the in-process device needs.",
		.opts = doctor_tables,
		.data_size = sizeof(struct doctor_opts),
		.run = cmd_doctor,
	},
	{
		.name = "run",
		.sub = "gemm",
		.summary = "run a matrix product",
		.text = "Computes D = act(alpha A x B + beta C + bias) on a device, measures it and, with --check, compares it with a reference. Matrices that no file gives are filled from --seed: whole numbers of the full range for integers, numbers from -1 to 1 otherwise. The time is the median of the measured runs, from submission to completion.\n\n"
			"Arrays in files have two dimensions, or three with batches; a single matrix is repeated for all products. Element types of files: f2, f4, f8, i1 to i8, u1 to u8, and bfloat16 as V2 or, with --dtype bf16, u2. They are converted where that loses nothing but precision.\n\n"
			"The error that --check allows for an element is L (K + 8) 2^-24 T + v |reference|, where T is the sum of the magnitudes of its terms, L the largest slope of the activation, and v the rounding of a narrow result: 2^-11 for fp16, 2^-8 for bf16. Activations that are not piecewise linear may add 16 x 2^-24. Results in int32 have to be exact.",
		.opts = run_tables,
		.data_size = sizeof(struct gemm_opts),
		.init = gemm_opts_init,
		.run = cmd_run_gemm,
	},
	{
		.name = "explain",
		.sub = "gemm",
		.summary = "show which engine takes a matrix product, and why",
		.text = "Lists the engines with a verdict: chosen, possible or refused, the time and the bytes that the model of the chip expects, and the reason. Nothing is run. The exit status is 3 if no engine, or not the one asked for, takes it.",
		.opts = explain_tables,
		.data_size = sizeof(struct gemm_opts),
		.init = gemm_opts_init,
		.run = cmd_explain_gemm,
	},
	{
		.name = "help",
		.operand = "COMMAND",
		.complete = CTL_COMPLETE_COMMAND,
		.summary = "show help",
		.text = "Shows the commands, or the options of one.",
		.opts = help_tables,
		.data_size = sizeof(struct help_opts),
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
	{ "1", "The operation failed: the job failed, a file cannot be read or written or is malformed, there is no memory.",
	},
	{ "2", "Unknown option, bad value, or options and files that do not go together." },
	{ "3", "The request is valid, but this device or engine cannot do it." },
	{ "4", "No permission." },
	{ "5", "No such device." },
	{ "6", "The device was lost or hangs." },
	{ "7", "The job ran into its timeout." },
	{ "8", "The result is wrong, or versions do not fit." },
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
	{ NULL }
};

const struct ctl_topic ctl_examples[] = {
	{ "accelctl run gemm -d sw --dtype fp16 -m 67 -n 129 -k 255 --check",
	  "Run a small product in process and compare it with the reference." },
	{ "accelctl run gemm -d accel0 --a A.npy --b B.npy --out C.npy",
	  "Multiply two arrays of files on the first accelerator." },
	{ "accelctl explain gemm -d sw:m1 --dtype bf16 --engine matrix -m 64 -n 64 -k 64",
	  "Ask why an engine does not take a product, and which would." },
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

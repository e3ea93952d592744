// SPDX-License-Identifier: MIT
/*
 * accelbench: command line and output.
 */
#include <accel/accel.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perf.h"

static const char usage[] =
	"Usage: accelbench COMMAND [OPTION...]\n"
	"       accelbench bars FILE...\n"
	"       accelbench model FILE... [OPTION...]\n"
	"       accelbench text [-m FILE] [OPTION...]\n"
	"\n"
	"Measures the in-process device of this library, other libraries that are installed\n"
	"(OpenBLAS, oneDNN, libxsmm), and the limits of the machine, alternately in one run,\n"
	"with one thread and with all processors. Times are medians over batches after a\n"
	"warm-up; spread is the interquartile range divided by the median; error is the\n"
	"largest difference from float64, relative to the largest result.\n"
	"\n"
	"Commands:\n"
	"  gemm                 square and BERT's products, with and without packed weights\n"
	"  job                  64 products in one job, with and without dependencies\n"
	"  gemv                 products with 1, 8 and 32 rows, weights from DRAM\n"
	"  pack                 plans with weights of 4096x4096: operations are bytes read and\n"
	"                       written\n"
	"  conv                 ResNet-50's and MobileNet's convolutions\n"
	"  attention            prompts, and single tokens with a cache\n"
	"  lines                norms, softmax, functions of elements, conversions, layouts:\n"
	"                       operations are bytes read and written\n"
	"  latency              cost of an empty job and of a job with one operation on one\n"
	"                       element, compared with an ioctl that does nothing; without -d\n"
	"                       also of a small product\n"
	"  memory               workspace of plans, and memory growth while they run\n"
	"  limits               limits of the machine: multiply-adds, and reads by size\n"
	"  all                  all of these\n"
	"  model FILE...        whole models from ONNX files, with one and two threads, and\n"
	"                       batches of 1 and 8 if the batch size is symbolic, compared with\n"
	"                       ONNX Runtime if it is found, by the name in\n"
	"                       ACCELBENCH_ONNXRUNTIME or in the loader's path; RATIO is its\n"
	"                       time divided by ours\n"
	"  text                 language models, with one and two threads: prompts, single\n"
	"                       tokens, eight answers at once, time to the first token, memory;\n"
	"                       compared with llama.cpp if it is found, by the name of its\n"
	"                       library in ACCELBENCH_LLAMA or in the loader's path. Without -m\n"
	"                       the models are a LLaMA of 1.1 billion and a GPT-2 of 124 million\n"
	"                       random weights, temporary files of 820 MB in TMPDIR\n"
	"  bars FILE...         compare results of --json with the performance targets\n"
	"\n"
	"Options:\n"
	"  -j, --json           one JSON object per line\n"
	"      --csv            comma-separated values\n"
	"      --threads COUNT  in-process device: number of threads; the default is one and\n"
	"                       then one per core, for latency -d one per core\n"
	"      --only GLOB      cases whose name, or name/type, matches: 'gemm/32x*/s8'\n"
	"      --no-peers       measure only this library\n"
	"      --reproducible   bits of a row do not depend on the number of rows\n"
	"      --batches COUNT  measured batches of each case, from 9 to 1000 (9, latency 15)\n"
	"      --batch-ms MS    time of a batch, from 1 to 10000 (10, latency 20)\n"
	"      --best           report the fastest batch instead of the median: for loaded\n"
	"                       machines\n"
	"      --compare FILE   list cases that are slower than in FILE beyond noise; exit with 1\n"
	"                       if there are any\n"
	"      --plot DIR       write rooflines for gnuplot, drawn if gnuplot is installed\n"
	"      --load           model: measure the time from a compiled file to the first result,\n"
	"                       in a new process each time, with and without the file in the page\n"
	"                       cache; MB is the peak resident memory minus the weights\n"
	"  -m, --model FILE     text: use this GGUF file instead\n"
	"      --cpu            with --load: processor time of all threads instead of elapsed\n"
	"                       time: for loaded machines\n"
	"      --seed NUMBER    seed of the random operands; the default is a different one each\n"
	"                       time\n"
	"  -a, --all            bars: also list results that reach their target\n"
	"  -d, --device DEVICE  latency: device to measure; the default is the first node, if\n"
	"                       there is one, and the in-process device\n"
	"      --limit RATIO    latency: exit with 1 if an empty job costs more than RATIO null\n"
	"                       ioctls\n"
	"      --growth COUNT   latency: instead of times, submit COUNT jobs and show the memory\n"
	"                       growth of this process and of the kernel\n"
	"  -h, --help           show this help\n"
	"  -V, --version        show the version\n"
	"\n"
	"Exit status: 0, 1 a limit was missed or a job failed, 2 usage, 4 no permission,\n"
	"5 no such device.\n";

int bench_fail(int err, const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fputs("accelbench: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	if (err)
		fprintf(stderr, " (%s)", strerrorname_np(-err));
	fputc('\n', stderr);
	switch (err) {
	case -ENODEV:
	case -ENOENT:
	case -ENXIO:
		return 5;
	case -EACCES:
	case -EPERM:
		return 4;
	default:
		return 1;
	}
}

static int usage_error(const char *option, const char *value)
{
	fprintf(stderr, "accelbench: %s%s%s: %s\nTry 'accelbench --help'.\n", option,
		value ? " " : "", value ? value : "", value ? "is no number in range" :
		"is not expected");
	return 2;
}

void bench_print(const struct bench_opts *opts, const struct bench_row *row)
{
	static bool head;

	if (opts->format == BENCH_JSON) {
		printf("{\"case\":\"%s\",\"dtype\":", row->name);
		printf(row->dtype ? "\"%s\"" : "null", row->dtype);
		printf(",\"threads\":%u,\"impl\":\"%s\",\"us\":%.4f,\"ratio\":", row->threads,
		       row->impl, row->us);
		if (row->ratio > 0)
			printf("%.3f", row->ratio);
		else
			fputs("null", stdout);
		if (row->over)
			printf(",\"over\":%llu", (unsigned long long)row->over);
		printf(",\"spread\":%.4f}\n", row->spread);
	} else if (opts->format == BENCH_CSV) {
		if (!head)
			puts("case,dtype,threads,impl,us,ratio,spread");
		printf("%s,%s,%u,%s,%.4f,", row->name, row->dtype ? row->dtype : "", row->threads,
		       row->impl, row->us);
		if (row->ratio > 0)
			printf("%.3f", row->ratio);
		printf(",%.4f\n", row->spread);
	} else {
		if (!head)
			printf("%-14s %-6s %7s %-6s %10s %8s %8s\n", "CASE", "DTYPE", "THREADS",
			       "IMPL", "US", "RATIO", "SPREAD");
		printf("%-14s %-6s %7u %-6s %10.3f ", row->name, row->dtype ? row->dtype : "-",
		       row->threads, row->impl, row->us);
		if (row->ratio > 0)
			printf("%8.2f", row->ratio);
		else
			printf("%8s", "-");
		printf(" %7.1f%%", 100 * row->spread);
		if (row->over)
			printf(" %8.1f MB", (double)row->over / 1e6);
		putchar('\n');
	}
	head = true;
	fflush(stdout);
}

static bool number(const char *text, double min, double max, double *value)
{
	char *end;

	errno = 0;
	*value = strtod(text, &end);
	return end != text && !*end && !errno && *value >= min && *value <= max;
}

/* The first device that can be opened is the one to measure */
static int first_node(void *user, const struct accel_device_desc *desc)
{
	char *name = user;

	if (!*desc->path || desc->access || *name)
		return 0;
	snprintf(name, sizeof(desc->name), "%s", desc->name);
	return 0;
}

/* A node, and the in-process device: rows in the format of each command */
static int latency(const struct bench_opts *opts)
{
	int (*bench)(const struct bench_opts *opts, const char *name) =
		opts->growth ? bench_growth : bench_latency;
	char node[sizeof(((struct accel_device_desc *)0)->name)] = "";
	int ret;

	if (opts->device)
		return bench(opts, opts->device);
	ret = accel_device_list(first_node, node);
	if (ret)
		return bench_fail(ret, "cannot list the devices");
	ret = *node ? bench(opts, node) : 0;
	if (ret || opts->growth)
		return ret ? ret : bench(opts, "sw");
	return perf_main(opts, "latency");
}

/* Compare results in files with the targets */
static int bars(int count, char **files, bool all)
{
	struct perf_row *rows = NULL;
	size_t row_count = 0;
	int i, ret = 0;

	for (i = 0; i < count && !ret; i++)
		ret = report_load(files[i], &rows, &row_count);
	if (!ret)
		ret = bars_print(rows, row_count, all);
	free(rows);
	return ret;
}

enum {
	THREADS = 256, BATCHES, BATCH_MS, LIMIT, GROWTH, CSV, ONLY, NO_PEERS, BEST, COMPARE,
	PLOT, SEED, REPRODUCIBLE, LOAD, CPU
};

static const struct option longs[] = {
	{ "device", required_argument, NULL, 'd' },
	{ "json", no_argument, NULL, 'j' },
	{ "all", no_argument, NULL, 'a' },
	{ "model", required_argument, NULL, 'm' },
	{ "csv", no_argument, NULL, CSV },
	{ "threads", required_argument, NULL, THREADS },
	{ "only", required_argument, NULL, ONLY },
	{ "no-peers", no_argument, NULL, NO_PEERS },
	{ "reproducible", no_argument, NULL, REPRODUCIBLE },
	{ "batches", required_argument, NULL, BATCHES },
	{ "batch-ms", required_argument, NULL, BATCH_MS },
	{ "best", no_argument, NULL, BEST },
	{ "compare", required_argument, NULL, COMPARE },
	{ "plot", required_argument, NULL, PLOT },
	{ "seed", required_argument, NULL, SEED },
	{ "load", no_argument, NULL, LOAD },
	{ "cpu", no_argument, NULL, CPU },
	{ "limit", required_argument, NULL, LIMIT },
	{ "growth", required_argument, NULL, GROWTH },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL }
};

/* One option; whether its argument is right */
static bool option(struct bench_opts *opts, int c, bool *all)
{
	double value = 0;
	bool ok = true;

	switch (c) {
	case 'd':
		opts->device = optarg;
		break;
	case 'j':
		opts->format = BENCH_JSON;
		break;
	case CSV:
		opts->format = BENCH_CSV;
		break;
	case 'a':
		*all = true;
		break;
	case 'm':
		opts->model = optarg;
		break;
	case ONLY:
		opts->only = optarg;
		break;
	case NO_PEERS:
		opts->peers = false;
		break;
	case REPRODUCIBLE:
		opts->reproducible = true;
		break;
	case LOAD:
		opts->load = true;
		break;
	case CPU:
		opts->cpu = true;
		break;
	case BEST:
		opts->best = true;
		break;
	case COMPARE:
		opts->compare = optarg;
		break;
	case PLOT:
		opts->plot = optarg;
		break;
	case THREADS:
		ok = number(optarg, 1, 4096, &value);
		opts->threads = (uint32_t)value;
		break;
	case BATCHES:
		ok = number(optarg, 9, 1000, &value);
		opts->batches = (uint32_t)value;
		break;
	case BATCH_MS:
		ok = number(optarg, 1, 10000, &value);
		opts->batch_ns = (uint64_t)(value * 1e6);
		break;
	case SEED:
		ok = number(optarg, 1, 1e15, &value);
		opts->seed = (uint64_t)value;
		break;
	case LIMIT:
		ok = number(optarg, 0.001, 1000000, &value);
		opts->limit = value;
		break;
	case GROWTH:
		ok = number(optarg, 1, 1e9, &value);
		opts->growth = (uint64_t)value;
		break;
	}
	return ok;
}

static int command(struct bench_opts *opts, int count, char **args, bool all)
{
	static const char *const others[] = {
		"gemm", "job", "gemv", "pack", "conv", "attention", "lines", "memory", "limits", "all"
	};
	bool is_latency = !strcmp(args[0], "latency");
	size_t i;

	if (!strcmp(args[0], "bars")) {
		if (count > 1)
			return bars(count - 1, args + 1, all);
		fputs("accelbench: bars needs a file\nTry 'accelbench --help'.\n", stderr);
		return 2;
	}
	if (!strcmp(args[0], "model") && count > 1) {
		opts->batches = opts->batches ? opts->batches : 9;
		return bench_models(opts, count - 1, args + 1);
	}
	if (count > 1)
		return usage_error(args[1], NULL);
	if (opts->model && strcmp(args[0], "text") != 0)
		return usage_error("--model", NULL);
	if (!strcmp(args[0], "text")) {
		opts->batches = opts->batches ? opts->batches : 9;
		return bench_text(opts);
	}
	if (!opts->batches)
		opts->batches = is_latency ? 15 : 9;
	if (!opts->batch_ns)
		opts->batch_ns = is_latency ? 20000000 : 10000000;
	if (is_latency)
		return latency(opts);
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!strcmp(args[0], others[i]))
			return perf_main(opts, args[0]);
	return usage_error(args[0], NULL);
}

int main(int argc, char **argv)
{
	struct bench_opts opts = { .peers = true };
	bool all = false;
	int c, ret;

	while ((c = getopt_long(argc, argv, "d:jam:hV", longs, NULL)) != -1) {
		switch (c) {
		case 'h':
			fputs(usage, stdout);
			return 0;
		case 'V':
			printf("accelbench %s\n", UMA_VERSION);
			return 0;
		case '?':
			fputs("Try 'accelbench --help'.\n", stderr);
			return 2;
		default:
			if (!option(&opts, c, &all))
				return usage_error(argv[optind - 1], optarg);
		}
	}
	if (optind == argc) {
		fputs(usage, stderr);
		return 2;
	}
	ret = command(&opts, argc - optind, argv + optind, all);
	if (fflush(stdout) || ferror(stdout)) {
		fputs("accelbench: cannot write to stdout\n", stderr);
		return ret ? ret : 1;
	}
	return ret;
}

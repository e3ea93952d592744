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

#include "accelbench.h"

static const char usage[] =
	"Usage: accelbench latency [OPTION...]\n"
	"\n"
	"Measures what it costs to submit a job and wait for it: one without operations,\n"
	"and one with a single operation on a single element, each next to an ioctl that\n"
	"does nothing (DRM_IOCTL_VERSION), alternately and in one run. Figures are medians\n"
	"over batches after a warm-up; empty-job-submit is the part of an empty job before\n"
	"the wait; spread is the distance of the quartiles from each\n"
	"other, divided by the median.\n"
	"\n"
	"Options:\n"
	"  -d, --device DEVICE  device to measure; without it the first node, if there is\n"
	"                       one, and the in-process device\n"
	"  -j, --json           one JSON object a line\n"
	"      --csv            comma-separated values\n"
	"      --threads COUNT  in-process device: threads; the default is one a core\n"
	"      --batches COUNT  measured batches of each case, from 9 to 1000 (15)\n"
	"      --batch-ms MS    time of a batch, from 1 to 10000 (20)\n"
	"      --limit RATIO    exit with 1 if an empty job costs more than so many null\n"
	"                       ioctls\n"
	"      --growth COUNT   no times: submit so many jobs, and tell how much memory that\n"
	"                       has taken, of this process and of the kernel\n"
	"  -h, --help           show this help\n"
	"  -V, --version        show the version\n"
	"\n"
	"Exit status: 0, 1 the limit was missed or a job failed, 2 usage, 4 no permission,\n"
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
		printf(" %7.1f%%\n", 100 * row->spread);
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

static int measure(const struct bench_opts *opts)
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
	return ret ? ret : bench(opts, "sw");
}

int main(int argc, char **argv)
{
	enum { THREADS = 256, BATCHES, BATCH_MS, LIMIT, GROWTH, CSV };
	static const struct option longs[] = {
		{ "device", required_argument, NULL, 'd' },
		{ "json", no_argument, NULL, 'j' },
		{ "csv", no_argument, NULL, CSV },
		{ "threads", required_argument, NULL, THREADS },
		{ "batches", required_argument, NULL, BATCHES },
		{ "batch-ms", required_argument, NULL, BATCH_MS },
		{ "limit", required_argument, NULL, LIMIT },
		{ "growth", required_argument, NULL, GROWTH },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL }
	};
	struct bench_opts opts = { .batches = 15, .batch_ns = 20000000 };
	double value;
	int c, ret;

	while ((c = getopt_long(argc, argv, "d:jhV", longs, NULL)) != -1) {
		bool ok = true;

		switch (c) {
		case 'd':
			opts.device = optarg;
			break;
		case 'j':
			opts.format = BENCH_JSON;
			break;
		case CSV:
			opts.format = BENCH_CSV;
			break;
		case THREADS:
			ok = number(optarg, 1, 4096, &value);
			opts.threads = ok ? (uint32_t)value : 0;
			break;
		case BATCHES:
			ok = number(optarg, 9, 1000, &value);
			opts.batches = ok ? (uint32_t)value : 0;
			break;
		case BATCH_MS:
			ok = number(optarg, 1, 10000, &value);
			opts.batch_ns = ok ? (uint64_t)(value * 1e6) : 0;
			break;
		case LIMIT:
			ok = number(optarg, 0.001, 1000000, &value);
			opts.limit = ok ? value : 0;
			break;
		case GROWTH:
			ok = number(optarg, 1, 1e9, &value);
			opts.growth = ok ? (uint64_t)value : 0;
			break;
		case 'h':
			fputs(usage, stdout);
			return 0;
		case 'V':
			printf("accelbench %s\n", UMA_VERSION);
			return 0;
		default:
			fputs("Try 'accelbench --help'.\n", stderr);
			return 2;
		}
		if (!ok)
			return usage_error(argv[optind - 1], optarg);
	}
	if (optind == argc) {
		fputs(usage, stderr);
		return 2;
	}
	if (strcmp(argv[optind], "latency") != 0)
		return usage_error(argv[optind], NULL);
	if (optind + 1 < argc)
		return usage_error(argv[optind + 1], NULL);
	ret = measure(&opts);
	if (fflush(stdout) || ferror(stdout)) {
		fputs("accelbench: cannot write to stdout\n", stderr);
		return ret ? ret : 1;
	}
	return ret;
}

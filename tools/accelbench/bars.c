// SPDX-License-Identifier: MIT
/*
 * Performance targets, and the comparison of results with them. Documentation/performance.rst
 * describes them.
 */
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perf.h"

/**
 * enum test - kind of a target
 * @PEER: speed, relative to the best other library
 * @PEER_MEAN: the same, geometric mean of all cases
 * @PEER_TIME: time, relative to the other library's
 * @PEER_PEAK: peak memory, relative to the other library's
 * @PEER_OVER: peak memory without the weights, relative to the other library's
 * @SHARE: share of the limit
 * @THREADS: speed, relative to that with one thread
 * @LIKE: time, relative to that of the same case with types @other
 * @FLAT: share of the limit, relative to that of the case @other
 * @WITH: operations per second, relative to those of the same case without the suffix @other
 * @RATE: bytes per second, relative to those of the case @other in fp32
 * @SPEED: 10^9 operations or bytes per second
 * @TIME: microseconds
 * @OVER: microseconds above those of the fastest implementation of the case @other
 * @NODE: time, relative to the null ioctl
 * @SPACE: workspace, relative to what is allowed; and growth beyond it
 */
enum test {
	PEER,
	PEER_MEAN,
	PEER_TIME,
	PEER_PEAK,
	PEER_OVER,
	SHARE,
	THREADS,
	LIKE,
	FLAT,
	WITH,
	RATE,
	SPEED,
	TIME,
	OVER,
	NODE,
	SPACE
};

/* What a sum of two tensors reaches, which other operations along lines are compared with */
#define SUM	"lines/add/512x3072"
/* Models that have no bar of their own */
#define OTHERS	"model/!(resnet50*|bert-base|bert-base-dynq)/@(1|8)"

/**
 * struct rule - a target, or a part of it
 * @bar: its number
 * @title: title
 * @cases: pattern of cases
 * @dtypes: pattern of element types
 * @test: &enum test
 * @want: threshold: a maximum if at_most() says so, else a minimum
 * @other: see &enum test
 */
static const struct rule {
	int bar;
	const char *title, *cases, *dtypes;
	enum test test;
	double want;
	const char *other;
} rules[] = {
	{ 1, "products", "gemm/*packed", "fp32", PEER, 0.97, NULL },
	{ 1, "32 and 64", "gemm/@(32x32x32|64x64x64)/*packed", "bf16", PEER, 1.5, NULL },
	{ 1, "32 and 64", "gemm/@(32x32x32|64x64x64)/*packed", "[su]8", PEER, 1.5, NULL },
	{ 1, "products", "gemm/!(32x32x32|64x64x64)/*packed", "bf16", PEER, 0.97, NULL },
	{ 1, "products", "gemm/!(32x32x32|64x64x64)/*packed", "[su]8", PEER, 0.97, NULL },
	/* Two runs of the same thing differ by as much. */
	{ 1, "threads do not hurt", "gemm/*packed", "*", THREADS, 0.97, NULL },
	{ 1, "jobs in order on two threads", "job/*", "*", THREADS, 1.85, NULL },
	{ 2, "one row", "gemv/1x*", "*", SHARE, 0.9, NULL },
	{ 2, "8 and 32 rows", "gemv/@(8|32)x*", "*", PEER, 1.2, NULL },
	{ 3, "convolutions", "conv/1x1-*", "*", PEER, 0.97, NULL },
	{ 3, "3x3, stride 2", "conv/3x3-*s2", "*", PEER, 0.97, NULL },
	{ 3, "3x3, stride 1", "conv/3x3-!(*s2)", "@(fp32|u8)", PEER, 1.1, NULL },
	{ 3, "3x3, stride 1", "conv/3x3-!(*s2)", "bf16", PEER, 0.97, NULL },
	{ 3, "7x7", "conv/7x7-*", "fp32", PEER, 0.97, NULL },
	{ 3, "7x7", "conv/7x7-*", "@(bf16|u8)", PEER, 1.2, NULL },
	{ 3, "depthwise", "conv/dw*", "*", PEER, 1.3, NULL },
	{ 4, "prompts", "attention/h*@!(128)", "fp32", SHARE, 0.85, NULL },
	{ 4, "prompts", "attention/h*@!(128)", "bf16", SHARE, 0.7, NULL },
	{ 4, "longer prompts", "attention/h12d64@@(2048|4096)", "@(fp32|bf16)", FLAT, 0.97,
	  "attention/h12d64@512" },
	{ 4, "int8 keys, values", "attention/h*", "bf16[*]s8", LIKE, 1.3, "bf16" },
	{ 4, "decode", "attention/decode*", "*", SHARE, 0.9, NULL },
	{ 5, "empty job", "latency/empty", "*", TIME, 1, NULL },
	{ 5, "inline", "latency/inline", "*", TIME, 1, NULL },
	{ 5, "through a worker", "latency/worker", "*", TIME, 8, NULL },
	{ 5, "32x32x32 as a call", "latency/gemm/32x32x32/packed/call", "fp32", OVER, 0.5,
	  "latency/gemm/32x32x32/packed" },
	{ 6, "empty job in the VM", "empty-job", "*", NODE, 30, NULL },
	{ 7, "workspace", "memory/*", "*", SPACE, 1, NULL },
	{ 8, "prompts, LLaMA", "text/llama*/prefill-*", "*", PEER, 2.2, NULL },
	{ 8, "tokens", "text/*/decode@256", "q4_0", PEER, 1.4, NULL },
	{ 8, "tokens", "text/*/decode@256", "fp16", PEER, 1.15, NULL },
	{ 8, "tokens", "text/*/decode@256", "*", SHARE, 0.85, NULL },
	{ 8, "eight answers", "text/llama*/decode-8@256", "q4_0", PEER, 2, NULL },
	{ 8, "guesses by look-up", "text/*/lookup@256", "*", PEER, 1.3, NULL },
	{ 8, "file to first token", "text/*/load", "*", PEER_TIME, 0.5, NULL },
	{ 8, "memory", "text/*/memory", "*", PEER_PEAK, 1.1, NULL },
	{ 9, "norms", "lines/@(layer|rms)-norm/*", "fp32", RATE, 0.8, SUM },
	{ 9, "GELU, SiLU", "lines/@(gelu|silu)/512x3072", "fp32", RATE, 0.6, SUM },
	{ 9, "softmax", "lines/softmax/512x3072", "fp32", RATE, 0.3, SUM },
	{ 9, "floats to bytes", "lines/convert/*", "fp32-s8", RATE, 0.6, SUM },
	{ 9, "sums of bytes", "lines/add/*", "s8", RATE, 0.3, SUM },
	{ 9, "pools, transposes", "lines/@(max-pool|transpose)/*", "*", RATE, 0.3, SUM },
	{ 9, "logits", "lines/@(softmax|top-10)/1x50257", "fp32", TIME, 25, NULL },
	{ 9, "GELU at the end", "gemm/*/gelu", "bf16", WITH, 0.9, "/gelu" },
	/* 1.15 times as long */
	{ 9, "residual", "conv/1x1-*/residual", "@(fp32|u8)", WITH, 0.87, "/residual" },
	{ 9, "weights [N, K]", "gemv/@(1|8)x4096x4096", "fp32[*]s4^T", LIKE, 1.03, "fp32*s4" },
	{ 9, "4 bits, not packed", "gemm/512x512x512/unpacked", "@(fp32|bf16)[*]s4", FLAT, 0.9,
	  "gemm/512x512x512/packed" },
	{ 9, "prompts, 4 bits", "gemm/128x4096x4096/packed", "s8/g[*]s4*", SPEED, 700, NULL },
	{ 9, "packing", "pack/*", "@(fp32|s8|s4)", SPEED, 10, NULL },
	{ 10, "ResNet-50", "model/resnet50/@(1|8)", "*", PEER, 1.3, NULL },
	{ 10, "ResNet-50, bytes", "model/resnet50-qdq/@(1|8)", "*", PEER, 1.15, NULL },
	{ 10, "BERT", "model/bert-base/@(1|8)", "*", PEER, 1.2, NULL },
	{ 10, "BERT, dynamic bytes", "model/bert-base-dynq/@(1|8)", "*", PEER, 1.5, NULL },
	{ 10, "other models", OTHERS, "*", PEER, 1, NULL },
	{ 10, "their geometric mean", OTHERS, "*", PEER_MEAN, 1.3, NULL },
	{ 10, "file to first answer", "model/resnet50/warm", "*", PEER_TIME, 0.3, NULL },
	{ 10, "memory over weights", "model/resnet50/warm", "*", PEER_OVER, 0.7, NULL },
	{ 10, "two threads over one", "model/*/@(1|8)", "*", THREADS, 1.85, NULL },
};

static bool at_most(enum test test)
{
	return test == PEER_TIME || test == PEER_PEAK || test == PEER_OVER || test == LIKE ||
	       test == TIME || test == OVER || test == NODE || test == SPACE;
}

/* The fastest implementation of a case, of other libraries or of all */
static const struct perf_row *fastest(const struct perf_row *rows, size_t count,
				      const struct perf_row *like, bool all)
{
	const struct perf_row *best = NULL;
	size_t i;

	for (i = 0; i < count; i++)
		if (!strcmp(rows[i].name, like->name) && !strcmp(rows[i].dtype, like->dtype) &&
		    rows[i].threads == like->threads &&
		    (all || strncmp(rows[i].impl, "ours", 4) != 0) &&
		    (!best || rows[i].gflops > best->gflops))
			best = &rows[i];
	return best;
}

/* Speed relative to that of another row, which whole models have no operations for */
static double faster(const struct perf_row *row, const struct perf_row *than)
{
	return row->gflops > 0 ? row->gflops / than->gflops : than->us / row->us;
}

static double value_of(const struct rule *rule, const struct perf_row *rows, size_t count,
		       const struct perf_row *row, const struct perf_row **with)
{
	struct perf_row like = *row;
	size_t length;
	double own;

	*with = NULL;
	switch (rule->test) {
	case PEER:
	case PEER_MEAN:
		*with = fastest(rows, count, row, false);
		return *with ? faster(row, *with) : NAN;
	case PEER_TIME:
		*with = fastest(rows, count, row, false);
		return *with ? row->us / (*with)->us : NAN;
	case PEER_PEAK:
		*with = fastest(rows, count, row, false);
		return *with && (*with)->peak > 0 ? row->peak / (*with)->peak : NAN;
	case PEER_OVER:
		*with = fastest(rows, count, row, false);
		return *with && (*with)->over > 0 ? row->over / (*with)->over : NAN;
	case SHARE:
		return row->limit > 0 ? report_share(row) : NAN;
	case THREADS:
		like.threads = 1;
		*with = row->threads > 1 ? report_find(rows, count, &like, "ours") : NULL;
		return *with ? faster(row, *with) : NAN;
	case LIKE:
		snprintf(like.dtype, sizeof(like.dtype), "%s", rule->other);
		*with = report_find(rows, count, &like, "ours");
		return *with ? row->us / (*with)->us : NAN;
	case FLAT:
		snprintf(like.name, sizeof(like.name), "%s", rule->other);
		*with = report_find(rows, count, &like, "ours");
		return *with ? report_share(row) / report_share(*with) : NAN;
	case WITH:
		length = strlen(row->name) - strlen(rule->other);
		snprintf(like.name, sizeof(like.name), "%.*s", (int)length, row->name);
		*with = report_find(rows, count, &like, "ours");
		return *with ? row->gflops / (*with)->gflops : NAN;
	case RATE:
		snprintf(like.name, sizeof(like.name), "%s", rule->other);
		snprintf(like.dtype, sizeof(like.dtype), "fp32");
		*with = report_find(rows, count, &like, "ours");
		return *with ? row->gflops / (*with)->gflops : NAN;
	case SPEED:
		return row->gflops;
	case TIME:
		return row->us;
	case OVER:
		snprintf(like.name, sizeof(like.name), "%s", rule->other);
		*with = fastest(rows, count, &like, true);
		return *with ? row->us - (*with)->us : NAN;
	case NODE:
		return row->extra[0] > 0 ? row->extra[0] : NAN;
	case SPACE:
		/*
		 * Unreported growth counts, except for memory that threads keep, including the
		 * calling one.
		 */
		own = (row->extra[2] - row->extra[1]) / row->threads * (row->threads + 1);
		if (row->extra[3] > row->extra[0] + own)
			return row->extra[3] / (row->extra[0] + own);
		return row->extra[0] / row->extra[2];
	}
	return NAN;
}

static bool applies(const struct rule *rule, const struct perf_row *row, uint32_t threads)
{
	const char *dtype = row->dtype[0] ? row->dtype : "none";
	bool node = rule->test == NODE;

	return (node || row->threads == threads) && !strcmp(row->impl, node ? "uma" : "ours") &&
	       !fnmatch(rule->cases, row->name, FNM_EXTMATCH) &&
	       !fnmatch(rule->dtypes, dtype, FNM_EXTMATCH);
}

static bool reached(const struct rule *rule, double value)
{
	return at_most(rule->test) ? value <= rule->want : value >= rule->want;
}

static void print_row(const struct rule *rule, const struct perf_row *row, double value,
		      const struct perf_row *with)
{
	const char *verdict = reached(rule, value) ? "ok" : "MISS";
	const char *sense = at_most(rule->test) ? "at most" : "at least";

	printf("    %-4s %-32s %-8s %u: %.3g, %s %.3g", verdict, row->name, row->dtype,
	       row->threads, value, sense, rule->want);
	if (rule->test == PEER && row->gflops > 0)
		printf(" (%.4g GFLOP/s, %s %.4g)", row->gflops, with->impl, with->gflops);
	else if (row->gflops > 0)
		printf(" (%.4g GFLOP/s)", row->gflops);
	putchar('\n');
}

/* Apply a rule for a number of threads; returns the number of misses */
static size_t hold(const struct rule *rule, const struct perf_row *rows, size_t count,
		   uint32_t threads, bool all, bool list)
{
	const struct perf_row *with, *worst_row = NULL;
	size_t tried = 0, missed = 0, i;
	double worst = 0, logs = 0;

	for (i = 0; i < count; i++) {
		double value;

		if (!applies(rule, &rows[i], threads))
			continue;
		value = value_of(rule, rows, count, &rows[i], &with);
		if (isnan(value))
			continue;
		tried++;
		logs += log(value);
		missed += !reached(rule, value);
		if (!worst_row || (at_most(rule->test) ? value > worst : value < worst)) {
			worst = value;
			worst_row = &rows[i];
		}
		if (list && rule->test != PEER_MEAN && (all || !reached(rule, value)))
			print_row(rule, &rows[i], value, with);
	}
	if (tried && rule->test == PEER_MEAN) {
		worst = exp(logs / (double)tried);
		tried = 1;
		missed = !reached(rule, worst);
	}
	if (list)
		return missed;
	if (rule->test == THREADS && threads == 1)
		return 0;
	printf("%-3d %-20s %-12s %u ", rule->bar, rule->title, rule->dtypes, threads);
	if (tried)
		printf("%-4s %3zu of %3zu %8.3g %s %-5g %s%s%s\n", missed ? "MISS" : "pass",
		       tried - missed, tried, worst, at_most(rule->test) ? "<=" : ">=", rule->want,
		       worst_row->name, *worst_row->dtype ? "/" : "", worst_row->dtype);
	else
		puts("not measured");
	return missed;
}

/* Each rule, for each number of threads that there are results for */
static size_t walk(const struct perf_row *rows, size_t count, bool all, bool list)
{
	size_t missed = 0, i, r;
	uint32_t threads, most = 1;

	for (i = 0; i < count; i++)
		if (rows[i].threads > most && strcmp(rows[i].impl, "uma") != 0)
			most = rows[i].threads;
	for (r = 0; r < sizeof(rules) / sizeof(rules[0]); r++)
		for (threads = 1; threads <= most; threads++) {
			for (i = 0; i < count; i++)
				if (rows[i].threads == threads && !strncmp(rows[i].impl, "ours", 4))
					break;
			/* Measurements on a node do not depend on the number of threads. */
			if ((i < count && rules[r].test != NODE) ||
			    (threads == 1 && rules[r].test == NODE))
				missed += hold(&rules[r], rows, count, threads, all, list);
		}
	return missed;
}

int bars_print(const struct perf_row *rows, size_t count, bool all)
{
	size_t missed;

	printf("%-3s %-20s %-12s %s %-4s %10s %8s    %-5s %s\n", "BAR", "WHAT", "DTYPE", "T", "",
	       "REACHED", "WORST", "WANT", "WORST CASE");
	missed = walk(rows, count, all, false);
	if (missed || all) {
		printf("\nShortfalls, %zu:\n", missed);
		walk(rows, count, all, true);
	}
	return missed ? 1 : 0;
}

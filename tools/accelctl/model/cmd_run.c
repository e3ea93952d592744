// SPDX-License-Identifier: MIT
/*
 * model run, model bench
 */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "model.h"

static uint64_t peak_bytes(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (uint64_t)usage.ru_maxrss * 1024;
}

static int run(struct session *s, uint64_t *times)
{
	struct accel_program_info info = { .size = sizeof(info) };
	const uint64_t n = s->opts->repeat, half = n / 2, most = n * 99 / 100;
	struct json_object *doc = NULL;
	char a[16], b[16], c[16];
	uint64_t peak, file, bound;
	double median, p99;
	bool good;
	int ret = session_measure(s, n, times);

	if (ret)
		return ret;
	ret = accel_state_get_info(s->state, &info);
	if (ret)
		return session_fail(s, ret);
	file = session_file_bytes(s);
	peak = peak_bytes();
	bound = info.constant_bytes + info.packed_bytes + info.arena_bound;
	median = (double)times[half] / 1e9;
	p99 = (double)times[most] / 1e9;
	if (s->ctl->json)
		doc = ctl_schema(s->ctl);
	ret = outputs_tell(s, doc, &good);
	if (!ret && s->opts->out)
		ret = outputs_save(s);
	if (!ret)
		ret = greedy_tell(s, doc, &good);
	if (ret) {
		json_object_put(doc);
		return ret;
	}
	if (doc) {
		ctl_json_bool(doc, "ok", good);
		ctl_json_real(doc, "median_s", median);
		ctl_json_real(doc, "p99_s", p99);
		ctl_json_real(doc, "runs_per_s", 1 / median);
		ctl_json_uint(doc, "nodes", info.node_count);
		ctl_json_uint(doc, "host_nodes", info.host_count);
		ctl_json_uint(doc, "fallbacks", info.fallback_count);
		ctl_json_uint(doc, "macs", info.macs);
		ctl_json_uint(doc, "arena_bytes", info.arena_bytes);
		ctl_json_uint(doc, "packed_bytes", info.packed_bytes);
		ctl_json_uint(doc, "peak_bytes", peak);
		ctl_json_uint(doc, "bound_bytes", bound);
		ctl_json_uint(doc, "file_bytes", file);
	} else {
		printf("median %s, p99 %s, %.4g runs/s, %.4g GFLOP/s\n", ctl_time(a, median),
		       ctl_time(b, p99), 1 / median, 2 * (double)info.macs / median / 1e9);
		printf("%u nodes on engines, %u on the CPU; arena %s, packed weights %s\n",
		       info.node_count, info.host_count, ctl_bytes(a, info.arena_bytes),
		       ctl_bytes(b, info.packed_bytes));
		if (info.fallback_count)
			printf("%u products in fp32, for they have numbers that fp16 has not\n",
			       info.fallback_count);
		printf("peak memory %s; weights and values at one time %s, files %s\n",
		       ctl_bytes(a, peak), ctl_bytes(b, bound), ctl_bytes(c, file));
	}
	if (doc)
		ctl_json_print(s->ctl, doc);
	return good ? CTL_OK : CTL_MISMATCH;
}

int cmd_model_run(struct ctl *ctl, void *data, const char *operand)
{
	struct session s;
	uint64_t *times;
	int ret = session_open(&s, ctl, data, ctl->device, operand);

	if (!ret) {
		times = ctl_alloc(s.opts->repeat, sizeof(*times));
		ret = run(&s, times);
		free(times);
	}
	session_close(&s);
	return ret;
}

/* --- bench --- */

/**
 * struct bench - what is measured
 * @ctl: invocation
 * @opts: options, with what changes from one measurement to the next
 * @path: model
 * @symbol: name of the first dimension of the first input, "": it is a number
 * @table: text
 * @list: or JSON
 */
struct bench {
	struct ctl *ctl;
	struct model_opts opts;
	const char *path;
	char symbol[128];
	struct ctl_grid table;
	struct json_object *list;
};

static int bench_one(struct bench *b, int64_t batch, uint64_t *times)
{
	struct accel_program_info info = { .size = sizeof(info) };
	const uint64_t n = b->opts.repeat, half = n / 2, most = n * 99 / 100;
	struct json_object *o;
	struct session s;
	double median, p99, least;
	char x[16], y[16], z[16];
	int ret = session_open(&s, b->ctl, &b->opts, b->ctl->device, b->path);

	if (!ret)
		ret = session_measure(&s, n, times);
	if (!ret && accel_state_get_info(s.state, &info))
		ret = CTL_FAILED;
	session_close(&s);
	if (ret)
		return ret;
	least = (double)times[0] / 1e9;
	median = (double)times[half] / 1e9;
	p99 = (double)times[most] / 1e9;
	if (b->list) {
		o = ctl_json_obj(b->list, NULL);
		ctl_json_uint(o, "threads", b->opts.threads);
		ctl_json_int(o, "batch", batch);
		ctl_json_real(o, "min_s", least);
		ctl_json_real(o, "median_s", median);
		ctl_json_real(o, "p99_s", p99);
		ctl_json_real(o, "items_per_s", (double)batch / median);
		ctl_json_real(o, "gflops", 2 * (double)info.macs / median / 1e9);
		ctl_json_uint(o, "arena_bytes", info.arena_bytes);
	} else {
		ctl_grid_row(&b->table, "%llu\t%lld\t%s\t%s\t%s\t%.4g\t%.4g",
			     (unsigned long long)b->opts.threads, (long long)batch,
			     ctl_time(x, least), ctl_time(y, median), ctl_time(z, p99),
			     (double)batch / median, 2 * (double)info.macs / median / 1e9);
	}
	return CTL_OK;
}

/* The name of the first dimension of the first input, or its number */
static int find_batch(struct bench *b, int64_t *batch)
{
	struct accel_value v = ACCEL_VALUE_INIT;
	struct session s;
	const char *name;
	int ret = session_open(&s, b->ctl, &b->opts, b->ctl->device, b->path);

	*batch = 1;
	if (!ret && !accel_program_get_input(s.program, 0, &v) && v.rank) {
		*batch = v.dims[0];
		name = v.dims[0] < 0 ? accel_program_get_symbol(s.program, v.dims[0], NULL, NULL) :
		       NULL;
		if (name)
			snprintf(b->symbol, sizeof(b->symbol), "%s", name);
	}
	session_close(&s);
	return ret;
}

int cmd_model_bench(struct ctl *ctl, void *data, const char *operand)
{
	static const struct ctl_ints one = { 1, { 1 } }, two = { 2, { 1, 2 } };
	struct bench b = { .ctl = ctl, .path = operand, .table = { .right = 0x7f } };
	struct json_object *doc = NULL;
	struct ctl_ints batches, counts;
	char dim[160];
	uint64_t *times;
	uint32_t i, k;
	int64_t fixed;
	int ret;

	memcpy(&b.opts, data, sizeof(b.opts));
	batches = b.opts.batches.count ? b.opts.batches : one;
	counts = b.opts.threads ? (struct ctl_ints) { 1, { (int64_t)b.opts.threads } } : two;
	ret = find_batch(&b, &fixed);
	if (!ret && !b.symbol[0]) {
		if (b.opts.batches.count)
			ret = ctl_fail(ctl, CTL_USAGE, 0, "--batch", "this model has a batch of %lld",
				       (long long)fixed);
		batches.v[0] = fixed;
	} else if (!ret && b.opts.dims.count == CTL_LIST_MAX) {
		ret = ctl_fail(ctl, CTL_USAGE, 0, "--dim", "too many");
	}
	if (ret)
		return ret;
	if (b.symbol[0])
		b.opts.dims.v[b.opts.dims.count++] = dim;
	if (ctl->json) {
		doc = ctl_schema(ctl);
		b.list = ctl_json_arr(doc, "runs");
	} else {
		ctl_grid_row(&b.table, "THREADS\tBATCH\tLEAST\tMEDIAN\tP99\tITEMS/S\tGFLOP/S");
	}
	times = ctl_alloc(b.opts.repeat, sizeof(*times));
	for (i = 0; i < counts.count && !ret; i++)
		for (k = 0; k < batches.count && !ret; k++) {
			b.opts.threads = (uint64_t)counts.v[i];
			snprintf(dim, sizeof(dim), "%s=%lld", b.symbol, (long long)batches.v[k]);
			ret = bench_one(&b, batches.v[k], times);
		}
	free(times);
	if (!ret && doc) {
		ctl_json_bool(doc, "ok", true);
		ctl_json_uint(doc, "peak_bytes", peak_bytes());
		ctl_json_print(ctl, doc);
		doc = NULL;
	} else if (!ret) {
		ctl_grid_print(ctl, &b.table, 0);
	}
	ctl_grid_clear(&b.table);
	json_object_put(doc);
	return ret;
}

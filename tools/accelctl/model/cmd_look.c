// SPDX-License-Identifier: MIT
/*
 * model info, model explain, model profile
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "kfile.h"
#include "model.h"

/* --- info --- */

static void tell_input(struct json_object *list, const struct accel_value *v, const char *shape)
{
	struct json_object *o = list ? ctl_json_obj(list, NULL) : NULL;
	char *name = model_text(v->name), *dims = model_text(shape);

	if (o) {
		ctl_json_str(o, "name", name);
		ctl_json_str(o, "type", accel_type_name(v->type));
		ctl_json_str(o, "dims", dims);
	} else {
		printf("input %s: %s [%s]\n", name, accel_type_name(v->type), dims);
	}
	free(name);
	free(dims);
}

/* For a compiled program: whether this device can use it, and its inputs */
static int compiled_info(struct ctl *ctl, struct model_opts *opts, const char *path)
{
	struct json_object *doc = NULL, *list = NULL;
	struct accel_value v = ACCEL_VALUE_INIT;
	char shape[256], buf[16];
	struct session s;
	uint32_t i, k;
	size_t n;
	int ret = session_load(&s, ctl, opts, ctl->device, path);

	if (!ret)
		ret = session_compile(&s);
	if (!ret && ctl->json) {
		doc = ctl_schema(ctl);
		ctl_json_bool(doc, "ok", true);
		ctl_json_bool(doc, "compiled", true);
		ctl_json_uint(doc, "file_bytes", session_file_bytes(&s));
		list = ctl_json_arr(doc, "inputs");
	} else if (!ret) {
		printf("a compiled program of %s, for this device\n",
		       ctl_bytes(buf, session_file_bytes(&s)));
	}
	for (i = 0; !ret && !accel_program_get_input(s.program, i, &v); i++) {
		shape[0] = 0;
		for (k = 0, n = 0; k < v.rank && n < sizeof(shape); k++)
			n += (size_t)(v.dims[k] < 0 ?
				      snprintf(shape + n, sizeof(shape) - n, "%s%s", k ? "," : "",
					       accel_program_get_symbol(s.program, v.dims[k], NULL,
									NULL)) :
				      snprintf(shape + n, sizeof(shape) - n, "%s%lld",
					       k ? "," : "", (long long)v.dims[k]));
		tell_input(list, &v, shape);
	}
	if (doc)
		ctl_json_print(ctl, doc);
	session_close(&s);
	return ret;
}

/* What goes into a file, or comes out of it, into @user, or onto the screen */
static int tell_value(void *user, const struct accel_model_item *item)
{
	const bool in = item->kind == ACCEL_MODEL_INPUT;
	struct json_object **lists = user, *o;
	char *name, *text;

	if (!in && item->kind != ACCEL_MODEL_OUTPUT)
		return 0;
	name = model_text(item->name);
	text = model_text(item->text);
	if (lists) {
		o = ctl_json_obj(lists[!in], NULL);
		ctl_json_str(o, "name", name);
		ctl_json_str(o, "type", item->type);
		ctl_json_str(o, "shape", text);
	} else {
		printf("%s %s: %s[%s]\n", in ? "input" : "output", name, item->type, text);
	}
	free(name);
	free(text);
	return 0;
}

int cmd_model_info(struct ctl *ctl, void *data, const char *operand)
{
	struct accel_model_info info = { .size = sizeof(info) };
	struct json_object *doc, *ops, *lists[2];
	struct accel_model *model = NULL;
	uint32_t i, count;
	const char *name;
	char buf[16], files[16];
	int ret;

	if (session_compiled(operand))
		return compiled_info(ctl, data, operand);
	ret = session_model(ctl, data, operand, &model);
	if (ret)
		return ret;
	accel_model_get_info(model, &info);
	text_clean(info.producer);
	if (ctl->json) {
		doc = ctl_schema(ctl);
		ctl_json_bool(doc, "ok", true);
		ctl_json_str(doc, "producer", info.producer);
		ctl_json_uint(doc, "opset", info.opset);
		ctl_json_uint(doc, "nodes", info.node_count);
		ctl_json_uint(doc, "inputs", info.input_count);
		ctl_json_uint(doc, "outputs", info.output_count);
		ctl_json_uint(doc, "constants", info.constant_count);
		ctl_json_uint(doc, "constant_bytes", info.constant_bytes);
		ctl_json_uint(doc, "file_bytes", info.file_bytes);
		lists[0] = ctl_json_arr(doc, "input_values");
		lists[1] = ctl_json_arr(doc, "output_values");
		accel_model_scan(operand, tell_value, lists);
		ops = ctl_json_obj(doc, "operators");
		for (i = 0; (name = accel_model_get_op(model, i, &count)); i++)
			ctl_json_uint(ops, name, count);
		ctl_json_print(ctl, doc);
	} else {
		printf("written by %s", info.producer[0] ? info.producer : "nobody knows");
		if (info.opset)
			printf(", operators of version %u", info.opset);
		printf("\n");
		if (info.node_count)
			printf("%u nodes, ", info.node_count);
		printf("%u inputs, %u outputs, %u constants of %s, files of %s\n",
		       info.input_count, info.output_count, info.constant_count,
		       ctl_bytes(buf, info.constant_bytes), ctl_bytes(files, info.file_bytes));
		accel_model_scan(operand, tell_value, NULL);
		for (i = 0; (name = accel_model_get_op(model, i, &count)); i++)
			printf("%6u %s\n", count, name);
	}
	accel_model_close(model);
	return CTL_OK;
}

/* --- explain, profile --- */

/* Lines, which may be indented, with names from the file */
static int print_text(void *user, const char *text, uint64_t bytes)
{
	char *copy = strndup(text, bytes), *rest = copy, *line;

	(void)user;
	while ((line = strsep(&rest, "\n"))) {
		text_clean(line + strspn(line, "\t"));
		printf("%s%s", line, rest ? "\n" : "");
	}
	free(copy);
	return copy && !ferror(stdout) ? 0 : -EIO;
}

int cmd_model_explain(struct ctl *ctl, void *data, const char *operand)
{
	struct session s;
	int ret = session_open(&s, ctl, data, ctl->device, operand);

	/* Only a run shows which products have numbers that fp16 cannot represent. */
	if (!ret && s.opts->dtype == MODEL_F16) {
		ret = accel_state_run(s.state);
		ret = ret ? session_fail(&s, ret) : CTL_OK;
	}
	if (!ret) {
		ret = accel_state_explain(s.state, ctl->json ? ACCEL_TEXT_JSON :
					  s.opts->dot ? ACCEL_TEXT_DOT : s.opts->format,
					  print_text, NULL);
		ctl->json_done = !ret && ctl->json;
		ret = ret ? session_fail(&s, ret) : CTL_OK;
	}
	session_close(&s);
	return ret;
}

struct profile {
	struct ctl_grid table;
	struct json_object *list;
	struct json_object *events;
	uint64_t total;
	uint64_t ns[ACCEL_CODE_COUNT];
	uint64_t macs[ACCEL_CODE_COUNT];
};

static const char *const code_names[ACCEL_CODE_COUNT] = { "tuned", "reference", "host" };

/* A node in the Chrome trace format, after the previous ones; engines are threads. */
static void add_event(struct profile *p, const struct accel_node_profile *n)
{
	struct json_object *e = ctl_json_obj(p->events, NULL), *args;

	model_json(e, "name", n->name);
	ctl_json_str(e, "cat", n->operation);
	ctl_json_str(e, "ph", "X");
	ctl_json_real(e, "ts", (double)p->total / 1e3);
	ctl_json_real(e, "dur", (double)n->ns / 1e3);
	ctl_json_uint(e, "pid", 1);
	ctl_json_uint(e, "tid", n->engine);
	args = ctl_json_obj(e, "args");
	ctl_json_str(args, "operation", n->operation);
	ctl_json_uint(args, "macs", n->macs);
	ctl_json_uint(args, "bytes", n->bytes);
	ctl_json_real(args, "gflops", n->ns ? 2 * (double)n->macs / (double)n->ns : 0);
}

static void name_threads(struct json_object *events)
{
	struct json_object *e;
	uint32_t i;

	for (i = 0; i < ACCEL_ENGINE_COUNT; i++) {
		e = ctl_json_obj(events, NULL);
		ctl_json_str(e, "name", "thread_name");
		ctl_json_str(e, "ph", "M");
		ctl_json_uint(e, "pid", 1);
		ctl_json_uint(e, "tid", i);
		ctl_json_str(ctl_json_obj(e, "args"), "name", i ? accel_engine_name(i) : "cpu");
	}
}

static int write_trace(struct ctl *ctl, const char *path, struct json_object *trace)
{
	if (json_object_to_file_ext(path, trace, JSON_C_TO_STRING_PLAIN) == 0)
		return CTL_OK;
	return ctl_fail(ctl, CTL_FAILED, -EIO, "--chrome", "%s cannot be written", path);
}

static int tell_node(void *user, const struct accel_node_profile *n)
{
	struct profile *p = user;
	struct json_object *o;
	char time[16];

	if (p->events)
		add_event(p, n);
	p->total += n->ns;
	p->ns[n->code] += n->ns;
	/* Where there are no products, these are elements. */
	p->macs[n->code] += n->macs;
	if (p->list) {
		o = ctl_json_obj(p->list, NULL);
		model_json(o, "name", n->name);
		ctl_json_str(o, "op", n->operation);
		ctl_json_str(o, "engine", n->engine ? accel_engine_name(n->engine) : "cpu");
		ctl_json_uint(o, "ns", n->ns);
		ctl_json_uint(o, "macs", n->macs);
		ctl_json_uint(o, "bytes", n->bytes);
		ctl_json_str(o, "code", code_names[n->code]);
		return 0;
	}
	ctl_grid_row(&p->table, "%u\t%s\t%s\t%s\t%.4g\t%.4g\t%.60s", n->index,
		     n->engine ? accel_engine_name(n->engine) : "cpu", n->operation,
		     ctl_time(time, (double)n->ns / 1e9), 2 * (double)n->macs / (double)n->ns,
		     (double)n->bytes / (double)n->ns, n->name);
	return 0;
}

/* Shares of kernels for this processor, of reference code, and of nodes that no engine runs */
static void tell_codes(const struct profile *p, struct json_object *doc)
{
	uint64_t macs = 0;
	struct json_object *o;
	uint32_t i;

	for (i = 0; i < ACCEL_CODE_COUNT; i++)
		macs += p->macs[i];
	for (i = 0; i < ACCEL_CODE_COUNT; i++) {
		if (doc) {
			o = ctl_json_obj(doc, code_names[i]);
			ctl_json_uint(o, "ns", p->ns[i]);
			ctl_json_uint(o, "macs", p->macs[i]);
		} else if (p->macs[i] || p->ns[i]) {
			printf("%s code: %.4g %% of the time, %.4g %% of the multiply-adds\n",
			       code_names[i],
			       100 * (double)p->ns[i] / (double)(p->total + !p->total),
			       100 * (double)p->macs[i] / (double)(macs + !macs));
		}
	}
}

int cmd_model_profile(struct ctl *ctl, void *data, const char *operand)
{
	struct profile p = { .table = { .right = 0x39 } };
	struct json_object *doc = NULL, *trace = NULL;
	const struct model_opts *o = data;
	struct session s;
	char time[16];
	int ret = session_open(&s, ctl, data, ctl->device, operand);

	if (!ret && ctl->json) {
		doc = ctl_schema(ctl);
		p.list = ctl_json_arr(doc, "nodes");
	}
	if (!ret && o->chrome) {
		trace = json_object_new_object();
		p.events = ctl_json_arr(trace, "traceEvents");
		name_threads(p.events);
	}
	if (!ret) {
		ctl_grid_row(&p.table, "NODE\tENGINE\tOPERATION\tTIME\tGFLOP/S\tGB/S\tNAME");
		/* The first access to memory, and cold caches, are not part of a node's time. */
		ret = accel_state_run(s.state);
		if (!ret)
			ret = accel_state_profile(s.state, (uint32_t)o->repeat, tell_node, &p);
		ret = ret ? session_fail(&s, ret) : CTL_OK;
	}
	if (!ret && trace)
		ret = write_trace(ctl, o->chrome, trace);
	if (!ret && doc) {
		ctl_json_bool(doc, "ok", true);
		ctl_json_uint(doc, "repeats", o->repeat);
		ctl_json_uint(doc, "ns", p.total);
		tell_codes(&p, ctl_json_obj(doc, "code"));
		ctl_json_print(ctl, doc);
		doc = NULL;
	} else if (!ret) {
		ctl_grid_print(ctl, &p.table, 0);
		tell_codes(&p, NULL);
		printf("all %s\n", ctl_time(time, (double)p.total / 1e9));
	}
	ctl_grid_clear(&p.table);
	json_object_put(doc);
	json_object_put(trace);
	session_close(&s);
	return ret;
}

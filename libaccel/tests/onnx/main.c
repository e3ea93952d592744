// SPDX-License-Identifier: MIT
/*
 * run_onnx [-v] [--operators N] [--vectors N] [--data DIR] [PATTERN]
 *
 * Runs the vectors whose names contain PATTERN. TAP: a line for each vector,
 * one that is unsupported is skipped and says why; then a table by operator,
 * the operators that are not supported, and, with --operators and --vectors,
 * whether there are as many as there should be. Environment: ACCEL_TEST_DEVICE.
 */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../guest.h"
#include "run.h"
#include "table.h"

#ifndef ONNX_DATA
#define ONNX_DATA "/usr/share/libonnx-testdata/data"
#endif

static const char *const categories[] = {
	"node", "simple", "pytorch-converted", "pytorch-operator"
};

/**
 * struct defect - a vector that contradicts its own model
 * @name: name
 * @why: how
 */
static const struct defect {
	const char *name;
	const char *why;
} defects[] = {
	{ "test_adam_multiple", "its numbers are those of an epsilon that its model lacks" },
};

static struct accel_ctx *ctx;
static uint32_t tests, failures;
static bool verbose;

static void tap(bool ok, const char *name, const char *note)
{
	tests++;
	failures += ok ? 0 : 1;
	printf("%s %u - %s%s\n", ok ? "ok" : "not ok", tests, name, note);
}

/* --- a vector ---------------------------------------------------------------------- */

static void *unpack(const ProtobufCMessageDescriptor *type, const char *path)
{
	size_t size;
	void *buf = read_file(path, &size), *message;

	if (!buf)
		return NULL;
	message = protobuf_c_message_unpack(type, NULL, size, buf);
	free(buf);
	return message;
}

/* The type of the elements that a graph declares for a name, 0: no tensor. */
static uint32_t declared_type(const Onnx__ValueInfoProto *info)
{
	if (!info->type || info->type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
		return 0;
	return (uint32_t)info->type->tensor_type->elem_type;
}

static bool is_initializer(const Onnx__GraphProto *g, const char *name)
{
	size_t i;

	for (i = 0; i < g->n_initializer; i++)
		if (!strcmp(g->initializer[i]->name, name))
			return true;
	return false;
}

/* Read input or output @n of a data set; r->ret says what went wrong. */
static Onnx__TensorProto *read_tensor(struct run *r, const char *dir, const char *kind,
				      uint32_t n, const Onnx__ValueInfoProto *info,
				      struct raw *raw)
{
	Onnx__TensorProto *t;
	char path[4096];
	int ret;

	if (!declared_type(info)) {
		unsupported(r, "a sequence or an optional value");
		return NULL;
	}
	snprintf(path, sizeof(path), "%s/%s_%u.pb", dir, kind, n);
	t = unpack(&onnx__tensor_proto__descriptor, path);
	if (!t) {
		broken(r, "%s_%u.pb cannot be read", kind, n);
		return NULL;
	}
	ret = raw_from_proto(t, declared_type(info), raw);
	if (ret == -EOPNOTSUPP)
		unsupported(r, "no engine has %s", type_name((uint32_t)t->data_type));
	else if (ret)
		broken(r, "%s_%u.pb contradicts itself", kind, n);
	if (ret) {
		onnx__tensor_proto__free_unpacked(t, NULL);
		return NULL;
	}
	return t;
}

static void load_inputs(struct run *r, const Onnx__GraphProto *g, const char *dir)
{
	Onnx__TensorProto *t;
	struct raw raw;
	uint32_t n = 0;
	size_t i;

	for (i = 0; i < g->n_input && !r->ret; i++) {
		if (is_initializer(g, g->input[i]->name))
			continue;
		t = read_tensor(r, dir, "input", n++, g->input[i], &raw);
		if (!t)
			return;
		bind_name(r, g->input[i]->name, value_from_raw(r, &raw));
		raw_free(&raw);
		onnx__tensor_proto__free_unpacked(t, NULL);
	}
}

static void check_outputs(struct run *r, const Onnx__GraphProto *g, const char *dir)
{
	Onnx__TensorProto *t;
	struct value *v;
	char why[200];
	struct raw raw;
	size_t i;

	for (i = 0; i < g->n_output && !r->ret; i++) {
		t = read_tensor(r, dir, "output", (uint32_t)i, g->output[i], &raw);
		if (!t)
			return;
		v = find_name(r, g->output[i]->name);
		if (!v)
			broken(r, "no output %s", g->output[i]->name);
		else if (usable(r, v) && !compare(v, &raw, why, sizeof(why)))
			broken(r, "output %zu: %s", i, why);
		raw_free(&raw);
		onnx__tensor_proto__free_unpacked(t, NULL);
	}
}

static void free_names(struct run *r)
{
	struct binding *b, *next;

	for (b = r->names; b; b = next) {
		next = b->next;
		free(b);
	}
	r->names = NULL;
}

static void run_data_set(struct run *r, const Onnx__ModelProto *model, const char *dir)
{
	r->node = NULL;
	load_inputs(r, model->graph, dir);
	if (!r->ret)
		run_graph(r, model->graph);
	if (!r->ret)
		check_outputs(r, model->graph, dir);
	free_names(r);
	free_values(r);
}

/* Vectors of the two data types before there were opsets in names: version 1. */
static int64_t opset_of(const Onnx__ModelProto *model)
{
	size_t i;

	for (i = 0; i < model->n_opset_import; i++)
		if (!model->opset_import[i]->domain || !*model->opset_import[i]->domain)
			return model->opset_import[i]->version;
	return 1;
}

static void run_vector(const char *category, const char *dir, const char *name)
{
	Onnx__ModelProto *model;
	struct run r = { .ctx = ctx };
	char path[2048], note[512], title[300];
	enum verdict verdict;
	uint32_t set, i;
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s/model.onnx", dir, name);
	model = unpack(&onnx__model_proto__descriptor, path);
	if (!model && stat(path, &st))
		return;
	if (!model || !model->graph) {
		broken(&r, "model.onnx cannot be read");
	} else {
		r.opset = opset_of(model);
		for (set = 0; !r.ret; set++) {
			snprintf(path, sizeof(path), "%s/%s/test_data_set_%u", dir, name, set);
			if (stat(path, &st))
				break;
			run_data_set(&r, model, path);
		}
		if (!set)
			broken(&r, "no data");
	}
	for (i = 0; i < ARRAY_SIZE(defects); i++)
		if (r.ret == -EINVAL && !strcmp(name, defects[i].name)) {
			r.ret = -EOPNOTSUPP;
			snprintf(r.why, sizeof(r.why), "%s", defects[i].why);
		}
	verdict = !r.ret ? PASSED : r.ret == -EOPNOTSUPP ? UNSUPPORTED : FAILED;
	note[0] = 0;
	if (verdict != PASSED)
		snprintf(note, sizeof(note), " # %s%s%s%s", verdict == UNSUPPORTED ? "SKIP " : "",
			 r.culprit, r.culprit[0] ? ": " : "", r.why);
	snprintf(title, sizeof(title), "%s %s", category, name);
	tap(verdict != FAILED, title, verdict == FAILED ? "" : note);
	if (verdict == FAILED)
		printf("#%s\n", note + 2);
	if (model && model->graph)
		table_add(model->graph, verdict, r.culprit, r.why);
	if (model)
		onnx__model_proto__free_unpacked(model, NULL);
}

static int is_vector(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

static void run_category(const char *data, const char *category, const char *pattern)
{
	struct dirent **list;
	char dir[1024];
	int n, i;

	snprintf(dir, sizeof(dir), "%s/%s", data, category);
	n = scandir(dir, &list, is_vector, alphasort);
	if (n < 0) {
		tap(false, category, " # there are no vectors: is libonnx-testdata installed?");
		return;
	}
	for (i = 0; i < n; i++) {
		if (!pattern || strstr(list[i]->d_name, pattern)) {
			if (verbose)
				fprintf(stderr, "%s\n", list[i]->d_name);
			run_vector(category, dir, list[i]->d_name);
			fflush(stdout);
		}
		free(list[i]);
	}
	free(list);
}

/* A judge that never says no would be worth nothing. */
static void judge_the_judge(void)
{
	struct run r = { .ctx = ctx };
	const int64_t dims[2] = { 1, 2 };
	struct value *v = new_value(&r, T_FLOAT, 2, dims);
	double numbers[2] = { 1, -3 };
	struct raw want = {
		.type = T_FLOAT, .rank = 2, .dims = { 1, 2 }, .count = 2, .f = numbers
	};
	char why[200];
	bool ok = v;

	if (v) {
		put(v, 0, 1.0009);
		put(v, 1, -3);
		ok = compare(v, &want, why, sizeof(why));
		put(v, 0, 1.002);
		ok = ok && !compare(v, &want, why, sizeof(why));
		put(v, 0, (double)NAN);
		ok = ok && !compare(v, &want, why, sizeof(why));
		put(v, 0, 1);
		want.type = T_DOUBLE;
		ok = ok && !compare(v, &want, why, sizeof(why));
		want.type = T_FLOAT;
		want.dims[0] = 2;
		ok = ok && !compare(v, &want, why, sizeof(why));
		want.rank = 1;
		ok = ok && !compare(v, &want, why, sizeof(why));
	}
	tap(ok, "wrong values, types and shapes are found", "");
	free_values(&r);
}

int main(int argc, char **argv)
{
	const char *data = ONNX_DATA, *pattern = NULL;
	long operators = 0, vectors = 0;
	struct accel_device *dev;
	char title[120];
	uint32_t i;
	int k;

	for (k = 1; k < argc; k++) {
		if (!strcmp(argv[k], "-v"))
			verbose = true;
		else if (!strcmp(argv[k], "--operators") && k + 1 < argc)
			operators = strtol(argv[++k], NULL, 10);
		else if (!strcmp(argv[k], "--vectors") && k + 1 < argc)
			vectors = strtol(argv[++k], NULL, 10);
		else if (!strcmp(argv[k], "--data") && k + 1 < argc)
			data = argv[++k];
		else
			pattern = argv[k];
	}
	if (accel_device_open(test_device("sw:full"), NULL, &dev) ||
	    accel_ctx_create(dev, NULL, &ctx)) {
		printf("1..0\nBail out! no device\n");
		return 1;
	}
	judge_the_judge();
	for (i = 0; i < ARRAY_SIZE(categories); i++)
		run_category(data, categories[i], pattern);
	table_print();
	if (operators) {
		snprintf(title, sizeof(title), "at least %ld operators are supported, %u are",
			 operators, table_supported());
		tap(table_supported() >= operators, title, "");
	}
	if (vectors) {
		snprintf(title, sizeof(title), "at least %ld vectors pass, %u do", vectors,
			 table_passed());
		tap(table_passed() >= vectors, title, "");
	}
	printf("1..%u\n", tests);
	table_free();
	accel_ctx_destroy(ctx);
	accel_device_unref(dev);
	return failures ? 1 : 0;
}

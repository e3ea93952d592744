// SPDX-License-Identifier: MIT
/*
 * model check
 */
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "kfile.h"
#include "model.h"

/**
 * struct check - what is told of a file
 * @ctl: invocation
 * @path: file
 * @added: operators of shared objects, or NULL
 * @operators: operators that the file has
 * @known: those that are built in, or were added
 * @doc: document, NULL: text
 * @name: of the item that is told, as it is there
 * @family: it has a family instead of operators
 * @good: nothing was found that is in the way
 */
struct check {
	struct ctl *ctl;
	const char *path;
	struct accel_operators *added;
	uint32_t operators;
	uint32_t known;
	struct json_object *doc;
	struct json_object *opsets;
	struct json_object *inputs;
	struct json_object *outputs;
	struct json_object *external;
	struct json_object *unknown;
	struct json_object *properties;
	const char *name;
	bool family;
	bool good;
};

static void tell_opset(struct check *c, const struct accel_model_item *item)
{
	const char *domain = item->domain[0] ? item->domain : "ai.onnx";

	if (c->doc)
		ctl_json_uint(c->opsets, domain, item->count);
	else
		printf("operators of %s, version %u\n", domain, (uint32_t)item->count);
}

static void tell_value(struct check *c, const struct accel_model_item *item)
{
	bool in = item->kind == ACCEL_MODEL_INPUT;
	struct json_object *o;

	if (!c->doc) {
		printf("%s %s: %s[%s]\n", in ? "input" : "output", item->name, item->type,
		       item->text);
		return;
	}
	o = ctl_json_obj(in ? c->inputs : c->outputs, NULL);
	ctl_json_str(o, "name", item->name);
	ctl_json_str(o, "type", item->type);
	ctl_json_str(o, "shape", item->text);
}

static void tell_operator(struct check *c, const struct accel_model_item *item)
{
	struct json_object *o;

	c->operators++;
	if (accel_model_has_op(item->domain, item->name) ||
	    accel_operators_find(c->added, item->domain, item->name, UINT32_MAX, NULL)) {
		c->known++;
		return;
	}
	c->good = false;
	if (!c->doc) {
		printf("UNKNOWN operator %s%s%s, %u nodes, the first is %s\n", item->domain,
		       item->domain[0] ? "." : "", item->name, (uint32_t)item->count, item->text);
		return;
	}
	o = ctl_json_obj(c->unknown, NULL);
	ctl_json_str(o, "domain", item->domain);
	ctl_json_str(o, "name", item->name);
	ctl_json_uint(o, "nodes", item->count);
	ctl_json_str(o, "first", item->text);
}

/* The size of a file in the model's directory */
static int64_t size_beside(const char *path, const char *location)
{
	const char *slash = strrchr(path, '/');
	struct stat st;
	char *full;
	int ret;

	if (asprintf(&full, "%.*s%s", slash ? (int)(slash - path + 1) : 0, path, location) < 0)
		return -1;
	ret = stat(full, &st);
	free(full);
	return ret ? -1 : st.st_size;
}

static void tell_file(struct check *c, const struct accel_model_item *item)
{
	const int64_t size = size_beside(c->path, c->name);
	const char *wrong = size < 0 ? "missing" : (uint64_t)size < item->count ? "too short" :
			    NULL;
	struct json_object *o;
	char a[16];

	c->good &= !wrong;
	if (!c->doc) {
		printf("external data %s, %s%s%s\n", item->name, ctl_bytes(a, item->count),
		       wrong ? ": " : "", wrong ? wrong : "");
		return;
	}
	o = ctl_json_obj(c->external, NULL);
	ctl_json_str(o, "location", item->name);
	ctl_json_uint(o, "bytes", item->count);
	ctl_json_str(o, "wrong", wrong);
}

static void tell_family(struct check *c, const struct accel_model_item *item)
{
	bool known = item->text[0];

	c->good &= known;
	c->family = true;
	if (c->doc) {
		ctl_json_str(c->doc, "family", item->name);
		ctl_json_bool(c->doc, "family_known", known);
		ctl_json_uint(c->doc, "tensors", item->count);
	} else {
		printf("%s %s, %u tensors\n", known ? "family" : "UNKNOWN family", item->name,
		       (uint32_t)item->count);
	}
}

static void tell_property(struct check *c, const struct accel_model_item *item)
{
	if (c->doc)
		ctl_json_str(c->properties, item->name, item->text);
	else
		printf("property %s: %s\n", item->name, item->text);
}

static int tell_item(void *user, const struct accel_model_item *item)
{
	static void (*const tell[])(struct check *c, const struct accel_model_item *item) = {
		[ACCEL_MODEL_OPSET] = tell_opset, [ACCEL_MODEL_INPUT] = tell_value,
		[ACCEL_MODEL_OUTPUT] = tell_value, [ACCEL_MODEL_FILE] = tell_file,
		[ACCEL_MODEL_OPERATOR] = tell_operator, [ACCEL_MODEL_FAMILY] = tell_family,
		[ACCEL_MODEL_PROPERTY] = tell_property,
	};

	char *domain = model_text(item->domain), *name = model_text(item->name);
	char *text = model_text(item->text);
	struct accel_model_item clean = *item;
	struct check *c = user;

	clean.domain = domain;
	clean.name = name;
	clean.text = text;
	c->name = item->name;
	tell[item->kind](c, &clean);
	free(domain);
	free(name);
	free(text);
	return 0;
}

/* Errors that only an attempt shows: import, shapes, plans */
static int try_it(struct check *c, const struct model_opts *opts, char *text, size_t size)
{
	struct accel_program_info info = { .size = sizeof(info) };
	struct accel_model_opts model_opts = ACCEL_MODEL_OPTS_INIT;
	struct accel_error error = ACCEL_ERROR_INIT;
	struct accel_model *model = NULL;
	struct session s;
	int ret;

	model_opts.operators = c->added;
	ret = accel_model_open_opts(c->path, &model_opts, &error, &model);
	accel_model_close(model);
	if (ret) {
		snprintf(text, size, "%s", error.text);
		return ctl_status(ret);
	}
	ret = session_open(&s, c->ctl, opts, c->ctl->device, c->path);
	if (!ret) {
		ret = accel_state_get_info(s.state, &info);
		if (ret)
			ret = session_fail(&s, ret);
	}
	session_close(&s);
	if (ret)
		return ret;
	if (c->doc) {
		ctl_json_uint(c->doc, "nodes", info.node_count);
		ctl_json_uint(c->doc, "host_nodes", info.host_count);
		ctl_json_uint(c->doc, "macs", info.macs);
	} else {
		printf("runs: %u nodes on engines, %u on the CPU, %.4g GMACs\n", info.node_count,
		       info.host_count, (double)info.macs / 1e9);
	}
	return CTL_OK;
}

int cmd_model_check(struct ctl *ctl, void *data, const char *operand)
{
	struct check c = { .ctl = ctl, .path = operand, .good = true };
	struct accel_error error = ACCEL_ERROR_INIT;
	struct accel_model *model;
	char text[256] = "";
	int ret;

	if (!operand)
		return ctl_fail(ctl, CTL_USAGE, 0, "FILE", "which model?");
	ret = session_no_program(ctl, operand);
	if (!ret)
		ret = session_operators(ctl, data, &c.added);
	if (ret)
		return ret;
	if (ctl->json) {
		c.doc = ctl_schema(ctl);
		c.opsets = ctl_json_obj(c.doc, "opsets");
		c.inputs = ctl_json_arr(c.doc, "inputs");
		c.outputs = ctl_json_arr(c.doc, "outputs");
		c.external = ctl_json_arr(c.doc, "external");
		c.unknown = ctl_json_arr(c.doc, "unknown");
		c.properties = ctl_json_obj(c.doc, "properties");
	}
	ret = accel_model_scan(operand, tell_item, &c);
	if (ret) {
		json_object_put(c.doc);
		accel_operators_unref(c.added);
		/* Errors of the model itself are reported by opening it. */
		if (!accel_model_open(operand, &error, &model))
			accel_model_close(model);
		else if (error.code == ret)
			return ctl_fail_error(ctl, CTL_FAILED, operand, &error);
		return ctl_fail(ctl, CTL_FAILED, ret, operand, "%s", ret == -EBADMSG ?
				"not an ONNX model, nor a GGUF file or a folder that is one" :
				strerror(-ret));
	}
	if (c.doc)
		ctl_json_uint(c.doc, "known", c.known);
	else if (!c.family)
		printf("%u of %u operators are known\n", c.known, c.operators);
	ret = c.good ? try_it(&c, data, text, sizeof(text)) : CTL_UNSUPPORTED;
	text_clean(text);
	if (text[0] && !c.doc)
		printf("does NOT run: %s\n", text);
	/* If an error about a device or an input was reported, that is the document. */
	if (c.doc && (!ret || !c.good || text[0])) {
		ctl_json_bool(c.doc, "ok", !ret);
		ctl_json_str(c.doc, "problem", text[0] ? text : NULL);
		ctl_json_print(ctl, c.doc);
	} else {
		json_object_put(c.doc);
	}
	accel_operators_unref(c.added);
	return ret;
}

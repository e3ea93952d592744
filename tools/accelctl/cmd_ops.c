// SPDX-License-Identifier: MIT
/*
 * ops
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "accelctl.h"
#include "opcell.h"

#define TYPES		ACCEL_DTYPE_COUNT
#define TRIPLES		(TYPES * TYPES * TYPES)
#define MAX_FUNCS	64

/* Chips that the in-process device can be */
static const char *const chips[] = { "sw:m1", "sw:m2", "sw:m3", "sw:ultra", "sw:full" };

/**
 * struct matrix - support for an operation by the engines of a device
 * @engines: by function and types a, b, d: mask of 1 << &enum accel_engine
 */
struct matrix {
	unsigned char engines[MAX_FUNCS][TRIPLES];
};

struct listing {
	struct ctl *ctl;
	struct json_object *cells;
	struct ctl_grid table;
	struct matrix *m;
	const char *device;
	const char *chip;
};

static uint32_t triple(uint32_t a, uint32_t b, uint32_t d)
{
	return (a * TYPES + b) * TYPES + d;
}

/* Ask for all types of an operation */
static int fill(struct accel_ctx *ctx, uint32_t op, struct matrix *m)
{
	uint32_t funcs = opcell_funcs(op), engines;
	struct opcell c = { .op = op };
	int ret;

	memset(m, 0, sizeof(*m));
	for (c.func = 0; c.func < funcs && c.func < MAX_FUNCS; c.func++)
		for (c.a = opcell_has_a(op); c.a < (opcell_has_a(op) ? TYPES : 1u); c.a++)
			for (c.b = opcell_has_b(op); c.b < (opcell_has_b(op) ? TYPES : 1u); c.b++)
				for (c.d = 1; c.d < TYPES; c.d++) {
					ret = opcell_engines(ctx, &c, &engines);
					if (ret)
						return ret;
					m->engines[c.func][triple(c.a, c.b, c.d)] =
						(unsigned char)engines;
				}
	return 0;
}

/* Do two functions go with the same types on an engine? */
static bool same(const struct matrix *m, uint32_t f, uint32_t g, uint32_t engine)
{
	uint32_t i;

	for (i = 0; i < TRIPLES; i++)
		if ((m->engines[f][i] ^ m->engines[g][i]) >> engine & 1)
			return false;
	return true;
}

static bool any(const struct matrix *m, uint32_t f, uint32_t engine)
{
	uint32_t i;

	for (i = 0; i < TRIPLES; i++)
		if (m->engines[f][i] >> engine & 1)
			return true;
	return false;
}

static void json_types(struct json_object *list, const struct matrix *m, uint32_t f,
		       uint32_t engine)
{
	struct json_object *t;
	uint32_t i, a, b;

	for (i = 0; i < TRIPLES; i++) {
		if (!(m->engines[f][i] >> engine & 1))
			continue;
		a = i / TYPES / TYPES;
		b = i / TYPES % TYPES;
		t = ctl_json_obj(list, NULL);
		if (a)
			ctl_json_str(t, "a", accel_dtype_name(a));
		if (b)
			ctl_json_str(t, "b", accel_dtype_name(b));
		ctl_json_str(t, "d", accel_dtype_name(i % TYPES));
	}
}

/* Functions with the same types are one entry */
static void add_json(struct listing *l, uint32_t op, uint32_t engine)
{
	uint32_t funcs = opcell_funcs(op), f, g;
	struct json_object *o, *names;
	char buf[32];
	const char *name;

	for (f = 0; f < funcs; f++) {
		for (g = 0; g < f && !same(l->m, f, g, engine); g++)
			;
		if (g < f || !any(l->m, f, engine))
			continue;
		o = ctl_json_obj(l->cells, NULL);
		ctl_json_str(o, "device", l->device);
		ctl_json_str(o, "profile", l->chip);
		ctl_json_str(o, "engine", accel_engine_name(engine));
		ctl_json_str(o, "op", accel_op_name(op));
		names = ctl_json_arr(o, "functions");
		for (g = f; g < funcs; g++) {
			name = opcell_func_name(op, g, buf);
			if (name && same(l->m, f, g, engine))
				ctl_json_str(names, NULL, name);
		}
		json_types(ctl_json_arr(o, "types"), l->m, f, engine);
	}
}

/* "fp32 fp16" for an operand: 0 is A, 1 is B, 2 is D */
static void type_list(const struct matrix *m, uint32_t funcs, uint32_t engine, int operand,
		      char *buf, size_t size)
{
	uint32_t seen = 0, f, i, t;

	buf[0] = 0;
	for (f = 0; f < funcs; f++)
		for (i = 0; i < TRIPLES; i++)
			if (m->engines[f][i] >> engine & 1)
				seen |= 1u << (operand == 0 ? i / TYPES / TYPES :
					       operand == 1 ? i / TYPES % TYPES : i % TYPES);
	for (t = 1; t < TYPES; t++)
		if (seen >> t & 1)
			snprintf(buf + strlen(buf), size - strlen(buf), "%s%s", *buf ? " " : "",
				 accel_dtype_name(t));
	if (!*buf)
		snprintf(buf, size, "-");
}

static void add_text(struct listing *l, uint32_t op, uint32_t engine)
{
	uint32_t funcs = opcell_funcs(op), f, n = 0;
	char a[80], b[80], d[80];

	for (f = 0; f < funcs; f++)
		n += any(l->m, f, engine);
	if (!n)
		return;
	type_list(l->m, funcs, engine, 0, a, sizeof(a));
	type_list(l->m, funcs, engine, 1, b, sizeof(b));
	type_list(l->m, funcs, engine, 2, d, sizeof(d));
	ctl_grid_row(&l->table, "%s\t%s\t%s\t%u of %u\t%s\t%s\t%s", l->chip,
		     accel_engine_name(engine), accel_op_name(op), n, funcs, a, b, d);
}

static int list_device(struct listing *l, const char *name)
{
	struct accel_device_info info = { .size = sizeof(info) };
	struct accel_device *dev;
	struct accel_ctx *ctx = NULL;
	uint32_t op, engine;
	int ret;

	ret = ctl_open(l->ctl, name, 1, &dev);
	if (ret)
		return ret;
	ret = accel_device_get_info(dev, &info);
	if (!ret)
		ret = accel_ctx_create(dev, NULL, &ctx);
	l->device = info.name;
	l->chip = info.profile;
	for (op = 0; !ret && op < ACCEL_OP_COUNT; op++) {
		if (!opcell_funcs(op))
			continue;
		ret = fill(ctx, op, l->m);
		for (engine = 1; !ret && engine < ACCEL_ENGINE_COUNT; engine++) {
			if (l->ctl->json)
				add_json(l, op, engine);
			else
				add_text(l, op, engine);
		}
	}
	l->device = NULL;
	l->chip = NULL;
	accel_ctx_destroy(ctx);
	accel_device_unref(dev);
	if (ret)
		return ctl_fail(l->ctl, ctl_status(ret), ret, NULL, "%s does not tell what it can do",
				info.name);
	return CTL_OK;
}

int cmd_ops(struct ctl *ctl, void *data, const char *operand)
{
	struct listing l = { .ctl = ctl };
	struct json_object *doc = NULL;
	int ret = CTL_OK;
	size_t i;

	(void)data;
	(void)operand;
	l.m = ctl_alloc(1, sizeof(*l.m));
	if (ctl->json) {
		doc = ctl_schema(ctl);
		l.cells = ctl_json_arr(doc, "cells");
	} else {
		ctl_grid_row(&l.table, "CHIP\tENGINE\tOPERATION\tFUNCTIONS\tA\tB\tD");
	}
	if (ctl->device)
		ret = list_device(&l, ctl->device);
	for (i = 0; !ctl->device && !ret && i < sizeof(chips) / sizeof(chips[0]); i++)
		ret = list_device(&l, chips[i]);
	free(l.m);
	if (ret) {
		ctl_grid_clear(&l.table);
		json_object_put(doc);
		return ret;
	}
	if (ctl->json)
		ctl_json_print(ctl, doc);
	else
		ctl_grid_print(ctl, &l.table, 0);
	return CTL_OK;
}

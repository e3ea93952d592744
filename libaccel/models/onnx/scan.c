// SPDX-License-Identifier: MIT
/*
 * What a file says of itself, also one that cannot run.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libaccel/core/fpmode.h"
#include "../families/families.h"
#include "onnx.h"

/* Graphs within graphs, and what a file may have of each */
#define MAX_DEPTH	16u
#define MAX_LIST	65536u
/* Of the table of names, a power of two: half of it stays free */
#define SLOTS		(2 * MAX_LIST)
/* Room for a name, longer ones are cut */
#define SCAN_NAME	128

/**
 * struct scan_item - something that a file has
 * @kind: &enum accel_model_item_kind
 * @domain: of an operator, or a set of them; "" for the default one
 * @name: name
 * @text: an operator's first node, a shape "2,n,?", a property's value
 * @type: type of elements by ONNX's number, 0: none
 * @count: number of nodes, a version, bytes
 */
struct scan_item {
	uint32_t kind;
	char domain[SCAN_NAME];
	char name[SCAN_NAME];
	char text[SCAN_NAME];
	uint32_t type;
	uint64_t count;
};

/**
 * struct scan - a file
 * @items: what it has
 * @count: their number
 * @cap: room for so many
 * @slots: open hash table of names: one more than the index of the item, 0: none
 */
struct scan {
	struct scan_item *items;
	uint32_t count;
	uint32_t cap;
	uint32_t *slots;
};

/* What is cut ends with a whole character of UTF-8. */
static void copy_name(char to[SCAN_NAME], struct slice s)
{
	size_t n = s.n < SCAN_NAME ? s.n : SCAN_NAME - 1;

	while (n && n < s.n && (s.p[n] & 0xc0) == 0x80)
		n--;
	if (n)
		memcpy(to, s.p, n);
	to[n] = 0;
}

/* One more, NULL: there is no room */
static struct scan_item *add_item(struct scan *scan, uint32_t kind)
{
	struct scan_item *more;
	uint32_t cap = scan->cap ? 2 * scan->cap : 64;

	if (scan->count == scan->cap) {
		more = cap <= MAX_LIST ? realloc(scan->items, cap * sizeof(*more)) : NULL;
		if (!more)
			return NULL;
		scan->items = more;
		scan->cap = cap;
	}
	more = &scan->items[scan->count++];
	memset(more, 0, sizeof(*more));
	more->kind = kind;
	return more;
}

/* Where an item is in the table, or would be */
static uint32_t *find_slot(const struct scan *scan, uint32_t kind, const char *domain,
			   const char *name)
{
	/* Where the table lies is not known to who wrote the file. */
	uint64_t h = kind + ((uintptr_t)scan->slots >> 12);
	const struct scan_item *item;
	const char *p;
	uint32_t at;

	for (p = domain; *p; p++)
		h = (h ^ (uint8_t)*p) * 0x100000001b3u;
	for (h = ~h, p = name; *p; p++)
		h = (h ^ (uint8_t)*p) * 0x100000001b3u;
	for (at = (uint32_t)(h ^ h >> 32) & (SLOTS - 1); scan->slots[at];
	     at = (at + 1) & (SLOTS - 1)) {
		item = &scan->items[scan->slots[at] - 1];
		if (item->kind == kind && !strcmp(item->name, name) &&
		    !strcmp(item->domain, domain))
			break;
	}
	return &scan->slots[at];
}

/* The one that is there, or a new one; NULL: there is no room */
static struct scan_item *find_item(struct scan *scan, uint32_t kind, const char *domain,
				   const char *name)
{
	uint32_t *slot = find_slot(scan, kind, domain, name);
	struct scan_item *item;

	if (*slot)
		return &scan->items[*slot - 1];
	item = add_item(scan, kind);
	if (item) {
		memcpy(item->domain, domain, SCAN_NAME);
		memcpy(item->name, name, SCAN_NAME);
		*slot = scan->count;
	}
	return item;
}

/* A function that the file has itself: its nodes count, not those that call it. Never told. */
#define ITEM_FUNCTION	0x100u

static int note_function(struct scan *scan, struct slice s)
{
	char in[SCAN_NAME] = "", name[SCAN_NAME] = "";
	struct field f;

	while (wire_next(&s, &f) > 0) {
		if (f.id == 1)
			copy_name(name, f.bytes);
		else if (f.id == 10 && !slice_is(f.bytes, "ai.onnx"))
			copy_name(in, f.bytes);
	}
	return find_item(scan, ITEM_FUNCTION, in, name) ? 0 : -ENOMEM;
}

static int count_op(struct scan *scan, struct slice domain, struct slice name, struct slice node)
{
	char in[SCAN_NAME] = "", op[SCAN_NAME] = "";
	struct scan_item *item;

	if (!slice_is(domain, "ai.onnx"))
		copy_name(in, domain);
	copy_name(op, name);
	if (*find_slot(scan, ITEM_FUNCTION, in, op))
		return 0;
	item = find_item(scan, ACCEL_MODEL_OPERATOR, in, op);
	if (!item)
		return -ENOMEM;
	if (!item->count++)
		copy_name(item->text, node);
	return 0;
}

static uint64_t decimal(struct slice s)
{
	uint64_t n = 0;
	size_t i;

	for (i = 0; i < s.n && s.p[i] >= '0' && s.p[i] <= '9'; i++)
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, s.p[i] - '0', &n))
			return UINT64_MAX;
	return n;
}

/* A tensor: its name, and what it has outside */
static int read_tensor(struct scan *scan, struct slice s, struct slice *name)
{
	struct slice entry, key, value, location = { 0 };
	uint64_t offset = 0, length = 0, end;
	struct field f, g;
	char none[SCAN_NAME] = "", text[SCAN_NAME] = "";
	bool outside = false;
	struct scan_item *file;

	while (wire_next(&s, &f) > 0) {
		if (f.id == 8)
			*name = f.bytes;
		outside |= f.id == 14 && f.number == 1;
		if (f.id != 13)
			continue;
		key = value = (struct slice) { 0 };
		for (entry = f.bytes; wire_next(&entry, &g) > 0;) {
			if (g.id == 1)
				key = g.bytes;
			else if (g.id == 2)
				value = g.bytes;
		}
		if (slice_is(key, "location"))
			location = value;
		else if (slice_is(key, "offset"))
			offset = decimal(value);
		else if (slice_is(key, "length"))
			length = decimal(value);
	}
	if (!outside)
		return 0;
	if (__builtin_add_overflow(offset, length, &end))
		end = UINT64_MAX;
	copy_name(text, location);
	file = find_item(scan, ACCEL_MODEL_FILE, none, text);
	if (!file)
		return -ENOMEM;
	if (end > file->count)
		file->count = end;
	return 0;
}

/* A sparse tensor: its values, whose name it has, and where they are */
static int read_sparse(struct scan *scan, struct slice s, struct slice *name)
{
	struct slice none;
	struct field f;
	int ret = 0;

	while (!ret && wire_next(&s, &f) > 0) {
		if (f.has_bytes && (f.id == 1 || f.id == 2))
			ret = read_tensor(scan, f.bytes, f.id == 1 ? name : &none);
	}
	return ret;
}

static void read_dims(struct slice shape, char *text)
{
	struct slice dim;
	struct field f, g;
	size_t n = 0;

	while (wire_next(&shape, &f) > 0 && n + 1 < SCAN_NAME) {
		bool known = false;

		if (f.id != 1)
			continue;
		if (n)
			n += (size_t)snprintf(text + n, SCAN_NAME - n, ",");
		for (dim = f.bytes; wire_next(&dim, &g) > 0 && n < SCAN_NAME;) {
			if (g.id == 1 && !g.has_bytes)
				n += (size_t)snprintf(text + n, SCAN_NAME - n, "%lld",
						      (long long)g.number);
			else if (g.id == 2)
				n += (size_t)snprintf(text + n, SCAN_NAME - n, "%.*s",
						      (int)(g.bytes.n < 60 ? g.bytes.n : 60),
						      g.bytes.p);
			known |= g.id == 1 || (g.id == 2 && g.bytes.n);
		}
		if (!known && n < SCAN_NAME)
			n += (size_t)snprintf(text + n, SCAN_NAME - n, "?");
	}
}

static int read_value(struct scan *scan, struct slice s, uint32_t kind)
{
	struct scan_item *v = add_item(scan, kind);
	struct slice type = { 0 }, tensor = { 0 };
	struct field f;

	if (!v)
		return -ENOMEM;
	while (wire_next(&s, &f) > 0) {
		if (f.id == 1)
			copy_name(v->name, f.bytes);
		else if (f.id == 2)
			type = f.bytes;
	}
	*find_slot(scan, kind, v->domain, v->name) = scan->count;
	while (wire_next(&type, &f) > 0)
		if (f.id == 1)
			tensor = f.bytes;
	while (wire_next(&tensor, &f) > 0) {
		if (f.id == 1)
			v->type = (uint32_t)f.number;
		else if (f.id == 2)
			read_dims(f.bytes, v->text);
	}
	return 0;
}

static int scan_graph(struct scan *scan, struct slice graph, uint32_t depth);

/*
 * Graphs and tensors of an attribute. One that cannot be read to its end may be one that nobody
 * asks for, whose name or type are of something else: that is for who makes a graph of it.
 */
static int read_attr(struct scan *scan, struct slice s, uint32_t depth)
{
	struct slice name;
	struct field f;
	int ret = 0;

	while (!ret && wire_next(&s, &f) > 0)
		if (f.has_bytes && (f.id == 6 || f.id == 11))
			ret = scan_graph(scan, f.bytes, depth + 1);
		else if (f.has_bytes && (f.id == 5 || f.id == 10))
			ret = read_tensor(scan, f.bytes, &name);
		else if (f.has_bytes && (f.id == 22 || f.id == 23))
			ret = read_sparse(scan, f.bytes, &name);
	return ret == -ENOMEM ? ret : 0;
}

static int read_node(struct scan *scan, struct slice s, uint32_t depth)
{
	struct slice domain = { 0 }, name = { 0 }, type = { 0 }, out = { 0 };
	struct field f;
	int ret = 0;

	while (!ret && wire_next(&s, &f) > 0) {
		if (f.id == 2 && !out.n)
			out = f.bytes;
		else if (f.id == 3)
			name = f.bytes;
		else if (f.id == 4)
			type = f.bytes;
		else if (f.id == 5)
			ret = read_attr(scan, f.bytes, depth);
		else if (f.id == 7)
			domain = f.bytes;
	}
	return ret ? ret : count_op(scan, domain, type, name.n ? name : out);
}

/* An input that is a constant too is none. */
static void drop_input(const struct scan *scan, struct slice name)
{
	char text[SCAN_NAME] = "";
	uint32_t *slot;

	copy_name(text, name);
	slot = find_slot(scan, ACCEL_MODEL_INPUT, "", text);
	if (*slot && scan->items)
		scan->items[*slot - 1].kind = 0;
}

static int scan_graph(struct scan *scan, struct slice graph, uint32_t depth)
{
	struct slice s = graph, name;
	struct field f;
	int ret = 0, got;

	if (depth > MAX_DEPTH)
		return -E2BIG;
	while (!ret && (got = wire_next(&s, &f)) != 0) {
		if (got < 0)
			return -EBADMSG;
		if (f.id == 1)
			ret = read_node(scan, f.bytes, depth);
		else if (f.id == 11 && !depth)
			ret = read_value(scan, f.bytes, ACCEL_MODEL_INPUT);
		else if (f.id == 12 && !depth)
			ret = read_value(scan, f.bytes, ACCEL_MODEL_OUTPUT);
	}
	for (s = graph; !ret && wire_next(&s, &f) > 0;) {
		name = (struct slice) { 0 };
		if (f.id == 5 || f.id == 15) {
			ret = f.id == 5 ? read_tensor(scan, f.bytes, &name) :
			      read_sparse(scan, f.bytes, &name);
			if (!depth)
				drop_input(scan, name);
		}
	}
	return ret;
}

static int read_opset(struct scan *scan, struct slice s)
{
	struct scan_item *op = add_item(scan, ACCEL_MODEL_OPSET);
	struct field f;

	if (!op)
		return -ENOMEM;
	while (wire_next(&s, &f) > 0) {
		if (f.id == 1 && !slice_is(f.bytes, "ai.onnx"))
			copy_name(op->domain, f.bytes);
		else if (f.id == 2)
			op->count = f.number;
	}
	return 0;
}

static void property_text(struct scan_item *property, struct slice s)
{
	copy_name(property->text, s);
	property->count = s.n;
}

static int read_property(struct scan *scan, struct slice s)
{
	struct scan_item *property = add_item(scan, ACCEL_MODEL_PROPERTY);
	struct field f;

	if (!property)
		return -ENOMEM;
	while (wire_next(&s, &f) > 0) {
		if (f.id == 1)
			copy_name(property->name, f.bytes);
		else if (f.id == 2)
			property_text(property, f.bytes);
	}
	return 0;
}

static int scan_function(struct scan *scan, struct slice s)
{
	struct field f;
	int ret = 0, got;

	while (!ret && (got = wire_next(&s, &f)) != 0) {
		if (got < 0)
			return -EBADMSG;
		if (f.id == 7)
			ret = read_node(scan, f.bytes, 1);
		else if (f.id == 11)
			ret = read_attr(scan, f.bytes, 1);
	}
	return ret;
}

static int scan_model(struct scan *scan, struct slice s)
{
	struct slice rest = s, graph;
	const char *twice;
	struct field f;
	int ret = wire_graph(s, &graph, &twice), got;

	while (!ret && wire_next(&rest, &f) > 0)
		if (f.id == 25 && f.has_bytes)
			ret = note_function(scan, f.bytes);
	while (!ret && (got = wire_next(&s, &f)) != 0) {
		if (got < 0)
			return -EBADMSG;
		if (f.id == 8)
			ret = read_opset(scan, f.bytes);
		else if (f.id == 14 && f.has_bytes)
			ret = read_property(scan, f.bytes);
		else if (f.id == 25 && f.has_bytes)
			ret = scan_function(scan, f.bytes);
	}
	return ret ? ret : graph.n ? scan_graph(scan, graph, 0) : -EBADMSG;
}

/* Name of a type by ONNX's number */
static const char *scan_type(uint32_t type)
{
	static const char *const names[] = {
		"?", "fp32", "u8", "s8", "u16", "s16", "s32", "s64", "string", "bool", "fp16", "fp64",
		"u32", "u64", "complex64", "complex128", "bf16", "fp8e4m3fn", "fp8e4m3fnuz",
		"fp8e5m2", "fp8e5m2fnuz", "u4", "s4",
	};

	return type < sizeof(names) / sizeof(names[0]) ? names[type] : "?";
}

static int tell(const struct scan *scan,
		int (*fn)(void *user, const struct accel_model_item *item), void *user)
{
	uint32_t i, kind;
	int ret = 0;

	for (kind = ACCEL_MODEL_OPSET; kind <= ACCEL_MODEL_PROPERTY; kind++)
		for (i = 0; i < scan->count && !ret; i++) {
			const struct scan_item *from = &scan->items[i];
			struct accel_model_item item = {
				.size = sizeof(item), .kind = kind, .domain = from->domain,
				.name = from->name, .count = from->count, .text = from->text,
				.type = scan_type(from->type),
			};

			if (from->kind == kind)
				ret = fn(user, &item);
		}
	return ret;
}

int accel_model_scan(const char *path, int (*fn)(void *user, const struct accel_model_item *item),
		     void *user)
{
	FP_MODE_SCOPE();
	struct scan scan = { 0 };
	struct mapping *map;
	int ret;

	if (!path || !fn)
		return -EINVAL;
	if (family_is(path))
		return family_scan(path, fn, user);
	ret = mapping_open(path, NULL, &map);
	if (ret)
		return ret;
	scan.slots = calloc(SLOTS, sizeof(*scan.slots));
	ret = scan.slots ? scan_model(&scan, (struct slice) { map->data, map->bytes }) : -ENOMEM;
	mapping_unref(map);
	if (!ret)
		ret = tell(&scan, fn, user);
	free(scan.items);
	free(scan.slots);
	return ret;
}

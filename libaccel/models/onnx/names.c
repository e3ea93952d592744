// SPDX-License-Identifier: MIT
/*
 * What an import has found so far: the names of values, and what is wrong.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnx.h"

int im_fail(struct import *im, int code, const char *fmt, ...)
{
	struct accel_error *e = &im->error;
	size_t n = 0;
	va_list ap;

	memset(e, 0, sizeof(*e));
	e->size = sizeof(*e);
	e->code = code;
	e->op_index = UINT32_MAX;
	if (im->op[0]) {
		snprintf(e->field, sizeof(e->field), "%.63s", im->name[0] ? im->name : im->op);
		n = (size_t)snprintf(e->text, sizeof(e->text), "node %.100s (%s): ",
				     im->name[0] ? im->name : "without a name", im->op);
	}
	va_start(ap, fmt);
	vsnprintf(e->text + n, sizeof(e->text) - n, fmt, ap);
	va_end(ap);
	return code;
}

/* An error of something else, which says the node in work if it says none. */
int im_take_error(struct import *im, int ret, const struct accel_error *e)
{
	if (strncmp(e->text, "node ", 5) != 0)
		return im_fail(im, ret, "%.200s", e->text);
	im->error = *e;
	return im->error.code = ret;
}

/* An error of the graph becomes one of the import. */
int im_graph(struct import *im, int ret)
{
	struct accel_error e = ACCEL_ERROR_INIT;

	if (!ret)
		return 0;
	accel_graph_get_error(im->model->graph, &e);
	/* It says a node: that in work, or one before it that is looked at only now. */
	return im_take_error(im, ret, &e);
}

/* --- names --------------------------------------------------------------------------- */

static uint64_t hash(const uint8_t *p, size_t n)
{
	uint64_t h = 0xcbf29ce484222325u;

	while (n--)
		h = (h ^ *p++) * 0x100000001b3u;
	return h ^ h >> 32;
}

/* The place of a name: without text it is not there. */
struct name *im_name(const struct import *im, struct slice s)
{
	uint32_t at;

	if (!im->name_size)
		return NULL;
	at = (uint32_t)hash(s.p, s.n) & (im->name_size - 1);
	while (im->names[at].text && !slice_is(s, im->names[at].text))
		at = (at + 1) & (im->name_size - 1);
	return &im->names[at];
}

bool has_name(const struct import *im, struct slice s)
{
	const struct name *n = im_name(im, s);

	return n && n->text;
}

static int more_names(struct import *im)
{
	uint32_t i, size = im->name_size ? 2 * im->name_size : 1024, old = im->name_size;
	struct name *names = im->names;

	if (2 * (im->name_count + 1) <= old)
		return 0;
	im->names = calloc(size, sizeof(*names));
	if (!im->names) {
		im->names = names;
		return im_fail(im, -ENOMEM, "out of memory");
	}
	im->name_size = size;
	for (i = 0; i < old; i++)
		if (names[i].text)
			*im_name(im, (struct slice) { (const uint8_t *)names[i].text,
							strlen(names[i].text) }) = names[i];
	free(names);
	return 0;
}

int bind_name(struct import *im, struct slice s, uint32_t value, const void *data)
{
	struct name *n;
	int ret;

	if (!s.p || !s.n)
		return im_fail(im, -EBADMSG, "a value without a name");
	if (memchr(s.p, 0, s.n))
		return im_fail(im, -EBADMSG, "the name %.*s has a zero in it", slice_shown(s), s.p);
	ret = more_names(im);
	if (ret)
		return ret;
	n = im_name(im, s);
	if (n->text)
		return im_fail(im, -EBADMSG, "the name %.*s is given twice", slice_shown(s), s.p);
	n->text = strndup((const char *)s.p, s.n);
	if (!n->text)
		return im_fail(im, -ENOMEM, "out of memory");
	n->value = value;
	n->marks = 0;
	n->data = data;
	n->sequence = NULL;
	n->input = false;
	im->name_count++;
	return 0;
}

void free_names(struct import *im)
{
	uint32_t i;

	for (i = 0; i < im->name_size; i++)
		free(im->names[i].text);
	free(im->names);
}

int im_give_data(struct import *im, uint32_t index, uint32_t value, const void *data)
{
	struct ref ref;
	int ret;

	if (im->capture && !index) {
		*im->capture = value;
		return 0;
	}
	if (index >= im->out_count || !im->out[index].n)
		return 0;
	/* What does not fit is found here, where the operator is known. */
	ret = im_ref(im, value, &ref);
	return ret ? ret : bind_name(im, im->out[index], value, data);
}

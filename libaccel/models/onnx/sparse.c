// SPDX-License-Identifier: MIT
/*
 * Sparse constants of a file: elements and their places, which become dense, as far as
 * tensor_grows() lets them.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "onnx.h"

#define MAX_ELEMENTS	(1ull << 40)

struct parts {
	struct tensor values;
	struct tensor places;
	bool has_values;
	bool has_places;
};

static int read_parts(struct import *im, struct slice s, struct parts *p, struct tensor *t)
{
	struct field f;
	int ret = 0, got;

	while (!ret && (got = wire_next(&s, &f)) != 0) {
		if (got < 0)
			return im_fail(im, -EBADMSG, "a sparse tensor cannot be read");
		if (f.id == 1 && f.has_bytes) {
			p->has_values = true;
			ret = tensor_read(im, f.bytes, &p->values);
		} else if (f.id == 2 && f.has_bytes) {
			p->has_places = true;
			ret = tensor_read(im, f.bytes, &p->places);
		} else if (f.id == 3 && wire_ints(&f, t->dims, &t->rank, ACCEL_GRAPH_MAX_RANK)) {
			ret = im_fail(im, -EOPNOTSUPP, "a sparse tensor of more than %d dimensions",
				      ACCEL_GRAPH_MAX_RANK);
		}
	}
	return ret;
}

/* Dimensions and sizes, once the values are known */
static int size_up(struct import *im, const struct parts *p, struct tensor *t)
{
	const struct tensor *v = &p->values, *at = &p->places;
	const int n = slice_shown(v->name);
	uint32_t i;

	if (v->rank != 1)
		return im_fail(im, -EBADMSG, "sparse %.*s: values of %u dimensions", n, v->name.p,
			       v->rank);
	if (!p->has_places && v->count)
		return im_fail(im, -EBADMSG, "sparse %.*s: it has no indices", n, v->name.p);
	if (p->has_places &&
	    (at->type != ACCEL_HOST_S64 || at->rank < 1 || at->rank > 2 ||
	     at->dims[0] != v->dims[0] || (at->rank == 2 && at->dims[1] != t->rank)))
		return im_fail(im, -EBADMSG,
			       "sparse %.*s: its indices are not int64 [%" PRId64 "] or [%" PRId64
			       ", %u]", n, v->name.p, v->dims[0], v->dims[0], t->rank);
	t->type = v->type;
	t->name = v->name;
	t->count = 1;
	for (i = 0; i < t->rank; i++)
		if (t->dims[i] < 0 ||
		    __builtin_mul_overflow(t->count, (uint64_t)t->dims[i], &t->count) ||
		    t->count > MAX_ELEMENTS)
			return im_fail(im, -EBADMSG, "sparse %.*s: dimension %u is %" PRId64, n,
				       v->name.p, i, t->dims[i]);
	t->bytes = (t->count * accel_type_bits(t->type) + 7) / 8;
	return tensor_grows(im, t->name, t->bytes);
}

/* The place of one of the values among all elements; an error of -EBADMSG that is told */
static int find_place(struct import *im, const struct parts *p, const struct tensor *t, uint64_t i,
		      uint64_t *place)
{
	const uint32_t width = p->places.rank == 2 ? t->rank : 1;
	const char *from = (const char *)p->places.data + i * width * sizeof(int64_t);
	int64_t x, size;
	uint32_t k;

	*place = 0;
	for (k = 0; k < width; k++) {
		memcpy(&x, from + k * sizeof(x), sizeof(x));
		size = p->places.rank == 2 ? t->dims[k] : (int64_t)t->count;
		if (x < 0 || x >= size)
			return im_fail(im, -EBADMSG,
				       "sparse %.*s: index %" PRId64 " of value %" PRIu64
				       " is not below %" PRId64, slice_shown(t->name), t->name.p, x,
				       i, size);
		*place = *place * (uint64_t)size + (uint64_t)x;
	}
	/* Without a dimension there is one element. */
	return *place < t->count ? 0 :
	       im_fail(im, -EBADMSG, "sparse %.*s: value %" PRIu64 " has no place",
		       slice_shown(t->name), t->name.p, i);
}

static int spread(struct import *im, const struct parts *p, struct tensor *t)
{
	const uint32_t bits = accel_type_bits(t->type);
	const uint8_t *from = p->values.data;
	uint64_t i, place, next = 0;
	uint8_t *to, half;
	int ret;

	to = calloc(t->bytes + 1, 1);
	if (!to)
		return im_fail(im, -ENOMEM, "out of memory");
	t->own = to;
	t->data = to;
	for (i = 0; i < p->values.count; i++) {
		ret = find_place(im, p, t, i, &place);
		if (ret)
			return ret;
		/* The format wants them in order: a place has one value. */
		if (place < next)
			return im_fail(im, -EBADMSG,
				       "sparse %.*s: the index of value %" PRIu64
				       " is not behind that before", slice_shown(t->name),
				       t->name.p, i);
		next = place + 1;
		if (bits >= 8) {
			memcpy(to + place * (bits / 8), from + i * (bits / 8), bits / 8);
			continue;
		}
		half = from[i / 2] >> i % 2 * 4 & 15;
		to[place / 2] |= (uint8_t)(half << place % 2 * 4);
	}
	return 0;
}

/**
 * sparse_read - a sparse tensor of the file, as a dense one
 * @im: import
 * @s: message
 * @t: out: its own memory is the caller's to free
 *
 * Return: 0, or the error that @im has.
 */
int sparse_read(struct import *im, struct slice s, struct tensor *t)
{
	struct parts p = { 0 };
	int ret;

	memset(t, 0, sizeof(*t));
	ret = read_parts(im, s, &p, t);
	if (!ret && !p.has_values)
		ret = im_fail(im, -EBADMSG, "a sparse tensor without values");
	if (!ret)
		ret = size_up(im, &p, t);
	if (!ret)
		ret = spread(im, &p, t);
	if (ret) {
		free(t->own);
		t->own = NULL;
	}
	free(p.values.own);
	free(p.places.own);
	return ret;
}

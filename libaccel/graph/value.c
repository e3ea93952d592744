// SPDX-License-Identifier: MIT
/*
 * Values: elements of a store, by strides.
 */
#include <stdlib.h>
#include <string.h>

#include "graph.h"

/* Room for one more in @list, a pointer to an array; @cap is doubled. */
bool list_grow(void *list, uint32_t count, uint32_t *cap, size_t size)
{
	uint32_t want = *cap ? 2 * *cap : 64;
	void *more, **at = list;

	if (count < *cap)
		return true;
	more = realloc(*at, want * size);
	if (!more)
		return false;
	*at = more;
	*cap = want;
	return true;
}

/* Can there be a value of these? Strides are products too: a dimension of 0 counts as one of 1. */
bool dims_fit(uint32_t rank, const int64_t *dims)
{
	int64_t n = 1;
	uint32_t i;

	for (i = 0; i < rank; i++)
		if (dims[i] < 0 || __builtin_mul_overflow(n, dims[i] ? dims[i] : 1, &n) ||
		    n > MAX_ELEMENTS)
			return false;
	return true;
}

uint64_t value_count(const struct value *v)
{
	uint64_t n = 1;
	uint32_t i;

	for (i = 0; i < v->rank; i++)
		n *= (uint64_t)v->dims[i];
	return n;
}

/* The node that writes it, NO_VALUE: none */
uint32_t value_node(const struct net *net, uint32_t value)
{
	return net->stores[net->values[value].store].node;
}

bool value_dense(const struct value *v)
{
	int64_t step = 1;
	uint32_t i;

	for (i = v->rank; i-- > 0;) {
		if (v->dims[i] != 1 && v->strides[i] != step)
			return false;
		step *= v->dims[i];
	}
	return true;
}

/* Types of which a block has an address, and no element has; constants alone have one. */
bool type_is_blocks(uint32_t type)
{
	uint32_t elements;

	return !accel_type_bits(type) && accel_dtype_block(type, &elements) && elements > 2;
}

/* Bytes of elements that lie one behind the other; those of blocks are whole blocks. */
uint64_t type_bytes(uint32_t type, uint64_t count)
{
	uint32_t elements, bytes;

	if (!type_is_blocks(type))
		return (count * accel_type_bits(type) + 7) / 8;
	bytes = accel_dtype_block(type, &elements);
	return count / elements * bytes;
}

static bool value_whole_bytes(const struct net *net, const struct value *v)
{
	return net->stores[v->store].bytes == type_bytes(v->type, value_count(v));
}

/* All elements of its store, each once, in any order */
bool value_fills(const struct net *net, const struct value *v)
{
	int64_t step = 1, next;
	uint32_t i;

	if (v->offset || !value_whole_bytes(net, v))
		return false;
	/* Strides of no elements say nothing. */
	if (!value_count(v))
		return true;
	while (step) {
		for (i = 0, next = 0; i < v->rank; i++)
			if (v->dims[i] != 1 && v->strides[i] == step)
				next = step * v->dims[i];
		if (!next)
			break;
		step = next;
	}
	return (uint64_t)step == value_count(v);
}

/* All elements of its store, in order: then another shape is only another name. */
bool value_whole(const struct net *net, const struct value *v)
{
	return value_dense(v) && value_fills(net, v);
}

/* Numbers with a point that engines have */
bool is_real(uint32_t type)
{
	return type == ACCEL_F32 || type == ACCEL_F16 || type == ACCEL_BF16;
}

bool value_const(const struct net *net, uint32_t value)
{
	return net->stores[net->values[value].store].kind == STORE_CONST;
}

/* What engines take a type for, ACCEL_NONE: no engine has it. */
uint32_t engine_type(uint32_t type)
{
	if (type == ACCEL_HOST_BOOL)
		return ACCEL_U8;
	return type < ACCEL_DTYPE_COUNT ? type : ACCEL_NONE;
}

/**
 * value_tensor - a value as operations have it
 * @v: value
 * @t: out: without buffer and offset; one dimension where there is none
 *
 * Return: false: it has more dimensions than tensors have.
 */
bool value_tensor(const struct value *v, struct accel_tensor *t)
{
	uint32_t i;

	memset(t, 0, sizeof(*t));
	t->dtype = engine_type(v->type);
	t->rank = v->rank ? v->rank : 1;
	t->dims[0] = 1;
	if (v->rank > ACCEL_MAX_RANK)
		return false;
	for (i = 0; i < v->rank; i++)
		t->dims[i] = v->dims[i];
	if (value_dense(v))
		return true;
	t->flags = ACCEL_TENSOR_STRIDES;
	for (i = 0; i < v->rank; i++)
		t->strides[i] = v->strides[i];
	return true;
}

struct host_tensor value_host(const struct value *v, const void *base)
{
	struct host_tensor t = { .type = v->type, .rank = v->rank };

	memcpy(t.dims, v->dims, sizeof(t.dims));
	memcpy(t.strides, v->strides, sizeof(t.strides));
	t.data = (void *)((uintptr_t)base + (uint64_t)v->offset * accel_type_bits(v->type) / 8);
	return t;
}

/* First byte of a constant's store. */
const void *value_data(const struct net *net, uint32_t value)
{
	return net->stores[net->values[value].store].blob->data;
}

static bool value_list(const struct net *net, uint32_t value, uint32_t max)
{
	const struct value *v = &net->values[value];

	return value_const(net, value) && v->rank <= 1 && value_count(v) <= max &&
	       accel_type_bits(v->type) >= 8;
}

/* The integers of a constant list or scalar; false: it is none, or too long. */
bool value_ints(const struct net *net, uint32_t value, int64_t *list, uint32_t *count, uint32_t max)
{
	const struct value *v = &net->values[value];
	struct host_tensor t;
	uint32_t i;

	if (!value_list(net, value, max) || host_type_real(v->type))
		return false;
	t = value_host(v, value_data(net, value));
	*count = (uint32_t)value_count(v);
	for (i = 0; i < *count; i++)
		list[i] = host_get(t.type, t.data, v->rank ? i * t.strides[0] : 0).i;
	return true;
}

/* Likewise of floating-point numbers */
bool value_reals(const struct net *net, uint32_t value, double *list, uint32_t *count, uint32_t max)
{
	const struct value *v = &net->values[value];
	struct host_tensor t;
	uint32_t i;

	if (!value_list(net, value, max) || !host_type_real(v->type))
		return false;
	t = value_host(v, value_data(net, value));
	*count = (uint32_t)value_count(v);
	for (i = 0; i < *count; i++)
		list[i] = host_get(t.type, t.data, v->rank ? i * t.strides[0] : 0).f;
	return true;
}

/* The number that all elements of a constant are; false: it is none, or they differ. */
bool value_scalar(const struct net *net, uint32_t value, double *number)
{
	const struct value *v = &net->values[value];
	struct host_tensor t;
	struct host_number n;
	uint32_t i;

	if (!value_const(net, value) || !value_count(v) || accel_type_bits(v->type) < 8)
		return false;
	for (i = 0; i < v->rank; i++)
		if (v->dims[i] != 1 && v->strides[i])
			return false;
	t = value_host(v, value_data(net, value));
	n = host_get(t.type, t.data, 0);
	*number = n.real ? n.f : (double)n.i;
	return true;
}

bool same_dims(const struct value *a, const struct value *b)
{
	return a->rank == b->rank && !memcmp(a->dims, b->dims, a->rank * sizeof(a->dims[0]));
}

/* Do two values have the same elements of one store? */
bool same_place(const struct value *a, const struct value *b)
{
	uint32_t i;

	if (a->store != b->store || a->offset != b->offset || a->type != b->type ||
	    !same_dims(a, b))
		return false;
	for (i = 0; i < a->rank; i++)
		if (a->dims[i] != 1 && a->strides[i] != b->strides[i])
			return false;
	return true;
}

/**
 * reshape_view - other dimensions for the same elements, without moving them
 * @v: value, changed
 * @rank: dimensions
 * @dims: with the same product
 *
 * Return: false: they would have to be moved; @v is unchanged.
 */
bool reshape_view(struct value *v, uint32_t rank, const int64_t *dims)
{
	int64_t strides[MAX_RANK], step;
	uint32_t from = 0, to = 0, end, i, last;
	int64_t have, want;

	memset(strides, 0, sizeof(strides));
	if (!value_count(v)) {
		for (i = rank, step = 1; i-- > 0; step *= dims[i] ? dims[i] : 1)
			strides[i] = step;
		goto out;
	}
	/* Groups of neighbouring dimensions with the same product on both sides */
	while (from < v->rank || to < rank) {
		if (from < v->rank && v->dims[from] == 1) {
			from++;
			continue;
		}
		if (to < rank && dims[to] == 1) {
			strides[to++] = 0;
			continue;
		}
		if (from == v->rank || to == rank)
			return false;
		have = v->dims[from];
		want = dims[to];
		last = from;
		end = from + 1;
		i = to + 1;
		while (have != want) {
			if (have < want) {
				if (end == v->rank)
					return false;
				/* These are one: the outer steps over the whole inner one. */
				if (v->dims[end] != 1) {
					if (v->strides[last] != v->strides[end] * v->dims[end])
						return false;
					last = end;
				}
				have *= v->dims[end++];
			} else {
				if (i == rank)
					return false;
				want *= dims[i++];
			}
		}
		step = v->strides[last];
		from = end;
		for (end = i; end-- > to; step *= dims[end])
			strides[end] = step;
		to = i;
	}
out:
	v->rank = rank;
	memset(v->dims, 0, sizeof(v->dims));
	memcpy(v->dims, dims, rank * sizeof(*dims));
	memcpy(v->strides, strides, sizeof(strides));
	return true;
}

/* Dimensions in another order. */
void permute_view(struct value *v, const uint32_t *order)
{
	struct value old = *v;
	uint32_t i;

	for (i = 0; i < v->rank; i++) {
		v->dims[i] = old.dims[order[i]];
		v->strides[i] = old.strides[order[i]];
	}
}

/* An element of rows of @n as one of rows of @wide, @at columns on; false: it crosses rows. */
bool move_columns(struct value *v, int64_t n, int64_t wide, int64_t at)
{
	int64_t reach = v->offset % n;
	uint32_t i;

	for (i = 0; i < v->rank; i++) {
		if (v->dims[i] < 2 || !v->strides[i])
			continue;
		if (v->strides[i] % n == 0) {
			v->strides[i] = v->strides[i] / n * wide;
			continue;
		}
		if (v->strides[i] < 0)
			return false;
		reach += (v->dims[i] - 1) * v->strides[i];
	}
	v->offset = v->offset / n * wide + v->offset % n + at;
	return reach < n;
}

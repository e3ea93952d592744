// SPDX-License-Identifier: MIT
/*
 * Operators that move elements: copies and fills of views.
 */
#include <string.h>

#include "run.h"

/* An axis of @rank dimensions, MAX_RANK and a reason if it is none. */
uint32_t axis_of(struct run *r, int64_t axis, uint32_t rank)
{
	if (axis < 0)
		axis += rank;
	if (axis < 0 || axis >= rank || axis >= MAX_RANK) {
		broken(r, "axis %ld of %u", (long)axis, rank);
		return 0;
	}
	return (uint32_t)axis;
}

static int do_transpose(struct run *r, const struct op_map *m)
{
	struct value *a = r->in[0];
	int64_t perm[MAX_RANK];
	uint32_t i;

	(void)m;
	if (!usable(r, a))
		return r->ret;
	if (attr_ints(r, "perm", perm, MAX_RANK) != a->rank)
		for (i = 0; i < a->rank; i++)
			perm[i] = a->rank - 1 - i;
	return give(r, 0, lib_transpose(r, a, perm));
}

static int do_expand(struct run *r, const struct op_map *m)
{
	struct value *a = r->in[0], shape = { 0 };
	int64_t dims[MAX_RANK];
	uint32_t rank;

	(void)m;
	shape.rank = get_ints(r, r->in[1], shape.dims, MAX_RANK);
	if (!broadcast(r, a, &shape, &rank, dims))
		return r->ret;
	return give(r, 0, lib_expand(r, a, rank, dims));
}

static int do_constant_of_shape(struct run *r, const struct op_map *m)
{
	const Onnx__AttributeProto *a = attr(r, "value");
	struct value *v = NULL;
	int64_t dims[MAX_RANK];
	uint32_t rank;

	(void)m;
	rank = get_ints(r, r->in[0], dims, MAX_RANK);
	if (a && a->t)
		v = value_from_proto(r, a->t);
	if (v && !usable(r, v))
		return r->ret;
	return give(r, 0, lib_fill(r, v ? v->type : T_FLOAT, rank, dims, v ? get(v, 0) : 0));
}

/* Starts, ends, axes, steps: attributes up to version 9, then inputs. */
static int do_slice(struct run *r, const struct op_map *m)
{
	int64_t start[MAX_RANK], end[MAX_RANK], axes[MAX_RANK], step[MAX_RANK];
	struct value *a = r->in[0];
	uint32_t n, n_axes, i, k;
	struct view w;

	(void)m;
	if (!usable(r, a))
		return r->ret;
	for (i = 0; i < MAX_RANK; i++) {
		axes[i] = i;
		step[i] = 1;
	}
	if (r->opset < 10) {
		n = attr_ints(r, "starts", start, MAX_RANK);
		attr_ints(r, "ends", end, MAX_RANK);
		n_axes = attr_ints(r, "axes", axes, MAX_RANK);
	} else {
		n = get_ints(r, r->in[1], start, MAX_RANK);
		get_ints(r, r->in[2], end, MAX_RANK);
		n_axes = get_ints(r, r->in[3], axes, MAX_RANK);
		get_ints(r, r->in[4], step, MAX_RANK);
	}
	if (r->ret || (n_axes && n_axes != n))
		return broken(r, "%u starts, %u axes", n, n_axes);
	w = view_of(a);
	for (k = 0; k < n && !r->ret; k++) {
		int64_t lo, hi, dim;

		i = axis_of(r, axes[k], a->rank);
		dim = a->dims[i];
		start[k] += start[k] < 0 ? dim : 0;
		end[k] += end[k] < 0 ? dim : 0;
		lo = step[k] < 0 ? -1 : 0;
		hi = step[k] < 0 ? dim - 1 : dim;
		start[k] = start[k] < -lo - lo ? 0 : start[k] > hi ? hi : start[k];
		end[k] = end[k] < lo ? lo : end[k] > hi ? hi : end[k];
		if (!step[k])
			return broken(r, "a step of 0");
		w.dims[i] = (end[k] - start[k] + step[k] - (step[k] > 0 ? 1 : -1)) / step[k];
		if (w.dims[i] <= 0)
			w.dims[i] = 0;
		else
			w.offset += start[k] * w.strides[i];
		w.strides[i] *= step[k];
	}
	return give(r, 0, lib_copy(r, &w, a->type));
}

/* More than the library joins at a time: copies into place */
static void concat_copies(struct run *r, uint32_t axis, struct value *v)
{
	struct view from, to;
	int64_t at = 0;
	uint32_t i;

	for (i = 0; i < r->n_in && !r->ret; i++) {
		from = view_of(r->in[i]);
		to = view_of(v);
		to.dims[axis] = from.dims[axis];
		to.offset = at * to.strides[axis];
		at += from.dims[axis];
		lib_copy_into(r, &from, &to);
	}
}

static int do_concat(struct run *r, const struct op_map *m)
{
	struct accel_concat_desc d = ACCEL_CONCAT_DESC_INIT;
	struct value *a = r->in[0], *v;
	int64_t dims[MAX_RANK];
	uint32_t i;

	(void)m;
	if (!usable(r, a))
		return r->ret;
	d.axis = axis_of(r, attr_int(r, "axis", 1), a->rank);
	memcpy(dims, a->dims, sizeof(dims));
	for (i = 1; i < r->n_in && !r->ret; i++) {
		if (r->in[i]->rank != a->rank)
			return broken(r, "%u and %u dimensions", a->rank, r->in[i]->rank);
		dims[d.axis] += r->in[i]->dims[d.axis];
	}
	v = new_value(r, a->type, a->rank, dims);
	if (v && (r->n_in > ACCEL_CONCAT_MAX || a->rank > ACCEL_MAX_RANK)) {
		concat_copies(r, d.axis, v);
		return give(r, 0, v);
	}
	d.count = r->n_in;
	for (i = 0; i < r->n_in && !r->ret; i++)
		tensor_of(r, &d.a[i], r->in[i]);
	if (tensor_of(r, &d.d, v))
		lib_run(r, &d.hdr);
	return give(r, 0, v);
}

/* Sizes are an attribute up to version 12, then an input; none: equal parts. */
static int do_split(struct run *r, const struct op_map *m)
{
	struct accel_split_desc d = ACCEL_SPLIT_DESC_INIT;
	int64_t sizes[MAX_ARGS], dims[MAX_RANK];
	struct value *a = r->in[0];
	uint32_t i, n;

	(void)m;
	if (!tensor_of(r, &d.a, a))
		return r->ret;
	d.axis = axis_of(r, attr_int(r, "axis", 0), a->rank);
	d.count = r->n_out;
	n = r->opset < 13 ? attr_ints(r, "split", sizes, MAX_ARGS) :
			    get_ints(r, r->in[1], sizes, MAX_ARGS);
	if (n && n != r->n_out)
		return broken(r, "%u sizes for %u outputs", n, r->n_out);
	if (r->n_out > ACCEL_CONCAT_MAX)
		return unsupported(r, "%u outputs", r->n_out);
	memcpy(dims, a->dims, sizeof(dims));
	for (i = 0; i < r->n_out && !r->ret; i++) {
		dims[d.axis] = n ? sizes[i] : a->dims[d.axis] / r->n_out;
		give(r, i, new_value(r, a->type, a->rank, dims));
		tensor_of(r, &d.d[i], r->out[i]);
	}
	return lib_run(r, &d.hdr);
}

/* Sizes and the constant are attributes up to version 10, then inputs. */
static int do_pad(struct run *r, const struct op_map *m)
{
	struct accel_pad_desc d = ACCEL_PAD_DESC_INIT;
	int64_t pads[2 * MAX_RANK], dims[MAX_RANK];
	struct value *a = r->in[0], *v;
	uint32_t i, n;

	(void)m;
	if (!tensor_of(r, &d.a, a) || (r->in[2] && !usable(r, r->in[2])))
		return r->ret;
	n = r->opset < 11 ? attr_ints(r, "pads", pads, 2 * MAX_RANK) :
			    get_ints(r, r->in[1], pads, 2 * MAX_RANK);
	if (n != 2 * a->rank)
		return broken(r, "%u sizes for %u dimensions", n, a->rank);
	if (attr_is(r, "mode", "reflect", false))
		d.mode = ACCEL_PAD_REFLECT;
	else if (attr_is(r, "mode", "edge", false))
		d.mode = ACCEL_PAD_EDGE;
	else if (!attr_is(r, "mode", "constant", true))
		return unsupported(r, "another mode");
	if (d.mode == ACCEL_PAD_CONSTANT)
		d.value = r->in[2] ? get(r->in[2], 0) : (double)attr_float(r, "value", 0);
	for (i = 0; i < a->rank; i++) {
		if (pads[i] < 0 || pads[a->rank + i] < 0)
			return unsupported(r, "a padding below 0");
		d.before[i] = pads[i];
		d.after[i] = pads[a->rank + i];
		dims[i] = a->dims[i] + pads[i] + pads[a->rank + i];
	}
	v = new_value(r, a->type, a->rank, dims);
	if (tensor_of(r, &d.d, v))
		lib_run(r, &d.hdr);
	return give(r, 0, v);
}

/* Each dimension as (repeats, size), the repeats with a stride of 0. */
static int do_tile(struct run *r, const struct op_map *m)
{
	int64_t repeats[MAX_RANK], dims[2 * MAX_RANK], strides[2 * MAX_RANK];
	struct value *a = r->in[0], *v;
	struct view from, to;
	uint32_t i, k, n = 0, axis;

	(void)m;
	if (!usable(r, a))
		return r->ret;
	if (get_ints(r, r->in[1], repeats, MAX_RANK) != a->rank)
		return r->ret ? r->ret : unsupported(r, "its form before version 6");
	/* One axis at a time: the library has few dimensions. */
	for (axis = 0; axis < a->rank && !r->ret; axis++) {
		from = view_of(a);
		for (n = i = 0; i < a->rank; i++) {
			if (i == axis) {
				dims[n] = repeats[i];
				strides[n++] = 0;
			}
			dims[n] = from.dims[i];
			strides[n++] = from.strides[i];
		}
		if (n > MAX_RANK)
			return unsupported(r, "%u dimensions", a->rank);
		for (k = 0; k < n; k++) {
			from.dims[k] = dims[k];
			from.strides[k] = strides[k];
		}
		from.rank = n;
		v = lib_copy(r, &from, a->type);
		if (!v)
			return r->ret;
		to = view_of(a);
		to.dims[axis] *= repeats[axis];
		a = relabel(r, v, a->type, a->rank, to.dims);
	}
	return give(r, 0, a);
}

/* Depth or space as six dimensions, permuted. */
static int do_depth_space(struct run *r, const struct op_map *m)
{
	bool crd = attr_is(r, "mode", "CRD", false), to_space = m->arg;
	int64_t b = attr_int(r, "blocksize", 1), d[6], dims[4];
	static const int64_t dcr_perm[] = { 0, 3, 4, 1, 5, 2 }, crd_perm[] = { 0, 1, 4, 2, 5, 3 };
	static const int64_t depth_perm[] = { 0, 3, 5, 1, 2, 4 };
	struct value *a = r->in[0], *v;
	int64_t n, c, h, w;

	if (!usable(r, a))
		return r->ret;
	if (a->rank != 4 || b < 1)
		return broken(r, "%u dimensions", a->rank);
	n = a->dims[0];
	c = a->dims[1];
	h = a->dims[2];
	w = a->dims[3];
	d[0] = n;
	dims[0] = n;
	if (to_space) {
		d[1] = crd ? c / (b * b) : b;
		d[2] = b;
		d[3] = crd ? b : c / (b * b);
		d[4] = h;
		d[5] = w;
		dims[1] = c / (b * b);
		dims[2] = h * b;
		dims[3] = w * b;
		v = lib_transpose(r, relabel(r, a, a->type, 6, d), crd ? crd_perm : dcr_perm);
	} else {
		d[1] = c;
		d[2] = h / b;
		d[3] = b;
		d[4] = w / b;
		d[5] = b;
		dims[1] = c * b * b;
		dims[2] = h / b;
		dims[3] = w / b;
		v = lib_transpose(r, relabel(r, a, a->type, 6, d), depth_perm);
	}
	return give(r, 0, relabel(r, v, a->type, 4, dims));
}

/* --- diagonals --------------------------------------------------------------------- */

/* Diagonal @k of the matrices of @v, by its strides; false if there is none. */
static bool diagonal(struct value *v, int64_t k, struct view *w)
{
	int64_t rows = v->dims[v->rank - 2], cols = v->dims[v->rank - 1];
	int64_t row = k < 0 ? -k : 0, col = k < 0 ? 0 : k;

	if (row >= rows || col >= cols)
		return false;
	*w = view_of(v);
	w->offset = row * cols + col;
	w->dims[v->rank - 2] = rows - row < cols - col ? rows - row : cols - col;
	w->strides[v->rank - 2] = cols + 1;
	w->rank = v->rank - 1;
	return true;
}

static int do_eye_like(struct run *r, const struct op_map *m)
{
	struct accel_fill_desc d = ACCEL_FILL_DESC_INIT;
	struct value *a = r->in[0], *v;
	struct view w;

	(void)m;
	if (!a || a->rank != 2)
		return broken(r, "no matrix");
	v = lib_fill(r, (uint32_t)attr_int(r, "dtype", a->type), 2, a->dims, 0);
	d.value = 1;
	if (v && diagonal(v, attr_int(r, "k", 0), &w) && fill_tensor(r, &d.d, &w))
		lib_run(r, &d.hdr);
	return give(r, 0, v);
}

/* Zeros, and the diagonals that are kept. */
static int do_trilu(struct run *r, const struct op_map *m)
{
	bool upper = attr_int(r, "upper", 1);
	struct value *a = r->in[0], *v;
	int64_t k = 0, i, lo, hi;
	struct view from, to;

	(void)m;
	if (!usable(r, a) || (r->in[1] && !get_ints(r, r->in[1], &k, 1)))
		return r->ret;
	if (a->rank < 2)
		return broken(r, "no matrix");
	v = lib_fill(r, a->type, a->rank, a->dims, 0);
	lo = upper ? k : -a->dims[a->rank - 2];
	hi = upper ? a->dims[a->rank - 1] : k;
	lo = lo < -a->dims[a->rank - 2] ? -a->dims[a->rank - 2] : lo;
	hi = hi > a->dims[a->rank - 1] ? a->dims[a->rank - 1] : hi;
	for (i = lo; i <= hi && !r->ret; i++)
		if (diagonal(a, i, &from) && diagonal(v, i, &to))
			lib_copy_into(r, &from, &to);
	return give(r, 0, v);
}

/* The first @lens[b] of each batch backwards, the rest as it is. */
static int do_reverse_sequence(struct run *r, const struct op_map *m)
{
	struct value *a = r->in[0], *v;
	int64_t lens[64], b;
	uint32_t ba, ta;
	struct view from, to;

	(void)m;
	if (!usable(r, a) || a->rank < 2)
		return broken(r, "no batches");
	ba = axis_of(r, attr_int(r, "batch_axis", 1), a->rank);
	ta = axis_of(r, attr_int(r, "time_axis", 0), a->rank);
	if (get_ints(r, r->in[1], lens, 64) != a->dims[ba])
		return r->ret ? r->ret : broken(r, "another number of lengths");
	from = view_of(a);
	v = lib_copy(r, &from, a->type);
	for (b = 0; b < a->dims[ba] && !r->ret; b++) {
		from = view_of(a);
		to = view_of(v);
		from.dims[ba] = 1;
		to.dims[ba] = 1;
		from.dims[ta] = lens[b];
		to.dims[ta] = lens[b];
		to.offset = b * to.strides[ba];
		from.offset = to.offset + (lens[b] - 1) * from.strides[ta];
		from.strides[ta] = -from.strides[ta];
		lib_copy_into(r, &from, &to);
	}
	return give(r, 0, v);
}

/* start + i delta; how many there are is a shape. */
static int do_range(struct run *r, const struct op_map *m)
{
	struct value *start = r->in[0], *limit = r->in[1], *delta = r->in[2], *v;
	int64_t n, i;
	double count;

	(void)m;
	if (!usable(r, start) || !usable(r, limit) || !usable(r, delta))
		return r->ret;
	count = (get(limit, 0) - get(start, 0)) / get(delta, 0);
	if (!(count < 1e6))
		return unsupported(r, "a range of %g", count);
	n = count <= 0 ? 0 : (int64_t)count;
	n += (double)n < count ? 1 : 0;
	v = new_value(r, start->type, 1, &n);
	for (i = 0; v && i < n; i++)
		put(v, (uint64_t)i, (double)i);
	v = lib_binary(r, ACCEL_BINARY_MUL, v, relabel(r, delta, delta->type, 0, NULL));
	return give(r, 0, v ? lib_binary(r, ACCEL_BINARY_ADD, v,
					 relabel(r, start, start->type, 0, NULL)) : NULL);
}

const struct op_map ops_move[] = {
	{ "Transpose", do_transpose, BY_LIBRARY, 0, 0 },
	{ "Expand", do_expand, BY_LIBRARY, 0, 0 },
	{ "ConstantOfShape", do_constant_of_shape, BY_LIBRARY, 0, 0 },
	{ "Slice", do_slice, BY_LIBRARY, 0, 0 },
	{ "Concat", do_concat, BY_LIBRARY, 0, 4 },
	{ "Split", do_split, BY_LIBRARY, 0, 0 },
	{ "Pad", do_pad, BY_LIBRARY, 0, 2 },
	{ "Tile", do_tile, BY_LIBRARY, 0, 6 },
	{ "DepthToSpace", do_depth_space, BY_LIBRARY, 1, 0 },
	{ "SpaceToDepth", do_depth_space, BY_LIBRARY, 0, 0 },
	{ "EyeLike", do_eye_like, BY_LIBRARY, 0, 0 },
	{ "Trilu", do_trilu, BY_LIBRARY, 0, 0 },
	{ "ReverseSequence", do_reverse_sequence, BY_LIBRARY, 0, 0 },
	{ "Range", do_range, BY_LIBRARY, 0, 0 },
	{ NULL, NULL, BY_LIBRARY, 0, 0 }
};

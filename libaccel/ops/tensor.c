// SPDX-License-Identifier: MIT
/*
 * Tensors: what may be described, and which bytes it takes.
 *
 * Dimensions and strides are 64 bit and come from the caller: nothing here
 * overflows, whatever they are.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "ops.h"

/* Device addresses have 48 bits */
#define ADDR_END	(1LL << 48)

bool operand_empty(const struct operand *t)
{
	uint32_t i;

	for (i = 0; i < t->rank; i++)
		if (!t->dims[i])
			return true;
	return false;
}

/**
 * operand_view - an operand as devices see it
 * @t: operand
 * @v: out; without addresses
 *
 * Return: false: a dimension does not fit.
 */
bool operand_view(const struct operand *t, struct uma_tensor_view *v)
{
	uint32_t i;

	*v = (struct uma_tensor_view) {
		.rank = (__u16)t->rank, .dtype = (__u16)t->dtype,
		.quant = (__u16)t->quant.scheme, .quant_axis = (__u16)t->quant.axis,
		.scale_dtype = (__u16)t->quant.scale_dtype, .quant_group = t->quant.group,
		.quant_flags = t->quant.flags, .zero = t->quant.zero,
	};
	memcpy(&v->scale, &t->quant.scale, sizeof(v->scale));
	for (i = 0; i < t->rank; i++) {
		if (t->dims[i] > UINT32_MAX)
			return false;
		v->dims[i] = (__u32)t->dims[i];
		v->strides[i] = t->strides[i];
	}
	return true;
}

/* Elements that are distinct in memory; the extent has been checked. */
static uint64_t distinct(const struct operand *t)
{
	uint64_t n = 1;
	uint32_t i;

	if (operand_empty(t))
		return 0;
	/* Overlapping inputs (a sliding window) count once. */
	for (i = 0; i < t->rank; i++)
		if (t->strides[i] &&
		    __builtin_mul_overflow(n, (uint64_t)t->dims[i], &n))
			return t->hi - t->lo;
	return n;
}

/* Number of elements, saturated: it is for the estimate. */
uint64_t operand_elements(const struct operand *t)
{
	uint64_t n = 1;
	uint32_t i;

	if (operand_empty(t))
		return 0;
	for (i = 0; i < t->rank; i++)
		if (__builtin_mul_overflow(n, (uint64_t)t->dims[i], &n))
			return UINT64_MAX;
	return n;
}

uint64_t operand_bytes(const struct operand *t)
{
	const struct uma_dtype_block b = uma_dtype_block(t->dtype);
	uint64_t n = distinct(t), bytes;

	if (n > UINT64_MAX / 32)
		return t->hi - t->lo;
	bytes = ((n + (1u << b.shift) - 1) >> b.shift) * b.bytes;
	return bytes < (uint64_t)(t->hi - t->lo) ? bytes : (uint64_t)(t->hi - t->lo);
}

uint64_t operand_table_bytes(const struct operand *t)
{
	const struct operand_quant *q = &t->quant;

	if (q->scheme != ACCEL_QUANT_CHANNEL && q->scheme != ACCEL_QUANT_GROUP)
		return 0;
	return q->entries * (accel_dtype_bits(q->scale_dtype) / 8 +
			     quant_zero_bytes(q));
}

/*
 * Bytes from the first to one past the last, relative to element 0. -EOVERFLOW
 * if they cannot lie in an address space.
 */
static int extent(const struct operand *t, int64_t *lo, int64_t *hi)
{
	const struct uma_dtype_block b = uma_dtype_block(t->dtype);
	int64_t first = 0, last = 0, reach;
	uint32_t i;

	*lo = 0;
	*hi = 0;
	if (operand_empty(t))
		return 0;
	for (i = 0; i < t->rank; i++) {
		if (__builtin_mul_overflow(t->dims[i] - 1, t->strides[i], &reach) ||
		    __builtin_add_overflow(reach < 0 ? first : last, reach,
					   reach < 0 ? &first : &last))
			return -EOVERFLOW;
	}
	if (first < -2 * ADDR_END || last > 2 * ADDR_END)
		return -EOVERFLOW;
	*lo = (first >> b.shift) * (int64_t)b.bytes;
	*hi = ((last >> b.shift) + 1) * (int64_t)b.bytes;
	return *hi - *lo > ADDR_END ? -EOVERFLOW : 0;
}

/* Row-major strides. -EOVERFLOW: more elements than fit into 63 bits. */
#define TENSOR_FLAGS	(ACCEL_TENSOR_STRIDES | ACCEL_TENSOR_ANY)

static int dense_strides(struct operand *t)
{
	int64_t stride = 1;
	uint32_t i;

	for (i = t->rank; i-- > 0; ) {
		t->strides[i] = stride;
		/* An empty tensor has strides all the same. */
		if (t->dims[i] > 1 &&
		    __builtin_mul_overflow(stride, t->dims[i], &stride))
			return -EOVERFLOW;
	}
	return 0;
}

static int check_dims(const struct accel_tensor *from, const char *name,
		      struct accel_error *e)
{
	uint32_t i;

	if (from->rank > ACCEL_MAX_RANK)
		return bad(e, -EINVAL, name, "rank",
			   "rank %u, but a tensor has at most %d dimensions",
			   from->rank, ACCEL_MAX_RANK);
	for (i = 0; i < ACCEL_MAX_RANK; i++) {
		if (i < from->rank && from->dims[i] < 0)
			return bad_at(e, -EINVAL, name, "dims", i,
				      "%lld is negative",
				      (long long)from->dims[i]);
		if (i >= from->rank && from->dims[i])
			return bad_at(e, -EINVAL, name, "dims", i,
				      "a tensor of rank %u has no such dimension",
				      from->rank);
		if (i >= from->rank && from->strides[i])
			return bad_at(e, -EINVAL, name, "strides", i,
				      "a tensor of rank %u has no such dimension",
				      from->rank);
		if (!(from->flags & ACCEL_TENSOR_STRIDES) && from->strides[i])
			return bad_at(e, -EINVAL, name, "strides", i,
				      "strides are given without ACCEL_TENSOR_STRIDES");
	}
	return 0;
}

/*
 * Elements of 4 bits: rows start at whole bytes, so that no two rows share one.
 */
static int check_nibbles(const struct operand *t, bool dense,
			 struct accel_error *e)
{
	bool unit = false;
	uint32_t i;

	for (i = t->rank; i-- > 0; ) {
		if (t->dims[i] < 2 || !(t->strides[i] & 1))
			continue;
		if (t->strides[i] == 1 && !unit) {
			unit = true;
			continue;
		}
		if (dense)
			return bad_at(e, -EINVAL, t->name, "dims", t->rank - 1,
				      "rows of %lld elements of 4 bits do not end at a byte: give even strides",
				      (long long)t->dims[t->rank - 1]);
		return bad_at(e, -EINVAL, t->name, "strides", i,
			      "%lld: of 4-bit elements, one dimension has stride 1 and the others even strides",
			      (long long)t->strides[i]);
	}
	return 0;
}

/*
 * Blocks lie along the dimension with stride 1 and are whole there; nothing else
 * begins amid one.
 */
static int check_blocks(const struct operand *t, bool dense, struct accel_error *e)
{
	const int64_t size = 1ll << uma_dtype_block(t->dtype).shift;
	uint32_t along = t->rank, i;

	for (i = t->rank; i-- > 0; ) {
		if (t->dims[i] < 2 || t->strides[i] % size == 0)
			continue;
		if (t->strides[i] == 1 && along == t->rank) {
			along = i;
			if (t->dims[i] % size)
				break;
			continue;
		}
		return bad_at(e, -EINVAL, t->name, "strides", i,
			      "%lld: of type %s, one dimension has stride 1 and the others multiples of %lld",
			      (long long)t->strides[i], accel_dtype_name(t->dtype),
			      (long long)size);
	}
	if (along < t->rank && t->dims[along] % size == 0)
		return 0;
	if (along == t->rank)
		along = t->rank - 1;
	return bad_at(e, -EINVAL, t->name,
		      dense || t->strides[along] == 1 ? "dims" : "strides", along,
		      "%lld elements side by side are no whole blocks of %lld, of type %s",
		      (long long)(t->strides[along] == 1 ? t->dims[along] : 1), (long long)size,
		      accel_dtype_name(t->dtype));
}

static int quant_unused(const struct accel_quant *q, const char *name,
			uint32_t scheme, struct accel_error *e)
{
	static const char text[] = "is set, but the scheme does not use it";
	bool tables = scheme >= ACCEL_QUANT_CHANNEL;

	if (!tables && q->axis)
		return bad(e, -EINVAL, name, "quant.axis", "%s", text);
	if (scheme < ACCEL_QUANT_GROUP && q->group)
		return bad(e, -EINVAL, name, "quant.group", "%s", text);
	if (!tables && q->scale_dtype)
		return bad(e, -EINVAL, name, "quant.scale_dtype", "%s", text);
	if (scheme != ACCEL_QUANT_TENSOR && q->scale != 0)
		return bad(e, -EINVAL, name, "quant.scale", "%s", text);
	if (scheme != ACCEL_QUANT_TENSOR && q->zero)
		return bad(e, -EINVAL, name, "quant.zero", "%s", text);
	if (!tables && q->scales)
		return bad(e, -EINVAL, name, "quant.scales", "%s", text);
	if (!tables && q->scales_offset)
		return bad(e, -EINVAL, name, "quant.scales_offset", "%s", text);
	if (!tables && q->zeros)
		return bad(e, -EINVAL, name, "quant.zeros", "%s", text);
	if (!q->zeros && q->zeros_offset && scheme != ACCEL_QUANT_GROUP_MIN)
		return bad(e, -EINVAL, name, "quant.zeros_offset",
			   "is set, but there is no table of zero points");
	return 0;
}

static int check_tables(struct operand *t, const struct accel_quant *q,
			struct accel_error *e)
{
	uint64_t n = 1, dim;
	uint32_t i;

	if (q->axis >= t->rank)
		return bad(e, -EINVAL, t->name, "quant.axis",
			   "%u, but the tensor has rank %u", q->axis, t->rank);
	if (q->scheme >= ACCEL_QUANT_GROUP &&
	    (q->group < 16 || q->group > 4096 || (q->group & (q->group - 1))))
		return bad(e, -EINVAL, t->name, "quant.group",
			   "%u is not a power of two from 16 to 4096", q->group);
	t->quant.scale_dtype = q->scale_dtype ? q->scale_dtype : ACCEL_F32;
	if (t->quant.scale_dtype != ACCEL_F32 && t->quant.scale_dtype != ACCEL_F16)
		return bad(e, -EINVAL, t->name, "quant.scale_dtype",
			   "%u: scales are fp32 or fp16", q->scale_dtype);
	for (i = 0; i < t->rank; i++) {
		dim = t->dims[i];
		if (q->scheme == ACCEL_QUANT_CHANNEL && i != q->axis)
			dim = 1;
		else if (q->scheme >= ACCEL_QUANT_GROUP && i == q->axis)
			dim = dim / q->group + (dim % q->group != 0);
		if (__builtin_mul_overflow(n, dim, &n) || n > ADDR_END / 4)
			return bad(e, -EINVAL, t->name, "quant.scales",
				   "the tables do not fit into an address space");
	}
	t->quant.entries = n;
	/* That there are minima follows from the scheme, before there is a table. */
	t->quant.zeros = q->scheme == ACCEL_QUANT_GROUP_MIN ? t->quant.scale_dtype :
			 q->zeros ? (uint32_t)ACCEL_S32 : 0;
	return 0;
}

static int check_quant(struct operand *t, const struct accel_quant *q,
		       struct accel_error *e)
{
	__s64 lo, hi;
	int ret;

	if (q->scheme >= ACCEL_QUANT_COUNT)
		return bad(e, -EINVAL, t->name, "quant.scheme",
			   "%u is not a quantisation scheme", q->scheme);
	ret = quant_unused(q, t->name, q->scheme, e);
	if (ret || q->scheme == ACCEL_QUANT_NONE)
		return ret;
	if (uma_is_float(t->dtype) || uma_is_block(t->dtype))
		return bad(e, -EINVAL, t->name, "quant.scheme",
			   uma_is_block(t->dtype) ? "tensors of type %s have their scales within" :
						    "elements of type %s are not quantised",
			   accel_dtype_name(t->dtype));
	t->quant.scheme = UMA_MIN(q->scheme, (uint32_t)ACCEL_QUANT_GROUP);
	t->quant.axis = q->axis;
	t->quant.group = q->group;
	if (q->scheme != ACCEL_QUANT_TENSOR)
		return check_tables(t, q, e);
	if (!isfinite(q->scale) || q->scale <= 0)
		return bad(e, -EINVAL, t->name, "quant.scale",
			   "%g is not finite and above 0", (double)q->scale);
	if (uma_dtype_limits(t->dtype, &lo, &hi) || q->zero < lo || q->zero > hi)
		return bad(e, -EINVAL, t->name, "quant.zero",
			   "%d is outside the range of %s", q->zero,
			   accel_dtype_name(t->dtype));
	t->quant.scale = q->scale;
	t->quant.zero = q->zero;
	return 0;
}

/* Everything but the quantisation. */
static int shape_init(struct operand *t, const struct accel_tensor *from,
		      uint32_t arg, const char *name, struct accel_error *e)
{
	bool dense = !(from->flags & ACCEL_TENSOR_STRIDES);
	uint32_t i;
	int ret;

	*t = (struct operand) { .arg = arg, .name = name, .from = from };
	if (!from->dtype || from->dtype >= ACCEL_DTYPE_COUNT)
		return bad(e, -EINVAL, name, "dtype",
			   "%u is not an element type", from->dtype);
	if (!from->rank)
		return bad(e, -EINVAL, name, "rank", "the tensor is missing");
	if (from->flags & ~TENSOR_FLAGS)
		return bad(e, -EINVAL, name, "flags", "unknown flags 0x%x",
			   from->flags & ~TENSOR_FLAGS);
	if (from->rank <= ACCEL_MAX_RANK && from->dynamic >> from->rank)
		return bad(e, -EINVAL, name, "dynamic", "0x%x: a tensor of rank %u has no such dimension",
			   from->dynamic, from->rank);
	if (!from->dynamic && from->length)
		return bad(e, -EINVAL, name, "length", "is set, but no dimension is dynamic");
	if (!from->dynamic && from->length_offset)
		return bad(e, -EINVAL, name, "length_offset",
			   "is set, but no dimension is dynamic");
	for (i = 0; i < sizeof(from->reserved) / sizeof(from->reserved[0]); i++)
		if (from->reserved[i])
			return bad_at(e, -EINVAL, name, "reserved", i,
				      "must be zero");
	ret = check_dims(from, name, e);
	if (ret)
		return ret;

	t->dtype = from->dtype;
	t->rank = from->rank;
	memcpy(t->dims, from->dims, sizeof(t->dims));
	memcpy(t->strides, from->strides, sizeof(t->strides));
	if (dense && dense_strides(t))
		return bad_at(e, -EINVAL, name, "dims", 0,
			      "the tensor does not fit into an address space");
	ret = operand_extent(t, e);
	if (ret)
		return ret;
	if (operand_empty(t))
		return 0;
	if (uma_is_block(t->dtype))
		return check_blocks(t, dense, e);
	return uma_is_int4(t->dtype) ? check_nibbles(t, dense, e) : 0;
}

/* Give an operand a dimension of 1: number @at, or behind the last. */
void operand_insert_dim(struct operand *t, uint32_t at)
{
	size_t tail = (t->rank - at) * sizeof(t->dims[0]);

	memmove(t->dims + at + 1, t->dims + at, tail);
	memmove(t->strides + at + 1, t->strides + at, tail);
	t->dims[at] = 1;
	t->strides[at] = 0;
	t->rank++;
	t->quant.axis += t->quant.scheme >= ACCEL_QUANT_CHANNEL && t->quant.axis >= at;
}

/* Compute the bytes that an operand takes again after its shape changed. */
int operand_extent(struct operand *t, struct accel_error *e)
{
	if (extent(t, &t->lo, &t->hi))
		return bad_at(e, -EINVAL, t->name, "dims", 0,
			      "the tensor does not fit into an address space");
	return 0;
}

int operand_init(struct operand *t, const struct accel_tensor *from,
		 uint32_t arg, const char *name, struct accel_error *e)
{
	int ret = shape_init(t, from, arg, name, e);

	return ret ? ret : check_quant(t, &from->quant, e);
}

int tensor_absent(const struct accel_tensor *t, const char *name,
		  struct accel_error *e)
{
	static const struct accel_tensor none;

	if (t->dtype || t->bo || t->offset || t->flags || t->dynamic || t->length ||
	    t->length_offset ||
	    t->quant.scheme ||
	    memcmp(t->dims, none.dims, sizeof(none.dims)) != 0 ||
	    memcmp(t->strides, none.strides, sizeof(none.strides)) != 0 ||
	    memcmp(t->reserved, none.reserved, sizeof(none.reserved)) != 0)
		return bad(e, -EINVAL, name, "rank",
			   "rank 0 means that there is no tensor, but other fields are set");
	return quant_unused(&t->quant, name, ACCEL_QUANT_NONE, e);
}

static uint64_t magnitude(int64_t v)
{
	return v < 0 ? -(uint64_t)v : (uint64_t)v;
}

/*
 * No two elements of an output may share memory. Dimensions have to nest: each
 * stride steps over all that lies within. That is what devices accept too.
 */
int operand_check_output(const struct operand *t, struct accel_error *e)
{
	uint32_t order[ACCEL_MAX_RANK], n = 0, i, j;
	uint64_t covered = 1;

	if (operand_empty(t))
		return 0;
	for (i = 0; i < t->rank; i++) {
		if (t->dims[i] < 2)
			continue;
		for (j = n++; j > 0 && magnitude(t->strides[order[j - 1]]) >
		     magnitude(t->strides[i]); j--)
			order[j] = order[j - 1];
		order[j] = i;
	}
	for (i = 0; i < n; i++) {
		uint64_t stride = magnitude(t->strides[order[i]]);

		if (stride < covered)
			return bad_at(e, -EINVAL, t->name, "strides", order[i],
				      "%lld: elements of the result overlap",
				      (long long)t->strides[order[i]]);
		covered += stride * (t->dims[order[i]] - 1);
	}
	return 0;
}

int accel_tensor_bytes(const struct accel_tensor *t, uint64_t *bytes)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct operand o;
	int64_t lo, hi;
	uint32_t i;

	if (!t || !bytes || !t->rank || t->rank > ACCEL_MAX_RANK || !t->dtype ||
	    t->dtype >= ACCEL_DTYPE_COUNT ||
	    (t->flags & ~TENSOR_FLAGS) || tensor_open(t) || check_dims(t, "t", &e))
		return -EINVAL;
	o = (struct operand) { .name = "t", .dtype = t->dtype, .rank = t->rank };
	memcpy(o.dims, t->dims, sizeof(o.dims));
	memcpy(o.strides, t->strides, sizeof(o.strides));
	if (!(t->flags & ACCEL_TENSOR_STRIDES) && dense_strides(&o))
		return -EOVERFLOW;
	for (i = 0; i < o.rank; i++)
		if (o.strides[i] < 0)
			return -EINVAL;
	if (extent(&o, &lo, &hi))
		return -EOVERFLOW;
	*bytes = hi;
	return 0;
}

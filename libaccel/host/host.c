// SPDX-License-Identifier: MIT
/*
 * Operations on the CPU: those that go element by element are here.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "host.h"

const struct host_tensor *host_arg(const struct host_tensor *t, uint32_t count, uint32_t arg)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		if (t[i].arg == arg)
			return &t[i];
	return NULL;
}

static bool known_act(const struct accel_epilogue *epi)
{
	return epi->act < ACCEL_ACT_COUNT;
}

/**
 * host_can - can the CPU do an operation?
 * @desc: descriptor
 *
 * Return: true if so, on tensors of whole bytes; copies read half bytes, too.
 */
bool host_can(const struct accel_desc *desc)
{
	switch (desc->op) {
	case ACCEL_OP_COPY:
	case ACCEL_OP_SELECT:
	case ACCEL_OP_CONCAT:
	case ACCEL_OP_GATHER:
	case ACCEL_OP_PAD:
	case ACCEL_OP_REDUCE:
	case ACCEL_OP_SCAN:
	case ACCEL_OP_SCATTER:
	case ACCEL_OP_TOPK:
	case ACCEL_OP_POOL:
		return true;
	case ACCEL_OP_CONV:
		return known_act(&((const struct accel_conv_desc *)desc)->epilogue);
	case ACCEL_OP_UNARY:
		return known_act(&((const struct accel_unary_desc *)desc)->epilogue);
	case ACCEL_OP_BINARY:
		return known_act(&((const struct accel_binary_desc *)desc)->epilogue);
	case ACCEL_OP_GEMM:
		return ((const struct accel_gemm_desc *)desc)->beta == 0 &&
		       known_act(&((const struct accel_gemm_desc *)desc)->epilogue);
	default:
		return false;
	}
}

/* Steps of an input along the dimensions of the result; what it has not is repeated. */
static void align(const struct host_tensor *t, const struct host_tensor *d, int64_t *steps)
{
	uint32_t i, skip = d->rank - t->rank;

	for (i = 0; i < d->rank; i++)
		steps[i] = i < skip || t->dims[i - skip] == 1 ? 0 : t->strides[i - skip];
}

static struct host_number element(const struct accel_desc *desc, struct host_number *in)
{
	switch (desc->op) {
	case ACCEL_OP_UNARY:
		return host_unary((const struct accel_unary_desc *)desc, in[0]);
	case ACCEL_OP_BINARY:
		return host_binary((const struct accel_binary_desc *)desc, in[0], in[1]);
	case ACCEL_OP_SELECT:
		return (in[0].real ? in[0].f != 0 : in[0].i != 0) ? in[1] : in[2];
	default:
		return in[0];
	}
}

/* Bits that an integer's type has not are gone, where other functions saturate. */
static struct host_number low_bits(uint32_t type, struct host_number n)
{
	switch (type) {
	case ACCEL_U8:
		n.i = (uint8_t)n.i;
		break;
	case ACCEL_S8:
		n.i = (int8_t)n.i;
		break;
	case ACCEL_HOST_U16:
		n.i = (uint16_t)n.i;
		break;
	case ACCEL_HOST_S16:
		n.i = (int16_t)n.i;
		break;
	case ACCEL_HOST_U32:
		n.i = (uint32_t)n.i;
		break;
	case ACCEL_S32:
		n.i = (int32_t)n.i;
		break;
	}
	return n;
}

static bool moves_bits(const struct accel_desc *desc)
{
	return desc->op == ACCEL_OP_UNARY ?
	       ((const struct accel_unary_desc *)desc)->func == ACCEL_UNARY_BIT_NOT :
	       desc->op == ACCEL_OP_BINARY &&
	       ((const struct accel_binary_desc *)desc)->func == ACCEL_BINARY_SHL;
}

/* Rows one behind the other, of as many elements as @d has */
static bool is_like(const struct host_tensor *t, const struct host_tensor *d)
{
	int64_t step = 1;
	uint32_t i;

	for (i = t->rank; i-- > 0; step *= t->dims[i])
		if (t->rank != d->rank || t->dims[i] != d->dims[i] ||
		    (t->dims[i] > 1 && (t->strides[i] != step || d->strides[i] != step)))
			return false;
	return t->rank == d->rank;
}

static float from_16(uint16_t h, bool half)
{
	uint32_t bits = (uint32_t)h << 16, sign = bits & 0x80000000;
	float f;

	if (half) {
		/* Exponents are 112 apart, those of subnormal numbers too. */
		bits = (h & 0x7fffu) << 13;
		memcpy(&f, &bits, sizeof(f));
		f *= 0x1p112f;
		memcpy(&bits, &f, sizeof(bits));
		bits = ((h & 0x7c00) == 0x7c00 ? 0x7f800000 : bits) | sign;
	}
	/* There is one kind of NaN, as elsewhere here. */
	if (half ? (h & 0x7fff) > 0x7c00 : (h & 0x7fff) > 0x7f80)
		bits = 0x7fc00000 | sign;
	memcpy(&f, &bits, sizeof(f));
	return f;
}

/* Weights are many: numbers of 16 bits that become F32 have a way of their own. */
static bool widened(const struct accel_desc *desc, const struct host_tensor *a,
		    const struct host_tensor *d)
{
	const char *from = a->data;
	char *to = d->data;
	int64_t i, n = 1;
	uint16_t h;
	float f;

	if (desc->op != ACCEL_OP_COPY || d->type != ACCEL_F32 || !is_like(a, d) ||
	    (a->type != ACCEL_F16 && a->type != ACCEL_BF16))
		return false;
	for (i = 0; i < d->rank; i++)
		n *= d->dims[i];
	for (i = 0; i < n; i++) {
		memcpy(&h, from + 2 * i, sizeof(h));
		f = from_16(h, a->type == ACCEL_F16);
		memcpy(to + 4 * i, &f, sizeof(f));
	}
	return true;
}

static int elementwise(const struct accel_desc *desc, const struct host_tensor *t, uint32_t count)
{
	const struct host_tensor *d = host_arg(t, count, ACCEL_ARG_D), *in[3];
	int64_t steps[4][ACCEL_GRAPH_MAX_RANK], at[ACCEL_GRAPH_MAX_RANK] = { 0 }, pos[4] = { 0 };
	struct host_number x[3] = { 0 }, y;
	bool bits = moves_bits(desc);
	uint32_t i, n;
	int k;

	if (!d)
		return -EINVAL;
	for (n = 0; n < 3; n++) {
		in[n] = host_arg(t, count, ACCEL_ARG_A + n);
		if (!in[n])
			break;
		if (in[n]->rank > d->rank)
			return -EINVAL;
		align(in[n], d, steps[n]);
	}
	memcpy(steps[3], d->strides, sizeof(steps[3]));
	for (i = 0; i < d->rank; i++)
		if (!d->dims[i])
			return 0;
	if (n == 1 && widened(desc, in[0], d))
		return 0;
	for (;;) {
		for (i = 0; i < n; i++)
			x[i] = host_get(in[i]->type, in[i]->data, pos[i]);
		y = element(desc, x);
		host_put(d->type, d->data, pos[3], bits && !y.real ? low_bits(d->type, y) : y);
		for (k = (int)d->rank - 1; k >= 0; k--) {
			at[k]++;
			for (i = 0; i < 4; i++)
				if (i < n || i == 3)
					pos[i] += steps[i][k];
			if (at[k] < d->dims[k])
				break;
			for (i = 0; i < 4; i++)
				if (i < n || i == 3)
					pos[i] -= steps[i][k] * at[k];
			at[k] = 0;
		}
		if (k < 0)
			return 0;
	}
}

/**
 * host_run - do an operation on the CPU
 * @desc: descriptor that host_can(); its tensors are not looked at
 * @t: tensors, their dimensions as the operation wants them
 * @count: number of tensors
 * @why: out: one sentence if it fails
 * @size: of @why
 *
 * Return: 0; -EINVAL tensors that do not fit; -EFAULT an index out of range.
 */
int host_run(const struct accel_desc *desc, const struct host_tensor *t, uint32_t count,
	     char *why, size_t size)
{
	uint32_t i;
	int ret;

	for (i = 0; i < count; i++)
		if (accel_type_bits(t[i].type) < 8 &&
		    (desc->op != ACCEL_OP_COPY || t[i].arg != ACCEL_ARG_A)) {
			snprintf(why, size, "the CPU reads no 4-bit numbers");
			return -EINVAL;
		}
	snprintf(why, size, "its tensors do not fit");
	switch (desc->op) {
	case ACCEL_OP_CONCAT:
		ret = host_concat((const struct accel_concat_desc *)desc, t, count);
		break;
	case ACCEL_OP_GATHER:
		ret = host_gather((const struct accel_gather_desc *)desc, t, count, why, size);
		break;
	case ACCEL_OP_REDUCE:
		ret = host_reduce((const struct accel_reduce_desc *)desc, t, count);
		break;
	case ACCEL_OP_SCAN:
		ret = host_scan((const struct accel_scan_desc *)desc, t, count);
		break;
	case ACCEL_OP_TOPK:
		ret = host_topk((const struct accel_topk_desc *)desc, t, count);
		break;
	case ACCEL_OP_PAD:
		ret = host_pad((const struct accel_pad_desc *)desc, t, count);
		break;
	case ACCEL_OP_SCATTER:
		ret = host_scatter((const struct accel_scatter_desc *)desc, t, count, why, size);
		break;
	case ACCEL_OP_GEMM:
		ret = host_gemm((const struct accel_gemm_desc *)desc, t, count);
		break;
	case ACCEL_OP_CONV:
		ret = host_conv((const struct accel_conv_desc *)desc, t, count);
		break;
	case ACCEL_OP_POOL:
		ret = host_pool((const struct accel_pool_desc *)desc, t, count);
		break;
	default:
		ret = elementwise(desc, t, count);
	}
	return ret;
}

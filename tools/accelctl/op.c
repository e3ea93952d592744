// SPDX-License-Identifier: MIT
/*
 * See op.h.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gemm.h"
#include "op.h"

/* Most elements of an input, so that no product of sizes overflows */
#define MAX_ELEMENTS	(1ll << 40)

/* --- names --- */

/* Functions of the library's families, by the place of the family in op_kinds */
static const char *family_name(uint32_t family, uint32_t func)
{
	if (family == 0)
		return accel_unary_name(func);
	if (family == 1)
		return accel_binary_name(func);
	return func < ACCEL_ACT_COUNT ? ctl_act_names[func] : NULL;
}

/* One spelling: with hyphens */
static void spell(const char *name, char buf[32])
{
	size_t i;

	for (i = 0; name[i] && i < 31; i++)
		buf[i] = name[i] == '_' ? '-' : name[i];
	buf[i] = 0;
}

static const struct op_kind *kind_at(uint32_t index, uint32_t *func, char buf[32])
{
	const struct op_kind *kind;

	for (kind = op_kinds; kind->build; kind++) {
		*func = kind->func;
		if (kind->name) {
			if (index--)
				continue;
			spell(kind->name, buf);
			return kind;
		}
		/* The first unary function and the first activation are none */
		for (*func = kind->func != 1; family_name(kind->func, *func); ++*func)
			if (!index--) {
				spell(family_name(kind->func, *func), buf);
				return kind;
			}
	}
	return NULL;
}

const char *op_name(uint32_t index, char buf[32])
{
	uint32_t func;

	return kind_at(index, &func, buf) ? buf : NULL;
}

static int find(struct ctl *ctl, const char *name, struct op *op)
{
	char wanted[32];
	uint32_t i;

	if (!name)
		return ctl_fail(ctl, CTL_USAGE, 0, "NAME",
				"is needed: an operation, see accelctl help run");
	spell(name, wanted);
	for (i = 0; (op->kind = kind_at(i, &op->func, op->name)); i++)
		if (!strcmp(op->name, wanted))
			return CTL_OK;
	return ctl_fail(ctl, CTL_USAGE, 0, name, "no such operation, see accelctl help run");
}

/* --- options --- */

static bool is_given(const struct ctl_opt *opt, const struct op_opts *o)
{
	const char *p = (const char *)o + opt->offset;

	switch (opt->kind) {
	case CTL_INTS:
		return ((const struct ctl_ints *)p)->count;
	case CTL_UINT:
		return *(const uint64_t *)p != UINT64_MAX;
	case CTL_REAL:
		return !isnan(*(const double *)p);
	case CTL_CHOICE:
		return *(const uint32_t *)p != UINT32_MAX;
	default:
		return *(const uint32_t *)p;
	}
}

/* Options of other operations are no options of this one */
static int check_params(struct ctl *ctl, const struct op *op)
{
	char option[32];
	uint32_t i;

	for (i = 0; i < OP_PARAMS; i++) {
		if ((op->kind->params & 1u << i) || !is_given(&op_params[i], op->opts))
			continue;
		snprintf(option, sizeof(option), "--%s", op_params[i].name);
		return ctl_fail(ctl, CTL_USAGE, 0, option, "%s has no such parameter", op->name);
	}
	if (!isnan(op->opts->scale) && !(op->opts->scale > 0))
		return ctl_fail(ctl, CTL_USAGE, 0, "--scale", "has to be larger than 0");
	return CTL_OK;
}

/* --- inputs --- */

/* Nothing but digits and x: no name of a file, unless it is written as ./4x16 */
static bool is_shape(const char *text)
{
	return *text >= '0' && *text <= '9' && !text[strspn(text, "0123456789x")];
}

static int parse_shape(struct ctl *ctl, struct op_input *in)
{
	const char *p = in->text;
	char *end;

	for (in->rank = 0; in->rank < ACCEL_MAX_RANK; p = end + 1) {
		errno = 0;
		in->dims[in->rank++] = strtoll(p, &end, 10);
		if (errno || end == p)
			break;
		if (!*end)
			return CTL_OK;
	}
	return ctl_fail(ctl, CTL_USAGE, 0, "--in", "'%s' is no shape of 1 to %d dimensions",
			in->text, ACCEL_MAX_RANK);
}

static int read_file(struct ctl *ctl, struct op_input *in)
{
	char error[NPY_ERROR];
	int ret = npy_load(in->text, &in->file, error);
	uint32_t i;

	if (ret)
		return ctl_fail(ctl, ret == -EACCES ? CTL_PERMISSION : CTL_FAILED, ret, "--in",
				"%s: %s", in->text, error);
	if (in->file.rank > ACCEL_MAX_RANK)
		return ctl_fail(ctl, CTL_USAGE, 0, "--in", "%s: has %u dimensions, more than %d",
				in->text, in->file.rank, ACCEL_MAX_RANK);
	/* A number by itself is a vector of one */
	in->rank = in->file.rank ? in->file.rank : 1;
	in->dims[0] = 1;
	for (i = 0; i < in->file.rank; i++)
		in->dims[i] = in->file.dims[i] <= INT32_MAX ? (int64_t)in->file.dims[i] : -1;
	return CTL_OK;
}

static int check_size(struct ctl *ctl, const struct op_input *in)
{
	int64_t n = 1;
	uint32_t i;

	for (i = 0; i < in->rank; i++)
		if (in->dims[i] < 0 || in->dims[i] > INT32_MAX ||
		    __builtin_mul_overflow(n, in->dims[i] ? in->dims[i] : 1, &n) ||
		    n > MAX_ELEMENTS)
			return ctl_fail(ctl, CTL_USAGE, 0, "--in", "%s: is too large", in->text);
	return CTL_OK;
}

static bool is_whole(const struct npy *npy)
{
	return npy->kind == 'i' || npy->kind == 'u';
}

static uint32_t file_dtype(const struct npy *npy)
{
	if (npy->kind == 'V')
		return ACCEL_BF16;
	if (npy->kind == 'f')
		return npy->itemsize == 2 ? ACCEL_F16 : ACCEL_F32;
	if (npy->itemsize == 1)
		return npy->kind == 'u' ? ACCEL_U8 : ACCEL_S8;
	return ACCEL_S32;
}

/* A file is to have numbers of the type; only precision may be lost */
static int check_type(struct ctl *ctl, const struct op_input *in)
{
	bool whole = in->dtype > ACCEL_BF16;
	char type[8];
	uint64_t i;
	double v;

	if (!in->file.data || !whole)
		return CTL_OK;
	if (!is_whole(&in->file))
		return ctl_fail(ctl, CTL_USAGE, 0, "--in", "%s: type %s, %s takes whole numbers",
				in->text, npy_type(&in->file, type), accel_dtype_name(in->dtype));
	for (i = 0; i < in->file.count; i++) {
		v = npy_get(&in->file, i, false);
		if (v != value_round(in->dtype, v))
			return ctl_fail(ctl, CTL_FAILED, 0, "--in",
					"%s: element %llu, %.0f, does not fit into %s", in->text,
					(unsigned long long)i, v, accel_dtype_name(in->dtype));
	}
	return CTL_OK;
}

static uint32_t role_dtype(const struct op *op, const struct op_input *in)
{
	switch (in->role) {
	case OP_DATA:
		return op->dtype;
	case OP_INDEX:
		return ACCEL_S32;
	case OP_CONDITION:
		return in->file.data ? file_dtype(&in->file) : ACCEL_U8;
	default:
		return ACCEL_F32;
	}
}

static int read_inputs(struct ctl *ctl, struct op *op)
{
	const struct ctl_strings *list = &op->opts->in;
	uint32_t i;
	int ret;

	if (list->count < op->kind->inputs || list->count > op->kind->more)
		return ctl_fail(ctl, CTL_USAGE, 0, "--in", "%s takes %u%s%.0u inputs, not %u",
				op->name, op->kind->inputs,
				op->kind->more > op->kind->inputs ? " to " : "",
				op->kind->more > op->kind->inputs ? op->kind->more : 0,
				list->count);
	op->dtype = op->opts->dtype;
	for (i = 0; i < list->count; i++) {
		struct op_input *in = &op->in[i];

		in->text = list->v[i];
		in->role = op->kind->roles[i];
		op->inputs++;
		ret = is_shape(in->text) ? parse_shape(ctl, in) : read_file(ctl, in);
		if (!ret)
			ret = check_size(ctl, in);
		if (ret)
			return ret;
		if (!op->dtype && in->role == OP_DATA && in->file.data)
			op->dtype = file_dtype(&in->file);
	}
	if (!op->dtype)
		op->dtype = ACCEL_F32;
	for (i = 0; i < op->inputs; i++) {
		op->in[i].dtype = role_dtype(op, &op->in[i]);
		ret = check_type(ctl, &op->in[i]);
		if (ret)
			return ret;
	}
	return CTL_OK;
}

/* --- descriptor --- */

static uint64_t count(const struct accel_tensor *t)
{
	uint64_t n = 1;
	uint32_t i;

	for (i = 0; i < t->rank; i++)
		n *= (uint64_t)t->dims[i];
	return n;
}

static int measure(struct ctl *ctl, struct op_tensor *tensor)
{
	const struct accel_tensor *t = tensor->t;
	uint64_t n = accel_dtype_bits(t->dtype) / 8;
	uint32_t i;

	for (i = 0; i < t->rank; i++)
		if (t->dims[i] && (__builtin_mul_overflow(n, (uint64_t)t->dims[i], &n) ||
				   n > SIZE_MAX / 16))
			return ctl_fail(ctl, CTL_USAGE, 0, tensor->input ? "--in" : "the result",
					"is too large");
	/* A buffer has a byte, if a tensor has none */
	tensor->bytes = count(t) ? n : 1;
	return CTL_OK;
}

int op_init(struct ctl *ctl, const char *name, const struct op_opts *opts, struct op *op)
{
	uint32_t i;
	int ret;

	memset(op, 0, sizeof(*op));
	op->ctl = ctl;
	op->opts = opts;
	op->out_dtype = opts->out_dtype;
	ret = find(ctl, name, op);
	if (!ret)
		ret = check_params(ctl, op);
	if (!ret)
		ret = read_inputs(ctl, op);
	if (!ret)
		ret = op->kind->build(op);
	if (!ret && opts->out.count > op->results)
		ret = ctl_fail(ctl, CTL_USAGE, 0, "--out", "%s has %u result%s", op->name,
			       op->results, op->results > 1 ? "s" : "");
	for (i = 0; i < op->count && !ret; i++)
		ret = measure(ctl, &op->tensors[i]);
	op->desc.hdr.engine = opts->engine;
	return ret;
}

/* --- data --- */

static double random_value(const struct op *op, uint32_t stream, const struct op_input *in,
			   uint64_t i)
{
	uint64_t bits = value_random(op->opts->seed, stream, i);
	int64_t limit;

	switch (in->role) {
	case OP_INDEX:
		limit = in->limit_count ? in->limits[i % in->limit_count] : 0;
		return limit > 0 ? (double)(bits % (uint64_t)limit) : 0;
	case OP_CONDITION:
		return (double)(bits >> 63);
	case OP_POSITIVE:
		return (double)(bits >> 11) / 0x1p53;
	default:
		break;
	}
	switch (in->dtype) {
	case ACCEL_S8:
		return (double)(bits >> 56) - 128;
	case ACCEL_U8:
		return (double)(bits >> 56);
	case ACCEL_S32:
		return (double)(bits >> 48) - 32768;
	default:
		return 2 * ((double)(bits >> 11) / 0x1p53) - 1;
	}
}

void op_fill(const struct op *op)
{
	uint32_t i;

	for (i = 0; i < op->count; i++) {
		const struct op_tensor *t = &op->tensors[i];
		const struct op_input *in = t->input;
		uint64_t n, elements;

		if (!in)
			continue;
		elements = count(t->t);
		for (n = 0; n < elements; n++)
			value_put(in->dtype, accel_bo_ptr(t->bo), n, in->file.data ?
				  npy_get(&in->file, n, in->dtype == ACCEL_BF16) :
				  random_value(op, (uint32_t)(in - op->in) + 1, in, n));
	}
}

void op_fini(struct op *op)
{
	uint32_t i;

	for (i = 0; i < op->count; i++)
		accel_bo_unref(op->tensors[i].bo);
	for (i = 0; i < op->inputs; i++)
		npy_free(&op->in[i].file);
}

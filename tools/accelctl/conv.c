// SPDX-License-Identifier: MIT
/*
 * Sizes, data and reference of a convolution.
 *
 * A picture is a batch of one, its channels run fastest, and its edge is repeated
 * so that the result has its size. Integer pictures are bytes with a scale of 1,
 * and filters bytes with a scale, so the device rounds once, at the end.
 */
#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "conv.h"
#include "gemm.h"
#include "interrupt.h"
#include "libaccel/tests/oracle/oracle.h"

const char *const conv_kind_names[] = { "fp32", "fp16", "bf16", "int8", NULL };
const char *const conv_filter_names[] = { "none", "blur", "sharpen", "edge", NULL };
const char *const conv_algorithm_names[] = { "auto", "direct", "implicit", "gemm", NULL };

static const uint32_t kind_dtypes[] = { ACCEL_F32, ACCEL_F16, ACCEL_BF16, ACCEL_S8 };

/* Streams of random numbers */
enum { STREAM_A = 1, STREAM_B = 2 };

/* Weights as integers, and their divisor */
static const struct {
	int size;
	double divisor;
	signed char w[25];
} filters[CONV_FILTERS] = {
	[CONV_FILTER_BLUR] = { 5, 256, {
		1, 4, 6, 4, 1, 4, 16, 24, 16, 4, 6, 24, 36, 24, 6, 4, 16, 24, 16, 4, 1, 4, 6, 4, 1
	} },
	[CONV_FILTER_SHARPEN] = { 3, 1, { 0, -1, 0, -1, 5, -1, 0, -1, 0 } },
	[CONV_FILTER_EDGE] = { 3, 1, { -1, -1, -1, -1, 8, -1, -1, -1, -1 } },
};

static bool is_png(const char *path)
{
	size_t len = path ? strlen(path) : 0;

	return len > 4 && !strcmp(path + len - 4, ".png");
}

static int load_picture(struct ctl *ctl, struct conv *c)
{
	char error[NPY_ERROR];
	int ret = picture_load(c->opts->a, false, &c->picture, error, sizeof(error));

	if (ret)
		return ctl_fail(ctl, ret == -EACCES ? CTL_PERMISSION : CTL_FAILED, ret, "--a",
				"%s: %s", c->opts->a, error);
	return CTL_OK;
}

/* Four dimensions of a file; fewer are the last of them */
static int load(struct ctl *ctl, const char *option, const char *path, struct npy *npy,
		int64_t dims[4])
{
	char error[NPY_ERROR];
	int ret = npy_load(path, npy, error);
	uint32_t i;

	if (ret)
		return ctl_fail(ctl, ret == -EACCES ? CTL_PERMISSION : CTL_FAILED, ret, option,
				"%s: %s", path, error);
	if (npy->rank < 2 || npy->rank > 4)
		return ctl_fail(ctl, CTL_USAGE, 0, option, "%s: has %u dimensions, not 2 to 4",
				path, npy->rank);
	for (i = 0; i < 4; i++) {
		uint64_t dim = i + npy->rank < 4 ? 1 : npy->dims[i + npy->rank - 4];

		if (dim < 1 || dim > INT32_MAX)
			return ctl_fail(ctl, CTL_USAGE, 0, option,
					"%s: a dimension of %llu is empty or too large", path,
					(unsigned long long)dim);
		dims[i] = (int64_t)dim;
	}
	return CTL_OK;
}

/* Bytes can only come from integers in the range of a byte */
static int check_type(struct ctl *ctl, const char *option, const char *path,
		      const struct npy *npy, uint32_t dtype)
{
	char type[8];
	uint64_t i;

	if (!npy->data || dtype != ACCEL_S8)
		return CTL_OK;
	if (npy->kind != 'i' && npy->kind != 'u')
		return ctl_fail(ctl, CTL_USAGE, 0, option, "%s: type %s, int8 takes whole numbers",
				path, npy_type(npy, type));
	for (i = 0; i < npy->count; i++)
		if (npy_get(npy, i, false) != value_round(dtype, npy_get(npy, i, false)))
			return ctl_fail(ctl, CTL_FAILED, 0, option,
					"%s: element %llu is not from -128 to 127", path,
					(unsigned long long)i);
	return CTL_OK;
}

static int measure(struct ctl *ctl, const char *what, struct conv_tensor *t)
{
	uint64_t n = accel_dtype_bits(t->dtype) / 8;
	int i;

	for (i = 0; i < 4; i++)
		if (__builtin_mul_overflow(n, (uint64_t)t->dims[i], &n) || n > SIZE_MAX / 16)
			return ctl_fail(ctl, CTL_USAGE, 0, what, "is too large");
	t->bytes = n;
	return CTL_OK;
}

static int settle_input(struct ctl *ctl, struct conv *c, int64_t *groups)
{
	const struct conv_opts *o = c->opts;
	int64_t *a = c->a.dims;

	a[0] = (int64_t)o->batch;
	a[1] = (int64_t)o->channels;
	a[2] = (int64_t)o->height;
	a[3] = (int64_t)o->width;
	*groups = (int64_t)o->groups;
	if (is_png(o->a)) {
		int ret = load_picture(ctl, c);

		if (ret)
			return ret;
		a[0] = 1;
		a[1] = c->picture.channels;
		a[2] = c->picture.height;
		a[3] = c->picture.width;
		c->a.last = c->d.last = true;
		return CTL_OK;
	}
	return o->a ? load(ctl, "--a", o->a, &c->file_a, a) : CTL_OK;
}

static int settle_weights(struct ctl *ctl, struct conv *c, int64_t *groups)
{
	const struct conv_opts *o = c->opts;
	int64_t *b = c->b.dims;
	int ret;

	if (o->filter && o->b)
		return ctl_fail(ctl, CTL_USAGE, 0, "--b", "does not go with --filter");
	if (o->b) {
		ret = load(ctl, "--b", o->b, &c->file_b, b);
		if (ret)
			return ret;
		/* A single filter for every channel */
		if (c->file_b.rank == 2) {
			*groups = b[0] = c->a.dims[1];
			b[1] = 1;
		}
	} else if (o->filter) {
		*groups = b[0] = c->a.dims[1];
		b[1] = 1;
		b[2] = b[3] = filters[o->filter].size;
	} else {
		b[0] = (int64_t)o->filters;
		b[1] = *groups > 0 ? c->a.dims[1] / *groups : 0;
		b[2] = b[3] = (int64_t)o->size;
	}
	if (b[1] < 1 || b[1] * *groups != c->a.dims[1] || b[0] % *groups)
		return ctl_fail(ctl, CTL_USAGE, 0, "--groups",
				"%lld groups of %lld channels and %lld filters do not go together",
				(long long)*groups, (long long)c->a.dims[1], (long long)b[0]);
	return CTL_OK;
}

int conv_init(struct ctl *ctl, const struct conv_opts *opts, struct conv *c)
{
	bool integer = opts->dtype == 3;
	int64_t groups, room;
	int ret, i;

	memset(c, 0, sizeof(*c));
	c->opts = opts;
	c->weight_scale = 1;
	ret = settle_input(ctl, c, &groups);
	if (!ret)
		ret = settle_weights(ctl, c, &groups);
	if (ret)
		return ret;
	c->desc.groups = (uint32_t)groups;
	c->a.dtype = integer && c->picture.data ? (uint32_t)ACCEL_U8 : kind_dtypes[opts->dtype];
	c->b.dtype = kind_dtypes[opts->dtype];
	c->d.dtype = !integer ? kind_dtypes[opts->dtype] :
		     c->picture.data ? (uint32_t)ACCEL_U8 : (uint32_t)ACCEL_S32;
	if (check_type(ctl, "--a", opts->a, &c->file_a, c->a.dtype) ||
	    check_type(ctl, "--b", opts->b, &c->file_b, c->b.dtype))
		return CTL_USAGE;
	if (integer && c->picture.data && opts->filter)
		c->weight_scale = 1 / filters[opts->filter].divisor;
	c->d.dims[0] = c->a.dims[0];
	c->d.dims[1] = c->b.dims[0];
	for (i = 2; i < 4; i++) {
		int64_t extent = (int64_t)opts->dilation * (c->b.dims[i] - 1);

		/* The edge of a picture is repeated in the buffer */
		if (c->picture.data && !opts->pad)
			c->a.dims[i] += extent;
		room = c->a.dims[i] + 2 * (int64_t)opts->pad - extent - 1;
		if (room < 0)
			return ctl_fail(ctl, CTL_USAGE, 0, "--size",
					"a window of %" PRId64 " is larger than the input and its padding",
					extent + 1);
		c->d.dims[i] = room / (int64_t)opts->stride + 1;
	}
	if (measure(ctl, "A", &c->a) || measure(ctl, "B", &c->b) || measure(ctl, "D", &c->d))
		return CTL_USAGE;
	return CTL_OK;
}

uint64_t conv_at(const struct conv_tensor *t, int64_t n, int64_t c, int64_t y, int64_t x)
{
	if (t->last)
		return (uint64_t)(((n * t->dims[2] + y) * t->dims[3] + x) * t->dims[1] + c);
	return (uint64_t)(((n * t->dims[1] + c) * t->dims[2] + y) * t->dims[3] + x);
}

static struct accel_tensor tensor(const struct conv_tensor *t, double scale)
{
	const int64_t nhwc[] = { t->dims[0], t->dims[2], t->dims[3], t->dims[1] };
	struct accel_tensor d = accel_tensor_dense(t->bo, t->dtype, 4, t->last ? nhwc : t->dims);

	if (scale != 0 && (t->dtype == ACCEL_S8 || t->dtype == ACCEL_U8)) {
		d.quant.scheme = ACCEL_QUANT_TENSOR;
		d.quant.scale = (float)scale;
	}
	return d;
}

void conv_describe(struct conv *c)
{
	const struct conv_opts *o = c->opts;
	/* Sums of plain integers are exact, without scales */
	double scale = c->picture.data ? 1 : 0;
	uint32_t groups = c->desc.groups, i;

	c->desc = (struct accel_conv_desc)ACCEL_CONV_DESC_INIT;
	c->desc.hdr.engine = o->engine;
	c->desc.flags = c->a.last ? ACCEL_CONV_NHWC : 0;
	c->desc.algorithm = o->algorithm;
	c->desc.groups = groups;
	for (i = 0; i < 2; i++) {
		c->desc.stride[i] = (uint32_t)o->stride;
		c->desc.dilation[i] = (uint32_t)o->dilation;
		c->desc.pad_before[i] = c->desc.pad_after[i] = (uint32_t)o->pad;
	}
	c->desc.a = tensor(&c->a, scale);
	c->desc.b = tensor(&c->b, scale * c->weight_scale);
	c->desc.d = tensor(&c->d, scale);
}

/* --- data --- */

static int64_t clamp(int64_t v, int64_t max)
{
	return v < 0 ? 0 : v > max ? max : v;
}

static double random_value(const struct conv *c, uint32_t stream, uint32_t dtype, uint64_t i)
{
	uint64_t bits = value_random(c->opts->seed, stream, i);

	if (dtype == ACCEL_S8 || dtype == ACCEL_U8)
		return (double)(bits >> 56) - (dtype == ACCEL_S8 ? 128 : 0);
	return 2 * ((double)(bits >> 11) / 0x1p53) - 1;
}

static double input_value(const struct conv *c, int64_t n, int64_t ch, int64_t y, int64_t x)
{
	const struct picture *p = &c->picture;
	struct conv_tensor plain = c->a;
	int64_t dy, dx;

	plain.last = false;
	if (!p->data) {
		uint64_t at = conv_at(&plain, n, ch, y, x);

		return c->file_a.data ? npy_get(&c->file_a, at, c->a.dtype == ACCEL_BF16) :
					random_value(c, STREAM_A, c->a.dtype, at);
	}
	dy = (c->a.dims[2] - p->height) / 2;
	dx = (c->a.dims[3] - p->width) / 2;
	y = clamp(y - dy, (int64_t)p->height - 1);
	x = clamp(x - dx, (int64_t)p->width - 1);
	return p->data[((uint64_t)y * p->width + (uint64_t)x) * p->channels + (uint64_t)ch];
}

static double weight_value(const struct conv *c, int64_t m, int64_t ch, int64_t y, int64_t x)
{
	const struct conv_opts *o = c->opts;
	uint64_t at = conv_at(&c->b, m, ch, y, x);

	if (o->filter) {
		double w = filters[o->filter].w[y * c->b.dims[3] + x];

		/* Integers have the divisor as their scale */
		return c->b.dtype == ACCEL_S8 ? w : w / filters[o->filter].divisor;
	}
	if (!c->file_b.data)
		return random_value(c, STREAM_B, c->b.dtype, at);
	if (c->file_b.rank == 2)
		at %= (uint64_t)(c->b.dims[2] * c->b.dims[3]);
	return npy_get(&c->file_b, at, c->b.dtype == ACCEL_BF16);
}

static void fill(const struct conv *c, const struct conv_tensor *t,
		 double (*value)(const struct conv *, int64_t, int64_t, int64_t, int64_t))
{
	int64_t n, ch, y, x;

	for (n = 0; n < t->dims[0]; n++)
		for (ch = 0; ch < t->dims[1]; ch++)
			for (y = 0; y < t->dims[2]; y++)
				for (x = 0; x < t->dims[3]; x++)
					value_put(t->dtype, accel_bo_ptr(t->bo),
						  conv_at(t, n, ch, y, x), value(c, n, ch, y, x));
}

void conv_fill(struct conv *c)
{
	fill(c, &c->a, input_value);
	fill(c, &c->b, weight_value);
}

void conv_fini(struct conv *c)
{
	accel_bo_unref(c->a.bo);
	accel_bo_unref(c->b.bo);
	accel_bo_unref(c->d.bo);
	picture_free(&c->picture);
	npy_free(&c->file_a);
	npy_free(&c->file_b);
}

/* --- reference --- */

static double element(const struct conv *c, int64_t n, int64_t m, int64_t y, int64_t x,
		      double *terms)
{
	const struct conv_opts *o = c->opts;
	int64_t first = m / (c->b.dims[0] / c->desc.groups) * c->b.dims[1], ch, i, j;
	double sum = 0;

	*terms = 0;
	for (ch = 0; ch < c->b.dims[1]; ch++)
		for (i = 0; i < c->b.dims[2]; i++)
			for (j = 0; j < c->b.dims[3]; j++) {
				int64_t ay = y * (int64_t)o->stride - (int64_t)o->pad +
					     i * (int64_t)o->dilation;
				int64_t ax = x * (int64_t)o->stride - (int64_t)o->pad +
					     j * (int64_t)o->dilation;
				double p;

				if (ay < 0 || ay >= c->a.dims[2] || ax < 0 || ax >= c->a.dims[3])
					continue;
				p = value_get(c->a.dtype, accel_bo_ptr(c->a.bo),
					      conv_at(&c->a, n, first + ch, ay, ax)) *
				    value_get(c->b.dtype, accel_bo_ptr(c->b.bo),
					      conv_at(&c->b, m, ch, i, j)) * c->weight_scale;
				sum += p;
				*terms += fabs(p);
			}
	return sum;
}

/* As for a matrix product: K + 8 roundings of binary32, and that of the result's type */
static void judge(const struct conv *c, double got, double ref, double terms,
		  struct conv_verdict *v)
{
	double k = (double)(c->b.dims[1] * c->b.dims[2] * c->b.dims[3]);
	double bound = (k + 8) * fmax(terms, FLT_MIN) / 0x1p24, want, err;
	double limit = value_max(c->d.dtype);

	want = value_round(c->d.dtype, ref);
	if (c->d.dtype == ACCEL_S32) {
		bound = 0;
	} else if (c->d.dtype == ACCEL_U8) {
		bound += 0.5;
		ref = fmin(fmax(ref, 0), 255);
	} else {
		bound += fabs(ref) * (c->d.dtype == ACCEL_F16 ? 1 / 0x1p11 :
				      c->d.dtype == ACCEL_BF16 ? 1 / 0x1p8 : 0);
	}
	if (c->d.dtype == ACCEL_S32 || !isfinite(ref))
		err = oracle_apart(got, want);
	else if (c->d.dtype == ACCEL_U8 || fabs(ref) + bound < limit)
		err = oracle_apart(got, ref);
	else	/* Infinity matches anything beyond the largest number; NaN matches nothing */
		err = oracle_apart(fabs(got) > limit ? copysign(limit, got) : got,
				   copysign(fmin(fabs(ref), limit), ref));
	v->differing += oracle_apart(got, want) > 0;
	/* Rounding to a byte is not an error */
	if (c->d.dtype != ACCEL_U8)
		v->max_abs = fmax(v->max_abs, err);
	else
		v->max_abs = fmax(v->max_abs, oracle_apart(got, want));
	err = err == 0 ? 0 : bound > 0 && isfinite(err) ? err / bound : INFINITY;
	if (err > v->ratio) {
		v->ratio = err;
		v->got = got;
		v->want = want;
	}
}

int conv_check(const struct conv *c, struct conv_verdict *v)
{
	int64_t n, m, y, x;
	double terms, ref;

	*v = (struct conv_verdict){ 0 };
	for (n = 0; n < c->d.dims[0]; n++)
		for (m = 0; m < c->d.dims[1]; m++)
			for (y = 0; y < c->d.dims[2]; y++) {
				if (ctl_interrupted())
					return -EINTR;
				for (x = 0; x < c->d.dims[3]; x++) {
					ref = element(c, n, m, y, x, &terms);
					judge(c, value_get(c->d.dtype, accel_bo_ptr(c->d.bo),
							   conv_at(&c->d, n, m, y, x)),
					      ref, terms, v);
				}
			}
	return 0;
}

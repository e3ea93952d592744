// SPDX-License-Identifier: MIT
/*
 * Results from what they are made of: the types and dimensions that a caller left out.
 *
 * Nothing here decides whether operands go together: what comes out is checked by the
 * operation's own rules afterwards, as when a plan is made, so that neither can say
 * something that the other does not. Inputs that are no tensors at all are found here.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "libaccel/core/fpmode.h"
#include "ops.h"

/* A plain tensor of a type without dimensions. */
static struct accel_tensor typed(uint32_t dtype)
{
	return (struct accel_tensor) { .dtype = dtype };
}

/* Dimensions of an operand for a result. */
static void take_dims(struct accel_tensor *to, const struct operand *t)
{
	to->rank = t->rank;
	memcpy(to->dims, t->dims, sizeof(to->dims));
}

/*
 * What elements are that are moved: the type of @t, and the quantisation of a tensor
 * that has one scale; tables cannot be invented, so their values are F32. @bytes: at
 * least 8 bits.
 */
static struct accel_tensor moved(const struct operand *t, bool bytes)
{
	struct accel_tensor to = typed(t->dtype);

	take_dims(&to, t);
	if (t->quant.scheme > ACCEL_QUANT_TENSOR)
		to.dtype = ACCEL_F32;
	if (t->quant.scheme == ACCEL_QUANT_TENSOR) {
		to.quant.scheme = ACCEL_QUANT_TENSOR;
		to.quant.scale = t->quant.scale;
		to.quant.zero = t->quant.zero;
	}
	if (bytes && uma_is_int4(to.dtype))
		to.dtype = to.dtype == ACCEL_S4 ? ACCEL_S8 : ACCEL_U8;
	return to;
}

/* What is computed of quantised integers is F32; of other numbers their type. */
static uint32_t computed(const struct operand *t)
{
	return t->quant.scheme ? (uint32_t)ACCEL_F32 : t->dtype;
}

/* Functions that leave the integers. */
static uint32_t real(const struct operand *t)
{
	return uma_is_float(t->dtype) ? t->dtype : (uint32_t)ACCEL_F32;
}

/* Sums of integers. */
static uint32_t summed(const struct operand *t)
{
	return uma_is_float(t->dtype) || t->quant.scheme ? real(t) : (uint32_t)ACCEL_S32;
}

/* Of two operands. */
static uint32_t common(const struct operand *a, const struct operand *b)
{
	return a->dtype == b->dtype && !b->quant.scheme ? computed(a) : (uint32_t)ACCEL_F32;
}

/* Products of A by B. */
static uint32_t product(const struct operand *a, const struct operand *b)
{
	if (uma_is_float(a->dtype))
		return a->dtype;
	return a->quant.scheme || b->quant.scheme ? ACCEL_F32 : ACCEL_S32;
}

/*
 * What the caller left out of a result: its type and then its quantisation, its
 * rank and then all dimensions, or single ones.
 */
static void fill_in(struct accel_tensor *t, const struct accel_tensor *want)
{
	uint32_t i;

	if (!t->dtype) {
		t->dtype = want->dtype;
		if (!t->quant.scheme)
			t->quant = want->quant;
	}
	if (!t->rank) {
		t->rank = want->rank;
		memcpy(t->dims, want->dims, sizeof(t->dims));
	}
	for (i = 0; i < ACCEL_MAX_RANK && i < want->rank; i++)
		if (i < t->rank && t->dims[i] == ACCEL_DIM_INFER)
			t->dims[i] = want->dims[i];
}

/* The last dimensions of @to but for @fixed, wider where @t is, as numpy has it. */
static void widen(struct accel_tensor *to, const struct operand *t, uint32_t fixed)
{
	uint32_t i, grow;

	if (t->rank > to->rank) {
		grow = t->rank - to->rank;
		memmove(to->dims + grow, to->dims, to->rank * sizeof(to->dims[0]));
		for (i = 0; i < grow; i++)
			to->dims[i] = 1;
		to->rank = t->rank;
	}
	for (i = fixed + 1; i <= t->rank; i++)
		if (to->dims[to->rank - i] == 1)
			to->dims[to->rank - i] = t->dims[t->rank - i];
}

static int rank_above(const char *name, uint32_t rank, struct accel_error *e)
{
	return bad(e, -EINVAL, name, "rank", "rank %u, but a tensor has at most %d dimensions",
		   rank, ACCEL_MAX_RANK);
}

/* Results with the dimensions of A. */
static int like_a(struct operand *a, const struct accel_tensor *from, const char *name,
		  struct accel_tensor *want, struct accel_error *e)
{
	int ret = operand_init(a, from, ACCEL_ARG_A, name, e);

	if (!ret)
		*want = moved(a, false);
	return ret;
}

/* The same, computed: without A's quantisation. */
static void compute(struct accel_tensor *want, uint32_t dtype)
{
	want->dtype = dtype;
	memset(&want->quant, 0, sizeof(want->quant));
}

/* --- elementwise ----------------------------------------------------------------- */

int infer_copy(union any_desc *d, struct accel_error *e)
{
	struct accel_tensor want;
	struct operand a;
	int ret = like_a(&a, &d->copy.a, "copy.a", &want, e);

	if (!ret)
		fill_in(&d->copy.d, &want);
	return ret;
}

int infer_unary(union any_desc *d, struct accel_error *e)
{
	uint32_t func = d->unary.func;
	struct accel_tensor want;
	struct operand a;
	int ret = like_a(&a, &d->unary.a, "unary.a", &want, e);

	if (ret)
		return ret;
	compute(&want, func >= ACCEL_UNARY_IS_NAN && func <= ACCEL_UNARY_NOT ?
		(uint32_t)ACCEL_U8 : computed(&a));
	fill_in(&d->unary.d, &want);
	return 0;
}

int infer_binary(union any_desc *d, struct accel_error *e)
{
	uint32_t func = d->binary.func;
	struct accel_tensor want;
	struct operand a, b;
	int ret;

	ret = like_a(&a, &d->binary.a, "binary.a", &want, e);
	if (!ret)
		ret = operand_init(&b, &d->binary.b, ACCEL_ARG_B, "binary.b", e);
	if (ret)
		return ret;
	compute(&want, func >= ACCEL_BINARY_EQ && func <= ACCEL_BINARY_XOR ?
		(uint32_t)ACCEL_U8 : common(&a, &b));
	widen(&want, &b, 0);
	fill_in(&d->binary.d, &want);
	return 0;
}

int infer_select(union any_desc *d, struct accel_error *e)
{
	struct accel_tensor want;
	struct operand a, b, c;
	int ret;

	ret = like_a(&a, &d->select.a, "select.a", &want, e);
	if (!ret)
		ret = operand_init(&b, &d->select.b, ACCEL_ARG_B, "select.b", e);
	if (!ret)
		ret = operand_init(&c, &d->select.c, ACCEL_ARG_C, "select.c", e);
	if (ret)
		return ret;
	compute(&want, common(&b, &c));
	widen(&want, &b, 0);
	widen(&want, &c, 0);
	fill_in(&d->select.d, &want);
	return 0;
}

/* --- products -------------------------------------------------------------------- */

int infer_gemm(union any_desc *any, struct accel_error *e)
{
	struct accel_gemm_desc *d = &any->gemm;
	bool trans_a = d->flags & ACCEL_GEMM_TRANS_A, trans_b = d->flags & ACCEL_GEMM_TRANS_B;
	struct accel_tensor want;
	struct operand a, b;
	int ret;

	ret = operand_init(&a, &d->a, ACCEL_ARG_A, "gemm.a", e);
	if (!ret)
		ret = operand_init(&b, &d->b, ACCEL_ARG_B, "gemm.b", e);
	if (ret)
		return ret;
	want = typed(product(&a, &b));
	/* The batches of A with those of B, and then M and N, of which vectors have none. */
	want.rank = 2;
	want.dims[0] = a.rank < 2 ? 1 : a.dims[a.rank - (trans_a ? 1 : 2)];
	want.dims[1] = b.rank < 2 ? 1 : b.dims[b.rank - (trans_b ? 2 : 1)];
	widen(&want, &a, 2);
	if (!d->rows.rank)
		widen(&want, &b, 2);
	if (a.rank < 2) {
		want.dims[want.rank - 2] = want.dims[want.rank - 1];
		want.dims[--want.rank] = 0;
	} else if (b.rank < 2) {
		want.dims[--want.rank] = 0;
	}
	fill_in(&d->d, &want);
	return 0;
}

int infer_conv(union any_desc *any, struct accel_error *e)
{
	struct accel_conv_desc *d = &any->conv;
	bool transposed = d->flags & ACCEL_CONV_TRANSPOSED;
	struct accel_tensor want;
	struct operand a, b;
	uint32_t i, first;
	int64_t *channels;
	int ret;

	ret = operand_init(&a, &d->a, ACCEL_ARG_A, "conv.a", e);
	if (!ret)
		ret = operand_init(&b, &d->b, ACCEL_ARG_B, "conv.b", e);
	if (ret)
		return ret;
	want = typed(product(&a, &b));
	take_dims(&want, &a);
	/* Of other ranks there is no convolution, which is said later. */
	if (a.rank < 3 || a.rank > 4 || b.rank != a.rank) {
		fill_in(&d->d, &want);
		return 0;
	}
	channels = &want.dims[d->flags & ACCEL_CONV_NHWC ? a.rank - 1 : 1];
	first = d->flags & ACCEL_CONV_NHWC ? 1 : 2;
	*channels = b.dims[transposed];
	if (transposed && d->groups &&
	    __builtin_mul_overflow(*channels, (int64_t)d->groups, channels))
		*channels = 0;
	for (i = 0; i < a.rank - 2; i++)
		want.dims[first + i] = conv_outputs(d, i, a.dims[first + i], b.dims[2 + i]);
	fill_in(&d->d, &want);
	return 0;
}

int infer_ffn(union any_desc *any, struct accel_error *e)
{
	struct accel_ffn_desc *d = &any->ffn;
	bool trans = d->flags & ACCEL_FFN_TRANS;
	struct operand a, up, gate, down;
	struct accel_tensor want;
	int ret;

	ret = operand_init(&a, &d->a, ACCEL_ARG_A, "ffn.a", e);
	if (!ret)
		ret = operand_init(&up, &d->up, ACCEL_ARG_B, "ffn.up", e);
	if (!ret && d->gate.rank)
		ret = operand_init(&gate, &d->gate, ACCEL_ARG_C, "ffn.gate", e);
	if (!ret)
		ret = operand_init(&down, &d->down, ACCEL_ARG_AUX0, "ffn.down", e);
	if (ret)
		return ret;
	want = typed(real(&a));
	if (d->hidden_dtype && d->hidden_dtype != a.dtype)
		want.dtype = ACCEL_F32;
	want.rank = 2;
	want.dims[0] = a.rank < 2 ? 1 : a.dims[a.rank - 2];
	want.dims[1] = down.rank < 2 ? 1 : down.dims[down.rank - (trans ? 2 : 1)];
	widen(&want, &a, 2);
	widen(&want, &up, 2);
	if (d->gate.rank)
		widen(&want, &gate, 2);
	widen(&want, &down, 2);
	fill_in(&d->d, &want);
	return 0;
}

int infer_attention(union any_desc *any, struct accel_error *e)
{
	struct accel_attention_desc *d = &any->attention;
	struct accel_tensor want;
	struct operand q, v;
	int ret;

	ret = operand_init(&q, &d->q, ACCEL_ARG_A, "attention.q", e);
	if (!ret)
		ret = operand_init(&v, &d->v, ACCEL_ARG_C, "attention.v", e);
	if (ret)
		return ret;
	want = typed(real(&q));
	take_dims(&want, &q);
	if (q.rank == v.rank)
		want.dims[q.rank - 1] = v.dims[q.rank - 1];
	fill_in(&d->d, &want);
	return 0;
}

int infer_rotary(union any_desc *d, struct accel_error *e)
{
	struct accel_tensor want;
	struct operand a;
	int ret = like_a(&a, &d->rotary.a, "rotary.a", &want, e);

	if (!ret)
		fill_in(&d->rotary.d, &want);
	return ret;
}

/* --- along dimensions ------------------------------------------------------------- */

int infer_softmax(union any_desc *d, struct accel_error *e)
{
	struct accel_tensor want;
	struct operand a;
	int ret = like_a(&a, &d->softmax.a, "softmax.a", &want, e);

	if (ret)
		return ret;
	compute(&want, real(&a));
	fill_in(&d->softmax.d, &want);
	return 0;
}

/* One along each dimension of a mask; none: all. */
static void reduce_dims(struct accel_tensor *t, uint32_t axes)
{
	uint32_t i;

	for (i = 0; i < t->rank; i++)
		if (!axes || (axes >> i & 1))
			t->dims[i] = 1;
}

int infer_norm(union any_desc *d, struct accel_error *e)
{
	struct accel_tensor want;
	struct operand a;
	int ret = like_a(&a, &d->norm.a, "norm.a", &want, e);

	if (ret)
		return ret;
	compute(&want, d->norm.flags & ACCEL_NORM_ASYMMETRIC ? ACCEL_U8 :
		       d->norm.flags & ACCEL_NORM_DYNQUANT ? ACCEL_S8 : real(&a));
	fill_in(&d->norm.d, &want);
	/* A second result is there or it is not: nothing else says whether it is wanted. */
	compute(&want, ACCEL_F32);
	if (d->norm.second.rank)
		fill_in(&d->norm.second, &want);
	reduce_dims(&want, d->norm.axes || !want.rank ? d->norm.axes : 1u << (want.rank - 1));
	if (d->norm.flags & ACCEL_NORM_DYNQUANT)
		fill_in(&d->norm.scales, &want);
	compute(&want, ACCEL_S32);
	if (d->norm.flags & ACCEL_NORM_ASYMMETRIC)
		fill_in(&d->norm.zeros, &want);
	return 0;
}

int infer_reduce(union any_desc *any, struct accel_error *e)
{
	struct accel_reduce_desc *d = &any->reduce;
	struct accel_tensor want;
	struct operand a;
	int ret = like_a(&a, &d->a, "reduce.a", &want, e);

	if (ret)
		return ret;
	compute(&want, d->func == ACCEL_REDUCE_ARG_MAX || d->func == ACCEL_REDUCE_ARG_MIN ?
		(uint32_t)ACCEL_S32 : summed(&a));
	reduce_dims(&want, d->axes);
	fill_in(&d->d, &want);
	return 0;
}

int infer_scan(union any_desc *d, struct accel_error *e)
{
	struct accel_tensor want;
	struct operand a;
	int ret = like_a(&a, &d->scan.a, "scan.a", &want, e);

	if (ret)
		return ret;
	compute(&want, summed(&a));
	fill_in(&d->scan.d, &want);
	return 0;
}

/* How many there are is said by a result: both follow from the one that says it. */
int infer_topk(union any_desc *any, struct accel_error *e)
{
	struct accel_topk_desc *d = &any->topk;
	struct accel_tensor want, at;
	struct operand a;
	int64_t axis, k;
	int ret = like_a(&a, &d->a, "topk.a", &want, e);

	if (ret)
		return ret;
	want = moved(&a, true);
	axis = d->axis < 0 ? (int64_t)d->axis + a.rank : d->axis;
	/* One that does not exist is found later. */
	if (axis >= 0 && axis < a.rank) {
		k = d->d.rank > axis ? d->d.dims[axis] : ACCEL_DIM_INFER;
		if (k == ACCEL_DIM_INFER && d->indices.rank > axis)
			k = d->indices.dims[axis];
		if (k == ACCEL_DIM_INFER && d->d.rank && d->d.rank <= axis)
			k = a.dims[axis];
		if (k == ACCEL_DIM_INFER)
			return bad_at(e, -EINVAL, "topk.d", "dims", (uint32_t)axis,
				      "how many elements there are is not known");
		want.dims[axis] = k;
	}
	at = want;
	compute(&at, ACCEL_S32);
	fill_in(&d->d, &want);
	fill_in(&d->indices, &at);
	return 0;
}

int infer_dynquant(union any_desc *any, struct accel_error *e)
{
	struct accel_dynquant_desc *d = &any->dynquant;
	bool zeros = d->flags & ACCEL_DYNQUANT_ASYMMETRIC;
	struct accel_tensor want;
	struct operand a;
	int ret = like_a(&a, &d->a, "dynquant.a", &want, e);

	if (ret)
		return ret;
	compute(&want, zeros ? ACCEL_U8 : ACCEL_S8);
	fill_in(&d->d, &want);
	compute(&want, ACCEL_F32);
	reduce_dims(&want, d->axes);
	fill_in(&d->scales, &want);
	compute(&want, ACCEL_S32);
	if (zeros)
		fill_in(&d->zeros, &want);
	return 0;
}

/* The cache is there; what goes with its bytes may be left out. */
int infer_kv_write(union any_desc *any, struct accel_error *e)
{
	struct accel_kv_write_desc *d = &any->kv_write;
	struct accel_tensor want;
	struct operand to;
	int ret = like_a(&to, &d->d, "kv_write.d", &want, e);

	if (ret || !uma_is_int8(to.dtype) || to.rank != 4)
		return ret;
	want.dims[3] = 1;
	compute(&want, ACCEL_F32);
	fill_in(&d->scales, &want);
	compute(&want, ACCEL_S32);
	if (d->flags & ACCEL_KV_WRITE_ASYMMETRIC)
		fill_in(&d->zeros, &want);
	return 0;
}

/* --- images ----------------------------------------------------------------------- */

int infer_pool(union any_desc *any, struct accel_error *e)
{
	struct accel_pool_desc *d = &any->pool;
	struct accel_tensor want;
	struct operand a;
	uint32_t i;
	int ret = like_a(&a, &d->a, "pool.a", &want, e);

	if (ret)
		return ret;
	/* Dimensions behind those are refused later. */
	for (i = 2; i < a.rank && i < 2 + sizeof(d->kernel) / sizeof(d->kernel[0]); i++)
		want.dims[i] = pool_outputs(d, i - 2, &a);
	fill_in(&d->d, &want);
	return 0;
}

int infer_resize(union any_desc *any, struct accel_error *e)
{
	struct accel_resize_desc *d = &any->resize;
	struct accel_tensor want;
	struct operand a;
	uint32_t i;
	double n;
	int ret = like_a(&a, &d->a, "resize.a", &want, e);

	if (ret)
		return ret;
	for (i = 0; i < a.rank; i++) {
		n = floor((double)a.dims[i] * d->scale[i]);
		if (n > 0 && n < 0x1p62)
			want.dims[i] = (int64_t)n;
		else if (d->scale[i] != 0)
			want.dims[i] = 0;
	}
	fill_in(&d->d, &want);
	return 0;
}

/* --- moves ------------------------------------------------------------------------ */

int infer_gather(union any_desc *any, struct accel_error *e)
{
	struct accel_gather_desc *d = &any->gather;
	uint32_t cut = d->axis, skip = 1, from, head, rank, i;
	struct accel_tensor want;
	struct operand a, b;
	int ret;

	ret = operand_init(&a, &d->a, ACCEL_ARG_A, "gather.a", e);
	if (!ret)
		ret = operand_init(&b, &d->b, ACCEL_ARG_B, "gather.b", e);
	if (ret)
		return ret;
	want = moved(&a, true);
	if (d->func == ACCEL_GATHER_ELEMENTS) {
		take_dims(&want, &b);
		fill_in(&d->d, &want);
		return 0;
	}
	head = b.rank;
	from = 0;
	if (d->func == ACCEL_GATHER_ND) {
		/* What the last dimension of B stands for. */
		head = b.rank - 1;
		from = d->batch;
		cut = 0;
		skip = b.dims[head] < 0 || b.dims[head] > ACCEL_MAX_RANK ? ACCEL_MAX_RANK :
									   (uint32_t)b.dims[head];
	}
	/* Dimensions that A has not are found later. */
	if (cut >= a.rank || from >= a.rank || from + cut + skip > a.rank) {
		fill_in(&d->d, &want);
		return 0;
	}
	rank = head + a.rank - from - skip;
	if (rank > ACCEL_MAX_RANK)
		return rank_above("gather.d", rank, e);
	memset(want.dims, 0, sizeof(want.dims));
	want.rank = 0;
	for (i = 0; i < cut; i++)
		want.dims[want.rank++] = a.dims[i];
	for (i = 0; i < head; i++)
		want.dims[want.rank++] = b.dims[i];
	for (i = from + cut + skip; i < a.rank; i++)
		want.dims[want.rank++] = a.dims[i];
	fill_in(&d->d, &want);
	return 0;
}

int infer_scatter(union any_desc *d, struct accel_error *e)
{
	struct accel_tensor want;
	struct operand a;
	int ret = like_a(&a, &d->scatter.a, "scatter.a", &want, e);

	if (ret)
		return ret;
	want = moved(&a, true);
	fill_in(&d->scatter.d, &want);
	return 0;
}

int infer_concat(union any_desc *any, struct accel_error *e)
{
	struct accel_concat_desc *d = &any->concat;
	struct accel_tensor want;
	struct operand t;
	uint32_t i;
	int ret;

	ret = check_list("concat", d->count, 0, 1, e);
	for (i = 0; !ret && i < d->count; i++) {
		ret = operand_init(&t, &d->a[i], ACCEL_ARG_A + i, concat_names[i], e);
		if (!i && !ret)
			want = moved(&t, false);
		else if (!ret && d->axis < t.rank && d->axis < want.rank &&
			 __builtin_add_overflow(want.dims[d->axis], t.dims[d->axis],
						&want.dims[d->axis]))
			want.dims[d->axis] = INT64_MAX;
	}
	if (!ret)
		fill_in(&d->d, &want);
	return ret;
}

/* The pieces that say nothing of themselves share what the others leave. */
int infer_split(union any_desc *any, struct accel_error *e)
{
	struct accel_split_desc *d = &any->split;
	struct accel_tensor want;
	struct operand a;
	uint32_t i, open = 0;
	int64_t rest, n;
	int ret;

	ret = like_a(&a, &d->a, "split.a", &want, e);
	if (!ret)
		ret = check_list("split", d->count, d->axis, a.rank, e);
	if (ret)
		return ret;
	rest = a.dims[d->axis];
	for (i = 0; i < d->count; i++) {
		n = d->d[i].rank > d->axis ? d->d[i].dims[d->axis] : ACCEL_DIM_INFER;
		if (n == ACCEL_DIM_INFER)
			open++;
		else
			rest = n < 0 || n > rest ? -1 : rest - n;
	}
	if (open && rest < 0)
		return bad_at(e, -EINVAL, "split.a", "dims", d->axis,
			      "%lld are fewer than the pieces have", (long long)a.dims[d->axis]);
	if (open && rest % open)
		return bad_at(e, -EINVAL, "split.a", "dims", d->axis,
			      "%lld elements are not divided by %u", (long long)rest, open);
	if (open)
		want.dims[d->axis] = rest / open;
	for (i = 0; i < d->count; i++)
		fill_in(&d->d[i], &want);
	return 0;
}

int infer_pad(union any_desc *any, struct accel_error *e)
{
	struct accel_pad_desc *d = &any->pad;
	struct accel_tensor want;
	struct operand a;
	uint32_t i;
	int64_t n;
	int ret = like_a(&a, &d->a, "pad.a", &want, e);

	if (ret)
		return ret;
	for (i = 0; i < a.rank; i++) {
		if (__builtin_add_overflow(want.dims[i], d->before[i], &n) ||
		    __builtin_add_overflow(n, d->after[i], &n) || n < 0)
			n = 0;
		want.dims[i] = n;
	}
	fill_in(&d->d, &want);
	return 0;
}

/* --- all --------------------------------------------------------------------------- */

int accel_infer(struct accel_desc *desc, struct accel_error *error)
{
	FP_MODE_SCOPE();
	struct accel_error e = ACCEL_ERROR_INIT;
	struct request req;
	union any_desc copy;
	int ret;

	ret = desc_in(desc, &copy, &e);
	if (!ret && op_class(copy.hdr.op)->infer)
		ret = op_class(copy.hdr.op)->infer(&copy, &e);
	if (!ret)
		ret = request_lower(&copy, &req, &e);
	if (!ret) {
		/* The caller's may be shorter: of an older version. */
		memcpy(desc, &copy, UMA_MIN(desc->size, req.class->size));
		request_release(&req);
	}
	return error && struct_out(error, &e, sizeof(e), sizeof(e)) ? -EINVAL : ret;
}

// SPDX-License-Identifier: MIT
/*
 * Operations on NaN, infinities, zeros of either sign, the largest and the smallest numbers:
 * the oracle is held against each operation written down a second time, as the manual has it,
 * in long double, and each set of kernels against the oracle. They are in one file, for they share
 * the odd numbers and how a number is judged.
 */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "net.h"
#include "libaccel/tests/guest.h"
#include "libaccel/tests/oracle/oracle.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
/* What two ways to compute in more than binary32 may be apart */
#define APART	0.000000000001L
/* Halfway from the largest binary32 number to what would follow: from here on infinite */
#define BEYOND	0x1.ffffffp127L

/* More than binary64 has, where there is more */
typedef long double real;

static const float odd[] = {
	NAN, INFINITY, -INFINITY, FLT_MAX, -FLT_MAX, FLT_TRUE_MIN, -FLT_TRUE_MIN, FLT_MIN, 0, -0.0f,
	1, -1, 2.5f, -90,
};

#define ODD	((int64_t)ARRAY_SIZE(odd))
/* Lines of three of these */
#define LINES	(ODD * ODD * ODD)

/**
 * struct plain - what an element should be
 * @v: value
 * @mag: magnitude of what it was added up from, or 0
 * @open: anything: a sum may overflow on its way, in one order and not in another
 * @room: how far it may be off beside a part of @mag
 */
struct plain {
	real v;
	real mag;
	bool open;
	real room;
};

/* Element @n of result @index. */
typedef struct plain plain_fn(const struct accel_desc *desc, uint32_t index, int64_t n);

static const float *f32(const struct accel_tensor *t)
{
	return (const float *)((const char *)accel_bo_ptr(t->bo) + t->offset);
}

static struct plain number(real v)
{
	return (struct plain){ .v = v };
}

/* As binary32 has it, of which a step that follows sees no more. */
static real wide(real v)
{
	return fabsl(v) >= BEYOND ? copysignl(INFINITY, v) : v;
}

/* A sum of products, the bias the last of them: infinite only where it has to be. */
static struct plain sum_of(const real *p, int64_t n)
{
	struct plain s = { 0, 0, false };
	real finite = 0;
	int64_t i;

	for (i = 0; i < n; i++) {
		s.v += p[i];
		finite += isfinite(p[i]) ? fabsl(p[i]) : 0;
	}
	s.open = finite * 1.001L > FLT_MAX && (isinf(s.v) || fabsl(s.v) < finite * 0.999L);
	s.mag = finite;
	return s;
}

/* --- what is stored -------------------------------------------------------------------- */

static real limited(real x, real lo, real hi)
{
	return isnan(x) ? x : x < lo ? lo : x > hi ? hi : x;
}

/* As an integer: the nearest, saturated; no number is 0. */
static real whole(real v, uint32_t dtype)
{
	const real lo = dtype == ACCEL_S32 ? INT32_MIN : dtype == ACCEL_S8 ? -128 : 0;
	const real hi = dtype == ACCEL_S32 ? INT32_MAX : dtype == ACCEL_S8 ? 127 : 255;

	return isnan(v) ? 0 : limited(rintl(v), lo, hi);
}

/* The infinity of a type of 16 bits */
static uint32_t infinity_of(uint32_t dtype)
{
	return dtype == ACCEL_F16 ? 0x7c00 : 0x7f80;
}

/* What 16 bits without a sign stand for; the infinity for what would follow the largest number */
static real pattern(uint32_t bits, uint32_t dtype)
{
	const uint32_t hidden = dtype == ACCEL_F16 ? 1 << 10 : 1 << 7, exp = bits / hidden;

	return ldexpl(bits % hidden + (exp ? hidden : 0),
		      (int)(exp ? exp : 1) - (dtype == ACCEL_F16 ? 25 : 134));
}

/* The nearest of a type, the even one of two; of 16 bits by looking for it */
static real nearest(real v, uint32_t dtype)
{
	uint32_t low = 0, high = infinity_of(dtype), at;
	real down, up;

	if (dtype == ACCEL_F32)
		return (float)v;
	if (isnan(v) || fabsl(v) >= pattern(high, dtype))
		return isnan(v) ? v : copysignl(INFINITY, v);
	while (high - low > 1) {
		at = (low + high) / 2;
		if (pattern(at, dtype) <= fabsl(v))
			low = at;
		else
			high = at;
	}
	down = fabsl(v) - pattern(low, dtype);
	up = pattern(high, dtype) - fabsl(v);
	at = down < up || (down == up && low % 2 == 0) ? low : high;
	return copysignl(at == infinity_of(dtype) ? INFINITY : pattern(at, dtype), v);
}

/* The element that a number becomes, an integer as it is stored */
static real stored(const struct accel_tensor *t, float v)
{
	const bool scaled = t->quant.scheme == ACCEL_QUANT_TENSOR;

	if (t->dtype <= ACCEL_BF16)
		return nearest(v, t->dtype);
	if (isnan(v))
		v = 0;
	return whole(rintl(scaled ? v / t->quant.scale : v) + (scaled ? t->quant.zero : 0),
		     t->dtype);
}

/* Where a sigmoid is saturated kernels may have 0 for what is smaller. */
#define NOTHING	(150 * FLT_MIN)

/* NaN is NaN, and a zero has a sign. */
static bool same(real a, real b)
{
	return isnan(a) ? isnan(b) : a == b && !signbit(a) == !signbit(b);
}

/* --- the oracle ------------------------------------------------------------------------ */

/* Does the oracle say of an element what it should? Its bound is that of binary32. */
static bool agrees(const struct accel_tensor *t, const struct oracle_result *r, uint64_t n,
		   const struct plain *want)
{
	const real mag = fmaxl(fabsl(want->v), want->mag);
	const struct oracle_num *x = &r->num[n];
	struct oracle_verdict verdict;

	if (r->exact)
		return (real)r->exact[n] == want->v;
	if (want->open)
		return true;
	/* Of what is known to the bit every bit is known that is stored. */
	if (x->e == 0) {
		oracle_judge(t, r, n, &verdict);
		if (!same(verdict.expect, stored(t, (float)want->v)))
			return false;
	}
	if (isnan(want->v))
		return isnan(x->v) && !isinf(x->e);
	if (isinf(wide(want->v)) && x->v == (double)wide(want->v))
		return !isinf(x->e);
	/* Known to the bit, and to the sign of a zero */
	if (x->e == 0)
		return (float)x->v == (float)want->v && !signbit(x->v) == !signbit(want->v);
	if (!(fabsl((real)x->v - want->v) <= APART * mag))
		return false;
	return x->e >= 0 && (real)x->e <= 0.0001L * mag + want->room + NOTHING;
}

static uint32_t check_oracle(const struct accel_desc *desc, plain_fn *plain, const char *what)
{
	struct oracle_result r = { 0 };
	uint32_t wrong = 0, index;
	struct plain want;
	char line[600];
	uint64_t n;

	for (index = 0; oracle_tensor(desc, index); index++) {
		if (!oracle_tensor(desc, index)->rank)
			continue;
		assert_int_equal(oracle_compute(desc, index, &r), 0);
		for (n = 0; n < r.count; n++) {
			want = plain(desc, index, (int64_t)n);
			if (agrees(oracle_tensor(desc, index), &r, n, &want) || wrong++ > 4)
				continue;
			op_say(desc, line, sizeof(line));
			print_message("# %s %llu of result %u: %.9Lg, known as %.9g within %g: %s\n",
				      what, (unsigned long long)n, index, want.v,
				      r.exact ? (double)r.exact[n] : r.num[n].v,
				      r.exact ? 0 : r.num[n].e, line);
		}
		oracle_free(&r);
	}
	return wrong;
}

/**
 * struct odd_case - what is to be built
 * @func: function
 * @flags: flags
 * @dtype: of the result, 0: binary32
 * @p: numbers
 */
struct odd_case {
	uint32_t func, flags, dtype;
	float p[4];
};

static void end_case(struct op_case *c, const struct accel_desc *desc)
{
	while (c->bo_count)
		accel_bo_unref(c->bos[--c->bo_count]);
	free((void *)desc);
}

/* The oracle against the second one, then the device against the oracle. */
static void check(struct op_env *env, op_build_fn *build, plain_fn *plain,
		  const struct odd_case *o, const char *name)
{
	struct op_case c = { .ctx = env->ctx };
	const struct accel_desc *desc;
	uint32_t wrong = 0;
	char what[100];

	snprintf(what, sizeof(what), "%s %u flags %u type %u", name, o->func, o->flags, o->dtype);
	/* The same numbers on all devices: once, and neither with sanitizers nor in the machine. */
	if (plain && env->first && test_every() < 4) {
		desc = build(&c, o);
		wrong = check_oracle(desc, plain, what);
		end_case(&c, desc);
	}
	if (wrong)
		fail_msg("%s: of %u numbers the oracle has others", what, wrong);
	op_run(env, build, o, 0, what);
}

/* --- tensors ------------------------------------------------------------------------ */

static void *made(struct op_case *c, struct accel_tensor *t, uint32_t dtype, uint32_t rank,
		  const int64_t *dims)
{
	*t = accel_tensor_dense(NULL, dtype, rank, dims);
	assert_int_equal(accel_bo_create(c->ctx, 4 * oracle_count(t) + 4, NULL, &t->bo), 0);
	c->bos[c->bo_count++] = t->bo;
	memset(accel_bo_ptr(t->bo), 0, 4 * oracle_count(t));
	return accel_bo_ptr(t->bo);
}

static float *made_1d(struct op_case *c, struct accel_tensor *t, int64_t n)
{
	return made(c, t, ACCEL_F32, 1, &n);
}

static float *made_2d(struct op_case *c, struct accel_tensor *t, int64_t m, int64_t n)
{
	return made(c, t, ACCEL_F32, 2, (const int64_t[]){ m, n });
}

/* Every line of three odd numbers */
static void all_lines(float *f)
{
	int64_t i;

	for (i = 0; i < LINES; i++) {
		f[3 * i] = odd[i / ODD / ODD];
		f[3 * i + 1] = odd[i / ODD % ODD];
		f[3 * i + 2] = odd[i % ODD];
	}
}

#define NEW(type, init)	({						\
	type *new_ = calloc(1, sizeof(*new_));				\
									\
	assert_non_null(new_);						\
	*new_ = (type)init;						\
	new_;								\
})

/* --- elements ------------------------------------------------------------------------ */

static real plain_unary(uint32_t f, real x)
{
	switch (f) {
	case ACCEL_UNARY_ABS:
		return fabsl(x);
	case ACCEL_UNARY_NEG:
		return -x;
	case ACCEL_UNARY_SQRT:
		return sqrtl(x);
	case ACCEL_UNARY_RSQRT:
		return 1 / sqrtl(x);
	case ACCEL_UNARY_RECIP:
		return 1 / x;
	case ACCEL_UNARY_EXP:
		return expl(x);
	case ACCEL_UNARY_LOG:
		return logl(x);
	case ACCEL_UNARY_ERF:
		return erfl(x);
	case ACCEL_UNARY_SQUARE:
		return x * x;
	case ACCEL_UNARY_FLOOR:
		return floorl(x);
	case ACCEL_UNARY_CEIL:
		return ceill(x);
	case ACCEL_UNARY_ROUND:
		return rintl(x);
	case ACCEL_UNARY_SIN:
		return sinl(x);
	case ACCEL_UNARY_COS:
		return cosl(x);
	case ACCEL_UNARY_TAN:
		return tanl(x);
	case ACCEL_UNARY_ASIN:
		return asinl(x);
	case ACCEL_UNARY_ACOS:
		return acosl(x);
	case ACCEL_UNARY_ATAN:
		return atanl(x);
	case ACCEL_UNARY_SINH:
		return sinhl(x);
	case ACCEL_UNARY_COSH:
		return coshl(x);
	case ACCEL_UNARY_ASINH:
		return asinhl(x);
	case ACCEL_UNARY_ACOSH:
		return acoshl(x);
	case ACCEL_UNARY_ATANH:
		return atanhl(x);
	case ACCEL_UNARY_SIGN:
		return isnan(x) || x == 0 ? x : copysignl(1, x);
	case ACCEL_UNARY_TRUNC:
		return truncl(x);
	case ACCEL_UNARY_IS_NAN:
		return isnan(x) ? 1 : 0;
	case ACCEL_UNARY_IS_INF:
		return isinf(x) ? 1 : 0;
	case ACCEL_UNARY_NOT:
		return x == 0 ? 1 : 0;
	default:
		return x;
	}
}

static real plain_act(uint32_t act, real x, real p0, real p1)
{
	const real cubic = 0.797884560802865355879892L * (x + 0.044715L * x * x * x);
	const real soft = x > 0 ? x + log1pl(expl(-x)) : log1pl(expl(x));

	if (isnan(x) || act == ACCEL_ACT_NONE)
		return x;
	/* Limits */
	if (x == -INFINITY &&
	    (act == ACCEL_ACT_GELU || act == ACCEL_ACT_GELU_TANH || act == ACCEL_ACT_SILU ||
	     act == ACCEL_ACT_HARD_SWISH || act == ACCEL_ACT_MISH))
		return -0.0L;
	if (isinf(x) && act == ACCEL_ACT_SOFTSIGN)
		return copysignl(1, x);
	switch (act) {
	case ACCEL_ACT_RELU:
		return x > 0 ? x : 0;
	case ACCEL_ACT_CLAMP:
		return limited(x, p0, p1);
	case ACCEL_ACT_LEAKY_RELU:
		return x < 0 ? p0 * x : x;
	case ACCEL_ACT_SIGMOID:
		return 1 / (1 + expl(-x));
	case ACCEL_ACT_TANH:
		return tanhl(x);
	case ACCEL_ACT_GELU:
		return x * 0.5L * erfcl(-x * sqrtl(0.5L));
	case ACCEL_ACT_GELU_TANH:
		return x / (1 + expl(-2 * cubic));
	case ACCEL_ACT_SILU:
		return x / (1 + expl(-x));
	case ACCEL_ACT_HARD_SIGMOID:
		return limited(p0 * x + p1, 0, 1);
	case ACCEL_ACT_HARD_SWISH:
		return x * limited(x / 6 + 0.5L, 0, 1);
	case ACCEL_ACT_ELU:
		return x < 0 ? p0 * expm1l(x) : x;
	case ACCEL_ACT_CELU:
		return x < 0 ? p0 * expm1l(x / p0) : x;
	case ACCEL_ACT_SELU:
		return x > 0 ? p1 * x : p1 * p0 * expm1l(x);
	case ACCEL_ACT_SOFTPLUS:
		return soft;
	case ACCEL_ACT_SOFTSIGN:
		return x / (1 + fabsl(x));
	default:
		return x * tanhl(soft);
	}
}

/* Sums that may be near 0 are known to a part of what they were added up from. */
static real act_mag(uint32_t act, real x, real p0, real p1)
{
	if (!isfinite(x))
		return 0;
	return act == ACCEL_ACT_HARD_SIGMOID ? fabsl(p0 * x) + fabsl(p1) + 1 :
	       act == ACCEL_ACT_HARD_SWISH ? fabsl(x) :
	       act == ACCEL_ACT_GELU_TANH && fabsl(x) < 100 ? 100 : 0;
}

/* Parameters where the activation has them */
static void set_act(struct accel_epilogue *e, uint32_t act, float p0, float p1)
{
	const bool both = act == ACCEL_ACT_CLAMP || act == ACCEL_ACT_HARD_SIGMOID ||
			  act == ACCEL_ACT_SELU;

	e->act = act;
	if (both || act == ACCEL_ACT_LEAKY_RELU || act == ACCEL_ACT_ELU || act == ACCEL_ACT_CELU)
		e->p0 = p0;
	if (both)
		e->p1 = p1;
}

static const struct accel_desc *build_unary(struct op_case *c, const void *arg)
{
	struct accel_unary_desc *u = NEW(struct accel_unary_desc, ACCEL_UNARY_DESC_INIT);
	const struct odd_case *o = arg;

	u->func = o->func;
	set_act(&u->epilogue, o->flags, o->p[0], o->p[1]);
	memcpy(made_1d(c, &u->a, ODD), odd, sizeof(odd));
	made_1d(c, &u->d, ODD);
	return &u->hdr;
}

static struct plain unary(const struct accel_desc *desc, uint32_t index, int64_t n)
{
	const struct accel_unary_desc *u = (const void *)desc;
	const struct accel_epilogue *e = &u->epilogue;
	const real x = wide(plain_unary(u->func, f32(&u->a)[n]));

	(void)index;
	return (struct plain){ plain_act(e->act, x, e->p0, e->p1), act_mag(e->act, x, e->p0, e->p1),
			       false };
}

static void test_unary(struct op_env *env)
{
	static const float params[][2] = { { 0.5f, 6 }, { 0, 6 }, { 2, 0.25f }, { 1e30f, 1e30f } };
	struct odd_case o = { 0 };
	uint32_t i;

	for (o.func = 0; o.func < ACCEL_UNARY_BIT_NOT; o.func++)
		check(env, build_unary, unary, &o, "function");
	o.func = ACCEL_UNARY_NEG;
	for (o.flags = 1; o.flags < ACCEL_ACT_COUNT; o.flags++)
		for (i = 0; i < ARRAY_SIZE(params); i++) {
			memcpy(o.p, params[i], sizeof(params[i]));
			/* What is divided by it is not 0, and a range not empty. */
			if (o.flags == ACCEL_ACT_CELU && o.p[0] == 0)
				continue;
			if (o.flags == ACCEL_ACT_CLAMP)
				o.p[0] = -o.p[0] - 1;
			check(env, build_unary, unary, &o, "activation");
		}
}

static real plain_binary(uint32_t f, real a, real b)
{
	const bool left = a != 0, right = b != 0;
	real r;

	switch (f) {
	case ACCEL_BINARY_ADD:
		return a + b;
	case ACCEL_BINARY_SUB:
		return a - b;
	case ACCEL_BINARY_MUL:
		return a * b;
	case ACCEL_BINARY_DIV:
		return a / b;
	case ACCEL_BINARY_MAX:
		return isnan(a) ? a : isnan(b) || !(a > b) ? b : a;
	case ACCEL_BINARY_MIN:
		return isnan(a) ? a : isnan(b) || !(a < b) ? b : a;
	case ACCEL_BINARY_REM:
		return isinf(a) || b == 0 ? NAN : fmodl(a, b);
	case ACCEL_BINARY_MOD:
		r = isinf(a) || b == 0 ? NAN : fmodl(a, b);
		return r == 0 ? copysignl(0, b) : signbit(r) != signbit(b) ? r + b : r;
	case ACCEL_BINARY_QUOT:
		return truncl(a / b);
	case ACCEL_BINARY_POW:
		return powl(a, b);
	case ACCEL_BINARY_EQ:
		return a == b;
	case ACCEL_BINARY_NE:
		return a != b;
	case ACCEL_BINARY_LT:
		return a < b;
	case ACCEL_BINARY_LE:
		return a <= b;
	case ACCEL_BINARY_GT:
		return a > b;
	case ACCEL_BINARY_GE:
		return a >= b;
	case ACCEL_BINARY_AND:
		return left && right;
	case ACCEL_BINARY_OR:
		return left || right;
	case ACCEL_BINARY_XOR:
		return left != right;
	default:
		return a < 0 ? b * a : a;
	}
}

static const struct accel_desc *build_binary(struct op_case *c, const void *arg)
{
	struct accel_binary_desc *b = NEW(struct accel_binary_desc, ACCEL_BINARY_DESC_INIT);
	const struct odd_case *o = arg;
	float *x, *y;
	int64_t i;

	b->func = o->func;
	x = made_1d(c, &b->a, ODD * ODD);
	y = made_1d(c, &b->b, ODD * ODD);
	made_1d(c, &b->d, ODD * ODD);
	for (i = 0; i < ODD * ODD; i++) {
		x[i] = odd[i / ODD];
		y[i] = odd[i % ODD];
	}
	return &b->hdr;
}

static struct plain binary(const struct accel_desc *desc, uint32_t index, int64_t n)
{
	const struct accel_binary_desc *b = (const void *)desc;
	const real x = f32(&b->a)[n], y = f32(&b->b)[n];

	(void)index;
	/* Rounded once, and so known: to binary32. */
	return (struct plain){ plain_binary(b->func, x, y), isfinite(y) ? fabsl(x) + fabsl(y) : 0,
			       false };
}

static void test_binary(struct op_env *env)
{
	struct odd_case o = { 0 };

	for (o.func = 0; o.func < ACCEL_BINARY_COUNT; o.func++)
		if (o.func < ACCEL_BINARY_BIT_AND || o.func > ACCEL_BINARY_SHR)
			check(env, build_binary, binary, &o, "function");
}

static const struct accel_desc *build_select(struct op_case *c, const void *arg)
{
	struct accel_select_desc *s = NEW(struct accel_select_desc, ACCEL_SELECT_DESC_INIT);
	int64_t i;

	(void)arg;
	memcpy(made_1d(c, &s->a, ODD), odd, sizeof(odd));
	memcpy(made_1d(c, &s->b, ODD), odd, sizeof(odd));
	for (i = 0; i < ODD; i++)
		made_1d(c, &s->c, ODD)[i] = -odd[i];
	made_1d(c, &s->d, ODD);
	return &s->hdr;
}

static struct plain selected(const struct accel_desc *desc, uint32_t index, int64_t n)
{
	const struct accel_select_desc *s = (const void *)desc;

	(void)index;
	return number(f32(&s->a)[n] == 0 ? f32(&s->c)[n] : f32(&s->b)[n]);
}

static void test_select(struct op_env *env)
{
	const struct odd_case o = { 0 };

	check(env, build_select, selected, &o, "selection");
}

/* --- stored ------------------------------------------------------------------------- */

static const struct accel_desc *build_fill(struct op_case *c, const void *arg)
{
	struct accel_fill_desc *f = NEW(struct accel_fill_desc, ACCEL_FILL_DESC_INIT);
	const struct odd_case *o = arg;

	f->value = (double)o->p[0];
	made(c, &f->d, o->dtype, 1, (const int64_t[]){ 3 });
	return &f->hdr;
}

static struct plain filled(const struct accel_desc *desc, uint32_t index, int64_t n)
{
	const struct accel_fill_desc *f = (const void *)desc;

	(void)index;
	(void)n;
	return number(f->d.dtype == ACCEL_F32 ? f->value : whole(f->value, f->d.dtype));
}

static const struct accel_desc *build_pad(struct op_case *c, const void *arg)
{
	struct accel_pad_desc *p = NEW(struct accel_pad_desc, ACCEL_PAD_DESC_INIT);
	const struct odd_case *o = arg;

	p->value = (double)o->p[0];
	p->before[0] = 2;
	made(c, &p->a, o->dtype, 1, (const int64_t[]){ 1 });
	made(c, &p->d, o->dtype, 1, (const int64_t[]){ 3 });
	return &p->hdr;
}

static struct plain padded(const struct accel_desc *desc, uint32_t index, int64_t n)
{
	const struct accel_pad_desc *p = (const void *)desc;

	(void)index;
	return n == 2 ? number(0) :
	       number(p->d.dtype == ACCEL_F32 ? p->value : whole(p->value, p->d.dtype));
}

/* A result of the type that is asked for, with @flags bytes with a scale and a zero point */
static void made_result(struct op_case *c, struct accel_tensor *t, const struct odd_case *o,
			uint32_t rank, const int64_t *dims)
{
	made(c, t, o->dtype, rank, dims);
	if (o->flags)
		t->quant = (struct accel_quant){
			.scheme = ACCEL_QUANT_TENSOR, .scale = 0.5f, .zero = 3,
		};
}

static const struct accel_desc *build_copy(struct op_case *c, const void *arg)
{
	struct accel_copy_desc *d = NEW(struct accel_copy_desc, ACCEL_COPY_DESC_INIT);

	memcpy(made_1d(c, &d->a, ODD), odd, sizeof(odd));
	made_result(c, &d->d, arg, 1, (const int64_t[]){ ODD });
	return &d->hdr;
}

static struct plain copied(const struct accel_desc *desc, uint32_t index, int64_t n)
{
	const struct accel_copy_desc *d = (const void *)desc;

	(void)index;
	return number(f32(&d->a)[n]);
}

/* All there are of a type of 16 or 8 bits, bytes with a scale */
static const struct accel_desc *build_read(struct op_case *c, const void *arg)
{
	struct accel_copy_desc *d = NEW(struct accel_copy_desc, ACCEL_COPY_DESC_INIT);
	const struct odd_case *o = arg;
	const int64_t count = o->dtype <= ACCEL_BF16 ? 1 << 16 : 1 << 8;
	void *a = made(c, &d->a, o->dtype, 1, &count);
	int64_t i;

	for (i = 0; i < count; i++)
		if (o->dtype <= ACCEL_BF16)
			((uint16_t *)a)[i] = (uint16_t)i;
		else
			((uint8_t *)a)[i] = (uint8_t)i;
	if (o->dtype > ACCEL_BF16)
		d->a.quant = (struct accel_quant){
			.scheme = ACCEL_QUANT_TENSOR, .scale = o->p[0], .zero = 3,
		};
	made_1d(c, &d->d, count);
	return &d->hdr;
}

static struct plain read_back(const struct accel_desc *desc, uint32_t index, int64_t n)
{
	const struct accel_copy_desc *d = (const void *)desc;
	const uint32_t bits = n & 0x7fff, most = infinity_of(d->a.dtype);
	const int64_t byte = d->a.dtype == ACCEL_S8 && n > 127 ? n - 256 : n;
	real v = bits > most ? NAN : bits == most ? INFINITY : pattern(bits, d->a.dtype);

	(void)index;
	if (d->a.dtype > ACCEL_BF16)
		return number((float)(d->a.quant.scale * (real)(byte - 3)));
	return number(n >> 15 ? -v : v);
}

static void test_stored(struct op_env *env)
{
	static const uint32_t types[] = { ACCEL_F32, ACCEL_S32, ACCEL_S8, ACCEL_U8 };
	static const float scales[] = { 0.5f, FLT_TRUE_MIN, 1e38f };
	struct odd_case o = { 0 };
	uint32_t i, j;

	for (i = 0; i < ARRAY_SIZE(types); i++)
		for (j = 0; j < ODD; j++) {
			o.dtype = types[i];
			o.p[0] = odd[j];
			/* No number is no constant of integers. */
			if (o.dtype != ACCEL_F32 && isnan(odd[j]))
				continue;
			check(env, build_fill, filled, &o, "constant");
			check(env, build_pad, padded, &o, "padding");
		}
	for (o.dtype = ACCEL_F32; o.dtype <= ACCEL_U8; o.dtype++)
		for (o.flags = 0; o.flags < (o.dtype > ACCEL_BF16 ? 2u : 1u); o.flags++)
			check(env, build_copy, copied, &o, "copy");
	o.flags = 0;
	for (o.dtype = ACCEL_F16; o.dtype <= ACCEL_BF16; o.dtype++)
		check(env, build_read, read_back, &o, "copy of 16 bits");
	for (o.dtype = ACCEL_S8; o.dtype <= ACCEL_U8; o.dtype++)
		for (i = 0; i < ARRAY_SIZE(scales); i++) {
			o.p[0] = scales[i];
			check(env, build_read, read_back, &o, "copy of bytes");
		}
}

static const struct accel_desc *build_gather(struct op_case *c, const void *arg)
{
	struct accel_gather_desc *g = NEW(struct accel_gather_desc, ACCEL_GATHER_DESC_INIT);
	const int64_t lines[] = { LINES, 3 }, pairs[] = { LINES, 2 };
	const struct odd_case *o = arg;
	int32_t *b, i;

	g->func = o->func;
	all_lines(made_2d(c, &g->a, LINES, 3));
	if (o->func == ACCEL_GATHER_AXIS) {
		/* Half of them count from the end. */
		b = made(c, &g->b, ACCEL_S32, 1, lines);
		for (i = 0; i < LINES; i++)
			b[i] = i * 5 % (int32_t)LINES - (i % 2 ? (int32_t)LINES : 0);
	} else if (o->func == ACCEL_GATHER_ELEMENTS) {
		g->axis = 1;
		b = made(c, &g->b, ACCEL_S32, 2, lines);
		for (i = 0; i < 3 * LINES; i++)
			b[i] = (i + i / 3) % 3 - (i % 2 ? 3 : 0);
	} else {
		b = made(c, &g->b, ACCEL_S32, 2, pairs);
		for (i = 0; i < LINES; i++) {
			b[2 * i] = i * 5 % (int32_t)LINES;
			b[2 * i + 1] = -1 - i % 3;
		}
	}
	made_result(c, &g->d, o, o->func == ACCEL_GATHER_ND ? 1 : 2, lines);
	return &g->hdr;
}

static struct plain gathered(const struct accel_desc *desc, uint32_t index, int64_t n)
{
	const struct accel_gather_desc *g = (const void *)desc;
	const int32_t *b = accel_bo_ptr(g->b.bo);
	int64_t line = n / 3, at = n % 3;

	(void)index;
	if (g->func == ACCEL_GATHER_AXIS) {
		line = b[line];
	} else if (g->func == ACCEL_GATHER_ELEMENTS) {
		at = b[n];
	} else {
		line = b[2 * n];
		at = b[2 * n + 1];
	}
	return number(f32(&g->a)[(line + (line < 0 ? LINES : 0)) * 3 + at + (at < 0 ? 3 : 0)]);
}

static void test_gather(struct op_env *env)
{
	struct odd_case o = { 0 };

	for (o.func = 0; o.func < ACCEL_GATHER_COUNT; o.func++)
		for (o.dtype = ACCEL_F32; o.dtype <= ACCEL_U8; o.dtype++)
			for (o.flags = 0; o.flags < (o.dtype > ACCEL_BF16 ? 2u : 1u); o.flags++)
				check(env, build_gather, gathered, &o, "gather");
}

/* --- lines --------------------------------------------------------------------------- */

static const struct accel_desc *build_softmax(struct op_case *c, const void *arg)
{
	struct accel_softmax_desc *s = NEW(struct accel_softmax_desc, ACCEL_SOFTMAX_DESC_INIT);

	s->func = ((const struct odd_case *)arg)->func;
	all_lines(made_2d(c, &s->a, LINES, 3));
	made_2d(c, &s->d, LINES, 3);
	return &s->hdr;
}

static struct plain softmax(const struct accel_desc *desc, uint32_t index, int64_t n)
{
	const struct accel_softmax_desc *s = (const void *)desc;
	const float *x = f32(&s->a) + n / 3 * 3;
	const real top = fmaxl(fmaxl(x[0], x[1]), x[2]);
	real sum = 0, v;
	int64_t i;

	(void)index;
	for (i = 0; i < 3; i++)
		if (isnan(x[i]) || x[i] == INFINITY)
			return number(NAN);
	for (i = 0; i < 3 && top > -INFINITY; i++)
		sum += expl(x[i] - top);
	if (sum == 0)
		return number(s->func == ACCEL_SOFTMAX_LOG ? -INFINITY : 0);
	v = s->func == ACCEL_SOFTMAX_LOG ? x[n % 3] - top - logl(sum) : expl(x[n % 3] - top) / sum;
	return (struct plain){ v, 1, false };
}

static void test_softmax(struct op_env *env)
{
	struct odd_case o = { 0 };

	for (o.func = 0; o.func < ACCEL_SOFTMAX_COUNT; o.func++)
		check(env, build_softmax, softmax, &o, "softmax");
}

static const struct accel_desc *build_reduce(struct op_case *c, const void *arg)
{
	struct accel_reduce_desc *r = NEW(struct accel_reduce_desc, ACCEL_REDUCE_DESC_INIT);
	const struct odd_case *o = arg;

	r->func = o->func;
	r->flags = o->flags;
	r->axes = ACCEL_AXIS(1);
	all_lines(made_2d(c, &r->a, LINES, 3));
	made(c, &r->d, o->dtype, 2, (const int64_t[]){ LINES, 1 });
	return &r->hdr;
}

/* Is @a above @b, -0 being below +0? */
static bool above(float a, float b)
{
	return a > b || (a == b && signbit(b) && !signbit(a));
}

static real extreme(const float *x, bool largest)
{
	float v = x[0];
	int64_t i;

	for (i = 0; i < 3; i++) {
		if (isnan(x[i]))
			return NAN;
		if (largest ? above(x[i], v) : above(v, x[i]))
			v = x[i];
	}
	return v;
}

/* The first of those that nothing is better than; or the last */
static int64_t best(const float *x, bool largest, bool last)
{
	int64_t i, j, at = -1;
	bool good;

	for (i = 0; i < 3; i++) {
		for (good = true, j = 0; j < 3; j++)
			if (isnan(x[j]) ? !isnan(x[i]) :
			    !isnan(x[i]) && (largest ? x[j] > x[i] : x[j] < x[i]))
				good = false;
		if (good && (at < 0 || last))
			at = i;
	}
	return at;
}

static struct plain reduced(const struct accel_desc *desc, uint32_t index, int64_t n)
{
	const struct accel_reduce_desc *r = (const void *)desc;
	const float *x = f32(&r->a) + 3 * n;
	const real a = x[0], b = x[1], c = x[2], sum = a + b + c;
	const real mag = fabsl(a) + fabsl(b) + fabsl(c), top = fmaxl(fmaxl(a, b), c);

	(void)index;
	switch (r->func) {
	case ACCEL_REDUCE_SUM:
		return (struct plain){ sum, mag, false };
	case ACCEL_REDUCE_MEAN:
		return (struct plain){ sum / 3, mag, false };
	case ACCEL_REDUCE_MAX:
		return number(extreme(x, true));
	case ACCEL_REDUCE_MIN:
		return number(extreme(x, false));
	case ACCEL_REDUCE_PROD:
		return number(a * b * c);
	case ACCEL_REDUCE_L1:
		return number(mag);
	case ACCEL_REDUCE_L2:
		return number(sqrtl(a * a + b * b + c * c));
	case ACCEL_REDUCE_SUM_SQUARE:
		return number(a * a + b * b + c * c);
	case ACCEL_REDUCE_LOG_SUM:
		/* Of what is near 0 for what it was added up from nothing is known. */
		return (struct plain){ logl(sum), 1, isfinite(mag) && fabsl(sum) < mag / 1e6L &&
				       mag > 0 };
	case ACCEL_REDUCE_LOG_SUM_EXP:
		if (isnan(sum) && !isinf(top))
			return number(NAN);
		if (isnan(a) || isnan(b) || isnan(c))
			return number(NAN);
		if (isinf(top))
			return number(top);
		return (struct plain){ top + logl(expl(a - top) + expl(b - top) + expl(c - top)), 1,
				       false };
	default:
		return number(best(x, r->func == ACCEL_REDUCE_ARG_MAX,
				   r->flags & ACCEL_REDUCE_LAST_INDEX));
	}
}

static void test_reduce(struct op_env *env)
{
	struct odd_case o = { .dtype = ACCEL_F32 };

	for (o.func = 0; o.func < ACCEL_REDUCE_ARG_MAX; o.func++)
		check(env, build_reduce, reduced, &o, "reduction");
	o.dtype = ACCEL_S32;
	for (; o.func < ACCEL_REDUCE_COUNT; o.func++)
		for (o.flags = 0; o.flags < 2; o.flags++)
			check(env, build_reduce, reduced, &o, "position");
}

static const struct accel_desc *build_scan(struct op_case *c, const void *arg)
{
	struct accel_scan_desc *s = NEW(struct accel_scan_desc, ACCEL_SCAN_DESC_INIT);

	s->flags = ((const struct odd_case *)arg)->flags;
	all_lines(made_2d(c, &s->a, LINES, 3));
	made_2d(c, &s->d, LINES, 3);
	return &s->hdr;
}

static struct plain scanned(const struct accel_desc *desc, uint32_t index, int64_t n)
{
	const struct accel_scan_desc *s = (const void *)desc;
	const bool back = s->flags & ACCEL_SCAN_REVERSE, less = s->flags & ACCEL_SCAN_EXCLUSIVE;
	struct plain p = { 0, FLT_TRUE_MIN, false };
	int64_t i, at = n % 3;

	(void)index;
	for (i = 0; i < 3; i++)
		if ((back ? i > at : i < at) || (i == at && !less)) {
			p.v += f32(&s->a)[n / 3 * 3 + i];
			p.mag += fabsl((real)f32(&s->a)[n / 3 * 3 + i]);
		}
	return p;
}

static void test_scan(struct op_env *env)
{
	struct odd_case o = { 0 };

	for (o.flags = 0; o.flags < 4; o.flags++)
		check(env, build_scan, scanned, &o, "running sum");
}

static const struct accel_desc *build_topk(struct op_case *c, const void *arg)
{
	struct accel_topk_desc *t = NEW(struct accel_topk_desc, ACCEL_TOPK_DESC_INIT);

	t->flags = ((const struct odd_case *)arg)->flags;
	all_lines(made_2d(c, &t->a, LINES, 3));
	made_2d(c, &t->d, LINES, 2);
	made(c, &t->indices, ACCEL_S32, 2, (const int64_t[]){ LINES, 2 });
	return &t->hdr;
}

/* How many are before element @i */
static int64_t before(const float *x, int64_t i, bool smallest)
{
	int64_t j, n = 0;

	for (j = 0; j < 3; j++) {
		const bool more = isnan(x[j]) ? !isnan(x[i]) : x[j] > x[i];
		const bool less = isnan(x[i]) ? !isnan(x[j]) : x[j] < x[i];

		n += smallest ? less : more;
		n += !less && !more && j < i;
	}
	return n;
}

static struct plain chosen(const struct accel_desc *desc, uint32_t index, int64_t n)
{
	const struct accel_topk_desc *t = (const void *)desc;
	const float *x = f32(&t->a) + n / 2 * 3;
	int64_t i = 0;

	while (before(x, i, t->flags & ACCEL_TOPK_SMALLEST) != n % 2)
		i++;
	return index ? number(i) : number(x[i]);
}

static void test_topk(struct op_env *env)
{
	struct odd_case o = { 0 };

	for (o.flags = 0; o.flags < 2; o.flags++)
		check(env, build_topk, chosen, &o, "topk");
}

/* --- scales of lines --------------------------------------------------------------- */

static const struct accel_desc *build_dynquant(struct op_case *c, const void *arg)
{
	struct accel_dynquant_desc *q = NEW(struct accel_dynquant_desc, ACCEL_DYNQUANT_DESC_INIT);
	const struct odd_case *o = arg;

	q->flags = o->flags;
	q->axes = ACCEL_AXIS(1);
	all_lines(made_2d(c, &q->a, LINES, 3));
	made(c, &q->d, o->dtype, 2, (const int64_t[]){ LINES, 3 });
	made_2d(c, &q->scales, LINES, 1);
	if (o->flags)
		made(c, &q->zeros, ACCEL_S32, 2, (const int64_t[]){ LINES, 1 });
	return &q->hdr;
}

/* A scale, or a zero point, or a byte: in binary32, each operation rounded once */
static struct plain line_byte(const float *x, int64_t n, int64_t at, uint32_t index, bool asym,
			      uint32_t dtype, uint32_t scale_dtype)
{
	const real low = dtype == ACCEL_S8 ? -128 : 0;
	float most = 0, least = 0, scale, zero;
	bool nan = false;
	int64_t i;

	for (i = 0; i < n; i++) {
		nan |= isnan(x[i]);
		most = fmaxf(most, x[i]);
		least = fminf(least, x[i]);
	}
	scale = nan ? NAN : asym ? (most - least) / 255 : fmaxf(most, -least) / 127;
	scale = (float)nearest(scale, scale_dtype);
	if (scale == 0)
		scale = 1;
	zero = -least / scale;
	zero = (float)(asym ? whole(isnan(zero) ? low : rintl(zero) + low, dtype) : low + 128);
	if (index)
		return number(index == 1 ? scale : zero);
	scale = x[at] / scale;
	return number(whole((isnan(scale) ? 0 : rintl(scale)) + zero, dtype));
}

static struct plain quantised(const struct accel_desc *desc, uint32_t index, int64_t n)
{
	const struct accel_dynquant_desc *q = (const void *)desc;

	return line_byte(f32(&q->a) + (index ? n : n / 3) * 3, 3, n % 3, index,
			 q->flags & ACCEL_DYNQUANT_ASYMMETRIC, q->d.dtype, ACCEL_F32);
}

static void test_dynquant(struct op_env *env)
{
	struct odd_case o = { 0 };

	for (o.dtype = ACCEL_S8; o.dtype <= ACCEL_U8; o.dtype++)
		for (o.flags = 0; o.flags < 2; o.flags++)
			check(env, build_dynquant, quantised, &o, "dynquant");
}

#define PAGE	8

/* Lines into the slots of a cache, from the end; some meet, some go nowhere. */
static const struct accel_desc *build_write(struct op_case *c, const void *arg)
{
	struct accel_kv_write_desc *w = NEW(struct accel_kv_write_desc, ACCEL_KV_WRITE_DESC_INIT);
	const int64_t pool[] = { LINES / PAGE, PAGE, 1, 3 }, table[] = { LINES / PAGE, PAGE, 1, 1 };
	const struct odd_case *o = arg;
	int32_t *slots, i;

	w->flags = o->flags;
	all_lines(made(c, &w->a, ACCEL_F32, 3, (const int64_t[]){ LINES, 1, 3 }));
	slots = made(c, &w->slots, ACCEL_S32, 1, (const int64_t[]){ LINES });
	for (i = 0; i < LINES; i++)
		slots[i] = i % 5 == 4 ? ACCEL_KV_WRITE_SKIP : (int32_t)LINES - 1 - i + (i % 7 == 6);
	made(c, &w->d, o->dtype, 4, pool);
	if (o->dtype > ACCEL_BF16)
		made(c, &w->scales, o->func, 4, table);
	if (o->flags)
		made(c, &w->zeros, ACCEL_S32, 4, table);
	return &w->hdr;
}

static struct plain written(const struct accel_desc *desc, uint32_t index, int64_t n)
{
	const struct accel_kv_write_desc *w = (const void *)desc;
	const int32_t *slots = accel_bo_ptr(w->slots.bo);
	const int64_t slot = index ? n : n / 3;
	int64_t i, row = -1;

	/* One of two rows, see build_write(), and the later one if it is both. */
	for (i = LINES - 1 - slot; i <= LINES - slot && i < LINES; i++)
		if (slots[i] == slot)
			row = i;
	/* What is there already is 0. */
	if (row < 0)
		return number(0);
	return w->scales.rank ? line_byte(f32(&w->a) + 3 * row, 3, n % 3, index, w->flags,
					  w->d.dtype, w->scales.dtype) :
				number(f32(&w->a)[3 * row + n % 3]);
}

static void test_write(struct op_env *env)
{
	struct odd_case o = { 0 };

	for (o.dtype = ACCEL_F32; o.dtype <= ACCEL_BF16; o.dtype++)
		check(env, build_write, written, &o, "cache");
	for (o.dtype = ACCEL_S8; o.dtype <= ACCEL_U8; o.dtype++)
		for (o.flags = 0; o.flags < 2; o.flags++)
			for (o.func = ACCEL_F32; o.func <= ACCEL_F16; o.func++)
				check(env, build_write, written, &o, "cache of bytes");
}

static const struct accel_desc *build_norm(struct op_case *c, const void *arg)
{
	/* Lines of three in a row, whatever they are along */
	static const struct {
		uint32_t rank, scales;
		int64_t dims[3];
	} shapes[] = {
		[ACCEL_NORM_LAYER] = { 2, 3, { LINES, 3 } },
		[ACCEL_NORM_RMS] = { 2, 3, { LINES, 3 } },
		[ACCEL_NORM_GROUP] = { 2, 6, { LINES / 2, 6 } },
		[ACCEL_NORM_INSTANCE] = { 3, 2, { LINES / 2, 2, 3 } },
		[ACCEL_NORM_BATCH] = { 3, ODD, { ODD, ODD, 3 * ODD } },
	}, *shape;
	struct accel_norm_desc *d = NEW(struct accel_norm_desc, ACCEL_NORM_DESC_INIT);
	const struct odd_case *o = arg;
	uint32_t i;
	float *f;

	shape = &shapes[o->func];
	d->func = o->func;
	d->flags = o->flags;
	d->eps = o->p[0];
	d->groups = o->func == ACCEL_NORM_GROUP ? 2 : 0;
	all_lines(made(c, &d->a, ACCEL_F32, shape->rank, shape->dims));
	f = made_1d(c, &d->scale, shape->scales);
	for (i = 0; i < shape->scales; i++)
		f[i] = i % 3 == 2 ? o->p[1] : (float)(1 - 3 * (i % 3));
	if (o->func == ACCEL_NORM_BATCH) {
		memcpy(made_1d(c, &d->mean, ODD), odd, sizeof(odd));
		f = made_1d(c, &d->variance, ODD);
		for (i = 0; i < ODD; i++)
			f[i] = fabsf(odd[(i + 3) % ODD]);
	}
	made(c, &d->d, o->dtype, shape->rank, shape->dims);
	if (o->flags)
		made_2d(c, &d->scales, LINES, 1);
	if (o->flags & ACCEL_NORM_ASYMMETRIC)
		made(c, &d->zeros, ACCEL_S32, 2, (const int64_t[]){ LINES, 1 });
	return &d->hdr;
}

/* The element of a scale for an element */
static int64_t factor_of(const struct accel_norm_desc *d, int64_t n)
{
	return d->func == ACCEL_NORM_GROUP ? n % 6 : d->func == ACCEL_NORM_INSTANCE ? n / 3 % 2 :
	       d->func == ACCEL_NORM_BATCH ? n / 3 / ODD % ODD : n % 3;
}

/* By a given mean and variance: each step is rounded to binary32. */
static struct plain normed_by(const struct accel_norm_desc *d, int64_t n)
{
	const int64_t c = factor_of(d, n);
	const float x = f32(&d->a)[n] - f32(&d->mean)[c];
	const float y = x / sqrtf(f32(&d->variance)[c] + d->eps);

	return number((real)y * f32(&d->scale)[c]);
}

static struct plain normed(const struct accel_desc *desc, uint32_t index, int64_t n)
{
	const struct accel_norm_desc *d = (const void *)desc;
	const real factor = f32(&d->scale)[factor_of(d, n)];
	const float *x = f32(&d->a) + n / 3 * 3;
	real mean = 0, var = 0, y;
	struct plain p = { 0 };
	int64_t i;

	(void)index;
	if (d->func == ACCEL_NORM_BATCH)
		return normed_by(d, n);
	if (d->func != ACCEL_NORM_RMS)
		mean = ((real)x[0] + x[1] + x[2]) / 3;
	for (i = 0; i < 3; i++)
		var += (x[i] - mean) * (x[i] - mean) / 3;
	y = (x[n % 3] - mean) / sqrtl(var + d->eps);
	/* A difference from the mean is known to a part of the numbers. */
	p.mag = FLT_MIN;
	for (i = 0; i < 3 && isfinite(mean) && var + d->eps > 0; i++)
		p.mag += fabsl((real)x[i]) / sqrtl(var + d->eps);
	p.v = wide(y) * factor;
	p.mag *= fabsl(factor);
	/* 0 by 0, where rounding makes something of either */
	p.open = mean != 0 && isfinite(mean) && var + d->eps < mean * mean / 1e20L;
	return p;
}

/* What the scale of a line follows from: its results, as binary32 has them */
static struct plain normed_byte(const struct accel_desc *desc, uint32_t index, int64_t n)
{
	const struct accel_norm_desc *d = (const void *)desc;
	const bool asym = d->flags & ACCEL_NORM_ASYMMETRIC;
	const real low = d->d.dtype == ACCEL_S8 ? -128 : 0, steps = asym ? 255 : 127;
	const int64_t first = index ? 3 * n : n / 3 * 3;
	real most = 0, least = 0, range, mag = 0, scale, zero;
	struct plain p, q = { 0 };
	bool nan = false;
	int64_t i;

	for (i = 0; i < 3; i++) {
		p = normed(desc, 0, first + i);
		/* Or one that is infinite */
		q.open |= p.open || fabsl(fabsl(p.v) - FLT_MAX) < FLT_MAX * 0.000001L;
		p.v = wide(p.v);
		nan |= isnan(p.v);
		most = fmaxl(most, p.v);
		least = fminl(least, p.v);
		mag = fmaxl(mag, p.mag);
	}
	range = nan ? NAN : asym ? most - least : fmaxl(most, -least);
	scale = range / steps;
	zero = asym ? low - (isfinite(range) ? least / scale : 0) : low + 128;
	/* Whether there is anything but 0, rounding decides: then it may be 1. */
	q.open |= range <= mag * 0.000001L + 1 / 1e40L;
	q.mag = index == 2 ? mag / steps : 255 + (isfinite(range) ? mag / scale : 0);
	/* The zero point is rounded before what is added to it. */
	q.room = asym && !index ? 0.5L : 0;
	p = normed(desc, 0, n);
	q.v = index == 2 ? scale : zero + (index || !isfinite(range) ? 0 : wide(p.v) / scale);
	return q;
}

static void test_norm(struct op_env *env)
{
	static const float p[][2] = { { 0.00001f, 1 }, { 0, 1 }, { 0.5f, FLT_MAX } };
	struct odd_case o = { 0 };
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(p); i++)
		for (o.func = 0; o.func < ACCEL_NORM_COUNT; o.func++) {
			memcpy(o.p, p[i], sizeof(p[i]));
			o.flags = 0;
			o.dtype = ACCEL_F32;
			check(env, build_norm, normed, &o, "norm");
			/* The order of sums is left open, and so is what bytes are rounded to. */
			if (env->ref || o.func > ACCEL_NORM_RMS)
				continue;
			for (o.dtype = ACCEL_S8; o.dtype <= ACCEL_U8; o.dtype++) {
				o.flags = ACCEL_NORM_DYNQUANT;
				check(env, build_norm, normed_byte, &o, "norm");
				o.flags |= ACCEL_NORM_ASYMMETRIC;
				check(env, build_norm, normed_byte, &o, "norm");
			}
		}
}

/* --- windows ----------------------------------------------------------------------- */

static const struct accel_desc *build_pool(struct op_case *c, const void *arg)
{
	struct accel_pool_desc *p = NEW(struct accel_pool_desc, ACCEL_POOL_DESC_INIT);
	const struct odd_case *o = arg;

	p->func = o->func;
	p->norm = o->flags;
	p->kernel[0] = 3;
	all_lines(made(c, &p->a, ACCEL_F32, 3, (const int64_t[]){ 1, LINES, 3 }));
	made(c, &p->d, ACCEL_F32, 3, (const int64_t[]){ 1, LINES, 1 });
	return &p->hdr;
}

/* In binary32, one after the other: all but a root beyond the second is known. */
static struct plain pooled(const struct accel_desc *desc, uint32_t index, int64_t n)
{
	const struct accel_pool_desc *p = (const void *)desc;
	const float *x = f32(&p->a) + 3 * n;
	float sum = 0, power, top = -INFINITY;
	uint32_t i, j;

	(void)index;
	for (i = 0; i < 3; i++) {
		for (power = fabsf(x[i]), j = 1; j < p->norm; j++)
			power *= fabsf(x[i]);
		sum += p->func == ACCEL_POOL_LP ? power : x[i];
		top = isnan(x[i]) || isnan(top) ? NAN : x[i] >= top ? x[i] : top;
	}
	if (p->func == ACCEL_POOL_MAX)
		return number(top);
	if (p->func == ACCEL_POOL_AVERAGE)
		return number(sum / 3);
	return number(p->norm == 1 ? sum : p->norm == 2 ? sqrtf(sum) :
		      powl(sum, 1 / (real)p->norm));
}

static void test_pool(struct op_env *env)
{
	struct odd_case o = { 0 };

	for (o.func = 0; o.func < ACCEL_POOL_LP; o.func++)
		check(env, build_pool, pooled, &o, "pool");
	for (o.flags = 1; o.flags < 4; o.flags++)
		check(env, build_pool, pooled, &o, "pool");
}

static const struct accel_desc *build_resize(struct op_case *c, const void *arg)
{
	struct accel_resize_desc *z = NEW(struct accel_resize_desc, ACCEL_RESIZE_DESC_INIT);
	const struct odd_case *o = arg;

	z->func = o->func;
	z->flags = o->flags;
	all_lines(made_2d(c, &z->a, LINES, 3));
	made_2d(c, &z->d, LINES, 5);
	return &z->hdr;
}

static real keys(real t)
{
	const real a = -0.75L;

	t = fabsl(t);
	return t <= 1 ? (a + 2) * t * t * t - (a + 3) * t * t + 1 :
			a * t * t * t - 5 * a * t * t + 8 * a * t - 4 * a;
}

/* Five of three, by the centres of elements */
static struct plain resized(const struct accel_desc *desc, uint32_t index, int64_t n)
{
	const struct accel_resize_desc *z = (const void *)desc;
	const float *x = f32(&z->a) + n / 5 * 3;
	/* 10 times the coordinate */
	const int64_t at = (2 * (n % 5) + 1) * 3 - 5, base = at < 0 ? -1 : at / 10;
	const real t = (at - 10 * base) / 10.0L;
	const bool cubic = z->func == ACCEL_RESIZE_CUBIC;
	const bool left_out = z->flags & ACCEL_RESIZE_EXCLUDE;
	struct plain p = { 0, 0, false };
	real w, sum = 0, finite = 0;
	int64_t i, k;

	(void)index;
	if (z->func == ACCEL_RESIZE_NEAREST)
		return number(x[at < 0 ? 0 : (at + 4) / 10]);
	for (i = base - cubic; i <= base + 1 + cubic; i++)
		sum += left_out && (i < 0 || i > 2) ? 0 : keys(t - (i - base));
	for (i = base - cubic; i <= base + 1 + cubic; i++) {
		w = cubic ? keys(t - (i - base)) / (left_out ? sum : 1) : i == base ? 1 - t : t;
		k = i < 0 ? 0 : i > 2 ? 2 : i;
		if (left_out && k != i)
			w = 0;
		p.v += w * x[k];
		/* A weight is off by so much of 1, not of itself; what divides it may be less. */
		p.mag += ((left_out ? 10 : 1) + fabsl(w)) * fabsl((real)x[k]);
		finite += isfinite(x[k]) ? fabsl(w * x[k]) : 0;
	}
	p.open = finite > FLT_MAX / 1.01L && cubic;
	return p;
}

static void test_resize(struct op_env *env)
{
	struct odd_case o = { 0 };

	for (o.func = 0; o.func < ACCEL_RESIZE_COUNT; o.func++)
		check(env, build_resize, resized, &o, "resize");
	o.func = ACCEL_RESIZE_CUBIC;
	o.flags = ACCEL_RESIZE_EXCLUDE;
	check(env, build_resize, resized, &o, "resize");
}

/* --- products ---------------------------------------------------------------------- */

static const float columns[][3] = {
	{ 1, 1, 1 }, { 1, -1, 0.5f }, { 0, 1, 2 }, { 1e30f, 1, 1 / 1e30f }, { 1, INFINITY, 1 },
	{ 1, 1, NAN }, { FLT_TRUE_MIN, -3, -INFINITY },
};

#define COLUMNS	((int64_t)ARRAY_SIZE(columns))

static const struct accel_desc *build_gemm(struct op_case *c, const void *arg)
{
	struct accel_gemm_desc *g = NEW(struct accel_gemm_desc, ACCEL_GEMM_DESC_INIT);
	const struct odd_case *o = arg;
	float *b;
	int64_t i, j;

	all_lines(made_2d(c, &g->a, LINES, 3));
	b = made_2d(c, &g->b, 3, COLUMNS);
	for (i = 0; i < 3; i++)
		for (j = 0; j < COLUMNS; j++)
			b[i * COLUMNS + j] = columns[j][i];
	made_2d(c, &g->d, LINES, COLUMNS);
	set_act(&g->epilogue, o->func, 0.5f, 0.5f);
	if (o->p[0] != 1) {
		g->flags = ACCEL_GEMM_ALPHA;
		g->alpha = o->p[0];
	}
	/* A scale of each column, and what is added to all */
	if (o->p[1] != 1) {
		b = made_1d(c, &g->epilogue.scale, COLUMNS);
		for (j = 0; j < COLUMNS; j++)
			b[j] = o->p[1];
	}
	if (o->p[2] != 0)
		made_1d(c, &g->epilogue.bias, 1)[0] = o->p[2];
	if (o->p[3] != 0) {
		g->beta = o->p[3];
		b = made_2d(c, &g->c, LINES, COLUMNS);
		for (i = 0; i < LINES * COLUMNS; i++)
			b[i] = FLT_MAX;
	}
	return &g->hdr;
}

/* What follows a sum of products, step by step; @open: nothing is known any more */
static void follow(struct plain *p, real v, real mag)
{
	p->open |= fabsl(fabsl(v) - BEYOND) < mag * 0.000001L;
	p->v = wide(v);
	p->mag = mag + FLT_MIN;
}

static struct plain product(const struct accel_desc *desc, uint32_t index, int64_t n)
{
	const struct accel_gemm_desc *g = (const void *)desc;
	const struct accel_epilogue *e = &g->epilogue;
	const float *a = f32(&g->a) + n / COLUMNS * 3, *b = f32(&g->b) + n % COLUMNS;
	const real beta = g->beta, alpha = g->flags & ACCEL_GEMM_ALPHA ? g->alpha : 1;
	real add, terms[3];
	struct plain p;
	int64_t i;

	(void)index;
	for (i = 0; i < 3; i++)
		terms[i] = (real)a[i] * b[i * COLUMNS];
	p = sum_of(terms, 3);
	follow(&p, p.v, p.mag);
	if (alpha != 1)
		follow(&p, p.v * alpha, p.mag * fabsl(alpha));
	if (beta != 0) {
		add = wide(beta * f32(&g->c)[0]);
		follow(&p, p.v + add, p.mag + (isfinite(add) ? fabsl(add) : 0));
	}
	if (e->scale.rank) {
		add = f32(&e->scale)[n % COLUMNS];
		/* Whether it is 0, and of which sign, rounding decides. */
		p.open |= isinf(add) && fabsl(p.v) < p.mag * 0.000001L + FLT_MIN;
		follow(&p, p.v * add, p.mag * fabsl(add));
	}
	if (e->bias.rank) {
		add = f32(&e->bias)[0];
		follow(&p, p.v + add, p.mag + (isfinite(add) ? fabsl(add) : 0));
	}
	p.mag = fmaxl(p.mag, act_mag(e->act, p.v, e->p0, e->p1));
	p.v = plain_act(e->act, p.v, e->p0, e->p1);
	return p;
}

static void test_gemm(struct op_env *env)
{
	static const float steps[][4] = {
		{ 1, 1, 0, 0 }, { 0, 1, 0, 0 }, { 1e20f, 1 / 1e20f, 0, 0 },
		{ 1 / 1e20f, 1e20f, 0, 0 },
		{ 1, 1, 1, 10 }, { 1, 1, INFINITY, 0 }, { 1, 0, -FLT_MAX, 0 },
		{ 1, INFINITY, 0, 0 },
	};
	struct odd_case o = { 0 };
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		memcpy(o.p, steps[i], sizeof(steps[i]));
		o.flags = i;
		check(env, build_gemm, product, &o, "product, steps");
	}
	memcpy(o.p, steps[0], sizeof(steps[0]));
	o.flags = 0;
	for (o.func = 1; o.func < ACCEL_ACT_COUNT; o.func++)
		check(env, build_gemm, product, &o, "product, activation");
}

/* Groups of 16 that are rounded to bytes: of ordinary numbers but for one or two */
#define GROUP	16

static const struct accel_desc *build_rounded(struct op_case *c, const void *arg)
{
	struct accel_gemm_desc *g = NEW(struct accel_gemm_desc, ACCEL_GEMM_DESC_INIT);
	float *a, *b, *scales;
	int64_t i, j;

	(void)arg;
	a = made_2d(c, &g->a, ODD * ODD, 2 * GROUP);
	for (i = 0; i < ODD * ODD; i++)
		for (j = 0; j < 2 * GROUP; j++)
			a[i * 2 * GROUP + j] = j == 3 ? odd[i / ODD] : j == 7 ? odd[i % ODD] :
					       (float)(j % 5) - 2;
	b = made(c, &g->b, ACCEL_S8, 2, (const int64_t[]){ 2 * GROUP, 2 });
	for (i = 0; i < 2 * GROUP; i++) {
		((int8_t *)b)[2 * i] = (int8_t)(i % 3 - 1);
		((int8_t *)b)[2 * i + 1] = i == 3 || i == 20;
	}
	g->b.quant = (struct accel_quant){ .scheme = ACCEL_QUANT_GROUP, .group = GROUP };
	assert_int_equal(accel_bo_create(c->ctx, 64, NULL, &g->b.quant.scales), 0);
	c->bos[c->bo_count++] = g->b.quant.scales;
	scales = accel_bo_ptr(g->b.quant.scales);
	for (i = 0; i < 4; i++)
		scales[i] = 1;
	made_2d(c, &g->d, ODD * ODD, 2);
	g->a_group = GROUP;
	return &g->hdr;
}

static struct plain rounded(const struct accel_desc *desc, uint32_t index, int64_t n)
{
	const struct accel_gemm_desc *g = (const void *)desc;
	const float *a = f32(&g->a) + n / 2 * 2 * GROUP;
	const int8_t *b = accel_bo_ptr(g->b.bo);
	real p[2 * GROUP];
	bool open = false;
	struct plain s;
	int64_t i;

	(void)index;
	for (i = 0; i < 2 * GROUP; i++) {
		const float *run = a + i / GROUP * GROUP;
		const real scale = line_byte(run, GROUP, 0, 1, false, ACCEL_S8,
					     ACCEL_F32).v;

		p[i] = line_byte(run, GROUP, i % GROUP, 0, false, ACCEL_S8, ACCEL_F32).v *
		       scale;
		/* As a number it may be infinite, and in a sum of bytes not. */
		open |= isfinite(p[i]) && fabsl(p[i]) > FLT_MAX;
		p[i] *= b[2 * i + n % 2];
	}
	s = sum_of(p, 2 * GROUP);
	s.open |= open;
	return s;
}

static void test_rounded(struct op_env *env)
{
	const struct odd_case o = { 0 };

	check(env, build_rounded, rounded, &o, "rows as bytes");
}

/* Images of 9 x 9, one element of which is odd; or kernels, one tap of which is */
#define SIDE	9

static const struct accel_desc *build_conv(struct op_case *c, const void *arg)
{
	struct accel_conv_desc *d = NEW(struct accel_conv_desc, ACCEL_CONV_DESC_INIT);
	const struct odd_case *o = arg;
	const int64_t images = o->flags ? 1 : ODD, kernels = o->flags ? ODD : 1;
	float *a, *b;
	int64_t i;

	d->algorithm = o->func;
	d->flags = o->func >= ACCEL_CONV_WINOGRAD_2 ? ACCEL_CONV_PACK_B : 0;
	d->pad_before[0] = d->pad_before[1] = d->pad_after[0] = d->pad_after[1] = 1;
	a = made(c, &d->a, ACCEL_F32, 4, (const int64_t[]){ images, 2, SIDE, SIDE });
	for (i = 0; i < images * 2 * SIDE * SIDE; i++)
		a[i] = (float)(i % 7) - 3;
	b = made(c, &d->b, ACCEL_F32, 4, (const int64_t[]){ kernels, 2, 3, 3 });
	for (i = 0; i < kernels * 18; i++)
		b[i] = (float)(i % 5) - 2;
	for (i = 0; i < ODD; i++)
		if (o->flags)
			b[i * 18 + (o->flags == 1 ? 4 : 0)] = odd[i];
		else
			a[(i * 2 + 1) * SIDE * SIDE + 4 * SIDE + 4] = odd[i];
	made(c, &d->d, ACCEL_F32, 4, (const int64_t[]){ images, kernels, SIDE, SIDE });
	return &d->hdr;
}

static struct plain convolved(const struct accel_desc *desc, uint32_t index, int64_t n)
{
	const struct accel_conv_desc *d = (const void *)desc;
	const int64_t x = n % SIDE, y = n / SIDE % SIDE, m = n / SIDE / SIDE % d->d.dims[1];
	const int64_t image = n / SIDE / SIDE / d->d.dims[1];
	const float *a = f32(&d->a) + image * 2 * SIDE * SIDE, *b = f32(&d->b) + m * 18;
	bool edge = false, huge = false;
	real p[18];
	struct plain s;
	int64_t i, k = 0;

	(void)index;
	for (i = 0; i < 18; i++) {
		const int64_t u = y + i / 3 % 3 - 1, v = x + i % 3 - 1;

		huge |= !(fabsf(b[i]) <= 1000);
		if (u >= 0 && u < SIDE && v >= 0 && v < SIDE)
			p[k++] = (real)b[i] * a[(i / 9 * SIDE + u) * SIDE + v];
		else
			edge |= !isfinite(b[i]);
	}
	for (i = 0; i < 2 * SIDE * SIDE; i++)
		huge |= !(fabsf(a[i]) <= 1000);
	s = sum_of(p, k);
	/* Weights may meet the padding; tiles that are transformed have more in them. */
	s.open |= edge || (d->algorithm >= ACCEL_CONV_WINOGRAD_2 && huge);
	s.mag = fmaxl(s.mag, d->algorithm >= ACCEL_CONV_WINOGRAD_2 ? 100000 : 10);
	return s;
}

static void test_conv(struct op_env *env)
{
	struct odd_case o = { 0 };

	for (o.func = 0; o.func < ACCEL_CONV_ALGORITHM_COUNT; o.func++)
		for (o.flags = 0; o.flags < 3 && o.func != ACCEL_CONV_GEMM; o.flags++)
			check(env, build_conv, convolved, &o, "convolution");
}

/* Numbers as another type has them: bytes have a scale of 1/2. */
static void narrowed(struct op_case *c, struct accel_tensor *t, uint32_t dtype, int64_t m,
		     int64_t n, const float *x)
{
	void *to = made(c, t, dtype, 2, (const int64_t[]){ m, n });
	uint32_t bits;
	int64_t i;

	if (dtype > ACCEL_BF16)
		t->quant = (struct accel_quant){ .scheme = ACCEL_QUANT_TENSOR, .scale = 0.5f };
	for (i = 0; i < m * n; i++) {
		memcpy(&bits, &x[i], sizeof(bits));
		if (dtype == ACCEL_F32)
			((float *)to)[i] = x[i];
		else if (dtype == ACCEL_F16)
			((uint16_t *)to)[i] = oracle_f16_bits((double)x[i]);
		else if (dtype == ACCEL_BF16)
			((uint16_t *)to)[i] = (uint16_t)(bits >> 16);
		else
			((int8_t *)to)[i] = (int8_t)(2 * x[i]);
	}
}

static const struct accel_desc *build_ffn(struct op_case *c, const void *arg)
{
	struct accel_ffn_desc *f = NEW(struct accel_ffn_desc, ACCEL_FFN_DESC_INIT);
	const struct odd_case *o = arg;
	const bool bytes = o->dtype > ACCEL_BF16;
	float x[2 * ODD * ODD], *bias;
	int64_t i;

	f->hidden_dtype = o->dtype;
	f->act = o->func;
	for (i = 0; i < ODD * ODD; i++) {
		x[2 * i] = bytes ? (float)(i % 5) : odd[i / ODD];
		x[2 * i + 1] = bytes ? -1 : odd[i % ODD];
	}
	narrowed(c, &f->a, o->dtype, ODD * ODD, 2, x);
	/* Of bytes there is none: what is added to their product is odd. */
	if (bytes) {
		f->hidden_scale = 0.5f;
		f->hidden_zero = 3;
		bias = made_1d(c, &f->up_bias, 2);
		bias[0] = NAN;
		bias[1] = o->func ? INFINITY : -INFINITY;
	}
	narrowed(c, &f->up, o->dtype, 2, 2, (const float[]){ 1, 0.5f, 0.5f, 1 });
	if (o->flags)
		narrowed(c, &f->gate, o->dtype, 2, 2, (const float[]){ 1, 1, 1, 1 });
	narrowed(c, &f->down, o->dtype, 2, 1, (const float[]){ 1, -2 });
	made_2d(c, &f->d, ODD * ODD, 1);
	return &f->hdr;
}

static struct plain fed(const struct accel_desc *desc, uint32_t index, int64_t n)
{
	const struct accel_ffn_desc *f = (const void *)desc;
	const float *a = f32(&f->a) + 2 * n;
	real in[2], p[2], mag = 1;
	struct plain h, g, s;
	bool open = false;
	int64_t i;

	(void)index;
	for (i = 0; i < 2; i++) {
		in[0] = (i ? 0.5L : 1) * a[0];
		in[1] = (i ? 1 : 0.5L) * a[1];
		h = sum_of(in, 2);
		open |= h.open;
		if (f->gate.rank) {
			g = sum_of((const real[]) { a[0], a[1] }, 2);
			g.v = plain_act(f->act, wide(g.v), 0, 0);
			h.v = wide(h.v);
			/* Which of both is 0, rounding decides. */
			open |= g.open || (isinf(h.v) && fabsl(g.v) < FLT_MIN) ||
				(isinf(g.v) && fabsl(h.v) < fmaxl(h.mag * 0.000001L, FLT_MIN));
			h.v *= g.v;
			h.mag *= g.mag;
		} else {
			h.v = plain_act(f->act, wide(h.v), 0, 0);
		}
		mag += 2 * h.mag;
		p[i] = wide(h.v) * (i ? -2 : 1);
	}
	s = sum_of(p, 2);
	s.open |= open;
	s.mag += mag;
	return s;
}

/* Narrow types between the products: the device alone, which numbers are known to a part. */
static void test_ffn(struct op_env *env)
{
	static const uint32_t acts[] = { ACCEL_ACT_NONE, ACCEL_ACT_RELU, ACCEL_ACT_SILU };
	struct odd_case o = { 0 };
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(acts); i++)
		for (o.flags = 0; o.flags < 2; o.flags++)
			for (o.dtype = ACCEL_F32; o.dtype <= ACCEL_S8; o.dtype++) {
				if (o.dtype == ACCEL_S32)
					continue;
				o.func = acts[i];
				check(env, build_ffn, o.dtype == ACCEL_F32 ? fed : NULL, &o,
				      "network");
			}
}

static const struct accel_desc *build_rotary(struct op_case *c, const void *arg)
{
	static const float turns[][2] = {
		{ 1, 0 }, { 0, 1 }, { 0.6f, 0.8f }, { -0.8f, 0.6f }, { 3, -4 }, { INFINITY, 0 },
		{ 0.5f, NAN }, { FLT_MIN, 1 },
	};
	struct accel_rotary_desc *r = NEW(struct accel_rotary_desc, ACCEL_ROTARY_DESC_INIT);
	const int64_t n = ARRAY_SIZE(turns);
	float *a, *cosines, *sines;
	int64_t i, j;

	(void)arg;
	a = made(c, &r->a, ACCEL_F32, 4, (const int64_t[]){ 1, n, ODD * ODD, 2 });
	for (i = 0; i < n; i++)
		for (j = 0; j < ODD * ODD; j++) {
			a[(i * ODD * ODD + j) * 2] = odd[j / ODD];
			a[(i * ODD * ODD + j) * 2 + 1] = odd[j % ODD];
		}
	cosines = made_2d(c, &r->cosines, n, 1);
	sines = made_2d(c, &r->sines, n, 1);
	for (i = 0; i < n; i++) {
		cosines[i] = turns[i][0];
		sines[i] = turns[i][1];
	}
	made(c, &r->d, ACCEL_F32, 4, (const int64_t[]){ 1, n, ODD * ODD, 2 });
	return &r->hdr;
}

static struct plain turned(const struct accel_desc *desc, uint32_t index, int64_t n)
{
	const struct accel_rotary_desc *r = (const void *)desc;
	const int64_t row = n / 2 / (ODD * ODD);
	const real x0 = f32(&r->a)[n / 2 * 2], x1 = f32(&r->a)[n / 2 * 2 + 1];
	const real c = f32(&r->cosines)[row], s = f32(&r->sines)[row];
	struct plain p = n % 2 ? sum_of((const real[]) { x1 * c, x0 * s }, 2) :
				 sum_of((const real[]) { x0 * c, -x1 * s }, 2);

	(void)index;
	return p;
}

static void test_rotary(struct op_env *env)
{
	const struct odd_case o = { 0 };

	check(env, build_rotary, turned, &o, "rotary");
}

static const struct accel_desc *build_scatter(struct op_case *c, const void *arg)
{
	struct accel_scatter_desc *s = NEW(struct accel_scatter_desc, ACCEL_SCATTER_DESC_INIT);
	const int64_t n = ODD * ODD;
	float *a, *u;
	int64_t i;

	s->reduce = ((const struct odd_case *)arg)->func;
	a = made_1d(c, &s->a, n);
	u = made_1d(c, &s->c, n);
	for (i = 0; i < n; i++) {
		a[i] = odd[i / ODD];
		u[i] = odd[i % ODD];
	}
	a = made(c, &s->b, ACCEL_S32, 1, &n);
	for (i = 0; i < n; i++)
		((int32_t *)a)[i] = (int32_t)i;
	made_1d(c, &s->d, n);
	return &s->hdr;
}

static struct plain scattered(const struct accel_desc *desc, uint32_t index, int64_t n)
{
	static const uint32_t as[] = {
		[ACCEL_SCATTER_ADD] = ACCEL_BINARY_ADD, [ACCEL_SCATTER_MUL] = ACCEL_BINARY_MUL,
		[ACCEL_SCATTER_MAX] = ACCEL_BINARY_MAX, [ACCEL_SCATTER_MIN] = ACCEL_BINARY_MIN,
	};
	const struct accel_scatter_desc *s = (const void *)desc;
	const real a = f32(&s->a)[n], u = f32(&s->c)[n];

	(void)index;
	return s->reduce == ACCEL_SCATTER_PUT ? number(u) :
	       (struct plain){ plain_binary(as[s->reduce], a, u), fabsl(a) + fabsl(u), false };
}

static void test_scatter(struct op_env *env)
{
	struct odd_case o = { 0 };

	for (o.func = 0; o.func < ACCEL_SCATTER_REDUCE_COUNT; o.func++)
		check(env, build_scatter, scattered, &o, "scatter");
}

/* --- networks of operations ---------------------------------------------------------- */

/* The values of one, which the device has been held against, are those of the operation alone. */
static void check_node(struct net *n, int i, const struct accel_desc *desc, plain_fn *plain,
		       const char *what)
{
	struct accel_queue_opts opts = ACCEL_QUEUE_OPTS_INIT;
	const struct net_node *x = &n->node[i];
	struct accel_queue *queue;
	struct plain want;
	double bound;
	real off;
	uint64_t k;

	assert_int_equal(accel_queue_create(n->env->ctx, &opts, &queue), 0);
	n->node[i].check = true;
	net_run(n, queue);
	net_check(n, &bound);
	for (k = 0; k < (uint64_t)x->rows * x->cols; k++) {
		want = plain(desc, 0, (int64_t)k);
		want.v = wide(want.v);
		want.mag = fmaxl(fabsl(want.v), want.mag);
		if (want.open)
			continue;
		off = isfinite(want.v) ? fabsl(x->v[k] - want.v) :
					 oracle_apart(x->v[k], (double)want.v);
		if (isfinite(want.v) ? !(off <= APART * want.mag + FLT_TRUE_MIN) : off > 0)
			fail_msg("%s %llu: %.9g, not %.9Lg", what, (unsigned long long)k, x->v[k],
				 want.v);
		/* Beyond the largest number nothing is known, and what rounds to it may be. */
		if (isfinite(want.v) && want.mag < FLT_MAX / 1.01L &&
		    !(x->b[k] <= 0.0001L * want.mag + want.room + NOTHING))
			fail_msg("%s %llu: %.9Lg is known to %g only", what, (unsigned long long)k,
				 want.v, x->b[k]);
	}
	accel_queue_destroy(queue);
}

static void net_product(struct op_env *env, const struct odd_case *o)
{
	struct op_case c = { .ctx = env->ctx };
	const struct accel_gemm_desc *g = (const void *)build_gemm(&c, o);
	float bias[COLUMNS];
	static struct net n;
	int64_t i;
	int a, b;

	net_open(&n, env, 1, 1);
	a = net_data(&n, LINES, 3, f32(&g->a));
	b = net_data(&n, 3, COLUMNS, f32(&g->b));
	for (i = 0; i < COLUMNS; i++)
		bias[i] = o->p[2];
	a = net_gemm(&n, a, b, o->p[2] != 0 ? net_data(&n, 1, COLUMNS, bias) : -1, o->func, -1);
	check_node(&n, a, &g->hdr, product, "product of a network");
	net_close(&n);
	end_case(&c, &g->hdr);
}

static void net_lines(struct op_env *env, uint32_t func)
{
	const struct odd_case o = { .func = func, .dtype = ACCEL_F32, .p = { 0.00001f, 3 } };
	struct op_case c = { .ctx = env->ctx };
	const struct accel_norm_desc *d = (const void *)build_norm(&c, &o);
	static struct net n;
	int a;

	net_open(&n, env, 1, 1);
	a = net_data(&n, LINES, 3, f32(&d->a));
	a = net_norm(&n, func, a, net_data(&n, 1, 3, f32(&d->scale)), -1);
	check_node(&n, a, &d->hdr, normed, "norm of a network");
	net_close(&n);
	end_case(&c, &d->hdr);
}

static void net_moves(struct op_env *env)
{
	struct odd_case o = { .func = ACCEL_BINARY_MUL, .dtype = ACCEL_F32 };
	struct op_case c = { .ctx = env->ctx };
	const struct accel_binary_desc *m = (const void *)build_binary(&c, &o);
	const struct accel_rotary_desc *r;
	const struct accel_gather_desc *g;
	static struct net n;
	int32_t *ids, i;
	int a;

	net_open(&n, env, 1, 1);
	a = net_data(&n, 1, ODD * ODD, f32(&m->a));
	a = net_mul(&n, a, net_data(&n, 1, ODD * ODD, f32(&m->b)));
	check_node(&n, a, &m->hdr, binary, "factor of a network");
	net_close(&n);
	end_case(&c, &m->hdr);

	r = (const void *)build_rotary(&c, &o);
	net_open(&n, env, 1, 1);
	a = net_data(&n, (uint32_t)r->a.dims[1], 2 * ODD * ODD, f32(&r->a));
	a = net_rotary(&n, a, net_data(&n, (uint32_t)r->a.dims[1], 1, f32(&r->cosines)),
		       net_data(&n, (uint32_t)r->a.dims[1], 1, f32(&r->sines)), 2, 0);
	check_node(&n, a, &r->hdr, turned, "rotary of a network");
	net_close(&n);
	end_case(&c, &r->hdr);

	o.func = ACCEL_GATHER_AXIS;
	g = (const void *)build_gather(&c, &o);
	ids = accel_bo_ptr(g->b.bo);
	for (i = 0; i < LINES; i++)
		ids[i] += ids[i] < 0 ? (int32_t)LINES : 0;
	net_open(&n, env, 1, 1);
	a = net_gather(&n, net_data(&n, LINES, 3, f32(&g->a)), ids, LINES);
	check_node(&n, a, &g->hdr, gathered, "gather of a network");
	net_close(&n);
	end_case(&c, &g->hdr);
}

/* A line is the keys of a sequence, whose three queries are 1; which of them are seen: */
static bool key_seen(const struct accel_softmax_desc *s, int64_t line, int64_t query, int64_t key)
{
	return s->func ? line * 5 % 8 >> key & 1 : key <= query;
}

static const float attended_values[] = { 1, 2, -4 };

static struct plain attended(const struct accel_desc *desc, uint32_t index, int64_t n)
{
	const struct accel_softmax_desc *s = (const void *)desc;
	const float *x = f32(&s->a) + n / 3 * 3;
	struct plain p = { 0, 4, false, 0 };
	real top = -INFINITY, sum = 0, w;
	int64_t i, large = 0;

	(void)index;
	for (i = 0; i < 3; i++) {
		if (!key_seen(s, n / 3, n % 3, i))
			continue;
		if (isnan(x[i]) || x[i] == INFINITY)
			return number(NAN);
		top = fmaxl(top, x[i]);
		large += fabsf(x[i]) > 1000;
	}
	/* Which of two large scores is the larger, rounding decides. */
	p.room = large > 1 ? INFINITY : 0;
	for (i = 0; i < 3 && top > -INFINITY; i++) {
		w = key_seen(s, n / 3, n % 3, i) ? expl(x[i] - top) : 0;
		sum += w;
		p.v += w * attended_values[i];
	}
	p.v /= sum > 0 ? sum : 1;
	return p;
}

static void net_attended(struct op_env *env, uint32_t masked)
{
	const int64_t dims[] = { LINES, 1, 1, 3 };
	const struct odd_case o = { .func = masked };
	struct op_case c = { .ctx = env->ctx };
	const struct accel_softmax_desc *s = (const void *)build_softmax(&c, &o);
	static float ones[3 * LINES], values[3 * LINES];
	static struct net n;
	uint8_t *mask;
	int64_t i;
	int q, k;

	net_open(&n, env, 1, LINES);
	for (i = 0; i < 3 * LINES; i++) {
		ones[i] = 1;
		values[i] = attended_values[i % 3];
	}
	if (masked) {
		n.mask = accel_tensor_dense(NULL, ACCEL_U8, 4, dims);
		assert_int_equal(accel_bo_create(env->ctx, 3 * LINES, NULL, &n.mask.bo), 0);
		mask = accel_bo_ptr(n.mask.bo);
		for (i = 0; i < 3 * LINES; i++)
			mask[i] = key_seen(s, i / 3, 0, i % 3);
	}
	q = net_data(&n, 3 * LINES, 1, ones);
	k = net_data(&n, 3 * LINES, 1, f32(&s->a));
	q = net_attention(&n, q, k, net_data(&n, 3 * LINES, 1, values), 1);
	check_node(&n, q, &s->hdr, attended, "attention of a network");
	net_close(&n);
	end_case(&c, &s->hdr);
}

static void test_nets(struct op_env *env)
{
	static const float biases[] = { 0, 10, INFINITY, NAN, -FLT_MAX };
	static const uint32_t acts[] = { ACCEL_ACT_NONE, ACCEL_ACT_SILU, ACCEL_ACT_GELU };
	struct odd_case o = { .p = { 1, 1 } };
	uint32_t i, j;

	for (i = 0; i < ARRAY_SIZE(biases); i++)
		for (j = 0; j < ARRAY_SIZE(acts); j++) {
			o.p[2] = biases[i];
			o.func = acts[j];
			net_product(env, &o);
		}
	net_lines(env, ACCEL_NORM_LAYER);
	net_lines(env, ACCEL_NORM_RMS);
	net_moves(env);
	net_attended(env, 0);
	net_attended(env, 1);
}

int main(void)
{
	static const struct op_test tests[] = {
		{ "functions of one number", test_unary },
		{ "functions of two numbers", test_binary },
		{ "selection", test_select },
		{ "what is stored", test_stored },
		{ "gather", test_gather },
		{ "softmax", test_softmax },
		{ "reductions", test_reduce },
		{ "running sums", test_scan },
		{ "topk", test_topk },
		{ "scales of lines", test_dynquant },
		{ "rows of a cache", test_write },
		{ "norms", test_norm },
		{ "pooling", test_pool },
		{ "resampling", test_resize },
		{ "products", test_gemm },
		{ "products of rows as bytes", test_rounded },
		{ "convolutions", test_conv },
		{ "networks", test_ffn },
		{ "rotary embedding", test_rotary },
		{ "scatter", test_scatter },
		{ "networks of operations", test_nets },
	};

	return op_main(tests, ARRAY_SIZE(tests));
}

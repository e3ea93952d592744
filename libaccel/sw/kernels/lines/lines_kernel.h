/* SPDX-License-Identifier: MIT */
/*
 * The kernels of lines.h for one level of instructions. The file that includes this
 * has vectors of VL numbers. Four of them are in work at a time: what a type or a
 * step is, is asked once for all four, and the answer is the same as last time. What
 * is left at the end of a line goes through a copy of it, so that every element takes
 * the same way.
 */
#include "lines.h"
#include "lines_math.h"

#define BLOCK		(4u * VL)
#define EACH		_Pragma("GCC unroll 4") for (int j = 0; j < 4; j++)

/* Bytes of an element */
V_INLINE uint32_t size_of(uint32_t dtype)
{
	return dtype == UMA_DTYPE_F32 ? 4 : dtype <= UMA_DTYPE_BF16 ? 2 : 1;
}

V_INLINE void load_bytes(vf x[4], const struct line_form *f, const uint8_t *p, bool is_signed)
{
	const vf zero = v_set((float)f->zero), scale = v_set(f->scale);

	EACH
		x[j] = v_mul(v_sub(v_bytes(p + j * VL, is_signed), zero), scale);
}

/* A block of type @dtype, which is @f's. */
V_INLINE void load_type(vf x[4], const struct line_form *f, uint32_t dtype, const void *from)
{
	const uint8_t *p = from;

	switch (dtype) {
	case UMA_DTYPE_F32:
		EACH
			x[j] = v_load(p + j * 4 * VL);
		break;
	case UMA_DTYPE_F16:
		EACH
			x[j] = v_load_f16(p + j * 2 * VL);
		break;
	case UMA_DTYPE_BF16:
		EACH
			x[j] = v_load_bf16(p + j * 2 * VL);
		break;
	case UMA_DTYPE_S8:
		load_bytes(x, f, p, true);
		break;
	default:
		load_bytes(x, f, p, false);
		break;
	}
}

V_INLINE void load_block(vf x[4], const struct line_form *f, const void *from)
{
	load_type(x, f, f->dtype, from);
}

/* The element at @from in all lanes. */
V_INLINE void load_one(vf x[4], const struct line_form *f, const void *from)
{
	uint8_t tmp[4 * BLOCK] = { 0 };

	memcpy(tmp, from, size_of(f->dtype));
	load_block(x, f, tmp);
	x[0] = v_spread(x[0]);
	x[1] = x[2] = x[3] = x[0];
}

/* Integers next to x / scale, NaN as 0; what is beyond @most is saturated whatever it is. */
V_INLINE void quotients(vf x[4], const struct line_form *f)
{
	const vf most = v_set(f->most), least = v_set(-f->most);
	const vf times = v_set(f->times), rest = v_set(f->rest);

	if (f->times == 0) {
		EACH
			x[j] = v_div(x[j], v_set(f->scale));
	}
	EACH {
		x[j] = v_where(v_unordered(x[j], x[j]), v_set(0), x[j]);
		x[j] = v_max(v_min(x[j], most), least);
	}
	/* Infinity would become NaN. */
	if (f->times != 0) {
		EACH
			x[j] = v_fma(x[j], times, v_mul(x[j], rest));
	}
}

V_INLINE void store_type(void *to, const struct line_form *f, uint32_t dtype, vf x[4])
{
	uint8_t *p = to;

	switch (dtype) {
	case UMA_DTYPE_F32:
		EACH
			v_store(p + j * 4 * VL, x[j]);
		break;
	case UMA_DTYPE_F16:
		EACH
			v_store_f16(p + j * 2 * VL, x[j]);
		break;
	case UMA_DTYPE_BF16:
		EACH
			v_store_bf16(p + j * 2 * VL, x[j]);
		break;
	default:
		quotients(x, f);
		v_store_bytes4(p, x, f->zero, dtype == UMA_DTYPE_S8);
		break;
	}
}

V_INLINE void store_block(void *to, const struct line_form *f, vf x[4])
{
	store_type(to, f, f->dtype, x);
}

/* --- steps ------------------------------------------------------------------------- */

#define STEP_TWO(code, expr)						\
	case LINE_BINARY(UMA_BINARY_##code):				\
		EACH {							\
			const vf a = x[j], b = y[j];			\
									\
			x[j] = (expr);					\
		}							\
		break

#define STEP_ONE(code, expr)						\
	case code:							\
		EACH {							\
			const vf a = x[j];				\
									\
			x[j] = (expr);					\
		}							\
		break

static bool has_step(uint32_t func)
{
	switch (func) {
	case LINE_BINARY(UMA_BINARY_ADD):
	case LINE_BINARY(UMA_BINARY_SUB):
	case LINE_BINARY(UMA_BINARY_MUL):
	case LINE_BINARY(UMA_BINARY_DIV):
	case LINE_BINARY(UMA_BINARY_MAX):
	case LINE_BINARY(UMA_BINARY_MIN):
	case LINE_BINARY(UMA_BINARY_PRELU):
	case LINE_UNARY(UMA_UNARY_ABS):
	case LINE_UNARY(UMA_UNARY_NEG):
	case LINE_UNARY(UMA_UNARY_SQRT):
	case LINE_UNARY(UMA_UNARY_RECIP):
	case LINE_UNARY(UMA_UNARY_RSQRT):
	case LINE_UNARY(UMA_UNARY_EXP):
	case LINE_UNARY(UMA_UNARY_SQUARE):
	case LINE_ACT(UMA_ACT_RELU):
	case LINE_ACT(UMA_ACT_CLAMP):
	case LINE_ACT(UMA_ACT_LEAKY_RELU):
	case LINE_ACT(UMA_ACT_SIGMOID):
	case LINE_ACT(UMA_ACT_TANH):
	case LINE_ACT(UMA_ACT_GELU):
	case LINE_ACT(UMA_ACT_GELU_TANH):
	case LINE_ACT(UMA_ACT_SILU):
	case LINE_ACT(UMA_ACT_HARD_SIGMOID):
	case LINE_ACT(UMA_ACT_HARD_SWISH):
	case LINE_AFFINE:
		return true;
	default:
		return false;
	}
}

/* As the model defines them; what has_step() has. */
V_INLINE void run_step(vf x[4], uint32_t func, const struct line_step *s, const vf y[4])
{
	const vf p0 = v_set(s->p[0]), p1 = v_set(s->p[1]), p2 = v_set(s->p[2]);

	switch (func) {
	STEP_TWO(ADD, v_add(a, b));
	STEP_TWO(SUB, v_sub(a, b));
	STEP_TWO(MUL, v_mul(a, b));
	STEP_TWO(DIV, v_div(a, b));
	STEP_TWO(MAX, v_where(v_unordered(a, a), a, v_max(a, b)));
	STEP_TWO(MIN, v_where(v_unordered(a, a), a, v_min(a, b)));
	STEP_TWO(PRELU, v_where(v_less(a, v_set(0)), v_mul(b, a), a));
	STEP_ONE(LINE_UNARY(UMA_UNARY_ABS), math_abs(a));
	STEP_ONE(LINE_UNARY(UMA_UNARY_NEG), v_of(vi_xor(vi_of(a), vi_bits(0x80000000))));
	STEP_ONE(LINE_UNARY(UMA_UNARY_SQRT), v_sqrt(a));
	STEP_ONE(LINE_UNARY(UMA_UNARY_RECIP), v_div(v_set(1), a));
	STEP_ONE(LINE_UNARY(UMA_UNARY_RSQRT), v_div(v_set(1), v_sqrt(a)));
	STEP_ONE(LINE_UNARY(UMA_UNARY_EXP), math_exp(a, v_set(0)));
	STEP_ONE(LINE_UNARY(UMA_UNARY_SQUARE), v_mul(a, a));
	STEP_ONE(LINE_ACT(UMA_ACT_RELU), v_where(v_least(a, v_set(0)), v_set(0), a));
	STEP_ONE(LINE_ACT(UMA_ACT_CLAMP), math_clamp(a, p0, p1));
	STEP_ONE(LINE_ACT(UMA_ACT_LEAKY_RELU), v_where(v_less(a, v_set(0)), v_mul(p0, a), a));
	STEP_ONE(LINE_ACT(UMA_ACT_SIGMOID), math_sigmoid(a));
	STEP_ONE(LINE_ACT(UMA_ACT_TANH), math_tanh(a));
	case LINE_ACT(UMA_ACT_GELU):
		math_gelu(x);
		break;
	case LINE_ACT(UMA_ACT_GELU_TANH):
		math_gelu_tanh(x);
		break;
	STEP_ONE(LINE_ACT(UMA_ACT_SILU), v_mul(math_finite(a), math_sigmoid(a)));
	STEP_ONE(LINE_ACT(UMA_ACT_HARD_SIGMOID),
		 math_clamp(v_add(v_mul(p0, a), p1), v_set(0), v_set(1)));
	STEP_ONE(LINE_ACT(UMA_ACT_HARD_SWISH),
		 v_mul(math_finite(a), math_clamp(v_add(v_div(a, v_set(6)), v_set(0.5f)),
						  v_set(0), v_set(1))));
	default:
		EACH
			x[j] = v_fma(v_sub(x[j], p0), p1, p2);
		break;
	}
}

/* Only zeros, of either sign, are not true. */
V_INLINE void select_block(vf x[4], const vf yes[4], const struct line_map *m, uint32_t o,
			   const uint8_t *at)
{
	vf no[4];

	if (m->one >> o & 1)
		load_one(no, &m->form[o], at);
	else
		load_block(no, &m->form[o], at);
	EACH
		x[j] = v_where(v_equal(x[j], v_set(0)), no[j], yes[j]);
}

V_INLINE void map_block(const struct line_map *m, uint8_t *const *at)
{
	vf x[4], y[4] = { v_set(0), v_set(0), v_set(0), v_set(0) };
	uint32_t i;

	load_block(x, &m->form[1], at[1]);
	for (i = 0; i < m->count; i++) {
		const uint32_t o = m->step[i].operand;

		if (o && m->one >> o & 1)
			load_one(y, &m->form[o], at[o]);
		else if (o)
			load_block(y, &m->form[o], at[o]);
		if (m->step[i].func == LINE_SELECT)
			select_block(x, y, m, o + 1, at[o + 1]);
		else
			run_step(x, m->step[i].func, &m->step[i], y);
	}
	store_block(at[0], &m->form[0], x);
}

/* No step, for common() */
#define NO_STEP		0xffu

/* The steps of a map of one type if they are these: the compiler knows all of it. */
V_INLINE bool common(const struct line_map *m, uint8_t *const *at, uint32_t blocks, uint32_t dtype,
		     uint32_t f0, uint32_t f1, uint32_t f2)
{
	const uint32_t funcs[3] = { f0, f1, f2 }, step = BLOCK * size_of(dtype);
	const uint32_t count = f0 == NO_STEP ? 0 : f1 == NO_STEP ? 1 : f2 == NO_STEP ? 2 : 3;
	const uint8_t *p[3] = { NULL, NULL, NULL }, *a = at[1];
	uint8_t *d = at[0];
	vf x[4], y[4];
	uint32_t i;

	if (m->count != count)
		return false;
	_Pragma("GCC unroll 3")
	for (i = 0; i < count; i++) {
		if (m->step[i].func != funcs[i])
			return false;
		p[i] = at[m->step[i].operand];
	}
	for (; blocks; blocks--, d += step, a += step) {
		load_type(x, &m->form[1], dtype, a);
		_Pragma("GCC unroll 3")
		for (i = 0; i < count; i++) {
			if (funcs[i] < LINE_UNARY(0)) {
				load_type(y, &m->form[m->step[i].operand], dtype, p[i]);
				p[i] += step;
			}
			run_step(x, funcs[i], &m->step[i], y);
		}
		store_type(d, &m->form[0], dtype, x);
	}
	return true;
}

/* What whole models do most: sums, with ReLU, products, activations, norms with a factor and an addend. */
static bool common_steps(const struct line_map *m, uint8_t *const *at, uint32_t blocks, uint32_t dtype)
{
	const uint32_t add = LINE_BINARY(UMA_BINARY_ADD), mul = LINE_BINARY(UMA_BINARY_MUL);
	const uint32_t relu = LINE_ACT(UMA_ACT_RELU), gelu = LINE_ACT(UMA_ACT_GELU);
	const uint32_t silu = LINE_ACT(UMA_ACT_SILU);

	switch (dtype) {
	case UMA_DTYPE_F32:
		return common(m, at, blocks, UMA_DTYPE_F32, LINE_AFFINE, mul, add) ||
		       common(m, at, blocks, UMA_DTYPE_F32, LINE_AFFINE, mul, NO_STEP) ||
		       common(m, at, blocks, UMA_DTYPE_F32, LINE_AFFINE, NO_STEP, NO_STEP) ||
		       common(m, at, blocks, UMA_DTYPE_F32, add, NO_STEP, NO_STEP) ||
		       common(m, at, blocks, UMA_DTYPE_F32, mul, NO_STEP, NO_STEP) ||
		       common(m, at, blocks, UMA_DTYPE_F32, gelu, NO_STEP, NO_STEP) ||
		       common(m, at, blocks, UMA_DTYPE_F32, silu, NO_STEP, NO_STEP);
	case UMA_DTYPE_S8:
		return common(m, at, blocks, UMA_DTYPE_S8, add, NO_STEP, NO_STEP) ||
		       common(m, at, blocks, UMA_DTYPE_S8, add, relu, NO_STEP);
	case UMA_DTYPE_U8:
		return common(m, at, blocks, UMA_DTYPE_U8, add, NO_STEP, NO_STEP) ||
		       common(m, at, blocks, UMA_DTYPE_U8, add, relu, NO_STEP);
	default:
		return false;
	}
}

static void map_line(const struct line_map *m, uint8_t *const *line, uint32_t n)
{
	uint32_t step[LINE_OPERANDS], count = 2, i, o;
	uint8_t tmp[LINE_OPERANDS][4 * BLOCK];
	uint8_t *at[LINE_OPERANDS];
	bool alike = !m->one;

	for (i = 0; i < m->count; i++) {
		const uint32_t end = m->step[i].operand + (m->step[i].func == LINE_SELECT ? 2 : 1);

		count = end > count ? end : count;
	}
	for (o = 0; o < count; o++) {
		at[o] = line[o];
		alike = alike && m->form[o].dtype == m->form[0].dtype;
		step[o] = m->one >> o & 1 ? 0 : BLOCK * size_of(m->form[o].dtype);
	}
	if (alike && common_steps(m, at, n / BLOCK, m->form[0].dtype)) {
		for (o = 0; o < count; o++)
			at[o] += (uint64_t)step[o] * (n / BLOCK);
		n %= BLOCK;
	}
	for (; n >= BLOCK; n -= BLOCK) {
		map_block(m, at);
		for (o = 0; o < count; o++)
			at[o] += step[o];
	}
	if (!n)
		return;
	line = at;
	for (o = 0; o < count; o++) {
		uint8_t *const from = at[o];

		memset(tmp[o], 0, sizeof(tmp[o]));
		if (o)
			memcpy(tmp[o], from, (size_t)(step[o] ? n : 1) * size_of(m->form[o].dtype));
	}
	{
		uint8_t *const copy[] = { tmp[0], tmp[1], tmp[2], tmp[3], tmp[4], tmp[5] };

		map_block(m, copy);
	}
	memcpy(at[0], tmp[0], (size_t)n * size_of(m->form[0].dtype));
}

/* --- along lines ------------------------------------------------------------------- */

/* The last @n elements as numbers, completed with @pad. */
V_INLINE void load_last(vf x[4], const struct line_form *f, const void *from, uint32_t n,
			float pad)
{
	uint8_t tmp[4 * BLOCK] = { 0 };
	float v[BLOCK];
	uint32_t i;

	memcpy(tmp, from, (size_t)n * size_of(f->dtype));
	load_block(x, f, tmp);
	EACH
		v_store(v + j * VL, x[j]);
	for (i = n; i < BLOCK; i++)
		v[i] = pad;
	EACH
		x[j] = v_load(v + j * VL);
}

/* Blocks of a line, one after the other: @x has the elements, @rest is how many there are. */
#define BLOCKS(f, from, n, pad, body) do {				\
	const uint32_t step_ = BLOCK * size_of((f)->dtype);		\
	const uint8_t *p_ = (from);					\
	uint32_t rest;							\
	vf x[4];							\
									\
	for (rest = (n); rest >= BLOCK; rest -= BLOCK, p_ += step_) {	\
		load_block(x, f, p_);					\
		body							\
	}								\
	if (rest) {							\
		load_last(x, f, p_, rest, pad);				\
		body							\
	}								\
} while (0)

static void line_sums(const struct line_form *f, const void *from, uint32_t n, double *sums)
{
	vd s[8], q[8];
	int i;

	for (i = 0; i < 8; i++)
		s[i] = q[i] = vd_set(0);
	BLOCKS(f, from, n, 0, {
		EACH {
			const vd lo = vd_low(x[j]);
			const vd hi = vd_high(x[j]);

			s[2 * j] = vd_add(s[2 * j], lo);
			s[2 * j + 1] = vd_add(s[2 * j + 1], hi);
			q[2 * j] = vd_fma(lo, lo, q[2 * j]);
			q[2 * j + 1] = vd_fma(hi, hi, q[2 * j + 1]);
		}
	});
	for (i = 1; i < 8; i++) {
		s[0] = vd_add(s[0], s[i]);
		q[0] = vd_add(q[0], q[i]);
	}
	sums[0] = vd_total(s[0]);
	sums[1] = vd_total(q[0]);
}

static double line_squares(const struct line_form *f, const void *from, uint32_t n, double mean)
{
	static const float ones[2 * BLOCK] = { [0 ... BLOCK - 1] = 1 };
	const vd m = vd_set(mean);
	vd q[8];
	int i;

	for (i = 0; i < 8; i++)
		q[i] = vd_set(0);
	BLOCKS(f, from, n, 0, {
		/* What completes a block counts 0 times. */
		const float *times = ones + (rest < BLOCK ? BLOCK - rest : 0);

		EACH {
			const vf k = v_load(times + j * VL);
			const vd lo = vd_mul(vd_sub(vd_low(x[j]), m), vd_low(k));
			const vd hi = vd_mul(vd_sub(vd_high(x[j]), m), vd_high(k));

			q[2 * j] = vd_fma(lo, lo, q[2 * j]);
			q[2 * j + 1] = vd_fma(hi, hi, q[2 * j + 1]);
		}
	});
	for (i = 1; i < 8; i++)
		q[0] = vd_add(q[0], q[i]);
	return vd_total(q[0]);
}

static float line_top(const struct line_form *f, const void *from, uint32_t n, bool smallest)
{
	const vf sign = v_of(vi_bits(smallest ? 0x80000000 : 0));
	float most;
	const vf least = v_set(-__builtin_inff());
	vf top[4] = { least, least, least, least };
	vm nan = vm_none();

	BLOCKS(f, from, n, smallest ? __builtin_inff() : -__builtin_inff(), {
		EACH {
			top[j] = v_max(v_of(vi_xor(vi_of(x[j]), vi_of(sign))), top[j]);
			nan = vm_or(nan, v_unordered(x[j], x[j]));
		}
	});
	if (vm_any(nan))
		return __builtin_nanf("");
	most = v_largest(v_max(v_max(top[0], top[1]), v_max(top[2], top[3])));
	return smallest ? -most : most;
}

static double line_exps(const struct line_form *f, const void *from, uint32_t n, float top,
			float *to)
{
	const vf m = v_set(-top);
	double sum;
	vd s[8];
	int i;

	for (i = 0; i < 8; i++)
		s[i] = vd_set(0);
	BLOCKS(f, from, n, -__builtin_inff(), {
		float last[BLOCK];
		float *const at = rest < BLOCK ? last : to;

		EACH {
			/* x - top in two parts, without loss */
			const vf hi = v_add(x[j], m);
			const vf b = v_sub(hi, x[j]);
			const vf lo = v_add(v_sub(x[j], v_sub(hi, b)), v_sub(m, b));

			/* Beyond that, where the result is 0, it may be as large as anything. */
			x[j] = math_exp(hi, v_where(v_least(math_abs(hi), v_set(128)), lo, v_set(0)));
			v_store(at + j * VL, x[j]);
			s[2 * j] = vd_add(s[2 * j], vd_low(x[j]));
			s[2 * j + 1] = vd_add(s[2 * j + 1], vd_high(x[j]));
		}
		if (rest < BLOCK)
			memcpy(to, last, sizeof(float) * rest);
		to += BLOCK;
	});
	for (i = 1; i < 8; i++)
		s[0] = vd_add(s[0], s[i]);
	sum = vd_total(s[0]);
	return sum;
}

/* --- windows ----------------------------------------------------------------------- */

V_INLINE void window_block(const struct line_form *out, uint8_t *to, const struct line_form *in,
			   const uint8_t *const *taps, uint32_t count, uint64_t at, float divisor)
{
	const vf first = v_set(divisor != 0 ? 0 : -__builtin_inff());
	vf x[4] = { first, first, first, first };
	vf y[4];
	uint32_t t;

	for (t = 0; t < count; t++) {
		load_block(y, in, taps[t] + at);
		if (divisor != 0) {
			EACH
				x[j] = v_add(x[j], y[j]);
		} else {
			EACH
				x[j] = v_where(v_unordered(x[j], x[j]), x[j], v_max(x[j], y[j]));
		}
	}
	if (divisor != 0) {
		EACH
			x[j] = v_div(x[j], v_set(divisor));
	}
	store_block(to, out, x);
}

static void line_window(const struct line_form *out, uint8_t *to, const struct line_form *in,
			const uint8_t *const *taps, uint32_t count, uint32_t n, float divisor)
{
	const uint32_t size = size_of(in->dtype), step = BLOCK * size_of(out->dtype);
	uint8_t tmp[4 * BLOCK], last[4 * BLOCK] = { 0 };
	const uint8_t *tap = last;
	vf x[4], y[4];
	uint32_t i, t;

	for (i = 0; i + BLOCK <= n; i += BLOCK, to += step)
		window_block(out, to, in, taps, count, (uint64_t)i * size, divisor);
	if (i == n)
		return;
	/* The last elements: one position after the other, their values in between. */
	EACH
		x[j] = v_set(divisor != 0 ? 0 : -__builtin_inff());
	for (t = 0; t < count; t++) {
		memcpy(last, taps[t] + (uint64_t)i * size, (size_t)(n - i) * size);
		load_block(y, in, tap);
		EACH
			x[j] = divisor != 0 ? v_add(x[j], y[j]) :
			       v_where(v_unordered(x[j], x[j]), x[j], v_max(x[j], y[j]));
	}
	EACH
		x[j] = divisor != 0 ? v_div(x[j], v_set(divisor)) : x[j];
	store_block(tmp, out, x);
	memcpy(to, tmp, (size_t)(n - i) * size_of(out->dtype));
}

V_INLINE vi most_bytes(vi a, vi b, bool is_signed)
{
	return is_signed ? vi_max_s8(a, b) : vi_max_u8(a, b);
}

static void line_most(uint8_t *to, const uint8_t *const *taps, uint32_t count, uint32_t n,
		      bool is_signed)
{
	const vi least = vi_bits(is_signed ? 0x80808080 : 0);
	uint8_t last[BLOCK] = { 0 };
	uint32_t i, t;
	vi x;

	for (i = 0; i + BLOCK <= n; i += BLOCK) {
		for (x = least, t = 0; t < count; t++)
			x = most_bytes(x, vi_load(taps[t] + i), is_signed);
		v_store(to + i, v_of(x));
	}
	if (i == n)
		return;
	for (x = least, t = 0; t < count; t++) {
		memcpy(last, taps[t] + i, n - i);
		x = most_bytes(x, vi_load(last), is_signed);
	}
	v_store(last, v_of(x));
	memcpy(to + i, last, n - i);
}

/* --- places ------------------------------------------------------------------------ */

/* Elements that are @value, or NaN if that is one; by their bits with LINE_FIND_BITS. */
V_INLINE vm matches(vf x, float value, uint32_t how)
{
	if (value != value)
		return v_unordered(x, x);
	return how == LINE_FIND_BITS ? vi_equal(vi_of(x), vi_of(v_set(value))) :
	       v_equal(x, v_set(value));
}

static uint32_t line_find(const struct line_form *f, const void *from, uint32_t n, float value,
			  uint32_t how)
{
	/* What completes a block is none of them. */
	const float pad = value != value ? 0 : __builtin_nanf("");
	uint32_t found = n, at = 0, lane;

	BLOCKS(f, from, n, pad, {
		vm any = vm_none();

		EACH
			any = vm_or(any, matches(x[j], value, how));
		if (vm_any(any)) {
			EACH {
				const uint32_t lanes = vm_bits(matches(x[j], value, how));

				for (lane = 0; lanes && lane < VL; lane++)
					if (lanes >> lane & 1 && (found == n || how == LINE_FIND_LAST))
						found = at + (uint32_t)j * VL + lane;
			}
			if (how != LINE_FIND_LAST)
				return found;
		}
		at += BLOCK;
	});
	return found;
}

static uint32_t line_above(const struct line_form *f, const void *line, uint32_t n, float limit,
			   bool all, uint32_t *from, float *out)
{
	const void *start = (const uint8_t *)line + (uint64_t)*from * size_of(f->dtype);
	const vf than = v_set(limit);

	BLOCKS(f, start, n - *from, -__builtin_inff(), {
		vm any = vm_none();

		EACH
			any = vm_or(any, vm_or(v_less(than, x[j]), v_unordered(x[j], x[j])));
		if (all || vm_any(any)) {
			EACH
				v_store(out + j * VL, x[j]);
			return rest < BLOCK ? rest : BLOCK;
		}
		*from += BLOCK;
	});
	return 0;
}

/* --- squares ----------------------------------------------------------------------- */

/* Words of rows become those of columns by shuffling their halves log(count) times. */
#define TURN(name, count, rounds, low, high)				\
V_INLINE void name(uint8_t *to, int64_t to_step, const uint8_t *from, int64_t from_step) \
{									\
	__m128i v[count], t[count];					\
	int i, k;							\
									\
	_Pragma("GCC unroll 16")					\
	for (i = 0; i < (count); i++)					\
		v[i] = _mm_loadu_si128((const void *)(from + i * from_step)); \
	_Pragma("GCC unroll 4")						\
	for (k = 0; k < (rounds); k++) {				\
		_Pragma("GCC unroll 8")					\
		for (i = 0; i < (count) / 2; i++) {			\
			t[2 * i] = low(v[i], v[i + (count) / 2]);	\
			t[2 * i + 1] = high(v[i], v[i + (count) / 2]);	\
		}							\
		_Pragma("GCC unroll 16")				\
		for (i = 0; i < (count); i++)				\
			v[i] = t[i];					\
	}								\
	_Pragma("GCC unroll 16")					\
	for (i = 0; i < (count); i++)					\
		_mm_storeu_si128((void *)(to + i * to_step), v[i]);	\
}

TURN(turn_bytes, 16, 4, _mm_unpacklo_epi8, _mm_unpackhi_epi8)
TURN(turn_halves, 8, 3, _mm_unpacklo_epi16, _mm_unpackhi_epi16)
#ifdef HAS_TABLE
V_INLINE void turn_words(uint8_t *to, int64_t to_step, const uint8_t *from, int64_t from_step)
{
	vi v[16];
	int i;

	_Pragma("GCC unroll 16")
	for (i = 0; i < 16; i++)
		v[i] = vi_load(from + i * from_step);
	vi_transpose(v);
	_Pragma("GCC unroll 16")
	for (i = 0; i < 16; i++)
		v_store(to + i * to_step, v_of(v[i]));
}

#define TURN_WORDS	16u
#else
TURN(turn_words, 4, 2, _mm_unpacklo_epi32, _mm_unpackhi_epi32)

#define TURN_WORDS	4u
#endif

V_INLINE void turn_square(uint8_t *to, int64_t to_step, const uint8_t *from, int64_t from_step,
			  uint32_t bytes)
{
	if (bytes == 1)
		turn_bytes(to, to_step, from, from_step);
	else if (bytes == 2)
		turn_halves(to, to_step, from, from_step);
	else
		turn_words(to, to_step, from, from_step);
}

/*
 * A square whose rows are cache lines: the result's are put together first, for rows of
 * tensors are often as far apart as makes them share places in a cache.
 */
V_INLINE void turn_lines(uint8_t *to, int64_t to_step, const uint8_t *from, int64_t from_step,
			 uint32_t side, uint32_t bytes)
{
	uint8_t tmp[64][64] __attribute__((aligned(64)));
	const uint32_t count = 64 / bytes;
	uint32_t c, r;

	for (c = 0; c < count; c += side)
		for (r = 0; r < count; r += side)
			turn_square(&tmp[r][c * bytes], 64, from + c * from_step + r * bytes,
				    from_step, bytes);
	for (r = 0; r < count; r++)
		memcpy(to + r * to_step, tmp[r], 64);
}

/* Squares of what fits, single elements at the edges. */
static void line_turn_rest(uint8_t *to, int64_t to_step, const uint8_t *from, int64_t from_step,
			   uint32_t rows, uint32_t n, uint32_t bytes, uint32_t side)
{
	uint32_t c, r, i;

	for (c = 0; c < n; c += side) {
		const uint32_t columns = n - c < side ? n - c : side;

		for (r = 0; r < rows; r++) {
			uint8_t *const d = to + r * to_step + (uint64_t)c * bytes;
			const uint8_t *const a = from + c * from_step + (uint64_t)r * bytes;

			if (columns == side && rows - r >= side) {
				turn_square(d, to_step, a, from_step, bytes);
				r += side - 1;
				continue;
			}
			for (i = 0; i < columns; i++)
				memcpy(d + (uint64_t)i * bytes, a + i * from_step, bytes);
		}
	}
}

static void line_turn(uint8_t *to, int64_t to_step, const uint8_t *from, int64_t from_step,
		      uint32_t rows, uint32_t n, uint32_t bytes)
{
	const uint32_t side = bytes == 1 ? 16 : bytes == 2 ? 8 : TURN_WORDS;
	const uint32_t lines = 64 / bytes;
	uint32_t c = 0, r;

	for (; n - c >= lines && side < lines; c += lines) {
		for (r = 0; rows - r >= lines; r += lines)
			turn_lines(to + r * to_step + (uint64_t)c * bytes, to_step,
				   from + c * from_step + (uint64_t)r * bytes, from_step, side, bytes);
		if (r < rows)
			line_turn_rest(to + r * to_step + (uint64_t)c * bytes, to_step,
				       from + c * from_step + (uint64_t)r * bytes, from_step,
				       rows - r, lines, bytes, side);
	}
	line_turn_rest(to + (uint64_t)c * bytes, to_step, from + c * from_step, from_step, rows, n - c,
		       bytes, side);
}

/* --- rotary embedding --------------------------------------------------------------- */

V_INLINE vf load_vector(const void *p, uint32_t dtype)
{
	return dtype == UMA_DTYPE_F32 ? v_load(p) :
	       dtype == UMA_DTYPE_F16 ? v_load_f16(p) : v_load_bf16(p);
}

V_INLINE void store_vector(void *p, uint32_t dtype, vf x)
{
	if (dtype == UMA_DTYPE_F32)
		v_store(p, x);
	else if (dtype == UMA_DTYPE_F16)
		v_store_f16(p, x);
	else
		v_store_bf16(p, x);
}

/* VL pairs: of halves the second elements are @half behind the first ones. */
V_INLINE void turn_pairs(const struct line_rotary *t, uint8_t *d, uint64_t d_half,
			 const uint8_t *a, uint64_t a_half, const uint8_t *cosine,
			 const uint8_t *sine)
{
	const vf c = load_vector(cosine, t->cosine), s = load_vector(sine, t->sine);
	vf x0 = load_vector(a, t->a), x1 = load_vector(a + a_half, t->a), y0, y1;

	if (t->interleaved)
		v_part(&x0, &x1, x0, x1);
	y0 = v_sub(v_mul(x0, c), v_mul(x1, s));
	y1 = v_add(v_mul(x1, c), v_mul(x0, s));
	if (t->interleaved)
		v_join(&y0, &y1, y0, y1);
	store_vector(d, t->d, y0);
	store_vector(d + d_half, t->d, y1);
}

static void line_rotary(const struct line_rotary *t, uint8_t *d, const uint8_t *a,
			const uint8_t *cosine, const uint8_t *sine)
{
	const uint32_t as = size_of(t->a), ds = size_of(t->d), cs = size_of(t->cosine);
	const uint32_t ss = size_of(t->sine), pairs = t->interleaved ? 2 : 1;
	const uint64_t half = t->interleaved ? VL : t->half;
	uint8_t x[8 * VL] = { 0 }, y[8 * VL], c[4 * VL] = { 0 }, s[4 * VL] = { 0 };
	const struct line_map keep = {
		.form = { { .dtype = t->d, .scale = 1 }, { .dtype = t->a, .scale = 1 } },
	};
	const uint64_t turned = 2ull * t->half;
	uint8_t *const rest[LINE_OPERANDS] = { d + turned * ds, (uint8_t *)a + turned * as };
	uint32_t i, n;

	for (i = 0; i + VL <= t->half; i += VL)
		turn_pairs(t, d + (uint64_t)i * pairs * ds, half * ds, a + (uint64_t)i * pairs * as,
			   half * as, cosine + (uint64_t)i * cs, sine + (uint64_t)i * ss);
	n = t->half - i;
	if (n) {
		const uint8_t *const from = a + (uint64_t)i * pairs * as;
		uint8_t *const to = d + (uint64_t)i * pairs * ds;

		memcpy(c, cosine + (uint64_t)i * cs, (size_t)n * cs);
		memcpy(s, sine + (uint64_t)i * ss, (size_t)n * ss);
		memcpy(x, from, (size_t)n * pairs * as);
		if (!t->interleaved)
			memcpy(x + VL * as, from + half * as, (size_t)n * as);
		turn_pairs(t, y, VL * ds, x, VL * as, c, s);
		memcpy(to, y, (size_t)n * pairs * ds);
		if (!t->interleaved)
			memcpy(to + half * ds, y + VL * ds, (size_t)n * ds);
	}
	if (t->head > turned)
		map_line(&keep, rest, t->head - (uint32_t)turned);
}

const struct line_kernels LINE_TABLE = {
	.map = map_line,
	.sums = line_sums,
	.squares = line_squares,
	.top = line_top,
	.exps = line_exps,
	.window = line_window,
	.most = line_most,
	.find = line_find,
	.above = line_above,
	.turn = line_turn,
	.rotary = line_rotary,
	.has_step = has_step,
};

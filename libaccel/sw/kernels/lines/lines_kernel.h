/* SPDX-License-Identifier: MIT */
/*
 * The kernels of lines.h for an instruction set. The file that includes this one defines
 * vectors of VL numbers. Four vectors are processed at a time, so that types and steps are only
 * dispatched once for the four, with predictable branches. The rest at the end of a line,
 * except for whole vectors of binary32, is copied to a buffer, so that every element is
 * computed in the same way.
 */
#include "lines.h"
#include "libaccel/sw/kernels/vec/math.h"
#include "libaccel/sw/kernels/vec/special.h"

#define BLOCK		(4u * VL)
#define EACH		_Pragma("GCC unroll 4") for (int j = 0; j < 4; j++)

/* Bytes of an element */
V_INLINE uint32_t size_of(uint32_t dtype)
{
	return dtype == UMA_DTYPE_F32 || dtype == UMA_DTYPE_S32 ? 4 :
	       dtype <= UMA_DTYPE_BF16 ? 2 : 1;
}

V_INLINE void load_bytes(vf x[4], const struct line_form *f, const uint8_t *p, bool is_signed)
{
	const vf zero = v_set((float)f->zero), scale = v_set(f->scale);

	EACH
		x[j] = v_mul(v_sub(v_bytes(p + j * VL, is_signed), zero), scale);
}

/* A block of type @dtype, which is that of @f. */
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
	case UMA_DTYPE_S32:
		EACH
			x[j] = v_of_ints(vi_load(p + j * 4 * VL));
		break;
	case UMA_DTYPE_S8:
		load_bytes(x, f, p, true);
		break;
	default:
		load_bytes(x, f, p, false);
		break;
	}
}

SPECIAL void load_block(vf x[4], const struct line_form *f, const void *from)
{
	load_type(x, f, f->dtype, from);
}

/* @n vectors of binary32, less than four, padded with @pad. */
V_INLINE void load_some(vf x[4], const void *from, uint32_t n, float pad)
{
	EACH
		x[j] = (uint32_t)j < n ? v_load((const float *)from + j * VL) : v_set(pad);
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

/* Round x / scale to integers, NaN to 0; values beyond @most saturate in any case. */
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
	case UMA_DTYPE_S32:
		EACH {
			const vf number = v_where(v_unordered(x[j], x[j]), v_set(0), x[j]);

			v_store(p + j * 4 * VL,
				v_where(v_least(v_set(0x1p31f), number), v_of(vi_set(INT32_MAX)),
					v_of(vi_nearest(number))));
		}
		break;
	default:
		quotients(x, f);
		v_store_bytes4(p, x, f->zero, dtype == UMA_DTYPE_S8);
		break;
	}
}

SPECIAL void store_block(void *to, const struct line_form *f, vf x[4])
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

/* Is it an activation? */
V_INLINE bool is_act(uint32_t func)
{
	return func >= LINE_ACT(0) && func < LINE_AFFINE;
}

static bool has_step(uint32_t func)
{
	if (is_act(func))
		return math_has_act(func - LINE_ACT(0));
	switch (func) {
	case LINE_BINARY(UMA_BINARY_ADD):
	case LINE_BINARY(UMA_BINARY_SUB):
	case LINE_BINARY(UMA_BINARY_MUL):
	case LINE_BINARY(UMA_BINARY_DIV):
	case LINE_BINARY(UMA_BINARY_MAX):
	case LINE_BINARY(UMA_BINARY_MIN):
	case LINE_BINARY(UMA_BINARY_EQ) ... LINE_BINARY(UMA_BINARY_XOR):
	case LINE_BINARY(UMA_BINARY_PRELU):
	case LINE_UNARY(UMA_UNARY_ABS):
	case LINE_UNARY(UMA_UNARY_NEG):
	case LINE_UNARY(UMA_UNARY_SQRT):
	case LINE_UNARY(UMA_UNARY_RECIP):
	case LINE_UNARY(UMA_UNARY_RSQRT):
	case LINE_UNARY(UMA_UNARY_EXP):
	case LINE_UNARY(UMA_UNARY_LOG):
	case LINE_UNARY(UMA_UNARY_SQUARE):
	case LINE_UNARY(UMA_UNARY_ROUND):
	case LINE_UNARY(UMA_UNARY_NOT):
	case LINE_AFFINE:
		return true;
	default:
		return false;
	}
}

V_INLINE vf when(vm m)
{
	return v_where(m, v_set(1), v_set(0));
}

V_INLINE vf unless(vm m)
{
	return v_where(m, v_set(0), v_set(1));
}

/* Only zeros, of either sign, are not true. */
V_INLINE vf is_true(vf x)
{
	return unless(v_equal(x, v_set(0)));
}

/* The functions of has_step(), as defined by the model. */
SPECIAL void run_step(vf x[4], uint32_t func, const struct line_step *s, const vf y[4])
{
	const vf p0 = v_set(s->p[0]), p1 = v_set(s->p[1]), p2 = v_set(s->p[2]);

	if (is_act(func)) {
		math_act(x, func - LINE_ACT(0), p0, p1);
		return;
	}
	switch (func) {
	STEP_TWO(ADD, v_add(a, b));
	STEP_TWO(SUB, v_sub(a, b));
	STEP_TWO(MUL, v_mul(a, b));
	STEP_TWO(DIV, v_div(a, b));
	STEP_TWO(MAX, v_where(v_unordered(a, a), a, v_max(a, b)));
	STEP_TWO(MIN, v_where(v_unordered(a, a), a, v_min(a, b)));
	STEP_TWO(EQ, when(v_equal(a, b)));
	STEP_TWO(NE, unless(v_equal(a, b)));
	STEP_TWO(LT, when(v_less(a, b)));
	STEP_TWO(LE, when(v_least(a, b)));
	STEP_TWO(GT, when(v_less(b, a)));
	STEP_TWO(GE, when(v_least(b, a)));
	STEP_TWO(AND, v_mul(is_true(a), is_true(b)));
	STEP_TWO(OR, v_max(is_true(a), is_true(b)));
	STEP_TWO(XOR, unless(v_equal(is_true(a), is_true(b))));
	STEP_TWO(PRELU, v_where(v_less(a, v_set(0)), v_mul(b, a), a));
	STEP_ONE(LINE_UNARY(UMA_UNARY_ABS), math_abs(a));
	STEP_ONE(LINE_UNARY(UMA_UNARY_NEG), v_of(vi_xor(vi_of(a), vi_bits(0x80000000))));
	STEP_ONE(LINE_UNARY(UMA_UNARY_SQRT), v_sqrt(a));
	STEP_ONE(LINE_UNARY(UMA_UNARY_RECIP), v_div(v_set(1), a));
	STEP_ONE(LINE_UNARY(UMA_UNARY_RSQRT), v_div(v_set(1), v_sqrt(a)));
	STEP_ONE(LINE_UNARY(UMA_UNARY_EXP), math_exp(a, v_set(0)));
	STEP_ONE(LINE_UNARY(UMA_UNARY_LOG), math_log(a));
	STEP_ONE(LINE_UNARY(UMA_UNARY_SQUARE), v_mul(a, a));
	STEP_ONE(LINE_UNARY(UMA_UNARY_ROUND), v_rint(a));
	STEP_ONE(LINE_UNARY(UMA_UNARY_NOT), when(v_equal(a, v_set(0))));
	default:
		EACH
			x[j] = v_fma(v_sub(x[j], p0), p1, p2);
		break;
	}
}

#include "lines_integer.h"

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

	if (m->integers) {
		map_integers(m, at);
		return;
	}
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

/*
 * Number of @n elements that common() processes: whole vectors of binary32, blocks of other
 * types.
 */
V_INLINE uint32_t common_part(uint32_t n, uint32_t dtype)
{
	return n - n % (dtype == UMA_DTYPE_F32 ? VL : BLOCK);
}

/* Runs the steps of a map of one type if they match the constants. */
SPECIAL bool common(const struct line_map *m, uint8_t *const *at, uint32_t n, uint32_t dtype,
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
	for (; n >= BLOCK; n -= BLOCK, d += step, a += step) {
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
	n = dtype == UMA_DTYPE_F32 ? n / VL : 0;
	if (!n)
		return true;
	load_some(x, a, n, 0);
	_Pragma("GCC unroll 3")
	for (i = 0; i < count; i++) {
		if (funcs[i] < LINE_UNARY(0))
			load_some(y, p[i], n, 0);
		run_step(x, funcs[i], &m->step[i], y);
	}
	for (i = 0; i < n; i++)
		v_store(d + i * 4ul * VL, x[i]);
	return true;
}

/*
 * The most frequent maps of models: sums, with ReLU, products, activations, norms with factor
 * and addend.
 */
static bool common_steps(const struct line_map *m, uint8_t *const *at, uint32_t n, uint32_t dtype)
{
	const uint32_t add = LINE_BINARY(UMA_BINARY_ADD), mul = LINE_BINARY(UMA_BINARY_MUL);
	const uint32_t relu = LINE_ACT(UMA_ACT_RELU), gelu = LINE_ACT(UMA_ACT_GELU);
	const uint32_t silu = LINE_ACT(UMA_ACT_SILU);

	switch (dtype) {
	case UMA_DTYPE_F32:
		return common(m, at, n, UMA_DTYPE_F32, LINE_AFFINE, mul, add) ||
		       common(m, at, n, UMA_DTYPE_F32, LINE_AFFINE, mul, NO_STEP) ||
		       common(m, at, n, UMA_DTYPE_F32, LINE_AFFINE, NO_STEP, NO_STEP) ||
		       common(m, at, n, UMA_DTYPE_F32, add, NO_STEP, NO_STEP) ||
		       common(m, at, n, UMA_DTYPE_F32, mul, NO_STEP, NO_STEP) ||
		       common(m, at, n, UMA_DTYPE_F32, gelu, NO_STEP, NO_STEP) ||
		       common(m, at, n, UMA_DTYPE_F32, silu, NO_STEP, NO_STEP);
	case UMA_DTYPE_S8:
		return common(m, at, n, UMA_DTYPE_S8, add, NO_STEP, NO_STEP) ||
		       common(m, at, n, UMA_DTYPE_S8, add, relu, NO_STEP);
	case UMA_DTYPE_U8:
		return common(m, at, n, UMA_DTYPE_U8, add, NO_STEP, NO_STEP) ||
		       common(m, at, n, UMA_DTYPE_U8, add, relu, NO_STEP);
	default:
		return false;
	}
}

/* Pad with copies of the last elements: other values might raise additional exceptions. */
static void copy_last(uint8_t *to, const uint8_t *from, size_t bytes, size_t room)
{
	size_t done;

	memcpy(to, from, bytes);
	for (done = bytes; done < room; done += bytes)
		memcpy(to + done, to, bytes < room - done ? bytes : room - done);
}

static void map_line(const struct line_map *m, uint8_t *const *line, uint32_t n)
{
	uint32_t step[LINE_OPERANDS], count = 2, i, o;
	uint8_t tmp[LINE_OPERANDS][4 * BLOCK];
	uint8_t *at[LINE_OPERANDS];
	bool alike = !m->one && !m->integers;

	for (i = 0; i < m->count; i++) {
		const uint32_t end = m->step[i].operand + (m->step[i].func == LINE_SELECT ? 2 : 1);

		count = end > count ? end : count;
	}
	for (o = 0; o < count; o++) {
		at[o] = line[o];
		alike = alike && m->form[o].dtype == m->form[0].dtype;
		step[o] = m->one >> o & 1 ? 0 : BLOCK * size_of(m->form[o].dtype);
	}
	if (alike && common_steps(m, at, n, m->form[0].dtype)) {
		const uint32_t done = common_part(n, m->form[0].dtype);

		for (o = 0; o < count; o++)
			at[o] += (uint64_t)done * size_of(m->form[0].dtype);
		n -= done;
	}
	for (; n >= BLOCK; n -= BLOCK) {
		map_block(m, at);
		for (o = 0; o < count; o++)
			at[o] += step[o];
	}
	if (!n)
		return;
	for (o = 0; o < count; o++) {
		uint8_t *const from = at[o];

		memset(tmp[o], 0, sizeof(tmp[o]));
		if (o)
			copy_last(tmp[o], from,
				  (size_t)(step[o] ? n : 1) * size_of(m->form[o].dtype), step[o]);
	}
	{
		uint8_t *const copy[] = { tmp[0], tmp[1], tmp[2], tmp[3], tmp[4], tmp[5] };

		map_block(m, copy);
	}
	memcpy(at[0], tmp[0], (size_t)n * size_of(m->form[0].dtype));
}

/* --- along lines ------------------------------------------------------------------- */

/* The last @n elements as numbers, padded with @pad. */
V_INLINE void load_last(vf x[4], const struct line_form *f, const void *from, uint32_t n,
			float pad)
{
	uint8_t tmp[4 * BLOCK] = { 0 };
	float v[BLOCK];
	uint32_t i;

	if (f->dtype == UMA_DTYPE_F32 && n % VL == 0) {
		load_some(x, from, n / VL, pad);
		return;
	}
	memcpy(tmp, from, (size_t)n * size_of(f->dtype));
	load_block(x, f, tmp);
	EACH
		v_store(v + j * VL, x[j]);
	for (i = n; i < BLOCK; i++)
		v[i] = pad;
	EACH
		x[j] = v_load(v + j * VL);
}

/* Loop over the blocks of a line: @x has the elements, @rest is their number. */
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

/* The columns of a block stay in registers for all rows. */
static void line_columns(const struct line_form *f, const uint8_t *from, int64_t step,
			 uint32_t rows, uint32_t n, double *to)
{
	const uint32_t size = size_of(f->dtype);
	double last[BLOCK];
	uint32_t c, r;
	vd s[8];
	vf x[4];
	int i;

	if (f->dtype == UMA_DTYPE_S32) {
		column_totals(from, step, rows, n, to);
		return;
	}
	for (c = 0; c < n; c += BLOCK) {
		const uint32_t count = n - c < BLOCK ? n - c : BLOCK;
		const uint8_t *p = from + (uint64_t)c * size;

		_Pragma("GCC unroll 8")
		for (i = 0; i < 8; i++)
			s[i] = vd_set(0);
		for (r = 0; r < rows; r++, p += step) {
			if (count == BLOCK)
				load_block(x, f, p);
			else
				load_last(x, f, p, count, 0);
			EACH {
				s[2 * j] = vd_add(s[2 * j], vd_low(x[j]));
				s[2 * j + 1] = vd_add(s[2 * j + 1], vd_high(x[j]));
			}
		}
		_Pragma("GCC unroll 8")
		for (i = 0; i < 8; i++)
			vd_store(last + i * (VL / 2), s[i]);
		memcpy(to + c, last, sizeof(double) * count);
	}
}

V_INLINE vf blended(vf to, vf x, vf w, vf by, bool add)
{
	const vf product = v_mul(v_mul(w, by), x);

	return add ? v_add(to, product) : product;
}

static void line_blend(float *to, const float *x, const float *w, float by, uint32_t before,
		       uint32_t n)
{
	float rest[3][VL] = { { 0 } };
	const vf all = v_set(by);
	uint32_t i;

	for (i = 0; i + VL <= n; i += VL)
		v_store(to + i, blended(v_load(to + i), v_load(x + i),
					w ? v_load(w + i) : v_set(1), all, before));
	if (i == n)
		return;
	memcpy(rest[0], x + i, 4ul * (n - i));
	if (w)
		memcpy(rest[1], w + i, 4ul * (n - i));
	if (before)
		memcpy(rest[2], to + i, 4ul * (n - i));
	v_store(rest[2], blended(v_load(rest[2]), v_load(rest[0]),
				 w ? v_load(rest[1]) : v_set(1), all, before));
	memcpy(to + i, rest[2], 4ul * (n - i));
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
		/* Padding is multiplied by 0. */
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
	/* Values further below do not contribute; the difference of infinities is avoided. */
	const vf m = v_set(-top);
	const vf least = v_set(top > -0x1p126f ? top - __builtin_fabsf(top) - 256 :
			       top > -__FLT_MAX__ ? -__FLT_MAX__ : -__builtin_inff());
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
			const vf at_least = v_max(least, x[j]);
			const vf hi = v_add(at_least, m);
			const vf b = v_sub(hi, at_least);
			const vf lo = v_add(v_sub(at_least, v_sub(hi, b)), v_sub(m, b));

			/* Beyond that, where the result is 0, the low part may have any size. */
			x[j] = math_exp(hi, v_where(v_least(math_abs(hi), v_set(128)), lo,
						    v_set(0)));
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

#include "lines_places.h"

const struct line_kernels LINE_TABLE = {
	.map = map_line,
	.sums = line_sums,
	.columns = line_columns,
	.blend = line_blend,
	.squares = line_squares,
	.top = line_top,
	.exps = line_exps,
	.window = line_window,
	.most = line_most,
	.find = line_find,
	.above = line_above,
	.turn = line_turn,
	.rotary = line_rotary,
	.total = line_total,
	.bound = line_bound,
	.has_step = has_step,
	.has_integer = has_integer,
};

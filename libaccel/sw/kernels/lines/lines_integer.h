/* SPDX-License-Identifier: MIT */
/*
 * Part of lines_kernel.h: steps between integers, exact as in the model. Results are saturated
 * to 32 bits; bitwise functions truncate to the type.
 */

/* A block as integers, for any stored type */
V_INLINE void load_integers(vi x[4], const struct line_form *f, const void *from)
{
	const uint8_t *p = from;

	if (f->dtype == UMA_DTYPE_S32) {
		EACH
			x[j] = vi_load(p + j * 4 * VL);
	} else {
		EACH
			x[j] = vi_nearest(v_bytes(p + j * VL, f->dtype == UMA_DTYPE_S8));
	}
}

V_INLINE void load_integer(vi x[4], const struct line_form *f, const void *from)
{
	int32_t v = *(const uint8_t *)from;

	if (f->dtype == UMA_DTYPE_S32)
		memcpy(&v, from, sizeof(v));
	else if (f->dtype == UMA_DTYPE_S8)
		v = (int8_t)v;
	EACH
		x[j] = vi_set(v);
}

V_INLINE void store_integers(void *to, const struct line_form *f, const vi x[4])
{
	uint8_t *p = to;
	vf v[4];

	if (f->dtype == UMA_DTYPE_S32) {
		EACH
			v_store(p + j * 4 * VL, v_of(x[j]));
		return;
	}
	EACH {
		const vi low = vi_and(x[j], vi_set(255));

		v[j] = v_of_ints(f->dtype == UMA_DTYPE_S8 ? vi_sar(vi_shl(x[j], 24), 24) :
				 f->dtype == UMA_DTYPE_U8 ? low : x[j]);
	}
	store_type(to, f, f->dtype, v);
}

V_INLINE vi vi_where(vm m, vi a, vi b)
{
	return vi_of(v_where(m, v_of(a), v_of(b)));
}

/* The largest number if @sign is not negative, else the smallest */
V_INLINE vi bound(vi sign)
{
	return vi_xor(vi_sar(sign, 31), vi_set(INT32_MAX));
}

V_INLINE vi sum_of(vi a, vi b)
{
	const vi s = vi_add(a, b), over = vi_and(vi_xor(a, s), vi_xor(b, s));

	return vi_where(vi_greater(vi_set(0), over), bound(a), s);
}

V_INLINE vi difference(vi a, vi b)
{
	const vi s = vi_sub(a, b), over = vi_and(vi_xor(a, b), vi_xor(a, s));

	return vi_where(vi_greater(vi_set(0), over), bound(a), s);
}

V_INLINE vi product_of(vi a, vi b)
{
	const vi low = vi_mul(a, b);

	return vi_where(vi_equal(vi_mul_high(a, b), vi_sar(low, 31)), low, bound(vi_xor(a, b)));
}

V_INLINE vi truth(vm m)
{
	return vi_where(m, vi_set(1), vi_set(0));
}

V_INLINE vi untruth(vm m)
{
	return vi_where(m, vi_set(0), vi_set(1));
}

#define WHOLE_TWO(code, expr)						\
	case LINE_BINARY(UMA_BINARY_##code):				\
		EACH {							\
			const vi a = x[j], b = y[j];			\
									\
			x[j] = (expr);					\
		}							\
		break

#define WHOLE_ONE(code, expr)						\
	case code:							\
		EACH {							\
			const vi a = x[j];				\
									\
			x[j] = (expr);					\
		}							\
		break

static bool has_integer(uint32_t func)
{
	switch (func) {
	case LINE_BINARY(UMA_BINARY_ADD):
	case LINE_BINARY(UMA_BINARY_SUB):
	case LINE_BINARY(UMA_BINARY_MUL):
	case LINE_BINARY(UMA_BINARY_MAX):
	case LINE_BINARY(UMA_BINARY_MIN):
	case LINE_BINARY(UMA_BINARY_EQ) ... LINE_BINARY(UMA_BINARY_SHR):
	case LINE_UNARY(UMA_UNARY_ABS):
	case LINE_UNARY(UMA_UNARY_NEG):
	case LINE_UNARY(UMA_UNARY_SQUARE):
	case LINE_UNARY(UMA_UNARY_SIGN):
	case LINE_UNARY(UMA_UNARY_NOT):
	case LINE_UNARY(UMA_UNARY_BIT_NOT):
	case LINE_ACT(UMA_ACT_RELU):
		return true;
	default:
		return false;
	}
}

/* The functions of has_integer(). */
V_INLINE void run_integer(vi x[4], uint32_t func, const vi y[4])
{
	const vi none = vi_set(0);

	switch (func) {
	WHOLE_TWO(ADD, sum_of(a, b));
	WHOLE_TWO(SUB, difference(a, b));
	WHOLE_TWO(MUL, product_of(a, b));
	WHOLE_TWO(MAX, vi_max(a, b));
	WHOLE_TWO(MIN, vi_where(vi_greater(a, b), b, a));
	WHOLE_TWO(EQ, truth(vi_equal(a, b)));
	WHOLE_TWO(NE, untruth(vi_equal(a, b)));
	WHOLE_TWO(LT, truth(vi_greater(b, a)));
	WHOLE_TWO(LE, untruth(vi_greater(a, b)));
	WHOLE_TWO(GT, truth(vi_greater(a, b)));
	WHOLE_TWO(GE, untruth(vi_greater(b, a)));
	WHOLE_TWO(AND, vi_and(untruth(vi_equal(a, none)), untruth(vi_equal(b, none))));
	WHOLE_TWO(OR, untruth(vi_equal(vi_or(a, b), none)));
	WHOLE_TWO(XOR, vi_xor(truth(vi_equal(a, none)), truth(vi_equal(b, none))));
	WHOLE_TWO(BIT_AND, vi_and(a, b));
	WHOLE_TWO(BIT_OR, vi_or(a, b));
	WHOLE_TWO(BIT_XOR, vi_xor(a, b));
	WHOLE_TWO(SHL, vi_shift_left(a, b));
	WHOLE_TWO(SHR, vi_shift_right(a, b));
	WHOLE_ONE(LINE_UNARY(UMA_UNARY_ABS), vi_max(a, difference(none, a)));
	WHOLE_ONE(LINE_UNARY(UMA_UNARY_NEG), difference(none, a));
	WHOLE_ONE(LINE_UNARY(UMA_UNARY_SQUARE), product_of(a, a));
	WHOLE_ONE(LINE_UNARY(UMA_UNARY_SIGN),
		  vi_sub(truth(vi_greater(a, none)), truth(vi_greater(none, a))));
	WHOLE_ONE(LINE_UNARY(UMA_UNARY_NOT), truth(vi_equal(a, none)));
	WHOLE_ONE(LINE_UNARY(UMA_UNARY_BIT_NOT), vi_xor(a, vi_set(-1)));
	default:
		EACH
			x[j] = vi_max(x[j], none);
		break;
	}
}

V_INLINE void map_integers(const struct line_map *m, uint8_t *const *at)
{
	vi x[4], y[4] = { vi_set(0), vi_set(0), vi_set(0), vi_set(0) };
	uint32_t i;

	load_integers(x, &m->form[1], at[1]);
	for (i = 0; i < m->count; i++) {
		const uint32_t o = m->step[i].operand;

		if (o && m->one >> o & 1)
			load_integer(y, &m->form[o], at[o]);
		else if (o)
			load_integers(y, &m->form[o], at[o]);
		run_integer(x, m->step[i].func, y);
	}
	store_integers(at[0], &m->form[0], x);
}

/* --- along lines ------------------------------------------------------------------- */

/* Sums of at most 2^21 numbers in binary64 are exact. */
static int64_t line_total(const void *from, uint32_t n)
{
	const uint8_t *p = from;
	vd s[2] = { vd_set(0), vd_set(0) };
	int32_t last[VL] = { 0 };
	vi x;

	for (; n; n -= n < VL ? n : VL, p += 4 * VL) {
		if (n < VL) {
			memcpy(last, p, 4ul * n);
			x = vi_load(last);
		} else {
			x = vi_load(p);
		}
		s[0] = vd_add(s[0], vd_low_ints(x));
		s[1] = vd_add(s[1], vd_high_ints(x));
	}
	return (int64_t)vd_total(vd_add(s[0], s[1]));
}

/* Sums of columns, also of at most 2^21 lines */
static void column_totals(const uint8_t *from, int64_t step, uint32_t rows, uint32_t n, double *to)
{
	double sums[VL];
	uint32_t c, r;

	for (c = 0; c < n; c += VL) {
		const uint32_t count = n - c < VL ? n - c : VL;
		const uint8_t *p = from + 4ul * c;
		vd s[2] = { vd_set(0), vd_set(0) };
		int32_t last[VL] = { 0 };

		for (r = 0; r < rows; r++, p += step) {
			vi x;

			if (count < VL) {
				memcpy(last, p, 4ul * count);
				x = vi_load(last);
			} else {
				x = vi_load(p);
			}
			s[0] = vd_add(s[0], vd_low_ints(x));
			s[1] = vd_add(s[1], vd_high_ints(x));
		}
		vd_store(sums, s[0]);
		vd_store(sums + VL / 2, s[1]);
		memcpy(to + c, sums, sizeof(double) * count);
	}
}

static int32_t line_bound(const void *from, uint32_t n, bool smallest)
{
	const vi turn = vi_set(smallest ? -1 : 0);
	int32_t part[VL], top = INT32_MIN;
	vi most = vi_set(INT32_MIN);
	const uint8_t *p = from;
	uint32_t i;

	/* With all bits inverted, the smallest number is the largest. */
	for (; n >= VL; n -= VL, p += 4 * VL)
		most = vi_max(most, vi_xor(vi_load(p), turn));
	v_store(part, v_of(most));
	for (i = 0; i < VL; i++)
		top = part[i] > top ? part[i] : top;
	memcpy(part, p, 4ul * n);
	for (i = 0; i < n; i++) {
		const int32_t v = smallest ? ~part[i] : part[i];

		top = v > top ? v : top;
	}
	return smallest ? ~top : top;
}

/* SPDX-License-Identifier: MIT */
/*
 * Part of lines_kernel.h: elements at the same position of several lines, positions of
 * elements, and transposition.
 */

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
	/* The last elements: one position after the other, with intermediate results in memory. */
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

/* Elements equal to @value, or NaN if it is one; compared as bits with LINE_FIND_BITS. */
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
	/* The padding differs from the value. */
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
					if (lanes >> lane & 1 &&
					    (found == n || how == LINE_FIND_LAST))
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

/* Transposes words by shuffling their halves log(count) times. */
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
 * A square whose rows are cache lines: the rows of the result are assembled first, because rows
 * of tensors are often at distances that map to the same cache sets.
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

/*
 * Squares; the last ones overlap those before. Single elements where there is less than a
 * square.
 */
static void line_turn_rest(uint8_t *to, int64_t to_step, const uint8_t *from, int64_t from_step,
			   uint32_t rows, uint32_t n, uint32_t bytes, uint32_t side)
{
	const bool squares = rows >= side && n >= side;
	const uint32_t height = squares ? side : 1, columns = squares ? side : n;
	uint32_t c, r, i, x, y;

	for (c = 0; c < n; c += columns) {
		x = n - c < columns ? n - columns : c;
		for (r = 0; r < rows; r += height) {
			uint8_t *d;
			const uint8_t *a;

			y = rows - r < height ? rows - height : r;
			d = to + y * to_step + (uint64_t)x * bytes;
			a = from + x * from_step + (uint64_t)y * bytes;
			if (squares)
				turn_square(d, to_step, a, from_step, bytes);
			for (i = 0; !squares && i < columns; i++)
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
				   from + c * from_step + (uint64_t)r * bytes, from_step, side,
				   bytes);
		if (r < rows)
			line_turn_rest(to + r * to_step + (uint64_t)c * bytes, to_step,
				       from + c * from_step + (uint64_t)r * bytes, from_step,
				       rows - r, lines, bytes, side);
	}
	line_turn_rest(to + (uint64_t)c * bytes, to_step, from + c * from_step, from_step, rows,
		       n - c, bytes, side);
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

/* VL pairs; if not interleaved, the second elements are @half after the first ones. */
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

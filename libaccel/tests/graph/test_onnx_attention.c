// SPDX-License-Identifier: MIT
/*
 * Attention and rotary embeddings of ONNX and of com.microsoft, against what their definitions
 * give in binary64.
 */
#include "onnxop.h"

enum { B = 2, S = 3, P = 2, N = 4, KV = 2, H = 4, V = 6, ROWS = 64 };

/**
 * struct heads - an attention in numbers
 * @batch: batches
 * @rows: queries
 * @keys: keys
 * @n: heads of queries
 * @kv: heads of keys
 * @h: size of queries and keys
 * @v: size of values
 * @q: [batch, rows, n, h]
 * @k: [batch, keys, kv, h]
 * @w: values, [batch, keys, kv, v]
 * @bias: [batch, n, rows, keys], added
 * @seen: likewise, 0 hides
 * @scale: of the scores
 * @cap: of the scores, 0: none
 * @cap_first: before the bias
 * @out: [batch, rows, n, v]
 * @scores: [batch, n, rows, keys] at the four places
 */
struct heads {
	int batch, rows, keys, n, kv, h, v;
	double q[2048], k[2048], w[2048], bias[2048];
	bool seen[2048];
	double scale, cap;
	bool cap_first, smooth;
	double out[2048];
	double scores[4][2048];
};

static struct heads ref;

static void attend(struct heads *a)
{
	int b, i, n, t, d, g = a->n / a->kv;

	for (b = 0; b < a->batch; b++)
		for (n = 0; n < a->n; n++)
			for (i = 0; i < a->rows; i++) {
				int at = ((b * a->n + n) * a->rows + i) * a->keys;
				/* One more score may be 0, of what has no value. */
				double sum, *s[4], most = a->smooth ? 0 : -INFINITY;

				for (t = 0; t < 4; t++)
					s[t] = a->scores[t] + at;
				for (t = 0; t < a->keys; t++) {
					double x = 0;

					for (d = 0; d < a->h; d++)
						x += a->q[((b * a->rows + i) * a->n + n) * a->h +
							  d] *
						     a->k[((b * a->keys + t) * a->kv + n / g) *
								  a->h + d];
					s[0][t] = x *= a->scale;
					if (a->cap != 0 && a->cap_first)
						x = a->cap * tanh(x / a->cap);
					x += a->bias[at + t];
					s[1][t] = a->seen[at + t] ? x : -INFINITY;
					if (a->cap != 0 && !a->cap_first)
						x = a->cap * tanh(s[1][t] / a->cap);
					s[2][t] = a->seen[at + t] || a->cap != 0 ? x : -INFINITY;
					s[3][t] = a->seen[at + t] ? x : -INFINITY;
					most = fmax(most, s[3][t]);
				}
				sum = a->smooth ? exp(-most) : 0;
				for (t = 0; t < a->keys; t++)
					sum += isinf(most) ? 0 : exp(s[3][t] - most);
				for (t = 0; t < a->keys; t++)
					s[3][t] = sum > 0 ? exp(s[3][t] - most) / sum : 0;
				for (d = 0; d < a->v; d++) {
					double x = 0;

					for (t = 0; t < a->keys; t++)
						x += s[3][t] *
						     a->w[((b * a->keys + t) * a->kv + n / g) *
								  a->v + d];
					a->out[((b * a->rows + i) * a->n + n) * a->v + d] = x;
				}
			}
}

/* A new one, all of whose keys are seen */
static struct heads *start(int rows, int keys, int n, int kv, int h, int v)
{
	int i;

	memset(&ref, 0, sizeof(ref));
	ref.batch = B;
	ref.rows = rows;
	ref.keys = keys;
	ref.n = n;
	ref.kv = kv;
	ref.h = h;
	ref.v = v;
	ref.scale = 1 / sqrt(h);
	for (i = 0; i < 2048; i++)
		ref.seen[i] = true;
	return &ref;
}

/* Floats [batch, rows, heads, size] as they are, or turned to [batch, heads, rows, size] */
static void lay(const double *from, float *to, int rows, int heads, int size, bool turned)
{
	int b, i, n, d;

	for (b = 0; b < B; b++)
		for (i = 0; i < rows; i++)
			for (n = 0; n < heads; n++)
				for (d = 0; d < size; d++) {
					int was = (b * rows + i) * heads + n;
					int at = turned ? (b * heads + n) * rows + i : was;

					to[at * size + d] = (float)from[was * size + d];
				}
}

static void fill(uint32_t seed, double *to, int count)
{
	int i;

	/* What is float is the same in both. */
	for (i = 0; i < count; i++)
		to[i] = (double)noise(seed, (uint32_t)i);
}

/* The first rows, or those behind them, of all batches: [batch, rows, size] */
static void cut(const double *from, double *to, int rows, int size, int first, int count)
{
	int b;

	for (b = 0; b < B; b++)
		memcpy(to + b * count * size, from + (b * rows + first) * size,
		       (size_t)(count * size) * sizeof(*to));
}

static void hide(struct heads *a, int b, int n, int i, int t)
{
	a->seen[((b * a->n + n) * a->rows + i) * a->keys + t] = false;
}

static void hide_behind(struct heads *a, int past)
{
	int b, n, i, t;

	for (b = 0; b < a->batch; b++)
		for (n = 0; n < a->n; n++)
			for (i = 0; i < a->rows; i++)
				for (t = past + i + 1; t < a->keys; t++)
					hide(a, b, n, i, t);
}

static float f[12][2048];

static void to_floats(const double *from, float *to, int count)
{
	int i;

	for (i = 0; i < count; i++)
		to[i] = (float)from[i];
}

/* ONNX's: four dimensions, a past, groups, causal or not, masks and caps, every output */
static void one_onnx(struct bed *bed, bool causal, int mask, double cap, int mode)
{
	static double half[2048];
	struct heads *a = start(S, P + S, N, KV, H, V);
	static float zeros_and_ones[B * N * S * (P + S)];
	uint8_t seen[S * (P + S)];
	struct tested *t;
	struct bytes n;
	int i, all = P + S;

	fill(1, a->q, B * S * N * H);
	fill(2, a->k, B * all * KV * H);
	fill(3, a->w, B * all * KV * V);
	a->cap = cap;
	a->scale = 0.7;
	lay(a->q, f[0], S, N, H, true);
	cut(a->k, half, all, KV * H, P, S);
	lay(half, f[1], S, KV, H, true);
	cut(a->k, half, all, KV * H, 0, P);
	lay(half, f[2], P, KV, H, true);
	cut(a->w, half, all, KV * V, P, S);
	lay(half, f[3], S, KV, V, true);
	cut(a->w, half, all, KV * V, 0, P);
	lay(half, f[4], P, KV, V, true);
	if (causal)
		hide_behind(a, P);
	for (i = 0; i < B * N * S * all; i++) {
		zeros_and_ones[i] = noise(4, (uint32_t)i);
		if (mask == 1)
			a->bias[i] = (double)zeros_and_ones[i];
		seen[i % (S * all)] = i % (S * all) % 3 != 1;
		if (mask == 2 && !seen[i % (S * all)])
			a->seen[i] = false;
	}
	attend(a);
	lay(a->out, f[5], S, N, V, true);
	lay(a->k, f[6], all, KV, H, true);
	lay(a->w, f[7], all, KV, V, true);
	to_floats(a->scores[mode], f[8], B * N * S * all);
	t = BEGIN(bed, IO("q", F32, f[0], B, N, S, H), IO("k", F32, f[1], B, KV, S, H),
		  IO("v", F32, f[3], B, KV, S, V), IO("pk", F32, f[2], B, KV, P, H),
		  IO("pv", F32, f[4], B, KV, P, V), IO("bias", F32, zeros_and_ones, B, N, S, all),
		  IO("seen", BOOL, seen, S, all));
	t->opset = 23;
	n = op(NULL, "Attention", mask == 1 ? "q k v bias pk pv" : mask == 2 ? "q k v seen pk pv" :
	       "q k v - pk pv", mode >= 0 ? "y k2 v2 s" : "y k2 v2");
	attr_int(&n, "is_causal", causal);
	attr_float(&n, "scale", 0.7f);
	if (cap != 0)
		attr_float(&n, "softcap", (float)cap);
	attr_int(&n, "qk_matmul_output_mode", mode);
	add_op(t, &n);
	t->bound = 0.00001;
	GIVES(t, IO("y", F32, f[5], B, N, S, V), IO("k2", F32, f[6], B, KV, all, H),
	      IO("v2", F32, f[7], B, KV, all, V), IO("s", F32, f[8], B, N, S, all));
}

static void test_onnx(void **arg)
{
	int mode, mask;

	for (mode = 0; mode < 4; mode++)
		for (mask = 0; mask < 3; mask++) {
			one_onnx(*arg, false, mask, 0, mode);
			one_onnx(*arg, true, mask, mask == 1 ? 0.5 : 0, mode);
		}
	one_onnx(*arg, true, 2, 0.5, 0);
}

/*
 * Three dimensions without a past or scores: more keys than queries, of which the causal ones
 * are the first; then with lengths, which queries are at the end of; symbols too
 */
static void one_flat(struct bed *bed, bool causal, bool lengths, bool symbols)
{
	static const int64_t given_q[] = { B, S, N * H }, given_k[] = { B, P + S, KV * H };
	static const int64_t lens[B] = { 4, 5 }, given_v[] = { B, P + S, KV * V };
	struct heads *a = start(S, P + S, N, KV, H, V);
	int b, n, i, k, all = P + S;
	struct tested *t;
	struct bytes node;

	fill(1, a->q, B * S * N * H);
	fill(2, a->k, B * all * KV * H);
	fill(3, a->w, B * all * KV * V);
	for (b = 0; b < B; b++)
		for (n = 0; n < N; n++)
			for (i = 0; i < S; i++)
				for (k = 0; k < all; k++)
					if ((causal && k > i + (lengths ? (int)lens[b] - S : 0)) ||
					    (lengths && k >= lens[b]))
						hide(a, b, n, i, k);
	attend(a);
	lay(a->q, f[0], S, N, H, false);
	lay(a->k, f[1], all, KV, H, false);
	lay(a->w, f[2], all, KV, V, false);
	lay(a->out, f[3], S, N, V, false);
	struct io in[] = {
		IO("q", F32, f[0], B, S, N * H), IO("k", F32, f[1], B, P + S, KV * H),
		IO("v", F32, f[2], B, P + S, KV * V), IO("lens", S64, lens, B)
	};
	if (symbols) {
		in[0].dims[0] = in[1].dims[0] = in[2].dims[0] = -1;
		in[0].dims[1] = -2;
		in[1].dims[1] = in[2].dims[1] = -3;
		in[0].given = given_q;
		in[1].given = given_k;
		in[2].given = given_v;
	}
	t = begin(bed, in, lengths ? 4 : 3);
	t->opset = 24;
	node = op(NULL, "Attention", lengths ? "q k v - - - lens" : "q k v", "y");
	attr_int(&node, "is_causal", causal);
	attr_int(&node, "q_num_heads", N);
	attr_int(&node, "kv_num_heads", KV);
	add_op(t, &node);
	t->bound = 0.00001;
	GIVES(t, IO("y", F32, f[3], B, S, N * V));
}

static void test_flat(void **arg)
{
	int i;

	for (i = 0; i < 8; i++)
		one_flat(*arg, i & 1, i & 2, i & 4);
}

/* --- com.microsoft -------------------------------------------------------------------------- */

/* Heads apart, with a bias of the projections, key padding, what is added, a past */
static void test_multi_head(void **arg)
{
	static const int32_t padding[B * (P + S)] = { 1, 1, 1, 0, 1, 1, 0, 1, 1, 1 };
	static double half[2048];
	struct heads *a = start(S, P + S, N, N, H, V);
	float bias[N * (2 * H + V)];
	int b, n, i, k, all = P + S;
	struct tested *t;
	struct bytes node;

	fill(1, a->q, B * S * N * H);
	fill(2, a->k, B * all * N * H);
	fill(3, a->w, B * all * N * V);
	lay(a->q, f[0], S, N, H, false);
	cut(a->k, half, all, N * H, P, S);
	lay(half, f[1], S, N, H, false);
	cut(a->w, half, all, N * V, P, S);
	lay(half, f[2], S, N, V, false);
	cut(a->k, half, all, N * H, 0, P);
	lay(half, f[3], P, N, H, true);
	cut(a->w, half, all, N * V, 0, P);
	lay(half, f[4], P, N, V, true);
	for (i = 0; i < N * (2 * H + V); i++)
		bias[i] = noise(5, (uint32_t)i);
	for (i = 0; i < B * S * N * H; i++)
		a->q[i] += (double)bias[i % (N * H)];
	for (i = 0; i < B * all * N * H; i++)
		if (i / (N * H) % all >= P)
			a->k[i] += (double)bias[N * H + i % (N * H)];
	for (i = 0; i < B * all * N * V; i++)
		if (i / (N * V) % all >= P)
			a->w[i] += (double)bias[2 * N * H + i % (N * V)];
	hide_behind(a, P);
	for (b = 0; b < B; b++)
		for (n = 0; n < N; n++)
			for (i = 0; i < S; i++)
				for (k = 0; k < all; k++) {
					int at = ((b * N + n) * S + i) * all + k;
					/* The same for all batches */
					uint32_t same = (uint32_t)((n * S + i) * all + k);

					f[5][same] = noise(6, same);
					a->bias[at] = (double)f[5][same];
					a->bias[at] += padding[b * all + k] ? 0 : -3;
				}
	attend(a);
	lay(a->out, f[6], S, N, V, false);
	lay(a->k, f[7], all, N, H, true);
	lay(a->w, f[8], all, N, V, true);
	t = BEGIN(*arg, IO("q", F32, f[0], B, S, N * H), IO("k", F32, f[1], B, S, N * H),
		  IO("v", F32, f[2], B, S, N * V), CONST("b", F32, bias, N * (2 * H + V)),
		  IO("pad", S32, padding, B, all), IO("add", F32, f[5], 1, N, S, all),
		  IO("pk", F32, f[3], B, N, P, H), IO("pv", F32, f[4], B, N, P, V));
	node = op(MS, "MultiHeadAttention", "q k v b pad add pk pv", "y k2 v2");
	attr_int(&node, "num_heads", N);
	attr_int(&node, "unidirectional", 1);
	attr_float(&node, "mask_filter_value", -3);
	add_op(t, &node);
	t->bound = 0.00001;
	GIVES(t, IO("y", F32, f[6], B, S, N * V), IO("k2", F32, f[7], B, N, all, H),
	      IO("v2", F32, f[8], B, N, all, V));
}

/* All three in one, [B, S, N, 3, H]; lengths of keys */
static void test_multi_packed(void **arg)
{
	static const int32_t lens[B] = { 2, 3 };
	struct heads *a = start(S, S, N, N, H, H);
	struct tested *t;
	struct bytes node;
	int i;

	fill(1, a->q, B * S * N * H);
	fill(2, a->k, B * S * N * H);
	fill(3, a->w, B * S * N * H);
	for (i = 0; i < B * S * N * H; i++) {
		int at = i / H * 3 * H + i % H;

		f[0][at] = (float)a->q[i];
		f[0][at + H] = (float)a->k[i];
		f[0][at + 2 * H] = (float)a->w[i];
	}
	for (i = 0; i < B * N * S * S; i++)
		a->bias[i] = i % S < lens[i / (N * S * S)] ? 0 : -10000;
	attend(a);
	lay(a->out, f[1], S, N, H, false);
	t = BEGIN(*arg, IO("q", F32, f[0], B, S, N, 3, H), IO("lens", S32, lens, B));
	node = op(MS, "MultiHeadAttention", "q - - - lens", "y");
	attr_int(&node, "num_heads", N);
	add_op(t, &node);
	t->bound = 0.00001;
	GIVES(t, IO("y", F32, f[1], B, S, N * H));
}

/* Projections within; sizes of their own; a past of both in one */
static void test_projected(void **arg)
{
	static const int32_t ends[2 * B] = { 4, 5, 1, 0 };
	enum { X = 5, WIDE = N * (2 * H + V) };
	static double all_k[2048], all_w[2048];
	struct heads *a = start(S, P + S, N, N, H, H);
	float x[B * S * X], w[X * 3 * N * H], bias[3 * N * H];
	int b, i, k, part, all = P + S;
	struct tested *t;
	struct bytes node;

	for (i = 0; i < B * S * X; i++)
		x[i] = noise(1, (uint32_t)i);
	for (i = 0; i < X * 3 * N * H; i++)
		w[i] = noise(2, (uint32_t)i);
	for (i = 0; i < 3 * N * H; i++)
		bias[i] = noise(3, (uint32_t)i);
	fill(4, all_k, B * all * N * H);
	fill(5, all_w, B * all * N * H);
	for (b = 0; b < B; b++)
		for (i = 0; i < S; i++)
			for (part = 0; part < 3 * N * H; part++) {
				double sum = (double)bias[part];
				int col = part % (N * H);
				int at = ((b * all + P + i) * N * H) + col;

				for (k = 0; k < X; k++)
					sum += (double)x[(b * S + i) * X + k] *
					       (double)w[k * 3 * N * H + part];
				if (part < N * H)
					a->q[(b * S + i) * N * H + col] = sum;
				else if (part < 2 * N * H)
					all_k[at] = sum;
				else
					all_w[at] = sum;
			}
	memcpy(a->k, all_k, sizeof(all_k));
	memcpy(a->w, all_w, sizeof(all_w));
	cut(a->k, all_k, all, N * H, 0, P);
	lay(all_k, f[0], P, N, H, true);
	cut(a->w, all_w, all, N * H, 0, P);
	lay(all_w, f[0] + B * N * P * H, P, N, H, true);
	for (i = 0; i < B * N * S * all; i++) {
		b = i / (N * S * all);
		if (i % all >= ends[b] || i % all < ends[B + b])
			a->bias[i] = -10000;
	}
	attend(a);
	lay(a->out, f[1], S, N, H, false);
	lay(a->k, f[2], all, N, H, true);
	lay(a->w, f[2] + B * N * all * H, all, N, H, true);
	t = BEGIN(*arg, IO("x", F32, x, B, S, X), CONST("w", F32, w, X, 3 * N * H),
		  CONST("b", F32, bias, 3 * N * H), IO("ends", S32, ends, 2 * B),
		  IO("past", F32, f[0], 2, B, N, P, H));
	node = op(MS, "Attention", "x w b ends past", "y present");
	attr_int(&node, "num_heads", N);
	add_op(t, &node);
	t->bound = 0.0001;
	GIVES(t, IO("y", F32, f[1], B, S, N * H), IO("present", F32, f[2], 2, B, N, all, H));
}

/* A head turned by the angle of its place */
static void turn(double *x, int size, int rot, double place, bool pairs)
{
	int i;

	assert_true(rot <= size);
	for (i = 0; i < rot / 2; i++) {
		double angle = place / pow(100, 2.0 * i / rot);
		double c = (double)(float)cos(angle), s = (double)(float)sin(angle);
		double *u = x + (pairs ? 2 * i : i), *v = x + (pairs ? 2 * i + 1 : i + rot / 2);
		double p = *u, q = *v;

		*u = p * c - q * s;
		*v = p * s + q * c;
	}
}

static void tables(float *cosines, float *sines, int count, int rot)
{
	int i, k;

	for (k = 0; k < count; k++)
		for (i = 0; i < rot / 2; i++) {
			cosines[k * rot / 2 + i] = (float)cos(k / pow(100, 2.0 * i / rot));
			sines[k * rot / 2 + i] = (float)sin(k / pow(100, 2.0 * i / rot));
		}
}

/*
 * Batches with different pasts in one cache, whose rows stay in order; packed or not, rotary in
 * pairs or halves, a window, a cap, a softmax with one score more
 */
static void one_group(struct bed *bed, bool packed, bool past, bool pairs, int window, bool smooth)
{
	/* Keys less 1: of a first run some rows are padding. */
	const int32_t lens[B] = { past ? P + S - 2 : S - 2, past ? P + S - 1 : S - 1 };
	int b, n, i, k, old = past ? P : 0, all = old + S, first[B];
	struct heads *a = start(S, all, N, KV, H, H);
	static double q[2048], kk[2048], ww[2048];
	float cosines[16 * H / 2], sines[16 * H / 2];
	const int32_t total = all;
	struct tested *t;
	struct bytes node;

	fill(1, q, B * S * N * H);
	fill(2, kk, B * S * KV * H);
	fill(3, ww, B * S * KV * H);
	fill(4, a->k, B * all * KV * H);
	fill(5, a->w, B * all * KV * H);
	tables(cosines, sines, 16, H);
	for (i = 0; i < B * S; i++)
		for (k = 0; k < (N + 2 * KV) * H; k++)
			f[0][i * (N + 2 * KV) * H + k] =
				(float)(k < N * H ? q[i * N * H + k] : k < (N + KV) * H ?
					kk[i * KV * H + k - N * H] :
					ww[i * KV * H + k - (N + KV) * H]);
	to_floats(q, f[1], B * S * N * H);
	to_floats(kk, f[2], B * S * KV * H);
	to_floats(ww, f[3], B * S * KV * H);
	cut(a->k, a->bias, all, KV * H, 0, old);
	lay(a->bias, f[4], old, KV, H, true);
	cut(a->w, a->bias, all, KV * H, 0, old);
	lay(a->bias, f[5], old, KV, H, true);
	memset(a->bias, 0, sizeof(a->bias));
	for (b = 0; b < B; b++) {
		first[b] = past ? lens[b] + 1 - S : 0;
		for (i = 0; i < S; i++) {
			for (n = 0; n < N; n++)
				turn(q + ((b * S + i) * N + n) * H, H, H, first[b] + i, pairs);
			for (n = 0; n < KV; n++) {
				int from = ((b * S + i) * KV + n) * H;
				int to = ((b * all + first[b] + i) * KV + n) * H;

				turn(kk + from, H, H, first[b] + i, pairs);
				memcpy(a->k + to, kk + from, H * sizeof(double));
				memcpy(a->w + to, ww + from, H * sizeof(double));
			}
		}
		/* What lies behind the last row is that which was there before. */
		for (i = first[b] + S; i < all; i++)
			for (n = 0; n < KV; n++) {
				int from = ((b * S + i - old) * KV + n) * H;
				int to = ((b * all + i) * KV + n) * H;

				memcpy(a->k + to, kk + from, H * sizeof(double));
				memcpy(a->w + to, ww + from, H * sizeof(double));
			}
		for (n = 0; n < N; n++)
			for (i = 0; i < S; i++)
				for (k = 0; k < all; k++)
					if (k > first[b] + i || k > lens[b] ||
					    (window > 0 && k <= first[b] + i - window))
						hide(a, b, n, i, k);
	}
	memcpy(a->q, q, sizeof(q));
	a->cap = 0.8;
	a->cap_first = true;
	a->smooth = smooth;
	a->scale = 0.9;
	attend(a);
	lay(a->out, f[6], S, N, H, false);
	lay(a->k, f[7], all, KV, H, true);
	lay(a->w, f[8], all, KV, H, true);
	t = BEGIN(bed, IO("qkv", F32, f[0], B, S, (N + 2 * KV) * H),
		  IO("q", F32, f[1], B, S, N * H),
		  IO("k", F32, f[2], B, S, KV * H), IO("v", F32, f[3], B, S, KV * H),
		  IO("lens", S32, lens, B), CONST("total", S32, &total, 1),
		  CONST("cos", F32, cosines, 16, H / 2), CONST("sin", F32, sines, 16, H / 2),
		  IO("pk", F32, f[4], B, KV, old, H), IO("pv", F32, f[5], B, KV, old, H));
	node = op(MS, "GroupQueryAttention", packed ? "qkv - - pk pv lens total cos sin" :
		  "q k v pk pv lens total cos sin", "y k2 v2");
	attr_int(&node, "num_heads", N);
	attr_int(&node, "kv_num_heads", KV);
	attr_int(&node, "do_rotary", 1);
	attr_int(&node, "rotary_interleaved", pairs);
	attr_int(&node, "local_window_size", window);
	attr_int(&node, "smooth_softmax", smooth);
	attr_float(&node, "softcap", 0.8f);
	attr_float(&node, "scale", 0.9f);
	add_op(t, &node);
	t->bound = 0.00001;
	GIVES(t, IO("y", F32, f[6], B, S, N * H), IO("k2", F32, f[7], B, KV, all, H),
	      IO("v2", F32, f[8], B, KV, all, H));
}

static void test_group(void **arg)
{
	int i;

	for (i = 0; i < 8; i++)
		one_group(*arg, i & 1, i & 2, i & 4, i & 1 ? 2 : -1, i % 3 == 1);
}

/* A part of each head is turned; positions that are given, one for all, or none. */
static void test_rotary(void **arg)
{
	enum { ROT = 2, MOST = 16 };
	static const int64_t places[B * S] = { 4, 1, 7, 0, 2, 15 }, begin_at[1] = { 5 };
	float cosines[MOST * ROT / 2], sines[MOST * ROT / 2], rows[2][B * S * ROT / 2];
	static double x[2048], y[2048];
	struct tested *t;
	struct bytes n;
	int i, k, pairs;

	tables(cosines, sines, MOST, ROT);
	for (i = 0; i < B * S; i++)
		for (k = 0; k < ROT / 2; k++) {
			rows[0][i * ROT / 2 + k] = cosines[places[i] * ROT / 2 + k];
			rows[1][i * ROT / 2 + k] = sines[places[i] * ROT / 2 + k];
		}
	for (pairs = 0; pairs < 2; pairs++) {
		fill(1, x, B * S * N * H);
		lay(x, f[0], S, N, H, true);
		lay(x, f[1], S, N, H, false);
		memcpy(y, x, sizeof(y));
		for (i = 0; i < B * S * N; i++) {
			const int row = i / N;

			k = 5 + row % S;
			turn(x + i * H, H, ROT, (double)places[row], pairs);
			turn(y + i * H, H, ROT, k, pairs);
		}
		lay(x, f[2], S, N, H, true);
		lay(x, f[3], S, N, H, false);
		lay(y, f[4], S, N, H, false);
		t = BEGIN(*arg, IO("x4", F32, f[0], B, N, S, H), IO("x3", F32, f[1], B, S, N * H),
			  CONST("cos", F32, cosines, MOST, ROT / 2),
			  CONST("sin", F32, sines, MOST, ROT / 2),
			  IO("c", F32, rows[0], B, S, ROT / 2),
			  IO("s", F32, rows[1], B, S, ROT / 2),
			  IO("at", S64, places, B, S), IO("from", S64, begin_at, 1));
		t->opset = 23;
		n = op(NULL, "RotaryEmbedding", "x4 cos sin at", "y4");
		attr_int(&n, "interleaved", pairs);
		attr_int(&n, "rotary_embedding_dim", ROT);
		add_op(t, &n);
		n = op(NULL, "RotaryEmbedding", "x3 c s", "y3");
		attr_int(&n, "interleaved", pairs);
		attr_int(&n, "rotary_embedding_dim", ROT);
		attr_int(&n, "num_heads", N);
		add_op(t, &n);
		n = op(MS, "RotaryEmbedding", "x3 from cos sin", "z3");
		attr_int(&n, "interleaved", pairs);
		attr_int(&n, "rotary_embedding_dim", ROT);
		attr_int(&n, "num_heads", N);
		add_op(t, &n);
		n = op(MS, "RotaryEmbedding", "x4 at cos sin", "z4");
		attr_int(&n, "interleaved", pairs);
		attr_int(&n, "rotary_embedding_dim", ROT);
		attr_int(&n, "num_heads", N);
		add_op(t, &n);
		t->bound = 0.000001;
		GIVES(t, IO("y4", F32, f[2], B, N, S, H), IO("y3", F32, f[3], B, S, N * H),
		      IO("z3", F32, f[4], B, S, N * H), IO("z4", F32, f[2], B, N, S, H));
	}
}

/* Heads as wide as a symbol says: four, so that scores of ones are halved; one mask for all */
static void test_width(void **arg)
{
	static const int64_t one[] = { 1, 1, 1, 4 }, two[] = { 1, 1, 2, 4 };
	static const double x[8] = { 1, 1, 1, 1 };
	static const float fx[8] = { 1, 1, 1, 1 }, scores[2] = { 2, 0 }, none[4];
	const double part = 1 / (1 + exp(-2)), y[4] = { part, part, part, part };
	struct tested *t = BEGIN(*arg, { "q", F64, 4, { 1, 1, 1, -1 }, x, false, one },
				 { "k", F64, 4, { 1, 1, 2, -1 }, x, false, two },
				 { "fq", F32, 4, { 1, 1, 1, -1 }, fx, false, one },
				 { "f_k", F32, 4, { 1, 1, 2, -1 }, fx, false, two },
				 SCALAR("no", BOOL, ((uint8_t[]){ 0 })));

	t->opset = 23;
	t->bound = 0.0000001;
	ONE(t, NULL, "Attention", "q k k", "y");
	ONE(t, NULL, "Attention", "fq f_k f_k - - -", "z - - scores");
	ONE(t, NULL, "Attention", "fq f_k f_k no", "hidden");
	GIVES(t, IO("y", F64, y, 1, 1, 1, 4), IO("scores", F32, scores, 1, 1, 1, 2),
	      IO("hidden", F32, none, 1, 1, 1, 4));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, bed_setup, bed_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_onnx), TEST(test_flat), TEST(test_multi_head), TEST(test_multi_packed),
		TEST(test_projected), TEST(test_group), TEST(test_rotary),
		TEST(test_width),
	};

	return cmocka_run_group_tests_name("onnx_attention", tests, NULL, NULL);
}

// SPDX-License-Identifier: MIT
/*
 * Small models of every kind: each opens, and libFuzzer goes on from them, where it is there. What
 * is another file, or has an attribute too many, does not.
 *
 * "test_onnx_fuzz --seeds DIRECTORY" writes them.
 */
#include <accel/model.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "libaccel/graph/file.h"
#include "addedops.h"
#include "onnxwrite.h"

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))

/*
 * Nodes "operator inputs > outputs attribute=number,...", one after the other; "-" is no input,
 * "ms." the other domain, "own." that of addedops.h. There are x [rows, 3], where a digit before
 * all says how many rows, and constants: w [3, 4], k [1, 1, 2, 2], b [4], g [3], a number f;
 * lists of int64 l and m, a number z; bytes n4 [8], a byte o.
 */
static const char *const seeds[] = {
	"own.Sum x > y", "own.Sum x l > y v i=3,4 f=0.5,2.0 s=words",
	"Transpose x > t; own.Sum t - g > y v; Abs v > u",
	"Shape x > s; Abs s > n; own.Sum x n > u y; Relu u > v",
	"Abs x > y", "Exp x > y", "Relu x > y", "Gelu x > y", "Softplus x > y", "IsNaN x > y",
	"LeakyRelu x > y", "Softmax x > y axis=0", "LogSoftmax x > y", "Identity x > y",
	"Shape x > y", "Flatten x > y axis=1", "Transpose x > y perm=1,0",
	"Unsqueeze x m > u; Squeeze u m > y",
	"ReduceSum x > y keepdims=0", "ReduceMean x m > y", "ReduceMax x > y", "ReduceL2 x > y",
	"Add x g > y", "Sub x f > y", "Div x f > y", "Pow x f > y", "Less x g > y", "Max x g > y",
	"Mod z z > y", "Div z z > y", "Equal l m > y", "Mean x g x > y", "PRelu x g > y",
	"Gemm x w b > p transA=0; Relu p > y", "MatMul x w > p; Add p b > q; Relu q > y",
	"MatMul x w > p; Abs p > q; Add p q > r; Sigmoid r > y; Tanh r > v",
	"MatMul x w > p; Transpose p > q; Transpose q > r; Add p r > y",
	"Abs x > a; Slice a l l > s; Mul a a > c; Add c x > d; Abs d > y",
	"Unsqueeze x l > i; Conv i k > c; Relu c > y",
	"Unsqueeze x l > i; MaxPool i > y kernel_shape=2,2 pads=1,0,0,1 ceil_mode=1",
	"Unsqueeze x l > i; GlobalAveragePool i > y", "Reshape x m > y",
	"Shape x > s; Expand g s > y",
	"Unsqueeze x l > y", "Constant > e value_ints=2,3; Slice x l e l e > y",
	"Split x > y v axis=1", "Concat x x > y axis=1",
	("Abs x > p; Exp x > q; Concat p q > r axis=1; Tanh r > u; Relu x > s; "
	 "Concat p q s > y axis=1; Sigmoid y > v"),
	"Gather x l > y axis=1", "Gather x z > y axis=1", "GatherND x m > y",
	"Equal x g > c; Where c x f > y", "Clip x f f > y", "Cast x > y to=7",
	"Cast x > i to=6; Cast i > j to=3; Cast j > y to=9",
	"Shape x > s; Gather s z > n; Range z n z > y",
	"Shape x > s; ConstantOfShape s > t; Add t x > y", "LayerNormalization x g g > y",
	"BatchNormalization x g g g g > y",
	"Constant > c value_ints=2,1,1; Mul c c > d; Expand x d > y",
	"ArgMax x > y keepdims=0 select_last_index=1", "ArgMin x > y axis=1", "Hardmax x > y",
	"Constant > e value_floats=0.5,2.0; Constant > n value_int=4; OneHot l n e > y axis=0",
	"Constant > u value_floats=7.0; Unsqueeze m z > i; ScatterND g i u > y",
	("Constant > i value_ints=0,1; Constant > u value_floats=1.0,2.0; "
	 "ScatterElements g i u > y reduction=add"),
	"CumSum x z > y reverse=1", "Constant > n value_ints=2; TopK x n > y v",
	"TopK g z > y v largest=0",
	"Trilu x > y upper=0", "Trilu x z > y", "EyeLike x > y k=1 dtype=7",
	"2 ReverseSequence x l > y batch_axis=0 time_axis=1",
	"Constant > r value_ints=2,3; Tile x r > y",
	"Constant > p value_ints=0,1,-1,2; Pad x p f > y",
	"Constant > p value_ints=0,1,0,2; Pad x p > y mode=reflect",
	("Constant > c value_ints=1,1,2,2; Unsqueeze x l > i; Tile i c > j; "
	 "SpaceToDepth j > y blocksize=2"),
	"Constant > s value_ints=1,4,1,3; Expand g s > i; DepthToSpace i > y blocksize=2 mode=CRD",
	"Size x > y", "IsInf x > y detect_negative=0", "BitShift z z > y direction=LEFT",
	"ThresholdedRelu x > y alpha=0.5", "Shrink x > y bias=0.5",
	"Unsqueeze x l > i; Constant > s value_floats=1.0,1.0,2.0,1.5; Resize i - s > y mode=linear",
	("Unsqueeze x l > i; Constant > s value_ints=1,1,5,7; "
	 "Resize i - - s > y mode=cubic coordinate_transformation_mode=align_corners"),
	"Unsqueeze x l > i; ConvTranspose i k > y strides=2,2 output_padding=1,1",
	"2 Unsqueeze x l > i; ConvTranspose i k > y auto_pad=SAME_UPPER strides=2,3",
	"2 Unsqueeze x l > i; ConvTranspose i k > y output_shape=5,6",
	"Unsqueeze x m > i; InstanceNormalization i g g > y",
	"GroupNormalization x g g > y num_groups=3",
	"Unsqueeze x l > i; MeanVarianceNormalization i > y", "LpNormalization x > y p=1",
	"Unsqueeze x l > i; LRN i > y size=3",
	("2 Unsqueeze x l > i; Cast i > j to=7; Constant > s value_ints=1,1,6,6; "
	 "MaxUnpool i j s > y kernel_shape=2,2 strides=2,2"),
	"2 NegativeLogLikelihoodLoss x l g > y ignore_index=1",
	"2 SoftmaxCrossEntropyLoss x l > y v reduction=none",
	("2 Unsqueeze x z > i; Constant > c value_ints=1,1,3; Expand g c > W; "
	 "Constant > e value_ints=1,1,1; Expand f e > R; RNN i W R > y v activations=Affine"),
	("2 Unsqueeze x z > i; Constant > c value_ints=2,4,3; Expand g c > W; "
	 "Constant > e value_ints=2,4,1; Expand f e > R; Constant > n value_ints=2; "
	 "LSTM i W R - n > y v u direction=bidirectional clip=0.5"),
	("2 Unsqueeze x z > i; Constant > c value_ints=1,3,3; Expand g c > W; "
	 "Constant > e value_ints=1,3,1; Expand f e > R; GRU i W R > y v linear_before_reset=1"),
	"RandomNormal > y shape=2,3 dtype=11", "RandomUniformLike x > y", "Bernoulli x > y dtype=9",
	"Multinomial x > y sample_size=2", "Equal z z > t; Dropout x f t > y v seed=3",
	("SequenceConstruct x x > s; SequenceInsert s x z > t; SequenceErase t z > u; "
	 "SequenceAt u z > v; ConcatFromSequence u > y axis=1 new_axis=1"),
	("SequenceEmpty > e; SplitToSequence x z > s axis=1; SequenceLength e > v; Optional s > q; "
	 "OptionalGetElement q > p; ConcatFromSequence p > y axis=1; OptionalHasElement q > u"),
	"HannWindow z > y", "BlackmanWindow z > y periodic=0",
	"Einsum x w > y equation=ij,jk->ik", "Einsum x x w > y equation=...i,...j,jk->k...",
	"Constant > c value_ints=3,3; Expand g c > d; Einsum d > y equation=ii",
	"QuantizeLinear x f o > a; DequantizeLinear a f o > y",
	("Constant > s value_floats=1.0,2.0,3.0; QuantizeLinear x s > a axis=1; "
	 "DequantizeLinear a s > y axis=1"), "DynamicQuantizeLinear x > y v u",
	"QuantizeLinear x f o > a; QuantizeLinear w f o > c; MatMulInteger a c o o > y",
	"QuantizeLinear x f o > a; QuantizeLinear w f o > c; QLinearMatMul a f o c f o f o > y",
	("QuantizeLinear x f o > a; Unsqueeze a l > i; QuantizeLinear k f o > c; "
	 "QLinearConv i f o c f o f o > y"),
	"QuantizeLinear x f o > a; ms.QLinearAdd a f o a f o f o > y",
	"QuantizeLinear x f o > a; ms.QLinearSigmoid a f o f o > y",
	"QuantizeLinear x f o > a; ms.QLinearConcat f o a f o a f o > y axis=1",
	"Cast x > c to=9; QuantizeLinear x f o > a; ms.QLinearWhere c a f o a f o f o > y",
	"QuantizeLinear x f o > a; QuantizeLinear w f o > c; ms.QGemm a f o c f o > y",
	"QuantizeLinear w f o > c; ms.DynamicQuantizeMatMul x c f o b > y",
	("Constant > c value_ints=2,16; Expand f c > a; "
	 "ms.MatMulNBits a n4 f > y N=1 K=16 bits=4 block_size=16"),
	("Constant > c value_ints=2,16; Expand f c > a; "
	 "ms.MatMulBnb4 a n4 f > y N=1 K=16 block_size=16 quant_type=1"),
	"ms.SkipLayerNormalization x x g g > y - - v",
	("Unsqueeze l m > i; "
	 "ms.EmbedLayerNormalization i - w w - b b > y"), "ms.BiasGelu x g > y",
	"ms.QuickGelu x > y alpha=0.5", "Unsqueeze x l > i; ms.FusedConv i k > y activation=Relu",
	"ms.FusedGemm x w b > y activation=Tanh", "ms.FusedMatMul x w > y alpha=0.5",
	("QuantizeLinear x f o > a; Unsqueeze a z > i; Constant > c value_ints=3,6; "
	 "Expand f c > W; QuantizeLinear W f o > q; Constant > n value_ints=6; Expand f n > B; "
	 "ms.QAttention i q B f f > y v num_heads=2 unidirectional=1"),
	("Constant > c value_ints=3,16; Expand o c > a; Constant > s value_ints=3,1; "
	 "Expand f s > S; ms.GatherBlockQuantized a z S > y bits=8 block_size=16"),
	"Unsqueeze x m > i; ms.GroupNorm i g g > y groups=1 channels_last=0 activation=1"
};

#define SEEDS	(sizeof(seeds) / sizeof(seeds[0]))

static void put_float(struct bytes *a, uint32_t id, float x)
{
	put_varint(a, id << 3 | 5);
	memcpy(a->p + a->n, &x, sizeof(x));
	a->n += sizeof(x);
}

/*
 * A number, or a list of them separated by commas, or a word, which does not begin like a
 * number. Numbers with a point are floats.
 */
static void put_attr(struct bytes *n, char *text)
{
	struct bytes a = { .n = 0 };
	char *at = strchr(text, '=');
	bool list;

	*at++ = 0;
	list = strchr(at, ',') || !strcmp(text, "value_ints") || !strcmp(text, "value_floats");
	put_text(&a, 1, text);
	if (!strchr("-0123456789", *at)) {
		list = !strcmp(text, "activations");
		put_text(&a, list ? 9 : 4, at);
		put_int(&a, 20, list ? 8 : 3);
		put_message(n, 5, &a);
		return;
	}
	if (strchr(at, '.')) {
		do {
			put_float(&a, list ? 7 : 2, strtof(at, &at));
		} while (*at++ == ',');
		put_int(&a, 20, list ? 6 : 1);
		put_message(n, 5, &a);
		return;
	}
	do {
		put_int(&a, list ? 8 : 3, strtoll(at, &at, 10));
	} while (*at++ == ',');
	put_int(&a, 20, list ? 7 : 2);
	put_message(n, 5, &a);
}

static void put_nodes(struct bytes *g, const char *text)
{
	char *copy = strdup(text), *node, *word, *s1 = NULL, *s2 = NULL;

	assert_non_null(copy);
	for (node = strtok_r(copy, ";", &s1); node; node = strtok_r(NULL, ";", &s1)) {
		struct bytes n = { .n = 0 };
		uint32_t id = 4;

		for (word = strtok_r(node, " ", &s2); word; word = strtok_r(NULL, " ", &s2)) {
			if (*word == '>') {
				id = 2;
			} else if (strchr(word, '=')) {
				put_attr(&n, word);
			} else if (id == 4) {
				if (!strncmp(word, "ms.", 3)) {
					put_text(&n, 7, "com.microsoft");
					word += 3;
				} else if (!strncmp(word, "own.", 4)) {
					put_text(&n, 7, "own");
					word += 4;
				}
				put_text(&n, id, word);
				id = 1;
			} else {
				put_text(&n, id, strcmp(word, "-") ? word : "");
			}
		}
		put_message(g, 1, &n);
	}
	free(copy);
}

static void put_floats(struct bytes *g, const char *name, uint32_t rank, const int64_t *dims)
{
	static const float numbers[12] = { 1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12 };
	size_t n = sizeof(float);
	struct bytes t;
	uint32_t i;

	for (i = 0; i < rank; i++)
		n *= (size_t)dims[i];
	t = tensor(name, 1, rank, dims, numbers, n);
	put_message(g, 5, &t);
}

static struct bytes make_seed(const char *text)
{
	static const int64_t list[2] = { 0, 1 }, last = -1;
	static const uint8_t bytes[8] = { 0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe };
	bool given = *text >= '0' && *text <= '9';
	int64_t rows = given ? *text - '0' : -1;
	struct bytes g = { .n = 0 }, sparse = { .n = 0 }, t;

	put_nodes(&g, text + (given ? 2 : 0));
	put_floats(&g, "w", 2, DIMS(3, 4));
	put_floats(&g, "k", 4, DIMS(1, 1, 2, 2));
	put_floats(&g, "b", 1, DIMS(4));
	put_floats(&g, "g", 1, DIMS(3));
	put_floats(&g, "f", 0, DIMS(0));
	t = tensor("l", 7, 1, DIMS(2), list, sizeof(list));
	put_message(&g, 5, &t);
	t = tensor("m", 7, 1, DIMS(1), &last, sizeof(last));
	put_message(&g, 5, &t);
	t = tensor("z", 7, 0, DIMS(0), &list[1], sizeof(list[1]));
	put_message(&g, 5, &t);
	t = tensor("n4", 2, 1, DIMS(8), bytes, sizeof(bytes));
	put_message(&g, 5, &t);
	t = tensor("o", 2, 0, DIMS(0), &bytes[1], 1);
	put_message(&g, 5, &t);
	t = tensor("sp", 1, 1, DIMS(1), "spar", sizeof(float));
	put_message(&sparse, 1, &t);
	t = tensor("at", 7, 2, DIMS(1, 2), (int64_t[]){ 1, 2 }, 16);
	put_message(&sparse, 2, &t);
	put_int(&sparse, 3, 2);
	put_int(&sparse, 3, 3);
	put_message(&g, 15, &sparse);
	put_value(&g, 11, "x", 1, rows, 3);
	put_value(&g, 12, "y", 1, rows, 3);
	return model(&g, 18);
}

static int write_bytes(const char *path, const struct bytes *m)
{
	FILE *f = fopen(path, "wb");

	if (f && fwrite(m->p, 1, m->n, f) == m->n && !fclose(f))
		return 0;
	perror(path);
	return 1;
}

static int write_seed(const char *folder, size_t index, const struct bytes *m)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/seed-%03zu", folder, index);
	return write_bytes(path, m);
}

/* The last of them has a graph in two pieces. */
static int write_seeds(const char *folder)
{
	struct bytes m = { .n = 0 }, g = { .n = 0 };
	int ret = 0;
	size_t i;

	for (i = 0; i < SEEDS && !ret; i++) {
		m = make_seed(seeds[i]);
		ret = write_seed(folder, i, &m);
	}
	put_nodes(&g, "Abs x > v");
	put_message(&m, 7, &g);
	return ret ? ret : write_seed(folder, SEEDS, &m);
}

static char folder[32];
static const char *program;

/* What a compiled program's file has between header and weights, as fuzz_onnx.c takes it */
static void write_program(struct bed *bed, struct accel_program *p, size_t index)
{
	struct program_header h = { 0 };
	uint8_t data[16384];
	char path[128];
	uint32_t meta;
	FILE *f;

	snprintf(path, sizeof(path), "%s/program", folder);
	MUST(accel_program_save(p, path, 0));
	f = fopen(path, "rb");
	assert_true(f && fread(&h, sizeof(h), 1, f) == 1);
	meta = (uint32_t)h.meta_bytes;
	if (h.meta_bytes + h.weights_offset - h.data_offset <= sizeof(data)) {
		assert_int_equal(fread(data, 1, meta, f), meta);
		assert_int_equal(fseek(f, (long)h.data_offset, SEEK_SET), 0);
		h.weights_offset -= h.data_offset;
		assert_int_equal(fread(data + meta, 1, h.weights_offset, f), h.weights_offset);
		fclose(f);
		/* Most of the last page is empty. */
		if (h.weights_offset > 512)
			h.weights_offset = 512;
		snprintf(path, sizeof(path), "%s.programs/seed-%03zu", folder, index);
		f = fopen(path, "wb");
		assert_true(f && fwrite(ACCEL_PROGRAM_MAGIC, 8, 1, f) == 1 &&
			    fwrite(&meta, sizeof(meta), 1, f) == 1 &&
			    fwrite(data, meta + h.weights_offset, 1, f) == 1);
	}
	assert_int_equal(fclose(f), 0);
}

/* For three rows, so that there is a net */
static void see_rows(struct bed *bed, struct accel_program *p)
{
	struct accel_program_info info = { .size = sizeof(info) };
	struct accel_value v = ACCEL_VALUE_INIT;
	struct accel_state *state = new_state(bed, p);

	if (!accel_program_get_input(p, 0, &v)) {
		v.dims[0] = v.dims[0] < 0 ? 3 : v.dims[0];
		MUST(accel_state_set_input(state, 0, v.rank, v.dims, NULL, 0));
	}
	accel_state_get_info(state, &info);
	accel_state_destroy(state);
}

/* They are models: what fails is said by name. */
static void test_seeds(void **arg)
{
	struct accel_model_opts opts = ACCEL_MODEL_OPTS_INIT;
	struct accel_error e = ACCEL_ERROR_INIT;
	struct bed *bed = *arg;
	struct accel_program *p;
	struct accel_model *m;
	size_t i, bad = 0;
	char path[128];

	opts.operators = added_ops();
	for (i = 0; i < SEEDS; i++) {
		snprintf(path, sizeof(path), "%s/seed-%03zu", folder, i);
		p = NULL;
		if (accel_model_open_opts(path, &opts, &e, &m)) {
			printf("# %s: %s\n", seeds[i], e.text);
			bad++;
			continue;
		}
		if (accel_graph_compile(bed->ctx, accel_model_graph(m), NULL, &p)) {
			accel_ctx_get_error(bed->ctx, &e);
			printf("# %s: %s\n", seeds[i], e.text);
			bad++;
		} else {
			see_rows(bed, p);
			write_program(bed, p, i);
		}
		accel_program_unref(p);
		accel_model_close(m);
	}
	snprintf(path, sizeof(path), "%s/seed-%03zu", folder, i);
	assert_int_equal(accel_model_open_opts(path, &opts, &e, &m), -EOPNOTSUPP);
	accel_operators_unref(opts.operators);
	assert_int_equal(bad, 0);
}

/* A file that is a model, or one that is refused with these words */
static void opens(const struct bytes *file, const char *words)
{
	struct accel_model_opts opts = ACCEL_MODEL_OPTS_INIT;
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_model *m = NULL;
	char path[128];
	int ret;

	snprintf(path, sizeof(path), "%s.programs/m.onnx", folder);
	assert_int_equal(write_bytes(path, file), 0);
	opts.operators = added_ops();
	ret = accel_model_open_opts(path, &opts, &e, &m);
	accel_operators_unref(opts.operators);
	unlink(path);
	accel_model_close(m);
	if (!ret != !words || (words && !strstr(e.text, words)))
		fail_msg("%d: %s; should be: %s", ret, e.text, words ? words : "a model");
}

/* What is no model, but another kind of file, is called that. */
static void test_kinds(void **arg)
{
#define KIND(begin, kind)	{ begin, sizeof(begin) - 1, kind }
	static const struct {
		const char *begin;
		size_t n;
		const char *words;
	} kinds[] = {
		KIND("", ": not an ONNX model, the file is empty"),
		KIND("PK\3\4\24\0", ": not an ONNX model, it is a ZIP archive"),
		KIND("GGUF\3\0\0\0", "GGUF"),
		KIND("\x7b\1\0\0\0\0\0\0{\"a\":{}}", ", it is safetensors"),
		KIND("version https://git-lfs.github.com/spec/v1\noid sha256:0",
		     ", it is a pointer of git-lfs to the model"),
		KIND("{\"model_type\": \"bert\"}", ", it is JSON"),
		KIND("<!DOCTYPE html>\n", ", it is HTML or XML"),
		KIND("\x1f\x8b\x08\0", ", it is compressed by gzip"),
		KIND("#!/bin/sh\nexit 1\n", ", it is text"),
		/* A version and a producer, and another model's field */
		KIND("\x08\x08\x12\1x", ": not an ONNX model, it has no graph"),
		KIND("\x08\x08\x4a\1x", ": not an ONNX model"),
	};
	struct bytes file;
	uint32_t i;

	(void)arg;
	for (i = 0; i < COUNT(kinds); i++) {
		memcpy(file.p, kinds[i].begin, kinds[i].n);
		file.n = kinds[i].n;
		opens(&file, kinds[i].words);
	}
}

/* Nor does a node have attributes that its operator has not, but for what exporters leave. */
static void test_attributes(void **arg)
{
	static const struct {
		const char *nodes, *words;
	} cases[] = {
		{ "Flatten x > y axes=1", "node y (Flatten): attribute axes is not known" },
		{ "Flatten x > y axi=1", "attribute axi is not known" },
		{ "InstanceNormalization x g g > y epsilonn=1", "attribute epsilonn is not known" },
		{ "Abs x > y axis=1", "node y (Abs): attribute axis is not known" },
		{ "ms.BiasGelu x g > y axis=1", "node y (BiasGelu): attribute axis is not known" },
		{ "ms.FusedMatMul x w > y transC=1", "attribute transC is not known" },
		/* Of a newer version, where it changes something, and where it does not */
		{ "Unsqueeze x l > i; Attention i i i > y left_window_size=2",
		  "attribute left_window_size is 2, only -1 is supported" },
		{ "Unsqueeze x l > i; Attention i i i > y left_window_size=-1", NULL },
		{ "BatchNormalization x g g g g > y epsilon=0.5 spatial=1", NULL },
		{ "Abs x > y consumed_inputs=0,0 __note=1 onnx_name=1", NULL },
		{ "Dropout x > y seed=1", NULL },
		/* Not taken for one that is missing */
		{ "QuantizeLinear x f > y output_dtype=17",
		  "output_dtype: type FLOAT8E4M3FN is not supported" },
		{ "Cast x > y to=8", "node y (Cast): to: type STRING is not supported" },
		/* Of what users add, nothing is known. */
		{ "own.Sum x > y whatever=1", NULL },
	};
	struct bytes m;
	uint32_t i;

	(void)arg;
	for (i = 0; i < COUNT(cases); i++) {
		m = make_seed(cases[i].nodes);
		opens(&m, cases[i].words);
	}
}

/* libFuzzer, from a program beside the folder of this one, in @below */
static void run_fuzzer(const char *below, uint32_t longest)
{
	const char *slash = strrchr(program, '/');
	char path[4096], cmd[8192], *full;
	int r;

	snprintf(path, sizeof(path), "%.*s../fuzz_onnx.fuzzer",
		 slash ? (int)(slash - program) + 1 : 0, program);
	full = realpath(path, NULL);
	if (!full)
		skip();
	snprintf(cmd, sizeof(cmd), "cd %s%s && exec '%s' -seed=1 -max_len=%u %s %s . >log 2>&1",
		 folder, below, full, longest,
		 "-max_total_time=20 -timeout=20 -rss_limit_mb=2048", "-artifact_prefix=/tmp/onnx-");
	free(full);
	r = system(cmd);
	if (r) {
		snprintf(cmd, sizeof(cmd), "tail -n 30 %s%s/log | sed 's/^/# /'", folder,
			 below);
		if (system(cmd))
			printf("# no log\n");
	}
	assert_true(WIFEXITED(r) && !WEXITSTATUS(r));
}

static void test_fuzzer(void **arg)
{
	(void)arg;
	run_fuzzer("", 2048);
}

static void test_program_fuzzer(void **arg)
{
	(void)arg;
	run_fuzzer(".programs", 8192);
}

static int make_folder(void **state)
{
	char path[64];

	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/test_onnx_fuzz.XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s.programs", folder);
	return mkdir(path, 0700) ? -1 : write_seeds(folder);
}

static int drop_folder(void **state)
{
	char cmd[128];

	(void)state;
	snprintf(cmd, sizeof(cmd), "rm -rf %s %s.programs", folder, folder);
	return system(cmd);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_seeds, bed_setup, bed_teardown),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_attributes),
		cmocka_unit_test(test_fuzzer),
		cmocka_unit_test(test_program_fuzzer),
	};

	program = argv[0];
	if (argc == 3 && !strcmp(argv[1], "--seeds"))
		return write_seeds(argv[2]);
	return cmocka_run_group_tests_name("onnx_fuzz", tests, make_folder, drop_folder);
}

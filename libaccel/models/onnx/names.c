// SPDX-License-Identifier: MIT
/*
 * Names: of the values that an import has found so far, and of the attributes that operators
 * have; and what is wrong.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnx.h"

int im_fail(struct import *im, int code, const char *fmt, ...)
{
	struct accel_error *e = &im->error;
	size_t n = 0;
	va_list ap;

	memset(e, 0, sizeof(*e));
	e->size = sizeof(*e);
	e->code = code;
	e->op_index = UINT32_MAX;
	if (im->op[0]) {
		snprintf(e->field, sizeof(e->field), "%.63s", im->name[0] ? im->name : im->op);
		n = (size_t)snprintf(e->text, sizeof(e->text), "node %.100s (%s): ",
				     im->name[0] ? im->name : "without a name", im->op);
	}
	va_start(ap, fmt);
	vsnprintf(e->text + n, sizeof(e->text) - n, fmt, ap);
	va_end(ap);
	return code;
}

/* An error of something else, which says the node in work if it says none. */
int im_take_error(struct import *im, int ret, const struct accel_error *e)
{
	if (strncmp(e->text, "node ", 5) != 0)
		return im_fail(im, ret, "%.200s", e->text);
	im->error = *e;
	return im->error.code = ret;
}

/* An error of the graph becomes one of the import. */
int im_graph(struct import *im, int ret)
{
	struct accel_error e = ACCEL_ERROR_INIT;

	if (!ret)
		return 0;
	accel_graph_get_error(im->model->graph, &e);
	/* It says a node: that in work, or one before it that is looked at only now. */
	return im_take_error(im, ret, &e);
}

/* --- names --------------------------------------------------------------------------- */

static uint64_t hash(const uint8_t *p, size_t n)
{
	uint64_t h = 0xcbf29ce484222325u;

	while (n--)
		h = (h ^ *p++) * 0x100000001b3u;
	return h ^ h >> 32;
}

/* The place of a name: without text it is not there. */
struct name *im_name(const struct import *im, struct slice s)
{
	uint32_t at;

	if (!im->name_size)
		return NULL;
	at = (uint32_t)hash(s.p, s.n) & (im->name_size - 1);
	while (im->names[at].text && !slice_is(s, im->names[at].text))
		at = (at + 1) & (im->name_size - 1);
	return &im->names[at];
}

bool has_name(const struct import *im, struct slice s)
{
	const struct name *n = im_name(im, s);

	return n && n->text;
}

static int more_names(struct import *im)
{
	uint32_t i, size = im->name_size ? 2 * im->name_size : 1024, old = im->name_size;
	struct name *names = im->names;

	if (2 * (im->name_count + 1) <= old)
		return 0;
	im->names = calloc(size, sizeof(*names));
	if (!im->names) {
		im->names = names;
		return im_fail(im, -ENOMEM, "out of memory");
	}
	im->name_size = size;
	for (i = 0; i < old; i++)
		if (names[i].text)
			*im_name(im, (struct slice) { (const uint8_t *)names[i].text,
							strlen(names[i].text) }) = names[i];
	free(names);
	return 0;
}

int bind_name(struct import *im, struct slice s, uint32_t value, const void *data)
{
	struct name *n;
	int ret;

	if (!s.p || !s.n)
		return im_fail(im, -EBADMSG, "a value without a name");
	if (memchr(s.p, 0, s.n))
		return im_fail(im, -EBADMSG, "the name %.*s has a zero in it", slice_shown(s), s.p);
	ret = more_names(im);
	if (ret)
		return ret;
	n = im_name(im, s);
	if (n->text)
		return im_fail(im, -EBADMSG, "the name %.*s is given twice", slice_shown(s), s.p);
	n->text = strndup((const char *)s.p, s.n);
	if (!n->text)
		return im_fail(im, -ENOMEM, "out of memory");
	n->value = value;
	n->marks = 0;
	n->data = data;
	n->sequence = NULL;
	n->input = false;
	im->name_count++;
	return 0;
}

void free_names(struct import *im)
{
	uint32_t i;

	for (i = 0; i < im->name_size; i++)
		free(im->names[i].text);
	free(im->names);
}

int im_give_data(struct import *im, uint32_t index, uint32_t value, const void *data)
{
	struct ref ref;
	int ret;

	if (im->capture && !index) {
		*im->capture = value;
		return 0;
	}
	if (index >= im->out_count || !im->out[index].n)
		return 0;
	/* What does not fit is found here, where the operator is known. */
	ret = im_ref(im, value, &ref);
	return ret ? ret : bind_name(im, im->out[index], value, data);
}

/* --- attributes --------------------------------------------------------------------------- */

/**
 * struct having - operators and their attributes
 * @ops: operators, which may be in several of these, or in none if they have no attributes
 * @attrs: attributes of all their versions; NAME=NUMBER: nothing else is supported, although it is
 *	what the attribute stands for if it is missing
 */
struct having {
	const char *ops;
	const char *attrs;
};

static const struct having of_onnx[] = {
	{ "Add And Div Equal Greater Less Mul Or Pow Sub Xor", "axis broadcast" },
	{ "AffineGrid", "align_corners" },
	{ "ArgMax ArgMin", "axis keepdims select_last_index" },
	{ "Attention", "is_causal kv_num_heads left_window_size=-1 q_num_heads" },
	{ "Attention", "qk_matmul_output_mode right_window_size=-1 scale softcap" },
	{ "Attention", "softmax_precision" },
	{ "AveragePool", "auto_pad ceil_mode count_include_pad dilations kernel_shape pads" },
	{ "AveragePool", "strides" },
	{ "BatchNormalization", "epsilon is_test momentum spatial training_mode" },
	{ "Bernoulli", "dtype seed" },
	{ "BitShift", "direction" },
	{ "BlackmanWindow HammingWindow HannWindow", "output_datatype periodic" },
	{ "Cast", "round_mode saturate to" },
	{ "CastLike", "round_mode saturate" },
	{ "Celu Elu LeakyRelu Swish ThresholdedRelu", "alpha" },
	{ "CenterCropPad MeanVarianceNormalization Squeeze Unsqueeze", "axes" },
	{ "Clip", "max min" },
	{ "Col2Im", "dilations pads strides" },
	{ "Compress Concat Flatten Gather GatherElements Hardmax", "axis" },
	{ "LogSoftmax OneHot Scatter Softmax", "axis" },
	{ "ConcatFromSequence", "axis new_axis" },
	{ "Constant", "sparse_value value value_float value_floats value_int value_ints" },
	{ "Constant", "value_string value_strings" },
	{ "ConstantOfShape", "value" },
	{ "Conv ConvInteger QLinearConv", "auto_pad dilations group kernel_shape pads strides" },
	{ "ConvTranspose", "auto_pad dilations group kernel_shape output_padding output_shape" },
	{ "ConvTranspose", "pads strides" },
	{ "CumSum", "exclusive reverse" },
	{ "DFT", "axis inverse onesided" },
	{ "DeformConv", "dilations group kernel_shape offset_group pads strides" },
	{ "DepthToSpace", "blocksize mode" },
	{ "DequantizeLinear", "axis block_size output_dtype" },
	{ "Dropout", "is_test ratio seed" },
	{ "Einsum", "equation" },
	{ "EyeLike", "dtype k" },
	{ "GRU", "linear_before_reset" },
	{ "GRU LSTM RNN", "activation_alpha activation_beta activations clip direction" },
	{ "GRU LSTM RNN", "hidden_size layout output_sequence" },
	{ "GatherND", "batch_dims" },
	{ "Gelu", "approximate" },
	{ "Gemm", "alpha beta broadcast transA transB" },
	{ "GlobalLpPool", "p" },
	{ "GridSample", "align_corners mode padding_mode" },
	{ "GroupNormalization", "epsilon num_groups stash_type" },
	{ "HardSigmoid", "alpha beta" },
	{ "If", "else_branch then_branch" },
	{ "InstanceNormalization", "epsilon" },
	{ "IsInf", "detect_negative detect_positive" },
	{ "LRN", "alpha beta bias size" },
	{ "LSTM", "input_forget" },
	{ "LayerNormalization RMSNormalization", "axis epsilon stash_type" },
	{ "SimplifiedLayerNormalization", "axis epsilon stash_type" },
	{ "Loop SequenceMap", "body" },
	{ "LpNormalization", "axis p" },
	{ "LpPool", "auto_pad ceil_mode dilations kernel_shape p pads strides" },
	{ "MaxPool", "auto_pad ceil_mode dilations kernel_shape pads storage_order strides" },
	{ "MaxRoiPool", "pooled_shape spatial_scale" },
	{ "MaxUnpool", "kernel_shape pads strides" },
	{ "MelWeightMatrix", "output_datatype" },
	{ "Mod", "fmod" },
	{ "Multinomial", "dtype sample_size seed" },
	{ "NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss", "ignore_index reduction" },
	{ "NonMaxSuppression", "center_point_box" },
	{ "Optional", "type" },
	{ "Pad", "mode paddings pads value" },
	{ "QuantizeLinear", "axis block_size output_dtype precision saturate" },
	{ "RandomNormal", "dtype mean scale seed shape" },
	{ "RandomNormalLike", "dtype mean scale seed" },
	{ "RandomUniform", "dtype high low seed shape" },
	{ "RandomUniformLike", "dtype high low seed" },
	{ "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax", "axes keepdims" },
	{ "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax", "noop_with_empty_axes" },
	{ "ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare", "axes keepdims" },
	{ "ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare", "noop_with_empty_axes" },
	{ "Reshape", "allowzero shape" },
	{ "Resize", "antialias axes coordinate_transformation_mode cubic_coeff_a" },
	{ "Resize", "exclude_outside extrapolation_value keep_aspect_ratio_policy mode" },
	{ "Resize", "nearest_mode" },
	{ "ReverseSequence", "batch_axis time_axis" },
	{ "RoiAlign", "coordinate_transformation_mode mode output_height output_width" },
	{ "RoiAlign", "sampling_ratio spatial_scale" },
	{ "RotaryEmbedding", "interleaved num_heads rotary_embedding_dim" },
	{ "STFT", "onesided" },
	{ "Scan", "body directions num_scan_inputs scan_input_axes scan_input_directions" },
	{ "Scan", "scan_output_axes scan_output_directions" },
	{ "ScatterElements", "axis reduction" },
	{ "ScatterND", "reduction" },
	{ "Selu", "alpha gamma" },
	{ "SequenceEmpty", "dtype" },
	{ "Shape", "end start" },
	{ "Shrink", "bias lambd" },
	{ "Slice", "axes ends starts" },
	{ "SpaceToDepth", "blocksize" },
	{ "Split", "axis num_outputs split" },
	{ "SplitToSequence", "axis keepdims" },
	{ "TensorScatter", "axis mode" },
	{ "TopK", "axis k largest sorted" },
	{ "Transpose", "perm" },
	{ "Trilu", "upper" },
	{ "Unique", "axis sorted" },
	{ "Upsample", "height_scale mode scales width_scale" },
	{ NULL, NULL }
};

static const struct having of_microsoft[] = {
	{ "Attention QAttention", "do_rotary mask_filter_value num_heads" },
	{ "Attention QAttention", "past_present_share_buffer qkv_hidden_sizes" },
	{ "Attention QAttention", "rotary_embedding_dim scale unidirectional" },
	{ "DequantizeLinear QuantizeLinear", "axis block_size output_dtype precision saturate" },
	{ "EmbedLayerNormalization", "epsilon mask_index_type" },
	{ "FusedConv", "activation activation_params auto_pad dilations group kernel_shape" },
	{ "FusedConv", "pads strides" },
	{ "FusedGemm", "activation activation_alpha activation_beta activation_gamma alpha" },
	{ "FusedGemm", "beta transA transB" },
	{ "FusedMatMul", "alpha transA transB transBatchA transBatchB" },
	{ "GatherBlockQuantized", "bits block_size gather_axis quantize_axis" },
	{ "GroupNorm", "activation channels_last epsilon groups" },
	{ "GroupQueryAttention", "causal do_rotary k_quant_type kv_cache_bit_width" },
	{ "GroupQueryAttention", "kv_num_heads local_window_size num_heads qk_norm_epsilon" },
	{ "GroupQueryAttention", "qk_output=0 rotary_interleaved scale sliding_window_cache=0" },
	{ "GroupQueryAttention", "smooth_softmax softcap v_quant_type" },
	{ "MatMulBnb4", "K N block_size quant_type training_mode transB" },
	{ "MatMulNBits", "K N accuracy_level bits block_size weight_prepacked=0" },
	{ "MultiHeadAttention", "mask_filter_value num_heads scale unidirectional" },
	{ "QGemm", "alpha transA transB" },
	{ "QLinearAveragePool", "auto_pad ceil_mode channels_last count_include_pad dilations" },
	{ "QLinearAveragePool", "kernel_shape pads strides" },
	{ "QLinearConcat", "axis" },
	{ "QLinearConv", "auto_pad channels_last dilations group kernel_shape pads strides" },
	{ "QLinearGlobalAveragePool", "channels_last" },
	{ "QLinearLeakyRelu QuickGelu", "alpha" },
	{ "QLinearReduceMean", "axes keepdims" },
	{ "QLinearSoftmax", "axis opset" },
	{ "RotaryEmbedding", "interleaved is_packed_batching num_heads rotary_embedding_dim" },
	{ "RotaryEmbedding", "scale" },
	{ "SkipLayerNormalization SkipSimplifiedLayerNormalization", "epsilon" },
	{ NULL, NULL }
};

/* What follows a word in a list of them, NULL: it is not there */
static const char *behind(const char *list, struct slice word)
{
	size_t n;

	for (; *list; list += strspn(list, " ")) {
		n = strcspn(list, " =");
		if (n == word.n && !memcmp(list, word.p, n))
			return list + n;
		list += strcspn(list, " ");
	}
	return NULL;
}

/* Those that no version of the operator has, but which exporters leave */
static bool is_left(struct slice name)
{
	return (name.n && *name.p == '_') || slice_is(name, "consumed_inputs") ||
	       slice_is(name, "onnx_name");
}

/**
 * known_attrs - refuse a node with an attribute that its operator does not have
 * @im: import, with the node in work
 * @type: its operator
 * @domain: of the operator, which is built in
 *
 * It is misspelt, or of a version that is not known, and may change what the operator does: who
 * passed over it would give wrong results.
 *
 * Return: 0, or the error that @im has.
 */
int known_attrs(struct import *im, struct slice type, struct slice domain)
{
	const struct having *list = is_default(domain) ? of_onnx : of_microsoft, *h;
	const char *rest;
	int64_t only;
	uint32_t i;

	if (list == of_microsoft && !slice_is(domain, "com.microsoft"))
		return 0;
	for (i = 0; i < im->attr_count; i++) {
		const struct attr *a = &im->attrs[i];

		if (is_left(a->name))
			continue;
		for (h = list, rest = NULL; h->ops && !rest; h++)
			rest = behind(h->ops, type) ? behind(h->attrs, a->name) : NULL;
		if (!rest)
			return im_fail(im, -EOPNOTSUPP, "attribute %.*s is not known",
				       slice_shown(a->name), a->name.p);
		only = *rest == '=' ? strtoll(rest + 1, NULL, 10) : a->i;
		if (a->i != only)
			return im_fail(im, -EOPNOTSUPP, "attribute %.*s is %" PRId64
				       ", only %" PRId64 " is supported", slice_shown(a->name),
				       a->name.p, a->i, only);
	}
	return 0;
}

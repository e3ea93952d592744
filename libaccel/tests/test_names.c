// SPDX-License-Identifier: MIT
/*
 * What needs no device: names, versions, sizes of tensors.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <accel/accel.h>

static void test_tensor_bytes(void **state)
{
	struct accel_tensor t = accel_tensor_2d(NULL, ACCEL_F16, 3, 5);
	uint64_t bytes = 0;

	(void)state;
	assert_int_equal(accel_tensor_bytes(&t, &bytes), 0);
	assert_int_equal(bytes, 30);
	t.dims[1] = 0;
	assert_int_equal(accel_tensor_bytes(&t, &bytes), 0);
	assert_int_equal(bytes, 0);
	t = accel_tensor_2d(NULL, ACCEL_S4, 3, 5);
	assert_int_equal(accel_tensor_bytes(&t, &bytes), 0);
	assert_int_equal(bytes, 8);
	t.flags = ACCEL_TENSOR_STRIDES;
	t.strides[0] = 100;
	t.strides[1] = 2;
	assert_int_equal(accel_tensor_bytes(&t, &bytes), 0);
	assert_int_equal(bytes, 105);
	t.strides[0] = -100;
	assert_int_equal(accel_tensor_bytes(&t, &bytes), -EINVAL);
	t.strides[0] = INT64_MAX;
	assert_int_equal(accel_tensor_bytes(&t, &bytes), -EOVERFLOW);
	t.strides[0] = 1ll << 49;
	assert_int_equal(accel_tensor_bytes(&t, &bytes), -EOVERFLOW);
	t = accel_tensor_2d(NULL, ACCEL_F32, 1ll << 40, 1ll << 40);
	assert_int_equal(accel_tensor_bytes(&t, &bytes), -EOVERFLOW);
	t = accel_tensor_2d(NULL, ACCEL_F32, -1, 4);
	assert_int_equal(accel_tensor_bytes(&t, &bytes), -EINVAL);
	t = accel_tensor_2d(NULL, 0, 1, 4);
	assert_int_equal(accel_tensor_bytes(&t, &bytes), -EINVAL);
	t = accel_tensor_2d(NULL, ACCEL_F32, 1, 4);
	t.rank = 9;
	assert_int_equal(accel_tensor_bytes(&t, &bytes), -EINVAL);
}

static void test_names(void **state)
{
	static const char * const dtypes[] = {
		"none", "fp32", "fp16", "bf16", "int32", "int8", "uint8", "int4", "uint4",
		"q8_0", "q4_0", "q4_1", "q4_k", "q6_k"
	};
	static const uint32_t bits[ACCEL_DTYPE_COUNT] = { 0, 32, 16, 16, 32, 8, 8, 4, 4 };
	static const uint32_t blocks[][2] = {
		{ 0, 0 }, { 4, 1 }, { 2, 1 }, { 2, 1 }, { 4, 1 }, { 1, 1 }, { 1, 1 },
		{ 1, 2 }, { 1, 2 },
		{ 34, 32 }, { 18, 32 }, { 20, 32 }, { 144, 256 }, { 210, 256 }
	};
	static const char * const engines[] = { "auto", "matrix", "gpu", "neural" };
	static const char * const ops[] = {
		"none", "copy", "fill", "unary", "binary", "gemm", "conv", "attention", "rotary",
		"norm", "softmax", "reduce", "pool", "resize", "gather", "scatter", "topk",
		"scan", "select", "concat", "split", "pad", "ffn",
		"dynquant", "kv_write"
	};
	static const char * const unaries[] = {
		"act", "abs", "neg", "sqrt", "rsqrt", "recip", "exp", "log", "erf", "square",
		"floor", "ceil", "round", "sin", "cos", "tan", "asin", "acos", "atan", "sinh",
		"cosh", "asinh", "acosh", "atanh", "sign", "trunc", "is_nan", "is_inf", "not",
		"bit_not"
	};
	static const char * const binaries[] = {
		"add", "sub", "mul", "div", "max", "min", "mod", "rem", "quot", "pow", "eq", "ne",
		"lt", "le", "gt", "ge", "and", "or", "xor", "bit_and", "bit_or", "bit_xor", "shl",
		"shr", "prelu"
	};
	uint32_t i, elements;

	(void)state;
	for (i = 0; i < ACCEL_UNARY_COUNT; i++)
		assert_string_equal(accel_unary_name(i), unaries[i]);
	for (i = 0; i < ACCEL_BINARY_COUNT; i++)
		assert_string_equal(accel_binary_name(i), binaries[i]);
	assert_null(accel_unary_name(ACCEL_UNARY_COUNT));
	assert_null(accel_binary_name(UINT32_MAX));
	for (i = 0; i < ACCEL_DTYPE_COUNT; i++) {
		assert_string_equal(accel_dtype_name(i), dtypes[i]);
		assert_int_equal(accel_dtype_bits(i), bits[i]);
		assert_int_equal(accel_dtype_block(i, &elements), blocks[i][0]);
		assert_int_equal(elements, blocks[i][1]);
	}
	for (i = 0; i < ACCEL_ENGINE_COUNT; i++)
		assert_string_equal(accel_engine_name(i), engines[i]);
	for (i = 0; i < ACCEL_OP_COUNT; i++)
		assert_string_equal(accel_op_name(i), ops[i]);
	assert_null(accel_dtype_name(ACCEL_DTYPE_COUNT));
	assert_null(accel_engine_name(UINT32_MAX));
	assert_null(accel_op_name(ACCEL_OP_COUNT));
	assert_int_equal(accel_dtype_bits(99), 0);
	assert_int_equal(accel_dtype_block(99, &elements), 0);
	assert_int_equal(accel_version(), ACCEL_VERSION_MAJOR << 16 | ACCEL_VERSION_MINOR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tensor_bytes), cmocka_unit_test(test_names),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}

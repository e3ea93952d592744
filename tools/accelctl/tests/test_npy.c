// SPDX-License-Identifier: MIT
/*
 * The .npy reader and writer.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "gemm.h"
#include "npy.h"

/* A file in memory: version, header, data. A negative length takes the header's own */
static size_t make(unsigned char *buf, int version, const char *header, long length,
		   const void *data, size_t bytes)
{
	size_t len = strlen(header), stated = length < 0 ? len : (size_t)length, at = 8;

	memcpy(buf, "\x93NUMPY", 6);
	buf[6] = (unsigned char)version;
	buf[7] = 0;
	buf[at++] = stated & 255;
	buf[at++] = stated >> 8 & 255;
	if (version >= 2) {
		buf[at++] = stated >> 16 & 255;
		buf[at++] = stated >> 24 & 255;
	}
	memcpy(buf + at, header, len);
	if (bytes)
		memcpy(buf + at + len, data, bytes);
	return at + len + bytes;
}

static int parse(const unsigned char *buf, size_t size, struct npy *npy, char *error)
{
	FILE *f = fmemopen((void *)buf, size, "r");
	int ret;

	assert_non_null(f);
	ret = npy_read(f, npy, error);
	fclose(f);
	if (ret) {
		assert_true(error[0]);
		assert_null(npy->data);
	}
	return ret;
}

static int parse_header(const char *header, const void *data, size_t bytes, struct npy *npy,
			char *error)
{
	static unsigned char buf[1 << 17];

	return parse(buf, make(buf, 1, header, -1, data, bytes), npy, error);
}

#define H(descr, order, shape) \
	"{'descr': '" descr "', 'fortran_order': " order ", 'shape': " shape ", }\n"

static void test_versions(void **state)
{
	const float data[2] = { 1.5f, -2 };
	char error[NPY_ERROR];
	unsigned char buf[256];
	struct npy npy;
	int version;

	(void)state;
	for (version = 1; version <= 3; version++) {
		size_t size = make(buf, version, H("<f4", "False", "(1, 2)"), -1, data, 8);

		assert_int_equal(parse(buf, size, &npy, error), 0);
		assert_int_equal(npy.rank, 2);
		assert_int_equal(npy.dims[0], 1);
		assert_int_equal(npy.dims[1], 2);
		assert_int_equal(npy.count, 2);
		assert_true(npy_get(&npy, 0, false) == 1.5);
		assert_true(npy_get(&npy, 1, false) == -2);
		npy_free(&npy);
	}
	for (version = 0; version <= 255; version += version == 0 ? 4 : 251) {
		size_t size = make(buf, version, H("<f4", "False", "(1, 2)"), -1, data, 8);

		assert_int_equal(parse(buf, size, &npy, error), -EOPNOTSUPP);
	}
}

static void test_types(void **state)
{
	static const struct {
		const char *header;
		unsigned char bytes[8];
		size_t size;
		bool bf16;
		double want;
	} cases[] = {
		{ H("<f2", "False", "(1,)"), { 0x00, 0xc2 }, 2, false, -3 },
		{ H(">f2", "False", "(1,)"), { 0xc2, 0x00 }, 2, false, -3 },
		{ H("<f4", "False", "(1,)"), { 0, 0, 0x80, 0x3f }, 4, false, 1 },
		{ H(">f4", "False", "(1,)"), { 0x3f, 0x80, 0, 0 }, 4, false, 1 },
		{ H("<f8", "False", "(1,)"), { 0, 0, 0, 0, 0, 0, 0xf0, 0x3f }, 8, false, 1 },
		{ H(">f8", "False", "(1,)"), { 0x3f, 0xf0 }, 8, false, 1 },
		{ H("|i1", "False", "(1,)"), { 0x80 }, 1, false, -128 },
		{ H("|u1", "False", "(1,)"), { 0x80 }, 1, false, 128 },
		{ H("|b1", "False", "(1,)"), { 1 }, 1, false, 1 },
		{ H("<i2", "False", "(1,)"), { 0xfe, 0xff }, 2, false, -2 },
		{ H(">i2", "False", "(1,)"), { 0xff, 0xfe }, 2, false, -2 },
		{ H("<i4", "False", "(1,)"), { 0, 0, 0, 0x80 }, 4, false, -2147483648.0 },
		{ H("<u4", "False", "(1,)"), { 0, 0, 0, 0x80 }, 4, false, 2147483648.0 },
		{ H("<i8", "False", "(1,)"),
		  { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff }, 8, false, -1 },
		{ H("<u2", "False", "(1,)"), { 0x80, 0x3f }, 2, false, 0x3f80 },
		{ H("<u2", "False", "(1,)"), { 0x80, 0x3f }, 2, true, 1 },
		{ H(">u2", "False", "(1,)"), { 0x3f, 0x80 }, 2, true, 1 },
		{ H("<V2", "False", "(1,)"), { 0x80, 0x3f }, 2, false, 1 },
		{ H("|V2", "False", "(1,)"), { 0x80, 0x3f }, 2, false, 1 },
		{ H("<f2", "False", "(1,)"), { 0x80, 0x3f }, 2, true, 1.875 },
		{ "{\"shape\":(1,),\"descr\":\"<f4\",\"fortran_order\":True}",
		  { 0, 0, 0x80, 0x3f }, 4, false, 1 },
		{ "  { 'fortran_order' : False , 'shape' : ( 1L , ) , 'descr' : '<f4' }\n   ",
		  { 0, 0, 0x80, 0x3f }, 4, false, 1 },
		{ H("<f4", "False", "()"), { 0, 0, 0x80, 0x3f }, 4, false, 1 },
	};
	char error[NPY_ERROR];
	struct npy npy;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(parse_header(cases[i].header, cases[i].bytes, cases[i].size, &npy,
					      error), 0);
		assert_int_equal(npy.count, 1);
		assert_true(npy_get(&npy, 0, cases[i].bf16) == cases[i].want);
		npy_free(&npy);
	}
}

/* Element [i][j][k] of a 2 x 3 x 4 array is 100 i + 10 j + k, however it is stored */
static void test_fortran(void **state)
{
	int32_t data[24];
	char error[NPY_ERROR];
	struct npy npy;
	int i, j, k;

	(void)state;
	for (i = 0; i < 2; i++)
		for (j = 0; j < 3; j++)
			for (k = 0; k < 4; k++)
				data[i + 2 * (j + 3 * k)] = 100 * i + 10 * j + k;
	assert_int_equal(parse_header(H("<i4", "True", "(2, 3, 4)"), data, sizeof(data), &npy,
				      error), 0);
	for (i = 0; i < 2; i++)
		for (j = 0; j < 3; j++)
			for (k = 0; k < 4; k++)
				assert_true(npy_get(&npy, (uint64_t)((i * 3 + j) * 4 + k), false) ==
					    100 * i + 10 * j + k);
	npy_free(&npy);
}

static void test_empty(void **state)
{
	char error[NPY_ERROR];
	struct npy npy;

	(void)state;
	assert_int_equal(parse_header(H("<f4", "False", "(0, 5)"), "", 0, &npy, error), 0);
	assert_int_equal(npy.count, 0);
	npy_free(&npy);
	/* The product of the others is not formed, and cannot overflow */
	assert_int_equal(parse_header(H("<f4", "False",
					"(18446744073709551615, 18446744073709551615, 0)"), "", 0,
				      &npy, error), 0);
	assert_int_equal(npy.count, 0);
	npy_free(&npy);
}

static void test_hostile(void **state)
{
	static const struct {
		const char *header;
		int code;
		const char *names;
	} cases[] = {
		{ "", -EINVAL, "header" },
		{ "[]", -EINVAL, "'{'" },
		{ "{}", -EINVAL, "descr" },
		{ "{'descr': '<f4', 'fortran_order': False, }", -EINVAL, "shape" },
		{ "{'descr': '<f4', 'shape': (1,), }", -EINVAL, "fortran_order" },
		{ "{'fortran_order': False, 'shape': (1,), }", -EINVAL, "descr" },
		{ "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}",
		  -EINVAL, "twice" },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}", -EINVAL,
		  "more" },
		{ "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,)}", -EINVAL,
		  "fortran_order" },
		{ "{'descr': '<f4' 'fortran_order': False, 'shape': (1,)}", -EINVAL, "','" },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)", -EINVAL, "'}'" },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x", -EINVAL, "follows" },
		{ "{'descr': '<f4", -EINVAL, "'" },
		{ "{'de\\x73cr': '<f4'", -EINVAL, "character" },
		{ "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", -EOPNOTSUPP,
		  "records" },
		{ H("<c8", "False", "(1,)"), -EOPNOTSUPP, "<c8" },
		{ H("|O", "False", "(1,)"), -EOPNOTSUPP, "|O" },
		{ H("<U4", "False", "(1,)"), -EOPNOTSUPP, "<U4" },
		{ H("", "False", "(1,)"), -EOPNOTSUPP, "type" },
		{ H("<", "False", "(1,)"), -EOPNOTSUPP, "type" },
		{ H("f4", "False", "(1,)"), -EOPNOTSUPP, "f4" },
		{ H("|f4", "False", "(1,)"), -EINVAL, "byte order" },
		{ H("xf4", "False", "(1,)"), -EINVAL, "byte order" },
		{ H("<f4f4f4f4f4f4f4f4f4f4", "False", "(1,)"), -EINVAL, "too long" },
		{ H("<f4", "False", "(1)"), -EINVAL, "comma" },
		{ H("<f4", "False", "(-1,)"), -EINVAL, "dimension 0" },
		{ H("<f4", "False", "(1, 2.5)"), -EINVAL, "missing" },
		{ H("<f4", "False", "(1, x)"), -EINVAL, "dimension 1" },
		{ H("<f4", "False", "(,)"), -EINVAL, "dimension 0" },
		{ H("<f4", "False", "(1 2)"), -EINVAL, "missing" },
		{ H("<f4", "False", "(18446744073709551616,)"), -EINVAL, "too large" },
		{ H("<f4", "False", "(4294967296, 4294967296)"), -EINVAL, "too many" },
		{ H("<f4", "False", "(4611686018427387904,)"), -EINVAL, "too many" },
		{ H("<f4", "False", "(1,1,1,1,1,1,1,1,1)"), -EOPNOTSUPP, "dimensions" },
		{ H("<f4", "False", "(1000000000000,)"), -ENODATA, "data" },
		{ H("<f4", "False", "(3,)"), -ENODATA, "data" },
	};
	const float data[2] = { 1, 2 };
	char error[NPY_ERROR];
	struct npy npy;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int ret = parse_header(cases[i].header, data, sizeof(data), &npy, error);

		if (ret != cases[i].code || !strstr(error, cases[i].names))
			print_error("case %zu: %s: %d %s\n", i, cases[i].header, ret, error);
		assert_int_equal(ret, cases[i].code);
		assert_non_null(strstr(error, cases[i].names));
	}
}

/* Every way to cut a file off is an error, none is a crash */
static void test_truncated(void **state)
{
	const float data[2] = { 1, 2 };
	unsigned char buf[256];
	char error[NPY_ERROR];
	struct npy npy;
	size_t size, i;
	int version;

	(void)state;
	for (version = 1; version <= 3; version++) {
		size = make(buf, version, H("<f4", "False", "(2,)"), -1, data, 8);
		for (i = 1; i < size; i++)
			assert_int_not_equal(parse(buf, i, &npy, error), 0);
		assert_int_equal(parse(buf, size, &npy, error), 0);
		npy_free(&npy);
	}
}

static void test_header_length(void **state)
{
	const float data[2] = { 1, 2 };
	unsigned char buf[256];
	char error[NPY_ERROR];
	struct npy npy;
	size_t size;

	(void)state;
	/* 2 GiB of header are not even tried */
	size = make(buf, 2, H("<f4", "False", "(2,)"), 0x7fffffff, data, 8);
	assert_int_equal(parse(buf, size, &npy, error), -EINVAL);
	assert_non_null(strstr(error, "at most"));
	size = make(buf, 1, H("<f4", "False", "(2,)"), 0xffff, data, 8);
	assert_int_equal(parse(buf, size, &npy, error), -ENODATA);
	size = make(buf, 1, H("<f4", "False", "(2,)"), 20, data, 8);
	assert_int_equal(parse(buf, size, &npy, error), -EINVAL);
}

/* Headers with bytes changed at random: no crash, and no element out of reach */
static void test_mutations(void **state)
{
	static const char *const seeds[] = {
		H("<f4", "False", "(1, 2)"), H("<V2", "True", "(2, 2)"), H(">f8", "True", "(1, 1)"),
		H("|i1", "False", "(2, 4)")
	};
	static const char alphabet[] = "{}()[]'\":, <>|=fiuVb0123456789TrueFalsshapedc\n\\\xff";
	const unsigned char data[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	unsigned char buf[256];
	char error[NPY_ERROR];
	uint64_t i, good = 0;
	struct npy npy;

	(void)state;
	for (i = 0; i < 100000; i++) {
		size_t size = make(buf, 1 + (int)(i % 3), seeds[i / 3 % 4], -1, data, 8);
		uint64_t r = value_random(7, 0, i);
		unsigned int changes = 1 + (r & 3);

		for (; changes; changes--, r = value_random(r, 1, i))
			buf[6 + (r >> 8) % (size - 6)] = r & 64 ?
				(unsigned char)alphabet[(r >> 32) % (sizeof(alphabet) - 1)] :
				(unsigned char)(r >> 40);
		if (!parse(buf, size - (r & 128 ? (r >> 50) % 8 : 0), &npy, error)) {
			uint64_t j;

			good++;
			assert_true(npy.count <= 8);
			for (j = 0; j < npy.count; j++)
				npy_get(&npy, j, j & 1);
		}
		npy_free(&npy);
	}
	/* The changes must leave enough for the elements to have been looked at */
	assert_true(good > 1000);
}

static void test_files(void **state)
{
	char dir[] = "/tmp/accelctl-npy-XXXXXX", path[64], error[NPY_ERROR];
	const int32_t data[6] = { 1, -2, 3, -4, 5, -6 };
	const uint64_t dims[3] = { 1, 2, 3 };
	struct stat st;
	struct npy npy;
	uint64_t i;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/a.npy", dir);
	assert_int_equal(npy_load(path, &npy, error), -ENOENT);
	assert_non_null(strstr(error, "cannot open"));
	assert_int_equal(npy_load(dir, &npy, error), -EISDIR);

	assert_int_equal(npy_save(path, "<i4", 4, 3, dims, data), 0);
	assert_int_equal(stat(path, &st), 0);
	/* The data are aligned to 64 bytes, as the format asks */
	assert_int_equal((st.st_size - 24) % 64, 0);
	assert_int_equal(npy_load(path, &npy, error), 0);
	assert_int_equal(npy.rank, 3);
	assert_int_equal(npy.kind, 'i');
	assert_memory_equal(npy.dims, dims, sizeof(dims));
	for (i = 0; i < 6; i++)
		assert_true(npy_get(&npy, i, false) == data[i]);
	npy_free(&npy);

	/* A file that ends early is found out before memory is taken for it */
	assert_int_equal(truncate(path, st.st_size - 1), 0);
	assert_int_equal(npy_load(path, &npy, error), -ENODATA);
	assert_non_null(strstr(error, "24 bytes are promised, 23 there"));

	/* It is replaced as a whole, and nothing else stays in the directory */
	assert_int_equal(npy_save(path, "<i4", 4, 2, dims + 1, data), 0);
	assert_int_equal(npy_load(path, &npy, error), 0);
	assert_int_equal(npy.rank, 2);
	npy_free(&npy);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0);

	assert_int_equal(npy_save(path, "<i4", 4, 3, dims, data), -ENOENT);
	assert_int_equal(npy_save("/dev/full", "<i4", 4, 3, dims, data), -ENOSPC);
	assert_int_equal(npy_save(path, "<i4", 4, 9, dims, data), -EINVAL);
}

/* A stream that never ends gives an error, not all the memory */
static void test_endless(void **state)
{
	char error[NPY_ERROR];
	struct npy npy;

	(void)state;
	assert_int_equal(npy_load("/dev/zero", &npy, error), -EINVAL);
	assert_int_equal(npy_load("/dev/null", &npy, error), -ENODATA);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_fortran),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_header_length),
		cmocka_unit_test(test_mutations),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_endless),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("accelctl_npy", tests, NULL, NULL);
}

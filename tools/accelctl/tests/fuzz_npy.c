// SPDX-License-Identifier: MIT
/*
 * Harness for the .npy reader: libFuzzer's entry point, or a program that
 * feeds it the files that it is given.
 */
#include <math.h>
#include <stdlib.h>

#include "npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char error[NPY_ERROR], type[8];
	double sum = 0;
	struct npy npy;
	uint64_t i;
	FILE *f;
	int ret;

	if (!size)
		return 0;
	f = fmemopen((void *)data, size, "r");
	if (!f)
		abort();
	ret = npy_read(f, &npy, error);
	fclose(f);
	if (ret && (!error[0] || npy.data))
		abort();
	if (!ret) {
		npy_type(&npy, type);
		/* Every element must be within what was read */
		if (npy.count > size)
			abort();
		for (i = 0; i < npy.count; i++)
			sum += npy_get(&npy, i, i & 1);
		/* The compiler must not find out that nobody needs the sum */
		if (sum == 0x1.23456789abcdep1000)
			puts("what a coincidence");
	}
	npy_free(&npy);
	return 0;
}

#ifndef LIBFUZZER
int main(int argc, char **argv)
{
	static uint8_t data[1 << 20];
	size_t size;
	FILE *f;
	int i;

	for (i = 1; i < argc; i++) {
		f = fopen(argv[i], "re");
		if (!f) {
			perror(argv[i]);
			return 1;
		}
		size = fread(data, 1, sizeof(data), f);
		fclose(f);
		LLVMFuzzerTestOneInput(data, size);
	}
	return 0;
}
#endif

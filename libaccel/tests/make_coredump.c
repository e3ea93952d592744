// SPDX-License-Identifier: MIT
/* Writes a core dump to stdout: for tests of what reads them, and as a seed for fuzzers. */
#include <stdio.h>
#include "dump_make.h"

int main(void)
{
	static unsigned char buf[DUMP_MAKE_MAX];
	const size_t size = dump_make(buf);

	return fwrite(buf, 1, size, stdout) != size || fflush(stdout);
}

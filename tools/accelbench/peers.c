// SPDX-License-Identifier: MIT
/*
 * Which other libraries there are.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "peers.h"

static const char *found[3];

/*
 * Environment variables that must be set before the libraries are loaded. Libraries that do not
 * know the processor use an old one's kernels, at half the speed. Idle threads spin for a
 * while: long enough for consecutive calls, but not so long that they disturb the next
 * implementation.
 */
static void set_environment(void)
{
	long l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
	char text[24];

#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw"))
		setenv("OPENBLAS_CORETYPE", "SkylakeX", 1);
#endif
	if (l2 > 0) {
		snprintf(text, sizeof(text), "%ld", l2 >> 10);
		setenv("OPENBLAS_L2_SIZE", text, 1);
	}
	setenv("OPENBLAS_THREAD_TIMEOUT", "20", 0);
	setenv("GOMP_SPINCOUNT", "100000", 0);
}

void peers_load(uint32_t threads)
{
	set_environment();
	/* The caller works too, on the first processor. */
	found[0] = openblas_load(threads);
	team_pin_new(1);
	found[1] = onednn_load(threads);
	team_pin_new(1);
	found[2] = xsmm_load();
}

void peers_print(void)
{
	fprintf(stderr, "peers: %s, %s, %s\n", found[0] ? found[0] : "no OpenBLAS",
		found[1] ? found[1] : "no oneDNN", found[2] ? found[2] : "no libxsmm");
}

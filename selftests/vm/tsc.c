// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Print the frequency of this machine's time stamp counter in kHz. Under QEMU's
 * software emulation the guest reads the same counter, but has to guess its
 * frequency against an emulated timer; on a busy host that guess can be wrong
 * by a factor of thirty, and then every watchdog of the guest barks.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

struct sample {
	uint64_t ns;
	uint64_t ticks;
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Both clocks at one moment: the reading that took least time of a few. */
static struct sample sample(void)
{
	struct sample best = { 0 };
	uint64_t least = UINT64_MAX;
	int i;

	for (i = 0; i < 50; i++) {
		uint64_t before = __rdtsc();
		uint64_t ns = now_ns();
		uint64_t after = __rdtsc();

		if (after - before < least) {
			least = after - before;
			best.ns = ns;
			best.ticks = before + (after - before) / 2;
		}
	}
	return best;
}

int main(void)
{
	const struct timespec pause = { .tv_nsec = 100000000 };
	struct sample a = sample(), b;

	nanosleep(&pause, NULL);
	b = sample();
	printf("%.0f\n", (double)(b.ticks - a.ticks) * 1e6 / (double)(b.ns - a.ns));
	return 0;
}

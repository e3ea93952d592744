/* SPDX-License-Identifier: MIT */
/*
 * Where a test runs: on the host it uses the in-process device, in the virtual
 * machine (UMA_GUEST=1) the node, with small shapes. The environment overrides.
 */
#ifndef LIBACCEL_TESTS_GUEST_H
#define LIBACCEL_TESTS_GUEST_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static inline bool test_in_guest(void)
{
	const char *guest = getenv("UMA_GUEST");

	return guest && !strcmp(guest, "1");
}

/* Device to test; @host: the default of the host, may be NULL. */
static inline const char *test_device(const char *host)
{
	const char *device = getenv("ACCEL_TEST_DEVICE");

	if (device)
		return device;
	return test_in_guest() ? "accel0" : host;
}

static inline bool test_small(void)
{
	return getenv("ACCEL_TEST_SMALL") || test_in_guest();
}

/*
 * Of cases of arithmetic one of so many is run, in the virtual machine of 20: the same code
 * ran on the host, and "make proof" has the others.
 */
static inline unsigned long test_every(void)
{
	const char *every = getenv("ACCEL_TEST_EVERY");
	const unsigned long n = every ? strtoul(every, NULL, 0) : 0;

	return n ? n : test_in_guest() ? 20 : 1;
}

/*
 * Is the case with this number left out, where one of @every is run? By its bits, all of which
 * decide: tables are as regular as numbers. Each @turn, of a device or a level of kernels, has
 * others; so many of them have all.
 */
static inline bool test_not_of(unsigned long every, unsigned long long number, unsigned int turn)
{
	number ^= number >> 33;
	number *= 0xff51afd7ed558ccdull;
	number ^= number >> 33;
	number *= 0xc4ceb9fe1a85ec53ull;
	number ^= number >> 33;
	return (number % every + turn) % every;
}

static inline bool test_left_out(unsigned long long number, unsigned int turn)
{
	return test_not_of(test_every(), number, turn);
}

/*
 * Only what threads share is run here: other sanitizers run what goes through one thread, and
 * "make proof" has it here, too.
 */
static inline bool test_races_only(void)
{
#ifdef __SANITIZE_THREAD__
	return test_every() > 1;
#else
	return false;
#endif
}

#endif /* LIBACCEL_TESTS_GUEST_H */

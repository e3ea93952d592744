// SPDX-License-Identifier: MIT
/* See progress.h. The bar is on stderr, if that is a terminal. */
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "interrupt.h"
#include "progress.h"

#define WIDTH	40u
/* Until it is shown, and between two pictures, in milliseconds */
#define PATIENCE	2000u
#define PAUSE	100u

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

void ctl_progress(const char *what, uint64_t done, uint64_t total)
{
	static uint64_t start, last;
	static const char *who;
	static bool shown;
	const uint64_t now = now_ms();
	const unsigned int part = total ? (unsigned int)(done * WIDTH / total) : 0;
	unsigned int i;

	if (who != what) {
		who = what;
		start = now;
	}
	if (done >= total) {
		if (shown)
			fprintf(stderr, "\r\033[K");
		shown = false;
		who = NULL;
		return;
	}
	if (now - start < PATIENCE || now - last < PAUSE || !isatty(STDERR_FILENO))
		return;
	last = now;
	shown = true;
	fprintf(stderr, "\r%s [", what);
	for (i = 0; i < WIDTH; i++)
		fputc(i < part ? '=' : ' ', stderr);
	fprintf(stderr, "] %u %%\033[K", (unsigned int)(done * 100 / total));
	fflush(stderr);
}

int ctl_repacking(void *user, uint64_t done, uint64_t total)
{
	(void)user;
	ctl_progress("repacking weights", done, total);
	return ctl_interrupted();
}

// SPDX-License-Identifier: MIT
/*
 * SIGINT is seen where work is done in pieces; a second one ends the program
 * at once.
 */
#include <signal.h>
#include <stdatomic.h>

#include "interrupt.h"

static atomic_bool interrupted;

static void on_interrupt(int number)
{
	(void)number;
	atomic_store(&interrupted, true);
}

bool ctl_interrupted(void)
{
	return atomic_load(&interrupted);
}

void ctl_catch_interrupt(void)
{
	struct sigaction action = { .sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND };
	struct sigaction old;

	/* Who starts us in the background has it ignored: leave it so */
	if (!sigaction(SIGINT, NULL, &old) && old.sa_handler == SIG_IGN)
		return;
	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
}

void ctl_catch_end(void)
{
	static const int signals[] = { SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND };
	struct sigaction old;
	unsigned int i;

	sigemptyset(&action.sa_mask);
	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (sigaction(signals[i], NULL, &old) || old.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
}

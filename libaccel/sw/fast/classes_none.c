// SPDX-License-Identifier: MIT
/*
 * Classes that have no kernels for this processor: they leave everything to the next
 * class, or to the model. What is built for it in spite of this comes before.
 */
#include "classes.h"

static int leave(struct fast_prog *p)
{
	(void)p;
	return 0;
}

#define NONE(class)							\
	extern const struct fast_class class;				\
	const struct fast_class class __attribute__((weak)) = {		\
		.name = "none",						\
		.prepare = leave,					\
	}

NONE(fast_attention);
NONE(fast_conv);
NONE(fast_depthwise);
NONE(fast_gemv);
NONE(fast_wino);

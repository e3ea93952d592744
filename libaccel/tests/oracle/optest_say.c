// SPDX-License-Identifier: MIT
/*
 * Operations in words.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "libaccel/tests/ops/optest.h"
#include "oracle.h"

/* Add to what is in @buf. */
void op_say_text(char *buf, size_t size, const char *fmt, ...)
{
	size_t at = strlen(buf);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf + at, size - at, fmt, ap);
	va_end(ap);
}

void op_say_tensor(const char *name, const struct accel_tensor *t, char *buf,
		   size_t size)
{
	size_t at = strlen(buf);
	uint32_t i;

	if (!t->rank)
		return;
	snprintf(buf + at, size - at, " %s=%s[", name, accel_dtype_name(t->dtype));
	for (i = 0; i < t->rank; i++) {
		at = strlen(buf);
		snprintf(buf + at, size - at, "%s%lld", i ? "x" : "",
			 (long long)t->dims[i]);
		at = strlen(buf);
		if (t->flags)
			snprintf(buf + at, size - at, ":%lld",
				 (long long)t->strides[i]);
	}
	at = strlen(buf);
	snprintf(buf + at, size - at, "]q%u%s", t->quant.scheme,
		 t->quant.zeros ? "z" : "");
}

void op_say_epilogue(const struct accel_epilogue *e, char *buf, size_t size)
{
	size_t at = strlen(buf);

	snprintf(buf + at, size - at, " act %u(%g, %g)", e->act, (double)e->p0,
		 (double)e->p1);
	op_say_tensor("scale", &e->scale, buf, size);
	op_say_tensor("bias", &e->bias, buf, size);
	op_say_tensor("residual", &e->residual, buf, size);
	op_say_tensor("post", &e->residual_post, buf, size);
}

/* An operation in one line, for messages. */
void op_say(const struct accel_desc *desc, char *buf, size_t size)
{
	snprintf(buf, size, "%s on %s", accel_op_name(desc->op),
		 accel_engine_name(desc->engine));
	oracle_op(desc->op)->say(desc, buf, size);
}

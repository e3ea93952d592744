// SPDX-License-Identifier: MIT
/*
 * Operations in words.
 */
#include <stdio.h>
#include <string.h>

#include "optest.h"

static void say_tensor(const char *name, const struct accel_tensor *t, char *buf,
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

static void say_epilogue(const struct accel_epilogue *e, char *buf, size_t size)
{
	size_t at = strlen(buf);

	snprintf(buf + at, size - at, " act %u(%g, %g)", e->act, (double)e->p0,
		 (double)e->p1);
	say_tensor("scale", &e->scale, buf, size);
	say_tensor("bias", &e->bias, buf, size);
	say_tensor("residual", &e->residual, buf, size);
	say_tensor("post", &e->residual_post, buf, size);
}

/* An operation in one line, for messages. */
void op_say(const struct accel_desc *desc, char *buf, size_t size)
{
	const struct accel_gemm_desc *g = (const void *)desc;
	const struct accel_copy_desc *c = (const void *)desc;
	const struct accel_fill_desc *f = (const void *)desc;
	const struct accel_unary_desc *u = (const void *)desc;
	const struct accel_binary_desc *b = (const void *)desc;

	snprintf(buf, size, "%s on %s", accel_op_name(desc->op),
		 accel_engine_name(desc->engine));
	switch (desc->op) {
	case ACCEL_OP_GEMM:
		snprintf(buf + strlen(buf), size - strlen(buf),
			 " flags %u alpha %g beta %g", g->flags, (double)g->alpha,
			 (double)g->beta);
		say_tensor("a", &g->a, buf, size);
		say_tensor("b", &g->b, buf, size);
		say_tensor("c", &g->c, buf, size);
		say_tensor("d", &g->d, buf, size);
		say_epilogue(&g->epilogue, buf, size);
		break;
	case ACCEL_OP_COPY:
		say_tensor("a", &c->a, buf, size);
		say_tensor("d", &c->d, buf, size);
		break;
	case ACCEL_OP_FILL:
		snprintf(buf + strlen(buf), size - strlen(buf), " %.17g", f->value);
		say_tensor("d", &f->d, buf, size);
		break;
	case ACCEL_OP_UNARY:
		snprintf(buf + strlen(buf), size - strlen(buf), " func %u", u->func);
		say_tensor("a", &u->a, buf, size);
		say_tensor("d", &u->d, buf, size);
		say_epilogue(&u->epilogue, buf, size);
		break;
	default:
		snprintf(buf + strlen(buf), size - strlen(buf), " func %u", b->func);
		say_tensor("a", &b->a, buf, size);
		say_tensor("b", &b->b, buf, size);
		say_tensor("d", &b->d, buf, size);
		say_epilogue(&b->epilogue, buf, size);
		break;
	}
}

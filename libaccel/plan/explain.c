// SPDX-License-Identifier: MIT
/*
 * Why an operation runs where it runs, and why not elsewhere.
 */
#include <errno.h>
#include <stdlib.h>

#include "planner.h"

static int report(const struct plan_candidates *list, accel_candidate_fn *fn,
		  void *user)
{
	uint32_t i;
	int ret;

	for (i = 0; i < list->count; i++) {
		ret = fn(user, &list->c[i]);
		if (ret)
			return ret;
	}
	return 0;
}

int accel_plan_explain(struct accel_plan *plan, accel_candidate_fn *fn, void *user)
{
	return report(plan->candidates, fn, user);
}

int accel_explain(struct accel_ctx *ctx, const struct accel_desc *desc,
		  accel_candidate_fn *fn, void *user)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct plan_candidates *list;
	struct request req;
	union any_desc copy;
	int ret;

	ret = request_create(desc, &copy, &req, &e);
	if (ret)
		return ctx_set_error(ctx, &e);
	ret = candidates_create(accel_ctx_device(ctx), &req, &list);
	request_release(&req);
	if (ret)
		return ctx_fail(ctx, ret, NULL, "out of memory");
	ret = report(list, fn, user);
	free(list);
	return ret;
}

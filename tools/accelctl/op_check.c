// SPDX-License-Identifier: MIT
/*
 * See op_check.h.
 */
#include <math.h>

#include "op_check.h"

void op_judge(const struct accel_tensor *d, const struct oracle_result *ref, uint64_t n,
	      struct op_verdict *v)
{
	struct oracle_verdict one = { 0 };
	bool same, whole = d->dtype > ACCEL_BF16;
	double err, ratio = 0;

	oracle_judge(d, ref, n, &one);
	same = !oracle_apart(one.got, whole ? nearbyint(one.expect) :
					      oracle_round(one.expect, d->dtype));
	v->differing += !same || !one.ok;
	err = same && whole ? 0 : fabs(one.got - one.expect);
	/* Allowed overflows have no error, nor has an expected NaN */
	if (one.ok && !isfinite(err))
		return;
	/* Elsewhere NaN is an infinite error */
	if (isnan(err))
		err = INFINITY;
	if (err > v->max_abs)
		v->max_abs = err;
	if (!one.ok)
		ratio = isfinite(err) && one.bound > 0 ? err / one.bound : INFINITY;
	else if (one.bound > 0)
		ratio = err / one.bound;
	if (ratio > v->ratio) {
		v->ratio = ratio;
		v->worst = one;
	}
}

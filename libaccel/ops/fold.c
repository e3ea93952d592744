// SPDX-License-Identifier: MIT
/*
 * Batch normalisation as the scale and the bias of an epilogue.
 */
#include <errno.h>
#include <math.h>

#include "libaccel/core/fpmode.h"
#include "libaccel/core/internal.h"

int accel_fold_batch_norm(const struct accel_batch_norm *bn, float *scale, float *bias)
{
	FP_MODE_SCOPE();
	uint32_t i;

	if (!bn || !scale || !bias)
		return -EINVAL;
	if (bn->size < sizeof(*bn) || bn->flags || !bn->mean || !bn->var ||
	    !isfinite(bn->epsilon))
		return -EINVAL;
	for (i = 0; i < bn->channels; i++)
		if (!((double)bn->var[i] + (double)bn->epsilon > 0))
			return -EINVAL;
	for (i = 0; i < bn->channels; i++) {
		double s = (bn->gamma ? bn->gamma[i] : 1.0) /
			   sqrt((double)bn->var[i] + (double)bn->epsilon);
		double b = bn->bias ? bn->bias[i] : 0.0;

		scale[i] = (float)s;
		bias[i] = (float)((b - (double)bn->mean[i]) * s +
				  (bn->beta ? bn->beta[i] : 0.0));
	}
	return 0;
}

// SPDX-License-Identifier: MIT
/*
 * Windows of convolutions and pools: strides, dilations, padding.
 */
#include <string.h>

#include "run.h"

static bool list_of(struct run *r, const char *name, uint32_t n, int64_t otherwise, int64_t *list)
{
	uint32_t i, have = attr_ints(r, name, list, 2 * MAX_SPATIAL);

	for (i = 0; !have && i < n; i++)
		list[i] = otherwise;
	if (have && have != n)
		broken(r, "%s has %u numbers, not %u", name, have, n);
	for (i = 0; i < n && !r->ret; i++)
		if (list[i] < 0 || list[i] > 65536)
			unsupported(r, "%s of %ld", name, (long)list[i]);
	return !r->ret;
}

/*
 * The window of the node in work over @a, [N, C, ...]; the size of the kernel
 * is an attribute, or that of the weights @b, [M, C, ...].
 */
bool window_of(struct run *r, struct window *w, const struct value *a, const struct value *b)
{
	int64_t list[2 * MAX_SPATIAL];
	bool upper, lower;
	uint32_t i;

	memset(w, 0, sizeof(*w));
	if (r->ret)
		return false;
	if (a->rank < 3 || a->rank - 2 > MAX_SPATIAL) {
		unsupported(r, "%u dimensions", a->rank);
		return false;
	}
	w->n = a->rank - 2;
	if (b) {
		for (i = 0; i < w->n; i++)
			w->kernel[i] = b->dims[2 + i];
	} else if (!list_of(r, "kernel_shape", w->n, 1, w->kernel)) {
		return false;
	}
	if (!list_of(r, "strides", w->n, 1, w->stride) ||
	    !list_of(r, "dilations", w->n, 1, w->dilation) ||
	    !list_of(r, "pads", 2 * w->n, 0, list))
		return false;
	upper = attr_is(r, "auto_pad", "SAME_UPPER", false);
	lower = attr_is(r, "auto_pad", "SAME_LOWER", false);
	w->same_upper = upper;
	w->same = upper || lower;
	for (i = 0; i < w->n; i++) {
		int64_t in = a->dims[2 + i], out = (in + w->stride[i] - 1) / w->stride[i];
		int64_t extent = (w->kernel[i] - 1) * w->dilation[i] + 1;
		int64_t all = (out - 1) * w->stride[i] + extent - in;

		all = all < 0 ? 0 : all;
		w->before[i] = w->same ? (all + (lower ? 1 : 0)) / 2 : list[i];
		w->after[i] = w->same ? all - w->before[i] : list[w->n + i];
	}
	return true;
}

/* Positions along spatial dimension @i of @in elements */
int64_t window_count(const struct window *w, uint32_t i, int64_t in, bool ceil)
{
	int64_t all = in + w->before[i] + w->after[i] - (w->kernel[i] - 1) * w->dilation[i] - 1;
	int64_t n = all < 0 ? 0 : all / w->stride[i] + 1;

	/* One more that is not whole, but not if it begins in the padding behind. */
	if (ceil && all >= 0 && all % w->stride[i] && n * w->stride[i] < in + w->before[i])
		n++;
	return n;
}

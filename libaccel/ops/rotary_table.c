// SPDX-License-Identifier: MIT
/*
 * Tables of the cosines and sines of rotary embeddings.
 *
 * Pair i of d / 2 turns by position * w(i), w(i) = base^(-2i / d): J. Su et al.,
 * "RoFormer: Enhanced Transformer with Rotary Position Embedding", 2021,
 * arXiv:2104.09864. The scaled variants change w(i) alone, YaRN the length of
 * the pair too.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "libaccel/core/fpmode.h"
#include "libaccel/core/internal.h"

/* Larger than any head; bounds nothing but nonsense */
#define ROT_DIM_MAX	65536u

/* What 0 stands for. */
static double or_else(double v, double dflt)
{
	return v == 0 ? dflt : v;
}

static bool positive(double v)
{
	return isfinite(v) && v > 0;
}

static int check(const struct accel_rotary_opts *o)
{
	const bool scaled = o->scaling != ACCEL_ROTARY_PLAIN;
	const bool two = o->scaling == ACCEL_ROTARY_LLAMA3 || o->scaling == ACCEL_ROTARY_YARN;

	if (o->scaling >= ACCEL_ROTARY_SCALING_COUNT || o->pad)
		return -EINVAL;
	if (!o->rot_dim || o->rot_dim % 2 || o->rot_dim > ROT_DIM_MAX)
		return -EINVAL;
	if (!positive(o->base) || (o->scaling == ACCEL_ROTARY_YARN && o->base == 1))
		return -EINVAL;
	if (scaled ? !isfinite(o->factor) || o->factor < 1 : o->factor != 0)
		return -EINVAL;
	if (two ? !o->trained || !positive(o->low) || !isfinite(o->high) || o->high <= o->low :
		  o->trained || o->low != 0 || o->high != 0)
		return -EINVAL;
	if (o->scaling == ACCEL_ROTARY_YARN ? !positive(o->amplitude) : o->amplitude != 0)
		return -EINVAL;
	return 0;
}

static void set_defaults(struct accel_rotary_opts *o)
{
	o->base = or_else(o->base, 10000);
	if (o->scaling == ACCEL_ROTARY_LLAMA3) {
		o->low = or_else(o->low, 1);
		o->high = or_else(o->high, 4);
	} else if (o->scaling == ACCEL_ROTARY_YARN) {
		o->low = or_else(o->low, 1);
		o->high = or_else(o->high, 32);
		/* 1 / sqrt(t) of the paper's equation for the LLaMA models. */
		o->amplitude = or_else(o->amplitude, 0.1 * log(o->factor) + 1);
	}
}

/*
 * "The Llama 3 Herd of Models", 2024, arXiv:2407.21783, and the reference code
 * of version 3.1: what turns less than @low times within the length that the
 * model was trained with is slowed down by the factor, what turns more than
 * @high times stays, in between one fades into the other.
 */
static double llama3(const struct accel_rotary_opts *o, double w)
{
	double turns = o->trained * w / (2 * M_PI);
	double stay;

	if (turns < o->low)
		return w / o->factor;
	if (turns > o->high)
		return w;
	stay = (turns - o->low) / (o->high - o->low);
	return (1 - stay) * w / o->factor + stay * w;
}

/* The pair that turns @turns times within the trained length; a fraction. */
static double pair_of(const struct accel_rotary_opts *o, double turns)
{
	return o->rot_dim * log(o->trained / (turns * 2 * M_PI)) / (2 * log(o->base));
}

/*
 * B. Peng et al., "YaRN: Efficient Context Window Extension of Large Language
 * Models", 2023, arXiv:2309.00071. The ramp goes along the pairs, between the
 * whole ones around @high and @low turns: that is what the authors' code does
 * and models were trained with; the paper's formula has it along the turns.
 */
static double yarn(const struct accel_rotary_opts *o, uint32_t pair, double w)
{
	double from = floor(pair_of(o, o->high)), to = ceil(pair_of(o, o->low));
	double slow;

	from = from < 0 ? 0 : from;
	to = to > o->rot_dim - 1 ? o->rot_dim - 1 : to;
	to = to == from ? from + 0.001 : to;
	slow = (pair - from) / (to - from);
	slow = slow < 0 ? 0 : slow > 1 ? 1 : slow;
	return slow * w / o->factor + (1 - slow) * w;
}

static double frequency(const struct accel_rotary_opts *o, uint32_t pair)
{
	double w = pow(o->base, -2.0 * pair / o->rot_dim);

	switch (o->scaling) {
	case ACCEL_ROTARY_LINEAR:
		return w / o->factor;
	case ACCEL_ROTARY_LLAMA3:
		return llama3(o, w);
	case ACCEL_ROTARY_YARN:
		return yarn(o, pair, w);
	default:
		return w;
	}
}

int accel_rotary_table(const struct accel_rotary_opts *opts, uint64_t first,
		       uint64_t count, float *cosines, float *sines)
{
	FP_MODE_SCOPE();
	struct accel_rotary_opts o;
	double w, amplitude = 1;
	uint64_t i, at;
	uint32_t pair;
	int ret;

	if (!opts || (count && (!cosines || !sines)))
		return -EINVAL;
	ret = struct_in(&o, sizeof(o), opts, sizeof(o));
	if (ret)
		return ret;
	set_defaults(&o);
	ret = check(&o);
	/* Positions are indices of int32. */
	if (ret || first > INT32_MAX || count > INT32_MAX + 1ull - first)
		return -EINVAL;
	if (o.scaling == ACCEL_ROTARY_YARN)
		amplitude = o.amplitude;
	for (pair = 0; pair < o.rot_dim / 2; pair++) {
		w = frequency(&o, pair);
		for (i = 0; i < count; i++) {
			at = i * (o.rot_dim / 2) + pair;
			cosines[at] = (float)(amplitude * cos((double)(first + i) * w));
			sines[at] = (float)(amplitude * sin((double)(first + i) * w));
		}
	}
	return 0;
}

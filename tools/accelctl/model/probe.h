/* SPDX-License-Identifier: MIT */
/*
 * Values within models.
 */
#ifndef ACCELCTL_MODEL_PROBE_H
#define ACCELCTL_MODEL_PROBE_H

#include "model.h"

/**
 * struct samples - sets of inputs
 * @files: a file for each
 * @count: their number; 0: one set, which the options give
 */
struct samples {
	char **files;
	uint32_t count;
};

/** samples_find - files of --calibrate, those of folders by name; an exit status */
int samples_find(struct ctl *ctl, const struct model_opts *opts, struct samples *samples);
void samples_free(struct samples *samples);

/** samples_all - how many sets there are */
static inline uint32_t samples_all(const struct samples *samples)
{
	return samples->count ? samples->count : 1;
}

/**
 * struct probe - a model whose values can be seen
 * @s: it
 * @opts: its options
 * @own: outputs of its own; those that are looked at lie behind them
 */
struct probe {
	struct session s;
	struct model_opts opts;
	uint32_t own;
};

/**
 * probe_open - bring a model to a device
 * @p: out; session_close() its session, also when this fails
 * @ctl: invocation
 * @opts: options
 * @device: device, or NULL
 * @path: model
 * @names: results of nodes, and inputs, that are to be seen
 * @count: their number
 *
 * Return: an exit status.
 */
int probe_open(struct probe *p, struct ctl *ctl, const struct model_opts *opts,
	       const char *device, const char *path, const char *const *names, uint32_t count);

/** probe_run - run with a set of inputs; an exit status */
int probe_run(struct probe *p, const struct samples *samples, uint32_t index);

/**
 * struct gap - what lies between two values
 * @error: sum of squares
 * @sum: of those of what it should be
 * @largest: largest error
 * @rows: rows of the last dimension
 * @same: of these have the largest element in the same place
 * @wrong: they cannot be compared
 */
struct gap {
	double error;
	double sum;
	double largest;
	uint64_t rows;
	uint64_t same;
	bool wrong;
};

/** gap_add - hold an output of @b against one of @a, which is right */
void gap_add(struct gap *g, const struct probe *a, uint32_t i, const struct probe *b, uint32_t k);

/** gap_share - root mean square of the error, as a share of what it should be */
double gap_share(const struct gap *g);

/**
 * probe_gaps - run two models side by side with all inputs
 * @a: what is right
 * @b: the other, with as many outputs
 * @samples: inputs
 * @gaps: out, for each output, and for each value that is looked at behind them
 * @count: their number
 *
 * Return: an exit status.
 */
int probe_gaps(struct probe *a, struct probe *b, const struct samples *samples, struct gap *gaps,
	       uint32_t count);

/* --- calibrate.c --- */

/**
 * calibrate - the ranges of values
 * @p: model
 * @samples: inputs
 * @ranges: out: for each of the values that are looked at; names are those of the caller
 * @count: their number
 *
 * Return: an exit status.
 */
int calibrate(struct probe *p, const struct samples *samples, struct accel_model_range *ranges,
	      uint32_t count);

#endif /* ACCELCTL_MODEL_PROBE_H */

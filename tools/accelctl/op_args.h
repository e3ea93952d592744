/* SPDX-License-Identifier: MIT */
/*
 * Inputs and options of the operations of run op. Functions that return an int return an exit
 * status, and have reported any error.
 */
#ifndef ACCELCTL_OP_ARGS_H
#define ACCELCTL_OP_ARGS_H

#include "op.h"

/**
 * op_take - an input as a tensor of the descriptor
 * @op: operation
 * @input: number of the input
 * @arg: &enum accel_arg
 * @t: out: in the descriptor
 */
void op_take(struct op *op, uint32_t input, uint32_t arg, struct accel_tensor *t);

/**
 * op_give - add a result of the requested type
 * @op: operation
 * @arg: &enum accel_arg
 * @t: out: in the descriptor
 * @rank: number of dimensions
 * @dims: elements
 */
void op_give(struct op *op, uint32_t arg, struct accel_tensor *t, uint32_t rank,
	     const int64_t *dims);

/** op_give_plain - a result of type @dtype, which is never quantised */
void op_give_plain(struct op *op, uint32_t arg, struct accel_tensor *t, uint32_t dtype,
		   uint32_t rank, const int64_t *dims);

/** op_one_axis - the one dimension of --axis, else @axis, counted from the start */
int op_one_axis(struct op *op, uint32_t rank, int64_t axis, uint32_t *out);
/** op_many_axes - --axis as a mask, 0 without it */
int op_many_axes(struct op *op, uint32_t rank, uint32_t *mask);
/** op_spread - numbers for each of @count dimensions, one number for all of them */
int op_spread(struct op *op, const char *option, const struct ctl_ints *list, uint32_t count,
	      uint32_t *to);
/** op_spread_pad - --pad: one number, one for each dimension, or those before and after */
int op_spread_pad(struct op *op, uint32_t rank, int64_t *before, int64_t *after);
/** op_mode_of - --mode as one of @count values from @first on, 0 without it */
int op_mode_of(struct op *op, uint32_t first, uint32_t count, uint32_t *mode);
/** op_broadcast - the shape that all inputs broadcast to */
int op_broadcast(struct op *op, uint32_t *rank, int64_t *dims);

#endif /* ACCELCTL_OP_ARGS_H */

/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What an opcode is: which operands it has, and which functions know the rest.
 */
#ifndef _UMA_OP_H_
#define _UMA_OP_H_

#include "uma_model.h"

struct uma_run;

/** UMA_CLASS_ACT: may have an activation */
#define UMA_CLASS_ACT		(1u << 0)
/** UMA_CLASS_SAME_RANK: all operands have the rank of DST */
#define UMA_CLASS_SAME_RANK	(1u << 1)

/** UMA_SLOT_BIT - mask of a slot, by the end of its name */
#define UMA_SLOT_BIT(s)		(1u << UMA_SLOT_##s)

/**
 * struct uma_op_class - what an opcode is
 *
 * One for each, in the file of the operation; everything that decodes, checks
 * and runs tasks asks it, and knows no opcode by name.
 */
struct uma_op_class {
	/** @slots: operands that it always has */
	__u32 slots;
	/** @outputs: those that it writes */
	__u32 outputs;
	/** @in_place: inputs that may be DST itself, element by element */
	__u32 in_place;
	/** @like_b: beside B, slots that the row's b_dtypes and B's quants hold for */
	__u32 like_b;
	/** @fixed: slots whose types @match settles; the row is not asked */
	__u32 fixed;
	/** @packable: slots that may have another layout than strided */
	__u32 packable;
	/** @blocks: slots that may have a type of blocks */
	__u32 blocks;
	/** @epilogue: UMA_EPI_* that it may have */
	__u32 epilogue;
	/** @sized_by: slot whose elements say how much there is to do; 0: DST */
	__u32 sized_by;
	/** @flags: UMA_CLASS_* */
	__u32 flags;
	/**
	 * @decode: read the parameters into @op, where everything is zero, and
	 * say how many bytes they took; the rest must be zero. NULL: there are
	 * none
	 */
	int (*decode)(const void *params, struct uma_op *op, __u32 *used,
		      struct uma_fault_info *fault);
	/** @extra_slots: operands that the parameters ask for. NULL: none */
	__u32 (*extra_slots)(const struct uma_op *op);
	/**
	 * @match: do the operands fit each other and the parameters? Asked
	 * again after dynamic dimensions have replaced the descriptor's
	 */
	int (*match)(const struct uma_op *op, struct uma_fault_info *fault);
	/** @funcs: bits that the row's funcs must have. NULL: none */
	__u32 (*funcs)(const struct uma_op *op);
	/** @func_field: parameter that @funcs come from. NULL: params.func */
	const char *func_field;
	/** @k: length of its sums, held against the row's k_max. NULL: none */
	__u64 (*k)(const struct uma_op *op);
	/**
	 * @work: multiply-adds of an element of @sized_by; saturates. NULL: @k, or
	 * UMA_ELEMENT_WORK
	 */
	__u64 (*work)(const struct uma_op *op);
	/**
	 * @prepare: cut the operation into phases and tiles; @prog has the
	 * operation, engine, row and step_work. No tiles: nothing to do
	 */
	int (*prepare)(struct uma_run *run, struct uma_program *prog);
	/** @step: as uma_run_step() */
	int (*step)(struct uma_run *run, __u32 phase, __u32 tile, __u32 *step);
};

/* NULL for an opcode that there is not. */
const struct uma_op_class *uma_op_class(__u32 opcode);

#endif /* _UMA_OP_H_ */

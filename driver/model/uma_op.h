/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Description of an opcode: its operands, and its functions.
 */
#ifndef _UMA_OP_H_
#define _UMA_OP_H_

#include "uma_model.h"

struct uma_run;

/** UMA_CLASS_ACT: the operation may have an activation */
#define UMA_CLASS_ACT		(1u << 0)
/** UMA_CLASS_SAME_RANK: all operands have the rank of DST */
#define UMA_CLASS_SAME_RANK	(1u << 1)

/** UMA_SLOT_BIT - mask of the slot UMA_SLOT_@s */
#define UMA_SLOT_BIT(s)		(1u << UMA_SLOT_##s)

/**
 * struct uma_op_class - description of an opcode
 *
 * Defined in the file of the operation. The code that decodes, checks and runs
 * tasks uses it, and does not depend on opcodes.
 */
struct uma_op_class {
	/** @slots: mask of the operands that it always has */
	__u32 slots;
	/** @outputs: mask of the operands that it writes */
	__u32 outputs;
	/** @in_place: mask of the inputs that may be DST itself, element by element */
	__u32 in_place;
	/** @like_b: slots other than B that b_dtypes of the row and the quants of B apply to */
	__u32 like_b;
	/** @fixed: slots whose types @match checks instead of the capability row */
	__u32 fixed;
	/** @packable: slots whose layout need not be strided */
	__u32 packable;
	/** @blocks: slots that may have a type of blocks */
	__u32 blocks;
	/** @epilogue: UMA_EPI_* that it may have */
	__u32 epilogue;
	/** @sized_by: slot whose number of elements determines the work; 0: DST */
	__u32 sized_by;
	/** @flags: UMA_CLASS_* */
	__u32 flags;
	/**
	 * @decode: read the parameters into @op, which is zeroed before, and
	 * return their size in @used; bytes behind that must be zero. NULL: there
	 * are no parameters
	 */
	int (*decode)(const void *params, struct uma_op *op, __u32 *used,
		      struct uma_fault_info *fault);
	/** @extra_slots: operands that the parameters require. NULL: none */
	__u32 (*extra_slots)(const struct uma_op *op);
	/**
	 * @match: check that the operands fit each other and the parameters.
	 * Called again after dynamic dimensions have replaced the descriptor's
	 */
	int (*match)(const struct uma_op *op, struct uma_fault_info *fault);
	/** @funcs: bits that the row's funcs must have. NULL: none */
	__u32 (*funcs)(const struct uma_op *op);
	/** @func_field: name of the parameter that determines @funcs. NULL: params.func */
	const char *func_field;
	/** @k: length of its sums, limited by the row's k_max. NULL: none */
	__u64 (*k)(const struct uma_op *op);
	/**
	 * @work: multiply-adds per element of @sized_by; saturates. NULL: @k, or
	 * UMA_ELEMENT_WORK
	 */
	__u64 (*work)(const struct uma_op *op);
	/**
	 * @prepare: divide the operation into phases and tiles; operation, engine,
	 * row and step_work of @prog are set. No tiles: there is nothing to do
	 */
	int (*prepare)(struct uma_run *run, struct uma_program *prog);
	/** @step: as uma_run_step() */
	int (*step)(struct uma_run *run, __u32 phase, __u32 tile, __u32 *step);
};

/* Returns NULL for an opcode that does not exist. */
const struct uma_op_class *uma_op_class(__u32 opcode);

#endif /* _UMA_OP_H_ */

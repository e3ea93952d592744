// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Programs: dynamic dimensions, calls of the operations, and the loop that runs a whole
 * program.
 */
#include "uma_internal.h"

/*
 * Replace the dimensions by those in memory. As they can only become smaller, the checks of
 * ranges and overlap remain valid; uma_op_match() is called again.
 */
static int resolve_table(struct uma_run *run, struct uma_op *op)
{
	__le32 tmp[UMA_TASK_SLOTS][UMA_MAX_RANK];
	__u64 row_addr = op->shape_addr;
	const void *got;
	__u32 s, d;

	got = uma_mem_in(run, UMA_FAULT_NO_SLOT, op->shape_addr, sizeof(tmp), tmp);
	if (!got)
		return -1;
	/* Check a copy, since others may write to that memory; @got may be @tmp itself. */
	__builtin_memmove(tmp, got, sizeof(tmp));
	for (s = 0; s < UMA_TASK_SLOTS; s++, row_addr += sizeof(tmp[0])) {
		struct uma_tensor_view *t = &op->t[s];

		if (!uma_has(op, s))
			continue;
		for (d = 0; d < UMA_MAX_RANK; d++) {
			__u32 dim = uma_le32(tmp[s][d]);

			if (dim > t->dims[d]) {
				uma_set_fault(run->fault, UMA_FAULT_DIMS, s, "shape");
				run->fault->addr = row_addr + 4 * d;
				return -1;
			}
			t->dims[d] = dim;
		}
	}
	return 0;
}

/* Replace all dynamic dimensions by a single number. */
static int resolve_length(struct uma_run *run, struct uma_op *op)
{
	const void *got;
	__le32 length;
	__u32 s, d, dim;

	got = uma_mem_in(run, UMA_FAULT_NO_SLOT, op->shape_addr, sizeof(length), &length);
	if (!got)
		return -1;
	/* Read once, since others may write to that memory; @got may be &length itself. */
	__builtin_memmove(&length, got, sizeof(length));
	dim = uma_le32(length);
	for (s = 0; s < UMA_TASK_SLOTS; s++) {
		for (d = 0; d < UMA_MAX_RANK; d++) {
			if (!(op->length_dims[s] >> d & 1))
				continue;
			if (dim > op->t[s].dims[d]) {
				uma_set_fault(run->fault, UMA_FAULT_DIMS, s, "shape");
				run->fault->addr = op->shape_addr;
				return -1;
			}
			op->t[s].dims[d] = dim;
		}
	}
	return 0;
}

static int resolve_dims(struct uma_run *run, struct uma_op *op)
{
	if (op->flags & UMA_TASK_LENGTH ? resolve_length(run, op) : resolve_table(run, op))
		return -1;
	return uma_op_match(op, run->fault);
}

/* Copies the slots in use only: most tasks use few of them. */
static void copy_op(struct uma_op *dst, const struct uma_op *src)
{
	__u32 s;

	__builtin_memcpy(dst, src, __builtin_offsetof(struct uma_op, t));
	for (s = 0; s < UMA_TASK_SLOTS; s++)
		if (uma_has(src, s))
			dst->t[s] = src->t[s];
}

int uma_prepare(struct uma_program *prog, const struct uma_op *op,
		const struct uma_engine_desc *engine,
		const struct uma_kernels *kernels, __u32 step_work,
		struct uma_mem *mem, struct uma_fault_info *fault)
{
	struct uma_run run = {
		.prog = prog,
		.k = kernels,
		.mem = mem,
		.fault = fault,
	};
	int row;

	row = uma_op_check(op, engine, fault);
	if (row < 0)
		return -1;
	if (op != &prog->op)
		copy_op(&prog->op, op);
	prog->engine = engine;
	prog->kernels = kernels;
	prog->row = (__u32)row;
	prog->step_work = step_work;
	prog->phase_count = 0;
	prog->macs = 0;
	if ((op->flags & UMA_TASK_DYNAMIC) && resolve_dims(&run, &prog->op))
		return -1;

	return uma_op_class(op->opcode)->prepare(&run, prog);
}

int uma_program_seek(const struct uma_program *prog, __u64 index, __u32 *phase, __u32 *tile)
{
	const int begin = !index;

	for (*phase = 0; *phase < prog->phase_count; (*phase)++) {
		if (index < prog->tiles[*phase]) {
			*tile = (__u32)index;
			return 0;
		}
		index -= prog->tiles[*phase];
	}
	*tile = 0;
	return begin ? 0 : -1;
}

int uma_run_step(const struct uma_program *prog, __u32 phase, __u32 tile,
		 __u32 *step, struct uma_mem *mem, void *scratch,
		 struct uma_fault_info *fault)
{
	struct uma_run run = {
		.prog = prog,
		.k = prog->kernels,
		.mem = mem,
		.fault = fault,
		.scratch = scratch,
	};

	return uma_op_class(prog->op.opcode)->step(&run, phase, tile, step);
}

int uma_run(const struct uma_program *prog, struct uma_mem *mem, void *scratch,
	    struct uma_fault_info *fault)
{
	__u32 phase, tile, step;
	int more;

	for (phase = 0; phase < prog->phase_count; phase++) {
		for (tile = 0; tile < prog->tiles[phase]; tile++) {
			step = 0;
			do {
				more = uma_run_step(prog, phase, tile, &step, mem,
						    scratch, fault);
				if (more < 0)
					return -1;
			} while (more);
		}
	}
	return 0;
}

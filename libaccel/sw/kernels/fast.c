// SPDX-License-Identifier: MIT
/* Selects the class of an operation, and lists the memory that it accesses. */
#include <string.h>
#include "driver/model/uma_op.h"
#include "libaccel/core/cache_size.h"
#include "fast.h"
#include "classes.h"
#include "ends/epilogue.h"

/* Sizes of caches if the system does not report them */
#define DEFAULT_L1D	(32u * 1024u)
#define DEFAULT_L2	(512u * 1024u)
#define DEFAULT_L3	(8u * 1024u * 1024u)

static const struct fast_class *const *classes_of(const struct uma_op *op)
{
	static const struct fast_class *const attention[] = { &fast_attention, NULL };
	static const struct fast_class *const dynquant[] = { &fast_dynquant, NULL };
	static const struct fast_class *const copy[] = { &fast_move, &fast_map, &fast_rows, NULL };
	static const struct fast_class *const fill[] = { &fast_move, NULL };
	static const struct fast_class *const gather[] = { &fast_rows, NULL };
	static const struct fast_class *const kv_write[] = { &fast_kv_write, NULL };
	static const struct fast_class *const map[] = { &fast_map, NULL };
	static const struct fast_class *const none[] = { NULL };
	static const struct fast_class *const norm[] = { &fast_norm, NULL };
	static const struct fast_class *const pack[] = { &fast_pack, NULL };
	static const struct fast_class *const pool[] = { &fast_window, NULL };
	static const struct fast_class *const reduce[] = { &fast_reduce, NULL };
	static const struct fast_class *const resize[] = { &fast_sample, NULL };
	static const struct fast_class *const rotary[] = { &fast_rotary, NULL };
	static const struct fast_class *const scan[] = { &fast_scan, NULL };
	static const struct fast_class *const softmax[] = { &fast_softmax, NULL };
	static const struct fast_class *const topk[] = { &fast_topk, NULL };
	static const struct fast_class *const conv[] = {
		&fast_wino, &fast_depthwise, &fast_taps, &fast_conv, NULL
	};
	static const struct fast_class *const gemm[] = {
		&fast_grouped, &fast_gemv, &fast_few, &fast_pointwise, &fast_gemm, NULL
	};
	/* Scales of rows alone are a step of the epilogue, for exact integer sums. */
	static const struct fast_class *const scaled[] = {
		&fast_gemv, &fast_gemm, &fast_grouped, NULL
	};
	/* A is rounded, to bytes unless bf16 is permitted. */
	static const struct fast_class *const rounded[] = {
		&fast_grouped_bf16, &fast_grouped, NULL
	};
	static const struct fast_class *const experts[] = { &fast_experts, NULL };

	switch (op->opcode) {
	case UMA_OP_COPY:
		return copy;
	case UMA_OP_FILL:
		return fill;
	case UMA_OP_UNARY:
	case UMA_OP_BINARY:
	case UMA_OP_SELECT:
		return map;
	case UMA_OP_GATHER:
		return gather;
	case UMA_OP_KV_WRITE:
		return kv_write;
	case UMA_OP_NORM:
		return norm;
	case UMA_OP_PACK:
		return pack;
	case UMA_OP_POOL:
		return pool;
	case UMA_OP_REDUCE:
		return reduce;
	case UMA_OP_RESIZE:
		return resize;
	case UMA_OP_ROTARY:
		return rotary;
	case UMA_OP_SCAN:
		return scan;
	case UMA_OP_SOFTMAX:
		return softmax;
	case UMA_OP_TOPK:
		return topk;
	case UMA_OP_DYNQUANT:
		return dynquant;
	case UMA_OP_GEMM:
		return op->experts ? experts : op->a_group ? rounded :
		       fast_epi_rows(op) ? scaled : gemm;
	case UMA_OP_ATTENTION:
		return attention;
	case UMA_OP_CONV:
		return conv;
	default:
		return none;
	}
}

static bool add_range(struct fast_prog *p, uint32_t slot, uint32_t table, uint64_t lo,
		      uint64_t bytes, bool write)
{
	if (!bytes)
		return true;
	if (p->range_count == FAST_MAX_RANGES)
		return false;
	p->ranges[p->range_count++] = (struct fast_range){
		.lo = lo, .bytes = bytes, .slot = (uint8_t)slot, .table = (uint8_t)table,
		.write = write,
	};
	p->bytes += bytes;
	return true;
}

static bool add_operand(struct fast_prog *p, uint32_t slot)
{
	const struct uma_tensor_view *t = &p->op->t[slot];
	const bool write = uma_op_class(p->op->opcode)->outputs >> slot & 1;
	__u64 lo, hi, entries;

	if (t->layout != UMA_LAYOUT_STRIDED) {
		if (p->packed)
			return false;
		/* A result has no header yet. */
		p->packed = write ? NULL : fast_ptr(t);
		uma_packed_header_make(t, p->program->engine, p->cap, &p->header);
		lo = t->addr;
		hi = lo + uma_packed_size(t, t->layout, uma_le16(p->cap->block_k),
					  uma_le16(p->cap->block_n));
	} else if (uma_tensor_range(t, &lo, &hi)) {
		return false;
	}
	if (!add_range(p, slot, 0, lo, hi - lo, write) || uma_table_ranges(t, &entries))
		return false;
	return add_range(p, slot, 1, t->scale_addr,
			 entries * (uma_dtype_bits(t->scale_dtype) / 8), false) &&
	       add_range(p, slot, 2, t->zero_addr, t->zero_addr ? entries * 4 : 0, false) &&
	       add_range(p, slot, 2, t->min_addr, t->min_addr ? entries *
			 (uma_dtype_bits(t->scale_dtype) / 8) : 0, false);
}

static bool add_operands(struct fast_prog *p)
{
	uint32_t s;

	for (s = 0; s < UMA_TASK_SLOTS; s++)
		if (uma_has(p->op, s) && !add_operand(p, s))
			return false;
	return true;
}

static void clear(struct fast_prog *p, const struct uma_program *program,
		  const struct fast_cpu *cpu)
{
	const char *why = p->why;

	memset(p, 0, sizeof(*p));
	p->why = why;
	p->program = program;
	p->op = &program->op;
	p->cap = &program->engine->caps[program->row];
	p->cpu = cpu;
	p->rows = program->kernels;
}

void fast_prepare(struct fast_prog *p, const struct uma_program *program,
		  const struct fast_cpu *cpu, const struct fast_hint *hint)
{
	const struct fast_class *const *class;

	p->class = NULL;
	p->why = "the model alone runs at this level of kernels";
	if (!cpu->isa)
		return;
	p->why = uma_tensor_empty(&program->op.t[UMA_SLOT_DST]) ? "there are no elements" :
		 *classes_of(&program->op) ?
		 "no kernel has these types, strides and functions together" :
		 "there is no kernel for the operation";
	for (class = classes_of(&program->op); *class; class++) {
		clear(p, program, cpu);
		if (hint)
			p->hint = *hint;
		/* Not built for this processor, see classes_none.c. */
		if (!(*class)->prepare || !(*class)->prepare(p))
			continue;
		if (p->hint.threads)
			p->max_threads = p->hint.threads;
		if (add_operands(p))
			p->class = *class;
		else
			p->why = "two operands are packed, or addresses wrap";
		return;
	}
}

int fast_whole_model(const struct fast_run *r)
{
	struct uma_program program = *r->prog->program;

	/* The program of an operation with packed operands has not been prepared. */
	if (uma_prepare(&program, &r->prog->program->op, program.engine, program.kernels,
			UMA_STEP_WORK_UNBOUND, r->mem, r->fault))
		return -1;
	return uma_run(&program, r->mem, r->rows_scratch, r->fault);
}

bool fast_zeros_near(const struct uma_tensor_view *t, uint32_t n)
{
	const int32_t *zero = (const int32_t *)(uintptr_t)t->zero_addr;
	const int32_t least = uma_wide_dtype(t->dtype) == UMA_DTYPE_S8 ? -128 : 0;
	uint32_t i, far = 0;

	for (i = 0; i < n; i++)
		far |= (uint32_t)zero[i] - (uint32_t)least > 255;
	return !far;
}

bool fast_prepare_part(struct fast_prog *p, const struct uma_program *program,
		       const struct fast_prog *whole, uint32_t phases, uint64_t work_bytes)
{
	const struct fast_class *const *class;

	p->why = NULL;
	for (class = classes_of(&program->op); *class; class++) {
		clear(p, program, whole->cpu);
		/*
		 * How to divide the work is specific to the whole operation, but flags affect
		 * results.
		 */
		p->hint.flags = whole->hint.flags;
		if (!(*class)->prepare || !(*class)->prepare(p) || p->phase_count > phases ||
		    p->work_bytes > work_bytes)
			continue;
		p->class = *class;
		return true;
	}
	return false;
}

void fast_shift(struct fast_prog *p, uint32_t slot, uint32_t table, uint64_t by)
{
	uint32_t i;

	if (!table && p->op->t[slot].layout != UMA_LAYOUT_STRIDED)
		p->packed = (const uint8_t *)p->packed + by;
	for (i = 0; i < p->range_count; i++)
		if (p->ranges[i].slot == slot && p->ranges[i].table == table)
			p->ranges[i].lo += by;
}

uint32_t fast_row_hints(struct fast_hint *out, uint32_t max, uint32_t least, uint64_t rows)
{
	uint32_t n = 0, mt;

	for (mt = least; mt < rows && mt <= UINT16_MAX && n < max; mt *= 2)
		out[n++] = (struct fast_hint){ .mt = (uint16_t)mt };
	return n;
}

bool fast_bound(const struct fast_prog *p, struct uma_mem *mem)
{
	struct uma_fault_info fault = { 0 };
	struct uma_run run = {
		.prog = p->program,
		.k = p->rows,
		.mem = mem,
		.fault = &fault,
	};
	uint32_t i;

	for (i = 0; i < p->range_count; i++) {
		const struct fast_range *r = &p->ranges[i];

		if (!uma_map_span(&run, r->lo, r->bytes,
				  r->write ? UMA_ACCESS_WRITE : UMA_ACCESS_READ))
			return false;
	}
	return true;
}

static uint32_t cache_or(int level, uint32_t otherwise)
{
	const long size = cache_size(level);

	return size && size <= 1l << 31 ? (uint32_t)size : otherwise;
}

void fast_cpu_init(struct fast_cpu *cpu, uint32_t isa, uint32_t threads)
{
	cpu->isa = isa;
	cpu->threads = threads;
	cpu->l1d = cache_or(1, DEFAULT_L1D);
	cpu->l2 = cache_or(2, DEFAULT_L2);
	cpu->l3 = cache_or(3, DEFAULT_L3);
}

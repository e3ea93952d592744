/* SPDX-License-Identifier: MIT */
/*
 * Tuned kernels for whole operations, for the in-process device.
 *
 * The model divides a task into small steps and accesses memory through callbacks, so that it
 * can run anywhere. In process every operand is a pointer and the time of a step is not
 * limited: a class takes an operation as a whole, divides it to suit caches and registers, and
 * writes the result. The model runs operations that no class takes, and those with memory that
 * is not bound as required, which includes reporting the fault.
 *
 * All code here works on operations that uma_task_decode() and uma_op_check() have accepted:
 * shapes match, ranges do not wrap, outputs overlap inputs only where the operation allows it.
 * Contents of memory, such as lengths and indices, have not been checked.
 */
#ifndef LIBACCEL_SW_FAST_H
#define LIBACCEL_SW_FAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "driver/model/uma_rows.h"
#include "libaccel/plan/hint.h"

/* Instruction sets; a kernel level is a set of them */
#define FAST_AVX2		(1u << 0)	/* with FMA and F16C */
#define FAST_AVX512		(1u << 1)	/* F, BW, DQ, VL */
#define FAST_VNNI		(1u << 2)	/* AVX512_VNNI */
#define FAST_BF16		(1u << 3)	/* AVX512_BF16 */
#define FAST_FP16		(1u << 4)	/* AVX512_FP16 */
#define FAST_AMX_INT8		(1u << 5)
#define FAST_AMX_BF16		(1u << 6)
#define FAST_AVXVNNI		(1u << 7)	/* 256 bits */
#define FAST_NEON		(1u << 8)
#define FAST_DOTPROD		(1u << 9)	/* SDOT, UDOT */

/** FAST_MAX_PHASES: maximum number of phases of an operation */
#define FAST_MAX_PHASES		8
/** FAST_SCRATCH: bytes of scratch memory of a thread for a tile */
#define FAST_SCRATCH		(1792u * 1024u)

/**
 * struct fast_cpu - resources of a device's kernels
 * @isa: FAST_*; classes never query the CPU, because tests select levels
 * @threads: threads that run tiles
 * @l1d: bytes of first-level data cache of a core
 * @l2: bytes of second-level cache of a core
 * @l3: bytes of the shared last-level cache
 */
struct fast_cpu {
	uint32_t isa;
	uint32_t threads;
	uint32_t l1d;
	uint32_t l2;
	uint32_t l3;
};

struct fast_class;

/** FAST_MAX_RANGES: maximum number of ranges: operands and their tables */
#define FAST_MAX_RANGES		(3 * UMA_TASK_SLOTS)

/**
 * struct fast_range - memory that a run reads or writes
 * @lo: first byte
 * @bytes: size
 * @slot: operand that it belongs to
 * @table: 0: the operand itself, 1: its scales, 2: its zero points or minima
 * @write: it is written
 */
struct fast_range {
	uint64_t lo;
	uint64_t bytes;
	uint8_t slot;
	uint8_t table;
	bool write;
};

/**
 * struct fast_prog - an operation prepared by a class
 * @class: class, NULL: none
 * @why: reason if there is none, one clause
 * @program: the model's program of the operation; used with the model's row functions for parts
 *	that a class does not vectorise or rejects at run time
 * @op: the operation, @program's
 * @cap: capability row: block_k and block_n of packed operands
 * @cpu: available resources
 * @rows: the model's row kernels for this CPU
 * @hint: how to divide the operation, or zeros
 * @phase_count: number of phases; a phase starts when the last tile of the previous one has
 *	ended
 * @max_threads: maximum useful number of threads, 0: no limit
 * @tiles: tiles of each phase, which run in any order and in parallel
 * @work_bytes: memory shared by the threads of a run, from one phase to the next
 * @ns: estimated time of a single thread, if the task's work and @bytes do not give it; 0: they
 *	do
 * @bytes: bytes that a run accesses
 * @range_count: entries of @ranges
 * @ranges: memory that a run accesses
 * @priv: the class's data
 * @packed: the packed operand, NULL: none
 * @header: the header that it must have
 *
 * Read-only while tiles run; several runs may be in flight.
 */
struct fast_prog {
	const struct fast_class *class;
	const char *why;
	const struct uma_program *program;
	const struct uma_op *op;
	const struct uma_op_cap *cap;
	const struct fast_cpu *cpu;
	const struct uma_kernels *rows;
	struct fast_hint hint;
	uint32_t phase_count;
	uint32_t max_threads;
	uint32_t tiles[FAST_MAX_PHASES];
	uint64_t work_bytes;
	uint64_t ns;
	uint64_t bytes;
	uint32_t range_count;
	struct fast_range ranges[FAST_MAX_RANGES];
	uint64_t priv[64];
	const void *packed;
	struct uma_packed_header header;
};

/**
 * struct fast_run - a thread of a run
 * @prog: operation
 * @scratch: FAST_SCRATCH bytes of this thread, 64-byte aligned; contents are not kept from one
 *	tile to the next
 * @rows_scratch: UMA_SCRATCH_SIZE bytes for the model's row functions
 * @work: @prog's work_bytes, 64-byte aligned, not cleared
 * @mem: memory access for the model's row functions
 * @fault: receives a fault
 */
struct fast_run {
	const struct fast_prog *prog;
	void *scratch;
	void *rows_scratch;
	void *work;
	struct uma_mem *mem;
	struct uma_fault_info *fault;
};

/** struct fast_class - a kind of kernel for whole operations */
struct fast_class {
	/** @name: for accel_plan_explain() */
	const char *name;
	/**
	 * @prepare: accept an operation and set phase_count, tiles, work_bytes, max_threads, ns
	 *	and priv, or decline it, with the reason if no other class supports such
	 *	operations. Does not read operands. Returns 1: accepted
	 */
	int (*prepare)(struct fast_prog *p);
	/**
	 * @moved: addresses in @op have changed, each by a multiple of 64 bytes: update @priv.
	 *	NULL: it has no addresses
	 */
	void (*moved)(struct fast_prog *p);
	/** @tile: run a tile. Returns 0, or -1 with the fault set */
	int (*tile)(const struct fast_run *r, uint32_t phase, uint32_t tile);
	/**
	 * @candidates: hints to measure for an operation that prepare() accepted, without the
	 *	default; NULL: none. Returns their number
	 */
	uint32_t (*candidates)(const struct fast_prog *p, struct fast_hint *out,
			       uint32_t max);
};

/**
 * fast_prepare - find a class for an operation
 * @p: out; the class is NULL if there is none
 * @program: at least op, engine, kernels and row are set; outlives @p
 * @cpu: outlives @p
 * @hint: or NULL
 */
void fast_prepare(struct fast_prog *p, const struct uma_program *program,
		  const struct fast_cpu *cpu, const struct fast_hint *hint);

/**
 * fast_prepare_part - find a class for a part of an operation, within a tile
 * @p: out, if there is a class; without ranges, which are those of the operation
 * @program: as of fast_prepare()
 * @whole: the operation
 * @phases: maximum number of phases
 * @work_bytes: maximum memory from one phase to the next
 *
 * Return: true: there is a class.
 */
bool fast_prepare_part(struct fast_prog *p, const struct uma_program *program,
		       const struct fast_prog *whole, uint32_t phases, uint64_t work_bytes);

/*
 * Must the bits of a row not depend on the number of rows? If so, classes that sum in another
 * order for few or for many rows decline the operation.
 */
static inline bool fast_reproducible(const struct fast_prog *p)
{
	return p->hint.flags & FAST_HINT_REPRODUCIBLE;
}

/* Reasons used by several classes */
#define FAST_NO_FORM	"an operand or a function is of a kind that has no kernel"
#define FAST_NOT_NEAR	"elements along a line are not side by side"
#define FAST_TOO_LONG	"lines are longer than the memory of a thread"

/* Decline an operation: a static clause gives the reason. Returns 0. */
static inline int fast_leave(struct fast_prog *p, const char *why)
{
	p->why = why;
	return 0;
}

/**
 * fast_shift - change the address of an operand, or of one of its tables
 * @p: has a class
 * @slot: operand
 * @table: as of &struct fast_range
 * @by: bytes from the old address to the new one, a multiple of 64
 *
 * Call fast_moved() after all changes.
 */
void fast_shift(struct fast_prog *p, uint32_t slot, uint32_t table, uint64_t by);

static inline void fast_moved(struct fast_prog *p)
{
	if (p->class->moved)
		p->class->moved(p);
}

/**
 * fast_row_hints - candidates of a class whose tiles are rows
 * @out: hints with the number of rows of a tile, each twice the previous one
 * @max: size of @out
 * @least: rows of the first
 * @rows: upper limit, exclusive
 *
 * Return: number of hints.
 */
uint32_t fast_row_hints(struct fast_hint *out, uint32_t max, uint32_t least, uint64_t rows);

/**
 * fast_bound - is all memory bound that a run accesses?
 * @p: has a class
 * @mem: memory access of this thread
 *
 * Return: false: the model must run it, and reports a fault if there is one.
 */
bool fast_bound(const struct fast_prog *p, struct uma_mem *mem);

/**
 * fast_packed - was the packed operand, if any, packed for this engine and shape?
 * @p: has a class, and everything is bound
 *
 * Return: as fast_bound().
 */
static inline bool fast_packed(const struct fast_prog *p)
{
	return !p->packed || !memcmp(p->packed, &p->header, sizeof(p->header));
}

/**
 * fast_cpu_init - describe this machine
 * @cpu: out
 * @isa: FAST_* of the level
 * @threads: threads of the device
 */
void fast_cpu_init(struct fast_cpu *cpu, uint32_t isa, uint32_t threads);

/* The first element of an operand; device addresses are those of the process. */
static inline void *fast_ptr(const struct uma_tensor_view *t)
{
	return (void *)(uintptr_t)t->addr;
}

/* Bytes of @count elements of a type of whole bytes. */
static inline int64_t fast_bytes(uint32_t dtype, int64_t count)
{
	return count * (int64_t)(uma_dtype_bits(dtype) / 8);
}

/* Arguments for the model's row functions. */
static inline struct uma_run fast_model_run(const struct fast_run *r)
{
	return (struct uma_run){
		.prog = r->prog->program,
		.k = r->prog->rows,
		.mem = r->mem,
		.fault = r->fault,
		.scratch = r->rows_scratch,
	};
}

/**
 * fast_whole_model - have the model run a whole operation, on this thread
 * @r: run of a tile
 *
 * For operations that a class can only reject after reading memory; it must not have written
 * anything.
 *
 * Return: 0, or -1 with the fault set.
 */
int fast_whole_model(const struct fast_run *r);

/**
 * fast_zeros_near - are all zero points in a table in the range of a byte?
 * @t: integers, with a zero point for each column or channel
 * @n: entries of the table
 *
 * If not, 32 bits are too few for sums of products, and the model has to run the operation.
 */
bool fast_zeros_near(const struct uma_tensor_view *t, uint32_t n);

#endif /* LIBACCEL_SW_FAST_H */

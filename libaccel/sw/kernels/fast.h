/* SPDX-License-Identifier: MIT */
/*
 * Whole operations at the speed of the machine, for the in-process device.
 *
 * The model cuts a task into small steps and reaches memory through an accessor,
 * so that it can run anywhere. In process every operand is a pointer and nothing
 * is bounded: a class takes an operation as a whole, cuts it as its caches and
 * registers want it, and writes the result. What no class takes, and what is
 * not bound as it should be, the model runs, faults included.
 *
 * Everything here works on operations that uma_task_decode() and uma_op_check()
 * have passed: shapes fit each other, ranges do not wrap, outputs overlap no
 * input but where the operation allows it. What stands in memory, lengths and
 * indices, nobody has looked at.
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

/** FAST_MAX_PHASES: most phases of an operation */
#define FAST_MAX_PHASES		8
/** FAST_SCRATCH: bytes of scratch memory that a thread has for a tile */
#define FAST_SCRATCH		(1792u * 1024u)

/**
 * struct fast_cpu - what a device's kernels may use
 * @isa: FAST_*, never asked of the CPU itself: levels are forced by tests
 * @threads: threads that run tiles
 * @l1d: bytes of first-level data cache of a core
 * @l2: bytes of second-level cache of a core
 * @l3: bytes of the last level, shared
 */
struct fast_cpu {
	uint32_t isa;
	uint32_t threads;
	uint32_t l1d;
	uint32_t l2;
	uint32_t l3;
};

struct fast_class;

/** FAST_MAX_RANGES: operands and their tables */
#define FAST_MAX_RANGES		(3 * UMA_TASK_SLOTS)

/**
 * struct fast_range - memory that a run reads or writes
 * @lo: first byte
 * @bytes: number
 * @slot: operand that it belongs to
 * @table: of its tables 1 the scales, 2 the zero points; 0: the operand itself
 * @write: is written
 */
struct fast_range {
	uint64_t lo;
	uint64_t bytes;
	uint8_t slot;
	uint8_t table;
	bool write;
};

/**
 * struct fast_prog - an operation that a class has taken
 * @class: class, NULL: none did
 * @why: then a reason, one clause
 * @program: the model's program of the operation; what the class declines at run
 *	time or has not vectorised goes through the model's rows with it
 * @op: the operation, @program's
 * @cap: capability row: block_k and block_n of packed operands
 * @cpu: what may be used
 * @rows: the model's row kernels for this CPU
 * @hint: how to cut, or zeros
 * @phase_count: phases; one starts when the last tile of the one before has ended
 * @max_threads: threads that are worth it, 0: as many as there are
 * @tiles: tiles of each phase, which run in any order and at the same time
 * @work_bytes: memory shared by the threads of a run, from one phase to the next
 * @ns: about how long one thread takes for all of it, if that does not follow from the
 *	task's work and @bytes; 0: it does
 * @bytes: how much a run touches
 * @range_count: entries of @ranges
 * @ranges: what a run touches
 * @priv: the class's own
 * @packed: the packed operand, NULL: none is
 * @header: what it has to begin with
 *
 * Read-only while tiles run; several runs of one may be on the way.
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
 * struct fast_run - a thread in a run
 * @prog: what is run
 * @scratch: FAST_SCRATCH bytes of this thread, 64-byte aligned; nothing of a tile
 *	is left for the next one
 * @rows_scratch: UMA_SCRATCH_SIZE bytes for the model's functions of rows
 * @work: @prog's work_bytes, 64-byte aligned, not cleared
 * @mem: accessor for the model's functions of rows
 * @fault: where to report
 */
struct fast_run {
	const struct fast_prog *prog;
	void *scratch;
	void *rows_scratch;
	void *work;
	struct uma_mem *mem;
	struct uma_fault_info *fault;
};

/**
 * struct fast_class - a way to run operations
 */
struct fast_class {
	/** @name: for people: accel_plan_explain() */
	const char *name;
	/**
	 * @prepare: take an operation and set phase_count, tiles, work_bytes,
	 * max_threads, ns and priv, or leave it; where no other class has operations
	 * like it, with the reason. Reads no operand. Returns 1: taken
	 */
	int (*prepare)(struct fast_prog *p);
	/**
	 * @moved: operands have other addresses in @op, each a multiple of 64 bytes
	 * from where it was: adapt @priv. NULL: there are no addresses in it
	 */
	void (*moved)(struct fast_prog *p);
	/** @tile: run a tile. Returns 0, or -1 with the fault set */
	int (*tile)(const struct fast_run *r, uint32_t phase, uint32_t tile);
	/**
	 * @candidates: hints worth measuring for an operation that prepare() took,
	 * the default not among them; NULL: none. Returns their number
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
 * fast_prepare_part - find a class for a part of an operation, in a tile of that
 * @p: out, if there is one; what it touches is the operation's business
 * @program: as of fast_prepare()
 * @whole: the operation
 * @phases: most phases
 * @work_bytes: most memory from one phase to the next
 *
 * Return: true: there is a class.
 */
bool fast_prepare_part(struct fast_prog *p, const struct uma_program *program,
		       const struct fast_prog *whole, uint32_t phases, uint64_t work_bytes);

/*
 * Must bits of a row be the same however many rows there are? Then what adds up in another
 * order for few rows, or for many, leaves the operation to what takes any number.
 */
static inline bool fast_reproducible(const struct fast_prog *p)
{
	return p->hint.flags & FAST_HINT_REPRODUCIBLE;
}

/* Reasons that several classes have */
#define FAST_NO_FORM	"an operand or a function is of a kind that has no kernel"
#define FAST_NOT_NEAR	"elements along a line are not side by side"
#define FAST_TOO_LONG	"lines are longer than the memory of a thread"

/* Leave an operation: a static clause says why. Returns 0. */
static inline int fast_leave(struct fast_prog *p, const char *why)
{
	p->why = why;
	return 0;
}

/**
 * fast_shift - an operand, or a table of it, has another address in the operation
 * @p: has a class
 * @slot: operand
 * @table: as of &struct fast_range
 * @by: bytes from the old address to the new one, a multiple of 64
 *
 * When all have moved the class wants to know: fast_moved().
 */
void fast_shift(struct fast_prog *p, uint32_t slot, uint32_t table, uint64_t by);

static inline void fast_moved(struct fast_prog *p)
{
	if (p->class->moved)
		p->class->moved(p);
}

/**
 * fast_row_hints - candidates of a class whose tiles are rows
 * @out: hints with rows of a tile, one twice as many as the one before
 * @max: room in @out
 * @least: rows of the first
 * @rows: less than so many
 *
 * Return: number of hints.
 */
uint32_t fast_row_hints(struct fast_hint *out, uint32_t max, uint32_t least, uint64_t rows);

/**
 * fast_bound - is everything bound that a run touches?
 * @p: has a class
 * @mem: accessor of this thread
 *
 * Return: false: let the model run it, which finds the fault if there is one.
 */
bool fast_bound(const struct fast_prog *p, struct uma_mem *mem);

/**
 * fast_packed - is the packed operand, if there is one, for this engine and shape?
 * @p: has a class, and everything is bound
 *
 * Return: as fast_bound().
 */
static inline bool fast_packed(const struct fast_prog *p)
{
	return !p->packed || !memcmp(p->packed, &p->header, sizeof(p->header));
}

/**
 * fast_cpu_init - what this machine has
 * @cpu: out
 * @isa: FAST_* of the level
 * @threads: threads of the device
 */
void fast_cpu_init(struct fast_cpu *cpu, uint32_t isa, uint32_t threads);

/* The first element of an operand; device addresses are the process's own. */
static inline void *fast_ptr(const struct uma_tensor_view *t)
{
	return (void *)(uintptr_t)t->addr;
}

/* Bytes of @count elements of a type that has whole bytes. */
static inline int64_t fast_bytes(uint32_t dtype, int64_t count)
{
	return count * (int64_t)(uma_dtype_bits(dtype) / 8);
}

/* What the model's functions of rows ask for. */
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
 * For what only a look at memory shows that a class cannot do, before it has written anything.
 *
 * Return: 0, or -1 with the fault set.
 */
int fast_whole_model(const struct fast_run *r);

/**
 * fast_zeros_near - are the zero points in a table those that a byte may have?
 * @t: integers, with a zero point for each column or channel
 * @n: entries of the table
 *
 * Else 32 bits are too few for sums of products, and the model has to run the operation.
 */
bool fast_zeros_near(const struct uma_tensor_view *t, uint32_t n);

#endif /* LIBACCEL_SW_FAST_H */

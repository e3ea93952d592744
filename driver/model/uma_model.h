/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The model: what a task means.
 *
 * decode -> check -> prepare -> run. Freestanding C: no kernel header, no libc
 * header, no allocation, no global mutable state; the same objects are linked
 * into uma_emu.ko, into the in-process device and into the tests.
 *
 * A prepared task is a program: a few phases of independent tiles. All tiles of
 * a phase may run at once on different workers; a phase starts when the one
 * before has ended. A tile runs in steps of bounded work, with its accumulators
 * kept in the worker's scratch memory between them; a step is the unit of
 * abort, of invalidation, and of one floating-point section of a kernel.
 *
 * A tile has no effect other than on device memory, and no program writes memory
 * that uma_prepare() reads. So a task can be stopped between any two tiles, and
 * resumed later with uma_program_seek(), decoded and prepared again, even by
 * another worker. This holds for every operation: the lines of sums, scans and
 * norms are never split between tiles; a phase passes its results to the next in
 * an operand; an input that may also be the result is read by the tile that
 * overwrites it. test_resume checks every operation.
 */
#ifndef _UMA_MODEL_H_
#define _UMA_MODEL_H_

#include "uma_task.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* --- faults --------------------------------------------------------------- */

/**
 * struct uma_fault_info - reason and location of a fault
 * @reason: &enum uma_fault
 * @slot: &enum uma_slot or UMA_FAULT_NO_SLOT
 * @addr: device address of a fault on an address, else 0
 * @field: name of the descriptor's field at fault, static string, never NULL
 *	after a fault
 */
struct uma_fault_info {
	__u32 reason;
	__u32 slot;
	__u64 addr;
	const char *field;
};

/**
 * uma_fault_name - name of a fault reason, for messages
 * @reason: &enum uma_fault
 *
 * Return: a static string, "unknown" for a value out of range.
 */
const char *uma_fault_name(__u32 reason);

/* --- memory --------------------------------------------------------------- */

/**
 * enum uma_access - direction of a memory access
 * @UMA_ACCESS_READ: the task reads
 * @UMA_ACCESS_WRITE: the task writes
 */
enum uma_access {
	UMA_ACCESS_READ = 0,
	UMA_ACCESS_WRITE = 1
};

struct uma_mem;

/**
 * struct uma_mem_ops - access to device memory, implemented by users of the model
 */
struct uma_mem_ops {
	/**
	 * @map: translate an address
	 *
	 * @len is in: number of bytes wanted, at least 1, out: number of bytes
	 * from @addr on that the returned pointer gives access to, at least 1
	 * and at most those wanted. The pointer is valid until the end of the
	 * current step. On a fault returns NULL, with reason and addr of
	 * @mem->fault set. Never sleeps. Different workers call it with
	 * different @mem, so it needs no lock for state that belongs to @mem.
	 */
	void *(*map)(struct uma_mem *mem, __u64 addr, __u64 *len,
		     enum uma_access access);
};

/**
 * struct uma_mem - one worker's view of an address space
 * @ops: access to memory
 * @fault: set when @map fails
 * @read_bytes: number of bytes read, counted by the model
 * @write_bytes: number of bytes written, counted by the model
 *
 * Users of the model embed it in the state of their @map.
 */
struct uma_mem {
	const struct uma_mem_ops *ops;
	struct uma_fault_info fault;
	__u64 read_bytes;
	__u64 write_bytes;
};

/* --- engines and chips ---------------------------------------------------- */

/**
 * struct uma_engine_desc - one engine of a chip
 * @engine_class: &enum uma_engine_class
 * @instance: index within the class
 * @flags: UMA_ENGINE_*
 * @node: memory node
 * @clock_max_mhz: highest clock
 * @clock_min_mhz: lowest clock
 * @max_job_tasks: largest number of tasks in a job
 * @power_mw: modelled power at full clock and load
 * @cap_count: number of rows in @caps
 * @caps: capabilities, little-endian as in the registers
 */
struct uma_engine_desc {
	__u32 engine_class;
	__u32 instance;
	__u32 flags;
	__u32 node;
	__u32 clock_max_mhz;
	__u32 clock_min_mhz;
	__u32 max_job_tasks;
	__u32 power_mw;
	__u32 cap_count;
	const struct uma_op_cap *caps;
};

/** UMA_PROFILE_MAX_ENGINES: most engines of a profile */
#define UMA_PROFILE_MAX_ENGINES	24
/** UMA_PROFILE_MAX_NODES: most memory nodes of a profile */
#define UMA_PROFILE_MAX_NODES	4

/**
 * struct uma_profile - a chip
 * @name: "m1", "m2", "m3", "ultra", "full"
 * @engine_count: number of @engines
 * @node_count: number of memory nodes
 * @node_bandwidth_mbs: peak bandwidth of each node, 10^6 bytes per second
 * @idle_mw: modelled power when idle
 * @temp_max_mc: modelled throttling temperature, millidegrees Celsius
 * @engines: the engines, grouped by class
 */
struct uma_profile {
	const char *name;
	__u32 engine_count;
	__u32 node_count;
	__u32 node_bandwidth_mbs[UMA_PROFILE_MAX_NODES];
	__u32 idle_mw;
	__u32 temp_max_mc;
	struct uma_engine_desc engines[UMA_PROFILE_MAX_ENGINES];
};

/**
 * uma_profile_get - enumerate the chips
 * @index: from 0
 *
 * Return: a static profile, NULL past the last.
 */
const struct uma_profile *uma_profile_get(__u32 index);

/**
 * uma_profile_find - find a chip by its name
 * @name: NUL-terminated
 *
 * Return: a static profile, NULL if there is none.
 */
const struct uma_profile *uma_profile_find(const char *name);

/* --- decoded operations --------------------------------------------------- */

/**
 * struct uma_op_lines - parameters of SOFTMAX, NORM, REDUCE, SCAN, TOPK, DYNQUANT, KV_WRITE
 * @axes: mask of the dimensions of a line; KV_WRITE: none
 * @flags: flags of the opcode
 * @eps: NORM: binary32 bits
 */
struct uma_op_lines {
	__u32 axes;
	__u32 flags;
	__u32 eps;
};

/**
 * struct uma_tensor_view - a decoded operand, native byte order
 */
struct uma_tensor_view {
	/** @addr: device address */
	__u64 addr;
	/** @strides: in elements; 0 for an unused dimension */
	__s64 strides[UMA_MAX_RANK];
	/** @dims: in elements; 0 for an unused dimension */
	__u32 dims[UMA_MAX_RANK];
	/** @rank: number of dimensions, 0 if the slot is not in use */
	__u16 rank;
	/** @dtype: &enum uma_dtype */
	__u16 dtype;
	/** @layout: &enum uma_layout */
	__u16 layout;
	/** @quant: &enum uma_quant; UMA_QUANT_GROUP_MIN is stored as groups with @min_addr */
	__u16 quant;
	/** @quant_axis: dimension of the tables */
	__u16 quant_axis;
	/** @scale_dtype: type of the scale table */
	__u16 scale_dtype;
	/** @quant_group: number of indices that share a scale */
	__u32 quant_group;
	/** @quant_flags: UMA_QUANT_SHARED, UMA_QUANT_SWAPPED */
	__u32 quant_flags;
	/** @scale: immediate scale, binary32 bits */
	__u32 scale;
	/** @zero: immediate zero point */
	__s32 zero;
	/** @scale_addr: address of the table of scales */
	__u64 scale_addr;
	/** @zero_addr: address of the table of zero points, or 0 */
	__u64 zero_addr;
	/** @min_addr: address of the table of minima of UMA_QUANT_GROUP_MIN, or 0 */
	__u64 min_addr;
};

/**
 * struct uma_attention - parameters of UMA_OP_ATTENTION
 * @flags: UMA_ATTN_*
 * @scale: binary32 bits
 * @softcap: binary32 bits
 * @window_left: number of keys before its position that a query sees
 * @window_right: number of keys after its position that a query sees
 * @keep: number of first keys that the window does not mask
 * @q_offset: position of the first query
 * @q_max: ragged: upper bound of the queries of a sequence
 */
struct uma_attention {
	__u32 flags;
	__u32 scale;
	__u32 softcap;
	__u32 window_left;
	__u32 window_right;
	__u32 keep;
	__s32 q_offset;
	__u32 q_max;
};

/**
 * struct uma_rotary_op - decoded &struct uma_rotary_params
 * @flags: UMA_ROTARY_*
 * @start: position of the first row
 */
struct uma_rotary_op {
	__u32 flags;
	__u32 start;
};

/**
 * struct uma_gather_op - decoded &struct uma_gather_params without the function
 * @axis: dimension of A
 * @batch: number of dimensions that A and B share
 */
struct uma_gather_op {
	__u32 axis;
	__u32 batch;
};

/**
 * struct uma_scatter_op - decoded &struct uma_scatter_params without the function
 * @axis: dimension of DST
 * @reduce: &enum uma_scatter_reduce
 */
struct uma_scatter_op {
	__u32 axis;
	__u32 reduce;
};

/**
 * struct uma_pool_op - decoded &struct uma_pool_params without the function
 * @flags: UMA_POOL_*
 * @norm: exponent of an LP pool
 * @spatial: number of dimensions of a window
 * @kernel: number of positions in a window
 * @stride: stride of the windows
 * @dilation: distance between positions
 * @begin: padding before the first element
 * @end: padding after the last element
 */
struct uma_pool_op {
	__u32 flags;
	__u32 norm;
	__u32 spatial;
	__u32 kernel[UMA_POOL_SPATIAL];
	__u32 stride[UMA_POOL_SPATIAL];
	__u32 dilation[UMA_POOL_SPATIAL];
	__u32 begin[UMA_POOL_SPATIAL];
	__u32 end[UMA_POOL_SPATIAL];
};

/**
 * struct uma_resize_op - decoded &struct uma_resize_params without the function
 * @flags: UMA_RESIZE_*
 * @nearest: &enum uma_nearest
 * @cubic: binary32 bits
 * @num: numerators
 * @den: denominators
 * @off: offsets
 */
struct uma_resize_op {
	__u32 flags;
	__u32 nearest;
	__u32 cubic;
	__u32 num[UMA_MAX_RANK];
	__u32 den[UMA_MAX_RANK];
	__s64 off[UMA_MAX_RANK];
};

/**
 * struct uma_conv - decoded &struct uma_conv_params
 * @func: &enum uma_conv_func
 * @flags: UMA_CONV_*
 * @groups: number of groups of channels
 * @stride: stride of the windows
 * @dilation: distance between taps
 * @pad: number of zeros before the input
 */
struct uma_conv {
	__u32 func;
	__u32 flags;
	__u32 groups;
	__u32 stride[2];
	__u32 dilation[2];
	__u32 pad[2];
};

/**
 * union uma_op_params - decoded parameters of an operation
 */
union uma_op_params {
	/** @gather: UMA_OP_GATHER */
	struct uma_gather_op gather;
	/** @scatter: UMA_OP_SCATTER */
	struct uma_scatter_op scatter;
	/** @pool: UMA_OP_POOL */
	struct uma_pool_op pool;
	/** @resize: UMA_OP_RESIZE */
	struct uma_resize_op resize;
	/** @lines: SOFTMAX, NORM, REDUCE, SCAN, TOPK, DYNQUANT, KV_WRITE */
	struct uma_op_lines lines;
	/** @raw: to clear all of them before decoding */
	__u64 raw[24];
	/** @rotary: UMA_OP_ROTARY */
	struct uma_rotary_op rotary;
	/** @attention: UMA_OP_ATTENTION */
	struct uma_attention attention;
	/** @conv: UMA_OP_CONV */
	struct uma_conv conv;
};

/**
 * struct uma_op - a decoded task
 */
struct uma_op {
	/** @opcode: &enum uma_opcode */
	__u32 opcode;
	/** @flags: UMA_TASK_* */
	__u32 flags;
	/** @slots: mask of slots in use */
	__u32 slots;
	/** @func: &enum uma_unary or &enum uma_binary */
	__u32 func;
	/** @alpha: binary32 bits */
	__u32 alpha;
	/** @beta: binary32 bits */
	__u32 beta;
	/** @a_group: size along K of the groups of A that are rounded to bytes, or 0 */
	__u32 a_group;
	/** @experts: UMA_GEMM_EXPERTS: rows of A select matrices of B */
	__u32 experts;
	/** @bf16: UMA_GEMM_BF16: A and B may be rounded to bf16 instead of A to bytes */
	__u32 bf16;
	/** @headless: B is one of several packed matrices, whose header was checked before */
	__u32 headless;
	/** @value: fill value */
	__u32 value;
	/** @epi_flags: UMA_EPI_* */
	__u32 epi_flags;
	/** @act: &enum uma_act */
	__u32 act;
	/** @p0: binary32 bits */
	__u32 p0;
	/** @p1: binary32 bits */
	__u32 p1;
	/** @shape_addr: address of the dynamic dimensions */
	__u64 shape_addr;
	/** @length_dims: UMA_TASK_LENGTH: mask of each slot's dimensions that are dynamic */
	__u8 length_dims[UMA_TASK_SLOTS];
	/** @u: parameters of the opcode */
	union uma_op_params u;
	/** @t: the operands */
	struct uma_tensor_view t[UMA_TASK_SLOTS];
};

/**
 * struct uma_dtype_block - the smallest addressable unit of a type
 * @shift: log2 of the number of its elements
 * @bytes: its size in bytes; 0 if there is no such type
 */
struct uma_dtype_block {
	__u32 shift;
	__u32 bytes;
};

struct uma_dtype_block uma_dtype_block(__u32 dtype);

/**
 * uma_dtype_bits - width of an element
 * @dtype: &enum uma_dtype
 *
 * Return: bits, 0 for a value out of range and for types of blocks, whose
 * elements are not stored separately.
 */
__u32 uma_dtype_bits(__u32 dtype);

/**
 * uma_tensor_range - smallest byte range that holds every element
 * @t: operand
 * @lo: out: first byte
 * @hi: out: one past the last byte; @lo for a tensor without elements
 *
 * Return: 0, or -1 if it wraps or leaves 48 bits.
 */
int uma_tensor_range(const struct uma_tensor_view *t, __u64 *lo, __u64 *hi);

/**
 * uma_packed_size - size of a packed operand in bytes, with its header
 * @t: logical operand: dtype, rank and dims
 * @layout: &enum uma_layout
 * @block_k: block size along K of the engine's capability row
 * @block_n: block size along N of the engine's capability row
 *
 * Return: bytes, 0 if the operand cannot have this layout.
 */
__u64 uma_packed_size(const struct uma_tensor_view *t, __u32 layout,
		      __u32 block_k, __u32 block_n);

/**
 * uma_task_decode - validate a descriptor and convert it to native form
 * @task: descriptor, in memory that nobody else writes
 * @op: out
 * @fault: out: set on failure
 *
 * Checks everything that does not depend on an engine: version, unknown bits,
 * pads, slots, types, shapes, strides, quantisation, alignment, ranges,
 * overlap. Bounded time; reads nothing but @task.
 *
 * Return: 0, or -1 with @fault set.
 */
int uma_task_decode(const struct uma_task *task, struct uma_op *op,
		    struct uma_fault_info *fault);

/**
 * uma_op_check - check that an engine can execute a task
 * @op: decoded task
 * @engine: engine
 * @fault: out: set on failure; the field is the first that no row allows
 *
 * Return: the index of the capability row, or -1 with @fault set.
 */
int uma_op_check(const struct uma_op *op, const struct uma_engine_desc *engine,
		 struct uma_fault_info *fault);

/** UMA_ELEMENT_WORK: multiply-adds that take as long as an element of another operation */
#define UMA_ELEMENT_WORK	16u

/**
 * uma_op_work - estimate the work of a whole task, to distribute tasks
 * @op: decoded task, with the largest values of dynamic dimensions
 *
 * Return: number of multiply-adds, or of an equivalent duration; saturates.
 */
__u64 uma_op_work(const struct uma_op *op);

/* --- execution ------------------------------------------------------------ */

struct uma_kernels;

/**
 * uma_kernels_portable - the reference kernels, portable C
 *
 * Return: a static table.
 */
const struct uma_kernels *uma_kernels_portable(void);

/** UMA_SCRATCH_SIZE: size of a worker's scratch memory in bytes; it is 64-byte aligned */
#define UMA_SCRATCH_SIZE	(256u * 1024u)

/** UMA_MAX_PHASES: largest number of phases of a program */
#define UMA_MAX_PHASES		4

/**
 * struct uma_program - a prepared task
 * @op: the operation, with dynamic dimensions resolved
 * @engine: engine that it was prepared for
 * @kernels: inner kernels
 * @row: capability row that it matched
 * @step_work: upper bound of the work of a step in multiply-adds, or elements
 * @phase_count: number of phases, 0 if there is nothing to do
 * @tiles: number of tiles of each phase
 * @macs: number of multiply-adds (GEMM) or elements of the whole task
 * @priv: private to the operation
 *
 * No pointers into itself; read-only while tiles run.
 */
struct uma_program {
	struct uma_op op;
	const struct uma_engine_desc *engine;
	const struct uma_kernels *kernels;
	__u32 row;
	__u32 step_work;
	__u32 phase_count;
	__u32 tiles[UMA_MAX_PHASES];
	__u64 macs;
	__u64 priv[48];
};

/** UMA_STEP_WORK_KERNEL: step bound that keeps a floating-point section near 50 us */
#define UMA_STEP_WORK_KERNEL	(128u * 1024u)
/** UMA_STEP_WORK_UNBOUND: no bound: a tile is one step */
#define UMA_STEP_WORK_UNBOUND	0xffffffffu

/**
 * uma_prepare - turn an operation into a program
 * @prog: out
 * @op: decoded task; may be that of @prog
 * @engine: engine that will run it; checked with uma_op_check()
 * @kernels: inner kernels
 * @step_work: bound of a step, UMA_STEP_WORK_*
 * @mem: memory to read dynamic dimensions and headers of packed operands from
 * @fault: out: set on failure
 *
 * Return: 0, or -1 with @fault set.
 */
int uma_prepare(struct uma_program *prog, const struct uma_op *op,
		const struct uma_engine_desc *engine,
		const struct uma_kernels *kernels, __u32 step_work,
		struct uma_mem *mem, struct uma_fault_info *fault);

/**
 * uma_program_seek - find the tile at which to resume a program
 * @prog: program, prepared again
 * @index: number of tiles that have been run, in all phases
 * @phase: out: phase of the next tile; phase_count if there is none
 * @tile: out: tile of that phase
 *
 * Return: 0, or -1 if the program does not have as many tiles. @index 0 is always
 * valid.
 */
int uma_program_seek(const struct uma_program *prog, __u64 index, __u32 *phase, __u32 *tile);

/**
 * uma_run_step - run one step of a tile
 * @prog: program
 * @phase: phase, below phase_count
 * @tile: tile, below tiles[phase]
 * @step: in: 0 for the first step; out: the next one
 * @mem: this worker's memory view
 * @scratch: this worker's scratch memory; must not be modified between the steps
 *	of a tile
 * @fault: out: set on failure
 *
 * Uses floating point. Never sleeps.
 *
 * Return: 1 there are more steps, 0 the tile is done, -1 with @fault set.
 */
int uma_run_step(const struct uma_program *prog, __u32 phase, __u32 tile,
		 __u32 *step, struct uma_mem *mem, void *scratch,
		 struct uma_fault_info *fault);

/**
 * uma_run - run a whole program on one worker
 * @prog: program
 * @mem: memory view
 * @scratch: scratch memory
 * @fault: out: set on failure
 *
 * Return: 0, or -1 with @fault set.
 */
int uma_run(const struct uma_program *prog, struct uma_mem *mem, void *scratch,
	    struct uma_fault_info *fault);

#if defined(__cplusplus)
}
#endif

#endif /* _UMA_MODEL_H_ */

/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Declarations that are internal to the model. Those that its users may include are
 * in uma_model.h, uma_op.h, uma_tensor.h, uma_rows.h, uma_kernels.h and
 * uma_conv.h.
 */
#ifndef _UMA_INTERNAL_H_
#define _UMA_INTERNAL_H_

#include "uma_op.h"
#include "uma_rows.h"

/* --- match.c -------------------------------------------------------------- */

int uma_match_dims(const struct uma_op *op, __u32 slot, __u32 count,
		   struct uma_fault_info *fault);
int uma_gemm_match(const struct uma_op *op, struct uma_fault_info *fault);
int uma_elementwise_match(const struct uma_op *op, struct uma_fault_info *fault);
int uma_fill_match(const struct uma_op *op, struct uma_fault_info *fault);
int uma_pack_match(const struct uma_op *op, struct uma_fault_info *fault);
int uma_op_match(const struct uma_op *op, struct uma_fault_info *fault);
int uma_op_overlap(const struct uma_op *op, struct uma_fault_info *fault);

/* --- walk.c ----------------------------------------------------------------- */

/**
 * struct uma_walk - an operand as rows along one of its dimensions
 * @rows: total number of rows
 * @cuts: number of rows that the dimension is divided into
 * @dims: dimensions
 * @rank: number of dimensions
 * @dim: dimension that rows go along
 * @row: elements of a row, except for the last row along the dimension
 * @tile_rows: number of rows of a tile
 * @step_rows: number of rows of a step
 */
struct uma_walk {
	__u64 rows;
	__u64 cuts;
	__u32 dims[UMA_MAX_RANK];
	__u32 rank;
	__u32 dim;
	__u32 row;
	__u32 tile_rows;
	__u32 step_rows;
};

__u32 uma_walk_dim(const struct uma_tensor_view *t);
int uma_walk_init(struct uma_walk *w, const __u32 *dims, __u32 rank, __u32 dim, __u32 row);
int uma_walk_tiles(struct uma_walk *w, __u64 unit, __u64 cost, __u32 step_work, __u32 *tiles);
__u64 uma_walk_step(const struct uma_walk *w, __u32 tile, __u32 *step, __u64 *stop, int *more);
__u32 uma_walk_row(const struct uma_walk *w, __u64 row, __u32 *idx);
struct uma_row uma_walk_at(const struct uma_walk *w, const struct uma_op *op, __u32 slot,
			   const __u32 *idx, __u32 n);
int uma_row_move(struct uma_run *run, const struct uma_row *from, const struct uma_row *to,
		 struct uma_rowbuf *buf, __u32 *x);

/* --- gather.c: index tables -------------------------------------------------- */

int uma_index_check(const struct uma_op *op, __u32 slot, struct uma_fault_info *fault);
int uma_index_row(struct uma_run *run, __u32 slot, __s64 off, __s64 stride, __u32 n, __u32 dim,
		  __u32 *at);

/* --- ops.c: the operations --------------------------------------------------- */

extern const struct uma_op_class uma_op_softmax;
extern const struct uma_op_class uma_op_norm;
extern const struct uma_op_class uma_op_reduce;
extern const struct uma_op_class uma_op_scan;
extern const struct uma_op_class uma_op_topk;
extern const struct uma_op_class uma_op_dynquant;
extern const struct uma_op_class uma_op_kv_write;
extern const struct uma_op_class uma_op_copy;
extern const struct uma_op_class uma_op_fill;
extern const struct uma_op_class uma_op_unary;
extern const struct uma_op_class uma_op_binary;
extern const struct uma_op_class uma_op_gemm;
extern const struct uma_op_class uma_op_pack;
extern const struct uma_op_class uma_op_pool;
extern const struct uma_op_class uma_op_resize;
extern const struct uma_op_class uma_op_gather;
extern const struct uma_op_class uma_op_scatter;
extern const struct uma_op_class uma_op_select;
extern const struct uma_op_class uma_op_rotary;

/* --- integer.c ------------------------------------------------------------ */

void uma_integer_binary(__u32 func, __u32 dtype, __s64 *dst, const __s32 *a,
			const __s32 *b, __u32 n);
void uma_integer_unary(__u32 func, __u32 dtype, __s64 *dst, const __s32 *a, __u32 n);
extern const struct uma_op_class uma_op_attention;
extern const struct uma_op_class uma_op_conv;

/* --- packed.c ------------------------------------------------------------- */

/** UMA_PACKED_K: largest number of indices of K that packed.c handles at once */
#define UMA_PACKED_K		16u
/** UMA_PACKED_N_MAX: largest width of a block */
#define UMA_PACKED_N_MAX	64u
/** UMA_PACKED_BLOCK_MAX: largest size of a block in bytes */
#define UMA_PACKED_BLOCK_MAX	256u

int uma_packed_blocks(const struct uma_tensor_view *t,
		      const struct uma_op_cap *cap);
int uma_packed_header_check(struct uma_run *run, __u32 slot,
			    const struct uma_op_cap *cap);
int uma_packed_rows(struct uma_run *run, __u32 slot,
		    const struct uma_op_cap *cap, __u64 batch, __u32 k,
		    __u32 kc, __u32 n, __u32 count, void *out, __u32 ld);
void uma_packed_fill(__u32 dtype, const struct uma_op_cap *cap, __u32 kc,
		     const void *rows, __u32 ld, void *block);

/* --- packed24.c ----------------------------------------------------------- */

/* Number of rows that are stored of a matrix of @k rows */
static inline __u64 uma_packed24_rows(__u32 k)
{
	return uma_roundup(k, 4) / 2;
}

/* Size of the positions of a panel in bytes, with padding */
static inline __u64 uma_packed24_positions(__u32 k, __u32 bn)
{
	return uma_roundup(uma_packed24_rows(k) / 2 * bn / 2, 64);
}

void uma_packed24_choose(__u32 dtype, const void *rows, __u32 bn, __u32 groups,
			 void *half, __u8 *positions);
__u64 uma_packed24_addr(const struct uma_tensor_view *t,
			const struct uma_op_cap *cap, __u64 batch, __u32 k, __u32 n);
int uma_packed24_read(struct uma_run *run, __u32 slot,
		      const struct uma_op_cap *cap, __u64 batch, __u32 k,
		      __u32 kc, __u32 n, __u32 count, void *out, __u32 ld);

/* --- gemm_load.c ---------------------------------------------------------- */

/** UMA_GEMM_MT: largest number of rows of a tile of the model's own loops */
#define UMA_GEMM_MT		96u
/** UMA_GEMM_NT: largest number of columns of such a tile */
#define UMA_GEMM_NT		128u
/** UMA_GEMM_KC: largest number of indices of K at once */
#define UMA_GEMM_KC		160u
/* Row strides; that of B is an odd number of cache lines, to avoid aliasing. */
#define UMA_GEMM_LDA_K		(UMA_GEMM_KC + 8)
#define UMA_GEMM_LDA_M		(UMA_GEMM_MT + 16)
#define UMA_GEMM_LDB		(UMA_GEMM_NT + 16)
/** UMA_GEMM_GROUPS: largest number of quantisation groups in UMA_GEMM_KC */
#define UMA_GEMM_GROUPS		(UMA_GEMM_KC / 16 + 1)

/**
 * struct uma_gemm_plan - a prepared GEMM, in the program
 */
struct uma_gemm_plan {
	/** @batches: number of matrices */
	__u64 batches;
	/** @m: number of rows */
	__u32 m;
	/** @n: number of columns */
	__u32 n;
	/** @k: length of the sums */
	__u32 k;
	/** @mt: number of rows of a tile */
	__u32 mt;
	/** @nt: number of columns of a tile */
	__u32 nt;
	/** @kc: number of indices of K in a step */
	__u32 kc;
	/** @mtiles: number of tiles along M */
	__u32 mtiles;
	/** @ntiles: number of tiles along N */
	__u32 ntiles;
	/** @ksteps: number of steps along K */
	__u32 ksteps;
	/** @erows: number of rows of an epilogue step */
	__u32 erows;
	/** @unbounded: a tile is one step */
	__u8 unbounded;
	/** @integer: products of 8-bit integers */
	__u8 integer;
	/** @exact: results are exact, in s32 */
	__u8 exact;
	/** @row_sums: B has zero points */
	__u8 row_sums;
	/** @col_sums: A has a zero point */
	__u8 col_sums;
	/** @plain: DST is binary32 in rows and there is no epilogue */
	__u8 plain;
};

/**
 * struct uma_gemm_scratch - a worker's scratch memory during a GEMM
 */
struct uma_gemm_scratch {
	/** @acc: accumulators, float or s32, UMA_GEMM_NT apart */
	__u32 acc[UMA_GEMM_MT * UMA_GEMM_NT];
	/** @row_sum: sums of the rows of A */
	__s64 row_sum[UMA_GEMM_MT];
	/** @col_sum: sums of the columns of B */
	__s64 col_sum[UMA_GEMM_NT];
	/** @a: block of A: floats or pairs of s16 */
	__u32 a[UMA_GEMM_KC * UMA_GEMM_LDA_M] __attribute__((aligned(64)));
	/** @b: block of B */
	__u32 b[UMA_GEMM_KC * UMA_GEMM_LDB] __attribute__((aligned(64)));
	/** @scale: scales of the block of B */
	__u32 scale[UMA_GEMM_GROUPS * UMA_GEMM_NT];
	/** @zero: zero points of the block of B */
	__s32 zero[UMA_GEMM_GROUPS * UMA_GEMM_NT];
	/** @raw: rows of B before conversion */
	__u32 raw[UMA_PACKED_K * UMA_GEMM_NT / 2];
	/** @row: a row of values */
	__u32 row[UMA_GEMM_NT];
	/** @row2: another row of values */
	__u32 row2[UMA_GEMM_NT];
	/** @wide: a row of sums */
	__s64 wide[UMA_GEMM_NT];
	/** @buf: temporary memory of row.c */
	struct uma_rowbuf buf;
	/** @prog: with UMA_GEMM_EXPERTS: the product of the tile's matrix */
	struct uma_program prog;
	/** @tile: current tile of @prog */
	__u32 tile;
};

/** UMA_GEMM_PARTS: largest number of pieces of a block of B */
#define UMA_GEMM_PARTS		(UMA_GEMM_NT / 8 + 1)

/**
 * struct uma_gemm_part - columns of a block of B that are contiguous in memory
 * @b: first row
 * @b_ks: row stride
 * @col: first column
 * @n: number of columns, a multiple of nr of the kernels
 */
struct uma_gemm_part {
	const void *b;
	__s64 b_ks;
	__u32 col;
	__u32 n;
};

/**
 * struct uma_gemm_ctx - the current tile
 */
struct uma_gemm_ctx {
	/** @run: the current step */
	struct uma_run *run;
	/** @plan: division of the task into tiles */
	const struct uma_gemm_plan *plan;
	/** @s: the worker's scratch memory */
	struct uma_gemm_scratch *s;
	/** @cap: the engine's capability row for this task */
	const struct uma_op_cap *cap;
	/** @batch: linear index of the matrix */
	__u64 batch;
	/** @idx: logical index of the matrix, the last two 0 */
	__u32 idx[UMA_MAX_RANK];
	/** @m0: first row */
	__u32 m0;
	/** @n0: first column */
	__u32 n0;
	/** @m: number of rows */
	__u32 m;
	/** @n: number of columns */
	__u32 n;
	/** @parts: pieces of the block of B */
	struct uma_gemm_part parts[UMA_GEMM_PARTS];
	/** @part_count: number of @parts */
	__u32 part_count;
};

_Static_assert(sizeof(struct uma_gemm_scratch) <= UMA_SCRATCH_SIZE, "scratch");
_Static_assert(sizeof(struct uma_gemm_plan) <=
	       sizeof(((struct uma_program *)0)->priv), "priv");

static inline const struct uma_tensor_view *
uma_gemm_view(const struct uma_gemm_ctx *c, __u32 slot)
{
	return &c->run->prog->op.t[slot];
}

const float *uma_block_in_place(struct uma_run *run, const struct uma_tensor_view *t,
				__s64 off, __u32 rows, __s64 row_stride, __u32 cols,
				__s64 col_stride);
int uma_gemm_load_a(struct uma_gemm_ctx *c, __u32 k0, __u32 kc,
		    struct uma_gemm_block *g);
int uma_gemm_load_b(struct uma_gemm_ctx *c, __u32 k0, __u32 kc);
__s64 uma_gemm_offset(const struct uma_gemm_ctx *c, __u32 slot, __u32 row,
		      __u32 col);

/* --- gemm_experts.c ------------------------------------------------------- */

int uma_experts_match(const struct uma_op *op, struct uma_fault_info *fault);
__u32 uma_experts_blocks(const struct uma_op *op, __u32 mtiles);
int uma_experts_open(struct uma_run *run, __u32 block, __u32 col);

#endif /* _UMA_INTERNAL_H_ */

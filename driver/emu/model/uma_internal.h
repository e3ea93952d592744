/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What the files of the model share and nobody else sees.
 */
#ifndef _UMA_INTERNAL_H_
#define _UMA_INTERNAL_H_

#include "uma_model.h"
#include "uma_kernels.h"

#ifdef __CHECKER__
#define UMA_FORCE	__attribute__((force))
#else
#define UMA_FORCE
#endif

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define UMA_LE16(x)	((UMA_FORCE __le16)(__u16)(x))
#define UMA_LE32(x)	((UMA_FORCE __le32)(__u32)(x))
#else
#error "rows and packed operands are used in place: little-endian only"
#endif

#define UMA_ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define UMA_MIN(a, b)		((a) < (b) ? (a) : (b))
#define UMA_MAX(a, b)		((a) > (b) ? (a) : (b))

static inline __u32 uma_le16(__le16 v)
{
	return (UMA_FORCE __u16)v;
}

static inline __u32 uma_le32(__le32 v)
{
	return (UMA_FORCE __u32)v;
}

static inline __u64 uma_le64(__le64 v)
{
	return (UMA_FORCE __u64)v;
}

static inline __u64 uma_roundup(__u64 v, __u32 to)
{
	return (v + to - 1) / to * to;
}

/* @by is never 0. */
static inline __u64 uma_divup(__u64 v, __u64 by)
{
	return v / by + (v % by != 0);
}

static inline int uma_is_float(__u32 dtype)
{
	return dtype >= UMA_DTYPE_F32 && dtype <= UMA_DTYPE_BF16;
}

static inline int uma_is_int8(__u32 dtype)
{
	return dtype == UMA_DTYPE_S8 || dtype == UMA_DTYPE_U8;
}

static inline int uma_is_int4(__u32 dtype)
{
	return dtype == UMA_DTYPE_S4 || dtype == UMA_DTYPE_U4;
}

/* Type of an element once it is out of memory: nibbles become bytes. */
static inline __u32 uma_wide_dtype(__u32 dtype)
{
	return dtype == UMA_DTYPE_S4 ? UMA_DTYPE_S8 :
	       dtype == UMA_DTYPE_U4 ? UMA_DTYPE_U8 : dtype;
}

/* Bytes of an element once it is out of memory. */
static inline __u32 uma_wide_size(__u32 dtype)
{
	return (uma_dtype_bits(uma_wide_dtype(dtype))) / 8;
}

static inline int uma_has(const struct uma_op *op, __u32 slot)
{
	return (op->slots >> slot) & 1;
}

static inline int uma_set_fault(struct uma_fault_info *fault, __u32 reason,
				__u32 slot, const char *field)
{
	fault->reason = reason;
	fault->slot = slot;
	fault->addr = 0;
	fault->field = field;
	return -1;
}

/* --- tensor.c ------------------------------------------------------------- */

/** UMA_ADDR_BITS: width of device addresses */
#define UMA_ADDR_BITS		48
#define UMA_ADDR_END		(1ULL << UMA_ADDR_BITS)
/** UMA_STRIDE_MAX: largest magnitude of a stride, in elements */
#define UMA_STRIDE_MAX		(1LL << 50)

int uma_dtype_limits(__u32 dtype, __s64 *lo, __s64 *hi);
int uma_tensor_empty(const struct uma_tensor_view *t);
__u64 uma_tensor_elements(const struct uma_tensor_view *t);
int uma_span_ok(__u64 addr, __u64 bytes);
__u64 uma_table_dim(const struct uma_tensor_view *t, __u32 dim);
int uma_table_ranges(const struct uma_tensor_view *t, __u64 *entries);
int uma_self_overlap(const struct uma_tensor_view *t);
int uma_views_conflict(const struct uma_tensor_view *dst,
		       const struct uma_tensor_view *in, int in_place);
__s64 uma_tensor_offset(const struct uma_tensor_view *t, const __u32 *idx);

/* --- match.c -------------------------------------------------------------- */

int uma_match_dims(const struct uma_op *op, __u32 slot, __u32 count,
		   struct uma_fault_info *fault);
int uma_match_product_types(const struct uma_op *op, struct uma_fault_info *fault);
int uma_match_exact(const struct uma_op *op, struct uma_fault_info *fault);
int uma_gemm_match(const struct uma_op *op, struct uma_fault_info *fault);
int uma_elementwise_match(const struct uma_op *op, struct uma_fault_info *fault);
int uma_fill_match(const struct uma_op *op, struct uma_fault_info *fault);
int uma_pack_match(const struct uma_op *op, struct uma_fault_info *fault);
int uma_op_match(const struct uma_op *op, struct uma_fault_info *fault);
int uma_op_exact(const struct uma_op *op);
int uma_op_overlap(const struct uma_op *op, struct uma_fault_info *fault);

/* --- mem.c ---------------------------------------------------------------- */

/**
 * struct uma_run - what the step of a tile hands down
 * @prog: program
 * @k: inner kernels
 * @mem: the worker's memory view
 * @fault: where to report
 * @scratch: the worker's scratch memory
 */
struct uma_run {
	const struct uma_program *prog;
	const struct uma_kernels *k;
	struct uma_mem *mem;
	struct uma_fault_info *fault;
	__u8 *scratch;
};

const void *uma_mem_in(struct uma_run *run, __u32 slot, __u64 addr,
		       __u64 bytes, void *tmp);
int uma_mem_out(struct uma_run *run, __u32 slot, __u64 addr, __u64 bytes,
		const void *src);
void *uma_map_span(struct uma_run *run, __u64 addr, __u64 bytes,
		   enum uma_access access);
const void *uma_gather(struct uma_run *run, __u32 slot,
		       const struct uma_tensor_view *t, __s64 off,
		       __s64 stride, __u32 n, void *tmp);
int uma_scatter(struct uma_run *run, __u32 slot,
		const struct uma_tensor_view *t, __s64 off, __s64 stride,
		__u32 n, const void *raw);

/* --- row.c ---------------------------------------------------------------- */

/** UMA_ROW_MAX: most elements of a row that row.c handles at once */
#define UMA_ROW_MAX		1024u

/**
 * struct uma_rowbuf - temporary memory of row.c
 * @raw: elements as they are in memory
 * @ints: the same as s32
 * @scale: scales of a row
 * @zero: zero points of a row
 */
struct uma_rowbuf {
	__u32 raw[UMA_ROW_MAX];
	__s32 ints[UMA_ROW_MAX];
	__u32 scale[UMA_ROW_MAX];
	__s32 zero[UMA_ROW_MAX];
};

/**
 * struct uma_row - a run of elements of an operand
 * @slot: operand
 * @off: linear offset of the first, in elements
 * @stride: distance in elements
 * @n: number, at most UMA_ROW_MAX
 * @idx: logical index of the first; NULL if the operand has no tables
 * @axis: dimension that the run goes along, with @idx
 */
struct uma_row {
	__u32 slot;
	__s64 off;
	__s64 stride;
	__u32 n;
	const __u32 *idx;
	__u32 axis;
};

const float *uma_row_f32(struct uma_run *run, const struct uma_row *row,
			 struct uma_rowbuf *buf, float *tmp);
const __s32 *uma_row_s32(struct uma_run *run, const struct uma_row *row,
			 struct uma_rowbuf *buf);
int uma_row_store_f32(struct uma_run *run, const struct uma_row *row,
		      struct uma_rowbuf *buf, const float *x);
int uma_row_store_s64(struct uma_run *run, const struct uma_row *row,
		      struct uma_rowbuf *buf, const __s64 *x);
__s64 uma_table_stride(const struct uma_tensor_view *t, __u32 dim);
__u64 uma_table_index(const struct uma_tensor_view *t, const __u32 *idx);
int uma_table_row(struct uma_run *run, const struct uma_row *row,
		  struct uma_rowbuf *buf);

/* --- walk.c ----------------------------------------------------------------- */

/**
 * struct uma_walk - an operand as rows along one of its dimensions
 * @rows: rows in all
 * @cuts: rows that the dimension is cut into
 * @dims: dimensions
 * @rank: their number
 * @dim: dimension that rows go along
 * @row: elements of a row but for the last along the dimension
 * @tile_rows: rows of a tile
 * @step_rows: rows of a step
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

/* Elements of the two mean the same as they are stored. */
static inline int uma_same_format(const struct uma_tensor_view *a,
				  const struct uma_tensor_view *b)
{
	return a->dtype == b->dtype && !a->quant && !b->quant;
}

/* --- gather.c: index tables -------------------------------------------------- */

int uma_index_check(const struct uma_op *op, __u32 slot, struct uma_fault_info *fault);
int uma_index_row(struct uma_run *run, __u32 slot, __s64 off, __s64 stride, __u32 n, __u32 dim,
		  __u32 *at);

/* --- ops.c: the operations --------------------------------------------------- */

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
	/** @epilogue: UMA_EPI_* that it may have */
	__u32 epilogue;
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
	/** @k: length of its sums, held against the row's k_max. NULL: none */
	__u64 (*k)(const struct uma_op *op);
	/** @work: multiply-adds of an output; saturates. NULL: @k, or UMA_ELEMENT_WORK */
	__u64 (*work)(const struct uma_op *op);
	/**
	 * @prepare: cut the operation into phases and tiles; @prog has the
	 * operation, engine, row and step_work. No tiles: nothing to do
	 */
	int (*prepare)(struct uma_run *run, struct uma_program *prog);
	/** @step: as uma_run_step() */
	int (*step)(struct uma_run *run, __u32 phase, __u32 tile, __u32 *step);
};

const struct uma_op_class *uma_op_class(__u32 opcode);

extern const struct uma_op_class uma_op_softmax;
extern const struct uma_op_class uma_op_norm;
extern const struct uma_op_class uma_op_reduce;
extern const struct uma_op_class uma_op_scan;
extern const struct uma_op_class uma_op_topk;
extern const struct uma_op_class uma_op_dynquant;
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

/* --- epilogue.c ----------------------------------------------------------- */

/**
 * struct uma_epi_row - a row of results
 * @run: where and how
 * @buf: temporary memory
 * @tmp: room for @n numbers
 * @idx: logical index of the first in DST
 * @axis: dimension that the row goes along
 * @n: number, at most UMA_ROW_MAX
 */
struct uma_epi_row {
	struct uma_run *run;
	struct uma_rowbuf *buf;
	float *tmp;
	const __u32 *idx;
	__u32 axis;
	__u32 n;
};

int uma_epilogue_f32(const struct uma_epi_row *e, float *x);
int uma_epilogue_exact(const struct uma_epi_row *e, __s64 *x);

/* --- packed.c ------------------------------------------------------------- */

/** UMA_PACKED_K: most indices of K that packed.c handles at once */
#define UMA_PACKED_K		16u
/** UMA_PACKED_N_MAX: widest block */
#define UMA_PACKED_N_MAX	64u
/** UMA_PACKED_BLOCK_MAX: most bytes of a block */
#define UMA_PACKED_BLOCK_MAX	256u

int uma_packed_blocks(const struct uma_tensor_view *t,
		      const struct uma_op_cap *cap);
__u64 uma_packed_addr(const struct uma_tensor_view *t,
		      const struct uma_op_cap *cap, __u64 batch, __u32 k,
		      __u32 n);
void uma_packed_header_make(const struct uma_tensor_view *t,
			    const struct uma_engine_desc *engine,
			    const struct uma_op_cap *cap,
			    struct uma_packed_header *header);
int uma_packed_header_check(struct uma_run *run, __u32 slot,
			    const struct uma_op_cap *cap);
int uma_packed_rows(struct uma_run *run, __u32 slot,
		    const struct uma_op_cap *cap, __u64 batch, __u32 k,
		    __u32 kc, __u32 n, __u32 count, void *out, __u32 ld);
void uma_packed_fill(__u32 dtype, const struct uma_op_cap *cap, __u32 kc,
		     const void *rows, __u32 ld, void *block);
__u64 uma_packed_panel_blocks(const struct uma_tensor_view *t,
			      const struct uma_op_cap *cap);

/* --- packed24.c ----------------------------------------------------------- */

/* Rows that are there of a matrix of @k. */
static inline __u64 uma_packed24_rows(__u32 k)
{
	return uma_roundup(k, 4) / 2;
}

/* Bytes of the positions of a panel, with padding. */
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

/** UMA_GEMM_MT: most rows of a tile that the model's own loops take */
#define UMA_GEMM_MT		96u
/** UMA_GEMM_NT: most columns */
#define UMA_GEMM_NT		128u
/** UMA_GEMM_KC: most of K at once */
#define UMA_GEMM_KC		160u
/* Distances of rows; B's is an odd number of cache lines, against aliasing. */
#define UMA_GEMM_LDA_K		(UMA_GEMM_KC + 8)
#define UMA_GEMM_LDA_M		(UMA_GEMM_MT + 16)
#define UMA_GEMM_LDB		(UMA_GEMM_NT + 16)
/** UMA_GEMM_GROUPS: most quantisation groups in UMA_GEMM_KC */
#define UMA_GEMM_GROUPS		(UMA_GEMM_KC / 16 + 1)

/**
 * struct uma_gemm_plan - a prepared GEMM, in the program
 */
struct uma_gemm_plan {
	/** @batches: matrices */
	__u64 batches;
	/** @m: rows */
	__u32 m;
	/** @n: columns */
	__u32 n;
	/** @k: length of the sums */
	__u32 k;
	/** @mt: rows of a tile */
	__u32 mt;
	/** @nt: columns of a tile */
	__u32 nt;
	/** @kc: of K in a step */
	__u32 kc;
	/** @mtiles: tiles along M */
	__u32 mtiles;
	/** @ntiles: tiles along N */
	__u32 ntiles;
	/** @ksteps: steps along K */
	__u32 ksteps;
	/** @erows: rows of an epilogue step */
	__u32 erows;
	/** @unbounded: a tile is one step */
	__u8 unbounded;
	/** @integer: sums of bytes */
	__u8 integer;
	/** @exact: into s32 */
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
	/** @row2: another */
	__u32 row2[UMA_GEMM_NT];
	/** @wide: a row of sums */
	__s64 wide[UMA_GEMM_NT];
	/** @buf: for row.c */
	struct uma_rowbuf buf;
};

/** UMA_GEMM_PARTS: most pieces that a block of B comes in */
#define UMA_GEMM_PARTS		(UMA_GEMM_NT / 8 + 1)

/**
 * struct uma_gemm_part - columns of a block of B that lie together
 * @b: first row
 * @b_ks: distance of rows
 * @col: first column
 * @n: columns, a multiple of the kernels' nr
 */
struct uma_gemm_part {
	const void *b;
	__s64 b_ks;
	__u32 col;
	__u32 n;
};

/**
 * struct uma_gemm_ctx - the tile at hand
 */
struct uma_gemm_ctx {
	/** @run: the step at hand */
	struct uma_run *run;
	/** @plan: how the task is cut */
	const struct uma_gemm_plan *plan;
	/** @s: the worker's scratch memory */
	struct uma_gemm_scratch *s;
	/** @cap: the engine's row for this task */
	const struct uma_op_cap *cap;
	/** @batch: linear index of the matrix */
	__u64 batch;
	/** @idx: logical index of the matrix, the last two 0 */
	__u32 idx[UMA_MAX_RANK];
	/** @m0: first row */
	__u32 m0;
	/** @n0: first column */
	__u32 n0;
	/** @m: rows */
	__u32 m;
	/** @n: columns */
	__u32 n;
	/** @parts: the block of B */
	struct uma_gemm_part parts[UMA_GEMM_PARTS];
	/** @part_count: its pieces */
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

#endif /* _UMA_INTERNAL_H_ */

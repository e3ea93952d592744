/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Rows of operands in device memory: load, store, epilogue, and position in a packed
 * operand. For the model's operations, and for users of the model that implement the
 * rest of an operation themselves.
 */
#ifndef _UMA_ROWS_H_
#define _UMA_ROWS_H_

#include "uma_kernels.h"
#include "uma_tensor.h"

/* --- mem.c ---------------------------------------------------------------- */

/**
 * struct uma_run - context of a step
 * @prog: program
 * @k: inner kernels
 * @mem: the worker's memory view
 * @fault: out: set on failure
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

/** UMA_ROW_MAX: largest number of elements of a row that row.c handles at once */
#define UMA_ROW_MAX		1024u

/**
 * struct uma_rowbuf - temporary memory of row.c
 * @raw: elements as in memory
 * @ints: elements as s32
 * @scale: scales of a row
 * @zero: zero points of a row, or binary32 bits of minima
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
 * @off: linear offset of the first element, in elements
 * @stride: stride, in elements
 * @n: number of elements, at most UMA_ROW_MAX
 * @idx: logical index of the first element; NULL if the operand has no tables
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
const float *uma_row_blocks(struct uma_run *run, const struct uma_row *row,
			    struct uma_rowbuf *buf, float *out);
const __s32 *uma_row_s32(struct uma_run *run, const struct uma_row *row,
			 struct uma_rowbuf *buf);
int uma_row_store_f32(struct uma_run *run, const struct uma_row *row,
		      struct uma_rowbuf *buf, const float *x);
int uma_row_store_s64(struct uma_run *run, const struct uma_row *row,
		      struct uma_rowbuf *buf, const __s64 *x);
__s64 uma_table_stride(const struct uma_tensor_view *t, __u32 dim);
__u64 uma_table_index(const struct uma_tensor_view *t, const __u32 *idx);
void uma_dequant(const struct uma_kernels *k, const struct uma_tensor_view *t, float *x,
		 const __s32 *ints, const __u32 *scale, const __s32 *second, __u32 step, __u32 n);
int uma_table_row(struct uma_run *run, const struct uma_row *row,
		  struct uma_rowbuf *buf);

/* --- epilogue.c ----------------------------------------------------------- */

/**
 * struct uma_epi_row - a row of results
 * @run: context of the step
 * @buf: temporary memory
 * @tmp: temporary memory of @n numbers
 * @idx: logical index of the first result in DST
 * @axis: dimension that the row goes along
 * @n: number of results, at most UMA_ROW_MAX
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

__u64 uma_packed_addr(const struct uma_tensor_view *t,
		      const struct uma_op_cap *cap, __u64 batch, __u32 k,
		      __u32 n);
void uma_packed_header_make(const struct uma_tensor_view *t,
			    const struct uma_engine_desc *engine,
			    const struct uma_op_cap *cap,
			    struct uma_packed_header *header);
__u64 uma_packed_panel_blocks(const struct uma_tensor_view *t,
			      const struct uma_op_cap *cap);

#endif /* _UMA_ROWS_H_ */

/* SPDX-License-Identifier: MIT */
/*
 * oneDNN: its functions, found when the program runs, and primitives with their
 * operands.
 */
#ifndef PEER_DNNL_H
#define PEER_DNNL_H

#include <dnnl.h>

#include "peers.h"

/**
 * struct dnnl_api - its functions, found by name
 */
struct dnnl_api {
	/** @version: as in dnnl.h */
	__typeof__(dnnl_version) *version;
	/** @engine_create: as in dnnl.h */
	__typeof__(dnnl_engine_create) *engine_create;
	/** @stream_create: as in dnnl.h */
	__typeof__(dnnl_stream_create) *stream_create;
	/** @stream_wait: as in dnnl.h */
	__typeof__(dnnl_stream_wait) *stream_wait;
	/** @primitive_create: as in dnnl.h */
	__typeof__(dnnl_primitive_create) *primitive_create;
	/** @primitive_desc_create: as in dnnl.h */
	__typeof__(dnnl_primitive_desc_create) *primitive_desc_create;
	/** @primitive_desc_destroy: as in dnnl.h */
	__typeof__(dnnl_primitive_desc_destroy) *primitive_desc_destroy;
	/** @primitive_desc_query_md: as in dnnl.h */
	__typeof__(dnnl_primitive_desc_query_md) *primitive_desc_query_md;
	/** @primitive_destroy: as in dnnl.h */
	__typeof__(dnnl_primitive_destroy) *primitive_destroy;
	/** @primitive_execute: as in dnnl.h */
	__typeof__(dnnl_primitive_execute) *primitive_execute;
	/** @memory_create: as in dnnl.h */
	__typeof__(dnnl_memory_create) *memory_create;
	/** @memory_destroy: as in dnnl.h */
	__typeof__(dnnl_memory_destroy) *memory_destroy;
	/** @memory_desc_init_by_strides: as in dnnl.h */
	__typeof__(dnnl_memory_desc_init_by_strides) *memory_desc_init_by_strides;
	/** @memory_desc_init_by_tag: as in dnnl.h */
	__typeof__(dnnl_memory_desc_init_by_tag) *memory_desc_init_by_tag;
	/** @memory_desc_get_size: as in dnnl.h */
	__typeof__(dnnl_memory_desc_get_size) *memory_desc_get_size;
	/** @memory_desc_equal: as in dnnl.h */
	__typeof__(dnnl_memory_desc_equal) *memory_desc_equal;
	/** @memory_get_data_handle: as in dnnl.h */
	__typeof__(dnnl_memory_get_data_handle) *memory_get_data_handle;
	/** @matmul_desc_init: as in dnnl.h */
	__typeof__(dnnl_matmul_desc_init) *matmul_desc_init;
	/** @reorder_primitive_desc_create: as in dnnl.h */
	__typeof__(dnnl_reorder_primitive_desc_create) *reorder_primitive_desc_create;
	/** @convolution_forward_desc_init: as in dnnl.h */
	__typeof__(dnnl_convolution_forward_desc_init) *convolution_forward_desc_init;
	/** @primitive_attr_create: as in dnnl.h */
	__typeof__(dnnl_primitive_attr_create) *primitive_attr_create;
	/** @primitive_attr_destroy: as in dnnl.h */
	__typeof__(dnnl_primitive_attr_destroy) *primitive_attr_destroy;
	/** @primitive_attr_set_output_scales: as in dnnl.h */
	__typeof__(dnnl_primitive_attr_set_output_scales) *primitive_attr_set_output_scales;
	/** @primitive_attr_set_post_ops: as in dnnl.h */
	__typeof__(dnnl_primitive_attr_set_post_ops) *primitive_attr_set_post_ops;
	/** @post_ops_create: as in dnnl.h */
	__typeof__(dnnl_post_ops_create) *post_ops_create;
	/** @post_ops_destroy: as in dnnl.h */
	__typeof__(dnnl_post_ops_destroy) *post_ops_destroy;
	/** @post_ops_append_eltwise: as in dnnl.h */
	__typeof__(dnnl_post_ops_append_eltwise) *post_ops_append_eltwise;
};

/** PRIM_OPS: most operations of a run */
#define PRIM_OPS	64

/**
 * struct prim - a primitive and operands, to be run several times in turn
 */
struct prim {
	/** @p: primitive */
	dnnl_primitive_t p;
	/** @args: operands for each run */
	dnnl_exec_arg_t args[PRIM_OPS][4];
	/** @arg_count: of a run */
	int arg_count;
	/** @ops: runs */
	uint32_t ops;
	/** @mems: memories that are given up with it */
	dnnl_memory_t mems[3 * PRIM_OPS];
	/** @mem_count: number of them */
	uint32_t mem_count;
	/** @plain: result in the caller's layout, if it has another */
	void *plain;
	/** @plain_md: layout of @plain */
	dnnl_memory_desc_t plain_md;
	/** @result_md: layout of the result */
	dnnl_memory_desc_t result_md;
	/** @error: compares @plain */
	double (*error)(const void *d, void *arg);
	/** @error_arg: passed on */
	void *error_arg;
};

extern struct dnnl_api dn;
extern dnnl_engine_t dn_engine;
extern dnnl_stream_t dn_stream;

/**
 * prim_memory - memory for an operand
 * @p: primitive that it is given up with
 * @md: layout
 * @data: memory, or NULL: it allocates
 *
 * Return: memory, or NULL.
 */
dnnl_memory_t prim_memory(struct prim *p, const dnnl_memory_desc_t *md, void *data);

/**
 * prim_reorder - bring a tensor into another layout
 * @from_md: layout
 * @from: tensor
 * @to_md: layout
 * @to: where to; dnnl_memory_t's own data
 *
 * Return: 0 or a negative errno.
 */
int prim_reorder(const dnnl_memory_desc_t *from_md, void *from, const dnnl_memory_desc_t *to_md,
		 dnnl_memory_t to);

/**
 * prim_impl - as an implementation
 * @p: primitive
 * @name: of the implementation
 * @impl: out
 */
void prim_impl(struct prim *p, const char *name, struct perf_impl *impl);

/**
 * prim_release - give up
 * @state: struct prim
 */
void prim_release(void *state);

/**
 * prim_dtype - its name for an element type
 * @dtype: &enum accel_dtype
 *
 * Return: type.
 */
dnnl_data_type_t prim_dtype(uint32_t dtype);

#endif /* PEER_DNNL_H */

/* SPDX-License-Identifier: MIT */
/*
 * Operations by function and element types: a small descriptor for each, which represents all
 * of its kind.
 */
#ifndef ACCELCTL_OPCELL_H
#define ACCELCTL_OPCELL_H

#include <stdbool.h>
#include <stdint.h>
#include <accel/accel.h>

/**
 * struct opcell - an operation with its types
 * @op: &enum accel_op
 * @func: function, below opcell_funcs()
 * @a: type of the first input, ACCEL_NONE if there is none
 * @b: type of the second, ACCEL_NONE if there is none or it is always the same
 * @d: type of the result
 */
struct opcell {
	uint32_t op;
	uint32_t func;
	uint32_t a;
	uint32_t b;
	uint32_t d;
};

/** OPCELL_BYTES: size of the buffer that a descriptor needs */
#define OPCELL_BYTES	(64u * 4096u)

/**
 * union opcell_desc - room for any descriptor
 */
union opcell_desc {
	struct accel_desc hdr;
	struct accel_copy_desc copy;
	struct accel_fill_desc fill;
	struct accel_unary_desc unary;
	struct accel_binary_desc binary;
	struct accel_select_desc select;
	struct accel_gemm_desc gemm;
	struct accel_conv_desc conv;
	struct accel_attention_desc attention;
	struct accel_rotary_desc rotary;
	struct accel_norm_desc norm;
	struct accel_softmax_desc softmax;
	struct accel_reduce_desc reduce;
	struct accel_topk_desc topk;
	struct accel_scan_desc scan;
	struct accel_pool_desc pool;
	struct accel_resize_desc resize;
	struct accel_gather_desc gather;
	struct accel_scatter_desc scatter;
	struct accel_concat_desc concat;
	struct accel_split_desc split;
	struct accel_pad_desc pad;
};

/**
 * opcell_funcs - number of functions of an operation
 * @op: &enum accel_op
 *
 * Return: number, 0 if the operation is not known here.
 */
uint32_t opcell_funcs(uint32_t op);

/**
 * opcell_func_name - name of a function
 * @op: &enum accel_op
 * @func: function
 * @buf: room for a name that is made up
 *
 * Return: the name, NULL if the operation has one function only.
 */
const char *opcell_func_name(uint32_t op, uint32_t func, char buf[32]);

/** opcell_has_a - does the operation have a first input whose type varies? */
bool opcell_has_a(uint32_t op);
/** opcell_has_b - does it have a second input? */
bool opcell_has_b(uint32_t op);

/**
 * opcell_desc - make the descriptor of a cell
 * @cell: operation and types
 * @quantised: 8-bit and 4-bit types have a scale of 1
 * @bo: buffer of OPCELL_BYTES for all tensors, NULL to plan only
 * @desc: out
 */
void opcell_desc(const struct opcell *cell, bool quantised, struct accel_bo *bo,
		 union opcell_desc *desc);

/**
 * opcell_engines - find the engines that support a cell
 * @ctx: context of the device
 * @cell: operation and types
 * @engines: out: mask of 1 << &enum accel_engine
 *
 * An engine supports it if it supports it quantised or unquantised.
 *
 * Return: 0, or a negative errno other than -EINVAL: no engine supports invalid combinations of
 * types.
 */
int opcell_engines(struct accel_ctx *ctx, const struct opcell *cell, uint32_t *engines);

#endif /* ACCELCTL_OPCELL_H */

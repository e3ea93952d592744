// SPDX-License-Identifier: MIT
/*
 * Task descriptors as JSON, field by field. What is zero and may be is left
 * out, so a record shows what the task says and no more.
 */
#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "rec.h"

#define NAME(table, i) \
	((i) < sizeof(table) / sizeof((table)[0]) ? (table)[i] : NULL)

static const char * const opcodes[] = {
	"nop", "copy", "fill", "unary", "binary", "gemm", "pack", "conv", "attention",
	"rotary", "norm", "softmax", "reduce", "pool", "resize", "gather", "scatter",
	"topk", "scan", "select", "dynquant", "kv_write"
};

static const char * const layouts[] = { "strided", "gemm_b", "gemm_b24" };

static const char * const quants[] = { "none", "tensor", "channel", "group" };

/* A name, or the number where there is none. */
static json_object *named(const char *name, uint32_t value)
{
	return name ? json_object_new_string(name) :
		      json_object_new_uint64(value);
}

static void put(json_object *o, const char *key, uint64_t value)
{
	if (value)
		json_object_object_add(o, key, json_object_new_uint64(value));
}

static void put_float(json_object *o, const char *key, __le32 bits)
{
	uint32_t v = le32toh(bits);
	float f;

	if (!v)
		return;
	memcpy(&f, &v, sizeof(f));
	/* JSON has no infinities. */
	if (f - f == 0)
		json_object_object_add(o, key, json_object_new_double(f));
	else
		json_object_object_add(o, key, rec_hex(v));
}

json_object *rec_hex(uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	return json_object_new_string(text);
}

static bool holds(const struct accel_bo *bo, uint64_t addr)
{
	return bo && addr - bo->map_addr < bo->map_size;
}

/* The workspace or the weights that a plan has packed. */
static const struct accel_bo *own_memory(const struct job_op *op, uint64_t addr)
{
	uint32_t i;

	if (holds(op->bound.bos[op->plan->arg_count], addr))
		return op->bound.bos[op->plan->arg_count];
	if (holds(op->plan->packed, addr))
		return op->plan->packed;
	for (i = 0; i < op->plan->part_count; i++)
		if (holds(op->plan->parts[i].plan->packed, addr))
			return op->plan->parts[i].plan->packed;
	return NULL;
}

/* The buffer of the operation, if it is known, that holds an address, and where in it. */
static void put_addr(json_object *o, const char *key, uint64_t addr,
		     const struct job_op *op)
{
	const struct accel_bo *bo = NULL;
	json_object *a;
	uint32_t i;

	if (!addr)
		return;
	for (i = 0; op && i < op->plan->arg_count && !bo; i++)
		if (holds(op->bound.bos[i], addr))
			bo = op->bound.bos[i];
	if (op && !bo)
		bo = own_memory(op, addr);
	a = json_object_new_object();
	json_object_object_add(a, "va", rec_hex(addr));
	if (bo) {
		json_object_object_add(a, "bo", json_object_new_uint64(bo->id));
		json_object_object_add(a, "offset",
				       json_object_new_int64(addr - bo->addr));
	}
	json_object_object_add(o, key, a);
}

static json_object *operand_json(const struct uma_operand *t,
				 const struct job_op *op)
{
	const uint32_t dtype = le16toh(t->dtype), quant = le16toh(t->quant);
	const uint32_t layout = le16toh(t->layout);
	json_object *o = json_object_new_object(), *dims, *strides;
	uint32_t rank = le16toh(t->rank), i;

	put_addr(o, "addr", le64toh(t->addr), op);
	json_object_object_add(o, "dtype", named(accel_dtype_name(dtype), dtype));
	dims = json_object_new_array();
	strides = json_object_new_array();
	for (i = 0; i < rank && i < UMA_MAX_RANK; i++) {
		json_object_array_add(dims,
				      json_object_new_uint64(le32toh(t->dims[i])));
		json_object_array_add(strides,
				      json_object_new_int64((int64_t)le64toh(t->strides[i])));
	}
	json_object_object_add(o, "rank", json_object_new_uint64(rank));
	json_object_object_add(o, "dims", dims);
	json_object_object_add(o, "strides", strides);
	if (layout)
		json_object_object_add(o, "layout",
				       named(NAME(layouts, layout), layout));
	if (!quant)
		return o;
	json_object_object_add(o, "quant", named(NAME(quants, quant), quant));
	put(o, "quant_axis", le16toh(t->quant_axis));
	put(o, "quant_group", le32toh(t->quant_group));
	put_float(o, "scale", t->scale);
	if (t->zero)
		json_object_object_add(o, "zero",
				       json_object_new_int64((int32_t)le32toh(t->zero)));
	put_addr(o, "scale_addr", le64toh(t->scale_addr), op);
	put_addr(o, "zero_addr", le64toh(t->zero_addr), op);
	if (t->scale_dtype)
		json_object_object_add(o, "scale_dtype",
				       named(accel_dtype_name(le16toh(t->scale_dtype)),
					     le16toh(t->scale_dtype)));
	return o;
}

static json_object *params_json(const struct uma_task *task)
{
	json_object *o = json_object_new_object();
	struct uma_elementwise_params elementwise;
	struct uma_gemm_params gemm;
	struct uma_fill_params fill;
	const char *name;
	uint32_t func;

	switch (le16toh(task->opcode)) {
	case UMA_OP_GEMM:
		memcpy(&gemm, task->params, sizeof(gemm));
		put_float(o, "alpha", gemm.alpha);
		put_float(o, "beta", gemm.beta);
		json_object_object_add(o, "a_group", json_object_new_int64(le32toh(gemm.a_group)));
		json_object_object_add(o, "flags", rec_hex(le32toh(gemm.flags)));
		break;
	case UMA_OP_FILL:
		memcpy(&fill, task->params, sizeof(fill));
		json_object_object_add(o, "value", rec_hex(le32toh(fill.value)));
		break;
	case UMA_OP_UNARY:
	case UMA_OP_BINARY:
		memcpy(&elementwise, task->params, sizeof(elementwise));
		func = le32toh(elementwise.func);
		/* the library counts functions as tasks do */
		name = le16toh(task->opcode) == UMA_OP_UNARY ? accel_unary_name(func) :
							       accel_binary_name(func);
		json_object_object_add(o, "func", named(name, func));
		break;
	}
	return o;
}

static json_object *epilogue_json(const struct uma_epilogue *e)
{
	const uint32_t flags = le32toh(e->flags), act = le32toh(e->act);
	json_object *o;

	if (!flags && !act)
		return NULL;
	o = json_object_new_object();
	put(o, "flags", flags);
	json_object_object_add(o, "act",
			       named(act < ACCEL_ACT_COUNT ? act_name(act) : NULL, act));
	put_float(o, "p0", e->p0);
	put_float(o, "p1", e->p1);
	return o;
}

json_object *rec_task(const struct uma_task *task, const struct job_op *op)
{
	const uint32_t opcode = le16toh(task->opcode);
	json_object *o = json_object_new_object(), *operands, *epilogue;
	const uint32_t slots = le32toh(task->slots);
	char number[16];
	uint32_t i;

	json_object_object_add(o, "version",
			       json_object_new_uint64(le16toh(task->version)));
	json_object_object_add(o, "opcode", named(NAME(opcodes, opcode), opcode));
	put(o, "flags", le32toh(task->flags));
	put(o, "cookie", le64toh(task->cookie));
	put_addr(o, "shape_addr", le64toh(task->shape_addr), op);
	for (i = 0; i < UMA_TASK_SLOTS && le32toh(task->flags) & UMA_TASK_LENGTH; i++) {
		snprintf(number, sizeof(number), "length_dims%u", i);
		if (task->length_dims[i])
			put(o, number, task->length_dims[i]);
	}
	json_object_object_add(o, "params", params_json(task));
	epilogue = epilogue_json(&task->epilogue);
	if (epilogue)
		json_object_object_add(o, "epilogue", epilogue);
	operands = json_object_new_object();
	for (i = 0; i < UMA_TASK_SLOTS; i++) {
		if (!(slots & 1u << i))
			continue;
		snprintf(number, sizeof(number), "%u", i);
		json_object_object_add(operands,
				       slot_name(i) ? slot_name(i) : number,
				       operand_json(&task->op[i], op));
	}
	json_object_object_add(o, "operands", operands);
	return o;
}

// SPDX-License-Identifier: MIT
/* Creates a task template from a request, and the relocations for its addresses. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "planner.h"

#define SAME(a, b)	_Static_assert((int)(a) == (int)(b), #a " is " #b)
/* The library's constants are equal to those of the tasks. */
SAME(ACCEL_SOFTMAX_LOG, UMA_SOFTMAX_LOG);
SAME(ACCEL_REDUCE_ARG_MIN, UMA_REDUCE_ARG_MIN);
SAME(ACCEL_REDUCE_LAST_INDEX, UMA_REDUCE_LAST_INDEX);
SAME(ACCEL_DYNQUANT_ASYMMETRIC, UMA_DYNQUANT_ASYMMETRIC);
SAME(ACCEL_TOPK_SMALLEST, UMA_TOPK_SMALLEST);
SAME(ACCEL_SCAN_REVERSE, UMA_SCAN_REVERSE);
SAME(ACCEL_U4, UMA_DTYPE_U4);
SAME(ACCEL_Q6_K, UMA_DTYPE_Q6_K);
SAME(ACCEL_QUANT_GROUP_MIN, UMA_QUANT_GROUP_MIN);
SAME(ACCEL_ACT_COUNT, UMA_ACT_COUNT);
SAME(ACCEL_UNARY_COUNT, UMA_UNARY_COUNT);
SAME(ACCEL_BINARY_COUNT, UMA_BINARY_COUNT);
SAME(ACCEL_MAX_RANK, UMA_MAX_RANK);

/* Devices reject strides beyond this, even where they are not used */
#define STRIDE_MAX	(1LL << 50)

/* An address for each operand and its two tables, and that of the length */
#define MAX_RELOCS	(3 * REQUEST_SLOTS + 1)

static __le32 float_bits(float f)
{
	uint32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	return htole32(bits);
}

static void emit_quant(struct uma_operand *o, const struct operand_quant *q)
{
	o->quant = htole16(quant_scheme(q));
	switch (q->scheme) {
	case ACCEL_QUANT_TENSOR:
		o->scale = float_bits(q->scale);
		o->zero = htole32((uint32_t)q->zero);
		break;
	case ACCEL_QUANT_GROUP:
		o->quant_group = htole32(q->group);
		o->quant_flags = htole16(q->flags);
		/* fall through */
	case ACCEL_QUANT_CHANNEL:
		o->quant_axis = htole16(q->axis);
		o->scale_dtype = htole16(q->scale_dtype);
		break;
	default:
		break;
	}
}

static void emit_operand(struct uma_operand *o, const struct operand *t,
			 uint32_t layout)
{
	bool empty = operand_empty(t);
	uint32_t i;

	o->dtype = htole16(t->dtype);
	o->rank = htole16(t->rank);
	o->layout = htole16(layout);
	for (i = 0; i < t->rank; i++) {
		int64_t stride = t->strides[i];

		/* Only one index: the stride does not matter. */
		if (empty || (t->dims[i] < 2 &&
			      (stride > STRIDE_MAX || stride < -STRIDE_MAX)))
			stride = 0;
		o->dims[i] = htole32((uint32_t)t->dims[i]);
		o->strides[i] = layout ? 0 : htole64((uint64_t)stride);
	}
	emit_quant(o, &t->quant);
}

static void emit_params(struct uma_task *task, const struct request *req,
			const struct uma_op_cap *row)
{
	/* A permission that changes bits with the number of rows */
	const bool bf16 = req->bf16 && !req->reproducible &&
			  le32toh(row->funcs) & UMA_GEMM_CAP_BF16;
	struct uma_gemm_params gemm = { 0 };
	struct uma_fill_params fill = { 0 };
	struct uma_elementwise_params ew = { 0 };

	switch (req->opcode) {
	case UMA_OP_GEMM:
		gemm.alpha = float_bits(req->alpha);
		gemm.beta = float_bits(req->beta);
		gemm.a_group = htole32(req->a_group);
		gemm.flags = htole32((req->experts ? UMA_GEMM_EXPERTS : 0) |
				     (bf16 ? UMA_GEMM_BF16 : 0));
		memcpy(task->params, &gemm, sizeof(gemm));
		break;
	case UMA_OP_FILL:
		fill.value = htole32(req->value);
		memcpy(task->params, &fill, sizeof(fill));
		break;
	case UMA_OP_UNARY:
	case UMA_OP_BINARY:
		ew.func = htole32(req->func);
		memcpy(task->params, &ew, sizeof(ew));
		break;
	default:
		memcpy(task->params, req->params, sizeof(req->params));
		break;
	}
	task->epilogue.flags = htole32(req->epilogue);
	task->epilogue.act = htole32(req->act);
	task->epilogue.p0 = float_bits(req->p0);
	task->epilogue.p1 = float_bits(req->p1);
}

/* The argument of a plan by its number; the old contents of D are the argument D. */
static struct plan_arg *plan_arg(struct accel_plan *plan, uint32_t arg,
				 uint32_t align)
{
	struct plan_arg *a;
	uint32_t i;

	for (i = 0; i < plan->arg_count; i++)
		if (plan->args[i].arg == arg)
			return &plan->args[i];
	a = &plan->args[plan->arg_count++];
	*a = (struct plan_arg) { .arg = arg, .align = align };
	return a;
}

static void add_reloc(struct accel_plan *plan, uint32_t slot,
		      enum plan_field field, uint32_t arg, int64_t addend)
{
	plan->relocs[plan->reloc_count++] = (struct plan_reloc) {
		.slot = slot, .field = field, .arg = arg, .addend = addend
	};
}

static uint32_t arg_index(const struct accel_plan *plan, const struct plan_arg *a)
{
	return a - plan->args;
}

static void bind_table(struct accel_plan *plan, uint32_t slot,
		       const struct operand *t, bool zeros)
{
	uint32_t size = zeros ? quant_zero_bytes(&t->quant) :
				accel_dtype_bits(t->quant.scale_dtype) / 8;
	struct plan_arg *a;

	a = plan_arg(plan, t->arg | (zeros ? ACCEL_ARG_ZEROS : ACCEL_ARG_SCALES),
		     size);
	a->hi = t->quant.entries * size;
	add_reloc(plan, slot, zeros ? PLAN_ZERO_ADDR : PLAN_SCALE_ADDR,
		  arg_index(plan, a), 0);
}

static void bind_operand(struct accel_plan *plan, uint32_t slot,
			 const struct operand *t, const struct uma_op_cap *row,
			 bool write)
{
	uint32_t own = uma_dtype_align(t->dtype);
	uint32_t align = le32toh(row->align);
	struct plan_arg *a;

	a = plan_arg(plan, t->arg, align > own ? align : own);
	a->lo = t->lo;
	a->hi = t->hi;
	a->write |= write;
	add_reloc(plan, slot, PLAN_ADDR, arg_index(plan, a), 0);
	if (t->quant.scheme < ACCEL_QUANT_CHANNEL)
		return;
	bind_table(plan, slot, t, false);
	if (t->quant.zeros)
		bind_table(plan, slot, t, true);
}

static void bind_held(struct accel_plan *plan, const struct operand *b,
		      const struct weights *held)
{
	add_reloc(plan, UMA_SLOT_B, PLAN_ADDR, PLAN_NO_ARG, 0);
	if (b->quant.scheme < ACCEL_QUANT_CHANNEL)
		return;
	add_reloc(plan, UMA_SLOT_B, PLAN_SCALE_ADDR, PLAN_NO_ARG, held->scales);
	if (b->quant.zeros)
		add_reloc(plan, UMA_SLOT_B, PLAN_ZERO_ADDR, PLAN_NO_ARG,
			  held->zeros);
}

/* Bind the dimensions that are read from memory at run time. */
static void bind_length(struct accel_plan *plan, const struct request *req)
{
	struct uma_task *task = plan->tasks;
	struct plan_arg *a;
	uint32_t s;

	if (!req->length)
		return;
	task->flags = htole32(UMA_TASK_DYNAMIC | UMA_TASK_LENGTH);
	for (s = 0; s < REQUEST_SLOTS; s++)
		if (req->slots & (1u << s))
			task->length_dims[s] = (uint8_t)req->t[s].dynamic;
	a = plan_arg(plan, ACCEL_ARG_LENGTH, sizeof(uint32_t));
	a->hi = sizeof(uint32_t);
	add_reloc(plan, 0, PLAN_SHAPE_ADDR, arg_index(plan, a), 0);
}

/**
 * emit_plan - write the task of a request, its relocations and arguments
 * @plan: plan; its tasks, relocations and arguments are filled in
 * @req: request
 * @row: capability row that it was matched with
 * @held: location of B if the plan holds it, NULL if it is bound
 * @dst_layout: &enum uma_layout of the result: packing
 *
 * Return: 0, -ENOMEM.
 */
int emit_plan(struct accel_plan *plan, const struct request *req,
	      const struct uma_op_cap *row, const struct weights *held,
	      uint32_t dst_layout)
{
	const struct uma_op_class *class = uma_op_class(req->opcode);
	struct uma_task *task;
	uint32_t s;

	plan->tasks = calloc(1, sizeof(*plan->tasks));
	plan->relocs = calloc(MAX_RELOCS, sizeof(*plan->relocs));
	if (!plan->tasks || !plan->relocs)
		return -ENOMEM;
	plan->task_count = 1;
	plan->outputs = class->outputs;
	plan->in_place = class->in_place;
	plan->arg_names = req->class->args;
	task = plan->tasks;
	task->version = htole16(UMA_TASK_VERSION);
	task->opcode = htole16(req->opcode);
	task->slots = htole32(req->slots);
	emit_params(task, req, row);
	for (s = 0; s < REQUEST_SLOTS; s++) {
		const struct operand *t = &req->t[s];
		uint32_t layout = UMA_LAYOUT_STRIDED;

		if (!(req->slots & (1u << s)))
			continue;
		if (s == UMA_SLOT_DST)
			layout = dst_layout;
		if (held && s == UMA_SLOT_B)
			layout = held->layout;
		emit_operand(&task->op[s], t, layout);
		if (held && s == UMA_SLOT_B)
			bind_held(plan, t, held);
		else
			bind_operand(plan, s, t, row, class->outputs >> s & 1);
	}
	bind_length(plan, req);
	return 0;
}

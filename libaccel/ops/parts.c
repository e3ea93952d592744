// SPDX-License-Identifier: MIT
/*
 * Operations that are several tasks are lowered to descriptors of other operations,
 * their parts, between slices of the caller's tensors and pieces of a workspace.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops.h"

/**
 * parts_alloc - room for the parts of a request
 * @req: request; has them until request_release()
 * @count: most parts that there can be; parts->count is how many there are
 *
 * Return: the parts, NULL without memory.
 */
struct parts *parts_alloc(struct request *req, uint32_t count)
{
	struct parts *parts = calloc(1, sizeof(*parts) + count * sizeof(parts->part[0]));

	req->parts = parts;
	return parts;
}

/* Give up what a request holds. */
void request_release(struct request *req)
{
	free(req->parts);
	req->parts = NULL;
}

/*
 * What lies in the workspace is no tensor of the caller: its type is a field of
 * the descriptor, "ffn.hidden_dtype" for "ffn.hidden".
 */
void own_field(char *field, const char *name)
{
	size_t len = strlen(name);

	if (!strncmp(field, name, len) && !strcmp(field + len, ".dtype"))
		field[len] = '_';
}

/* Errors of a part are told with the names that the caller knows. */
static void rename_field(struct accel_error *e, const struct part *part,
			 const char *const *names, const uint32_t *args)
{
	static const char * const ends[REQUEST_SLOTS] = {
		[UMA_SLOT_DST] = "d", [UMA_SLOT_A] = "a", [UMA_SLOT_B] = "b",
		[UMA_SLOT_C] = "c", [UMA_SLOT_BIAS] = "epilogue.bias",
		[UMA_SLOT_SCALE] = "epilogue.scale",
		[UMA_SLOT_RESIDUAL] = "epilogue.residual",
	};
	const char *op = accel_op_name(part->desc.hdr.op);
	char old[64], field[sizeof(e->field)];
	size_t len;
	uint32_t s;

	for (s = 0; s < REQUEST_SLOTS; s++) {
		if (!names[s] || !ends[s])
			continue;
		len = (size_t)snprintf(old, sizeof(old), "%s.%s", op, ends[s]);
		if (strncmp(e->field, old, len) != 0 ||
		    (e->field[len] && e->field[len] != '.'))
			continue;
		snprintf(field, sizeof(field), "%.*s%s", 40, names[s], e->field + len);
		memcpy(e->field, field, sizeof(field));
		if (args[s] == ARG_WORKSPACE)
			own_field(e->field, names[s]);
		return;
	}
}

/* Bytes from element 0 of an argument, or of its tables, to those of an operand. */
int64_t part_distance(const struct parts *parts, const struct part *part, uint32_t arg)
{
	uint32_t slot = arg & ~ARG_TABLES;
	const struct accel_tensor *t = part->req.t[slot].from, *whole;

	if (part->arg[slot] == ARG_WORKSPACE)
		return (int64_t)t->offset;
	whole = parts->tensor[part->arg[slot]];
	if (arg & ACCEL_ARG_SCALES)
		return (int64_t)(t->quant.scales_offset - whole->quant.scales_offset);
	if (arg & ACCEL_ARG_ZEROS)
		return (int64_t)(t->quant.zeros_offset - whole->quant.zeros_offset);
	return (int64_t)(t->offset - whole->offset);
}

/**
 * part_lower - lower the descriptor of the next part, parts->part[parts->count]
 * @parts: parts; the descriptor and the caller's tensors are set
 * @op: &enum accel_op that it is
 * @names: by slot: path of the operand in the caller's descriptor
 * @args: by slot: &enum accel_arg of the whole, or ARG_WORKSPACE
 * @e: filled on failure
 *
 * Return: 0, -EINVAL, -EOPNOTSUPP.
 */
int part_lower(struct parts *parts, uint32_t op, const char *const *names,
	       const uint32_t *args, struct accel_error *e)
{
	struct part *part = &parts->part[parts->count];
	struct request *req = &part->req;
	uint32_t s;
	int ret;

	memset(req, 0, sizeof(*req));
	req->op = op;
	req->desc = &part->desc;
	req->class = op_class(op);
	req->opcode = req->class->opcode;
	ret = req->class->lower(&part->desc, req, e);
	if (ret) {
		rename_field(e, part, names, args);
		return ret;
	}
	for (s = 0; s < REQUEST_SLOTS; s++) {
		struct operand *t = &req->t[s];

		if (!(req->slots & (1u << s)))
			continue;
		t->arg = s;
		t->name = names[s];
		part->arg[s] = args[s];
		t->own = args[s] == ARG_WORKSPACE;
		t->addr = (uint64_t)part_distance(parts, part, s);
	}
	parts->count++;
	return 0;
}

/**
 * request_path - the path of the caller's tensor that is bound by a number
 * @req: request
 * @arg: &enum accel_arg, or ACCEL_ARG_LENGTH
 *
 * Return: "gemm.a"; of what there is not, the name of the operation.
 */
const char *request_path(const struct request *req, uint32_t arg)
{
	uint32_t i, s;

	if (arg == ACCEL_ARG_LENGTH)
		return req->length_name;
	for (s = 0; !req->parts && s < REQUEST_SLOTS; s++)
		if ((req->slots & (1u << s)) && req->t[s].arg == arg)
			return req->t[s].name;
	for (i = 0; req->parts && i < req->parts->count; i++) {
		const struct part *part = &req->parts->part[i];

		for (s = 0; s < REQUEST_SLOTS; s++)
			if ((part->req.slots & (1u << s)) && part->arg[s] == arg)
				return part->req.t[s].name;
	}
	return accel_op_name(req->op);
}

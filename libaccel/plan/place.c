// SPDX-License-Identifier: MIT
/*
 * Matches a request with an engine. An operation is supported if one capability row of the
 * device allows all of it. If none does, the rows are filtered criterion by criterion, and the
 * first criterion that leaves no row is reported as the reason.
 */
#include <ctype.h>
#include <endian.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "planner.h"

/* Maximum number of rows, each a bit of a mask; no device has as many */
#define MAX_ROWS	64

/**
 * struct matching - state of matching a request with the rows of an engine
 * @engine: engine
 * @chip: its name, for messages, or NULL
 * @req: request
 * @p: receives the reason for a refusal
 */
struct matching {
	const struct device_engine *engine;
	const char *chip;
	const struct request *req;
	struct placement *p;
};

/* A criterion: does @row allow it? */
typedef bool row_fn(const struct matching *m, const struct uma_op_cap *row,
		    uint32_t index);

static uint64_t narrow(const struct matching *m, uint64_t rows, row_fn *fn,
		       uint32_t index)
{
	uint64_t left = 0;
	uint32_t i;

	for (i = 0; i < m->engine->info.cap_count && i < MAX_ROWS; i++)
		if ((rows >> i & 1) && fn(m, &m->engine->caps[i], index))
			left |= 1ULL << i;
	return left;
}

static bool refuse(const struct matching *m, const char *name,
		   const char *suffix, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

static bool refuse(const struct matching *m, const char *name,
		   const char *suffix, const char *fmt, ...)
{
	struct placement *p = m->p;
	char why[200];
	va_list ap;

	if (!m->chip)
		return false;
	snprintf(p->field, sizeof(p->field), "%s%s%s", name, *suffix ? "." : "",
		 suffix);
	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	snprintf(p->text, sizeof(p->text), "%s engine %s on %s",
		 accel_engine_name(m->engine->info.engine), why, m->chip);
	return false;
}

static bool row_opcode(const struct matching *m, const struct uma_op_cap *row,
		       uint32_t index)
{
	(void)index;
	return le16toh(row->opcode) == m->req->opcode;
}

/* The operand whose column of a row applies to a slot. */
static uint32_t judged_as(const struct matching *m, uint32_t slot)
{
	return uma_op_class(m->req->opcode)->like_b >> slot & 1 ? (uint32_t)UMA_SLOT_B : slot;
}

/* Does the row restrict the type of a slot? */
static bool asked(const struct matching *m, uint32_t slot)
{
	return m->req->slots & ~uma_op_class(m->req->opcode)->fixed & (1u << slot);
}

/* Operands other than DST, A and B have a type of A or DST, or binary32. */
static uint32_t dtypes_of(const struct uma_op_cap *row, uint32_t column)
{
	switch (column) {
	case UMA_SLOT_DST:
		return le32toh(row->d_dtypes);
	case UMA_SLOT_A:
		return le32toh(row->a_dtypes);
	case UMA_SLOT_B:
		return le32toh(row->b_dtypes);
	default:
		return le32toh(row->a_dtypes | row->d_dtypes) |
		       1u << UMA_DTYPE_F32;
	}
}

static bool row_dtype(const struct matching *m, const struct uma_op_cap *row,
		      uint32_t slot)
{
	return dtypes_of(row, judged_as(m, slot)) >> m->req->t[slot].dtype & 1;
}

static bool row_quant(const struct matching *m, const struct uma_op_cap *row,
		      uint32_t slot)
{
	uint32_t column = judged_as(m, slot);
	uint32_t shift = column == UMA_SLOT_A ? 0 : column == UMA_SLOT_B ? 8 :
			 column == UMA_SLOT_DST ? 16 : 24;

	return le32toh(row->quants) >> shift >> quant_scheme(&m->req->t[slot].quant) & 1;
}

static bool row_func(const struct matching *m, const struct uma_op_cap *row,
		     uint32_t bit)
{
	(void)m;
	return le32toh(row->funcs) >> bit & 1;
}

static bool row_epilogue(const struct matching *m, const struct uma_op_cap *row,
			 uint32_t flag)
{
	(void)m;
	return le32toh(row->epilogue) & flag;
}

static bool row_act(const struct matching *m, const struct uma_op_cap *row,
		    uint32_t index)
{
	(void)index;
	return le32toh(row->acts) >> m->req->act & 1;
}

static bool row_rank(const struct matching *m, const struct uma_op_cap *row,
		     uint32_t slot)
{
	return m->req->t[slot].rank <= row->rank_max;
}

/* @index counts the dimensions of all operands */
static bool row_dim(const struct matching *m, const struct uma_op_cap *row,
		    uint32_t index)
{
	const struct operand *t = &m->req->t[index / ACCEL_MAX_RANK];

	return t->dims[index % ACCEL_MAX_RANK] <= le32toh(row->dim_max);
}

static bool row_k(const struct matching *m, const struct uma_op_cap *row,
		  uint32_t index)
{
	(void)index;
	return m->req->k <= le32toh(row->k_max) && m->req->k <= le32toh(row->dim_max);
}

/* Addresses are only known in advance for accel_run(). */
static bool row_align(const struct matching *m, const struct uma_op_cap *row,
		      uint32_t slot)
{
	uint32_t align = le32toh(row->align);

	return !align || m->req->t[slot].addr % align == 0;
}

/* The largest value of a limit in the remaining rows, for messages. */
static uint64_t best(const struct matching *m, uint64_t rows,
		     uint64_t (*limit)(const struct uma_op_cap *))
{
	uint64_t v, max = 0;
	uint32_t i;

	for (i = 0; i < m->engine->info.cap_count && i < MAX_ROWS; i++) {
		v = rows >> i & 1 ? limit(&m->engine->caps[i]) : 0;
		max = v > max ? v : max;
	}
	return max;
}

static uint64_t limit_rank(const struct uma_op_cap *row)
{
	return row->rank_max;
}

static uint64_t limit_dim(const struct uma_op_cap *row)
{
	return le32toh(row->dim_max);
}

static uint64_t limit_k(const struct uma_op_cap *row)
{
	uint32_t k = le32toh(row->k_max), dim = le32toh(row->dim_max);

	return k < dim ? k : dim;
}

/* The last part of the operand's path in the descriptor: "A", "bias", "mask". */
static const char *noun(const struct operand *t, char buf[32])
{
	const char *dot = strrchr(t->name, '.');

	snprintf(buf, 32, "%s", dot ? dot + 1 : t->name);
	if (!buf[1])
		buf[0] = (char)toupper((unsigned char)buf[0]);
	return buf;
}

static bool match_types(const struct matching *m, uint64_t *rows)
{
	static const uint32_t order[REQUEST_SLOTS] = {
		UMA_SLOT_A, UMA_SLOT_B, UMA_SLOT_DST, UMA_SLOT_C, UMA_SLOT_SCALE,
		UMA_SLOT_BIAS, UMA_SLOT_RESIDUAL, UMA_SLOT_AUX0, UMA_SLOT_AUX1,
		UMA_SLOT_AUX2, UMA_SLOT_AUX3, UMA_SLOT_AUX4
	};
	static const char * const scheme[ACCEL_QUANT_COUNT] = {
		"unquantised", "tensor-quantised", "channel-quantised",
		"group-quantised"
	};
	const struct request *req = m->req;
	char with[96] = "", name[32];
	uint64_t left;
	uint32_t i;

	for (i = 0; i < REQUEST_SLOTS; i++) {
		const struct operand *t = &req->t[order[i]];

		if (!asked(m, order[i]))
			continue;
		left = narrow(m, *rows, row_dtype, order[i]);
		if (!left)
			return refuse(m, t->name, "dtype",
				      "has no %s %s operand%s%s",
				      accel_dtype_name(t->dtype),
				      noun(t, name), *with ? " with " : "",
				      with);
		*rows = left;
		/* The types of DST, A and B have been checked together; check the others. */
		if (i > 2)
			continue;
		snprintf(with + strlen(with), sizeof(with) - strlen(with),
			 "%s%s %s", *with ? ", " : "",
			 accel_dtype_name(t->dtype), noun(t, name));
	}
	for (i = 0; i < REQUEST_SLOTS; i++) {
		const struct operand *t = &req->t[order[i]];

		if (!asked(m, order[i]))
			continue;
		left = narrow(m, *rows, row_quant, order[i]);
		if (!left)
			return refuse(m, t->name, "quant.scheme",
				      "takes no %s %s operand%s with %s",
				      scheme[t->quant.scheme], noun(t, name),
				      quant_scheme(&t->quant) == ACCEL_QUANT_GROUP_MIN ?
				      " with minima" : "", with);
		*rows = left;
	}
	return true;
}

static bool match_functions(const struct matching *m, uint64_t *rows)
{
	static const struct {
		uint32_t flag, slot;
		const char *what;
	} part[] = {
		{ UMA_EPI_SCALE, UMA_SLOT_SCALE, "scale" },
		{ UMA_EPI_BIAS, UMA_SLOT_BIAS, "bias" },
		{ UMA_EPI_RESIDUAL, UMA_SLOT_RESIDUAL, "residual" },
		{ UMA_EPI_RESIDUAL_POST, UMA_SLOT_RESIDUAL,
		  "residual after the activation" },
	};
	const struct request *req = m->req;
	char name[64];
	uint64_t left;
	uint32_t i;

	for (i = 0; i < 32; i++) {
		if (!(req->funcs >> i & 1))
			continue;
		left = narrow(m, *rows, row_func, i);
		if (!left && !req->class->func_field)
			return refuse(m, accel_op_name(req->op), req->class->func_name(i),
				      "has no %s in its %s with these types",
				      req->class->func_name(i), accel_op_name(req->op));
		if (!left)
			return refuse(m, accel_op_name(req->op), req->class->func_field,
				      "has no function %s with these types",
				      req->class->func_name(i));
		*rows = left;
	}
	for (i = 0; i < sizeof(part) / sizeof(part[0]); i++) {
		if (!(req->epilogue & part[i].flag))
			continue;
		left = narrow(m, *rows, row_epilogue, part[i].flag);
		if (!left)
			return refuse(m, req->t[part[i].slot].name, "",
				      "has no %s in its epilogue with these types",
				      part[i].what);
		*rows = left;
	}
	if (!req->act)
		return true;
	left = narrow(m, *rows, row_act, 0);
	snprintf(name, sizeof(name), "%s.epilogue", accel_op_name(req->op));
	if (!left)
		return refuse(m, name, "act",
			      "has no activation %s with these types",
			      act_name(req->act));
	*rows = left;
	return true;
}

static bool match_dims(const struct matching *m, uint64_t *rows, uint32_t slot)
{
	const struct operand *t = &m->req->t[slot];
	char suffix[24];
	uint64_t left;
	uint32_t i;

	if (!(m->req->slots & (1u << slot)))
		return true;
	left = narrow(m, *rows, row_rank, slot);
	if (!left)
		return refuse(m, t->name, "rank", "takes no rank %u but at most %llu",
			      t->rank,
			      (unsigned long long)best(m, *rows, limit_rank));
	*rows = left;
	for (i = 0; i < t->rank; i++) {
		left = narrow(m, *rows, row_dim, slot * ACCEL_MAX_RANK + i);
		snprintf(suffix, sizeof(suffix), "dims[%u]", i);
		if (!left)
			return refuse(m, t->name, suffix,
				      "takes no dimension of %lld but at most %llu",
				      (long long)t->dims[i],
				      (unsigned long long)best(m, *rows, limit_dim));
		*rows = left;
	}
	return true;
}

static bool match_shape(const struct matching *m, uint64_t *rows)
{
	const struct request *req = m->req;
	uint64_t left;
	uint32_t s;

	if (!match_dims(m, rows, UMA_SLOT_DST))
		return false;
	if (req->k_field) {
		left = narrow(m, *rows, row_k, 0);
		if (!left)
			return refuse(m, req->k_field, "",
				      "takes no K of %lld but at most %llu",
				      (long long)req->k,
				      (unsigned long long)best(m, *rows, limit_k));
		*rows = left;
	}
	for (s = UMA_SLOT_DST + 1; s < REQUEST_SLOTS; s++)
		if (!match_dims(m, rows, s))
			return false;
	return true;
}

static bool match_align(const struct matching *m, uint64_t *rows)
{
	const struct request *req = m->req;
	uint64_t left;
	uint32_t s;

	for (s = 0; s < REQUEST_SLOTS; s++) {
		/* Memory that the plan holds is aligned. */
		if (!(req->slots & (1u << s)) || !req->t[s].addr ||
		    (s == UMA_SLOT_B && req->pack))
			continue;
		left = narrow(m, *rows, row_align, s);
		if (!left)
			return refuse(m, req->t[s].name, "offset",
				      "needs a better alignment than address 0x%llx has",
				      (unsigned long long)req->t[s].addr);
		*rows = left;
	}
	return true;
}

static const struct uma_op_cap *first_row(const struct matching *m, uint64_t rows)
{
	return rows ? &m->engine->caps[__builtin_ctzll(rows)] : NULL;
}

/* The row with which this engine packs B for the row that was found, or NULL. */
static const struct uma_op_cap *pack_row(const struct matching *m, uint32_t layout)
{
	const struct operand *b = &m->req->t[UMA_SLOT_B];
	uint32_t i, type = 1u << b->dtype;

	/* A packed operand contains all its matrices, so there is no broadcast. */
	for (i = 0; i + 2 < b->rank; i++)
		if (b->dims[i] > 1 && !b->strides[i])
			return NULL;
	for (i = 0; i < m->engine->info.cap_count; i++) {
		const struct uma_op_cap *row = &m->engine->caps[i];

		if (le16toh(row->opcode) == UMA_OP_PACK &&
		    (row->layouts >> layout & 1) &&
		    (le32toh(row->a_dtypes) & type) &&
		    (le32toh(row->d_dtypes) & type) &&
		    b->rank <= row->rank_max &&
		    row->block_k == m->p->row->block_k &&
		    row->block_n == m->p->row->block_n &&
		    (!row->align || b->addr % le32toh(row->align) == 0) &&
		    b->dims[b->rank - 1] <= le32toh(row->dim_max) &&
		    b->dims[b->rank - 2] <= le32toh(row->dim_max) &&
		    packed_bytes(b, row, layout) != UINT64_MAX)
			return row;
	}
	return NULL;
}

static bool row_packed(const struct matching *m, const struct uma_op_cap *row,
		       uint32_t layout)
{
	(void)m;
	return row->layouts >> layout & 1;
}

/* Find rows that support a packed layout of B, and can be packed. */
static bool match_packed(const struct matching *m, uint64_t rows, uint32_t layout)
{
	struct placement *p = m->p;
	uint64_t packed = narrow(m, rows, row_packed, layout);

	if (!packed)
		return false;
	p->row = first_row(m, packed);
	p->pack = pack_row(m, layout);
	return p->pack;
}

static bool match(const struct matching *m)
{
	struct placement *p = m->p;
	uint64_t rows;

	rows = narrow(m, UINT64_MAX, row_opcode, 0);
	if (!rows)
		return refuse(m, accel_op_name(m->req->op), "hdr.op",
			      "does not do %s", accel_op_name(m->req->op));
	if (m->req->length && !(m->engine->info.flags & ACCEL_ENGINE_LENGTHS))
		return refuse(m, m->req->length_name, "dynamic",
			      "reads no dimensions from memory");
	if (!match_types(m, &rows) || !match_functions(m, &rows) ||
	    !match_shape(m, &rows) || !match_align(m, &rows))
		return false;
	p->row = first_row(m, rows);
	p->form = WEIGHTS_PLAIN;
	if (!m->req->pack)
		return true;
	if (m->req->winograd) {
		p->form = WEIGHTS_WINOGRAD;
		if (!match_packed(m, rows, UMA_LAYOUT_GEMM_B)) {
			p->pack = NULL;
			p->row = first_row(m, rows);
		}
		return true;
	}
	p->form = WEIGHTS_DENSE;
	/* In their original layout the weights are not matrices. */
	if (m->req->opcode == UMA_OP_CONV && !m->req->only_packed)
		return true;
	/* The header of a packed operand has all dimensions, so none can be read at run time. */
	if (m->req->t[UMA_SLOT_B].dynamic)
		return true;
	/* An engine that supports packed operands prefers them. */
	if (m->req->sparse && !m->req->dense && match_packed(m, rows, UMA_LAYOUT_GEMM_B24))
		p->form = WEIGHTS_SPARSE;
	else if (match_packed(m, rows, UMA_LAYOUT_GEMM_B))
		p->form = WEIGHTS_PACKED;
	else
		p->row = first_row(m, rows);
	return p->pack || !m->req->only_packed;
}

/**
 * place_on - match a request with an engine
 * @engine: engine
 * @chip: name of the chip, for messages; NULL: reasons are not needed
 * @v: variants of the request, best first
 * @count: number of @v
 * @p: out: row and variant, or field and text of the refusal
 *
 * A refusal is that of the last variant, which is the operation as described by the caller.
 *
 * Return: true if it is supported.
 */
bool place_on(const struct device_engine *engine, const char *chip,
	      const struct request *v, uint32_t count, struct placement *p)
{
	struct matching m = { .engine = engine, .chip = chip, .p = p };
	uint32_t i;

	memset(p, 0, sizeof(*p));
	for (i = 0; i < count; i++) {
		m.req = &v[i];
		if (match(&m)) {
			p->variant = i;
			p->field[0] = 0;
			p->text[0] = 0;
			return true;
		}
	}
	return false;
}

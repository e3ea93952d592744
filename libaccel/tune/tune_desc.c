// SPDX-License-Identifier: MIT
/*
 * An operation as text: what its descriptor says, without buffers and addresses,
 * and always the same for the same. And back, for measuring again.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tune.h"

/* Descriptors are written in words of this many bytes, those that are not zero */
#define WORD		8u
/* In the text: there is a table of zero points */
#define ZEROS_MARK	((struct accel_bo *)1)

/* What a pointer to a table points to where there is none. */
static struct accel_bo no_table;

static struct accel_tensor *tensor_in(const struct request *req, uint32_t slot,
				      union any_desc *copy)
{
	return req->slots & (1u << slot) ? desc_tensor(req, req->t[slot].from, copy) : NULL;
}

/* What is not read makes no other operation. */
static void drop_unread(const struct request *req, union any_desc *copy)
{
	struct accel_tensor *t = desc_tensor(req, req->unread, copy);

	if (t)
		memset(t, 0, sizeof(*t));
}

/* Strides that are those of a dense tensor need not be there. */
static void drop_strides(struct accel_tensor *t)
{
	int64_t step = 1;
	uint32_t i;

	if (!(t->flags & ACCEL_TENSOR_STRIDES))
		return;
	for (i = t->rank; i-- > 0; ) {
		if (t->strides[i] != step)
			return;
		if (t->dims[i] > 1 && __builtin_mul_overflow(step, t->dims[i], &step))
			return;
	}
	t->flags &= ~ACCEL_TENSOR_STRIDES;
	memset(t->strides, 0, sizeof(t->strides));
}

static void strip(struct accel_tensor *t)
{
	struct accel_quant *q = &t->quant;

	t->bo = NULL;
	t->offset = 0;
	t->flags &= ~ACCEL_TENSOR_ANY;
	q->scales = NULL;
	q->scales_offset = 0;
	q->zeros = q->zeros ? &no_table : NULL;
	q->zeros_offset = 0;
	if (q->scheme >= ACCEL_QUANT_CHANNEL && !q->scale_dtype)
		q->scale_dtype = ACCEL_F32;
	drop_strides(t);
}

/**
 * tune_desc_make - the descriptor of an operation without its buffers
 * @req: request of one task
 * @engine: &enum accel_engine that was settled on
 * @out: descriptor; where there are zero points, quant.zeros is not NULL, but no
 *	buffer either
 *
 * Return: 0; -EOPNOTSUPP its tensors are not in its descriptor.
 */
int tune_desc_make(const struct request *req, uint32_t engine, union any_desc *out)
{
	struct accel_tensor *t;
	uint32_t s;

	if (req->parts)
		return -EOPNOTSUPP;
	memset(out, 0, sizeof(*out));
	memcpy(out, req->desc, req->class->size);
	for (s = 0; s < REQUEST_SLOTS; s++) {
		if (!(req->slots & (1u << s)))
			continue;
		t = tensor_in(req, s, out);
		if (!t)
			return -EOPNOTSUPP;
		strip(t);
	}
	drop_unread(req, out);
	out->hdr.size = (uint32_t)req->class->size;
	out->hdr.engine = engine;
	return 0;
}

/* Where the pointers to the zero points are; the only ones that are left. */
static uint64_t word_at(const union any_desc *desc, uint32_t i)
{
	const struct accel_bo *mark = &no_table;
	uint64_t v, m;

	memcpy(&v, (const char *)desc + (size_t)i * WORD, WORD);
	m = (uintptr_t)mark;
	return v == m ? (uintptr_t)ZEROS_MARK : v;
}

/**
 * tune_desc_encode - a descriptor as text
 * @desc: of tune_desc_make()
 * @buf: out: runs of words that are not zero: "0:hex,7:hex"
 * @size: bytes of @buf
 *
 * Return: 0, -ENOSPC.
 */
int tune_desc_encode(const union any_desc *desc, char *buf, size_t size)
{
	uint32_t i, words = desc->hdr.size / WORD;
	bool run = false;
	size_t len = 0;
	uint64_t v;

	buf[0] = 0;
	if (desc->hdr.size % WORD)
		return -ENOSPC;
	for (i = 0; i < words; i++) {
		v = word_at(desc, i);
		if (!v) {
			run = false;
			continue;
		}
		if (!run)
			len += (size_t)snprintf(buf + len, size - len, "%s%u:", len ? "," : "", i);
		if (len >= size)
			return -ENOSPC;
		len += (size_t)snprintf(buf + len, size - len, "%016llx", (unsigned long long)v);
		if (len >= size)
			return -ENOSPC;
		run = true;
	}
	return 0;
}

static int hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Words from @text on, from number @at. Returns where they end, NULL if they are none. */
static const char *get_words(const char *text, uint32_t at, union any_desc *desc)
{
	uint64_t v;
	uint32_t i;

	do {
		for (v = 0, i = 0; i < 2 * WORD; i++, text++) {
			if (hex(*text) < 0)
				return NULL;
			v = v << 4 | (uint64_t)hex(*text);
		}
		if (((size_t)at + 1) * WORD > sizeof(*desc))
			return NULL;
		memcpy((char *)desc + (size_t)at * WORD, &v, WORD);
		at++;
	} while (hex(*text) >= 0);
	return text;
}

/* Nothing that was read may be taken for a pointer. */
static int check_pointers(const struct request *req, union any_desc *desc)
{
	struct accel_tensor *t;
	uint32_t s;

	for (s = 0; s < REQUEST_SLOTS; s++) {
		if (!(req->slots & (1u << s)))
			continue;
		t = tensor_in(req, s, desc);
		if (!t || t->bo || t->quant.scales ||
		    (t->quant.zeros && t->quant.zeros != ZEROS_MARK &&
		     t->quant.zeros != &no_table))
			return -EBADMSG;
		if (t->quant.zeros)
			t->quant.zeros = &no_table;
	}
	drop_unread(req, desc);
	return 0;
}

/**
 * tune_desc_decode - a descriptor of a text
 * @text: of tune_desc_encode(), or anything
 * @desc: out
 *
 * Return: 0; -EBADMSG not such a text, or not an operation that this library takes.
 */
int tune_desc_decode(const char *text, union any_desc *desc)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	const struct op_class *class;
	struct request req;
	union any_desc copy;
	uint32_t at;
	int ret;

	memset(desc, 0, sizeof(*desc));
	while (*text) {
		if (hex(*text) < 0 || *text > '9')
			return -EBADMSG;
		for (at = 0; *text >= '0' && *text <= '9' && at < sizeof(*desc); text++)
			at = at * 10 + (uint32_t)(*text - '0');
		if (*text++ != ':')
			return -EBADMSG;
		text = get_words(text, at, desc);
		if (!text || (*text && *text != ','))
			return -EBADMSG;
		text += *text == ',';
	}
	class = op_class(desc->hdr.op);
	if (!class || desc->hdr.size != class->size)
		return -EBADMSG;
	if (request_create(&desc->hdr, &copy, &req, &e))
		return -EBADMSG;
	/* The request points into the copy, at the same places; lengths are not measured. */
	ret = req.parts || req.length ? -EBADMSG : check_pointers(&req, desc);
	request_release(&req);
	return ret;
}

static size_t put(char *buf, size_t size, size_t len, const char *text)
{
	if (len < size)
		len += (size_t)snprintf(buf + len, size - len, "%s", text);
	return len < size ? len : size;
}

static size_t put_operand(const struct operand *t, char *buf, size_t size, size_t len)
{
	const char *dot = strchr(t->name, '.');
	char text[128];
	uint32_t i;

	snprintf(text, sizeof(text), ", %.24s %s ", dot ? dot + 1 : t->name,
		 accel_dtype_name(t->from->dtype));
	len = put(buf, size, len, text);
	for (i = 0; i < t->from->rank; i++) {
		snprintf(text, sizeof(text), "%s%lld", i ? "x" : "", (long long)t->from->dims[i]);
		len = put(buf, size, len, text);
	}
	return len;
}

/**
 * tune_desc_words - an operation for a person
 * @req: request
 * @buf: out: "gemm, a fp32 32x64, b fp32 64x16, d fp32 32x16, packed"
 * @size: bytes of @buf
 */
void tune_desc_words(const struct request *req, char *buf, size_t size)
{
	size_t len = put(buf, size, 0, accel_op_name(req->op));
	uint32_t s;

	for (s = UMA_SLOT_DST + 1; s < REQUEST_SLOTS; s++)
		if ((req->slots & (1u << s)) && req->t[s].from != req->t[UMA_SLOT_DST].from)
			len = put_operand(&req->t[s], buf, size, len);
	len = put_operand(&req->t[UMA_SLOT_DST], buf, size, len);
	if (req->pack)
		len = put(buf, size, len, req->sparse ? ", packed, sparse" : ", packed");
	if (req->act) {
		len = put(buf, size, len, ", ");
		put(buf, size, len, act_name(req->act));
	}
}

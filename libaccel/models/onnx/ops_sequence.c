// SPDX-License-Identifier: MIT
/*
 * Sequences and optional values. Which values are in a sequence is known while a file is read, so
 * nothing of one is left in the graph: its operators choose among values.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnx.h"

/* Values of one sequence; those that sequences of a file are split into, and that are joined */
#define MAX_LENGTH	512
#define MAX_PIECES	65536

/**
 * struct sequence - values in a row, or nothing
 * @next: another one of the file
 * @none: it is an optional value that is not there
 * @type: of its elements
 * @count: number of values
 * @values: values of the graph
 */
struct sequence {
	struct sequence *next;
	bool none;
	uint32_t type;
	uint32_t count;
	uint32_t values[];
};

void free_sequences(struct import *im)
{
	struct sequence *s, *next;

	for (s = im->sequences; s; s = next) {
		next = s->next;
		free(s);
	}
}

/* A sequence with room for values, NULL: the import has an error */
static struct sequence *create(struct import *im, uint32_t type, int64_t count)
{
	struct sequence *s;

	if (count > MAX_LENGTH) {
		im_fail(im, -EOPNOTSUPP, "a sequence of %" PRId64 " values, of %d at most", count,
			MAX_LENGTH);
		return NULL;
	}
	s = calloc(1, sizeof(*s) + (size_t)count * sizeof(s->values[0]));
	if (!s) {
		im_fail(im, -ENOMEM, "out of memory");
		return NULL;
	}
	s->type = type;
	s->count = (uint32_t)count;
	s->next = im->sequences;
	im->sequences = s;
	return s;
}

/* A name stands for what an input or a result is, a sequence or not. */
int bind_ref(struct import *im, struct slice name, const struct ref *ref)
{
	int ret = bind_name(im, name, ref->value, ref->data);

	if (!ret)
		im_name(im, name)->sequence = ref->sequence;
	return ret;
}

/* The same of the node's result */
int give_ref(struct import *im, uint32_t index, const struct ref *ref)
{
	if (!ref->sequence)
		return im_give_data(im, index, ref->value, ref->data);
	return index < im->out_count && im->out[index].n ? bind_ref(im, im->out[index], ref) : 0;
}

static int give(struct import *im, const struct sequence *s)
{
	const struct ref ref = { .here = true, .value = NO_VALUE, .sequence = s };

	return im->error.code ? im->error.code : give_ref(im, 0, &ref);
}

/**
 * sequence_bind - an input of the file is a sequence, or nothing
 * @im: import
 * @name: of the input, which is bound
 * @said: how many values it has
 * @type: of their elements
 * @values: inputs of the graph
 *
 * Return: 0, or the error that @im has.
 */
int sequence_bind(struct import *im, struct slice name, const struct accel_model_input *said,
		  uint32_t type, const uint32_t *values)
{
	struct sequence *s = create(im, type, said->count);

	if (!s)
		return im->error.code;
	s->none = said->flags & ACCEL_MODEL_ABSENT;
	if (said->count)
		memcpy(s->values, values, said->count * sizeof(s->values[0]));
	im_name(im, name)->sequence = s;
	return 0;
}

/* Each of its values is an output of the graph; what is not there is none. */
int sequence_output(struct import *im, const struct name *n)
{
	const struct sequence *s = n->sequence;
	char name[300];
	uint32_t i;
	int ret = 0;

	/* A node that runs the graph has results of which each is one value. */
	if (im->parent)
		return im_fail(im, -EOPNOTSUPP, "output %s of a graph is a sequence", n->text);
	for (i = 0; i < s->count && !ret; i++) {
		snprintf(name, sizeof(name), "%.250s[%u]", n->text, i);
		im->model->info.output_count++;
		ret = im_graph(im, accel_graph_output(im->model->graph, name, s->values[i]));
	}
	return ret;
}

static int need_sequence(struct import *im, const struct sequence **s)
{
	*s = im_input(im, 0)->sequence;
	return *s && !(*s)->none ? 0 : im_fail(im, -EBADMSG, "its first input is no sequence");
}

/* A place, which has to be known now: from -@count to @count - 1, or @otherwise */
static int find_place(struct import *im, uint32_t input, uint32_t count, int64_t otherwise,
		      uint32_t *place)
{
	int64_t at = otherwise;
	uint32_t n = 1;

	if (im_input(im, input)->here &&
	    (!im_numbers(&im->in[input], &at, &n, 1) || n != 1))
		return im_fail(im, -EOPNOTSUPP, "a position that is not constant");
	if (at < -(int64_t)count || at >= (int64_t)count)
		return im_fail(im, -EBADMSG, "position %" PRId64 " of %u", at, count);
	*place = (uint32_t)(at < 0 ? at + count : at);
	return 0;
}

static int construct(struct import *im, uint32_t arg)
{
	struct sequence *s;
	uint32_t i;
	int ret = im->in_count ? im_need(im, im->in_count) :
		  im_fail(im, -EBADMSG, "it has no inputs");

	(void)arg;
	s = ret ? NULL : create(im, im->in[0].type, im->in_count);
	for (i = 0; s && i < im->in_count; i++) {
		if (im->in[i].sequence || im->in[i].type != s->type)
			return im_fail(im, -EBADMSG, "input %u is of another type than the first",
				       i);
		s->values[i] = im->in[i].value;
	}
	return s ? give(im, s) : im->error.code;
}

static int empty(struct import *im, uint32_t arg)
{
	const int64_t dtype = im_int(im, "dtype", ONNX_FLOAT);
	const uint32_t type = type_of(dtype);
	struct sequence *s;

	(void)arg;
	if (!type)
		return no_type(im, dtype, "dtype");
	s = create(im, type, 0);
	return s ? give(im, s) : im->error.code;
}

static int at(struct import *im, uint32_t arg)
{
	const struct sequence *s;
	uint32_t place = 0;
	int ret = im_need(im, 2);

	(void)arg;
	if (!ret)
		ret = need_sequence(im, &s);
	if (!ret)
		ret = find_place(im, 1, s->count, 0, &place);
	return ret ? ret : im_give(im, 0, s->values[place]);
}

static int insert(struct import *im, uint32_t arg)
{
	const struct sequence *s;
	struct sequence *to;
	uint32_t place = 0;
	int ret = im_need(im, 2);

	(void)arg;
	if (!ret)
		ret = need_sequence(im, &s);
	if (!ret && (im->in[1].sequence || im->in[1].type != s->type))
		ret = im_fail(im, -EBADMSG, "a value of another type than those of the sequence");
	if (!ret)
		ret = find_place(im, 2, s->count + 1, s->count, &place);
	/* From the end on they count without what is new. */
	if (!ret && im_input(im, 2)->here) {
		int64_t n = 0;
		uint32_t one;

		im_numbers(&im->in[2], &n, &one, 1);
		if (n < 0 && !place--)
			ret = im_fail(im, -EBADMSG, "position %" PRId64 " of %u", n, s->count);
	}
	to = ret ? NULL : create(im, s->type, (int64_t)s->count + 1);
	if (!to)
		return im->error.code;
	if (place)
		memcpy(to->values, s->values, place * sizeof(s->values[0]));
	to->values[place] = im->in[1].value;
	if (place < s->count)
		memcpy(to->values + place + 1, s->values + place,
		       (s->count - place) * sizeof(s->values[0]));
	return give(im, to);
}

static int erase(struct import *im, uint32_t arg)
{
	const struct sequence *s;
	struct sequence *to;
	uint32_t place = 0, i;
	int ret = im_need(im, 1);

	(void)arg;
	if (!ret)
		ret = need_sequence(im, &s);
	if (!ret)
		ret = find_place(im, 1, s->count, (int64_t)s->count - 1, &place);
	to = ret ? NULL : create(im, s->type, (int64_t)s->count - 1);
	for (i = 0; to && i < to->count; i++)
		to->values[i] = s->values[i + (i >= place)];
	return to ? give(im, to) : im->error.code;
}

/* A constant number, which other places of the file may need to know */
static int give_number(struct import *im, uint32_t type, int64_t number)
{
	struct ref ref = { 0 };
	int ret = im_known(im, type, number, &ref);

	return ret ? ret : give_ref(im, 0, &ref);
}

static int length(struct import *im, uint32_t arg)
{
	const struct sequence *s;
	int ret = im_need(im, 1);

	(void)arg;
	if (!ret)
		ret = need_sequence(im, &s);
	return ret ? ret : give_number(im, ACCEL_HOST_S64, s->count);
}

/* --- to and from tensors ----------------------------------------------------------------- */

/* A file is short that makes many of one: so many more, and no more than there may be */
static int add_pieces(struct import *im, uint32_t count)
{
	im->pieces += count;
	return im->pieces <= MAX_PIECES ? 0 :
	       im_fail(im, -EOPNOTSUPP, "more than %d pieces in all", MAX_PIECES);
}

/* Pieces of @dim elements, @each of them in all but the last; 0: the import has an error */
static uint32_t count_pieces(struct import *im, int64_t dim, int64_t each)
{
	if (each < 1 || dim / each + (dim % each > 0) > MAX_LENGTH) {
		im_fail(im, -EOPNOTSUPP, "%" PRId64 " in pieces of %" PRId64, dim, each);
		return 0;
	}
	return (uint32_t)(dim / each + (dim % each > 0));
}

/* Piece @index of @count: of sizes in a list, which are checked with the dimensions, or of @each */
static uint32_t v_piece(struct import *im, uint32_t axis, uint32_t index, uint32_t count,
			int64_t each)
{
	struct accel_shape_desc d = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_PIECE);
	uint32_t out = NO_VALUE;

	if (each)
		return v_slice(im, v_in(im, 0), axis, index * each, (index + 1) * each, 1);
	d.axis = (int32_t)axis;
	d.count = count;
	d.index = index;
	return im->error.code || im_two(im, &d.hdr, im->in[0].value, im->in[1].value, &out) ?
	       NO_VALUE : out;
}

static int split(struct import *im, uint32_t arg)
{
	const struct ref *sizes = im_input(im, 1);
	const bool drop = !sizes->here && !im_int(im, "keepdims", 1);
	const bool list = sizes->here && sizes->rank;
	uint32_t axis = 0, count = 0, i, x, one = 1;
	int64_t each = list ? 0 : 1, along;
	struct sequence *s;
	int ret = im_need(im, 1);

	(void)arg;
	if (!ret && (im->in[0].sequence || sizes->sequence))
		ret = im_fail(im, -EBADMSG, "an input is a sequence");
	if (!ret)
		ret = im_axis(im, im_int(im, "axis", 0), im->in[0].rank, &axis);
	if (!ret && sizes->here && !list && !im_numbers(sizes, &each, &one, 1))
		ret = im_fail(im, -EOPNOTSUPP, "a size that is not constant");
	if (!ret && !list && im_is_symbol(im, 0, axis))
		ret = im_fail(im, -EOPNOTSUPP, "it splits dimension %u, which is a symbol", axis);
	if (ret)
		return ret;
	if (list && (sizes->rank != 1 || sizes->dims[0] > MAX_LENGTH || im_is_symbol(im, 1, 0)))
		return im_fail(im, -EOPNOTSUPP, "a list of sizes whose length is not known");
	count = list ? (uint32_t)sizes->dims[0] :
		count_pieces(im, im->in[0].dims[axis], each);
	if (!im->error.code)
		add_pieces(im, count);
	s = im->error.code ? NULL : create(im, im->in[0].type, count);
	along = axis;
	for (i = 0; s && i < count; i++) {
		x = v_piece(im, axis, i, count, each);
		s->values[i] = drop ? v_shaped_to(im, ACCEL_SHAPE_SQUEEZE, x, 1, &along) : x;
	}
	return s ? give(im, s) : im->error.code;
}

static int join(struct import *im, uint32_t arg)
{
	const bool add = im_int(im, "new_axis", 0);
	uint32_t list[MAX_LENGTH], axis = 0, rank = 0, i;
	const struct sequence *s;
	int64_t along;
	int ret = im_need(im, 1);

	(void)arg;
	if (!ret)
		ret = need_sequence(im, &s);
	if (!ret && !s->count)
		ret = im_fail(im, -EBADMSG, "nothing to be joined");
	if (!ret) {
		rank = v_rank(im, s->values[0]) + add;
		ret = im->error.code;
	}
	if (!ret)
		ret = im_axis(im, im_int(im, "axis", 0), rank, &axis);
	if (!ret)
		ret = add_pieces(im, s->count);
	if (ret)
		return ret;
	along = axis;
	for (i = 0; i < s->count; i++)
		list[i] = add ? v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, s->values[i], 1, &along) :
			  s->values[i];
	return v_give(im, 0, v_concat(im, axis, s->count, list));
}

/* --- what may not be there --------------------------------------------------------------- */

/* Input 0 as it is, a sequence or not */
static int pass_on(struct import *im, uint32_t arg)
{
	int ret = im_need(im, 1);

	(void)arg;
	return ret ? ret : give_ref(im, 0, &im->in[0]);
}

static int optional(struct import *im, uint32_t arg)
{
	struct sequence *s;

	if (im_input(im, 0)->here)
		return pass_on(im, arg);
	s = create(im, 0, 0);
	if (!s)
		return im->error.code;
	s->none = true;
	return give(im, s);
}

static bool is_there(struct import *im)
{
	const struct ref *in = im_input(im, 0);

	return in->here && (!in->sequence || !in->sequence->none);
}

static int has_element(struct import *im, uint32_t arg)
{
	(void)arg;
	return give_number(im, ACCEL_HOST_BOOL, is_there(im));
}

static int get_element(struct import *im, uint32_t arg)
{
	return is_there(im) ? pass_on(im, arg) : im_fail(im, -EBADMSG, "its input is nothing");
}

/* --- graphs for each value ------------------------------------------------------------------ */

/* Value @index of an input that is a sequence, or the input */
static int element(struct import *im, const struct ref *in, uint32_t index, struct ref *ref)
{
	*ref = *in;
	return in->sequence ? im_ref(im, in->sequence->values[index], ref) : 0;
}

static int map(struct import *im, uint32_t arg)
{
	const struct attr *body = im_attr(im, "body", ATTR_GRAPH);
	const uint32_t outs = im->out_count;
	struct ref *in = calloc(2 * MAX_IO, sizeof(*in)), *out, ref = { 0 };
	struct sequence **to = calloc(outs + 1, sizeof(struct sequence *));
	const struct slice graph = body ? body->s : (struct slice) { 0 };
	const struct sequence *s = NULL;
	uint32_t i, k, count;
	int ret;

	(void)arg;
	if (!in || !to) {
		ret = im_fail(im, -ENOMEM, "out of memory");
		goto err_free;
	}
	out = in + MAX_IO;
	ret = im_need(im, im->in_count + !im->in_count);
	if (!ret)
		ret = need_sequence(im, &s);
	if (!ret && !body)
		ret = im_fail(im, -EBADMSG, "it has no body");
	for (k = 0; !ret && s && k < im->in_count; k++)
		if (im->in[k].sequence && im->in[k].sequence->count != s->count)
			ret = im_fail(im, -EBADMSG, "input %u has %u values, the first has %u", k,
				      im->in[k].sequence->count, s->count);
	for (k = 0; !ret && k < outs; k++) {
		to[k] = create(im, s->type, s->count);
		ret = im->error.code;
	}
	for (i = 0; !ret && i < s->count; i++) {
		for (k = 0; !ret && k < im->in_count; k++)
			ret = element(im, &im->in[k], i, &in[k]);
		if (!ret)
			ret = im_inline(im, graph, in, im->in_count, out, &count);
		if (!ret && count != outs)
			ret = im_fail(im, -EBADMSG, "its graph has %u results", count);
		for (k = 0; !ret && k < outs; k++) {
			if (out[k].sequence)
				ret = im_fail(im, -EOPNOTSUPP, "a sequence of sequences");
			to[k]->type = out[k].type;
			to[k]->values[i] = out[k].value;
		}
	}
	for (k = 0; !ret && k < outs; k++) {
		ref.sequence = to[k];
		ret = give_ref(im, k, &ref);
	}
err_free:
	free(in);
	free(to);
	return ret;
}

/* Iterations of a loop that carries sequences; more than a sequence has values make no sense. */
#define MAX_UNROLLED	512

/* Results of iterations of which all are wanted, along a new first dimension */
static int give_lists(struct import *im, uint32_t first, const uint32_t *lists, uint32_t count,
		      uint32_t times)
{
	const int64_t zero = 0;
	uint32_t i, k, list[MAX_UNROLLED];
	int ret = count && !times ?
		  im_fail(im, -EOPNOTSUPP, "no iteration of which results are wanted") : 0;

	for (k = 0; k < count && !ret; k++) {
		for (i = 0; i < times; i++)
			list[i] = v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, lists[i * MAX_IO + k], 1,
					      &zero);
		ret = v_give(im, first + k, v_concat(im, 0, times, list));
	}
	return ret;
}

/*
 * A loop that carries sequences is its iterations, one after the other: how many there are has to
 * follow from the file. @refs has room for inputs and results.
 */
static int unroll(struct import *im, struct ref *refs, uint32_t *lists)
{
	const uint32_t carried = im->in_count - 2;
	const struct attr *a = im_attr(im, "body", ATTR_GRAPH);
	const struct slice graph = a ? a->s : (struct slice) { 0 };
	struct ref *in = refs, *out = refs + MAX_IO + 2;
	int64_t times = INT64_MAX, i;
	uint32_t count = carried + 1, one = 1, k;
	bool go = true;
	int ret = a ? 0 : im_fail(im, -EBADMSG, "it has no body");

	if (!ret && ((im->in[0].here && !im_numbers(&im->in[0], &times, &one, 1)) ||
		     (im->in[1].here && !im_bool(&im->in[1], &go))))
		ret = im_fail(im, -EOPNOTSUPP,
			      "how often it runs is not known, and it carries a sequence");
	for (k = 0; k < carried && !ret; k++)
		ret = im->in[2 + k].here ? 0 :
		      im_fail(im, -EBADMSG, "input %u is missing", 2 + k);
	memcpy(in + 2, im->in + 2, carried * sizeof(*in));
	for (i = 0; i < times && go && !ret; i++) {
		if (i == MAX_UNROLLED)
			return im_fail(im, -EOPNOTSUPP,
				       "more than %d iterations that carry a sequence",
				       MAX_UNROLLED);
		ret = im_known(im, ACCEL_HOST_S64, i, &in[0]);
		if (!ret)
			ret = im_known(im, ACCEL_HOST_BOOL, 1, &in[1]);
		if (!ret)
			ret = im_inline(im, graph, in, carried + 2, out, &count);
		if (!ret && count < carried + 1)
			ret = im_fail(im, -EBADMSG, "its graph has %u results", count);
		if (!ret && !im_bool(&out[0], &go))
			ret = im_fail(im, -EOPNOTSUPP,
				      "whether it goes on is not known, and it carries a sequence");
		if (ret)
			break;
		memcpy(in + 2, out + 1, carried * sizeof(*in));
		for (k = carried + 1; k < count; k++)
			lists[i * MAX_IO + k - carried - 1] = out[k].value;
	}
	if (!ret)
		ret = give_refs(im, in + 2, carried);
	return ret ? ret : give_lists(im, carried, lists, count - carried - 1, (uint32_t)i);
}

int loop_unrolled(struct import *im)
{
	struct ref *refs = calloc(2 * (MAX_IO + 2), sizeof(*refs));
	uint32_t *lists = calloc((size_t)MAX_UNROLLED * MAX_IO, sizeof(*lists));
	int ret = refs && lists ? unroll(im, refs, lists) :
		  im_fail(im, -ENOMEM, "out of memory");

	free(refs);
	free(lists);
	return ret;
}

const struct op onnx_sequence[] = {
	{ "Identity", pass_on, 0 }, { "SequenceMap", map, 0 },
	{ "SequenceConstruct", construct, 0 }, { "SequenceEmpty", empty, 0 },
	{ "SequenceAt", at, 0 }, { "SequenceInsert", insert, 0 }, { "SequenceErase", erase, 0 },
	{ "SequenceLength", length, 0 }, { "SplitToSequence", split, 0 },
	{ "ConcatFromSequence", join, 0 }, { "Optional", optional, 0 },
	{ "OptionalHasElement", has_element, 0 }, { "OptionalGetElement", get_element, 0 },
	{ 0 }
};

/* Does an operator know sequences? */
bool takes_sequences(const struct op *op)
{
	const struct op *o;

	if (!op || !strcmp(op->name, "Loop"))
		return op;
	for (o = onnx_sequence; o->name; o++)
		if (o == op)
			return true;
	return false;
}

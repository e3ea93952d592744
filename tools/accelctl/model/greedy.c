// SPDX-License-Identifier: MIT
/*
 * Continues the first row of a golden file's inputs, token by token: the whole model is run
 * each time, and the most probable token is appended.
 */
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

/**
 * struct greedy - what is compared
 * @s: session
 * @want: tokens, [1, all of them]
 * @ids: those that were right so far
 * @grows: input that they are
 * @begin: tokens that were given
 */
struct greedy {
	struct session *s;
	const struct npy *want;
	int64_t *ids;
	uint32_t grows;
	uint64_t begin;
};

/* Tokens grow that go into a decoder, or into all there is. */
static bool find_growing(struct greedy *g)
{
	const char *const names[] = { "decoder_input_ids", "input_ids" };
	struct accel_value v = ACCEL_VALUE_INIT;
	const struct npy *npy;
	uint32_t i;

	for (i = 0; i < 2; i++)
		for (g->grows = 0; !accel_program_get_input(g->s->program, g->grows, &v);
		     g->grows++) {
			if (strcmp(v.name, names[i]) || v.rank != 2)
				continue;
			npy = npz_find(&g->s->golden, "in.", v.name);
			/* A decoder's first token is the one that all begin with. */
			g->begin = !i ? 1 : npy && npy->rank == 2 ? npy->dims[1] : 0;
			return true;
		}
	return false;
}

static int set_row(struct greedy *g, uint32_t index, const struct accel_value *v, uint64_t count)
{
	const struct npy *npy = npz_find(&g->s->golden, "in.", v->name);
	int64_t dims[ACCEL_GRAPH_MAX_RANK];
	uint64_t n = 1, i;
	uint32_t k;
	void *to;
	int ret;

	if (!npy || !v->rank || npy->rank != v->rank)
		return -EINVAL;
	for (k = 0; k < v->rank; k++) {
		dims[k] = k ? (int64_t)npy->dims[k] : 1;
		if (index == g->grows && k == 1)
			dims[k] = (int64_t)count;
		n *= (uint64_t)dims[k];
	}
	ret = accel_state_set_input(g->s->state, index, v->rank, dims, NULL, 0);
	to = ret ? NULL : accel_state_get_input(g->s->state, index, NULL);
	for (i = 0; to && i < n; i++)
		element_put(v->type, to, i, index == g->grows ? (double)g->ids[i] :
			    npy_get(npy, i, v->type == ACCEL_BF16));
	return to ? 0 : ret ? ret : -ENOMEM;
}

/* The most probable token after the first @count, -1: there are no logits */
static int64_t likeliest(struct greedy *g, uint64_t count)
{
	struct accel_value v = ACCEL_VALUE_INIT;
	uint64_t n, from, at, best = 0;
	const void *data;
	uint32_t i;

	for (i = 0; !accel_state_get_output(g->s->state, i, &v, &data); i++) {
		if (strcmp(v.name, "logits") || v.rank != 3 || v.dims[0] != 1 ||
		    v.dims[1] != (int64_t)count)
			continue;
		n = (uint64_t)v.dims[2];
		from = n * (count - 1);
		for (at = 1; at < n; at++)
			if (element_get(v.type, data, from + at) >
			    element_get(v.type, data, from + best))
				best = at;
		return (int64_t)best;
	}
	return -1;
}

/* How many tokens are right one after the other; a status of the program in @status */
static uint64_t compare(struct greedy *g, int *status)
{
	struct accel_value v = ACCEL_VALUE_INIT;
	uint64_t count;
	uint32_t i;
	int ret;

	for (count = g->begin; count < g->want->count; count++) {
		for (i = 0, ret = 0; !ret && !accel_program_get_input(g->s->program, i, &v); i++)
			ret = set_row(g, i, &v, count);
		if (!ret)
			ret = accel_state_run(g->s->state);
		if (ret)
			*status = session_fail(g->s, ret);
		if (ret || likeliest(g, count) != (int64_t)npy_get(g->want, count, false))
			break;
		g->ids[count] = likeliest(g, count);
	}
	return count - g->begin;
}

int greedy_tell(struct session *s, struct json_object *doc, bool *good)
{
	struct greedy g = { .s = s, .want = npz_find(&s->golden, "out.", "greedy") };
	struct json_object *o;
	int status = CTL_OK;
	uint64_t i, all, right;

	if (!s->opts->golden || !g.want || !find_growing(&g))
		return CTL_OK;
	if (!g.begin || g.begin > g.want->count)
		return ctl_fail(s->ctl, CTL_USAGE, 0, "--golden",
				"out.greedy does not go on from its inputs");
	g.ids = ctl_alloc(g.want->count, sizeof(*g.ids));
	for (i = 0; i < g.begin; i++)
		g.ids[i] = (int64_t)npy_get(g.want, i, false);
	all = g.want->count - g.begin;
	right = compare(&g, &status);
	free(g.ids);
	if (status)
		return status;
	*good &= right == all;
	if (doc) {
		o = ctl_json_obj(doc, "greedy");
		ctl_json_bool(o, "ok", right == all);
		ctl_json_uint(o, "tokens", all);
		ctl_json_uint(o, "right", right);
	} else {
		printf("greedy: %" PRIu64 " of %" PRIu64 " tokens%s\n", right, all,
		       right == all ? "" : ": WRONG");
	}
	return CTL_OK;
}

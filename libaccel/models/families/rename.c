// SPDX-License-Identifier: MIT
/*
 * Tensors as the other kind of file has them: the two sets of names, side by side, and what is in
 * another order there.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "convert.h"
#include "encoder.h"

#define MEMBER(name)	(offsetof(struct names, name) / sizeof(char *))
#define MEMBERS		(sizeof(struct names) / sizeof(char *))
/* The same of encoders */
#define PART(name)	(offsetof(struct encoder_traits, name) / sizeof(char *))
#define PARTS		PART(before)

/**
 * struct work - a model whose tensors are renamed
 * @m: model
 * @b: for part_find()
 * @t: traits
 * @to_gguf: from a folder
 * @from: names that it has
 * @to: names that it gets
 * @used: of each tensor of the model: it was taken
 * @out: what comes of it
 * @error: what is wrong
 */
struct work {
	const struct family_model *m;
	struct family_build b;
	const struct decoder_traits *t;
	bool to_gguf;
	const char *const *from;
	const char *const *to;
	bool *used;
	struct targets *out;
	struct accel_error *error;
};

struct target *targets_add(struct targets *t, const char *name, const struct stored *from,
			   struct accel_error *error)
{
	uint32_t room = t->room ? 2 * t->room : 64;
	struct target *more = t->list;

	if (t->count == t->room) {
		more = reallocarray(t->list, room, sizeof(*more));
		if (more) {
			t->list = more;
			t->room = room;
		}
	}
	if (more)
		more[t->count] = (struct target) { .name = strdup(name), .from = from };
	if (!more || !more[t->count].name) {
		stored_fail(error, -ENOMEM, "out of memory");
		return NULL;
	}
	if (from) {
		more[t->count].rank = from->rank;
		memcpy(more[t->count].dims, from->dims, sizeof(from->dims));
	}
	return &more[t->count++];
}

void targets_free(struct targets *t)
{
	uint32_t i;

	for (i = 0; i < t->count; i++) {
		free(t->list[i].name);
		free(t->list[i].own);
		free(t->list[i].parts);
	}
	free(t->list);
}

static bool is_norm(size_t i)
{
	return (i >= MEMBER(before) && i < MEMBER(qkv)) ||
	       (i >= MEMBER(norms) && i < MEMBER(norms) + 2) || i == MEMBER(last);
}

static bool in_layers(size_t i)
{
	return i > MEMBER(layers) && i < MEMBER(last);
}

/* What is in another order, or has another number in it */
static void set_form(struct work *w, size_t i, bool weight, struct target *t)
{
	const struct family_shape *s = &w->m->shape;

	t->small = is_norm(i) || i == MEMBER(places) || i == MEMBER(experts);
	t->table = i == MEMBER(embed) || i == MEMBER(head);
	if (is_norm(i) && weight)
		t->add = (float)(w->to_gguf ? w->t->more : -w->t->more);
	if (w->t->pairs && (i == MEMBER(q) || i == MEMBER(k))) {
		t->form = w->to_gguf ? FORM_PAIRS : FORM_HALVES;
		t->heads = i == MEMBER(q) ? s->heads : s->kv_heads;
	}
	if (w->t->by_heads && i == MEMBER(qkv)) {
		t->form = w->to_gguf ? FORM_APART : FORM_TOGETHER;
		t->heads = s->heads;
	}
	if (w->t->columns && in_layers(i) && t->rank == 2) {
		int64_t rows = t->dims[0];

		t->form = FORM_TURNED;
		t->dims[0] = t->dims[1];
		t->dims[1] = rows;
	}
}

/* Its rows have to be those of whole heads. */
static int check_form(struct work *w, const struct target *t)
{
	int64_t rows = t->rank ? t->dims[0] : 1, size;

	if (!t->heads)
		return 0;
	size = t->form == FORM_APART || t->form == FORM_TOGETHER ? 3 : 2;
	return rows % (t->heads * size) ? stored_fail(w->error, -EBADMSG,
						      "%.100s: %lld rows of %lld heads",
						      t->from->name, (long long)rows,
						      (long long)t->heads) : 0;
}

static void full_name(char *name, size_t size, const char *layers, uint32_t layer,
		      const char *part, const char *kind)
{
	if (layers)
		snprintf(name, size, "%s.%u.%s%s", layers, layer, part, kind);
	else
		snprintf(name, size, "%s%s", part, kind);
}

static void mark(struct work *w, const struct stored *s)
{
	w->used[s - w->m->store.list] = true;
}

/* The name of a part in a layer, where "%u" in it becomes a number */
static void expert_name(char *name, size_t size, const char *layers, uint32_t layer,
			const char *pattern, int64_t expert, const char *kind)
{
	const char *at = strstr(pattern, "%u");
	char part[160];

	snprintf(part, sizeof(part), "%.*s%u%s", (int)(at - pattern), pattern, (uint32_t)expert,
		 at + 2);
	full_name(name, size, layers, layer, part, kind);
}

/* The matrices of experts lie apart in folders, and one behind the other in GGUF. */
static int join_experts(struct work *w, uint32_t layer, size_t i, int64_t count)
{
	const struct stored **parts = calloc((size_t)count, sizeof(*parts)), *s;
	struct target *t;
	char name[320];
	int64_t e;

	if (!parts)
		return stored_fail(w->error, -ENOMEM, "out of memory");
	for (e = 0; e < count; e++) {
		expert_name(name, sizeof(name), w->from[MEMBER(layers)], layer, w->from[i], e, "");
		s = part_find(&w->b, name, ".weight");
		/* Not all layers have some. */
		if (!s && !e) {
			free(parts);
			return 0;
		}
		if (!s || s->rank != 2 ||
		    (e && (s->type != parts[0]->type || s->format != parts[0]->format ||
			   s->dims[0] != parts[0]->dims[0] || s->dims[1] != parts[0]->dims[1]))) {
			free(parts);
			return stored_fail(w->error, -EBADMSG,
					   "%.100s is not there, or unlike the others", name);
		}
		parts[e] = s;
		mark(w, s);
	}
	full_name(name, sizeof(name), w->to[MEMBER(layers)], layer, w->to[i], ".weight");
	t = targets_add(w->out, name, parts[0], w->error);
	if (!t) {
		free(parts);
		return -ENOMEM;
	}
	t->parts = parts;
	t->stack = (uint32_t)count;
	t->rank = 3;
	t->dims[2] = t->dims[1];
	t->dims[1] = t->dims[0];
	t->dims[0] = count;
	return 0;
}

static int part_experts(struct work *w, uint32_t layer, size_t i, int64_t count)
{
	const struct stored *s;
	struct target *t;
	char name[320];
	int64_t e;

	full_name(name, sizeof(name), w->from[MEMBER(layers)], layer, w->from[i], ".weight");
	s = stored_find(&w->m->store, name);
	if (!s)
		return 0;
	if (s->rank != 3 || s->dims[0] != count)
		return stored_fail(w->error, -EBADMSG, "%.100s: not of %lld experts", name,
				   (long long)count);
	mark(w, s);
	for (e = 0; e < count; e++) {
		expert_name(name, sizeof(name), w->to[MEMBER(layers)], layer, w->to[i], e,
			    ".weight");
		t = targets_add(w->out, name, s, w->error);
		if (!t)
			return -ENOMEM;
		t->rank = 2;
		t->dims[0] = s->dims[1];
		t->dims[1] = s->dims[2];
		t->first = e * s->dims[1];
	}
	return 0;
}

static int rename_experts(struct work *w, uint32_t layer, size_t i)
{
	const char *pattern = w->to_gguf ? w->from[i] : w->to[i];
	int64_t count = config_whole(&w->m->config, "num_local_experts", 0);

	if (!pattern || !strstr(pattern, "%u") || count < 1 || count > 4096)
		return 0;
	return w->to_gguf ? join_experts(w, layer, i, count) : part_experts(w, layer, i, count);
}

static int rename_one(struct work *w, bool layered, uint32_t layer, size_t i)
{
	static const char *const kinds[] = { ".weight", ".bias" };
	const char *to = w->to[i];
	const struct stored *s;
	struct target *t;
	char name[320];
	uint32_t k;
	int ret = 0;

	if (!w->from[i])
		return 0;
	if (i > MEMBER(experts) && i < MEMBER(experts) + 4)
		return rename_experts(w, layer, i);
	for (k = 0; k < 2 && !ret; k++) {
		full_name(name, sizeof(name), layered ? w->from[MEMBER(layers)] : NULL, layer,
			  w->from[i], "");
		s = part_find(&w->b, name, kinds[k]);
		if (!s || w->used[s - w->m->store.list])
			continue;
		/* GGUF has a gate and what it is for by the name of the latter. */
		if (i == MEMBER(gate_up))
			to = w->to[MEMBER(up)];
		if (i == MEMBER(up) && !w->to_gguf && w->to[MEMBER(gate_up)] && s->rank &&
		    s->dims[0] == 2 * w->m->shape.inner)
			to = w->to[MEMBER(gate_up)];
		if (!to)
			continue;
		full_name(name, sizeof(name), layered ? w->to[MEMBER(layers)] : NULL, layer, to,
			  kinds[k]);
		t = targets_add(w->out, name, s, w->error);
		if (!t)
			return -ENOMEM;
		set_form(w, i, !k, t);
		ret = check_form(w, t);
		mark(w, s);
	}
	return ret;
}

/* LLaMA 3's divisors are a tensor in GGUF. */
static int rename_rope(struct work *w)
{
	const struct config *c = &w->m->config;
	int64_t turn = w->m->shape.head_dim, i;
	struct target *t;
	char type[32];

	config_text(c, "rope_type", type, sizeof(type));
	if (!w->to_gguf || strcmp(type, "llama3"))
		return 0;
	t = targets_add(w->out, "rope_freqs.weight", NULL, w->error);
	if (t)
		t->own = calloc((size_t)turn / 2 + 1, sizeof(*t->own));
	if (!t || !t->own)
		return stored_fail(w->error, -ENOMEM, "out of memory");
	t->rank = 1;
	t->dims[0] = turn / 2;
	t->small = true;
	for (i = 0; i < turn / 2; i++)
		t->own[i] = (float)describe_divisor(config_real(c, "rope_theta", 10000), i, turn,
						    config_real(c, "rope_factor", 1),
						    config_real(c, "rope_low", 0),
						    config_real(c, "rope_high", 0),
						    config_real(c, "rope_trained",
								(double)w->m->shape.positions));
	return 0;
}

bool rename_weight(const struct family_model *m, const char *name, const struct stored *s, char *to,
		   size_t size, struct target *t)
{
	const struct decoder_traits *traits = m->family->traits;
	const char *const *folder = (const char *const *)&traits->names;
	const char *const *gguf = (const char *const *)&gguf_names;
	struct work w = { .m = m, .t = traits, .to_gguf = true };
	const char *part = name;
	uint32_t layer = 0;
	int n = 0;
	size_t i;

	if (sscanf(name, "blk.%u.%n", &layer, &n) == 1 && n)
		part = name + n;
	for (i = 0; i < MEMBERS; i++)
		if (in_layers(i) == !!n && gguf[i] && !strcmp(gguf[i], part))
			break;
	if (i == MEMBERS)
		return false;
	*t = (struct target) { .form = FORM_SAME };
	set_form(&w, i, false, t);
	/* GGUF has a gate and what it is for by the name of the latter. */
	if (i == MEMBER(up) && folder[MEMBER(gate_up)] && s->rank == 2 &&
	    s->dims[0] == 2 * m->shape.inner)
		i = MEMBER(gate_up);
	if (!folder[i])
		return false;
	full_name(to, size, n ? folder[MEMBER(layers)] : NULL, layer, folder[i], "");
	return true;
}

/* --- encoders ------------------------------------------------------------------------------- */

static int rename_part(struct work *w, bool layered, uint32_t layer, size_t i)
{
	static const char *const kinds[] = { ".weight", ".bias" };
	const struct stored *s;
	struct target *t;
	char name[320];
	uint32_t k;

	for (k = 0; k < 2 && w->from[i] && w->to[i]; k++) {
		full_name(name, sizeof(name), layered ? w->from[PART(layers)] : NULL, layer,
			  w->from[i], "");
		s = part_find(&w->b, name, kinds[k]);
		if (!s || w->used[s - w->m->store.list])
			continue;
		full_name(name, sizeof(name), layered ? w->to[PART(layers)] : NULL, layer, w->to[i],
			  kinds[k]);
		t = targets_add(w->out, name, s, w->error);
		if (!t)
			return -ENOMEM;
		t->table = i == PART(embed);
		t->small = i == PART(places) || i == PART(types) || i == PART(first) ||
			   i == PART(norms) || i == PART(norms) + 1;
		mark(w, s);
	}
	return 0;
}

static int rename_encoder(struct work *w)
{
	uint32_t layer;
	size_t i;
	int ret = 0;

	for (i = 0; i < PARTS && !ret; i++)
		if (i < PART(layers) || i >= PART(last))
			ret = rename_part(w, false, 0, i);
	for (layer = 0; layer < w->m->shape.layers && !ret; layer++)
		for (i = PART(layers) + 1; i < PART(last) && !ret; i++)
			ret = rename_part(w, true, layer, i);
	return ret;
}

/* --- all of them ---------------------------------------------------------------------------- */

/* What follows from the configuration, and is stored by some */
static bool is_known(const char *name)
{
	static const char *const ends[] = {
		".attn.bias", ".attn.masked_bias", ".attention.bias", ".attention.masked_bias",
		"rotary_emb.inv_freq", "rope_freqs.weight", "embeddings.position_ids"
	};
	size_t i, n = strlen(name), k;

	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		k = strlen(ends[i]);
		if (n >= k && !strcmp(name + n - k, ends[i]))
			return true;
	}
	return false;
}

static int rename_decoder(struct work *w)
{
	uint32_t layer;
	size_t i;
	int ret = 0;

	for (i = 0; i < MEMBERS && !ret; i++)
		if (!in_layers(i) && i != MEMBER(layers))
			ret = rename_one(w, false, 0, i);
	for (layer = 0; layer < w->m->shape.layers && !ret; layer++)
		for (i = 0; i < MEMBERS && !ret; i++)
			if (in_layers(i))
				ret = rename_one(w, true, layer, i);
	return ret ? ret : rename_rope(w);
}

int rename_tensors(const struct family_model *m, struct targets *t, struct accel_error *error)
{
	const bool encoder = m->family->build == encoder_build;
	struct work w = {
		.m = m, .b = { .model = m }, .t = encoder ? NULL : m->family->traits,
		.to_gguf = !m->config.gguf, .used = calloc(m->store.count + 1, sizeof(bool)),
		.out = t, .error = error,
	};
	/* Names are the first that traits have. */
	const char *const *folder = m->family->traits;
	const char *const *gguf = encoder ? (const char *const *)&encoder_bert_gguf :
				  (const char *const *)&gguf_names;
	uint32_t k;
	int ret = w.used ? 0 : stored_fail(error, -ENOMEM, "out of memory");

	w.from = w.to_gguf ? folder : gguf;
	w.to = w.to_gguf ? gguf : folder;
	if (!ret)
		ret = encoder ? rename_encoder(&w) : rename_decoder(&w);
	for (k = 0; k < m->store.count && !ret; k++)
		if (!w.used[k] && !is_known(m->store.list[k].name))
			ret = stored_fail(error, -EOPNOTSUPP, "%.100s has no name in %s",
					  m->store.list[k].name, w.to_gguf ? "GGUF" : "a folder");
	free(w.used);
	return ret;
}

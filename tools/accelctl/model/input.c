// SPDX-License-Identifier: MIT
/* Inputs of a model: arrays and pictures from files, or random numbers. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gemm.h"
#include "image.h"
#include "model.h"
#include "recipe.h"

/* Mean and deviation of ImageNet's pictures, from 0 to 1 */
static const double imagenet_mean[] = { 0.485, 0.456, 0.406 };
static const double imagenet_std[] = { 0.229, 0.224, 0.225 };

static bool is_picture(const char *path)
{
	static const unsigned char png[] = { 0x89, 'P', 'N', 'G' }, jpeg[] = { 0xff, 0xd8 };
	unsigned char head[4] = { 0 };
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(head, 1, 4, f) : 0;

	if (f)
		fclose(f);
	return n == 4 && (!memcmp(head, png, 4) || !memcmp(head, jpeg, 2));
}

/* "name=file" names an input; a file may have such a name too. */
static const char *file_of(const char *text)
{
	const char *at = strchr(text, '=');

	return at ? at + 1 : text;
}

static bool is_for(const char *text, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(text, name, n) && text[n] == '=';
}

int inputs_load(struct session *s)
{
	const struct ctl_strings *list = &s->opts->inputs;
	char error[NPY_ERROR];
	uint32_t i;
	int ret;

	for (i = 0; i < list->count; i++) {
		if (is_picture(file_of(list->v[i])))
			continue;
		ret = arrays_load(file_of(list->v[i]), &s->files[i], error);
		if (ret)
			return ctl_fail(s->ctl, CTL_FAILED, ret, "--input", "%s: %s",
					file_of(list->v[i]), error);
	}
	return CTL_OK;
}

/* "NAME[3]=FILE" is value 3 of a sequence, "NAME=FILE" all of an input; false: neither */
static bool split_name(const char *text, char *name, size_t size, uint32_t *index, bool *list)
{
	const char *end = strchr(text, '=');
	const char *at = end ? memrchr(text, '[', (size_t)(end - text)) : NULL;
	char *stop = NULL;

	*index = 0;
	if (at && end[-1] == ']')
		*index = (uint32_t)strtoul(at + 1, &stop, 10);
	*list = stop && stop == end - 1 && stop > at + 1 && *index < CTL_LIST_MAX;
	if (*list)
		end = at;
	if (!end || (size_t)(end - text) >= size)
		return false;
	memcpy(name, text, (size_t)(end - text));
	name[end - text] = 0;
	return true;
}

/*
 * Number and dimensions of the arrays of --input, for sequences, optional values and inputs
 * without a shape
 */
void inputs_say(struct session *s, struct inputs_said *said)
{
	const struct ctl_strings *list = &s->opts->inputs;
	char name[sizeof(said->names[0])];
	struct accel_model_input *in;
	const struct npy *npy;
	uint32_t i, k, d, index;
	bool many;

	memset(said, 0, sizeof(*said));
	for (i = 0; i < list->count; i++) {
		if (s->files[i].count != 1 ||
		    !split_name(list->v[i], name, sizeof(name), &index, &many))
			continue;
		for (k = 0; k < said->count && strcmp(said->names[k], name) != 0; k++)
			;
		in = &said->inputs[k];
		if (k == said->count) {
			memcpy(said->names[k], name, sizeof(name));
			in->size = sizeof(*in);
			in->name = said->names[k];
			in->values = said->values[k];
			said->count++;
		}
		npy = &s->files[i].entries[0].npy;
		said->values[k][index].size = sizeof(struct accel_value);
		said->values[k][index].rank = npy->rank;
		for (d = 0; d < npy->rank && d < ACCEL_GRAPH_MAX_RANK; d++)
			said->values[k][index].dims[d] = (int64_t)npy->dims[d];
		if (in->count <= index)
			in->count = index + 1;
	}
}

static int symbol_number(struct session *s, const char *name, int64_t *number)
{
	size_t n = strlen(name);
	uint32_t i;
	char *end;

	for (i = 0; i < s->opts->dims.count; i++) {
		const char *text = s->opts->dims.v[i];

		if (strncmp(text, name, n) || text[n] != '=')
			continue;
		errno = 0;
		*number = strtoll(text + n + 1, &end, 10);
		if (errno || *end || end == text + n + 1 || *number < 0)
			return ctl_fail(s->ctl, CTL_USAGE, 0, "--dim", "%s is no number of elements",
					text + n + 1);
	}
	return CTL_OK;
}

/* --- arrays --- */

/* The array of an input: from --input, then from --golden; and its file */
static const struct npy *find_array(struct session *s, const char *name, const char **file)
{
	const struct ctl_strings *list = &s->opts->inputs;
	const struct npy *npy = NULL;
	uint32_t i;

	for (i = 0; i < list->count && !npy; i++) {
		const struct npz *z = &s->files[i];

		*file = file_of(list->v[i]);
		/*
		 * An array that is selected by name, or the only one, is used regardless of its
		 * own name.
		 */
		if (is_for(list->v[i], name) && z->count == 1)
			npy = &z->entries[0].npy;
		else if (is_for(list->v[i], name) || !strchr(list->v[i], '='))
			npy = npz_find(z, "", name) ? npz_find(z, "", name) :
			      npz_find(z, "in.", name) ? npz_find(z, "in.", name) :
			      !strchr(list->v[i], '=') && z->count == 1 && list->count == 1 ?
			      &z->entries[0].npy : NULL;
	}
	if (!npy && s->opts->golden) {
		*file = s->opts->golden;
		npy = npz_find(&s->golden, "in.", name);
	}
	return npy;
}

/* --- pictures --- */

static int numbers(struct session *s, const char *option, const char *text, uint32_t count,
		   double *to)
{
	uint32_t i;
	char *end;

	for (i = 0; i < count; i++, text = end + 1) {
		to[i] = strtod(text, &end);
		if (end == text || (*end && *end != ','))
			break;
		if (*end ? i + 1 == count : i && i + 1 < count)
			break;
		/* One number is for all. */
		if (!*end && !i)
			for (i = 1; i < count; i++)
				to[i] = to[0];
		if (!*end)
			return CTL_OK;
	}
	return ctl_fail(s->ctl, CTL_USAGE, 0, option, "are not 1 or %u numbers", count);
}

/* What --pixels says */
static void name_pixels(struct image_plan *plan, uint32_t pixels)
{
	uint32_t i, c;

	plan->scale = pixels == PIXELS_RAW ? 1 : pixels == PIXELS_SIGNED ? 1 / 127.5 : 1 / 255.0;
	for (i = 0; i < IMAGE_CHANNELS; i++) {
		c = plan->bgr ? 2 - i : i;
		plan->mean[i] = pixels == PIXELS_IMAGENET ? imagenet_mean[c] :
				pixels == PIXELS_SIGNED;
		plan->std[i] = pixels == PIXELS_IMAGENET ? imagenet_std[c] : 1;
	}
}

/* What the model says */
static int recipe_pixels(struct session *s, const struct recipe *r, struct image_plan *plan)
{
	const struct {
		const char *key;
		uint32_t count;
	} lists[] = { { "image_mean", r->mean_count }, { "image_std", r->std_count } };
	uint32_t i, c;

	for (i = 0; i < 2; i++)
		if (lists[i].count && lists[i].count != plan->channels)
			return ctl_fail(s->ctl, CTL_FAILED, 0, r->from,
					"%s: %u numbers, the input has %u channels", lists[i].key,
					lists[i].count, plan->channels);
	plan->scale = r->scale;
	for (i = 0; i < plan->channels; i++) {
		c = plan->bgr ? plan->channels - 1 - i : i;
		plan->mean[i] = r->mean[c];
		plan->std[i] = r->std[c];
	}
	return CTL_OK;
}

static int plan_pixels(struct session *s, uint32_t type, const struct recipe *r,
		       struct image_plan *plan)
{
	const struct model_opts *o = s->opts;
	uint32_t i;
	int ret = CTL_OK;

	if (o->pixels != PIXELS_AUTO)
		name_pixels(plan, o->pixels);
	else if (r->valued && element_real(type))
		ret = recipe_pixels(s, r, plan);
	else
		name_pixels(plan, !element_real(type) ? PIXELS_RAW :
				  plan->channels == 3 ? PIXELS_IMAGENET : PIXELS_UNIT);
	if (o->scale != 0)
		plan->scale = o->scale;
	if (!ret && o->mean)
		ret = numbers(s, "--mean", o->mean, plan->channels, plan->mean);
	if (!ret && o->std)
		ret = numbers(s, "--std", o->std, plan->channels, plan->std);
	for (i = 0; i < plan->channels && !ret; i++) {
		if (plan->std[i] == 0)
			ret = ctl_fail(s->ctl, CTL_USAGE, 0, "--std", "has a 0");
		else if (!isfinite((float)(-plan->mean[i] / plan->std[i])) ||
			 !isfinite((float)((255 * plan->scale - plan->mean[i]) / plan->std[i])))
			ret = ctl_fail(s->ctl, CTL_USAGE, 0, o->std ? "--std" :
				       o->mean ? "--mean" : "--scale",
				       "bytes do not become numbers of fp32");
	}
	return ret;
}

/* Both sides, when the shorter one is scaled to @shorter pixels */
static void in_proportion(const struct picture *p, uint32_t shorter, struct image_plan *plan)
{
	const uint32_t less = p->width < p->height ? p->width : p->height;

	plan->whole_width = (uint32_t)((uint64_t)p->width * shorter / less);
	plan->whole_height = (uint32_t)((uint64_t)p->height * shorter / less);
}

/* The size as the model says; @h and @w are that of its input, or -1 */
static int recipe_size(struct session *s, const struct picture *p, const struct recipe *r,
		       int64_t *h, int64_t *w, struct image_plan *plan)
{
	const uint32_t shorter = s->opts->resize ? (uint32_t)s->opts->resize : r->shorter;
	int64_t width = r->cut_width, height = r->cut_height;

	plan->whole_width = p->width;
	plan->whole_height = p->height;
	if (shorter) {
		in_proportion(p, shorter, plan);
	} else if (r->width) {
		plan->whole_width = r->width;
		plan->whole_height = r->height;
	}
	if (!width && r->width) {
		width = r->width;
		height = r->height;
	} else if (!width) {
		width = plan->whole_width;
		height = plan->whole_height;
	}
	plan->filter = r->filter;
	plan->bytes = true;
	*h = *h < 0 ? height : *h;
	*w = *w < 0 ? width : *w;
	if (*h == height && *w == width)
		return CTL_OK;
	return ctl_fail(s->ctl, CTL_FAILED, 0, r->from,
			"%s: pictures become %lld x %lld, the input has %lld x %lld",
			r->cut_width ? "crop_size" : "size", (long long)width, (long long)height,
			(long long)*w, (long long)*h);
}

static int plan_size(struct session *s, const struct picture *p, const struct recipe *r,
		     int64_t *h, int64_t *w, struct image_plan *plan)
{
	const struct model_opts *o = s->opts;

	if (r->sized && o->fit == FIT_AUTO)
		return recipe_size(s, p, r, h, w, plan);
	/* Sides that the model leaves open are those of the picture. */
	*h = *h < 0 ? p->height : *h;
	*w = *w < 0 ? p->width : *w;
	plan->whole_width = (uint32_t)*w;
	plan->whole_height = (uint32_t)*h;
	if (o->fit != FIT_STRETCH && (*h != p->height || *w != p->width))
		in_proportion(p, o->resize ? (uint32_t)o->resize :
			      (uint32_t)((*h > *w ? *h : *w) * 8 / 7), plan);
	return CTL_OK;
}

/* The place of channels, rows and columns in a value, and its numbers */
static int plan_picture(struct session *s, const struct accel_value *v, const struct picture *p,
			const struct recipe *r, int64_t *dims, struct image_plan *plan)
{
	const uint32_t at = v->rank - 3;
	int64_t *h, *w;
	int ret;

	if (v->rank < 3 || v->rank > 4)
		return ctl_fail(s->ctl, CTL_USAGE, 0, "--input",
				"%s has %u dimensions, a picture has 3 or 4", v->name, v->rank);
	plan->last = dims[at] != 1 && dims[at] != 3;
	plan->channels = (uint32_t)dims[plan->last ? at + 2 : at];
	if (plan->channels != 1 && plan->channels != 3)
		return ctl_fail(s->ctl, CTL_USAGE, 0, "--input",
				"%s has no dimension of 1 or 3 for channels", v->name);
	h = &dims[plan->last ? at : at + 1];
	w = &dims[plan->last ? at + 1 : at + 2];
	ret = plan_size(s, p, r, h, w, plan);
	if (ret)
		return ret;
	if (*h < 1 || *w < 1 || *h > PICTURE_MAX || *w > PICTURE_MAX)
		return ctl_fail(s->ctl, CTL_USAGE, 0, "--input", "%s is no size of a picture",
				v->name);
	plan->height = (uint32_t)*h;
	plan->width = (uint32_t)*w;
	plan->bgr = s->opts->bgr || r->bgr;
	return plan_pixels(s, v->type, r, plan);
}

static int set_dims(struct session *s, uint32_t index, const struct accel_value *v, int64_t *dims,
		    void **p, uint64_t *count)
{
	uint64_t bytes;
	uint32_t i;
	int ret;

	for (i = 0; i < v->rank; i++) {
		const char *name = dims[i] < 0 ?
				   accel_program_get_symbol(s->program, dims[i], NULL, NULL) : NULL;

		if (!name)
			continue;
		dims[i] = 1;
		ret = symbol_number(s, name, &dims[i]);
		if (ret)
			return ret;
	}
	ret = accel_state_set_input(s->state, index, v->rank, dims, NULL, 0);
	if (ret)
		return session_fail(s, ret);
	*p = accel_state_get_input(s->state, index, &bytes);
	if (!*p)
		return session_fail(s, -ENOMEM);
	if (!element_descr(v->type))
		return ctl_fail(s->ctl, CTL_UNSUPPORTED, 0, v->name, "inputs of type %s are not made",
				accel_type_name(v->type));
	*count = bytes * 8 / accel_type_bits(v->type);
	return CTL_OK;
}

/* Explain a failure of image_make(), depending on the source of the crop */
static int fail_picture(struct session *s, const struct recipe *r, const struct image_plan *plan,
			int err)
{
	const bool option = s->opts->resize;

	if (err != -EINVAL)
		return ctl_fail(s->ctl, CTL_FAILED, err, "--input", "no memory for the picture");
	return ctl_fail(s->ctl, option ? CTL_USAGE : CTL_FAILED, option ? err : 0,
			option ? "--resize" : r->from,
			"%sthe picture becomes %u x %u, which is smaller than %u x %u",
			option ? "" : "crop_size: ", plan->whole_width, plan->whole_height,
			plan->width, plan->height);
}

static int set_picture(struct session *s, uint32_t index, const struct accel_value *v,
		       const char *path)
{
	struct image_plan plan = { 0 };
	int64_t dims[ACCEL_GRAPH_MAX_RANK];
	struct recipe r = { .sized = false };
	struct picture p = { 0 };
	char error[NPY_ERROR];
	uint64_t count = 0, one, i;
	double *pixels = NULL;
	void *to = NULL;
	int ret;

	memcpy(dims, v->dims, sizeof(dims));
	/* Options may override everything except for the order of channels. */
	ret = recipe_load(s->ctl, s->opts->pictures ? s->opts->pictures : s->path,
			  s->opts->pixels == PIXELS_AUTO || s->opts->fit == FIT_AUTO, &r);
	/* The software with which the model was trained only reads 8-bit pictures. */
	if (!ret && picture_load(path, r.sized || r.valued, &p, error, sizeof(error)))
		ret = ctl_fail(s->ctl, CTL_FAILED, 0, "--input", "%s: %s", path, error);
	if (!ret)
		ret = plan_picture(s, v, &p, &r, dims, &plan);
	if (!ret)
		ret = set_dims(s, index, v, dims, &to, &count);
	if (ret)
		goto out;
	one = (uint64_t)plan.width * plan.height * plan.channels;
	pixels = ctl_alloc(one, sizeof(*pixels));
	ret = image_make(&p, &plan, pixels);
	if (ret) {
		ret = fail_picture(s, &r, &plan, ret);
		goto out;
	}
	/* A batch has it in each place. */
	for (i = 0; one && i < count; i++)
		element_put(v->type, to, i, pixels[i % one]);
out:
	free(pixels);
	recipe_free(&r);
	picture_free(&p);
	return ret;
}

/* --- all of them --- */

static int set_array(struct session *s, uint32_t index, const struct accel_value *v,
		     const struct npy *npy, const char *file)
{
	int64_t dims[ACCEL_GRAPH_MAX_RANK];
	uint64_t count;
	uint32_t i;
	void *to = NULL;
	int ret;

	if (npy->rank != v->rank)
		return ctl_fail(s->ctl, CTL_USAGE, 0, v->name, "%s: %u dimensions, not %u", file,
				npy->rank, v->rank);
	for (i = 0; i < v->rank; i++)
		dims[i] = (int64_t)npy->dims[i];
	ret = set_dims(s, index, v, dims, &to, &count);
	if (!ret)
		element_copy(v->type, to, npy);
	return ret;
}

static int set_random(struct session *s, uint32_t index, const struct accel_value *v)
{
	int64_t dims[ACCEL_GRAPH_MAX_RANK];
	uint64_t count = 0, i, r;
	void *to = NULL;
	int ret;

	memcpy(dims, v->dims, sizeof(dims));
	ret = set_dims(s, index, v, dims, &to, &count);
	for (i = 0; !ret && i < count; i++) {
		r = value_random(s->opts->seed, index, i);
		element_put(v->type, to, i, element_real(v->type) ?
			    (double)(r >> 11) / 0x1p52 - 1 : (double)(r % s->opts->below));
	}
	return ret;
}

static int set_input(struct session *s, uint32_t index, const struct accel_value *v)
{
	const struct ctl_strings *list = &s->opts->inputs;
	const struct npy *npy;
	const char *file = "";
	uint32_t i;

	for (i = 0; i < list->count; i++)
		if (is_picture(file_of(list->v[i])) &&
		    (is_for(list->v[i], v->name) || (list->count == 1 && !strchr(list->v[i], '='))))
			return set_picture(s, index, v, file_of(list->v[i]));
	npy = find_array(s, v->name, &file);
	if (npy)
		return set_array(s, index, v, npy, file);
	/* A comparison needs the inputs of the golden file. */
	if (s->opts->golden)
		return ctl_fail(s->ctl, CTL_USAGE, 0, "--golden", "there is no in.%s", v->name);
	return set_random(s, index, v);
}

/* Is a symbol among the dimensions of the inputs? */
static bool has_symbol(struct session *s, const char *name, size_t n)
{
	struct accel_value v = ACCEL_VALUE_INIT;
	const char *symbol;
	uint32_t i, k;

	for (i = 0; !accel_program_get_input(s->program, i, &v); i++)
		for (k = 0; k < v.rank; k++) {
			symbol = v.dims[k] < 0 ?
				 accel_program_get_symbol(s->program, v.dims[k], NULL, NULL) : NULL;
			if (symbol && strlen(symbol) == n && !strncmp(symbol, name, n))
				return true;
		}
	return false;
}

/*
 * Symbols of --dim must exist: otherwise a misspelt one would be ignored, and the real one be
 * 1.
 */
int dims_check(struct session *s)
{
	uint32_t i;

	for (i = 0; i < s->opts->dims.count; i++) {
		const char *text = s->opts->dims.v[i], *end = strchr(text, '=');

		if (!end || !has_symbol(s, text, (size_t)(end - text)))
			return ctl_fail(s->ctl, CTL_USAGE, 0, "--dim", "no dimension is called %.*s",
					(int)(end ? (size_t)(end - text) : strlen(text)), text);
	}
	return CTL_OK;
}

int inputs_set(struct session *s)
{
	const struct ctl_strings *list = &s->opts->inputs;
	struct accel_value v = ACCEL_VALUE_INIT;
	uint32_t i, k, used = 0;
	int ret = CTL_OK;

	for (i = 0; !ret && !accel_program_get_input(s->program, i, &v); i++) {
		for (k = 0; k < list->count; k++)
			if (is_for(list->v[k], v.name))
				used |= 1u << k;
		ret = set_input(s, i, &v);
	}
	for (k = 0; k < list->count && !ret; k++)
		if (strchr(list->v[k], '=') && !(used >> k & 1))
			return ctl_fail(s->ctl, CTL_USAGE, 0, "--input", "no input is called %.*s",
					(int)(strchr(list->v[k], '=') - list->v[k]), list->v[k]);
	return ret;
}

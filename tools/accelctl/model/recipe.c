// SPDX-License-Identifier: MIT
/*
 * See recipe.h.
 */
#include <accel/model.h>
#include <errno.h>
#include <json-c/json.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "recipe.h"

/* A shorter side from which on ConvNeXt's pictures are not cut */
#define CONVNEXT_WHOLE	384u
/* Bytes that a file of a few keys has at most */
#define FILE_MAX	(1u << 20)
/* Bytes of a value of metadata that are known: struct accel_model_item */
#define VALUE_MAX	127u

/**
 * struct processor - one of transformers, and what it does unless the file says otherwise
 * @name: what its type begins with
 * @square: a size that is a number alone is that of both sides, else of the shorter one
 * @size: this number
 * @cut: sides of the middle that is taken, 0: it takes none
 * @filter: &enum image_filter; of ConvNext another one where it is not in Python
 * @share: of the sides that the middle has, 0: it has no crop_pct
 * @mean: image_mean
 * @std: image_std
 */
struct processor {
	const char *name;
	bool square;
	uint32_t size;
	uint32_t cut;
	uint32_t filter;
	double share;
	double mean[IMAGE_CHANNELS];
	double std[IMAGE_CHANNELS];
};

static const struct processor processors[] = {
	{ "ViT", true, 224, 0, IMAGE_TRIANGLE, 0, { 0.5, 0.5, 0.5 }, { 0.5, 0.5, 0.5 } },
	{ "CLIP", false, 224, 224, IMAGE_CUBIC, 0, { 0.48145466, 0.4578275, 0.40821073 },
	  { 0.26862954, 0.26130258, 0.27577711 } },
	{ "ConvNext", false, 384, 0, IMAGE_CUBIC, 224 / 256.0, { 0.5, 0.5, 0.5 },
	  { 0.5, 0.5, 0.5 } },
};

/**
 * struct reader - what a model says, in work
 * @ctl: invocation
 * @r: what comes of it
 * @whole: all of it is wanted, not only the order of channels
 * @doc: by the keys of preprocessor_config.json, NULL: nothing
 * @processor: that it names, NULL: none
 * @fast: not the one in Python
 * @format: Image.BitmapPixelFormat, "": nothing is said
 * @gamma: Image.ColorSpaceGamma
 * @range: Image.NominalPixelRange
 */
struct reader {
	struct ctl *ctl;
	struct recipe *r;
	bool whole;
	struct json_object *doc;
	const struct processor *processor;
	bool fast;
	char format[16];
	char gamma[16];
	char range[24];
};

static int bad(struct reader *in, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int bad(struct reader *in, const char *key, const char *fmt, ...)
{
	char text[160];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return ctl_fail(in->ctl, CTL_FAILED, 0, in->r->from, "%s: %s", key, text);
}

/* NULL: it is not there, or null, which is how processors write that they do not use it */
static struct json_object *get(struct reader *in, const char *key)
{
	struct json_object *o = NULL;

	return json_object_object_get_ex(in->doc, key, &o) ? o : NULL;
}

static int get_flag(struct reader *in, const char *key, bool otherwise, bool *to)
{
	struct json_object *o = get(in, key);

	*to = o ? json_object_get_boolean(o) : otherwise;
	return !o || json_object_is_type(o, json_type_boolean) ? CTL_OK :
	       bad(in, key, "neither true nor false");
}

static bool is_number(struct json_object *o)
{
	return (json_object_is_type(o, json_type_int) ||
		json_object_is_type(o, json_type_double)) && isfinite(json_object_get_double(o));
}

/* --- sizes --- */

static int get_side(struct reader *in, const char *key, struct json_object *o, const char *name,
		    uint32_t *to)
{
	struct json_object *side = o;
	int64_t n;

	if (name && !json_object_object_get_ex(o, name, &side))
		return bad(in, key, "has no %s", name);
	n = json_object_is_type(side, json_type_int) ? json_object_get_int64(side) : 0;
	if (n < 1 || n > PICTURE_MAX)
		return bad(in, key, "%s%sis no whole number from 1 to %u", name ? name : "",
			   name ? " " : "", PICTURE_MAX);
	*to = (uint32_t)n;
	return CTL_OK;
}

/* A number alone, or @usual if there is nothing, is that of both sides or of the shorter one. */
static int get_size(struct reader *in, const char *key, uint32_t usual, bool square,
		    uint32_t *width, uint32_t *height, uint32_t *shorter)
{
	struct json_object *o = get(in, key);
	int ret;

	if (!o && !usual)
		return bad(in, key, "is missing");
	if (!o || !json_object_is_type(o, json_type_object)) {
		ret = o ? get_side(in, key, o, NULL, &usual) : CTL_OK;
		*(square ? width : shorter) = usual;
		if (square)
			*height = usual;
		return ret;
	}
	if (shorter && json_object_object_get_ex(o, "shortest_edge", NULL))
		return json_object_object_length(o) == 1 ?
		       get_side(in, key, o, "shortest_edge", shorter) :
		       bad(in, key, "more than shortest_edge");
	ret = get_side(in, key, o, "height", height);
	return ret ? ret : get_side(in, key, o, "width", width);
}

static int get_filter(struct reader *in, uint32_t otherwise)
{
	struct json_object *o = get(in, "resample");

	in->r->filter = otherwise;
	if (!o)
		return CTL_OK;
	if (json_object_is_type(o, json_type_int) && json_object_get_int(o) == 0)
		in->r->filter = IMAGE_NEAREST;
	else if (json_object_is_type(o, json_type_int) && json_object_get_int(o) == 2)
		in->r->filter = IMAGE_TRIANGLE;
	else if (json_object_is_type(o, json_type_int) && json_object_get_int(o) == 3)
		in->r->filter = IMAGE_CUBIC;
	else
		return bad(in, "resample", "none of 0 (nearest), 2 (bilinear) and 3 (bicubic)");
	return CTL_OK;
}

/* ConvNeXt's: the middle is a share of what the picture is scaled to, unless it is large. */
static int take_share(struct reader *in)
{
	struct json_object *o = get(in, "crop_pct");
	double share = o ? json_object_get_double(o) : in->processor->share;
	struct recipe *r = in->r;

	if (o && (!is_number(o) || !(share > 0.01) || share > 1))
		return bad(in, "crop_pct", "is no number from 0.01 to 1");
	if (!r->shorter || r->cut_width)
		return bad(in, o ? "crop_pct" : "size",
			   "%s for a size of a shortest_edge, without crop_size",
			   o ? "is" : "ConvNextImageProcessor is");
	if (r->shorter >= CONVNEXT_WHOLE) {
		r->width = r->shorter;
		r->height = r->shorter;
		r->shorter = 0;
		return CTL_OK;
	}
	r->cut_width = r->shorter;
	r->cut_height = r->shorter;
	r->shorter = (uint32_t)(r->shorter / share);
	return CTL_OK;
}

static int take_sizes(struct reader *in)
{
	static const struct processor unnamed = { .filter = IMAGE_TRIANGLE };
	const struct processor *p = in->processor ? in->processor : &unnamed;
	bool resize, cut, square, share = p->share > 0 || get(in, "crop_pct");
	const bool shorter = in->processor ? !p->square : share || get(in, "crop_size");
	struct recipe *r = in->r;
	int ret = get_flag(in, "do_resize", in->processor || get(in, "size"), &resize);

	if (!ret)
		ret = get_flag(in, "do_center_crop",
			       in->processor ? p->cut : !!get(in, "crop_size"), &cut);
	if (!ret)
		ret = get_flag(in, "default_to_square", !shorter, &square);
	if (!ret && in->processor && cut && !p->cut)
		ret = bad(in, "do_center_crop", "of %s not all versions do it", p->name);
	if (!ret && in->processor && share && !(p->share > 0))
		ret = bad(in, "crop_pct", "%s has none", p->name);
	if (!ret)
		ret = get_filter(in, p->share > 0 && in->fast ? IMAGE_TRIANGLE : p->filter);
	if (!ret && resize)
		ret = get_size(in, "size", p->size, square, &r->width, &r->height, &r->shorter);
	if (!ret && cut)
		ret = get_size(in, "crop_size", p->cut, true, &r->cut_width, &r->cut_height, NULL);
	if (!ret && resize && share)
		ret = take_share(in);
	r->sized = !ret && (resize || cut);
	return ret;
}

/* --- what bytes become --- */

/* @usual: what is meant if there is nothing, or NULL */
static int get_numbers(struct reader *in, const char *key, const double usual[IMAGE_CHANNELS],
		       double to[IMAGE_CHANNELS], uint32_t *count)
{
	struct json_object *o = get(in, key);
	size_t n, i;

	if (!o && !usual)
		return bad(in, key, "is missing");
	if (!o) {
		memcpy(to, usual, IMAGE_CHANNELS * sizeof(*to));
		*count = IMAGE_CHANNELS;
		return CTL_OK;
	}
	*count = 0;
	if (is_number(o)) {
		for (i = 0; i < IMAGE_CHANNELS; i++)
			to[i] = json_object_get_double(o);
		return CTL_OK;
	}
	n = json_object_is_type(o, json_type_array) ? json_object_array_length(o) : 0;
	if (n != 1 && n != IMAGE_CHANNELS)
		return bad(in, key, "is no list of 1 or %u numbers", IMAGE_CHANNELS);
	for (i = 0; i < n; i++) {
		if (!is_number(json_object_array_get_idx(o, i)))
			return bad(in, key, "entry %zu is no number", i);
		to[i] = json_object_get_double(json_object_array_get_idx(o, i));
	}
	*count = (uint32_t)n;
	return CTL_OK;
}

/* Bytes have to become numbers of fp32. */
static int check_values(struct reader *in)
{
	const struct recipe *r = in->r;
	uint32_t i;

	if (!isfinite((float)(255 * r->scale)))
		return bad(in, "rescale_factor", "255 becomes too large");
	for (i = 0; i < IMAGE_CHANNELS; i++) {
		if (!(r->std[i] != 0))
			return bad(in, "image_std", "has a 0");
		if (!isfinite((float)r->mean[i]))
			return bad(in, "image_mean", "%g is too large", r->mean[i]);
		if (!isfinite((float)(-r->mean[i] / r->std[i])) ||
		    !isfinite((float)((255 * r->scale - r->mean[i]) / r->std[i])))
			return bad(in, "image_std", "%g makes too large numbers", r->std[i]);
	}
	return CTL_OK;
}

static int take_values(struct reader *in)
{
	struct json_object *factor = get(in, "rescale_factor");
	const struct processor *p = in->processor;
	struct recipe *r = in->r;
	bool rescale, normalise;
	int ret;

	if (!p && !factor && !get(in, "do_rescale") && !get(in, "do_normalize") &&
	    !get(in, "image_mean") && !get(in, "image_std"))
		return CTL_OK;
	ret = get_flag(in, "do_rescale", true, &rescale);
	if (!ret)
		ret = get_flag(in, "do_normalize",
			       p || get(in, "image_mean") || get(in, "image_std"), &normalise);
	if (ret)
		return ret;
	r->scale = rescale ? 1 / 255.0 : 1;
	if (rescale && factor) {
		r->scale = json_object_get_double(factor);
		if (!is_number(factor) || !(r->scale > 0))
			return bad(in, "rescale_factor", "is no number above 0");
	}
	if (normalise)
		ret = get_numbers(in, "image_mean", p ? p->mean : NULL, r->mean, &r->mean_count);
	if (!ret && normalise)
		ret = get_numbers(in, "image_std", p ? p->std : NULL, r->std, &r->std_count);
	if (!ret)
		ret = check_values(in);
	r->valued = !ret;
	return ret;
}

/* Metadata that ONNX itself has names for; what they say of bytes counts if nothing else does. */
static int take_image(struct reader *in)
{
	static const struct {
		const char *name;
		double scale, mean;
	} ranges[] = {
		{ "NominalRange_0_255", 1, 0 }, { "Normalized_0_1", 1 / 255.0, 0 },
		{ "Normalized_1_1", 1 / 127.5, 1 }, { "NominalRange_16_235", 219 / 255.0, -16 },
	};
	struct recipe *r = in->r;
	size_t i, k;

	r->bgr = !strcasecmp(in->format, "Bgr8");
	if (in->format[0] && !r->bgr && strcasecmp(in->format, "Rgb8") &&
	    strcasecmp(in->format, "Gray8"))
		return bad(in, "Image.BitmapPixelFormat", "%s is none of Gray8, Rgb8 and Bgr8",
			   in->format);
	if (in->gamma[0] && strcasecmp(in->gamma, "SRGB"))
		return bad(in, "Image.ColorSpaceGamma", "%s is not SRGB, as pictures are",
			   in->gamma);
	for (i = 0; in->range[0] && i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		if (strcasecmp(in->range, ranges[i].name))
			continue;
		if (r->valued)
			return CTL_OK;
		r->valued = true;
		r->scale = ranges[i].scale;
		for (k = 0; k < IMAGE_CHANNELS; k++)
			r->mean[k] = ranges[i].mean;
		return CTL_OK;
	}
	return in->range[0] ? bad(in, "Image.NominalPixelRange", "%s is not known", in->range) :
	       CTL_OK;
}

/* --- which processor it is --- */

/* Keys that are heeded, or that others have for what is not done here */
static const char *const keys[] = {
	"image_processor_type", "feature_extractor_type", "processor_class", "do_resize", "size",
	"default_to_square", "crop_pct", "resample", "do_center_crop", "crop_size", "do_rescale",
	"rescale_factor", "do_normalize", "image_mean", "image_std", "do_pad", "pad_size",
	"size_divisor", "do_flip_channel_order", "do_thumbnail", "do_align_long_axis",
	"do_crop_margin", "do_image_splitting",
};

#define TYPE_KEYS	3u
#define HEEDED_KEYS	15u

static bool is_one_of(const char *key, const char *const *list, size_t count)
{
	size_t i;

	for (i = 0; i < count && strcmp(key, list[i]) != 0; i++)
		;
	return i < count;
}

/* What is not done would change the picture, and what is not known might. */
static int check_keys(struct reader *in)
{
	/* What pictures come in and go out as, which is seen from them and the model's inputs */
	static const char *const harmless[] = {
		"do_convert_rgb", "data_format", "input_data_format", "return_tensors", "device",
		"disable_grouping", "model_input_names", "use_fast", "do_reduce_labels",
		"_valid_processor_keys", "_name_or_path", "transformers_version",
	};

	json_object_object_foreach(in->doc, key, value) {
		if (!value || is_one_of(key, keys, HEEDED_KEYS) ||
		    (json_object_is_type(value, json_type_boolean) &&
		     !json_object_get_boolean(value)) ||
		    is_one_of(key, harmless, sizeof(harmless) / sizeof(harmless[0])))
			continue;
		return bad(in, key, "is not done");
	}
	return CTL_OK;
}

/* Processors that do other things than the keys say are not known. */
static int check_type(struct reader *in)
{
	static const char *const ends[] = {
		"ImageProcessor", "ImageProcessorFast", "ImageProcessorPil", "FeatureExtractor",
		"Processor"
	};
	const char *key = keys[0], *type;
	struct json_object *o = NULL;
	size_t i, k, n;

	for (i = 0; i < TYPE_KEYS && !o; i++) {
		key = keys[i];
		o = get(in, key);
	}
	if (!o)
		return CTL_OK;
	type = json_object_is_type(o, json_type_string) ? json_object_get_string(o) : "?";
	for (i = 0; i < sizeof(processors) / sizeof(processors[0]); i++) {
		n = strlen(processors[i].name);
		for (k = 0; k < sizeof(ends) / sizeof(ends[0]); k++) {
			if (strncmp(type, processors[i].name, n) || strcmp(type + n, ends[k]))
				continue;
			in->processor = &processors[i];
			in->fast = k == 1;
			return CTL_OK;
		}
	}
	return bad(in, key, "%.60s is none of ViT, CLIP and ConvNext", type);
}

/* --- where it says so --- */

/* @text of @n bytes, and a 0 behind them, is one value, which may be null; false: it is not */
static bool parse(const char *text, size_t n, struct json_object **value)
{
	struct json_tokener *tok = json_tokener_new();
	bool good;
	size_t at;

	if (!tok)
		abort();
	*value = json_tokener_parse_ex(tok, text, (int)n + 1);
	good = json_tokener_get_error(tok) == json_tokener_success;
	for (at = json_tokener_get_parse_end(tok); good && at < n; at++)
		good = text[at] && strchr(" \t\r\n", text[at]);
	json_tokener_free(tok);
	return good;
}

/* A property of an ONNX file by one of the keys that this reads; its value is JSON. */
static int take_property(void *user, const struct accel_model_item *item)
{
	struct json_object *value = NULL;
	struct reader *in = user;

	if (item->kind != ACCEL_MODEL_PROPERTY)
		return 0;
	if (!strcasecmp(item->name, "Image.BitmapPixelFormat"))
		snprintf(in->format, sizeof(in->format), "%s", item->text);
	if (!in->whole)
		return 0;
	if (!strcasecmp(item->name, "Image.ColorSpaceGamma"))
		snprintf(in->gamma, sizeof(in->gamma), "%s", item->text);
	else if (!strcasecmp(item->name, "Image.NominalPixelRange"))
		snprintf(in->range, sizeof(in->range), "%s", item->text);
	if (!is_one_of(item->name, keys, sizeof(keys) / sizeof(keys[0])))
		return 0;
	if (item->count > VALUE_MAX)
		return bad(in, item->name, "is longer than %u bytes", VALUE_MAX);
	if (!in->doc)
		in->doc = json_object_new_object();
	if (parse(item->text, strlen(item->text), &value)) {
		json_object_object_add(in->doc, item->name, value);
		return 0;
	}
	json_object_put(value);
	return bad(in, item->name, "is no JSON value");
}

/* All of a file that is there; what is wrong is told */
static int read_text(struct reader *in, const char *path, char *text, size_t *n)
{
	FILE *f = fopen(path, "re");
	int err;

	if (!f)
		return ctl_fail(in->ctl, CTL_FAILED, -errno, path, "cannot be opened");
	errno = 0;
	*n = fread(text, 1, FILE_MAX, f);
	err = ferror(f) ? errno : *n == FILE_MAX ? EFBIG : 0;
	fclose(f);
	text[*n < FILE_MAX ? *n : 0] = 0;
	return err ? ctl_fail(in->ctl, CTL_FAILED, -err, path, "cannot be read") : CTL_OK;
}

/* The file beside the model, or in its folder, if there is one */
static int read_file(struct reader *in, const char *model)
{
	const char *slash = strrchr(model, '/');
	char *path, *text;
	struct stat st;
	size_t n = 0;
	int ret;

	if (!stat(model, &st) && S_ISDIR(st.st_mode))
		ret = asprintf(&path, "%s/preprocessor_config.json", model);
	else
		ret = asprintf(&path, "%.*spreprocessor_config.json",
			       slash ? (int)(slash - model + 1) : 0, model);
	if (ret < 0)
		abort();
	if (stat(path, &st)) {
		ret = errno == ENOENT || errno == ENOTDIR ? CTL_OK :
		      ctl_fail(in->ctl, CTL_FAILED, -errno, path, "cannot be looked at");
		free(path);
		return ret;
	}
	free(in->r->from);
	in->r->from = path;
	if (!S_ISREG(st.st_mode))
		return ctl_fail(in->ctl, CTL_FAILED, 0, path, "no file");
	text = ctl_alloc(FILE_MAX, 1);
	ret = read_text(in, path, text, &n);
	if (!ret && (!parse(text, n, &in->doc) || !json_object_is_type(in->doc, json_type_object)))
		ret = ctl_fail(in->ctl, CTL_FAILED, 0, path, "no JSON document");
	free(text);
	return ret;
}

int recipe_load(struct ctl *ctl, const char *path, bool whole, struct recipe *r)
{
	struct reader in = { .ctl = ctl, .r = r, .whole = whole };
	int ret;

	*r = (struct recipe) { .from = strdup(path), .std = { 1, 1, 1 } };
	if (!r->from)
		abort();
	/* A file that is no model, a compiled program among them, has no properties. */
	ret = accel_model_scan(path, take_property, &in);
	ret = ret > 0 ? ret : CTL_OK;
	if (!ret && whole && !in.doc && !in.range[0])
		ret = read_file(&in, path);
	if (!ret && in.doc)
		ret = check_type(&in);
	if (!ret && in.doc)
		ret = check_keys(&in);
	if (!ret && in.doc)
		ret = take_sizes(&in);
	if (!ret && in.doc)
		ret = take_values(&in);
	if (!ret)
		ret = take_image(&in);
	json_object_put(in.doc);
	return ret;
}

void recipe_free(struct recipe *r)
{
	free(r->from);
	r->from = NULL;
}

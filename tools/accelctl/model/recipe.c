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

/**
 * struct reader - what a model says, in work
 * @ctl: invocation
 * @r: what comes of it
 * @doc: by the keys of preprocessor_config.json, NULL: nothing
 * @format: Image.BitmapPixelFormat, "": nothing is said
 * @gamma: Image.ColorSpaceGamma
 * @range: Image.NominalPixelRange
 */
struct reader {
	struct ctl *ctl;
	struct recipe *r;
	struct json_object *doc;
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

/* A number alone is that of both sides, or, with @shorter, of the shorter one. */
static int get_size(struct reader *in, const char *key, bool alone, uint32_t *width,
		    uint32_t *height, uint32_t *shorter)
{
	struct json_object *o = get(in, key);
	int ret;

	if (!o)
		return bad(in, key, "is missing");
	if (!json_object_is_type(o, json_type_object)) {
		ret = get_side(in, key, o, NULL, alone ? shorter : width);
		if (!alone)
			*height = *width;
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
	struct recipe *r = in->r;
	double share = json_object_get_double(o);

	if (!is_number(o) || !(share > 0.01) || share > 1)
		return bad(in, "crop_pct", "is no number from 0.01 to 1");
	if (!r->shorter || r->cut_width)
		return bad(in, "crop_pct", "is for a size of a shortest_edge, without crop_size");
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

static int take_sizes(struct reader *in, bool clip)
{
	bool resize, cut, share = !!get(in, "crop_pct");
	struct recipe *r = in->r;
	int ret = get_flag(in, "do_resize", !!get(in, "size"), &resize);

	if (!ret)
		ret = get_flag(in, "do_center_crop", !!get(in, "crop_size"), &cut);
	if (!ret)
		ret = get_filter(in, clip ? IMAGE_CUBIC : IMAGE_TRIANGLE);
	if (!ret && resize)
		ret = get_size(in, "size", share || get(in, "crop_size"), &r->width, &r->height,
			       &r->shorter);
	if (!ret && cut)
		ret = get_size(in, "crop_size", false, &r->cut_width, &r->cut_height, NULL);
	if (!ret && resize && share)
		ret = take_share(in);
	r->sized = !ret && (resize || cut);
	return ret;
}

/* --- what bytes become --- */

static int get_numbers(struct reader *in, const char *key, double to[IMAGE_CHANNELS],
		       uint32_t *count)
{
	struct json_object *o = get(in, key);
	size_t n, i;

	if (!o)
		return bad(in, key, "is missing");
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

static int take_values(struct reader *in)
{
	struct json_object *factor = get(in, "rescale_factor");
	struct recipe *r = in->r;
	bool rescale, normalise;
	uint32_t i;
	int ret;

	if (!factor && !get(in, "do_rescale") && !get(in, "do_normalize") &&
	    !get(in, "image_mean") && !get(in, "image_std"))
		return CTL_OK;
	ret = get_flag(in, "do_rescale", true, &rescale);
	if (!ret)
		ret = get_flag(in, "do_normalize", get(in, "image_mean") || get(in, "image_std"),
			       &normalise);
	if (ret)
		return ret;
	r->scale = rescale ? 1 / 255.0 : 1;
	if (rescale && factor) {
		r->scale = json_object_get_double(factor);
		if (!is_number(factor) || !(r->scale > 0))
			return bad(in, "rescale_factor", "is no number above 0");
	}
	if (normalise)
		ret = get_numbers(in, "image_mean", r->mean, &r->mean_count);
	if (!ret && normalise)
		ret = get_numbers(in, "image_std", r->std, &r->std_count);
	for (i = 0; !ret && i < (r->std_count ? r->std_count : 1); i++)
		if (!(r->std[i] != 0))
			ret = bad(in, "image_std", "has a 0");
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

/* --- where it says so --- */

/* A property of an ONNX file by one of the keys that this reads; its value is JSON. */
static int take_property(void *user, const struct accel_model_item *item)
{
	static const char *const keys[] = {
		"do_resize", "size", "crop_pct", "resample", "do_center_crop", "crop_size",
		"do_rescale", "rescale_factor", "do_normalize", "image_mean", "image_std",
	};
	struct json_object *value;
	struct reader *in = user;
	size_t i;

	if (item->kind != ACCEL_MODEL_PROPERTY)
		return 0;
	if (!strcasecmp(item->name, "Image.BitmapPixelFormat"))
		snprintf(in->format, sizeof(in->format), "%s", item->text);
	else if (!strcasecmp(item->name, "Image.ColorSpaceGamma"))
		snprintf(in->gamma, sizeof(in->gamma), "%s", item->text);
	else if (!strcasecmp(item->name, "Image.NominalPixelRange"))
		snprintf(in->range, sizeof(in->range), "%s", item->text);
	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (strcmp(item->name, keys[i]))
			continue;
		value = json_tokener_parse(item->text);
		if (!value)
			return bad(in, keys[i], "is no JSON value");
		if (!in->doc)
			in->doc = json_object_new_object();
		json_object_object_add(in->doc, keys[i], value);
	}
	return 0;
}

/* The file beside the model, or in its folder, if there is one */
static int read_file(struct reader *in, const char *model)
{
	const char *slash = strrchr(model, '/');
	struct stat st;
	char *path;
	int ret;

	if (!stat(model, &st) && S_ISDIR(st.st_mode))
		ret = asprintf(&path, "%s/preprocessor_config.json", model);
	else
		ret = asprintf(&path, "%.*spreprocessor_config.json",
			       slash ? (int)(slash - model + 1) : 0, model);
	if (ret < 0)
		abort();
	if (stat(path, &st)) {
		free(path);
		return CTL_OK;
	}
	free(in->r->from);
	in->r->from = path;
	in->doc = json_object_from_file(path);
	return json_object_is_type(in->doc, json_type_object) ? CTL_OK :
	       ctl_fail(in->ctl, CTL_FAILED, 0, path, "no JSON document");
}

/* Processors that do other things than the keys say are not known. */
static int check_type(struct reader *in, bool *clip)
{
	static const char *const keys[] = { "image_processor_type", "feature_extractor_type" };
	static const char *const types[] = { "ViT", "CLIP", "ConvNext" };
	static const char *const ends[] = {
		"ImageProcessor", "ImageProcessorFast", "ImageProcessorPil", "FeatureExtractor"
	};
	struct json_object *o = get(in, keys[0]);
	const char *key = keys[!o], *type;
	size_t i, k, n;

	o = o ? o : get(in, key);
	*clip = false;
	if (!o)
		return CTL_OK;
	type = json_object_is_type(o, json_type_string) ? json_object_get_string(o) : "?";
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		n = strlen(types[i]);
		*clip = i == 1;
		for (k = 0; k < sizeof(ends) / sizeof(ends[0]); k++)
			if (!strncmp(type, types[i], n) && !strcmp(type + n, ends[k]))
				return CTL_OK;
	}
	return bad(in, key, "%.60s is none of ViT, CLIP and ConvNext", type);
}

int recipe_load(struct ctl *ctl, const char *path, struct recipe *r)
{
	struct reader in = { .ctl = ctl, .r = r };
	bool clip;
	int ret;

	*r = (struct recipe) { .from = strdup(path), .std = { 1, 1, 1 } };
	if (!r->from)
		abort();
	/* A file that is no model, a compiled program among them, has no properties. */
	ret = accel_model_scan(path, take_property, &in);
	ret = ret > 0 ? ret : CTL_OK;
	if (!ret && !in.doc && !in.range[0])
		ret = read_file(&in, path);
	if (!ret && in.doc)
		ret = check_type(&in, &clip);
	if (!ret && in.doc)
		ret = take_sizes(&in, clip);
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

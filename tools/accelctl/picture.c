// SPDX-License-Identifier: MIT
/*
 * See picture.h. libpng's simplified interface does the work.
 */
#include <errno.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "picture.h"

int picture_load(const char *path, struct picture *p, char *error, unsigned int size)
{
	png_image image = { .version = PNG_IMAGE_VERSION };
	png_color black = { 0, 0, 0 };
	FILE *f = fopen(path, "rb");
	int ret = -EINVAL;

	memset(p, 0, sizeof(*p));
	if (!f) {
		ret = -errno;
		snprintf(error, size, "cannot be opened");
		return ret;
	}
	if (!png_image_begin_read_from_stdio(&image, f)) {
		snprintf(error, size, "%s", image.message);
		goto out;
	}
	if (image.width > PICTURE_MAX || image.height > PICTURE_MAX) {
		snprintf(error, size, "%u x %u pixels are more than %u a side", image.width,
			 image.height, PICTURE_MAX);
		goto out;
	}
	image.format = image.format & PNG_FORMAT_FLAG_COLOR ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
	p->width = image.width;
	p->height = image.height;
	p->channels = PNG_IMAGE_SAMPLE_CHANNELS(image.format);
	p->data = malloc(PNG_IMAGE_SIZE(image));
	if (!p->data) {
		snprintf(error, size, "no memory for its pixels");
		ret = -ENOMEM;
		goto out;
	}
	if (!png_image_finish_read(&image, &black, p->data, 0, NULL)) {
		snprintf(error, size, "%s", image.message);
		picture_free(p);
		goto out;
	}
	ret = 0;
out:
	png_image_free(&image);
	fclose(f);
	return ret;
}

int picture_save(const char *path, const struct picture *p, char *error, unsigned int size)
{
	png_image image = {
		.version = PNG_IMAGE_VERSION,
		.width = p->width,
		.height = p->height,
		.format = p->channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY,
	};

	if (png_image_write_to_file(&image, path, 0, p->data, 0, NULL))
		return 0;
	snprintf(error, size, "%s", image.message);
	return -EIO;
}

void picture_free(struct picture *p)
{
	free(p->data);
	p->data = NULL;
}

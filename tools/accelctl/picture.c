// SPDX-License-Identifier: MIT
/*
 * See picture.h. libpng does the work, by its simplified interface if it may, or libjpeg.
 */
#include <errno.h>
#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <jpeglib.h>
#include <stdlib.h>
#include <string.h>

#include "picture.h"

static int load_png(FILE *f, struct picture *p, char *error, unsigned int size)
{
	png_image image = { .version = PNG_IMAGE_VERSION };
	png_color black = { 0, 0, 0 };
	int ret = -EINVAL;

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
	return ret;
}

/**
 * struct png_end - return from libpng on failure
 * @back: jump buffer
 * @error: its message
 * @size: of @error
 */
struct png_end {
	jmp_buf back;
	char *error;
	unsigned int size;
};

static void png_failed(png_structp png, png_const_charp text)
{
	struct png_end *end = png_get_error_ptr(png);

	snprintf(end->error, end->size, "%s", text);
	longjmp(end->back, 1);
}

static void png_silent(png_structp png, png_const_charp text)
{
	(void)png;
	(void)text;
}

/* Of a picture whose head was read: all of its rows */
static void read_rows(png_structp png, png_infop info, struct picture *p)
{
	int passes;
	uint32_t y;

	png_set_expand(png);
	png_set_strip_16(png);
	png_set_strip_alpha(png);
	passes = png_set_interlace_handling(png);
	png_read_update_info(png, info);
	p->channels = png_get_channels(png, info);
	p->data = malloc((size_t)p->width * p->height * p->channels);
	if (!p->data)
		png_error(png, "no memory for its pixels");
	while (passes--)
		for (y = 0; y < p->height; y++)
			png_read_row(png, p->data + (size_t)y * p->width * p->channels, NULL);
	png_read_end(png, NULL);
}

static int load_plain_png(FILE *f, struct picture *p, char *error, unsigned int size)
{
	struct png_end end = { .error = error, .size = size };
	png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &end, png_failed,
						 png_silent);
	png_infop info = png ? png_create_info_struct(png) : NULL;

	if (!info) {
		png_destroy_read_struct(&png, NULL, NULL);
		snprintf(error, size, "no memory for its pixels");
		return -ENOMEM;
	}
	if (setjmp(end.back)) {
		png_destroy_read_struct(&png, &info, NULL);
		picture_free(p);
		return -EINVAL;
	}
	png_init_io(png, f);
	png_read_info(png, info);
	p->width = png_get_image_width(png, info);
	p->height = png_get_image_height(png, info);
	if (p->width > PICTURE_MAX || p->height > PICTURE_MAX) {
		snprintf(error, size, "%u x %u pixels are more than %u a side", p->width, p->height,
			 PICTURE_MAX);
		png_destroy_read_struct(&png, &info, NULL);
		return -EINVAL;
	}
	read_rows(png, info, p);
	png_destroy_read_struct(&png, &info, NULL);
	return 0;
}

/**
 * struct jpeg_end - return from libjpeg on failure
 * @mgr: libjpeg's own struct
 * @back: jump buffer
 */
struct jpeg_end {
	struct jpeg_error_mgr mgr;
	jmp_buf back;
};

static void jpeg_failed(j_common_ptr jpeg)
{
	struct jpeg_end *end = (struct jpeg_end *)(void *)jpeg->err;

	longjmp(end->back, 1);
}

static void jpeg_silent(j_common_ptr jpeg)
{
	(void)jpeg;
}

static int load_jpeg(FILE *f, struct picture *p, char *error, unsigned int size)
{
	struct jpeg_decompress_struct jpeg;
	char text[JMSG_LENGTH_MAX];
	struct jpeg_end end;
	JSAMPROW row;
	int ret = 0;

	jpeg.err = jpeg_std_error(&end.mgr);
	end.mgr.error_exit = jpeg_failed;
	end.mgr.output_message = jpeg_silent;
	if (setjmp(end.back)) {
		end.mgr.format_message((j_common_ptr)&jpeg, text);
		snprintf(error, size, "%s", text);
		jpeg_destroy_decompress(&jpeg);
		picture_free(p);
		return -EINVAL;
	}
	jpeg_create_decompress(&jpeg);
	jpeg_stdio_src(&jpeg, f);
	jpeg_read_header(&jpeg, TRUE);
	jpeg.out_color_space = jpeg.num_components == 1 ? JCS_GRAYSCALE : JCS_RGB;
	jpeg_calc_output_dimensions(&jpeg);
	p->width = jpeg.output_width;
	p->height = jpeg.output_height;
	p->channels = jpeg.num_components == 1 ? 1 : 3;
	if (p->width > PICTURE_MAX || p->height > PICTURE_MAX) {
		snprintf(error, size, "%u x %u pixels are more than %u a side", p->width, p->height,
			 PICTURE_MAX);
		ret = -EINVAL;
	} else {
		p->data = malloc((size_t)p->width * p->height * p->channels);
		ret = p->data ? 0 : -ENOMEM;
		if (ret)
			snprintf(error, size, "no memory for its pixels");
	}
	if (!ret) {
		jpeg_start_decompress(&jpeg);
		while (jpeg.output_scanline < jpeg.output_height) {
			row = p->data + (size_t)jpeg.output_scanline * p->width * p->channels;
			jpeg_read_scanlines(&jpeg, &row, 1);
		}
		/*
		 * The missing part of a truncated file would be grey, with only a warning of
		 * libjpeg.
		 */
		if (end.mgr.num_warnings) {
			snprintf(error, size, "its data are damaged");
			picture_free(p);
			ret = -EINVAL;
		}
	}
	jpeg_destroy_decompress(&jpeg);
	return ret;
}

int picture_load(const char *path, bool plain, struct picture *p, char *error, unsigned int size)
{
	unsigned char head[2] = { 0 };
	FILE *f = fopen(path, "rbe");
	int ret;

	memset(p, 0, sizeof(*p));
	if (!f) {
		ret = -errno;
		snprintf(error, size, "cannot be opened");
		return ret;
	}
	if (fread(head, 1, 2, f) != 2)
		head[0] = 0;
	rewind(f);
	if (head[0] == 0xff && head[1] == 0xd8)
		ret = load_jpeg(f, p, error, size);
	else
		ret = plain ? load_plain_png(f, p, error, size) : load_png(f, p, error, size);
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

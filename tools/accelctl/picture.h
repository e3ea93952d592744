/* SPDX-License-Identifier: MIT */
/*
 * Pictures in PNG and JPEG files: 8 bits, grey or colour.
 */
#ifndef ACCELCTL_PICTURE_H
#define ACCELCTL_PICTURE_H

#include <stdbool.h>
#include <stdint.h>

/** PICTURE_MAX: most pixels along a side that are read */
#define PICTURE_MAX	16384u

/**
 * struct picture - rows of pixels, from the top left
 * @width: pixels of a row
 * @height: rows
 * @channels: 1: grey, 3: red, green, blue
 * @data: width * height * channels bytes, NULL: there is none
 */
struct picture {
	uint32_t width;
	uint32_t height;
	uint32_t channels;
	unsigned char *data;
};

/**
 * picture_load - read a PNG or JPEG file, by what is in it
 * @path: file
 * @plain: bytes as they are in the file: neither transparency nor gamma is heeded
 * @p: out; picture_free() it
 * @error: out: what is wrong, when it fails
 * @size: of @error
 *
 * Else transparency is put on black, and other gammas than that of sRGB become that. 16 bits
 * become 8. How a camera was held is not heeded.
 *
 * Return: 0; -EINVAL not a picture, or too large; -ENOMEM; an errno of opening.
 */
int picture_load(const char *path, bool plain, struct picture *p, char *error, unsigned int size);

/**
 * picture_save - write a PNG file
 * @path: file
 * @p: picture
 * @error: out: what is wrong, when it fails
 * @size: of @error
 *
 * Return: 0, -EIO.
 */
int picture_save(const char *path, const struct picture *p, char *error, unsigned int size);

/** picture_free - give up the pixels */
void picture_free(struct picture *p);

#endif /* ACCELCTL_PICTURE_H */

// SPDX-License-Identifier: MIT
/*
 * fill RECIPE.fill.json FOLDER: writes the weights that a recipe describes, the file of
 * external data that the model beside it names.
 *
 * Element i of a tensor of seed s is made of r = splitmix64(s * 2^32 + i). Floats are
 * mean + amp * u in single precision, where u is the upper 24 bits of r, from -1 to 1;
 * bytes are its upper 8 bits, of signed ones -127 for -128.
 */
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNK	65536u

struct tensor {
	uint64_t offset;
	uint64_t count;
	uint64_t seed;
	float mean;
	float amp;
	char type[4];
};

static uint64_t splitmix(uint64_t z)
{
	z += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static float real(const struct tensor *t, uint64_t r)
{
	/* Each step is exact or rounded by itself. */
	const float u = ((float)(r >> 40) - 8388608) / 8388608;
	const float wide = t->amp * u;

	return t->mean + wide;
}

static size_t make(const struct tensor *t, uint64_t from, uint64_t count, unsigned char *out)
{
	const size_t size = t->type[0] == 'f' ? 4 : 1;
	uint64_t i, r;

	for (i = 0; i < count; i++) {
		r = splitmix((t->seed << 32) + from + i);
		if (size == 4) {
			const float v = real(t, r);

			memcpy(out + 4 * i, &v, 4);
		} else {
			out[i] = (unsigned char)(r >> 56);
			if (t->type[0] == 's' && out[i] == 128)
				out[i] = 129;
		}
	}
	return size * count;
}

static double number(struct json_object *o, const char *key)
{
	return json_object_get_double(json_object_object_get(o, key));
}

static int write_tensor(int fd, struct json_object *o, unsigned char *buffer)
{
	const char *type = json_object_get_string(json_object_object_get(o, "dtype"));
	struct tensor t = {
		.offset = (uint64_t)number(o, "offset"), .count = (uint64_t)number(o, "count"),
		.seed = (uint64_t)number(o, "seed"), .mean = (float)number(o, "mean"),
		.amp = (float)number(o, "amp"),
	};
	uint64_t at = 0, n;
	size_t bytes;

	if (!type || (strcmp(type, "f32") && strcmp(type, "u8") && strcmp(type, "s8")))
		return -EINVAL;
	snprintf(t.type, sizeof(t.type), "%s", type);
	for (; at < t.count; at += n, t.offset += bytes) {
		n = t.count - at < CHUNK ? t.count - at : CHUNK;
		bytes = make(&t, at, n, buffer);
		errno = ENOSPC;
		if (pwrite(fd, buffer, bytes, (off_t)t.offset) != (ssize_t)bytes)
			return -errno;
	}
	return 0;
}

static int fill(const char *recipe, const char *folder)
{
	struct json_object *doc = json_object_from_file(recipe);
	struct json_object *list = doc ? json_object_object_get(doc, "tensors") : NULL;
	const char *name = json_object_get_string(json_object_object_get(doc, "bin"));
	unsigned char *buffer = malloc(4 * (size_t)CHUNK);
	int ret = -EINVAL, fd = -1;
	char path[4096];
	size_t i;

	if (!list || !name || strchr(name, '/') || !buffer)
		goto out;
	ret = 0;
	if (!number(doc, "bytes"))
		goto out;
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0 || ftruncate(fd, (off_t)number(doc, "bytes")))
		ret = -errno;
	for (i = 0; !ret && i < json_object_array_length(list); i++)
		ret = write_tensor(fd, json_object_array_get_idx(list, i), buffer);
	if (fd >= 0 && close(fd) && !ret)
		ret = -errno;
out:
	free(buffer);
	json_object_put(doc);
	return ret;
}

int main(int argc, char **argv)
{
	int ret;

	if (argc != 3) {
		fprintf(stderr, "usage: fill RECIPE.fill.json FOLDER\n");
		return 2;
	}
	ret = fill(argv[1], argv[2]);
	if (ret)
		fprintf(stderr, "fill: %s: %s\n", argv[1], strerror(-ret));
	return ret ? 1 : 0;
}

// SPDX-License-Identifier: MIT
/* See arrays.h. Files are not trusted: every length is compared with the existing data. */
#include <accel/model.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arrays.h"

/* Longest header of safetensors */
#define MAX_HEADER	(100u << 20)

/* A file, or a part of one */
struct bytes {
	const uint8_t *p;
	size_t n;
};

static int __attribute__((format(printf, 3, 4)))
fail(char *error, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(error, NPY_ERROR, fmt, ap);
	va_end(ap);
	return code;
}

int arrays_take(struct npz *arrays, const char *name, size_t len, struct npy *npy)
{
	struct npz_entry *more = realloc(arrays->entries, (arrays->count + 1) * sizeof(*more));

	if (more) {
		arrays->entries = more;
		more[arrays->count].name = strndup(name ? name : "", len);
		more[arrays->count].npy = *npy;
	}
	if (!more || !more[arrays->count].name) {
		npy_free(npy);
		return -ENOMEM;
	}
	arrays->count++;
	return 0;
}

/* Elements of an array whose dimensions are known; false: they are too many */
static bool count_of(struct npy *npy)
{
	uint64_t bytes;
	uint32_t i;

	npy->count = 1;
	for (i = 0; i < npy->rank; i++)
		if (__builtin_mul_overflow(npy->count, npy->dims[i], &npy->count))
			return false;
	return !__builtin_mul_overflow(npy->count, npy->itemsize, &bytes);
}

static int copy_data(struct npy *npy, const void *data, char *error)
{
	npy->data = malloc(npy->count * npy->itemsize + 1);
	if (!npy->data)
		return fail(error, -ENOMEM, "no memory for an array");
	memcpy(npy->data, data, npy->count * npy->itemsize);
	return 0;
}

/* --- safetensors: the length of a JSON document, that, and data --- */

static const struct {
	const char name[5];
	char kind;
	uint8_t size;
} safe_types[] = {
	{ "F64", 'f', 8 }, { "F32", 'f', 4 }, { "F16", 'f', 2 }, { "BF16", 'V', 2 },
	{ "I64", 'i', 8 }, { "I32", 'i', 4 }, { "I16", 'i', 2 }, { "I8", 'i', 1 },
	{ "U64", 'u', 8 }, { "U32", 'u', 4 }, { "U16", 'u', 2 }, { "U8", 'u', 1 },
	{ "BOOL", 'u', 1 },
};

static int64_t number_at(struct json_object *list, size_t i)
{
	struct json_object *o = json_object_array_get_idx(list, i);

	return json_object_is_type(o, json_type_int) ? json_object_get_int64(o) : -1;
}

static int safe_entry(struct npz *arrays, const char *name, struct json_object *o,
		      struct bytes data, char *error)
{
	struct json_object *type = NULL, *shape = NULL, *place = NULL;
	struct npy npy = { 0 };
	const char *text;
	int64_t from, to;
	size_t i;
	int ret;

	json_object_object_get_ex(o, "dtype", &type);
	json_object_object_get_ex(o, "shape", &shape);
	json_object_object_get_ex(o, "data_offsets", &place);
	if (!json_object_is_type(shape, json_type_array) ||
	    !json_object_is_type(place, json_type_array) || json_object_array_length(place) != 2)
		return fail(error, -EINVAL, "%.64s: no shape, or no place", name);
	text = json_object_get_string(type);
	for (i = 0; i < sizeof(safe_types) / sizeof(safe_types[0]); i++)
		if (text && !strcmp(text, safe_types[i].name)) {
			npy.kind = safe_types[i].kind;
			npy.itemsize = safe_types[i].size;
		}
	if (!npy.itemsize)
		return fail(error, -EOPNOTSUPP, "%.64s: type %.16s is not read", name,
			    text ? text : "");
	if (json_object_array_length(shape) > NPY_MAX_RANK)
		return fail(error, -EOPNOTSUPP, "%.64s: more than %d dimensions", name,
			    NPY_MAX_RANK);
	npy.rank = (uint32_t)json_object_array_length(shape);
	for (i = 0; i < npy.rank; i++) {
		if (number_at(shape, i) < 0)
			return fail(error, -EINVAL, "%.64s: a bad dimension", name);
		npy.dims[i] = (uint64_t)number_at(shape, i);
	}
	from = number_at(place, 0);
	to = number_at(place, 1);
	if (from < 0 || to < from || (uint64_t)to > data.n || !count_of(&npy) ||
	    (uint64_t)(to - from) != npy.count * npy.itemsize)
		return fail(error, -EINVAL, "%.64s: its data are not where they should be", name);
	ret = copy_data(&npy, data.p + from, error);
	return ret ? ret : arrays_take(arrays, name, strlen(name), &npy);
}

static int safe_read(struct npz *arrays, struct bytes file, char *error)
{
	struct json_tokener *tok;
	struct json_object *doc = NULL;
	uint64_t len;
	int ret = 0;

	memcpy(&len, file.p, 8);
	len = le64toh(len);
	tok = json_tokener_new();
	if (tok)
		doc = json_tokener_parse_ex(tok, (const char *)file.p + 8, (int)len);
	json_tokener_free(tok);
	if (!json_object_is_type(doc, json_type_object)) {
		json_object_put(doc);
		return fail(error, -EINVAL, "not a safetensors file");
	}
	file.p += 8 + len;
	file.n -= 8 + len;
	json_object_object_foreach(doc, name, o)
		if (!ret && strcmp(name, "__metadata__"))
			ret = safe_entry(arrays, name, o, file, error);
	json_object_put(doc);
	return ret;
}

/* --- a tensor of ONNX --- */

static int pb_read(struct npz *arrays, const char *path, char *error)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_value v = ACCEL_VALUE_INIT;
	struct npy npy = { 0 };
	void *data;
	uint32_t i;
	int ret = accel_model_tensor(path, &e, &v, &data);

	if (ret == -EBADMSG)
		return fail(error, -EINVAL, "not an array of .npy, .npz, .safetensors or .pb: %.80s",
			    e.text);
	if (ret)
		return fail(error, ret, "%.100s", e.text);
	npy.itemsize = accel_type_bits(v.type) / 8;
	npy.kind = v.type == ACCEL_BF16 ? 'V' : element_real(v.type) ? 'f' :
		   v.type == ACCEL_S8 || v.type == ACCEL_HOST_S16 || v.type == ACCEL_S32 ||
		   v.type == ACCEL_HOST_S64 ? 'i' : 'u';
	npy.rank = v.rank;
	for (i = 0; i < v.rank && i < NPY_MAX_RANK; i++)
		npy.dims[i] = (uint64_t)v.dims[i];
	if (!npy.itemsize || v.rank > NPY_MAX_RANK || !count_of(&npy))
		ret = fail(error, -EOPNOTSUPP, "elements of half a byte, or too many dimensions");
	if (!ret)
		ret = copy_data(&npy, data, error);
	if (!ret)
		ret = arrays_take(arrays, v.name, strlen(v.name), &npy);
	free(data);
	return ret;
}

/* --- files --- */

/* Does it begin with a length, and a document of that? */
static bool is_safe(struct bytes file)
{
	uint64_t len;

	if (file.n <= 8)
		return false;
	memcpy(&len, file.p, 8);
	len = le64toh(len);
	return len >= 2 && len <= file.n - 8 && len <= MAX_HEADER && file.p[8] == '{';
}

int arrays_load(const char *path, struct npz *arrays, char error[NPY_ERROR])
{
	struct npy npy;
	struct stat st;
	void *file;
	char head[6] = "";
	int ret, fd = open(path, O_RDONLY | O_CLOEXEC);

	memset(arrays, 0, sizeof(*arrays));
	if (fd < 0 || fstat(fd, &st)) {
		ret = -errno;
		if (fd >= 0)
			close(fd);
		return fail(error, ret, "cannot open: %s", strerror(-ret));
	}
	if (pread(fd, head, 6, 0) != 6)
		head[0] = 0;
	if (!memcmp(head, "\x93NUMPY", 6)) {
		close(fd);
		ret = npy_load(path, &npy, error);
		return ret ? ret : arrays_take(arrays, "", 0, &npy);
	}
	if (!memcmp(head, "PK\x03\x04", 4)) {
		close(fd);
		return npz_load(path, arrays, error);
	}
	file = S_ISREG(st.st_mode) && st.st_size > 0 ?
	       mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
	close(fd);
	if (file == MAP_FAILED)
		return fail(error, -EINVAL, "it is empty, or cannot be mapped");
	if (is_safe((struct bytes) { file, (size_t)st.st_size }))
		ret = safe_read(arrays, (struct bytes) { file, (size_t)st.st_size }, error);
	else
		ret = pb_read(arrays, path, error);
	munmap(file, (size_t)st.st_size);
	if (ret)
		npz_free(arrays);
	return ret;
}

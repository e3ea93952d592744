/* SPDX-License-Identifier: MIT */
/*
 * Arrays in NumPy's .npy format, versions 1.0, 2.0 and 3.0.
 */
#ifndef ACCELCTL_NPY_H
#define ACCELCTL_NPY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/** NPY_MAX_RANK: most dimensions that are read */
#define NPY_MAX_RANK	8

/** NPY_MAX_HEADER: longest header that is read, in bytes */
#define NPY_MAX_HEADER	65536u

/** NPY_ERROR: size of an error text */
#define NPY_ERROR	256

/**
 * struct npy - an array
 */
struct npy {
	/** @kind: 'f' floating point, 'i' signed, 'u' unsigned, 'V' bytes without a meaning */
	char kind;
	/** @swap: the bytes of an element are in the other order */
	bool swap;
	/** @fortran: the first index runs fastest */
	bool fortran;
	/** @itemsize: bytes of an element */
	uint32_t itemsize;
	/** @rank: number of dimensions */
	uint32_t rank;
	/** @dims: elements */
	uint64_t dims[NPY_MAX_RANK];
	/** @count: elements in all */
	uint64_t count;
	/** @data: count * itemsize bytes, NULL: nothing was read */
	unsigned char *data;
};

/**
 * npy_read - read an array
 * @f: stream, at the start of the array; data after it are not read
 * @npy: out; to be released with npy_free()
 * @error: out: error message
 *
 * Memory is only allocated for data that exist, not for the size in a header.
 *
 * Return: 0; -EINVAL malformed; -EOPNOTSUPP unsupported type; -ENODATA truncated; -EIO;
 * -ENOMEM.
 */
int npy_read(FILE *f, struct npy *npy, char error[NPY_ERROR]);

/**
 * npy_load - read an array from a file
 * @path: file
 * @npy: out; to be released with npy_free()
 * @error: out: error message
 *
 * Return: as npy_read(), or a negative errno of opening.
 */
int npy_load(const char *path, struct npy *npy, char error[NPY_ERROR]);

/**
 * npy_free - release the elements
 * @npy: array, or zeroed
 */
void npy_free(struct npy *npy);

/**
 * npy_type - the type's name as NumPy writes it
 * @npy: array
 * @buf: at least 8 bytes
 *
 * Return: @buf.
 */
const char *npy_type(const struct npy *npy, char buf[8]);

/**
 * npy_get - read an element
 * @npy: array
 * @index: number of the element in row-major order, for any order in the file
 * @bf16: two-byte elements of kind 'V' and 'u' are bfloat16
 *
 * Return: its value.
 */
double npy_get(const struct npy *npy, uint64_t index, bool bf16);

/** NPY_HEADER: room for a header that is written */
#define NPY_HEADER	576

/**
 * npy_header - the header of an array, little-endian, last index fastest
 * @head: out
 * @descr: type: "<f4"
 * @rank: number of dimensions, at most NPY_MAX_RANK
 * @dims: elements
 *
 * Return: its bytes.
 */
size_t npy_header(char head[NPY_HEADER], const char *descr, uint32_t rank, const uint64_t *dims);

/**
 * npy_save - write an array, little-endian, last index fastest
 * @path: file; replaced as a whole if it is an ordinary one
 * @descr: type: "<f4"
 * @itemsize: bytes of an element
 * @rank: number of dimensions
 * @dims: elements
 * @data: elements
 *
 * Return: 0 or a negative errno.
 */
int npy_save(const char *path, const char *descr, uint32_t itemsize,
	     uint32_t rank, const uint64_t *dims, const void *data);

#endif /* ACCELCTL_NPY_H */

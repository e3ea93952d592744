/* SPDX-License-Identifier: MIT */
/*
 * Several arrays in one file, as numpy.savez() and savez_compressed() write them.
 */
#ifndef ACCELCTL_NPZ_H
#define ACCELCTL_NPZ_H

#include "npy.h"

/**
 * struct npz - the arrays of a file
 */
struct npz {
	/** @count: number of arrays */
	uint32_t count;
	/** @entries: arrays with their names, without ".npy" */
	struct npz_entry {
		char *name;
		struct npy npy;
	} *entries;
};

/**
 * npz_load - read all arrays of a file
 * @path: file
 * @npz: out; to be released with npz_free()
 * @error: out: error message
 *
 * Return: 0, or as npy_load().
 */
int npz_load(const char *path, struct npz *npz, char error[NPY_ERROR]);

/**
 * npz_free - give them up
 * @npz: arrays, or zeroed
 */
void npz_free(struct npz *npz);

/**
 * npz_find - an array by its name
 * @npz: arrays
 * @prefix: of its name
 * @name: the rest of it
 *
 * Return: the array, NULL: there is none.
 */
const struct npy *npz_find(const struct npz *npz, const char *prefix, const char *name);

/**
 * struct npz_writer - a file of arrays that is written
 * @f: file
 * @at: bytes written
 * @count: arrays
 * @dir: the directory, which goes to the end
 * @dir_bytes: its bytes
 */
struct npz_writer {
	FILE *f;
	uint64_t at;
	uint32_t count;
	unsigned char *dir;
	size_t dir_bytes;
};

/** npz_open - start a file of arrays; 0 or a negative errno; npz_close() ends it */
int npz_open(const char *path, struct npz_writer *w);

/**
 * npz_put - add an array, uncompressed
 * @w: file
 * @name: name, without ".npy"
 * @descr: type: "<f4"
 * @itemsize: bytes of an element
 * @rank: number of dimensions
 * @dims: elements
 * @data: elements
 *
 * Return: 0; -EFBIG: beyond 4 GiB; another negative errno.
 */
int npz_put(struct npz_writer *w, const char *name, const char *descr, uint32_t itemsize,
	    uint32_t rank, const uint64_t *dims, const void *data);

/** npz_close - write the directory and close the file, also on failure */
int npz_close(struct npz_writer *w);

#endif /* ACCELCTL_NPZ_H */

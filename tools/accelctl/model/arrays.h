/* SPDX-License-Identifier: MIT */
/*
 * Arrays of any file that has some, and elements of any type that a graph has.
 */
#ifndef ACCELCTL_MODEL_ARRAYS_H
#define ACCELCTL_MODEL_ARRAYS_H

#include "npz.h"

/**
 * arrays_load - read all arrays of a file
 * @path: .npy, .npz, .safetensors, or .pb with a tensor of ONNX, by what is in it
 * @arrays: out; npz_free() it. The array of .npy has the name "", that of .pb its own
 * @error: out: what is wrong, when it fails
 *
 * Return: 0; -EINVAL none of these, malformed; as npy_load().
 */
int arrays_load(const char *path, struct npz *arrays, char error[NPY_ERROR]);

/** arrays_take - keep the array; its name is copied. 0, or -ENOMEM */
int arrays_take(struct npz *arrays, const char *name, size_t len, struct npy *npy);

/**
 * element_get - read an element
 * @type: &enum accel_dtype or &enum accel_host_type
 * @p: first element
 * @i: number
 *
 * Return: its value; not a number for a type that is none of whole bytes.
 */
double element_get(uint32_t type, const void *p, uint64_t i);

/** element_put - write an element, rounded; integers saturate */
void element_put(uint32_t type, void *p, uint64_t i, double x);

/** element_descr - NumPy's name of a type, NULL: it has none */
const char *element_descr(uint32_t type);

/** element_real - is it a floating point type? */
bool element_real(uint32_t type);

/** element_copy - all of an array as elements of a type */
void element_copy(uint32_t type, void *to, const struct npy *from);

#endif /* ACCELCTL_MODEL_ARRAYS_H */

/* SPDX-License-Identifier: MIT */
/*
 * Files that are mapped, and used where they lie.
 */
#ifndef LIBACCEL_MODELS_MAPPING_H
#define LIBACCEL_MODELS_MAPPING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <accel/accel.h>

/**
 * struct mapping - a mapped file
 * @refs: references
 * @next: another of the same model
 * @name: as the model calls it, NULL: the model itself
 * @data: first byte
 * @bytes: size
 * @stamp: accel_file_stamp_read()
 * @dev: device of the file
 * @ino: number of the file there
 */
struct mapping {
	atomic_uint refs;
	struct mapping *next;
	char *name;
	const uint8_t *data;
	uint64_t bytes;
	struct accel_file_stamp stamp;
	dev_t dev;
	ino_t ino;
};

/**
 * mapping_open - map a file
 * @path: file
 * @below: NULL, or the path of another file, from the folder of @path on, to be mapped
 *	instead: no link and no ".." leads out of that folder
 * @out: out: with one reference
 *
 * Return: 0; -EPERM @below is outside of the folder; -EBADMSG not a file; errors of open()
 * and mmap(); -ENOMEM.
 */
int mapping_open(const char *path, const char *below, struct mapping **out);

/**
 * mapping_constant - make data of a mapped file a constant
 * @map: file, of which the constant has a reference
 * @graph: graph
 * @v: what it is
 * @data: within @map
 * @value: out
 *
 * Return: as accel_graph_constant().
 */
int mapping_constant(struct mapping *map, struct accel_graph *graph, struct accel_value *v,
		     const void *data, uint32_t *value);

/**
 * mapping_is - is it this file that is mapped?
 * @map: mapped file
 * @path: file, which need not exist
 */
bool mapping_is(const struct mapping *map, const char *path);

struct mapping *mapping_ref(struct mapping *map);
void mapping_unref(void *map);

#endif /* LIBACCEL_MODELS_MAPPING_H */

/* SPDX-License-Identifier: MIT */
/*
 * Named tensors of files: safetensors and GGUF, used where they lie.
 *
 *	stored.c		what both have in common: names, and constants of graphs
 *	safetensors/	a file, or an index of several
 *	gguf/		a file of version 2 or 3: its tensors, and its metadata
 *	newfile.c	files that are written
 *
 * A file comes from anywhere: every number in it is held against what is there before
 * memory is taken for it.
 */
#ifndef LIBACCEL_MODELS_STORE_H
#define LIBACCEL_MODELS_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <accel/error.h>
#include <accel/graph.h>
#include "mapping.h"

/**
 * struct stored - a tensor of a file
 * @name: name
 * @type: &enum accel_dtype or &enum accel_host_type; 0: @format says more
 * @format: without @type: &enum accel_gguf; 0: a type that the library does not have
 * @rank: dimensions
 * @dims: their sizes, outermost first
 * @count: elements
 * @bytes: of all of them, as they lie
 * @data: first byte
 * @mapping: mapping that they are in
 */
struct stored {
	char *name;
	uint32_t type;
	uint32_t format;
	uint32_t rank;
	int64_t dims[ACCEL_GRAPH_MAX_RANK];
	uint64_t count;
	uint64_t bytes;
	const uint8_t *data;
	struct mapping *mapping;
};

/**
 * struct meta - an entry of GGUF's metadata
 * @key: name, not ended by a zero
 * @length: of @key
 * @type: &enum gguf_type
 * @element: of arrays: type of their elements
 * @count: of arrays: elements; of strings: bytes
 * @data: first byte: of a number, a string, or the first element of an array
 */
struct meta {
	const char *key;
	uint64_t length;
	uint32_t type;
	uint32_t element;
	uint64_t count;
	const uint8_t *data;
};

/* Types of metadata, by their numbers in files */
enum gguf_type {
	GGUF_U8 = 0, GGUF_S8 = 1, GGUF_U16 = 2, GGUF_S16 = 3, GGUF_U32 = 4, GGUF_S32 = 5,
	GGUF_F32 = 6, GGUF_BOOL = 7, GGUF_STRING = 8, GGUF_ARRAY = 9, GGUF_U64 = 10,
	GGUF_S64 = 11, GGUF_F64 = 12
};

/**
 * struct store - the tensors of a model
 * @list: tensors, by name
 * @count: their number
 * @room: of @list
 * @maps: mappings
 * @meta: GGUF: metadata, in the file's order; else NULL
 * @meta_count: its entries
 * @meta_bytes: bytes of all of them, from GGUF_HEAD of the file on
 * @file_bytes: bytes of all files
 */
struct store {
	struct stored *list;
	uint32_t count;
	uint32_t room;
	struct mapping *maps;
	struct meta *meta;
	uint32_t meta_count;
	uint64_t meta_bytes;
	uint64_t file_bytes;
};

/* Bytes before the metadata; what a tensor of a type has that GGUF does not */
#define GGUF_HEAD	24u
#define GGUF_NO_TYPE	UINT32_MAX

/* --- stored.c ----------------------------------------------------------------------------- */

/** stored_fail - fill an error record; its code */
int stored_fail(struct accel_error *error, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/** stored_about - have an error begin with the file that it is about, which may be long; @ret */
int stored_about(struct accel_error *error, int ret, const char *path);

/**
 * stored_open - read what tensors a file has
 * @path: GGUF, safetensors, or an index of these (.json)
 * @store: out; stored_close() it
 * @error: out: what is wrong, when it fails
 *
 * Return: 0; -EBADMSG none of these, or one that contradicts itself; -EOPNOTSUPP a version that
 * is not known; -EPERM an index that names files outside of its folder; errors of open();
 * -ENOMEM.
 */
int stored_open(const char *path, struct store *store, struct accel_error *error);
void stored_close(struct store *store);

/** stored_find - a tensor by its name, NULL: there is none */
const struct stored *stored_find(const struct store *store, const char *name);

/**
 * stored_constant - make a tensor a constant of a graph, where it lies
 * @stored: tensor; those of a type that graphs do not have are converted
 * @graph: graph
 * @value: out
 * @error: out: what is wrong, when it fails
 *
 * The mapping stays as long as the graph, or a program of it, needs it.
 *
 * Return: 0; -EOPNOTSUPP a type that the library does not have; -ENOMEM; as
 * accel_graph_constant().
 */
int stored_constant(const struct stored *stored, struct accel_graph *graph, uint32_t *value,
		    struct accel_error *error);

/* For the readers: a tensor more, whose name is copied; then all are put in order. */
int stored_add(struct store *store, const char *name, size_t length, const struct stored *stored,
	       struct accel_error *error);
int stored_sort(struct store *store, struct accel_error *error);

/* --- safetensors/, gguf/ ------------------------------------------------------------------ */

int safetensors_read(struct store *store, struct mapping *map, struct accel_error *error);
int safetensors_index(struct store *store, const char *path, struct mapping *map,
		      struct accel_error *error);
bool safetensors_is(const struct mapping *map);
/** safetensors_type - name of a type, NULL: there is none */
const char *safetensors_type(uint32_t type);
/** gguf_number - of &struct stored's type and format; GGUF_NO_TYPE: there is none */
uint32_t gguf_number(uint32_t type, uint32_t format);
int gguf_read(struct store *store, struct mapping *map, struct accel_error *error);

/** meta_find - an entry of the metadata, NULL: there is none */
const struct meta *meta_find(const struct store *store, const char *key);

/** meta_number - a number or bool, @index of an array (else 0); false: it is none */
bool meta_number(const struct meta *meta, uint64_t index, double *number);

/** meta_whole - the same, for what is whole and at most INT64_MAX */
bool meta_whole(const struct meta *meta, uint64_t index, int64_t *number);

/**
 * meta_count - a number that has to be one if it is there
 * @store: file
 * @key: name
 * @number: out: whole, from 0 on; -1: it is not there
 * @error: out: what is wrong, when it fails
 *
 * Return: 0; -EBADMSG it is something else.
 */
int meta_count(const struct store *store, const char *key, int64_t *number,
	       struct accel_error *error);

/**
 * meta_string - a string, or the next of an array of strings
 * @meta: entry
 * @at: NULL for a string; of an array where the next one is: begin with @meta->data
 * @text: out: first byte; there is no zero behind it
 * @length: out
 *
 * Return: true; false: it is none.
 */
bool meta_string(const struct meta *meta, const uint8_t **at, const char **text,
		 uint64_t *length);

#endif /* LIBACCEL_MODELS_STORE_H */

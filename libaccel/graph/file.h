/* SPDX-License-Identifier: MIT */
/*
 * Programs in files.
 *
 *	header		who can use it, where the rest is
 *	meta		operators that users added and contents that there are, the graph
 *			(file_write.c, file_read.c), nets behind the passes (file_net.c), as a
 *			stream of numbers and texts
 *	data		contents of constants
 *	weights		packed weights, as accel_weights_save() has them
 *
 * Plans are made again: that reads no weights, and a file cannot say what a device does.
 */
#ifndef LIBACCEL_GRAPH_FILE_H
#define LIBACCEL_GRAPH_FILE_H

#include "libaccel/plan/plan.h"
#include "graph.h"

/* Counts up when what follows changes. */
#define PROGRAM_VERSION	6u
#define PROGRAM_PAGE	4096u
/* Data that is not there: only what was packed of it is. */
#define NO_DATA		UINT64_MAX
/* Contents of a constant that forms were made of: parts of it, each with a digest */
#define MAX_SUMS	64u
/* Graphs within graphs */
#define MAX_DEPTH	32u

/**
 * struct program_header - how a file begins; numbers as this processor has them
 * @magic: ACCEL_PROGRAM_MAGIC
 * @version: PROGRAM_VERSION, also the order of bytes
 * @library: accel_version()
 * @desc_size: bytes of any descriptor
 * @level: options that it was compiled with
 * @off: likewise
 * @engine: likewise
 * @reproducible: so was its context
 * @precision: of the options
 * @file_bytes: size of the file
 * @meta_bytes: of what lies behind the header
 * @data_offset: where data begins
 * @weights_offset: where it ends and weights begin, which end the file
 * @meta: digest of the meta
 * @sum: digest of the header with zeros here
 */
struct program_header {
	char magic[8];
	uint32_t version;
	uint32_t library;
	uint32_t desc_size;
	uint32_t level;
	uint32_t off;
	uint32_t engine;
	uint32_t reproducible;
	uint32_t precision;
	uint64_t file_bytes;
	uint64_t meta_bytes;
	uint64_t data_offset;
	uint64_t weights_offset;
	struct store_digest meta;
	struct store_digest sum;
};

enum record {
	RECORD_INPUT,
	RECORD_CONSTANT,
	RECORD_NODE,
	RECORD_DYNAMIC,
	RECORD_OPERATOR
};

/**
 * struct file_blob - contents that a file has, or had
 * @bytes: size
 * @offset: behind the begin of data; NO_DATA: not there
 * @digest: of them
 * @sum_count: number of @sums
 * @sums: what is known of them, for what was packed
 * @from: to be written: whose they are
 * @blob: read: the same as a constant
 * @checked: read: they are what @digest says
 */
struct file_blob {
	uint64_t bytes;
	uint64_t offset;
	struct store_digest digest;
	uint32_t sum_count;
	struct weights_sum *sums;
	const struct blob *from;
	struct blob *blob;
	bool checked;
};

/**
 * struct program_file - a file that a program was loaded from
 * @map: all of it
 * @bytes: size
 * @data_offset: where data begins
 * @stamp: store_stamp()
 * @meta: copy of the meta: names of nets lie there
 * @blobs: contents
 * @blob_count: number of @blobs
 * @whole: all contents are what they should be
 */
struct program_file {
	void *map;
	uint64_t bytes;
	uint64_t data_offset;
	struct accel_file_stamp stamp;
	char *meta;
	struct file_blob *blobs;
	uint32_t blob_count;
	bool whole;
};

void desc_clear(union node_desc *desc);

/* file_write.c */

/**
 * struct image - a program to be written
 * @program: program, locked
 * @seen: only for numbers that were seen
 * @blobs: contents
 * @blob_count: number of @blobs
 * @blob_cap: room in @blobs
 * @added: nodes whose operators users added, one of each operator and version
 * @added_count: number of @added
 * @added_cap: room in @added
 * @meta: graph and nets, then all of the meta
 * @bytes: of @meta
 * @cap: room in @meta
 * @data_bytes: contents that are to be written, with what lies between them
 * @full: there was no memory
 */
struct image {
	struct accel_program *program;
	bool seen;
	struct file_blob *blobs;
	uint32_t blob_count;
	uint32_t blob_cap;
	const struct operator_node **added;
	uint32_t added_count;
	uint32_t added_cap;
	char *meta;
	uint64_t bytes;
	uint64_t cap;
	uint64_t data_bytes;
	bool full;
};

int image_make(struct image *image);
void image_free(struct image *image);

/* file_read.c */

/* All contents of a net together */
#define MAX_BYTES	(1ull << 56)

/**
 * struct reader - a stream that is read
 * @program: program
 * @file: file
 * @graph: graph in work
 * @operators: that the caller has, or NULL
 * @added: those that the file has nodes of, borrowed
 * @versions: of their domains
 * @added_count: number of @added
 * @p: what comes next
 * @left: bytes from there
 * @bad: it is not as it should be
 */
struct reader {
	struct accel_program *program;
	struct program_file *file;
	struct accel_graph *graph;
	const struct accel_operators *operators;
	struct operator **added;
	uint32_t *versions;
	uint32_t added_count;
	const char *p;
	uint64_t left;
	bool bad;
};

int file_parse(struct accel_program *program, const struct program_header *h,
	       const struct accel_operators *operators);
int file_check_blob(struct accel_program *program, struct file_blob *b);
void read_bytes(struct reader *r, void *data, uint64_t bytes);
uint32_t read_number(struct reader *r);
int64_t read_long(struct reader *r);
uint32_t read_count(struct reader *r, uint32_t least);
const char *read_text(struct reader *r);
uint32_t read_dims(struct reader *r, int64_t *dims);
union node_desc *read_desc(struct reader *r);
struct blob *read_blob(struct reader *r, uint32_t index, uint64_t bytes);

/* file_write.c, for file_added.c */

void image_number(struct image *image, uint32_t number);
void image_long(struct image *image, int64_t number);
void image_text(struct image *image, const char *text);
void image_dims(struct image *image, uint32_t rank, const int64_t *dims);
void image_put(struct image *image, const void *data, uint64_t bytes);

/* file_added.c */

void put_operators(struct image *image);
void put_added(struct image *image, const struct operator_node *node);
int read_operators(struct reader *r);
union node_desc *read_added(struct reader *r);

/* file_net.c */

int read_net(struct reader *r, struct net *net);

#endif /* LIBACCEL_GRAPH_FILE_H */

/* SPDX-License-Identifier: MIT */
/*
 * Operations on the CPU, for types that no engine has and for what makes shapes.
 * They are few and small: plain loops over every element.
 */
#ifndef LIBACCEL_HOST_H
#define LIBACCEL_HOST_H

#include <stdbool.h>
#include <stdint.h>
#include <accel/accel.h>
#include <accel/graph.h>

/**
 * struct host_tensor - a tensor in memory
 * @arg: &enum accel_arg
 * @type: &enum accel_dtype or &enum accel_host_type
 * @rank: dimensions
 * @dims: their sizes
 * @strides: elements
 * @data: element (0, 0, ...)
 */
struct host_tensor {
	uint32_t arg;
	uint32_t type;
	uint32_t rank;
	int64_t dims[ACCEL_GRAPH_MAX_RANK];
	int64_t strides[ACCEL_GRAPH_MAX_RANK];
	void *data;
};

/**
 * struct host_number - an element
 * @real: it is @f; else @i
 * @f: floating-point
 * @i: integer
 * @large: @i has the bits of an unsigned one of 64
 */
struct host_number {
	bool real;
	bool large;
	double f;
	int64_t i;
};

/**
 * struct host_random - a sequence of random numbers
 * @words: state
 * @at: the next of them
 * @has_spare: the next normal number is @spare
 * @spare: it
 */
struct host_random {
	uint32_t words[624];
	uint32_t at;
	bool has_spare;
	double spare;
};

void host_random_seed(struct host_random *r, uint32_t seed);
double host_random_uniform(struct host_random *r);
double host_random_normal(struct host_random *r);

bool host_type_real(uint32_t type);
struct host_number host_get(uint32_t type, const void *data, int64_t index);
void host_put(uint32_t type, void *data, int64_t index, struct host_number n);
int host_compare(struct host_number a, struct host_number b);

bool host_can(const struct accel_desc *desc);
int host_run(const struct accel_desc *desc, const struct host_tensor *t, uint32_t count,
	     char *why, size_t size);

int host_find(const struct accel_dynamic_desc *desc, const struct host_tensor *in,
	      struct host_tensor *out, char *why, size_t size);

/* --- the operations; host.c has looked at the types -------------------------------- */

bool host_next(uint32_t rank, const int64_t *dims, int64_t *at);
bool host_is_empty(const struct host_tensor *t);
int64_t host_place(const struct host_tensor *t, const int64_t *at);
int64_t host_index(struct host_number n, int64_t dim);
int host_out_of_range(char *why, size_t size, struct host_number n, int64_t dim);
const struct host_tensor *host_arg(const struct host_tensor *t, uint32_t count, uint32_t arg);
struct host_number host_unary(const struct accel_unary_desc *desc, struct host_number a);
struct host_number host_binary(const struct accel_binary_desc *desc, struct host_number a,
			       struct host_number b);
int host_concat(const struct accel_concat_desc *desc, const struct host_tensor *t, uint32_t count);
int host_gather(const struct accel_gather_desc *desc, const struct host_tensor *t,
		uint32_t count, char *why, size_t size);
int host_scan(const struct accel_scan_desc *desc, const struct host_tensor *t, uint32_t count);
int host_topk(const struct accel_topk_desc *desc, const struct host_tensor *t, uint32_t count);
int host_pad(const struct accel_pad_desc *desc, const struct host_tensor *t, uint32_t count);
int host_scatter(const struct accel_scatter_desc *desc, const struct host_tensor *t,
		 uint32_t count, char *why, size_t size);
int host_gemm(const struct accel_gemm_desc *desc, const struct host_tensor *t, uint32_t count);
int host_conv(const struct accel_conv_desc *desc, const struct host_tensor *t, uint32_t count);
int host_pool(const struct accel_pool_desc *desc, const struct host_tensor *t, uint32_t count);
int host_reduce(const struct accel_reduce_desc *desc, const struct host_tensor *t, uint32_t count);

#endif /* LIBACCEL_HOST_H */

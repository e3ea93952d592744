/* SPDX-License-Identifier: MIT */
/*
 * Operators that users add, from the inside.
 *
 *	operator.c	sets of operators, and nodes of graphs
 *	call.c		what their functions are told, and may ask
 *	random.c	random numbers, an operator that is always there
 */
#ifndef LIBACCEL_GRAPH_ADDED_H
#define LIBACCEL_GRAPH_ADDED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <accel/operator.h>
#include "libaccel/host/host.h"

struct net;
struct node;

/**
 * struct operator - an operator of a set
 * @refs: references: of sets, and of nodes
 * @d: what it is; its names are in @label
 * @label: name with its domain
 */
struct operator {
	atomic_uint refs;
	struct accel_operator d;
	char *label;
};

/**
 * struct operator_attr - an attribute of a node
 * @name: name
 * @type: &enum accel_attr_type
 * @bytes: of its data
 * @value: data and count; of a tensor all of it
 */
struct operator_attr {
	const char *name;
	uint32_t type;
	uint64_t bytes;
	struct accel_call_value value;
};

/**
 * struct operator_node - what a node of an operator says beside its values
 * @op: operator
 * @version: of its domain
 * @in_count: inputs, absent ones included
 * @out_count: results
 * @attr_count: number of @attrs
 * @attrs: attributes, whose data and names lie behind them
 */
struct operator_node {
	struct operator *op;
	uint32_t version;
	uint32_t in_count;
	uint32_t out_count;
	uint32_t attr_count;
	struct operator_attr attrs[];
};

/**
 * struct added_desc - descriptor of a node of an operator that a user added
 * @hdr: ACCEL_OP_ADDED
 * @node: the graph's. Results are its first arguments, by number, inputs the next ones
 */
struct added_desc {
	struct accel_desc hdr;
	const struct operator_node *node;
};

struct operator *operator_find(const struct accel_operators *set, const char *domain,
			       const char *name, uint32_t version);
uint32_t operator_type_bytes(uint32_t type);
bool operator_attr_bytes(const struct accel_attr *a, uint64_t *bytes);
int operator_node_create(struct operator *op, const struct accel_operator_desc *d,
			 uint32_t in_count, uint32_t out_count, struct operator_node **out,
			 const char **field);
void operator_node_free(struct operator_node *node);
bool graph_owns(struct accel_graph *graph, struct operator_node *added);
int graph_add_operator(struct accel_graph *graph, const char *name,
		       const struct operator_node *added, const uint32_t *in, uint32_t *out);

/* --- random.c ---------------------------------------------------------------------- */

struct operator *operator_built_in(const char *domain, const char *name);

/* --- call.c ------------------------------------------------------------------------ */

int call_infer(struct net *net, struct node *node);
int call_lower(struct net *net, uint32_t index);
int call_compute(const struct node *node, const struct host_tensor *t, char *why, size_t size);

#endif /* LIBACCEL_GRAPH_ADDED_H */

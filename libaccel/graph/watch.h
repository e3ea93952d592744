/* SPDX-License-Identifier: MIT */
/*
 * What fp16 does not have: products that fall back to fp32.
 */
#ifndef LIBACCEL_GRAPH_WATCH_H
#define LIBACCEL_GRAPH_WATCH_H

#include "graph.h"

/**
 * struct kept - a product that stays in fp32 in all nets of a program
 * @name: of its node, the graph's; NULL: it has none
 * @ordinal: without a name: of how many-th product of a net
 */
struct kept {
	const char *name;
	uint32_t ordinal;
};

int watch_add(struct net *net, const uint32_t *made, uint32_t values);
bool watch_kept(const struct net *net, const struct node *node, uint32_t ordinal);
bool watch_fits(const struct net *net, uint32_t value);
int watch_find(struct net *net);
int watch_look(struct accel_state *state, const struct stage *stage, bool *again);

#endif /* LIBACCEL_GRAPH_WATCH_H */

/* SPDX-License-Identifier: MIT */
/*
 * What the examples share: a network of a file, ready to run.
 */
#ifndef EXAMPLES_NET_H
#define EXAMPLES_NET_H

#include <accel/accel.h>
#include <accel/model.h>
#include <stdio.h>
#include <string.h>

/**
 * struct net - a network of a file
 * @dev: device
 * @ctx: its address space
 * @model: file
 * @program: what became of it
 * @state: memory of a run
 */
struct net {
	struct accel_device *dev;
	struct accel_ctx *ctx;
	struct accel_model *model;
	struct accel_program *program;
	struct accel_state *state;
};

/* Say what went wrong: what the context knows, if there is one. */
static inline int net_failed(const struct net *net, const char *what, int ret)
{
	struct accel_error e = ACCEL_ERROR_INIT;

	if (net->ctx)
		accel_ctx_get_error(net->ctx, &e);
	fprintf(stderr, "%s: %s\n", what, e.text[0] ? e.text : strerror(-ret));
	return ret;
}

static inline void net_close(struct net *net)
{
	accel_state_destroy(net->state);
	accel_program_unref(net->program);
	accel_model_close(net->model);
	accel_ctx_destroy(net->ctx);
	accel_device_unref(net->dev);
}

/* The caller gives it up also when this fails, which is said then. */
static inline int net_open(struct net *net, const char *path)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	int ret;

	*net = (struct net) { 0 };
	ret = accel_device_open("sw", NULL, &net->dev);
	if (!ret)
		ret = accel_ctx_create(net->dev, NULL, &net->ctx);
	if (ret)
		return net_failed(net, "sw", ret);
	ret = accel_model_open(path, &e, &net->model);
	if (ret) {
		fprintf(stderr, "%s: %s\n", path, e.text[0] ? e.text : strerror(-ret));
		return ret;
	}
	ret = accel_graph_compile(net->ctx, accel_model_graph(net->model), NULL, &net->program);
	if (!ret)
		ret = accel_state_create(net->program, &net->state);
	return ret ? net_failed(net, path, ret) : 0;
}

/* Where an input of such dimensions is to be written; NULL: it failed, which was said. */
static inline void *net_input(struct net *net, uint32_t index, uint32_t rank, const int64_t *dims)
{
	int ret = accel_state_set_input(net->state, index, rank, dims, NULL, 0);
	void *data = ret ? NULL : accel_state_get_input(net->state, index, NULL);

	if (!data)
		net_failed(net, "an input", ret ? ret : -12);
	return data;
}

#endif /* EXAMPLES_NET_H */

// SPDX-License-Identifier: MIT
/*
 * Harness for models: libFuzzer's entry point. What opens is compiled, and run where it is
 * small. The level of the compiler follows from the size of the file. The same bytes are read as
 * a tensor, told of, and, if they are a model, written with fewer bits; what was written opens.
 *
 * What begins as a compiled program does has its meta behind the magic and the number of its
 * bytes, then its data: header, checksums and an empty store of weights are put around it.
 */
#include <accel/accel.h>
#include <accel/model.h>
#include <errno.h>
#include <string.h>
#include "libaccel/graph/file.h"
#include "libaccel/tests/graph/addedops.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define SMALL	(16u << 20)

static struct accel_operators *operators;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void run(struct accel_program *program)
{
	struct accel_program_info info = { .size = sizeof(info) };
	struct accel_value v = ACCEL_VALUE_INIT;
	struct accel_state *state;
	const void *out;
	uint32_t i, k;

	if (accel_state_create(program, &state))
		abort();
	for (i = 0; !accel_program_get_input(program, i, &v); i++) {
		for (k = 0; k < v.rank; k++)
			v.dims[k] = v.dims[k] < 0 ? 3 : v.dims[k];
		if (accel_state_set_input(state, i, v.rank, v.dims, NULL, 0))
			goto out;
	}
	if (accel_state_get_info(state, &info) || info.arena_bytes > SMALL || info.macs > SMALL ||
	    accel_state_run(state))
		goto out;
	for (i = 0; !accel_state_get_output(state, i, &v, &out); i++)
		if (!out)
			abort();
out:
	accel_state_destroy(state);
}

/* A program's file around what came from the fuzzer */
static void write_program(struct accel_ctx *ctx, int fd, const uint8_t *data, size_t size)
{
	const struct store_digest zero = { { 0 } };
	static struct accel_weights *weights;
	struct program_header h = {
		.magic = ACCEL_PROGRAM_MAGIC, .version = PROGRAM_VERSION,
		.library = accel_version(), .desc_size = sizeof(union node_desc), .level = 3,
	};
	uint32_t meta_bytes = 0;
	uint64_t bytes = 0;

	memcpy(&meta_bytes, data, size < 4 ? size : 4);
	data += size < 4 ? size : 4;
	size -= size < 4 ? size : 4;
	h.meta_bytes = meta_bytes < size ? meta_bytes : size;
	h.data_offset = (sizeof(h) + h.meta_bytes + PROGRAM_PAGE - 1) / PROGRAM_PAGE * PROGRAM_PAGE;
	h.weights_offset = h.data_offset + 2 * PROGRAM_PAGE;
	h.meta = store_sum(zero, data, h.meta_bytes);
	size -= h.meta_bytes;
	if ((!weights && accel_weights_create(ctx, NULL, &weights)) ||
	    file_write(fd, data, h.meta_bytes, sizeof(h)) ||
	    file_write(fd, data + h.meta_bytes, size < 2 * PROGRAM_PAGE ? size : 2 * PROGRAM_PAGE,
		       h.data_offset) ||
	    weights_write(weights, fd, h.weights_offset, &bytes))
		abort();
	h.file_bytes = h.weights_offset + bytes;
	h.sum = store_sum(zero, &h, sizeof(h));
	if (file_write(fd, &h, sizeof(h), 0))
		abort();
}

static int take_program(struct accel_ctx *ctx, const uint8_t *data, size_t size)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_program *program;
	char path[64];
	int ret, fd = memfd_create("program", MFD_CLOEXEC);

	if (fd < 0)
		abort();
	write_program(ctx, fd, data, size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ret = accel_program_load_operators(ctx, path, NULL, operators, &program);
	if (!ret) {
		run(program);
		accel_program_unref(program);
	} else if (accel_ctx_get_error(ctx, &e) || e.code != ret || !e.text[0]) {
		/* What is refused says why. */
		abort();
	}
	close(fd);
	return 0;
}

static int tell(void *user, const struct accel_model_item *item)
{
	if (!item->domain || !item->name || !item->text || strlen(item->name) > 127)
		abort();
	++*(uint32_t *)user;
	return 0;
}

static void read_tensor(const char *path)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_value v = ACCEL_VALUE_INIT;
	uint64_t bits = 0, i, count = 1;
	const uint8_t *p;
	void *data;

	if (accel_model_tensor(path, &e, &v, &data))
		return;
	for (i = 0; i < v.rank; i++)
		count *= (uint64_t)v.dims[i];
	/* All of it is there. */
	for (p = data, i = 0; i < count * accel_type_bits(v.type) / 8; i++)
		bits += p[i];
	if (bits > count * 8 * 255)
		abort();
	free(data);
}

#define MAX_RANGES	64

struct ranges {
	struct accel_model_range list[MAX_RANGES];
	uint32_t count;
};

static int take_layer(void *user, const struct accel_model_layer *layer)
{
	struct ranges *r = user;
	uint32_t i;

	for (i = 0; i < layer->input_count && r->count < MAX_RANGES; i++)
		r->list[r->count++] =
			(struct accel_model_range) { strdup(layer->inputs[i]), -1, 2 };
	return 0;
}

/* It is a model: with fewer bits it is one too, or says why not. */
static void quantise(const char *path, size_t size)
{
	struct accel_model_quantize_opts o =
		ACCEL_MODEL_QUANTIZE_OPTS_INIT(ACCEL_MODEL_DYNAMIC + (uint32_t)(size % 6));
	struct accel_error e = ACCEL_ERROR_INIT;
	struct ranges r = { .count = 0 };
	struct accel_model *model;
	char out[64];
	uint32_t i;
	int ret;

	snprintf(out, sizeof(out), "/tmp/fuzz_onnx.%d.onnx", (int)getpid());
	o.layer = take_layer;
	o.user = &r;
	ret = accel_model_quantize(path, &o, NULL, &e);
	if (!ret) {
		o.layer = NULL;
		o.ranges = r.list;
		o.range_count = r.count;
		o.flags = size & 4 ? ACCEL_MODEL_BESIDE : 0;
		ret = accel_model_quantize(path, &o, out, &e);
	}
	if (ret && (!e.code || !e.text[0]))
		abort();
	if (!ret && !accel_model_open(out, &e, &model))
		accel_model_close(model);
	unlink(out);
	for (i = 0; i < r.count; i++)
		free((void *)(uintptr_t)r.list[i].name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct accel_compile_opts opts = ACCEL_COMPILE_OPTS_INIT;
	struct accel_model_opts model_opts = ACCEL_MODEL_OPTS_INIT;
	struct accel_error e = ACCEL_ERROR_INIT;
	static struct accel_device *dev;
	struct accel_program *program;
	static struct accel_ctx *ctx;
	struct accel_model *model;
	uint32_t items = 0;
	char path[64];
	int fd;

	if (!dev && (accel_device_open("sw", NULL, &dev) || accel_ctx_create(dev, NULL, &ctx)))
		abort();
	if (!operators)
		operators = added_ops();
	model_opts.operators = operators;
	if (size >= 8 && !memcmp(data, ACCEL_PROGRAM_MAGIC, 8))
		return take_program(ctx, data + 8, size - 8);
	fd = memfd_create("model", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	accel_model_scan(path, tell, &items);
	read_tensor(path);
	if (!accel_model_open_opts(path, &model_opts, &e, &model)) {
		/* What is a model can be told of. */
		if (!items)
			abort();
		quantise(path, size);
		opts.level = size % 4;
		if (!accel_graph_compile(ctx, accel_model_graph(model), &opts, &program)) {
			accel_model_close(model);
			run(program);
			accel_program_unref(program);
		} else {
			accel_model_close(model);
		}
	} else if (!e.code || !e.text[0]) {
		/* What is refused says why. */
		abort();
	}
	close(fd);
	return 0;
}

// SPDX-License-Identifier: MIT
/*
 * Harness for safetensors and GGUF: libFuzzer's entry point. Of what opens everything is read:
 * tensors become constants, and metadata are asked for in all ways.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libaccel/models/stored.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads all of it: what is not there shows under the sanitizer. */
static void touch(const void *p, uint64_t bytes)
{
	const uint8_t *at = p;
	uint64_t i, sum = 0;

	for (i = 0; i < bytes; i++)
		sum += at[i];
	if (sum == UINT64_MAX)
		abort();
}

static void read_meta(const struct store *store)
{
	const uint8_t *at;
	const char *text;
	uint64_t i, n;
	double real;
	int64_t whole;
	uint32_t k;

	meta_find(store, "general.name");
	for (k = 0; k < store->meta_count; k++) {
		const struct meta *m = &store->meta[k];

		touch(m->key, m->length);
		for (i = 0; i < m->count + 1 && i < 100; i++) {
			if (meta_number(m, i, &real) && meta_whole(m, i, &whole) &&
			    whole < INT32_MAX && whole > INT32_MIN && (double)whole != real)
				abort();
		}
		if (meta_string(m, NULL, &text, &n))
			touch(text, n);
		for (i = 0, at = m->data; i < m->count && meta_string(m, &at, &text, &n); i++)
			touch(text, n);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_graph *graph;
	struct store store;
	char path[64];
	int fd = memfd_create("store", MFD_CLOEXEC);
	uint32_t i, value;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size || accel_graph_create(&graph))
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!stored_open(path, &store, &e)) {
		read_meta(&store);
		for (i = 0; i < store.count; i++) {
			touch(store.list[i].data, store.list[i].bytes);
			if (stored_find(&store, store.list[i].name) != &store.list[i])
				abort();
			if (stored_constant(&store.list[i], graph, &value, &e) && !e.text[0])
				abort();
		}
		stored_close(&store);
	} else if (!e.code || !e.text[0]) {
		/* What is refused says why. */
		abort();
	}
	accel_graph_destroy(graph);
	close(fd);
	return 0;
}

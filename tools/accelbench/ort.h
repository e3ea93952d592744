/* SPDX-License-Identifier: MIT */
/*
 * ONNX Runtime, if it is here.
 */
#ifndef ORT_H
#define ORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Inputs of a model, and outputs */
#define MAX_IO		16

typedef void (*ort_gap)(void);

/* The functions that are used here, at their places. A status that is no NULL is an error. */
struct ort_api {
	ort_gap to_2[2];
	const char *(*message)(const void *status);
	void *(*create_env)(int level, const char *id, void **env);
	ort_gap to_7[3];
	void *(*open)(void *env, const char *path, const void *options, void **session);
	ort_gap to_9[1];
	void *(*run)(void *session, const void *options, const char *const *names,
		     const void *const *in, size_t in_count, const char *const *out_names,
		     size_t out_count, void **out);
	void *(*create_options)(void **options);
	void *(*save_to)(void *options, const char *path);
	ort_gap to_23[11];
	void *(*set_level)(void *options, int level);
	void *(*set_threads)(void *options, int threads);
	ort_gap to_49[24];
	void *(*create_tensor)(const void *info, void *data, size_t bytes, const int64_t *dims,
			       size_t rank, int type, void **value);
	ort_gap to_51[1];
	void *(*get_data)(void *value, void **data);
	ort_gap to_69[17];
	void *(*cpu_info)(int allocator, int memory, void **info);
	ort_gap to_93[23];
	void (*release_status)(void *status);
	void (*release_info)(void *info);
	void (*release_session)(void *session);
	void (*release_value)(void *value);
	ort_gap to_100[3];
	void (*release_options)(void *options);
};

/**
 * struct ort - a model there
 * @api: table
 * @env: environment
 * @options: of the session
 * @session: session
 * @info: that tensors are the CPU's
 * @in: inputs
 * @out: outputs of the last run
 */
struct ort {
	const struct ort_api *api;
	void *env;
	void *options;
	void *session;
	void *info;
	void *in[MAX_IO];
	void *out[MAX_IO];
};

/**
 * ort_good - report an error
 * @api: table
 * @status: of a call, NULL: success
 * @what: name of the call
 *
 * Return: true on success.
 */
bool ort_good(const struct ort_api *api, void *status, const char *what);

/**
 * ort_open - open a model, if the library is here
 * @ort: zeros
 * @path: model
 * @threads: that work
 * @save: where the model goes as it is when it was optimised, or NULL
 * @optimised: @path is such a model: it is taken as it is
 *
 * Return: whether it worked; ort_close() in any case.
 */
bool ort_open(struct ort *ort, const char *path, uint32_t threads, const char *save,
	      bool optimised);
void ort_close(struct ort *ort);

/* Outputs of the last run go. */
void ort_forget(struct ort *ort);

/* Its name for a type, 0: it is not given here */
int ort_type(uint32_t type);

#endif /* ORT_H */

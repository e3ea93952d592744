// SPDX-License-Identifier: MIT
/*
 * A model on a device.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "interrupt.h"
#include "kfile.h"
#include "model.h"
#include "progress.h"

int session_fail(struct session *s, int ret)
{
	return ctl_fail_ctx(s->ctl, ctl_status(ret), NULL, s->ctx, ret);
}

/* The object stays loaded, since programs have its functions. */
static int load_operators(struct ctl *ctl, const char *path, struct accel_operators *operators)
{
	struct accel_error error = ACCEL_ERROR_INIT;
	accel_operators_init_fn *init;
	char *file;
	void *lib;
	int ret;

	/* A name without a slash would be searched in the system's library path. */
	if (asprintf(&file, "%s%s", strchr(path, '/') ? "" : "./", path) < 0)
		abort();
	lib = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	free(file);
	if (!lib)
		return ctl_fail(ctl, CTL_FAILED, 0, "--op", "%s", dlerror());
	init = (accel_operators_init_fn *)(uintptr_t)dlsym(lib, ACCEL_OPERATORS_INIT);
	if (!init)
		return ctl_fail(ctl, CTL_FAILED, 0, "--op", "%s has no function %s", path,
				ACCEL_OPERATORS_INIT);
	ret = init(operators, &error);
	if (ret && !error.text[0])
		return ctl_fail(ctl, CTL_FAILED, ret, "--op", "%s: %s failed", path,
				ACCEL_OPERATORS_INIT);
	return ret ? ctl_fail_error(ctl, CTL_FAILED, path, &error) : CTL_OK;
}

int session_operators(struct ctl *ctl, const struct model_opts *opts,
		      struct accel_operators **operators)
{
	uint32_t i;
	int ret = CTL_OK;

	*operators = NULL;
	if (opts->ops.count && accel_operators_create(operators))
		abort();
	for (i = 0; i < opts->ops.count && !ret; i++)
		ret = load_operators(ctl, opts->ops.v[i], *operators);
	if (!ret)
		return CTL_OK;
	accel_operators_unref(*operators);
	*operators = NULL;
	return ret;
}

char *model_text(const char *text)
{
	char *copy = strdup(text ? text : "");

	if (!copy)
		abort();
	return text_clean(copy);
}

void model_json(struct json_object *o, const char *key, const char *text)
{
	char *clean = model_text(text);

	ctl_json_str(o, key, clean);
	free(clean);
}

bool session_compiled(const char *path)
{
	char magic[8] = "";
	FILE *f = path ? fopen(path, "rb") : NULL;
	bool compiled = f && fread(magic, 1, sizeof(magic), f) == sizeof(magic) &&
			!memcmp(magic, ACCEL_PROGRAM_MAGIC, sizeof(magic));

	if (f)
		fclose(f);
	return compiled;
}

int session_no_program(struct ctl *ctl, const char *path)
{
	return !session_compiled(path) ? CTL_OK :
	       ctl_fail(ctl, CTL_UNSUPPORTED, 0, path,
			"is a compiled program; this needs the model that it was made of");
}

static int open_model(struct ctl *ctl, const char *path, struct accel_operators *operators,
		      const struct inputs_said *said, struct accel_model **model)
{
	struct accel_model_opts opts = ACCEL_MODEL_OPTS_INIT;
	struct accel_error error = ACCEL_ERROR_INIT;
	int ret;

	if (!path)
		return ctl_fail(ctl, CTL_USAGE, 0, "FILE", "which model?");
	ret = session_no_program(ctl, path);
	if (ret)
		return ret;
	opts.operators = operators;
	ret = accel_model_open_opts(path, &opts, &error, model);
	/* Shapes of inputs are only given if the file leaves them open. */
	if (ret == -EOPNOTSUPP && said && said->count) {
		opts.inputs = said->inputs;
		opts.input_count = said->count;
		ret = accel_model_open_opts(path, &opts, &error, model);
	}
	return ret ? ctl_fail_error(ctl, ctl_status(ret), path, &error) : CTL_OK;
}

int session_model(struct ctl *ctl, const struct model_opts *opts, const char *path,
		  struct accel_model **model)
{
	struct accel_operators *operators;
	int ret = session_operators(ctl, opts, &operators);

	if (!ret)
		ret = open_model(ctl, path, operators, NULL, model);
	accel_operators_unref(operators);
	return ret;
}

/* The model with products in bytes; the file is deleted once it is mapped. */
static int session_bytes(struct ctl *ctl, const char *path, struct accel_model **model)
{
	struct accel_model_quantize_opts o =
		ACCEL_MODEL_QUANTIZE_OPTS_INIT(ACCEL_MODEL_DYNAMIC);
	struct accel_error error = ACCEL_ERROR_INIT;
	char folder[] = "/tmp/accelctl.XXXXXX", file[64];
	int ret;

	if (!path)
		return ctl_fail(ctl, CTL_USAGE, 0, "FILE", "which model?");
	if (!mkdtemp(folder))
		return ctl_fail(ctl, CTL_FAILED, -errno, folder, "%s", strerror(errno));
	snprintf(file, sizeof(file), "%s/model.onnx", folder);
	ret = accel_model_quantize(path, &o, file, &error);
	if (!ret)
		ret = accel_model_open(file, &error, model);
	unlink(file);
	rmdir(folder);
	return ret ? ctl_fail_error(ctl, ctl_status(ret), path, &error) : CTL_OK;
}

uint64_t session_file_bytes(const struct session *s)
{
	struct accel_model_info info = { .size = sizeof(info) };
	struct stat st = { 0 };

	if (s->model)
		accel_model_get_info(s->model, &info);
	else if (!stat(s->path, &st))
		info.file_bytes = (uint64_t)st.st_size;
	return info.file_bytes;
}

void session_close(struct session *s)
{
	uint32_t i;

	ctl_progress(NULL, 1, 1);
	npz_free(&s->golden);
	for (i = 0; i < CTL_LIST_MAX; i++)
		npz_free(&s->files[i]);
	accel_state_destroy(s->state);
	accel_program_unref(s->program);
	accel_model_close(s->model);
	accel_operators_unref(s->operators);
	accel_ctx_destroy(s->ctx);
	accel_device_unref(s->dev);
}

static int pass_mask(struct session *s, uint32_t *mask)
{
	uint32_t i, p;

	for (i = 0; i < s->opts->off.count; i++) {
		for (p = 0; p < ACCEL_PASS_COUNT && strcmp(accel_pass_name(p), s->opts->off.v[i]);
		     p++)
			;
		if (p == ACCEL_PASS_COUNT)
			return ctl_fail(s->ctl, CTL_USAGE, 0, "--off", "%s is no pass",
					s->opts->off.v[i]);
		*mask |= 1u << p;
	}
	return CTL_OK;
}

static int load_golden(struct session *s)
{
	char error[NPY_ERROR];
	int ret;

	if (!s->opts->golden)
		return CTL_OK;
	ret = arrays_load(s->opts->golden, &s->golden, error);
	return ret ? ctl_fail(s->ctl, CTL_FAILED, ret, "--golden", "%s: %s", s->opts->golden,
			      error) : CTL_OK;
}

static int session_import(struct session *s)
{
	struct inputs_said *said;
	int ret;

	if (s->opts->dtype == MODEL_INT8)
		return session_bytes(s->ctl, s->path, &s->model);
	said = ctl_alloc(1, sizeof(*said));
	inputs_say(s, said);
	ret = open_model(s->ctl, s->path, s->operators, said, &s->model);
	free(said);
	return ret;
}

int session_load(struct session *s, struct ctl *ctl, const struct model_opts *opts,
		 const char *device, const char *path)
{
	struct accel_ctx_opts ctx = ACCEL_CTX_OPTS_INIT;
	int ret;

	memset(s, 0, sizeof(*s));
	s->ctl = ctl;
	s->opts = opts;
	s->path = path;
	ret = session_operators(ctl, opts, &s->operators);
	if (!ret)
		ret = load_golden(s);
	if (!ret)
		ret = inputs_load(s);
	if (!ret && !session_compiled(path))
		ret = session_import(s);
	else if (!ret)
		ret = opts->dtype != MODEL_INT8 ? CTL_OK :
		      ctl_fail(ctl, CTL_USAGE, 0, "--dtype", "compile the model with int8");
	if (!ret)
		ret = ctl_open(ctl, device, (uint32_t)opts->threads, &s->dev);
	if (ret)
		return ret;
	ctx.flags = opts->reproducible ? ACCEL_CTX_REPRODUCIBLE : 0;
	ctx.weights_dir = opts->no_cache ? NULL : "";
	ret = accel_ctx_create(s->dev, &ctx, &s->ctx);
	return ret ? ctl_fail(ctl, ctl_status(ret), ret, NULL, "cannot make a context") : CTL_OK;
}

int session_compile(struct session *s)
{
	struct accel_compile_opts compile = ACCEL_COMPILE_OPTS_INIT;
	int ret = pass_mask(s, &compile.off);
	bool given;

	if (ret)
		return ret;
	compile.level = (uint32_t)s->opts->level;
	compile.engine = s->opts->engine;
	compile.progress = ctl_repacking;
	compile.precision = s->opts->dtype == MODEL_BF16 ? ACCEL_PRECISION_BF16 :
			    s->opts->dtype == MODEL_F16 ? ACCEL_PRECISION_F16 :
			    ACCEL_PRECISION_KEEP;
	/* Options that were given must be those of the file. */
	given = compile.off || compile.engine || compile.level != 3 || compile.precision;
	if (s->model)
		ret = accel_graph_compile(s->ctx, accel_model_graph(s->model), &compile,
					  &s->program);
	else
		ret = accel_program_load_operators(s->ctx, s->path, given ? &compile : NULL,
						   s->operators, &s->program);
	if (!ret)
		ret = accel_state_create(s->program, &s->state);
	return ret ? session_fail(s, ret) : CTL_OK;
}

int session_open(struct session *s, struct ctl *ctl, const struct model_opts *opts,
		 const char *device, const char *path)
{
	int ret = session_load(s, ctl, opts, device, path);

	if (!ret)
		ret = session_compile(s);
	if (!ret)
		ret = dims_check(s);
	return ret ? ret : inputs_set(s);
}

uint64_t session_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int by_time(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

int session_measure(struct session *s, uint64_t count, uint64_t *times)
{
	uint64_t i, start;
	int ret = accel_state_run(s->state);

	for (i = 0; i < count && !ret && !ctl_interrupted(); i++) {
		ctl_progress("running", i, count);
		start = session_now();
		ret = accel_state_run(s->state);
		times[i] = session_now() - start;
	}
	ctl_progress("running", count, count);
	if (!ret && i < count)
		return CTL_INTERRUPTED;
	qsort(times, i, sizeof(*times), by_time);
	return ret ? session_fail(s, ret) : CTL_OK;
}

// SPDX-License-Identifier: MIT
/*
 * ONNX Runtime: loaded on demand, by the name in ACCELBENCH_ONNXRUNTIME or else
 * libonnxruntime.so.1; its functions are found by their index in its table, which is stable.
 */
#include <accel/accel.h>
#include <dlfcn.h>
#include <stdlib.h>

#include "ort.h"
#include "perf.h"

/* Result of OrtGetApiBase() */
struct ort_base {
	const struct ort_api *(*get)(uint32_t version);
	const char *(*version)(void);
};

bool ort_good(const struct ort_api *api, void *status, const char *what)
{
	if (!status)
		return true;
	bench_fail(0, "ONNX Runtime: %s: %s", what, api->message(status));
	api->release_status(status);
	return false;
}

/* The library, once; false: it is not here. */
static bool ort_load(struct ort *ort)
{
	static const struct ort_api *api;
	static void *env;
	static bool looked;
	const char *name = getenv("ACCELBENCH_ONNXRUNTIME");
	const struct ort_base *(*base)(void);
	void *lib;

	if (!looked) {
		looked = true;
		lib = dlopen(name && *name ? name : "libonnxruntime.so.1", RTLD_NOW | RTLD_LOCAL);
		*(void **)&base = lib ? dlsym(lib, "OrtGetApiBase") : NULL;
		/* Version 11 has all that is used here. */
		api = lib && base ? base()->get(11) : NULL;
		if (!api && name && *name)
			bench_fail(0, "%s is not ONNX Runtime", name);
		if (api && !ort_good(api, api->create_env(3, "accelbench", &env), "environment"))
			api = NULL;
	}
	ort->api = api;
	ort->env = env;
	return api;
}

void ort_forget(struct ort *ort)
{
	uint32_t i;

	for (i = 0; i < MAX_IO; i++) {
		if (ort->out[i])
			ort->api->release_value(ort->out[i]);
		ort->out[i] = NULL;
	}
}

void ort_close(struct ort *ort)
{
	uint32_t i;

	if (!ort->api)
		return;
	ort_forget(ort);
	for (i = 0; i < MAX_IO; i++)
		if (ort->in[i])
			ort->api->release_value(ort->in[i]);
	if (ort->info)
		ort->api->release_info(ort->info);
	if (ort->session)
		ort->api->release_session(ort->session);
	if (ort->options)
		ort->api->release_options(ort->options);
}

bool ort_open(struct ort *ort, const char *path, uint32_t threads, const char *save, bool optimised)
{
	const struct ort_api *api;

	if (!ort_load(ort))
		return false;
	api = ort->api;
	return ort_good(api, api->create_options(&ort->options), "options") &&
	       ort_good(api, api->set_threads(ort->options, (int)threads), "threads") &&
	       (!save || ort_good(api, api->save_to(ort->options, save), save)) &&
	       (!optimised || ort_good(api, api->set_level(ort->options, 0), "level")) &&
	       ort_good(api, api->cpu_info(0, 0, &ort->info), "memory") &&
	       ort_good(api, api->open(ort->env, path, ort->options, &ort->session), path);
}

int ort_type(uint32_t type)
{
	switch (type) {
	case ACCEL_F32:
		return 1;
	case ACCEL_U8:
		return 2;
	case ACCEL_S8:
		return 3;
	case ACCEL_S32:
		return 6;
	case ACCEL_HOST_S64:
		return 7;
	case ACCEL_HOST_BOOL:
		return 9;
	default:
		return 0;
	}
}

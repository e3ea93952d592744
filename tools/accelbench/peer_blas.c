// SPDX-License-Identifier: MIT
/*
 * OpenBLAS: fp32 products.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peers.h"

/* Of cblas.h */
enum { ROW_MAJOR = 101, NO_TRANS = 111 };
typedef void sgemm_fn(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
		      const float *a, int lda, const float *b, int ldb, float beta, float *c,
		      int ldc);
typedef void threads_fn(int threads);
typedef const char *config_fn(void);

static sgemm_fn *sgemm;

/**
 * struct blas - products
 * @g: what they are
 * @d: results
 */
struct blas {
	struct peer_gemm g;
	float *d;
};

const char *openblas_load(uint32_t threads)
{
	static char name[64];
	threads_fn *set_threads;
	config_fn *config;
	static void *lib;

	if (!lib)
		lib = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		return NULL;
	sgemm = (sgemm_fn *)dlsym(lib, "cblas_sgemm");
	set_threads = (threads_fn *)dlsym(lib, "openblas_set_num_threads");
	config = (config_fn *)dlsym(lib, "openblas_get_config");
	if (!sgemm || !set_threads || !config)
		return NULL;
	set_threads((int)threads);
	snprintf(name, sizeof(name), "%.60s", config());
	return name;
}

static int run(void *state)
{
	struct blas *s = state;
	const struct peer_gemm *g = &s->g;
	uint32_t i;

	for (i = 0; i < g->ops; i++)
		sgemm(ROW_MAJOR, NO_TRANS, NO_TRANS, (int)g->m, (int)g->n, (int)g->k, 1, g->a,
		      (int)g->k, (const float *)g->b + i % g->sets * (size_t)(g->k * g->n),
		      (int)g->n, 0, s->d + i * (size_t)(g->m * g->n), (int)g->n);
	return 0;
}

static void release(void *state)
{
	struct blas *s = state;

	free(s->d);
	free(s);
}

int openblas_gemm(const struct peer_gemm *g, struct perf_impl *impl)
{
	size_t bytes = (size_t)(g->m * g->n) * g->ops * sizeof(float);
	struct blas *s;

	if (!sgemm || g->a_dtype != ACCEL_F32 || g->b_dtype != ACCEL_F32)
		return -EOPNOTSUPP;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->g = *g;
	s->d = aligned_alloc(4096, (bytes + 4095) & ~(size_t)4095);
	if (!s->d) {
		free(s);
		return -ENOMEM;
	}
	memset(s->d, 0, bytes);
	*impl = (struct perf_impl){
		.name = "openblas", .run = run, .release = release, .state = s, .ops = g->ops,
		.error = g->error, .error_arg = g->error_arg, .d = s->d,
	};
	return 0;
}

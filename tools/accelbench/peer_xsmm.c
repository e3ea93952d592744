// SPDX-License-Identifier: MIT
/*
 * libxsmm: small fp32 products. It is an archive: found when this is built. It is
 * column-major, so the roles of A and B are exchanged.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <libxsmm.h>

#include "peers.h"

/* It is made for products smaller than this */
#define LARGEST	(256 * 256 * 256)

/**
 * struct xsmm - products
 * @g: what they are
 * @kernel: made for them
 * @d: results
 */
struct xsmm {
	struct peer_gemm g;
	libxsmm_smmfunction kernel;
	float *d;
};

const char *xsmm_load(void)
{
	libxsmm_init();
	return "libxsmm " LIBXSMM_VERSION;
}

static int run(void *state)
{
	struct xsmm *s = state;
	const struct peer_gemm *g = &s->g;
	uint32_t i;

	for (i = 0; i < g->ops; i++)
		s->kernel((const float *)g->b + i % g->sets * (size_t)(g->k * g->n), g->a,
			  s->d + i * (size_t)(g->m * g->n));
	return 0;
}

static void release(void *state)
{
	struct xsmm *s = state;

	free(s->d);
	free(s);
}

int xsmm_gemm(const struct peer_gemm *g, struct perf_impl *impl)
{
	size_t bytes = (size_t)(g->m * g->n) * g->ops * sizeof(float);
	const float alpha = 1, beta = 0;
	struct xsmm *s;

	if (g->a_dtype != ACCEL_F32 || g->b_dtype != ACCEL_F32 || g->m * g->n * g->k > LARGEST)
		return -EOPNOTSUPP;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->g = *g;
	s->kernel = libxsmm_smmdispatch((int)g->n, (int)g->m, (int)g->k, NULL, NULL, NULL, &alpha,
					&beta, NULL, NULL);
	s->d = aligned_alloc(4096, (bytes + 4095) & ~(size_t)4095);
	if (!s->kernel || !s->d) {
		int ret = s->kernel ? -ENOMEM : -EOPNOTSUPP;

		release(s);
		return ret;
	}
	memset(s->d, 0, bytes);
	*impl = (struct perf_impl){
		.name = "libxsmm", .run = run, .release = release, .state = s, .ops = g->ops,
		.error = g->error, .error_arg = g->error_arg, .d = s->d,
	};
	return 0;
}

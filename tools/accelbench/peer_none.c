// SPDX-License-Identifier: MIT
/*
 * In place of libraries whose headers were not there when this was built.
 */
#include <errno.h>

#include "peers.h"

#ifndef HAVE_XSMM
const char *xsmm_load(void)
{
	return NULL;
}

int xsmm_gemm(const struct peer_gemm *g, struct perf_impl *impl)
{
	(void)g;
	(void)impl;
	return -EOPNOTSUPP;
}
#endif

#ifndef HAVE_DNNL
const char *onednn_load(uint32_t threads)
{
	(void)threads;
	return NULL;
}

int onednn_gemm(const struct peer_gemm *g, struct perf_impl *impl)
{
	(void)g;
	(void)impl;
	return -EOPNOTSUPP;
}

int onednn_conv(const struct peer_conv *c, struct perf_impl *impl)
{
	(void)c;
	(void)impl;
	return -EOPNOTSUPP;
}
#endif

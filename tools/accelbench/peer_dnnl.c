// SPDX-License-Identifier: MIT
/*
 * oneDNN: finding it, and its primitives as implementations.
 */
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peer_dnnl.h"

#define STRING_OF(x)	#x
#define STRING(x)	STRING_OF(x)

struct dnnl_api dn;
dnnl_engine_t dn_engine;
dnnl_stream_t dn_stream;

typedef void threads_fn(int threads);
typedef void parallel_fn(void (*fn)(void *arg), void *arg, unsigned int threads,
			 unsigned int flags);

static bool find(void *lib)
{
#define FUNCTION(name)	{ "dnnl_" #name, (void **)&dn.name }
	const struct {
		const char *name;
		void **at;
	} functions[] = {
		FUNCTION(version),
		FUNCTION(engine_create),
		FUNCTION(stream_create),
		FUNCTION(stream_wait),
		FUNCTION(primitive_create),
		FUNCTION(primitive_desc_create),
		FUNCTION(primitive_desc_destroy),
		FUNCTION(primitive_desc_query_md),
		FUNCTION(primitive_destroy),
		FUNCTION(primitive_execute),
		FUNCTION(memory_create),
		FUNCTION(memory_destroy),
		FUNCTION(memory_desc_init_by_strides),
		FUNCTION(memory_desc_init_by_tag),
		FUNCTION(memory_desc_get_size),
		FUNCTION(memory_desc_equal),
		FUNCTION(memory_get_data_handle),
		FUNCTION(matmul_desc_init),
		FUNCTION(reorder_primitive_desc_create),
		FUNCTION(convolution_forward_desc_init),
		FUNCTION(primitive_attr_create),
		FUNCTION(primitive_attr_destroy),
		FUNCTION(primitive_attr_set_output_scales),
		FUNCTION(primitive_attr_set_post_ops),
		FUNCTION(post_ops_create),
		FUNCTION(post_ops_destroy),
		FUNCTION(post_ops_append_eltwise),
	};
	bool all = true;
	size_t i;

	for (i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		*functions[i].at = dlsym(lib, functions[i].name);
		all = all && *functions[i].at;
	}
	return all;
}

static void nothing(void *arg)
{
	(void)arg;
}

const char *onednn_load(uint32_t threads)
{
	static char name[64];
	parallel_fn *parallel;
	threads_fn *set_threads;
	static void *lib;

	if (!lib)
		lib = dlopen("libdnnl.so." STRING(DNNL_VERSION_MAJOR), RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		return NULL;
	if (!dn_stream && (!find(lib) || dn.engine_create(&dn_engine, dnnl_cpu, 0) ||
			   dn.stream_create(&dn_stream, dn_engine, dnnl_stream_default_flags)))
		return NULL;
	set_threads = (threads_fn *)dlsym(lib, "omp_set_num_threads");
	if (set_threads)
		set_threads((int)threads);
	/* Its threads are made with the first loop: now, so that they can be pinned. */
	parallel = (parallel_fn *)dlsym(lib, "GOMP_parallel");
	if (parallel)
		parallel(nothing, NULL, threads, 0);
	snprintf(name, sizeof(name), "oneDNN %d.%d.%d", dn.version()->major,
		 dn.version()->minor, dn.version()->patch);
	return name;
}

dnnl_data_type_t prim_dtype(uint32_t dtype)
{
	static const dnnl_data_type_t types[ACCEL_DTYPE_COUNT] = {
		[ACCEL_F32] = dnnl_f32, [ACCEL_F16] = dnnl_f16, [ACCEL_BF16] = dnnl_bf16,
		[ACCEL_S32] = dnnl_s32, [ACCEL_S8] = dnnl_s8, [ACCEL_U8] = dnnl_u8,
	};

	return types[dtype];
}

dnnl_memory_t prim_memory(struct prim *p, const dnnl_memory_desc_t *md, void *data)
{
	dnnl_memory_t m;

	if (p->mem_count == sizeof(p->mems) / sizeof(p->mems[0]) ||
	    dn.memory_create(&m, md, dn_engine, data ? data : DNNL_MEMORY_ALLOCATE))
		return NULL;
	p->mems[p->mem_count++] = m;
	if (!data && !dn.memory_get_data_handle(m, &data))
		memset(data, 0, dn.memory_desc_get_size(md));
	return m;
}

int prim_reorder(const dnnl_memory_desc_t *from_md, void *from, const dnnl_memory_desc_t *to_md,
		 dnnl_memory_t to)
{
	dnnl_primitive_desc_t pd;
	dnnl_exec_arg_t args[2];
	dnnl_primitive_t p;
	dnnl_memory_t m;
	int ret = -EIO;

	if (dn.reorder_primitive_desc_create(&pd, from_md, dn_engine, to_md, dn_engine, NULL))
		return -EOPNOTSUPP;
	if (!dn.primitive_create(&p, pd)) {
		if (!dn.memory_create(&m, from_md, dn_engine, from)) {
			args[0] = (dnnl_exec_arg_t){ DNNL_ARG_FROM, m };
			args[1] = (dnnl_exec_arg_t){ DNNL_ARG_TO, to };
			if (!dn.primitive_execute(p, dn_stream, 2, args) &&
			    !dn.stream_wait(dn_stream))
				ret = 0;
			dn.memory_destroy(m);
		}
		dn.primitive_destroy(p);
	}
	dn.primitive_desc_destroy(pd);
	return ret;
}

static int run(void *state)
{
	struct prim *p = state;
	uint32_t i;

	for (i = 0; i < p->ops; i++)
		if (dn.primitive_execute(p->p, dn_stream, p->arg_count, p->args[i]))
			return -EIO;
	return dn.stream_wait(dn_stream) ? -EIO : 0;
}

void prim_release(void *state)
{
	struct prim *p = state;
	uint32_t i;

	for (i = 0; i < p->mem_count; i++)
		dn.memory_destroy(p->mems[i]);
	if (p->p)
		dn.primitive_destroy(p->p);
	free(p->plain);
	free(p);
}

/* The result of the first run, converted to the caller's layout */
static double error(const void *d, void *arg)
{
	struct prim *p = arg;
	dnnl_memory_t plain;
	void *from;
	int ret;

	(void)d;
	if (!p->plain)
		p->plain = calloc(1, dn.memory_desc_get_size(&p->plain_md));
	if (!p->plain || dn.memory_create(&plain, &p->plain_md, dn_engine, p->plain))
		return NAN;
	dn.memory_get_data_handle(p->args[0][0].memory, &from);
	ret = prim_reorder(&p->result_md, from, &p->plain_md, plain);
	dn.memory_destroy(plain);
	return ret ? NAN : p->error(p->plain, p->error_arg);
}

void prim_impl(struct prim *p, const char *name, struct perf_impl *impl)
{
	*impl = (struct perf_impl){
		.name = name, .run = run, .release = prim_release, .state = p, .ops = p->ops,
		.error = p->error ? error : NULL, .error_arg = p,
	};
}

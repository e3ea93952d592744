// SPDX-License-Identifier: MIT
/*
 * oneDNN: products and convolutions.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "peer_dnnl.h"

static int md_of(dnnl_memory_desc_t *md, int rank, const dnnl_dims_t dims, uint32_t dtype,
		 dnnl_format_tag_t tag)
{
	return dn.memory_desc_init_by_tag(md, rank, dims, prim_dtype(dtype), tag) ?
	       -EOPNOTSUPP : 0;
}

static const dnnl_memory_desc_t *ask(const_dnnl_primitive_desc_t pd, dnnl_query_t what)
{
	return dn.primitive_desc_query_md(pd, what, 0);
}

/* --- products --------------------------------------------------------------------- */

static int gemm_operands(struct prim *p, const struct peer_gemm *g, dnnl_primitive_desc_t pd)
{
	uint64_t b_bytes = data_bytes(g->b_dtype, (uint64_t)(g->k * g->n));
	const dnnl_memory_desc_t *b_md = ask(pd, dnnl_query_weights_md);
	dnnl_memory_t a, b[PRIM_OPS];
	dnnl_memory_desc_t plain;
	uint32_t i;
	int ret;

	ret = md_of(&plain, 2, (dnnl_dims_t){ g->k, g->n }, g->b_dtype, dnnl_ab);
	a = prim_memory(p, ask(pd, dnnl_query_src_md), g->b ? (void *)g->a : NULL);
	for (i = 0; i < g->sets && !ret; i++) {
		char *from = g->b ? (char *)g->b + i * b_bytes : NULL;

		b[i] = prim_memory(p, b_md, g->packed ? NULL : from);
		if (!b[i])
			return -ENOMEM;
		if (g->packed && from)
			ret = prim_reorder(&plain, from, b_md, b[i]);
	}
	for (i = 0; i < g->ops && g->sets && !ret; i++) {
		dnnl_memory_t d = prim_memory(p, ask(pd, dnnl_query_dst_md), NULL);

		if (!a || !d)
			return -ENOMEM;
		p->args[i][0] = (dnnl_exec_arg_t){ DNNL_ARG_DST, d };
		p->args[i][1] = (dnnl_exec_arg_t){ DNNL_ARG_SRC, a };
		p->args[i][2] = (dnnl_exec_arg_t){ DNNL_ARG_WEIGHTS, b[i % g->sets] };
	}
	return ret;
}

int onednn_gemm(const struct peer_gemm *g, struct perf_impl *impl)
{
	dnnl_memory_desc_t a, b, d;
	dnnl_primitive_desc_t pd;
	dnnl_matmul_desc_t op;
	struct prim *p;
	int ret;

	if (!dn_stream || g->ops > PRIM_OPS || g->sets > PRIM_OPS || !g->sets)
		return -EOPNOTSUPP;
	ret = md_of(&a, 2, (dnnl_dims_t){ g->m, g->k }, g->a_dtype, dnnl_ab);
	if (!ret)
		ret = md_of(&b, 2, (dnnl_dims_t){ g->k, g->n }, g->b_dtype,
			    g->packed ? dnnl_format_tag_any : dnnl_ab);
	if (!ret)
		ret = md_of(&d, 2, (dnnl_dims_t){ g->m, g->n }, g->d_dtype, dnnl_ab);
	if (ret)
		return ret;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	if (dn.matmul_desc_init(&op, &a, &b, NULL, &d) ||
	    dn.primitive_desc_create(&pd, &op, NULL, dn_engine, NULL)) {
		free(p);
		return -EOPNOTSUPP;
	}
	ret = dn.primitive_create(&p->p, pd) ? -EOPNOTSUPP : gemm_operands(p, g, pd);
	dn.primitive_desc_destroy(pd);
	if (ret) {
		prim_release(p);
		return ret;
	}
	p->arg_count = 3;
	p->ops = g->ops;
	p->plain_md = d;
	p->result_md = d;
	p->error = g->error;
	p->error_arg = g->error_arg;
	prim_impl(p, "onednn", impl);
	return 0;
}

/* --- convolutions ----------------------------------------------------------------- */

/* Some layouts of weights in bytes are made from floats only. */
static int weights_from_floats(const struct peer_conv *c, const dnnl_memory_desc_t *plain,
			       const dnnl_memory_desc_t *to_md, dnnl_memory_t to)
{
	int64_t count = c->m * (c->c / c->groups) * c->kernel * c->kernel, i;
	float *floats = malloc((size_t)count * sizeof(*floats));
	dnnl_memory_desc_t md;
	int ret = -ENOMEM;

	if (!floats)
		return ret;
	for (i = 0; i < count; i++)
		floats[i] = (float)data_get(c->b_dtype, c->b, (uint64_t)i);
	ret = md_of(&md, plain->ndims, plain->dims, ACCEL_F32,
		    plain->ndims == 5 ? dnnl_abcde : dnnl_abcd);
	if (!ret)
		ret = prim_reorder(&md, floats, to_md, to);
	free(floats);
	return ret;
}

static int conv_operands(struct prim *p, const struct peer_conv *c, dnnl_primitive_desc_t pd,
			 const dnnl_memory_desc_t plain[4])
{
	static const dnnl_query_t queries[3] = {
		dnnl_query_dst_md, dnnl_query_src_md, dnnl_query_weights_md
	};
	static const int names[3] = { DNNL_ARG_DST, DNNL_ARG_SRC, DNNL_ARG_WEIGHTS };
	const void *data[3] = { NULL, c->a, c->b };
	dnnl_memory_t m;
	int i, ret = 0;

	for (i = 0; i < 3 && !ret; i++) {
		m = prim_memory(p, ask(pd, queries[i]), NULL);
		if (!m)
			return -ENOMEM;
		p->args[0][i] = (dnnl_exec_arg_t){ names[i], m };
		if (data[i])
			ret = prim_reorder(&plain[i], (void *)data[i], ask(pd, queries[i]), m);
		if (ret == -EOPNOTSUPP && i == 2)
			ret = weights_from_floats(c, &plain[i], ask(pd, queries[i]), m);
	}
	m = prim_memory(p, &plain[3], (void *)c->bias);
	p->args[0][3] = (dnnl_exec_arg_t){ DNNL_ARG_BIAS, m };
	p->result_md = *ask(pd, dnnl_query_dst_md);
	return m ? ret : -ENOMEM;
}

/* ReLU, and for bytes a scale before it */
static int attributes(const struct peer_conv *c, dnnl_primitive_attr_t *attr)
{
	dnnl_post_ops_t post;
	int ret = -ENOMEM;

	if (dn.primitive_attr_create(attr))
		return -ENOMEM;
	if (!dn.post_ops_create(&post)) {
		if (!dn.post_ops_append_eltwise(post, 1, dnnl_eltwise_relu, 0, 0) &&
		    !dn.primitive_attr_set_post_ops(*attr, post))
			ret = 0;
		dn.post_ops_destroy(post);
	}
	if (!ret && c->a_dtype == ACCEL_U8 &&
	    dn.primitive_attr_set_output_scales(*attr, 1, 0, &c->scale))
		ret = -EOPNOTSUPP;
	if (ret)
		dn.primitive_attr_destroy(*attr);
	return ret;
}

static int conv_layouts(const struct peer_conv *c, dnnl_memory_desc_t plain[4],
			dnnl_memory_desc_t any[3])
{
	dnnl_dims_t dims[3] = {
		{ 1, c->m, c->out, c->out }, { 1, c->c, c->in, c->in },
		{ c->m, c->c, c->kernel, c->kernel }
	};
	dnnl_dims_t grouped = { c->groups, c->m / c->groups, c->c / c->groups, c->kernel,
				c->kernel };
	uint32_t types[3] = { c->a_dtype, c->a_dtype, c->b_dtype };
	int i, ret = 0;

	for (i = 0; i < 3 && !ret; i++) {
		bool split = i == 2 && c->groups > 1;
		const dnnl_dim_t *d = split ? grouped : dims[i];

		ret = md_of(&plain[i], split ? 5 : 4, d, types[i],
			    split ? dnnl_abcde : i == 2 ? dnnl_abcd : dnnl_acdb);
		if (!ret)
			ret = md_of(&any[i], split ? 5 : 4, d, types[i], dnnl_format_tag_any);
	}
	return ret ? ret : md_of(&plain[3], 1, (dnnl_dims_t){ c->m }, ACCEL_F32, dnnl_a);
}

int onednn_conv(const struct peer_conv *c, struct perf_impl *impl)
{
	dnnl_dims_t stride = { c->stride, c->stride }, before = { c->before, c->before };
	dnnl_alg_kind_t kind = c->winograd ? dnnl_convolution_winograd : dnnl_convolution_direct;
	dnnl_dims_t after = { c->after, c->after };
	dnnl_memory_desc_t plain[4], any[3];
	dnnl_primitive_desc_t pd = NULL;
	dnnl_primitive_attr_t attr;
	dnnl_convolution_desc_t op;
	struct prim *p;
	int ret;

	if (!dn_stream)
		return -EOPNOTSUPP;
	ret = conv_layouts(c, plain, any);
	if (ret || attributes(c, &attr))
		return -EOPNOTSUPP;
	if (dn.convolution_forward_desc_init(&op, dnnl_forward_inference, kind, &any[1], &any[2],
					     &plain[3], &any[0], stride, before, after) ||
	    dn.primitive_desc_create(&pd, &op, attr, dn_engine, NULL))
		pd = NULL;
	dn.primitive_attr_destroy(attr);
	p = pd ? calloc(1, sizeof(*p)) : NULL;
	if (!p) {
		if (pd)
			dn.primitive_desc_destroy(pd);
		return -EOPNOTSUPP;
	}
	ret = dn.primitive_create(&p->p, pd) ? -EOPNOTSUPP : conv_operands(p, c, pd, plain);
	dn.primitive_desc_destroy(pd);
	if (ret) {
		prim_release(p);
		return ret;
	}
	p->arg_count = 4;
	p->ops = 1;
	p->plain_md = plain[0];
	p->error = c->error;
	p->error_arg = c->error_arg;
	prim_impl(p, c->winograd ? "onednn-wino" : "onednn", impl);
	return 0;
}

// SPDX-License-Identifier: MIT
/*
 * Attention in binary32 with AVX-512.
 */
#include "attn_v512.h"

V_INLINE vf v_dot(vf acc, vf a, vf b)
{
	return _mm512_fmadd_ps(a, b, acc);
}

#define KERN_NAME	attn_avx512
#include "attn_kern.h"

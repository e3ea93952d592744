/* SPDX-License-Identifier: MIT */
/*
 * Functions of vectors. Documentation/numerics.rst says how they work and how good
 * they are; a NaN comes out as one.
 */
#ifndef LIBACCEL_SW_LINES_MATH_H
#define LIBACCEL_SW_LINES_MATH_H

#include <stdint.h>

#define MATH_HORNER(x, c) ({						\
	vf r_ = v_set((c)[0]);						\
	_Pragma("GCC unroll 16")					\
	for (uint32_t j_ = 1; j_ < sizeof(c) / sizeof((c)[0]); j_++)	\
		r_ = v_fma(r_, (x), v_set((c)[j_]));			\
	r_; })

V_INLINE vf math_abs(vf x)
{
	return v_of(vi_and(vi_of(x), vi_bits(0x7fffffff)));
}

/* @x with the sign of @sign; @x is positive. */
V_INLINE vf math_sign(vf x, vf sign)
{
	return v_of(vi_or(vi_of(x), vi_and(vi_of(sign), vi_bits(0x80000000))));
}

V_INLINE vf math_clamp(vf x, vf lo, vf hi)
{
	x = v_where(v_less(x, lo), lo, x);
	return v_where(v_less(hi, x), hi, x);
}

/* Finite below, so that a product with zero is zero: the functions' limit at -inf. */
V_INLINE vf math_finite(vf x)
{
	return v_max(v_set(-0x1fffffep103f), x);
}

/* x less n ln 2, n being the integer next to x / ln 2 */
V_INLINE vf math_reduce(vf x, vf *n)
{
	*n = v_rint(v_mul(x, v_set(0x1.715476p+0f)));
	return v_fnma(*n, v_set(0x1.7f7d1cp-20f), v_fnma(*n, v_set(0x1.62e4p-1f), x));
}

/* 2^n e^r. (e^r - 1 - r) / r^2 on |r| <= ln(2) / 2 */
V_INLINE vf math_power(vf r, vf n)
{
	static const float c[] = {
		0x1.6d1606p-10f, 0x1.12106cp-7f, 0x1.555516p-5f, 0x1.5554d8p-3f, 0x1p-1f
	};

	return v_ldexp(v_add(v_fma(v_mul(r, r), MATH_HORNER(r, c), r), v_set(1)), n);
}

/* e^x, x from -104 to 89 */
V_INLINE vf math_exp_of(vf x)
{
	vf n;
	const vf r = math_reduce(x, &n);

	return math_power(r, n);
}

/* e^(hi + lo), |lo| small against hi */
V_INLINE vf math_exp(vf hi, vf lo)
{
	vf n;
	const vf r = math_reduce(v_max(v_set(-104), v_min(v_set(89), hi)), &n);

	return math_power(v_add(r, lo), n);
}

/* 1 / (1 + e^-x), accurate on both sides; the exponential as above, of what is below 0 */
V_INLINE vf math_sigmoid(vf x)
{
	const vf z = math_exp_of(v_max(v_set(-104), v_of(vi_or(vi_of(x), vi_bits(0x80000000)))));

	return v_mul(v_where(v_less(x, v_set(0)), z, v_set(1)), v_inverse(v_add(z, v_set(1))));
}

/* (tanh(x) / x - 1) / x^2 in x^2, |x| <= 0.625; beyond by the exponential */
V_INLINE vf math_tanh(vf x)
{
	static const float c[] = {
		0x1.2c83cp-9f, -0x1.116a16p-7f, 0x1.64a976p-6f, -0x1.ba08c4p-5f, 0x1.1110eap-3f,
		-0x1.555556p-2f
	};
	const vf a = v_min(v_set(10), math_abs(x)), z = v_mul(x, x);
	const vf near = v_fma(x, v_mul(z, MATH_HORNER(z, c)), x);
	const vf e = math_exp(v_add(a, a), v_set(0));
	const vf far = v_fnma(v_set(2), v_inverse(v_add(e, v_set(1))), v_set(1));

	return v_where(v_less(a, v_set(0.625f)), near, math_sign(far, x));
}

/* x erfc(-x / sqrt(2)) / 2; erfc as the model has it */
V_INLINE vf math_gelu_any(vf x)
{
	static const float c[] = {
		-0x1.1ee2dep-12f, -0x1.9d33c6p-11f, 0x1.06604cp-9f, 0x1.51c0f4p-9f,
		-0x1.85da0ep-6f, 0x1.17ba6ep-4f, -0x1.e889acp-4f, 0x1.098438p-3f,
		-0x1.85a16ap-5f, -0x1.15c08ap-3f, 0x1.40c522p+0f
	};
	const vf a = v_min(v_set(14.5f), math_abs(x));
	const vf t = v_mul(a, v_set(0x1.6a09e6p-1f));
	const vf hi = v_of(vi_and(vi_of(a), vi_bits(0xfffff000)));
	const vf lo = v_mul(v_sub(a, hi), v_add(a, hi));
	const vf w = v_div(v_sub(t, v_set(3)), v_add(t, v_set(3)));
	vf q = math_exp(v_mul(v_mul(hi, hi), v_set(-0.5f)), v_mul(lo, v_set(-0.5f)));

	q = v_mul(v_mul(v_set(0.5f), q), v_div(MATH_HORNER(w, c), v_add(v_set(1), v_add(t, t))));
	q = v_where(v_less(x, v_set(0)), q, v_sub(v_set(1), q));
	return v_mul(math_finite(x), q);
}

/* x sigmoid(2 sqrt(2 / pi) (x + 0.044715 x^3)) */
V_INLINE vf math_gelu_tanh_any(vf x)
{
	const vf u = v_mul(x, v_fma(v_mul(x, x), v_set(0x1.2444f2p-4f), v_set(0x1.988454p+0f)));

	return v_mul(math_finite(x), math_sigmoid(u));
}

#ifdef HAS_TABLE

/* Pieces of a: as many as a table has entries, from 0 to MATH_PIECES_END */
#define MATH_PIECE	0.1875f
#define MATH_PIECES_END	6.0f

/*
 * erfc(a / sqrt(2)) / 2 on each piece in the distance from its middle, the highest
 * power first: within 2.1 units of rounding of itself
 */
static const float math_phi[][32] = {
	{
		0x1.939208p-11f, 0x1.1693acp-9f, 0x1.8746b2p-9f, 0x1.a15f78p-9f, 0x1.679078p-9f,
		0x1.e35bd8p-10f, 0x1.8cbb84p-11f, -0x1.047df4p-12f, -0x1.ffdeccp-11f, -0x1.600554p-10f,
		-0x1.673c96p-10f, -0x1.2e5408p-10f, -0x1.aa14d0p-11f, -0x1.df8a16p-12f,
		-0x1.514772p-13f, 0x1.6d519ap-15f, 0x1.45d584p-13f, 0x1.966b92p-13f, 0x1.837e14p-13f,
		0x1.3edb00p-13f, 0x1.d9363ap-14f, 0x1.437536p-14f, 0x1.9c4778p-15f, 0x1.edb294p-16f,
		0x1.1727acp-16f, 0x1.2b3c7ep-17f, 0x1.30e2e4p-18f, 0x1.27e5a2p-19f, 0x1.120054p-20f,
		0x1.e4d5b2p-22f, 0x1.9a49b0p-23f, 0x1.4c687ap-24f,
	},
	{
		-0x1.3f16fap-7f, -0x1.08a7ccp-7f, -0x1.5146d0p-8f, -0x1.a713b6p-10f, 0x1.d0a1ecp-10f,
		0x1.1f3a90p-8f, 0x1.7f5ceap-8f, 0x1.90eb74p-8f, 0x1.61be2ap-8f, 0x1.0a0ff6p-8f,
		0x1.488050p-9f, 0x1.187870p-10f, -0x1.5e646ep-15f, -0x1.8b07e8p-11f, -0x1.1eb31ep-10f,
		-0x1.2dad8ep-10f, -0x1.0e50c0p-10f, -0x1.b2c4dep-11f, -0x1.417a26p-11f,
		-0x1.bafcb0p-12f, -0x1.1ebd80p-12f, -0x1.5ea7bep-13f, -0x1.96a488p-14f,
		-0x1.c07538p-15f, -0x1.d75abap-16f, -0x1.d8f6a2p-17f, -0x1.c5aea4p-18f,
		-0x1.a07cb2p-19f, -0x1.6e3f9ep-20f, -0x1.34c088p-21f, -0x1.f35d82p-23f,
		-0x1.839a0ap-24f,
	},
	{
		-0x1.30266cp-8f, -0x1.ae1c66p-7f, -0x1.3e014ap-6f, -0x1.723f1ep-6f, -0x1.704f8ep-6f,
		-0x1.3f937ep-6f, -0x1.de72dap-7f, -0x1.235e20p-7f, -0x1.c08708p-9f, 0x1.129266p-10f,
		0x1.0e85bep-8f, 0x1.7af732p-8f, 0x1.98557cp-8f, 0x1.7d987cp-8f, 0x1.42ed80p-8f,
		0x1.f94e52p-9f, 0x1.71cc96p-9f, 0x1.fe0070p-10f, 0x1.4cff92p-10f, 0x1.9d2fe0p-11f,
		0x1.e864b6p-12f, 0x1.13818ep-12f, 0x1.2922eep-13f, 0x1.32b910p-14f, 0x1.2f580ep-15f,
		0x1.1fa962p-16f, 0x1.05bffap-17f, 0x1.c9559ap-19f, 0x1.7fc7a2p-20f, 0x1.357e0cp-21f,
		0x1.dfe0f2p-23f, 0x1.65c68ap-24f,
	},
	{
		0x1.0cc454p-4f, 0x1.e226bep-5f, 0x1.7cc984p-5f, 0x1.f411aap-6f, 0x1.b7af68p-7f,
		-0x1.450b30p-9f, -0x1.f72e26p-7f, -0x1.8c2ea2p-6f, -0x1.d7232ep-6f, -0x1.e46e90p-6f,
		-0x1.c32292p-6f, -0x1.84dc80p-6f, -0x1.39fba2p-6f, -0x1.de7d44p-7f, -0x1.59be26p-7f,
		-0x1.db6f40p-8f, -0x1.37d256p-8f, -0x1.86e86ep-9f, -0x1.d506a0p-10f, -0x1.0d9d4ep-10f,
		-0x1.2949aep-11f, -0x1.3aa11ep-12f, -0x1.3fcdf6p-13f, -0x1.385dd0p-14f,
		-0x1.2550cap-15f, -0x1.08e3d0p-16f, -0x1.cc4a12p-18f, -0x1.80db3ep-19f,
		-0x1.35bfcep-20f, -0x1.e00ed4p-22f, -0x1.663de0p-23f, -0x1.017e36p-24f,
	},
	{
		0x1.310b50p-6f, 0x1.b9c26cp-5f, 0x1.572338p-4f, 0x1.b04e7ap-4f, 0x1.e2e83ap-4f,
		0x1.ef13c8p-4f, 0x1.d9d246p-4f, 0x1.ab7338p-4f, 0x1.6dad56p-4f, 0x1.29d814p-4f,
		0x1.cf3c9ap-5f, 0x1.58a308p-5f, 0x1.eb5820p-6f, 0x1.4ffce0p-6f, 0x1.b932a6p-7f,
		0x1.1656e0p-7f, 0x1.51a64ap-8f, 0x1.89fee6p-9f, 0x1.ba69d0p-10f, 0x1.de37d0p-11f,
		0x1.f1c02cp-12f, 0x1.f2fe5ep-13f, 0x1.e1e9f2p-14f, 0x1.c073f8p-15f, 0x1.922b68p-16f,
		0x1.5b9f9ep-17f, 0x1.21a63cp-18f, 0x1.d15960p-20f, 0x1.686c46p-21f, 0x1.0d2e14p-22f,
		0x1.83bc4ep-24f, 0x1.0d5112p-25f,
	},
	{
		-0x1.96b9c0p-2f, -0x1.88acd2p-2f, -0x1.6e0370p-2f, -0x1.49605ep-2f, -0x1.1e2acep-2f,
		-0x1.e0132ep-3f, -0x1.84c6cap-3f, -0x1.2ff6eap-3f, -0x1.cae38ep-4f, -0x1.4e6be0p-4f,
		-0x1.d696f4p-5f, -0x1.3fa9c4p-5f, -0x1.a347cap-6f, -0x1.0978cap-6f, -0x1.448f32p-7f,
		-0x1.7f173ap-8f, -0x1.b48e9ap-9f, -0x1.e04caep-10f, -0x1.fe2b9ap-11f, -0x1.0596e0p-11f,
		-0x1.02fe02p-12f, -0x1.ef201ep-14f, -0x1.c8ecfcp-15f, -0x1.971b36p-16f,
		-0x1.5e3040p-17f, -0x1.22d282p-18f, -0x1.d25a8cp-20f, -0x1.68ff86p-21f,
		-0x1.0dca52p-22f, -0x1.855294p-24f, -0x1.0f33fep-25f, -0x1.6cc9f0p-27f,
	},
	{
		0x1.d9c1f0p-2f, 0x1.8e9a00p-2f, 0x1.474b90p-2f, 0x1.05f8bap-2f, 0x1.98616cp-3f,
		0x1.35ae88p-3f, 0x1.c8944ap-4f, 0x1.46f688p-4f, 0x1.c69f96p-5f, 0x1.32ac96p-5f,
		0x1.91424cp-6f, 0x1.fcf47cp-7f, 0x1.38c94ep-7f, 0x1.746e3ep-8f, 0x1.ad739cp-9f,
		0x1.df7272p-10f, 0x1.030e4ep-10f, 0x1.0eebbcp-11f, 0x1.12248ap-12f, 0x1.0c5d2ap-13f,
		0x1.fc37a0p-15f, 0x1.d16886p-16f, 0x1.9c2660p-17f, 0x1.60e920p-18f, 0x1.2428b8p-19f,
		0x1.d3a334p-21f, 0x1.69c674p-22f, 0x1.0e85f8p-23f, 0x1.8706f6p-25f, 0x1.111f70p-26f,
		0x1.70b75ap-28f, 0x1.e1033ap-30f,
	},
};

/* The same of the tanh form: 1 / (1 + e^(2 sqrt(2 / pi) (a + 0.044715 a^3))) */
static const float math_phi_tanh[][32] = {
	{
		0x1.a6a054p-11f, 0x1.241da2p-9f, 0x1.9a0f36p-9f, 0x1.b1ddf2p-9f, 0x1.6cffbcp-9f,
		0x1.d00ccep-10f, 0x1.3babe4p-11f, -0x1.a6e0a4p-12f, -0x1.14c7cep-10f, -0x1.5a11bcp-10f,
		-0x1.4df8f6p-10f, -0x1.10c474p-10f, -0x1.80c6acp-11f, -0x1.c71086p-12f,
		-0x1.82fb1cp-13f, -0x1.4d6004p-19f, 0x1.d46b16p-14f, 0x1.5dc56cp-13f, 0x1.727afep-13f,
		0x1.4985d8p-13f, 0x1.0275dep-13f, 0x1.6c85f2p-14f, 0x1.d2459ap-15f, 0x1.0f92eap-15f,
		0x1.209d1ep-16f, 0x1.17fb5ap-17f, 0x1.efbd16p-19f, 0x1.9037f6p-20f, 0x1.264f62p-21f,
		0x1.89baeep-23f, 0x1.de5a52p-25f, 0x1.076bf4p-26f,
	},
	{
		-0x1.463276p-7f, -0x1.0d2654p-7f, -0x1.50ebd8p-8f, -0x1.7c505ap-10f, 0x1.0ab78cp-9f,
		0x1.2f3d78p-8f, 0x1.869232p-8f, 0x1.8c313cp-8f, 0x1.540a2ep-8f, 0x1.f491f2p-9f,
		0x1.32515cp-9f, 0x1.0c5d74p-10f, 0x1.860800p-16f, -0x1.4a9706p-11f, -0x1.fe011ap-11f,
		-0x1.18ea14p-10f, -0x1.0745b8p-10f, -0x1.b9e8e8p-11f, -0x1.52d7a4p-11f,
		-0x1.dec316p-12f, -0x1.38a9bep-12f, -0x1.79d3e8p-13f, -0x1.a63f2cp-14f,
		-0x1.b3f25cp-15f, -0x1.9f3776p-16f, -0x1.6c3a06p-17f, -0x1.25b916p-18f,
		-0x1.b2ad20p-20f, -0x1.26855cp-21f, -0x1.6cb2cap-23f, -0x1.9bc274p-25f,
		-0x1.a6ef74p-27f,
	},
	{
		-0x1.370c92p-8f, -0x1.b7376ap-7f, -0x1.43a292p-6f, -0x1.768dd6p-6f, -0x1.713658p-6f,
		-0x1.3c65d2p-6f, -0x1.d262aap-7f, -0x1.16b8f2p-7f, -0x1.a035d8p-9f, 0x1.1942f6p-10f,
		0x1.031ec6p-8f, 0x1.68d70ep-8f, 0x1.870286p-8f, 0x1.726816p-8f, 0x1.3f8906p-8f,
		0x1.ff1b18p-9f, 0x1.7e1582p-9f, 0x1.0be1a4p-9f, 0x1.6085f8p-10f, 0x1.b306dcp-11f,
		0x1.f69a1ap-12f, 0x1.0f43bep-12f, 0x1.10f630p-13f, 0x1.fee388p-15f, 0x1.bb92cep-16f,
		0x1.647338p-17f, 0x1.08773ap-18f, 0x1.6972a0p-20f, 0x1.c5ddd2p-22f, 0x1.05299cp-23f,
		0x1.12c52ap-25f, 0x1.079f4ap-27f,
	},
	{
		0x1.0e088ep-4f, 0x1.e37806p-5f, 0x1.7c2058p-5f, 0x1.eede10p-6f, 0x1.a92e66p-7f,
		-0x1.7816e4p-9f, -0x1.fcc5c4p-7f, -0x1.8a2b04p-6f, -0x1.d11ab6p-6f, -0x1.dcb266p-6f,
		-0x1.bc61dep-6f, -0x1.80ff24p-6f, -0x1.398caep-6f, -0x1.e31486p-7f, -0x1.61100ap-7f,
		-0x1.ea1882p-8f, -0x1.42e376p-8f, -0x1.934abep-9f, -0x1.dc8370p-10f, -0x1.09ac68p-10f,
		-0x1.16d8e6p-11f, -0x1.12bdd4p-12f, -0x1.fad468p-14f, -0x1.b47232p-15f,
		-0x1.5ded52p-16f, -0x1.048338p-17f, -0x1.673572p-19f, -0x1.c9724cp-21f,
		-0x1.0c4ca4p-22f, -0x1.212054p-24f, -0x1.1d779ep-26f, -0x1.018db2p-28f,
	},
	{
		0x1.3287b0p-6f, 0x1.bba2aap-5f, 0x1.582d6ep-4f, 0x1.b0e04ap-4f, 0x1.e29226p-4f,
		0x1.edbf0ep-4f, 0x1.d7d1e4p-4f, 0x1.a9641cp-4f, 0x1.6c3442p-4f, 0x1.295f0cp-4f,
		0x1.d062e8p-5f, 0x1.5b4f26p-5f, 0x1.f1e3eep-6f, 0x1.55f4a6p-6f, 0x1.c1a54cp-7f,
		0x1.1a8e40p-7f, 0x1.52bb76p-8f, 0x1.826ef8p-9f, 0x1.a27080p-10f, 0x1.ace286p-11f,
		0x1.9eee34p-12f, 0x1.79d500p-13f, 0x1.42e71ap-14f, 0x1.0242fep-15f, 0x1.8189aep-17f,
		0x1.0bcd56p-18f, 0x1.594330p-20f, 0x1.9bf168p-22f, 0x1.c59a4ap-24f, 0x1.cbb0fep-26f,
		0x1.ab935cp-28f, 0x1.6c0412p-30f,
	},
	{
		-0x1.96b780p-2f, -0x1.889a2ap-2f, -0x1.6dd7eep-2f, -0x1.492072p-2f, -0x1.1de780p-2f,
		-0x1.dfb514p-3f, -0x1.84bab2p-3f, -0x1.304f00p-3f, -0x1.cc41d0p-4f, -0x1.502974p-4f,
		-0x1.da0612p-5f, -0x1.425ae0p-5f, -0x1.a65fb6p-6f, -0x1.0a2bb4p-6f, -0x1.421658p-7f,
		-0x1.7565d2p-8f, -0x1.9dbb0ap-9f, -0x1.b503f6p-10f, -0x1.b6dfacp-11f, -0x1.a1de9ap-12f,
		-0x1.78296ap-13f, -0x1.3f3b60p-14f, -0x1.fd5d14p-16f, -0x1.7ced8ep-17f,
		-0x1.0a4924p-18f, -0x1.5b02d4p-20f, -0x1.a45030p-22f, -0x1.d7dc74p-24f,
		-0x1.e99b06p-26f, -0x1.d4389ep-28f, -0x1.9b8a1cp-30f, -0x1.4b8596p-32f,
	},
	{
		0x1.d9c202p-2f, 0x1.8e9bd0p-2f, 0x1.47532ap-2f, 0x1.060a96p-2f, 0x1.989e6ap-3f,
		0x1.3601b8p-3f, 0x1.c94f98p-4f, 0x1.47a3acp-4f, 0x1.c79564p-5f, 0x1.330a26p-5f,
		0x1.90ab2ep-6f, 0x1.f97100p-7f, 0x1.33ab52p-7f, 0x1.68c9bcp-8f, 0x1.96a6d4p-9f,
		0x1.b78916p-10f, 0x1.c676c4p-11f, 0x1.c05a7cp-12f, 0x1.a4ebc8p-13f, 0x1.770582p-14f,
		0x1.3c37aep-15f, 0x1.f74700p-17f, 0x1.78e9e4p-18f, 0x1.08e8bep-19f, 0x1.5c7b04p-21f,
		0x1.abca78p-23f, 0x1.e8afd4p-25f, 0x1.030320p-26f, 0x1.fc1e42p-29f, 0x1.cbe25ep-31f,
		0x1.7efad8p-33f, 0x1.24a1b8p-35f,
	},
};

/* x times the function of -x, by pieces; true if there are numbers below all of them */
V_INLINE bool math_pieces(vf x[4], const float (*table)[32])
{
	vm below = vm_none();
	vf q[4], t[4];
	vi i[4];

	_Pragma("GCC unroll 4")
	for (int j = 0; j < 4; j++) {
		const vf a = v_min(v_set(MATH_PIECES_END - 0x1p-20f), math_abs(x[j]));

		i[j] = vi_whole(v_mul(a, v_set(1 / MATH_PIECE)));
		t[j] = v_sub(v_fnma(v_of_ints(i[j]), v_set(MATH_PIECE), a),
			     v_set(MATH_PIECE / 2));
		q[j] = v_table32(table[0], i[j]);
	}
	/* A coefficient's table is loaded once for all four. */
	_Pragma("GCC unroll 8")
	for (int k = 1; k < 7; k++) {
		_Pragma("GCC unroll 4")
		for (int j = 0; j < 4; j++)
			q[j] = v_fma(q[j], t[j], v_table32(table[k], i[j]));
	}
	_Pragma("GCC unroll 4")
	for (int j = 0; j < 4; j++) {
		q[j] = v_where(v_less(x[j], v_set(0)), q[j], v_sub(v_set(1), q[j]));
		below = vm_or(below, v_less(x[j], v_set(-MATH_PIECES_END)));
		x[j] = v_mul(x[j], q[j]);
	}
	return vm_any(below);
}

#define MATH_GELU(name, table, any)					\
V_INLINE void name(vf x[4])						\
{									\
	vf y[4];							\
									\
	_Pragma("GCC unroll 4")						\
	for (int j = 0; j < 4; j++)					\
		y[j] = x[j];						\
	if (!math_pieces(x, table))					\
		return;							\
	_Pragma("GCC unroll 4")						\
	for (int j = 0; j < 4; j++)					\
		x[j] = v_where(v_less(y[j], v_set(-MATH_PIECES_END)),	\
			       any(y[j]), x[j]);			\
}

#else

#define MATH_GELU(name, table, any)					\
V_INLINE void name(vf x[4])						\
{									\
	_Pragma("GCC unroll 4")						\
	for (int j = 0; j < 4; j++)					\
		x[j] = any(x[j]);					\
}

#endif

MATH_GELU(math_gelu, math_phi, math_gelu_any)
MATH_GELU(math_gelu_tanh, math_phi_tanh, math_gelu_tanh_any)

#endif /* LIBACCEL_SW_LINES_MATH_H */

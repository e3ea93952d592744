/* SPDX-License-Identifier: MIT */
/*
 * Vector functions. Documentation/numerics.rst describes the algorithms and error bounds; NaN
 * gives NaN.
 */
#ifndef LIBACCEL_SW_FAST_MATH_H
#define LIBACCEL_SW_FAST_MATH_H

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

/*
 * Limited to a finite number below, so that the product with zero is zero: the functions' limit
 * at -inf.
 */
V_INLINE vf math_finite(vf x)
{
	return v_max(v_set(-0x1fffffep103f), x);
}

/* x minus n ln 2, n being the integer nearest to x / ln 2 */
V_INLINE vf math_reduce(vf x, vf *n)
{
	*n = v_rint(v_mul(x, v_set(1.44269502f)));
	return v_fnma(*n, v_set(0.00000142860677f), v_fnma(*n, v_set(0.693145752f), x));
}

/* 2^n e^r. (e^r - 1 - r) / r^2 on |r| <= ln(2) / 2 */
V_INLINE vf math_power(vf r, vf n)
{
	static const float c[] = {
		0.00139269268f, 0.00836377405f, 0.0416665487f, 0.166665733f, 0.5f
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

/* e^(hi + lo), |lo| small compared with hi */
V_INLINE vf math_exp(vf hi, vf lo)
{
	vf n;
	const vf r = math_reduce(v_max(v_set(-104), v_min(v_set(89), hi)), &n);

	return math_power(v_add(r, lo), n);
}

/* (log(1 + f) - f + f^2 / 2) / f^3 on sqrt(1/2) - 1 <= f <= sqrt(2) - 1 */
V_INLINE vf math_log(vf x)
{
	static const float c[] = {
		0.0697161183f, -0.114797339f, 0.116854198f, -0.124256872f, 0.142490581f,
		-0.166678026f, 0.200007156f, -0.24999997f, 0.333333313f
	};
	const vm subnormal = v_less(x, v_of(vi_bits(0x00800000)));
	const vf y = v_where(subnormal, v_mul(x, v_set(0x1p23f)), x);
	/* The exponent is relative to sqrt(1/2), and positive. */
	const vi t = vi_add(vi_of(y), vi_bits(0x3f800000 - 0x3f3504f3));
	const vf n = v_sub(v_of_ints(vi_shr(t, 23)), v_where(subnormal, v_set(150), v_set(127)));
	const vf f = v_sub(v_of(vi_add(vi_and(t, vi_bits(0x7fffff)), vi_bits(0x3f3504f3))),
			   v_set(1));
	const vf sq = v_mul(f, f);
	vf r = v_mul(v_mul(f, sq), MATH_HORNER(f, c));

	r = v_fnma(v_set(0.5f), sq, v_fma(n, v_set(0.00000142860677f), r));
	r = v_fma(n, v_set(0.693145752f), v_add(r, f));
	r = v_where(v_equal(x, v_set(0)), v_set(-__builtin_inff()), r);
	r = v_where(v_less(x, v_set(0)), v_set(__builtin_nanf("")), r);
	/* Infinity or NaN */
	return v_where(v_less(x, v_set(__builtin_inff())), r, v_mul(x, x));
}

/* Below this math_sigmoid() is 0: e^87 and its inverse are still normal numbers. */
#define MATH_SIGMOID_LEAST	-87.0f

/*
 * 1 / (1 + e^-x). The results of saturated layers would be subnormal numbers, for which
 * processors take a hundred cycles per product.
 */
V_INLINE vf math_sigmoid(vf x)
{
	const vf a = v_min(v_set(-MATH_SIGMOID_LEAST), v_max(v_set(MATH_SIGMOID_LEAST), x));
	const vf y = v_inverse(v_add(math_exp_of(v_sub(v_set(0), a)), v_set(1)));

	return v_where(v_less(x, v_set(MATH_SIGMOID_LEAST)), v_set(0), y);
}

/* (tanh(x) / x - 1) / x^2 in x^2, |x| <= 0.625; with the exponential beyond */
V_INLINE vf math_tanh(vf x)
{
	static const float c[] = {
		0.00229274482f, -0.00834394526f, 0.0217689183f, -0.0539592579f, 0.133333042f,
		-0.333333343f
	};
	/* The sign is applied last, so large arguments do not overflow. */
	const vf a = v_min(v_set(10), math_abs(x)), z = v_mul(a, a);
	const vf near = v_fma(a, v_mul(z, MATH_HORNER(z, c)), a);
	const vf e = math_exp(v_add(a, a), v_set(0));
	const vf far = v_fnma(v_set(2), v_inverse(v_add(e, v_set(1))), v_set(1));

	return math_sign(v_where(v_less(a, v_set(0.625f)), near, far), x);
}

/* x erfc(-x / sqrt(2)) / 2; erfc as in the model */
V_INLINE vf math_gelu_any(vf x)
{
	static const float c[] = {
		-0.000273596001f, -0.000788120728f, 0.00200177124f, 0.00257685641f,
		-0.0237946641f, 0.0682930276f, -0.119271919f, 0.129646719f, -0.0475623198f,
		-0.135621145f, 1.25300801f
	};
	const vf a = v_min(v_set(14.5f), math_abs(x));
	const vf t = v_mul(a, v_set(0.707106769f));
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
	const vf u = v_mul(x, v_fma(v_mul(x, x), v_set(0.0713548139f), v_set(1.59576917f)));

	return v_mul(math_finite(x), math_sigmoid(u));
}

#ifdef HAS_TABLE

/* Intervals of a: as many as a table has entries, from 0 to MATH_PIECES_END */
#define MATH_PIECE	0.1875f
#define MATH_PIECES_END	6.0f

/*
 * erfc(a / sqrt(2)) / 2 on each interval as a polynomial in the distance from its middle,
 * highest power first: relative error at most 2.1 u
 */
static const float math_phi[][32] = {
	{
		0.000769749517f, 0.00212537264f, 0.00298520015f, 0.00318430271f, 0.00274325814f,
		0.00184386736f, 0.000756707159f, -0.000248424534f, -0.000976315117f,
		-0.00134285283f, -0.00137037912f, -0.00115329074f, -0.000812685583f,
		-0.000457324408f, -0.0001608272f, 0.0000435493894f, 0.00015536978f,
		0.000193796252f, 0.000184770819f, 0.000152042136f, 0.00011282249f,
		0.0000771183622f, 0.0000491475075f, 0.0000294266683f, 0.0000166389327f,
		0.00000891793661f, 0.00000454315978f, 0.00000220460447f, 0.00000102073432f,
		0.000000451537545f, 0.000000191055165f, 0.0000000773947946f,
	},
	{
		-0.00973784644f, -0.00807664357f, -0.00514643267f, -0.00161391066f,
		0.00177243236f, 0.00438276306f, 0.00584965432f, 0.00611754972f, 0.0053976872f,
		0.00405978924f, 0.00250626542f, 0.00106990989f, -0.0000417700176f,
		-0.000753461616f, -0.00109367247f, -0.00115081004f, -0.00103117153f,
		-0.000829256081f, -0.000613168988f, -0.000422465382f, -0.000273456797f,
		-0.00016720545f, -0.0000969511748f, -0.000053460346f, -0.0000280949116f,
		-0.000014095408f, -0.00000676039144f, -0.00000310307064f, -0.000001364382f,
		-0.000000575095555f, -0.000000232535072f, -0.0000000902455568f,
	},
	{
		-0.004640962f, -0.013125944f, -0.019409487f, -0.0225980561f, -0.0224799048f,
		-0.0195053797f, -0.0146010937f, -0.00889183581f, -0.00342199299f, 0.00104740856f,
		0.0041278447f, 0.00578255625f, 0.0062306812f, 0.00582268741f, 0.00492748618f,
		0.00385517837f, 0.00282134372f, 0.00194550212f, 0.00127028779f, 0.000788091682f,
		0.000465768244f, 0.000262743066f, 0.000141685698f, 0.0000731284381f,
		0.0000361614184f, 0.0000171459706f, 0.00000780075516f, 0.00000340740667f,
		0.00000142969122f, 0.000000576474463f, 0.00000022346093f, 0.00000008330111f,
	},
	{
		0.0656169206f, 0.0588563643f, 0.0464828089f, 0.0305217896f, 0.0134181269f,
		-0.00247988664f, -0.0153558431f, -0.02418104f, -0.0287559461f, -0.0295673758f,
		-0.0275350977f, -0.0237342119f, -0.0191639978f, -0.0146023352f, -0.0105512319f,
		-0.00725455582f, -0.0047580204f, -0.00298239081f, -0.00178919174f,
		-0.00102849759f, -0.0005670315f, -0.000300053944f, -0.000152494686f,
		-0.0000744739664f, -0.0000349659422f, -0.000015788668f, -0.00000685884561f,
		-0.00000286740374f, -0.00000115390583f, -0.00000044708878f, -0.000000166819291f,
		-0.0000000599522636f,
	},
	{
		0.0186184198f, 0.0539257154f, 0.0837738216f, 0.105543591f, 0.11789725f,
		0.120868474f, 0.115679048f, 0.104357928f, 0.0892766342f, 0.0727158338f,
		0.0565474518f, 0.0420699269f, 0.0299892724f, 0.0205070674f, 0.0134642897f,
		0.00849424303f, 0.00515212351f, 0.00300594862f, 0.00168767292f, 0.000912128482f,
		0.000474692031f, 0.000237938701f, 0.000114897215f, 0.0000534597639f,
		0.0000239711735f, 0.0000103599878f, 0.0000043161117f, 0.00000173356057f,
		0.000000671340047f, 0.000000250693404f, 0.0000000902767212f, 0.0000000313525881f,
	},
	{
		-0.397192955f, -0.383471757f, -0.357434988f, -0.321656674f, -0.279460162f,
		-0.234411582f, -0.189832285f, -0.14842017f, -0.112033419f, -0.0816458464f,
		-0.0574450269f, -0.0390213802f, -0.0255908463f, -0.0162031148f, -0.00990476552f,
		-0.00584550062f, -0.00333066587f, -0.0018321973f, -0.00097307266f, -0.0004989421f,
		-0.000246994226f, -0.000118047108f, -0.0000544697905f, -0.000024265426f,
		-0.0000104364299f, -0.00000433358991f, -0.00000173730291f, -0.000000672411431f,
		-0.00000025126181f, -0.0000000906462247f, -0.0000000315721955f,
		-0.0000000106167519f,
	},
	{
		0.462653875f, 0.389259338f, 0.319624186f, 0.255831629f, 0.199404567f,
		0.151211798f, 0.111469544f, 0.0798249543f, 0.0554960184f, 0.037435811f,
		0.0244909041f, 0.0155320745f, 0.00954548176f, 0.00568284048f, 0.00327645568f,
		0.00182894536f, 0.000988219748f, 0.000516740489f, 0.000261442881f, 0.00012796589f,
		0.0000605842215f, 0.0000277404961f, 0.0000122830243f, 0.0000052587784f,
		0.00000217675461f, 0.000000871042744f, 0.000000336929418f, 0.000000125972235f,
		0.0000000455215563f, 0.0000000158978395f, 0.00000000536552713f,
		0.00000000174991366f,
	},
};

/* The same for the tanh form: 1 / (1 + e^(2 sqrt(2 / pi) (a + 0.044715 a^3))) */
static const float math_phi_tanh[][32] = {
	{
		0.000806095661f, 0.00222866633f, 0.00312850508f, 0.00331014232f, 0.00278472109f,
		0.00177021034f, 0.000602095504f, -0.000403287413f, -0.00105583377f,
		-0.00132014952f, -0.001274004f, -0.00104052504f, -0.000733902096f,
		-0.000433983369f, -0.000184526871f, -0.00000248383776f, 0.000111679627f,
		0.000166783895f, 0.000176658839f, 0.000157128728f, 0.000123243532f,
		0.0000869091091f, 0.0000555839397f, 0.0000323741297f, 0.0000172027194f,
		0.00000834410912f, 0.00000369354052f, 0.00000149093046f, 0.00000054819526f,
		0.000000183344909f, 0.0000000556875968f, 0.0000000153331605f,
	},
	{
		-0.00995474588f, -0.00821379758f, -0.00514101051f, -0.00145078229f,
		0.00203488907f, 0.00462707691f, 0.00595964165f, 0.00604541507f, 0.00518859504f,
		0.00381904677f, 0.00233701942f, 0.00102373143f, 0.0000232476741f,
		-0.000630550261f, -0.00097275601f, -0.00107160327f, -0.00100430427f,
		-0.000842876034f, -0.000646290486f, -0.000456583075f, -0.000298178726f,
		-0.000180162315f, -0.000100671474f, -0.0000519688983f, -0.0000247488406f,
		-0.0000108548002f, -0.00000437681365f, -0.00000161929529f, -0.000000548587991f,
		-0.000000169825924f, -0.0000000479351243f, -0.0000000123090391f,
	},
	{
		-0.00474623265f, -0.0134038227f, -0.0197531153f, -0.0228609648f, -0.0225349292f,
		-0.0193113852f, -0.0142329531f, -0.00850593392f, -0.00317543279f, 0.00107292773f,
		0.00395386061f, 0.00550598232f, 0.00596633693f, 0.00565195596f, 0.00487572094f,
		0.00389942806f, 0.00291506969f, 0.00204377295f, 0.00134476973f, 0.000829747762f,
		0.00047931858f, 0.000258698099f, 0.000130158267f, 0.0000609026902f,
		0.0000264390383f, 0.00001062304f, 0.00000394084645f, 0.00000134649781f,
		0.000000422696104f, 0.000000121613283f, 0.000000031987458f, 0.00000000767241648f,
	},
	{
		0.0659261271f, 0.0590171926f, 0.0464021415f, 0.030204311f, 0.0129755018f,
		-0.00286933454f, -0.0155265052f, -0.0240581073f, -0.028387716f, -0.0290952679f,
		-0.0271229427f, -0.0234983303f, -0.0191375446f, -0.0147424368f, -0.0107746171f,
		-0.00747826742f, -0.00492688781f, -0.00307687349f, -0.00181775447f,
		-0.00101346383f, -0.000531858939f, -0.000262013928f, -0.00012083762f,
		-0.0000520284266f, -0.0000208572765f, -0.00000776387969f, -0.0000026763139f,
		-0.000000852060452f, -0.000000249873267f, -0.0000000673174583f,
		-0.0000000166163812f, -0.00000000374789666f,
	},
	{
		0.0187091082f, 0.0541547127f, 0.0840277001f, 0.105682649f, 0.117815159f,
		0.120543532f, 0.115190402f, 0.103855237f, 0.0889170244f, 0.0726004094f,
		0.0566877872f, 0.0423961394f, 0.0303888153f, 0.020871317f, 0.0137220975f,
		0.00862291455f, 0.00516864425f, 0.00294825342f, 0.00159621984f, 0.000818032946f,
		0.000395708543f, 0.000180164352f, 0.0000769860126f, 0.0000307871924f,
		0.0000114899221f, 0.00000399056216f, 0.00000128620286f, 0.000000383651809f,
		0.000000105612607f, 0.0000000267575597f, 0.00000000622204421f,
		0.00000000132428213f,
	},
	{
		-0.397184372f, -0.383400589f, -0.357269019f, -0.321412832f, -0.279203415f,
		-0.234232098f, -0.189809218f, -0.148588181f, -0.112367451f, -0.0820707828f,
		-0.0578642227f, -0.0393499732f, -0.0257796552f, -0.0162457712f, -0.00982932374f,
		-0.00569759728f, -0.00315651414f, -0.00166708173f, -0.000837085187f,
		-0.000398511445f, -0.000179367911f, -0.000076110824f, -0.0000303604356f,
		-0.0000113525375f, -0.00000396796622f, -0.00000129271689f, -0.000000391447202f,
		-0.000000109863734f, -0.0000000284987944f, -0.00000000681351464f,
		-0.00000000149717194f, -0.000000000301517339f,
	},
	{
		0.462654144f, 0.389266253f, 0.319653183f, 0.255899757f, 0.199520901f,
		0.151370466f, 0.111648172f, 0.079990074f, 0.0556132272f, 0.0374804251f,
		0.0244548749f, 0.0154248476f, 0.00938931946f, 0.00550518837f, 0.00310250605f,
		0.00167669484f, 0.000866821152f, 0.000427583174f, 0.000200710783f,
		0.0000894120967f, 0.0000376960634f, 0.0000149988336f, 0.00000561645084f,
		0.00000197372697f, 0.000000649095568f, 0.000000199205658f, 0.0000000568906344f,
		0.0000000150764947f, 0.00000000369704645f, 0.000000000836524572f,
		0.000000000174159076f, 0.0000000000332683742f,
	},
};

/* x times the function of -x, by intervals; true if there are numbers below all of them */
V_INLINE bool math_pieces(vf x[4], const float (*table)[32])
{
	vm below = vm_none();
	vf q[4], t[4];
	vi i[4];

	_Pragma("GCC unroll 4")
	for (int j = 0; j < 4; j++) {
		const vf a = v_min(v_set(MATH_PIECES_END - 0.000000953674316f), math_abs(x[j]));

		i[j] = vi_whole(v_mul(a, v_set(1 / MATH_PIECE)));
		t[j] = v_sub(v_fnma(v_of_ints(i[j]), v_set(MATH_PIECE), a),
			     v_set(MATH_PIECE / 2));
		q[j] = v_table32(table[0], i[j]);
	}
	/* The table of a coefficient is loaded once for all four. */
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

/* Does math_act() have the activation? */
V_INLINE bool math_has_act(uint32_t act)
{
	return act >= UMA_ACT_RELU && act <= UMA_ACT_HARD_SWISH;
}

#define MATH_EACH(expr)							\
	_Pragma("GCC unroll 4")						\
	for (int j = 0; j < 4; j++) {					\
		const vf a = x[j];					\
									\
		x[j] = (expr);						\
	}

/* An activation with its parameters, as defined by the model. */
V_INLINE void math_act(vf x[4], uint32_t act, vf p0, vf p1)
{
	switch (act) {
	case UMA_ACT_RELU:
		MATH_EACH(v_where(v_least(a, v_set(0)), v_set(0), a));
		break;
	case UMA_ACT_CLAMP:
		MATH_EACH(math_clamp(a, p0, p1));
		break;
	case UMA_ACT_LEAKY_RELU:
		MATH_EACH(v_where(v_less(a, v_set(0)), v_mul(p0, a), a));
		break;
	case UMA_ACT_SIGMOID:
		MATH_EACH(math_sigmoid(a));
		break;
	case UMA_ACT_TANH:
		MATH_EACH(math_tanh(a));
		break;
	case UMA_ACT_GELU:
		math_gelu(x);
		break;
	case UMA_ACT_GELU_TANH:
		math_gelu_tanh(x);
		break;
	case UMA_ACT_SILU:
		MATH_EACH(v_mul(v_max(v_set(MATH_SIGMOID_LEAST), a), math_sigmoid(a)));
		break;
	case UMA_ACT_HARD_SIGMOID:
		MATH_EACH(math_clamp(v_add(v_mul(p0, a), p1), v_set(0), v_set(1)));
		break;
	case UMA_ACT_HARD_SWISH:
		MATH_EACH(v_mul(math_finite(a), math_clamp(v_add(v_div(a, v_set(6)), v_set(0.5f)),
							   v_set(0), v_set(1))));
		break;
	default:
		break;
	}
}

#undef MATH_EACH

#endif /* LIBACCEL_SW_FAST_MATH_H */

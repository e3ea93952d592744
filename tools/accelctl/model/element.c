// SPDX-License-Identifier: MIT
/*
 * Elements of the types that graphs have: those of engines (values.c), and the CPU's.
 */
#include <accel/graph.h>
#include <math.h>
#include <string.h>

#include "arrays.h"
#include "gemm.h"

#define GET(type) \
	do { \
		type v; \
		memcpy(&v, (const char *)p + i * sizeof(v), sizeof(v)); \
		return (double)v; \
	} while (0)
#define PUT(type, value) \
	do { \
		const type v = (type)(value); \
		memcpy((char *)p + i * sizeof(v), &v, sizeof(v)); \
	} while (0)

double element_get(uint32_t type, const void *p, uint64_t i)
{
	switch (type) {
	case ACCEL_HOST_S64:
		GET(int64_t);
	case ACCEL_HOST_U64:
		GET(uint64_t);
	case ACCEL_HOST_U32:
		GET(uint32_t);
	case ACCEL_HOST_S16:
		GET(int16_t);
	case ACCEL_HOST_U16:
		GET(uint16_t);
	case ACCEL_HOST_F64:
		GET(double);
	case ACCEL_HOST_BOOL:
		GET(uint8_t);
	default:
		return value_get(type, p, i);
	}
}

/* Whole, and from @lo to below @end */
static double whole(double x, double lo, double end)
{
	if (isnan(x))
		return 0;
	x = nearbyint(x);
	return x < lo ? lo : x >= end ? nextafter(end, 0) : x;
}

void element_put(uint32_t type, void *p, uint64_t i, double x)
{
	switch (type) {
	case ACCEL_HOST_S64:
		PUT(int64_t, whole(x, -0x1p63, 0x1p63));
		break;
	case ACCEL_HOST_U64:
		PUT(uint64_t, whole(x, 0, 0x1p64));
		break;
	case ACCEL_HOST_U32:
		PUT(uint32_t, whole(x, 0, 0x1p32));
		break;
	case ACCEL_HOST_S16:
		PUT(int16_t, whole(x, -0x1p15, 0x1p15));
		break;
	case ACCEL_HOST_U16:
		PUT(uint16_t, whole(x, 0, 0x1p16));
		break;
	case ACCEL_HOST_F64:
		PUT(double, x);
		break;
	case ACCEL_HOST_BOOL:
		PUT(uint8_t, x != 0);
		break;
	default:
		value_put(type, p, i, x);
	}
}

const char *element_descr(uint32_t type)
{
	static const char *const names[ACCEL_HOST_TYPE_END] = {
		[ACCEL_F32] = "<f4", [ACCEL_F16] = "<f2", [ACCEL_BF16] = "<V2", [ACCEL_S32] = "<i4",
		[ACCEL_S8] = "|i1", [ACCEL_U8] = "|u1", [ACCEL_HOST_S64] = "<i8",
		[ACCEL_HOST_U64] = "<u8", [ACCEL_HOST_U32] = "<u4", [ACCEL_HOST_S16] = "<i2",
		[ACCEL_HOST_U16] = "<u2", [ACCEL_HOST_F64] = "<f8", [ACCEL_HOST_BOOL] = "|b1",
	};

	return type < ACCEL_HOST_TYPE_END ? names[type] : NULL;
}

bool element_real(uint32_t type)
{
	return type == ACCEL_F32 || type == ACCEL_F16 || type == ACCEL_BF16 ||
	       type == ACCEL_HOST_F64;
}

void element_copy(uint32_t type, void *to, const struct npy *from)
{
	const char *descr = element_descr(type);
	uint64_t i;

	/* Large numbers of 64 bits would not survive as a double. */
	if (!from->swap && !from->fortran && descr &&
	    from->kind == descr[1] && from->itemsize == (uint32_t)(descr[2] - '0')) {
		memcpy(to, from->data, from->count * from->itemsize);
		return;
	}
	for (i = 0; i < from->count; i++)
		element_put(type, to, i, npy_get(from, i, type == ACCEL_BF16));
}

/* SPDX-License-Identifier: MIT */
#ifndef LIBACCEL_CORE_CACHE_SIZE_H
#define LIBACCEL_CORE_CACHE_SIZE_H

#include <unistd.h>

/**
 * cache_size - bytes of a data cache of this machine
 * @level: 1, 2 or 3
 *
 * Return: bytes; 0 where the C library does not know, as musl, which has no names for them.
 */
static inline long cache_size(int level)
{
#ifdef _SC_LEVEL1_DCACHE_SIZE
	const long bytes = sysconf(level == 1 ? _SC_LEVEL1_DCACHE_SIZE :
				   level == 2 ? _SC_LEVEL2_CACHE_SIZE : _SC_LEVEL3_CACHE_SIZE);

	return bytes > 0 ? bytes : 0;
#else
	(void)level;
	return 0;
#endif
}

#endif

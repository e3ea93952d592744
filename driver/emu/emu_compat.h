/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Differences between the kernels that the emulator builds for: 6.12 and newer.
 */
#ifndef _EMU_COMPAT_H_
#define _EMU_COMPAT_H_

#include <linux/module.h>

#include <kunit/visibility.h>

/*
 * A device that does not see the processor's caches takes DMA operations of its
 * own, and a way to tell how the kernel maps a page.
 */
#define EMU_CAN_NONCOHERENT \
	(IS_ENABLED(CONFIG_ARCH_HAS_DMA_OPS) && IS_ENABLED(CONFIG_X86_64))

/* Namespaces became strings; kunit/visibility.h changed along. Kbuild looks. */
#ifdef EMU_HAVE_STRING_NS
#define EMU_KUNIT_NS	"EXPORTED_FOR_KUNIT_TESTING"
#else
#define EMU_KUNIT_NS	EXPORTED_FOR_KUNIT_TESTING
#endif

/* The operations of a configfs type may be constant on newer kernels. */
#ifdef EMU_HAVE_CONST_CONFIGFS
#define emu_configfs_const	const
#else
#define emu_configfs_const
#endif

#endif /* _EMU_COMPAT_H_ */

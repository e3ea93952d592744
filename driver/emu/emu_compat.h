/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Differences between the kernels that the emulator builds for: 6.12 and newer.
 */
#ifndef _EMU_COMPAT_H_
#define _EMU_COMPAT_H_

#include <linux/module.h>

#include <kunit/visibility.h>

/*
 * A device that is not cache coherent needs DMA operations of its own, and a way to
 * look up with which caching mode the kernel maps a page.
 */
#define EMU_CAN_NONCOHERENT \
	(IS_ENABLED(CONFIG_ARCH_HAS_DMA_OPS) && IS_ENABLED(CONFIG_X86_64))

/* Symbol namespaces are strings on newer kernels; Kbuild detects that. */
#ifdef EMU_HAVE_STRING_NS
#define EMU_KUNIT_NS	"EXPORTED_FOR_KUNIT_TESTING"
#else
#define EMU_KUNIT_NS	EXPORTED_FOR_KUNIT_TESTING
#endif

/* Newer kernels take constant configfs operations; Kbuild detects that. */
#ifdef EMU_HAVE_CONST_CONFIGFS
#define emu_configfs_const	const
#else
#define emu_configfs_const
#endif

#endif /* _EMU_COMPAT_H_ */

// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Private shmem mounts for the memory of buffers: one with huge pages for buffers that are large
 * enough, and one for each memory node of the device.
 *
 * All of this is preference: without huge pages or enough nodes any memory is used.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mount.h>
#include <linux/nodemask.h>
#include <linux/pagemap.h>
#include <linux/shmem_fs.h>

#include <drm/drm_managed.h>

#include "compat.h"
#include "uma_device.h"
#include "uma_gem.h"

static void uma_mount_fini(struct drm_device *drm, void *data)
{
	struct uma_device *uma = data;

	kern_unmount_array(uma->mounts, ARRAY_SIZE(uma->mounts));
}

/* The parser modifies @options. */
static struct vfsmount *uma_mount_make(char *options)
{
	struct file_system_type *type = get_fs_type("tmpfs");
	struct vfsmount *mnt;

	if (!type)
		return NULL;
	mnt = vfs_kern_mount(type, SB_KERNMOUNT, "uma", options);
	return IS_ERR(mnt) ? NULL : mnt;
}

/*
 * The device's node n is Linux' n-th node with memory, if it has at least as many. Having no mounts
 * is not an error.
 */
int uma_mount_init(struct uma_device *uma)
{
	const char *huge = IS_ENABLED(CONFIG_TRANSPARENT_HUGEPAGE) ? "huge=within_size" : "";
	char options[64];
	u32 i = 0;
	int nid;

	strscpy(options, huge, sizeof(options));
	if (huge[0])
		uma->mounts[0] = uma_mount_make(options);
	if (IS_ENABLED(CONFIG_NUMA) && uma->info.node_count > 1 &&
	    num_node_state(N_MEMORY) >= uma->info.node_count) {
		for_each_node_state(nid, N_MEMORY) {
			if (i >= uma->info.node_count)
				break;
			snprintf(options, sizeof(options), "%s%smpol=prefer:%d", huge,
				 huge[0] ? "," : "", nid);
			uma->mounts[1 + i++] = uma_mount_make(options);
		}
	}
	return drmm_add_action_or_reset(&uma->drm, uma_mount_fini, uma);
}

/*
 * The shmem helpers have created a file on the kernel's own mount: replace it. The buffer has no
 * pages and is not published.
 */
void uma_mount_place(struct uma_device *uma, struct uma_bo *bo)
{
	u32 node = (bo->flags & DRM_UMA_BO_NODE_MASK) >> DRM_UMA_BO_NODE_SHIFT;
	struct drm_gem_object *obj = &bo->shmem.base;
	struct vfsmount *mnt = uma->mounts[node];
	struct file *file;

	/* Without a node only buffers that can have huge pages profit. */
	if (!mnt || (!node && obj->size < 1ULL << UMA_BLOCK_SHIFT))
		return;
	file = shmem_file_setup_with_mnt(mnt, "uma buffer", obj->size, UMA_SHMEM_NORESERVE);
	if (IS_ERR(file))
		return;
	swap(obj->filp, file);
	mapping_set_gfp_mask(obj->filp->f_mapping, mapping_gfp_mask(file->f_mapping));
	fput(file);
}

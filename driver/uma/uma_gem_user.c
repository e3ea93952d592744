// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * User memory that the device uses in place: a long-term pin, charged to RLIMIT_MEMLOCK.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/user.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "uma_device.h"
#include "uma_drv.h"
#include "uma_gem.h"

/* How many pages are pinned before checking for a fatal signal. */
#define UMA_USER_BATCH	4096

/*
 * The same pages may be imported more than once. A coherent device must see the pages themselves
 * and no bounce buffers; for another one DRM_IOCTL_UMA_BO_SYNC transfers ownership.
 */
static unsigned long uma_user_attrs(const struct uma_user_pages *user)
{
	return user->uma->info.flags & DRM_UMA_DEVICE_COHERENT ?
		DMA_ATTR_REQUIRE_COHERENT : DMA_ATTR_DEBUGGING_IGNORE_CACHELINES;
}

/*
 * The file may be passed to another process, and the pinned memory may outlive the process that
 * imported it. A limit for each process could be evaded, so the user is charged.
 */
static bool uma_user_try_charge(const struct uma_user_pages *user)
{
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
	struct user_struct *owner = current_user();
	long locked = atomic_long_read(&owner->locked_vm);

	do {
		if (locked + user->count > limit)
			return false;
	} while (!atomic_long_try_cmpxchg(&owner->locked_vm, &locked, locked + user->count));
	return true;
}

static int uma_user_charge(struct uma_user_pages *user)
{
	bool charged = false;

	if (!uma_may(CAP_IPC_LOCK)) {
		/* Waiting does not help. */
		if (user->count > rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT)
			return -ENOMEM;
		/* Memory of the same user may be about to be released. */
		uma_wait_released(charged = uma_user_try_charge(user));
		if (!charged && !uma_user_try_charge(user))
			return -ENOMEM;
		user->owner = get_uid(current_user());
	}
	atomic64_add(user->count, &user->mm->pinned_vm);
	return 0;
}

static void uma_user_uncharge(struct uma_user_pages *user)
{
	atomic64_sub(user->count, &user->mm->pinned_vm);
	if (user->owner) {
		atomic_long_sub(user->count, &user->owner->locked_vm);
		free_uid(user->owner);
	}
}

/*
 * pin_user_pages_fast() returns -EFAULT for several reasons. Distinguish memory that cannot be
 * pinned from memory that is not mapped.
 */
static int uma_user_reason(const struct uma_user_pages *user, unsigned long addr)
{
	struct vm_area_struct *vma;
	int ret = -EFAULT;

	mmap_read_lock(user->mm);
	vma = find_vma(user->mm, addr);
	if (vma && vma->vm_start <= addr) {
		if (vma->vm_flags & (VM_IO | VM_PFNMAP))
			ret = -EOPNOTSUPP;
		else if (!user->readonly && vma->vm_file && (vma->vm_flags & VM_WRITE) &&
			 (vma->vm_flags & VM_SHARED))
			ret = -EOPNOTSUPP;
	}
	mmap_read_unlock(user->mm);
	return ret;
}

static int uma_user_pin_pages(struct uma_user_pages *user, unsigned long addr)
{
	unsigned int gup = FOLL_LONGTERM | (user->readonly ? 0 : FOLL_WRITE);
	unsigned long done = 0;
	int ret;

	while (done < user->count) {
		ret = pin_user_pages_fast(addr + (done << PAGE_SHIFT),
					  min_t(unsigned long, user->count - done, UMA_USER_BATCH),
					  gup, user->pages + done);
		if (ret > 0) {
			done += ret;
			ret = uma_breathe();
		} else if (!ret || ret == -EFAULT) {
			ret = uma_user_reason(user, addr + (done << PAGE_SHIFT));
		}
		if (ret) {
			unpin_user_pages(user->pages, done);
			return ret;
		}
	}
	return 0;
}

/**
 * uma_user_pin - pin memory of the calling process
 * @uma: device
 * @addr: first byte, page-aligned
 * @size: bytes, whole pages
 * @readonly: the device may only read it
 *
 * Faulting the pages in may take any time, so not between uma_enter() and drm_dev_exit().
 *
 * Return: pinned memory; -EFAULT not mapped or not writable; -EOPNOTSUPP it cannot be pinned;
 * -ENOMEM; -EINTR.
 */
struct uma_user_pages *uma_user_pin(struct uma_device *uma, u64 addr, u64 size, bool readonly)
{
	struct uma_user_pages *user;
	int ret;

	if (!access_ok(u64_to_user_ptr(addr), size))
		return ERR_PTR(-EFAULT);
	user = kzalloc_obj(*user, GFP_KERNEL_ACCOUNT);
	if (!user)
		return ERR_PTR(-ENOMEM);
	user->uma = uma;
	user->readonly = readonly;
	user->dir = readonly ? DMA_TO_DEVICE : DMA_BIDIRECTIONAL;
	user->count = size >> PAGE_SHIFT;
	user->mm = current->mm;
	mmgrab(user->mm);

	ret = uma_user_charge(user);
	if (ret)
		goto err_free;
	user->pages = kvmalloc_array(user->count, sizeof(*user->pages), GFP_KERNEL_ACCOUNT);
	if (!user->pages) {
		ret = -ENOMEM;
		goto err_charge;
	}
	ret = uma_user_pin_pages(user, addr);
	if (ret)
		goto err_array;
	atomic_long_add(user->count, &uma->pinned_pages);
	return user;

err_array:
	kvfree(user->pages);
err_charge:
	uma_user_uncharge(user);
err_free:
	mmdrop(user->mm);
	kfree(user);
	return ERR_PTR(ret);
}

/* Map pinned memory for the device. */
int uma_user_map(struct uma_user_pages *user)
{
	struct device *dev = user->uma->drm.dev;
	size_t max = min_t(size_t, dma_max_mapping_size(dev), dma_get_max_seg_size(dev));
	int ret;

	ret = sg_alloc_table_from_pages_segment(&user->sgt, user->pages, user->count, 0,
						(unsigned long)user->count << PAGE_SHIFT, max,
						GFP_KERNEL_ACCOUNT);
	if (ret)
		return ret;
	ret = dma_map_sgtable(dev, &user->sgt, user->dir, uma_user_attrs(user));
	user->mapped = !ret;
	return ret;
}

/* Undo uma_user_pin() and uma_user_map(). */
void uma_user_unpin(struct uma_user_pages *user)
{
	if (user->mapped)
		dma_unmap_sgtable(user->uma->drm.dev, &user->sgt, user->dir, uma_user_attrs(user));
	sg_free_table(&user->sgt);
	unpin_user_pages_dirty_lock(user->pages, user->count, !user->readonly);
	atomic_long_sub(user->count, &user->uma->pinned_pages);
	uma_user_uncharge(user);
	mmdrop(user->mm);
	kvfree(user->pages);
	kfree(user);
}

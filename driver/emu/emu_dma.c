// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What the device may reach: the memory that the DMA API has mapped for it, and
 * nothing that has been unmapped since.
 *
 * Where the kernel lets a device have DMA operations of its own, these note every
 * page that is mapped. Elsewhere, and for a device that no driver is bound to, a
 * page counts as mapped for as long as anybody owns it.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/dma-map-ops.h>
#include <linux/memory_hotplug.h>
#include <linux/mm.h>
#include <linux/rculist.h>
#include <linux/scatterlist.h>
#include <linux/srcu.h>

#include "emu_compat.h"
#include "emu_device.h"

static int emu_dma_own_page(struct emu_device *emu, unsigned long pfn)
{
	void *was, *found;
	unsigned long count;

	do {
		was = xa_load(&emu->mapped, pfn);
		count = was ? xa_to_value(was) : 0;
		found = xa_cmpxchg(&emu->mapped, pfn, was, xa_mk_value(count + 1), GFP_KERNEL);
		if (xa_is_err(found))
			return xa_err(found);
	} while (found != was);
	return 0;
}

static void emu_dma_disown_page(struct emu_device *emu, unsigned long pfn)
{
	void *was, *left;

	do {
		was = xa_load(&emu->mapped, pfn);
		if (WARN_ON_ONCE(!was))
			return;
		left = xa_to_value(was) > 1 ? xa_mk_value(xa_to_value(was) - 1) : NULL;
		/* Needs no memory, and may be called to get some. */
	} while (xa_cmpxchg(&emu->mapped, pfn, was, left, GFP_NOWAIT) != was);
}

/**
 * emu_dma_disown - memory is no longer mapped for the device
 * @emu: device
 * @pa: physical address
 * @size: bytes
 */
void emu_dma_disown(struct emu_device *emu, u64 pa, u64 size)
{
	unsigned long pfn;

	for (pfn = PHYS_PFN(pa); pfn <= PHYS_PFN(pa + size - 1); pfn++)
		emu_dma_disown_page(emu, pfn);
}
EXPORT_SYMBOL_IF_KUNIT(emu_dma_disown);

/**
 * emu_dma_own - memory is mapped for the device
 * @emu: device
 * @pa: physical address
 * @size: bytes, not 0; pages may be mapped more than once
 *
 * Return: 0 or -ENOMEM.
 */
int emu_dma_own(struct emu_device *emu, u64 pa, u64 size)
{
	unsigned long pfn;
	int ret;

	for (pfn = PHYS_PFN(pa); pfn <= PHYS_PFN(pa + size - 1); pfn++) {
		ret = emu_dma_own_page(emu, pfn);
		if (ret) {
			if (pfn > PHYS_PFN(pa))
				emu_dma_disown(emu, pa, PFN_PHYS(pfn) - pa);
			return ret;
		}
	}
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(emu_dma_own);

/**
 * emu_dma_owned - may the device reach a page?
 * @emu: device
 * @pa: physical address of memory
 *
 * Return: false if it has been unmapped, or freed; true also of what is no memory at all.
 */
bool emu_dma_owned(struct emu_device *emu, u64 pa)
{
	struct page *page = pfn_to_online_page(PHYS_PFN(pa));

	if (!page)
		return true;
	if (!page_count(page))
		return false;
	return !emu->knows_mapped || xa_load(&emu->mapped, PHYS_PFN(pa));
}

#ifdef CONFIG_ARCH_HAS_DMA_OPS

/* Buffers may be unmapped later than their device has gone: who takes it away waits for who looks. */
DEFINE_STATIC_SRCU(emu_dma_srcu);
static LIST_HEAD(emu_dma_list);
static DEFINE_SPINLOCK(emu_dma_lock);

/* The emulated device of a device, NULL once it has gone; within a section of emu_dma_srcu. */
static struct emu_device *emu_dma_find(struct device *dev)
{
	struct emu_device *emu;

	list_for_each_entry_srcu(emu, &emu_dma_list, dma_link, srcu_read_lock_held(&emu_dma_srcu))
		if (emu->dma_dev == dev)
			return emu;
	return NULL;
}

static dma_addr_t emu_dma_map(struct device *dev, phys_addr_t phys, size_t size)
{
	int idx = srcu_read_lock(&emu_dma_srcu);
	struct emu_device *emu = emu_dma_find(dev);
	dma_addr_t dma = phys;

	if (!emu || emu_dma_own(emu, phys, size))
		dma = DMA_MAPPING_ERROR;
	srcu_read_unlock(&emu_dma_srcu, idx);
	return dma;
}

static void emu_dma_unmap(struct device *dev, dma_addr_t dma, size_t size)
{
	int idx = srcu_read_lock(&emu_dma_srcu);
	struct emu_device *emu = emu_dma_find(dev);

	if (emu)
		emu_dma_disown(emu, dma, size);
	srcu_read_unlock(&emu_dma_srcu, idx);
}

static void *emu_dma_alloc(struct device *dev, size_t size, dma_addr_t *dma, gfp_t gfp,
			   unsigned long attrs)
{
	struct page *page = alloc_pages(gfp | __GFP_ZERO, get_order(size));

	if (!page)
		return NULL;
	*dma = emu_dma_map(dev, page_to_phys(page), size);
	if (*dma == DMA_MAPPING_ERROR) {
		__free_pages(page, get_order(size));
		return NULL;
	}
	return page_address(page);
}

static void emu_dma_free(struct device *dev, size_t size, void *cpu, dma_addr_t dma,
			 unsigned long attrs)
{
	emu_dma_unmap(dev, dma, size);
	__free_pages(virt_to_page(cpu), get_order(size));
}

#ifdef EMU_HAVE_MAP_PHYS
static dma_addr_t emu_dma_map_phys(struct device *dev, phys_addr_t phys, size_t size,
				   enum dma_data_direction dir, unsigned long attrs)
{
	return emu_dma_map(dev, phys, size);
}
#else
static dma_addr_t emu_dma_map_page(struct device *dev, struct page *page, unsigned long offset,
				   size_t size, enum dma_data_direction dir, unsigned long attrs)
{
	return emu_dma_map(dev, page_to_phys(page) + offset, size);
}
#endif

static void emu_dma_unmap_one(struct device *dev, dma_addr_t dma, size_t size,
			      enum dma_data_direction dir, unsigned long attrs)
{
	emu_dma_unmap(dev, dma, size);
}

static void emu_dma_unmap_sg(struct device *dev, struct scatterlist *sgl, int nents,
			     enum dma_data_direction dir, unsigned long attrs)
{
	struct scatterlist *sg;
	int i;

	for_each_sg(sgl, sg, nents, i)
		emu_dma_unmap(dev, sg_dma_address(sg), sg_dma_len(sg));
}

static int emu_dma_map_sg(struct device *dev, struct scatterlist *sgl, int nents,
			  enum dma_data_direction dir, unsigned long attrs)
{
	struct scatterlist *sg;
	int i;

	for_each_sg(sgl, sg, nents, i) {
		sg_dma_address(sg) = emu_dma_map(dev, sg_phys(sg), sg->length);
		if (sg_dma_address(sg) == DMA_MAPPING_ERROR) {
			emu_dma_unmap_sg(dev, sgl, i, dir, attrs);
			return -ENOMEM;
		}
		sg_dma_len(sg) = sg->length;
	}
	return nents;
}

static const struct dma_map_ops emu_dma_ops = {
	.alloc = emu_dma_alloc,
	.free = emu_dma_free,
#ifdef EMU_HAVE_MAP_PHYS
	.map_phys = emu_dma_map_phys,
	.unmap_phys = emu_dma_unmap_one,
#else
	.map_page = emu_dma_map_page,
	.unmap_page = emu_dma_unmap_one,
#endif
	.map_sg = emu_dma_map_sg,
	.unmap_sg = emu_dma_unmap_sg,
};

/**
 * emu_dma_attach - note what is mapped for a device
 * @emu: emulated device
 * @dev: its device, without a driver yet
 */
void emu_dma_attach(struct emu_device *emu, struct device *dev)
{
	emu->dma_dev = get_device(dev);
	emu->knows_mapped = true;
	spin_lock(&emu_dma_lock);
	list_add_tail_rcu(&emu->dma_link, &emu_dma_list);
	spin_unlock(&emu_dma_lock);
	set_dma_ops(dev, &emu_dma_ops);
}

/**
 * emu_dma_detach - undo emu_dma_attach()
 * @emu: emulated device, whose device has gone
 *
 * What is still mapped is unmapped later by what the kernel has for a device without
 * operations of its own: the addresses are the same, and so is what memory comes from.
 */
void emu_dma_detach(struct emu_device *emu)
{
	if (emu->dma_dev) {
		set_dma_ops(emu->dma_dev, NULL);
		spin_lock(&emu_dma_lock);
		list_del_rcu(&emu->dma_link);
		spin_unlock(&emu_dma_lock);
		synchronize_srcu(&emu_dma_srcu);
		put_device(emu->dma_dev);
	}
	xa_destroy(&emu->mapped);
}

#else /* !CONFIG_ARCH_HAS_DMA_OPS */

void emu_dma_attach(struct emu_device *emu, struct device *dev)
{
}

void emu_dma_detach(struct emu_device *emu)
{
	xa_destroy(&emu->mapped);
}

#endif /* CONFIG_ARCH_HAS_DMA_OPS */

// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * DMA mappings: the device may access only memory that the DMA API has mapped for
 * it and that has not been unmapped since.
 *
 * Where the kernel supports DMA operations per device, the emulator's count the
 * mappings of every page. Elsewhere, and for devices without a platform device, a
 * page counts as mapped while it is allocated.
 *
 * A device that is not coherent accesses a shadow of each page that the kernel maps
 * with caching. Syncing for the device copies what the CPU wrote to the shadow, and
 * syncing for the CPU copies what the device wrote back, as if the page were in a
 * write-back cache: for the device, a clean line is not copied, and a dirty line is
 * copied as a whole.
 */
#include <linux/dma-map-ops.h>
#include <linux/memory_hotplug.h>
#include <linux/mm.h>
#include <linux/rculist.h>
#include <linux/scatterlist.h>
#include <linux/sizes.h>
#include <linux/slab.h>
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
		/* Replacing an entry does not allocate; this may be called in reclaim. */
	} while (xa_cmpxchg(&emu->mapped, pfn, was, left, GFP_NOWAIT) != was);
}

/**
 * emu_dma_disown - remove a mapping of memory for the device
 * @emu: device
 * @pa: physical address
 * @size: bytes
 */
void emu_dma_disown(struct emu_device *emu, u64 pa, u64 size)
{
	unsigned long pfn;

	pa &= ~EMU_SHADOWED;
	for (pfn = PHYS_PFN(pa); pfn <= PHYS_PFN(pa + size - 1); pfn++)
		emu_dma_disown_page(emu, pfn);
}
EXPORT_SYMBOL_IF_KUNIT(emu_dma_disown);

/**
 * emu_dma_own - add a mapping of memory for the device
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

	pa &= ~EMU_SHADOWED;
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
 * emu_dma_owned - may the device access a page?
 * @emu: device
 * @pa: physical address
 *
 * Return: false if the page is not mapped, or free; true if the address is not memory at all.
 */
bool emu_dma_owned(struct emu_device *emu, u64 pa)
{
	struct page *page = pfn_to_online_page(PHYS_PFN(pa & ~EMU_SHADOWED));

	if (!page)
		return true;
	if (!page_count(page))
		return false;
	return !emu->knows_mapped || xa_load(&emu->mapped, PHYS_PFN(pa & ~EMU_SHADOWED));
}
EXPORT_SYMBOL_IF_KUNIT(emu_dma_owned);

#ifdef CONFIG_ARCH_HAS_DMA_OPS

/* Buffers may be unmapped after their device is gone: emu_dma_detach() waits for readers. */
DEFINE_STATIC_SRCU(emu_dma_srcu);
static LIST_HEAD(emu_dma_list);
static DEFINE_SPINLOCK(emu_dma_lock);

/* Find the emulated device of @dev, NULL once it is gone; in a read section of emu_dma_srcu. */
static struct emu_device *emu_dma_find(struct device *dev)
{
	struct emu_device *emu;

	list_for_each_entry_srcu(emu, &emu_dma_list, dma_link, srcu_read_lock_held(&emu_dma_srcu))
		if (emu->dma_dev == dev)
			return emu;
	return NULL;
}

/* --- shadows ---------------------------------------------------------------- */

#define EMU_LINE	64
/* Limit of a mapping's size */
#define EMU_MAX_MAPPING	SZ_256K

/**
 * struct emu_shadow - copy of a page for a device that is not coherent
 * @count: number of mappings of the page, under the lock of &emu_device.shadows
 * @memory: the page as the device sees it
 * @cached: the page as of the last sync of each line; the CPU's lines that differ are dirty
 */
struct emu_shadow {
	unsigned long count;
	void *memory;
	void *cached;
};

static void emu_shadow_free(struct emu_shadow *shadow)
{
	if (!shadow)
		return;
	free_page((unsigned long)shadow->memory);
	free_page((unsigned long)shadow->cached);
	kfree(shadow);
}

static struct emu_shadow *emu_shadow_alloc(unsigned long pfn)
{
	struct emu_shadow *shadow = kzalloc(sizeof(*shadow), GFP_KERNEL);

	if (!shadow)
		return NULL;
	shadow->count = 1;
	shadow->memory = (void *)__get_free_page(GFP_KERNEL);
	shadow->cached = (void *)__get_free_page(GFP_KERNEL);
	if (!shadow->memory || !shadow->cached) {
		emu_shadow_free(shadow);
		return NULL;
	}
	memcpy(shadow->memory, pfn_to_kaddr(pfn), PAGE_SIZE);
	memcpy(shadow->cached, shadow->memory, PAGE_SIZE);
	return shadow;
}

static int emu_shadow_get(struct emu_device *emu, unsigned long pfn)
{
	struct emu_shadow *fresh = emu_shadow_alloc(pfn), *shadow;

	if (!fresh)
		return -ENOMEM;
	xa_lock(&emu->shadows);
	shadow = __xa_cmpxchg(&emu->shadows, pfn, NULL, fresh, GFP_KERNEL);
	if (shadow && !xa_is_err(shadow))
		shadow->count++;
	xa_unlock(&emu->shadows);
	if (shadow)
		emu_shadow_free(fresh);
	return xa_err(shadow);
}

static void emu_shadow_put(struct emu_device *emu, unsigned long pfn)
{
	struct emu_shadow *shadow;

	xa_lock(&emu->shadows);
	shadow = xa_load(&emu->shadows, pfn);
	if (shadow && --shadow->count)
		shadow = NULL;
	if (shadow)
		__xa_erase(&emu->shadows, pfn);
	xa_unlock(&emu->shadows);
	emu_shadow_free(shadow);
}

static void emu_shadow_sync(struct emu_device *emu, u64 pa, u64 size, bool to_device)
{
	u64 end = (pa & ~EMU_SHADOWED) + size, at;

	if (!(pa & EMU_SHADOWED))
		return;
	/* Caches hold whole lines, also of those that are only partly in the range. */
	for (at = round_down(pa & ~EMU_SHADOWED, EMU_LINE); at < end; at += EMU_LINE) {
		void *line = phys_to_virt(at);
		u32 offset = offset_in_page(at);
		struct emu_shadow *shadow;

		xa_lock(&emu->shadows);
		shadow = xa_load(&emu->shadows, PHYS_PFN(at));
		if (!shadow) {
			/* Unmapped in the meantime. */
		} else if (!to_device) {
			memcpy(shadow->cached + offset, shadow->memory + offset, EMU_LINE);
			memcpy(line, shadow->memory + offset, EMU_LINE);
		} else if (memcmp(shadow->cached + offset, line, EMU_LINE)) {
			memcpy(shadow->cached + offset, line, EMU_LINE);
			memcpy(shadow->memory + offset, shadow->cached + offset, EMU_LINE);
		}
		xa_unlock(&emu->shadows);
	}
}

#ifdef CONFIG_X86_64
static bool emu_is_cached(u64 pa)
{
	unsigned int level;
	pte_t *pte = lookup_address((unsigned long)phys_to_virt(pa), &level);

	/* Large pages of the direct map are cached: another mode for a page splits them. */
	return !pte || level != PG_LEVEL_4K || !(pte_flags(*pte) & _PAGE_CACHE_MASK);
}
#else
static bool emu_is_cached(u64 pa)
{
	return true;
}
#endif

/* Returns the DMA address, or DMA_MAPPING_ERROR. */
static dma_addr_t emu_shadow_map(struct emu_device *emu, u64 pa, u64 size)
{
	unsigned long first = PHYS_PFN(pa), last = PHYS_PFN(pa + size - 1), pfn;

	if (!emu->cfg.noncoherent || !emu_is_cached(pa))
		return pa;
	for (pfn = first; pfn <= last; pfn++) {
		if (!emu_shadow_get(emu, pfn))
			continue;
		while (pfn-- > first)
			emu_shadow_put(emu, pfn);
		return DMA_MAPPING_ERROR;
	}
	emu_shadow_sync(emu, pa | EMU_SHADOWED, size, true);
	return pa | EMU_SHADOWED;
}

static void emu_shadow_unmap(struct emu_device *emu, u64 pa, u64 size)
{
	unsigned long pfn;

	if (!(pa & EMU_SHADOWED))
		return;
	pa &= ~EMU_SHADOWED;
	for (pfn = PHYS_PFN(pa); pfn <= PHYS_PFN(pa + size - 1); pfn++)
		emu_shadow_put(emu, pfn);
}

/* --- operations ------------------------------------------------------------- */

/* A limit as that of swiotlb: drivers have to split larger mappings. */
static size_t emu_dma_max_size(struct device *dev)
{
	int idx = srcu_read_lock(&emu_dma_srcu);
	struct emu_device *emu = emu_dma_find(dev);
	size_t size = emu && emu->cfg.noncoherent ? EMU_MAX_MAPPING : SIZE_MAX;

	srcu_read_unlock(&emu_dma_srcu, idx);
	return size;
}

static dma_addr_t emu_dma_map(struct device *dev, phys_addr_t phys, size_t size, bool coherent)
{
	int idx = srcu_read_lock(&emu_dma_srcu);
	struct emu_device *emu = emu_dma_find(dev);
	dma_addr_t dma = DMA_MAPPING_ERROR;

	if (emu && (coherent || size <= emu_dma_max_size(dev)) && !emu_dma_own(emu, phys, size)) {
		dma = coherent ? phys : emu_shadow_map(emu, phys, size);
		if (dma == DMA_MAPPING_ERROR)
			emu_dma_disown(emu, phys, size);
	}
	srcu_read_unlock(&emu_dma_srcu, idx);
	return dma;
}

static void emu_dma_unmap(struct device *dev, dma_addr_t dma, size_t size,
			  enum dma_data_direction dir, unsigned long attrs)
{
	int idx = srcu_read_lock(&emu_dma_srcu);
	struct emu_device *emu = emu_dma_find(dev);

	if (emu) {
		if (dir != DMA_TO_DEVICE && !(attrs & DMA_ATTR_SKIP_CPU_SYNC))
			emu_shadow_sync(emu, dma, size, false);
		emu_shadow_unmap(emu, dma, size);
		emu_dma_disown(emu, dma, size);
	}
	srcu_read_unlock(&emu_dma_srcu, idx);
}

/* Memory that the device does not write is not synced for the CPU, whose data may be newer. */
static void emu_dma_sync(struct device *dev, dma_addr_t dma, size_t size,
			 enum dma_data_direction dir, bool to_device)
{
	int idx = srcu_read_lock(&emu_dma_srcu);
	struct emu_device *emu = emu_dma_find(dev);

	if (emu && (to_device || dir != DMA_TO_DEVICE))
		emu_shadow_sync(emu, dma, size, to_device);
	srcu_read_unlock(&emu_dma_srcu, idx);
}

static void emu_dma_sync_for_cpu(struct device *dev, dma_addr_t dma, size_t size,
				 enum dma_data_direction dir)
{
	emu_dma_sync(dev, dma, size, dir, false);
}

static void emu_dma_sync_for_device(struct device *dev, dma_addr_t dma, size_t size,
				    enum dma_data_direction dir)
{
	emu_dma_sync(dev, dma, size, dir, true);
}

static void emu_dma_sync_sg_for_cpu(struct device *dev, struct scatterlist *sgl, int nents,
				    enum dma_data_direction dir)
{
	struct scatterlist *sg;
	int i;

	for_each_sg(sgl, sg, nents, i)
		emu_dma_sync(dev, sg_dma_address(sg), sg_dma_len(sg), dir, false);
}

static void emu_dma_sync_sg_for_device(struct device *dev, struct scatterlist *sgl, int nents,
				       enum dma_data_direction dir)
{
	struct scatterlist *sg;
	int i;

	for_each_sg(sgl, sg, nents, i)
		emu_dma_sync(dev, sg_dma_address(sg), sg_dma_len(sg), dir, true);
}

static void *emu_dma_alloc(struct device *dev, size_t size, dma_addr_t *dma, gfp_t gfp,
			   unsigned long attrs)
{
	struct page *page = alloc_pages(gfp | __GFP_ZERO, get_order(size));

	if (!page)
		return NULL;
	*dma = emu_dma_map(dev, page_to_phys(page), size, true);
	if (*dma == DMA_MAPPING_ERROR) {
		__free_pages(page, get_order(size));
		return NULL;
	}
	return page_address(page);
}

static void emu_dma_free(struct device *dev, size_t size, void *cpu, dma_addr_t dma,
			 unsigned long attrs)
{
	emu_dma_unmap(dev, dma, size, DMA_BIDIRECTIONAL, attrs);
	__free_pages(virt_to_page(cpu), get_order(size));
}

#ifdef EMU_HAVE_MAP_PHYS
static dma_addr_t emu_dma_map_phys(struct device *dev, phys_addr_t phys, size_t size,
				   enum dma_data_direction dir, unsigned long attrs)
{
	return emu_dma_map(dev, phys, size, false);
}
#else
static dma_addr_t emu_dma_map_page(struct device *dev, struct page *page, unsigned long offset,
				   size_t size, enum dma_data_direction dir, unsigned long attrs)
{
	return emu_dma_map(dev, page_to_phys(page) + offset, size, false);
}
#endif

static void emu_dma_unmap_sg(struct device *dev, struct scatterlist *sgl, int nents,
			     enum dma_data_direction dir, unsigned long attrs)
{
	struct scatterlist *sg;
	int i;

	for_each_sg(sgl, sg, nents, i)
		emu_dma_unmap(dev, sg_dma_address(sg), sg_dma_len(sg), dir, attrs);
}

static int emu_dma_map_sg(struct device *dev, struct scatterlist *sgl, int nents,
			  enum dma_data_direction dir, unsigned long attrs)
{
	struct scatterlist *sg;
	int i;

	for_each_sg(sgl, sg, nents, i) {
		sg_dma_address(sg) = emu_dma_map(dev, sg_phys(sg), sg->length, false);
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
	.unmap_phys = emu_dma_unmap,
#else
	.map_page = emu_dma_map_page,
	.unmap_page = emu_dma_unmap,
#endif
	.map_sg = emu_dma_map_sg,
	.unmap_sg = emu_dma_unmap_sg,
};

/* As above, with sync operations: without them the kernel skips all syncs. */
static const struct dma_map_ops emu_dma_noncoherent_ops = {
	.alloc = emu_dma_alloc,
	.free = emu_dma_free,
#ifdef EMU_HAVE_MAP_PHYS
	.map_phys = emu_dma_map_phys,
	.unmap_phys = emu_dma_unmap,
#else
	.map_page = emu_dma_map_page,
	.unmap_page = emu_dma_unmap,
#endif
	.map_sg = emu_dma_map_sg,
	.unmap_sg = emu_dma_unmap_sg,
	.max_mapping_size = emu_dma_max_size,
	.sync_single_for_cpu = emu_dma_sync_for_cpu,
	.sync_single_for_device = emu_dma_sync_for_device,
	.sync_sg_for_cpu = emu_dma_sync_sg_for_cpu,
	.sync_sg_for_device = emu_dma_sync_sg_for_device,
};

/**
 * emu_dma_ptr - memory as the device sees it
 * @emu: device
 * @pa: physical address, possibly with EMU_SHADOWED
 *
 * Return: pointer, which for a shadow is valid up to the end of the page only; NULL if the
 * shadow is gone.
 */
void *emu_dma_ptr(struct emu_device *emu, u64 pa)
{
	struct emu_shadow *shadow;

	if (!(pa & EMU_SHADOWED))
		return phys_to_virt(pa);
	shadow = xa_load(&emu->shadows, PHYS_PFN(pa & ~EMU_SHADOWED));
	return shadow ? shadow->memory + offset_in_page(pa) : NULL;
}
EXPORT_SYMBOL_IF_KUNIT(emu_dma_ptr);

/**
 * emu_dma_attach - track the DMA mappings of a device
 * @emu: emulated device
 * @dev: its device, to which no driver is bound yet
 */
void emu_dma_attach(struct emu_device *emu, struct device *dev)
{
	emu->dma_dev = get_device(dev);
	emu->knows_mapped = true;
	spin_lock(&emu_dma_lock);
	list_add_tail_rcu(&emu->dma_link, &emu_dma_list);
	spin_unlock(&emu_dma_lock);
	set_dma_ops(dev, emu->cfg.noncoherent ? &emu_dma_noncoherent_ops : &emu_dma_ops);
}
EXPORT_SYMBOL_IF_KUNIT(emu_dma_attach);

/**
 * emu_dma_detach - undo emu_dma_attach()
 * @emu: emulated device, whose platform device is gone
 *
 * Remaining mappings are unmapped later by the kernel's direct mapping, which uses the
 * same addresses and allocates coherent memory from the same allocator.
 */
void emu_dma_detach(struct emu_device *emu)
{
	struct emu_shadow *shadow;
	unsigned long pfn;

	if (emu->dma_dev) {
		set_dma_ops(emu->dma_dev, NULL);
		spin_lock(&emu_dma_lock);
		list_del_rcu(&emu->dma_link);
		spin_unlock(&emu_dma_lock);
		synchronize_srcu(&emu_dma_srcu);
		put_device(emu->dma_dev);
	}
	xa_for_each(&emu->shadows, pfn, shadow)
		emu_shadow_free(shadow);
	xa_destroy(&emu->shadows);
	xa_destroy(&emu->mapped);
}

#else /* !CONFIG_ARCH_HAS_DMA_OPS */

void *emu_dma_ptr(struct emu_device *emu, u64 pa)
{
	return pa & EMU_SHADOWED ? NULL : phys_to_virt(pa);
}
EXPORT_SYMBOL_IF_KUNIT(emu_dma_ptr);

void emu_dma_attach(struct emu_device *emu, struct device *dev)
{
}
EXPORT_SYMBOL_IF_KUNIT(emu_dma_attach);

void emu_dma_detach(struct emu_device *emu)
{
	xa_destroy(&emu->mapped);
}

#endif /* CONFIG_ARCH_HAS_DMA_OPS */

// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Memory accesses of tasks, and invalidation of TLB entries while engines run.
 *
 * An engine uses its TLB, and pointers obtained from it, only in a step, between
 * emu_step_begin() and emu_step_end(). The write of an invalidation command carries
 * it out at once for engines that are not in a step; otherwise it is carried out at
 * the end of the step, and UMA_REG_INVAL_STATUS is busy until then.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/mm.h>
#include <linux/string.h>

#include "emu_compat.h"
#include "emu_device.h"

/* Does an injected fault hit an access? It is consumed only with @use, when it is reported. */
static bool emu_mem_injected(struct emu_view *view, u64 addr, bool use)
{
	struct emu_inject *inject = &view->engine->emu->inject;
	u64 page = addr & ~((1ULL << UMA_PAGE_SHIFT) - 1);

	if (likely(!atomic_read(&inject->addr_armed)))
		return false;
	/* Read the range after addr_armed; pairs with the release in emu_fault_addr_write(). */
	smp_rmb();
	if (inject->addr_as >= 0 && inject->addr_as != view->as)
		return false;
	if (inject->addr_end <= page || inject->addr_start >= page + (1ULL << UMA_PAGE_SHIFT))
		return false;
	return !use || emu_inject_take(&inject->addr_armed);
}

static void emu_mem_suspect(struct emu_view *view, u64 va, const struct emu_xlate *old,
			    const struct emu_xlate *now, enum uma_fault fault)
{
	struct emu_engine *engine = view->engine;
	unsigned long flags;
	int i;

	spin_lock_irqsave(&engine->lock, flags);
	for (i = 0; i < EMU_SUSPECTS; i++) {
		struct emu_suspect *s = &engine->suspect[i];

		if (s->valid)
			continue;
		s->valid = true;
		s->as = view->as;
		s->va = va;
		s->old = *old;
		s->now = *now;
		s->fault = fault;
		break;
	}
	spin_unlock_irqrestore(&engine->lock, flags);
}

/**
 * emu_is_watched - are accesses checked for being to mapped memory?
 * @emu: device
 *
 * Engines may still access memory while a reset does not complete.
 *
 * Return: true in paranoid mode; during such a reset &emu_inject.watch_lost.
 */
bool emu_is_watched(const struct emu_device *emu)
{
	if (READ_ONCE(emu->resetting) && !READ_ONCE(emu->reset_queued))
		return READ_ONCE(emu->inject.watch_lost);
	return emu->cfg.paranoid;
}
EXPORT_SYMBOL_IF_KUNIT(emu_is_watched);

/**
 * emu_check_memory - check that memory is mapped for the device, before an access
 * @emu: device
 * @engine: engine that accesses it, NULL for the walker
 * @what: what the device uses the memory as, for the message
 * @as: address space
 * @va: device address
 * @pa: physical address
 *
 * Return: false, after an error message, if it is not mapped.
 */
bool emu_check_memory(struct emu_device *emu, const struct emu_engine *engine, const char *what,
		      u32 as, u64 va, u64 pa)
{
	if (emu_dma_owned(emu, pa))
		return true;
	atomic64_inc(&emu->freed);
	pr_err_ratelimited("freed memory: %s %s %d as %u va %#llx: %s at %#llx\n", emu_name(emu),
			   engine ? "engine" : "walker", engine ? (int)engine->index : 0, as, va,
			   what, pa);
	return false;
}

/* The tables of a walk, and the page that it found, have to be mapped for the device. */
static enum uma_fault emu_mem_watch(struct emu_engine *engine, u64 va,
				    const struct emu_trail *trail, const struct emu_xlate *x,
				    enum uma_fault fault)
{
	struct emu_device *emu = engine->emu;
	u32 as = engine->view.as, i;

	for (i = trail->first; i < trail->end; i++)
		if (!emu_check_memory(emu, engine, "table", as, va, trail->table[i]))
			return UMA_FAULT_BUS;
	if (!fault && !emu_check_memory(emu, engine, "page", as, va, emu_xlate_pa(x, va)))
		return UMA_FAULT_BUS;
	return fault;
}

static enum uma_fault emu_mem_page(struct emu_view *view, u64 addr,
				   enum uma_access access, struct emu_xlate *x)
{
	struct emu_engine *engine = view->engine;
	struct emu_device *emu = engine->emu;
	struct emu_trail trail = {};
	struct emu_xlate old = {};
	enum emu_tlb_state state;
	enum uma_fault fault;
	u64 root;

	*x = (struct emu_xlate) {};
	/* emu_vanish() waits for a step that is in progress, but not for later ones. */
	if (READ_ONCE(emu->gone))
		return UMA_FAULT_BUS;
	/* Written in two halves: the driver clears UMA_AS_ENABLE, in the low one, before that. */
	root = READ_ONCE(emu->as_root[view->as]);
	fault = emu_translate(&engine->tlb, view->as, root, addr, emu->cfg.paranoid,
			      x, &state, &old, &trail);
	if (state == EMU_TLB_DIFFERS)
		emu_mem_suspect(view, addr, &old, x, fault);

	if (emu_is_watched(emu))
		fault = emu_mem_watch(engine, addr, &trail, x, fault);

	if (!fault && access == UMA_ACCESS_WRITE && !x->write)
		fault = UMA_FAULT_WRITE;
	if (fault == UMA_FAULT_READ && access == UMA_ACCESS_WRITE)
		fault = UMA_FAULT_WRITE;
	return fault;
}

static void *emu_mem_fault(struct uma_mem *mem, enum uma_fault reason, u64 addr)
{
	mem->fault.reason = reason;
	mem->fault.slot = UMA_FAULT_NO_SLOT;
	mem->fault.addr = addr;
	mem->fault.field = "addr";
	return NULL;
}

static void *emu_mem_map(struct uma_mem *mem, u64 addr, u64 *len,
			 enum uma_access access)
{
	const u64 block = 1ULL << UMA_BLOCK_SHIFT;
	struct emu_view *view = container_of(mem, struct emu_view, mem);
	u64 want, got = 0, first = 0;
	void *ptr;

	/* A range ends at the end of the block, which bounds the time spent here. */
	want = min(*len, block - (addr & (block - 1)));

	do {
		struct emu_xlate x;
		enum uma_fault fault;
		u64 left;

		if (emu_mem_injected(view, addr + got, !got))
			fault = access == UMA_ACCESS_WRITE ? UMA_FAULT_WRITE : UMA_FAULT_READ;
		else
			fault = emu_mem_page(view, addr + got, access, &x);

		if (fault && !got)
			return emu_mem_fault(mem, fault, addr);
		/* Return what precedes the fault; the next call reports the fault. */
		if (fault)
			break;

		if (!got)
			first = emu_xlate_pa(&x, addr);
		else if (emu_xlate_pa(&x, addr + got) != first + got)
			break;

		left = (1ULL << x.shift) - ((addr + got) & ((1ULL << x.shift) - 1));
		got += min(left, want - got);
		/* Shadows of adjacent pages are not adjacent. */
		if (first & EMU_SHADOWED)
			got = min(got, PAGE_SIZE - offset_in_page(first));
	} while (got < want && !(first & EMU_SHADOWED));

	*len = got;
	ptr = emu_dma_ptr(view->engine->emu, first);
	/* NULL if the shadow was unmapped in the meantime. */
	return ptr ?: emu_mem_fault(mem, UMA_FAULT_BUS, addr);
}

static const struct uma_mem_ops emu_mem_ops = {
	.map = emu_mem_map,
};

/**
 * emu_view_init - set up the memory view of an engine
 * @view: view
 * @engine: engine
 */
void emu_view_init(struct emu_view *view, struct emu_engine *engine)
{
	memset(view, 0, sizeof(*view));
	view->mem.ops = &emu_mem_ops;
	view->engine = engine;
}

/**
 * emu_copy_from - copy from an address space
 * @view: view
 * @addr: device address
 * @to: buffer
 * @size: bytes
 *
 * Return: UMA_FAULT_NONE, or the reason, with @view->mem.fault set.
 */
u32 emu_copy_from(struct emu_view *view, u64 addr, void *to, u64 size)
{
	while (size) {
		u64 len = size;
		void *from;

		from = emu_mem_map(&view->mem, addr, &len, UMA_ACCESS_READ);
		if (!from)
			return view->mem.fault.reason;
		memcpy(to, from, len);
		to += len;
		addr += len;
		size -= len;
		view->mem.read_bytes += len;
	}
	return UMA_FAULT_NONE;
}

/**
 * emu_copy_to - copy into an address space
 * @view: view
 * @addr: device address
 * @from: buffer
 * @size: bytes
 *
 * Return: UMA_FAULT_NONE, or the reason, with @view->mem.fault set.
 */
u32 emu_copy_to(struct emu_view *view, u64 addr, const void *from, u64 size)
{
	while (size) {
		u64 len = size;
		void *to;

		to = emu_mem_map(&view->mem, addr, &len, UMA_ACCESS_WRITE);
		if (!to)
			return view->mem.fault.reason;
		memcpy(to, from, len);
		from += len;
		addr += len;
		size -= len;
		view->mem.write_bytes += len;
	}
	return UMA_FAULT_NONE;
}

/**
 * emu_step_begin - begin a step, in which the engine may use its TLB
 * @engine: engine, in its worker
 */
void emu_step_begin(struct emu_engine *engine)
{
	unsigned long flags;

	spin_lock_irqsave(&engine->lock, flags);
	engine->in_step = true;
	spin_unlock_irqrestore(&engine->lock, flags);
}

static void emu_engine_inval(struct emu_engine *engine, const struct emu_inval *inv)
{
	int i;

	lockdep_assert_held(&engine->lock);

	emu_tlb_inval(&engine->tlb, inv);
	for (i = 0; i < EMU_SUSPECTS; i++) {
		struct emu_suspect *s = &engine->suspect[i];
		u64 va = s->va & ~((1ULL << s->old.shift) - 1);

		if (s->valid && emu_inval_covers(inv, s->as, va, s->old.shift))
			s->valid = false;
	}
}

/**
 * emu_step_end - end a step, and carry out the invalidations that wait for it
 * @engine: engine, in its worker
 */
void emu_step_end(struct emu_engine *engine)
{
	struct uma_mem *mem = &engine->view.mem;
	unsigned long flags;
	bool done = false;

	spin_lock_irqsave(&engine->lock, flags);
	engine->in_step = false;
	if (engine->inval_pending) {
		emu_engine_inval(engine, &engine->inval);
		engine->inval_pending = false;
		done = true;
	}
	if (engine->flush_pending) {
		emu_tlb_flush(&engine->tlb);
		engine->flush_pending = false;
	}
	engine->cnt[UMA_CNT_READ_BYTES] += mem->read_bytes;
	engine->cnt[UMA_CNT_WRITE_BYTES] += mem->write_bytes;
	engine->cnt[UMA_CNT_TLB_MISSES] += engine->tlb.misses - engine->misses_seen;
	engine->misses_seen = engine->tlb.misses;
	mem->read_bytes = 0;
	mem->write_bytes = 0;
	spin_unlock_irqrestore(&engine->lock, flags);

	if (done)
		atomic_dec_return_release(&engine->emu->inval_busy);
	if (READ_ONCE(engine->emu->gone))
		wake_up(&engine->emu->idle);
}

/**
 * emu_invalidate - start an invalidation command
 * @emu: device, locked
 * @cmd: UMA_INVAL_*
 *
 * Only one command can be in progress: one that is written while another is busy
 * is ignored. Drivers must not do that.
 */
void emu_invalidate(struct emu_device *emu, u32 cmd)
{
	struct emu_inval inv = {
		.as = emu->inval_as,
		.all = cmd == UMA_INVAL_AS,
		.start = emu->inval_start,
	};
	u32 i;

	lockdep_assert_held(&emu->lock);

	if ((cmd != UMA_INVAL_RANGE && cmd != UMA_INVAL_AS) ||
	    inv.as >= emu->cfg.address_spaces)
		return;
	/* A range that wraps covers all addresses from its start. */
	if (check_add_overflow(inv.start, emu->inval_size, &inv.end))
		inv.end = U64_MAX;

	if (atomic_read_acquire(&emu->inval_busy)) {
		emu->inval_ignored++;
		if (emu->cfg.paranoid)
			pr_err_ratelimited("invalidation ignored: %s as %u: one is busy\n",
					   emu_name(emu), inv.as);
		return;
	}
	emu->inval_count++;
	if (emu_walker_inval(emu, inv.as))
		atomic_inc(&emu->inval_busy);
	if (emu_inject_take(&emu->inject.lose_inval))
		return;

	for (i = 0; i < emu->engine_count; i++) {
		struct emu_engine *engine = &emu->engines[i];
		unsigned long flags;

		spin_lock_irqsave(&engine->lock, flags);
		if (engine->in_step && engine->view.as != inv.as) {
			/* The step uses another address space, so nothing waits for its end. */
			engine->flush_pending = true;
		} else if (engine->in_step) {
			engine->inval = inv;
			engine->inval_pending = true;
			atomic_inc(&emu->inval_busy);
		} else {
			emu_engine_inval(engine, &inv);
		}
		spin_unlock_irqrestore(&engine->lock, flags);
		wake_up(&engine->wait);
	}
}

static struct emu_suspect *emu_first_suspect(struct emu_engine *engine)
{
	int i;

	for (i = 0; i < EMU_SUSPECTS; i++)
		if (READ_ONCE(engine->suspect[i].valid))
			return &engine->suspect[i];
	return NULL;
}

/* During a reset the device ignores invalidations, so there is none to wait for. */
static bool emu_suspects_settled(struct emu_engine *engine)
{
	return !emu_first_suspect(engine) || emu_engine_poll_abort(engine) ||
	       READ_ONCE(engine->emu->resetting);
}

static const char *emu_xlate_text(char *buf, size_t size, const struct emu_xlate *x,
				  enum uma_fault fault)
{
	if (fault)
		snprintf(buf, size, "nothing (%s)", uma_fault_name(fault));
	else
		snprintf(buf, size, "%#llx/%u %s", x->pa, x->shift, x->write ? "rw" : "ro");
	return buf;
}

/**
 * emu_step_suspect - wait for the driver to invalidate entries that differed in the step
 * @engine: engine, in its worker, not in a step
 * @fault: out: set if an entry is stale
 *
 * Return: true if the job has to fault with UMA_FAULT_STALE.
 */
bool emu_step_suspect(struct emu_engine *engine, struct uma_fault_info *fault)
{
	struct emu_device *emu = engine->emu;
	char was[40], is[40];
	struct emu_suspect *s, copy;
	unsigned long flags;

	if (likely(!emu_first_suspect(engine)))
		return false;

	emu_engine_stall(engine, true);
	wait_event_idle_timeout(engine->wait, emu_suspects_settled(engine),
				msecs_to_jiffies(emu->cfg.stale_ms));
	emu_engine_stall(engine, false);

	spin_lock_irqsave(&engine->lock, flags);
	s = emu_first_suspect(engine);
	if (s)
		copy = *s;
	memset(engine->suspect, 0, sizeof(engine->suspect));
	spin_unlock_irqrestore(&engine->lock, flags);
	/* After a reset or a removal it is not known whether the driver would have done so. */
	if (!s || emu_engine_poll_abort(engine) || READ_ONCE(emu->resetting))
		return false;

	pr_err("stale TLB entry: %s engine %u as %u va %#llx: TLB has %s, page table %s\n",
	       emu_name(emu), engine->index, copy.as, copy.va,
	       emu_xlate_text(was, sizeof(was), &copy.old, UMA_FAULT_NONE),
	       emu_xlate_text(is, sizeof(is), &copy.now, copy.fault));
	emu_raise_status(emu, UMA_DEV_STALE_TLB);

	fault->reason = UMA_FAULT_STALE;
	fault->slot = UMA_FAULT_NO_SLOT;
	fault->addr = copy.va;
	fault->field = "tlb";
	return true;
}

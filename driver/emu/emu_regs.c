// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The register file. Called by regmap with interrupts off, from any context.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/string.h>
#include <linux/timekeeping.h>

#include "emu_compat.h"
#include "emu_device.h"

#define EMU_TIMESTAMP_HZ	1000000000

/**
 * emu_now - the device's time
 *
 * Return: CLOCK_MONOTONIC in nanoseconds.
 */
u64 emu_now(void)
{
	return ktime_get_ns();
}

/**
 * emu_inject_take - consume an injected fault
 * @count: number of faults left
 *
 * Return: true if there was one left.
 */
bool emu_inject_take(atomic_t *count)
{
	return unlikely(atomic_read(count)) && atomic_dec_if_positive(count) >= 0;
}
EXPORT_SYMBOL_IF_KUNIT(emu_inject_take);

/**
 * emu_raise_status - report a device-wide error
 * @emu: device
 * @status: UMA_DEV_ERROR or UMA_DEV_STALE_TLB
 */
void emu_raise_status(struct emu_device *emu, u32 status)
{
	unsigned long flags;

	spin_lock_irqsave(&emu->lock, flags);
	emu->status |= status;
	spin_unlock_irqrestore(&emu->lock, flags);
	emu_irq_raise(&emu->irq, UMA_IRQ_ERROR);
	emu_engines_wake(emu);
}
EXPORT_SYMBOL_IF_KUNIT(emu_raise_status);

/**
 * emu_regs_reset - reset the device-wide registers
 * @emu: device
 */
void emu_regs_reset(struct emu_device *emu)
{
	unsigned long flags;

	spin_lock_irqsave(&emu->lock, flags);
	memset(emu->as_root, 0, sizeof(emu->as_root));
	emu->inval_as = 0;
	emu->inval_start = 0;
	emu->inval_size = 0;
	emu->status = 0;
	WRITE_ONCE(emu->power.fading, false);
	emu->reset_queued = false;
	emu->resetting = false;
	spin_unlock_irqrestore(&emu->lock, flags);
}

static void emu_set_lo(u64 *reg, u32 val)
{
	WRITE_ONCE(*reg, (*reg & ~(u64)U32_MAX) | val);
}

static void emu_set_hi(u64 *reg, u32 val)
{
	WRITE_ONCE(*reg, (*reg & U32_MAX) | (u64)val << 32);
}

static u32 emu_profile_word(struct emu_device *emu, u32 index)
{
	char name[32] = {};

	strscpy(name, emu->profile->name, sizeof(name));
	return le32_to_cpup((const __le32 *)(name + index * 4));
}

static u32 emu_dev_status(struct emu_device *emu)
{
	return emu->status | (emu->resetting ? 0 : UMA_DEV_READY);
}

static u32 emu_read_ident(struct emu_device *emu, u32 reg)
{
	switch (reg) {
	case UMA_REG_MAGIC:
		return UMA_MAGIC;
	case UMA_REG_VERSION:
		return UMA_HW_VERSION;
	case UMA_REG_FEATURES:
		return UMA_FEATURE_EMULATED | UMA_FEATURE_MODELLED_POWER | UMA_FEATURE_INVAL |
		       (emu->cfg.noncoherent ? 0 : UMA_FEATURE_COHERENT) |
		       (emu->cfg.preempt ? UMA_FEATURE_PREEMPT : 0) |
		       (emu_has_tiles(emu) ? UMA_FEATURE_TILES : 0);
	case UMA_REG_ENGINE_COUNT:
		return emu->engine_count;
	case UMA_REG_AS_COUNT:
		return emu->cfg.address_spaces;
	case UMA_REG_VA_BITS:
		return EMU_VA_BITS;
	case UMA_REG_TASK_VERSION:
		return UMA_TASK_VERSION;
	case UMA_REG_NODE_COUNT:
		return emu->profile->node_count;
	case UMA_REG_PROFILE ... UMA_REG_PROFILE + 31:
		return emu_profile_word(emu, (reg - UMA_REG_PROFILE) / 4);
	case UMA_REG_TIMESTAMP_HZ:
		return EMU_TIMESTAMP_HZ;
	case UMA_REG_ENG_RESET_MS:
	case UMA_REG_PWR_MS:
		return emu->cfg.reset_ms;
	case UMA_REG_DEV_RESET_MS:
		return 2 * emu->cfg.reset_ms;
	default:
		return 0;
	}
}

static u32 emu_read_node(struct emu_device *emu, u32 reg)
{
	u32 node = (reg - UMA_REG_NODE(0)) / 0x10;

	if (node >= emu->profile->node_count)
		return 0;
	switch (reg & 0xf) {
	case UMA_NODE_SIZE_LO:
		return lower_32_bits(emu->cfg.memory);
	case UMA_NODE_SIZE_HI:
		return upper_32_bits(emu->cfg.memory);
	case UMA_NODE_BANDWIDTH_MBS:
		return emu->profile->node_bandwidth_mbs[node];
	default:
		return 0;
	}
}

static u32 emu_read_device(struct emu_device *emu, u32 reg)
{
	u32 val = 0, as;
	unsigned long flags;
	u64 wide;

	spin_lock_irqsave(&emu->lock, flags);
	switch (reg) {
	case UMA_REG_TIMESTAMP_LO:
		wide = emu_now();
		emu->ts_hi = upper_32_bits(wide);
		val = lower_32_bits(wide);
		break;
	case UMA_REG_TIMESTAMP_HI:
		val = emu->ts_hi;
		break;
	case UMA_REG_DEV_CTRL:
		val = emu->resetting ? UMA_DEV_RESET : 0;
		break;
	case UMA_REG_DEV_STATUS:
		val = emu_dev_status(emu);
		break;
	case UMA_REG_INVAL_AS:
		val = emu->inval_as;
		break;
	case UMA_REG_INVAL_START_LO:
		val = lower_32_bits(emu->inval_start);
		break;
	case UMA_REG_INVAL_START_HI:
		val = upper_32_bits(emu->inval_start);
		break;
	case UMA_REG_INVAL_SIZE_LO:
		val = lower_32_bits(emu->inval_size);
		break;
	case UMA_REG_INVAL_SIZE_HI:
		val = upper_32_bits(emu->inval_size);
		break;
	case UMA_REG_INVAL_STATUS:
		val = atomic_read_acquire(&emu->inval_busy) ? UMA_INVAL_BUSY : 0;
		break;
	case UMA_REG_AS_ROOT_LO(0) ... UMA_REG_AS_ROOT_HI(UMA_MAX_AS - 1):
		as = (reg - UMA_REG_AS_ROOT_LO(0)) / 8;
		val = reg & 4 ? upper_32_bits(emu->as_root[as]) : lower_32_bits(emu->as_root[as]);
		break;
	default:
		if (reg >= UMA_REG_NODE(0) && reg < UMA_REG_NODE(UMA_MAX_NODES))
			val = emu_read_node(emu, reg);
		else
			val = emu_read_ident(emu, reg);
		break;
	}
	spin_unlock_irqrestore(&emu->lock, flags);
	return val;
}

static u64 emu_engine_counter(struct emu_engine *engine, u32 c)
{
	u64 val = engine->cnt[c], now = emu_now();

	if (c == UMA_CNT_BUSY_NS && engine->busy_since && now > engine->busy_since)
		val += now - engine->busy_since;
	if (c == UMA_CNT_STALL_NS && engine->stall_since && now > engine->stall_since)
		val += now - engine->stall_since;
	return val;
}

static u32 emu_read_counter(struct emu_engine *engine, u32 reg)
{
	u32 c = (reg - UMA_ENG_COUNTER(0)) / 8;
	u64 val;

	if (reg & 4)
		return engine->cnt_hi[c];
	val = emu_engine_counter(engine, c);
	engine->cnt_hi[c] = upper_32_bits(val);
	return lower_32_bits(val);
}

static u32 emu_read_caps(struct emu_engine *engine, u32 reg)
{
	const __le32 *words = (const __le32 *)engine->desc->caps;
	u32 index = (reg - UMA_ENG_CAPS) / 4;

	if (index >= engine->desc->cap_count * (sizeof(struct uma_op_cap) / 4))
		return 0;
	return le32_to_cpu(words[index]);
}

static u32 emu_read_engine_desc(struct emu_engine *engine, u32 reg)
{
	const struct uma_engine_desc *desc = engine->desc;

	switch (reg) {
	case UMA_ENG_CLASS:
		return desc->engine_class;
	case UMA_ENG_INSTANCE:
		return desc->instance;
	case UMA_ENG_FLAGS:
		return emu_engine_flags(engine);
	case UMA_ENG_NODE:
		return desc->node;
	case UMA_ENG_CLOCK_MAX_MHZ:
		return desc->clock_max_mhz;
	case UMA_ENG_MAX_JOB_TASKS:
		return desc->max_job_tasks;
	case UMA_ENG_RING_MAX:
		return engine->emu->cfg.ring_order;
	case UMA_ENG_CAP_COUNT:
		return desc->cap_count;
	default:
		return 0;
	}
}

static u32 emu_read_fault(const struct emu_engine *engine, u32 reg)
{
	const struct emu_fault *fault = &engine->fault;

	if (!engine->halted)
		return 0;
	switch (reg) {
	case UMA_ENG_FAULT_REASON:
		return fault->reason;
	case UMA_ENG_FAULT_SLOT:
		return fault->slot;
	case UMA_ENG_FAULT_AS:
		return fault->as;
	case UMA_ENG_FAULT_ADDR_LO:
		return lower_32_bits(fault->addr);
	case UMA_ENG_FAULT_ADDR_HI:
		return upper_32_bits(fault->addr);
	case UMA_ENG_FAULT_SEQNO_LO:
		return lower_32_bits(fault->seqno);
	case UMA_ENG_FAULT_SEQNO_HI:
		return upper_32_bits(fault->seqno);
	default:
		return 0;
	}
}

static u32 emu_read_engine(struct emu_engine *engine, u32 reg)
{
	unsigned long flags;
	u32 val = 0;

	spin_lock_irqsave(&engine->lock, flags);
	switch (reg) {
	case UMA_ENG_RING_BASE_LO:
		val = lower_32_bits(engine->ring_base);
		break;
	case UMA_ENG_RING_BASE_HI:
		val = upper_32_bits(engine->ring_base);
		break;
	case UMA_ENG_RECORD_BASE_LO:
		val = lower_32_bits(engine->record_base);
		break;
	case UMA_ENG_RECORD_BASE_HI:
		val = upper_32_bits(engine->record_base);
		break;
	case UMA_ENG_RING_ORDER:
		val = engine->order;
		break;
	case UMA_ENG_RING_TAIL:
		val = engine->tail;
		break;
	case UMA_ENG_RING_HEAD:
		val = engine->head;
		break;
	case UMA_ENG_CTRL:
		val = (engine->enabled ? UMA_ENG_ENABLE : 0) |
		      (engine->resetting ? UMA_ENG_RESET : 0);
		break;
	case UMA_ENG_STATUS:
		val = (engine->busy ? UMA_ENG_BUSY : 0) | (engine->halted ? UMA_ENG_HALTED : 0) |
		      (engine->inval_pending ? UMA_ENG_INVAL : 0);
		break;
	case UMA_ENG_TASK_INDEX:
		val = engine->task_index;
		break;
	case UMA_ENG_PREEMPT_LO:
		val = lower_32_bits(engine->preempt);
		break;
	case UMA_ENG_PREEMPT_HI:
		val = upper_32_bits(engine->preempt);
		break;
	case UMA_ENG_FAULT_REASON ... UMA_ENG_FAULT_SEQNO_HI:
		val = emu_read_fault(engine, reg);
		break;
	case UMA_ENG_COUNTER(0) ... UMA_ENG_COUNTER(UMA_MAX_COUNTERS) - 4:
		val = emu_read_counter(engine, reg);
		break;
	default:
		if (reg >= UMA_ENG_CAPS)
			val = emu_read_caps(engine, reg);
		else
			val = emu_read_engine_desc(engine, reg);
		break;
	}
	spin_unlock_irqrestore(&engine->lock, flags);
	return val;
}

static struct emu_engine *emu_engine_at(struct emu_device *emu, u32 reg)
{
	u32 index = (reg - UMA_REG_ENGINE(0)) / 0x1000;

	return index < emu->engine_count ? &emu->engines[index] : NULL;
}

/**
 * emu_reg_read - read a register
 * @context: device
 * @reg: offset in bytes
 * @val: out: value, 0 for a register that does not exist
 *
 * Return: 0.
 */
int emu_reg_read(void *context, unsigned int reg, unsigned int *val)
{
	struct emu_device *emu = context;
	struct emu_engine *engine;
	u64 wide;

	/* Reads from removed hardware return all ones. */
	if (READ_ONCE(emu->gone)) {
		*val = U32_MAX;
		return 0;
	}

	if (reg >= UMA_REG_ENGINE(0)) {
		engine = emu_engine_at(emu, reg);
		*val = engine ? emu_read_engine(engine, reg & 0xfff) : 0;
		return 0;
	}

	switch (reg) {
	case UMA_REG_IRQ_STATUS:
		*val = READ_ONCE(emu->irq.status);
		break;
	case UMA_REG_IRQ_ENABLE:
		*val = READ_ONCE(emu->irq.enable);
		break;
	case UMA_REG_PWR_CTRL ... UMA_REG_POWER_MW:
		*val = emu_power_read(emu, reg);
		break;
	case UMA_REG_ENERGY_UJ_LO:
		wide = emu_power_energy_uj(emu);
		emu->energy_hi = upper_32_bits(wide);
		*val = lower_32_bits(wide);
		break;
	case UMA_REG_ENERGY_UJ_HI:
		*val = emu->energy_hi;
		break;
	default:
		*val = emu_read_device(emu, reg);
		break;
	}
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(emu_reg_read);

/* Copy the entries at the doorbell: the device does not see later writes to them. */
static void emu_engine_post(struct emu_engine *engine, u32 tail)
{
	u32 i, count = min(tail - engine->tail, 1u << engine->order);

	lockdep_assert_held(&engine->lock);

	for (i = engine->tail; engine->posted && count--; i++)
		emu_ring_fetch(engine->ring_base, engine->order, i,
			       &engine->posted[i & ((1u << engine->order) - 1)]);
}

static void emu_write_engine(struct emu_engine *engine, u32 reg, u32 val)
{
	unsigned long flags;
	bool set_up;

	/* Writes without power have no effect. */
	if (!READ_ONCE(engine->emu->power.on))
		return;
	if (reg == UMA_ENG_CTRL) {
		emu_engine_ctrl(engine, val);
		return;
	}

	spin_lock_irqsave(&engine->lock, flags);
	/* Not while the engine is enabled, nor while its last job is stopping. */
	set_up = !engine->enabled && !engine->busy;
	switch (reg) {
	case UMA_ENG_RING_BASE_LO:
		if (set_up)
			emu_set_lo(&engine->ring_base, val);
		break;
	case UMA_ENG_RING_BASE_HI:
		if (set_up)
			emu_set_hi(&engine->ring_base, val);
		break;
	case UMA_ENG_RECORD_BASE_LO:
		if (set_up)
			emu_set_lo(&engine->record_base, val);
		break;
	case UMA_ENG_RECORD_BASE_HI:
		if (set_up)
			emu_set_hi(&engine->record_base, val);
		break;
	case UMA_ENG_RING_ORDER:
		if (set_up && val <= engine->emu->cfg.ring_order)
			engine->order = val;
		break;
	case UMA_ENG_RING_TAIL:
		if (engine->enabled) {
			emu_engine_post(engine, val);
			engine->tail = val;
		}
		break;
	case UMA_ENG_PREEMPT_LO:
		if (engine->emu->cfg.preempt)
			emu_set_lo(&engine->preempt, val);
		break;
	case UMA_ENG_PREEMPT_HI:
		if (engine->emu->cfg.preempt)
			emu_set_hi(&engine->preempt, val);
		break;
	}
	spin_unlock_irqrestore(&engine->lock, flags);

	if (reg == UMA_ENG_RING_TAIL)
		wake_up(&engine->wait);
}

/* If it is enabled, a walk between the writes of its halves uses a mix of the old and new root. */
static void emu_write_root(struct emu_device *emu, u32 as, bool high, u32 val)
{
	u64 *root = &emu->as_root[as];

	lockdep_assert_held(&emu->lock);

	if (!high) {
		emu_set_lo(root, val);
		return;
	}
	if (*root & UMA_AS_ENABLE) {
		emu->roots_torn++;
		if (emu->cfg.paranoid)
			pr_err_ratelimited("torn root: %s as %u: it is enabled\n",
					   emu_name(emu), as);
	}
	emu_set_hi(root, val);
}

static void emu_write_device(struct emu_device *emu, u32 reg, u32 val)
{
	unsigned long flags;
	u32 as;

	if (!READ_ONCE(emu->power.on))
		return;
	spin_lock_irqsave(&emu->lock, flags);
	switch (reg) {
	case UMA_REG_INVAL_AS:
		emu->inval_as = val;
		break;
	case UMA_REG_INVAL_START_LO:
		emu_set_lo(&emu->inval_start, val);
		break;
	case UMA_REG_INVAL_START_HI:
		emu_set_hi(&emu->inval_start, val);
		break;
	case UMA_REG_INVAL_SIZE_LO:
		emu_set_lo(&emu->inval_size, val);
		break;
	case UMA_REG_INVAL_SIZE_HI:
		emu_set_hi(&emu->inval_size, val);
		break;
	case UMA_REG_INVAL_CMD:
		emu_invalidate(emu, val);
		break;
	case UMA_REG_AS_ROOT_LO(0) ... UMA_REG_AS_ROOT_HI(UMA_MAX_AS - 1):
		as = (reg - UMA_REG_AS_ROOT_LO(0)) / 8;
		if (as >= emu->cfg.address_spaces)
			break;
		emu_write_root(emu, as, reg & 4, val);
		wake_up(&emu->walker.wait);
		break;
	}
	spin_unlock_irqrestore(&emu->lock, flags);
}

/**
 * emu_reg_write - write a register
 * @context: device
 * @reg: offset in bytes
 * @val: value
 *
 * Return: 0.
 */
int emu_reg_write(void *context, unsigned int reg, unsigned int val)
{
	struct emu_device *emu = context;
	struct emu_engine *engine;

	if (READ_ONCE(emu->gone))
		return 0;
	if (reg == UMA_REG_DEV_CTRL) {
		if (val & UMA_DEV_RESET)
			emu_device_reset(emu);
		return 0;
	}
	if (READ_ONCE(emu->resetting))
		return 0;

	if (reg >= UMA_REG_ENGINE(0)) {
		engine = emu_engine_at(emu, reg);
		if (engine)
			emu_write_engine(engine, reg & 0xfff, val);
		return 0;
	}

	switch (reg) {
	case UMA_REG_IRQ_STATUS:
		emu_irq_ack(&emu->irq, val);
		break;
	case UMA_REG_IRQ_ENABLE:
		emu_irq_enable(&emu->irq, val);
		break;
	case UMA_REG_PWR_CTRL:
		emu_power_switch(emu, val & UMA_PWR_ON);
		break;
	case UMA_REG_CLOCK_CAP_MHZ:
		emu_power_cap(emu, val);
		break;
	default:
		emu_write_device(emu, reg, val);
		break;
	}
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(emu_reg_write);

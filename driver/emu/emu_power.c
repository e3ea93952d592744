// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Modelled clock, temperature, power and energy.
 *
 * Power is the profile's idle power plus that of each engine, in proportion to its
 * busy time and to the square of its clock. Temperature follows power through one
 * thermal resistance and one time constant. Nothing here is measured, which
 * UMA_FEATURE_MODELLED_POWER reports.
 */
#include <linux/math64.h>
#include <linux/minmax.h>

#include "emu_compat.h"
#include "emu_device.h"

#define EMU_AMBIENT_MC		30000
/* Sustained full load would end this far above the limit, so that the chip throttles */
#define EMU_OVERHEAT_MC		8000
#define EMU_TAU_NS		(12 * (u64)NSEC_PER_SEC)
/* Throttling ends this far below the limit */
#define EMU_HYSTERESIS_MC	4000
#define EMU_UPDATE_NS		(1 * (u64)NSEC_PER_MSEC)
#define EMU_PERIOD_MS		100

/**
 * emu_thermal_step - temperature after some time
 * @temp_uc: current temperature, in microdegrees so that short steps do not round to 0
 * @target_uc: temperature that it approaches
 * @dt_ns: the time
 * @tau_ns: time constant
 *
 * Return: microdegrees Celsius.
 */
s64 emu_thermal_step(s64 temp_uc, s64 target_uc, u64 dt_ns, u64 tau_ns)
{
	u64 slice = div_u64(tau_ns, 64);
	s64 diff = temp_uc - target_uc;

	if (dt_ns >= tau_ns * 12)
		return target_uc;
	while (dt_ns) {
		u64 dt = min(dt_ns, slice);

		diff -= div64_s64(diff * (s64)div_u64(dt, 1000), (s64)div_u64(tau_ns, 1000));
		dt_ns -= dt;
	}
	return target_uc + diff;
}
EXPORT_SYMBOL_IF_KUNIT(emu_thermal_step);

static s64 emu_power_target(struct emu_device *emu, u32 mw)
{
	s64 span = (s64)emu->profile->temp_max_mc + EMU_OVERHEAT_MC - EMU_AMBIENT_MC;

	return EMU_AMBIENT_MC * 1000LL + div_s64(span * 1000 * mw, emu->power.full_mw ?: 1);
}

static s32 emu_power_temp_mc(struct emu_device *emu)
{
	return div_s64(READ_ONCE(emu->power.temp_uc), 1000);
}

static void emu_power_clock(struct emu_device *emu)
{
	struct emu_power *power = &emu->power;
	u32 limit = clamp(power->clock_cap, power->clock_min, power->clock_max);

	/* A throttled chip runs at most at the middle of its range. */
	if (power->throttled)
		limit = min(limit, (power->clock_min + power->clock_max) / 2);
	WRITE_ONCE(power->clock, limit);
}

/**
 * emu_power_engine_mhz - clock of an engine
 * @emu: device
 * @desc: engine
 *
 * Return: current clock in MHz.
 */
u32 emu_power_engine_mhz(const struct emu_device *emu, const struct uma_engine_desc *desc)
{
	return div_u64((u64)desc->clock_max_mhz * READ_ONCE(emu->power.clock),
		       emu->power.clock_max);
}

static void emu_power_throttle(struct emu_device *emu)
{
	struct emu_power *power = &emu->power;
	s32 max = emu->profile->temp_max_mc, temp = emu_power_temp_mc(emu);
	bool throttled = power->throttled;

	if (temp >= max)
		throttled = true;
	else if (temp < max - EMU_HYSTERESIS_MC)
		throttled = false;
	if (power->forced)
		throttled = true;

	if (throttled != power->throttled) {
		power->throttled = throttled;
		emu_irq_raise(&emu->irq, UMA_IRQ_THERMAL);
	}
	emu_power_clock(emu);
}

static void emu_power_account(struct emu_device *emu, bool force)
{
	struct emu_power *power = &emu->power;
	u64 now = emu_now(), dt = now - power->updated, spent;
	u32 share, i;

	lockdep_assert_held(&power->lock);

	if (!dt || (dt < EMU_UPDATE_NS && !force))
		return;

	/* mW times ns is pJ. */
	spent = power->on ? emu->profile->idle_mw * dt : 0;
	share = div_u64((u64)power->clock * 1000, power->clock_max);
	for (i = 0; i < emu->engine_count; i++) {
		struct emu_engine *engine = &emu->engines[i];
		u64 busy = emu_engine_busy_ns(engine, now);
		u64 delta = busy - power->busy_seen[i];

		power->busy_seen[i] = busy;
		spent += div_u64(delta * engine->desc->power_mw, 1000000) * share * share;
	}

	power->energy_pj += spent;
	power->mw = div64_u64(spent, dt);
	WRITE_ONCE(power->temp_uc, emu_thermal_step(power->temp_uc,
						    emu_power_target(emu, power->mw),
						    dt, EMU_TAU_NS));
	power->updated = now;
	emu_power_throttle(emu);
}

/**
 * emu_power_update - bring the model up to date
 * @emu: device
 */
void emu_power_update(struct emu_device *emu)
{
	unsigned long flags;

	spin_lock_irqsave(&emu->power.lock, flags);
	emu_power_account(emu, false);
	spin_unlock_irqrestore(&emu->power.lock, flags);
}

static bool emu_power_restless(struct emu_device *emu)
{
	u32 i;

	if (READ_ONCE(emu->power.throttled) ||
	    emu_power_temp_mc(emu) > (s32)emu->profile->temp_max_mc - EMU_HYSTERESIS_MC)
		return true;
	for (i = 0; i < emu->engine_count; i++)
		if (READ_ONCE(emu->engines[i].busy))
			return true;
	return false;
}

/* Checks the temperature limits while engines run or the chip is hot. */
static void emu_power_work(struct work_struct *work)
{
	struct emu_device *emu = container_of(work, struct emu_device, power.work.work);

	emu_power_update(emu);
	if (emu_power_restless(emu))
		queue_delayed_work(emu->wq, &emu->power.work, msecs_to_jiffies(EMU_PERIOD_MS));
}

/**
 * emu_power_kick - start the periodic updates
 * @emu: device
 */
void emu_power_kick(struct emu_device *emu)
{
	queue_delayed_work(emu->wq, &emu->power.work, msecs_to_jiffies(EMU_PERIOD_MS));
}

/**
 * emu_power_init - set the model up
 * @emu: device with its profile and workqueue
 */
void emu_power_init(struct emu_device *emu)
{
	struct emu_power *power = &emu->power;
	u32 i;

	spin_lock_init(&power->lock);
	INIT_DELAYED_WORK(&power->work, emu_power_work);

	power->clock_min = U32_MAX;
	power->full_mw = emu->profile->idle_mw;
	for (i = 0; i < emu->profile->engine_count; i++) {
		const struct uma_engine_desc *desc = &emu->profile->engines[i];

		power->clock_max = max(power->clock_max, desc->clock_max_mhz);
		power->clock_min = min(power->clock_min, desc->clock_min_mhz);
		power->full_mw += desc->power_mw;
	}
	power->clock_max = power->clock_max ?: 1;
	power->clock_min = clamp(power->clock_min, 1u, power->clock_max);
	power->clock_cap = power->clock_max;
	power->clock = power->clock_max;
	power->temp_uc = EMU_AMBIENT_MC * 1000LL;
	power->updated = emu_now();
}

/**
 * emu_power_fini - stop the periodic updates
 * @emu: device whose engines have stopped
 */
void emu_power_fini(struct emu_device *emu)
{
	cancel_delayed_work_sync(&emu->power.work);
}

/**
 * emu_power_reset - reset all but the temperature, for a device reset
 * @emu: device
 */
void emu_power_reset(struct emu_device *emu)
{
	struct emu_power *power = &emu->power;
	unsigned long flags;

	spin_lock_irqsave(&power->lock, flags);
	emu_power_account(emu, true);
	WRITE_ONCE(power->on, false);
	power->clock_cap = power->clock_max;
	power->energy_pj = 0;
	emu_power_clock(emu);
	spin_unlock_irqrestore(&power->lock, flags);
}

/**
 * emu_power_switch - handle a write of UMA_REG_PWR_CTRL
 * @emu: device
 * @on: switch on or off
 *
 * A power-off that is in progress cannot be cancelled.
 */
void emu_power_switch(struct emu_device *emu, bool on)
{
	struct emu_power *power = &emu->power;
	unsigned long flags;

	spin_lock_irqsave(&power->lock, flags);
	if (on == power->on || READ_ONCE(power->fading) ||
	    (!on && emu_inject_take(&emu->inject.fail_power)))
		goto out;
	emu_power_account(emu, true);
	WRITE_ONCE(power->on, on);
	if (!on) {
		spin_lock(&emu->lock);
		emu_engines_power_off(emu);
		spin_unlock(&emu->lock);
	}
out:
	spin_unlock_irqrestore(&power->lock, flags);
	emu_engines_wake(emu);
}

/**
 * emu_power_cap - handle a write of UMA_REG_CLOCK_CAP_MHZ
 * @emu: device
 * @mhz: limit, which is clamped to the chip's range
 */
void emu_power_cap(struct emu_device *emu, u32 mhz)
{
	struct emu_power *power = &emu->power;
	unsigned long flags;

	spin_lock_irqsave(&power->lock, flags);
	emu_power_account(emu, true);
	power->clock_cap = clamp(mhz, power->clock_min, power->clock_max);
	emu_power_clock(emu);
	spin_unlock_irqrestore(&power->lock, flags);
}

/**
 * emu_power_force - force throttling, from debugfs
 * @emu: device
 * @throttle: force it, else let the temperature decide
 */
void emu_power_force(struct emu_device *emu, bool throttle)
{
	unsigned long flags;

	spin_lock_irqsave(&emu->power.lock, flags);
	emu->power.forced = throttle;
	emu_power_account(emu, true);
	emu_power_throttle(emu);
	spin_unlock_irqrestore(&emu->power.lock, flags);
	emu_power_kick(emu);
}
EXPORT_SYMBOL_IF_KUNIT(emu_power_force);

/**
 * emu_power_read - read a register of the power block
 * @emu: device
 * @reg: UMA_REG_PWR_CTRL .. UMA_REG_POWER_MW
 *
 * Return: value.
 */
u32 emu_power_read(struct emu_device *emu, u32 reg)
{
	struct emu_power *power = &emu->power;
	unsigned long flags;
	u32 val = 0;

	spin_lock_irqsave(&power->lock, flags);
	emu_power_account(emu, false);
	switch (reg) {
	case UMA_REG_PWR_CTRL:
		val = power->on ? UMA_PWR_ON : 0;
		break;
	case UMA_REG_PWR_STATUS:
		val = power->on || READ_ONCE(power->fading) ? UMA_PWR_ON : 0;
		val |= power->throttled ? UMA_PWR_THROTTLED : 0;
		break;
	case UMA_REG_CLOCK_MHZ:
		val = power->on ? power->clock : 0;
		break;
	case UMA_REG_CLOCK_MAX_MHZ:
		val = power->clock_max;
		break;
	case UMA_REG_CLOCK_MIN_MHZ:
		val = power->clock_min;
		break;
	case UMA_REG_CLOCK_CAP_MHZ:
		val = power->clock_cap;
		break;
	case UMA_REG_TEMP_MC:
		val = emu_power_temp_mc(emu);
		break;
	case UMA_REG_TEMP_MAX_MC:
		val = emu->profile->temp_max_mc;
		break;
	case UMA_REG_POWER_MW:
		val = power->mw;
		break;
	}
	spin_unlock_irqrestore(&power->lock, flags);
	return val;
}

/**
 * emu_power_energy_uj - energy since the last device reset
 * @emu: device
 *
 * Return: microjoules.
 */
u64 emu_power_energy_uj(struct emu_device *emu)
{
	unsigned long flags;
	u64 pj;

	spin_lock_irqsave(&emu->power.lock, flags);
	emu_power_account(emu, true);
	pj = emu->power.energy_pj;
	spin_unlock_irqrestore(&emu->power.lock, flags);
	return div_u64(pj, 1000000);
}

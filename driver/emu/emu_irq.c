// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Interrupts: a latch, a line that is high while status & enable, and an
 * interrupt controller with that one line, so that the driver requests a Linux
 * interrupt as for any other device.
 *
 * The line changes in any context, under spinlocks; irq_work delivers the
 * interrupt in interrupt context. The line is level-triggered: unmasking it
 * while it is high delivers the interrupt again.
 */
#include <linux/irq.h>
#include <linux/irqdesc.h>
#include <linux/irqdomain.h>

#include "emu_compat.h"
#include "emu_device.h"

static bool emu_irq_high(const struct emu_irq *irq)
{
	return !irq->dead && ((irq->status & irq->enable) || irq->spurious);
}

static void emu_irq_kick(struct emu_irq *irq)
{
	lockdep_assert_held(&irq->lock);

	if (!irq->masked && emu_irq_high(irq))
		irq_work_queue(&irq->work);
}

static void emu_irq_work(struct irq_work *work)
{
	struct emu_irq *irq = container_of(work, struct emu_irq, work);
	unsigned long flags;
	bool high;

	raw_spin_lock_irqsave(&irq->lock, flags);
	high = !irq->masked && emu_irq_high(irq);
	if (high) {
		irq->raised++;
		if (irq->spurious)
			irq->spurious--;
	}
	raw_spin_unlock_irqrestore(&irq->lock, flags);

	/* handle_level_irq() masks the line, calls the driver's handler, and unmasks it. */
	if (high)
		generic_handle_irq_safe(irq->virq);
}

static void emu_irq_chip_mask(struct irq_data *data)
{
	struct emu_irq *irq = irq_data_get_irq_chip_data(data);
	unsigned long flags;

	raw_spin_lock_irqsave(&irq->lock, flags);
	irq->masked = true;
	raw_spin_unlock_irqrestore(&irq->lock, flags);
}

static void emu_irq_chip_unmask(struct irq_data *data)
{
	struct emu_irq *irq = irq_data_get_irq_chip_data(data);
	unsigned long flags;

	raw_spin_lock_irqsave(&irq->lock, flags);
	irq->masked = false;
	emu_irq_kick(irq);
	raw_spin_unlock_irqrestore(&irq->lock, flags);
}

static int emu_irq_chip_set_type(struct irq_data *data, unsigned int type)
{
	type &= IRQ_TYPE_SENSE_MASK;
	return type == IRQ_TYPE_NONE || type == IRQ_TYPE_LEVEL_HIGH ? 0 : -EINVAL;
}

static struct irq_chip emu_irq_chip = {
	.name		= "uma_emu",
	.irq_mask	= emu_irq_chip_mask,
	.irq_unmask	= emu_irq_chip_unmask,
	.irq_set_type	= emu_irq_chip_set_type,
};

static int emu_irq_map(struct irq_domain *domain, unsigned int virq,
		       irq_hw_number_t hw)
{
	struct emu_irq *irq = domain->host_data;

	irq_set_chip_data(virq, irq);
	irq_set_chip_and_handler(virq, &emu_irq_chip, handle_level_irq);
	irq_modify_status(virq, IRQ_NOREQUEST | IRQ_NOAUTOEN, IRQ_NOPROBE | IRQ_LEVEL);
	return 0;
}

static void emu_irq_unmap(struct irq_domain *domain, unsigned int virq)
{
	irq_set_chip_and_handler(virq, NULL, NULL);
	irq_set_chip_data(virq, NULL);
}

static const struct irq_domain_ops emu_irq_ops = {
	.map	= emu_irq_map,
	.unmap	= emu_irq_unmap,
};

/**
 * emu_irq_init - create the interrupt line
 * @irq: interrupt, all zero
 *
 * Return: 0 or a negative error.
 */
int emu_irq_init(struct emu_irq *irq)
{
	raw_spin_lock_init(&irq->lock);
	irq->work = IRQ_WORK_INIT_HARD(emu_irq_work);
	/* Until a driver requests it. */
	irq->masked = true;

	irq->domain = irq_domain_create_linear(NULL, 1, &emu_irq_ops, irq);
	if (!irq->domain)
		return -ENOMEM;

	irq->virq = irq_create_mapping(irq->domain, 0);
	if (!irq->virq) {
		irq_domain_remove(irq->domain);
		irq->domain = NULL;
		return -ENOSPC;
	}
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(emu_irq_init);

/**
 * emu_irq_fini - remove the interrupt line
 * @irq: interrupt, which has been freed
 */
void emu_irq_fini(struct emu_irq *irq)
{
	unsigned long flags;

	if (!irq->domain)
		return;
	raw_spin_lock_irqsave(&irq->lock, flags);
	irq->masked = true;
	raw_spin_unlock_irqrestore(&irq->lock, flags);
	irq_work_sync(&irq->work);
	irq_dispose_mapping(irq->virq);
	irq_domain_remove(irq->domain);
	irq->domain = NULL;
}
EXPORT_SYMBOL_IF_KUNIT(emu_irq_fini);

/**
 * emu_irq_raise - latch events
 * @irq: interrupt
 * @events: UMA_IRQ_*
 */
void emu_irq_raise(struct emu_irq *irq, u32 events)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&irq->lock, flags);
	irq->status |= events;
	emu_irq_kick(irq);
	raw_spin_unlock_irqrestore(&irq->lock, flags);
}
EXPORT_SYMBOL_IF_KUNIT(emu_irq_raise);

/**
 * emu_irq_ack - clear latched events
 * @irq: interrupt
 * @events: UMA_IRQ_*
 */
void emu_irq_ack(struct emu_irq *irq, u32 events)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&irq->lock, flags);
	irq->status &= ~events;
	emu_irq_kick(irq);
	raw_spin_unlock_irqrestore(&irq->lock, flags);
}
EXPORT_SYMBOL_IF_KUNIT(emu_irq_ack);

/**
 * emu_irq_enable - choose the events that raise the line
 * @irq: interrupt
 * @events: UMA_IRQ_*
 */
void emu_irq_enable(struct emu_irq *irq, u32 events)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&irq->lock, flags);
	irq->enable = events;
	emu_irq_kick(irq);
	raw_spin_unlock_irqrestore(&irq->lock, flags);
}
EXPORT_SYMBOL_IF_KUNIT(emu_irq_enable);

/**
 * emu_irq_reset - clear and disable all events, for a device reset
 * @irq: interrupt
 */
void emu_irq_reset(struct emu_irq *irq)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&irq->lock, flags);
	irq->status = 0;
	irq->enable = 0;
	raw_spin_unlock_irqrestore(&irq->lock, flags);
}

/**
 * emu_irq_kill - keep the line low, as the device is gone
 * @irq: interrupt
 */
void emu_irq_kill(struct emu_irq *irq)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&irq->lock, flags);
	irq->dead = true;
	raw_spin_unlock_irqrestore(&irq->lock, flags);
}

/**
 * emu_irq_spurious - deliver spurious interrupts
 * @irq: interrupt
 * @count: number of interrupts
 */
void emu_irq_spurious(struct emu_irq *irq, u32 count)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&irq->lock, flags);
	irq->spurious = count;
	emu_irq_kick(irq);
	raw_spin_unlock_irqrestore(&irq->lock, flags);
}
EXPORT_SYMBOL_IF_KUNIT(emu_irq_spurious);

/**
 * emu_irq_line - level of the line
 * @irq: interrupt
 *
 * Return: true if it is high.
 */
bool emu_irq_line(struct emu_irq *irq)
{
	unsigned long flags;
	bool high;

	raw_spin_lock_irqsave(&irq->lock, flags);
	high = emu_irq_high(irq);
	raw_spin_unlock_irqrestore(&irq->lock, flags);
	return high;
}
EXPORT_SYMBOL_IF_KUNIT(emu_irq_line);

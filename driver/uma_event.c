// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * uevents: what user space is told about resets, faults, and a device that is lost.
 *
 * Sending one allocates memory, so recovery only notes what happened and a work
 * sends it. What happens more often than every 100 ms is told once.
 *
 * "WEDGED=" is as drm_dev_wedged_event() has it. That function itself is not for
 * us: in the kernels that have it, it takes the device of the primary node, which
 * an accelerator has not.
 */
#include <linux/device.h>
#include <linux/jiffies.h>
#include <linux/kobject.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>

#include "uma_device.h"
#include "uma_event.h"

#define UMA_EVENT_PAUSE_MS	100
/* The bit of the device, behind those of the engines. */
#define UMA_EVENT_DEVICE	UMA_MAX_ENGINES

static void uma_event_send(struct uma_device *uma, char *what, const char *engine, char *more)
{
	char name[32], *envp[4] = { what, name, more };

	snprintf(name, sizeof(name), "ENGINE=%s", engine);
	kobject_uevent_env(&uma->drm.accel->kdev->kobj, KOBJ_CHANGE, envp);
}

static void uma_events_work(struct work_struct *work)
{
	struct uma_device *uma = container_of(work, struct uma_device, event_work.work);
	struct uma_engine *engine;
	int idx;

	/* The node of one that has gone has gone as well. */
	if (!drm_dev_enter(&uma->drm, &idx))
		return;
	uma->event_last = jiffies;
	uma_for_each_engine(uma, engine) {
		if (test_and_clear_bit(engine->index, &uma->event_faults))
			uma_event_send(uma, "UMA_EVENT=FAULT", engine->name, NULL);
		if (test_and_clear_bit(engine->index, &uma->event_resets))
			uma_event_send(uma, "UMA_EVENT=RESET", engine->name, NULL);
	}
	if (test_and_clear_bit(UMA_EVENT_DEVICE, &uma->event_resets))
		uma_event_send(uma, "UMA_EVENT=RESET", "device", NULL);
	if (test_and_clear_bit(UMA_EVENT_DEVICE, &uma->event_faults))
		uma_event_send(uma, "UMA_EVENT=WEDGED", "device", "WEDGED=rebind");
	drm_dev_exit(idx);
}

static void uma_event_note(struct uma_device *uma, unsigned long *events, u32 bit)
{
	unsigned long next = READ_ONCE(uma->event_last) + msecs_to_jiffies(UMA_EVENT_PAUSE_MS);
	unsigned long now = jiffies;

	set_bit(bit, events);
	queue_delayed_work(uma_wq, &uma->event_work, time_before(now, next) ? next - now : 0);
}

/**
 * uma_events_init - nothing has happened yet
 * @uma: device
 */
void uma_events_init(struct uma_device *uma)
{
	INIT_DELAYED_WORK(&uma->event_work, uma_events_work);
	uma->event_last = jiffies - msecs_to_jiffies(UMA_EVENT_PAUSE_MS);
}

/**
 * uma_events_stop - nothing happens any more
 * @uma: device
 */
void uma_events_stop(struct uma_device *uma)
{
	cancel_delayed_work_sync(&uma->event_work);
}

/**
 * uma_event_reset - something was reset
 * @uma: device
 * @engine: engine, or NULL for all of the device
 */
void uma_event_reset(struct uma_device *uma, const struct uma_engine *engine)
{
	uma_event_note(uma, &uma->event_resets, engine ? engine->index : UMA_EVENT_DEVICE);
}

/**
 * uma_event_fault - a job faulted
 * @engine: on this engine
 */
void uma_event_fault(const struct uma_engine *engine)
{
	uma_event_note(engine->uma, &engine->uma->event_faults, engine->index);
}

/**
 * uma_event_wedged - the device is lost
 * @uma: device
 */
void uma_event_wedged(struct uma_device *uma)
{
	uma_event_note(uma, &uma->event_faults, UMA_EVENT_DEVICE);
}

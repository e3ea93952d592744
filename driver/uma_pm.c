// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Power: engines are on as long as there is a queue that may use them.
 */
#include <drm/drm_drv.h>

#include "uma_device.h"
#include "uma_pm.h"

static void uma_pm_write(struct uma_device *uma, bool on)
{
	int idx;

	if (!drm_dev_enter(&uma->drm, &idx))
		return;
	uma_write(uma, UMA_REG_PWR_CTRL, on ? UMA_PWR_ON : 0);
	drm_dev_exit(idx);
}

/**
 * uma_pm_get - have the engines powered
 * @uma: device
 */
void uma_pm_get(struct uma_device *uma)
{
	mutex_lock(&uma->pm_lock);
	if (!uma->pm_users++)
		uma_pm_write(uma, true);
	mutex_unlock(&uma->pm_lock);
}

/**
 * uma_pm_put - undo uma_pm_get()
 * @uma: device
 */
void uma_pm_put(struct uma_device *uma)
{
	mutex_lock(&uma->pm_lock);
	if (!--uma->pm_users)
		uma_pm_write(uma, false);
	mutex_unlock(&uma->pm_lock);
}

/**
 * uma_pm_restore - write the power registers after a reset
 * @uma: device
 */
void uma_pm_restore(struct uma_device *uma)
{
	mutex_lock(&uma->pm_lock);
	uma_write(uma, UMA_REG_PWR_CTRL, uma->pm_users ? UMA_PWR_ON : 0);
	mutex_unlock(&uma->pm_lock);
}

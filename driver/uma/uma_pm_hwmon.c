// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Sensors: power, energy, temperature and clock. Their registers work without power, so reading
 * them does not resume the device: when it is off they report 0 W, 0 Hz and the actual
 * temperature.
 */
#include <linux/hwmon.h>
#include <linux/hwmon-sysfs.h>
#include <linux/units.h>

#include <drm/drm_drv.h>

#include "uma_device.h"
#include "uma_pm.h"

#if IS_REACHABLE(CONFIG_HWMON)

#define UMA_LABEL(uma, what) \
	((uma)->info.flags & DRM_UMA_DEVICE_MODELLED_POWER ? what " (modelled)" : what)

static int uma_hwmon_reg(struct uma_device *uma, u32 reg, long scale, long *value)
{
	u32 raw;

	if (uma_read_state(uma, reg, &raw))
		return -EIO;
	*value = (s32)raw * scale;
	return 0;
}

static int uma_hwmon_temp(struct uma_device *uma, u32 attr, long *value)
{
	switch (attr) {
	case hwmon_temp_input:
		return uma_hwmon_reg(uma, UMA_REG_TEMP_MC, 1, value);
	case hwmon_temp_max:
		return uma_hwmon_reg(uma, UMA_REG_TEMP_MAX_MC, 1, value);
	case hwmon_temp_max_alarm:
		*value = READ_ONCE(uma->throttled);
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

static int uma_hwmon_read(struct device *dev, enum hwmon_sensor_types type, u32 attr, int channel,
			  long *value)
{
	struct uma_device *uma = dev_get_drvdata(dev);
	int idx, ret = -EOPNOTSUPP;

	if (!drm_dev_enter(&uma->drm, &idx))
		return -ENODEV;
	if (type == hwmon_power && attr == hwmon_power_input) {
		ret = uma_hwmon_reg(uma, UMA_REG_POWER_MW, 1000, value);
	} else if (type == hwmon_energy && attr == hwmon_energy_input) {
		*value = uma_pm_energy_uj(uma);
		ret = 0;
	} else if (type == hwmon_temp) {
		ret = uma_hwmon_temp(uma, attr, value);
	}
	drm_dev_exit(idx);
	return ret;
}

static int uma_hwmon_read_string(struct device *dev, enum hwmon_sensor_types type, u32 attr,
				 int channel, const char **str)
{
	struct uma_device *uma = dev_get_drvdata(dev);

	switch (type) {
	case hwmon_power:
		*str = UMA_LABEL(uma, "power");
		return 0;
	case hwmon_energy:
		*str = UMA_LABEL(uma, "energy");
		return 0;
	case hwmon_temp:
		*str = UMA_LABEL(uma, "temperature");
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

static umode_t uma_hwmon_is_visible(const void *data, enum hwmon_sensor_types type, u32 attr,
				    int channel)
{
	/* The energy of another user's job would reveal its duration and something of its data. */
	return type == hwmon_energy && attr == hwmon_energy_input ? 0400 : 0444;
}

/* hwmon has no sensor type for clocks; name and unit are the same as in other drivers. */
static ssize_t freq1_input_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct uma_device *uma = dev_get_drvdata(dev);
	int idx, ret;
	u32 mhz;

	if (!drm_dev_enter(&uma->drm, &idx))
		return -ENODEV;
	ret = uma_read_state(uma, UMA_REG_CLOCK_MHZ, &mhz);
	drm_dev_exit(idx);
	if (ret)
		return -EIO;
	return sysfs_emit(buf, "%llu\n", (u64)mhz * HZ_PER_MHZ);
}
static SENSOR_DEVICE_ATTR_RO(freq1_input, freq1_input, 0);

static ssize_t freq1_label_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct uma_device *uma = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%s\n", UMA_LABEL(uma, "clock"));
}
static SENSOR_DEVICE_ATTR_RO(freq1_label, freq1_label, 0);

static struct attribute *uma_hwmon_attrs[] = {
	&sensor_dev_attr_freq1_input.dev_attr.attr,
	&sensor_dev_attr_freq1_label.dev_attr.attr,
	NULL,
};
ATTRIBUTE_GROUPS(uma_hwmon);

static const struct hwmon_channel_info *const uma_hwmon_info[] = {
	HWMON_CHANNEL_INFO(power, HWMON_P_INPUT | HWMON_P_LABEL),
	HWMON_CHANNEL_INFO(energy, HWMON_E_INPUT | HWMON_E_LABEL),
	HWMON_CHANNEL_INFO(temp, HWMON_T_INPUT | HWMON_T_MAX | HWMON_T_MAX_ALARM | HWMON_T_LABEL),
	NULL,
};

static const struct hwmon_ops uma_hwmon_ops = {
	.is_visible = uma_hwmon_is_visible,
	.read = uma_hwmon_read,
	.read_string = uma_hwmon_read_string,
};

static const struct hwmon_chip_info uma_hwmon_chip = {
	.ops = &uma_hwmon_ops,
	.info = uma_hwmon_info,
};

int uma_hwmon_init(struct uma_device *uma)
{
	struct device *hwmon;

	hwmon = hwmon_device_register_with_info(uma->drm.dev, "uma", uma, &uma_hwmon_chip,
						uma_hwmon_groups);
	if (IS_ERR(hwmon))
		return PTR_ERR(hwmon);
	uma->hwmon = hwmon;
	return 0;
}

void uma_hwmon_fini(struct uma_device *uma)
{
	hwmon_device_unregister(uma->hwmon);
}

#else

int uma_hwmon_init(struct uma_device *uma)
{
	return 0;
}

void uma_hwmon_fini(struct uma_device *uma)
{
}

#endif

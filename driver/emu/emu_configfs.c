// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * configfs: one directory per instance, under /sys/kernel/config/uma_emu.
 *
 * The files set the fields of struct emu_config; "enabled" calls emu_create() and
 * emu_destroy().
 */
#include <linux/configfs.h>
#include <linux/kstrtox.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "emu_compat.h"
#include "emu_device.h"

/**
 * struct emu_item - the directory of an instance
 */
struct emu_item {
	/** @item: configfs item */
	struct config_item item;
	/** @lock: protects the rest */
	struct mutex lock;
	/** @cfg: configuration that the files set */
	struct emu_config cfg;
	/** @emu: the instance, NULL while not enabled */
	struct emu_device *emu;
};

static struct emu_item *to_emu_item(struct config_item *item)
{
	return container_of(item, struct emu_item, item);
}

/* Set a new configuration, if it is valid and the device does not exist yet. */
static ssize_t emu_item_change(struct emu_item *item, const struct emu_config *cfg,
			       size_t count)
{
	ssize_t ret = count;

	lockdep_assert_held(&item->lock);

	if (item->emu)
		ret = -EBUSY;
	else if (!uma_emu_config_is_valid(cfg, NULL))
		ret = -EINVAL;
	else
		item->cfg = *cfg;
	return ret;
}

static ssize_t emu_item_profile_show(struct config_item *item, char *page)
{
	struct emu_item *emu = to_emu_item(item);
	ssize_t ret;

	mutex_lock(&emu->lock);
	ret = sysfs_emit(page, "%s\n", emu->cfg.profile);
	mutex_unlock(&emu->lock);
	return ret;
}

static ssize_t emu_item_profile_store(struct config_item *item, const char *page, size_t count)
{
	struct emu_item *emu = to_emu_item(item);
	struct emu_config cfg;
	char name[EMU_NAME_MAX];
	ssize_t ret;

	if (strscpy(name, page, sizeof(name)) < 0)
		return -EINVAL;

	mutex_lock(&emu->lock);
	cfg = emu->cfg;
	strscpy(cfg.profile, strim(name), sizeof(cfg.profile));
	ret = emu_item_change(emu, &cfg, count);
	mutex_unlock(&emu->lock);
	return ret;
}
CONFIGFS_ATTR(emu_item_, profile);

#define EMU_ITEM_ATTR(_field, _parse, _type, _format)						\
static ssize_t emu_item_##_field##_show(struct config_item *item, char *page)			\
{												\
	struct emu_item *emu = to_emu_item(item);						\
	ssize_t ret;										\
												\
	mutex_lock(&emu->lock);									\
	ret = sysfs_emit(page, _format "\n", emu->cfg._field);					\
	mutex_unlock(&emu->lock);								\
	return ret;										\
}												\
												\
static ssize_t emu_item_##_field##_store(struct config_item *item, const char *page,		\
					 size_t count)						\
{												\
	struct emu_item *emu = to_emu_item(item);						\
	struct emu_config cfg;									\
	_type val;										\
	ssize_t ret;										\
												\
	ret = _parse;										\
	if (ret)										\
		return ret;									\
												\
	mutex_lock(&emu->lock);									\
	cfg = emu->cfg;										\
	cfg._field = val;									\
	ret = emu_item_change(emu, &cfg, count);						\
	mutex_unlock(&emu->lock);								\
	return ret;										\
}												\
CONFIGFS_ATTR(emu_item_, _field)

EMU_ITEM_ATTR(paranoid, kstrtobool(page, &val), bool, "%d");
EMU_ITEM_ATTR(noncoherent, kstrtobool(page, &val), bool, "%d");
EMU_ITEM_ATTR(pace, kstrtobool(page, &val), bool, "%d");
EMU_ITEM_ATTR(latency_us, kstrtou32(page, 0, &val), u32, "%u");
EMU_ITEM_ATTR(task_us, kstrtou32(page, 0, &val), u32, "%u");
EMU_ITEM_ATTR(tile_us, kstrtou32(page, 0, &val), u32, "%u");
EMU_ITEM_ATTR(preempt, kstrtobool(page, &val), bool, "%d");
EMU_ITEM_ATTR(preempt_tiles, kstrtobool(page, &val), bool, "%d");
EMU_ITEM_ATTR(stale_ms, kstrtou32(page, 0, &val), u32, "%u");
EMU_ITEM_ATTR(reset_ms, kstrtou32(page, 0, &val), u32, "%u");
EMU_ITEM_ATTR(address_spaces, kstrtou32(page, 0, &val), u32, "%u");
EMU_ITEM_ATTR(ring_order, kstrtou32(page, 0, &val), u32, "%u");
EMU_ITEM_ATTR(memory, kstrtou64(page, 0, &val), u64, "%llu");

static ssize_t emu_item_enabled_show(struct config_item *item, char *page)
{
	struct emu_item *emu = to_emu_item(item);
	ssize_t ret;

	mutex_lock(&emu->lock);
	ret = sysfs_emit(page, "%d\n", !!emu->emu);
	mutex_unlock(&emu->lock);
	return ret;
}

static ssize_t emu_item_enabled_store(struct config_item *item, const char *page, size_t count)
{
	struct emu_item *emu = to_emu_item(item);
	struct emu_device *device;
	bool enable;
	int ret;

	ret = kstrtobool(page, &enable);
	if (ret)
		return ret;

	mutex_lock(&emu->lock);
	if (enable && !emu->emu) {
		device = emu_create(&emu->cfg);
		if (IS_ERR(device))
			ret = PTR_ERR(device);
		else
			emu->emu = device;
	} else if (!enable && emu->emu) {
		emu_destroy(emu->emu);
		emu->emu = NULL;
	}
	mutex_unlock(&emu->lock);
	return ret ?: count;
}
CONFIGFS_ATTR(emu_item_, enabled);

static ssize_t emu_item_device_show(struct config_item *item, char *page)
{
	struct emu_item *emu = to_emu_item(item);
	ssize_t ret;

	mutex_lock(&emu->lock);
	ret = sysfs_emit(page, "%s\n", emu->emu ? emu_name(emu->emu) : "");
	mutex_unlock(&emu->lock);
	return ret;
}
CONFIGFS_ATTR_RO(emu_item_, device);

static struct configfs_attribute *emu_item_attrs[] = {
	&emu_item_attr_profile,
	&emu_item_attr_paranoid,
	&emu_item_attr_noncoherent,
	&emu_item_attr_pace,
	&emu_item_attr_latency_us,
	&emu_item_attr_task_us,
	&emu_item_attr_tile_us,
	&emu_item_attr_preempt,
	&emu_item_attr_preempt_tiles,
	&emu_item_attr_stale_ms,
	&emu_item_attr_reset_ms,
	&emu_item_attr_address_spaces,
	&emu_item_attr_ring_order,
	&emu_item_attr_memory,
	&emu_item_attr_enabled,
	&emu_item_attr_device,
	NULL
};

static void emu_item_release(struct config_item *item)
{
	struct emu_item *emu = to_emu_item(item);

	mutex_destroy(&emu->lock);
	kfree(emu);
}

static emu_configfs_const struct configfs_item_operations emu_item_ops = {
	.release	= emu_item_release,
};

static const struct config_item_type emu_item_type = {
	.ct_item_ops	= &emu_item_ops,
	.ct_attrs	= emu_item_attrs,
	.ct_owner	= THIS_MODULE,
};

static struct config_item *emu_group_make(struct config_group *group, const char *name)
{
	struct emu_item *emu = kzalloc(sizeof(*emu), GFP_KERNEL);

	if (!emu)
		return ERR_PTR(-ENOMEM);
	mutex_init(&emu->lock);
	emu_config_init(&emu->cfg);
	config_item_init_type_name(&emu->item, name, &emu_item_type);
	return &emu->item;
}

static void emu_group_drop(struct config_group *group, struct config_item *item)
{
	struct emu_item *emu = to_emu_item(item);

	mutex_lock(&emu->lock);
	if (emu->emu)
		emu_destroy(emu->emu);
	emu->emu = NULL;
	mutex_unlock(&emu->lock);
	config_item_put(item);
}

static emu_configfs_const struct configfs_group_operations emu_group_ops = {
	.make_item	= emu_group_make,
	.drop_item	= emu_group_drop,
};

static const struct config_item_type emu_group_type = {
	.ct_group_ops	= &emu_group_ops,
	.ct_owner	= THIS_MODULE,
};

static struct configfs_subsystem emu_subsystem = {
	.su_group = {
		.cg_item = {
			.ci_namebuf	= "uma_emu",
			.ci_type	= &emu_group_type,
		},
	},
};

/**
 * emu_configfs_register - register the configfs subsystem
 *
 * Return: 0 or a negative error.
 */
int emu_configfs_register(void)
{
	config_group_init(&emu_subsystem.su_group);
	mutex_init(&emu_subsystem.su_mutex);
	return configfs_register_subsystem(&emu_subsystem);
}

/**
 * emu_configfs_unregister - unregister the configfs subsystem
 */
void emu_configfs_unregister(void)
{
	configfs_unregister_subsystem(&emu_subsystem);
	mutex_destroy(&emu_subsystem.su_mutex);
}

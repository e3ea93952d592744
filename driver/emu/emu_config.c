// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Default configuration of an emulated device, and its validation.
 */
#include <linux/mm.h>
#include <linux/string.h>

#include "../uma_regs.h"
#include "emu_compat.h"
#include "emu_config.h"
#include "../model/uma_model.h"

/**
 * emu_config_init - fill in the defaults
 * @cfg: configuration
 */
void emu_config_init(struct emu_config *cfg)
{
	memset(cfg, 0, sizeof(*cfg));
	strscpy(cfg->profile, "full", sizeof(cfg->profile));
	cfg->preempt = true;
	cfg->preempt_tiles = true;
	cfg->stale_ms = 1000;
	/* Engines stop between two steps only, and a step takes long on an emulated CPU. */
	cfg->reset_ms = 5000;
	cfg->address_spaces = UMA_MAX_AS;
	cfg->ring_order = 8;
}
EXPORT_SYMBOL_IF_KUNIT(emu_config_init);

/**
 * uma_emu_config_is_valid - check a configuration
 * @cfg: configuration
 * @why: out: name of the first field that is not valid, or NULL; may be NULL
 *
 * Return: true if a device can be created with it.
 */
bool uma_emu_config_is_valid(const struct emu_config *cfg, const char **why)
{
	const char *field = NULL;

	if (strnlen(cfg->profile, sizeof(cfg->profile)) == sizeof(cfg->profile) ||
	    !uma_profile_find(cfg->profile))
		field = "profile";
	else if (cfg->noncoherent && !EMU_CAN_NONCOHERENT)
		field = "noncoherent";
	else if (cfg->latency_us > EMU_LATENCY_MAX_US)
		field = "latency_us";
	else if (cfg->task_us > EMU_LATENCY_MAX_US)
		field = "task_us";
	else if (cfg->tile_us > EMU_LATENCY_MAX_US)
		field = "tile_us";
	else if (cfg->stale_ms > EMU_STALE_MAX_MS)
		field = "stale_ms";
	else if (!cfg->reset_ms || cfg->reset_ms > EMU_RESET_MAX_MS)
		field = "reset_ms";
	else if (!cfg->address_spaces || cfg->address_spaces > UMA_MAX_AS)
		field = "address_spaces";
	else if (!cfg->ring_order || cfg->ring_order > EMU_RING_ORDER_MAX)
		field = "ring_order";
	else if (!IS_ALIGNED(cfg->memory, PAGE_SIZE))
		field = "memory";

	if (why)
		*why = field;
	return !field;
}
EXPORT_SYMBOL_IF_KUNIT(uma_emu_config_is_valid);

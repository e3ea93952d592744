// SPDX-License-Identifier: MIT
/*
 * Names of registers. The offsets are those of the register contract, which
 * the library may not include: driver/uma_regs.h. A test compares the two.
 */
#include "coredump.h"

struct reg {
	uint32_t offset;
	const char *name;
};

static const struct reg device_regs[] = {
	{ 0x0000, "MAGIC" },
	{ 0x0004, "VERSION" },
	{ 0x0008, "FEATURES" },
	{ 0x000c, "ENGINE_COUNT" },
	{ 0x0010, "AS_COUNT" },
	{ 0x0014, "VA_BITS" },
	{ 0x0018, "TASK_VERSION" },
	{ 0x001c, "NODE_COUNT" },
	{ 0x0020, "PROFILE" },
	{ 0x0040, "TIMESTAMP_HZ" },
	{ 0x0048, "TIMESTAMP_LO" },
	{ 0x004c, "TIMESTAMP_HI" },
	{ 0x0050, "IRQ_STATUS" },
	{ 0x0054, "IRQ_ENABLE" },
	{ 0x0060, "DEV_CTRL" },
	{ 0x0064, "DEV_STATUS" },
	{ 0x0068, "ENG_RESET_MS" },
	{ 0x006c, "DEV_RESET_MS" },
	{ 0x0070, "PWR_CTRL" },
	{ 0x0074, "PWR_STATUS" },
	{ 0x0078, "CLOCK_MHZ" },
	{ 0x007c, "CLOCK_MAX_MHZ" },
	{ 0x0080, "CLOCK_MIN_MHZ" },
	{ 0x0084, "CLOCK_CAP_MHZ" },
	{ 0x0088, "TEMP_MC" },
	{ 0x008c, "TEMP_MAX_MC" },
	{ 0x0090, "POWER_MW" },
	{ 0x0094, "PWR_MS" },
	{ 0x0098, "ENERGY_UJ_LO" },
	{ 0x009c, "ENERGY_UJ_HI" },
	{ 0x0200, "INVAL_AS" },
	{ 0x0208, "INVAL_START_LO" },
	{ 0x020c, "INVAL_START_HI" },
	{ 0x0210, "INVAL_SIZE_LO" },
	{ 0x0214, "INVAL_SIZE_HI" },
	{ 0x0218, "INVAL_CMD" },
	{ 0x021c, "INVAL_STATUS" },
};

static const struct reg node_regs[] = {
	{ 0x00, "SIZE_LO" },
	{ 0x04, "SIZE_HI" },
	{ 0x08, "BANDWIDTH_MBS" },
};

static const struct reg as_regs[] = {
	{ 0, "ROOT_LO" },
	{ 4, "ROOT_HI" },
};

static const struct reg engine_regs[] = {
	{ 0x000, "CLASS" },
	{ 0x004, "INSTANCE" },
	{ 0x008, "FLAGS" },
	{ 0x00c, "NODE" },
	{ 0x010, "CLOCK_MAX_MHZ" },
	{ 0x014, "MAX_JOB_TASKS" },
	{ 0x018, "RING_MAX" },
	{ 0x01c, "CAP_COUNT" },
	{ 0x020, "RING_BASE_LO" },
	{ 0x024, "RING_BASE_HI" },
	{ 0x028, "RECORD_BASE_LO" },
	{ 0x02c, "RECORD_BASE_HI" },
	{ 0x030, "RING_ORDER" },
	{ 0x034, "RING_TAIL" },
	{ 0x038, "RING_HEAD" },
	{ 0x040, "CTRL" },
	{ 0x044, "STATUS" },
	{ 0x048, "TASK_INDEX" },
	{ 0x050, "FAULT_REASON" },
	{ 0x054, "FAULT_SLOT" },
	{ 0x058, "FAULT_AS" },
	{ 0x060, "FAULT_ADDR_LO" },
	{ 0x064, "FAULT_ADDR_HI" },
	{ 0x068, "FAULT_SEQNO_LO" },
	{ 0x06c, "FAULT_SEQNO_HI" },
	{ 0x070, "PREEMPT_LO" },
	{ 0x074, "PREEMPT_HI" },
	{ 0x080, "JOBS_LO" },
	{ 0x084, "JOBS_HI" },
	{ 0x088, "TASKS_LO" },
	{ 0x08c, "TASKS_HI" },
	{ 0x090, "TILES_LO" },
	{ 0x094, "TILES_HI" },
	{ 0x098, "MACS_LO" },
	{ 0x09c, "MACS_HI" },
	{ 0x0a0, "READ_BYTES_LO" },
	{ 0x0a4, "READ_BYTES_HI" },
	{ 0x0a8, "WRITE_BYTES_LO" },
	{ 0x0ac, "WRITE_BYTES_HI" },
	{ 0x0b0, "TLB_MISSES_LO" },
	{ 0x0b4, "TLB_MISSES_HI" },
	{ 0x0b8, "BUSY_NS_LO" },
	{ 0x0bc, "BUSY_NS_HI" },
	{ 0x0c0, "STALL_NS_LO" },
	{ 0x0c4, "STALL_NS_HI" },
	{ 0x0c8, "FAULTS_LO" },
	{ 0x0cc, "FAULTS_HI" },
	{ 0x400, "CAPS" },
};

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))

/* Blocks of registers: one, or several at equal distances */
static const struct {
	const char *prefix;
	const struct reg *regs;
	uint32_t reg_count;
	uint32_t base, stride, count;
} blocks[] = {
	{ NULL, device_regs, COUNT(device_regs), 0, 0x1000, 1 },
	{ "NODE", node_regs, COUNT(node_regs), 0x0100, 0x10, 4 },
	{ "AS", as_regs, COUNT(as_regs), 0x0400, 8, 64 },
	{ "ENGINE", engine_regs, COUNT(engine_regs), 0x1000, 0x1000, 24 },
};

const char *dump_reg_name(char to[DUMP_REG_NAME], uint32_t offset)
{
	uint32_t b, i, rest;

	for (b = 0; b < COUNT(blocks); b++) {
		if (offset < blocks[b].base ||
		    (offset - blocks[b].base) / blocks[b].stride >= blocks[b].count)
			continue;
		rest = (offset - blocks[b].base) % blocks[b].stride;
		for (i = 0; i < blocks[b].reg_count; i++) {
			if (blocks[b].regs[i].offset != rest)
				continue;
			if (blocks[b].prefix)
				snprintf(to, DUMP_REG_NAME, "%s%u.%s", blocks[b].prefix,
					 (offset - blocks[b].base) / blocks[b].stride,
					 blocks[b].regs[i].name);
			else
				snprintf(to, DUMP_REG_NAME, "%s", blocks[b].regs[i].name);
			return to;
		}
	}
	return NULL;
}

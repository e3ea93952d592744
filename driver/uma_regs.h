/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Registers, ring entries, completion records and page-table entries of a
 * unified-memory accelerator: the contract between the driver and a device,
 * real or emulated. Nothing else passes between the two.
 *
 * Registers are 32 bit wide at byte offsets. A 64-bit quantity is a pair, the
 * low word first. Counters latch their high word when the low word is read.
 * Reserved registers read as zero and ignore writes.
 */
#ifndef _UMA_REGS_H_
#define _UMA_REGS_H_

#include <linux/bits.h>
#include <linux/types.h>

/* The regmap of a device that has no registers in memory, on its parent */
#define UMA_REGMAP			"uma"

/* Identification, read-only */
#define UMA_REG_MAGIC			0x0000
#define   UMA_MAGIC			0x31414d55	/* "UMA1" */
#define UMA_REG_VERSION			0x0004	/* major << 16 | minor */
#define   UMA_HW_VERSION		0x00010004
#define   UMA_HW_VERSION_MIN		0x00010001	/* what came later has a feature bit */
#define UMA_REG_FEATURES		0x0008
#define   UMA_FEATURE_EMULATED		BIT(0)
#define   UMA_FEATURE_MODELLED_POWER	BIT(1)
#define   UMA_FEATURE_COHERENT		BIT(2)
#define   UMA_FEATURE_PREEMPT		BIT(3)	/* has UMA_ENG_PREEMPT */
#define   UMA_FEATURE_INVAL		BIT(4)	/* has UMA_ENG_INVAL */
#define   UMA_FEATURE_TILES		BIT(5)	/* UMA_ENGINE_PREEMPT: stops between tiles */
#define UMA_REG_ENGINE_COUNT		0x000c	/* 1 .. UMA_MAX_ENGINES */
#define UMA_REG_AS_COUNT		0x0010	/* hardware address spaces, 1 .. UMA_MAX_AS */
#define UMA_REG_VA_BITS			0x0014	/* 48 */
#define UMA_REG_TASK_VERSION		0x0018
#define UMA_REG_NODE_COUNT		0x001c	/* memory nodes, 1 .. UMA_MAX_NODES */
#define UMA_REG_PROFILE			0x0020	/* 32 bytes: name of the chip, NUL padded */
#define UMA_REG_TIMESTAMP_HZ		0x0040
#define UMA_REG_TIMESTAMP_LO		0x0048
#define UMA_REG_TIMESTAMP_HI		0x004c

/* Interrupts: status bits latch until written with 1; the line is status & enable */
#define UMA_REG_IRQ_STATUS		0x0050
#define UMA_REG_IRQ_ENABLE		0x0054
#define   UMA_IRQ_ENGINE(i)		BIT(i)	/* completion or fault of engine i */
#define   UMA_IRQ_ENGINES		GENMASK(23, 0)
#define   UMA_IRQ_THERMAL		BIT(24)	/* throttling began or ended */
#define   UMA_IRQ_ERROR			BIT(25)	/* device-wide error, see DEV_STATUS */

/* Whole device */
#define UMA_REG_DEV_CTRL		0x0060
#define   UMA_DEV_RESET			BIT(0)	/* write 1; reads 1 until all is as at first */
#define UMA_REG_DEV_STATUS		0x0064
#define   UMA_DEV_READY			BIT(0)
#define   UMA_DEV_ERROR			BIT(1)	/* needs a device reset */
#define   UMA_DEV_STALE_TLB		BIT(2)	/* paranoid mode met a stale TLB entry */
/* Milliseconds that a reset takes at most, up to UMA_MAX_WAIT_MS, read-only; 0: not said */
#define UMA_REG_ENG_RESET_MS		0x0068
#define UMA_REG_DEV_RESET_MS		0x006c
#define UMA_MAX_WAIT_MS			60000

/*
 * Power. All but UMA_REG_PWR_CTRL and UMA_REG_CLOCK_CAP are read-only. Engines
 * and address spaces have power while UMA_PWR_ON is set. Without it they forget
 * what was set up (rings, roots, TLBs), drop their jobs without a record, read
 * as zero but for identification, capabilities and counters, and ignore writes.
 * UMA_REG_PWR_STATUS says when that has come about; until then a write to
 * UMA_REG_PWR_CTRL has no effect. All other registers live on.
 */
#define UMA_REG_PWR_CTRL		0x0070
#define   UMA_PWR_ON			BIT(0)
#define UMA_REG_PWR_STATUS		0x0074	/* bit 0: powered; bit 1: throttled */
#define   UMA_PWR_THROTTLED		BIT(1)
#define UMA_REG_CLOCK_MHZ		0x0078	/* now */
#define UMA_REG_CLOCK_MAX_MHZ		0x007c
#define UMA_REG_CLOCK_MIN_MHZ		0x0080
#define UMA_REG_CLOCK_CAP_MHZ		0x0084	/* highest clock allowed, written by the driver */
#define UMA_REG_TEMP_MC			0x0088	/* millidegrees Celsius */
#define UMA_REG_TEMP_MAX_MC		0x008c	/* throttles above */
#define UMA_REG_POWER_MW		0x0090	/* now */
#define UMA_REG_PWR_MS			0x0094	/* until power has come or gone; as above */
#define UMA_REG_ENERGY_UJ_LO		0x0098	/* since reset of the device */
#define UMA_REG_ENERGY_UJ_HI		0x009c

/* Memory nodes: size and peak bandwidth, read-only */
#define UMA_REG_NODE(n)			(0x0100 + (n) * 0x10)
#define   UMA_NODE_SIZE_LO		0x00	/* bytes; 0: as much RAM as the driver finds */
#define   UMA_NODE_SIZE_HI		0x04
#define   UMA_NODE_BANDWIDTH_MBS	0x08	/* 10^6 bytes a second */
#define UMA_MAX_NODES			4

/*
 * TLB invalidation. One command at a time: write address space, start and
 * size, then CMD. STATUS reads BUSY until no engine can any longer use, or is
 * in the middle of a tile that uses, an entry that the command covers. An
 * address space whose ROOT has changed must be invalidated before use, unless it
 * was disabled and has been invalidated since.
 */
#define UMA_REG_INVAL_AS		0x0200
#define UMA_REG_INVAL_START_LO		0x0208
#define UMA_REG_INVAL_START_HI		0x020c
#define UMA_REG_INVAL_SIZE_LO		0x0210	/* bytes */
#define UMA_REG_INVAL_SIZE_HI		0x0214
#define UMA_REG_INVAL_CMD		0x0218
#define   UMA_INVAL_RANGE		1	/* [start, start + size) of the address space */
#define   UMA_INVAL_AS			2	/* all of the address space */
#define UMA_REG_INVAL_STATUS		0x021c
#define   UMA_INVAL_BUSY		BIT(0)

/* Address spaces: physical address of the root table, bit 0 enables it */
#define UMA_REG_AS_ROOT_LO(as)		(0x0400 + (as) * 8)
#define UMA_REG_AS_ROOT_HI(as)		(0x0404 + (as) * 8)
#define   UMA_AS_ENABLE			BIT(0)
#define UMA_MAX_AS			64

/* Engines: one block each */
#define UMA_REG_ENGINE(e)		(0x1000 + (e) * 0x1000)
#define UMA_MAX_ENGINES			24
#define UMA_REG_SPACE			UMA_REG_ENGINE(UMA_MAX_ENGINES)

#define UMA_ENG_CLASS			0x000	/* enum uma_engine_class */
#define UMA_ENG_INSTANCE		0x004
#define UMA_ENG_FLAGS			0x008	/* UMA_ENGINE_* of uma_task.h */
#define UMA_ENG_NODE			0x00c
#define UMA_ENG_CLOCK_MAX_MHZ		0x010
#define UMA_ENG_MAX_JOB_TASKS		0x014
#define UMA_ENG_RING_MAX		0x018	/* log2 of the largest number of ring entries */
#define UMA_ENG_CAP_COUNT		0x01c	/* rows at UMA_ENG_CAPS, at most UMA_MAX_CAPS */

/*
 * Ring: entries at RING_BASE, as many as 1 << RING_ORDER, and one completion
 * record for each at RECORD_BASE. TAIL is the doorbell: the index modulo 2^32
 * one past the last entry written. HEAD is the index of the entry that runs or
 * would run next. Set up while the engine is not enabled.
 */
#define UMA_ENG_RING_BASE_LO		0x020
#define UMA_ENG_RING_BASE_HI		0x024
#define UMA_ENG_RECORD_BASE_LO		0x028
#define UMA_ENG_RECORD_BASE_HI		0x02c
#define UMA_ENG_RING_ORDER		0x030
#define UMA_ENG_RING_TAIL		0x034
#define UMA_ENG_RING_HEAD		0x038

#define UMA_ENG_CTRL			0x040
#define   UMA_ENG_ENABLE		BIT(0)	/* set: HEAD = TAIL = 0; cleared: tile ends */
#define   UMA_ENG_RESET			BIT(1)	/* write 1; reads 1 until there is no job */
#define UMA_ENG_STATUS			0x044
#define   UMA_ENG_BUSY			BIT(0)	/* a job runs */
#define   UMA_ENG_HALTED		BIT(1)	/* stopped by a fault, until it is reset */
#define   UMA_ENG_INVAL			BIT(2)	/* an invalidation waits for the end of its tile */
#define UMA_ENG_TASK_INDEX		0x048	/* task that runs, or faulted */

/* Fault of the job that halted the engine, valid while HALTED */
#define UMA_ENG_FAULT_REASON		0x050	/* enum uma_fault */
#define UMA_ENG_FAULT_SLOT		0x054	/* enum uma_slot or UMA_FAULT_NO_SLOT */
#define UMA_ENG_FAULT_AS		0x058
#define UMA_ENG_FAULT_ADDR_LO		0x060
#define UMA_ENG_FAULT_ADDR_HI		0x064
#define UMA_ENG_FAULT_SEQNO_LO		0x068
#define UMA_ENG_FAULT_SEQNO_HI		0x06c

/*
 * With UMA_FEATURE_PREEMPT: sequence number of a job that is to stop at the next
 * task boundary, high word first; the low word has the effect. Jobs with another
 * number are not concerned. With UMA_FEATURE_TILES too, engines with the flag
 * UMA_ENGINE_PREEMPT stop at the end of a tile.
 */
#define UMA_ENG_PREEMPT_LO		0x070
#define UMA_ENG_PREEMPT_HI		0x074

/* Counters since reset of the device, 64 bit, read-only */
#define UMA_ENG_COUNTER(c)		(0x080 + (c) * 8)
#define   UMA_CNT_JOBS			0
#define   UMA_CNT_TASKS			1
#define   UMA_CNT_TILES			2
#define   UMA_CNT_MACS			3
#define   UMA_CNT_READ_BYTES		4
#define   UMA_CNT_WRITE_BYTES		5
#define   UMA_CNT_TLB_MISSES		6
#define   UMA_CNT_BUSY_NS		7
#define   UMA_CNT_STALL_NS		8	/* busy, but waiting for invalidations */
#define   UMA_CNT_FAULTS		9
#define UMA_MAX_COUNTERS		10

/* Capability rows, struct uma_op_cap, as words */
#define UMA_ENG_CAPS			0x400
#define UMA_MAX_CAPS			48

/* Flags of a completion record */
#define UMA_RECORD_PREEMPTED		BIT(0)	/* stopped in or before the task at task_index */

/* Flags of a ring entry */
#define UMA_RING_STAMPS			BIT(0)	/* write a struct uma_task_stamp for each task */

/* A ring entry: a job */
struct uma_ring_entry {
	__le64 tasks_addr;	/* device address of the task list */
	__le32 task_count;	/* number of tasks, 1 .. MAX_JOB_TASKS */
	__le32 as;		/* address space */
	__le64 seqno;		/* number that the completion record returns; never 0 */
	__le32 flags;		/* UMA_RING_STAMPS */
	__le32 pad0;		/* must be zero */
	__le64 stamps_addr;	/* with UMA_RING_STAMPS: device address of the stamps, else zero */
	/*
	 * tiles of the first task that have been done, as the record of the entry that was stopped
	 * there said; else, and without UMA_FEATURE_TILES, zero
	 */
	__le64 tile;
	__le32 pad[4];		/* must be zero */
};

/*
 * The completion record of a ring entry. The device writes every field but the sequence number,
 * then, ordered after them, seqno; then it raises the interrupt. A job that faulted has its record
 * written too, then halts the engine.
 */
struct uma_record {
	__le64 seqno;		/* that of the ring entry */
	__le64 start;		/* timestamp when the job began */
	__le64 end;		/* timestamp when it ended */
	__le64 fault_addr;	/* device address of the fault, else 0 */
	__le32 reason;		/* enum uma_fault; UMA_FAULT_NONE is success */
	__le32 slot;		/* enum uma_slot or UMA_FAULT_NO_SLOT */
	__le32 task_index;	/* task that faulted, else the number of tasks done */
	__le32 flags;		/* UMA_RECORD_PREEMPTED */
	__le64 tasks;		/* tasks that ended without a fault */
	__le64 tiles;		/* tiles */
	__le64 macs;		/* multiply-adds of GEMMs, elements of other operations */
	__le64 read_bytes;	/* bytes that tasks read, descriptors included */
	__le64 write_bytes;	/* bytes that tasks wrote, stamps included */
	__le64 tlb_misses;	/* translations that needed a walk */
	__le64 stall_ns;	/* time waiting for power or invalidations */
	__le64 cycles;		/* of the engine's clock, while it ran the job */
	__le64 tile; /* with UMA_RECORD_PREEMPTED: tiles of the task at task_index that are done */
	__le64 pad;		/* zero */
};

/*
 * Page tables: four levels of 512 entries of 8 bytes, little-endian, for 48
 * address bits: 47:39, 38:30, 29:21, 20:12. An entry of the last level maps 4
 * KiB; one of the level above maps 2 MiB if UMA_PTE_BLOCK is set. An entry
 * with UMA_PTE_VALID and any bit not defined here, or a block address not
 * aligned to its size, is a UMA_FAULT_TABLE. The device may cache every valid
 * entry, tables included, until it is invalidated; it caches no invalid one.
 */
#define UMA_PT_LEVELS			4
#define UMA_PT_BITS			9
#define UMA_PT_ENTRIES			(1 << UMA_PT_BITS)
#define UMA_PAGE_SHIFT			12
#define UMA_BLOCK_SHIFT			21
#define UMA_PTE_VALID			BIT_ULL(0)
#define UMA_PTE_BLOCK			BIT_ULL(1)	/* leaf, third level only */
#define UMA_PTE_WRITE			BIT_ULL(2)	/* leaves only: tasks may write */
#define UMA_PTE_ADDR			GENMASK_ULL(51, 12)

#endif /* _UMA_REGS_H_ */

// SPDX-License-Identifier: MIT
#include <endian.h>
#include <errno.h>
#include <string.h>
#include "uma_dump.h"
#include "dump_make.h"

void dump_section(unsigned char *buf, size_t *at, unsigned int type, const void *head,
		  size_t head_size, const void *rest, size_t rest_size)
{
	const struct uma_dump_section s = {
		htole32(type), htole32((__u32)(head_size + rest_size))
	};

	memcpy(buf + *at, &s, sizeof(s));
	*at += sizeof(s);
	memcpy(buf + *at, head, head_size);
	*at += head_size;
	if (rest_size)
		memcpy(buf + *at, rest, rest_size);
	*at += rest_size;
}

size_t dump_begin(unsigned char *buf)
{
	struct uma_dump_header h = {
		.magic = htole64(UMA_DUMP_MAGIC),
		.version = htole32(1),
		.cause = htole32(UMA_DUMP_FAULT),
		.realtime_ns = htole64(1700000000123456789ull),
		.boottime_ns = htole64(DUMP_MAKE_BOOTTIME),
		.timestamp = htole64(123456),
		.timestamp_hz = htole64(24000000),
		.hw_version = htole32(1 << 16 | 1),
		.driver_version = htole32(1 << 16 | 1),
		.device = "uma_emu.0",
		.profile = "ultra",
		.kernel = "6.12.0-test",
	};

	memcpy(buf, &h, sizeof(h));
	return sizeof(h);
}

void dump_end(unsigned char *buf, size_t size)
{
	const __u64 le = htole64(size);

	memcpy(buf + offsetof(struct uma_dump_header, size), &le, sizeof(le));
}

static void make_operand(struct uma_operand *o, __u64 addr, __u32 rows, __u32 cols)
{
	o->addr = htole64(addr);
	o->dtype = htole16(UMA_DTYPE_F16);
	o->rank = htole16(2);
	o->dims[0] = htole32(rows);
	o->dims[1] = htole32(cols);
	o->strides[0] = htole64(cols);
	o->strides[1] = htole64(1);
}

static void make_tasks(struct uma_task task[2])
{
	struct uma_gemm_params gemm = { .alpha = htole32(0x3f800000) };
	int i;

	memset(task, 0, 2 * sizeof(*task));
	for (i = 0; i < 2; i++) {
		task[i].version = htole16(UMA_TASK_VERSION);
		task[i].opcode = htole16(UMA_OP_GEMM);
		task[i].slots = htole32(1 << UMA_SLOT_DST | 1 << UMA_SLOT_A | 1 << UMA_SLOT_B);
		memcpy(task[i].params, &gemm, sizeof(gemm));
		make_operand(&task[i].op[UMA_SLOT_A], 0x10000, 3, 5);
		make_operand(&task[i].op[UMA_SLOT_B], 0x20000, 5, 7);
		make_operand(&task[i].op[UMA_SLOT_DST], i ? DUMP_MAKE_ADDR : 0x30000, 3, 7);
	}
	task[1].epilogue.act = htole32(UMA_ACT_RELU);
}

static void put32(unsigned char *p, __u32 v)
{
	v = htole32(v);
	memcpy(p, &v, sizeof(v));
}

static void put64(unsigned char *p, __u64 v)
{
	v = htole64(v);
	memcpy(p, &v, sizeof(v));
}

/* Two entries of 64 bytes and two records of 128, as driver/uma_regs.h has them */
static void make_ring(unsigned char *buf, size_t *at)
{
	const struct uma_dump_ring r = {
		.engine = htole32(1), .order = htole32(1), .head = htole32(5), .tail = htole32(6),
		.entry_size = htole32(64), .record_size = htole32(128)
	};
	unsigned char mem[2 * 64 + 2 * 128] = { 0 };
	unsigned char *entry = mem + 64, *record = mem + 2 * 64 + 128;

	put64(entry, 0x40000);
	put32(entry + 8, 2);
	put32(entry + 12, 3);
	put64(entry + 16, 6);
	put64(record, 6);
	put64(record + 8, 1000);
	put64(record + 16, 2000);
	put64(record + 24, DUMP_MAKE_ADDR);
	put32(record + 32, UMA_FAULT_WRITE);
	put32(record + 36, UMA_SLOT_DST);
	put32(record + 40, 1);
	dump_section(buf, at, UMA_DUMP_RING, &r, sizeof(r), mem, sizeof(mem));
}

static void make_history(unsigned char *buf, size_t *at)
{
	struct uma_dump_event e[3] = { 0 };
	int i;

	for (i = 0; i < 3; i++) {
		e[i].boottime_ns = htole64(DUMP_MAKE_BOOTTIME - (3 - (__u64)i) * 1500000);
		e[i].engine = htole32(1);
		e[i].type = htole32(UMA_DUMP_EVENT_RUN + i);
		e[i].seqno = htole64(6);
		e[i].number = htole64(4);
		e[i].pid = htole32(1234);
		e[i].queue_id = htole32(2);
	}
	e[1].error = htole32(EFAULT);
	dump_section(buf, at, UMA_DUMP_HISTORY, e, sizeof(e), NULL, 0);
}

size_t dump_make(unsigned char *buf)
{
	const struct uma_dump_job job = {
		.engine = htole32(1), .error = htole32(EFAULT), .pid = htole32(1234),
		.queue_id = htole32(2), .number = htole64(4), .seqno = htole64(6),
		.tasks_addr = htole64(0x40000), .task_count = htole32(2), .task_index = htole32(1),
		.reason = htole32(UMA_FAULT_WRITE), .slot = htole32(UMA_SLOT_DST),
		.fault_addr = htole64(DUMP_MAKE_ADDR), .as = htole32(3),
		.engine_class = htole32(UMA_ENGINE_GPU), .engine_name = "gpu0", .comm = "bad\033[2Jname",
	};
	const struct uma_dump_walk walk = {
		.addr = htole64(DUMP_MAKE_ADDR), .levels = htole32(3),
		.entry = { htole64(0x101001), htole64(0x102001), 0 },
	};
	const struct uma_dump_reg regs[] = {
		{ htole32(0x0000), htole32(0x31414d55) }, { htole32(0x2044), htole32(2) },
		{ htole32(0x0044), htole32(0xabcd) },
	};
	const struct uma_dump_tasks tasks = { 0, htole32(2) };
	struct uma_task list[2];
	size_t at = dump_begin(buf);

	make_tasks(list);
	dump_section(buf, &at, UMA_DUMP_JOB, &job, sizeof(job), NULL, 0);
	dump_section(buf, &at, UMA_DUMP_TASKS, &tasks, sizeof(tasks), list, sizeof(list));
	dump_section(buf, &at, UMA_DUMP_WALK, &walk, sizeof(walk), NULL, 0);
	make_ring(buf, &at);
	dump_section(buf, &at, UMA_DUMP_REGS, regs, sizeof(regs), NULL, 0);
	dump_section(buf, &at, 0x4242, "whatever", 8, NULL, 0);
	make_history(buf, &at);
	dump_end(buf, at);
	return at;
}

// SPDX-License-Identifier: MIT
/*
 * Sections of core dumps as text. Callers give the bytes that there are, which
 * may be fewer than the section says.
 */
#include <endian.h>
#include <stdio.h>
#include <string.h>
#include "coredump.h"
#include "libaccel/backend/rec/rec.h"

static __u64 get64(const unsigned char *p)
{
	__u64 v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

static uint32_t get32(const unsigned char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

void dump_job_text(struct dump *d)
{
	const struct uma_dump_job *j = &d->job;
	char name[4 * sizeof(j->comm) + 1], error[16];

	fprintf(d->out, "\nJob %llu of queue %u\n", j->number, j->queue_id);
	fprintf(d->out, "  engine     %u (%s), sequence number %llu\n", j->engine,
		dump_string(name, sizeof(name), j->engine_name, sizeof(j->engine_name)), j->seqno);
	fprintf(d->out, "  process    %u (%s)\n", j->pid,
		dump_string(name, sizeof(name), j->comm, sizeof(j->comm)));
	fprintf(d->out, "  error      %s\n", dump_error(error, j->error));
	fprintf(d->out, "  tasks      %u at 0x%llx, address space %u, task %u at fault\n",
		j->task_count, j->tasks_addr, j->as, j->task_index);
	fprintf(d->out, "  reason     %s (%u)\n", fault_name(j->reason), j->reason);
	if (j->slot != UMA_FAULT_NO_SLOT)
		fprintf(d->out, "  operand    %s (%u)\n",
			slot_name(j->slot) ? slot_name(j->slot) : "unknown", j->slot);
	fprintf(d->out, "  address    0x%llx\n", j->fault_addr);
}

void dump_walk_text(struct dump *d)
{
	static const char * const spans[UMA_DUMP_LEVELS] = {
		"512 GiB", "1 GiB", "2 MiB", "4 KiB"
	};
	static const char * const ends[] = {
		[WALK_NONE] = "the address space has no table",
		[WALK_INVALID] = "nothing is mapped",
		[WALK_MALFORMED] = "the entry is malformed",
		[WALK_BLOCK] = "a block of 2 MiB",
		[WALK_PAGE] = "a page",
		[WALK_OPEN] = "the next table was not read",
	};
	const struct uma_dump_walk *w = &d->walk;
	const enum walk_end end = dump_walk_end(w);
	uint32_t i;

	fprintf(d->out, "\nPage-table walk of 0x%llx\n", w->addr);
	for (i = 0; i < w->levels; i++) {
		const __u64 pte = w->entry[i];
		const uint32_t index = w->addr >> (39 - 9 * i) & 511;
		const bool leaf = i == UMA_DUMP_LEVELS - 1 || pte & 2;

		fprintf(d->out, "  level %u, %-7s  entry %3u  0x%016llx  ", i, spans[i],
			index, pte);
		if (!(pte & 1))
			fputs("not valid\n", d->out);
		else
			fprintf(d->out, "valid, %s%s at 0x%llx\n",
				leaf ? pte & 2 ? "block" : "page" : "table",
				leaf ? pte & 4 ? ", writable" : ", read-only" : "",
				pte & 0xffffffffff000ull);
	}
	fprintf(d->out, "  end: %s", ends[end]);
	if (w->levels)
		fprintf(d->out, ", level %u", w->levels - 1);
	if (end == WALK_BLOCK || end == WALK_PAGE)
		fputs(w->entry[w->levels - 1] & 4 ? ", writable" : ", read-only", d->out);
	fputc('\n', d->out);
}

void dump_regs_text(struct dump *d, const unsigned char *p, size_t size)
{
	char name[DUMP_REG_NAME];
	size_t i;

	fputs("\nRegisters\n", d->out);
	for (i = 0; size - i >= sizeof(struct uma_dump_reg); i += sizeof(struct uma_dump_reg)) {
		const uint32_t offset = get32(p + i);

		fprintf(d->out, "  0x%04x  %-26s  0x%08x\n", offset,
			dump_reg_name(name, offset) ? name : "(unknown)", get32(p + i + 4));
	}
}

/*
 * Ring entries and records are those of the register contract, which the
 * library may not include; a test compares the numbers with it.
 */
enum ring_layout {
	ENTRY_TASKS_ADDR = 0,
	ENTRY_TASK_COUNT = 8,
	ENTRY_AS = 12,
	ENTRY_SEQNO = 16,
	ENTRY_FLAGS = 24,
	ENTRY_KNOWN = 28,
	RECORD_SEQNO = 0,
	RECORD_START = 8,
	RECORD_END = 16,
	RECORD_FAULT_ADDR = 24,
	RECORD_REASON = 32,
	RECORD_SLOT = 36,
	RECORD_TASK_INDEX = 40,
	RECORD_KNOWN = 44
};

static void entry_text(const struct dump *d, uint32_t i, const unsigned char *p, uint32_t size,
		       const struct uma_dump_ring *r)
{
	const uint32_t mask = (1u << r->order) - 1;
	uint32_t k;

	for (k = 0; k < size && !p[k]; k++)
		;
	if (k == size)
		return;
	fprintf(d->out, "  entry %u: seqno %llu, %u tasks at 0x%llx", i, get64(p + ENTRY_SEQNO),
		get32(p + ENTRY_TASK_COUNT), get64(p + ENTRY_TASKS_ADDR));
	fprintf(d->out, ", address space %u, flags 0x%x%s%s\n", get32(p + ENTRY_AS),
		get32(p + ENTRY_FLAGS), i == (r->head & mask) ? "  <head" : "",
		i == (r->tail & mask) ? "  <tail" : "");
}

static void record_text(const struct dump *d, uint32_t i, const unsigned char *p, uint32_t size)
{
	const uint32_t reason = get32(p + RECORD_REASON), slot = get32(p + RECORD_SLOT);
	uint32_t k;

	for (k = 0; k < size && !p[k]; k++)
		;
	if (k == size)
		return;
	fprintf(d->out, "  record %u: seqno %llu, %llu to %llu, %s", i,
		get64(p + RECORD_SEQNO), get64(p + RECORD_START), get64(p + RECORD_END),
		reason ? fault_name(reason) : "done");
	if (reason)
		fprintf(d->out, " at 0x%llx", get64(p + RECORD_FAULT_ADDR));
	if (reason && slot != UMA_FAULT_NO_SLOT)
		fprintf(d->out, ", operand %s", slot_name(slot) ? slot_name(slot) : "unknown");
	fprintf(d->out, ", task %u\n", get32(p + RECORD_TASK_INDEX));
}

void dump_ring_text(struct dump *d, const unsigned char *p, size_t size)
{
	struct uma_dump_ring r;
	__u64 i, count;

	if (size < sizeof(r)) {
		dump_bad(d, "a ring is cut off");
		return;
	}
	r.engine = get32(p);
	r.order = get32(p + 4);
	r.head = get32(p + 8);
	r.tail = get32(p + 12);
	r.entry_size = get32(p + 16);
	r.record_size = get32(p + 20);
	p += sizeof(r);
	size -= sizeof(r);
	fprintf(d->out, "\nRing of engine %u: order %u, head %u, tail %u\n", r.engine, r.order,
		r.head, r.tail);
	if (r.order > 20 || r.entry_size < ENTRY_KNOWN || r.record_size < RECORD_KNOWN) {
		dump_bad(d, "a ring of order %u, entries of %u bytes, records of %u bytes",
			 r.order, r.entry_size, r.record_size);
		return;
	}
	count = 1ull << r.order;
	for (i = 0; i < count && size >= r.entry_size; i++) {
		entry_text(d, (uint32_t)i, p, r.entry_size, &r);
		p += r.entry_size;
		size -= r.entry_size;
	}
	if (i < count) {
		dump_bad(d, "%llu of %llu entries of the ring", i, count);
		return;
	}
	for (i = 0; i < count && size >= r.record_size; i++) {
		record_text(d, (uint32_t)i, p, r.record_size);
		p += r.record_size;
		size -= r.record_size;
	}
	if (i < count)
		dump_bad(d, "%llu of %llu records of the ring", i, count);
}

/* An object without some of its keys, on one line; empty without any other */
static void rest_text(FILE *f, json_object *o, const char *const *without)
{
	uint32_t i;

	json_object_object_foreach(o, key, value) {
		for (i = 0; without[i] && strcmp(without[i], key) != 0; i++)
			;
		if (!without[i])
			fprintf(f, ", %s %s", key,
				json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN));
	}
}

static const char *member(json_object *o, const char *key)
{
	json_object *value = json_object_object_get(o, key);

	if (!value)
		return "?";
	if (json_object_is_type(value, json_type_string))
		return json_object_get_string(value);
	return json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN);
}

static void task_text(struct dump *d, __u64 index, const unsigned char *p)
{
	static const char * const task_keys[] = { "opcode", "version", "operands", NULL };
	static const char * const operand_keys[] = {
		"addr", "dtype", "rank", "dims", "strides", NULL
	};
	struct uma_task task;
	json_object *o, *operands, *addr;

	memcpy(&task, p, sizeof(task));
	o = rec_task(&task, NULL);
	fprintf(d->out, "  task %llu: %s, version %s", index, member(o, "opcode"),
		member(o, "version"));
	rest_text(d->out, o, task_keys);
	fputs(d->has_job && index == d->job.task_index ? "  <== at fault\n" : "\n", d->out);
	operands = json_object_object_get(o, "operands");
	if (!operands)
		goto out;
	json_object_object_foreach(operands, slot, operand) {
		addr = json_object_object_get(operand, "addr");
		fprintf(d->out, "    %-8s  %s %s, strides %s, at %s", slot,
			member(operand, "dtype"), member(operand, "dims"),
			member(operand, "strides"), addr ? member(addr, "va") : "0x0");
		rest_text(d->out, operand, operand_keys);
		fputc('\n', d->out);
	}
out:
	json_object_put(o);
}

void dump_tasks_text(struct dump *d, const unsigned char *p, size_t size)
{
	uint32_t first, count, i;

	if (size < sizeof(struct uma_dump_tasks)) {
		dump_bad(d, "the tasks are cut off");
		return;
	}
	first = get32(p);
	count = get32(p + 4);
	p += sizeof(struct uma_dump_tasks);
	size -= sizeof(struct uma_dump_tasks);
	fprintf(d->out, "\nTasks, %u from the one with index %u\n", count, first);
	for (i = 0; i < count && size >= sizeof(struct uma_task); i++) {
		task_text(d, (__u64)first + i, p);
		p += sizeof(struct uma_task);
		size -= sizeof(struct uma_task);
	}
	if (i < count)
		dump_bad(d, "%u of %u tasks", i, count);
}

void dump_history_text(struct dump *d, const unsigned char *p, size_t size)
{
	static const char * const types[] = {
		[UMA_DUMP_EVENT_RUN] = "run",
		[UMA_DUMP_EVENT_DONE] = "done",
		[UMA_DUMP_EVENT_RESET] = "reset",
		[UMA_DUMP_EVENT_PREEMPT] = "preempt",
	};
	struct uma_dump_event e;
	char type[16], error[16];

	fprintf(d->out, "\nHistory, in seconds before the dump\n"
		"  %20s  %6s  %-5s  %8s  %8s  %8s  %5s  %s\n", "TIME", "ENGINE", "EVENT", "SEQNO",
		"JOB", "PID", "QUEUE", "ERROR");
	for (; size >= sizeof(e); p += sizeof(e), size -= sizeof(e)) {
		__u64 dump_ns = d->header.boottime_ns, ns;
		uint32_t t;

		memcpy(&e, p, sizeof(e));
		ns = le64toh(e.boottime_ns);
		t = le32toh(e.type);
		if (t < sizeof(types) / sizeof(types[0]) && types[t])
			snprintf(type, sizeof(type), "%s", types[t]);
		else
			snprintf(type, sizeof(type), "%u", t);
		fprintf(d->out, "  %c", ns <= dump_ns ? '-' : '+');
		ns = ns <= dump_ns ? dump_ns - ns : ns - dump_ns;
		fprintf(d->out, "%9llu.%09llu", ns / 1000000000, ns % 1000000000);
		fprintf(d->out, "  %6u  %-5s  %8llu  %8llu  %8u  %5u  %s\n", le32toh(e.engine),
			type, (__u64)le64toh(e.seqno), (__u64)le64toh(e.number), le32toh(e.pid),
			le32toh(e.queue_id), e.error ? dump_error(error, le32toh(e.error)) : "-");
	}
	if (size)
		dump_bad(d, "the history is cut off");
}

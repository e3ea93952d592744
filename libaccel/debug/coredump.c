// SPDX-License-Identifier: MIT
/*
 * Core dumps of devices. What is read here was written by a kernel that had
 * just seen something go wrong, or by somebody who wants this library to: all
 * sizes are checked, and everything is copied out before it is looked at.
 */
#include <endian.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "coredump.h"
#include "libaccel/core/objects.h"

#define PTE_VALID	1ull
#define PTE_BLOCK	2ull
#define PTE_WRITE	4ull
#define PTE_ADDR	0xffffffffff000ull

void dump_bad(struct dump *d, const char *fmt, ...)
{
	va_list ap;

	d->malformed = true;
	if (!d->out)
		return;
	fputs("error: ", d->out);
	va_start(ap, fmt);
	vfprintf(d->out, fmt, ap);
	va_end(ap);
	fputc('\n', d->out);
}

char *dump_string(char *to, size_t to_size, const char *from, size_t from_size)
{
	size_t len = strnlen(from, from_size), i, n = 0;

	for (i = 0; i < len; i++) {
		const unsigned char c = (unsigned char)from[i];

		if (c >= 0x20 && c < 0x7f && c != '\\') {
			if (n + 2 > to_size)
				break;
			to[n++] = (char)c;
		} else {
			if (n + 5 > to_size)
				break;
			n += (size_t)snprintf(to + n, to_size - n, "\\x%02x", c);
		}
	}
	to[n] = 0;
	return to;
}

const char *dump_error(char to[16], uint32_t error)
{
	const char *name = error <= INT32_MAX ? errno_name((int)error) : NULL;

	if (!error)
		name = "none";
	if (name)
		snprintf(to, 16, "%s", name);
	else
		snprintf(to, 16, "%u", error);
	return to;
}

enum walk_end dump_walk_end(const struct uma_dump_walk *walk)
{
	const uint32_t levels = walk->levels;
	__u64 pte;

	if (!levels)
		return WALK_NONE;
	pte = walk->entry[levels - 1];
	if (!(pte & PTE_VALID))
		return WALK_INVALID;
	if (pte & ~(PTE_VALID | PTE_BLOCK | PTE_WRITE | PTE_ADDR))
		return WALK_MALFORMED;
	if (pte & PTE_BLOCK)
		return levels == 3 && !(pte & 0x1ff000) ? WALK_BLOCK : WALK_MALFORMED;
	if (levels == UMA_DUMP_LEVELS)
		return WALK_PAGE;
	return pte & PTE_WRITE ? WALK_MALFORMED : WALK_OPEN;
}

static void swap_header(struct uma_dump_header *h)
{
	h->magic = le64toh(h->magic);
	h->version = le32toh(h->version);
	h->cause = le32toh(h->cause);
	h->size = le64toh(h->size);
	h->realtime_ns = le64toh(h->realtime_ns);
	h->boottime_ns = le64toh(h->boottime_ns);
	h->timestamp = le64toh(h->timestamp);
	h->timestamp_hz = le64toh(h->timestamp_hz);
	h->hw_version = le32toh(h->hw_version);
	h->driver_version = le32toh(h->driver_version);
}

static void swap_job(struct uma_dump_job *j)
{
	j->engine = le32toh(j->engine);
	j->error = le32toh(j->error);
	j->pid = le32toh(j->pid);
	j->queue_id = le32toh(j->queue_id);
	j->number = le64toh(j->number);
	j->seqno = le64toh(j->seqno);
	j->tasks_addr = le64toh(j->tasks_addr);
	j->task_count = le32toh(j->task_count);
	j->task_index = le32toh(j->task_index);
	j->reason = le32toh(j->reason);
	j->slot = le32toh(j->slot);
	j->fault_addr = le64toh(j->fault_addr);
	j->as = le32toh(j->as);
	j->engine_class = le32toh(j->engine_class);
}

static const char *cause_name(uint32_t cause)
{
	static const char * const names[] = {
		[UMA_DUMP_FAULT] = "fault",
		[UMA_DUMP_HANG] = "hang",
		[UMA_DUMP_WEDGED] = "wedged",
	};

	return cause < sizeof(names) / sizeof(names[0]) && names[cause] ?
	       names[cause] : "unknown";
}

static void header_text(const struct dump *d)
{
	const struct uma_dump_header *h = &d->header;
	char text[4 * sizeof(h->device) + 1];
	const time_t s = (time_t)(h->realtime_ns / 1000000000);
	struct tm tm = { 0 };

	gmtime_r(&s, &tm);
	strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
	fprintf(d->out, "Core dump: %s\n", cause_name(h->cause));
	fprintf(d->out, "  time       %s.%09llu UTC, %llu.%09llu s since boot\n",
		text, h->realtime_ns % 1000000000, h->boottime_ns / 1000000000,
		h->boottime_ns % 1000000000);
	fprintf(d->out, "  device     %s\n",
		dump_string(text, sizeof(text), h->device, sizeof(h->device)));
	fprintf(d->out, "  chip       %s\n",
		dump_string(text, sizeof(text), h->profile, sizeof(h->profile)));
	fprintf(d->out, "  kernel     %s\n",
		dump_string(text, sizeof(text), h->kernel, sizeof(h->kernel)));
	fprintf(d->out, "  versions   driver %u.%u, registers %u.%u\n", h->driver_version >> 16,
		h->driver_version & 0xffff, h->hw_version >> 16, h->hw_version & 0xffff);
	fprintf(d->out, "  timestamp  %llu at %llu Hz\n", h->timestamp,
		h->timestamp_hz);
}

static void read_job(struct dump *d, const unsigned char *p, size_t size)
{
	if (size < sizeof(d->job)) {
		dump_bad(d, "the job is cut off");
		return;
	}
	if (!d->has_job) {
		memcpy(&d->job, p, sizeof(d->job));
		swap_job(&d->job);
	}
	d->has_job = true;
}

static void read_walk(struct dump *d, const unsigned char *p, size_t size)
{
	uint32_t i;

	if (size < sizeof(d->walk)) {
		dump_bad(d, "the walk is cut off");
		return;
	}
	memcpy(&d->walk, p, sizeof(d->walk));
	d->walk.addr = le64toh(d->walk.addr);
	d->walk.levels = le32toh(d->walk.levels);
	for (i = 0; i < UMA_DUMP_LEVELS; i++)
		d->walk.entry[i] = le64toh(d->walk.entry[i]);
	d->has_walk = d->walk.levels <= UMA_DUMP_LEVELS;
	if (!d->has_walk)
		dump_bad(d, "a walk of %u levels", d->walk.levels);
}

static void read_section(struct dump *d, uint32_t type, const unsigned char *p, size_t size)
{
	switch (type) {
	case UMA_DUMP_JOB:
		read_job(d, p, size);
		if (d->out && d->has_job)
			dump_job_text(d);
		break;
	case UMA_DUMP_WALK:
		d->has_walk = false;
		read_walk(d, p, size);
		if (d->out && d->has_walk)
			dump_walk_text(d);
		break;
	case UMA_DUMP_REGS:
		if (d->out)
			dump_regs_text(d, p, size);
		break;
	case UMA_DUMP_RING:
		if (d->out)
			dump_ring_text(d, p, size);
		break;
	case UMA_DUMP_TASKS:
		if (d->out)
			dump_tasks_text(d, p, size);
		break;
	case UMA_DUMP_HISTORY:
		if (d->out)
			dump_history_text(d, p, size);
		break;
	default:
		if (d->out)
			fprintf(d->out, "\nSection of unknown type %u: %zu bytes skipped\n",
				type, size);
		break;
	}
}

static void read_sections(struct dump *d)
{
	size_t at = sizeof(d->header), left;

	while (at < d->size) {
		struct uma_dump_section s;

		left = d->size - at;
		if (left < sizeof(s)) {
			dump_bad(d, "truncated: %zu of %zu bytes of a section's head at byte %zu",
				 left, sizeof(s), at);
			return;
		}
		memcpy(&s, d->data + at, sizeof(s));
		s.type = le32toh(s.type);
		s.size = le32toh(s.size);
		at += sizeof(s);
		left -= sizeof(s);
		read_section(d, s.type, d->data + at, s.size < left ? s.size : left);
		if (s.size > left) {
			dump_bad(d, "truncated: %zu of %u bytes of the section of type %u at byte %zu",
				 left, s.size, s.type, at);
			return;
		}
		if (s.size % 8) {
			dump_bad(d, "section of type %u with an odd size of %u bytes", s.type,
				 s.size);
			return;
		}
		at += s.size;
	}
}

/* Negative: there is nothing to read. 0: see d->malformed */
static int read_dump(struct dump *d, const void *data, size_t size)
{
	__u64 magic;

	if (!data || size < sizeof(magic))
		return -EINVAL;
	memcpy(&magic, data, sizeof(magic));
	if (le64toh(magic) != UMA_DUMP_MAGIC)
		return -EINVAL;
	d->data = data;
	d->size = size;
	if (size < sizeof(d->header)) {
		dump_bad(d, "truncated: %zu of %zu bytes of the header", size, sizeof(d->header));
		return 0;
	}
	memcpy(&d->header, data, sizeof(d->header));
	swap_header(&d->header);
	if (d->header.version != 1)
		return -EPROTO;
	if (d->out)
		header_text(d);
	if (d->header.size < sizeof(d->header) || d->header.size > UMA_DUMP_MAX_SIZE) {
		dump_bad(d, "the header says that there are %llu bytes", d->header.size);
		d->size = size < UMA_DUMP_MAX_SIZE ? size : UMA_DUMP_MAX_SIZE;
	} else if (d->header.size < size) {
		dump_bad(d, "%zu bytes behind the end", size - (size_t)d->header.size);
		d->size = (size_t)d->header.size;
	}
	read_sections(d);
	if (d->header.size > d->size && d->header.size <= UMA_DUMP_MAX_SIZE)
		dump_bad(d, "truncated: %zu of %llu bytes", d->size, d->header.size);
	return 0;
}

int accel_coredump_format(const void *data, size_t size, char **text)
{
	struct dump d = { 0 };
	size_t length;
	char *buf = NULL;
	int ret, failed;

	if (!data)
		return -EINVAL;
	if (!text)
		return -EINVAL;
	d.out = open_memstream(&buf, &length);
	if (!d.out)
		return -ENOMEM;
	ret = read_dump(&d, data, size);
	failed = ferror(d.out);
	if (fclose(d.out) || failed)
		ret = -ENOMEM;
	if (ret) {
		free(buf);
		return ret;
	}
	*text = buf;
	return d.malformed ? -EBADMSG : 0;
}

static void fill_job(struct accel_coredump_info *info, const struct uma_dump_job *j)
{
	const char *engine = j->engine_class < UMA_ENGINE_CLASS_COUNT ?
			     accel_engine_name(engine_of_class(j->engine_class)) : NULL;

	info->parts |= ACCEL_COREDUMP_JOB;
	info->engine_index = j->engine;
	info->engine = engine ? engine_of_class(j->engine_class) : 0;
	info->error = j->error <= INT32_MAX ? -(int32_t)j->error : 0;
	info->pid = j->pid;
	info->queue = j->queue_id;
	info->number = j->number;
	info->seqno = j->seqno;
	info->tasks_addr = j->tasks_addr;
	info->task_count = j->task_count;
	info->task_index = j->task_index;
	info->addr = j->fault_addr;
	info->as = j->as;
	dump_string(info->engine_name, sizeof(info->engine_name), j->engine_name,
		    sizeof(j->engine_name));
	dump_string(info->comm, sizeof(info->comm), j->comm, sizeof(j->comm));
	snprintf(info->reason, sizeof(info->reason), "%s", fault_name(j->reason));
	if (j->slot != UMA_FAULT_NO_SLOT)
		snprintf(info->slot, sizeof(info->slot), "%s",
			 slot_name(j->slot) ? slot_name(j->slot) : "unknown");
}

static void fill_walk(struct accel_coredump_info *info, const struct uma_dump_walk *walk)
{
	static const char * const ends[] = {
		[WALK_NONE] = "none",
		[WALK_INVALID] = "invalid",
		[WALK_MALFORMED] = "malformed",
		[WALK_BLOCK] = "block",
		[WALK_PAGE] = "page",
		[WALK_OPEN] = "table",
	};
	const enum walk_end end = dump_walk_end(walk);

	info->parts |= ACCEL_COREDUMP_WALK;
	info->walk_addr = walk->addr;
	info->walk_levels = walk->levels;
	memcpy(info->walk_entry, walk->entry, sizeof(info->walk_entry));
	info->walk_writable = (end == WALK_BLOCK || end == WALK_PAGE) &&
			      walk->entry[walk->levels - 1] & PTE_WRITE;
	snprintf(info->walk_end, sizeof(info->walk_end), "%s", ends[end]);
}

int accel_coredump_get_info(const void *data, size_t size, struct accel_coredump_info *info)
{
	struct accel_coredump_info full = { 0 };
	struct dump d = { 0 };
	int ret;

	if (!data)
		return -EINVAL;
	if (!info)
		return -EINVAL;
	ret = read_dump(&d, data, size);
	if (ret)
		return ret;
	full.realtime_ns = d.header.realtime_ns;
	full.boottime_ns = d.header.boottime_ns;
	full.timestamp = d.header.timestamp;
	full.timestamp_hz = d.header.timestamp_hz;
	full.hw_version = d.header.hw_version;
	full.driver_version = d.header.driver_version;
	if (d.header.version)
		snprintf(full.cause, sizeof(full.cause), "%s", cause_name(d.header.cause));
	dump_string(full.device, sizeof(full.device), d.header.device, sizeof(d.header.device));
	dump_string(full.profile, sizeof(full.profile), d.header.profile,
		    sizeof(d.header.profile));
	dump_string(full.kernel, sizeof(full.kernel), d.header.kernel, sizeof(d.header.kernel));
	if (d.has_job)
		fill_job(&full, &d.job);
	if (d.has_walk)
		fill_walk(&full, &d.walk);
	ret = struct_out(info, &full, sizeof(full), sizeof(full));
	if (ret)
		return ret;
	return d.malformed ? -EBADMSG : 0;
}

// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Device coredumps of jobs that hung or faulted, and of lost devices: /sys/class/devcoredump,
 * format in uma_dump.h.
 *
 * A dump is taken by recovery, on &uma_device.reset_wq, before the reset that clears the state. Its
 * memory is preallocated: fences depend on recovery, so it may neither allocate nor wait. After
 * recovery a work hands a copy over; until then no other dump is taken.
 */
#include <linux/devcoredump.h>
#include <linux/highmem.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <linux/timekeeping.h>
#include <linux/utsname.h>
#include <linux/vmalloc.h>

#include <drm/drm_drv.h>
#include <drm/drm_managed.h>

#include "uma_device.h"
#include "uma_gem.h"
#include "uma_job.h"
#include "uma_show.h"
#include "uma_vm.h"

/* Number of tasks that are dumped before and after the one that failed. */
#define UMA_COREDUMP_TASKS	2
/* How often, and at which interval, it is checked whether the previous dump has gone. */
#define UMA_COREDUMP_TRIES	100
#define UMA_COREDUMP_PAUSE_MS	20

/* The structs of the format have plain types, for user space. */
#define UMA_LE32(x)	((__force u32)cpu_to_le32(x))
#define UMA_LE64(x)	((__force u64)cpu_to_le64(x))

/**
 * enum uma_coredump_state - state of the preallocated dump
 * @UMA_COREDUMP_FREE: not in use
 * @UMA_COREDUMP_TAKEN: taken by recovery
 * @UMA_COREDUMP_SENT: being handed over by the work
 */
enum uma_coredump_state {
	UMA_COREDUMP_FREE,
	UMA_COREDUMP_TAKEN,
	UMA_COREDUMP_SENT,
};

/* The device's dump */
struct uma_coredump {
	struct uma_device *uma;
	struct delayed_work work;	/* hands the dump over */
	u32 tries;			/* how often work has found the previous dump */
	/* &enum uma_coredump_state; changed from FREE by recovery, back to it by work */
	int state;
	/* engine of the job, NULL if it is not about a job */
	const struct uma_engine *engine;
	u64 seqno;			/* sequence number of the job */
	u32 taken;			/* number of dumps taken */
	/* number of dumps dropped because of a previous one, or without memory */
	atomic_t dropped;
	size_t room;			/* size of data */
	size_t size;			/* bytes of data in use */
	u8 data[];			/* the dump */
};

/* Registers that can be read without side effects */
struct uma_reg_range {
	u32 first;	/* offset of the first */
	u32 count;	/* number of registers, or of pairs */
	bool pair;	/* pairs of 64 bits: reading the low word latches the high word */
};

static const struct uma_reg_range uma_coredump_device_regs[] = {
	{ UMA_REG_MAGIC, 8 },
	{ UMA_REG_PROFILE, 8 },
	{ UMA_REG_TIMESTAMP_HZ, 2, true },
	{ UMA_REG_IRQ_STATUS, 2 },
	{ UMA_REG_DEV_CTRL, 2 },
	{ UMA_REG_PWR_CTRL, 9 },
	{ UMA_REG_ENERGY_UJ_LO, 1, true },
	{ UMA_REG_INVAL_AS, 1 },
	{ UMA_REG_INVAL_START_LO, 2, true },
	{ UMA_REG_INVAL_STATUS, 1 },
};

static const struct uma_reg_range uma_coredump_engine_regs[] = {
	{ UMA_ENG_CLASS, 8 },
	{ UMA_ENG_RING_BASE_LO, 2, true },
	{ UMA_ENG_RING_ORDER, 3 },
	{ UMA_ENG_CTRL, 3 },
	{ UMA_ENG_FAULT_REASON, 3 },
	{ UMA_ENG_FAULT_ADDR_LO, 2, true },
	{ UMA_ENG_COUNTER(0), UMA_MAX_COUNTERS, true },
};

static size_t uma_coredump_count_regs(const struct uma_reg_range *ranges, size_t n)
{
	size_t count = 0;

	while (n--)
		count += ranges[n].count << ranges[n].pair;
	return count;
}

static size_t uma_coredump_room(const struct uma_device *uma)
{
	size_t engines = uma->info.engine_count, ring = 0, regs, i;

	regs = uma_coredump_count_regs(uma_coredump_device_regs,
				       ARRAY_SIZE(uma_coredump_device_regs)) +
		3 * uma->info.node_count + 2 * uma->as_count +
		engines * uma_coredump_count_regs(uma_coredump_engine_regs,
						  ARRAY_SIZE(uma_coredump_engine_regs));
	for (i = 0; i < engines; i++)
		ring = max(ring, (sizeof(struct uma_ring_entry) + sizeof(struct uma_record)) <<
			   uma->engines[i].ring_order);
	return sizeof(struct uma_dump_header) + 6 * sizeof(struct uma_dump_section) +
		sizeof(struct uma_dump_job) + regs * sizeof(struct uma_dump_reg) +
		sizeof(struct uma_dump_ring) + ring + sizeof(struct uma_dump_tasks) +
		(2 * UMA_COREDUMP_TASKS + 1) * UMA_TASK_SIZE + sizeof(struct uma_dump_walk) +
		engines * (UMA_HISTORY_EVENTS + UMA_HISTORY_SLICES) * sizeof(struct uma_dump_event);
}

/* Append @size bytes of zero. uma_coredump_room() is enough for all that may be added. */
static void *uma_coredump_add(struct uma_coredump *dump, size_t size)
{
	void *p = dump->data + dump->size;

	if (WARN_ON_ONCE(size > dump->room - dump->size))
		return NULL;
	dump->size += size;
	return memset(p, 0, size);
}

/* Begin a section; uma_coredump_close() fills in its size. */
static struct uma_dump_section *uma_coredump_open(struct uma_coredump *dump, u32 type)
{
	struct uma_dump_section *section = uma_coredump_add(dump, sizeof(*section));

	if (section)
		section->type = UMA_LE32(type);
	return section;
}

static void uma_coredump_close(struct uma_coredump *dump, struct uma_dump_section *section)
{
	if (section)
		section->size = UMA_LE32(dump->data + dump->size - (u8 *)(section + 1));
}

/* Append a section that is a single struct. */
static void *uma_coredump_single(struct uma_coredump *dump, u32 type, size_t size)
{
	struct uma_dump_section *section = uma_coredump_open(dump, type);
	void *p = uma_coredump_add(dump, size);

	uma_coredump_close(dump, section);
	return p;
}

static void uma_coredump_header(struct uma_coredump *dump, u32 cause)
{
	struct uma_dump_header *h = uma_coredump_add(dump, sizeof(*h));
	struct uma_device *uma = dump->uma;

	if (!h)
		return;
	h->magic = UMA_LE64(UMA_DUMP_MAGIC);
	h->version = UMA_LE32(1);
	h->cause = UMA_LE32(cause);
	h->realtime_ns = UMA_LE64(ktime_get_real_ns());
	h->boottime_ns = UMA_LE64(ktime_get_boottime_ns());
	h->timestamp = UMA_LE64(uma_read64(uma, UMA_REG_TIMESTAMP_LO));
	h->timestamp_hz = UMA_LE64(uma->info.timestamp_hz);
	h->hw_version = UMA_LE32(uma->info.hw_version);
	h->driver_version = UMA_LE32(uma->drm.driver->major << 16 | uma->drm.driver->minor);
	strscpy(h->device, dev_name(uma->drm.dev), sizeof(h->device));
	strscpy(h->profile, (const char *)uma->info.profile, sizeof(h->profile));
	strscpy(h->kernel, init_utsname()->release, sizeof(h->kernel));
}

static void uma_coredump_job_section(struct uma_coredump *dump, const struct uma_engine *engine)
{
	const struct uma_result *result = &engine->result;
	const struct uma_job *job = engine->job;
	struct uma_dump_job *j;

	j = uma_coredump_single(dump, UMA_DUMP_JOB, sizeof(*j));
	if (!j)
		return;
	j->engine = UMA_LE32(engine->index);
	j->error = UMA_LE32(-uma_failure_error(engine->failure));
	j->pid = UMA_LE32(pid_nr(job->queue->pid));
	j->queue_id = UMA_LE32(job->queue->state.queue_id);
	j->number = UMA_LE64(job->number);
	j->seqno = UMA_LE64(engine->seqno);
	j->tasks_addr = UMA_LE64(job->tasks_addr);
	j->task_count = UMA_LE32(job->task_count);
	j->task_index = UMA_LE32(result->task_index);
	j->reason = UMA_LE32(engine->failure == UMA_FAILURE_FAULT ? result->reason : 0);
	j->slot = UMA_LE32(result->slot);
	j->fault_addr = UMA_LE64(engine->failure == UMA_FAILURE_FAULT ? result->fault_addr : 0);
	j->as = UMA_LE32(engine->as);
	j->engine_class = UMA_LE32(engine->info.engine_class);
	strscpy(j->engine_name, engine->name, sizeof(j->engine_name));
	BUILD_BUG_ON(sizeof(j->comm) < TASK_COMM_LEN);
	uma_comm_of(job->queue->pid, j->comm);
}

static void uma_coredump_reg(struct uma_coredump *dump, u32 offset, u32 value)
{
	struct uma_dump_reg *reg = uma_coredump_add(dump, sizeof(*reg));

	if (reg) {
		reg->offset = UMA_LE32(offset);
		reg->value = UMA_LE32(value);
	}
}

static void uma_coredump_range(struct uma_coredump *dump, u32 base,
			       const struct uma_reg_range *range)
{
	u32 i, offset = base + range->first;

	for (i = 0; i < range->count; i++) {
		if (range->pair) {
			u64 value = uma_read64(dump->uma, offset);

			uma_coredump_reg(dump, offset, lower_32_bits(value));
			uma_coredump_reg(dump, offset + 4, upper_32_bits(value));
			offset += 8;
		} else {
			uma_coredump_reg(dump, offset, uma_read(dump->uma, offset));
			offset += 4;
		}
	}
}

static void uma_coredump_regs(struct uma_coredump *dump)
{
	const struct uma_reg_range roots = { UMA_REG_AS_ROOT_LO(0), dump->uma->as_count, true };
	const struct uma_reg_range size = { UMA_NODE_SIZE_LO, 1, true };
	const struct uma_reg_range bandwidth = { UMA_NODE_BANDWIDTH_MBS, 1 };
	struct uma_device *uma = dump->uma;
	struct uma_dump_section *section;
	struct uma_engine *engine;
	u32 i;

	section = uma_coredump_open(dump, UMA_DUMP_REGS);
	for (i = 0; i < ARRAY_SIZE(uma_coredump_device_regs); i++)
		uma_coredump_range(dump, 0, &uma_coredump_device_regs[i]);
	for (i = 0; i < uma->info.node_count; i++) {
		uma_coredump_range(dump, UMA_REG_NODE(i), &size);
		uma_coredump_range(dump, UMA_REG_NODE(i), &bandwidth);
	}
	uma_coredump_range(dump, 0, &roots);
	uma_for_each_engine(uma, engine)
		for (i = 0; i < ARRAY_SIZE(uma_coredump_engine_regs); i++)
			uma_coredump_range(dump, UMA_REG_ENGINE(engine->index),
					   &uma_coredump_engine_regs[i]);
	uma_coredump_close(dump, section);
}

static void uma_coredump_ring(struct uma_coredump *dump, const struct uma_engine *engine)
{
	size_t entries = sizeof(*engine->ring) << engine->ring_order;
	size_t records = sizeof(*engine->records) << engine->ring_order;
	struct uma_dump_section *section;
	struct uma_dump_ring *r;
	void *p;

	section = uma_coredump_open(dump, UMA_DUMP_RING);
	r = uma_coredump_add(dump, sizeof(*r));
	if (r) {
		r->engine = UMA_LE32(engine->index);
		r->order = UMA_LE32(engine->ring_order);
		r->head = UMA_LE32(uma_read(engine->uma, UMA_REG_ENGINE(engine->index) +
					    UMA_ENG_RING_HEAD));
		r->tail = UMA_LE32(engine->tail);
		r->entry_size = UMA_LE32(sizeof(*engine->ring));
		r->record_size = UMA_LE32(sizeof(*engine->records));
	}
	p = uma_coredump_add(dump, entries);
	if (p)
		memcpy(p, engine->ring, entries);
	p = uma_coredump_add(dump, records);
	if (p)
		memcpy(p, engine->records, records);
	uma_coredump_close(dump, section);
}

/*
 * The page at a device address, NULL if the CPU cannot read it. With the lock of the address space
 * held, a buffer that is mapped there keeps its pages: the shrinker trylocks it before it purges.
 */
static struct page *uma_coredump_page(struct uma_vm *vm, u64 addr)
{
	struct drm_gem_object *obj;
	struct drm_gpuva *va;
	struct uma_bo *bo;
	u64 offset;

	lockdep_assert_held(&vm->lock);

	va = drm_gpuva_find_first(&vm->base, addr, 1);
	if (!va)
		return NULL;
	obj = va->gem.obj;
	bo = to_uma_bo(obj);
	offset = va->gem.offset + (addr - va->va.addr);
	if (offset >= obj->size || uma_bo_purged(bo))
		return NULL;
	if (bo->user)
		return bo->user->pages[offset >> PAGE_SHIFT];
	/* Memory of another device may have no pages. */
	if (drm_gem_is_imported(obj) || !bo->shmem.pages)
		return NULL;
	return bo->shmem.pages[offset >> PAGE_SHIFT];
}

static bool uma_coredump_copy(struct uma_vm *vm, u8 *to, u64 addr, size_t size)
{
	while (size) {
		size_t part = min_t(size_t, size, PAGE_SIZE - offset_in_page(addr));
		struct page *page = uma_coredump_page(vm, addr);

		if (!page)
			return false;
		memcpy_from_page((char *)to, page, offset_in_page(addr), part);
		to += part;
		addr += part;
		size -= part;
	}
	return true;
}

/* Append the task that failed and its neighbours, as far as they can be read. */
static void uma_coredump_tasks(struct uma_coredump *dump, const struct uma_engine *engine)
{
	const struct uma_job *job = engine->job;
	struct uma_dump_section *section;
	u32 index, first, last, count = 0;
	size_t begin = dump->size;
	struct uma_dump_tasks *t;
	u8 *p;

	if (!job->task_count)
		return;
	/* The index comes from the device. */
	index = min(engine->result.task_index, job->task_count - 1);
	first = index - min(index, UMA_COREDUMP_TASKS);
	last = min_t(u64, (u64)index + UMA_COREDUMP_TASKS, job->task_count - 1);

	section = uma_coredump_open(dump, UMA_DUMP_TASKS);
	t = uma_coredump_add(dump, sizeof(*t));
	for (index = first; index <= last; index++) {
		p = uma_coredump_add(dump, UMA_TASK_SIZE);
		if (p && uma_coredump_copy(job->queue->vm, p,
					   job->tasks_addr + (u64)index * UMA_TASK_SIZE,
					   UMA_TASK_SIZE)) {
			count++;
			continue;
		}
		if (p)
			dump->size -= UMA_TASK_SIZE;
		/* Tasks in a section are consecutive: those before or after a gap are left out. */
		if (count)
			break;
		first++;
	}
	if (t && count) {
		t->first = UMA_LE32(first);
		t->count = UMA_LE32(count);
		uma_coredump_close(dump, section);
	} else {
		dump->size = begin;
	}
}

static void uma_coredump_walk(struct uma_coredump *dump, const struct uma_engine *engine)
{
	const struct uma_vm *vm = engine->job->queue->vm;
	u64 entries[UMA_PT_LEVELS];
	struct uma_dump_walk *w;
	u32 levels, i;

	BUILD_BUG_ON(UMA_PT_LEVELS > UMA_DUMP_LEVELS);

	if (engine->failure != UMA_FAILURE_FAULT || !engine->result.fault_addr || vm->dead)
		return;
	w = uma_coredump_single(dump, UMA_DUMP_WALK, sizeof(*w));
	if (!w)
		return;
	levels = uma_pt_walk(&vm->pt, engine->result.fault_addr, entries);
	w->addr = UMA_LE64(engine->result.fault_addr);
	w->levels = UMA_LE32(levels);
	for (i = 0; i < levels; i++)
		w->entry[i] = UMA_LE64(entries[i]);
}

static int uma_coredump_older(const void *a, const void *b)
{
	u64 x = le64_to_cpu((__force __le64)((const struct uma_dump_event *)a)->boottime_ns);
	u64 y = le64_to_cpu((__force __le64)((const struct uma_dump_event *)b)->boottime_ns);

	return x < y ? -1 : x > y;
}

/* Append the events of a ring, in any order. */
static void uma_coredump_events(struct uma_coredump *dump, const struct uma_dump_event *events,
				size_t n)
{
	void *p = uma_coredump_add(dump, n * sizeof(*events));

	if (p)
		memcpy(p, events, n * sizeof(*events));
}

static void uma_coredump_history(struct uma_coredump *dump)
{
	struct uma_device *uma = dump->uma;
	struct uma_dump_section *section;
	struct uma_dump_event *events;
	struct uma_engine *engine;

	section = uma_coredump_open(dump, UMA_DUMP_HISTORY);
	events = (void *)(dump->data + dump->size);
	uma_for_each_engine(uma, engine) {
		const struct uma_history *h = &engine->history;

		spin_lock_irq(&engine->lock);
		uma_coredump_events(dump, h->events, min(h->count, UMA_HISTORY_EVENTS));
		uma_coredump_events(dump, h->slices, min(h->slice_count, UMA_HISTORY_SLICES));
		spin_unlock_irq(&engine->lock);
	}
	sort(events, (struct uma_dump_event *)(dump->data + dump->size) - events, sizeof(*events),
	     uma_coredump_older, NULL);
	uma_coredump_close(dump, section);
}

/**
 * uma_coredump_event - record an event of an engine
 * @engine: engine, its lock held
 * @type: type
 * @job: its job, NULL for none
 * @error: 0 or negative error
 *
 * Callable from interrupts.
 */
void uma_coredump_event(struct uma_engine *engine, enum uma_dump_event_type type,
			const struct uma_job *job, int error)
{
	struct uma_history *h = &engine->history;
	/* Otherwise the sequence number is that of an earlier job. */
	bool on_ring = engine->started && (!job || job == engine->job);
	struct uma_dump_event *e;

	lockdep_assert_held(&engine->lock);

	if (type == UMA_DUMP_EVENT_PREEMPT ||
	    (type == UMA_DUMP_EVENT_RUN && uma_job_has_begun(job)))
		e = &h->slices[h->slice_count++ % UMA_HISTORY_SLICES];
	else
		e = &h->events[h->count++ % UMA_HISTORY_EVENTS];
	*e = (struct uma_dump_event) {
		.boottime_ns = UMA_LE64(ktime_get_boottime_ns()),
		.engine = UMA_LE32(engine->index),
		.type = UMA_LE32(type),
		.seqno = UMA_LE64(on_ring ? engine->seqno : 0),
		.error = UMA_LE32(-error),
	};
	if (job) {
		e->number = UMA_LE64(job->number);
		e->pid = UMA_LE32(pid_nr(job->queue->pid));
		e->queue_id = UMA_LE32(job->queue->state.queue_id);
	}
}

/* Begin a dump, unless the previous one is still in use. */
static struct uma_coredump *uma_coredump_begin(struct uma_device *uma, u32 cause)
{
	struct uma_coredump *dump = uma->coredump;

	/* While the driver is unbound nothing is dumped. */
	if (!dump || READ_ONCE(uma->going))
		return NULL;
	/* Pairs with the release in uma_coredump_work(), which has read the old contents. */
	if (smp_load_acquire(&dump->state) != UMA_COREDUMP_FREE) {
		atomic_inc(&dump->dropped);
		return NULL;
	}
	dump->size = 0;
	dump->engine = NULL;
	dump->seqno = 0;
	uma_coredump_header(dump, cause);
	return dump;
}

static void uma_coredump_end(struct uma_coredump *dump)
{
	uma_coredump_history(dump);
	WRITE_ONCE(dump->taken, dump->taken + 1);
	WRITE_ONCE(dump->state, UMA_COREDUMP_TAKEN);
}

/**
 * uma_coredump_job - dump a job that hung or faulted
 * @engine: its engine, before it is reset
 *
 * Does nothing for other jobs. Only recovery detaches a job that has failed, and calls this.
 */
void uma_coredump_job(struct uma_engine *engine)
{
	struct uma_coredump *dump = engine->uma->coredump;
	struct uma_vm *vm;
	bool fault, bad;

	spin_lock_irq(&engine->lock);
	fault = engine->failure == UMA_FAILURE_FAULT;
	bad = engine->state == UMA_ENGINE_FAILED &&
	      (fault || engine->failure == UMA_FAILURE_TIMEOUT);
	spin_unlock_irq(&engine->lock);
	/* It may have been dumped already, before the reset of its engine failed. */
	if (!bad || !dump || (READ_ONCE(dump->state) == UMA_COREDUMP_TAKEN &&
			      dump->engine == engine && dump->seqno == engine->seqno))
		return;
	dump = uma_coredump_begin(engine->uma, fault ? UMA_DUMP_FAULT : UMA_DUMP_HANG);
	if (!dump)
		return;
	dump->engine = engine;
	dump->seqno = engine->seqno;
	uma_coredump_job_section(dump, engine);
	uma_coredump_regs(dump);
	uma_coredump_ring(dump, engine);
	/* The holder of the lock may be waiting for memory, or for this job. */
	vm = engine->job->queue->vm;
	if (mutex_trylock(&vm->lock)) {
		uma_coredump_tasks(dump, engine);
		uma_coredump_walk(dump, engine);
		mutex_unlock(&vm->lock);
	}
	uma_coredump_end(dump);
}

/* Dump a device that does not recover. If a job caused that, mark the job's dump. */
void uma_coredump_wedged(struct uma_device *uma)
{
	struct uma_coredump *dump = uma->coredump;

	if (dump && READ_ONCE(dump->state) == UMA_COREDUMP_TAKEN) {
		((struct uma_dump_header *)dump->data)->cause = UMA_LE32(UMA_DUMP_WEDGED);
		return;
	}
	dump = uma_coredump_begin(uma, UMA_DUMP_WEDGED);
	if (!dump)
		return;
	uma_coredump_regs(dump);
	uma_coredump_end(dump);
}

/* Hand over the dump, if one was taken. */
void uma_coredump_send(struct uma_device *uma)
{
	struct uma_coredump *dump = uma->coredump;

	if (!dump || READ_ONCE(dump->state) != UMA_COREDUMP_TAKEN)
		return;
	((struct uma_dump_header *)dump->data)->size = UMA_LE64(dump->size);
	dump->tries = 0;
	WRITE_ONCE(dump->state, UMA_COREDUMP_SENT);
	queue_delayed_work(uma_wq, &dump->work, 0);
}

/*
 * Is there a previous dump, or one that is about to go? The core takes a dump off its list before
 * it removes the link to it, and warns when a new one meets the link. The two cannot be
 * distinguished here, so a new dump waits for a while before it is dropped.
 */
static bool uma_coredump_linked(struct device *dev)
{
	struct kernfs_node *link = sysfs_get_dirent(dev->kobj.sd, "devcoredump");

	sysfs_put(link);
	return link;
}

static void uma_coredump_work(struct work_struct *work)
{
	struct uma_coredump *dump = container_of(work, struct uma_coredump, work.work);
	struct device *dev = dump->uma->drm.dev;
	size_t size = dump->size;
	void *data = NULL;

	if (!uma_coredump_linked(dev)) {
		data = __vmalloc(size, GFP_KERNEL | __GFP_NOWARN);
	} else if (dump->tries++ < UMA_COREDUMP_TRIES) {
		queue_delayed_work(uma_wq, &dump->work, msecs_to_jiffies(UMA_COREDUMP_PAUSE_MS));
		return;
	}
	if (data)
		memcpy(data, dump->data, size);
	else
		atomic_inc(&dump->dropped);
	/* Pairs with the acquire in uma_coredump_begin(), which may overwrite the dump then. */
	smp_store_release(&dump->state, UMA_COREDUMP_FREE);
	/* The core frees it, at once if the previous dump has not been read. */
	if (data)
		dev_coredumpv(dev, data, size, GFP_KERNEL);
}

/* Numbers of dumps that were taken and dropped. */
void uma_coredump_counts(struct uma_device *uma, u32 *taken, u32 *dropped)
{
	*taken = READ_ONCE(uma->coredump->taken);
	*dropped = atomic_read(&uma->coredump->dropped);
}

static void uma_coredump_fini(struct drm_device *drm, void *dump)
{
	to_uma_device(drm)->coredump = NULL;
	vfree(dump);
}

int uma_coredump_init(struct uma_device *uma)
{
	size_t room = uma_coredump_room(uma);
	struct uma_coredump *dump;

	if (WARN_ON(room > UMA_DUMP_MAX_SIZE))
		return -EINVAL;
	dump = __vmalloc(struct_size(dump, data, room), GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN);
	if (!dump)
		return -ENOMEM;
	dump->uma = uma;
	dump->room = room;
	INIT_DELAYED_WORK(&dump->work, uma_coredump_work);
	uma->coredump = dump;
	return drmm_add_action_or_reset(&uma->drm, uma_coredump_fini, dump);
}

/*
 * Nothing is handed over any more; recovery has been stopped. A dump that was handed over stays: it
 * holds a reference to the bus device, but nothing of the driver.
 */
void uma_coredump_stop(struct uma_device *uma)
{
	cancel_delayed_work_sync(&uma->coredump->work);
}

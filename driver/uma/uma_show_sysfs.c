// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * sysfs files, which Documentation/sysfs-abi.rst describes, uevents and lines in the kernel log.
 *
 * The files are created before the device node, so that they exist when its uevent is sent, and
 * removed after it. Reading a file does not resume the device.
 */
#include <linux/capability.h>
#include <linux/device.h>
#include <linux/jiffies.h>
#include <linux/kobject.h>
#include <linux/pid.h>
#include <linux/ratelimit.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_print.h>

#include "uma_device.h"
#include "uma_drv.h"
#include "uma_job.h"
#include "uma_pm.h"
#include "uma_show.h"

static ssize_t uma_store_ms(u32 *value, const char *buf, size_t count)
{
	unsigned int ms;
	int ret;

	ret = kstrtouint(buf, 0, &ms);
	if (ret)
		return ret;
	if (!ms || ms > UMA_MAX_TIMEOUT_MS)
		return -EINVAL;
	WRITE_ONCE(*value, ms);
	return count;
}

/* A member of the device in milliseconds, 1 to UMA_MAX_TIMEOUT_MS. */
#define UMA_SYSFS_MS(name)								\
static ssize_t name##_show(struct device *dev, struct device_attribute *attr, char *buf)	\
{											\
	struct uma_device *uma = dev_get_drvdata(dev);					\
											\
	return sysfs_emit(buf, "%u\n", READ_ONCE(uma->name));				\
}											\
											\
static ssize_t name##_store(struct device *dev, struct device_attribute *attr,		\
			    const char *buf, size_t count)				\
{											\
	struct uma_device *uma = dev_get_drvdata(dev);					\
											\
	return uma_store_ms(&uma->name, buf, count);					\
}											\
static DEVICE_ATTR_RW(name)

UMA_SYSFS_MS(job_timeout_ms);
UMA_SYSFS_MS(preempt_timeout_ms);
UMA_SYSFS_MS(time_slice_ms);

static ssize_t power_mode_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct uma_device *uma = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%s\n", uma_power_modes[READ_ONCE(uma->devfreq.mode)]);
}

static ssize_t power_mode_store(struct device *dev, struct device_attribute *attr,
				const char *buf, size_t count)
{
	struct uma_device *uma = dev_get_drvdata(dev);
	int mode, idx, ret;

	mode = sysfs_match_string(uma_power_modes, buf);
	if (mode < 0)
		return mode;
	if (!drm_dev_enter(&uma->drm, &idx))
		return -ENODEV;
	ret = uma_devfreq_set_mode(uma, mode);
	drm_dev_exit(idx);
	return ret ?: count;
}
static DEVICE_ATTR_RW(power_mode);

static ssize_t reset_store(struct device *dev, struct device_attribute *attr, const char *buf,
			   size_t count)
{
	struct uma_device *uma = dev_get_drvdata(dev);
	struct uma_engine *engine;

	/* No drm_dev_enter(): this may drain jobs, which must not delay an unplug. */
	if (sysfs_streq(buf, "device"))
		return uma_reset_now(uma, NULL) ?: count;
	uma_for_each_engine(uma, engine)
		if (sysfs_streq(buf, engine->name))
			return uma_reset_now(uma, engine) ?: count;
	return -EINVAL;
}
static DEVICE_ATTR_WO(reset);

#define UMA_SYSFS_RO(name, format, value)						\
static ssize_t name##_show(struct device *dev, struct device_attribute *attr, char *buf)	\
{											\
	struct uma_device *uma = dev_get_drvdata(dev);					\
											\
	return sysfs_emit(buf, format "\n", value);					\
}											\
static DEVICE_ATTR_RO(name)

/*
 * Everybody may know the load of a device, as that of processors in /proc/stat, in the same unit.
 * How long a single job of another user takes needs the capability for the counters of an engine.
 */
static u64 uma_sysfs_busy_us(u64 ns)
{
	u64 us = div_u64(ns, NSEC_PER_USEC);

	if (uma_may(CAP_PERFMON) || uma_may(CAP_SYS_ADMIN))
		return us;
	return div_u64(us, USEC_PER_SEC / USER_HZ) * (USEC_PER_SEC / USER_HZ);
}

static u64 uma_sysfs_timeouts(struct uma_device *uma)
{
	struct uma_engine *engine;
	u64 count = 0;

	uma_for_each_engine(uma, engine)
		count += READ_ONCE(engine->counters.timeouts);
	return count;
}

static u64 uma_sysfs_missed(struct uma_device *uma)
{
	struct uma_engine *engine;
	u64 count = 0;

	uma_for_each_engine(uma, engine)
		count += READ_ONCE(engine->missed);
	return count;
}

UMA_SYSFS_RO(npu_busy_time_us, "%llu", uma_sysfs_busy_us(uma_busy_ns(uma)));
UMA_SYSFS_RO(busy_percent, "%u", uma_busy_now(uma));
UMA_SYSFS_RO(memory_used_bytes, "%llu", (u64)atomic64_read(&uma->resident));
UMA_SYSFS_RO(throttled, "%d", READ_ONCE(uma->throttled));
UMA_SYSFS_RO(throttle_count, "%llu", READ_ONCE(uma->throttle_count));
UMA_SYSFS_RO(reset_count, "%u", (u32)atomic_read(&uma->reset_count));
UMA_SYSFS_RO(fault_count, "%u", (u32)atomic_read(&uma->fault_count));
UMA_SYSFS_RO(timeout_count, "%llu", uma_sysfs_timeouts(uma));
UMA_SYSFS_RO(missed_count, "%llu", uma_sysfs_missed(uma));
UMA_SYSFS_RO(wedged, "%d", READ_ONCE(uma->lost));

static struct attribute *uma_attrs[] = {
	&dev_attr_job_timeout_ms.attr,
	&dev_attr_preempt_timeout_ms.attr,
	&dev_attr_time_slice_ms.attr,
	&dev_attr_power_mode.attr,
	&dev_attr_npu_busy_time_us.attr,
	&dev_attr_busy_percent.attr,
	&dev_attr_memory_used_bytes.attr,
	&dev_attr_throttled.attr,
	&dev_attr_throttle_count.attr,
	&dev_attr_reset.attr,
	&dev_attr_reset_count.attr,
	&dev_attr_fault_count.attr,
	&dev_attr_timeout_count.attr,
	&dev_attr_missed_count.attr,
	&dev_attr_wedged.attr,
	NULL,
};

static const struct attribute_group uma_group = {
	.attrs = uma_attrs,
};

/* A file in an engine's directory */
struct uma_engine_attr {
	struct device_attribute attr;
	struct uma_engine *engine;
	u64 (*get)(struct uma_engine *engine);	/* returns the value */
};

static u64 uma_sysfs_engine_busy(struct uma_engine *engine)
{
	return uma_sysfs_busy_us(uma_engine_busy_ns(engine));
}

static u64 uma_sysfs_engine_jobs(struct uma_engine *engine)
{
	return READ_ONCE(engine->counters.jobs);
}

static u64 uma_sysfs_engine_faults(struct uma_engine *engine)
{
	return READ_ONCE(engine->counters.faults);
}

static u64 uma_sysfs_engine_timeouts(struct uma_engine *engine)
{
	return READ_ONCE(engine->counters.timeouts);
}

static u64 uma_sysfs_engine_resets(struct uma_engine *engine)
{
	return READ_ONCE(engine->resets);
}

static u64 uma_sysfs_engine_preemptions(struct uma_engine *engine)
{
	return READ_ONCE(engine->preemptions);
}

static u64 uma_sysfs_engine_clock(struct uma_engine *engine)
{
	return engine->info.clock_max_mhz;
}

static const struct {
	const char *name;
	u64 (*get)(struct uma_engine *engine);
} uma_engine_files[] = {
	{ "busy_time_us", uma_sysfs_engine_busy },
	{ "jobs", uma_sysfs_engine_jobs },
	{ "faults", uma_sysfs_engine_faults },
	{ "timeouts", uma_sysfs_engine_timeouts },
	{ "preemptions", uma_sysfs_engine_preemptions },
	{ "resets", uma_sysfs_engine_resets },
	{ "clock_max_mhz", uma_sysfs_engine_clock },
};

/* Directory of an engine */
struct uma_engine_files {
	char name[32];
	struct attribute_group group;
	struct attribute *list[ARRAY_SIZE(uma_engine_files) + 1];	/* of files, then NULL */
	struct uma_engine_attr files[ARRAY_SIZE(uma_engine_files)];
};

static ssize_t uma_engine_attr_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct uma_engine_attr *file = container_of(attr, struct uma_engine_attr, attr);

	return sysfs_emit(buf, "%llu\n", file->get(file->engine));
}

static int uma_sysfs_add_engine(struct uma_engine *engine)
{
	struct device *dev = engine->uma->drm.dev;
	struct uma_engine_files *files;
	unsigned int i;

	files = devm_kzalloc(dev, sizeof(*files), GFP_KERNEL);
	if (!files)
		return -ENOMEM;
	snprintf(files->name, sizeof(files->name), "engine-%s", engine->name);
	for (i = 0; i < ARRAY_SIZE(uma_engine_files); i++) {
		struct uma_engine_attr *file = &files->files[i];

		sysfs_attr_init(&file->attr.attr);
		file->attr.attr.name = uma_engine_files[i].name;
		file->attr.attr.mode = 0444;
		file->attr.show = uma_engine_attr_show;
		file->engine = engine;
		file->get = uma_engine_files[i].get;
		files->list[i] = &file->attr.attr;
	}
	files->group.name = files->name;
	files->group.attrs = files->list;
	return devm_device_add_group(dev, &files->group);
}

int uma_sysfs_init(struct uma_device *uma)
{
	struct uma_engine *engine;
	int ret;

	ret = devm_device_add_group(uma->drm.dev, &uma_group);
	if (ret)
		return ret;
	uma_for_each_engine(uma, engine) {
		ret = uma_sysfs_add_engine(engine);
		if (ret)
			return ret;
	}
	return 0;
}

/*
 * Lines in the kernel log, and uevents for monitoring. Any user can cause failures, and so resets
 * of engines, at any rate: so there is no uevent for a failure, and all of these are rate-limited.
 *
 * Sending a uevent allocates memory, so recovery only sets a bit, and a work sends the event.
 *
 * "WEDGED=" is the same as that of drm_dev_wedged_event(), which cannot be used: where it exists it
 * takes the device of the primary node, which an accelerator does not have.
 */

#define UMA_EVENT_PAUSE_MS	10000
/* Bits of the device in &uma_device.events, after those of the engines. */
#define UMA_EVENT_DEVICE	UMA_MAX_ENGINES
#define UMA_EVENT_WEDGED	(UMA_MAX_ENGINES + 1)
/* Rate limit of each kind of line. */
#define UMA_LOG_LINES		5
#define UMA_LOG_SECONDS		10

static void uma_event_send(struct uma_device *uma, char *what, const char *engine, char *more)
{
	char name[32], *envp[4] = { what, name, more };

	snprintf(name, sizeof(name), "ENGINE=%s", engine);
	kobject_uevent_env(&uma->drm.accel->kdev->kobj, KOBJ_CHANGE, envp);
}

static void uma_events_work(struct work_struct *work)
{
	struct uma_device *uma = container_of(work, struct uma_device, event_work.work);
	struct uma_engine *engine;
	int idx;

	/* The device node is gone if the device has been unplugged. */
	if (!drm_dev_enter(&uma->drm, &idx))
		return;
	WRITE_ONCE(uma->event_next, jiffies + msecs_to_jiffies(UMA_EVENT_PAUSE_MS));
	uma_for_each_engine(uma, engine)
		if (test_and_clear_bit(engine->index, &uma->events))
			uma_event_send(uma, "UMA_EVENT=RESET", engine->name, NULL);
	if (test_and_clear_bit(UMA_EVENT_DEVICE, &uma->events))
		uma_event_send(uma, "UMA_EVENT=RESET", "device", NULL);
	if (test_and_clear_bit(UMA_EVENT_WEDGED, &uma->events))
		uma_event_send(uma, "UMA_EVENT=WEDGED", "device", "WEDGED=rebind");
	drm_dev_exit(idx);
}

void uma_events_init(struct uma_device *uma)
{
	u32 i;

	INIT_DELAYED_WORK(&uma->event_work, uma_events_work);
	uma->event_next = jiffies;
	for (i = 0; i < UMA_LOG_KINDS; i++) {
		ratelimit_state_init(&uma->log[i], UMA_LOG_SECONDS * HZ, UMA_LOG_LINES);
		/* No message about suppressed lines while it is in use: the counters have them. */
		ratelimit_set_flags(&uma->log[i], RATELIMIT_MSG_ON_RELEASE);
	}
}

void uma_events_stop(struct uma_device *uma)
{
	cancel_delayed_work_sync(&uma->event_work);
}

/* The name of a process, empty if it has exited; @comm has TASK_COMM_LEN bytes. */
void uma_comm_of(struct pid *pid, char *comm)
{
	struct task_struct *task;

	comm[0] = 0;
	rcu_read_lock();
	task = pid_task(pid, PIDTYPE_TGID);
	if (task)
		strscpy(comm, task->comm, TASK_COMM_LEN);
	rcu_read_unlock();
}

/**
 * uma_event_job - a job hung or faulted
 * @engine: engine
 * @pid: process
 * @number: number of the job in its queue
 * @state: what it did
 */
void uma_event_job(struct uma_engine *engine, struct pid *pid, u64 number,
		   const struct drm_uma_queue_state *state)
{
	bool fault = state->flags & DRM_UMA_QUEUE_FAULTED;
	struct uma_device *uma = engine->uma;
	char comm[TASK_COMM_LEN];

	if (!__ratelimit(&uma->log[fault ? UMA_LOG_FAULT : UMA_LOG_HANG]))
		return;
	/* Escaped when printed, as a process chooses its name. */
	uma_comm_of(pid, comm);
	if (fault)
		drm_notice(&uma->drm, "%s: job %llu of %*pE[%d] faulted: reason %u at %#llx\n",
			   engine->name, number, (int)strlen(comm), comm, pid_nr(pid),
			   state->reason, state->fault_addr);
	else
		drm_notice(&uma->drm, "%s: job %llu of %*pE[%d] hung\n", engine->name, number,
			   (int)strlen(comm), comm, pid_nr(pid));
}

/* An engine was reset, or the device if @engine is NULL. */
void uma_event_reset(struct uma_device *uma, const struct uma_engine *engine)
{
	unsigned long next = READ_ONCE(uma->event_next), now = jiffies;

	if (__ratelimit(&uma->log[UMA_LOG_RESET]))
		drm_notice(&uma->drm, "%s was reset\n", engine ? engine->name : "device");
	set_bit(engine ? engine->index : UMA_EVENT_DEVICE, &uma->events);
	queue_delayed_work(uma_wq, &uma->event_work, time_before(now, next) ? next - now : 0);
}

/* The device throttles. Callable from interrupts. */
void uma_event_hot(struct uma_device *uma)
{
	if (__ratelimit(&uma->log[UMA_LOG_HOT]))
		drm_notice(&uma->drm, "too hot, the clock is lowered\n");
}

/* The device is lost. */
void uma_event_wedged(struct uma_device *uma)
{
	set_bit(UMA_EVENT_WEDGED, &uma->events);
	mod_delayed_work(uma_wq, &uma->event_work, 0);
}

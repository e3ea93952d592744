// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A buffer with many fences: how long a submit that names it takes, and who waits for that. Many
 * queues: how long it takes to recover from a job beside them.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <linux/dma-buf.h>

#include "instance.h"
#include "watch.h"

#define FILES	4u
#define QUEUES	250u
#define JOBS	256u
#define BUFS	4u
/* It takes some time to populate. */
#define SIZE	(8ull << 20)

/* A file with many queues, and buffers of somebody else. */
struct member {
	struct client c;
	__u32 queues[QUEUES];
	__u32 handles[BUFS];
	__u32 after;
};

/* Buffers, the first of them of some size, and files whose jobs wait for a gate. */
struct crowd {
	struct client own;
	__u32 shared[BUFS];
	int dmabufs[BUFS];
	struct member m[FILES];
	struct gate gate;
};

static struct drm_uma_job_bo reads(__u32 handle)
{
	return (struct drm_uma_job_bo){ .handle = handle };
}

static struct drm_uma_job_bo writes(__u32 handle)
{
	return (struct drm_uma_job_bo){ .handle = handle, .flags = DRM_UMA_JOB_BO_WRITE };
}

static void member_make(struct member *m, const char *node, const struct crowd *w)
{
	unsigned int i;

	client_open_named(&m->c, node);
	for (i = 0; i < BUFS; i++)
		m->handles[i] = prime_import(m->c.fd, w->dmabufs[i]);
	for (i = 0; i < QUEUES; i++)
		m->queues[i] = queue_create(m->c.fd, m->c.vm, 0);
}

static void crowd_make(struct crowd *w, const char *node, __u64 size)
{
	unsigned int i;

	client_open_named(&w->own, node);
	for (i = 0; i < BUFS; i++) {
		w->shared[i] = bo_create(w->own.fd, i ? PAGE : size, 0);
		w->dmabufs[i] = prime_export(w->own.fd, w->shared[i]);
	}
	for (i = 0; i < FILES; i++)
		member_make(&w->m[i], node, w);
}

/* When all is there that takes time: the gate opens by itself at some time. */
static void crowd_close_gate(struct crowd *w)
{
	unsigned int i;
	int sync;

	gate_close(&w->gate, w->own.fd);
	ASSERT_EQ(0, syncobj_export_try(w->own.fd, w->gate.syncobj, true, &sync));
	for (i = 0; i < FILES; i++) {
		w->m[i].after = syncobj_create(w->m[i].c.fd, false);
		ASSERT_EQ(0, syncobj_import_try(w->m[i].c.fd, sync, true, &w->m[i].after));
	}
	close(sync);
}

/* One fence of each queue of a file. */
static void crowd_reads(struct member *m)
{
	struct drm_uma_job_bo bo = reads(m->handles[0]);
	struct drm_uma_sync in = sync_in(m->after);
	struct drm_uma_job job = { .bos = array_of(&bo, sizeof(bo), 1),
				   .syncs = array_of(&in, sizeof(in), 1) };
	unsigned int i;

	for (i = 0; i < QUEUES; i++) {
		job.queue_id = m->queues[i];
		ASSERT_EQ(0, submit_try(m->c.fd, &job, 1, NULL));
	}
}

/* Of jobs that do not name the buffer, so that they do not wait for each other. */
static void crowd_writes(struct crowd *w, struct member *m)
{
	struct dma_buf_import_sync_file import = { .flags = DMA_BUF_SYNC_WRITE };
	__u32 done = syncobj_create(m->c.fd, false);
	struct drm_uma_sync syncs[2] = { sync_in(m->after), sync_out(done) };
	struct drm_uma_job job = { .syncs = array_of(syncs, sizeof(syncs[0]), 2) };
	unsigned int i, k;

	for (i = 0; i < QUEUES; i++) {
		job.queue_id = m->queues[i];
		ASSERT_EQ(0, submit_try(m->c.fd, &job, 1, NULL));
		ASSERT_EQ(0, syncobj_export_try(m->c.fd, done, true, &import.fd));
		for (k = 0; k < BUFS; k++)
			ASSERT_EQ(0, do_ioctl(w->dmabufs[k], DMA_BUF_IOCTL_IMPORT_SYNC_FILE,
					      &import));
		close(import.fd);
	}
}

static void crowd_still_waits(struct crowd *w)
{
	if (syncobj_done(w->own.fd, w->gate.syncobj))
		SKIP("a gate opens by itself before this machine has done that");
}

static void crowd_free(struct crowd *w)
{
	unsigned int i;

	gate_open(&w->gate);
	for (i = 0; i < FILES; i++)
		client_close(&w->m[i].c);
	client_close(&w->own);
	for (i = 0; i < BUFS; i++)
		close(w->dmabufs[i]);
	gate_free(&w->gate);
}

/* How long a submit takes, at best. */
static uint64_t submit_ns(int fd, const struct drm_uma_job *jobs, unsigned int count)
{
	uint64_t best = UINT64_MAX, begin, ns;
	unsigned int i;

	for (i = 0; i < 3; i++) {
		begin = now_ns();
		ASSERT_EQ(0, submit_try(fd, jobs, count, NULL));
		ns = now_ns() - begin;
		if (ns < best)
			best = ns;
	}
	return best;
}

/* --- how long ------------------------------------------------------------------------- */

FIXTURE(fences) {
	struct crowd w;
	struct drm_uma_query_limits l;
	__u32 queues[2];
};

FIXTURE_SETUP(fences)
{
	crowd_make(&self->w, dev_name(), PAGE);
	query_limits(self->w.own.fd, &self->l);
	self->queues[0] = queue_create(self->w.own.fd, self->w.own.vm, 0);
	self->queues[1] = queue_create(self->w.own.fd, self->w.own.vm, 0);
	crowd_close_gate(&self->w);
}

FIXTURE_TEARDOWN(fences)
{
	crowd_free(&self->w);
}

/* A job that waits for all of them, and names the buffer so often. */
static uint64_t one_ns(struct fences_fixture *self, unsigned int names)
{
	struct drm_uma_job_bo *bos = calloc(names, sizeof(*bos));
	struct drm_uma_job job = { .queue_id = self->queues[0],
				   .bos = array_of(bos, sizeof(*bos), names) };
	unsigned int i;
	uint64_t ns;

	ASSERT_TRUE(bos);
	for (i = 0; i < names; i++)
		bos[i] = writes(self->w.shared[0]);
	ns = submit_ns(self->w.own.fd, &job, 1);
	free(bos);
	return ns;
}

/* Many jobs, of two queues by turns, that name a buffer. */
static uint64_t many_ns(struct fences_fixture *self, __u32 handle)
{
	struct drm_uma_job_bo bo = writes(handle);
	struct drm_uma_job jobs[JOBS];
	unsigned int i;

	for (i = 0; i < JOBS; i++)
		jobs[i] = (struct drm_uma_job){ .queue_id = self->queues[i & 1],
						.bos = array_of(&bo, sizeof(bo), 1) };
	return submit_ns(self->w.own.fd, jobs, JOBS);
}

/* Four times as many fences on a buffer, which is locked meanwhile, take four times as long. */
TEST_F(fences, many)
{
	uint64_t few, many;
	unsigned int i;

	crowd_reads(&self->w.m[0]);
	few = one_ns(self, 1);
	for (i = 1; i < FILES; i++)
		crowd_reads(&self->w.m[i]);
	many = one_ns(self, 1);
	crowd_still_waits(&self->w);
	harness_diag("%u fences: %llu us, %u: %llu us", QUEUES, (unsigned long long)few / 1000,
		     FILES * QUEUES, (unsigned long long)many / 1000);
	EXPECT_LT(many, 2 * FILES * few);
}

/* To name a buffer often is not to look at its fences often. */
TEST_F(fences, many_names)
{
	uint64_t once, often;
	unsigned int i;

	for (i = 0; i < FILES; i++)
		crowd_reads(&self->w.m[i]);
	once = one_ns(self, 1);
	often = one_ns(self, self->l.max_job_bos);
	crowd_still_waits(&self->w);
	harness_diag("%u fences, named once: %llu us, %u times: %llu us", FILES * QUEUES,
		     (unsigned long long)once / 1000, self->l.max_job_bos,
		     (unsigned long long)often / 1000);
	EXPECT_LT(often, 4 * once);
}

/* Nor is to name it in many jobs, each of which waits for the one before. */
TEST_F(fences, many_jobs)
{
	uint64_t bare, once, often;
	unsigned int i;

	ASSERT_LE(JOBS, self->l.max_submit_jobs);
	bare = many_ns(self, bo_create(self->w.own.fd, PAGE, 0));
	for (i = 0; i < FILES; i++)
		crowd_reads(&self->w.m[i]);
	once = one_ns(self, 1);
	often = many_ns(self, self->w.shared[0]);
	crowd_still_waits(&self->w);
	harness_diag("%u fences: %u jobs in %llu us, one in %llu us; without fences %llu us",
		     FILES * QUEUES, JOBS, (unsigned long long)often / 1000,
		     (unsigned long long)once / 1000, (unsigned long long)bare / 1000);
	EXPECT_LT(often, bare + 8 * once);
}

/* Many jobs, each of a queue of its own, that only read a buffer. */
static uint64_t readers_ns(const struct member *m, __u32 handle, unsigned int count)
{
	struct drm_uma_job_bo bo = reads(handle);
	struct drm_uma_job jobs[QUEUES];
	unsigned int i;

	for (i = 0; i < count; i++)
		jobs[i] = (struct drm_uma_job){ .queue_id = m->queues[i],
						.bos = array_of(&bo, sizeof(bo), 1) };
	return submit_ns(m->c.fd, jobs, count);
}

/* Nor is to read it in many jobs that do not wait for each other, but for all that write to it. */
TEST_F(fences, many_readers)
{
	uint64_t bare, once, often;
	struct member m;
	unsigned int i;

	member_make(&m, dev_name(), &self->w);
	bare = readers_ns(&m, bo_create(m.c.fd, PAGE, 0), QUEUES);
	for (i = 0; i < FILES; i++)
		crowd_writes(&self->w, &self->w.m[i]);
	once = readers_ns(&m, m.handles[0], 1);
	often = readers_ns(&m, m.handles[0], QUEUES);
	crowd_still_waits(&self->w);
	harness_diag("%u fences: %u readers in %llu us, one in %llu us; without fences %llu us",
		     FILES * QUEUES, QUEUES, (unsigned long long)often / 1000,
		     (unsigned long long)once / 1000, (unsigned long long)bare / 1000);
	EXPECT_LT(often, bare + 16 * once);
	client_close(&m.c);
}

/* How long a job takes that fails, at best. */
static uint64_t fault_ns(struct client *c, __u64 nowhere)
{
	uint64_t best = UINT64_MAX, begin, ns;
	unsigned int i;
	__u32 queue;

	expect_faults(-1);
	for (i = 0; i < 5; i++) {
		queue = queue_create(c->fd, c->vm, 0);
		begin = now_ns();
		ASSERT_EQ(-EFAULT, client_run(c, queue, nowhere, 1));
		ns = now_ns() - begin;
		if (ns < best)
			best = ns;
		ASSERT_EQ(0, queue_destroy_try(c->fd, queue));
	}
	return best;
}

/* Whoever recovers the engine does not visit the queues of all others, which may be very many. */
TEST(fault_beside_queues)
{
	enum { OTHERS = 64 };
	struct client own, others[OTHERS];
	uint64_t few, many;
	unsigned int i, k;
	struct buf tasks;
	__u64 nowhere;

	client_open(&own);
	client_buf(&own, &tasks, PAGE);
	nowhere = tasks.va;
	client_free(&own, &tasks);
	few = fault_ns(&own, nowhere);
	for (i = 0; i < OTHERS; i++) {
		client_open(&others[i]);
		for (k = 0; k < QUEUES; k++)
			queue_create(others[i].fd, others[i].vm, 0);
	}
	many = fault_ns(&own, nowhere);
	harness_diag("a fault takes %llu us, beside %u queues %llu us",
		     (unsigned long long)few / 1000, OTHERS * QUEUES,
		     (unsigned long long)many / 1000);
	EXPECT_LT(many, 2 * few);
	for (i = 0; i < OTHERS; i++)
		client_close(&others[i]);
	client_close(&own);
}

/* --- who waits --------------------------------------------------------------------------- */

/*
 * A file that submits as many jobs as it can, each of a queue of its own. All of them read the
 * buffers, which are locked for as long as that takes.
 */
struct submitter {
	struct member m;
	unsigned int bufs;
	pthread_t id;
	int ret;
	__u32 failed;
};

static bool stop;

static bool stopped(void)
{
	return __atomic_load_n(&stop, __ATOMIC_RELAXED);
}

static void submitter_make(struct submitter *s, const char *node, const struct crowd *w,
			   unsigned int bufs)
{
	member_make(&s->m, node, w);
	s->bufs = bufs;
}

static int submitter_once(struct submitter *s)
{
	struct drm_uma_job jobs[QUEUES];
	struct drm_uma_job_bo bos[BUFS];
	unsigned int i;

	for (i = 0; i < s->bufs; i++)
		bos[i] = reads(s->m.handles[i]);
	for (i = 0; i < QUEUES; i++)
		jobs[i] = (struct drm_uma_job){ .queue_id = s->m.queues[i],
						.bos = array_of(bos, sizeof(bos[0]), s->bufs) };
	s->failed = BAD_HANDLE;
	s->ret = submit_try(s->m.c.fd, jobs, QUEUES, &s->failed);
	return s->ret;
}

static void *submitter_run(void *p)
{
	struct submitter *s = p;

	while (!stopped() && !submitter_once(s))
		;
	return NULL;
}

/* What somebody does on a device meanwhile. */
struct other {
	struct client c;
	__u32 handle;
	int dmabuf;
	int (*what)(struct other *o);
	pthread_t id;
	pid_t tid;
	unsigned int rounds;
};

static void *other_run(void *p)
{
	struct other *o = p;

	__atomic_store_n(&o->tid, gettid(), __ATOMIC_RELAXED);
	while (!stopped()) {
		o->what(o);
		__atomic_add_fetch(&o->rounds, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Not one that is just passing. */
static bool other_waits(struct other *o, const char *where)
{
	unsigned int rounds = __atomic_load_n(&o->rounds, __ATOMIC_RELAXED);
	pid_t tid;

	usleep(20000);
	tid = __atomic_load_n(&o->tid, __ATOMIC_RELAXED);
	return tid && waits_in(tid, where) &&
	       __atomic_load_n(&o->rounds, __ATOMIC_RELAXED) == rounds;
}

static int what_submit(struct other *o __attribute__((unused)))
{
	usleep(1000);
	return 0;
}

static int what_madvise(struct other *o)
{
	struct drm_uma_bo_madvise args = { .handle = o->handle, .advice = DRM_UMA_MADV_DONTNEED };

	return do_ioctl(o->c.fd, DRM_IOCTL_UMA_BO_MADVISE, &args);
}

static int what_sync(struct other *o)
{
	struct drm_uma_sync_range range = { .handle = o->handle, .size = PAGE,
					    .flags = DRM_UMA_SYNC_TO_DEVICE };
	struct drm_uma_bo_sync args = { .ranges = array_of(&range, sizeof(range), 1) };

	return do_ioctl(o->c.fd, DRM_IOCTL_UMA_BO_SYNC, &args);
}

static int what_offset(struct other *o)
{
	__u64 offset;

	return bo_offset_try(o->c.fd, o->handle, &offset);
}

static int what_import(struct other *o)
{
	__u32 handle;
	int ret;

	ret = prime_import_try(o->c.fd, o->dmabuf, &handle);
	if (!ret)
		gem_close(o->c.fd, handle);
	return ret;
}

static int what_create(struct other *o)
{
	__u32 handle;
	int ret;

	ret = bo_create_try(o->c.fd, PAGE, 0, &handle);
	if (!ret)
		gem_close(o->c.fd, handle);
	return ret;
}

static int what_import_user(struct other *o)
{
	static __u8 page[PAGE] __attribute__((aligned(PAGE)));
	__u32 handle;
	int ret;

	ret = bo_import_user_try(o->c.fd, page, PAGE, 0, &handle);
	if (!ret)
		gem_close(o->c.fd, handle);
	return ret;
}

FIXTURE(unplug) {
	struct instance home;	/* of the buffer, if not the usual one */
	struct instance in;
	struct crowd w;
	struct submitter s[2];
};

FIXTURE_VARIANT(unplug) {
	int (*what)(struct other *o);
	/* where in the kernel it waits for a submit */
	const char *where;
	bool noncoherent;
	/* on another device, whose handles wait for an import of the buffer */
	bool imports;
};

FIXTURE_VARIANT_ADD(unplug, submit) { .what = what_submit };
FIXTURE_VARIANT_ADD(unplug, madvise) { .what = what_madvise, .where = "uma_ioctl_bo_madvise" };

FIXTURE_VARIANT_ADD(unplug, sync) {
	.what = what_sync, .where = "uma_bo_pin", .noncoherent = true,
};

FIXTURE_VARIANT_ADD(unplug, pin) {
	.what = what_offset, .where = "drm_gem_shmem_get_pages_sgt",
};

FIXTURE_VARIANT_ADD(unplug, create) {
	.what = what_create, .where = "drm_gem_handle_create", .imports = true,
};

FIXTURE_VARIANT_ADD(unplug, import_user) {
	.what = what_import_user, .where = "drm_gem_handle_create", .imports = true,
};

FIXTURE_SETUP(unplug)
{
	const char *node = dev_name();
	unsigned int i;

	if (!is_root())
		SKIP("not root");
	if (variant && variant->noncoherent) {
		instance_make(&self->home, "home");
		if (instance_set_try(&self->home, "noncoherent", "1")) {
			instance_drop(&self->home);
			SKIP("this kernel lets no device have DMA operations");
		}
		instance_set(&self->home, "profile", "m1");
		instance_enable(&self->home);
		node = self->home.node;
	}
	instance_start(&self->in, "unplug", "m1");
	crowd_make(&self->w, node, SIZE);
	for (i = 0; i < 2; i++)
		submitter_make(&self->s[i], node, &self->w, BUFS);
	if (variant && variant->noncoherent)
		client_bind_handle(&self->w.own, self->w.shared[0], SIZE, 0);
	crowd_close_gate(&self->w);
	for (i = 0; i < FILES; i++)
		crowd_writes(&self->w, &self->w.m[i]);
}

FIXTURE_TEARDOWN(unplug)
{
	unsigned int i;

	for (i = 0; i < 2; i++)
		client_close(&self->s[i].m.c);
	crowd_free(&self->w);
	instance_drop(&self->in);
	instance_drop(&self->home);
}

/* The unplug of another device does not wait for whoever waits for a submit. */
TEST_F(unplug, another)
{
	struct other o = { .what = variant->what, .dmabuf = self->w.dmabufs[0] };
	struct other importer = { .what = what_import, .dmabuf = self->w.dmabufs[0] };
	uint64_t begin, hold, ns;
	struct instance third;
	unsigned int i;

	begin = now_ns();
	ASSERT_EQ(0, submitter_once(&self->s[0]));
	hold = now_ns() - begin;

	if (variant->imports) {
		instance_start(&third, "third", "m1");
		client_open_named(&importer.c, third.node);
		client_open_named(&o.c, third.node);
	} else {
		o.c = self->w.own;
		o.handle = self->w.shared[0];
	}
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_create(&self->s[i].id, NULL, submitter_run, &self->s[i]));
	if (variant->imports)
		ASSERT_EQ(0, pthread_create(&importer.id, NULL, other_run, &importer));
	usleep(10000);
	ASSERT_EQ(0, pthread_create(&o.id, NULL, other_run, &o));
	/* The submits follow one another: who waits for one has almost all of it before him. */
	while (variant->where && !other_waits(&o, variant->where))
		crowd_still_waits(&self->w);
	begin = now_ns();
	instance_set(&self->in, "enabled", "0");
	ns = now_ns() - begin;
	crowd_still_waits(&self->w);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, pthread_join(self->s[i].id, NULL));
		EXPECT_EQ(0, self->s[i].ret);
	}
	ASSERT_EQ(0, pthread_join(o.id, NULL));
	if (variant->imports) {
		ASSERT_EQ(0, pthread_join(importer.id, NULL));
		client_close(&o.c);
		client_close(&importer.c);
		instance_drop(&third);
	}
	harness_diag("a device went in %llu ms, beside submits of %llu ms",
		     (unsigned long long)ns / 1000000, (unsigned long long)hold / 1000000);
	EXPECT_LT(ns, hold / 2);
}

/* --- their own device ------------------------------------------------------------------ */

/* The submits end, one that has the lock and one that waits for it, and no job of theirs runs. */
TEST(unplug_own)
{
	struct submitter *s = calloc(2, sizeof(*s));
	struct crowd *w = calloc(1, sizeof(*w));
	uint64_t begin, hold, ns;
	struct instance in;
	unsigned int i;

	if (!is_root())
		SKIP("not root");
	ASSERT_TRUE(s && w);
	instance_start(&in, "own", "m1");
	crowd_make(w, dev_name(), PAGE);
	for (i = 0; i < 2; i++)
		submitter_make(&s[i], in.node, w, BUFS);
	crowd_close_gate(w);
	for (i = 0; i < FILES; i++)
		crowd_writes(w, &w->m[i]);
	begin = now_ns();
	ASSERT_EQ(0, submitter_once(&s[0]));
	hold = now_ns() - begin;

	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_create(&s[i].id, NULL, submitter_run, &s[i]));
	usleep((useconds_t)(hold / 8000));
	begin = now_ns();
	instance_set(&in, "enabled", "0");
	ns = now_ns() - begin;
	crowd_still_waits(w);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, pthread_join(s[i].id, NULL));
		EXPECT_EQ(-ENODEV, s[i].ret);
		EXPECT_EQ(0, s[i].failed);
	}
	harness_diag("the device went in %llu ms, beside submits of %llu ms",
		     (unsigned long long)ns / 1000000, (unsigned long long)hold / 1000000);
	/* Only one of them may have begun to push its jobs, which it has to end. */
	EXPECT_LT(ns, hold + hold / 4);
	for (i = 0; i < 2; i++)
		client_close(&s[i].m.c);
	crowd_free(w);
	instance_drop(&in);
}

HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * DRM_IOCTL_UMA_TIMESTAMP
 */
#include <time.h>

#include "task.h"
#include "watch.h"

static void get(int fd, struct drm_uma_timestamp *t)
{
	*t = (struct drm_uma_timestamp){ 0 };
	ASSERT_EQ(0, do_ioctl(fd, DRM_IOCTL_UMA_TIMESTAMP, t));
}

TEST(is_between_two_readings)
{
	struct drm_uma_timestamp t;
	uint64_t before, after;
	int fd = dev_open(), i;

	for (i = 0; i < 20; i++) {
		before = now_ns();
		get(fd, &t);
		after = now_ns();
		EXPECT_GE(t.cpu_ns, before);
		EXPECT_LE(t.cpu_ns, after);
		EXPECT_LE(t.error_ns, after - before);
		EXPECT_EQ(0, t.pad);
	}
	close(fd);
}

TEST(goes_forward)
{
	struct drm_uma_timestamp last, t;
	int fd = dev_open(), i;

	get(fd, &last);
	for (i = 0; i < 50; i++) {
		get(fd, &t);
		EXPECT_GE(t.device, last.device);
		EXPECT_GE(t.cpu_ns, last.cpu_ns);
		last = t;
	}
	close(fd);
}

/* Both clocks tell the same time, within what the device says about its error and its tick. */
TEST(rate)
{
	struct drm_uma_query_device dev;
	struct drm_uma_timestamp a, b;
	__u64 ticks, ns, slack;
	int fd = dev_open();

	query_device(fd, &dev);
	get(fd, &a);
	usleep(200000);
	get(fd, &b);
	ticks = b.device - a.device;
	ns = b.cpu_ns - a.cpu_ns;
	EXPECT_GT(ticks, 0);
	/* A part in a thousand for the clocks' own difference. */
	slack = a.error_ns + b.error_ns + 2 * (1000000000ull / dev.timestamp_hz + 1) + ns / 1000;
	EXPECT_LE((__u64)((__int128)ticks * 1000000000 / dev.timestamp_hz), ns + slack);
	EXPECT_GE((__u64)((__int128)ticks * 1000000000 / dev.timestamp_hz) + slack, ns);
	close(fd);
}

TEST(same_for_every_file)
{
	struct drm_uma_timestamp a, b;
	int fd = dev_open(), fd2 = dev_open();

	get(fd, &a);
	get(fd2, &b);
	EXPECT_GE(b.device, a.device);
	close(fd);
	close(fd2);
}

/*
 * A fence's time of signalling, which the core takes, lies between a reading before and one after
 * the job.
 */
TEST(around_a_job)
{
	struct drm_uma_timestamp a, b;
	struct client c;

	client_open(&c);
	get(c.fd, &a);
	EXPECT_EQ(0, client_run(&c, queue_create(c.fd, c.vm, 0), 0, 0));
	get(c.fd, &b);
	EXPECT_GT(b.device, a.device);
	client_close(&c);
}

HARNESS_MAIN

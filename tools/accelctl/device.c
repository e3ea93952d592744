// SPDX-License-Identifier: MIT
/* Opens devices, and explains failures. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "accelctl.h"

bool ctl_driver_loaded(const char *root)
{
	static const char *const places[] = { "/sys/module/uma", "/sys/bus/platform/drivers/uma" };
	char path[4096];
	unsigned int i;

	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", root, places[i]);
		if (!access(path, F_OK))
			return true;
	}
	return false;
}

int ctl_open_status(const char *name, int err)
{
	const char *base = name;

	if (err != -ENODEV && err != -ENOENT && err != -ENXIO)
		return ctl_status(err);
	/* For "rec:", the name of the recorded device matters */
	if (base && !strncmp(base, "rec:", 4))
		base += 4;
	if (base && !strncmp(base, "/dev/accel/", 11))
		base += 11;
	if (base && !strncmp(base, "accel", 5) && !ctl_driver_loaded(""))
		return CTL_NO_DRIVER;
	return CTL_NO_DEVICE;
}

static void log_line(void *user, int level, const char *text)
{
	static const char *const names[] = { "error", "warning", "info", "debug" };
	const struct ctl *ctl = user;

	/* Errors are returned by the call, and the caller reports them once */
	if (level == ACCEL_LOG_ERROR && ctl->verbose < 2)
		return;
	fprintf(stderr, "accelctl: %s: %s\n", level >= 0 && level < 4 ? names[level] : "log", text);
}

int ctl_open(struct ctl *ctl, const char *name, uint32_t threads, struct accel_device **dev)
{
	struct accel_device_opts opts = ACCEL_DEVICE_OPTS_INIT;
	struct accel_error error = ACCEL_ERROR_INIT;
	char what[128];
	int ret, status;

	opts.threads = threads;
	opts.record_path = ctl->record;
	opts.error = &error;
	if (!ctl->quiet) {
		opts.log = log_line;
		opts.log_user = ctl;
		opts.log_level = ACCEL_LOG_WARN + ctl->verbose;
		if (opts.log_level > ACCEL_LOG_DEBUG)
			opts.log_level = ACCEL_LOG_DEBUG;
	}
	ret = accel_device_open(name, &opts, dev);
	if (!ret)
		return CTL_OK;
	status = ctl_open_status(name, ret);
	error.code = ret;
	snprintf(what, sizeof(what), "cannot open %s%s", name ? name : "a device",
		 status == CTL_NO_DRIVER ? ", the driver is not loaded (modprobe uma)" : "");
	return ctl_fail_error(ctl, status, what, &error);
}

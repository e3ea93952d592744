// SPDX-License-Identifier: MIT
/*
 * doctor: find out why the accelerator cannot be used. The checks start at the lowest layer,
 * because later failures are often consequences of earlier ones.
 */
#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <json-c/json.h>
#include <limits.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "accelctl.h"

/* The oldest kernel that the driver is written for */
#define KERNEL_MAJOR	6
#define KERNEL_MINOR	12

/* Below this much locked memory, importing the memory of a process is of little use */
#define MEMLOCK_BYTES	(64ull << 20)

/* Maximum number of nodes that are checked */
#define MAX_NODES	64

enum health {
	HEALTHY,
	WARNING,
	FAILURE,
	SKIPPED
};

struct doctor {
	struct ctl *ctl;
	const char *root;
	struct json_object *checks;
	int status;
	unsigned int warnings;
	unsigned int failures;
	struct utsname uts;
	char nodes[MAX_NODES][NAME_MAX + 1];
	unsigned int node_count;
};

static void say(struct doctor *d, const char *check, enum health health, int status,
		const char *remedy, const char *fmt, ...)
	__attribute__((format(printf, 6, 7)));

static void say(struct doctor *d, const char *check, enum health health, int status,
		const char *remedy, const char *fmt, ...)
{
	static const struct {
		const char *word;
		enum ctl_tone tone;
	} words[] = {
		[HEALTHY] = { "ok", CTL_GOOD },
		[WARNING] = { "warning", CTL_WARN },
		[FAILURE] = { "FAILED", CTL_BAD },
		[SKIPPED] = { "skipped", CTL_PLAIN },
	};
	static const char *const ids[] = { "ok", "warning", "failed", "skipped" };
	struct json_object *o;
	char text[768];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);

	if (health == WARNING)
		d->warnings++;
	if (health == FAILURE) {
		d->failures++;
		if (!d->status)
			d->status = status;
	}
	if (health == HEALTHY || health == SKIPPED)
		remedy = NULL;
	if (d->checks) {
		o = ctl_json_obj(d->checks, NULL);
		ctl_json_str(o, "check", check);
		ctl_json_str(o, "status", ids[health]);
		ctl_json_str(o, "text", text);
		ctl_json_str(o, "remedy", remedy);
		ctl_json_int(o, "exit_status", health == FAILURE ? status : 0);
		return;
	}
	printf("%s%-8s%s %-12s %s\n", ctl_tone(d->ctl, words[health].tone), words[health].word,
	       ctl_tone(d->ctl, CTL_PLAIN), check, text);
	if (remedy)
		printf("%21s -> %s\n", "", remedy);
}

/* --- files --- */

static const char *under_root(const struct doctor *d, char buf[PATH_MAX], const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static const char *under_root(const struct doctor *d, char buf[PATH_MAX], const char *fmt, ...)
{
	int len = snprintf(buf, PATH_MAX, "%s", d->root);
	va_list ap;

	va_start(ap, fmt);
	if (len < PATH_MAX)
		vsnprintf(buf + len, (size_t)(PATH_MAX - len), fmt, ap);
	va_end(ap);
	return buf;
}

/* The first line of a file that contains a word, copied without its end */
static bool find_line(const char *path, const char *word, char *line, size_t size)
{
	FILE *f = fopen(path, "re");
	bool found = false;

	if (!f)
		return false;
	while (!found && fgets(line, (int)size, f)) {
		line[strcspn(line, "\n")] = 0;
		found = strstr(line, word);
	}
	fclose(f);
	return found;
}

/* --- the kernel --- */

static void check_kernel(struct doctor *d)
{
	unsigned int major = 0, minor = 0;
	char path[PATH_MAX], line[128];

	/* Another system has another kernel; its release is in a file */
	if (*d->root) {
		if (!find_line(under_root(d, path, "/proc/sys/kernel/osrelease"), "", line,
			       sizeof(line))) {
			say(d, "kernel", SKIPPED, 0, NULL, "%s is missing", path);
			return;
		}
		snprintf(d->uts.release, sizeof(d->uts.release), "%.64s", line);
	} else {
		uname(&d->uts);
	}
	sscanf(d->uts.release, "%u.%u", &major, &minor);
	if (major > KERNEL_MAJOR || (major == KERNEL_MAJOR && minor >= KERNEL_MINOR))
		say(d, "kernel", HEALTHY, 0, NULL, "%s", d->uts.release);
	else
		say(d, "kernel", FAILURE, CTL_MISMATCH,
		    "install kernel 6.12 or newer (Debian 12: linux-image-amd64 from bookworm-backports)",
		    "%s is older than %d.%d", d->uts.release, KERNEL_MAJOR, KERNEL_MINOR);
}

/* 'y', 'm', 'n', or 0 if the configuration cannot be read */
static char config_value(const struct doctor *d, const char *name)
{
	char path[PATH_MAX], where[64 + sizeof(d->uts.release)], wanted[64], line[256];
	unsigned int i;
	FILE *f;

	snprintf(wanted, sizeof(wanted), "%s=", name);
	for (i = 0; i < 3; i++) {
		snprintf(where, sizeof(where),
			 i == 0 ? "/boot/config-%s" : i == 1 ? "/lib/modules/%s/config" :
			 "/lib/modules/%s/build/.config", d->uts.release);
		under_root(d, path, "%s", where);
		f = fopen(path, "re");
		if (!f)
			continue;
		while (fgets(line, sizeof(line), f))
			if (!strncmp(line, wanted, strlen(wanted))) {
				fclose(f);
				return line[strlen(wanted)];
			}
		fclose(f);
		return 'n';
	}
	return 0;
}

static void check_subsystem(struct doctor *d)
{
	char path[PATH_MAX], line[256], config;

	if (!access(under_root(d, path, "/sys/class/accel"), F_OK) ||
	    find_line(under_root(d, path, "/proc/devices"), " accel", line, sizeof(line))) {
		say(d, "subsystem", HEALTHY, 0, NULL, "the kernel has the accel subsystem");
		return;
	}
	config = config_value(d, "CONFIG_DRM_ACCEL");
	if (config == 'n')
		say(d, "subsystem", FAILURE, CTL_UNSUPPORTED,
		    "use a kernel that is built with CONFIG_DRM_ACCEL=y",
		    "kernel %s is built without CONFIG_DRM_ACCEL", d->uts.release);
	else
		say(d, "subsystem", WARNING, 0, "it comes with the driver: modprobe uma",
		    "the accel subsystem is not active%s",
		    config ? ", but the kernel is built with it" : "");
}

static void check_module(struct doctor *d)
{
	char path[PATH_MAX], line[PATH_MAX], version[64] = "";
	bool installed;

	if (ctl_driver_loaded(d->root)) {
		find_line(under_root(d, path, "/sys/module/uma/version"), "", version,
			  sizeof(version));
		say(d, "module", HEALTHY, 0, NULL, "uma is loaded%s%s", *version ? ", version " : "",
		    version);
		return;
	}
	under_root(d, path, "/lib/modules/%s/modules.dep", d->uts.release);
	installed = find_line(path, "/uma.ko", line, sizeof(line));
	say(d, "module", FAILURE, CTL_NO_DRIVER, installed ? "modprobe uma" :
	    "build the driver for this kernel with 'make modules', install it, then: modprobe uma",
	    "uma is not loaded%s", installed ? "" : " and not installed for this kernel");
}

/* --- nodes --- */

static int compare_nodes(const void *a, const void *b)
{
	return strverscmp(a, b);
}

static bool served_by_uma(const struct doctor *d, const char *name)
{
	char path[PATH_MAX], target[PATH_MAX];
	const char *base;
	ssize_t len;

	under_root(d, path, "/sys/class/accel/%s/device/driver", name);
	len = readlink(path, target, sizeof(target) - 1);
	if (len <= 0)
		return false;
	target[len] = 0;
	base = strrchr(target, '/');
	return !strncmp(base ? base + 1 : target, "uma", 3);
}

static void check_nodes(struct doctor *d)
{
	const char *only = d->ctl->device;
	char path[PATH_MAX], list[256] = "";
	unsigned int others = 0, i;
	struct dirent *entry;
	size_t len = 0;
	DIR *dir;

	if (only && !strncmp(only, "/dev/accel/", 11))
		only += 11;
	dir = opendir(under_root(d, path, "/sys/class/accel"));
	while (dir && (entry = readdir(dir)) && d->node_count < MAX_NODES) {
		if (strncmp(entry->d_name, "accel", 5) != 0 ||
		    (only && strcmp(only, entry->d_name) != 0))
			continue;
		if (served_by_uma(d, entry->d_name))
			strcpy(d->nodes[d->node_count++], entry->d_name);
		else
			others++;
	}
	if (dir)
		closedir(dir);
	qsort(d->nodes, d->node_count, sizeof(d->nodes[0]), compare_nodes);
	for (i = 0; i < d->node_count && len < sizeof(list); i++)
		len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s", i ? ", " : "",
					d->nodes[i]);
	if (d->node_count)
		say(d, "device", HEALTHY, 0, NULL, "%s", list);
	else
		say(d, "device", FAILURE, CTL_NO_DEVICE,
		    "if there is no such hardware, the software device will do: modprobe uma_emu",
		    "%s%s%s", only ? only : "no accelerator", only ? " is no device" :
		    "", others ? " of this driver, only of others" : only ? " of this driver" : "");
}

static const char *user_name(char buf[64])
{
	struct passwd *pw = getpwuid(geteuid());

	snprintf(buf, 64, "%s", pw ? pw->pw_name : "$USER");
	return buf;
}

static bool in_groups(gid_t gid)
{
	gid_t groups[NGROUPS_MAX];
	int count = getgroups(NGROUPS_MAX, groups);

	if (getegid() == gid)
		return true;
	while (count-- > 0)
		if (groups[count] == gid)
			return true;
	return false;
}

/* A member according to the database, yet not in this session */
static bool is_member(const struct group *group, const char *user)
{
	char **member;

	for (member = group->gr_mem; member && *member; member++)
		if (!strcmp(*member, user))
			return true;
	return false;
}

static void check_group(struct doctor *d)
{
	char user[64], remedy[160];
	struct group *group;

	if (*d->root)
		return;
	user_name(user);
	group = getgrnam("render");
	if (geteuid() == 0)
		say(d, "group", HEALTHY, 0, NULL, "root needs no group");
	else if (!group)
		say(d, "group", WARNING, 0, "groupadd --system render, and install the udev rule",
		    "there is no group render");
	else if (in_groups(group->gr_gid))
		say(d, "group", HEALTHY, 0, NULL, "%s is in group render", user);
	else if (is_member(group, user))
		say(d, "group", WARNING, 0, "log out and in again",
		    "%s was added to group render after this session began", user);
	else if (snprintf(remedy, sizeof(remedy), "usermod -aG render %s, then log out and in again",
			  user) > 0)
		say(d, "group", WARNING, 0, remedy, "%s is not in group render", user);
}

static void check_permission(struct doctor *d)
{
	static const char join_group[] =
		"join that group: usermod -aG GROUP USER, then log out and in again";
	static const char install_rule[] =
		"install 60-accel-uma.rules, then: udevadm trigger --subsystem-match=accel";
	char path[PATH_MAX], user[64];
	struct group *group;
	unsigned int i;
	struct stat st;

	for (i = 0; i < d->node_count; i++) {
		under_root(d, path, "/dev/accel/%s", d->nodes[i]);
		if (stat(path, &st)) {
			say(d, "permission", FAILURE, CTL_NO_DEVICE,
			    "udev makes the node: udevadm trigger --subsystem-match=accel",
			    "%s: %s", path, strerror(errno));
			continue;
		}
		group = getgrgid(st.st_gid);
		if (*d->root || !access(path, R_OK | W_OK))
			say(d, "permission", HEALTHY, 0, NULL, "%s may be opened (mode %o, group %s)",
			    path, st.st_mode & 07777, group ? group->gr_name : "?");
		else
			say(d, "permission", FAILURE, CTL_PERMISSION,
			    st.st_gid ? join_group : install_rule,
			    "%s may not be opened by %s (mode %o, group %s)", path, user_name(user),
			    st.st_mode & 07777, group ? group->gr_name : "?");
	}
}

/* A rule of any file that is about the accel subsystem */
static bool find_rule(const struct doctor *d, char found[PATH_MAX])
{
	static const char *const dirs[] = {
		"/etc/udev/rules.d", "/run/udev/rules.d", "/usr/local/lib/udev/rules.d",
		"/usr/lib/udev/rules.d", "/lib/udev/rules.d"
	};
	char path[PATH_MAX], line[512];
	struct dirent *entry;
	unsigned int i;
	bool yes = false;
	DIR *dir;

	for (i = 0; i < sizeof(dirs) / sizeof(dirs[0]) && !yes; i++) {
		dir = opendir(under_root(d, path, "%s", dirs[i]));
		while (dir && !yes && (entry = readdir(dir))) {
			size_t len = strlen(entry->d_name);

			if (len < 6 || strcmp(entry->d_name + len - 6, ".rules") != 0)
				continue;
			under_root(d, found, "%s/%s", dirs[i], entry->d_name);
			yes = find_line(found, "SUBSYSTEM==\"accel\"", line, sizeof(line)) &&
			      line[strspn(line, " \t")] != '#';
		}
		if (dir)
			closedir(dir);
	}
	return yes;
}

static void check_udev(struct doctor *d)
{
	char found[PATH_MAX], path[PATH_MAX];

	if (access(under_root(d, path, "/run/udev/control"), F_OK) &&
	    access(under_root(d, path, "/lib/udev/rules.d"), F_OK)) {
		say(d, "udev", SKIPPED, 0, NULL, "there is no udev here");
		return;
	}
	if (find_rule(d, found))
		say(d, "udev", HEALTHY, 0, NULL, "%s gives the nodes their group", found);
	else
		say(d, "udev", WARNING, 0,
		    "install 60-accel-uma.rules in /etc/udev/rules.d, then: udevadm control --reload && udevadm trigger --subsystem-match=accel",
		    "no rule for accelerators: nodes belong to root alone (systemd has one from 254 on)");
}

static void check_memlock(struct doctor *d)
{
	struct rlimit limit;
	char size[16];

	if (*d->root)
		return;
	if (getrlimit(RLIMIT_MEMLOCK, &limit)) {
		say(d, "memlock", SKIPPED, 0, NULL, "%s", strerror(errno));
		return;
	}
	if (limit.rlim_cur == RLIM_INFINITY)
		say(d, "memlock", HEALTHY, 0, NULL, "locked memory is not limited");
	else if (geteuid() == 0)
		say(d, "memlock", HEALTHY, 0, NULL, "root is not limited in practice");
	else if (limit.rlim_cur >= MEMLOCK_BYTES)
		say(d, "memlock", HEALTHY, 0, NULL, "%s may be locked",
		    ctl_bytes(size, limit.rlim_cur));
	else
		say(d, "memlock", WARNING, 0,
		    "put '@render - memlock unlimited' in /etc/security/limits.d/accel.conf, then log out and in again",
		    "only %s may be locked: importing more memory of a process fails",
		    ctl_bytes(size, limit.rlim_cur));
}

/* --- opening --- */

static void check_open(struct doctor *d, const char *name)
{
	static const char look_at_log[] = "look at the kernel's log: dmesg | grep -i uma";
	struct accel_device_opts opts = ACCEL_DEVICE_OPTS_INIT;
	struct accel_device_info info = { .size = sizeof(info) };
	struct accel_error error = ACCEL_ERROR_INIT;
	struct accel_device *dev;
	int ret, status;

	opts.error = &error;
	ret = accel_device_open(name, &opts, &dev);
	if (ret) {
		status = ctl_open_status(name, ret);
		say(d, "open", FAILURE, status,
		    ret == -EPROTO ? "install driver and library of one release" :
		    ret == -EACCES ? "see the remedy for the permission" : look_at_log,
		    "%s: %s (%s)", name, *error.text ? error.text : strerror(-ret),
		    strerrorname_np(-ret));
		return;
	}
	ret = accel_device_get_info(dev, &info);
	if (ret)
		say(d, "open", FAILURE, CTL_LOST, look_at_log,
		    "%s does not describe itself: %s", name, strerror(-ret));
	else if (info.uapi_version)
		say(d, "open", HEALTHY, 0, NULL, "%s: chip %s, uapi %u.%u, hardware %u.%u, tasks %u",
		    name, info.profile, info.uapi_version >> 16, info.uapi_version & 0xffff,
		    info.hw_version >> 16, info.hw_version & 0xffff, info.task_version);
	else
		say(d, "open", HEALTHY, 0, NULL, "%s: in process, kernels %s, %u threads, tasks %u",
		    name, *info.kernels ? info.kernels : "portable", info.threads,
		    info.task_version);
	accel_device_unref(dev);
}

static void check_versions(struct doctor *d)
{
	const uint32_t built = ACCEL_VERSION_MAJOR << 16 | ACCEL_VERSION_MINOR;
	uint32_t runs = accel_version();

	/* An older library of the same major version may lack functions that this program calls */
	if (runs >> 16 == built >> 16 && runs >= built)
		say(d, "library", HEALTHY, 0, NULL, "libaccel %u.%u", runs >> 16, runs & 0xffff);
	else
		say(d, "library", FAILURE, CTL_MISMATCH, "install program and library of one release",
		    "libaccel %u.%u runs, this program was built for %u.%u", runs >> 16,
		    runs & 0xffff, built >> 16, built & 0xffff);
}

int cmd_doctor(struct ctl *ctl, void *data, const char *operand)
{
	const struct doctor_opts *opts = data;
	const char *device = ctl->device;
	struct doctor *d = ctl_alloc(1, sizeof(*d));
	struct json_object *doc = NULL;
	bool software;
	unsigned int i;
	int status;

	(void)operand;
	d->ctl = ctl;
	d->root = opts->root ? opts->root : "";
	if (opts->root && access(opts->root, R_OK | X_OK)) {
		status = ctl_fail(ctl, CTL_FAILED, -errno, "--root", "%s", opts->root);
		free(d);
		return status;
	}
	if (ctl->json) {
		doc = ctl_schema(ctl);
		d->checks = ctl_json_arr(doc, "checks");
	}
	software = device && (!strncmp(device, "sw", 2) || !strncmp(device, "rec:sw", 6));
	check_versions(d);
	if (!software) {
		check_kernel(d);
		check_subsystem(d);
		check_module(d);
		check_nodes(d);
		check_udev(d);
		check_group(d);
		check_permission(d);
		check_memlock(d);
		for (i = 0; i < d->node_count && !*d->root; i++)
			check_open(d, d->nodes[i]);
	}
	if (!*d->root && (!device || software))
		check_open(d, software ? device : "sw");
	status = d->status;
	if (ctl->json) {
		ctl_json_bool(doc, "ok", !status);
		ctl_json_uint(doc, "failures", d->failures);
		ctl_json_uint(doc, "warnings", d->warnings);
		ctl_json_int(doc, "exit_status", status);
		ctl_json_print(ctl, doc);
	} else if (!ctl->quiet) {
		printf("%u failure%s, %u warning%s\n", d->failures, d->failures == 1 ? "" : "s",
		       d->warnings, d->warnings == 1 ? "" : "s");
	}
	free(d);
	return status;
}

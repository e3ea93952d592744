// SPDX-License-Identifier: MIT
/*
 * Clients: open files of a node, found through the file descriptors of all processes. A file
 * that was inherited, passed on or duplicated is one client.
 */
#include <dirent.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "accelctl.h"
#include "kfile.h"
#include "sys.h"
#include "table.h"

uint64_t sys_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

struct scan {
	const struct sys_opts *opts;
	const struct sys_nodes *nodes;
	struct sys_clients *clients;
	size_t cap;
};

/* Index of the device that a descriptor is open on; the number of nodes if none */
static unsigned int which_node(const struct scan *s, const char *file)
{
	char target[PATH_MAX];
	struct stat st;
	ssize_t len;
	unsigned int i;

	len = readlink(file, target, sizeof(target) - 1);
	if (len <= 0)
		return s->nodes->count;
	target[len] = 0;
	/* Compare the device number, not the name; in a copy of /proc there is only the name */
	if (!stat(file, &st)) {
		for (i = 0; i < s->nodes->count; i++)
			if (S_ISCHR(st.st_mode) && st.st_rdev == s->nodes->list[i].dev)
				return i;
		if (S_ISCHR(st.st_mode))
			return s->nodes->count;
	}
	for (i = 0; *s->opts->root && i < s->nodes->count; i++)
		if (!strncmp(target, "/dev/accel/", 11) &&
		    !strcmp(target + 11, s->nodes->list[i].name))
			return i;
	return s->nodes->count;
}

static void describe(const struct scan *s, struct sys_client *c)
{
	const struct passwd *pw;
	char dir[PATH_MAX];
	struct stat st;

	snprintf(dir, sizeof(dir), "%s/proc/%d", s->opts->root, (int)c->pid);
	if (kfile_line(dir, "comm", c->comm, sizeof(c->comm)))
		strcpy(c->comm, "?");
	c->uid = (uid_t)-1;
	strcpy(c->user, "?");
	if (stat(dir, &st))
		return;
	c->uid = st.st_uid;
	pw = getpwuid(st.st_uid);
	if (pw)
		snprintf(c->user, sizeof(c->user), "%s", pw->pw_name);
	else
		snprintf(c->user, sizeof(c->user), "%u", (unsigned int)st.st_uid);
	text_clean(c->user);
}

static void add_client(struct scan *s, pid_t pid, unsigned int node, const struct fdinfo *info,
		       uint64_t ns)
{
	struct sys_clients *clients = s->clients;
	struct sys_client *c, *grown;
	unsigned int i;

	for (i = 0; i < clients->count; i++) {
		c = &clients->list[i];
		if (c->node != node || c->info.client_id != info->client_id)
			continue;
		/* Processes are processed one after the other, in any order */
		if (c->counted != pid)
			c->processes++;
		c->counted = pid;
		if (c->pid > pid) {
			c->pid = pid;
			describe(s, c);
		}
		return;
	}
	if (clients->count == s->cap) {
		s->cap = s->cap ? 2 * s->cap : 16;
		grown = ctl_alloc(s->cap, sizeof(*grown));
		if (clients->count)
			memcpy(grown, clients->list, clients->count * sizeof(*grown));
		free(clients->list);
		clients->list = grown;
	}
	c = &clients->list[clients->count++];
	c->node = node;
	c->pid = pid;
	c->processes = 1;
	c->counted = pid;
	c->ns = ns;
	c->info = *info;
	c->queues = SYS_UNKNOWN;
	describe(s, c);
}

static void scan_process(struct scan *s, pid_t pid)
{
	char dir[PATH_MAX], file[PATH_MAX], why[128], *text;
	struct fdinfo info;
	struct dirent *entry;
	unsigned int node;
	uint64_t now;
	DIR *d;
	int ret;

	snprintf(dir, sizeof(dir), "%s/proc/%d/fd", s->opts->root, (int)pid);
	d = opendir(dir);
	if (!d) {
		if (errno == EACCES || errno == EPERM)
			s->clients->hidden++;
		return;
	}
	while ((entry = readdir(d))) {
		if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
			continue;
		if (snprintf(file, sizeof(file), "%s/%s", dir, entry->d_name) >= PATH_MAX)
			continue;
		node = which_node(s, file);
		if (node == s->nodes->count)
			continue;
		snprintf(file, sizeof(file), "%s/proc/%d/fdinfo/%.20s", s->opts->root, (int)pid,
			 entry->d_name);
		/* It may have been closed since */
		now = sys_now();
		ret = kfile_read(file, &text);
		if (ret) {
			if (ret == -EBADMSG || ret == -EFBIG) {
				s->clients->malformed++;
				snprintf(s->clients->why, sizeof(s->clients->why), "it is no text");
			}
			continue;
		}
		ret = fdinfo_parse(text, &info, why, sizeof(why));
		free(text);
		/* A file that was closed and opened again may be another */
		if (ret == -ENOENT || (!ret && strcmp(info.driver, "uma") != 0))
			continue;
		if (!ret && !info.has_client) {
			ret = -EBADMSG;
			snprintf(why, sizeof(why), "drm-client-id is missing");
		}
		if (ret) {
			s->clients->malformed++;
			snprintf(s->clients->why, sizeof(s->clients->why), "process %d: %s",
				 (int)pid, why);
			continue;
		}
		add_client(s, pid, node, &info, now);
	}
	closedir(d);
}

/* Queues are in a table for root; no table, no number, and no complaint */
static void count_queues(struct scan *s)
{
	char file[PATH_MAX], why[64], *text;
	struct table table;
	unsigned int n, i;
	uint64_t value;
	size_t row;

	for (n = 0; n < s->nodes->count; n++) {
		if (snprintf(file, sizeof(file), "%s/queues", s->nodes->list[n].debugfs) >=
		    PATH_MAX || kfile_read(file, &text))
			continue;
		if (table_parse(text, &table, why, sizeof(why))) {
			free(text);
			continue;
		}
		free(text);
		for (i = 0; i < s->clients->count; i++) {
			struct sys_client *c = &s->clients->list[i];

			if (c->node != n)
				continue;
			c->queues = 0;
			for (row = 0; row < table.rows; row++)
				if (table_number(&table, row, "client", &value) ?
				    value == c->info.client_id :
				    table_number(&table, row, "pid", &value) &&
				    value == (uint64_t)c->pid)
					c->queues++;
		}
		table_free(&table);
	}
}

static int client_cmp(const void *a, const void *b)
{
	const struct sys_client *x = a, *y = b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->info.client_id > y->info.client_id) - (x->info.client_id < y->info.client_id);
}

int sys_clients_read(const struct sys_opts *opts, const struct sys_nodes *nodes,
		     struct sys_clients *clients)
{
	struct scan s = { opts, nodes, clients, 0 };
	struct dirent *entry;
	char dir[PATH_MAX];
	const char *end;
	uint64_t pid;
	DIR *d;

	*clients = (struct sys_clients){ 0 };
	if (snprintf(dir, sizeof(dir), "%s/proc", opts->root) >= PATH_MAX)
		return -ENAMETOOLONG;
	d = opendir(dir);
	if (!d)
		return -errno;
	while ((entry = readdir(d)))
		if (number_parse(entry->d_name, &pid, &end) && !*end && pid <= INT_MAX)
			scan_process(&s, (pid_t)pid);
	closedir(d);
	if (!clients->count)
		return 0;
	count_queues(&s);
	qsort(clients->list, clients->count, sizeof(*clients->list), client_cmp);
	return 0;
}

void sys_clients_free(struct sys_clients *clients)
{
	free(clients->list);
	*clients = (struct sys_clients){ 0 };
}

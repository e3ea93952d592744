// SPDX-License-Identifier: MIT
/*
 * Rooflines: operations a second over operations a byte, for each element type and
 * number of threads, as data and a script for gnuplot.
 */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perf.h"

extern char **environ;

static FILE *create(const char *dir, const char *name, const char *suffix)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s%s", dir, name, suffix);
	f = fopen(path, "we");
	if (!f)
		bench_fail(-errno, "cannot write %s", path);
	return f;
}

/* Which of the columns a row belongs to: those who did it */
static const char *const impls[] = { "ours", "openblas", "onednn", "onednn-wino", "libxsmm" };

static bool in_plot(const struct perf_row *row, const struct perf_row *like)
{
	return row->intensity > 0 && row->gflops > 0 && row->threads == like->threads &&
	       !strcmp(row->dtype, like->dtype);
}

/* Highest rate of the limits that are not for reading: the roof; and the slope of DRAM */
static double roof(const struct perf_row *rows, size_t count, const struct perf_row *like,
		   const char *name)
{
	double most = 0;
	size_t i;

	for (i = 0; i < count; i++) {
		if (rows[i].threads != like->threads)
			continue;
		if (name && !strcmp(rows[i].name, name) && rows[i].gflops > most)
			most = rows[i].gflops;
		if (!name && in_plot(&rows[i], like) && rows[i].limit > most)
			most = rows[i].limit;
	}
	return most;
}

static int write_data(const struct perf_row *rows, size_t count, const struct perf_row *like,
		      const char *dir, const char *name)
{
	FILE *f = create(dir, name, ".dat");
	size_t i, j;

	if (!f)
		return 1;
	for (j = 0; j < sizeof(impls) / sizeof(impls[0]); j++) {
		fprintf(f, "# %s: operations a byte, GFLOP/s, case\n", impls[j]);
		for (i = 0; i < count; i++)
			if (in_plot(&rows[i], like) && !strcmp(rows[i].impl, impls[j]))
				fprintf(f, "%.5g %.5g \"%s\"\n", rows[i].intensity,
					rows[i].gflops, rows[i].name);
		/* A set without points is one all the same. */
		fputs("NaN NaN \"\"\n\n\n", f);
	}
	return fclose(f) ? bench_fail(-errno, "cannot write %s/%s.dat", dir, name) : 0;
}

static int write_script(const struct perf_row *rows, size_t count, const struct perf_row *like,
			const char *dir, const char *name)
{
	double top = roof(rows, count, like, NULL);
	double slope = roof(rows, count, like, "limit/read-256M");
	FILE *f = create(dir, name, ".gp");
	size_t j;

	if (!f)
		return 1;
	fprintf(f, "set terminal svg size 900,600\nset output '%s.svg'\n", name);
	fprintf(f, "set title '%s, threads: %u'\n", like->dtype, like->threads);
	fputs("set logscale xy\nset xlabel 'operations a byte'\nset ylabel 'GFLOP/s'\n"
	      "set key outside right\nset grid\n", f);
	fprintf(f, "top = %.5g\nslope = %.5g\n", top > 0 ? top : 1, slope > 0 ? slope : 1e9);
	fputs("roof(x) = slope * x < top ? slope * x : top\n"
	      "plot roof(x) title 'limit' lc rgb 'black'", f);
	for (j = 0; j < sizeof(impls) / sizeof(impls[0]); j++)
		fprintf(f, ", \\\n\t'%s.dat' index %zu using 1:2 title '%s' pt %zu", name, j,
			impls[j], j + 5);
	fputc('\n', f);
	return fclose(f) ? bench_fail(-errno, "cannot write %s/%s.gp", dir, name) : 0;
}

/* Without gnuplot there are its data and script, which is something too. */
static int draw(const char *dir, const char *name)
{
	posix_spawn_file_actions_t actions;
	char script[128];
	char gnuplot[] = "gnuplot";
	char *const argv[] = { gnuplot, script, NULL };
	pid_t pid;
	int status, ret;

	snprintf(script, sizeof(script), "%s.gp", name);
	if (posix_spawn_file_actions_init(&actions))
		return bench_fail(-ENOMEM, "out of memory");
	ret = posix_spawn_file_actions_addchdir_np(&actions, dir);
	if (!ret)
		ret = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (ret == ENOENT)
		return 0;
	if (ret || waitpid(pid, &status, 0) != pid || status)
		return bench_fail(-ret, "gnuplot %s/%s failed", dir, script);
	return 0;
}

int plot_rows(const struct perf_row *rows, size_t count, const char *dir)
{
	char name[64], *star;
	size_t i, j;
	int ret = 0;

	if (mkdir(dir, 0777) && errno != EEXIST)
		return bench_fail(-errno, "cannot make %s", dir);
	for (i = 0; i < count && !ret; i++) {
		for (j = 0; j < i && !in_plot(&rows[j], &rows[i]); j++)
			;
		/* Once for each type and number of threads */
		if (j < i || !in_plot(&rows[i], &rows[i]))
			continue;
		snprintf(name, sizeof(name), "roofline-%s-%u", rows[i].dtype, rows[i].threads);
		while ((star = strchr(name, '*')))
			*star = '-';
		ret = write_data(rows, count, &rows[i], dir, name);
		if (!ret)
			ret = write_script(rows, count, &rows[i], dir, name);
		if (!ret)
			ret = draw(dir, name);
	}
	return ret;
}

// SPDX-License-Identifier: MIT
/*
 * Values within models, side by side.
 */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "interrupt.h"
#include "libaccel/tests/oracle/oracle.h"
#include "probe.h"
#include "progress.h"

/* --- inputs --- */

static void add_sample(struct samples *samples, char *file)
{
	char **more = realloc(samples->files, (samples->count + 1) * sizeof(*more));

	if (!more || !file)
		abort();
	samples->files = more;
	more[samples->count++] = file;
}

static int not_hidden(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

static int add_folder(struct ctl *ctl, struct samples *samples, const char *path)
{
	struct dirent **list;
	struct stat st;
	char *file;
	int n = scandir(path, &list, not_hidden, alphasort), i;

	if (n < 0)
		return ctl_fail(ctl, CTL_FAILED, -errno, "--calibrate", "%s: %s", path,
				strerror(errno));
	for (i = 0; i < n; i++) {
		if (asprintf(&file, "%s/%s", path, list[i]->d_name) < 0)
			abort();
		if (!stat(file, &st) && S_ISREG(st.st_mode))
			add_sample(samples, file);
		else
			free(file);
		free(list[i]);
	}
	free(list);
	return CTL_OK;
}

int samples_find(struct ctl *ctl, const struct model_opts *opts, struct samples *samples)
{
	struct stat st;
	uint32_t i;
	int ret = CTL_OK;

	memset(samples, 0, sizeof(*samples));
	for (i = 0; i < opts->samples.count && !ret; i++) {
		if (stat(opts->samples.v[i], &st))
			ret = ctl_fail(ctl, CTL_FAILED, -errno, "--calibrate", "%s: %s",
				       opts->samples.v[i], strerror(errno));
		else if (S_ISDIR(st.st_mode))
			ret = add_folder(ctl, samples, opts->samples.v[i]);
		else
			add_sample(samples, strdup(opts->samples.v[i]));
	}
	if (!ret && opts->samples.count && !samples->count)
		ret = ctl_fail(ctl, CTL_FAILED, -ENOENT, "--calibrate", "there is no file in it");
	return ret;
}

void samples_free(struct samples *samples)
{
	uint32_t i;

	for (i = 0; i < samples->count; i++)
		free(samples->files[i]);
	free(samples->files);
	memset(samples, 0, sizeof(*samples));
}

/* --- a model --- */

/* The value of the graph that a node, or an input of the program, has under a name */
static int add_output(struct probe *p, const char *name)
{
	struct accel_model_result r = { .size = sizeof(r) };
	struct accel_graph *graph = accel_model_graph(p->s.model);
	uint32_t i;
	int ret;

	for (i = 0; !accel_model_get_result(p->s.model, i, &r); i++)
		if (!strcmp(r.name, name)) {
			ret = accel_graph_output(graph, name, r.value);
			return ret ? ctl_fail(p->s.ctl, ctl_status(ret), ret, name,
					      "cannot be seen") : CTL_OK;
		}
	/* Values are numbered as they come, so inputs are among the first. */
	for (i = 0;; i++) {
		struct accel_value v = ACCEL_VALUE_INIT;

		if (accel_graph_get_value(graph, i, &v))
			break;
		if (v.name && !strcmp(v.name, name))
			return accel_graph_output(graph, name, i) ? CTL_FAILED : CTL_OK;
	}
	return ctl_fail(p->s.ctl, CTL_FAILED, 0, name, "is no value of %s", p->s.path);
}

int probe_open(struct probe *p, struct ctl *ctl, const struct model_opts *opts,
	       const char *device, const char *path, const char *const *names, uint32_t count)
{
	struct accel_model_info info = { .size = sizeof(info) };
	uint32_t i;
	int ret;

	memcpy(&p->opts, opts, sizeof(p->opts));
	ret = session_load(&p->s, ctl, &p->opts, device, path);
	if (!ret) {
		accel_model_get_info(p->s.model, &info);
		p->own = info.output_count;
	}
	for (i = 0; i < count && !ret; i++)
		ret = add_output(p, names[i]);
	return ret ? ret : session_compile(&p->s);
}

int probe_run(struct probe *p, const struct samples *samples, uint32_t index)
{
	int ret = CTL_OK;

	if (samples->count) {
		npz_free(&p->s.files[0]);
		p->opts.inputs.count = 1;
		p->opts.inputs.v[0] = samples->files[index];
		ret = inputs_load(&p->s);
	}
	if (!ret)
		ret = inputs_set(&p->s);
	if (ret)
		return ret;
	ret = accel_state_run(p->s.state);
	return ret ? session_fail(&p->s, ret) : CTL_OK;
}

/* --- what lies between them --- */

static uint64_t largest_of(const struct accel_value *v, const void *data, uint64_t at, uint64_t n)
{
	uint64_t i, best = 0;

	for (i = 1; i < n; i++)
		if (element_get(v->type, data, at + i) > element_get(v->type, data, at + best))
			best = i;
	return best;
}

void gap_add(struct gap *g, const struct probe *a, uint32_t i, const struct probe *b, uint32_t k)
{
	struct accel_value v = ACCEL_VALUE_INIT, w = ACCEL_VALUE_INIT;
	const void *x, *y;
	uint64_t count = 1, n, row;
	double want, error;
	uint32_t d;

	if (accel_state_get_output(a->s.state, i, &v, &x) ||
	    accel_state_get_output(b->s.state, k, &w, &y) || v.rank != w.rank ||
	    memcmp(v.dims, w.dims, v.rank * sizeof(v.dims[0])) || !element_descr(v.type) ||
	    !element_descr(w.type)) {
		g->wrong = true;
		return;
	}
	for (d = 0; d < v.rank; d++)
		count *= (uint64_t)v.dims[d];
	for (n = 0; n < count; n++) {
		want = element_get(v.type, x, n);
		error = oracle_apart(element_get(w.type, y, n), want);
		g->largest = fmax(g->largest, error);
		g->error += error * error;
		g->sum += isfinite(want) ? want * want : 0;
	}
	n = v.rank ? (uint64_t)v.dims[v.rank - 1] : 1;
	for (row = 0; n > 1 && row < count; row += n) {
		g->rows++;
		g->same += largest_of(&v, x, row, n) == largest_of(&w, y, row, n);
	}
}

double gap_share(const struct gap *g)
{
	if (g->wrong || isinf(g->error))
		return INFINITY;
	return g->error > 0 ? sqrt(g->error / g->sum) : 0;
}

int probe_gaps(struct probe *a, struct probe *b, const struct samples *samples, struct gap *gaps,
	       uint32_t count)
{
	uint32_t i, k;
	int ret = CTL_OK;

	memset(gaps, 0, count * sizeof(*gaps));
	for (i = 0; i < samples_all(samples) && !ret; i++) {
		ret = probe_run(a, samples, i);
		if (!ret)
			ret = probe_run(b, samples, i);
		for (k = 0; k < count && !ret; k++)
			gap_add(&gaps[k], a, k, b, k);
		if (!ret && ctl_interrupted())
			ret = CTL_INTERRUPTED;
	}
	return ret;
}

// SPDX-License-Identifier: MIT
/*
 * The weights of a file as safetensors, and those of such a file in it instead of its own. No
 * tensor is copied: what is written comes from where it is mapped, one after the other.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "libaccel/core/errno_text.h"
#include "../families/convert.h"
#include "../tokenizers/inside.h"
#include "quantize.h"

/* Of data outside of the file, as the format recommends it */
#define OUTSIDE_ALIGN	4096u

/* --- the file --------------------------------------------------------------------------------- */

static bool is_message(struct slice s)
{
	struct field f;
	int ret;

	while ((ret = wire_next(&s, &f)) > 0)
		;
	return !ret;
}

/* The graph of the model that is mapped, whose nodes need not be known */
static int find_model(struct import *im, struct slice *model, struct slice *graph)
{
	int ret;

	*model = (struct slice) { im->maps->data, im->maps->bytes };
	ret = find_graph(im, *model, graph);
	return ret || (is_message(*model) && is_message(*graph)) ? ret : no_model(im, *model);
}

/* What is read, the file itself only if @itself, does not go: it would be of no use then. */
static int check_place(struct import *im, const struct mapping *maps, bool itself, const char *path)
{
	for (; maps; maps = maps->next)
		if ((maps->name || itself) && mapping_is(maps, path))
			return im_fail(im, -EINVAL,
				       "%.200s: is read, and would be written over or removed",
				       path);
	return 0;
}

/* --- as safetensors --------------------------------------------------------------------------- */

/**
 * struct weight - a tensor of the graph
 * @name: name
 * @raw: message
 */
struct weight {
	char *name;
	struct slice raw;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct weight *)a)->name, ((const struct weight *)b)->name);
}

static int take_weight(struct import *im, struct slice s, struct weight *w)
{
	struct slice rest = s, name = { 0 };
	struct field f;

	while (wire_next(&rest, &f) > 0)
		if (f.id == 8)
			name = f.bytes;
	if (!name.n || memchr(name.p, 0, name.n) || !utf8_valid(name.p, name.n))
		return im_fail(im, -EBADMSG, "an initializer whose name is missing or not UTF-8");
	w->raw = s;
	w->name = strndup((const char *)name.p, name.n);
	if (!w->name)
		return im_fail(im, -ENOMEM, "out of memory");
	return strcmp(w->name, "__metadata__") ? 0 :
	       im_fail(im, -EOPNOTSUPP, "__metadata__ is no name of a tensor in safetensors");
}

/* All of them, in the order of their names; the caller frees what is there, with an error too. */
static int take_weights(struct import *im, struct slice graph, struct weight **list, uint32_t *n)
{
	struct slice s = graph;
	struct field f;
	uint32_t i, count = 0;
	int ret = 0;

	while (wire_next(&s, &f) > 0)
		count += f.id == 5;
	*n = 0;
	*list = calloc(count + 1u, sizeof(**list));
	if (!*list)
		return im_fail(im, -ENOMEM, "out of memory");
	while (!ret && wire_next(&graph, &f) > 0) {
		if (f.id == 5)
			ret = take_weight(im, f.bytes, &(*list)[(*n)++]);
		else if (f.id == 15)
			ret = im_fail(im, -EOPNOTSUPP,
				      "a sparse initializer: safetensors has dense ones only");
	}
	if (!ret && !count)
		ret = im_fail(im, -EOPNOTSUPP, "%.200s has no initializers", im->path);
	if (ret)
		return ret;
	qsort(*list, count, sizeof(**list), by_name);
	for (i = 1; i < count; i++)
		if (!strcmp((*list)[i - 1].name, (*list)[i].name))
			return im_fail(im, -EBADMSG, "the initializer %.100s is there twice",
				       (*list)[i].name);
	return 0;
}

static int add_target(struct import *im, const struct weight *w, struct targets *targets)
{
	struct target *to;
	struct tensor t;
	int ret = tensor_read(im, w->raw, &t);

	if (ret)
		return ret;
	free(t.own);
	if (!safetensors_type(t.type))
		return im_fail(im, -EOPNOTSUPP, "%.100s: safetensors has no 4-bit integers",
			       w->name);
	to = targets_add(targets, w->name, NULL, &im->error);
	if (!to)
		return -ENOMEM;
	to->type = t.type;
	to->rank = t.rank;
	memcpy(to->dims, t.dims, sizeof(t.dims));
	to->bytes = t.bytes;
	return 0;
}

struct source {
	struct import *im;
	struct weight *list;
};

static int write_elements(struct job *j, const struct target *to)
{
	const struct source *from = j->source;
	struct tensor t;
	int ret = tensor_read(from->im, from->list[to - j->t.list].raw, &t);

	if (ret)
		return ret;
	newfile_write(&j->file, t.data, t.bytes);
	free(t.own);
	return j->file.error;
}

/* Where the weights come from; NULL: no memory */
static struct json_object *origin(const struct import *im, struct slice model)
{
	const char *slash = strrchr(im->path, '/'), *name = slash ? slash + 1 : im->path;
	struct json_object *o = json_object_new_object();
	struct field f;

	if (!o)
		return NULL;
	json_object_object_add(o, "format", json_object_new_string("onnx"));
	if (utf8_valid((const uint8_t *)name, strlen(name)))
		json_object_object_add(o, "source", json_object_new_string(name));
	while (wire_next(&model, &f) > 0)
		if ((f.id == 2 || f.id == 3) && f.bytes.n && f.bytes.n < INT32_MAX &&
		    utf8_valid(f.bytes.p, f.bytes.n))
			json_object_object_add(o, f.id == 2 ? "producer_name" : "producer_version",
					       json_object_new_string_len((const char *)f.bytes.p,
									  (int)f.bytes.n));
	return o;
}

static int check_opts(struct import *im, const struct accel_model_convert_opts *o, const char *out)
{
	if (safetensors_is(im->maps) || (im->maps->bytes && im->maps->data[0] == '{'))
		return im_fail(im, -EINVAL, "%.100s: weights alone: which ONNX model are they for?",
			       im->path);
	if (!ends(out, ".safetensors"))
		return im_fail(im, -EOPNOTSUPP,
			       "%.100s: weights of ONNX files are written to safetensors: exporters rename matrices, so nothing tells which ones of a family they are",
			       out);
	if (o->type || o->table || o->tokenizer || o->imatrix || o->flags)
		return im_fail(im, -EINVAL, "weights of ONNX files are written as they are");
	return 0;
}

int weights_save(const char *path, const struct accel_model_convert_opts *o, const char *out,
		 struct accel_error *error)
{
	struct import *im = import_create(path);
	struct accel_model *model = im ? im->model : NULL;
	struct source from = { .im = im };
	struct job j = { .opts = o, .write = write_elements, .source = &from };
	struct mapping *map;
	struct slice file, graph;
	uint32_t i, count = 0;
	int ret;

	if (!im)
		return -ENOMEM;
	j.error = &im->error;
	ret = map_file(im, NULL, &map);
	if (!ret)
		ret = check_opts(im, o, out);
	if (!ret)
		ret = find_model(im, &file, &graph);
	if (!ret)
		ret = take_weights(im, graph, &from.list, &count);
	for (i = 0; i < count && !ret; i++)
		ret = add_target(im, &from.list[i], &j.t);
	if (!ret)
		ret = check_place(im, im->maps, false, out);
	if (!ret)
		ret = job_safetensors(&j, out, origin(im, file));
	if (!ret && o->bytes) {
		o->bytes[0] = model->info.file_bytes;
		o->bytes[1] = j.written;
	}
	targets_free(&j.t);
	for (i = 0; i < count; i++)
		free(from.list[i].name);
	free(from.list);
	ret = import_end(im, ret, error);
	accel_model_close(model);
	return ret;
}

/* --- into a file ------------------------------------------------------------------------------ */

/**
 * struct onto - a model that gets other weights
 * @q: for what is copied
 * @path: file of the weights
 * @store: the weights
 * @used: of each: it was put
 * @about: file that an error is about, NULL: its text says it
 * @names: files that data outside can be in, of which the model that is replaced reads one at most
 * @beside: the other one of them, where data outside come to be
 * @gone: the one that is read, if it is
 * @location: @beside as the model calls it
 * @outside: data outside, in order
 * @outside_count: their number
 * @outside_room: entries that there is memory for
 * @outside_bytes: where the next one begins
 */
struct onto {
	struct rewrite q;
	const char *path;
	struct store store;
	bool *used;
	const char *about;
	char *names[2];
	const char *beside;
	const char *gone;
	const char *location;
	struct slice *outside;
	uint32_t outside_count;
	uint32_t outside_room;
	uint64_t outside_bytes;
};

static void put_entry(struct message *m, const char *key, const char *value)
{
	struct message e = { 0 };

	put_text(&e, 1, key);
	put_text(&e, 2, value);
	put_message(m, 13, &e);
}

static void put_outside(struct onto *w, struct message *m, struct slice data)
{
	uint32_t room = w->outside_room ? 2 * w->outside_room : 64;
	struct slice *more = w->outside;
	char text[24];

	if (w->outside_count == w->outside_room) {
		more = reallocarray(w->outside, room, sizeof(*more));
		if (!more) {
			m->failed = true;
			return;
		}
		w->outside = more;
		w->outside_room = room;
	}
	more[w->outside_count++] = data;
	put_entry(m, "location", w->location);
	snprintf(text, sizeof(text), "%" PRIu64, w->outside_bytes);
	put_entry(m, "offset", text);
	snprintf(text, sizeof(text), "%zu", data.n);
	put_entry(m, "length", text);
	put_number(m, 14, 1);
	w->outside_bytes += (data.n + OUTSIDE_ALIGN - 1) / OUTSIDE_ALIGN * OUTSIDE_ALIGN;
}

static void shape_text(uint32_t type, uint32_t rank, const int64_t *dims, char *text, size_t size)
{
	const char *name = safetensors_type(type);
	size_t n = (size_t)snprintf(text, size, "%s [", name ? name : "another type");
	uint32_t i;

	for (i = 0; i < rank && n < size; i++)
		n += (size_t)snprintf(text + n, size - n, i ? ", %" PRId64 : "%" PRId64, dims[i]);
	if (n < size)
		snprintf(text + n, size - n, "]");
}

/* The weights have to be what the graph was made for. */
static int check_same(struct onto *w, const struct stored *s, struct slice raw)
{
	char is[160], was[160];
	struct tensor t;
	int ret = tensor_read(w->q.im, raw, &t);

	if (ret)
		return ret;
	free(t.own);
	if (s->type == t.type && s->rank == t.rank &&
	    !memcmp(s->dims, t.dims, t.rank * sizeof(*t.dims)))
		return 0;
	shape_text(s->type, s->rank, s->dims, is, sizeof(is));
	shape_text(t.type, t.rank, t.dims, was, sizeof(was));
	w->about = w->path;
	return im_fail(w->q.im, -EINVAL, "%.60s is %s, the model has %s", s->name, is, was);
}

static const struct stored *find_new(struct onto *w, struct slice name)
{
	char *text = name.n && !memchr(name.p, 0, name.n) ?
		     strndup((const char *)name.p, name.n) : NULL;
	const struct stored *s = text ? stored_find(&w->store, text) : NULL;

	free(text);
	return s;
}

static int put_weight(struct onto *w, struct message *m, struct slice s)
{
	struct slice rest = s, name = { 0 }, data = { 0 };
	const struct stored *new;
	struct message t = { 0 };
	bool outside = false;
	struct tensor old;
	struct field f;
	int ret = 0;

	while (wire_next(&rest, &f) > 0) {
		if (f.id == 8)
			name = f.bytes;
		else if (f.id == 9)
			data = f.bytes;
		else if (f.id == 14)
			outside = f.number == 1;
	}
	new = find_new(w, name);
	if (new) {
		ret = w->used[new - w->store.list] ?
		      im_fail(w->q.im, -EBADMSG, "the initializer %.100s is there twice",
			      new->name) : check_same(w, new, s);
		data = (struct slice) { new->data, new->bytes };
		w->used[new - w->store.list] = true;
	} else if (outside) {
		ret = tensor_read(w->q.im, s, &old);
		data = (struct slice) { old.data, old.bytes };
	}
	if (ret)
		return ret;
	if (!new && !outside) {
		put_borrowed(m, 5, s);
		return 0;
	}
	copy_head(&t, s);
	if (outside)
		put_outside(w, &t, data);
	else
		put_borrowed(&t, 9, data);
	put_message(m, 5, &t);
	return 0;
}

static int put_model(struct onto *w, struct slice model, struct slice graph, struct message *out)
{
	struct message g = { 0 };
	struct slice whole;
	struct field f;
	int ret = 0;

	while (copy_next(&w->q, &graph, &f, &whole, &ret)) {
		if (f.id == 5)
			ret = put_weight(w, &g, f.bytes);
		else
			ret = copy_field(&w->q, &g, &f, whole);
	}
	while (copy_next(&w->q, &model, &f, &whole, &ret)) {
		if (f.id != 7)
			ret = copy_rest(&w->q, out, &f, whole);
		else if (f.has_bytes)
			put_message(out, 7, &g);
	}
	message_free(&g);
	return !ret && out->failed ? im_fail(w->q.im, -ENOMEM, "out of memory") : ret;
}

/* Weights that would be dropped are no weights of this model. */
static int check_used(struct onto *w)
{
	const char *first = NULL;
	uint32_t i, count = 0;

	for (i = w->store.count; i-- > 0;)
		if (!w->used[i]) {
			first = w->store.list[i].name;
			count++;
		}
	if (!count)
		return 0;
	w->about = w->path;
	return im_fail(w->q.im, -EINVAL, "%.100s is no initializer of the model; so %u of %u",
		       first, count, w->store.count);
}

/**
 * struct saving - files that are written
 * @opts: for progress
 * @done: bytes that are
 * @all: bytes of both
 */
struct saving {
	const struct accel_model_convert_opts *opts;
	uint64_t done;
	uint64_t all;
};

static int save_part(struct saving *v, struct newfile *n, struct slice s)
{
	int ret = v->opts->progress ? v->opts->progress(v->opts->user, v->done, v->all) : 0;

	if (ret)
		return ret;
	newfile_write(n, s.p, s.n);
	v->done += s.n;
	return n->error;
}

/* On an error @path becomes the file that it is about. */
static int save(struct onto *w, struct saving *v, const struct message *m, const char **path)
{
	struct newfile model = { 0 }, data = { 0 };
	const char *out = *path;
	bool named;
	struct slice s;
	size_t at = 0;
	uint32_t i;
	int ret = newfile_open(&model, out);

	if (!ret && w->outside_count) {
		*path = w->beside;
		ret = newfile_open(&data, w->beside);
		for (i = 0; i < w->outside_count && !ret; i++) {
			ret = save_part(v, &data, w->outside[i]);
			newfile_align(&data, OUTSIDE_ALIGN);
		}
		if (!ret)
			ret = newfile_sync(&data);
	}
	if (!ret)
		*path = out;
	while (!ret && message_next(m, &at, &s))
		ret = save_part(v, &model, s);
	/* The data are there before the model that names them. */
	if (!ret)
		ret = newfile_sync(&model);
	ret = newfile_close(&data, ret);
	named = !ret && w->outside_count;
	ret = newfile_close(&model, ret);
	/* Without the model they are of no use. */
	if (named && ret)
		unlink(w->beside);
	else if (named && w->gone)
		unlink(w->gone);
	return ret;
}

/* Does a model read data of this name, and not only of one that has it in it? */
static bool is_location(const struct mapping *model, const char *name)
{
	struct message m = { 0 };
	bool is;

	put_text(&m, 1, "location");
	put_text(&m, 2, name);
	is = !m.failed && memmem(model->data, model->bytes, m.p, m.n);
	message_free(&m);
	return is;
}

/*
 * Data come to a name that the model at @out, which is replaced, does not read: so there is a model
 * that works at any time, with its own data, and what it had goes at the end.
 */
static int choose_names(struct onto *w, const char *out)
{
	static const char *const ends_in[] = { "data", "1.data" };
	const char *slash;
	struct mapping *old = NULL;
	bool said = false;
	uint32_t i;

	mapping_open(out, NULL, &old);
	for (i = 0; i < ARRAY_SIZE(ends_in); i++) {
		if (asprintf(&w->names[i], "%s.%s", out, ends_in[i]) < 0) {
			w->names[i] = NULL;
			break;
		}
		slash = strrchr(w->names[i], '/');
		slash = slash ? slash + 1 : w->names[i];
		if (!said && old && memmem(old->data, old->bytes, slash, strlen(slash))) {
			said = true;
			if (is_location(old, slash))
				w->gone = w->names[i];
		} else if (!w->beside) {
			w->beside = w->names[i];
			w->location = slash;
		}
	}
	mapping_unref(old);
	return i == ARRAY_SIZE(ends_in) ? 0 : im_fail(w->q.im, -ENOMEM, "out of memory");
}

/* A model may be written over by itself, its data too. */
static int check_places(struct onto *w, const char *out)
{
	struct import *im = w->q.im;
	const struct mapping *m = im->maps;
	int ret = check_place(im, m, false, out);

	if (!ret)
		ret = check_place(im, w->store.maps, true, out);
	if (ret || !w->outside_count)
		return ret;
	if (!utf8_valid((const uint8_t *)w->location, strlen(w->location)) ||
	    strchr(w->location, '\\'))
		return im_fail(im, -EINVAL,
			       "%.150s: names of data outside are UTF-8, without a backslash",
			       w->beside);
	ret = check_place(im, m, true, w->beside);
	if (!ret)
		ret = check_place(im, w->store.maps, true, w->beside);
	if (ret || !w->gone)
		return ret;
	while (m->name)
		m = m->next;
	ret = mapping_is(m, out) ? 0 : check_place(im, im->maps, true, w->gone);
	return ret ? ret : check_place(im, w->store.maps, true, w->gone);
}

static int replace(struct onto *w, const struct accel_model_convert_opts *o, const char *out)
{
	struct saving v = { .opts = o };
	struct slice model, graph;
	struct message m = { 0 };
	struct mapping *map;
	int ret = map_file(w->q.im, NULL, &map);

	if (!ret)
		ret = find_model(w->q.im, &model, &graph);
	if (!ret)
		ret = put_model(w, model, graph, &m);
	if (!ret && message_bytes(&m) > INT32_MAX)
		ret = im_fail(w->q.im, -EFBIG, "%zu bytes are more than an ONNX file can have",
			      message_bytes(&m));
	if (!ret)
		ret = check_used(w);
	if (!ret) {
		w->about = NULL;
		ret = check_places(w, out);
	}
	v.all = message_bytes(&m) + w->outside_bytes;
	if (!ret) {
		ret = save(w, &v, &m, &out);
		if (ret < 0)
			im_fail(w->q.im, ret, "%.200s: cannot be written: %s", out,
				errno_text(-ret));
	}
	if (!ret && o->bytes) {
		o->bytes[0] = w->store.file_bytes;
		o->bytes[1] = v.all;
	}
	message_free(&m);
	return ret;
}

static int check_onto(struct import *im, const struct accel_model_convert_opts *o, const char *out)
{
	if (o->type || o->table || o->tokenizer || o->imatrix || o->flags)
		return im_fail(im, -EINVAL, "weights of ONNX files are written as they are");
	return ends(out, ".gguf") || ends(out, ".safetensors") ?
	       im_fail(im, -EINVAL, "%.150s: an ONNX file is written, which this is no name of",
		       out) : 0;
}

/*
 * One after the other in a folder: what the old model read is removed, so nobody else may write a
 * model there that reads it. -1: the folder cannot be locked
 */
static int lock_folder(const char *out)
{
	const char *slash = strrchr(out, '/');
	char *folder = slash ? strndup(out, (size_t)(slash - out) + 1) : strdup(".");
	int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	free(folder);
	while (fd >= 0 && flock(fd, LOCK_EX) && errno == EINTR)
		;
	return fd;
}

int weights_onto(const char *path, const struct accel_model_convert_opts *o, const char *out,
		 struct accel_error *error)
{
	struct import *im = import_create(o->onto);
	struct accel_model *model = im ? im->model : NULL;
	struct onto w = { .q = { .im = im }, .path = path, .about = o->onto };
	int folder = -1, ret;

	if (!im)
		return -ENOMEM;
	ret = check_onto(im, o, out);
	if (ret) {
		w.about = NULL;
	} else {
		folder = lock_folder(out);
		ret = stored_open(path, &w.store, &im->error);
		w.about = ret ? path : o->onto;
	}
	if (!ret) {
		w.used = calloc(w.store.count + 1u, sizeof(*w.used));
		ret = w.used ? choose_names(&w, out) : im_fail(im, -ENOMEM, "out of memory");
	}
	if (!ret)
		ret = replace(&w, o, out);
	if (folder >= 0)
		close(folder);
	if (w.about)
		ret = stored_about(&im->error, ret, w.about);
	stored_close(&w.store);
	free(w.used);
	free(w.outside);
	free(w.names[0]);
	free(w.names[1]);
	ret = import_end(im, ret, error);
	accel_model_close(model);
	return ret;
}

// SPDX-License-Identifier: MIT
/*
 * Programs in files: who may use one, and what is mapped.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libaccel/core/fpmode.h"
#include "file.h"

/* Of a graph, without the contents of its constants */
#define MAX_META	(1ull << 30)

static uint64_t page_up(uint64_t v)
{
	return (v + PROGRAM_PAGE - 1) / PROGRAM_PAGE * PROGRAM_PAGE;
}

static struct store_digest header_sum(const struct program_header *h)
{
	const struct store_digest zero = { { 0 } };
	struct program_header copy = *h;

	memset(&copy.sum, 0, sizeof(copy.sum));
	return store_sum(zero, &copy, sizeof(copy));
}

/* --- writing ----------------------------------------------------------------------- */

static int write_data(const struct image *image, const struct program_header *h, int fd)
{
	uint32_t i;
	int ret = 0;

	for (i = 0; i < image->blob_count && !ret; i++) {
		const struct file_blob *b = &image->blobs[i];

		if (b->offset == NO_DATA)
			continue;
		ret = file_write(fd, b->from->data, b->bytes, h->data_offset + b->offset);
		blob_rest(b->from);
	}
	return ret;
}

static int write_image(void *user, int fd)
{
	const struct store_digest zero = { { 0 } };
	const struct image *image = user;
	const struct accel_program *program = image->program;
	struct program_header h = {
		.magic = ACCEL_PROGRAM_MAGIC, .version = PROGRAM_VERSION,
		.library = accel_version(),
		.desc_size = sizeof(union node_desc), .level = program->opts.level,
		.off = program->opts.off, .engine = program->opts.engine,
		.precision = program->opts.precision,
		.reproducible = ctx_reproducible(program->ctx), .meta_bytes = image->bytes,
	};
	uint64_t bytes = 0;
	int ret;

	h.data_offset = page_up(sizeof(h) + h.meta_bytes);
	h.weights_offset = page_up(h.data_offset + image->data_bytes);
	h.meta = store_sum(zero, image->meta, image->bytes);
	ret = file_write(fd, image->meta, image->bytes, sizeof(h));
	if (!ret)
		ret = write_data(image, &h, fd);
	if (!ret)
		ret = weights_write(program->weights, fd, h.weights_offset, &bytes);
	h.file_bytes = h.weights_offset + bytes;
	h.sum = header_sum(&h);
	return ret ? ret : file_write(fd, &h, sizeof(h), 0);
}

int accel_program_save(struct accel_program *program, const char *path, uint32_t flags)
{
	struct image image = { .program = program };
	int ret;

	if (!program)
		return -EINVAL;
	if (!path || flags & ~ACCEL_PROGRAM_SEEN)
		return ctx_fail(program->ctx, -EINVAL, path ? "flags" : "path",
				path ? "unknown flags" : "NULL");
	pthread_mutex_lock(&program->lock);
	image.seen = flags & ACCEL_PROGRAM_SEEN || program->sealed;
	if (image.seen && (!program->net_count || program->graph->input_count == 0 ||
			   program->nets[0]->stop < program->graph->node_count))
		ret = ctx_fail(program->ctx, -EINVAL, "flags",
			       "no sizes were seen, or they depend on data: all of the graph is needed");
	else
		/* Written again, what is damaged would have a checksum that fits. */
		ret = file_check(program);
	if (!ret)
		ret = image_make(&image);
	if (!ret)
		ret = file_replace(program->ctx, path, write_image, &image);
	pthread_mutex_unlock(&program->lock);
	image_free(&image);
	return ret;
}

/* --- reading ----------------------------------------------------------------------- */

void file_free(struct program_file *file)
{
	uint32_t i;

	if (!file)
		return;
	for (i = 0; i < file->blob_count; i++) {
		blob_unref(file->blobs[i].blob);
		free(file->blobs[i].sums);
	}
	if (file->map)
		munmap(file->map, file->bytes);
	free(file->blobs);
	free(file->meta);
	free(file);
}

/* Was it made for this library, with these options, and is it whole? */
static int check_file(struct accel_ctx *ctx, const struct program_header *h, uint64_t bytes,
		      const struct accel_compile_opts *opts)
{
	const struct store_digest sum = header_sum(h);
	const bool reproducible = ctx_reproducible(ctx);

	if (memcmp(h->magic, ACCEL_PROGRAM_MAGIC, sizeof(h->magic)) != 0)
		return ctx_fail(ctx, -EBADMSG, "path", "it is no compiled program");
	if (h->version != PROGRAM_VERSION || h->library != accel_version() ||
	    h->desc_size != sizeof(union node_desc))
		return ctx_fail(ctx, -ESTALE, "version",
				"the file is of library 0x%x, format %u, this is 0x%x, %u",
				h->library, h->version, accel_version(), PROGRAM_VERSION);
	if (memcmp(&sum, &h->sum, sizeof(sum)) != 0)
		return ctx_fail(ctx, -EBADMSG, "path", "the file is damaged: its header");
	if (h->file_bytes != bytes || h->data_offset % PROGRAM_PAGE ||
	    h->weights_offset % PROGRAM_PAGE || h->weights_offset > bytes ||
	    h->data_offset > h->weights_offset || h->meta_bytes > MAX_META ||
	    h->data_offset < sizeof(*h) || h->meta_bytes > h->data_offset - sizeof(*h))
		return ctx_fail(ctx, -EBADMSG, "path", "the file is cut: %llu bytes, not %llu",
				(unsigned long long)bytes, (unsigned long long)h->file_bytes);
	if (h->reproducible != reproducible)
		return ctx_fail(ctx, -ESTALE, "reproducible", "the file was made for a context that is%s reproducible",
				reproducible ? " not" : "");
	if (opts && h->level != opts->level)
		return ctx_fail(ctx, -ESTALE, "opts.level", "the file was compiled with %u, not %u",
				h->level, opts->level);
	if (opts && h->off != opts->off)
		return ctx_fail(ctx, -ESTALE, "opts.off", "the file was compiled with 0x%x, not 0x%x",
				h->off, opts->off);
	if (opts && h->precision != opts->precision)
		return ctx_fail(ctx, -ESTALE, "opts.precision",
				"the file was compiled with %u, not %u", h->precision,
				opts->precision);
	if (opts && h->engine != opts->engine)
		return ctx_fail(ctx, -ESTALE, "opts.engine", "the file was compiled with %u, not %u",
				h->engine, opts->engine);
	return 0;
}

/* The file is mapped, and its meta read, so that nobody changes that while it is looked at. */
static int take_file(struct accel_program *program, const struct program_header *h, int fd)
{
	const struct store_digest zero = { { 0 } };
	struct accel_ctx *ctx = program->ctx;
	struct program_file *file = calloc(1, sizeof(*file));
	struct store_digest sum;
	int ret;

	program->file = file;
	if (!file)
		return ctx_fail(ctx, -ENOMEM, NULL, "out of memory");
	file->meta = malloc(h->meta_bytes + 1);
	if (!file->meta)
		return ctx_fail(ctx, -ENOMEM, NULL, "out of memory");
	ret = file_read(fd, file->meta, h->meta_bytes, sizeof(*h));
	if (ret)
		return ctx_fail(ctx, ret, "path", "the file cannot be read");
	sum = store_sum(zero, file->meta, h->meta_bytes);
	if (memcmp(&sum, &h->meta, sizeof(sum)) != 0)
		return ctx_fail(ctx, -EBADMSG, "path", "the file is damaged: the checksum of its graph");
	file->map = mmap(NULL, h->file_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	if (file->map == MAP_FAILED) {
		file->map = NULL;
		return ctx_fail(ctx, -errno, "path", "the file cannot be mapped");
	}
	file->stamp = store_stamp(fd);
	file->bytes = h->file_bytes;
	file->data_offset = h->data_offset;
	return 0;
}

static int load(struct accel_ctx *ctx, int fd, const struct accel_compile_opts *opts,
		const struct accel_operators *operators, struct accel_program **out)
{
	struct accel_compile_opts o = ACCEL_COMPILE_OPTS_INIT;
	struct program_header h = { 0 };
	struct accel_program *program = NULL;
	struct stat st;
	int ret;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || file_read(fd, &h, sizeof(h), 0))
		return ctx_fail(ctx, -EBADMSG, "path", "it is no compiled program");
	ret = check_file(ctx, &h, (uint64_t)st.st_size, opts);
	if (ret)
		return ret;
	o.level = h.level;
	o.off = h.off;
	o.engine = h.engine;
	o.precision = h.precision;
	o.cache = opts ? opts->cache : 0;
	ret = program_create(ctx, NULL, &o, &program);
	if (ret)
		return ret;
	ret = weights_map(program->weights, fd, h.weights_offset, h.file_bytes - h.weights_offset);
	if (!ret)
		ret = take_file(program, &h, fd);
	if (!ret)
		ret = file_parse(program, &h, operators);
	if (ret)
		accel_program_unref(program);
	else
		*out = program;
	return ret;
}

int accel_program_load_operators(struct accel_ctx *ctx, const char *path,
				 const struct accel_compile_opts *opts,
				 struct accel_operators *operators,
				 struct accel_program **program)
{
	FP_MODE_SCOPE();
	struct accel_compile_opts o = ACCEL_COMPILE_OPTS_INIT;
	int fd, ret = 0;

	if (!ctx)
		return -EINVAL;
	if (!path || !program)
		return ctx_fail(ctx, -EINVAL, path ? "program" : "path", "NULL");
	if (opts)
		ret = opts_in_since(ctx, &o, sizeof(o), opts,
				    offsetof(struct accel_compile_opts, progress));
	if (ret)
		return ret;
	/* Of a pipe it is known, and not waited for, that it is no program. */
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return ctx_fail(ctx, -errno, "path", "%s: %s", path, errno_text(errno));
	ret = load(ctx, fd, opts ? &o : NULL, operators, program);
	close(fd);
	return ret;
}

int accel_program_load(struct accel_ctx *ctx, const char *path,
		       const struct accel_compile_opts *opts, struct accel_program **program)
{
	return accel_program_load_operators(ctx, path, opts, NULL, program);
}

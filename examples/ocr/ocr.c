// SPDX-License-Identifier: MIT
/*
 * ocr DETECT RECOGNISE KEYS PICTURE.png: what is written in a picture? PaddleOCR's networks, in
 * ONNX: DETECT says of each pixel how likely it is part of a line of text, RECOGNISE reads a
 * line, KEYS has its characters, one a line. A line of text is written for each in the picture.
 */
#include <errno.h>
#include <math.h>
#include <png.h>
#include <stdlib.h>
#include "../net.h"

/* Longer side of what lines are looked for in, whose sides are multiples of ROUND */
#define LONGEST	960
#define ROUND	32
/* Pixels of a line, lines, how much they grow: less is found than what is written covers */
#define PIXEL	0.3f
#define LINE	0.6f
#define GROW	1.5f
#define LEAST	3
/* Height of what is read, widths are multiples of STEP; lines that are read worse are none */
#define HEIGHT	48
#define STEP	160
#define WIDEST	4800
#define READ	0.5f
#define LINES	1000

struct picture {
	uint8_t *rgb;
	int64_t width;
	int64_t height;
};

/**
 * struct box - where text may be
 * @x0: left edge
 * @y0: upper edge
 * @x1: behind the right edge
 * @y1: behind the lower edge
 */
struct box {
	float x0;
	float y0;
	float x1;
	float y1;
};

/**
 * struct keys - characters
 * @text: of the file, its lines cut
 * @list: one after the other
 * @count: of @list
 */
struct keys {
	char *text;
	char **list;
	int64_t count;
};

static int read_picture(const char *path, struct picture *p)
{
	png_image image = { .version = PNG_IMAGE_VERSION };

	if (!png_image_begin_read_from_file(&image, path)) {
		fprintf(stderr, "%s: %s\n", path, image.message);
		return -EBADMSG;
	}
	image.format = PNG_FORMAT_RGB;
	p->width = image.width;
	p->height = image.height;
	p->rgb = p->width > 1 << 14 || p->height > 1 << 14 ? NULL : malloc(PNG_IMAGE_SIZE(image));
	if (!p->rgb || !png_image_finish_read(&image, NULL, p->rgb, 0, NULL)) {
		fprintf(stderr, "%s: %s\n", path, p->rgb ? image.message : "it is too large");
		png_image_free(&image);
		return -EBADMSG;
	}
	return 0;
}

static int read_keys(const char *path, struct keys *k)
{
	FILE *f = fopen(path, "r");
	size_t size = 1 << 20, n;
	char *line;

	if (!f) {
		perror(path);
		return -errno;
	}
	k->text = malloc(size);
	k->list = calloc(size, sizeof(*k->list));
	n = k->text && k->list ? fread(k->text, 1, size - 1, f) : 0;
	fclose(f);
	if (!n) {
		fprintf(stderr, "%s: no characters\n", path);
		return -EBADMSG;
	}
	k->text[n] = '\0';
	for (line = k->text; *line; k->count++) {
		k->list[k->count] = line;
		line += strcspn(line, "\n");
		if (*line)
			*line++ = '\0';
	}
	return 0;
}

/* Between the four pixels around a place, those at the edge go on outside. */
static float pixel(const struct picture *p, float x, float y, uint32_t channel)
{
	int64_t x0, y0, x1, y1;
	float a, b;

	x = fminf(fmaxf(x, 0), (float)(p->width - 1));
	y = fminf(fmaxf(y, 0), (float)(p->height - 1));
	x0 = (int64_t)x;
	y0 = (int64_t)y;
	x1 = x0 + 1 < p->width ? x0 + 1 : x0;
	y1 = y0 + 1 < p->height ? y0 + 1 : y0;
	x -= (float)x0;
	y -= (float)y0;
#define AT(x, y)	((float)p->rgb[((y) * p->width + (x)) * 3 + channel])
	a = AT(x0, y0) + (AT(x1, y0) - AT(x0, y0)) * x;
	b = AT(x0, y1) + (AT(x1, y1) - AT(x0, y1)) * x;
#undef AT
	return a + (b - a) * y;
}

/* A part of a picture, stretched to columns of rows that are @pitch apart: blue comes first. */
static void stretch(const struct picture *p, const struct box *b, int64_t width, int64_t height,
		    int64_t pitch, const float *mean, const float *std, float *out)
{
	float sx = (b->x1 - b->x0) / (float)width, sy = (b->y1 - b->y0) / (float)height;
	int64_t x, y;
	uint32_t c;

	for (c = 0; c < 3; c++)
		for (y = 0; y < height; y++)
			for (x = 0; x < width; x++)
				out[(c * height + y) * pitch + x] =
					(pixel(p, b->x0 + ((float)x + 0.5f) * sx - 0.5f,
					       b->y0 + ((float)y + 0.5f) * sy - 0.5f, 2 - c) /
					 255 - mean[c]) / std[c];
}

/* Its only result: floats of these dimensions, of which 0 may be any; NULL: it was said. */
static const float *result(struct net *net, uint32_t rank, int64_t *dims)
{
	struct accel_value v = ACCEL_VALUE_INIT;
	const void *data = NULL;
	int ret = accel_state_run(net->state);
	uint32_t i;

	if (!ret)
		ret = accel_state_get_output(net->state, 0, &v, &data);
	if (!ret && (v.type != ACCEL_F32 || v.rank != rank))
		ret = -EBADMSG;
	for (i = 0; i < rank && !ret; i++) {
		if (dims[i] && dims[i] != v.dims[i])
			ret = -EBADMSG;
		dims[i] = v.dims[i];
	}
	if (ret)
		net_failed(net, "the model", ret);
	return ret ? NULL : data;
}

/* --- lines ------------------------------------------------------------------------------- */

/* All pixels that hang together with one; they are taken off the map. Returns their mean. */
static float flood(float *map, int64_t width, int64_t height, int64_t at, int64_t *stack,
		   struct box *b)
{
	int64_t count = 0, top = 0, x, y, i, k;
	float sum = 0;

	*b = (struct box) { (float)width, (float)height, 0, 0 };
	stack[top++] = at;
	sum += map[at];
	map[at] = 0;
	while (top) {
		at = stack[--top];
		x = at % width;
		y = at / width;
		count++;
		b->x0 = fminf(b->x0, (float)x);
		b->y0 = fminf(b->y0, (float)y);
		b->x1 = fmaxf(b->x1, (float)x + 1);
		b->y1 = fmaxf(b->y1, (float)y + 1);
		for (i = y - (y > 0); i <= y + (y + 1 < height); i++) {
			for (k = x - (x > 0); k <= x + (x + 1 < width); k++) {
				if (map[i * width + k] <= PIXEL)
					continue;
				sum += map[i * width + k];
				map[i * width + k] = 0;
				stack[top++] = i * width + k;
			}
		}
	}
	return sum / (float)count;
}

/* From above, then from the left: lines whose middles lie within each other are one row. */
static int by_place(const void *a, const void *b)
{
	const struct box *x = a, *y = b;

	if ((x->y0 + x->y1) / 2 < y->y0)
		return -1;
	if ((x->y0 + x->y1) / 2 > y->y1)
		return 1;
	return x->x0 < y->x0 ? -1 : x->x0 > y->x0;
}

static int64_t round_side(float side)
{
	int64_t n = lroundf(side / ROUND) * ROUND;

	return n < ROUND ? ROUND : n;
}

/* Number of @boxes, negative: it failed, which was said */
static int find_lines(struct net *net, const struct picture *p, struct box *boxes)
{
	static const float mean[3] = { 0.485f, 0.456f, 0.406f };
	static const float std[3] = { 0.229f, 0.224f, 0.225f };
	const struct box all = { 0, 0, (float)p->width, (float)p->height };
	float scale = fminf(1, LONGEST / fmaxf(all.x1, all.y1)), *map, *in, grow;
	int64_t w = round_side(all.x1 * scale), h = round_side(all.y1 * scale), *stack, i;
	int64_t dims[4] = { 1, 3, h, w };
	const float *out;
	int count = 0;

	in = net_input(net, 0, 4, dims);
	if (!in)
		return -EINVAL;
	stretch(p, &all, w, h, w, mean, std, in);
	dims[1] = 1;
	out = result(net, 4, dims);
	if (!out)
		return -EIO;
	map = malloc((size_t)(w * h) * sizeof(*map));
	stack = malloc((size_t)(w * h) * sizeof(*stack));
	if (map && stack)
		memcpy(map, out, (size_t)(w * h) * sizeof(*map));
	for (i = 0; map && stack && i < w * h && count < LINES; i++) {
		struct box b;

		if (map[i] <= PIXEL || flood(map, w, h, i, stack, &b) < LINE ||
		    b.x1 - b.x0 < LEAST || b.y1 - b.y0 < LEAST)
			continue;
		grow = (b.x1 - b.x0) * (b.y1 - b.y0) * GROW / (2 * (b.x1 - b.x0 + b.y1 - b.y0));
		boxes[count++] = (struct box) {
			fmaxf(b.x0 - grow, 0) * all.x1 / (float)w,
			fmaxf(b.y0 - grow, 0) * all.y1 / (float)h,
			fminf(b.x1 + grow, (float)w) * all.x1 / (float)w,
			fminf(b.y1 + grow, (float)h) * all.y1 / (float)h
		};
	}
	free(map);
	free(stack);
	qsort(boxes, (size_t)count, sizeof(*boxes), by_place);
	return count;
}

/* --- text of them ------------------------------------------------------------------------ */

/* The likeliest character of each step: class 0 is none, one that stays is said once. */
static void write_text(const float *steps, int64_t count, int64_t classes, const struct keys *k)
{
	int64_t *best = malloc((size_t)count * sizeof(*best)), i, c, said = 0;
	float sum = 0;

	if (!best)
		return;
	for (i = 0; i < count; i++) {
		const float *step = steps + i * classes;

		for (best[i] = 0, c = 1; c < classes; c++)
			if (step[c] > step[best[i]])
				best[i] = c;
		if (best[i] && (!i || best[i] != best[i - 1])) {
			sum += step[best[i]];
			said++;
		}
	}
	for (i = 0; i < count && said && sum >= READ * (float)said; i++)
		if (best[i] && (!i || best[i] != best[i - 1]))
			fputs(best[i] > k->count ? " " : k->list[best[i] - 1], stdout);
	if (said && sum >= READ * (float)said)
		putchar('\n');
	free(best);
}

static int read_line(struct net *net, const struct picture *p, const struct box *b,
		     const struct keys *k)
{
	static const float half[3] = { 0.5f, 0.5f, 0.5f };
	float ratio = (b->x1 - b->x0) / (b->y1 - b->y0);
	int64_t width = (int64_t)fminf(ceilf(HEIGHT * ratio), WIDEST);
	int64_t pitch = (width + STEP - 1) / STEP * STEP, dims[4] = { 1, 3, HEIGHT, 0 };
	const float *out;
	float *in;

	dims[3] = pitch < 2 * STEP ? 2 * STEP : pitch;
	in = net_input(net, 0, 4, dims);
	if (!in)
		return -EINVAL;
	memset(in, 0, (size_t)dims[3] * 3 * HEIGHT * sizeof(*in));
	stretch(p, b, width, HEIGHT, dims[3], half, half, in);
	/* No character, those of the file, and a blank */
	dims[1] = 0;
	dims[2] = k->count + 2;
	out = result(net, 3, dims);
	if (!out)
		return -EIO;
	write_text(out, dims[1], dims[2], k);
	return 0;
}

int main(int argc, char **argv)
{
	static struct box boxes[LINES];
	struct net detect = { 0 }, recognise = { 0 };
	struct picture picture = { 0 };
	struct keys keys = { 0 };
	int ret, count = 0, i;

	if (argc != 5) {
		fprintf(stderr, "usage: ocr DETECT RECOGNISE KEYS PICTURE.png\n");
		return 2;
	}
	ret = read_picture(argv[4], &picture);
	if (!ret)
		ret = read_keys(argv[3], &keys);
	if (!ret)
		ret = net_open(&detect, argv[1]);
	if (!ret)
		ret = net_open(&recognise, argv[2]);
	if (!ret)
		count = find_lines(&detect, &picture, boxes);
	if (count < 0)
		ret = count;
	for (i = 0; i < count && !ret; i++)
		ret = read_line(&recognise, &picture, &boxes[i], &keys);
	net_close(&recognise);
	net_close(&detect);
	free(keys.list);
	free(keys.text);
	free(picture.rgb);
	return ret ? 1 : 0;
}

// SPDX-License-Identifier: MIT
/* Reader and writer of .npy. Files are not trusted: everything is checked before it is used. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "npy.h"
#include "gemm.h"

static const unsigned char magic[6] = { 0x93, 'N', 'U', 'M', 'P', 'Y' };

/* Bytes read at a time: the size in a header is not allocated at once */
#define CHUNK	(1u << 20)

static int __attribute__((format(printf, 3, 4)))
fail(char error[NPY_ERROR], int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(error, NPY_ERROR, fmt, ap);
	va_end(ap);
	return code;
}

/*
 * The header is a Python literal:
 * {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
 */

struct parser {
	const char *p;
	const char *end;
	char *error;
};

static void skip_space(struct parser *ps)
{
	while (ps->p < ps->end && isspace((unsigned char)*ps->p))
		ps->p++;
}

/* The next character that is no blank, 0 at the end */
static char peek(struct parser *ps)
{
	skip_space(ps);
	return ps->p < ps->end ? *ps->p : 0;
}

static bool accept(struct parser *ps, char c)
{
	if (c == 0 || peek(ps) != c)
		return false;
	ps->p++;
	return true;
}

static int expect(struct parser *ps, char c)
{
	if (accept(ps, c))
		return 0;
	return fail(ps->error, -EINVAL, "header: '%c' is missing", c);
}

static bool accept_word(struct parser *ps, const char *word)
{
	size_t len = strlen(word);

	skip_space(ps);
	if ((size_t)(ps->end - ps->p) < len || memcmp(ps->p, word, len) != 0)
		return false;
	ps->p += len;
	return true;
}

static int parse_string(struct parser *ps, char *buf, size_t size)
{
	char quote = peek(ps);
	size_t len = 0;

	if (quote != '\'' && quote != '"')
		return fail(ps->error, -EINVAL, "header: a string is missing");
	for (ps->p++; ps->p < ps->end && *ps->p != quote; ps->p++) {
		if (*ps->p == '\\' || !isprint((unsigned char)*ps->p))
			return fail(ps->error, -EINVAL, "header: strange character in a string");
		if (len + 1 < size)
			buf[len++] = *ps->p;
		else
			return fail(ps->error, -EINVAL, "header: string is too long");
	}
	buf[len] = 0;
	return expect(ps, quote);
}

static int parse_shape(struct parser *ps, struct npy *npy)
{
	int ret = expect(ps, '(');

	if (ret)
		return ret;
	while (!accept(ps, ')')) {
		uint64_t dim = 0;

		if (npy->rank == NPY_MAX_RANK)
			return fail(ps->error, -EOPNOTSUPP, "shape: more than %d dimensions",
				    NPY_MAX_RANK);
		if (!isdigit((unsigned char)peek(ps)))
			return fail(ps->error, -EINVAL,
				    "shape: dimension %u is not a whole number from 0", npy->rank);
		for (; ps->p < ps->end && isdigit((unsigned char)*ps->p); ps->p++)
			if (__builtin_mul_overflow(dim, 10, &dim) ||
			    __builtin_add_overflow(dim, (uint64_t)(*ps->p - '0'), &dim))
				return fail(ps->error, -EINVAL, "shape: dimension %u is too large",
					    npy->rank);
		/* Python 2 wrote long integers so */
		if (ps->p < ps->end && *ps->p == 'L')
			ps->p++;
		npy->dims[npy->rank++] = dim;
		if (accept(ps, ','))
			continue;
		if (peek(ps) != ')')
			return fail(ps->error, -EINVAL, "shape: ',' or ')' is missing");
		if (npy->rank == 1)
			return fail(ps->error, -EINVAL, "shape: one dimension without a comma");
	}
	return 0;
}

static int parse_descr(struct parser *ps, struct npy *npy)
{
	static const char types[][3] = {
		"f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "V2", "b1"
	};
	char descr[16] = "";
	size_t i;
	int ret;

	if (peek(ps) == '[' || peek(ps) == '(')
		return fail(ps->error, -EOPNOTSUPP, "descr: records are not read, only plain numbers");
	ret = parse_string(ps, descr, sizeof(descr));
	if (ret)
		return ret;
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (descr[0] && !strcmp(descr + 1, types[i]))
			break;
	if (i == sizeof(types) / sizeof(types[0]))
		return fail(ps->error, -EOPNOTSUPP, "descr: type '%s' is not read", descr);
	npy->kind = descr[1] == 'b' ? 'u' : descr[1];
	npy->itemsize = (uint32_t)(descr[2] - '0');
	switch (descr[0]) {
	case '<':
		break;
	case '>':
		npy->swap = npy->itemsize > 1;
		break;
	case '=':
	case '|':
		/* V2 has no byte order of its own; other types must name theirs */
		if (npy->itemsize == 1 || npy->kind == 'V')
			break;
		/* fall through */
	default:
		return fail(ps->error, -EINVAL, "descr: '%s' has no byte order", descr);
	}
	return 0;
}

static int parse_order(struct parser *ps, struct npy *npy)
{
	npy->fortran = accept_word(ps, "True");
	if (!npy->fortran && !accept_word(ps, "False"))
		return fail(ps->error, -EINVAL, "fortran_order: neither True nor False");
	return 0;
}

static int parse_header(const char *text, size_t len, struct npy *npy, char *error)
{
	struct parser ps = { text, text + len, error };
	enum { DESCR = 1, ORDER = 2, SHAPE = 4, ALL = 7 };
	unsigned int seen = 0, key;
	char name[32];
	int ret = expect(&ps, '{');

	if (ret)
		return ret;
	while (!accept(&ps, '}')) {
		ret = parse_string(&ps, name, sizeof(name));
		if (ret)
			return ret;
		ret = expect(&ps, ':');
		if (ret)
			return ret;
		key = !strcmp(name, "descr") ? DESCR :
		      !strcmp(name, "fortran_order") ? ORDER :
		      !strcmp(name, "shape") ? SHAPE : 0;
		if (!key)
			return fail(error, -EINVAL, "header: unknown key '%s'", name);
		if (seen & key)
			return fail(error, -EINVAL, "header: key '%s' twice", name);
		seen |= key;
		if (key == DESCR)
			ret = parse_descr(&ps, npy);
		else if (key == SHAPE)
			ret = parse_shape(&ps, npy);
		else
			ret = parse_order(&ps, npy);
		if (ret)
			return ret;
		if (!accept(&ps, ',') && peek(&ps) != '}')
			return fail(error, -EINVAL, "header: ',' or '}' is missing");
	}
	if (seen != ALL)
		return fail(error, -EINVAL, "header: no key '%s'",
			    !(seen & DESCR) ? "descr" : !(seen & ORDER) ? "fortran_order" : "shape");
	skip_space(&ps);
	if (ps.p != ps.end)
		return fail(error, -EINVAL, "header: something follows the dictionary");
	return 0;
}

/* --- reading --- */

static int short_read(FILE *f, char *error, const char *what)
{
	if (ferror(f))
		return fail(error, -EIO, "cannot read: %s", strerror(errno));
	return fail(error, -ENODATA, "file ends within %s", what);
}

static int read_data(FILE *f, struct npy *npy, char *error)
{
	uint64_t bytes, have = 0, room = 0;
	struct stat st;
	long at;

	if (__builtin_mul_overflow(npy->count, npy->itemsize, &bytes) || bytes > SIZE_MAX / 2)
		return fail(error, -EINVAL, "shape: too many elements");
	/*
	 * The size of a regular file can be checked at once, and then one allocation is
	 * sufficient
	 */
	if (fileno(f) >= 0 && !fstat(fileno(f), &st) && S_ISREG(st.st_mode)) {
		at = ftell(f);
		if (at >= 0 && bytes > (uint64_t)(st.st_size > at ? st.st_size - at : 0))
			return fail(error, -ENODATA,
				    "file ends within the data: %llu bytes are promised, %llu there",
				    (unsigned long long)bytes,
				    (unsigned long long)(st.st_size > at ? st.st_size - at : 0));
		room = bytes;
		npy->data = malloc(room ? room : 1);
		if (!npy->data)
			return fail(error, -ENOMEM, "no memory for %llu bytes",
				    (unsigned long long)bytes);
	}
	while (!npy->data || have < bytes) {
		uint64_t want = bytes - have < CHUNK ? bytes - have : CHUNK;
		unsigned char *grown;
		size_t got;

		if (have + want > room || !npy->data) {
			room = have + want > 2 * room ? have + want : 2 * room;
			grown = realloc(npy->data, room ? room : 1);
			if (!grown)
				return fail(error, -ENOMEM, "no memory for %llu bytes",
					    (unsigned long long)room);
			npy->data = grown;
		}
		got = want ? fread(npy->data + have, 1, want, f) : 0;
		have += got;
		if (got < want)
			return short_read(f, error, "the data");
	}
	return 0;
}

int npy_read(FILE *f, struct npy *npy, char error[NPY_ERROR])
{
	unsigned char fixed[12];
	size_t prefix = 10, len;
	uint32_t i;
	char *text;
	int ret;

	memset(npy, 0, sizeof(*npy));
	error[0] = 0;
	if (fread(fixed, 1, 8, f) != 8)
		return short_read(f, error, "the magic number");
	if (memcmp(fixed, magic, sizeof(magic)) != 0)
		return fail(error, -EINVAL, "not a .npy file");
	if (fixed[6] < 1 || fixed[6] > 3 || fixed[7] != 0)
		return fail(error, -EOPNOTSUPP, "version %u.%u of the format is not read",
			    fixed[6], fixed[7]);
	if (fixed[6] >= 2)
		prefix = 12;
	if (fread(fixed + 8, 1, prefix - 8, f) != prefix - 8)
		return short_read(f, error, "the length of the header");
	len = (size_t)fixed[8] | (size_t)fixed[9] << 8;
	if (prefix == 12)
		len |= (size_t)fixed[10] << 16 | (size_t)fixed[11] << 24;
	if (len > NPY_MAX_HEADER)
		return fail(error, -EINVAL, "header: %zu bytes, at most %u are read", len,
			    NPY_MAX_HEADER);

	text = malloc(len + 1);
	if (!text)
		return fail(error, -ENOMEM, "no memory for the header");
	if (fread(text, 1, len, f) != len)
		ret = short_read(f, error, "the header");
	else
		ret = parse_header(text, len, npy, error);
	free(text);
	if (ret)
		return ret;

	npy->count = 1;
	for (i = 0; i < npy->rank; i++)
		if (npy->dims[i] == 0)
			npy->count = 0;
	for (i = 0; i < npy->rank && npy->count; i++)
		if (__builtin_mul_overflow(npy->count, npy->dims[i], &npy->count))
			return fail(error, -EINVAL, "shape: too many elements");
	ret = read_data(f, npy, error);
	if (ret)
		npy_free(npy);
	return ret;
}

int npy_load(const char *path, struct npy *npy, char error[NPY_ERROR])
{
	FILE *f = fopen(path, "re");
	struct stat st;
	int ret;

	memset(npy, 0, sizeof(*npy));
	if (!f) {
		ret = -errno;
		return fail(error, ret, "cannot open: %s", strerror(-ret));
	}
	if (!fstat(fileno(f), &st) && S_ISDIR(st.st_mode))
		ret = fail(error, -EISDIR, "is a directory");
	else
		ret = npy_read(f, npy, error);
	fclose(f);
	return ret;
}

void npy_free(struct npy *npy)
{
	free(npy->data);
	npy->data = NULL;
}

const char *npy_type(const struct npy *npy, char buf[8])
{
	snprintf(buf, 8, "%c%c%u", npy->itemsize == 1 ? '|' : npy->swap ? '>' : '<', npy->kind,
		 npy->itemsize & 15);
	return buf;
}

/* Position in the file of an element of the logical, row-major order */
static uint64_t place(const struct npy *npy, uint64_t index)
{
	uint64_t sub[NPY_MAX_RANK], at = 0;
	uint32_t i;

	if (!npy->fortran || npy->rank < 2)
		return index;
	for (i = npy->rank; i-- > 0; index /= npy->dims[i])
		sub[i] = index % npy->dims[i];
	for (i = npy->rank; i-- > 0;)
		at = at * npy->dims[i] + sub[i];
	return at;
}

double npy_get(const struct npy *npy, uint64_t index, bool bf16)
{
	const unsigned char *p = npy->data + place(npy, index) * npy->itemsize;
	uint64_t bits = 0;
	double value;
	uint32_t i;

	for (i = 0; i < npy->itemsize; i++)
		bits |= (uint64_t)p[npy->swap ? npy->itemsize - 1 - i : i] << (8 * i);
	if (npy->itemsize == 2 && (npy->kind == 'V' || (bf16 && npy->kind == 'u'))) {
		uint16_t half = (uint16_t)bits;

		return value_get(ACCEL_BF16, &half, 0);
	}
	switch (npy->kind) {
	case 'f':
		if (npy->itemsize == 8) {
			memcpy(&value, &bits, 8);
			return value;
		}
		/* Little-endian words: the low bytes are first */
		return value_get(npy->itemsize == 4 ? ACCEL_F32 : ACCEL_F16, &bits, 0);
	case 'i':
		return npy->itemsize == 1 ? (int8_t)bits : npy->itemsize == 2 ? (int16_t)bits :
		       npy->itemsize == 4 ? (int32_t)bits : (double)(int64_t)bits;
	case 'u':
		return (double)bits;
	default:
		return NAN;
	}
}

/* --- writing --- */

size_t npy_header(char head[NPY_HEADER], const char *descr, uint32_t rank, const uint64_t *dims)
{
	char *text = head + 10;
	size_t len, total;
	uint32_t i;

	len = (size_t)snprintf(text, NPY_HEADER - 10,
			       "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
	for (i = 0; i < rank; i++)
		len += (size_t)snprintf(text + len, NPY_HEADER - 10 - len, "%s%llu", i ? ", " : "",
					(unsigned long long)dims[i]);
	len += (size_t)snprintf(text + len, NPY_HEADER - 10 - len, "%s), }", rank == 1 ? "," : "");

	/* The data start at a multiple of 64: blanks, then a newline */
	total = (10 + len + 1 + 63) / 64 * 64;
	memset(text + len, ' ', total - 10 - len);
	len = total - 10;
	text[len - 1] = '\n';
	memcpy(head, magic, sizeof(magic));
	head[6] = 1;
	head[7] = 0;
	head[8] = (char)(len & 255);
	head[9] = (char)(len >> 8);
	return total;
}

static int write_array(FILE *f, const char *descr, uint32_t itemsize, uint32_t rank,
		       const uint64_t *dims, const void *data)
{
	char head[NPY_HEADER];
	uint64_t count = 1;
	uint32_t i;
	size_t len = npy_header(head, descr, rank, dims);

	for (i = 0; i < rank; i++)
		count *= dims[i];
	if (fwrite(head, len, 1, f) != 1 || fwrite(data, itemsize, count, f) != count)
		return -EIO;
	return 0;
}

int npy_save(const char *path, const char *descr, uint32_t itemsize, uint32_t rank,
	     const uint64_t *dims, const void *data)
{
	char *temp = NULL;
	struct stat st;
	mode_t mask;
	FILE *f;
	int ret, fd;

	if (rank > NPY_MAX_RANK)
		return -EINVAL;
	/* A pipe or a device cannot be replaced, only written to */
	if (!stat(path, &st) && !S_ISREG(st.st_mode)) {
		f = fopen(path, "we");
		if (!f)
			return -errno;
	} else {
		if (asprintf(&temp, "%s.XXXXXX", path) < 0)
			return -ENOMEM;
		fd = mkostemp(temp, 0);
		if (fd < 0) {
			ret = -errno;
			free(temp);
			return ret;
		}
		mask = umask(0);
		umask(mask);
		f = fchmod(fd, 0666 & ~mask) ? NULL : fdopen(fd, "w");
		if (!f) {
			ret = -errno;
			close(fd);
			goto err_unlink;
		}
	}
	errno = 0;
	ret = write_array(f, descr, itemsize, rank, dims, data);
	if (ret && errno)
		ret = -errno;
	if (fclose(f) && !ret)
		ret = -errno;
	if (temp && !ret && rename(temp, path))
		ret = -errno;
	if (ret)
		goto err_unlink;
	free(temp);
	return 0;

err_unlink:
	if (temp)
		unlink(temp);
	free(temp);
	return ret;
}

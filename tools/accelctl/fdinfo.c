// SPDX-License-Identifier: MIT
/*
 * The parser of fdinfo. Unknown keys are ignored, because kernels add some; known keys must
 * have valid values.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fdinfo.h"
#include "kfile.h"

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit ns_units[] = { { "ns", 1 }, { NULL } };

static const struct unit byte_units[] = {
	{ "", 1 }, { "B", 1 }, { "KiB", 1ull << 10 }, { "MiB", 1ull << 20 }, { "GiB", 1ull << 30 },
	{ NULL }
};

static const struct unit clock_units[] = {
	{ "Hz", 1 }, { "KHz", 1000 }, { "kHz", 1000 }, { "MHz", 1000000 }, { "GHz", 1000000000 },
	{ NULL }
};

static const struct unit no_units[] = { { "", 1 }, { NULL } };

static bool quantity(const char *text, const struct unit *units, uint64_t *value)
{
	const char *end;
	uint64_t n;

	if (!number_parse(text, &n, &end))
		return false;
	while (*end == ' ')
		end++;
	for (; units->name; units++)
		if (!strcmp(end, units->name))
			return !__builtin_mul_overflow(n, units->factor, value);
	return false;
}

static struct fdinfo_engine *class_of(struct fdinfo *info, const char *name)
{
	struct fdinfo_engine *e;
	unsigned int i;

	for (i = 0; i < info->engine_count; i++)
		if (!strcmp(info->engines[i].name, name))
			return &info->engines[i];
	if (info->engine_count == FDINFO_CLASSES || !*name || strlen(name) >= sizeof(e->name))
		return NULL;
	e = &info->engines[info->engine_count++];
	*e = (struct fdinfo_engine){ .capacity = 1 };
	strcpy(e->name, name);
	text_clean(e->name);
	return e;
}

const struct fdinfo_engine *fdinfo_engine(const struct fdinfo *info, const char *name)
{
	unsigned int i;

	for (i = 0; i < info->engine_count; i++)
		if (!strcmp(info->engines[i].name, name))
			return &info->engines[i];
	return NULL;
}

/* The rest of a text after a prefix, or NULL */
static const char *behind(const char *text, const char *prefix)
{
	size_t len = strlen(prefix);

	return strncmp(text, prefix, len) ? NULL : text + len;
}

static bool add_memory(struct fdinfo *info, uint64_t *to, const char *value)
{
	uint64_t bytes;

	info->has_memory = true;
	return quantity(value, byte_units, &bytes) && !__builtin_add_overflow(*to, bytes, to);
}

/* Key without "drm-"; the longer prefixes before those that they start with */
static bool take(struct fdinfo *info, const char *key, const char *value)
{
	struct fdinfo_engine *e;
	const char *name;
	uint64_t n;

	if (!strcmp(key, "driver")) {
		if (!*value || strlen(value) >= sizeof(info->driver))
			return false;
		strcpy(info->driver, value);
		text_clean(info->driver);
		return true;
	}
	if (!strcmp(key, "client-id")) {
		info->has_client = quantity(value, no_units, &info->client_id);
		return info->has_client;
	}
	if (!strcmp(key, "client-name")) {
		snprintf(info->name, sizeof(info->name), "%s", value);
		text_clean(info->name);
		return true;
	}
	name = behind(key, "engine-capacity-");
	if (name) {
		e = class_of(info, name);
		if (!e || !quantity(value, no_units, &n) || !n || n > UINT32_MAX)
			return false;
		e->capacity = (uint32_t)n;
		return true;
	}
	name = behind(key, "engine-");
	if (name) {
		e = class_of(info, name);
		if (e)
			e->has_ns = quantity(value, ns_units, &e->ns);
		return e && e->has_ns;
	}
	name = behind(key, "total-cycles-");
	if (name) {
		e = class_of(info, name);
		return e && quantity(value, no_units, &e->total_cycles);
	}
	name = behind(key, "cycles-");
	if (name) {
		e = class_of(info, name);
		return e && quantity(value, no_units, &e->cycles);
	}
	name = behind(key, "maxfreq-");
	if (name) {
		e = class_of(info, name);
		return e && quantity(value, clock_units, &e->maxfreq_hz);
	}
	if (behind(key, "total-"))
		return add_memory(info, &info->total, value);
	if (behind(key, "shared-"))
		return add_memory(info, &info->shared, value);
	if (behind(key, "resident-"))
		return add_memory(info, &info->resident, value);
	if (behind(key, "purgeable-"))
		return add_memory(info, &info->purgeable, value);
	if (behind(key, "active-"))
		return add_memory(info, &info->active, value);
	return true;
}

int fdinfo_parse(const char *text, struct fdinfo *info, char *why, size_t size)
{
	char line[256], *key, *value;
	unsigned int number = 0;
	size_t len;

	*info = (struct fdinfo){ 0 };
	for (; *text; text += len + (text[len] == '\n')) {
		len = strcspn(text, "\n");
		number++;
		/* Other keys may be of any length */
		if (!behind(text, "drm-"))
			continue;
		if (len >= sizeof(line)) {
			snprintf(why, size, "line %u is too long", number);
			return -EBADMSG;
		}
		memcpy(line, text, len);
		line[len] = 0;
		key = line + 4;
		value = strchr(key, ':');
		if (!value) {
			snprintf(why, size, "line %u has no colon", number);
			return -EBADMSG;
		}
		*value++ = 0;
		value += strspn(value, " \t");
		if (!take(info, key, value)) {
			snprintf(why, size, "line %u: drm-%s cannot be '%s'", number,
				 text_clean(key), text_clean(value));
			return -EBADMSG;
		}
	}
	if (*info->driver)
		return 0;
	snprintf(why, size, "no DRM device");
	return -ENOENT;
}

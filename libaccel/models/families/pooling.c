// SPDX-License-Identifier: MIT
/*
 * How the rows of a text become one vector, as sentence-transformers and GGUF files say it.
 */
#include <errno.h>
#include <accel/embed.h>

#include "families.h"

static const char file[] = "1_Pooling/config.json";

/* What folders call it; several ways that are not known are one. */
static const struct {
	const char *name;
	uint32_t pooling;
} modes[] = {
	{ "pooling_mode_cls_token", ACCEL_POOL_FIRST },
	{ "pooling_mode_mean_tokens", ACCEL_POOL_MEAN },
	{ "pooling_mode_max_tokens", ACCEL_POOL_LARGEST },
	{ "pooling_mode_lasttoken", ACCEL_POOL_LAST },
	{ "pooling_mode_mean_sqrt_len_tokens", ACCEL_POOL_DEFAULT },
	{ "pooling_mode_weightedmean_tokens", ACCEL_POOL_DEFAULT },
};

/* What GGUF calls it, by its numbers; the first one is that nothing is said. */
static const uint32_t types[] = {
	ACCEL_POOL_DEFAULT, ACCEL_POOL_MEAN, ACCEL_POOL_FIRST, ACCEL_POOL_LAST
};

static int of_folder(const struct family_model *m, uint32_t *pooling, struct accel_error *error)
{
	uint32_t found = ACCEL_POOL_DEFAULT, count = 0;
	struct config c = { 0 };
	int ret = config_open(&c, m->path, file, error);
	size_t i;

	if (ret)
		return ret == -ENOENT || ret == -ENOTDIR ? 0 : ret;
	for (i = 0; i < ARRAY_SIZE(modes); i++)
		if (config_bool(&c, modes[i].name, false)) {
			found = modes[i].pooling;
			count++;
		}
	config_close(&c);
	if (count != 1 || found == ACCEL_POOL_DEFAULT)
		return stored_fail(error, -EOPNOTSUPP,
				   "%s: not one of cls, mean, max and last; one may be asked for",
				   file);
	*pooling = found;
	return 0;
}

static int of_gguf(const struct family_model *m, uint32_t *pooling, struct accel_error *error)
{
	char key[96];
	int64_t type;
	int ret;

	snprintf(key, sizeof(key), "%s.pooling_type", m->config.type);
	ret = meta_count(&m->store, key, &type, error);
	if (ret || type < 0)
		return ret;
	if (type >= (int64_t)ARRAY_SIZE(types))
		return stored_fail(error, -EOPNOTSUPP,
				   "%s is %lld: not one of mean, cls and last; one may be asked for",
				   key, (long long)type);
	*pooling = types[type];
	return 0;
}

int family_pooling(const struct family_model *m, uint32_t *pooling, struct accel_error *error)
{
	return m->config.gguf ? of_gguf(m, pooling, error) : of_folder(m, pooling, error);
}

uint32_t family_pooling_gguf(uint32_t pooling)
{
	uint32_t i = ARRAY_SIZE(types);

	while (--i && types[i] != pooling)
		;
	return i;
}

struct json_object *family_pooling_json(uint32_t pooling, int64_t width)
{
	struct json_object *doc = json_object_new_object();
	size_t i;

	if (!doc)
		return NULL;
	json_object_object_add(doc, "word_embedding_dimension", json_object_new_int64(width));
	for (i = 0; i < ARRAY_SIZE(modes); i++)
		json_object_object_add(doc, modes[i].name,
				       json_object_new_boolean(modes[i].pooling == pooling));
	return doc;
}

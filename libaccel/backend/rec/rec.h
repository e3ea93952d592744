/* SPDX-License-Identifier: MIT */
/* What the files of the recorder share, and readers of core dumps. */
#ifndef LIBACCEL_REC_H
#define LIBACCEL_REC_H

#include <json-c/json.h>
#include "libaccel/core/objects.h"

struct json_object *rec_hex(uint64_t value);
/* A task; @op is the operation that it belongs to, NULL if that is not known */
struct json_object *rec_task(const struct uma_task *task, const struct job_op *op);

#endif /* LIBACCEL_REC_H */

// SPDX-License-Identifier: MIT
/*
 * Importance matrices of model quantize: of a text, or of a file.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "interrupt.h"
#include "model.h"
#include "progress.h"
#include "text/text.h"

static int see(struct speaker *s, struct accel_imatrix *matrix, const int32_t *tokens,
	       uint32_t count)
{
	struct accel_imatrix_info info = { .size = sizeof(info) };
	uint32_t at, n;
	int ret = 0;

	accel_imatrix_get_info(matrix, &info);
	for (at = 0; at < count && !ret; at += n) {
		n = count - at < info.window ? count - at : info.window;
		if (ctl_interrupted())
			return CTL_INTERRUPTED;
		ctl_progress("tokens", at, count);
		ret = accel_imatrix_observe(matrix, tokens + at, n);
	}
	ctl_progress(NULL, 1, 1);
	if (ret == -EDOM)
		return ctl_fail(s->ctl, CTL_FAILED, ret, s->opts->model,
				"has values that are not finite, where its matrices are used");
	return ret ? speaker_fail(s, ret) : CTL_OK;
}

static int collect(struct ctl *ctl, const struct model_opts *o, const char *path,
		   struct accel_imatrix **matrix)
{
	struct text_opts text = {
		.model = path, .tokenizer = o->tokenizer, .file = o->imatrix_from,
		.threads = o->threads, .reproducible = o->reproducible,
		.no_cache = 1,
	};
	struct speaker s = { .ctl = ctl, .opts = &text };
	struct accel_error error = ACCEL_ERROR_INIT;
	struct accel_model *model = NULL;
	int32_t *tokens = NULL;
	uint32_t count = 0;
	int ret = speaker_start(&s);

	if (!ret)
		ret = speaker_tokenizer(&s);
	if (!ret)
		ret = speaker_tokens(&s, &tokens, &count);
	if (!ret) {
		ret = accel_model_open(path, &error, &model);
		if (!ret)
			ret = accel_imatrix_create(s.ctx, model, &error, matrix);
		if (ret)
			ret = ctl_fail_error(ctl, ctl_status(ret), path, &error);
	}
	if (!ret)
		ret = see(&s, *matrix, tokens, count);
	accel_model_close(model);
	free(tokens);
	speaker_close(&s);
	return ret;
}

int imatrix_get(struct ctl *ctl, const struct model_opts *o, const char *path,
		struct accel_imatrix **matrix)
{
	struct accel_error error = ACCEL_ERROR_INIT;
	int ret = 0;

	if (o->imatrix && o->imatrix_from)
		return ctl_fail(ctl, CTL_USAGE, 0, "--imatrix",
				"is a file, --imatrix-from a text: one of them");
	if (o->imatrix_out && !o->imatrix_from)
		return ctl_fail(ctl, CTL_USAGE, 0, "--imatrix-out", "needs --imatrix-from");
	if (o->imatrix)
		ret = accel_imatrix_load(o->imatrix, &error, matrix);
	if (ret)
		return ctl_fail_error(ctl, ctl_status(ret), o->imatrix, &error);
	if (!o->imatrix_from)
		return CTL_OK;
	ret = collect(ctl, o, path, matrix);
	if (!ret && o->imatrix_out) {
		ret = accel_imatrix_save(*matrix, o->imatrix_out, o->imatrix_from, &error);
		if (ret)
			return ctl_fail_error(ctl, ctl_status(ret), o->imatrix_out, &error);
	}
	return ret;
}

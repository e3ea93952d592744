// SPDX-License-Identifier: MIT
/*
 * perplexity
 */
#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>

#include "interrupt.h"
#include "progress.h"
#include "text.h"

/* Windows of the context; the last token of one is the first of the next. */
static int measure(struct speaker *s, const int32_t *tokens, uint32_t count, struct surprise *u)
{
	struct accel_generator_info info = { .size = sizeof(info) };
	uint32_t at, i, n;
	float *p;
	int ret = CTL_OK;

	accel_generator_get_info(s->generator, &info);
	p = ctl_alloc(info.context, sizeof(*p));
	for (at = 0; at + 1 < count && !ret; at += n - 1) {
		n = count - at < info.context ? count - at : info.context;
		if (ctl_interrupted()) {
			ret = CTL_INTERRUPTED;
			break;
		}
		ctl_progress("tokens", at, count);
		ret = accel_generator_score(s->generator, tokens + at, n, p);
		if (ret) {
			ret = speaker_fail(s, ret);
			break;
		}
		for (i = 0; i + 1 < n; i++) {
			u->sum -= (double)p[i];
			u->square += (double)p[i] * (double)p[i];
		}
		u->count += n - 1;
	}
	ctl_progress(NULL, 1, 1);
	free(p);
	return ret;
}

static void tell(struct ctl *ctl, const struct surprise *u)
{
	double n = (double)u->count, mean = u->sum / n;
	double variance = u->square / n - mean * mean;
	double error = u->count > 1 && variance > 0 ? sqrt(variance / (n - 1)) : 0;
	struct json_object *doc;

	if (!ctl->json) {
		printf("perplexity %.4f +- %.4f, mean negative log likelihood %.6f, %llu tokens, %.1f a second\n",
		       exp(mean), exp(mean) * error, mean, (unsigned long long)u->count,
		       n / u->seconds);
		return;
	}
	doc = ctl_schema(ctl);
	ctl_json_real(doc, "perplexity", exp(mean));
	ctl_json_real(doc, "error", exp(mean) * error);
	ctl_json_real(doc, "nll", mean);
	ctl_json_uint(doc, "tokens", u->count);
	ctl_json_real(doc, "tokens_per_s", n / u->seconds);
	ctl_json_print(ctl, doc);
}

int perplexity_measure(struct ctl *ctl, const struct text_opts *opts, struct surprise *u)
{
	int32_t *tokens = NULL;
	uint32_t count = 0;
	struct speaker s;
	double start;
	int ret;

	ret = speaker_open(&s, ctl, opts);
	if (!ret && s.encodes)
		ret = ctl_fail(ctl, CTL_USAGE, 0, "--model",
			       "a model with an encoder finds no text likely by itself");
	if (!ret)
		ret = speaker_tokens(&s, &tokens, &count);
	if (!ret && opts->most && count > opts->most)
		count = (uint32_t)opts->most;
	if (!ret && count < 2)
		ret = ctl_fail(ctl, CTL_USAGE, 0, NULL, "the text has one token only");
	if (!ret)
		ret = speaker_check(&s, tokens, count);
	start = speaker_now();
	if (!ret)
		ret = measure(&s, tokens, count, u);
	u->seconds = speaker_now() - start;
	free(tokens);
	speaker_close(&s);
	return ret;
}

int cmd_perplexity(struct ctl *ctl, void *data, const char *operand)
{
	struct surprise u = { 0 };
	int ret;

	(void)operand;
	ctl_catch_interrupt();
	ret = perplexity_measure(ctl, data, &u);
	if (!ret)
		tell(ctl, &u);
	return ret;
}

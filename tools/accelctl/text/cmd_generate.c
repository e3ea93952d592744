// SPDX-License-Identifier: MIT
/*
 * generate
 */
#include <stdlib.h>

#include "interrupt.h"
#include "text.h"

static void tell(const struct answer *a)
{
	if (a->s->ctl->json) {
		answer_json(a);
		return;
	}
	printf("\n");
	fflush(stdout);
	answer_note(a);
}

static int go_on(struct speaker *s)
{
	struct answer a = { 0 };
	int32_t *tokens = NULL;
	uint32_t count = 0;
	int ret;

	ctl_catch_interrupt();
	ret = speaker_tokens(s, &tokens, &count);
	if (!ret)
		ret = answer_ask(&a, s, tokens, count);
	if (!ret)
		tell(&a);
	if (!ret && a.why == ACCEL_END_CANCELLED)
		ret = CTL_INTERRUPTED;
	answer_free(&a);
	free(tokens);
	return ret;
}

/* Reject values that the sampler, or the search, would reject, naming the option */
static int check_numbers(struct ctl *ctl, const struct text_opts *o)
{
	const struct {
		const char *name;
		double value, least, most;
	} numbers[] = {
		{ "--temperature", o->temperature, 0, 1e6 }, { "--top-p", o->top_p, 0, 1 },
		{ "--min-p", o->min_p, 0, 1 },
		{ "--repeat-penalty", o->repeat_penalty, 0.00001, 1e6 },
		{ "--presence-penalty", o->presence_penalty, -1e6, 1e6 },
		{ "--frequency-penalty", o->frequency_penalty, -1e6, 1e6 },
		{ "--length-penalty", o->length_penalty, -16, 16 }
	};
	uint32_t i;

	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (!(numbers[i].value >= numbers[i].least && numbers[i].value <= numbers[i].most))
			return ctl_fail(ctl, CTL_USAGE, 0, numbers[i].name,
					"%g is not from %g to %g", numbers[i].value,
					numbers[i].least, numbers[i].most);
	return CTL_OK;
}

static int check(struct ctl *ctl, const struct text_opts *opts)
{
	if (opts->chat && (opts->prompt || opts->file || opts->ids))
		return ctl_fail(ctl, CTL_USAGE, 0, "--interactive",
				"not with --prompt, --file or --input-ids");
	if (opts->chat && opts->beams)
		return ctl_fail(ctl, CTL_USAGE, 0, "--interactive", "not with --beams");
	if (!opts->chat && (opts->system || opts->template))
		return ctl_fail(ctl, CTL_USAGE, 0,
				opts->system ? "--system" : "--chat-template",
				"only with --interactive");
	if (!opts->beams && (opts->stopping || opts->length_penalty != 1))
		return ctl_fail(ctl, CTL_USAGE, 0,
				opts->stopping ? "--early-stopping" : "--length-penalty",
				"only with --beams");
	if (opts->logprobs && !ctl->json)
		return ctl_fail(ctl, CTL_USAGE, 0, "--logprobs", "only with --json");
	return check_numbers(ctl, opts);
}

int cmd_generate(struct ctl *ctl, void *data, const char *operand)
{
	const struct text_opts *opts = data;
	struct speaker s;
	int ret;

	(void)operand;
	ctl->json |= opts->events;
	ctl->lines = ctl->json && (opts->events || opts->chat);
	ret = check(ctl, opts);
	if (ret)
		return ret;
	ret = speaker_open(&s, ctl, opts);
	if (!ret)
		ret = opts->chat ? chat_run(&s) : go_on(&s);
	speaker_close(&s);
	return ret;
}

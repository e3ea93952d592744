// SPDX-License-Identifier: MIT
/*
 * model convert; model quantize of folders and GGUF files
 */
#include <errno.h>
#include <json-c/json.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "interrupt.h"
#include "model.h"
#include "progress.h"
#include "text/text.h"

const char *const model_weight_types[] = {
	"keep", "f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "q4_k", "q6_k", NULL
};

static const uint8_t types[] = {
	0, ACCEL_F32, ACCEL_F16, ACCEL_BF16, ACCEL_Q8_0, ACCEL_Q4_0, ACCEL_Q4_1, ACCEL_Q4_K,
	ACCEL_Q6_K
};

static int on_progress(void *user, uint64_t done, uint64_t all)
{
	(void)user;
	ctl_progress("writing", done, all);
	return ctl_interrupted();
}

static const char *text_of(const struct model_opts *o)
{
	return o->text ? o->text : o->imatrix_from;
}

/* How likely a model finds the text of the options */
static int measure(struct ctl *ctl, const struct model_opts *o, const char *path,
		   struct surprise *u)
{
	struct text_opts text = { .model = path, .file = text_of(o), .threads = o->threads };
	struct stat st;

	perplexity_init(&text);
	text.most = o->limit;
	text.reproducible = o->reproducible;
	text.no_cache = 1;
	/* Folders that are written of GGUF files have no tokenizer. */
	text.tokenizer = o->tokenizer ? o->tokenizer : stat(path, &st) || !S_ISDIR(st.st_mode) ?
			 NULL : ctl->rest[0];
	return perplexity_measure(ctl, &text, u);
}

static void tell(struct ctl *ctl, const struct model_opts *o, const uint64_t bytes[2],
		 const char *to, const struct surprise *u)
{
	const double before = u[0].count ? u[0].sum / (double)u[0].count : 0;
	const double after = u[1].count ? u[1].sum / (double)u[1].count : 0;
	struct json_object *doc;
	char a[16], b[16];

	if (!ctl->json) {
		printf("%s: files of %s became %s\n", to, ctl_bytes(a, bytes[0]),
		       ctl_bytes(b, bytes[1]));
		if (text_of(o))
			printf("perplexity of %llu tokens: %.4f, was %.4f; negative log likelihood %+.3f %%\n",
			       (unsigned long long)u[1].count, exp(after), exp(before),
			       100 * (after / before - 1));
		return;
	}
	doc = ctl_schema(ctl);
	ctl_json_bool(doc, "ok", true);
	ctl_json_uint(doc, "file_bytes_before", bytes[0]);
	ctl_json_uint(doc, "file_bytes", bytes[1]);
	if (text_of(o)) {
		ctl_json_uint(doc, "tokens", u[1].count);
		ctl_json_real(doc, "nll_before", before);
		ctl_json_real(doc, "nll", after);
		ctl_json_real(doc, "perplexity_before", exp(before));
		ctl_json_real(doc, "perplexity", exp(after));
	}
	ctl_json_print(ctl, doc);
}

static int convert(struct ctl *ctl, const char *from, const struct accel_model_convert_opts *opts,
		   const char *to)
{
	struct accel_error error = ACCEL_ERROR_INIT;
	int ret = accel_model_convert(from, opts, to, &error);

	ctl_progress(NULL, 1, 1);
	if (ret > 0)
		return CTL_INTERRUPTED;
	/* Where several files are read the message has the name of the one that it is about. */
	if (opts->onto || !strncmp(error.text, to, strlen(to)))
		from = NULL;
	return ret ? ctl_fail_error(ctl, ret == -EINVAL ? CTL_USAGE : ctl_status(ret), from,
				    &error) : CTL_OK;
}

int cmd_model_convert(struct ctl *ctl, void *data, const char *operand)
{
	const struct model_opts *o = data;
	struct accel_model_convert_opts opts = ACCEL_MODEL_CONVERT_OPTS_INIT;
	const char *from = ctl->rest[0], *to = from && ctl->rest[1] ? ctl->rest[1] : o->out;
	struct surprise u[2] = { { 0 } };
	uint64_t bytes[2] = { 0 };
	int ret;

	(void)operand;
	if (!from)
		return ctl_fail(ctl, CTL_USAGE, 0, "FILE", "which model?");
	if (!to || !*to)
		return ctl_fail(ctl, CTL_USAGE, 0, "OUT", "is missing");
	if (ctl->rest[1] && (ctl->rest[2] || o->out))
		return ctl_fail(ctl, CTL_USAGE, 0, ctl->rest[2] ? ctl->rest[2] : "--out",
				"is not expected");
	opts.type = types[o->type];
	opts.table = types[o->table_type];
	if ((o->imatrix || o->imatrix_from) && opts.type < ACCEL_Q8_0)
		return ctl_fail(ctl, CTL_USAGE, 0, "--type",
				"importance matrices are for blocks: q8_0, q4_0, ...");
	if (o->limit && !text_of(o))
		return ctl_fail(ctl, CTL_USAGE, 0, "--limit", "only with a text");
	ctl_catch_interrupt();
	opts.tokenizer = o->tokenizer;
	opts.onto = o->onto;
	opts.progress = on_progress;
	opts.bytes = bytes;
	ret = imatrix_get(ctl, o, from, &opts.imatrix);
	if (!ret && text_of(o))
		ret = measure(ctl, o, from, &u[0]);
	if (!ret)
		ret = convert(ctl, from, &opts, to);
	accel_imatrix_destroy(opts.imatrix);
	if (!ret)
		ret = text_of(o) ? measure(ctl, o, to, &u[1]) : CTL_OK;
	if (!ret)
		tell(ctl, o, bytes, to, u);
	return ret;
}

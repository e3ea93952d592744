// SPDX-License-Identifier: MIT
/*
 * model compile
 */
#include <json-c/json.h>
#include <sys/stat.h>

#include "model.h"

static void tell(struct session *s, const struct accel_program_info *info)
{
	struct json_object *doc;
	struct stat st = { 0 };
	char a[16], b[16], c[16];

	stat(s->opts->out, &st);
	if (s->ctl->json) {
		doc = ctl_schema(s->ctl);
		ctl_json_bool(doc, "ok", true);
		ctl_json_uint(doc, "nodes", info->node_count);
		ctl_json_uint(doc, "host_nodes", info->host_count);
		ctl_json_uint(doc, "packed_bytes", info->packed_bytes);
		ctl_json_uint(doc, "constant_bytes", info->constant_bytes);
		ctl_json_uint(doc, "file_bytes", (uint64_t)st.st_size);
		ctl_json_print(s->ctl, doc);
		return;
	}
	printf("%s: %s, %u nodes on engines, %u on the CPU, packed weights %s, constants %s\n",
	       s->opts->out, ctl_bytes(a, (uint64_t)st.st_size), info->node_count,
	       info->host_count, ctl_bytes(b, info->packed_bytes),
	       ctl_bytes(c, info->constant_bytes));
}

int cmd_model_compile(struct ctl *ctl, void *data, const char *operand)
{
	struct accel_program_info info = { .size = sizeof(info) };
	const struct model_opts *opts = data;
	struct session s;
	int ret;

	if (!opts->out)
		return ctl_fail(ctl, CTL_USAGE, 0, "--out", "which file is to be written?");
	ret = session_open(&s, ctl, opts, ctl->device, operand);
	if (!ret) {
		/* Complete the decisions that need the actual sizes. */
		ret = accel_state_get_info(s.state, &info);
		if (!ret)
			ret = accel_program_save(s.program, opts->out,
						 opts->seen ? ACCEL_PROGRAM_SEEN : 0);
		if (ret)
			ret = session_fail(&s, ret);
		else
			tell(&s, &info);
	}
	session_close(&s);
	return ret;
}

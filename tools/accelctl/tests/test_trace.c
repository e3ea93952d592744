// SPDX-License-Identifier: MIT
/*
 * The reader of trace_pipe's lines, and the writer of the Chrome trace format.
 */
#include <errno.h>
#include <json-c/json.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "trace_json.h"
#include "trace_line.h"

#define HEAD	"        accelctl-204     [001] d..1.    "

static int parse(const char *text, struct trace_line *line)
{
	static char buf[4096];

	snprintf(buf, sizeof(buf), "%s", text);
	return trace_line_parse(buf, line);
}

static void test_event(void **state)
{
	struct trace_line line;
	int64_t n;

	(void)state;
	assert_int_equal(parse(HEAD "18.152473: uma_job_done: dev=uma.0 engine=matrix0 seqno=7 pid=204 queue=1 number=3 start=0x10 end=32 error=-62",
			       &line), 0);
	assert_int_equal(line.kind, TRACE_EVENT);
	assert_int_equal(line.cpu, 1);
	assert_true(line.ns == 18152473000);
	assert_string_equal(line.event, "uma_job_done");
	assert_int_equal(line.field_count, 9);
	assert_string_equal(trace_field(&line, "engine"), "matrix0");
	assert_null(trace_field(&line, "gpu"));
	assert_true(trace_number(&line, "error", &n) && n == -62);
	assert_true(trace_number(&line, "start", &n) && n == 16);
	assert_true(trace_number(&line, "end", &n) && n == 32);
	n = 5;
	assert_false(trace_number(&line, "engine", &n));
	assert_false(trace_number(&line, "none", &n));
	assert_int_equal(n, 5);
}

static void test_forms(void **state)
{
	struct trace_line line;

	(void)state;
	/* With the thread group, without the state of interrupts, nanoseconds, no fields */
	assert_int_equal(parse("           <...>-1 (  17) [000] ..... 1.000000001: uma_reset:",
			       &line), 0);
	assert_true(line.ns == 1000000001);
	assert_int_equal(line.field_count, 0);
	assert_int_equal(parse("    a b: uma_x: -99999   [127] 5.5: uma_power: state=on words",
			       &line), 0);
	assert_int_equal(line.cpu, 127);
	assert_true(line.ns == 5500000000);
	assert_string_equal(line.event, "uma_power");
	assert_int_equal(line.field_count, 1);
	/* A name that looks like an event is only a name */
	assert_int_equal(parse(" 1.0: uma_reset:-5       [000] d....  2.000000: uma_fault: dev=x",
			       &line), 0);
	assert_string_equal(line.event, "uma_fault");
	assert_int_equal(parse("", &line), 0);
	assert_int_equal(line.kind, TRACE_NOTHING);
	assert_int_equal(parse("# tracer: nop", &line), 0);
	assert_int_equal(line.kind, TRACE_NOTHING);
	assert_int_equal(parse("CPU:3 [LOST 57 EVENTS]", &line), 0);
	assert_int_equal(line.kind, TRACE_LOST);
	assert_int_equal(line.cpu, 3);
	assert_int_equal(line.lost, 57);
	assert_int_equal(parse("CPU:0 [LOST EVENTS]", &line), 0);
	assert_int_equal(line.lost, 0);
}

static void test_malformed(void **state)
{
	static const char *const bad[] = {
		"x", "                ", "        accelctl-", "        accelctl-204",
		"        accelctl-204 [", "        accelctl-204 [001", "        accelctl-204 [001] d..1.",
		"        accelctl-204 [001] d..1. 18.", "        accelctl-204 [001] d..1. 18.5",
		"        accelctl-204 [001] d..1. 18.5:", "        accelctl-204 [001] d..1. 18.5: ",
		"        accelctl-204 [001] d..1. 18.5: uma_reset", "        accelctl-204 [001] d..1. 18.5: :",
		"        accelctl-204 [001] d..1. .5: uma_reset:", "        accelctl-204 (17 [001] 1.5: uma_reset:",
		"        accelctl-204 [001] d..1. 99999999999999999999.5: uma_reset:",
		"        accelctl-204 [001] d..1. 18446744073709551615.5: uma_reset:",
		"        accelctl-204 [4294967296] d..1. 1.5: uma_reset:",
		"        accelctl_204 [001] d..1. 1.5: uma_reset:",
		"        accelctl-204 [001] d..1. 1.5: uma_reset: =x",
		"CPU:x [LOST 5 EVENTS]", "CPU:1 [LOST x EVENTS]", "CPU:1 [LOST 5 EVENTS] x",
		"CPU:1 [LOST 99999999999999999999 EVENTS]",
	};
	struct trace_line line;
	unsigned int i;
	char text[1024] = HEAD "1.5: e:";

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (parse(bad[i], &line) != -EBADMSG)
			fail_msg("'%s' was taken", bad[i]);
	for (i = 0; i <= TRACE_FIELDS; i++)
		strcat(text, " k=v");
	assert_int_equal(parse(text, &line), -EBADMSG);
}

/* --- the file --- */

static const struct trace_device device = {
	.name = "uma.0", .label = "accel0",
	.tick_hz = 1000000000, .ticks = 1000000000, .ns = 1000000000,
};

static void name_of(void *user, int pid, char comm[64])
{
	(void)user;
	snprintf(comm, 64, pid == 204 ? "ge\"m\\m" : "other");
}

static void take(struct trace_json *tj, const char *text)
{
	char line[1024];

	snprintf(line, sizeof(line), "%s", text);
	assert_int_equal(trace_json_line(tj, line), 0);
}

static struct json_object *load(const char *path)
{
	struct json_object *doc = json_object_from_file(path), *list;

	if (!doc)
		fail_msg("%s", json_util_get_last_err());
	assert_true(json_object_object_get_ex(doc, "traceEvents", &list));
	assert_true(json_object_is_type(list, json_type_array));
	return doc;
}

static const char *str(struct json_object *o, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(o, key, &v) ? json_object_get_string(v) : "";
}

static double num(struct json_object *o, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(o, key, &v) ? json_object_get_double(v) : -1;
}

/* The nth event of a phase and a category; NULL if there is none */
static struct json_object *event(struct json_object *doc, const char *phase, const char *cat,
				 int nth)
{
	struct json_object *list, *o;
	size_t i;

	json_object_object_get_ex(doc, "traceEvents", &list);
	for (i = 0; i < json_object_array_length(list); i++) {
		o = json_object_array_get_idx(list, i);
		if (!strcmp(str(o, "ph"), phase) && (!cat || !strcmp(str(o, "cat"), cat)) && !nth--)
			return o;
	}
	return NULL;
}

/* No two slices of a row overlap: it is what viewers ask for */
static void check_rows(struct json_object *doc)
{
	struct json_object *list, *a, *b;
	size_t i, j;

	json_object_object_get_ex(doc, "traceEvents", &list);
	for (i = 0; i < json_object_array_length(list); i++)
		for (j = i + 1; j < json_object_array_length(list); j++) {
			a = json_object_array_get_idx(list, i);
			b = json_object_array_get_idx(list, j);
			if (strcmp(str(a, "ph"), "X") != 0 || strcmp(str(b, "ph"), "X") != 0 ||
			    num(a, "pid") != num(b, "pid") || num(a, "tid") != num(b, "tid"))
				continue;
			assert_true(num(a, "ts") + num(a, "dur") <= num(b, "ts") + 0.001 ||
				    num(b, "ts") + num(b, "dur") <= num(a, "ts") + 0.001);
		}
}

/* A job that made room for another is drawn as often as it ran */
static void test_preempted(void **state)
{
	char path[] = "/tmp/test_trace.XXXXXX";
	struct json_object *doc, *o, *args;
	struct trace_count count;
	struct trace_json *tj;

	(void)state;
	close(mkstemp(path));
	assert_int_equal(trace_json_open(path, &device, 1, name_of, NULL, &tj), 0);
	take(tj, HEAD "2.000000: uma_job_submit: dev=uma.0 pid=204 queue=1 number=1 tasks=0x1000+5");
	take(tj, HEAD "2.000100: uma_job_run: dev=uma.0 engine=matrix0 seqno=1 pid=204 queue=1 number=1");
	take(tj, HEAD "2.000300: uma_job_preempt: dev=uma.0 engine=matrix0 pid=204 queue=1 number=1 seqno=1 start=2000110000 end=2000290000 next=3 tasks=5");
	take(tj, HEAD "2.000600: uma_job_run: dev=uma.0 engine=matrix0 seqno=1 pid=204 queue=1 number=1");
	take(tj, HEAD "2.000800: uma_job_done: dev=uma.0 engine=matrix0 seqno=1 pid=204 queue=1 number=1 start=2000610000 end=2000790000 error=0");
	assert_int_equal(trace_json_close(tj, &count), 0);
	assert_int_equal(count.jobs, 1);
	assert_int_equal(count.malformed + count.unfinished, 0);

	doc = load(path);
	check_rows(doc);
	o = event(doc, "X", "run", 0);
	assert_true(num(o, "ts") == 2000110 && num(o, "dur") == 180);
	json_object_object_get_ex(o, "args", &args);
	assert_true(num(args, "next") == 3);
	o = event(doc, "X", "run", 1);
	assert_true(num(o, "ts") == 2000610 && num(o, "dur") == 180);
	o = event(doc, "X", "wait", 0);
	assert_true(num(o, "ts") == 2000000 && num(o, "dur") == 100);
	json_object_put(doc);
	unlink(path);
}

static void test_file(void **state)
{
	char path[] = "/tmp/test_trace.XXXXXX";
	struct json_object *doc, *o, *args;
	struct trace_count count;
	struct trace_json *tj;

	(void)state;
	close(mkstemp(path));
	assert_int_equal(trace_json_open(path, &device, 1, name_of, NULL, &tj), 0);
	json_object_put(load(path));
	/* Two jobs of a queue: the second waits for the first */
	take(tj, HEAD "2.000000: uma_job_submit: dev=uma.0 pid=204 queue=1 number=1 tasks=0x1000+1");
	take(tj, HEAD "2.000010: uma_job_submit: dev=uma.0 pid=204 queue=1 number=2 tasks=0x1000+1");
	take(tj, HEAD "2.000011: uma_job_submit: dev=uma.0 pid=204 queue=1 number=3 tasks=0+0");
	take(tj, HEAD "2.000100: uma_job_run: dev=uma.0 engine=matrix0 seqno=1 pid=204 queue=1 number=1");
	take(tj, "CPU:1 [LOST 3 EVENTS]");
	assert_int_equal(trace_json_flush(tj), 0);
	json_object_put(load(path));
	/* The device's clock is more exact than ours */
	take(tj, HEAD "2.000500: uma_job_done: dev=uma.0 engine=matrix0 seqno=1 pid=204 queue=1 number=1 start=2000150000 end=2000400000 error=0");
	take(tj, HEAD "2.000510: uma_job_run: dev=uma.0 engine=matrix0 seqno=2 pid=204 queue=1 number=2");
	take(tj, HEAD "2.000520: uma_fault: dev=uma.0 engine=matrix0 pid=204 queue=1 task=0 reason=3 slot=1 addr=0x0");
	take(tj, HEAD "2.000530: uma_reset: dev=uma.0 what=matrix0 result=0");
	take(tj, HEAD "2.000531: uma_reset: dev=uma.0 what=device result=0");
	take(tj, HEAD "2.000540: uma_job_done: dev=uma.0 engine=matrix0 seqno=2 pid=204 queue=1 number=2 start=0 end=0 error=-14");
	take(tj, HEAD "2.000550: uma_power: dev=uma.0 state=suspend clock=600");
	take(tj, HEAD "2.000560: uma_job_submit: dev=uma.0 pid=77 queue=9 number=1 tasks=0x1000+2");
	take(tj, "rubbish");
	take(tj, HEAD "2.000570: uma_job_run: dev=uma.0 pid=77 queue=9 number=1");
	assert_int_equal(trace_json_close(tj, &count), 0);

	assert_int_equal(count.jobs, 2);
	assert_int_equal(count.failed, 1);
	assert_int_equal(count.unfinished, 1);
	assert_int_equal(count.faults, 1);
	assert_int_equal(count.resets, 2);
	assert_int_equal(count.lost, 3);
	assert_int_equal(count.malformed, 2);

	doc = load(path);
	check_rows(doc);
	assert_true(json_object_object_get_ex(doc, "otherData", &o));
	assert_string_equal(str(o, "schema"), "accelctl.trace/1");
	assert_string_equal(str(o, "complete"), "true");
	assert_true(num(o, "lost_events") == 3);

	o = event(doc, "M", NULL, 0);
	json_object_object_get_ex(o, "args", &args);
	assert_string_equal(str(args, "name"), "accel0");
	o = event(doc, "M", NULL, 1);
	json_object_object_get_ex(o, "args", &args);
	assert_string_equal(str(args, "name"), "ge\"m\\m 204");

	o = event(doc, "X", "wait", 0);
	assert_true(num(o, "ts") == 2000000 && num(o, "dur") == 100 && num(o, "pid") == 204);
	/* The second is drawn from where the first began, but has waited longer */
	o = event(doc, "X", "wait", 1);
	assert_true(num(o, "ts") == 2000100 && num(o, "dur") == 410);
	json_object_object_get_ex(o, "args", &args);
	assert_true(num(args, "wait_us") == 500);
	o = event(doc, "X", "run", 0);
	assert_true(num(o, "ts") == 2000150 && num(o, "dur") == 250 && num(o, "pid") >= 1e9);
	o = event(doc, "X", "run", 1);
	assert_true(num(o, "ts") == 2000510 && num(o, "dur") == 30);
	json_object_object_get_ex(o, "args", &args);
	assert_true(num(args, "error") == -14);
	/* An arrow begins in the wait and ends at the run */
	assert_true(num(event(doc, "s", "job", 0), "ts") == 2000000);
	assert_true(num(event(doc, "f", "job", 0), "ts") == 2000150);
	assert_string_equal(str(event(doc, "s", "job", 1), "id"),
			    str(event(doc, "f", "job", 1), "id"));
	assert_string_equal(str(event(doc, "i", "fault", 0), "name"), "fault: 3");
	assert_string_equal(str(event(doc, "i", "reset", 0), "s"), "t");
	assert_string_equal(str(event(doc, "i", "reset", 1), "s"), "p");
	assert_non_null(event(doc, "i", "power", 0));
	assert_non_null(event(doc, "C", NULL, 0));
	json_object_put(doc);
	unlink(path);
}

/* Drivers that do not say which job it is: jobs of a queue run in order */
static void test_without_numbers(void **state)
{
	char path[] = "/tmp/test_trace.XXXXXX";
	struct trace_count count;
	struct json_object *doc;
	struct trace_json *tj;

	(void)state;
	close(mkstemp(path));
	assert_int_equal(trace_json_open(path, NULL, 0, NULL, NULL, &tj), 0);
	take(tj, HEAD "1.000000: uma_job_submit: dev=uma.0 pid=204 queue=1 job=1 tasks=0x1000+1");
	take(tj, HEAD "1.000001: uma_job_submit: dev=uma.0 pid=204 queue=1 job=2 tasks=0x1000+1");
	take(tj, HEAD "1.000002: uma_job_run: dev=uma.0 engine=gpu0 seqno=8 pid=204 queue=1");
	take(tj, HEAD "1.000003: uma_job_run: dev=uma.0 engine=gpu1 seqno=4 pid=204 queue=1");
	take(tj, HEAD "1.000004: uma_job_done: dev=uma.0 engine=gpu1 seqno=4 pid=204 queue=1 error=0");
	take(tj, HEAD "1.000005: uma_job_done: dev=uma.0 engine=gpu0 seqno=8 pid=204 queue=1 error=0");
	assert_int_equal(trace_json_close(tj, &count), 0);
	assert_int_equal(count.jobs, 2);
	assert_int_equal(count.unfinished, 0);
	doc = load(path);
	check_rows(doc);
	/* gpu1 is done first, with the second job */
	assert_string_equal(str(event(doc, "X", "run", 0), "name"), "job 2");
	assert_string_equal(str(event(doc, "X", "run", 1), "name"), "job 1");
	json_object_put(doc);
	unlink(path);
}

/* Whatever comes in any order, what comes out is JSON */
static void test_disorder(void **state)
{
	static const char *const events[] = {
		"uma_job_submit: dev=uma.0 pid=%u queue=%u number=%u tasks=0x1+1",
		"uma_job_run: dev=uma.0 engine=matrix0 pid=%u queue=%u number=%u",
		"uma_job_run: dev=uma.0 engine=gpu\"0 pid=%u queue=%u number=%u",
		"uma_job_done: dev=uma.0 engine=matrix0 pid=%u queue=%u number=%u start=5 end=6 error=0",
		"uma_job_done: dev=uma.0 engine=gpu\"0 pid=%u queue=%u number=%u error=-5",
		"uma_fault: dev=uma.0 engine=matrix0 pid=%u queue=%u reason=%u",
		"uma_reset: dev=uma.%u what=matrix%u result=%u",
		"uma_job_run: pid=%u queue=%u number=%u",
		"uma_power: dev=uma.0 state=\\%u clock=%u x=%u",
	};
	char path[] = "/tmp/test_trace.XXXXXX", text[256], line[400];
	struct trace_json *tj;
	unsigned int i, rnd = 1;

	(void)state;
	close(mkstemp(path));
	assert_int_equal(trace_json_open(path, &device, 1, name_of, NULL, &tj), 0);
	for (i = 0; i < 2000; i++) {
		rnd = rnd * 1103515245 + 12345;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(text, sizeof(text), events[(rnd >> 16) % 9], rnd >> 8 & 3, rnd >> 10 & 1,
			 rnd >> 11 & 7);
#pragma GCC diagnostic pop
		snprintf(line, sizeof(line), HEAD "%u.%06u: %s", 1 + i / 1000,
			 (rnd >> 4) % 1000000, text);
		take(tj, line);
		if (i % 100 == 0) {
			assert_int_equal(trace_json_flush(tj), 0);
			json_object_put(load(path));
		}
	}
	assert_int_equal(trace_json_close(tj, NULL), 0);
	json_object_put(load(path));
	unlink(path);
}

static void test_not_writable(void **state)
{
	struct trace_json *tj;

	(void)state;
	assert_int_equal(trace_json_open("/nonexistent/file", NULL, 0, NULL, NULL, &tj), -ENOENT);
	assert_int_equal(trace_json_open("/dev/full", NULL, 0, NULL, NULL, &tj), -ENOSPC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_event),
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_preempted),
		cmocka_unit_test(test_without_numbers),
		cmocka_unit_test(test_disorder),
		cmocka_unit_test(test_not_writable),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

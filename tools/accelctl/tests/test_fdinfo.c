// SPDX-License-Identifier: MIT
/*
 * The reader of fdinfo, over what kernels print and over what they do not.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "fdinfo.h"
#include "kfile.h"

/* Recorded from a running kernel */
static const char recorded[] =
	"pos:\t0\n"
	"flags:\t02100002\n"
	"mnt_id:\t26\n"
	"ino:\t111\n"
	"drm-driver:\tuma\n"
	"drm-client-id:\t17\n"
	"drm-client-name:\ttrainer\n"
	"drm-engine-matrix:\t11238885402 ns\n"
	"drm-engine-capacity-matrix:\t2\n"
	"drm-cycles-matrix:\t40455787\n"
	"drm-maxfreq-matrix:\t3600000000 Hz\n"
	"drm-engine-gpu:\t0 ns\n"
	"drm-engine-capacity-gpu:\t2\n"
	"drm-engine-neural:\t5 ns\n"
	"drm-total-memory:\t112 KiB\n"
	"drm-shared-memory:\t0\n"
	"drm-active-memory:\t4096\n"
	"drm-resident-memory:\t3 MiB\n"
	"drm-purgeable-memory:\t1 GiB\n"
	"uma-something:\tof the driver's own\n";

static void test_recorded(void **state)
{
	const struct fdinfo_engine *e;
	struct fdinfo info;
	char why[128];

	(void)state;
	assert_int_equal(fdinfo_parse(recorded, &info, why, sizeof(why)), 0);
	assert_string_equal(info.driver, "uma");
	assert_true(info.has_client);
	assert_int_equal(info.client_id, 17);
	assert_string_equal(info.name, "trainer");
	assert_int_equal(info.engine_count, 3);
	e = fdinfo_engine(&info, "matrix");
	assert_non_null(e);
	assert_true(e->has_ns);
	assert_true(e->ns == 11238885402);
	assert_int_equal(e->capacity, 2);
	assert_true(e->cycles == 40455787);
	assert_true(e->maxfreq_hz == 3600000000);
	e = fdinfo_engine(&info, "neural");
	assert_non_null(e);
	assert_int_equal(e->ns, 5);
	assert_int_equal(e->capacity, 1);
	assert_null(fdinfo_engine(&info, "copy"));
	assert_true(info.has_memory);
	assert_int_equal(info.total, 112 << 10);
	assert_int_equal(info.shared, 0);
	assert_int_equal(info.active, 4096);
	assert_int_equal(info.resident, 3 << 20);
	assert_int_equal(info.purgeable, 1 << 30);
}

static void test_other_orders_and_drivers(void **state)
{
	struct fdinfo info;
	char why[128];

	(void)state;
	/* Capacity before time, regions that add up, clocks in other units, no end of line */
	assert_int_equal(fdinfo_parse("drm-engine-capacity-npu: 3\n"
				      "drm-driver:  other\n"
				      "drm-maxfreq-npu: 1400 MHz\n"
				      "drm-total-cycles-npu: 9\n"
				      "drm-total-memory: 1 KiB\n"
				      "drm-total-vram: 2 KiB\n"
				      "drm-engine-npu:\t7 ns", &info, why, sizeof(why)), 0);
	assert_false(info.has_client);
	assert_int_equal(info.engine_count, 1);
	assert_int_equal(info.engines[0].ns, 7);
	assert_int_equal(info.engines[0].capacity, 3);
	assert_int_equal(info.engines[0].maxfreq_hz, 1400000000);
	assert_int_equal(info.engines[0].total_cycles, 9);
	assert_int_equal(info.total, 3 << 10);
	assert_int_equal(fdinfo_parse("", &info, why, sizeof(why)), -ENOENT);
	assert_int_equal(fdinfo_parse("pos:\t0\nflags:\t02\n", &info, why, sizeof(why)), -ENOENT);
	assert_int_equal(fdinfo_parse("\n\n\n", &info, why, sizeof(why)), -ENOENT);
}

static void test_malformed(void **state)
{
	static const char *const bad[] = {
		"drm-driver",
		"drm-driver:",
		"drm-driver:\t0123456789012345678901234567890123456789",
		"drm-client-id:\t",
		"drm-client-id:\t-1",
		"drm-client-id:\t+1",
		"drm-client-id:\t1x",
		"drm-client-id:\t18446744073709551616",
		"drm-engine-matrix:\t1",
		"drm-engine-matrix:\t1 us",
		"drm-engine-matrix:\t ns",
		"drm-engine-matrix:\tns",
		"drm-engine-matrix:\t1 ns ",
		"drm-engine-matrix:\t99999999999999999999 ns",
		"drm-engine-:\t1 ns",
		"drm-engine-0123456789012345678901234:\t1 ns",
		"drm-engine-capacity-matrix:\t0",
		"drm-engine-capacity-matrix:\t4294967296",
		"drm-cycles-matrix:\tmany",
		"drm-maxfreq-matrix:\t1 furlong",
		"drm-maxfreq-matrix:\t18446744073709551615 GHz",
		"drm-total-memory:\t1 TiB",
		"drm-total-memory:\t18446744073709551615 KiB",
		"drm-resident-memory:\t",
	};
	struct fdinfo info;
	unsigned int i;
	char text[512], why[128];

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text), "drm-driver:\tuma\n%s\n", bad[i]);
		*why = 0;
		if (fdinfo_parse(text, &info, why, sizeof(why)) != -EBADMSG)
			fail_msg("'%s' was taken", bad[i]);
		assert_non_null(strstr(why, "line 2"));
	}
	/* Sums that do not fit */
	assert_int_equal(fdinfo_parse("drm-driver:\tuma\ndrm-total-a:\t18446744073709551615\n"
				      "drm-total-b:\t1\n", &info, why, sizeof(why)), -EBADMSG);
	/* More classes than there is room for */
	strcpy(text, "drm-driver:\tuma\n");
	for (i = 0; i <= FDINFO_CLASSES; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 "drm-engine-c%u:\t1 ns\n", i);
	assert_int_equal(fdinfo_parse(text, &info, why, sizeof(why)), -EBADMSG);
}

static void test_long_lines(void **state)
{
	char *text = malloc(100000), why[128];
	struct fdinfo info;

	(void)state;
	assert_non_null(text);
	memset(text, 'a', 99999);
	text[99999] = 0;
	/* Other keys are none of our business */
	assert_int_equal(fdinfo_parse(text, &info, why, sizeof(why)), -ENOENT);
	memcpy(text, "drm-driver:", 11);
	assert_int_equal(fdinfo_parse(text, &info, why, sizeof(why)), -EBADMSG);
	assert_string_equal(why, "line 1 is too long");
	free(text);
}

/* Every recorded text with one byte changed, and every beginning of it: an answer, and no crash */
static void test_mutations(void **state)
{
	static const char bytes[] = { '\n', '\t', ' ', ':', '-', '0', '9', 'z', '\x01', '\xff' };
	char text[sizeof(recorded)], why[128];
	struct fdinfo info;
	size_t i, b;
	int ret;

	(void)state;
	for (i = 0; i < sizeof(recorded); i++) {
		memcpy(text, recorded, sizeof(recorded));
		text[i] = 0;
		ret = fdinfo_parse(text, &info, why, sizeof(why));
		assert_true(ret == 0 || ret == -ENOENT || ret == -EBADMSG);
		for (b = 0; i + 1 < sizeof(recorded) && b < sizeof(bytes); b++) {
			memcpy(text, recorded, sizeof(recorded));
			text[i] = bytes[b];
			ret = fdinfo_parse(text, &info, why, sizeof(why));
			assert_true(ret == 0 || ret == -ENOENT || ret == -EBADMSG);
			assert_true(info.engine_count <= FDINFO_CLASSES);
		}
	}
}

static void clean_is(const char *text, const char *want)
{
	char buf[64];

	snprintf(buf, sizeof(buf), "%s", text);
	assert_string_equal(text_clean(buf), want);
}

static void test_clean(void **state)
{
	(void)state;
	clean_is("plain text", "plain text");
	clean_is("\033[31mred", "?[31mred");
	clean_is("tab\tline\nend\x7f", "tab?line?end?");
	clean_is("gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f");
	clean_is("\xe2\x82\xac \xf0\x9f\x98\x80", "\xe2\x82\xac \xf0\x9f\x98\x80");
	/* Cut off, overlong, surrogate, beyond the end, a control in two bytes, no beginning */
	clean_is("\xc3", "?");
	clean_is("\xc0\x80", "??");
	clean_is("\xed\xa0\x80", "???");
	clean_is("\xf4\x90\x80\x80", "????");
	clean_is("\xc2\x9b", "??");
	clean_is("\xbf", "?");
	clean_is("\xff\xfe", "??");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_recorded),
		cmocka_unit_test(test_other_orders_and_drivers),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_long_lines),
		cmocka_unit_test(test_mutations),
		cmocka_unit_test(test_clean),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

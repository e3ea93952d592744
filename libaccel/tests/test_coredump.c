// SPDX-License-Identifier: MIT
/*
 * Core dumps: what is shown of a good one, and that no bad one does harm.
 */
#include <endian.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <accel/accel.h>
#include "uma_dump.h"
#include "dump_make.h"

#define FLIPS	100000

static unsigned char buf[DUMP_MAKE_MAX];
static size_t size;

/* From memory of exactly that size, so that a sanitizer sees reads behind it */
static int format(const void *data, size_t n, char **text)
{
	unsigned char *copy = malloc(n ? n : 1);
	int ret;

	assert_non_null(copy);
	memcpy(copy, data, n);
	*text = NULL;
	ret = accel_coredump_format(copy, n, text);
	free(copy);
	return ret;
}

static void want(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no \"%s\" in:\n%s", part, text);
}

static int setup(void **state)
{
	(void)state;
	size = dump_make(buf);
	return 0;
}

static void test_text(void **state)
{
	static const char * const parts[] = {
		"Core dump: fault\n", "2023-11-14 22:13:20.123456789 UTC, 5.000000000 s since boot",
		"uma_emu.0", "ultra", "6.12.0-test", "driver 1.1, registers 1.1",
		"123456 at 24000000 Hz", "Job 4 of queue 2", "1 (gpu0), sequence number 6",
		"1234 (bad\\x1b[2Jname)", "EFAULT", "2 at 0x40000, address space 3, task 1 at fault",
		"write (19)", "operand    d (0)", "address    0x7f0000123000",
		"task 0: gemm, version 1", "\"act\":\"relu\"",
		"fp16 [3,7], strides [7,1], at 0x7f0000123000",
		"walk of 0x7f0000123000", "valid, table at 0x101000",
		"level 2, 2 MiB    entry   0  0x0000000000000000  not valid",
		"end: nothing is mapped, level 2", "Ring of engine 1: order 1, head 5, tail 6",
		"entry 1: seqno 6, 2 tasks at 0x40000, address space 3, flags 0x0  <head",
		"record 1: seqno 6, 1000 to 2000, write at 0x7f0000123000, operand d, task 1",
		"0x0000  MAGIC                       0x31414d55",
		"0x2044  ENGINE1.STATUS              0x00000002", "0x0044  (unknown)",
		"Section of unknown type 16962: 8 bytes skipped",
		"-        0.004500000       1  run ", "-        0.003000000       1  done", "reset",
	};
	char *text, *mark, *line;
	uint32_t i;

	(void)state;
	assert_int_equal(format(buf, size, &text), 0);
	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		want(text, parts[i]);
	/* one task is at fault, and it is the second */
	mark = strstr(text, "<== at fault\n");
	assert_non_null(mark);
	assert_null(strstr(mark + 1, "<== at fault"));
	line = strstr(text, "  task 1: ");
	assert_non_null(line);
	assert_ptr_equal(strchr(line, '\n'), strchr(mark, '\n'));
	assert_null(strstr(text, "error: "));
	assert_null(strchr(text, '\033'));
	free(text);
}

static void test_info(void **state)
{
	struct accel_coredump_info info = { .size = sizeof(info) };

	(void)state;
	assert_int_equal(accel_coredump_get_info(buf, size, &info), 0);
	assert_int_equal(info.parts, ACCEL_COREDUMP_JOB | ACCEL_COREDUMP_WALK);
	assert_string_equal(info.cause, "fault");
	assert_string_equal(info.device, "uma_emu.0");
	assert_string_equal(info.engine_name, "gpu0");
	assert_string_equal(info.comm, "bad\\x1b[2Jname");
	assert_string_equal(info.reason, "write");
	assert_string_equal(info.slot, "d");
	assert_int_equal(info.engine, ACCEL_ENGINE_GPU);
	assert_int_equal(info.error, -EFAULT);
	assert_int_equal(info.addr, DUMP_MAKE_ADDR);
	assert_int_equal(info.task_index, 1);
	assert_int_equal(info.walk_levels, 3);
	assert_int_equal(info.walk_entry[1], 0x102001);
	assert_string_equal(info.walk_end, "invalid");
	info.size = 8;
	assert_int_equal(accel_coredump_get_info(buf, size, &info), -EINVAL);
	assert_int_equal(accel_coredump_get_info(buf, size, NULL), -EINVAL);
}

static void test_refused(void **state)
{
	const __u32 two = htole32(2);
	char *text = NULL;

	(void)state;
	assert_int_equal(accel_coredump_format(NULL, 0, &text), -EINVAL);
	assert_int_equal(accel_coredump_format(NULL, 100, &text), -EINVAL);
	assert_int_equal(accel_coredump_format(buf, size, NULL), -EINVAL);
	assert_int_equal(accel_coredump_format("no core dump at all", 19, &text), -EINVAL);
	memcpy(buf + offsetof(struct uma_dump_header, version), &two, sizeof(two));
	assert_int_equal(accel_coredump_format(buf, size, &text), -EPROTO);
	assert_null(text);
}

static void test_truncated(void **state)
{
	struct accel_coredump_info info = { .size = sizeof(info) };
	char *text;
	size_t n;
	int ret;

	(void)state;
	for (n = 0; n < size; n++) {
		ret = format(buf, n, &text);
		assert_int_equal(ret, n < 8 ? -EINVAL : -EBADMSG);
		if (ret == -EINVAL) {
			assert_null(text);
			continue;
		}
		want(text, "error: truncated");
		if (n >= sizeof(struct uma_dump_header))
			want(text, "uma_emu.0");
		if (n >= sizeof(struct uma_dump_header) + 8 + sizeof(struct uma_dump_job))
			want(text, "address    0x7f0000123000");
		free(text);
		assert_int_equal(accel_coredump_get_info(buf, n, &info), -EBADMSG);
	}
}

/* What is behind the end is not shown; a section may grow */
static void test_sizes(void **state)
{
	const __u32 levels = htole32(5);
	struct uma_dump_walk walk = { .levels = levels };
	unsigned char job[sizeof(struct uma_dump_job) + 16] = { 0 };
	char *text;
	size_t at;

	(void)state;
	assert_int_equal(format(buf, size + 8, &text), -EBADMSG);
	want(text, "error: 8 bytes behind the end");
	free(text);
	at = dump_begin(buf);
	dump_section(buf, &at, UMA_DUMP_JOB, job, sizeof(job), NULL, 0);
	dump_end(buf, at);
	assert_int_equal(format(buf, at, &text), 0);
	want(text, "Job 0 of queue 0");
	free(text);
	dump_section(buf, &at, UMA_DUMP_WALK, &walk, sizeof(walk), NULL, 0);
	dump_end(buf, at);
	assert_int_equal(format(buf, at, &text), -EBADMSG);
	want(text, "error: a walk of 5 levels");
	free(text);
	at = dump_begin(buf);
	dump_section(buf, &at, UMA_DUMP_JOB, job, 12, NULL, 0);
	dump_end(buf, at);
	assert_int_equal(format(buf, at, &text), -EBADMSG);
	want(text, "error: the job is cut off");
	free(text);
}

static void test_walks(void **state)
{
	static const struct {
		__u32 levels;
		__u64 last;
		const char *end, *text;
	} cases[] = {
		{ 0, 0, "none", "end: the address space has no table\n" },
		{ 1, 0, "invalid", "end: nothing is mapped, level 0\n" },
		{ 2, 0x1003, "malformed", "end: the entry is malformed, level 1\n" },
		{ 2, 0x1001, "table", "end: the next table was not read, level 1\n" },
		{ 3, 0x200007, "block", "end: a block of 2 MiB, level 2, writable\n" },
		{ 3, 0x201003, "malformed", "end: the entry is malformed, level 2\n" },
		{ 4, 0x1001, "page", "end: a page, level 3, read-only\n" },
		{ 4, 0x1009, "malformed", "end: the entry is malformed, level 3\n" },
	};
	struct accel_coredump_info info = { .size = sizeof(info) };
	uint32_t i;
	size_t at;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct uma_dump_walk walk = { .levels = htole32(cases[i].levels) };
		char *text;

		if (cases[i].levels)
			walk.entry[cases[i].levels - 1] = htole64(cases[i].last);
		at = dump_begin(buf);
		dump_section(buf, &at, UMA_DUMP_WALK, &walk, sizeof(walk), NULL, 0);
		dump_end(buf, at);
		assert_int_equal(format(buf, at, &text), 0);
		want(text, cases[i].text);
		free(text);
		assert_int_equal(accel_coredump_get_info(buf, at, &info), 0);
		assert_string_equal(info.walk_end, cases[i].end);
		assert_int_equal(info.walk_writable, cases[i].levels == 3 && cases[i].last & 4);
	}
}

static void test_flips(void **state)
{
	struct accel_coredump_info info = { .size = sizeof(info) };
	uint64_t seed = 0x9e3779b97f4a7c15ull;
	unsigned char *copy = malloc(size);
	uint32_t i, k, good = 0, bad = 0;

	(void)state;
	assert_non_null(copy);
	for (i = 0; i < FLIPS; i++) {
		char *text = NULL;
		int ret;

		memcpy(copy, buf, size);
		for (k = 0; k <= i % 8; k++) {
			seed ^= seed << 13;
			seed ^= seed >> 7;
			seed ^= seed << 17;
			/* every other one where sizes and counts are */
			copy[(seed >> 20) % (seed & 8 ? size : 512)] ^= 1 << (seed & 7);
		}
		ret = accel_coredump_format(copy, size, &text);
		assert_true(!text == (ret && ret != -EBADMSG));
		free(text);
		good += !ret;
		bad += ret == -EBADMSG;
		ret = accel_coredump_get_info(copy, size, &info);
		assert_true(!ret || ret == -EBADMSG || ret == -EINVAL || ret == -EPROTO);
	}
	free(copy);
	/* both ways were taken */
	assert_true(good > FLIPS / 100 && bad > FLIPS / 100);
}

/* --- names of registers, as driver/uma_regs.h has them --- */

#define SPACE	0x3000

static char names[SPACE / 4][64];

static void note_name(uint32_t offset, const char *name)
{
	assert_int_equal(offset % 4, 0);
	if (offset < SPACE) {
		assert_string_equal(names[offset / 4], "");
		snprintf(names[offset / 4], sizeof(names[0]), "%s", name);
	}
}

static void note_line(const char *line)
{
	char name[32], full[64], suffix[8];
	uint32_t value, stride, i;

	if (sscanf(line, "#define UMA_REG_AS_ROOT_%2[LOHI](as) (0x%x + (as) * %u)", suffix, &value,
		   &stride) == 3) {
		for (i = 0; i < 64; i++) {
			snprintf(full, sizeof(full), "AS%u.ROOT_%s", i, suffix);
			note_name(value + i * stride, full);
		}
	} else if (sscanf(line, "#define UMA_REG_%31[A-Z_] 0x%x", name, &value) == 2) {
		note_name(value, name);
	} else if (sscanf(line, "#define UMA_ENG_%31[A-Z_] 0x%x", name, &value) == 2) {
		for (i = 0; i < 2; i++) {
			snprintf(full, sizeof(full), "ENGINE%u.%s", i, name);
			note_name(0x1000 + i * 0x1000 + value, full);
		}
	} else if (sscanf(line, "#define UMA_CNT_%31[A-Z_] %u", name, &value) == 2) {
		for (i = 0; i < 4; i++) {
			snprintf(full, sizeof(full), "ENGINE%u.%s_%s", i / 2, name,
				 i % 2 ? "HI" : "LO");
			note_name(0x1080 + i / 2 * 0x1000 + value * 8 + i % 2 * 4, full);
		}
	} else if (sscanf(line, "#define UMA_NODE_%31[A-Z_] 0x%x", name, &value) == 2) {
		for (i = 0; i < 4; i++) {
			snprintf(full, sizeof(full), "NODE%u.%s", i, name);
			note_name(0x0100 + i * 0x10 + value, full);
		}
	}
}

static void test_regs(void **state)
{
	static struct uma_dump_reg regs[SPACE / 4];
	static const char * const bases[] = {
		"#define UMA_REG_NODE(n) (0x0100 + (n) * 0x10)", "#define UMA_MAX_NODES 4",
		"#define UMA_MAX_AS 64", "#define UMA_REG_ENGINE(e) (0x1000 + (e) * 0x1000)",
		"#define UMA_MAX_ENGINES 24", "#define UMA_ENG_COUNTER(c) (0x080 + (c) * 8)",
	};
	uint32_t i, found = 0, named = 0;
	char line[256], part[128], *text;
	size_t at, from, to;
	FILE *f;

	(void)state;
	f = fopen("driver/uma_regs.h", "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		/* runs of blanks are one */
		for (from = 0, to = 0; line[from]; from++) {
			if (line[from] == '\t')
				line[from] = ' ';
			if (line[from] != ' ' || !to || line[to - 1] != ' ')
				line[to++] = line[from];
		}
		line[to] = 0;
		line[strcspn(line, "\n")] = 0;
		note_line(line);
		for (i = 0; i < sizeof(bases) / sizeof(bases[0]); i++)
			found += !strcmp(line, bases[i]);
	}
	fclose(f);
	assert_int_equal(found, sizeof(bases) / sizeof(bases[0]));
	for (i = 0; i < SPACE / 4; i++) {
		regs[i].offset = htole32(4 * i);
		named += !!names[i][0];
	}
	/* less would mean that this test read nothing */
	assert_true(named > 230);
	at = dump_begin(buf);
	dump_section(buf, &at, UMA_DUMP_REGS, regs, sizeof(regs), NULL, 0);
	dump_end(buf, at);
	assert_int_equal(format(buf, at, &text), 0);
	for (i = 0; i < SPACE / 4; i++) {
		snprintf(part, sizeof(part), "  0x%04x  %-26.63s  0x00000000\n", 4 * i,
			 names[i][0] ? names[i] : "(unknown)");
		want(text, part);
	}
	free(text);
}

/* Ring entries and records: offsets of members, from the text of their structs */
static void test_ring_layout(void **state)
{
	static const struct {
		const char *in, *member;
		uint32_t offset;
	} members[] = {
		{ "uma_ring_entry", "tasks_addr", 0 }, { "uma_ring_entry", "task_count", 8 },
		{ "uma_ring_entry", "as", 12 }, { "uma_ring_entry", "seqno", 16 },
		{ "uma_ring_entry", "flags", 24 }, { "uma_record", "seqno", 0 },
		{ "uma_record", "start", 8 }, { "uma_record", "end", 16 },
		{ "uma_record", "fault_addr", 24 }, { "uma_record", "reason", 32 },
		{ "uma_record", "slot", 36 }, { "uma_record", "task_index", 40 },
	};
	char line[256], in[32] = "", name[32];
	uint32_t offset = 0, bits, i, found = 0;
	FILE *f = fopen("driver/uma_regs.h", "r");

	(void)state;
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "struct %31[a-z_] {", in) == 1) {
			offset = 0;
		} else if (sscanf(line, "\t__le%u %31[a-z_0-9]", &bits, name) == 2) {
			for (i = 0; i < sizeof(members) / sizeof(members[0]); i++)
				if (!strcmp(in, members[i].in) &&
				    !strcmp(name, members[i].member)) {
					assert_int_equal(offset, members[i].offset);
					found++;
				}
			offset += bits / 8;
		}
	}
	fclose(f);
	assert_int_equal(found, sizeof(members) / sizeof(members[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_text, setup),
		cmocka_unit_test_setup(test_info, setup),
		cmocka_unit_test_setup(test_refused, setup),
		cmocka_unit_test_setup(test_truncated, setup),
		cmocka_unit_test_setup(test_sizes, setup),
		cmocka_unit_test_setup(test_walks, setup),
		cmocka_unit_test_setup(test_flips, setup),
		cmocka_unit_test_setup(test_regs, setup),
		cmocka_unit_test_setup(test_ring_layout, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

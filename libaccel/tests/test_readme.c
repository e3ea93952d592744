// SPDX-License-Identifier: MIT
/*
 * The example of README.md: taken out as it is printed, compiled with all
 * warnings, linked with this library, and run.
 */
#include <libgen.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZE	"-fsanitize=address,undefined"
#elif defined(__SANITIZE_THREAD__)
#define SANITIZE	"-fsanitize=thread"
#else
#define SANITIZE	""
#endif

/* Directory that the library is in. */
static char libdir[4096];

/* The first block of C that has a main(), into @path. Returns its lines. */
static int extract(const char *readme, const char *path)
{
	FILE *in = fopen(readme, "r"), *out;
	char line[512], block[16384] = "";
	int inside = 0, lines = 0;

	if (!in)
		return -1;
	while (fgets(line, sizeof(line), in)) {
		if (!inside && !strcmp(line, "```c\n")) {
			inside = 1;
			lines = 0;
			block[0] = 0;
		} else if (inside && !strcmp(line, "```\n")) {
			inside = 0;
			if (strstr(block, "int main"))
				break;
			block[0] = 0;
		} else if (inside) {
			strncat(block, line, sizeof(block) - strlen(block) - 1);
			lines++;
		}
	}
	fclose(in);
	if (!block[0])
		return -1;
	out = fopen(path, "w");
	assert_non_null(out);
	fputs(block, out);
	fclose(out);
	return lines;
}

/* Output of a command; its exit status must be 0. */
static void run(const char *cmd, char *out, size_t size)
{
	FILE *p = popen(cmd, "r");
	size_t n;
	int status;

	assert_non_null(p);
	n = fread(out, 1, size - 1, p);
	out[n] = 0;
	status = pclose(p);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		fail_msg("%s: status %d: %s", cmd, status, out);
}

static void test_example(void **state)
{
	const char *cc = getenv("CC");
	char dir[] = "/tmp/readme.XXXXXX", cmd[16384], path[64], out[4096];
	int lines;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/example.c", dir);
	lines = extract("README.md", path);
	assert_in_range(lines, 10, 30);
	snprintf(cmd, sizeof(cmd),
		 "%s -std=c11 -Wall -Wextra -Werror %s -Ilibaccel/include -o %s/example %s/example.c -L%s -laccel -Wl,-rpath,%s 2>&1",
		 cc && *cc ? cc : "cc", SANITIZE, dir, dir, libdir, libdir);
	run(cmd, out, sizeof(out));
	/* It leaves its objects to the end of the process. */
	snprintf(cmd, sizeof(cmd),
		 "ASAN_OPTIONS=detect_leaks=0 timeout 100 %s/example 2>&1", dir);
	run(cmd, out, sizeof(out));
	assert_string_equal(out, "4 5\n10 11\n");
	snprintf(cmd, sizeof(cmd), "rm -r %s", dir);
	run(cmd, out, sizeof(out));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_example) };
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	(void)argc;
	(void)argv;
	if (n < 0)
		return 1;
	self[n] = 0;
	snprintf(libdir, sizeof(libdir), "%s", dirname(dirname(self)));
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}

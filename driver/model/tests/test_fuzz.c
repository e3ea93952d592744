// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Drives fuzz_task.c with mutations of valid tasks, the same ones every time;
 * then, where it was built, lets libFuzzer go on from the same seeds.
 *
 * "test_fuzz --seeds DIRECTORY" writes the seeds.
 */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz_task.h"
#include "gen.h"
#include "tap.h"

#define SEEDS		72
#define SEED_SIZE	(UMA_TASK_SIZE + 1 + 16384)

static uint8_t seeds[SEEDS][SEED_SIZE];

static void make_seed(uint32_t i)
{
	static const uint32_t opcodes[] = {
		UMA_OP_GEMM, UMA_OP_GEMM, UMA_OP_GEMM, UMA_OP_COPY, UMA_OP_FILL,
		UMA_OP_UNARY, UMA_OP_BINARY, UMA_OP_SELECT, UMA_OP_ROTARY,
		UMA_OP_CONV, UMA_OP_GATHER, UMA_OP_SCATTER, UMA_OP_POOL, UMA_OP_RESIZE,
		UMA_OP_NORM, UMA_OP_SOFTMAX, UMA_OP_REDUCE, UMA_OP_TOPK, UMA_OP_SCAN,
		UMA_OP_ATTENTION, UMA_OP_KV_WRITE,
	};
	static uint8_t image[MT_SIZE];
	static struct mt_task t;
	uint32_t op = opcodes[i % (sizeof(opcodes) / sizeof(opcodes[0]))], k;
	struct gen_types c;

	mt_task_init(&t, image, i * 77 + 5, (int)op);
	do {
		memset(&t.task.slots, 0, sizeof(t.task) - offsetof(struct uma_task, slots));
		t.used = 0;
		c.a = F32 + (int)mt_below(&t.rng, 8);
		c.b = F32 + (int)mt_below(&t.rng, 8);
		c.d = F32 + (int)mt_below(&t.rng, 8);
		if (op == UMA_OP_ATTENTION) {
			gen_attention(&t, mt_rand(&t.rng) & UMA_ATTN_FLAGS_MASK);
			continue;
		}
		if (op == UMA_OP_KV_WRITE) {
			gen_kv_write(&t, mt_rand(&t.rng) & UMA_KV_WRITE_FLAGS_MASK);
			continue;
		}
		if (op == UMA_OP_ROTARY) {
			c.a = F32 + (int)mt_below(&t.rng, 3);
			c.b = F32;
			c.d = mt_one_in(&t.rng, 2) ? S8 : c.a;
			gen_rotary(&t, &c);
			continue;
		}
		if (op >= UMA_OP_POOL && op <= UMA_OP_SCATTER) {
			gen_vision(&t);
			continue;
		}
		if (op >= UMA_OP_NORM && op != UMA_OP_SELECT) {
			gen_lines(&t, &c);
			continue;
		}
		if (op != UMA_OP_GEMM && op != UMA_OP_CONV) {
			gen_elementwise(&t, &c, mt_below(&t.rng, op == UMA_OP_UNARY ?
				(uint32_t)UMA_UNARY_COUNT : (uint32_t)UMA_BINARY_COUNT));
			continue;
		}
		c.a = (i >> 3) & 1 ? S8 : F32 + (int)mt_below(&t.rng, 3);
		c.b = c.a == S8 ? U8 : i & 1 ? c.a : S4;
		c.d = c.a == S8 && i & 2 ? S32 : c.a == S8 ? S8 : F32;
		if (op == UMA_OP_CONV)
			gen_conv(&t, &c);
		else
			gen_gemm(&t, &c);
	} while (t.used > 60000);
	memcpy(seeds[i], &t.task, UMA_TASK_SIZE);
	/* "full" on any engine and with any kernels. */
	seeds[i][UMA_TASK_SIZE] = (uint8_t)(4 + 5 * mt_below(&t.rng, 50));
	memcpy(seeds[i] + UMA_TASK_SIZE + 1, image, SEED_SIZE - UMA_TASK_SIZE - 1);
	/* Every other one is a list: it goes on with the tasks of the seeds before. */
	for (k = 0; i % 2 && k < FUZZ_MORE && k < i; k++)
		memcpy(seeds[i] + UMA_TASK_SIZE + 1 + FUZZ_LIST + k * UMA_TASK_SIZE,
		       seeds[i - k - 1], UMA_TASK_SIZE);
}

static int write_seeds(const char *dir)
{
	char path[4096];
	uint32_t i;
	FILE *f;

	for (i = 0; i < SEEDS; i++) {
		/* Small ones, for the fuzzer's sake: what is behind that is all the same. */
		size_t size = UMA_TASK_SIZE + 1 + (i % 2 ? FUZZ_MORE : 1) * UMA_TASK_SIZE;

		snprintf(path, sizeof(path), "%s/seed-%02u", dir, i);
		f = fopen(path, "wb");
		if (!f || fwrite(seeds[i], size, 1, f) != 1 || fclose(f)) {
			perror(path);
			return 1;
		}
	}
	return 0;
}

static void mutate(struct mt_rng *r, uint8_t *d)
{
	static const uint64_t odd[] = {
		0, 1, 2, 3, 7, 8, 15, 16, 63, 64, 65, 127, 128, 255, 0x7fff, 0x8000, 0xffff,
		0x7fffffff, 0x80000000, 0xffffffff, 1ULL << 47, 1ULL << 48, (1ULL << 48) - 4,
		1ULL << 50, 1ULL << 63, ~0ULL, MT_BASE, MT_BASE + 65536 - 4, 0x3f800000,
	};
	/* Mostly in the slots in use. */
	uint32_t at = mt_one_in(r, 4) ? mt_below(r, UMA_TASK_SIZE + 1) :
		mt_one_in(r, 4) ? mt_below(r, 512) : 512 + mt_below(r, 4 * 128);
	uint64_t v = odd[mt_below(r, sizeof(odd) / sizeof(odd[0]))];

	switch (mt_below(r, 5)) {
	case 0:
		d[at] ^= (uint8_t)(1u << mt_below(r, 8));
		break;
	case 1:
		memcpy(d + (at & ~7u) % UMA_TASK_SIZE, &v, 8);
		break;
	case 2:
		memcpy(d + (at & ~3u) % UMA_TASK_SIZE, &v, 4);
		break;
	case 3:
		memcpy(d + (at & ~1u) % UMA_TASK_SIZE, &v, 2);
		break;
	default:
		/* An operand, or a part of one, like another one. */
		memcpy(d + 512 + 128 * mt_below(r, 4), d + 512 + 128 * mt_below(r, 4),
		       8 * (1 + mt_below(r, 16)));
		break;
	}
}

static void mutations(uint32_t rounds)
{
	static uint8_t data[SEED_SIZE];
	struct mt_rng rng = { .s = 42 };
	uint32_t i, n;

	for (i = 0; i < rounds; i++) {
		memcpy(data, seeds[mt_below(&rng, SEEDS)], SEED_SIZE);
		for (n = 1 + mt_below(&rng, 3); n; n--)
			mutate(&rng, data);
		LLVMFuzzerTestOneInput(data, mt_one_in(&rng, 50) ? mt_below(&rng, SEED_SIZE) :
				       SEED_SIZE);
	}
	tap_ok(1, "%u mutations of %u tasks fault or run", rounds, SEEDS);
}

/* libFuzzer, from a program beside this one. */
static void fuzzer(const char *self)
{
	char path[4096], dir[] = "/tmp/fuzz_task.XXXXXX", cmd[8192];
	const char *slash = strrchr(self, '/');
	char *full;
	int r;

	snprintf(path, sizeof(path), "%.*sfuzz_task.fuzzer", slash ? (int)(slash - self) + 1 : 0,
		 self);
	if (access(path, X_OK)) {
		tap_ok(1, "libFuzzer # SKIP clang's libFuzzer is not installed");
		return;
	}
	if (!mkdtemp(dir) || write_seeds(dir)) {
		tap_ok(0, "libFuzzer's seeds");
		return;
	}
	full = realpath(path, NULL);
	snprintf(cmd, sizeof(cmd),
		 "cd %s && exec '%s' -seed=1 -max_total_time=5 -max_len=%d -artifact_prefix=/tmp/ . >log 2>&1",
		 dir, full, UMA_TASK_SIZE * (FUZZ_MORE + 1) + 1);
	free(full);
	r = system(cmd);
	if (r) {
		snprintf(cmd, sizeof(cmd), "tail -n 30 %s/log | sed 's/^/# /'", dir);
		if (system(cmd))
			printf("# no log\n");
	}
	tap_ok(WIFEXITED(r) && !WEXITSTATUS(r), "libFuzzer for 5 seconds");
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	if (system(cmd))
		printf("# %s remains\n", dir);
}

int main(int argc, char **argv)
{
	uint32_t i;

	for (i = 0; i < SEEDS; i++)
		make_seed(i);
	if (argc == 3 && !strcmp(argv[1], "--seeds"))
		return write_seeds(argv[2]);
	for (i = 0; i < SEEDS; i++)
		LLVMFuzzerTestOneInput(seeds[i], SEED_SIZE);
	tap_ok(1, "%u seeds run", SEEDS);
	mutations(argc > 1 ? (uint32_t)atoi(argv[1]) : 20000);
	fuzzer(argv[0]);
	return tap_done();
}

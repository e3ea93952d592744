/* SPDX-License-Identifier: MIT */
/*
 * Running operations against the oracle, on every chip and with every set of
 * kernels. Environment, the first three the default in the virtual machine:
 *
 *	ACCEL_TEST_DEVICE=accel0	this device instead of the in-process ones
 *	ACCEL_SW_KERNELS=all		sw:full with each set of kernels, one after
 *					the other
 *	ACCEL_TEST_SMALL=1		small shapes, few cases: a slow machine
 *	ACCEL_TEST_COMPARE=1		hold integers, bit by bit, against the
 *					in-process device too
 *	ACCEL_TEST_CASES=n		random cases of each test, others on each device
 *	ACCEL_TEST_EVERY=n		of all cases one of n (20 in the virtual machine)
 *	ACCEL_TEST_SEED=0x...		only the cases of this seed
 *	ACCEL_TEST_TRACE=1		a line for each case, before it runs
 */
#ifndef LIBACCEL_TESTS_OPTEST_H
#define LIBACCEL_TESTS_OPTEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <accel/accel.h>

/* Buffers of a case: operands, tables, epilogue */
#define OP_MAX_BOS	32
/* Tensors that an operation writes */
#define OP_MAX_RESULTS	8
/* In-process devices with other numbers of threads */
#define OP_TEAMS	3

/**
 * struct op_env - a device under test
 * @name: what it was opened by
 * @kernels: ACCEL_SW_KERNELS, or ""
 * @chip: its profile
 * @small: small shapes
 * @first: each test runs here first: what no device has a part in is looked at once
 * @dev: device
 * @ctx: context
 * @ref: context of the in-process device to compare with, or NULL
 * @ref_dev: its device
 * @team: contexts of in-process devices that differ in the number of threads: bits are
 *	the same, or NULL
 * @team_dev: their devices
 * @turn: its number, see test_not_of()
 * @every: of its cases one of so many is run, see test_every()
 * @counted: as many as the environment says: none is left out
 * @cases: operations that ran
 * @refused: operations that the chip does not have
 * @seen: those asked for, see test_every()
 */
struct op_env {
	char name[64];
	char kernels[16];
	char chip[32];
	bool small;
	bool first;
	struct accel_device *dev;
	struct accel_ctx *ctx;
	struct accel_ctx *ref;
	struct accel_device *ref_dev;
	struct accel_ctx *team[OP_TEAMS];
	struct accel_device *team_dev[OP_TEAMS];
	uint32_t turn;
	unsigned long every;
	bool counted;
	uint64_t cases;
	uint64_t refused;
	uint64_t seen;
};

/**
 * struct op_case - an operation being set up
 * @ctx: context
 * @rng: state of the generator
 * @seed: where it started
 * @small: small shapes
 * @range: magnitude of floating-point numbers, 0: 2
 * @special: infinities, NaN, subnormal and extreme numbers among them
 * @import: its buffers are imported from memory that stays mapped, see optest_case.c
 * @used: bytes of that
 * @bos: its buffers
 * @bo_count: their number
 */
struct op_case {
	struct accel_ctx *ctx;
	uint64_t rng;
	uint64_t seed;
	bool small;
	double range;
	bool special;
	bool import;
	uint64_t used;
	struct accel_bo *bos[OP_MAX_BOS];
	uint32_t bo_count;
};

/* Builds the operation of a case; @arg says which. */
typedef const struct accel_desc *op_build_fn(struct op_case *c, const void *arg);

/* --- random ------------------------------------------------------------------ */

uint64_t op_random(struct op_case *c);
uint32_t op_below(struct op_case *c, uint32_t n);
double op_uniform(struct op_case *c, double lo, double hi);
int64_t op_dim(struct op_case *c);

/* --- tensors ------------------------------------------------------------------- */

/**
 * enum op_style - how a tensor lies in memory
 * @OP_DENSE: row-major
 * @OP_PADDED: gaps between rows, an offset
 * @OP_PERMUTED: dimensions in another order
 * @OP_REVERSED: a dimension runs backwards
 * @OP_REPEATED: inputs: a stride of 0
 */
enum op_style {
	OP_DENSE,
	OP_PADDED,
	OP_PERMUTED,
	OP_REVERSED,
	OP_REPEATED,
	OP_STYLES
};

/* Zeroed memory, for the caller to unref: imported, where the case says so and there is room. */
struct accel_bo *op_bo(struct op_case *c, uint64_t bytes);
void op_tensor(struct op_case *c, struct accel_tensor *t, uint32_t dtype,
	       uint32_t rank, const int64_t *dims, enum op_style style);
/* A tensor of blocks along @along: dense, or with blocks between, mirrored, repeated. */
void op_blocks(struct op_case *c, struct accel_tensor *t, uint32_t dtype, uint32_t rank,
	       const int64_t *dims, uint32_t along, enum op_style style);
void op_quantise(struct op_case *c, struct accel_tensor *t, uint32_t scheme,
		 uint32_t axis, uint32_t group, double scale, bool zeros);
/* accel_prune24(), which no device has a part in: what it leaves is kept as random numbers are. */
int op_prune24(struct op_case *c, const struct accel_tensor *t, uint32_t axis);
/* An activation with parameters; @exact: one that integers have. */
void op_activation(struct op_case *c, struct accel_epilogue *epi, bool exact);

/* Long runs of random numbers are kept, as cases come again, until this. */
void op_cases_forget(void);

/* --- running ------------------------------------------------------------------- */

int op_run(struct op_env *env, op_build_fn *build, const void *arg, uint64_t seed,
	   const char *what);
void op_random_cases(struct op_env *env, op_build_fn *build, const void *arg,
		     uint32_t count, uint64_t seed);
void op_say(const struct accel_desc *desc, char *buf, size_t size);
void op_say_text(char *buf, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void op_say_tensor(const char *name, const struct accel_tensor *t, char *buf, size_t size);
void op_say_epilogue(const struct accel_epilogue *e, char *buf, size_t size);
void op_report(struct op_env *env, const char *what);

/**
 * struct op_test - a test of a program
 * @name: name
 * @fn: runs it
 */
struct op_test {
	const char *name;
	void (*fn)(struct op_env *env);
};

int op_main(const struct op_test *tests, uint32_t count);

#endif /* LIBACCEL_TESTS_OPTEST_H */

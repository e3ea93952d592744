// SPDX-License-Identifier: MIT
/*
 * A machine with pages of 16 KiB, as far as the library can tell: sysconf() says so, and
 * madvise() takes no other addresses.
 */
#include <sys/mman.h>
#include <sys/syscall.h>

#include "rt.h"

#define PAGE	16384ul

__attribute__((visibility("default"))) long sysconf(int name)
{
	if (name == _SC_PAGESIZE)
		return PAGE;
	if (name == _SC_PHYS_PAGES)
		return 1 << 16;
	return name == _SC_NPROCESSORS_ONLN ? 2 : -1;
}

__attribute__((visibility("default"))) int madvise(void *addr, size_t size, int advice)
{
	if ((uintptr_t)addr % PAGE) {
		errno = EINVAL;
		return -1;
	}
	return (int)syscall(SYS_madvise, addr, size, advice);
}

#define STACK	(16 * PAGE)

/**
 * struct call - an import by a thread
 * @ctx: context
 * @mem: memory
 * @ret: what it gave
 */
struct call {
	struct accel_ctx *ctx;
	void *mem;
	int ret;
};

static void *import(void *arg)
{
	struct call *call = arg;
	struct accel_bo *bo;

	call->ret = accel_bo_import_ptr(call->ctx, call->mem, PAGE, NULL, &bo);
	return NULL;
}

/* Wherever the stack is, memory that cannot be written is none to write to. */
static void test_readonly(void **state)
{
	char *all = mmap(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct rt *rt = *state;
	struct call call = { .ctx = rt->ctx };
	pthread_attr_t attr;
	pthread_t thread;
	char *stack;
	uint32_t i;

	assert_ptr_not_equal(all, MAP_FAILED);
	call.mem = (void *)(((uintptr_t)all + PAGE - 1) / PAGE * PAGE);
	stack = aligned_alloc(PAGE, STACK + PAGE);
	assert_non_null(stack);
	for (i = 0; i < PAGE / 4096; i++) {
		pthread_attr_init(&attr);
		assert_int_equal(pthread_attr_setstack(&attr, stack + 4096 * i, STACK), 0);
		assert_int_equal(pthread_create(&thread, &attr, import, &call), 0);
		assert_int_equal(pthread_join(thread, NULL), 0);
		pthread_attr_destroy(&attr);
		assert_int_equal(call.ret, -EFAULT);
	}
	free(stack);
	assert_int_equal(munmap(all, 2 * PAGE), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_readonly, rt_setup, rt_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# Tests of the driver through its ioctls, and of nothing else: they know the uapi headers only.

selftests-user := models query args handles arrays bo mmap userptr prime vm queue submit sync exec faults isolation unbind fd timestamp race info
selftests-root := counters perms hang fair preempt tiles fair_share recovery lost instances configfs lifecycle stress mutate fail_nth soak reload
selftests-root += madvise implicit crowd memory fill place
selftests-root += fdinfo tables coredump
selftests-root += sysfs hwmon power suspend noncoherent
selftests-all := $(addprefix selftests/,$(selftests-user) $(selftests-root))

SELFTEST_PROGS += $(selftests-all)
# What is about time, on a clock that no busy host disturbs, and what only looks at answers. What is about races, or memory
# that threads of the kernel free, needs two processors and their real time.
CLOCK_STEPS += $(addprefix selftests/,$(filter-out race exec sync,$(selftests-user)) counters perms hang fair preempt tiles \
	fair_share recovery lost instances configfs sysfs hwmon power suspend implicit crowd fdinfo)
DEBUG_STEPS += $(addprefix selftests/,lifecycle faults race stress)

CFLAGS-selftests/ := $(call pkg-cflags,libdrm) -pthread

selftests-common := $(addprefix selftests/,harness.o client.o syncobj.o gate.o watch.o instance.o files.o)
$(foreach t,$(selftests-all),$(eval $(t)-objs := $(t).o $(selftests-common))$(eval $(t)-ldlibs := -pthread)$(eval $(t)-timeout := 900))
$(foreach t,$(addprefix selftests/,$(selftests-root)),$(eval $(t)-user := root))

selftests/mutate-objs += selftests/mutate_calls.o
selftests/fail_nth-objs += $(addprefix selftests/,fail_ops.o fail_files.o)
# Nothing fails on order in a kernel that is not made for it.
selftests/fail_nth-kernels := debug
# They compare rates and times: not where every access is checked, and another machine runs beside.
selftests/fair_share-kernels := stock
selftests/crowd-kernels := stock
selftests/soak-objs += selftests/soak_client.o
selftests/fair-objs += selftests/rival.o
selftests/fair_share-objs += selftests/rival.o

# What is written down about the ioctls elsewhere has to keep up with them.
LINT_TESTS += selftests/syzkaller/check.py

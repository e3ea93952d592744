# SPDX-License-Identifier: MIT
# accelctl: program, manual page, completion, tests. What the variables mean: head of the top makefile.

accelctl := tools/accelctl
accelctl-sources := main commands opts help out device interrupt npy values check gemm gemm_opts cmd_gemm cmd_list cmd_info \
	cmd_doctor kfile fdinfo table sys_node sys_clients sys_show cmd_top top_sample top_screen cmd_bo cmd_health \
	cmd_coredump sys_dump cmd_power cmd_trace trace_json trace_line opcell cmd_ops runjob explain picture conv conv_opts cmd_conv \
	attn attn_opts cmd_attn op op_opts op_args op_build op_check cmd_op npz tuning cmd_tune cmd_tune_run \
	progress $(addprefix model/,options session arrays element input image recipe golden greedy probe calibrate imatrix cmd_run cmd_check cmd_compile \
	cmd_look cmd_quantize cmd_compare cmd_convert) $(addprefix text/,options speaker answer machine chat cmd_generate cmd_perplexity cmd_tokenize \
	cmd_embed cmd_transcribe)
accelctl-built := $(O)/$(accelctl)/accelctl.1 $(O)/$(accelctl)/accelctl.bash

PROGS += $(accelctl)/accelctl
# --check of run attention and of run op has the reference that the library's tests have, not one more: the objects know
# nothing but the public header. They come from other fragments, so the list is expanded late.
# What a share of the machine's bandwidth is a share of is measured as accelbench does it.
$(accelctl)/accelctl-objs = $(accelctl-sources:%=$(accelctl)/%.o) $(oracle-objs) tools/accelbench/limits.o tools/accelbench/team.o
$(accelctl)/accelctl-libs := libaccel/libaccel-models libaccel/libaccel
$(accelctl)/accelctl-pkgs := json-c ncursesw libpng libjpeg zlib
$(accelctl)/accelctl-ldlibs := -lm -lpthread
CFLAGS-$(accelctl)/ := -I$(accelctl) -Ilibaccel/include $(shell $(PKG_CONFIG) --cflags json-c ncursesw libpng libjpeg zlib 2>/dev/null)

# Manual page and completion are written by the program itself, from its command table.
userspace: $(accelctl-built)
$(O)/$(accelctl)/accelctl.1: $(O)/$(accelctl)/accelctl
	$(call say,GEN,$@)$< help --man >$@
$(O)/$(accelctl)/accelctl.bash: $(O)/$(accelctl)/accelctl
	$(call say,GEN,$@)$< help --completion >$@

INSTALL_FILES += $(O)/$(accelctl)/accelctl.1:share/man/man1/accelctl.1 \
	$(O)/$(accelctl)/accelctl.bash:share/bash-completion/completions/accelctl \
	packaging/60-accel-uma.rules:lib/udev/rules.d/60-accel-uma.rules

# --- tests --------------------------------------------------------------------------------------------------------

accelctl-tests := $(accelctl)/tests
# The thread sanitizer has nothing to see in any of them.
ctl-unit-tests = $(if $(filter tsan,$(VARIANT)),,$(addprefix $(accelctl-tests)/test_,$(1)))
UNIT_TESTS += $(call ctl-unit-tests,npy values check fdinfo table trace)
CFLAGS-$(accelctl-tests)/ := -I$(accelctl)
$(accelctl-tests)/test_npy-objs := $(accelctl-tests)/test_npy.o $(accelctl)/npy.o $(accelctl)/values.o
$(accelctl-tests)/test_values-objs := $(accelctl-tests)/test_values.o $(accelctl)/values.o
$(accelctl-tests)/test_check-objs := $(accelctl-tests)/test_check.o $(accelctl)/check.o $(accelctl)/values.o \
	$(accelctl)/npy.o $(accelctl)/interrupt.o
$(accelctl-tests)/test_fdinfo-objs := $(accelctl-tests)/test_fdinfo.o $(accelctl)/fdinfo.o $(accelctl)/kfile.o
$(accelctl-tests)/test_table-objs := $(accelctl-tests)/test_table.o $(accelctl)/table.o $(accelctl)/kfile.o
$(accelctl-tests)/test_trace-objs := $(accelctl-tests)/test_trace.o $(accelctl)/trace_line.o $(accelctl)/trace_json.o \
	$(accelctl)/kfile.o
$(foreach t,npy values check fdinfo table trace,$(eval $(accelctl-tests)/test_$(t)-pkgs := cmocka $(if $(filter trace,$(t)),json-c)) \
	$(eval $(accelctl-tests)/test_$(t)-ldlibs := -lm -lpthread))

# What is listed is run.
UNIT_TESTS += $(call ctl-unit-tests,ops)
$(accelctl-tests)/test_ops-objs := $(accelctl-tests)/test_ops.o $(accelctl)/opcell.o
$(accelctl-tests)/test_ops-libs := libaccel/libaccel
$(accelctl-tests)/test_ops-pkgs := cmocka
$(accelctl-tests)/test_ops-env := $(sanitized-env)

UNIT_TESTS += $(call ctl-unit-tests,attn)
$(accelctl-tests)/test_attn-objs = $(accelctl-tests)/test_attn.o $(accelctl)/attn.o $(accelctl)/npy.o \
	$(accelctl)/values.o $(accelctl)/interrupt.o $(oracle-objs)
$(accelctl-tests)/test_attn-libs := libaccel/libaccel
$(accelctl-tests)/test_attn-pkgs := cmocka
$(accelctl-tests)/test_attn-ldlibs := -lm -lpthread

# What is wrong is found.
UNIT_TESTS += $(call ctl-unit-tests,op_check)
$(accelctl-tests)/test_op_check-objs = $(accelctl-tests)/test_op_check.o $(accelctl)/op_check.o $(oracle-objs)
$(accelctl-tests)/test_op_check-libs := libaccel/libaccel
$(accelctl-tests)/test_op_check-pkgs := cmocka
$(accelctl-tests)/test_op_check-ldlibs := -lm

# Reads files with the parser, and nothing more: a harness for fuzzers, and for single files that one found.
TEST_PROGS += $(accelctl-tests)/fuzz_npy
$(accelctl-tests)/fuzz_npy-objs := $(accelctl-tests)/fuzz_npy.o $(accelctl)/npy.o $(accelctl)/values.o
$(accelctl-tests)/fuzz_npy-ldlibs := -lm

#: fuzz-npy      libFuzzer on the .npy reader for FUZZ_SECONDS (60), with clang
PHONY += fuzz-npy
FUZZERS += $(accelctl-tests)/fuzz_npy
$(accelctl-tests)/fuzz_npy-fuzz-objs := $(accelctl)/npy.o $(accelctl)/values.o
fuzz-npy: $(O)/$(accelctl-tests)/fuzz_npy.fuzzer
	$(Q)mkdir -p $(B)/fuzz/npy && $(call fuzz,$(accelctl-tests)/fuzz_npy,npy,-max_len=4096)

BATS_TESTS += $(sort $(wildcard $(accelctl-tests)/host_*.bats))
$(foreach t,zoo trained,$(eval $(accelctl-tests)/host_$(t).bats-env = $(if $(ALL),UMA_ALL=1)))
ASAN_BATS_TESTS += $(accelctl-tests)/asan_zoo.bats
ASAN_BATS_PROGS += $(accelctl)/accelctl examples/zoo/fill
accelctl-guest-tests := $(foreach t,guest guest_model guest_root guest_watch guest_watch_root guest_families,$(accelctl-tests)/$(t).bats)
GUEST_BATS_TESTS += $(accelctl-guest-tests)
$(accelctl-tests)/guest_root.bats-user := root
$(accelctl-tests)/guest_watch_root.bats-user := root
# Many programs are started, and the debug kernel under emulation takes its time for each.
$(accelctl-tests)/guest.bats-timeout := 1200
# Arithmetic of every type takes minutes on the kernel with the checkers.
$(accelctl-tests)/guest.bats-kernels := stock
# Shares of engines are those of a machine that has time: the one whose clock counts instructions.
$(accelctl-tests)/guest_watch.bats-kernels := stock
CLOCK_STEPS += $(accelctl-tests)/guest_watch.bats
$(foreach t,$(accelctl-guest-tests),$(eval $(t)-add := $(accelctl-tests)/helper.bash))
$(accelctl-tests)/guest_families.bats-add += examples/zoo/hf.tar.xz
$(accelctl-tests)/guest_root.bats-add += examples/zoo/hf.tar.xz
$(accelctl-tests)/guest_families.bats-kernels := stock
$(accelctl-tests)/guest_model.bats-add += examples/digits/digits.onnx
# Models are computed by the emulated chip on an emulated processor.
$(accelctl-tests)/guest_model.bats-kernels := stock

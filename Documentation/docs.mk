# SPDX-License-Identifier: MIT
#
# The manual: the .rst files of this directory and the kernel-doc comments of the headers, through sphinx. Every
# warning is an error.

DOCS := $(B)/docs/html/index.html
DOCS_HEADERS := uapi/drm/uma_accel.h uapi/drm/uma_task.h uapi/drm/uma_dump.h driver/uma_regs.h driver/model/uma_model.h \
	$(sort $(wildcard libaccel/include/accel/*.h))
DOCS_TESTS += Documentation/docs-test.sh

SPHINXBUILD ?= sphinx-build

$(DOCS): $(wildcard Documentation/*.rst Documentation/*.py Documentation/*.sh) $(DOCS_HEADERS)
	$(call say,SPHINX,$(B)/docs/html)SPHINXBUILD='$(SPHINXBUILD)' Documentation/build.sh $(B)/docs $(DOCS_HEADERS)

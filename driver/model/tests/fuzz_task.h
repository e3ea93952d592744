/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _MODEL_FUZZ_TASK_H_
#define _MODEL_FUZZ_TASK_H_

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Where in memory a list goes on, and how far. */
#define FUZZ_LIST	0
#define FUZZ_MORE	3

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif /* _MODEL_FUZZ_TASK_H_ */

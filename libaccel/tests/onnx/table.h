/* SPDX-License-Identifier: MIT */
/*
 * Vectors by operator.
 */
#ifndef LIBACCEL_TESTS_ONNX_TABLE_H
#define LIBACCEL_TESTS_ONNX_TABLE_H

#include "run.h"

/**
 * enum verdict - what became of a vector
 * @PASSED: its results are right
 * @FAILED: they are not, or a call failed that should not
 * @UNSUPPORTED: it asks for something that there is not
 */
enum verdict {
	PASSED,
	FAILED,
	UNSUPPORTED
};

void table_add(const Onnx__GraphProto *g, enum verdict verdict, const char *culprit,
	       const char *why);
void table_print(void);
uint32_t table_supported(void);
uint32_t table_passed(void);
void table_free(void);

#endif /* LIBACCEL_TESTS_ONNX_TABLE_H */

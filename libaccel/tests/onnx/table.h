/* SPDX-License-Identifier: MIT */
/*
 * Operators of the vectors that passed, and the manual's table of them.
 */
#ifndef LIBACCEL_TESTS_ONNX_TABLE_H
#define LIBACCEL_TESTS_ONNX_TABLE_H

#include <stdbool.h>
#include <accel/model.h>

/* Sets of vectors: those of the installed package, and newer ones */
enum set { SET_INSTALLED, SET_NEWER, SET_COUNT };

void table_count(struct accel_model *model, enum set set, bool ok);
void table_print(void);
bool table_write(const char *path);
bool table_check(const char *path, bool newer, bool later);
void table_free(void);

#endif /* LIBACCEL_TESTS_ONNX_TABLE_H */

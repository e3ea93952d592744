/* SPDX-License-Identifier: MIT */
/*
 * Error records and log lines.
 */
#ifndef ACCEL_ERROR_H
#define ACCEL_ERROR_H

#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

/**
 * struct accel_error - what went wrong
 */
struct accel_error {
	/** @size: sizeof(struct accel_error) */
	uint32_t size;
	/** @code: negative errno, 0 if nothing has failed yet */
	int32_t code;
	/** @engine: &enum accel_engine concerned, 0 if none */
	uint32_t engine;
	/** @op_index: operation of the job, UINT32_MAX if none */
	uint32_t op_index;
	/** @addr: device address of a fault, 0 if none */
	uint64_t addr;
	/** @field: field at fault: "gemm.b.dims[0]", empty if none */
	char field[64];
	/** @text: description, one sentence */
	char text[256];
};

/** ACCEL_ERROR_INIT: an error record to be filled */
#define ACCEL_ERROR_INIT	{ sizeof(struct accel_error), 0, 0, 0, 0, { 0 }, { 0 } }

/**
 * enum accel_log_level - severity of a log line
 * @ACCEL_LOG_ERROR: a call failed
 * @ACCEL_LOG_WARN: it works, but not as well as it could
 * @ACCEL_LOG_INFO: choices made: device, engine, algorithm
 * @ACCEL_LOG_DEBUG: every call to a backend
 */
enum accel_log_level {
	ACCEL_LOG_ERROR = 0,
	ACCEL_LOG_WARN = 1,
	ACCEL_LOG_INFO = 2,
	ACCEL_LOG_DEBUG = 3
};

/**
 * typedef accel_log_fn - receives log lines
 * @user: pointer given with it
 * @level: &enum accel_log_level
 * @text: one line, no newline, valid during the call
 *
 * May be called from any thread, and from several at once; must not call libaccel.
 */
typedef void accel_log_fn(void *user, int level, const char *text);

#if defined(__cplusplus)
}
#endif

#endif /* ACCEL_ERROR_H */

/* SPDX-License-Identifier: MIT */
/*
 * Options of the commands that look at the driver, or turn its knobs.
 */
#ifndef ACCELCTL_WATCHERS_H
#define ACCELCTL_WATCHERS_H

#include "sys.h"

/**
 * struct health_opts - options of health
 */
struct health_opts {
	/** @sys: where to look */
	struct sys_opts sys;
	/** @strict: what has happened counts too */
	uint32_t strict;
};

/**
 * enum power_mode - modes of power set
 */
enum power_mode {
	POWER_HIGH_PERFORMANCE,
	POWER_BALANCED,
	POWER_LOW_POWER,
	POWER_MODE_COUNT
};

/**
 * struct power_opts - options of power set
 */
struct power_opts {
	/** @sys: where to look */
	struct sys_opts sys;
	/** @mode: &enum power_mode, POWER_MODE_COUNT: as it is */
	uint32_t mode;
	/** @min_mhz: lowest clock, UINT64_MAX: as it is */
	uint64_t min_mhz;
	/** @max_mhz: highest clock, UINT64_MAX: as it is */
	uint64_t max_mhz;
	/** @governor: of the clock, NULL: as it is */
	const char *governor;
	/** @autosuspend_ms: time without a job before power goes off, UINT64_MAX: as it is */
	uint64_t autosuspend_ms;
};

/**
 * struct trace_opts - options of trace
 */
struct trace_opts {
	/** @sys: where to look */
	struct sys_opts sys;
	/** @out: file to write */
	const char *out;
	/** @seconds: how long, 0: until the command ends or SIGINT */
	double seconds;
	/** @buffer_kib: kernel's buffer for each processor */
	uint64_t buffer_kib;
};

/**
 * struct coredump_opts - options of coredump
 */
struct coredump_opts {
	/** @sys: where to look */
	struct sys_opts sys;
	/** @last: the newest that the kernel holds */
	uint32_t last;
};

/** power_mode_names - their names */
extern const char *const power_mode_names[];

/* Set the defaults of these */
void sys_opts_init(void *data);
void top_opts_init(void *data);
void power_opts_init(void *data);
void trace_opts_init(void *data);

#endif /* ACCELCTL_WATCHERS_H */

/* SPDX-License-Identifier: MIT */
/*
 * Options that run has for each operation: rows of their tables. AT(member) is
 * where the command's struct has them.
 */
#ifndef ACCELCTL_RUN_OPTS_H
#define ACCELCTL_RUN_OPTS_H

#include "accelctl.h"

#define OPT_ENGINE(AT) \
	{ "engine", 'e', CTL_CHOICE, 0, AT(engine), .choices = ctl_engine_names, \
	  .help = "engine that has to do it; auto is the fastest that can" }

#define OPT_CHECK(AT) \
	{ "check", 'c', CTL_FLAG, 0, AT(check), \
	  .help = "compare with a float64 reference computed here" }

#define OPTS_MEASURE(AT) \
	{ "seed", 's', CTL_UINT, 0, AT(seed), 0, UINT64_MAX, .arg = "NUMBER", \
	  .help = "start of the random data; the same seed gives the same data everywhere (1)" }, \
	{ "repeat", 'r', CTL_UINT, 0, AT(repeat), 1, 1000000, .arg = "COUNT", \
	  .help = "measured runs after one to warm up; the default is as many as fit into 0.1 s, " \
		  "from 3 to 100" }, \
	{ "threads", 0, CTL_UINT, 0, AT(threads), 1, 4096, .arg = "COUNT", \
	  .help = "in-process device: number of threads; the default is one per core" }, \
	{ "timeout", 0, CTL_UINT, 0, AT(timeout_ms), 1, UINT32_MAX, .arg = "MS", \
	  .help = "longest run of the job in milliseconds; the default is the device's" }

#endif /* ACCELCTL_RUN_OPTS_H */

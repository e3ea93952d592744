/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Emulated devices of a test's own, through configfs.
 */
#ifndef _INSTANCE_H_
#define _INSTANCE_H_

#include "client.h"

struct instance {
	/** @dir: its directory in configfs */
	char dir[128];
	/** @device: name of the platform device, "" while not enabled */
	char device[64];
	/** @node: name of the device node */
	char node[32];
};

/**
 * instance_make - a directory with the defaults; skips the test where there is no configfs or no
 * right to it
 */
void instance_make(struct instance *in, const char *name);
/** instance_set_try - write an attribute; 0 or a negative errno */
int instance_set_try(struct instance *in, const char *attribute, const char *value);
void instance_set(struct instance *in, const char *attribute, const char *value);
void instance_get(struct instance *in, const char *attribute, char *buf, size_t size);
/** instance_enable - make the device, wait for its node */
void instance_enable(struct instance *in);
/** instance_start - make one of a profile; paranoid, but for UMA_TEST_PLAIN in the environment */
void instance_start(struct instance *in, const char *name, const char *profile);
/** instance_timeout - set the timeout of jobs whose queue has none of its own */
bool instance_timeout(struct instance *in, unsigned int ms);
/**
 * instance_drop - take the device away and the directory with it; for one that is gone already
 * nothing
 */
void instance_drop(struct instance *in);
/** node_of - name of the node of a platform device; false if it has none */
bool node_of(const char *device, char *node, size_t size);

#endif /* _INSTANCE_H_ */

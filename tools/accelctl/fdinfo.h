/* SPDX-License-Identifier: MIT */
/*
 * Contents of /proc/PID/fdinfo/FD of an open device: keys and units as in the kernel's
 * drm-usage-stats documentation.
 */
#ifndef ACCELCTL_FDINFO_H
#define ACCELCTL_FDINFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** FDINFO_CLASSES: most classes of engines */
#define FDINFO_CLASSES	8

/**
 * struct fdinfo_engine - a class of engines
 */
struct fdinfo_engine {
	/** @name: "matrix" */
	char name[24];
	/** @has_ns: @ns is known */
	bool has_ns;
	/** @ns: time that the client spent on them */
	uint64_t ns;
	/** @capacity: engines of that class, 1 if not given */
	uint32_t capacity;
	/** @cycles: cycles that the client spent on them, 0 if not given */
	uint64_t cycles;
	/** @total_cycles: cycles that passed, 0 if not given */
	uint64_t total_cycles;
	/** @maxfreq_hz: highest clock, 0 if not given */
	uint64_t maxfreq_hz;
};

/**
 * struct fdinfo - a client
 */
struct fdinfo {
	/** @driver: name of the driver */
	char driver[32];
	/** @has_client: @client_id is known */
	bool has_client;
	/** @client_id: number of the client, the same for all that share it */
	uint64_t client_id;
	/** @name: the client's name, or empty */
	char name[64];
	/** @engines: classes of engines */
	struct fdinfo_engine engines[FDINFO_CLASSES];
	/** @engine_count: classes of engines */
	unsigned int engine_count;
	/** @has_memory: at least one of the five below was given */
	bool has_memory;
	/** @total: bytes of all buffers; each summed over all regions */
	uint64_t total;
	/** @shared: bytes that others see too */
	uint64_t shared;
	/** @resident: bytes that are in memory */
	uint64_t resident;
	/** @purgeable: bytes that may be dropped */
	uint64_t purgeable;
	/** @active: bytes that jobs use now */
	uint64_t active;
};

/**
 * fdinfo_parse - parse a client's text
 * @text: the file
 * @info: out; undefined on failure
 * @why: out: error message, one line
 * @size: bytes of @why
 *
 * Return: 0; -ENOENT: not a DRM device; -EBADMSG: a key has an invalid value.
 */
int fdinfo_parse(const char *text, struct fdinfo *info, char *why, size_t size);

/**
 * fdinfo_engine - find a class of engines
 * @info: client
 * @name: class
 *
 * Return: the class, NULL if the client does not have it.
 */
const struct fdinfo_engine *fdinfo_engine(const struct fdinfo *info, const char *name);

#endif /* ACCELCTL_FDINFO_H */

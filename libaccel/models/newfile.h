/* SPDX-License-Identifier: MIT */
/*
 * Files that are written: all of one or nothing. What was there stays until the whole file is.
 */
#ifndef LIBACCEL_MODELS_NEWFILE_H
#define LIBACCEL_MODELS_NEWFILE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/**
 * struct newfile - a file that is written
 * @path: where it will be
 * @part: where it is
 * @file: open file
 * @bytes: that were written
 * @error: the first that there was; what comes then is not written
 */
struct newfile {
	char *path;
	char *part;
	FILE *file;
	uint64_t bytes;
	int error;
};

/** newfile_name - a name beside @path that nobody has yet, to be given to free() */
char *newfile_name(const char *path);

/** newfile_open - begin; 0, -EEXIST: the name is one of what is no file, or errors of open() */
int newfile_open(struct newfile *n, const char *path);
void newfile_write(struct newfile *n, const void *p, size_t bytes);
/* Zeros up to a multiple of @align */
void newfile_align(struct newfile *n, uint64_t align);

/** newfile_sync - what was written is on the disk; 0, or the error that there was */
int newfile_sync(struct newfile *n);

/**
 * newfile_close - end
 * @n: file; nothing to be done for one that was not opened
 * @ret: 0: it is whole; else it goes
 *
 * Return: @ret, or the error that there was; with one nothing is left.
 */
int newfile_close(struct newfile *n, int ret);

#endif /* LIBACCEL_MODELS_NEWFILE_H */

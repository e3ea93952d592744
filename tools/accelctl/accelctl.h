/* SPDX-License-Identifier: MIT */
/*
 * What the commands of accelctl share: the command table, options, output,
 * errors and exit statuses.
 */
#ifndef ACCELCTL_H
#define ACCELCTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <accel/accel.h>

struct json_object;

/**
 * enum ctl_status - exit statuses
 * @CTL_OK: all well
 * @CTL_FAILED: the operation failed
 * @CTL_USAGE: bad option, value or combination
 * @CTL_UNSUPPORTED: valid, but this device or engine cannot do it
 * @CTL_PERMISSION: not allowed
 * @CTL_NO_DEVICE: no such device
 * @CTL_LOST: the device went away or hangs
 * @CTL_TIMEOUT: a job ran into its timeout
 * @CTL_MISMATCH: wrong result, or versions that do not fit
 * @CTL_NO_DRIVER: the driver is not loaded
 * @CTL_INTERRUPTED: stopped by SIGINT
 */
enum ctl_status {
	CTL_OK = 0,
	CTL_FAILED = 1,
	CTL_USAGE = 2,
	CTL_UNSUPPORTED = 3,
	CTL_PERMISSION = 4,
	CTL_NO_DEVICE = 5,
	CTL_LOST = 6,
	CTL_TIMEOUT = 7,
	CTL_MISMATCH = 8,
	CTL_NO_DRIVER = 9,
	CTL_INTERRUPTED = 130
};

/**
 * enum ctl_kind - what an option takes, and the type of its variable
 * @CTL_FLAG: nothing; uint32_t, counts
 * @CTL_UINT: a whole number from min to max; uint64_t
 * @CTL_REAL: a finite number; double
 * @CTL_STRING: text; const char *
 * @CTL_CHOICE: one of the choices; uint32_t, its index
 * @CTL_INTS: whole numbers from min to max, which are signed, with commas between
 *	them; struct ctl_ints
 * @CTL_STRINGS: text, once for each time that the option is given; struct ctl_strings
 */
enum ctl_kind {
	CTL_FLAG,
	CTL_UINT,
	CTL_REAL,
	CTL_STRING,
	CTL_CHOICE,
	CTL_INTS,
	CTL_STRINGS
};

/** CTL_LIST_MAX: most entries of a list */
#define CTL_LIST_MAX	16

/**
 * struct ctl_ints - value of CTL_INTS
 */
struct ctl_ints {
	/** @count: entries */
	uint32_t count;
	/** @v: numbers */
	int64_t v[CTL_LIST_MAX];
};

/**
 * struct ctl_strings - value of CTL_STRINGS
 */
struct ctl_strings {
	/** @count: entries */
	uint32_t count;
	/** @v: text */
	const char *v[CTL_LIST_MAX];
};

/**
 * enum ctl_complete - what the shell offers for an option's or command's value
 * @CTL_COMPLETE_NONE: nothing
 * @CTL_COMPLETE_FILE: file names
 * @CTL_COMPLETE_DIR: directories
 * @CTL_COMPLETE_DEVICE: devices
 * @CTL_COMPLETE_COMMAND: commands
 * @CTL_COMPLETE_OP: operations
 */
enum ctl_complete {
	CTL_COMPLETE_NONE,
	CTL_COMPLETE_FILE,
	CTL_COMPLETE_DIR,
	CTL_COMPLETE_DEVICE,
	CTL_COMPLETE_COMMAND,
	CTL_COMPLETE_OP
};

/**
 * struct ctl_opt - an option; tables end with a NULL name
 */
struct ctl_opt {
	/** @name: long name */
	const char *name;
	/** @letter: short name, 0 for none */
	int letter;
	/** @kind: &enum ctl_kind */
	enum ctl_kind kind;
	/** @complete: what the shell offers */
	enum ctl_complete complete;
	/** @offset: of its variable in the struct that the table is for */
	size_t offset;
	/** @min: smallest number */
	uint64_t min;
	/** @max: largest number */
	uint64_t max;
	/** @choices: NULL-terminated */
	const char *const *choices;
	/** @arg: name of its value in help, NULL for flags and choices */
	const char *arg;
	/** @help: one sentence, without a full stop */
	const char *help;
};

struct ctl;

/**
 * struct ctl_command - a command; the table ends with a NULL name
 */
struct ctl_command {
	/** @name: first word */
	const char *name;
	/** @sub: second word, or NULL */
	const char *sub;
	/** @operand: optional operand as shown in help, or NULL */
	const char *operand;
	/** @complete: what the shell offers for the operand */
	enum ctl_complete complete;
	/** @summary: one line */
	const char *summary;
	/** @text: paragraphs, separated by an empty line */
	const char *text;
	/** @rest: any number of operands, for the command to run with ctl->rest */
	bool rest;
	/** @opts: option tables, NULL-terminated */
	const struct ctl_opt *const *opts;
	/** @data_size: bytes of the struct that the options fill */
	size_t data_size;
	/** @init: sets defaults that are not zero, or NULL */
	void (*init)(void *data);
	/**
	 * @run: does it; @operand is NULL if none was given. Returns an exit
	 * status
	 */
	int (*run)(struct ctl *ctl, void *data, const char *operand);
};

/**
 * struct ctl - one invocation
 */
struct ctl {
	/** @device: -d, or NULL */
	const char *device;
	/** @record: --record, or NULL */
	const char *record;
	/** @verbose: number of -v */
	uint32_t verbose;
	/** @quiet: number of -q */
	uint32_t quiet;
	/** @json: --json */
	uint32_t json;
	/** @help: --help */
	uint32_t help;
	/** @version: --version */
	uint32_t version;
	/** @colour: highlight text on stdout */
	bool colour;
	/** @lines: documents are lines, as many as there are; errors among them */
	bool lines;
	/** @json_done: a document was printed */
	bool json_done;
	/** @cmd: command, NULL before it is known */
	const struct ctl_command *cmd;
	/** @rest: operands of a command that takes any number, NULL-terminated */
	char **rest;
};

/* commands.c */

/** ctl_commands - the command table: help, manual and completion come from it */
extern const struct ctl_command ctl_commands[];
/** ctl_global_opts - options of every command */
extern const struct ctl_opt ctl_global_opts[];

/**
 * struct ctl_topic - a pair of a term and its explanation, for help and manual
 */
struct ctl_topic {
	/** @term: what is explained; NULL ends a table */
	const char *term;
	/** @text: explanation */
	const char *text;
};

/** ctl_statuses - exit statuses in words */
extern const struct ctl_topic ctl_statuses[];
/** ctl_devices - ways to name a device */
extern const struct ctl_topic ctl_devices[];
/** ctl_environment - environment variables */
extern const struct ctl_topic ctl_environment[];
/** ctl_examples - command lines */
extern const struct ctl_topic ctl_examples[];
/** ctl_device_names - devices that the shell always offers */
extern const char *const ctl_device_names[];
/** ctl_engine_names - names of enum accel_engine, NULL-terminated */
extern const char *const ctl_engine_names[];
/** ctl_act_names - names of enum accel_act */
extern const char *const ctl_act_names[];

/**
 * ctl_find - look a command up
 * @name: first word
 * @sub: second word, or NULL
 *
 * Return: the command, NULL if there is none.
 */
const struct ctl_command *ctl_find(const char *name, const char *sub);

/* help.c */

/** ctl_help_short - the commands, for those who typed none */
void ctl_help_short(FILE *f);
/** ctl_help_command - usage, text and options of a command */
void ctl_help_command(FILE *f, const struct ctl_command *cmd);
/** ctl_help_man - the manual page */
void ctl_help_man(FILE *f);
/** ctl_help_bash - completion for bash */
void ctl_help_bash(FILE *f);

/* opts.c */

/**
 * ctl_parse - read options
 * @ctl: filled from the global options, and asked for --json in errors
 * @cmd: command, or NULL: only global options, up to the first operand
 * @argc: number of words
 * @argv: words, the first is skipped; may be permuted
 * @data: filled from the options of @cmd
 * @first: out: index of the first operand
 *
 * Return: CTL_OK, or CTL_USAGE with the error reported.
 */
int ctl_parse(struct ctl *ctl, const struct ctl_command *cmd, int argc,
	      char **argv, void *data, int *first);

/* out.c */

/**
 * ctl_fail - report an error: a line on stderr, with --json a document too
 * @ctl: invocation
 * @status: exit status
 * @err: negative errno, or 0
 * @field: what is at fault: a field, an option, a file; or NULL
 * @fmt: one sentence
 *
 * Return: @status.
 */
int ctl_fail(struct ctl *ctl, int status, int err, const char *field,
	     const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/**
 * ctl_fail_error - report an error record of the library
 * @ctl: invocation
 * @status: exit status
 * @what: what was attempted: "cannot open accel0"
 * @error: record
 *
 * Return: @status.
 */
int ctl_fail_error(struct ctl *ctl, int status, const char *what,
		   const struct accel_error *error);

/**
 * ctl_fail_ctx - report an error of a call with a context, with what the library says of it
 * @ctl: invocation
 * @status: exit status
 * @what: as of ctl_fail_error()
 * @ctx: context
 * @err: what the call returned
 *
 * Return: @status.
 */
int ctl_fail_ctx(struct ctl *ctl, int status, const char *what, struct accel_ctx *ctx, int err);

/**
 * ctl_note - a line on stderr, unless -q
 * @ctl: invocation
 * @fmt: line
 */
void ctl_note(struct ctl *ctl, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/**
 * ctl_status - exit status for an errno
 * @err: negative errno
 *
 * For errors of everything but opening a device.
 *
 * Return: &enum ctl_status.
 */
int ctl_status(int err);

/**
 * ctl_schema - a JSON document with its schema
 * @ctl: invocation
 *
 * Return: the object; ends the program when there is no memory.
 */
struct json_object *ctl_schema(struct ctl *ctl);

/**
 * ctl_error_json - an error as JSON
 * @status: exit status
 * @err: negative errno, or 0
 * @field: what is at fault, or NULL
 * @text: sentence
 * @engine: &enum accel_engine, 0 for none
 *
 * Return: the object.
 */
struct json_object *ctl_error_json(int status, int err, const char *field,
				   const char *text, uint32_t engine);

/**
 * ctl_json_print - print a document on stdout and give it up
 * @ctl: invocation
 * @doc: document
 */
void ctl_json_print(struct ctl *ctl, struct json_object *doc);

/**
 * ctl_json_line - print a document on one line of stdout and give it up
 * @ctl: invocation
 * @doc: document
 */
void ctl_json_line(struct ctl *ctl, struct json_object *doc);

/* What a JSON object gets: text (NULL: null), whole and other numbers (not finite: null), truth */
void ctl_json_str(struct json_object *obj, const char *key, const char *value);
void ctl_json_int(struct json_object *obj, const char *key, int64_t value);
void ctl_json_uint(struct json_object *obj, const char *key, uint64_t value);
void ctl_json_real(struct json_object *obj, const char *key, double value);
void ctl_json_bool(struct json_object *obj, const char *key, bool value);
/* A member or, with a NULL key, an element that is an object or an array */
struct json_object *ctl_json_obj(struct json_object *parent, const char *key);
struct json_object *ctl_json_arr(struct json_object *parent, const char *key);

/** enum ctl_tone - meaning of highlighted text */
enum ctl_tone {
	CTL_PLAIN,
	CTL_HEAD,
	CTL_GOOD,
	CTL_WARN,
	CTL_BAD
};

/**
 * ctl_tone - escape sequence that starts a tone, CTL_PLAIN ends it
 * @ctl: invocation
 * @tone: which
 *
 * Return: static string, empty without colour.
 */
const char *ctl_tone(const struct ctl *ctl, enum ctl_tone tone);

/** CTL_GRID_COLS: most columns of a table */
#define CTL_GRID_COLS	24

/**
 * struct ctl_grid - text in columns; zeroed is empty
 */
struct ctl_grid {
	/** @cols: columns, set by the first row */
	unsigned int cols;
	/** @rows: rows */
	unsigned int rows;
	/** @cells: rows * cols strings */
	char **cells;
	/** @right: mask of columns that are aligned to the right */
	uint32_t right;
};

/**
 * ctl_grid_row - add a row; the first is the head
 * @table: table
 * @fmt: formats of the cells, separated by tabs; no other tab may come out of them
 */
void ctl_grid_row(struct ctl_grid *table, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/**
 * ctl_grid_print - print on stdout and empty it
 * @ctl: invocation
 * @table: table
 * @indent: blanks before each line
 */
void ctl_grid_print(const struct ctl *ctl, struct ctl_grid *table, int indent);

/**
 * ctl_grid_clear - empty without printing
 * @table: table
 */
void ctl_grid_clear(struct ctl_grid *table);

/** ctl_bytes - "1.5 GiB" into a buffer of 16 bytes; returns it */
const char *ctl_bytes(char buf[16], uint64_t bytes);
/** ctl_time - "1.5 ms" into a buffer of 16 bytes; returns it */
const char *ctl_time(char buf[16], double seconds);

/** ctl_alloc - zeroed memory, ends the program when there is none */
void *ctl_alloc(size_t count, size_t size);

/* device.c */

/**
 * ctl_open - open a device by name and report why not
 * @ctl: invocation
 * @name: name, or NULL for the default
 * @threads: threads of the in-process device, 0: as many as there are cores
 * @dev: out
 *
 * Return: an exit status.
 */
int ctl_open(struct ctl *ctl, const char *name, uint32_t threads,
	     struct accel_device **dev);

/**
 * ctl_open_status - exit status for an errno of opening
 * @name: device, or NULL
 * @err: negative errno
 *
 * Return: &enum ctl_status.
 */
int ctl_open_status(const char *name, int err);

/**
 * ctl_driver_loaded - is the kernel driver there?
 * @root: prefix of /sys, "" for this system
 *
 * Return: true if it is.
 */
bool ctl_driver_loaded(const char *root);

/* The commands */
struct gemm_opts;
int cmd_list(struct ctl *ctl, void *data, const char *operand);
int cmd_info(struct ctl *ctl, void *data, const char *operand);
int cmd_ops(struct ctl *ctl, void *data, const char *operand);
int cmd_doctor(struct ctl *ctl, void *data, const char *operand);
int cmd_run_gemm(struct ctl *ctl, void *data, const char *operand);
int cmd_explain_gemm(struct ctl *ctl, void *data, const char *operand);
int cmd_top(struct ctl *ctl, void *data, const char *operand);
int cmd_ps(struct ctl *ctl, void *data, const char *operand);
int cmd_bo(struct ctl *ctl, void *data, const char *operand);
int cmd_jobs(struct ctl *ctl, void *data, const char *operand);
int cmd_health(struct ctl *ctl, void *data, const char *operand);
int cmd_coredump(struct ctl *ctl, void *data, const char *operand);
int cmd_power_get(struct ctl *ctl, void *data, const char *operand);
int cmd_power_set(struct ctl *ctl, void *data, const char *operand);
int cmd_reset(struct ctl *ctl, void *data, const char *operand);
int cmd_trace(struct ctl *ctl, void *data, const char *operand);
int cmd_help(struct ctl *ctl, void *data, const char *operand);
int cmd_version(struct ctl *ctl, void *data, const char *operand);

/**
 * struct help_opts - options of help
 */
struct help_opts {
	/** @man: write the manual page */
	uint32_t man;
	/** @completion: write the completion for bash */
	uint32_t completion;
};

/**
 * struct doctor_opts - options of doctor
 */
struct doctor_opts {
	/** @root: directory to find /sys, /proc, /etc, /dev, /lib in */
	const char *root;
};

#endif /* ACCELCTL_H */

/* SPDX-License-Identifier: MIT */
/*
 * libaccel - accelerators that share memory with the CPU, from C.
 *
 * This is the header to include. It includes the others of libaccel, in the order of a
 * manual; each of them can also be included alone. libaccel-models has headers of its own.
 */
#ifndef ACCEL_ACCEL_H
#define ACCEL_ACCEL_H

/**
 * DOC: Objects and conventions
 *
 * How one object leads to the next::
 *
 *	device -> context (address space, errors) -> buffer
 *	descriptor -> plan (immutable) -> job (buffers bound) -> queue -> fence
 *	graph -> program (immutable) -> state (memory of a run) -> run
 *
 * Rules for all functions and structs:
 *
 * - Functions return 0 or a negative errno unless stated otherwise. The reason, with the name
 *   of the field, is in the error record that each thread has of a context:
 *   accel_ctx_get_error(). A call that fails changes nothing.
 * - NULL for an object or a result that is required is -EINVAL; functions that return no
 *   error return NULL or 0 then.
 * - Objects are opaque. An object from _create, _open, _import or _ref is released with the
 *   matching _destroy or _unref, which accept NULL. An object keeps alive what it depends on:
 *   contexts may be destroyed before their buffers.
 * - Structs that the caller fills start with their size (use the _INIT macros);
 *   zero is the default of every field. A struct longer than the library knows
 *   is accepted if the unknown tail is zero, else -E2BIG.
 * - Structs that the library fills have their size set by the caller too; the
 *   library writes no more than that.
 * - The library has no global state except the error records of threads. It prints nothing
 *   and does not change the handling of signals.
 * - Threads: functions may be called from any thread. Devices, contexts,
 *   buffers, plans, queues and fences may be shared between threads; a job may
 *   be built by one thread at a time, and submitted from any.
 */

#include <stddef.h>
#include <stdint.h>

/* Types and errors */
#include <accel/types.h>
#include <accel/error.h>

/* Devices and memory */
#include <accel/device.h>
#include <accel/context.h>
#include <accel/buffer.h>

/* Operations */
#include <accel/tensor.h>
#include <accel/desc.h>
#include <accel/ops_product.h>
#include <accel/ops_attention.h>
#include <accel/ops_lines.h>
#include <accel/ops_elementwise.h>
#include <accel/ops_move.h>
#include <accel/ops_image.h>

/* Plans and their execution */
#include <accel/weights.h>
#include <accel/plan.h>
#include <accel/job.h>
#include <accel/queue.h>
#include <accel/tune.h>

/* Graphs */
#include <accel/graph.h>
#include <accel/operator.h>

/* Quantisation, key-value caches */
#include <accel/quant.h>
#include <accel/kv.h>

/* Core dumps of devices */
#include <accel/coredump.h>

#endif /* ACCEL_ACCEL_H */

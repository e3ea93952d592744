/* SPDX-License-Identifier: MIT */
/*
 * libaccel - accelerators that share memory with the CPU, from C.
 *
 * This is the header to include. It brings in those beside it, in the order in
 * which they read as the library's manual; each of them includes what it needs.
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
 * What holds for every function and struct:
 *
 * - Functions return 0 or a negative errno unless said otherwise. What was
 *   wrong, with the name of the field, is in the error record that each thread
 *   has of a context: accel_ctx_get_error(). A failed call changes nothing.
 * - NULL where there has to be an object, or room for a result, is -EINVAL; what
 *   returns no error gives NULL or 0 then.
 * - Objects are opaque. What _create, _open, _import or _ref gives is returned
 *   with the matching _destroy or _unref; both take NULL. An object keeps alive
 *   what it needs: contexts may be destroyed before their buffers.
 * - Structs that the caller fills start with their size (use the _INIT macros);
 *   zero is the default of every field. A struct longer than the library knows
 *   is accepted if the unknown tail is zero, else -E2BIG.
 * - Structs that the library fills have their size set by the caller too; the
 *   library writes no more than that.
 * - There is no global state but each thread's error records; nothing is printed,
 *   and no signal is touched.
 * - Threads: functions may be called from any thread. Devices, contexts,
 *   buffers, plans, queues and fences may be shared between threads; a job may
 *   be built by one thread at a time, and submitted from any.
 */

#include <stddef.h>
#include <stdint.h>

/* What all that follows is about. */
#include <accel/types.h>
#include <accel/error.h>

/* Where it runs. */
#include <accel/device.h>
#include <accel/context.h>
#include <accel/buffer.h>

/* What is to be computed. */
#include <accel/tensor.h>
#include <accel/desc.h>
#include <accel/ops_product.h>
#include <accel/ops_attention.h>
#include <accel/ops_lines.h>
#include <accel/ops_elementwise.h>
#include <accel/ops_move.h>
#include <accel/ops_image.h>

/* How it comes to run. */
#include <accel/weights.h>
#include <accel/plan.h>
#include <accel/job.h>
#include <accel/queue.h>
#include <accel/tune.h>

/* Many operations as one. */
#include <accel/graph.h>
#include <accel/operator.h>

/* What networks need besides. */
#include <accel/quant.h>
#include <accel/kv.h>

/* What went wrong. */
#include <accel/coredump.h>

#endif /* ACCEL_ACCEL_H */

/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The binary interface, as numbers, in one file: what this file says can never change, only
 * grow. Compiled, not run: by gcc for 64 and 32 bits, as C++, and by clang.
 */
#include <stddef.h>

#include "uma_accel.h"
#include "uma_dump.h"
#include "uma_task.h"

#ifdef __cplusplus
#define CHECK(x)	static_assert(x, #x)
#else
#define CHECK(x)	_Static_assert(x, #x)
#endif

/* All structs can be put next to each other on every machine. */
#define SIZE(type, size)							\
	CHECK(sizeof(struct type) == (size) && (size) % 8 == 0)
/* A field, where it begins and how long it is. */
#define FIELD(type, field, offset, size)					\
	CHECK(offsetof(struct type, field) == (offset) &&			\
	      sizeof(((struct type *)0)->field) == (size))
/* A number that goes into binaries. */
#define VALUE(name, value)	CHECK((__u32)(name) == (value))

SIZE(uma_operand, 128);
FIELD(uma_operand, addr, 0, 8);
FIELD(uma_operand, dtype, 8, 2);
FIELD(uma_operand, rank, 10, 2);
FIELD(uma_operand, layout, 12, 2);
FIELD(uma_operand, pad0, 14, 2);
FIELD(uma_operand, dims, 16, 20);
FIELD(uma_operand, pad1, 36, 4);
FIELD(uma_operand, strides, 40, 40);
FIELD(uma_operand, quant, 80, 2);
FIELD(uma_operand, quant_axis, 82, 2);
FIELD(uma_operand, quant_group, 84, 4);
FIELD(uma_operand, scale_addr, 88, 8);
FIELD(uma_operand, zero_addr, 96, 8);
FIELD(uma_operand, scale, 104, 4);
FIELD(uma_operand, zero, 108, 4);
FIELD(uma_operand, scale_dtype, 112, 2);
FIELD(uma_operand, quant_flags, 114, 2);
FIELD(uma_operand, pad2, 116, 4);
FIELD(uma_operand, pad3, 120, 8);

SIZE(uma_epilogue, 64);
FIELD(uma_epilogue, flags, 0, 4);
FIELD(uma_epilogue, act, 4, 4);
FIELD(uma_epilogue, p0, 8, 4);
FIELD(uma_epilogue, p1, 12, 4);
FIELD(uma_epilogue, pad, 16, 48);

SIZE(uma_gemm_params, 128);
FIELD(uma_gemm_params, alpha, 0, 4);
FIELD(uma_gemm_params, beta, 4, 4);
FIELD(uma_gemm_params, a_group, 8, 4);
FIELD(uma_gemm_params, flags, 12, 4);
FIELD(uma_gemm_params, pad, 16, 112);

SIZE(uma_fill_params, 128);
FIELD(uma_fill_params, value, 0, 4);
FIELD(uma_fill_params, pad0, 4, 4);
FIELD(uma_fill_params, pad, 8, 120);

SIZE(uma_elementwise_params, 128);
FIELD(uma_elementwise_params, func, 0, 4);
FIELD(uma_elementwise_params, pad0, 4, 4);
FIELD(uma_elementwise_params, pad, 8, 120);

SIZE(uma_gather_params, 128);
FIELD(uma_gather_params, func, 0, 4);
FIELD(uma_gather_params, axis, 4, 4);
FIELD(uma_gather_params, batch, 8, 4);
FIELD(uma_gather_params, pad0, 12, 4);
FIELD(uma_gather_params, pad, 16, 112);

SIZE(uma_scatter_params, 128);
FIELD(uma_scatter_params, func, 0, 4);
FIELD(uma_scatter_params, axis, 4, 4);
FIELD(uma_scatter_params, reduce, 8, 4);
FIELD(uma_scatter_params, pad0, 12, 4);
FIELD(uma_scatter_params, pad, 16, 112);

SIZE(uma_kv_write_params, 128);
FIELD(uma_kv_write_params, flags, 0, 4);
FIELD(uma_kv_write_params, pad0, 4, 4);
FIELD(uma_kv_write_params, pad, 8, 120);

SIZE(uma_norm_params, 128);
FIELD(uma_norm_params, func, 0, 4);
FIELD(uma_norm_params, axes, 4, 4);
FIELD(uma_norm_params, eps, 8, 4);
FIELD(uma_norm_params, flags, 12, 4);
FIELD(uma_norm_params, pad, 16, 112);

SIZE(uma_pool_params, 128);
FIELD(uma_pool_params, func, 0, 4);
FIELD(uma_pool_params, flags, 4, 4);
FIELD(uma_pool_params, norm, 8, 4);
FIELD(uma_pool_params, spatial, 12, 4);
FIELD(uma_pool_params, kernel, 16, 12);
FIELD(uma_pool_params, stride, 28, 12);
FIELD(uma_pool_params, dilation, 40, 12);
FIELD(uma_pool_params, pad_begin, 52, 12);
FIELD(uma_pool_params, pad_end, 64, 12);
FIELD(uma_pool_params, pad, 76, 52);

SIZE(uma_resize_params, 128);
FIELD(uma_resize_params, func, 0, 4);
FIELD(uma_resize_params, flags, 4, 4);
FIELD(uma_resize_params, nearest, 8, 4);
FIELD(uma_resize_params, cubic, 12, 4);
FIELD(uma_resize_params, num, 16, 20);
FIELD(uma_resize_params, den, 36, 20);
FIELD(uma_resize_params, off, 56, 40);
FIELD(uma_resize_params, pad, 96, 32);

SIZE(uma_task_stamp, 16);
FIELD(uma_task_stamp, start, 0, 8);
FIELD(uma_task_stamp, end, 8, 8);

SIZE(uma_task, 2048);
FIELD(uma_task, version, 0, 2);
FIELD(uma_task, opcode, 2, 2);
FIELD(uma_task, flags, 4, 4);
FIELD(uma_task, slots, 8, 4);
FIELD(uma_task, pad0, 12, 4);
FIELD(uma_task, cookie, 16, 8);
FIELD(uma_task, shape_addr, 24, 8);
FIELD(uma_task, length_dims, 32, 12);
FIELD(uma_task, pad3, 44, 4);
FIELD(uma_task, pad1, 48, 80);
FIELD(uma_task, params, 128, 256);
FIELD(uma_task, epilogue, 384, 64);
FIELD(uma_task, pad2, 448, 64);
FIELD(uma_task, op, 512, 1536);

SIZE(uma_packed_header, 64);
FIELD(uma_packed_header, magic, 0, 4);
FIELD(uma_packed_header, version, 4, 2);
FIELD(uma_packed_header, layout, 6, 2);
FIELD(uma_packed_header, engine_class, 8, 2);
FIELD(uma_packed_header, dtype, 10, 2);
FIELD(uma_packed_header, block_k, 12, 2);
FIELD(uma_packed_header, block_n, 14, 2);
FIELD(uma_packed_header, dims, 16, 20);
FIELD(uma_packed_header, rank, 36, 4);
FIELD(uma_packed_header, pad, 40, 24);

SIZE(uma_op_cap, 64);
FIELD(uma_op_cap, opcode, 0, 2);
FIELD(uma_op_cap, rank_max, 2, 1);
FIELD(uma_op_cap, layouts, 3, 1);
FIELD(uma_op_cap, a_dtypes, 4, 4);
FIELD(uma_op_cap, b_dtypes, 8, 4);
FIELD(uma_op_cap, d_dtypes, 12, 4);
FIELD(uma_op_cap, funcs, 16, 4);
FIELD(uma_op_cap, quants, 20, 4);
FIELD(uma_op_cap, epilogue, 24, 4);
FIELD(uma_op_cap, acts, 28, 4);
FIELD(uma_op_cap, dim_max, 32, 4);
FIELD(uma_op_cap, k_max, 36, 4);
FIELD(uma_op_cap, align, 40, 4);
FIELD(uma_op_cap, block_k, 44, 2);
FIELD(uma_op_cap, block_n, 46, 2);
FIELD(uma_op_cap, macs_per_cycle, 48, 4);
FIELD(uma_op_cap, pad, 52, 12);

SIZE(drm_uma_array, 16);
FIELD(drm_uma_array, stride, 0, 4);
FIELD(drm_uma_array, count, 4, 4);
FIELD(drm_uma_array, array, 8, 8);

SIZE(drm_uma_query, 24);
FIELD(drm_uma_query, type, 0, 4);
FIELD(drm_uma_query, index, 4, 4);
FIELD(drm_uma_query, size, 8, 4);
FIELD(drm_uma_query, pad, 12, 4);
FIELD(drm_uma_query, data, 16, 8);

SIZE(drm_uma_query_device, 80);
FIELD(drm_uma_query_device, profile, 0, 32);
FIELD(drm_uma_query_device, flags, 32, 8);
FIELD(drm_uma_query_device, hw_version, 40, 4);
FIELD(drm_uma_query_device, task_version, 44, 4);
FIELD(drm_uma_query_device, engine_count, 48, 4);
FIELD(drm_uma_query_device, node_count, 52, 4);
FIELD(drm_uma_query_device, timestamp_hz, 56, 8);
FIELD(drm_uma_query_device, va_bits, 64, 4);
FIELD(drm_uma_query_device, page_size, 68, 4);
FIELD(drm_uma_query_device, block_size, 72, 8);

SIZE(drm_uma_query_engine, 32);
FIELD(drm_uma_query_engine, engine_class, 0, 4);
FIELD(drm_uma_query_engine, instance, 4, 4);
FIELD(drm_uma_query_engine, flags, 8, 4);
FIELD(drm_uma_query_engine, node, 12, 4);
FIELD(drm_uma_query_engine, cap_count, 16, 4);
FIELD(drm_uma_query_engine, clock_max_mhz, 20, 4);
FIELD(drm_uma_query_engine, max_job_tasks, 24, 4);
FIELD(drm_uma_query_engine, pad, 28, 4);

SIZE(drm_uma_query_memory, 24);
FIELD(drm_uma_query_memory, node, 0, 4);
FIELD(drm_uma_query_memory, pad, 4, 4);
FIELD(drm_uma_query_memory, size, 8, 8);
FIELD(drm_uma_query_memory, bandwidth, 16, 8);

SIZE(drm_uma_query_limits, 88);
FIELD(drm_uma_query_limits, max_bo_size, 0, 8);
FIELD(drm_uma_query_limits, va_start, 8, 8);
FIELD(drm_uma_query_limits, va_end, 16, 8);
FIELD(drm_uma_query_limits, max_vms, 24, 4);
FIELD(drm_uma_query_limits, max_queues, 28, 4);
FIELD(drm_uma_query_limits, max_bind_ops, 32, 4);
FIELD(drm_uma_query_limits, max_sync_ranges, 36, 4);
FIELD(drm_uma_query_limits, max_submit_jobs, 40, 4);
FIELD(drm_uma_query_limits, max_job_syncs, 44, 4);
FIELD(drm_uma_query_limits, max_job_tasks, 48, 4);
FIELD(drm_uma_query_limits, max_label, 52, 4);
FIELD(drm_uma_query_limits, max_timeout_ms, 56, 4);
FIELD(drm_uma_query_limits, default_timeout_ms, 60, 4);
FIELD(drm_uma_query_limits, max_mappings, 64, 4);
FIELD(drm_uma_query_limits, priorities, 68, 4);
FIELD(drm_uma_query_limits, max_queued_jobs, 72, 4);
FIELD(drm_uma_query_limits, max_job_bos, 76, 4);
FIELD(drm_uma_query_limits, max_submit_bos, 80, 4);
FIELD(drm_uma_query_limits, max_file_jobs, 84, 4);

SIZE(drm_uma_bo_create, 16);
FIELD(drm_uma_bo_create, size, 0, 8);
FIELD(drm_uma_bo_create, flags, 8, 4);
FIELD(drm_uma_bo_create, handle, 12, 4);

SIZE(drm_uma_bo_mmap_offset, 16);
FIELD(drm_uma_bo_mmap_offset, handle, 0, 4);
FIELD(drm_uma_bo_mmap_offset, pad, 4, 4);
FIELD(drm_uma_bo_mmap_offset, offset, 8, 8);

SIZE(drm_uma_bo_import_user, 24);
FIELD(drm_uma_bo_import_user, addr, 0, 8);
FIELD(drm_uma_bo_import_user, size, 8, 8);
FIELD(drm_uma_bo_import_user, flags, 16, 4);
FIELD(drm_uma_bo_import_user, handle, 20, 4);

SIZE(drm_uma_bo_info, 32);
FIELD(drm_uma_bo_info, handle, 0, 4);
FIELD(drm_uma_bo_info, flags, 4, 4);
FIELD(drm_uma_bo_info, size, 8, 8);
FIELD(drm_uma_bo_info, resident, 16, 8);
FIELD(drm_uma_bo_info, mappings, 24, 4);
FIELD(drm_uma_bo_info, pad, 28, 4);

SIZE(drm_uma_bo_label, 16);
FIELD(drm_uma_bo_label, handle, 0, 4);
FIELD(drm_uma_bo_label, size, 4, 4);
FIELD(drm_uma_bo_label, label, 8, 8);

SIZE(drm_uma_sync_range, 24);
FIELD(drm_uma_sync_range, handle, 0, 4);
FIELD(drm_uma_sync_range, flags, 4, 4);
FIELD(drm_uma_sync_range, offset, 8, 8);
FIELD(drm_uma_sync_range, size, 16, 8);

SIZE(drm_uma_bo_sync, 16);
FIELD(drm_uma_bo_sync, ranges, 0, 16);

SIZE(drm_uma_vm_create, 8);
FIELD(drm_uma_vm_create, flags, 0, 4);
FIELD(drm_uma_vm_create, vm_id, 4, 4);

SIZE(drm_uma_vm_destroy, 8);
FIELD(drm_uma_vm_destroy, vm_id, 0, 4);
FIELD(drm_uma_vm_destroy, pad, 4, 4);

SIZE(drm_uma_bind_op, 40);
FIELD(drm_uma_bind_op, op, 0, 4);
FIELD(drm_uma_bind_op, flags, 4, 4);
FIELD(drm_uma_bind_op, handle, 8, 4);
FIELD(drm_uma_bind_op, pad, 12, 4);
FIELD(drm_uma_bind_op, bo_offset, 16, 8);
FIELD(drm_uma_bind_op, va, 24, 8);
FIELD(drm_uma_bind_op, size, 32, 8);

SIZE(drm_uma_vm_bind, 24);
FIELD(drm_uma_vm_bind, vm_id, 0, 4);
FIELD(drm_uma_vm_bind, failed_op, 4, 4);
FIELD(drm_uma_vm_bind, ops, 8, 16);

SIZE(drm_uma_queue_create, 32);
FIELD(drm_uma_queue_create, vm_id, 0, 4);
FIELD(drm_uma_queue_create, engine_class, 4, 4);
FIELD(drm_uma_queue_create, instances, 8, 4);
FIELD(drm_uma_queue_create, priority, 12, 4);
FIELD(drm_uma_queue_create, timeout_ms, 16, 4);
FIELD(drm_uma_queue_create, flags, 20, 4);
FIELD(drm_uma_queue_create, queue_id, 24, 4);
FIELD(drm_uma_queue_create, pad, 28, 4);

SIZE(drm_uma_queue_destroy, 8);
FIELD(drm_uma_queue_destroy, queue_id, 0, 4);
FIELD(drm_uma_queue_destroy, pad, 4, 4);

SIZE(drm_uma_queue_state, 64);
FIELD(drm_uma_queue_state, queue_id, 0, 4);
FIELD(drm_uma_queue_state, status, 4, 4);
FIELD(drm_uma_queue_state, flags, 8, 4);
FIELD(drm_uma_queue_state, engine, 12, 4);
FIELD(drm_uma_queue_state, task_index, 16, 4);
FIELD(drm_uma_queue_state, reason, 20, 4);
FIELD(drm_uma_queue_state, slot, 24, 4);
FIELD(drm_uma_queue_state, error, 28, 4);
FIELD(drm_uma_queue_state, fault_addr, 32, 8);
FIELD(drm_uma_queue_state, tasks_addr, 40, 8);
FIELD(drm_uma_queue_state, submitted, 48, 8);
FIELD(drm_uma_queue_state, completed, 56, 8);

SIZE(drm_uma_sync, 24);
FIELD(drm_uma_sync, type, 0, 4);
FIELD(drm_uma_sync, flags, 4, 4);
FIELD(drm_uma_sync, handle, 8, 4);
FIELD(drm_uma_sync, pad, 12, 4);
FIELD(drm_uma_sync, point, 16, 8);

SIZE(drm_uma_job_bo, 8);
FIELD(drm_uma_job_bo, handle, 0, 4);
FIELD(drm_uma_job_bo, flags, 4, 4);

SIZE(uma_dump_header, 224);
FIELD(uma_dump_header, magic, 0, 8);
FIELD(uma_dump_header, version, 8, 4);
FIELD(uma_dump_header, cause, 12, 4);
FIELD(uma_dump_header, size, 16, 8);
FIELD(uma_dump_header, realtime_ns, 24, 8);
FIELD(uma_dump_header, boottime_ns, 32, 8);
FIELD(uma_dump_header, timestamp, 40, 8);
FIELD(uma_dump_header, timestamp_hz, 48, 8);
FIELD(uma_dump_header, hw_version, 56, 4);
FIELD(uma_dump_header, driver_version, 60, 4);
FIELD(uma_dump_header, device, 64, 64);
FIELD(uma_dump_header, profile, 128, 32);
FIELD(uma_dump_header, kernel, 160, 64);

SIZE(uma_dump_section, 8);
FIELD(uma_dump_section, type, 0, 4);
FIELD(uma_dump_section, size, 4, 4);

SIZE(uma_dump_job, 104);
FIELD(uma_dump_job, engine, 0, 4);
FIELD(uma_dump_job, error, 4, 4);
FIELD(uma_dump_job, pid, 8, 4);
FIELD(uma_dump_job, queue_id, 12, 4);
FIELD(uma_dump_job, number, 16, 8);
FIELD(uma_dump_job, seqno, 24, 8);
FIELD(uma_dump_job, tasks_addr, 32, 8);
FIELD(uma_dump_job, task_count, 40, 4);
FIELD(uma_dump_job, task_index, 44, 4);
FIELD(uma_dump_job, reason, 48, 4);
FIELD(uma_dump_job, slot, 52, 4);
FIELD(uma_dump_job, fault_addr, 56, 8);
FIELD(uma_dump_job, as, 64, 4);
FIELD(uma_dump_job, engine_class, 68, 4);
FIELD(uma_dump_job, engine_name, 72, 16);
FIELD(uma_dump_job, comm, 88, 16);

SIZE(uma_dump_reg, 8);
FIELD(uma_dump_reg, offset, 0, 4);
FIELD(uma_dump_reg, value, 4, 4);

SIZE(uma_dump_ring, 24);
FIELD(uma_dump_ring, engine, 0, 4);
FIELD(uma_dump_ring, order, 4, 4);
FIELD(uma_dump_ring, head, 8, 4);
FIELD(uma_dump_ring, tail, 12, 4);
FIELD(uma_dump_ring, entry_size, 16, 4);
FIELD(uma_dump_ring, record_size, 20, 4);

SIZE(uma_dump_tasks, 8);
FIELD(uma_dump_tasks, first, 0, 4);
FIELD(uma_dump_tasks, count, 4, 4);

SIZE(uma_dump_walk, 48);
FIELD(uma_dump_walk, addr, 0, 8);
FIELD(uma_dump_walk, levels, 8, 4);
FIELD(uma_dump_walk, pad, 12, 4);
FIELD(uma_dump_walk, entry, 16, 32);

SIZE(uma_dump_event, 48);
FIELD(uma_dump_event, boottime_ns, 0, 8);
FIELD(uma_dump_event, engine, 8, 4);
FIELD(uma_dump_event, type, 12, 4);
FIELD(uma_dump_event, seqno, 16, 8);
FIELD(uma_dump_event, number, 24, 8);
FIELD(uma_dump_event, pid, 32, 4);
FIELD(uma_dump_event, queue_id, 36, 4);
FIELD(uma_dump_event, error, 40, 4);
FIELD(uma_dump_event, pad, 44, 4);

VALUE(DRM_UMA_JOB_BO_WRITE, 1u << 0);

SIZE(drm_uma_job, 56);
FIELD(drm_uma_job, queue_id, 0, 4);
FIELD(drm_uma_job, task_count, 4, 4);
FIELD(drm_uma_job, tasks_addr, 8, 8);
FIELD(drm_uma_job, syncs, 16, 16);
FIELD(drm_uma_job, bos, 32, 16);
FIELD(drm_uma_job, stamps_addr, 48, 8);

SIZE(drm_uma_submit, 24);
FIELD(drm_uma_submit, flags, 0, 4);
FIELD(drm_uma_submit, failed_job, 4, 4);
FIELD(drm_uma_submit, jobs, 8, 16);

SIZE(drm_uma_timestamp, 32);
FIELD(drm_uma_timestamp, device, 0, 8);
FIELD(drm_uma_timestamp, cpu_ns, 8, 8);
FIELD(drm_uma_timestamp, error_ns, 16, 8);
FIELD(drm_uma_timestamp, pad, 24, 8);

SIZE(drm_uma_bo_madvise, 16);
FIELD(drm_uma_bo_madvise, handle, 0, 4);
FIELD(drm_uma_bo_madvise, advice, 4, 4);
FIELD(drm_uma_bo_madvise, retained, 8, 4);
FIELD(drm_uma_bo_madvise, pad, 12, 4);

SIZE(drm_uma_counters, 96);
FIELD(drm_uma_counters, jobs, 0, 8);
FIELD(drm_uma_counters, tasks, 8, 8);
FIELD(drm_uma_counters, tiles, 16, 8);
FIELD(drm_uma_counters, macs, 24, 8);
FIELD(drm_uma_counters, read_bytes, 32, 8);
FIELD(drm_uma_counters, write_bytes, 40, 8);
FIELD(drm_uma_counters, tlb_misses, 48, 8);
FIELD(drm_uma_counters, busy_ns, 56, 8);
FIELD(drm_uma_counters, stall_ns, 64, 8);
FIELD(drm_uma_counters, wait_ns, 72, 8);
FIELD(drm_uma_counters, faults, 80, 8);
FIELD(drm_uma_counters, timeouts, 88, 8);

SIZE(drm_uma_counters_get, 24);
FIELD(drm_uma_counters_get, queue_id, 0, 4);
FIELD(drm_uma_counters_get, engine, 4, 4);
FIELD(drm_uma_counters_get, size, 8, 4);
FIELD(drm_uma_counters_get, pad, 12, 4);
FIELD(drm_uma_counters_get, data, 16, 8);

VALUE(DRM_IOCTL_UMA_QUERY, 0xc0186440u);
VALUE(DRM_IOCTL_UMA_BO_CREATE, 0xc0106441u);
VALUE(DRM_IOCTL_UMA_BO_MMAP_OFFSET, 0xc0106442u);
VALUE(DRM_IOCTL_UMA_BO_IMPORT_USER, 0xc0186443u);
VALUE(DRM_IOCTL_UMA_BO_INFO, 0xc0206444u);
VALUE(DRM_IOCTL_UMA_BO_LABEL, 0x40106445u);
VALUE(DRM_IOCTL_UMA_BO_SYNC, 0x40106446u);
VALUE(DRM_IOCTL_UMA_VM_CREATE, 0xc0086447u);
VALUE(DRM_IOCTL_UMA_VM_DESTROY, 0x40086448u);
VALUE(DRM_IOCTL_UMA_VM_BIND, 0xc0186449u);
VALUE(DRM_IOCTL_UMA_QUEUE_CREATE, 0xc020644au);
VALUE(DRM_IOCTL_UMA_QUEUE_DESTROY, 0x4008644bu);
VALUE(DRM_IOCTL_UMA_QUEUE_STATE, 0xc040644cu);
VALUE(DRM_IOCTL_UMA_SUBMIT, 0xc018644du);
VALUE(DRM_IOCTL_UMA_TIMESTAMP, 0xc020644eu);
VALUE(DRM_IOCTL_UMA_BO_MADVISE, 0xc010644fu);
VALUE(DRM_IOCTL_UMA_COUNTERS, 0xc0186450u);

VALUE(UMA_DTYPE_NONE, 0u);
VALUE(UMA_DTYPE_F32, 1u);
VALUE(UMA_DTYPE_F16, 2u);
VALUE(UMA_DTYPE_BF16, 3u);
VALUE(UMA_DTYPE_S32, 4u);
VALUE(UMA_DTYPE_S8, 5u);
VALUE(UMA_DTYPE_U8, 6u);
VALUE(UMA_DTYPE_S4, 7u);
VALUE(UMA_DTYPE_U4, 8u);
VALUE(UMA_DTYPE_Q8_0, 9u);
VALUE(UMA_DTYPE_Q4_0, 10u);
VALUE(UMA_DTYPE_Q4_1, 11u);
VALUE(UMA_DTYPE_Q4_K, 12u);
VALUE(UMA_DTYPE_Q6_K, 13u);
VALUE(UMA_OP_NOP, 0u);
VALUE(UMA_OP_COPY, 1u);
VALUE(UMA_OP_FILL, 2u);
VALUE(UMA_OP_UNARY, 3u);
VALUE(UMA_OP_BINARY, 4u);
VALUE(UMA_OP_GEMM, 5u);
VALUE(UMA_OP_PACK, 6u);
VALUE(UMA_OP_CONV, 7u);
VALUE(UMA_OP_ATTENTION, 8u);
VALUE(UMA_OP_ROTARY, 9u);
VALUE(UMA_OP_NORM, 10u);
VALUE(UMA_OP_SOFTMAX, 11u);
VALUE(UMA_OP_REDUCE, 12u);
VALUE(UMA_OP_POOL, 13u);
VALUE(UMA_OP_RESIZE, 14u);
VALUE(UMA_OP_GATHER, 15u);
VALUE(UMA_OP_SCATTER, 16u);
VALUE(UMA_OP_TOPK, 17u);
VALUE(UMA_OP_SCAN, 18u);
VALUE(UMA_OP_SELECT, 19u);
VALUE(UMA_OP_DYNQUANT, 20u);
VALUE(UMA_OP_KV_WRITE, 21u);
VALUE(UMA_KV_WRITE_QUANTISED, 1u);
VALUE(UMA_KV_WRITE_ASYMMETRIC, 2u);
VALUE(UMA_KV_WRITE_FLAGS_MASK, 3u);
VALUE(UMA_SLOT_DST, 0u);
VALUE(UMA_SLOT_A, 1u);
VALUE(UMA_SLOT_B, 2u);
VALUE(UMA_SLOT_C, 3u);
VALUE(UMA_SLOT_BIAS, 4u);
VALUE(UMA_SLOT_SCALE, 5u);
VALUE(UMA_SLOT_RESIDUAL, 6u);
VALUE(UMA_SLOT_AUX0, 7u);
VALUE(UMA_SLOT_AUX1, 8u);
VALUE(UMA_SLOT_AUX2, 9u);
VALUE(UMA_SLOT_AUX3, 10u);
VALUE(UMA_SLOT_AUX4, 11u);
VALUE(UMA_LAYOUT_STRIDED, 0u);
VALUE(UMA_LAYOUT_GEMM_B, 1u);
VALUE(UMA_LAYOUT_GEMM_B24, 2u);
VALUE(UMA_QUANT_NONE, 0u);
VALUE(UMA_QUANT_TENSOR, 1u);
VALUE(UMA_QUANT_CHANNEL, 2u);
VALUE(UMA_QUANT_GROUP, 3u);
VALUE(UMA_QUANT_GROUP_MIN, 4u);
VALUE(UMA_ACT_NONE, 0u);
VALUE(UMA_ACT_RELU, 1u);
VALUE(UMA_ACT_CLAMP, 2u);
VALUE(UMA_ACT_LEAKY_RELU, 3u);
VALUE(UMA_ACT_SIGMOID, 4u);
VALUE(UMA_ACT_TANH, 5u);
VALUE(UMA_ACT_GELU, 6u);
VALUE(UMA_ACT_GELU_TANH, 7u);
VALUE(UMA_ACT_SILU, 8u);
VALUE(UMA_ACT_HARD_SIGMOID, 9u);
VALUE(UMA_ACT_HARD_SWISH, 10u);
VALUE(UMA_ACT_ELU, 11u);
VALUE(UMA_ACT_CELU, 12u);
VALUE(UMA_ACT_SELU, 13u);
VALUE(UMA_ACT_SOFTPLUS, 14u);
VALUE(UMA_ACT_SOFTSIGN, 15u);
VALUE(UMA_ACT_MISH, 16u);
VALUE(UMA_UNARY_ACT, 0u);
VALUE(UMA_UNARY_ABS, 1u);
VALUE(UMA_UNARY_NEG, 2u);
VALUE(UMA_UNARY_SQRT, 3u);
VALUE(UMA_UNARY_RSQRT, 4u);
VALUE(UMA_UNARY_RECIP, 5u);
VALUE(UMA_UNARY_EXP, 6u);
VALUE(UMA_UNARY_LOG, 7u);
VALUE(UMA_UNARY_ERF, 8u);
VALUE(UMA_UNARY_SQUARE, 9u);
VALUE(UMA_UNARY_FLOOR, 10u);
VALUE(UMA_UNARY_CEIL, 11u);
VALUE(UMA_UNARY_ROUND, 12u);
VALUE(UMA_UNARY_SIN, 13u);
VALUE(UMA_UNARY_COS, 14u);
VALUE(UMA_UNARY_TAN, 15u);
VALUE(UMA_UNARY_ASIN, 16u);
VALUE(UMA_UNARY_ACOS, 17u);
VALUE(UMA_UNARY_ATAN, 18u);
VALUE(UMA_UNARY_SINH, 19u);
VALUE(UMA_UNARY_COSH, 20u);
VALUE(UMA_UNARY_ASINH, 21u);
VALUE(UMA_UNARY_ACOSH, 22u);
VALUE(UMA_UNARY_ATANH, 23u);
VALUE(UMA_UNARY_SIGN, 24u);
VALUE(UMA_UNARY_TRUNC, 25u);
VALUE(UMA_UNARY_IS_NAN, 26u);
VALUE(UMA_UNARY_IS_INF, 27u);
VALUE(UMA_UNARY_NOT, 28u);
VALUE(UMA_UNARY_BIT_NOT, 29u);
VALUE(UMA_BINARY_ADD, 0u);
VALUE(UMA_BINARY_SUB, 1u);
VALUE(UMA_BINARY_MUL, 2u);
VALUE(UMA_BINARY_DIV, 3u);
VALUE(UMA_BINARY_MAX, 4u);
VALUE(UMA_BINARY_MIN, 5u);
VALUE(UMA_BINARY_MOD, 6u);
VALUE(UMA_BINARY_REM, 7u);
VALUE(UMA_BINARY_QUOT, 8u);
VALUE(UMA_BINARY_POW, 9u);
VALUE(UMA_BINARY_EQ, 10u);
VALUE(UMA_BINARY_NE, 11u);
VALUE(UMA_BINARY_LT, 12u);
VALUE(UMA_BINARY_LE, 13u);
VALUE(UMA_BINARY_GT, 14u);
VALUE(UMA_BINARY_GE, 15u);
VALUE(UMA_BINARY_AND, 16u);
VALUE(UMA_BINARY_OR, 17u);
VALUE(UMA_BINARY_XOR, 18u);
VALUE(UMA_BINARY_BIT_AND, 19u);
VALUE(UMA_BINARY_BIT_OR, 20u);
VALUE(UMA_BINARY_BIT_XOR, 21u);
VALUE(UMA_BINARY_SHL, 22u);
VALUE(UMA_BINARY_SHR, 23u);
VALUE(UMA_BINARY_PRELU, 24u);
VALUE(UMA_ENGINE_MATRIX, 0u);
VALUE(UMA_ENGINE_GPU, 1u);
VALUE(UMA_ENGINE_NEURAL, 2u);
VALUE(UMA_FAULT_NONE, 0u);
VALUE(UMA_FAULT_VERSION, 1u);
VALUE(UMA_FAULT_OPCODE, 2u);
VALUE(UMA_FAULT_FLAGS, 3u);
VALUE(UMA_FAULT_PAD, 4u);
VALUE(UMA_FAULT_SLOT, 5u);
VALUE(UMA_FAULT_DTYPE, 6u);
VALUE(UMA_FAULT_RANK, 7u);
VALUE(UMA_FAULT_DIMS, 8u);
VALUE(UMA_FAULT_STRIDES, 9u);
VALUE(UMA_FAULT_LAYOUT, 10u);
VALUE(UMA_FAULT_QUANT, 11u);
VALUE(UMA_FAULT_EPILOGUE, 12u);
VALUE(UMA_FAULT_PARAMS, 13u);
VALUE(UMA_FAULT_ALIGN, 14u);
VALUE(UMA_FAULT_RANGE, 15u);
VALUE(UMA_FAULT_OVERLAP, 16u);
VALUE(UMA_FAULT_UNSUPPORTED, 17u);
VALUE(UMA_FAULT_READ, 18u);
VALUE(UMA_FAULT_WRITE, 19u);
VALUE(UMA_FAULT_TABLE, 20u);
VALUE(UMA_FAULT_BUS, 21u);
VALUE(UMA_FAULT_ABORT, 22u);
VALUE(UMA_FAULT_STALE, 23u);
VALUE(UMA_FAULT_RING, 24u);
VALUE(UMA_FAULT_INTERNAL, 25u);
VALUE(UMA_TASK_VERSION, 1);
VALUE(UMA_MAX_RANK, 5);
VALUE(UMA_TASK_SLOTS, 12);
VALUE(UMA_TASK_SIZE, 2048);
VALUE(UMA_TASK_ALIGN, 64);
VALUE(UMA_QUANT_SWAPPED, 1u << 8);
VALUE(UMA_EPI_BIAS, 1u << 0);
VALUE(UMA_EPI_SCALE, 1u << 1);
VALUE(UMA_EPI_RESIDUAL, 1u << 2);
VALUE(UMA_EPI_RESIDUAL_POST, 1u << 3);
VALUE(UMA_PARAMS_SIZE, 256);
VALUE(UMA_TASK_DYNAMIC, 1u << 0);
VALUE(UMA_TASK_LENGTH, 1u << 1);
VALUE(UMA_PACKED_MAGIC, 0x50414d55u);
VALUE(UMA_PACKED_VERSION, 1);
VALUE(UMA_ENGINE_DYNAMIC_SHAPES, 1u << 0);
VALUE(UMA_ENGINE_PREEMPT, 1u << 1);
VALUE(UMA_ENGINE_LENGTHS, 1u << 2);
VALUE(UMA_FAULT_NO_SLOT, 0xffu);
VALUE(DRM_UMA_QUERY, 0u);
VALUE(DRM_UMA_BO_CREATE, 1u);
VALUE(DRM_UMA_BO_MMAP_OFFSET, 2u);
VALUE(DRM_UMA_BO_IMPORT_USER, 3u);
VALUE(DRM_UMA_BO_INFO, 4u);
VALUE(DRM_UMA_BO_LABEL, 5u);
VALUE(DRM_UMA_BO_SYNC, 6u);
VALUE(DRM_UMA_VM_CREATE, 7u);
VALUE(DRM_UMA_VM_DESTROY, 8u);
VALUE(DRM_UMA_VM_BIND, 9u);
VALUE(DRM_UMA_QUEUE_CREATE, 10u);
VALUE(DRM_UMA_QUEUE_DESTROY, 11u);
VALUE(DRM_UMA_QUEUE_STATE, 12u);
VALUE(DRM_UMA_SUBMIT, 13u);
VALUE(DRM_UMA_TIMESTAMP, 14u);
VALUE(DRM_UMA_BO_MADVISE, 15u);
VALUE(DRM_UMA_COUNTERS, 16u);
VALUE(DRM_UMA_QUERY_DEVICE, 1u);
VALUE(DRM_UMA_QUERY_ENGINES, 2u);
VALUE(DRM_UMA_QUERY_ENGINE_CAPS, 3u);
VALUE(DRM_UMA_QUERY_MEMORY, 4u);
VALUE(DRM_UMA_QUERY_LIMITS, 5u);
VALUE(DRM_UMA_PRIORITY_LOW, 0u);
VALUE(DRM_UMA_PRIORITY_NORMAL, 1u);
VALUE(DRM_UMA_PRIORITY_HIGH, 2u);
VALUE(DRM_UMA_PRIORITY_REALTIME, 3u);
VALUE(DRM_UMA_BIND_MAP, 0u);
VALUE(DRM_UMA_BIND_UNMAP, 1u);
VALUE(DRM_UMA_QUEUE_OK, 0u);
VALUE(DRM_UMA_QUEUE_BANNED, 1u);
VALUE(DRM_UMA_QUEUE_LOST, 2u);
VALUE(DRM_UMA_SYNC_BINARY, 0u);
VALUE(DRM_UMA_SYNC_TIMELINE, 1u);
VALUE(DRM_UMA_DEVICE_EMULATED, 1u << 0);
VALUE(DRM_UMA_DEVICE_MODELLED_POWER, 1u << 1);
VALUE(DRM_UMA_DEVICE_COHERENT, 1u << 2);
VALUE(DRM_UMA_BO_WC, 1u << 0);
VALUE(DRM_UMA_BO_NO_MMAP, 1u << 1);
VALUE(DRM_UMA_USER_READONLY, 1u << 0);
VALUE(DRM_UMA_BO_INFO_USER, 1u << 8);
VALUE(DRM_UMA_BO_INFO_IMPORTED, 1u << 9);
VALUE(DRM_UMA_BO_INFO_EXPORTED, 1u << 10);
VALUE(DRM_UMA_BO_INFO_READONLY, 1u << 11);
VALUE(DRM_UMA_BO_INFO_DONTNEED, 1u << 12);
VALUE(DRM_UMA_BO_INFO_PURGED, 1u << 13);
VALUE(DRM_UMA_BO_NODE(0), 1u << 16);
VALUE(DRM_UMA_BO_NODE(14), 15u << 16);
VALUE(DRM_UMA_BO_NODE_MASK, 15u << 16);
VALUE(DRM_UMA_MADV_WILLNEED, 0u);
VALUE(DRM_UMA_MADV_DONTNEED, 1u);
VALUE(DRM_UMA_SYNC_TO_DEVICE, 1u << 0);
VALUE(DRM_UMA_SYNC_TO_CPU, 1u << 1);
VALUE(DRM_UMA_BIND_READONLY, 1u << 0);
VALUE(DRM_UMA_QUEUE_GUILTY, 1u << 0);
VALUE(DRM_UMA_QUEUE_INNOCENT, 1u << 1);
VALUE(DRM_UMA_QUEUE_TIMEDOUT, 1u << 2);
VALUE(DRM_UMA_QUEUE_FAULTED, 1u << 3);
VALUE(DRM_UMA_SYNC_SIGNAL, 1u << 0);
VALUE(UMA_DUMP_MAX_SIZE, 1u << 20);
VALUE(UMA_DUMP_LEVELS, 4u);
VALUE(UMA_DUMP_FAULT, 1u);
VALUE(UMA_DUMP_HANG, 2u);
VALUE(UMA_DUMP_WEDGED, 3u);
VALUE(UMA_DUMP_JOB, 1u);
VALUE(UMA_DUMP_REGS, 2u);
VALUE(UMA_DUMP_RING, 3u);
VALUE(UMA_DUMP_TASKS, 4u);
VALUE(UMA_DUMP_WALK, 5u);
VALUE(UMA_DUMP_HISTORY, 6u);
VALUE(UMA_DUMP_EVENT_RUN, 1u);
VALUE(UMA_DUMP_EVENT_DONE, 2u);
VALUE(UMA_DUMP_EVENT_RESET, 3u);
VALUE(UMA_DUMP_EVENT_PREEMPT, 4u);
CHECK(UMA_DUMP_MAGIC == 0x31504d5544414d55ull);

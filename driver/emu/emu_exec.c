// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Execution of a task: its descriptor is fetched once, decoded, checked, prepared,
 * and run step by step. Each step is one floating-point section. Between two steps
 * engines are stopped, TLB entries are invalidated and the CPU is rescheduled.
 */
#include <linux/sched.h>

#include "emu_device.h"

/* Arguments and result of a floating-point section */
struct emu_exec {
	struct emu_engine *engine;
	struct uma_fault_info *fault;
	u32 phase;
	u32 tile;
	u32 step;
	int ret;
};

static int emu_exec_compile(struct emu_engine *engine, struct uma_fault_info *fault)
{
	int ret;

	ret = uma_task_decode(engine->task, engine->op, fault);
	if (ret < 0)
		return -EFAULT;
	ret = uma_op_check(engine->op, engine->desc, fault);
	if (ret < 0)
		return -EFAULT;

	/* A step, since it reads dimensions and headers from memory; it uses no floating point. */
	emu_step_begin(engine);
	ret = uma_prepare(engine->prog, engine->op, engine->desc, engine->emu->kernels,
			  UMA_STEP_WORK_KERNEL, &engine->view.mem, fault);
	emu_step_end(engine);

	if (emu_step_suspect(engine, fault))
		return -EFAULT;
	return ret < 0 ? -EFAULT : 0;
}

static void emu_exec_step(void *arg)
{
	struct emu_exec *exec = arg;
	struct emu_engine *engine = exec->engine;

	exec->ret = uma_run_step(engine->prog, exec->phase, exec->tile, &exec->step,
				 &engine->view.mem, engine->scratch, exec->fault);
}

/* Run one section as a step, with the checks of paranoid mode. */
static int emu_exec_section(struct emu_exec *exec)
{
	emu_step_begin(exec->engine);
	emu_fpu_run(exec->engine, emu_exec_step, exec);
	emu_step_end(exec->engine);

	if (emu_step_suspect(exec->engine, exec->fault))
		return -EFAULT;
	return exec->ret < 0 ? -EFAULT : exec->ret;
}

/* End a step that copied to or from an address of the ring entry's @field. */
static int emu_exec_copied(struct emu_engine *engine, u32 reason, const char *field,
			   struct uma_fault_info *fault)
{
	emu_step_end(engine);

	if (emu_step_suspect(engine, fault))
		return -EFAULT;
	if (!reason)
		return 0;
	*fault = engine->view.mem.fault;
	fault->field = field;
	return -EFAULT;
}

static int emu_exec_fetch(struct emu_engine *engine, u64 addr,
			  struct uma_fault_info *fault)
{
	u32 reason;

	emu_step_begin(engine);
	reason = emu_copy_from(&engine->view, addr, engine->task, sizeof(*engine->task));
	return emu_exec_copied(engine, reason, "tasks_addr", fault);
}

/**
 * emu_exec_stamp - write the time stamps of a task that ends, or is preempted, now
 * @engine: engine, in its worker
 * @addr: device address of its &struct uma_task_stamp
 * @start: start time; 0 if the task was resumed, to keep the one in memory
 * @fault: out
 *
 * Return: 0; -EFAULT with @fault set.
 */
int emu_exec_stamp(struct emu_engine *engine, u64 addr, u64 start, struct uma_fault_info *fault)
{
	const size_t skip = start ? 0 : offsetof(struct uma_task_stamp, end);
	struct uma_task_stamp stamp = { .start = cpu_to_le64(start) };
	u32 reason;

	stamp.end = cpu_to_le64(emu_now());
	emu_step_begin(engine);
	reason = emu_copy_to(&engine->view, addr + skip, (u8 *)&stamp + skip,
			     sizeof(stamp) - skip);
	return emu_exec_copied(engine, reason, "stamps_addr", fault);
}

/* Delay until @done tiles of @tiles have taken the time that they take at the current clock. */
static void emu_exec_pace(struct emu_engine *engine, u64 began, u64 done, u64 tiles)
{
	const struct uma_engine_desc *desc = engine->desc;
	u32 rate = le32_to_cpu(desc->caps[engine->prog->row].macs_per_cycle);
	u32 clock = emu_power_engine_mhz(engine->emu, desc);
	u64 took, want;

	if (!rate || !clock)
		return;
	want = div64_u64(mul_u64_u64_div_u64(engine->prog->macs, done, tiles), rate) * 1000;
	want = div64_u64(want, clock);
	took = emu_now() - began;
	if (want > took)
		emu_engine_delay(engine, want - took);
}

static u64 emu_exec_tiles(const struct uma_program *prog)
{
	u64 tiles = 0;
	u32 phase;

	for (phase = 0; phase < prog->phase_count; phase++)
		tiles += prog->tiles[phase];
	return tiles;
}

static int emu_exec_tile(struct emu_exec *exec)
{
	struct emu_engine *engine = exec->engine;
	u32 tile_us = READ_ONCE(engine->emu->cfg.tile_us);
	unsigned long flags;
	int ret;

	if (tile_us)
		emu_engine_delay(engine, (u64)tile_us * NSEC_PER_USEC);
	exec->step = 0;
	do {
		ret = emu_engine_poll(engine, !exec->step);
		if (ret)
			return ret;
		cond_resched();
		ret = emu_exec_section(exec);
		if (ret < 0)
			return ret;
	} while (ret);

	spin_lock_irqsave(&engine->lock, flags);
	engine->cnt[UMA_CNT_TILES]++;
	spin_unlock_irqrestore(&engine->lock, flags);
	return 0;
}

/**
 * emu_exec_task - run a task
 * @engine: engine, in its worker
 * @addr: device address of the descriptor
 * @seqno: sequence number of the job, 0 if it cannot be preempted between two tiles
 * @tile: in, out: number of tiles done
 * @fault: out
 *
 * A task that is resumed is fetched and checked again: its memory may have changed.
 *
 * Return: 0; 1 if it was preempted, after at least one tile; -EFAULT with @fault set; -ECANCELED
 * if the job has to be dropped.
 */
int emu_exec_task(struct emu_engine *engine, u64 addr, u64 seqno, u64 *tile,
		  struct uma_fault_info *fault)
{
	struct emu_exec exec = { .engine = engine, .fault = fault };
	struct uma_program *prog = engine->prog;
	u64 began = emu_now(), first = *tile, tiles;
	unsigned long flags;
	int ret;

	ret = emu_exec_fetch(engine, addr, fault);
	if (ret)
		return ret;
	ret = emu_exec_compile(engine, fault);
	if (ret)
		return ret;
	if (uma_program_seek(prog, first, &exec.phase, &exec.tile)) {
		*fault = (struct uma_fault_info) {
			.reason = UMA_FAULT_DIMS, .slot = UMA_FAULT_NO_SLOT, .field = "tile",
		};
		return -EFAULT;
	}

	tiles = emu_exec_tiles(prog);
	for (; exec.phase < prog->phase_count; exec.phase++, exec.tile = 0) {
		for (; exec.tile < prog->tiles[exec.phase]; exec.tile++) {
			if (*tile > first && emu_engine_preempts(engine, seqno))
				return 1;
			ret = emu_exec_tile(&exec);
			if (ret)
				return ret;
			++*tile;
			if (engine->emu->cfg.pace)
				emu_exec_pace(engine, began, *tile - first, tiles);
		}
	}

	spin_lock_irqsave(&engine->lock, flags);
	engine->cnt[UMA_CNT_TASKS]++;
	engine->cnt[UMA_CNT_MACS] += prog->macs;
	spin_unlock_irqrestore(&engine->lock, flags);
	return 0;
}

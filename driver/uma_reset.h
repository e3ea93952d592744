/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _UMA_RESET_H_
#define _UMA_RESET_H_

#include <linux/types.h>
#include <linux/workqueue.h>

struct uma_device;
struct uma_engine;

/* An engine stops after a tile; emulated on a slow machine that takes a while. */
#define UMA_ENGINE_RESET_MS	5000
#define UMA_DEVICE_RESET_MS	10000

/* How long a job may hold on to what is being unbound, unless somebody says otherwise. */
#define UMA_PREEMPT_MS		1000

void uma_engine_watch(struct work_struct *work);
void uma_engine_watch_start(struct uma_engine *engine, u32 timeout_ms);
void uma_kick_work(struct work_struct *work);
void uma_reset_work(struct work_struct *work);
void uma_reset_request(struct uma_device *uma);
void uma_reset_preempt(struct uma_device *uma, u32 as);
int uma_reset_now(struct uma_device *uma, struct uma_engine *engine);
void uma_reset_stop(struct uma_device *uma);
void uma_reset_abort(struct uma_device *uma);
void uma_reset_abort_held(struct uma_engine *engine);

#endif /* _UMA_RESET_H_ */

/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _UMA_EVENT_H_
#define _UMA_EVENT_H_

struct uma_device;
struct uma_engine;

void uma_events_init(struct uma_device *uma);
void uma_events_stop(struct uma_device *uma);
void uma_event_reset(struct uma_device *uma, const struct uma_engine *engine);
void uma_event_fault(const struct uma_engine *engine);
void uma_event_wedged(struct uma_device *uma);

#endif /* _UMA_EVENT_H_ */

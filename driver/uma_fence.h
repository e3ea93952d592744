/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _UMA_FENCE_H_
#define _UMA_FENCE_H_

#include <linux/dma-fence.h>

struct uma_engine;
struct uma_fence;

struct uma_fence *uma_fence_alloc(void);
void uma_fence_discard(struct uma_fence *fence);
struct dma_fence *uma_fence_init(struct uma_fence *fence, struct uma_engine *engine);

#endif /* _UMA_FENCE_H_ */

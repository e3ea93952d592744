/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _UMA_MMU_H_
#define _UMA_MMU_H_

#include <linux/types.h>

struct uma_device;
struct uma_vm;

int uma_mmu_init(struct uma_device *uma, struct uma_vm *vm);
void uma_mmu_fini(struct uma_vm *vm);
int uma_mmu_forget(struct uma_vm *vm, u64 start, u64 end);
void uma_mmu_invalidate(struct uma_vm *vm, u64 start, u64 end);
void uma_mmu_detach(struct uma_vm *vm);
int uma_mmu_get_as(struct uma_vm *vm);

#endif /* _UMA_MMU_H_ */

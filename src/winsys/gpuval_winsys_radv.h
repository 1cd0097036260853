/* SPDX-License-Identifier: MIT */

#ifndef GPUVAL_WINSYS_RADV_H
#define GPUVAL_WINSYS_RADV_H

#include "util/list.h"
#include "gpuval.h"

struct radv_device;
struct radeon_winsys_bo;

struct gpuval_winsys_radv {
   struct gpuval_winsys base;
   struct radv_device *device;
   bool is_small; /* what the host sees of video memory: only what needs it is there */
   struct list_head buffers;
   /* gpuval_winsys::clear_all, where something knows how; else NULL */
   bool (*clear_on_gpu)(struct gpuval_winsys_radv *winsys, const struct gpuval_cleared *ranges,
                        unsigned count);
};

void gpuval_winsys_radv_init(struct gpuval_winsys_radv *winsys, struct radv_device *device);
/** A buffer that may be in use for ever: it is never freed. */
void gpuval_winsys_radv_forget(struct gpuval_winsys_radv *winsys, void *map);

/** What @map is of, as it was returned. */
struct radeon_winsys_bo *gpuval_winsys_radv_bo(const struct gpuval_winsys_radv *winsys,
                                               const void *map);

void gpuval_winsys_radv_finish(struct gpuval_winsys_radv *winsys);

#endif

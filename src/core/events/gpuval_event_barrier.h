/* SPDX-License-Identifier: MIT */

/* Events that are about two accesses with nothing that orders them: what would. */

#ifndef GPUVAL_EVENT_BARRIER_H
#define GPUVAL_EVENT_BARRIER_H

#include "base/gpuval_checks.h"
#include "core/device/gpuval_device.h"
#include "core/order/gpuval_submits.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gpuval_event;

/* gpuval_sync_side::queue: it is not the first one. */
#define GPUVAL_SYNC_OTHER_QUEUE UINT32_MAX

/** One of two accesses, as a dependency has to name it */
struct gpuval_sync_side {
   unsigned class_; /* enum gpuval_order_class, or of attachments or GPUVAL_ORDER_TRANSITION */
   enum gpuval_op op;
   bool is_write;
   enum gpuval_order_access read; /* which of the class, unless it writes */
   bool has_serial;               /* when it has come is known: */
   unsigned queue;
   uint32_t serial;
};

/**
 * Says of @event what is missing between @first and @second, which comes later to @address, and
 * which barrier would do. An @address of 0 is in all ranges. @ignores_access: what a barrier says
 * of accesses does not count, so that one which orders the two can only be for other memory.
 */
void gpuval_sync_describe_barrier(struct gpuval_device *device, struct gpuval_event *event,
                                  const struct gpuval_sync_side *first,
                                  const struct gpuval_sync_side *second, uint64_t address,
                                  bool ignores_access);

#ifdef __cplusplus
}
#endif

#endif

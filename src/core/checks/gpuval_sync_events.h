/* SPDX-License-Identifier: MIT */

/* Events of `sync` that are about commands without a shader, and what would order two accesses. */

#ifndef GPUVAL_SYNC_EVENTS_H
#define GPUVAL_SYNC_EVENTS_H

#include "base/gpuval_order.h"
#include "core/commands/gpuval_command_access.h"
#include "core/device/gpuval_device.h"
#include "core/events/gpuval_event_barrier.h"
#include "core/memory/gpuval_shadow_device.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gpuval_event;

/** A command accesses what another access is not ordered before. */
struct gpuval_sync_conflict {
   struct gpuval_command_access what;
   enum gpuval_order_class class_;
   enum gpuval_order_access read; /* which of the class, unless it writes */
   enum gpuval_op op;
   uint32_t command_id, serial;
   uint64_t begin;   /* address of the range */
   uint64_t address; /* of the first conflict in it */
   uint64_t other;   /* the half of a cell that names the other access */
};

void gpuval_sync_report_conflict(struct gpuval_device *device,
                                 const struct gpuval_sync_conflict *conflict);

/** Whoever a cell names, who has done @op */
struct gpuval_sync_side gpuval_sync_side_of_party(const struct gpuval_shadow_party *party,
                                                  enum gpuval_op op);

/** Does @party write? Of a shader's access, @op is what its site says. */
bool gpuval_sync_party_writes(const struct gpuval_shadow_party *party, enum gpuval_op op);

/** Says of whoever @lo and @hi of a cell name what there is to say of the other access. */
bool gpuval_sync_describe_party(struct gpuval_device *device, struct gpuval_event *event,
                                uint32_t lo, uint32_t hi);

#ifdef __cplusplus
}
#endif

#endif

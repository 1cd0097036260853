/* SPDX-License-Identifier: MIT */

/* init, for drivers whose memory is in no window: which memory has marks, and what the host
 * knows to be written, by the table of base/gpuval_init.h. Marks may come too early, which only
 * misses something; where one would come too late, all counts as written.
 *
 * Any thread may call what follows, without gpuval_device::mutex where nothing else is said.
 */

#ifndef GPUVAL_MARKS_H
#define GPUVAL_MARKS_H

#include "gpuval.h"
#include "gpuval_addresses.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gpuval_marks {
   bool is_on;                 /* else these functions do nothing */
   struct util_dynarray areas; /* gpuval_areas.h */
   bool has_changed;           /* since the table was made */
   bool gave_up;
   bool warned;
   struct gpuval_buffer table;
   uint64_t table_address; /* also where there is none */
   /* struct gpuval_buffer: what work of this phase may still use, and of the other one; and
    * what any work may
    */
   struct util_dynarray retired, ending, kept;
};

/** Does init look at this device's memory? Without it, it does not. */
bool gpuval_device_has_marks(const struct gpuval_device *device);

/** Memory has been allocated, and nobody has written it. What was never added is written. */
void gpuval_marks_add(struct gpuval_device *device, uint64_t address, uint64_t size);
/** It is about to be freed. */
void gpuval_marks_remove(struct gpuval_device *device, uint64_t address);
/** That is written, or will be: what of it is in memory that was added. */
void gpuval_marks_write(struct gpuval_device *device, uint64_t address, uint64_t size);
/** For gpuval_command_data::marks_address of what is part of work that has begun. */
uint64_t gpuval_marks_table(const struct gpuval_device *device);
/**
 * Something writes that cannot be followed: all is written, also with a window. What tables have
 * that commands were told lives as long as the device from then on.
 */
void gpuval_marks_give_up(struct gpuval_device *device);

/* By who has the mutex */

void gpuval_marks_init(struct gpuval_device *device);
void gpuval_marks_finish(struct gpuval_device *device);
/** Work begins, whose commands get what is there now. */
void gpuval_marks_publish(struct gpuval_device *device);
/** Goes when the work that may use it has ended: one of marks, or of gpuval_cells.h. */
void gpuval_marks_retire(struct gpuval_device *device, struct gpuval_buffer *buffer);
/** No work of the other phase is left. */
void gpuval_marks_free_ending(struct gpuval_device *device);
/** A phase begins; true: there is something to wait for. */
bool gpuval_marks_has_retired(const struct gpuval_device *device);
void gpuval_marks_turn(struct gpuval_device *device);

#ifdef __cplusplus
}
#endif

#endif

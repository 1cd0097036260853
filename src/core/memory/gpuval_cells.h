/* SPDX-License-Identifier: MIT */

/* Shadow memory of sync for drivers whose memory is in no window: which memory has cells, by
 * the table of base/gpuval_shadow.h. They are taken from what the program has, too, so there is
 * a limit; what is beyond it the filter looks at.
 *
 * Any thread may call what follows, without gpuval_device::mutex where nothing else is said.
 */

#ifndef GPUVAL_CELLS_H
#define GPUVAL_CELLS_H

#include "gpuval.h"
#include "gpuval_addresses.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gpuval_shadow_layout;

struct gpuval_cells {
   uint64_t limit; /* bytes; 0: there are none, and these functions do nothing */
   uint64_t used;
   struct util_dynarray areas; /* gpuval_areas.h */
   bool has_changed;           /* since the table was made */
   bool has_others;            /* shaders may access memory without cells */
   bool warned;
   struct gpuval_buffer pool, times, clocks, table;
   uint64_t table_address; /* also where there is no memory for one */
};

/** Does memory get cells when gpuval_cells_add() says so? */
bool gpuval_device_has_cells(const struct gpuval_device *device);

/** Shaders may access that memory from now on. Once more is no harm. */
void gpuval_cells_add(struct gpuval_device *device, uint64_t address, uint64_t size);
/** The same of memory that cannot have cells. */
void gpuval_cells_add_other(struct gpuval_device *device);
/** Memory that begins there is about to be freed. */
void gpuval_cells_remove(struct gpuval_device *device, uint64_t address);

/** For gpuval_command_data::shadow_words of what is part of work that has begun. */
uint64_t gpuval_cells_table(const struct gpuval_device *device);
/** A table that has nothing */
uint64_t gpuval_cells_no_table(const struct gpuval_device *device);

/** Have partial words had more bytes than there is room for? No work is in flight. */
bool gpuval_cells_are_full(struct gpuval_device *device);
/** All cells are nobody's. No work is in flight. */
void gpuval_cells_forget(struct gpuval_device *device);

/* By who creates and destroys the device */

/** False: there is no memory. */
bool gpuval_cells_init(struct gpuval_device *device, struct gpuval_shadow_layout *layout);
void gpuval_cells_finish(struct gpuval_device *device);

/** Work begins, whose commands get what is there now. By who has the mutex. */
void gpuval_cells_publish(struct gpuval_device *device);

#ifdef __cplusplus
}
#endif

#endif

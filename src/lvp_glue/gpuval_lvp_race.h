/* SPDX-License-Identifier: MIT */

/* The check `race` on lavapipe: which commands use which subresources. All on the queue's
 * thread, if nothing else is said.
 */

#ifndef GPUVAL_LVP_RACE_H
#define GPUVAL_LVP_RACE_H

#include "gpuval_lvp_nir.h"

#include <stdint.h>

struct gpuval_commands;
struct gpuval_lvp;
struct gpuval_lvp_race;
struct gpuval_lvp_race_host;
struct gpuval_race;
struct gpuval_race_driver;
struct gpuval_submits;
struct lvp_descriptor_set;
struct lvp_shader;
struct vk_device_dispatch_table;

/**
 * Entry points of @table that are ours then call those that are there. What commands use is heard
 * from @commands, which have to be visited before order knows of a command.
 */
struct gpuval_lvp_race *gpuval_lvp_race_create(void *mem_ctx, struct gpuval_lvp *gpuval,
                                               struct vk_device_dispatch_table *table,
                                               struct gpuval_submits *submits,
                                               struct gpuval_commands *commands);
void gpuval_lvp_race_destroy(struct gpuval_lvp_race *race);

/** Memory that is about to be freed; any thread. */
void gpuval_lvp_race_forget(struct gpuval_lvp_race *race, uint64_t address, uint64_t size);

/** A command buffer begins, or the last one has ended; nothing runs. */
void gpuval_lvp_race_idle(struct gpuval_lvp_race *race, bool begins);
/** Looks at all uses so far. Nothing runs. */
void gpuval_lvp_race_flush(struct gpuval_lvp_race *race);
/** A draw is about to be executed. */
void gpuval_lvp_race_draw(struct gpuval_lvp_race *race, uint32_t command_id);
/** What shaders of the current command could use. @buffers: bits of sets that are in descriptor
 * buffers.
 */
void gpuval_lvp_race_shaders(struct gpuval_lvp_race *race, uint32_t command_id, uint32_t stages,
                             struct lvp_shader *const *shaders,
                             struct lvp_descriptor_set *const *sets, uint32_t buffers,
                             struct gpuval_lvp_command_data *data);

/* gpuval_lvp_race_host.c, any thread: what the host does itself */

struct gpuval_lvp_race_host *gpuval_lvp_race_host_create(void *mem_ctx,
                                                         struct vk_device_dispatch_table *table,
                                                         struct gpuval_race *race,
                                                         const struct gpuval_race_driver *driver,
                                                         struct gpuval_submits *submits);
void gpuval_lvp_race_host_destroy(struct gpuval_lvp_race_host *host);
struct gpuval_lvp_race_host *gpuval_lvp_race_host(struct gpuval_lvp_race *race);
/** As gpuval_lvp_race_idle(), when race has looked at what has run. */
void gpuval_lvp_race_host_idle(struct gpuval_lvp_race_host *host, bool begins);

#endif

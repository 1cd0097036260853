/* SPDX-License-Identifier: MIT */

/* What begins a new epoch: the sync check's view of synchronization.
 *
 * The filter finds conflicts between accesses of one epoch only. So an epoch is
 * a number that commands carry, and whatever orders what ran before with what
 * runs after gives the latter a new one. docs/sync-scopes.rst is the manual of
 * the rules; this is the state machine of one queue, fed in the order in which
 * the queue executes. It knows neither a driver nor the filter.
 */

#ifndef GPUVAL_SYNC_H
#define GPUVAL_SYNC_H

#include <stdbool.h>
#include <stdint.h>

#include <vulkan/vulkan_core.h>

#include "compiler/shader_enums.h"

#include "base/gpuval_layout.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Kinds of work. Each has its own epoch, since a barrier may be for one only. */
enum gpuval_sync_work {
   GPUVAL_SYNC_GRAPHICS,
   GPUVAL_SYNC_COMPUTE,
   GPUVAL_SYNC_RAYS,
   GPUVAL_SYNC_INDIRECT, /* the read of a command's arguments */
   GPUVAL_SYNC_WORK_COUNT,
};

struct gpuval_sync_epoch {
   uint32_t number;
   uint32_t flags[GPUVAL_SYNC_WORK_COUNT]; /* GPUVAL_SYNC_*, for work of each kind */
   uint64_t first_submit;                  /* with work in this epoch; else UINT64_MAX */
   uint32_t first_command;                 /* the same */

   VkPipelineStageFlags2 worked;    /* stages that have run in it */
   VkPipelineStageFlags2 reached;   /* stages that come after some of them, by a chain */
   VkPipelineStageFlags2 available; /* the same, with the shaders' writes made available */
};

struct gpuval_sync {
   /* Those of one number are the same. The last one is the newest. */
   struct gpuval_sync_epoch epochs[GPUVAL_SYNC_WORK_COUNT + 1];
};

#define GPUVAL_SYNC_ALL_SUBMITS UINT64_MAX

void gpuval_sync_init(struct gpuval_sync *sync);

/** What dependencies say, as one of memory barriers: for commands that are recorded. */
struct gpuval_sync_scopes {
   uint32_t count;
   VkMemoryBarrier2 barriers[];
};

/** Bytes of the struct for all of @infos. */
size_t gpuval_sync_scopes_size(uint32_t count, const VkDependencyInfo *infos);
void gpuval_sync_copy_scopes(struct gpuval_sync_scopes *scopes, uint32_t count,
                             const VkDependencyInfo *infos);

/** The functions that follow return whether an epoch has begun. */

/** A pipeline barrier, or events that were waited for: all of it happens at once. */
bool gpuval_sync_dependency(struct gpuval_sync *sync, const VkDependencyInfo *info);
bool gpuval_sync_recorded_dependency(struct gpuval_sync *sync,
                                     const struct gpuval_sync_scopes *scopes);

/**
 * A submit waits in the stages @dst for a semaphore that was signalled after
 * the stages @src of all submits up to number @covered.
 */
bool gpuval_sync_semaphore(struct gpuval_sync *sync, uint64_t covered, VkPipelineStageFlags2 src,
                           VkPipelineStageFlags2 dst);

/** The host knew that all submits up to number @covered had ended. */
bool gpuval_sync_host(struct gpuval_sync *sync, uint64_t covered);

/** Where the shaders of a stage run. */
VkPipelineStageFlags2 gpuval_sync_stage(gl_shader_stage stage);

/**
 * The command of @data->command_id, of submit @submit, is about to run in @stages.
 * Fills in what else of @data is sync's.
 */
void gpuval_sync_work(struct gpuval_sync *sync, enum gpuval_sync_work work,
                      VkPipelineStageFlags2 stages, uint64_t submit,
                      struct gpuval_command_data *data);

/** Epochs that shaders may be in and that are not @epoch; returns how many. */
unsigned gpuval_sync_shader_epochs(const struct gpuval_sync *sync, uint32_t epoch,
                                   uint32_t out[GPUVAL_SYNC_WORK_COUNT]);

#ifdef __cplusplus
}
#endif

#endif

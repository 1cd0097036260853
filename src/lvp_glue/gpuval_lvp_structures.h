/* SPDX-License-Identifier: MIT */

/* ray: acceleration structures, which the queue's thread builds, or dispatches that it executes. */

#ifndef GPUVAL_LVP_STRUCTURES_H
#define GPUVAL_LVP_STRUCTURES_H

#include <vulkan/vulkan_core.h>

struct gpuval_commands;
struct gpuval_lvp;
struct gpuval_lvp_structures;
struct vk_cmd_queue;
struct vk_cmd_queue_entry;

/** Observes @commands. */
struct gpuval_lvp_structures *gpuval_lvp_structures_create(void *mem_ctx, struct gpuval_lvp *gpuval,
                                                           struct gpuval_commands *commands);

/**
 * Where dispatches build: @build has just been recorded in @queue. With GPUVAL_SAFE returns what
 * is to be built in its place (vkCmdBuildAccelerationStructuresKHR::pInfos), which the caller frees
 * with ralloc_free(): instances that lie in memory of the command's. Otherwise NULL.
 */
VkAccelerationStructureBuildGeometryInfoKHR *
gpuval_lvp_structures_record(struct gpuval_lvp *gpuval, struct vk_cmd_queue *queue,
                             struct vk_cmd_queue_entry *build);

/**
 * The command that has been visited last, on the queue's thread. Returns what is to be executed in
 * its place: itself, or where that is unsafe another one, which lives until the next call.
 */
struct vk_cmd_queue_entry *gpuval_lvp_structures_replace(struct gpuval_lvp_structures *structures,
                                                         struct vk_cmd_queue_entry *command);

#endif

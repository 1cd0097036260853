/* SPDX-License-Identifier: MIT */

/* What gpuval knows of a device of lavapipe's. Only what Mesa calls looks into it: gpuval_lvp.c,
 * gpuval_lvp_memory.c and gpuval_lvp_execute.c.
 */

#ifndef GPUVAL_LVP_DEVICE_H
#define GPUVAL_LVP_DEVICE_H

#include "gpuval_lvp.h"
#include "gpuval_lvp_commands.h"
#include "gpuval_lvp_private.h"
#include "gpuval_lvp_progress.h"
#include "gpuval_lvp_recording.h"

#include "gpuval/src/compat/gpuval_lvp_driver.h"
#include "gpuval/src/core/commands/gpuval_commands.h"
#include "gpuval/src/core/gpuval_hooks.h"
#include "gpuval/src/core/inputs/gpuval_indirect.h"

struct gpuval_lvp {
   struct gpuval_lvp_below_recording below_recording;
   struct gpuval_device *device;
   struct lvp_device *lvp;
   const struct gpuval_lvp_jit *jit;
   struct gpuval_lvp_order *order; /* NULL: nobody asks for it */
   struct gpuval_hooks hooks;      /* where order has none */
   struct gpuval_shadow *shadow;   /* NULL: without, or with its bloom filter */
   struct gpuval_shadow *window;   /* where memory is put; NULL: it stays where it is */
   bool warned_memory, warned_sparse;
   struct gpuval_lvp_pending *pending; /* shaders that are being created */

   struct gpuval_lvp_commands *commands;
   struct gpuval_lvp_draws *draws;
   struct gpuval_queue_labels *queue_labels;
   struct gpuval_lvp_progress progress;

   /* On the queue's thread only */
   unsigned work;
   int64_t submission;
   struct gpuval_lvp_executions *executions;
   const struct lvp_pipeline *pipelines[LVP_PIPELINE_TYPE_COUNT];
   uint32_t descriptor_buffers[LVP_PIPELINE_TYPE_COUNT]; /* in the place of sets */
   uint32_t moved_sets[LVP_PIPELINE_TYPE_COUNT]; /* dynamic offsets: gpuval_lvp_trim_sets() */
   uint32_t emitted_sets; /* types of pipelines whose sets command data still has */
   struct gpuval_lvp_command current;
   struct pipe_resource *constants; /* constant buffer 0 of compute shaders, or NULL */
   uint8_t *constants_map;
   bool has_constants;                     /* it is bound */
   VkShaderEXT shaders[LVP_SHADER_STAGES]; /* where there are no pipelines */
   uint32_t id; /* of the current command, where the host has asked for one */
   bool has_id;
   struct gpuval_lvp_inputs *inputs;         /* NULL: nobody looks at what commands read */
   struct gpuval_lvp_structures *structures; /* NULL: without the ray check */
   struct gpuval_lvp_builds *builds;         /* NULL: lavapipe executes builds */
   struct gpuval_lvp_written *written;       /* NULL: without init */
   struct gpuval_lvp_race *race;             /* NULL: without race */
   struct gpuval_command_driver command_driver;
   struct gpuval_commands *walk; /* tells these and others of commands */
   struct gpuval_host_memory memory;
   bool waits;        /* the last command: what comes behind it finds nothing that runs */
   bool is_generated; /* the command that comes next */
   bool begins_query; /* it: lavapipe emits the state, but nothing that shaders do */

   bool changes_pipelines;                     /* what is generated does */
   const struct vk_cmd_queue_entry *arguments; /* an indirect command that has not read them yet */
   const VkConditionalRenderingBeginInfoEXT *condition; /* NULL: commands are executed */
};

#endif

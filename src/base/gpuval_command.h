/* SPDX-License-Identifier: MIT */

#ifndef GPUVAL_COMMAND_H
#define GPUVAL_COMMAND_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define GPUVAL_MAX_LABELS 16

/** What is known of a command. Handles are 0 and strings NULL if they are not. */
struct gpuval_command {
   const char *op; /* the Vulkan command in snake case, without vkCmd */
   int64_t index;  /* among the actions of its command buffer; -1: it is none */
   bool has_draw;  /* of several that the command makes */
   uint32_t draw;  /* from 0 */
   bool has_draws; /* makes several, and which one the records of vertex shaders tell */
   uint64_t command_buffer;
   const char *command_buffer_name;
   uint64_t primary; /* of a secondary command buffer */
   const char *primary_name;
   uint64_t pipeline;
   const char *pipeline_name;
   const char *labels[GPUVAL_MAX_LABELS]; /* outermost first */
   unsigned num_labels;
   int64_t submission;
   uint64_t shader; /* a shader object, in the place of the pipeline */
   const char *shader_name;
   uint32_t calls; /* gpuval_backtrace_capture(), when it was recorded */
};

/** What pipelines a command executes, by its gpuval_command::op */
enum gpuval_command_pipelines {
   GPUVAL_COMMAND_NO_PIPELINES,
   GPUVAL_COMMAND_DRAWS,
   GPUVAL_COMMAND_DRAWS_MESHES,
   GPUVAL_COMMAND_DISPATCHES,
   GPUVAL_COMMAND_TRACES,
};

static inline enum gpuval_command_pipelines
gpuval_command_pipelines(const char *op)
{
   return !strncmp(op, "draw_mesh", 9)     ? GPUVAL_COMMAND_DRAWS_MESHES
          : !strncmp(op, "draw", 4)        ? GPUVAL_COMMAND_DRAWS
          : !strncmp(op, "dispatch", 8)    ? GPUVAL_COMMAND_DISPATCHES
          : !strncmp(op, "trace_rays", 10) ? GPUVAL_COMMAND_TRACES
                                           : GPUVAL_COMMAND_NO_PIPELINES;
}

#endif

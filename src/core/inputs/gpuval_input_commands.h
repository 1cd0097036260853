/* SPDX-License-Identifier: MIT */

/* The checks `indirect` and `vertex`, what commands read before a shader runs: arguments, indices,
 * attributes. For hosts that execute commands themselves, and so can read the same memory right
 * before. An observer of commands keeps what is bound by the API, as drivers lose which buffers
 * their own state was made of.
 */

#ifndef GPUVAL_INPUT_COMMANDS_H
#define GPUVAL_INPUT_COMMANDS_H

#include "core/commands/gpuval_commands.h"
#include "core/commands/gpuval_vertex.h"
#include "gpuval_generated.h"
#include "gpuval_indirect.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gpuval_input_commands;
struct vk_device;
struct vk_graphics_pipeline_state;

/** What matters of the shaders that are bound. Checks are BITFIELD_BIT(enum gpuval_check). */
struct gpuval_bound_shaders {
   uint32_t draw_checks; /* those of any shader of draws, but for vertex: of the vertex shader */
   uint32_t dispatch_checks, trace_checks;
   uint32_t inputs_read; /* by the vertex shader: a bit each location */
   bool robust_vertex;   /* attributes out of range are defined */
   bool has_task;
};

/** What only a driver can say */
struct gpuval_input_driver {
   const struct vk_device *vk;
   struct gpuval_host_memory memory;

   /* Returns the state of a pipeline that is bound, which lives as long; NULL: it has none. */
   const struct vk_graphics_pipeline_state *(*get_state)(void *data, VkPipeline pipeline);
   /* A pipeline or shaders are bound by @command. */
   void (*bind)(void *data, const struct vk_cmd_queue_entry *command);
   void (*get_shaders)(void *data, struct gpuval_bound_shaders *shaders);
   /* Returns whether the command that comes next has been generated of memory that was looked at. */
   bool (*is_generated)(void *data);
   struct gpuval_generated_layout (*get_layout)(VkIndirectCommandsLayoutEXT layout);
   /* A draw with a shader that `sync` looks at is about to fetch. NULL: nobody wants to know. */
   void (*fetch)(void *data, const struct gpuval_vertex_input *input,
                 const struct gpuval_draw *draw);
   gpuval_report_function report;
   void *data;
};

struct gpuval_input_commands *
gpuval_input_commands_create(void *mem_ctx, const struct gpuval_input_driver *driver);

/** What a driver has to do in the place of a command that is unsafe. */
enum gpuval_input_verdict {
   GPUVAL_INPUT_GOOD,     /* nothing: it is safe */
   GPUVAL_INPUT_SKIP,     /* skip the command, */
   GPUVAL_INPUT_SKIP_BAD, /* or those draws of it that are bad: @arguments and @limits */
};

struct gpuval_input_result {
   enum gpuval_input_verdict verdict;
   struct gpuval_arguments arguments;
   struct gpuval_arguments_limits limits;
};

/** Returns what was found out of the command that has been visited last. */
const struct gpuval_input_result *
gpuval_input_commands_result(const struct gpuval_input_commands *inputs);

/** For a struct gpuval_input_commands */
extern const struct gpuval_command_observer gpuval_input_observer;

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: MIT */

/* indirect: generated commands, when a GPU's shader of RADV's reads them. What is in the
 * sequences is looked at as other arguments are; what their tokens refer to is not.
 */

#include "gpuval_radv_layer.h"

#include "radv_cmd_buffer.h"
#include "radv_device.h"
#include "radv_dgc.h"
#include "radv_shader.h"

#include "gpuval/src/core/shaders/gpuval_instrument.h"

/* The structs of a layout; false: they are somewhere else. */
static bool
get_structs(const struct vk_indirect_command_layout *layout, struct gpuval_arguments *arguments,
            VkPipelineBindPoint *bind_point)
{
   static const struct {
      enum mesa_vk_dgc_types token;
      enum gpuval_arguments_type type;
      VkPipelineBindPoint bind_point;
   } kinds[] = {
      {MESA_VK_DGC_DRAW, GPUVAL_ARGUMENTS_DRAW, VK_PIPELINE_BIND_POINT_GRAPHICS},
      {MESA_VK_DGC_DRAW_INDEXED, GPUVAL_ARGUMENTS_DRAW_INDEXED, VK_PIPELINE_BIND_POINT_GRAPHICS},
      {MESA_VK_DGC_DRAW_MESH, GPUVAL_ARGUMENTS_DRAW_MESH_TASKS, VK_PIPELINE_BIND_POINT_GRAPHICS},
      {MESA_VK_DGC_DISPATCH, GPUVAL_ARGUMENTS_DISPATCH, VK_PIPELINE_BIND_POINT_COMPUTE},
      {MESA_VK_DGC_RT, GPUVAL_ARGUMENTS_TRACE_RAYS2, VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR},
   };

   for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++) {
      if (!(layout->dgc_info & BITFIELD_BIT(kinds[i].token)))
         continue;
      *bind_point = kinds[i].bind_point;
      arguments->type = kinds[i].type;
      if (*bind_point != VK_PIPELINE_BIND_POINT_GRAPHICS)
         arguments->offset = layout->dispatch_src_offset_B;
      else
         arguments->offset = layout->draw_src_offset_B;
      return *bind_point != VK_PIPELINE_BIND_POINT_GRAPHICS || !layout->draw_count;
   }
   return false;
}

/* Where their number is cannot be read: false. */
static bool
check_count(struct gpuval_radv_recording *recording, uint64_t address)
{
   const struct gpuval_command_range range =
      gpuval_find_range(recording->gpuval->device, address, sizeof(uint32_t));
   struct gpuval_command_failure failure;

   if (!gpuval_check_argument_bytes(&range, 0, sizeof(uint32_t), "the count", &failure))
      return true;
   gpuval_radv_note(recording, &failure);
   return false;
}

static struct gpuval_radv_look *
look(struct gpuval_radv_recording *recording, const VkGeneratedCommandsInfoEXT *info,
     const struct gpuval_arguments *arguments)
{
   struct gpuval_radv_look at = {
      .arguments = *arguments,
      .count_address = info->sequenceCountAddress,
      .max_count = arguments->count,
   };

   if (at.count_address ? !check_count(recording, at.count_address)
                        : !gpuval_radv_check_structs(recording, arguments))
      return NULL;
   return gpuval_radv_look_before(recording, &at);
}

static struct gpuval_radv_look *
look_at_generated(struct gpuval_radv_recording *recording, const VkGeneratedCommandsInfoEXT *info)
{
   VK_FROM_HANDLE(radv_indirect_command_layout, layout, info->indirectCommandsLayout);
   struct gpuval_arguments arguments = {
      .stride = layout->vk.stride,
      .count = info->maxSequenceCount,
      .counted = info->sequenceCountAddress != 0,
   };

   if (!get_structs(&layout->vk, &arguments, &recording->bind_point))
      return NULL;
   arguments.range = gpuval_find_range(recording->gpuval->device, info->indirectAddress,
                                       info->indirectAddressSize);
   return look(recording, info, &arguments);
}

void
gpuval_radv_begin_generated(struct gpuval_radv_generated *generated, VkCommandBuffer handle,
                            const VkGeneratedCommandsInfoEXT *info, bool is_preprocessed)
{
   *generated = (struct gpuval_radv_generated){
      .recording = gpuval_radv_begin(handle, VK_PIPELINE_BIND_POINT_GRAPHICS),
      .info = info,
   };
   if (gpuval_options_may_check(GPUVAL_CHECK_INDIRECT) && !is_preprocessed)
      generated->look = look_at_generated(&generated->recording, info);
   generated->is_skipped = gpuval_radv_skips(&generated->recording);
}

/* What a draw has bound is known unless the sequences bind it. */
void
gpuval_radv_end_generated(struct gpuval_radv_generated *generated, bool is_executed)
{
   VK_FROM_HANDLE(radv_indirect_command_layout, layout, generated->info->indirectCommandsLayout);
   const uint32_t binds =
      BITFIELD_BIT(MESA_VK_DGC_IES) | BITFIELD_BIT(MESA_VK_DGC_IB) | BITFIELD_BIT(MESA_VK_DGC_VB);
   struct gpuval_radv_recording *recording = &generated->recording;
   const struct radv_cmd_state *state = &recording->cmd_buffer->state;

   if (!generated->look)
      return;
   if (is_executed && !(layout->vk.dgc_info & binds))
      gpuval_radv_finish_look(recording, generated->look);
   else
      generated->look->limits = gpuval_arguments_get_limits(
         &recording->gpuval->radv->vk, generated->look->arguments.type,
         is_executed && radv_get_shader(state->shaders, MESA_SHADER_TASK));
}

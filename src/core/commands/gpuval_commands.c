/* SPDX-License-Identifier: MIT */

#include "gpuval_commands.h"
#include "gpuval_command_describe.h"

#include "core/order/gpuval_dependency.h"

#include "gpuval/src/compat/gpuval_dynarray.h"
#include "gpuval/src/compat/gpuval_runtime.h"
#include "util/ralloc.h"
#include "vk_limits.h"

#define MAX_FEEDBACK_BUFFERS 4

struct observer {
   const struct gpuval_command_observer *callbacks;
   void *data;
};

struct feedback_buffer {
   VkBuffer buffer;
   uint64_t offset, size;
   uint64_t captured; /* where it began */
};

struct gpuval_commands {
   const struct gpuval_command_driver *driver;
   struct util_dynarray observers; /* struct observer */
   bool wants_accesses;
   bool wants_attachments;

   /* State of the command buffer */
   const VkRenderingInfo *rendering; /* NULL: outside of renderings; else this one: */
   VkRenderingInfo kept_rendering;
   VkRenderingAttachmentInfo kept_attachments[MESA_VK_MAX_COLOR_ATTACHMENTS + 2];
   struct feedback_buffer feedback_buffers[MAX_FEEDBACK_BUFFERS];
   bool feedback_begins; /* its beginning was the last command */
};

struct gpuval_commands *
gpuval_commands_create(void *mem_ctx, const struct gpuval_command_driver *driver)
{
   struct gpuval_commands *commands = rzalloc(mem_ctx, struct gpuval_commands);

   commands->driver = driver;
   util_dynarray_init(&commands->observers, commands);
   return commands;
}

void
gpuval_commands_add_observer(struct gpuval_commands *commands,
                             const struct gpuval_command_observer *callbacks, void *data)
{
   const struct observer observer = {callbacks, data};

   util_dynarray_append_typed(&commands->observers, struct observer, observer);
   commands->wants_accesses |= callbacks->access != NULL;
   commands->wants_attachments |= callbacks->attachment != NULL;
}

#define TELL(commands, callback, ...)                                                              \
   util_dynarray_foreach (&(commands)->observers, struct observer, observer_) {                    \
      if (observer_->callbacks->callback)                                                          \
         observer_->callbacks->callback(observer_->data, ##__VA_ARGS__);                           \
   }

void
gpuval_commands_begin(struct gpuval_commands *commands)
{
   commands->rendering = NULL;
   memset(commands->feedback_buffers, 0, sizeof(commands->feedback_buffers));
   TELL(commands, reset);
}

/* Renderings */

struct attachments_visit {
   const struct gpuval_commands *commands;
   const VkRenderingInfo *info;
   enum gpuval_attachment_event event;
   const struct vk_cmd_clear_attachments *clear; /* of CLEAR: which ones */
};

static bool
is_cleared(const struct vk_cmd_clear_attachments *clear, const struct gpuval_attachment *attachment)
{
   for (uint32_t i = 0; i < clear->attachment_count; i++) {
      const VkClearAttachment *cleared = &clear->attachments[i];
      if (cleared->aspectMask & attachment->aspects &&
          (attachment->aspects != VK_IMAGE_ASPECT_COLOR_BIT ||
           cleared->colorAttachment == attachment->number))
         return true;
   }
   return false;
}

static void
tell_attachment(void *data, const struct gpuval_attachment *attachment)
{
   const struct attachments_visit *visit = data;

   if (visit->event == GPUVAL_ATTACHMENT_CLEAR && !is_cleared(visit->clear, attachment))
      return;
   if (visit->event == GPUVAL_ATTACHMENT_RESOLVE_FROM &&
       !(attachment->info->resolveMode && attachment->info->resolveImageView))
      return;
   TELL(visit->commands, attachment, visit->info, attachment, visit->event);
}

static void
tell_attachments(const struct gpuval_commands *commands, enum gpuval_attachment_event event,
                 const struct vk_cmd_clear_attachments *clear)
{
   struct attachments_visit visit = {
      .commands = commands,
      .info = commands->rendering,
      .event = event,
      .clear = clear,
   };

   if (commands->rendering && commands->wants_attachments)
      gpuval_visit_attachments(commands->rendering, event == GPUVAL_ATTACHMENT_RESOLVE_TO,
                               tell_attachment, &visit);
}

static const VkRenderingAttachmentInfo *
keep_attachments(VkRenderingAttachmentInfo *to, const VkRenderingAttachmentInfo *attachments,
                 uint32_t count)
{
   for (uint32_t i = 0; attachments && i < count; i++) {
      to[i] = attachments[i];
      to[i].pNext = NULL;
   }
   return attachments ? to : NULL;
}

/* The command that begins a rendering may be gone when draws and its end are visited. */
static void
keep_rendering(struct gpuval_commands *commands, const VkRenderingInfo *info)
{
   const uint32_t max = MESA_VK_MAX_COLOR_ATTACHMENTS;
   VkRenderingAttachmentInfo *attachments = commands->kept_attachments;
   VkRenderingInfo *kept = &commands->kept_rendering;

   *kept = *info;
   kept->pNext = NULL;
   kept->colorAttachmentCount = MIN2(info->colorAttachmentCount, max);
   kept->pColorAttachments =
      keep_attachments(attachments, info->pColorAttachments, kept->colorAttachmentCount);
   kept->pDepthAttachment = keep_attachments(&attachments[max], info->pDepthAttachment, 1);
   kept->pStencilAttachment = keep_attachments(&attachments[max + 1], info->pStencilAttachment, 1);
   commands->rendering = kept;
}

static void
begin_rendering(struct gpuval_commands *commands, const VkRenderingInfo *info)
{
   keep_rendering(commands, info);
   TELL(commands, begin_rendering, info);
   if (!(info->flags & VK_RENDERING_RESUMING_BIT))
      tell_attachments(commands, GPUVAL_ATTACHMENT_LOAD, NULL);
}

static void
end_rendering(struct gpuval_commands *commands)
{
   const VkRenderingInfo *info = commands->rendering;
   if (!info)
      return;

   if (!(info->flags & VK_RENDERING_SUSPENDING_BIT)) {
      tell_attachments(commands, GPUVAL_ATTACHMENT_STORE, NULL);
      tell_attachments(commands, GPUVAL_ATTACHMENT_RESOLVE_FROM, NULL);
      tell_attachments(commands, GPUVAL_ATTACHMENT_RESOLVE_TO, NULL);
   }
   commands->rendering = NULL;
   TELL(commands, end_rendering, info);
}

/* Dependencies */

static void
tell_dependency(const struct gpuval_commands *commands, const struct vk_cmd_queue_entry *command)
{
   struct gpuval_command_dependency dependency = {0};

   switch ((unsigned)command->type) {
   case VK_CMD_PIPELINE_BARRIER2:
      dependency.barrier = command->u.pipeline_barrier2.dependency_info;
      dependency.num_images = dependency.barrier->imageMemoryBarrierCount;
      dependency.images = dependency.barrier->pImageMemoryBarriers;
      TELL(commands, dependency, &dependency);
      return;
   case VK_CMD_WAIT_EVENTS2:
      dependency.events = command->driver_data;
      if (dependency.events) {
         dependency.num_images = dependency.events->num_images;
         dependency.images = dependency.events->images;
         TELL(commands, dependency, &dependency);
      }
      return;
   case VK_CMD_SET_EVENT2:
      TELL(commands, set_event, command->u.set_event2.event,
           gpuval_event_stages(command->u.set_event2.dependency_info));
      return;
   case VK_CMD_RESET_EVENT2:
      TELL(commands, reset_event, command->u.reset_event2.event);
      return;
   }
}

/* Transform feedback */

static void
bind_feedback_buffers(struct gpuval_commands *commands,
                      const struct vk_cmd_bind_transform_feedback_buffers_ext *bind)
{
   for (uint32_t i = 0; i < bind->binding_count; i++) {
      if (bind->first_binding + i >= MAX_FEEDBACK_BUFFERS)
         return;
      commands->feedback_buffers[bind->first_binding + i] = (struct feedback_buffer){
         .buffer = bind->buffers[i],
         .offset = bind->offsets[i],
         .size = bind->sizes ? bind->sizes[i] : VK_WHOLE_SIZE,
      };
   }
}

/* What is captured begins behind what a counter says, which is known when that has been read. */
static void
note_feedback(struct gpuval_commands *commands)
{
   const struct gpuval_command_driver *driver = commands->driver;

   for (unsigned i = 0; driver->captured && i < MAX_FEEDBACK_BUFFERS; i++)
      commands->feedback_buffers[i].captured = driver->captured(driver->data, i);
   commands->feedback_begins = false;
}

/* At the end: all that its draws have captured */
static void
describe_captured(const struct gpuval_commands *commands, const struct gpuval_access_sink *sink)
{
   const struct gpuval_command_driver *driver = commands->driver;

   for (unsigned i = 0; driver->captured && i < MAX_FEEDBACK_BUFFERS; i++) {
      const struct feedback_buffer *buffer = &commands->feedback_buffers[i];
      uint64_t end = driver->captured(driver->data, i);
      if (buffer->buffer && end > buffer->captured)
         gpuval_describe_buffer(sink, VK_PIPELINE_STAGE_2_TRANSFORM_FEEDBACK_BIT_EXT,
                                VK_ACCESS_2_TRANSFORM_FEEDBACK_WRITE_BIT_EXT, buffer->buffer,
                                buffer->offset + buffer->captured, end - buffer->captured, false);
   }
}

/* How much of it depends on the primitives of the draws up to its end, which may be anywhere in the
 * buffers: these stay bound.
 */
static void
describe_feedback(const struct gpuval_commands *commands, const struct gpuval_access_sink *sink)
{
   for (unsigned i = 0; i < MAX_FEEDBACK_BUFFERS; i++) {
      const struct feedback_buffer *buffer = &commands->feedback_buffers[i];
      gpuval_describe_buffer(sink, VK_PIPELINE_STAGE_2_TRANSFORM_FEEDBACK_BIT_EXT,
                             VK_ACCESS_2_TRANSFORM_FEEDBACK_WRITE_BIT_EXT, buffer->buffer,
                             buffer->offset, buffer->size, true);
   }
}

static void
describe_counters(const struct gpuval_access_sink *sink, VkPipelineStageFlags2 stages,
                  VkAccessFlags2 access, uint32_t count, const VkBuffer *buffers,
                  const VkDeviceSize *offsets)
{
   for (uint32_t i = 0; buffers && i < count; i++)
      gpuval_describe_buffer(sink, stages, access, buffers[i], offsets ? offsets[i] : 0,
                             sizeof(uint32_t), false);
}

/* Transform feedback's counters, and conditional rendering */
static void
describe_state(const struct gpuval_access_sink *sink, const struct vk_cmd_queue_entry *command)
{
   const struct vk_cmd_begin_transform_feedback_ext *begin =
      &command->u.begin_transform_feedback_ext;
   const struct vk_cmd_end_transform_feedback_ext *end = &command->u.end_transform_feedback_ext;
   const VkConditionalRenderingBeginInfoEXT *condition;

   switch ((unsigned)command->type) {
   case VK_CMD_BEGIN_TRANSFORM_FEEDBACK_EXT:
      describe_counters(
         sink,
         VK_PIPELINE_STAGE_2_DRAW_INDIRECT_BIT | VK_PIPELINE_STAGE_2_TRANSFORM_FEEDBACK_BIT_EXT,
         VK_ACCESS_2_TRANSFORM_FEEDBACK_COUNTER_READ_BIT_EXT, begin->counter_buffer_count,
         begin->counter_buffers, begin->counter_buffer_offsets);
      return;
   case VK_CMD_END_TRANSFORM_FEEDBACK_EXT:
      describe_counters(sink, VK_PIPELINE_STAGE_2_TRANSFORM_FEEDBACK_BIT_EXT,
                        VK_ACCESS_2_TRANSFORM_FEEDBACK_COUNTER_WRITE_BIT_EXT,
                        end->counter_buffer_count, end->counter_buffers,
                        end->counter_buffer_offsets);
      return;
   case VK_CMD_BEGIN_CONDITIONAL_RENDERING_EXT:
      condition = command->u.begin_conditional_rendering_ext.conditional_rendering_begin;
      gpuval_describe_buffer(sink, VK_PIPELINE_STAGE_2_CONDITIONAL_RENDERING_BIT_EXT,
                             VK_ACCESS_2_CONDITIONAL_RENDERING_READ_BIT_EXT, condition->buffer,
                             condition->offset, sizeof(uint32_t), false);
      return;
   }
}

/* Commands */

static void
note_state(struct gpuval_commands *commands, const struct vk_cmd_queue_entry *command)
{
   switch ((unsigned)command->type) {
   case VK_CMD_BIND_TRANSFORM_FEEDBACK_BUFFERS_EXT:
      bind_feedback_buffers(commands, &command->u.bind_transform_feedback_buffers_ext);
      return;
   case VK_CMD_BEGIN_TRANSFORM_FEEDBACK_EXT:
      commands->feedback_begins = true;
      return;
   }
}

void
gpuval_command_visit_accesses(const struct vk_cmd_queue_entry *command,
                              const struct gpuval_command_driver *driver,
                              gpuval_access_function function, void *data)
{
   const struct gpuval_access_sink sink = {function, data};

   switch (gpuval_command_kind(command->type)) {
   case GPUVAL_COMMAND_STATE:
      describe_state(&sink, command);
      return;
   case GPUVAL_COMMAND_TRANSFER:
      gpuval_describe_transfer(&sink, driver, command);
      return;
   case GPUVAL_COMMAND_STRUCTURE:
      gpuval_describe_structure(&sink, command);
      return;
   case GPUVAL_COMMAND_DRAW:
   case GPUVAL_COMMAND_DISPATCH:
   case GPUVAL_COMMAND_TRACE:
   case GPUVAL_COMMAND_GENERATED:
   case GPUVAL_COMMAND_PREPROCESS:
      gpuval_describe_action(&sink, command);
      return;
   case GPUVAL_COMMAND_RENDERING:
      gpuval_describe_rendering(&sink, command);
      return;
   case GPUVAL_COMMAND_VIDEO:
      gpuval_describe_video(&sink, command);
      return;
   case GPUVAL_COMMAND_UNKNOWN:
   case GPUVAL_COMMAND_HARMLESS:
   case GPUVAL_COMMAND_BINDS:
   case GPUVAL_COMMAND_DEPENDENCY:
   case GPUVAL_COMMAND_EXECUTES:
   case GPUVAL_COMMAND_REPLACED:
   case GPUVAL_COMMAND_NOT_OFFERED:
      return;
   }
}

static void
tell_access(void *data, const struct gpuval_command_access *access)
{
   const struct gpuval_commands *commands = data;
   TELL(commands, access, access);
}

void
gpuval_commands_visit(struct gpuval_commands *commands, const struct vk_cmd_queue_entry *command)
{
   const struct gpuval_access_sink sink = {tell_access, commands};

   if (commands->feedback_begins)
      note_feedback(commands);
   TELL(commands, begin, command);
   if (commands->wants_accesses && command->type == VK_CMD_END_TRANSFORM_FEEDBACK_EXT)
      describe_captured(commands, &sink);
   if (commands->wants_accesses)
      gpuval_command_visit_accesses(command, commands->driver, tell_access, commands);
   if (commands->wants_accesses && command->type == VK_CMD_BEGIN_TRANSFORM_FEEDBACK_EXT)
      describe_feedback(commands, &sink);

   switch (gpuval_command_kind(command->type)) {
   case GPUVAL_COMMAND_STATE:
      note_state(commands, command);
      break;
   case GPUVAL_COMMAND_DRAW:
   case GPUVAL_COMMAND_GENERATED:
      tell_attachments(commands, GPUVAL_ATTACHMENT_DRAW, NULL);
      break;
   case GPUVAL_COMMAND_RENDERING:
      if (command->type == VK_CMD_BEGIN_RENDERING)
         begin_rendering(commands, command->u.begin_rendering.rendering_info);
      else if (command->type == GPUVAL_CMD_END_RENDERING)
         end_rendering(commands);
      else
         tell_attachments(commands, GPUVAL_ATTACHMENT_CLEAR, &command->u.clear_attachments);
      break;
   case GPUVAL_COMMAND_DEPENDENCY:
      tell_dependency(commands, command);
      break;
   default:
      break;
   }
   TELL(commands, end, command);
}

/* SPDX-License-Identifier: MIT */

/*
 * Synchronization: barriers, events, render passes, and submits that do not
 * wait. Events, fences and semaphores exist from their first use on.
 */

#include "scenario_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BARRIERS     8
#define MAX_DEPENDENCIES 8
#define MAX_SUBPASSES    4
#define MAX_WAITS        4

struct sync_object {
   const char *name;
   enum { OBJECT_EVENT, OBJECT_FENCE, OBJECT_BINARY, OBJECT_TIMELINE } type;
   union {
      VkEvent event;
      VkFence fence;
      VkSemaphore semaphore;
   };
};

struct pass {
   const char *name;
   VkRenderPass pass;
   VkFramebuffer framebuffer;
};

struct run_barriers {
   struct sync_object *objects;
   unsigned object_count;
   struct pass *passes;
   unsigned pass_count;
   VkCommandBuffer last; /* submitted */
   bool in_flight;
};

static struct run_barriers *
get_barriers(struct run *run)
{
   if (!run->barriers)
      run->barriers = calloc(1, sizeof(*run->barriers));
   if (!run->barriers)
      vkh_die("out of memory");
   return run->barriers;
}

/* --- Scopes --------------------------------------------------------------- */

struct flag {
   const char *name;
   uint64_t bit;
};

static const struct flag stage_flags[] = {
   {"none", 0},
   {"top", VK_PIPELINE_STAGE_2_TOP_OF_PIPE_BIT},
   {"draw_indirect", VK_PIPELINE_STAGE_2_DRAW_INDIRECT_BIT},
   {"vertex_input", VK_PIPELINE_STAGE_2_VERTEX_INPUT_BIT},
   {"vertex", VK_PIPELINE_STAGE_2_VERTEX_SHADER_BIT},
   {"tess_control", VK_PIPELINE_STAGE_2_TESSELLATION_CONTROL_SHADER_BIT},
   {"tess_eval", VK_PIPELINE_STAGE_2_TESSELLATION_EVALUATION_SHADER_BIT},
   {"geometry", VK_PIPELINE_STAGE_2_GEOMETRY_SHADER_BIT},
   {"task", VK_PIPELINE_STAGE_2_TASK_SHADER_BIT_EXT},
   {"mesh", VK_PIPELINE_STAGE_2_MESH_SHADER_BIT_EXT},
   {"fragment", VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT},
   {"early_tests", VK_PIPELINE_STAGE_2_EARLY_FRAGMENT_TESTS_BIT},
   {"late_tests", VK_PIPELINE_STAGE_2_LATE_FRAGMENT_TESTS_BIT},
   {"color_output", VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT},
   {"compute", VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT},
   {"rays", VK_PIPELINE_STAGE_2_RAY_TRACING_SHADER_BIT_KHR},
   {"transfer", VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT},
   {"host", VK_PIPELINE_STAGE_2_HOST_BIT},
   {"bottom", VK_PIPELINE_STAGE_2_BOTTOM_OF_PIPE_BIT},
   {"all_graphics", VK_PIPELINE_STAGE_2_ALL_GRAPHICS_BIT},
   {"all", VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT},
   /* Only with the calls of synchronization2 */
   {"copy", VK_PIPELINE_STAGE_2_COPY_BIT},
   {"index_input", VK_PIPELINE_STAGE_2_INDEX_INPUT_BIT},
   {"pre_rasterization", VK_PIPELINE_STAGE_2_PRE_RASTERIZATION_SHADERS_BIT},
};

static const struct flag access_flags[] = {
   {"none", 0},
   {"indirect_read", VK_ACCESS_2_INDIRECT_COMMAND_READ_BIT},
   {"index_read", VK_ACCESS_2_INDEX_READ_BIT},
   {"uniform_read", VK_ACCESS_2_UNIFORM_READ_BIT},
   {"shader_read", VK_ACCESS_2_SHADER_READ_BIT},
   {"shader_write", VK_ACCESS_2_SHADER_WRITE_BIT},
   {"color_read", VK_ACCESS_2_COLOR_ATTACHMENT_READ_BIT},
   {"color_write", VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT},
   {"transfer_read", VK_ACCESS_2_TRANSFER_READ_BIT},
   {"transfer_write", VK_ACCESS_2_TRANSFER_WRITE_BIT},
   {"host_read", VK_ACCESS_2_HOST_READ_BIT},
   {"host_write", VK_ACCESS_2_HOST_WRITE_BIT},
   {"memory_read", VK_ACCESS_2_MEMORY_READ_BIT},
   {"memory_write", VK_ACCESS_2_MEMORY_WRITE_BIT},
   {"sampled_read", VK_ACCESS_2_SHADER_SAMPLED_READ_BIT},
   {"storage_read", VK_ACCESS_2_SHADER_STORAGE_READ_BIT},
   {"storage_write", VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT},
};

/* NAME|NAME… */
static uint64_t
read_flags(struct run *run, const char *text, const struct flag *flags, unsigned flag_count)
{
   uint64_t bits = 0;
   char *copy = scenario_format("%s", text);
   char *rest = copy;
   char *part;

   while ((part = strsep(&rest, "|"))) {
      unsigned i = 0;
      while (i < flag_count && strcmp(flags[i].name, part) != 0)
         i++;
      if (i == flag_count)
         RUN_ERROR(run, "%s is neither a stage nor an access that is known here", part);
      bits |= flags[i].bit;
   }
   free(copy);
   return bits;
}

struct scope {
   VkPipelineStageFlags2 stages;
   VkAccessFlags2 access;
};

/* STAGES[:ACCESSES] */
static struct scope
read_scope(struct run *run, const char *text)
{
   struct scope scope = {0};
   char *copy = scenario_format("%s", text);
   char *access = copy;
   const char *stages = strsep(&access, ":");

   scope.stages = read_flags(run, stages, stage_flags, VKH_COUNT(stage_flags));
   if (access)
      scope.access = read_flags(run, access, access_flags, VKH_COUNT(access_flags));
   free(copy);
   return scope;
}

/* --- Barriers ------------------------------------------------------------- */

struct dependency {
   struct scope src, dst; /* of the first barrier */
   bool sync1;
   VkMemoryBarrier2 memory[MAX_BARRIERS];
   VkBufferMemoryBarrier2 buffers[MAX_BARRIERS];
   VkImageMemoryBarrier2 images[MAX_BARRIERS];
   VkDependencyInfo info;
};

static void
add_barrier(struct run *run, struct dependency *d, const char *kind, struct scope src,
            struct scope dst)
{
   const bool execution = strcmp(kind, "execution") == 0;

   if (strcmp(kind, "memory") == 0 || (execution && !d->sync1)) {
      d->memory[d->info.memoryBarrierCount++] = (VkMemoryBarrier2){
         .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
         .srcStageMask = src.stages,
         .srcAccessMask = execution ? 0 : src.access,
         .dstStageMask = dst.stages,
         .dstAccessMask = execution ? 0 : dst.access,
      };
   } else if (strncmp(kind, "buffer=", 7) == 0) {
      d->buffers[d->info.bufferMemoryBarrierCount++] = (VkBufferMemoryBarrier2){
         .sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER_2,
         .srcStageMask = src.stages,
         .srcAccessMask = src.access,
         .dstStageMask = dst.stages,
         .dstAccessMask = dst.access,
         .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
         .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
         .buffer = run_find_buffer(run, kind + 7)->vk.buffer,
         .size = VK_WHOLE_SIZE,
      };
   } else if (strcmp(kind, "image") == 0) {
      d->images[d->info.imageMemoryBarrierCount++] = (VkImageMemoryBarrier2){
         .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2,
         .srcStageMask = src.stages,
         .srcAccessMask = src.access,
         .dstStageMask = dst.stages,
         .dstAccessMask = dst.access,
         .oldLayout = VK_IMAGE_LAYOUT_GENERAL,
         .newLayout = VK_IMAGE_LAYOUT_GENERAL,
         .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
         .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
         .image = run->color.image,
         .subresourceRange = {run->color.aspect, 0, 1, 0, 1},
      };
   } else if (!execution) {
      RUN_ERROR(run, "%s is no kind of barrier", kind);
   }
}

/* [sync1] KIND SRC DST [KIND SRC DST …] from word `first` on */
static void
read_dependency(struct run *run, unsigned first, struct dependency *d)
{
   *d = (struct dependency){.info.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO};
   d->info.pMemoryBarriers = d->memory;
   d->info.pBufferMemoryBarriers = d->buffers;
   d->info.pImageMemoryBarriers = d->images;

   d->sync1 = strcmp(run_word(run, first), "sync1") == 0;
   first += d->sync1;
   d->src = read_scope(run, run_word(run, first + 1));
   d->dst = read_scope(run, run_word(run, first + 2));
   for (unsigned i = 0; run_has_word(run, first + i * 3); i++) {
      const char *kind = run_word(run, first + i * 3);
      if (i == MAX_BARRIERS)
         RUN_ERROR(run, "too many barriers");
      add_barrier(run, d, kind, read_scope(run, run_word(run, first + i * 3 + 1)),
                  read_scope(run, run_word(run, first + i * 3 + 2)));
   }
}

/* The same in the structs of Vulkan 1.0 */
struct dependency1 {
   VkMemoryBarrier memory[MAX_BARRIERS];
   VkBufferMemoryBarrier buffers[MAX_BARRIERS];
   VkImageMemoryBarrier images[MAX_BARRIERS];
};

static void
fill_sync1(const struct dependency *d, struct dependency1 *out)
{
   for (unsigned i = 0; i < d->info.memoryBarrierCount; i++) {
      out->memory[i] = (VkMemoryBarrier){
         .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
         .srcAccessMask = (VkAccessFlags)d->memory[i].srcAccessMask,
         .dstAccessMask = (VkAccessFlags)d->memory[i].dstAccessMask,
      };
   }
   for (unsigned i = 0; i < d->info.bufferMemoryBarrierCount; i++) {
      out->buffers[i] = (VkBufferMemoryBarrier){
         .sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER,
         .srcAccessMask = (VkAccessFlags)d->buffers[i].srcAccessMask,
         .dstAccessMask = (VkAccessFlags)d->buffers[i].dstAccessMask,
         .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
         .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
         .buffer = d->buffers[i].buffer,
         .size = VK_WHOLE_SIZE,
      };
   }
   for (unsigned i = 0; i < d->info.imageMemoryBarrierCount; i++) {
      out->images[i] = (VkImageMemoryBarrier){
         .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
         .srcAccessMask = (VkAccessFlags)d->images[i].srcAccessMask,
         .dstAccessMask = (VkAccessFlags)d->images[i].dstAccessMask,
         .oldLayout = VK_IMAGE_LAYOUT_GENERAL,
         .newLayout = VK_IMAGE_LAYOUT_GENERAL,
         .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
         .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
         .image = d->images[i].image,
         .subresourceRange = d->images[i].subresourceRange,
      };
   }
}

/* `barrier`: a full one, or `barrier [sync1] KIND SRC DST …` */
void
run_barrier(struct run *run)
{
   struct dependency d;

   run_end_rendering(run);
   VkCommandBuffer cmd = run_need_commands(run);
   if (!run_has_word(run, 1)) {
      vkh_barrier(cmd);
      return;
   }

   read_dependency(run, 1, &d);
   if (!d.sync1) {
      vkCmdPipelineBarrier2(cmd, &d.info);
      return;
   }

   struct dependency1 d1;
   fill_sync1(&d, &d1);
   vkCmdPipelineBarrier(cmd, (VkPipelineStageFlags)d.src.stages, (VkPipelineStageFlags)d.dst.stages,
                        0, d.info.memoryBarrierCount, d1.memory, d.info.bufferMemoryBarrierCount,
                        d1.buffers, d.info.imageMemoryBarrierCount, d1.images);
}

/* --- Objects -------------------------------------------------------------- */

static struct sync_object *
get_object(struct run *run, const char *name, int type)
{
   struct run_barriers *b = get_barriers(run);
   VkDevice device = run->ctx->device;

   for (unsigned i = 0; i < b->object_count; i++) {
      if (strcmp(b->objects[i].name, name) != 0)
         continue;
      if ((int)b->objects[i].type != type)
         RUN_ERROR(run, "%s is something else already", name);
      return &b->objects[i];
   }

   b->objects = scenario_grow(b->objects, &b->object_count, sizeof(*b->objects));
   struct sync_object *object = &b->objects[b->object_count - 1];
   object->name = scenario_format("%s", name);
   object->type = type;
   if (type == OBJECT_EVENT) {
      const VkEventCreateInfo info = {.sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO};
      VKH_CHECK(vkCreateEvent(device, &info, NULL, &object->event));
   } else if (type == OBJECT_FENCE) {
      const VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
      VKH_CHECK(vkCreateFence(device, &info, NULL, &object->fence));
   } else {
      const VkSemaphoreTypeCreateInfo type_info = {
         .sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
         .semaphoreType =
            type == OBJECT_TIMELINE ? VK_SEMAPHORE_TYPE_TIMELINE : VK_SEMAPHORE_TYPE_BINARY,
      };
      const VkSemaphoreCreateInfo info = {
         .sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
         .pNext = &type_info,
      };
      VKH_CHECK(vkCreateSemaphore(device, &info, NULL, &object->semaphore));
   }
   return object;
}

/* `set_event NAME [sync1] KIND SRC DST …`: with sync1, only SRC's stages count. */
void
run_set_event(struct run *run)
{
   struct dependency d;
   VkEvent event = get_object(run, run_word(run, 1), OBJECT_EVENT)->event;

   run_end_rendering(run);
   read_dependency(run, 2, &d);
   if (d.sync1)
      vkCmdSetEvent(run_need_commands(run), event, (VkPipelineStageFlags)d.src.stages);
   else
      vkCmdSetEvent2(run_need_commands(run), event, &d.info);
}

/* `wait_event NAME [sync1] KIND SRC DST …` */
void
run_wait_event(struct run *run)
{
   struct dependency d;
   VkEvent event = get_object(run, run_word(run, 1), OBJECT_EVENT)->event;

   run_end_rendering(run);
   read_dependency(run, 2, &d);
   if (!d.sync1) {
      vkCmdWaitEvents2(run_need_commands(run), 1, &event, &d.info);
      return;
   }

   struct dependency1 d1;
   fill_sync1(&d, &d1);
   vkCmdWaitEvents(run_need_commands(run), 1, &event, (VkPipelineStageFlags)d.src.stages,
                   (VkPipelineStageFlags)d.dst.stages, d.info.memoryBarrierCount, d1.memory,
                   d.info.bufferMemoryBarrierCount, d1.buffers, d.info.imageMemoryBarrierCount,
                   d1.images);
}

/* `poll_event NAME`: vkGetEventStatus() until it is set */
void
run_poll_event(struct run *run)
{
   VkEvent event = get_object(run, run_word(run, 1), OBJECT_EVENT)->event;
   while (VKH_CHECK(vkGetEventStatus(run->ctx->device, event)) != VK_EVENT_SET)
      ;
}

/* --- Submits -------------------------------------------------------------- */

VkCommandBuffer
run_begin_reusable(struct run *run)
{
   VkCommandBuffer cmd;
   const VkCommandBufferAllocateInfo allocate_info = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
      .commandPool = run->ctx->command_pool,
      .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
      .commandBufferCount = 1,
   };
   VKH_CHECK(vkAllocateCommandBuffers(run->ctx->device, &allocate_info, &cmd));

   const VkCommandBufferBeginInfo begin = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
      .flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT,
   };
   VKH_CHECK(vkBeginCommandBuffer(cmd, &begin));
   return cmd;
}

struct submit {
   bool sync2;
   VkFence fence;
   VkSemaphoreSubmitInfo waits[MAX_WAITS], signals[MAX_WAITS];
   unsigned wait_count, signal_count;
};

/* NAME[@VALUE][:STAGES] */
static void
read_semaphore(struct run *run, const char *text, VkSemaphoreSubmitInfo *infos, unsigned *count)
{
   char *stages = scenario_format("%s", text);
   char *copy = stages;
   char *value = strsep(&stages, ":");
   const char *name = strsep(&value, "@");

   if (*count == MAX_WAITS)
      RUN_ERROR(run, "too many semaphores");
   const struct sync_object *object =
      get_object(run, name, value ? OBJECT_TIMELINE : OBJECT_BINARY);
   infos[(*count)++] = (VkSemaphoreSubmitInfo){
      .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
      .semaphore = object->semaphore,
      .value = value ? strtoull(value, NULL, 0) : 0,
      .stageMask = stages ? read_scope(run, stages).stages : VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
   };
   free(copy);
}

static void
read_submit(struct run *run, struct submit *submit)
{
   *submit = (struct submit){0};
   for (unsigned i = 1; run_has_word(run, i); i++) {
      const char *word = run_word(run, i);
      if (strncmp(word, "wait=", 5) == 0)
         read_semaphore(run, word + 5, submit->waits, &submit->wait_count);
      else if (strncmp(word, "signal=", 7) == 0)
         read_semaphore(run, word + 7, submit->signals, &submit->signal_count);
      else if (strncmp(word, "fence=", 6) == 0)
         submit->fence = get_object(run, word + 6, OBJECT_FENCE)->fence;
      else if (strcmp(word, "sync2") == 0)
         submit->sync2 = true;
      else if (strcmp(word, "plain") != 0)
         RUN_ERROR(run, "%s is no word of a submit", word);
   }
}

static void
submit2(struct run *run, VkCommandBuffer cmd, const struct submit *submit)
{
   const VkCommandBufferSubmitInfo commands = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
      .commandBuffer = cmd,
   };
   const VkSubmitInfo2 info = {
      .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
      .waitSemaphoreInfoCount = submit->wait_count,
      .pWaitSemaphoreInfos = submit->waits,
      .commandBufferInfoCount = 1,
      .pCommandBufferInfos = &commands,
      .signalSemaphoreInfoCount = submit->signal_count,
      .pSignalSemaphoreInfos = submit->signals,
   };
   VKH_CHECK(vkQueueSubmit2(run->ctx->queue, 1, &info, submit->fence));
}

static void
submit1(struct run *run, VkCommandBuffer cmd, const struct submit *submit)
{
   VkSemaphore waits[MAX_WAITS], signals[MAX_WAITS];
   VkPipelineStageFlags stages[MAX_WAITS];
   uint64_t wait_values[MAX_WAITS], signal_values[MAX_WAITS];

   for (unsigned i = 0; i < submit->wait_count; i++) {
      waits[i] = submit->waits[i].semaphore;
      wait_values[i] = submit->waits[i].value;
      stages[i] = (VkPipelineStageFlags)submit->waits[i].stageMask;
   }
   for (unsigned i = 0; i < submit->signal_count; i++) {
      signals[i] = submit->signals[i].semaphore;
      signal_values[i] = submit->signals[i].value;
   }

   const VkTimelineSemaphoreSubmitInfo timeline = {
      .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
      .waitSemaphoreValueCount = submit->wait_count,
      .pWaitSemaphoreValues = wait_values,
      .signalSemaphoreValueCount = submit->signal_count,
      .pSignalSemaphoreValues = signal_values,
   };
   const VkSubmitInfo info = {
      .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
      .pNext = &timeline,
      .waitSemaphoreCount = submit->wait_count,
      .pWaitSemaphores = waits,
      .pWaitDstStageMask = stages,
      .commandBufferCount = 1,
      .pCommandBuffers = &cmd,
      .signalSemaphoreCount = submit->signal_count,
      .pSignalSemaphores = signals,
   };
   VKH_CHECK(vkQueueSubmit(run->ctx->queue, 1, &info, submit->fence));
}

/* plain | sync2 | wait=NAME[@VALUE][:STAGES] | signal=… | fence=NAME … */
void
run_submit(struct run *run, VkCommandBuffer cmd)
{
   struct submit submit;

   read_submit(run, &submit);
   if (submit.sync2)
      submit2(run, cmd, &submit);
   else
      submit1(run, cmd, &submit);
   get_barriers(run)->last = cmd;
   get_barriers(run)->in_flight = true;
}

/* `resubmit WORD…`: the last command buffer that `submit WORD…` submitted */
void
run_resubmit(struct run *run)
{
   if (!get_barriers(run)->last)
      RUN_ERROR(run, "nothing has been submitted");
   run_submit(run, get_barriers(run)->last);
}

void
run_wait_fence(struct run *run)
{
   VkFence fence = get_object(run, run_word(run, 1), OBJECT_FENCE)->fence;
   VKH_CHECK(vkWaitForFences(run->ctx->device, 1, &fence, VK_TRUE, UINT64_MAX));
}

void
run_poll_fence(struct run *run)
{
   VkFence fence = get_object(run, run_word(run, 1), OBJECT_FENCE)->fence;
   while (VKH_CHECK(vkGetFenceStatus(run->ctx->device, fence)) != VK_SUCCESS)
      ;
}

/* `wait_semaphore NAME VALUE` */
void
run_wait_semaphore(struct run *run)
{
   VkSemaphore semaphore = get_object(run, run_word(run, 1), OBJECT_TIMELINE)->semaphore;
   const uint64_t value = run_number(run, 2);
   const VkSemaphoreWaitInfo info = {
      .sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
      .semaphoreCount = 1,
      .pSemaphores = &semaphore,
      .pValues = &value,
   };
   VKH_CHECK(vkWaitSemaphores(run->ctx->device, &info, UINT64_MAX));
}

/* `poll_semaphore NAME VALUE` */
void
run_poll_semaphore(struct run *run)
{
   VkSemaphore semaphore = get_object(run, run_word(run, 1), OBJECT_TIMELINE)->semaphore;
   uint64_t value = 0;
   while (value < run_number(run, 2))
      VKH_CHECK(vkGetSemaphoreCounterValue(run->ctx->device, semaphore, &value));
}

/* `wait_idle [device]` */
void
run_wait_idle(struct run *run)
{
   if (run_has_word(run, 1))
      VKH_CHECK(vkDeviceWaitIdle(run->ctx->device));
   else
      VKH_CHECK(vkQueueWaitIdle(run->ctx->queue));
}

/* Before results are looked at */
void
run_finish_submits(struct run *run)
{
   if (run->barriers && run->barriers->in_flight)
      VKH_CHECK(vkQueueWaitIdle(run->ctx->queue));
}

/* --- Render passes -------------------------------------------------------- */

static uint32_t
read_subpass(struct run *run, const char *text)
{
   if (strcmp(text, "external") == 0)
      return VK_SUBPASS_EXTERNAL;
   return (uint32_t)strtoul(text, NULL, 10);
}

static VkFramebuffer
create_framebuffer(struct run *run, VkRenderPass pass)
{
   VkFramebuffer framebuffer;
   const VkFramebufferCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO,
      .renderPass = pass,
      .attachmentCount = 1,
      .pAttachments = &run->color.view,
      .width = run->width,
      .height = run->height,
      .layers = 1,
   };
   VKH_CHECK(vkCreateFramebuffer(run->ctx->device, &info, NULL, &framebuffer));
   return framebuffer;
}

/* `render_pass NAME SUBPASSES [FROM>TO SRC DST …]` on the color target */
void
run_create_pass(struct run *run)
{
   struct run_barriers *b = get_barriers(run);
   const VkAttachmentDescription attachment = {
      .format = run->color_format,
      .samples = VK_SAMPLE_COUNT_1_BIT,
      .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
      .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
      .initialLayout = VK_IMAGE_LAYOUT_GENERAL,
      .finalLayout = VK_IMAGE_LAYOUT_GENERAL,
   };
   const VkAttachmentReference reference = {0, VK_IMAGE_LAYOUT_GENERAL};
   VkSubpassDescription subpasses[MAX_SUBPASSES];
   VkSubpassDependency dependencies[MAX_DEPENDENCIES];
   uint32_t dependency_count = 0;
   const uint64_t subpass_count = run_number(run, 2);

   if (subpass_count > MAX_SUBPASSES)
      RUN_ERROR(run, "at most %u subpasses", MAX_SUBPASSES);
   for (unsigned i = 0; i < subpass_count; i++) {
      subpasses[i] = (VkSubpassDescription){
         .pipelineBindPoint = VK_PIPELINE_BIND_POINT_GRAPHICS,
         .colorAttachmentCount = 1,
         .pColorAttachments = &reference,
      };
   }
   for (unsigned i = 3; run_has_word(run, i); i += 3) {
      char *to = scenario_format("%s", run_word(run, i));
      char *copy = to;
      const char *from = strsep(&to, ">");
      const struct scope src = read_scope(run, run_word(run, i + 1));
      const struct scope dst = read_scope(run, run_word(run, i + 2));
      if (!to || dependency_count == MAX_DEPENDENCIES)
         RUN_ERROR(run, "a dependency is FROM>TO SRC DST, and there are at most %u",
                   MAX_DEPENDENCIES);
      dependencies[dependency_count++] = (VkSubpassDependency){
         .srcSubpass = read_subpass(run, from),
         .dstSubpass = read_subpass(run, to),
         .srcStageMask = (VkPipelineStageFlags)src.stages,
         .dstStageMask = (VkPipelineStageFlags)dst.stages,
         .srcAccessMask = (VkAccessFlags)src.access,
         .dstAccessMask = (VkAccessFlags)dst.access,
      };
      free(copy);
   }

   b->passes = scenario_grow(b->passes, &b->pass_count, sizeof(*b->passes));
   struct pass *pass = &b->passes[b->pass_count - 1];
   const VkRenderPassCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO,
      .attachmentCount = 1,
      .pAttachments = &attachment,
      .subpassCount = (uint32_t)subpass_count,
      .pSubpasses = subpasses,
      .dependencyCount = dependency_count,
      .pDependencies = dependencies,
   };
   pass->name = run_word(run, 1);
   VKH_CHECK(vkCreateRenderPass(run->ctx->device, &info, NULL, &pass->pass));
   pass->framebuffer = create_framebuffer(run, pass->pass);
}

static struct pass *
find_pass(struct run *run, const char *name)
{
   struct run_barriers *b = get_barriers(run);

   for (unsigned i = 0; i < b->pass_count; i++) {
      if (strcmp(b->passes[i].name, name) == 0)
         return &b->passes[i];
   }
   RUN_ERROR(run, "there is no render pass %s", name);
}

VkRenderPass
run_find_pass(struct run *run, const char *name, uint32_t *subpass)
{
   char *number = scenario_format("%s", name);
   char *copy = number;
   VkRenderPass pass = find_pass(run, strsep(&number, "/"))->pass;

   *subpass = number ? (uint32_t)strtoul(number, NULL, 10) : 0;
   free(copy);
   return pass;
}

/* `begin_pass NAME` */
void
run_begin_pass(struct run *run)
{
   const struct pass *pass = find_pass(run, run_word(run, 1));
   const VkClearValue clear = {0};
   const VkRenderPassBeginInfo info = {
      .sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO,
      .renderPass = pass->pass,
      .framebuffer = pass->framebuffer,
      .renderArea.extent = {run->width, run->height},
      .clearValueCount = 1,
      .pClearValues = &clear,
   };

   run_end_rendering(run);
   VkCommandBuffer cmd = run_need_commands(run);
   vkCmdBeginRenderPass(cmd, &info, VK_SUBPASS_CONTENTS_INLINE);
   vkh_set_viewport(cmd, run->width, run->height);
   run->in_pass = true;
   run->cleared = true;
}

void
run_next_subpass(struct run *run)
{
   vkCmdNextSubpass(run_need_commands(run), VK_SUBPASS_CONTENTS_INLINE);
}

void
run_end_pass(struct run *run)
{
   vkCmdEndRenderPass(run_need_commands(run));
   run->in_pass = false;
}

/* -------------------------------------------------------------------------- */

void
run_destroy_barriers(struct run *run)
{
   struct run_barriers *b = run->barriers;
   VkDevice device = run->ctx->device;

   if (!b)
      return;
   for (unsigned i = 0; i < b->object_count; i++) {
      if (b->objects[i].type == OBJECT_EVENT)
         vkDestroyEvent(device, b->objects[i].event, NULL);
      else if (b->objects[i].type == OBJECT_FENCE)
         vkDestroyFence(device, b->objects[i].fence, NULL);
      else
         vkDestroySemaphore(device, b->objects[i].semaphore, NULL);
      free((char *)b->objects[i].name);
   }
   for (unsigned i = 0; i < b->pass_count; i++) {
      vkDestroyFramebuffer(device, b->passes[i].framebuffer, NULL);
      vkDestroyRenderPass(device, b->passes[i].pass, NULL);
   }
   free(b->objects);
   free(b->passes);
   free(b);
}

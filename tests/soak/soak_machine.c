/* SPDX-License-Identifier: MIT */

/*
 * Runs programs through Vulkan.
 */

#include "soak.h"

#include <string.h>

#include "soak_barriers0.h"
#include "soak_barriers1.h"
#include "soak_barriers2.h"
#include "soak_barriers3.h"
#include "soak_capture.h"
#include "soak_fetch.h"
#include "soak_fetch_attribute.h"
#include "soak_frag0.h"
#include "soak_frag2.h"
#include "soak_image_load.h"
#include "soak_image_store.h"
#include "soak_plain0.h"
#include "soak_plain1.h"
#include "soak_plain2.h"
#include "soak_plain3.h"
#include "soak_vert0.h"
#include "soak_vert2.h"
#include "vk_headless.h"

static const struct {
   const char *name;
   const uint32_t *code;
   size_t size;
} shaders[SOAK_SHADERS][SOAK_VARIANTS] = {
   {
      {"plain0", soak_plain0, sizeof(soak_plain0)},
      {"plain1", soak_plain1, sizeof(soak_plain1)},
      {"plain2", soak_plain2, sizeof(soak_plain2)},
      {"plain3", soak_plain3, sizeof(soak_plain3)},
   },
   {
      {"barriers0", soak_barriers0, sizeof(soak_barriers0)},
      {"barriers1", soak_barriers1, sizeof(soak_barriers1)},
      {"barriers2", soak_barriers2, sizeof(soak_barriers2)},
      {"barriers3", soak_barriers3, sizeof(soak_barriers3)},
   },
   {
      [0] = {"vertex0", soak_vert0, sizeof(soak_vert0)},
      [2] = {"vertex2", soak_vert2, sizeof(soak_vert2)},
   },
   {
      [0] = {"fragment0", soak_frag0, sizeof(soak_frag0)},
      [2] = {"fragment2", soak_frag2, sizeof(soak_frag2)},
   },
};

#define ROWS 4 /* of level 0 of the image */

struct constants {
   VkDeviceAddress address;
   uint32_t count, never;
   uint32_t code[SOAK_MAX_CODE][4];
};

struct machine {
   struct vkh_context *ctx;
   struct vkh_buffer memory, sink, flags;
   struct vkh_buffer source, target; /* of copies */
   struct vkh_buffer arguments;      /* of draws that draw nothing */
   VkImage image;                    /* SOAK_TRANSFERS */
   VkDeviceMemory image_memory;
   struct vkh_image image_source; /* of blits */
   VkDescriptorSetLayout texel_set_layout;
   VkPipelineLayout texel_layout;
   VkImageView texel_views[SOAK_TEXELS / SOAK_COLUMNS]; /* of each subresource */
   VkDescriptorSet texel_sets[SOAK_TEXELS / SOAK_COLUMNS];
   VkPipeline texel_pipelines[2]; /* that load, that store */
   VkBufferView view, flag_view;
   VkImage images[2]; /* words and pairs of words, in the same memory */
   VkImageView image_views[2];
   VkDescriptorSetLayout set_layout;
   VkPipelineLayout layout;
   VkDescriptorSet set;
   VkPipeline pipelines[2][SOAK_VARIANTS];
   VkPipeline draw_pipelines[SOAK_VARIANTS];
   VkPipeline fetch_pipelines[SOAK_COMMAND_COUNT]; /* by commands */
   VkQueryPool queries;                            /* with results */
   VkCommandBuffer cmd;
   VkCommandBuffer unfinished[SOAK_MAX_STEPS]; /* submitted, not waited for */
   unsigned unfinished_count;
   VkSemaphore semaphores[SOAK_MAX_STEPS]; /* one for each of those */
   VkSemaphoreSubmitInfo wait;             /* of the next submit, if it has a semaphore */
};

const char *
soak_shader_name(enum soak_shader shader, unsigned variant)
{
   return shaders[shader][variant].name;
}

/* --- The machine ---------------------------------------------------------- */

static VkBufferView
create_view(struct machine *m, VkBuffer buffer)
{
   const VkBufferViewCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO,
      .buffer = buffer,
      .format = VK_FORMAT_R32_UINT,
      .range = VK_WHOLE_SIZE,
   };
   VkBufferView view;

   VKH_CHECK(vkCreateBufferView(m->ctx->device, &info, NULL, &view));
   return view;
}

static void
create_image(struct machine *m, unsigned index)
{
   const VkFormat format = index ? VK_FORMAT_R32G32_UINT : VK_FORMAT_R32_UINT;
   const VkImageCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
      .flags = VK_IMAGE_CREATE_ALIAS_BIT,
      .imageType = VK_IMAGE_TYPE_1D,
      .format = format,
      .extent = {SOAK_MEMORY / (index ? 8 : 4), 1, 1},
      .mipLevels = 1,
      .arrayLayers = 1,
      .samples = VK_SAMPLE_COUNT_1_BIT,
      .tiling = VK_IMAGE_TILING_LINEAR,
      .usage = VK_IMAGE_USAGE_STORAGE_BIT,
      .initialLayout = VK_IMAGE_LAYOUT_UNDEFINED,
   };
   VKH_CHECK(vkCreateImage(m->ctx->device, &info, NULL, &m->images[index]));
   VKH_CHECK(vkBindImageMemory(m->ctx->device, m->images[index], m->memory.memory, 0));

   const VkImageViewCreateInfo view = {
      .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
      .image = m->images[index],
      .viewType = VK_IMAGE_VIEW_TYPE_1D,
      .format = format,
      .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1},
   };
   VKH_CHECK(vkCreateImageView(m->ctx->device, &view, NULL, &m->image_views[index]));
}

static void
create_descriptors(struct machine *m)
{
   const struct {
      VkDescriptorType type;
      VkBuffer buffer;
      const VkBufferView *view; /* or this, */
      const VkImageView *image; /* or this */
   } bindings[] = {
      {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, m->memory.buffer},
      {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, m->memory.buffer},
      {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, m->sink.buffer},
      {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, m->flags.buffer},
      {VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, VK_NULL_HANDLE, &m->view},
      {VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER, VK_NULL_HANDLE, &m->view},
      {VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER, VK_NULL_HANDLE, &m->flag_view},
      {VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, VK_NULL_HANDLE, NULL, &m->image_views[0]},
      {VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, VK_NULL_HANDLE, NULL, &m->image_views[1]},
   };
   VkDescriptorSetLayoutBinding layout[VKH_COUNT(bindings)];

   m->view = create_view(m, m->memory.buffer);
   m->flag_view = create_view(m, m->flags.buffer);
   for (unsigned i = 0; i < VKH_COUNT(m->images); i++)
      create_image(m, i);
   for (unsigned i = 0; i < VKH_COUNT(bindings); i++) {
      layout[i] = (VkDescriptorSetLayoutBinding){
         .binding = i,
         .descriptorType = bindings[i].type,
         .descriptorCount = 1,
         .stageFlags = VK_SHADER_STAGE_ALL,
      };
   }
   m->set_layout = vkh_set_layout(m->ctx, layout, VKH_COUNT(bindings));
   m->set = vkh_set_allocate(m->ctx, m->set_layout);
   for (unsigned i = 0; i < VKH_COUNT(bindings); i++) {
      const VkDescriptorImageInfo image = {
         .imageView = bindings[i].image ? *bindings[i].image : VK_NULL_HANDLE,
         .imageLayout = VK_IMAGE_LAYOUT_GENERAL,
      };
      const VkWriteDescriptorSet write = {
         .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
         .dstSet = m->set,
         .dstBinding = i,
         .descriptorCount = 1,
         .descriptorType = bindings[i].type,
         .pTexelBufferView = bindings[i].view,
         .pImageInfo = &image,
      };
      if (bindings[i].buffer)
         vkh_set_write_buffer(m->ctx, m->set, i, 0, bindings[i].type, bindings[i].buffer, 0,
                              VK_WHOLE_SIZE);
      else
         vkUpdateDescriptorSets(m->ctx->device, 1, &write, 0, NULL);
   }
}

static void
create_transfer_image(struct machine *m)
{
   const VkImageCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
      .imageType = VK_IMAGE_TYPE_2D,
      .format = VK_FORMAT_R32_UINT,
      .extent = {SOAK_COLUMNS, ROWS, 1},
      .mipLevels = SOAK_LEVELS,
      .arrayLayers = SOAK_LAYERS,
      .samples = VK_SAMPLE_COUNT_1_BIT,
      .usage = VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT |
               VK_IMAGE_USAGE_TRANSFER_DST_BIT | VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT,
   };
   VkMemoryRequirements requirements;

   VKH_CHECK(vkCreateImage(m->ctx->device, &info, NULL, &m->image));
   vkGetImageMemoryRequirements(m->ctx->device, m->image, &requirements);
   const VkMemoryAllocateInfo memory = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
      .allocationSize = requirements.size,
      .memoryTypeIndex = vkh_memory_type(m->ctx, requirements.memoryTypeBits, 0),
   };
   VKH_CHECK(vkAllocateMemory(m->ctx->device, &memory, NULL, &m->image_memory));
   VKH_CHECK(vkBindImageMemory(m->ctx->device, m->image, m->image_memory, 0));
   m->image_source = vkh_image_create(m->ctx, info.format, SOAK_COLUMNS, ROWS, "image source");
}

static void
create_texel_set(struct machine *m, unsigned subresource)
{
   const VkImageViewCreateInfo view = {
      .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
      .image = m->image,
      .viewType = VK_IMAGE_VIEW_TYPE_2D,
      .format = VK_FORMAT_R32_UINT,
      .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, subresource % SOAK_LEVELS, 1,
                           subresource / SOAK_LEVELS, 1},
   };
   VKH_CHECK(vkCreateImageView(m->ctx->device, &view, NULL, &m->texel_views[subresource]));

   const VkDescriptorImageInfo image = {
      .imageView = m->texel_views[subresource],
      .imageLayout = VK_IMAGE_LAYOUT_GENERAL,
   };
   VkDescriptorSet set = m->texel_sets[subresource] = vkh_set_allocate(m->ctx, m->texel_set_layout);
   const VkWriteDescriptorSet write = {
      .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
      .dstSet = set,
      .descriptorCount = 1,
      .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_IMAGE,
      .pImageInfo = &image,
   };
   vkUpdateDescriptorSets(m->ctx->device, 1, &write, 0, NULL);
   vkh_set_write_buffer(m->ctx, set, 1, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, m->sink.buffer, 0,
                        VK_WHOLE_SIZE);
}

static void
create_texel_sets(struct machine *m)
{
   const VkDescriptorSetLayoutBinding bindings[] = {
      {0, VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, 1, VK_SHADER_STAGE_ALL, NULL},
      {1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_ALL, NULL},
   };

   m->texel_set_layout = vkh_set_layout(m->ctx, bindings, VKH_COUNT(bindings));
   m->texel_layout = vkh_pipeline_layout(m->ctx, &m->texel_set_layout, 1, sizeof(uint32_t));
   for (unsigned i = 0; i < VKH_COUNT(m->texel_sets); i++)
      create_texel_set(m, i);
}

static void
destroy_texel_sets(struct machine *m)
{
   for (unsigned i = 0; i < VKH_COUNT(m->texel_pipelines); i++)
      vkDestroyPipeline(m->ctx->device, m->texel_pipelines[i], NULL);
   for (unsigned i = 0; i < VKH_COUNT(m->texel_views); i++)
      vkDestroyImageView(m->ctx->device, m->texel_views[i], NULL);
   vkDestroyPipelineLayout(m->ctx->device, m->texel_layout, NULL);
   vkDestroyDescriptorSetLayout(m->ctx->device, m->texel_set_layout, NULL);
}

/* Once, before any program */
static void
begin_images(struct machine *m)
{
   const VkImage images[] = {m->images[0], m->images[1], m->image};
   VkImageMemoryBarrier2 barriers[VKH_COUNT(images)];
   const VkDependencyInfo info = {
      .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
      .imageMemoryBarrierCount = VKH_COUNT(barriers),
      .pImageMemoryBarriers = barriers,
   };
   VkCommandBuffer cmd = vkh_begin(m->ctx);

   for (unsigned i = 0; i < VKH_COUNT(barriers); i++)
      barriers[i] = (VkImageMemoryBarrier2){
         .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2,
         .dstStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
         .dstAccessMask = VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT,
         .newLayout = VK_IMAGE_LAYOUT_GENERAL,
         .image = images[i],
         .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, VK_REMAINING_MIP_LEVELS, 0,
                              VK_REMAINING_ARRAY_LAYERS},
      };
   vkCmdPipelineBarrier2(cmd, &info);
   vkh_submit_wait(m->ctx, cmd);
}

/* Of queries without draws, before the first program that needs them */
static void
create_results(struct machine *m)
{
   const VkQueryPoolCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
      .queryType = VK_QUERY_TYPE_OCCLUSION,
      .queryCount = SOAK_WINDOW / SOAK_RESULT_STRIDE,
   };
   if (m->queries)
      return;
   VkCommandBuffer cmd = vkh_begin(m->ctx);

   VKH_CHECK(vkCreateQueryPool(m->ctx->device, &info, NULL, &m->queries));
   vkCmdResetQueryPool(cmd, m->queries, 0, info.queryCount);
   for (unsigned i = 0; i < info.queryCount; i++) {
      vkCmdBeginQuery(cmd, m->queries, i, 0);
      vkCmdEndQuery(cmd, m->queries, i);
   }
   vkh_submit_wait(m->ctx, cmd);
}

/* Others have nothing that names transform feedback. */
static bool
needs_feedback(const struct soak_program *programs, uint64_t count)
{
   for (uint64_t i = 0; i < count; i++) {
      for (unsigned j = 0; j < programs[i].step_count; j++) {
         const struct soak_step *step = &programs[i].steps[j];
         if (step->separator == SOAK_BARRIER_RANDOM ||
             (step->command >= SOAK_CAPTURE && step->command < SOAK_IMAGE_CLEAR))
            return true;
      }
   }
   return false;
}

static void
create_machine(struct machine *m, bool has_feedback)
{
   static const char *const extensions[] = {VK_EXT_TRANSFORM_FEEDBACK_EXTENSION_NAME};
   static const VkPhysicalDeviceTransformFeedbackFeaturesEXT feedback = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TRANSFORM_FEEDBACK_FEATURES_EXT,
      .transformFeedback = true,
   };
   const VkBufferUsageFlags feedback_usage =
      VK_BUFFER_USAGE_TRANSFORM_FEEDBACK_BUFFER_BIT_EXT |
      VK_BUFFER_USAGE_TRANSFORM_FEEDBACK_COUNTER_BUFFER_BIT_EXT;
   *m = (struct machine){.ctx = vkh_context_create(&(struct vkh_options){
                            .application = "gpuval-soak",
                            .extensions = extensions,
                            .extension_count = has_feedback ? VKH_COUNT(extensions) : 0,
                            .features_next = has_feedback ? &feedback : NULL,
                            .buffer_usage = has_feedback ? feedback_usage : 0,
                         })};
   m->memory = vkh_buffer_create(m->ctx, SOAK_MEMORY, "memory");
   m->sink = vkh_buffer_create(m->ctx, 4 * SOAK_GROUP, "sink");
   m->flags = vkh_buffer_create(m->ctx, 4 * SOAK_FLAGS, "flags");
   m->source = vkh_buffer_create(m->ctx, SOAK_WINDOW, "source");
   m->target = vkh_buffer_create(m->ctx, SOAK_MAX_STEPS * SOAK_WINDOW, "target");
   m->arguments = vkh_buffer_create(m->ctx, sizeof(VkDrawIndirectCommand), "arguments");
   for (unsigned i = 0; i < SOAK_MAX_STEPS; i++) {
      const VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
      VKH_CHECK(vkCreateSemaphore(m->ctx->device, &info, NULL, &m->semaphores[i]));
   }
   create_descriptors(m);
   create_transfer_image(m);
   create_texel_sets(m);
   begin_images(m);
   m->layout = vkh_pipeline_layout(m->ctx, &m->set_layout, 1, sizeof(struct constants));
}

static void
destroy_machine(struct machine *m)
{
   for (unsigned i = 0; i < 2 * SOAK_VARIANTS; i++)
      vkDestroyPipeline(m->ctx->device, m->pipelines[i / SOAK_VARIANTS][i % SOAK_VARIANTS], NULL);
   for (unsigned i = 0; i < SOAK_VARIANTS; i++)
      vkDestroyPipeline(m->ctx->device, m->draw_pipelines[i], NULL);
   for (unsigned i = 0; i < VKH_COUNT(m->fetch_pipelines); i++)
      vkDestroyPipeline(m->ctx->device, m->fetch_pipelines[i], NULL);
   for (unsigned i = 0; i < SOAK_MAX_STEPS; i++)
      vkDestroySemaphore(m->ctx->device, m->semaphores[i], NULL);
   vkDestroyQueryPool(m->ctx->device, m->queries, NULL);
   vkDestroyPipelineLayout(m->ctx->device, m->layout, NULL);
   vkDestroyDescriptorSetLayout(m->ctx->device, m->set_layout, NULL);
   for (unsigned i = 0; i < VKH_COUNT(m->images); i++) {
      vkDestroyImageView(m->ctx->device, m->image_views[i], NULL);
      vkDestroyImage(m->ctx->device, m->images[i], NULL);
   }
   destroy_texel_sets(m);
   vkDestroyImage(m->ctx->device, m->image, NULL);
   vkFreeMemory(m->ctx->device, m->image_memory, NULL);
   vkh_image_destroy(m->ctx, &m->image_source);
   vkDestroyBufferView(m->ctx->device, m->view, NULL);
   vkDestroyBufferView(m->ctx->device, m->flag_view, NULL);
   vkh_buffer_destroy(m->ctx, &m->memory);
   vkh_buffer_destroy(m->ctx, &m->sink);
   vkh_buffer_destroy(m->ctx, &m->flags);
   vkh_buffer_destroy(m->ctx, &m->source);
   vkh_buffer_destroy(m->ctx, &m->target);
   vkh_buffer_destroy(m->ctx, &m->arguments);
   vkh_context_destroy(m->ctx);
}

static VkShaderModule
create_module(struct machine *m, enum soak_shader shader, unsigned variant)
{
   return vkh_shader_module(m->ctx, shaders[shader][variant].code, shaders[shader][variant].size,
                            shaders[shader][variant].name);
}

/* Each is made when the first program needs it. */
static VkPipeline
get_pipeline(struct machine *m, bool barriers, unsigned variant)
{
   VkPipeline *pipeline = &m->pipelines[barriers][variant];

   if (!*pipeline) {
      VkShaderModule module = create_module(m, barriers, variant);
      const struct vkh_compute_desc desc = {.module = module, .layout = m->layout};
      *pipeline = vkh_compute_pipeline(m->ctx, &desc);
      vkDestroyShaderModule(m->ctx->device, module, NULL);
   }
   return *pipeline;
}

static VkPipeline
get_draw_pipeline(struct machine *m, unsigned variant)
{
   VkPipeline *pipeline = &m->draw_pipelines[variant];

   if (!*pipeline) {
      const struct vkh_graphics_desc desc = {
         .stages = {{VK_SHADER_STAGE_VERTEX_BIT, create_module(m, SOAK_VERTEX, variant)},
                    {VK_SHADER_STAGE_FRAGMENT_BIT, create_module(m, SOAK_FRAGMENT, variant)}},
         .stage_count = 2,
         .layout = m->layout,
         .topology = VK_PRIMITIVE_TOPOLOGY_POINT_LIST,
         .topology_set = true,
      };
      *pipeline = vkh_graphics_pipeline(m->ctx, &desc);
      for (unsigned i = 0; i < desc.stage_count; i++)
         vkDestroyShaderModule(m->ctx->device, desc.stages[i].module, NULL);
   }
   return *pipeline;
}

static VkShaderModule
create_fetch_module(struct machine *m, enum soak_command command)
{
   switch (command) {
   case SOAK_FETCH_ATTRIBUTES:
      return vkh_shader_module(m->ctx, soak_fetch_attribute, sizeof(soak_fetch_attribute),
                               "fetch_attribute");
   case SOAK_CAPTURE:
      return vkh_shader_module(m->ctx, soak_capture, sizeof(soak_capture), "capture");
   default:
      return vkh_shader_module(m->ctx, soak_fetch, sizeof(soak_fetch), "fetch");
   }
}

static VkPipeline
get_fetch_pipeline(struct machine *m, enum soak_command command)
{
   static const VkVertexInputBindingDescription binding = {.stride = 4};
   static const VkVertexInputAttributeDescription format = {.format = VK_FORMAT_R32_UINT};
   static const VkPipelineVertexInputStateCreateInfo input = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO,
      .vertexBindingDescriptionCount = 1,
      .pVertexBindingDescriptions = &binding,
      .vertexAttributeDescriptionCount = 1,
      .pVertexAttributeDescriptions = &format,
   };
   VkPipeline *pipeline = &m->fetch_pipelines[command];

   if (!*pipeline) {
      VkShaderModule module = create_fetch_module(m, command);
      const struct vkh_graphics_desc desc = {
         .stages = {{VK_SHADER_STAGE_VERTEX_BIT, module}},
         .stage_count = 1,
         .layout = m->layout,
         .topology = VK_PRIMITIVE_TOPOLOGY_POINT_LIST,
         .topology_set = true,
         .rasterizer_discard = true,
         .vertex_input = command == SOAK_FETCH_ATTRIBUTES ? &input : NULL,
      };
      *pipeline = vkh_graphics_pipeline(m->ctx, &desc);
      vkDestroyShaderModule(m->ctx->device, module, NULL);
   }
   return *pipeline;
}

static VkPipeline
get_texel_pipeline(struct machine *m, bool stores)
{
   VkPipeline *pipeline = &m->texel_pipelines[stores];

   if (!*pipeline) {
      const struct vkh_compute_desc desc = {
         .module = stores ? vkh_shader_module(m->ctx, soak_image_store, sizeof(soak_image_store),
                                              "image_store")
                          : vkh_shader_module(m->ctx, soak_image_load, sizeof(soak_image_load),
                                              "image_load"),
         .layout = m->texel_layout,
      };
      *pipeline = vkh_compute_pipeline(m->ctx, &desc);
      vkDestroyShaderModule(m->ctx->device, desc.module, NULL);
   }
   return *pipeline;
}

/* --- What orders steps ---------------------------------------------------- */

/* The next submit waits for this one in these stages; 0: it does not. */
static void
submit(struct machine *m, VkPipelineStageFlags2 stages)
{
   const VkSemaphoreSubmitInfo signal = {
      .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
      .semaphore = m->semaphores[m->unfinished_count],
      .stageMask = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT,
   };
   const VkCommandBufferSubmitInfo cmd = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
      .commandBuffer = m->cmd,
   };
   const VkSubmitInfo2 info = {
      .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
      .waitSemaphoreInfoCount = m->wait.semaphore ? 1 : 0,
      .pWaitSemaphoreInfos = &m->wait,
      .commandBufferInfoCount = 1,
      .pCommandBufferInfos = &cmd,
      .signalSemaphoreInfoCount = stages ? 1 : 0,
      .pSignalSemaphoreInfos = &signal,
   };

   VKH_CHECK(vkEndCommandBuffer(m->cmd));
   VKH_CHECK(vkQueueSubmit2(m->ctx->queue, 1, &info, VK_NULL_HANDLE));
   m->unfinished[m->unfinished_count++] = m->cmd;
   m->cmd = VK_NULL_HANDLE;
   m->wait = (VkSemaphoreSubmitInfo){0};
   if (stages) {
      m->wait = signal;
      m->wait.stageMask = stages;
   }
}

static void
submit_and_wait(struct machine *m)
{
   submit(m, 0);
   VKH_CHECK(vkQueueWaitIdle(m->ctx->queue));
   vkFreeCommandBuffers(m->ctx->device, m->ctx->command_pool, m->unfinished_count, m->unfinished);
   m->unfinished_count = 0;
}

static void
memory_barrier(struct machine *m, VkPipelineStageFlags2 src, VkAccessFlags2 src_access,
               VkPipelineStageFlags2 dst, VkAccessFlags2 dst_access)
{
   const VkMemoryBarrier2 barrier = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
      .srcStageMask = src,
      .srcAccessMask = src_access,
      .dstStageMask = dst,
      .dstAccessMask = dst_access,
   };
   const VkDependencyInfo info = {
      .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
      .memoryBarrierCount = 1,
      .pMemoryBarriers = &barrier,
   };

   vkCmdPipelineBarrier2(m->cmd, &info);
}

static void
buffer_barrier(struct machine *m, const struct vkh_buffer *buffer, VkDeviceSize offset,
               VkDeviceSize size)
{
   const VkBufferMemoryBarrier barrier = {
      .sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER,
      .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
      .dstAccessMask =
         VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_UNIFORM_READ_BIT,
      .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
      .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
      .buffer = buffer->buffer,
      .offset = offset,
      .size = size,
   };

   vkCmdPipelineBarrier(m->cmd, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                        VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 0, NULL, 1, &barrier, 0, NULL);
}

static VkPipelineStageFlags2
get_stages(unsigned bits)
{
   static const VkPipelineStageFlags2 stages[SOAK_STAGES] = {
      [SOAK_STAGE_INDIRECT] = VK_PIPELINE_STAGE_2_DRAW_INDIRECT_BIT,
      [SOAK_STAGE_INPUT] = VK_PIPELINE_STAGE_2_VERTEX_INPUT_BIT,
      [SOAK_STAGE_VERTEX] = VK_PIPELINE_STAGE_2_VERTEX_SHADER_BIT,
      [SOAK_STAGE_FEEDBACK] = VK_PIPELINE_STAGE_2_TRANSFORM_FEEDBACK_BIT_EXT,
      [SOAK_STAGE_FRAGMENT] = VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT,
      [SOAK_STAGE_OUTPUT] = VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT,
      [SOAK_STAGE_COMPUTE] = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT,
      [SOAK_STAGE_TRANSFER] = VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT,
   };
   VkPipelineStageFlags2 flags = 0;

   for (unsigned i = 0; i < SOAK_STAGES; i++)
      flags |= bits >> i & 1 ? stages[i] : 0;
   return bits == SOAK_ALL_STAGES ? VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT : flags;
}

/* Of those of @bits that one of @stages has */
static VkAccessFlags2
get_accesses(unsigned bits, unsigned stages)
{
   const unsigned shaders =
      1u << SOAK_STAGE_VERTEX | 1u << SOAK_STAGE_FRAGMENT | 1u << SOAK_STAGE_COMPUTE;
   const struct {
      VkAccessFlags2 flags;
      unsigned stages;
   } accesses[SOAK_ACCESSES] = {
      [SOAK_LOADS_STORAGE] = {VK_ACCESS_2_SHADER_STORAGE_READ_BIT, shaders},
      [SOAK_LOADS_UNIFORM] = {VK_ACCESS_2_UNIFORM_READ_BIT, shaders},
      [SOAK_LOADS_SAMPLED] = {VK_ACCESS_2_SHADER_SAMPLED_READ_BIT, shaders},
      [SOAK_READS_TRANSFER] = {VK_ACCESS_2_TRANSFER_READ_BIT, 1u << SOAK_STAGE_TRANSFER},
      [SOAK_READS_INDEX] = {VK_ACCESS_2_INDEX_READ_BIT, 1u << SOAK_STAGE_INPUT},
      [SOAK_READS_ATTRIBUTE] = {VK_ACCESS_2_VERTEX_ATTRIBUTE_READ_BIT, 1u << SOAK_STAGE_INPUT},
      [SOAK_READS_INDIRECT] = {VK_ACCESS_2_INDIRECT_COMMAND_READ_BIT, 1u << SOAK_STAGE_INDIRECT},
      [SOAK_READS_COUNTER] = {VK_ACCESS_2_TRANSFORM_FEEDBACK_COUNTER_READ_BIT_EXT,
                              1u << SOAK_STAGE_FEEDBACK},
      [SOAK_READS_COLOR] = {VK_ACCESS_2_COLOR_ATTACHMENT_READ_BIT, 1u << SOAK_STAGE_OUTPUT},
      [SOAK_STORES] = {VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT, shaders},
      [SOAK_WRITES_TRANSFER] = {VK_ACCESS_2_TRANSFER_WRITE_BIT, 1u << SOAK_STAGE_TRANSFER},
      [SOAK_WRITES_FEEDBACK] = {VK_ACCESS_2_TRANSFORM_FEEDBACK_WRITE_BIT_EXT |
                                   VK_ACCESS_2_TRANSFORM_FEEDBACK_COUNTER_WRITE_BIT_EXT,
                                1u << SOAK_STAGE_FEEDBACK},
      [SOAK_WRITES_COLOR] = {VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT, 1u << SOAK_STAGE_OUTPUT},
   };
   VkAccessFlags2 flags = 0;

   for (unsigned i = 0; i < SOAK_ACCESSES; i++)
      flags |= bits >> i & 1 && stages & accesses[i].stages ? accesses[i].flags : 0;
   return bits == SOAK_ALL_ACCESSES ? VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT
                                    : flags;
}

static void
random_barrier(struct machine *m, const struct soak_program *program,
               const struct soak_barrier *barrier)
{
   const VkPipelineStageFlags2 src = get_stages(barrier->src), dst = get_stages(barrier->dst);
   const VkAccessFlags2 src_access = get_accesses(barrier->src_access, barrier->src),
                        dst_access = get_accesses(barrier->dst_access, barrier->dst);
   const VkBufferMemoryBarrier2 part = {
      .sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER_2,
      .srcStageMask = src,
      .srcAccessMask = src_access,
      .dstStageMask = dst,
      .dstAccessMask = dst_access,
      .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
      .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
      .buffer = barrier->size ? m->memory.buffer : m->sink.buffer,
      .offset = barrier->size ? program->window : 0,
      .size = barrier->size ? barrier->size : VK_WHOLE_SIZE,
   };
   const bool all_levels = barrier->level == SOAK_ALL, all_layers = barrier->layer == SOAK_ALL;
   const VkImageMemoryBarrier2 image = {
      .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2,
      .srcStageMask = src,
      .srcAccessMask = src_access,
      .dstStageMask = dst,
      .dstAccessMask = dst_access,
      .oldLayout = barrier->discards ? VK_IMAGE_LAYOUT_UNDEFINED : VK_IMAGE_LAYOUT_GENERAL,
      .newLayout = VK_IMAGE_LAYOUT_GENERAL,
      .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
      .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
      .image = m->image,
      .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, all_levels ? 0 : barrier->level,
                           all_levels ? SOAK_LEVELS : 1, all_layers ? 0 : barrier->layer,
                           all_layers ? SOAK_LAYERS : 1},
   };
   const VkDependencyInfo info = {
      .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
      .bufferMemoryBarrierCount = barrier->is_image ? 0 : 1,
      .pBufferMemoryBarriers = &part,
      .imageMemoryBarrierCount = barrier->is_image ? 1 : 0,
      .pImageMemoryBarriers = &image,
   };

   if (barrier->size == SOAK_WINDOW && !barrier->is_image)
      memory_barrier(m, src, src_access, dst, dst_access);
   else
      vkCmdPipelineBarrier2(m->cmd, &info);
}

static void
separate(struct machine *m, const struct soak_program *program, const struct soak_step *step)
{
   const VkPipelineStageFlags2 compute = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT;
   const VkAccessFlags2 loads = VK_ACCESS_2_SHADER_STORAGE_READ_BIT |
                                VK_ACCESS_2_SHADER_SAMPLED_READ_BIT | VK_ACCESS_2_UNIFORM_READ_BIT;
   const VkAccessFlags2 stores = VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT;
   const VkPipelineStageFlags2 transfer = VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT;

   switch ((enum soak_separator)step->separator) {
   case SOAK_BARRIER_RANDOM:
      random_barrier(m, program, &step->barrier);
      break;
   case SOAK_NOTHING:
   case SOAK_SEPARATOR_COUNT:
      break;
   case SOAK_SUBMIT:
      submit(m, 0);
      break;
   case SOAK_SEMAPHORE:
      submit(m, compute);
      break;
   case SOAK_SEMAPHORE_ELSEWHERE:
      submit(m, VK_PIPELINE_STAGE_2_TRANSFER_BIT);
      break;
   case SOAK_BARRIER_ELSEWHERE:
      memory_barrier(m, VK_PIPELINE_STAGE_2_TRANSFER_BIT, VK_ACCESS_2_TRANSFER_WRITE_BIT,
                     VK_PIPELINE_STAGE_2_TRANSFER_BIT, VK_ACCESS_2_TRANSFER_READ_BIT);
      memory_barrier(m, compute, stores, VK_PIPELINE_STAGE_2_HOST_BIT, VK_ACCESS_2_HOST_READ_BIT);
      break;
   case SOAK_BARRIER_EXECUTION:
      memory_barrier(m, compute, 0, compute, 0);
      break;
   case SOAK_BARRIER:
      memory_barrier(m, compute, stores, compute, loads | stores);
      break;
   case SOAK_BARRIER_BUFFER:
      buffer_barrier(m, &m->memory, 0, VK_WHOLE_SIZE);
      break;
   case SOAK_BARRIER_ALL:
      vkh_barrier(m->cmd);
      break;
   case SOAK_WAIT:
      submit_and_wait(m);
      break;
   case SOAK_BARRIER_AVAILABLE:
      memory_barrier(m, compute, stores, compute, 0);
      break;
   case SOAK_BARRIER_READS:
      memory_barrier(m, compute, stores, compute, VK_ACCESS_2_SHADER_STORAGE_READ_BIT);
      break;
   case SOAK_BARRIER_RANGE:
      buffer_barrier(m, &m->memory, program->window, SOAK_WINDOW / 2);
      break;
   case SOAK_BARRIER_OTHER:
      buffer_barrier(m, &m->sink, 0, VK_WHOLE_SIZE);
      break;
   case SOAK_TO_TRANSFER:
      memory_barrier(m, compute, stores, transfer,
                     VK_ACCESS_2_TRANSFER_READ_BIT | VK_ACCESS_2_TRANSFER_WRITE_BIT);
      break;
   case SOAK_FROM_TRANSFER:
      memory_barrier(m, transfer, VK_ACCESS_2_TRANSFER_WRITE_BIT, compute, loads | stores);
      break;
   case SOAK_FROM_TRANSFER_EXECUTION:
      memory_barrier(m, transfer, 0, compute, 0);
      break;
   }
}

/* --- Programs ------------------------------------------------------------- */

void
soak_encode(const struct soak_instruction *code, uint32_t words[4])
{
   const bool flag = soak_ops[code->op].type >= SOAK_RELEASE_FLAG;

   words[0] = code->op | (uint32_t)code->first << 6 | (code->count - 1u) << 11 |
              (uint32_t)code->groups << 16 | (uint32_t)code->gated << 20 |
              (uint32_t)code->fragment << 21 | (uint32_t)code->zero << 22 |
              (uint32_t)code->swap << 26;
   words[1] = flag ? code->flag : code->base;
   words[2] = code->stride | (uint32_t)code->group_stride << 16;
   words[3] = code->value;
}

/* llvmpipe draws fragments when it has to: a dependency that orders nothing sees to that. */
static void
begin_draw(struct machine *m, VkPipeline pipeline)
{
   const VkRenderingInfo info = {
      .sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
      .renderArea = {.extent = {SOAK_GROUP, SOAK_MAX_GROUPS}},
      .layerCount = 1,
   };

   vkCmdBindPipeline(m->cmd, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
   vkCmdBeginRendering(m->cmd, &info);
   vkh_set_viewport(m->cmd, SOAK_GROUP, SOAK_MAX_GROUPS);
}

static void
end_draw(struct machine *m)
{
   vkCmdEndRendering(m->cmd);
   memory_barrier(m, VK_PIPELINE_STAGE_2_NONE, 0, VK_PIPELINE_STAGE_2_NONE, 0);
}

/* @count: vertices, a word of each. Counters are in the memory. */
static void
capture(struct machine *m, const struct soak_step *step, VkBuffer buffer, VkDeviceSize offset,
        VkDeviceSize size, uint32_t count)
{
   const VkDeviceSize counter = step->base;
   const bool loads = step->command == SOAK_COUNTER_LOAD || step->command == SOAK_COUNTER_BOTH;
   const bool stores = step->command == SOAK_COUNTER_STORE || step->command == SOAK_COUNTER_BOTH;
   const PFN_vkCmdBindTransformFeedbackBuffersEXT bind =
      (PFN_vkCmdBindTransformFeedbackBuffersEXT)vkGetDeviceProcAddr(
         m->ctx->device, "vkCmdBindTransformFeedbackBuffersEXT");
   const PFN_vkCmdBeginTransformFeedbackEXT begin =
      (PFN_vkCmdBeginTransformFeedbackEXT)vkGetDeviceProcAddr(m->ctx->device,
                                                              "vkCmdBeginTransformFeedbackEXT");
   const PFN_vkCmdEndTransformFeedbackEXT end =
      (PFN_vkCmdEndTransformFeedbackEXT)vkGetDeviceProcAddr(m->ctx->device,
                                                            "vkCmdEndTransformFeedbackEXT");

   bind(m->cmd, 0, 1, &buffer, &offset, &size);
   begin(m->cmd, 0, loads, &m->memory.buffer, &counter);
   vkCmdDraw(m->cmd, count, 1, 0, 0);
   end(m->cmd, 0, stores, &m->memory.buffer, &counter);
}

static void
run_fetch(struct machine *m, const struct soak_step *step, VkDeviceSize room)
{
   const VkDeviceSize offset = step->base;
   const bool counts = step->command > SOAK_CAPTURE;

   begin_draw(m, get_fetch_pipeline(m, counts ? SOAK_CAPTURE : step->command));
   switch (step->command) {
   case SOAK_FETCH_INDICES:
      vkCmdBindIndexBuffer(m->cmd, m->memory.buffer, offset, VK_INDEX_TYPE_UINT32);
      vkCmdDrawIndexed(m->cmd, step->size / 4, 1, 0, 0, 0);
      break;
   case SOAK_FETCH_ATTRIBUTES:
      vkCmdBindVertexBuffers(m->cmd, 0, 1, &m->memory.buffer, &offset);
      vkCmdDraw(m->cmd, step->size / 4, 1, 0, 0);
      break;
   case SOAK_CAPTURE:
      capture(m, step, m->memory.buffer, offset, step->size, step->size / 4);
      break;
   case SOAK_COUNTER_LOAD:
   case SOAK_COUNTER_STORE:
   case SOAK_COUNTER_BOTH:
      capture(m, step, m->target.buffer, room, SOAK_WINDOW, 1);
      break;
   case SOAK_FETCH_ARGUMENTS:
      vkCmdDrawIndirect(m->cmd, m->memory.buffer, offset, 1, sizeof(VkDrawIndirectCommand));
      break;
   default:
      vkCmdDrawIndirectCount(m->cmd, m->arguments.buffer, 0, m->memory.buffer, offset, 1,
                             sizeof(VkDrawIndirectCommand));
      break;
   }
   end_draw(m);
}

static void
run_image_command(struct machine *m, const struct soak_step *step, VkDeviceSize room)
{
   const unsigned subresource = step->base / SOAK_COLUMNS, level = subresource % SOAK_LEVELS;
   const VkImageSubresourceLayers layers = {VK_IMAGE_ASPECT_COLOR_BIT, level,
                                            subresource / SOAK_LEVELS, 1};
   const VkImageSubresourceRange range = {VK_IMAGE_ASPECT_COLOR_BIT, level, 1,
                                          layers.baseArrayLayer, 1};
   const int32_t first = step->base % SOAK_COLUMNS, end = first + step->size;
   const int32_t rows = ROWS >> level;
   const VkImageLayout layout = VK_IMAGE_LAYOUT_GENERAL;
   const VkClearColorValue color = {0};
   VkBufferImageCopy copy = {
      .imageSubresource = layers,
      .imageOffset = {first, 0, 0},
      .imageExtent = {step->size, (uint32_t)rows, 1},
   };
   const VkImageBlit blit = {
      .srcSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
      .srcOffsets = {{0, 0, 0}, {SOAK_COLUMNS, ROWS, 1}},
      .dstSubresource = layers,
      .dstOffsets = {{first, 0, 0}, {end, rows, 1}},
   };

   switch (step->command) {
   case SOAK_IMAGE_CLEAR:
      vkCmdClearColorImage(m->cmd, m->image, layout, &color, 1, &range);
      break;
   case SOAK_IMAGE_COPY_TO:
      vkCmdCopyBufferToImage(m->cmd, m->source.buffer, m->image, layout, 1, &copy);
      break;
   case SOAK_IMAGE_BLIT_TO:
      vkCmdBlitImage(m->cmd, m->image_source.image, layout, m->image, layout, 1, &blit,
                     VK_FILTER_NEAREST);
      break;
   default:
      copy.bufferOffset = room;
      vkCmdCopyImageToBuffer(m->cmd, m->image, layout, m->target.buffer, 1, &copy);
      break;
   }
}

/* Without a draw */
static void
run_rendering(struct machine *m, const struct soak_step *step)
{
   const bool loads = step->command == SOAK_IMAGE_RENDER_LOAD;
   const unsigned subresource = step->base / SOAK_COLUMNS;
   const VkRenderingAttachmentInfo attachment = {
      .sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
      .imageView = m->texel_views[subresource],
      .imageLayout = VK_IMAGE_LAYOUT_GENERAL,
      .loadOp = loads ? VK_ATTACHMENT_LOAD_OP_LOAD : VK_ATTACHMENT_LOAD_OP_CLEAR,
      .storeOp = loads ? VK_ATTACHMENT_STORE_OP_NONE : VK_ATTACHMENT_STORE_OP_STORE,
   };
   const VkRenderingInfo info = {
      .sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
      .renderArea = {{step->base % SOAK_COLUMNS, 0},
                     {step->size, (uint32_t)ROWS >> subresource % SOAK_LEVELS}},
      .layerCount = 1,
      .colorAttachmentCount = 1,
      .pColorAttachments = &attachment,
   };

   vkCmdBeginRendering(m->cmd, &info);
   vkCmdEndRendering(m->cmd);
}

static void
run_texel_access(struct machine *m, const struct soak_step *step)
{
   const VkPipelineBindPoint point = VK_PIPELINE_BIND_POINT_COMPUTE;
   const uint32_t never = SOAK_NEVER;

   vkCmdBindPipeline(m->cmd, point, get_texel_pipeline(m, step->command == SOAK_IMAGE_STORE));
   vkCmdBindDescriptorSets(m->cmd, point, m->texel_layout, 0, 1,
                           &m->texel_sets[step->base / SOAK_COLUMNS], 0, NULL);
   vkCmdPushConstants(m->cmd, m->texel_layout, VK_SHADER_STAGE_ALL, 0, sizeof(never), &never);
   vkCmdDispatch(m->cmd, 1, 1, 1);
}

static void
run_command(struct machine *m, const struct soak_program *program, const struct soak_step *step)
{
   const VkDeviceSize room = (VkDeviceSize)(step - program->steps) * SOAK_WINDOW;
   static const uint8_t zeros[SOAK_WINDOW];
   VkBufferCopy copy = {.size = step->size};

   switch (step->command) {
   case SOAK_FILL:
      vkCmdFillBuffer(m->cmd, m->memory.buffer, step->base, step->size, 0);
      break;
   case SOAK_UPDATE:
      vkCmdUpdateBuffer(m->cmd, m->memory.buffer, step->base, step->size, zeros);
      break;
   case SOAK_COPY_TO:
      copy.dstOffset = step->base;
      vkCmdCopyBuffer(m->cmd, m->source.buffer, m->memory.buffer, 1, &copy);
      break;
   case SOAK_COPY_RESULTS:
      vkCmdCopyQueryPoolResults(m->cmd, m->queries, 0,
                                (step->size + SOAK_RESULT_STRIDE - 1u) / SOAK_RESULT_STRIDE,
                                m->memory.buffer, step->base, SOAK_RESULT_STRIDE, 0);
      break;
   case SOAK_COPY_FROM:
      copy.srcOffset = step->base;
      copy.dstOffset = room;
      vkCmdCopyBuffer(m->cmd, m->memory.buffer, m->target.buffer, 1, &copy);
      break;
   case SOAK_IMAGE_CLEAR:
   case SOAK_IMAGE_COPY_TO:
   case SOAK_IMAGE_BLIT_TO:
   case SOAK_IMAGE_COPY_FROM:
      run_image_command(m, step, room);
      break;
   case SOAK_IMAGE_RENDER:
   case SOAK_IMAGE_RENDER_LOAD:
      run_rendering(m, step);
      break;
   case SOAK_IMAGE_LOAD:
   case SOAK_IMAGE_STORE:
      run_texel_access(m, step);
      break;
   default:
      run_fetch(m, step, room);
      break;
   }
}

static void
run_step(struct machine *m, const struct soak_program *program, const struct soak_step *step)
{
   struct constants constants = {
      .address = m->memory.address,
      .count = step->code_count,
      .never = SOAK_NEVER,
   };

   for (unsigned i = 0; i < step->code_count; i++)
      soak_encode(&step->code[i], constants.code[i]);
   if (!m->cmd)
      m->cmd = vkh_begin(m->ctx);
   if (step->command) {
      run_command(m, program, step);
      separate(m, program, step);
      return;
   }
   const VkPipelineBindPoint point =
      step->is_draw ? VK_PIPELINE_BIND_POINT_GRAPHICS : VK_PIPELINE_BIND_POINT_COMPUTE;
   vkCmdBindDescriptorSets(m->cmd, point, m->layout, 0, 1, &m->set, 0, NULL);
   vkCmdPushConstants(m->cmd, m->layout, VK_SHADER_STAGE_ALL, 0, sizeof(constants), &constants);
   if (step->is_draw) {
      begin_draw(m, get_draw_pipeline(m, soak_variant(program, SOAK_VERTEX)));
      vkCmdDraw(m->cmd, SOAK_GROUP, step->groups, 0, 0);
      end_draw(m);
   } else {
      const bool barriers = soak_has_barriers(program);
      const unsigned variant = soak_variant(program, barriers);
      vkCmdBindPipeline(m->cmd, point, get_pipeline(m, barriers, variant));
      vkCmdDispatch(m->cmd, step->groups, 1, 1);
   }
   separate(m, program, step);
}

/* Ranges of memory that barriers tell apart are few (docs/sync-scopes.rst, "What is not seen"). A
 * barrier for everything makes room for those of the next program.
 */
static void
make_room(struct machine *m, const struct soak_program *program)
{
   bool has_ranges = false;

   for (unsigned i = 0; i < program->step_count; i++)
      has_ranges |= program->steps[i].separator == SOAK_BARRIER_RANDOM ||
                    program->steps[i].separator == SOAK_BARRIER_RANGE;
   if (!has_ranges)
      return;
   m->cmd = vkh_begin(m->ctx);
   vkh_barrier(m->cmd);
   submit_and_wait(m);
}

/* Each program ends with a wait: the next one has nothing to do with it. */
void
soak_run(const struct soak_program *programs, uint64_t count)
{
   struct machine machine;

   create_machine(&machine, needs_feedback(programs, count));
   for (uint64_t i = 0; i < count; i++) {
      for (unsigned j = 0; j < programs[i].step_count; j++) {
         if (programs[i].steps[j].command == SOAK_COPY_RESULTS)
            create_results(&machine);
      }
      for (unsigned j = 0; j < programs[i].step_count; j++)
         run_step(&machine, &programs[i], &programs[i].steps[j]);
      make_room(&machine, &programs[i]);
   }
   destroy_machine(&machine);
}

unsigned
soak_subgroup_size(void)
{
   struct vkh_context *ctx = vkh_instance_create(NULL);
   VkPhysicalDeviceSubgroupProperties subgroup = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES,
   };
   VkPhysicalDeviceProperties2 properties = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
      .pNext = &subgroup,
   };

   vkGetPhysicalDeviceProperties2(ctx->physical_device, &properties);
   vkh_context_destroy(ctx);
   /* A larger one has no more than a workgroup. */
   return subgroup.subgroupSize < SOAK_GROUP ? subgroup.subgroupSize : SOAK_GROUP;
}

/* SPDX-License-Identifier: MIT */

#include "core/commands/gpuval_command_fetch.h"
#include "core/commands/gpuval_commands.h"
#include "core/commands/gpuval_vertex.h"
#include "core/order/gpuval_dependency.h"

#include "gpuval/src/compat/gpuval_runtime.h"
#include "util/ralloc.h"
#include "vk_buffer.h"
#include "vk_image.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace {

/* All commands that Mesa has, out of vk_cmd_queue.h */
const std::map<std::string, vk_cmd_type> all_commands = {
#define COMMAND(name) {#name, name},
#include "vk_cmd_types.h"
};

uint64_t
query_size(VkQueryPool pool, VkQueryResultFlags flags)
{
   return gpuval_query_size(VK_QUERY_TYPE_OCCLUSION, 0, flags);
}

/* What is at addresses: those of the host */
const void *
find_memory(void *data, VkDeviceAddress address)
{
   return (const void *)(uintptr_t)address;
}

const gpuval_command_driver driver = {query_size, NULL, find_memory};

/* What an access is of: one of the objects of the fixture, or none of them */
enum where { NOWHERE, SRC, DST, OTHER, SRC_IMAGE, DST_IMAGE, ADDRESS };

struct access {
   VkPipelineStageFlags2 stages;
   VkAccessFlags2 access;
   enum where where;
   uint64_t begin, size; /* bytes, or the level */
   bool has_gaps;

   bool operator==(const struct access &other) const
   {
      return stages == other.stages && access == other.access && where == other.where &&
             begin == other.begin && size == other.size && has_gaps == other.has_gaps;
   }
};

std::ostream &
operator<<(std::ostream &out, const struct access &access)
{
   return out << "{stages 0x" << std::hex << access.stages << ", access 0x" << access.access
              << ", where " << access.where << ", 0x" << access.begin << ", size 0x" << access.size
              << (access.has_gaps ? ", gaps}" : "}") << std::dec;
}

const VkPipelineStageFlags2 COPY = VK_PIPELINE_STAGE_2_COPY_BIT;
const VkPipelineStageFlags2 CLEAR = VK_PIPELINE_STAGE_2_CLEAR_BIT;
const VkPipelineStageFlags2 INDIRECT = VK_PIPELINE_STAGE_2_DRAW_INDIRECT_BIT;
const VkPipelineStageFlags2 FEEDBACK = VK_PIPELINE_STAGE_2_TRANSFORM_FEEDBACK_BIT_EXT;
const VkPipelineStageFlags2 PREPROCESS = VK_PIPELINE_STAGE_2_COMMAND_PREPROCESS_BIT_EXT;
const VkPipelineStageFlags2 BUILD = VK_PIPELINE_STAGE_2_ACCELERATION_STRUCTURE_BUILD_BIT_KHR;
const VkPipelineStageFlags2 BUILD_COPY =
   BUILD | VK_PIPELINE_STAGE_2_ACCELERATION_STRUCTURE_COPY_BIT_KHR;
const VkAccessFlags2 READ = VK_ACCESS_2_TRANSFER_READ_BIT;
const VkAccessFlags2 WRITE = VK_ACCESS_2_TRANSFER_WRITE_BIT;
const VkAccessFlags2 READ_INDIRECT = VK_ACCESS_2_INDIRECT_COMMAND_READ_BIT;
const VkAccessFlags2 READ_STRUCTURE = VK_ACCESS_2_ACCELERATION_STRUCTURE_READ_BIT_KHR;
const VkAccessFlags2 WRITE_STRUCTURE = VK_ACCESS_2_ACCELERATION_STRUCTURE_WRITE_BIT_KHR;

class commands : public ::testing::Test {
 protected:
   commands(): walk(gpuval_commands_create(NULL, &driver))
   {
      init(src);
      init(dst);
      init(other);
      init(src_image);
      init(dst_image);
      init(src_view, src_image, 1);
      init(dst_view, dst_image, 2);
      init(src_structure, src, 0x100);
      init(dst_structure, dst, 0x200);
      gpuval_commands_add_observer(walk, &observer, this);
      gpuval_commands_begin(walk);
   }
   ~commands()
   {
      ralloc_free(walk);
   }

   static void init(vk_buffer &buffer)
   {
      buffer = {};
      buffer.base.type = VK_OBJECT_TYPE_BUFFER;
      buffer.size = 0x1000;
   }

   static void init(vk_image &image)
   {
      image = {};
      image.base.type = VK_OBJECT_TYPE_IMAGE;
      image.image_type = VK_IMAGE_TYPE_2D;
      image.format = VK_FORMAT_R8G8B8A8_UNORM;
      image.extent = {16, 16, 1};
      image.mip_levels = 4;
      image.array_layers = 2;
      image.aspects = VK_IMAGE_ASPECT_COLOR_BIT;
   }

   static void init(vk_image_view &view, vk_image &image, uint32_t level)
   {
      view = {};
      view.base.type = VK_OBJECT_TYPE_IMAGE_VIEW;
      view.image = &image;
      view.aspects = image.aspects;
      view.base_mip_level = level;
      view.level_count = view.layer_count = 1;
      view.extent = {8, 8, 1};
   }

   static void init(vk_acceleration_structure &structure, vk_buffer &buffer, uint64_t offset)
   {
      structure = {};
      structure.base.type = VK_OBJECT_TYPE_ACCELERATION_STRUCTURE_KHR;
      gpuval_set_structure_buffer(&structure, &buffer);
      structure.offset = offset;
      structure.size = 0x80;
   }

   static vk_cmd_queue_entry entry(vk_cmd_type type)
   {
      vk_cmd_queue_entry command = {};
      command.type = type;
      return command;
   }

   enum where find(const gpuval_command_access *access) const
   {
      if (access->image)
         return access->image == &src_image   ? SRC_IMAGE
                : access->image == &dst_image ? DST_IMAGE
                                              : NOWHERE;
      return access->buffer == &src     ? SRC
             : access->buffer == &dst   ? DST
             : access->buffer == &other ? OTHER
             : access->buffer           ? NOWHERE
                                        : ADDRESS;
   }

   static void tell_access(void *data, const gpuval_command_access *access)
   {
      commands *self = (commands *)data;
      const struct access told = {
         access->stages,
         access->access,
         self->find(access),
         access->image    ? access->range.baseMipLevel
         : access->buffer ? access->offset
                          : access->address,
         access->size,
         access->has_gaps,
      };
      self->told.push_back(told);
   }

   static void tell_attachment(void *data, const VkRenderingInfo *info,
                               const gpuval_attachment *attachment, gpuval_attachment_event event)
   {
      commands *self = (commands *)data;

      self->events.push_back({event, attachment->number});
      gpuval_visit_attachment_accesses(attachment, &info->renderArea, event, tell_access, data);
   }

   static void tell_dependency(void *data, const gpuval_command_dependency *dependency)
   {
      ((commands *)data)->dependencies.push_back(*dependency);
   }

   static void tell_set_event(void *data, VkEvent event, VkPipelineStageFlags2 stages)
   {
      ((commands *)data)->event_stages = stages;
   }

   std::vector<struct access> visit(const vk_cmd_queue_entry &command)
   {
      visited.push_back(command.type);
      told.clear();
      events.clear();
      gpuval_commands_visit(walk, &command);
      return told;
   }

   static const gpuval_command_observer observer;

   gpuval_commands *walk;
   vk_buffer src, dst, other;
   vk_image src_image, dst_image;
   vk_image_view src_view, dst_view;
   vk_acceleration_structure src_structure, dst_structure;

   std::vector<struct access> told; /* of the last command */
   std::vector<std::pair<gpuval_attachment_event, uint32_t>> events;
   std::vector<gpuval_command_dependency> dependencies;
   VkPipelineStageFlags2 event_stages = 0;
   static std::vector<vk_cmd_type> visited; /* ever */
};

std::vector<vk_cmd_type> commands::visited;

const gpuval_command_observer commands::observer = {
   .access = tell_access,
   .attachment = tell_attachment,
   .dependency = tell_dependency,
   .set_event = tell_set_event,
};

typedef std::vector<struct access> accesses;

TEST_F(commands, each_has_a_kind)
{
   EXPECT_GT(all_commands.size(), 200u);
   for (const auto &command : all_commands)
      EXPECT_NE(gpuval_command_kind(command.second), GPUVAL_COMMAND_UNKNOWN)
         << command.first << " is in no row of gpuval_command_kind()";
   EXPECT_EQ(gpuval_command_kind((vk_cmd_type)all_commands.size()), GPUVAL_COMMAND_UNKNOWN);
}

TEST_F(commands, copy_buffer)
{
   const VkBufferCopy2 regions[] = {
      {.srcOffset = 0x10, .dstOffset = 0x20, .size = 0x30},
      {.srcOffset = 0xff0, .dstOffset = 0, .size = 0x30}, /* beyond the end */
   };
   VkCopyBufferInfo2 info = {
      .srcBuffer = vk_buffer_to_handle(&src),
      .dstBuffer = vk_buffer_to_handle(&dst),
      .regionCount = 2,
      .pRegions = regions,
   };
   vk_cmd_queue_entry command = entry(VK_CMD_COPY_BUFFER2);
   command.u.copy_buffer2.copy_buffer_info = &info;

   EXPECT_EQ(visit(command), (accesses{
                                {COPY, READ, SRC, 0x10, 0x30, false},
                                {COPY, WRITE, DST, 0x20, 0x30, false},
                                {COPY, READ, SRC, 0xff0, 0x10, false},
                                {COPY, WRITE, DST, 0, 0x30, false},
                             }));
}

#ifdef VK_KHR_copy_memory_indirect
const VkPipelineStageFlags2 COPY_INDIRECT = VK_PIPELINE_STAGE_2_COPY_INDIRECT_BIT_KHR;

TEST_F(commands, copy_memory_indirect)
{
   struct {
      VkCopyMemoryIndirectCommandKHR copy;
      uint64_t between;
   } const copies[] = {
      {{.srcAddress = 0x1000, .dstAddress = 0x2000, .size = 0x30}},
      {{.srcAddress = 0x3000, .dstAddress = 0x4000, .size = 0}},
   };
   VkCopyMemoryIndirectInfoKHR info = {
      .copyCount = 2,
      .copyAddressRange = {(uintptr_t)copies, sizeof(copies), sizeof(copies[0])},
   };
   vk_cmd_queue_entry command = entry(VK_CMD_COPY_MEMORY_INDIRECT_KHR);
   command.u.copy_memory_indirect_khr.copy_memory_indirect_info = &info;

   const uint64_t size = sizeof(copies[0].copy);
   EXPECT_EQ(visit(command),
             (accesses{
                {COPY_INDIRECT, READ_INDIRECT, ADDRESS, (uintptr_t)&copies[0], size, false},
                {COPY, READ, ADDRESS, 0x1000, 0x30, false},
                {COPY, WRITE, ADDRESS, 0x2000, 0x30, false},
                {COPY_INDIRECT, READ_INDIRECT, ADDRESS, (uintptr_t)&copies[1], size, false},
             }));
}

TEST_F(commands, copy_memory_to_image_indirect)
{
   VkCopyMemoryToImageIndirectCommandKHR copy = {
      .srcAddress = 0x1000,
      .imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 2, 1, 1},
      .imageExtent = {4, 4, 1},
   };
   VkCopyMemoryToImageIndirectInfoKHR info = {
      .copyCount = 1,
      .copyAddressRange = {(uintptr_t)&copy, sizeof(copy), sizeof(copy)},
      .dstImage = vk_image_to_handle(&dst_image),
   };
   vk_cmd_queue_entry command = entry(VK_CMD_COPY_MEMORY_TO_IMAGE_INDIRECT_KHR);
   command.u.copy_memory_to_image_indirect_khr.copy_memory_to_image_indirect_info = &info;

   EXPECT_EQ(visit(command),
             (accesses{
                {COPY_INDIRECT, READ_INDIRECT, ADDRESS, (uintptr_t)&copy, sizeof(copy), false},
                {COPY, READ, ADDRESS, 0x1000, 64, false},
                {COPY, WRITE, DST_IMAGE, 2, 0, false},
             }));

   copy.bufferRowLength = 8; /* rows have gaps */
   EXPECT_EQ(visit(command)[1], (access{COPY, READ, ADDRESS, 0x1000, 128, true}));
}
#endif

TEST_F(commands, fill_and_update)
{
   vk_cmd_queue_entry fill = entry(VK_CMD_FILL_BUFFER);
   fill.u.fill_buffer.dst_buffer = vk_buffer_to_handle(&dst);
   fill.u.fill_buffer.dst_offset = 0x800;
   fill.u.fill_buffer.size = VK_WHOLE_SIZE;
   EXPECT_EQ(visit(fill), (accesses{{CLEAR, WRITE, DST, 0x800, 0x800, false}}));

   vk_cmd_queue_entry update = entry(VK_CMD_UPDATE_BUFFER);
   update.u.update_buffer.dst_buffer = vk_buffer_to_handle(&dst);
   update.u.update_buffer.dst_offset = 4;
   update.u.update_buffer.data_size = 8;
   EXPECT_EQ(visit(update), (accesses{{CLEAR, WRITE, DST, 4, 8, false}}));
}

TEST_F(commands, query_results)
{
   vk_cmd_queue_entry command = entry(VK_CMD_COPY_QUERY_POOL_RESULTS);
   vk_cmd_copy_query_pool_results *copy = &command.u.copy_query_pool_results;

   copy->dst_buffer = vk_buffer_to_handle(&dst);
   copy->dst_offset = 0x40;
   copy->query_count = 2;
   copy->stride = 0x10;
   copy->flags = VK_QUERY_RESULT_64_BIT;
   EXPECT_EQ(visit(command), (accesses{
                                {COPY, WRITE, DST, 0x40, 8, false},
                                {COPY, WRITE, DST, 0x50, 8, false},
                             }));
}

TEST_F(commands, marker)
{
   vk_cmd_queue_entry command = entry(VK_CMD_WRITE_BUFFER_MARKER2_AMD);
   command.u.write_buffer_marker2_amd.dst_buffer = vk_buffer_to_handle(&dst);
   command.u.write_buffer_marker2_amd.dst_offset = 0x40;
   EXPECT_EQ(visit(command),
             (accesses{{VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT, WRITE, DST, 0x40, 4, false}}));
}

VkImageSubresourceLayers
level(uint32_t number)
{
   return {VK_IMAGE_ASPECT_COLOR_BIT, number, 0, 1};
}

TEST_F(commands, clear_image)
{
   VkImageSubresourceRange range = {VK_IMAGE_ASPECT_COLOR_BIT, 3, 1, 0, 2};
   vk_cmd_queue_entry color = entry(VK_CMD_CLEAR_COLOR_IMAGE);
   color.u.clear_color_image.image = vk_image_to_handle(&dst_image);
   color.u.clear_color_image.range_count = 1;
   color.u.clear_color_image.ranges = &range;
   EXPECT_EQ(visit(color), (accesses{{CLEAR, WRITE, DST_IMAGE, 3, 0, false}}));

   vk_cmd_queue_entry depth = entry(VK_CMD_CLEAR_DEPTH_STENCIL_IMAGE);
   depth.u.clear_depth_stencil_image.image = vk_image_to_handle(&dst_image);
   depth.u.clear_depth_stencil_image.range_count = 1;
   depth.u.clear_depth_stencil_image.ranges = &range;
   EXPECT_EQ(visit(depth), (accesses{{CLEAR, WRITE, DST_IMAGE, 3, 0, false}}));
}

TEST_F(commands, copy_image)
{
   const VkImageCopy2 region = {
      .srcSubresource = level(1),
      .dstSubresource = level(2),
      .extent = {4, 4, 1},
   };
   VkCopyImageInfo2 info = {
      .srcImage = vk_image_to_handle(&src_image),
      .dstImage = vk_image_to_handle(&dst_image),
      .regionCount = 1,
      .pRegions = &region,
   };
   vk_cmd_queue_entry command = entry(VK_CMD_COPY_IMAGE2);
   command.u.copy_image2.copy_image_info = &info;
   EXPECT_EQ(visit(command), (accesses{
                                {COPY, READ, SRC_IMAGE, 1, 0, false},
                                {COPY, WRITE, DST_IMAGE, 2, 0, false},
                             }));
}

TEST_F(commands, blit_and_resolve)
{
   const VkPipelineStageFlags2 BLIT = VK_PIPELINE_STAGE_2_BLIT_BIT;
   const VkPipelineStageFlags2 RESOLVE = VK_PIPELINE_STAGE_2_RESOLVE_BIT;
   const VkImageBlit2 blitted = {
      .srcSubresource = level(1),
      .dstSubresource = level(2),
   };
   VkBlitImageInfo2 blit_info = {
      .srcImage = vk_image_to_handle(&src_image),
      .dstImage = vk_image_to_handle(&dst_image),
      .regionCount = 1,
      .pRegions = &blitted,
   };
   vk_cmd_queue_entry blit = entry(VK_CMD_BLIT_IMAGE2);
   blit.u.blit_image2.blit_image_info = &blit_info;
   EXPECT_EQ(visit(blit), (accesses{
                             {BLIT, READ, SRC_IMAGE, 1, 0, false},
                             {BLIT, WRITE, DST_IMAGE, 2, 0, false},
                          }));

   const VkImageResolve2 resolved = {.srcSubresource = level(0), .dstSubresource = level(3)};
   VkResolveImageInfo2 resolve_info = {
      .srcImage = vk_image_to_handle(&src_image),
      .dstImage = vk_image_to_handle(&dst_image),
      .regionCount = 1,
      .pRegions = &resolved,
   };
   vk_cmd_queue_entry resolve = entry(VK_CMD_RESOLVE_IMAGE2);
   resolve.u.resolve_image2.resolve_image_info = &resolve_info;
   EXPECT_EQ(visit(resolve), (accesses{
                                {RESOLVE, READ, SRC_IMAGE, 0, 0, false},
                                {RESOLVE, WRITE, DST_IMAGE, 3, 0, false},
                             }));
}

TEST_F(commands, buffers_and_images)
{
   VkBufferImageCopy2 region = {
      .bufferOffset = 0x100,
      .imageSubresource = level(1),
      .imageExtent = {4, 2, 1},
   };
   VkCopyBufferToImageInfo2 to_info = {
      .srcBuffer = vk_buffer_to_handle(&src),
      .dstImage = vk_image_to_handle(&dst_image),
      .regionCount = 1,
      .pRegions = &region,
   };
   vk_cmd_queue_entry to = entry(VK_CMD_COPY_BUFFER_TO_IMAGE2);
   to.u.copy_buffer_to_image2.copy_buffer_to_image_info = &to_info;
   EXPECT_EQ(visit(to), (accesses{
                           {COPY, READ, SRC, 0x100, 4 * 2 * 4, false},
                           {COPY, WRITE, DST_IMAGE, 1, 0, false},
                        }));

   region.bufferRowLength = 8;
   VkCopyImageToBufferInfo2 from_info = {
      .srcImage = vk_image_to_handle(&src_image),
      .dstBuffer = vk_buffer_to_handle(&dst),
      .regionCount = 1,
      .pRegions = &region,
   };
   vk_cmd_queue_entry from = entry(VK_CMD_COPY_IMAGE_TO_BUFFER2);
   from.u.copy_image_to_buffer2.copy_image_to_buffer_info = &from_info;
   EXPECT_EQ(visit(from), (accesses{
                             {COPY, READ, SRC_IMAGE, 1, 0, false},
                             {COPY, WRITE, DST, 0x100, (8 + 4) * 4, true}, /* to the last texel */
                          }));
}

TEST_F(commands, conditional_rendering)
{
   VkConditionalRenderingBeginInfoEXT info = {
      .buffer = vk_buffer_to_handle(&src),
      .offset = 0x20,
   };
   vk_cmd_queue_entry command = entry(VK_CMD_BEGIN_CONDITIONAL_RENDERING_EXT);
   command.u.begin_conditional_rendering_ext.conditional_rendering_begin = &info;
   EXPECT_EQ(visit(command),
             (accesses{{VK_PIPELINE_STAGE_2_CONDITIONAL_RENDERING_BIT_EXT,
                        VK_ACCESS_2_CONDITIONAL_RENDERING_READ_BIT_EXT, SRC, 0x20, 4, false}}));
}

TEST_F(commands, transform_feedback)
{
   VkBuffer buffers[] = {vk_buffer_to_handle(&dst), vk_buffer_to_handle(&other)};
   VkDeviceSize offsets[] = {0x100, 0x80}, sizes[] = {0x200, VK_WHOLE_SIZE};
   vk_cmd_queue_entry bind = entry(VK_CMD_BIND_TRANSFORM_FEEDBACK_BUFFERS_EXT);
   bind.u.bind_transform_feedback_buffers_ext.binding_count = 2;
   bind.u.bind_transform_feedback_buffers_ext.buffers = buffers;
   bind.u.bind_transform_feedback_buffers_ext.offsets = offsets;
   bind.u.bind_transform_feedback_buffers_ext.sizes = sizes;
   EXPECT_EQ(visit(bind), accesses{});
   EXPECT_EQ(visit(entry(VK_CMD_DRAW)), accesses{});

   VkBuffer counters[] = {vk_buffer_to_handle(&src), VK_NULL_HANDLE};
   vk_cmd_queue_entry begin = entry(VK_CMD_BEGIN_TRANSFORM_FEEDBACK_EXT);
   begin.u.begin_transform_feedback_ext.counter_buffer_count = 2;
   begin.u.begin_transform_feedback_ext.counter_buffers = counters;
   const accesses counter = {
      {INDIRECT | FEEDBACK, VK_ACCESS_2_TRANSFORM_FEEDBACK_COUNTER_READ_BIT_EXT, SRC, 0, 4, false}};
   const accesses written = {
      {FEEDBACK, VK_ACCESS_2_TRANSFORM_FEEDBACK_WRITE_BIT_EXT, DST, 0x100, 0x200, true},
      {FEEDBACK, VK_ACCESS_2_TRANSFORM_FEEDBACK_WRITE_BIT_EXT, OTHER, 0x80, 0xf80, true},
   };
   EXPECT_EQ(visit(begin), (accesses{counter[0], written[0], written[1]}));
   EXPECT_EQ(visit(entry(VK_CMD_DRAW)), accesses{});

   vk_cmd_queue_entry end = entry(VK_CMD_END_TRANSFORM_FEEDBACK_EXT);
   end.u.end_transform_feedback_ext.counter_buffer_count = 1;
   end.u.end_transform_feedback_ext.counter_buffers = counters;
   end.u.end_transform_feedback_ext.counter_buffer_offsets = offsets;
   EXPECT_EQ(visit(end), (accesses{{FEEDBACK, VK_ACCESS_2_TRANSFORM_FEEDBACK_COUNTER_WRITE_BIT_EXT,
                                    SRC, 0x100, 4, false}}));
   gpuval_commands_begin(walk); /* nothing is bound any more */
   EXPECT_EQ(visit(begin), counter);
}

TEST_F(commands, indirect_draws)
{
   const struct {
      vk_cmd_type type, counted_type;
      uint64_t size;
   } draws[] = {
      {VK_CMD_DRAW_INDIRECT, VK_CMD_DRAW_INDIRECT_COUNT, 16},
      {VK_CMD_DRAW_INDEXED_INDIRECT, VK_CMD_DRAW_INDEXED_INDIRECT_COUNT, 20},
      {VK_CMD_DRAW_MESH_TASKS_INDIRECT_EXT, VK_CMD_DRAW_MESH_TASKS_INDIRECT_COUNT_EXT, 12},
   };

   for (const auto &draw : draws) {
      vk_cmd_queue_entry command = entry(draw.type);
      command.u.draw_indirect.buffer = vk_buffer_to_handle(&src);
      command.u.draw_indirect.offset = 0x40;
      command.u.draw_indirect.draw_count = 3;
      command.u.draw_indirect.stride = 0x20;
      EXPECT_EQ(visit(command),
                (accesses{{INDIRECT, READ_INDIRECT, SRC, 0x40, 0x40 + draw.size, true}}));
      command.u.draw_indirect.stride = draw.size;
      EXPECT_EQ(visit(command),
                (accesses{{INDIRECT, READ_INDIRECT, SRC, 0x40, 3 * draw.size, false}}));
      command.u.draw_indirect.draw_count = 0;
      EXPECT_EQ(visit(command), accesses{});

      vk_cmd_queue_entry counted = entry(draw.counted_type);
      counted.u.draw_indirect_count.buffer = vk_buffer_to_handle(&src);
      counted.u.draw_indirect_count.offset = 0x40;
      counted.u.draw_indirect_count.count_buffer = vk_buffer_to_handle(&other);
      counted.u.draw_indirect_count.count_buffer_offset = 8;
      counted.u.draw_indirect_count.max_draw_count = 2;
      counted.u.draw_indirect_count.stride = 0x20;
      EXPECT_EQ(visit(counted), (accesses{
                                   {INDIRECT, READ_INDIRECT, OTHER, 8, 4, false},
                                   {INDIRECT, READ_INDIRECT, SRC, 0x40, 0x20 + draw.size, true},
                                }));
   }
}

TEST_F(commands, byte_count)
{
   vk_cmd_queue_entry command = entry(VK_CMD_DRAW_INDIRECT_BYTE_COUNT_EXT);
   command.u.draw_indirect_byte_count_ext.counter_buffer = vk_buffer_to_handle(&src);
   command.u.draw_indirect_byte_count_ext.counter_buffer_offset = 0x10;
   EXPECT_EQ(
      visit(command),
      (accesses{{INDIRECT, READ_INDIRECT | VK_ACCESS_2_TRANSFORM_FEEDBACK_COUNTER_READ_BIT_EXT, SRC,
                 0x10, 4, false}}));
}

TEST_F(commands, indirect_dispatch)
{
   vk_cmd_queue_entry command = entry(VK_CMD_DISPATCH_INDIRECT);
   command.u.dispatch_indirect.buffer = vk_buffer_to_handle(&src);
   command.u.dispatch_indirect.offset = 0x30;
   EXPECT_EQ(visit(command), (accesses{{INDIRECT, READ_INDIRECT, SRC, 0x30, 12, false}}));
}

TEST_F(commands, traces)
{
   const VkPipelineStageFlags2 TRACE = VK_PIPELINE_STAGE_2_RAY_TRACING_SHADER_BIT_KHR;
   const VkAccessFlags2 READ_TABLE =
      VK_ACCESS_2_SHADER_BINDING_TABLE_READ_BIT_KHR | VK_ACCESS_2_SHADER_READ_BIT;
   VkStridedDeviceAddressRegionKHR raygen = {0x10000, 0x40, 0x40}, none = {};
   vk_cmd_queue_entry trace = entry(VK_CMD_TRACE_RAYS_KHR);
   trace.u.trace_rays_khr.raygen_shader_binding_table = &raygen;
   trace.u.trace_rays_khr.miss_shader_binding_table = &none;
   trace.u.trace_rays_khr.hit_shader_binding_table = &none;
   trace.u.trace_rays_khr.callable_shader_binding_table = &none;
   EXPECT_EQ(visit(trace), (accesses{{TRACE, READ_TABLE, ADDRESS, 0x10000, 0x40, true}}));

   vk_cmd_queue_entry indirect = entry(VK_CMD_TRACE_RAYS_INDIRECT_KHR);
   indirect.u.trace_rays_indirect_khr.raygen_shader_binding_table = &raygen;
   indirect.u.trace_rays_indirect_khr.miss_shader_binding_table = &none;
   indirect.u.trace_rays_indirect_khr.hit_shader_binding_table = &none;
   indirect.u.trace_rays_indirect_khr.callable_shader_binding_table = &none;
   indirect.u.trace_rays_indirect_khr.indirect_device_address = 0x20000;
   EXPECT_EQ(visit(indirect), (accesses{
                                 {TRACE, READ_TABLE, ADDRESS, 0x10000, 0x40, true},
                                 {INDIRECT, READ_INDIRECT, ADDRESS, 0x20000, 12, false},
                              }));

   vk_cmd_queue_entry indirect2 = entry(VK_CMD_TRACE_RAYS_INDIRECT2_KHR);
   indirect2.u.trace_rays_indirect2_khr.indirect_device_address = 0x20000;
   EXPECT_EQ(visit(indirect2), (accesses{{INDIRECT, READ_INDIRECT, ADDRESS, 0x20000,
                                          sizeof(VkTraceRaysIndirectCommand2KHR), false}}));
}

TEST_F(commands, generated)
{
   VkGeneratedCommandsInfoEXT info = {
      .indirectAddress = 0x10000,
      .indirectAddressSize = 0x100,
      .preprocessAddress = 0x20000,
      .preprocessSize = 0x200,
      .sequenceCountAddress = 0x30000,
   };
   const VkAccessFlags2 READ_PREPROCESS = VK_ACCESS_2_COMMAND_PREPROCESS_READ_BIT_EXT;
   const VkAccessFlags2 WRITE_PREPROCESS = VK_ACCESS_2_COMMAND_PREPROCESS_WRITE_BIT_EXT;
   vk_cmd_queue_entry preprocess = entry(VK_CMD_PREPROCESS_GENERATED_COMMANDS_EXT);
   preprocess.u.preprocess_generated_commands_ext.generated_commands_info = &info;
   EXPECT_EQ(visit(preprocess), (accesses{
                                   {PREPROCESS, READ_PREPROCESS, ADDRESS, 0x10000, 0x100, true},
                                   {PREPROCESS, READ_PREPROCESS, ADDRESS, 0x30000, 4, false},
                                   {PREPROCESS, WRITE_PREPROCESS, ADDRESS, 0x20000, 0x200, false},
                                }));

   vk_cmd_queue_entry execute = entry(VK_CMD_EXECUTE_GENERATED_COMMANDS_EXT);
   execute.u.execute_generated_commands_ext.generated_commands_info = &info;
   EXPECT_EQ(
      visit(execute),
      (accesses{
         {INDIRECT | PREPROCESS, READ_INDIRECT | READ_PREPROCESS, ADDRESS, 0x10000, 0x100, true},
         {INDIRECT | PREPROCESS, READ_INDIRECT | READ_PREPROCESS, ADDRESS, 0x30000, 4, false},
         {PREPROCESS, WRITE_PREPROCESS, ADDRESS, 0x20000, 0x200, true},
      }));
   execute.u.execute_generated_commands_ext.is_preprocessed = true;
   EXPECT_EQ(visit(execute), (accesses{{INDIRECT, READ_INDIRECT, ADDRESS, 0x20000, 0x200, true}}));
}

TEST_F(commands, build)
{
   VkAccelerationStructureGeometryKHR geometries[3] = {};
   VkAccelerationStructureBuildRangeInfoKHR ranges[3] = {};
   VkAccelerationStructureGeometryTrianglesDataKHR *triangles = &geometries[0].geometry.triangles;
   geometries[0].geometryType = VK_GEOMETRY_TYPE_TRIANGLES_KHR;
   triangles->vertexFormat = VK_FORMAT_R32G32B32_SFLOAT;
   triangles->vertexData.deviceAddress = 0x10000;
   triangles->vertexStride = 16;
   triangles->maxVertex = 7;
   triangles->indexType = VK_INDEX_TYPE_UINT16;
   triangles->indexData.deviceAddress = 0x20000;
   triangles->transformData.deviceAddress = 0x28000;
   ranges[0] = {.primitiveCount = 2, .primitiveOffset = 6, .firstVertex = 1, .transformOffset = 48};
   geometries[1].geometryType = VK_GEOMETRY_TYPE_AABBS_KHR;
   geometries[1].geometry.aabbs.data.deviceAddress = 0x30000;
   geometries[1].geometry.aabbs.stride = 32;
   ranges[1] = {.primitiveCount = 2, .primitiveOffset = 8};
   geometries[2].geometryType = VK_GEOMETRY_TYPE_INSTANCES_KHR;
   geometries[2].geometry.instances.data.deviceAddress = 0x40000;
   ranges[2] = {.primitiveCount = 2, .primitiveOffset = 64};

   VkAccelerationStructureBuildGeometryInfoKHR info = {};
   info.mode = VK_BUILD_ACCELERATION_STRUCTURE_MODE_UPDATE_KHR;
   info.srcAccelerationStructure = vk_acceleration_structure_to_handle(&src_structure);
   info.dstAccelerationStructure = vk_acceleration_structure_to_handle(&dst_structure);
   info.geometryCount = 3;
   info.pGeometries = geometries;
   info.scratchData.deviceAddress = 0x50000;
   const VkAccelerationStructureBuildRangeInfoKHR *all_ranges[] = {ranges};
   vk_cmd_queue_entry command = entry(VK_CMD_BUILD_ACCELERATION_STRUCTURES_KHR);
   command.u.build_acceleration_structures_khr.info_count = 1;
   command.u.build_acceleration_structures_khr.infos = &info;
   command.u.build_acceleration_structures_khr.pp_build_range_infos = all_ranges;

   const VkAccessFlags2 READ_INPUT = VK_ACCESS_2_SHADER_READ_BIT;
   const accesses results = {
      {BUILD, WRITE_STRUCTURE, DST, 0x200, 0x80, false},
      {BUILD, READ_STRUCTURE, SRC, 0x100, 0x80, false},
      {BUILD, WRITE_STRUCTURE, ADDRESS, 0x50000, VK_WHOLE_SIZE, true},
   };
   accesses expected = {
      {BUILD, READ_INPUT, ADDRESS, 0x20006, 12, false},
      {BUILD, READ_INPUT, ADDRESS, 0x10010, 7 * 16 + 12, true},
      {BUILD, READ_INPUT, ADDRESS, 0x28030, 48, false},
      {BUILD, READ_INPUT, ADDRESS, 0x30008, 32 + 24, true},
      {BUILD, READ_INPUT, ADDRESS, 0x40040, 128, false},
   };
   expected.insert(expected.end(), results.begin(), results.end());
   EXPECT_EQ(visit(command), expected);

   triangles->indexType = VK_INDEX_TYPE_NONE_KHR;
   triangles->transformData.deviceAddress = 0;
   info.geometryCount = 1;
   expected = {{BUILD, READ_INPUT, ADDRESS, 0x10016, 5 * 16 + 12, true}};
   expected.insert(expected.end(), results.begin(), results.end());
   EXPECT_EQ(visit(command), expected);

   VkDeviceAddress address = 0x60000;
   uint32_t stride = 16;
   info.geometryCount = 3;
   vk_cmd_queue_entry indirect = entry(VK_CMD_BUILD_ACCELERATION_STRUCTURES_INDIRECT_KHR);
   indirect.u.build_acceleration_structures_indirect_khr.info_count = 1;
   indirect.u.build_acceleration_structures_indirect_khr.infos = &info;
   indirect.u.build_acceleration_structures_indirect_khr.indirect_device_addresses = &address;
   indirect.u.build_acceleration_structures_indirect_khr.indirect_strides = &stride;
   expected = {{BUILD, READ_INDIRECT, ADDRESS, 0x60000, 48, false}};
   expected.insert(expected.end(), results.begin(), results.end());
   EXPECT_EQ(visit(indirect), expected);
}

TEST_F(commands, copy_structure)
{
   VkAccelerationStructureKHR from = vk_acceleration_structure_to_handle(&src_structure);
   VkAccelerationStructureKHR to = vk_acceleration_structure_to_handle(&dst_structure);
   const struct access read = {BUILD_COPY, READ_STRUCTURE, SRC, 0x100, 0x80, false};
   const struct access written = {BUILD_COPY, WRITE_STRUCTURE, DST, 0x200, 0x80, false};

   VkCopyAccelerationStructureInfoKHR copy_info = {.src = from, .dst = to};
   vk_cmd_queue_entry copy = entry(VK_CMD_COPY_ACCELERATION_STRUCTURE_KHR);
   copy.u.copy_acceleration_structure_khr.info = &copy_info;
   EXPECT_EQ(visit(copy), (accesses{read, written}));

   VkCopyAccelerationStructureToMemoryInfoKHR out_info = {.src = from};
   out_info.dst.deviceAddress = 0x10000;
   vk_cmd_queue_entry out = entry(VK_CMD_COPY_ACCELERATION_STRUCTURE_TO_MEMORY_KHR);
   out.u.copy_acceleration_structure_to_memory_khr.info = &out_info;
   EXPECT_EQ(visit(out),
             (accesses{read, {BUILD_COPY, WRITE, ADDRESS, 0x10000, VK_WHOLE_SIZE, false}}));

   VkCopyMemoryToAccelerationStructureInfoKHR in_info = {.dst = to};
   in_info.src.deviceAddress = 0x10000;
   vk_cmd_queue_entry in = entry(VK_CMD_COPY_MEMORY_TO_ACCELERATION_STRUCTURE_KHR);
   in.u.copy_memory_to_acceleration_structure_khr.info = &in_info;
   EXPECT_EQ(visit(in),
             (accesses{{BUILD_COPY, READ, ADDRESS, 0x10000, VK_WHOLE_SIZE, false}, written}));

   vk_cmd_queue_entry properties = entry(VK_CMD_WRITE_ACCELERATION_STRUCTURES_PROPERTIES_KHR);
   properties.u.write_acceleration_structures_properties_khr.acceleration_structure_count = 1;
   properties.u.write_acceleration_structures_properties_khr.acceleration_structures = &from;
   EXPECT_EQ(visit(properties), accesses{read});
}

TEST_F(commands, video)
{
   const VkPipelineStageFlags2 DECODE = VK_PIPELINE_STAGE_2_VIDEO_DECODE_BIT_KHR;
   const VkPipelineStageFlags2 ENCODE = VK_PIPELINE_STAGE_2_VIDEO_ENCODE_BIT_KHR;
   VkVideoPictureResourceInfoKHR reference = {.imageViewBinding =
                                                 vk_image_view_to_handle(&src_view)};
   VkVideoReferenceSlotInfoKHR slot = {.pPictureResource = &reference};
   VkVideoDecodeInfoKHR decode_info = {
      .srcBuffer = vk_buffer_to_handle(&src),
      .srcBufferOffset = 0x100,
      .srcBufferRange = 0x200,
      .dstPictureResource = {.imageViewBinding = vk_image_view_to_handle(&dst_view)},
      .referenceSlotCount = 1,
      .pReferenceSlots = &slot,
   };
   vk_cmd_queue_entry decode = entry(VK_CMD_DECODE_VIDEO_KHR);
   decode.u.decode_video_khr.decode_info = &decode_info;
   EXPECT_EQ(visit(decode),
             (accesses{
                {DECODE, VK_ACCESS_2_VIDEO_DECODE_READ_BIT_KHR, SRC, 0x100, 0x200, false},
                {DECODE, VK_ACCESS_2_VIDEO_DECODE_WRITE_BIT_KHR, DST_IMAGE, 2, 0, false},
                {DECODE, VK_ACCESS_2_VIDEO_DECODE_READ_BIT_KHR, SRC_IMAGE, 1, 0, false},
             }));

   VkVideoEncodeInfoKHR encode_info = {
      .dstBuffer = vk_buffer_to_handle(&dst),
      .dstBufferOffset = 0x100,
      .dstBufferRange = 0x200,
      .srcPictureResource = {.imageViewBinding = vk_image_view_to_handle(&src_view)},
   };
   vk_cmd_queue_entry encode = entry(VK_CMD_ENCODE_VIDEO_KHR);
   encode.u.encode_video_khr.encode_info = &encode_info;
   EXPECT_EQ(visit(encode),
             (accesses{
                {ENCODE, VK_ACCESS_2_VIDEO_ENCODE_WRITE_BIT_KHR, DST, 0x100, 0x200, true},
                {ENCODE, VK_ACCESS_2_VIDEO_ENCODE_READ_BIT_KHR, SRC_IMAGE, 1, 0, false},
             }));
}

TEST_F(commands, fetch)
{
   const VkPipelineStageFlags2 INDEX = VK_PIPELINE_STAGE_2_INDEX_INPUT_BIT;
   const VkPipelineStageFlags2 ATTRIBUTE = VK_PIPELINE_STAGE_2_VERTEX_ATTRIBUTE_INPUT_BIT;
   const VkAccessFlags2 READ_INDEX = VK_ACCESS_2_INDEX_READ_BIT;
   const VkAccessFlags2 READ_ATTRIBUTE = VK_ACCESS_2_VERTEX_ATTRIBUTE_READ_BIT;
   gpuval_vertex_input input = {};
   input.num_attributes = 2;
   input.attributes[0] = {.location = 0, .binding = 0, .offset = 4, .size = 8};
   input.attributes[1] = {.location = 1, .binding = 1, .offset = 0, .size = 16};
   input.bindings[0].range.address = 0x10000;
   input.bindings[0].range.size = 0x100;
   input.bindings[0].stride = 12;
   input.bindings[1].range.address = 0x20000;
   input.bindings[1].range.size = 0x100;
   input.bindings[1].stride = 16;
   input.bindings[1].per_instance = true;
   input.bindings[1].divisor = 2;
   input.indices.range.address = 0x30000;
   input.indices.range.size = 0x10;
   input.indices.index_size = 2;

   gpuval_draw draw = {};
   draw.first = 2;
   draw.count = 3;
   draw.first_instance = 1;
   draw.num_instances = 5;
   gpuval_visit_fetch(&input, &draw, tell_access, this);
   EXPECT_EQ(told, (accesses{
                      {ATTRIBUTE, READ_ATTRIBUTE, ADDRESS, 0x10000 + 2 * 12 + 4, 2 * 12 + 8, true},
                      {ATTRIBUTE, READ_ATTRIBUTE, ADDRESS, 0x20010, 3 * 16, false},
                   }));

   told.clear();
   draw.indexed = true;
   draw.count = 12; /* beyond the end */
   input.bindings[1].divisor = 0;
   gpuval_visit_fetch(&input, &draw, tell_access, this);
   EXPECT_EQ(told, (accesses{
                      {INDEX, READ_INDEX, ADDRESS, 0x30004, 0xc, false},
                      {ATTRIBUTE, READ_ATTRIBUTE, ADDRESS, 0x20010, 16, false},
                   }));

   told.clear();
   draw.num_instances = 0;
   gpuval_visit_fetch(&input, &draw, tell_access, this);
   EXPECT_EQ(told, accesses{});
}

/* With a color attachment that is resolved, and depth */
class renderings : public commands {
 protected:
   renderings()
   {
      dst_image.format = VK_FORMAT_D32_SFLOAT;
      dst_image.aspects = dst_view.aspects = VK_IMAGE_ASPECT_DEPTH_BIT;
      init(other_image);
      init(other_view, other_image, 0);
      color.imageView = vk_image_view_to_handle(&src_view);
      color.imageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL;
      color.loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR;
      color.resolveMode = VK_RESOLVE_MODE_AVERAGE_BIT;
      color.resolveImageView = vk_image_view_to_handle(&other_view);
      depth.imageView = vk_image_view_to_handle(&dst_view);
      depth.imageLayout = VK_IMAGE_LAYOUT_DEPTH_ATTACHMENT_OPTIMAL;
      depth.loadOp = VK_ATTACHMENT_LOAD_OP_LOAD;
      depth.storeOp = VK_ATTACHMENT_STORE_OP_DONT_CARE;
      info.renderArea.extent = {8, 8};
      info.layerCount = 1;
      info.colorAttachmentCount = 1;
      info.pColorAttachments = &color;
      info.pDepthAttachment = &depth;
   }

   accesses begin()
   {
      vk_cmd_queue_entry command = entry(VK_CMD_BEGIN_RENDERING);
      command.u.begin_rendering.rendering_info = &info;
      return visit(command);
   }

   accesses end()
   {
      return visit(entry(GPUVAL_CMD_END_RENDERING));
   }

   vk_image other_image;
   vk_image_view other_view;
   VkRenderingAttachmentInfo color = {}, depth = {};
   VkRenderingInfo info = {};
};

TEST_F(renderings, outlive_their_command)
{
   begin();
   info.colorAttachmentCount = 0;
   info.pDepthAttachment = NULL;
   color.imageView = depth.imageView = VK_NULL_HANDLE;
   EXPECT_EQ(visit(entry(VK_CMD_DRAW)).size(), 2u);
   EXPECT_EQ(end().size(), 4u);
}

const VkPipelineStageFlags2 COLOR = VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT;
const VkPipelineStageFlags2 EARLY = VK_PIPELINE_STAGE_2_EARLY_FRAGMENT_TESTS_BIT;
const VkPipelineStageFlags2 LATE = VK_PIPELINE_STAGE_2_LATE_FRAGMENT_TESTS_BIT;
const VkAccessFlags2 READ_COLOR = VK_ACCESS_2_COLOR_ATTACHMENT_READ_BIT;
const VkAccessFlags2 WRITE_COLOR = VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT;
const VkAccessFlags2 READ_DEPTH = VK_ACCESS_2_DEPTH_STENCIL_ATTACHMENT_READ_BIT;
const VkAccessFlags2 WRITE_DEPTH = VK_ACCESS_2_DEPTH_STENCIL_ATTACHMENT_WRITE_BIT;

TEST_F(renderings, load_draw_store_resolve)
{
   EXPECT_EQ(begin(), (accesses{
                         {COLOR, WRITE_COLOR, SRC_IMAGE, 1, 0, false},
                         {EARLY, READ_DEPTH, DST_IMAGE, 2, 0, false},
                      }));
   EXPECT_EQ(visit(entry(VK_CMD_DRAW_MESH_TASKS_EXT)),
             (accesses{
                {COLOR, WRITE_COLOR, SRC_IMAGE, 1, 0, false},
                {EARLY | LATE, WRITE_DEPTH, DST_IMAGE, 2, 0, false},
             }));
   EXPECT_EQ(end(), (accesses{
                       {COLOR, WRITE_COLOR, SRC_IMAGE, 1, 0, false},
                       {LATE, WRITE_DEPTH, DST_IMAGE, 2, 0, false},
                       {COLOR, READ_COLOR, SRC_IMAGE, 1, 0, false},
                       {COLOR, WRITE_COLOR, NOWHERE, 0, 0, false},
                    }));
   EXPECT_EQ(visit(entry(VK_CMD_DRAW)), accesses{});
   EXPECT_EQ(end(), accesses{});
}

TEST_F(renderings, none)
{
   color.loadOp = depth.loadOp = VK_ATTACHMENT_LOAD_OP_NONE;
   color.storeOp = depth.storeOp = VK_ATTACHMENT_STORE_OP_NONE;
   color.resolveMode = VK_RESOLVE_MODE_NONE;
   EXPECT_EQ(begin(), accesses{});
   EXPECT_EQ(end(), accesses{});
   EXPECT_EQ(events.size(), 2u); /* of store operations, whatever they do */
}

TEST_F(renderings, read_only)
{
   depth.imageLayout = VK_IMAGE_LAYOUT_DEPTH_READ_ONLY_OPTIMAL;
   depth.storeOp = VK_ATTACHMENT_STORE_OP_STORE;
   info.colorAttachmentCount = 0;
   EXPECT_EQ(begin(), (accesses{{EARLY, READ_DEPTH, DST_IMAGE, 2, 0, false}}));
   EXPECT_EQ(visit(entry(VK_CMD_DRAW)),
             (accesses{{EARLY | LATE, READ_DEPTH, DST_IMAGE, 2, 0, false}}));
   EXPECT_EQ(end(), accesses{});
}

TEST_F(renderings, suspended_and_resumed)
{
   info.flags = VK_RENDERING_SUSPENDING_BIT;
   EXPECT_EQ(begin().size(), 2u);
   EXPECT_EQ(end(), accesses{});
   info.flags = VK_RENDERING_RESUMING_BIT;
   EXPECT_EQ(begin(), accesses{});
   EXPECT_EQ(end().size(), 4u);
}

TEST_F(renderings, clear_attachments)
{
   VkClearAttachment cleared = {.aspectMask = VK_IMAGE_ASPECT_DEPTH_BIT};
   vk_cmd_queue_entry command = entry(VK_CMD_CLEAR_ATTACHMENTS);
   command.u.clear_attachments.attachment_count = 1;
   command.u.clear_attachments.attachments = &cleared;
   EXPECT_EQ(visit(command), accesses{});
   begin();
   EXPECT_EQ(visit(command), (accesses{{EARLY | LATE, WRITE_DEPTH, DST_IMAGE, 2, 0, false}}));
   cleared.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT;
   EXPECT_EQ(visit(command), (accesses{{COLOR, WRITE_COLOR, SRC_IMAGE, 1, 0, false}}));
   cleared.colorAttachment = 1;
   EXPECT_EQ(visit(command), accesses{});
}

TEST_F(renderings, other_attachments)
{
   VkRenderingFragmentDensityMapAttachmentInfoEXT density = {
      .sType = VK_STRUCTURE_TYPE_RENDERING_FRAGMENT_DENSITY_MAP_ATTACHMENT_INFO_EXT,
      .imageView = vk_image_view_to_handle(&dst_view),
   };
   VkRenderingFragmentShadingRateAttachmentInfoKHR rate = {
      .sType = VK_STRUCTURE_TYPE_RENDERING_FRAGMENT_SHADING_RATE_ATTACHMENT_INFO_KHR,
      .pNext = &density,
      .imageView = vk_image_view_to_handle(&src_view),
   };
   info.pNext = &rate;
   info.colorAttachmentCount = 0;
   info.pDepthAttachment = NULL;
   EXPECT_EQ(begin(),
             (accesses{
                {VK_PIPELINE_STAGE_2_FRAGMENT_SHADING_RATE_ATTACHMENT_BIT_KHR,
                 VK_ACCESS_2_FRAGMENT_SHADING_RATE_ATTACHMENT_READ_BIT_KHR, SRC_IMAGE, 1, 0, false},
                {VK_PIPELINE_STAGE_2_FRAGMENT_DENSITY_PROCESS_BIT_EXT,
                 VK_ACCESS_2_FRAGMENT_DENSITY_MAP_READ_BIT_EXT, DST_IMAGE, 2, 0, false},
             }));
}

TEST_F(commands, dependencies)
{
   VkImageMemoryBarrier2 image = {.image = vk_image_to_handle(&dst_image)};
   VkMemoryBarrier2 memory = {.srcStageMask = VK_PIPELINE_STAGE_2_COPY_BIT};
   VkDependencyInfo info = {
      .memoryBarrierCount = 1,
      .pMemoryBarriers = &memory,
      .imageMemoryBarrierCount = 1,
      .pImageMemoryBarriers = &image,
   };
   vk_cmd_queue_entry barrier = entry(VK_CMD_PIPELINE_BARRIER2);
   barrier.u.pipeline_barrier2.dependency_info = &info;
   visit(barrier);
   ASSERT_EQ(dependencies.size(), 1u);
   EXPECT_EQ(dependencies[0].barrier, &info);
   EXPECT_EQ(dependencies[0].images, &image);

   gpuval_dependency *events = (gpuval_dependency *)rzalloc_size(walk, sizeof(gpuval_dependency));
   events->num_images = 1;
   events->images = &image;
   vk_cmd_queue_entry wait = entry(VK_CMD_WAIT_EVENTS2);
   visit(wait); /* nobody knows what it waits for */
   EXPECT_EQ(dependencies.size(), 1u);
   wait.driver_data = events;
   visit(wait);
   ASSERT_EQ(dependencies.size(), 2u);
   EXPECT_EQ(dependencies[1].events, events);
   EXPECT_EQ(dependencies[1].num_images, 1u);

   vk_cmd_queue_entry set = entry(VK_CMD_SET_EVENT2);
   set.u.set_event2.dependency_info = &info;
   visit(set);
   EXPECT_EQ(event_stages, VK_PIPELINE_STAGE_2_COPY_BIT);
}

/* The suites above, which gtest runs before this one, have visited each command that accesses
 * memory by itself.
 */
class commands_coverage : public commands {};

TEST_F(commands_coverage, each_is_tested)
{
   std::map<vk_cmd_type, bool> is_visited;
   for (vk_cmd_type type : visited)
      is_visited[type] = true;
   if (visited.empty())
      GTEST_SKIP() << "the other tests are filtered out";

   for (const auto &command : all_commands) {
      bool is_indirect = command.first.find("_INDIRECT") != std::string::npos;
      switch (gpuval_command_kind(command.second)) {
      case GPUVAL_COMMAND_TRANSFER:
      case GPUVAL_COMMAND_STRUCTURE:
      case GPUVAL_COMMAND_TRACE:
      case GPUVAL_COMMAND_GENERATED:
      case GPUVAL_COMMAND_PREPROCESS:
      case GPUVAL_COMMAND_RENDERING:
      case GPUVAL_COMMAND_VIDEO:
         EXPECT_TRUE(is_visited[command.second]) << command.first << " has no test";
         break;
      case GPUVAL_COMMAND_DRAW:
      case GPUVAL_COMMAND_DISPATCH:
         EXPECT_TRUE(!is_indirect || is_visited[command.second]) << command.first << " has no test";
         break;
      default:
         break;
      }
   }
}

} // namespace

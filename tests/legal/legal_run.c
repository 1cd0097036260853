/* SPDX-License-Identifier: MIT */

/*
 * Runs a program: its commands, and what they have written.
 */

#include "legal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Places in the buffer of vertices */
#define INDICES_AT   2048
#define ARGUMENTS_AT 3072

/* FNV-1a, eight bytes at a time would do no harm, but here nothing is long */
static uint64_t
hash_bytes(uint64_t hash, const void *data, size_t size)
{
   const uint8_t *bytes = data;
   for (size_t i = 0; i < size; i++)
      hash = (hash ^ bytes[i]) * 0x100000001b3ull;
   return hash;
}

/* --- What commands read --------------------------------------------------- */

static void
fill_vertices(struct legal_device *device, const struct legal_program *program)
{
   uint8_t *map = device->vertices.map;
   uint32_t *vertices = (uint32_t *)map;
   uint32_t *indices = (uint32_t *)(map + INDICES_AT);
   const VkDispatchIndirectCommand dispatch = {program->groups[0], program->groups[1],
                                               program->groups[2]};
   const VkDrawIndirectCommand draw = {3, 1, program->first_vertex, 0};
   const VkDrawIndexedIndirectCommand draw_indexed = {3, 1, 0, (int32_t)program->first_vertex, 0};

   for (uint32_t i = 0; i < INDICES_AT / 4; i++)
      vertices[i] = i * 40503u;
   for (uint32_t i = 0; i < 3; i++)
      indices[i] = i;
   if (program->bind_point == VK_PIPELINE_BIND_POINT_COMPUTE)
      memcpy(map + ARGUMENTS_AT, &dispatch, sizeof(dispatch));
   else if (program->indexed)
      memcpy(map + ARGUMENTS_AT, &draw_indexed, sizeof(draw_indexed));
   else
      memcpy(map + ARGUMENTS_AT, &draw, sizeof(draw));
}

static void
push_constants(struct legal_device *device, const struct legal_program *program,
               const struct legal_sets *sets, VkCommandBuffer cmd)
{
   const struct legal_push *push = &program->push;
   uint8_t bytes[LEGAL_MAX_PUSH] = {0};

   if (!push->stages)
      return;
   for (uint32_t i = 0; i < push->word_count; i++) {
      const uint32_t word = (uint32_t)(program->seed * 31 + i * 333) % 1000;
      memcpy(bytes + push->words_at + 4 * i, &word, 4);
   }
   if (push->has_source)
      memcpy(bytes + push->source_at, &device->source.address, 8);
   if (push->has_scene)
      memcpy(bytes + push->scene_at, &device->scenes[legal_scene_of(program)].address, 8);
   const VkDeviceAddress output = device->output.address + push->region * LEGAL_REGION_STRIDE;
   if (push->has_output)
      memcpy(bytes + push->output_at, &output, 8);
   vkCmdPushConstants(cmd, sets->layout, push->stages, push->offset, push->size,
                      bytes + push->offset);
}

/* --- Commands ------------------------------------------------------------- */

static void
draw(struct legal_device *device, const struct legal_program *program, VkCommandBuffer cmd)
{
   const VkBuffer buffer = device->vertices.buffer;
   const VkDeviceSize zero = 0;

   if (legal_has_stage(program, VK_SHADER_STAGE_MESH_BIT_EXT)) {
      VKH_PROC(device->ctx, vkCmdDrawMeshTasksEXT)(cmd, 1, 1, 1);
      return;
   }
   if (program->attribute_count)
      vkCmdBindVertexBuffers(cmd, 0, 1, &buffer, &zero);
   if (program->indexed)
      vkCmdBindIndexBuffer(cmd, buffer, INDICES_AT, VK_INDEX_TYPE_UINT32);
   if (program->indexed && program->indirect)
      vkCmdDrawIndexedIndirect(cmd, buffer, ARGUMENTS_AT, 1, 0);
   else if (program->indexed)
      vkCmdDrawIndexed(cmd, 3, 1, 0, (int32_t)program->first_vertex, 0);
   else if (program->indirect)
      vkCmdDrawIndirect(cmd, buffer, ARGUMENTS_AT, 1, 0);
   else
      vkCmdDraw(cmd, 3, 1, program->first_vertex, 0);
}

static void
record(struct legal_device *device, const struct legal_program *program,
       const struct legal_pipeline *pipeline, struct legal_sets *sets, VkCommandBuffer cmd)
{
   legal_pipeline_bind(device, program, pipeline, cmd);
   legal_sets_bind(device, program, sets, cmd);
   push_constants(device, program, sets, cmd);
   if (program->bind_point == VK_PIPELINE_BIND_POINT_GRAPHICS) {
      vkh_set_viewport(cmd, LEGAL_TARGET_SIZE, LEGAL_TARGET_SIZE);
      draw(device, program, cmd);
      return;
   }
   for (uint32_t i = 0; i < program->repeats; i++) {
      if (i)
         vkh_barrier(cmd);
      if (program->bind_point == VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR)
         legal_rays_trace(device, program, &pipeline->ray_table, cmd);
      else if (program->indirect)
         vkCmdDispatchIndirect(cmd, device->vertices.buffer, ARGUMENTS_AT);
      else
         vkCmdDispatch(cmd, program->groups[0], program->groups[1], program->groups[2]);
   }
}

/* A secondary command buffer with the commands of the program */
static VkCommandBuffer
record_secondary(struct legal_device *device, const struct legal_program *program,
                 const struct legal_pipeline *pipeline, struct legal_sets *sets)
{
   struct vkh_context *ctx = device->ctx;
   const bool graphics = program->bind_point == VK_PIPELINE_BIND_POINT_GRAPHICS;
   const VkFormat format = VK_FORMAT_R32_UINT;
   const VkCommandBufferAllocateInfo allocate_info = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
      .commandPool = ctx->command_pool,
      .level = VK_COMMAND_BUFFER_LEVEL_SECONDARY,
      .commandBufferCount = 1,
   };
   const VkCommandBufferInheritanceRenderingInfo rendering = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_RENDERING_INFO,
      .flags = VK_RENDERING_CONTENTS_SECONDARY_COMMAND_BUFFERS_BIT,
      .colorAttachmentCount = program->has_color ? 1 : 0,
      .pColorAttachmentFormats = &format,
      .rasterizationSamples = VK_SAMPLE_COUNT_1_BIT,
   };
   const VkCommandBufferInheritanceInfo inheritance = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO,
      .pNext = graphics && !pipeline->pass.pass ? &rendering : NULL,
      .renderPass = pipeline->pass.pass,
   };
   const VkCommandBufferBeginInfo begin = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
      .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT |
               (graphics ? VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT : 0),
      .pInheritanceInfo = &inheritance,
   };
   VkCommandBuffer cmd;

   VKH_CHECK(vkAllocateCommandBuffers(ctx->device, &allocate_info, &cmd));
   VKH_CHECK(vkBeginCommandBuffer(cmd, &begin));
   record(device, program, pipeline, sets, cmd);
   VKH_CHECK(vkEndCommandBuffer(cmd));
   return cmd;
}

static void
run_commands(struct legal_device *device, const struct legal_program *program,
             const struct legal_pipeline *pipeline, struct legal_sets *sets)
{
   struct vkh_context *ctx = device->ctx;
   const bool graphics = program->bind_point == VK_PIPELINE_BIND_POINT_GRAPHICS;
   VkCommandBuffer secondary = VK_NULL_HANDLE;
   char name[64];

   if (program->secondary)
      secondary = record_secondary(device, program, pipeline, sets);
   VkCommandBuffer cmd = vkh_begin(ctx);
   snprintf(name, sizeof(name), "seed %llu", (unsigned long long)program->seed);
   vkh_name(ctx, VK_OBJECT_TYPE_COMMAND_BUFFER, (uint64_t)(uintptr_t)cmd, name);
   if (graphics)
      legal_pass_begin(device, program, &pipeline->pass, cmd);
   if (secondary)
      vkCmdExecuteCommands(cmd, 1, &secondary);
   else
      record(device, program, pipeline, sets, cmd);
   if (graphics)
      legal_pass_end(&pipeline->pass, cmd);
   vkh_barrier(cmd);
   vkh_submit_wait(ctx, cmd);
   if (secondary)
      vkFreeCommandBuffers(ctx->device, ctx->command_pool, 1, &secondary);
}

/* --- Results -------------------------------------------------------------- */

static uint64_t
hash_image(struct legal_device *device, const struct legal_binding *binding,
           const struct legal_image *image, uint64_t hash)
{
   VkBufferImageCopy copy = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1}};

   legal_image_extent(binding->dim, &copy.imageExtent, &copy.imageSubresource.layerCount);
   VkCommandBuffer cmd = vkh_begin(device->ctx);
   vkCmdCopyImageToBuffer(cmd, image->image, VK_IMAGE_LAYOUT_GENERAL, device->staging.buffer, 1,
                          &copy);
   vkh_barrier(cmd);
   vkh_submit_wait(device->ctx, cmd);
   return hash_bytes(hash, device->staging.map, LEGAL_SLOTS * 4);
}

static uint64_t
hash_results(struct legal_device *device, const struct legal_program *program,
             const struct legal_sets *sets)
{
   uint64_t hash = hash_bytes(0xcbf29ce484222325ull, device->output.map,
                              program->region_count * LEGAL_REGION_STRIDE);
   uint32_t pixels[LEGAL_TARGET_SIZE * LEGAL_TARGET_SIZE], image = 0;

   /* In the order in which legal_sets.c has made them, but for what was pushed */
   for (unsigned pushed = 0; pushed < 2; pushed++) {
      for (unsigned i = 0; i < program->set_count; i++) {
         const struct legal_set *set = &program->sets[i];
         if ((set->update == LEGAL_PUSH) != (pushed == 1))
            continue;
         for (unsigned j = 0; j < set->binding_count; j++) {
            const struct legal_binding *binding = &set->bindings[j];
            if (binding->type != VK_DESCRIPTOR_TYPE_STORAGE_IMAGE || !binding->writable)
               continue;
            for (uint32_t k = 0; k < binding->valid; k++)
               hash = hash_image(device, binding, &sets->images[image++], hash);
         }
      }
   }
   if (program->has_color) {
      vkh_image_read(device->ctx, &device->target, pixels);
      hash = hash_bytes(hash, pixels, sizeof(pixels));
   }
   return hash;
}

static void
dump_modules(const struct legal_program *program, const struct legal_module *modules,
             const char *folder)
{
   for (unsigned i = 0; i < (program->one_module ? 1 : program->stage_count); i++) {
      char path[512];
      snprintf(path, sizeof(path), "%s/%llu.%s.spv", folder, (unsigned long long)program->seed,
               legal_stage_name(program->stages[i]));
      FILE *file = fopen(path, "wb");
      if (!file ||
          fwrite(modules[i].code, 4, modules[i].word_count, file) != modules[i].word_count ||
          fclose(file) != 0)
         vkh_die("cannot write %s", path);
   }
}

/* Which of the features that --only-create may name the program has */
static uint32_t
only_create_features(const struct legal_program *program)
{
   uint32_t features = 0;

   if (legal_has_stage(program, VK_SHADER_STAGE_MESH_BIT_EXT))
      features |= LEGAL_MESH_SHADERS;
   if (program->tessellation_level || legal_has_stage(program, VK_SHADER_STAGE_GEOMETRY_BIT))
      features |= LEGAL_TESSELLATION;
   if (program->bind_point == VK_PIPELINE_BIND_POINT_GRAPHICS)
      features |= LEGAL_GRAPHICS;
   if (program->bind_point == VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR)
      features |= LEGAL_RAY_PIPELINES;
   if (program->ray_queries)
      features |= LEGAL_RAY_QUERIES;
   return features;
}

uint64_t
legal_run(struct legal_device *device, const struct legal_program *program, uint32_t only_create,
          const char *dump)
{
   struct legal_module modules[LEGAL_MAX_STAGES] = {{0}};
   struct legal_pipeline pipeline;
   struct legal_sets sets;

   if (program->region_count * LEGAL_REGION_STRIDE > LEGAL_OUTPUT_SIZE)
      vkh_die("seed %llu writes too much", (unsigned long long)program->seed);
   for (unsigned i = 0; i < (program->one_module ? 1 : program->stage_count); i++)
      modules[i] = legal_module_create(program, i);
   if (dump)
      dump_modules(program, modules, dump);
   memset(device->output.map, 0, program->region_count * LEGAL_REGION_STRIDE);
   fill_vertices(device, program);
   legal_sets_create(device, program, &sets);
   legal_pipeline_create(device, program, &sets, modules, &pipeline);
   uint64_t hash = 0;
   if (!(only_create_features(program) & only_create)) {
      run_commands(device, program, &pipeline, &sets);
      hash = hash_results(device, program, &sets);
   }
   legal_pipeline_destroy(device, &pipeline);
   legal_sets_destroy(device, &sets);
   for (unsigned i = 0; i < LEGAL_MAX_STAGES; i++)
      free(modules[i].code);
   return hash;
}

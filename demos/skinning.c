/*
 * SPDX-License-Identifier: MIT
 */

/*
 * An arm of four bones, bent by a vertex shader and printed as text.
 *
 * The bug: the modelling program that the mesh comes from numbers bones from
 * 1, the matrices in the uniform buffer begin at 0. Each part of the arm
 * follows the bone after its own, and the hand a matrix past the buffer's end.
 *
 * The fix (-DFIXED) subtracts the one when the mesh is loaded.
 */

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "vk_headless.h"

#include "skinning.frag.h"
#include "skinning.vert.h"

#define BONE_COUNT        4
#define VERTICES_PER_BONE 6
#define VERTEX_COUNT      (BONE_COUNT * VERTICES_PER_BONE)

#define BONE_LENGTH    0.42f
#define SHOULDER_WIDTH 0.3f
#define HAND_WIDTH     0.12f
#define JOINT_ANGLE    0.5f

#define PICTURE_WIDTH  64
#define PICTURE_HEIGHT 24
#define PICTURE_FORMAT VK_FORMAT_R8G8B8A8_UNORM

struct vertex {
   float position[2];
   uint32_t bone;
};

struct arm {
   struct vkh_buffer vertices;
   struct vkh_buffer skeleton;
   struct vkh_image picture;
   VkShaderModule vertex_module;
   VkShaderModule fragment_module;
   VkDescriptorSetLayout set_layout;
   VkPipelineLayout layout;
   VkPipeline pipeline;
   VkDescriptorSet set;
};

/* The mesh as its file has it: two triangles a bone, bones counted from 1. */
static void
load_mesh(struct vertex *vertices)
{
   static const float corners[VERTICES_PER_BONE][2] = {
      {0, -1}, {1, -1}, {1, 1}, {1, 1}, {0, 1}, {0, -1},
   };

   for (uint32_t i = 0; i < VERTEX_COUNT; i++) {
      const float *corner = corners[i % VERTICES_PER_BONE];
      const uint32_t bone_in_file = i / VERTICES_PER_BONE + 1;
      const float along = (float)(i / VERTICES_PER_BONE) / (BONE_COUNT - 1);
      const float width = SHOULDER_WIDTH + along * (HAND_WIDTH - SHOULDER_WIDTH);

      vertices[i].position[0] = corner[0] * BONE_LENGTH;
      vertices[i].position[1] = corner[1] * width / 2;
#ifdef FIXED
      vertices[i].bone = bone_in_file - 1;
#else
      vertices[i].bone = bone_in_file;
#endif
   }
}

/* Each bone begins where the one before ends, and turns a little further. */
static void
pose_skeleton(float (*matrices)[4][4])
{
   float x = -0.7f, y = 0.7f;

   for (unsigned bone = 0; bone < BONE_COUNT; bone++) {
      const float angle = -JOINT_ANGLE * bone;
      const float matrix[4][4] = {
         {cosf(angle), sinf(angle), 0, 0},
         {-sinf(angle), cosf(angle), 0, 0},
         {0, 0, 1, 0},
         {x, y, 0, 1},
      };

      memcpy(matrices[bone], matrix, sizeof(matrix));
      x += cosf(angle) * BONE_LENGTH;
      y += sinf(angle) * BONE_LENGTH;
   }
}

static VkPipeline
create_pipeline(struct vkh_context *ctx, const struct arm *arm)
{
   static const VkVertexInputBindingDescription binding = {
      .stride = sizeof(struct vertex),
   };
   static const VkVertexInputAttributeDescription attributes[] = {
      {.location = 0, .format = VK_FORMAT_R32G32_SFLOAT},
      {
         .location = 1,
         .format = VK_FORMAT_R32_UINT,
         .offset = offsetof(struct vertex, bone),
      },
   };
   const VkPipelineVertexInputStateCreateInfo input = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO,
      .vertexBindingDescriptionCount = 1,
      .pVertexBindingDescriptions = &binding,
      .vertexAttributeDescriptionCount = VKH_COUNT(attributes),
      .pVertexAttributeDescriptions = attributes,
   };

   return vkh_graphics_pipeline(
      ctx, &(struct vkh_graphics_desc){
              .stages =
                 {
                    {.stage = VK_SHADER_STAGE_VERTEX_BIT, .module = arm->vertex_module},
                    {.stage = VK_SHADER_STAGE_FRAGMENT_BIT, .module = arm->fragment_module},
                 },
              .stage_count = 2,
              .layout = arm->layout,
              .color_format = PICTURE_FORMAT,
              .vertex_input = &input,
              .name = "skinned mesh",
           });
}

static void
create_arm(struct vkh_context *ctx, struct arm *arm)
{
   arm->vertices = vkh_buffer_create(ctx, VERTEX_COUNT * sizeof(struct vertex), "arm vertices");
   load_mesh(arm->vertices.map);
   arm->skeleton = vkh_buffer_create(ctx, BONE_COUNT * 16 * sizeof(float), "arm skeleton");
   pose_skeleton(arm->skeleton.map);
   arm->picture = vkh_image_create(ctx, PICTURE_FORMAT, PICTURE_WIDTH, PICTURE_HEIGHT, "picture");

   arm->vertex_module = vkh_shader_module(ctx, skinning_vert, sizeof(skinning_vert), "skinning");
   arm->fragment_module =
      vkh_shader_module(ctx, skinning_frag, sizeof(skinning_frag), "flat shading");
   arm->set_layout = vkh_set_layout_simple(ctx, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 1);
   arm->layout = vkh_pipeline_layout(ctx, &arm->set_layout, 1, 0);
   arm->pipeline = create_pipeline(ctx, arm);
   arm->set = vkh_set_allocate(ctx, arm->set_layout);
   vkh_set_write_buffer(ctx, arm->set, 0, 0, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER,
                        arm->skeleton.buffer, 0, VK_WHOLE_SIZE);
}

static void
destroy_arm(struct vkh_context *ctx, struct arm *arm)
{
   vkDestroyPipeline(ctx->device, arm->pipeline, NULL);
   vkDestroyShaderModule(ctx->device, arm->vertex_module, NULL);
   vkDestroyShaderModule(ctx->device, arm->fragment_module, NULL);
   vkDestroyPipelineLayout(ctx->device, arm->layout, NULL);
   vkDestroyDescriptorSetLayout(ctx->device, arm->set_layout, NULL);
   vkh_image_destroy(ctx, &arm->picture);
   vkh_buffer_destroy(ctx, &arm->skeleton);
   vkh_buffer_destroy(ctx, &arm->vertices);
}

static void
draw_arm(struct vkh_context *ctx, const struct arm *arm)
{
   const VkDeviceSize offset = 0;
   VkCommandBuffer cmd = vkh_begin(ctx);

   vkh_name(ctx, VK_OBJECT_TYPE_COMMAND_BUFFER, (uint64_t)(uintptr_t)cmd, "frame");
   vkh_label_begin(ctx, cmd, "characters");
   vkh_begin_rendering(cmd, &(struct vkh_target){.color = &arm->picture});
   vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_GRAPHICS, arm->pipeline);
   vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_GRAPHICS, arm->layout, 0, 1, &arm->set, 0,
                           NULL);
   vkCmdBindVertexBuffers(cmd, 0, 1, &arm->vertices.buffer, &offset);
   vkCmdDraw(cmd, VERTEX_COUNT, 1, 0, 0);
   vkCmdEndRendering(cmd);
   vkh_label_end(ctx, cmd);

   vkh_submit_wait(ctx, cmd);
}

static void
print_picture(struct vkh_context *ctx, const struct arm *arm)
{
   static const char ramp[] = " .:-=+*#%@";
   uint8_t pixels[PICTURE_HEIGHT][PICTURE_WIDTH][4];

   vkh_image_read(ctx, &arm->picture, pixels);
   printf("skinning: an arm of %u bones\n", BONE_COUNT);
   for (unsigned y = 0; y < PICTURE_HEIGHT; y++) {
      char line[PICTURE_WIDTH + 1] = "";
      unsigned length = 0;

      for (unsigned x = 0; x < PICTURE_WIDTH; x++) {
         line[x] = ramp[pixels[y][x][0] * (sizeof(ramp) - 2) / 255];
         if (line[x] != ' ')
            length = x + 1;
      }
      if (length)
         printf("   %.*s\n", (int)length, line);
   }
}

int
main(void)
{
   struct arm arm;
   struct vkh_context *ctx = vkh_context_create(&(struct vkh_options){.application = "skinning"});

   create_arm(ctx, &arm);
   draw_arm(ctx, &arm);
   print_picture(ctx, &arm);

   destroy_arm(ctx, &arm);
   vkh_context_destroy(ctx);
   return 0;
}

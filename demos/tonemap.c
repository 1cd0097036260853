/*
 * SPDX-License-Identifier: MIT
 */

/*
 * A tone mapping pass that counts the histogram of the picture it draws.
 *
 * The bug: overexposed pixels are clamped to a brightness of exactly 1, which
 * belongs into bin 32 of 32. The author had found no such picture and promised
 * the compiler (SPIR-V's OpAssumeTrueKHR) that brightness stays below 1.
 *
 * The fix (-DFIXED, tonemap.frag only) puts 1 into the last bin and promises
 * what the clamp above really guarantees.
 */

#include <math.h>
#include <stdio.h>

#include "vk_headless.h"

#include "tonemap.frag.h"
#include "tonemap.vert.h"

#define BIN_COUNT 32
#define WIDTH     96
#define HEIGHT    64
#define EXPOSURE  0.5f
#define FORMAT    VK_FORMAT_R8G8B8A8_UNORM

struct view_constants {
   uint32_t width;
   float exposure;
};

struct tonemap {
   struct vkh_buffer scene;
   struct vkh_buffer histogram;
   struct vkh_image picture;
   VkShaderModule vertex_module;
   VkShaderModule fragment_module;
   VkDescriptorSetLayout set_layout;
   VkPipelineLayout layout;
   VkPipeline pipeline;
   VkDescriptorSet set;
};

/* An evening sky with the sun in it. */
static void
paint_scene(float (*radiance)[4])
{
   for (unsigned y = 0; y < HEIGHT; y++) {
      for (unsigned x = 0; x < WIDTH; x++) {
         const float dx = x - 60.0f, dy = y - 24.0f;
         const float sun = 4.0f * expf(-(dx * dx + dy * dy) / 20.0f);
         const float sky = 0.2f + 1.2f * y / HEIGHT;
         float *pixel = radiance[y * WIDTH + x];

         pixel[0] = sky + sun;
         pixel[1] = sky * 0.7f + sun;
         pixel[2] = sky * 0.5f + sun * 0.8f;
         pixel[3] = 1.0f;
      }
   }
}

static void
create_tonemap(struct vkh_context *ctx, struct tonemap *pass)
{
   pass->scene = vkh_buffer_create(ctx, WIDTH * HEIGHT * 4 * sizeof(float), "HDR scene");
   paint_scene(pass->scene.map);
   pass->histogram = vkh_buffer_create(ctx, BIN_COUNT * sizeof(uint32_t), "brightness histogram");
   pass->picture = vkh_image_create(ctx, FORMAT, WIDTH, HEIGHT, "picture");

   pass->vertex_module =
      vkh_shader_module(ctx, tonemap_vert, sizeof(tonemap_vert), "whole picture");
   pass->fragment_module =
      vkh_shader_module(ctx, tonemap_frag, sizeof(tonemap_frag), "tone mapping");
   pass->set_layout = vkh_set_layout_simple(ctx, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 2);
   pass->layout = vkh_pipeline_layout(ctx, &pass->set_layout, 1, sizeof(struct view_constants));
   pass->pipeline = vkh_graphics_pipeline(
      ctx, &(struct vkh_graphics_desc){
              .stages =
                 {
                    {.stage = VK_SHADER_STAGE_VERTEX_BIT, .module = pass->vertex_module},
                    {.stage = VK_SHADER_STAGE_FRAGMENT_BIT, .module = pass->fragment_module},
                 },
              .stage_count = 2,
              .layout = pass->layout,
              .color_format = FORMAT,
              .name = "tone mapping",
           });
   pass->set = vkh_set_allocate(ctx, pass->set_layout);
   vkh_set_write_buffer(ctx, pass->set, 0, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, pass->scene.buffer,
                        0, VK_WHOLE_SIZE);
   vkh_set_write_buffer(ctx, pass->set, 1, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                        pass->histogram.buffer, 0, VK_WHOLE_SIZE);
}

static void
destroy_tonemap(struct vkh_context *ctx, struct tonemap *pass)
{
   vkDestroyPipeline(ctx->device, pass->pipeline, NULL);
   vkDestroyShaderModule(ctx->device, pass->vertex_module, NULL);
   vkDestroyShaderModule(ctx->device, pass->fragment_module, NULL);
   vkDestroyPipelineLayout(ctx->device, pass->layout, NULL);
   vkDestroyDescriptorSetLayout(ctx->device, pass->set_layout, NULL);
   vkh_image_destroy(ctx, &pass->picture);
   vkh_buffer_destroy(ctx, &pass->histogram);
   vkh_buffer_destroy(ctx, &pass->scene);
}

static void
draw_picture(struct vkh_context *ctx, const struct tonemap *pass)
{
   const struct view_constants view = {.width = WIDTH, .exposure = EXPOSURE};
   VkCommandBuffer cmd = vkh_begin(ctx);

   vkh_name(ctx, VK_OBJECT_TYPE_COMMAND_BUFFER, (uint64_t)(uintptr_t)cmd, "frame");
   vkh_label_begin(ctx, cmd, "post-processing");
   vkh_label_begin(ctx, cmd, "tone mapping");
   vkh_begin_rendering(cmd, &(struct vkh_target){.color = &pass->picture});
   vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_GRAPHICS, pass->pipeline);
   vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_GRAPHICS, pass->layout, 0, 1, &pass->set, 0,
                           NULL);
   vkCmdPushConstants(cmd, pass->layout, VK_SHADER_STAGE_ALL, 0, sizeof(view), &view);
   vkCmdDraw(cmd, 3, 1, 0, 0);
   vkCmdEndRendering(cmd);
   vkh_label_end(ctx, cmd);
   vkh_label_end(ctx, cmd);

   vkh_submit_wait(ctx, cmd);
}

/* One character a bin, dark to bright. */
static void
print_histogram(const struct tonemap *pass)
{
   static const char ramp[] = " .:-=+*#%@";
   const uint32_t *bins = pass->histogram.map;
   char line[BIN_COUNT + 1] = "";
   uint32_t most = 1, sum = 0;

   for (unsigned i = 0; i < BIN_COUNT; i++) {
      sum += bins[i];
      if (bins[i] > most)
         most = bins[i];
   }
   for (unsigned i = 0; i < BIN_COUNT; i++)
      line[i] = ramp[(bins[i] * (sizeof(ramp) - 2) + most - 1) / most];
   printf("tonemap: histogram [%s], %u of %u pixels counted\n", line, sum, WIDTH * HEIGHT);
}

int
main(void)
{
   static const char *const extensions[] = {
      VK_KHR_SHADER_EXPECT_ASSUME_EXTENSION_NAME,
   };
   const VkPhysicalDeviceShaderExpectAssumeFeaturesKHR expect_assume = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_EXPECT_ASSUME_FEATURES_KHR,
      .shaderExpectAssume = VK_TRUE,
   };
   struct tonemap pass;
   struct vkh_context *ctx = vkh_context_create(&(struct vkh_options){
      .application = "tonemap",
      .extensions = extensions,
      .extension_count = VKH_COUNT(extensions),
      .features_next = &expect_assume,
   });

   create_tonemap(ctx, &pass);
   draw_picture(ctx, &pass);
   print_histogram(&pass);

   destroy_tonemap(ctx, &pass);
   vkh_context_destroy(ctx);
   return 0;
}

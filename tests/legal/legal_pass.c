/* SPDX-License-Identifier: MIT */

/*
 * What draws are in: a render pass with input attachments, or dynamic rendering.
 */

#include "legal.h"

#define MAX_ATTACHMENTS (LEGAL_MAX_INPUTS + 1)

static void
create_pass(struct legal_device *device, const struct legal_program *program,
            struct legal_pass *pass)
{
   VkAttachmentDescription attachments[MAX_ATTACHMENTS];
   VkAttachmentReference inputs[LEGAL_MAX_INPUTS];
   const uint32_t color = program->input_count;

   for (uint32_t i = 0; i <= color; i++) {
      const bool is_color = i == color;
      attachments[i] = (VkAttachmentDescription){
         /* Several may be one image, which is only read. */
         .flags = is_color ? 0 : VK_ATTACHMENT_DESCRIPTION_MAY_ALIAS_BIT,
         .format = is_color ? VK_FORMAT_R32_UINT : legal_format(program->inputs[i]),
         .samples = VK_SAMPLE_COUNT_1_BIT,
         .loadOp = is_color ? VK_ATTACHMENT_LOAD_OP_CLEAR : VK_ATTACHMENT_LOAD_OP_LOAD,
         .storeOp = is_color ? VK_ATTACHMENT_STORE_OP_STORE : VK_ATTACHMENT_STORE_OP_NONE,
         .stencilLoadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE,
         .stencilStoreOp = VK_ATTACHMENT_STORE_OP_DONT_CARE,
         .initialLayout = VK_IMAGE_LAYOUT_GENERAL,
         .finalLayout = VK_IMAGE_LAYOUT_GENERAL,
      };
      if (!is_color)
         inputs[i] = (VkAttachmentReference){i, VK_IMAGE_LAYOUT_GENERAL};
   }
   const VkAttachmentReference output = {color, VK_IMAGE_LAYOUT_GENERAL};
   const VkSubpassDescription subpass = {
      .pipelineBindPoint = VK_PIPELINE_BIND_POINT_GRAPHICS,
      .inputAttachmentCount = program->input_count,
      .pInputAttachments = inputs,
      .colorAttachmentCount = program->has_color ? 1 : 0,
      .pColorAttachments = &output,
   };
   const VkRenderPassCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO,
      .attachmentCount = program->input_count + (program->has_color ? 1 : 0),
      .pAttachments = attachments,
      .subpassCount = 1,
      .pSubpasses = &subpass,
   };
   VKH_CHECK(vkCreateRenderPass(device->ctx->device, &info, NULL, &pass->pass));
}

void
legal_pass_create(struct legal_device *device, const struct legal_program *program,
                  struct legal_pass *pass)
{
   VkImageView views[MAX_ATTACHMENTS];
   uint32_t count = 0;

   *pass = (struct legal_pass){VK_NULL_HANDLE};
   if (!program->render_pass)
      return;
   create_pass(device, program, pass);
   for (; count < program->input_count; count++)
      views[count] = device->images[LEGAL_2D][program->inputs[count]].view;
   if (program->has_color)
      views[count++] = device->target.view;
   const VkFramebufferCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO,
      .renderPass = pass->pass,
      .attachmentCount = count,
      .pAttachments = views,
      .width = LEGAL_TARGET_SIZE,
      .height = LEGAL_TARGET_SIZE,
      .layers = 1,
   };
   VKH_CHECK(vkCreateFramebuffer(device->ctx->device, &info, NULL, &pass->framebuffer));
}

void
legal_pass_destroy(struct legal_device *device, struct legal_pass *pass)
{
   vkDestroyFramebuffer(device->ctx->device, pass->framebuffer, NULL);
   vkDestroyRenderPass(device->ctx->device, pass->pass, NULL);
}

void
legal_pass_begin(struct legal_device *device, const struct legal_program *program,
                 const struct legal_pass *pass, VkCommandBuffer cmd)
{
   const struct vkh_target target = {
      .color = program->has_color ? &device->target : NULL,
      .width = LEGAL_TARGET_SIZE,
      .height = LEGAL_TARGET_SIZE,
      .clear_color.uint32 = {12345},
      .flags = program->secondary ? VK_RENDERING_CONTENTS_SECONDARY_COMMAND_BUFFERS_BIT : 0,
   };
   VkClearValue clears[MAX_ATTACHMENTS] = {{.color = target.clear_color}};

   if (!pass->pass) {
      vkh_begin_rendering(cmd, &target);
      return;
   }
   clears[program->input_count].color = target.clear_color;
   const VkRenderPassBeginInfo info = {
      .sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO,
      .renderPass = pass->pass,
      .framebuffer = pass->framebuffer,
      .renderArea = {{0, 0}, {LEGAL_TARGET_SIZE, LEGAL_TARGET_SIZE}},
      .clearValueCount = MAX_ATTACHMENTS,
      .pClearValues = clears,
   };
   vkCmdBeginRenderPass(cmd, &info,
                        program->secondary ? VK_SUBPASS_CONTENTS_SECONDARY_COMMAND_BUFFERS
                                           : VK_SUBPASS_CONTENTS_INLINE);
}

void
legal_pass_end(const struct legal_pass *pass, VkCommandBuffer cmd)
{
   if (pass->pass)
      vkCmdEndRenderPass(cmd);
   else
      vkCmdEndRendering(cmd);
}

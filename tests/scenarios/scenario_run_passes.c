/* SPDX-License-Identifier: MIT */

/*
 * Render passes with subpasses, for what their dependencies say. Without one,
 * draws are in dynamic rendering.
 */

#include "scenario_run.h"

#include <stdlib.h>
#include <string.h>

#define MAX_DEPENDENCIES 8
#define MAX_SUBPASSES    4
#define MAX_VIEWS        2

struct pass {
   const char *name;
   VkRenderPass pass;
   VkFramebuffer framebuffer;
};

struct run_passes {
   struct pass *passes;
   unsigned pass_count;
};

static struct run_passes *
get_passes(struct run *run)
{
   if (!run->passes)
      run->passes = vkh_calloc(1, sizeof(*run->passes));
   return run->passes;
}

static uint32_t
read_subpass(struct run *run, const char *text)
{
   if (strcmp(text, "external") == 0)
      return VK_SUBPASS_EXTERNAL;
   return (uint32_t)strtoul(text, NULL, 10);
}

static VkFramebuffer
create_framebuffer(struct run *run, VkRenderPass pass, uint32_t count, const VkImageView *views)
{
   VkFramebuffer framebuffer;
   const VkFramebufferCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO,
      .renderPass = pass,
      .attachmentCount = count,
      .pAttachments = views,
      .width = run->width,
      .height = run->height,
      .layers = 1,
   };
   VKH_CHECK(vkCreateFramebuffer(run->ctx->device, &info, NULL, &framebuffer));
   return framebuffer;
}

static VkImageLayout
read_layout(struct run *run, const char *name)
{
   static const struct {
      const char *name;
      VkImageLayout layout;
   } layouts[] = {
      {"general", VK_IMAGE_LAYOUT_GENERAL},
      {"transfer_src", VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL},
      {"shader_read", VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL},
      {"color", VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL},
   };

   for (unsigned i = 0; i < VKH_COUNT(layouts); i++) {
      if (strcmp(layouts[i].name, name) == 0)
         return layouts[i].layout;
   }
   RUN_ERROR(run, "there is no layout %s", name);
}

struct layouts {
   VkImageLayout initial, final;
};

/* LAYOUT, from UNDEFINED, or LAYOUT>LAYOUT */
static struct layouts
read_layouts(struct run *run, const char *text)
{
   struct layouts layouts = {VK_IMAGE_LAYOUT_UNDEFINED};
   char *to = scenario_format("%s", text);
   char *from = strsep(&to, ">");

   if (to)
      layouts.initial = read_layout(run, from);
   layouts.final = read_layout(run, to ? to : from);
   free(from);
   return layouts;
}

/* Words from @first on: FROM>TO SRC DST, each with @flags. Returns their number. */
static uint32_t
read_dependencies(struct run *run, unsigned first, VkDependencyFlags flags,
                  VkSubpassDependency *dependencies)
{
   uint32_t count = 0;

   for (unsigned i = first; run_has_word(run, i); i += 3) {
      char *to = scenario_format("%s", run_word(run, i));
      char *copy = to;
      const char *from = strsep(&to, ">");
      const struct run_scope src = run_read_scope(run, run_word(run, i + 1));
      const struct run_scope dst = run_read_scope(run, run_word(run, i + 2));
      if (!to || count == MAX_DEPENDENCIES)
         RUN_ERROR(run, "a dependency is FROM>TO SRC DST, and there are at most %u",
                   MAX_DEPENDENCIES);
      dependencies[count++] = (VkSubpassDependency){
         .srcSubpass = read_subpass(run, from),
         .dstSubpass = read_subpass(run, to),
         .srcStageMask = (VkPipelineStageFlags)src.stages,
         .dstStageMask = (VkPipelineStageFlags)dst.stages,
         .srcAccessMask = (VkAccessFlags)src.access,
         .dstAccessMask = (VkAccessFlags)dst.access,
         .dependencyFlags = flags,
      };
      free(copy);
   }
   return count;
}

/* The same with each dependency in a VkMemoryBarrier2, beside which the others are ignored */
static VkResult
create_pass2(struct run *run, const VkRenderPassCreateInfo *info, VkRenderPass *pass)
{
   VkAttachmentDescription2 attachments[MAX_VIEWS];
   VkAttachmentReference2 references[MAX_SUBPASSES];
   VkSubpassDescription2 subpasses[MAX_SUBPASSES];
   VkSubpassDependency2 dependencies[MAX_DEPENDENCIES];
   VkMemoryBarrier2 barriers[MAX_DEPENDENCIES];

   for (uint32_t i = 0; i < info->attachmentCount; i++) {
      const VkAttachmentDescription *from = &info->pAttachments[i];
      attachments[i] = (VkAttachmentDescription2){
         .sType = VK_STRUCTURE_TYPE_ATTACHMENT_DESCRIPTION_2,
         .format = from->format,
         .samples = from->samples,
         .loadOp = from->loadOp,
         .storeOp = from->storeOp,
         .initialLayout = from->initialLayout,
         .finalLayout = from->finalLayout,
      };
   }
   for (uint32_t i = 0; i < info->subpassCount; i++) {
      const VkAttachmentReference *from = info->pSubpasses[i].pColorAttachments;
      references[i] = (VkAttachmentReference2){
         .sType = VK_STRUCTURE_TYPE_ATTACHMENT_REFERENCE_2,
         .attachment = from->attachment,
         .layout = from->layout,
         .aspectMask = VK_IMAGE_ASPECT_COLOR_BIT,
      };
      subpasses[i] = (VkSubpassDescription2){
         .sType = VK_STRUCTURE_TYPE_SUBPASS_DESCRIPTION_2,
         .pipelineBindPoint = VK_PIPELINE_BIND_POINT_GRAPHICS,
         .colorAttachmentCount = 1,
         .pColorAttachments = &references[i],
      };
   }
   for (uint32_t i = 0; i < info->dependencyCount; i++) {
      const VkSubpassDependency *from = &info->pDependencies[i];
      barriers[i] = (VkMemoryBarrier2){
         .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
         .srcStageMask = from->srcStageMask,
         .srcAccessMask = from->srcAccessMask,
         .dstStageMask = from->dstStageMask,
         .dstAccessMask = from->dstAccessMask,
      };
      dependencies[i] = (VkSubpassDependency2){
         .sType = VK_STRUCTURE_TYPE_SUBPASS_DEPENDENCY_2,
         .pNext = &barriers[i],
         .srcSubpass = from->srcSubpass,
         .dstSubpass = from->dstSubpass,
         .srcStageMask = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
         .dstStageMask = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
         .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
         .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
      };
   }
   const VkRenderPassCreateInfo2 info2 = {
      .sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO_2,
      .attachmentCount = info->attachmentCount,
      .pAttachments = attachments,
      .subpassCount = info->subpassCount,
      .pSubpasses = subpasses,
      .dependencyCount = info->dependencyCount,
      .pDependencies = dependencies,
   };
   return vkCreateRenderPass2(run->ctx->device, &info2, NULL, pass);
}

static void
add_pass(struct run *run, const VkRenderPassCreateInfo *info, const VkImageView *views)
{
   struct run_passes *p = get_passes(run);
   const bool is_2 = strcmp(run_word(run, 0), "render_pass2") == 0;

   p->passes = scenario_grow(p->passes, &p->pass_count, sizeof(*p->passes));
   struct pass *pass = &p->passes[p->pass_count - 1];
   pass->name = run_word(run, 1);
   VKH_CHECK(is_2 ? create_pass2(run, info, &pass->pass)
                  : vkCreateRenderPass(run->ctx->device, info, NULL, &pass->pass));
   pass->framebuffer = create_framebuffer(run, pass->pass, info->attachmentCount, views);
}

/* VIEW or VIEW/VIEW; none: the color target. Returns how many. */
static uint32_t
read_views(struct run *run, const char *text, VkImageView *views)
{
   uint32_t count = 0;
   char *names = scenario_format("%s", text ? text : "");
   char *left = names;

   for (const char *name; text && count < MAX_VIEWS && (name = strsep(&left, "/"));)
      views[count++] = (VkImageView)run_find_view(run, VK_OBJECT_TYPE_IMAGE_VIEW, name);
   if (!text)
      views[count++] = run->color.view;
   free(names);
   return count;
}

/* `render_pass NAME SUBPASSES [FROM>TO SRC DST …]` on the color target, or
 * `render_pass NAME SUBPASSES VIEW LAYOUT [FROM>TO SRC DST …]`
 */
void
run_create_pass(struct run *run)
{
   const bool has_views = run_has_word(run, 3) && !strchr(run_word(run, 3), '>');
   VkImageView views[MAX_VIEWS];
   const uint32_t view_count = read_views(run, has_views ? run_word(run, 3) : NULL, views);
   VkAttachmentDescription attachments[MAX_VIEWS];
   VkAttachmentReference references[MAX_VIEWS];
   VkSubpassDescription subpasses[MAX_SUBPASSES];
   VkSubpassDependency dependencies[MAX_DEPENDENCIES];
   const uint64_t subpass_count = run_number(run, 2);
   struct layouts layouts = {VK_IMAGE_LAYOUT_GENERAL, VK_IMAGE_LAYOUT_GENERAL};

   if (subpass_count > MAX_SUBPASSES)
      RUN_ERROR(run, "at most %u subpasses", MAX_SUBPASSES);
   if (has_views)
      layouts = read_layouts(run, run_word(run, 4));
   const bool loads = has_views && layouts.initial != VK_IMAGE_LAYOUT_UNDEFINED;
   for (uint32_t i = 0; i < view_count; i++) {
      attachments[i] = (VkAttachmentDescription){
         .format = run->color_format,
         .samples = VK_SAMPLE_COUNT_1_BIT,
         .loadOp = loads ? VK_ATTACHMENT_LOAD_OP_LOAD : VK_ATTACHMENT_LOAD_OP_CLEAR,
         .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
         .initialLayout = layouts.initial,
         .finalLayout = layouts.final,
      };
      references[i] = (VkAttachmentReference){
         i, has_views ? VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL : VK_IMAGE_LAYOUT_GENERAL};
   }
   for (uint32_t i = 0; i < subpass_count; i++) {
      subpasses[i] = (VkSubpassDescription){
         .pipelineBindPoint = VK_PIPELINE_BIND_POINT_GRAPHICS,
         .colorAttachmentCount = 1,
         .pColorAttachments = &references[i < view_count ? i : view_count - 1],
      };
   }
   const VkRenderPassCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO,
      .attachmentCount = view_count,
      .pAttachments = attachments,
      .subpassCount = (uint32_t)subpass_count,
      .pSubpasses = subpasses,
      .dependencyCount = read_dependencies(run, has_views ? 5 : 3, 0, dependencies),
      .pDependencies = dependencies,
   };
   add_pass(run, &info, views);
}

/* `input_pass NAME VIEW LAYOUT region|framebuffer [FROM>TO SRC DST …]`: the first subpass draws to
 * the view, the second reads it in LAYOUT and draws to the color target.
 */
void
run_create_input_pass(struct run *run)
{
   const VkImageView views[] = {
      (VkImageView)run_find_view(run, VK_OBJECT_TYPE_IMAGE_VIEW, run_word(run, 2)),
      run->color.view,
   };
   const VkImageLayout layout = read_layout(run, run_word(run, 3));
   const bool by_region = strcmp(run_word(run, 4), "region") == 0;
   const bool changes = layout != VK_IMAGE_LAYOUT_GENERAL;
   const VkAttachmentReference drawn[] = {
      {0, changes ? VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL : VK_IMAGE_LAYOUT_GENERAL},
      {1, VK_IMAGE_LAYOUT_GENERAL},
   };
   const VkAttachmentReference input = {0, layout};
   VkAttachmentDescription attachments[VKH_COUNT(views)];
   VkSubpassDescription subpasses[VKH_COUNT(drawn)];
   VkSubpassDependency dependencies[MAX_DEPENDENCIES];

   for (unsigned i = 0; i < VKH_COUNT(views); i++) {
      attachments[i] = (VkAttachmentDescription){
         .format = run->color_format,
         .samples = VK_SAMPLE_COUNT_1_BIT,
         .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
         .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
         .initialLayout = i ? VK_IMAGE_LAYOUT_GENERAL : VK_IMAGE_LAYOUT_UNDEFINED,
         .finalLayout = i ? VK_IMAGE_LAYOUT_GENERAL : layout,
      };
      subpasses[i] = (VkSubpassDescription){
         .pipelineBindPoint = VK_PIPELINE_BIND_POINT_GRAPHICS,
         .inputAttachmentCount = i,
         .pInputAttachments = &input,
         .colorAttachmentCount = 1,
         .pColorAttachments = &drawn[i],
      };
   }
   const VkRenderPassCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO,
      .attachmentCount = VKH_COUNT(attachments),
      .pAttachments = attachments,
      .subpassCount = VKH_COUNT(subpasses),
      .pSubpasses = subpasses,
      .dependencyCount =
         read_dependencies(run, 5, by_region ? VK_DEPENDENCY_BY_REGION_BIT : 0, dependencies),
      .pDependencies = dependencies,
   };
   add_pass(run, &info, views);
}

static struct pass *
find_pass(struct run *run, const char *name)
{
   struct run_passes *p = get_passes(run);

   for (unsigned i = 0; i < p->pass_count; i++) {
      if (strcmp(p->passes[i].name, name) == 0)
         return &p->passes[i];
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
   const VkClearValue clears[2] = {0};
   const VkRenderPassBeginInfo info = {
      .sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO,
      .renderPass = pass->pass,
      .framebuffer = pass->framebuffer,
      .renderArea.extent = {run->width, run->height},
      .clearValueCount = VKH_COUNT(clears),
      .pClearValues = clears,
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

void
run_destroy_passes(struct run *run)
{
   struct run_passes *p = run->passes;

   if (!p)
      return;
   for (unsigned i = 0; i < p->pass_count; i++) {
      vkDestroyFramebuffer(run->ctx->device, p->passes[i].framebuffer, NULL);
      vkDestroyRenderPass(run->ctx->device, p->passes[i].pass, NULL);
   }
   free(p->passes);
   free(p);
}

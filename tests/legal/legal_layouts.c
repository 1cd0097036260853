/* SPDX-License-Identifier: MIT */

/*
 * Layouts of descriptor sets and of pipelines
 */

#include "legal.h"

VkDescriptorType
legal_type_in_layout(const struct legal_binding *binding)
{
   return binding->is_mutable ? VK_DESCRIPTOR_TYPE_MUTABLE_EXT : binding->type;
}

/* What a set layout is made of */
struct layout_parts {
   VkDescriptorSetLayoutBinding bindings[LEGAL_MAX_BINDINGS];
   VkDescriptorBindingFlags flags[LEGAL_MAX_BINDINGS], all_flags;
   VkDescriptorType types[LEGAL_MAX_BINDINGS][2]; /* of mutable descriptors */
   VkMutableDescriptorTypeListEXT lists[LEGAL_MAX_BINDINGS];
   VkSampler samplers[64];
   uint32_t count;
   bool has_mutable;
};

static void
add_type(struct layout_parts *parts, uint32_t at, VkDescriptorType type)
{
   VkMutableDescriptorTypeListEXT *list = &parts->lists[at];

   /* A list has each type once. */
   if (list->descriptorTypeCount && parts->types[at][0] == type)
      return;
   parts->types[at][list->descriptorTypeCount++] = type;
   list->pDescriptorTypes = parts->types[at];
}

static void
fill_layout(struct legal_device *device, const struct legal_set *set, struct layout_parts *parts)
{
   *parts = (struct layout_parts){.count = set->binding_count};
   for (unsigned i = 0; i < VKH_COUNT(parts->samplers); i++)
      parts->samplers[i] = device->sampler;
   for (unsigned i = 0; i < set->binding_count; i++) {
      parts->count -= set->bindings[i].is_shared;
      parts->has_mutable |= set->bindings[i].is_mutable;
   }
   /* Backwards, as the order does not matter; but radv_CreateDescriptorSetLayout() takes the lists
    * of mutable types for those of bindings that it has sorted.
    */
   const bool forwards = parts->has_mutable;
   uint32_t next = 0;
   for (unsigned i = 0; i < set->binding_count; i++) {
      const struct legal_binding *binding = &set->bindings[i];
      next += !binding->is_shared;
      const uint32_t at = forwards ? next - 1 : parts->count - next;
      if (binding->is_mutable)
         add_type(parts, at, binding->type);
      if (binding->is_shared)
         continue;
      parts->bindings[at] = (VkDescriptorSetLayoutBinding){
         .binding = binding->number,
         .descriptorType = legal_type_in_layout(binding),
         .descriptorCount = binding->count,
         .stageFlags = binding->stages,
         .pImmutableSamplers = binding->immutable_samplers ? parts->samplers : NULL,
      };
      parts->flags[at] = binding->flags;
      parts->all_flags |= binding->flags;
   }
}

VkDescriptorSetLayout
legal_set_layout_create(struct legal_device *device, const struct legal_set *set)
{
   struct layout_parts parts;
   VkDescriptorSetLayout layout;

   fill_layout(device, set, &parts);
   const VkMutableDescriptorTypeCreateInfoEXT mutable_info = {
      .sType = VK_STRUCTURE_TYPE_MUTABLE_DESCRIPTOR_TYPE_CREATE_INFO_EXT,
      .mutableDescriptorTypeListCount = parts.count,
      .pMutableDescriptorTypeLists = parts.lists,
   };
   const VkDescriptorSetLayoutBindingFlagsCreateInfo flags_info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO,
      .pNext = parts.has_mutable ? &mutable_info : NULL,
      .bindingCount = parts.count,
      .pBindingFlags = parts.flags,
   };
   VkDescriptorSetLayoutCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
      .pNext = parts.all_flags || parts.has_mutable ? &flags_info : NULL,
      .bindingCount = parts.count,
      .pBindings = parts.bindings,
   };
   if (set->update == LEGAL_PUSH)
      info.flags |= VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR;
   if (set->update == LEGAL_BUFFER)
      info.flags |= VK_DESCRIPTOR_SET_LAYOUT_CREATE_DESCRIPTOR_BUFFER_BIT_EXT;
   if (parts.all_flags & VK_DESCRIPTOR_BINDING_UPDATE_AFTER_BIND_BIT)
      info.flags |= VK_DESCRIPTOR_SET_LAYOUT_CREATE_UPDATE_AFTER_BIND_POOL_BIT;
   VKH_CHECK(vkCreateDescriptorSetLayout(device->ctx->device, &info, NULL, &layout));
   return layout;
}

VkPipelineLayout
legal_layout_create(struct legal_device *device, const struct legal_program *program,
                    const struct legal_sets *sets, VkShaderStageFlags stages)
{
   const VkPushConstantRange range = {program->push.stages, program->push.offset,
                                      program->push.size};
   VkDescriptorSetLayout layouts[LEGAL_MAX_SETS];
   VkPipelineLayout layout;

   for (unsigned i = 0; i < program->set_count; i++) {
      bool used = stages == VK_SHADER_STAGE_ALL;
      for (unsigned j = 0; j < program->sets[i].binding_count; j++)
         used |= (program->sets[i].bindings[j].users & stages) != 0;
      layouts[i] = used ? sets->layouts[i] : VK_NULL_HANDLE;
   }
   const VkPipelineLayoutCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
      .flags = program->independent_sets ? VK_PIPELINE_LAYOUT_CREATE_INDEPENDENT_SETS_BIT_EXT : 0,
      .setLayoutCount = program->set_count,
      .pSetLayouts = layouts,
      .pushConstantRangeCount = program->push.stages ? 1 : 0,
      .pPushConstantRanges = &range,
   };
   VKH_CHECK(vkCreatePipelineLayout(device->ctx->device, &info, NULL, &layout));
   return layout;
}

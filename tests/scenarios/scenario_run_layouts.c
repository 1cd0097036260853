/* SPDX-License-Identifier: MIT */

/* Layouts of descriptor sets, made before anything runs. */

#include "scenario_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
   const char *name;
   VkDescriptorType type;
} types[] = {
   {"uniform", VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER},
   {"storage", VK_DESCRIPTOR_TYPE_STORAGE_BUFFER},
   {"uniform_dynamic", VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC},
   {"storage_dynamic", VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC},
   {"uniform_texel", VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER},
   {"storage_texel", VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER},
   {"inline", VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK},
   {"accel", VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR},
   {"sampler", VK_DESCRIPTOR_TYPE_SAMPLER},
   {"sampled", VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE},
   {"combined", VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER},
   {"storage_image", VK_DESCRIPTOR_TYPE_STORAGE_IMAGE},
   {"input", VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT},
   {"mutable", VK_DESCRIPTOR_TYPE_MUTABLE_EXT},
};

static const char *const updates[] = {
   [UPDATE_WRITE] = "write", [UPDATE_COPY] = "copy",     [UPDATE_TEMPLATE] = "template",
   [UPDATE_PUSH] = "push",   [UPDATE_BUFFER] = "buffer",
};

VkDescriptorType
run_find_descriptor_type(struct run *run, const char *name)
{
   for (unsigned i = 0; i < VKH_COUNT(types); i++) {
      if (strcmp(types[i].name, name) == 0)
         return types[i].type;
   }
   RUN_ERROR(run, "%s is no descriptor type", name);
}

static bool
is_dynamic(VkDescriptorType type)
{
   return type == VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC ||
          type == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC;
}

struct run_set *
run_statement_set(struct run *run)
{
   const uint64_t index = run_number(run, 1);
   if (index >= MAX_SETS)
      RUN_ERROR(run, "sets go up to %u", MAX_SETS - 1);
   struct run_set *set = &run->sets[index];
   set->used = true;
   if (run->set_count <= index)
      run->set_count = (unsigned)index + 1;
   return set;
}

struct run_binding *
run_statement_binding(struct run *run, struct run_set *set)
{
   const uint64_t number = run_number(run, 2);
   for (unsigned i = 0; i < set->binding_count; i++) {
      if (set->bindings[i].binding == number)
         return &set->bindings[i];
   }
   if (set->binding_count == MAX_BINDINGS)
      RUN_ERROR(run, "too many bindings");
   struct run_binding *binding = &set->bindings[set->binding_count++];
   binding->binding = (unsigned)number;
   binding->type = VK_DESCRIPTOR_TYPE_MAX_ENUM;
   return binding;
}

/* `bind SET BINDING TYPE [at=ELEMENT] ITEM…`, `bind SET BINDING inline BYTES …` */
static void
prepare_bind(struct run *run, struct run_binding *binding)
{
   binding->type = run_find_descriptor_type(run, run_word(run, 3));

   unsigned count;
   if (binding->type == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK) {
      count = (unsigned)run_number(run, 4);
   } else {
      unsigned first = 0;
      count = run->statement->word_count - 4;
      if (run_has_word(run, 4) && sscanf(run_word(run, 4), "at=%u", &first) == 1)
         count += first - 1;
   }
   if (binding->count < count)
      binding->count = count;
}

static void
prepare_flags(struct run *run, struct run_binding *binding)
{
   for (unsigned i = 3; i < run->statement->word_count; i++) {
      const char *word = run_word(run, i);
      if (strcmp(word, "partially_bound") == 0)
         binding->flags |= VK_DESCRIPTOR_BINDING_PARTIALLY_BOUND_BIT;
      else if (strcmp(word, "update_after_bind") == 0)
         binding->flags |= VK_DESCRIPTOR_BINDING_UPDATE_AFTER_BIND_BIT;
      else if (strcmp(word, "variable") == 0)
         binding->flags |= VK_DESCRIPTOR_BINDING_VARIABLE_DESCRIPTOR_COUNT_BIT;
      else if (sscanf(word, "variable=%u", &binding->variable) == 1)
         binding->flags |= VK_DESCRIPTOR_BINDING_VARIABLE_DESCRIPTOR_COUNT_BIT;
      else if (strcmp(word, "immutable") == 0)
         binding->immutable = true;
      else
         RUN_ERROR(run, "%s is no binding flag", word);
   }
}

static void
prepare_statement(struct run *run)
{
   const char *word = run_word(run, 0);

   if (strcmp(word, "bind") == 0) {
      prepare_bind(run, run_statement_binding(run, run_statement_set(run)));
   } else if (strcmp(word, "flags") == 0) {
      prepare_flags(run, run_statement_binding(run, run_statement_set(run)));
   } else if (strcmp(word, "count") == 0) {
      struct run_binding *binding = run_statement_binding(run, run_statement_set(run));
      binding->type = run_find_descriptor_type(run, run_word(run, 3));
      binding->count = (unsigned)run_number(run, 4);
   } else if (strcmp(word, "update") == 0) {
      struct run_set *set = run_statement_set(run);
      unsigned update = 0;
      while (update < VKH_COUNT(updates) && strcmp(updates[update], run_word(run, 2)) != 0)
         update++;
      if (update == VKH_COUNT(updates))
         RUN_ERROR(run, "%s is no way to update a set", run_word(run, 2));
      set->update = update;
   } else if (strcmp(word, "null_set") == 0) {
      struct run_set *set = run_statement_set(run);
      if (set->binding_count)
         RUN_ERROR(run, "the set has bindings");
      set->is_null = true;
      set->used = false;
   }
}

/* Of all shaders of the scenario, rather than VK_SHADER_STAGE_ALL: lavapipe 25.0
 * takes each bit of a descriptor buffer's layout for a stage it knows.
 */
static VkShaderStageFlags
all_stages(const struct scenario *scenario)
{
   VkShaderStageFlags stages = 0;
   for (unsigned i = 0; i < scenario->section_count; i++)
      stages |= scenario->sections[i].stage->bit;
   return stages;
}

static int
compare_bindings(const void *a, const void *b)
{
   const struct run_binding *first = a, *second = b;
   return first->binding < second->binding ? -1 : first->binding > second->binding;
}

static const VkDescriptorType mutable_types[] = {
   VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE,        VK_DESCRIPTOR_TYPE_STORAGE_IMAGE,
   VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER,
   VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER,       VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
};

/* The same one for all elements. Kept to the end: layouts are made once. */
static const VkSampler *
immutable_samplers(struct run *run, unsigned count)
{
   VkSampler *samplers = vkh_calloc(count, sizeof(*samplers));
   if (!run->immutable_sampler)
      run->immutable_sampler = run_make_sampler(run, false, false, VK_LOD_CLAMP_NONE);
   for (unsigned i = 0; i < count; i++)
      samplers[i] = run->immutable_sampler;
   return samplers;
}

static void
create_set_layout(struct run *run, struct run_set *set)
{
   VkDescriptorSetLayoutBinding bindings[MAX_BINDINGS];
   VkDescriptorBindingFlags flags[MAX_BINDINGS];
   VkMutableDescriptorTypeListEXT lists[MAX_BINDINGS];
   VkDescriptorSetLayoutCreateFlags layout_flags = 0;
   bool has_mutable = false;

   /* Dynamic offsets go by binding number. */
   qsort(set->bindings, set->binding_count, sizeof(set->bindings[0]), compare_bindings);
   for (unsigned i = 0; i < set->binding_count; i++) {
      struct run_binding *binding = &set->bindings[i];
      bindings[i] = (VkDescriptorSetLayoutBinding){
         .binding = binding->binding,
         .descriptorType = binding->type,
         .descriptorCount = binding->count,
         .stageFlags = all_stages(run->scenario),
      };
      if (binding->immutable)
         bindings[i].pImmutableSamplers = immutable_samplers(run, binding->count);
      const bool is_mutable = binding->type == VK_DESCRIPTOR_TYPE_MUTABLE_EXT;
      has_mutable |= is_mutable;
      lists[i] = (VkMutableDescriptorTypeListEXT){
         .descriptorTypeCount = is_mutable ? VKH_COUNT(mutable_types) : 0,
         .pDescriptorTypes = is_mutable ? mutable_types : NULL,
      };
      flags[i] = binding->flags;
      if (flags[i] & VK_DESCRIPTOR_BINDING_UPDATE_AFTER_BIND_BIT)
         layout_flags |= VK_DESCRIPTOR_SET_LAYOUT_CREATE_UPDATE_AFTER_BIND_POOL_BIT;
      if (is_dynamic(binding->type))
         set->offset_count += binding->count;
      binding->items = calloc(binding->count, sizeof(*binding->items));
      binding->inline_data = calloc(binding->count, 1);
   }
   if (set->update == UPDATE_PUSH)
      layout_flags |= VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR;
   if (set->update == UPDATE_BUFFER)
      layout_flags |= VK_DESCRIPTOR_SET_LAYOUT_CREATE_DESCRIPTOR_BUFFER_BIT_EXT;

   const VkMutableDescriptorTypeCreateInfoEXT mutable_info = {
      .sType = VK_STRUCTURE_TYPE_MUTABLE_DESCRIPTOR_TYPE_CREATE_INFO_EXT,
      .mutableDescriptorTypeListCount = set->binding_count,
      .pMutableDescriptorTypeLists = lists,
   };
   const VkDescriptorSetLayoutBindingFlagsCreateInfo flags_info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO,
      .pNext = has_mutable ? &mutable_info : NULL,
      .bindingCount = set->binding_count,
      .pBindingFlags = flags,
   };
   const VkDescriptorSetLayoutCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
      .pNext = &flags_info,
      .flags = layout_flags,
      .bindingCount = set->binding_count,
      .pBindings = bindings,
   };
   VKH_CHECK(vkCreateDescriptorSetLayout(run->ctx->device, &info, NULL, &set->layout));
   set->dirty = true;
}

static VkPipelineLayout
create_pipeline_layout(struct run *run, const VkDescriptorSetLayout *layouts)
{
   const VkPushConstantRange range = {VK_SHADER_STAGE_ALL, run->push_first, run->push_size};
   const VkPipelineLayoutCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
      .setLayoutCount = run->set_count,
      .pSetLayouts = layouts,
      .pushConstantRangeCount = run->push_size ? 1 : 0,
      .pPushConstantRanges = &range,
   };
   VkPipelineLayout layout;
   VKH_CHECK(vkCreatePipelineLayout(run->ctx->device, &info, NULL, &layout));
   return layout;
}

/* Reads all statements ahead, since layouts come before pipelines. */
void
run_prepare_sets(struct run *run)
{
   const struct scenario *scenario = run->scenario;
   for (unsigned i = 0; i < scenario->statement_count; i++) {
      run->statement = &scenario->statements[i];
      prepare_statement(run);
   }
   run->statement = NULL;

   VkDescriptorSetLayout layouts[MAX_SETS];
   for (unsigned i = 0; i < run->set_count; i++) {
      if (!run->sets[i].is_null)
         create_set_layout(run, &run->sets[i]);
      layouts[i] = run->sets[i].layout;
   }
   run->layout = create_pipeline_layout(run, layouts);
}

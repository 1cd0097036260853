/* SPDX-License-Identifier: MIT */

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
};

static const char *const updates[] = {
   [UPDATE_WRITE] = "write", [UPDATE_COPY] = "copy",     [UPDATE_TEMPLATE] = "template",
   [UPDATE_PUSH] = "push",   [UPDATE_BUFFER] = "buffer",
};

static VkDescriptorType
find_type(struct run *run, const char *name)
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

static bool
is_texel(VkDescriptorType type)
{
   return type == VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER ||
          type == VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER;
}

static struct run_set *
statement_set(struct run *run)
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

static struct run_binding *
statement_binding(struct run *run, struct run_set *set)
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

/* --- Layouts, before anything runs ---------------------------------------- */

/* `bind SET BINDING TYPE [at=ELEMENT] ITEM…`, `bind SET BINDING inline BYTES …` */
static void
prepare_bind(struct run *run, struct run_binding *binding)
{
   binding->type = find_type(run, run_word(run, 3));

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
      else
         RUN_ERROR(run, "%s is no binding flag", word);
   }
}

static void
prepare_statement(struct run *run)
{
   const char *word = run_word(run, 0);

   if (strcmp(word, "bind") == 0) {
      prepare_bind(run, statement_binding(run, statement_set(run)));
   } else if (strcmp(word, "flags") == 0) {
      prepare_flags(run, statement_binding(run, statement_set(run)));
   } else if (strcmp(word, "count") == 0) {
      struct run_binding *binding = statement_binding(run, statement_set(run));
      binding->type = find_type(run, run_word(run, 3));
      binding->count = (unsigned)run_number(run, 4);
   } else if (strcmp(word, "update") == 0) {
      struct run_set *set = statement_set(run);
      unsigned update = 0;
      while (update < VKH_COUNT(updates) && strcmp(updates[update], run_word(run, 2)) != 0)
         update++;
      if (update == VKH_COUNT(updates))
         RUN_ERROR(run, "%s is no way to update a set", run_word(run, 2));
      set->update = update;
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

static void
create_set_layout(struct run *run, struct run_set *set)
{
   VkDescriptorSetLayoutBinding bindings[MAX_BINDINGS];
   VkDescriptorBindingFlags flags[MAX_BINDINGS];
   VkDescriptorSetLayoutCreateFlags layout_flags = 0;

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

   const VkDescriptorSetLayoutBindingFlagsCreateInfo flags_info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO,
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
      create_set_layout(run, &run->sets[i]);
      layouts[i] = run->sets[i].layout;
   }
   run->layout = vkh_pipeline_layout(run->ctx, layouts, run->set_count, run->push_size);
}

/* --- Binding -------------------------------------------------------------- */

struct run_item
run_parse_item(struct run *run, const char *word)
{
   char name[64];
   struct run_item item = {.written = true, .buffer.range = VK_WHOLE_SIZE};
   const size_t length = strcspn(word, "+:");

   if (strcmp(word, "null") == 0)
      return item;
   snprintf(name, sizeof(name), "%.*s", (int)length, word);
   const struct run_buffer *buffer = run_find_buffer(run, name);
   const char *at = word + length;
   char *end = (char *)at;
   if (*at == '+')
      item.buffer.offset = strtoull(at + 1, &end, 0);
   if (*end == ':')
      item.buffer.range = strtoull(end + 1, &end, 0);
   if (*end)
      RUN_ERROR(run, "'%s' is not NAME[+OFFSET][:RANGE]", word);
   item.buffer.buffer = buffer->vk.buffer;
   item.address = buffer->vk.address + item.buffer.offset;
   return item;
}

static VkDeviceSize
item_size(struct run *run, const struct run_item *item)
{
   if (item->buffer.range != VK_WHOLE_SIZE)
      return item->buffer.range;
   for (unsigned i = 0; i < run->buffer_count; i++) {
      if (run->buffers[i].vk.buffer == item->buffer.buffer)
         return run->buffers[i].vk.size - item->buffer.offset;
   }
   return VK_WHOLE_SIZE;
}

static VkBufferView
create_view(struct run *run, const VkDescriptorBufferInfo *buffer)
{
   const VkBufferViewCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO,
      .buffer = buffer->buffer,
      .format = VK_FORMAT_R32_UINT,
      .offset = buffer->offset,
      .range = buffer->range,
   };
   run->views = scenario_grow(run->views, &run->view_count, sizeof(*run->views));
   VkBufferView *view = &run->views[run->view_count - 1];
   VKH_CHECK(vkCreateBufferView(run->ctx->device, &info, NULL, view));
   return *view;
}

void
run_bind(struct run *run)
{
   struct run_set *set = statement_set(run);
   struct run_binding *binding = statement_binding(run, set);
   unsigned word = 4, element = 0;

   set->dirty = true;
   if (binding->type == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK) {
      if (run_has_word(run, 5))
         run_values(run, run_word(run, 5), 6, binding->inline_data, binding->count);
      return;
   }
   if (binding->type == VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR) {
      binding->items[0].written = true;
      binding->items[0].structure = run_find_structure(run, run_word(run, 4));
      return;
   }
   if (run_has_word(run, 4) && sscanf(run_word(run, 4), "at=%u", &element) == 1)
      word++;
   for (; run_has_word(run, word); word++, element++) {
      if (strcmp(run_word(run, word), "-") == 0)
         continue;
      binding->items[element] = run_parse_item(run, run_word(run, word));
      if (is_texel(binding->type) && binding->items[element].buffer.buffer)
         binding->items[element].view = create_view(run, &binding->items[element].buffer);
   }
}

/* `offsets SET O…` */
void
run_offsets(struct run *run)
{
   struct run_set *set = statement_set(run);
   for (unsigned i = 0; run_has_word(run, i + 2); i++)
      set->offsets[i] = (uint32_t)run_number(run, i + 2);
}

/* Everything that VkWriteDescriptorSet points to, for a set's writes. */
struct writes {
   VkWriteDescriptorSet writes[1024];
   VkWriteDescriptorSetInlineUniformBlock blocks[MAX_BINDINGS];
   VkWriteDescriptorSetAccelerationStructureKHR accels[MAX_BINDINGS];
   unsigned count, block_count, accel_count;
};

static VkWriteDescriptorSet *
add_write(struct writes *writes, const struct run_binding *binding, VkDescriptorSet to,
          unsigned element, unsigned count)
{
   if (writes->count == VKH_COUNT(writes->writes))
      vkh_die("too many descriptors");
   VkWriteDescriptorSet *write = &writes->writes[writes->count++];
   *write = (VkWriteDescriptorSet){
      .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
      .dstSet = to,
      .dstBinding = binding->binding,
      .dstArrayElement = element,
      .descriptorCount = count,
      .descriptorType = binding->type,
   };
   return write;
}

static void
add_binding_writes(struct run *run, struct writes *writes, const struct run_binding *binding,
                   VkDescriptorSet to)
{
   if (binding->type == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK) {
      VkWriteDescriptorSetInlineUniformBlock *block = &writes->blocks[writes->block_count++];
      *block = (VkWriteDescriptorSetInlineUniformBlock){
         .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET_INLINE_UNIFORM_BLOCK,
         .dataSize = binding->count,
         .pData = binding->inline_data,
      };
      add_write(writes, binding, to, 0, binding->count)->pNext = block;
      return;
   }

   for (unsigned i = 0; i < binding->count; i++) {
      if (!binding->items[i].written)
         continue;
      VkWriteDescriptorSet *write = add_write(writes, binding, to, i, 1);
      if (is_texel(binding->type))
         write->pTexelBufferView = &binding->items[i].view;
      else
         write->pBufferInfo = &binding->items[i].buffer;
      if (binding->type != VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR)
         continue;
      VkWriteDescriptorSetAccelerationStructureKHR *accel = &writes->accels[writes->accel_count++];
      *accel = (VkWriteDescriptorSetAccelerationStructureKHR){
         .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET_ACCELERATION_STRUCTURE_KHR,
         .accelerationStructureCount = 1,
         .pAccelerationStructures = &binding->items[i].structure,
      };
      write->pNext = accel;
   }
}

static struct writes *
collect_writes(struct run *run, struct run_set *set, VkDescriptorSet to)
{
   struct writes *writes = calloc(1, sizeof(*writes));
   if (!writes)
      vkh_die("out of memory");
   for (unsigned i = 0; i < set->binding_count; i++)
      add_binding_writes(run, writes, &set->bindings[i], to);
   return writes;
}

static VkDescriptorSet
allocate_set(struct run *run, const struct run_set *set)
{
   uint32_t variable = 0;
   for (unsigned i = 0; i < set->binding_count; i++) {
      if (set->bindings[i].flags & VK_DESCRIPTOR_BINDING_VARIABLE_DESCRIPTOR_COUNT_BIT)
         variable = set->bindings[i].count;
   }
   const VkDescriptorSetVariableDescriptorCountAllocateInfo count_info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_VARIABLE_DESCRIPTOR_COUNT_ALLOCATE_INFO,
      .descriptorSetCount = 1,
      .pDescriptorCounts = &variable,
   };
   const VkDescriptorSetAllocateInfo info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
      .pNext = variable ? &count_info : NULL,
      .descriptorPool = run->ctx->descriptor_pool,
      .descriptorSetCount = 1,
      .pSetLayouts = &set->layout,
   };
   VkDescriptorSet result;
   VKH_CHECK(vkAllocateDescriptorSets(run->ctx->device, &info, &result));
   return result;
}

/* Writes a set and copies it, the last element of an array first, as single
 * copies of one element and of whole bindings both occur in programs.
 */
static void
update_by_copy(struct run *run, struct run_set *set, VkDescriptorSet to)
{
   VkDescriptorSet from = allocate_set(run, set);
   struct writes *writes = collect_writes(run, set, from);
   vkUpdateDescriptorSets(run->ctx->device, writes->count, writes->writes, 0, NULL);

   for (unsigned i = writes->count; i-- > 0;) {
      const VkWriteDescriptorSet *write = &writes->writes[i];
      const VkCopyDescriptorSet copy = {
         .sType = VK_STRUCTURE_TYPE_COPY_DESCRIPTOR_SET,
         .srcSet = from,
         .srcBinding = write->dstBinding,
         .srcArrayElement = write->dstArrayElement,
         .dstSet = to,
         .dstBinding = write->dstBinding,
         .dstArrayElement = write->dstArrayElement,
         .descriptorCount = write->descriptorCount,
      };
      vkUpdateDescriptorSets(run->ctx->device, 0, NULL, 1, &copy);
   }
   VKH_CHECK(vkFreeDescriptorSets(run->ctx->device, run->ctx->descriptor_pool, 1, &from));
   free(writes);
}

static void
update_by_template(struct run *run, struct run_set *set, VkDescriptorSet to)
{
   struct writes *writes = collect_writes(run, set, to);
   VkDescriptorUpdateTemplateEntry *entries = calloc(writes->count, sizeof(*entries));
   VkDescriptorBufferInfo *data = calloc(writes->count, sizeof(*data));

   for (unsigned i = 0; i < writes->count; i++) {
      const VkWriteDescriptorSet *write = &writes->writes[i];
      if (!write->pBufferInfo)
         RUN_ERROR(run, "templates are for buffers only here");
      data[i] = *write->pBufferInfo;
      entries[i] = (VkDescriptorUpdateTemplateEntry){
         .dstBinding = write->dstBinding,
         .dstArrayElement = write->dstArrayElement,
         .descriptorCount = 1,
         .descriptorType = write->descriptorType,
         .offset = i * sizeof(*data),
         .stride = sizeof(*data),
      };
   }
   const VkDescriptorUpdateTemplateCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_UPDATE_TEMPLATE_CREATE_INFO,
      .descriptorUpdateEntryCount = writes->count,
      .pDescriptorUpdateEntries = entries,
      .templateType = VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_DESCRIPTOR_SET,
      .descriptorSetLayout = set->layout,
   };
   VkDescriptorUpdateTemplate template;
   VKH_CHECK(vkCreateDescriptorUpdateTemplate(run->ctx->device, &info, NULL, &template));
   vkUpdateDescriptorSetWithTemplate(run->ctx->device, to, template, data);
   vkDestroyDescriptorUpdateTemplate(run->ctx->device, template, NULL);
   free(entries);
   free(data);
   free(writes);
}

static size_t
descriptor_size(const VkPhysicalDeviceDescriptorBufferPropertiesEXT *properties,
                VkDescriptorType type)
{
   return type == VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER ? properties->uniformBufferDescriptorSize
                                                    : properties->storageBufferDescriptorSize;
}

static void
update_descriptor_buffer(struct run *run, struct run_set *set)
{
   VkPhysicalDeviceDescriptorBufferPropertiesEXT properties = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DESCRIPTOR_BUFFER_PROPERTIES_EXT,
   };
   VkPhysicalDeviceProperties2 properties2 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
      .pNext = &properties,
   };
   vkGetPhysicalDeviceProperties2(run->ctx->physical_device, &properties2);

   VkDevice device = run->ctx->device;
   VkDeviceSize size;
   VKH_PROC(run->ctx, vkGetDescriptorSetLayoutSizeEXT)(device, set->layout, &size);
   if (!set->descriptor_buffer.buffer)
      set->descriptor_buffer = vkh_buffer_create_usage(
         run->ctx, size, VK_BUFFER_USAGE_RESOURCE_DESCRIPTOR_BUFFER_BIT_EXT, NULL);

   for (unsigned i = 0; i < set->binding_count; i++) {
      const struct run_binding *binding = &set->bindings[i];
      const size_t stride = descriptor_size(&properties, binding->type);
      VkDeviceSize offset;
      VKH_PROC(run->ctx, vkGetDescriptorSetLayoutBindingOffsetEXT)
      (device, set->layout, binding->binding, &offset);

      for (unsigned j = 0; j < binding->count; j++) {
         if (!binding->items[j].written)
            continue;
         const VkDescriptorAddressInfoEXT address = {
            .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_ADDRESS_INFO_EXT,
            .address = binding->items[j].address,
            .range = item_size(run, &binding->items[j]),
         };
         const VkDescriptorGetInfoEXT get = {
            .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_GET_INFO_EXT,
            .type = binding->type,
            /* Uniform or storage: members of a union. */
            .data.pStorageBuffer = binding->items[j].address ? &address : NULL,
         };
         VKH_PROC(run->ctx, vkGetDescriptorEXT)
         (device, &get, stride, (char *)set->descriptor_buffer.map + offset + j * stride);
      }
   }
}

/* A set that commands use must not change, so changes go to a new one. */
static void
update_set(struct run *run, struct run_set *set)
{
   if (!set->dirty || set->update == UPDATE_PUSH)
      return;
   set->dirty = false;
   if (set->update == UPDATE_BUFFER) {
      update_descriptor_buffer(run, set);
      return;
   }

   set->set = allocate_set(run, set);
   if (set->update == UPDATE_COPY) {
      update_by_copy(run, set, set->set);
   } else if (set->update == UPDATE_TEMPLATE) {
      update_by_template(run, set, set->set);
   } else {
      struct writes *writes = collect_writes(run, set, set->set);
      vkUpdateDescriptorSets(run->ctx->device, writes->count, writes->writes, 0, NULL);
      free(writes);
   }
}

static void
bind_descriptor_buffer(struct run *run, struct run_set *set, unsigned index,
                       VkPipelineBindPoint bind_point)
{
   const VkDescriptorBufferBindingInfoEXT binding = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_BUFFER_BINDING_INFO_EXT,
      .address = set->descriptor_buffer.address,
      .usage = VK_BUFFER_USAGE_RESOURCE_DESCRIPTOR_BUFFER_BIT_EXT,
   };
   const uint32_t buffer_index = 0;
   const VkDeviceSize offset = 0;
   VKH_PROC(run->ctx, vkCmdBindDescriptorBuffersEXT)(run->cmd, 1, &binding);
   VKH_PROC(run->ctx, vkCmdSetDescriptorBufferOffsetsEXT)
   (run->cmd, bind_point, run->layout, index, 1, &buffer_index, &offset);
}

void
run_bind_sets(struct run *run, const struct run_pipeline *pipeline)
{
   for (unsigned i = 0; i < run->set_count; i++) {
      struct run_set *set = &run->sets[i];
      if (!set->used)
         continue;
      update_set(run, set);
      if (set->update == UPDATE_PUSH) {
         struct writes *writes = collect_writes(run, set, VK_NULL_HANDLE);
         VKH_PROC(run->ctx, vkCmdPushDescriptorSetKHR)
         (run->cmd, pipeline->bind_point, run->layout, i, writes->count, writes->writes);
         free(writes);
      } else if (set->update == UPDATE_BUFFER) {
         bind_descriptor_buffer(run, set, i, pipeline->bind_point);
      } else {
         vkCmdBindDescriptorSets(run->cmd, pipeline->bind_point, run->layout, i, 1, &set->set,
                                 set->offset_count, set->offsets);
      }
   }
}

void
run_destroy_sets(struct run *run)
{
   vkDestroyPipelineLayout(run->ctx->device, run->layout, NULL);
   for (unsigned i = 0; i < run->view_count; i++)
      vkDestroyBufferView(run->ctx->device, run->views[i], NULL);
   free(run->views);
   for (unsigned i = 0; i < run->set_count; i++) {
      vkDestroyDescriptorSetLayout(run->ctx->device, run->sets[i].layout, NULL);
      if (run->sets[i].descriptor_buffer.buffer)
         vkh_buffer_destroy(run->ctx, &run->sets[i].descriptor_buffer);
   }
}

/* SPDX-License-Identifier: MIT */

/* What descriptors are written with, and how. */

#include "scenario_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool
is_texel(VkDescriptorType type)
{
   return type == VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER ||
          type == VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER;
}

static bool
is_image(VkDescriptorType type)
{
   return type == VK_DESCRIPTOR_TYPE_SAMPLER || type == VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE ||
          type == VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER ||
          type == VK_DESCRIPTOR_TYPE_STORAGE_IMAGE || type == VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT;
}

/* VIEW, SAMPLER, VIEW/SAMPLER */
static void
parse_image(struct run *run, struct run_item *item, const char *word)
{
   char name[64];
   const size_t length = strcspn(word, "/");
   const bool is_sampler = item->type == VK_DESCRIPTOR_TYPE_SAMPLER;

   snprintf(name, sizeof(name), "%.*s", (int)length, word);
   item->image.imageLayout = VK_IMAGE_LAYOUT_GENERAL;
   if (!is_sampler)
      item->image.imageView = (VkImageView)run_find_view(run, VK_OBJECT_TYPE_IMAGE_VIEW, name);
   if (is_sampler || word[length])
      item->image.sampler = (VkSampler)run_find_view(run, VK_OBJECT_TYPE_SAMPLER,
                                                     is_sampler ? name : word + length + 1);
   if (is_sampler ? !item->image.sampler : !item->image.imageView && strcmp(name, "null") != 0)
      RUN_ERROR(run, "there is no view or sampler '%s'", name);
}

/* What parse_image() takes, a structure, a buffer view, or NAME[+OFFSET][:RANGE]; of a mutable
 * descriptor behind its type, as TYPE:ITEM
 */
static struct run_item
parse_item(struct run *run, VkDescriptorType type, const char *word)
{
   char name[64];
   struct run_item item = {.written = true, .type = type, .buffer.range = VK_WHOLE_SIZE};

   if (type == VK_DESCRIPTOR_TYPE_MUTABLE_EXT) {
      snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, ":"), word);
      return parse_item(run, run_find_descriptor_type(run, name), word + strcspn(word, ":") + 1);
   }
   if (is_image(type)) {
      parse_image(run, &item, word);
      return item;
   }
   if (type == VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR) {
      item.structure = run_find_structure(run, word);
      return item;
   }
   if (strcmp(word, "null") == 0)
      return item;
   item.view = (VkBufferView)run_find_view(run, VK_OBJECT_TYPE_BUFFER_VIEW, word);
   if (item.view)
      return item;

   const size_t length = strcspn(word, "+:");
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

struct run_item
run_parse_item(struct run *run, const char *word)
{
   return parse_item(run, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, word);
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

/* The items of a statement; returns how many, from *element on. */
static unsigned
read_items(struct run *run, struct run_binding *binding, unsigned *element)
{
   unsigned word = 4, count = 0;

   *element = 0;
   if (run_has_word(run, 4) && sscanf(run_word(run, 4), "at=%u", element) == 1)
      word++;
   for (; run_has_word(run, word); word++, count++) {
      struct run_item *item = &binding->items[*element + count];
      if (strcmp(run_word(run, word), "-") == 0)
         continue;
      *item = parse_item(run, binding->type, run_word(run, word));
      if (is_texel(item->type) && item->buffer.buffer)
         item->view = create_view(run, &item->buffer);
   }
   return count;
}

void
run_bind(struct run *run)
{
   struct run_set *set = run_statement_set(run);
   struct run_binding *binding = run_statement_binding(run, set);
   unsigned element;

   set->dirty = true;
   if (binding->type == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK) {
      if (run_has_word(run, 5))
         run_values(run, run_word(run, 5), 6, binding->inline_data, binding->count);
      return;
   }
   read_items(run, binding, &element);
}

/* `offsets SET O…` */
void
run_offsets(struct run *run)
{
   struct run_set *set = run_statement_set(run);
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
      .descriptorType = binding->type == VK_DESCRIPTOR_TYPE_MUTABLE_EXT
                           ? binding->items[element].type
                           : binding->type,
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
      if (is_texel(write->descriptorType))
         write->pTexelBufferView = &binding->items[i].view;
      else if (is_image(write->descriptorType))
         write->pImageInfo = &binding->items[i].image;
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

static VkDescriptorPool
pool_of(const struct run *run, const struct run_set *set)
{
   for (unsigned i = 0; i < set->binding_count; i++) {
      if (set->bindings[i].type != VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC &&
          set->bindings[i].type != VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC)
         return run->ctx->descriptor_pool;
   }
   return set->binding_count ? run->ctx->dynamic_pool : run->ctx->descriptor_pool;
}

static VkDescriptorSet
allocate_set(struct run *run, const struct run_set *set)
{
   uint32_t variable = 0;
   for (unsigned i = 0; i < set->binding_count; i++) {
      if (set->bindings[i].flags & VK_DESCRIPTOR_BINDING_VARIABLE_DESCRIPTOR_COUNT_BIT)
         variable = set->bindings[i].variable ? set->bindings[i].variable : set->bindings[i].count;
   }
   const VkDescriptorSetVariableDescriptorCountAllocateInfo count_info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_VARIABLE_DESCRIPTOR_COUNT_ALLOCATE_INFO,
      .descriptorSetCount = 1,
      .pDescriptorCounts = &variable,
   };
   const VkDescriptorSetAllocateInfo info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
      .pNext = variable ? &count_info : NULL,
      .descriptorPool = pool_of(run, set),
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
   VKH_CHECK(vkFreeDescriptorSets(run->ctx->device, pool_of(run, set), 1, &from));
   free(writes);
}

static void
update_by_template(struct run *run, struct run_set *set, VkDescriptorSet to)
{
   struct writes *writes = collect_writes(run, set, to);
   VkDescriptorUpdateTemplateEntry *entries = calloc(writes->count, sizeof(*entries));
   union {
      VkDescriptorBufferInfo buffer;
      VkDescriptorImageInfo image;
      VkBufferView view;
   } *data = calloc(writes->count, sizeof(*data));

   for (unsigned i = 0; i < writes->count; i++) {
      const VkWriteDescriptorSet *write = &writes->writes[i];
      if (write->pBufferInfo)
         data[i].buffer = *write->pBufferInfo;
      else if (write->pImageInfo)
         data[i].image = *write->pImageInfo;
      else if (write->pTexelBufferView)
         data[i].view = *write->pTexelBufferView;
      else
         RUN_ERROR(run, "templates are for buffers and images only here");
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
            .format = VK_FORMAT_R32_UINT, /* of texel buffers */
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

/* All that is bound */
static void
fill_set(struct run *run, struct run_set *set)
{
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
   fill_set(run, set);
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

/* `write SET BINDING TYPE [at=ELEMENT] ITEM…`: into the set that commands may use. */
void
run_write(struct run *run)
{
   struct run_set *set = run_statement_set(run);
   struct run_binding *binding = run_statement_binding(run, set);
   unsigned element;
   const unsigned count = read_items(run, binding, &element);

   if (set->update == UPDATE_COPY || set->update == UPDATE_TEMPLATE) {
      fill_set(run, set);
      return;
   }
   struct writes *writes = collect_writes(run, set, set->set);

   for (unsigned i = 0; i < writes->count; i++) {
      const VkWriteDescriptorSet *write = &writes->writes[i];
      if (write->dstBinding == binding->binding && write->dstArrayElement >= element &&
          write->dstArrayElement < element + count)
         vkUpdateDescriptorSets(run->ctx->device, 1, write, 0, NULL);
   }
   free(writes);
}

void
run_destroy_sets(struct run *run)
{
   vkDestroySampler(run->ctx->device, run->immutable_sampler, NULL);
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

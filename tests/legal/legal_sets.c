/* SPDX-License-Identifier: MIT */

/*
 * Descriptor sets and descriptor buffers, and what they show.
 */

#include "legal.h"

#include <stdlib.h>
#include <string.h>

#define MAX_ELEMENTS 256 /* descriptors of a set, and 16-byte parts of inline blocks */

union descriptor {
   VkDescriptorImageInfo image;
   VkDescriptorBufferInfo buffer;
   VkBufferView view;
   VkAccelerationStructureKHR structure;
   uint8_t bytes[sizeof(VkDescriptorBufferInfo)];
};

/* The descriptors of a set; those of a binding lie side by side. */
struct contents {
   union descriptor elements[MAX_ELEMENTS];
   uint32_t first[LEGAL_MAX_BINDINGS];
};

static bool
is_dynamic(VkDescriptorType type)
{
   return type == VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC ||
          type == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC;
}

static bool
is_structure(const struct legal_binding *binding)
{
   return binding->type == VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR;
}

static bool
is_inline(const struct legal_binding *binding)
{
   return binding->type == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK;
}

/* --- Contents ------------------------------------------------------------- */

static void
add_image(struct legal_sets *sets, struct legal_image image)
{
   sets->images = realloc(sets->images, (sets->image_count + 1) * sizeof(image));
   sets->images[sets->image_count++] = image;
}

static VkBufferView
add_view(struct legal_device *device, struct legal_sets *sets, const struct legal_binding *binding,
         uint32_t element)
{
   const VkBufferViewCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO,
      .buffer = device->output.buffer,
      .format = legal_format(binding->numbers),
      .offset = (binding->region + element) * LEGAL_REGION_STRIDE,
      .range = LEGAL_REGION,
   };
   sets->views = realloc(sets->views, (sets->view_count + 1) * sizeof(VkBufferView));
   VKH_CHECK(vkCreateBufferView(device->ctx->device, &info, NULL, &sets->views[sets->view_count]));
   return sets->views[sets->view_count++];
}

/* Where a buffer's descriptor begins; that of a dynamic one is added when it is bound. */
static VkDeviceSize
buffer_offset(const struct legal_binding *binding, uint32_t element)
{
   if (binding->writable)
      return (binding->region + element) * LEGAL_REGION_STRIDE;
   return binding->source + 256 * (element % 8);
}

static union descriptor
make_descriptor(struct legal_device *device, const struct legal_program *program,
                struct legal_sets *sets, const struct legal_binding *binding, uint32_t element)
{
   const bool combined = binding->type == VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER;
   union descriptor descriptor = {.bytes = {0}};

   switch (binding->type) {
   case VK_DESCRIPTOR_TYPE_SAMPLER:
      descriptor.image.sampler = device->sampler;
      break;
   case VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER:
   case VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER:
      descriptor.view = binding->writable ? add_view(device, sets, binding, element)
                                          : device->source_views[binding->numbers];
      break;
   case VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE:
   case VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER:
   case VK_DESCRIPTOR_TYPE_STORAGE_IMAGE:
   case VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT:
      if (binding->writable)
         add_image(sets, legal_image_create(device, binding->dim, binding->numbers, true));
      descriptor.image = (VkDescriptorImageInfo){
         .sampler = combined ? device->sampler : VK_NULL_HANDLE,
         .imageView = binding->writable ? sets->images[sets->image_count - 1].view
                                        : device->images[binding->dim][binding->numbers].view,
         .imageLayout = VK_IMAGE_LAYOUT_GENERAL,
      };
      break;
   case VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR:
      descriptor.structure = device->scenes[legal_scene_of(program)].top;
      break;
   default:
      descriptor.buffer = (VkDescriptorBufferInfo){
         .buffer = binding->writable ? device->output.buffer : device->source.buffer,
         .offset = is_dynamic(binding->type) ? 0 : buffer_offset(binding, element),
         .range = binding->size,
      };
   }
   return descriptor;
}

static void
fill_contents(struct legal_device *device, const struct legal_program *program,
              const struct legal_set *set, struct legal_sets *sets, struct contents *contents)
{
   uint32_t count = 0;

   for (unsigned i = 0; i < set->binding_count; i++) {
      const struct legal_binding *binding = &set->bindings[i];
      contents->first[i] = count;
      if (count + binding->valid > MAX_ELEMENTS)
         vkh_die("too many descriptors in a set");
      if (is_inline(binding)) {
         memcpy(&contents->elements[count], device->source.map, binding->size);
         count += (binding->size + sizeof(union descriptor) - 1) / sizeof(union descriptor);
         continue;
      }
      for (uint32_t j = 0; j < binding->valid; j++)
         contents->elements[count++] = make_descriptor(device, program, sets, binding, j);
   }
}

/* --- Writing -------------------------------------------------------------- */

/* Immutable samplers are not written. */
static bool
is_written(const struct legal_binding *binding)
{
   return binding->valid &&
          !(binding->type == VK_DESCRIPTOR_TYPE_SAMPLER && binding->immutable_samplers);
}

/* The writes of a set, and what they refer to */
struct writes {
   VkWriteDescriptorSet writes[MAX_ELEMENTS];
   VkWriteDescriptorSetInlineUniformBlock inlines[LEGAL_MAX_BINDINGS];
   VkWriteDescriptorSetAccelerationStructureKHR structures[MAX_ELEMENTS];
   uint32_t count;
};

/* A write of several elements needs arrays of one kind of info, so each element gets a write of
 * its own.
 */
static void
fill_writes(const struct legal_set *set, const struct contents *contents, VkDescriptorSet target,
            struct writes *all)
{
   all->count = 0;
   for (unsigned i = 0; i < set->binding_count; i++) {
      const struct legal_binding *binding = &set->bindings[i];
      const uint32_t elements = is_inline(binding) ? 1 : binding->valid;
      for (uint32_t j = 0; j < elements && is_written(binding); j++) {
         const union descriptor *descriptor = &contents->elements[contents->first[i] + j];
         VkWriteDescriptorSet *write = &all->writes[all->count];
         *write = (VkWriteDescriptorSet){
            .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
            .dstSet = target,
            .dstBinding = binding->number,
            .dstArrayElement = binding->first + j,
            .descriptorCount = 1,
            .descriptorType = binding->type,
            .pImageInfo = &descriptor->image,
            .pBufferInfo = &descriptor->buffer,
            .pTexelBufferView = &descriptor->view,
         };
         if (is_inline(binding)) {
            all->inlines[i] = (VkWriteDescriptorSetInlineUniformBlock){
               .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET_INLINE_UNIFORM_BLOCK,
               .dataSize = binding->size,
               .pData = descriptor,
            };
            write->pNext = &all->inlines[i];
            write->descriptorCount = binding->size;
         }
         if (is_structure(binding)) {
            all->structures[all->count] = (VkWriteDescriptorSetAccelerationStructureKHR){
               .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET_ACCELERATION_STRUCTURE_KHR,
               .accelerationStructureCount = 1,
               .pAccelerationStructures = &descriptor->structure,
            };
            write->pNext = &all->structures[all->count];
         }
         all->count++;
      }
   }
}

static void
write_set(struct legal_device *device, const struct legal_set *set, const struct contents *contents,
          VkDescriptorSet target)
{
   struct writes writes;

   fill_writes(set, contents, target, &writes);
   vkUpdateDescriptorSets(device->ctx->device, writes.count, writes.writes, 0, NULL);
}

static void
copy_set(struct legal_device *device, const struct legal_set *set, VkDescriptorSet source,
         VkDescriptorSet target)
{
   VkCopyDescriptorSet copies[LEGAL_MAX_BINDINGS];
   uint32_t count = 0;

   for (unsigned i = 0; i < set->binding_count; i++) {
      const struct legal_binding *binding = &set->bindings[i];
      if (!is_written(binding))
         continue;
      copies[count++] = (VkCopyDescriptorSet){
         .sType = VK_STRUCTURE_TYPE_COPY_DESCRIPTOR_SET,
         .srcSet = source,
         .srcBinding = binding->number,
         .srcArrayElement = binding->first,
         .dstSet = target,
         .dstBinding = binding->number,
         .dstArrayElement = binding->first,
         .descriptorCount = binding->valid,
      };
   }
   vkUpdateDescriptorSets(device->ctx->device, 0, NULL, count, copies);
}

static void
write_by_template(struct legal_device *device, const struct legal_set *set,
                  const struct contents *contents, VkDescriptorSetLayout layout,
                  VkDescriptorSet target)
{
   VkDescriptorUpdateTemplateEntry entries[LEGAL_MAX_BINDINGS];
   VkDescriptorUpdateTemplate template;
   uint32_t count = 0;

   for (unsigned i = 0; i < set->binding_count; i++) {
      const struct legal_binding *binding = &set->bindings[i];
      if (!is_written(binding))
         continue;
      entries[count++] = (VkDescriptorUpdateTemplateEntry){
         .dstBinding = binding->number,
         .dstArrayElement = binding->first,
         .descriptorCount = binding->valid,
         .descriptorType = binding->type,
         .offset = contents->first[i] * sizeof(union descriptor),
         .stride = sizeof(union descriptor),
      };
   }
   const VkDescriptorUpdateTemplateCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_UPDATE_TEMPLATE_CREATE_INFO,
      .descriptorUpdateEntryCount = count,
      .pDescriptorUpdateEntries = entries,
      .templateType = VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_DESCRIPTOR_SET,
      .descriptorSetLayout = layout,
   };
   if (!count)
      return;
   VKH_CHECK(vkCreateDescriptorUpdateTemplate(device->ctx->device, &info, NULL, &template));
   vkUpdateDescriptorSetWithTemplate(device->ctx->device, target, template, contents->elements);
   vkDestroyDescriptorUpdateTemplate(device->ctx->device, template, NULL);
}

/* --- Descriptor buffers --------------------------------------------------- */

static size_t
descriptor_size(const struct legal_device *device, VkDescriptorType type)
{
   const VkPhysicalDeviceDescriptorBufferPropertiesEXT *sizes = &device->descriptor_buffer;
   switch (type) {
   case VK_DESCRIPTOR_TYPE_SAMPLER:
      return sizes->samplerDescriptorSize;
   case VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER:
      return sizes->combinedImageSamplerDescriptorSize;
   case VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE:
      return sizes->sampledImageDescriptorSize;
   case VK_DESCRIPTOR_TYPE_STORAGE_IMAGE:
      return sizes->storageImageDescriptorSize;
   case VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER:
      return sizes->uniformTexelBufferDescriptorSize;
   case VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER:
      return sizes->storageTexelBufferDescriptorSize;
   case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER:
      return sizes->uniformBufferDescriptorSize;
   case VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR:
      return sizes->accelerationStructureDescriptorSize;
   case VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT:
      return sizes->inputAttachmentDescriptorSize;
   default:
      return sizes->storageBufferDescriptorSize;
   }
}

/* Mutable descriptors are as large as the largest of their types. */
static size_t
element_size(const struct legal_device *device, const struct legal_set *set, unsigned index)
{
   const struct legal_binding *binding = &set->bindings[index];
   const struct legal_binding *other = binding->is_shared ? binding - 1 : binding + 1;
   const size_t size = descriptor_size(device, binding->type);

   if (!binding->is_shared && (index + 1 == set->binding_count || !other->is_shared))
      return size;
   const size_t other_size = descriptor_size(device, other->type);
   return size > other_size ? size : other_size;
}

static void
get_descriptor(struct legal_device *device, const struct legal_program *program,
               const struct legal_binding *binding, uint32_t element,
               const union descriptor *descriptor, void *target)
{
   const bool texels = binding->type == VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER ||
                       binding->type == VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER;
   const struct vkh_buffer *buffer = binding->writable ? &device->output : &device->source;
   const VkDescriptorAddressInfoEXT address = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_ADDRESS_INFO_EXT,
      .address =
         buffer->address + (texels && !binding->writable ? 0 : buffer_offset(binding, element)),
      .range = !texels             ? binding->size
               : binding->writable ? LEGAL_REGION
                                   : 4096,
      .format = texels ? legal_format(binding->numbers) : VK_FORMAT_UNDEFINED,
   };
   VkDescriptorGetInfoEXT info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_GET_INFO_EXT,
      .type = binding->type,
   };

   switch (binding->type) {
   case VK_DESCRIPTOR_TYPE_SAMPLER:
      info.data.pSampler = &descriptor->image.sampler;
      break;
   case VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER:
   case VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE:
   case VK_DESCRIPTOR_TYPE_STORAGE_IMAGE:
   case VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT:
      info.data.pSampledImage = &descriptor->image; /* a member of the same kind */
      break;
   case VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR:
      info.data.accelerationStructure = device->scenes[legal_scene_of(program)].address;
      break;
   default:
      info.data.pUniformBuffer = &address;
   }
   VKH_PROC(device->ctx, vkGetDescriptorEXT)
   (device->ctx->device, &info, descriptor_size(device, binding->type), target);
}

static void
fill_descriptor_buffer(struct legal_device *device, const struct legal_program *program,
                       const struct legal_set *set, const struct contents *contents,
                       VkDescriptorSetLayout layout, uint8_t *map)
{
   for (unsigned i = 0; i < set->binding_count; i++) {
      const struct legal_binding *binding = &set->bindings[i];
      const size_t size = element_size(device, set, i);
      const union descriptor *elements = &contents->elements[contents->first[i]];
      VkDeviceSize offset;

      if (!binding->valid)
         continue;
      VKH_PROC(device->ctx, vkGetDescriptorSetLayoutBindingOffsetEXT)
      (device->ctx->device, layout, binding->number, &offset);
      if (is_inline(binding)) {
         memcpy(map + offset, elements, binding->size);
         continue;
      }
      for (uint32_t j = 0; j < binding->valid; j++)
         get_descriptor(device, program, binding, j, &elements[j],
                        map + offset + (binding->first + j) * size);
   }
}

static void
create_descriptor_buffer(struct legal_device *device, const struct legal_program *program,
                         struct legal_sets *sets)
{
   const VkDeviceSize alignment = device->descriptor_buffer.descriptorBufferOffsetAlignment;
   VkDeviceSize total = 0;

   for (unsigned i = 0; i < program->set_count; i++) {
      VkDeviceSize size = 0;
      if (sets->layouts[i])
         VKH_PROC(device->ctx, vkGetDescriptorSetLayoutSizeEXT)
      (device->ctx->device, sets->layouts[i], &size);
      sets->offsets[i] = total;
      total += (size + alignment - 1) / alignment * alignment;
   }
   sets->buffer = vkh_buffer_create_usage(device->ctx, total ? total : alignment,
                                          VK_BUFFER_USAGE_RESOURCE_DESCRIPTOR_BUFFER_BIT_EXT |
                                             VK_BUFFER_USAGE_SAMPLER_DESCRIPTOR_BUFFER_BIT_EXT,
                                          "descriptors");
}

/* --- Sets ----------------------------------------------------------------- */

static VkDescriptorSet
allocate(struct legal_device *device, const struct legal_set *set, struct legal_sets *sets,
         unsigned index)
{
   uint32_t variable_count = 0;
   for (unsigned i = 0; i < set->binding_count; i++) {
      if (set->bindings[i].flags & VK_DESCRIPTOR_BINDING_VARIABLE_DESCRIPTOR_COUNT_BIT)
         variable_count = set->bindings[i].allocated;
   }
   const VkDescriptorSetVariableDescriptorCountAllocateInfo counts = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_VARIABLE_DESCRIPTOR_COUNT_ALLOCATE_INFO,
      .descriptorSetCount = 1,
      .pDescriptorCounts = &variable_count,
   };
   const VkDescriptorSetAllocateInfo info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
      .pNext = variable_count ? &counts : NULL,
      .descriptorPool = sets->pool,
      .descriptorSetCount = 1,
      .pSetLayouts = &sets->layouts[index],
   };
   VkDescriptorSet result;
   VKH_CHECK(vkAllocateDescriptorSets(device->ctx->device, &info, &result));
   return result;
}

/* A pool with just the room that the program needs, twice for the sets that are copied */
static void
create_pool(struct legal_device *device, const struct legal_program *program,
            struct legal_sets *sets)
{
   VkDescriptorPoolSize sizes[LEGAL_MAX_SETS * LEGAL_MAX_BINDINGS + 1] = {
      {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1},
   };
   uint32_t count = 1, inlines = 0, set_count = 1;
   bool after_bind = false;

   for (unsigned i = 0; i < program->set_count; i++) {
      const struct legal_set *set = &program->sets[i];
      const uint32_t copies = set->update == LEGAL_COPY ? 2 : 1;
      set_count += copies;
      for (unsigned j = 0; j < set->binding_count; j++) {
         const struct legal_binding *binding = &set->bindings[j];
         after_bind |= (binding->flags & VK_DESCRIPTOR_BINDING_UPDATE_AFTER_BIND_BIT) != 0;
         inlines += is_inline(binding) ? copies : 0;
         if (binding->count && !binding->is_shared)
            sizes[count++] =
               (VkDescriptorPoolSize){legal_type_in_layout(binding), copies * binding->count};
      }
   }
   const VkDescriptorPoolInlineUniformBlockCreateInfo inline_info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_INLINE_UNIFORM_BLOCK_CREATE_INFO,
      .maxInlineUniformBlockBindings = inlines,
   };
   const VkDescriptorPoolCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
      .pNext = inlines ? &inline_info : NULL,
      .flags = after_bind ? VK_DESCRIPTOR_POOL_CREATE_UPDATE_AFTER_BIND_BIT : 0,
      .maxSets = set_count,
      .poolSizeCount = count,
      .pPoolSizes = sizes,
   };
   VKH_CHECK(vkCreateDescriptorPool(device->ctx->device, &info, NULL, &sets->pool));
}

static void
create_set(struct legal_device *device, const struct legal_program *program,
           struct legal_sets *sets, unsigned index)
{
   const struct legal_set *set = &program->sets[index];
   struct contents contents;

   fill_contents(device, program, set, sets, &contents);
   if (set->update == LEGAL_BUFFER) {
      fill_descriptor_buffer(device, program, set, &contents, sets->layouts[index],
                             (uint8_t *)sets->buffer.map + sets->offsets[index]);
      return;
   }
   sets->sets[index] = allocate(device, set, sets, index);
   if (set->update == LEGAL_TEMPLATE) {
      write_by_template(device, set, &contents, sets->layouts[index], sets->sets[index]);
   } else if (set->update == LEGAL_COPY) {
      VkDescriptorSet source = allocate(device, set, sets, index);
      write_set(device, set, &contents, source);
      copy_set(device, set, source, sets->sets[index]);
   } else {
      write_set(device, set, &contents, sets->sets[index]);
   }
}

void
legal_sets_create(struct legal_device *device, const struct legal_program *program,
                  struct legal_sets *sets)
{
   *sets = (struct legal_sets){0};
   for (unsigned i = 0; i < program->set_count; i++) {
      if (!program->sets[i].null)
         sets->layouts[i] = legal_set_layout_create(device, &program->sets[i]);
   }
   sets->layout = legal_layout_create(device, program, sets, VK_SHADER_STAGE_ALL);
   create_pool(device, program, sets);
   if (program->descriptor_buffers)
      create_descriptor_buffer(device, program, sets);
   for (unsigned i = 0; i < program->set_count; i++) {
      /* What is pushed is written when it is bound. */
      if (!program->sets[i].null && program->sets[i].update != LEGAL_PUSH)
         create_set(device, program, sets, i);
   }
}

static void
push_set(struct legal_device *device, const struct legal_program *program, struct legal_sets *sets,
         unsigned index, VkCommandBuffer cmd)
{
   struct contents contents;
   struct writes writes;

   fill_contents(device, program, &program->sets[index], sets, &contents);
   fill_writes(&program->sets[index], &contents, VK_NULL_HANDLE, &writes);
   if (writes.count)
      VKH_PROC(device->ctx, vkCmdPushDescriptorSetKHR)
   (cmd, program->bind_point, sets->layout, index, writes.count, writes.writes);
}

static void
bind_set(const struct legal_program *program, const struct legal_sets *sets, unsigned index,
         VkCommandBuffer cmd)
{
   const struct legal_set *set = &program->sets[index];
   uint32_t offsets[LEGAL_MAX_BINDINGS], count = 0;

   for (unsigned i = 0; i < set->binding_count; i++) {
      if (is_dynamic(set->bindings[i].type) && set->bindings[i].count)
         offsets[count++] = (uint32_t)buffer_offset(&set->bindings[i], 0);
   }
   vkCmdBindDescriptorSets(cmd, program->bind_point, sets->layout, index, 1, &sets->sets[index],
                           count, offsets);
}

void
legal_sets_bind(struct legal_device *device, const struct legal_program *program,
                struct legal_sets *sets, VkCommandBuffer cmd)
{
   const uint32_t zero = 0;

   if (program->descriptor_buffers) {
      const VkDescriptorBufferBindingInfoEXT info = {
         .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_BUFFER_BINDING_INFO_EXT,
         .address = sets->buffer.address,
         .usage = VK_BUFFER_USAGE_RESOURCE_DESCRIPTOR_BUFFER_BIT_EXT |
                  VK_BUFFER_USAGE_SAMPLER_DESCRIPTOR_BUFFER_BIT_EXT,
      };
      VKH_PROC(device->ctx, vkCmdBindDescriptorBuffersEXT)(cmd, 1, &info);
   }
   for (unsigned i = 0; i < program->set_count; i++) {
      const struct legal_set *set = &program->sets[i];
      if (set->null || (!set->binding_count && program->seed % 3 == 0))
         continue;
      if (set->update == LEGAL_BUFFER)
         VKH_PROC(device->ctx, vkCmdSetDescriptorBufferOffsetsEXT)
      (cmd, program->bind_point, sets->layout, i, 1, &zero, &sets->offsets[i]);
      else if (set->update == LEGAL_PUSH) push_set(device, program, sets, i, cmd);
      else bind_set(program, sets, i, cmd);
   }
}

void
legal_sets_destroy(struct legal_device *device, struct legal_sets *sets)
{
   VkDevice handle = device->ctx->device;

   for (unsigned i = 0; i < LEGAL_MAX_SETS; i++)
      vkDestroyDescriptorSetLayout(handle, sets->layouts[i], NULL);
   vkDestroyPipelineLayout(handle, sets->layout, NULL);
   vkDestroyDescriptorPool(handle, sets->pool, NULL);
   for (uint32_t i = 0; i < sets->image_count; i++)
      legal_image_destroy(device, &sets->images[i]);
   for (uint32_t i = 0; i < sets->view_count; i++)
      vkDestroyBufferView(handle, sets->views[i], NULL);
   if (sets->buffer.buffer)
      vkh_buffer_destroy(device->ctx, &sets->buffer);
   free(sets->images);
   free(sets->views);
}

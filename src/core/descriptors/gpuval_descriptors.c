/* SPDX-License-Identifier: MIT */

/* What is in the shadows of descriptor sets. */

#include "gpuval_objects.h"

#include "vk_buffer.h"
#include "vk_util.h"

static struct gpuval_descriptor *
get_slot(struct gpuval_set_shadow shadow, const struct gpuval_set_shadow_binding *binding,
         uint32_t element)
{
   return shadow.slots +
          (int64_t)shadow.step * (binding->first_slot + (int64_t)element * binding->stride);
}

/* @slot has been written. */
static void
publish(struct gpuval_set_shadow shadow, const struct gpuval_descriptor *slot)
{
   if (shadow.seen)
      shadow.seen[slot - shadow.slots] = *slot;
}

static uint32_t
id_of(struct gpuval_objects *objects, const void *handle)
{
   const struct vk_object_base *base = handle;
   return base->gpuval_id ? base->gpuval_id : gpuval_objects_unknown(objects);
}

static uint32_t
offers_of_type(VkDescriptorType type)
{
   switch (type) {
   case VK_DESCRIPTOR_TYPE_SAMPLER:
      return GPUVAL_OFFERS_SAMPLER;
   case VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER:
      return GPUVAL_OFFERS_SAMPLED_IMAGE | GPUVAL_OFFERS_SAMPLER;
   case VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE:
      return GPUVAL_OFFERS_SAMPLED_IMAGE;
   case VK_DESCRIPTOR_TYPE_STORAGE_IMAGE:
      return GPUVAL_OFFERS_STORAGE_IMAGE;
   case VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT:
      return GPUVAL_OFFERS_INPUT_ATTACHMENT;
   case VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER:
      return GPUVAL_OFFERS_UNIFORM_TEXEL_BUFFER;
   case VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER:
      return GPUVAL_OFFERS_STORAGE_TEXEL_BUFFER;
   case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER:
   case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC:
      return GPUVAL_OFFERS_UNIFORM_BUFFER;
   case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER:
   case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC:
      return GPUVAL_OFFERS_STORAGE_BUFFER;
   case VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR:
      return GPUVAL_OFFERS_ACCELERATION_STRUCTURE;
   default:
      return 0;
   }
}

size_t
gpuval_descriptor_info_size(VkDescriptorType type)
{
   switch (type) {
   case VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER:
   case VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER:
      return sizeof(VkBufferView);
   case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER:
   case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC:
   case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER:
   case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC:
      return sizeof(VkDescriptorBufferInfo);
   case VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR:
      return sizeof(VkAccelerationStructureKHR);
   default:
      return sizeof(VkDescriptorImageInfo);
   }
}

/* All that is asked of a view is there: nullDescriptor makes it so. */
static struct gpuval_descriptor
null_descriptor(struct gpuval_objects *objects, VkDescriptorType type)
{
   return (struct gpuval_descriptor){
      .object = gpuval_objects_unknown(objects),
      .offers = offers_of_type(type) | GPUVAL_OFFERS_VIEWS | GPUVAL_OFFERS_TEXELS,
      .format = ~0u,
   };
}

static struct gpuval_descriptor
view_descriptor(struct gpuval_objects *objects, VkDescriptorType type, const void *handle)
{
   if (!handle)
      return null_descriptor(objects, type);

   const struct gpuval_object_view *view = gpuval_objects_view(objects, handle);
   struct gpuval_descriptor descriptor = null_descriptor(objects, type);
   if (view->offers) {
      descriptor.object = id_of(objects, handle);
      descriptor.offers = offers_of_type(type) | view->offers;
      descriptor.format = view->format;
   }
   return descriptor;
}

static struct gpuval_descriptor
buffer_descriptor(struct gpuval_objects *objects, VkDescriptorType type,
                  const VkDescriptorBufferInfo *info)
{
   VK_FROM_HANDLE(vk_buffer, buffer, info->buffer);
   if (!buffer) {
      struct gpuval_descriptor descriptor = null_descriptor(objects, type);
      descriptor.size = 0;
      return descriptor;
   }

   return (struct gpuval_descriptor){
      .object = id_of(objects, buffer),
      .offers = offers_of_type(type),
      .size = MIN2(vk_buffer_range(buffer, info->offset, info->range), UINT32_MAX),
   };
}

void
gpuval_set_shadow_write(struct gpuval_objects *objects, struct gpuval_set_shadow shadow,
                        const struct gpuval_set_shadow_binding *binding, VkDescriptorType type,
                        uint32_t element, uint32_t count, const void *data, size_t data_stride)
{
   for (uint32_t i = 0; i < count; i++) {
      struct gpuval_descriptor *slot = get_slot(shadow, binding, element + i);
      const void *info = (const uint8_t *)data + i * data_stride;
      const VkDescriptorImageInfo *image = info;

      switch (type) {
      case VK_DESCRIPTOR_TYPE_SAMPLER:
         if (!binding->has_immutable_samplers)
            *slot = (struct gpuval_descriptor){
               .offers = offers_of_type(type),
               .sampler = id_of(objects, (const void *)(uintptr_t)image->sampler),
            };
         break;
      case VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER: {
         uint32_t sampler = binding->has_immutable_samplers ? slot->sampler : 0;
         *slot = view_descriptor(objects, type, (const void *)(uintptr_t)image->imageView);
         slot->sampler = binding->has_immutable_samplers ? sampler
                         : image->sampler ? id_of(objects, (const void *)(uintptr_t)image->sampler)
                                          : gpuval_objects_unknown(objects);
         break;
      }
      case VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE:
      case VK_DESCRIPTOR_TYPE_STORAGE_IMAGE:
      case VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT:
         *slot = view_descriptor(objects, type, (const void *)(uintptr_t)image->imageView);
         break;
      case VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER:
      case VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER:
         *slot =
            view_descriptor(objects, type, (const void *)(uintptr_t) * (const VkBufferView *)info);
         break;
      case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER:
      case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC:
      case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER:
      case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC:
         *slot = buffer_descriptor(objects, type, info);
         break;
      case VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR: {
         const void *structure =
            (const void *)(uintptr_t) * (const VkAccelerationStructureKHR *)info;
         *slot = null_descriptor(objects, type);
         if (structure)
            slot->object = id_of(objects, structure);
         break;
      }
      default:
         break; /* inline uniform blocks are no descriptors */
      }
      publish(shadow, slot);
   }
}

const void *
gpuval_descriptor_infos(const VkWriteDescriptorSet *write)
{
   const VkWriteDescriptorSetAccelerationStructureKHR *structures;

   switch (write->descriptorType) {
   case VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER:
   case VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER:
      return write->pTexelBufferView;
   case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER:
   case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC:
   case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER:
   case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC:
      return write->pBufferInfo;
   case VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR:
      structures =
         vk_find_struct_const(write->pNext, WRITE_DESCRIPTOR_SET_ACCELERATION_STRUCTURE_KHR);
      return structures ? structures->pAccelerationStructures : NULL;
   case VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK:
      return NULL;
   default:
      return write->pImageInfo;
   }
}

bool
gpuval_descriptor_is_null_view(VkDescriptorType type, const void *info)
{
   switch (type) {
   case VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER:
   case VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER:
      return !*(const VkBufferView *)info;
   case VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER:
   case VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE:
   case VK_DESCRIPTOR_TYPE_STORAGE_IMAGE:
   case VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT:
      return !((const VkDescriptorImageInfo *)info)->imageView;
   default:
      return false;
   }
}

void
gpuval_set_shadow_write_set(struct gpuval_objects *objects, struct gpuval_set_shadow shadow,
                            const struct gpuval_set_shadow_binding *binding,
                            const VkWriteDescriptorSet *write)
{
   const void *infos = gpuval_descriptor_infos(write);

   if (infos)
      gpuval_set_shadow_write(objects, shadow, binding, write->descriptorType,
                              write->dstArrayElement, write->descriptorCount, infos,
                              gpuval_descriptor_info_size(write->descriptorType));
}

void
gpuval_set_shadow_init_sampler(struct gpuval_objects *objects, struct gpuval_set_shadow shadow,
                               const struct gpuval_set_shadow_binding *binding, uint32_t element,
                               const struct vk_object_base *sampler)
{
   struct gpuval_descriptor *slot = get_slot(shadow, binding, element);

   *slot = (struct gpuval_descriptor){
      .offers = GPUVAL_OFFERS_SAMPLER,
      .sampler = sampler ? id_of(objects, sampler) : gpuval_objects_unknown(objects),
   };
   publish(shadow, slot);
}

void
gpuval_set_shadow_copy(struct gpuval_set_shadow to,
                       const struct gpuval_set_shadow_binding *to_binding,
                       struct gpuval_set_shadow from,
                       const struct gpuval_set_shadow_binding *from_binding,
                       const VkCopyDescriptorSet *copy)
{
   for (uint32_t i = 0; i < copy->descriptorCount; i++) {
      struct gpuval_descriptor *slot = get_slot(to, to_binding, copy->dstArrayElement + i);
      *slot = *get_slot(from, from_binding, copy->srcArrayElement + i);
      publish(to, slot);
   }
}

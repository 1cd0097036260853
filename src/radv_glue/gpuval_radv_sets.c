/* SPDX-License-Identifier: MIT */

#include "gpuval_radv_sets.h"

#include "gpuval_radv_layer.h"

#include "gpuval/src/compat/gpuval_radv_driver.h"
#include "radv_buffer.h"
#include "radv_cmd_buffer.h"
#include "radv_descriptor_set.h"
#include "radv_device.h"
#include "radv_physical_device.h"

#include "gpuval/src/core/descriptors/gpuval_objects.h"
#include "gpuval/src/core/memory/gpuval_marks.h"
#include "gpuval/src/nir_passes/gpuval_nir.h"
#include "util/vma.h"
#include "vk_acceleration_structure.h"

#define ENTRY_SIZE sizeof(struct gpuval_descriptor)

/* Pools */

/* Sets are small and pools are not: mostly there is one chunk. */
struct chunk {
   struct list_head link;
   struct radeon_winsys_bo *bo;
   uint8_t *map;  /* what shaders see; the host only writes */
   uint8_t *host; /* the same for the host */
   uint64_t address, size;
   struct util_vma_heap heap;
};

struct gpuval_radv_pool {
   struct list_head chunks;
};

static void
init_heap(struct chunk *chunk)
{
   util_vma_heap_init(&chunk->heap, chunk->address, chunk->size);
}

static void
destroy_chunk(struct radv_device *device, struct chunk *chunk)
{
   if (chunk->bo) {
      device->ws->buffer_make_resident(device->ws, chunk->bo, false);
      radv_bo_destroy(device, NULL, chunk->bo);
   }
   if (chunk->size)
      util_vma_heap_finish(&chunk->heap);
   free(chunk->host);
   free(chunk);
}

/* As the pool's own memory: the address has a known upper half. */
static struct chunk *
add_chunk(struct radv_device *device, struct gpuval_radv_pool *pool, uint64_t size)
{
   struct radeon_winsys *ws = device->ws;
   struct chunk *chunk = calloc(1, sizeof(*chunk));
   if (!chunk)
      return NULL;

   size = align64(size, 4096);
   if (radv_bo_create(
          device, NULL, size, 4096, RADEON_DOMAIN_VRAM,
          RADEON_FLAG_NO_INTERPROCESS_SHARING | RADEON_FLAG_READ_ONLY | RADEON_FLAG_32BIT,
          RADV_BO_PRIORITY_DESCRIPTOR, 0, true, &chunk->bo) != VK_SUCCESS) {
      free(chunk);
      return NULL;
   }
   if (ws->buffer_make_resident(ws, chunk->bo, true) != VK_SUCCESS ||
       !(chunk->map = radv_buffer_map(ws, chunk->bo)) || !(chunk->host = calloc(1, size))) {
      destroy_chunk(device, chunk);
      return NULL;
   }

   chunk->address = radv_buffer_get_va(chunk->bo);
   chunk->size = size;
   init_heap(chunk);
   list_add(&chunk->link, &pool->chunks);
   return chunk;
}

static struct chunk *
find_chunk(struct gpuval_radv_pool *pool, uint64_t address)
{
   list_for_each_entry (struct chunk, chunk, &pool->chunks, link) {
      if (address >= chunk->address && address - chunk->address < chunk->size)
         return chunk;
   }
   return NULL;
}

/* Returns where *address is, or NULL. */
static struct chunk *
pool_alloc(struct radv_device *device, struct radv_descriptor_pool *pool, uint64_t size,
           uint64_t *address)
{
   if (!pool->gpuval) {
      pool->gpuval = calloc(1, sizeof(*pool->gpuval));
      if (!pool->gpuval)
         return NULL;
      list_inithead(&pool->gpuval->chunks);
   }

   list_for_each_entry (struct chunk, chunk, &pool->gpuval->chunks, link) {
      *address = util_vma_heap_alloc(&chunk->heap, size, ENTRY_SIZE);
      if (*address)
         return chunk;
   }

   /* All that fits into the pool, its headers and some dynamic buffers */
   uint64_t likely = pool->size + 4ull * ENTRY_SIZE * pool->max_entry_count;
   struct chunk *chunk = add_chunk(device, pool->gpuval, MAX2(likely, size));
   *address = chunk ? util_vma_heap_alloc(&chunk->heap, size, ENTRY_SIZE) : 0;
   return *address ? chunk : NULL;
}

/* Bytes of a set's shadow without its header */
static uint64_t
shadow_size(const struct radv_descriptor_set_header *set)
{
   return align64(set->size, ENTRY_SIZE) + set->layout->dynamic_offset_count * ENTRY_SIZE;
}

/* Sets and their bindings */

/* The host's shadow of a set that may have none */
static struct gpuval_set_shadow
get_shadow(const struct radv_descriptor_set_header *set)
{
   const struct gpuval_radv_set_header *header = (const void *)set->gpuval_shadow;

   return (struct gpuval_set_shadow){
      .slots = set->gpuval_shadow,
      .step = 1,
      .seen = header ? (struct gpuval_descriptor *)(uintptr_t)header[-1].seen : NULL,
   };
}

struct place {
   struct gpuval_set_shadow shadow;
   struct gpuval_set_shadow_binding binding;
};

/* Also of a set that has none: then its slots are NULL. */
static struct place
get_place(const struct radv_descriptor_set_header *set, uint32_t binding)
{
   const struct radv_descriptor_set_binding_layout *layout = &set->layout->binding[binding];
   struct place place = {
      .shadow = get_shadow(set),
      .binding =
         {
            .first_slot = layout->offset / ENTRY_SIZE,
            .stride = layout->size / ENTRY_SIZE,
            .has_immutable_samplers = layout->immutable_samplers_offset != 0,
         },
   };

   if (vk_descriptor_type_is_dynamic(layout->type)) {
      place.binding.first_slot =
         align(set->size, ENTRY_SIZE) / ENTRY_SIZE + layout->dynamic_offset_offset;
      place.binding.stride = 1;
   }
   return place;
}

static void
init_samplers(struct gpuval_objects *objects, const struct radv_descriptor_set_header *set)
{
   const struct radv_descriptor_set_layout *layout = set->layout;

   for (uint32_t i = 0; layout->has_immutable_samplers && i < layout->binding_count; i++) {
      const struct place place = get_place(set, i);
      if (!place.binding.has_immutable_samplers)
         continue;

      for (uint32_t j = 0; j < layout->binding[i].array_size; j++) {
         uint32_t offset = layout->binding[i].offset + j * layout->binding[i].size;
         if (offset < set->size)
            gpuval_set_shadow_init_sampler(objects, place.shadow, &place.binding, j, NULL);
      }
   }
}

static void
warn_of_memory(void)
{
   gpuval_log_warning("out of memory: descriptors of some sets are not checked");
}

static void
add_shadow(struct radv_device *device, struct radv_descriptor_pool *pool,
           struct radv_descriptor_set_header *set, uint32_t variable_count)
{
   uint64_t size = shadow_size(set) + sizeof(struct gpuval_radv_set_header);
   uint64_t address;
   struct chunk *chunk = pool_alloc(device, pool, MAX2(size, 2 * ENTRY_SIZE), &address);
   if (!chunk) {
      static once_flag warned = ONCE_FLAG_INIT;
      call_once(&warned, warn_of_memory);
      gpuval_marks_give_up(device->gpuval->device);
      return;
   }

   uint8_t *map = chunk->map + (address - chunk->address);
   struct gpuval_radv_set_header *header = (void *)(chunk->host + (address - chunk->address));
   memset(header, 0, size);
   *header = (struct gpuval_radv_set_header){
      .variable_count = variable_count,
      .size = set->size,
      .seen = (uintptr_t)map + sizeof(*header),
   };
   memcpy(map, header, size);
   set->gpuval_shadow = (struct gpuval_descriptor *)(header + 1);
   set->gpuval_va = address + sizeof(struct gpuval_radv_set_header);
   init_samplers(gpuval_device_objects(device->gpuval->device), set);
}

static struct gpuval_objects *
objects_of(const struct radv_device *device)
{
   return gpuval_device_objects(device->gpuval->device);
}

/* Sets and their descriptors */

void
gpuval_radv_add_sets(struct radv_device *device, const VkDescriptorSetAllocateInfo *info,
                     const VkDescriptorSet *sets)
{
   VK_FROM_HANDLE(radv_descriptor_pool, pool, info->descriptorPool);
   const VkDescriptorSetVariableDescriptorCountAllocateInfo *counts =
      vk_find_struct_const(info->pNext, DESCRIPTOR_SET_VARIABLE_DESCRIPTOR_COUNT_ALLOCATE_INFO);

   if (!objects_of(device))
      return;
   for (uint32_t i = 0; i < info->descriptorSetCount; i++) {
      VK_FROM_HANDLE(radv_descriptor_set, set, sets[i]);
      bool has_count = counts && i < counts->descriptorSetCount;
      add_shadow(device, pool, &set->header, has_count ? counts->pDescriptorCounts[i] : 0);
   }
}

void
gpuval_radv_remove_sets(struct radv_descriptor_pool *pool, uint32_t count,
                        const VkDescriptorSet *sets)
{
   for (uint32_t i = 0; i < count && !pool->host_memory_base; i++) {
      VK_FROM_HANDLE(radv_descriptor_set, set, sets[i]);
      if (!set || !set->header.gpuval_shadow)
         continue;

      uint64_t size = shadow_size(&set->header) + sizeof(struct gpuval_radv_set_header);
      uint64_t address = set->header.gpuval_va - sizeof(struct gpuval_radv_set_header);
      struct chunk *chunk = find_chunk(pool->gpuval, address);
      util_vma_heap_free(&chunk->heap, address, MAX2(size, 2 * ENTRY_SIZE));
   }
}

void
gpuval_radv_reset_pool(struct radv_descriptor_pool *pool)
{
   if (!pool->gpuval)
      return;
   list_for_each_entry (struct chunk, chunk, &pool->gpuval->chunks, link) {
      util_vma_heap_finish(&chunk->heap);
      init_heap(chunk);
   }
}

void
gpuval_radv_remove_pool(struct radv_device *device, struct radv_descriptor_pool *pool)
{
   if (!pool->gpuval)
      return;
   list_for_each_entry_safe (struct chunk, chunk, &pool->gpuval->chunks, link)
      destroy_chunk(device, chunk);
   free(pool->gpuval);
   pool->gpuval = NULL;
}

static void
write_set(struct gpuval_objects *objects, const struct radv_descriptor_set_header *set,
          const VkWriteDescriptorSet *write)
{
   const struct place place = get_place(set, write->dstBinding);

   if (place.shadow.slots)
      gpuval_set_shadow_write_set(objects, place.shadow, &place.binding, write);
}

static void
copy_set(const VkCopyDescriptorSet *copy)
{
   VK_FROM_HANDLE(radv_descriptor_set, from, copy->srcSet);
   VK_FROM_HANDLE(radv_descriptor_set, to, copy->dstSet);
   const struct place from_place = get_place(&from->header, copy->srcBinding);
   const struct place to_place = get_place(&to->header, copy->dstBinding);
   VkDescriptorType type = from->header.layout->binding[copy->srcBinding].type;

   if (from_place.shadow.slots && to_place.shadow.slots &&
       type != VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK)
      gpuval_set_shadow_copy(to_place.shadow, &to_place.binding, from_place.shadow,
                             &from_place.binding, copy);
}

void
gpuval_radv_update_sets(struct radv_device *device, uint32_t write_count,
                        const VkWriteDescriptorSet *writes, uint32_t copy_count,
                        const VkCopyDescriptorSet *copies)
{
   if (!objects_of(device))
      return;
   for (uint32_t i = 0; i < write_count; i++) {
      VK_FROM_HANDLE(radv_descriptor_set, set, writes[i].dstSet);
      write_set(objects_of(device), &set->header, &writes[i]);
   }
   for (uint32_t i = 0; i < copy_count; i++)
      copy_set(&copies[i]);
}

static void
write_with_template(struct gpuval_objects *objects, const struct radv_descriptor_set_header *set,
                    VkDescriptorUpdateTemplate handle, const void *data)
{
   VK_FROM_HANDLE(radv_descriptor_update_template, template, handle);
   const struct gpuval_set_shadow shadow = get_shadow(set);

   for (uint32_t i = 0; shadow.slots && i < template->entry_count; i++) {
      const struct radv_descriptor_update_template_entry *entry = &template->entry[i];
      struct gpuval_set_shadow_binding binding = {
         .first_slot = entry->dst_offset * sizeof(uint32_t) / ENTRY_SIZE,
         .stride = entry->dst_stride * sizeof(uint32_t) / ENTRY_SIZE,
         .has_immutable_samplers = !entry->has_sampler,
      };

      if (vk_descriptor_type_is_dynamic(entry->descriptor_type)) {
         binding.first_slot = align(set->size, ENTRY_SIZE) / ENTRY_SIZE + entry->dst_offset;
         binding.stride = 1;
      }
      if (entry->descriptor_type != VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK)
         gpuval_set_shadow_write(objects, shadow, &binding, entry->descriptor_type, 0,
                                 entry->descriptor_count, (const uint8_t *)data + entry->src_offset,
                                 entry->src_stride);
   }
}

void
gpuval_radv_update_set_with_template(struct radv_device *device, VkDescriptorSet handle,
                                     VkDescriptorUpdateTemplate template, const void *data)
{
   VK_FROM_HANDLE(radv_descriptor_set, set, handle);

   if (objects_of(device))
      write_with_template(objects_of(device), &set->header, template, data);
}

/* What is bound to a command buffer */

/* The shadow of the descriptors that have been pushed, as it will be uploaded */
struct pushed {
   blake3_hash layout;
   struct gpuval_radv_set_header *header;
   uint64_t size; /* bytes, with it */
};

struct gpuval_radv_bound {
   struct pushed pushed[MAX_BIND_POINTS];
   struct gpuval_descriptor dynamic[MAX_BIND_POINTS][MAX_DYNAMIC_BUFFERS];
   uint64_t dynamic_address[MAX_BIND_POINTS];
};

static struct gpuval_radv_bound *
get_bound(struct radv_cmd_buffer *cmd_buffer)
{
   void *mem_ctx;
   struct gpuval_radv_bound **bound = gpuval_radv_bound(cmd_buffer, &mem_ctx);

   if (!*bound)
      *bound = rzalloc(mem_ctx, struct gpuval_radv_bound);
   return *bound;
}

static uint64_t
upload(struct radv_cmd_buffer *cmd_buffer, const void *data, uint64_t size)
{
   unsigned offset;

   if (!radv_cmd_buffer_upload_data(cmd_buffer, size, data, &offset))
      return 0;
   return radv_buffer_get_va(cmd_buffer->upload.upload_bo) + offset;
}

/* What has been pushed remains for compatible layouts only. */
static void
begin_push(struct radv_cmd_buffer *cmd_buffer, struct pushed *pushed)
{
   struct radv_device *device = radv_cmd_buffer_device(cmd_buffer);
   struct radv_descriptor_set_header *set =
      &cmd_buffer->descriptors[pushed - get_bound(cmd_buffer)->pushed].push_set.set;
   uint64_t size = shadow_size(set) + sizeof(*pushed->header);

   if (!pushed->header || memcmp(pushed->layout, set->layout->hash, sizeof(pushed->layout))) {
      ralloc_free(pushed->header);
      pushed->header = rzalloc_size(get_bound(cmd_buffer), MAX2(size, 2 * ENTRY_SIZE));
      pushed->header->size = set->size;
      pushed->size = MAX2(size, 2 * ENTRY_SIZE);
      memcpy(pushed->layout, set->layout->hash, sizeof(pushed->layout));
      set->gpuval_shadow = (struct gpuval_descriptor *)(pushed->header + 1);
      init_samplers(objects_of(device), set);
   }
   set->gpuval_shadow = (struct gpuval_descriptor *)(pushed->header + 1);
}

static void
end_push(struct radv_cmd_buffer *cmd_buffer, const struct pushed *pushed)
{
   struct radv_descriptor_set_header *set =
      &cmd_buffer->descriptors[pushed - get_bound(cmd_buffer)->pushed].push_set.set;
   uint64_t address = upload(cmd_buffer, pushed->header, pushed->size);

   set->gpuval_va = address ? address + sizeof(*pushed->header) : 0;
}

static uint32_t
bind_points(VkShaderStageFlags stages)
{
   return (stages & RADV_GRAPHICS_STAGE_BITS ? BITFIELD_BIT(VK_PIPELINE_BIND_POINT_GRAPHICS) : 0) |
          (stages & VK_SHADER_STAGE_COMPUTE_BIT ? BITFIELD_BIT(VK_PIPELINE_BIND_POINT_COMPUTE)
                                                : 0) |
          (stages & RADV_RT_STAGE_BITS
              ? BITFIELD_BIT(vk_to_bind_point(VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR))
              : 0);
}

void
gpuval_radv_push_set(struct radv_cmd_buffer *cmd_buffer, const VkPushDescriptorSetInfoKHR *info)
{
   struct gpuval_objects *objects = objects_of(radv_cmd_buffer_device(cmd_buffer));
   if (!objects)
      return;

   struct gpuval_radv_bound *bound = get_bound(cmd_buffer);
   u_foreach_bit (i, bind_points(info->stageFlags)) {
      begin_push(cmd_buffer, &bound->pushed[i]);
      for (uint32_t j = 0; j < info->descriptorWriteCount; j++)
         write_set(objects, &cmd_buffer->descriptors[i].push_set.set, &info->pDescriptorWrites[j]);
      end_push(cmd_buffer, &bound->pushed[i]);
   }
}

void
gpuval_radv_push_set_with_template(struct radv_cmd_buffer *cmd_buffer,
                                   const VkPushDescriptorSetWithTemplateInfoKHR *info)
{
   VK_FROM_HANDLE(radv_descriptor_update_template, template, info->descriptorUpdateTemplate);
   struct gpuval_objects *objects = objects_of(radv_cmd_buffer_device(cmd_buffer));
   if (!objects)
      return;

   unsigned i = vk_to_bind_point(template->bind_point);
   struct pushed *pushed = &get_bound(cmd_buffer)->pushed[i];

   begin_push(cmd_buffer, pushed);
   write_with_template(objects, &cmd_buffer->descriptors[i].push_set.set,
                       info->descriptorUpdateTemplate, info->pData);
   end_push(cmd_buffer, pushed);
}

/* What suits every access */
static struct gpuval_descriptor
get_unknown(const struct gpuval_radv *gpuval)
{
   const uint32_t id = gpuval_objects_unknown(gpuval_device_objects(gpuval->device));

   return (struct gpuval_descriptor){
      .object = id,
      .offers = UINT32_MAX,
      .sampler = id,
      .format = UINT32_MAX,
   };
}

struct moved {
   uint64_t begin; /* address of the range */
   uint64_t left;  /* out: bytes from there to the end of its buffer */
};

static void
find_end(void *data, const struct vk_object_base *base)
{
   const struct radv_buffer *buffer = container_of(base, struct radv_buffer, vk.base);
   struct moved *moved = data;
   if (!buffer->bo)
      return;

   const uint64_t end = gpuval_radv_buffer_address(buffer) + buffer->vk.size;
   moved->left = moved->begin < end ? end - moved->begin : 0;
}

/* Ends a range that its dynamic offset has moved where its buffer ends: in the hardware's
 * descriptor, and in @shadow.
 */
static void
trim_range(struct radv_cmd_buffer *cmd_buffer, uint64_t begin, uint32_t *hardware,
           struct gpuval_descriptor *shadow)
{
   struct moved moved = {.begin = begin, .left = UINT64_MAX};

   gpuval_objects_visit(objects_of(radv_cmd_buffer_device(cmd_buffer)), shadow->object, find_end,
                        &moved);
   if (shadow->size <= moved.left)
      return;

   shadow->size = moved.left;
   hardware[3] &= ~((uint32_t)GPUVAL_RADV_ROUNDED_MASK << GPUVAL_RADV_ROUNDED_SHIFT);
   gpuval_radv_set_exact_size(hardware, moved.left);
}

/* As radv_bind_descriptor_sets(). Returns whether there was one. */
static bool
bind_dynamic(struct radv_cmd_buffer *cmd_buffer, struct gpuval_radv_bound *bound,
             unsigned bind_point, const VkBindDescriptorSetsInfoKHR *info)
{
   const struct gpuval_radv *gpuval = radv_cmd_buffer_device(cmd_buffer)->gpuval;
   uint32_t *hardware = cmd_buffer->descriptors[bind_point].dynamic_buffers;
   const uint32_t *offset = info->pDynamicOffsets;
   VK_FROM_HANDLE(radv_pipeline_layout, layout, info->layout);
   bool found = false;

   for (uint32_t i = 0; i < info->descriptorSetCount; i++) {
      VK_FROM_HANDLE(radv_descriptor_set, set, info->pDescriptorSets[i]);
      if (!set || !set->header.layout->dynamic_offset_count)
         continue;

      uint32_t count = set->header.layout->dynamic_offset_count;
      uint32_t first = layout->set[info->firstSet + i].dynamic_offset_start;
      const struct gpuval_descriptor *shadow = set->header.gpuval_shadow;
      if (shadow)
         shadow += align(set->header.size, ENTRY_SIZE) / ENTRY_SIZE;
      for (uint32_t j = 0; j < count; j++, offset++) {
         struct gpuval_descriptor *descriptor = &bound->dynamic[bind_point][first + j];
         const struct radv_descriptor_range *range = &set->header.dynamic_descriptors[j];

         *descriptor = shadow ? shadow[j] : get_unknown(gpuval);
         if (shadow && range->va && *offset)
            trim_range(cmd_buffer, range->va + *offset, &hardware[(first + j) * 4], descriptor);
      }
      found = true;
   }
   return found;
}

void
gpuval_radv_bind_sets(struct radv_cmd_buffer *cmd_buffer, const VkBindDescriptorSetsInfoKHR *info)
{
   struct radv_device *device = radv_cmd_buffer_device(cmd_buffer);
   if (!objects_of(device) || !info->dynamicOffsetCount)
      return;

   struct gpuval_radv_bound *bound = get_bound(cmd_buffer);
   u_foreach_bit (i, bind_points(info->stageFlags)) {
      if (bind_dynamic(cmd_buffer, bound, i, info))
         bound->dynamic_address[i] =
            upload(cmd_buffer, bound->dynamic[i], sizeof(bound->dynamic[i]));
   }
}

void
gpuval_radv_record_sets(struct gpuval_radv *gpuval, struct radv_cmd_buffer *cmd_buffer,
                        const struct radv_descriptor_state *descriptors,
                        struct gpuval_radv_command_data *data)
{
   unsigned bind_point;
   const struct radv_cmd_buffer *owner = gpuval_radv_owner(cmd_buffer, descriptors, &bind_point);

   const uint32_t unknown = gpuval->stand_in + GPUVAL_RADV_STAND_IN_BYTES;
   for (unsigned i = 0; i < MAX_SETS; i++) {
      bool is_bound = descriptors->valid & BITFIELD_BIT(i) && descriptors->sets[i];
      uint32_t shadow = is_bound ? descriptors->sets[i]->header.gpuval_va : 0;
      data->shadows[gpuval_radv_shadow(i)] = shadow ? shadow : unknown;
   }

   const struct gpuval_radv_bound *bound =
      *gpuval_radv_bound((struct radv_cmd_buffer *)owner, NULL);
   data->dynamic_shadow = unknown;
   if (bound && bound->dynamic_address[bind_point])
      data->dynamic_shadow =
         bound->dynamic_address[bind_point] - gpuval_radv_bound_dynamic_offset(owner, bind_point);
}

bool
gpuval_radv_find_descriptor(const struct radv_cmd_buffer *owner, unsigned bind_point,
                            const struct gpuval_nir_use *use,
                            const struct gpuval_descriptor **descriptor)
{
   const struct radv_descriptor_state *descriptors = &owner->descriptors[bind_point];

   if (use->first_slot & GPUVAL_RADV_DYNAMIC) {
      const struct gpuval_radv_bound *bound =
         *gpuval_radv_bound((struct radv_cmd_buffer *)owner, NULL);
      uint32_t index = ((use->first_slot & ~GPUVAL_RADV_DYNAMIC) -
                        gpuval_radv_bound_dynamic_offset(owner, bind_point)) /
                       ENTRY_SIZE;
      if (!bound || !bound->dynamic_address[bind_point] || index >= MAX_DYNAMIC_BUFFERS)
         return false;
      *descriptor = &bound->dynamic[bind_point][index];
      return true;
   }

   const struct radv_descriptor_set *set =
      descriptors->valid & BITFIELD_BIT(use->set) ? descriptors->sets[use->set] : NULL;
   if (!set || !set->header.gpuval_shadow)
      return false;

   const struct gpuval_radv_set_header *header = (const void *)set->header.gpuval_shadow;
   bool is_outside = use->flags & GPUVAL_USE_VARIABLE ? use->num_slots >= header[-1].variable_count
                                                      : use->num_slots == 0;
   *descriptor = is_outside ? NULL : &set->header.gpuval_shadow[use->first_slot / ENTRY_SIZE];
   /* A set of another layout may be bound that the shader does not use after all. */
   return is_outside || use->first_slot < set->header.size;
}

static_assert(GPUVAL_RADV_MAX_SETS == MAX_SETS, "RADV's");

/* Zero is a null descriptor for the hardware, whatever its type, but for acceleration
 * structures (gpuval_radv_structures.c). Behind that are shadows as null descriptors have them,
 * which are good for everything.
 */
static void
init_stand_ins(struct gpuval_radv *gpuval)
{
   const struct gpuval_descriptor unknown = get_unknown(gpuval);
   struct radv_device *device = gpuval->radv;
   char *map = NULL;

   if (radv_bo_create(device, NULL, 2 * GPUVAL_RADV_STAND_IN_BYTES, 4096, RADEON_DOMAIN_VRAM,
                      RADEON_FLAG_NO_INTERPROCESS_SHARING | RADEON_FLAG_READ_ONLY |
                         RADEON_FLAG_32BIT | RADEON_FLAG_ZERO_VRAM,
                      RADV_BO_PRIORITY_DESCRIPTOR, 0, true, &gpuval->stand_in_bo) == VK_SUCCESS)
      map = radv_buffer_map(device->ws, gpuval->stand_in_bo);
   if (!map ||
       device->ws->buffer_make_resident(device->ws, gpuval->stand_in_bo, true) != VK_SUCCESS) {
      gpuval->broken_checks = UINT32_MAX; /* shaders would look at nothing */
      gpuval_log_warning("no memory for descriptors that stand in for others: nothing is checked");
      return;
   }
   for (unsigned i = 0; i < GPUVAL_RADV_STAND_IN_BYTES; i += sizeof(unknown))
      memcpy(map + GPUVAL_RADV_STAND_IN_BYTES + i, &unknown, sizeof(unknown));
   gpuval->stand_in = radv_buffer_get_va(gpuval->stand_in_bo);
}

void
gpuval_radv_finish_sets(struct gpuval_radv *gpuval)
{
   struct radeon_winsys *ws = gpuval->radv->ws;

   if (gpuval->stand_in)
      ws->buffer_make_resident(ws, gpuval->stand_in_bo, false);
   if (gpuval->stand_in_bo)
      radv_bo_destroy(gpuval->radv, NULL, gpuval->stand_in_bo);
}

void
gpuval_radv_init_sets(struct gpuval_radv *gpuval)
{
   if (gpuval_device_objects(gpuval->device))
      init_stand_ins(gpuval);
}

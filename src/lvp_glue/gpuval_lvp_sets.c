/* SPDX-License-Identifier: MIT */

#include "gpuval_lvp_sets.h"
#include "gpuval_lvp_private.h"
#include "gpuval_lvp_written.h"

#include "gpuval/src/compat/gpuval_lvp_texture.h"
#include "gpuval/src/core/descriptors/gpuval_objects.h"
#include "gpuval/src/core/descriptors/gpuval_use.h"
#include "gpuval/src/core/memory/gpuval_written.h"
#include "gpuval/src/nir_passes/gpuval_nir.h"
#include "util/hash_table.h"
#include "util/u_atomic.h"
#include "vk_descriptor_update_template.h"

uint32_t
gpuval_lvp_stand_in_slot(const struct lvp_descriptor_set_layout *layout)
{
   uint64_t size = (uint64_t)layout->size * sizeof(struct lp_descriptor);

   for (unsigned i = 0; i < layout->binding_count; i++)
      size += layout->binding[i].uniform_block_size;
   return DIV_ROUND_UP(size, sizeof(struct lp_descriptor));
}

uint32_t
gpuval_lvp_variable_binding(const VkDescriptorSetLayoutCreateInfo *info)
{
   const VkDescriptorSetLayoutBindingFlagsCreateInfo *flags =
      vk_find_struct_const(info->pNext, DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO);

   for (uint32_t i = 0; flags && i < flags->bindingCount; i++) {
      if (flags->pBindingFlags[i] & VK_DESCRIPTOR_BINDING_VARIABLE_DESCRIPTOR_COUNT_BIT)
         return info->pBindings[i].binding;
   }
   return UINT32_MAX;
}

static struct gpuval_set_shadow
get_shadow(const struct lvp_descriptor_set *set)
{
   return (struct gpuval_set_shadow){
      .slots = (void *)((uint8_t *)set->map + gpuval_lvp_shadow_offset(set->layout)),
      .step = 1,
   };
}

static struct gpuval_lvp_set_header *
get_header(const struct lvp_descriptor_set *set)
{
   return (void *)((uint8_t *)set->map + gpuval_lvp_header_offset(set->layout));
}

/* Called after descriptors of the set have been written: what is remembered of the set's last
 * update (is_array_written()) does not count any more.
 */
static void
note_update(const struct lvp_descriptor_set *set)
{
   static uint32_t last;

   p_atomic_set(&get_header(set)->update, p_atomic_inc_return(&last));
}

static struct gpuval_set_shadow_binding
get_binding(const struct lvp_descriptor_set *set, uint32_t binding)
{
   const struct lvp_descriptor_set_binding_layout *layout = &set->layout->binding[binding];

   return (struct gpuval_set_shadow_binding){
      .first_slot = layout->descriptor_index,
      .stride = layout->stride,
      .has_immutable_samplers = layout->immutable_samplers != NULL,
   };
}

uint64_t
gpuval_lvp_set_size(struct gpuval_lvp *gpuval, const struct lvp_descriptor_set_layout *layout,
                    uint64_t size)
{
   if (!gpuval_lvp_objects(gpuval))
      return size;
   return gpuval_lvp_shadow_offset(layout) +
          (uint64_t)layout->size * sizeof(struct gpuval_descriptor);
}

/* All that is ours but what has been copied from another set of this layout */
static void
init_stand_ins(struct lvp_device *device, struct lvp_descriptor_set *set)
{
   struct lp_descriptor *descriptor =
      (struct lp_descriptor *)set->map + gpuval_lvp_stand_in_slot(set->layout);

   /* Null textures and images share their functions, and a uniform buffer needs an
    * address even if nothing is read there.
    */
   lp_jit_buffer_from_pipe_const(&descriptor->buffer, &(struct pipe_constant_buffer){0},
                                 device->pscreen);
   descriptor->functions = device->null_texture_handle->functions;
}

void
gpuval_lvp_init_set(struct gpuval_lvp *gpuval, struct lvp_device *device,
                    struct lvp_descriptor_set *set)
{
   struct gpuval_objects *objects = gpuval_lvp_objects(gpuval);
   const struct lvp_descriptor_set_layout *layout = set->layout;
   if (!objects)
      return;

   init_stand_ins(device, set);
   for (uint32_t i = 0; i < layout->binding_count; i++) {
      const struct gpuval_set_shadow_binding binding = get_binding(set, i);
      if (!layout->binding[i].valid || !binding.has_immutable_samplers)
         continue;

      for (uint32_t j = 0; j < layout->binding[i].array_size; j++)
         gpuval_set_shadow_init_sampler(objects, get_shadow(set), &binding, j,
                                        &layout->binding[i].immutable_samplers[j]->vk.base);
   }
   note_update(set);
}

void
gpuval_lvp_count_descriptors(struct gpuval_lvp *gpuval, struct lvp_descriptor_set *set,
                             const VkDescriptorSetAllocateInfo *info, uint32_t index)
{
   const VkDescriptorSetVariableDescriptorCountAllocateInfo *counts =
      vk_find_struct_const(info->pNext, DESCRIPTOR_SET_VARIABLE_DESCRIPTOR_COUNT_ALLOCATE_INFO);
   if (gpuval_lvp_objects(gpuval))
      get_header(set)->variable_count =
         counts && index < counts->descriptorSetCount ? counts->pDescriptorCounts[index] : 0;
}

/* What is pushed remains for compatible layouts only. All others had their shadow
 * somewhere else.
 */
void
gpuval_lvp_inherit_set(struct gpuval_lvp *gpuval, struct lvp_device *device,
                       struct lvp_descriptor_set *set, const struct lvp_descriptor_set *base)
{
   if (!gpuval_lvp_objects(gpuval) || set->layout == base->layout ||
       (set->bo->width0 == base->bo->width0 && set->layout->size == base->layout->size))
      return;

   uint32_t offset = gpuval_lvp_stand_in_slot(set->layout) * sizeof(struct lp_descriptor);
   memset((uint8_t *)set->map + offset, 0, set->bo->width0 - offset);
   gpuval_lvp_init_set(gpuval, device, set);
}

/* lavapipe leaves the last view in what becomes a null descriptor, but for its functions. */
static void
forget_views(const struct lvp_descriptor_set *set, uint32_t binding, VkDescriptorType type,
             uint32_t element, uint32_t count, const void *data, size_t data_stride)
{
   const struct lvp_descriptor_set_binding_layout *layout = &set->layout->binding[binding];

   for (uint32_t i = 0; data && i < count; i++) {
      const void *info = (const uint8_t *)data + i * data_stride;
      if (!gpuval_descriptor_is_null_view(type, info))
         continue;

      struct lp_descriptor *descriptor = set->map;
      descriptor += layout->descriptor_index + (element + i) * layout->stride;
      for (uint32_t j = 0; j < layout->stride; j++)
         gpuval_lvp_forget_view(&descriptor[j]);
   }
}

void
gpuval_lvp_update_sets(struct gpuval_lvp *gpuval, uint32_t write_count,
                       const VkWriteDescriptorSet *writes, uint32_t copy_count,
                       const VkCopyDescriptorSet *copies)
{
   struct gpuval_objects *objects = gpuval_lvp_objects(gpuval);
   if (!objects)
      return;

   for (uint32_t i = 0; i < write_count; i++) {
      VK_FROM_HANDLE(lvp_descriptor_set, set, writes[i].dstSet);
      const struct gpuval_set_shadow_binding binding = get_binding(set, writes[i].dstBinding);
      gpuval_set_shadow_write_set(objects, get_shadow(set), &binding, &writes[i]);
      forget_views(set, writes[i].dstBinding, writes[i].descriptorType, writes[i].dstArrayElement,
                   writes[i].descriptorCount, gpuval_descriptor_infos(&writes[i]),
                   gpuval_descriptor_info_size(writes[i].descriptorType));
      note_update(set);
   }

   for (uint32_t i = 0; i < copy_count; i++) {
      VK_FROM_HANDLE(lvp_descriptor_set, from, copies[i].srcSet);
      VK_FROM_HANDLE(lvp_descriptor_set, to, copies[i].dstSet);
      const struct gpuval_set_shadow_binding from_binding = get_binding(from, copies[i].srcBinding);
      const struct gpuval_set_shadow_binding to_binding = get_binding(to, copies[i].dstBinding);

      if (from->layout->binding[copies[i].srcBinding].type !=
          VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK)
         gpuval_set_shadow_copy(get_shadow(to), &to_binding, get_shadow(from), &from_binding,
                                &copies[i]);
      note_update(to);
   }
}

void
gpuval_lvp_update_set_with_template(struct gpuval_lvp *gpuval, struct lvp_descriptor_set *set,
                                    const struct vk_descriptor_update_template *update_template,
                                    const void *data)
{
   struct gpuval_objects *objects = gpuval_lvp_objects(gpuval);
   if (!objects)
      return;

   for (uint32_t i = 0; i < update_template->entry_count; i++) {
      const struct vk_descriptor_template_entry *entry = &update_template->entries[i];
      const struct gpuval_set_shadow_binding binding = get_binding(set, entry->binding);

      const void *infos = (const uint8_t *)data + entry->offset;

      gpuval_set_shadow_write(objects, get_shadow(set), &binding, entry->type, entry->array_element,
                              entry->array_count, infos, entry->stride);
      forget_views(set, entry->binding, entry->type, entry->array_element, entry->array_count,
                   infos, entry->stride);
   }
   note_update(set);
}

void
gpuval_lvp_note_sets(const struct vk_cmd_queue_entry *command, uint32_t *buffers, uint32_t *moved)
{
   VkShaderStageFlags stages;
   uint32_t sets, moves = 0;
   bool are_buffers = command->type != VK_CMD_BIND_DESCRIPTOR_SETS2;

   switch ((unsigned)command->type) {
   case VK_CMD_BIND_DESCRIPTOR_SETS2: {
      const VkBindDescriptorSetsInfoKHR *info =
         command->u.bind_descriptor_sets2.bind_descriptor_sets_info;
      stages = info->stageFlags;
      sets = BITFIELD_RANGE(info->firstSet, info->descriptorSetCount);
      moves = info->dynamicOffsetCount ? sets : 0;
      break;
   }
   case VK_CMD_SET_DESCRIPTOR_BUFFER_OFFSETS2_EXT: {
      const VkSetDescriptorBufferOffsetsInfoEXT *info =
         command->u.set_descriptor_buffer_offsets2_ext.set_descriptor_buffer_offsets_info;
      stages = info->stageFlags;
      sets = BITFIELD_RANGE(info->firstSet, info->setCount);
      break;
   }
   case VK_CMD_BIND_DESCRIPTOR_BUFFER_EMBEDDED_SAMPLERS2_EXT: {
      const VkBindDescriptorBufferEmbeddedSamplersInfoEXT *info =
         command->u.bind_descriptor_buffer_embedded_samplers2_ext
            .bind_descriptor_buffer_embedded_samplers_info;
      stages = info->stageFlags;
      sets = BITFIELD_BIT(info->set);
      break;
   }
   default:
      return;
   }

   u_foreach_bit (type, lvp_pipeline_types_from_shader_stages(stages)) {
      if (are_buffers)
         buffers[type] |= sets;
      else
         buffers[type] &= ~sets;
      moved[type] = (moved[type] & ~sets) | moves;
   }
}

static void
trim_range(void *data, const struct vk_object_base *base)
{
   struct lp_descriptor *descriptor = data;
   const struct lvp_buffer *buffer = container_of(base, struct lvp_buffer, vk.base);
   const uint64_t end = (uintptr_t)buffer->map + buffer->vk.size;
   const uint64_t begin = (uintptr_t)descriptor->buffer.u;
   const uint64_t left = begin < end ? end - begin : 0;
   if (!buffer->map || descriptor->buffer.size <= left)
      return;

   /* Elements are bytes of storage buffers, words of uniform ones. */
   bool has_words = descriptor->buffer.num_elements < descriptor->buffer.size;
   descriptor->buffer.num_elements = has_words ? DIV_ROUND_UP(left, sizeof(uint32_t)) : left;
   descriptor->buffer.size = left;
   descriptor->functions = left ? NULL : (void *)(uintptr_t)GPUVAL_LVP_PAST_END;
}

void
gpuval_lvp_trim_sets(struct gpuval_objects *objects, struct lvp_descriptor_set *const *sets,
                     uint32_t moved)
{
   u_foreach_bit (i, moved) {
      const struct lvp_descriptor_set *set = sets[i];

      for (uint32_t j = 0;
           set && set->layout->dynamic_offset_count && j < set->layout->binding_count; j++) {
         const struct lvp_descriptor_set_binding_layout *layout = &set->layout->binding[j];
         if (!vk_descriptor_type_is_dynamic(layout->type))
            continue;

         struct lp_descriptor *descriptors = set->map;
         for (uint32_t k = 0; k < layout->array_size; k++) {
            const uint32_t slot = layout->descriptor_index + k;
            gpuval_objects_visit(objects, get_shadow(set).slots[slot].object, trim_range,
                                 &descriptors[slot]);
         }
      }
   }
}

const struct gpuval_descriptor *
gpuval_lvp_find_descriptor(const struct gpuval_nir_use *use, const struct lvp_descriptor_set *set)
{
   const struct gpuval_descriptor *shadow = get_shadow(set).slots;
   const struct gpuval_lvp_set_header *header = (const void *)shadow;
   bool is_outside = use->flags & GPUVAL_USE_VARIABLE ? use->num_slots >= header[-1].variable_count
                                                      : use->num_slots == 0;

   return is_outside ? NULL : &shadow[use->first_slot];
}

/* A set of another layout may be bound that the shader does not use after all. */
static bool
is_bad(struct gpuval_objects *objects, const struct gpuval_nir_use *use,
       const struct lvp_descriptor_set *set, bool *harmful)
{
   *harmful = false;
   if (!set || use->first_slot >= set->layout->size)
      return false;
   return gpuval_use_is_bad(objects, use, gpuval_lvp_find_descriptor(use, set), harmful);
}

/* Going through more descriptors after each change would take longer than the shaders' own looks. */
#define MAX_UNWRITTEN_LOOKS 4096

struct unwritten_look {
   struct gpuval_lvp_written *written;
   struct gpuval_objects *objects;
   const struct lvp_descriptor_set *set;
   uint32_t required, first_slot;
};

/* Is all written that the descriptor at that slot leads to? What is destroyed has no memory to look
 * at; a descriptor may lead there as long as nobody uses it.
 */
static bool
is_written(void *data, uint32_t index)
{
   const struct unwritten_look *look = data;
   const uint32_t slot = look->first_slot + index;
   const struct gpuval_descriptor *descriptor = &get_shadow(look->set).slots[slot];
   if (!(look->required & descriptor->offers) ||
       !gpuval_objects_is_alive(look->objects, descriptor->object))
      return true;

   const struct lp_descriptor *slots = look->set->map;
   return !gpuval_lvp_written_look(
      look->written, &slots[slot], look->required,
      (descriptor->offers & GPUVAL_OFFERS_DIMENSIONS) == GPUVAL_OFFERS_3D);
}

/* Meanwhile other threads may update descriptors that no command uses. What such a descriptor says
 * is only used to read bytes of gpuval_init.h, which are there for any address of the window, and
 * its update gives the set another number.
 */
static bool
is_array_written(struct unwritten_look *look, const struct gpuval_nir_use *use)
{
   const struct lvp_descriptor_set *set = look->set;
   const struct gpuval_lvp_set_header *header = get_header(set);
   uint64_t count = use->num_slots;
   if (use->flags & GPUVAL_USE_VARIABLE)
      count *= header->variable_count;
   count = MIN2(count, set->layout->size - use->first_slot);
   if (count > MAX_UNWRITTEN_LOOKS)
      return false;

   const uint32_t key[3] = {p_atomic_read(&header->update), count, use->required};
   return gpuval_lvp_written_look_list(
      look->written, &(struct gpuval_written_list){
                        .address = (uintptr_t)&get_shadow(set).slots[use->first_slot],
                        .key = (uint64_t)_mesa_hash_data(key, sizeof(key)) << 32 | key[0],
                        .count = count,
                        .is_marked = is_written,
                        .data = look,
                     });
}

/* Has the access to mark what it writes, or to look at what it reads? */
static bool
is_unwritten(struct gpuval_lvp_written *written, struct gpuval_objects *objects,
             const struct gpuval_nir_use *use, const struct lvp_descriptor_set *set)
{
   if (!written || !set || use->first_slot >= set->layout->size)
      return written && !set;

   struct unwritten_look look = {written, objects, set, use->required, use->first_slot};
   if (!(use->flags & GPUVAL_USE_CONSTANT))
      return !is_array_written(&look, use);
   return gpuval_lvp_find_descriptor(use, set) && !is_written(&look, 0);
}

static struct gpuval_lvp_use_words
find_uses(struct gpuval_lvp_written *written, struct gpuval_objects *objects,
          const struct gpuval_shader *shader, const struct lvp_descriptor_set *const *known)
{
   uint32_t num_uses, bad_bit = 1, unwritten_bit = 1;
   const struct gpuval_nir_use *uses = gpuval_shader_uses(shader, &num_uses);
   struct gpuval_lvp_use_words found = {0};

   for (uint32_t i = 0; i < num_uses; i++) {
      const struct gpuval_nir_use *use = &uses[i];

      if (use->flags & GPUVAL_USE_RACE) {
         continue;
      } else if (use->flags & GPUVAL_USE_WRITTEN) {
         if (is_unwritten(written, objects, use, known[use->set]))
            found.unwritten |= unwritten_bit;
         unwritten_bit <<= 1;
      } else {
         bool harmful;
         if (is_bad(objects, use, known[use->set], &harmful))
            found.bad |= bad_bit;
         if (harmful)
            found.harmful |= bad_bit;
         bad_bit <<= 1;
      }
   }
   return found;
}

/* Those that have shadows */
static void
find_known(struct lvp_descriptor_set *const *sets, uint32_t buffers,
           const struct lvp_descriptor_set **known)
{
   for (unsigned i = 0; i < GPUVAL_LVP_MAX_SETS; i++)
      known[i] = buffers & BITFIELD_BIT(i) ? NULL : sets[i];
}

void
gpuval_lvp_emit_sets(struct gpuval_lvp *gpuval, uint32_t stages, struct lvp_shader *const *shaders,
                     struct lvp_descriptor_set *const *sets, uint32_t buffers,
                     struct gpuval_lvp_command_data *data)
{
   const struct lvp_descriptor_set *known[GPUVAL_LVP_MAX_SETS];
   struct gpuval_objects *objects = gpuval_lvp_objects(gpuval);
   struct gpuval_lvp_written *written = gpuval_lvp_get_written(gpuval);

   data->objects_address = gpuval_objects_address(objects);
   find_known(sets, buffers, known);
   for (unsigned i = 0; i < GPUVAL_LVP_MAX_SETS; i++)
      data->shadows[i] = known[i] ? (uintptr_t)get_shadow(known[i]).slots : 0;

   u_foreach_bit (stage, stages & BITFIELD_MASK(ARRAY_SIZE(data->bad_uses))) {
      const struct gpuval_lvp_use_words uses =
         find_uses(written, objects, shaders[stage]->pipeline_nir->gpuval, known);

      data->bad_uses[stage] = uses.bad;
      data->harmful_uses[stage] = uses.harmful;
      data->unwritten_uses[stage] = uses.unwritten;
   }
}

void
gpuval_lvp_emit_ray_sets(struct gpuval_lvp *gpuval, const struct lvp_pipeline *pipeline,
                         struct lvp_descriptor_set *const *sets, uint32_t buffers,
                         struct gpuval_lvp_use_words *uses)
{
   const struct lvp_descriptor_set *known[GPUVAL_LVP_MAX_SETS];

   find_known(sets, buffers, known);
   for (uint32_t i = 0; i < pipeline->rt.stage_count; i++) {
      const struct gpuval_shader *shader = pipeline->rt.stages[i]->gpuval;
      if (shader)
         uses[gpuval_shader_entry_base(shader)] =
            find_uses(gpuval_lvp_get_written(gpuval), gpuval_lvp_objects(gpuval), shader, known);
   }
}

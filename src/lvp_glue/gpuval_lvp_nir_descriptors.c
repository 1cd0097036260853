/* SPDX-License-Identifier: MIT */

/* Descriptors of lavapipe, as the passes see them. Sets and shadows: gpuval_lvp_sets.h */

#include "gpuval_lvp_nir.h"

#include "gpuval/src/compat/gpuval_lvp_handle.h"

#include "gpuval/src/nir_passes/gpuval_nir.h"

static nir_def *
load_command_data(nir_builder *b, unsigned bit_size, nir_def *offset)
{
   return nir_load_ubo(b, 1, bit_size, nir_imm_int(b, 0),
                       nir_iadd_imm(b, offset, GPUVAL_LVP_COMMAND_DATA_OFFSET),
                       .align_mul = bit_size / 8, .range = ~0);
}

static void
find_binding(const struct gpuval_nir_driver *driver, uint32_t set, uint32_t binding,
             struct gpuval_nir_binding *out)
{
   const struct gpuval_lvp_nir_layout *layout = driver->data;
   struct gpuval_lvp_nir_binding found = layout->binding(layout, set, binding);

   *out = (struct gpuval_nir_binding){
      .first_slot = found.first_slot,
      .stride = found.stride,
      .count = found.count,
      .is_variable = found.is_variable,
      .is_unknown = found.inline_size != 0,
   };
}

static nir_def *
objects_address(const struct gpuval_nir_driver *driver, nir_builder *b)
{
   return load_command_data(
      b, 64, nir_imm_int(b, offsetof(struct gpuval_lvp_command_data, objects_address)));
}

static nir_def *
get_shadow(nir_builder *b, nir_def *set)
{
   return load_command_data(b, 64,
                            nir_iadd_imm(b, nir_imul_imm(b, set, sizeof(uint64_t)),
                                         offsetof(struct gpuval_lvp_command_data, shadows)));
}

static nir_def *
has_shadow(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *set)
{
   return nir_ine_imm(b, get_shadow(b, set), 0);
}

/* @offset is from the shadow's beginning; where there is none, something is loaded. */
static nir_def *
load_shadow(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *set, nir_def *offset,
            unsigned num_components)
{
   nir_def *shadow = get_shadow(b, set);
   nir_def *address = nir_bcsel(b, nir_ine_imm(b, shadow, 0), nir_iadd(b, shadow, offset),
                                objects_address(driver, b));

   return gpuval_load_global(b, address, 16, num_components, 32);
}

static nir_def *
load(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *set, nir_def *slot)
{
   nir_def *offset = nir_imul_imm(b, nir_u2u64(b, slot), sizeof(struct gpuval_descriptor));
   return load_shadow(driver, b, set, offset, 4);
}

static nir_def *
variable_count(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *set)
{
   const int64_t header = -(int64_t)sizeof(struct gpuval_lvp_set_header);
   return load_shadow(
      driver, b, set,
      nir_imm_int64(b, header + offsetof(struct gpuval_lvp_set_header, variable_count)), 1);
}

/* As a push constant: gallivm knows that those are the same in all lanes, and so is what is
 * computed from them.
 */
static nir_def *
load_word(nir_builder *b, unsigned offset)
{
   return nir_load_push_constant(b, 1, 32, nir_imm_int(b, offset), .range = offset + 4);
}

/* Of the shader's stage */
static nir_def *
load_stage(nir_builder *b, unsigned array_offset)
{
   return load_word(
      b, GPUVAL_LVP_COMMAND_DATA_OFFSET + array_offset + b->shader->info.stage * sizeof(uint32_t));
}

/* Of the shader's stage, or of a shader of rays: gpuval_lvp_nir_rebase_uses() */
static nir_def *
load_uses(nir_builder *b, unsigned array_offset, unsigned ray_offset)
{
   return mesa_shader_stage_is_rt(b->shader->info.stage)
             ? load_word(b, GPUVAL_LVP_CONSTANTS_SIZE + ray_offset)
             : load_stage(b, array_offset);
}

static nir_def *
bad_uses(const struct gpuval_nir_driver *driver, nir_builder *b)
{
   return load_uses(b, offsetof(struct gpuval_lvp_command_data, bad_uses),
                    offsetof(struct gpuval_lvp_use_words, bad));
}

static nir_def *
harmful_uses(const struct gpuval_nir_driver *driver, nir_builder *b)
{
   return load_uses(b, offsetof(struct gpuval_lvp_command_data, harmful_uses),
                    offsetof(struct gpuval_lvp_use_words, harmful));
}

static nir_def *
unwritten_uses(const struct gpuval_nir_driver *driver, nir_builder *b)
{
   return load_uses(b, offsetof(struct gpuval_lvp_command_data, unwritten_uses),
                    offsetof(struct gpuval_lvp_use_words, unwritten));
}

static bool
rebase_uses(nir_builder *b, nir_intrinsic_instr *intrin, void *data)
{
   if (intrin->intrinsic != nir_intrinsic_load_push_constant || !nir_src_is_const(intrin->src[0]) ||
       nir_src_as_uint(intrin->src[0]) < GPUVAL_LVP_CONSTANTS_SIZE)
      return false;

   unsigned offset = nir_src_as_uint(intrin->src[0]) + *(unsigned *)data;
   b->cursor = nir_before_instr(&intrin->instr);
   nir_src_rewrite(&intrin->src[0], nir_imm_int(b, offset));
   nir_intrinsic_set_range(intrin, offset + 4);
   return true;
}

void
gpuval_lvp_nir_rebase_uses(nir_shader *nir, uint32_t first_entry)
{
   unsigned bytes = first_entry * sizeof(struct gpuval_lvp_use_words);

   nir_shader_intrinsics_pass(nir, rebase_uses, nir_metadata_control_flow, &bytes);
}

static nir_def *
race_uses(const struct gpuval_nir_driver *driver, nir_builder *b)
{
   return load_stage(b, offsetof(struct gpuval_lvp_command_data, race_uses));
}

/* @slot, or @stand_in where that is bad */
static nir_def *
choose_slot(nir_builder *b, nir_def *bad, uint32_t stand_in, nir_def *slot)
{
   nir_instr *instr = nir_def_instr(bad);

   if (instr->type == nir_instr_type_intrinsic &&
       nir_instr_as_intrinsic(instr)->intrinsic == nir_intrinsic_has_bits_gpuval)
      return nir_pick_gpuval(b, nir_instr_as_intrinsic(instr)->src[0].ssa, slot,
                             .base = nir_intrinsic_base(nir_instr_as_intrinsic(instr)),
                             .flags = stand_in);
   return nir_bcsel(b, bad, nir_imm_int(b, stand_in), slot);
}

/* A resource index before it has been lowered: only its slot changes. */
static void
replace_slot(const struct gpuval_lvp_nir_layout *layout, nir_builder *b, nir_src *src, nir_def *bad,
             uint32_t stand_in)
{
   struct gpuval_lvp_stand_ins *known = layout->stand_ins;
   nir_def *channels[4];
   unsigned count = src->ssa->num_components;
   if (count < 2)
      return; /* an address */

   nir_scalar set = nir_scalar_chase_movs(nir_get_scalar(src->ssa, 0));
   nir_scalar slot = nir_scalar_chase_movs(nir_get_scalar(src->ssa, 1));
   for (unsigned i = 0; i < MIN2(known->count, ARRAY_SIZE(known->made)); i++) {
      if (nir_scalar_equal(known->made[i].set, set) &&
          nir_scalar_equal(known->made[i].slot, slot) && known->made[i].bad == bad &&
          known->made[i].index->num_components == count &&
          nir_def_instr(known->made[i].index)->block == nir_cursor_current_block(b->cursor)) {
         nir_src_rewrite(src, known->made[i].index);
         return;
      }
   }

   for (unsigned i = 0; i < count; i++)
      channels[i] = nir_channel(b, src->ssa, i);
   channels[1] = choose_slot(b, bad, stand_in, channels[1]);
   nir_def *index = nir_vec(b, channels, count);
   nir_src_rewrite(src, index);

   unsigned place = known->count++ % ARRAY_SIZE(known->made);
   known->made[place].set = set;
   known->made[place].slot = slot;
   known->made[place].bad = bad;
   known->made[place].index = index;
}

static void
replace_texture(nir_tex_instr *tex, nir_tex_src_type deref, nir_tex_src_type handle, nir_def *def)
{
   int index = nir_tex_instr_src_index(tex, deref);
   if (index < 0)
      return;

   tex->src[index].src_type = handle;
   nir_src_rewrite(&tex->src[index].src, def);
}

static void
replace(const struct gpuval_nir_driver *driver, nir_builder *b,
        const struct gpuval_nir_replacement *replacement)
{
   const struct gpuval_lvp_nir_layout *layout = driver->data;
   struct gpuval_lvp_nir_binding binding =
      layout->binding(layout, replacement->set, replacement->binding);
   nir_instr *instr = replacement->instr;

   if (instr->type == nir_instr_type_intrinsic) {
      nir_intrinsic_instr *intrin = nir_instr_as_intrinsic(instr);
      nir_src *index = gpuval_nir_resource_src(intrin);
      bool is_structure = intrin->intrinsic == nir_intrinsic_trace_ray ||
                          intrin->intrinsic == nir_intrinsic_rq_initialize;
      if (index) {
         replace_slot(layout, b, index, replacement->bad, binding.stand_in + is_structure);
         return;
      }
   }

   nir_def *handle = gpuval_lvp_get_handle(
      b, replacement->set, choose_slot(b, replacement->bad, binding.stand_in, replacement->slot));
   if (instr->type == nir_instr_type_intrinsic) {
      nir_rewrite_image_intrinsic(nir_instr_as_intrinsic(instr), handle, true);
   } else if (!binding.has_conversion) { /* nir_vk_lower_ycbcr_tex looks for the variable. */
      nir_tex_instr *tex = nir_instr_as_tex(instr);
      if (replacement->is_resource)
         replace_texture(tex, nir_tex_src_texture_deref, nir_tex_src_texture_handle, handle);
      if (replacement->is_sampler)
         replace_texture(tex, nir_tex_src_sampler_deref, nir_tex_src_sampler_handle, handle);
   }
}

const struct gpuval_nir_descriptors gpuval_lvp_nir_descriptors = {
   .object_index_bits = GPUVAL_OBJECT_INDEX_BITS,
   .max_uses = GPUVAL_LVP_MAX_USES,
   .binding = find_binding,
   .load = load,
   .has_shadow = has_shadow,
   .variable_count = variable_count,
   .objects_address = objects_address,
   .bad_uses = bad_uses,
   .tells_rays = true,
   .harmful_uses = harmful_uses,
   .unwritten_uses = unwritten_uses,
   .race_uses = race_uses,
   .replace = replace,
};

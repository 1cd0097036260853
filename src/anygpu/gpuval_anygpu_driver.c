/* SPDX-License-Identifier: MIT */

/* The driver, as the passes see it, and what makes plain loads, stores and atomics by address of
 * everything that is its own: resource indices, accesses to buffers, push constants.
 *
 * A resource index is (set, slot, offset); there is set 0 only. The descriptors of a command are
 * in its block (gpuval_anygpu.h).
 */

#include "gpuval_anygpu.h"

#include "base/gpuval_bloom.h"
#include "nir_passes/gpuval_nir_inline.h"

#include "compiler/nir/nir_builder.h"
#include "gpuval/src/compat/gpuval_nir_memory.h"

/* The command's block */

static nir_def *
load_push_word(nir_builder *b, unsigned word)
{
   return nir_load_push_constant_zink(b, 1, 32, nir_imm_int(b, 0), .component = word);
}

static nir_def *
command_address(nir_builder *b)
{
   return nir_pack_64_2x32_split(b, load_push_word(b, 0), load_push_word(b, 1));
}

static nir_def *
load_constant(nir_builder *b, unsigned components, unsigned bit_size, nir_def *address,
              unsigned align)
{
   return gpuval_load_global_constant(b, address, align, components, bit_size);
}

static nir_def *
load_command(nir_builder *b, unsigned bit_size, unsigned offset)
{
   return load_constant(b, 1, bit_size, nir_iadd_imm(b, command_address(b), offset), bit_size / 8);
}

#define COMMAND(field)                                                                             \
   load_command(b, sizeof(((struct gpuval_command_data *)0)->field) * 8,                           \
                offsetof(struct gpuval_command_data, field))

static nir_def *
root_address(const struct gpuval_nir_driver *driver, nir_builder *b)
{
   return COMMAND(root_address);
}

static nir_def *
command_id(const struct gpuval_nir_driver *driver, nir_builder *b)
{
   return COMMAND(command_id);
}

static nir_def *
epoch(const struct gpuval_nir_driver *driver, nir_builder *b)
{
   return COMMAND(epoch);
}

static nir_def *
sync_flags(const struct gpuval_nir_driver *driver, nir_builder *b)
{
   return COMMAND(sync_flags);
}

static nir_def *
epoch_command(const struct gpuval_nir_driver *driver, nir_builder *b)
{
   return COMMAND(epoch_command);
}

static nir_def *
command_data(const struct gpuval_nir_driver *driver, nir_builder *b, unsigned bit_size,
             unsigned offset)
{
   return load_command(b, bit_size, offset);
}

static nir_def *
entry_base(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *stage)
{
   return load_command(
      b, 32,
      offsetof(struct gpuval_command_data, entry_base) + MESA_SHADER_COMPUTE * sizeof(uint32_t));
}

/* Descriptors */

/* Of a slot; what is behind the last one is the one of nothing. */
static nir_def *
slot_address(nir_builder *b, nir_def *slot, unsigned array, unsigned stride)
{
   nir_def *offset = nir_imul_imm(b, nir_umin_imm(b, slot, GPUVAL_ANYGPU_MAX_SLOTS - 1), stride);
   return nir_iadd(b, command_address(b), nir_u2u64(b, nir_iadd_imm(b, offset, array)));
}

static nir_def *
load_descriptor(nir_builder *b, nir_def *slot)
{
   return load_constant(b, 4, 32,
                        slot_address(b, slot, offsetof(struct gpuval_anygpu_command, descriptors),
                                     sizeof(struct gpuval_anygpu_descriptor)),
                        16);
}

static nir_def *
buffer_size(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *set, nir_def *slot)
{
   return nir_channel(b, load_descriptor(b, slot), 2);
}

static nir_def *
buffer_address(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *set, nir_def *slot)
{
   return nir_pack_64_2x32(b, nir_trim_vector(b, load_descriptor(b, slot), 2));
}

static nir_def *
slot(const struct gpuval_nir_driver *driver, nir_builder *b, nir_intrinsic_instr *intrin)
{
   return nir_channel(b, gpuval_nir_index_src(intrin)->ssa, 1);
}

static nir_def *
set(const struct gpuval_nir_driver *driver, nir_builder *b, nir_intrinsic_instr *intrin)
{
   return nir_channel(b, gpuval_nir_index_src(intrin)->ssa, 0);
}

static bool
describe(const struct gpuval_nir_driver *driver, const nir_intrinsic_instr *intrin,
         struct gpuval_nir_buffer *buffer)
{
   nir_binding binding = nir_chase_binding(*gpuval_nir_index_src((nir_intrinsic_instr *)intrin));

   *buffer = (struct gpuval_nir_buffer){
      .set = binding.success ? binding.desc_set : -1,
      .binding = binding.success ? binding.binding : -1,
   };
   return true;
}

static bool
texels(const struct gpuval_nir_driver *driver, nir_builder *b, nir_instr *instr,
       nir_deref_instr *deref, struct gpuval_nir_texels *out)
{
   return false; /* no shader with texel buffers is accepted */
}

static void
find_binding(const struct gpuval_nir_driver *driver, uint32_t set, uint32_t binding,
             struct gpuval_nir_binding *out)
{
   const struct gpuval_anygpu_layout *layout = driver->data;
   const struct gpuval_anygpu_binding *found = &layout->bindings[binding];

   *out = (struct gpuval_nir_binding){
      .first_slot = found->first_slot,
      .stride = 1,
      .count = found->count,
   };
}

static nir_def *
load_shadow(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *set, nir_def *slot)
{
   return load_constant(b, 4, 32,
                        slot_address(b, slot, offsetof(struct gpuval_anygpu_command, shadows),
                                     sizeof(struct gpuval_descriptor)),
                        16);
}

static nir_def *
variable_count(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *set)
{
   return nir_imm_int(b, 0); /* no binding has one */
}

static nir_def *
objects_address(const struct gpuval_nir_driver *driver, nir_builder *b)
{
   return load_command(b, 64, offsetof(struct gpuval_anygpu_command, objects_address));
}

static void
replace(const struct gpuval_nir_driver *driver, nir_builder *b,
        const struct gpuval_nir_replacement *replacement)
{
   nir_intrinsic_instr *intrin = nir_instr_as_intrinsic(replacement->instr);
   nir_src *index = gpuval_nir_resource_src(intrin);
   nir_def *channels[4];

   for (unsigned i = 0; i < index->ssa->num_components; i++)
      channels[i] = nir_channel(b, index->ssa, i);
   channels[1] =
      nir_bcsel(b, replacement->bad, nir_imm_int(b, GPUVAL_ANYGPU_MAX_SLOTS - 1), channels[1]);
   nir_src_rewrite(index, nir_vec(b, channels, index->ssa->num_components));
}

static const struct gpuval_nir_descriptors descriptors = {
   .object_index_bits = GPUVAL_ANYGPU_OBJECT_BITS,
   .binding = find_binding,
   .load = load_shadow,
   .variable_count = variable_count,
   .objects_address = objects_address,
   .replace = replace,
};

static nir_def *
invocation(const struct gpuval_nir_driver *driver, nir_builder *b)
{
   return nir_load_global_invocation_id(b, 32);
}

static uint32_t
max_shared_size(const struct gpuval_nir_driver *driver, mesa_shader_stage stage)
{
   const struct gpuval_anygpu_layout *layout = driver->data;
   return layout->max_shared_size;
}

const struct gpuval_nir_driver gpuval_anygpu_nir_driver = {
   .describe = describe,
   .slot = slot,
   .set = set,
   .buffer_size = buffer_size,
   .buffer_address = buffer_address,
   .texels = texels,
   .descriptors = &descriptors,
   .has_marks = true,
   .has_table = true,
   .root_address = root_address,
   .command_id = command_id,
   .epoch = epoch,
   .sync_flags = sync_flags,
   .epoch_command = epoch_command,
   .command_data = command_data,
   .entry_base = entry_base,
   .max_shared_size = max_shared_size,
   .invocation = invocation,
};

/* Functions */

/* A number that no other invocation of the command has, times the step of lock sets */
static nir_def *
build_invocation_number(nir_builder *b)
{
   const uint16_t *size = b->shader->info.workgroup_size;
   nir_def *id = nir_load_workgroup_id(b), *count = nir_load_num_workgroups(b);
   nir_def *group = nir_iadd(b, nir_channel(b, id, 1),
                             nir_imul(b, nir_channel(b, id, 2), nir_channel(b, count, 1)));
   group = nir_iadd(b, nir_channel(b, id, 0), nir_imul(b, group, nir_channel(b, count, 0)));
   nir_def *number = nir_iadd(b, nir_imul_imm(b, group, size[0] * size[1] * size[2]),
                              nir_load_local_invocation_index(b));

   return nir_imul_imm(b, number, GPUVAL_BLOOM_INVOCATION_STEP);
}

static bool
lower_call(nir_builder *b, nir_intrinsic_instr *intrin, void *data)
{
   nir_def *result;

   b->cursor = nir_before_instr(&intrin->instr);
   switch (intrin->intrinsic) {
   case nir_intrinsic_call_gpuval:
      result = gpuval_nir_inline_call(b, data, intrin);
      break;
   case nir_intrinsic_invocation_gpuval:
      result = build_invocation_number(b);
      break;
   default:
      return false;
   }
   nir_def_replace(&intrin->def, result);
   return true;
}

bool
gpuval_anygpu_lower_calls(nir_shader *nir, const struct gpuval_nir_driver *driver)
{
   bool progress = nir_shader_intrinsics_pass(nir, lower_call, nir_metadata_none, (void *)driver);
   NIR_PASS(progress, nir, nir_lower_vars_to_ssa); /* those of functions */
   return progress;
}

/* Everything else */

/* Where an access of @bytes is performed: at its place in the buffer, or, where that is outside of
 * the range, where nothing is lost.
 */
static nir_def *
place(nir_builder *b, nir_def *index, nir_def *offset, unsigned bytes, bool is_load)
{
   nir_def *descriptor = load_descriptor(b, nir_channel(b, index, 1));
   nir_def *size = nir_channel(b, descriptor, 2);
   nir_def *address =
      nir_iadd(b, nir_pack_64_2x32(b, nir_trim_vector(b, descriptor, 2)), nir_u2u64(b, offset));
   nir_def *limit = nir_usub_sat(b, size, nir_imm_int(b, bytes - 1));
   nir_def *elsewhere =
      nir_iadd_imm(b, root_address(NULL, b), is_load ? GPUVAL_ROOT_ZEROS : GPUVAL_ROOT_SCRATCH);

   return nir_bcsel(b, nir_ult(b, offset, limit), address, elsewhere);
}

static nir_def *
lower_load(nir_builder *b, nir_intrinsic_instr *intrin)
{
   const unsigned components = intrin->def.num_components, bits = intrin->def.bit_size;
   const unsigned align = nir_intrinsic_align(intrin);
   nir_def *address = place(b, intrin->src[0].ssa, intrin->src[1].ssa, components * bits / 8, true);

   if (intrin->intrinsic == nir_intrinsic_load_ubo)
      return load_constant(b, components, bits, address, align);
   return nir_build_load_global(b, components, bits, address, .align_mul = align,
                                .access = nir_intrinsic_access(intrin));
}

static void
lower_store(nir_builder *b, nir_intrinsic_instr *intrin)
{
   nir_def *value = intrin->src[0].ssa;
   const unsigned bytes = util_last_bit(nir_intrinsic_write_mask(intrin)) * value->bit_size / 8;
   nir_def *address = place(b, intrin->src[1].ssa, intrin->src[2].ssa, bytes, false);

   nir_build_store_global(b, value, address, .align_mul = nir_intrinsic_align(intrin),
                          .access = nir_intrinsic_access(intrin),
                          .write_mask = nir_intrinsic_write_mask(intrin));
}

static nir_def *
lower_atomic(nir_builder *b, nir_intrinsic_instr *intrin)
{
   const unsigned bits = intrin->def.bit_size;
   const nir_atomic_op op = nir_intrinsic_atomic_op(intrin);
   nir_def *address = place(b, intrin->src[0].ssa, intrin->src[1].ssa, bits / 8, false);

   if (intrin->intrinsic == nir_intrinsic_ssbo_atomic)
      return nir_global_atomic(b, bits, address, intrin->src[2].ssa, .atomic_op = op);
   return nir_global_atomic_swap(b, bits, address, intrin->src[2].ssa, intrin->src[3].ssa,
                                 .atomic_op = op);
}

/* Words at constant offsets come from push constants, others from their copy in the command. */
static nir_def *
lower_push_constant(nir_builder *b, nir_intrinsic_instr *intrin)
{
   const unsigned components = intrin->def.num_components, bits = intrin->def.bit_size;
   nir_def *offset = nir_iadd_imm(b, intrin->src[0].ssa, nir_intrinsic_base(intrin));

   if (!nir_src_is_const(intrin->src[0]) || bits < 32) {
      nir_def *address =
         nir_iadd_imm(b, command_address(b), offsetof(struct gpuval_anygpu_command, push));
      offset = nir_umin_imm(b, offset, GPUVAL_ANYGPU_MAX_PUSH - 16);
      return load_constant(b, components, bits, nir_iadd(b, address, nir_u2u64(b, offset)),
                           bits / 8);
   }

   unsigned word =
      (GPUVAL_ANYGPU_PUSH_OFFSET + nir_intrinsic_base(intrin) + nir_src_as_uint(intrin->src[0])) /
      4;
   nir_def *values[NIR_MAX_VEC_COMPONENTS];
   for (unsigned i = 0; i < components; i++) {
      values[i] = load_push_word(b, word);
      word++;
      if (bits == 64)
         values[i] = nir_pack_64_2x32_split(b, values[i], load_push_word(b, word++));
   }
   return nir_vec(b, values, components);
}

static bool
lower(nir_builder *b, nir_intrinsic_instr *intrin, void *data)
{
   const struct gpuval_anygpu_layout *layout = data;
   nir_def *result = NULL;

   b->cursor = nir_before_instr(&intrin->instr);
   switch (intrin->intrinsic) {
   case nir_intrinsic_vulkan_resource_index: {
      const struct gpuval_anygpu_binding *binding =
         &layout->bindings[nir_intrinsic_binding(intrin)];
      result =
         nir_vec3(b, nir_imm_int(b, 0), nir_iadd_imm(b, intrin->src[0].ssa, binding->first_slot),
                  nir_imm_int(b, 0));
      break;
   }
   case nir_intrinsic_vulkan_resource_reindex: {
      nir_def *index = intrin->src[0].ssa;
      result = nir_vec3(b, nir_channel(b, index, 0),
                        nir_iadd(b, nir_channel(b, index, 1), intrin->src[1].ssa),
                        nir_channel(b, index, 2));
      break;
   }
   case nir_intrinsic_load_vulkan_descriptor:
      result = intrin->src[0].ssa;
      break;
   case nir_intrinsic_load_ubo:
   case nir_intrinsic_load_ssbo:
      result = lower_load(b, intrin);
      break;
   case nir_intrinsic_ssbo_atomic:
   case nir_intrinsic_ssbo_atomic_swap:
      result = lower_atomic(b, intrin);
      break;
   case nir_intrinsic_get_ssbo_size:
      result = nir_channel(b, load_descriptor(b, nir_channel(b, intrin->src[0].ssa, 1)), 2);
      break;
   case nir_intrinsic_load_push_constant:
      result = lower_push_constant(b, intrin);
      break;
   case nir_intrinsic_store_ssbo:
      lower_store(b, intrin);
      break;
   default:
      return false;
   }

   if (result)
      nir_def_rewrite_uses(&intrin->def, result);
   nir_instr_remove(&intrin->instr);
   return true;
}

bool
gpuval_anygpu_lower(nir_shader *nir, const struct gpuval_anygpu_layout *layout)
{
   return nir_shader_intrinsics_pass(nir, lower, nir_metadata_control_flow, (void *)layout);
}

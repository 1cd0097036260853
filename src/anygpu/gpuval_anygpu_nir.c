/* SPDX-License-Identifier: MIT */

/* SPIR-V of a compute shader to NIR, the checks, and NIR back to SPIR-V. */

#include "gpuval_anygpu.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/gpuval_bloom.h"
#include "core/shaders/gpuval_instrument.h"
#include "nir_passes/gpuval_nir_inline.h"

#include "compiler/nir/nir_builder.h"
#include "compiler/spirv/nir_spirv.h"
#include "compiler/spirv/spirv_info.h"
#include "gallium/drivers/zink/nir_to_spirv/nir_to_spirv.h"
#include "gallium/drivers/zink/zink_types.h"
#include "gpuval/src/compat/gpuval_nir_lowering.h"
#include "util/ralloc.h"

/* What nir_to_spirv() does not take is lowered: as zink_screen_init_compiler() has it. */
static const nir_shader_compiler_options compiler_options = {
   .lower_ffma16 = true,
   .lower_ffma32 = true,
   .lower_ffma64 = true,
   .lower_scmp = true,
   .lower_fdph = true,
   .lower_flrp32 = true,
   .lower_flrp64 = true,
   .lower_fsat = true,
   .lower_hadd = true,
   .lower_iadd_sat = true,
   .lower_fisnormal = true,
   .lower_extract_byte = true,
   .lower_extract_word = true,
   .lower_insert_byte = true,
   .lower_insert_word = true,
   .lower_ldexp = true,
   .lower_mul_high = true,
   .lower_to_scalar = true,
   .lower_uadd_carry = true,
   .lower_usub_borrow = true,
   .lower_uadd_sat = true,
   .lower_usub_sat = true,
   .lower_vector_cmp = true,
   .lower_mul_2x32_64 = true,
   .lower_int64_options = nir_lower_bit_count64 | nir_lower_find_lsb64 | nir_lower_ufind_msb64 |
                          nir_lower_usub_sat64 | nir_lower_uadd_sat64 | nir_lower_iadd_sat64,
   .lower_doubles_options = nir_lower_dround_even,
   .has_fsub = true,
   .has_isub = true,
   .support_16bit_alu = true,
};

static void
print_error(const char *what, const char *name)
{
   fprintf(stderr, "gpuval: error: anygpu: %s%s%s\n", what, name ? " " : "", name ? name : "");
}

void
gpuval_anygpu_nir_init(void)
{
   glsl_type_singleton_init_or_ref();
}

void
gpuval_anygpu_nir_finish(void)
{
   glsl_type_singleton_decref();
}

/* From SPIR-V */

static nir_shader *
parse(bool checks, const uint32_t *source, size_t source_size, const char *entry)
{
   struct spirv_capabilities capabilities;
   memset(&capabilities, true, sizeof(capabilities));
   struct spirv_to_nir_options options = {
      .environment = NIR_SPIRV_VULKAN,
      .capabilities = &capabilities,
      .ubo_addr_format = nir_address_format_vec2_index_32bit_offset,
      .ssbo_addr_format = nir_address_format_vec2_index_32bit_offset,
      .phys_ssbo_addr_format = nir_address_format_64bit_global,
      .push_const_addr_format = nir_address_format_32bit_offset,
      .shared_addr_format = nir_address_format_32bit_offset,
   };
   if (checks)
      gpuval_spirv_options(&options);

   return spirv_to_nir(source, source_size / sizeof(uint32_t), NULL, 0, MESA_SHADER_COMPUTE, entry,
                       &options, &compiler_options);
}

/* Bytes of the blocks of push constants */
static uint32_t
get_push_size(nir_shader *nir)
{
   uint32_t size = 0;

   nir_foreach_variable_with_modes (var, nir, nir_var_mem_push_const)
      size = MAX2(size, glsl_get_explicit_size(var->type, false));
   return size;
}

static bool
describe_layout(nir_shader *nir, const struct gpuval_anygpu_caps *caps,
                struct gpuval_anygpu_layout *layout)
{
   *layout = (struct gpuval_anygpu_layout){
      .push_size = get_push_size(nir),
      .max_shared_size = caps->max_shared_size,
   };
   if (layout->push_size > GPUVAL_ANYGPU_MAX_PUSH) {
      print_error("the shader has more than 240 bytes of push constants", NULL);
      return false;
   }

   nir_foreach_variable_with_modes (var, nir, nir_var_uniform | nir_var_image) {
      print_error("only uniform and storage buffers can be bound, the shader wants another "
                  "resource:",
                  var->name ? var->name : "(without a name)");
      return false;
   }
   nir_foreach_variable_with_modes (var, nir, nir_var_mem_ubo | nir_var_mem_ssbo) {
      if (var->data.descriptor_set || var->data.binding >= GPUVAL_ANYGPU_MAX_SLOTS) {
         print_error("buffers are bound to set 0, bindings 0 to 63; the shader has elsewhere:",
                     var->name ? var->name : "(without a name)");
         return false;
      }
      struct gpuval_anygpu_binding *binding = &layout->bindings[var->data.binding];
      bool is_array = glsl_type_is_array(var->type);
      uint32_t count = is_array ? MAX2(glsl_get_aoa_size(var->type), 1) : 1;
      binding->count = MAX2(binding->count, count);
      binding->type = var->data.mode == nir_var_mem_ubo ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER
                                                        : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
   }
   for (unsigned i = 0; i < GPUVAL_ANYGPU_MAX_SLOTS; i++) {
      layout->bindings[i].first_slot = layout->num_slots;
      layout->num_slots += layout->bindings[i].count;
   }
   if (layout->num_slots >= GPUVAL_ANYGPU_MAX_SLOTS) {
      print_error("the shader has more than 63 descriptors", NULL);
      return false;
   }
   return true;
}

static void
shared_size_align(const struct glsl_type *type, unsigned *size, unsigned *align)
{
   unsigned component = glsl_type_is_boolean(type) ? 4 : glsl_get_bit_size(type) / 8;

   *size = component * glsl_get_vector_elements(type);
   *align = component;
}

/* To where drivers have their hook: accesses are intrinsics, of vectors still. */
static void
optimize(nir_shader *nir)
{
   bool progress;

   do {
      progress = false;
      NIR_PASS(progress, nir, nir_lower_vars_to_ssa);
      NIR_PASS(progress, nir, nir_opt_copy_prop);
      NIR_PASS(progress, nir, nir_opt_copy_prop_vars);
      NIR_PASS(progress, nir, nir_opt_remove_phis);
      NIR_PASS(progress, nir, nir_opt_loop);
      NIR_PASS(progress, nir, nir_opt_if, nir_opt_if_optimize_phi_true_false);
      NIR_PASS(progress, nir, nir_opt_dce);
      NIR_PASS(progress, nir, nir_opt_dead_cf);
      NIR_PASS(progress, nir, nir_opt_cse);
      NIR_PASS(progress, nir, nir_opt_algebraic);
      NIR_PASS(progress, nir, nir_opt_constant_folding);
      NIR_PASS(progress, nir, nir_opt_undef);
   } while (progress);
}

static void
lower_to_hook(nir_shader *nir, uint32_t checks)
{
   const struct gpuval_nir_options early = {.checks = checks, .safe = gpuval_options()->safe};
   const nir_lower_compute_system_values_options compute_options = {0};

   NIR_PASS(_, nir, nir_lower_variable_initializers, nir_var_function_temp);
   NIR_PASS(_, nir, nir_lower_returns);
   NIR_PASS(_, nir, nir_inline_functions);
   NIR_PASS(_, nir, nir_opt_copy_prop);
   NIR_PASS(_, nir, nir_opt_deref);
   nir_remove_non_entrypoints(nir);
   NIR_PASS(_, nir, nir_lower_variable_initializers, ~0);
   NIR_PASS(_, nir, nir_split_var_copies);
   gpuval_nir_instrument_early(nir, &early);
   NIR_PASS(_, nir, nir_lower_var_copies);
   NIR_PASS(_, nir, nir_lower_global_vars_to_local);
   NIR_PASS(_, nir, nir_split_struct_vars, nir_var_function_temp);
   NIR_PASS(_, nir, nir_lower_vars_to_ssa);
   NIR_PASS(_, nir, nir_remove_dead_variables, nir_var_function_temp | nir_var_shader_temp, NULL);
   NIR_PASS(_, nir, nir_lower_indirect_derefs_to_if_else_trees,
            nir_var_function_temp | nir_var_shader_temp, UINT32_MAX);
   NIR_PASS(_, nir, nir_lower_vars_to_ssa);
   /* nir_opt_large_constants() does not take what has neither a store nor a value. */
   NIR_PASS(_, nir, nir_remove_dead_variables, nir_var_function_temp | nir_var_shader_temp, NULL);
   if (!nir->info.shared_memory_explicit_layout)
      NIR_PASS(_, nir, nir_lower_vars_to_explicit_types, nir_var_mem_shared, shared_size_align);
   NIR_PASS(_, nir, nir_lower_system_values);
   NIR_PASS(_, nir, nir_lower_compute_system_values, &compute_options);
   NIR_PASS(_, nir, nir_opt_large_constants, glsl_get_natural_size_align_bytes, UINT32_MAX);
   /* As far that it is known how often loops go round */
   optimize(nir);
   NIR_PASS(_, nir, nir_lower_explicit_io, nir_var_mem_ubo | nir_var_mem_ssbo,
            nir_address_format_vec2_index_32bit_offset);
   NIR_PASS(_, nir, nir_lower_explicit_io, nir_var_mem_shared | nir_var_mem_push_const,
            nir_address_format_32bit_offset);
   NIR_PASS(_, nir, nir_lower_explicit_io, nir_var_mem_global, nir_address_format_64bit_global);
   nir_shader_gather_info(nir, nir_shader_get_entrypoint(nir));
}

/* Checks */

static void
describe_bindings(const struct gpuval_nir_driver *driver, struct util_dynarray *bindings)
{
   const struct gpuval_anygpu_layout *layout = driver->data;

   for (unsigned i = 0; i < GPUVAL_ANYGPU_MAX_SLOTS; i++) {
      const struct gpuval_anygpu_binding *binding = &layout->bindings[i];
      if (!binding->count)
         continue;
      util_dynarray_append_typed(bindings, struct gpuval_binding,
                                 ((struct gpuval_binding){
                                    .binding = i,
                                    .type = binding->type,
                                    .first_slot = binding->first_slot,
                                    .array_size = binding->count,
                                    .stride = 1,
                                 }));
   }
}

static void
instrument(struct gpuval_device *device, nir_shader *nir, const struct gpuval_nir_driver *driver,
           const char *entry, struct gpuval_anygpu_shader *shader)
{
   uint8_t key[GPUVAL_SHADER_KEY_SIZE];
   const struct gpuval_instrument_info info = {
      .driver = driver,
      .describe_bindings = describe_bindings,
      .spirv = shader->source,
      .spirv_size = shader->source_size,
      .shader_hash = shader->hash,
      .entry = entry,
      .checks = gpuval_options_shader_checks(gpuval_options(), shader->hash, NULL),
   };

   gpuval_device_instrument(device, nir, &info, key, &shader->gpuval);
}

static bool
is_coherent(const nir_intrinsic_instr *intrin)
{
   return (intrin->intrinsic == nir_intrinsic_load_global ||
           intrin->intrinsic == nir_intrinsic_store_global) &&
          nir_intrinsic_access(intrin) & ACCESS_COHERENT;
}

/* What the shader accesses by address itself */
static bool
mark_coherent(nir_builder *b, nir_intrinsic_instr *intrin, void *data)
{
   if (!is_coherent(intrin))
      return false;
   nir_intrinsic_set_access(intrin, nir_intrinsic_access(intrin) | ACCESS_VOLATILE);
   return true;
}

/* Checks want no more than that no cache has old contents of cells. In SPIR-V, coherent accesses
 * make all of memory available or visible, each of them, which takes a GPU far longer than the
 * access.
 */
static bool
relax_coherent(nir_builder *b, nir_intrinsic_instr *intrin, void *data)
{
   if (!is_coherent(intrin) || nir_intrinsic_access(intrin) & ACCESS_VOLATILE)
      return false;
   nir_intrinsic_set_access(intrin,
                            (nir_intrinsic_access(intrin) & ~ACCESS_COHERENT) | ACCESS_VOLATILE);
   return true;
}

static void
make_checks(struct gpuval_device *device, nir_shader *nir, const struct gpuval_nir_driver *driver)
{
   const struct gpuval_nir_inline_options options = {
      .driver = driver,
      .has_shadow = gpuval_device_has_shadow(device),
   };

   optimize(nir);
   gpuval_anygpu_lower_calls(nir, driver);
   NIR_PASS(_, nir, gpuval_nir_inline_checks, &options);
   NIR_PASS(_, nir, nir_shader_intrinsics_pass, relax_coherent, nir_metadata_all, NULL);
}

/* To SPIR-V */

/* nir_to_spirv() takes the offset of a load or store in shared memory for the number of an
 * element, has no base there, and knows no barriers of global memory that Vulkan allows.
 */
static bool
lower_for_spirv(nir_builder *b, nir_intrinsic_instr *intrin, void *data)
{
   nir_src *offset;

   b->cursor = nir_before_instr(&intrin->instr);
   switch (intrin->intrinsic) {
   case nir_intrinsic_load_shared:
      offset = &intrin->src[0];
      nir_src_rewrite(offset,
                      nir_udiv_imm(b, nir_iadd_imm(b, offset->ssa, nir_intrinsic_base(intrin)),
                                   intrin->def.bit_size / 8));
      nir_intrinsic_set_base(intrin, 0);
      return true;
   case nir_intrinsic_store_shared:
      offset = &intrin->src[1];
      nir_src_rewrite(offset,
                      nir_udiv_imm(b, nir_iadd_imm(b, offset->ssa, nir_intrinsic_base(intrin)),
                                   intrin->src[0].ssa->bit_size / 8));
      nir_intrinsic_set_base(intrin, 0);
      return true;
   case nir_intrinsic_shared_atomic:
   case nir_intrinsic_shared_atomic_swap:
      nir_src_rewrite(&intrin->src[0],
                      nir_iadd_imm(b, intrin->src[0].ssa, nir_intrinsic_base(intrin)));
      nir_intrinsic_set_base(intrin, 0);
      return true;
   case nir_intrinsic_barrier: {
      nir_variable_mode modes = nir_intrinsic_memory_modes(intrin);
      if (modes & nir_var_mem_global)
         modes = (modes & ~nir_var_mem_global) | nir_var_mem_ssbo;
      nir_intrinsic_set_memory_modes(intrin, modes);
      return true;
   }
   default:
      return false;
   }
}

/* Words of 64 bits in shared memory become two, so that one block of words is enough. A store
 * with a mask becomes one for each run of components.
 */
static bool
split_access(nir_builder *b, nir_intrinsic_instr *intrin, void *data)
{
   b->cursor = nir_before_instr(&intrin->instr);
   if (intrin->intrinsic == nir_intrinsic_load_shared && intrin->def.bit_size == 64) {
      nir_def *words[NIR_MAX_VEC_COMPONENTS];
      for (unsigned i = 0; i < intrin->def.num_components; i++) {
         nir_def *at = nir_iadd_imm(b, intrin->src[0].ssa, nir_intrinsic_base(intrin) + i * 8);
         words[i] = nir_pack_64_2x32_split(
            b, nir_load_shared(b, 1, 32, at, .align_mul = 4),
            nir_load_shared(b, 1, 32, nir_iadd_imm(b, at, 4), .align_mul = 4));
      }
      nir_def_rewrite_uses(&intrin->def, nir_vec(b, words, intrin->def.num_components));
      nir_instr_remove(&intrin->instr);
      return true;
   }
   if (intrin->intrinsic == nir_intrinsic_store_shared && intrin->src[0].ssa->bit_size == 64) {
      u_foreach_bit (i, nir_intrinsic_write_mask(intrin)) {
         nir_def *value = nir_channel(b, intrin->src[0].ssa, i);
         nir_def *at = nir_iadd_imm(b, intrin->src[1].ssa, nir_intrinsic_base(intrin) + i * 8);
         nir_store_shared(b, nir_unpack_64_2x32_split_x(b, value), at, .align_mul = 4,
                          .write_mask = 1);
         nir_store_shared(b, nir_unpack_64_2x32_split_y(b, value), nir_iadd_imm(b, at, 4),
                          .align_mul = 4, .write_mask = 1);
      }
      nir_instr_remove(&intrin->instr);
      return true;
   }
   /* nir_to_spirv() takes what it stores to shared memory for integers, in vectors. */
   if (intrin->intrinsic == nir_intrinsic_store_shared && intrin->src[0].ssa->num_components > 1) {
      unsigned bytes = intrin->src[0].ssa->bit_size / 8;
      u_foreach_bit (i, nir_intrinsic_write_mask(intrin)) {
         nir_def *at = nir_iadd_imm(b, intrin->src[1].ssa, nir_intrinsic_base(intrin) + i * bytes);
         nir_store_shared(b, nir_channel(b, intrin->src[0].ssa, i), at, .align_mul = bytes,
                          .write_mask = 1);
      }
      nir_instr_remove(&intrin->instr);
      return true;
   }
   if (intrin->intrinsic != nir_intrinsic_store_global)
      return false;

   nir_def *value = intrin->src[0].ssa;
   unsigned mask = nir_intrinsic_write_mask(intrin);
   const unsigned component = value->bit_size / 8;
   if (mask == BITFIELD_MASK(value->num_components) && value->num_components <= 4)
      return false;
   while (mask) {
      int first, count;
      u_bit_scan_consecutive_range(&mask, &first, &count);
      unsigned align_offset =
         (nir_intrinsic_align_offset(intrin) + first * component) % nir_intrinsic_align_mul(intrin);
      nir_build_store_global(b, nir_channels(b, value, BITFIELD_RANGE(first, count)),
                             nir_iadd_imm(b, intrin->src[1].ssa, first * component),
                             .align_mul = nir_intrinsic_align_mul(intrin),
                             .align_offset = align_offset, .access = nir_intrinsic_access(intrin));
   }
   nir_instr_remove(&intrin->instr);
   return true;
}

/* Booleans in memory, which zink_nir_lower_b2b() has for zink */
static bool
lower_boolean(nir_builder *b, nir_alu_instr *alu, void *data)
{
   nir_def *result;

   if (alu->op != nir_op_b2b32 && alu->op != nir_op_b2b1)
      return false;
   b->cursor = nir_before_instr(&alu->instr);
   nir_def *value = nir_ssa_for_alu_src(b, alu, 0);
   if (alu->op == nir_op_b2b32)
      result = nir_b2i32(b, value);
   else
      result = nir_ine_imm(b, value, 0);
   nir_def_replace(&alu->def, result);
   return true;
}

/* What nir_to_spirv() has no code for, and would end the process at. */
static const nir_intrinsic_instr *
find_unsupported(nir_shader *nir, const struct gpuval_anygpu_caps *caps)
{
   nir_foreach_block (block, nir_shader_get_entrypoint(nir)) {
      nir_foreach_instr (instr, block) {
         if (instr->type != nir_instr_type_intrinsic)
            continue;
         const nir_intrinsic_instr *intrin = nir_instr_as_intrinsic(instr);
         switch (intrin->intrinsic) {
         case nir_intrinsic_ballot:
         case nir_intrinsic_barrier:
         case nir_intrinsic_decl_reg:
         case nir_intrinsic_global_atomic:
         case nir_intrinsic_global_atomic_swap:
         case nir_intrinsic_load_global:
         case nir_intrinsic_load_global_constant:
         case nir_intrinsic_load_global_invocation_id:
         case nir_intrinsic_load_local_invocation_id:
         case nir_intrinsic_load_local_invocation_index:
         case nir_intrinsic_load_num_workgroups:
         case nir_intrinsic_load_push_constant_zink:
         case nir_intrinsic_load_reg:
         case nir_intrinsic_load_shared:
         case nir_intrinsic_load_subgroup_id:
         case nir_intrinsic_load_subgroup_invocation:
         case nir_intrinsic_load_subgroup_size:
         case nir_intrinsic_load_workgroup_id:
         case nir_intrinsic_quad_broadcast:
         case nir_intrinsic_quad_swap_diagonal:
         case nir_intrinsic_quad_swap_horizontal:
         case nir_intrinsic_quad_swap_vertical:
         case nir_intrinsic_read_first_invocation:
         case nir_intrinsic_read_invocation:
         case nir_intrinsic_shader_clock:
         case nir_intrinsic_shared_atomic:
         case nir_intrinsic_shared_atomic_swap:
         case nir_intrinsic_store_global:
         case nir_intrinsic_store_reg:
         case nir_intrinsic_store_shared:
         case nir_intrinsic_vote_all:
         case nir_intrinsic_vote_any:
         case nir_intrinsic_vote_feq:
         case nir_intrinsic_vote_ieq:
            break;
         case nir_intrinsic_exclusive_scan:
         case nir_intrinsic_inclusive_scan:
            if (!caps->has_arithmetic)
               return intrin;
            break;
         case nir_intrinsic_reduce:
            if (!caps->has_arithmetic || nir_intrinsic_cluster_size(intrin))
               return intrin;
            break;
         default:
            return intrin;
         }
      }
   }
   return NULL;
}

static void
add_push_constants(nir_shader *nir)
{
   nir_foreach_variable_with_modes_safe (var, nir, nir_var_mem_push_const)
      exec_node_remove(&var->node);

   const unsigned words = (GPUVAL_ANYGPU_PUSH_OFFSET + GPUVAL_ANYGPU_MAX_PUSH) / 4;
   glsl_struct_field field = {
      .name = "words",
      .type = glsl_array_type(glsl_uint_type(), words, 4),
      .offset = 0,
   };
   nir_variable_create(nir, nir_var_mem_push_const, glsl_struct_type(&field, 1, "push", false),
                       "push");
}

static bool
is_not_vec(const nir_instr *instr, const void *data)
{
   return !nir_op_is_vec(nir_instr_as_alu(instr)->op);
}

static bool
separate_constant(nir_src *src, void *data)
{
   nir_builder *b = data;

   if (!nir_src_is_const(*src))
      return true;
   nir_load_const_instr *constant = nir_instr_as_load_const(nir_def_instr(src->ssa));
   nir_src_rewrite(
      src, nir_build_imm(b, constant->def.num_components, constant->def.bit_size, constant->value));
   return true;
}

/* nir_to_spirv() gives a constant one type for all of its users, a float's where one of them is: of
 * zero, mostly. An access chain takes none but integers, and one driver's compiler fails on casts
 * of constants.
 */
static bool
separate_constants(nir_builder *b, nir_instr *instr, void *data)
{
   b->cursor = nir_before_instr(instr);
   nir_foreach_src(instr, separate_constant, b);
   return true;
}

static void
lower_to_spirv(nir_shader *nir, const struct gpuval_anygpu_caps *caps,
               const struct gpuval_anygpu_layout *layout)
{
   const nir_lower_subgroups_options subgroups = {
      .ballot_bit_size = 32,
      .ballot_components = 4,
      .lower_to_scalar = true,
      .lower_elect = true,
      .lower_first_invocation_to_ballot = true,
      .lower_inverse_ballot = true,
      .lower_quad = !caps->has_quads,
      .lower_quad_broadcast_dynamic = true,
      .lower_quad_vote = true,
      .lower_shuffle = true,
      .lower_relative_shuffle = true,
      .lower_subgroup_masks = true,
      GPUVAL_LOWER_ALL_VOTES_EQ,
   };

   NIR_PASS(_, nir, gpuval_anygpu_lower, layout);
   nir_foreach_variable_with_modes_safe (var, nir,
                                         nir_var_mem_ubo | nir_var_mem_ssbo | nir_var_mem_shared)
      exec_node_remove(&var->node);
   NIR_PASS(_, nir, nir_lower_subgroups, &subgroups);
   optimize(nir);
   NIR_PASS(_, nir, nir_shader_alu_pass, lower_boolean, nir_metadata_control_flow, NULL);
   NIR_PASS(_, nir, nir_shader_intrinsics_pass, split_access, nir_metadata_control_flow, NULL);
   NIR_PASS(_, nir, nir_shader_intrinsics_pass, lower_for_spirv, nir_metadata_control_flow, NULL);
   NIR_PASS(_, nir, nir_lower_alu_to_scalar, is_not_vec, NULL);
   NIR_PASS(_, nir, nir_lower_all_phis_to_scalar);
   NIR_PASS(_, nir, nir_lower_int64);
   optimize(nir);
   NIR_PASS(_, nir, nir_opt_algebraic_late);
   NIR_PASS(_, nir, nir_lower_alu_to_scalar, is_not_vec, NULL);
   NIR_PASS(_, nir, nir_lower_load_const_to_scalar);
   NIR_PASS(_, nir, nir_opt_copy_prop);
   NIR_PASS(_, nir, nir_opt_dce);
   NIR_PASS(_, nir, nir_opt_cse);
   NIR_PASS(_, nir, nir_convert_from_ssa, true, true);
   NIR_PASS(_, nir, nir_shader_instructions_pass, separate_constants, nir_metadata_control_flow,
            NULL);
   NIR_PASS(_, nir, nir_opt_dce);
   add_push_constants(nir);
   nir_shader_gather_info(nir, nir_shader_get_entrypoint(nir));
   nir->info.cs.ptr_size = 64;
}

static bool
emit_spirv(nir_shader *nir, const struct gpuval_anygpu_caps *caps,
           struct gpuval_anygpu_shader *shader)
{
   const nir_intrinsic_instr *unsupported = find_unsupported(nir, caps);
   if (unsupported) {
      print_error("nir_to_spirv has no code for", nir_intrinsic_infos[unsupported->intrinsic].name);
      return false;
   }

   /* nir_to_spirv() looks at these fields of it only. */
   struct zink_screen *screen = rzalloc(nir, struct zink_screen);
   screen->spirv_version = SPIRV_VERSION(1, 5);
   const struct zink_shader_info info = {
      .have_vulkan_memory_model = true,
      .have_workgroup_memory_explicit_layout = caps->has_explicit_shared,
      .bindless_set_idx = GPUVAL_ANYGPU_MAX_SLOTS,
   };

   struct spirv_shader *spirv = nir_to_spirv(nir, &info, screen);
   if (!spirv) {
      print_error("nir_to_spirv has failed", NULL);
      return false;
   }
   shader->size = spirv->num_words * sizeof(uint32_t);
   shader->words = malloc(shader->size);
   if (shader->words)
      memcpy(shader->words, spirv->words, shader->size);
   spirv_shader_delete(spirv);
   return shader->words != NULL;
}

bool
gpuval_anygpu_compile(struct gpuval_device *device, const struct gpuval_anygpu_caps *caps,
                      const uint32_t *source, size_t source_size, const char *entry,
                      struct gpuval_anygpu_shader *shader)
{
   *shader = (struct gpuval_anygpu_shader){
      .source = source,
      .source_size = source_size,
      .hash = gpuval_shader_hash(source, source_size),
   };

   nir_shader *nir = parse(device != NULL, source, source_size, entry);
   if (!nir) {
      print_error("the file has no compute shader with the entry point", entry);
      return false;
   }
   lower_to_hook(nir,
                 device ? gpuval_options_shader_checks(gpuval_options(), shader->hash, NULL) : 0);

   bool done = false;
   if (describe_layout(nir, caps, &shader->layout)) {
      struct gpuval_nir_driver driver = gpuval_anygpu_nir_driver;
      driver.data = &shader->layout;
      driver.hashes = gpuval_options_hashes(GPUVAL_BLOOM_MAX_HASHES);
      driver.num_lanes = caps->subgroup_size;
      driver.has_quads = caps->has_quads;
      driver.subgroup_bits = util_logbase2_ceil(caps->subgroup_size);
      if (device) {
         NIR_PASS(_, nir, nir_shader_intrinsics_pass, mark_coherent, nir_metadata_all, NULL);
         instrument(device, nir, &driver, entry, shader);
         make_checks(device, nir, &driver);
      }
      lower_to_spirv(nir, caps, &shader->layout);
      done = emit_spirv(nir, caps, shader);
   }
   ralloc_free(nir);
   return done;
}

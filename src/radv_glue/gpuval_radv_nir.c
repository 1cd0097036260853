/* SPDX-License-Identifier: MIT */

/* RADV, as the passes see it, and how reports get into its shaders.
 *
 * At the hook, resource indices are still those of Vulkan. The size of a range
 * is in its descriptor, which @load_descriptor_gpuval stands for until
 * radv_nir_apply_pipeline_layout has made addresses of the indices.
 *
 * ACO inlines everything, so the failing path is kept small: the reports of a
 * block that follow one another share a branch, and behind it a loop with one
 * report in it.
 */

#include "gpuval_radv_nir.h"

#include "gpuval/src/core/gpuval_layout.h"
#include "gpuval/src/nir_passes/gpuval_nir.h"

#include "vulkan/vulkan_core.h"

static nir_def *
add_64(nir_builder *b, nir_def *address, nir_def *offset)
{
   return nir_iadd(b, address, nir_u2u64(b, offset));
}

/* At the hook */

/* The functions of a driver get the builder of the pass that calls them. */
static const struct gpuval_radv_nir_layout *
early_layout(nir_builder *b)
{
   return container_of(b, struct gpuval_nir_state, b)->options->data;
}

static enum gpuval_radv_binding
find_binding(const struct gpuval_radv_nir_layout *layout, nir_binding binding, uint32_t *size)
{
   *size = 0;
   return binding.success ? layout->find(layout, binding.desc_set, binding.binding, size)
                          : GPUVAL_RADV_BINDING_NONE;
}

static bool
describe(const nir_intrinsic_instr *intrin, void *data, struct gpuval_nir_buffer *buffer)
{
   nir_binding binding = nir_chase_binding(*gpuval_nir_index_src((nir_intrinsic_instr *)intrin));
   uint32_t size;
   enum gpuval_radv_binding kind = find_binding(data, binding, &size);

   *buffer = (struct gpuval_nir_buffer){
      .set = binding.success ? binding.desc_set : -1,
      .binding = binding.success ? binding.binding : -1,
      .size = size,
   };
   return !binding.success || kind != GPUVAL_RADV_BINDING_NONE;
}

static nir_def *
slot(nir_builder *b, nir_intrinsic_instr *intrin)
{
   nir_src *index = gpuval_nir_index_src(intrin);
   uint32_t size;
   nir_def *offset = nir_channel(b, index->ssa, 1);

   if (find_binding(early_layout(b), nir_chase_binding(*index), &size) ==
       GPUVAL_RADV_BINDING_DYNAMIC)
      return nir_ior_imm(b, offset, GPUVAL_RADV_DYNAMIC);
   return offset;
}

/* The resource index that slot() has made its result from */
static nir_def *
slot_index(nir_def *slot)
{
   nir_alu_instr *alu = nir_instr_as_alu(slot->parent_instr);

   if (alu->op == nir_op_ior)
      alu = nir_instr_as_alu(alu->src[0].src.ssa->parent_instr);
   assert(alu->op == nir_op_mov && alu->src[0].swizzle[0] == 1);
   return alu->src[0].src.ssa;
}

/* A variable pointer leads to the set whose address it has. Dynamic buffers
 * have no address of their own and stay unknown.
 */
static nir_def *
set(nir_builder *b, nir_intrinsic_instr *intrin)
{
   const struct gpuval_radv_nir_layout *layout = early_layout(b);
   nir_def *address = nir_channel(b, gpuval_nir_index_src(intrin)->ssa, 0);
   nir_def *found = nir_imm_int(b, -1);
   uint32_t seen = 0;

   nir_foreach_variable_with_modes (var, b->shader, nir_var_mem_ubo | nir_var_mem_ssbo) {
      unsigned number = var->data.descriptor_set;
      uint32_t size;
      if (seen & BITFIELD_BIT(number) ||
          layout->find(layout, number, var->data.binding, &size) != GPUVAL_RADV_BINDING_SET)
         continue;
      seen |= BITFIELD_BIT(number);

      VkDescriptorType type = var->data.mode == nir_var_mem_ubo ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER
                                                                : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
      nir_def *index =
         nir_vulkan_resource_index(b, 3, 32, nir_imm_int(b, 0), .desc_set = number,
                                   .binding = var->data.binding, .desc_type = type);
      nir_def *descriptor = nir_load_vulkan_descriptor(b, 3, 32, index, .desc_type = type);
      found = nir_bcsel(b, nir_ieq(b, nir_channel(b, descriptor, 0), address),
                        nir_imm_int(b, number), found);
   }

   return found;
}

static nir_def *
exact_size(nir_builder *b, nir_def *descriptor)
{
   nir_def *rounded = nir_ubfe_imm(b, nir_channel(b, descriptor, 3), GPUVAL_RADV_ROUNDED_SHIFT,
                                   util_bitcount(GPUVAL_RADV_ROUNDED_MASK));

   return nir_isub(b, nir_channel(b, descriptor, 2), rounded);
}

static nir_def *
early_buffer_size(nir_builder *b, nir_def *set, nir_def *slot)
{
   return exact_size(b, nir_load_descriptor_gpuval(b, nir_trim_vector(b, slot_index(slot), 2)));
}

static nir_def *
invocation(nir_builder *b)
{
   nir_def *zero = nir_imm_int(b, 0);

   switch (b->shader->info.stage) {
   case MESA_SHADER_VERTEX:
      return nir_vec3(b, nir_iadd(b, nir_load_vertex_id_zero_base(b), nir_load_first_vertex(b)),
                      nir_iadd(b, nir_load_instance_id(b), nir_load_base_instance(b)), zero);
   case MESA_SHADER_TESS_CTRL:
      return nir_vec3(b, nir_load_invocation_id(b), nir_load_primitive_id(b), zero);
   case MESA_SHADER_TESS_EVAL: {
      nir_def *coord = nir_load_tess_coord(b);
      return nir_vec3(b, nir_load_primitive_id(b), nir_channel(b, coord, 0),
                      nir_channel(b, coord, 1));
   }
   case MESA_SHADER_GEOMETRY:
      return nir_vec3(b, nir_load_primitive_id(b), nir_load_invocation_id(b), zero);
   case MESA_SHADER_FRAGMENT: {
      /* The center of the pixel: what has no effect on flat shading */
      nir_def *pixel = nir_fadd_imm(b, nir_u2f32(b, nir_load_pixel_coord(b)), 0.5);
      return nir_vec3(b, nir_channel(b, pixel, 0), nir_channel(b, pixel, 1), zero);
   }
   case MESA_SHADER_COMPUTE:
   case MESA_SHADER_TASK:
   case MESA_SHADER_MESH:
      return nir_load_global_invocation_id(b, 32);
   default:
      return nir_load_ray_launch_id(b);
   }
}

const struct gpuval_nir_driver gpuval_radv_nir_driver = {
   .describe = describe,
   .slot = slot,
   .set = set,
   .buffer_size = early_buffer_size,
   .invocation = invocation,
};

/* When the pipeline layout has been applied */

static bool
lower_descriptor(nir_builder *b, nir_intrinsic_instr *intrin, void *data)
{
   if (intrin->intrinsic != nir_intrinsic_load_descriptor_gpuval)
      return false;

   b->cursor = nir_before_instr(&intrin->instr);
   nir_def *index = intrin->src[0].ssa;
   nir_def *offset = nir_channel(b, index, 1);
   nir_def *set = nir_pack_64_2x32_split(b, nir_channel(b, index, 0), nir_imm_int(b, *(uint32_t *)data));
   nir_def *descriptor;

   /* As RADV loads it for the access itself, so that this is done once. An index
    * that is not constant may differ between lanes.
    */
   if (nir_scalar_is_const(nir_scalar_resolved(offset, 0)))
      descriptor = nir_load_smem_amd(b, 4, set, offset, .align_mul = 16);
   else
      descriptor = nir_build_load_global(b, 4, 32, add_64(b, set, offset),
                                         .access = ACCESS_NON_WRITEABLE | ACCESS_CAN_REORDER,
                                         .align_mul = 16);

   nir_def_replace(&intrin->def, descriptor);
   return true;
}

bool
gpuval_radv_nir_lower_descriptors(nir_shader *nir, uint32_t address32_hi)
{
   return nir_shader_intrinsics_pass(nir, lower_descriptor, nir_metadata_control_flow,
                                     &address32_hi);
}

/* Reports */

struct late_state {
   nir_builder b; /* which gpuval_nir_build_report() hands to the driver */
   const struct gpuval_radv_nir_args *args;
};

static nir_def *
load_pointer(nir_builder *b, unsigned arg)
{
   const struct late_state *state = container_of(b, const struct late_state, b);

   return nir_pack_64_2x32_split(b, nir_load_scalar_arg_amd(b, 1, .base = arg),
                                 nir_imm_int(b, state->args->address32_hi));
}

static nir_def *
load_sets(nir_builder *b)
{
   return load_pointer(b, container_of(b, const struct late_state, b)->args->sets);
}

/* The descriptor itself. There may be no set at all where a report is not about
 * a buffer: then it is anything that can be read.
 */
static nir_def *
late_descriptor(nir_builder *b, nir_def *set, nir_def *slot)
{
   const struct late_state *state = container_of(b, const struct late_state, b);
   nir_def *table = load_sets(b);
   nir_def *pointer = nir_build_load_global(
      b, 1, 32, add_64(b, table, nir_imul_imm(b, set, sizeof(uint32_t))), .align_mul = 4);
   nir_def *address =
      nir_pack_64_2x32_split(b, pointer, nir_imm_int(b, state->args->address32_hi));
   address = nir_bcsel(b, nir_ieq_imm(b, pointer, 0), table, address);

   if (state->args->push_constants >= 0) {
      nir_def *is_dynamic = nir_ine_imm(b, nir_iand_imm(b, slot, GPUVAL_RADV_DYNAMIC), 0);
      address = nir_bcsel(b, is_dynamic, load_pointer(b, state->args->push_constants), address);
      slot = nir_iand_imm(b, slot, ~GPUVAL_RADV_DYNAMIC);
   }

   return nir_build_load_global(b, 4, 32, add_64(b, address, slot), .align_mul = 16);
}

static nir_def *
late_buffer_size(nir_builder *b, nir_def *set, nir_def *slot)
{
   return exact_size(b, late_descriptor(b, set, slot));
}

/* Bits 0 to 47 of the descriptor on every generation; addresses are
 * sign-extended (radeon_info::address32_hi).
 */
static nir_def *
late_buffer_address(nir_builder *b, nir_def *set, nir_def *slot)
{
   nir_def *descriptor = late_descriptor(b, set, slot);
   nir_def *hi = nir_ishr_imm(b, nir_ishl_imm(b, nir_channel(b, descriptor, 1), 16), 16);

   return nir_pack_64_2x32_split(b, nir_channel(b, descriptor, 0), hi);
}

static nir_def *
load_command_data(nir_builder *b, unsigned bit_size, unsigned offset)
{
   const struct late_state *state = container_of(b, const struct late_state, b);

   return nir_build_load_global(b, 1, bit_size,
                                nir_iadd_imm(b, load_sets(b), state->args->command_offset + offset),
                                .align_mul = bit_size / 8);
}

static nir_def *
root_address(nir_builder *b)
{
   return load_command_data(b, 64, offsetof(struct gpuval_command_data, root_address));
}

static nir_def *
command_id(nir_builder *b)
{
   return load_command_data(b, 32, offsetof(struct gpuval_command_data, command_id));
}

static const struct gpuval_nir_driver late_driver = {
   .buffer_size = late_buffer_size,
   .buffer_address = late_buffer_address,
   .root_address = root_address,
   .command_id = command_id,
};

#define MAX_GROUP 32 /* bits of the mask below */

/* Reports of one block with nothing between them that has an effect */
struct group {
   nir_intrinsic_instr *reports[MAX_GROUP];
   unsigned count;
};

static nir_def *
select_report(nir_builder *b, const struct group *group, nir_def *number,
              nir_def *(*get)(nir_builder *b, const nir_intrinsic_instr *report))
{
   nir_def *selected = get(b, group->reports[0]);

   for (unsigned i = 1; i < group->count; i++)
      selected = nir_bcsel(b, nir_ieq_imm(b, number, i), get(b, group->reports[i]), selected);
   return selected;
}

static nir_def *
get_first_entry(nir_builder *b, const nir_intrinsic_instr *report)
{
   return nir_imm_int(b, nir_intrinsic_base(report));
}

static nir_def *
get_num_entries_and_set(nir_builder *b, const nir_intrinsic_instr *report)
{
   return nir_imm_int(b, nir_intrinsic_range(report) | nir_intrinsic_desc_set(report) << 16);
}

static nir_def *
get_offset(nir_builder *b, const nir_intrinsic_instr *report)
{
   return report->src[1].ssa;
}

static nir_def *
get_slot(nir_builder *b, const nir_intrinsic_instr *report)
{
   return report->src[2].ssa;
}

static void
build_report(nir_builder *b, const struct group *group, nir_def *number)
{
   nir_def *numbers = select_report(b, group, number, get_num_entries_and_set);
   nir_def *invocation = group->reports[0]->src[3].ssa; /* the same in all reports of a shader */

   gpuval_nir_build_report(b, &late_driver,
                           &(struct gpuval_nir_report_params){
                              .first_entry = select_report(b, group, number, get_first_entry),
                              .num_entries = nir_iand_imm(b, numbers, 0xffff),
                              .set = nir_ushr_imm(b, numbers, 16),
                              .offset = select_report(b, group, number, get_offset),
                              .slot = select_report(b, group, number, get_slot),
                              .invocation = {nir_channel(b, invocation, 0),
                                             nir_channel(b, invocation, 1),
                                             nir_channel(b, invocation, 2)},
                           });
}

static void
lower_group(struct late_state *state, struct group *group)
{
   nir_builder *b = &state->b;
   b->cursor = nir_before_instr(&group->reports[group->count - 1]->instr);

   nir_def *failed = group->reports[0]->src[0].ssa;
   for (unsigned i = 1; i < group->count; i++)
      failed = nir_ior(b, failed, group->reports[i]->src[0].ssa);

   nir_push_if(b, failed);
   if (group->count == 1) {
      build_report(b, group, NULL);
   } else {
      nir_variable *todo_var = nir_local_variable_create(b->impl, glsl_uint_type(), "todo");
      nir_def *todo = nir_imm_int(b, 0);
      for (unsigned i = 0; i < group->count; i++)
         todo = nir_ior(b, todo,
                        nir_bcsel(b, group->reports[i]->src[0].ssa, nir_imm_int(b, 1u << i),
                                  nir_imm_int(b, 0)));
      nir_store_var(b, todo_var, todo, 0x1);

      nir_loop *loop = nir_push_loop(b);
      {
         todo = nir_load_var(b, todo_var);
         nir_break_if(b, nir_ieq_imm(b, todo, 0));
         nir_store_var(b, todo_var, nir_iand(b, todo, nir_iadd_imm(b, todo, -1)), 0x1);
         build_report(b, group, nir_find_lsb(b, todo));
      }
      nir_pop_loop(b, loop);
   }
   nir_pop_if(b, NULL);

   for (unsigned i = 0; i < group->count; i++)
      nir_instr_remove(&group->reports[i]->instr);
}

/* Reports may wait for writes to memory, but not for what ends invocations or
 * lets others run.
 */
static bool
ends_group(nir_instr *instr)
{
   if (instr->type == nir_instr_type_jump || instr->type == nir_instr_type_call)
      return true;
   if (instr->type != nir_instr_type_intrinsic)
      return false;

   nir_intrinsic_instr *intrin = nir_instr_as_intrinsic(instr);
   switch (intrin->intrinsic) {
   case nir_intrinsic_store_ssbo:
   case nir_intrinsic_ssbo_atomic:
   case nir_intrinsic_ssbo_atomic_swap:
   case nir_intrinsic_store_global:
   case nir_intrinsic_global_atomic:
   case nir_intrinsic_global_atomic_swap:
   case nir_intrinsic_bindless_image_store:
   case nir_intrinsic_bindless_image_atomic:
   case nir_intrinsic_bindless_image_atomic_swap:
      return false;
   default:
      return !(nir_intrinsic_infos[intrin->intrinsic].flags & NIR_INTRINSIC_CAN_ELIMINATE);
   }
}

static void
add_group(struct util_dynarray *groups, struct group *group)
{
   if (group->count)
      util_dynarray_append(groups, struct group, *group);
   group->count = 0;
}

static void
collect_groups(nir_function_impl *impl, struct util_dynarray *groups)
{
   nir_foreach_block (block, impl) {
      struct group group = {.count = 0};

      nir_foreach_instr (instr, block) {
         if (instr->type == nir_instr_type_intrinsic &&
             nir_instr_as_intrinsic(instr)->intrinsic == nir_intrinsic_report_gpuval) {
            if (group.count == MAX_GROUP)
               add_group(groups, &group);
            group.reports[group.count++] = nir_instr_as_intrinsic(instr);
         } else if (ends_group(instr)) {
            add_group(groups, &group);
         }
      }
      add_group(groups, &group);
   }
}

bool
gpuval_radv_nir_lower_reports(nir_shader *nir, const struct gpuval_radv_nir_args *args)
{
   nir_function_impl *impl = nir_shader_get_entrypoint(nir);
   struct late_state state = {.b = nir_builder_create(impl), .args = args};
   struct util_dynarray groups;

   util_dynarray_init(&groups, NULL);
   collect_groups(impl, &groups);
   bool progress = groups.size > 0;
   util_dynarray_foreach (&groups, struct group, group)
      lower_group(&state, group);
   util_dynarray_fini(&groups);
   if (!progress) {
      nir_metadata_preserve(impl, nir_metadata_all);
      return false;
   }

   nir_metadata_preserve(impl, nir_metadata_none);
   nir_lower_vars_to_ssa(nir);
   nir_remove_dead_variables(nir, nir_var_function_temp, NULL);
   nir_validate_shader(nir, "after gpuval_radv_nir_lower_reports");
   return true;
}

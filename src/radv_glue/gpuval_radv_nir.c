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

#include "gpuval/src/base/gpuval_layout.h"
#include "gpuval/src/nir_passes/gpuval_nir.h"

#include "vulkan/vulkan_core.h"

/* STRIDE in word 1 of a descriptor, on every generation (amd/registers) */
#define TEXEL_STRIDE_SHIFT 16
#define TEXEL_STRIDE_BITS  14

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
      nir_def *index = nir_vulkan_resource_index(b, 3, 32, nir_imm_int(b, 0), .desc_set = number,
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

/* Bits 0 to 47 of the descriptor on every generation; addresses are
 * sign-extended (radeon_info::address32_hi).
 */
static nir_def *
base_address(nir_builder *b, nir_def *descriptor)
{
   nir_def *hi = nir_ishr_imm(b, nir_ishl_imm(b, nir_channel(b, descriptor, 1), 16), 16);

   return nir_pack_64_2x32_split(b, nir_channel(b, descriptor, 0), hi);
}

static nir_def *
early_buffer_address(nir_builder *b, nir_def *set, nir_def *slot)
{
   return base_address(b, nir_load_descriptor_gpuval(b, nir_trim_vector(b, slot_index(slot), 2)));
}

/* radv_make_texel_buffer_descriptor() has made it; its place is that of a buffer
 * in the set.
 */
static bool
texels(nir_builder *b, nir_deref_instr *deref, void *data, struct gpuval_nir_texels *out)
{
   const struct gpuval_radv_nir_layout *layout = data;
   const nir_variable *var = nir_deref_instr_get_variable(deref);
   uint32_t size;

   if (!var || layout->find(layout, var->data.descriptor_set, var->data.binding, &size) !=
                  GPUVAL_RADV_BINDING_SET)
      return false;

   nir_def *index = nir_imm_int(b, 0);
   for (; deref->deref_type == nir_deref_type_array; deref = nir_deref_instr_parent(deref)) {
      unsigned array_size = MAX2(glsl_get_aoa_size(deref->type), 1);
      index = nir_iadd(b, index, nir_imul_imm(b, deref->arr.index.ssa, array_size));
   }
   if (deref->deref_type != nir_deref_type_var)
      return false;

   bool is_image = glsl_type_is_image(glsl_without_array(var->type));
   nir_def *resource = nir_vulkan_resource_index(
      b, 3, 32, index, .desc_set = var->data.descriptor_set, .binding = var->data.binding,
      .desc_type = is_image ? VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER
                            : VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER);
   nir_def *descriptor = nir_load_descriptor_gpuval(b, nir_trim_vector(b, resource, 2));
   nir_def *stride =
      nir_ubfe_imm(b, nir_channel(b, descriptor, 1), TEXEL_STRIDE_SHIFT, TEXEL_STRIDE_BITS);
   nir_def *count = nir_channel(b, descriptor, 2);
   if (layout->texels_in_bytes)
      count = nir_udiv(b, count, nir_umax_imm(b, stride, 1));

   *out = (struct gpuval_nir_texels){
      .set = var->data.descriptor_set,
      .binding = var->data.binding,
      .slot = nir_channel(b, resource, 1),
      .address = base_address(b, descriptor),
      .count = count,
      .size = stride,
   };
   return true;
}

static nir_def *
early_command_id(nir_builder *b)
{
   return nir_load_command_gpuval(b, .base = offsetof(struct gpuval_command_data, command_id));
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
   .buffer_address = early_buffer_address,
   .texels = texels,
   .command_id = early_command_id,
   .invocation = invocation,
};

/* When there are arguments */

struct late_state {
   nir_builder b; /* which the passes hand to the driver's functions */
   const struct gpuval_radv_nir_args *args;
};

static const struct gpuval_radv_nir_args *
get_args(nir_builder *b)
{
   return container_of(b, const struct late_state, b)->args;
}

static nir_def *
extend_pointer(nir_builder *b, const struct gpuval_radv_nir_args *args, nir_def *pointer)
{
   return nir_pack_64_2x32_split(b, pointer, nir_imm_int(b, args->address32_hi));
}

static nir_def *
load_pointer(nir_builder *b, const struct gpuval_radv_nir_args *args, unsigned arg)
{
   return extend_pointer(b, args, nir_load_scalar_arg_amd(b, 1, .base = arg));
}

/* As RADV loads it for the access itself, so that this is done once. An index
 * that is not constant may differ between lanes.
 */
static nir_def *
build_descriptor(nir_builder *b, const struct gpuval_radv_nir_args *args, nir_def *index)
{
   nir_def *offset = nir_channel(b, index, 1);
   nir_def *set = extend_pointer(b, args, nir_channel(b, index, 0));

   if (nir_scalar_is_const(nir_scalar_resolved(offset, 0)))
      return nir_load_smem_amd(b, 4, set, offset, .align_mul = 16);
   return nir_build_load_global(b, 4, 32, add_64(b, set, offset),
                                .access = ACCESS_NON_WRITEABLE | ACCESS_CAN_REORDER,
                                .align_mul = 16);
}

static nir_def *
build_command_word(nir_builder *b, const struct gpuval_radv_nir_args *args, unsigned components,
                   unsigned offset)
{
   return nir_load_smem_amd(b, components, load_pointer(b, args, args->sets),
                            nir_imm_int(b, args->command_offset + offset), .align_mul = 4);
}

static nir_def *
build_invocation_number(nir_builder *b, const struct gpuval_radv_nir_args *args)
{
   nir_def *root = nir_pack_64_2x32(
      b, build_command_word(b, args, 2, offsetof(struct gpuval_command_data, root_address)));

   return nir_global_atomic(b, 32, nir_iadd_imm(b, root, offsetof(struct gpuval_root, invocations)),
                            nir_imm_int(b, 1), .atomic_op = nir_atomic_op_iadd);
}

static bool
lower_query(nir_builder *b, nir_intrinsic_instr *intrin, void *data)
{
   const struct gpuval_radv_nir_args *args = data;
   nir_def *result;

   b->cursor = nir_before_instr(&intrin->instr);
   switch (intrin->intrinsic) {
   case nir_intrinsic_load_descriptor_gpuval:
      result = build_descriptor(b, args, intrin->src[0].ssa);
      break;
   case nir_intrinsic_load_command_gpuval:
      result = build_command_word(b, args, 1, nir_intrinsic_base(intrin));
      break;
   case nir_intrinsic_invocation_gpuval:
      result = build_invocation_number(b, args);
      break;
   default:
      return false;
   }

   nir_def_replace(&intrin->def, result);
   return true;
}

bool
gpuval_radv_nir_lower_queries(nir_shader *nir, const struct gpuval_radv_nir_args *args)
{
   /* Which offsets are constant? */
   nir_opt_constant_folding(nir);
   return nir_shader_intrinsics_pass(nir, lower_query, nir_metadata_control_flow, (void *)args);
}

/* Reports */

static nir_def *
load_sets(nir_builder *b)
{
   return load_pointer(b, get_args(b), get_args(b)->sets);
}

/* The descriptor itself. A report that is not about a buffer reads one, too: where
 * no set is bound, the table leads to itself.
 */
static nir_def *
late_descriptor(nir_builder *b, nir_def *set, nir_def *slot)
{
   const struct gpuval_radv_nir_args *args = get_args(b);
   nir_def *table = load_sets(b);
   nir_def *pointer = nir_build_load_global(
      b, 1, 32, add_64(b, table, nir_imul_imm(b, set, sizeof(uint32_t))), .align_mul = 4);
   nir_def *address = extend_pointer(b, args, pointer);

   if (args->push_constants >= 0) {
      nir_def *is_dynamic = nir_ine_imm(b, nir_iand_imm(b, slot, GPUVAL_RADV_DYNAMIC), 0);
      address = nir_bcsel(b, is_dynamic, load_pointer(b, args, args->push_constants), address);
      slot = nir_iand_imm(b, slot, ~GPUVAL_RADV_DYNAMIC);
   }

   return nir_build_load_global(b, 4, 32, add_64(b, address, slot), .align_mul = 16);
}

static nir_def *
late_buffer_size(nir_builder *b, nir_def *set, nir_def *slot)
{
   return exact_size(b, late_descriptor(b, set, slot));
}

static nir_def *
late_buffer_address(nir_builder *b, nir_def *set, nir_def *slot)
{
   return base_address(b, late_descriptor(b, set, slot));
}

static nir_def *
root_address(nir_builder *b)
{
   return nir_pack_64_2x32(
      b, build_command_word(b, get_args(b), 2, offsetof(struct gpuval_command_data, root_address)));
}

static nir_def *
command_id(nir_builder *b)
{
   return build_command_word(b, get_args(b), 1, offsetof(struct gpuval_command_data, command_id));
}

static nir_def *
epoch(nir_builder *b)
{
   return build_command_word(b, get_args(b), 1, offsetof(struct gpuval_command_data, epoch));
}

static nir_def *
sync_flags(nir_builder *b)
{
   return build_command_word(b, get_args(b), 1, offsetof(struct gpuval_command_data, sync_flags));
}

static nir_def *
epoch_command(nir_builder *b)
{
   return build_command_word(b, get_args(b), 1,
                             offsetof(struct gpuval_command_data, epoch_command));
}

static const struct gpuval_nir_driver late_driver = {
   .buffer_size = late_buffer_size,
   .buffer_address = late_buffer_address,
   .root_address = root_address,
   .command_id = command_id,
   .epoch = epoch,
   .sync_flags = sync_flags,
   .epoch_command = epoch_command,
};

#define MAX_GROUP 32 /* bits of the mask below */

/* Intrinsics of one block and of one kind with nothing between them that they
 * must not wait for
 */
struct group {
   nir_intrinsic_instr *intrins[MAX_GROUP];
   unsigned count;
};

static nir_scalar
get_src(const struct group *group, unsigned i, unsigned src, unsigned component)
{
   return nir_scalar_chase_movs(nir_get_scalar(group->intrins[i]->src[src].ssa, component));
}

/* Of number @i, which is the same in all lanes or not */
static nir_def *
select_src(nir_builder *b, const struct group *group, nir_def *i, unsigned src, unsigned component)
{
   nir_scalar first = get_src(group, 0, src, component);
   nir_def *result = nir_channel(b, first.def, first.comp);

   for (unsigned j = 1; j < group->count; j++) {
      nir_scalar other = get_src(group, j, src, component);
      if (!nir_scalar_equal(other, first))
         result = nir_bcsel(b, nir_ieq_imm(b, i, j), nir_channel(b, other.def, other.comp), result);
   }
   return result;
}

static nir_def *
select_constant(nir_builder *b, const struct group *group, nir_def *i,
                uint32_t (*get)(const nir_intrinsic_instr *intrin))
{
   nir_def *result = nir_imm_int(b, get(group->intrins[0]));

   for (unsigned j = 1; j < group->count; j++)
      result = nir_bcsel(b, nir_ieq_imm(b, i, j), nir_imm_int(b, get(group->intrins[j])), result);
   return result;
}

static uint32_t
get_base(const nir_intrinsic_instr *intrin)
{
   return nir_intrinsic_base(intrin);
}

/* num_entries | set << 16 */
static uint32_t
get_report_word(const nir_intrinsic_instr *report)
{
   return nir_intrinsic_range(report) | nir_intrinsic_desc_set(report) << 16;
}

static void
build_report(nir_builder *b, const struct group *group, nir_def *i)
{
   nir_def *word = select_constant(b, group, i, get_report_word);

   gpuval_nir_build_report(
      b, &late_driver,
      &(struct gpuval_nir_report_params){
         .first_entry = select_constant(b, group, i, get_base),
         .num_entries = nir_iand_imm(b, word, 0xffff),
         .set = nir_ushr_imm(b, word, 16),
         .offset = select_src(b, group, i, 1, 0),
         .slot = select_src(b, group, i, 2, 0),
         .invocation = {select_src(b, group, i, 3, 0), select_src(b, group, i, 3, 1),
                        select_src(b, group, i, 3, 2)},
      });
}

/* One branch for all, a loop for those that have failed */
static void
lower_reports(nir_builder *b, const struct group *group)
{
   nir_def *failed = group->intrins[0]->src[0].ssa;
   for (unsigned i = 1; i < group->count; i++)
      failed = nir_ior(b, failed, group->intrins[i]->src[0].ssa);

   nir_push_if(b, failed);
   if (group->count == 1) {
      build_report(b, group, NULL);
   } else {
      nir_variable *todo_var = nir_local_variable_create(b->impl, glsl_uint_type(), "todo");
      nir_def *todo = nir_imm_int(b, 0);
      for (unsigned i = 0; i < group->count; i++)
         todo = nir_ior(b, todo,
                        nir_bcsel(b, group->intrins[i]->src[0].ssa, nir_imm_int(b, 1u << i),
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
}

/* flags | set << 8 */
static uint32_t
get_access_word(const nir_intrinsic_instr *access)
{
   return nir_intrinsic_flags(access) | nir_intrinsic_desc_set(access) << 8;
}

/* Sources of @sync_gpuval */
enum {
   ACCESS_ACTIVE,
   ACCESS_ADDRESS,
   ACCESS_SIZE,
   ACCESS_OFFSET,
   ACCESS_SLOT,
   ACCESS_CONTEXT,
   ACCESS_INVOCATION,
};

static void
build_access(nir_builder *b, const struct group *group, nir_def *i)
{
   nir_def *on = nir_ieq_imm(b, nir_iand_imm(b, sync_flags(b), GPUVAL_RADV_SYNC_OFF), 0);

   nir_push_if(b, nir_iand(b, on, select_src(b, group, i, ACCESS_ACTIVE, 0)));
   {
      nir_def *word = select_constant(b, group, i, get_access_word);
      nir_def *flags = nir_iand_imm(b, word, 0xff);

      gpuval_nir_build_access(
         b, &late_driver, get_args(b)->hashes,
         &(struct gpuval_nir_access_params){
            .address = select_src(b, group, i, ACCESS_ADDRESS, 0),
            .size = select_src(b, group, i, ACCESS_SIZE, 0),
            .type = nir_iand_imm(b, flags, GPUVAL_SYNC_TYPE_MASK),
            .entry = select_constant(b, group, i, get_base),
            .invocation_id = select_src(b, group, i, ACCESS_CONTEXT, 0),
            .has_phases = nir_ine_imm(b, nir_iand_imm(b, flags, GPUVAL_SYNC_HAS_PHASES), 0),
            .token = select_src(b, group, i, ACCESS_CONTEXT, 1),
            .phase = select_src(b, group, i, ACCESS_CONTEXT, 2),
            .set = nir_ushr_imm(b, word, 8),
            .offset = select_src(b, group, i, ACCESS_OFFSET, 0),
            .slot = select_src(b, group, i, ACCESS_SLOT, 0),
            .invocation = {select_src(b, group, i, ACCESS_INVOCATION, 0),
                           select_src(b, group, i, ACCESS_INVOCATION, 1),
                           select_src(b, group, i, ACCESS_INVOCATION, 2)},
         });
   }
   nir_pop_if(b, NULL);
}

/* A loop over all: the code for one of them is long. */
static void
lower_accesses(nir_builder *b, const struct group *group)
{
   if (group->count == 1) {
      build_access(b, group, NULL);
      return;
   }

   nir_variable *i_var = nir_local_variable_create(b->impl, glsl_uint_type(), "i");
   nir_store_var(b, i_var, nir_imm_int(b, 0), 0x1);
   nir_loop *loop = nir_push_loop(b);
   {
      nir_def *i = nir_load_var(b, i_var);
      nir_break_if(b, nir_uge_imm(b, i, group->count));
      nir_store_var(b, i_var, nir_iadd_imm(b, i, 1), 0x1);
      build_access(b, group, i);
   }
   nir_pop_loop(b, loop);
}

/* At the last one, where all sources are known */
static void
lower_group(struct late_state *state, const struct group *group)
{
   nir_intrinsic_instr *last = group->intrins[group->count - 1];

   state->b.cursor = nir_before_instr(&last->instr);
   if (last->intrinsic == nir_intrinsic_report_gpuval)
      lower_reports(&state->b, group);
   else
      lower_accesses(&state->b, group);

   for (unsigned i = 0; i < group->count; i++)
      nir_instr_remove(&group->intrins[i]->instr);
}

/* They may wait for loads and for writes to memory, but not for what ends
 * invocations or lets others run.
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
   case nir_intrinsic_report_gpuval:
   case nir_intrinsic_sync_gpuval:
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
collect_groups(nir_function_impl *impl, nir_intrinsic_op op, struct util_dynarray *groups)
{
   nir_foreach_block (block, impl) {
      struct group group = {.count = 0};

      nir_foreach_instr (instr, block) {
         if (instr->type == nir_instr_type_intrinsic &&
             nir_instr_as_intrinsic(instr)->intrinsic == op) {
            if (group.count == MAX_GROUP)
               add_group(groups, &group);
            group.intrins[group.count++] = nir_instr_as_intrinsic(instr);
         } else if (ends_group(instr)) {
            add_group(groups, &group);
         }
      }
      add_group(groups, &group);
   }
}

static bool
lower_messages(struct late_state *state)
{
   bool progress = false;

   nir_foreach_block_safe (block, state->b.impl) {
      nir_foreach_instr_safe (instr, block) {
         if (instr->type == nir_instr_type_intrinsic &&
             nir_instr_as_intrinsic(instr)->intrinsic == nir_intrinsic_printf_gpuval) {
            gpuval_nir_lower_message(&state->b, &late_driver, nir_instr_as_intrinsic(instr));
            progress = true;
         }
      }
   }
   return progress;
}

bool
gpuval_radv_nir_lower_reports(nir_shader *nir, const struct gpuval_radv_nir_args *args)
{
   nir_function_impl *impl = nir_shader_get_entrypoint(nir);
   struct late_state state = {.b = nir_builder_create(impl), .args = args};
   struct util_dynarray groups;

   util_dynarray_init(&groups, NULL);
   bool progress = lower_messages(&state);
   collect_groups(impl, nir_intrinsic_report_gpuval, &groups);
   collect_groups(impl, nir_intrinsic_sync_gpuval, &groups);
   progress |= groups.size > 0;
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

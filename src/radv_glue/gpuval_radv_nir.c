/* SPDX-License-Identifier: MIT */

/* RADV, as the passes see it when they instrument a shader.
 *
 * At the hook, resource indices are still those of Vulkan. The size of a range
 * is in its descriptor, which @load_descriptor_gpuval stands for until
 * radv_nir_apply_pipeline_layout has made addresses of the indices.
 */

#include "gpuval_radv_nir.h"

#include "gpuval/src/base/gpuval_layout.h"
#include "gpuval/src/nir_passes/gpuval_nir.h"

#include "vulkan/vulkan_core.h"

/* STRIDE in word 1 of a descriptor, on every generation (amd/registers) */
#define TEXEL_STRIDE_SHIFT 16
#define TEXEL_STRIDE_BITS  14

static enum gpuval_radv_binding
find_binding(const struct gpuval_radv_nir_layout *layout, nir_binding binding, uint32_t *size)
{
   *size = 0;
   return binding.success ? layout->find(layout, binding.desc_set, binding.binding, size)
                          : GPUVAL_RADV_BINDING_NONE;
}

static bool
describe(const struct gpuval_nir_driver *driver, const nir_intrinsic_instr *intrin,
         struct gpuval_nir_buffer *buffer)
{
   nir_binding binding = nir_chase_binding(*gpuval_nir_index_src((nir_intrinsic_instr *)intrin));
   uint32_t size;
   enum gpuval_radv_binding kind = find_binding(driver->data, binding, &size);

   *buffer = (struct gpuval_nir_buffer){
      .set = binding.success ? binding.desc_set : -1,
      .binding = binding.success ? binding.binding : -1,
      .size = size,
   };
   return !binding.success || kind != GPUVAL_RADV_BINDING_NONE;
}

static nir_def *
slot(const struct gpuval_nir_driver *driver, nir_builder *b, nir_intrinsic_instr *intrin)
{
   nir_src *index = gpuval_nir_index_src(intrin);
   uint32_t size;
   nir_def *offset = nir_channel(b, index->ssa, 1);

   if (find_binding(driver->data, nir_chase_binding(*index), &size) == GPUVAL_RADV_BINDING_DYNAMIC)
      return nir_ior_imm(b, offset, GPUVAL_RADV_DYNAMIC);
   return offset;
}

/* The resource index that slot() has made its result from */
static nir_def *
slot_index(nir_def *slot)
{
   nir_alu_instr *alu = nir_instr_as_alu(nir_def_instr(slot));

   if (alu->op == nir_op_ior)
      alu = nir_instr_as_alu(nir_def_instr(alu->src[0].src.ssa));
   assert(alu->op == nir_op_mov && alu->src[0].swizzle[0] == 1);
   return alu->src[0].src.ssa;
}

/* A variable pointer leads to the set whose address it has. Dynamic buffers
 * have no address of their own and stay unknown.
 */
static nir_def *
set(const struct gpuval_nir_driver *driver, nir_builder *b, nir_intrinsic_instr *intrin)
{
   const struct gpuval_radv_nir_layout *layout = driver->data;
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

nir_def *
gpuval_radv_nir_exact_size(nir_builder *b, nir_def *descriptor)
{
   nir_def *rounded = nir_ubfe_imm(b, nir_channel(b, descriptor, 3), GPUVAL_RADV_ROUNDED_SHIFT,
                                   util_bitcount(GPUVAL_RADV_ROUNDED_MASK));

   return nir_isub(b, nir_channel(b, descriptor, 2), rounded);
}

/* With a check for indices, GPUVAL_SAFE keeps accesses away from what is no descriptor, and
 * so do we.
 */
static nir_def *
load_descriptor(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *resource)
{
   nir_binding binding = nir_chase_binding(nir_src_for_ssa(resource));
   nir_def *index = nir_trim_vector(b, resource, 2);
   uint32_t size;

   if (driver->descriptors && binding.success && binding.num_indices == 1 &&
       !nir_src_is_const(binding.indices[0]) &&
       find_binding(driver->data, binding, &size) == GPUVAL_RADV_BINDING_SET)
      index =
         nir_vec2(b, nir_channel(b, index, 0),
                  gpuval_radv_nir_clamp(driver, b, binding.desc_set, nir_channel(b, index, 1)));
   return nir_load_descriptor_gpuval(b, index);
}

/* The shadow of a descriptor at a constant index, which the check descriptor looks at anyway, or
 * NULL
 */
static nir_def *
load_shadow(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *resource)
{
   const struct gpuval_radv_nir_layout *data = driver->data;
   nir_binding binding = nir_chase_binding(nir_src_for_ssa(resource));
   struct gpuval_nir_binding layout;

   if (!data->looks_up || !driver->descriptors || !binding.success || binding.num_indices != 1 ||
       !nir_src_is_const(binding.indices[0]))
      return NULL;

   uint32_t index = nir_src_as_uint(binding.indices[0]);
   driver->descriptors->binding(driver, binding.desc_set, binding.binding, &layout);
   return layout.is_unknown || layout.is_variable || index >= layout.count
             ? NULL
             : gpuval_radv_nir_load_constant(driver, b, binding.desc_set,
                                             layout.first_slot + index * layout.stride);
}

static nir_def *
buffer_size(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *set, nir_def *slot)
{
   nir_def *shadow = load_shadow(driver, b, slot_index(slot));
   if (shadow)
      return nir_channel(b, shadow, 3);
   return gpuval_radv_nir_exact_size(b, load_descriptor(driver, b, slot_index(slot)));
}

/* Bits 0 to 47 of the descriptor on every generation; addresses are
 * sign-extended (radeon_info::address32_hi).
 */
nir_def *
gpuval_radv_nir_base_address(nir_builder *b, nir_def *descriptor)
{
   nir_def *hi = nir_ishr_imm(b, nir_ishl_imm(b, nir_channel(b, descriptor, 1), 16), 16);

   return nir_pack_64_2x32_split(b, nir_channel(b, descriptor, 0), hi);
}

static nir_def *
buffer_address(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *set, nir_def *slot)
{
   return gpuval_radv_nir_base_address(b, load_descriptor(driver, b, slot_index(slot)));
}

/* radv_make_texel_buffer_descriptor() has made it; its place is that of a buffer
 * in the set.
 */
static bool
texels(const struct gpuval_nir_driver *driver, nir_builder *b, nir_instr *instr,
       nir_deref_instr *deref, struct gpuval_nir_texels *out)
{
   const struct gpuval_radv_nir_layout *layout = driver->data;
   const nir_variable *var = gpuval_nir_find_variable(deref);
   uint32_t size;

   if (!var || layout->find(layout, var->data.descriptor_set, var->data.binding, &size) !=
                  GPUVAL_RADV_BINDING_SET)
      return false;

   nir_def *index = nir_imm_int(b, 0);
   for (; deref->deref_type == nir_deref_type_array; deref = nir_deref_instr_parent(deref)) {
      unsigned array_size = MAX2(glsl_get_aoa_size(deref->type), 1);
      index = nir_iadd(b, index, nir_imul_imm(b, deref->arr.index.ssa, array_size));
   }

   bool is_image = glsl_type_is_image(glsl_without_array(var->type));
   nir_def *resource = nir_vulkan_resource_index(
      b, 3, 32, index, .desc_set = var->data.descriptor_set, .binding = var->data.binding,
      .desc_type = is_image ? VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER
                            : VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER);
   nir_def *descriptor = load_descriptor(driver, b, resource);
   nir_def *stride =
      nir_ubfe_imm(b, nir_channel(b, descriptor, 1), TEXEL_STRIDE_SHIFT, TEXEL_STRIDE_BITS);
   nir_def *count = nir_channel(b, descriptor, 2);
   if (layout->texels_in_bytes)
      count = nir_udiv(b, count, nir_umax_imm(b, stride, 1));

   *out = (struct gpuval_nir_texels){
      .set = var->data.descriptor_set,
      .binding = var->data.binding,
      .slot = nir_channel(b, resource, 1),
      .address = gpuval_radv_nir_base_address(b, descriptor),
      .count = count,
      .size = stride,
   };
   return true;
}

/* @load_command_gpuval has the offset in struct gpuval_radv_command_data. */
#define BASE(name)                                                                                 \
   (offsetof(struct gpuval_radv_command_data, base) + offsetof(struct gpuval_command_data, name))

static nir_def *
root_address(const struct gpuval_nir_driver *driver, nir_builder *b)
{
   const unsigned base = BASE(root_address);

   return nir_pack_64_2x32_split(b, nir_load_command_gpuval(b, .base = base),
                                 nir_load_command_gpuval(b, .base = base + 4));
}

static nir_def *
command_id(const struct gpuval_nir_driver *driver, nir_builder *b)
{
   return nir_load_command_gpuval(b, .base = BASE(command_id));
}

static nir_def *
execution(const struct gpuval_nir_driver *driver, nir_builder *b)
{
   return nir_load_command_gpuval(b, .base = BASE(execution));
}

static nir_def *
invocation(const struct gpuval_nir_driver *driver, nir_builder *b)
{
   nir_def *zero = nir_imm_int(b, 0);

   switch (b->shader->info.stage) {
   case MESA_SHADER_VERTEX:
      return nir_vec3(b, nir_iadd(b, nir_load_vertex_id_zero_base(b), nir_load_first_vertex(b)),
                      nir_iadd(b, nir_load_instance_id(b), nir_load_base_instance(b)),
                      nir_iadd_imm(b, nir_load_draw_id(b), 1));
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

/* As radv_physical_device.c has it. What a mesh shader puts out lies beside its own. */
static uint32_t
max_shared_size(const struct gpuval_nir_driver *driver, mesa_shader_stage stage)
{
   const struct gpuval_radv_nir_layout *layout = driver->data;
   return stage == MESA_SHADER_MESH ? 28672 : layout->max_shared_size;
}

/* It is what the descriptor has. */
static nir_def *
structure_address(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *structure)
{
   return structure->bit_size == 64 ? structure : NULL;
}

static nir_def *
empty_structure(const struct gpuval_nir_driver *driver, nir_builder *b)
{
   const struct gpuval_radv_nir_layout *layout = driver->data;
   return nir_imm_int64(b, layout->null_structure);
}

/* Of 64 bits in waves of any size */
static nir_def *
active_lanes(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *condition)
{
   return nir_ballot(b, 1, 64, condition);
}

const struct gpuval_nir_driver gpuval_radv_nir_driver = {
   .describe = describe,
   .slot = slot,
   .set = set,
   .buffer_size = buffer_size,
   .buffer_address = buffer_address,
   .texels = texels,
   .extent = gpuval_radv_nir_extent,
   .strides = gpuval_radv_nir_strides,
   .lod_limits = gpuval_radv_nir_lod_limits,
   .descriptors = &gpuval_radv_nir_descriptors,
   .structure_address = structure_address,
   .empty_structure = empty_structure,
   .root_address = root_address,
   .command_id = command_id,
   .execution = execution,
   .invocation = invocation,
   .max_shared_size = max_shared_size,
   .active_lanes = active_lanes,
   .subgroup_bits = 6,
   .inlines_functions = true,
   .has_carry = true,
};

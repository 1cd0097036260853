/* SPDX-License-Identifier: MIT */

/* lavapipe and llvmpipe, as the passes see them. */

#include "gpuval_lvp_nir.h"

#include "gpuval/src/base/gpuval_layout.h"
#include "gpuval/src/nir_passes/gpuval_nir.h"
#include "gpuval/src/nir_passes/gpuval_nir_local.h"

/* struct lp_descriptor: a buffer begins with struct lp_jit_buffer. gpuval_lvp.c asserts that it is
 * so. TEXTURE is in struct lp_jit_texture (gpuval_lvp_descriptor.h).
 */
#define DESCRIPTOR_STRIDE            GPUVAL_LVP_DESCRIPTOR_STRIDE
#define DESCRIPTOR_BUFFER_ADDRESS    0
#define DESCRIPTOR_BUFFER_SIZE       GPUVAL_LVP_DESCRIPTOR_BUFFER_SIZE
#define DESCRIPTOR_STRUCTURE_ADDRESS 0
/* struct lp_jit_texture or lp_jit_image; the size of a texel is in the upper half. */
#define DESCRIPTOR_TEXEL_ADDRESS      0
#define DESCRIPTOR_TEXEL_COUNT        8
#define DESCRIPTOR_IMAGE_TEXEL_SIZE   16
#define DESCRIPTOR_TEXTURE_TEXEL_SIZE 144
/* The same of all images, and what textures have beside it */
#define DESCRIPTOR_IMAGE_WIDTH         8
#define DESCRIPTOR_IMAGE_HEIGHT        12
#define DESCRIPTOR_IMAGE_DEPTH         14
#define DESCRIPTOR_IMAGE_SAMPLES       16
#define DESCRIPTOR_TEXTURE_FIRST_LEVEL 144
#define DESCRIPTOR_TEXTURE_LAST_LEVEL  145
/* Where subresources are */
#define DESCRIPTOR_IMAGE_SAMPLE_STRIDE   20
#define DESCRIPTOR_IMAGE_ROW_STRIDE      24
#define DESCRIPTOR_IMAGE_LAYER_STRIDE    28
#define DESCRIPTOR_IMAGE_RESIDENCY       32 /* null, or the image is sparse */
#define DESCRIPTOR_TEXTURE_LAYER_STRIDES 80 /* by level of the resource */
#define DESCRIPTOR_TEXTURE_LEVEL_OFFSETS 148
#define DESCRIPTOR_TEXTURE_MAX_LEVELS    16
#define DESCRIPTOR_SAMPLER_LOD           GPUVAL_LVP_DESCRIPTOR_SAMPLER_LOD /* minimum, maximum, bias */

/* lvp_lower_pipeline_layout makes (set + 1, slot, 0) of every resource index. */
static nir_def *
slot(const struct gpuval_nir_driver *driver, nir_builder *b, nir_intrinsic_instr *intrin)
{
   return nir_channel(b, gpuval_nir_index_src(intrin)->ssa, 1);
}

static nir_def *
set(const struct gpuval_nir_driver *driver, nir_builder *b, nir_intrinsic_instr *intrin)
{
   return nir_iadd_imm(b, nir_channel(b, gpuval_nir_index_src(intrin)->ssa, 0), -1);
}

static nir_def *
load_constants(nir_builder *b, unsigned bit_size, nir_def *buffer, nir_def *offset)
{
   return nir_load_ubo(b, 1, bit_size, buffer, offset, .align_mul = bit_size / 8, .range = ~0);
}

/* By fours, of which those that are asked for again are found: gpuval_lvp_gallivm_load.c */
static nir_def *
load_descriptor(nir_builder *b, unsigned bit_size, nir_def *set, nir_def *slot, unsigned offset)
{
   nir_def *index = nir_vec3(b, nir_iadd_imm(b, set, 1), slot, nir_imm_int(b, offset & ~15u));
   nir_def *words = nir_load_descriptor_gpuval(b, index);
   nir_def *word = nir_channel(b, words, offset % 16 / 4);

   assert(offset % (bit_size / 8) == 0);
   return bit_size == 64
             ? nir_pack_64_2x32_split(b, word, nir_channel(b, words, offset % 16 / 4 + 1))
             : word;
}

static nir_def *root_address(const struct gpuval_nir_driver *driver, nir_builder *b);

/* Of struct lp_jit_texture, @offset being a number of bytes; 0 where a descriptor has none */
static nir_def *
load_texture_at(nir_builder *b, nir_def *set, nir_def *slot, nir_def *offset)
{
   if (!GPUVAL_LVP_HAS_TEXTURE_STATE) {
      offset = nir_iadd(b, offset, nir_imul_imm(b, slot, DESCRIPTOR_STRIDE));
      return load_constants(b, 32, nir_iadd_imm(b, set, 1), offset);
   }

   nir_def *functions = load_descriptor(b, 64, set, slot, GPUVAL_LVP_DESCRIPTOR_FUNCTIONS);
   nir_def *is_there = nir_ine_imm(b, functions, 0);
   nir_def *state =
      nir_iadd(b, nir_iadd_imm(b, functions, GPUVAL_LVP_FUNCTIONS_TEXTURE), nir_u2u64(b, offset));
   nir_def *address = nir_bcsel(b, is_there, state, root_address(NULL, b));
   return nir_bcsel(b, is_there, gpuval_load_global(b, address, 4, 1, 32), nir_imm_int(b, 0));
}

static nir_def *
load_texture(nir_builder *b, nir_def *set, nir_def *slot, unsigned offset)
{
   return GPUVAL_LVP_HAS_TEXTURE_STATE ? load_texture_at(b, set, slot, nir_imm_int(b, offset))
                                       : load_descriptor(b, 32, set, slot, offset);
}

/* Of what begins as struct lp_jit_texture does, and struct lp_jit_image */
static nir_def *
load_view(nir_builder *b, bool is_texture, nir_def *set, nir_def *slot, unsigned offset)
{
   return is_texture ? load_texture(b, set, slot, offset)
                     : load_descriptor(b, 32, set, slot, offset);
}

static nir_def *
buffer_size(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *set, nir_def *slot)
{
   return load_descriptor(b, 32, set, slot, DESCRIPTOR_BUFFER_SIZE);
}

static nir_def *
buffer_address(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *set, nir_def *slot)
{
   return load_descriptor(b, 64, set, slot, DESCRIPTOR_BUFFER_ADDRESS);
}

static nir_def *
is_past_end(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *set, nir_def *slot)
{
   nir_def *functions = load_descriptor(b, 64, set, slot, GPUVAL_LVP_DESCRIPTOR_FUNCTIONS);

   return nir_ieq_imm(b, functions, GPUVAL_LVP_PAST_END);
}

/* As lvp_lower_pipeline_layout has it. */
static bool
texels(const struct gpuval_nir_driver *driver, nir_builder *b, nir_instr *instr,
       nir_deref_instr *deref, struct gpuval_nir_texels *out)
{
   const struct gpuval_lvp_nir_layout *layout = driver->data;
   nir_def *index = nir_imm_int(b, 0);

   while (deref && deref->deref_type == nir_deref_type_array) {
      unsigned array_size = MAX2(glsl_get_aoa_size(deref->type), 1);
      index = nir_iadd(b, index, nir_imul_imm(b, deref->arr.index.ssa, array_size));
      deref = nir_deref_instr_parent(deref);
   }
   if (!deref || deref->deref_type != nir_deref_type_var)
      return false;

   const nir_variable *var = deref->var;
   bool is_image = glsl_type_is_image(glsl_without_array(var->type));
   struct gpuval_lvp_nir_binding binding =
      layout->binding(layout, var->data.descriptor_set, var->data.binding);

   *out = (struct gpuval_nir_texels){
      .set = var->data.descriptor_set,
      .binding = var->data.binding,
      .slot = gpuval_nir_uniform_slot(
         b, driver, instr,
         nir_iadd_imm(b, nir_imul_imm(b, index, binding.stride), binding.first_slot)),
   };
   nir_def *set = nir_imm_int(b, out->set);
   out->address = load_descriptor(b, 64, set, out->slot, DESCRIPTOR_TEXEL_ADDRESS);
   out->count = load_view(b, !is_image, set, out->slot, DESCRIPTOR_TEXEL_COUNT);
   out->size = nir_ushr_imm(
      b,
      load_view(b, !is_image, set, out->slot,
                is_image ? DESCRIPTOR_IMAGE_TEXEL_SIZE : DESCRIPTOR_TEXTURE_TEXEL_SIZE),
      16);
   return true;
}

/* As lvp_lower_pipeline_layout and lvp_nir_lower_ray_queries have it */
static nir_def *
structure_address(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *structure)
{
   const struct gpuval_lvp_nir_layout *layout = driver->data;
   nir_intrinsic_instr *load = nir_src_as_intrinsic(nir_src_for_ssa(structure));
   if (!load || load->intrinsic != nir_intrinsic_load_vulkan_descriptor)
      return structure; /* OpConvertUToAccelerationStructureKHR */

   nir_def *index = nir_imm_int(b, 0);
   nir_intrinsic_instr *resource = nir_src_as_intrinsic(load->src[0]);
   while (resource && resource->intrinsic == nir_intrinsic_vulkan_resource_reindex) {
      index = nir_iadd(b, index, resource->src[1].ssa);
      resource = nir_src_as_intrinsic(resource->src[0]);
   }
   if (!resource || resource->intrinsic != nir_intrinsic_vulkan_resource_index)
      return NULL;

   uint32_t set = nir_intrinsic_desc_set(resource);
   uint32_t first = layout->binding(layout, set, nir_intrinsic_binding(resource)).first_slot;
   nir_def *slot = nir_iadd_imm(b, nir_iadd(b, index, resource->src[0].ssa), first);
   return load_descriptor(b, 64, nir_imm_int(b, set), slot, DESCRIPTOR_STRUCTURE_ADDRESS);
}

static nir_def *
load_half(nir_builder *b, bool is_texture, nir_def *set, nir_def *slot, unsigned offset)
{
   nir_def *word = load_view(b, is_texture, set, slot, offset & ~3u);
   return offset & 2 ? nir_ushr_imm(b, word, 16) : nir_iand_imm(b, word, 0xffff);
}

static nir_def *
load_byte(nir_builder *b, bool is_texture, nir_def *set, nir_def *slot, unsigned offset)
{
   return nir_ubitfield_extract_imm(b, load_view(b, is_texture, set, slot, offset & ~3u),
                                    (offset & 3) * 8, 8);
}

static nir_def *
minify(nir_builder *b, nir_def *size, nir_def *level)
{
   return nir_umax_imm(b, nir_ushr(b, size, nir_umin_imm(b, level, 31)), 1);
}

/* Images have the size of their level, textures that of their resource's level 0. A view
 * of one layer of an array has 1 layer.
 */
static void
extent(const struct gpuval_nir_driver *driver, nir_builder *b, bool is_texture,
       enum glsl_sampler_dim dim, uint32_t set_index, nir_def *slot, nir_def *level,
       struct gpuval_nir_extent *out)
{
   nir_def *set = nir_imm_int(b, set_index);
   nir_def *width = load_view(b, is_texture, set, slot, DESCRIPTOR_IMAGE_WIDTH);

   *out = (struct gpuval_nir_extent){
      .size = {width, load_half(b, is_texture, set, slot, DESCRIPTOR_IMAGE_HEIGHT),
               load_half(b, is_texture, set, slot, DESCRIPTOR_IMAGE_DEPTH)},
      .known = nir_ine_imm(b, width, 0), /* else a null descriptor, or none */
   };
   if (!is_texture) {
      out->samples = load_byte(b, false, set, slot, DESCRIPTOR_IMAGE_SAMPLES);
      return;
   }

   nir_def *first = load_byte(b, true, set, slot, DESCRIPTOR_TEXTURE_FIRST_LEVEL);
   nir_def *last = load_byte(b, true, set, slot, DESCRIPTOR_TEXTURE_LAST_LEVEL);
   out->samples = last; /* of what is multisampled */
   out->levels = nir_iadd_imm(b, nir_isub(b, last, first), 1);
   nir_def *resource_level = level ? nir_iadd(b, first, level) : first;
   for (unsigned i = 0; i < (dim == GLSL_SAMPLER_DIM_3D ? 3 : 2); i++)
      out->size[i] = minify(b, out->size[i], resource_level);
}

static void
strides(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *set, nir_def *slot,
        struct gpuval_nir_strides *out)
{
   nir_def *address = load_descriptor(b, 64, set, slot, DESCRIPTOR_TEXEL_ADDRESS);
   nir_def *residency = load_descriptor(b, 64, set, slot, DESCRIPTOR_IMAGE_RESIDENCY);

   *out = (struct gpuval_nir_strides){
      .address = address,
      .size = load_half(b, false, set, slot, DESCRIPTOR_IMAGE_TEXEL_SIZE + 2),
      .row = load_descriptor(b, 32, set, slot, DESCRIPTOR_IMAGE_ROW_STRIDE),
      .layer = load_descriptor(b, 32, set, slot, DESCRIPTOR_IMAGE_LAYER_STRIDE),
      .sample = load_descriptor(b, 32, set, slot, DESCRIPTOR_IMAGE_SAMPLE_STRIDE),
      .is_linear = nir_iand(b, nir_ine_imm(b, address, 0), nir_ieq_imm(b, residency, 0)),
   };
}

/* Those of what is multisampled are one. */
static nir_def *
levels(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *set, nir_def *slot)
{
   nir_def *first = load_byte(b, true, set, slot, DESCRIPTOR_TEXTURE_FIRST_LEVEL);
   nir_def *last = load_byte(b, true, set, slot, DESCRIPTOR_TEXTURE_LAST_LEVEL);

   return nir_iadd_imm(b, nir_isub(b, nir_umax(b, last, first), first), 1);
}

static nir_def *
load_of_level(nir_builder *b, const struct gpuval_nir_subresource *subresource, nir_def *level,
              unsigned offset)
{
   nir_def *at = nir_iadd_imm(b, nir_imul_imm(b, level, sizeof(uint32_t)), offset);
   return load_texture_at(b, subresource->set, subresource->slot, at);
}

static nir_def *
subresource(const struct gpuval_nir_driver *driver, nir_builder *b,
            const struct gpuval_nir_subresource *subresource)
{
   nir_def *set = subresource->set, *slot = subresource->slot;
   nir_def *base = load_descriptor(b, 64, set, slot, DESCRIPTOR_TEXEL_ADDRESS);
   nir_def *width = load_descriptor(b, 32, set, slot, DESCRIPTOR_IMAGE_WIDTH);
   nir_def *depth = load_half(b, false, set, slot, DESCRIPTOR_IMAGE_DEPTH);
   if (GPUVAL_LVP_HAS_TEXTURE_STATE) { /* else a texture's is there, too */
      width = nir_bcsel(b, subresource->is_texture,
                        load_texture(b, set, slot, DESCRIPTOR_IMAGE_WIDTH), width);
      depth = nir_bcsel(b, subresource->is_texture,
                        load_half(b, true, set, slot, DESCRIPTOR_IMAGE_DEPTH), depth);
   }
   nir_def *first = load_byte(b, true, set, slot, DESCRIPTOR_TEXTURE_FIRST_LEVEL);
   nir_def *level = nir_iadd(b, first, subresource->level);
   nir_def *has_level = nir_ior(b, nir_ult(b, subresource->level, levels(driver, b, set, slot)),
                                nir_inot(b, subresource->is_texture));
   nir_def *layer = nir_umin(b, subresource->layer, nir_iadd_imm(b, nir_umax_imm(b, depth, 1), -1));
   level = nir_umin_imm(b, level, DESCRIPTOR_TEXTURE_MAX_LEVELS - 1);

   nir_def *offset = load_of_level(b, subresource, level, DESCRIPTOR_TEXTURE_LEVEL_OFFSETS);
   offset = nir_bcsel(b, subresource->is_texture, offset, nir_imm_int(b, 0));
   nir_def *stride =
      nir_bcsel(b, subresource->is_texture,
                load_of_level(b, subresource, level, DESCRIPTOR_TEXTURE_LAYER_STRIDES),
                load_descriptor(b, 32, set, slot, DESCRIPTOR_IMAGE_LAYER_STRIDE));
   nir_def *address = nir_iadd(b, nir_iadd(b, base, nir_u2u64(b, offset)),
                               nir_imul(b, nir_u2u64(b, layer), nir_u2u64(b, stride)));

   nir_def *is_there = nir_iand(b, nir_ine_imm(b, width, 0), has_level);
   return nir_bcsel(b, is_there, address, nir_imm_int64(b, 0));
}

static nir_def *
lod_limits(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *set, nir_def *slot)
{
   nir_def *limits[3];

   for (unsigned i = 0; i < ARRAY_SIZE(limits); i++)
      limits[i] = load_descriptor(b, 32, set, slot, DESCRIPTOR_SAMPLER_LOD + i * sizeof(float));
   return nir_vec(b, limits, ARRAY_SIZE(limits));
}

static nir_def *
load_command_data(nir_builder *b, unsigned bit_size, unsigned offset)
{
   return load_constants(b, bit_size, nir_imm_int(b, 0),
                         nir_imm_int(b, GPUVAL_LVP_COMMAND_DATA_OFFSET + offset));
}

static nir_def *
command_data(const struct gpuval_nir_driver *driver, nir_builder *b, unsigned bit_size,
             unsigned offset)
{
   return load_command_data(b, bit_size, offset);
}

static nir_def *
root_address(const struct gpuval_nir_driver *driver, nir_builder *b)
{
   return load_command_data(b, 64, offsetof(struct gpuval_command_data, root_address));
}

static nir_def *
used_address(const struct gpuval_nir_driver *driver, nir_builder *b)
{
   return load_command_data(b, 64, offsetof(struct gpuval_lvp_command_data, used_address));
}

static nir_def *
command_id(const struct gpuval_nir_driver *driver, nir_builder *b)
{
   return load_command_data(b, 32, offsetof(struct gpuval_command_data, command_id));
}

static nir_def *
epoch(const struct gpuval_nir_driver *driver, nir_builder *b)
{
   return load_command_data(b, 32, offsetof(struct gpuval_command_data, epoch));
}

static nir_def *
sync_flags(const struct gpuval_nir_driver *driver, nir_builder *b)
{
   return load_command_data(b, 32, offsetof(struct gpuval_command_data, sync_flags));
}

static nir_def *
epoch_command(const struct gpuval_nir_driver *driver, nir_builder *b)
{
   return load_command_data(b, 32, offsetof(struct gpuval_command_data, epoch_command));
}

static nir_def *
entry_base(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *stage)
{
   return load_constants(b, 32, nir_imm_int(b, 0),
                         nir_iadd_imm(b, nir_imul_imm(b, stage, sizeof(uint32_t)),
                                      GPUVAL_LVP_COMMAND_DATA_OFFSET +
                                         offsetof(struct gpuval_command_data, entry_base)));
}

/* gpuval_lvp_gallivm_lanes.c */
static nir_def *
active_lanes(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *condition)
{
   return nir_ballot_relaxed(b, 1, 32, condition);
}

static nir_def *
shared_address(const struct gpuval_nir_driver *driver, nir_builder *b)
{
   return nir_load_shared_base_ptr(b, 1, 64);
}

/* Compute, and what runs as compute. llvmpipe does not know global ids at this
 * point. By component, as optimizations take another round for vectors, and nothing for sizes of 1.
 */
static nir_def *
global_invocation_id(const struct gpuval_nir_driver *driver, nir_builder *b)
{
   const shader_info *info = &b->shader->info;
   nir_def *sizes = info->workgroup_size_variable ? nir_load_workgroup_size(b) : NULL;
   nir_def *groups = nir_load_workgroup_id(b), *local[3], *id[3];

   gpuval_nir_local_id(driver, b, local);
   for (unsigned i = 0; i < 3; i++) {
      nir_def *group = nir_channel(b, groups, i);

      if (sizes)
         group = nir_imul(b, group, nir_channel(b, sizes, i));
      else
         group = nir_imul_imm(b, group, info->workgroup_size[i]);
      id[i] = !sizes && info->workgroup_size[i] == 1 ? group : nir_iadd(b, group, local[i]);
   }
   return nir_vec(b, id, 3);
}

static nir_def *
frag_coord(nir_builder *b)
{
   nir_variable *var = nir_get_variable_with_location(b->shader, nir_var_shader_in,
                                                      VARYING_SLOT_POS, glsl_vec4_type());
   var->data.interpolation = INTERP_MODE_NOPERSPECTIVE;
   return nir_load_var(b, var);
}

static nir_def *
invocation(const struct gpuval_nir_driver *driver, nir_builder *b)
{
   nir_def *zero = nir_imm_int(b, 0);

   switch (b->shader->info.stage) {
   case MESA_SHADER_VERTEX:
      return nir_vec3(b, nir_load_vertex_id(b),
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
      nir_def *coord = frag_coord(b);
      return nir_vec3(b, nir_channel(b, coord, 0), nir_channel(b, coord, 1), zero);
   }
   case MESA_SHADER_COMPUTE:
   case MESA_SHADER_TASK:
   case MESA_SHADER_MESH:
      return global_invocation_id(driver, b);
   default:
      return nir_load_ray_launch_id(b);
   }
}

static bool
describe(const struct gpuval_nir_driver *driver, const nir_intrinsic_instr *intrin,
         struct gpuval_nir_buffer *buffer)
{
   const struct gpuval_lvp_nir_layout *layout = driver->data;
   nir_binding binding = nir_chase_binding(*gpuval_nir_index_src((nir_intrinsic_instr *)intrin));

   *buffer = (struct gpuval_nir_buffer){
      .set = binding.success ? binding.desc_set : -1,
      .binding = binding.success ? binding.binding : -1,
   };
   if (binding.success)
      buffer->size = layout->binding(layout, binding.desc_set, binding.binding).inline_size;

   return true;
}

/* As in lvp_pipeline.c */
static void
shared_var_info(const struct glsl_type *type, unsigned *size, unsigned *alignment)
{
   unsigned component = glsl_type_is_boolean(type) ? 4 : glsl_get_bit_size(type) / 8;

   *size = component * glsl_get_vector_elements(type);
   *alignment = component;
}

void
gpuval_lvp_nir_lower_shared(nir_shader *nir)
{
   nir_variable_mode modes = nir_var_mem_shared;
   if (!mesa_shader_stage_uses_workgroup(nir->info.stage))
      return;
   if (nir->info.stage == MESA_SHADER_TASK)
      modes |= nir_var_mem_task_payload;

   NIR_PASS(_, nir, nir_lower_vars_to_explicit_types, modes, shared_var_info);
   NIR_PASS(_, nir, nir_lower_explicit_io, modes, nir_address_format_32bit_offset);
   NIR_PASS(_, nir, nir_remove_dead_variables, modes, NULL);
}

const struct gpuval_nir_driver gpuval_lvp_nir_driver = {
   .describe = describe,
   .slot = slot,
   .set = set,
   .buffer_size = buffer_size,
   .reports_uses = true,
   .checks_buffers = true,
   .checks_values = true,
   .broadcasts = true,
   .buffer_address = buffer_address,
   .is_past_end = is_past_end,
   .texels = texels,
   .strides = strides,
   .extent = extent,
   .subresource = subresource,
   .levels = levels,
   .lod_limits = lod_limits,
   .descriptors = &gpuval_lvp_nir_descriptors,
   .structure_address = structure_address,
   .root_address = root_address,
   .used_address = used_address,
   .command_id = command_id,
   .epoch = epoch,
   .sync_flags = sync_flags,
   .epoch_command = epoch_command,
   .command_data = command_data,
   .entry_base = entry_base,
   .shared_address = shared_address,
   .active_lanes = active_lanes,
   .has_linear_subgroups = true,
   .invocation = invocation,
};

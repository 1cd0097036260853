/* SPDX-License-Identifier: MIT */

/* lavapipe and llvmpipe, as the passes see them. */

#include "gpuval_lvp_nir.h"

#include "gpuval/src/base/gpuval_layout.h"
#include "gpuval/src/nir_passes/gpuval_nir.h"

/* struct lp_descriptor: 256 bytes, a buffer begins with struct lp_jit_buffer.
 * gpuval_lvp.c asserts that it is so.
 */
#define DESCRIPTOR_STRIDE         256
#define DESCRIPTOR_BUFFER_ADDRESS 0
#define DESCRIPTOR_BUFFER_SIZE    12
/* struct lp_jit_texture or lp_jit_image; the size of a texel is in the upper half. */
#define DESCRIPTOR_TEXEL_ADDRESS      0
#define DESCRIPTOR_TEXEL_COUNT        8
#define DESCRIPTOR_IMAGE_TEXEL_SIZE   16
#define DESCRIPTOR_TEXTURE_TEXEL_SIZE 144

/* lvp_lower_pipeline_layout makes (set + 1, slot, 0) of every resource index. */
static nir_def *
slot(nir_builder *b, nir_intrinsic_instr *intrin)
{
   return nir_channel(b, gpuval_nir_index_src(intrin)->ssa, 1);
}

static nir_def *
set(nir_builder *b, nir_intrinsic_instr *intrin)
{
   return nir_iadd_imm(b, nir_channel(b, gpuval_nir_index_src(intrin)->ssa, 0), -1);
}

static nir_def *
load_constants(nir_builder *b, unsigned bit_size, nir_def *buffer, nir_def *offset)
{
   return nir_load_ubo(b, 1, bit_size, buffer, offset, .align_mul = bit_size / 8, .range = ~0);
}

static nir_def *
load_descriptor(nir_builder *b, unsigned bit_size, nir_def *set, nir_def *slot, unsigned offset)
{
   return load_constants(b, bit_size, nir_iadd_imm(b, set, 1),
                         nir_iadd_imm(b, nir_imul_imm(b, slot, DESCRIPTOR_STRIDE), offset));
}

static nir_def *
buffer_size(nir_builder *b, nir_def *set, nir_def *slot)
{
   return load_descriptor(b, 32, set, slot, DESCRIPTOR_BUFFER_SIZE);
}

static nir_def *
buffer_address(nir_builder *b, nir_def *set, nir_def *slot)
{
   return load_descriptor(b, 64, set, slot, DESCRIPTOR_BUFFER_ADDRESS);
}

/* As lvp_lower_pipeline_layout has it. */
static bool
texels(nir_builder *b, nir_deref_instr *deref, void *data, struct gpuval_nir_texels *out)
{
   const struct gpuval_lvp_nir_layout *layout = data;
   nir_def *index = nir_imm_int(b, 0);

   while (deref->deref_type == nir_deref_type_array) {
      unsigned array_size = MAX2(glsl_get_aoa_size(deref->type), 1);
      index = nir_iadd(b, index, nir_imul_imm(b, deref->arr.index.ssa, array_size));
      deref = nir_deref_instr_parent(deref);
   }
   if (!deref || deref->deref_type != nir_deref_type_var)
      return false;

   const nir_variable *var = deref->var;
   bool is_image = glsl_type_is_image(glsl_without_array(var->type));
   uint32_t stride;
   uint32_t first =
      layout->first_slot(layout, var->data.descriptor_set, var->data.binding, &stride);

   *out = (struct gpuval_nir_texels){
      .set = var->data.descriptor_set,
      .binding = var->data.binding,
      .slot = nir_iadd_imm(b, nir_imul_imm(b, index, stride), first),
   };
   nir_def *set = nir_imm_int(b, out->set);
   out->address = load_descriptor(b, 64, set, out->slot, DESCRIPTOR_TEXEL_ADDRESS);
   out->count = load_descriptor(b, 32, set, out->slot, DESCRIPTOR_TEXEL_COUNT);
   out->size = nir_ushr_imm(
      b,
      load_descriptor(b, 32, set, out->slot,
                      is_image ? DESCRIPTOR_IMAGE_TEXEL_SIZE : DESCRIPTOR_TEXTURE_TEXEL_SIZE),
      16);
   return true;
}

static nir_def *
load_command_data(nir_builder *b, unsigned bit_size, unsigned offset)
{
   return load_constants(b, bit_size, nir_imm_int(b, 0),
                         nir_imm_int(b, GPUVAL_LVP_COMMAND_DATA_OFFSET + offset));
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

static nir_def *
epoch(nir_builder *b)
{
   return load_command_data(b, 32, offsetof(struct gpuval_command_data, epoch));
}

static nir_def *
sync_flags(nir_builder *b)
{
   return load_command_data(b, 32, offsetof(struct gpuval_command_data, sync_flags));
}

static nir_def *
epoch_command(nir_builder *b)
{
   return load_command_data(b, 32, offsetof(struct gpuval_command_data, epoch_command));
}

static nir_def *
entry_base(nir_builder *b, nir_def *stage)
{
   return load_constants(b, 32, nir_imm_int(b, 0),
                         nir_iadd_imm(b, nir_imul_imm(b, stage, sizeof(uint32_t)),
                                      GPUVAL_LVP_COMMAND_DATA_OFFSET +
                                         offsetof(struct gpuval_command_data, entry_base)));
}

/* Compute, and what runs as compute. llvmpipe does not know global ids at this
 * point. */
static nir_def *
global_invocation_id(nir_builder *b)
{
   const uint16_t *size = b->shader->info.workgroup_size;
   nir_def *size_def = b->shader->info.workgroup_size_variable
                          ? nir_load_workgroup_size(b)
                          : nir_imm_ivec3(b, size[0], size[1], size[2]);

   return nir_iadd(b, nir_imul(b, nir_load_workgroup_id(b), size_def),
                   nir_load_local_invocation_id(b));
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
invocation(nir_builder *b)
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
      return global_invocation_id(b);
   default:
      return nir_load_ray_launch_id(b);
   }
}

bool
gpuval_lvp_nir_describe(const nir_intrinsic_instr *intrin, void *data,
                        struct gpuval_nir_buffer *buffer)
{
   const struct gpuval_lvp_nir_layout *layout = data;
   nir_binding binding = nir_chase_binding(*gpuval_nir_index_src((nir_intrinsic_instr *)intrin));

   *buffer = (struct gpuval_nir_buffer){
      .set = binding.success ? binding.desc_set : -1,
      .binding = binding.success ? binding.binding : -1,
   };
   if (binding.success)
      buffer->size = layout->inline_size(layout, binding.desc_set, binding.binding);

   return true;
}

const struct gpuval_nir_driver gpuval_lvp_nir_driver = {
   .describe = gpuval_lvp_nir_describe,
   .slot = slot,
   .set = set,
   .buffer_size = buffer_size,
   .buffer_address = buffer_address,
   .texels = texels,
   .root_address = root_address,
   .command_id = command_id,
   .epoch = epoch,
   .sync_flags = sync_flags,
   .epoch_command = epoch_command,
   .entry_base = entry_base,
   .invocation = invocation,
};

/* A function with 32-bit parameters and its own shader, of which the entrypoint,
 * that cannot have parameters, stays empty.
 */
static nir_builder
create_function(const nir_shader_compiler_options *options, const char *name, unsigned num_params,
                nir_def **params)
{
   nir_builder entrypoint =
      nir_builder_init_simple_shader(MESA_SHADER_COMPUTE, options, "gpuval %s", name);
   nir_function *function = nir_function_create(entrypoint.shader, name);
   function->num_params = num_params;
   function->params = rzalloc_array(function->shader, nir_parameter, num_params);

   nir_builder b = nir_builder_at(nir_before_impl(nir_function_impl_create(function)));
   for (unsigned i = 0; i < num_params; i++) {
      function->params[i].num_components = 1;
      function->params[i].bit_size = 32;
      params[i] = nir_load_param(&b, i);
   }
   return b;
}

nir_function *
gpuval_lvp_nir_create_report_function(const nir_shader_compiler_options *options)
{
   enum { FIRST_ENTRY, WORD, OFFSET, SLOT, INVOCATION, NUM = INVOCATION + 3 };
   static_assert(NUM + 2 == GPUVAL_LVP_REPORT_NUM_ARGS, "gpuval_lvp_nir.h");

   nir_def *params[NUM];
   nir_builder builder = create_function(options, "report", NUM, params), *b = &builder;
   nir_def *stage = nir_ushr_imm(b, params[WORD], 24);
   gpuval_nir_build_report(
      b, &gpuval_lvp_nir_driver,
      &(struct gpuval_nir_report_params){
         .first_entry = nir_iadd(b, params[FIRST_ENTRY], entry_base(b, stage)),
         .num_entries = nir_iand_imm(b, params[WORD], 0xffff),
         .set = nir_iand_imm(b, nir_ushr_imm(b, params[WORD], 16), 0xff),
         .offset = params[OFFSET],
         .slot = params[SLOT],
         .invocation = {params[INVOCATION], params[INVOCATION + 1], params[INVOCATION + 2]},
      });

   return b->impl->function;
}

nir_function *
gpuval_lvp_nir_create_sync_function(const nir_shader_compiler_options *options, unsigned hashes)
{
   enum {
      ENTRY,
      WORD,
      ADDRESS_LO,
      ADDRESS_HI,
      OFFSET,
      SLOT,
      CONTEXT,
      INVOCATION = CONTEXT + 3,
      ACTIVE = INVOCATION + 3,
      NUM
   };
   static_assert(NUM + 2 == GPUVAL_LVP_SYNC_NUM_ARGS, "gpuval_lvp_nir.h");

   nir_def *params[NUM];
   nir_builder builder = create_function(options, "sync", NUM, params), *b = &builder;
   nir_def *word = params[WORD];
   nir_def *stage = nir_ushr_imm(b, word, 24);
   nir_def *flags = nir_iand_imm(b, nir_ushr_imm(b, word, 8), 0xff);
   gpuval_nir_build_access(
      b, &gpuval_lvp_nir_driver, hashes,
      &(struct gpuval_nir_access_params){
         .address = nir_pack_64_2x32_split(b, params[ADDRESS_LO], params[ADDRESS_HI]),
         .size = nir_iand_imm(b, word, 0xff),
         .type = nir_iand_imm(b, flags, GPUVAL_SYNC_TYPE_MASK),
         .entry = nir_iadd(b, params[ENTRY], entry_base(b, stage)),
         .invocation_id = params[CONTEXT],
         .has_phases = nir_ine_imm(b, nir_iand_imm(b, flags, GPUVAL_SYNC_HAS_PHASES), 0),
         .token = params[CONTEXT + 1],
         .phase = params[CONTEXT + 2],
         .set = nir_iand_imm(b, nir_ushr_imm(b, word, 16), 0xff),
         .offset = params[OFFSET],
         .slot = params[SLOT],
         .invocation = {params[INVOCATION], params[INVOCATION + 1], params[INVOCATION + 2]},
         .here = params[ACTIVE],
      });

   return b->impl->function;
}

/* The payload of all lanes, as gpuval_lvp_nir.h describes it */
struct payload {
   nir_def *address;
   nir_def *num_words;
   unsigned num_lanes;
};

static void
store_payload(nir_builder *b, nir_def *address, const void *data)
{
   const struct payload *payload = data;
   nir_def *lane = nir_u2u64(b, nir_load_subgroup_invocation(b));
   nir_def *source = nir_iadd(b, payload->address, nir_imul_imm(b, lane, 4));

   nir_variable *i_var = nir_local_variable_create(b->impl, glsl_uint_type(), "i");
   nir_store_var(b, i_var, nir_imm_int(b, 0), 0x1);
   nir_loop *loop = nir_push_loop(b);
   {
      nir_def *i = nir_load_var(b, i_var);
      nir_break_if(b, nir_uge(b, i, payload->num_words));
      nir_store_var(b, i_var, nir_iadd_imm(b, i, 1), 0x1);

      nir_def *i_64 = nir_u2u64(b, i);
      nir_def *word = nir_load_global(
         b, nir_iadd(b, source, nir_imul_imm(b, i_64, payload->num_lanes * 4)), 4, 1, 32);
      nir_store_global(b, nir_iadd(b, address, nir_imul_imm(b, i_64, 4)), 4, word, 0x1);
   }
   nir_pop_loop(b, loop);
}

nir_function *
gpuval_lvp_nir_create_printf_function(const nir_shader_compiler_options *options,
                                      unsigned num_lanes)
{
   enum { HEADER, ADDRESS = HEADER + 2, NUM = ADDRESS + 2 };
   static_assert(NUM + 2 == GPUVAL_LVP_PRINTF_NUM_ARGS, "gpuval_lvp_nir.h");

   nir_def *params[NUM];
   nir_builder builder = create_function(options, "printf", NUM, params), *b = &builder;
   nir_def *size = nir_iand_imm(b, params[HEADER], 0xffff);
   const struct payload payload = {
      .address = nir_pack_64_2x32_split(b, params[ADDRESS], params[ADDRESS + 1]),
      .num_words = nir_iadd_imm(b, size, -GPUVAL_PRINTF_ENTRY_WORDS),
      .num_lanes = num_lanes,
   };
   gpuval_nir_build_printf(b, &gpuval_lvp_nir_driver,
                           &(struct gpuval_nir_printf_params){
                              .header = {params[HEADER], params[HEADER + 1]},
                              .store_payload = store_payload,
                              .data = &payload,
                           });

   return b->impl->function;
}

/* SPDX-License-Identifier: MIT */

/* Resources whose variable or binding the passes do not find: no check may fail on them, as
 * compilers and Mesa's passes may hand a resource on by a pointer of which nothing is known.
 */

#include "nir_passes_test.h"

#include "lvp_glue/gpuval_lvp_nir.h"

namespace {

/* Binding 1 has one element, all others any number of them. */
struct gpuval_lvp_nir_binding
find_binding(const struct gpuval_lvp_nir_layout *, uint32_t, uint32_t binding)
{
   struct gpuval_lvp_nir_binding found = {};
   found.stride = 1;
   found.count = binding == 1 ? 1 : 1000;
   return found;
}

/* What a chain of derefs begins with */
enum head {
   HEAD_VARIABLE,
   HEAD_COPIED,   /* a cast of the variable to its own type */
   HEAD_CAST,     /* a cast of a value */
   HEAD_CHOSEN,   /* a cast of one of two variables */
   HEAD_ELEMENTS, /* one of two elements */
};

struct resource_case {
   enum gpuval_check check; /* GPUVAL_CHECK_COUNT: all */
   enum head head;
   bool is_array, is_non_uniform;
};

class nir_bindings_test : public nir_passes_test,
                          public ::testing::WithParamInterface<struct resource_case> {
 protected:
   nir_bindings_test()
   {
#ifndef NDEBUG
      /* Passes have to bear chains of derefs that nir_validate.c does not. */
      nir_process_debug_variable();
      debug_before = nir_debug;
      nir_debug |= NIR_DEBUG_NOVALIDATE;
#endif
      layout.binding = find_binding;
      layout.stand_ins = &stand_ins;
      driver = gpuval_lvp_nir_driver;
      driver.data = &layout;
      options.driver = &driver;
      options.checks = GetParam().check == GPUVAL_CHECK_COUNT ? BITFIELD_MASK(GPUVAL_CHECK_COUNT)
                                                              : BITFIELD_BIT(GetParam().check);
      b->shader->info.workgroup_size[0] = 8;
      b->shader->info.workgroup_size[1] = b->shader->info.workgroup_size[2] = 1;
   }

#ifndef NDEBUG
   ~nir_bindings_test()
   {
      nir_debug = debug_before;
   }

   uint32_t debug_before;
#endif

   nir_deref_instr *variable(const struct glsl_type *type, nir_variable_mode mode, unsigned binding)
   {
      nir_variable *var = nir_variable_create(
         b->shader, mode, GetParam().is_array ? glsl_array_type(type, 0, 0) : type, "resource");
      var->data.binding = binding;
      var->data.descriptor_set = 0;
      return nir_build_deref_var(b, var);
   }

   nir_deref_instr *element(nir_deref_instr *deref)
   {
      return GetParam().is_array ? nir_build_deref_array(b, deref, any_offset()) : deref;
   }

   /* Aliases another one, where the case has two. */
   nir_def *resource(const struct glsl_type *type, nir_variable_mode mode, unsigned binding = 0)
   {
      nir_deref_instr *deref = variable(type, mode, binding);
      switch (GetParam().head) {
      case HEAD_VARIABLE:
         break;
      case HEAD_COPIED:
         deref = nir_build_deref_cast(b, &deref->def, mode, deref->type, 0);
         break;
      case HEAD_CAST:
         deref = nir_build_deref_cast(b, any_offset(), mode, deref->type, 0);
         break;
      case HEAD_CHOSEN:
         deref = nir_build_deref_cast(b,
                                      nir_bcsel(b, nir_ieq_imm(b, any_offset(), 3), &deref->def,
                                                &variable(type, mode, binding)->def),
                                      mode, deref->type, 0);
         break;
      case HEAD_ELEMENTS:
         return nir_bcsel(b, nir_ieq_imm(b, any_offset(), 3), &element(deref)->def,
                          &element(deref)->def);
      }
      return &element(deref)->def;
   }

   void sample(nir_texop op, enum glsl_sampler_dim dim, nir_def *texture, nir_def *sampler)
   {
      nir_def *coord = nir_u2f32(b, nir_load_local_invocation_id(b));
      const bool is_fetch = op == nir_texop_txf || op == nir_texop_txf_ms;
      const unsigned count = dim == GLSL_SAMPLER_DIM_BUF ? 1 : dim == GLSL_SAMPLER_DIM_CUBE ? 3 : 2;
      nir_tex_instr *tex =
         nir_tex_instr_create(b->shader, 2 + (sampler ? 1 : 0) + (op != nir_texop_tg4));
      unsigned num = 0;

      tex->op = op;
      tex->sampler_dim = dim;
      tex->coord_components = count;
      tex->dest_type = nir_type_float32;
      tex->texture_non_uniform = tex->sampler_non_uniform = GetParam().is_non_uniform;
      tex->src[num++] = nir_tex_src_for_ssa(nir_tex_src_texture_deref, texture);
      if (sampler)
         tex->src[num++] = nir_tex_src_for_ssa(nir_tex_src_sampler_deref, sampler);
      coord = nir_trim_vector(b, coord, count);
      tex->src[num++] =
         nir_tex_src_for_ssa(nir_tex_src_coord, is_fetch ? nir_f2i32(b, coord) : coord);
      if (op == nir_texop_txf_ms)
         tex->src[num++] = nir_tex_src_for_ssa(nir_tex_src_ms_index, nir_imm_int(b, 0));
      else if (op != nir_texop_tg4)
         tex->src[num++] = nir_tex_src_for_ssa(nir_tex_src_lod,
                                               is_fetch ? nir_imm_int(b, 0) : nir_imm_float(b, 0));
      nir_def_init(&tex->instr, &tex->def, 4, 32);
      nir_builder_instr_insert(b, &tex->instr);
   }

   /* What has a variable is checked; of what has none, nothing is said that is not known. */
   void check_all()
   {
      const bool progress = run();
      if (GetParam().head == HEAD_VARIABLE && GetParam().check == GPUVAL_CHECK_COUNT) {
         EXPECT_TRUE(progress);
      }
      for (unsigned i = 0; i < num_sites(); i++) {
         if (site(i).set >= 0) {
            EXPECT_LT(site(i).set, 2);
         }
      }
   }

   nir_def *image(enum glsl_sampler_dim dim)
   {
      return resource(glsl_image_type(dim, false, GLSL_TYPE_UINT), nir_var_image);
   }

   struct gpuval_lvp_nir_layout layout = {};
   struct gpuval_lvp_stand_ins stand_ins = {};
   struct gpuval_nir_driver driver;
};

/* As Slang writes it: an array of textures and one of samplers on one binding */
TEST_P(nir_bindings_test, textures_and_samplers)
{
   const struct glsl_type *texture = glsl_texture_type(GLSL_SAMPLER_DIM_2D, false, GLSL_TYPE_FLOAT);

   for (nir_texop op : {nir_texop_txl, nir_texop_tg4})
      sample(op, GLSL_SAMPLER_DIM_2D, resource(texture, nir_var_uniform),
             resource(glsl_bare_sampler_type(), nir_var_uniform));
   sample(
      nir_texop_txl, GLSL_SAMPLER_DIM_CUBE,
      resource(glsl_texture_type(GLSL_SAMPLER_DIM_CUBE, false, GLSL_TYPE_FLOAT), nir_var_uniform),
      resource(glsl_bare_sampler_type(), nir_var_uniform, 1));
   check_all();
}

TEST_P(nir_bindings_test, combined)
{
   nir_def *both = resource(glsl_sampler_type(GLSL_SAMPLER_DIM_2D, false, false, GLSL_TYPE_FLOAT),
                            nir_var_uniform);
   sample(nir_texop_txl, GLSL_SAMPLER_DIM_2D, both, both);
   check_all();
}

TEST_P(nir_bindings_test, fetches)
{
   for (enum glsl_sampler_dim dim :
        {GLSL_SAMPLER_DIM_2D, GLSL_SAMPLER_DIM_MS, GLSL_SAMPLER_DIM_BUF})
      sample(dim == GLSL_SAMPLER_DIM_MS ? nir_texop_txf_ms : nir_texop_txf, dim,
             resource(glsl_texture_type(dim, false, GLSL_TYPE_FLOAT), nir_var_uniform), NULL);
   check_all();
}

TEST_P(nir_bindings_test, images)
{
   const enum gl_access_qualifier access =
      GetParam().is_non_uniform ? ACCESS_NON_UNIFORM : (enum gl_access_qualifier)0;
   nir_def *zero = nir_imm_int(b, 0);

   for (enum glsl_sampler_dim dim : {GLSL_SAMPLER_DIM_2D, GLSL_SAMPLER_DIM_BUF}) {
      nir_def *coord = nir_vec4(b, any_offset(), any_offset(), zero, zero);
      nir_image_deref_load(b, 4, 32, image(dim), coord, zero, zero, .image_dim = dim,
                           .access = access, .dest_type = nir_type_uint32);
      nir_image_deref_store(b, image(dim), coord, zero, nir_imm_ivec4(b, 1, 2, 3, 4), zero,
                            .image_dim = dim, .access = access, .src_type = nir_type_uint32);
      nir_image_deref_atomic(b, 32, image(dim), coord, zero, nir_imm_int(b, 1), .image_dim = dim,
                             .access = access, .atomic_op = nir_atomic_op_iadd);
      nir_image_deref_size(b, 2, 32, image(dim), zero, .image_dim = dim, .access = access);
   }
   check_all();
}

/* Buffers: resource indices of which one is chosen, or of which nothing is known */
TEST_P(nir_bindings_test, buffers)
{
   nir_def *index = GetParam().is_array ? any_offset() : NULL;
   nir_def *resource = ssbo(0, index);

   if (GetParam().head == HEAD_CAST)
      resource = nir_vec2(b, any_offset(), any_offset());
   else if (GetParam().head != HEAD_VARIABLE)
      resource = nir_bcsel(b, nir_ieq_imm(b, any_offset(), 3), resource, ssbo(1, index));
   load(resource, any_offset(), 4);
   nir_store_ssbo(b, nir_imm_int(b, 1), resource, any_offset(), .align_mul = 4);
   nir_ssbo_atomic(b, 32, resource, any_offset(), nir_imm_int(b, 1),
                   .atomic_op = nir_atomic_op_iadd);
   nir_get_ssbo_size(b, resource);
   nir_load_ubo(b, 1, 32, resource, any_offset(), .align_mul = 4, .range = ~0u);
   check_all();
}

std::vector<resource_case>
all_cases()
{
   std::vector<resource_case> cases;
   for (unsigned check = 0; check <= GPUVAL_CHECK_COUNT; check++) {
      for (enum head head : {HEAD_VARIABLE, HEAD_COPIED, HEAD_CAST, HEAD_CHOSEN, HEAD_ELEMENTS}) {
         for (unsigned flags = 0; flags < 4; flags++)
            cases.push_back(
               resource_case{(enum gpuval_check)check, head, (flags & 1) != 0, (flags & 2) != 0});
      }
   }
   return cases;
}

INSTANTIATE_TEST_SUITE_P(all, nir_bindings_test, ::testing::ValuesIn(all_cases()));

} /* namespace */

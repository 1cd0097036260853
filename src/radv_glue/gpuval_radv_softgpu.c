/* SPDX-License-Identifier: MIT */

#include "gpuval_radv_softgpu.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "nir/nir_serialize.h"
#include "util/blob.h"

#include "radv_device.h"
#include "radv_physical_device.h"
#include "radv_shader.h"

/* A preloaded library is there before the driver is, so once will do. */
static gpuval_softgpu_add_shader_func
find_library(void)
{
   static bool searched;
   static gpuval_softgpu_add_shader_func add_shader;

   if (!p_atomic_read(&searched)) {
      p_atomic_set(&add_shader,
                   (gpuval_softgpu_add_shader_func)dlsym(RTLD_DEFAULT, GPUVAL_SOFTGPU_ADD_SHADER));
      p_atomic_set(&searched, true);
   }
   return add_shader;
}

/* Two stages may be merged; a shader of ray tracing comes with all places where it resumes. */
static bool
is_known(mesa_shader_stage stage, int shader_count)
{
   if (mesa_shader_stage_is_rt(stage))
      return true;
   return shader_count <= 2 &&
          (stage <= MESA_SHADER_COMPUTE || stage == MESA_SHADER_TASK || stage == MESA_SHADER_MESH);
}

struct blob *
gpuval_radv_softgpu_keep(struct nir_shader *const *shaders, int shader_count)
{
   if (!find_library() || !is_known(shaders[0]->info.stage, shader_count))
      return NULL;

   struct blob *nir = malloc(sizeof(*nir));
   if (!nir)
      return NULL;
   blob_init(nir);
   blob_write_uint32(nir, (uint32_t)shader_count);
   for (int i = 0; i < shader_count; i++)
      nir_serialize(nir, shaders[i], false);
   return nir;
}

/* Where a stage that is merged with the next one has the address of that: they are compiled apart.
 */
static unsigned
find_next_stage(const struct radv_shader_stage *stage)
{
   const struct ac_arg next = stage->args.next_stage_pc;
   const bool is_first =
      stage->info.stage == MESA_SHADER_VERTEX || stage->info.stage == MESA_SHADER_TESS_EVAL;

   return is_first && next.used ? stage->args.ac.args[next.arg_index].offset : 0;
}

void
gpuval_radv_softgpu_add(struct radv_device *device, struct blob *nir,
                        const struct radv_shader_binary *binary,
                        const struct radv_shader_stage *stage)
{
   const struct radv_shader_binary_legacy *legacy = (const void *)binary;
   const struct ac_arg inputs = stage->args.vs_inputs[0];

   if (!nir)
      return;
   if (binary && binary->type == RADV_BINARY_TYPE_LEGACY && !nir->out_of_memory) {
      const struct gpuval_softgpu_shader shader = {
         .code = legacy->data + legacy->stats_size,
         .code_size = legacy->code_size,
         .nir = nir->data,
         .nir_size = nir->size,
         .args = &stage->args.ac,
         .address32_hi = radv_device_physical(device)->info.address32_hi,
         .vertex_inputs = inputs.used ? stage->args.ac.args[inputs.arg_index].offset : 0,
         .next_stage = find_next_stage(stage),
      };
      find_library()(&shader);
   }
   blob_finish(nir);
   free(nir);
}

void
gpuval_radv_softgpu_add_prolog(const struct radv_shader_part_binary *binary,
                               const struct radv_vs_prolog_key *key)
{
   if (!find_library() || !binary)
      return;
   gpuval_softgpu_add_prolog_func add_prolog =
      (gpuval_softgpu_add_prolog_func)dlsym(RTLD_DEFAULT, GPUVAL_SOFTGPU_ADD_PROLOG);
   const struct gpuval_softgpu_prolog prolog = {
      .code = binary->data,
      .code_size = binary->code_size,
      .attribute_count = key->num_attributes,
      .instance_rate = key->instance_rate_inputs,
      .nontrivial_divisors = key->nontrivial_divisors,
      .zero_divisors = key->zero_divisors,
      .misaligned = key->misaligned_mask | key->unaligned_mask,
   };
   add_prolog(&prolog);
}

void
gpuval_radv_softgpu_add_rt_prolog(const struct radv_shader_binary *binary,
                                  const struct ac_shader_args *in, const struct ac_shader_args *out)
{
   const struct radv_shader_binary_legacy *legacy = (const void *)binary;

   if (!find_library() || !binary || binary->type != RADV_BINARY_TYPE_LEGACY)
      return;
   gpuval_softgpu_add_rt_prolog_func add_prolog =
      (gpuval_softgpu_add_rt_prolog_func)dlsym(RTLD_DEFAULT, GPUVAL_SOFTGPU_ADD_RT_PROLOG);
   add_prolog(&(struct gpuval_softgpu_rt_prolog){
      .code = legacy->data + legacy->stats_size,
      .code_size = legacy->code_size,
      .in = in,
      .out = out,
   });
}

void
gpuval_radv_softgpu_copy(const void *code, const void *relocated, size_t code_size,
                         const uint32_t entry_bases[static GPUVAL_SOFTGPU_STAGES])
{
   if (!find_library())
      return;
   gpuval_softgpu_add_copy_func add_copy =
      (gpuval_softgpu_add_copy_func)dlsym(RTLD_DEFAULT, GPUVAL_SOFTGPU_ADD_COPY);
   add_copy(&(struct gpuval_softgpu_copy){
      .code = code,
      .relocated = relocated,
      .code_size = code_size,
      .entry_bases = entry_bases,
   });
}

/* SPDX-License-Identifier: MIT */

/*
 * The intrinsics that RADV leaves in a shader, as ACO and the hardware
 * understand them. What ACO makes uniform (descriptors, addresses of scalar
 * loads) has to be so already: an error, where the hardware would take what the
 * first lane has.
 */

#include "softgpu_wave.h"

#include <string.h>

#include "util/os_time.h"
#include "util/u_math.h"
#include "nir_constant_expressions.h"

#include "sid.h"

void
softgpu_set_uint(struct softgpu_wave *wave, nir_intrinsic_instr *instr, unsigned lane,
                 unsigned component, uint64_t value)
{
   softgpu_value(wave, &instr->def, lane)[component] =
      nir_const_value_for_raw_uint(value, instr->def.bit_size);
}

/* The same in all active lanes. */
void
softgpu_set_all(struct softgpu_wave *wave, nir_intrinsic_instr *instr, unsigned component,
                uint64_t value)
{
   softgpu_foreach_lane(lane, wave->exec) softgpu_set_uint(wave, instr, lane, component, value);
}

const char *
softgpu_name(const nir_intrinsic_instr *instr)
{
   return nir_intrinsic_infos[instr->intrinsic].name;
}

unsigned
softgpu_first_lane(const struct softgpu_wave *wave)
{
   return (unsigned)ffsll((long long)wave->exec) - 1;
}

uint64_t
softgpu_uniform(const struct softgpu_wave *wave, const nir_src *src, unsigned component,
                const char *what)
{
   const uint64_t value = softgpu_uint(wave, src, component, softgpu_first_lane(wave));
   softgpu_foreach_lane(lane, wave->exec)
   {
      if (softgpu_uint(wave, src, component, lane) != value && !softgpu_takes_first_lane())
         softgpu_error("%s: a source is not uniform", what);
   }
   return value;
}

uint64_t
softgpu_uniform_source(const struct softgpu_wave *wave, const nir_intrinsic_instr *instr,
                       unsigned src, unsigned component)
{
   return softgpu_uniform(wave, &instr->src[src], component, softgpu_name(instr));
}

/* --- Arguments ------------------------------------------------------------ */

static void
load_arg(struct softgpu_wave *wave, nir_intrinsic_instr *instr, unsigned index, bool vector)
{
   const struct ac_shader_args *args = &wave->shader->args;
   const unsigned first = index < args->arg_count ? args->args[index].offset : 0;
   const unsigned end = first + instr->def.num_components;

   if (index >= args->arg_count || (args->args[index].file == AC_ARG_VGPR) != vector ||
       end > (vector ? wave->vgpr_count : wave->sgpr_count)) {
      softgpu_error("%s: there is no argument %u", softgpu_name(instr), index);
      return;
   }
   softgpu_foreach_lane(lane, wave->exec)
   {
      for (unsigned i = 0; i < instr->def.num_components; i++)
         softgpu_set_uint(
            wave, instr, lane, i,
            vector ? wave->vgprs[(first + i) * wave->size + lane] : wave->sgprs[first + i]);
   }
}

/* Out of registers as the code does: shaders that differ in which of these they read may have
 * the same code, and then any of them stands for it.
 */
static void
load_workgroup_id(struct softgpu_wave *wave, nir_intrinsic_instr *instr)
{
   const struct ac_shader_args *args = &wave->shader->args;

   for (unsigned i = 0; i < 3; i++) {
      const struct ac_arg id = args->workgroup_ids[i];
      softgpu_set_all(wave, instr, i, id.used ? wave->sgprs[args->args[id.arg_index].offset] : 0);
   }
}

static void
load_num_workgroups(struct softgpu_wave *wave, nir_intrinsic_instr *instr)
{
   const struct ac_shader_args *args = &wave->shader->args;
   const unsigned index = args->num_work_groups.arg_index;
   uint32_t count[3];

   if (!args->num_work_groups.used) {
      softgpu_error("%s: no argument for it", softgpu_name(instr));
   } else if (args->args[index].size == 3) {
      load_arg(wave, instr, index, false);
   } else {
      const uint32_t *sgprs = &wave->sgprs[args->args[index].offset];
      if (softgpu_read(sgprs[0] | (uint64_t)sgprs[1] << 32, count, sizeof(count))) {
         for (unsigned i = 0; i < 3; i++)
            softgpu_set_all(wave, instr, i, count[i]);
      }
   }
}

/* --- All of them ---------------------------------------------------------- */

void
softgpu_execute_intrinsic(struct softgpu_wave *wave, nir_intrinsic_instr *instr)
{
   switch (instr->intrinsic) {
   case nir_intrinsic_load_scalar_arg_amd:
   case nir_intrinsic_load_vector_arg_amd:
      load_arg(wave, instr, nir_intrinsic_base(instr),
               instr->intrinsic == nir_intrinsic_load_vector_arg_amd);
      break;
   case nir_intrinsic_load_workgroup_id:
      load_workgroup_id(wave, instr);
      break;
   case nir_intrinsic_entry_base_gpuval:
      softgpu_set_all(wave, instr, 0,
                      (wave->part ? wave->shader : wave->group->shader)->entry_base);
      break;
   case nir_intrinsic_load_num_workgroups:
      load_num_workgroups(wave, instr);
      break;
   case nir_intrinsic_shader_clock: {
      const uint64_t now = (uint64_t)os_time_get_nano();
      softgpu_set_all(wave, instr, 0, (uint32_t)now);
      softgpu_set_all(wave, instr, 1, (uint32_t)(now >> 32));
      break;
   }

   case nir_intrinsic_bindless_image_load:
   case nir_intrinsic_bindless_image_store:
   case nir_intrinsic_bindless_image_atomic:
   case nir_intrinsic_bindless_image_atomic_swap:
      softgpu_execute_image(wave, instr);
      break;

   case nir_intrinsic_bvh64_intersect_ray_amd:
      softgpu_intersect(wave, instr);
      break;

   /* What has an execution scope of a workgroup is not left to this. */
   case nir_intrinsic_barrier:
   case nir_intrinsic_sleep_amd:
   case nir_intrinsic_nop_amd:
      break;

   default:
      if (!softgpu_execute_access(wave, instr) && !softgpu_execute_subgroup(wave, instr) &&
          !softgpu_execute_input(wave, instr) && !softgpu_execute_rays(wave, instr))
         softgpu_error("the intrinsic %s is not supported", softgpu_name(instr));
   }
}

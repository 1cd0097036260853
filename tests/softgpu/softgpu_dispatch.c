/* SPDX-License-Identifier: MIT */

/* Executes a dispatch: one workgroup after the other. */

#include "softgpu_wave.h"

#include <string.h>

#include "util/u_math.h"

/* SGPRs: user data, workgroup ids and what is known of the wave; one VGPR with
 * the local ids, 10 bits each.
 */
static void
start_wave(const struct softgpu_dispatch *dispatch, struct softgpu_wave *wave,
           const unsigned size[3])
{
   const struct softgpu_workgroup *group = wave->group;
   const unsigned threads = size[0] * size[1] * size[2];
   const unsigned first = wave->index * wave->size;

   softgpu_start_wave(wave, 0);
   for (unsigned lane = 0; lane < wave->size && first + lane < threads; lane++) {
      const unsigned thread = first + lane;
      wave->exec |= UINT64_C(1) << lane;
      wave->vgprs[lane] =
         thread % size[0] | thread / size[0] % size[1] << 10 | thread / size[0] / size[1] << 20;
   }

   memcpy(wave->sgprs, dispatch->user_data, dispatch->user_sgprs * 4);
   wave->sgpr_count = dispatch->user_sgprs;
   for (unsigned i = 0; i < 3; i++) {
      if (dispatch->workgroup_id[i])
         wave->sgprs[wave->sgpr_count++] = group->id[i];
   }
   if (dispatch->workgroup_info)
      wave->sgprs[wave->sgpr_count++] = group->wave_count | wave->index << 6 | wave->index << 20;
}

static void
run_workgroup(const struct softgpu_dispatch *dispatch, struct softgpu_run *run)
{
   struct softgpu_workgroup *group = &run->group;
   unsigned size[3];

   for (unsigned i = 0; i < 3; i++) {
      const bool last = group->id[i] + 1 == dispatch->end[i];
      size[i] = last && dispatch->partial[i] ? dispatch->partial[i] : dispatch->threads[i];
   }
   group->wave_count = DIV_ROUND_UP(size[0] * size[1] * size[2], dispatch->wave_size);
   if (group->wave_count > run->max_waves) {
      softgpu_error("a workgroup that is larger at the end of a dispatch");
      return;
   }
   for (unsigned i = 0; i < group->wave_count; i++)
      start_wave(dispatch, &run->waves[i], size);
   if (run->trace)
      softgpu_execute_trace(run);
   else
      softgpu_execute_group(run);
}

void
softgpu_run(const struct softgpu_dispatch *dispatch)
{
   const struct softgpu_rt_prolog *prolog = softgpu_find_rt_prolog(dispatch->program);
   const struct softgpu_shader *shader =
      prolog ? NULL : softgpu_find_shader(dispatch->program, true);
   const unsigned wave_size = dispatch->wave_size;
   const unsigned *threads = dispatch->threads;
   const uint64_t count = (uint64_t)threads[0] * threads[1] * threads[2];

   if (!prolog && !shader)
      return;
   if (count > (prolog ? wave_size : 1024)) {
      softgpu_error("a workgroup of %" PRIu64 " threads", count);
      return;
   }
   struct softgpu_run *run =
      prolog ? softgpu_create_trace(prolog, wave_size, dispatch->scratch_per_wave / wave_size)
             : softgpu_create_run(shader, wave_size, DIV_ROUND_UP((unsigned)count, wave_size), 0);
   unsigned *id = run->group.id;
   for (id[2] = dispatch->start[2]; id[2] < dispatch->end[2]; id[2]++) {
      for (id[1] = dispatch->start[1]; id[1] < dispatch->end[1]; id[1]++) {
         for (id[0] = dispatch->start[0]; id[0] < dispatch->end[0]; id[0]++) {
            if (!softgpu_failed())
               run_workgroup(dispatch, run);
         }
      }
   }
   ralloc_free(run);
}

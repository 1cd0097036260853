/* SPDX-License-Identifier: MIT */

/*
 * Pipelines of ray tracing. A dispatch begins with a prolog, which has no NIR: what
 * select_rt_prolog() of ACO makes of it is done here. It leaves a wave to a ray generation shader,
 * and each shader leaves it to the next one, whose address is in two SGPRs, until no lane is left
 * (radv_nir_rt_shader.c). What is behind a call is a shader of its own, in the same code: here it
 * has an address some bytes behind that of the code.
 */

#include "softgpu_wave.h"

#include <string.h>

#include "util/list.h"
#include "util/ralloc.h"
#include "util/simple_mtx.h"
#include "util/u_math.h"

#include "gpuval/src/radv_glue/gpuval_radv_softgpu.h"

#define HANDLE_SIZE   32         /* RADV_RT_HANDLE_SIZE */
#define CONVERTED_1D  UINT32_MAX /* ACO_RT_CONVERTED_2D_LAUNCH_SIZE */
#define RESUME_STRIDE 4          /* the lowest two bits of an address are its priority */
#define LOST_REGISTER UINT32_C(0xcdcdcdcd)

struct softgpu_rt_prolog {
   struct list_head link;
   void *code;
   size_t code_size;
   struct ac_shader_args in, out;
};

/* A shader, and where it resumes, with what executes each of them. */
struct stage {
   struct list_head link;
   uint64_t va;
   const struct softgpu_shader *shader;
   struct softgpu_run **runs;                      /* or NULL */
   uint32_t stored[DIV_ROUND_UP(AC_MAX_ARGS, 32)]; /* arguments that any of them passes on */
};

struct softgpu_trace {
   const struct softgpu_rt_prolog *prolog;
   struct list_head stages;
   uint8_t *stack; /* of all lanes */
   uint32_t stack_size;
};

/* --- Prologs -------------------------------------------------------------- */

static struct {
   simple_mtx_t lock;
   struct list_head prologs;
} registry = {.lock = SIMPLE_MTX_INITIALIZER};

PUBLIC void gpuval_softgpu_add_rt_prolog(const struct gpuval_softgpu_rt_prolog *info);

/* GPUVAL_SOFTGPU_ADD_RT_PROLOG */
void
gpuval_softgpu_add_rt_prolog(const struct gpuval_softgpu_rt_prolog *info)
{
   struct softgpu_rt_prolog *prolog = rzalloc(NULL, struct softgpu_rt_prolog);

   prolog->code = ralloc_memdup(prolog, info->code, info->code_size);
   prolog->code_size = info->code_size;
   prolog->in = *info->in;
   prolog->out = *info->out;
   simple_mtx_lock(&registry.lock);
   if (!registry.prologs.next)
      list_inithead(&registry.prologs);
   list_add(&prolog->link, &registry.prologs);
   simple_mtx_unlock(&registry.lock);
}

const struct softgpu_rt_prolog *
softgpu_find_rt_prolog(uint64_t va)
{
   const struct softgpu_rt_prolog *found = NULL;

   simple_mtx_lock(&registry.lock);
   if (registry.prologs.next) {
      list_for_each_entry (struct softgpu_rt_prolog, prolog, &registry.prologs, link) {
         const void *code = softgpu_find(va, prolog->code_size);
         if (code && memcmp(code, prolog->code, prolog->code_size) == 0)
            found = prolog;
      }
   }
   simple_mtx_unlock(&registry.lock);
   return found;
}

static unsigned
offset_of(const struct ac_shader_args *args, struct ac_arg arg)
{
   return args->args[arg.arg_index].offset;
}

static uint64_t
read_pair(const uint32_t *registers)
{
   return registers[0] | (uint64_t)registers[1] << 32;
}

static void
launch_lane(const struct softgpu_trace *trace, struct softgpu_wave *wave, unsigned lane,
            const uint32_t group[3], bool is_converted, uint32_t stack, uint64_t record)
{
   const struct ac_shader_args *out = &trace->prolog->out;
   const uint32_t ids = wave->vgprs[lane];
   const uint32_t x = ids & 7, y = ids >> 10 & 7;
   const uint32_t launch[3] = {
      is_converted ? group[0] * wave->size + lane : group[0] * 8 + x,
      is_converted ? 0 : group[1] * (wave->size / 8) + y,
      group[2],
   };

   for (unsigned i = 0; i < wave->vgpr_count; i++)
      wave->vgprs[i * wave->size + lane] = LOST_REGISTER;
   for (unsigned i = 0; i < 3; i++)
      wave->vgprs[offset_of(out, out->rt.launch_ids[i]) * wave->size + lane] = launch[i];
   wave->vgprs[offset_of(out, out->rt.dynamic_callable_stack_base) * wave->size + lane] = stack;
   uint32_t *pointer = &wave->vgprs[offset_of(out, out->rt.shader_record) * wave->size + lane];
   pointer[0] = (uint32_t)record;
   pointer[wave->size] = (uint32_t)(record >> 32);
}

static void
execute_prolog(const struct softgpu_trace *trace, struct softgpu_wave *wave)
{
   const struct ac_shader_args *in = &trace->prolog->in, *out = &trace->prolog->out;
   const uint32_t stack = wave->sgprs[offset_of(in, in->rt.dynamic_callable_stack_base)];
   uint32_t group[3], size[3];
   uint64_t record, raygen;

   for (unsigned i = 0; i < 3; i++)
      group[i] = wave->sgprs[offset_of(in, in->workgroup_ids[i])];
   if (!softgpu_read(read_pair(&wave->sgprs[offset_of(in, in->rt.launch_size_addr)]), size,
                     sizeof(size)) ||
       !softgpu_read(read_pair(&wave->sgprs[offset_of(in, in->rt.sbt_descriptors)]), &record,
                     sizeof(record)) ||
       !softgpu_read(record, &raygen, sizeof(raygen)))
      return;
   softgpu_foreach_lane(lane, wave->exec)
      launch_lane(trace, wave, lane, group, size[1] == CONVERTED_1D, stack,
                  /* There is no carry. */
                  (record & ~(uint64_t)UINT32_MAX) | (uint32_t)(record + HANDLE_SIZE));

   /* All others are where they were. */
   for (unsigned i = 0; i < 3; i++)
      wave->sgprs[offset_of(out, out->rt.launch_sizes[i])] = size[i];
   uint32_t *pc = &wave->sgprs[offset_of(out, out->rt.uniform_shader_addr)];
   pc[0] = (uint32_t)raygen;
   pc[1] = (uint32_t)(raygen >> 32);
   wave->sgpr_count = out->num_sgprs_used;
}

/* --- Shaders -------------------------------------------------------------- */

static void
note_stores(struct stage *stage, const struct softgpu_shader *shader)
{
   nir_foreach_block (block, shader->impl) {
      nir_foreach_instr (instr, block) {
         const nir_intrinsic_instr *intrinsic =
            instr->type == nir_instr_type_intrinsic ? nir_instr_as_intrinsic(instr) : NULL;
         if (intrinsic && (intrinsic->intrinsic == nir_intrinsic_store_scalar_arg_amd ||
                           intrinsic->intrinsic == nir_intrinsic_store_vector_arg_amd)) {
            const unsigned arg = (unsigned)nir_intrinsic_base(intrinsic);
            stage->stored[arg / 32] |= UINT32_C(1) << arg % 32;
         }
      }
   }
}

static const struct softgpu_shader *
get_part(const struct stage *stage, unsigned part)
{
   return part ? &stage->shader->resumes[part - 1] : stage->shader;
}

/* Returns NULL, with an error, if there is no shader. */
static struct stage *
find_stage(struct softgpu_run *run, uint64_t va, unsigned *part)
{
   struct softgpu_trace *trace = run->trace;

   list_for_each_entry (struct stage, stage, &trace->stages, link) {
      *part = (unsigned)((va - stage->va) / RESUME_STRIDE);
      if (va >= stage->va && va <= stage->va + stage->shader->resume_count * RESUME_STRIDE)
         return stage;
   }
   const struct softgpu_shader *shader = softgpu_find_shader(va, true);
   if (!shader)
      return NULL;
   struct stage *stage = rzalloc(trace, struct stage);
   stage->va = va;
   stage->shader = shader;
   stage->runs = rzalloc_array(stage, struct softgpu_run *, shader->resume_count + 1);
   for (unsigned i = 0; i <= shader->resume_count; i++)
      note_stores(stage, get_part(stage, i));
   list_add(&stage->link, &trace->stages);
   *part = 0;
   return stage;
}

static struct softgpu_run *
get_run(const struct softgpu_run *launch, struct stage *stage, unsigned part)
{
   const struct softgpu_wave *from = &launch->waves[0];
   struct softgpu_run *run = stage->runs[part];

   if (run)
      return run;
   run = softgpu_create_run(get_part(stage, part), from->size, 1, 0);
   ralloc_steal(stage, run);
   run->group.shader = stage->shader;
   run->group.scratch = launch->trace->stack;
   run->group.scratch_size = launch->trace->stack_size;
   run->group.scratch_is_stack = true;
   run->group.wave_count = 1;
   run->waves[0].program = stage->va;
   stage->runs[part] = run;
   return run;
}

/* What a shader does not pass on, another one may have in registers by chance only. */
static void
lose_registers(const struct stage *stage, struct softgpu_wave *wave)
{
   const struct ac_shader_args *args = &stage->shader->args;

   for (unsigned i = 0; i < args->arg_count; i++) {
      const bool vector = args->args[i].file == AC_ARG_VGPR;
      const unsigned scale = vector ? wave->size : 1;
      uint32_t *registers = vector ? wave->vgprs : wave->sgprs;
      if (stage->stored[i / 32] >> i % 32 & 1)
         continue;
      for (unsigned k = 0; k < args->args[i].size * scale; k++)
         registers[args->args[i].offset * scale + k] = LOST_REGISTER;
   }
}

/* Returns the lanes that go on. */
static uint64_t
execute_stage(struct softgpu_run *launch, struct stage *stage, unsigned part, uint64_t lanes)
{
   struct softgpu_run *run = get_run(launch, stage, part);
   struct softgpu_wave *from = &launch->waves[0], *wave = &run->waves[0];

   if (wave->vgpr_count != from->vgpr_count) {
      softgpu_error("a shader of ray tracing with %u VGPRs, not %u", wave->vgpr_count,
                    from->vgpr_count);
      return 0;
   }
   memcpy(wave->sgprs, from->sgprs, sizeof(wave->sgprs));
   memcpy(wave->vgprs, from->vgprs, (size_t)wave->vgpr_count * wave->size * 4);
   wave->sgpr_count = from->sgpr_count;
   memcpy(run->group.id, launch->group.id, sizeof(run->group.id));
   softgpu_start_wave(wave, lanes);
   softgpu_execute_group(run);
   launch->instructions += run->instructions;
   lose_registers(stage, wave);
   memcpy(from->sgprs, wave->sgprs, sizeof(wave->sgprs));
   memcpy(from->vgprs, wave->vgprs, (size_t)wave->vgpr_count * wave->size * 4);
   return wave->exec;
}

void
softgpu_execute_trace(struct softgpu_run *run)
{
   const struct softgpu_trace *trace = run->trace;
   const struct ac_shader_args *out = &trace->prolog->out;
   struct softgpu_wave *wave = &run->waves[0];
   uint64_t lanes = wave->exec;

   run->instructions = 0;
   execute_prolog(trace, wave);
   while (lanes && !softgpu_failed()) {
      unsigned part;
      struct stage *stage = find_stage(
         run, read_pair(&wave->sgprs[offset_of(out, out->rt.uniform_shader_addr)]), &part);
      if (!stage)
         return;
      lanes = execute_stage(run, stage, part, lanes);
      if (run->instructions > SOFTGPU_MAX_INSTRUCTIONS && !softgpu_has_mode("patient")) {
         softgpu_error("the shader does not end");
         return;
      }
      /* There is no jump behind that: select_program_rt() of ACO. */
      if (stage->shader->nir->info.stage == MESA_SHADER_RAYGEN && !stage->shader->resume_count)
         return;
   }
}

struct softgpu_run *
softgpu_create_trace(const struct softgpu_rt_prolog *prolog, unsigned wave_size,
                     uint32_t stack_size)
{
   struct softgpu_run *run = rzalloc(NULL, struct softgpu_run);
   struct softgpu_trace *trace = rzalloc(run, struct softgpu_trace);

   trace->prolog = prolog;
   trace->stack_size = stack_size;
   trace->stack = rzalloc_size(trace, (size_t)stack_size * wave_size + 1);
   list_inithead(&trace->stages);
   run->trace = trace;
   run->max_waves = 1;
   run->waves = rzalloc_array(run, struct softgpu_wave, 1);

   struct softgpu_wave *wave = &run->waves[0];
   wave->group = &run->group;
   wave->size = wave_size;
   wave->vgpr_count = prolog->out.num_vgprs_used;
   wave->vgprs = rzalloc_array(run, uint32_t, (size_t)wave->vgpr_count * wave_size);
   return run;
}

/* --- Intrinsics ----------------------------------------------------------- */

static void
store_arg(struct softgpu_wave *wave, const nir_intrinsic_instr *instr, bool vector)
{
   const struct ac_shader_args *args = &wave->shader->args;
   const unsigned index = (unsigned)nir_intrinsic_base(instr);
   const unsigned first = args->args[index].offset;
   /* A component may be two registers. */
   const unsigned registers = instr->src[0].ssa->bit_size / 32;
   for (unsigned i = 0; i < instr->src[0].ssa->num_components * registers; i++) {
      const unsigned component = i / registers, shift = i % registers * 32;
      if (!vector) {
         wave->sgprs[first + i] =
            (uint32_t)(softgpu_uniform_source(wave, instr, 0, component) >> shift);
         continue;
      }
      softgpu_foreach_lane(lane, wave->exec)
      {
         wave->vgprs[(first + i) * wave->size + lane] =
            (uint32_t)(softgpu_uint(wave, &instr->src[0], component, lane) >> shift);
      }
   }
}

bool
softgpu_execute_rays(struct softgpu_wave *wave, nir_intrinsic_instr *instr)
{
   if (!wave->program)
      return false;
   switch (instr->intrinsic) {
   case nir_intrinsic_store_scalar_arg_amd:
   case nir_intrinsic_store_vector_arg_amd:
      store_arg(wave, instr, instr->intrinsic == nir_intrinsic_store_vector_arg_amd);
      break;
   case nir_intrinsic_load_sbt_base_amd: {
      const struct ac_shader_args *args = &wave->shader->args;
      softgpu_set_all(wave, instr, 0,
                      read_pair(&wave->sgprs[offset_of(args, args->rt.sbt_descriptors)]));
      break;
   }
   case nir_intrinsic_load_resume_shader_address_amd:
      softgpu_set_all(wave, instr, 0,
                      wave->program + (nir_intrinsic_call_idx(instr) + 1) * RESUME_STRIDE);
      break;
   case nir_intrinsic_terminate:
      wave->exec = 0;
      break;
   case nir_intrinsic_terminate_if:
      softgpu_foreach_lane(lane, wave->exec)
      {
         if (softgpu_uint(wave, &instr->src[0], 0, lane))
            wave->exec &= ~(UINT64_C(1) << lane);
      }
      break;
   default:
      return false;
   }
   return true;
}

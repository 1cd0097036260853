/* SPDX-License-Identifier: MIT */

/*
 * Executes a workgroup: its waves in turns, from barrier to barrier. A wave
 * executes NIR with a mask of active lanes, as the hardware does. Values stay where they are for
 * lanes that are not active, so a phi is a copy on the way from one block to the next.
 */

#include "softgpu_counters.h"
#include "softgpu_wave.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/u_debug.h"
#include "util/u_math.h"
#include "nir_constant_expressions.h"

/* --- Instructions --------------------------------------------------------- */

/* Operations whose types have no size take it from their operands. */
static unsigned
alu_bit_size(const nir_alu_instr *alu)
{
   const nir_op_info *info = &nir_op_infos[alu->op];

   if (!nir_alu_type_get_type_size(info->output_type))
      return alu->def.bit_size;
   for (unsigned i = 0; i < info->num_inputs; i++) {
      if (!nir_alu_type_get_type_size(info->input_types[i]))
         return alu->src[i].src.ssa->bit_size;
   }
   return 32;
}

/* What most instructions are, without the way through nir_eval_const_opcode()
 * for each lane. Returns false for all others.
 */
static bool
execute_common_alu(struct softgpu_wave *wave, const nir_alu_instr *alu)
{
   const nir_const_value *src[3] = {NULL};
   unsigned stride[3] = {0};
   nir_const_value *dest = softgpu_value(wave, &alu->def, 0);

   if (alu->def.num_components != 1 || nir_op_infos[alu->op].num_inputs > 3)
      return false;
   for (unsigned i = 0; i < nir_op_infos[alu->op].num_inputs; i++) {
      src[i] = softgpu_value(wave, alu->src[i].src.ssa, 0) + alu->src[i].swizzle[0];
      stride[i] = alu->src[i].src.ssa->num_components;
   }

#define EACH_LANE(...)                                                                             \
   for (unsigned lane = 0; lane < wave->size; lane++) {                                            \
      if (wave->exec >> lane & 1) {                                                                \
         __VA_ARGS__;                                                                              \
      }                                                                                            \
   }                                                                                               \
   return true
#define A(member) src[0][lane * stride[0]].member
#define B(member) src[1][lane * stride[1]].member

   switch (alu->op) {
   case nir_op_mov:
      EACH_LANE(dest[lane] = src[0][lane * stride[0]]);
   case nir_op_bcsel:
      EACH_LANE(dest[lane] = A(b) ? src[1][lane * stride[1]] : src[2][lane * stride[2]]);
   case nir_op_pack_64_2x32_split:
      EACH_LANE(dest[lane].u64 = A(u32) | (uint64_t)B(u32) << 32);
   case nir_op_unpack_64_2x32_split_x:
      EACH_LANE(dest[lane].u32 = (uint32_t)A(u64));
   case nir_op_unpack_64_2x32_split_y:
      EACH_LANE(dest[lane].u32 = (uint32_t)(A(u64) >> 32));
   default:
      break;
   }
   if (alu->src[0].src.ssa->bit_size != 32)
      return false;

   switch (alu->op) {
   case nir_op_iadd:
      EACH_LANE(dest[lane].u32 = A(u32) + B(u32));
   case nir_op_isub:
      EACH_LANE(dest[lane].u32 = A(u32) - B(u32));
   case nir_op_imul:
      EACH_LANE(dest[lane].u32 = A(u32) * B(u32));
   case nir_op_iand:
      EACH_LANE(dest[lane].u32 = A(u32) & B(u32));
   case nir_op_ior:
      EACH_LANE(dest[lane].u32 = A(u32) | B(u32));
   case nir_op_ixor:
      EACH_LANE(dest[lane].u32 = A(u32) ^ B(u32));
   case nir_op_ishl:
      EACH_LANE(dest[lane].u32 = A(u32) << (B(u32) & 31));
   case nir_op_ushr:
      EACH_LANE(dest[lane].u32 = A(u32) >> (B(u32) & 31));
   case nir_op_umin:
      EACH_LANE(dest[lane].u32 = MIN2(A(u32), B(u32)));
   case nir_op_umax:
      EACH_LANE(dest[lane].u32 = MAX2(A(u32), B(u32)));
   case nir_op_ieq:
      EACH_LANE(dest[lane].b = A(u32) == B(u32));
   case nir_op_ine:
      EACH_LANE(dest[lane].b = A(u32) != B(u32));
   case nir_op_ult:
      EACH_LANE(dest[lane].b = A(u32) < B(u32));
   case nir_op_uge:
      EACH_LANE(dest[lane].b = A(u32) >= B(u32));
   case nir_op_ilt:
      EACH_LANE(dest[lane].b = A(i32) < B(i32));
   case nir_op_ige:
      EACH_LANE(dest[lane].b = A(i32) >= B(i32));
   case nir_op_u2u64:
      EACH_LANE(dest[lane].u64 = A(u32));
   default:
      return false;
   }
#undef EACH_LANE
#undef A
#undef B
}

static void
execute_alu(struct softgpu_wave *wave, nir_alu_instr *alu)
{
   const unsigned bit_size = alu_bit_size(alu);
   const unsigned inputs = nir_op_infos[alu->op].num_inputs;
   nir_const_value src[NIR_ALU_MAX_INPUTS][NIR_MAX_VEC_COMPONENTS];
   nir_const_value *srcs[NIR_ALU_MAX_INPUTS];
   unsigned components[NIR_ALU_MAX_INPUTS];

   if (execute_common_alu(wave, alu))
      return;
   for (unsigned i = 0; i < inputs; i++) {
      srcs[i] = src[i];
      components[i] = nir_ssa_alu_instr_src_components(alu, i);
   }
   softgpu_foreach_lane(lane, wave->exec)
   {
      nir_const_value dest[NIR_MAX_VEC_COMPONENTS] = {0};
      for (unsigned i = 0; i < inputs; i++) {
         const nir_const_value *value = softgpu_value(wave, alu->src[i].src.ssa, lane);
         for (unsigned j = 0; j < components[i]; j++)
            src[i][j] = value[alu->src[i].swizzle[j]];
      }
      nir_eval_const_opcode(alu->op, dest, alu->def.num_components, bit_size, srcs,
                            wave->shader->float_controls);
      memcpy(softgpu_value(wave, &alu->def, lane), dest, alu->def.num_components * sizeof(*dest));
   }
}

/* Whether all waves of the workgroup have to get here first. */
static bool
is_workgroup_barrier(const nir_instr *instr)
{
   if (instr->type != nir_instr_type_intrinsic)
      return false;
   const nir_intrinsic_instr *intrinsic = nir_instr_as_intrinsic(instr);
   return intrinsic->intrinsic == nir_intrinsic_barrier &&
          nir_intrinsic_execution_scope(intrinsic) >= SCOPE_WORKGROUP;
}

/* SOFTGPU_TRACE=N: what invocation N of each workgroup does, on stderr. */
static void
trace(const struct softgpu_wave *wave, nir_instr *instr)
{
   static long traced = -2;
   const nir_def *def = nir_instr_def(instr);

   if (traced == -2)
      traced = debug_get_num_option("SOFTGPU_TRACE", -1);
   const long lane = traced - (long)(wave->index * wave->size);
   if (traced < 0 || lane < 0 || lane >= wave->size || !(wave->exec >> lane & 1))
      return;
   nir_print_instr(instr, stderr);
   for (unsigned i = 0; def && i < def->num_components; i++)
      fprintf(stderr, "%s0x%" PRIx64, i ? ", " : "  -> ",
              nir_const_value_as_uint(softgpu_value(wave, def, (unsigned)lane)[i], def->bit_size));
   fprintf(stderr, "\n");
}

static void
execute_instruction(struct softgpu_wave *wave, nir_instr *instr)
{
   switch (instr->type) {
   case nir_instr_type_alu:
      execute_alu(wave, nir_instr_as_alu(instr));
      break;
   case nir_instr_type_intrinsic:
      softgpu_execute_intrinsic(wave, nir_instr_as_intrinsic(instr));
      break;
   case nir_instr_type_load_const: /* since the beginning */
   case nir_instr_type_undef:
   case nir_instr_type_phi:  /* on the way */
   case nir_instr_type_jump: /* behind the block */
      break;
   case nir_instr_type_tex:
      softgpu_execute_texture(wave, nir_instr_as_tex(instr));
      break;
   default:
      softgpu_error("instructions of type %u are not supported", instr->type);
   }
}

/* --- Control flow --------------------------------------------------------- */

/* Copies the phis of `to` for lanes that come from `from`. All are read before
 * the first is written: they may have each other as sources.
 */
static void
follow_edge(struct softgpu_wave *wave, const nir_block *from, nir_block *to, uint64_t lanes)
{
   nir_const_value values[64];

   if (!lanes)
      return;
   softgpu_foreach_lane(lane, lanes)
   {
      unsigned count = 0;
      nir_const_value *all = values;
      nir_foreach_phi (phi, to)
         count += phi->def.num_components;
      if (count > ARRAY_SIZE(values))
         all = malloc(count * sizeof(*all));

      count = 0;
      nir_foreach_phi (phi, to) {
         const nir_phi_src *src = nir_phi_get_src_from_block(phi, (nir_block *)from);
         memcpy(&all[count], softgpu_value(wave, src->src.ssa, lane),
                phi->def.num_components * sizeof(*all));
         count += phi->def.num_components;
      }
      count = 0;
      nir_foreach_phi (phi, to) {
         memcpy(softgpu_value(wave, &phi->def, lane), &all[count],
                phi->def.num_components * sizeof(*all));
         count += phi->def.num_components;
      }
      if (all != values)
         free(all);
   }
}

static void
leave_block(struct softgpu_wave *wave, const struct softgpu_step *step)
{
   const nir_block *block = step->block;
   const nir_instr *last = nir_block_last_instr((nir_block *)block);
   struct softgpu_frame *loop = &wave->frames[step->frame];

   if (!last || last->type != nir_instr_type_jump) {
      /* Ahead of an `if`, the lanes go separate ways. */
      if (!block->successors[1])
         follow_edge(wave, block, block->successors[0], wave->exec);
      return;
   }
   switch (nir_instr_as_jump((nir_instr *)last)->type) {
   case nir_jump_break:
      follow_edge(wave, block, block->successors[0], wave->exec);
      loop->waiting |= wave->exec;
      break;
   case nir_jump_continue:
      follow_edge(wave, block, block->successors[0], wave->exec);
      loop->done |= wave->exec;
      break;
   case nir_jump_halt:
   case nir_jump_return:
      break;
   default:
      softgpu_error("a jump that is not structured");
   }
   wave->exec = 0;
}

/* Returns false at a barrier. */
static bool
execute_block(struct softgpu_wave *wave, const struct softgpu_step *step)
{
   nir_instr *instr = wave->next ? wave->next : nir_block_first_instr(step->block);

   wave->next = NULL;
   for (; instr && wave->exec && !softgpu_failed(); instr = nir_instr_next(instr)) {
      if (is_workgroup_barrier(instr)) {
         wave->next = nir_instr_next(instr);
         if (!wave->next) {
            leave_block(wave, step);
            wave->step++;
         }
         wave->at_barrier = true;
         return false;
      }
      execute_instruction(wave, instr);
      trace(wave, instr);
   }
   if (wave->exec)
      leave_block(wave, step);
   return true;
}

static void
start_part(struct softgpu_wave *wave, unsigned part, uint64_t lanes)
{
   wave->part = part;
   wave->shader = wave->parts[part].shader;
   wave->values = wave->parts[part].values;
   wave->frames = wave->parts[part].frames;
   wave->exec = lanes;
   wave->step = 0;
   wave->next = NULL;
}

/* Up to the next barrier or the end; the second part waits for the first one of all waves. */
static void
execute_wave(struct softgpu_run *run, struct softgpu_wave *wave)
{
   const struct softgpu_shader *shader = wave->shader;

   while (wave->step < shader->step_count && !softgpu_failed()) {
      const struct softgpu_step *step = &shader->steps[wave->step];
      struct softgpu_frame *frame = &wave->frames[step->frame];

      softgpu_yield();
      softgpu_meet_sometimes();
      softgpu_count(
         SOFTGPU_INSTRUCTIONS,
         wave->exec ? 1 + (step->block ? exec_list_length(&step->block->instr_list) : 0) : 0);
      run->instructions +=
         1 + (step->block && wave->exec ? exec_list_length(&step->block->instr_list) : 0);
      if (run->instructions > SOFTGPU_MAX_INSTRUCTIONS && softgpu_has_mode("patient"))
         run->instructions = 0;
      if (run->instructions > SOFTGPU_MAX_INSTRUCTIONS) {
         softgpu_error("the shader does not end");
         return;
      }
      switch (step->type) {
      case SOFTGPU_BLOCK:
         if (!execute_block(wave, step))
            return;
         break;
      case SOFTGPU_IF: {
         uint64_t lanes = 0;
         softgpu_count(SOFTGPU_BRANCHES, wave->exec != 0);
         softgpu_foreach_lane(lane, wave->exec)
         {
            if (softgpu_value(wave, step->nif->condition.ssa, lane)->b)
               lanes |= UINT64_C(1) << lane;
         }
         frame->waiting = wave->exec & ~lanes;
         frame->done = 0;
         wave->exec = lanes;
         follow_edge(wave, step->block, nir_if_first_then_block(step->nif), lanes);
         follow_edge(wave, step->block, nir_if_first_else_block(step->nif), frame->waiting);
         break;
      }
      case SOFTGPU_ELSE:
         frame->done = wave->exec;
         wave->exec = frame->waiting;
         break;
      case SOFTGPU_END_IF:
         wave->exec |= frame->done;
         break;
      case SOFTGPU_LOOP:
         frame->waiting = 0;
         frame->done = 0;
         break;
      case SOFTGPU_END_LOOP:
         wave->exec |= frame->done;
         frame->done = 0;
         if (wave->exec) {
            wave->step = step->target;
            continue;
         }
         wave->exec = frame->waiting;
         break;
      }
      wave->step++;
   }
   if (wave->part == 0 && wave->parts[1].shader) {
      start_part(wave, 1, wave->second_lanes);
      wave->at_barrier = true;
      return;
   }
   wave->ended = true;
}

/* --- Workgroups ----------------------------------------------------------- */

/* Executes what has been started. */
void
softgpu_execute_group(struct softgpu_run *run)
{
   run->instructions = 0;
   /* Nobody may rely on what is there in the beginning. */
   memset(run->group.shared, 0xcd, run->group.shared_size);
   run->group.tess_message = 0;

   for (unsigned waiting = 1; waiting && !softgpu_failed();) {
      waiting = 0;
      for (unsigned i = 0; i < run->group.wave_count && !softgpu_failed(); i++) {
         struct softgpu_wave *wave = &run->waves[i];
         wave->at_barrier = false;
         if (!wave->ended)
            execute_wave(run, wave);
         waiting += wave->at_barrier;
      }
   }
   softgpu_flush_stores();
}

void
softgpu_start_wave(struct softgpu_wave *wave, uint64_t lanes)
{
   start_part(wave, 0, lanes);
   wave->second_lanes = 0;
   wave->helpers = 0;
   wave->at_barrier = false;
   wave->ended = false;
}

static void
prepare_part(struct softgpu_run *run, struct softgpu_wave *wave, unsigned part,
             const struct softgpu_shader *shader)
{
   struct softgpu_part *to = &wave->parts[part];

   if (!shader)
      return;
   to->shader = shader;
   to->frames = rzalloc_array(run, struct softgpu_frame, shader->frame_count + 1);
   to->values = rzalloc_array(run, nir_const_value, (size_t)shader->value_count * wave->size + 1);
   start_part(wave, part, 0);
   nir_foreach_block (block, shader->impl) {
      nir_foreach_instr (instr, block) {
         if (instr->type != nir_instr_type_load_const)
            continue;
         const nir_load_const_instr *load = nir_instr_as_load_const(instr);
         for (unsigned lane = 0; lane < wave->size; lane++)
            memcpy(softgpu_value(wave, &load->def, lane), load->value,
                   load->def.num_components * sizeof(*load->value));
      }
   }
}

struct softgpu_run *
softgpu_create_merged_run(const struct softgpu_shader *first, const struct softgpu_shader *second,
                          unsigned wave_size, unsigned max_waves, uint32_t shared_size)
{
   struct softgpu_run *run = rzalloc(NULL, struct softgpu_run);
   struct softgpu_workgroup *group = &run->group;
   const struct softgpu_shader *last = second ? second : first;
   const unsigned vgprs = MAX3(first->args.num_vgprs_used, last->args.num_vgprs_used, 1);

   shared_size = MAX3(first->nir->info.shared_size, last->nir->info.shared_size, shared_size);
   run->max_waves = max_waves;
   run->waves = rzalloc_array(run, struct softgpu_wave, max_waves);
   group->shader = first;
   group->shared_size = align(shared_size, 16);
   group->shared = rzalloc_size(run, group->shared_size + 1);
   group->scratch_size = MAX2(first->nir->scratch_size, last->nir->scratch_size);
   group->scratch = rzalloc_size(run, (size_t)group->scratch_size * max_waves * wave_size + 1);

   for (unsigned i = 0; i < max_waves; i++) {
      struct softgpu_wave *wave = &run->waves[i];
      wave->group = group;
      wave->index = i;
      wave->size = wave_size;
      wave->vgpr_count = vgprs;
      wave->vgprs = rzalloc_array(run, uint32_t, (size_t)vgprs * wave_size);
      if (second)
         wave->outputs = rzalloc_size(run, SOFTGPU_MAX_SLOTS * sizeof(*wave->outputs));
      prepare_part(run, wave, 1, second);
      prepare_part(run, wave, 0, first);
   }
   return run;
}

struct softgpu_run *
softgpu_create_run(const struct softgpu_shader *shader, unsigned wave_size, unsigned max_waves,
                   uint32_t shared_size)
{
   return softgpu_create_merged_run(shader, NULL, wave_size, max_waves, shared_size);
}

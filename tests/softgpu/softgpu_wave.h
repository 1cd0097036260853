/* SPDX-License-Identifier: MIT */

/* Shaders, and the waves that execute them. */

#ifndef SOFTGPU_WAVE_H
#define SOFTGPU_WAVE_H

#include "softgpu.h"

#include "gpuval/src/compat/gpuval_nir_names.h"
#include "util/bitscan.h"
#include "ac_shader_args.h"

#define SOFTGPU_MAX_LANES 64
#define SOFTGPU_MAX_SGPRS 48
#define SOFTGPU_MAX_SLOTS 64
#define SOFTGPU_NAME_LEN  26

/* NIR's tree of control flow as a list. A frame is what a wave keeps of one
 * `if` or loop that it is in.
 */
enum softgpu_step_type {
   SOFTGPU_BLOCK,
   SOFTGPU_IF, /* behind `block` */
   SOFTGPU_ELSE,
   SOFTGPU_END_IF,
   SOFTGPU_LOOP,
   SOFTGPU_END_LOOP, /* goes back to `target` as long as there are lanes */
};

struct softgpu_step {
   enum softgpu_step_type type;
   nir_block *block;
   nir_if *nif;
   unsigned frame; /* blocks: the innermost loop's */
   unsigned target;
};

struct softgpu_shader {
   struct list_head link;
   char name[SOFTGPU_NAME_LEN]; /* the size of its code, and a hash */
   void *code;
   size_t code_size;
   nir_shader *nir;
   nir_function_impl *impl;
   struct ac_shader_args args;
   uint32_t address32_hi;
   unsigned vertex_inputs; /* VGPRs that a prolog sets, from there on */
   unsigned next_stage;    /* the SGPR with the address of the shader behind this one; 0: none */
   const struct softgpu_shader *second; /* that is merged with it, or NULL */
   unsigned float_controls;
   uint32_t entry_base;            /* @entry_base_gpuval */
   struct softgpu_shader *resumes; /* of ray tracing: behind its first call, its second … */
   unsigned resume_count;

   struct softgpu_step *steps;
   unsigned step_count;
   unsigned frame_count;
   uint32_t *first_value; /* by nir_def::index */
   uint32_t value_count;  /* of a lane */
};

struct softgpu_frame {
   uint64_t waiting; /* if: lanes of the other branch; loop: that left */
   uint64_t done;    /* if: lanes behind this branch; loop: at its end */
};

struct softgpu_workgroup {
   const struct softgpu_shader *shader;
   unsigned id[3];
   unsigned wave_count;
   uint8_t *shared;
   uint32_t shared_size;
   uint8_t *scratch;      /* of all lanes of all waves */
   uint32_t scratch_size; /* of a lane */
   bool scratch_is_stack; /* what is not in it is an error */
   unsigned tess_message; /* of s_sendmsg: 0: none, else 1 and the level of all factors */
};

/* One of two shaders that a wave executes one after the other, with the same registers: stages
 * that are merged
 */
struct softgpu_part {
   const struct softgpu_shader *shader;
   nir_const_value *values;
   struct softgpu_frame *frames;
};

struct softgpu_wave {
   struct softgpu_workgroup *group;
   const struct softgpu_shader *shader;
   struct softgpu_part parts[2];
   unsigned part;         /* that is executed: its shader, values and frames are the wave's */
   uint64_t second_lanes; /* that are active in the second part, behind a barrier */
   unsigned index;        /* in its workgroup */
   unsigned size;         /* lanes */
   uint64_t exec;         /* lanes that are active */
   uint64_t helpers;      /* of these, those that change nothing in memory */

   uint32_t sgprs[SOFTGPU_MAX_SGPRS];
   unsigned sgpr_count;
   uint32_t *vgprs; /* of lane 0, lane 1 …; then the next one's */
   unsigned vgpr_count;

   uint64_t program; /* rays: where the code begins */

   /* Graphics: where vertices go, and of what there are pixels */
   struct softgpu_exports *exports;
   const struct softgpu_primitive *primitive;
   struct softgpu_colors *colors; /* what these export */
   float pixels[SOFTGPU_MAX_LANES][2];
   /* What the first part leaves to the second one in registers; NULL: they are not merged */
   uint32_t (*outputs)[4][SOFTGPU_MAX_LANES];

   nir_const_value *values;
   struct softgpu_frame *frames;
   unsigned step;
   nir_instr *next; /* where to go on in the step's block; NULL: at its begin */
   bool at_barrier;
   bool ended;
};

/* Of instructions of a workgroup; then it is assumed to hang. */
#define SOFTGPU_MAX_INSTRUCTIONS (UINT64_C(1) << 24)

/* A workgroup and its waves, again and again. */
struct softgpu_run {
   struct softgpu_workgroup group;
   struct softgpu_wave *waves;
   unsigned max_waves;
   uint64_t instructions;
   struct softgpu_trace *trace; /* what begins with a prolog of ray tracing */
};

#define softgpu_foreach_lane(lane, mask)                                                           \
   for (uint64_t _lanes = (mask); _lanes; _lanes &= _lanes - 1)                                    \
      for (unsigned lane = (unsigned)ffsll((long long)_lanes) - 1, _once = 1; _once; _once = 0)

/* Lanes that change memory */
static inline uint64_t
softgpu_writers(const struct softgpu_wave *wave)
{
   return wave->exec & ~wave->helpers;
}

/* The components of a value in one lane. */
static inline nir_const_value *
softgpu_value(const struct softgpu_wave *wave, const nir_def *def, unsigned lane)
{
   return &wave->values[(size_t)wave->shader->first_value[def->index] * wave->size +
                        lane * def->num_components];
}

static inline uint64_t
softgpu_uint(const struct softgpu_wave *wave, const nir_src *src, unsigned component, unsigned lane)
{
   return nir_const_value_as_uint(softgpu_value(wave, src->ssa, lane)[component],
                                  src->ssa->bit_size);
}

/* --- softgpu_execute.c ---------------------------------------------------- */

/* To be freed with ralloc_free(). There is at least as much shared memory as the shader says. */
struct softgpu_run *softgpu_create_run(const struct softgpu_shader *shader, unsigned wave_size,
                                       unsigned max_waves, uint32_t shared_size);
/* The same with a shader behind the first one, or NULL */
struct softgpu_run *softgpu_create_merged_run(const struct softgpu_shader *first,
                                              const struct softgpu_shader *second,
                                              unsigned wave_size, unsigned max_waves,
                                              uint32_t shared_size);

/* A wave's SGPRs and VGPRs are the caller's business. */
void softgpu_start_wave(struct softgpu_wave *wave, uint64_t lanes);
/* group.wave_count waves that have been started */
void softgpu_execute_group(struct softgpu_run *run);

/* --- softgpu_intrinsics.c ------------------------------------------------- */

/* What a lane gets, or each active one. */
void softgpu_set_uint(struct softgpu_wave *wave, nir_intrinsic_instr *instr, unsigned lane,
                      unsigned component, uint64_t value);
void softgpu_set_all(struct softgpu_wave *wave, nir_intrinsic_instr *instr, unsigned component,
                     uint64_t value);
unsigned softgpu_first_lane(const struct softgpu_wave *wave);
const char *softgpu_name(const nir_intrinsic_instr *instr);

/* A source that has to be the same in all active lanes, or else it is an error. */
uint64_t softgpu_uniform(const struct softgpu_wave *wave, const nir_src *src, unsigned component,
                         const char *what);
uint64_t softgpu_uniform_source(const struct softgpu_wave *wave, const nir_intrinsic_instr *instr,
                                unsigned src, unsigned component);

/* All but nir_intrinsic_barrier. */
void softgpu_execute_intrinsic(struct softgpu_wave *wave, nir_intrinsic_instr *instr);

/* --- softgpu_access.c ----------------------------------------------------- */

/* `data` is the source with the operand; another one follows in swaps. */
void softgpu_atomic(struct softgpu_wave *wave, nir_intrinsic_instr *instr, unsigned lane,
                    uint64_t va, unsigned data);

/* false: it is no access to memory, or not known here */
bool softgpu_execute_access(struct softgpu_wave *wave, nir_intrinsic_instr *instr);

/* --- softgpu_subgroups.c -------------------------------------------------- */

/* false: it is another one */
bool softgpu_execute_subgroup(struct softgpu_wave *wave, nir_intrinsic_instr *instr);

/* --- softgpu_rays.c ------------------------------------------------------- */

struct softgpu_rt_prolog;

/* NULL: there is another program. */
const struct softgpu_rt_prolog *softgpu_find_rt_prolog(uint64_t va);

/* Workgroups have one wave. `stack_size` is that of a lane. To be freed with ralloc_free(). */
struct softgpu_run *softgpu_create_trace(const struct softgpu_rt_prolog *prolog, unsigned wave_size,
                                         uint32_t stack_size);

/* From the prolog on, for a wave with the registers of a dispatch. */
void softgpu_execute_trace(struct softgpu_run *run);

/* false: it is another one */
bool softgpu_execute_rays(struct softgpu_wave *wave, nir_intrinsic_instr *instr);

/* --- softgpu_bvh.c -------------------------------------------------------- */

void softgpu_intersect(struct softgpu_wave *wave, nir_intrinsic_instr *instr);

/* --- softgpu_inputs.c ----------------------------------------------------- */

/* false: it is another one */
bool softgpu_execute_input(struct softgpu_wave *wave, nir_intrinsic_instr *instr);

/* --- softgpu_texels.c ----------------------------------------------------- */

/* PIPE_FORMAT_NONE: it is none of buffers */
enum pipe_format softgpu_find_format(unsigned img_format);

void softgpu_execute_texture(struct softgpu_wave *wave, nir_tex_instr *tex);
void softgpu_execute_image(struct softgpu_wave *wave, nir_intrinsic_instr *instr);

#endif

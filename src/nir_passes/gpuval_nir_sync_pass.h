/* SPDX-License-Identifier: MIT */

/* One walk of the check sync over a shader: which accesses are looked at, gpuval_nir_sync.c, and
 * what orders them, gpuval_nir_sync_order.c.
 */

#ifndef GPUVAL_NIR_SYNC_PASS_H
#define GPUVAL_NIR_SYNC_PASS_H

#include "gpuval_nir_private.h"

#define BUFFER_MODES (nir_var_mem_ssbo | nir_var_mem_global)
#define TEXEL_TYPES  (BITFIELD_BIT(GPUVAL_ACCESS_TEXEL_BUFFER) | BITFIELD_BIT(GPUVAL_ACCESS_IMAGE))

struct gpuval_sync_pass {
   struct gpuval_nir_state *state;
   bool shadow; /* shadow memory's, else the filter's */
   struct gpuval_nir_phases phases;
   struct gpuval_nir_phases image_phases; /* of barriers that order images, */
   struct gpuval_nir_phases texel_phases; /* and of those that order either, for texel buffers */
   bool has_phases;
   bool has_texels;    /* of images */
   bool has_subgroups; /* some of the phases are a subgroup's */
   bool is_subgroup;   /* all of them */
   nir_def *context;   /* invocation id, token, for those without phases also 0 */
   uint32_t shifts;    /* of GPUVAL_SHADOW_CONTEXT */
   unsigned num_sites;
   bool has_order;            /* atomics and barriers order accesses */
   nir_variable_mode visible; /* what memory barriers of the device so far are for, all come past */
   bool has_visible;          /* some are in control flow: */
   nir_variable *visible_buffers; /* NULL, or whether an invocation has come past one of them */
   nir_variable *visible_images;
   nir_variable *acquired; /* the filter: may something be ordered before? NULL: never */
};

static inline bool
gpuval_sync_has_workgroups(mesa_shader_stage stage)
{
   return mesa_shader_stage_uses_workgroup(stage) || stage == MESA_SHADER_TESS_CTRL;
}

/** Id of the invocation, and the token of its workgroup: 2 x 32 bit */
nir_def *gpuval_sync_context(struct gpuval_sync_pass *pass);
/**
 * Where the range of a descriptor begins and how many bytes it has. @set -1: not known, as a
 * variable pointer may lead to any set that has buffers.
 */
void gpuval_sync_range(struct gpuval_nir_state *state, nir_intrinsic_instr *intrin, int set,
                       nir_def *slot, nir_def **address, nir_def **size);

/* gpuval_nir_sync_order.c */

/** Before accesses are looked at: what atomics and barriers make of them, */
void gpuval_sync_find_order(struct gpuval_sync_pass *pass);
/** and after it. */
void gpuval_sync_instrument_order(struct gpuval_sync_pass *pass);
/** In the order of the shader: @access may be a memory barrier that all invocations come past. */
void gpuval_sync_note_barrier(struct gpuval_sync_pass *pass, const struct gpuval_access *access);
/**
 * Has a memory barrier of the device before made visible what a load or an atomic reads? *@dynamic
 * stays as it is, or becomes 1 bit at b->cursor: some invocations have come past one.
 */
bool gpuval_sync_is_visible(const struct gpuval_sync_pass *pass, const struct gpuval_access *access,
                            nir_def **dynamic);

#endif

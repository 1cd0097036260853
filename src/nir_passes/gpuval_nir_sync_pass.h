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
   nir_variable_mode visible; /* of memory barriers so far that all invocations have come past */
   /* Has the invocation come past a barrier in control flow? NULL: there is none for that. */
   nir_variable *visible_buffers, *visible_images;
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
/**
 * Called for each access in the shader's order: where it is a memory barrier that all invocations
 * come past, gpuval_sync_is_visible() is true of what follows.
 */
void gpuval_sync_note_barrier(struct gpuval_sync_pass *pass, const struct gpuval_access *access);
/**
 * Returns whether a memory barrier of the device has made visible to all invocations what a load or
 * an atomic reads. If not, but to some of them: *@dynamic, else unchanged, becomes 1 bit, loaded at
 * b->cursor.
 */
bool gpuval_sync_is_visible(const struct gpuval_sync_pass *pass, const struct gpuval_access *access,
                            nir_def **dynamic);

#endif

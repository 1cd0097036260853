/* SPDX-License-Identifier: MIT */

/* What the files of the check undefined share: gpuval_nir_undefined.c says how it works. */

#ifndef GPUVAL_NIR_UNDEFINED_H
#define GPUVAL_NIR_UNDEFINED_H

#include "gpuval_nir_operation.h"

/* A variable of the invocation in memory */
struct gpuval_undefined_memory {
   nir_variable *var;
   bool is_known; /* only loads and stores, of what has a shadow */
   bool may_be_undefined;
   nir_variable *shadow;          /* NULL: not needed yet */
   struct util_dynarray accesses; /* nir_intrinsic_instr *, in the order of blocks */
};

struct gpuval_undefined {
   nir_builder *b;
   const struct gpuval_nir_early *early;
   void *mem_ctx;

   unsigned num_defs;              /* what is newer is of this pass */
   uint16_t *masks;                /* by nir_def::index: components that may be undefined */
   struct hash_table *memories;    /* nir_variable to struct gpuval_undefined_memory */
   struct hash_table *booleans;    /* nir_def to nir_def *[NIR_MAX_VEC_COMPONENTS] */
   struct util_dynarray to_shadow; /* of these, pointers: their stores have no shadow yet */
   nir_def *yes, *no;
};

/* Memory of the invocation: gpuval_nir_undefined_memory.c */

/** All of the shader. */
void gpuval_undefined_find_memories(struct gpuval_undefined *undefined);
/** Of the variable that a path leads to; NULL: it is none of the invocation. */
struct gpuval_undefined_memory *
gpuval_undefined_find_memory(const struct gpuval_undefined *undefined, nir_deref_instr *deref);
/** To what may be such memory */
bool gpuval_undefined_is_store(const nir_intrinsic_instr *access);
/** The same shape, of words: one for each component. */
const struct glsl_type *gpuval_undefined_shadow_type(void *mem_ctx, const struct glsl_type *type);
/** The same path in the shadow. */
nir_deref_instr *gpuval_undefined_shadow_deref(nir_builder *b, nir_variable *shadow,
                                               nir_deref_instr *deref);
/** Makes shadows zero, and stores to them beside each store to their variables. */
void gpuval_undefined_fill_shadows(struct gpuval_undefined *undefined);

/* Values: gpuval_nir_undefined_values.c */

/** Goes over the shader once, and sets *@any where there are such. Returns whether to go again. */
bool gpuval_undefined_find_masks(struct gpuval_undefined *undefined, bool *any);
/** Components that may be undefined. */
uint16_t gpuval_undefined_mask(const struct gpuval_undefined *undefined, const nir_def *def);
/** Both booleans: 1 bit, NULL is true. */
nir_def *gpuval_undefined_both(nir_builder *b, nir_def *first, nir_def *second);
/** Is the component defined? Moves the cursor where it has to build something. */
nir_def *gpuval_undefined_get(struct gpuval_undefined *undefined, nir_def *def, unsigned component);
/** The same of all of these components. */
nir_def *gpuval_undefined_get_all(struct gpuval_undefined *undefined, nir_def *def,
                                  uint16_t components);
/**
 * Builds booleans before the cursor is set: that of an instruction stands behind it, in
 * front of those that have been built for its other components.
 */
void gpuval_undefined_prepare(struct gpuval_undefined *undefined, nir_def *def,
                              uint16_t components);

#endif

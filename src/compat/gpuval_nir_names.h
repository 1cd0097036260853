/* SPDX-License-Identifier: MIT */

/* NIR's names for what is the same in all versions */

#ifndef GPUVAL_NIR_NAMES_H
#define GPUVAL_NIR_NAMES_H

#include "nir.h"

#include "gpuval/src/compat/gpuval_stages.h"

#if GPUVAL_MESA >= 2600

static inline const struct set *
gpuval_predecessors(const nir_block *block)
{
   return &block->predecessors;
}

/** Behind what makes @value */
static inline void
gpuval_rewrite_uses_after(nir_def *def, nir_def *value)
{
   nir_def_rewrite_uses_after(def, value);
}

static inline uint32_t
gpuval_upper_bound(nir_shader *nir, struct hash_table *range_ht, nir_scalar scalar)
{
   return nir_unsigned_upper_bound(nir, range_ht, scalar);
}

/** Do invocations of @nir, of a pixel stage, need those of the quad's other pixels? */
static inline bool
gpuval_needs_quad_helpers(const nir_shader *nir)
{
   return nir->info.fs.needs_coarse_quad_helper_invocations ||
          nir->info.fs.needs_full_quad_helper_invocations;
}

#else

#define nir_opt_copy_prop nir_copy_prop

static inline const struct set *
gpuval_predecessors(const nir_block *block)
{
   return block->predecessors;
}

static inline nir_instr *
nir_def_instr(const nir_def *def)
{
   return def->parent_instr;
}

static inline void
gpuval_rewrite_uses_after(nir_def *def, nir_def *value)
{
   nir_def_rewrite_uses_after(def, value, nir_def_instr(value));
}

static inline uint32_t
gpuval_upper_bound(nir_shader *nir, struct hash_table *range_ht, nir_scalar scalar)
{
   return nir_unsigned_upper_bound(nir, range_ht, scalar, NULL);
}

static inline bool
gpuval_needs_quad_helpers(const nir_shader *nir)
{
   return nir->info.fs.needs_quad_helper_invocations;
}

static inline bool
nir_progress(bool progress, nir_function_impl *impl, nir_metadata preserved)
{
   nir_metadata_preserve(impl, progress ? preserved : nir_metadata_all);
   return progress;
}

#endif

#endif

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

#else

#define nir_opt_copy_prop nir_copy_prop

static inline const struct set *
gpuval_predecessors(const nir_block *block)
{
   return block->predecessors;
}

/* Behind what makes @value; in parentheses, the function of Mesa's that has the name as well */
#define nir_def_rewrite_uses_after(def, value) \
   (nir_def_rewrite_uses_after)(def, value, nir_def_instr(value))

/* The last parameter is a configuration, which NULL leaves to Mesa. */
#define nir_unsigned_upper_bound(shader, range_ht, scalar) \
   (nir_unsigned_upper_bound)(shader, range_ht, scalar, NULL)

static inline nir_instr *
nir_def_instr(const nir_def *def)
{
   return def->parent_instr;
}

static inline bool
nir_progress(bool progress, nir_function_impl *impl, nir_metadata preserved)
{
   nir_metadata_preserve(impl, progress ? preserved : nir_metadata_all);
   return progress;
}

#endif

#endif

/* SPDX-License-Identifier: MIT */

/* Names and arguments of NIR's passes */

#ifndef GPUVAL_NIR_LOWERING_H
#define GPUVAL_NIR_LOWERING_H

#include "gpuval/src/compat/gpuval_mesa.h"
#include "nir.h"

#if GPUVAL_MESA >= 2600

/* Members of struct nir_lower_subgroups_options */
#define GPUVAL_LOWER_ALL_VOTES_EQ                                                                  \
   .lower_vote_feq = true, .lower_vote_ieq = true, .lower_vote_bool_eq = true

#else

static inline bool
nir_lower_indirect_derefs_to_if_else_trees(nir_shader *nir, nir_variable_mode modes,
                                           uint32_t max_array_length)
{
   return nir_lower_indirect_derefs(nir, modes, max_array_length);
}

static inline bool
nir_lower_all_phis_to_scalar(nir_shader *nir)
{
   return nir_lower_phis_to_scalar(nir, true);
}

#define GPUVAL_LOWER_ALL_VOTES_EQ .lower_vote_eq = true

#endif

#endif

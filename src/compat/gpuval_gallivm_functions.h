/* SPDX-License-Identifier: MIT */

/* What gallivm does with a function of NIR before it translates it */

#ifndef GPUVAL_GALLIVM_FUNCTIONS_H
#define GPUVAL_GALLIVM_FUNCTIONS_H

#include "gallivm/lp_bld_nir.h"

#include "gpuval/src/compat/gpuval_mesa.h"

static inline void
gpuval_gallivm_prepasses(struct nir_shader *nir)
{
#if GPUVAL_MESA >= 2600
   lp_build_nir_soa_prepasses(nir);
#else
   lp_build_nir_prepasses(nir);
#endif
}

#endif

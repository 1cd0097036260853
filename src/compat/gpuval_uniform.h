/* SPDX-License-Identifier: MIT */

/* What NIR has to know of our code to see that something is the same in all invocations. Mesa's
 * nir.c includes this.
 */

#ifndef GPUVAL_UNIFORM_H
#define GPUVAL_UNIFORM_H

#include "gpuval/src/compat/gpuval_nir_names.h"

/**
 * Is @intrin the first invocation's choice between an address and what stands in for it,
 * gpuval_nir_address.c?
 */
static inline bool
gpuval_is_uniform_choice(const nir_intrinsic_instr *intrin)
{
   if (intrin->intrinsic != nir_intrinsic_read_first_invocation)
      return false;

   const nir_instr *choice = nir_def_instr(intrin->src[0].ssa);
   if (choice->type != nir_instr_type_alu)
      return false;
   const nir_alu_instr *alu = nir_instr_as_alu((nir_instr *)choice);
   if (alu->op != nir_op_bcsel && alu->op != nir_op_b32csel)
      return false;
   const nir_instr *condition = nir_def_instr(alu->src[0].src.ssa);
   return condition->type == nir_instr_type_intrinsic &&
          nir_instr_as_intrinsic((nir_instr *)condition)->intrinsic ==
             nir_intrinsic_check_address_gpuval;
}

#endif

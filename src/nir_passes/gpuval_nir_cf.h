/* SPDX-License-Identifier: MIT */

/* For code of Mesa's that copies whole shaders: all that it needs to know of
 * reports, and nothing to link with.
 */

#ifndef GPUVAL_NIR_CF_H
#define GPUVAL_NIR_CF_H

#include "nir.h"
#include "nir_control_flow.h"

/**
 * Where control flow has been cloned and both copies will run for an
 * invocation: the reports of one of them go, so that each failure counts once.
 */
static inline void
gpuval_nir_remove_reports(nir_cf_list *list)
{
   foreach_list_typed (nir_cf_node, node, node, &list->list) {
      nir_foreach_block_in_cf_node_safe (block, node) {
         nir_foreach_instr_safe (instr, block) {
            if (instr->type == nir_instr_type_intrinsic &&
                nir_instr_as_intrinsic(instr)->intrinsic == nir_intrinsic_report_gpuval)
               nir_instr_remove(instr);
         }
      }
   }
}

#endif

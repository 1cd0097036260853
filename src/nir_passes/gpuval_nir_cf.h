/* SPDX-License-Identifier: MIT */

/* For code of Mesa's that copies whole shaders: all that it needs to know of
 * reports, and nothing to link with.
 */

#ifndef GPUVAL_NIR_CF_H
#define GPUVAL_NIR_CF_H

#include "gpuval/src/compat/gpuval_nir_names.h"
#include "nir_builder.h"
#include "nir_control_flow.h"

/** What may report, by the site that is its base */
static inline bool
gpuval_nir_has_site(const nir_intrinsic_instr *intrin)
{
   return intrin->intrinsic == nir_intrinsic_report_gpuval ||
          intrin->intrinsic == nir_intrinsic_check_buffer_gpuval ||
          intrin->intrinsic == nir_intrinsic_check_address_gpuval ||
          intrin->intrinsic == nir_intrinsic_look_gpuval ||
          intrin->intrinsic == nir_intrinsic_sync_gpuval;
}

/** What a user is told something by */
static inline bool
gpuval_nir_tells(const nir_intrinsic_instr *intrin)
{
   return gpuval_nir_has_site(intrin) || intrin->intrinsic == nir_intrinsic_printf_gpuval;
}

/** What it would have found is no failure. */
static inline void
gpuval_nir_remove_report(nir_intrinsic_instr *intrin)
{
   if (nir_intrinsic_infos[intrin->intrinsic].has_dest && !nir_def_is_unused(&intrin->def)) {
      nir_builder b = nir_builder_at(nir_before_instr(&intrin->instr));
      nir_def_rewrite_uses(&intrin->def, nir_imm_zero(&b, 1, intrin->def.bit_size));
   }
   nir_instr_remove(&intrin->instr);
}

/** It does not report what it finds, which is still wanted. */
static inline void
gpuval_nir_silence_report(nir_intrinsic_instr *intrin)
{
   if (intrin->intrinsic == nir_intrinsic_check_address_gpuval && !nir_def_is_unused(&intrin->def))
      nir_intrinsic_set_range(intrin, 0);
   else
      gpuval_nir_remove_report(intrin);
}

static inline void
gpuval_nir_remove_reports_in_block(nir_block *block)
{
   nir_foreach_instr_safe (instr, block) {
      if (instr->type == nir_instr_type_intrinsic &&
          gpuval_nir_tells(nir_instr_as_intrinsic(instr)))
         gpuval_nir_silence_report(nir_instr_as_intrinsic(instr));
   }
}

/**
 * Where control flow has been cloned and both copies will run for an invocation: the reports of
 * one of them go, so that each failure counts once. NIR's own iterators leave a list that has been
 * extracted at its end.
 */
static inline void
gpuval_nir_remove_reports_in_list(struct exec_list *list)
{
   foreach_list_typed (nir_cf_node, node, node, list) {
      switch (node->type) {
      case nir_cf_node_block:
         gpuval_nir_remove_reports_in_block(nir_cf_node_as_block(node));
         break;
      case nir_cf_node_if:
         gpuval_nir_remove_reports_in_list(&nir_cf_node_as_if(node)->then_list);
         gpuval_nir_remove_reports_in_list(&nir_cf_node_as_if(node)->else_list);
         break;
      case nir_cf_node_loop:
         gpuval_nir_remove_reports_in_list(&nir_cf_node_as_loop(node)->body);
         gpuval_nir_remove_reports_in_list(&nir_cf_node_as_loop(node)->continue_list);
         break;
      default:
         break;
      }
   }
}

#endif

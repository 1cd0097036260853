/* SPDX-License-Identifier: MIT */

/* Hooks of gallivm. The file of Mesa that knows the context of a shader's translation includes
 * this one: lp_bld_nir.c in 25.0, lp_bld_nir_soa.c, to which the context is private, in 26.0. What
 * the module needs of the context is in struct gpuval_lvp_soa.
 */

#ifndef GPUVAL_GALLIVM_H
#define GPUVAL_GALLIVM_H

#include "gpuval/src/compat/gpuval_mesa.h"
#include "gpuval/src/lvp_glue/gpuval_lvp_coroutine.h"
#include "gpuval/src/lvp_glue/gpuval_lvp_gallivm.h"

#if GPUVAL_MESA >= 2600

typedef struct lp_build_nir_soa_context gpuval_gallivm_context;

/* A value that is the same in all lanes is a number there, unless an instruction has asked for
 * a vector.
 */
static LLVMValueRef
gpuval_gallivm_get_value(const struct gpuval_lvp_soa *soa, const nir_def *def, unsigned component)
{
   const gpuval_gallivm_context *bld = soa->context;
   const LLVMValueRef *values = &bld->ssa_defs[def->index * NIR_MAX_VEC_COMPONENTS * 2];
   LLVMValueRef value = values[NIR_MAX_VEC_COMPONENTS + component];

   if (!value) {
      LLVMTypeRef type = LLVMTypeOf(values[component]);
      value = lp_build_broadcast(soa->gallivm, LLVMVectorType(type, soa->uint_bld.type.length),
                                 values[component]);
   }
   return value;
}

static struct gpuval_lvp_soa
gpuval_gallivm_begin(gpuval_gallivm_context *bld)
{
   return (struct gpuval_lvp_soa){
      .context = bld,
      .gallivm = bld->base.gallivm,
      .stage = bld->shader->info.stage,
      .uint_bld = bld->uint_bld,
      .uint64_bld = bld->uint64_bld,
      .consts_ptr = bld->consts_ptr,
      .resources_type = bld->resources_type,
      .resources_ptr = bld->resources_ptr,
      .shared_ptr = bld->shared_ptr,
      .exec_mask = &bld->exec_mask,
      .mask = bld->mask,
      .calls = bld->gpuval,
      .has_bits = true,
      .get_value = gpuval_gallivm_get_value,
   };
}

#else

typedef struct lp_build_nir_context gpuval_gallivm_context;

static LLVMValueRef
gpuval_gallivm_get_value(const struct gpuval_lvp_soa *soa, const nir_def *def, unsigned component)
{
   const gpuval_gallivm_context *bld_base = soa->context;
   LLVMValueRef value = bld_base->ssa_defs[def->index];

   if (def->num_components == 1)
      return value;
   return LLVMBuildExtractValue(soa->gallivm->builder, value, component, "");
}

static struct gpuval_lvp_soa
gpuval_gallivm_begin(gpuval_gallivm_context *bld_base)
{
   struct lp_build_nir_soa_context *bld = (struct lp_build_nir_soa_context *)bld_base;

   return (struct gpuval_lvp_soa){
      .context = bld_base,
      .gallivm = bld_base->base.gallivm,
      .stage = bld_base->shader->info.stage,
      .uint_bld = bld_base->uint_bld,
      .uint64_bld = bld_base->uint64_bld,
      .consts_ptr = bld->consts_ptr,
      .resources_type = bld->resources_type,
      .resources_ptr = bld->resources_ptr,
      .shared_ptr = bld->shared_ptr,
      .exec_mask = &bld->exec_mask,
      .mask = bld->mask,
      .calls = bld_base->gpuval,
      .get_value = gpuval_gallivm_get_value,
   };
}

#endif

/**
 * Emits what @instr stands for, or keeps it until gpuval_gallivm_flush_calls().
 * Returns false if it is none of ours.
 */
static bool
gpuval_gallivm_visit_intrinsic(gpuval_gallivm_context *bld, const nir_intrinsic_instr *instr,
                               LLVMValueRef *result)
{
   const bool is_first = !bld->gpuval;
   if (is_first)
      bld->gpuval = rzalloc(bld->vars, struct gpuval_lvp_calls);
   struct gpuval_lvp_soa soa = gpuval_gallivm_begin(bld);
   if (is_first)
      gpuval_lvp_mark_module(soa.gallivm->module);
   return gpuval_lvp_visit_intrinsic(&soa, instr, result);
}

/**
 * Before each instruction, and with NULL at the end of each block: emits what
 * has been kept, unless @next may join.
 */
static void
gpuval_gallivm_flush_calls(gpuval_gallivm_context *bld, const nir_instr *next)
{
   if (!next)
      gpuval_lvp_note_translation();
   if (!bld->gpuval || !(bld->gpuval->num_pending + bld->gpuval->num_loads))
      return;
   struct gpuval_lvp_soa soa = gpuval_gallivm_begin(bld);
   gpuval_lvp_flush_calls(&soa, next);
}

#endif

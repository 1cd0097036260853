/* SPDX-License-Identifier: MIT */

/* What comes first of sync in shadow memory, for loads and stores that are no atomics: what
 * most of them are, and where there is nothing to find. Two functions of LLVM's own code, as
 * what gallivm makes of NIR takes several times as many instructions:
 *
 *    all lanes run, and access whole words side by side?
 *       their cells are side by side, too, and no lane meets another: one look at all of them
 *    else, or if that does not tell:
 *       lane by lane, one word of each at a time
 *    else, for the lanes that have something left:
 *       gpuval_nir_shadow.c, which begins anew
 *
 * gpuval_lvp_cells_shared.c has the same of shared memory.
 * base/gpuval_shadow.h has the cells, nir_passes/gpuval_nir_cells.c what they mean.
 */

#include "gpuval_lvp_cells_private.h"

#include "gallivm/lp_bld_jit_types.h"
#include "gallivm/lp_bld_limits.h"
#include "gallivm/lp_bld_struct.h"

#include "gpuval/src/base/gpuval_order.h"
#include "gpuval/src/lvp_glue/gpuval_lvp_nir.h"

/* The same as make_self() of gpuval_nir_shadow.c */
static void
make_mark(struct cells *c)
{
   LLVMValueRef phase = c->args[GPUVAL_LVP_SYNC_PHASE];
   LLVMValueRef of_all =
      LLVMBuildShl(c->b, bits(c, c->token, 16, 0xff), imm(c, GPUVAL_SHADOW_CLASS_SHIFT), "");

   LLVMValueRef workgroup = and_(c, phase, each_imm(c, GPUVAL_SHADOW_PHASE_UNKNOWN));
   LLVMValueRef subgroup = least(c, LLVMBuildLShr(c->b, phase, each_imm(c, 16), ""),
                                 each_imm(c, GPUVAL_SHADOW_SUB_UNKNOWN));
   workgroup = LLVMBuildShl(c->b, workgroup, each_imm(c, GPUVAL_SHADOW_PHASE_SHIFT), "");
   c->mark.hi = or_(c, each(c, or_(c, c->command, of_all)), or_(c, workgroup, subgroup));

   LLVMValueRef invocation = LLVMBuildShl(c->b, c->args[GPUVAL_LVP_SYNC_ID],
                                          each_imm(c, GPUVAL_SHADOW_INVOCATION_SHIFT), "");
   c->mark.lo = or_(c, and_(c, invocation, each_imm(c, INVOCATION)),
                    each(c, LLVMBuildLShr(c->b, c->token, imm(c, 24), "")));
}

static void
begin(struct cells *c, struct gallivm_state *gallivm, LLVMTypeRef resources_type,
      LLVMValueRef function, bool is_read)
{
   gpuval_lvp_cells_begin(c, gallivm, resources_type, function, GPUVAL_LVP_SYNC_RESOURCES);
   c->is_read = is_read;
   LLVMGetParams(function, c->args);
   c->lanes = compare(c, LLVMIntNE, c->args[GPUVAL_LVP_SYNC_MASK], LLVMConstNull(c->vec32));
   c->command = load_data(c, offsetof(struct gpuval_command_data, shadow_command), c->i32);

   LLVMValueRef access = bits(c, c->args[GPUVAL_LVP_SYNC_WORD], GPUVAL_SYNC_ACCESS_SHIFT, 7);
   c->ordered = LLVMBuildSelect(
      c->b, compare(c, LLVMIntUGE, access, imm(c, GPUVAL_ORDER_UNIFORM_READ)),
      load_data(c, offsetof(struct gpuval_command_data, shadow_others), c->i32),
      load_data(c, offsetof(struct gpuval_command_data, shadow_ordered), c->i32), "");
   c->size = first_lane(c, c->args[GPUVAL_LVP_SYNC_SIZE]);
   c->token = c->args[GPUVAL_LVP_SYNC_TOKEN];
   make_mark(c);
}

void
gpuval_lvp_cells_return_call(const struct cells *c, LLVMTypeRef type, LLVMValueRef function,
                             LLVMValueRef *args)
{
   LLVMValueRef call = LLVMBuildCall2(c->b, type, function, args, LLVMCountParamTypes(type), "");
   LLVMSetTailCall(call, 1);
   LLVMBuildRetVoid(c->b);
}

LLVMValueRef
gpuval_lvp_cells_addresses(const struct cells *c)
{
   LLVMValueRef lo = c->args[GPUVAL_LVP_SYNC_ADDRESS], hi = c->args[GPUVAL_LVP_SYNC_ADDRESS + 1];
   LLVMValueRef address =
      or_(c, LLVMBuildZExt(c->b, lo, c->vec64, ""),
          LLVMBuildShl(c->b, LLVMBuildZExt(c->b, hi, c->vec64, ""), each(c, imm64(c, 32)), ""));

   return LLVMBuildAdd(c->b, address, each(c, c->args[GPUVAL_LVP_SYNC_BASE]), "");
}

LLVMValueRef
gpuval_lvp_cells_first(const struct cells *c)
{
   LLVMTypeRef type = LLVMIntTypeInContext(c->gallivm->context, c->num_lanes);
   LLVMBasicBlockRef some = create_block(c, "some"), none = create_block(c, "none");
   unsigned id = LLVMLookupIntrinsicID("llvm.cttz", strlen("llvm.cttz"));
   LLVMValueRef mask = LLVMBuildBitCast(c->b, c->lanes, type, "");

   LLVMBuildCondBr(c->b, compare(c, LLVMIntNE, mask, LLVMConstNull(type)), some, none);
   continue_at(c, none);
   LLVMBuildRetVoid(c->b);

   continue_at(c, some);
   LLVMValueRef args[] = {mask, LLVMConstInt(LLVMInt1TypeInContext(c->gallivm->context), 1, 0)};
   LLVMValueRef first = LLVMBuildCall2(
      c->b, LLVMIntrinsicGetType(c->gallivm->context, id, &type, 1),
      LLVMGetIntrinsicDeclaration(c->gallivm->module, id, &type, 1), args, ARRAY_SIZE(args), "");
   return LLVMBuildZExt(c->b, first, c->i32, "");
}

LLVMValueRef
gpuval_lvp_build_shared(struct gallivm_state *gallivm, LLVMTypeRef resources_type, const char *name,
                        bool is_read)
{
   LLVMTypeRef type = gpuval_lvp_sync_type(gallivm, LLVMPointerType(resources_type, 0));
   LLVMValueRef function = LLVMAddFunction(gallivm->module, name, type);
   struct cells c;

   begin(&c, gallivm, resources_type, function, is_read);
   gpuval_lvp_cells_build_shared(&c);
   gallivm_verify_function(gallivm, function);
   return function;
}

LLVMValueRef
gpuval_lvp_build_cells(struct gallivm_state *gallivm, LLVMTypeRef resources_type, const char *name,
                       bool is_read)
{
   LLVMTypeRef type = gpuval_lvp_sync_type(gallivm, LLVMPointerType(resources_type, 0));
   LLVMValueRef lanes = LLVMAddFunction(gallivm->module, "lanes", type);
   LLVMValueRef rows = LLVMAddFunction(gallivm->module, name, type);
   struct cells c;

   begin(&c, gallivm, resources_type, lanes, is_read);
   gpuval_lvp_cells_build_lanes(&c);
   gallivm_verify_function(gallivm, lanes);
   begin(&c, gallivm, resources_type, rows, is_read);
   gpuval_lvp_cells_build_rows(&c, lanes);
   gallivm_verify_function(gallivm, rows);
   return rows;
}

/* SPDX-License-Identifier: MIT */

/* Carries operations from vtn, where SPIR-V's instructions are known, to the shader's SSA form,
 * where their operands are: constants and ranges that prove an operation to be fine, and whether
 * anything uses its result.
 *
 * vtn's callback leaves @operation_gpuval behind what it has made of an instruction. Algebraic
 * optimizations, which may do away with what fails, come later.
 */

#include "gpuval_nir_operation.h"

#include "spirv/spirv.h"
#include "util/hash_table.h"
#include "util/ralloc.h"
#include "util/set.h"

#include "gpuval/src/base/gpuval_options.h"

void
gpuval_nir_keep_operation(nir_builder *b, unsigned opcode, nir_def **srcs, unsigned num_srcs,
                          nir_def *result, uint32_t spirv_offset)
{
   bool is_wanted =
      (gpuval_options_may_check(GPUVAL_CHECK_UNDEFINED) && gpuval_nir_is_branch(opcode)) ||
      (gpuval_options_may_check(GPUVAL_CHECK_ARITHMETIC) &&
       gpuval_nir_may_fail_arithmetic(opcode)) ||
      (gpuval_options_may_check(GPUVAL_CHECK_NAN) && gpuval_nir_may_make_nan(opcode));
   if (!is_wanted || num_srcs > GPUVAL_NIR_MAX_OPERANDS)
      return;

   nir_def *all[GPUVAL_NIR_MAX_OPERANDS];
   for (unsigned i = 0; i < GPUVAL_NIR_MAX_OPERANDS; i++)
      all[i] = i < num_srcs && srcs[i] ? srcs[i] : nir_imm_int(b, 0);
   nir_operation_gpuval(b, result, all[0], all[1], all[2], all[3], .base = spirv_offset,
                        .range = opcode, .flags = num_srcs);
}

bool
gpuval_nir_is_operation(const nir_instr *instr)
{
   return instr->type == nir_instr_type_intrinsic &&
          nir_instr_as_intrinsic(instr)->intrinsic == nir_intrinsic_operation_gpuval;
}

bool
gpuval_nir_is_branch(unsigned opcode)
{
   return opcode == SpvOpBranchConditional || opcode == SpvOpSwitch;
}

bool
gpuval_nir_is_wanted(const struct gpuval_nir_options *options, const nir_intrinsic_instr *operation)
{
   uint32_t wanting = gpuval_nir_is_branch(nir_intrinsic_range(operation))
                         ? BITFIELD_BIT(GPUVAL_CHECK_UNDEFINED)
                         : BITFIELD_BIT(GPUVAL_CHECK_ARITHMETIC) | BITFIELD_BIT(GPUVAL_CHECK_NAN);
   return options->checks & wanting;
}

/* What the shader does for others than operations */
static bool
has_effect(nir_instr *instr)
{
   switch (instr->type) {
   case nir_instr_type_call:
   case nir_instr_type_jump:
      return true;
   case nir_instr_type_intrinsic: {
      const nir_intrinsic_info *info =
         &nir_intrinsic_infos[nir_instr_as_intrinsic(instr)->intrinsic];
      return !gpuval_nir_is_operation(instr) && !(info->flags & NIR_INTRINSIC_CAN_ELIMINATE);
   }
   default:
      return false;
   }
}

struct used {
   struct set *instrs;
   struct util_dynarray todo; /* nir_instr * */
};

static void
use(struct used *used, nir_instr *instr)
{
   bool is_known;
   _mesa_set_search_or_add(used->instrs, instr, &is_known);
   if (!is_known)
      util_dynarray_append_typed(&used->todo, nir_instr *, instr);
}

static bool
use_src(nir_src *src, void *used)
{
   use(used, nir_def_instr(src->ssa));
   return true;
}

/* Finds the instructions whose values something uses: operations themselves do not count. */
static void
find_used(nir_function_impl *impl, struct used *used)
{
   nir_foreach_block (block, impl) {
      nir_foreach_instr (instr, block) {
         if (has_effect(instr))
            use(used, instr);
      }
      nir_if *following = nir_block_get_following_if(block);
      if (following)
         use(used, nir_def_instr(following->condition.ssa));
   }
   while (util_dynarray_num_elements(&used->todo, nir_instr *))
      nir_foreach_src(util_dynarray_pop(&used->todo, nir_instr *), use_src, used);
}

/* Compilers evaluate both sides of a selection: x > 0 ? sqrt(x) : 0 */
#define MAX_SELECTION_DEPTH 4

static bool
is_one_condition(const nir_alu_instr *selection)
{
   for (unsigned i = 1; i < selection->def.num_components; i++) {
      if (selection->src[0].swizzle[i] != selection->src[0].swizzle[0])
         return false;
   }
   return true;
}

static bool
is_report(const nir_instr *instr)
{
   return gpuval_nir_is_operation(instr) ||
          (instr->type == nir_instr_type_intrinsic &&
           nir_instr_as_intrinsic((nir_instr *)instr)->intrinsic ==
              nir_intrinsic_early_report_gpuval);
}

/* Is a value, and what operations of the same block make of it, only used by selections there? */
static bool
is_selected(const nir_def *def, const nir_block *block, unsigned depth)
{
   bool any = false;

   nir_foreach_use_including_if (src, def) {
      nir_instr *user = nir_src_is_if(src) ? NULL : nir_src_parent_instr(src);
      if (user && is_report(user))
         continue;
      if (!user || user->type != nir_instr_type_alu || user->block != block || !depth)
         return false;

      const nir_alu_instr *alu = nir_instr_as_alu(user);
      if (alu->op == nir_op_bcsel ? src == &alu->src[0].src || !is_one_condition(alu)
                                  : !is_selected(&alu->def, block, depth - 1))
         return false;
      any = true;
   }
   return any;
}

/* Does a selection take the value? Of what is_selected() */
static nir_def *
build_used(nir_builder *b, const nir_def *def)
{
   nir_def *used = nir_imm_false(b);

   nir_foreach_use (src, def) {
      nir_instr *user = nir_src_parent_instr(src);
      if (is_report(user))
         continue;

      nir_alu_instr *alu = nir_instr_as_alu(user);
      nir_def *here;
      if (alu->op == nir_op_bcsel) {
         here = nir_channel(b, alu->src[0].src.ssa, alu->src[0].swizzle[0]);
         if (src == &alu->src[2].src)
            here = nir_inot(b, here);
      } else {
         here = build_used(b, &alu->def);
      }
      used = nir_ior(b, used, here);
   }
   return used;
}

static void
note_birth(struct hash_table *births, const struct gpuval_nir_operation *operation, nir_def *born)
{
   struct gpuval_nir_birth *birth = ralloc(births, struct gpuval_nir_birth);

   *birth = (struct gpuval_nir_birth){born, operation->spirv_offset};
   /* Those of matrices are put together. */
   for (unsigned i = 0; i < operation->result->num_components; i++) {
      nir_scalar scalar = nir_scalar_chase_movs(nir_get_scalar(operation->result, i));
      _mesa_hash_table_insert(births, scalar.def, birth);
   }
}

static void
check(struct gpuval_nir_early *early, nir_intrinsic_instr *intrin, struct hash_table *upper_bounds,
      struct hash_table *births)
{
   struct gpuval_nir_operation operation = {
      .opcode = nir_intrinsic_range(intrin),
      .spirv_offset = nir_intrinsic_base(intrin),
      .num_operands = nir_intrinsic_flags(intrin),
      .result = intrin->src[0].ssa,
   };
   for (unsigned i = 0; i < operation.num_operands; i++)
      operation.operands[i] = intrin->src[i + 1].ssa;

   uint32_t checks = early->options->checks;
   nir_def *failed = NULL;
   early->b.cursor = nir_before_instr(&intrin->instr);
   if (is_selected(operation.result, intrin->instr.block, MAX_SELECTION_DEPTH)) {
      early->b.cursor = nir_after_block_before_jump(intrin->instr.block);
      operation.used = build_used(&early->b, operation.result);
   }
   if (checks & BITFIELD_BIT(GPUVAL_CHECK_ARITHMETIC))
      failed = gpuval_nir_check_arithmetic(&early->b, &operation, upper_bounds);
   if (checks & BITFIELD_BIT(GPUVAL_CHECK_NAN) && gpuval_nir_may_make_nan(operation.opcode))
      note_birth(births, &operation, gpuval_nir_check_nan(&early->b, &operation, failed));
}

bool
gpuval_nir_early_operations(struct gpuval_nir_early *early)
{
   struct used used = {.instrs = _mesa_pointer_set_create(NULL)};
   struct hash_table *upper_bounds = _mesa_pointer_hash_table_create(NULL);
   struct hash_table *births = _mesa_pointer_hash_table_create(NULL);
   bool progress = false;

   util_dynarray_init(&used.todo, used.instrs);
   find_used(early->b.impl, &used);
   nir_foreach_block (block, early->b.impl) {
      nir_foreach_instr_safe (instr, block) {
         if (!gpuval_nir_is_operation(instr))
            continue;

         nir_intrinsic_instr *intrin = nir_instr_as_intrinsic(instr);
         if (gpuval_nir_is_branch(nir_intrinsic_range(intrin)))
            continue;
         if (_mesa_set_search(used.instrs, nir_def_instr(intrin->src[0].ssa)))
            check(early, intrin, upper_bounds, births);
         nir_instr_remove(instr);
         progress = true;
      }
   }
   if (births->entries && early->options->checks & BITFIELD_BIT(GPUVAL_CHECK_EXPORT))
      gpuval_nir_leave_origins(early, births);
   _mesa_hash_table_destroy(births, NULL);
   _mesa_hash_table_destroy(upper_bounds, NULL);
   ralloc_free(used.instrs);
   nir_progress(progress, early->b.impl, nir_metadata_control_flow);
   return progress;
}

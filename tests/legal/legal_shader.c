/* SPDX-License-Identifier: MIT */

/*
 * What stages consist of: values, functions, and random statements that change the result by what
 * they read.
 */

#include "legal_shader.h"

#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 3

/* --- Values --------------------------------------------------------------- */

uint32_t
legal_uint(struct legal_shader *shader, SpvOp op, uint32_t a, uint32_t b)
{
   return legal_value(shader, op, spv_uint(&shader->spv, 1), a, b);
}

uint32_t
legal_uniform_value(struct legal_shader *shader)
{
   const struct legal_push *push = &shader->program->push;
   const uint32_t type = spv_uint(&shader->spv, 1);

   if (shader->counter && chance(shader, 40))
      return legal_value(shader, SpvOpLoad, type, shader->counter);
   if (shader->push && push->word_count && chance(shader, 50)) {
      const uint32_t pointer = spv_pointer(&shader->spv, SpvStorageClassPushConstant, type);
      return legal_value(shader, SpvOpLoad, type,
                         legal_value(shader, SpvOpAccessChain, pointer, shader->push,
                                     constant(shader, shader->push_words),
                                     constant(shader, below(shader, push->word_count))));
   }
   if (shader->program->specialization && chance(shader, 50))
      return shader->specs[below(shader, LEGAL_SPEC_COUNT)];
   return constant(shader, below(shader, 1000));
}

uint32_t
legal_index(struct legal_shader *shader, uint32_t count, bool may_differ, bool *differs)
{
   const uint32_t kind = below(shader, 4);

   *differs = false;
   /* The last one is where mistakes are. */
   if (kind == 0 || count == 1)
      return constant(shader, chance(shader, 40) ? count - 1 : below(shader, count));
   if (kind == 1 || !may_differ)
      return legal_uint(shader, SpvOpUMod, legal_uniform_value(shader), constant(shader, count));
   *differs = true;
   return legal_uint(
      shader, SpvOpUMod,
      legal_uint(shader, SpvOpIAdd, shader->function->slot, constant(shader, below(shader, 64))),
      constant(shader, count));
}

uint32_t
legal_result(struct legal_shader *shader)
{
   return legal_value(shader, SpvOpLoad, spv_uint(&shader->spv, 1), shader->function->result);
}

void
legal_mix(struct legal_shader *shader, uint32_t value)
{
   uint32_t result = legal_uint(shader, SpvOpIMul, legal_result(shader), constant(shader, 1664525));
   result = legal_uint(shader, chance(shader, 50) ? SpvOpIAdd : SpvOpBitwiseXor, result, value);
   legal_op(shader, SpvOpStore, shader->function->result, result);
}

/* --- Variables ------------------------------------------------------------ */

void
legal_add_interface(struct legal_shader *shader, uint32_t variable)
{
   if (shader->interface_count == LEGAL_MAX_INTERFACE)
      vkh_die("too many variables in an interface");
   shader->interface[shader->interface_count++] = variable;
}

uint32_t
legal_global(struct legal_shader *shader, SpvStorageClass storage, uint32_t type)
{
   const uint32_t pointer = spv_pointer(&shader->spv, storage, type);
   return spv_result(&shader->spv, &shader->spv.globals, SpvOpVariable, pointer, storage);
}

uint32_t
legal_local(struct legal_shader *shader, uint32_t type)
{
   const uint32_t pointer = spv_pointer(&shader->spv, SpvStorageClassFunction, type);
   return spv_result(&shader->spv, &shader->function->locals, SpvOpVariable, pointer,
                     SpvStorageClassFunction);
}

/* --- Functions ------------------------------------------------------------ */

void
legal_begin_function(struct legal_shader *shader, struct legal_function *function, uint32_t result,
                     unsigned parameter_count, const uint32_t *types, uint32_t *parameters)
{
   uint32_t operands[8] = {result};

   for (unsigned i = 0; i < parameter_count; i++)
      operands[i + 1] = types[i];
   *function = (struct legal_function){
      .type = spv_type_words(&shader->spv, SpvOpTypeFunction, parameter_count + 1, operands),
   };
   function->id = spv_result(&shader->spv, &function->locals, SpvOpFunction, result,
                             SpvFunctionControlMaskNone, function->type);
   for (unsigned i = 0; i < parameter_count; i++) {
      parameters[i] = spv_id(&shader->spv);
      spv_emit(&function->locals, SpvOpFunctionParameter, types[i], parameters[i]);
   }
   spv_emit(&function->locals, SpvOpLabel, spv_id(&shader->spv));
   shader->function = function;
}

void
legal_end_function(struct legal_shader *shader, struct legal_function *before)
{
   struct legal_function *function = shader->function;

   spv_emit_words(&function->code, SpvOpFunctionEnd, 0, NULL);
   spv_append(&shader->spv.functions, function->locals.data, function->locals.count);
   spv_append(&shader->spv.functions, function->code.data, function->code.count);
   free(function->locals.data);
   free(function->code.data);
   shader->function = before;
}

/* --- Statements ----------------------------------------------------------- */

/* What was said of the code around a statement, for the code inside of it */
struct context {
   bool uniform, never, implicit;
   uint32_t counter;
};

static struct context
save(const struct legal_shader *shader)
{
   return (struct context){shader->uniform, shader->never, shader->implicit, shader->counter};
}

static void
restore(struct legal_shader *shader, struct context context)
{
   shader->uniform = context.uniform;
   shader->never = context.never;
   shader->implicit = context.implicit;
   shader->counter = context.counter;
}

uint32_t
legal_condition(struct legal_shader *shader, enum legal_condition kind)
{
   const uint32_t type = spv_bool(&shader->spv);

   switch (kind) {
   case LEGAL_CONDITION_UNIFORM:
      return legal_value(shader, SpvOpULessThan, type, legal_uniform_value(shader),
                         constant(shader, 500));
   case LEGAL_CONDITION_NEVER:
      /* No slot is so high. */
      return legal_value(shader, SpvOpUGreaterThan, type, shader->function->slot,
                         constant(shader, 10000 + below(shader, 100)));
   default:
      return legal_value(shader, SpvOpIEqual, type,
                         legal_uint(shader, SpvOpBitwiseAnd, shader->function->slot,
                                    constant(shader, 1 << below(shader, 4))),
                         constant(shader, 0));
   }
}

static void
add_if(struct legal_shader *shader, unsigned depth, enum legal_condition kind)
{
   const struct context context = save(shader);
   const uint32_t then = spv_id(&shader->spv), merge = spv_id(&shader->spv);
   const bool has_else = chance(shader, 40);
   const uint32_t otherwise = has_else ? spv_id(&shader->spv) : merge;

   const uint32_t value = legal_condition(shader, kind);
   legal_op(shader, SpvOpSelectionMerge, merge, SpvSelectionControlMaskNone);
   legal_op(shader, SpvOpBranchConditional, value, then, otherwise);
   shader->uniform &= kind == LEGAL_CONDITION_UNIFORM;
   shader->implicit &= kind == LEGAL_CONDITION_UNIFORM;
   shader->never |= kind == LEGAL_CONDITION_NEVER;
   label(shader, then);
   legal_statements(shader, depth + 1);
   legal_op(shader, SpvOpBranch, merge);
   if (has_else) {
      shader->never = context.never;
      label(shader, otherwise);
      legal_statements(shader, depth + 1);
      legal_op(shader, SpvOpBranch, merge);
   }
   label(shader, merge);
   restore(shader, context);
}

static void
add_loop(struct legal_shader *shader, unsigned depth)
{
   const struct context context = save(shader);
   const uint32_t type = spv_uint(&shader->spv, 1);
   const uint32_t counter = legal_local(shader, type);
   const uint32_t header = spv_id(&shader->spv), test = spv_id(&shader->spv);
   const uint32_t body = spv_id(&shader->spv), next = spv_id(&shader->spv);
   const uint32_t merge = spv_id(&shader->spv);
   const bool differs = chance(shader, 30);
   uint32_t rounds = constant(shader, 1 + below(shader, 4));

   if (differs)
      rounds = legal_uint(shader, SpvOpBitwiseAnd, shader->function->slot, constant(shader, 3));
   legal_op(shader, SpvOpStore, counter, constant(shader, 0));
   legal_op(shader, SpvOpBranch, header);
   label(shader, header);
   legal_op(shader, SpvOpLoopMerge, merge, next, SpvLoopControlMaskNone);
   legal_op(shader, SpvOpBranch, test);
   label(shader, test);
   const uint32_t more = legal_value(shader, SpvOpULessThan, spv_bool(&shader->spv),
                                     legal_value(shader, SpvOpLoad, type, counter), rounds);
   legal_op(shader, SpvOpBranchConditional, more, body, merge);
   label(shader, body);
   shader->uniform &= !differs;
   shader->implicit = false;
   shader->counter = differs ? 0 : counter;
   legal_statements(shader, depth + 1);
   legal_op(shader, SpvOpBranch, next);
   label(shader, next);
   legal_op(shader, SpvOpStore, counter,
            legal_uint(shader, SpvOpIAdd, legal_value(shader, SpvOpLoad, type, counter),
                       constant(shader, 1)));
   legal_op(shader, SpvOpBranch, header);
   label(shader, merge);
   restore(shader, context);
}

static void
add_switch(struct legal_shader *shader, unsigned depth)
{
   const struct context context = save(shader);
   const uint32_t merge = spv_id(&shader->spv), otherwise = spv_id(&shader->spv);
   const uint32_t first = spv_id(&shader->spv), second = spv_id(&shader->spv);
   const bool uniform = chance(shader, 40);
   const uint32_t selector =
      uniform ? legal_uniform_value(shader)
              : legal_uint(shader, SpvOpUMod, shader->function->slot, constant(shader, 3));

   legal_op(shader, SpvOpSelectionMerge, merge, SpvSelectionControlMaskNone);
   legal_op(shader, SpvOpSwitch, selector, otherwise, 0, first, 1, second);
   shader->uniform &= uniform;
   shader->implicit = false;
   const bool falls = chance(shader, 30);
   label(shader, first);
   legal_statements(shader, depth + 1);
   legal_op(shader, SpvOpBranch, falls ? second : merge);
   label(shader, second);
   legal_statements(shader, depth + 1);
   legal_op(shader, SpvOpBranch, merge);
   label(shader, otherwise);
   legal_op(shader, SpvOpBranch, merge);
   label(shader, merge);
   restore(shader, context);
}

/* A function that is given the result so far, and returns a new one */
static void
add_call(struct legal_shader *shader, unsigned depth)
{
   const struct context context = save(shader);
   const uint32_t type = spv_uint(&shader->spv, 1);
   const uint32_t types[] = {type, type};
   uint32_t parameters[2];
   struct legal_function function, *before = shader->function;

   legal_begin_function(shader, &function, type, 2, types, parameters);
   function.slot = parameters[1];
   function.result = legal_local(shader, type);
   shader->counter = 0;
   legal_op(shader, SpvOpStore, function.result, parameters[0]);
   legal_statements(shader, depth + 1);
   legal_op(shader, SpvOpReturnValue, legal_result(shader));
   legal_end_function(shader, before);
   restore(shader, context);

   const uint32_t calls = 1 + below(shader, 2);
   for (uint32_t i = 0; i < calls; i++)
      legal_op(shader, SpvOpStore, shader->function->result,
               legal_value(shader, SpvOpFunctionCall, type, function.id, legal_result(shader),
                           shader->function->slot));
}

/* An array of the invocation's own, indexed by what it is not told at compile time */
static void
add_array(struct legal_shader *shader)
{
   const uint32_t type = spv_uint(&shader->spv, 1);
   const uint32_t length = 2 + below(shader, 6);
   const bool is_private = chance(shader, 30);
   const SpvStorageClass storage = is_private ? SpvStorageClassPrivate : SpvStorageClassFunction;
   const uint32_t array = spv_array(&shader->spv, type, length, 0);
   const uint32_t pointer = spv_pointer(&shader->spv, storage, type);
   const uint32_t variable =
      is_private ? legal_global(shader, storage, array) : legal_local(shader, array);
   bool ignored;

   if (is_private && shader->program->version >= 0x10400)
      legal_add_interface(shader, variable);
   for (uint32_t i = 0; i < length; i++)
      legal_op(shader, SpvOpStore,
               legal_value(shader, SpvOpAccessChain, pointer, variable, constant(shader, i)),
               legal_uint(shader, SpvOpIAdd, shader->function->slot, constant(shader, i * 7)));
   const uint32_t at = legal_index(shader, length, true, &ignored);
   legal_op(shader, SpvOpStore, legal_value(shader, SpvOpAccessChain, pointer, variable, at),
            legal_result(shader));
   legal_mix(shader, legal_value(shader, SpvOpLoad, type,
                                 legal_value(shader, SpvOpAccessChain, pointer, variable,
                                             legal_index(shader, length, true, &ignored))));
}

static bool
has_workgroups(const struct legal_shader *shader)
{
   return shader->stage == VK_SHADER_STAGE_COMPUTE_BIT ||
          shader->stage == VK_SHADER_STAGE_TASK_BIT_EXT ||
          shader->stage == VK_SHADER_STAGE_MESH_BIT_EXT;
}

static void
add_barrier(struct legal_shader *shader)
{
   uint32_t semantics =
      SpvMemorySemanticsAcquireReleaseMask | SpvMemorySemanticsWorkgroupMemoryMask;
   const uint32_t workgroup = constant(shader, SpvScopeWorkgroup);

   if (shader->program->vulkan_memory_model)
      semantics |= SpvMemorySemanticsMakeAvailableMask | SpvMemorySemanticsMakeVisibleMask;
   legal_op(shader, SpvOpControlBarrier, workgroup, workgroup, constant(shader, semantics));
}

/* Each invocation hands a word to another one, through shared memory. */
static void
add_exchange(struct legal_shader *shader)
{
   const uint32_t type = spv_uint(&shader->spv, 1);
   const uint32_t size = legal_workgroup_size(shader);
   const uint32_t array = spv_array(&shader->spv, type, size, 0);
   const uint32_t pointer = spv_pointer(&shader->spv, SpvStorageClassWorkgroup, type);
   const uint32_t variable = legal_global(shader, SpvStorageClassWorkgroup, array);

   if (shader->program->version >= 0x10400)
      legal_add_interface(shader, variable);
   const uint32_t own =
      legal_uint(shader, SpvOpUMod, shader->function->slot, constant(shader, size));
   const uint32_t other =
      legal_uint(shader, SpvOpUMod, legal_uint(shader, SpvOpIAdd, own, constant(shader, 1)),
                 constant(shader, size));
   add_barrier(shader); /* after what an earlier round of a loop has read */
   legal_op(shader, SpvOpStore, legal_value(shader, SpvOpAccessChain, pointer, variable, own),
            legal_result(shader));
   add_barrier(shader);
   legal_mix(shader, legal_value(shader, SpvOpLoad, type,
                                 legal_value(shader, SpvOpAccessChain, pointer, variable, other)));
}

static void
add_subgroup(struct legal_shader *shader)
{
   const uint32_t type = spv_uint(&shader->spv, 1);
   const uint32_t scope = constant(shader, SpvScopeSubgroup);

   spv_capability(&shader->spv, SpvCapabilityGroupNonUniform);
   switch (below(shader, 3)) {
   case 0:
      spv_capability(&shader->spv, SpvCapabilityGroupNonUniformArithmetic);
      legal_mix(shader, legal_value(shader, SpvOpGroupNonUniformIAdd, type, scope,
                                    SpvGroupOperationReduce, legal_result(shader)));
      break;
   case 1:
      spv_capability(&shader->spv, SpvCapabilityGroupNonUniformBallot);
      legal_mix(shader, legal_value(shader, SpvOpGroupNonUniformBroadcastFirst, type, scope,
                                    legal_result(shader)));
      break;
   default:
      spv_capability(&shader->spv, SpvCapabilityGroupNonUniformVote);
      legal_mix(shader,
                legal_value(shader, SpvOpSelect, type,
                            legal_value(shader, SpvOpGroupNonUniformAny, spv_bool(&shader->spv),
                                        scope, legal_condition(shader, LEGAL_CONDITION_DIFFERS)),
                            constant(shader, 17), constant(shader, 4)));
   }
}

/* Where statements of a stage may write, and what they may meet there is the same each
 * time: not in functions, whose callers may be many.
 */
static void
statement(struct legal_shader *shader, unsigned depth)
{
   const uint32_t kind = below(shader, 100);

   if (kind < 40 || depth >= MAX_DEPTH)
      legal_mix(shader, legal_read(shader));
   else if (kind < 55)
      legal_write(shader, legal_result(shader));
   else if (kind < 63)
      add_if(shader, depth, LEGAL_CONDITION_DIFFERS);
   else if (kind < 67)
      add_if(shader, depth, LEGAL_CONDITION_UNIFORM);
   else if (kind < 71)
      add_if(shader, depth, LEGAL_CONDITION_NEVER);
   else if (kind < 77)
      add_loop(shader, depth);
   else if (kind < 80)
      add_switch(shader, depth);
   else if (kind < 85)
      add_call(shader, depth);
   else if (kind < 90)
      add_array(shader);
   else if (kind < 95 && shader->uniform && has_workgroups(shader))
      add_exchange(shader);
   else if (kind < 98 && shader->uniform && shader->stage == VK_SHADER_STAGE_COMPUTE_BIT &&
            !shader->program->old_style)
      add_subgroup(shader);
   else
      legal_mix(shader, legal_read(shader));
}

void
legal_statements(struct legal_shader *shader, unsigned depth)
{
   const uint32_t count = 1 + below(shader, depth ? 3 : 6);
   for (uint32_t i = 0; i < count && shader->budget; i++) {
      shader->budget--;
      statement(shader, depth);
   }
}

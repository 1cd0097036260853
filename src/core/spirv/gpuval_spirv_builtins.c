/* SPDX-License-Identifier: MIT */

/* What built-in variables were, by the three words that identify an invocation
 * (docs/protocols.rst, "Invocations").
 */

#include "gpuval_spirv_private.h"

#include "util/u_math.h"

static int
find_builtin(const struct gpuval_spirv *spirv, uint32_t id)
{
   util_dynarray_foreach (&spirv->instructions, uint32_t, word) {
      if (opcode_at(spirv, *word) == SpvOpFunction)
         break;
      if (opcode_at(spirv, *word) == SpvOpDecorate && operand(spirv, *word, 1) == id &&
          operand(spirv, *word, 2) == SpvDecorationBuiltIn)
         return operand(spirv, *word, 3);
   }
   return -1;
}

/* Of a module that says it: where it can be specialized, it is not known here. */
static bool
find_workgroup_size(const struct gpuval_spirv *spirv, uint32_t entry, uint32_t size[3])
{
   bool found = false;
   uint32_t id = 0;

   util_dynarray_foreach (&spirv->instructions, uint32_t, word) {
      SpvOp opcode = opcode_at(spirv, *word);
      if (opcode == SpvOpFunction)
         break;
      if (opcode == SpvOpDecorate && operand(spirv, *word, 2) == SpvDecorationBuiltIn &&
          operand(spirv, *word, 3) == SpvBuiltInWorkgroupSize)
         id = operand(spirv, *word, 1);
      if (opcode == SpvOpSpecConstantComposite && operand(spirv, *word, 2) == id)
         return false;
      if ((opcode != SpvOpExecutionMode && opcode != SpvOpExecutionModeId) ||
          operand(spirv, *word, 1) != entry)
         continue;
      if (operand(spirv, *word, 2) == SpvExecutionModeLocalSize) {
         for (unsigned i = 0; i < 3; i++)
            size[i] = operand(spirv, *word, 3 + i);
         found = true;
      } else if (operand(spirv, *word, 2) == SpvExecutionModeLocalSizeId) {
         for (unsigned i = 0; i < 3; i++)
            size[i] = constant_of(spirv, operand(spirv, *word, 3 + i));
         found = true;
      }
   }
   return found && size[0] && size[1] && size[2];
}

static struct gpuval_spirv_known
of_workgroup(const struct gpuval_spirv *spirv, const struct gpuval_spirv_invocation *invocation,
             SpvBuiltIn builtin)
{
   const uint32_t *id = invocation->words;
   uint32_t size[3], group[3], local[3];

   if (!find_workgroup_size(
          spirv, gpuval_spirv_find_entry(spirv, invocation->model, invocation->entry), size))
      return (struct gpuval_spirv_known){0};
   for (unsigned i = 0; i < 3; i++) {
      group[i] = id[i] / size[i];
      local[i] = id[i] % size[i];
   }
   if (builtin == SpvBuiltInWorkgroupId)
      return (struct gpuval_spirv_known){3, {group[0], group[1], group[2]}};
   if (builtin == SpvBuiltInLocalInvocationId)
      return (struct gpuval_spirv_known){3, {local[0], local[1], local[2]}};
   return (struct gpuval_spirv_known){1, {(local[2] * size[1] + local[1]) * size[0] + local[0]}};
}

static struct gpuval_spirv_known
one_of(const struct gpuval_spirv_invocation *invocation, int word)
{
   return word < 0 ? (struct gpuval_spirv_known){0}
                   : (struct gpuval_spirv_known){1, {invocation->words[word]}};
}

/* Which word has it in a stage, -1: none. */
static int
find_word(SpvBuiltIn builtin, uint32_t model)
{
   switch (builtin) {
   case SpvBuiltInVertexIndex:
      return model == SpvExecutionModelVertex ? 0 : -1;
   case SpvBuiltInInstanceIndex:
      return model == SpvExecutionModelVertex ? 1 : -1;
   case SpvBuiltInInvocationId:
      return model == SpvExecutionModelTessellationControl ? 0
             : model == SpvExecutionModelGeometry          ? 1
                                                           : -1;
   case SpvBuiltInPrimitiveId:
      return model == SpvExecutionModelTessellationControl      ? 1
             : model == SpvExecutionModelTessellationEvaluation ? 0
             : model == SpvExecutionModelGeometry               ? 0
                                                                : -1;
   default:
      return -1;
   }
}

struct gpuval_spirv_known
gpuval_spirv_builtin_value(const struct gpuval_spirv *spirv, uint32_t variable,
                           const struct gpuval_spirv_invocation *invocation)
{
   const uint32_t *words = invocation->words;
   int builtin = invocation->is_known ? find_builtin(spirv, variable) : -1;

   if (builtin < 0)
      return (struct gpuval_spirv_known){0};
   switch ((SpvBuiltIn)builtin) {
   case SpvBuiltInGlobalInvocationId:
   case SpvBuiltInLaunchIdKHR:
      return (struct gpuval_spirv_known){3, {words[0], words[1], words[2]}};
   case SpvBuiltInWorkgroupId:
   case SpvBuiltInLocalInvocationId:
   case SpvBuiltInLocalInvocationIndex:
      return of_workgroup(spirv, invocation, builtin);
   case SpvBuiltInFragCoord:
      return invocation->model == SpvExecutionModelFragment
                ? (struct gpuval_spirv_known){2, {words[0], words[1]}}
                : (struct gpuval_spirv_known){0};
   case SpvBuiltInTessCoord:
      return invocation->model == SpvExecutionModelTessellationEvaluation
                ? (struct gpuval_spirv_known){2, {words[1], words[2]}}
                : (struct gpuval_spirv_known){0};
   default:
      return one_of(invocation, find_word(builtin, invocation->model));
   }
}

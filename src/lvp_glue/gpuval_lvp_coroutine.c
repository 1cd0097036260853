/* SPDX-License-Identifier: MIT */

#include "gpuval_lvp_coroutine.h"

#include <stdbool.h>
#include <string.h>
#include <llvm/Config/llvm-config.h>

#include "util/macros.h"

static const char mark[] = "gpuval";

void
gpuval_lvp_mark_module(LLVMModuleRef module)
{
   LLVMGetOrInsertNamedMetadata(module, mark, sizeof(mark) - 1);
}

/* What becomes of a call when nothing is a coroutine any more. */
enum result {
   RESULT_NONE,    /* the call has no result */
   RESULT_ZERO,    /* 0, false or NULL */
   RESULT_ONE,     /* 1, or true */
   RESULT_POINTER, /* its second argument */
};

/* The order is that in which calls go: a token has no user but calls in front of its own. */
static const struct {
   const char *name;
   enum result result;
} calls[] = {
   {"llvm.coro.alloc", RESULT_ZERO},
   {"llvm.coro.free", RESULT_POINTER},
   {"llvm.coro.begin", RESULT_POINTER},
   {"llvm.coro.id", RESULT_NONE},
   {"llvm.coro.size.i32", RESULT_ZERO},
   {"llvm.coro.suspend", RESULT_ONE}, /* as behind llvm.coro.destroy: on to the end */
   {"llvm.coro.end", RESULT_ZERO},
   {"llvm.coro.done", RESULT_ONE},
   {"llvm.coro.destroy", RESULT_NONE},
   {"llvm.coro.resume", RESULT_NONE},
   {"coro_malloc", RESULT_ZERO},
   {"coro_free", RESULT_NONE},
};

static void
replace_call(LLVMValueRef call, enum result result)
{
   LLVMTypeRef type = LLVMTypeOf(call);

   if (result == RESULT_POINTER)
      LLVMReplaceAllUsesWith(call, LLVMGetOperand(call, 1));
   else if (result == RESULT_ZERO)
      LLVMReplaceAllUsesWith(call, LLVMConstNull(type));
   else if (result == RESULT_ONE)
      LLVMReplaceAllUsesWith(call, LLVMConstInt(type, 1, false));
   LLVMInstructionEraseFromParent(call);
}

static void
replace_calls(LLVMModuleRef module, const char *name, enum result result)
{
   LLVMValueRef function = LLVMGetNamedFunction(module, name);

   if (!function)
      return;
   for (LLVMUseRef use = LLVMGetFirstUse(function), next; use; use = next) {
      next = LLVMGetNextUse(use);
      replace_call(LLVMGetUser(use), result);
   }

   /* LLVM drops functions without users from modules that declare these ones, and gallivm has
    * pointers to coro_malloc and coro_free.
    */
   if (!strncmp(name, "llvm.", 5))
      LLVMDeleteFunction(function);
}

/* Another suspend than the last one is a barrier, where the others of the workgroup run. */
static bool
suspends_only_at_end(LLVMModuleRef module)
{
   LLVMValueRef suspend = LLVMGetNamedFunction(module, "llvm.coro.suspend");

   for (LLVMUseRef use = suspend ? LLVMGetFirstUse(suspend) : NULL; use;
        use = LLVMGetNextUse(use)) {
      LLVMValueRef is_final = LLVMGetOperand(LLVMGetUser(use), 1);
      if (!LLVMIsConstant(is_final) || LLVMIsNull(is_final))
         return false;
   }
   return suspend != NULL;
}

static void
remove_attribute(LLVMValueRef function)
{
#if LLVM_VERSION_MAJOR >= 15
   static const char name[] = "presplitcoroutine";
   const unsigned kind = LLVMGetEnumAttributeKindForName(name, sizeof(name) - 1);
   LLVMRemoveEnumAttributeAtIndex(function, LLVMAttributeFunctionIndex, kind);
#else
   static const char name[] = "coroutine.presplit";
   LLVMRemoveStringAttributeAtIndex(function, LLVMAttributeFunctionIndex, name, sizeof(name) - 1);
#endif
}

void
gpuval_lvp_flatten_coroutines(LLVMModuleRef module)
{
   if (!LLVMGetNamedMetadata(module, mark, sizeof(mark) - 1) || !suspends_only_at_end(module))
      return;
   for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
      remove_attribute(f);
   for (unsigned i = 0; i < ARRAY_SIZE(calls); i++)
      replace_calls(module, calls[i].name, calls[i].result);
}

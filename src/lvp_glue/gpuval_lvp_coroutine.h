/* SPDX-License-Identifier: MIT */

/* llvmpipe 25.0 makes coroutines of all compute and tessellation control shaders. LLVM clones each
 * twice before it splits them, which with checks takes half of the time of its optimizations,
 * and at run time each workgroup allocates frames. Shaders that wait nowhere need none of it:
 * llvmpipe 26.0 makes functions of them.
 */

#ifndef GPUVAL_LVP_COROUTINE_H
#define GPUVAL_LVP_COROUTINE_H

#include <llvm-c/Core.h>

/** Marks @module as one with checks; any number of times. */
void gpuval_lvp_mark_module(LLVMModuleRef module);

/**
 * Makes ordinary functions of the coroutines in @module, which is complete, when they suspend only
 * at their end. It does nothing to modules without checks.
 */
void gpuval_lvp_flatten_coroutines(LLVMModuleRef module);

#endif

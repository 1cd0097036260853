/* SPDX-License-Identifier: MIT */

/* Keeps the machine code of our functions on disk, beside what llvmpipe keeps of shaders there
 * (MESA_SHADER_CACHE_DISABLE and so on hold for both). Any thread may call these.
 */

#ifndef GPUVAL_LVP_CODE_CACHE_H
#define GPUVAL_LVP_CODE_CACHE_H

#include <stdbool.h>
#include <stddef.h>

struct lp_cached_code;

/**
 * Looks for code that was made of @key by the same build of the driver and of LLVM, on such a
 * processor. Returns whether @code has it, which gallivm_free_ir() frees.
 */
bool gpuval_lvp_find_code(const void *key, size_t size, struct lp_cached_code *code);

/** Keeps @code, unless it may not be kept. It has been written when this returns. */
void gpuval_lvp_add_code(const void *key, size_t size, const struct lp_cached_code *code);

#endif

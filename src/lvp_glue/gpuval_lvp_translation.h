/* SPDX-License-Identifier: MIT */

/* When gallivm has translated a shader for LLVM last, for the note of work that does not end:
 * lavapipe compiles shaders when a command first needs them.
 */

#ifndef GPUVAL_LVP_TRANSLATION_H
#define GPUVAL_LVP_TRANSLATION_H

#include <stdbool.h>
#include <stdint.h>

/** Of what a command has translated. Both fields are atomic. */
struct gpuval_lvp_translation {
   bool has_begun;
   int64_t time; /* os_time_get_nano(), of the last block */
};

/** Of the thread that executes a submit; NULL in all others. */
extern _Thread_local struct gpuval_lvp_translation *gpuval_lvp_translation;

#endif

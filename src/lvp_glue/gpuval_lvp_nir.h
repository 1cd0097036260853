/* SPDX-License-Identifier: MIT */

/* What of gpuval llvmpipe itself needs: it compiles shaders long after
 * lavapipe has let go of them.
 */

#ifndef GPUVAL_LVP_NIR_H
#define GPUVAL_LVP_NIR_H

#include "nir.h"

/* Where struct gpuval_command_data lies in constant buffer 0: behind the 256
 * bytes that lavapipe offers for push constants.
 */
#define GPUVAL_LVP_COMMAND_DATA_OFFSET 256

#ifdef __cplusplus
extern "C" {
#endif

/** To be run on every shader right before it becomes LLVM IR. */
bool gpuval_lvp_nir_lower_reports(nir_shader *nir);

/* gpuval_nir_options::data: what only the frontend knows */
struct gpuval_lvp_nir_layout {
   /* Bytes of an inline uniform block, 0 for any other binding */
   uint32_t (*inline_size)(const struct gpuval_lvp_nir_layout *layout, uint32_t set,
                           uint32_t binding);
};

struct gpuval_nir_buffer;
bool gpuval_lvp_nir_describe(const nir_intrinsic_instr *intrin, void *data,
                             struct gpuval_nir_buffer *buffer);

extern const struct gpuval_nir_driver gpuval_lvp_nir_driver;

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: MIT */

/* What of gpuval llvmpipe itself needs: it compiles shaders long after
 * lavapipe has let go of them.
 */

#ifndef GPUVAL_LVP_NIR_H
#define GPUVAL_LVP_NIR_H

#include "gpuval/src/base/gpuval_layout.h"
#include "nir.h"

/* Where struct gpuval_command_data lies in constant buffer 0: behind the 256
 * bytes that lavapipe offers for push constants.
 */
#define GPUVAL_LVP_COMMAND_DATA_OFFSET 256

#ifdef __cplusplus
extern "C" {
#endif

/* Where in it, in units of 8 bytes, shaders find the functions that are compiled once
 * for a device (gpuval_lvp_gallivm.c has the calls, gpuval_lvp_functions.c what is called).
 */
#define GPUVAL_LVP_FUNCTIONS_INDEX                                                                 \
   ((GPUVAL_LVP_COMMAND_DATA_OFFSET + offsetof(struct gpuval_command_data, functions)) / 8)

/* What calls say of an access that is in the table of entries:
 *
 *     0..15  RANGE of the intrinsic, or its FLAGS
 *    16..23  DESC_SET
 *    24..31  enum gl_shader_stage
 */
static inline uint32_t
gpuval_lvp_word(const nir_intrinsic_instr *intrin, gl_shader_stage stage)
{
   uint32_t low =
      nir_intrinsic_has_range(intrin) ? nir_intrinsic_range(intrin) : nir_intrinsic_flags(intrin);
   return low | nir_intrinsic_desc_set(intrin) << 16 | (uint32_t)stage << 24;
}

/* gpuval_nir_options::data: what only the frontend knows */
struct gpuval_lvp_nir_layout {
   /* Bytes of an inline uniform block, 0 for any other binding */
   uint32_t (*inline_size)(const struct gpuval_lvp_nir_layout *layout, uint32_t set,
                           uint32_t binding);
   /* First slot of a binding, and slots an array element */
   uint32_t (*first_slot)(const struct gpuval_lvp_nir_layout *layout, uint32_t set,
                          uint32_t binding, uint32_t *stride);
};

struct gpuval_nir_buffer;
bool gpuval_lvp_nir_describe(const nir_intrinsic_instr *intrin, void *data,
                             struct gpuval_nir_buffer *buffer);

extern const struct gpuval_nir_driver gpuval_lvp_nir_driver;

#ifdef __cplusplus
}
#endif

#endif

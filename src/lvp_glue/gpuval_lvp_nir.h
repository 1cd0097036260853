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

/* The report's function. It is compiled once for a device, and shaders find its
 * address in constant buffer 0: in each shader it would take longer to compile
 * than most shaders do. Its arguments, of one lane each but for the second:
 *
 *    mask of lanes that fail, pointer to struct lp_jit_resources,
 *    first entry, gpuval_lvp_report_word(), offset, slot, invocation[3]
 */
#define GPUVAL_LVP_REPORT_NUM_ARGS 9
#define GPUVAL_LVP_REPORT_FUNCTION_INDEX                                                           \
   ((GPUVAL_LVP_COMMAND_DATA_OFFSET + offsetof(struct gpuval_command_data, report_function)) / 8)

/** Number of entries | set << 16 | stage << 24 */
static inline uint32_t
gpuval_lvp_report_word(const nir_intrinsic_instr *report, gl_shader_stage stage)
{
   return nir_intrinsic_range(report) | nir_intrinsic_desc_set(report) << 16 |
          (uint32_t)stage << 24;
}

/* The same for messages:
 *
 *    mask of lanes that print, pointer to struct lp_jit_resources, header of the
 *    entry[2], address of the payload (lo, hi)
 *
 * The payload is an array of vectors, one a dword.
 */
#define GPUVAL_LVP_PRINTF_NUM_ARGS 6
#define GPUVAL_LVP_PRINTF_FUNCTION_INDEX                                                           \
   ((GPUVAL_LVP_COMMAND_DATA_OFFSET + offsetof(struct gpuval_command_data, printf_function)) / 8)

/** @num_lanes: of the vectors of the payload */
nir_function *gpuval_lvp_nir_create_printf_function(const nir_shader_compiler_options *options,
                                                    unsigned num_lanes);

/** That function without the first two arguments, in a shader of its own. */
nir_function *gpuval_lvp_nir_create_report_function(const nir_shader_compiler_options *options);

/* The function of sync, in the same way. Its arguments:
 *
 *    mask of lanes that access, pointer to struct lp_jit_resources,
 *    entry, gpuval_lvp_sync_word(), address (lo, hi), offset, slot,
 *    context[3] of the intrinsic, invocation[3], the mask again
 */
#define GPUVAL_LVP_SYNC_NUM_ARGS 15
#define GPUVAL_LVP_SYNC_FUNCTION_INDEX                                                             \
   ((GPUVAL_LVP_COMMAND_DATA_OFFSET + offsetof(struct gpuval_command_data, sync_function)) / 8)
#define GPUVAL_LVP_ROOT_INDEX                                                                      \
   ((GPUVAL_LVP_COMMAND_DATA_OFFSET + offsetof(struct gpuval_command_data, root_address)) / 8)

/** Bytes, which are or'ed in, | flags << 8 | set << 16 | stage << 24 */
static inline uint32_t
gpuval_lvp_sync_word(const nir_intrinsic_instr *sync, gl_shader_stage stage)
{
   return nir_intrinsic_flags(sync) << 8 | nir_intrinsic_desc_set(sync) << 16 |
          (uint32_t)stage << 24;
}

nir_function *gpuval_lvp_nir_create_sync_function(const nir_shader_compiler_options *options,
                                                  unsigned hashes);

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

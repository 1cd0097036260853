/* SPDX-License-Identifier: MIT */

/* What happens to a shader while a driver compiles it. */

#ifndef GPUVAL_INSTRUMENT_H
#define GPUVAL_INSTRUMENT_H

#include "gpuval/src/compat/gpuval_dynarray.h"
#include "nir_passes/gpuval_nir.h"
#include "gpuval.h"

#ifdef __cplusplus
extern "C" {
#endif

struct spirv_to_nir_options;
struct vk_pipeline_robustness_state;

/** For every shader that may be instrumented: what vtn does for us. */
void gpuval_spirv_options(struct spirv_to_nir_options *options);

/** Are accesses out of range defined? Then they are not to be reported. */
bool gpuval_is_robust(VkPipelineRobustnessBufferBehaviorEXT behavior);
bool gpuval_is_robust_image(VkPipelineRobustnessImageBehaviorEXT behavior);

/** A shader, as its driver knows it. */
struct gpuval_instrument_info {
   const struct gpuval_nir_driver *driver;
   /* Appends a struct gpuval_binding for each of the layout that @driver knows. */
   void (*describe_bindings)(const struct gpuval_nir_driver *driver,
                             struct util_dynarray *bindings);

   const uint32_t *spirv;
   size_t spirv_size;    /* bytes */
   uint64_t shader_hash; /* gpuval_shader_hash() of that */
   const char *entry;
   const char *name; /* debug_utils name of the module, or NULL */

   uint32_t checks; /* BITFIELD_BIT(enum gpuval_check) */
   bool robust_uniform, robust_storage, robust_image;

   /* Set where the shader does not mark all that it writes, and so init has given up */
   bool *is_unmarked;
};

/**
 * Right after the last nir_lower_explicit_io: instruments @nir, registers what has been
 * put in, and writes the dumps. Returns whether anything was put in; *key and *shader,
 * whose user the caller is, are those of gpuval_device_add_shader() then, and *shader is NULL
 * where there was no more room: what has been put in is gone again.
 */
bool gpuval_device_instrument(struct gpuval_device *device, nir_shader *nir,
                              const struct gpuval_instrument_info *info,
                              uint8_t key[GPUVAL_SHADER_KEY_SIZE], struct gpuval_shader **shader);

/**
 * Counts a shader for the summary that has been instrumented elsewhere and has come out of a cache;
 * gpuval_device_read_shader() does that where it has a table.
 */
void gpuval_count_shader(uint64_t hash, mesa_shader_stage stage);

#ifdef __cplusplus
}
#endif

#endif

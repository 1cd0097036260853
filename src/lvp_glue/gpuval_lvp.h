/* SPDX-License-Identifier: MIT */

/* lavapipe's hooks. All but gpuval_lvp_create() are called only where
 * lvp_device::gpuval is not NULL.
 *
 * lvp_private.h includes this header, so it includes nothing else of gpuval: a change of ours
 * must not compile all of lavapipe.
 */

#ifndef GPUVAL_LVP_H
#define GPUVAL_LVP_H

#include <stdbool.h>
#include <stdint.h>

#include "gpuval/src/compat/gpuval_nir_names.h"
#include "util/blob.h"
#include "util/list.h"

#include <vulkan/vulkan_core.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gpuval_lvp;
struct gpuval_shader;
struct lvp_buffer;
struct lvp_cmd_buffer;
struct lvp_descriptor_set;
struct lvp_descriptor_set_layout;
struct lvp_device;
struct lvp_device_memory;
struct lvp_pipeline;
struct lvp_pipeline_layout;
struct lvp_pipeline_nir;
struct lvp_shader;
struct pipe_context;
struct spirv_to_nir_options;
struct vk_cmd_queue_entry;
struct vk_descriptor_update_template;

/* Bytes of constant buffer 0, which holds push constants and our command data behind them:
 * gpuval_lvp_nir.h
 */
#define GPUVAL_LVP_CONSTANTS_SIZE 608
#define GPUVAL_LVP_MAX_SETS       8

/** NULL: nothing is checked. */
struct gpuval_lvp *gpuval_lvp_create(struct lvp_device *device);
/** Before the queue goes. */
void gpuval_lvp_retire(struct gpuval_lvp *gpuval);
/** After the queue is gone, before the device is. */
void gpuval_lvp_destroy(struct gpuval_lvp *gpuval);

/** Memory right after it is allocated, and before it is freed. */
void gpuval_lvp_add_memory(struct gpuval_lvp *gpuval, struct lvp_device_memory *memory);
void gpuval_lvp_remove_memory(struct gpuval_lvp *gpuval, struct lvp_device_memory *memory);

/** A buffer that has memory now, and before it is destroyed. */
void gpuval_lvp_add_buffer(struct gpuval_lvp *gpuval, struct lvp_buffer *buffer);
void gpuval_lvp_remove_buffer(struct gpuval_lvp *gpuval, struct lvp_buffer *buffer);

/* Descriptor sets: gpuval_lvp_sets.h */

struct gpuval_objects;
/** NULL: no check asks for descriptors. */
struct gpuval_objects *gpuval_lvp_objects(struct gpuval_lvp *gpuval);

/** The binding with a variable count, or UINT32_MAX. */
uint32_t gpuval_lvp_variable_binding(const VkDescriptorSetLayoutCreateInfo *info);
/** Bytes of a set that would have @size bytes without us */
uint64_t gpuval_lvp_set_size(struct gpuval_lvp *gpuval,
                             const struct lvp_descriptor_set_layout *layout, uint64_t size);
/** A set that has zeroed memory now */
void gpuval_lvp_init_set(struct gpuval_lvp *gpuval, struct lvp_device *device,
                         struct lvp_descriptor_set *set);
/** The @index-th set of those that @info asks for */
void gpuval_lvp_count_descriptors(struct gpuval_lvp *gpuval, struct lvp_descriptor_set *set,
                                  const VkDescriptorSetAllocateInfo *info, uint32_t index);
/** @set has been given what @base has, as far as their sizes allow. */
void gpuval_lvp_inherit_set(struct gpuval_lvp *gpuval, struct lvp_device *device,
                            struct lvp_descriptor_set *set, const struct lvp_descriptor_set *base);
/** After the driver has done the same */
void gpuval_lvp_update_sets(struct gpuval_lvp *gpuval, uint32_t write_count,
                            const VkWriteDescriptorSet *writes, uint32_t copy_count,
                            const VkCopyDescriptorSet *copies);
void
gpuval_lvp_update_set_with_template(struct gpuval_lvp *gpuval, struct lvp_descriptor_set *set,
                                    const struct vk_descriptor_update_template *update_template,
                                    const void *data);

/* Shaders */

void gpuval_lvp_spirv_options(struct gpuval_lvp *gpuval, struct spirv_to_nir_options *options);
/** Remembers what @nir was made from. @pipeline_next: the pipeline's pNext. */
void gpuval_lvp_shader_parsed(struct gpuval_lvp *gpuval, nir_shader *nir,
                              const VkPipelineShaderStageCreateInfo *info,
                              const void *pipeline_next);
/** When @pipeline is created, and its libraries are known. */
void gpuval_lvp_note_inputs(struct lvp_pipeline *pipeline, struct lvp_device *device,
                            const VkGraphicsPipelineCreateInfo *info);
/** At the hook: right after the last nir_lower_explicit_io. */
void gpuval_lvp_instrument(struct gpuval_lvp *gpuval, nir_shader *nir,
                           const struct lvp_pipeline_layout *layout);
/** @pipeline_nir, whose NIR has been instrumented or read, is a user of its shader now. */
void gpuval_lvp_hold_shader(struct gpuval_lvp *gpuval, struct lvp_pipeline_nir *pipeline_nir);
void gpuval_lvp_release_shader(struct gpuval_shader *shader);
/** The table of a shader object that is held, for its binary. */
void gpuval_lvp_write_shader(struct gpuval_lvp *gpuval, const struct lvp_pipeline_nir *pipeline_nir,
                             struct blob *blob);
bool gpuval_lvp_read_shader(struct gpuval_lvp *gpuval, const nir_shader *nir,
                            struct blob_reader *blob);

/* Execution, on the queue's thread */

void gpuval_lvp_begin_submit(struct gpuval_lvp *gpuval);
void gpuval_lvp_end_submit(struct gpuval_lvp *gpuval);
void gpuval_lvp_begin_command_buffer(struct gpuval_lvp *gpuval, struct lvp_cmd_buffer *cmd_buffer);
/**
 * Before each command of the list @commands. Returns the one to be executed: another one
 * where that is unsafe, which stands at the same place of the list.
 */
struct vk_cmd_queue_entry *gpuval_lvp_next_command(struct gpuval_lvp *gpuval,
                                                   const struct list_head *commands,
                                                   struct vk_cmd_queue_entry *command);
/**
 * Before the state of a draw, dispatch or trace is emitted: gives it an id. @sets are those
 * that are bound, by enum lvp_pipeline_type.
 * @stages: bits of mesa_shader_stage whose @shaders are to run. Fills in the
 * command data in @push_constants and marks in @dirty where it has to be
 * uploaded.
 */
void gpuval_lvp_emit(struct gpuval_lvp *gpuval, uint32_t stages, struct lvp_shader *const *shaders,
                     struct lvp_descriptor_set *const sets[][GPUVAL_LVP_MAX_SETS],
                     uint8_t *push_constants, bool *dirty);

/**
 * Constant buffer 0 of a compute shader, whose command data gpuval_lvp_emit() has put
 * there: @size bytes of push constants, bound. False for other stages, which run late
 * and need a copy of both.
 */
bool gpuval_lvp_set_constants(struct gpuval_lvp *gpuval, struct pipe_context *context,
                              mesa_shader_stage stage, const uint8_t *push_constants,
                              unsigned size);

#ifdef __cplusplus
}
#endif

#endif

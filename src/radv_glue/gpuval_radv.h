/* SPDX-License-Identifier: MIT */

/* RADV's hooks. All but gpuval_radv_create() are called only where
 * radv_device::gpuval is not NULL.
 *
 * RADV's own headers include this one, so it includes nothing else of gpuval: a change of
 * ours must not compile all of RADV.
 */

#ifndef GPUVAL_RADV_H
#define GPUVAL_RADV_H

#include <stdbool.h>
#include <stdint.h>

#include "gpuval/src/compat/gpuval_nir_names.h"
#include "util/mesa-sha1.h"

#include <vulkan/vulkan_core.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gpuval_radv;
struct gpuval_radv_part;
struct gpuval_shader;

struct aco_symbol;
struct blob;
struct nir_builder;
struct nir_lower_compute_system_values_options;
struct radv_buffer;
struct radv_cmd_buffer;
struct radv_descriptor_state;
struct radv_device;
struct radv_shader;
struct radv_shader_binary;
struct radv_shader_stage;
struct radv_shader_stage_key;
struct spirv_to_nir_options;
struct vk_pipeline_cache;
struct vk_pipeline_robustness_state;

/** The last thing that creating a device does. NULL: nothing is checked. */
struct gpuval_radv *gpuval_radv_create(struct radv_device *device);
/** The first thing that destroying it does. */
void gpuval_radv_destroy(struct gpuval_radv *gpuval);

/** A buffer that has memory now, and before it is destroyed. */
void gpuval_radv_add_buffer(struct gpuval_radv *gpuval, struct radv_buffer *buffer);
void gpuval_radv_remove_buffer(struct gpuval_radv *gpuval, struct radv_buffer *buffer);

/** Of the memory that the program allocates: enum radeon_bo_flag, what RADV makes of @flags. */
uint32_t gpuval_radv_memory_flags(const struct gpuval_radv *gpuval,
                                  const VkMemoryAllocateInfo *info, uint32_t flags);

/* Descriptors */

/* Word 3 of a buffer's descriptor, INDEX_STRIDE, at the same place on every
 * generation (amd/registers). It matters for swizzled buffers only, and no
 * buffer of the application is one. So it keeps how many bytes less than
 * NUM_RECORDS the range really has: RADV rounds that up to 4 bytes.
 */
#define GPUVAL_RADV_ROUNDED_SHIFT 21
#define GPUVAL_RADV_ROUNDED_MASK  3u

/** Writes the size of a range into its raw buffer descriptor. */
static inline void
gpuval_radv_set_exact_size(uint32_t descriptor[4], uint64_t size)
{
   if (size > UINT32_MAX - GPUVAL_RADV_ROUNDED_MASK)
      return;

   uint32_t rounded = (size + 3) & ~3ull;
   descriptor[2] = rounded;
   descriptor[3] |= (rounded - (uint32_t)size) << GPUVAL_RADV_ROUNDED_SHIFT;
}

/**
 * In radv_nir_apply_pipeline_layout(): the set that a descriptor is in, and its offset
 * there, unless another one is to stand in. @deref: of the texture or image.
 */
void gpuval_radv_nir_stand_in(struct nir_builder *b, nir_deref_instr *deref, nir_def **set,
                              nir_def **offset);

/* Shaders */

/** Into keys of caches: what code has of the device. @stays: gpuval_radv_stays() */
void gpuval_radv_hash_device(const struct gpuval_radv *gpuval, bool stays, struct mesa_sha1 *ctx);
/** radv_shader_stage_key::gpuval: accesses out of range that a stage must not have. */
enum gpuval_radv_undefined {
   GPUVAL_RADV_UNDEFINED_UNIFORM,
   GPUVAL_RADV_UNDEFINED_STORAGE,
   GPUVAL_RADV_UNDEFINED_IMAGE,
   GPUVAL_RADV_IS_CHECKED, /* always, so that there is something */
};
/** Into the hash of a stage: the name of its module, which reports have and GPUVAL_SHADERS asks
 * for. */
void gpuval_radv_mix_name(const VkPipelineShaderStageCreateInfo *info,
                          uint8_t sha1[SHA1_DIGEST_LENGTH]);
/** @robustness: of a pipeline's stage; NULL for shader objects, which are as the device is. */
void gpuval_radv_set_stage_key(struct gpuval_radv *gpuval,
                               const struct vk_pipeline_robustness_state *robustness,
                               struct radv_shader_stage_key *key);
/** @is_internal: the driver's own shader, which is checked only if asked for. */
void gpuval_radv_spirv_options(struct gpuval_radv *gpuval, bool is_internal,
                               struct spirv_to_nir_options *options);
/** Where functions have been inlined, and variables are there. */
void gpuval_radv_instrument_early(struct gpuval_radv *gpuval, const struct radv_shader_stage *stage,
                                  nir_shader *nir);
/** Where nir_lower_io_to_temporaries has left local variables. */
void gpuval_radv_note_assignments(struct gpuval_radv *gpuval, const struct radv_shader_stage *stage,
                                  nir_shader *nir);
/** At the hook: right after the last nir_lower_explicit_io. */
void gpuval_radv_instrument(struct gpuval_radv *gpuval, const struct radv_shader_stage *stage,
                            nir_shader *nir,
                            const nir_lower_compute_system_values_options *system_values);
/** After that: RADV's own lowering, which comes earlier without us. */
void gpuval_radv_lower_ray_queries(struct gpuval_radv *gpuval, nir_shader *nir);
/** May @nir read command data? */
bool gpuval_radv_needs_table(const nir_shader *nir);
/** Right after radv_nir_apply_pipeline_layout. */
void gpuval_radv_lower_queries(struct gpuval_radv *gpuval, struct radv_shader_stage *stage);
/** For pipelines whose handles are captured or replayed. */
void gpuval_radv_warn_capture_replay(struct gpuval_radv *gpuval);
/** ac_nir_lower_ngg_options::edit_culled_part: its clone runs for all vertices, and reports. */
void gpuval_radv_edit_culled_part(struct exec_list *part);
/** When all decisions have been made. */
void gpuval_radv_lower_reports(struct gpuval_radv *gpuval, struct radv_shader_stage *stage);

/* Binaries: gpuval_radv_binary.c */

/** Has the code of such stages numbers of this device in it? It is in no cache on disk. */
static inline bool
gpuval_radv_stays(mesa_shader_stage stage)
{
   return mesa_shader_stage_is_rt(stage);
}
/** In place of any other for what gpuval_radv_stays(). */
struct vk_pipeline_cache *gpuval_radv_memory_cache(const struct gpuval_radv *gpuval);
/** What ACO says of the code that this thread has just compiled */
void gpuval_radv_note_symbols(const struct aco_symbol *symbols, unsigned count);
/**
 * Returns @binary, which has just been compiled, with what has to be known of its @shaders, as they
 * are now, at the end. It may have moved.
 */
struct radv_shader_binary *gpuval_radv_add_part(const struct radv_device *device,
                                                struct radv_shader_binary *binary,
                                                struct nir_shader *const *shaders, unsigned count);
/**
 * @shader, which is being made from @binary, uses the shaders that are named there, which are
 * registered if they are not. Returns false if @binary is damaged or does not fit this device.
 */
bool gpuval_radv_read_part(const struct radv_device *device, struct radv_shader *shader,
                           const struct radv_shader_binary *binary);
/** Corrects shader->code and @upload, a copy of it, both of which are as @code in the binary. */
void gpuval_radv_relocate(struct radv_shader *shader, const void *code, void *upload);
/** Of @shader, whose registers are known */
void gpuval_radv_adjust_registers(struct radv_shader *shader);
/** The binary of @shader, from the byte @begin on in @blob, gets what gpuval_radv_read_part()
 * wants. */
void gpuval_radv_write_part(const struct radv_shader *shader, struct blob *blob, size_t begin);
void gpuval_radv_finish_shader(const struct radv_device *device, struct radv_shader *shader);

/* Commands */

/**
 * Returns the bytes of what the command that is being recorded has in front of its table of
 * descriptor sets; *num_sets: how many shaders may look for there.
 */
uint32_t gpuval_radv_command_size(const struct radv_cmd_buffer *cmd_buffer,
                                  const struct radv_descriptor_state *descriptors,
                                  uint32_t *num_sets);
/** Gives the command an id and fills in its @data, of that @size. */
void gpuval_radv_record(struct gpuval_radv *gpuval, struct radv_cmd_buffer *cmd_buffer,
                        const struct radv_descriptor_state *descriptors, void *data, uint32_t size);
void gpuval_radv_forget_commands(struct gpuval_radv *gpuval, struct radv_cmd_buffer *cmd_buffer);

#ifdef __cplusplus
}
#endif

#endif

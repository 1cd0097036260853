/* SPDX-License-Identifier: MIT */

/* RADV's objects, and what it offers to its own meta commands */

#ifndef GPUVAL_RADV_DRIVER_H
#define GPUVAL_RADV_DRIVER_H

#include "meta/radv_meta.h"
#include "nir/nir_builder.h"
#include "radv_buffer.h"
#include "radv_cmd_buffer.h"
#include "radv_cp_dma.h"
#include "radv_cs.h"
#include "radv_descriptor_set.h"
#include "radv_device.h"
#include "radv_image.h"
#include "radv_pipeline_graphics.h"
#include "radv_shader.h"
#include "radv_shader_args.h"
#include "sid.h"

#include "gpuval/src/compat/gpuval_mesa.h"
#include "gpuval/src/core/commands/gpuval_vertex.h"

/** As the pipeline has them, where they are not dynamic; else NULL */
static inline const struct vk_vertex_input_state *
gpuval_radv_static_input(const struct radv_cmd_buffer *cmd_buffer)
{
   const struct radv_graphics_pipeline *pipeline = cmd_buffer->state.graphics_pipeline;

   return pipeline && !(pipeline->dynamic_states & RADV_DYNAMIC_VERTEX_INPUT) ? &pipeline->gpuval_vi
                                                                              : NULL;
}

#if GPUVAL_MESA >= 2600

#include "nir/radv_meta_nir.h"
#include "radv_descriptor_pool.h"
#include "radv_descriptor_update_template.h"

#define GPUVAL_RADV_UNCACHED      RADEON_FLAG_GL2_BYPASS
#define GPUVAL_RADV_TABLE_OF_SETS AC_UD_INDIRECT_DESCRIPTORS

/** Of a fragment shader */
static inline uint32_t *
gpuval_radv_db_shader_control(struct radv_shader *shader)
{
   return &shader->regs.ps.db_shader_control;
}

/** Address of a buffer; 0: nothing is bound */
static inline uint64_t
gpuval_radv_buffer_address(const struct radv_buffer *buffer)
{
   return buffer->bo ? buffer->vk.device_address : 0;
}

/** A buffer of @size bytes at @address in @bo */
static inline struct radv_buffer
gpuval_radv_make_buffer(struct radeon_winsys_bo *bo, uint64_t address, uint64_t size)
{
   return (struct radv_buffer){
      .vk.base.type = VK_OBJECT_TYPE_BUFFER,
      .vk.size = size,
      .vk.device_address = address,
      .bo = bo,
      .range = size,
   };
}

static inline uint32_t
gpuval_radv_fill(struct radv_cmd_buffer *cmd_buffer, struct radeon_winsys_bo *bo, uint64_t address,
                 uint64_t size, uint32_t value)
{
   return radv_fill_buffer(cmd_buffer, bo, address, size, value);
}

/** From the beginning of one to that of the other */
static inline void
gpuval_radv_copy(struct radv_cmd_buffer *cmd_buffer, struct radeon_winsys_bo *from,
                 struct radeon_winsys_bo *to, uint64_t size)
{
   const struct radv_device *device = radv_cmd_buffer_device(cmd_buffer);

   radv_cs_add_buffer(device->ws, cmd_buffer->cs->b, from);
   radv_cs_add_buffer(device->ws, cmd_buffer->cs->b, to);
   radv_copy_memory(cmd_buffer, radv_buffer_get_va(from), radv_buffer_get_va(to), size,
                    radv_get_copy_flags_from_bo(from), radv_get_copy_flags_from_bo(to));
}

/** With CP DMA */
static inline void
gpuval_radv_copy_bytes(struct radv_cmd_buffer *cmd_buffer, uint64_t from, uint64_t to,
                       uint64_t size)
{
   radv_cp_dma_copy_memory(cmd_buffer, from, to, size);
}

/** With packets of the command processor, four bytes each */
static inline void
gpuval_radv_copy_words(struct radv_cmd_buffer *cmd_buffer, uint64_t from, uint64_t to,
                       uint64_t size)
{
   struct radv_cmd_stream *cs = cmd_buffer->cs;

   radeon_check_space(radv_cmd_buffer_device(cmd_buffer)->ws, cs->b, size / 4 * 6);
   for (uint64_t i = 0; i < size; i += 4)
      ac_emit_cp_copy_data(cs->b, COPY_DATA_SRC_MEM, COPY_DATA_DST_MEM, from + i, to + i, 0, false);
}

static inline void
gpuval_radv_write_words(struct radv_cmd_buffer *cmd_buffer, uint64_t address, unsigned count,
                        const uint32_t *words, bool predicating)
{
   radv_cs_write_data(radv_cmd_buffer_device(cmd_buffer), cmd_buffer->cs, V_370_ME, address, count,
                      words, predicating);
}

static inline bool
gpuval_radv_is_shared(const struct radv_image *image)
{
   return image->vk.external_handle_types != 0;
}

static inline uint64_t
gpuval_radv_image_address(const struct radv_image *image)
{
   return image->bindings[0].addr;
}

static inline nir_builder
gpuval_radv_init_shader(struct radv_device *device, const char *name)
{
   return radv_meta_nir_init_shader(device, MESA_SHADER_COMPUTE, "%s", name);
}

/** Whatever a dispatch of ours changes; predication does not hold for it. */
static inline void
gpuval_radv_begin_meta(struct radv_meta_saved_state *saved, struct radv_cmd_buffer *cmd_buffer)
{
   radv_suspend_conditional_rendering(cmd_buffer);
   radv_meta_save(saved, cmd_buffer, RADV_META_SAVE_COMPUTE_PIPELINE | RADV_META_SAVE_CONSTANTS);
}

static inline void
gpuval_radv_end_meta(const struct radv_meta_saved_state *saved, struct radv_cmd_buffer *cmd_buffer)
{
   radv_meta_restore(saved, cmd_buffer);
   radv_resume_conditional_rendering(cmd_buffer);
}

/** What is bound for null descriptors: nothing */
static inline VkAccelerationStructureKHR
gpuval_radv_null_structure(struct radv_device *device, bool is_needed)
{
   return VK_NULL_HANDLE;
}

/* Dynamic descriptors are in a block of their own. */
static inline uint32_t
gpuval_radv_dynamic_offset(const struct radv_shader_layout *layout)
{
   return 0;
}

/** Returns the same for the layout that is bound. */
static inline uint32_t
gpuval_radv_bound_dynamic_offset(const struct radv_cmd_buffer *cmd_buffer, unsigned bind_point)
{
   return 0;
}

static inline const struct ac_arg *
gpuval_radv_dynamic_arg(const struct radv_shader_args *args)
{
   return &args->ac.dynamic_descriptors;
}

static inline const struct ac_arg *
gpuval_radv_sets_arg(const struct radv_shader_args *args)
{
   return &args->descriptors[0];
}

/** What is bound for vertices; that it is a buffer, RADV has forgotten. */
static inline void
gpuval_radv_describe_bound(const struct radv_cmd_buffer *cmd_buffer, uint32_t number,
                           struct gpuval_vertex_binding *binding)
{
   const struct radv_vertex_binding *bound = &cmd_buffer->vertex_bindings[number];

   binding->stride = cmd_buffer->state.dynamic.vk.vi_binding_strides[number];
   binding->is_null =
      !bound->addr && radv_cmd_buffer_device(cmd_buffer)->vk.enabled_features.nullDescriptor;
   binding->range.address = bound->addr;
   binding->range.size = bound->size;
}

static inline const struct radv_vertex_input_state *
gpuval_radv_dynamic_input(const struct radv_cmd_buffer *cmd_buffer)
{
   return &cmd_buffer->state.dynamic.vertex_input;
}

#else

#define GPUVAL_RADV_UNCACHED      RADEON_FLAG_VA_UNCACHED
#define GPUVAL_RADV_TABLE_OF_SETS AC_UD_INDIRECT_DESCRIPTOR_SETS

static inline uint32_t *
gpuval_radv_db_shader_control(struct radv_shader *shader)
{
   return &shader->info.regs.ps.db_shader_control;
}

static inline uint64_t
gpuval_radv_buffer_address(const struct radv_buffer *buffer)
{
   return buffer->bo ? radv_buffer_get_va(buffer->bo) + buffer->offset : 0;
}

static inline struct radv_buffer
gpuval_radv_make_buffer(struct radeon_winsys_bo *bo, uint64_t address, uint64_t size)
{
   return (struct radv_buffer){
      .vk.base.type = VK_OBJECT_TYPE_BUFFER,
      .vk.size = size,
      .bo = bo,
      .offset = address - radv_buffer_get_va(bo),
      .bo_va = radv_buffer_get_va(bo),
      .range = size,
   };
}

static inline uint32_t
gpuval_radv_fill(struct radv_cmd_buffer *cmd_buffer, struct radeon_winsys_bo *bo, uint64_t address,
                 uint64_t size, uint32_t value)
{
   return radv_fill_buffer(cmd_buffer, NULL, bo, address, size, value);
}

static inline void
gpuval_radv_copy(struct radv_cmd_buffer *cmd_buffer, struct radeon_winsys_bo *from,
                 struct radeon_winsys_bo *to, uint64_t size)
{
   radv_copy_buffer(cmd_buffer, from, to, 0, 0, size);
}

static inline void
gpuval_radv_copy_bytes(struct radv_cmd_buffer *cmd_buffer, uint64_t from, uint64_t to,
                       uint64_t size)
{
   radv_cp_dma_buffer_copy(cmd_buffer, from, to, size);
}

static inline void
gpuval_radv_copy_words(struct radv_cmd_buffer *cmd_buffer, uint64_t from, uint64_t to,
                       uint64_t size)
{
   struct radeon_cmdbuf *cs = cmd_buffer->cs;

   radeon_check_space(radv_cmd_buffer_device(cmd_buffer)->ws, cs, size / 4 * 6);
   for (uint64_t i = 0; i < size; i += 4) {
      radeon_emit(cs, PKT3(PKT3_COPY_DATA, 4, 0));
      radeon_emit(cs, COPY_DATA_SRC_SEL(COPY_DATA_SRC_MEM) | COPY_DATA_DST_SEL(COPY_DATA_DST_MEM));
      radeon_emit(cs, from + i);
      radeon_emit(cs, (from + i) >> 32);
      radeon_emit(cs, to + i);
      radeon_emit(cs, (to + i) >> 32);
   }
}

static inline void
gpuval_radv_write_words(struct radv_cmd_buffer *cmd_buffer, uint64_t address, unsigned count,
                        const uint32_t *words, bool predicating)
{
   radv_cs_write_data(radv_cmd_buffer_device(cmd_buffer), cmd_buffer->cs, cmd_buffer->qf, V_370_ME,
                      address, count, words, predicating);
}

static inline bool
gpuval_radv_is_shared(const struct radv_image *image)
{
   return image->shareable;
}

static inline uint64_t
gpuval_radv_image_address(const struct radv_image *image)
{
   return radv_image_get_va(image, 0);
}

static inline nir_builder
gpuval_radv_init_shader(struct radv_device *device, const char *name)
{
   return radv_meta_init_shader(device, MESA_SHADER_COMPUTE, "%s", name);
}

static inline void
gpuval_radv_begin_meta(struct radv_meta_saved_state *saved, struct radv_cmd_buffer *cmd_buffer)
{
   radv_meta_save(
      saved, cmd_buffer,
      RADV_META_SAVE_COMPUTE_PIPELINE | RADV_META_SAVE_CONSTANTS | RADV_META_SUSPEND_PREDICATING);
}

static inline void
gpuval_radv_end_meta(const struct radv_meta_saved_state *saved, struct radv_cmd_buffer *cmd_buffer)
{
   radv_meta_restore(saved, cmd_buffer);
}

/** What RADV binds for null descriptors. It is there, or is made where it @is_needed. */
static inline VkAccelerationStructureKHR
gpuval_radv_null_structure(struct radv_device *device, bool is_needed)
{
   if (is_needed && !device->meta_state.accel_struct_build.null.accel_struct)
      radv_device_init_null_accel_struct(device);
   return device->meta_state.accel_struct_build.null.accel_struct;
}

/* Dynamic descriptors are behind the push constants. */
static inline uint32_t
gpuval_radv_dynamic_offset(const struct radv_shader_layout *layout)
{
   return layout->push_constant_size;
}

static inline uint32_t
gpuval_radv_bound_dynamic_offset(const struct radv_cmd_buffer *cmd_buffer, unsigned bind_point)
{
   return cmd_buffer->push_constant_state[bind_point].size;
}

static inline const struct ac_arg *
gpuval_radv_dynamic_arg(const struct radv_shader_args *args)
{
   return &args->ac.push_constants;
}

static inline const struct ac_arg *
gpuval_radv_sets_arg(const struct radv_shader_args *args)
{
   return &args->descriptor_sets[0];
}

static inline void
gpuval_radv_describe_bound(const struct radv_cmd_buffer *cmd_buffer, uint32_t number,
                           struct gpuval_vertex_binding *binding)
{
   const struct radv_vertex_binding *bound = &cmd_buffer->vertex_bindings[number];
   const struct radv_buffer *buffer = cmd_buffer->vertex_binding_buffers[number];

   binding->stride = bound->stride;
   binding->is_null =
      !buffer && radv_cmd_buffer_device(cmd_buffer)->vk.enabled_features.nullDescriptor;
   if (buffer) {
      binding->range.object = &buffer->vk.base;
      binding->range.object_offset = bound->offset;
      binding->range.address = radv_buffer_get_va(buffer->bo) + buffer->offset + bound->offset;
      binding->range.size =
         bound->size ? bound->size : vk_buffer_range(&buffer->vk, bound->offset, VK_WHOLE_SIZE);
   }
}

static inline const struct radv_vertex_input_state *
gpuval_radv_dynamic_input(const struct radv_cmd_buffer *cmd_buffer)
{
   return &cmd_buffer->state.vertex_input;
}

#endif

#endif

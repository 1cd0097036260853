/* SPDX-License-Identifier: MIT */

/* lavapipe's objects, and what it asks of gallium */

#ifndef GPUVAL_LVP_DRIVER_H
#define GPUVAL_LVP_DRIVER_H

#include "util/u_inlines.h"
#include "util/u_upload_mgr.h"
#include "lvp_private.h"

#include "gpuval/src/compat/gpuval_mesa.h"

#if GPUVAL_MESA >= 2600

static inline struct vk_object_base *
gpuval_lvp_memory_object(struct lvp_device_memory *memory)
{
   return &memory->vk.base;
}

static inline uint64_t
gpuval_lvp_memory_size(const struct lvp_device_memory *memory)
{
   return memory->vk.size;
}

/** Returns whether lavapipe has cleared it. */
static inline bool
gpuval_lvp_memory_is_zeroed(const struct lvp_device_memory *memory)
{
   return memory->vk.alloc_flags & VK_MEMORY_ALLOCATE_ZERO_INITIALIZE_BIT_EXT;
}

static inline VkQueryType
gpuval_lvp_query_type(const struct lvp_query_pool *pool)
{
   return pool->vk.query_type;
}

static inline VkQueryPipelineStatisticFlags
gpuval_lvp_query_statistics(const struct lvp_query_pool *pool)
{
   return pool->vk.pipeline_statistics;
}

static inline const struct nir_shader_compiler_options *
gpuval_lvp_compiler_options(struct pipe_screen *screen)
{
   return screen->nir_options[MESA_SHADER_COMPUTE];
}

static inline void
gpuval_lvp_set_constant_buffer(struct pipe_context *context, mesa_shader_stage stage,
                               const struct pipe_constant_buffer *buffer)
{
   context->set_constant_buffer(context, stage, 0, buffer);
}

/** Sets a constant buffer with a copy of @data. Returns false if there is no memory. */
static inline bool
gpuval_lvp_upload_constants(struct pipe_context *context, struct u_upload_mgr *uploader,
                            mesa_shader_stage stage, const void *data, unsigned size)
{
   struct pipe_constant_buffer buffer = {.buffer_size = size};
   void *mem;

   u_upload_alloc_ref(uploader, 0, size, 64, &buffer.buffer_offset, &buffer.buffer, &mem);
   if (!buffer.buffer)
      return false;
   memcpy(mem, data, size);
   context->set_constant_buffer(context, stage, 0, &buffer);
   pipe_resource_reference(&buffer.buffer, NULL);
   return true;
}

#else

static inline struct lvp_device *
lvp_cmd_buffer_device(const struct lvp_cmd_buffer *cmd_buffer)
{
   return cmd_buffer->device;
}

static inline struct vk_object_base *
gpuval_lvp_memory_object(struct lvp_device_memory *memory)
{
   return &memory->base;
}

static inline uint64_t
gpuval_lvp_memory_size(const struct lvp_device_memory *memory)
{
   return memory->size;
}

static inline bool
gpuval_lvp_memory_is_zeroed(const struct lvp_device_memory *memory)
{
   return false;
}

static inline VkQueryType
gpuval_lvp_query_type(const struct lvp_query_pool *pool)
{
   return pool->type;
}

static inline VkQueryPipelineStatisticFlags
gpuval_lvp_query_statistics(const struct lvp_query_pool *pool)
{
   return pool->pipeline_stats;
}

static inline const struct nir_shader_compiler_options *
gpuval_lvp_compiler_options(struct pipe_screen *screen)
{
   return screen->get_compiler_options(screen, PIPE_SHADER_IR_NIR, PIPE_SHADER_COMPUTE);
}

static inline void
gpuval_lvp_set_constant_buffer(struct pipe_context *context, mesa_shader_stage stage,
                               const struct pipe_constant_buffer *buffer)
{
   context->set_constant_buffer(context, stage, 0, false, buffer);
}

static inline bool
gpuval_lvp_upload_constants(struct pipe_context *context, struct u_upload_mgr *uploader,
                            mesa_shader_stage stage, const void *data, unsigned size)
{
   struct pipe_constant_buffer buffer = {.buffer_size = size};
   void *mem;

   u_upload_alloc(uploader, 0, size, 64, &buffer.buffer_offset, &buffer.buffer, &mem);
   if (!buffer.buffer)
      return false;
   memcpy(mem, data, size);
   context->set_constant_buffer(context, stage, 0, true, &buffer);
   return true;
}

#endif

#endif

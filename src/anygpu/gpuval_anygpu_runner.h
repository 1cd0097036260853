/* SPDX-License-Identifier: MIT */

/* What runs a shader: gpuval_anygpu_run.c, and its pipelines, gpuval_anygpu_pipelines.c. */

#ifndef GPUVAL_ANYGPU_RUNNER_H
#define GPUVAL_ANYGPU_RUNNER_H

#include "gpuval_anygpu.h"

/* A buffer of the shader, as the checks know it */
struct gpuval_anygpu_buffer {
   struct gpuval_anygpu_memory *memory;
   struct vk_buffer vk; /* what reports call it; the loader's drivers never see it */
};

struct gpuval_anygpu_pipeline {
   VkDescriptorSetLayout set_layout; /* of the shader as it is */
   VkPipelineLayout layout;
   VkPipeline pipeline;
};

struct gpuval_anygpu_runner {
   const struct gpuval_anygpu_options *options;
   struct gpuval_anygpu_vulkan vulkan;
   struct gpuval_device *device; /* NULL: nothing is checked */
   struct gpuval_anygpu_shader shader;
   struct gpuval_anygpu_pipeline checked, plain;
   struct gpuval_anygpu_buffer buffers[GPUVAL_ANYGPU_MAX_SLOTS];
   struct gpuval_anygpu_memory *commands; /* struct gpuval_anygpu_command[MAX_BATCH] */
   struct gpuval_anygpu_command template;
   unsigned push_size; /* of what is in there */
   VkDescriptorPool descriptor_pool;
   VkDescriptorSet set;
   VkQueryPool queries;
   uint32_t num_commands; /* ever; ids begin at 1 */
   uint32_t span;         /* what lies between two barriers */
   uint32_t span_command; /* the first of it */
};

/** Says @what went wrong, with @name or NULL, and returns false. */
bool gpuval_anygpu_fail(const char *what, const char *name);

/* gpuval_anygpu_pipelines.c. These return false after one message. */

/** Of what @run->shader has become with checks */
bool gpuval_anygpu_create_checked(struct gpuval_anygpu_runner *run);
/** Of the shader as it is, with real descriptors, and queries for the time */
bool gpuval_anygpu_create_plain(struct gpuval_anygpu_runner *run);
void gpuval_anygpu_destroy_pipeline(struct gpuval_anygpu_runner *run,
                                    struct gpuval_anygpu_pipeline *pipeline);

#endif

/* SPDX-License-Identifier: MIT */

/*
 * What a worker measures with: the buffers, images and descriptors of a workload,
 * its pipelines, and the command buffer that uses both.
 */

#ifndef GPUVAL_BENCH_SCENE_H
#define GPUVAL_BENCH_SCENE_H

#include "bench.h"
#include "vk_headless.h"

#define BENCH_MAX_SHADERS   2
#define BENCH_MAX_PIPELINES 128

/* What a workload needs for all its creations. */
struct bench_scene {
   const struct bench_workload *workload;
   bool by_hand;
   unsigned binding_count;
   struct vkh_buffer buffers[BENCH_MAX_BINDINGS];
   struct vkh_buffer hand_filter, hand_control;
   struct vkh_image images[BENCH_MAX_BINDINGS];
   struct vkh_image target;
   VkSampler sampler;
   VkDescriptorSetLayout set_layout;
   VkPipelineLayout layout;
   VkDescriptorSet set;
   VkCommandBuffer cmd;
   VkFence fence;
   PFN_vkCmdDrawMeshTasksEXT draw_mesh_tasks; /* NULL where the workload does not */
};

struct bench_pipelines {
   unsigned module_count, count;
   VkShaderModule modules[BENCH_MAX_SHADERS];
   VkPipeline pipelines[BENCH_MAX_PIPELINES];
};

bool bench_is_compute(const struct bench_workload *workload);

void bench_create_scene(struct vkh_context *ctx, const struct bench_workload *workload,
                        bool by_hand, struct bench_scene *scene);
void bench_destroy_scene(struct vkh_context *ctx, struct bench_scene *scene);

void bench_create_pipelines(struct vkh_context *ctx, const struct bench_scene *scene,
                            struct bench_pipelines *pipelines);
void bench_destroy_pipelines(struct vkh_context *ctx, struct bench_pipelines *pipelines);

/* The scene's command buffer, to be submitted any number of times: so many dispatches
 * of each pipeline, with a barrier behind each of them or not. */
void bench_record(const struct bench_scene *scene, const struct bench_pipelines *pipelines,
                  uint32_t dispatches, bool barriers);

#endif

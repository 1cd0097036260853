/* SPDX-License-Identifier: MIT */

/*
 * State of a scenario's program while its [run] statements are executed one
 * after the other; private to scenario_run*.c.
 */

#ifndef SCENARIO_RUN_H
#define SCENARIO_RUN_H

#include <stdio.h>

#include "scenario.h"
#include "vk_headless.h"

#define MAX_SETS     8
#define MAX_BINDINGS 32
#define MAX_PUSH     128

struct run_buffer {
   const char *name;
   struct vkh_buffer vk;
};

/* How descriptors get into a set. */
enum run_update {
   UPDATE_WRITE,
   UPDATE_COPY,     /* written to another set, then copied */
   UPDATE_TEMPLATE, /* vkUpdateDescriptorSetWithTemplate */
   UPDATE_PUSH,     /* vkCmdPushDescriptorSetKHR */
   UPDATE_BUFFER,   /* VK_EXT_descriptor_buffer */
};

struct run_item {
   bool written;
   VkDescriptorType type; /* of the binding, but for mutable ones */
   VkDescriptorBufferInfo buffer;
   VkDeviceAddress address; /* of `buffer`; 0: a null descriptor */
   VkBufferView view;       /* of texel buffers */
   VkAccelerationStructureKHR structure;
   VkDescriptorImageInfo image;
};

struct run_binding {
   unsigned binding;
   VkDescriptorType type;
   unsigned count; /* bytes for an inline uniform block */
   VkDescriptorBindingFlags flags;
   unsigned variable;      /* elements that sets have of them; 0: all */
   bool immutable;         /* samplers of the layout */
   struct run_item *items; /* count */
   uint8_t *inline_data;   /* count bytes */
};

struct run_set {
   bool used;
   bool is_null; /* pipeline layouts have VK_NULL_HANDLE for its layout */
   enum run_update update;
   struct run_binding bindings[MAX_BINDINGS];
   unsigned binding_count;
   VkDescriptorSetLayout layout;
   VkDescriptorSet set;
   bool dirty; /* `set` does not have all bindings yet */
   uint32_t offsets[MAX_BINDINGS];
   unsigned offset_count;
   struct vkh_buffer descriptor_buffer;
};

#define MAX_VERTEX_BINDINGS   8
#define MAX_VERTEX_ATTRIBUTES 8

struct run_vertex_input {
   VkVertexInputBindingDescription2EXT bindings[MAX_VERTEX_BINDINGS];
   unsigned binding_count;
   VkVertexInputAttributeDescription2EXT attributes[MAX_VERTEX_ATTRIBUTES];
   unsigned attribute_count;
};

struct run_pipeline {
   const char *name;
   VkPipelineBindPoint bind_point;
   VkPipeline pipeline;
   struct vkh_library_pipeline library; /* when made of libraries */
   VkPipeline ray_library;
   VkShaderEXT shaders[VKH_MAX_STAGES];
   VkShaderStageFlagBits shader_stages[VKH_MAX_STAGES];
   unsigned shader_count;
   struct vkh_graphics_desc desc;              /* state that shader objects set dynamically */
   struct run_vertex_input vertex_input;       /* the same */
   VkStridedDeviceAddressRegionKHR regions[4]; /* raygen, miss, hit, callable */
   struct vkh_buffer shader_table;
};

struct run_secondary {
   const char *name;
   VkCommandBuffer cmd;
};

struct run_image {
   const char *name;
   VkImage image;
   VkDeviceMemory memory;
   bool shares_memory; /* with an image before it */
   VkFormat format;
};

/* A view or sampler */
struct run_view {
   const char *name;
   VkObjectType type;
   uint64_t handle;
};

struct run_submits; /* scenario_run_submits.c */
struct run_passes;  /* scenario_run_passes.c */
struct run_window;  /* scenario_run_present.c */

struct run {
   const struct scenario *scenario;
   const struct scenario_statement *statement; /* the one being executed */
   const char *folder;
   FILE *messages;
   enum scenario_kind kind;
   bool checks_on;
   bool compile_only; /* pipelines are made, and that is all */
   bool no_results;   /* what is in memory does not matter */
   bool names;

   struct vkh_context *ctx;

   struct run_buffer *buffers;
   unsigned buffer_count;

   struct run_image *images;
   unsigned image_count;
   struct run_view *objects;
   unsigned object_count;
   VkSampler immutable_sampler;

   struct run_set sets[MAX_SETS];
   unsigned set_count;
   VkBufferView *views;
   unsigned view_count;
   VkPipelineLayout layout;
   uint8_t push[MAX_PUSH];
   unsigned push_first; /* byte that the range of push constants begins with */
   unsigned push_size;  /* bytes of the range */

   VkShaderModule *modules; /* by section, created when first used */
   void **codes;
   size_t *code_sizes;
   struct run_pipeline *pipelines;
   unsigned pipeline_count;
   int current_pipeline; /* index, or -1 */

   VkFormat color_format;
   unsigned width, height;
   bool has_depth;
   float clear_depth;
   struct vkh_image color, depth;
   bool cleared;

   VkCommandBuffer cmd;     /* the one that is recorded into, or none */
   VkCommandBuffer primary; /* while `cmd` is a secondary one */
   const char *cmd_name;
   bool rendering;
   bool in_secondary, secondary_renders;
   bool in_pass;   /* a VkRenderPass */
   bool resubmits; /* command buffers are submitted more than once */
   bool copies_on_host;
   struct run_submits *submits;
   struct run_passes *passes;
   struct run_window *window;
   struct run_secondary *secondaries;
   unsigned secondary_count;

   struct vkh_buffer scene_buffers[8];
   VkAccelerationStructureKHR blas, tlas;
   struct run_structure *structures; /* scenario_run_structures.c */
   unsigned structure_count;
};

/* Stops with the place of the statement that is executed. */
#define RUN_ERROR(run, ...)                                                                        \
   scenario_error((run)->scenario, (run)->statement ? (run)->statement->line : 0, __VA_ARGS__)

/* Word `i` of the statement; an error when it is not there. */
const char *run_word(struct run *run, unsigned i);
bool run_has_word(const struct run *run, unsigned i);
/* A number; the fallback when the statement is shorter. */
uint64_t run_number(struct run *run, unsigned i);
uint64_t run_number_or(struct run *run, unsigned i, uint64_t fallback);

/* Writes the words from `first` on as numbers of type `type` (u8, u16, u32,
 * u64, i32, f32, f64) to `out`, at most `capacity` bytes; returns the bytes. */
size_t run_values(struct run *run, const char *type, unsigned first, void *out, size_t capacity);

struct run_buffer *run_find_buffer(struct run *run, const char *name);
/* NAME[+OFFSET][:RANGE] */
struct run_item run_parse_item(struct run *run, const char *word);
/* \n, \e, \s and \xff in names and labels */
const char *run_unescape(const char *word);
const char *run_debug_name(const struct run *run, const char *name);

/* scenario_run_device.c */
void run_create_device(struct run *run);
/* `name`.`ending` in the scenario's folder; `mode` as fopen() takes it */
FILE *run_open_result(const struct run *run, const char *name, const char *ending,
                      const char *mode);

/* scenario_run_commands.c */
/* The command buffer that is recorded into. */
VkCommandBuffer run_need_commands(struct run *run);
/* Binds all that the current pipeline needs, and starts or ends rendering. */
struct run_pipeline *run_prepare_command(struct run *run);
void run_end_rendering(struct run *run);
/* Submits what was recorded, with a barrier at its end, and waits. The last submit is
 * the place where `finish` may end the process. */
void run_submit_recorded(struct run *run, bool last);
void run_use(struct run *run);
void run_dispatch(struct run *run);
void run_dispatch_base(struct run *run);
void run_draw(struct run *run);
void run_draw_indexed(struct run *run);
void run_draw_mesh(struct run *run);
void run_trace(struct run *run);
void run_fill_buffer(struct run *run);
void run_update_buffer(struct run *run);
void run_copy_buffer(struct run *run);
void run_conditional(struct run *run);
void run_conditional_end(struct run *run);
void run_label(struct run *run);
void run_queue_label(struct run *run);
void run_queue_label_end(struct run *run);
void run_queue_label_insert(struct run *run);
void run_await(struct run *run);
void run_label_end(struct run *run);
void run_label_insert(struct run *run);
void run_command_buffer(struct run *run);
void run_submit_statement(struct run *run);
void run_secondary(struct run *run);
void run_secondary_end(struct run *run);
void run_execute(struct run *run);
void run_execute_rendering(struct run *run);

/* scenario_run_barriers.c */
struct run_scope {
   VkPipelineStageFlags2 stages;
   VkAccessFlags2 access;
};

/* STAGES[:ACCESSES] */
struct run_scope run_read_scope(struct run *run, const char *text);
void run_barrier(struct run *run);
void run_set_event(struct run *run);
void run_wait_event(struct run *run);
void run_poll_event(struct run *run);
void run_host_event(struct run *run);

/* scenario_run_submits.c */
enum run_object_type {
   RUN_OBJECT_EVENT,
   RUN_OBJECT_FENCE,
   RUN_OBJECT_BINARY, /* semaphores */
   RUN_OBJECT_TIMELINE,
   RUN_OBJECT_QUERY,
   RUN_OBJECT_SAMPLES,
};

struct run_object {
   const char *name;
   enum run_object_type type;
   union {
      VkEvent event;
      VkFence fence;
      VkSemaphore semaphore;
      VkQueryPool query;
   };
};

/* Exists from the first call with its name on. */
struct run_object *run_get_object(struct run *run, const char *name, enum run_object_type type);
/* A command buffer that can be submitted again. */
VkCommandBuffer run_begin_reusable(struct run *run);
/* The words of the statement say how. */
void run_submit(struct run *run, VkCommandBuffer cmd);
void run_resubmit(struct run *run);
void run_free_command_buffer(struct run *run, const char *name);
void run_select_queue(struct run *run);
void run_wait_fence(struct run *run);
void run_poll_fence(struct run *run);
void run_wait_semaphore(struct run *run);
void run_poll_semaphore(struct run *run);
void run_signal_semaphore(struct run *run);
void run_reset_event(struct run *run);
void run_reset_fence(struct run *run);
void run_query(struct run *run);
void run_samples(struct run *run);
void run_copy_query(struct run *run);
void run_wait_query(struct run *run);
void run_wait_idle(struct run *run);
void run_finish_submits(struct run *run);
void run_destroy_submits(struct run *run);

/* scenario_run_present.c */
void run_present(struct run *run);
void run_destroy_window(struct run *run);

/* scenario_run_passes.c */
void run_create_pass(struct run *run);
void run_create_input_pass(struct run *run);
void run_begin_pass(struct run *run);
void run_next_subpass(struct run *run);
void run_end_pass(struct run *run);
/* `NAME` or `NAME/SUBPASS` */
VkRenderPass run_find_pass(struct run *run, const char *name, uint32_t *subpass);
void run_destroy_passes(struct run *run);

/* scenario_run_indirect.c */
void run_dispatch_indirect(struct run *run);
/* Binds 32-bit indices; `bound`: what is bound stays. */
void run_bind_indices(struct run *run, const char *name);
void run_draw_indirect(struct run *run);
void run_draw_indexed_indirect(struct run *run);
void run_draw_indirect_count(struct run *run);
void run_draw_indexed_indirect_count(struct run *run);
void run_draw_mesh_indirect(struct run *run);
void run_draw_mesh_indirect_count(struct run *run);
void run_trace_indirect(struct run *run);
void run_trace_indirect2(struct run *run);

/* scenario_run_generated.c */
void run_generated(struct run *run);

/* scenario_run_structures.c */
/* By its name, or `null`; else that of the scene */
VkAccelerationStructureKHR run_find_structure(struct run *run, const char *name);
void run_structure(struct run *run);
void run_instance(struct run *run);
void run_build(struct run *run);
void run_copy_structure(struct run *run);
void run_serialize_structure(struct run *run);
void run_destroy_structure(struct run *run);
void run_destroy_structures(struct run *run);

/* scenario_run_vertex.c */
/* What a VkPipelineVertexInputStateCreateInfo points to */
struct run_static_vertex_input {
   VkVertexInputBindingDescription bindings[MAX_VERTEX_BINDINGS];
   VkVertexInputAttributeDescription attributes[MAX_VERTEX_ATTRIBUTES];
   VkVertexInputBindingDivisorDescriptionEXT divisors[MAX_VERTEX_BINDINGS];
   VkPipelineVertexInputDivisorStateCreateInfoEXT divisor;
   VkPipelineVertexInputStateCreateInfo info;
};

/* One option of a pipeline; false: it is another one, or wrong. */
bool run_read_vertex_input(struct run_vertex_input *input, const char *key, const char *value);
void run_fill_vertex_input(const struct run_vertex_input *input,
                           struct run_static_vertex_input *out);
void run_set_vertex_input(struct run *run, const struct run_vertex_input *input);
void run_vertex_buffer(struct run *run);
void run_index_buffer(struct run *run);
void run_vertex_input(struct run *run);
void run_primitive_restart(struct run *run);
void run_draw_multi(struct run *run);
void run_draw_multi_indexed(struct run *run);
void run_draw_byte_count(struct run *run);
void run_draw_captured(struct run *run);

/* scenario_run_images.c */
void run_create_image(struct run *run);
void run_create_view(struct run *run);
void run_create_buffer_view(struct run *run);
void run_create_sampler(struct run *run);
void run_destroy(struct run *run);
void run_destroy_images(struct run *run);
VkSampler run_make_sampler(struct run *run, bool linear, bool border, float max_lod);
struct run_image *run_find_image(struct run *run, const char *name);
VkImageAspectFlags run_image_aspects(const struct run_image *image);
/* From UNDEFINED to GENERAL, after and before everything */
void run_transition_image(VkCommandBuffer cmd, const struct run_image *image,
                          VkImageSubresourceRange range);
/* 0: there is none of that name. */
uint64_t run_find_view(struct run *run, VkObjectType type, const char *name);

/* scenario_run_transfers.c */
void run_begin_target(struct run *run);
void run_clear_attachment(struct run *run);
void run_blit_image(struct run *run);
void run_host_copy_from_image(struct run *run);
void run_host_copy_image(struct run *run);
void run_host_copy_to_image(struct run *run);
void run_host_discard_image(struct run *run);
void run_clear_image(struct run *run);
void run_copy_from_image(struct run *run);
void run_copy_image(struct run *run);
void run_copy_to_image(struct run *run);
void run_discard_image(struct run *run);
void run_end_target(struct run *run);
void run_resolve_image(struct run *run);

/* scenario_run_layouts.c */
void run_prepare_sets(struct run *run);
VkDescriptorType run_find_descriptor_type(struct run *run, const char *name);
struct run_set *run_statement_set(struct run *run);
struct run_binding *run_statement_binding(struct run *run, struct run_set *set);

/* scenario_run_descriptors.c */
void run_bind(struct run *run);
void run_write(struct run *run);
void run_offsets(struct run *run);
void run_bind_sets(struct run *run, const struct run_pipeline *pipeline);
void run_destroy_sets(struct run *run);

/* scenario_run_pipelines.c */
void run_create_pipeline(struct run *run);
void run_bind_pipeline(struct run *run, const struct run_pipeline *pipeline);
void run_destroy_pipeline(struct run *run, const char *name);
void run_destroy_pipelines(struct run *run);

/* scenario_run_rays.c */
void run_create_scene(struct run *run);
void run_create_ray_pipeline(struct run *run, struct run_pipeline *pipeline,
                             const VkPipelineShaderStageCreateInfo *stages, unsigned stage_count,
                             const void *next);
void run_destroy_scene(struct run *run);

#endif /* SCENARIO_RUN_H */

/* SPDX-License-Identifier: MIT */

/*
 * A small headless Vulkan 1.3 helper for tests, demos and benchmarks.
 *
 * It talks to the driver through the loader, as any program does, and uses
 * nothing of Mesa but its copy of the Vulkan headers (the system's may be too
 * old to name the extensions under test).
 *
 * Every call is checked: a Vulkan error prints file and line and exits with
 * VKH_EXIT_ERROR; a device that lacks what the caller requires exits with
 * VKH_EXIT_SKIP. So no function returns an error code. All structs are open
 * to the caller, who may use raw Vulkan beside these helpers. Nothing here is
 * thread-safe unless the caller locks; `struct vkh_context` owns the queues with
 * a command pool each, and one descriptor pool.
 */

#ifndef VK_HEADLESS_H
#define VK_HEADLESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <vulkan/vulkan.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What Meson takes for "skipped". */
#define VKH_EXIT_SKIP 77
/* A broken environment or program, not to be taken for a test's verdict. */
#define VKH_EXIT_ERROR 99

#define VKH_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Stops the program when `expr`, a VkResult, is an error. Positive results
 * (VK_INCOMPLETE, …) pass and are the value of the expression. */
#define VKH_CHECK(expr) vkh_check((expr), #expr, __FILE__, __LINE__)

/* A command the loader does not export: VKH_PROC(ctx, vkCmdTraceRaysKHR)(cmd, …).
 * Exits when the device does not have it. */
#define VKH_PROC(ctx, name) ((PFN_##name)vkh_proc((ctx), #name))

VkResult vkh_check(VkResult result, const char *what, const char *file, int line);

/* Prints `error: …` to stderr and exits with VKH_EXIT_ERROR. */
void vkh_die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* Prints `skip: …` to stdout and exits with VKH_EXIT_SKIP. */
void vkh_skip(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* calloc() that exits instead of failing; never NULL, also for 0 bytes. */
void *vkh_calloc(size_t count, size_t size);

/* --- Instance and device -------------------------------------------------- */

struct vkh_features {
   VkPhysicalDeviceFeatures2 core;
   VkPhysicalDeviceVulkan11Features v11;
   VkPhysicalDeviceVulkan12Features v12;
   VkPhysicalDeviceVulkan13Features v13;
};

struct vkh_options {
   const char *application; /* VkApplicationInfo::pApplicationName, or NULL */

   /* Device extensions the program cannot do without. */
   const char *const *extensions;
   uint32_t extension_count;

   /* Feature structs of extensions, chained by the caller; not those of
    * Vulkan 1.0 to 1.3, which are in struct vkh_features. */
   const void *features_next;

   /* All features of Vulkan 1.0 to 1.3 that the device supports are enabled,
    * but robustBufferAccess and robustImageAccess, which change what is an
    * error. This function may switch features on and off. */
   void (*tune_features)(struct vkh_features *features, void *data);
   void *tune_data;

   /* Extensions of the instance for headless surfaces. */
   bool presents;

   /* A queue that does not draw, if there is one. */
   bool compute_queue;

   /* One queue more, see vkh_select_queue(): of a family that does not draw if there
    * is one. A device that has no two queues is skipped. */
   bool second_queue;

   /* Beside it one more of its family, or the device is skipped. */
   bool third_queue;

   /* With two queues, buffers that belong to one family at a time; else both may use
    * them as they like. */
   bool exclusive_buffers;

   /* Buffers in memory of the device, which the host can map all the same. */
   bool device_memory;

   /* Of all buffers, besides what core Vulkan has */
   VkBufferUsageFlags buffer_usage;

   /* Robust buffer access, off by default as in most released programs. */
   bool robust_buffer_access;

   /* The program's own messenger, all severities, types general and
    * validation; needs VK_EXT_debug_utils. */
   PFN_vkDebugUtilsMessengerCallbackEXT messenger;
   void *messenger_data;
};

struct vkh_queue {
   uint32_t family;
   VkQueue queue;
   VkCommandPool command_pool;
};

struct vkh_context {
   VkInstance instance;
   VkPhysicalDevice physical_device;
   VkDevice device;
   uint32_t queue_family; /* graphics, compute and transfer, but see compute_queue */
   VkQueue queue;
   VkCommandPool command_pool;
   struct vkh_queue queues[3]; /* the three above are of one of these */
   uint32_t queue_count;
   bool exclusive_buffers;
   VkBufferUsageFlags buffer_usage;
   VkDescriptorPool descriptor_pool;
   VkDescriptorPool dynamic_pool; /* for sets with dynamic buffers only */

   VkPhysicalDeviceProperties properties;
   VkPhysicalDeviceMemoryProperties memory;
   VkMemoryPropertyFlags buffer_memory; /* what that of buffers has to be */
   struct vkh_features features;        /* as enabled */

   bool has_debug_utils;
   VkDebugUtilsMessengerEXT messenger;
   PFN_vkSetDebugUtilsObjectNameEXT set_object_name;
   PFN_vkCmdBeginDebugUtilsLabelEXT begin_label;
   PFN_vkCmdEndDebugUtilsLabelEXT end_label;
   PFN_vkCmdInsertDebugUtilsLabelEXT insert_label;

   /* Names of all device extensions, for vkh_has_extension(). */
   VkExtensionProperties *extensions;
   uint32_t extension_count;
};

/* Creates instance and device on the first physical device. `options` may be
 * NULL. */
struct vkh_context *vkh_context_create(const struct vkh_options *options);

/* In two steps, for a program that must know the device before it can say what
 * it wants: vkh_instance_create() fills in all up to `physical_device`,
 * `properties`, `memory` and `extensions`. */
struct vkh_context *vkh_instance_create(const struct vkh_options *options);
void vkh_device_create(struct vkh_context *ctx, const struct vkh_options *options);

/* Waits for the device and destroys all that the context owns. What the caller
 * made with the helpers below is the caller's to destroy. */
void vkh_context_destroy(struct vkh_context *ctx);

/* Which queue the context's `queue`, `queue_family` and `command_pool` are of from here
 * on, from 0. */
void vkh_select_queue(struct vkh_context *ctx, uint32_t queue);

bool vkh_has_extension(const struct vkh_context *ctx, const char *name);

PFN_vkVoidFunction vkh_proc(const struct vkh_context *ctx, const char *name);

/* --- Buffers -------------------------------------------------------------- */

/* Host-visible, coherent, mapped, with every usage a test may want (those of
 * extensions only where the extension's feature is enabled: pass
 * `extra_usage`). `size` is exact; the memory behind it may be larger. */
struct vkh_buffer {
   VkBuffer buffer;
   VkDeviceMemory memory;
   VkDeviceSize size;
   VkDeviceAddress address; /* 0 without bufferDeviceAddress */
   void *map;
   void *host; /* with VKH_HOST_POINTER: its pages */
   size_t host_size;
};

/* The contents are zero. `name` (debug_utils) may be NULL. */
struct vkh_buffer vkh_buffer_create(struct vkh_context *ctx, VkDeviceSize size, const char *name);
/** In the memory of another one, which is to be destroyed later. */
struct vkh_buffer vkh_buffer_create_at(struct vkh_context *ctx, VkDeviceSize size,
                                       const struct vkh_buffer *other, VkDeviceSize offset,
                                       const char *name);
/** In the pages of the program that @other, which is to be destroyed later, has, imported once
 * more. */
struct vkh_buffer vkh_buffer_create_twice(struct vkh_context *ctx, const struct vkh_buffer *other,
                                          const char *name);
/** A buffer without memory, until vkh_buffer_bind(). */
struct vkh_buffer vkh_buffer_create_unbound(struct vkh_context *ctx, VkDeviceSize size,
                                            VkBufferUsageFlags extra_usage, const char *name);
void vkh_buffer_bind(struct vkh_context *ctx, struct vkh_buffer *buffer);
/** One that nobody has written, and the host has not mapped. */
struct vkh_buffer vkh_buffer_create_unwritten(struct vkh_context *ctx, VkDeviceSize size,
                                              const char *name);
/** The same in memory that Vulkan clears (VK_EXT_zero_initialize_device_memory). */
struct vkh_buffer vkh_buffer_create_cleared(struct vkh_context *ctx, VkDeviceSize size,
                                            const char *name);
/** One with VK_BUFFER_CREATE_SPARSE_BINDING_BIT, all of it bound. */
struct vkh_buffer vkh_buffer_create_sparse(struct vkh_context *ctx, VkDeviceSize size,
                                           const char *name);
/** In memory that is shared with others: pages of this process
 * (VK_EXT_external_memory_host), memory that may be exported, or that has been imported
 * (VK_KHR_external_memory_fd). */
enum vkh_external {
   VKH_HOST_POINTER,
   VKH_EXPORTED,
   VKH_IMPORTED,
};
struct vkh_buffer vkh_buffer_create_external(struct vkh_context *ctx, VkDeviceSize size,
                                             enum vkh_external external, const char *name);
/** The same, once it is needed: sets buffer->map. */
void vkh_buffer_map(struct vkh_context *ctx, struct vkh_buffer *buffer);
struct vkh_buffer vkh_buffer_create_usage(struct vkh_context *ctx, VkDeviceSize size,
                                          VkBufferUsageFlags extra_usage, const char *name);
void vkh_buffer_destroy(struct vkh_context *ctx, struct vkh_buffer *buffer);

/* Index of a memory type allowed by `type_bits` that has all `flags`. */
uint32_t vkh_memory_type(const struct vkh_context *ctx, uint32_t type_bits,
                         VkMemoryPropertyFlags flags);

/* --- Images and rendering ------------------------------------------------- */

struct vkh_image {
   VkImage image;
   VkDeviceMemory memory;
   VkImageView view;
   VkFormat format;
   VkImageAspectFlags aspect;
   uint32_t width, height;
};

/* One level, one layer, one sample, optimal tiling; moved to layout GENERAL,
 * in which the helpers keep it. Attachment, sampled, transfer and, for color,
 * storage usage as far as the format has them. */
struct vkh_image vkh_image_create(struct vkh_context *ctx, VkFormat format, uint32_t width,
                                  uint32_t height, const char *name);
void vkh_image_destroy(struct vkh_context *ctx, struct vkh_image *image);

/* Bytes of the whole image, tightly packed (RGBA8, R32, D32: 4 a pixel). */
size_t vkh_image_bytes(const struct vkh_image *image);

/* Copies the image out, tightly packed; submits and waits. */
void vkh_image_read(struct vkh_context *ctx, const struct vkh_image *image, void *pixels);

struct vkh_target {
   const struct vkh_image *color; /* or NULL */
   const struct vkh_image *depth; /* or NULL */
   uint32_t width, height;        /* 0: those of the image */
   bool load;                     /* keep the contents instead of clearing */
   VkClearColorValue clear_color;
   float clear_depth;
   VkRenderingFlags flags;
};

/* Begins dynamic rendering and sets viewport and scissor to the target. */
void vkh_begin_rendering(VkCommandBuffer cmd, const struct vkh_target *target);
void vkh_set_viewport(VkCommandBuffer cmd, uint32_t width, uint32_t height);

/* --- Shaders and pipelines ------------------------------------------------ */

/* A whole file, to be freed by the caller; exits when it cannot be read. A 0
 * byte follows that `size` does not count. */
void *vkh_read_file(const char *path, size_t *size);

/* `size` in bytes. */
VkShaderModule vkh_shader_module(struct vkh_context *ctx, const void *code, size_t size,
                                 const char *name);
VkShaderModule vkh_shader_module_file(struct vkh_context *ctx, const char *path, const char *name);

struct vkh_compute_desc {
   VkShaderModule module;
   const char *entry; /* NULL: "main" */
   VkPipelineLayout layout;
   const VkSpecializationInfo *specialization;
   VkPipelineCache cache;
   VkPipelineCreateFlags flags;
   const void *next;       /* VkComputePipelineCreateInfo::pNext */
   const void *stage_next; /* VkPipelineShaderStageCreateInfo::pNext */
   const char *name;
};

VkPipeline vkh_compute_pipeline(struct vkh_context *ctx, const struct vkh_compute_desc *desc);

#define VKH_MAX_STAGES 8

struct vkh_stage {
   VkShaderStageFlagBits stage;
   VkShaderModule module;
   const char *entry; /* NULL: "main" */
   const VkSpecializationInfo *specialization;
   const void *next;
};

/* Zero means: no vertex input, triangle list, no culling, no depth test, one
 * sample, no blending, viewport and scissor dynamic. */
struct vkh_graphics_desc {
   struct vkh_stage stages[VKH_MAX_STAGES];
   uint32_t stage_count;
   VkPipelineLayout layout;
   VkFormat color_format;    /* VK_FORMAT_UNDEFINED: no color attachment */
   VkFormat depth_format;    /* VK_FORMAT_UNDEFINED: no depth attachment */
   VkRenderPass render_pass; /* VK_NULL_HANDLE: dynamic rendering */
   uint32_t subpass;
   bool depth_test;
   bool depth_write;
   VkCompareOp depth_compare;
   VkPrimitiveTopology topology; /* 0 is the point list: set `topology_set` */
   bool topology_set;
   uint32_t patch_control_points;
   bool rasterizer_discard;
   const VkPipelineVertexInputStateCreateInfo *vertex_input;
   bool primitive_restart;
   bool dynamic_vertex_input;
   bool dynamic_strides;
   bool dynamic_restart;
   const VkPipelineColorBlendAttachmentState *blend;
   VkPipelineCache cache;
   VkPipelineCreateFlags flags;
   const void *next;        /* chained to VkGraphicsPipelineCreateInfo */
   const void *inputs_next; /* in its place in a library of vertex inputs */
   const char *name;
};

VkPipeline vkh_graphics_pipeline(struct vkh_context *ctx, const struct vkh_graphics_desc *desc);

/* The same pipeline made of VK_EXT_graphics_pipeline_library parts (vertex
 * input, pre-rasterization, fragment shader, fragment output), linked with
 * `link_flags` (0, or link-time optimization). The parts are destroyed by
 * vkh_library_destroy() after use. */
struct vkh_library_pipeline {
   VkPipeline parts[4];
   VkPipeline pipeline;
};

struct vkh_library_pipeline vkh_graphics_library(struct vkh_context *ctx,
                                                 const struct vkh_graphics_desc *desc,
                                                 VkPipelineCreateFlags link_flags);
void vkh_library_destroy(struct vkh_context *ctx, struct vkh_library_pipeline *library);

/* --- Descriptors ---------------------------------------------------------- */

VkDescriptorSetLayout vkh_set_layout(struct vkh_context *ctx,
                                     const VkDescriptorSetLayoutBinding *bindings, uint32_t count);

/* `count` bindings of one type, numbered from 0, for all stages. */
VkDescriptorSetLayout vkh_set_layout_simple(struct vkh_context *ctx, VkDescriptorType type,
                                            uint32_t count);

/* `push_size` bytes of push constants for all stages; 0 for none. */
VkPipelineLayout vkh_pipeline_layout(struct vkh_context *ctx, const VkDescriptorSetLayout *layouts,
                                     uint32_t count, uint32_t push_size);

/* From the context's pool, which frees it. */
VkDescriptorSet vkh_set_allocate(struct vkh_context *ctx, VkDescriptorSetLayout layout);

/* `range` may be VK_WHOLE_SIZE. */
void vkh_set_write_buffer(struct vkh_context *ctx, VkDescriptorSet set, uint32_t binding,
                          uint32_t element, VkDescriptorType type, VkBuffer buffer,
                          VkDeviceSize offset, VkDeviceSize range);
void vkh_set_write_image(struct vkh_context *ctx, VkDescriptorSet set, uint32_t binding,
                         uint32_t element, VkDescriptorType type, VkImageView view,
                         VkSampler sampler);

/* --- Command buffers ------------------------------------------------------ */

/* A primary command buffer, begun for one submit. */
VkCommandBuffer vkh_begin(struct vkh_context *ctx);
/* Ends, submits, waits for the queue, frees. */
void vkh_submit_wait(struct vkh_context *ctx, VkCommandBuffer cmd);
/* Ends and submits; neither waits nor frees. */
void vkh_submit(struct vkh_context *ctx, VkCommandBuffer cmd, VkFence fence);

/* A full memory barrier between all commands. */
void vkh_barrier(VkCommandBuffer cmd);

/* --- Debug names and labels; do nothing without VK_EXT_debug_utils -------- */

void vkh_name(struct vkh_context *ctx, VkObjectType type, uint64_t handle, const char *name);
void vkh_label_begin(struct vkh_context *ctx, VkCommandBuffer cmd, const char *name);
void vkh_label_end(struct vkh_context *ctx, VkCommandBuffer cmd);
void vkh_label_insert(struct vkh_context *ctx, VkCommandBuffer cmd, const char *name);

#ifdef __cplusplus
}
#endif

#endif /* VK_HEADLESS_H */

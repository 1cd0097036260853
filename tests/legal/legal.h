/* SPDX-License-Identifier: MIT */

/*
 * Random programs that are legal: a pipeline layout, pipelines or shader objects of any
 * kind, and shaders that access what the layout has. A program computes a result from
 * what its shaders read, so that a check which disturbs anything changes the result.
 *
 *    legal.c           runs programs in processes, with each set of checks, and compares
 *    legal_generate.c  what a seed stands for: layout, stages, creation, commands
 *    legal_print.c     programs in words
 *    legal_stage.c     the SPIR-V of a stage: interfaces, results; modules
 *    legal_shader.c    control flow, functions, values
 *    legal_declare.c   variables of resources
 *    legal_access.c    the SPIR-V that accesses one resource
 *    legal_texels.c    images among them
 *    legal_ray_shader.c  queries, and stages of ray tracing
 *    legal_device.c    in the process: the device, and what programs read
 *    legal_layouts.c   descriptor set layouts, pipeline layouts
 *    legal_sets.c      descriptors
 *    legal_pipeline.c  pipelines and shader objects
 *    legal_pass.c      render passes and dynamic rendering
 *    legal_rays.c      what rays meet, ray tracing pipelines, shader tables
 *    legal_run.c       runs a program, and returns a hash of its results
 *    spirv_writer.c    writes SPIR-V modules
 *
 * Legal means: by the Vulkan specification and by spirv-val. No access leaves what it may
 * touch, all that is read has been written, floating-point values are never computed with
 * but where the result is exact, and no two invocations touch the same bytes but with
 * atomics or between barriers. So a report about such a program is false.
 */

#ifndef LEGAL_H
#define LEGAL_H

#include <stdbool.h>
#include <stdint.h>

#include "spirv_writer.h"
#include "vk_headless.h"

/* Each invocation has a number below this, its slot, which no other one of the same stage
 * has, and an element of its own in whatever it writes to. */
#define LEGAL_SLOTS 64

/* Bytes of what a descriptor shows of a writable buffer: a uvec4 for each slot, and one
 * whose words all invocations may add to. */
#define LEGAL_REGION        ((LEGAL_SLOTS + 1) * 16)
#define LEGAL_REGION_STRIDE 1280

#define LEGAL_SOURCE_SIZE 16384  /* bytes of the buffer that programs read */
#define LEGAL_OUTPUT_SIZE 262144 /* bytes of the buffer that programs write */
#define LEGAL_TARGET_SIZE 8      /* pixels, width and height */

#define LEGAL_MAX_SETS     5
#define LEGAL_MAX_BINDINGS 6
#define LEGAL_MAX_STAGES   6
#define LEGAL_MAX_PUSH     128
#define LEGAL_MAX_INPUTS   4 /* input attachments, of which Vulkan guarantees that many */

/* --- Random numbers ------------------------------------------------------- */

struct legal_random {
   uint64_t state;
};

struct legal_random legal_random(uint64_t seed, uint64_t stream);
uint32_t legal_next(struct legal_random *random);
/* A number below @count */
uint32_t legal_below(struct legal_random *random, uint32_t count);
/* True in @percent of all cases */
bool legal_chance(struct legal_random *random, unsigned percent);

/* --- Programs ------------------------------------------------------------- */

/* What of Vulkan programs may use: what the device has of it */
enum legal_feature {
   LEGAL_LIBRARIES = 1 << 0,
   LEGAL_SHADER_OBJECTS = 1 << 1,
   LEGAL_PIPELINE_BINARIES = 1 << 2,
   LEGAL_DESCRIPTOR_BUFFERS = 1 << 3,
   LEGAL_PUSH_DESCRIPTORS = 1 << 4,
   LEGAL_MESH_SHADERS = 1 << 5,
   LEGAL_RAY_PIPELINES = 1 << 6,
   LEGAL_RAY_QUERIES = 1 << 7,
   LEGAL_MUTABLE = 1 << 8,
   LEGAL_GRAPHICS = 1 << 9,
   LEGAL_TESSELLATION = 1 << 10, /* and geometry shaders */
   LEGAL_INPUT_ATTACHMENTS = 1 << 11,
   LEGAL_UNWRITTEN = 1 << 12,         /* code that is not executed may use any descriptor */
   LEGAL_DIFFERING_ATOMICS = 1 << 13, /* atomics behind NonUniform indices */
   LEGAL_DYNAMIC_OBJECTS = 1 << 14,   /* dynamic buffers in shader objects that draw */
   LEGAL_INTERLOCK = 1 << 15,         /* of fragment shaders */
   LEGAL_LINKED_RAYS_PUSH = 1 << 16,  /* push constants in ray tracing pipelines of libraries */
   LEGAL_ALL = 0xffffffff,
};

enum legal_creation {
   LEGAL_MONOLITHIC,
   LEGAL_CACHE, /* made a second time, from the data of the first one's cache */
   LEGAL_LIBRARY,
   LEGAL_LIBRARY_OPTIMIZED,
   LEGAL_OBJECTS,
   LEGAL_OBJECTS_LINKED,
   LEGAL_OBJECT_BINARIES,
   LEGAL_PIPELINE_BINARY,
   LEGAL_CREATIONS,
};

/* How descriptors of a set get there */
enum legal_update {
   LEGAL_WRITE,
   LEGAL_TEMPLATE,
   LEGAL_COPY, /* from another set */
   LEGAL_PUSH,
   LEGAL_BUFFER,
};

/* Views of images, and what the shader has to say about them */
enum legal_dim {
   LEGAL_1D,
   LEGAL_2D,
   LEGAL_3D,
   LEGAL_CUBE,
   LEGAL_1D_ARRAY,
   LEGAL_2D_ARRAY,
   LEGAL_2D_MS,
   LEGAL_DIMS,
};

enum legal_number {
   LEGAL_UINT,
   LEGAL_FLOAT,
   LEGAL_INT,
   LEGAL_NUMBERS,
};

/* Elements of one type. Mutable descriptors of two types are two of these with one number. */
struct legal_binding {
   uint32_t number;
   VkDescriptorType type;
   bool is_mutable;
   bool is_shared;     /* the one before has the same number */
   uint32_t count;     /* elements in the layout; bytes of an inline uniform block */
   uint32_t allocated; /* elements in the set: less with a variable count */
   uint32_t first;     /* the first of the elements that are written before they can be used */
   uint32_t valid;     /* how many these are */
   VkDescriptorBindingFlags flags;
   VkShaderStageFlags stages;
   VkShaderStageFlags users; /* stages whose shaders have variables of it */
   bool writable;            /* by the one stage of `users` */
   bool immutable_samplers;
   enum legal_dim dim;        /* of images */
   enum legal_number numbers; /* of images and texel buffers */
   uint32_t source;           /* buffers that are read: offset in the source, 16 bytes aligned */
   uint32_t size;             /* bytes of what each element shows */
   uint32_t region;           /* writable buffers: number of the first element's region */
   uint32_t input;            /* input attachments: index of the first element's */
};

struct legal_set {
   bool null; /* VK_NULL_HANDLE instead of a layout */
   enum legal_update update;
   uint32_t planned; /* bindings that it has at least, once it is chosen */
   uint32_t binding_count;
   struct legal_binding bindings[LEGAL_MAX_BINDINGS]; /* by ascending number */
};

/* Push constants: an address or two, and words below 1000 */
struct legal_push {
   uint32_t offset, size;         /* of the range */
   VkShaderStageFlags stages;     /* 0: there is none */
   bool has_source, has_output;   /* addresses, in this order, each 8 bytes */
   uint32_t source_at, output_at; /* their offsets in push constants */
   bool has_scene;                /* a third one, of what rays meet */
   uint32_t scene_at;
   uint32_t words_at, word_count; /* what follows */
   VkShaderStageFlagBits writer;  /* the stage that may write through the second one */
   uint32_t region;
};

struct legal_program {
   uint64_t seed;
   VkPipelineBindPoint bind_point;
   enum legal_creation creation;
   uint32_t stage_count;
   VkShaderStageFlagBits stages[LEGAL_MAX_STAGES];
   bool one_module; /* all stages are entry points of one module */
   bool independent_sets;
   bool descriptor_buffers;
   uint32_t set_count;
   struct legal_set sets[LEGAL_MAX_SETS];
   struct legal_push push;
   uint32_t region_count;

   /* Commands */
   uint32_t local_size[3], groups[3]; /* compute, task, mesh; groups: also of rays */
   bool indirect, indexed, secondary;
   uint32_t repeats; /* of the dispatch, with a barrier between two */
   uint32_t attribute_count;
   uint32_t first_vertex;
   bool has_color; /* the fragment shader writes to an attachment */
   bool render_pass;
   uint32_t input_count; /* of its attachments */
   enum legal_number inputs[LEGAL_MAX_INPUTS];
   uint32_t tessellation_level;

   /* SPIR-V */
   uint32_t version;
   bool old_style; /* as before 1.3: BufferBlock, and few capabilities */
   bool names;     /* OpName for what has a name in source */
   bool lines;     /* OpSource, OpString and OpLine */
   bool physical;  /* memory model PhysicalStorageBuffer64 */
   bool vulkan_memory_model;
   bool ray_queries;
   bool unwritten; /* code that is not executed uses descriptors that are not there */
   bool differing_atomics;
   bool interlock;      /* the fragment shader writes in order */
   bool specialization; /* array lengths, branches and indices are specialization constants */
};

/* --- legal_generate.c, legal_print.c -------------------------------------- */

void legal_generate(uint64_t seed, uint32_t features, struct legal_program *program);
/* Prints in words what the program is. */
void legal_print(const struct legal_program *program);
bool legal_has_stage(const struct legal_program *program, VkShaderStageFlagBits stage);
const char *legal_stage_name(VkShaderStageFlagBits stage);

/* --- legal_stage.c -------------------------------------------------------- */

struct legal_module {
   uint32_t *code; /* to be freed by the caller */
   uint32_t word_count;
};

/* The name of the entry point of a stage */
const char *legal_entry(const struct legal_program *program, VkShaderStageFlagBits stage);
/* The module of a stage; that of all if program->one_module. */
struct legal_module legal_module_create(const struct legal_program *program, unsigned stage);

#define LEGAL_SPEC_COUNT 4
/* Values of the specialization constants 0, 1, … of a program */
void legal_spec_values(const struct legal_program *program, uint32_t values[LEGAL_SPEC_COUNT]);

/* --- legal_device.c ------------------------------------------------------- */

/* What rays meet: one instance of one thing */
enum legal_scene {
   LEGAL_SCENE_TRIANGLE,
   LEGAL_SCENE_BOX,
   LEGAL_SCENES,
};

struct legal_structures {
   VkAccelerationStructureKHR bottom, top;
   VkDeviceAddress address; /* of the latter */
   struct vkh_buffer buffers[2];
};

struct legal_device {
   struct vkh_context *ctx;
   uint32_t features; /* enum legal_feature */
   struct vkh_buffer source, output, vertices, staging;
   struct vkh_image target;
   VkSampler sampler;
   struct legal_image {
      VkImage image;
      VkDeviceMemory memory;
      VkImageView view;
   } images[LEGAL_DIMS][LEGAL_NUMBERS]; /* that are read */
   VkBufferView source_views[LEGAL_NUMBERS];
   struct legal_structures scenes[LEGAL_SCENES]; /* with rays */
   VkPhysicalDeviceDescriptorBufferPropertiesEXT descriptor_buffer;
};

struct legal_device *legal_device_create(uint32_t features);
void legal_device_destroy(struct legal_device *device);
VkFormat legal_format(enum legal_number numbers);
void legal_image_extent(enum legal_dim dim, VkExtent3D *extent, uint32_t *layers);
/* An image of `dim` with one level, 64 texels at least, in layout GENERAL, all 0 */
struct legal_image legal_image_create(struct legal_device *device, enum legal_dim dim,
                                      enum legal_number numbers, bool writable);
void legal_image_destroy(struct legal_device *device, struct legal_image *image);

/* --- legal_rays.c --------------------------------------------------------- */

/* Where the shaders of a pipeline are found: the regions of vkCmdTraceRaysKHR(), in its order */
struct legal_ray_table {
   struct vkh_buffer buffer;
   VkStridedDeviceAddressRegionKHR regions[4];
};

void legal_scenes_create(struct legal_device *device);
void legal_scenes_destroy(struct legal_device *device);
/* The one that the program's rays meet */
enum legal_scene legal_scene_of(const struct legal_program *program);
VkPipeline legal_rays_create_pipeline(struct legal_device *device,
                                      const struct legal_program *program,
                                      const VkPipelineShaderStageCreateInfo *stages,
                                      VkPipelineLayout layout, VkPipelineCreateFlags flags,
                                      const void *next, VkPipelineCache cache);
/* A pipeline of a library of all stages */
VkPipeline legal_rays_link(struct legal_device *device, VkPipeline library, VkPipelineLayout layout,
                           VkPipelineCreateFlags flags);
void legal_ray_table_create(struct legal_device *device, const struct legal_program *program,
                            VkPipeline pipeline, struct legal_ray_table *table);
void legal_rays_trace(struct legal_device *device, const struct legal_program *program,
                      const struct legal_ray_table *table, VkCommandBuffer cmd);

/* --- legal_sets.c --------------------------------------------------------- */

struct legal_sets {
   VkDescriptorSetLayout layouts[LEGAL_MAX_SETS];
   VkPipelineLayout layout;
   VkDescriptorSet sets[LEGAL_MAX_SETS];
   VkDescriptorPool pool;
   struct vkh_buffer buffer; /* descriptor buffers */
   VkDeviceSize offsets[LEGAL_MAX_SETS];
   /* What the program writes to, by binding and element */
   struct legal_image *images;
   uint32_t image_count;
   VkBufferView *views;
   uint32_t view_count;
};

void legal_sets_create(struct legal_device *device, const struct legal_program *program,
                       struct legal_sets *sets);
void legal_sets_bind(struct legal_device *device, const struct legal_program *program,
                     struct legal_sets *sets, VkCommandBuffer cmd);
void legal_sets_destroy(struct legal_device *device, struct legal_sets *sets);

/* --- legal_layouts.c ------------------------------------------------------ */

/* The type that the layout has: that of the binding, or mutable */
VkDescriptorType legal_type_in_layout(const struct legal_binding *binding);
VkDescriptorSetLayout legal_set_layout_create(struct legal_device *device,
                                              const struct legal_set *set);
/* A pipeline layout with the sets that @stages use; with VK_SHADER_STAGE_ALL, with all */
VkPipelineLayout legal_layout_create(struct legal_device *device,
                                     const struct legal_program *program,
                                     const struct legal_sets *sets, VkShaderStageFlags stages);

/* --- legal_pass.c --------------------------------------------------------- */

struct legal_pass {
   VkRenderPass pass; /* VK_NULL_HANDLE: dynamic rendering */
   VkFramebuffer framebuffer;
};

void legal_pass_create(struct legal_device *device, const struct legal_program *program,
                       struct legal_pass *pass);
void legal_pass_destroy(struct legal_device *device, struct legal_pass *pass);
void legal_pass_begin(struct legal_device *device, const struct legal_program *program,
                      const struct legal_pass *pass, VkCommandBuffer cmd);
void legal_pass_end(const struct legal_pass *pass, VkCommandBuffer cmd);

/* --- legal_pipeline.c ----------------------------------------------------- */

struct legal_pipeline {
   VkPipeline pipeline;
   VkPipeline parts[4];
   VkShaderEXT objects[LEGAL_MAX_STAGES];
   struct legal_ray_table ray_table;
   struct legal_pass pass;
};

void legal_pipeline_create(struct legal_device *device, const struct legal_program *program,
                           const struct legal_sets *sets, const struct legal_module *modules,
                           struct legal_pipeline *pipeline);
void legal_pipeline_bind(struct legal_device *device, const struct legal_program *program,
                         const struct legal_pipeline *pipeline, VkCommandBuffer cmd);
void legal_pipeline_destroy(struct legal_device *device, struct legal_pipeline *pipeline);

/* --- legal_run.c ---------------------------------------------------------- */

/* Returns a hash of all that the program has written. With @dump, the modules are written to
 * files there, SEED.STAGE.spv. Programs with a feature of @only_create are not executed. */
uint64_t legal_run(struct legal_device *device, const struct legal_program *program,
                   uint32_t only_create, const char *dump);

#endif /* LEGAL_H */

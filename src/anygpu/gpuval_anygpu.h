/* SPDX-License-Identifier: MIT */

/* anygpu: a driver of the passes for whatever Vulkan driver the loader finds.
 *
 * It takes a compute shader's SPIR-V through spirv_to_nir, the passes as they are, and Mesa's
 * nir_to_spirv, which zink has, and runs the result. So what checks cost, and whether their
 * protocols hold, can be seen on GPUs that no Mesa driver of ours knows.
 *
 * The SPIR-V that comes out uses no descriptors. A push constant is the address of the command's
 * block, struct gpuval_anygpu_command, where everything else is found: the root of gpuval, the
 * application's push constants, and what stands for its descriptors.
 */

#ifndef GPUVAL_ANYGPU_H
#define GPUVAL_ANYGPU_H

#include "base/gpuval_descriptor.h"
#include "gpuval.h"

#include "gpuval/src/compat/gpuval_nir_names.h"
#include "util/list.h"
#include "util/simple_mtx.h"
#include "vk_buffer.h"
#include "vk_dispatch_table.h"

#define GPUVAL_ANYGPU_OBJECT_BITS 10

/* Descriptors, one a slot. Behind the application's comes one of nothing, which stands in for
 * those that must not be accessed.
 */
#define GPUVAL_ANYGPU_MAX_SLOTS 64

/* Bytes of the application's push constants */
#define GPUVAL_ANYGPU_MAX_PUSH 240

/* Push constants of the SPIR-V that comes out: the address of the command's block, 8 bytes of
 * padding, and the application's.
 */
#define GPUVAL_ANYGPU_PUSH_OFFSET 16

struct gpuval_anygpu_descriptor {
   uint64_t address;
   uint32_t size; /* bytes; 0: there is none */
   uint32_t reserved;
};
static_assert(sizeof(struct gpuval_anygpu_descriptor) == 16, "shaders know the stride");

/** What shaders read of a command */
struct gpuval_anygpu_command {
   struct gpuval_command_data base;
   uint64_t objects_address; /* struct gpuval_object[] */
   uint64_t reserved;
   uint8_t push[GPUVAL_ANYGPU_MAX_PUSH];
   struct gpuval_anygpu_descriptor descriptors[GPUVAL_ANYGPU_MAX_SLOTS];
   struct gpuval_descriptor shadows[GPUVAL_ANYGPU_MAX_SLOTS];
};
static_assert(sizeof(struct gpuval_anygpu_command) % 16 == 0, "an array of them is aligned");

/** What of the shader's interface becomes descriptors: those of set 0 */
struct gpuval_anygpu_binding {
   VkDescriptorType type;
   uint32_t first_slot;
   uint32_t count; /* 0: the shader has no such binding */
};

struct gpuval_anygpu_layout {
   struct gpuval_anygpu_binding bindings[GPUVAL_ANYGPU_MAX_SLOTS];
   uint32_t num_slots;       /* the next one is of nothing */
   uint32_t push_size;       /* bytes of push constants that the shader declares */
   uint32_t max_shared_size; /* bytes: gpuval_anygpu_caps */
};

/** What a device can do that decides how code is made */
struct gpuval_anygpu_caps {
   uint32_t subgroup_size;
   bool has_quads;      /* what the four lanes of one read of each other */
   bool has_arithmetic; /* reductions and scans */
   uint32_t max_shared_size;
   bool has_statistics;      /* of pipelines */
   bool has_explicit_shared; /* VK_KHR_workgroup_memory_explicit_layout */
};

struct gpuval_anygpu_shader {
   const uint32_t *source; /* the application's SPIR-V */
   size_t source_size;     /* bytes */
   struct gpuval_anygpu_layout layout;

   uint32_t *words;              /* with checks; malloc() */
   size_t size;                  /* bytes */
   struct gpuval_shader *gpuval; /* NULL: nothing has been put in */
   uint64_t hash;
};

/* gpuval_anygpu_nir.c */

/** For spirv_to_nir(), once a process. */
void gpuval_anygpu_nir_init(void);
void gpuval_anygpu_nir_finish(void);

/**
 * Compiles @source, whose entry point is @entry. With @device NULL nothing is checked. Returns
 * false after one message on stderr where the shader cannot be run.
 */
bool gpuval_anygpu_compile(struct gpuval_device *device, const struct gpuval_anygpu_caps *caps,
                           const uint32_t *source, size_t source_size, const char *entry,
                           struct gpuval_anygpu_shader *shader);

/* gpuval_anygpu_driver.c: the callbacks of the passes */

extern const struct gpuval_nir_driver gpuval_anygpu_nir_driver;

/** Replaces what only this driver has, after the checks have become code. */
bool gpuval_anygpu_lower(nir_shader *nir, const struct gpuval_anygpu_layout *layout);
/** Those of @call_gpuval and @invocation_gpuval, before that. */
bool gpuval_anygpu_lower_calls(nir_shader *nir, const struct gpuval_nir_driver *driver);

/* gpuval_anygpu_vulkan.c */

struct gpuval_anygpu_memory {
   VkBuffer buffer;
   VkDeviceMemory memory;
   uint64_t address, size;
   void *map;
   struct list_head link;
};

/** A device and its one queue */
struct gpuval_anygpu_vulkan {
   void *loader; /* dlopen() */
   struct vk_instance_dispatch_table instance_table;
   struct vk_device_dispatch_table table;
   VkInstance instance;
   VkPhysicalDevice physical;
   VkPhysicalDeviceProperties properties;
   char driver[256]; /* name and version */
   VkPhysicalDeviceMemoryProperties memory;
   VkDevice device;
   VkQueue queue;
   uint32_t queue_family;
   uint32_t timestamp_bits;
   VkCommandPool pool;
   VkCommandBuffer commands;
   struct gpuval_anygpu_caps caps;
   simple_mtx_t mutex;           /* of allocations: core's thread frees some */
   struct list_head allocations; /* struct gpuval_anygpu_memory */
};

/** @device: a part of its name, or NULL. Returns false after one message. */
bool gpuval_anygpu_vulkan_init(struct gpuval_anygpu_vulkan *vulkan, const char *device);
void gpuval_anygpu_vulkan_finish(struct gpuval_anygpu_vulkan *vulkan);

/** Memory that host and GPU see, or NULL; zero. */
struct gpuval_anygpu_memory *gpuval_anygpu_alloc(struct gpuval_anygpu_vulkan *vulkan,
                                                 uint64_t size);
void gpuval_anygpu_free(struct gpuval_anygpu_vulkan *vulkan, struct gpuval_anygpu_memory *memory);

struct gpuval_winsys gpuval_anygpu_winsys(struct gpuval_anygpu_vulkan *vulkan);

/** Begins the command buffer, and submits it and waits. False after one message. */
bool gpuval_anygpu_begin(struct gpuval_anygpu_vulkan *vulkan);
bool gpuval_anygpu_submit(struct gpuval_anygpu_vulkan *vulkan);
/** Everything before, everything after */
void gpuval_anygpu_barrier(struct gpuval_anygpu_vulkan *vulkan);

/* gpuval_anygpu_sequence.c */

/** Push constants: bytes, and in between addresses of buffers */
struct gpuval_anygpu_push {
   uint8_t bytes[GPUVAL_ANYGPU_MAX_PUSH];
   uint8_t size;
   uint8_t num_addresses;
   struct {
      uint8_t buffer; /* its number */
      uint8_t offset; /* bytes */
   } addresses[GPUVAL_ANYGPU_MAX_PUSH / 8];
};

/** Reads hexadecimal digits and @N. False: they are not that, or of more than 240 bytes. */
bool gpuval_anygpu_parse_push(struct gpuval_anygpu_push *push, const char *text);

/** Reads X,Y,Z. False: these are not three numbers above 0. */
bool gpuval_anygpu_parse_groups(uint32_t groups[3], const char *text);

enum gpuval_anygpu_step_type {
   GPUVAL_ANYGPU_DISPATCH,
   GPUVAL_ANYGPU_BARRIER,
   GPUVAL_ANYGPU_HIDDEN_BARRIER, /* which the checks are not told of */
   GPUVAL_ANYGPU_WAIT,           /* for all before */
};

struct gpuval_anygpu_step {
   enum gpuval_anygpu_step_type type;
   uint32_t groups[3];
   struct gpuval_anygpu_push push;
};

struct gpuval_anygpu_sequence {
   struct gpuval_anygpu_step *steps; /* malloc() */
   uint32_t count;
};

/** Dispatches of one submission: commands have 16 bits in cells, and memory of their own. */
#define GPUVAL_ANYGPU_MAX_BATCH 1024

/** Reads @path, which docs/anygpu.rst describes. False after one message. */
bool gpuval_anygpu_read_sequence(const char *path, struct gpuval_anygpu_sequence *sequence);

/* gpuval_anygpu_run.c */

struct gpuval_anygpu_buffer_info {
   uint64_t size;
   int shares; /* the memory of this buffer; -1: it has its own */
   bool is_uniform;
   bool has_nodes; /* 16 bytes each, which begin with the address of another one */
   uint32_t limit; /* words are below it; 0: any */
};

struct gpuval_anygpu_options {
   const char *shader; /* file */
   const char *entry;
   const char *device;
   struct gpuval_anygpu_buffer_info buffers[GPUVAL_ANYGPU_MAX_SLOTS];
   unsigned num_buffers;
   struct gpuval_anygpu_push push;
   uint32_t groups[3];
   uint32_t dispatches;
   bool barriers;
   struct gpuval_anygpu_sequence sequence; /* count is 0: `dispatches` times the same */
   bool time;
   bool as_is; /* the shader without our passes: gpuval_options() says that nothing is checked */
   unsigned rounds;       /* of --time */
   bool statistics;       /* are printed */
   const char *write_spv; /* file for what runs, or NULL */
};

/** Returns the exit status. */
int gpuval_anygpu_run(const struct gpuval_anygpu_options *options);

#endif

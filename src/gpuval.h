/* SPDX-License-Identifier: MIT */

/* gpuval, as a driver sees it.
 *
 * A driver creates one struct gpuval_device for each VkDevice (NULL means that
 * nothing is checked: every hook is guarded by that), registers shaders as it
 * compiles them, numbers its commands, and says when work begins and when it
 * has ended. Everything else happens here.
 *
 * Any thread may call any of these functions.
 */

#ifndef GPUVAL_H
#define GPUVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vk_device.h"

#include "base/gpuval_command.h"
#include "base/gpuval_failure.h"
#include "base/gpuval_layout.h"
#include "base/gpuval_log.h"
#include "base/gpuval_options.h"
#include "base/gpuval_order.h"
#include "gpuval/src/compat/gpuval_stages.h"
#include "util/blob.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gpuval_device;
struct gpuval_nir_table;
struct gpuval_order_row;
struct gpuval_nir_use;
struct gpuval_shader;

/** Memory for our buffers, by driver. See winsys/. */
/** Memory of a winsys, all of what it was allocated with */
struct gpuval_cleared {
   void *map;
   uint64_t address;
   uint64_t size; /* bytes */
};

struct gpuval_winsys {
   /* Zeroed memory of @size bytes that the host reads and writes, or NULL.
    * *address is what shaders use. Only what is touched should cost.
    */
   void *(*alloc)(void *data, uint64_t size, uint64_t *address);
   /* The same where nobody does atomics, and the host only writes; NULL: alloc does */
   void *(*alloc_plain)(void *data, uint64_t size, uint64_t *address);
   /* The same for what shaders mostly read: what the host writes there, work sees that begins
    * later; NULL: alloc does
    */
   void *(*alloc_table)(void *data, uint64_t size, uint64_t *address);
   /* The same for what the host often reads, and shaders only store; NULL: alloc does */
   void *(*alloc_poll)(void *data, uint64_t size, uint64_t *address);
   /* The same that only the GPU sees: the result is for free(). NULL: there is none */
   void *(*alloc_unseen)(void *data, uint64_t size, uint64_t *address);
   void (*free)(void *data, void *map, uint64_t size);
   /* Zeroes all of it; nothing that uses it runs. */
   void (*clear)(void *data, void *map, uint64_t size);
   /* The same of several on the GPU, which takes less time; when it returns that is done. NULL, or
    * it returns false: clear() does it.
    */
   bool (*clear_all)(void *data, const struct gpuval_cleared *ranges, unsigned count);
   void *data;
};

extern const struct gpuval_winsys gpuval_winsys_host;

struct gpuval_texel {
   uint32_t x, y;
   uint32_t level, sample;
};

struct gpuval_device_info {
   struct vk_device *vk; /* whose messengers hear of failures; may be NULL */
   struct gpuval_winsys winsys;

   /* Where memory cannot be reserved without taking it. 0: GPUVAL_MAX_* */
   uint32_t max_sites;
   uint32_t max_entries;

   /* Of a pipeline layout: what a binary says of others is not true. 0: 32 */
   uint32_t max_sets;

   /* The filter of sync is not larger, whatever GPUVAL_BLOOM_SIZE_LOG2 says; 0: no limit */
   unsigned max_bloom_size_log2;
   /* Its hash functions where GPUVAL_BLOOM_HASHES does not say; 0: 16 */
   unsigned bloom_hashes;

   uint32_t object_bits; /* GPUVAL_OBJECT_INDEX_BITS; 0: descriptors have no shadows */

   /* sync: the driver puts memory where gpuval_device_shadow() has cells for it. */
   bool has_shadow;

   /* The same without a window, where GPUVAL_SYNC asks for it: the driver tells of memory,
    * gpuval_cells.h. max_shadow_size: what it takes of that, GPUVAL_SHADOW_SIZE is instead.
    */
   bool has_table;
   uint64_t max_shadow_size;

   /* init: nothing is in a window, but the driver tells of memory: gpuval_marks.h */
   bool has_marks;
   /* sync: so it does of images, whose texels have numbers: gpuval_texels.h */
   bool numbers_texels;

   /* The host has no atomics on that memory, and reads from it are slow: what shaders
    * may use is not written, and slots are given back when work that may use them has ended.
    */
   bool clear_when_idle;

   /* Fills in @command for a shader of @stage; its strings must live until the
    * next call. Returns false for an id that was never given, or is too old to
    * be known.
    */
   bool (*describe_command)(void *data, uint32_t command_id, mesa_shader_stage stage,
                            struct gpuval_command *command);

   bool has_faults; /* the driver may call gpuval_hang_set_fault() */

   /* The texel of @image at @address: see gpuval_device_add_image(). NULL: there are none. */
   void (*find_texel)(const struct vk_object_base *image, uint64_t address,
                      struct gpuval_texel *texel);

   /* Waits for work that has been submitted, but not forever. At exit, when threads may have
    * been ended wherever they were, it calls nothing of ours; else that work has ended for us, too.
    */
   void (*wait_for_work)(void *data, bool at_exit);

   /* Reports submits that have been in flight for longer than @limit (nanoseconds), each once:
    * core/events/gpuval_hang.h. Called now and then while work is in flight, by one thread, with no
    * lock held; not any more when gpuval_device_retire() has returned. NULL: nobody knows.
    */
   void (*look_for_hang)(void *data, int64_t limit);
   void *data;
};

/**
 * Reads the options from the environment, once a process: to be called when an
 * instance is created. @by_driver: the driver's own flag asked for `basic`.
 */
void gpuval_init(bool by_driver);

/**
 * NULL if nothing is to be checked, or, after a warning, if there is no memory
 * for our buffers.
 */
struct gpuval_device *gpuval_device_create(const struct gpuval_device_info *info);

/**
 * exit(), which may be called meanwhile, does not look at the device any more, and no
 * one calls gpuval_device_info::wait_for_work: to be called before the driver takes
 * apart what that looks at.
 */
void gpuval_device_retire(struct gpuval_device *device);

/**
 * exit() destroys first what was registered last: for drivers whose work needs static objects
 * of a library that have come since the device was created, as LLVM's do when it compiles.
 */
void gpuval_live_renew(void);

/** Drains and reports. No work may be in flight. */
void gpuval_device_destroy(struct gpuval_device *device);

/** For struct gpuval_command_data::root_address. */
uint64_t gpuval_device_root_address(const struct gpuval_device *device);

/**
 * Around the execution of work. From the first to the last of nested calls a
 * thread looks for failures; gpuval_device_end_work() returns when everything
 * that the work has failed is in the log. To be called before fences signal, with
 * what gpuval_device_begin_work() has returned: work need not end in order.
 */
unsigned gpuval_device_begin_work(struct gpuval_device *device);
void gpuval_device_end_work(struct gpuval_device *device, unsigned work);

/** Draws, dispatches and traces that run now, and are looked at: reports say how many they were. */
void gpuval_device_add_commands(struct gpuval_device *device, uint32_t count);

/** The same where no work has ended: what has failed by now is in the log. */
void gpuval_device_look(struct gpuval_device *device);

/**
 * A new epoch begins and no work is in flight: clears the filter of sync if it
 * has filled up. Costs next to nothing as long as it has not. Returns whether the driver has to
 * clear it, as the host does not see it.
 */
bool gpuval_device_bloom_barrier(struct gpuval_device *device);

/** What gpuval_winsys has allocated */
struct gpuval_buffer {
   void *map;
   uint64_t address;
   uint64_t size;
};

/** Where the filter of sync is in memory that the host does not see: whenever an epoch begins, the
 * driver copies the beginning of the marks to the sample, which the host sees.
 */
struct gpuval_unseen_filter {
   struct gpuval_buffer marks, sample;
};
/** Returns false if the host sees it, or there is none. */
bool gpuval_device_unseen_filter(const struct gpuval_device *device,
                                 struct gpuval_unseen_filter *filter);

struct gpuval_shadow;

/** Is shadow memory the engine of sync? */
bool gpuval_device_has_shadow(const struct gpuval_device *device);

/** Shadow memory of sync, or NULL if its other engine is at work, or there is no window. */
struct gpuval_shadow *gpuval_device_shadow(struct gpuval_device *device);

/** Where memory has to be for sync's shadow memory and init; NULL: anywhere. */
struct gpuval_shadow *gpuval_device_window(struct gpuval_device *device);

struct gpuval_written;
/** What init knows to be written, or NULL. */
struct gpuval_written *gpuval_device_written(struct gpuval_device *device);

/**
 * A command that is about to run, whose id, entry bases and serial are in @data: fills
 * in what else shadow memory needs. @threshold: the serials up to which everything is
 * ordered before. Serials must not fall. @idle: nothing that runs may still leave
 * marks, so that numbers may begin again. To be called by one thread at a time.
 */
void gpuval_device_shadow_command(struct gpuval_device *device,
                                  struct gpuval_order_threshold threshold, bool idle,
                                  struct gpuval_command_data *data);
/** In the place of an entry base: the command has no such stage. */
#define GPUVAL_SHADOW_NO_ENTRIES UINT32_MAX
/**
 * Another draw of the command that @data is of, with an id of its own: shadow memory knows
 * it by that, as long as numbers are plenty. Else it counts as the draw before.
 */
void gpuval_device_shadow_draw(struct gpuval_device *device, struct gpuval_command_data *data);

/** Serials begin again; no work may be in flight. */
void gpuval_device_shadow_restart(struct gpuval_device *device);
/** No work is in flight: what is used up begins again. */
void gpuval_device_shadow_idle(struct gpuval_device *device);

/** A command reads its arguments: one struct of them. */
struct gpuval_indirect_read {
   uint64_t address;
   uint32_t size;
   uint32_t offset;                        /* reported: of the first bytes that are not ordered */
   struct gpuval_command_data command;     /* as for a shader, but for its functions */
   const struct gpuval_order_table *table; /* shadow memory */
   /* Those of shaders, if they are others: what they write later has been read. */
   uint32_t other_epochs[4];
   unsigned num_other_epochs;
};

/**
 * What a shader's access is to the filter of sync, done by the host. To be called
 * only where gpuval_options_sync() is not 0.
 */
void gpuval_device_indirect_read(struct gpuval_device *device,
                                 const struct gpuval_indirect_read *read);

/**
 * Something is wrong with a command, which has that id. This is how all failures are
 * reported that the host finds. The same kind of failure of the same type of command is one
 * event, whose counts add up, where labels (but for numbers in them), names and @bound are the
 * same: that stands for the pipeline, or what is in its place. Objects without a name are told
 * apart as long as they live, some of them.
 */
void gpuval_device_report_command(struct gpuval_device *device, uint32_t command_id, uint64_t bound,
                                  const struct gpuval_command_failure *failure);

struct gpuval_submits;
/** What reports ask which barriers there were; lives as long as @device, or is NULL. */
void gpuval_device_set_submits(struct gpuval_device *device, struct gpuval_submits *submits);

struct gpuval_race_use;
/** Nothing orders @use, which comes second, and @other. Each call counts as one. */
void gpuval_device_report_race(struct gpuval_device *device, const struct gpuval_race_use *use,
                               const struct gpuval_race_use *other);

/**
 * Buffers and allocations (VkDeviceMemory), so that an address can be named. @object
 * must be removed before it dies.
 */
void gpuval_device_add_buffer(struct gpuval_device *device, const struct vk_object_base *object,
                              uint64_t address, uint64_t size);
void gpuval_device_remove_buffer(struct gpuval_device *device, const struct vk_object_base *object);
/**
 * The same of images: those whose texels sync looks at, where device->info.find_texel says which it
 * is, or with device->info.has_faults any.
 */
void gpuval_device_add_image(struct gpuval_device *device, const struct vk_object_base *object,
                             uint64_t address, uint64_t size);
void gpuval_device_remove_image(struct gpuval_device *device, const struct vk_object_base *object);
/** Is there any such image in some memory? */
bool gpuval_device_has_texels(struct gpuval_device *device, uint64_t address, uint64_t size);
void gpuval_device_add_memory(struct gpuval_device *device, const struct vk_object_base *object,
                              uint64_t address, uint64_t size);
void gpuval_device_remove_memory(struct gpuval_device *device, const struct vk_object_base *object);

/**
 * A buffer that has all @size bytes at @address, or else one that has the first of them.
 * Sets object, address and size of @range, those of the whole buffer, and what belongs to
 * that. Returns false, and leaves @range alone, if there is none. The buffer need not be one
 * that the program uses: another thread may destroy it at once, so that its object is for
 * gpuval_device_report_command() only.
 */
bool gpuval_device_find_buffer(struct gpuval_device *device, uint64_t address, uint64_t size,
                               struct gpuval_command_range *range);

/** A binding of the layout that a shader was compiled with. */
struct gpuval_binding {
   uint32_t set;
   uint32_t binding;
   VkDescriptorType type;
   uint32_t first_slot;
   uint32_t array_size;
   uint32_t stride; /* slots an array element */
   uint32_t inline_size;
   bool is_variable; /* each set says how many elements there are */
};

struct gpuval_shader_info {
   const uint32_t *spirv;
   size_t spirv_size; /* bytes */
   uint64_t hash;     /* gpuval_shader_hash() of that */
   mesa_shader_stage stage;
   const char *entry;
   const char *name; /* debug_utils name of the module, or NULL */
   const struct gpuval_binding *bindings;
   unsigned num_bindings;
};

/** First 64 bits of the BLAKE3 hash of a SPIR-V module: shader.hash. */
uint64_t gpuval_shader_hash(const uint32_t *spirv, size_t spirv_size);
/** The same, of a module whose hash Mesa's runtime has already: vk_shader_module::hash. */
uint64_t gpuval_shader_hash_of(const uint8_t *module_hash);

/** Less than shader_info::source_blake3 holds: drivers keep a word of their own behind it. */
#define GPUVAL_SHADER_KEY_SIZE 28

/**
 * Registers an instrumented shader. The same shader is registered once only, and stays
 * as long as it has users: the caller is one now, see gpuval_shader_release().
 *
 * @key identifies it and depends on nothing but its content. Returns NULL (after one
 * warning) when there is no room for its sites: its reports must go.
 */
struct gpuval_shader *gpuval_device_add_shader(struct gpuval_device *device,
                                               const struct gpuval_shader_info *info,
                                               const struct gpuval_nir_table *table,
                                               uint8_t key[GPUVAL_SHADER_KEY_SIZE]);

/** Goes into struct gpuval_command_data. */
uint32_t gpuval_shader_entry_base(const struct gpuval_shader *shader);
mesa_shader_stage gpuval_shader_stage(const struct gpuval_shader *shader);

/** struct gpuval_nir_table::uses; as long as the shader has users. */
const struct gpuval_nir_use *gpuval_shader_uses(const struct gpuval_shader *shader,
                                                uint32_t *num_uses);

/** The site of a number in gpuval_nir_use::num_slots, device-wide, and whose it is. */
uint32_t gpuval_shader_site(const struct gpuval_shader *shader, uint32_t number);
uint64_t gpuval_shader_serial(const struct gpuval_shader *shader);

/** One more user of the shader that has this key, or NULL. */
struct gpuval_shader *gpuval_device_find_shader(struct gpuval_device *device,
                                                const uint8_t key[GPUVAL_SHADER_KEY_SIZE]);

/**
 * No more work that is submitted from now on uses the shader's code. What is in flight
 * may do so: what that finds is reported, and then the shader is gone.
 */
void gpuval_shader_release(struct gpuval_shader *shader);

/**
 * A registered shader's table, for binaries that caches and applications keep. Writing NULL
 * writes that. @is_unmarked: the shader does not mark all that it writes, so `init` gives up on the
 * device that reads it, too. Reading checks everything and registers; false: the binary is not
 * usable, or is for another engine of sync than this device has. The caller is a user of *shader,
 * which may be NULL.
 */
void gpuval_device_write_shader(const struct gpuval_device *device,
                                const struct gpuval_shader *shader, bool is_unmarked,
                                struct blob *blob);
bool gpuval_device_read_shader(struct gpuval_device *device, struct blob_reader *blob,
                               struct gpuval_shader **shader);

#ifdef __cplusplus
}
#endif

#endif

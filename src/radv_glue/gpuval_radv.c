/* SPDX-License-Identifier: MIT */

#include "gpuval_radv_layer.h"
#include "gpuval_radv_walk.h"

#include "gpuval/gpuval_radv_entrypoints.h"
#include "gpuval/src/compat/gpuval_radv_driver.h"
#include "radv_buffer_view.h"
#include "radv_device.h"
#include "radv_device_memory.h"
#include "radv_image.h"
#include "radv_image_view.h"
#include "radv_instance.h"
#include "radv_physical_device.h"
#include "radv_shader.h"
#include "sid.h"

#include "gpuval/src/core/memory/gpuval_cells.h"
#include "util/u_atomic.h"

/* What is relied on in RADV. docs/development.rst names what no compiler checks. */

static_assert(offsetof(struct radv_buffer, vk) == 0 && offsetof(struct radv_image, vk) == 0 &&
                 offsetof(struct radv_buffer_view, vk) == 0 &&
                 offsetof(struct radv_image_view, vk) == 0 &&
                 offsetof(struct radv_device_memory, base) == 0,
              "handles are pointers to objects of the runtime: gpuval_object_hooks.c");
static_assert(S_008F0C_INDEX_STRIDE(GPUVAL_RADV_ROUNDED_MASK) == GPUVAL_RADV_ROUNDED_MASK
                                                                    << GPUVAL_RADV_ROUNDED_SHIFT,
              "where a buffer's descriptor keeps how much its size was rounded");
static_assert(
   offsetof(struct radv_shader_stage_key, gpuval) + 1 == sizeof(struct radv_shader_stage_key),
   "keys of caches have gpuval's field in their last byte: behind Mesa's, or in their padding");

/* In video memory: fewer than elsewhere */
#define MAX_SITES   (1u << 20)
#define MAX_ENTRIES (1u << 20)

/* Without a resizable BAR the host sees 256 MiB of it in all, which the program wants, too.
 * The kernel would put our buffers elsewhere, where atomics do not work.
 */
#define SMALL_BAR_KB              (256u << 10)
#define SMALL_BAR_SITES           (MAX_SITES >> 2)
#define SMALL_BAR_ENTRIES         (MAX_ENTRIES >> 2)
#define SMALL_BAR_BLOOM_SIZE_LOG2 22 /* where the GPU has no memory of its own, either */

/* One of so many bytes of the video memory that the host sees may be shadow memory's. */
#define SHADOW_SHARE 4

/* Device */

/* Games of Direct3D have it enabled, and then what is out of bounds is no error. */
static void
note_robustness(const struct vk_features *features)
{
   static uint32_t noted;

   if (!gpuval_options_may_check(GPUVAL_CHECK_BOUNDS) || gpuval_options()->robust ||
       !(features->robustBufferAccess || features->robustBufferAccess2) || p_atomic_xchg(&noted, 1))
      return;
   gpuval_log_note("bounds: the program enables robust buffer access, so that what is outside a "
                   "buffer's range is defined and not reported; GPUVAL_ROBUST=1 reports it");
}

/* Memory, for address: when it is freed, the buffers there are gone, too, and so are its cells. */

static bool
checks_memory(const struct gpuval_radv *gpuval)
{
   return gpuval_options_may_check(GPUVAL_CHECK_ADDRESS) ||
          gpuval_device_has_shadow(gpuval->device);
}

void
gpuval_radv_add_memory(struct gpuval_radv *gpuval, const struct radv_device_memory *memory)
{
   if (checks_memory(gpuval) && memory->bo)
      gpuval_device_add_memory(gpuval->device, &memory->base, radv_buffer_get_va(memory->bo),
                               memory->alloc_size);
}

void
gpuval_radv_remove_memory(struct gpuval_radv *gpuval, const struct radv_device_memory *memory)
{
   if (!checks_memory(gpuval))
      return;
   gpuval_device_remove_memory(gpuval->device, &memory->base);
   if (memory->bo)
      gpuval_cells_remove(gpuval->device, radv_buffer_get_va(memory->bo));
}

struct gpuval_radv *
gpuval_radv_create(struct radv_device *device)
{
   const struct radv_physical_device *pdev = radv_device_physical(device);

   if (!gpuval_options()->checks)
      return NULL;
   if (pdev->use_llvm) {
      gpuval_log_warning("RADV checks what ACO compiles, not LLVM: nothing is checked");
      return NULL;
   }

   struct gpuval_radv *gpuval = rzalloc(NULL, struct gpuval_radv);
   if (!gpuval)
      return NULL;

   gpuval->radv = device;
   list_inithead(&gpuval->readbacks);
   gpuval_winsys_radv_init(&gpuval->winsys, device);
   if (!gpuval_radv_self_test(gpuval)) {
      gpuval_winsys_radv_finish(&gpuval->winsys);
      ralloc_free(gpuval);
      return NULL;
   }
   bool small_bar = pdev->info.has_dedicated_vram && !pdev->info.all_vram_visible &&
                    pdev->info.vram_vis_size_kb <= SMALL_BAR_KB;
   gpuval->winsys.is_small = small_bar;
   gpuval->device = gpuval_device_create(&(struct gpuval_device_info){
      .vk = &device->vk,
      .winsys = gpuval->winsys.base,
      .max_sites = small_bar ? SMALL_BAR_SITES : MAX_SITES,
      .max_entries = small_bar ? SMALL_BAR_ENTRIES : MAX_ENTRIES,
      .max_sets = MAX_SETS,
      .bloom_hashes = GPUVAL_RADV_HASHES,
      .max_bloom_size_log2 = small_bar ? SMALL_BAR_BLOOM_SIZE_LOG2 : 0,
      .clear_when_idle = true,
      .object_bits = GPUVAL_RADV_OBJECT_INDEX_BITS,
      .has_marks = true,
      .numbers_texels = true,
      .has_table = true,
      .max_shadow_size = (uint64_t)pdev->info.vram_vis_size_kb * 1024 / SHADOW_SHARE,
      .describe_command = gpuval_radv_describe_command,
      .wait_for_work = gpuval_radv_wait_for_work,
      .look_for_hang = gpuval_radv_look_for_hang,
      .has_faults = true,
      .data = gpuval,
   });
   if (!gpuval->device) {
      gpuval_winsys_radv_finish(&gpuval->winsys);
      ralloc_free(gpuval);
      return NULL;
   }

   gpuval_radv_init_filter(gpuval);
   gpuval_radv_init_clear(gpuval);
   gpuval_radv_init_binaries(gpuval);
   simple_mtx_init(&gpuval->mutex, mtx_plain);
   gpuval_radv_init_commands(gpuval);
   gpuval_radv_init_submits(gpuval);
   gpuval_radv_init_users(gpuval);
   gpuval_radv_init_sets(gpuval);
   gpuval_radv_init_structures(gpuval);
   gpuval_radv_init_sync(gpuval);
   gpuval->hooks.objects = gpuval_device_objects(gpuval->device);
   gpuval->hooks.waited = gpuval_radv_look;
   gpuval->hooks.data = gpuval;
   gpuval_hooks_init(&gpuval->hooks, &device->vk, gpuval_radv_needs_order());
   gpuval_device_set_submits(gpuval->device, gpuval->hooks.submits);
   gpuval_radv_init_race(gpuval);
   gpuval_radv_init_written_images(gpuval);
   gpuval_radv_init_walk(gpuval);
   gpuval_hooks_install(&gpuval->hooks, &device->vk, &gpuval_radv_device_entrypoints);
   note_robustness(&device->vk.enabled_features);
   return gpuval;
}

void
gpuval_radv_destroy(struct gpuval_radv *gpuval)
{
   /* What is left for RADV to destroy is its own. */
   gpuval->radv->vk.dispatch_table = gpuval->hooks.next;

   gpuval_device_retire(gpuval->device);
   gpuval_radv_finish_binaries(gpuval);
   gpuval_radv_finish_submits(gpuval);
   gpuval_radv_finish_poison(gpuval);
   gpuval_radv_finish_race(gpuval);
   gpuval_radv_finish_filter(gpuval);
   gpuval_radv_finish_clear(gpuval);
   gpuval_device_destroy(gpuval->device);
   gpuval_radv_finish_sync(gpuval);
   gpuval_radv_finish_sets(gpuval);
   gpuval_hooks_finish(&gpuval->hooks);
   gpuval_radv_finish_written_images(gpuval);
   gpuval_radv_finish_commands(gpuval);
   gpuval_radv_finish_readbacks(gpuval);
   gpuval_winsys_radv_finish(&gpuval->winsys);
   simple_mtx_destroy(&gpuval->mutex);
   gpuval->radv->vk.gpuval = NULL;
   gpuval->radv->gpuval = NULL;
   ralloc_free(gpuval);
}

void
gpuval_radv_add_buffer(struct gpuval_radv *gpuval, struct radv_buffer *buffer)
{
   gpuval_device_add_buffer(gpuval->device, &buffer->vk.base, gpuval_radv_buffer_address(buffer),
                            buffer->vk.size);
   gpuval_radv_bind_cells(gpuval, buffer);
}

void
gpuval_radv_remove_buffer(struct gpuval_radv *gpuval, struct radv_buffer *buffer)
{
   gpuval_device_remove_buffer(gpuval->device, &buffer->vk.base);
}

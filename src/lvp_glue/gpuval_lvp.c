/* SPDX-License-Identifier: MIT */

#include "gpuval_lvp_builds.h"
#include "gpuval_lvp_device.h"
#include "gpuval_lvp_draws.h"
#include "gpuval_lvp_executions.h"
#include "gpuval_lvp_facts.h"
#include "gpuval_lvp_images.h"
#include "gpuval_lvp_inputs.h"
#include "gpuval_lvp_jit.h"
#include "gpuval_lvp_order.h"
#include "gpuval_lvp_race.h"
#include "gpuval_lvp_structures.h"
#include "gpuval_lvp_written.h"

#include "gallium/drivers/llvmpipe/lp_texture.h"

#include "gpuval/src/compat/gpuval_lvp_texture.h"
#include "gpuval/src/core/descriptors/gpuval_objects.h"
#include "gpuval/src/core/structures/gpuval_structures.h"
#include "util/os_mman.h"
#include "util/os_time.h"
#include "util/u_inlines.h"

#define WAIT_AT_EXIT_NS 2000000000

/* What gpuval_lvp_nir.c takes for granted */
static_assert(sizeof(struct lp_descriptor) == GPUVAL_LVP_DESCRIPTOR_STRIDE,
              "stride of descriptors");
static_assert(offsetof(struct lp_descriptor, functions) == GPUVAL_LVP_DESCRIPTOR_FUNCTIONS,
              "functions of a descriptor");
static_assert(offsetof(struct lp_descriptor, buffer.u) == 0, "address of a buffer");
static_assert(offsetof(struct lp_descriptor, buffer.size) == 12, "size of a buffer");
static_assert(offsetof(struct lp_descriptor, accel_struct) == 0, "address of a structure");
static_assert(GPUVAL_LVP_TEXTURE(width) == 8, "count of texels");
static_assert(offsetof(struct lp_descriptor, image.width) == 8, "count of texels");
static_assert(GPUVAL_LVP_TEXTURE(texel_size) == 146, "size of a texel");
static_assert(GPUVAL_LVP_TEXTURE(img_stride) == 80, "layers of a level");
static_assert(GPUVAL_LVP_TEXTURE(mip_offsets) == 148, "place of a level");
static_assert(PIPE_MAX_TEXTURE_LEVELS == 16, "levels in a descriptor");
static_assert(offsetof(struct lp_descriptor, image.sample_stride) == 20, "samples of an image");
static_assert(offsetof(struct lp_descriptor, image.row_stride) == 24, "rows of an image");
static_assert(offsetof(struct lp_descriptor, image.img_stride) == 28, "layers of an image");
static_assert(offsetof(struct lp_descriptor, image.residency) == 32, "whether it is sparse");
static_assert(offsetof(struct lp_descriptor, sampler.min_lod) == GPUVAL_LVP_DESCRIPTOR_SAMPLER_LOD,
              "limits of a sampler");
static_assert(offsetof(struct lp_descriptor, image.texel_size) == 18, "size of a texel");
static_assert(MAX_PUSH_CONSTANTS_SIZE == GPUVAL_LVP_COMMAND_DATA_OFFSET, "push constants");
static_assert(LVP_SHADER_STAGES <= GPUVAL_STAGE_COUNT, "a base for each stage");

static_assert(offsetof(struct gpuval_lvp, below_recording) == 0, "where its entry points look");

static bool
describe_command(void *data, uint32_t command_id, mesa_shader_stage stage,
                 struct gpuval_command *out)
{
   struct gpuval_lvp *gpuval = data;
   return gpuval_lvp_commands_describe(gpuval->commands, command_id, stage, out);
}

/* Submits run on a thread of the queue's, which exit() does not wait for. */
static void
wait_for_work(void *data, bool at_exit)
{
   struct gpuval_lvp *gpuval = data;
   struct vk_queue *queue = &gpuval->lvp->queue.vk;
   int64_t end = os_time_get_nano() + WAIT_AT_EXIT_NS;
   bool busy;

   do {
      mtx_lock(&queue->submit.mutex);
      busy = !list_is_empty(&queue->submit.submits);
      mtx_unlock(&queue->submit.mutex);
      if (busy)
         os_time_sleep(1000);
   } while (busy && os_time_get_nano() < end);
}

static void
look_for_hang(void *data, int64_t limit)
{
   struct gpuval_lvp *gpuval = data;
   gpuval_lvp_progress_look(&gpuval->progress, gpuval->device, gpuval->commands, limit);
}

/* A buffer from llvmpipe for each dispatch would be memory that has to be cleared and
 * is in no cache, which is most of what a small dispatch costs more. One does: a
 * dispatch has run when the next one comes. NULL: do without it.
 */
static void
create_constants(struct gpuval_lvp *gpuval, struct pipe_screen *screen)
{
   const struct pipe_resource templ = {
      .screen = screen,
      .target = PIPE_BUFFER,
      .format = PIPE_FORMAT_R8_UNORM,
      .width0 = GPUVAL_LVP_RAY_CONSTANTS_SIZE,
      .height0 = 1,
      .depth0 = 1,
      .array_size = 1,
      .bind = PIPE_BIND_CONSTANT_BUFFER,
      .flags = PIPE_RESOURCE_FLAG_DONT_OVER_ALLOCATE,
   };
   uint64_t size;

   void *map = os_mmap(NULL, GPUVAL_LVP_RAY_CONSTANTS_SIZE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
   gpuval->constants_map = map == MAP_FAILED ? NULL : map;
   if (gpuval->constants_map)
      gpuval->constants = screen->resource_create_unbacked(screen, &templ, &size);
   if (gpuval->constants) {
      struct llvmpipe_memory_allocation memory = {.cpu_addr = gpuval->constants_map};
      screen->resource_bind_backing(screen, gpuval->constants, (void *)&memory, 0, 0, 0);
   }
}

/* llvmpipe compiles functions of a texture for each sampler that there is, and with none a program
 * that has forgotten both would call nothing.
 */
static void
register_sampler(struct lvp_device *device)
{
   const struct pipe_sampler_state state = {0};
   struct pipe_context *ctx = device->queue.ctx;

   ctx->delete_texture_handle(ctx, ctx->create_texture_handle(ctx, NULL, &state));
}

struct gpuval_lvp *
gpuval_lvp_create(struct lvp_device *device)
{
   struct gpuval_lvp *gpuval = rzalloc(NULL, struct gpuval_lvp);

   gpuval->lvp = device;
   gpuval->commands = gpuval_lvp_commands_create(gpuval);
   gpuval->device = gpuval_device_create(&(struct gpuval_device_info){
      .vk = &device->vk,
      .winsys = gpuval_winsys_host,
      .max_sets = GPUVAL_LVP_MAX_SETS,
      .object_bits = GPUVAL_OBJECT_INDEX_BITS,
      .has_shadow = true,
      .describe_command = describe_command,
      .find_texel = gpuval_lvp_find_texel,
      .wait_for_work = wait_for_work,
      .look_for_hang = look_for_hang,
      .data = gpuval,
   });
   if (!gpuval->device) {
      gpuval_lvp_commands_destroy(gpuval->commands);
      ralloc_free(gpuval);
      return NULL;
   }

   gpuval->shadow = gpuval_device_shadow(gpuval->device);
   gpuval->window = gpuval_device_window(gpuval->device);
   struct pipe_screen *screen = device->pscreen;
   gpuval->jit = gpuval_lvp_jit_get(gpuval_nir_functions, gpuval_lvp_compiler_options(screen),
                                    gpuval->shadow != NULL);
   gpuval_live_renew();
   create_constants(gpuval, screen);
   gpuval->pending = gpuval_lvp_pending_create(gpuval, device);

   gpuval->executions = gpuval_lvp_executions_create(gpuval);
   gpuval->command_driver = gpuval_lvp_command_driver(device);
   gpuval->walk = gpuval_commands_create(gpuval, &gpuval->command_driver);
   gpuval->memory = gpuval_lvp_host_memory(device, gpuval->device);
   bool has_race = gpuval_options_race();
   if (gpuval_options_sync() || has_race) {
      gpuval->order = rzalloc(gpuval, struct gpuval_lvp_order);
      gpuval_lvp_order_init(gpuval->order, device, gpuval->device);
   } else {
      gpuval->hooks.objects = gpuval_device_objects(gpuval->device);
      gpuval_hooks_init(&gpuval->hooks, &device->vk, false);
      gpuval_hooks_install(&gpuval->hooks, &device->vk, NULL);
   }
   gpuval->queue_labels = device->vk.gpuval->labels[0];
   gpuval->draws = gpuval_lvp_draws_create(gpuval, device, gpuval->commands, gpuval->device);
   if (gpuval_device_written(gpuval->device)) {
      gpuval->written = gpuval_lvp_written_create(
         gpuval, device, gpuval, gpuval_device_written(gpuval->device), gpuval->walk);
      gpuval_lvp_order_hook_events(&device->vk.dispatch_table);
   }
   if (gpuval_lvp_objects(gpuval))
      register_sampler(device);
   if (has_race && gpuval_lvp_objects(gpuval))
      gpuval->race = gpuval_lvp_race_create(gpuval, gpuval, &device->vk.dispatch_table,
                                            gpuval->order->hooks.submits, gpuval->walk);
   if (gpuval->order)
      gpuval_lvp_order_observe(gpuval->order, gpuval, gpuval->walk);
   if (gpuval_device_structures(gpuval->device))
      gpuval->structures = gpuval_lvp_structures_create(gpuval, gpuval, gpuval->walk);
   if (gpuval_options_may_check(GPUVAL_CHECK_INDIRECT) ||
       gpuval_options_may_check(GPUVAL_CHECK_VERTEX) || gpuval_lvp_looks_at_bytes(gpuval))
      gpuval->inputs = gpuval_lvp_inputs_create(gpuval, device, &gpuval->memory, gpuval->walk);
   if (GPUVAL_LVP_RECORDS_BUILDS)
      gpuval->builds = gpuval_lvp_builds_create(gpuval, device);
   if (gpuval_options()->backtrace) {
      gpuval->below_recording.next = device->vk.dispatch_table;
      gpuval_lvp_install_recording(&device->vk.dispatch_table);
   }
   return gpuval;
}

void
gpuval_lvp_retire(struct gpuval_lvp *gpuval)
{
   gpuval_device_retire(gpuval->device);
}

void
gpuval_lvp_destroy(struct gpuval_lvp *gpuval)
{
   gpuval_device_destroy(gpuval->device);
   pipe_resource_reference(&gpuval->constants, NULL);
   if (gpuval->constants_map)
      os_munmap(gpuval->constants_map, GPUVAL_LVP_RAY_CONSTANTS_SIZE);
   gpuval_lvp_commands_destroy(gpuval->commands);
   if (gpuval->order)
      gpuval_lvp_order_finish(gpuval->order);
   else
      gpuval_hooks_finish(&gpuval->hooks);
   if (gpuval->inputs)
      gpuval_lvp_inputs_destroy(gpuval->inputs);
   if (gpuval->race)
      gpuval_lvp_race_destroy(gpuval->race);
   gpuval_lvp_pending_destroy(gpuval->pending);
   ralloc_free(gpuval);
}

bool
gpuval_lvp_looks_at_bytes(const struct gpuval_lvp *gpuval)
{
   return gpuval->shadow && gpuval_options_may_check(GPUVAL_CHECK_SYNC);
}

struct gpuval_lvp_order *
gpuval_lvp_get_order(struct gpuval_lvp *gpuval)
{
   return gpuval->order;
}

struct gpuval_lvp_race_host *
gpuval_lvp_get_race_host(struct gpuval_lvp *gpuval)
{
   return gpuval_lvp_race_host(gpuval->race);
}

struct gpuval_lvp_builds *
gpuval_lvp_get_builds(struct gpuval_lvp *gpuval)
{
   return gpuval->builds;
}

struct gpuval_lvp_pending *
gpuval_lvp_pending(struct gpuval_lvp *gpuval)
{
   return gpuval->pending;
}

struct gpuval_device *
gpuval_lvp_device(struct gpuval_lvp *gpuval)
{
   return gpuval->device;
}

struct gpuval_lvp_written *
gpuval_lvp_get_written(struct gpuval_lvp *gpuval)
{
   return gpuval->written;
}

struct gpuval_objects *
gpuval_lvp_objects(struct gpuval_lvp *gpuval)
{
   return gpuval_device_objects(gpuval->device);
}

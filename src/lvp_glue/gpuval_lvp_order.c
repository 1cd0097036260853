/* SPDX-License-Identifier: MIT */

/* lavapipe executes command buffers on its queue's thread, command by command: the
 * model of order is fed there. Dispatches end before it goes on. For draws it waits at a
 * barrier, at a wait for an event, and at the end of a command buffer, after our hook but
 * before the command that follows.
 */

#include "gpuval_lvp_order.h"
#include "gpuval_lvp_facts.h"
#include "gpuval_lvp_images.h"
#include "gpuval_lvp_private.h"

#include "gpuval/src/compat/gpuval_lvp_driver.h"

#include "gpuval/src/core/checks/gpuval_sync_commands.h"
#include "gpuval/src/core/descriptors/gpuval_objects.h"

#include "util/u_math.h"
#include "vk_cmd_queue.h"

/* lavapipe has one. */
#define QUEUE        0
#define QUEUE_FAMILY 0

static void
get_buffer(VkBuffer handle, uint64_t *address, uint64_t *size)
{
   VK_FROM_HANDLE(lvp_buffer, buffer, handle);

   *address = (uintptr_t)buffer->map;
   *size = buffer->vk.size;
}

static void
get_image(VkImage handle, const VkImageSubresourceRange *range, uint64_t *address, uint64_t *size)
{
   VK_FROM_HANDLE(lvp_image, image, handle);
   struct lvp_device *device = container_of(image->vk.base.device, struct lvp_device, vk);

   gpuval_lvp_image_range(image, range, address, size);
   if (*address && !gpuval_device_has_texels(gpuval_lvp_device(device->gpuval), *address, *size))
      *address = 0;
}

static const struct gpuval_places places = {.buffer = get_buffer, .image = get_image};

/* Recording: waits for events, whose barriers the runtime's queue of commands does not
 * copy, as lavapipe has no use for them.
 */

static VKAPI_ATTR void VKAPI_CALL
hook_CmdWaitEvents2(VkCommandBuffer handle, uint32_t count, const VkEvent *events,
                    const VkDependencyInfo *infos)
{
   VK_FROM_HANDLE(lvp_cmd_buffer, cmd_buffer, handle);
   const struct gpuval_hooks *hooks = lvp_cmd_buffer_device(cmd_buffer)->vk.gpuval;
   struct vk_cmd_queue *queue = &cmd_buffer->vk.cmd_queue;
   const struct list_head *last = queue->cmds.prev;

   hooks->next.CmdWaitEvents2(handle, count, events, infos);
   if (queue->cmds.prev == last)
      return;

   struct gpuval_dependency *dependency =
      vk_alloc(queue->alloc, gpuval_dependency_size(count, events, infos), 8,
               VK_SYSTEM_ALLOCATION_SCOPE_OBJECT);
   if (dependency)
      gpuval_dependency_init(dependency, count, events, infos, QUEUE_FAMILY, &places);
   else
      vk_command_buffer_set_error(&cmd_buffer->vk, VK_ERROR_OUT_OF_HOST_MEMORY);
   list_entry(queue->cmds.prev, struct vk_cmd_queue_entry, cmd_link)->driver_data = dependency;
}

/* The runtime would make a wait without barriers and a barrier of it, which orders what
 * came after the event as well.
 */
static VKAPI_ATTR void VKAPI_CALL
hook_CmdWaitEvents(VkCommandBuffer handle, uint32_t event_count, const VkEvent *events,
                   VkPipelineStageFlags src, VkPipelineStageFlags dst, uint32_t memory_count,
                   const VkMemoryBarrier *memory, uint32_t buffer_count,
                   const VkBufferMemoryBarrier *buffers, uint32_t image_count,
                   const VkImageMemoryBarrier *images)
{
   VkDependencyInfo *infos = gpuval_upgrade_wait_events(event_count, src, dst, memory_count, memory,
                                                        buffer_count, buffers, image_count, images);

   hook_CmdWaitEvents2(handle, event_count, events, infos);
   ralloc_free(infos);
}

void
gpuval_lvp_order_hook_events(struct vk_device_dispatch_table *table)
{
   table->CmdWaitEvents = hook_CmdWaitEvents;
   table->CmdWaitEvents2 = hook_CmdWaitEvents2;
}

void
gpuval_lvp_order_init(struct gpuval_lvp_order *order, struct lvp_device *device,
                      struct gpuval_device *gpuval)
{
   order->hooks.objects = gpuval_device_objects(gpuval);
   order->hooks.bound_image = gpuval_lvp_bound_image;
   order->hooks.destroyed_image = gpuval_lvp_destroyed_image;
   gpuval_hooks_init(&order->hooks, &device->vk, true);
   gpuval_device_set_submits(gpuval, order->hooks.submits);
   gpuval_hooks_install(&order->hooks, &device->vk, NULL);
   gpuval_lvp_order_hook_events(&device->vk.dispatch_table);

   order->device = gpuval;
   order->observer =
      gpuval_order_commands_create(NULL, order->hooks.submits, QUEUE, QUEUE_FAMILY, &places);
   order->table.table = calloc(1, sizeof(*order->table.table));
   order->table.address = (uintptr_t)order->table.table;
}

void
gpuval_lvp_order_finish(struct gpuval_lvp_order *order)
{
   gpuval_hooks_finish(&order->hooks);
   ralloc_free(order->observer);
   free(order->table.table);
}

/* Bytes of buffers, as commands access them without shaders */

static uint32_t
get_command_id(void *data)
{
   return gpuval_lvp_command_id(data);
}

static bool
is_idle(void *data)
{
   return !gpuval_lvp_get_order(data)->draws_run;
}

void
gpuval_lvp_order_observe(struct gpuval_lvp_order *order, struct gpuval_lvp *gpuval,
                         struct gpuval_commands *commands)
{
   const struct gpuval_sync_driver driver = {get_command_id, gpuval_lvp_find_buffer, is_idle,
                                             gpuval};

   if (gpuval_lvp_looks_at_bytes(gpuval)) {
      order->sync = gpuval_sync_commands_create(order->observer, order->device,
                                                order->hooks.submits, QUEUE, &driver);
      gpuval_commands_add_observer(commands, &gpuval_sync_observer, order->sync);
   }
   gpuval_commands_add_observer(commands, &gpuval_order_observer, order->observer);
}

/* Execution */

void
gpuval_lvp_order_begin(struct gpuval_lvp_order *order, struct lvp_cmd_buffer *cmd_buffer)
{
   gpuval_submits_execute(order->hooks.submits, QUEUE, lvp_cmd_buffer_to_handle(cmd_buffer));
   order->draws_run = false;
}

void
gpuval_lvp_order_end(struct gpuval_lvp_order *order)
{
   gpuval_submits_end(order->hooks.submits, QUEUE);
}

void
gpuval_lvp_order_waits(struct gpuval_lvp_order *order)
{
   order->draws_run = false;
}

void
gpuval_lvp_order_work(struct gpuval_lvp_order *order, uint32_t stages,
                      struct gpuval_command_data *data)
{
   struct gpuval_submits *submits = order->hooks.submits;
   uint32_t classes = stages ? 0 : 1u << GPUVAL_ORDER_INDIRECT;
   bool is_idle = !order->draws_run;

   u_foreach_bit (stage, stages)
      classes |= 1u << gpuval_order_stage_class(stage);
   if (is_idle && order->serial >= GPUVAL_SUBMITS_RESTART) {
      gpuval_submits_restart(submits);
      gpuval_device_shadow_restart(order->device);
   }

   bool began = gpuval_submits_work(submits, QUEUE, classes, &order->table, data);
   order->serial = data->serial;
   if (gpuval_device_shadow(order->device))
      gpuval_device_shadow_command(order->device, order->table.threshold, is_idle, data);
   else if (began && is_idle)
      gpuval_device_bloom_barrier(order->device);

   if (stages & LVP_STAGE_MASK_GFX)
      order->draws_run = true;
}

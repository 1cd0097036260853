/* SPDX-License-Identifier: MIT */

#include "gpuval_order_commands.h"

#include "core/order/gpuval_submits.h"

#include <stdlib.h>

#include "util/ralloc.h"

struct gpuval_order_commands {
   struct gpuval_submits *submits;
   unsigned queue;
   uint32_t queue_family;
   const struct gpuval_places *places;
};

struct gpuval_order_commands *
gpuval_order_commands_create(void *mem_ctx, struct gpuval_submits *submits, unsigned queue,
                             uint32_t queue_family, const struct gpuval_places *places)
{
   struct gpuval_order_commands *order = ralloc(mem_ctx, struct gpuval_order_commands);

   *order = (struct gpuval_order_commands){
      .submits = submits,
      .queue = queue,
      .queue_family = queue_family,
      .places = places,
   };
   return order;
}

static void
execute_barrier(const struct gpuval_order_commands *order, const VkDependencyInfo *info)
{
   uint64_t on_stack[64];
   size_t size = gpuval_dependency_size(1, NULL, info);
   struct gpuval_dependency *dependency =
      size <= sizeof(on_stack) ? (struct gpuval_dependency *)on_stack : malloc(size);

   gpuval_dependency_init(dependency, 1, NULL, info, order->queue_family, order->places);
   gpuval_submits_dependency(order->submits, order->queue, dependency);
   if (size > sizeof(on_stack))
      free(dependency);
}

static void
note_dependency(void *data, const struct gpuval_command_dependency *dependency)
{
   const struct gpuval_order_commands *order = data;

   if (dependency->barrier)
      execute_barrier(order, dependency->barrier);
   else
      gpuval_submits_dependency(order->submits, order->queue, dependency->events);
}

static void
set_event(void *data, VkEvent event, VkPipelineStageFlags2 stages)
{
   const struct gpuval_order_commands *order = data;
   gpuval_submits_set_event(order->submits, order->queue, event, stages);
}

static void
reset_event(void *data, VkEvent event)
{
   const struct gpuval_order_commands *order = data;
   gpuval_submits_reset_event(order->submits, event);
}

const struct gpuval_command_observer gpuval_order_observer = {
   .dependency = note_dependency,
   .set_event = set_event,
   .reset_event = reset_event,
};

/* SPDX-License-Identifier: MIT */

/* What order comes from, on lavapipe: where the sync check is on. */

#ifndef GPUVAL_LVP_ORDER_H
#define GPUVAL_LVP_ORDER_H

#include "gpuval/src/core/commands/gpuval_order_commands.h"
#include "gpuval/src/core/gpuval_hooks.h"

struct gpuval_device;
struct gpuval_lvp;
struct gpuval_sync_commands;
struct lvp_cmd_buffer;
struct lvp_device;

struct gpuval_lvp_order {
   struct gpuval_hooks hooks;
   struct gpuval_submits_table table;
   struct gpuval_device *device;
   struct gpuval_order_commands *observer;
   struct gpuval_sync_commands *sync; /* NULL: without shadow memory */
   uint32_t serial;                   /* of the last command */
   bool draws_run;                    /* fragments may be on their way */
};

void gpuval_lvp_order_init(struct gpuval_lvp_order *order, struct lvp_device *device,
                           struct gpuval_device *gpuval);
/** Waits for events keep their barriers: needs nothing but vk_device::gpuval. */
void gpuval_lvp_order_hook_events(struct vk_device_dispatch_table *table);
void gpuval_lvp_order_finish(struct gpuval_lvp_order *order);

/** Has @commands tell order, and sync where it has shadow memory, of what is executed. */
void gpuval_lvp_order_observe(struct gpuval_lvp_order *order, struct gpuval_lvp *gpuval,
                              struct gpuval_commands *commands);

/* On the queue's thread */

void gpuval_lvp_order_begin(struct gpuval_lvp_order *order, struct lvp_cmd_buffer *cmd_buffer);
void gpuval_lvp_order_end(struct gpuval_lvp_order *order);
/** lavapipe waits for what runs before it executes the command that follows. */
void gpuval_lvp_order_waits(struct gpuval_lvp_order *order);
/**
 * Work, before it runs. @stages: bits of mesa_shader_stage; 0: arguments are read. Id and
 * entry bases are in @data.
 */
void gpuval_lvp_order_work(struct gpuval_lvp_order *order, uint32_t stages,
                           struct gpuval_command_data *data);

#endif

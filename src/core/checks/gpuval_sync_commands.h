/* SPDX-License-Identifier: MIT */

/* The check `sync`, of what commands do to bytes of buffers without a shader: copies, fills,
 * updates, results of queries, indices and attributes that draws fetch, counters, predicates, and
 * what acceleration structures are built of. An observer of commands marks shadow memory, whose
 * cells are those of shaders. For drivers whose memory the host may mark right before it executes a
 * command.
 *
 * Not looked at are accesses of which it is not known which bytes they are to: what transform
 * feedback writes, vertices of builds with indices, shader binding tables, scratch memory, what
 * generated commands read.
 */

#ifndef GPUVAL_SYNC_COMMANDS_H
#define GPUVAL_SYNC_COMMANDS_H

#include "base/gpuval_checks.h"
#include "base/gpuval_order.h"
#include "core/commands/gpuval_commands.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gpuval_command_data;
struct gpuval_device;
struct gpuval_draw;
struct gpuval_submits;
struct gpuval_sync_commands;
struct gpuval_vertex_input;

/** What an access of a command is to `sync`. */
struct gpuval_sync_kind {
   enum gpuval_order_class class_;
   enum gpuval_order_access read; /* GPUVAL_ORDER_WRITE: it writes */
   enum gpuval_op op;
};

/**
 * NULL: it is not looked at, or not here, as with arguments that draws and dispatches read, images,
 * and bytes of which it is not known which these are.
 */
const struct gpuval_sync_kind *gpuval_sync_find_kind(const struct gpuval_command_access *access);

/** What only a driver can say. */
struct gpuval_sync_driver {
   /* The id of the command that is visited */
   uint32_t (*command_id)(void *data);
   /* Where a buffer begins; 0: nowhere */
   uint64_t (*find_buffer)(const struct vk_buffer *buffer);
   /* Does nothing run, so that numbers of commands may begin again? */
   bool (*is_idle)(void *data);
   void *data;
};

/** What is visited is what that queue executes. @driver is copied. */
struct gpuval_sync_commands *gpuval_sync_commands_create(void *mem_ctx,
                                                         struct gpuval_device *device,
                                                         struct gpuval_submits *submits,
                                                         unsigned queue,
                                                         const struct gpuval_sync_driver *driver);

/** A draw of the command that is visited is about to fetch indices and attributes. */
void gpuval_sync_commands_fetch(struct gpuval_sync_commands *sync,
                                const struct gpuval_vertex_input *input,
                                const struct gpuval_draw *draw);

/** For a struct gpuval_sync_commands. In front of gpuval_order_observer. */
extern const struct gpuval_command_observer gpuval_sync_observer;

#ifdef __cplusplus
}
#endif

#endif

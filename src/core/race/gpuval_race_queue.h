/* SPDX-License-Identifier: MIT */

/* The check `race`: what the commands of a queue use, in the order in which it executes them (or
 * in which they are handed to it), which is how the order of commands learns of them, too. For
 * any driver whose objects begin with those of Mesa's runtime.
 *
 * What a command without shaders uses is made into parts first, which a driver may keep from
 * when the command is recorded until it is executed: images and buffers in them have to live,
 * and views have not.
 */

#ifndef GPUVAL_RACE_QUEUE_H
#define GPUVAL_RACE_QUEUE_H

#include "core/commands/gpuval_command_attachments.h"
#include "core/order/gpuval_submits.h"
#include "gpuval_race.h"

#include "gpuval/src/compat/gpuval_dynarray.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gpuval_descriptor;
struct gpuval_nir_use;
struct gpuval_objects;
struct gpuval_shader;

/** Where things are; 0: nowhere, or it is not looked at. */
struct gpuval_race_driver {
   /* Has not to be that of a texel, but no other subresource's that does not share the memory.
    * The address behind it stands for stencil. A level of a three-dimensional image is one.
    */
   uint64_t (*find_subresource)(const struct vk_image *image, uint32_t level, uint32_t layer);
   uint64_t (*find_buffer)(const struct vk_buffer *buffer);
};

/* Parts */

struct gpuval_race_part {
   struct gpuval_command_access what;
   unsigned class_;
   bool is_barrier;                              /* gpuval_race_use::is_barrier */
   VkPipelineStageFlags2 src_stages, dst_stages; /* scopes of a transition */

   /* Of an attachment: when it is used, and gpuval_attachment_bit() */
   enum gpuval_attachment_event event;
   uint32_t attachment;
};

/* They are appended to @parts, struct gpuval_race_part. */

/** gpuval_access_function for transfers, @parts being a struct util_dynarray */
void gpuval_race_add_access(void *parts, const struct gpuval_command_access *access);
/** Of a rendering, from its beginning to its end */
void gpuval_race_add_attachments(struct util_dynarray *parts, const VkRenderingInfo *info);
/** A pipeline barrier: its transitions, and the images that it is for. */
void gpuval_race_add_barriers(struct util_dynarray *parts, const VkDependencyInfo *info);
/** Has it transitions? */
bool gpuval_race_has_transitions(const struct util_dynarray *parts);
/** Is it for images and buffers only, and not for all memory? */
bool gpuval_race_is_for_resources(const VkDependencyInfo *info);
/** The same of a wait for events */
void gpuval_race_add_events(struct util_dynarray *parts, const struct gpuval_dependency *events);

/* Execution */

struct gpuval_race_queue;

/** @race: of all queues of a device; the caller sees to it that one at a time is in here. */
struct gpuval_race_queue *gpuval_race_queue_create(void *mem_ctx, struct gpuval_race *race,
                                                   const struct gpuval_race_driver *driver,
                                                   struct gpuval_submits *submits,
                                                   struct gpuval_objects *objects, unsigned number);

/** What comes now is in another segment of notes. */
void gpuval_race_queue_renew(struct gpuval_race_queue *queue);
/** A primary command buffer begins. */
void gpuval_race_queue_begin(struct gpuval_race_queue *queue);

/** Serial of what has come last */
uint32_t gpuval_race_queue_serial(const struct gpuval_race_queue *queue);

/** A command that is not one of the following: a pass may not go on behind it. */
void gpuval_race_queue_other(struct gpuval_race_queue *queue);
/** A command with these parts, before it is executed. */
void gpuval_race_queue_use(struct gpuval_race_queue *queue, uint32_t command_id,
                           const struct util_dynarray *parts);
/**
 * The same for a rendering, of which each access has the command that did it: the one that begins
 * it has load operations, draws have what they draw to, and the one that ends it store operations
 * and resolves.
 */
void gpuval_race_queue_begin_pass(struct gpuval_race_queue *queue, uint32_t command_id,
                                  VkRenderingFlags flags, const struct util_dynarray *parts);
/** A draw, or one that clears attachments. @attachments: bits; does nothing outside of renderings. */
void gpuval_race_queue_draw(struct gpuval_race_queue *queue, uint32_t command_id,
                            uint32_t attachments);
void gpuval_race_queue_end_pass(struct gpuval_race_queue *queue, uint32_t command_id);
/**
 * and for a pipeline barrier, before the order of commands learns of it.
 * @is_for_resources: gpuval_race_is_for_resources()
 */
void gpuval_race_queue_barrier(struct gpuval_race_queue *queue, uint32_t command_id,
                               bool is_for_resources, const struct util_dynarray *parts);
void gpuval_race_queue_events(struct gpuval_race_queue *queue, uint32_t command_id,
                              const struct gpuval_dependency *events,
                              const struct util_dynarray *parts);

/* Steps: what a queue is told of one command without shaders, at once or when it executes it */

enum gpuval_race_step_type {
   GPUVAL_RACE_OTHER,
   GPUVAL_RACE_USE,
   GPUVAL_RACE_BEGIN_PASS,
   GPUVAL_RACE_DRAW,
   GPUVAL_RACE_END_PASS,
   GPUVAL_RACE_BARRIER,
   GPUVAL_RACE_EVENTS,
};

struct gpuval_race_step {
   enum gpuval_race_step_type type;
   uint32_t command_id;
   uint32_t last_id;                       /* DRAW: the last of several draws, */
   uint32_t attachments;                   /* and bits */
   VkRenderingFlags flags;                 /* BEGIN_PASS */
   bool is_for_resources;                  /* BARRIER: gpuval_race_is_for_resources() */
   const struct gpuval_dependency *events; /* EVENTS */
   struct util_dynarray parts;             /* struct gpuval_race_part */
};

/** Returns a copy, with its parts, of a step that lives no longer than a call. */
struct gpuval_race_step *gpuval_race_step_copy(void *mem_ctx, const struct gpuval_race_step *step);
/** The command comes next: calls one of the functions above. */
void gpuval_race_queue_execute(struct gpuval_race_queue *queue,
                               const struct gpuval_race_step *step);

/**
 * What the host does itself, before it does so: @op is static. @queue is none that executes
 * commands, and has a number of its own, or does not end with it.
 */
void gpuval_race_queue_host(struct gpuval_race_queue *queue, const char *op,
                            const struct util_dynarray *parts);

/**
 * What a shader of @class_ may use, which has GPUVAL_USE_RACE: it has if it sets @bit of @flag.
 * Returns false if nobody wants to know.
 */
bool gpuval_race_queue_shader(struct gpuval_race_queue *queue, uint32_t command_id, unsigned class_,
                              const struct gpuval_shader *shader, const struct gpuval_nir_use *use,
                              const struct gpuval_descriptor *descriptor, const uint32_t *flag,
                              uint32_t bit);

#ifdef __cplusplus
}
#endif

#endif

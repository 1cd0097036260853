/* SPDX-License-Identifier: MIT */

/* What is ordered before what: the model behind the tables of base/gpuval_order.h. It
 * knows neither a driver nor an engine, and is fed with what queues execute, in the
 * order in which they do (or would: in which they are submitted). Callers see to it
 * that only one thread is in here at a time.
 */

#ifndef GPUVAL_ORDER_MODEL_H
#define GPUVAL_ORDER_MODEL_H

#include <vulkan/vulkan_core.h>

#include "base/gpuval_order.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Classes that tables do not have: two in the place of those that stand for queues */
#define GPUVAL_ORDER_COLOR (GPUVAL_ORDER_STAGE_CLASSES + 0)
#define GPUVAL_ORDER_DEPTH (GPUVAL_ORDER_STAGE_CLASSES + 1)
#define GPUVAL_ORDER_HOST  (GPUVAL_ORDER_CLASSES + 0) /* of queue 0: of all */
/* Tests of depth and stencil are early or late, GPUVAL_ORDER_DEPTH: either. These are not: */
#define GPUVAL_ORDER_DEPTH_LOAD  (GPUVAL_ORDER_CLASSES + 1)
#define GPUVAL_ORDER_DEPTH_STORE (GPUVAL_ORDER_CLASSES + 2)
/* Changes of layouts, which are in no stage: so many that one call makes between different scopes
 * are told apart, the others are one with the last of them.
 */
#define GPUVAL_ORDER_TRANSITION  (GPUVAL_ORDER_CLASSES + 3)
#define GPUVAL_ORDER_TRANSITIONS 5
/* Four are compared at once. */
#define GPUVAL_ORDER_MODEL_CLASSES (GPUVAL_ORDER_TRANSITION + GPUVAL_ORDER_TRANSITIONS)
static_assert(GPUVAL_ORDER_MODEL_CLASSES % 4 == 0, "four are compared at once");

/** The stages of Vulkan's that a class runs in; 0: none. */
static inline VkPipelineStageFlags2
gpuval_order_class_stage(unsigned class_)
{
   static const VkPipelineStageFlags2 stages[GPUVAL_ORDER_MODEL_CLASSES] = {
      [GPUVAL_ORDER_INDIRECT] = VK_PIPELINE_STAGE_2_DRAW_INDIRECT_BIT,
      [GPUVAL_ORDER_VERTEX] = VK_PIPELINE_STAGE_2_VERTEX_SHADER_BIT,
      [GPUVAL_ORDER_TESS_CTRL] = VK_PIPELINE_STAGE_2_TESSELLATION_CONTROL_SHADER_BIT,
      [GPUVAL_ORDER_TESS_EVAL] = VK_PIPELINE_STAGE_2_TESSELLATION_EVALUATION_SHADER_BIT,
      [GPUVAL_ORDER_GEOMETRY] = VK_PIPELINE_STAGE_2_GEOMETRY_SHADER_BIT,
      [GPUVAL_ORDER_TASK] = VK_PIPELINE_STAGE_2_TASK_SHADER_BIT_EXT,
      [GPUVAL_ORDER_MESH] = VK_PIPELINE_STAGE_2_MESH_SHADER_BIT_EXT,
      [GPUVAL_ORDER_FRAGMENT] = VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT,
      [GPUVAL_ORDER_COMPUTE] = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT,
      [GPUVAL_ORDER_RAYS] = VK_PIPELINE_STAGE_2_RAY_TRACING_SHADER_BIT_KHR,
      [GPUVAL_ORDER_COLOR] = VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT,
      [GPUVAL_ORDER_DEPTH] =
         VK_PIPELINE_STAGE_2_EARLY_FRAGMENT_TESTS_BIT | VK_PIPELINE_STAGE_2_LATE_FRAGMENT_TESTS_BIT,
      [GPUVAL_ORDER_TRANSFER] = VK_PIPELINE_STAGE_2_COPY_BIT | VK_PIPELINE_STAGE_2_BLIT_BIT |
                                VK_PIPELINE_STAGE_2_RESOLVE_BIT | VK_PIPELINE_STAGE_2_CLEAR_BIT,
      [GPUVAL_ORDER_VERTEX_INPUT] =
         VK_PIPELINE_STAGE_2_INDEX_INPUT_BIT | VK_PIPELINE_STAGE_2_VERTEX_ATTRIBUTE_INPUT_BIT,
      [GPUVAL_ORDER_AUXILIARY] = VK_PIPELINE_STAGE_2_DRAW_INDIRECT_BIT |
                                 VK_PIPELINE_STAGE_2_TRANSFORM_FEEDBACK_BIT_EXT |
                                 VK_PIPELINE_STAGE_2_CONDITIONAL_RENDERING_BIT_EXT |
                                 VK_PIPELINE_STAGE_2_COMMAND_PREPROCESS_BIT_EXT,
      [GPUVAL_ORDER_STRUCTURES] = VK_PIPELINE_STAGE_2_ACCELERATION_STRUCTURE_BUILD_BIT_KHR |
                                  VK_PIPELINE_STAGE_2_ACCELERATION_STRUCTURE_COPY_BIT_KHR,
      [GPUVAL_ORDER_HOST] = 0,
      [GPUVAL_ORDER_DEPTH_LOAD] = VK_PIPELINE_STAGE_2_EARLY_FRAGMENT_TESTS_BIT,
      [GPUVAL_ORDER_DEPTH_STORE] = VK_PIPELINE_STAGE_2_LATE_FRAGMENT_TESTS_BIT,
      [GPUVAL_ORDER_TRANSITION] = 0,
   };
   return stages[class_];
}

/** Is it one of attachments of depth and stencil? */
static inline bool
gpuval_order_is_depth(unsigned class_)
{
   return class_ == GPUVAL_ORDER_DEPTH || class_ == GPUVAL_ORDER_DEPTH_LOAD ||
          class_ == GPUVAL_ORDER_DEPTH_STORE;
}

/** Is it one whose accesses to bytes of memory are looked at? */
static inline bool
gpuval_order_has_bytes(unsigned class_)
{
   return class_ != GPUVAL_ORDER_COLOR && class_ != GPUVAL_ORDER_DEPTH &&
          class_ < GPUVAL_ORDER_CLASSES;
}

struct gpuval_order;

/** Queues are numbers from 0 on; 0 is the main queue. */
struct gpuval_order *gpuval_order_create(unsigned num_queues);
void gpuval_order_destroy(struct gpuval_order *order);

/**
 * Everything that came before is over, and whoever has remembered its serials has
 * forgotten them: serials begin again at 1. Points and snapshots of before say
 * nothing any more.
 */
void gpuval_order_restart(struct gpuval_order *order);

/** One part of a dependency, with scopes as in VkMemoryBarrier2. */
struct gpuval_order_barrier {
   VkPipelineStageFlags2 src_stages, dst_stages;
   VkAccessFlags2 src_access, dst_access;
   uint64_t begin, end; /* addresses that the accesses are to; none: execution only */
};
#define GPUVAL_ORDER_ALL_MEMORY .begin = 0, .end = UINT64_MAX

/** A pipeline barrier: its parts happen at once. */
void gpuval_order_dependency(struct gpuval_order *order, unsigned queue, unsigned count,
                             const struct gpuval_order_barrier *barriers);

/** What an event knows that was set now. Freed by ralloc_free(). */
struct gpuval_order_snapshot;
struct gpuval_order_snapshot *gpuval_order_set_event(struct gpuval_order *order, unsigned queue,
                                                     VkPipelineStageFlags2 stages);
/** The same of one that the host sets, which has seen @host. */
struct gpuval_order_point;
struct gpuval_order_snapshot *gpuval_order_host_set_event(struct gpuval_order *order,
                                                          const struct gpuval_order_point *host);
/** The serial of what had come last in @queue when the event was set; 0: of another queue, or era. */
uint32_t gpuval_order_snapshot_serial(const struct gpuval_order *order, unsigned queue,
                                      const struct gpuval_order_snapshot *snapshot);
/** A wait for an event: as a dependency, but what was set is the first scope. */
void gpuval_order_wait_event(struct gpuval_order *order, unsigned queue,
                             const struct gpuval_order_snapshot *snapshot, unsigned count,
                             const struct gpuval_order_barrier *barriers);

/** Something that all memory is ordered by: what a semaphore or fence signals, or what
 * the host has seen. Freed by ralloc_free().
 */
struct gpuval_order_point *gpuval_order_point_create(struct gpuval_order *order);
/** @point takes in what comes before a signal of @queue after @stages. */
void gpuval_order_signal(struct gpuval_order *order, unsigned queue, VkPipelineStageFlags2 stages,
                         struct gpuval_order_point *point);
/** The same for all that has come so far, */
void gpuval_order_everything(struct gpuval_order *order, struct gpuval_order_point *point);
/** for what an event's first scope was, */
void gpuval_order_event_signal(struct gpuval_order *order,
                               const struct gpuval_order_snapshot *snapshot,
                               struct gpuval_order_point *point);
/** and for another point. */
void gpuval_order_merge(struct gpuval_order *order, struct gpuval_order_point *point,
                        const struct gpuval_order_point *other);
/**
 * The host uses something, and @host is what it has seen. Returns the serial, up to which @host is
 * from now on. @before, one entry a source, becomes what is ordered before it.
 */
uint32_t gpuval_order_host_use(struct gpuval_order *order, struct gpuval_order_point *host,
                               uint32_t *before);
/** What comes in @queue's @stages from now on comes after @point. */
void gpuval_order_wait(struct gpuval_order *order, unsigned queue,
                       const struct gpuval_order_point *point, VkPipelineStageFlags2 stages);

/** What is ordered before what comes in @queue. gpuval_order_restore() frees it, which may be NULL.
 */
struct gpuval_order_saved;
struct gpuval_order_saved *gpuval_order_save(struct gpuval_order *order, unsigned queue);
void gpuval_order_restore(struct gpuval_order *order, unsigned queue,
                          struct gpuval_order_saved *saved);

/**
 * Work comes now, in the stages of @classes (bits). Returns its serial, of a new span if
 * anything has happened since the last one.
 */
uint32_t gpuval_order_work(struct gpuval_order *order, unsigned queue, uint32_t classes);
/** The same of something that tables need not know. */
uint32_t gpuval_order_use(struct gpuval_order *order, unsigned queue);

/** What a change of layouts is known by */
struct gpuval_order_mark {
   unsigned source;
   uint32_t serial;
};

/**
 * Layouts change with the pipeline barrier that comes next, in those of its parts that have these
 * stages; to be called once for each of several scopes. @before, one entry a source, becomes what
 * is ordered before it. What comes in the second scope comes after it, and so do transitions of
 * later calls.
 */
struct gpuval_order_mark gpuval_order_transition(struct gpuval_order *order, unsigned queue,
                                                 VkPipelineStageFlags2 src_stages,
                                                 VkPipelineStageFlags2 dst_stages,
                                                 uint32_t *before);
/**
 * The same with waits for events, up to gpuval_order_end_transition(): it comes after @point, and
 * before the second scopes of all parts.
 */
struct gpuval_order_mark gpuval_order_point_transition(struct gpuval_order *order, unsigned queue,
                                                       const struct gpuval_order_point *point,
                                                       uint32_t *before);
void gpuval_order_end_transition(struct gpuval_order *order, unsigned queue);

/** The serial of what has come last in the queue. */
uint32_t gpuval_order_serial(const struct gpuval_order *order, unsigned queue);

/** Changes whenever a table of the queue would. */
uint64_t gpuval_order_version(const struct gpuval_order *order, unsigned queue);
/** Changes when a threshold may, though the version does not. */
uint64_t gpuval_order_num_spans(const struct gpuval_order *order);
/**
 * Fills in the row of an access of @class_, whichever it is, that would come now to @address.
 * Returns up to which address, exclusive, it is the same one.
 */
uint64_t gpuval_order_get_row(const struct gpuval_order *order, unsigned queue,
                              enum gpuval_order_class class_, uint64_t address,
                              struct gpuval_order_row *row);
/** Fills in the rows of @classes (bits) of shaders, and all that is not rows. */
void gpuval_order_fill_table(const struct gpuval_order *order, unsigned queue, uint32_t classes,
                             struct gpuval_order_table *table);
/** See struct gpuval_order_threshold: for what would come now in the stages of @classes. */
struct gpuval_order_threshold gpuval_order_get_threshold(const struct gpuval_order *order,
                                                         unsigned queue, uint32_t classes);
/** order_class of commands of @queue. */
uint32_t gpuval_order_queue_class(unsigned queue);

/* What tables are made of, without their limits. A source is a stage class of a
 * queue.
 */
static inline unsigned
gpuval_order_source(unsigned queue, unsigned class_)
{
   return queue * GPUVAL_ORDER_MODEL_CLASSES + class_;
}
static inline unsigned
gpuval_order_source_queue(unsigned source)
{
   return source / GPUVAL_ORDER_MODEL_CLASSES;
}
static inline unsigned
gpuval_order_source_class(unsigned source)
{
   return source % GPUVAL_ORDER_MODEL_CLASSES;
}
unsigned gpuval_order_num_sources(const struct gpuval_order *order);

/** Watermarks for an access of @class_ that would come now in @queue: execution, */
uint32_t gpuval_order_executed(const struct gpuval_order *order, unsigned queue, unsigned class_,
                               unsigned source);
/** execution of anything at all: what has come in whatever stage, */
uint32_t gpuval_order_any_executed(const struct gpuval_order *order, unsigned queue,
                                   unsigned source);
/** memory, for anything at any address: what somebody has made available somehow, */
uint32_t gpuval_order_made_available(const struct gpuval_order *order, unsigned queue,
                                     unsigned source);
/** memory, at an address, */
uint32_t gpuval_order_available(const struct gpuval_order *order, unsigned queue,
                                enum gpuval_order_class class_, enum gpuval_order_access access,
                                uint64_t address, unsigned source);
/** and the highest of the latter at any address: for writes, and for any read but of rays. */
uint32_t gpuval_order_any_available(const struct gpuval_order *order, unsigned queue,
                                    enum gpuval_order_class class_, unsigned source);
uint32_t gpuval_order_any_visible(const struct gpuval_order *order, unsigned queue,
                                  enum gpuval_order_class class_, unsigned source);

#ifdef __cplusplus
}
#endif

#endif

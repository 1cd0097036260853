/* SPDX-License-Identifier: MIT */

#include "gpuval_order_model.h"

#include <string.h>
#include <strings.h>

#include "util/ralloc.h"
#include "gpuval_order_state.h"

#define WRITES                                                                                     \
   (VK_ACCESS_2_SHADER_WRITE_BIT | VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT |                          \
    VK_ACCESS_2_MEMORY_WRITE_BIT)

#define STORAGE_READS                                                                              \
   (VK_ACCESS_2_SHADER_READ_BIT | VK_ACCESS_2_SHADER_STORAGE_READ_BIT | VK_ACCESS_2_MEMORY_READ_BIT)

/* How a class writes to memory */
static VkAccessFlags2
class_writes(unsigned class_)
{
   switch (class_) {
   case GPUVAL_ORDER_COLOR:
      return VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT;
   case GPUVAL_ORDER_DEPTH:
   case GPUVAL_ORDER_DEPTH_LOAD:
   case GPUVAL_ORDER_DEPTH_STORE:
      return VK_ACCESS_2_DEPTH_STENCIL_ATTACHMENT_WRITE_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT;
   case GPUVAL_ORDER_TRANSFER:
      return VK_ACCESS_2_TRANSFER_WRITE_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT;
   case GPUVAL_ORDER_AUXILIARY:
      return VK_ACCESS_2_TRANSFORM_FEEDBACK_WRITE_BIT_EXT |
             VK_ACCESS_2_TRANSFORM_FEEDBACK_COUNTER_WRITE_BIT_EXT |
             VK_ACCESS_2_COMMAND_PREPROCESS_WRITE_BIT_EXT | VK_ACCESS_2_MEMORY_WRITE_BIT;
   case GPUVAL_ORDER_STRUCTURES:
      return VK_ACCESS_2_ACCELERATION_STRUCTURE_WRITE_BIT_KHR | VK_ACCESS_2_TRANSFER_WRITE_BIT |
             VK_ACCESS_2_MEMORY_WRITE_BIT;
   default:
      return WRITES;
   }
}

/* What second scopes a read is in: stages, and kinds of access */
struct reader {
   VkPipelineStageFlags2 stages; /* 0: those of its class */
   VkAccessFlags2 access;
};

#define ANY_READ(access_)                                                                          \
   {                                                                                               \
      .access = (access_) | VK_ACCESS_2_MEMORY_READ_BIT                                            \
   }
#define ALL_READS(access_)                                                                         \
   {                                                                                               \
      ANY_READ(access_), ANY_READ(access_), ANY_READ(access_), ANY_READ(access_),                  \
         ANY_READ(access_)                                                                         \
   }
#define READ_AT(stages_, access_)                                                                  \
   {                                                                                               \
      stages_, (access_) | VK_ACCESS_2_MEMORY_READ_BIT                                             \
   }
#define AT(access) [GPUVAL_ORDER_##access - GPUVAL_ORDER_ATOMIC]
static_assert(READS == 5, "ALL_READS() has as many");

/* Those of a class without shaders */
static const struct reader command_readers[GPUVAL_ORDER_CLASSES][READS] = {
   [GPUVAL_ORDER_INDIRECT] = ALL_READS(VK_ACCESS_2_INDIRECT_COMMAND_READ_BIT),
   [GPUVAL_ORDER_TRANSFER] = ALL_READS(VK_ACCESS_2_TRANSFER_READ_BIT),
   [GPUVAL_ORDER_VERTEX_INPUT] =
      {
         AT(ATTRIBUTE_READ) = READ_AT(VK_PIPELINE_STAGE_2_VERTEX_ATTRIBUTE_INPUT_BIT,
                                      VK_ACCESS_2_VERTEX_ATTRIBUTE_READ_BIT),
         AT(INDEX_READ) = READ_AT(VK_PIPELINE_STAGE_2_INDEX_INPUT_BIT, VK_ACCESS_2_INDEX_READ_BIT),
      },
   [GPUVAL_ORDER_AUXILIARY] =
      {
         AT(COUNTER_READ) = READ_AT(
            VK_PIPELINE_STAGE_2_DRAW_INDIRECT_BIT | VK_PIPELINE_STAGE_2_TRANSFORM_FEEDBACK_BIT_EXT,
            VK_ACCESS_2_TRANSFORM_FEEDBACK_COUNTER_READ_BIT_EXT),
         AT(PREDICATE_READ) = READ_AT(VK_PIPELINE_STAGE_2_CONDITIONAL_RENDERING_BIT_EXT,
                                      VK_ACCESS_2_CONDITIONAL_RENDERING_READ_BIT_EXT),
         AT(PREPROCESS_READ) = READ_AT(VK_PIPELINE_STAGE_2_COMMAND_PREPROCESS_BIT_EXT,
                                       VK_ACCESS_2_COMMAND_PREPROCESS_READ_BIT_EXT),
      },
   [GPUVAL_ORDER_STRUCTURES] =
      {
         AT(BUILD_ARGUMENT_READ) = ANY_READ(VK_ACCESS_2_INDIRECT_COMMAND_READ_BIT),
         AT(STRUCTURE_READ) = ANY_READ(VK_ACCESS_2_ACCELERATION_STRUCTURE_READ_BIT_KHR),
         AT(BUILD_INPUT_READ) =
            ANY_READ(VK_ACCESS_2_SHADER_READ_BIT | VK_ACCESS_2_SHADER_STORAGE_READ_BIT),
         AT(SERIALIZED_READ) = ANY_READ(VK_ACCESS_2_TRANSFER_READ_BIT),
      },
};

/* Those of shaders. An atomic is a read and a write. */
static const struct reader shader_readers[READS] = {
   AT(ATOMIC) = {.access = STORAGE_READS | WRITES},
   AT(STORAGE_READ) = {.access = STORAGE_READS},
   AT(UNIFORM_READ) = ANY_READ(VK_ACCESS_2_UNIFORM_READ_BIT),
   AT(SAMPLED_READ) = ANY_READ(VK_ACCESS_2_SHADER_READ_BIT | VK_ACCESS_2_SHADER_SAMPLED_READ_BIT),
   AT(RAY_READ) = ANY_READ(VK_ACCESS_2_ACCELERATION_STRUCTURE_READ_BIT_KHR),
};

static const struct reader *
get_reader(unsigned class_, unsigned read)
{
   bool has_shaders = class_ != GPUVAL_ORDER_INDIRECT && class_ < GPUVAL_ORDER_STAGE_CLASSES;
   return has_shaders ? &shader_readers[read] : &command_readers[class_][read];
}

static VkPipelineStageFlags2
get_all_stages(void)
{
   VkPipelineStageFlags2 stages = 0;

   for (unsigned i = 0; i < GPUVAL_ORDER_MODEL_CLASSES; i++)
      stages |= gpuval_order_class_stage(i);
   return stages;
}

struct gpuval_order_point {
   uint32_t era;
   uint32_t watermarks[];
};

struct gpuval_order_snapshot {
   uint32_t era;
   int queue; /* -1: the host */
   uint32_t serial;
   struct last_changes last;
   struct gpuval_order_stages first;
   struct state state;
};

/* What has run in @stages up to now */
static void
raise_by_work(uint32_t *to, unsigned queue, VkPipelineStageFlags2 stages, uint32_t serial)
{
   for (unsigned i = 0; i < GPUVAL_ORDER_MODEL_CLASSES; i++) {
      uint32_t *watermark = &to[gpuval_order_source(queue, i)];
      if (stages & gpuval_order_class_stage(i))
         *watermark = MAX2(*watermark, serial);
   }
}

/* Layouts change in dependencies, which are commands of no stage: a first scope has a transition if
 * it has all of these stages.
 */
#define TRANSITION_STAGES                                                                          \
   (VK_PIPELINE_STAGE_2_DRAW_INDIRECT_BIT | VK_PIPELINE_STAGE_2_VERTEX_SHADER_BIT |                \
    VK_PIPELINE_STAGE_2_TESSELLATION_CONTROL_SHADER_BIT |                                          \
    VK_PIPELINE_STAGE_2_TESSELLATION_EVALUATION_SHADER_BIT |                                       \
    VK_PIPELINE_STAGE_2_GEOMETRY_SHADER_BIT | VK_PIPELINE_STAGE_2_TASK_SHADER_BIT_EXT |            \
    VK_PIPELINE_STAGE_2_MESH_SHADER_BIT_EXT | VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT |            \
    VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_2_RAY_TRACING_SHADER_BIT_KHR |      \
    VK_PIPELINE_STAGE_2_COPY_BIT | VK_PIPELINE_STAGE_2_BLIT_BIT |                                  \
    VK_PIPELINE_STAGE_2_RESOLVE_BIT | VK_PIPELINE_STAGE_2_CLEAR_BIT |                              \
    VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT |                                              \
    VK_PIPELINE_STAGE_2_EARLY_FRAGMENT_TESTS_BIT | VK_PIPELINE_STAGE_2_LATE_FRAGMENT_TESTS_BIT)

/* Final layouts of a render pass that nothing is ordered behind are changed with the pass, most
 * programs think: a first scope with what it has drawn has them, too.
 */
#define FINAL_STAGES                                                                               \
   (VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT | VK_PIPELINE_STAGE_2_LATE_FRAGMENT_TESTS_BIT)

static void
raise_by_transitions(uint32_t *to, unsigned queue, VkPipelineStageFlags2 stages,
                     const struct last_changes *last)
{
   uint32_t *watermarks = &to[gpuval_order_source(queue, GPUVAL_ORDER_TRANSITION)];
   uint32_t serial = !(TRANSITION_STAGES & ~stages) ? last->any
                     : stages & FINAL_STAGES        ? last->final
                                                    : 0;

   for (unsigned i = 0; i < GPUVAL_ORDER_TRANSITIONS; i++)
      watermarks[i] = MAX2(watermarks[i], serial);
}

/* Dependencies */

/* A part of a dependency, and what it was applied to */
struct part {
   const struct gpuval_order_barrier *barrier;
   struct gpuval_order_stages first, second;
   int queue;    /* whose work the first scope has; -1: none */
   unsigned own; /* the one that it is applied to */
   uint32_t serial;
   struct last_changes last; /* the queue's then */
   struct state *from;
   bool is_seen; /* SEEN stays as it is */
};

/* Nothing is higher than the serial of the only queue. */
static bool
covers_all(const struct gpuval_order *order, const struct part *part, VkPipelineStageFlags2 stages)
{
   return order->num_queues == 1 && part->queue >= 0 && !(get_all_stages() & ~stages);
}

/* Of those of earlier calls, the last ones, or what is behind them */
static struct last_changes
get_earlier_changes(const struct queue *queue)
{
   return queue->num_changes ? queue->earlier : queue->last;
}

/* Layouts that change with it do so after all those that earlier calls have changed. */
static void
raise_by_changes(const struct queue *queue, const struct part *part, uint32_t *to)
{
   uint32_t *watermarks = &to[gpuval_order_source(part->own, GPUVAL_ORDER_TRANSITION)];

   for (unsigned i = 0; i < queue->num_changes; i++) {
      const struct change *change = &queue->changes[i];
      bool is_meant = change->is_of_all || (change->src_stages == part->barrier->src_stages &&
                                            change->dst_stages == part->barrier->dst_stages);
      if (!is_meant)
         continue;
      for (unsigned j = 0; j < GPUVAL_ORDER_TRANSITIONS; j++)
         watermarks[j] = MAX2(watermarks[j], i == j ? change->serial : queue->earlier.any);
   }
}

static void
apply_execution(const struct gpuval_order *order, struct state *to, const struct part *part,
                uint32_t *vector)
{
   memset(vector, 0, order->num_sources * sizeof(*vector));
   if (!covers_all(order, part, part->first.execution))
      raise_by_stages(order, vector, part->from->execution, EXECUTED, part->first.execution);
   if (part->queue >= 0) {
      raise_by_work(vector, part->queue, part->first.execution, part->serial);
      raise_by_transitions(vector, part->queue, part->first.execution, &part->last);
   }
   if (order->queues[part->own].num_changes)
      raise_by_changes(&order->queues[part->own], part, vector);
   raise_stages(order, to->execution, EXECUTED, part->second.execution, vector);

   if (part->is_seen)
      return;
   memset(vector, 0, order->num_sources * sizeof(*vector));
   raise_by_stages(order, vector, part->from->execution, SEEN, part->first.execution);
   raise_stages(order, to->execution, SEEN, part->second.execution, vector);
}

/* Depth is stored late what it was loaded as early: either stage does for it. */
static VkPipelineStageFlags2
write_stages(unsigned class_)
{
   return gpuval_order_class_stage(gpuval_order_is_depth(class_) ? GPUVAL_ORDER_DEPTH : class_);
}

/* What has been written in the stages of the first scope by @access */
static void
raise_by_writes(uint32_t *to, const struct part *part, VkAccessFlags2 access)
{
   for (unsigned i = 0; i < GPUVAL_ORDER_MODEL_CLASSES; i++) {
      uint32_t *watermark = &to[gpuval_order_source(part->queue, i)];
      if (part->first.access & write_stages(i) && access & class_writes(i))
         *watermark = MAX2(*watermark, part->serial);
   }
}

static bool
is_visible_to(const struct reader *reader, VkPipelineStageFlags2 stages, VkAccessFlags2 access)
{
   return access & reader->access && (!reader->stages || stages & reader->stages);
}

/* @from may be @to. @is_meant: the barrier's accesses are to this memory. */
static void
apply_memory(const struct gpuval_order *order, uint32_t *to, uint32_t *from,
             const struct part *part, bool is_meant, uint32_t *vector)
{
   const struct gpuval_order_barrier *barrier = part->barrier;

   memset(vector, 0, order->num_sources * sizeof(*vector));
   bool has_written = is_meant && part->queue >= 0;
   bool has_all = has_written && barrier->src_access & VK_ACCESS_2_MEMORY_WRITE_BIT &&
                  covers_all(order, part, part->first.access);
   if (!has_all)
      raise_by_stages(order, vector, from, AVAILABLE, part->first.execution);
   if (has_written)
      raise_by_writes(vector, part, barrier->src_access);
   raise_stages(order, to, AVAILABLE, part->second.execution, vector);

   for (unsigned i = 0; is_meant && i < GPUVAL_ORDER_CLASSES; i++) {
      if (!gpuval_order_has_bytes(i) || !(part->second.access & gpuval_order_class_stage(i)))
         continue;
      for (unsigned j = 0; j < READS; j++) {
         if (is_visible_to(get_reader(i, j), part->second.access, barrier->dst_access))
            raise_vector(order, get_vector(order, to, VISIBLE + i * READS + j), vector);
      }
   }
}

static void
apply(const struct gpuval_order *order, struct state *to, const struct part *part)
{
   const struct gpuval_order_barrier *barrier = part->barrier;
   uint32_t *vector = ralloc_array(NULL, uint32_t, order->num_sources);

   apply_execution(order, to, part, vector);

   bool has_memory = barrier->begin < barrier->end;
   bool is_global = has_memory && !barrier->begin && barrier->end == UINT64_MAX;
   if (has_memory && !is_global)
      is_global = !gpuval_order_split_ranges(order, to, barrier->begin, barrier->end);

   for (unsigned i = 0; i < to->num_ranges; i++) {
      struct range *range = &to->ranges[i];
      bool is_inside = range->begin >= barrier->begin && range->end <= barrier->end;
      apply_memory(order, range->memory, gpuval_order_find_memory(part->from, range->begin), part,
                   has_memory && (is_global || is_inside), vector);
   }
   apply_memory(order, to->memory, part->from->memory, part, is_global, vector);
   ralloc_free(vector);
}

static void
change(struct queue *queue)
{
   queue->has_changed = true;
   queue->version++;
}

/* The parts of one dependency look at the same past: no chain goes from one to another. */
static void
apply_parts(struct gpuval_order *order, unsigned index, struct part part, unsigned count,
            const struct gpuval_order_barrier *barriers)
{
   struct queue *queue = &order->queues[index];
   const struct gpuval_order_stages limit = part.first;

   part.own = index;
   for (unsigned i = 0; i < count; i++) {
      part.barrier = &barriers[i];
      part.first = gpuval_order_first_stages(barriers[i].src_stages);
      part.first.access &= limit.access;
      part.first.execution &= limit.execution;
      part.second = gpuval_order_second_stages(barriers[i].dst_stages);
      apply(order, &queue->state, &part);
   }
   gpuval_order_join_ranges(order, &queue->state);
   change(queue);
}

void
gpuval_order_dependency(struct gpuval_order *order, unsigned index, unsigned count,
                        const struct gpuval_order_barrier *barriers)
{
   struct queue *queue = &order->queues[index];
   struct part part = {
      .first = {~(VkPipelineStageFlags2)0, ~(VkPipelineStageFlags2)0},
      .queue = (int)index,
      .serial = queue->serial,
      .last = get_earlier_changes(queue),
      .from = &queue->state,
      .is_seen = queue->state.is_seen_by_all,
   };

   /* A part reads a vector before it writes any. */
   struct state before;
   void *mem_ctx = NULL;
   if (count > 1) {
      mem_ctx = ralloc_context(NULL);
      gpuval_order_copy_state(order, mem_ctx, &before, &queue->state);
      part.from = &before;
   }
   apply_parts(order, index, part, count, barriers);
   queue->num_changes = 0;
   ralloc_free(mem_ctx);
}

/* Events */

struct gpuval_order_snapshot *
gpuval_order_set_event(struct gpuval_order *order, unsigned index, VkPipelineStageFlags2 stages)
{
   struct queue *queue = &order->queues[index];
   struct gpuval_order_snapshot *snapshot = rzalloc(NULL, struct gpuval_order_snapshot);

   snapshot->era = order->era;
   snapshot->queue = (int)index;
   snapshot->serial = queue->serial;
   snapshot->last = queue->last;
   snapshot->first = gpuval_order_first_stages(stages);
   gpuval_order_copy_state(order, snapshot, &snapshot->state, &queue->state);
   queue->has_changed = true;
   return snapshot;
}

struct gpuval_order_snapshot *
gpuval_order_host_set_event(struct gpuval_order *order, const struct gpuval_order_point *host)
{
   struct gpuval_order_snapshot *snapshot = rzalloc(NULL, struct gpuval_order_snapshot);
   struct state *state = &snapshot->state;

   snapshot->era = order->era;
   snapshot->queue = -1;
   snapshot->first = gpuval_order_first_stages(VK_PIPELINE_STAGE_2_HOST_BIT);
   gpuval_order_init_state(order, snapshot, state);
   if (host->era == order->era) {
      raise_stages(order, state->execution, EXECUTED, snapshot->first.execution, host->watermarks);
      raise_stages(order, state->memory, AVAILABLE, snapshot->first.execution, host->watermarks);
   }
   return snapshot;
}

uint32_t
gpuval_order_snapshot_serial(const struct gpuval_order *order, unsigned queue,
                             const struct gpuval_order_snapshot *snapshot)
{
   bool is_known = snapshot->era == order->era && snapshot->queue == (int)queue;
   return is_known ? snapshot->serial : 0;
}

void
gpuval_order_wait_event(struct gpuval_order *order, unsigned queue,
                        const struct gpuval_order_snapshot *snapshot, unsigned count,
                        const struct gpuval_order_barrier *barriers)
{
   if (snapshot->era != order->era)
      return;

   /* Boundaries of that time have to be there to look at it range by range. Without
    * room for them, what any range had then, all have.
    */
   void *mem_ctx = NULL;
   struct state state = snapshot->state;
   bool fits = true;
   for (unsigned i = 0; fits && i < state.num_ranges; i++)
      fits = gpuval_order_split_ranges(order, &order->queues[queue].state, state.ranges[i].begin,
                                       state.ranges[i].end);
   if (!fits) {
      mem_ctx = ralloc_context(NULL);
      gpuval_order_copy_state(order, mem_ctx, &state, &snapshot->state);
      for (unsigned i = 0; i < state.num_ranges; i++) {
         for (unsigned j = 0; j < MEMORY_VECTORS; j++)
            raise_vector(order, get_vector(order, state.memory, j),
                         get_vector(order, state.ranges[i].memory, j));
      }
      state.num_ranges = 0;
   }

   struct part part = {
      .first = snapshot->first,
      .queue = snapshot->queue,
      .serial = snapshot->serial,
      .last = snapshot->last,
      .from = &state,
   };
   apply_parts(order, queue, part, count, barriers);
   ralloc_free(mem_ctx);
}

/* Points */

struct gpuval_order_point *
gpuval_order_point_create(struct gpuval_order *order)
{
   struct gpuval_order_point *point =
      rzalloc_size(NULL, sizeof(*point) + order->num_sources * sizeof(point->watermarks[0]));

   point->era = order->era;
   return point;
}

static void
begin_point(const struct gpuval_order *order, struct gpuval_order_point *point)
{
   if (point->era != order->era)
      memset(point->watermarks, 0, order->num_sources * sizeof(point->watermarks[0]));
   point->era = order->era;
}

void
gpuval_order_signal(struct gpuval_order *order, unsigned index, VkPipelineStageFlags2 stages,
                    struct gpuval_order_point *point)
{
   struct queue *queue = &order->queues[index];
   VkPipelineStageFlags2 first = gpuval_order_first_stages(stages).execution;

   begin_point(order, point);
   raise_by_stages(order, point->watermarks, queue->state.execution, EXECUTED, first);
   raise_by_work(point->watermarks, index, first, queue->serial);
   raise_by_transitions(point->watermarks, index, first, &queue->last);
   queue->has_changed = true;
}

void
gpuval_order_everything(struct gpuval_order *order, struct gpuval_order_point *point)
{
   begin_point(order, point);
   for (unsigned i = 0; i < order->num_sources; i++)
      point->watermarks[i] = order->serial;
   for (unsigned i = 0; i < order->num_queues; i++)
      order->queues[i].has_changed = true;
}

void
gpuval_order_event_signal(struct gpuval_order *order, const struct gpuval_order_snapshot *snapshot,
                          struct gpuval_order_point *point)
{
   begin_point(order, point);
   if (snapshot->era != order->era)
      return;
   raise_by_stages(order, point->watermarks, snapshot->state.execution, EXECUTED,
                   snapshot->first.execution);
   if (snapshot->queue >= 0) {
      raise_by_work(point->watermarks, snapshot->queue, snapshot->first.execution,
                    snapshot->serial);
      raise_by_transitions(point->watermarks, snapshot->queue, snapshot->first.execution,
                           &snapshot->last);
   }
}

void
gpuval_order_merge(struct gpuval_order *order, struct gpuval_order_point *point,
                   const struct gpuval_order_point *other)
{
   begin_point(order, point);
   if (other->era == order->era)
      raise_vector(order, point->watermarks, other->watermarks);
}

/* No dependency would change it: all stages of commands have seen the same, and the
 * host's not more.
 */
static bool
is_seen_by_all(const struct gpuval_order *order, uint32_t *execution)
{
   VkPipelineStageFlags2 all =
      gpuval_order_second_stages(VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT).execution;
   const uint32_t *seen = get_vector(order, execution, SEEN + ffsll((long long)all) - 1);

   for (unsigned stage = 0; stage < GPUVAL_ORDER_STAGES; stage++) {
      const uint32_t *other = get_vector(order, execution, SEEN + stage);
      bool is_command = all >> stage & 1;

      for (unsigned i = 0; i < order->num_sources; i++) {
         if (other[i] > seen[i] || (is_command && other[i] < seen[i]))
            return false;
      }
   }
   return true;
}

void
gpuval_order_wait(struct gpuval_order *order, unsigned index,
                  const struct gpuval_order_point *point, VkPipelineStageFlags2 stages)
{
   struct queue *queue = &order->queues[index];
   struct state *state = &queue->state;
   VkPipelineStageFlags2 second = gpuval_order_second_stages(stages).execution;

   if (point->era != order->era)
      return;
   raise_stages(order, state->execution, EXECUTED, second, point->watermarks);
   raise_stages(order, state->execution, SEEN, second, point->watermarks);
   state->is_seen_by_all = is_seen_by_all(order, state->execution);
   raise_stages(order, state->memory, AVAILABLE, second, point->watermarks);
   for (unsigned i = 0; i < state->num_ranges; i++)
      raise_stages(order, state->ranges[i].memory, AVAILABLE, second, point->watermarks);
   gpuval_order_join_ranges(order, state);
   change(queue);
}

struct gpuval_order_saved {
   uint32_t era;
   struct state state;
};

struct gpuval_order_saved *
gpuval_order_save(struct gpuval_order *order, unsigned index)
{
   struct gpuval_order_saved *saved = rzalloc(order, struct gpuval_order_saved);

   saved->era = order->era;
   gpuval_order_copy_state(order, saved, &saved->state, &order->queues[index].state);
   return saved;
}

void
gpuval_order_restore(struct gpuval_order *order, unsigned index, struct gpuval_order_saved *saved)
{
   struct queue *queue = &order->queues[index];

   if (saved && saved->era == order->era) {
      gpuval_order_free_state(&queue->state);
      gpuval_order_copy_state(order, order->queues, &queue->state, &saved->state);
      change(queue);
   }
   ralloc_free(saved);
}

/* Work */

uint32_t
gpuval_order_use(struct gpuval_order *order, unsigned index)
{
   struct queue *queue = &order->queues[index];

   if (queue->has_changed) {
      queue->serial = ++order->serial;
      queue->has_changed = false;
   }
   return queue->serial;
}

uint32_t
gpuval_order_work(struct gpuval_order *order, unsigned index, uint32_t classes)
{
   uint32_t serial = gpuval_order_use(order, index);

   u_foreach_bit (class_, classes) {
      uint32_t *last = &order->last[gpuval_order_source(index, class_)];
      order->num_spans += *last != serial;
      *last = serial;
   }
   return serial;
}

uint32_t
gpuval_order_serial(const struct gpuval_order *order, unsigned queue)
{
   return order->queues[queue].serial;
}

/* What the implicit dependency of a render pass on what follows it changes */
static bool
is_final(const struct change *change)
{
   return change->src_stages == VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT && !change->dst_stages &&
          !change->is_of_all;
}

/* Those of earlier calls come before each of them, and no other one of the same. */
static struct gpuval_order_mark
begin_transition(struct gpuval_order *order, unsigned index, const struct change *change,
                 uint32_t *before)
{
   struct queue *queue = &order->queues[index];
   unsigned first = gpuval_order_source(index, GPUVAL_ORDER_TRANSITION);
   bool has_room = queue->num_changes < GPUVAL_ORDER_TRANSITIONS;
   queue->earlier = get_earlier_changes(queue);
   unsigned i = has_room ? queue->num_changes++ : GPUVAL_ORDER_TRANSITIONS - 1;

   if (has_room) {
      queue->last.any = ++order->serial;
      queue->changes[i] = *change;
      queue->changes[i].serial = queue->last.any;
      if (is_final(change))
         queue->last.final = queue->last.any;
   } else {
      queue->changes[i].is_of_all = true;
   }
   for (unsigned j = 0; j < GPUVAL_ORDER_TRANSITIONS; j++)
      before[first + j] = queue->earlier.any;
   return (struct gpuval_order_mark){first + i, queue->changes[i].serial};
}

struct gpuval_order_mark
gpuval_order_transition(struct gpuval_order *order, unsigned index,
                        VkPipelineStageFlags2 src_stages, VkPipelineStageFlags2 dst_stages,
                        uint32_t *before)
{
   struct queue *queue = &order->queues[index];
   VkPipelineStageFlags2 first = gpuval_order_first_stages(src_stages).execution;
   const struct change change = {.src_stages = src_stages, .dst_stages = dst_stages};

   memset(before, 0, order->num_sources * sizeof(*before));
   raise_by_stages(order, before, queue->state.execution, EXECUTED, first);
   raise_by_work(before, index, first, queue->serial);
   return begin_transition(order, index, &change, before);
}

static void
get_watermarks(const struct gpuval_order *order, const struct gpuval_order_point *point,
               uint32_t *out)
{
   bool is_known = point->era == order->era;

   for (unsigned i = 0; i < order->num_sources; i++)
      out[i] = is_known ? point->watermarks[i] : 0;
}

uint32_t
gpuval_order_host_use(struct gpuval_order *order, struct gpuval_order_point *host, uint32_t *before)
{
   uint32_t serial = ++order->serial;

   begin_point(order, host);
   get_watermarks(order, host, before);
   host->watermarks[gpuval_order_source(0, GPUVAL_ORDER_HOST)] = serial;
   return serial;
}

struct gpuval_order_mark
gpuval_order_point_transition(struct gpuval_order *order, unsigned index,
                              const struct gpuval_order_point *point, uint32_t *before)
{
   const struct change change = {.is_of_all = true};

   get_watermarks(order, point, before);
   return begin_transition(order, index, &change, before);
}

void
gpuval_order_end_transition(struct gpuval_order *order, unsigned index)
{
   order->queues[index].num_changes = 0;
}

/* All */

static void
init_queues(struct gpuval_order *order)
{
   order->queues = rzalloc_array(order, struct queue, order->num_queues);
   for (unsigned i = 0; i < order->num_queues; i++) {
      gpuval_order_init_state(order, order->queues, &order->queues[i].state);
      order->queues[i].has_changed = true;
   }
}

struct gpuval_order *
gpuval_order_create(unsigned num_queues)
{
   struct gpuval_order *order = rzalloc(NULL, struct gpuval_order);

   order->num_queues = num_queues;
   order->num_sources = num_queues * GPUVAL_ORDER_MODEL_CLASSES;
   order->last = rzalloc_array(order, uint32_t, order->num_sources);
   init_queues(order);
   return order;
}

void
gpuval_order_restart(struct gpuval_order *order)
{
   const struct queue *queues = order->queues;

   order->era++;
   order->serial = 0;
   memset(order->last, 0, order->num_sources * sizeof(order->last[0]));
   order->num_spans++;
   init_queues(order);
   for (unsigned i = 0; i < order->num_queues; i++)
      order->queues[i].version = queues[i].version + 1;
   ralloc_free((void *)queues);
}

void
gpuval_order_destroy(struct gpuval_order *order)
{
   ralloc_free(order);
}

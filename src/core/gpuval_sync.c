/* SPDX-License-Identifier: MIT */

#include "gpuval_sync.h"

#include "util/bitscan.h"
#include "util/macros.h"
#include "vk_synchronization.h"

#define GRAPHICS_SHADERS                                                                           \
   (VK_PIPELINE_STAGE_2_VERTEX_SHADER_BIT | VK_PIPELINE_STAGE_2_TESSELLATION_CONTROL_SHADER_BIT |  \
    VK_PIPELINE_STAGE_2_TESSELLATION_EVALUATION_SHADER_BIT |                                       \
    VK_PIPELINE_STAGE_2_GEOMETRY_SHADER_BIT | VK_PIPELINE_STAGE_2_TASK_SHADER_BIT_EXT |            \
    VK_PIPELINE_STAGE_2_MESH_SHADER_BIT_EXT | VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT)

#define SHADERS                                                                                    \
   (GRAPHICS_SHADERS | VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT |                                    \
    VK_PIPELINE_STAGE_2_RAY_TRACING_SHADER_BIT_KHR)

#define SHADER_WRITES                                                                              \
   (VK_ACCESS_2_SHADER_WRITE_BIT | VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT |                          \
    VK_ACCESS_2_MEMORY_WRITE_BIT)

#define SHADER_READS                                                                               \
   (VK_ACCESS_2_SHADER_READ_BIT | VK_ACCESS_2_SHADER_STORAGE_READ_BIT |                            \
    VK_ACCESS_2_SHADER_SAMPLED_READ_BIT | VK_ACCESS_2_UNIFORM_READ_BIT |                           \
    VK_ACCESS_2_MEMORY_READ_BIT)

static const VkPipelineStageFlags2 work_stages[GPUVAL_SYNC_WORK_COUNT] = {
   [GPUVAL_SYNC_GRAPHICS] = GRAPHICS_SHADERS,
   [GPUVAL_SYNC_COMPUTE] = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT,
   [GPUVAL_SYNC_RAYS] = VK_PIPELINE_STAGE_2_RAY_TRACING_SHADER_BIT_KHR,
   [GPUVAL_SYNC_INDIRECT] = VK_PIPELINE_STAGE_2_DRAW_INDIRECT_BIT,
};

/* Vulkan's "logical order" of the stages of draws, those of primitives and those
 * of meshes in one. A dispatch and a trace have DRAW_INDIRECT and their shader.
 */
static const VkPipelineStageFlags2 graphics_order[] = {
   VK_PIPELINE_STAGE_2_DRAW_INDIRECT_BIT,
   VK_PIPELINE_STAGE_2_INDEX_INPUT_BIT,
   VK_PIPELINE_STAGE_2_VERTEX_ATTRIBUTE_INPUT_BIT,
   VK_PIPELINE_STAGE_2_VERTEX_SHADER_BIT,
   VK_PIPELINE_STAGE_2_TESSELLATION_CONTROL_SHADER_BIT,
   VK_PIPELINE_STAGE_2_TESSELLATION_EVALUATION_SHADER_BIT,
   VK_PIPELINE_STAGE_2_GEOMETRY_SHADER_BIT,
   VK_PIPELINE_STAGE_2_TRANSFORM_FEEDBACK_BIT_EXT,
   VK_PIPELINE_STAGE_2_TASK_SHADER_BIT_EXT,
   VK_PIPELINE_STAGE_2_MESH_SHADER_BIT_EXT,
   VK_PIPELINE_STAGE_2_FRAGMENT_SHADING_RATE_ATTACHMENT_BIT_KHR,
   VK_PIPELINE_STAGE_2_EARLY_FRAGMENT_TESTS_BIT,
   VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT,
   VK_PIPELINE_STAGE_2_LATE_FRAGMENT_TESTS_BIT,
   VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT,
};

/* What a dependency says, of whatever kind it is */
struct order {
   VkPipelineStageFlags2 src; /* with the stages that come earlier logically */
   VkPipelineStageFlags2 dst; /* with those that come later */

   VkPipelineStageFlags2 src_writes;   /* whose shaders' writes become available */
   VkPipelineStageFlags2 dst_accesses; /* to which accesses they become visible */

   uint64_t covered; /* last submit that src is about */
};

enum effect {
   NOTHING,
   EXECUTION, /* some work of the epoch has ended */
   MEMORY,    /* and what it wrote is available */
};

static VkPipelineStageFlags2
add_earlier(VkPipelineStageFlags2 stages)
{
   VkPipelineStageFlags2 earlier = 0, all = stages;

   for (unsigned i = 0; i < ARRAY_SIZE(graphics_order); i++) {
      if (stages & graphics_order[i])
         all |= earlier;
      earlier |= graphics_order[i];
   }
   if (stages & SHADERS)
      all |= VK_PIPELINE_STAGE_2_DRAW_INDIRECT_BIT;
   return all;
}

static VkPipelineStageFlags2
add_later(VkPipelineStageFlags2 stages)
{
   bool reached = false;
   VkPipelineStageFlags2 all = stages;

   for (unsigned i = 0; i < ARRAY_SIZE(graphics_order); i++) {
      if (reached)
         all |= graphics_order[i];
      reached |= (stages & graphics_order[i]) != 0;
   }
   if (stages & VK_PIPELINE_STAGE_2_DRAW_INDIRECT_BIT)
      all |= SHADERS;
   return all;
}

static struct order
barrier_order(VkPipelineStageFlags2 src, VkAccessFlags2 src_access, VkPipelineStageFlags2 dst,
              VkAccessFlags2 dst_access)
{
   /* TOP_OF_PIPE as destination and BOTTOM_OF_PIPE as source are all stages,
    * but no accesses: before the group bits are expanded.
    */
   struct order order = {
      .src = add_earlier(vk_expand_src_stage_flags2(src)),
      .dst = add_later(vk_expand_dst_stage_flags2(dst)),
      .covered = GPUVAL_SYNC_ALL_SUBMITS,
   };

   src = vk_expand_pipeline_stage_flags2(src);
   dst = vk_expand_pipeline_stage_flags2(dst);
   if (src_access & SHADER_WRITES)
      order.src_writes = src & SHADERS;
   if (dst_access & (SHADER_READS | SHADER_WRITES))
      order.dst_accesses |= dst & SHADERS;
   if (dst_access & (VK_ACCESS_2_INDIRECT_COMMAND_READ_BIT | VK_ACCESS_2_MEMORY_READ_BIT))
      order.dst_accesses |= dst & VK_PIPELINE_STAGE_2_DRAW_INDIRECT_BIT;
   return order;
}

/* @before: the epoch before the whole dependency, whose parts happen at once */
static enum effect
order_epoch(struct gpuval_sync_epoch *epoch, const struct gpuval_sync_epoch *before,
            const struct order *order)
{
   if (before->first_submit > order->covered || !(order->src & (before->worked | before->reached)))
      return NOTHING;

   bool available = (order->src_writes & before->worked) || (order->src & before->available);

   epoch->reached |= order->dst;
   if (available)
      epoch->available |= order->dst;
   for (unsigned work = 0; work < GPUVAL_SYNC_WORK_COUNT; work++) {
      if (order->dst & work_stages[work])
         epoch->flags[work] |= GPUVAL_SYNC_WRITE_AFTER_READ_OK;
   }
   return available ? MEMORY : EXECUTION;
}

/* Returns the kinds of work that need a new epoch. @before as above */
static uint32_t
apply(struct gpuval_sync *sync, const struct gpuval_sync *before, const struct order *order)
{
   enum effect effects[ARRAY_SIZE(sync->epochs)];
   uint32_t leave = 0;

   for (unsigned i = 0; i < ARRAY_SIZE(sync->epochs); i++)
      effects[i] = order_epoch(&sync->epochs[i], &before->epochs[i], order);

   /* Work may go on in its own epoch or in the newest. */
   for (unsigned work = 0; work < GPUVAL_SYNC_WORK_COUNT; work++) {
      if (MAX2(effects[work], effects[GPUVAL_SYNC_WORK_COUNT]) == MEMORY &&
          order->dst_accesses & work_stages[work])
         leave |= BITFIELD_BIT(work);
   }
   return leave;
}

static bool
begin_epoch(struct gpuval_sync *sync, uint32_t leave)
{
   struct gpuval_sync_epoch *newest = &sync->epochs[GPUVAL_SYNC_WORK_COUNT];

   if (!leave)
      return false;

   *newest = (struct gpuval_sync_epoch){
      .number = newest->number + 1,
      .first_submit = UINT64_MAX,
   };
   u_foreach_bit (work, leave)
      sync->epochs[work] = *newest;
   return true;
}

void
gpuval_sync_init(struct gpuval_sync *sync)
{
   *sync = (struct gpuval_sync){0};
   begin_epoch(sync, BITFIELD_MASK(GPUVAL_SYNC_WORK_COUNT));
}

bool
gpuval_sync_dependency(struct gpuval_sync *sync, const VkDependencyInfo *info)
{
   const struct gpuval_sync before = *sync;
   uint32_t leave = 0;

   for (uint32_t i = 0; i < info->memoryBarrierCount; i++) {
      const VkMemoryBarrier2 *barrier = &info->pMemoryBarriers[i];
      const struct order order = barrier_order(barrier->srcStageMask, barrier->srcAccessMask,
                                               barrier->dstStageMask, barrier->dstAccessMask);
      leave |= apply(sync, &before, &order);
   }
   for (uint32_t i = 0; i < info->bufferMemoryBarrierCount; i++) {
      const VkBufferMemoryBarrier2 *barrier = &info->pBufferMemoryBarriers[i];
      const struct order order = barrier_order(barrier->srcStageMask, barrier->srcAccessMask,
                                               barrier->dstStageMask, barrier->dstAccessMask);
      leave |= apply(sync, &before, &order);
   }
   /* The accesses of an image's barrier are accesses to the image. */
   for (uint32_t i = 0; i < info->imageMemoryBarrierCount; i++) {
      const VkImageMemoryBarrier2 *barrier = &info->pImageMemoryBarriers[i];
      const struct order order = barrier_order(barrier->srcStageMask, 0, barrier->dstStageMask, 0);
      leave |= apply(sync, &before, &order);
   }

   return begin_epoch(sync, leave);
}

size_t
gpuval_sync_scopes_size(uint32_t count, const VkDependencyInfo *infos)
{
   size_t barriers = 0;

   for (uint32_t i = 0; i < count; i++)
      barriers += (size_t)infos[i].memoryBarrierCount + infos[i].bufferMemoryBarrierCount +
                  infos[i].imageMemoryBarrierCount;
   return sizeof(struct gpuval_sync_scopes) + barriers * sizeof(VkMemoryBarrier2);
}

static void
add_scopes(struct gpuval_sync_scopes *scopes, VkPipelineStageFlags2 src, VkAccessFlags2 src_access,
           VkPipelineStageFlags2 dst, VkAccessFlags2 dst_access)
{
   scopes->barriers[scopes->count++] = (VkMemoryBarrier2){
      .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
      .srcStageMask = src,
      .srcAccessMask = src_access,
      .dstStageMask = dst,
      .dstAccessMask = dst_access,
   };
}

void
gpuval_sync_copy_scopes(struct gpuval_sync_scopes *scopes, uint32_t count,
                        const VkDependencyInfo *infos)
{
   scopes->count = 0;
   for (const VkDependencyInfo *info = infos; info < infos + count; info++) {
      for (uint32_t i = 0; i < info->memoryBarrierCount; i++) {
         const VkMemoryBarrier2 *barrier = &info->pMemoryBarriers[i];
         add_scopes(scopes, barrier->srcStageMask, barrier->srcAccessMask, barrier->dstStageMask,
                    barrier->dstAccessMask);
      }
      for (uint32_t i = 0; i < info->bufferMemoryBarrierCount; i++) {
         const VkBufferMemoryBarrier2 *barrier = &info->pBufferMemoryBarriers[i];
         add_scopes(scopes, barrier->srcStageMask, barrier->srcAccessMask, barrier->dstStageMask,
                    barrier->dstAccessMask);
      }
      /* As in gpuval_sync_dependency() */
      for (uint32_t i = 0; i < info->imageMemoryBarrierCount; i++)
         add_scopes(scopes, info->pImageMemoryBarriers[i].srcStageMask, 0,
                    info->pImageMemoryBarriers[i].dstStageMask, 0);
   }
}

bool
gpuval_sync_recorded_dependency(struct gpuval_sync *sync, const struct gpuval_sync_scopes *scopes)
{
   return gpuval_sync_dependency(sync, &(VkDependencyInfo){
                                          .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                          .memoryBarrierCount = scopes->count,
                                          .pMemoryBarriers = scopes->barriers,
                                       });
}

bool
gpuval_sync_semaphore(struct gpuval_sync *sync, uint64_t covered, VkPipelineStageFlags2 src,
                      VkPipelineStageFlags2 dst)
{
   const struct gpuval_sync before = *sync;

   /* Semaphores are about all accesses of the device. */
   struct order order = {
      .src = add_earlier(vk_expand_src_stage_flags2(src)),
      .dst = add_later(vk_expand_dst_stage_flags2(dst)),
      .covered = covered,
   };
   order.src_writes = order.src & SHADERS;
   order.dst_accesses = order.dst;
   return begin_epoch(sync, apply(sync, &before, &order));
}

bool
gpuval_sync_host(struct gpuval_sync *sync, uint64_t covered)
{
   return gpuval_sync_semaphore(sync, covered, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
                                VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
}

VkPipelineStageFlags2
gpuval_sync_stage(gl_shader_stage stage)
{
   static const VkPipelineStageFlags2 flags[] = {
      [MESA_SHADER_VERTEX] = VK_PIPELINE_STAGE_2_VERTEX_SHADER_BIT,
      [MESA_SHADER_TESS_CTRL] = VK_PIPELINE_STAGE_2_TESSELLATION_CONTROL_SHADER_BIT,
      [MESA_SHADER_TESS_EVAL] = VK_PIPELINE_STAGE_2_TESSELLATION_EVALUATION_SHADER_BIT,
      [MESA_SHADER_GEOMETRY] = VK_PIPELINE_STAGE_2_GEOMETRY_SHADER_BIT,
      [MESA_SHADER_FRAGMENT] = VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT,
      [MESA_SHADER_COMPUTE] = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT,
      [MESA_SHADER_TASK] = VK_PIPELINE_STAGE_2_TASK_SHADER_BIT_EXT,
      [MESA_SHADER_MESH] = VK_PIPELINE_STAGE_2_MESH_SHADER_BIT_EXT,
   };

   return stage < ARRAY_SIZE(flags) && flags[stage]
             ? flags[stage]
             : VK_PIPELINE_STAGE_2_RAY_TRACING_SHADER_BIT_KHR;
}

void
gpuval_sync_work(struct gpuval_sync *sync, enum gpuval_sync_work work, VkPipelineStageFlags2 stages,
                 uint64_t submit, struct gpuval_command_data *data)
{
   const struct gpuval_sync_epoch *newest = &sync->epochs[GPUVAL_SYNC_WORK_COUNT];
   struct gpuval_sync_epoch *epoch = &sync->epochs[work];

   /* The last barrier was not for this kind of work. It conflicts with what came
    * before that, but also with what has run since: with the latter if there is
    * any.
    */
   if (!(epoch->worked & SHADERS) || newest->worked & SHADERS)
      *epoch = *newest;

   /* What an indirect read has read may be written in any epoch. */
   uint32_t number = epoch->number;
   for (unsigned i = 0; i < ARRAY_SIZE(sync->epochs); i++) {
      if (sync->epochs[i].number != number && work != GPUVAL_SYNC_INDIRECT)
         continue;
      if (!sync->epochs[i].worked)
         sync->epochs[i].first_command = data->command_id;
      sync->epochs[i].worked |= stages;
      sync->epochs[i].first_submit = MIN2(sync->epochs[i].first_submit, submit);
   }

   data->epoch = number;
   data->sync_flags = epoch->flags[work];
   data->epoch_command = epoch->first_command;
}

unsigned
gpuval_sync_shader_epochs(const struct gpuval_sync *sync, uint32_t epoch,
                          uint32_t out[GPUVAL_SYNC_WORK_COUNT])
{
   unsigned count = 0;

   for (unsigned i = 0; i < ARRAY_SIZE(sync->epochs); i++) {
      uint32_t number = sync->epochs[i].number;
      bool known = i == GPUVAL_SYNC_INDIRECT || number == epoch;

      for (unsigned j = 0; j < count; j++)
         known |= out[j] == number;
      if (!known)
         out[count++] = number;
   }
   return count;
}

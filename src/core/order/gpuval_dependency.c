/* SPDX-License-Identifier: MIT */

#include "gpuval_dependency.h"

#include "util/macros.h"
#include "util/ralloc.h"
#include "util/u_math.h"

static uint32_t
count_barriers(const VkDependencyInfo *info)
{
   return info->memoryBarrierCount + info->bufferMemoryBarrierCount + info->imageMemoryBarrierCount;
}

/* What gpuval_upgrade_wait_events() has made says the same of each event. */
static bool
has_own_images(const VkDependencyInfo *infos, uint32_t index)
{
   return !index || infos[index].pImageMemoryBarriers != infos[0].pImageMemoryBarriers;
}

size_t
gpuval_dependency_size(uint32_t count, const VkEvent *events, const VkDependencyInfo *infos)
{
   size_t size = sizeof(struct gpuval_dependency) + count * sizeof(struct gpuval_dependency_part);

   for (uint32_t i = 0; i < count; i++) {
      size += count_barriers(&infos[i]) * sizeof(struct gpuval_order_barrier);
      if (events && has_own_images(infos, i))
         size += infos[i].imageMemoryBarrierCount * sizeof(VkImageMemoryBarrier2);
   }
   return size;
}

/* A transfer between queue families is two barriers. What the release makes visible,
 * and what the acquisition makes available, is nothing: a semaphore between the two
 * is what orders them.
 */
static void
apply_transfer(struct gpuval_order_barrier *barrier, uint32_t src, uint32_t dst,
               uint32_t queue_family)
{
   if (src == dst)
      return;
   if (src == queue_family)
      barrier->dst_access = 0;
   else if (dst == queue_family)
      barrier->src_access = 0;
}

static struct gpuval_order_barrier
buffer_barrier(const VkBufferMemoryBarrier2 *barrier, uint32_t queue_family,
               const struct gpuval_places *places)
{
   uint64_t address, size;
   struct gpuval_order_barrier result = {
      .src_stages = barrier->srcStageMask,
      .src_access = barrier->srcAccessMask,
      .dst_stages = barrier->dstStageMask,
      .dst_access = barrier->dstAccessMask,
      GPUVAL_ORDER_ALL_MEMORY,
   };

   places->buffer(barrier->buffer, &address, &size);
   if (address && barrier->offset <= size) {
      uint64_t begin = address + barrier->offset;
      uint64_t end = begin + MIN2(barrier->size, size - barrier->offset);

      /* Shaders ask by words, and a part of one must not be accused. */
      result.begin = begin & ~(uint64_t)3;
      result.end = align64(end, 4);
   }
   apply_transfer(&result, barrier->srcQueueFamilyIndex, barrier->dstQueueFamilyIndex,
                  queue_family);
   return result;
}

/* Its accesses are accesses to the image: where nobody looks at its memory, it orders execution
 * only, and is for no range.
 */
static struct gpuval_order_barrier
image_barrier(const VkImageMemoryBarrier2 *barrier, uint32_t queue_family,
              const struct gpuval_places *places)
{
   uint64_t address = 0, size = 0;
   struct gpuval_order_barrier result = {
      .src_stages = barrier->srcStageMask,
      .src_access = barrier->srcAccessMask,
      .dst_stages = barrier->dstStageMask,
      .dst_access = barrier->dstAccessMask,
   };

   if (barrier->image && places && places->image)
      places->image(barrier->image, &barrier->subresourceRange, &address, &size);
   if (!address)
      return result;
   result.begin = address & ~(uint64_t)3;
   result.end = align64(address + size, 4);
   apply_transfer(&result, barrier->srcQueueFamilyIndex, barrier->dstQueueFamilyIndex,
                  queue_family);
   return result;
}

static uint32_t
convert(struct gpuval_order_barrier *to, const VkDependencyInfo *info, uint32_t queue_family,
        const struct gpuval_places *places)
{
   struct gpuval_order_barrier *end = to;

   for (uint32_t i = 0; i < info->memoryBarrierCount; i++) {
      const VkMemoryBarrier2 *barrier = &info->pMemoryBarriers[i];
      *end++ = (struct gpuval_order_barrier){
         .src_stages = barrier->srcStageMask,
         .src_access = barrier->srcAccessMask,
         .dst_stages = barrier->dstStageMask,
         .dst_access = barrier->dstAccessMask,
         GPUVAL_ORDER_ALL_MEMORY,
      };
   }
   for (uint32_t i = 0; i < info->bufferMemoryBarrierCount; i++)
      *end++ = buffer_barrier(&info->pBufferMemoryBarriers[i], queue_family, places);
   for (uint32_t i = 0; i < info->imageMemoryBarrierCount; i++)
      *end++ = image_barrier(&info->pImageMemoryBarriers[i], queue_family, places);
   return end - to;
}

static uint32_t
copy_images(VkImageMemoryBarrier2 *to, const VkDependencyInfo *info)
{
   uint32_t count = 0;

   for (uint32_t i = 0; i < info->imageMemoryBarrierCount; i++) {
      const VkImageMemoryBarrier2 *barrier = &info->pImageMemoryBarriers[i];
      if (!barrier->image)
         continue;
      to[count] = *barrier;
      to[count++].pNext = NULL;
   }
   return count;
}

/* gpuval_upgrade_wait_events() leaves a memory barrier for execution. */
static bool
is_for_resources(const VkDependencyInfo *info)
{
   for (uint32_t i = 0; i < info->memoryBarrierCount; i++) {
      if (info->pMemoryBarriers[i].srcAccessMask || info->pMemoryBarriers[i].dstAccessMask)
         return false;
   }
   return info->bufferMemoryBarrierCount || info->imageMemoryBarrierCount;
}

void
gpuval_dependency_init(struct gpuval_dependency *dependency, uint32_t count, const VkEvent *events,
                       const VkDependencyInfo *infos, uint32_t queue_family,
                       const struct gpuval_places *places)
{
   struct gpuval_order_barrier *barriers = (struct gpuval_order_barrier *)&dependency->parts[count];

   dependency->num_parts = count;
   for (uint32_t i = 0; i < count; i++) {
      uint32_t num_barriers = convert(barriers, &infos[i], queue_family, places);
      dependency->parts[i] = (struct gpuval_dependency_part){
         .event = events ? events[i] : VK_NULL_HANDLE,
         .num_barriers = num_barriers,
         .barriers = barriers,
      };
      barriers += num_barriers;
   }

   dependency->num_images = 0;
   dependency->images = (VkImageMemoryBarrier2 *)barriers;
   dependency->is_for_resources = events != NULL;
   for (uint32_t i = 0; events && i < count; i++) {
      dependency->is_for_resources &= is_for_resources(&infos[i]);
      if (has_own_images(infos, i))
         dependency->num_images +=
            copy_images(&dependency->images[dependency->num_images], &infos[i]);
   }
}

VkPipelineStageFlags2
gpuval_event_stages(const VkDependencyInfo *info)
{
   VkPipelineStageFlags2 stages = 0;

   for (uint32_t i = 0; i < info->memoryBarrierCount; i++)
      stages |= info->pMemoryBarriers[i].srcStageMask;
   for (uint32_t i = 0; i < info->bufferMemoryBarrierCount; i++)
      stages |= info->pBufferMemoryBarriers[i].srcStageMask;
   for (uint32_t i = 0; i < info->imageMemoryBarrierCount; i++)
      stages |= info->pImageMemoryBarriers[i].srcStageMask;
   return stages;
}

VkDependencyInfo *
gpuval_upgrade_wait_events(uint32_t event_count, VkPipelineStageFlags src, VkPipelineStageFlags dst,
                           uint32_t memory_count, const VkMemoryBarrier *memory,
                           uint32_t buffer_count, const VkBufferMemoryBarrier *buffers,
                           uint32_t image_count, const VkImageMemoryBarrier *images)
{
   VkDependencyInfo *infos = rzalloc_array(NULL, VkDependencyInfo, event_count);
   VkMemoryBarrier2 *memory2 = rzalloc_array(infos, VkMemoryBarrier2, memory_count + 1);
   VkBufferMemoryBarrier2 *buffers2 = rzalloc_array(infos, VkBufferMemoryBarrier2, buffer_count);
   VkImageMemoryBarrier2 *images2 = rzalloc_array(infos, VkImageMemoryBarrier2, image_count);

   for (uint32_t i = 0; i < memory_count; i++)
      memory2[i] = (VkMemoryBarrier2){
         .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
         .srcStageMask = src,
         .srcAccessMask = memory[i].srcAccessMask,
         .dstStageMask = dst,
         .dstAccessMask = memory[i].dstAccessMask,
      };
   for (uint32_t i = 0; i < buffer_count; i++)
      buffers2[i] = (VkBufferMemoryBarrier2){
         .sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER_2,
         .srcStageMask = src,
         .srcAccessMask = buffers[i].srcAccessMask,
         .dstStageMask = dst,
         .dstAccessMask = buffers[i].dstAccessMask,
         .srcQueueFamilyIndex = buffers[i].srcQueueFamilyIndex,
         .dstQueueFamilyIndex = buffers[i].dstQueueFamilyIndex,
         .buffer = buffers[i].buffer,
         .offset = buffers[i].offset,
         .size = buffers[i].size,
      };
   for (uint32_t i = 0; i < image_count; i++)
      images2[i] = (VkImageMemoryBarrier2){
         .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2,
         .srcStageMask = src,
         .srcAccessMask = images[i].srcAccessMask,
         .dstStageMask = dst,
         .dstAccessMask = images[i].dstAccessMask,
         .oldLayout = images[i].oldLayout,
         .newLayout = images[i].newLayout,
         .srcQueueFamilyIndex = images[i].srcQueueFamilyIndex,
         .dstQueueFamilyIndex = images[i].dstQueueFamilyIndex,
         .image = images[i].image,
         .subresourceRange = images[i].subresourceRange,
      };
   /* Execution is ordered without any barrier as well. */
   memory2[memory_count] = (VkMemoryBarrier2){
      .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
      .srcStageMask = src,
      .dstStageMask = dst,
   };

   for (uint32_t i = 0; i < event_count; i++)
      infos[i] = (VkDependencyInfo){
         .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
         .memoryBarrierCount = memory_count + 1,
         .pMemoryBarriers = memory2,
         .bufferMemoryBarrierCount = buffer_count,
         .pBufferMemoryBarriers = buffers2,
         .imageMemoryBarrierCount = image_count,
         .pImageMemoryBarriers = images2,
      };
   return infos;
}

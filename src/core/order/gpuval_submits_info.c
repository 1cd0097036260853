/* SPDX-License-Identifier: MIT */

/* Calls of Vulkan's, as notes; tables of order */

#include "gpuval_submits.h"

#include "vk_semaphore.h"
#include "vk_util.h"

static bool
is_timeline(VkSemaphore semaphore)
{
   return vk_semaphore_from_handle(semaphore)->type == VK_SEMAPHORE_TYPE_TIMELINE;
}

static void
note_wait(struct gpuval_submits *submits, unsigned queue, VkSemaphore semaphore, uint64_t value,
          VkPipelineStageFlags2 stages)
{
   bool timeline = is_timeline(semaphore);

   /* A timeline has reached 0 from the beginning. */
   if (!timeline || value)
      gpuval_submits_wait(submits, queue, (uint64_t)semaphore, timeline ? value : 0, stages);
}

static void
note_fence(struct gpuval_submits *submits, unsigned queue, VkFence fence)
{
   if (fence)
      gpuval_submits_signal(submits, queue, (uint64_t)fence, 0,
                            VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
}

static void
note_commands_and_signals(struct gpuval_submits *submits, unsigned queue, const VkSubmitInfo2 *info)
{
   for (uint32_t i = 0; i < info->commandBufferInfoCount; i++)
      gpuval_submits_commands(submits, queue, info->pCommandBufferInfos[i].commandBuffer);
   for (uint32_t i = 0; i < info->signalSemaphoreInfoCount; i++) {
      const VkSemaphoreSubmitInfo *signal = &info->pSignalSemaphoreInfos[i];

      gpuval_submits_signal(submits, queue, (uint64_t)signal->semaphore,
                            is_timeline(signal->semaphore) ? signal->value : 0, signal->stageMask);
   }
}

void
gpuval_submits_note(struct gpuval_submits *submits, unsigned queue, uint32_t count,
                    const VkSubmitInfo2 *infos, VkFence fence)
{
   for (const VkSubmitInfo2 *info = infos; info < infos + count; info++) {
      gpuval_submits_begin(submits, queue);
      for (uint32_t i = 0; i < info->waitSemaphoreInfoCount; i++)
         note_wait(submits, queue, info->pWaitSemaphoreInfos[i].semaphore,
                   info->pWaitSemaphoreInfos[i].value, info->pWaitSemaphoreInfos[i].stageMask);
      note_commands_and_signals(submits, queue, info);
   }
   note_fence(submits, queue, fence);
}

void
gpuval_submits_note_present(struct gpuval_submits *submits, unsigned queue, uint32_t count,
                            const VkSubmitInfo2 *infos, VkFence fence)
{
   for (const VkSubmitInfo2 *info = infos; info < infos + count; info++) {
      gpuval_submits_begin(submits, queue);
      gpuval_submits_begin_apart(submits, queue);
      note_commands_and_signals(submits, queue, info);
      gpuval_submits_end_apart(submits, queue);
   }
   note_fence(submits, queue, fence);
}

void
gpuval_submits_note_sparse(struct gpuval_submits *submits, unsigned queue, uint32_t count,
                           const VkBindSparseInfo *infos, VkFence fence)
{
   for (const VkBindSparseInfo *info = infos; info < infos + count; info++) {
      const VkTimelineSemaphoreSubmitInfo *values =
         vk_find_struct_const(info->pNext, TIMELINE_SEMAPHORE_SUBMIT_INFO);
      uint32_t num_waits = values ? values->waitSemaphoreValueCount : 0;
      uint32_t num_signals = values ? values->signalSemaphoreValueCount : 0;

      gpuval_submits_begin(submits, queue);
      for (uint32_t i = 0; i < info->waitSemaphoreCount; i++)
         note_wait(submits, queue, info->pWaitSemaphores[i],
                   i < num_waits ? values->pWaitSemaphoreValues[i] : 0,
                   VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
      for (uint32_t i = 0; i < info->signalSemaphoreCount; i++) {
         VkSemaphore semaphore = info->pSignalSemaphores[i];
         bool has_value = i < num_signals && is_timeline(semaphore);

         gpuval_submits_signal(submits, queue, (uint64_t)semaphore,
                               has_value ? values->pSignalSemaphoreValues[i] : 0,
                               VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
      }
   }
   note_fence(submits, queue, fence);
}

void
gpuval_submits_fill_table(const struct gpuval_order *order, unsigned queue, uint32_t classes,
                          struct gpuval_submits_table *table)
{
   uint64_t version = gpuval_order_version(order, queue) + 1; /* 0: never */

   uint64_t num_spans = gpuval_order_num_spans(order);
   bool has_threshold = table->version == version && table->num_spans == num_spans &&
                        table->threshold_classes == classes;

   if (table->version != version) {
      table->version = version;
      table->classes = 0;
   }
   if (classes & ~table->classes)
      gpuval_order_fill_table(order, queue, classes & ~table->classes, table->table);
   table->classes |= classes;
   if (has_threshold)
      return;
   table->threshold = gpuval_order_get_threshold(order, queue, classes);
   table->threshold_classes = classes;
   table->num_spans = num_spans;
}

/* SPDX-License-Identifier: MIT */

#include "gpuval_barriers.h"
#include "gpuval_order_stages.h"

#include <string.h>

#include "util/bitscan.h"
#include "util/macros.h"
#include "util/ralloc.h"
#include "vk_enum_to_str.h"

struct entry {
   unsigned queue;
   uint32_t first_serial, serial;
   struct gpuval_order_barrier barrier;
};

struct gpuval_barriers {
   struct entry entries[GPUVAL_BARRIERS];
   uint64_t count; /* ever; the latest are there */
};

struct gpuval_barriers *
gpuval_barriers_create(void *mem_ctx)
{
   return rzalloc(mem_ctx, struct gpuval_barriers);
}

void
gpuval_barriers_add(struct gpuval_barriers *log, unsigned queue, uint32_t first_serial,
                    uint32_t serial, unsigned count, const struct gpuval_order_barrier *barriers)
{
   for (unsigned i = 0; i < count; i++) {
      /* With an empty scope it orders nothing; render passes have such ones of their own. */
      if (barriers[i].src_stages && barriers[i].dst_stages)
         log->entries[log->count++ % GPUVAL_BARRIERS] =
            (struct entry){queue, first_serial, serial, barriers[i]};
   }
}

void
gpuval_barriers_clear(struct gpuval_barriers *log)
{
   log->count = 0;
}

const char *
gpuval_barrier_missing_name(enum gpuval_barrier_missing missing)
{
   static const char *const names[] = {
      [GPUVAL_MISSING_UNKNOWN] = NULL,    [GPUVAL_MISSING_NONE] = "none",
      [GPUVAL_MISSING_STAGE] = "stage",   [GPUVAL_MISSING_RANGE] = "range",
      [GPUVAL_MISSING_ACCESS] = "access", [GPUVAL_MISSING_QUEUE] = "queue",
      [GPUVAL_MISSING_LAYOUT] = "layout",
   };
   return names[missing];
}

static enum gpuval_barrier_missing
judge(const struct gpuval_order_barrier *barrier, VkPipelineStageFlags2 first,
      VkPipelineStageFlags2 second, uint64_t address)
{
   if (!(gpuval_order_first_stages(barrier->src_stages).execution & first) ||
       !(gpuval_order_second_stages(barrier->dst_stages).execution & second))
      return GPUVAL_MISSING_STAGE;

   /* Without accesses it is for no memory, and that is not what it lacks. */
   bool has_range = !address || !(barrier->src_access | barrier->dst_access) ||
                    (address >= barrier->begin && address < barrier->end);
   return has_range ? GPUVAL_MISSING_ACCESS : GPUVAL_MISSING_RANGE;
}

enum gpuval_barrier_missing
gpuval_barriers_find(const struct gpuval_barriers *log, const struct gpuval_barrier_side *first,
                     const struct gpuval_barrier_side *second, uint64_t address,
                     struct gpuval_order_barrier *there)
{
   enum gpuval_barrier_missing found = GPUVAL_MISSING_NONE;
   uint64_t oldest = log->count > GPUVAL_BARRIERS ? log->count - GPUVAL_BARRIERS : 0;

   if (first->queue != second->queue)
      return GPUVAL_MISSING_QUEUE;
   for (uint64_t i = log->count; i > oldest; i--) {
      const struct entry *entry = &log->entries[(i - 1) % GPUVAL_BARRIERS];
      if (entry->queue != first->queue || entry->serial >= second->serial)
         continue;
      if (entry->serial < first->serial)
         return found;
      if (entry->first_serial < first->serial)
         continue; /* its event was set before */

      enum gpuval_barrier_missing missing =
         judge(&entry->barrier, first->stages, second->stages, address);
      if (missing > found) {
         found = missing;
         *there = entry->barrier;
      }
   }
   return oldest && found == GPUVAL_MISSING_NONE ? GPUVAL_MISSING_UNKNOWN : found;
}

typedef const char *(*name_function)(uint64_t bit);

static const char *
stage_name(uint64_t bit)
{
   return vk_PipelineStageFlagBits2_to_str((VkPipelineStageFlagBits2)bit);
}

static const char *
access_name(uint64_t bit)
{
   return vk_AccessFlagBits2_to_str((VkAccessFlagBits2)bit);
}

/* VK_ACCESS_2_SHADER_READ_BIT as SHADER_READ */
static void
append_name(char **text, const char *name, const char *prefix)
{
   size_t length = strlen(prefix);
   const char *from = strncmp(name, prefix, length) ? name : name + length;
   const char *end = strstr(from, "_BIT");

   ralloc_strncat(text, from, end ? (size_t)(end - from) : strlen(from));
}

static void
append_flags(char **text, uint64_t flags, name_function name, const char *prefix)
{
   bool is_first = true;

   if (!flags)
      ralloc_strcat(text, "0");
   u_foreach_bit64 (bit, flags) {
      ralloc_strcat(text, is_first ? "" : "|");
      append_name(text, name(UINT64_C(1) << bit), prefix);
      is_first = false;
   }
}

char *
gpuval_barrier_text(void *mem_ctx, const struct gpuval_order_barrier *barrier)
{
   static const char stage[] = "VK_PIPELINE_STAGE_2_", access[] = "VK_ACCESS_2_";
   char *text = ralloc_strdup(mem_ctx, "srcStage ");

   append_flags(&text, barrier->src_stages, stage_name, stage);
   ralloc_strcat(&text, ", srcAccess ");
   append_flags(&text, barrier->src_access, access_name, access);
   ralloc_strcat(&text, " -> dstStage ");
   append_flags(&text, barrier->dst_stages, stage_name, stage);
   ralloc_strcat(&text, ", dstAccess ");
   append_flags(&text, barrier->dst_access, access_name, access);
   return text;
}

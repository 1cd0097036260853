/* SPDX-License-Identifier: MIT */

#include "gpuval_queue_labels.h"

#include "base/gpuval_command.h"
#include "util/list.h"
#include "util/ralloc.h"
#include "util/simple_mtx.h"
#include "vk_common_entrypoints.h"

/* What is open from a command buffer on, until the next note */
struct note {
   struct list_head link;
   uint64_t first;
   size_t size;
   struct gpuval_labels labels;
};

struct gpuval_queue_labels {
   simple_mtx_t mutex;
   uint64_t submitted, executed; /* command buffers */
   struct list_head notes;       /* the first one may count still */
};

size_t
gpuval_labels_size(const struct util_dynarray *labels)
{
   size_t size = sizeof(struct gpuval_labels);

   util_dynarray_foreach (labels, VkDebugUtilsLabelEXT, label)
      size += strlen(label->pLabelName) + 1;
   return size;
}

void
gpuval_labels_write(struct gpuval_labels *to, const struct util_dynarray *labels)
{
   char *name = to->names;

   to->count = 0;
   util_dynarray_foreach (labels, VkDebugUtilsLabelEXT, label) {
      name = strcpy(name, label->pLabelName) + strlen(label->pLabelName) + 1;
      to->count++;
   }
}

bool
gpuval_labels_are(const struct gpuval_labels *labels, const struct util_dynarray *open)
{
   if (gpuval_labels_count(labels) != util_dynarray_num_elements(open, VkDebugUtilsLabelEXT))
      return false;

   const char *name = labels ? labels->names : NULL;
   util_dynarray_foreach (open, VkDebugUtilsLabelEXT, label) {
      if (strcmp(name, label->pLabelName))
         return false;
      name += strlen(name) + 1;
   }
   return true;
}

/* Bytes of the first names */
static size_t
names_size(const struct gpuval_labels *labels, uint32_t count)
{
   const char *end = labels ? labels->names : NULL;

   for (uint32_t i = 0; i < count; i++)
      end += strlen(end) + 1;
   return labels ? end - labels->names : 0;
}

bool
gpuval_labels_equal(const struct gpuval_labels *a, const struct gpuval_labels *b)
{
   uint32_t count = gpuval_labels_count(a);
   if (count != gpuval_labels_count(b))
      return false;

   size_t size = names_size(a, count);
   return size == names_size(b, count) && (!size || !memcmp(a->names, b->names, size));
}

struct gpuval_labels *
gpuval_labels_join(void *mem_ctx, const struct gpuval_labels *outer, uint32_t outer_count,
                   const struct gpuval_labels *inner, uint32_t inner_count)
{
   if (!outer_count && !inner_count)
      return NULL;

   size_t outer_size = names_size(outer, outer_count), inner_size = names_size(inner, inner_count);
   struct gpuval_labels *labels = rzalloc_size(mem_ctx, sizeof(*labels) + outer_size + inner_size);
   labels->count = outer_count + inner_count;
   if (outer_size)
      memcpy(labels->names, outer->names, outer_size);
   if (inner_size)
      memcpy(labels->names + outer_size, inner->names, inner_size);
   return labels;
}

/* What was inserted is the innermost one until something else comes. */
uint32_t
gpuval_labels_regions(const struct vk_command_buffer *cmd_buffer)
{
   uint32_t count = util_dynarray_num_elements(&cmd_buffer->labels, VkDebugUtilsLabelEXT);
   return cmd_buffer->region_begin || !count ? count : count - 1;
}

bool
gpuval_labels_ends_earlier(const struct vk_command_buffer *cmd_buffer)
{
   return !gpuval_labels_regions(cmd_buffer);
}

void
gpuval_labels_insert(struct vk_command_buffer *cmd_buffer, const VkDebugUtilsLabelEXT *label)
{
   vk_common_CmdBeginDebugUtilsLabelEXT(vk_command_buffer_to_handle(cmd_buffer), label);
   cmd_buffer->region_begin = false;
}

/* More than can be told are not kept: a program that never ends them would fill memory. */
struct gpuval_labels *
gpuval_labels_leave(void *mem_ctx, struct gpuval_labels *left, const struct gpuval_labels *labels,
                    uint32_t regions)
{
   uint32_t count = gpuval_labels_count(left);

   if (!regions)
      return left;
   regions = MIN2(regions, GPUVAL_MAX_LABELS - MIN2(count, GPUVAL_MAX_LABELS));
   struct gpuval_labels *joined = gpuval_labels_join(mem_ctx, left, count, labels, regions);
   ralloc_free(left);
   return joined;
}

struct gpuval_queue_labels *
gpuval_queue_labels_create(void *mem_ctx)
{
   struct gpuval_queue_labels *labels = rzalloc(mem_ctx, struct gpuval_queue_labels);

   simple_mtx_init(&labels->mutex, mtx_plain);
   list_inithead(&labels->notes);
   return labels;
}

void
gpuval_queue_labels_destroy(struct gpuval_queue_labels *labels)
{
   simple_mtx_destroy(&labels->mutex);
   ralloc_free(labels);
}

/* What was open is mostly what still is. */
static bool
is_noted(const struct gpuval_queue_labels *labels, const struct note *note)
{
   if (list_is_empty(&labels->notes))
      return !note->labels.count;

   const struct note *last = list_last_entry(&labels->notes, struct note, link);
   return last->size == note->size && !memcmp(&last->labels, &note->labels, note->size);
}

void
gpuval_queue_labels_submit(struct gpuval_queue_labels *labels, const struct vk_queue *queue,
                           uint32_t count)
{
   simple_mtx_lock(&labels->mutex);
   size_t size = gpuval_labels_size(&queue->labels);
   struct note *note = rzalloc_size(labels, offsetof(struct note, labels) + size);
   note->first = labels->submitted;
   note->size = size;
   gpuval_labels_write(&note->labels, &queue->labels);
   if (!count || is_noted(labels, note))
      ralloc_free(note);
   else
      list_addtail(&note->link, &labels->notes);
   labels->submitted += count;
   simple_mtx_unlock(&labels->mutex);
}

void
gpuval_queue_labels_failed(struct gpuval_queue_labels *labels, uint32_t count)
{
   simple_mtx_lock(&labels->mutex);
   labels->submitted -= count;
   list_for_each_entry_safe_rev(struct note, note, &labels->notes, link)
   {
      if (note->first < labels->submitted || !count)
         break;
      list_del(&note->link);
      ralloc_free(note);
   }
   simple_mtx_unlock(&labels->mutex);
}

const struct gpuval_labels *
gpuval_queue_labels_execute(struct gpuval_queue_labels *labels)
{
   const struct gpuval_labels *open = NULL;

   simple_mtx_lock(&labels->mutex);
   list_for_each_entry (struct note, note, &labels->notes, link) {
      if (note->first > labels->executed)
         break;
      open = &note->labels;
   }
   labels->executed++;
   simple_mtx_unlock(&labels->mutex);
   return open && open->count ? open : NULL;
}

/* Only the last one that has begun counts. */
void
gpuval_queue_labels_end_submit(struct gpuval_queue_labels *labels)
{
   simple_mtx_lock(&labels->mutex);
   list_for_each_entry_safe (struct note, note, &labels->notes, link) {
      if (note->link.next == &labels->notes ||
          list_entry(note->link.next, struct note, link)->first > labels->executed)
         break;
      list_del(&note->link);
      ralloc_free(note);
   }
   simple_mtx_unlock(&labels->mutex);
}

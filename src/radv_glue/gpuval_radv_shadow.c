/* SPDX-License-Identifier: MIT */

/* Shadow memory, the exact engine of sync: which memory gets cells, and what commands are told.
 * On lavapipe a command is told its order right before it is executed, so that one table is
 * enough. Here they are told when they are submitted: each span between two dependencies that
 * needs a table has one of its own until the GPU is idle.
 */

#include "gpuval_radv_private.h"

#include "radv_buffer.h"
#include "radv_cmd_buffer.h"
#include "radv_shader.h"

#include "gpuval/src/core/memory/gpuval_cells.h"
#include "gpuval/src/core/memory/gpuval_shadow_device.h"

#include "util/bitscan.h"
#include "util/ralloc.h"

/* Tables, 96 KiB each. What needs more of them before the GPU is idle is not looked at. */
#define NUM_TABLES 256

struct queue {
   struct gpuval_submits_table table; /* the host's */
   uint64_t version;                  /* of that, what the GPU's has; 0: it has none */
   uint32_t classes;
   uint32_t number;
   /* By class, of the last command without a shader */
   struct gpuval_command_data last[GPUVAL_ORDER_CLASSES];
};

struct gpuval_radv_shadow {
   struct gpuval_order_table *tables; /* where the GPU reads them */
   uint64_t address;
   uint32_t num_used;
   bool warned;
   struct queue queues[GPUVAL_MAX_QUEUES];
};

#define TABLES_SIZE (NUM_TABLES * sizeof(struct gpuval_order_table))

void
gpuval_radv_init_shadow(struct gpuval_radv *gpuval)
{
   const struct gpuval_winsys *winsys = &gpuval->winsys.base;

   if (!gpuval_device_has_shadow(gpuval->device))
      return;
   gpuval->shadow = rzalloc(gpuval, struct gpuval_radv_shadow);
   gpuval->shadow->tables =
      winsys->alloc_plain(winsys->data, TABLES_SIZE, &gpuval->shadow->address);
   for (unsigned i = 0; i < GPUVAL_MAX_QUEUES; i++)
      gpuval->shadow->queues[i].table.table = rzalloc(gpuval->shadow, struct gpuval_order_table);
}

void
gpuval_radv_finish_shadow(struct gpuval_radv *gpuval)
{
   const struct gpuval_winsys *winsys = &gpuval->winsys.base;

   if (gpuval->shadow && gpuval->shadow->tables)
      winsys->free(winsys->data, gpuval->shadow->tables, TABLES_SIZE);
}

#define BY_SHADERS                                                                                 \
   (VK_BUFFER_USAGE_2_UNIFORM_TEXEL_BUFFER_BIT | VK_BUFFER_USAGE_2_STORAGE_TEXEL_BUFFER_BIT |      \
    VK_BUFFER_USAGE_2_UNIFORM_BUFFER_BIT | VK_BUFFER_USAGE_2_STORAGE_BUFFER_BIT |                  \
    VK_BUFFER_USAGE_2_SHADER_DEVICE_ADDRESS_BIT)

/* All of an allocation when the first buffer is there that the GPU may write, or that shaders may
 * access: what is only copied from, nobody races for.
 */
void
gpuval_radv_bind_cells(struct gpuval_radv *gpuval, const struct radv_buffer *buffer)
{
   if (!gpuval->shadow || !(buffer->vk.usage & ~VK_BUFFER_USAGE_2_TRANSFER_SRC_BIT))
      return;

   if (!(buffer->vk.create_flags & VK_BUFFER_CREATE_SPARSE_BINDING_BIT))
      gpuval_cells_add(gpuval->device, radv_buffer_get_va(buffer->bo), buffer->bo->size);
   else if (buffer->vk.usage & BY_SHADERS)
      gpuval_cells_add_other(gpuval->device);
}

/* Recording */

/* A shader may have been made from those of two stages. */
static uint32_t
note_shader(const struct radv_shader *shader, uint32_t entry_base[GPUVAL_STAGE_COUNT])
{
   uint32_t classes = 0;

   for (unsigned i = 0; shader && i < ARRAY_SIZE(shader->gpuval); i++) {
      const struct gpuval_shader *part = shader->gpuval[i];
      if (!part)
         continue;
      entry_base[gpuval_shader_stage(part)] = gpuval_shader_entry_base(part);
      classes |= 1u << gpuval_order_stage_class(gpuval_shader_stage(part));
   }
   return classes;
}

uint32_t
gpuval_radv_note_entries(const struct radv_cmd_buffer *cmd_buffer, unsigned bind_point,
                         uint32_t entry_base[GPUVAL_STAGE_COUNT])
{
   uint32_t classes = 0;

   for (unsigned i = 0; i < GPUVAL_STAGE_COUNT; i++)
      entry_base[i] = GPUVAL_SHADOW_NO_ENTRIES;
   switch (bind_point) {
   case VK_PIPELINE_BIND_POINT_GRAPHICS:
      for (unsigned i = 0; i <= MESA_SHADER_MESH; i++) {
         if (i != MESA_SHADER_COMPUTE && cmd_buffer->state.shaders[i])
            classes |= 1u << gpuval_order_stage_class(i) |
                       note_shader(cmd_buffer->state.shaders[i], entry_base);
      }
      return classes;
   case VK_PIPELINE_BIND_POINT_COMPUTE:
      note_shader(cmd_buffer->state.shaders[MESA_SHADER_COMPUTE], entry_base);
      return 1u << GPUVAL_ORDER_COMPUTE;
   default: /* cells do not say which of a trace's shaders it was */
      return 1u << GPUVAL_ORDER_RAYS;
   }
}

/* Submitting */

void
gpuval_radv_begin_shadow(struct gpuval_radv *gpuval)
{
   struct gpuval_radv_shadow *shadow = gpuval->shadow;

   if (!shadow)
      return;
   gpuval_device_shadow_idle(gpuval->device);
   shadow->num_used = 0;
   for (unsigned i = 0; i < GPUVAL_MAX_QUEUES; i++) {
      shadow->queues[i].version = 0;
      memset(shadow->queues[i].last, 0, sizeof(shadow->queues[i].last));
   }
}

static void
copy_rows(struct gpuval_order_table *to, const struct gpuval_order_table *from, uint32_t classes)
{
   u_foreach_bit (class_, classes)
      memcpy(to->rows[class_], from->rows[class_],
             (1 + from->num_ranges) * sizeof(struct gpuval_order_row));
}

/* Its address, or 0: there is none left. */
static uint64_t
publish_table(struct gpuval_radv_shadow *shadow, struct queue *queue)
{
   const struct gpuval_submits_table *table = &queue->table;

   if (!shadow->tables || (queue->version != table->version && shadow->num_used == NUM_TABLES)) {
      if (!shadow->warned)
         gpuval_log_warning("sync: more than %u dependencies between commands in flight: those "
                            "that follow are not looked at until all have ended",
                            NUM_TABLES);
      shadow->warned = true;
      return 0;
   }

   if (queue->version != table->version) {
      queue->version = table->version;
      queue->classes = 0;
      queue->number = shadow->num_used++;
      memcpy(&shadow->tables[queue->number], table->table,
             offsetof(struct gpuval_order_table, rows));
   }
   copy_rows(&shadow->tables[queue->number], table->table, table->classes & ~queue->classes);
   queue->classes = table->classes;
   return shadow->address + queue->number * sizeof(struct gpuval_order_table);
}

static void
tell_shadow(struct gpuval_radv *gpuval, struct queue *queue,
            struct gpuval_order_threshold threshold, struct gpuval_command_data *data)
{
   bool needs_table = threshold.storage != UINT32_MAX || threshold.others != UINT32_MAX;

   data->shadow_words = gpuval_cells_table(gpuval->device);
   data->order_address = needs_table ? publish_table(gpuval->shadow, queue) : 0;
   if (!needs_table || data->order_address)
      gpuval_device_shadow_command(gpuval->device, threshold, false, data);
}

void
gpuval_radv_order_work(struct gpuval_radv *gpuval, unsigned queue_index, uint32_t classes,
                       struct gpuval_command_data *data)
{
   struct gpuval_radv_shadow *shadow = gpuval->shadow;
   if (!shadow) {
      gpuval_submits_work(gpuval->hooks.submits, queue_index, classes, NULL, data);
      return;
   }

   struct queue *queue = &shadow->queues[queue_index];
   gpuval_submits_work(gpuval->hooks.submits, queue_index, classes, &queue->table, data);
   tell_shadow(gpuval, queue, queue->table.threshold, data);
}

void
gpuval_radv_order_command(struct gpuval_radv *gpuval, unsigned queue_index,
                          enum gpuval_order_class class_, struct gpuval_command_data *data)
{
   struct queue *queue = &gpuval->shadow->queues[queue_index];
   struct gpuval_command_data *last = &queue->last[class_];
   struct gpuval_order_threshold threshold;

   for (unsigned i = 0; i < GPUVAL_STAGE_COUNT; i++)
      data->entry_base[i] = GPUVAL_SHADOW_NO_ENTRIES;
   gpuval_submits_command(gpuval->hooks.submits, queue_index, class_, &queue->table, data,
                          &threshold);
   /* Those of one span that come too many share the number of the one before. */
   if (gpuval_device_shadow_is_short(gpuval->device) && last->shadow_command &&
       last->serial == data->serial) {
      *data = *last;
      return;
   }
   tell_shadow(gpuval, queue, threshold, data);
   *last = *data;
}

/* SPDX-License-Identifier: MIT */

#include "gpuval_sync_commands.h"
#include "gpuval_sync_events.h"

#include "core/commands/gpuval_command_fetch.h"
#include "core/memory/gpuval_shadow_device.h"
#include "core/order/gpuval_submits.h"
#include "core/structures/gpuval_instances.h"
#include "core/structures/gpuval_structure_commands.h"
#include "gpuval.h"

#include <string.h>

#include "util/hash_table.h"
#include "util/ralloc.h"
#include "vk_buffer.h"

/* What the command that is visited is to shadow memory, by class of its accesses */
struct part {
   bool is_begun;
   struct gpuval_command_data data;

   /* Of addresses from @begin on, below @end */
   struct gpuval_order_row row;
   uint64_t begin, end;
};

#define FIRST_CLASS GPUVAL_ORDER_TRANSFER

struct gpuval_sync_commands {
   struct gpuval_device *device;
   struct gpuval_submits *submits;
   unsigned queue;
   struct gpuval_sync_driver driver;

   struct part parts[GPUVAL_ORDER_CLASSES - FIRST_CLASS];
   uint32_t feedback_id; /* the command that has begun transform feedback, if it has read counters */
};

struct gpuval_sync_commands *
gpuval_sync_commands_create(void *mem_ctx, struct gpuval_device *device,
                            struct gpuval_submits *submits, unsigned queue,
                            const struct gpuval_sync_driver *driver)
{
   struct gpuval_sync_commands *sync = rzalloc(mem_ctx, struct gpuval_sync_commands);

   sync->device = device;
   sync->submits = submits;
   sync->queue = queue;
   sync->driver = *driver;
   return sync;
}

/* Kinds of accesses */

#define COPIES                                                                                     \
   (VK_PIPELINE_STAGE_2_COPY_BIT | VK_PIPELINE_STAGE_2_BLIT_BIT |                                  \
    VK_PIPELINE_STAGE_2_RESOLVE_BIT | VK_PIPELINE_STAGE_2_CLEAR_BIT |                              \
    VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT)
#define BUILDS                                                                                     \
   (VK_PIPELINE_STAGE_2_ACCELERATION_STRUCTURE_BUILD_BIT_KHR |                                     \
    VK_PIPELINE_STAGE_2_ACCELERATION_STRUCTURE_COPY_BIT_KHR)

static const struct {
   VkPipelineStageFlags2 stages;
   VkAccessFlags2 access;
   struct gpuval_sync_kind kind;
} kinds[] = {
   {COPIES,
    VK_ACCESS_2_TRANSFER_READ_BIT,
    {GPUVAL_ORDER_TRANSFER, GPUVAL_ORDER_STORAGE_READ, GPUVAL_OP_TRANSFER_READ}},
   {COPIES,
    VK_ACCESS_2_TRANSFER_WRITE_BIT,
    {GPUVAL_ORDER_TRANSFER, GPUVAL_ORDER_WRITE, GPUVAL_OP_TRANSFER_WRITE}},
   {VK_PIPELINE_STAGE_2_INDEX_INPUT_BIT,
    VK_ACCESS_2_INDEX_READ_BIT,
    {GPUVAL_ORDER_VERTEX_INPUT, GPUVAL_ORDER_INDEX_READ, GPUVAL_OP_INDEX}},
   {VK_PIPELINE_STAGE_2_VERTEX_ATTRIBUTE_INPUT_BIT,
    VK_ACCESS_2_VERTEX_ATTRIBUTE_READ_BIT,
    {GPUVAL_ORDER_VERTEX_INPUT, GPUVAL_ORDER_ATTRIBUTE_READ, GPUVAL_OP_ATTRIBUTE}},
   {VK_PIPELINE_STAGE_2_TRANSFORM_FEEDBACK_BIT_EXT,
    VK_ACCESS_2_TRANSFORM_FEEDBACK_COUNTER_READ_BIT_EXT,
    {GPUVAL_ORDER_AUXILIARY, GPUVAL_ORDER_COUNTER_READ, GPUVAL_OP_COUNTER}},
   {VK_PIPELINE_STAGE_2_TRANSFORM_FEEDBACK_BIT_EXT,
    VK_ACCESS_2_TRANSFORM_FEEDBACK_COUNTER_WRITE_BIT_EXT,
    {GPUVAL_ORDER_AUXILIARY, GPUVAL_ORDER_WRITE, GPUVAL_OP_COUNTER}},
   {VK_PIPELINE_STAGE_2_TRANSFORM_FEEDBACK_BIT_EXT,
    VK_ACCESS_2_TRANSFORM_FEEDBACK_WRITE_BIT_EXT,
    {GPUVAL_ORDER_AUXILIARY, GPUVAL_ORDER_WRITE, GPUVAL_OP_TRANSFER_WRITE}},
   {VK_PIPELINE_STAGE_2_CONDITIONAL_RENDERING_BIT_EXT,
    VK_ACCESS_2_CONDITIONAL_RENDERING_READ_BIT_EXT,
    {GPUVAL_ORDER_AUXILIARY, GPUVAL_ORDER_PREDICATE_READ, GPUVAL_OP_COUNTER}},
   {BUILDS,
    VK_ACCESS_2_INDIRECT_COMMAND_READ_BIT,
    {GPUVAL_ORDER_STRUCTURES, GPUVAL_ORDER_BUILD_ARGUMENT_READ, GPUVAL_OP_INDIRECT}},
   {BUILDS,
    VK_ACCESS_2_ACCELERATION_STRUCTURE_READ_BIT_KHR,
    {GPUVAL_ORDER_STRUCTURES, GPUVAL_ORDER_STRUCTURE_READ, GPUVAL_OP_BUILD}},
   {BUILDS,
    VK_ACCESS_2_ACCELERATION_STRUCTURE_WRITE_BIT_KHR,
    {GPUVAL_ORDER_STRUCTURES, GPUVAL_ORDER_WRITE, GPUVAL_OP_BUILD}},
   {BUILDS,
    VK_ACCESS_2_SHADER_READ_BIT,
    {GPUVAL_ORDER_STRUCTURES, GPUVAL_ORDER_BUILD_INPUT_READ, GPUVAL_OP_BUILD}},
   {BUILDS,
    VK_ACCESS_2_TRANSFER_READ_BIT,
    {GPUVAL_ORDER_STRUCTURES, GPUVAL_ORDER_SERIALIZED_READ, GPUVAL_OP_TRANSFER_READ}},
   {BUILDS,
    VK_ACCESS_2_TRANSFER_WRITE_BIT,
    {GPUVAL_ORDER_STRUCTURES, GPUVAL_ORDER_WRITE, GPUVAL_OP_TRANSFER_WRITE}},
};

const struct gpuval_sync_kind *
gpuval_sync_find_kind(const struct gpuval_command_access *access)
{
   if (access->image || access->size == VK_WHOLE_SIZE || (access->has_gaps && !access->row_size))
      return NULL;
   for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++) {
      if (access->stages & kinds[i].stages && access->access & kinds[i].access)
         return &kinds[i].kind;
   }
   return NULL;
}

/* Marks */

/* Commands of one span that come too many share the number of the one before. */
static bool
shares_number(const struct gpuval_sync_commands *sync, const struct part *part, uint32_t serial)
{
   return gpuval_device_shadow_is_short(sync->device) && part->data.shadow_command &&
          part->data.serial == serial;
}

static void
begin_part(struct gpuval_sync_commands *sync, struct part *part, enum gpuval_order_class class_)
{
   struct gpuval_order_threshold threshold;
   struct gpuval_command_data data = {.command_id = sync->driver.command_id(sync->driver.data)};

   for (unsigned i = 0; i < GPUVAL_STAGE_COUNT; i++)
      data.entry_base[i] = GPUVAL_SHADOW_NO_ENTRIES;
   gpuval_submits_command(sync->submits, sync->queue, class_, NULL, &data, &threshold);
   if (shares_number(sync, part, data.serial)) {
      data.shadow_command = part->data.shadow_command;
      data.shadow_ordered = part->data.shadow_ordered;
      data.shadow_words = part->data.shadow_words;
   } else {
      gpuval_device_shadow_command(sync->device, threshold, sync->driver.is_idle(sync->driver.data),
                                   &data);
   }
   part->data = data;
   part->begin = part->end = 0;
   part->is_begun = true;
}

/* A row holds as far as no barrier for a range of memory ends. */
static const struct gpuval_order_row *
get_row(struct gpuval_sync_commands *sync, struct part *part, enum gpuval_order_class class_,
        uint64_t address)
{
   if (address < part->begin || address >= part->end) {
      part->begin = address;
      part->end = gpuval_submits_get_row(sync->submits, sync->queue, class_, address, &part->row);
   }
   return &part->row;
}

static void
mark_bytes(struct gpuval_sync_commands *sync, const struct gpuval_sync_kind *kind, uint64_t address,
           uint64_t size, struct gpuval_sync_conflict *conflict)
{
   struct part *part = &sync->parts[kind->class_ - FIRST_CLASS];

   if (!part->is_begun)
      begin_part(sync, part, kind->class_);
   while (size) {
      const struct gpuval_order_row *row = get_row(sync, part, kind->class_, address);
      const struct gpuval_shadow_access access = {
         .address = address,
         .size = MIN2(size, part->end - address),
         .is_write = kind->read == GPUVAL_ORDER_WRITE,
         .class_ = kind->class_,
         .read = kind->read,
         .op = kind->op,
      };
      uint64_t where;
      uint64_t other = gpuval_device_shadow_access(sync->device, &access, &part->data, row, &where);

      if (other && !conflict->other) {
         conflict->other = other;
         conflict->address = where;
      }
      address += access.size;
      size -= access.size;
   }
}

/* One transform feedback reads a counter at its beginning and writes it at its end. */
static bool
is_own_counter(struct gpuval_sync_commands *sync, const struct gpuval_sync_conflict *conflict)
{
   struct gpuval_shadow_party party;

   return conflict->op == GPUVAL_OP_COUNTER && sync->feedback_id &&
          gpuval_device_shadow_party(sync->device, conflict->other, conflict->other >> 32,
                                     &party) &&
          party.command_id == sync->feedback_id && party.op == GPUVAL_OP_COUNTER;
}

static void
mark(struct gpuval_sync_commands *sync, const struct gpuval_command_access *access,
     const struct gpuval_sync_kind *kind, uint64_t address)
{
   bool has_rows = access->row_size != 0;
   uint64_t count = has_rows ? access->num_rows : 1;
   struct gpuval_sync_conflict conflict = {
      .what = *access,
      .class_ = kind->class_,
      .read = kind->read,
      .op = kind->op,
   };

   if (!address)
      return;
   for (uint64_t i = 0; i < count; i++)
      mark_bytes(sync, kind, address + i * access->row_stride,
                 has_rows ? access->row_size : access->size, &conflict);
   if (kind->op == GPUVAL_OP_COUNTER && kind->read == GPUVAL_ORDER_COUNTER_READ)
      sync->feedback_id = sync->parts[kind->class_ - FIRST_CLASS].data.command_id;
   if (!conflict.other || is_own_counter(sync, &conflict))
      return;

   conflict.command_id = sync->parts[kind->class_ - FIRST_CLASS].data.command_id;
   conflict.serial = sync->parts[kind->class_ - FIRST_CLASS].data.serial;
   conflict.begin = address;
   gpuval_sync_report_conflict(sync->device, &conflict);
}

/* Instances, where memory is the host's */

/* Reads what instances refer to, each once; what is @known was read before. */
static void
read_instances(struct gpuval_sync_commands *sync, struct gpuval_instances *instances,
               struct hash_table_u64 *known)
{
   struct gpuval_command_access access = {
      .stages = VK_PIPELINE_STAGE_2_ACCELERATION_STRUCTURE_BUILD_BIT_KHR,
      .access = VK_ACCESS_2_ACCELERATION_STRUCTURE_READ_BIT_KHR,
      .size = GPUVAL_SHADOW_STRUCTURE_BEGIN,
   };

   for (uint32_t i = 0; i < instances->count; i++) {
      const VkAccelerationStructureInstanceKHR *instance = gpuval_instances_get(instances, i);
      access.address = instance ? instance->accelerationStructureReference : 0;
      if (!access.address || _mesa_hash_table_u64_search(known, access.address))
         continue;
      _mesa_hash_table_u64_insert(known, access.address, sync);
      mark(sync, &access, gpuval_sync_find_kind(&access), access.address);
   }
}

static void
read_structures(struct gpuval_sync_commands *sync,
                const struct vk_cmd_build_acceleration_structures_khr *build)
{
   struct hash_table_u64 *known = _mesa_hash_table_u64_create(NULL);

   for (uint32_t i = 0; i < build->info_count; i++) {
      const VkAccelerationStructureBuildGeometryInfoKHR *info = &build->infos[i];

      for (uint32_t j = 0; j < info->geometryCount; j++) {
         struct gpuval_instances instances;
         if (gpuval_build_instances(sync->device, gpuval_build_geometry(info, j),
                                    &build->pp_build_range_infos[i][j], &instances) &&
             instances.count)
            read_instances(sync, &instances, known);
      }
   }
   _mesa_hash_table_u64_destroy(known);
}

/* The observer */

static void
reset(void *data)
{
   struct gpuval_sync_commands *sync = data;
   memset(sync->parts, 0, sizeof(sync->parts));
}

static void
begin(void *data, const struct vk_cmd_queue_entry *command)
{
   struct gpuval_sync_commands *sync = data;

   for (unsigned i = 0; i < ARRAY_SIZE(sync->parts); i++)
      sync->parts[i].is_begun = false;
   if ((unsigned)command->type == VK_CMD_BUILD_ACCELERATION_STRUCTURES_KHR)
      read_structures(sync, &command->u.build_acceleration_structures_khr);
}

static void
note_access(void *data, const struct gpuval_command_access *access)
{
   struct gpuval_sync_commands *sync = data;
   const struct gpuval_sync_kind *kind = gpuval_sync_find_kind(access);
   uint64_t address = access->address;

   if (!kind)
      return;
   if (access->buffer) {
      address = sync->driver.find_buffer(access->buffer);
      address += address ? access->offset : 0;
   }
   mark(sync, access, kind, address);
}

void
gpuval_sync_commands_fetch(struct gpuval_sync_commands *sync,
                           const struct gpuval_vertex_input *input, const struct gpuval_draw *draw)
{
   gpuval_visit_fetch(input, draw, note_access, sync);
}

const struct gpuval_command_observer gpuval_sync_observer = {
   .reset = reset,
   .begin = begin,
   .access = note_access,
};

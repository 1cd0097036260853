/* SPDX-License-Identifier: MIT */

/* The checks sync and sync-compute: which engine a device has, and records of hazards. */

#include "gpuval_sync_events.h"

#include "core/events/gpuval_drain.h"
#include "core/events/gpuval_events.h"
#include "core/memory/gpuval_filter.h"
#include "core/memory/gpuval_marks.h"
#include "core/memory/gpuval_ranges.h"
#include "core/memory/gpuval_shadow_device.h"
#include "core/memory/gpuval_texels.h"

#include "base/gpuval_names.h"
#include "nir_passes/gpuval_nir_sync.h"
#include "util/ralloc.h"
#include "util/u_atomic.h"
#include "vk_image.h"

/* The engine that was asked for, or else the one that there is */
static bool
alloc_sync(struct gpuval_device *device)
{
   enum gpuval_sync_engine engine = gpuval_options()->sync_engine;

   if (engine != GPUVAL_SYNC_ENGINE_BLOOM && device->info.has_table) {
      if (!gpuval_device_init_shadow(device))
         gpuval_log_warning("sync: there is no memory for shadow memory, its bloom filter is used");
      return gpuval_device_alloc_filter(device); /* for what has no cells */
   }
   if (engine != GPUVAL_SYNC_ENGINE_BLOOM && device->info.has_shadow) {
      if (gpuval_device_init_shadow(device))
         return true;
      gpuval_log_warning("sync: there is no address space for shadow memory, its bloom filter is "
                         "used");
   } else if (engine == GPUVAL_SYNC_ENGINE_SHADOW) {
      gpuval_log_warning("GPUVAL_SYNC=shadow: this driver has no shadow memory yet, the bloom "
                         "filter is used");
   }
   return gpuval_device_alloc_filter(device);
}

static bool
init_sync(struct gpuval_device *device)
{
   if (!alloc_sync(device))
      return false;
   device->root->bloom_address = device->filter->buckets.address;
   device->root->claims_address = device->filter->claims.address;
   device->root->bloom_line_mask = gpuval_device_line_mask(&device->filter->buckets);
   device->root->claims_mask = device->filter->bloom.claims_mask;
   device->root->shadow_address = device->shadow->layout.address;
   return true;
}

static void
finish_sync(struct gpuval_device *device)
{
   gpuval_device_free(device, &device->filter->buckets);
   gpuval_device_free(device, &device->filter->claims);
   gpuval_device_free(device, &device->filter->sample);
   gpuval_device_finish_shadow(device);
   gpuval_device_free(device, &device->shadow->layout);
   gpuval_device_free(device, &device->shadow->serials);
}

const struct gpuval_check_host gpuval_host_sync = {init_sync, finish_sync};

static bool
is_sync(enum gpuval_kind kind)
{
   return gpuval_kind_infos[kind].check == GPUVAL_CHECK_SYNC;
}

/* Is @other, by its kind a load, a store or an atomic, what a failure of @kind is
 * about? What the shader knows of the conflicting access is who came last, and others
 * may have come since the one that matters.
 */
static bool
can_conflict(enum gpuval_kind kind, enum gpuval_kind other)
{
   switch (kind) {
   case GPUVAL_KIND_READ_AFTER_WRITE:
   case GPUVAL_KIND_INDIRECT_AFTER_WRITE:
      return other == GPUVAL_KIND_WRITE_AFTER_ACCESS || other == GPUVAL_KIND_ATOMIC_CONFLICT;
   case GPUVAL_KIND_ATOMIC_CONFLICT:
      return is_sync(other) && other != GPUVAL_KIND_ATOMIC_CONFLICT;
   default:
      return is_sync(other);
   }
}

/* The access that a cell of shadow memory names */
static const struct gpuval_site *
find_party_site(struct gpuval_device *device, const struct gpuval_shadow_party *party,
                const struct gpuval_shader **shader)
{
   if (party->stage == MESA_SHADER_NONE || party->number >= GPUVAL_SHADOW_SITE_UNKNOWN)
      return NULL;

   *shader = gpuval_device_entry_shader(device, party->entry_base);
   if (*shader && (*shader)->serial > party->max_serial)
      return NULL; /* The one that is meant is gone. */
   return *shader ? gpuval_events_numbered_site(*shader, GPUVAL_CHECK_SYNC, party->number) : NULL;
}

/* Whom a record of a hazard names beside its own access */
struct other {
   bool is_certain;
   enum gpuval_op op; /* of a command without a shader; GPUVAL_OP_NONE: it is a shader's */
   const struct gpuval_shader *shader;
   const struct gpuval_site *site; /* NULL: not known */
   uint32_t command_id;
};

/* By a half of a cell: what it says is certain, as far as it goes. */
static bool
find_party(struct gpuval_device *device, uint32_t lo, uint32_t hi, struct other *other)
{
   struct gpuval_shadow_party party;
   if (!gpuval_device_shadow_party(device, lo, hi, &party))
      return false;

   other->is_certain = true;
   other->op = party.op;
   other->site = find_party_site(device, &party, &other->shader);
   other->command_id = party.command_id;
   return true;
}

/* By a claim of the filter: likely */
static bool
find_claim(struct gpuval_device *device, enum gpuval_kind kind, const struct gpuval_record *record,
           struct other *other)
{
   uint32_t site_index = record->other & GPUVAL_OTHER_SITE_MASK;
   const struct gpuval_shader *shader = gpuval_device_site_shader(device, site_index);

   other->op = site_index == GPUVAL_INDIRECT_SITE ? GPUVAL_OP_INDIRECT : GPUVAL_OP_NONE;
   other->shader = shader;
   other->site = shader ? &shader->sites[site_index - shader->first_site] : NULL;
   if (!(record->other & GPUVAL_OTHER_KNOWN) || (!other->site && !other->op) ||
       !can_conflict(kind, other->site ? other->site->kind : GPUVAL_KIND_INDIRECT_AFTER_WRITE))
      return false;

   /* The command with these low bits that is nearest: mostly an earlier one, but
    * fragments may run after a later dispatch. */
   uint32_t distance = (record->bound - record->command_id) << (32 - GPUVAL_OTHER_COMMAND_BITS);
   other->command_id = record->command_id + ((int32_t)distance >> (32 - GPUVAL_OTHER_COMMAND_BITS));
   return true;
}

/* NULL: it is of no shader */
static const struct gpuval_site *
find_site(struct gpuval_device *device, const struct gpuval_record *record)
{
   const struct gpuval_shader *shader = gpuval_device_site_shader(device, record->site);
   return shader ? &shader->sites[record->site - shader->first_site] : NULL;
}

/* Is it of a trace or a ray query? */
static bool
has_rays(struct gpuval_device *device, const struct gpuval_record *record)
{
   const struct gpuval_site *site = find_site(device, record);
   return site && site->has_rays;
}

static bool
find_other(struct gpuval_device *device, enum gpuval_kind kind, const struct gpuval_record *record,
           struct other *other)
{
   const struct gpuval_site *site = find_site(device, record);

   *other = (struct other){0};
   if (!device->shadow->is_on || (site && site->by_filter))
      return find_claim(device, kind, record, other);

   /* A command that stands for readers of an earlier one does not know them. */
   bool is_own = (record->bound & GPUVAL_SHADOW_SITE_UNKNOWN) == GPUVAL_SHADOW_SITE_UNKNOWN;
   return find_party(device, record->bound, record->other, other) &&
          !(is_own && other->command_id == record->command_id);
}

static void
describe_other(struct gpuval_device *device, struct gpuval_event *event, const struct other *other)
{
   event->has_other = true;
   event->other_is_certain = other->is_certain;
   if (other->op)
      event->other.access.op = other->op;
   else if (other->site)
      gpuval_events_describe_site(event, &event->other, other->shader, other->site);
   gpuval_events_describe_command(device, event, &event->other, other->command_id);
}

bool
gpuval_sync_describe_party(struct gpuval_device *device, struct gpuval_event *event, uint32_t lo,
                           uint32_t hi)
{
   struct other other = {0};
   bool is_known = find_party(device, lo, hi, &other);

   if (is_known)
      describe_other(device, event, &other);
   return is_known;
}

/* The conflicting access is of another command: which barrier there has to be */
static void
describe_barrier(struct gpuval_device *device, struct gpuval_event *event,
                 const struct gpuval_record *record, const struct gpuval_shadow_party *party)
{
   bool has_shader = event->place.has_shader;
   bool reads = event->kind == GPUVAL_KIND_READ_AFTER_WRITE || !has_shader;
   bool is_uniform = event->resource.type && !strncmp(event->resource.type, "uniform_buffer", 14);
   struct gpuval_sync_side first =
      gpuval_sync_side_of_party(party, party->op ? party->op : event->other.access.op);
   struct gpuval_sync_side second = {
      .class_ =
         has_shader ? gpuval_order_stage_class(event->place.shader.stage) : GPUVAL_ORDER_INDIRECT,
      .op = event->place.access.op,
      .is_write = !reads,
      .read = has_rays(device, record) ? GPUVAL_ORDER_RAY_READ
              : is_uniform             ? GPUVAL_ORDER_UNIFORM_READ
                                       : GPUVAL_ORDER_STORAGE_READ,
   };
   uint64_t address = record->address[0] | (uint64_t)record->address[1] << 32;

   if (!has_shader)
      address += record->offset; /* gpuval_indirect_read::offset */

   /* Who has read since is not whom a read conflicts with. */
   if (reads && !first.is_write)
      return;
   bool is_of_other = false;
   const uint32_t number =
      gpuval_device_shadow_serial(device, record->command_id, &is_of_other, &second.serial);
   second.has_serial = number != 0;
   second.queue = is_of_other ? GPUVAL_SYNC_OTHER_QUEUE : 0;

   /* Of two commands that run at once either may come to the memory first: a barrier has to stand
    * between them as they were submitted.
    */
   const bool is_reversed = second.queue == first.queue && number &&
                            record->other >> GPUVAL_SHADOW_COMMAND_SHIFT > number;
   gpuval_sync_describe_barrier(device, event, is_reversed ? &second : &first,
                                is_reversed ? &first : &second, address, false);
}

uint64_t
gpuval_events_other_hash(struct gpuval_device *device, enum gpuval_kind kind,
                         const struct gpuval_record *record)
{
   struct other other;
   bool has_shader = find_other(device, kind, record, &other) && !other.op && other.site;

   return has_shader ? other.shader->module->hash : 0;
}

static void
describe_hazard(struct gpuval_device *device, struct gpuval_event *event,
                const struct gpuval_record *record)
{
   struct gpuval_shadow_party party;
   struct other other;
   if (!find_other(device, event->kind, record, &other))
      return;

   describe_other(device, event, &other);
   if (other.is_certain && (other.op || other.site) && other.command_id != record->command_id &&
       gpuval_device_shadow_party(device, record->bound, record->other, &party))
      describe_barrier(device, event, record, &party);
}

/* The image, or NULL where it is not known, that has a texel there */
static const struct vk_image *
find_texel(struct gpuval_device *device, uint64_t address, struct gpuval_texel *texel)
{
   int64_t offset;

   if (device->info.numbers_texels)
      return gpuval_texels_find(device, address, texel);
   const struct vk_object_base *image =
      gpuval_events_find_object(device->ranges->images, address, &offset);
   if (!image || !device->info.find_texel)
      return NULL;
   device->info.find_texel(image, address, texel);
   return container_of(image, struct vk_image, base);
}

/* Of an image: where it is known which one that is. @place: GPUVAL_TEXEL_* */
static void
describe_texel(struct gpuval_device *device, struct gpuval_event *event, uint64_t address,
               uint32_t place)
{
   struct gpuval_event_access *access = &event->place.access;
   struct gpuval_texel texel;
   const struct vk_image *vk = find_texel(device, address, &texel);
   if (!vk)
      return;

   int32_t layer = place & GPUVAL_TEXEL_LAYER_MASK;
   access->num_coords = MIN2(place >> GPUVAL_TEXEL_COORDS_SHIFT, ARRAY_SIZE(access->coord));
   access->coord[0] = texel.x;
   access->coord[1] = vk->image_type == VK_IMAGE_TYPE_1D ? layer : texel.y;
   access->coord[2] = layer;
   access->has_level = texel.level > 0;
   access->level = texel.level;
   access->has_sample = vk->samples > 1;
   access->sample = texel.sample;
   gpuval_events_set_object(event, &vk->base);
}

static void
read_hazard(struct gpuval_device *device, struct gpuval_event *event,
            const struct gpuval_record *record)
{
   uint64_t address = record->address[0] | (uint64_t)record->address[1] << 32;

   bool is_image = event->resource.type && !strcmp(event->resource.type, "storage_image");

   /* All of a structure is meant, whatever bytes of it were looked at. */
   if (!is_image && !has_rays(device, record)) {
      event->place.access.size = record->access_size;
      if (event->resource.set >= 0) /* not through an address */
         event->place.access.offset = record->offset;
   }
   describe_hazard(device, event, record);
   if (!address)
      return;

   if (!is_image || !device->info.numbers_texels)
      event->place.access.address = address;
   if (is_image)
      describe_texel(device, event, address, record->offset);
   else
      gpuval_events_describe_buffer(device, event, address, true);

   int64_t offset;
   const struct vk_object_base *memory =
      gpuval_events_find_object(device->ranges->allocations, address, &offset);
   if (memory) {
      event->resource.memory = (uintptr_t)memory;
      event->resource.memory_name = gpuval_object_name(event, memory);
      event->resource.memory_offset = offset;
   }
}

const struct gpuval_words gpuval_words_hazard = {.read = read_hazard};

void
gpuval_device_indirect_read(struct gpuval_device *device, const struct gpuval_indirect_read *read)
{
   const uint64_t end = read->address + read->size;
   uint64_t claim = 0, ignored;
   bool bad = false;

   if (device->shadow->memory) {
      struct gpuval_indirect_read reported = *read;

      /* Barriers may be for a part of it. */
      for (uint64_t at = read->address, until; at < end; at = until) {
         const struct gpuval_order_row *row =
            gpuval_order_find_row(read->table, GPUVAL_ORDER_INDIRECT, at, &until);
         until = MIN2(until, end);
         const uint64_t other =
            gpuval_device_shadow_read(device, at, until - at, &read->command, row);
         if (other && !claim)
            reported.offset = at - read->address;
         claim = claim ? claim : other;
      }
      if (claim)
         gpuval_device_report_indirect(device, &reported, claim);
      return;
   }

   struct gpuval_bloom_access access = {
      .type = GPUVAL_BLOOM_INDIRECT,
      .entry = GPUVAL_INDIRECT_ENTRY,
      .command_id = read->command.command_id,
      .epoch_command = read->command.epoch_command,
      .invocation = __atomic_fetch_add(&device->root->invocations, GPUVAL_BLOOM_INVOCATION_STEP,
                                       __ATOMIC_RELAXED),
   };

   /* Arguments are aligned to 4 bytes only. */
   for (uint64_t at = read->address; at < end; at = access.address + access.size) {
      uint64_t next_granule = (at & ~(uint64_t)(GPUVAL_BLOOM_GRANULE - 1)) + GPUVAL_BLOOM_GRANULE;

      access.address = at;
      access.size = MIN2(end, next_granule) - at;
      access.epoch = read->command.epoch;
      uint64_t other;
      if (gpuval_bloom_access(&device->filter->bloom, &access, &other)) {
         bad = true;
         claim = claim ? claim : other;
      }
      for (unsigned i = 0; i < read->num_other_epochs; i++) {
         access.epoch = read->other_epochs[i];
         gpuval_bloom_access(&device->filter->bloom, &access, &ignored);
      }
   }

   if (bad)
      gpuval_device_report_indirect(device, read, claim);
}

/* SPDX-License-Identifier: MIT */

/* Events: what there is to say of a failure, from its site and its record. The
 * record has been checked; its sizes and offsets are only printed.
 */

#include "gpuval_events.h"

#include <inttypes.h>
#include <string.h>

#include "base/gpuval_names.h"
#include "nir_passes/gpuval_nir_sync.h"
#include "util/ralloc.h"
#include "vk_object.h"

static uint32_t
hash_failure(const void *key)
{
   return _mesa_hash_data(key, sizeof(struct gpuval_failure_key));
}

static bool
failures_equal(const void *a, const void *b)
{
   return !memcmp(a, b, sizeof(struct gpuval_failure_key));
}

static char *
copy_string(const struct gpuval_event *event, const char *string)
{
   return string ? ralloc_strdup((void *)event, string) : NULL;
}

/* VkDescriptorType in lower case without its prefix */
static const char *
descriptor_type_name(VkDescriptorType type)
{
   switch (type) {
   case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER:
      return "uniform_buffer";
   case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER:
      return "storage_buffer";
   case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC:
      return "uniform_buffer_dynamic";
   case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC:
      return "storage_buffer_dynamic";
   case VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER:
      return "uniform_texel_buffer";
   case VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER:
      return "storage_texel_buffer";
   case VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK:
      return "inline_uniform_block";
   case VK_DESCRIPTOR_TYPE_SAMPLER:
      return "sampler";
   case VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER:
      return "combined_image_sampler";
   case VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE:
      return "sampled_image";
   case VK_DESCRIPTOR_TYPE_STORAGE_IMAGE:
      return "storage_image";
   case VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT:
      return "input_attachment";
   case VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR:
      return "acceleration_structure_khr";
   case VK_DESCRIPTOR_TYPE_MUTABLE_EXT:
      return "mutable_ext";
   default:
      return NULL;
   }
}

static const struct gpuval_binding *
find_binding(const struct gpuval_shader *shader, const struct gpuval_site *site,
             const struct gpuval_record *record)
{
   for (unsigned i = 0; i < shader->num_bindings; i++) {
      const struct gpuval_binding *binding = &shader->bindings[i];

      if (site->binding >= 0) {
         if (binding->set == (uint32_t)site->set && binding->binding == (uint32_t)site->binding)
            return binding;
      } else if (record && binding->set == (record->set & 0xff) && binding->stride &&
                 record->slot >= binding->first_slot &&
                 (record->slot - binding->first_slot) / binding->stride < binding->array_size) {
         return binding;
      }
   }
   return NULL;
}

/* The one buffer or allocation that @address is in */
static const struct vk_object_base *
find_object(struct hash_table *ranges, uint64_t address, int64_t *offset)
{
   const struct vk_object_base *found = NULL;

   hash_table_foreach (ranges, entry) {
      const struct gpuval_range *range = entry->data;

      if (address < range->address || address - range->address >= range->size)
         continue;
      if (found)
         return NULL;
      found = entry->key;
      *offset = address - range->address;
   }
   return found;
}

static bool
is_sync(enum gpuval_kind kind)
{
   return gpuval_kind_infos[kind].check == GPUVAL_CHECK_SYNC;
}

/* The descriptor, from what the site knows of it and where its slot is in the record */
static void
describe_resource(struct gpuval_event *event, const struct gpuval_shader *shader,
                  const struct gpuval_site *site, const struct gpuval_record *record,
                  struct gpuval_spirv *spirv, const struct gpuval_spirv_location *location)
{
   bool is_address = site->set < 0 && record && record->set == GPUVAL_REPORT_PLAIN;

   event->resource.set = site->set;
   event->resource.binding = site->binding;
   if (is_address)
      event->resource.type = "address";
   else if (site->set < 0 && record)
      event->resource.set = record->set & 0xff;

   const struct gpuval_binding *binding = find_binding(shader, site, record);
   if (binding) {
      event->resource.binding = binding->binding;
      event->resource.type = descriptor_type_name(binding->type);
      event->resource.stride = binding->is_variable ? 0 : binding->stride;
      if (record && binding->type != VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK &&
          record->slot >= binding->first_slot && binding->stride)
         event->resource.index = (record->slot - binding->first_slot) / binding->stride;
      else if (binding->type == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK)
         event->resource.index = 0;

      bool is_storage = binding->type == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER ||
                        binding->type == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC;
      /* What the instruction names may be the other end of a copy. */
      const char *name = NULL;
      if (location->has_binding && location->set == binding->set &&
          location->binding == binding->binding)
         name = location->variable;
      else if (spirv)
         name = gpuval_spirv_binding_name(spirv, binding->set, binding->binding, is_storage);
      event->resource.name = copy_string(event, name);
   }
}

static void
copy_command(const struct gpuval_event *event, struct gpuval_place *place,
             const struct gpuval_command *from)
{
   struct gpuval_command *command = &place->command;

   *command = *from;
   command->op = copy_string(event, from->op);
   command->command_buffer_name = copy_string(event, from->command_buffer_name);
   command->primary_name = copy_string(event, from->primary_name);
   command->pipeline_name = copy_string(event, from->pipeline_name);
   for (unsigned i = 0; i < from->num_labels; i++)
      command->labels[i] = copy_string(event, from->labels[i]);
   place->has_command = true;
}

static void
copy_extract(const struct gpuval_event *event, struct gpuval_place *place,
             const struct gpuval_spirv_location *location)
{
   char **lines = ralloc_array(event, char *, location->extract_count);

   for (uint32_t i = 0; i < location->extract_count; i++)
      lines[i] = copy_string(event, location->extract[i]);
   place->source.extract = (const char *const *)lines;
   place->source.extract_line = location->extract_line;
   place->source.extract_count = location->extract_count;
}

/* @location has more than the place shows. */
static void
describe_place(const struct gpuval_event *event, struct gpuval_place *place,
               const struct gpuval_shader *shader, const struct gpuval_site *site,
               struct gpuval_spirv *spirv, struct gpuval_spirv_location *location)
{
   place->has_shader = true;
   place->shader.hash = shader->module->hash;
   place->shader.stage = shader->stage;
   place->shader.code_hash = spirv ? gpuval_spirv_code_hash(spirv) : 0;
   place->shader.entry = copy_string(event, shader->entry);
   place->shader.name = copy_string(event, shader->name);
   place->access.op = site->op;
   place->spirv.offset = site->spirv_offset;

   if (site->spirv_offset && spirv && gpuval_spirv_lookup(spirv, site->spirv_offset, location)) {
      place->spirv.instruction = location->instruction;
      place->spirv.code_instruction = location->code_instruction;
      place->source.file = copy_string(event, location->file);
      place->source.line = location->line;
      place->source.column = location->column;
      place->source.text = copy_string(event, location->text);
      place->source.function = copy_string(event, location->function);
      copy_extract(event, place, location);
   }
}

void
gpuval_events_describe_command(struct gpuval_device *device, const struct gpuval_event *event,
                               struct gpuval_place *place, uint32_t command_id)
{
   struct gpuval_command command = {.index = -1, .submission = -1};

   if (device->info.describe_command &&
       device->info.describe_command(device->info.data, command_id, place->shader.stage,
                                     &command)) {
      copy_command(event, place, &command);
      if (place->has_shader && !place->shader.name)
         place->shader.name = copy_string(event, command.shader_name);
   }
}

/* Is @other, by its kind a load, a store or an atomic, what a failure of @kind is
 * about? What the shader knows of the other party is who came last, and others
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

/* Of the accesses of a check, the one with this number */
static const struct gpuval_site *
find_numbered_site(const struct gpuval_shader *shader, enum gpuval_check check, unsigned number)
{
   for (unsigned i = 0; i < shader->num_entries; i++) {
      const struct gpuval_site *site = &shader->sites[shader->entries[i].site];
      if (gpuval_kind_infos[site->kind].check == check && !number--)
         return site;
   }
   return NULL;
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
   return *shader ? find_numbered_site(*shader, GPUVAL_CHECK_SYNC, party->number) : NULL;
}

/* Whom a record of a hazard names beside its own access */
struct other {
   bool is_certain, is_indirect;
   const struct gpuval_shader *shader;
   const struct gpuval_site *site; /* NULL: not known */
   uint32_t command_id;
};

/* By a half of a cell: what it says is certain, as far as it goes. */
static bool
find_party(struct gpuval_device *device, const struct gpuval_record *record, struct other *other)
{
   struct gpuval_shadow_party party;
   if (!gpuval_device_shadow_party(device, record->bound, record->other, &party))
      return false;

   /* A command that stands for readers of an earlier one does not know them. */
   if (party.command_id == record->command_id && party.number == GPUVAL_SHADOW_SITE_UNKNOWN)
      return false;

   other->is_certain = true;
   other->is_indirect = party.is_indirect;
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

   other->is_indirect = site_index == GPUVAL_INDIRECT_SITE;
   other->shader = shader;
   other->site = shader ? &shader->sites[site_index - shader->first_site] : NULL;
   if (!(record->other & GPUVAL_OTHER_KNOWN) || (!other->site && !other->is_indirect) ||
       !can_conflict(kind, other->site ? other->site->kind : GPUVAL_KIND_INDIRECT_AFTER_WRITE))
      return false;

   /* The command with these low bits that is nearest: mostly an earlier one, but
    * fragments may run after a later dispatch. */
   uint32_t distance = (record->bound - record->command_id) << (32 - GPUVAL_OTHER_COMMAND_BITS);
   other->command_id = record->command_id + ((int32_t)distance >> (32 - GPUVAL_OTHER_COMMAND_BITS));
   return true;
}

static bool
find_other(struct gpuval_device *device, enum gpuval_kind kind, const struct gpuval_record *record,
           struct other *other)
{
   const struct gpuval_shader *shader = gpuval_device_site_shader(device, record->site);
   bool by_filter = shader && shader->sites[record->site - shader->first_site].by_filter;

   *other = (struct other){0};
   return device->shadow.is_on && !by_filter ? find_party(device, record, other)
                                             : find_claim(device, kind, record, other);
}

static void
describe_other(struct gpuval_device *device, struct gpuval_event *event,
               const struct gpuval_record *record)
{
   struct other other;
   if (!find_other(device, event->kind, record, &other))
      return;

   event->has_other = true;
   event->other_is_certain = other.is_certain;
   if (other.is_indirect) {
      event->other.access.op = GPUVAL_OP_INDIRECT;
   } else if (other.site) {
      struct gpuval_spirv_location location = {0};
      describe_place(event, &event->other, other.shader, other.site,
                     gpuval_module_spirv(other.shader->module), &location);
   }
   gpuval_events_describe_command(device, event, &event->other, other.command_id);
}

uint64_t
gpuval_events_other_hash(struct gpuval_device *device, enum gpuval_kind kind,
                         const struct gpuval_record *record)
{
   struct other other;
   bool has_shader = find_other(device, kind, record, &other) && !other.is_indirect && other.site;

   return has_shader ? other.shader->module->hash : 0;
}

/* The rest of a record, by gpuval_kind_info::words */

static void
describe_buffer(struct gpuval_device *device, struct gpuval_event *event, uint64_t address,
                bool with_offset)
{
   int64_t offset;
   const struct vk_object_base *buffer = find_object(device->buffers, address, &offset);

   if (!buffer)
      return;
   event->resource.object = (uintptr_t)buffer;
   event->resource.object_name = gpuval_object_name(event, buffer);
   if (with_offset)
      event->resource.object_offset = offset;
   else
      event->resource.offset = offset;
}

/* The descriptor knows its buffer, whatever else is in the same memory. */
static bool
describe_bound(struct gpuval_device *device, struct gpuval_event *event, uint32_t id,
               uint64_t begin)
{
   struct gpuval_object_info info;
   if (!id || !device->objects || !gpuval_objects_describe(device->objects, event, id, &info) ||
       info.type != VK_OBJECT_TYPE_BUFFER)
      return false;

   gpuval_events_name_object(event, &info);
   const void *buffer = (const void *)(uintptr_t)info.handle;
   struct hash_entry *entry =
      info.end == GPUVAL_OBJECT_ALIVE ? _mesa_hash_table_search(device->buffers, buffer) : NULL;
   const struct gpuval_range *range = entry ? entry->data : NULL;
   if (range && begin >= range->address && begin - range->address < range->size)
      event->resource.offset = begin - range->address;
   return true;
}

static void
read_range(struct gpuval_device *device, struct gpuval_event *event,
           const struct gpuval_record *record)
{
   uint64_t begin = record->address[0] | (uint64_t)record->address[1] << 32;

   event->place.access.size = record->access_size;
   event->place.access.offset = record->offset;
   event->resource.size = record->bound;
   if (!begin)
      return;

   event->place.access.address = begin + record->offset;
   if (!describe_bound(device, event, record->other, begin))
      describe_buffer(device, event, begin, false);
}

static void
read_hazard(struct gpuval_device *device, struct gpuval_event *event,
            const struct gpuval_record *record)
{
   uint64_t address = record->address[0] | (uint64_t)record->address[1] << 32;

   event->place.access.size = record->access_size;
   if (event->resource.set >= 0) /* not through an address */
      event->place.access.offset = record->offset;
   describe_other(device, event, record);
   if (!address)
      return;

   event->place.access.address = address;
   describe_buffer(device, event, address, true);

   int64_t offset;
   const struct vk_object_base *memory = find_object(device->allocations, address, &offset);
   if (memory) {
      event->resource.memory = (uintptr_t)memory;
      event->resource.memory_name = gpuval_object_name(event, memory);
      event->resource.memory_offset = offset;
   }
}

/* The other party is of the same command and shader: gpuval_nir_shared_cells.c */
static void
read_shared(struct gpuval_device *device, struct gpuval_event *event,
            const struct gpuval_record *record)
{
   uint32_t number = record->bound & GPUVAL_SHADOW_SITE_UNKNOWN;
   const struct gpuval_shader *shader = gpuval_device_site_shader(device, record->site);
   const struct gpuval_site *site = shader && number && number < GPUVAL_SHADOW_SITE_UNKNOWN
                                       ? find_numbered_site(shader, GPUVAL_CHECK_SHARED, number - 1)
                                       : NULL;
   struct gpuval_spirv_location location = {0};

   event->place.access.size = record->access_size;
   event->place.access.offset = record->offset;
   event->resource.type =
      record->slot & GPUVAL_SHARED_IS_PAYLOAD ? "task_payload" : "shared_memory";
   event->has_other = event->other_is_certain = true;
   if (site)
      describe_place(event, &event->other, shader, site, gpuval_module_spirv(shader->module),
                     &location);
   gpuval_events_describe_command(device, event, &event->other, record->command_id);
}

static void
read_unwritten(struct gpuval_device *device, struct gpuval_event *event,
               const struct gpuval_record *record)
{
   bool is_address = record->set == GPUVAL_REPORT_PLAIN;

   if (record->other & GPUVAL_IMAGE_IS_ONE) {
      gpuval_device_read_image(device, event, record);
      return;
   }
   read_range(device, event, record);
   if (!record->bound) { /* the address is all that there is */
      event->resource.size = -1;
      event->place.access.offset = -1;
      describe_buffer(device, event, event->place.access.address, true);
   }
   if (is_address)
      event->resource.set = -1;
}

static void (*const read_words[GPUVAL_WORDS_COUNT])(struct gpuval_device *device,
                                                    struct gpuval_event *event,
                                                    const struct gpuval_record *record) = {
   [GPUVAL_WORDS_RANGE] = read_range,
   [GPUVAL_WORDS_HAZARD] = read_hazard,
   [GPUVAL_WORDS_SHARED] = read_shared,
   [GPUVAL_WORDS_IMAGE] = gpuval_device_read_image,
   [GPUVAL_WORDS_TEXELS] = gpuval_device_read_texels,
   [GPUVAL_WORDS_DESCRIPTOR] = gpuval_device_read_descriptor,
   [GPUVAL_WORDS_ADDRESS] = gpuval_device_read_address,
   [GPUVAL_WORDS_EXPORT] = gpuval_device_read_export,
   [GPUVAL_WORDS_RAY] = gpuval_device_read_ray,
   [GPUVAL_WORDS_STRUCTURE] = gpuval_device_read_structure,
   [GPUVAL_WORDS_UNWRITTEN] = read_unwritten,
};

static void
read_draw(struct gpuval_event *event)
{
   struct gpuval_command *command = &event->place.command;
   uint32_t draw = event->invocation[2];

   event->invocation[2] = 0;
   if (draw && command->has_draws) {
      command->has_draw = true;
      command->draw = draw - 1;
   }
}

void
gpuval_events_read_record(struct gpuval_device *device, struct gpuval_event *event,
                          const struct gpuval_record *record)
{
   enum gpuval_words words = gpuval_kind_infos[event->kind].words;

   event->has_record = true;
   memcpy(event->invocation, record->invocation, sizeof(event->invocation));
   gpuval_events_describe_command(device, event, &event->place, record->command_id);
   if (event->place.shader.stage == MESA_SHADER_VERTEX)
      read_draw(event);
   if (read_words[words])
      read_words[words](device, event, record);
}

/* Where the site has no instruction, or none that is known, it is the n-th of its kind,
 * whatever other checks are on.
 */
static void
set_fingerprint(struct gpuval_event *event, const struct gpuval_shader *shader,
                const struct gpuval_site *site)
{
   uint32_t number = 0;

   if (!site->spirv_offset || event->place.spirv.code_instruction < 0) {
      number = 1;
      for (const struct gpuval_site *other = shader->sites; other < site; other++)
         number += other->kind == site->kind;
   }
   gpuval_event_set_fingerprint(event, site->set, site->binding, number);
}

void
gpuval_events_describe_site(const struct gpuval_event *event, struct gpuval_place *place,
                            const struct gpuval_shader *shader, const struct gpuval_site *site)
{
   struct gpuval_spirv_location location = {0};
   describe_place(event, place, shader, site, gpuval_module_spirv(shader->module), &location);
}

struct gpuval_event *
gpuval_events_create(struct gpuval_device *device, const struct gpuval_shader *shader,
                     const struct gpuval_site *site, const struct gpuval_record *record)
{
   struct gpuval_event *event = gpuval_event_create(site->kind);
   struct gpuval_spirv *spirv = gpuval_module_spirv(shader->module);
   struct gpuval_spirv_location location = {0};

   /* One output that is assigned in several places: the record knows in which it was. */
   struct gpuval_site assignment = *site;
   if (record && !site->spirv_offset && gpuval_kind_infos[site->kind].words == GPUVAL_WORDS_EXPORT)
      assignment.spirv_offset = record->slot;
   describe_place(event, &event->place, shader, &assignment, spirv, &location);

   if (gpuval_kind_infos[event->kind].words == GPUVAL_WORDS_STRUCTURE) {
      event->resource.set = site->set;
      event->resource.binding = site->binding;
      event->resource.type = "acceleration_structure_khr";
   }
   if (site->op)
      describe_resource(event, shader, site, record, spirv, &location);
   if (record)
      gpuval_events_read_record(device, event, record);
   event->same_value = site->same_value;
   gpuval_event_describe(event);
   set_fingerprint(event, shader, site - site->same_value);

   return event;
}

struct gpuval_event *
gpuval_device_create_message(struct gpuval_device *device, uint32_t site_index, const char *text,
                             const uint32_t *invocation)
{
   const struct gpuval_shader *shader = gpuval_device_site_shader(device, site_index);
   const struct gpuval_site *site = &shader->sites[site_index - shader->first_site];
   struct gpuval_event *event = gpuval_events_create(device, shader, site, NULL);

   event->message = ralloc_strdup(event, text);
   set_fingerprint(event, shader, site);
   if (invocation) {
      event->has_record = true;
      memcpy(event->invocation, invocation, sizeof(event->invocation));
   }
   return event;
}

struct gpuval_event *
gpuval_events_find(struct gpuval_device *device, const struct gpuval_failure_key *key)
{
   struct hash_entry *entry =
      device->failures ? _mesa_hash_table_search(device->failures, key) : NULL;
   struct gpuval_event *event = entry ? entry->data : NULL;
   return event && event->period == gpuval_report_period() ? event : NULL;
}

void
gpuval_events_add(struct gpuval_device *device, const struct gpuval_failure_key *key,
                  struct gpuval_event *event)
{
   if (!device->failures)
      device->failures = _mesa_hash_table_create(device, hash_failure, failures_equal);
   _mesa_hash_table_insert(device->failures, ralloc_memdup(device, key, sizeof(*key)), event);
   gpuval_report_event(event, &device->notices);
}

struct gpuval_failure_key
gpuval_events_site_key(const struct gpuval_shader *shader, uint32_t number)
{
   const struct gpuval_site *site = &shader->sites[number];
   struct gpuval_failure_key key = {
      .shader_hash = shader->module->hash,
      .stage = shader->stage,
      .kind = site->kind,
      .op = site->op,
      .spirv_offset = site->spirv_offset,
      .set = site->set,
      .binding = site->binding,
   };
   if (!site->spirv_offset) {
      key.site = number + 1 - site->same_value;
      memcpy(&key.shader, shader->key, sizeof(key.shader));
   }
   return key;
}

struct gpuval_event *
gpuval_device_get_event(struct gpuval_device *device, uint32_t site_index,
                        const struct gpuval_record *record)
{
   const struct gpuval_shader *shader = gpuval_device_site_shader(device, site_index);
   uint32_t number = site_index - shader->first_site;
   const struct gpuval_site *site = &shader->sites[number];
   struct gpuval_event **slot = &shader->states[number].event;
   const struct gpuval_failure_key key = gpuval_events_site_key(shader, number);

   if (!*slot || (*slot)->period != gpuval_report_period())
      *slot = gpuval_events_find(device, &key);
   if (!*slot) {
      *slot = gpuval_events_create(device, shader, site, record);
      gpuval_events_add(device, &key, *slot);
   } else if ((*slot)->same_value && !site->same_value) {
      gpuval_report_raise(*slot, gpuval_events_create(device, shader, site, record),
                          &device->notices);
   }
   return *slot;
}

void
gpuval_events_count(struct gpuval_event *event, uint64_t count)
{
   gpuval_report_lock();
   event->count += count;
   gpuval_report_unlock();
}

/* SPDX-License-Identifier: MIT */

/* Events: what there is to say of a failure, from its site and its record. The
 * record has been checked; its sizes and offsets are only printed.
 */

#include "gpuval_events.h"

#include "base/gpuval_call_tree.h"
#include "core/memory/gpuval_ranges.h"
#include "core/shaders/gpuval_shader.h"
#include "gpuval_drain.h"

#include <inttypes.h>
#include <string.h>

#include "base/gpuval_names.h"
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

const struct vk_object_base *
gpuval_events_find_object(struct hash_table *ranges, uint64_t address, int64_t *offset)
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

/* The element of an array of descriptors, as the shader has it: an index that is outside may lead
 * to slots in front of the binding.
 */
static void
describe_index(struct gpuval_event *event, const struct gpuval_binding *binding,
               const struct gpuval_record *record)
{
   if (binding->type == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK) {
      event->resource.has_index = true;
   } else if (record && binding->stride &&
              (record->slot >= binding->first_slot || event->kind == GPUVAL_KIND_INDEX_OOB)) {
      const int32_t distance = record->slot - binding->first_slot;
      event->resource.has_index = true;
      event->resource.index = distance / (int32_t)binding->stride;
   }
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
      event->resource.type = event->resource.type ? event->resource.type : "address";
   else if (site->set < 0 && record)
      event->resource.set = record->set & 0xff;

   const struct gpuval_binding *binding = find_binding(shader, site, record);
   if (binding) {
      event->resource.binding = binding->binding;
      event->resource.type = descriptor_type_name(binding->type);
      event->resource.stride = binding->is_variable ? 0 : binding->stride;
      event->resource.is_array = binding->is_variable || binding->array_size > 1;
      describe_index(event, binding, record);

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

static void
describe_stack(const struct gpuval_event *event, struct gpuval_place *place,
               const struct gpuval_shader *shader, uint32_t offset, struct gpuval_spirv *spirv)
{
   struct gpuval_spirv_stack stack;

   gpuval_spirv_find_stack(spirv, gpuval_stage_to_spirv(shader->stage), shader->entry, offset,
                           &stack);
   struct gpuval_frame *frames = ralloc_array(event, struct gpuval_frame, MAX2(stack.count, 1));
   for (unsigned i = 0; i < stack.count; i++) {
      frames[i] = stack.frames[i];
      frames[i].function = copy_string(event, stack.frames[i].function);
      frames[i].file = copy_string(event, stack.frames[i].file);
      frames[i].text = copy_string(event, stack.frames[i].text);
   }
   place->stack = frames;
   place->stack_count = stack.count;
   place->spirv.way = copy_string(event, stack.way);
}

/* What the check has compared, as far as it is the failing expression's */
static struct gpuval_spirv_facts
get_facts(const struct gpuval_event *event)
{
   const struct gpuval_event_access *access = &event->place.access;
   struct gpuval_spirv_facts facts = {.has_invocation = event->has_record,
                                      .has_descriptor = event->resource.has_index,
                                      .descriptor = event->resource.index};

   memcpy(facts.invocation, event->invocation, sizeof(facts.invocation));
   if (access->has_index) {
      facts.of = GPUVAL_SPIRV_FACTS_INDEX;
      facts.count = 1;
      facts.words[0] = access->index;
   } else if (event->has_operands) {
      facts.of = GPUVAL_SPIRV_FACTS_OPERANDS;
      facts.count = ARRAY_SIZE(event->operands);
      memcpy(facts.words, event->operands, sizeof(event->operands));
   } else if (access->num_coords) {
      facts.of = GPUVAL_SPIRV_FACTS_COORDINATES;
      facts.count = access->num_coords;
      memcpy(facts.words, access->coord, sizeof(facts.words));
   } else if (access->offset >= 0) {
      facts.of = GPUVAL_SPIRV_FACTS_OFFSET;
      facts.count = 1;
      facts.words[0] = access->offset;
   } else if (access->address) {
      facts.of = GPUVAL_SPIRV_FACTS_ADDRESS;
      facts.count = 2;
      facts.words[0] = access->address;
      facts.words[1] = access->address >> 32;
   }
   return facts;
}

/* Of what is undefined, nothing follows. */
static void
describe_values(struct gpuval_event *event, const struct gpuval_shader *shader, uint32_t offset,
                struct gpuval_spirv *spirv)
{
   const struct gpuval_spirv_facts facts = get_facts(event);
   struct gpuval_spirv_values values;

   if (!event->has_record || !offset || !spirv || event->kind == GPUVAL_KIND_UNDEFINED_VALUE)
      return;
   gpuval_spirv_find_values(spirv, gpuval_stage_to_spirv(shader->stage), shader->entry, offset,
                            &facts, &values);
   struct gpuval_named_value *copies =
      ralloc_array(event, struct gpuval_named_value, MAX2(values.count, 1));
   for (unsigned i = 0; i < values.count; i++) {
      copies[i].name = copy_string(event, values.values[i].name);
      copies[i].value = copy_string(event, values.values[i].value);
   }
   event->values = copies;
   event->num_values = values.count;
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
   place->spirv.offset = gpuval_plain_offset(site->spirv_offset, shader->module->size);

   if (site->spirv_offset && spirv && gpuval_spirv_lookup(spirv, place->spirv.offset, location)) {
      describe_stack(event, place, shader, site->spirv_offset, spirv);
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

void
gpuval_events_set_object(struct gpuval_event *event, const struct vk_object_base *object)
{
   event->resource.object = (uintptr_t)object;
   event->resource.object_type = object->type;
   event->resource.object_name = gpuval_object_name(event, object);
   event->resource.calls = object->gpuval_calls;
}

void
gpuval_events_describe_buffer(struct gpuval_device *device, struct gpuval_event *event,
                              uint64_t address, bool with_offset)
{
   int64_t offset;
   const struct vk_object_base *buffer =
      gpuval_events_find_object(device->ranges->buffers, address, &offset);

   if (!buffer)
      return;
   gpuval_events_set_object(event, buffer);
   if (with_offset)
      event->resource.object_offset = offset;
   else
      event->resource.offset = offset;
}

const struct gpuval_site *
gpuval_events_numbered_site(const struct gpuval_shader *shader, enum gpuval_check check,
                            unsigned number)
{
   for (unsigned i = 0; i < shader->num_entries; i++) {
      const struct gpuval_site *site = &shader->sites[shader->entries[i].site];
      if (gpuval_kind_infos[site->kind].check == check && !number--)
         return site;
   }
   return NULL;
}

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
   const struct gpuval_words *words = gpuval_words_of_kind(event->kind);

   event->has_record = true;
   memcpy(event->invocation, record->invocation, sizeof(event->invocation));
   gpuval_events_describe_command(device, event, &event->place, record->command_id);
   if (event->place.shader.stage == MESA_SHADER_VERTEX)
      read_draw(event);
   if (words->read)
      words->read(device, event, record);
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
gpuval_events_create_kind(struct gpuval_device *device, const struct gpuval_shader *shader,
                          const struct gpuval_site *site, enum gpuval_kind kind,
                          const struct gpuval_record *record)
{
   struct gpuval_event *event = gpuval_event_create(kind);
   struct gpuval_spirv *spirv = gpuval_module_spirv(shader->module);
   struct gpuval_spirv_location location = {0};

   const struct gpuval_words *words = gpuval_words_of_kind(kind);
   struct gpuval_site place = *site;
   if (record && !site->spirv_offset && words->get_spirv_offset)
      place.spirv_offset = words->get_spirv_offset(record);
   describe_place(event, &event->place, shader, &place, spirv, &location);

   if (words->describe_site)
      words->describe_site(event, site);
   if (site->op)
      describe_resource(event, shader, site, record, spirv, &location);
   if (site->name)
      event->resource.name = copy_string(event, gpuval_site_name(shader->names, site));
   if (record) {
      gpuval_events_read_record(device, event, record);
      describe_values(event, shader, place.spirv_offset, spirv);
   }
   event->same_value = site->same_value;
   gpuval_event_describe(event);
   set_fingerprint(event, shader, site - site->same_value);

   return event;
}

struct gpuval_event *
gpuval_events_create(struct gpuval_device *device, const struct gpuval_shader *shader,
                     const struct gpuval_site *site, const struct gpuval_record *record)
{
   return gpuval_events_create_kind(device, shader, site, site->kind, record);
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
      device->failures->events ? _mesa_hash_table_search(device->failures->events, key) : NULL;
   struct gpuval_event *event = entry ? entry->data : NULL;
   return event && event->period == gpuval_report_period() ? event : NULL;
}

void
gpuval_events_add(struct gpuval_device *device, const struct gpuval_failure_key *key,
                  struct gpuval_event *event)
{
   if (!device->failures->events)
      device->failures->events = _mesa_hash_table_create(device, hash_failure, failures_equal);
   _mesa_hash_table_insert(device->failures->events, ralloc_memdup(device, key, sizeof(*key)),
                           event);
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

/* SPDX-License-Identifier: MIT */

/* A device's messages: from its printf buffers to the reports. */

#include "core/device/gpuval_device.h"
#include "core/printf/gpuval_printf.h"
#include "core/shaders/gpuval_shader.h"
#include "gpuval_check.h"
#include "gpuval_drain.h"
#include "gpuval_printed.h"

#include <inttypes.h>
#include <string.h>

#include "util/ralloc.h"

/* A text of a format */
struct message_key {
   uint64_t id;
   const char *text;
};

static uint32_t
hash_message(const void *data)
{
   const struct message_key *key = data;
   return _mesa_hash_data_with_seed(key->text, strlen(key->text), key->id);
}

static bool
messages_equal(const void *a, const void *b)
{
   const struct message_key *key_a = a, *key_b = b;
   return key_a->id == key_b->id && !strcmp(key_a->text, key_b->text);
}

static struct gpuval_event *
get_event(struct gpuval_device *device, const struct gpuval_printf_message *message)
{
   const struct message_key key = {message->format->nir->id, message->text};
   struct hash_entry *entry = _mesa_hash_table_search(device->messages->events, &key);
   struct gpuval_event *known = entry ? entry->data : NULL;
   if (known && known->period == gpuval_report_period())
      return known;
   if (device->messages->full_period == gpuval_report_period() + 1)
      return NULL;

   struct gpuval_event *event = gpuval_device_create_message(device, message->format->site,
                                                             message->text, message->invocation);
   if (!gpuval_report_add_message_event(event)) {
      device->messages->full_period = gpuval_report_period() + 1;
      ralloc_free(event);
      return NULL;
   }

   struct message_key *own = ralloc(device->messages->events, struct message_key);
   *own = (struct message_key){key.id, event->message};
   _mesa_hash_table_insert(device->messages->events, own, event);
   return event;
}

/* "compute shader 0123456789abcdef, invocation (3, 0, 0): " in front of it */
static char *
prefix(struct gpuval_device *device, const struct gpuval_printf_message *message)
{
   const struct gpuval_shader *shader = message->format->owner;
   struct gpuval_event event = {
      .place.has_shader = true,
      .place.shader = {.hash = shader->module->hash, .stage = shader->stage, .name = shader->name},
      .place.spirv.instruction = -1,
      .has_record = true,
   };
   memcpy(event.invocation, message->invocation, sizeof(event.invocation));

   char *text = NULL;
   size_t size;
   FILE *f = open_memstream(&text, &size);
   if (f) {
      gpuval_text_write_shader(f, &event);
      fprintf(f, ": %s", message->text);
      fclose(f);
   }
   return text;
}

static void
flush_messages(struct gpuval_device *device)
{
   unsigned count = util_dynarray_num_elements(&device->messages->waiting, struct gpuval_message);
   if (!count)
      return;

   gpuval_report_messages(util_dynarray_begin(&device->messages->waiting), count, &device->notices);
   util_dynarray_foreach (&device->messages->waiting, struct gpuval_message, message)
      free((char *)message->text);
   util_dynarray_clear(&device->messages->waiting);
}

/* They go out in groups, as each costs a write to the log. */
static void
add_message(void *data, const struct gpuval_printf_message *message)
{
   struct gpuval_device *device = data;
   const struct gpuval_message out = {
      .event = device->messages->events ? get_event(device, message) : NULL,
      .text = message->invocation ? prefix(device, message) : strdup(message->text),
   };

   if (message->origin) {
      const struct gpuval_shader *shader = message->format->owner;
      gpuval_printed_add(device, shader->module->hash, message->origin, message->text);
   }
   if (out.text)
      util_dynarray_append_typed(&device->messages->waiting, struct gpuval_message, out);
   if (util_dynarray_num_elements(&device->messages->waiting, struct gpuval_message) == 256)
      flush_messages(device);
}

static bool
init_printf(struct gpuval_device *device)
{
   for (unsigned i = 0; i < 2; i++) {
      if (!gpuval_device_alloc(device, &device->messages->buffers[i],
                               gpuval_options()->printf_size))
         return false;
   }

   void *const maps[2] = {device->messages->buffers[0].map, device->messages->buffers[1].map};
   const uint64_t addresses[2] = {device->messages->buffers[0].address,
                                  device->messages->buffers[1].address};
   gpuval_printf_init(device->printf, device, maps, addresses, device->messages->buffers[0].size,
                      &device->root->printf_address);
   device->root->printf_size =
      device->messages->buffers[0].size - sizeof(struct gpuval_printf_header);
   device->printf->printed = &device->poll->printed;
   device->printf->has_atomics = !device->info.clear_when_idle;
   device->printf->message = add_message;
   device->printf->data = device;

   util_dynarray_init(&device->messages->waiting, device);
   if (gpuval_report_wants_messages())
      device->messages->events = _mesa_hash_table_create(device, hash_message, messages_equal);
   return true;
}

static void
finish_printf(struct gpuval_device *device)
{
   gpuval_printf_finish(device->printf);
   gpuval_device_free(device, &device->messages->buffers[0]);
   gpuval_device_free(device, &device->messages->buffers[1]);
}

const struct gpuval_check_host gpuval_host_printf = {init_printf, finish_printf};

static void
add_lost(struct gpuval_device *device)
{
   uint64_t lost =
      device->printf->lost + __atomic_load_n(&device->root->printf_lost, __ATOMIC_RELAXED);

   if (lost != device->messages->lost)
      gpuval_report_add_lost_messages(lost - device->messages->lost);
   device->messages->lost = lost;
}

bool
gpuval_device_drain_printf(struct gpuval_device *device, bool idle)
{
   if (!device->printf->formats || !gpuval_printf_is_used(device->printf) ||
       !gpuval_device_is_intact(device))
      return false;

   device->printed = gpuval_printf_has_news(device->printf);
   bool more = gpuval_printf_drain(device->printf, idle);
   flush_messages(device);
   if (idle)
      add_lost(device);
   return more;
}

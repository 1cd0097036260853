/* SPDX-License-Identifier: MIT */

/* What invocations that may execute DebugBreak have printed before, for the reports of that.
 *
 * Such a shader numbers the messages of each invocation, and says the command with them. The latest
 * ones of a device are kept, each in the place that its key has; a later one takes the place of an
 * earlier one, which is not known then. So are messages that two invocations have printed which
 * cannot be told apart.
 */

#include "gpuval_printed.h"

#include <string.h>

#include "core/device/gpuval_device.h"
#include "gpuval_drain.h"

#include "util/hash_table.h"
#include "util/ralloc.h"

/* Messages that are kept, and bytes of each */
#define NUM_PLACES 4096
#define MAX_BYTES  400

/* Messages that a report has, at most */
#define MAX_PRINTED 4

struct key {
   uint64_t shader;
   uint32_t command, number, invocation[3], zero;
};

struct gpuval_printed {
   struct key key;
   char *text; /* NULL: two have this key, or nobody */
};

static struct gpuval_printed *
get_place(struct gpuval_device *device, const struct key *key)
{
   struct gpuval_printed **places = &device->messages->printed;

   if (!*places)
      *places = rzalloc_array(device, struct gpuval_printed, NUM_PLACES);
   return *places ? &(*places)[_mesa_hash_data(key, sizeof(*key)) % NUM_PLACES] : NULL;
}

void
gpuval_printed_add(struct gpuval_device *device, uint64_t shader, const uint32_t origin[5],
                   const char *text)
{
   struct key key = {.shader = shader, .command = origin[0], .number = origin[1]};
   memcpy(key.invocation, &origin[2], sizeof(key.invocation));
   struct gpuval_printed *place = get_place(device, &key);
   if (!place)
      return;

   const bool is_known = !memcmp(&place->key, &key, sizeof(key));
   ralloc_free(place->text);
   place->key = key;
   place->text = is_known ? NULL : ralloc_strndup(device->messages->printed, text, MAX_BYTES);
}

static const char *
find(struct gpuval_device *device, const struct gpuval_record *record, uint32_t number)
{
   struct key key = {
      .shader = record->shader_hash[0] | (uint64_t)record->shader_hash[1] << 32,
      .command = record->command_id,
      .number = number,
   };
   memcpy(key.invocation, record->invocation, sizeof(key.invocation));
   const struct gpuval_printed *place = get_place(device, &key);

   return place && !memcmp(&place->key, &key, sizeof(key)) ? place->text : NULL;
}

char *
gpuval_printed_before(struct gpuval_device *device, const struct gpuval_record *record,
                      uint32_t count, void *mem_ctx)
{
   char *list = NULL;

   if (!count)
      return NULL;
   if (!find(device, record, count - 1))
      gpuval_device_drain_printf(device, false);
   for (uint32_t i = count > MAX_PRINTED ? count - MAX_PRINTED : 0; i < count; i++) {
      const char *text = find(device, record, i);
      if (!text)
         continue;
      if (list)
         ralloc_asprintf_append(&list, ", \"%s\"", text);
      else
         list = ralloc_asprintf(mem_ctx, "\"%s\"", text);
   }
   return list;
}

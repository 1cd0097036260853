/* SPDX-License-Identifier: MIT */

/* The check export: its records. */

#include "core/events/gpuval_events.h"

#include "util/bitscan.h"
#include "util/ralloc.h"

/* Where the check nan has seen it come up */
static void
read_birth(struct gpuval_device *device, struct gpuval_event *event,
           const struct gpuval_record *record)
{
   const struct gpuval_shader *shader = gpuval_device_site_shader(device, record->site);
   const struct gpuval_site birth = {.spirv_offset = record->address[0], .set = -1, .binding = -1};

   if (!birth.spirv_offset || !shader)
      return;
   event->has_other = event->other_is_certain = true;
   gpuval_events_describe_site(event, &event->other, shader, &birth);
}

/* "output 0 (color): x, y NaN, w infinite" */
static void
read_export(struct gpuval_device *device, struct gpuval_event *event,
            const struct gpuval_record *record)
{
   unsigned output = record->offset >> GPUVAL_EXPORT_OUTPUT_SHIFT;
   uint32_t mask = record->offset;
   static const char *const names[] = {"NaN", "infinite"};
   char *detail =
      output == GPUVAL_OUTPUT_POSITION ? ralloc_strdup(event, "the position's")
      : output == GPUVAL_OUTPUT_DEPTH  ? ralloc_strdup(event, "the depth")
      : output >= GPUVAL_OUTPUT_SECOND_SOURCE
         ? ralloc_asprintf(event, "output %u, index 1:", output - GPUVAL_OUTPUT_SECOND_SOURCE)
         : ralloc_asprintf(event, "output %u:", output);

   for (unsigned i = 0, count = 0; i < ARRAY_SIZE(names); i++) {
      uint32_t components = mask >> (i * GPUVAL_EXPORT_INF_SHIFT) & 0xf;
      unsigned listed = 0;
      if (!components)
         continue;
      ralloc_strcat(&detail, count++ ? "," : "");
      u_foreach_bit (j, output == GPUVAL_OUTPUT_DEPTH ? 0 : components)
         ralloc_asprintf_append(&detail, "%s %c", listed++ ? " and" : "", "xyzw"[j]);
      ralloc_asprintf_append(&detail, "%s %s", listed > 1 ? " are" : " is", names[i]);
   }
   event->detail = detail;
   read_birth(device, event, record);
}

/* One output may be assigned in several places. */
static uint32_t
get_assignment(const struct gpuval_record *record)
{
   return record->slot;
}

const struct gpuval_words gpuval_words_export = {
   .get_spirv_offset = get_assignment,
   .read = read_export,
};

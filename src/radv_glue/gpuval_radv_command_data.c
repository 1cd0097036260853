/* SPDX-License-Identifier: MIT */

/* What shaders find in front of their table of descriptor sets: how much of struct
 * gpuval_radv_command_data a command gets, and what is in it. On the thread that records.
 */

#include "gpuval_radv_private.h"
#include "gpuval_radv_race.h"

#include "radv_cmd_buffer.h"
#include "radv_device.h"
#include "radv_shader.h"

#include "gpuval/src/core/memory/gpuval_cells.h"
#include "gpuval/src/core/memory/gpuval_marks.h"

/* Does a check ask for all of struct gpuval_command_data? */
static bool
has_all(const struct gpuval_radv *gpuval)
{
   return gpuval_radv_needs_notes(gpuval) || gpuval_device_has_marks(gpuval->device);
}

uint32_t
gpuval_radv_data_size(const struct gpuval_radv *gpuval)
{
   return offsetof(struct gpuval_radv_command_data, base) +
          (has_all(gpuval) ? sizeof(struct gpuval_command_data) : GPUVAL_RADV_SMALL_BASE);
}

/* Of which shaders look for descriptors. What rays run is in several pipelines, and what the GPU
 * generates chooses them.
 */
static uint32_t
count_sets(const struct radv_cmd_buffer *cmd_buffer,
           const struct radv_descriptor_state *descriptors)
{
   unsigned bind_point;
   uint32_t count = 2;

   if (gpuval_radv_owner(cmd_buffer, descriptors, &bind_point) != cmd_buffer ||
       bind_point > VK_PIPELINE_BIND_POINT_COMPUTE)
      return MAX_SETS;
   for (unsigned i = 0; i < ARRAY_SIZE(cmd_buffer->state.shaders); i++) {
      const struct radv_shader *shader = cmd_buffer->state.shaders[i];
      if (!shader || (i == MESA_SHADER_COMPUTE) != (bind_point == VK_PIPELINE_BIND_POINT_COMPUTE))
         continue;
      count = MAX3(count, util_last_bit(shader->info.desc_set_used_mask),
                   shader->info.gpuval_table - MIN2(shader->info.gpuval_table, 1));
   }
   return align(count, 2);
}

/* What is cut off in front of it */
static uint32_t
first_byte(const struct gpuval_radv *gpuval, uint32_t num_sets)
{
   if (!gpuval_device_objects(gpuval->device))
      return offsetof(struct gpuval_radv_command_data, base);
   return has_all(gpuval) ? 0
                          : offsetof(struct gpuval_radv_command_data, shadows) +
                               (GPUVAL_RADV_MAX_SETS - num_sets) * sizeof(uint32_t);
}

uint32_t
gpuval_radv_command_size(const struct radv_cmd_buffer *cmd_buffer,
                         const struct radv_descriptor_state *descriptors, uint32_t *num_sets)
{
   const struct gpuval_radv *gpuval = radv_cmd_buffer_device(cmd_buffer)->gpuval;

   *num_sets = count_sets(cmd_buffer, descriptors);
   return gpuval_radv_data_size(gpuval) - first_byte(gpuval, *num_sets);
}

void
gpuval_radv_record(struct gpuval_radv *gpuval, struct radv_cmd_buffer *cmd_buffer,
                   const struct radv_descriptor_state *descriptors, void *data, uint32_t size)
{
   const uint32_t first = gpuval_radv_data_size(gpuval) - size;
   struct gpuval_radv_command_data command_data;

   command_data.base = (struct gpuval_command_data){
      .root_address = gpuval_device_root_address(gpuval->device),
      .command_id = gpuval_radv_add_command(gpuval, cmd_buffer, descriptors),
      .marks_address = gpuval_marks_table(gpuval->device),
      .shadow_words = gpuval_cells_no_table(gpuval->device),
   };
   gpuval_radv_note_table(cmd_buffer, command_data.base.marks_address);
   if (gpuval_device_objects(gpuval->device)) {
      memset(command_data.race_used, 0, sizeof(command_data.race_used));
      gpuval_radv_record_sets(gpuval, cmd_buffer, descriptors, &command_data);
      gpuval_radv_record_uses(
         gpuval, cmd_buffer, descriptors, command_data.bad_uses,
         (uint32_t *)((char *)data - first + offsetof(struct gpuval_radv_command_data, bad_uses)));
   }
   memcpy(data, (const char *)&command_data + first, size);
   if (gpuval_radv_needs_notes(gpuval)) {
      unsigned bind_point;
      const struct radv_cmd_buffer *owner = gpuval_radv_owner(cmd_buffer, descriptors, &bind_point);
      struct gpuval_radv_command_data *all =
         (struct gpuval_radv_command_data *)((char *)data - first);
      const struct gpuval_radv_race_note *race =
         gpuval_radv_changes_pipelines(cmd_buffer)
            ? NULL
            : gpuval_radv_race_shaders(gpuval, cmd_buffer, owner, bind_point, all,
                                       command_data.base.command_id);
      gpuval_radv_note_work(gpuval, gpuval_radv_notes(cmd_buffer), owner, bind_point, &all->base,
                            command_data.base.command_id, race);
   }
}

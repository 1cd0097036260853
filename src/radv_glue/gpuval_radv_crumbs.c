/* SPDX-License-Identifier: MIT */

#include "gpuval_radv_crumbs.h"

#include "gpuval/src/compat/gpuval_dynarray.h"
#include "gpuval/src/compat/gpuval_radv_driver.h"

#include "radv_buffer.h"
#include "radv_cmd_buffer.h"
#include "radv_device.h"

#include "util/ralloc.h"
#include "util/u_atomic.h"

enum { BEGUN, ENDED, NUM_WORDS };

struct gpuval_radv_crumbs {
   struct radv_buffer buffer;
   uint32_t *words;          /* what is in it: NUM_WORDS */
   struct util_dynarray ids; /* uint32_t, of commands */
   unsigned depth;           /* of commands within each other */
};

static void
warn_memory(void)
{
   static uint32_t warned;

   if (!p_atomic_xchg(&warned, 1))
      gpuval_log_warning("GPUVAL_BREADCRUMBS: no memory: of some command buffers it will not be "
                         "known how far the GPU got");
}

static struct gpuval_radv_crumbs *
get_crumbs(struct radv_cmd_buffer *cmd_buffer)
{
   void *mem_ctx;
   struct gpuval_radv_crumbs **crumbs = gpuval_radv_crumbs(cmd_buffer, &mem_ctx);

   if (*crumbs)
      return *crumbs;
   *crumbs = rzalloc(mem_ctx, struct gpuval_radv_crumbs);
   util_dynarray_init(&(*crumbs)->ids, *crumbs);
   (*crumbs)->words =
      gpuval_radv_add_readback_buffer(cmd_buffer, NUM_WORDS * sizeof(uint32_t), &(*crumbs)->buffer);
   if (!(*crumbs)->words)
      warn_memory();
   return *crumbs;
}

static uint32_t
num_commands(const struct gpuval_radv_crumbs *crumbs)
{
   return util_dynarray_num_elements(&crumbs->ids, uint32_t);
}

/* Barriers that RADV has put off wait in front of the marker: a command has not begun as long as
 * they wait.
 */
static void
write_word(struct radv_cmd_buffer *cmd_buffer, struct gpuval_radv_crumbs *crumbs, unsigned word,
           VkPipelineStageFlags2 stage)
{
   const struct vk_device_dispatch_table *next =
      &radv_cmd_buffer_device(cmd_buffer)->gpuval->hooks.next;

   next->CmdWriteBufferMarker2AMD(radv_cmd_buffer_to_handle(cmd_buffer), stage,
                                  radv_buffer_to_handle(&crumbs->buffer), word * sizeof(uint32_t),
                                  num_commands(crumbs));
}

void
gpuval_radv_begin_crumb(struct radv_cmd_buffer *cmd_buffer, const char *op)
{
   if (!gpuval_options()->breadcrumbs)
      return;

   struct gpuval_radv_crumbs *crumbs = get_crumbs(cmd_buffer);
   if (crumbs->depth++ || !crumbs->words)
      return;
   uint32_t id = gpuval_radv_name_command(cmd_buffer, op);
   util_dynarray_append_typed(&crumbs->ids, uint32_t, id);
   write_word(cmd_buffer, crumbs, BEGUN, VK_PIPELINE_STAGE_2_TOP_OF_PIPE_BIT);
}

void
gpuval_radv_end_crumb(struct radv_cmd_buffer *cmd_buffer)
{
   if (!gpuval_options()->breadcrumbs)
      return;

   struct gpuval_radv_crumbs *crumbs = get_crumbs(cmd_buffer);
   if (!--crumbs->depth && crumbs->words)
      write_word(cmd_buffer, crumbs, ENDED, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
}

static const struct gpuval_radv_crumbs *
find_crumbs(const struct radv_cmd_buffer *cmd_buffer)
{
   struct gpuval_radv_crumbs **crumbs =
      cmd_buffer->gpuval ? gpuval_radv_crumbs(cmd_buffer, NULL) : NULL;
   return crumbs && *crumbs && (*crumbs)->words ? *crumbs : NULL;
}

struct gpuval_radv_crumb_state
gpuval_radv_read_crumbs(const struct radv_cmd_buffer *cmd_buffer)
{
   const struct gpuval_radv_crumbs *crumbs = find_crumbs(cmd_buffer);
   if (!crumbs)
      return (struct gpuval_radv_crumb_state){0};

   /* What has ended by now has begun by then. */
   const uint32_t ended = p_atomic_read(&crumbs->words[ENDED]);
   return (struct gpuval_radv_crumb_state){
      .count = num_commands(crumbs),
      .begun = p_atomic_read(&crumbs->words[BEGUN]),
      .ended = ended,
   };
}

uint32_t
gpuval_radv_crumb_id(const struct radv_cmd_buffer *cmd_buffer, uint32_t number)
{
   return *util_dynarray_element(&find_crumbs(cmd_buffer)->ids, uint32_t, number - 1);
}

void
gpuval_radv_reset_crumbs(struct radv_cmd_buffer *cmd_buffer)
{
   const struct gpuval_radv_crumbs *crumbs = find_crumbs(cmd_buffer);

   if (crumbs)
      memset(crumbs->words, 0, NUM_WORDS * sizeof(uint32_t));
}

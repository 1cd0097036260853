/* SPDX-License-Identifier: MIT */

#include "gpuval_lvp_progress.h"

#include <inttypes.h>

#include "gpuval/src/core/events/gpuval_hang.h"

#include "util/os_time.h"
#include "util/u_atomic.h"

/* Ids of draws that are looked up; what is beyond is not counted. */
#define MAX_DRAWS 65536

#define NO_TYPE UINT32_MAX

void
gpuval_lvp_progress_begin(struct gpuval_lvp_progress *progress, int64_t submission)
{
   p_atomic_set(&progress->type, NO_TYPE);
   p_atomic_set(&progress->has_draws, false);
   p_atomic_set(&progress->has_action, false);
   p_atomic_set(&progress->translation.has_begun, false);
   gpuval_lvp_translation = &progress->translation;
   p_atomic_set(&progress->submission, submission);
   p_atomic_set(&progress->begin, os_time_get_nano());
}

void
gpuval_lvp_progress_end(struct gpuval_lvp_progress *progress)
{
   gpuval_lvp_translation = NULL;
   p_atomic_set(&progress->begin, 0);
}

/* lavapipe waits for llvmpipe's threads at barriers, for events and behind each command buffer. */
static bool
has_waited(uint32_t last)
{
   return last == VK_CMD_PIPELINE_BARRIER2 || last == VK_CMD_WAIT_EVENTS2;
}

void
gpuval_lvp_progress_next(struct gpuval_lvp_progress *progress, enum vk_cmd_type type)
{
   if (has_waited(p_atomic_read_relaxed(&progress->type)))
      p_atomic_set(&progress->has_draws, false);
   p_atomic_set(&progress->has_action, false);
   p_atomic_set(&progress->translation.has_begun, false);
   p_atomic_set(&progress->type, type);
}

void
gpuval_lvp_progress_emit(struct gpuval_lvp_progress *progress, bool is_draw, uint32_t id)
{
   if (!is_draw) {
      p_atomic_set(&progress->action, id);
      p_atomic_set(&progress->has_action, true);
      return;
   }
   if (!p_atomic_read_relaxed(&progress->has_draws))
      p_atomic_set(&progress->first_draw, id);
   p_atomic_set(&progress->last_draw, id);
   p_atomic_set(&progress->has_draws, true);
}

/* "PIPELINE_BARRIER2" -> "pipeline_barrier2" */
static void
say_command(struct gpuval_hang *hang, uint32_t type)
{
   char name[64];

   if (type == NO_TYPE)
      return;
   snprintf(name, sizeof(name), "%s", vk_cmd_queue_type_names[type] + strlen("VK_CMD_"));
   for (char *c = name; *c; c++)
      *c += *c >= 'A' && *c <= 'Z' ? 'a' - 'A' : 0; /* tolower() minds the locale */
   gpuval_hang_say(hang, "the queue is at a command %s%s", name,
                   has_waited(type) ? ", which waits for the draws before it" : "");
}

/* Whether LLVM has finished it is not known. */
static void
say_translation(struct gpuval_hang *hang, const struct gpuval_lvp_progress *progress, int64_t now)
{
   if (p_atomic_read(&progress->translation.has_begun))
      gpuval_hang_say(hang,
                      "the command at which the queue is gave LLVM a shader to compile %.1f s ago",
                      MAX2(now - p_atomic_read(&progress->translation.time), 0) * 1e-9);
}

static void
add_draws(struct gpuval_hang *hang, const struct gpuval_lvp_progress *progress,
          struct gpuval_lvp_commands *commands)
{
   uint32_t first = p_atomic_read(&progress->first_draw);
   uint32_t count = p_atomic_read(&progress->last_draw) - first + 1;

   for (uint32_t i = 0; i < MIN2(count, MAX_DRAWS); i++) {
      if (gpuval_lvp_commands_is_draw(commands, first + i))
         gpuval_hang_add_command(hang, first + i);
   }
}

void
gpuval_lvp_progress_look(struct gpuval_lvp_progress *progress, struct gpuval_device *device,
                         struct gpuval_lvp_commands *commands, int64_t limit)
{
   int64_t begin = p_atomic_read(&progress->begin), now = os_time_get_nano();
   char where[64];

   if (!begin || begin == progress->reported || now - begin < limit)
      return;
   snprintf(where, sizeof(where), "submission %" PRId64, p_atomic_read(&progress->submission));
   struct gpuval_hang *hang = gpuval_hang_create_slow(where, (now - begin) * 1e-9);
   if (p_atomic_read(&progress->has_action))
      gpuval_hang_add_command(hang, p_atomic_read(&progress->action));
   else
      say_command(hang, p_atomic_read(&progress->type));
   if (p_atomic_read(&progress->has_draws))
      add_draws(hang, progress, commands);
   say_translation(hang, progress, now);

   /* It may have ended meanwhile. */
   if (p_atomic_read(&progress->begin) != begin) {
      gpuval_hang_drop(hang);
      return;
   }
   progress->reported = begin;
   gpuval_hang_report(hang, device);
}

/* SPDX-License-Identifier: MIT */

/* A failure may have to do with a command of an earlier submit, whose command
 * buffer and pipeline are gone by then. So what there is to say of a command is
 * copied when it runs. Commands of a submit that have everything but type and index
 * in common share one copy.
 */

#include "gpuval_lvp_commands.h"

#include <ctype.h>

#include "util/simple_mtx.h"

#define KEPT_COMMANDS (1u << 16)

struct note {
   unsigned users;
   struct gpuval_lvp_command command; /* the key among the notes of a submit */
   struct gpuval_command facts;
   const char *shader_names[LVP_SHADER_STAGES];
};

struct kept_command {
   struct note *note; /* NULL: none */
   uint32_t id;
   enum vk_cmd_type type;
   int64_t index;
};

struct gpuval_lvp_commands {
   simple_mtx_t mutex;
   uint32_t next_id;
   struct kept_command *kept; /* KEPT_COMMANDS, by the low bits of the id */
   struct hash_table *notes;  /* struct gpuval_lvp_command * -> struct note, of this submit */

   /* What the last description refers to */
   struct note *described;
   char op[64];
};

#define COMMON_OFFSET offsetof(struct gpuval_lvp_command, cmd_buffer)
#define COMMON_SIZE   (sizeof(struct gpuval_lvp_command) - COMMON_OFFSET)

static uint32_t
hash_common(const void *command)
{
   return _mesa_hash_data((const char *)command + COMMON_OFFSET, COMMON_SIZE);
}

static bool
common_equal(const void *a, const void *b)
{
   return !memcmp((const char *)a + COMMON_OFFSET, (const char *)b + COMMON_OFFSET, COMMON_SIZE);
}

struct gpuval_lvp_commands *
gpuval_lvp_commands_create(void *mem_ctx)
{
   struct gpuval_lvp_commands *commands = rzalloc(mem_ctx, struct gpuval_lvp_commands);

   simple_mtx_init(&commands->mutex, mtx_plain);
   /* Pages that are not touched cost nothing. */
   commands->kept = calloc(KEPT_COMMANDS, sizeof(*commands->kept));
   commands->notes = _mesa_hash_table_create(commands, hash_common, common_equal);
   return commands;
}

void
gpuval_lvp_commands_destroy(struct gpuval_lvp_commands *commands)
{
   free(commands->kept);
   simple_mtx_destroy(&commands->mutex);
   ralloc_free(commands);
}

static void
release(struct note *note)
{
   if (note && !--note->users)
      ralloc_free(note);
}

static char *
copy_name(struct note *note, const struct vk_object_base *object)
{
   return object->object_name ? ralloc_strdup(note, object->object_name) : NULL;
}

static void
copy_labels(struct note *note, const struct gpuval_lvp_labels *labels)
{
   const char *name = labels ? labels->names : NULL;

   for (unsigned i = 0; name && i < labels->count; i++) {
      if (note->facts.num_labels < GPUVAL_MAX_LABELS)
         note->facts.labels[note->facts.num_labels++] = ralloc_strdup(note, name);
      name += strlen(name) + 1;
   }
}

static struct note *
create_note(struct gpuval_lvp_commands *commands, const struct gpuval_lvp_command *command)
{
   struct note *note = rzalloc(commands, struct note);
   struct gpuval_command *facts = &note->facts;

   note->command = *command;
   facts->submission = command->submission;
   facts->command_buffer =
      (uintptr_t)lvp_cmd_buffer_to_handle((struct lvp_cmd_buffer *)command->cmd_buffer);
   facts->command_buffer_name = copy_name(note, &command->cmd_buffer->vk.base);
   if (command->primary != command->cmd_buffer) {
      facts->primary =
         (uintptr_t)lvp_cmd_buffer_to_handle((struct lvp_cmd_buffer *)command->primary);
      facts->primary_name = copy_name(note, &command->primary->vk.base);
   }
   if (command->pipeline) {
      facts->pipeline = (uint64_t)lvp_pipeline_to_handle((struct lvp_pipeline *)command->pipeline);
      facts->pipeline_name = copy_name(note, &command->pipeline->base);
   } else {
      for (unsigned i = 0; i < ARRAY_SIZE(command->shaders); i++) {
         if (command->shaders[i])
            note->shader_names[i] = copy_name(note, &command->shaders[i]->base);
      }
   }
   for (unsigned i = 0; i < ARRAY_SIZE(command->labels); i++)
      copy_labels(note, command->labels[i]);

   return note;
}

/* The table of notes is a user, too: until the submit ends. */
static struct note *
get_note(struct gpuval_lvp_commands *commands, const struct gpuval_lvp_command *command)
{
   struct hash_entry *entry = _mesa_hash_table_search(commands->notes, command);
   if (entry)
      return entry->data;

   struct note *note = create_note(commands, command);
   note->users++;
   _mesa_hash_table_insert(commands->notes, &note->command, note);
   return note;
}

uint32_t
gpuval_lvp_commands_add(struct gpuval_lvp_commands *commands,
                        const struct gpuval_lvp_command *command)
{
   simple_mtx_lock(&commands->mutex);
   uint32_t id = commands->next_id++;
   struct kept_command *kept = &commands->kept[id % KEPT_COMMANDS];

   release(kept->note);
   *kept = (struct kept_command){
      .note = get_note(commands, command),
      .id = id,
      .type = command->type,
      .index = command->index,
   };
   kept->note->users++;
   simple_mtx_unlock(&commands->mutex);

   return id;
}

void
gpuval_lvp_commands_end_submit(struct gpuval_lvp_commands *commands)
{
   simple_mtx_lock(&commands->mutex);
   hash_table_foreach (commands->notes, entry)
      release(entry->data);
   _mesa_hash_table_clear(commands->notes, NULL);
   simple_mtx_unlock(&commands->mutex);
}

bool
gpuval_lvp_commands_describe(struct gpuval_lvp_commands *commands, uint32_t id,
                             gl_shader_stage stage, struct gpuval_command *out)
{
   simple_mtx_lock(&commands->mutex);
   const struct kept_command kept = commands->kept[id % KEPT_COMMANDS];
   bool found = kept.note && kept.id == id;
   if (found) {
      kept.note->users++;
      release(commands->described);
      commands->described = kept.note;
   }
   simple_mtx_unlock(&commands->mutex);
   if (!found)
      return false;

   /* VK_CMD_DRAW_INDEXED -> draw_indexed */
   snprintf(commands->op, sizeof(commands->op), "%s",
            vk_cmd_queue_type_names[kept.type] + strlen("VK_CMD_"));
   for (char *c = commands->op; *c; c++)
      *c = tolower((unsigned char)*c);

   *out = kept.note->facts;
   out->op = commands->op;
   out->index = kept.index;
   if (stage < ARRAY_SIZE(kept.note->shader_names))
      out->shader_name = kept.note->shader_names[stage];
   return true;
}

/* SPDX-License-Identifier: MIT */

/* A failure may have to do with a command of an earlier submit, whose command
 * buffer and pipeline are gone by then. So what there is to say of a command is
 * copied when it runs. Commands of which the same is to say share one copy, however
 * often they are submitted.
 */

#include "gpuval_lvp_commands.h"

#include "gpuval/src/base/gpuval_names.h"
#include "gpuval/src/compat/gpuval_runtime.h"
#include "gpuval/src/core/commands/gpuval_command_kinds.h"
#include "util/blob.h"
#include "util/simple_mtx.h"
#include "util/u_atomic.h"

#define KEPT_RUNS  (1u << 16)
#define KIND_KNOWN (1u << 7)

/* Some bytes, as a key */
struct content {
   const uint8_t *data;
   size_t size;
};

struct note {
   unsigned users;
   struct content content; /* what the strings point to */
   struct gpuval_command facts;
   uint64_t shaders[LVP_SHADER_STAGES];
   const char *shader_names[LVP_SHADER_STAGES];
};

/* Commands of one type that follow one another and have all else in common; or draws that
 * one command makes
 */
struct run {
   struct note *note; /* NULL: none */
   uint64_t first_id;
   uint32_t count; /* grows without the mutex, in the newest run */
   enum vk_cmd_type type;
   int64_t first_index;
   uint32_t first_draw; /* 0: not the draws of one command */
   uint32_t calls;
   int64_t submission;
};

/* The note of commands that have those objects in common. */
struct noted {
   struct gpuval_lvp_command command;
   struct note *note;
};

struct gpuval_lvp_commands {
   /* On the queue's thread only */
   struct run *run; /* the newest, while its submit lasts, and what its commands are */
   struct gpuval_lvp_command current;
   uint8_t kinds[256]; /* by type of command: KIND_KNOWN and GPUVAL_LVP_* */

   simple_mtx_t mutex;       /* all that follows */
   struct run *runs;         /* a ring of KEPT_RUNS, by their low bits */
   uint64_t num_runs;        /* ever */
   struct hash_table *notes; /* struct content -> struct note */
   struct hash_table *noted; /* struct gpuval_lvp_command -> struct noted, of this submit */

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

static uint32_t
hash_content(const void *key)
{
   const struct content *content = key;
   return _mesa_hash_data(content->data, content->size);
}

static bool
contents_equal(const void *a, const void *b)
{
   const struct content *one = a, *other = b;
   return one->size == other->size && !memcmp(one->data, other->data, one->size);
}

struct gpuval_lvp_commands *
gpuval_lvp_commands_create(void *mem_ctx)
{
   struct gpuval_lvp_commands *commands = rzalloc(mem_ctx, struct gpuval_lvp_commands);

   simple_mtx_init(&commands->mutex, mtx_plain);
   /* Pages that are not touched cost nothing. */
   commands->runs = calloc(KEPT_RUNS, sizeof(*commands->runs));
   commands->notes = _mesa_hash_table_create(commands, hash_content, contents_equal);
   commands->noted = _mesa_hash_table_create(commands, hash_common, common_equal);
   return commands;
}

void
gpuval_lvp_commands_destroy(struct gpuval_lvp_commands *commands)
{
   free(commands->runs);
   simple_mtx_destroy(&commands->mutex);
   ralloc_free(commands);
}

static bool
has_indirect_name(enum vk_cmd_type type)
{
   return strstr(vk_cmd_queue_type_names[type], "_INDIRECT");
}

static unsigned
find_kind(enum vk_cmd_type type)
{
   /* Labels, as lavapipe has them */
   if (type == VK_CMD_SET_RAY_TRACING_PIPELINE_STACK_SIZE_KHR)
      return GPUVAL_LVP_BINDS;

   switch (gpuval_command_kind(type)) {
   case GPUVAL_COMMAND_DRAW:
   case GPUVAL_COMMAND_DISPATCH:
   case GPUVAL_COMMAND_TRACE:
      return GPUVAL_LVP_ACTION | (has_indirect_name(type) ? GPUVAL_LVP_INDIRECT : 0);
   case GPUVAL_COMMAND_GENERATED:
      return GPUVAL_LVP_ACTION | GPUVAL_LVP_BINDS;
   case GPUVAL_COMMAND_BINDS:
   case GPUVAL_COMMAND_EXECUTES:
      return GPUVAL_LVP_BINDS;
   case GPUVAL_COMMAND_TRANSFER:
   case GPUVAL_COMMAND_STRUCTURE:
   case GPUVAL_COMMAND_PREPROCESS:
   case GPUVAL_COMMAND_RENDERING:
   case GPUVAL_COMMAND_DEPENDENCY:
   case GPUVAL_COMMAND_STATE:
      return GPUVAL_LVP_OTHER;
   default:
      return 0;
   }
}

unsigned
gpuval_lvp_command_kind(struct gpuval_lvp_commands *commands, enum vk_cmd_type type)
{
   if ((unsigned)type >= ARRAY_SIZE(commands->kinds))
      return find_kind(type);

   if (!commands->kinds[type])
      commands->kinds[type] = find_kind(type) | KIND_KNOWN;
   return commands->kinds[type] & ~KIND_KNOWN;
}

static void
release(struct gpuval_lvp_commands *commands, struct note *note)
{
   if (!note || --note->users)
      return;

   _mesa_hash_table_remove_key(commands->notes, &note->content);
   ralloc_free(note);
}

static void
write_name(struct blob *blob, const struct vk_object_base *object)
{
   gpuval_names_lock();
   const char *name = object ? object->object_name : NULL;
   blob_write_uint8(blob, name != NULL);
   if (name)
      blob_write_string(blob, name);
   gpuval_names_unlock();
}

static const char *
read_name(struct blob_reader *blob)
{
   return blob_read_uint8(blob) ? blob_read_string(blob) : NULL;
}

static void
write_content(struct blob *blob, const struct gpuval_lvp_command *command)
{
   bool is_secondary = command->primary != command->cmd_buffer;

   blob_write_uint64(
      blob, (uintptr_t)lvp_cmd_buffer_to_handle((struct lvp_cmd_buffer *)command->cmd_buffer));
   blob_write_uint64(blob, is_secondary ? (uintptr_t)lvp_cmd_buffer_to_handle(
                                             (struct lvp_cmd_buffer *)command->primary)
                                        : 0);
   blob_write_uint64(blob,
                     (uint64_t)lvp_pipeline_to_handle((struct lvp_pipeline *)command->pipeline));
   write_name(blob, &command->cmd_buffer->vk.base);
   write_name(blob, is_secondary ? &command->primary->vk.base : NULL);
   write_name(blob, command->pipeline ? &command->pipeline->base : NULL);
   for (unsigned i = 0; i < ARRAY_SIZE(command->shaders); i++) {
      const struct lvp_shader *shader = command->shaders[i];

      if (shader && shader->base.type != VK_OBJECT_TYPE_SHADER_EXT)
         shader = NULL; /* a part of a pipeline */
      blob_write_uint64(blob,
                        shader ? (uintptr_t)lvp_shader_to_handle((struct lvp_shader *)shader) : 0);
      write_name(blob, shader ? &shader->base : NULL);
   }

   unsigned num_labels = 0;
   for (unsigned i = 0; i < ARRAY_SIZE(command->labels); i++) {
      const struct gpuval_labels *labels = command->labels[i];
      const char *name = labels ? labels->names : NULL;

      for (unsigned j = 0; name && j < labels->count && num_labels < GPUVAL_MAX_LABELS; j++) {
         blob_write_string(blob, name);
         name += strlen(name) + 1;
         num_labels++;
      }
   }
}

/* As write_content() has written it */
static struct note *
create_note(struct gpuval_lvp_commands *commands, const struct content *content)
{
   struct note *note = rzalloc(commands, struct note);
   struct gpuval_command *facts = &note->facts;
   struct blob_reader blob;

   note->content.data = ralloc_memdup(note, content->data, content->size);
   note->content.size = content->size;
   blob_reader_init(&blob, note->content.data, content->size);
   facts->command_buffer = blob_read_uint64(&blob);
   facts->primary = blob_read_uint64(&blob);
   facts->pipeline = blob_read_uint64(&blob);
   facts->command_buffer_name = read_name(&blob);
   facts->primary_name = read_name(&blob);
   facts->pipeline_name = read_name(&blob);
   for (unsigned i = 0; i < ARRAY_SIZE(note->shaders); i++) {
      note->shaders[i] = blob_read_uint64(&blob);
      note->shader_names[i] = read_name(&blob);
   }
   while (blob.current < blob.end)
      facts->labels[facts->num_labels++] = blob_read_string(&blob);

   _mesa_hash_table_insert(commands->notes, &note->content, note);
   return note;
}

/* Names may change from one submit to the next, but not while one runs. */
static struct note *
get_note(struct gpuval_lvp_commands *commands, const struct gpuval_lvp_command *command)
{
   struct hash_entry *entry = _mesa_hash_table_search(commands->noted, command);
   if (entry)
      return ((struct noted *)entry->data)->note;

   struct blob blob;
   blob_init(&blob);
   write_content(&blob, command);
   const struct content content = {blob.data, blob.size};
   entry = _mesa_hash_table_search(commands->notes, &content);

   struct noted *noted = ralloc(commands->noted, struct noted);
   *noted = (struct noted){*command, entry ? entry->data : create_note(commands, &content)};
   noted->note->users++;
   _mesa_hash_table_insert(commands->noted, &noted->command, noted);
   blob_finish(&blob);
   return noted->note;
}

static struct run *
begin_run(struct gpuval_lvp_commands *commands, const struct gpuval_lvp_command *command)
{
   simple_mtx_lock(&commands->mutex);
   const struct run *last = &commands->runs[(commands->num_runs - 1) % KEPT_RUNS];
   uint64_t id = commands->num_runs ? last->first_id + last->count : 0;

   struct note *note = get_note(commands, command);
   note->users++;
   struct run *run = &commands->runs[commands->num_runs++ % KEPT_RUNS];
   release(commands, run->note);
   *run = (struct run){
      .note = note,
      .first_id = id,
      .type = command->type,
      .first_index = command->index,
      .first_draw = command->draw,
      .calls = command->calls,
      .submission = command->submission,
   };
   simple_mtx_unlock(&commands->mutex);

   return run;
}

static bool
follows(const struct run *run, const struct gpuval_lvp_command *command)
{
   if (command->draw)
      return run->first_draw && run->first_index == command->index &&
             run->first_draw + run->count == command->draw;
   return !run->first_draw && run->first_index + run->count == command->index;
}

/* Whether @command may be the next one of the run. What was written just now, a word at
 * a time, is read faster in the same way than by memcmp().
 */
static bool
continues(const struct gpuval_lvp_commands *commands, const struct gpuval_lvp_command *command)
{
   const struct run *run = commands->run;
   const struct gpuval_lvp_command *current = &commands->current;

   return run && run->type == command->type && run->calls == command->calls &&
          follows(run, command) && current->cmd_buffer == command->cmd_buffer &&
          current->primary == command->primary && current->pipeline == command->pipeline &&
          current->submission == command->submission && current->labels[0] == command->labels[0] &&
          current->labels[1] == command->labels[1] &&
          (command->pipeline || common_equal(current, command));
}

uint32_t
gpuval_lvp_commands_add(struct gpuval_lvp_commands *commands,
                        const struct gpuval_lvp_command *command)
{
   if (!continues(commands, command)) {
      commands->run = begin_run(commands, command);
      commands->current = *command;
   }

   struct run *run = commands->run;
   uint32_t id = run->first_id + run->count;
   p_atomic_set(&run->count, run->count + 1);
   return id;
}

void
gpuval_lvp_commands_end_submit(struct gpuval_lvp_commands *commands)
{
   commands->run = NULL;
   simple_mtx_lock(&commands->mutex);
   hash_table_foreach (commands->noted, entry) {
      struct noted *noted = entry->data;
      release(commands, noted->note);
      ralloc_free(noted);
   }
   _mesa_hash_table_clear(commands->noted, NULL);
   simple_mtx_unlock(&commands->mutex);
}

/* The run that the command is in which has @id in the low bits of its own, and came
 * last of all that have.
 */
static const struct run *
find_run(const struct gpuval_lvp_commands *commands, uint32_t id, uint64_t *command)
{
   uint64_t end = commands->num_runs, begin = end > KEPT_RUNS ? end - KEPT_RUNS : 0;
   if (begin == end)
      return NULL;

   const struct run *newest = &commands->runs[(end - 1) % KEPT_RUNS];
   uint64_t last = newest->first_id + p_atomic_read(&newest->count) - 1;
   *command = last - (uint32_t)(last - id);
   if (*command > last || *command < commands->runs[begin % KEPT_RUNS].first_id)
      return NULL;

   while (end - begin > 1) {
      uint64_t middle = begin + (end - begin) / 2;
      if (*command < commands->runs[middle % KEPT_RUNS].first_id)
         end = middle;
      else
         begin = middle;
   }
   return &commands->runs[begin % KEPT_RUNS];
}

bool
gpuval_lvp_commands_describe(struct gpuval_lvp_commands *commands, uint32_t id,
                             mesa_shader_stage stage, struct gpuval_command *out)
{
   simple_mtx_lock(&commands->mutex);
   uint64_t command;
   const struct run *found = find_run(commands, id, &command);
   const struct run run = found ? *found : (struct run){0};
   if (found) {
      run.note->users++;
      release(commands, commands->described);
      commands->described = run.note;
   }
   simple_mtx_unlock(&commands->mutex);
   if (!found)
      return false;

   /* VK_CMD_DRAW_INDEXED -> draw_indexed */
   bool is_end = run.type == GPUVAL_CMD_END_RENDERING;
   snprintf(commands->op, sizeof(commands->op), "%s",
            is_end ? "end_rendering" : vk_cmd_queue_type_names[run.type] + strlen("VK_CMD_"));
   for (char *c = commands->op; *c; c++)
      *c += *c >= 'A' && *c <= 'Z' ? 'a' - 'A' : 0; /* tolower() minds the locale */
   /* The runtime calls the newer one of two, as an action's own name is told apart. */
   size_t length = strlen(commands->op);
   if (run.first_index < 0 && commands->op[length - 1] == '2')
      commands->op[length - 1] = '\0';

   *out = run.note->facts;
   out->submission = run.submission;
   out->op = commands->op;
   out->calls = run.calls;
   out->has_draw = run.first_draw;
   if (out->has_draw)
      out->draw = run.first_draw - 1 + (command - run.first_id);
   out->index = run.first_index + (out->has_draw ? 0 : command - run.first_id);
   if (stage < ARRAY_SIZE(run.note->shaders)) {
      out->shader = run.note->shaders[stage];
      out->shader_name = run.note->shader_names[stage];
   }
   return true;
}

bool
gpuval_lvp_commands_is_draw(struct gpuval_lvp_commands *commands, uint32_t id)
{
   uint64_t command;

   simple_mtx_lock(&commands->mutex);
   const struct run *run = find_run(commands, id, &command);
   bool is_draw = run && (gpuval_command_kind(run->type) == GPUVAL_COMMAND_DRAW ||
                          gpuval_command_kind(run->type) == GPUVAL_COMMAND_GENERATED);
   simple_mtx_unlock(&commands->mutex);
   return is_draw;
}

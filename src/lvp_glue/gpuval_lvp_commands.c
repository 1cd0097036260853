/* SPDX-License-Identifier: MIT */

/* A failure may have to do with a command of an earlier submit, whose command
 * buffer and pipeline are gone by then. So what there is to say of a command is
 * copied when it runs. Commands of a submit that have everything but type and index
 * in common share one copy.
 */

#include "gpuval_lvp_commands.h"

#include "gpuval/src/base/gpuval_names.h"
#include "util/simple_mtx.h"
#include "util/u_atomic.h"

#define KEPT_RUNS  (1u << 16)
#define KIND_KNOWN (1u << 7)

struct note {
   unsigned users;
   struct gpuval_lvp_command command; /* the key among the notes of a submit */
   struct gpuval_command facts;
   const char *shader_names[LVP_SHADER_STAGES];
};

/* Commands of one type that follow one another and have all else in common */
struct run {
   struct note *note; /* NULL: none */
   uint64_t first_id;
   uint32_t count; /* grows without the mutex, in the newest run */
   enum vk_cmd_type type;
   int64_t first_index;
};

struct gpuval_lvp_commands {
   /* On the queue's thread only */
   struct run *run;    /* the newest, while its submit lasts */
   uint8_t kinds[256]; /* by type of command: KIND_KNOWN and GPUVAL_LVP_* */

   simple_mtx_t mutex;       /* all that follows */
   struct run *runs;         /* a ring of KEPT_RUNS, by their low bits */
   uint64_t num_runs;        /* ever */
   struct hash_table *notes; /* struct gpuval_lvp_command * -> struct note, of this submit */

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
   commands->runs = calloc(KEPT_RUNS, sizeof(*commands->runs));
   commands->notes = _mesa_hash_table_create(commands, hash_common, common_equal);
   return commands;
}

void
gpuval_lvp_commands_destroy(struct gpuval_lvp_commands *commands)
{
   free(commands->runs);
   simple_mtx_destroy(&commands->mutex);
   ralloc_free(commands);
}

/* By name, as Vulkan's commands are many and more will come. */
static unsigned
find_kind(enum vk_cmd_type type)
{
   static const char *const actions[] = {
      "VK_CMD_DRAW",
      "VK_CMD_DISPATCH",
      "VK_CMD_TRACE_RAYS",
      "VK_CMD_EXECUTE_GENERATED",
   };
   const char *name = vk_cmd_queue_type_names[type];

   if (type == VK_CMD_PREPROCESS_GENERATED_COMMANDS_EXT ||
       type == VK_CMD_BUILD_ACCELERATION_STRUCTURES_KHR)
      return GPUVAL_LVP_OTHER;
   for (unsigned i = 0; i < ARRAY_SIZE(actions); i++) {
      if (!strncmp(name, actions[i], strlen(actions[i])))
         return GPUVAL_LVP_ACTION | (strstr(name, "_INDIRECT") ? GPUVAL_LVP_INDIRECT : 0);
   }
   return 0;
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
release(struct note *note)
{
   if (note && !--note->users)
      ralloc_free(note);
}

static char *
copy_name(struct note *note, const struct vk_object_base *object)
{
   return gpuval_object_name(note, object);
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

static struct run *
begin_run(struct gpuval_lvp_commands *commands, const struct gpuval_lvp_command *command)
{
   simple_mtx_lock(&commands->mutex);
   const struct run *last = &commands->runs[(commands->num_runs - 1) % KEPT_RUNS];
   uint64_t id = commands->num_runs ? last->first_id + last->count : 0;

   struct note *note = get_note(commands, command);
   note->users++;
   struct run *run = &commands->runs[commands->num_runs++ % KEPT_RUNS];
   release(run->note);
   *run = (struct run){
      .note = note,
      .first_id = id,
      .type = command->type,
      .first_index = command->index,
   };
   simple_mtx_unlock(&commands->mutex);

   return run;
}

/* Whether @command may be the next one of @run. What was written just now, a word at a
 * time, is read faster in the same way than by memcmp().
 */
static bool
continues(const struct run *run, const struct gpuval_lvp_command *command)
{
   const struct gpuval_lvp_command *common = &run->note->command;

   return run->type == command->type && run->first_index + run->count == command->index &&
          common->cmd_buffer == command->cmd_buffer && common->primary == command->primary &&
          common->pipeline == command->pipeline && common->submission == command->submission &&
          common->labels[0] == command->labels[0] && common->labels[1] == command->labels[1] &&
          (command->pipeline || common_equal(common, command));
}

uint32_t
gpuval_lvp_commands_add(struct gpuval_lvp_commands *commands,
                        const struct gpuval_lvp_command *command)
{
   struct run *run = commands->run;

   if (!run || !continues(run, command))
      run = commands->run = begin_run(commands, command);

   uint32_t id = run->first_id + run->count;
   p_atomic_set(&run->count, run->count + 1);
   return id;
}

void
gpuval_lvp_commands_end_submit(struct gpuval_lvp_commands *commands)
{
   commands->run = NULL;
   simple_mtx_lock(&commands->mutex);
   hash_table_foreach (commands->notes, entry)
      release(entry->data);
   _mesa_hash_table_clear(commands->notes, NULL);
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
                             gl_shader_stage stage, struct gpuval_command *out)
{
   simple_mtx_lock(&commands->mutex);
   uint64_t command;
   const struct run *found = find_run(commands, id, &command);
   const struct run run = found ? *found : (struct run){0};
   if (found) {
      run.note->users++;
      release(commands->described);
      commands->described = run.note;
   }
   simple_mtx_unlock(&commands->mutex);
   if (!found)
      return false;

   /* VK_CMD_DRAW_INDEXED -> draw_indexed */
   snprintf(commands->op, sizeof(commands->op), "%s",
            vk_cmd_queue_type_names[run.type] + strlen("VK_CMD_"));
   for (char *c = commands->op; *c; c++)
      *c += *c >= 'A' && *c <= 'Z' ? 'a' - 'A' : 0; /* tolower() minds the locale */

   *out = run.note->facts;
   out->op = commands->op;
   out->index = run.first_index + (command - run.first_id);
   if (stage < ARRAY_SIZE(run.note->shader_names))
      out->shader_name = run.note->shader_names[stage];
   return true;
}

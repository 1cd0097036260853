/* SPDX-License-Identifier: MIT */

/*
 * What is in order with what, by vector clocks. clock[i][j] is how far invocation i
 * knows invocation j: an access of j at its own time t is before all that i does if
 * t <= clock[i][j]. Barriers of a workgroup, of a subgroup, and fences around atomics
 * make invocations know of each other:
 *
 *    fence              what comes later may be seen without what came before, so the
 *                       own time goes on; what came before is what atomics give away
 *                       from here on, and what earlier atomics have seen is known now
 *    atomic             gives to its word what was before the last fence, and gets what
 *                       those have given that wrote to the word before; by fences of
 *                       subgroup scope those of its subgroup
 *    barrier            all know what any of them knows
 *
 * A fence also makes visible to its invocation what was executed before the step.
 *
 * Of shared memory invocations know by clocks of their own: a barrier of the workgroup orders
 * it, whatever that is to buffers.
 *
 * Each byte has a list of who accessed it, and when, since things were last in order. Flags are
 * known from one step to the next, and invocations of the step before, as those from
 * MAX_INVOCATIONS on: so invocations that nothing else orders know of each other by flags.
 *
 * Fills, updates and copies are in another stage. What is in order with shaders need not be with
 * them: each byte has a second list, of what they are not in order with. An access that is in order
 * with one stage and, by a barrier behind that, with the other one, is so by a chain: whether it is
 * visible then is a question of its own, and there is no right answer here.
 *
 * The exact engine keeps releases and acquires by workgroups, and does not report what
 * they may have ordered (base/gpuval_shadow.h). So there is no right answer about whoever
 * races when its workgroup has acquired something.
 *
 * The order in which things happen is llvmpipe's with one thread: one workgroup after
 * the other; in each, one vector (which is a subgroup) after the other, each up to the
 * next barrier, also of subgroups; instructions one after the other, for all lanes.
 */

#include "soak.h"

#include <stdlib.h>
#include <string.h>

#include "vk_headless.h"

#define MAX_INVOCATIONS (SOAK_GROUP * SOAK_MAX_GROUPS)
#define MIN_SUBGROUP    8
#define MAX_SUBGROUPS   (MAX_INVOCATIONS / MIN_SUBGROUP)
#define MAX_TOUCHES     64
#define MAX_BYTES       (SOAK_MEMORIES * SOAK_WINDOW)
#define KNOWN           (2 * MAX_INVOCATIONS) /* with those of the step before */
#define BEFORE          0xff                  /* as an invocation: of another step before */
#define MAX_FLAGS       (SOAK_MAX_CODE * SOAK_MAX_STEPS)

typedef uint16_t clocks[KNOWN];

enum touch_type {
   TOUCH_LOAD,
   TOUCH_STORE,
   TOUCH_ATOMIC,
   /* As they are when dependencies have made them available, or visible to storage loads */
   TOUCH_STORE_AVAILABLE,
   TOUCH_ATOMIC_AVAILABLE,
   TOUCH_STORE_SEEN,
   TOUCH_TYPES,
};
#define ALL_TOUCHES ((1u << TOUCH_TYPES) - 1)

struct touch {
   uint8_t type;
   uint8_t who;
   bool hidden;   /* a cell has it no more, since an atomic came: docs/sync.rst */
   bool executed; /* before what comes now, which alone makes nothing visible */
   bool is_command;
   bool before_command; /* in order with commands that come, */
   bool is_chained;     /* and these with shaders that come */
   uint16_t time;
};

/* Of one kind of access, by shaders or by commands, whom a command that comes is not in order with */
struct party {
   bool is_there;
   bool hidden;        /* a cell may have it no more */
   bool before_shader; /* in order with shaders that come, */
   bool is_chained;    /* and these with commands that come */
};

enum {
   READS,
   WRITES,
};

struct byte {
   uint8_t count;
   bool raced;
   bool raced_for_commands;
   struct touch touches[MAX_TOUCHES];
   struct party parties[2][2]; /* of shaders and of commands: READS, WRITES */
};

struct flag {
   bool used;
   uint32_t number, value;
   clocks given;
   clocks given_inside[MAX_SUBGROUPS]; /* by those of each subgroup, to others of it */
};

struct soak_model {
   unsigned subgroup;
   struct byte bytes[MAX_BYTES]; /* of the buffer, then of shared memory */

   /* Of the program with this seed */
   uint64_t seed;
   struct flag flags[MAX_FLAGS];
   bool released;  /* anything, in any step */
   bool handed_on; /* a step has acquired something from the one before */
};

struct step {
   struct soak_model *model;
   const struct soak_program *program;
   const struct soak_step *step;
   uint64_t *counts;
   bool races, ambiguous, any_order;
   bool is_early; /* nobody finds a flag as it is wanted, or what was released with it */
   bool has_acquires;

   clocks clock[MAX_INVOCATIONS];
   clocks shared_clock[MAX_INVOCATIONS];
   clocks given[MAX_INVOCATIONS];        /* at the last fence: what atomics give away */
   clocks taken[MAX_INVOCATIONS];        /* by atomics, and not known before the next fence */
   clocks given_inside[MAX_INVOCATIONS]; /* the same for those of a subgroup */
   clocks taken_inside[MAX_INVOCATIONS];
   bool gate[MAX_INVOCATIONS];
   bool has_fence[MAX_INVOCATIONS], has_atomic[SOAK_MAX_GROUPS];
   bool has_any_fence[MAX_INVOCATIONS];
   bool released_inside[MAX_SUBGROUPS], acquired_inside[MAX_SUBGROUPS];
   bool acquired[SOAK_MAX_GROUPS];

   /* Of each byte: the last instruction of a vector that stored there, and whether the
    * byte had been touched before
    */
   unsigned now, stored_at[MAX_BYTES];
   bool was_touched[MAX_BYTES];

   /* What atomics have given to a word, and of which size those were */
   clocks words[SOAK_WINDOW / 4];
   uint8_t word_sizes[SOAK_WINDOW / 4];
};

/* --- Order ---------------------------------------------------------------- */

static void
join(clocks to, const clocks from)
{
   for (unsigned i = 0; i < KNOWN; i++) {
      if (from[i] > to[i])
         to[i] = from[i];
   }
}

/* Invocations from `first` on */
static void
join_all(clocks *clock, unsigned first, unsigned count)
{
   clocks all = {0};

   for (unsigned i = first; i < first + count; i++)
      join(all, clock[i]);
   for (unsigned i = first; i < first + count; i++) {
      memcpy(clock[i], all, sizeof(all));
      clock[i][i]++;
   }
}

/* Any time of an invocation of the step before */
static bool
knows_others(const clocks clock)
{
   for (unsigned i = MAX_INVOCATIONS; i < KNOWN; i++) {
      if (clock[i])
         return true;
   }
   return false;
}

/* Of subgroup scope */
static void
fence_inside(struct step *s, unsigned who)
{
   const unsigned subgroup = who / s->model->subgroup;

   join(s->clock[who], s->taken_inside[who]);
   memcpy(s->given_inside[who], s->clock[who], sizeof(clocks));
   s->clock[who][who]++;
   s->has_any_fence[who] = true;
   s->acquired_inside[subgroup] |= s->released_inside[subgroup];
}

static void
fence(struct step *s, unsigned who)
{
   s->model->handed_on |= knows_others(s->taken[who]);
   join(s->clock[who], s->taken[who]);
   join(s->clock[who], s->taken_inside[who]);
   memcpy(s->given[who], s->clock[who], sizeof(clocks));
   fence_inside(s, who);
   s->has_fence[who] = true;
   s->acquired[who / SOAK_GROUP] |= s->has_atomic[who / SOAK_GROUP];
}

/* Read and written at once: who reads this one has also read what it had read. */
static void
atomic(struct step *s, clocks word, unsigned who)
{
   join(s->taken[who], word);
   join(word, s->given[who]);
   s->has_atomic[who / SOAK_GROUP] = true;
   s->model->released |= s->has_fence[who];
}

/* The same for a flag, which those of a subgroup may use among themselves */
static void
flag_atomic(struct step *s, struct flag *flag, unsigned who)
{
   const unsigned subgroup = who / s->model->subgroup;

   atomic(s, flag->given, who);
   join(s->taken_inside[who], flag->given_inside[subgroup]);
   join(flag->given_inside[subgroup], s->given_inside[who]);
   s->released_inside[subgroup] |= s->has_any_fence[who];
}

/* --- Accesses ------------------------------------------------------------- */

/* `clock`: what this invocation knows of the others */
static bool
is_before(const clocks clock, const struct touch *touch, unsigned who)
{
   return touch->who != BEFORE && (touch->who == who || touch->time <= clock[touch->who]);
}

/* Who has come past a fence reads what has been executed before. */
static bool
is_visible(const struct step *s, const struct touch *touch, enum touch_type type, unsigned who)
{
   return touch->executed && s->has_fence[who] && type != TOUCH_STORE;
}

/* `before` came first: docs/sync-scopes.rst, "How it is kept". An atomic that is seen has
 * nothing on a store that is.
 */
static bool
conflicts(enum touch_type before, enum touch_type type, enum soak_loads loads)
{
   switch (before) {
   case TOUCH_LOAD:
      return type != TOUCH_LOAD;
   case TOUCH_ATOMIC:
      return type != TOUCH_ATOMIC;
   case TOUCH_STORE_AVAILABLE:
      return type != TOUCH_STORE;
   case TOUCH_ATOMIC_AVAILABLE:
      return type == TOUCH_LOAD;
   case TOUCH_STORE_SEEN:
      return type == TOUCH_LOAD && loads != SOAK_LOADS_STORAGE;
   default:
      return true;
   }
}

static bool
races(struct step *s, const struct byte *byte, enum touch_type type, enum soak_loads loads,
      const clocks clock, unsigned who)
{
   bool found = false, hidden = false;

   for (unsigned i = 0; i < byte->count; i++) {
      const struct touch *touch = &byte->touches[i];
      const bool meets = conflicts(touch->type, type, loads) && !is_before(clock, touch, who) &&
                         !is_visible(s, touch, type, who);
      s->ambiguous |= meets && touch->is_chained;
      found |= meets && !touch->hidden;
      hidden |= meets && touch->hidden;
      /* Of two in one step, either may come second. */
      s->any_order &= !meets || touch->who >= MAX_INVOCATIONS;
   }
   s->ambiguous |= hidden && !found;
   return found;
}

/* For commands that come. A cell keeps one of those that read: others may be gone. */
static void
note_party(struct byte *byte, bool is_command, bool writes, bool forgets)
{
   struct party *others = byte->parties[!is_command];

   if (forgets)
      memset(byte->parties, 0, sizeof(byte->parties));
   others[READS].hidden = true;
   others[WRITES].hidden |= writes;
   byte->parties[is_command][writes] = (struct party){.is_there = true};
}

static void
touch(struct step *s, struct byte *byte, enum touch_type type, const clocks clock, unsigned who)
{
   const struct touch touch = {.type = (uint8_t)type, .who = (uint8_t)who, .time = clock[who]};

   /* What is in order with a store is so with what comes after it. */
   if (type == TOUCH_STORE && !byte->raced)
      byte->count = 0;
   note_party(byte, false, type != TOUCH_LOAD, !byte->raced && type == TOUCH_STORE);
   for (unsigned i = 0; type == TOUCH_ATOMIC && i < byte->count; i++) {
      struct touch *before = &byte->touches[i];
      const bool is_own = before->who == who && before->time == touch.time;
      const bool is_atomic = before->type == TOUCH_ATOMIC || before->type == TOUCH_ATOMIC_AVAILABLE;
      before->hidden |=
         (before->type == TOUCH_STORE && !is_own) || (is_atomic && before->who == BEFORE);
   }
   for (unsigned i = 0; i < byte->count; i++)
      byte->touches[i].hidden |= byte->touches[i].is_command && byte->touches[i].type == type;
   for (unsigned i = 0; i < byte->count; i++) {
      if (byte->touches[i].type == type && byte->touches[i].who == who &&
          !byte->touches[i].is_command) {
         byte->touches[i] = touch;
         return;
      }
   }
   if (byte->count == MAX_TOUCHES)
      s->ambiguous = true;
   else
      byte->touches[byte->count++] = touch;
}

/* Lanes of a vector that store at once come second to each other. Whoever also meets
 * somebody from before makes it open how many of them do.
 */
static void
note_lockstep(struct step *s, unsigned at, unsigned size)
{
   for (unsigned i = at; i < at + size; i++) {
      if (s->stored_at[i] == s->now) {
         s->ambiguous |= s->was_touched[i];
      } else {
         s->stored_at[i] = s->now;
         s->was_touched[i] = s->model->bytes[i].count > 0;
      }
   }
}

static void
synchronize_words(struct step *s, unsigned at, unsigned size, unsigned who)
{
   for (unsigned word = at / 4; word < (at + size) / 4; word++) {
      /* What atomics of different sizes mean to each other is not defined. */
      s->ambiguous |= s->word_sizes[word] && s->word_sizes[word] != size;
      s->word_sizes[word] = (uint8_t)size;
      atomic(s, s->words[word], who);
   }
}

static void
access_bytes(struct step *s, unsigned site, enum touch_type type, unsigned at,
             const struct soak_op *op, unsigned who)
{
   const bool is_shared = op->memory != SOAK_BUFFER;
   const uint16_t *clock = is_shared ? s->shared_clock[who] : s->clock[who];
   bool raced = false;

   at += op->memory * SOAK_WINDOW;
   struct byte *bytes = &s->model->bytes[at];

   if (type == TOUCH_STORE)
      note_lockstep(s, at, op->size);
   for (unsigned i = 0; i < op->size; i++) {
      s->ambiguous |= bytes[i].raced;
      if (races(s, &bytes[i], type, op->loads, clock, who)) {
         bytes[i].raced = bytes[i].raced_for_commands = true;
         raced = true;
         s->ambiguous |= !is_shared && s->model->released &&
                         (s->acquired[who / SOAK_GROUP] || s->model->handed_on);
         s->ambiguous |= !is_shared && s->acquired_inside[who / s->model->subgroup];
      }
      touch(s, &bytes[i], type, clock, who);
   }
   if (type == TOUCH_ATOMIC && !is_shared)
      synchronize_words(s, at, op->size, who);
   s->races |= raced;
   if (raced && s->counts)
      s->counts[site]++;
}

/* --- Instructions --------------------------------------------------------- */

static bool
takes_part(const struct step *s, const struct soak_instruction *code, unsigned who)
{
   const unsigned local = who % SOAK_GROUP, group = who / SOAK_GROUP;

   return (local - code->first) % SOAK_GROUP < code->count && (code->groups >> group & 1) &&
          (!code->gated || s->gate[who]);
}

static struct flag *
find_flag(struct step *s, uint32_t number)
{
   for (unsigned i = 0; i < MAX_FLAGS; i++) {
      struct flag *flag = &s->model->flags[i];
      if (!flag->used)
         *flag = (struct flag){.used = true, .number = number};
      if (flag->number == number)
         return flag;
   }
   vkh_die("too many flags");
}

static void
use_flag(struct step *s, const struct soak_instruction *code, enum soak_type type, unsigned who)
{
   struct flag *flag = find_flag(s, code->flag);
   const bool releases = type == SOAK_RELEASE_FLAG || type == SOAK_RELEASE_SUBGROUP;
   const bool acquires = type == SOAK_ACQUIRE_FLAG || type == SOAK_ACQUIRE_SUBGROUP;
   const bool writes = releases || type == SOAK_WRITE_FLAG;
   const bool ticket = type == SOAK_TICKET || type == SOAK_TICKET_RELAXED;

   if (type == SOAK_RELEASE_FLAG || type == SOAK_TICKET)
      fence(s, who);
   if (type == SOAK_RELEASE_SUBGROUP)
      fence_inside(s, who);
   s->has_acquires |= acquires;
   if (acquires && s->is_early) {
      s->gate[who] = false;
      return;
   }
   flag_atomic(s, flag, who);
   if (writes)
      flag->value = code->value;
   else if (ticket)
      s->gate[who] = ++flag->value == code->value;
   else
      s->gate[who] = flag->value == code->value;
   if (type == SOAK_ACQUIRE_FLAG || type == SOAK_TICKET)
      fence(s, who);
   if (type == SOAK_ACQUIRE_SUBGROUP)
      fence_inside(s, who);

   /* Who is the last one, or has come too early, may be another the next time. Of a program that
    * is clean, what does not happen then is not missed: is_clean_if_early().
    */
   s->any_order &= releases || (acquires && s->gate[who] && s->program->clean);
}

/* The instruction, for the invocations of a vector */
static void
execute(struct step *s, const struct soak_instruction *code, unsigned first)
{
   const struct soak_op *op = &soak_ops[code->op];
   const unsigned sites = op->type == SOAK_LOAD_STORE || op->type == SOAK_STORE_LOAD ? 2 : 1;

   bool active[MAX_INVOCATIONS];
   for (unsigned who = first; who < first + s->model->subgroup; who++)
      active[who] = takes_part(s, code, who);

   for (unsigned site = 0; site < sites; site++) {
      s->now++;
      static const enum touch_type touches[SOAK_ACCESS_TYPES][2] = {
         [SOAK_LOAD] = {TOUCH_LOAD},
         [SOAK_STORE] = {TOUCH_STORE},
         [SOAK_ATOMIC] = {TOUCH_ATOMIC},
         [SOAK_LOAD_STORE] = {TOUCH_LOAD, TOUCH_STORE},
         [SOAK_STORE_LOAD] = {TOUCH_STORE, TOUCH_LOAD},
      };
      for (unsigned who = first; who < first + s->model->subgroup; who++) {
         if (!active[who])
            continue;
         if (op->type >= SOAK_ACCESS_TYPES) {
            use_flag(s, code, op->type, who);
            continue;
         }
         const unsigned at = code->base - s->program->window +
                             (who % SOAK_GROUP ^ code->swap) * code->stride +
                             who / SOAK_GROUP * code->group_stride;
         access_bytes(s, 2 * code->op + site, touches[op->type][site], at, op, who);
      }
   }
}

static void
meet(struct step *s, enum soak_type type, unsigned first)
{
   if (type == SOAK_BARRIER_SUBGROUP) {
      for (unsigned vector = 0; vector < SOAK_GROUP; vector += s->model->subgroup) {
         join_all(s->clock, first + vector, s->model->subgroup);
         join_all(s->shared_clock, first + vector, s->model->subgroup);
      }
      return;
   }
   if (type == SOAK_BARRIER_GROUP)
      join_all(s->clock, first, SOAK_GROUP);
   join_all(s->shared_clock, first, SOAK_GROUP);
}

static void
run_group(struct step *s, unsigned group)
{
   const unsigned first = group * SOAK_GROUP;

   /* Its shared memory is its own. */
   for (unsigned i = SOAK_WINDOW; i < MAX_BYTES; i++) {
      s->model->bytes[i].count = 0;
      s->model->bytes[i].raced = false;
      s->stored_at[i] = 0;
   }
   for (unsigned begin = 0, end; begin < s->step->code_count; begin = end + 1) {
      for (end = begin; end < s->step->code_count; end++) {
         if (soak_is_barrier(&s->step->code[end]))
            break;
      }
      const bool ends_with_fence =
         end < s->step->code_count && soak_ops[s->step->code[end].op].type == SOAK_BARRIER_GROUP;
      for (unsigned vector = 0; vector < SOAK_GROUP; vector += s->model->subgroup) {
         for (unsigned i = begin; i < end; i++)
            execute(s, &s->step->code[i], first + vector);
         for (unsigned i = 0; ends_with_fence && i < s->model->subgroup; i++)
            fence(s, first + vector + i);
      }
      if (end < s->step->code_count)
         meet(s, soak_ops[s->step->code[end].op].type, first);
   }
}

/* --- Commands ------------------------------------------------------------- */

static bool
command_races(struct step *s, const struct byte *byte, bool writes)
{
   bool found = false, hidden = false;

   s->ambiguous |= byte->raced_for_commands;
   for (unsigned i = 0; i < 4; i++) {
      const struct party *party = &byte->parties[i / 2][i % 2];
      if (!party->is_there || (!writes && i % 2 == READS))
         continue;
      s->ambiguous |= party->is_chained;
      found |= !party->hidden;
      hidden |= party->hidden;
   }
   s->ambiguous |= hidden && !found;
   return found;
}

/* One range, which counts once */
static void
run_command(struct step *s)
{
   const bool writes = s->step->command != SOAK_COPY_FROM;
   const struct touch touch = {
      .type = writes ? TOUCH_STORE : TOUCH_LOAD,
      .who = BEFORE,
      .is_command = true,
   };
   bool raced = false;

   for (unsigned i = 0; i < s->step->size; i++) {
      struct byte *byte = &s->model->bytes[s->step->base - s->program->window + i];

      if (command_races(s, byte, writes)) {
         byte->raced = byte->raced_for_commands = true;
         raced = true;
      }
      const bool forgets = writes && !byte->raced_for_commands;
      if (forgets)
         byte->count = 0;
      note_party(byte, true, writes, forgets);
      for (unsigned j = 0; j < byte->count; j++)
         byte->touches[j].hidden |= byte->touches[j].type == touch.type;
      if (byte->count == MAX_TOUCHES)
         s->ambiguous = true;
      else
         byte->touches[byte->count++] = touch;
   }
   s->ambiguous |= raced && s->model->released && s->model->handed_on;
   s->races |= raced;
   if (raced && s->counts)
      s->counts[SOAK_COMMAND_SITE(s->step->command)]++;
}

/* --- Public --------------------------------------------------------------- */

struct soak_model *
soak_model_create(unsigned subgroup)
{
   struct soak_model *model = vkh_calloc(1, sizeof(*model));
   if (SOAK_GROUP % subgroup || subgroup < MIN_SUBGROUP)
      vkh_skip("subgroups of %u invocations", subgroup);
   model->subgroup = subgroup;
   return model;
}

void
soak_model_copy(struct soak_model *to, const struct soak_model *from)
{
   for (unsigned i = 0; i < SOAK_WINDOW; i++) {
      to->bytes[i].raced = from->bytes[i].raced;
      to->bytes[i].raced_for_commands = from->bytes[i].raced_for_commands;
      memcpy(to->bytes[i].parties, from->bytes[i].parties, sizeof(to->bytes[i].parties));
      to->bytes[i].count = from->bytes[i].count;
      memcpy(to->bytes[i].touches, from->bytes[i].touches,
             from->bytes[i].count * sizeof(struct touch));
   }
   to->subgroup = from->subgroup;
   to->seed = from->seed;
   to->released = from->released;
   to->handed_on = from->handed_on;
   memcpy(to->flags, from->flags, sizeof(to->flags));
}

void
soak_model_destroy(struct soak_model *model)
{
   free(model);
}

/* Flags of another program are nobody's. */
static void
begin_program(struct soak_model *model, const struct soak_program *program)
{
   if (model->seed == program->seed)
      return;
   model->seed = program->seed;
   model->released = false;
   model->handed_on = false;
   memset(model->flags, 0, sizeof(model->flags));
}

/* Who was of this step is of the one before. Of those of older ones nobody knows anything: one
 * touch of each type is enough.
 */
static void
leave_step(struct soak_model *model)
{
   for (unsigned i = 0; i < SOAK_WINDOW; i++) {
      struct byte *byte = &model->bytes[i];
      bool types[TOUCH_TYPES][2][2] = {0};
      unsigned kept = 0;
      for (unsigned j = 0; j < byte->count; j++) {
         struct touch touch = byte->touches[j];
         bool *is_there = &types[touch.type][touch.executed][touch.is_command];
         if (touch.who < MAX_INVOCATIONS)
            touch.who += MAX_INVOCATIONS;
         else if (!*is_there)
            touch.who = BEFORE;
         else
            continue;
         *is_there |= touch.who == BEFORE;
         byte->touches[kept++] = touch;
      }
      byte->count = (uint8_t)kept;
   }
   for (unsigned i = 0; i < MAX_FLAGS; i++) {
      uint16_t *given = model->flags[i].given;
      memcpy(given + MAX_INVOCATIONS, given, MAX_INVOCATIONS * sizeof(*given));
      memset(given, 0, MAX_INVOCATIONS * sizeof(*given));
      memset(model->flags[i].given_inside, 0, sizeof(model->flags[i].given_inside));
   }
}

static void
begin_step(struct step *s, struct soak_model *model, const struct soak_program *program,
           const struct soak_step *step)
{
   memset(s, 0, sizeof(*s));
   s->model = model;
   s->program = program;
   s->step = step;
   s->any_order = true;
   for (unsigned i = 0; i < MAX_INVOCATIONS; i++)
      s->clock[i][i] = s->shared_clock[i][i] = 1;
}

static void
run_groups(struct step *s)
{
   if (s->step->command)
      run_command(s);
   for (unsigned group = 0; group < s->step->groups; group++)
      run_group(s, group);
}

/* Whether the step is clean, too, if all acquires come before all releases */
static bool
is_clean_if_early(const struct soak_model *before, const struct soak_program *program,
                  const struct soak_step *step)
{
   static struct soak_model early;
   static struct step s;

   soak_model_copy(&early, before);
   begin_step(&s, &early, program, step);
   s.is_early = true;
   run_groups(&s);
   return !s.races && !s.ambiguous;
}

enum soak_verdict
soak_model_step(struct soak_model *model, const struct soak_program *program,
                const struct soak_step *step, uint64_t *counts, bool *any_order)
{
   static struct soak_model before;
   static struct step s;

   begin_program(model, program);
   if (*any_order)
      soak_model_copy(&before, model);
   begin_step(&s, model, program, step);
   s.counts = counts;
   run_groups(&s);
   *any_order &= s.any_order;
   if (*any_order && s.has_acquires)
      *any_order = is_clean_if_early(&before, program, step);

   leave_step(model);
   return s.ambiguous ? SOAK_AMBIGUOUS : s.races ? SOAK_RACES : SOAK_CLEAN;
}

/* Forgets what of shaders, or of commands, is in order with all shaders that come, by types of
 * touches.
 */
static void
forget_of(struct soak_model *model, unsigned bytes, unsigned types, bool of_commands)
{
   for (unsigned i = 0; i < bytes; i++) {
      struct byte *byte = &model->bytes[i];
      unsigned kept = 0;
      for (unsigned j = 0; j < byte->count; j++) {
         if (!(types >> byte->touches[j].type & 1) || byte->touches[j].is_command != of_commands)
            byte->touches[kept++] = byte->touches[j];
      }
      byte->count = (uint8_t)kept;
      byte->raced &= types != ALL_TOUCHES || kept > 0;
   }
}

static void
forget(struct soak_model *model, unsigned bytes, unsigned types)
{
   forget_of(model, bytes, types, false);
}

/* The same for commands that come, of all kinds of accesses */
static void
forget_parties(struct soak_model *model, bool of_commands)
{
   for (unsigned i = 0; i < SOAK_WINDOW; i++) {
      struct byte *byte = &model->bytes[i];
      bool is_left = false;

      byte->parties[of_commands][READS].is_there = false;
      byte->parties[of_commands][WRITES].is_there = false;
      for (unsigned j = 0; j < 4; j++)
         is_left |= byte->parties[j / 2][j % 2].is_there;
      byte->raced_for_commands &= is_left;
   }
}

/* What shaders have done is in order with commands that come. */
static void
order_before_commands(struct soak_model *model)
{
   for (unsigned i = 0; i < SOAK_WINDOW; i++) {
      struct byte *byte = &model->bytes[i];
      for (unsigned j = 0; j < byte->count; j++)
         byte->touches[j].before_command |= !byte->touches[j].is_command;
      for (unsigned j = 0; j < 2; j++)
         byte->parties[true][j].is_chained |= byte->parties[true][j].before_shader;
   }
   forget_parties(model, false);
}

/* What commands have done is in order with shaders that come, or @executed before these only. */
static void
order_after_commands(struct soak_model *model, bool executed)
{
   for (unsigned i = 0; i < SOAK_WINDOW; i++) {
      struct byte *byte = &model->bytes[i];
      for (unsigned j = 0; j < byte->count; j++) {
         byte->touches[j].is_chained |= byte->touches[j].before_command;
         byte->touches[j].executed |= byte->touches[j].is_command;
      }
      for (unsigned j = 0; j < 2; j++)
         byte->parties[true][j].before_shader = true;
   }
   forget_of(model, SOAK_WINDOW, executed ? 1 << TOUCH_LOAD : ALL_TOUCHES, true);
}

/* What is in order of execution with shaders only, other dependencies may make available and
 * visible.
 */
static void
hand_on_commands(struct soak_model *model)
{
   for (unsigned i = 0; i < SOAK_WINDOW; i++) {
      struct byte *byte = &model->bytes[i];
      for (unsigned j = 0; j < byte->count; j++)
         byte->touches[j].is_chained |= byte->touches[j].is_command && byte->touches[j].executed;
   }
}

/* What commands have done is in order with commands that come. */
static void
order_among_commands(struct soak_model *model)
{
   for (unsigned i = 0; i < SOAK_WINDOW; i++) {
      struct byte *byte = &model->bytes[i];
      for (unsigned j = 0; j < byte->count; j++)
         byte->touches[j].before_command |= byte->touches[j].is_command;
   }
   forget_parties(model, true);
}

static void
order_all(struct soak_model *model)
{
   forget_of(model, SOAK_WINDOW, ALL_TOUCHES, false);
   forget_of(model, SOAK_WINDOW, ALL_TOUCHES, true);
   forget_parties(model, false);
   forget_parties(model, true);
}

/* Touches of one type become others. */
static void
turn(struct soak_model *model, enum touch_type from, enum touch_type to)
{
   for (unsigned i = 0; i < SOAK_WINDOW; i++) {
      for (unsigned j = 0; j < model->bytes[i].count; j++) {
         struct touch *touch = &model->bytes[i].touches[j];
         if (touch->type == from && !touch->is_command)
            touch->type = (uint8_t)to;
      }
   }
}

/* All that was is executed before what comes. Loads need no more than that. */
static void
execute_before(struct soak_model *model)
{
   forget(model, SOAK_WINDOW, 1 << TOUCH_LOAD);
   for (unsigned i = 0; i < SOAK_WINDOW; i++) {
      for (unsigned j = 0; j < model->bytes[i].count; j++)
         model->bytes[i].touches[j].executed |= !model->bytes[i].touches[j].is_command;
   }
}

bool
soak_model_is_empty(const struct soak_model *model)
{
   for (unsigned i = 0; i < SOAK_WINDOW; i++) {
      if (model->bytes[i].count)
         return false;
   }
   return true;
}

void
soak_model_separate(struct soak_model *model, const struct soak_program *program,
                    enum soak_separator separator)
{
   if (separator != SOAK_NOTHING && separator != SOAK_SUBMIT)
      hand_on_commands(model);
   switch (separator) {
   case SOAK_BARRIER_EXECUTION:
   case SOAK_BARRIER_OTHER:
      execute_before(model);
      break;
   case SOAK_BARRIER:
   case SOAK_BARRIER_BUFFER:
   case SOAK_SEMAPHORE:
      forget(model, SOAK_WINDOW, ALL_TOUCHES);
      break;
   case SOAK_BARRIER_ALL:
   case SOAK_WAIT:
      order_all(model);
      break;
   case SOAK_SEMAPHORE_ELSEWHERE:
   case SOAK_TO_TRANSFER:
      order_before_commands(model);
      break;
   case SOAK_BARRIER_ELSEWHERE:
      order_among_commands(model);
      break;
   case SOAK_FROM_TRANSFER:
      order_after_commands(model, false);
      break;
   case SOAK_FROM_TRANSFER_EXECUTION:
      order_after_commands(model, true);
      break;
   case SOAK_BARRIER_RANGE:
      execute_before(model);
      forget(model, SOAK_WINDOW / 2, ALL_TOUCHES);
      break;
   case SOAK_BARRIER_AVAILABLE:
      execute_before(model);
      turn(model, TOUCH_STORE, TOUCH_STORE_AVAILABLE);
      turn(model, TOUCH_ATOMIC, TOUCH_ATOMIC_AVAILABLE);
      break;
   case SOAK_BARRIER_READS:
      execute_before(model);
      turn(model, TOUCH_STORE, TOUCH_STORE_SEEN);
      turn(model, TOUCH_ATOMIC, TOUCH_STORE_SEEN);
      turn(model, TOUCH_STORE_AVAILABLE, TOUCH_STORE_SEEN);
      turn(model, TOUCH_ATOMIC_AVAILABLE, TOUCH_STORE_SEEN);
      break;
   case SOAK_NOTHING:
   case SOAK_SUBMIT:
   case SOAK_SEPARATOR_COUNT:
      break;
   }
}

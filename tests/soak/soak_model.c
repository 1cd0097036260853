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
 * Dependencies between steps are Vulkan's ("Execution and Memory Dependencies"). Each access knows
 * the stages of which what comes is executed after it, those of which what comes has it available,
 * and the kinds of accesses by stages that it is visible to. A dependency counts for what is in its
 * first scope, or in order before that by another one: a chain.
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

#include <assert.h>
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
#define LAYOUT          SOAK_STAGES           /* as a stage: between the two scopes of a barrier */
#define MAX_FLAGS       (SOAK_MAX_CODE * SOAK_MAX_STEPS)

typedef uint16_t clocks[KNOWN];

enum touch_type {
   TOUCH_LOAD,
   TOUCH_STORE,
   TOUCH_ATOMIC,
};

struct touch {
   uint16_t time;
   uint8_t type; /* enum touch_type */
   uint8_t who;
   uint8_t stage; /* enum soak_stage */
   bool hidden;   /* a cell may have it no more: docs/sync.rst, "What it misses" */
   bool raced;    /* at this byte, or has come before who did */
   /* Bits of stages: */
   uint8_t executed;  /* what comes there comes after it, */
   uint8_t available; /* and after it was made available */
   uint8_t visible[SOAK_ACCESSES];
   uint8_t seen; /* by all that comes after it in these, as semaphores make it visible */
   /* Of texels: what comes there comes after it by dependencies for that memory. */
   uint8_t dependent;
   bool is_texel;
   bool has_dependencies; /* for that memory, whatever they order */
   bool was_available;    /* to anything, in whatever range */
   bool is_submitted;     /* in an earlier command buffer */
};
static_assert(sizeof(struct touch) == 28, "compared as a whole");

struct byte {
   uint8_t count;
   struct touch touches[MAX_TOUCHES];
};

struct flag {
   bool used;
   uint32_t number, value;
   clocks given;
   clocks given_inside[MAX_SUBGROUPS]; /* by those of each subgroup, to others of it */
};

struct soak_model {
   unsigned subgroup;
   unsigned stages;              /* bits: those that steps have */
   struct byte bytes[MAX_BYTES]; /* of the buffer, then of shared memory */
   struct byte texels[SOAK_TEXELS];

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
   enum soak_shader shader; /* that runs, */
   enum soak_stage stage;   /* in this one */
   uint64_t (*counts)[SOAK_MAX_SITES];
   bool races, ambiguous, any_order;
   bool texel_races[2]; /* with commands, with shaders */
   bool is_early;       /* nobody finds a flag as it is wanted, or what was released with it */
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

/* An access that comes now */
struct access {
   enum touch_type type;
   enum soak_access loads; /* if it loads */
   enum soak_stage stage;
   unsigned who;
   const uint16_t *clock; /* what this invocation knows of the others; NULL: a command */
   bool is_texel;
};

static bool
is_before(const struct touch *touch, const struct access *access)
{
   if (touch->who < MAX_INVOCATIONS && touch->stage != access->stage)
      return false;
   return access->clock && touch->who != BEFORE &&
          (touch->who == access->who || touch->time <= access->clock[touch->who]);
}

/* Who has come past a fence reads what has been executed before. */
static bool
is_visible(const struct step *s, const struct touch *touch, const struct access *access)
{
   return (touch->executed >> access->stage & 1) && access->clock && s->has_fence[access->who] &&
          access->type != TOUCH_STORE;
}

/* The same of columns of texels, one of the two being a command, where memory counts for less:
 * docs/checks.rst, "Missed, and why".
 */
static bool
texel_conflicts(const struct touch *touch, const struct access *access)
{
   if (touch->type == TOUCH_LOAD)
      return access->type == TOUCH_STORE && !(touch->executed >> access->stage & 1);
   return !(touch->executed & touch->dependent & 1u << access->stage) ||
          (access->type == TOUCH_LOAD && !touch->was_available);
}

static bool
are_shaders(const struct touch *touch, const struct access *access)
{
   return touch->stage == SOAK_STAGE_COMPUTE && access->stage == SOAK_STAGE_COMPUTE;
}

/* What was written elsewhere than where a dependency is for memory is in a race if there was no
 * other one in between, and else need not be.
 */
static bool
is_unclear(const struct touch *touch, const struct access *access)
{
   return access->is_texel && !are_shaders(touch, access) && touch->type == TOUCH_STORE &&
          touch->has_dependencies && (touch->executed & ~touch->dependent & 1u << access->stage);
}

/* No dependency orders @touch before @access, which it would have to: docs/sync-scopes.rst, "How it
 * is kept". An atomic needs what a load or a store from a storage buffer does.
 */
static bool
conflicts(const struct touch *touch, const struct access *access)
{
   const unsigned visible = touch->visible[access->loads] | touch->seen;

   if (access->is_texel && !are_shaders(touch, access))
      return texel_conflicts(touch, access);
   if (touch->type == access->type && touch->type != TOUCH_STORE)
      return false;
   if (touch->type == TOUCH_LOAD)
      return !(touch->executed >> access->stage & 1);
   if (access->type == TOUCH_STORE)
      return !(touch->available >> access->stage & 1);
   if (access->type == TOUCH_ATOMIC)
      return !((visible | touch->visible[SOAK_STORES]) >> access->stage & 1);
   return !(visible >> access->stage & 1);
}

static bool
races(struct step *s, const struct byte *byte, const struct access *access)
{
   bool found = false, hidden = false;

   for (unsigned i = 0; i < byte->count; i++) {
      const struct touch *touch = &byte->touches[i];
      if (!conflicts(touch, access) || is_before(touch, access) || is_visible(s, touch, access))
         continue;
      s->ambiguous |= touch->raced || is_unclear(touch, access);
      /* In which order the vertices and fragments of a draw come is not known. */
      s->ambiguous |= s->step->is_draw && touch->who < MAX_INVOCATIONS;
      found |= !touch->hidden;
      hidden |= touch->hidden;
      s->texel_races[are_shaders(touch, access)] |= access->is_texel;
      /* Of two in one step, either may come second. */
      s->any_order &= touch->who >= MAX_INVOCATIONS;
   }
   s->ambiguous |= hidden && !found;
   return found;
}

/* What a cell forgets (docs/sync.rst, "What it misses"): of readers it keeps one class; a store,
 * and atomics of another command or stage, give way to an atomic.
 */
static void
hide(struct byte *byte, const struct access *access, unsigned time)
{
   for (unsigned i = 0; i < byte->count && !access->is_texel; i++) {
      struct touch *before = &byte->touches[i];
      const bool is_atomic = access->type == TOUCH_ATOMIC;
      const bool is_own = before->who == access->who && before->time == time;
      const bool is_other = before->stage != access->stage || before->who >= MAX_INVOCATIONS;
      if (before->type == TOUCH_LOAD)
         before->hidden |= access->type == TOUCH_LOAD && before->stage != access->stage;
      else if (is_atomic)
         before->hidden |= before->type == TOUCH_STORE ? !is_own : is_other;
   }
}

static void
touch(struct step *s, struct byte *byte, const struct access *access, bool raced)
{
   const struct touch touch = {
      .type = (uint8_t)access->type,
      .who = (uint8_t)access->who,
      .stage = (uint8_t)access->stage,
      .raced = raced,
      .is_texel = access->is_texel,
      .time = access->clock ? access->clock[access->who] : 0,
   };

   /* What is in order with a store is so with what comes after it. Texels that shaders access are
    * compared with each other apart from what commands do.
    */
   const bool hides = access->is_texel && access->stage != SOAK_STAGE_COMPUTE;
   for (unsigned i = 0; access->type == TOUCH_STORE && !raced && i < byte->count; i++)
      byte->touches[i].hidden = true;
   if (access->type == TOUCH_STORE && !raced && !hides)
      byte->count = 0;
   for (unsigned i = 0; raced && i < byte->count; i++)
      byte->touches[i].raced = true;
   hide(byte, access, touch.time);
   for (unsigned i = 0; i < byte->count; i++) {
      struct touch *before = &byte->touches[i];
      if (before->type == touch.type && before->who == touch.who && before->stage == touch.stage &&
          touch.who != BEFORE) {
         *before = touch;
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
   const struct access access = {
      .type = type,
      .loads = op->loads,
      .stage = s->stage,
      .who = who,
      .clock = is_shared ? s->shared_clock[who] : s->clock[who],
   };
   bool raced = false;

   at += op->memory * SOAK_WINDOW;
   struct byte *bytes = &s->model->bytes[at];

   if (type == TOUCH_STORE)
      note_lockstep(s, at, op->size);
   for (unsigned i = 0; i < op->size; i++) {
      const bool raced_here = races(s, &bytes[i], &access);
      touch(s, &bytes[i], &access, raced_here);
      raced |= raced_here;
   }
   if (raced && !is_shared) {
      s->ambiguous |= s->model->released && (s->acquired[who / SOAK_GROUP] || s->model->handed_on);
      s->ambiguous |= s->acquired_inside[who / s->model->subgroup];
   }
   if (type == TOUCH_ATOMIC && !is_shared)
      synchronize_words(s, at, op->size, who);
   s->races |= raced;
   if (raced && s->counts)
      s->counts[s->shader][site]++;
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

static void
run_draw(struct step *s)
{
   for (unsigned fragment = 0; fragment < 2; fragment++) {
      s->shader = fragment ? SOAK_FRAGMENT : SOAK_VERTEX;
      s->stage = fragment ? SOAK_STAGE_FRAGMENT : SOAK_STAGE_VERTEX;
      for (unsigned i = 0; i < s->step->code_count; i++) {
         const unsigned count = s->step->groups * SOAK_GROUP;
         for (unsigned who = 0; who < count && s->step->code[i].fragment == fragment;
              who += s->model->subgroup)
            execute(s, &s->step->code[i], who);
      }
   }
}

/* --- Commands ------------------------------------------------------------- */

/* One range, which counts once */
static void
touch_range(struct step *s, const struct access *access, struct byte *bytes, unsigned size)
{
   bool raced = false;

   for (unsigned i = 0; i < size; i++) {
      const bool raced_here = races(s, &bytes[i], access);
      touch(s, &bytes[i], access, raced_here);
      raced |= raced_here;
   }
   s->ambiguous |= raced && s->model->released && s->model->handed_on;
   s->ambiguous |= s->texel_races[0] && s->texel_races[1];
   s->races |= raced;
   if (raced && s->counts)
      s->counts[SOAK_PLAIN][SOAK_COMMAND_SITE(s->step->command)]++;
}

/* Loaded first, then stored. How often that is reported where it races is not asked. */
static void
touch_counter(struct step *s, const struct access *load, const struct access *store,
              struct byte *bytes)
{
   for (unsigned i = 0; i < 4; i++) {
      s->ambiguous |= races(s, &bytes[i], load);
      s->ambiguous |= races(s, &bytes[i], store);
      touch(s, &bytes[i], store, false);
   }
}

static void
run_command(struct step *s)
{
   static const struct access accesses[SOAK_COMMAND_COUNT] = {
      [SOAK_FILL] = {TOUCH_STORE, .stage = SOAK_STAGE_TRANSFER, .who = BEFORE},
      [SOAK_UPDATE] = {TOUCH_STORE, .stage = SOAK_STAGE_TRANSFER, .who = BEFORE},
      [SOAK_COPY_TO] = {TOUCH_STORE, .stage = SOAK_STAGE_TRANSFER, .who = BEFORE},
      [SOAK_COPY_RESULTS] = {TOUCH_STORE, .stage = SOAK_STAGE_TRANSFER, .who = BEFORE},
      [SOAK_COPY_FROM] = {TOUCH_LOAD, SOAK_READS_TRANSFER, SOAK_STAGE_TRANSFER, BEFORE},
      [SOAK_FETCH_INDICES] = {TOUCH_LOAD, SOAK_READS_INDEX, SOAK_STAGE_INPUT, BEFORE},
      [SOAK_FETCH_ATTRIBUTES] = {TOUCH_LOAD, SOAK_READS_ATTRIBUTE, SOAK_STAGE_INPUT, BEFORE},
      [SOAK_FETCH_COUNT] = {TOUCH_LOAD, SOAK_READS_INDIRECT, SOAK_STAGE_INDIRECT, BEFORE},
      [SOAK_FETCH_ARGUMENTS] = {TOUCH_LOAD, SOAK_READS_INDIRECT, SOAK_STAGE_INDIRECT, BEFORE},
      [SOAK_CAPTURE] = {TOUCH_STORE, .stage = SOAK_STAGE_FEEDBACK, .who = BEFORE},
      [SOAK_COUNTER_LOAD] = {TOUCH_LOAD, SOAK_READS_COUNTER, SOAK_STAGE_FEEDBACK, BEFORE},
      [SOAK_COUNTER_STORE] = {TOUCH_STORE, .stage = SOAK_STAGE_FEEDBACK, .who = BEFORE},
   };
   const bool loads = s->step->command == SOAK_IMAGE_COPY_FROM ||
                      s->step->command == SOAK_IMAGE_RENDER_LOAD ||
                      s->step->command == SOAK_IMAGE_LOAD;
   const struct access texels = {
      .type = loads ? TOUCH_LOAD : TOUCH_STORE,
      .loads = SOAK_LOADS_STORAGE,
      .stage = s->step->command >= SOAK_IMAGE_LOAD     ? SOAK_STAGE_COMPUTE
               : s->step->command >= SOAK_IMAGE_RENDER ? SOAK_STAGE_OUTPUT
                                                       : SOAK_STAGE_TRANSFER,
      .who = BEFORE,
      .is_texel = true,
   };
   if (s->step->command >= SOAK_IMAGE_CLEAR) {
      touch_range(s, &texels, &s->model->texels[s->step->base], s->step->size);
      return;
   }
   const struct access *access = &accesses[s->step->command];
   struct byte *bytes = &s->model->bytes[s->step->base - s->program->window];

   if (s->step->command == SOAK_COUNTER_BOTH) {
      touch_counter(s, &accesses[SOAK_COUNTER_LOAD], &accesses[SOAK_COUNTER_STORE], bytes);
      return;
   }
   if (s->step->command != SOAK_COPY_RESULTS) {
      touch_range(s, access, bytes, s->step->size);
      return;
   }
   for (unsigned i = 0; i < s->step->size; i += SOAK_RESULT_STRIDE)
      touch_range(s, access, &bytes[i], 4);
}

/* --- Public --------------------------------------------------------------- */

/* What steps hand on to each other: the window, then texels */
static struct byte *
get_byte(struct soak_model *model, unsigned index)
{
   return index < SOAK_WINDOW ? &model->bytes[index] : &model->texels[index - SOAK_WINDOW];
}

struct soak_model *
soak_model_create(unsigned features, unsigned subgroup)
{
   struct soak_model *model = vkh_calloc(1, sizeof(*model));
   if (SOAK_GROUP % subgroup || subgroup < MIN_SUBGROUP)
      vkh_skip("subgroups of %u invocations", subgroup);
   model->subgroup = subgroup;
   model->stages = 1u << SOAK_STAGE_COMPUTE;
   if (features & (SOAK_COMMANDS | SOAK_TRANSFERS))
      model->stages |= 1u << SOAK_STAGE_TRANSFER;
   if (features & SOAK_DRAWS)
      model->stages |= SOAK_ALL_STAGES & ~(1u << SOAK_STAGE_OUTPUT);
   if (features & SOAK_TRANSFERS)
      model->stages |= 1u << SOAK_STAGE_OUTPUT;
   return model;
}

void
soak_model_copy(struct soak_model *to, const struct soak_model *from)
{
   for (unsigned i = 0; i < SOAK_WINDOW + SOAK_TEXELS; i++) {
      struct byte *byte = get_byte(to, i);
      const struct byte *other = get_byte((struct soak_model *)from, i);
      byte->count = other->count;
      memcpy(byte->touches, other->touches, other->count * sizeof(struct touch));
   }
   to->subgroup = from->subgroup;
   to->stages = from->stages;
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

/* Adds @touch, if there is none like it. */
static void
keep_touch(struct byte *byte, const struct touch *touch)
{
   for (unsigned i = 0; i < byte->count; i++) {
      if (memcmp(&byte->touches[i], touch, sizeof(*touch)) == 0)
         return;
   }
   byte->touches[byte->count++] = *touch;
}

/* Changes each touch; false: it is kept no longer. @index: of its byte or texel */
typedef bool touch_change(struct touch *touch, unsigned index, const void *data);

static void
change_touches(struct soak_model *model, unsigned first, touch_change *change, const void *data)
{
   for (unsigned i = first; i < SOAK_WINDOW + SOAK_TEXELS; i++) {
      struct byte *byte = get_byte(model, i);
      const unsigned count = byte->count;
      byte->count = 0;
      for (unsigned j = 0; j < count; j++) {
         struct touch touch = byte->touches[j];
         if (change(&touch, i, data))
            keep_touch(byte, &touch);
      }
   }
}

static bool
leave_touch(struct touch *touch, unsigned index, const void *data)
{
   (void)index;
   (void)data;
   if (touch->who < MAX_INVOCATIONS) {
      touch->who += MAX_INVOCATIONS;
   } else {
      touch->who = BEFORE;
      touch->time = 0;
   }
   return true;
}

/* Who was of this step is of the one before. Of those of older ones nobody knows anything. */
static void
leave_step(struct soak_model *model)
{
   change_touches(model, 0, leave_touch, NULL);
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
   s->shader = soak_has_barriers(program) ? SOAK_BARRIERS : SOAK_PLAIN;
   s->stage = SOAK_STAGE_COMPUTE;
   for (unsigned i = 0; i < MAX_INVOCATIONS; i++)
      s->clock[i][i] = s->shared_clock[i][i] = 1;
}

static void
run_step(struct step *s)
{
   if (s->step->command) {
      run_command(s);
      return;
   }
   if (s->step->is_draw) {
      run_draw(s);
      return;
   }
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
   run_step(&s);
   return !s.races && !s.ambiguous;
}

enum soak_verdict
soak_model_step(struct soak_model *model, const struct soak_program *program,
                const struct soak_step *step, uint64_t (*counts)[SOAK_MAX_SITES], bool *any_order)
{
   static struct soak_model before;
   static struct step s;

   begin_program(model, program);
   if (*any_order)
      soak_model_copy(&before, model);
   begin_step(&s, model, program, step);
   s.counts = counts;
   run_step(&s);
   *any_order &= s.any_order;
   if (*any_order && s.has_acquires)
      *any_order = is_clean_if_early(&before, program, step);

   leave_step(model);
   return s.ambiguous ? SOAK_AMBIGUOUS : s.races ? SOAK_RACES : SOAK_CLEAN;
}

/* --- Dependencies --------------------------------------------------------- */

#define STAGE(name)  (1u << SOAK_STAGE_##name)
#define ACCESS(name) (1u << SOAK_##name)
/* Those of the graphics pipeline come first. */
#define DRAW_STAGES ((2u << SOAK_STAGE_OUTPUT) - 1)

/* "Pipeline Stages": the stages that are logically earlier as well */
static unsigned
add_earlier(unsigned stages)
{
   unsigned all = stages;
   for (unsigned i = SOAK_STAGE_INDIRECT; i < SOAK_STAGE_OUTPUT; i++)
      all |= stages & DRAW_STAGES & ~((2u << i) - 1) ? 1u << i : 0;
   return stages & STAGE(COMPUTE) ? all | STAGE(INDIRECT) : all;
}

/* And those that are logically later */
static unsigned
add_later(unsigned stages)
{
   unsigned all = stages;
   for (unsigned i = SOAK_STAGE_INPUT; i <= SOAK_STAGE_OUTPUT; i++)
      all |= stages & ((1u << i) - 1) ? 1u << i : 0;
   return stages & STAGE(INDIRECT) ? all | STAGE(COMPUTE) : all;
}

static bool
makes_available(const struct soak_barrier *barrier, const struct touch *touch)
{
   static const enum soak_access writes[SOAK_STAGES] = {
      [SOAK_STAGE_VERTEX] = SOAK_STORES,   [SOAK_STAGE_FEEDBACK] = SOAK_WRITES_FEEDBACK,
      [SOAK_STAGE_FRAGMENT] = SOAK_STORES, [SOAK_STAGE_OUTPUT] = SOAK_WRITES_COLOR,
      [SOAK_STAGE_COMPUTE] = SOAK_STORES,  [SOAK_STAGE_TRANSFER] = SOAK_WRITES_TRANSFER,
   };

   return touch->type != TOUCH_LOAD &&
          (barrier->is_semaphore || ((barrier->src >> touch->stage & 1) &&
                                     (barrier->src_access >> writes[touch->stage] & 1)));
}

/* Those of its class: transform feedback and indirect arguments are one (docs/sync-scopes.rst,
 * "What is not seen").
 */
static unsigned
class_stages(const struct touch *touch)
{
   if (touch->stage == LAYOUT)
      return 0;
   return touch->stage == SOAK_STAGE_FEEDBACK ? STAGE(FEEDBACK) | STAGE(INDIRECT)
                                              : 1u << touch->stage;
}

static void
order_touch(struct touch *touch, const struct soak_barrier *barrier, bool is_in_range)
{
   const unsigned src = add_earlier(barrier->src), dst = add_later(barrier->dst);
   const bool is_available =
      (touch->available & src) || (is_in_range && makes_available(barrier, touch));

   touch->has_dependencies |= touch->is_texel && is_in_range;
   if (!((class_stages(touch) | touch->executed) & src))
      return;
   if (is_in_range && ((class_stages(touch) | touch->dependent) & src))
      touch->dependent |= dst;
   touch->was_available |=
      makes_available(barrier, touch) || (is_in_range && barrier->is_image && touch->is_texel);
   touch->executed |= dst;
   if (touch->seen & src || (is_available && barrier->is_semaphore))
      touch->seen |= dst;
   if (is_available)
      touch->available |= dst;
   for (unsigned i = 0; is_available && is_in_range && i < SOAK_ACCESSES; i++) {
      if (barrier->dst_access >> i & 1)
         touch->visible[i] |= barrier->dst;
   }
}

/* Nothing that comes can race with it. */
static bool
is_over(const struct touch *touch, unsigned stages)
{
   enum {
      LOADS = ACCESS(LOADS_STORAGE) | ACCESS(LOADS_UNIFORM) | ACCESS(LOADS_SAMPLED),
   };
   static const unsigned reads[SOAK_STAGES] = {
      [SOAK_STAGE_INDIRECT] = ACCESS(READS_INDIRECT),
      [SOAK_STAGE_INPUT] = ACCESS(READS_INDEX) | ACCESS(READS_ATTRIBUTE),
      [SOAK_STAGE_VERTEX] = LOADS,
      [SOAK_STAGE_FEEDBACK] = ACCESS(READS_COUNTER),
      [SOAK_STAGE_FRAGMENT] = LOADS,
      [SOAK_STAGE_COMPUTE] = LOADS,
      [SOAK_STAGE_TRANSFER] = ACCESS(READS_TRANSFER),
   };
   bool over = !(stages & ~touch->executed);

   if (touch->is_texel && touch->type != TOUCH_LOAD)
      over &= !(stages & ~touch->dependent) && touch->was_available;
   if (touch->is_texel && touch->stage != SOAK_STAGE_COMPUTE)
      return over;
   for (unsigned i = 0; over && touch->type != TOUCH_LOAD && i < SOAK_STAGES * SOAK_ACCESSES; i++) {
      const unsigned stage = i / SOAK_ACCESSES, access = i % SOAK_ACCESSES;
      if (stages >> stage & 1 && reads[stage] >> access & 1)
         over &= (touch->visible[access] | touch->seen) >> stage & 1;
   }
   return over && (touch->type == TOUCH_LOAD || !(stages & ~touch->available));
}

/* Is memory of this byte or texel in the scopes of @barrier? */
static bool
is_in_range(const struct soak_barrier *barrier, unsigned index)
{
   if (index < SOAK_WINDOW)
      return index < barrier->size && !barrier->is_image;
   return barrier->is_image ? soak_barrier_has(barrier, (index - SOAK_WINDOW) / SOAK_COLUMNS)
                            : !barrier->is_buffer;
}

struct dependency {
   const struct soak_barrier *barrier;
   unsigned stages; /* of the model */
};

static bool
order_one(struct touch *touch, unsigned index, const void *data)
{
   const struct dependency *dependency = data;

   order_touch(touch, dependency->barrier, is_in_range(dependency->barrier, index));
   return !is_over(touch, dependency->stages);
}

static void
order(struct soak_model *model, const struct soak_barrier *barrier)
{
   const struct dependency dependency = {barrier, model->stages};

   change_touches(model, 0, order_one, &dependency);
}

bool
soak_model_is_empty(const struct soak_model *model)
{
   for (unsigned i = 0; i < SOAK_WINDOW + SOAK_TEXELS; i++) {
      if (get_byte((struct soak_model *)model, i)->count)
         return false;
   }
   return true;
}

/* --- Layouts -------------------------------------------------------------- */

struct layouts {
   bool raced, ambiguous;
};

/* A change of the layout writes texels after all that is in the first scope of its barrier. What is
 * of other command buffers is not compared with it, and execution is enough (docs/checks.rst, "What
 * counts as use", "Missed, and why").
 */
static void
meet_layouts(struct soak_model *model, const struct soak_barrier *barrier, struct layouts *layouts)
{
   const unsigned src = add_earlier(barrier->src);

   for (unsigned i = 0; i < SOAK_TEXELS; i++) {
      struct byte *byte = &model->texels[i];
      bool found = false, hidden = false;

      for (unsigned j = 0; soak_barrier_has(barrier, i / SOAK_COLUMNS) && j < byte->count; j++) {
         const struct touch *touch = &byte->touches[j];
         if (touch->is_submitted || ((class_stages(touch) | touch->executed) & src))
            continue;
         layouts->ambiguous |= touch->raced;
         found |= !touch->hidden;
         hidden |= touch->hidden;
      }
      for (unsigned j = 0; found && j < byte->count; j++)
         byte->touches[j].raced = true;
      layouts->raced |= found;
      layouts->ambiguous |= hidden && !found;
   }
}

/* And before all that is in the second one */
static void
change_layouts(struct soak_model *model, const struct soak_barrier *barrier,
               struct layouts *layouts)
{
   const struct touch touch = {
      .type = TOUCH_STORE,
      .who = BEFORE,
      .stage = LAYOUT,
      .raced = layouts->raced,
      .executed = (uint8_t)add_later(barrier->dst),
      .dependent = SOAK_ALL_STAGES,
      .is_texel = true,
      .was_available = true,
   };

   for (unsigned i = 0; i < SOAK_TEXELS; i++) {
      if (!soak_barrier_has(barrier, i / SOAK_COLUMNS) || is_over(&touch, model->stages))
         continue;
      layouts->ambiguous |= model->texels[i].count == MAX_TOUCHES;
      if (model->texels[i].count < MAX_TOUCHES)
         keep_touch(&model->texels[i], &touch);
   }
}

static bool
submit_touch(struct touch *touch, unsigned index, const void *data)
{
   (void)index;
   (void)data;
   touch->is_submitted = true;
   return touch->stage != LAYOUT;
}

/* The command buffer ends. */
static void
leave_commands(struct soak_model *model)
{
   change_touches(model, SOAK_WINDOW, submit_touch, NULL);
}

enum soak_verdict
soak_model_separate(struct soak_model *model, const struct soak_step *step,
                    uint64_t (*counts)[SOAK_MAX_SITES])
{
   enum {
      COMPUTE = STAGE(COMPUTE),
      TRANSFER = STAGE(TRANSFER),
      STORES = ACCESS(STORES),
      LOADS = ACCESS(LOADS_STORAGE) | ACCESS(LOADS_UNIFORM) | ACCESS(LOADS_SAMPLED),
      ALL = SOAK_WINDOW,
   };
   static const struct soak_barrier barriers[SOAK_SEPARATOR_COUNT] = {
      [SOAK_BARRIER_ELSEWHERE] = {TRANSFER, TRANSFER, ACCESS(WRITES_TRANSFER),
                                  ACCESS(READS_TRANSFER), ALL},
      [SOAK_BARRIER] = {COMPUTE, COMPUTE, STORES, LOADS | STORES, ALL},
      [SOAK_BARRIER_BUFFER] = {COMPUTE, COMPUTE, STORES, LOADS | STORES, ALL, .is_buffer = true},
      [SOAK_BARRIER_ALL] = {SOAK_ALL_STAGES, SOAK_ALL_STAGES, SOAK_ALL_ACCESSES, SOAK_ALL_ACCESSES,
                            ALL},
      [SOAK_WAIT] = {SOAK_ALL_STAGES, SOAK_ALL_STAGES, SOAK_ALL_ACCESSES, SOAK_ALL_ACCESSES, ALL},
      [SOAK_BARRIER_EXECUTION] = {COMPUTE, COMPUTE, 0, 0, ALL},
      [SOAK_BARRIER_AVAILABLE] = {COMPUTE, COMPUTE, STORES, 0, ALL},
      [SOAK_BARRIER_READS] = {COMPUTE, COMPUTE, STORES, ACCESS(LOADS_STORAGE), ALL},
      [SOAK_BARRIER_RANGE] = {COMPUTE, COMPUTE, STORES, LOADS | STORES, SOAK_WINDOW / 2,
                              .is_buffer = true},
      [SOAK_BARRIER_OTHER] = {COMPUTE, COMPUTE, STORES, LOADS | STORES, 0, .is_buffer = true},
      [SOAK_SEMAPHORE] = {COMPUTE, COMPUTE, .size = ALL, .is_semaphore = true},
      [SOAK_SEMAPHORE_ELSEWHERE] = {COMPUTE, TRANSFER, .size = ALL, .is_semaphore = true},
      [SOAK_TO_TRANSFER] = {COMPUTE, TRANSFER, STORES,
                            ACCESS(READS_TRANSFER) | ACCESS(WRITES_TRANSFER), ALL},
      [SOAK_FROM_TRANSFER] = {TRANSFER, COMPUTE, ACCESS(WRITES_TRANSFER), LOADS | STORES, ALL},
      [SOAK_FROM_TRANSFER_EXECUTION] = {TRANSFER, COMPUTE, 0, 0, ALL},
   };

   const struct soak_barrier *barrier =
      step->separator == SOAK_BARRIER_RANDOM ? &step->barrier : &barriers[step->separator];
   struct layouts layouts = {false, false};

   if (barrier->discards)
      meet_layouts(model, barrier, &layouts);
   if (barrier->src)
      order(model, barrier);
   if (barrier->discards)
      change_layouts(model, barrier, &layouts);
   if (step->separator == SOAK_WAIT || step->separator == SOAK_SUBMIT || barrier->is_semaphore)
      leave_commands(model);
   if (layouts.raced && counts)
      counts[SOAK_PLAIN][SOAK_COMMAND_SITE(SOAK_IMAGE_LAYOUT)]++;
   if (step->separator == SOAK_BARRIER_ELSEWHERE)
      order(model, &(struct soak_barrier){COMPUTE, 0, STORES, 0, ALL}); /* for the host */
   /* Of draws: see soak_machine.c. */
   if (step->is_draw || (step->command >= SOAK_FETCH_INDICES && step->command < SOAK_IMAGE_CLEAR))
      order(model, &(struct soak_barrier){.size = ALL});
   return layouts.ambiguous ? SOAK_AMBIGUOUS : layouts.raced ? SOAK_RACES : SOAK_CLEAN;
}

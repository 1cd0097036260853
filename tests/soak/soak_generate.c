/* SPDX-License-Identifier: MIT */

/*
 * Random programs. Instructions are added one by one, and go again if the model does
 * not know what is right then. Half of the programs are made to be clean: nothing that
 * races stays in them.
 */

#include "soak.h"

#include <stdio.h>
#include <string.h>

#include "vk_headless.h"

/* In the order of the shader's cases */
const struct soak_op soak_ops[] = {
   {"load 8", SOAK_LOAD, 1, 1},
   {"load 16", SOAK_LOAD, 2, 2, .is_more = true},
   {"load 32", SOAK_LOAD, 4, 4},
   {"load 64", SOAK_LOAD, 8, 8, .is_more = true},
   {"load 128", SOAK_LOAD, 16, 16},
   {"load 128 of a uniform buffer", SOAK_LOAD, 16, 16, 0, SOAK_LOADS_UNIFORM},
   {"load 32 of a texel buffer", SOAK_LOAD, 4, 4, 0, SOAK_LOADS_SAMPLED, .is_more = true},
   {"load 32 of a storage texel buffer", SOAK_LOAD, 4, 4, .is_more = true},
   {"load 32 through an address", SOAK_LOAD, 4, 4, .is_more = true},
   {"load 2x32 through an address", SOAK_LOAD, 8, 4, .is_more = true},
   {"load 4x32 through an address", SOAK_LOAD, 16, 4},
   {"load 128 that straddles", SOAK_LOAD, 16, 16, 4, .is_more = true},
   {"store 8", SOAK_STORE, 1, 1},
   {"store 16", SOAK_STORE, 2, 2, .is_more = true},
   {"store 32", SOAK_STORE, 4, 4},
   {"store 64", SOAK_STORE, 8, 8},
   {"store 128", SOAK_STORE, 16, 16},
   {"store 32 to a storage texel buffer", SOAK_STORE, 4, 4, .is_more = true},
   {"store 2x32 through an address", SOAK_STORE, 8, 4, .is_more = true},
   {"store 4x32 through an address", SOAK_STORE, 16, 4},
   {"store 128 that straddles", SOAK_STORE, 16, 16, 4, .is_more = true},
   {"atomic 32", SOAK_ATOMIC, 4, 4},
   {"atomic 64", SOAK_ATOMIC, 8, 8},
   {"atomic 32 through an address", SOAK_ATOMIC, 4, 4, .is_more = true},
   {"atomic 32 of a storage texel buffer", SOAK_ATOMIC, 4, 4, .is_more = true},
   {"load and store 32", SOAK_LOAD_STORE, 4, 4},
   {"store and load 32", SOAK_STORE_LOAD, 4, 4, .is_more = true},
   {"load 32 of shared memory", SOAK_LOAD, 4, 4, .memory = SOAK_SHARED_WORDS},
   {"store 32 to shared memory", SOAK_STORE, 4, 4, .memory = SOAK_SHARED_WORDS},
   {"atomic 32 of shared memory", SOAK_ATOMIC, 4, 4, .memory = SOAK_SHARED_WORDS},
   {"load and store 32 of shared memory", SOAK_LOAD_STORE, 4, 4, .memory = SOAK_SHARED_WORDS,
    .is_more = true},
   {"load 128 of shared memory", SOAK_LOAD, 16, 16, .memory = SOAK_SHARED_VECTORS, .is_more = true},
   {"store 128 to shared memory", SOAK_STORE, 16, 16, .memory = SOAK_SHARED_VECTORS,
    .is_more = true},
   {"load 8 of shared memory", SOAK_LOAD, 1, 1, .memory = SOAK_SHARED_BYTES, .is_more = true},
   {"store 8 to shared memory", SOAK_STORE, 1, 1, .memory = SOAK_SHARED_BYTES},
   {"load 32 of an image", SOAK_LOAD, 4, 4, .is_image = true},
   {"load 64 of an image", SOAK_LOAD, 8, 8, .is_image = true},
   {"store 32 to an image", SOAK_STORE, 4, 4, .is_image = true},
   {"store 64 to an image", SOAK_STORE, 8, 8, .is_image = true},
   {"atomic 32 of an image", SOAK_ATOMIC, 4, 4, .is_image = true},
   [40] = {"barrier of the workgroup", SOAK_BARRIER_GROUP},
   {"barrier of the workgroup, not for buffers", SOAK_BARRIER_CONTROL},
   {"barrier of the subgroup", SOAK_BARRIER_SUBGROUP},
   {"release", SOAK_RELEASE_FLAG},
   {"acquire", SOAK_ACQUIRE_FLAG},
   {"write flag", SOAK_WRITE_FLAG},
   {"read flag", SOAK_READ_FLAG},
   {"ticket", SOAK_TICKET},
   {"ticket without fences", SOAK_TICKET_RELAXED},
   {"release by a texel", SOAK_RELEASE_FLAG},
   {"acquire by a texel", SOAK_ACQUIRE_FLAG},
   {"release to the subgroup", SOAK_RELEASE_SUBGROUP},
   {"acquire from the subgroup", SOAK_ACQUIRE_SUBGROUP},
};
const unsigned soak_op_count = 40; /* that access */

static const char *const separator_names[SOAK_SEPARATOR_COUNT] = {
   [SOAK_NOTHING] = "nothing",
   [SOAK_SUBMIT] = "another submit",
   [SOAK_BARRIER_ELSEWHERE] = "a barrier for others",
   [SOAK_BARRIER_EXECUTION] = "an execution barrier",
   [SOAK_BARRIER] = "a barrier",
   [SOAK_BARRIER_BUFFER] = "a buffer barrier",
   [SOAK_BARRIER_ALL] = "a barrier for everything",
   [SOAK_WAIT] = "a wait",
   [SOAK_BARRIER_AVAILABLE] = "a barrier for writes, visible to nobody",
   [SOAK_BARRIER_READS] = "a barrier for storage loads",
   [SOAK_BARRIER_RANGE] = "a barrier for half of the memory",
   [SOAK_BARRIER_OTHER] = "a barrier for another buffer",
   [SOAK_SEMAPHORE] = "a semaphore",
   [SOAK_SEMAPHORE_ELSEWHERE] = "a semaphore for others",
   [SOAK_TO_TRANSFER] = "a barrier for commands",
   [SOAK_FROM_TRANSFER] = "a barrier for what commands have done",
   [SOAK_FROM_TRANSFER_EXECUTION] = "the same, of execution",
   [SOAK_BARRIER_RANDOM] = "a random barrier",
};

static const char *const command_names[SOAK_COMMAND_COUNT] = {
   [SOAK_FILL] = "fill",
   [SOAK_UPDATE] = "update",
   [SOAK_COPY_TO] = "copy to",
   [SOAK_COPY_RESULTS] = "copy results of queries to",
   [SOAK_COPY_FROM] = "copy from",
   [SOAK_FETCH_INDICES] = "draw with indices from",
   [SOAK_FETCH_ATTRIBUTES] = "draw with attributes from",
   [SOAK_FETCH_COUNT] = "draw with a count from",
   [SOAK_FETCH_ARGUMENTS] = "draw with arguments from",
   [SOAK_CAPTURE] = "draw captured by",
   [SOAK_COUNTER_LOAD] = "capture from where the counter says at",
   [SOAK_COUNTER_STORE] = "capture and count at",
   [SOAK_COUNTER_BOTH] = "capture from where the counter says, and count, at",
   [SOAK_IMAGE_CLEAR] = "clear the image's columns",
   [SOAK_IMAGE_COPY_TO] = "copy to the image's columns",
   [SOAK_IMAGE_BLIT_TO] = "blit to the image's columns",
   [SOAK_IMAGE_COPY_FROM] = "copy from the image's columns",
   [SOAK_IMAGE_RENDER] = "rendering that clears the image's columns",
   [SOAK_IMAGE_RENDER_LOAD] = "rendering that loads the image's columns",
   [SOAK_IMAGE_LOAD] = "dispatch that loads from the image's columns",
   [SOAK_IMAGE_STORE] = "dispatch that stores to the image's columns",
};

enum {
   OP_BARRIER_GROUP = 40,
   OP_BARRIER_CONTROL,
   OP_BARRIER_SUBGROUP,
   OP_RELEASE,
   OP_ACQUIRE,
   OP_WRITE_FLAG,
   OP_READ_FLAG,
   OP_TICKET,
   OP_TICKET_RELAXED,
   OP_RELEASE_TEXEL,
   OP_ACQUIRE_TEXEL,
   OP_RELEASE_SUBGROUP,
   OP_ACQUIRE_SUBGROUP,
};

/* SplitMix64: the same numbers everywhere */
static uint64_t
next_random(uint64_t *state)
{
   uint64_t x = *state += 0x9e3779b97f4a7c15;

   x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
   x = (x ^ x >> 27) * 0x94d049bb133111eb;
   return x ^ x >> 31;
}

static uint32_t
below(uint64_t *state, uint32_t limit)
{
   return (uint32_t)((next_random(state) >> 32) % limit);
}

struct generator {
   uint64_t random;
   unsigned features;
   struct soak_program *program;
   struct soak_step *step;
   struct soak_model *model, *tried;
   uint32_t flags; /* used so far */
   unsigned size;  /* of all elements; 0: of any */
   bool captures;  /* by transform feedback */
};

/* --- Instructions --------------------------------------------------------- */

static bool
is_allowed(const struct generator *g, const struct soak_op *op)
{
   if (g->size && op->size != g->size)
      return false;
   if (op->memory != SOAK_BUFFER && !(g->features & SOAK_SHARED))
      return false;
   if (op->is_image && !(g->features & SOAK_IMAGES))
      return false;
   if (op->is_more && (!(g->features & SOAK_MORE) || g->step->is_draw))
      return false;
   if (g->step->is_draw && (op->is_image || op->memory != SOAK_BUFFER))
      return false;
   return (g->features & SOAK_STRADDLING) || (op->align == op->size && op->skew == 0);
}

static uint8_t
random_op(struct generator *g, bool stores)
{
   uint8_t op;
   do
      op = (uint8_t)below(&g->random, soak_op_count);
   while (!is_allowed(g, &soak_ops[op]) ||
          (stores && (soak_ops[op].type != SOAK_STORE || soak_ops[op].memory != SOAK_BUFFER)));
   return op;
}

/* Who: all, one, or some; in all workgroups, or in one */
static void
random_invocations(struct generator *g, struct soak_instruction *code)
{
   const unsigned all = (1u << g->step->groups) - 1;

   code->groups = (uint8_t)(below(&g->random, 2) ? all : 1u << below(&g->random, g->step->groups));
   code->first = (uint8_t)below(&g->random, SOAK_GROUP);
   switch (below(&g->random, 4)) {
   case 0:
   case 1:
      code->first = 0;
      code->count = SOAK_GROUP;
      break;
   case 2:
      code->count = 1;
      break;
   default:
      code->count = (uint8_t)(1 + below(&g->random, SOAK_GROUP));
      break;
   }
}

/* Which element: each its own or its neighbour's, some distance apart, or all the same
 * one. False: there is no room for that.
 */
static bool
random_elements(struct generator *g, struct soak_instruction *code)
{
   const struct soak_op *op = &soak_ops[code->op];
   static const uint8_t swaps[] = {0, 0, 0, 1, 2, 7, 8, 16, 31};
   unsigned stride = op->size;

   if (op->align < op->size && below(&g->random, 2))
      stride = op->size + op->align;
   code->swap = swaps[below(&g->random, sizeof(swaps))];
   code->stride = (uint16_t)(below(&g->random, 6) ? stride : 0);
   if (below(&g->random, 4) == 0)
      code->stride = (uint16_t)(2 * stride);
   code->group_stride = (uint16_t)(below(&g->random, 3) ? SOAK_GROUP * code->stride : 0);

   const unsigned span = code->stride * (SOAK_GROUP - 1) +
                         code->group_stride * (g->step->groups - 1u) + op->size + op->skew;
   if (span > SOAK_WINDOW)
      return false;
   const unsigned places = (SOAK_WINDOW - span) / op->align + 1;
   code->base = (uint16_t)(g->program->window + below(&g->random, places) * op->align + op->skew);
   return true;
}

static bool
random_access(struct generator *g, struct soak_instruction *code)
{
   *code = (struct soak_instruction){.op = random_op(g, false)};
   code->fragment = g->step->is_draw && below(&g->random, 2);
   random_invocations(g, code);
   return random_elements(g, code);
}

static bool
has_fences(const struct soak_step *step)
{
   for (unsigned i = 0; i < step->code_count; i++) {
      const enum soak_type type = soak_ops[step->code[i].op].type;
      if (type == SOAK_BARRIER_GROUP || (type >= SOAK_RELEASE_FLAG))
         return true;
   }
   return false;
}

static bool
has_subgroup_fences(const struct soak_step *step)
{
   for (unsigned i = 0; i < step->code_count; i++) {
      const enum soak_type type = soak_ops[step->code[i].op].type;
      if (type == SOAK_RELEASE_SUBGROUP || type == SOAK_ACQUIRE_SUBGROUP)
         return true;
   }
   return false;
}

static bool
has_atomics(const struct soak_step *step, bool shared)
{
   for (unsigned i = 0; i < step->code_count; i++) {
      const struct soak_op *op = &soak_ops[step->code[i].op];
      if (op->type == SOAK_ATOMIC && (op->memory != SOAK_BUFFER) == shared)
         return true;
   }
   return false;
}

/* Where fences meet atomics, these order what other dispatches do as well. The model
 * knows of one dispatch only: all before it, and all behind it, has to be in order.
 */
static bool
is_island(const struct soak_step *step)
{
   return has_fences(step) && has_atomics(step, false);
}

/* Whether an invocation accesses more than one element; gates are taken for open. */
static bool
accesses_several(const struct soak_step *step)
{
   for (unsigned who = 0; who < SOAK_GROUP * step->groups; who++) {
      unsigned elements = 0;
      for (unsigned i = 0; i < step->code_count; i++) {
         const struct soak_instruction *code = &step->code[i];
         elements += soak_ops[code->op].type < SOAK_ACCESS_TYPES &&
                     (who % SOAK_GROUP - code->first) % SOAK_GROUP < code->count &&
                     (code->groups >> who / SOAK_GROUP & 1);
      }
      if (elements > 1)
         return true;
   }
   return false;
}

/* Keeps what has been added from `count` on, if the model knows what is right. */
static bool
keep(struct generator *g, unsigned count)
{
   bool any_order = false; /* nobody asks */

   soak_model_copy(g->tried, g->model);
   const enum soak_verdict verdict =
      soak_model_step(g->tried, g->program, g->step, NULL, &any_order);
   const bool good = verdict == SOAK_CLEAN || (verdict == SOAK_RACES && !g->program->clean);
   const bool known =
      !is_island(g->step) || ((g->features & SOAK_RELEASE) && soak_model_is_empty(g->model));
   /* What fences for buffers are to atomics of shared memory is not defined. */
   bool defined = !has_fences(g->step) || !has_atomics(g->step, true);
   /* Of these the model knows flags only. */
   defined &= !has_subgroup_fences(g->step) || !has_atomics(g->step, false);
   const bool kept =
      good && known && defined && ((g->features & SOAK_SEVERAL) || !accesses_several(g->step));

   if (!kept)
      g->step->code_count = (uint8_t)count;
   return kept;
}

static void
add(struct generator *g, struct soak_instruction code)
{
   code.zero = (g->features & SOAK_DRAWS) != 0;
   g->step->code[g->step->code_count++] = code;
}

static void
try_access(struct generator *g)
{
   struct soak_instruction code;

   if (random_access(g, &code)) {
      add(g, code);
      keep(g, g->step->code_count - 1u);
   }
}

static void
try_barrier(struct generator *g)
{
   struct soak_instruction code = {.op = OP_BARRIER_GROUP};
   const unsigned kind = below(&g->random, 6);

   if (kind == 0)
      code.op = OP_BARRIER_CONTROL;
   if ((g->features & SOAK_SUBGROUPS) && (kind > 3 || !(g->features & SOAK_PHASES)))
      code.op = OP_BARRIER_SUBGROUP;
   else if (!(g->features & SOAK_PHASES))
      return;
   add(g, code);
   keep(g, g->step->code_count - 1u);
}

static uint8_t
acquire_op(struct generator *g, bool relaxed)
{
   if (relaxed)
      return OP_READ_FLAG;
   return below(&g->random, 3) || !(g->features & SOAK_MORE) ? OP_ACQUIRE : OP_ACQUIRE_TEXEL;
}

static void
random_receiver(struct generator *g, struct soak_instruction *acquire)
{
   acquire->groups = (uint8_t)(1u << below(&g->random, g->step->groups));
   acquire->first = (uint8_t)below(&g->random, SOAK_GROUP);
   acquire->count = (uint8_t)(1 + below(&g->random, 3));
}

/* One of them, or both, the receiver being a neighbour, or not */
static void
use_subgroup_scope(struct generator *g, struct soak_instruction *release,
                   struct soak_instruction *acquire)
{
   if (release->op != OP_WRITE_FLAG && below(&g->random, 3))
      release->op = OP_RELEASE_SUBGROUP;
   if (acquire->op != OP_READ_FLAG && below(&g->random, 3))
      acquire->op = OP_ACQUIRE_SUBGROUP;
   acquire->groups = release->groups;
   if (below(&g->random, 3)) {
      acquire->first = release->first ^ 1u;
      acquire->count = 1;
   }
}

/* An access to the elements of *@read by those whom @acquire lets in, of the same shape */
static void
random_read(struct generator *g, const struct soak_instruction *acquire,
            struct soak_instruction *read)
{
   const struct soak_op *write = &soak_ops[read->op];

   read->groups = acquire->groups;
   read->first = acquire->first;
   read->count = acquire->count;
   read->gated = true;
   do
      read->op = random_op(g, false);
   while (soak_ops[read->op].memory != SOAK_BUFFER || soak_ops[read->op].size != write->size ||
          soak_ops[read->op].align != write->align || soak_ops[read->op].skew != write->skew);
}

/* One invocation writes, and another one that has heard of it reads or writes there. */
static void
try_message(struct generator *g)
{
   const unsigned count = g->step->code_count;
   const bool relaxed = below(&g->random, 3) == 0;
   struct soak_instruction write = {
      .op = random_op(g, true),
      .first = (uint8_t)below(&g->random, SOAK_GROUP),
      .count = 1,
      .groups = 1,
   };
   if (count + 4 > SOAK_MAX_CODE || !random_elements(g, &write))
      return;
   write.stride = write.group_stride = write.swap = 0;

   struct soak_instruction release = write;
   release.op = relaxed && below(&g->random, 2)                      ? OP_WRITE_FLAG
                : below(&g->random, 3) || !(g->features & SOAK_MORE) ? OP_RELEASE
                                                                     : OP_RELEASE_TEXEL;
   release.flag = g->flags;
   /* Not what an earlier program has left in the same flag */
   release.value = 1 + below(&g->random, INT32_MAX);

   struct soak_instruction acquire = release;
   acquire.op = acquire_op(g, relaxed && release.op != OP_WRITE_FLAG);
   random_receiver(g, &acquire);
   if (below(&g->random, 4) == 0)
      use_subgroup_scope(g, &release, &acquire);

   struct soak_instruction read = write;
   random_read(g, &acquire, &read);

   add(g, write);
   add(g, release);
   add(g, acquire);
   add(g, read);
   g->flags += keep(g, count);
}

/* The same for a message that the step before has sent. */
static void
try_answer(struct generator *g)
{
   const unsigned count = g->step->code_count;
   if (g->step == g->program->steps || count + 2 > SOAK_MAX_CODE)
      return;

   const struct soak_step *before = g->step - 1;
   for (unsigned i = 1; i < before->code_count; i++) {
      const uint8_t op = before->code[i].op;
      if ((op != OP_RELEASE && op != OP_RELEASE_TEXEL && op != OP_RELEASE_SUBGROUP &&
           op != OP_WRITE_FLAG) ||
          below(&g->random, 2))
         continue;
      struct soak_instruction acquire = before->code[i];
      acquire.op = acquire_op(g, below(&g->random, 3) == 0);
      random_receiver(g, &acquire);
      struct soak_instruction read = before->code[i - 1];
      random_read(g, &acquire, &read);
      add(g, acquire);
      add(g, read);
      keep(g, count);
      return;
   }
}

/* All write an element of their own, and the last one to come reads one of them. */
static void
try_ticket(struct generator *g)
{
   const unsigned count = g->step->code_count;
   struct soak_instruction write = {
      .op = random_op(g, true),
      .count = (uint8_t)(1 + below(&g->random, SOAK_GROUP)),
      .groups = (uint8_t)((1u << g->step->groups) - 1),
   };
   if (count + 3 > SOAK_MAX_CODE || !random_elements(g, &write) || !write.stride)
      return;

   struct soak_instruction ticket = write;
   ticket.op = below(&g->random, 3) ? OP_TICKET : OP_TICKET_RELAXED;
   ticket.flag = g->flags;
   ticket.value = (uint32_t)write.count * g->step->groups;

   struct soak_instruction read = write;
   read.gated = true;
   read.swap ^= (uint8_t)(1u << below(&g->random, 5));
   do
      read.op = random_op(g, false);
   while (soak_ops[read.op].memory != SOAK_BUFFER ||
          soak_ops[read.op].size != soak_ops[write.op].size ||
          soak_ops[read.op].align != soak_ops[write.op].align ||
          soak_ops[read.op].skew != soak_ops[write.op].skew);

   add(g, write);
   add(g, ticket);
   add(g, read);
   g->flags += keep(g, count);
}

/* --- Steps ---------------------------------------------------------------- */

/* Mostly all of them, or all but one */
static unsigned
random_bits(struct generator *g, unsigned count)
{
   const unsigned all = (1u << count) - 1;

   switch (below(&g->random, 8)) {
   case 0:
      return 0;
   case 1:
      return below(&g->random, all + 1);
   case 2:
   case 3:
   case 4:
      return all & ~(1u << below(&g->random, count));
   default:
      return all;
   }
}

/* Transform feedback, counters and indirect arguments are in one class: what is ordered for one of
 * these stages counts as ordered for the other (docs/sync-scopes.rst, "What is not seen").
 */
static uint8_t
random_stages(struct generator *g)
{
   const unsigned feedback = 1u << SOAK_STAGE_FEEDBACK, indirect = 1u << SOAK_STAGE_INDIRECT;
   unsigned stages = 0;

   while (!stages)
      stages = random_bits(g, SOAK_STAGES);
   if (!g->captures)
      return (uint8_t)stages;
   return (uint8_t)(stages & (feedback | indirect) ? stages | feedback | indirect : stages);
}

static struct soak_barrier
random_barrier(struct generator *g)
{
   struct soak_barrier barrier = {
      .src = random_stages(g),
      .dst = random_stages(g),
      .src_access = (uint16_t)random_bits(g, SOAK_ACCESSES),
      .dst_access = (uint16_t)random_bits(g, SOAK_ACCESSES),
      .size = SOAK_WINDOW,
   };

   barrier.is_buffer = below(&g->random, 4) == 0;
   if (barrier.is_buffer)
      barrier.size = below(&g->random, 3) ? SOAK_WINDOW / 2 : 0;
   barrier.is_image = (g->features & SOAK_TRANSFERS) && !barrier.is_buffer && below(&g->random, 2);
   if (barrier.is_image) {
      barrier.level = below(&g->random, 3) ? (uint8_t)below(&g->random, SOAK_LEVELS) : SOAK_ALL;
      barrier.layer = below(&g->random, 3) ? (uint8_t)below(&g->random, SOAK_LAYERS) : SOAK_ALL;
      barrier.discards = below(&g->random, 2);
   }
   return barrier;
}

static enum soak_separator
random_separator(struct generator *g)
{
   /* 18 without SOAK_SCOPES, 28 with */
   static const unsigned char weights[SOAK_SEPARATOR_COUNT] = {
      [SOAK_NOTHING] = 7,
      [SOAK_SUBMIT] = 2,
      [SOAK_BARRIER_ELSEWHERE] = 2,
      [SOAK_BARRIER] = 3,
      [SOAK_BARRIER_BUFFER] = 1,
      [SOAK_BARRIER_ALL] = 2,
      [SOAK_WAIT] = 1,
      [SOAK_BARRIER_EXECUTION] = 2,
      [SOAK_BARRIER_READS] = 1,
      [SOAK_BARRIER_AVAILABLE] = 1,
      [SOAK_BARRIER_RANGE] = 2,
      [SOAK_BARRIER_OTHER] = 1,
      [SOAK_SEMAPHORE] = 2,
      [SOAK_SEMAPHORE_ELSEWHERE] = 1,
   };
   uint32_t number = below(&g->random, g->features & SOAK_SCOPES ? 28 : 18);
   unsigned separator = 0;

   if (is_island(g->step))
      return SOAK_BARRIER;
   if ((g->features & (SOAK_DRAWS | SOAK_TRANSFERS)) && below(&g->random, 2))
      return SOAK_BARRIER_RANDOM;
   if ((g->features & SOAK_COMMANDS) && below(&g->random, 3) == 0)
      return SOAK_TO_TRANSFER + below(&g->random, 3);
   while (number >= weights[separator])
      number -= weights[separator++];
   return separator;
}

static uint8_t
random_command(struct generator *g)
{
   uint8_t commands[SOAK_COMMAND_COUNT];
   unsigned count = 0;

   for (unsigned i = SOAK_FILL; i < SOAK_IMAGE_LAYOUT; i++) {
      const unsigned feature = i < SOAK_COPY_RESULTS  ? SOAK_COMMANDS
                               : i < SOAK_IMAGE_CLEAR ? SOAK_DRAWS
                                                      : SOAK_TRANSFERS;
      if ((g->features & feature) && (i < SOAK_CAPTURE || i >= SOAK_IMAGE_CLEAR || g->captures))
         commands[count++] = (uint8_t)i;
   }
   return commands[below(&g->random, count)];
}

static void
random_bytes(struct generator *g)
{
   const bool is_copy = g->step->command == SOAK_COPY_TO || g->step->command == SOAK_COPY_FROM;
   /* Copies are of any bytes, others of words. */
   const unsigned align = is_copy && (g->features & SOAK_WIDTHS) ? 1 : 4;
   unsigned count = 1 + below(&g->random, SOAK_WINDOW / align / (1 + below(&g->random, 8)));

   if (g->step->command == SOAK_FETCH_COUNT || g->step->command >= SOAK_COUNTER_LOAD)
      count = 1;
   if (g->step->command == SOAK_FETCH_ARGUMENTS)
      count = 4;
   g->step->size = (uint16_t)(count * align);
   g->step->base = (uint16_t)(g->program->window +
                              below(&g->random, (SOAK_WINDOW - g->step->size) / align + 1) * align);
}

static void
random_columns(struct generator *g)
{
   const unsigned subresource = below(&g->random, SOAK_LAYERS * SOAK_LEVELS);
   const unsigned width = SOAK_COLUMNS >> subresource % SOAK_LEVELS;
   unsigned column = 0, count = width;

   if (g->step->command != SOAK_IMAGE_CLEAR && g->step->command < SOAK_IMAGE_LOAD) {
      count = 1 + below(&g->random, width);
      column = below(&g->random, width - count + 1);
   }
   g->step->base = (uint16_t)(subresource * SOAK_COLUMNS + column);
   g->step->size = (uint16_t)count;
}

/* Returns false where the model does not know what is right, or must not race and does. */
static bool
try_command(struct generator *g)
{
   bool any_order = false; /* nobody asks */

   g->step->command = random_command(g);
   if (g->step->command < SOAK_IMAGE_CLEAR)
      random_bytes(g);
   else
      random_columns(g);

   soak_model_copy(g->tried, g->model);
   const enum soak_verdict verdict =
      soak_model_step(g->tried, g->program, g->step, NULL, &any_order);
   if (verdict == SOAK_CLEAN || (verdict == SOAK_RACES && !g->program->clean))
      return true;
   g->step->command = SOAK_DISPATCH;
   return false;
}

/* A change of layouts stays where the model knows what is right, and nothing races that must not.
 */
static void
try_layout(struct generator *g)
{
   if (!g->step->barrier.discards)
      return;
   soak_model_copy(g->tried, g->model);
   const enum soak_verdict verdict = soak_model_separate(g->tried, g->step, NULL);
   g->step->barrier.discards =
      verdict == SOAK_CLEAN || (verdict == SOAK_RACES && !g->program->clean);
}

static void
end_step(struct generator *g)
{
   bool any_order = true;

   soak_model_step(g->model, g->program, g->step, NULL, &any_order);
   /* Whose atomic comes first decides about what is in order. */
   g->program->any_order &=
      any_order && !is_island(g->step) && !g->step->command && !g->step->is_draw;
   g->step->separator = (uint8_t)random_separator(g);
   if (g->step->separator == SOAK_BARRIER_RANDOM) {
      g->step->barrier = random_barrier(g);
      try_layout(g);
   }
   soak_model_separate(g->model, g->step, NULL);
}

static void
generate_step(struct generator *g)
{
   const unsigned tries = 2 + below(&g->random, 6);

   for (unsigned i = 0; (g->features & (SOAK_COMMANDS | SOAK_DRAWS | SOAK_TRANSFERS)) && i < tries;
        i++) {
      if (below(&g->random, 5) == 0 && try_command(g)) {
         end_step(g);
         return;
      }
   }
   g->step->groups = (uint8_t)(1 + below(&g->random, SOAK_MAX_GROUPS));
   g->step->is_draw = (g->features & SOAK_DRAWS) && below(&g->random, 2);
   for (unsigned i = 0; i < tries && g->step->code_count < SOAK_MAX_CODE; i++) {
      const unsigned what = below(&g->random, 8);
      if (g->step->is_draw)
         try_access(g);
      else if (what < 2 && (g->features & (SOAK_PHASES | SOAK_SUBGROUPS)))
         try_barrier(g);
      else if (what == 2 && (g->features & SOAK_RELEASE))
         try_message(g);
      else if (what == 3 && (g->features & SOAK_RELEASE))
         try_ticket(g);
      else if (what == 4 && (g->features & SOAK_RELEASE))
         try_answer(g);
      else
         try_access(g);
   }
   end_step(g);
}

/* --- Public --------------------------------------------------------------- */

bool
soak_is_barrier(const struct soak_instruction *code)
{
   const enum soak_type type = soak_ops[code->op].type;
   return type >= SOAK_BARRIER_GROUP && type <= SOAK_BARRIER_SUBGROUP;
}

bool
soak_has_barriers(const struct soak_program *program)
{
   for (unsigned i = 0; i < program->step_count; i++) {
      for (unsigned j = 0; j < program->steps[i].code_count; j++) {
         if (soak_is_barrier(&program->steps[i].code[j]))
            return true;
      }
   }
   return false;
}

unsigned
soak_variant(const struct soak_program *program, enum soak_shader shader)
{
   const unsigned first = program->clean ? 0 : SOAK_VARIANTS / 2;
   return shader < SOAK_VERTEX ? first + (unsigned)(program->seed / 2 % (SOAK_VARIANTS / 2))
                               : first;
}

void
soak_generate(uint64_t seed, unsigned features, unsigned subgroup, struct soak_program *program)
{
   static const unsigned sizes[] = {1, 2, 4, 4, 4, 8, 16, 16};
   static struct soak_model *model, *tried;

   if (!model) {
      model = soak_model_create(features, subgroup);
      tried = soak_model_create(features, subgroup);
   }
   struct generator g = {
      .random = seed * 0x2545f4914f6cdd1d,
      .features = features,
      .program = program,
      .model = model,
      .tried = tried,
      .captures = (features & SOAK_DRAWS) && seed / 2 % 4 == 0,
      .flags = (uint32_t)(seed % (SOAK_FLAGS / 16)) * 16,
   };
   *program = (struct soak_program){
      .seed = seed,
      .clean = seed % 2 == 0,
      .any_order = true,
      .step_count = (uint8_t)(1 + below(&g.random, SOAK_MAX_STEPS)),
   };
   program->window = (uint16_t)(below(&g.random, (SOAK_MEMORY - SOAK_WINDOW) / 16) * 16);
   if (!(features & SOAK_WIDTHS))
      g.size = sizes[below(&g.random, VKH_COUNT(sizes))];
   if (g.size == 2 && !(features & SOAK_MORE))
      g.size = 4;

   soak_model_separate(model, &(struct soak_step){.separator = SOAK_WAIT}, NULL);
   for (unsigned i = 0; i < program->step_count; i++) {
      g.step = &program->steps[i];
      generate_step(&g);
   }
   program->steps[program->step_count - 1].separator = SOAK_WAIT;
}

static void
print_barrier(const struct soak_barrier *barrier)
{
   static const char *const stages[SOAK_STAGES] = {
      "indirect", "input", "vertex", "feedback", "fragment", "output", "compute", "transfer",
   };
   static const char *const accesses[SOAK_ACCESSES] = {
      "storage loads",   "uniform loads",   "sampled loads", "transfer reads", "index reads",
      "attribute reads", "indirect reads",  "counter reads", "color reads",    "stores",
      "transfer writes", "feedback writes", "color writes",
   };

   for (unsigned i = 0; i < 2; i++) {
      printf("      %s:", i ? "to" : "from");
      for (unsigned j = 0; j < SOAK_STAGES; j++)
         printf("%s%s", (i ? barrier->dst : barrier->src) >> j & 1 ? " " : "",
                (i ? barrier->dst : barrier->src) >> j & 1 ? stages[j] : "");
      for (unsigned j = 0; j < SOAK_ACCESSES; j++)
         printf("%s%s", (i ? barrier->dst_access : barrier->src_access) >> j & 1 ? ", " : "",
                (i ? barrier->dst_access : barrier->src_access) >> j & 1 ? accesses[j] : "");
      printf("\n");
   }
   if (barrier->size < SOAK_WINDOW)
      printf("      for %u bytes\n", barrier->size);
   if (barrier->is_image)
      printf("      for the image's level %u, layer %u (%u: all)%s\n", barrier->level,
             barrier->layer, SOAK_ALL, barrier->discards ? ", from UNDEFINED" : "");
}

static void
print_instruction(const struct soak_step *step, const struct soak_instruction *code)
{
   const struct soak_op *op = &soak_ops[code->op];

   printf("      %s%s", step->is_draw ? code->fragment ? "fragment: " : "vertex: " : "", op->name);
   if (op->type < SOAK_ACCESS_TYPES)
      printf(" at %u + (local ^ %u) * %u + group * %u", code->base, code->swap, code->stride,
             code->group_stride);
   else if (op->type >= SOAK_RELEASE_FLAG)
      printf(" %u, %u", code->flag, code->value);
   if (!soak_is_barrier(code))
      printf(", for %u from %u on, workgroups 0x%x%s", code->count, code->first, code->groups,
             code->gated ? ", if the gate is open" : "");
   printf("\n");
}

void
soak_print(const struct soak_program *program)
{
   printf("   window at %u, %s\n", program->window, program->clean ? "clean" : "may race");
   for (unsigned i = 0; i < program->step_count; i++) {
      const struct soak_step *step = &program->steps[i];
      if (step->command)
         printf("   %s %u to %u\n", command_names[step->command], step->base,
                step->base + step->size - 1);
      else
         printf("   %u %s:\n", step->groups, step->is_draw ? "instances" : "workgroups");
      for (unsigned j = 0; j < step->code_count; j++)
         print_instruction(step, &step->code[j]);
      printf("   then %s\n", separator_names[step->separator]);
      if (step->separator == SOAK_BARRIER_RANDOM)
         print_barrier(&step->barrier);
   }
}

/* SPDX-License-Identifier: MIT */

#include "soak.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* In the order of the shader's cases; the last one is a shader of its own. */
const struct soak_op soak_ops[] = {
   {"load 8", SOAK_LOAD, 1},
   {"load 16", SOAK_LOAD, 2},
   {"load 32", SOAK_LOAD, 4},
   {"load 64", SOAK_LOAD, 8},
   {"load 128", SOAK_LOAD, 16},
   {"load 128 of a uniform buffer", SOAK_LOAD, 16},
   {"load 32 through an address", SOAK_LOAD, 4},
   {"store 8", SOAK_STORE, 1},
   {"store 16", SOAK_STORE, 2},
   {"store 32", SOAK_STORE, 4},
   {"store 64", SOAK_STORE, 8},
   {"store 128", SOAK_STORE, 16},
   {"store 128 through an address", SOAK_STORE, 16},
   {"atomic 32", SOAK_ATOMIC, 4},
   {"atomic 64", SOAK_ATOMIC, 8},
   {"atomic 32 through an address", SOAK_ATOMIC, 4},
   {"load and store 32", SOAK_LOAD_STORE, 4},
   {"store and load 32", SOAK_STORE_LOAD, 4},
   {"exchange 128", SOAK_EXCHANGE, 16},
};
const unsigned soak_op_count = sizeof(soak_ops) / sizeof(soak_ops[0]);

const char *const soak_separator_names[SOAK_SEPARATOR_COUNT] = {
   [SOAK_NOTHING] = "nothing",
   [SOAK_SUBMIT] = "another submit",
   [SOAK_BARRIER_ELSEWHERE] = "a barrier for others",
   [SOAK_BARRIER_EXECUTION] = "an execution barrier",
   [SOAK_BARRIER] = "a barrier",
   [SOAK_BARRIER_BUFFER] = "a buffer barrier",
   [SOAK_BARRIER_ALL] = "a barrier for everything",
   [SOAK_WAIT] = "a wait",
};

/* --- Random programs ------------------------------------------------------ */

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
   return (next_random(state) >> 32) % limit;
}

static enum soak_separator
random_separator(uint64_t *state)
{
   /* Out of 20 */
   static const unsigned char weights[SOAK_SEPARATOR_COUNT] = {
      [SOAK_NOTHING] = 7,           [SOAK_SUBMIT] = 2,  [SOAK_BARRIER_ELSEWHERE] = 2,
      [SOAK_BARRIER_EXECUTION] = 2, [SOAK_BARRIER] = 3, [SOAK_BARRIER_BUFFER] = 1,
      [SOAK_BARRIER_ALL] = 2,       [SOAK_WAIT] = 1,
   };
   uint32_t number = below(state, 20);
   enum soak_separator separator = 0;

   while (number >= weights[separator])
      number -= weights[separator++];
   return separator;
}

/* @window: where in the buffer, bytes */
static struct soak_step
random_step(uint64_t *state, uint32_t window)
{
   struct soak_step step = {.op = below(state, soak_op_count)};
   const struct soak_op *op = &soak_ops[step.op];
   const uint32_t elements = SOAK_WINDOW / op->size;

   step.separator = random_separator(state);
   if (op->type == SOAK_EXCHANGE) {
      step.count = SOAK_GROUP;
      step.stride = 1 + below(state, 2);
   } else if (below(state, 4) == 0) {
      /* Everybody the same one, in one workgroup */
      step.count = 1 + below(state, SOAK_GROUP);
      step.stride = 0;
   } else {
      step.stride = 1 + below(state, 3);
      step.count = 1 + below(state, 2 * SOAK_GROUP);
   }

   if (step.stride && (step.count - 1) * step.stride >= elements)
      step.count = (elements - 1) / step.stride + 1;
   const uint32_t span = (step.count - 1) * step.stride + 1;
   step.start = window / op->size + below(state, elements - span + 1);
   return step;
}

/* --- The model ------------------------------------------------------------ */

#define NOBODY  0
#define SEVERAL UINT32_MAX /* invocations, which are numbered from 1 */

struct byte {
   uint32_t loaded, stored, atomic; /* by */
   uint32_t loaded_late;            /* after the last execution barrier */
   bool failed;                     /* an access to its word has been reported */
};

struct granule {
   unsigned owners; /* who came first to some bytes of it */
   bool touched;    /* in dispatches before this one */
   bool touching;
};

struct model {
   struct byte bytes[SOAK_BUFFER_SIZE];
   struct granule granules[SOAK_BUFFER_SIZE / 16];
   bool reads_ordered;
   uint32_t invocations; /* so far */
   uint64_t *counts;     /* by site; may be NULL */

   /* What makes the answer depend on the check */
   unsigned hashes;
   double misses; /* expected */
   bool ambiguous;
};

static bool
by_others(uint32_t who, uint32_t self)
{
   return who != NOBODY && who != self;
}

static void
add(uint32_t *who, uint32_t self)
{
   *who = *who == NOBODY || *who == self ? self : SEVERAL;
}

enum answer {
   NO,
   YES,
   EITHER,
};

static enum answer
find_conflict(const struct model *model, enum soak_type type, uint32_t at, unsigned size,
              uint32_t self)
{
   bool conflict = false, late_read = false;

   for (uint32_t i = at; i < at + size; i++) {
      const struct byte *byte = &model->bytes[i];

      conflict |= by_others(byte->stored, self);
      conflict |= type != SOAK_ATOMIC && by_others(byte->atomic, self);
      if (type != SOAK_LOAD && !model->reads_ordered)
         conflict |= by_others(byte->loaded, self);
      if (type != SOAK_LOAD)
         late_read |= by_others(byte->loaded_late, self);
   }
   /* Reads behind an execution barrier are not told from those before it. */
   return conflict ? YES : late_read ? EITHER : NO;
}

static bool
is_unclaimed(const struct model *model, uint32_t at, unsigned size)
{
   for (uint32_t i = at; i < at + size; i++) {
      const struct byte *byte = &model->bytes[i];
      if (byte->loaded || byte->stored || byte->atomic)
         return false;
   }
   return true;
}

/* What happens to a word after the first failure is a consequence, of which not each
 * need be reported.
 */
static bool
has_failed(struct model *model, uint32_t at, unsigned size)
{
   bool failed = false;

   for (uint32_t i = at & ~3u; i < at + size || i % 4; i++) {
      failed |= model->bytes[i].failed;
      model->bytes[i].failed = true;
   }
   return failed;
}

/* A load, store or atomic */
static void
access(struct model *model, unsigned site, enum soak_type type, uint32_t at, unsigned size,
       uint32_t self)
{
   struct granule *granule = &model->granules[at / 16];
   const enum answer answer = find_conflict(model, type, at, size, self);

   if (answer == YES) {
      if (model->counts)
         model->counts[site]++;
      model->ambiguous |= has_failed(model, at, size);
      /* An invocation whose lock is there by chance gets away. */
      const double bit = 1 - pow(7.0 / 8, granule->owners + 1);
      model->misses += pow(bit, 3 * model->hashes);
   }
   model->ambiguous |= answer == EITHER;
   if (is_unclaimed(model, at, size))
      granule->owners++;
   granule->touching = true;

   for (uint32_t i = at; i < at + size; i++) {
      struct byte *byte = &model->bytes[i];

      if (type == SOAK_LOAD)
         add(&byte->loaded, self);
      if (type == SOAK_LOAD && model->reads_ordered)
         add(&byte->loaded_late, self);
      if (type == SOAK_STORE)
         add(&byte->stored, self);
      if (type == SOAK_ATOMIC)
         add(&byte->atomic, self);
   }
}

static uint32_t
element_at(const struct soak_step *step, uint32_t i)
{
   return (step->start + step->stride * i) * soak_ops[step->op].size;
}

static void
exchange(struct model *model, const struct soak_step *step, unsigned site)
{
   const uint32_t first = model->invocations + 1;

   for (uint32_t i = 0; i < SOAK_GROUP; i++)
      access(model, site, SOAK_STORE, element_at(step, i), 16, first + i);

   /* The neighbour is in order with this one: as if it were itself. */
   for (uint32_t i = 0; i < SOAK_GROUP; i++) {
      const uint32_t neighbour = (i + 1) % SOAK_GROUP, at = element_at(step, neighbour);

      /* Where others have been before, it is not known whose bytes these are. */
      model->ambiguous |= model->granules[at / 16].touched &&
                          find_conflict(model, SOAK_LOAD, at, 16, first + neighbour) == NO;
      access(model, site + 1, SOAK_LOAD, at, 16, first + neighbour);
   }
}

static void
run_step(struct model *model, const struct soak_step *step)
{
   const struct soak_op *op = &soak_ops[step->op];
   const unsigned site = 2 * step->op;

   if (op->type == SOAK_EXCHANGE)
      exchange(model, step, site);

   for (uint32_t i = 0; i < step->count && op->type != SOAK_EXCHANGE; i++) {
      const uint32_t self = model->invocations + 1 + i, at = element_at(step, i);

      if (op->type == SOAK_LOAD_STORE) {
         access(model, site, SOAK_LOAD, at, op->size, self);
         access(model, site + 1, SOAK_STORE, at, op->size, self);
      } else if (op->type == SOAK_STORE_LOAD) {
         access(model, site, SOAK_STORE, at, op->size, self);
         access(model, site + 1, SOAK_LOAD, at, op->size, self);
      } else {
         access(model, site, op->type, at, op->size, self);
      }
   }
   /* Who of a crowd comes first with what depends on the machine. */
   model->ambiguous |= (op->type == SOAK_LOAD_STORE || op->type == SOAK_STORE_LOAD) &&
                       step->stride == 0 && step->count > 1;
   model->invocations += step->count;

   for (unsigned i = 0; i < SOAK_BUFFER_SIZE / 16; i++) {
      struct granule *granule = &model->granules[i];
      granule->touched |= granule->touching;
      granule->touching = false;
   }
}

static void
separate(struct model *model, enum soak_separator separator)
{
   switch (separator) {
   case SOAK_BARRIER_EXECUTION:
      model->reads_ordered = true;
      for (unsigned i = 0; i < SOAK_BUFFER_SIZE; i++)
         model->bytes[i].loaded_late = NOBODY;
      break;
   case SOAK_BARRIER:
   case SOAK_BARRIER_BUFFER:
   case SOAK_BARRIER_ALL:
   case SOAK_WAIT:
      memset(model->bytes, 0, sizeof(model->bytes));
      memset(model->granules, 0, sizeof(model->granules));
      model->reads_ordered = false;
      break;
   default:
      break;
   }
}

static void
run(struct model *model, const struct soak_program *program)
{
   for (unsigned i = 0; i < program->step_count; i++) {
      run_step(model, &program->steps[i]);
      separate(model, program->steps[i].separator);
   }
}

/* --- Public --------------------------------------------------------------- */

void
soak_generate(uint64_t seed, unsigned hashes, struct soak_program *program)
{
   static struct model model;
   uint64_t state = seed * 0x2545f4914f6cdd1d;

   do {
      const uint32_t window = below(&state, (SOAK_BUFFER_SIZE - SOAK_WINDOW) / 16) * 16;

      *program = (struct soak_program){
         .seed = seed,
         .step_count = 2 + below(&state, SOAK_MAX_STEPS - 1),
      };
      for (unsigned i = 0; i < program->step_count; i++)
         program->steps[i] = random_step(&state, window);
      program->steps[program->step_count - 1].separator = SOAK_WAIT;

      model = (struct model){.hashes = hashes};
      run(&model, program);
   } while (model.ambiguous || model.misses > 1e-9);
}

void
soak_answer(const struct soak_program *program, uint64_t counts[SOAK_MAX_SITES])
{
   static struct model model;

   model = (struct model){.counts = counts};
   run(&model, program);
}

void
soak_print(const struct soak_program *program)
{
   for (unsigned i = 0; i < program->step_count; i++) {
      const struct soak_step *step = &program->steps[i];
      const struct soak_op *op = &soak_ops[step->op];

      printf("   %s: %u times from byte %u, every %u bytes; then %s\n", op->name, step->count,
             step->start * op->size, step->stride * op->size,
             soak_separator_names[step->separator]);
   }
}

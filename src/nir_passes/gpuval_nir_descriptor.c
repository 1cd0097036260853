/* SPDX-License-Identifier: MIT */

/* The check of descriptors: is there one behind each index, of the right type, for
 * something that is alive, and that is such a view as the access wants?
 *
 * Where the index is a constant, nothing of that changes while a command runs. A driver
 * that executes commands on the host tells how those descriptors are when it begins one
 * (gpuval_nir_driver::bad_uses), in one word: then the accesses of a block cost one
 * comparison. Everything else is looked up (gpuval_nir_shadow.c) where the index is
 * known, outside of loops that do not change it.
 *
 * The shader does not find out what is wrong: the report's function does, which looks
 * again. With GPUVAL_SAFE a harmless descriptor stands in, by another index. Nothing
 * is branched around: implicit derivatives would be lost. A view of another format whose texels
 * are as large, or of another class of components, is reported and used.
 *
 * Reports stand before the accesses, as these may be the last thing that happens.
 */

#include "gpuval_nir_private.h"

/* What tells uses that are looked up apart */
struct lookup_key {
   nir_def *index; /* NULL: a constant */
   uint32_t component;
   uint32_t has_index; /* whether that differs was asked for */
   uint32_t required, first_slot, num_slots, set, flags;
   uint32_t zero; /* no padding: keys are compared as bytes */
};

/* A use of a descriptor that was looked up: one each is enough. */
struct lookup {
   unsigned run; /* the same lanes are there */
   nir_block *block;
   nir_def *result; /* of check_use for @slot, or */
   nir_def *slot;
   bool is_reported; /* by the look itself, for this instance of an instruction */
   uint32_t instance;
   struct gpuval_nir_constant_use words;
};

/* Its report, until it is made: the bit of @bits must be set, @other must not. */
struct pending {
   struct gpuval_access_use use;
   nir_def *bits;
   uint32_t bit;
   nir_def *other; /* 1 bit, or NULL */
   nir_def *slot;  /* NULL: constant */
   bool is_word;   /* @bits must not be 0, that is all */
};

struct pass {
   struct gpuval_nir_state *state;
   const struct gpuval_nir_driver *driver;
   nir_def *harmful_uses; /* once it is asked for */
   nir_def *bad_bits[32], *harmful_bits[32];
   struct hash_table *lookups;   /* struct lookup_key -> struct lookup */
   struct util_dynarray pending; /* struct pending: of the block */
   unsigned run;                 /* number of the block, or of its part between edges */
   nir_instr *first;             /* the first access there */
};

/* Sites and entries */

/* One site a kind, in the order of struct gpuval_nir_verdict's consumers: the report's
 * function adds to the number of the first.
 */
static uint32_t
add_sites(struct pass *pass, const struct gpuval_access_use *use)
{
   enum gpuval_kind kinds[5];
   unsigned count = 0;

   if (use->nir.flags & GPUVAL_USE_NOT_UNIFORM) {
      kinds[count++] = GPUVAL_KIND_NOT_UNIFORM;
   } else {
      kinds[count++] = GPUVAL_KIND_UNWRITTEN;
      kinds[count++] = GPUVAL_KIND_WRONG_TYPE;
      kinds[count++] = GPUVAL_KIND_DESTROYED;
      if (use->nir.flags & GPUVAL_USE_MAY_BE_WRONG_VIEW)
         kinds[count++] = GPUVAL_KIND_WRONG_VIEW;
      if (use->nir.flags & GPUVAL_USE_MAY_BE_OUTSIDE)
         kinds[count++] = GPUVAL_KIND_INDEX_OOB;
   }

   struct gpuval_site site = {
      .op = use->access->spirv_op,
      .spirv_offset = gpuval_nir_spirv_offset(pass->state, use->access->instance),
      .set = use->set,
      .binding = use->binding,
   };
   return gpuval_nir_add_sites(pass->state, &site, kinds, count);
}

static void
add_entry(struct pass *pass, const struct gpuval_access_use *use)
{
   const struct gpuval_nir_entry entry = {
      .required = use->nir.required,
      .first_slot = use->nir.first_slot,
      .num_slots = use->nir.num_slots,
      .set = use->nir.set,
      .flags = use->nir.flags,
      .site = add_sites(pass, use),
      .instance = use->access->instance,
   };
   util_dynarray_append_typed(&pass->state->table->entries, struct gpuval_nir_entry, entry);
}

static uint32_t
num_entries(const struct pass *pass)
{
   return util_dynarray_num_elements(&pass->state->table->entries, struct gpuval_nir_entry);
}

/* What is known about it */

static nir_def *
get_harmful_uses(struct pass *pass)
{
   if (!pass->harmful_uses) {
      nir_builder at_top = nir_builder_at(nir_before_impl(pass->state->b.impl));
      pass->harmful_uses = pass->driver->descriptors->harmful_uses(pass->driver, &at_top);
   }
   return pass->harmful_uses;
}

/* Which bits tell how a constant use is; bad: -1: none. harmful is there where that may be another
 * verdict, in the word of harmful uses if there is one.
 */
struct use_bits {
   int bad, harmful;
};

static struct use_bits
find_bits(struct pass *pass, const struct gpuval_access_use *use)
{
   const struct gpuval_nir_descriptors *descriptors = pass->driver->descriptors;
   struct use_bits bits = {-1, -1};

   if (!descriptors->bad_uses || !(use->nir.flags & GPUVAL_USE_CONSTANT) || use->layout.is_late ||
       (mesa_shader_stage_is_rt(pass->state->b.shader->info.stage) && !descriptors->tells_rays))
      return bits;

   int bit = gpuval_nir_add_use(pass->state, &use->nir);
   bits.harmful = bit;
   if (!descriptors->harmful_uses && gpuval_nir_may_be_harmless(use->nir.required)) {
      struct gpuval_nir_use harmful = use->nir;
      harmful.flags |= GPUVAL_USE_HARMFUL;
      bits.harmful = gpuval_nir_add_use(pass->state, &harmful);
   }
   if (bits.harmful >= 0)
      bits.bad = bit;
   return bits;
}

/* May the index differ inside of a subgroup, without being said to? (Helper invocations run
 * where others do: theirs do not count.)
 */
static bool
may_differ(const struct gpuval_access_use *use)
{
   return use->index && !use->is_non_uniform &&
          !nir_src_is_always_uniform(nir_src_for_ssa(use->index));
}

/* Before the outermost loop that @access is in and @index is not; else where it is, and
 * there if it counts which lanes are active.
 */
static nir_cursor
get_cursor(const struct gpuval_access *access, const nir_def *index, bool has_index)
{
   nir_cursor cursor = nir_before_instr(access->instr);
   if (has_index)
      return cursor;

   for (nir_cf_node *node = access->block->cf_node.parent; node; node = node->parent) {
      if (node->type != nir_cf_node_loop)
         continue;

      nir_block *before = nir_cf_node_as_block(nir_cf_node_prev(node));
      if (index && !nir_block_dominates(nir_def_instr(index)->block, before))
         break;
      cursor = nir_after_block(before);
   }
   return cursor;
}

static uint32_t
hash_lookup(const void *key)
{
   return _mesa_hash_data(key, sizeof(struct lookup_key));
}

static bool
lookups_equal(const void *a, const void *b)
{
   return !memcmp(a, b, sizeof(struct lookup_key));
}

static struct lookup *
find_lookup(struct pass *pass, const struct gpuval_access_use *use, bool has_index)
{
   const struct lookup_key key = {
      .index = use->scalar.def,
      .component = use->scalar.def ? use->scalar.comp : 0,
      .has_index = has_index,
      .required = use->nir.required,
      .first_slot = use->nir.first_slot,
      .num_slots = use->nir.num_slots,
      .set = use->nir.set,
      .flags = use->nir.flags,
   };

   struct hash_entry *entry = _mesa_hash_table_search(pass->lookups, &key);
   if (!entry)
      entry =
         _mesa_hash_table_insert(pass->lookups, ralloc_memdup(pass->lookups, &key, sizeof(key)),
                                 rzalloc(pass->lookups, struct lookup));
   return entry->data;
}

/* May a look report what it finds? It has to stand where the access is. One failing access gives
 * one report: what has been found about it before is not known to the function.
 */
static bool
may_report(const struct pass *pass, const struct gpuval_access_use *use)
{
   const struct gpuval_access *access = use->access;

   return pass->driver->reports_uses && !access->bad && !access->forbidden &&
          nir_cursor_current_block(pass->state->b.cursor) == access->block;
}

static struct gpuval_access_use
get_not_uniform(const struct gpuval_access_use *use)
{
   struct gpuval_access_use other = *use;

   other.nir.flags = GPUVAL_USE_NOT_UNIFORM;
   return other;
}

/* *@is_reported: by the look itself */
static nir_def *
look(struct pass *pass, const struct gpuval_access_use *use, nir_def *slot, bool *is_reported)
{
   const uint32_t first_entry = num_entries(pass);
   nir_def *index = may_differ(use) ? use->index : NULL;

   *is_reported = may_report(pass, use);
   if (!*is_reported)
      return gpuval_nir_call_use(&pass->state->b, &use->nir, slot, index);

   add_entry(pass, use);
   if (index) {
      const struct gpuval_access_use other = get_not_uniform(use);
      add_entry(pass, &other);
   }
   return gpuval_nir_look_at_use(pass->state, &use->nir, slot, index, first_entry,
                                 num_entries(pass) - first_entry);
}

/* Bits of check_use, found once for a block and those that it dominates. Blocks come in the order
 * of the code: one that does not dominate this one dominates hardly any of those that come, and is
 * not remembered.
 */
static nir_def *
look_up(struct pass *pass, const struct gpuval_access_use *use, nir_def **slot, bool *is_reported)
{
   nir_builder *b = &pass->state->b;
   bool has_index = may_differ(use);

   if (use->index && !use->scalar.def) /* none that could be compared */
      return look(pass, use, *slot, is_reported);

   struct lookup *lookup = find_lookup(pass, use, has_index);
   bool is_there =
      lookup->result && (has_index ? lookup->run == pass->run
                                   : nir_block_dominates(lookup->block, use->access->block));
   if (is_there) {
      /* Pieces of one access, such as columns of a matrix, count once. */
      *is_reported = lookup->is_reported && lookup->run == pass->run &&
                     lookup->instance == use->access->instance;
      *slot = lookup->slot;
      return lookup->result;
   }

   *is_reported = false;
   *lookup = (struct lookup){
      .result = look(pass, use, *slot, is_reported),
      .slot = *slot,
      .run = pass->run,
      .block = nir_cursor_current_block(b->cursor),
      .is_reported = *is_reported,
      .instance = use->access->instance,
   };
   return lookup->result;
}

/* The same of a constant: in front of the block's first access, since all of them share a report
 * there. Returns NULL where the driver has no code for it.
 */
static const struct gpuval_nir_constant_use *
look_up_constant(struct pass *pass, const struct gpuval_access_use *use)
{
   nir_builder *b = &pass->state->b;
   struct gpuval_nir_constant_use words;

   if (!(use->nir.flags & GPUVAL_USE_CONSTANT))
      return NULL;
   struct lookup *lookup = find_lookup(pass, use, false);
   if (lookup->words.bad && nir_block_dominates(lookup->block, use->access->block))
      return &lookup->words;

   b->cursor = get_cursor(use->access, NULL, false);
   if (nir_cursor_current_block(b->cursor) == use->access->block)
      b->cursor = nir_before_instr(pass->first);
   if (!gpuval_nir_build_constant_use(b, pass->driver, &use->nir, &words))
      return NULL;
   *lookup = (struct lookup){
      .run = pass->run,
      .block = nir_cursor_current_block(b->cursor),
      .words = words,
   };
   return &lookup->words;
}

static nir_def *
or_1(nir_builder *b, nir_def *first, nir_def *second)
{
   return first ? nir_ior(b, first, second) : second;
}

/* With GPUVAL_SAFE the descriptor is not used where it is @harmful. Where it is @bad, the access
 * has been reported.
 */
static void
set_bad(struct pass *pass, const struct gpuval_access_use *use, nir_def *slot, nir_def *bad,
        nir_def *harmful, nir_def *word)
{
   struct gpuval_access *access = (struct gpuval_access *)use->access;
   nir_builder *b = &pass->state->b;

   access->bad = or_1(b, access->bad, harmful);
   if (harmful != bad)
      access->forbidden = or_1(b, access->forbidden, bad);
   if (!pass->state->options->safe)
      return;

   const struct gpuval_nir_replacement replacement = {
      .instr = access->instr,
      .is_resource = !use->is_sampler,
      .is_sampler = use->nir.required & GPUVAL_OFFERS_SAMPLER,
      .set = use->set,
      .binding = use->binding,
      .slot = slot,
      .bad = harmful,
      .word = word,
   };
   util_dynarray_append_typed(&pass->state->replacements, struct gpuval_nir_replacement,
                              replacement);
}

/* @bits of bad_uses, or of check_use's result */
static nir_def *
has_bits(const struct pass *pass, nir_def *word, uint32_t bits)
{
   nir_builder *b = &pass->state->b;

   if (word == pass->state->bad_uses || word == pass->harmful_uses)
      return nir_has_bits_gpuval(b, 1, word, .base = bits);
   return nir_ine_imm(b, nir_iand_imm(b, word, bits), 0);
}

/* A bit of @word, found once for a block and those that it dominates: in @bits */
static nir_def *
get_bit(struct pass *pass, nir_def *word, nir_def **bits, unsigned bit, nir_block *block)
{
   assert(bit < ARRAY_SIZE(pass->bad_bits));

   if (!bits[bit] || !nir_block_dominates(nir_def_instr(bits[bit])->block, block))
      bits[bit] = has_bits(pass, word, BITFIELD_BIT(bit));
   return bits[bit];
}

/* 1 bit each. Those that are bad and not harmful may be such views only. */
static void
get_verdict(struct pass *pass, const struct gpuval_access_use *use, struct use_bits bits,
            nir_def *result, nir_def **bad, nir_def **harmful)
{
   nir_block *block = use->access->block;
   bool may_be_harmless = gpuval_nir_may_be_harmless(use->nir.required);

   *bad = bits.bad >= 0 ? get_bit(pass, pass->state->bad_uses, pass->bad_bits, bits.bad, block)
                        : has_bits(pass, result, 0x1);
   *harmful = *bad;
   if (may_be_harmless && bits.bad < 0)
      *harmful = has_bits(pass, result, 0x4);
   else if (may_be_harmless && pass->driver->descriptors->harmful_uses)
      *harmful = get_bit(pass, get_harmful_uses(pass), pass->harmful_bits, bits.harmful, block);
   else if (may_be_harmless)
      *harmful = get_bit(pass, pass->state->bad_uses, pass->bad_bits, bits.harmful, block);
}

static void
instrument_use(struct pass *pass, const struct gpuval_access_use *use)
{
   nir_builder *b = &pass->state->b;
   struct pending pending = {.use = *use};
   struct use_bits bits = find_bits(pass, use);
   bool has_bit = bits.bad >= 0;
   const struct gpuval_nir_constant_use *words = has_bit ? NULL : look_up_constant(pass, use);
   bool is_reported = false;

   if (has_bit) {
      pending.bits = gpuval_nir_bad_uses(pass->state);
      pending.bit = BITFIELD_BIT(bits.bad);
   } else if (words) {
      pending.bits = words->bad;
      pending.is_word = true;
   } else {
      b->cursor = get_cursor(use->access, use->index, may_differ(use));
      pending.slot = gpuval_nir_get_slot(b, use);
      pending.bits = look_up(pass, use, &pending.slot, &is_reported);
      pending.bit = 1;
      /* One failing access gives one report. (Of two constants, the report's function
       * sees to that.)
       */
      b->cursor = nir_before_instr(use->access->instr); /* where both are defined */
      pending.other = use->access->bad;
      if (use->access->forbidden)
         pending.other = nir_ior(b, pending.other, use->access->forbidden);
   }
   if (!is_reported)
      util_dynarray_append_typed(&pass->pending, struct pending, pending);

   b->cursor = nir_before_instr(use->access->instr);
   nir_def *bad, *harmful;
   if (words) {
      harmful = nir_ine_imm(b, words->harmful, 0);
      bad = words->bad == words->harmful ? harmful : nir_ine_imm(b, words->bad, 0);
   } else {
      get_verdict(pass, use, bits, pending.bits, &bad, &harmful);
   }
   set_bad(pass, use, pending.slot ? pending.slot : gpuval_nir_get_slot(b, use), bad, harmful,
           words ? words->harmful : NULL);

   if (!has_bit && !is_reported && may_differ(use)) {
      pending.use = get_not_uniform(use);
      pending.bit = 2;
      util_dynarray_append_typed(&pass->pending, struct pending, pending);
   }
}

/* May they share a report? All constant ones may: each entry has its slot. */
static bool
belongs(const struct pending *first, const struct pending *pending)
{
   if (first->is_word || pending->is_word)
      return first->is_word && pending->is_word;
   return pending->bits == first->bits && pending->slot == first->slot &&
          pending->other == first->other && (!pending->slot || pending->bit == first->bit);
}

/* Makes the report of the first that is pending and of all that belong to it: before the
 * first of these accesses.
 */
static void
report_first(struct pass *pass)
{
   nir_builder *b = &pass->state->b;
   struct pending *rest = util_dynarray_begin(&pass->pending);
   const struct pending first = *rest;
   struct gpuval_nir_report report = {
      .slot = first.slot,
      .set = GPUVAL_REPORT_DESCRIPTOR,
      .first_entry = num_entries(pass),
   };
   nir_def *words = NULL;
   uint32_t bits = 0;

   b->cursor = nir_before_instr(first.use.access->instr);
   util_dynarray_foreach (&pass->pending, struct pending, pending) {
      if (belongs(&first, pending)) {
         bits |= pending->bit;
         if (pending->is_word)
            words = or_1(b, words, pending->bits);
         add_entry(pass, &pending->use);
         report.num_entries++;
      } else {
         *rest++ = *pending;
      }
   }
   pass->pending.size = (uint8_t *)rest - (uint8_t *)util_dynarray_begin(&pass->pending);

   report.failed = words ? nir_ine_imm(b, words, 0)
                   : first.use.nir.flags & GPUVAL_USE_NOT_UNIFORM
                      ? nir_ieq_imm(b, nir_iand_imm(b, first.bits, 3), 2)
                      : has_bits(pass, first.bits, bits);
   if (first.other)
      report.failed = nir_iand(b, report.failed, nir_inot(b, first.other));
   gpuval_nir_report(pass->state, &report);
}

static void
end_run(struct pass *pass)
{
   while (pass->pending.size)
      report_first(pass);
   pass->run++;
   pass->first = NULL;
}

/* Uses that may share a report */
#define MAX_PENDING 1024

static void
instrument(struct pass *pass, const struct gpuval_access *access)
{
   struct gpuval_access_use resource, sampler;
   bool has_resource = gpuval_nir_find_use(pass->state, access, false, &resource);
   bool has_sampler = gpuval_nir_find_use(pass->state, access, true, &sampler);

   /* What is not a constant has a report of its own, which says nothing where the other one
    * does: that comes first.
    */
   bool sampler_first = has_resource && !(resource.nir.flags & GPUVAL_USE_CONSTANT) &&
                        has_sampler && sampler.nir.flags & GPUVAL_USE_CONSTANT;
   if (sampler_first)
      instrument_use(pass, &sampler);
   if (has_resource)
      instrument_use(pass, &resource);
   if (has_sampler && !sampler_first)
      instrument_use(pass, &sampler);
}

bool
gpuval_nir_instrument_descriptor(struct gpuval_nir_state *state)
{
   if (!(state->options->checks & BITFIELD_BIT(GPUVAL_CHECK_DESCRIPTOR)) ||
       !state->options->driver->descriptors)
      return false;

   struct pass pass = {
      .state = state,
      .driver = state->options->driver,
      .lookups = _mesa_hash_table_create(NULL, hash_lookup, lookups_equal),
   };
   util_dynarray_init(&pass.pending, NULL);
   nir_metadata_require(state->b.impl, nir_metadata_dominance);

   uint32_t before = num_entries(&pass);
   const nir_block *block = NULL;
   gpuval_nir_foreach_access(state, access)
   {
      /* All are reported before the first one. What comes after an edge may not happen. */
      if (block != access->block || access->is_edge ||
          pass.pending.size >= MAX_PENDING * sizeof(struct pending))
         end_run(&pass);
      block = access->block;
      if (!pass.first)
         pass.first = access->instr;
      instrument(&pass, access);
      if (access->is_edge)
         end_run(&pass);
   }
   end_run(&pass);

   _mesa_hash_table_destroy(pass.lookups, NULL);
   util_dynarray_fini(&pass.pending);
   return num_entries(&pass) != before;
}

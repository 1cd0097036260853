/* SPDX-License-Identifier: MIT */

/* Words that one SPIR-V instruction accesses one by one, such as the columns of a matrix that
 * memory has by rows. Checks that would make long code of each word look at those that stand side
 * by side together.
 */

#include "gpuval_nir_private.h"

static bool
has_words(const struct gpuval_access *access)
{
   return (access->type == GPUVAL_ACCESS_ADDRESS ||
           (access->type == GPUVAL_ACCESS_BUFFER && access->is_described &&
            !access->buffer.size)) &&
          (access->op == GPUVAL_OP_LOAD || access->op == GPUVAL_OP_STORE) && !access->is_atomic &&
          !access->is_interlocked && access->instance && access->component_bytes == 4;
}

static bool
is_same_buffer(const struct gpuval_access *a, const struct gpuval_access *b)
{
   return a->type == GPUVAL_ACCESS_ADDRESS ||
          (a->buffer.set == b->buffer.set &&
           nir_srcs_equal(*gpuval_nir_index_src(nir_instr_as_intrinsic(a->instr)),
                          *gpuval_nir_index_src(nir_instr_as_intrinsic(b->instr))));
}

static bool
belongs(const struct gpuval_nir_words *words, const struct gpuval_access *access)
{
   const struct gpuval_access *first = words->first;
   int64_t offset;

   return access->type == first->type && access->op == first->op &&
          access->instance == first->instance && access->block == first->block &&
          access->bad == first->bad && !access->is_edge && has_words(access) &&
          is_same_buffer(first, access) &&
          gpuval_nir_split_offset(gpuval_nir_access_offset(access), &offset) == words->base;
}

/* Returns whether @value is known before @first, which is in the block of @last. */
static bool
is_known(nir_scalar value, nir_instr *first, const nir_instr *last)
{
   for (nir_instr *instr = first; instr != last; instr = nir_instr_next(instr)) {
      if (instr == nir_def_instr(value.def))
         return false;
   }
   return true;
}

static bool
add_words(struct gpuval_nir_words *words, const struct gpuval_access *access)
{
   nir_intrinsic_instr *intrin = nir_instr_as_intrinsic(access->instr);
   unsigned count = words->count;
   int64_t offset;

   if (count + util_bitcount(access->components) > ARRAY_SIZE(words->words))
      return false;
   gpuval_nir_split_offset(gpuval_nir_access_offset(access), &offset);
   u_foreach_bit (i, access->components) {
      struct gpuval_nir_word *word = &words->words[count++];
      *word = (struct gpuval_nir_word){
         .access = access,
         .component = i,
         .offset = offset + 4 * i,
      };
      if (access->op != GPUVAL_OP_STORE)
         continue;
      word->value = nir_scalar_chase_movs(nir_get_scalar(intrin->src[0].ssa, i));
      if (!is_known(word->value, words->first->instr, access->instr))
         return false;
   }
   words->count = count;
   return true;
}

static int
compare_words(const void *a, const void *b)
{
   const struct gpuval_nir_word *x = a, *y = b;
   return (x->offset > y->offset) - (x->offset < y->offset);
}

struct gpuval_access *
gpuval_nir_collect_words(struct gpuval_access *first, const struct gpuval_access *end,
                         struct gpuval_nir_words *words)
{
   struct gpuval_access *next = first + 1;

   words->first = first;
   words->count = 0;
   if (!has_words(first))
      return next;
   words->base = gpuval_nir_split_offset(gpuval_nir_access_offset(first), &words->offset);
   if (!add_words(words, first))
      return next;
   while (next < end && belongs(words, next) && add_words(words, next))
      next++;
   qsort(words->words, words->count, sizeof(words->words[0]), compare_words);
   return next;
}

unsigned
gpuval_nir_count_words(const struct gpuval_nir_words *words, unsigned index, unsigned max_count)
{
   const struct gpuval_nir_word *word = &words->words[index];
   unsigned count = 1;

   while (count < max_count && index + count < words->count &&
          word[count].offset == word->offset + 4 * (int64_t)count)
      count++;
   return count;
}

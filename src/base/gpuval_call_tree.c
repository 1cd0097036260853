/* SPDX-License-Identifier: MIT */

#include "gpuval_call_tree.h"

#include "compiler/spirv/spirv.h"
#include "gpuval/src/compat/gpuval_dynarray.h"
#include "util/hash_table.h"
#include "util/macros.h"
#include "util/ralloc.h"

#define HEADER_WORDS 5

/* Functions that call functions; valid modules have no recursion, others are not to end here. */
#define MAX_DEPTH 128

/* More are not told apart: that many times a module's size is no offset any more. */
#define MAX_WAYS (1u << 30)

struct call {
   uint32_t offset;
   uint32_t callee; /* id */
   uint32_t first;  /* what it adds */
};

struct function {
   uint32_t id;
   uint32_t begin, end; /* bytes */
   uint32_t first_call, num_calls;
   uint32_t num_ways; /* to itself and all that it calls; 0: not known yet */
   bool is_open;      /* they are being counted */
};

struct gpuval_call_tree {
   struct util_dynarray functions; /* struct function */
   struct util_dynarray calls;     /* struct call, ascending */
   struct hash_table_u64 *by_id;   /* 1 + index of functions */
};

static struct function *
find_function(const struct gpuval_call_tree *tree, uint32_t id)
{
   uintptr_t index = (uintptr_t)_mesa_hash_table_u64_search(tree->by_id, id);
   return index ? util_dynarray_element(&tree->functions, struct function, index - 1) : NULL;
}

static struct call *
get_call(const struct gpuval_call_tree *tree, const struct function *function, uint32_t number)
{
   return util_dynarray_element(&tree->calls, struct call, function->first_call + number);
}

static void
add_instruction(struct gpuval_call_tree *tree, const uint32_t *w, unsigned count, uint32_t offset)
{
   struct function *last =
      tree->functions.size ? util_dynarray_top_ptr(&tree->functions, struct function) : NULL;

   switch (w[0] & SpvOpCodeMask) {
   case SpvOpFunction:
      if (count >= 3) {
         const struct function function = {
            .id = w[2],
            .begin = offset,
            .end = UINT32_MAX,
            .first_call = util_dynarray_num_elements(&tree->calls, struct call),
         };
         util_dynarray_append_typed(&tree->functions, struct function, function);
         uintptr_t number = util_dynarray_num_elements(&tree->functions, struct function);
         _mesa_hash_table_u64_insert(tree->by_id, function.id, (void *)number);
      }
      break;
   case SpvOpFunctionEnd:
      if (last)
         last->end = offset;
      break;
   case SpvOpFunctionCall:
      if (last && last->end == UINT32_MAX && count >= 4) {
         const struct call call = {.offset = offset, .callee = w[3]};
         util_dynarray_append_typed(&tree->calls, struct call, call);
         last->num_calls++;
      }
      break;
   default:
      break;
   }
}

/* Ways to @function, and from there to all that it calls */
static uint32_t
count_ways(struct gpuval_call_tree *tree, struct function *function, unsigned depth)
{
   if (function->num_ways)
      return function->num_ways;
   if (function->is_open || depth == MAX_DEPTH)
      return MAX_WAYS;

   uint32_t ways = 1;
   function->is_open = true;
   for (uint32_t i = 0; i < function->num_calls; i++) {
      struct call *call = get_call(tree, function, i);
      struct function *callee = find_function(tree, call->callee);

      call->first = ways;
      ways = MIN2(ways + (callee ? count_ways(tree, callee, depth + 1) : 0), MAX_WAYS);
   }
   function->is_open = false;
   function->num_ways = ways;
   return ways;
}

struct gpuval_call_tree *
gpuval_call_tree_create(void *mem_ctx, const uint32_t *words, size_t word_count)
{
   struct gpuval_call_tree *tree = rzalloc(mem_ctx, struct gpuval_call_tree);

   util_dynarray_init(&tree->functions, tree);
   util_dynarray_init(&tree->calls, tree);
   tree->by_id = _mesa_hash_table_u64_create(tree);
   for (size_t i = HEADER_WORDS; i < word_count && i < UINT32_MAX / 4;) {
      unsigned count = words[i] >> SpvWordCountShift;
      if (!count || count > word_count - i)
         break;
      add_instruction(tree, &words[i], count, i * 4);
      i += count;
   }
   util_dynarray_foreach (&tree->functions, struct function, function)
      count_ways(tree, function, 0);
   return tree;
}

bool
gpuval_call_tree_enter(const struct gpuval_call_tree *tree, uint32_t offset, uint32_t *first,
                       uint32_t *count)
{
   uint32_t low = 0, high = util_dynarray_num_elements(&tree->calls, struct call);

   while (high - low > 1) {
      uint32_t middle = low + (high - low) / 2;
      if (util_dynarray_element(&tree->calls, struct call, middle)->offset <= offset)
         low = middle;
      else
         high = middle;
   }
   const struct call *call = high ? util_dynarray_element(&tree->calls, struct call, low) : NULL;
   const struct function *callee =
      call && call->offset == offset ? find_function(tree, call->callee) : NULL;
   if (!callee || callee->num_ways == MAX_WAYS || call->first >= MAX_WAYS)
      return false;
   *first = call->first;
   *count = callee->num_ways;
   return true;
}

unsigned
gpuval_call_tree_find(const struct gpuval_call_tree *tree, uint32_t root, uint32_t number,
                      uint32_t offset, uint32_t *calls, unsigned max)
{
   const struct function *function = find_function(tree, root);
   uint32_t way[MAX_DEPTH];
   unsigned depth = 0;

   while (function && number && depth < MAX_DEPTH) {
      const struct call *call = NULL;
      for (uint32_t i = 0; i < function->num_calls; i++) {
         const struct call *next = get_call(tree, function, i);
         if (next->first > number)
            break;
         call = next;
      }
      if (!call)
         return 0;
      number -= call->first;
      way[depth++] = call->offset;
      function = find_function(tree, call->callee);
   }
   if (!function || number || offset < function->begin || offset > function->end)
      return 0;
   for (unsigned i = 0; i < MIN2(depth, max); i++)
      calls[i] = way[depth - 1 - i];
   return depth;
}

/* SPDX-License-Identifier: MIT */

/* Modules may be anything: what is not there is left out, and nothing is followed twice. */

#include "gpuval_spirv_blocks.h"

#include "util/macros.h"
#include "util/ralloc.h"
#include "util/set.h"
#include "gpuval_spirv_private.h"

struct finder {
   struct gpuval_spirv *spirv;
   void *mem_ctx;
   struct util_dynarray files;     /* struct gpuval_spirv_file */
   struct util_dynarray positions; /* struct position: one of each file */
   struct util_dynarray blocks, functions, lines, edges;
   struct util_dynarray ends; /* uint32_t: word of each block's last instruction */
   struct hash_table *labels; /* id -> index of block + 1 */
   struct hash_table *by_id;  /* id of a function -> index in spirv->functions + 1 */
   struct set *seen;          /* indices + 1 of functions */
   struct set *ending;        /* those that invocations may end in */
   bool has_lines;
};

static void *
key_of(uint32_t number)
{
   return (void *)((uintptr_t)number + 1);
}

static bool
is_same_file(const struct position *a, const struct position *b)
{
   if (a->file && b->file)
      return !strcmp(a->file, b->file);
   return !a->file && !b->file && a->source == b->source;
}

/* Files whose text is looked for: a module has few, but may be anything. */
#define MAX_TEXTS 64

static uint32_t
get_file(struct finder *finder, const struct position *position)
{
   uint32_t index = 0;

   util_dynarray_foreach (&finder->positions, struct position, known) {
      if (is_same_file(known, position))
         return index;
      index++;
   }
   util_dynarray_append_typed(&finder->positions, struct position, *position);
   const struct gpuval_spirv_file file = {
      .name = position->file ? ralloc_strdup(finder->mem_ctx, position->file) : NULL,
      .text = index < MAX_TEXTS ? gpuval_spirv_file_text(finder->mem_ctx, finder->spirv, position)
                                : NULL,
   };
   util_dynarray_append_typed(&finder->files, struct gpuval_spirv_file, file);
   return index;
}

static struct gpuval_spirv_line
line_at(struct finder *finder, uint32_t word)
{
   struct position position;

   if (!gpuval_spirv_position_at(finder->spirv, word, &position))
      return (struct gpuval_spirv_line){0};
   return (struct gpuval_spirv_line){get_file(finder, &position), position.line};
}

static uint32_t
count_instructions(const struct finder *finder)
{
   return util_dynarray_num_elements(&finder->spirv->instructions, uint32_t);
}

static uint32_t
instruction(const struct finder *finder, uint32_t index)
{
   return *util_dynarray_element(&finder->spirv->instructions, uint32_t, index);
}

/* Index of the instruction at @word */
static uint32_t
find_instruction(const struct finder *finder, uint32_t word)
{
   uint32_t low = 0, high = count_instructions(finder);

   while (high - low > 1) {
      uint32_t middle = low + (high - low) / 2;
      if (instruction(finder, middle) <= word)
         low = middle;
      else
         high = middle;
   }
   return low;
}

/* Does it stand for nothing that is executed? */
static bool
is_silent(SpvOp opcode)
{
   switch (opcode) {
   case SpvOpLabel:
   case SpvOpVariable:
   case SpvOpUntypedVariableKHR:
   case SpvOpPhi:
   case SpvOpLine:
   case SpvOpNoLine:
   case SpvOpSelectionMerge:
   case SpvOpLoopMerge:
   case SpvOpUnreachable:
   case SpvOpNop:
      return true;
   default:
      return false;
   }
}

static bool
is_debug_info(const struct gpuval_spirv *spirv, uint32_t word)
{
   return opcode_at(spirv, word) == SpvOpExtInst && spirv->debug_info_set &&
          operand(spirv, word, 3) == spirv->debug_info_set;
}

/* A line that comes again after many others stands there twice, which does no harm. */
#define LINES_TO_COMPARE 16

static void
add_line(struct finder *finder, struct gpuval_spirv_block *block, struct gpuval_spirv_line line)
{
   const uint32_t first = MAX2(block->num_lines, LINES_TO_COMPARE) - LINES_TO_COMPARE;

   for (uint32_t i = block->num_lines; i-- > first;) {
      const struct gpuval_spirv_line *known =
         util_dynarray_element(&finder->lines, struct gpuval_spirv_line, block->first_line + i);
      if (known->file == line.file && known->number == line.number)
         return;
   }
   util_dynarray_append_typed(&finder->lines, struct gpuval_spirv_line, line);
   block->num_lines++;
}

/* Do invocations end in what stands at @word, or may they? */
static bool
may_end(const struct finder *finder, uint32_t word)
{
   switch (opcode_at(finder->spirv, word)) {
   case SpvOpKill:
   case SpvOpTerminateInvocation:
   case SpvOpDemoteToHelperInvocation:
   case SpvOpIgnoreIntersectionKHR:
   case SpvOpTerminateRayKHR:
   case SpvOpReportIntersectionKHR:
      return true;
   case SpvOpFunctionCall: {
      const uint32_t callee = operand(finder->spirv, word, 3);
      return _mesa_set_search(finder->ending, key_of(callee)) != NULL;
   }
   default:
      return false;
   }
}

static void
find_ending_functions(struct finder *finder)
{
   bool progress = true;

   /* Callers may stand in front of what they call. */
   for (unsigned round = 0; progress && round < MAX_CHAIN; round++) {
      uint32_t function = 0;
      progress = false;
      for (uint32_t i = 0; i < count_instructions(finder); i++) {
         const uint32_t word = instruction(finder, i);
         if (opcode_at(finder->spirv, word) == SpvOpFunction)
            function = operand(finder->spirv, word, 2);
         if (!may_end(finder, word) || _mesa_set_search(finder->ending, key_of(function)))
            continue;
         _mesa_set_add(finder->ending, key_of(function));
         progress = true;
      }
   }
}

/* One block from number @index of the instructions on; returns what comes behind it. */
static uint32_t
add_block(struct finder *finder, uint32_t index, bool is_entry)
{
   const struct gpuval_spirv *spirv = finder->spirv;
   const uint32_t label = instruction(finder, index);
   struct gpuval_spirv_block block = {
      .offset = label * 4,
      .first_line = util_dynarray_num_elements(&finder->lines, struct gpuval_spirv_line),
      .is_entry = is_entry,
   };
   uint32_t word = label;

   for (index++; index < count_instructions(finder); index++) {
      word = instruction(finder, index);
      const SpvOp opcode = opcode_at(spirv, word);
      if (opcode == SpvOpLabel || opcode == SpvOpFunctionEnd)
         break;

      struct gpuval_spirv_line line = line_at(finder, word);
      if (line.number && !is_silent(opcode) && !is_debug_info(spirv, word))
         add_line(finder, &block, line);
      if (line.number)
         block.branch = line;
      block.may_lose |= may_end(finder, word);
      if (ends_block(opcode)) {
         index++;
         break;
      }
   }
   finder->has_lines |= block.num_lines > 0;
   util_dynarray_append_typed(&finder->blocks, struct gpuval_spirv_block, block);
   util_dynarray_append_typed(&finder->ends, uint32_t, word);
   _mesa_hash_table_insert(
      finder->labels, key_of(operand(spirv, label, 1)),
      key_of(util_dynarray_num_elements(&finder->blocks, struct gpuval_spirv_block) - 1));
   return index;
}

/* Returns whether there is a block of that label, and which. */
static bool
find_label(const struct finder *finder, uint32_t id, uint32_t *block)
{
   struct hash_entry *entry = _mesa_hash_table_search(finder->labels, key_of(id));
   if (entry)
      *block = (uintptr_t)entry->data - 1;
   return entry != NULL;
}

/* Words of the cases of the OpSwitch at @word, which may be too short for what comes before them */
static unsigned
count_case_words(const struct gpuval_spirv *spirv, uint32_t word)
{
   return MAX2(count_at(spirv, word), 3) - 3;
}

/* The target of case @i of an OpSwitch with literals of @width words */
static uint32_t
case_target(const struct gpuval_spirv *spirv, uint32_t word, unsigned width, unsigned i)
{
   return operand(spirv, word, 3 + i * (width + 1) + width);
}

/* Literals are as wide as the selector, whose type is not indexed: targets are labels. */
static unsigned
find_case_width(const struct finder *finder, uint32_t word)
{
   const unsigned count = count_case_words(finder->spirv, word);
   uint32_t block;

   for (unsigned width = 1; width <= 2; width++) {
      bool fits = count % (width + 1) == 0;
      for (unsigned i = 0; fits && i < count / (width + 1); i++)
         fits = find_label(finder, case_target(finder->spirv, word, width, i), &block);
      if (fits)
         return width;
   }
   return 0;
}

/* Several cases with one target are one way. */
static void
add_edge(struct finder *finder, struct gpuval_spirv_block *block, uint32_t label)
{
   uint32_t to;
   if (!find_label(finder, label, &to))
      return;
   for (uint32_t i = 0; i < block->num_edges; i++) {
      if (*util_dynarray_element(&finder->edges, uint32_t, block->first_edge + i) == to)
         return;
   }
   util_dynarray_append_typed(&finder->edges, uint32_t, to);
   block->num_edges++;
}

static void
add_edges(struct finder *finder, uint32_t index)
{
   const struct gpuval_spirv *spirv = finder->spirv;
   struct gpuval_spirv_block *block =
      util_dynarray_element(&finder->blocks, struct gpuval_spirv_block, index);
   const uint32_t word = *util_dynarray_element(&finder->ends, uint32_t, index);

   block->first_edge = util_dynarray_num_elements(&finder->edges, uint32_t);
   switch (opcode_at(spirv, word)) {
   case SpvOpBranch:
      add_edge(finder, block, operand(spirv, word, 1));
      break;
   case SpvOpBranchConditional:
      add_edge(finder, block, operand(spirv, word, 2));
      add_edge(finder, block, operand(spirv, word, 3));
      break;
   case SpvOpSwitch: {
      const unsigned width = find_case_width(finder, word);
      for (unsigned i = 0; width && i < count_case_words(spirv, word) / (width + 1); i++)
         add_edge(finder, block, case_target(spirv, word, width, i));
      add_edge(finder, block, operand(spirv, word, 2));
      break;
   }
   default:
      break;
   }
}

/* The function of number @number, its blocks, and then those that it calls. */
static void
add_function(struct finder *finder, uint32_t number, struct util_dynarray *queue)
{
   const struct gpuval_spirv *spirv = finder->spirv;
   const struct function *known =
      util_dynarray_element(&finder->spirv->functions, struct function, number);
   uint32_t index = find_instruction(finder, known->word);
   struct gpuval_spirv_function function = {
      .first_block = util_dynarray_num_elements(&finder->blocks, struct gpuval_spirv_block),
   };
   struct position head;
   const char *name = gpuval_spirv_function_head(finder->spirv, number, &head);

   for (index++; index < count_instructions(finder);) {
      const uint32_t word = instruction(finder, index);
      const SpvOp opcode = opcode_at(spirv, word);
      if (opcode == SpvOpFunctionEnd || opcode == SpvOpFunction)
         break;
      if (opcode == SpvOpLabel) {
         const uint32_t next = add_block(finder, index, !function.num_blocks++);
         for (; index < next; index++) {
            struct hash_entry *callee = NULL;
            if (opcode_at(spirv, instruction(finder, index)) == SpvOpFunctionCall)
               callee = _mesa_hash_table_search(
                  finder->by_id, key_of(operand(spirv, instruction(finder, index), 3)));
            if (callee)
               util_dynarray_append_typed(queue, uint32_t, (uint32_t)((uintptr_t)callee->data - 1));
         }
      } else {
         index++;
      }
   }
   if (!function.num_blocks)
      return;

   function.name = ralloc_strdup(finder->mem_ctx, name ? name : "main");
   if (head.line)
      function.line = (struct gpuval_spirv_line){get_file(finder, &head), head.line};
   util_dynarray_append_typed(&finder->functions, struct gpuval_spirv_function, function);
}

static void
add_functions(struct finder *finder, uint32_t entry)
{
   struct util_dynarray queue;

   util_dynarray_init(&queue, NULL);
   util_dynarray_append_typed(&queue, uint32_t, entry);
   while (queue.size) {
      uint32_t number = util_dynarray_pop(&queue, uint32_t);
      if (_mesa_set_search(finder->seen, key_of(number)))
         continue;
      _mesa_set_add(finder->seen, key_of(number));
      add_function(finder, number, &queue);
   }
   util_dynarray_fini(&queue);
}

/* Records name stages of both mesh shading extensions as the first one does. */
static bool
is_model(uint32_t model, uint32_t wanted)
{
   return model == wanted ||
          (model == SpvExecutionModelTaskEXT && wanted == SpvExecutionModelTaskNV) ||
          (model == SpvExecutionModelMeshEXT && wanted == SpvExecutionModelMeshNV);
}

/* Returns whether there is such an entry point, and the number of its function. */
static bool
find_entry(const struct finder *finder, const char *entry, uint32_t execution_model,
           uint32_t *number)
{
   const struct gpuval_spirv *spirv = finder->spirv;

   util_dynarray_foreach (&spirv->entry_points, uint32_t, word) {
      const char *name = string_operand(spirv, *word, 3);
      struct hash_entry *function =
         _mesa_hash_table_search(finder->by_id, key_of(operand(spirv, *word, 2)));
      if (!name || strcmp(name, entry) || !function ||
          !is_model(operand(spirv, *word, 1), execution_model))
         continue;
      *number = (uintptr_t)function->data - 1;
      return true;
   }
   return false;
}

/* Without debug information, lines are those of the listing. */
static void
list_lines(struct finder *finder)
{
   const struct gpuval_spirv *spirv = finder->spirv;
   const struct gpuval_spirv_file file = {.text = gpuval_spirv_list(finder->mem_ctx, spirv)};

   util_dynarray_clear(&finder->files);
   util_dynarray_clear(&finder->lines);
   util_dynarray_append_typed(&finder->files, struct gpuval_spirv_file, file);
   util_dynarray_foreach (&finder->blocks, struct gpuval_spirv_block, block) {
      uint32_t index = find_instruction(finder, block->offset / 4);

      block->first_line = util_dynarray_num_elements(&finder->lines, struct gpuval_spirv_line);
      block->num_lines = 0;
      for (index++; index < count_instructions(finder); index++) {
         const SpvOp opcode = opcode_at(spirv, instruction(finder, index));
         if (opcode == SpvOpLabel || opcode == SpvOpFunctionEnd)
            break;
         block->branch = (struct gpuval_spirv_line){0, index + 1};
         if (!is_silent(opcode) && !is_debug_info(spirv, instruction(finder, index)))
            add_line(finder, block, block->branch);
         if (ends_block(opcode))
            break;
      }
   }
   util_dynarray_foreach (&finder->functions, struct gpuval_spirv_function, function) {
      const struct gpuval_spirv_block *first =
         util_dynarray_element(&finder->blocks, struct gpuval_spirv_block, function->first_block);
      function->line =
         (struct gpuval_spirv_line){0, find_instruction(finder, first->offset / 4) + 1};
   }
}

/* A function without a line of its own has that of its first block. */
static void
complete_functions(struct finder *finder)
{
   util_dynarray_foreach (&finder->functions, struct gpuval_spirv_function, function) {
      for (uint32_t i = 0; i < function->num_blocks && !function->line.number; i++) {
         const struct gpuval_spirv_block *block = util_dynarray_element(
            &finder->blocks, struct gpuval_spirv_block, function->first_block + i);
         if (block->num_lines)
            function->line =
               *util_dynarray_element(&finder->lines, struct gpuval_spirv_line, block->first_line);
      }
   }
}

static void *
take(void *mem_ctx, struct util_dynarray *array)
{
   return array->size ? ralloc_memdup(mem_ctx, util_dynarray_begin(array), array->size) : NULL;
}

struct gpuval_spirv_blocks *
gpuval_spirv_find_blocks(void *mem_ctx, struct gpuval_spirv *spirv, const char *entry,
                         uint32_t execution_model)
{
   struct gpuval_spirv_blocks *out = rzalloc(mem_ctx, struct gpuval_spirv_blocks);
   void *temporary = ralloc_context(NULL);
   struct finder finder = {.spirv = spirv, .mem_ctx = out};
   uint32_t number = 0;

   struct util_dynarray *arrays[] = {&finder.files,     &finder.positions, &finder.blocks,
                                     &finder.functions, &finder.lines,     &finder.edges,
                                     &finder.ends};
   for (unsigned i = 0; i < ARRAY_SIZE(arrays); i++)
      util_dynarray_init(arrays[i], temporary);
   finder.labels = _mesa_pointer_hash_table_create(temporary);
   finder.by_id = _mesa_pointer_hash_table_create(temporary);
   finder.seen = _mesa_pointer_set_create(temporary);
   finder.ending = _mesa_pointer_set_create(temporary);
   util_dynarray_foreach (&spirv->functions, struct function, function)
      _mesa_hash_table_insert(finder.by_id, key_of(operand(spirv, function->word, 2)),
                              key_of(number++));

   if (!find_entry(&finder, entry, execution_model, &number)) {
      ralloc_free(temporary);
      ralloc_free(out);
      return NULL;
   }
   find_ending_functions(&finder);
   add_functions(&finder, number);
   out->num_blocks = util_dynarray_num_elements(&finder.blocks, struct gpuval_spirv_block);
   for (uint32_t i = 0; i < out->num_blocks; i++)
      add_edges(&finder, i);
   out->is_listing = !finder.has_lines;
   if (out->is_listing)
      list_lines(&finder);
   else
      complete_functions(&finder);

   out->num_functions = util_dynarray_num_elements(&finder.functions, struct gpuval_spirv_function);
   out->num_files = util_dynarray_num_elements(&finder.files, struct gpuval_spirv_file);
   out->num_edges = util_dynarray_num_elements(&finder.edges, uint32_t);
   out->blocks = take(out, &finder.blocks);
   out->functions = take(out, &finder.functions);
   out->lines = take(out, &finder.lines);
   out->edges = take(out, &finder.edges);
   out->files = take(out, &finder.files);
   ralloc_free(temporary);
   return out;
}

/* Counts of edges. What goes into a block is what it was executed, and so is what leaves it where
 * no invocation ends; so an edge is known where all others of a block are.
 */

static bool
settle(uint64_t *taken, const uint32_t *edges, uint32_t count, uint64_t total)
{
   uint32_t unknown = 0, last = 0;
   uint64_t known = 0;

   for (uint32_t i = 0; i < count; i++) {
      if (taken[edges[i]] == GPUVAL_SPIRV_UNKNOWN) {
         unknown++;
         last = edges[i];
      } else {
         known += taken[edges[i]];
      }
   }
   if (unknown != 1)
      return false;
   taken[last] = total - MIN2(known, total);
   return true;
}

void
gpuval_spirv_count_edges(const struct gpuval_spirv_blocks *blocks, const uint64_t *counts,
                         uint64_t *taken)
{
   void *mem_ctx = ralloc_context(NULL);
   struct util_dynarray *into =
      rzalloc_array(mem_ctx, struct util_dynarray, blocks->num_blocks + 1);
   struct util_dynarray *out = rzalloc_array(mem_ctx, struct util_dynarray, blocks->num_blocks + 1);
   bool progress = true;

   for (uint32_t i = 0; i < blocks->num_blocks; i++) {
      util_dynarray_init(&into[i], mem_ctx);
      util_dynarray_init(&out[i], mem_ctx);
   }
   for (uint32_t i = 0; i < blocks->num_blocks; i++) {
      const struct gpuval_spirv_block *block = &blocks->blocks[i];
      for (uint32_t j = 0; j < block->num_edges; j++) {
         const uint32_t edge = block->first_edge + j;
         taken[edge] = counts[i] ? GPUVAL_SPIRV_UNKNOWN : 0;
         util_dynarray_append_typed(&into[blocks->edges[edge]], uint32_t, edge);
         util_dynarray_append_typed(&out[i], uint32_t, edge);
      }
   }
   while (progress) {
      progress = false;
      for (uint32_t i = 0; i < blocks->num_blocks; i++) {
         const struct gpuval_spirv_block *block = &blocks->blocks[i];
         if (!block->is_entry)
            progress |= settle(taken, util_dynarray_begin(&into[i]),
                               util_dynarray_num_elements(&into[i], uint32_t), counts[i]);
         if (!block->may_lose)
            progress |= settle(taken, util_dynarray_begin(&out[i]),
                               util_dynarray_num_elements(&out[i], uint32_t), counts[i]);
      }
   }
   ralloc_free(mem_ctx);
}

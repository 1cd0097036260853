/* SPDX-License-Identifier: MIT */

/* Where was the function called from that an instruction is in?
 *
 * Two sources tell: calls that the module has, of which Mesa's passes keep the way that led to an
 * instruction (gpuval_call_tree.h), and, of calls that a compiler has inlined before,
 * DebugInlinedAt of the debug information. Either may be inside of the other.
 */

#include "gpuval_spirv_private.h"

#include "base/gpuval_call_tree.h"
#include "util/macros.h"
#include "util/ralloc.h"

#define MAX_FRAMES 32

struct stack {
   struct gpuval_spirv *spirv;
   struct gpuval_frame *frames;
   unsigned count;
};

static void
add_frame(struct stack *stack, const struct gpuval_frame *frame)
{
   if (stack->count < MAX_FRAMES)
      stack->frames[stack->count++] = *frame;
}

uint32_t
gpuval_spirv_find_entry(const struct gpuval_spirv *spirv, uint32_t model, const char *name)
{
   util_dynarray_foreach (&spirv->entry_points, uint32_t, word) {
      const char *of_this = string_operand(spirv, *word, 3);
      if (operand(spirv, *word, 1) == model && of_this && name && !strcmp(of_this, name))
         return operand(spirv, *word, 2);
   }
   return 0;
}

/* A function that calls another one, which DebugInlinedAt @word tells of */
static bool
describe_inlined(struct gpuval_spirv *spirv, uint32_t word, struct gpuval_frame *frame)
{
   struct gpuval_spirv_location location = {0};
   struct position head, position;
   uint32_t function = gpuval_spirv_function_of_scope(spirv, operand(spirv, word, EXT_OPERAND + 1));
   if (!function)
      return false;

   const char *name = gpuval_spirv_debug_function_name(spirv, function, &head);
   *frame = (struct gpuval_frame){.function = name};
   if (gpuval_spirv_inlined_position(spirv, word, function, &position)) {
      frame->file = position.file && position.file[0] ? position.file : NULL;
      frame->line = position.line;
      frame->text = gpuval_spirv_find_text(spirv, &position, name, &head, &location);
   }
   return name || frame->line;
}

/* What was inlined around the instruction at @word before the module was made */
static void
add_inlined(struct stack *stack, uint32_t word)
{
   struct gpuval_spirv *spirv = stack->spirv;
   uint32_t id = gpuval_spirv_inlined_at(spirv, word);
   struct gpuval_frame frame;

   for (unsigned i = 0; id && i < MAX_FRAMES; i++) {
      uint32_t inlined = definition_by_debug(spirv, id, DEBUG_INLINED_AT);
      if (!inlined || !describe_inlined(spirv, inlined, &frame))
         break;
      add_frame(stack, &frame);
      id = operand(spirv, inlined, EXT_OPERAND + 2);
   }
}

static void
add_call(struct stack *stack, uint32_t offset)
{
   struct gpuval_spirv_location location;

   if (!gpuval_spirv_lookup(stack->spirv, offset, &location))
      return;
   const struct gpuval_frame frame = {
      .function = location.function,
      .file = location.line ? location.file : NULL,
      .line = location.line,
      .column = location.column,
      .text = location.text,
      .instruction = location.instruction,
   };
   add_frame(stack, &frame);
   add_inlined(stack, offset / 4);
}

/* HLSL's entry point is called by one that the compiler has made, which has its name: glslang's
 * main() calls @main(), that of DXC calls src.main().
 */
static bool
is_wrapper(struct gpuval_spirv *spirv, uint32_t call)
{
   const char *name = name_of(spirv, operand(spirv, call / 4, 3));
   return name && (name[0] == '@' || !strncmp(name, "src.", 4));
}

static char *
describe_way(struct gpuval_spirv *spirv, const uint32_t *calls, unsigned count)
{
   char *way = count ? ralloc_strdup(spirv, "") : NULL;

   for (unsigned i = 0; i < count; i++) {
      struct gpuval_spirv_location location;
      if (gpuval_spirv_lookup(spirv, calls[i], &location))
         ralloc_asprintf_append(&way, "%s%u", i ? " " : "", location.code_instruction);
   }
   return way;
}

unsigned
gpuval_spirv_find_calls(struct gpuval_spirv *spirv, uint32_t model, const char *entry,
                        uint32_t offset, uint32_t *calls, unsigned max)
{
   if (!spirv->calls)
      spirv->calls = gpuval_call_tree_create(spirv, spirv->words, spirv->size / 4);
   unsigned count =
      gpuval_call_tree_find(spirv->calls, gpuval_spirv_find_entry(spirv, model, entry),
                            gpuval_way_of_offset(offset, spirv->size),
                            gpuval_plain_offset(offset, spirv->size), calls, max);
   return count <= max ? count : 0;
}

void
gpuval_spirv_find_stack(struct gpuval_spirv *spirv, uint32_t model, const char *entry,
                        uint32_t offset, struct gpuval_spirv_stack *out)
{
   uint32_t plain = gpuval_plain_offset(offset, spirv->size), calls[MAX_FRAMES];
   struct stack stack = {spirv, ralloc_array(spirv, struct gpuval_frame, MAX_FRAMES), 0};

   *out = (struct gpuval_spirv_stack){0};
   if (plain / 4 < HEADER_WORDS)
      return;
   unsigned count = gpuval_spirv_find_calls(spirv, model, entry, offset, calls, MAX_FRAMES);
   if (count && is_wrapper(spirv, calls[count - 1]))
      count--;

   add_inlined(&stack, plain / 4);
   for (unsigned i = 0; i < count; i++)
      add_call(&stack, calls[i]);
   out->frames = stack.frames;
   out->count = stack.count;
   out->way = describe_way(spirv, calls, count);
}

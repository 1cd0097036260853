/* SPDX-License-Identifier: MIT */

/* Look-ups: line, function and variable of an instruction. */

#include "gpuval_spirv_private.h"

#include "util/ralloc.h"

/* Debug lines */

static bool
decode_op_line(const struct gpuval_spirv *spirv, uint32_t word, struct position *position)
{
   *position = (struct position){
      .source = operand(spirv, word, 1),
      .file = string_of(spirv, operand(spirv, word, 1)),
      .line = operand(spirv, word, 2),
      .column = operand(spirv, word, 3),
   };
   return position->line != 0;
}

/* The source and the constant of the line number at operands @source and @line
 * of debug instruction @word.
 */
static bool
decode_debug_position(const struct gpuval_spirv *spirv, uint32_t word, unsigned source,
                      unsigned line, struct position *position)
{
   const uint32_t id = operand(spirv, word, EXT_OPERAND + source);
   const uint32_t debug_source = definition_by_debug(spirv, id, DEBUG_SOURCE);

   *position = (struct position){
      .source = id,
      .line = constant_of(spirv, operand(spirv, word, EXT_OPERAND + line)),
   };
   if (debug_source)
      position->file = string_of(spirv, operand(spirv, debug_source, EXT_OPERAND));
   return position->line != 0;
}

static bool
decode_debug_line(const struct gpuval_spirv *spirv, uint32_t word, struct position *position)
{
   if (!decode_debug_position(spirv, word, 0, 1, position))
      return false;

   position->column = constant_of(spirv, operand(spirv, word, EXT_OPERAND + 3));
   return true;
}

static bool
decode_line(const struct gpuval_spirv *spirv, const struct state *state, struct position *position,
            bool *inherited)
{
   *inherited = false;
   if (state->debug_line_in_scope)
      return state->debug_line && decode_debug_line(spirv, state->debug_line, position);
   if (state->op_line_in_scope)
      return state->op_line && decode_op_line(spirv, state->op_line, position);

   *inherited = true;
   if (state->debug_line)
      return decode_debug_line(spirv, state->debug_line, position);

   /* Next to DebugLines, an OpLine is that of the function's head. */
   return state->op_line && !spirv->has_debug_lines &&
          decode_op_line(spirv, state->op_line, position);
}

/* Functions */

/* glslang appends the types of the parameters, `f(vf4;`; and calls an HLSL
 * entry point `@main(`, DXC `src.main`, to tell it from what wraps it.
 */
static const char *
function_name_in_source(struct gpuval_spirv *spirv, const char *name)
{
   if (!name || !name[0])
      return NULL;

   struct hash_entry *entry = _mesa_hash_table_search(spirv->function_names, name);
   if (entry)
      return entry->data;

   const char *start = name;
   if (start[0] == '@')
      start++;
   else if (strncmp(start, "src.", 4) == 0)
      start += 4;

   const size_t length = strcspn(start, "(");
   const char *cut = length ? ralloc_strndup(spirv, start, length) : NULL;
   _mesa_hash_table_insert(spirv->function_names, name, (void *)cut);
   return cut;
}

uint32_t
gpuval_spirv_function_of_scope(const struct gpuval_spirv *spirv, uint32_t id)
{
   for (unsigned i = 0; i < MAX_CHAIN; i++) {
      uint32_t word;
      if ((word = definition_by_debug(spirv, id, DEBUG_FUNCTION)))
         return word;
      else if ((word = definition_by_debug(spirv, id, DEBUG_LEXICAL_BLOCK)))
         id = operand(spirv, word, EXT_OPERAND + 3);
      else if ((word = definition_by_debug(spirv, id, DEBUG_LEXICAL_BLOCK_DISCRIMINATOR)))
         id = operand(spirv, word, EXT_OPERAND + 2);
      else
         break;
   }
   return 0;
}

/* Name of the function that @state is in, and in @head where that begins, if
 * both are known. What has been inlined is still in its own function as far as
 * scopes say.
 */
static const char *
describe_function(struct gpuval_spirv *spirv, const struct state *state, struct position *head)
{
   *head = (struct position){0};

   if (!state->function)
      return NULL;
   const struct function *function =
      util_dynarray_element(&spirv->functions, struct function, state->function - 1);

   uint32_t debug_function = function->debug_function;
   if (state->debug_scope) {
      const uint32_t of_scope =
         gpuval_spirv_function_of_scope(spirv, operand(spirv, state->debug_scope, EXT_OPERAND));
      if (of_scope)
         debug_function = of_scope;
   }

   if (!debug_function || !decode_debug_position(spirv, debug_function, 2, 3, head)) {
      if (function->op_line)
         decode_op_line(spirv, function->op_line, head);
   }

   if (debug_function) {
      const char *name = string_of(spirv, operand(spirv, debug_function, EXT_OPERAND));
      if (name && name[0])
         return function_name_in_source(spirv, name);
   }

   const uint32_t id = operand(spirv, function->word, 2);
   const char *name = name_of(spirv, id);
   if (!name) {
      util_dynarray_foreach (&spirv->entry_points, uint32_t, word) {
         if (id && operand(spirv, *word, 2) == id) {
            name = string_operand(spirv, *word, 3);
            break;
         }
      }
   }
   return function_name_in_source(spirv, name);
}

/* Variables */

/* The definition that the pointer or image @id starts from; a variable's if it
 * is clear which one it is. 0 if unknown.
 */
static uint32_t
find_root(const struct gpuval_spirv *spirv, uint32_t id, bool is_image)
{
   for (unsigned i = 0; i < MAX_CHAIN; i++) {
      const uint32_t word = definition(spirv, id);
      if (!word)
         return 0;

      switch (opcode_at(spirv, word)) {
      case SpvOpAccessChain:
      case SpvOpInBoundsAccessChain:
      case SpvOpPtrAccessChain:
      case SpvOpInBoundsPtrAccessChain:
      case SpvOpRawAccessChainNV:
      case SpvOpImageTexelPointer:
      case SpvOpCopyObject:
         id = operand(spirv, word, 3);
         break;

      case SpvOpUntypedAccessChainKHR:
      case SpvOpUntypedInBoundsAccessChainKHR:
      case SpvOpUntypedPtrAccessChainKHR:
      case SpvOpUntypedInBoundsPtrAccessChainKHR:
         id = operand(spirv, word, 4);
         break;

      case SpvOpImage:
      case SpvOpSampledImage:
         if (!is_image)
            return word;
         id = operand(spirv, word, 3);
         break;

      case SpvOpLoad:
         if (!is_image)
            return word;
         /* From here on it is a pointer: to the image, not loaded itself. */
         is_image = false;
         id = operand(spirv, word, 3);
         break;

      default:
         return word;
      }
   }
   return 0;
}

/* The type in @id, or what it is an array of. Word of its definition. */
static uint32_t
unwrap_arrays(const struct gpuval_spirv *spirv, uint32_t id)
{
   for (unsigned i = 0; i < MAX_CHAIN; i++) {
      const uint32_t word = definition(spirv, id);
      if (!word || (opcode_at(spirv, word) != SpvOpTypeArray &&
                    opcode_at(spirv, word) != SpvOpTypeRuntimeArray))
         return word;
      id = operand(spirv, word, 2);
   }
   return 0;
}

/* What a pointer or variable points to, arrays aside. Word of the type. */
static uint32_t
find_pointee(const struct gpuval_spirv *spirv, uint32_t word)
{
   if (opcode_at(spirv, word) == SpvOpUntypedVariableKHR)
      return unwrap_arrays(spirv, operand(spirv, word, 4));

   const uint32_t type = definition_by(spirv, operand(spirv, word, 1), SpvOpTypePointer);
   return type ? unwrap_arrays(spirv, operand(spirv, type, 3)) : 0;
}

static const char *
block_name(const struct gpuval_spirv *spirv, uint32_t word)
{
   const uint32_t type = find_pointee(spirv, word);
   return type && opcode_at(spirv, type) == SpvOpTypeStruct
             ? name_of(spirv, operand(spirv, type, 1))
             : NULL;
}

static const char *
variable_name(const struct gpuval_spirv *spirv, uint32_t word)
{
   const char *name = name_of(spirv, operand(spirv, word, 2));
   return name ? name : block_name(spirv, word);
}

static bool
is_variable(const struct gpuval_spirv *spirv, uint32_t word)
{
   return opcode_at(spirv, word) == SpvOpVariable ||
          opcode_at(spirv, word) == SpvOpUntypedVariableKHR;
}

static bool
is_storage(const struct gpuval_spirv *spirv, uint32_t variable)
{
   const uint32_t type = find_pointee(spirv, variable);

   switch (operand(spirv, variable, 3)) {
   case SpvStorageClassStorageBuffer:
      return true;

   case SpvStorageClassUniform: {
      const struct decorations *decorations =
         type ? get_decorations(spirv, operand(spirv, type, 1)) : NULL;
      return decorations && decorations->is_buffer_block;
   }

   case SpvStorageClassUniformConstant:
      /* "Sampled" is 2 for input attachments, too. */
      return type && opcode_at(spirv, type) == SpvOpTypeImage &&
             operand(spirv, type, 3) != SpvDimSubpassData && operand(spirv, type, 7) == 2;

   default:
      return false;
   }
}

unsigned
gpuval_spirv_accessed_operand(const struct gpuval_spirv *spirv, uint32_t word, bool *is_image)
{
   *is_image = false;

   switch (opcode_at(spirv, word)) {
   case SpvOpStore:
   case SpvOpCopyMemory:
   case SpvOpCopyMemorySized:
   case SpvOpAtomicStore:
   case SpvOpAtomicFlagClear:
   case SpvOpCooperativeMatrixStoreKHR:
   case SpvOpCooperativeMatrixStoreNV:
   case SpvOpCooperativeMatrixStoreTensorNV:
      return 1;

   case SpvOpLoad:
   case SpvOpAccessChain:
   case SpvOpInBoundsAccessChain:
   case SpvOpPtrAccessChain:
   case SpvOpInBoundsPtrAccessChain:
   case SpvOpRawAccessChainNV:
   case SpvOpArrayLength:
   case SpvOpImageTexelPointer:
   case SpvOpAtomicLoad:
   case SpvOpAtomicExchange:
   case SpvOpAtomicCompareExchange:
   case SpvOpAtomicCompareExchangeWeak:
   case SpvOpAtomicIIncrement:
   case SpvOpAtomicIDecrement:
   case SpvOpAtomicIAdd:
   case SpvOpAtomicISub:
   case SpvOpAtomicSMin:
   case SpvOpAtomicUMin:
   case SpvOpAtomicSMax:
   case SpvOpAtomicUMax:
   case SpvOpAtomicAnd:
   case SpvOpAtomicOr:
   case SpvOpAtomicXor:
   case SpvOpAtomicFlagTestAndSet:
   case SpvOpAtomicFMinEXT:
   case SpvOpAtomicFMaxEXT:
   case SpvOpAtomicFAddEXT:
   case SpvOpCooperativeMatrixLoadKHR:
   case SpvOpCooperativeMatrixLoadNV:
   case SpvOpCooperativeMatrixLoadTensorNV:
      return 3;

   case SpvOpUntypedAccessChainKHR:
   case SpvOpUntypedInBoundsAccessChainKHR:
   case SpvOpUntypedPtrAccessChainKHR:
   case SpvOpUntypedInBoundsPtrAccessChainKHR:
   case SpvOpUntypedArrayLengthKHR:
      return 4;

   case SpvOpImageWrite:
      *is_image = true;
      return 1;

   case SpvOpSampledImage:
   case SpvOpImage:
   case SpvOpImageSampleImplicitLod:
   case SpvOpImageSampleExplicitLod:
   case SpvOpImageSampleDrefImplicitLod:
   case SpvOpImageSampleDrefExplicitLod:
   case SpvOpImageSampleProjImplicitLod:
   case SpvOpImageSampleProjExplicitLod:
   case SpvOpImageSampleProjDrefImplicitLod:
   case SpvOpImageSampleProjDrefExplicitLod:
   case SpvOpImageFetch:
   case SpvOpImageGather:
   case SpvOpImageDrefGather:
   case SpvOpImageRead:
   case SpvOpImageQueryFormat:
   case SpvOpImageQueryOrder:
   case SpvOpImageQuerySizeLod:
   case SpvOpImageQuerySize:
   case SpvOpImageQueryLod:
   case SpvOpImageQueryLevels:
   case SpvOpImageQuerySamples:
   case SpvOpImageSparseSampleImplicitLod:
   case SpvOpImageSparseSampleExplicitLod:
   case SpvOpImageSparseSampleDrefImplicitLod:
   case SpvOpImageSparseSampleDrefExplicitLod:
   case SpvOpImageSparseSampleProjImplicitLod:
   case SpvOpImageSparseSampleProjExplicitLod:
   case SpvOpImageSparseSampleProjDrefImplicitLod:
   case SpvOpImageSparseSampleProjDrefExplicitLod:
   case SpvOpImageSparseFetch:
   case SpvOpImageSparseGather:
   case SpvOpImageSparseDrefGather:
   case SpvOpImageSparseRead:
      *is_image = true;
      return 3;

   default:
      return 0;
   }
}

static void
describe_variable(const struct gpuval_spirv *spirv, uint32_t word,
                  struct gpuval_spirv_location *out)
{
   bool is_image;
   const unsigned index = gpuval_spirv_accessed_operand(spirv, word, &is_image);
   const uint32_t root = index ? find_root(spirv, operand(spirv, word, index), is_image) : 0;
   if (!root)
      return;

   if (is_variable(spirv, root)) {
      const struct decorations *decorations = get_decorations(spirv, operand(spirv, root, 2));
      out->variable = variable_name(spirv, root);
      if (decorations && decorations->has_set && decorations->has_binding) {
         out->set = decorations->set;
         out->binding = decorations->binding;
         out->has_binding = true;
      }
      return;
   }

   /* Addresses come from anywhere, but their type tells the block. */
   const uint32_t type = definition_by(spirv, operand(spirv, root, 1), SpvOpTypePointer);
   if (type && operand(spirv, type, 2) == SpvStorageClassPhysicalStorageBuffer)
      out->variable = block_name(spirv, root);
}

const char *
gpuval_spirv_binding_name(struct gpuval_spirv *spirv, uint32_t set, uint32_t binding, bool storage)
{
   const char *found = NULL;

   util_dynarray_foreach (&spirv->variables, uint32_t, word) {
      const struct decorations *decorations = get_decorations(spirv, operand(spirv, *word, 2));
      if (!decorations || !decorations->has_set || !decorations->has_binding ||
          decorations->set != set || decorations->binding != binding ||
          is_storage(spirv, *word) != storage)
         continue;

      const char *name = variable_name(spirv, *word);
      if (!name || (found && strcmp(found, name) != 0))
         return NULL;
      found = name;
   }
   return found;
}

/* Look-ups */

/* Index of the last instruction that starts at @word or before. */
static uint32_t
find_instruction(const struct gpuval_spirv *spirv, uint32_t word)
{
   uint32_t low = 0;
   uint32_t high = util_dynarray_num_elements(&spirv->instructions, uint32_t);

   while (high - low > 1) {
      const uint32_t middle = low + (high - low) / 2;
      if (*util_dynarray_element(&spirv->instructions, uint32_t, middle) <= word)
         low = middle;
      else
         high = middle;
   }
   return low;
}

/* Of the instructions before number @index, those that are not debug instructions. */
static uint32_t
count_code(const struct gpuval_spirv *spirv, uint32_t index)
{
   uint32_t low = 0;
   uint32_t high = util_dynarray_num_elements(&spirv->debug, uint32_t);

   while (low < high) {
      const uint32_t middle = low + (high - low) / 2;
      if (*util_dynarray_element(&spirv->debug, uint32_t, middle) < index)
         low = middle + 1;
      else
         high = middle;
   }
   return index - low;
}

uint32_t
gpuval_spirv_count_code(const struct gpuval_spirv *spirv, uint32_t word)
{
   return count_code(spirv, find_instruction(spirv, word));
}

static const struct state *
find_state(const struct gpuval_spirv *spirv, uint32_t word)
{
   uint32_t low = 0;
   uint32_t high = util_dynarray_num_elements(&spirv->states, struct state);

   while (high - low > 1) {
      const uint32_t middle = low + (high - low) / 2;
      if (util_dynarray_element(&spirv->states, struct state, middle)->word <= word)
         low = middle;
      else
         high = middle;
   }
   return util_dynarray_element(&spirv->states, struct state, low);
}

bool
gpuval_spirv_lookup(struct gpuval_spirv *spirv, uint32_t byte_offset,
                    struct gpuval_spirv_location *out)
{
   *out = (struct gpuval_spirv_location){0};

   const uint32_t wanted = byte_offset / 4;
   if (wanted < HEADER_WORDS)
      return false;

   const uint32_t index = find_instruction(spirv, wanted);
   const uint32_t word = *util_dynarray_element(&spirv->instructions, uint32_t, index);
   if (wanted - word >= count_at(spirv, word))
      return false;

   out->instruction = index;
   out->code_instruction = count_code(spirv, index);
   if (spirv->functions.size) { /* what is above has constants of debug information */
      const uint32_t start = util_dynarray_element(&spirv->functions, struct function, 0)->word;
      out->code_instruction -= MIN2(gpuval_spirv_count_code(spirv, start), out->code_instruction);
   }
   out->opcode = opcode_at(spirv, word);
   describe_variable(spirv, word, out);

   const struct state *state = find_state(spirv, word);
   struct position head, position;
   bool inherited;
   out->function = describe_function(spirv, state, &head);

   if (decode_line(spirv, state, &position, &inherited)) {
      out->file = position.file && position.file[0] ? position.file : NULL;
      out->line = position.line;
      out->column = position.column;
      out->line_inherited = inherited;
      out->text = gpuval_spirv_find_text(spirv, &position, out->function, &head, out);
   }
   return true;
}

bool
gpuval_spirv_position_at(const struct gpuval_spirv *spirv, uint32_t word, struct position *position)
{
   bool inherited;

   return decode_line(spirv, find_state(spirv, word), position, &inherited) && !inherited;
}

const char *
gpuval_spirv_function_head(struct gpuval_spirv *spirv, uint32_t number, struct position *head)
{
   return describe_function(spirv, &(struct state){.function = number + 1}, head);
}

uint32_t
gpuval_spirv_inlined_at(const struct gpuval_spirv *spirv, uint32_t word)
{
   const struct state *state = find_state(spirv, word);
   return state->debug_scope ? operand(spirv, state->debug_scope, EXT_OPERAND + 1) : 0;
}

const char *
gpuval_spirv_debug_function_name(struct gpuval_spirv *spirv, uint32_t function,
                                 struct position *head)
{
   decode_debug_position(spirv, function, 2, 3, head);
   return function_name_in_source(spirv, string_of(spirv, operand(spirv, function, EXT_OPERAND)));
}

bool
gpuval_spirv_inlined_position(const struct gpuval_spirv *spirv, uint32_t word, uint32_t function,
                              struct position *position)
{
   decode_debug_position(spirv, function, 2, 3, position);
   position->line = constant_of(spirv, operand(spirv, word, EXT_OPERAND));
   return position->line != 0;
}

bool
gpuval_spirv_is_instruction(const struct gpuval_spirv *spirv, uint32_t word)
{
   return word >= HEADER_WORDS && *util_dynarray_element(&spirv->instructions, uint32_t,
                                                         find_instruction(spirv, word)) == word;
}
